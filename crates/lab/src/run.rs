//! One run: a drive, preconditioned, driven by its phases, watched until it ends.
//!
//! A run is single-threaded and reads no clock; the caller measures. Whoever builds a [`Plan`] has resolved every
//! name already.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_ftl::{EndOfLife, Ftl, Outcome};
use wane_nand::{Array, Flash, Media};
use wane_sim::Stream;
use wane_units::{BlockId, Lpn, SuperblockId};
use wane_workload::{Batch, Op, Progress, Source, SourceError};

use crate::detail::{Detail, DetailSpec, Detailed, Measured, PAGES_MAX, Plain, WearCounts, next_slice};
use crate::host_space::HostSpace;
use wane_results::{BlockState, Counters, EndCause, EndReason, Row, Timeline, WearSnapshot};

/// Pages handed to the drive at once: large enough to prefetch across, small enough to stay in the first cache.
const BATCH_PAGES: usize = 4096;

/// The timeline starts with this many rows a drive write.
const ROWS_PER_DRIVE_WRITE: u64 = 64;

/// Requests of a detailed run that are drawn ahead.
const REQUESTS_AHEAD: usize = 16;

/// A detailed run reports after so many requests.
const REQUESTS_PER_REPORT: u64 = 256;

/// The window of the last drive write is kept in steps of this part of it.
const WINDOW_STEPS: u64 = 64;

/// What a result says of a run that ended by its clock.
const CLOCK_END: &str = "the simulated clock came to its end, 2^64 ns or 584 years after the start; arrivals closer together, or a smaller time.scale, let more requests fit";

/// Everything a run needs.
pub struct Plan {
    /// The drive, new.
    pub drive: Drive,
    /// Bytes of a mapping unit.
    pub unit_bytes: u64,
    /// What happens before counting starts.
    pub precondition: Precondition,
    /// What happens then, in order. At least one.
    pub phases: Vec<Phase>,
}

/// A drive, and how closely it is looked at.
pub enum Drive {
    /// Aging only.
    Plain(Box<Ftl<Array>>),
    /// With errors, time, scrubbing or probes.
    Detailed(Box<Ftl<Flash>>, Box<DetailSpec>),
}

/// How a drive is aged before counting starts. Wear leveling is off meanwhile.
pub struct Precondition {
    /// Logical units written sequentially from 0 on, first of all.
    pub fill_units: u32,
    /// Whole sequential drive writes after that.
    pub sequential_drive_writes: u32,
    /// Units of uniform random writes after that.
    pub random_units: u64,
    /// Draws the random ones.
    pub stream: Stream,
}

/// One stretch of a run.
pub struct Phase {
    /// Where its requests come from.
    pub source: Box<dyn Source>,
    /// It ends after this many host units written.
    pub units_max: Option<u64>,
    /// It ends after this many requests.
    pub requests_max: Option<u64>,
}

/// What a run has come to.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Counts since preconditioning.
    pub counters: Counters,
    /// The same over the last drive write, or over all of a shorter run.
    pub last_drive_write: Counters,
    /// Its life.
    pub timeline: Vec<Row>,
    /// Its blocks.
    pub wear: WearSnapshot,
    /// Mean erase count when counting began.
    pub erase_count_mean_at_start: f64,
    /// Why it ended.
    pub reason: EndReason,
    /// What the drive died of.
    pub cause: Option<EndCause>,
    /// Logical units exported at the end.
    pub exported_units: u32,
    /// Answers of policies that were refused.
    pub policy_refusals: u64,
    /// What the workload has to say of itself: what a trace assumed or skipped.
    pub notes: Vec<String>,
    /// What a detailed run measured.
    pub measured: Option<Measured>,
}

/// How far a run is; given to its watcher after every batch.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Still preconditioning.
    pub preconditioning: bool,
    /// Which phase, from 0.
    pub phase: usize,
    /// Drive writes since preconditioning.
    pub drive_writes: f64,
    /// How much of the phase is done, if it has a length; of a drive that lives until it dies, how much of its rated
    /// erases is used.
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
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs a plan to its end.
///
/// # Errors
/// A trace cannot be read further. A drive that dies is no error.
pub fn run(plan: Plan, watch: &mut Watch<'_>) -> Result<Finished, SourceError> {
    let Plan { drive, unit_bytes, precondition, phases } = plan;
    match drive {
        Drive::Plain(ftl) => Running::new(*ftl, Plain, unit_bytes).run(precondition, phases, watch),
        Drive::Detailed(ftl, spec) => {
            Running::new(*ftl, Detailed::new(*spec), unit_bytes).run(precondition, phases, watch)
        }
    }
}

/// Requests drawn ahead of their time, so that their map entries are on their way when they are served.
struct Ahead {
    /// A ring; those not yet served lie from `first` on.
    requests: Vec<Batch>,
    first: usize,
    count: usize,
    ended: bool,
}

impl Ahead {
    fn new() -> Self {
        Self { requests: vec![Batch::default(); 2 * REQUESTS_AHEAD], first: 0, count: 0, ended: false }
    }

    /// The next request, whole but for what a phase that ends after `units_left` more units has no room for; none at the
    /// end.
    #[inline]
    fn next<M: Media>(
        &mut self,
        source: &mut dyn Source,
        ftl: &Ftl<M>,
        units_left: Option<u64>,
    ) -> Result<Option<&mut Batch>, SourceError> {
        if self.count < REQUESTS_AHEAD && !self.ended {
            self.fill(source, ftl)?;
        }
        if self.count == 0 {
            return Ok(None);
        }
        let next = &mut self.requests[self.first];
        self.first = (self.first + 1) % (2 * REQUESTS_AHEAD);
        self.count -= 1;
        if let Some(left) = units_left.filter(|_| next.op == Op::Write) {
            next.pages.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        }
        Ok(Some(next))
    }

    fn fill<M: Media>(&mut self, source: &mut dyn Source, ftl: &Ftl<M>) -> Result<(), SourceError> {
        while self.count < 2 * REQUESTS_AHEAD {
            let next = &mut self.requests[(self.first + self.count) % (2 * REQUESTS_AHEAD)];
            if source.next(next, PAGES_MAX, 1)? == Progress::End {
                self.ended = true;
                break;
            }
            ftl.prefetch(Lpn::slice(&next.pages));
            self.count += 1;
        }
        Ok(())
    }
}

/// Why a run is over before its phases are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    /// The drive died.
    Died(EndCause),
    /// The simulated time is used up.
    ClockEnd,
    /// The user stopped it.
    Interrupted,
}

enum PhaseEnd {
    Over(EndReason),
    Run(Ended),
}

struct Running<M: Media, D> {
    ftl: Ftl<M>,
    detail: D,
    unit_bytes: u64,
    space: Option<HostSpace>,
    phase: usize,
    /// Counters at the end of preconditioning.
    zero: Counters,
    mean_at_start: f64,
    timeline: Timeline,
    window: VecDeque<Counters>,
    window_step: u64,
    /// Host units written at which the next row, and the next step of the window, are due.
    row_due: u64,
    window_due: u64,
    reason: EndReason,
    slots: Vec<u32>,
    notes: Vec<String>,
}

impl<M: WearCounts, D: Detail<M>> Running<M, D> {
    fn new(ftl: Ftl<M>, detail: D, unit_bytes: u64) -> Self {
        let logical = ftl.logical_initial();
        let capacity = ftl.capacity_policy();
        let bound = capacity.relocation_bound().map(|bytes| bytes.0 / unit_bytes);
        let space = capacity.may_shrink().then(|| HostSpace::new(logical, bound));
        Self {
            space,
            unit_bytes,
            phase: 0,
            zero: Counters::default(),
            mean_at_start: 0.0,
            timeline: Timeline::new((u64::from(logical) / ROWS_PER_DRIVE_WRITE).max(1)),
            window: VecDeque::new(),
            window_step: u64::from(logical).div_ceil(WINDOW_STEPS),
            row_due: 0,
            window_due: 0,
            reason: EndReason::Requests,
            slots: Vec::with_capacity(BATCH_PAGES),
            notes: Vec::new(),
            detail,
            ftl,
        }
    }

    fn run(
        mut self,
        precondition: Precondition,
        phases: Vec<Phase>,
        watch: &mut Watch<'_>,
    ) -> Result<Finished, SourceError> {
        let mut end = self.precondition(precondition, watch);
        if let Some(Ended::Died(_)) = end {
            self.notes.push("the drive died while it was preconditioned, so that nothing was measured".to_owned());
        }
        self.start();
        for (number, phase) in phases.into_iter().enumerate() {
            if end.is_some() {
                break;
            }
            self.phase = number;
            self.detail.begin_phase(number);
            match self.drive(phase, watch)? {
                PhaseEnd::Over(reason) => self.reason = reason,
                PhaseEnd::Run(ended) => end = Some(ended),
            }
        }
        // One may be due at the very end.
        self.detail.probe(&self.ftl, self.written(), watch.stop)?;
        Ok(self.finish(end, watch.stop))
    }

    fn precondition(&mut self, precondition: Precondition, watch: &mut Watch<'_>) -> Option<Ended> {
        let Precondition { fill_units, sequential_drive_writes, random_units, mut stream } = precondition;
        let logical = self.ftl.logical_initial();
        let sequential = u64::from(sequential_drive_writes) * u64::from(logical);
        let total = u64::from(fill_units) + sequential + random_units;
        let mut pages = Vec::with_capacity(BATCH_PAGES);
        let mut done = 0u64;
        while done < total {
            pages.clear();
            let until = match () {
                () if done < u64::from(fill_units) => u64::from(fill_units),
                () if done < u64::from(fill_units) + sequential => u64::from(fill_units) + sequential,
                () => total,
            };
            let count = (until - done).min(BATCH_PAGES as u64);
            if done < u64::from(fill_units) {
                pages.extend(done as u32..(done + count) as u32);
            } else if done < u64::from(fill_units) + sequential {
                let first = done - u64::from(fill_units);
                pages.extend((first..first + count).map(|unit| (unit % u64::from(logical)) as u32));
            } else {
                pages.extend((0..count).map(|_| stream.below(u64::from(logical)) as u32));
            }
            done += count;
            if let Err(ended) = self.write_unmarked(&pages, watch.stop) {
                return Some(ended);
            }
            if self.report(watch, Some(done as f64 / total as f64), true) {
                return Some(Ended::Interrupted);
            }
        }
        None
    }

    /// Writes what the workload does not own: preconditioning leaves no footprint.
    fn write_unmarked(&mut self, pages: &[u32], stop: &AtomicBool) -> Result<(), Ended> {
        let mut done = 0;
        while done < pages.len() {
            let (written, mut outcome) = self.ftl.write(Lpn::slice(&pages[done..]));
            done += written;
            // A drive that wears out already now finds no host that would give space back.
            while !self.is_settled(outcome, stop)? {
                outcome = if outcome == Outcome::Paused { self.ftl.resume() } else { self.ftl.reclaim() };
            }
        }
        Ok(())
    }

    /// Whether the drive has done what it was asked to; false where it demands capacity or pauses, which is the moment to
    /// hand over what it did so far and to look whether the run is to stop.
    fn is_settled(&mut self, outcome: Outcome, stop: &AtomicBool) -> Result<bool, Ended> {
        match outcome {
            Outcome::Done => Ok(true),
            Outcome::Demand(_) => Ok(false),
            Outcome::Dead(cause) => Err(Ended::Died(self.cause(cause))),
            Outcome::OutOfRange(refused) => unreachable!("a run asks for what the drive exports: {refused}"),
            Outcome::Paused => {
                pause(&mut self.ftl, &mut self.detail, stop)?;
                Ok(false)
            }
        }
    }

    fn cause(&self, cause: EndOfLife) -> EndCause {
        match &self.space {
            Some(space) => space.cause(cause),
            None => match cause {
                EndOfLife::SpareExhausted => EndCause::SpareExhausted,
                EndOfLife::NoFreeBlock => EndCause::NoFreeBlock,
                EndOfLife::NoVictim => EndCause::NoVictim,
            },
        }
    }

    /// Counting starts.
    fn start(&mut self) {
        self.zero = counted(self.ftl.counters());
        let counts = self.ftl.erase_counts();
        self.mean_at_start = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / counts.len() as f64;
        self.ftl.set_leveling(true);
        self.detail.start(&mut self.ftl);
        self.begin_window_step();
        self.sample();
    }

    fn counters(&self) -> Counters {
        let mut counters = counted(self.ftl.counters()) - self.zero;
        counters.host_units_trimmed -= self.space.as_ref().map_or(0, HostSpace::trimmed);
        counters
    }

    fn drive(&mut self, mut phase: Phase, watch: &mut Watch<'_>) -> Result<PhaseEnd, SourceError> {
        let end = self.serve_phase(&mut phase, watch)?;
        self.notes.extend(phase.source.notes());
        Ok(end)
    }

    fn serve_phase(&mut self, phase: &mut Phase, watch: &mut Watch<'_>) -> Result<PhaseEnd, SourceError> {
        let Phase { source, units_max, requests_max } = phase;
        let (units_max, requests_max) = (*units_max, *requests_max);
        let units_start = self.written();
        let units_end = units_max.map(|units| units_start + units);
        let (mut requests, mut steps) = (0, 0u64);
        let (mut many, mut ahead) = (Batch::default(), Ahead::new());
        loop {
            // At each request, for a single one may have gigabytes.
            if watch.is_stopped() {
                return Ok(PhaseEnd::Run(Ended::Interrupted));
            }
            let written = self.written();
            if units_end.is_some_and(|end| written >= end) {
                return Ok(PhaseEnd::Over(EndReason::DriveWrites));
            }
            if requests_max.is_some_and(|max| requests >= max) {
                return Ok(PhaseEnd::Over(EndReason::Requests));
            }
            self.detail.probe(&self.ftl, written, watch.stop)?;
            let batch = if D::ONE_BY_ONE {
                ahead.next(source.as_mut(), &self.ftl, units_end.map(|end| end - written))?
            } else {
                let due = self.row_due.min(self.window_due).min(units_end.unwrap_or(u64::MAX));
                let pages_max = due.saturating_sub(written).clamp(1, BATCH_PAGES as u64) as usize;
                let progress =
                    source.next(&mut many, pages_max, requests_max.map_or(u64::MAX, |max| max - requests))?;
                (progress == Progress::More).then_some(&mut many)
            };
            let Some(batch) = batch else {
                // A trace that is asked to stop looks as if it were over.
                return Ok(if watch.is_stopped() {
                    PhaseEnd::Run(Ended::Interrupted)
                } else {
                    PhaseEnd::Over(EndReason::TraceEnd)
                });
            };
            self.detail.arrive(&mut self.ftl, batch, written, watch.stop);
            if self.detail.is_over() {
                return Ok(PhaseEnd::Run(Ended::ClockEnd));
            }
            if watch.is_stopped() {
                return Ok(PhaseEnd::Run(Ended::Interrupted));
            }
            requests += batch.requests;
            let served = self.serve(batch, watch.stop);
            self.detail.served(&mut self.ftl, batch);
            if let Err(ended) = served.and_then(|()| self.scrub(watch.stop)) {
                return Ok(PhaseEnd::Run(ended));
            }
            self.sample_if_due();
            steps += 1;
            if D::ONE_BY_ONE && !steps.is_multiple_of(REQUESTS_PER_REPORT) {
                continue;
            }
            let share = |max: u64, now: u64| now as f64 / max.max(1) as f64;
            let by_units = units_max.map(|max| share(max, self.written() - units_start));
            let by_requests = requests_max.map(|max| share(max, requests));
            let by_wear = self.ftl.life_used();
            let done = [by_units, by_requests, by_wear].into_iter().flatten().reduce(f64::max);
            if self.report(watch, done, false) {
                return Ok(PhaseEnd::Run(Ended::Interrupted));
            }
        }
    }

    /// Host units written since counting started.
    #[inline(always)]
    fn written(&self) -> u64 {
        self.ftl.counters().host_units_written - self.zero.host_units_written
    }

    /// One step of scrubbing, where that is wanted.
    fn scrub(&mut self, stop: &AtomicBool) -> Result<(), Ended> {
        if !self.detail.may_scrub(&self.ftl) {
            return Ok(());
        }
        let Some(outcome) = self.ftl.scrub() else { return Ok(()) };
        let settled = self.settle(outcome, stop);
        self.detail.acted(&mut self.ftl);
        settled
    }

    /// Lets the drive finish what it was asked to do, and answers what it demands meanwhile.
    fn settle(&mut self, mut outcome: Outcome, stop: &AtomicBool) -> Result<(), Ended> {
        while !self.is_settled(outcome, stop)? {
            let Outcome::Demand(demand) = outcome else {
                outcome = self.ftl.resume();
                continue;
            };
            let space = self.space.as_mut().expect("a drive that may not shrink demands nothing");
            return space.answer(&mut self.ftl, demand, &mut |ftl| pause(ftl, &mut self.detail, stop));
        }
        Ok(())
    }

    fn serve(&mut self, batch: &mut Batch, stop: &AtomicBool) -> Result<(), Ended> {
        const EXPORTED: &str = "the workload asks for what the drive exports";
        match batch.op {
            Op::Write => self.write(&batch.pages, stop)?,
            Op::Read => {
                let missing = self.space.as_ref().map_or(0, |space| space.find(&mut batch.pages));
                self.ftl.read(Lpn::slice(&batch.pages)).expect(EXPORTED);
                self.ftl.read_unmapped(missing);
            }
            Op::Trim => {
                if let Some(space) = &mut self.space {
                    space.release(&mut batch.pages);
                }
                self.ftl.trim(Lpn::slice(&batch.pages)).expect(EXPORTED);
            }
            // The page buffer survives power loss, so a flush programs nothing.
            Op::Flush => {}
        }
        Ok(())
    }

    fn write(&mut self, pages: &[u32], stop: &AtomicBool) -> Result<(), Ended> {
        let mut done = 0;
        while done < pages.len() {
            let left = next_slice(&pages[done..]);
            let Some(space) = &mut self.space else {
                let (written, outcome) = self.ftl.write(Lpn::slice(left));
                done += written;
                self.settle(outcome, stop)?;
                if done < pages.len() && stop.load(Ordering::Relaxed) {
                    return Err(Ended::Interrupted);
                }
                continue;
            };
            self.slots.clear();
            self.slots.extend_from_slice(left);
            // Slots change when the file system relocates, so what is left is looked up again after each answer.
            let placed = space.take(&mut self.slots);
            let (written, outcome) = self.ftl.write(Lpn::slice(&self.slots[..placed]));
            space.written(left, written);
            done += written;
            if outcome == Outcome::Done && placed < left.len() {
                return Err(Ended::Died(EndCause::FootprintDoesNotFit));
            }
            self.settle(outcome, stop)?;
            if done < pages.len() && stop.load(Ordering::Relaxed) {
                return Err(Ended::Interrupted);
            }
        }
        Ok(())
    }

    /// Reports a step; true when the run is to stop.
    fn report(&mut self, watch: &mut Watch<'_>, done: Option<f64>, preconditioning: bool) -> bool {
        // While it preconditions, the drive has not begun to count.
        let drive_writes = self.written() as f64 / f64::from(self.ftl.logical_initial());
        let programmed = self.ftl.counters().programmed_total();
        (watch.step)(&Step { preconditioning, phase: self.phase, drive_writes, done, programmed });
        watch.is_stopped()
    }

    #[inline]
    fn sample_if_due(&mut self) {
        let now = self.written();
        if now >= self.row_due {
            self.sample();
        }
        if now >= self.window_due {
            self.begin_window_step();
        }
    }

    fn begin_window_step(&mut self) {
        let counters = self.counters();
        self.window.push_back(counters);
        self.window_due = counters.host_units_written + self.window_step;
        if self.window.len() as u64 > WINDOW_STEPS + 2 {
            self.window.pop_front();
        }
    }

    fn exported(&self) -> u32 {
        self.space.as_ref().map_or(self.ftl.exported(), HostSpace::exported)
    }

    fn sample(&mut self) {
        let counters = self.counters();
        let row = Row {
            drive_writes: counters.host_units_written as f64 / f64::from(self.ftl.logical_initial()),
            phase: self.phase as u32,
            counters,
            erase_count: wane_results::EraseCounts::of(self.ftl.media().erase_counts()),
            blocks_retired: self.ftl.retired_blocks() * self.ftl.layout().width(),
            exported_bytes: u64::from(self.exported()) * self.unit_bytes,
        };
        self.timeline.push(row);
        self.row_due = self.timeline.due_at();
    }

    fn wear(&self) -> WearSnapshot {
        let geometry = *wane_nand::Media::geometry(self.ftl.media());
        let layout = self.ftl.layout();
        let holders: Vec<SuperblockId> = BlockId::all(0..geometry.blocks()).map(|block| layout.holder(block)).collect();
        let state = |holder: &SuperblockId| match self.ftl.state(*holder) {
            wane_ftl::BlockState::Free => BlockState::Free,
            wane_ftl::BlockState::Open => BlockState::Open,
            wane_ftl::BlockState::Closed => BlockState::Closed,
            wane_ftl::BlockState::Retired => BlockState::Retired,
        };
        // A superblock's valid units lie spread over its members, so each shows its share.
        let valid = |holder: &SuperblockId| self.ftl.valid(*holder) / layout.width();
        WearSnapshot::new(
            geometry,
            self.ftl.media().erase_counts().to_vec(),
            holders.iter().map(valid).collect(),
            holders.iter().map(state).collect(),
        )
    }

    fn finish(mut self, end: Option<Ended>, stop: &AtomicBool) -> Finished {
        debug_assert_eq!(self.ftl.check(), Ok(()), "the firmware keeps its invariants, however the run ended");
        self.sample();
        let counters = self.counters();
        let wear = self.wear();
        let (exported_units, refusals) = (self.exported(), self.ftl.counters().policy_refusals);
        let logical = u64::from(self.ftl.logical_initial());
        let from = counters.host_units_written.saturating_sub(logical);
        let before = self.window.iter().rev().find(|earlier| earlier.host_units_written <= from);
        let measured = self.detail.finish(&self.ftl, stop);
        // Only now, for what was not done when the flag rose is not in the measurements.
        let end = end.or_else(|| stop.load(Ordering::Relaxed).then_some(Ended::Interrupted));
        let (reason, cause) = match end {
            Some(Ended::Died(cause)) => (EndReason::EndOfLife, Some(cause)),
            Some(Ended::ClockEnd) => {
                self.notes.push(CLOCK_END.to_owned());
                (EndReason::ClockEnd, None)
            }
            Some(Ended::Interrupted) => (EndReason::Interrupted, None),
            None => (self.reason, None),
        };
        Finished {
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
        }
    }
}

/// In the middle of much work: hands over what the drive did so far, so that it does not pile up, and looks whether the run is
/// to stop.
fn pause<M: Media, D: Detail<M>>(ftl: &mut Ftl<M>, detail: &mut D, stop: &AtomicBool) -> Result<(), Ended> {
    detail.acted(ftl);
    if stop.load(Ordering::Relaxed) { Err(Ended::Interrupted) } else { Ok(()) }
}

/// What the firmware counted, as results keep it.
fn counted(ftl: &wane_ftl::Counters) -> Counters {
    Counters {
        host_units_written: ftl.host_units_written,
        host_units_read: ftl.host_units_read,
        host_units_read_unmapped: ftl.host_units_read_unmapped,
        host_units_trimmed: ftl.host_units_trimmed,
        programmed_host: ftl.programmed_host,
        programmed_gc: ftl.programmed_gc,
        programmed_wear_leveling: ftl.programmed_wear_leveling,
        programmed_file_system: ftl.programmed_file_system,
        programmed_scrub: ftl.programmed_scrub,
        programmed_parity: ftl.programmed_parity,
        programmed_padding: ftl.programmed_padding,
        program_operations: ftl.program_operations,
        erases_gc: ftl.erases_gc,
        erases_wear_leveling: ftl.erases_wear_leveling,
        erases_scrub: ftl.erases_scrub,
        gc_victims: ftl.gc_victims,
        gc_victim_valid_units: ftl.gc_victim_valid_units,
    }
}
