//! The life of a run: its stages and phases, when they end, and how far a step may go.

use std::sync::atomic::{AtomicBool, Ordering};

use wane_results::{Calendar, EndReason};
use wane_workload::{Batch, Drawn, Op, SourceError};

use super::{Budget, Phase, Precondition, Progress, Step, Stretch, Watch, WrittenBytes};
use crate::ahead::Ahead;
use crate::host::{Ended, Halt, Host};
use crate::observer::{Observer, Present};
use crate::record::{Record, Recorded};

/// Pages given to the drive at once: enough to prefetch across, and few enough to stay in the first-level cache.
pub(crate) const BATCH_PAGES: usize = 4096;

/// Requests between two reports of an observed run.
const REQUESTS_PER_REPORT: u64 = 256;

/// The stage of a run.
#[derive(Clone)]
pub(super) enum Stage {
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
pub(super) struct InPhase {
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

/// See the head of this file.
pub(super) struct Life {
    pub(super) calendar: Option<Calendar>,
    pub(super) precondition: Precondition,
    pub(super) phases: Vec<Phase>,
    pub(super) stage: Stage,
    pub(super) in_phase: InPhase,
    many: Batch,
    /// The end of a request of the batch, and units of requests beyond the budgets that the run had.
    rest: Batch,
    ahead_units: u64,
    pub(super) reason: EndReason,
    pub(super) end: Option<Ended>,
    pub(super) notes: Vec<String>,
    /// While a workload ages the drive: the fate of written bytes that it trims, and the number of units that this concerned.
    pub(super) written_bytes: Option<(WrittenBytes, u64)>,
}

impl Life {
    /// A life at its start.
    pub(super) fn new(calendar: Option<Calendar>, precondition: Precondition, phases: Vec<Phase>) -> Self {
        Self {
            calendar,
            precondition,
            phases,
            stage: Stage::Precondition { done: 0 },
            in_phase: InPhase::default(),
            many: Batch::default(),
            rest: Batch::default(),
            ahead_units: 0,
            reason: EndReason::Requests,
            end: None,
            notes: Vec::new(),
            written_bytes: None,
        }
    }

    /// Makes an independent copy, if the sources can be read twice.
    pub(super) fn try_clone(&self) -> Result<Self, SourceError> {
        let phase = |phase: &Phase| {
            let Phase { source, units_max, days_max, requests_max } = phase;
            let (units_max, days_max, requests_max) = (*units_max, *days_max, *requests_max);
            Ok(Phase { source: source.try_clone()?, units_max, days_max, requests_max })
        };
        Ok(Self {
            calendar: self.calendar,
            precondition: self.precondition.clone(),
            phases: self.phases.iter().map(phase).collect::<Result<_, SourceError>>()?,
            stage: self.stage.clone(),
            in_phase: self.in_phase.clone(),
            many: self.many.clone(),
            rest: Batch::default(),
            ahead_units: self.ahead_units,
            reason: self.reason,
            end: self.end,
            notes: self.notes.clone(),
            written_bytes: self.written_bytes,
        })
    }

    /// Number of the phase in rows of the timeline.
    pub(super) fn phase(&self) -> u32 {
        match self.stage {
            Stage::Precondition { .. } => 0,
            Stage::Phase(number) => number as u32,
            Stage::Over => self.phases.len().saturating_sub(1) as u32,
        }
    }

    /// Number of the present phase, or of the last one.
    pub(super) fn last_phase(&self) -> Option<usize> {
        if let Stage::Phase(number) = self.stage { Some(number) } else { self.phases.len().checked_sub(1) }
    }

    /// The state of the requests of a phase.
    pub(super) fn present(&self, number: usize) -> Present<'_> {
        Present::new(number, self.phases[number].source.as_ref(), &self.in_phase.ahead)
    }

    /// See [`super::Run::advance`].
    pub(super) fn advance(
        &mut self,
        host: &mut Host,
        record: &mut Record,
        budget: &mut Budget,
        watch: &mut Watch<'_>,
    ) -> Result<Progress, SourceError> {
        let behind = std::mem::take(&mut self.ahead_units);
        spend(&mut self.ahead_units, budget, behind);
        loop {
            let halt = match self.stage {
                Stage::Over => return Ok(Progress::Over),
                Stage::Precondition { done } => self.precondition(done, host, record, budget, watch).err(),
                Stage::Phase(number) => match self.serve_phase(number, host, record, budget, watch)? {
                    Ok(reason) => {
                        self.reason = reason;
                        self.leave_phase(number, host, record);
                        None
                    }
                    Err(Halt::Spent) => Some(Halt::Spent),
                    Err(Halt::Ended(ended)) => {
                        self.note(number, record);
                        Some(Halt::Ended(ended))
                    }
                },
            };
            match halt {
                None => {}
                Some(Halt::Spent) => return Ok(Progress::Paused),
                Some(Halt::Ended(ended)) => {
                    if matches!(self.stage, Stage::Precondition { .. }) {
                        if let Ended::Died(_) = ended {
                            let note = "the drive died while it was preconditioned, so that nothing was measured";
                            self.notes.push(note.to_owned());
                        }
                        record.start(host);
                    }
                    self.end = Some(ended);
                    self.stage = Stage::Over;
                }
            }
        }
    }

    /// Ends the life.
    pub(super) fn over(&mut self, ended: Ended) {
        (self.end, self.stage) = (Some(ended), Stage::Over);
    }

    /// Saves the notes on the requests of a phase.
    pub(super) fn note(&mut self, number: usize, record: &Record) {
        let source = &self.phases[number].source;
        let replayed = record.observer.as_ref().is_some_and(|observer| observer.replays_times(number));
        self.notes.extend(source.notes());
        self.notes.extend(source.coarse_times().filter(|_| replayed));
    }

    /// Begins a phase at `units_start` host units of the life.
    fn begin_phase(&mut self, number: usize, units_start: u64, host: &mut Host, record: &mut Record) {
        self.stage = Stage::Phase(number);
        self.in_phase = InPhase { units_start, ns_start: now_ns(host), ..InPhase::default() };
        if let Some(observer) = &mut record.observer {
            observer.begin_phase(host, number);
        }
    }

    fn leave_phase(&mut self, number: usize, host: &mut Host, record: &mut Record) {
        self.note(number, record);
        if number + 1 < self.phases.len() {
            // Units that the last request wrote beyond the phase's end belong to the next phase.
            let lived = record.lived(host);
            let ended_at = self.phase_end(number).map_or(lived, |end| end.min(lived));
            self.begin_phase(number + 1, ended_at, host, record);
        } else {
            self.stage = Stage::Over;
        }
    }

    /// Host units of the life at which a phase that has begun ends; `None` if it ends only by something else.
    pub(super) fn phase_end(&self, number: usize) -> Option<u64> {
        let (units_max, _) = self.phases[number].units_max();
        units_max.map(|units| self.in_phase.units_start.saturating_add(units))
    }

    /// Preconditions from `done` units on, within the budget; then counting starts.
    fn precondition(
        &mut self,
        mut done: u64,
        host: &mut Host,
        record: &mut Record,
        budget: &mut Budget,
        watch: &mut Watch<'_>,
    ) -> Result<(), Halt> {
        let logical = u64::from(host.addresses());
        let fill = u64::from(self.precondition.fill_units);
        let sequential = u64::from(self.precondition.sequential_drive_writes) * logical;
        let total = fill + sequential + self.precondition.random_units;
        let mut pages = Vec::with_capacity(BATCH_PAGES);
        while done < total {
            if budget.units == 0 {
                return Err(Halt::Spent);
            }
            pages.clear();
            let until = [fill, fill + sequential, total].into_iter().find(|until| done < *until).unwrap_or(total);
            let most = match host.joins() {
                // Where an array is filled in order, ranges end at the same places however the run is stepped.
                true => BATCH_PAGES as u64 - done % BATCH_PAGES as u64,
                false => (BATCH_PAGES as u64).min(budget.units),
            };
            let count = (until - done).min(most);
            if done < fill {
                pages.extend(done as u32..(done + count) as u32);
            } else if done < fill + sequential {
                pages.extend((done - fill..done - fill + count).map(|unit| (unit % logical) as u32));
            } else {
                pages.extend((0..count).map(|_| self.precondition.stream.below(logical) as u32));
            }
            let in_order = done < fill + sequential;
            done += count;
            spend(&mut self.ahead_units, budget, count);
            self.stage = Stage::Precondition { done };
            host.write_unmarked(&pages, in_order, watch.stop)?;
            if report(host, record, 0, watch, Some(done as f64 / total as f64), true) {
                return Err(Ended::Interrupted.into());
            }
        }
        record.start(host);
        if self.phases.is_empty() {
            self.stage = Stage::Over;
        } else {
            self.begin_phase(0, record.lived(host), host, record);
        }
        Ok(())
    }

    /// Why a phase ends before its next request; `None` if it goes on.
    fn end_of_phase(&self, number: usize, units_end: Option<u64>, host: &mut Host) -> Option<EndReason> {
        let Phase { days_max, requests_max, .. } = self.phases[number];
        let (_, by_units) = self.phases[number].units_max();
        if units_end.is_some_and(|end| self.in_phase.written >= end) {
            return Some(by_units);
        }
        if let Some(Stretch::Ns(most)) = days_max
            && now_ns(host) - self.in_phase.ns_start >= most
        {
            return Some(EndReason::Days);
        }
        requests_max.is_some_and(|max| self.in_phase.requests >= max).then_some(EndReason::Requests)
    }

    /// Serves a phase from its present state. The outer error is a trace that cannot be read further.
    fn serve_phase(
        &mut self,
        number: usize,
        host: &mut Host,
        record: &mut Record,
        budget: &mut Budget,
        watch: &mut Watch<'_>,
    ) -> Result<Result<EndReason, Halt>, SourceError> {
        let requests_max = self.phases[number].requests_max;
        let (units_max, _) = self.phases[number].units_max();
        // In written units, since predicted ones are not written.
        let units_end = units_max
            .map(|units| self.in_phase.units_start.saturating_add(units).saturating_sub(record.predicted(host)));
        self.in_phase.written = record.written(host);
        let is_by_one = record.observer.as_ref().is_some_and(|observer| observer.is_by_one());
        loop {
            // Checked at each request, since a single one may have gigabytes.
            if watch.is_stopped() {
                return Ok(Err(Ended::Interrupted.into()));
            }
            if self.in_phase.begun.is_none() {
                if let Some(reason) = self.end_of_phase(number, units_end, host) {
                    return Ok(Ok(reason));
                }
                if budget.units == 0 || budget.requests == 0 {
                    return Ok(Err(Halt::Spent));
                }
                if let Some(observer) = record.observer.as_mut().filter(|observer| !observer.is_by_looks()) {
                    let present = self.present(number);
                    observer.probe_if_due(host, Some(&present), self.in_phase.written, watch.stop)?;
                }
            }
            let served = match &mut record.observer {
                Some(observer) if is_by_one => self.serve_one(number, host, observer, units_end, budget, watch.stop)?,
                _ => {
                    let requests_left = requests_max.map_or(u64::MAX, |max| max - self.in_phase.requests);
                    self.serve_many(number, host, (record.due(), units_end), requests_left, budget, watch.stop)?
                }
            };
            match served {
                Ok(true) => {}
                // A trace whose reading was stopped looks as if it were over.
                Ok(false) if watch.is_stopped() => return Ok(Err(Ended::Interrupted.into())),
                Ok(false) => return Ok(Ok(EndReason::TraceEnd)),
                Err(halt) => return Ok(Err(halt)),
            }
            self.in_phase.written = record.written(host);
            record.sample_if_due(host, self.in_phase.written, number as u32);
            self.in_phase.steps += 1;
            if is_by_one && !self.in_phase.steps.is_multiple_of(REQUESTS_PER_REPORT) {
                continue;
            }
            let done = self.share_done(number, host, record);
            if report(host, record, number, watch, done, false) {
                return Ok(Err(Ended::Interrupted.into()));
            }
        }
    }

    /// Share of a phase that is done, if it has a length.
    fn share_done(&self, number: usize, host: &mut Host, record: &Record) -> Option<f64> {
        let Phase { days_max, requests_max, .. } = self.phases[number];
        let share = |max: u64, now: u64| now as f64 / max.max(1) as f64;
        let (units_max, _) = self.phases[number].units_max();
        let by_units = units_max.map(|max| share(max, record.lived(host) - self.in_phase.units_start));
        let by_requests = requests_max.map(|max| share(max, self.in_phase.requests));
        let by_clock = match days_max {
            Some(Stretch::Ns(most)) => Some(share(most, now_ns(host) - self.in_phase.ns_start)),
            _ => None,
        };
        let by_source = self.phases[number].source.share_drawn().or(host.life_used());
        [by_units, by_requests, by_clock, by_source].into_iter().flatten().reduce(f64::max)
    }

    /// Serves a batch of requests of one kind, at most until as many host units are written as are due, or end the phase. A device that gets requests whole
    /// gets the rest of the last one as well, unless the phase ends in its midst. Returns false at the end of the source.
    fn serve_many(
        &mut self,
        number: usize,
        host: &mut Host,
        (due, units_end): (Option<u64>, Option<u64>),
        requests_left: u64,
        budget: &mut Budget,
        stop: &AtomicBool,
    ) -> Result<Result<bool, Halt>, SourceError> {
        let left_to = |end: Option<u64>| end.map_or(u64::MAX, |end| end.saturating_sub(self.in_phase.written));
        let (left, in_phase) = (left_to(due).min(left_to(units_end)), left_to(units_end));
        let pages_max = left.clamp(1, BATCH_PAGES as u64).min(budget.units) as usize;
        let mut batch = std::mem::take(&mut self.many);
        let source = &mut self.phases[number].source;
        if source.next(&mut batch, pages_max, requests_left.min(budget.requests))? == Drawn::End {
            return Ok(Ok(false));
        }
        debug_assert!(batch.pages.len() <= pages_max, "a source gives no more pages than it is asked for");
        while host.joins() && batch.op != Op::Read && batch.is_open() {
            let most = if batch.op == Op::Write { in_phase.saturating_sub(batch.pages.len() as u64) } else { u64::MAX };
            let most = most.min(BATCH_PAGES as u64) as usize;
            if most == 0 || source.next(&mut self.rest, most, 1)? == Drawn::End {
                break;
            }
            batch.append(&self.rest);
        }
        host.place(&mut batch.pages);
        debug_assert!(batch.requests <= requests_left, "a source completes no more requests than it is asked for");
        self.in_phase.requests += batch.requests;
        budget.requests = budget.requests.saturating_sub(batch.requests);
        // It was drawn to fit the budget, but for the end of a request.
        let served = self.serve(host, &mut batch, &mut 0, &mut { u64::MAX }, stop);
        if batch.op == Op::Write {
            spend(&mut self.ahead_units, budget, batch.pages.len() as u64);
        }
        self.many = batch;
        Ok(served.map(|()| true))
    }

    /// Serves the next request, or the rest of the one that was begun. Returns false at the end of the source.
    #[inline]
    fn serve_one(
        &mut self,
        number: usize,
        host: &mut Host,
        observer: &mut Observer,
        units_end: Option<u64>,
        budget: &mut Budget,
        stop: &AtomicBool,
    ) -> Result<Result<bool, Halt>, SourceError> {
        let InPhase { ahead, begun, requests, written, .. } = &mut self.in_phase;
        let Some(batch) = ahead.front(self.phases[number].source.as_mut(), host)? else {
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
            if !observer.arrive(host, batch, *written, budget.until_ns, stop) {
                *begun = Some(present);
                return Ok(Err(Halt::Spent));
            }
            if let Some(ended) = cannot_go_on(host, stop) {
                return Ok(Err(ended.into()));
            }
            present.has_come = true;
            *requests += batch.requests;
        }
        let before = present.written;
        let mut units = if host.joins() { u64::MAX } else { budget.units };
        let mut served = host.serve(batch, &mut present.written, &mut units, stop);
        let written = (present.written - before) as u64;
        if let Err(Halt::Spent) = served {
            *begun = Some(present);
            spend(&mut self.ahead_units, budget, written);
            return Ok(Err(Halt::Spent));
        }
        budget.requests = budget.requests.saturating_sub(batch.requests);
        observer.served(host, batch);
        ahead.pop();
        spend(&mut self.ahead_units, budget, written);
        if served.is_ok() {
            served = host.work(stop).map_err(Halt::from);
        }
        Ok(served.map(|()| true))
    }

    /// Serves a batch. Bytes that were written stay, if the life spares them.
    #[inline(always)]
    fn serve(
        &mut self,
        host: &mut Host,
        batch: &mut Batch,
        done: &mut usize,
        units: &mut u64,
        stop: &AtomicBool,
    ) -> Result<(), Halt> {
        if let Some((fate, spared)) = self.written_bytes.as_mut().filter(|_| batch.op == Op::Trim) {
            let pages = batch.pages.len();
            *spared += host.pages_with_bytes(&mut batch.pages, *fate == WrittenBytes::Stay);
            if batch.pages.len() < pages {
                batch.ends.clear();
            }
        }
        host.serve(batch, done, units, stop)
    }
}

/// Takes units from a budget. What a request has beyond it, the next budgets have less: looks are where they are however a run is stepped.
fn spend(ahead: &mut u64, budget: &mut Budget, units: u64) {
    let within = units.min(budget.units);
    budget.units -= within;
    *ahead += units - within;
}

/// Why a request that has come cannot be served.
pub(crate) fn cannot_go_on(host: &mut Host, stop: &AtomicBool) -> Option<Ended> {
    if host.device().is_over() {
        return Some(Ended::ClockEnd);
    }
    stop.load(Ordering::Relaxed).then_some(Ended::Interrupted)
}

/// The time of the run's clock; 0 if the run has none.
fn now_ns(host: &mut Host) -> u64 {
    host.device().now_ns()
}

/// Reports a step. Returns true if the run should stop.
fn report(
    host: &Host,
    record: &Record,
    phase: usize,
    watch: &mut Watch<'_>,
    done: Option<f64>,
    preconditioning: bool,
) -> bool {
    // During preconditioning counting has not started.
    let of_drive = |units: u64| units as f64 / f64::from(host.logical_units());
    let (drive_writes, predicted) = (of_drive(record.lived(host)), of_drive(record.predicted(host)));
    let programmed = host.counters().programmed_total();
    (watch.step)(&Step { preconditioning, phase, drive_writes, predicted, done, programmed });
    watch.is_stopped()
}
