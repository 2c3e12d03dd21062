//! A layer that finds what a device returns wrong without saying so: a checksum of each 4 KiB, as Linux' dm-integrity keeps them.
//!
//! A read whose block does not fit its checksum ends as a medium error of exactly that block, so that an array above makes it from the others and
//! writes it again. What is found: flipped bits, writes that were acknowledged and never done, writes that went elsewhere.
//!
//! **How.** It works as the bitmap mode of dm-integrity (Linux, `Documentation/admin-guide/device-mapper/dm-integrity.rst`). Checksums are kept in
//! memory. The device is cut into regions of 4 MiB, and a region is *marked* durably before the first change in it. While it is marked, its checksums
//! on the device mean nothing; a power cut leaves them to be made anew from what the blocks hold. Every 10 s, with a flush of the host, and when the
//! device rests as long, the checksums of marked regions are written and made durable, and then the marks are taken away.
//!
//! **What it costs.** An area at the start of the device (about 0.1 %), 4 bytes of memory a block that was written, a write with force unit access (or
//! a flush) before the first write in a region, and one block for each marked region every 10 s. It offers sectors of 4 KiB, so that each write has
//! whole blocks and needs no read before it; a capacity that falls only; neither remaps nor a mapped limit.
//!
//! **What it leaves out.** What went wrong in a marked region before a power cut is not found: the new checksums have it. Blocks of a change that
//! failed, and those that a batch wrote, are not checked until they are written again; a read that overtakes a change which fails may end as a medium
//! error too. A device that keeps no bytes takes the same writes, and is
//! never found wrong. What the area itself holds has no checksums: if a checksum is wrong, its block is reported and written again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use wane_units::{Lba, Nanos, Sectors, SimTime};

use crate::{
    Completion, CompletionQueue, Features, Kind, Living, RangeSet, Request, RequestId, Resize, SectorRange, Status,
};

use area::{Area, BLOCK, BLOCK_BYTES};
use own::{Clean, Mark};
use sums::Sums;

mod area;
mod living;
mod own;
mod sums;

/// What an [`Integrity`] found and did since it was made, in sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatches {
    /// Sectors of blocks that did not fit their checksums. A block counts again once it was written.
    pub found: Sectors,
    /// Of these, sectors that were written or trimmed since.
    pub rewritten: Sectors,
    /// Sectors whose checksums were made anew after power cuts, from what was there.
    pub remade: Sectors,
}

impl AddAssign for Mismatches {
    fn add_assign(&mut self, other: Self) {
        self.found += other.found;
        self.rewritten += other.rewritten;
        self.remade += other.remade;
    }
}

/// Why a device cannot have checksums.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntegrityError {
    /// A power cut may leave a part of a block new and the rest old.
    #[error("the device writes units of {0}; checksums need units of whole blocks of 4 KiB")]
    Unit(Sectors),
    /// Nothing would be left for a host.
    #[error("the device has {0}; its checksums take {1}, and some must be left")]
    Capacity(Sectors, Sectors),
}

/// A request of the host that the device below has.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Asked {
    id: RequestId,
    submitted_at: SimTime,
    kind: Kind,
    range: SectorRange,
    /// Of a read: what its blocks should be.
    sums: Vec<u32>,
}

/// A request that waits until its regions are marked, or for such a request before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Held {
    id: RequestId,
    submitted_at: SimTime,
    request: Request,
}

/// What the device below was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Child {
    Host(Asked),
    /// Part of the mark of this number.
    Mark(u64),
    /// Part of the cleaning of this number.
    Clean(u64),
    /// Nothing waits for it.
    Aside,
}

/// Checks what its device returns by a CRC-32C of each 4 KiB, in the way of dm-integrity's bitmap mode: a read whose block does not fit ends as a medium
/// error of exactly that block.
///
/// An area at the start of the device (about 0.1 %) has the checksums, and marks of regions of 4 MiB that change. A power cut leaves those of marked
/// regions to be made anew, from whatever they hold. It offers sectors of 4 KiB, a capacity that only falls, neither remaps nor a mapped limit. A
/// device that keeps no bytes takes the same writes, and is never found wrong.
#[derive(Clone, Debug)]
pub struct Integrity<D> {
    device: D,
    area: Area,
    clean_every: Nanos,
    /// The checksum of a block of zeros.
    zeros: u32,
    /// Whether the device kept bytes when that was last asked.
    keeps_bytes: bool,
    sums: Sums,
    /// Regions whose mark is durable.
    marked: BTreeSet<u64>,
    /// Regions whose checksums could not be read, and are to be written whether they are marked or not.
    unsaved: BTreeSet<u64>,
    /// Outstanding changes of regions that have some.
    changing: BTreeMap<u64, u32>,
    held: VecDeque<Held>,
    children: BTreeMap<RequestId, Child>,
    mark: Option<Mark>,
    clean: Option<Clean>,
    cleaned_at: SimTime,
    /// Marks and cleanings so far.
    turns: u64,
    /// The host's requests that are held or below.
    open: u64,
    ended: CompletionQueue,
    next_id: u64,
    /// Blocks that did not fit.
    bad: RangeSet,
    mismatches: Mismatches,
    is_off: bool,
    passing: Vec<Completion>,
}

impl<D: Living> Integrity<D> {
    /// Time from one writing of checksums to the next: dm-integrity's `bitmap_flush_interval`.
    pub const CLEAN_EVERY: Nanos = Nanos(10_000_000_000);

    /// Puts checksums on a device that holds nothing yet: whose first sectors read as zeros, which stands for no mark and no checksum.
    ///
    /// # Errors
    /// Its unit is smaller than a block, or it has too few sectors.
    pub fn new(device: D) -> Result<Self, IntegrityError> {
        let Features { atomic_unit: unit, keeps_bytes, .. } = device.features();
        let capacity = device.capacity();
        Self::capacity_of(capacity, unit)?;
        let cleaned_at = device.now();
        Ok(Self {
            device,
            area: Area::of(capacity, unit),
            clean_every: Self::CLEAN_EVERY,
            zeros: sums::of(&[0; BLOCK_BYTES]),
            keeps_bytes,
            sums: Sums::default(),
            marked: BTreeSet::new(),
            unsaved: BTreeSet::new(),
            changing: BTreeMap::new(),
            held: VecDeque::new(),
            children: BTreeMap::new(),
            mark: None,
            clean: None,
            cleaned_at,
            turns: 0,
            open: 0,
            ended: CompletionQueue::new(),
            next_id: 0,
            bad: RangeSet::new(),
            mismatches: Mismatches::default(),
            is_off: false,
            passing: Vec::new(),
        })
    }

    /// The sectors that are left to the host of a new device of this capacity and atomic unit.
    ///
    /// # Errors
    /// As of [`Integrity::new`].
    pub fn capacity_of(capacity: Sectors, unit: Sectors) -> Result<Sectors, IntegrityError> {
        if unit.0 == 0 || !unit.0.is_multiple_of(BLOCK.0) {
            return Err(IntegrityError::Unit(unit));
        }
        let area = Area::of(capacity, unit);
        let left = area.left(capacity);
        if left == Sectors::ZERO { Err(IntegrityError::Capacity(capacity, area.start)) } else { Ok(left) }
    }

    /// The same, which writes its checksums at other intervals. The longer they are, the more is unprotected after a power cut.
    #[must_use]
    pub fn cleaning_every(self, interval: Nanos) -> Self {
        Self { clean_every: interval, ..self }
    }

    /// The device below.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// The device below, whose contents belong to the layer.
    pub const fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// What it found so far.
    pub const fn mismatches(&self) -> Mismatches {
        self.mismatches
    }

    /// Blocks that did not fit and were not written since.
    pub const fn mismatched(&self) -> &RangeSet {
        &self.bad
    }

    /// Regions of 4 MiB whose checksums a power cut now would lose.
    pub fn marked_regions(&self) -> usize {
        self.marked.len()
    }

    /// What the device offers.
    fn offers(&self) -> Features {
        let below = self.device.features();
        let resize = if below.resize == Resize::Fixed { Resize::Fixed } else { Resize::Shrink };
        Features { sector: BLOCK, remap: false, mapped_limit: false, resize, ..below }
    }

    fn left(&self) -> Sectors {
        self.area.left(self.device.capacity())
    }

    /// A number for a request of the host.
    const fn new_id(&mut self) -> RequestId {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        id
    }

    /// A request is over without the device below.
    fn end(&mut self, held: &Held, at: SimTime, status: Status) {
        let Request { kind, range, .. } = held.request;
        let (id, submitted_at) = (held.id, held.submitted_at);
        self.ended.push(Completion { id, submitted_at, at, kind, range, status, bytes: None });
    }

    /// Whether a request has to wait.
    fn waits(&self, request: &Request) -> bool {
        match request.kind {
            Kind::Flush => !self.held.is_empty(),
            Kind::Read => self.is_held(request.range),
            _ => !self.held.is_empty() || !self.is_marked(request.range),
        }
    }

    /// Whether a change of some of these sectors waits.
    fn is_held(&self, range: SectorRange) -> bool {
        self.held.iter().any(|held| held.request.kind.changes_contents() && held.request.range.overlaps(range))
    }

    fn is_marked(&self, range: SectorRange) -> bool {
        area::regions(range).all(|region| self.marked.contains(&region))
    }

    /// Hands a request to the device below.
    fn start(&mut self, at: SimTime, held: Held) {
        let Held { id, submitted_at, mut request } = held;
        let Request { kind, range, .. } = request;
        let mut sums = Vec::new();
        if kind == Kind::Read && self.keeps_bytes {
            sums.extend(area::blocks(range).map(|block| self.sums.get(block)));
        } else if kind.changes_contents() {
            self.change(kind, range, request.bytes.as_deref());
        }
        if kind != Kind::Flush {
            request.range = self.area.below(range);
        }
        let child = self.device.submit(at, request);
        self.children.insert(child, Child::Host(Asked { id, submitted_at, kind, range, sums }));
        if kind == Kind::Flush && at.0.saturating_sub(self.cleaned_at.0) >= self.clean_every.0 {
            self.begin_clean(at);
        }
    }

    /// Takes note of a change that begins.
    fn change(&mut self, kind: Kind, range: SectorRange, bytes: Option<&[u8]>) {
        for region in area::regions(range) {
            *self.changing.entry(region).or_insert(0) += 1;
        }
        self.touch(range);
        if !self.keeps_bytes {
            return;
        }
        match (kind, bytes) {
            (Kind::Write, Some(bytes)) => {
                for (block, bytes) in area::blocks(range).zip(bytes.chunks(BLOCK_BYTES)) {
                    self.sums.set(block, sums::of(bytes));
                }
            }
            (Kind::Trim, _) => self.sums.fill(area::blocks(range), sums::EMPTY),
            _ => self.sums.fill(area::blocks(range), self.zeros),
        }
    }

    /// These sectors are changed: their regions stay marked, and what was bad of them is not any more.
    fn touch(&mut self, range: SectorRange) {
        if let Some(clean) = &mut self.clean {
            for region in area::regions(range) {
                clean.regions.remove(&region);
            }
        }
        if !self.bad.is_empty() {
            let gone = self.bad.within(range).fold(Sectors::ZERO, |sum, bad| sum + bad.count);
            self.mismatches.rewritten += gone;
            self.bad.remove(range);
        }
    }

    /// The device below has carried out a request of the host.
    fn finish(&mut self, asked: Asked, mut done: Completion) {
        let Asked { id, submitted_at, kind, range, sums } = asked;
        let failed: RangeSet = done.status.failed().iter().map(|range| self.area.above(*range)).collect();
        let named = |failed: &RangeSet| failed.within(SectorRange::new(Lba(0), Sectors(u64::MAX))).collect();
        let mut status = done.status.naming(named(&failed));
        if kind == Kind::Read {
            status = self.verify(range, &sums, status, failed, done.bytes.as_deref_mut());
        } else if kind.changes_contents() {
            self.changed(range, &failed);
        }
        self.open -= 1;
        self.ended.push(Completion { id, submitted_at, at: done.at, kind, range, status, bytes: done.bytes });
    }

    /// A change ended, except in some sectors, of which nobody knows whether a later change has them.
    fn changed(&mut self, range: SectorRange, failed: &RangeSet) {
        for region in area::regions(range) {
            if let Some(count) = self.changing.get_mut(&region) {
                *count -= 1;
                if *count == 0 {
                    self.changing.remove(&region);
                }
            }
        }
        if self.keeps_bytes && !failed.is_empty() {
            failed.within(range).for_each(|failed| self.sums.fill(area::blocks(failed), sums::UNKNOWN));
        }
    }

    /// Compares what was read with its checksums. Returns how the read ends; what does not fit has no bytes.
    fn verify(
        &mut self,
        range: SectorRange,
        sums: &[u32],
        status: Status,
        mut failed: RangeSet,
        bytes: Option<&mut [u8]>,
    ) -> Status {
        let trim_reads_zeros = self.device.features().trim_reads_zeros;
        let mut is_wrong = false;
        for ((block, bytes), sum) in
            area::blocks(range).zip(bytes.unwrap_or_default().chunks_mut(BLOCK_BYTES)).zip(sums)
        {
            let sectors = area::block_at(block);
            if sums::fits(*sum, bytes, trim_reads_zeros) || failed.touches(sectors) {
                continue;
            }
            is_wrong = true;
            bytes.fill(0);
            failed.insert(sectors);
            if !self.bad.touches(sectors) {
                self.mismatches.found += sectors.count;
                self.bad.insert(sectors);
            }
        }
        let named = || failed.within(range).collect();
        match status {
            status if !is_wrong => status,
            Status::Done => Status::MediumError(named()),
            status => status.naming(named()),
        }
    }

    /// Whether it asked the device for something itself, after which more is to be done.
    const fn has_own(&self) -> bool {
        self.mark.is_some() || self.clean.is_some()
    }

    /// Comes to an instant, and does on the way what is due.
    fn catch_up(&mut self, until: SimTime) {
        while self.has_own()
            && let Some(next) = self.device.next_event_at()
            && next <= until
        {
            self.step(next.max(self.device.now()));
        }
        if !self.children.is_empty() {
            self.step(until);
        }
    }

    /// Hears what the device below has done up to an instant.
    fn step(&mut self, until: SimTime) {
        let mut passing = std::mem::take(&mut self.passing);
        self.device.complete(until, &mut passing);
        for done in passing.drain(..) {
            match self.children.remove(&done.id) {
                Some(Child::Host(asked)) => self.finish(asked, done),
                Some(Child::Mark(turn)) => self.was_marked(until, turn, done.status),
                Some(Child::Clean(turn)) => self.was_written(until, turn, &done.status),
                Some(Child::Aside) | None => {}
            }
        }
        self.passing = passing;
    }
}
