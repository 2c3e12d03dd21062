//! A drive, or an array of drives, in memory, with its host and its place in its workload. It can be aged, copied and looked at. [`crate::kept`]
//! keeps one in a folder.
//!
//! It is built on [`Run`], which serves the requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{BlockDevice, Blocking, IoError, Living, Passing, Status, all_of, each_of};
use wane_ftl::{Fate, Recovery};
use wane_raid::as_array;
use wane_results::{Counters, EXTRAPOLATED, EndCause, EndReason, Inputs, RunResult, WearSnapshot, Window};
use wane_scenario::Scenario;
use wane_ssd::{Drive, Predicted};
use wane_units::{BlockId, Nanos, Sectors};

use crate::array::{Assembly, Drives};

use crate::build::{self, PolicyOverrides};
use crate::progress::Stopwatch;
use crate::record::wear;
pub use crate::run::WrittenBytes;
use crate::run::{Budget, Progress, Run, Watch};
use crate::session;
use crate::usable::Usable;

pub use act::{Act, Acted, Aging};
use ahead::Ahead;
pub use array::MemberFacts;
pub use data::{DataCheck, Injection, Retire};
pub use error::KeptError;
pub use standing::Standing;

mod act;
mod ahead;
mod array;
mod data;
mod error;
mod place;
mod requests;
mod standing;
mod target;

/// Least steps of aging in a drive write, and most units of a step. Between two steps days pass, and it is checked whether the drive
/// has reached its target.
const STEPS_PER_DRIVE_WRITE: u64 = 64;
pub(crate) const STEP_UNITS_MAX: u64 = 1 << 20;

/// Most days that a held drive's calendar counts. Up to here moments one second apart differ.
pub const DAYS_MAX: f64 = 1e9;

/// The target of aging.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// Until this many drive writes since the drive was new.
    DriveWrites(f64),
    /// Until this share of its rated erases is used.
    Wear(f64),
    /// Until the drive takes no more writes.
    EndOfLife,
    /// Until the drive is this many days old, at the pace of its calendar.
    Days(f64),
    /// Until this many drive writes are left. A copy is first run to its end.
    DriveWritesLeft(f64),
    /// Until this many days are left, at the pace of its calendar. A copy is first run to its end.
    DaysLeft(f64),
}

/// A target in terms of a drive.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// Units written by the host since the drive was new.
    Units(u64),
    /// A share of the rated erases; an infinite one is never reached.
    Wear(f64),
}

/// Why aging stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The drive reached the target.
    Target,
    /// It had reached the target before.
    Already,
    /// It died.
    Died(EndCause),
    /// The workload, a trace, ended.
    WorkloadEnd,
    /// The user stopped it. Aging so far stays.
    Interrupted,
}

/// Progress of aging, which a watcher gets between two steps.
#[derive(Clone, Copy, Debug)]
pub struct Aged {
    /// Drive writes since the drive was new.
    pub drive_writes: f64,
    /// Share of the target that is reached, between 0 and 1.
    pub done: Option<f64>,
    /// Flash units programmed since the drive was new.
    pub programmed: u64,
}

/// See the head of this file.
pub struct Held {
    scenario: Scenario,
    overrides: PolicyOverrides,
    pub(crate) run: Run,
    /// The drives of an array.
    drives: Option<Drives>,
    /// The drive of the array that is looked at.
    focus: Option<usize>,
    /// Number of workloads that the drive had before this one.
    workloads: u32,
    /// Drive writes per day, if the scenario has a calendar.
    per_day: Option<f64>,
    /// A day and the units written by then. From there on days follow the units.
    since: (f64, u64),
    /// The saved place in the workload; empty at its start. The workload is opened only when the drive ages, so that looking at the
    /// drive does not need its traces.
    place: Vec<u8>,
    /// Units of the device on which it was opened, or is at its place; 0: those of the new device.
    rest: u32,
    /// The contents of the workload's traces when it was opened.
    traces: Inputs,
    /// See [`Held::written_trimmed`].
    written_trimmed: u64,
    /// How its life is predicted, while it ages so.
    forward: Option<Ahead>,
}

/// The workload of a scenario that has one.
fn workload(scenario: &Scenario) -> Result<&wane_scenario::Workload, KeptError> {
    match &scenario.phases[..] {
        [phase] => Ok(&phase.workload),
        phases => Err(KeptError::Phases(phases.len())),
    }
}

impl Held {
    /// Makes a new, empty drive with a scenario's drive and workload. Policies from outside replace some of its own.
    ///
    /// # Errors
    /// The scenario makes no drive, has several phases, or needs more memory than there is.
    pub fn new(scenario: &Scenario, overrides: PolicyOverrides) -> Result<Self, KeptError> {
        Self::with(scenario, overrides, 0, Assembly::New)
    }

    /// The same, after `workloads` workloads.
    pub(crate) fn with(
        scenario: &Scenario,
        overrides: PolicyOverrides,
        workloads: u32,
        what_for: Assembly,
    ) -> Result<Self, KeptError> {
        // One that is read piece by piece takes what is touched.
        if what_for == Assembly::New {
            session::check_memory(scenario)?;
        }
        if scenario.fast_forward.is_some() {
            return Err(KeptError::FastForward);
        }
        workload(scenario)?;
        if scenario.file_system.is_some() {
            return Err(build::PlanError::UnderFiles.into());
        }
        let drives = scenario.array.as_ref();
        let drives = drives.map(|spec| Drives::new(scenario.seed, spec.clone(), overrides.clone()));
        let run = match &drives {
            None => Run::of_kept(build::bare_drive_with(scenario, &overrides, what_for)?),
            Some(drives) => {
                Run::of_kept_array(drives.assemble(what_for)?, Sectors(drives.spec().device.unit.0 / Sectors::SIZE.0))
            }
        };
        let (scenario, place, traces) = (scenario.clone(), Vec::new(), Inputs::Nothing);
        Ok(Self {
            scenario,
            overrides,
            run,
            drives,
            focus: None,
            workloads,
            per_day: None,
            since: (0.0, 0),
            place,
            rest: 0,
            traces,
            written_trimmed: 0,
            forward: None,
        })
    }

    /// Makes an independent copy.
    ///
    /// # Errors
    /// Its workload can be read only once, such as a trace from a pipe.
    pub fn try_clone(&mut self) -> Result<Self, KeptError> {
        let run = match self.run.try_clone() {
            Ok(run) => run,
            // A trace that is read from its file is opened again at its place, by both.
            Err(_) => {
                self.close_workload()?;
                self.run.try_clone()?
            }
        };
        Ok(Self {
            scenario: self.scenario.clone(),
            overrides: self.overrides.clone(),
            run,
            drives: self.drives.clone(),
            focus: self.focus,
            workloads: self.workloads,
            per_day: self.per_day,
            since: self.since,
            place: self.place.clone(),
            rest: self.rest,
            traces: self.traces.clone(),
            written_trimmed: self.written_trimmed,
            forward: self.forward.clone(),
        })
    }

    /// Its scenario, with its workload.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Number of workloads that it had before this one.
    pub(crate) fn workloads(&self) -> u32 {
        self.workloads
    }

    /// The drive; of an array, the one in focus, or the first.
    pub fn drive(&self) -> &Drive {
        match self.focus {
            Some(place) => self.drive_of(place),
            None => self.run.drive(),
        }
    }

    /// The drive, or the array.
    pub fn device(&self) -> &dyn Living {
        self.run.device()
    }

    /// The drive, or the array, for a server of its requests.
    pub fn device_mut(&mut self) -> &mut dyn Living {
        self.run.device_mut()
    }

    /// Changes settings of the drive, or of each drive of an array, with power and without.
    pub fn each_drive(&mut self, mut each: impl FnMut(&mut Drive)) {
        each_of(self.run.device_mut(), &mut each);
    }

    /// The counters since it was new or was preconditioned; of a drive in focus, its own.
    pub fn counters(&self) -> Counters {
        match (&self.drives, self.focus) {
            (Some(drives), Some(place)) => *self.drive().counters() - drives.zero(place),
            _ => self.run.counters(),
        }
    }

    /// Units that the host wrote since each block was closed, by flash block; `None` for a block that is not closed.
    pub fn units_since_closed(&self) -> Vec<Option<u64>> {
        let (drive, now) = (self.drive(), self.drive().counters().host_units_written);
        let since = |block| drive.closed_at(drive.layout().holder(block)).map(|at| now - at);
        BlockId::all(0..drive.geometry().blocks()).map(since).collect()
    }

    /// The wear of its blocks.
    pub fn wear(&self) -> WearSnapshot {
        wear(&[self.drive()])
    }

    /// Drive writes since it was new or was preconditioned, including predicted ones; of an array without a drive in focus, writes of its capacity.
    pub fn drive_writes(&self) -> f64 {
        if self.focus.is_some() {
            let drive = self.drive();
            let filled = self.counters().host_units_filled(u64::from(drive.unit_bytes()));
            return (filled + drive.predicted().host_units) as f64 / f64::from(drive.logical_initial());
        }
        self.run.lived() as f64 / f64::from(self.pages_when_new())
    }

    /// Of these, drive writes that were predicted instead of simulated.
    pub fn drive_writes_predicted(&self) -> f64 {
        let all = if self.is_array() && self.focus.is_none() {
            self.pages_when_new()
        } else {
            self.drive().logical_initial()
        };
        self.predicted().host_units as f64 / f64::from(all)
    }

    /// What was predicted instead of simulated; of an array without a drive in focus, in its units.
    pub fn predicted(&self) -> Predicted {
        if !self.is_array() || self.focus.is_some() {
            return self.drive().predicted();
        }
        // Drives that went take theirs with them, and the array has it all.
        let (host_units, bytes) = self.run.predicted_of_array();
        Predicted {
            host_units,
            programmed_units: bytes / u64::from(self.unit_bytes()),
            erases: self.drives().into_iter().map(|(_, drive)| drive.predicted().erases).sum(),
        }
    }

    /// Days of service; of an array without a drive in focus, those of the array, whose drives may be younger.
    pub fn day(&self) -> f64 {
        match (&self.drives, self.focus) {
            (Some(drives), None) => drives.day,
            _ => self.drive().day(),
        }
    }

    /// Share of its rated erases that is used, if it has a rating; of an array without a drive in focus, by the drive that is worn most.
    pub fn life_used(&self) -> Option<f64> {
        if self.focus.is_some() { self.drive().life_used() } else { self.run.life_used() }
    }

    /// Archives its state apart from the scenario: writes it to a file or reads it back. It is written at rest, as between two requests.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        if !archive.is_reading() {
            self.come_to_rest();
        }
        self.archive_now(archive)
    }

    /// The same, but in the midst of what it does.
    pub(crate) fn archive_now(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        if !archive.is_reading() {
            self.note_place()?;
        }
        self.archive_drives(archive)?;
        self.run.archive(archive)?;
        // When the drive was preconditioned, which drives of earlier versions never were.
        let mut began = (self.since.0, self.since.1, self.run.counted_from(), self.rest);
        archive.grown_by(Counters::NAMES.len() + 1, "days.since", &mut began)?;
        self.since = (began.0, began.1);
        self.run.count_from(began.2);
        self.rest = began.3;
        archive.list("workload.place", &mut self.place)?;
        archive.field("workload.traces", &mut self.traces)
    }

    /// Lets days follow the units written from now on.
    fn begin_days(&mut self) {
        self.since = (self.array_day(), self.run.lived());
    }

    /// Lets days of service pass without writes.
    ///
    /// # Errors
    /// It would be older than [`DAYS_MAX`].
    ///
    /// # Panics
    /// The days are negative or not a number.
    pub fn pass_days(&mut self, days: f64) -> Result<(), KeptError> {
        let day = self.array_day();
        if day + days > DAYS_MAX {
            return Err(KeptError::TooOld { day, days });
        }
        self.let_pass(days);
        self.begin_days();
        Ok(())
    }

    /// Lets the days of the last writes pass.
    fn let_days_pass(&mut self) {
        let Some(per_day) = self.per_day else { return };
        let (day, units) = self.since;
        let drive_writes = (self.run.lived() - units) as f64 / f64::from(self.pages_when_new());
        let today = day + drive_writes / per_day;
        match &mut self.drives {
            Some(drives) if today > drives.day => {
                let days = today - std::mem::replace(&mut drives.day, today);
                let device = self.run.device_mut();
                device.pass(device.now(), Passing::Days(days));
            }
            None if today > self.run.drive().day() => self.run.drive_mut().set_day(today),
            _ => {}
        }
    }

    /// Leaves it without power for `days` days. Its data age as at `celsius`, or at their usual temperature if that is `None`.
    ///
    /// # Errors
    /// It or its data would be older than [`DAYS_MAX`], or a temperature is given although its data do not age. Nothing changes then.
    ///
    /// # Panics
    /// The days are negative or not a number.
    pub fn wait(&mut self, days: f64, celsius: Option<f64>) -> Result<(), KeptError> {
        let drive = self.drive();
        let day = self.array_day();
        if day + days > DAYS_MAX {
            return Err(KeptError::TooOld { day, days });
        }
        let medium = &self.scenario.medium;
        let rate = celsius.map_or(1.0, |celsius| medium.retention.rate_at(celsius));
        if let Some(celsius) = celsius {
            let aged = days * rate;
            if medium.chip.is_none() {
                return Err(KeptError::Ageless);
            }
            if drive.data_days() + aged > DAYS_MAX {
                return Err(KeptError::TooWarm { days, celsius, aged });
            }
        }
        let device = self.run.device_mut();
        device.pass(device.now(), Passing::Shelf { days, rate });
        if let Some(drives) = &mut self.drives {
            drives.day += days;
        }
        self.begin_days();
        Ok(())
    }

    /// Ages it at the engine's full speed: no request takes time, and no read has errors. Days pass by
    /// `time.drive-writes-per-day`, if the scenario has it. It stops only between two steps, and after one of which `each` returns false. `written` is the fate of bytes on the drive
    /// that the workload trims; [`Held::written_trimmed`] counts its units.
    ///
    /// # Errors
    /// The target is impossible for the drive, or its trace cannot be read further.
    pub fn age(
        &mut self,
        target: Target,
        written: WrittenBytes,
        stop: &Arc<AtomicBool>,
        each: &mut dyn FnMut(&Aged) -> bool,
    ) -> Result<Reached, KeptError> {
        self.run.begin_aging(written);
        let reached = self.age_to(target, stop, each);
        self.written_trimmed = self.run.end_aging();
        reached
    }

    /// Drive writes a day, by its calendar or its trace's times; `None` without a pace. Opens its workload.
    ///
    /// # Errors
    /// The workload cannot be opened.
    pub fn drive_writes_per_day(&mut self, stop: &Arc<AtomicBool>) -> Result<Option<f64>, KeptError> {
        self.open_workload(stop)?;
        Ok(self.per_day)
    }

    /// Notes on the requests of its workload so far, in sentences, such as what of a trace the drive serves otherwise.
    pub fn notes(&self) -> Vec<String> {
        self.run.workload_notes()
    }

    /// Share of its exported units that hold data, between 0 and 1.
    pub fn share_filled(&self) -> f64 {
        if self.is_array() && self.focus.is_none() {
            let mapped = self.held_units();
            return mapped.iter().filter(|is_held| **is_held).count() as f64 / mapped.len().max(1) as f64;
        }
        let drive = self.drive();
        drive.mapped_units() as f64 / f64::from(drive.exported().max(1))
    }

    /// Number of units with written bytes that the workload trimmed in the last [`Held::age`]. Its `written` says what became of them.
    pub fn written_trimmed(&self) -> u64 {
        self.written_trimmed
    }

    fn age_to(
        &mut self,
        target: Target,
        stop: &Arc<AtomicBool>,
        each: &mut dyn FnMut(&Aged) -> bool,
    ) -> Result<Reached, KeptError> {
        if let Some(cause) = self.cause() {
            return Ok(Reached::Died(cause));
        }
        self.check_there()?;
        self.open_workload(stop)?;
        self.run.stay_within(self.run.usable());
        if self.run.never_writes() {
            return Err(KeptError::Writeless);
        }
        if matches!(target, Target::Wear(_) | Target::EndOfLife) && self.run.life_used().is_none() {
            return Err(KeptError::Unrated);
        }
        let logical = u64::from(self.pages_when_new());
        let units = |drive_writes: f64| Goal::Units((drive_writes * logical as f64).round().max(0.0) as u64);
        let before_the_end = |left: f64| Ok::<_, KeptError>(self.end(stop)?.map(|end| units(end - left)));
        let goal = match target {
            Target::DriveWrites(writes) => Some(units(writes)),
            Target::Wear(share) => Some(Goal::Wear(share)),
            Target::EndOfLife => Some(Goal::Wear(f64::INFINITY)),
            Target::DriveWritesLeft(left) => before_the_end(left)?,
            Target::Days(days) => {
                let per_day = self.per_day.ok_or(KeptError::NoPace)?;
                let to_come = (days - self.array_day()).max(0.0) * per_day;
                let is_reached = to_come == 0.0;
                Some(if is_reached { Goal::Units(0) } else { units(self.drive_writes() + to_come) })
            }
            Target::DaysLeft(days) => before_the_end(days * self.per_day.ok_or(KeptError::NoPace)?)?,
        };
        let Some(goal) = goal else { return Ok(Reached::Interrupted) };
        let (from, mut is_first) = (self.share_of(goal), true);
        loop {
            if self.share_of(goal) >= 1.0 {
                return Ok(if is_first { Reached::Already } else { Reached::Target });
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Reached::Interrupted);
            }
            is_first = false;
            let lived = self.run.lived();
            let next = next_step(lived, logical);
            let until = if let Goal::Units(most) = goal { next.min(most) } else { next };
            let progress = step(&mut self.run, until - lived, goal, self.forward.as_mut(), self.drives.as_mut())?;
            self.let_days_pass();
            let goes_on = each(&Aged {
                drive_writes: self.drive_writes(),
                done: self.share_done(goal, from),
                programmed: self.device().counters().programmed_total(),
            });
            if progress == Progress::Over {
                return Ok(self.cause().map_or(Reached::WorkloadEnd, Reached::Died));
            }
            if !goes_on && self.share_of(goal) < 1.0 {
                return Ok(Reached::Interrupted);
            }
        }
    }

    /// Drive writes at which a copy of it dies; `None` if the user stops the search.
    fn end(&self, stop: &AtomicBool) -> Result<Option<f64>, KeptError> {
        if self.run.life_used().is_none() {
            return Err(KeptError::Unrated);
        }
        let mut copy = self.run.try_clone().map_err(|error| KeptError::NoEnd(error.to_string()))?;
        let units = u64::from(self.pages_when_new()).min(STEP_UNITS_MAX);
        let (mut forward, mut drives) = (self.forward.clone(), self.drives.clone());
        while step(&mut copy, units, Goal::Wear(f64::INFINITY), forward.as_mut(), drives.as_mut())? != Progress::Over {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        if copy.died_of().is_none() {
            return Err(KeptError::NoEnd("its workload ends before".to_owned()));
        }
        Ok(Some(copy.lived() as f64 / f64::from(self.pages_when_new())))
    }

    /// Share of the goal that the drive has reached. From 1 on it has reached the goal.
    fn share_of(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Units(0) => 1.0,
            Goal::Units(units) => self.run.lived() as f64 / units as f64,
            Goal::Wear(share) => self.run.life_used().unwrap_or(0.0) / share,
        }
    }

    /// Share of the goal that is done since the drive was at `from`. If it ages to its end, the share of its rated erases.
    fn share_done(&self, goal: Goal, from: f64) -> Option<f64> {
        match goal {
            Goal::Wear(f64::INFINITY) => self.run.life_used(),
            goal => Some((self.share_of(goal) - from) / (1.0 - from)),
        }
    }

    /// Runs a scenario of the same drive with its requests and arrivals, to see how the drive serves them now. The drive is not kept.
    ///
    /// # Errors
    /// The workload cannot be opened, its requests have no times, or its trace cannot be read further; or it is an array, as a whole.
    pub fn look(self, scenario: &Scenario, watch: &mut Watch<'_>) -> Result<RunResult, KeptError> {
        workload(scenario)?;
        let stopwatch = Stopwatch::start();
        // Of the data that lie there now, which the requests read.
        let caveats = self.caveats();
        let drive = match self.focus {
            Some(_) => self.drive().clone(),
            None if self.is_array() => return Err(KeptError::OneDrive("probed")),
            None => self.run.into_drive(),
        };
        let usable = Usable::of(&drive, Sectors(u64::from(drive.unit_bytes()) / Sectors::SIZE.0));
        if usable.count() == 0 {
            return Err(KeptError::NothingLeft(drive.capacity()));
        }
        let plan = build::look(scenario, drive, usable.count(), watch.stop)?;
        let run = Run::of_look(plan, usable);
        let mut result = session::to_its_end(scenario, &self.overrides, run, &stopwatch, watch)?;
        let warnings = &mut result.summary.warnings;
        for caveat in caveats {
            let is_same =
                |told: &String| *told == caveat || (told.contains(EXTRAPOLATED) && caveat.contains(EXTRAPOLATED));
            if !warnings.iter().any(is_same) {
                warnings.push(caveat);
            }
        }
        if result.summary.end.reason == EndReason::EndOfLife
            && let Some(asked) = scenario.phases[0].until.requests
        {
            let served: u64 = result.windows.iter().map(Window::requests).sum();
            result
                .summary
                .warnings
                .push(format!("the copy of the drive died: {served} of {asked} requests were served"));
        }
        Ok(result)
    }

    /// Cuts its power, whatever it is doing, and lets it recover. `fate` decides the outcome of each program and erase that the flash is
    /// working on; a drive that was just opened has none. Drives of an array that are to be `out` are taken out before the power comes back. Returns what
    /// the recovery of a drive did, and how long it took if there is a clock.
    ///
    /// # Errors
    /// It keeps no out-of-band data, or does not come back; or a drive cannot be taken out, and nothing was done.
    pub fn cut_power(
        &mut self,
        out: &[u32],
        mut fate: impl FnMut() -> Fate,
    ) -> Result<(Option<Recovery>, Option<Nanos>), KeptError> {
        self.check_out(out)?;
        let required: Vec<Option<u32>> = self.required();
        let recovered = if self.is_array() {
            let device = self.run.device_mut();
            device.power_off(device.now(), &mut fate);
            out.iter().try_for_each(|place| self.take_out(*place as usize))?;
            let device = self.run.device_mut();
            let took = device.power_on(device.now()).map_err(KeptError::ArrayUnpowered)?.took;
            (None, Some(took).filter(|took| *took > Nanos::ZERO))
        } else {
            let drive = self.run.drive_mut();
            drive.power_cut(fate);
            let (report, took) = drive.power_on().map_err(KeptError::Power)?;
            (Some(report), took)
        };
        self.require_again(&required, |_, _| {});
        Ok(recovered)
    }

    /// Limits the re-reads of each host read, as NVMe's read recovery level does; `None`: as many as error correction allows. Blocks whose data
    /// are expected to need more just after a program retire, free ones at once. Returns how many did. The drive may die.
    ///
    /// # Errors
    /// The drive's reads never need a re-read.
    pub fn set_read_recovery(&mut self, rereads_max: Option<u32>) -> Result<u32, KeptError> {
        if build::errors(&self.scenario_of_drive()).is_none_or(|errors| errors.ecc.strength.is_none()) {
            return Err(KeptError::NoRereads);
        }
        let before = self.retired_blocks();
        if self.is_array() {
            self.set_drives(|drive| {
                let outcome = drive.set_read_recovery(rereads_max);
                drive.settle_alone(outcome);
            });
        } else {
            self.run.set_read_recovery(rereads_max);
        }
        Ok(self.retired_blocks() - before)
    }

    /// Makes it keep the bytes of data from now on.
    ///
    /// # Errors
    /// The kernel refuses memory for them.
    pub fn keep_bytes(&mut self) -> Result<(), KeptError> {
        let mut kept = Ok(());
        self.each_drive(|drive| {
            if let Err(error) = drive.keep_bytes() {
                kept = Err(error);
            }
        });
        kept.map_err(KeptError::Memory)
    }

    /// The drive, or the array, as a block device whose calls wait, in its present state.
    pub fn blocking(&mut self) -> Blocking<&mut dyn Living> {
        let device = self.run.device_mut();
        let now = device.now();
        Blocking::starting_at(device, now)
    }

    /// Makes sure that all that was done survives a power cut. Returns whether it does: a dead drive programs nothing any more.
    ///
    /// # Errors
    /// The drive dies of it.
    pub fn flush(&mut self) -> Result<bool, KeptError> {
        match self.blocking().flush() {
            // Nothing of it is there.
            Err(IoError { status: Status::Gone(_), .. }) => Ok(false),
            Err(error) if self.cause().is_none() => Err(KeptError::Unflushed(error.to_string())),
            flushed => Ok(flushed.is_ok()),
        }
    }

    /// Checks every invariant of the firmware.
    ///
    /// # Errors
    /// The first one that does not hold.
    pub fn check(&self) -> Result<(), String> {
        for (number, drive) in self.drives_looked_at() {
            drive.check().map_err(|fault| number.map_or(fault.clone(), |number| format!("drive {number}: {fault}")))?;
        }
        Ok(())
    }

    /// Why it died; `None` while it takes writes.
    pub fn cause(&self) -> Option<EndCause> {
        match self.focus {
            Some(_) => self.drive().end_of_life().map(crate::host::end_cause),
            None => self.run.died_of().or_else(|| self.died_with_its_drives()),
        }
    }
}

/// Writes `units` units on the way to a goal; predicts further ones if its life is predicted, and sees to the drives of an array. A step is never
/// interrupted, so that a saved drive is always between two requests.
fn step(
    run: &mut Run,
    units: u64,
    goal: Goal,
    forward: Option<&mut Ahead>,
    drives: Option<&mut Drives>,
) -> Result<Progress, KeptError> {
    let progress = run.advance(Budget::units(units), &mut Watch { step: &mut |_| {}, stop: &Arc::default() })?;
    if progress != Progress::Over
        && let Some(ahead) = forward
        && ahead.look(run, goal, drives.as_deref())?
    {
        return Ok(Progress::Over);
    }
    let Some(drives) = drives else { return Ok(progress) };
    let is_timed = all_of::<Drive>(run.device()).iter().any(|drive| drive.clock().is_some());
    if is_timed && let Some(array) = as_array(run.device_mut()) {
        // No time passes while it ages: what an array without all of its drives began would pile up.
        array.finish();
    }
    drives.look(run.device_mut())?;
    // Nothing is left that could take the next write.
    Ok(if run.died_of().is_some() { Progress::Over } else { progress })
}

/// The units at which the step after `written` units ends. The ends are the same however a life is divided, and a drive write ends a step.
pub(crate) fn next_step(written: u64, logical: u64) -> u64 {
    let steps = u128::from(logical.div_ceil(STEP_UNITS_MAX).max(STEPS_PER_DRIVE_WRITE));
    let number = u128::from(written) * steps / u128::from(logical) + 1;
    u64::try_from((number * u128::from(logical)).div_ceil(steps)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
