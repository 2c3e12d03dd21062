//! The figures of a run at its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_results::{Calendar, Counters, EndCause, EndReason, FileSystem, Row, WearSnapshot};
use wane_workload::{Pace, SourceError};

use super::{Run, Stage};
use crate::array::FinishedArray;
use crate::host::{Ended, Host};
use crate::observer::Measured;
use crate::record::{Recorded, wear};

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
    /// What the file system between workload and device did, if there is one.
    pub file_system: Option<FileSystem>,
    /// What became of the array and its drives, if it is one.
    pub array: Option<Box<FinishedArray>>,
}

impl Run {
    /// Returns the figures of the run. A run that is not over ends as interrupted. The drive's present work is
    /// finished first, unless `stop` is true.
    ///
    /// # Errors
    /// The trace of a probe that is due now is damaged.
    pub fn finish(self, stop: &Arc<AtomicBool>) -> Result<Finished, SourceError> {
        let Self { mut host, mut record, lanes, mut life } = self;
        if let Stage::Precondition { .. } = life.stage {
            record.start(&mut host);
        }
        if !matches!(life.stage, Stage::Over) {
            life.end = Some(Ended::Interrupted);
        }
        let written = record.written(&host);
        if let Some(observer) = &mut record.observer {
            // A probe may be due at the very end.
            let present = life.last_phase().map(|number| life.present(number));
            observer.probe_if_due(&host, present.as_ref(), written, stop)?;
            if matches!(life.end, Some(Ended::Died(_))) {
                observer.probe_the_dead(stop)?;
            }
        }
        debug_assert!(
            host.drives().iter().all(|drive| drive.check() == Ok(())),
            "the firmware keeps its invariants, however the run ended"
        );
        // What an array has under way is not counted yet.
        let is_under_way = host.array_time().is_some();
        let mut measured = record.observer.take_if(|_| is_under_way).map(|observer| observer.finish(&mut host, stop));
        record.sample(&host, life.phase());
        let counters = record.counters(&host);
        check(&host, &counters);
        let (wear, exported_units) = (wear(&host.drives()), host.exported());
        let refusals = host.counters().policy_refusals;
        let before = record.before_last(&counters, u64::from(host.logical_units()));
        measured = measured.or_else(|| record.observer.take().map(|observer| observer.finish(&mut host, stop)));
        // Only checked now, since work that was not done when the flag was raised is not in the measurements.
        // What an array does is done.
        let is_cut = lanes.is_none() && stop.load(Ordering::Relaxed);
        let end = life.end.or_else(|| is_cut.then_some(Ended::Interrupted));
        let (reason, cause) = match end {
            Some(Ended::Died(cause)) => (EndReason::EndOfLife, Some(cause)),
            Some(Ended::ClockEnd) => {
                life.notes.push(CLOCK_END.to_owned());
                (EndReason::ClockEnd, None)
            }
            Some(Ended::Interrupted) => (EndReason::Interrupted, None),
            None => (life.reason, None),
        };
        let (predicted_units, file_system) = (record.predicted(&host), host.files().map(crate::files::Files::told));
        let mut notes = std::mem::take(&mut life.notes);
        notes.extend(lanes.as_ref().and_then(|lanes| lanes.missing(&mut host)));
        let at = record.lived(&host) as f64 / f64::from(host.logical_units());
        let array = lanes.map(|lanes| Box::new(lanes.finish(&mut host, reason, at, measured.as_mut())));
        Ok(Finished {
            predicted_units,
            file_system,
            array,
            calendar: life.calendar,
            pace: if let [phase] = &life.phases[..] { phase.source.pace() } else { None },
            measured,
            counters,
            last_drive_write: counters - before,
            wear,
            erase_count_mean_at_start: record.mean_at_start(),
            reason,
            cause,
            exported_units,
            policy_refusals: refusals,
            notes,
            timeline: record.into_rows(),
        })
    }
}

/// Checks what holds at the end of every run.
fn check(host: &Host, counters: &Counters) {
    // An array writes copies and parities.
    let Some(drive) = host.only() else { return };
    assert_eq!(counters.programmed_host, counters.host_units_written, "what the host writes is programmed for it once");
    let units = u64::from(drive.layout().units_per_block());
    assert!(counters.gc_victim_valid_units <= counters.gc_victims * units, "a victim holds no more than a block does");
    assert!(host.exported() <= drive.logical_initial(), "a drive exports no more than when it was new");
}
