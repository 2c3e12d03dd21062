//! What its user asks a held drive for, page by page, beside its workload.

use std::collections::BTreeSet;

use wane_units::Lpn;
use wane_workload::Op;

use super::{Held, KeptError};
use crate::build;
use crate::run::Watch;

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
        self.run.precondition_kept(build::precondition(&self.scenario), watch)?;
        self.begin_days();
        Ok(())
    }

    /// Pages that its user may ask for, from 0 on: those of the new drive. One that shrank knows no data of some.
    pub fn pages(&self) -> u32 {
        self.drive().logical_initial()
    }

    /// Writes pages, in their order, and scrubs where the drive does. It may die of it: see [`Held::cause`].
    ///
    /// # Panics
    /// One of them is beyond [`Held::pages`].
    pub fn write(&mut self, pages: &[u32]) {
        self.ask(Op::Write, pages);
        self.let_days_pass();
    }

    /// Forgets pages.
    ///
    /// # Panics
    /// As [`Held::write`].
    pub fn trim(&mut self, pages: &[u32]) {
        self.ask(Op::Trim, pages);
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
        self.ask(Op::Read, pages);
        let failed: BTreeSet<Lpn> = self.drive().unread().iter().copied().collect();
        if failed.is_empty() {
            return Vec::new();
        }
        let has_failed = |page: &u32| self.run.unit_of(*page).is_some_and(|unit| failed.contains(&Lpn(unit)));
        pages.iter().copied().filter(has_failed).collect()
    }

    fn ask(&mut self, op: Op, pages: &[u32]) {
        assert!(pages.iter().all(|page| *page < self.pages()), "the caller asks for pages that there are");
        if self.cause().is_none() || op != Op::Write {
            self.run.ask(op, pages.to_vec());
        }
    }
}
