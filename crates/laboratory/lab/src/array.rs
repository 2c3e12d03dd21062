//! Runs an array to its end: one workload on several drives, each of which has results of its own.
//!
//! Between two steps the run looks at the drives. What it does then (a drive that died goes, one that is worn is replaced) falls on multiples of a
//! step, and so does the instant of which results speak.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_blockdev::{Batch, Living, SectorRange, Stop, Work, each_of, find};
use wane_raid::{Following, Redundant, redundant_of};
use wane_results::{
    ArrayDrive, ArrayProbe, ArraySummary, Calendar, DriveState, End, EndCause, EndReason, Errors, RunResult, Unfinished,
};
use wane_scenario::{ArrayLayout, ArraySpec, LastWord, Scenario, Scheduler};
use wane_sim::Streams;
use wane_ssd::Drive;
use wane_units::{EndOfLife, Lba, Sectors};

use crate::build::{self, PlanError, PolicyOverrides};
use crate::calendar;
use crate::host::{Ended, Host, end_cause};
use crate::progress::Stopwatch;
use crate::record::{Record, wear};
use crate::run::{Budget, Finished, Progress, Run, Watch};
use crate::session::{self, Measured, SessionError};
use crate::sources::Opener;

pub(crate) use drives::{Assembly, Checked, Drives, Due, copy_all};
use observed::Observed;
pub(crate) use timed::{Look, Looked};

mod drives;
mod forecast;
mod observed;
mod timed;

/// Steps of an array write.
const STEPS: u64 = 256;

/// What became of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayResult {
    /// The array.
    pub summary: ArraySummary,
    /// Its drives, in the order of the summary: each with the scenario that makes it.
    pub drives: Vec<(Scenario, RunResult)>,
}

/// A drive that stands in the array, or stood in it.
struct Stood {
    place: usize,
    scenario: Scenario,
    /// The record of what it does; `None` once its result is made.
    record: Option<Record>,
    result: Option<RunResult>,
    /// Errors that it had seen when counting started.
    errors: Option<Errors>,
    told: ArrayDrive,
}

/// An array and what is recorded of it.
struct ArrayRun<'a> {
    scenario: &'a Scenario,
    spec: &'a ArraySpec,
    run: Run,
    drives: Drives,
    stood: Vec<Stood>,
    observed: Option<Observed>,
    calendar: Option<Calendar>,
    stopwatch: Stopwatch,
    /// Units from the first on beyond which no phase touches anything.
    used: u32,
}

/// Runs an array to its end.
///
/// # Errors
/// The scenario has no array, needs too much memory, cannot be built, or its trace cannot be read further.
pub fn execute(scenario: &Scenario, watch: &mut Watch<'_>) -> Result<ArrayResult, SessionError> {
    let Some(spec) = &scenario.array else { return Err(PlanError::Array.into()) };
    check_run(scenario)?;
    session::check_memory(scenario)?;
    let stopwatch = Stopwatch::start();
    let mut opener = Opener::new(spec.device, Streams::new(scenario.seed), Arc::clone(watch.stop));
    let calendar = calendar::calendar(scenario, &mut opener)?;
    let phases = build::phases(scenario, &mut opener, calendar)?;
    let observed = Observed::new(scenario, calendar, &mut opener)?;
    // They age without their clocks, which are started in copies.
    let mut untimed = spec.clone();
    untimed.members.iter_mut().for_each(|member| member.time.scheduler = Scheduler::None);
    let drives = Drives::new(scenario.seed, &untimed);
    let unit = Sectors(spec.device.unit.0 / Sectors::SIZE.0);
    let host = Host::of_array(drives.assemble(Assembly::New)?, unit);
    let run = Run::of_array(host, calendar, build::precondition(scenario), phases);
    let used = scenario.phases.iter().map(|phase| phase.workload.footprint().unwrap_or(spec.device.logical_units));
    let used = used.max().unwrap_or(spec.device.logical_units);
    let mut array =
        ArrayRun { scenario, spec, run, drives, stood: Vec::new(), observed: None, calendar, stopwatch, used };
    for (place, member) in untimed.members.iter().enumerate() {
        array.note_new(place, member.clone(), 0);
    }
    array.observed = observed;
    array.live(watch)?;
    let in_probe = array.observed.as_ref().is_some_and(|observed| observed.was_cut);
    let mut result = array.finish();
    result.summary.interrupted = match result.summary.end.reason {
        EndReason::Interrupted => Some(Unfinished::Life),
        _ => in_probe.then_some(Unfinished::Probe),
    };
    if result.summary.interrupted.is_none() {
        foretell(scenario, &mut result, calendar, watch.stop)?;
    }
    Ok(result)
}

/// Makes the forecast, if one is asked for, unless `stop` is set.
fn foretell(
    scenario: &Scenario,
    result: &mut ArrayResult,
    calendar: Option<Calendar>,
    stop: &AtomicBool,
) -> Result<(), PlanError> {
    let writes_per_day = calendar.map(|calendar| calendar.drive_writes_per_day);
    let forecast = forecast::forecast(scenario, &result.summary, &result.drives, writes_per_day, stop)?;
    if forecast.is_none() && forecast::is_asked(scenario, writes_per_day) {
        result.summary.interrupted = Some(Unfinished::Forecast);
    }
    result.summary.forecast = forecast;
    Ok(())
}

/// Refuses what `wane run` does not simulate of an array, at its key.
///
/// # Errors
/// The scenario asks for that.
pub fn check_run(scenario: &Scenario) -> Result<(), PlanError> {
    let refuse = |key: &str, why: &str| Err(PlanError::Setting(key.to_owned(), why.to_owned()));
    if scenario.time.is_timed() && scenario.probe.is_none() {
        let why = "an array ages without a clock; with [probe] its probes are timed, and a kept array has one (`wane drive create`)";
        return refuse("time.scheduler", why);
    }
    Ok(())
}

impl ArrayRun<'_> {
    fn array(&mut self) -> &mut dyn Living {
        self.run.array()
    }

    /// Array writes since counting started.
    fn written(&self) -> f64 {
        self.run.written() as f64 / f64::from(self.spec.device.logical_units)
    }

    /// Looks at the drive of a place.
    fn drive<T>(&mut self, place: usize, look: impl FnOnce(&Drive) -> T) -> Option<T> {
        let mut members: Vec<&dyn Living> = Vec::new();
        self.run.array().members(&mut |member| members.push(member));
        find::<Drive>(*members.get(place)?).map(look)
    }

    /// Changes settings of the drive of a place.
    fn change_drive(&mut self, place: usize, mut change: impl FnMut(&mut Drive)) {
        let mut next = 0;
        self.run.array().members_mut(&mut |member| {
            if next == place {
                each_of::<Drive>(member, &mut change);
            }
            next += 1;
        });
    }

    /// Notes that a drive stands in a place from now on.
    fn note_new(&mut self, place: usize, mut scenario: Scenario, number: u32) {
        let name = match number {
            0 => format!("drive-{place}"),
            _ => format!("drive-{place}-new-{number}"),
        };
        scenario.name = name.replace('-', " ");
        let told = ArrayDrive {
            run: name,
            place: place as u32,
            state: DriveState::Online,
            came_at: self.written(),
            ended_at: None,
            life_used: None,
            erase_count_mean: 0.0,
            bytes_written: 0,
        };
        self.stood.push(Stood { place, scenario, record: None, result: None, errors: None, told });
        self.begin(self.stood.len() - 1);
    }

    /// Lets the array serve its phases to their end.
    fn live(&mut self, watch: &mut Watch<'_>) -> Result<(), SessionError> {
        let step = (u64::from(self.spec.device.logical_units) / STEPS).max(1);
        // The drives' results begin where the array's do.
        let precondition = build::precondition(self.scenario);
        self.run.advance(Budget::units(precondition.units(self.spec.device.logical_units)), watch)?;
        (0..self.stood.len()).for_each(|number| self.begin(number));
        self.probe(watch)?;
        loop {
            let progress = self.run.advance(Budget::units(step), watch)?;
            self.look()?;
            self.probe(watch)?;
            if self.stood.iter().all(|stood| stood.told.ended_at.is_some()) && progress != Progress::Over {
                // Nothing is left that could refuse the next write.
                self.run.over(Ended::Died(EndCause::SpareExhausted));
                return Ok(());
            }
            if progress == Progress::Over {
                return Ok(());
            }
        }
    }

    /// Lets data age, and makes the probes that are due.
    fn probe(&mut self, watch: &Watch<'_>) -> Result<(), SessionError> {
        let at = (self.run.written(), self.written());
        let Some(observed) = &mut self.observed else { return Ok(()) };
        observed.follow(self.run.array(), at.0);
        let unit = Sectors(self.spec.device.unit.0 / Sectors::SIZE.0);
        Ok(observed.probe_if_due(self.run.array(), unit, at, watch.stop)?)
    }

    /// Counts what a drive does from now on.
    fn begin(&mut self, number: usize) {
        let (place, scenario) = (self.stood[number].place, &self.stood[number].scenario.clone());
        let mut record = Record::new(build::young_below(scenario), None).with_course(scenario.device.logical_units);
        let is_observed = self.observed.is_some();
        let mut errors = None;
        self.change_drive(place, |drive| {
            if is_observed {
                errors = Observed::start(drive, scenario);
            }
            record.start_of(drive);
        });
        let stood = &mut self.stood[number];
        (stood.record, stood.errors) = (Some(record), errors);
    }

    /// Gives members the space that they want back, and looks at each drive: takes the row that is due, notes deaths, and replaces what is worn.
    fn look(&mut self) -> Result<(), PlanError> {
        if self.spec.settings.following == Following::Members && self.run.give_back(self.used) {
            // Moving takes hours where a life takes years.
            drives::move_all(self.run.array());
        }
        for number in 0..self.stood.len() {
            let Some(mut record) = self.stood[number].record.take() else { continue };
            let place = self.stood[number].place;
            let _ = self.drive(place, |drive| {
                let written = record.written(drive);
                record.sample_if_due(drive, written, 0);
            });
            self.stood[number].record = Some(record);
        }
        while let Some(due) = self.drives.dead(self.run.array()) {
            self.see_to(due)?;
        }
        match self.drives.worn(self.run.array()) {
            Some(due) => self.see_to(due),
            None => Ok(()),
        }
    }

    /// Ends the record of a drive that is dead or worn, and does what is due.
    fn see_to(&mut self, due: Due) -> Result<(), PlanError> {
        let (at, place) = (self.written(), due.place());
        let stands = |stood: &Stood| stood.place == place && stood.told.ended_at.is_none();
        let number = self.stood.iter().position(stands);
        let state = match due {
            Due::Dead(_, cause) => {
                number.into_iter().for_each(|number| self.note_end(number, EndReason::EndOfLife, Some(cause)));
                if self.spec.settings.at_end_of_life == LastWord::Gone {
                    DriveState::Gone
                } else {
                    DriveState::ReadOnly
                }
            }
            Due::Worn(_) => {
                number.into_iter().for_each(|number| self.note_end(number, EndReason::Replaced, None));
                DriveState::Replaced
            }
        };
        if let Some(number) = number {
            (self.stood[number].told.state, self.stood[number].told.ended_at) = (state, Some(at));
        }
        if let Some(place) = self.drives.see_to(self.run.array(), due)? {
            self.note_new(place, self.drives.scenario(place), self.drives.number(place));
        }
        Ok(())
    }

    /// Makes the result of a drive, which stands in its place no longer, or takes no more writes.
    fn note_end(&mut self, number: usize, reason: EndReason, cause: Option<EndOfLife>) {
        let place = self.stood[number].place;
        let Some(mut record) = self.stood[number].record.take() else { return };
        let cause = cause.map(end_cause);
        let calendar = self.calendar;
        let (is_observed, errors) = (self.observed.is_some(), self.stood[number].errors);
        let is_alike = self.stood[number].scenario.device.logical_bytes() == self.spec.device.logical_bytes();
        let finished = self.drive(place, |drive| {
            record.sample(drive, 0);
            let counters = record.counters(drive);
            let before = record.before_last(&counters, u64::from(drive.logical_initial()));
            let used = drive.life_used();
            let finished = Finished {
                counters,
                last_drive_write: counters - before,
                wear: wear(drive),
                erase_count_mean_at_start: record.mean_at_start(),
                reason,
                cause,
                exported_units: drive.exported(),
                policy_refusals: drive.counters().policy_refusals,
                notes: Vec::new(),
                // A day of the array is a day of each drive that is as large.
                calendar: calendar.filter(|_| is_alike),
                pace: None,
                measured: is_observed.then(|| Observed::measured(drive, errors)),
                predicted_units: 0,
                file_system: None,
                timeline: record.into_rows(),
            };
            (finished, used)
        });
        let Some((finished, used)) = finished else { return };
        let scenario = &self.stood[number].scenario;
        let overrides = PolicyOverrides::default();
        let result = session::result(scenario, &overrides, &finished, &self.stopwatch, &Measured::default());
        let unit = scenario.device.unit.0;
        let told = &mut self.stood[number].told;
        told.life_used = used;
        told.erase_count_mean = finished.wear.quantiles().mean;
        told.bytes_written = finished.counters.host_bytes_written(unit);
        self.stood[number].result = Some(result);
    }

    /// Bytes that went with drives that are gone, where there is one copy; `None` where there is more.
    fn lost_with_drives(&self) -> Option<u64> {
        let gone = || self.stood.iter().filter(|stood| stood.told.state == DriveState::Gone);
        match self.spec.settings.layout {
            ArrayLayout::Mirror | ArrayLayout::Raid => None,
            // A chunk of everything lies on each.
            ArrayLayout::Stripe => gone().next().map(|_| self.spec.device.logical_bytes()),
            ArrayLayout::Linear => {
                gone().next().map(|_| gone().map(|stood| stood.scenario.device.logical_bytes()).sum())
            }
        }
    }

    /// Bytes that cannot be read any more.
    fn lost(&mut self) -> u64 {
        const BATCH: u64 = 1 << 20;
        let capacity = self.array().capacity().0;
        let now = self.array().now();
        let mut lost = Sectors::ZERO;
        let mut at = 0;
        while at < capacity {
            let range = SectorRange::new(Lba(at), Sectors(BATCH.min(capacity - at)));
            let mut took = self.array().batch(now, &Batch::new(Work::Read, &[range]));
            while took.stop == Stop::Paused {
                took.stop = self.array().go_on(now, Stop::Paused);
            }
            match took.stop {
                Stop::Gone => return capacity * Sectors::SIZE.0,
                _ => lost = took.unread.iter().fold(lost, |sum, range| sum + range.count),
            }
            at += range.count.0;
        }
        lost.0 * Sectors::SIZE.0
    }

    /// The probes, whose drives have the names of their results, and what a reader should know first.
    fn probes(&mut self, told: &[ArrayDrive]) -> (Vec<ArrayProbe>, Vec<String>) {
        let Some(observed) = self.observed.take() else { return (Vec::new(), Vec::new()) };
        let unseen = self.scenario.probe.as_ref().and_then(|probe| observed.unseen(&probe.ages));
        let Observed { mut probes, notes, .. } = observed;
        for probe in &mut probes {
            let at = probe.at_array_writes;
            let stood = |place: u32| told.iter().rfind(|drive| drive.place == place && drive.came_at <= at);
            for drive in &mut probe.drives {
                drive.run = stood(drive.place).map(|drive| drive.run.clone());
            }
        }
        (probes, notes.into_iter().chain(unseen).collect())
    }

    /// Makes the results.
    fn finish(mut self) -> ArrayResult {
        let (reason, cause): (EndReason, Option<EndCause>) = match self.run.ended() {
            (_, Some(Ended::Died(cause))) => (EndReason::EndOfLife, Some(cause)),
            (_, Some(Ended::ClockEnd)) => (EndReason::ClockEnd, None),
            (_, Some(Ended::Interrupted)) => (EndReason::Interrupted, None),
            (reason, None) => (reason, None),
        };
        for number in 0..self.stood.len() {
            self.note_end(number, if reason == EndReason::EndOfLife { EndReason::ArrayEnd } else { reason }, None);
        }
        let at_drive_writes = self.written();
        let bytes_written = self.run.counters().host_bytes_written(self.spec.device.unit.0);
        let repairs = redundant_of(self.array()).map(Redundant::repairs).unwrap_or_default();
        let bytes_lost = self.lost_with_drives().unwrap_or_else(|| self.lost());
        self.stood.sort_by(|one, other| {
            (one.told.place, one.told.came_at).partial_cmp(&(other.told.place, other.told.came_at)).expect("numbers")
        });
        let died = |drive: &&ArrayDrive| matches!(drive.state, DriveState::ReadOnly | DriveState::Gone);
        let told: Vec<ArrayDrive> = self.stood.iter().map(|stood| stood.told.clone()).collect();
        let deaths = || told.iter().filter(died).filter_map(|drive| drive.ended_at);
        // A spare came in the place of some.
        let is_left =
            |drive: &&ArrayDrive| told.iter().all(|next| next.place != drive.place || next.came_at <= drive.came_at);
        let left = told.iter().filter(died).filter(is_left).filter_map(|drive| drive.ended_at).reduce(f64::min);
        let writes_degraded = match self.spec.settings.layout.is_redundant() {
            true => left.map_or(0.0, |first| at_drive_writes - first),
            false => 0.0,
        };
        let stand = told.iter().any(|drive| drive.state == DriveState::Online);
        let (probes, of_probes) = self.probes(&told);
        let warnings = self.scenario.unasked().into_iter().chain(of_probes).collect();
        let capacity_at_end = self.array().capacity().0 * Sectors::SIZE.0;
        let summary = ArraySummary {
            scenario: wane_results::Scenario {
                name: self.scenario.name.clone(),
                hash: self.scenario.hash(),
                overrides: std::collections::BTreeMap::new(),
            },
            layout: self.spec.settings.layout.name().to_owned(),
            capacity_bytes: self.spec.device.logical_bytes(),
            capacity_bytes_at_end: Some(capacity_at_end).filter(|end| *end != self.spec.device.logical_bytes()),
            bytes_written,
            end: End { reason, cause, at_drive_writes },
            interrupted: None,
            first_death_at: deaths().reduce(f64::min),
            last_death_at: deaths().reduce(f64::max).filter(|_| !stand),
            writes_degraded,
            bytes_lost,
            bytes_repaired: repairs.repaired.0 * Sectors::SIZE.0,
            bytes_copied: repairs.copied.0 * Sectors::SIZE.0,
            probes,
            forecast: None,
            warnings,
            run: wane_results::ArrayRun {
                seed: self.scenario.seed,
                wall_seconds: self.stopwatch.elapsed().as_secs_f64(),
                version: session::VERSION.to_owned(),
            },
            drives: told,
        };
        let drives = self.stood.into_iter().filter_map(|stood| Some((stood.scenario, stood.result?))).collect();
        ArrayResult { summary, drives }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use wane_results::CalendarOrigin;
    use wane_scenario::Sources;

    use super::*;

    const ARRAY: &str = "[drive]\nlogical-capacity = \"4 MiB\"\nspare-factor = 0.2\npages-per-block = 16\nendurance = 40\nchip = \"tlc-72l-2018\"\n\
                         [time]\ndrive-writes-per-day = 1\nscheduler = \"event\"\n[probe]\nat-drive-writes = [1, 2]\nuntil = { requests = 2_000 }\n\
                         [array]\nlayout = \"mirror\"\n[[array.member]]\ncount = 2\n[forecast]\narrays = 100\n[until]\ndrive-writes = 2\n";

    /// The array as it is when `stop` is set at a step after this many array writes.
    fn lived(until: f64) -> ArraySummary {
        let scenario = Scenario::resolve(&Sources { file: Some(("a.toml", ARRAY)), ..Sources::default() }).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut step = |step: &crate::run::Step| stop.store(step.drive_writes >= until, Ordering::Relaxed);
        execute(&scenario, &mut Watch { step: &mut step, stop: &stop }).unwrap().summary
    }

    #[test]
    fn what_was_stopped_says_which_stage() {
        let whole = lived(f64::INFINITY);
        assert_eq!((whole.interrupted, whole.probes.len(), whole.forecast.is_some()), (None, 2, true));
        let stopped = lived(0.5);
        assert_eq!((stopped.interrupted, stopped.end.reason), (Some(Unfinished::Life), EndReason::Interrupted));
        assert_eq!((stopped.probes.len(), stopped.forecast), (0, None));
        // In its forecast, its life is whole.
        let scenario = Scenario::resolve(&Sources { file: Some(("a.toml", ARRAY)), ..Sources::default() }).unwrap();
        let mut result = execute(&scenario, &mut Watch { step: &mut |_| {}, stop: &Arc::default() }).unwrap();
        let calendar = Calendar { drive_writes_per_day: 1.0, origin: CalendarOrigin::Scenario };
        foretell(&scenario, &mut result, Some(calendar), &AtomicBool::new(true)).unwrap();
        let ArraySummary { interrupted, forecast, end, .. } = result.summary;
        assert_eq!((interrupted, forecast, end), (Some(Unfinished::Forecast), None, whole.end));
    }
}
