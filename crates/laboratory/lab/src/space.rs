//! The host's side of a drive that shrinks: which pages are in use, and where the file system keeps them.
//!
//! A workload uses addresses of the space that the drive exported when new. As long as nothing moves, an
//! address is its own slot. Once the drive exports less, pages in use above its end are relocated to the lowest free
//! slots (dissertation 000 §4.5.3), and from then on every address is looked up.

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{Stop, Wanted};
use wane_ftl::policies::Mode;
use wane_ftl::policies::capacity::ShrinkMethod;
use wane_ftl::{EndOfLife, Outcome};
use wane_results::EndCause;
use wane_ssd::Drive;
use wane_units::Lpn;

use crate::host::end_cause;
pub(crate) use layer::Space;

mod layer;

const NOWHERE: u32 = u32::MAX;

/// Number of trims that are given to the drive at once.
const TRIM_BATCH: usize = 4096;

/// Number of pages that the file system relocates between two checks of the stop flag.
const RELOCATIONS_PER_PAUSE: u32 = 1 << 16;

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct HostSpace {
    /// One bit for each address: whether the workload has data there.
    used: Vec<u64>,
    footprint: u32,
    /// Pages that the file system may still relocate; `None`: any number.
    relocations_left: Option<u64>,
    /// Slots at and above this are given up.
    exported: u32,
    /// Most pages that may be in use, once all unused ones were given up at once. The pages keep their addresses, so the remaining
    /// slots are scattered.
    used_max: Option<u32>,
    /// Pages that the present write takes into use, each with its position in it. Only noted once space was given up.
    fresh: Vec<(u32, u32)>,
    /// Units trimmed because their space was given up, not by the workload.
    trimmed: u64,
    moved: Option<Moved>,
    method: ShrinkMethod,
}

/// The slots of pages, once one has moved.
#[derive(Clone)]
struct Moved {
    /// Address to slot.
    slot: Vec<u32>,
    /// Slot to address.
    owner: Vec<u32>,
    /// No slot below this one is free.
    lowest_free: u32,
}

impl HostSpace {
    pub(crate) fn new(logical_units: u32, relocations_max: Option<u64>, method: ShrinkMethod) -> Self {
        Self {
            used: vec![0; (logical_units as usize).div_ceil(64)],
            footprint: 0,
            relocations_left: relocations_max,
            exported: logical_units,
            used_max: None,
            fresh: Vec::new(),
            trimmed: 0,
            moved: None,
            method,
        }
    }

    /// Archives its state: writes it to a file, or reads it back into the space of a drive of the same kind.
    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        debug_assert!(self.fresh.is_empty(), "a drive is saved between two writes");
        archive.fixed("space.used", &mut self.used)?;
        archive.field("space.footprint", &mut self.footprint)?;
        archive.field("space.relocations-left", &mut self.relocations_left)?;
        archive.field("space.exported", &mut self.exported)?;
        archive.field("space.used-max", &mut self.used_max)?;
        archive.field("space.trimmed", &mut self.trimmed)?;
        let mut has_moved = self.moved.is_some();
        archive.field("space.has-moved", &mut has_moved)?;
        if has_moved {
            let moved = self.moved.get_or_insert(Moved { slot: Vec::new(), owner: Vec::new(), lowest_free: 0 });
            archive.list("space.slots", &mut moved.slot)?;
            archive.list("space.owners", &mut moved.owner)?;
            archive.field("space.lowest-free", &mut moved.lowest_free)?;
        }
        Ok(())
    }

    /// Logical units that the drive still exports. It never grows.
    pub(crate) fn exported(&self) -> u32 {
        self.used_max.map_or(self.exported, |most| most.min(self.exported))
    }

    /// Pages that may still be taken into use.
    pub(crate) fn room(&self) -> u32 {
        self.exported().saturating_sub(self.footprint)
    }

    pub(crate) fn trimmed(&self) -> u64 {
        self.trimmed
    }

    /// Whether space was given up, so that a drive without room is one whose data no longer fit.
    fn shrank(&self) -> bool {
        self.used_max.is_some() || self.moved.is_some()
    }

    /// Turns pages that the workload is about to write into slots. Stops at the first page without a slot.
    /// [`Self::written`] follows.
    fn take(&mut self, pages: &mut [u32]) -> usize {
        debug_assert!(self.fresh.is_empty(), "one write is settled before the next begins");
        if !self.shrank() {
            return pages.len();
        }
        for (position, page) in pages.iter_mut().enumerate() {
            let Some(slot) = self.slot_of(*page, position as u32) else { return position };
            *page = slot;
        }
        pages.len()
    }

    fn slot_of(&mut self, page: u32, position: u32) -> Option<u32> {
        let is_used = self.is_used(page);
        if !is_used && self.used_max.is_some_and(|most| self.footprint >= most) {
            return None;
        }
        let slot = match &mut self.moved {
            None => page,
            Some(moved) => match moved.slot[page as usize] {
                NOWHERE if page < self.exported && moved.owner[page as usize] == NOWHERE => page,
                NOWHERE => moved.find_free(self.exported)?,
                slot => return Some(slot),
            },
        };
        if !is_used {
            if let Some(moved) = &mut self.moved {
                debug_assert_eq!(
                    moved.owner[slot as usize], NOWHERE,
                    "a slot holds one page, or one of two would be lost"
                );
                moved.slot[page as usize] = slot;
                moved.owner[slot as usize] = page;
            }
            self.use_page(page);
            self.fresh.push((position, page));
        }
        Some(slot)
    }

    /// Marks the first `written` of `pages`, the workload's addresses, as in use, since the drive took these. The others stay unmarked, so
    /// that the space that is given up does not depend on how many requests the drive gets at once.
    fn written(&mut self, pages: &[u32], written: usize) {
        if !self.shrank() {
            for page in &pages[..written] {
                self.use_page(*page);
            }
            return;
        }
        while let Some((_, page)) = self.fresh.pop_if(|(position, _)| *position as usize >= written) {
            self.leave_page(page);
            self.vacate(page);
        }
        self.fresh.clear();
    }

    /// Marks a page as in use, before any space was given up.
    #[inline(always)]
    fn note(&mut self, page: u32) {
        debug_assert!(!self.shrank(), "a page that is written later needs a slot");
        self.use_page(page);
    }

    #[inline(always)]
    fn is_used(&self, page: u32) -> bool {
        self.used[page as usize / 64] >> (page % 64) & 1 == 1
    }

    #[inline(always)]
    fn use_page(&mut self, page: u32) {
        let (word, bit) = (&mut self.used[page as usize / 64], 1 << (page % 64));
        self.footprint += u32::from(*word & bit == 0);
        *word |= bit;
    }

    fn leave_page(&mut self, page: u32) {
        let (word, bit) = (&mut self.used[page as usize / 64], 1 << (page % 64));
        self.footprint -= u32::from(*word & bit != 0);
        *word &= !bit;
    }

    /// Frees a page's slot, if it has one.
    fn vacate(&mut self, page: u32) {
        let Some(moved) = &mut self.moved else { return };
        let slot = std::mem::replace(&mut moved.slot[page as usize], NOWHERE);
        if slot != NOWHERE {
            debug_assert_eq!(moved.owner[slot as usize], page, "a page and its slot agree");
            moved.owner[slot as usize] = NOWHERE;
            moved.lowest_free = moved.lowest_free.min(slot);
        }
    }

    /// Turns pages into the slots to read and drops those whose space is gone; returns how many were dropped.
    fn find(&self, pages: &mut Vec<u32>) -> u64 {
        let Some(moved) = &self.moved else { return 0 };
        let before = pages.len();
        pages.retain_mut(|page| match moved.find(*page, self.exported) {
            Some(slot) => {
                *page = slot;
                true
            }
            None => false,
        });
        (before - pages.len()) as u64
    }

    /// Notes that the workload no longer needs `pages` and turns them into the slots to trim.
    fn release(&mut self, pages: &mut Vec<u32>) {
        pages.iter().for_each(|page| self.leave_page(*page));
        let exported = self.exported;
        pages.retain_mut(|page| {
            let Some(moved) = &self.moved else { return true };
            let Some(slot) = moved.find(*page, exported) else { return false };
            self.vacate(*page);
            *page = slot;
            true
        });
    }

    /// Tells the drive which capacity is left, once nothing lies above it.
    fn shrink(&self, drive: &mut Drive) {
        if self.exported < drive.exported() {
            drive.shrink_to(self.exported);
        }
    }

    /// Why a drive that stopped died, as results name it.
    fn cause(&self, cause: EndOfLife) -> EndCause {
        match cause {
            EndOfLife::NoFreeBlock | EndOfLife::NoVictim if self.shrank() => EndCause::FootprintDoesNotFit,
            cause => end_cause(cause),
        }
    }

    /// Gives up the space that the drive wants, as far as the data allow.
    fn give_up(&mut self, drive: &mut Drive, wanted: Wanted) -> Result<(), EndCause> {
        match wanted {
            Wanted::Unused => {
                self.used_max = Some(self.footprint.min(self.exported()));
                self.trim_unused(drive, 0);
            }
            Wanted::AtMost(sectors) => {
                let least = self.least_capacity(drive.exported());
                if least > self.footprint && drive.service_units() <= u64::from(least) {
                    return Err(EndCause::RelocationBound);
                }
                let asked = u32::try_from(drive.units_in(sectors)).unwrap_or(u32::MAX);
                let wanted = asked.max(least);
                if wanted > asked && drive.judges_mode() {
                    // The file system cannot shrink that far, and tells the drive.
                    drive.set_mode(Mode::Degraded);
                }
                if wanted >= self.exported() {
                    return Ok(());
                }
                if self.method == ShrinkMethod::NonContiguous {
                    let is_first = self.used_max.is_none();
                    self.used_max = Some(wanted);
                    if is_first {
                        self.trim_unused(drive, 0);
                    }
                    return Ok(());
                }
                self.moved.get_or_insert_with(|| Moved::identity(&self.used, self.exported));
                let top = self.exported;
                self.exported = wanted;
                self.trim_between(drive, wanted, top);
            }
        }
        Ok(())
    }

    /// The least capacity that the data and the relocations still allowed permit (000 §4.5.3), if no data are at or
    /// above `top`.
    fn least_capacity(&self, top: u32) -> u32 {
        let Some(left) = self.relocations_left else { return self.footprint };
        let mut owned = (0..top).rev().filter(|slot| self.owner(*slot).is_some());
        let stays = usize::try_from(left).ok().and_then(|left| owned.nth(left));
        self.footprint.max(stays.map_or(0, |slot| slot + 1))
    }

    fn trim_unused(&mut self, drive: &mut Drive, from: u32) {
        self.trim_between(drive, from, self.exported);
    }

    /// Trims the slots without an owner in `from..to`.
    fn trim_between(&mut self, drive: &mut Drive, from: u32, to: u32) {
        let before = drive.counters().host_units_trimmed;
        let mut batch = Vec::with_capacity(TRIM_BATCH);
        for slot in from..to {
            if self.owner(slot).is_none() {
                batch.push(slot);
            }
            if batch.len() == TRIM_BATCH || slot + 1 == to {
                drive.trim_batch(Lpn::slice(&batch)).expect("the drive exports slots until they are trimmed");
                batch.clear();
            }
        }
        self.trimmed += drive.counters().host_units_trimmed - before;
    }

    /// Moves the highest page that lies in given-up space. `None` when there is none.
    fn relocate_one(&mut self, drive: &mut Drive) -> Result<Option<Stop>, EndCause> {
        let top = drive.exported();
        let Some(from) = (self.exported..top).rev().find(|slot| self.owner(*slot).is_some()) else { return Ok(None) };
        // Slots above stay empty, so the search never covers them again.
        drive.shrink_to(from + 1);
        let moved = self.moved.as_mut().expect("the drive shrank, so every address is looked up");
        let to = moved.find_free(self.exported).ok_or(EndCause::FootprintDoesNotFit)?;
        let (written, outcome) = match self.method {
            ShrinkMethod::Remap => {
                drive.remap(Lpn(to), Lpn(from), 1, 1).expect("two slots that the drive exports");
                (1, Outcome::Done)
            }
            ShrinkMethod::Relocate | ShrinkMethod::NonContiguous => drive.copy_unit(Lpn(from), Lpn(to)),
        };
        if written == 1 {
            if self.method != ShrinkMethod::Remap {
                self.trimmed += leave(drive, Lpn(from), Lpn(to));
            }
            let moved = self.moved.as_mut().expect("as above");
            assert!(to < from, "data move down, out of the space that is given up");
            let owner = std::mem::replace(&mut moved.owner[from as usize], NOWHERE);
            debug_assert_eq!(moved.slot[owner as usize], from, "a page and its slot agree");
            moved.owner[to as usize] = owner;
            moved.slot[owner as usize] = to;
            self.relocations_left =
                self.relocations_left.map(|left| left.checked_sub(1).expect("checked when the space was given up"));
        }
        Ok(Some(drive.stop_of(outcome)))
    }

    fn owner(&self, slot: u32) -> Option<u32> {
        match &self.moved {
            Some(moved) => Some(moved.owner[slot as usize]).filter(|owner| *owner != NOWHERE),
            None => self.is_used(slot).then_some(slot),
        }
    }
}

/// Trims a unit whose data were written to another place; returns how many units that trimmed.
fn leave(drive: &mut Drive, from: Lpn, to: Lpn) -> u64 {
    if drive.is_lost(from) {
        // The file system finds no other copy.
        drive.write_uncorrectable(to).expect("the drive just took the unit");
    }
    let before = drive.counters().host_units_trimmed;
    drive.trim_batch(&[from]).expect("the drive exports a slot until its data have moved");
    drive.counters().host_units_trimmed - before
}

impl Moved {
    /// The initial state: every used address below `exported` is its own slot.
    fn identity(used: &[u64], exported: u32) -> Self {
        let own = |address: u32| used[address as usize / 64] >> (address % 64) & 1 == 1;
        let table: Vec<u32> = (0..exported).map(|address| if own(address) { address } else { NOWHERE }).collect();
        Self { slot: table.clone(), owner: table, lowest_free: 0 }
    }

    /// The slot where an address is read: its own, or the address itself if its space was neither given up nor lent.
    fn find(&self, page: u32, exported: u32) -> Option<u32> {
        match self.slot[page as usize] {
            NOWHERE if page < exported && self.owner[page as usize] == NOWHERE => Some(page),
            NOWHERE => None,
            slot => Some(slot),
        }
    }

    /// The lowest free slot below `exported`.
    fn find_free(&mut self, exported: u32) -> Option<u32> {
        let free = (self.lowest_free..exported).find(|slot| self.owner[*slot as usize] == NOWHERE);
        self.lowest_free = free.unwrap_or(exported);
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten addresses, of which the workload wrote 0, 1 and 9; the drive exports eight, so that 9 was moved to slot 2.
    fn shrunk() -> HostSpace {
        let mut space = HostSpace::new(10, None, ShrinkMethod::Relocate);
        space.written(&[0, 1, 9], 3);
        let mut moved = Moved::identity(&space.used, 10);
        (moved.slot[9], moved.owner[9], moved.owner[2]) = (2, NOWHERE, 9);
        (space.exported, space.moved) = (8, Some(moved));
        space
    }

    #[test]
    fn reads_find_what_moved_and_what_stayed() {
        // 2 was lent to 9, and 8 was given up. 3 holds data from before the workload.
        let mut pages = vec![0, 9, 3, 2, 8];
        assert_eq!(shrunk().find(&mut pages), 2);
        assert_eq!(pages, [0, 2, 3]);
    }

    #[test]
    fn the_least_capacity_follows_the_data_and_the_bound() {
        // (written addresses of ten, relocations left, least capacity)
        let table: [(&[u32], Option<u64>, u32); 5] = [
            (&[0, 1, 9], Some(0), 10),
            (&[0, 1, 9], Some(1), 3),
            (&[0, 1, 9], None, 3),
            (&[0, 1, 2], Some(0), 3),
            (&[], Some(0), 0),
        ];
        for (written, bound, least) in table {
            let mut space = HostSpace::new(10, bound, ShrinkMethod::Relocate);
            space.written(written, written.len());
            assert_eq!(space.least_capacity(10), least, "{written:?} {bound:?}");
        }
    }

    #[test]
    fn a_released_slot_is_lent_again() {
        let mut space = shrunk();
        let mut pages = vec![9, 3, 8];
        space.release(&mut pages);
        assert_eq!((pages, space.footprint), (vec![2, 3], 2));
        let mut written = [8];
        assert_eq!((space.take(&mut written), written), (1, [2]));
    }
}
