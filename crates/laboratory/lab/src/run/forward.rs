//! A run whose life is predicted in part: the figures that fast-forward needs, and the projection of wear.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_blockdev::Stop;
use wane_ftl::ProjectionError;
use wane_results::Counters;
use wane_ssd::{Drive, Projection};
use wane_workload::SourceError;

use super::{Run, Stage};
use crate::array::Member;
use crate::host::Ended;
use crate::record::Recorded;

impl Run {
    /// Host units that preconditioning still has to write; 0 once counting has started.
    pub(crate) fn precondition_left(&self) -> u64 {
        let Stage::Precondition { done } = self.life.stage else { return 0 };
        self.life.precondition.units(self.host.addresses()) - done
    }

    /// Whether it is the run of an array.
    pub(crate) fn is_array(&self) -> bool {
        self.host.is_array()
    }

    /// Host units of the device when it was new.
    pub(crate) const fn when_new(&self) -> u32 {
        self.host.logical_units()
    }

    /// Bytes of a unit.
    pub(crate) fn unit_bytes(&self) -> u64 {
        self.host.unit_bytes()
    }

    /// The drives that take writes, each with what it counted.
    pub(crate) fn counted(&self) -> Vec<(Counters, &Drive)> {
        if !self.is_array() {
            return vec![(self.counters(), self.host.drive())];
        }
        let under_files = self.host.files().is_some();
        let drives = self.host.drives().into_iter().filter(|drive| drive.end_of_life().is_none());
        drives.map(|drive| (Member { drive, under_files }.counters(), drive)).collect()
    }

    /// A number that is another one once another drive stands in the array, or one takes no more writes. Of a kept array it counts those that take some.
    pub(crate) fn standing(&self) -> usize {
        self.lanes.as_ref().map_or_else(|| self.counted().len(), |lanes| lanes.changes())
    }

    /// Share of its rated wear at which a drive of an array is replaced; `None` if none is.
    pub(crate) fn replaced_at(&self) -> Option<f64> {
        self.lanes.as_ref()?.replaced_at()
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
        observer.probe_if_due(&self.host, Some(&self.life.present(number)), written, stop)
    }

    /// Host units until the next probe; `None` without one.
    pub(crate) fn units_left_to_probe(&self) -> Option<u64> {
        let lived = self.record.lived(&self.host);
        Some(self.record.observer.as_ref()?.probe_due(&self.host, lived)?.saturating_sub(lived))
    }

    /// Host units of the life that were predicted instead of simulated.
    pub(crate) fn predicted(&self) -> u64 {
        self.record.predicted(&self.host)
    }

    /// Lets the drives come to rest, and checks that they take predicted wear.
    ///
    /// # Errors
    /// One does not.
    pub(crate) fn check_projection(&mut self) -> Result<(), ProjectionError> {
        let mut checked = Ok(());
        self.host.each_drive(&mut |drive| {
            drive.come_to_rest();
            let erase_counts = drive.superblock_erase_counts().to_vec();
            let (erase_counts, worn) = (&erase_counts[..], wane_ftl::Worn::AtNextErase);
            let nothing = Projection { erase_counts, by_wear_leveling: 0.0, worn, host_units: 0, programmed_units: 0 };
            if checked.is_ok() && drive.end_of_life().is_none() {
                checked = drive.project_wear(&nothing).map(drop);
            }
        });
        checked
    }

    /// Applies predicted wear of `units` host units, in the order of [`Run::counted`]. The run may be over then, since the drive may die. What drives of
    /// an array, or a drive below a file system, want then, they get in what is simulated next.
    ///
    /// # Errors
    /// A drive refuses, and nothing of it changes.
    pub(crate) fn project(
        &mut self,
        units: u64,
        projections: &[Projection<'_>],
        stop: &AtomicBool,
    ) -> Result<(), ProjectionError> {
        let mut stopped = Stop::Done;
        if self.host.is_alone() {
            let drive = self.host.drive_mut();
            let outcome = drive.project_wear(&projections[0])?;
            stopped = drive.stop_of(outcome);
        } else {
            self.host.project(units, projections)?;
        }
        self.record.predict(units);
        if let Err(ended) = self.host.settle(stopped, stop) {
            if let Some(number) = self.present_phase() {
                self.life.note(number, &self.record);
            }
            self.life.over(ended);
        }
        self.record.sample(&self.host, self.life.phase());
        if let Some(lanes) = &mut self.lanes {
            lanes.sample(&mut self.host);
        }
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
