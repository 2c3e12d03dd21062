//! The calendar of a run: drive writes per day, by the rate of its scenario or the pace of its trace.
//!
//! Untimed aging counts only drive writes; days are drive writes divided by this rate. The pace of a trace is the mapping units that it
//! writes on this drive, divided by the time from its first request to its last. A looped trace continues without a gap.

use wane_results::{Calendar, CalendarOrigin};
use wane_scenario::{PaceWord, Scenario, Workload, WritesPerDay};
use wane_units::Nanos;
use wane_workload::Pace;
use wane_workload::trace::TraceError;

use crate::build::PlanError;
use crate::run::Finished;
use crate::sources::Opener;

/// The calendar of a scenario; `None` if it has none.
///
/// # Errors
/// It is the pace of a trace that cannot be read twice or has no pace.
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
                // Reading was stopped, and the run ends before it needs days.
                Err(PlanError::Trace(TraceError::Interrupted { .. })) => return Ok(None),
                pace => pace?,
            };
            let calendar = pace.and_then(|pace| of_pace(scenario, pace));
            let none = || PlanError::NoPace(spec.path.display().to_string());
            calendar.map(Some).ok_or_else(none)
        }
    }
}

/// The calendar of a trace that writes at this pace; `None` if it writes nothing.
fn of_pace(scenario: &Scenario, pace: Pace) -> Option<Calendar> {
    let days = pace.over_ns as f64 / Nanos::DAY.0 as f64 * scenario.time.scale;
    let device = scenario.host_device();
    let whole = match (&scenario.phases[0].workload, device.scaled_from) {
        // A sample has only about the drive's share of the addresses, so the pace is that of the whole trace on the whole drive.
        (Workload::Trace(spec), Some(from)) if spec.sample > 1 => {
            from.0 as f64 / device.unit.0 as f64 / f64::from(spec.sample)
        }
        _ => f64::from(device.logical_units),
    };
    debug_assert!(whole > 0.0, "a drive has a page to write");
    let drive_writes_per_day = pace.bytes_written / device.unit.0 as f64 / whole / days;
    (drive_writes_per_day > 0.0).then_some(Calendar { drive_writes_per_day, origin: CalendarOrigin::Trace })
}

/// The calendar of a finished run whose scenario has none: the pace of the trace of its only phase, or the clock if a phase
/// of a timed run ends by `until.days`.
pub(crate) fn found(scenario: &Scenario, finished: &Finished) -> Option<Calendar> {
    let asks = scenario.time.is_timed() && scenario.phases.iter().any(|phase| phase.until.days.is_some());
    if let Some(measured) = finished.measured.as_ref().filter(|_| asks && scenario.probe.is_none()) {
        let days = measured.elapsed_ns as f64 / Nanos::DAY.0 as f64;
        let filled = finished.counters.host_units_filled(scenario.device.unit.0);
        let drive_writes = filled as f64 / f64::from(scenario.device.logical_units);
        let drive_writes_per_day = drive_writes / days;
        return (drive_writes_per_day.is_finite() && drive_writes_per_day > 0.0)
            .then_some(Calendar { drive_writes_per_day, origin: CalendarOrigin::Clock });
    }
    finished.pace.and_then(|pace| of_pace(scenario, pace))
}
