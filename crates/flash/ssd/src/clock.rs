//! The clock of a timed drive: requests arrive, their operations are scheduled, and completions come out.

use std::sync::atomic::{AtomicBool, Ordering};

use wane_archive::{Archive, ArchiveError};
use wane_nand::{FlashOp, OpKind, Task};
use wane_units::Geometry;

use crate::thermal::Heat;
use crate::{
    CLOCK_MAX_NS, Collection, Command, CommandKind, Completion, ConfigError, EventScheduler, HeatReading, Progress,
    Scheduler, SchedulerConfig, Thermal, Timeline, Timing, operation_ns_bound,
};

/// Days of a nanosecond.
const NS_DAYS: f64 = 1.0 / 86_400e9;

/// What a clock is made of.
#[derive(Clone, Debug)]
pub struct ClockSpec {
    /// Uses the event scheduler; otherwise the timeline.
    pub by_events: bool,
    /// Times of the flash.
    pub timing: Timing,
    /// Order and modes of the scheduler.
    pub config: SchedulerConfig,
    /// Most re-reads of a page.
    pub rereads_max: u32,
    /// The drive's own heat, which needs events.
    pub thermal: Option<Thermal>,
}

impl ClockSpec {
    /// Makes a scheduler at time 0.
    ///
    /// # Errors
    /// Times or schedule contradict each other.
    pub fn scheduler(&self, geometry: &Geometry) -> Result<Scheduler, ConfigError> {
        let (timing, config) = (self.timing.clone(), self.config);
        if !self.by_events {
            return match self.thermal {
                Some(_) => Err(ConfigError::NeedsEvents { name: "thermal", found: "its heat" }),
                None => Ok(Scheduler::Timeline(Box::new(Timeline::new(geometry, timing, config)?))),
            };
        }
        let events = EventScheduler::new(geometry, timing, config)?;
        Ok(Scheduler::Event(Box::new(match self.thermal {
            Some(thermal) => events.with_thermal(thermal),
            None => events,
        })))
    }

    /// An upper bound of the time that one flash operation adds until everything is done.
    fn operation_ns(&self, geometry: &Geometry) -> u64 {
        // A page that has more bytes than a number holds takes no less time for it.
        let page_bytes = u32::try_from(geometry.page_size().0).unwrap_or(u32::MAX);
        let bound = operation_ns_bound(&self.timing, &self.config, page_bytes, self.rereads_max);
        let stretch = self.thermal.and_then(|thermal| thermal.throttle).map_or(1.0, |throttle| throttle.stretch);
        bound.saturating_mul(libm::ceil(stretch) as u64)
    }
}

/// A scheduler, and the time up to which requests came.
#[derive(Clone, Debug)]
pub struct Clock {
    scheduler: Scheduler,
    /// An upper bound of the time that one flash operation adds until everything is done.
    operation_ns: u64,
    /// The clock has reached its end: the next request could complete after [`CLOCK_MAX_NS`].
    is_over: bool,
    /// When the last request was submitted.
    at: u64,
    /// Whether collection takes no time.
    is_free: bool,
    /// The operations of a request that take time, where collection takes none.
    timed: Vec<FlashOp>,
}

impl Clock {
    /// A clock at time 0.
    ///
    /// # Errors
    /// Times or schedule contradict each other.
    pub fn new(spec: &ClockSpec, geometry: &Geometry) -> Result<Self, ConfigError> {
        let (scheduler, operation_ns) = (spec.scheduler(geometry)?, spec.operation_ns(geometry));
        let is_free = spec.config.collection == Collection::Free;
        Ok(Self { scheduler, operation_ns, is_over: false, at: 0, is_free, timed: Vec::new() })
    }

    /// Replaces the scheduler by a new one, at the same time. The new one knows nothing of what was done so far.
    ///
    /// # Panics
    /// The spec is not the one that the clock was made of.
    pub(crate) fn renew(&mut self, spec: &ClockSpec, geometry: &Geometry) {
        debug_assert_eq!(self.scheduler.outstanding(), 0, "what is outstanding would be lost");
        self.reschedule(spec, geometry);
    }

    fn reschedule(&mut self, spec: &ClockSpec, geometry: &Geometry) {
        let heat = self.scheduler.heat_kept().cloned();
        self.scheduler = spec.scheduler(geometry).expect("the clock was made of it");
        self.scheduler.keep_heat(heat);
    }

    /// Continues at `at` ns, no earlier than now, with nothing outstanding. Requests that were outstanding are lost.
    pub(crate) fn restart(&mut self, spec: &ClockSpec, geometry: &Geometry, at: u64) {
        debug_assert!(at >= self.at, "time does not go back");
        self.reschedule(spec, geometry);
        self.at = at.min(CLOCK_MAX_NS);
    }

    /// Whether the simulated time is used up. From then on requests are not timed.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// When the last request came, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.at
    }

    /// When the last request came, in days.
    pub fn now_days(&self) -> f64 {
        self.at as f64 * NS_DAYS
    }

    /// How warm the drive is; `None` where it has no heat.
    pub fn heat(&self) -> Option<HeatReading> {
        self.scheduler.heat(self.at)
    }

    /// The scheduler, for queries.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Lets time run until `at`, in nanoseconds, when a request comes. If `at` lies in the past, the request comes now. `each`
    /// gets the completions until then. Returns early once `stop` is true.
    #[inline]
    pub fn arrive_at(&mut self, at: u64, stop: &AtomicBool, each: &mut impl FnMut(&Completion)) {
        if at > CLOCK_MAX_NS {
            self.is_over = true;
            return;
        }
        let at = at.max(self.at);
        while self.complete(at, stop, each).is_some() {}
        if !stop.load(Ordering::Relaxed) {
            self.at = at;
        }
    }

    /// Lets time run until fewer than `depth` requests are outstanding, which is when the next one comes. `each` gets the
    /// completions until then. Returns early once `stop` is true.
    #[inline]
    pub fn arrive_below(&mut self, depth: u64, stop: &AtomicBool, each: &mut impl FnMut(&Completion)) {
        while self.scheduler.outstanding() >= depth
            && let Some(at) = self.complete(u64::MAX, stop, each)
        {
            self.at = at.max(self.at);
        }
    }

    /// As [`Clock::arrive_below`], but no further than `until`. Returns whether the request came.
    pub fn arrive_below_until(
        &mut self,
        depth: u64,
        until: u64,
        stop: &AtomicBool,
        each: &mut impl FnMut(&Completion),
    ) -> bool {
        while self.scheduler.outstanding() >= depth {
            match self.complete(until, stop, each) {
                Some(at) => self.at = at.max(self.at),
                // Nothing is outstanding, but the queue counts as full (depth 0): nothing will make room, so the request comes.
                None => return stop.load(Ordering::Relaxed) || self.scheduler.next_at().is_none(),
            }
        }
        self.at <= until
    }

    /// Lets time run until a submitted request is done, but no further than `until`. The request's completion must not have been
    /// handed out yet. Returns whether it is done.
    pub fn arrive_after(
        &mut self,
        token: u64,
        until: u64,
        stop: &AtomicBool,
        each: &mut impl FnMut(&Completion),
    ) -> bool {
        let mut is_done = false;
        while !is_done {
            let seen = &mut |completion: &Completion| {
                is_done |= completion.token == token;
                each(completion);
            };
            match self.complete(until, stop, seen) {
                Some(at) => self.at = at.max(self.at),
                // Nothing is left to do, so no such request was submitted.
                None => return stop.load(Ordering::Relaxed) || self.scheduler.next_at().is_none(),
            }
        }
        true
    }

    /// Tells the scheduler that time has passed, on a drive whose next request nobody waits for.
    pub(crate) fn pass(&mut self) {
        self.scheduler.pass_to(self.at);
    }

    /// Lets everything end. Once `stop` is true, the rest is left undone.
    pub fn drain(&mut self, stop: &AtomicBool, each: &mut impl FnMut(&Completion)) {
        while !stop.load(Ordering::Relaxed) && self.complete(u64::MAX, stop, each).is_some() {}
    }

    /// Hands out the next completion up to `until` and returns its time. Returns `None` if there is none, or once `stop` is true.
    #[inline(never)]
    fn complete(&mut self, until: u64, stop: &AtomicBool, each: &mut impl FnMut(&Completion)) -> Option<u64> {
        while self.scheduler.work(until) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
        }
        let completion = self.scheduler.next_completion(until)?;
        debug_assert!(completion.at <= until, "nothing is handed out before its time");
        each(completion);
        Some(completion.at)
    }

    /// Submits a request's operations, or ends the clock if they would not be done in time. Returns whether they were submitted.
    /// A read that found nothing takes no time and is not submitted. Not inlined: otherwise the loop of a run would spill its
    /// registers.
    #[inline(never)]
    pub fn submit(&mut self, command: Command, ops: &[FlashOp]) -> bool {
        if command.kind == CommandKind::Read && ops.is_empty() {
            return false;
        }
        if self.is_free {
            self.timed.clear();
            for op in ops {
                if op.task != Task::GarbageCollection {
                    self.timed.push(*op);
                } else if op.kind == OpKind::Erase {
                    self.scheduler.skip_erase(op.block);
                }
            }
        }
        let ops = if self.is_free { &self.timed } else { ops };
        let from = self.at.saturating_add(self.scheduler.link_ns(&command));
        self.is_over |= !self.scheduler.fits(from, ops.len(), self.operation_ns);
        if self.is_over {
            let changes = ops.iter().filter(|op| matches!(op.kind, OpKind::Program | OpKind::Erase));
            self.scheduler.skip_changes(changes.count());
        } else {
            self.scheduler.submit(self.at, command, ops);
        }
        !self.is_over
    }

    /// Operations that took no time: blocks that they erased are programmed from their beginning again.
    pub(crate) fn skip_erases(&mut self, ops: &[FlashOp]) {
        for op in ops.iter().filter(|op| op.kind == OpKind::Erase) {
            self.scheduler.skip_erase(op.block);
        }
    }

    /// When anything next happens on the flash or a request is next over, as far as that is known; `None` if nothing is left to do.
    pub(crate) fn next_at(&self) -> Option<u64> {
        let next = [self.scheduler.next_work_at(), self.scheduler.next_at()];
        next.into_iter().flatten().min().filter(|next| *next <= CLOCK_MAX_NS)
    }

    /// As [`Clock::renew`], and heat that was dissipated so far is in the reading.
    pub(crate) fn begin_anew(&mut self, spec: &ClockSpec, geometry: &Geometry) {
        if let Some(heat) = self.scheduler.heat_mut() {
            heat.advance(self.at);
        }
        self.renew(spec, geometry);
    }

    /// Saves or reads the clock's time and heat. See [`Clock::archive_schedule`] for the rest.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("clock.now", &mut self.at)?;
        archive.field("clock.is-over", &mut self.is_over)?;
        self.scheduler.heat_mut().map_or(Ok(()), |heat| heat.archive(archive))
    }

    /// Whether time and heat are all that there is to save, because the schedule is that of a new clock.
    pub(crate) fn is_new(&self) -> bool {
        self.scheduler.is_new() && self.scheduler.heat_kept().is_none_or(Heat::is_settled)
    }

    /// Saves or reads the schedule: what is outstanding, and what later requests depend on.
    pub(crate) fn archive_schedule(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.scheduler.archive(archive)
    }

    /// Tracks programs and erases from now on, as a power cut needs it. See [`Scheduler::track_changes`].
    ///
    /// # Panics
    /// Collection takes no time: nobody would know when its programs and erases are done.
    pub fn track_changes(&mut self) {
        assert!(!self.is_free, "a drive whose power may be cut has no collection outside time");
        self.scheduler.track_changes();
    }

    /// Number of the submitted programs and erases that are done, up to the first one that is not. See
    /// [`Scheduler::settle_changes`].
    pub fn settle_changes(&mut self) -> u64 {
        self.scheduler.settle_changes(self.at)
    }

    /// Programs and erases that were submitted so far.
    pub fn changes_seen(&self) -> u64 {
        self.scheduler.changes_seen()
    }

    /// How far the programs and erases after the settled ones are. See [`Scheduler::progress`].
    pub fn progress(&self) -> Vec<Progress> {
        self.scheduler.progress(self.at)
    }

    /// Whether the scrubber's operations so far are done.
    pub fn scrub_is_through(&self) -> bool {
        self.scheduler.outstanding_of(Task::Scrub) == 0
    }
}
