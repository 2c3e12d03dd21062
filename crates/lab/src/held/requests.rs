//! What its user asks a held drive for, page by page, beside its workload.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use wane_units::Lpn;
use wane_workload::Op;

use super::{Held, KeptError};
use crate::build;
use crate::run::Watch;

/// Pages between two looks at the flag where policies from outside may raise it: what they would say to further pages is not asked any more.
const PAGES_PER_LOOK: usize = 256;

impl Held {
    /// Ages the drive as its scenario says before a run is counted: fills it, then writes at random. Wear leveling is off meanwhile, and what
    /// is counted begins at 0 afterwards. A stop ends it where it is.
    ///
    /// # Errors
    /// Its workload cannot be closed.
    pub fn precondition(&mut self, watch: &mut Watch<'_>) -> Result<(), KeptError> {
        if self.cause().is_some() {
            return Ok(());
        }
        self.close_workload()?;
        let look_units = if self.has_policies_from_outside() { PAGES_PER_LOOK as u64 } else { u64::MAX };
        self.run.precondition_kept(build::precondition(&self.scenario), look_units, watch)?;
        self.begin_days();
        Ok(())
    }

    /// Pages that its user may ask for, from 0 on: those of the new drive. One that shrank knows no data of some.
    pub fn pages(&self) -> u32 {
        self.drive().logical_initial()
    }

    /// Writes pages, in their order, and scrubs where the drive does. It may die of it: see [`Held::cause`]. Where it has policies from
    /// outside, `stop` ends it within 256 pages; what was written by then is written.
    ///
    /// # Panics
    /// One of them is beyond [`Held::pages`].
    pub fn write(&mut self, pages: &[u32], stop: &AtomicBool) {
        self.ask(Op::Write, pages, stop);
        self.let_days_pass();
    }

    /// Forgets pages. `stop` ends it as it ends [`Held::write`].
    ///
    /// # Panics
    /// As [`Held::write`].
    pub fn trim(&mut self, pages: &[u32], stop: &AtomicBool) {
        self.ask(Op::Trim, pages, stop);
    }

    /// Reads pages; returns those whose data could not be brought, in their order.
    ///
    /// # Panics
    /// As [`Held::write`].
    pub fn read(&mut self, pages: &[u32]) -> Vec<u32> {
        if self.scenario.medium.chip.is_some() {
            // Only then may a read err.
            self.run.drive_mut().wake();
        }
        self.ask(Op::Read, pages, &AtomicBool::new(false));
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
            // Those that a read could not bring are the last part's: it has one.
            let in_parts = op != Op::Read && self.has_policies_from_outside();
            self.run.ask(op, pages, if in_parts { PAGES_PER_LOOK } else { pages.len().max(1) }, stop);
        }
    }
}
