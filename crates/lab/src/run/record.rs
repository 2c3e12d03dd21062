//! The records of a run in progress, and its figures at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_results::{BlockAges, Calendar, Counters, EndCause, EndReason, Row, WearSnapshot};
use wane_units::{BlockId, BlockState, SuperblockId};
use wane_workload::{Pace, SourceError};

use super::{Ended, Run, Stage, WINDOW_STEPS};
use crate::observer::{Measured, Present};
use crate::timed::Timed;

/// Note of a run that ended by its clock.
const CLOCK_END: &str = "the simulated clock came to its end, 2^64 ns or 584 years after the start; arrivals closer together, or a smaller time.scale, let more requests fit";

/// The figures of a run at its end.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Counts since preconditioning.
    pub counters: Counters,
    /// Counts over the last drive write, or over the whole of a shorter run.
    pub last_drive_write: Counters,
    /// The rows of its life.
    pub timeline: Vec<Row>,
    /// The wear of its blocks.
    pub wear: WearSnapshot,
    /// Mean erase count when counting began.
    pub erase_count_mean_at_start: f64,
    /// Why it ended.
    pub reason: EndReason,
    /// Why the drive died.
    pub cause: Option<EndCause>,
    /// Logical units exported at the end.
    pub exported_units: u32,
    /// Number of answers of policies that were refused.
    pub policy_refusals: u64,
    /// Notes of the workload, such as what was assumed or skipped in a trace.
    pub notes: Vec<String>,
    /// The calendar of the run, if its scenario has one.
    pub calendar: Option<Calendar>,
    /// The pace of the trace of the only phase, if it has times.
    pub pace: Option<Pace>,
    /// The measurements of an observed run.
    pub measured: Option<Measured>,
    /// Host units of the life that were predicted instead of simulated.
    pub predicted_units: u64,
}

impl Run {
    #[inline]
    pub(super) fn sample_if_due(&mut self, now: u64) {
        if now >= self.row_due {
            self.sample();
        }
        if now >= self.window_due {
            self.begin_window_step();
        }
    }

    pub(super) fn begin_window_step(&mut self) {
        let counters = self.counters();
        let last = self.window.back().map_or(0, |last| last.host_units_written);
        debug_assert!(last <= counters.host_units_written, "steps of the window come in order");
        self.window.push_back(counters);
        self.window_due = counters.host_units_written + self.window_step;
        if self.window.len() as u64 > WINDOW_STEPS + 2 {
            self.window.pop_front();
        }
    }

    fn exported(&self) -> u32 {
        self.host.exported().unwrap_or(self.drive.exported())
    }

    fn phase(&self) -> u32 {
        match self.stage {
            Stage::Precondition { .. } => 0,
            Stage::Phase(number) => number as u32,
            Stage::Over => self.phases.len().saturating_sub(1) as u32,
        }
    }

    pub(super) fn sample(&mut self) {
        let counters = self.counters();
        let row = Row {
            drive_writes: self.lived() as f64 / f64::from(self.drive.logical_initial()),
            drive_writes_predicted: self.predicted as f64 / f64::from(self.drive.logical_initial()),
            phase: self.phase(),
            counters,
            erase_count: wane_results::EraseCounts::of(self.drive.erase_counts()),
            blocks_retired: self.drive.retired_blocks() * self.drive.layout().width(),
            exported_bytes: u64::from(self.exported()) * self.unit_bytes,
            states: self.states(),
        };
        self.timeline.push(row);
        self.row_due = self.timeline.due_at();
    }

    /// The ages of the blocks, if they are known or the mode depends on them.
    fn states(&self) -> Option<BlockAges> {
        let drive = &self.drive;
        if self.young_below.is_none() && !drive.judges_mode() {
            return None;
        }
        let width = drive.layout().width();
        let in_service = (drive.layout().blocks() - drive.retired_blocks()) * width;
        let count = |young_below: u32| {
            let counts = drive.layout().superblocks().zip(drive.superblock_erase_counts());
            let young =
                counts.filter(|(block, erases)| **erases < young_below && drive.state(*block) != BlockState::Retired);
            young.count() as u32 * width
        };
        let young = self.young_below.map(count);
        let surplus = drive.mode_view().effective_over_provisioning();
        Some(BlockAges {
            young,
            middle_aged: young.map(|young| in_service - young),
            effective_over_provisioning: surplus.is_finite().then_some(surplus),
            degraded: drive.trigger(),
        })
    }

    /// The present wear of the blocks.
    pub(crate) fn wear(&self) -> WearSnapshot {
        let geometry = *self.drive.geometry();
        let layout = self.drive.layout();
        let holders: Vec<SuperblockId> = BlockId::all(0..geometry.blocks()).map(|block| layout.holder(block)).collect();
        let state = |holder: &SuperblockId| self.drive.state(*holder);
        // A superblock's valid units are spread over its members, so each shows its share.
        let valid = |holder: &SuperblockId| self.drive.valid(*holder) / layout.width();
        WearSnapshot::new(
            geometry,
            self.drive.erase_counts().to_vec(),
            holders.iter().map(valid).collect(),
            holders.iter().map(state).collect(),
        )
    }

    /// Returns the figures of the run. A run that is not over ends as interrupted. The drive's present work is
    /// finished first, unless `stop` is true.
    ///
    /// # Errors
    /// The trace of a probe that is due now is damaged.
    pub fn finish(mut self, stop: &Arc<AtomicBool>) -> Result<Finished, SourceError> {
        if let Stage::Precondition { .. } = self.stage {
            self.start();
        }
        let is_over = matches!(self.stage, Stage::Over);
        if !is_over {
            self.end = Some(Ended::Interrupted);
        }
        let written = self.written();
        if let Some(observer) = &mut self.observer {
            // A probe may be due at the very end.
            let number =
                if let Stage::Phase(number) = self.stage { Some(number) } else { self.phases.len().checked_sub(1) };
            let present = number.map(|number| Present::of(number, &self.phases, &self.in_phase.ahead));
            observer.probe_if_due(&self.drive, present.as_ref(), written, stop)?;
            if matches!(self.end, Some(Ended::Died(_))) {
                observer.probe_the_dead(stop)?;
            }
        }
        debug_assert_eq!(self.drive.check(), Ok(()), "the firmware keeps its invariants, however the run ended");
        self.sample();
        let counters = self.counters();
        assert_eq!(
            counters.programmed_host, counters.host_units_written,
            "what the host writes is programmed for it once"
        );
        let units = u64::from(self.drive.layout().units_per_block());
        assert!(
            counters.gc_victim_valid_units <= counters.gc_victims * units,
            "a victim holds no more than a block does"
        );
        let wear = self.wear();
        let (exported_units, refusals) = (self.exported(), self.drive.counters().policy_refusals);
        let logical = u64::from(self.drive.logical_initial());
        assert!(u64::from(exported_units) <= logical, "a drive exports no more than when it was new");
        let from = counters.host_units_written.saturating_sub(logical);
        let before = self.window.iter().rev().find(|earlier| earlier.host_units_written <= from);
        let measured = self.observer.take().map(|observer| observer.finish(&mut self.drive, stop));
        // Only checked now, since work that was not done when the flag was raised is not in the measurements.
        let end = self.end.or_else(|| stop.load(Ordering::Relaxed).then_some(Ended::Interrupted));
        let (reason, cause) = match end {
            Some(Ended::Died(cause)) => (EndReason::EndOfLife, Some(cause)),
            Some(Ended::ClockEnd) => {
                self.notes.push(CLOCK_END.to_owned());
                (EndReason::ClockEnd, None)
            }
            Some(Ended::Interrupted) => (EndReason::Interrupted, None),
            None => (self.reason, None),
        };
        Ok(Finished {
            predicted_units: self.predicted,
            calendar: self.calendar,
            pace: if let [phase] = &self.phases[..] { phase.source.pace() } else { None },
            measured,
            counters,
            last_drive_write: counters - before.copied().unwrap_or_default(),
            wear,
            erase_count_mean_at_start: self.mean_at_start,
            reason,
            cause,
            exported_units,
            policy_refusals: refusals,
            notes: std::mem::take(&mut self.notes),
            timeline: self.timeline.into_rows(),
        })
    }

    /// The measurements of a probe, and notes on its requests. See [`Run::probe`].
    pub(crate) fn into_timed(mut self, stop: &AtomicBool) -> (Timed, Vec<String>) {
        let observer = self.observer.take().expect("a probe is observed");
        (observer.into_timed(&mut self.drive, stop).expect("a probe is timed"), self.notes)
    }
}
