//! How fast a run's drive is written: by the rate of its scenario, or by the pace of its trace.
//!
//! Untimed aging knows drive writes alone; days are drive writes over this rate. The pace of a trace counts the mapping units that it
//! writes on this drive, as drive writes do, over the time from its first request to its last: a looped trace goes on without a gap.

use wane_results::{Calendar, CalendarOrigin};
use wane_scenario::{PaceWord, Scenario, Workload, WritesPerDay};
use wane_units::Nanos;
use wane_workload::Pace;
use wane_workload::trace::TraceError;

use crate::build::PlanError;
use crate::run::Finished;
use crate::sources::Opener;

/// The calendar that a scenario gives its run; `None` where it speaks of none.
///
/// # Errors
/// It is that of a trace which cannot be read twice, or has no pace.
pub(crate) fn calendar(scenario: &Scenario, opener: &mut Opener) -> Result<Option<Calendar>, PlanError> {
    match scenario.time.drive_writes_per_day {
        None => Ok(None),
        Some(WritesPerDay::Rate(drive_writes_per_day)) => {
            Ok(Some(Calendar { drive_writes_per_day, origin: CalendarOrigin::Scenario }))
        }
        Some(WritesPerDay::Word(PaceWord::Trace)) => {
            let Workload::Trace(spec) = &scenario.phases[0].workload else {
                unreachable!("the scenario is checked: its calendar is that of a trace");
            };
            let pace = match opener.pace(spec) {
                // Its reading was stopped: the run ends before it asks for the day.
                Err(PlanError::Trace(TraceError::Interrupted { .. })) => return Ok(None),
                pace => pace?,
            };
            let calendar = pace.and_then(|pace| of_pace(scenario, pace));
            let none = || PlanError::NoPace(spec.path.display().to_string());
            calendar.map(Some).ok_or_else(none)
        }
    }
}

/// The calendar of a trace that writes at this pace; `None` where it writes nothing.
fn of_pace(scenario: &Scenario, pace: Pace) -> Option<Calendar> {
    let days = pace.over_ns as f64 / Nanos::DAY.0 as f64 * scenario.time.scale;
    let device = &scenario.device;
    let whole = match (&scenario.phases[0].workload, device.scaled_from) {
        // A sample of whole addresses is only about the drive's share of them; the pace is that of the whole on the whole.
        (Workload::Trace(spec), Some(from)) if spec.sample > 1 => {
            from.0 as f64 / device.unit.0 as f64 / f64::from(spec.sample)
        }
        _ => f64::from(device.logical_units),
    };
    debug_assert!(whole > 0.0, "a drive has a page to write");
    let drive_writes_per_day = pace.pages_written / whole / days;
    (drive_writes_per_day > 0.0).then_some(Calendar { drive_writes_per_day, origin: CalendarOrigin::Trace })
}

/// The calendar that a run turned out to have where its scenario speaks of none: that of the trace of its only phase; or, where a phase
/// of a timed run was to last so many days, that of its clock.
pub(crate) fn found(scenario: &Scenario, finished: &Finished) -> Option<Calendar> {
    let asks = scenario.time.is_timed() && scenario.phases.iter().any(|phase| phase.until.days.is_some());
    if let Some(measured) = finished.measured.as_ref().filter(|_| asks && scenario.probe.is_none()) {
        let days = measured.elapsed_ns as f64 / Nanos::DAY.0 as f64;
        let drive_writes = finished.counters.host_units_written as f64 / f64::from(scenario.device.logical_units);
        let drive_writes_per_day = drive_writes / days;
        return (drive_writes_per_day.is_finite() && drive_writes_per_day > 0.0)
            .then_some(Calendar { drive_writes_per_day, origin: CalendarOrigin::Clock });
    }
    finished.pace.and_then(|pace| of_pace(scenario, pace))
}
