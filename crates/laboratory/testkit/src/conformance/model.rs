//! The plain model: what each sector may hold, and what the device must report of it.

use std::collections::BTreeMap;

use wane_blockdev::{Completion, ExtentState, Features, Kind, Request, SectorRange, Status, UnitSplit};
use wane_units::{Lba, Sectors};

const SECTOR_BYTES: usize = Sectors::SIZE.0 as usize;

/// Contents of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Zeros,
    /// Sector `index` of the bytes marked with `tag`.
    Marked {
        tag: u64,
        index: u64,
    },
}

/// Bytes that identify the write they come from, and each sector within it.
pub(super) fn pattern(tag: u64, count: Sectors) -> Vec<u8> {
    (0..count.0).flat_map(|index| sector_pattern(tag, index)).collect()
}

fn sector_pattern(tag: u64, index: u64) -> [u8; SECTOR_BYTES] {
    let mut bytes = [0; SECTOR_BYTES];
    for (place, byte) in bytes.iter_mut().enumerate() {
        // Never zero, and different at each place, so that shifted bytes do not pass.
        *byte = (tag.wrapping_mul(31) + index * 7 + place as u64) as u8 | 1;
    }
    bytes[..8].copy_from_slice(&tag.to_le_bytes());
    bytes[8..16].copy_from_slice(&index.to_le_bytes());
    bytes
}

impl Content {
    fn bytes(self) -> [u8; SECTOR_BYTES] {
        match self {
            Self::Zeros => [0; SECTOR_BYTES],
            Self::Marked { tag, index } => sector_pattern(tag, index),
        }
    }
}

/// One sector of the model.
#[derive(Clone, Debug)]
struct Sector {
    /// What a read may return.
    may_hold: Vec<Content>,
    /// Whether it must not be reported as a hole.
    allocated: bool,
}

impl Sector {
    fn fresh() -> Self {
        Self { may_hold: vec![Content::Zeros], allocated: false }
    }
}

/// Contents according to the rules.
#[derive(Clone, Debug)]
pub(super) struct Model {
    features: Features,
    /// Sectors not here were never touched.
    sectors: BTreeMap<u64, Sector>,
}

impl Model {
    pub(super) const fn new(features: Features) -> Self {
        Self { features, sectors: BTreeMap::new() }
    }

    fn sector(&self, lba: u64) -> Sector {
        self.sectors.get(&lba).cloned().unwrap_or_else(Sector::fresh)
    }

    /// Applies a request that ended with `completion`, and checks the bytes of reads.
    pub(super) fn apply(&mut self, request: &Request, tag: u64, completion: &Completion) -> Result<(), String> {
        let failed = completion.status.failed();
        self.check_failed(request, completion)?;
        if request.kind == Kind::Read {
            return self.check_read(request.range, failed, completion);
        }
        if completion.bytes.is_some() {
            return Err(format!("a {} came back with bytes: {completion:?}", request.kind));
        }
        if completion.status.is_refusal() || !request.kind.changes_contents() {
            return Ok(());
        }
        // A device that is gone did nothing. Any other may have done what it could not make durable.
        let may_be_done = request.flags.fua && !failed.is_empty() && !matches!(completion.status, Status::Gone(_));
        let before = may_be_done.then(|| self.clone());
        self.change(request, tag, failed);
        let Some(mut done) = before else { return Ok(()) };
        done.change(request, tag, &[]);
        for lba in sectors(request.range).chain(sectors(request.source)) {
            let (mut sector, new) = (self.sector(lba), done.sector(lba));
            sector.may_hold.extend(new.may_hold);
            sector.allocated &= new.allocated;
            self.sectors.insert(lba, sector);
        }
        Ok(())
    }

    /// Applies a request but for the sectors that failed; a remap is applied whole or not at all.
    fn change(&mut self, request: &Request, tag: u64, failed: &[SectorRange]) {
        if request.kind == Kind::Remap {
            if failed.is_empty() {
                self.remap(request.source, request.range);
            }
            return;
        }
        for lba in sectors(request.range).filter(|lba| !holds(failed, *lba)) {
            let new = self.changed(lba, request, tag);
            self.sectors.insert(lba, new);
        }
    }

    /// A sector of the range after a request changed it.
    fn changed(&self, lba: u64, request: &Request, tag: u64) -> Sector {
        let index = lba - request.range.start.0;
        match (request.kind, &request.bytes) {
            (Kind::Write, Some(_)) => Sector { may_hold: vec![Content::Marked { tag, index }], allocated: true },
            (Kind::Trim, _) => self.trimmed(lba),
            _ => {
                let unmaps = request.kind == Kind::WriteZeroes && request.flags.may_unmap;
                Sector { may_hold: vec![Content::Zeros], allocated: !unmaps }
            }
        }
    }

    fn trimmed(&self, lba: u64) -> Sector {
        let mut may_hold = vec![Content::Zeros];
        if !self.features.trim_reads_zeros {
            let old = self.sector(lba).may_hold;
            may_hold.extend(old.into_iter().filter(|content| *content != Content::Zeros));
        }
        Sector { may_hold, allocated: false }
    }

    fn remap(&mut self, source: SectorRange, destination: SectorRange) {
        for (offset, to) in sectors(destination).enumerate() {
            let from = source.start.0 + offset as u64;
            let new = if (offset as u64) < source.count.0 { self.sector(from) } else { self.trimmed(to) };
            self.sectors.insert(to, new);
        }
        for lba in sectors(source) {
            let new = self.trimmed(lba);
            self.sectors.insert(lba, new);
        }
    }

    /// Removes everything at or above `capacity`.
    pub(super) fn shrink(&mut self, capacity: Sectors) {
        let lost = self.sectors.split_off(&capacity.0);
        // A device may keep the lost contents until the capacity rises, as it may with trimmed sectors.
        if !self.features.trim_reads_zeros {
            for (lba, mut sector) in lost {
                sector.may_hold.push(Content::Zeros);
                sector.allocated = false;
                self.sectors.insert(lba, sector);
            }
        }
    }

    fn check_read(
        &mut self,
        range: SectorRange,
        failed: &[SectorRange],
        completion: &Completion,
    ) -> Result<(), String> {
        let is_served = !completion.status.is_refusal() && !matches!(completion.status, Status::Gone(_));
        let wanted = self.features.keeps_bytes && is_served;
        let bytes = match (&completion.bytes, wanted) {
            (None, false) => return Ok(()),
            (Some(bytes), true) if bytes.len() == range.len_bytes() => bytes,
            (Some(bytes), true) => return Err(format!("a read of {range} brings {} bytes", bytes.len())),
            (None, true) => return Err(format!("a read of {range} brings no bytes: {completion:?}")),
            (Some(_), false) => return Err(format!("a read brings bytes that it should not: {completion:?}")),
        };
        for (lba, found) in sectors(range).zip(bytes.chunks_exact(SECTOR_BYTES)) {
            if holds(failed, lba) {
                if found.iter().any(|byte| *byte != 0) {
                    return Err(format!("sector {lba} could not be read and is not zeros"));
                }
                continue;
            }
            let mut sector = self.sector(lba);
            let Some(content) = sector.may_hold.iter().copied().find(|content| content.bytes() == found) else {
                let start = &found[..16];
                return Err(format!("sector {lba} reads as {start:?}.., it may hold {:?}", sector.may_hold));
            };
            // A trimmed sector reads the same until it is written.
            sector.may_hold = vec![content];
            if self.sectors.contains_key(&lba) {
                self.sectors.insert(lba, sector);
            }
        }
        Ok(())
    }

    /// Checks that a request may end so, and the ranges of its status.
    fn check_failed(&self, request: &Request, completion: &Completion) -> Result<(), String> {
        let Completion { status, .. } = completion;
        let failed = status.failed();
        let wrong = |what: &str| Err(format!("{what}: {request:?} ended as {status:?}"));
        if !status.is_failure() {
            return Ok(());
        }
        // The ragged ends of a trim are written.
        let whole = || UnitSplit::new(request.range, self.features.atomic_unit).whole_sectors();
        let needs_space = match request.kind {
            Kind::Read | Kind::Flush => false,
            Kind::Trim => !failed.iter().any(|range| range.overlaps(whole())),
            Kind::Write | Kind::WriteZeroes | Kind::Remap => true,
        };
        match (status, request.kind) {
            (Status::NoSpace(_), _) if !needs_space => wrong("a request that needs no space lacks it"),
            (Status::ReadOnly(_), Kind::Read) => wrong("a read changes nothing and ends as read-only"),
            (Status::ReadOnly(_) | Status::Gone(_), Kind::Flush) if !failed.is_empty() => {
                wrong("a flush names sectors that it did not lose")
            }
            (_, Kind::Flush) => Ok(()),
            _ => check_ranges(request, status),
        }
    }

    /// Checks that a device may report this state of a sector.
    pub(super) fn check_state(&self, lba: u64, state: ExtentState) -> Result<(), String> {
        let sector = self.sector(lba);
        let zeros = sector.may_hold.contains(&Content::Zeros);
        let fine = match state {
            ExtentState::Data => true,
            ExtentState::Zeroes => zeros,
            ExtentState::Hole => !sector.allocated && (zeros || !self.features.trim_reads_zeros),
        };
        if fine { Ok(()) } else { Err(format!("sector {lba} is reported as {state:?}, the model has {sector:?}")) }
    }
}

/// Checks the ranges of a status that is a failure.
fn check_ranges(request: &Request, status: &Status) -> Result<(), String> {
    let failed = status.failed();
    let wrong = |what: &str| Err(format!("{what}: {request:?} ended as {status:?}"));
    if failed.is_empty() && !matches!(status, Status::Gone(_)) {
        return wrong("a failure names no sector");
    }
    let is_whole = failed == [request.range] || failed.is_empty() && request.range.is_empty();
    if request.kind == Kind::Remap && !is_whole {
        return wrong("a remap that fails does not name its whole destination");
    }
    if matches!(status, Status::Gone(_)) && !is_whole {
        return wrong("a device that is gone does not name the whole request");
    }
    if failed.iter().any(|range| range.is_empty() || range.intersection(request.range) != *range) {
        return wrong("a failure names sectors outside its request");
    }
    if failed.windows(2).any(|pair| pair[0].end().is_none_or(|end| end >= pair[1].start)) {
        return wrong("failed ranges touch or are out of order");
    }
    Ok(())
}

/// Numbers of the sectors of a range.
pub(super) fn sectors(range: SectorRange) -> std::ops::Range<u64> {
    range.start.0..range.start.0 + range.count.0
}

fn holds(ranges: &[SectorRange], lba: u64) -> bool {
    ranges.iter().any(|range| range.overlaps(SectorRange::new(Lba(lba), Sectors(1))))
}
