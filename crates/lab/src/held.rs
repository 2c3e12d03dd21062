//! A drive in memory, with the host that uses it and its place in its workload: aged, copied, looked at. [`crate::kept`] keeps one in a folder.
//!
//! It stands on [`Run`]: nothing here serves a request.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_archive::{Archive, ArchiveError, Reader, Writer};
use wane_blockdev::Blocking;
use wane_ftl::{Fate, Recovery, UnretiredError};
use wane_results::{Counters, EndCause, Fingerprints, Inputs, RunResult, WearSnapshot};
use wane_scenario::{Scenario, ScenarioError};
use wane_shelf::ShelfError;
use wane_sim::Streams;
use wane_ssd::{Drive, DriveError};
use wane_units::{BlockId, Nanos};
use wane_workload::SourceError;

use crate::build::{self, PlanError, PolicyOverrides};
use crate::calendar;
use crate::progress::Stopwatch;
use crate::run::{Budget, Phase, Progress, Run, Watch};
use crate::session::{self, SessionError};
use crate::sources::Opener;

mod requests;

/// Steps of aging in a drive write at least, and units in one at most: between two of them it is looked whether the drive is as old
/// as it should be, and days pass.
const STEPS_PER_DRIVE_WRITE: u64 = 64;
pub(crate) const STEP_UNITS_MAX: u64 = 1 << 20;

/// Days that a held drive's calendar counts: up to here two moments of a second's distance are told apart.
pub const DAYS_MAX: f64 = 1e9;

/// How far a drive is to age.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Until it has taken so many drive writes since it was new.
    DriveWrites(f64),
    /// Until this share of its rated erases is used.
    Wear(f64),
    /// Until it takes no more writes.
    EndOfLife,
    /// Until it has so many drive writes left: a copy lives to its end first.
    DriveWritesLeft(f64),
    /// Until it has so many days left, at the pace of its calendar.
    DaysLeft(f64),
}

/// What a target comes to for a drive.
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
    /// The drive is as old as it was to be.
    Target,
    /// It was that old before.
    Already,
    /// It died.
    Died(EndCause),
    /// The workload, a trace, ended.
    WorkloadEnd,
    /// The user stopped it; what was done is done.
    Interrupted,
}

/// Why a kept drive does not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptError {
    /// Its folder.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    /// Its scenario, or one that was given beside.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It cannot be built.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It needs too much memory.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Its trace breaks off.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It has several phases.
    #[error(
        "a drive is aged by one workload at a time, and the scenario has {0} phases; give one of them by --workload"
    )]
    Phases(usize),
    /// Its life is to be predicted in part.
    #[error(
        "a drive that is held is aged in full, and fast-forward predicts wear that its data never saw; leave [fast-forward] out"
    )]
    FastForward,
    /// Its workload cannot be opened a second time.
    #[error("a drive is opened again and again, and stdin can be read only once; give workload.trace a file")]
    Stdin,
    /// The workload would never end.
    #[error("a drive ages by writes, and its workload writes nothing")]
    Writeless,
    /// The drive has no rated erases, or no block of it ever retires.
    #[error(
        "no block of the drive ever retires (drive.endurance, ftl.retire), so that its wear has no end; age it by drive-writes"
    )]
    Unrated,
    /// Days are asked for without a calendar.
    #[error("a drive whose days are to be counted needs a pace; give time.drive-writes-per-day")]
    NoPace,
    /// It would be older than days are counted.
    #[error("days: found {days:?} on day {day}, and a drive's days are counted up to {DAYS_MAX}")]
    TooOld {
        /// Today.
        day: f64,
        /// How long it is to lie.
        days: f64,
    },
    /// There is nothing that warmth would do to its data.
    #[error("celsius: the drive's data do not age, as no bit of them is ever wrong (drive.chip)")]
    Ageless,
    /// Its data would be older than their days are counted.
    #[error(
        "celsius: {days:?} days at {celsius} °C age data by {aged:.0} days, and theirs are counted up to {DAYS_MAX}"
    )]
    TooWarm {
        /// How long it is to lie.
        days: f64,
        /// How warm.
        celsius: f64,
        /// Days at the usual temperature in which data age as much.
        aged: f64,
    },
    /// A trace is not what it was.
    #[error(
        "the workload's trace is not the one any more by which the drive was aged; give --workload, which begins anew"
    )]
    TraceChanged,
    /// The place in its workload cannot be found.
    #[error("the drive's workload cannot be opened where it stood: {0}; give --workload, which begins anew")]
    Place(String),
    /// Its end never comes, or cannot be looked for.
    #[error("the drive's end cannot be found: {0}")]
    NoEnd(String),
    /// It cannot lose its power and come back.
    #[error("the drive does not come back from a power cut: {0}; ftl.recovery says how it could")]
    Power(DriveError),
    /// A block cannot be taken out of service.
    #[error(transparent)]
    Unretired(#[from] UnretiredError),
    /// Its data lie where its file system says.
    #[error(
        "where its data lie is its file system's to say, as it may shrink (ftl.capacity); this is for drives of a fixed capacity"
    )]
    Shrinking,
    /// What was done is not durable.
    #[error("the drive could not make durable what was done: {0}")]
    Unflushed(String),
    /// There is no memory for its bytes.
    #[error("no memory for the drive's bytes: {0}")]
    Memory(std::io::Error),
    /// The user stopped it before anything was done.
    #[error("stopped before the drive was open")]
    Interrupted,
}

/// What a watcher is told between two steps.
#[derive(Clone, Copy, Debug)]
pub struct Aged {
    /// Drive writes since the drive was new.
    pub drive_writes: f64,
    /// How much of what was asked for is done, between 0 and 1.
    pub done: Option<f64>,
    /// Flash units programmed since the drive was new.
    pub programmed: u64,
}

/// See the head of this file.
pub struct Held {
    scenario: Scenario,
    overrides: PolicyOverrides,
    pub(crate) run: Run,
    /// How many workloads the drive had before this one.
    workloads: u32,
    /// Drive writes a day, where the scenario has a calendar.
    per_day: Option<f64>,
    /// A day and the units that were written by then; from there on days follow the units.
    since: (f64, u64),
    /// The place in the workload, as it was saved; empty at its start. The workload is opened when the drive ages: whoever looks at the
    /// drive needs none of its traces.
    place: Vec<u8>,
    /// What the workload's traces were when it was opened.
    traces: Inputs,
}

/// The workload of a scenario that has one.
fn workload(scenario: &Scenario) -> Result<&wane_scenario::Workload, KeptError> {
    match &scenario.phases[..] {
        [phase] => Ok(&phase.workload),
        phases => Err(KeptError::Phases(phases.len())),
    }
}

/// What lies in the traces of a scenario's workload.
fn contents(scenario: &Scenario, stop: &AtomicBool) -> Inputs {
    Fingerprints::default().inputs(&scenario.traces(), stop)
}

/// The workload of a scenario, as the one of this number since the drive was new, and how many drive writes it makes a day.
fn phase(scenario: &Scenario, number: u32, stop: &Arc<AtomicBool>) -> Result<(Phase, Option<f64>), KeptError> {
    if scenario.traces().iter().any(|path| *path == Path::new("-")) {
        return Err(KeptError::Stdin);
    }
    let mut opener = Opener::new(scenario.device, Streams::new(scenario.seed), Arc::clone(stop));
    let source = opener.source(workload(scenario)?, &format!("workload.{number}"))?;
    let calendar = calendar::calendar(scenario, &mut opener)?;
    if stop.load(Ordering::Relaxed) {
        // What could not be opened in full would give nothing.
        return Err(KeptError::Interrupted);
    }
    let phase = Phase { source, units_max: None, days_max: None, requests_max: None };
    Ok((phase, calendar.map(|calendar| calendar.drive_writes_per_day)))
}

impl Held {
    /// A new drive, empty, of a scenario's drive and workload, with policies from outside in place of some of its own.
    ///
    /// # Errors
    /// The scenario makes no drive, has several phases, or needs more memory than there is.
    pub fn new(scenario: &Scenario, overrides: PolicyOverrides) -> Result<Self, KeptError> {
        Self::with(scenario, overrides, 0)
    }

    /// The same, after so many workloads.
    pub(crate) fn with(scenario: &Scenario, overrides: PolicyOverrides, workloads: u32) -> Result<Self, KeptError> {
        session::check_memory(scenario)?;
        if scenario.fast_forward.is_some() {
            return Err(KeptError::FastForward);
        }
        workload(scenario)?;
        let run = Run::of_kept(build::bare_drive_with(scenario, &overrides)?, scenario.device.unit.0);
        let (scenario, place, traces) = (scenario.clone(), Vec::new(), Inputs::Nothing);
        Ok(Self { scenario, overrides, run, workloads, per_day: None, since: (0.0, 0), place, traces })
    }

    /// A copy that goes its own way from here.
    ///
    /// # Errors
    /// Its workload can be read only once, such as a trace from a pipe.
    pub fn try_clone(&mut self) -> Result<Self, KeptError> {
        let run = match self.run.try_clone() {
            Ok(run) => run,
            // A trace that is read from its file is opened again where it stands, by both.
            Err(_) => {
                self.close_workload()?;
                self.run.try_clone()?
            }
        };
        Ok(Self {
            scenario: self.scenario.clone(),
            overrides: self.overrides.clone(),
            run,
            workloads: self.workloads,
            per_day: self.per_day,
            since: self.since,
            place: self.place.clone(),
            traces: self.traces.clone(),
        })
    }

    /// What it is made of, with its workload.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// How many workloads it had before this one.
    pub(crate) fn workloads(&self) -> u32 {
        self.workloads
    }

    /// The drive.
    pub fn drive(&self) -> &Drive {
        self.run.drive()
    }

    /// What was counted since it was new, or since it was preconditioned.
    pub fn counters(&self) -> Counters {
        self.run.counters()
    }

    /// Units that the host wrote since each of its blocks closed, by flash block; `None` of a block that is not closed.
    pub fn units_since_closed(&self) -> Vec<Option<u64>> {
        let (drive, now) = (self.drive(), self.drive().counters().host_units_written);
        let since = |block| drive.closed_at(drive.layout().holder(block)).map(|at| now - at);
        BlockId::all(0..drive.geometry().blocks()).map(since).collect()
    }

    /// Its blocks.
    pub fn wear(&self) -> WearSnapshot {
        self.run.wear()
    }

    /// Drive writes since it was new, or since it was preconditioned.
    pub fn drive_writes(&self) -> f64 {
        self.run.written() as f64 / f64::from(self.drive().logical_initial())
    }

    /// Gives it the workload and the calendar of this scenario, of the same drive. A workload that is the same goes on where it stood, unless
    /// its trace was changed.
    ///
    /// # Errors
    /// The scenario has several phases, or a workload that cannot be opened or never writes; then it keeps the one that it has.
    pub fn set_workload(&mut self, scenario: Scenario, stop: &Arc<AtomicBool>) -> Result<(), KeptError> {
        let is_same = workload(&scenario)? == workload(&self.scenario)?;
        if is_same && (self.place.is_empty() || contents(&scenario, stop) == self.traces) {
            if scenario.time != self.scenario.time {
                // The calendar is read when the workload is opened.
                self.close_workload()?;
                self.begin_days();
            }
            self.scenario = scenario;
            return Ok(());
        }
        assert_eq!(scenario.device, self.scenario.device, "a workload is all that changes of a drive's scenario");
        let (phase, per_day) = phase(&scenario, self.workloads + 1, stop)?;
        if phase.source.never_writes() {
            return Err(KeptError::Writeless);
        }
        (self.per_day, self.traces) = (per_day, contents(&scenario, stop));
        self.run.take_workload(Some(phase));
        self.place = Vec::new();
        self.workloads += 1;
        self.begin_days();
        self.scenario = scenario;
        Ok(())
    }

    /// Opens the workload where it stands, if it is not open.
    pub(crate) fn open_workload(&mut self, stop: &Arc<AtomicBool>) -> Result<(), KeptError> {
        if self.run.workload().is_some() {
            return Ok(());
        }
        let (mut phase, per_day) = phase(&self.scenario, self.workloads, stop)?;
        let traces = contents(&self.scenario, stop);
        if !self.place.is_empty() {
            if traces != self.traces {
                return Err(KeptError::TraceChanged);
            }
            let place = |phase: &mut Phase, place: &[u8]| {
                let mut reader = Reader::new(place)?;
                phase.source.archive(&mut reader)?;
                reader.finish()
            };
            place(&mut phase, &self.place).map_err(|error| KeptError::Place(error.to_string()))?;
        }
        (self.per_day, self.traces) = (per_day, traces);
        self.run.take_workload(Some(phase));
        Ok(())
    }

    /// Notes where the workload stands.
    fn note_place(&mut self) -> Result<(), ArchiveError> {
        if let Some(source) = self.run.workload() {
            let mut writer = Writer::new(Vec::new())?;
            source.archive(&mut writer)?;
            self.place = writer.finish()?;
        }
        Ok(())
    }

    /// Closes the workload; it is opened again where it stands.
    fn close_workload(&mut self) -> Result<(), KeptError> {
        self.note_place().map_err(|error| KeptError::Place(error.to_string()))?;
        self.run.take_workload(None);
        Ok(())
    }

    /// What is saved of it beside its scenario, to a file or back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        if !archive.is_reading() {
            self.note_place()?;
        }
        self.run.archive(archive)?;
        archive.field("days.since", &mut self.since)?;
        archive.list("workload.place", &mut self.place)?;
        archive.field("workload.traces", &mut self.traces)
    }

    /// From here on days follow what is written.
    fn begin_days(&mut self) {
        self.since = (self.run.drive().day(), self.run.written());
    }

    /// Lets the days pass that the last writes took.
    fn let_days_pass(&mut self) {
        let Some(per_day) = self.per_day else { return };
        let (day, units) = self.since;
        let drive_writes = (self.run.written() - units) as f64 / f64::from(self.run.drive().logical_initial());
        let today = day + drive_writes / per_day;
        if today > self.run.drive().day() {
            self.run.drive_mut().set_day(today);
        }
    }

    /// Lets it lie for so many days without power: its data age, as fast as at `celsius` (`None`: as where they usually lie).
    ///
    /// # Errors
    /// It or its data would be older than [`DAYS_MAX`], or a temperature is given and its data do not age. Nothing changes.
    ///
    /// # Panics
    /// The days are negative or not a number.
    pub fn wait(&mut self, days: f64, celsius: Option<f64>) -> Result<(), KeptError> {
        let drive = self.drive();
        let day = drive.day();
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
        self.run.drive_mut().lie_at(days, rate);
        self.begin_days();
        Ok(())
    }

    /// Lets it age, at the engine's full speed: no request takes time, and no read errs. Days pass as
    /// `time.drive-writes-per-day` says, where the scenario has that. A stop comes between two steps.
    ///
    /// # Errors
    /// The target makes no sense for the drive, or its trace breaks off.
    pub fn age(
        &mut self,
        target: Target,
        stop: &Arc<AtomicBool>,
        each: &mut dyn FnMut(&Aged),
    ) -> Result<Reached, KeptError> {
        if let Some(cause) = self.cause() {
            return Ok(Reached::Died(cause));
        }
        self.open_workload(stop)?;
        if self.run.never_writes() {
            return Err(KeptError::Writeless);
        }
        if matches!(target, Target::Wear(_) | Target::EndOfLife) && self.drive().life_used().is_none() {
            return Err(KeptError::Unrated);
        }
        let logical = u64::from(self.drive().logical_initial());
        let units = |drive_writes: f64| Goal::Units((drive_writes * logical as f64).round().max(0.0) as u64);
        let before_the_end = |left: f64| Ok::<_, KeptError>(self.end(stop)?.map(|end| units(end - left)));
        let goal = match target {
            Target::DriveWrites(writes) => Some(units(writes)),
            Target::Wear(share) => Some(Goal::Wear(share)),
            Target::EndOfLife => Some(Goal::Wear(f64::INFINITY)),
            Target::DriveWritesLeft(left) => before_the_end(left)?,
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
            let written = self.run.written();
            let next = next_step(written, logical);
            let until = if let Goal::Units(most) = goal { next.min(most) } else { next };
            let progress = step(&mut self.run, until - written)?;
            self.let_days_pass();
            each(&Aged {
                drive_writes: self.drive_writes(),
                done: self.share_done(goal, from),
                programmed: self.drive().counters().programmed_total(),
            });
            if progress == Progress::Over {
                return Ok(self.cause().map_or(Reached::WorkloadEnd, Reached::Died));
            }
        }
    }

    /// Drive writes at which a copy of it dies; `None` where the user stops that.
    fn end(&self, stop: &AtomicBool) -> Result<Option<f64>, KeptError> {
        if self.drive().life_used().is_none() {
            return Err(KeptError::Unrated);
        }
        let mut copy = self.run.try_clone().map_err(|error| KeptError::NoEnd(error.to_string()))?;
        let units = u64::from(self.drive().logical_initial()).min(STEP_UNITS_MAX);
        while step(&mut copy, units)? != Progress::Over {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        if copy.died_of().is_none() {
            return Err(KeptError::NoEnd("its workload ends before".to_owned()));
        }
        Ok(Some(copy.written() as f64 / f64::from(self.drive().logical_initial())))
    }

    /// How much of the way to a goal lies behind the drive; 1 and more: it is there.
    fn share_of(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Units(0) => 1.0,
            Goal::Units(units) => self.run.written() as f64 / units as f64,
            Goal::Wear(share) => self.drive().life_used().unwrap_or(0.0) / share,
        }
    }

    /// How much of the way is done since the drive was at `from`; of a drive that ages to its end, of its rated erases.
    fn share_done(&self, goal: Goal, from: f64) -> Option<f64> {
        match goal {
            Goal::Wear(f64::INFINITY) => self.drive().life_used(),
            goal => Some((self.share_of(goal) - from) / (1.0 - from)),
        }
    }

    /// What it answers to requests now: the run of a scenario of the same drive, of its requests and its arrivals. The drive is not kept.
    ///
    /// # Errors
    /// The workload cannot be opened, its requests have no times, or its trace breaks off.
    pub fn look(self, scenario: &Scenario, watch: &mut Watch<'_>) -> Result<RunResult, KeptError> {
        workload(scenario)?;
        let stopwatch = Stopwatch::start();
        let plan = build::look(scenario, self.run.into_drive(), watch.stop)?;
        Ok(session::to_its_end(scenario, &self.overrides, Run::of_look(plan), &stopwatch, watch)?)
    }

    /// Cuts its power, whatever it is doing, and lets it come back. `fate` says what became of each program and erase that the flash was at
    /// work on; a drive that was just opened is at work on nothing. Returns what the recovery did, and how long it took where the drive
    /// has a clock.
    ///
    /// # Errors
    /// It keeps no out-of-band data, or does not come back.
    pub fn cut_power(self, fate: impl FnMut() -> Fate) -> Result<(Self, Recovery, Option<Nanos>), KeptError> {
        let config = build::firmware(&self.scenario);
        let mut told = None;
        let run = self.run.change_drive(|drive| {
            let off = drive.power_cut(fate)?;
            let (drive, report, took) = Drive::recover(off, config)?;
            told = Some((report, took));
            Ok::<Drive, DriveError>(drive)
        });
        let run = run.map_err(KeptError::Power)?;
        let (report, took) = told.expect("a drive that came back was recovered");
        Ok((Self { run, ..self }, report, took))
    }

    /// Has it keep bytes from now on.
    ///
    /// # Errors
    /// The kernel refuses memory for them.
    pub fn keep_bytes(&mut self) -> Result<(), KeptError> {
        self.run.drive_mut().keep_bytes().map_err(KeptError::Memory)
    }

    /// The drive as a block device, at the moment at which it stands.
    pub fn device(&mut self) -> Blocking<&mut Drive> {
        let drive = self.run.drive_mut();
        let now = drive.now();
        Blocking::starting_at(drive, now)
    }

    /// Makes sure that what was done to its data survives a power cut. A dead drive programs nothing any more.
    ///
    /// # Errors
    /// The drive dies of it.
    pub fn flush(&mut self) -> Result<(), KeptError> {
        match self.device().flush() {
            Err(error) if self.cause().is_none() => Err(KeptError::Unflushed(error.to_string())),
            _ => Ok(()),
        }
    }

    /// Checks every invariant of the firmware.
    ///
    /// # Errors
    /// The first one that does not hold.
    pub fn check(&self) -> Result<(), String> {
        self.drive().check()
    }

    /// What it died of; `None` while it takes writes.
    pub fn cause(&self) -> Option<EndCause> {
        self.run.died_of()
    }
}

/// Writes so many units. Nothing stops in the middle of a step: what is saved stands between two requests.
fn step(run: &mut Run, units: u64) -> Result<Progress, SourceError> {
    run.advance(Budget::units(units), &mut Watch { step: &mut |_| {}, stop: &Arc::default() })
}

/// Where the step after so many units ends. Places are the same however a life is cut in parts, and a drive write ends a step.
pub(crate) fn next_step(written: u64, logical: u64) -> u64 {
    let steps = u128::from(logical.div_ceil(STEP_UNITS_MAX).max(STEPS_PER_DRIVE_WRITE));
    let number = u128::from(written) * steps / u128::from(logical) + 1;
    u64::try_from((number * u128::from(logical)).div_ceil(steps)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
