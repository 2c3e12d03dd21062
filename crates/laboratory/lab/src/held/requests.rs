//! Requests of a held drive's user, page by page, in addition to its workload.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use wane_blockdev::SectorRange;
use wane_units::{Lba, Lpn};
use wane_workload::Op;

use super::{Held, KeptError, STEP_UNITS_MAX, STEPS_PER_DRIVE_WRITE};
use crate::build;
use crate::run::Watch;

/// Pages between two checks of the stop flag if there are policies from outside, which may raise it. After that they are not called for further pages.
const PAGES_PER_LOOK: usize = 256;

impl Held {
    /// Preconditions the drive as its scenario says: fills it, then writes at random. Wear leveling is off meanwhile, and counters
    /// start at 0 afterwards. A stop ends it at once.
    ///
    /// # Errors
    /// Its workload cannot be closed.
    pub fn precondition(&mut self, watch: &mut Watch<'_>) -> Result<(), KeptError> {
        self.precondition_from(0, &mut || false, watch).map(drop)
    }

    /// The same from unit `done` of it on, until `pause` says so, which is asked between two steps. Returns the units that are done then; `None` if
    /// it is over.
    ///
    /// # Errors
    /// As of [`Held::precondition`].
    pub(crate) fn precondition_from(
        &mut self,
        done: u64,
        pause: &mut dyn FnMut() -> bool,
        watch: &mut Watch<'_>,
    ) -> Result<Option<u64>, KeptError> {
        if self.cause().is_some() {
            return Ok(None);
        }
        self.close_workload()?;
        let step = (u64::from(self.pages_when_new()) / STEPS_PER_DRIVE_WRITE).clamp(1, STEP_UNITS_MAX);
        let look_units = if self.has_policies_from_outside() { PAGES_PER_LOOK as u64 } else { step };
        let precondition = build::precondition(&self.scenario);
        let left = self.run.precondition_kept((precondition, done), look_units, pause, watch)?;
        self.begin_drives();
        self.begin_days();
        Ok(left)
    }

    /// Number of pages that its user may access: those of the new drive, or of the array, unless its host lowered the capacity. A drive that shrank
    /// of wear has no data for some of them.
    pub fn pages(&self) -> u32 {
        (self.device().capacity().0 / self.run.unit().0) as u32
    }

    /// Pages that one drive write has, of the new drive or of the array.
    pub fn pages_when_new(&self) -> u32 {
        self.run.logical_units()
    }

    /// Pages without data that its user may still write. A drive that shrank, or that may hold less than its capacity, has fewer than its addresses
    /// say.
    pub fn room(&self) -> u32 {
        let of_map = self.run.room().unwrap_or(u32::MAX);
        if !self.is_limited() {
            return of_map;
        }
        let held = self.held_units().into_iter().filter(|is_held| *is_held).count() as u32;
        of_map.min(self.run.usable().count().saturating_sub(held))
    }

    /// Whether its host lets fewer units hold data at once than there are.
    pub fn is_limited(&self) -> bool {
        self.run.usable().count() < self.pages()
    }

    /// Writes pages, in their order, and scrubs if the drive does. The drive may die: see [`Held::cause`]. With policies from
    /// outside, `stop` ends it within 256 pages; pages written by then stay.
    ///
    /// # Panics
    /// One of them is beyond [`Held::pages`].
    pub fn write(&mut self, pages: &[u32], stop: &AtomicBool) {
        self.ask(Op::Write, pages, stop);
        self.let_days_pass();
    }

    /// Trims pages. `stop` ends it as it ends [`Held::write`].
    ///
    /// # Panics
    /// As [`Held::write`].
    pub fn trim(&mut self, pages: &[u32], stop: &AtomicBool) {
        self.ask(Op::Trim, pages, stop);
    }

    /// Reads pages. Returns those whose data could not be read, in their order.
    ///
    /// # Panics
    /// As [`Held::write`].
    pub fn read(&mut self, pages: &[u32]) -> Vec<u32> {
        if self.scenario.medium.chip.is_some() {
            // Reads can have errors only on a drive that is awake.
            self.each_drive(|drive| {
                if !drive.is_off() {
                    drive.wake();
                }
            });
        }
        self.ask(Op::Read, pages, &AtomicBool::new(false));
        if self.is_array() {
            let unit = self.run.unit();
            let page = |page: u32| SectorRange::new(Lba(u64::from(page) * unit.0), unit);
            let lost =
                |number: &u32| self.run.unread().iter().any(|range| !range.intersection(page(*number)).is_empty());
            return pages.iter().copied().filter(lost).collect();
        }
        let failed: BTreeSet<Lpn> = self.drive().unread().iter().copied().collect();
        if failed.is_empty() {
            return Vec::new();
        }
        let has_failed = |page: &u32| self.run.unit_of(*page).is_some_and(|unit| failed.contains(&Lpn(unit)));
        pages.iter().copied().filter(has_failed).collect()
    }

    fn has_policies_from_outside(&self) -> bool {
        !self.overrides.is_empty()
    }

    fn ask(&mut self, op: Op, pages: &[u32], stop: &AtomicBool) {
        assert!(pages.iter().all(|page| *page < self.pages()), "the caller asks for pages that there are");
        if self.cause().is_none() || op != Op::Write {
            // A read is one part, since failed pages are those of the last part.
            let in_parts = op != Op::Read && self.has_policies_from_outside();
            self.run.ask(op, pages, if in_parts { PAGES_PER_LOOK } else { pages.len().max(1) }, stop);
        }
    }
}
