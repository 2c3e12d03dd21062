//! One run: a drive is preconditioned, then serves its phases and is watched until the run ends.
//!
//! A run is single-threaded and reads no real clock; the caller measures time. A [`Plan`] has no names that are still to be
//! resolved. A run can be stepped ([`Run::advance`]), inspected, changed between steps, and cloned.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_ftl::{EndOfLife, Outcome};
use wane_ssd::Drive;
use wane_units::Lpn;
use wane_workload::{Batch, Op, Progress as Drawn, SourceError};

mod forward;
mod kept;
mod parts;
mod plan;
mod record;

pub use kept::WrittenBytes;
pub use plan::{Phase, Plan, Precondition, Stretch};
pub use record::Finished;

use crate::ahead::Ahead;
use crate::host::Host;
use crate::observer::{Observer, Present};
use wane_results::{Calendar, Counters, EndCause, EndReason, Timeline};

/// Pages given to the drive at once: enough to prefetch across, and few enough to stay in the first-level cache.
const BATCH_PAGES: usize = 4096;

/// Pages of a request that are written between two checks of the stop flag. The result is the same as if they were written at
/// once.
const SLICE_PAGES: usize = 1 << 12;

/// Rows of the timeline for each drive write at the start.
const ROWS_PER_DRIVE_WRITE: u64 = 64;

/// Requests between two reports of an observed run.
const REQUESTS_PER_REPORT: u64 = 256;

/// Number of steps in which the window of the last drive write is kept.
const WINDOW_STEPS: u64 = 64;

/// The progress of a run, which its watcher gets after every batch.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Whether it is still preconditioning.
    pub preconditioning: bool,
    /// Number of the phase, from 0.
    pub phase: usize,
    /// Drive writes since preconditioning, including predicted ones.
    pub drive_writes: f64,
    /// Drive writes that were predicted instead of simulated.
    pub predicted: f64,
    /// Share of the phase that is done, if it has a length. For a drive that runs until it dies, the share of its rated
    /// erases that is used.
    pub done: Option<f64>,
    /// Flash units programmed since the drive was new.
    pub programmed: u64,
}

/// Watches a run and may stop it.
pub struct Watch<'a> {
    /// Called after every batch.
    pub step: &'a mut dyn FnMut(&Step),
    /// Once true, the run ends as interrupted.
    pub stop: &'a Arc<AtomicBool>,
}

impl Watch<'_> {
    /// Whether the run is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How far a run may go. The step ends exactly at the limit that is reached first. However a run is stepped, its results are the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Mapping units that the host writes, those of preconditioning included.
    pub units: u64,
    /// Requests.
    pub requests: u64,
    /// The simulated time, in nanoseconds since counting started, up to which requests arrive.
    pub until_ns: u64,
}

impl Budget {
    /// No bound.
    pub const WHOLE: Self = Self { units: u64::MAX, requests: u64::MAX, until_ns: u64::MAX };

    /// A limit of `units` mapping units written by the host.
    pub const fn units(units: u64) -> Self {
        Self { units, ..Self::WHOLE }
    }

    /// A limit of `requests` requests.
    pub const fn requests(requests: u64) -> Self {
        Self { requests, ..Self::WHOLE }
    }

    /// Requests up to this time, in nanoseconds since counting started; a run without a clock has no time and is not bounded.
    pub const fn until_ns(until_ns: u64) -> Self {
        Self { until_ns, ..Self::WHOLE }
    }
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The budget is spent.
    Paused,
    /// The run is over: [`Run::finish`] has its results.
    Over,
}

/// Reasons why a run ends before its phases do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    /// The drive died.
    Died(EndCause),
    /// The simulated time is used up.
    ClockEnd,
    /// The user stopped it.
    Interrupted,
}

/// Reasons why a step ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// The run is over.
    Ended(Ended),
    /// The budget is spent.
    Spent,
}

impl From<Ended> for Stop {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

/// The stage of a run.
#[derive(Clone)]
enum Stage {
    Precondition { done: u64 },
    Phase(usize),
    Over,
}

/// The progress of the request that was begun, which is the first of those drawn ahead.
#[derive(Clone, Copy)]
struct Begun {
    /// Whether it has arrived: its time is drawn and reached.
    has_come: bool,
    /// Number of its pages that are written.
    written: usize,
}

/// The progress of a phase.
#[derive(Clone, Default)]
struct InPhase {
    units_start: u64,
    /// The time of the run's clock at which it began.
    ns_start: u64,
    /// Host units written since counting started.
    written: u64,
    requests: u64,
    steps: u64,
    ahead: Ahead,
    begun: Option<Begun>,
}

/// A run that can be stepped. See the head of this file.
pub struct Run {
    drive: Drive,
    host: Host,
    observer: Option<Box<Observer>>,
    calendar: Option<Calendar>,
    young_below: Option<u32>,
    precondition: Precondition,
    phases: Vec<Phase>,
    stage: Stage,
    in_phase: InPhase,
    many: Batch,
    unit_bytes: u64,
    /// Counters at the end of preconditioning.
    zero: Counters,
    /// Host units predicted instead of simulated.
    predicted: u64,
    mean_at_start: f64,
    timeline: Timeline,
    window: VecDeque<Counters>,
    window_step: u64,
    /// Host units written at which the next row, and the next step of the window, are due.
    row_due: u64,
    window_due: u64,
    reason: EndReason,
    end: Option<Ended>,
    slots: Vec<u32>,
    notes: Vec<String>,
    /// While a workload ages the drive: the fate of written bytes that it trims, and the number of units that this concerned.
    written_bytes: Option<(WrittenBytes, u64)>,
}

impl Run {
    /// Makes a run at its start.
    pub fn new(plan: Plan) -> Self {
        let Plan { drive, observer, unit_bytes, calendar, young_below, precondition, phases } = plan;
        let logical = drive.logical_initial();
        Self {
            host: Host::of(&drive, unit_bytes),
            observer: observer.map(|spec| Box::new(Observer::new(*spec))),
            calendar,
            young_below,
            precondition,
            phases,
            stage: Stage::Precondition { done: 0 },
            in_phase: InPhase::default(),
            many: Batch::default(),
            unit_bytes,
            zero: Counters::default(),
            predicted: 0,
            mean_at_start: 0.0,
            timeline: Timeline::new((u64::from(logical) / ROWS_PER_DRIVE_WRITE).max(1)),
            window: VecDeque::new(),
            window_step: u64::from(logical).div_ceil(WINDOW_STEPS),
            row_due: 0,
            window_due: 0,
            reason: EndReason::Requests,
            end: None,
            slots: Vec::with_capacity(BATCH_PAGES),
            notes: Vec::new(),
            written_bytes: None,
            drive,
        }
    }

    /// Makes a run of one phase on a copy of a drive, only for the measurements of `observer`. Its first
    /// requests are those that were drawn ahead.
    pub(crate) fn probe(drive: Drive, observer: Observer, phase: Phase, ahead: Ahead) -> Self {
        let precondition = Precondition::none();
        let unit_bytes = u64::from(drive.unit_bytes());
        let plan = Plan {
            drive,
            observer: None,
            unit_bytes,
            calendar: None,
            young_below: None,
            precondition,
            phases: vec![phase],
        };
        let mut run = Self::new(plan);
        (run.host, run.observer) = (Host::Wrapping, Some(Box::new(observer)));
        (run.stage, run.row_due, run.window_due) = (Stage::Phase(0), u64::MAX, u64::MAX);
        run.zero = *run.drive.counters();
        run.in_phase = InPhase { ahead, ..InPhase::default() };
        run
    }

    /// The drive.
    pub fn drive(&self) -> &Drive {
        &self.drive
    }

    /// Whether counting has not started.
    pub fn is_preconditioning(&self) -> bool {
        matches!(self.stage, Stage::Precondition { .. })
    }

    /// The drive, for changes between two steps. What it does then counts in the run.
    pub fn drive_mut(&mut self) -> &mut Drive {
        &mut self.drive
    }

    /// Makes an independent copy.
    ///
    /// # Errors
    /// A source cannot be read twice: a trace that is read straight from its file or from stdin.
    pub fn try_clone(&self) -> Result<Self, SourceError> {
        let phase = |phase: &Phase| {
            let Phase { source, units_max, days_max, requests_max } = phase;
            let (units_max, days_max, requests_max) = (*units_max, *days_max, *requests_max);
            Ok(Phase { source: source.try_clone()?, units_max, days_max, requests_max })
        };
        Ok(Self {
            drive: self.drive.clone(),
            host: self.host.clone(),
            observer: self.observer.as_ref().map(|observer| Box::new(observer.another())),
            calendar: self.calendar,
            young_below: self.young_below,
            precondition: self.precondition.clone(),
            phases: self.phases.iter().map(phase).collect::<Result<_, SourceError>>()?,
            stage: self.stage.clone(),
            in_phase: self.in_phase.clone(),
            many: self.many.clone(),
            unit_bytes: self.unit_bytes,
            zero: self.zero,
            predicted: self.predicted,
            mean_at_start: self.mean_at_start,
            timeline: self.timeline.clone(),
            window: self.window.clone(),
            window_step: self.window_step,
            row_due: self.row_due,
            window_due: self.window_due,
            reason: self.reason,
            end: self.end,
            slots: self.slots.clone(),
            notes: self.notes.clone(),
            written_bytes: self.written_bytes,
        })
    }

    /// Advances until the budget is spent or the run is over.
    ///
    /// # Errors
    /// A trace cannot be read further.
    pub fn advance(&mut self, budget: Budget, watch: &mut Watch<'_>) -> Result<Progress, SourceError> {
        let mut budget = budget;
        loop {
            let stop = match self.stage {
                Stage::Over => return Ok(Progress::Over),
                Stage::Precondition { done } => self.precondition(done, &mut budget, watch).err(),
                Stage::Phase(number) => match self.serve_phase(number, &mut budget, watch)? {
                    Ok(reason) => {
                        self.reason = reason;
                        self.leave_phase(number);
                        None
                    }
                    Err(Stop::Spent) => Some(Stop::Spent),
                    Err(Stop::Ended(ended)) => {
                        self.note(number);
                        Some(Stop::Ended(ended))
                    }
                },
            };
            match stop {
                None => {}
                Some(Stop::Spent) => return Ok(Progress::Paused),
                Some(Stop::Ended(ended)) => {
                    if matches!(self.stage, Stage::Precondition { .. }) {
                        if let Ended::Died(_) = ended {
                            let note = "the drive died while it was preconditioned, so that nothing was measured";
                            self.notes.push(note.to_owned());
                        }
                        self.start();
                    }
                    self.end = Some(ended);
                    self.stage = Stage::Over;
                }
            }
        }
    }

    /// Saves the notes on the requests of a phase.
    pub(super) fn note(&mut self, number: usize) {
        let source = &self.phases[number].source;
        let replayed = self.observer.as_ref().is_some_and(|observer| observer.replays_times(number));
        self.notes.extend(source.notes());
        self.notes.extend(source.coarse_times().filter(|_| replayed));
    }

    /// Begins a phase at `units_start` host units of the life.
    fn begin_phase(&mut self, number: usize, units_start: u64) {
        self.stage = Stage::Phase(number);
        self.in_phase = InPhase { units_start, ns_start: self.now_ns(), ..InPhase::default() };
        if let Some(observer) = &mut self.observer {
            observer.begin_phase(&self.drive, number);
        }
    }

    fn leave_phase(&mut self, number: usize) {
        self.note(number);
        if number + 1 < self.phases.len() {
            // Units that the last request wrote beyond the phase's end belong to the next phase.
            let ended_at = self.phase_end(number).map_or(self.lived(), |end| end.min(self.lived()));
            self.begin_phase(number + 1, ended_at);
        } else {
            self.stage = Stage::Over;
        }
    }

    /// Preconditions from `done` units on, within the budget; then counting starts.
    fn precondition(&mut self, mut done: u64, budget: &mut Budget, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let logical = u64::from(self.drive.logical_initial());
        let fill = u64::from(self.precondition.fill_units);
        let sequential = u64::from(self.precondition.sequential_drive_writes) * logical;
        let total = fill + sequential + self.precondition.random_units;
        let mut pages = Vec::with_capacity(BATCH_PAGES);
        while done < total {
            if budget.units == 0 {
                return Err(Stop::Spent);
            }
            pages.clear();
            let until = [fill, fill + sequential, total].into_iter().find(|until| done < *until).unwrap_or(total);
            let count = (until - done).min(BATCH_PAGES as u64).min(budget.units);
            if done < fill {
                pages.extend(done as u32..(done + count) as u32);
            } else if done < fill + sequential {
                pages.extend((done - fill..done - fill + count).map(|unit| (unit % logical) as u32));
            } else {
                pages.extend((0..count).map(|_| self.precondition.stream.below(logical) as u32));
            }
            done += count;
            budget.units -= count;
            self.stage = Stage::Precondition { done };
            self.write_unmarked(&pages, watch.stop)?;
            if self.report(watch, Some(done as f64 / total as f64), true) {
                return Err(Ended::Interrupted.into());
            }
        }
        self.start();
        if self.phases.is_empty() {
            self.stage = Stage::Over;
        } else {
            self.begin_phase(0, self.lived());
        }
        Ok(())
    }

    /// Writes pages without marking them as in use, so that preconditioning adds nothing to the workload's footprint.
    fn write_unmarked(&mut self, pages: &[u32], stop: &AtomicBool) -> Result<(), Ended> {
        let mut done = 0;
        while done < pages.len() {
            let (written, mut outcome) = self.drive.write_batch(Lpn::slice(&pages[done..]));
            done += written;
            // A drive that wears out now has no host yet that would give space back.
            while !self.is_settled(outcome, stop)? {
                outcome = if outcome == Outcome::Paused { self.drive.resume() } else { self.drive.reclaim() };
            }
        }
        Ok(())
    }

    /// Whether the drive has finished. False if it demands capacity or pauses; then its work so far is
    /// passed on, and the stop flag is checked.
    fn is_settled(&mut self, outcome: Outcome, stop: &AtomicBool) -> Result<bool, Ended> {
        match outcome {
            Outcome::Done => Ok(true),
            Outcome::Demand(_) => Ok(false),
            Outcome::Dead(cause) => Err(Ended::Died(self.host.cause(cause))),
            Outcome::OutOfRange(refused) => unreachable!("a run asks for what the drive exports: {refused}"),
            Outcome::Paused => {
                pause(&mut self.drive, stop)?;
                Ok(false)
            }
        }
    }

    /// Starts counting.
    fn start(&mut self) {
        self.zero = *self.drive.counters();
        let counts = self.drive.superblock_erase_counts();
        self.mean_at_start = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / counts.len() as f64;
        self.drive.set_leveling(true);
        if let Some(observer) = &mut self.observer {
            observer.start(&mut self.drive);
        }
        self.begin_window_step();
        self.sample();
    }

    /// The counters since counting started.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = *self.drive.counters() - self.zero;
        assert!(self.host.trimmed() <= counters.host_units_trimmed, "the host gave up no more than the drive trimmed");
        counters.host_units_trimmed -= self.host.trimmed();
        counters
    }

    /// Serves a phase from its present state. The outer error is a trace that cannot be read further.
    fn serve_phase(
        &mut self,
        number: usize,
        budget: &mut Budget,
        watch: &mut Watch<'_>,
    ) -> Result<Result<EndReason, Stop>, SourceError> {
        // Taken out of the run meanwhile, so that a request can be borrowed from them.
        let (mut in_phase, mut observer) = (std::mem::take(&mut self.in_phase), self.observer.take());
        let served = self.serve_requests(number, &mut in_phase, observer.as_deref_mut(), budget, watch);
        (self.in_phase, self.observer) = (in_phase, observer);
        served
    }

    fn serve_requests(
        &mut self,
        number: usize,
        in_phase: &mut InPhase,
        mut observer: Option<&mut Observer>,
        budget: &mut Budget,
        watch: &mut Watch<'_>,
    ) -> Result<Result<EndReason, Stop>, SourceError> {
        let Phase { days_max, requests_max, .. } = self.phases[number];
        let (units_max, by_units) = self.phases[number].units_max();
        // In written units, since predicted ones are not written.
        let units_end =
            units_max.map(|units| in_phase.units_start.saturating_add(units).saturating_sub(self.predicted));
        in_phase.written = self.written();
        loop {
            // Checked at each request, since a single one may have gigabytes.
            if watch.is_stopped() {
                return Ok(Err(Ended::Interrupted.into()));
            }
            if in_phase.begun.is_none() {
                if units_end.is_some_and(|end| in_phase.written >= end) {
                    return Ok(Ok(by_units));
                }
                if let Some(Stretch::Ns(most)) = days_max
                    && self.now_ns() - in_phase.ns_start >= most
                {
                    return Ok(Ok(EndReason::Days));
                }
                if requests_max.is_some_and(|max| in_phase.requests >= max) {
                    return Ok(Ok(EndReason::Requests));
                }
                if budget.units == 0 || budget.requests == 0 {
                    return Ok(Err(Stop::Spent));
                }
                if let Some(observer) = &mut observer {
                    let present = Present::of(number, &self.phases, &in_phase.ahead);
                    observer.probe_if_due(&self.drive, Some(&present), in_phase.written, watch.stop)?;
                }
            }
            let served = match &mut observer {
                Some(observer) if !observer.only_wears() => {
                    self.serve_one(number, in_phase, observer, units_end, budget, watch.stop)?
                }
                _ => {
                    let requests_left = requests_max.map_or(u64::MAX, |max| max - in_phase.requests);
                    self.serve_many(number, in_phase, units_end, requests_left, budget, watch.stop)?
                }
            };
            match served {
                Ok(true) => {}
                // A trace whose reading was stopped looks as if it were over.
                Ok(false) if watch.is_stopped() => return Ok(Err(Ended::Interrupted.into())),
                Ok(false) => return Ok(Ok(EndReason::TraceEnd)),
                Err(stop) => return Ok(Err(stop)),
            }
            in_phase.written = self.written();
            self.sample_if_due(in_phase.written);
            in_phase.steps += 1;
            let is_by_one = observer.as_ref().is_some_and(|observer| !observer.only_wears());
            if is_by_one && !in_phase.steps.is_multiple_of(REQUESTS_PER_REPORT) {
                continue;
            }
            let share = |max: u64, now: u64| now as f64 / max.max(1) as f64;
            let by_units = units_max.map(|max| share(max, self.lived() - in_phase.units_start));
            let by_requests = requests_max.map(|max| share(max, in_phase.requests));
            let by_clock = match days_max {
                Some(Stretch::Ns(most)) => Some(share(most, self.now_ns() - in_phase.ns_start)),
                _ => None,
            };
            let by_source = self.phases[number].source.share_drawn().or(self.drive.life_used());
            let done = [by_units, by_requests, by_clock, by_source].into_iter().flatten().reduce(f64::max);
            if self.report(watch, done, false) {
                return Ok(Err(Ended::Interrupted.into()));
            }
        }
    }

    /// Serves a batch of requests of one kind. Returns false at the end of the source.
    fn serve_many(
        &mut self,
        number: usize,
        in_phase: &mut InPhase,
        units_end: Option<u64>,
        requests_left: u64,
        budget: &mut Budget,
        stop: &AtomicBool,
    ) -> Result<Result<bool, Stop>, SourceError> {
        let written = self.written();
        let due = self.row_due.min(self.window_due).min(units_end.unwrap_or(u64::MAX));
        let pages_max = due.saturating_sub(written).clamp(1, BATCH_PAGES as u64).min(budget.units) as usize;
        let mut batch = std::mem::take(&mut self.many);
        let source = &mut self.phases[number].source;
        if source.next(&mut batch, pages_max, requests_left.min(budget.requests))? == Drawn::End {
            return Ok(Ok(false));
        }
        debug_assert!(batch.pages.len() <= pages_max, "a source gives no more pages than it is asked for");
        debug_assert!(batch.requests <= requests_left, "a source completes no more requests than it is asked for");
        in_phase.requests += batch.requests;
        budget.requests = budget.requests.saturating_sub(batch.requests);
        // It was drawn to fit the budget.
        let served = self.serve(&mut batch, &mut 0, &mut { Budget::WHOLE }, stop);
        if batch.op == Op::Write {
            budget.units -= (batch.pages.len() as u64).min(budget.units);
        }
        self.many = batch;
        Ok(served.map(|()| true))
    }

    /// Serves the next request, or the rest of the one that was begun. Returns false at the end of the source.
    #[inline]
    fn serve_one(
        &mut self,
        number: usize,
        in_phase: &mut InPhase,
        observer: &mut Observer,
        units_end: Option<u64>,
        budget: &mut Budget,
        stop: &AtomicBool,
    ) -> Result<Result<bool, Stop>, SourceError> {
        let InPhase { ahead, begun, requests, written, .. } = in_phase;
        let Some(batch) = ahead.front(self.phases[number].source.as_mut(), &self.drive)? else {
            return Ok(Ok(false));
        };
        let mut present = begun.take().unwrap_or_else(|| {
            // The whole request, except units beyond the end of the phase.
            if let Some(end) = units_end.filter(|_| batch.op == Op::Write) {
                batch.pages.truncate(usize::try_from(end - *written).unwrap_or(usize::MAX));
            }
            Begun { has_come: false, written: 0 }
        });
        if !present.has_come {
            if !observer.arrive(&mut self.drive, batch, *written, budget.until_ns, stop) {
                *begun = Some(present);
                return Ok(Err(Stop::Spent));
            }
            if self.drive.clock().is_some_and(wane_ssd::Clock::is_over) {
                return Ok(Err(Ended::ClockEnd.into()));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Err(Ended::Interrupted.into()));
            }
            present.has_come = true;
            *requests += batch.requests;
        }
        let mut served = self.serve(batch, &mut present.written, budget, stop);
        if let Err(Stop::Spent) = served {
            *begun = Some(present);
            return Ok(Err(Stop::Spent));
        }
        budget.requests = budget.requests.saturating_sub(batch.requests);
        observer.served(&mut self.drive, batch);
        ahead.pop();
        if self.drive.scrubs() && served.is_ok() {
            served = self.scrub(stop).map_err(Stop::from);
        }
        Ok(served.map(|()| true))
    }

    /// The time of the run's clock; 0 if the run has none.
    fn now_ns(&self) -> u64 {
        self.drive.clock().map_or(0, wane_ssd::Clock::now_ns)
    }

    /// Whole units that the bytes written by the host since counting started would fill.
    #[inline(always)]
    pub(crate) fn written(&self) -> u64 {
        self.drive.counters().host_units_filled(self.unit_bytes) - self.zero.host_units_filled(self.unit_bytes)
    }

    /// Host units of the life since counting started, including predicted ones.
    fn lived(&self) -> u64 {
        self.written() + self.predicted
    }

    /// Host units of the life at which a phase that has begun ends; `None` if it ends only by something else.
    fn phase_end(&self, number: usize) -> Option<u64> {
        let (units_max, _) = self.phases[number].units_max();
        units_max.map(|units| self.in_phase.units_start.saturating_add(units))
    }

    /// Does one step of scrubbing, if the drive scrubs.
    fn scrub(&mut self, stop: &AtomicBool) -> Result<(), Ended> {
        let Some(outcome) = self.drive.scrub() else { return Ok(()) };
        let settled = self.settle(outcome, stop);
        self.drive.commit_background();
        settled
    }

    /// Lets the drive finish its work, and answers its demands meanwhile.
    fn settle(&mut self, mut outcome: Outcome, stop: &AtomicBool) -> Result<(), Ended> {
        while !self.is_settled(outcome, stop)? {
            let Outcome::Demand(demand) = outcome else {
                outcome = self.drive.resume();
                continue;
            };
            return self.host.answer(&mut self.drive, demand, &mut |drive| pause(drive, stop));
        }
        Ok(())
    }

    /// Serves a batch. A write is served from the page `done` on, as far as the budget reaches.
    #[inline(always)]
    fn serve(
        &mut self,
        batch: &mut Batch,
        done: &mut usize,
        budget: &mut Budget,
        stop: &AtomicBool,
    ) -> Result<(), Stop> {
        const EXPORTED: &str = "the workload asks for what the drive exports";
        if !self.host.wrap(&self.drive, &mut batch.pages) {
            return Ok(());
        }
        match batch.op {
            Op::Read => {
                if !batch.parts.is_empty() {
                    self.drive.count_read_around(batch.bytes_around());
                }
                let missing = self.host.find(&mut batch.pages);
                self.drive.read_batch(Lpn::slice(&batch.pages)).expect(EXPORTED);
                if missing > 0 {
                    self.drive.read_unmapped(missing);
                }
            }
            Op::Write if batch.parts.is_empty() => self.write(&batch.pages, done, budget, stop)?,
            Op::Write => self.write_parts(batch, done, budget, stop)?,
            Op::Trim => {
                self.spare_written_bytes(&mut batch.pages);
                self.host.release(&mut batch.pages);
                self.drive.trim_batch(Lpn::slice(&batch.pages)).expect(EXPORTED);
            }
            Op::Flush => {
                let outcome = self.drive.flush_batch();
                self.settle(outcome, stop)?;
            }
        }
        Ok(())
    }

    /// Takes the pages out of a trim that it must leave alone.
    fn spare_written_bytes(&mut self, pages: &mut Vec<u32>) {
        let Some((fate, units)) = self.written_bytes.as_mut().filter(|_| self.drive.keeps_bytes()) else { return };
        pages.retain(|page| {
            let is_written = self.drive.holds_bytes(Lpn(*page));
            *units += u64::from(is_written);
            !is_written || *fate == WrittenBytes::AreTrimmed
        });
    }

    #[inline(never)]
    fn write(&mut self, pages: &[u32], done: &mut usize, budget: &mut Budget, stop: &AtomicBool) -> Result<(), Stop> {
        while *done < pages.len() {
            if budget.units == 0 {
                return Err(Stop::Spent);
            }
            let most = usize::try_from(budget.units).unwrap_or(usize::MAX).min(SLICE_PAGES);
            let left = &pages[*done..pages.len().min(*done + most)];
            let (written, outcome, fits) = match &mut self.host {
                Host::Space(space) => {
                    self.slots.clear();
                    self.slots.extend_from_slice(left);
                    // Slots change when the file system relocates, so the remaining pages are looked up again after each answer.
                    let placed = space.take(&mut self.slots);
                    let (written, outcome) = self.drive.write_batch(Lpn::slice(&self.slots[..placed]));
                    space.written(left, written);
                    (written, outcome, placed == left.len())
                }
                Host::Direct | Host::Wrapping => {
                    let (written, outcome) = self.drive.write_batch(Lpn::slice(left));
                    (written, outcome, true)
                }
            };
            debug_assert!(written > 0 || !fits || outcome != Outcome::Done, "a turn writes a page or tells why not");
            *done += written;
            budget.units -= written as u64;
            if outcome == Outcome::Done && !fits {
                return Err(Ended::Died(EndCause::FootprintDoesNotFit).into());
            }
            self.settle(outcome, stop)?;
            if *done < pages.len() && stop.load(Ordering::Relaxed) {
                return Err(Ended::Interrupted.into());
            }
        }
        Ok(())
    }

    /// Reports a step. Returns true if the run should stop.
    fn report(&mut self, watch: &mut Watch<'_>, done: Option<f64>, preconditioning: bool) -> bool {
        // During preconditioning counting has not started.
        let of_drive = |units: u64| units as f64 / f64::from(self.drive.logical_initial());
        let (drive_writes, predicted) = (of_drive(self.lived()), of_drive(self.predicted));
        let programmed = self.drive.counters().programmed_total();
        let phase = if let Stage::Phase(number) = self.stage { number } else { 0 };
        (watch.step)(&Step { preconditioning, phase, drive_writes, predicted, done, programmed });
        watch.is_stopped()
    }
}

/// Called whenever the drive pauses in long work. Commits its work so far, so that operations do not pile up, and checks whether
/// the run should stop.
fn pause(drive: &mut Drive, stop: &AtomicBool) -> Result<(), Ended> {
    drive.commit_background();
    if stop.load(Ordering::Relaxed) { Err(Ended::Interrupted) } else { Ok(()) }
}

/// Why the drive died, as results name it.
pub(crate) fn end_cause(cause: EndOfLife) -> EndCause {
    match cause {
        EndOfLife::SpareExhausted => EndCause::SpareExhausted,
        EndOfLife::NoFreeBlock => EndCause::NoFreeBlock,
        EndOfLife::NoVictim => EndCause::NoVictim,
    }
}
