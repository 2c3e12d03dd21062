//! The data of a held drive, and deliberate changes to it: bytes, faults, retired blocks.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_blockdev::{Blocking, IoError, Request, SectorRange};
use wane_ftl::{BlockState, UnretiredError};
use wane_sim::Stream;
use wane_ssd::Drive;
use wane_units::{Lba, Lpn, Sectors, SuperblockId};

use super::{Held, KeptError};
use crate::backed;

/// Units that a check reads at once.
const UNITS_AT_ONCE: u32 = 256;

/// The blocks to take out of service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Retire {
    /// These, by their numbers.
    Blocks(Vec<u32>),
    /// This many, the most worn first. Of equally worn ones free blocks come first, then the lower number.
    MostWorn(u32),
    /// This many, the least worn first.
    LeastWorn(u32),
}

/// A fault to inject into data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Injection {
    /// Reads fail with a medium error until the data are written or trimmed, as after NVMe's Write Uncorrectable.
    MediumError,
    /// This many further bits of each unit read flipped, without an error.
    FlippedBits(u32),
}

/// The result of a check: units by what was found. A unit counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataCheck {
    /// Units that hold data.
    pub mapped: u64,
    /// Units among these that read as they were written.
    pub whole: u64,
    /// Units whose page has more errors than can be corrected.
    pub unreadable: Vec<Range<u32>>,
    /// Units that were lost when they were relocated.
    pub lost: Vec<Range<u32>>,
    /// Units that were made unreadable on purpose.
    pub injected_errors: Vec<Range<u32>>,
    /// Units that read with bits that were flipped on purpose, or that were misread when the rest of the unit was written.
    pub injected_flips: Vec<Range<u32>>,
    /// Units that read with bits flipped by wear, without an error.
    pub misread: Vec<Range<u32>>,
    /// Units that read differently from what was written without an explanation, which is a bug of wane.
    pub unexplained: Vec<Range<u32>>,
}

impl DataCheck {
    /// Whether every unit reads as it was written.
    pub fn is_whole(&self) -> bool {
        self.whole == self.mapped
    }
}

/// Adds a unit to an ascending list of ranges.
fn push(ranges: &mut Vec<Range<u32>>, unit: u32) {
    match ranges.last_mut() {
        Some(last) if last.end == unit => last.end += 1,
        _ => ranges.push(unit..unit + 1),
    }
}

impl Held {
    /// Takes blocks out of service like grown bad blocks: their data are relocated first. Returns them in their order, each with
    /// its erases. A drive that may shrink gives capacity up, and any drive may die.
    ///
    /// # Errors
    /// A block cannot be taken out. The drive must not be saved then, since some blocks may be out already.
    pub fn retire(&mut self, which: &Retire) -> Result<Vec<(u32, u32)>, KeptError> {
        if self.is_array() && self.focus().is_none() {
            return Err(KeptError::OneDrive("retired blocks of"));
        }
        let erases = self.drive().superblock_erase_counts().to_vec();
        let (mut order, wanted) = match which {
            Retire::Blocks(blocks) => (blocks.clone(), blocks.len()),
            Retire::MostWorn(count) | Retire::LeastWorn(count) => {
                let is_in = |block: &SuperblockId| self.drive().state(*block) != BlockState::Retired;
                let blocks = self.drive().layout().superblocks().filter(is_in).map(|block| block.0);
                (blocks.collect(), *count as usize)
            }
        };
        let holds_data = |block: u32| self.drive().state(SuperblockId(block)) != BlockState::Free;
        match which {
            Retire::Blocks(_) => {}
            // Of equally worn blocks, empty ones first; otherwise data would move from one retiring block to the next.
            Retire::MostWorn(_) => {
                order.sort_by_key(|block| (std::cmp::Reverse(erases[*block as usize]), holds_data(*block), *block));
            }
            Retire::LeastWorn(_) => order.sort_by_key(|block| (erases[*block as usize], holds_data(*block), *block)),
        }
        let mut out = Vec::new();
        for block in order {
            if out.len() == wanted || self.cause().is_some() {
                break;
            }
            match self.retire_one(SuperblockId(block))? {
                Ok(()) => out.push((block, erases[block as usize])),
                // Choices by wear leave out the blocks that the firmware uses itself, and those that retired of the moves.
                Err(UnretiredError::Taken(_) | UnretiredError::Retired(_)) if !matches!(which, Retire::Blocks(_)) => {}
                Err(UnretiredError::NoRoom(_)) if !matches!(which, Retire::Blocks(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(out)
    }

    /// Takes a block out of service, and answers what the drive then asks.
    fn retire_one(&mut self, block: SuperblockId) -> Result<Result<(), UnretiredError>, KeptError> {
        if !self.is_array() {
            return Ok(self.run.retire_block(block));
        }
        self.on_one("retired blocks of", |drive| drive.retire_block(block).map(|outcome| drive.settle_alone(outcome)))
    }

    /// Injects a fault into the data in a range of units; `stream` chooses bits. Returns the number of units that hold data. Units without
    /// data are left alone.
    ///
    /// # Errors
    /// The kernel refuses memory for bytes.
    ///
    /// # Panics
    /// A unit is not exported.
    pub fn inject(&mut self, units: Range<u32>, injection: Injection, stream: &mut Stream) -> Result<u32, KeptError> {
        self.keep_bytes()?;
        self.on_one("damaged", |drive| inject_into(drive, units, injection, stream))
    }

    /// Reads all data of copies of the drives, as of today, and compares them with what was written.
    pub fn check_data(&self) -> DataCheck {
        let mut found = DataCheck::default();
        for (_, drive) in self.drives_looked_at() {
            let mut copy = drive.clone();
            let exported = copy.exported();
            for first in (0..exported).step_by(UNITS_AT_ONCE as usize) {
                check_units(&mut copy, first..exported.min(first + UNITS_AT_ONCE), &mut found);
            }
        }
        found
    }

    /// What a reader should know of what the drives say and hold, in sentences: which of it no measurement backs.
    pub fn caveats(&self) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for (place, drive) in self.drives_looked_at() {
            let scenario = place.map_or_else(|| self.scenario_of_drive(), |place| self.scenario_of(place));
            for sentence in backed::of_drive(&scenario, drive) {
                let of_one = place.filter(|_| self.focus().is_none());
                told.push(of_one.map_or(sentence.clone(), |place| format!("drive {place}: {sentence}")));
            }
        }
        told
    }

    /// Returns which units hold data.
    ///
    /// # Errors
    /// Its file system decides where its data lie.
    pub fn mapped(&self) -> Result<Vec<bool>, KeptError> {
        if !self.run.is_bare() {
            return Ok(self.held_units());
        }
        Ok((0..self.drive().exported()).map(|unit| self.drive().lookup(Lpn(unit)).is_some()).collect())
    }

    /// Trims the units that hold data now but did not `before`, as [`Held::mapped`] returned it: those that only aging wrote. Returns their number.
    pub fn give_back(&mut self, before: &[bool]) -> u32 {
        if !self.run.is_bare() {
            let held = self.held_units();
            let was_held = |unit: usize| before.get(unit).copied().unwrap_or(false);
            return self
                .trim_units((0..held.len()).filter(|unit| held[*unit] && !was_held(*unit)).map(|unit| unit as u32));
        }
        let new: Vec<Lpn> = (0..self.drive().exported())
            .map(Lpn)
            .filter(|unit| !before.get(unit.index()).copied().unwrap_or(false) && self.drive().lookup(*unit).is_some())
            .collect();
        self.run.drive_mut().trim_batch(&new).expect("the units are exported");
        new.len() as u32
    }
}

/// Injects a fault into the data in a range of units. Returns the number of units that hold data.
fn inject_into(drive: &mut Drive, units: Range<u32>, injection: Injection, stream: &mut Stream) -> u32 {
    let bits = u64::from(drive.unit_bytes()) * 8;
    let mut done = 0;
    for unit in units.map(Lpn) {
        done += u32::from(match injection {
            Injection::MediumError => drive.inject_uncorrectable(unit),
            Injection::FlippedBits(count) => {
                let before: BTreeSet<u32> =
                    drive.injected(unit).map_or(&[][..], |injected| &injected.flipped).iter().copied().collect();
                let mut chosen = BTreeSet::new();
                while (chosen.len() as u64) < u64::from(count).min(bits - before.len() as u64) {
                    // A bit that is flipped already would become right again.
                    chosen.extend(Some(stream.below(bits) as u32).filter(|bit| !before.contains(bit)));
                }
                drive.flip_bits(unit, &chosen.into_iter().collect::<Vec<_>>())
            }
        });
    }
    done
}

fn check_units(drive: &mut Drive, units: Range<u32>, found: &mut DataCheck) {
    let unit_bytes = drive.unit_bytes() as usize;
    let sectors = (unit_bytes / 512) as u64;
    let start = u64::from(units.start) * sectors;
    let range = SectorRange::new(Lba(start), Sectors(sectors * u64::from(units.end - units.start)));
    let held: Vec<bool> = units.clone().map(|unit| drive.lookup(Lpn(unit)).is_some()).collect();
    if !held.contains(&true) {
        return;
    }
    let now = drive.now();
    let (bytes, failed) = match Blocking::starting_at(&mut *drive, now).perform(Request::read(range)) {
        Ok(read) => (read.bytes, Vec::new()),
        Err(IoError { status, bytes, .. }) => (bytes, status.failed().to_vec()),
    };
    let (mut pristine, keeps) = (vec![0; unit_bytes], drive.keeps_bytes());
    for ((unit, _), position) in units.zip(held).zip(0..).filter(|((_, is_held), _)| *is_held) {
        found.mapped += 1;
        let injected = drive.injected(Lpn(unit));
        let first = u64::from(unit) * sectors;
        let is_failed = failed.iter().any(|range| (range.start.0..range.start.0 + range.count.0).contains(&first));
        if is_failed {
            let list = match () {
                () if injected.is_some_and(|injected| injected.is_unreadable) => &mut found.injected_errors,
                () if drive.is_lost(Lpn(unit)) => &mut found.lost,
                () => &mut found.unreadable,
            };
            push(list, unit);
            continue;
        }
        let Some(read) = bytes.as_ref().filter(|_| keeps) else {
            found.whole += 1;
            continue;
        };
        let read = &read[position * unit_bytes..][..unit_bytes];
        drive.peek_unit(Lpn(unit), &mut pristine);
        if read == pristine {
            found.whole += 1;
        } else if drive.misread(Lpn(unit)) {
            push(&mut found.misread, unit);
        } else {
            let flipped = injected.map_or(&[][..], |injected| &injected.flipped);
            flipped.iter().for_each(|bit| pristine[*bit as usize / 8] ^= 1 << (bit % 8));
            let list = if read == pristine { &mut found.injected_flips } else { &mut found.unexplained };
            push(list, unit);
        }
    }
}
