//! A run whose life is predicted in part: the figures that fast-forward needs, and the projection of wear.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_ftl::ProjectionError;
use wane_ssd::Projection;
use wane_workload::SourceError;

use super::{Run, Stage};
use crate::host::Ended;
use crate::record::Recorded;

impl Run {
    /// Host units that preconditioning still has to write; 0 once counting has started.
    pub(crate) fn precondition_left(&self) -> u64 {
        let Stage::Precondition { done } = self.life.stage else { return 0 };
        let precondition = &self.life.precondition;
        let logical = u64::from(self.host.drive().logical_initial());
        let sequential = u64::from(precondition.sequential_drive_writes) * logical;
        u64::from(precondition.fill_units) + sequential + precondition.random_units - done
    }

    /// Number of the present phase, from 0; `None` before the first and after the last.
    pub(crate) fn present_phase(&self) -> Option<usize> {
        if let Stage::Phase(number) = self.life.stage { Some(number) } else { None }
    }

    /// Host units left of that phase; `None` if it ends only with the drive.
    pub(crate) fn units_left_of_phase(&self) -> Option<u64> {
        let end = self.present_phase().map_or(Some(0), |number| self.life.phase_end(number))?;
        Some(end.saturating_sub(self.record.lived(&self.host)))
    }

    /// Makes the probe that is due now.
    ///
    /// # Errors
    /// Its trace is damaged.
    pub(crate) fn probe_if_due(&mut self, stop: &Arc<AtomicBool>) -> Result<(), SourceError> {
        let Some(number) = self.present_phase() else { return Ok(()) };
        let written = self.written();
        let Some(observer) = &mut self.record.observer else { return Ok(()) };
        observer.probe_if_due(self.host.drive(), Some(&self.life.present(number)), written, stop)
    }

    /// Host units until the next probe; `None` without one.
    pub(crate) fn units_left_to_probe(&self) -> Option<u64> {
        let lived = self.record.lived(&self.host);
        Some(self.record.observer.as_ref()?.probe_due(self.host.drive(), lived)?.saturating_sub(lived))
    }

    /// Host units of the life that were predicted instead of simulated.
    pub(crate) fn predicted(&self) -> u64 {
        self.record.predicted(&self.host)
    }

    /// Lets the drive come to rest, and checks that it takes predicted wear.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn check_projection(&mut self) -> Result<(), ProjectionError> {
        self.host.drive_mut().come_to_rest();
        let erase_counts = self.host.drive().superblock_erase_counts().to_vec();
        let worn = wane_ftl::Worn::AtNextErase;
        let nothing =
            Projection { erase_counts: &erase_counts, by_wear_leveling: 0.0, worn, host_units: 0, programmed_units: 0 };
        self.host.drive_mut().project_wear(&nothing).map(drop)
    }

    /// Applies predicted wear. The run may be over then, since the drive may die.
    ///
    /// # Errors
    /// The drive refuses, and nothing changes.
    pub(crate) fn project(&mut self, projection: &Projection<'_>, stop: &AtomicBool) -> Result<(), ProjectionError> {
        let drive = self.host.drive_mut();
        let outcome = drive.project_wear(projection)?;
        let stopped = drive.stop_of(outcome);
        self.record.predict(projection.host_units);
        if let Err(ended) = self.host.settle(stopped, stop) {
            if let Some(number) = self.present_phase() {
                self.life.note(number, &self.record);
            }
            self.life.over(ended);
        }
        self.record.sample(&self.host, self.life.phase());
        Ok(())
    }

    /// Host units of the life since counting started, including predicted ones.
    pub(crate) fn lived(&self) -> u64 {
        self.record.lived(&self.host)
    }

    /// Whether the run has ended.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.life.stage, Stage::Over)
    }

    /// Whether the run has ended by the drive's death.
    pub(crate) fn has_died(&self) -> bool {
        matches!(self.life.end, Some(Ended::Died(_)))
    }
}
