//! The clock of a timed run: requests arrive, their operations are scheduled, completions are measured.

use std::sync::atomic::{AtomicBool, Ordering};

use wane_ftl::Ftl;
use wane_nand::Flash;
use wane_sim::Stream;
use wane_ssd::{CLOCK_MAX_NS, Command, CommandKind, Latencies, Scheduler, SchedulerConfig, Timing, operation_ns_bound};
use wane_units::Geometry;
use wane_workload::{Batch, Op};

use crate::arrivals::{Arrivals, Next};
use crate::results::{Errors, Latency, Throughput, Window, WindowKind, cdf};
use crate::scenario::Arrival;

/// Days of a nanosecond.
const NS_DAYS: f64 = 1.0 / 86_400e9;

/// Windows of a timed run: when they are full, neighbors become one and later ones last twice as long.
const WINDOWS_MAX: usize = 64;

/// Requests of the first windows.
const WINDOW_REQUESTS: u64 = 1024;

/// What a clock is made of.
#[derive(Clone, Debug)]
pub struct ClockSpec {
    /// By events, else by the timeline.
    pub by_events: bool,
    /// Times of the flash.
    pub timing: Timing,
    /// Who goes first.
    pub config: SchedulerConfig,
    /// Factor of the times between a trace's requests.
    pub scale: f64,
    /// Most re-reads of a page.
    pub rereads_max: u32,
}

impl ClockSpec {
    /// A scheduler at time 0.
    ///
    /// # Errors
    /// Times or schedule contradict each other.
    pub fn scheduler(&self, geometry: &Geometry) -> Result<Scheduler, wane_ssd::ConfigError> {
        let (timing, config) = (self.timing.clone(), self.config);
        Ok(if self.by_events {
            Scheduler::Event(Box::new(wane_ssd::EventScheduler::new(geometry, timing, config)?))
        } else {
            Scheduler::Timeline(Box::new(wane_ssd::Timeline::new(geometry, timing, config)?))
        })
    }

    /// A bound of what one flash operation adds to the time until everything is done.
    fn operation_ns(&self, geometry: &Geometry) -> u64 {
        // A page that has more bytes than a number holds takes no less time for it.
        let page_bytes = u32::try_from(geometry.page_size().0).unwrap_or(u32::MAX);
        operation_ns_bound(&self.timing, &self.config, page_bytes, self.rereads_max)
    }
}

/// A stretch that is being measured.
#[derive(Clone, Debug)]
struct Stretch {
    from_ns: u64,
    at_drive_writes: f64,
    erase_count_mean: f64,
    errors_before: Option<Errors>,
    errors_after: Option<Errors>,
    until_ns: u64,
    requests: u64,
    latencies: Latencies,
}

/// Drives a scheduler with requests and keeps what they took.
pub(crate) struct Clock {
    scheduler: Scheduler,
    arrivals: Arrivals,
    scale: f64,
    /// A bound of what one flash operation adds to the time until everything is done.
    operation_ns: u64,
    /// Whether what came next would not be done by the end of the clock.
    is_over: bool,
    /// When the last request was submitted.
    at: u64,
    token: u64,
    /// Sum of all latencies, exact, for Little's law.
    latency_sum_ns: u128,
    stretches: Vec<Stretch>,
    stretch_requests: u64,
}

/// What a clock measured.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Over the whole run.
    pub latency: Latency,
    /// Over the whole run.
    pub throughput: Throughput,
    /// Its stretches.
    pub windows: Vec<Window>,
    /// Flash operations scheduled.
    pub operations: u64,
    /// Simulated nanoseconds.
    pub elapsed_ns: u64,
    /// Reads served from the controller's buffers.
    pub buffered_reads: u64,
}

/// Where the drive stands when a stretch begins or ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) drive_writes: f64,
    pub(crate) erase_count_mean: f64,
    pub(crate) errors: Option<Errors>,
}

impl Clock {
    /// A clock at time 0. The spec was checked when the run was planned.
    pub(crate) fn new(
        spec: &ClockSpec,
        geometry: &Geometry,
        arrival: Arrival,
        stream: Stream,
        standing: Standing,
    ) -> Self {
        let mut clock = Self {
            scheduler: spec.scheduler(geometry).expect("the clock was checked when the run was planned"),
            arrivals: Arrivals::new(arrival, spec.scale, 0, stream),
            scale: spec.scale,
            operation_ns: spec.operation_ns(geometry),
            is_over: false,
            at: 0,
            token: 0,
            latency_sum_ns: 0,
            stretches: Vec::new(),
            stretch_requests: WINDOW_REQUESTS,
        };
        clock.begin_stretch(standing);
        clock
    }

    /// The same, for a clock that measures one stretch.
    pub(crate) fn with_one_window(self) -> Self {
        Self { stretch_requests: u64::MAX, ..self }
    }

    /// Whether the simulated time is used up. From then on requests are neither timed nor measured.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The next phase's requests come in another way.
    pub(crate) fn change_arrivals(&mut self, arrival: Arrival, stream: Stream) {
        self.arrivals = Arrivals::new(arrival, self.scale, self.at, stream);
    }

    /// Lets time run until the request of `batch` comes; returns the day of that moment. Returns early once `stop` is true.
    pub(crate) fn arrive(&mut self, batch: &Batch, stop: &AtomicBool) -> f64 {
        match self.arrivals.next(batch.at) {
            Next::At(at) if at > CLOCK_MAX_NS => self.is_over = true,
            Next::At(at) => {
                let at = at.max(self.at);
                while self.complete(at, stop).is_some() {}
                if !stop.load(Ordering::Relaxed) {
                    self.at = at;
                }
            }
            Next::Below(depth) => {
                while self.scheduler.outstanding() >= depth
                    && let Some(at) = self.complete(u64::MAX, stop)
                {
                    self.at = at.max(self.at);
                }
            }
        }
        self.at as f64 * NS_DAYS
    }

    /// Records the next completion up to `until` and returns its time; none if there is none, or once `stop` is true.
    #[inline]
    fn complete(&mut self, until: u64, stop: &AtomicBool) -> Option<u64> {
        while self.scheduler.work(until) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
        }
        let completion = self.scheduler.next_completion(until)?;
        record(&mut self.latency_sum_ns, &mut self.stretches, completion);
        Some(completion.at)
    }

    /// Hands over what the drive did for the request. Reads that found nothing took no time and are no latency.
    pub(crate) fn submit(&mut self, ftl: &mut Ftl<Flash>, batch: &Batch, unit_bytes: u64) {
        let kind = match batch.op {
            Op::Read => CommandKind::Read,
            Op::Write => CommandKind::Write,
            Op::Trim => CommandKind::Trim,
            Op::Flush => CommandKind::Flush,
        };
        if kind == CommandKind::Read && ftl.media().ops().is_empty() {
            return;
        }
        self.submit_command(ftl, kind, batch.pages.len() as u64 * unit_bytes);
    }

    /// Hands over what the drive did on its own account.
    pub(crate) fn submit_background(&mut self, ftl: &mut Ftl<Flash>) {
        // A trim without host operations is done at once and is no latency.
        if !ftl.media().ops().is_empty() {
            self.submit_command(ftl, CommandKind::Trim, 0);
        }
    }

    /// Submits the operations that the medium has listed, or ends the clock where they would not be done in time.
    #[inline]
    fn submit_command(&mut self, ftl: &mut Ftl<Flash>, kind: CommandKind, bytes: u64) {
        let media = ftl.media_mut();
        self.is_over |= !self.scheduler.fits(self.at, media.ops().len(), self.operation_ns);
        if !self.is_over {
            self.token += 1;
            self.scheduler.submit(self.at, Command { token: self.token, kind, bytes }, media.ops());
        }
        media.clear_ops();
    }

    /// Whether the scrubber's operations so far are through.
    pub(crate) fn scrub_is_through(&self) -> bool {
        self.scheduler.outstanding_of(wane_nand::Task::Scrub) == 0
    }

    fn begin_stretch(&mut self, standing: Standing) {
        self.stretches.push(Stretch {
            from_ns: self.at,
            at_drive_writes: standing.drive_writes,
            erase_count_mean: standing.erase_count_mean,
            errors_before: standing.errors,
            errors_after: standing.errors,
            until_ns: self.at,
            requests: 0,
            latencies: Latencies::new(),
        });
    }

    /// Whether the present stretch has its requests.
    pub(crate) fn stretch_is_full(&self) -> bool {
        self.stretches.last().is_some_and(|stretch| stretch.requests >= self.stretch_requests)
    }

    /// Ends the present stretch and begins another.
    pub(crate) fn next_stretch(&mut self, standing: Standing) {
        self.end_stretch(standing);
        if self.stretches.len() == WINDOWS_MAX {
            let pairs = std::mem::take(&mut self.stretches);
            let mut pairs = pairs.into_iter();
            while let Some(mut first) = pairs.next() {
                if let Some(second) = pairs.next() {
                    first.latencies.merge(&second.latencies);
                    first.requests += second.requests;
                    first.until_ns = second.until_ns;
                    first.errors_after = second.errors_after;
                }
                self.stretches.push(first);
            }
            self.stretch_requests *= 2;
        }
        self.begin_stretch(standing);
    }

    fn end_stretch(&mut self, standing: Standing) {
        let stretch = self.stretches.last_mut().expect("a clock has a stretch");
        stretch.errors_after = standing.errors;
    }

    /// Lets everything end and says what it took. Once `stop` is true, what has not ended is left out.
    pub(crate) fn finish(mut self, standing: Standing, kind: WindowKind, stop: &AtomicBool) -> Timed {
        while !stop.load(Ordering::Relaxed) && self.complete(u64::MAX, stop).is_some() {}
        if self.scheduler.outstanding() == 0 {
            let outstanding_time_ns = self.scheduler.outstanding_time_ns();
            assert_eq!(
                self.latency_sum_ns, outstanding_time_ns,
                "Little's law: every command was seen from start to end"
            );
        }
        self.end_stretch(standing);
        let mut total = Latencies::new();
        self.stretches.iter().for_each(|stretch| total.merge(&stretch.latencies));
        let windows = self.stretches.iter().filter(|stretch| stretch.requests > 0).map(|stretch| stretch.window(kind));
        let elapsed_ns = self.stretches.iter().map(|stretch| stretch.until_ns).max().unwrap_or(0);
        Timed {
            latency: Latency::of(&total),
            throughput: Throughput::of(&total, seconds(elapsed_ns)),
            windows: windows.collect(),
            operations: self.scheduler.operations(),
            elapsed_ns,
            buffered_reads: self.scheduler.buffered_reads(),
        }
    }
}

/// Adds a completion to the present stretch.
#[inline]
fn record(latency_sum_ns: &mut u128, stretches: &mut [Stretch], completion: &wane_ssd::Completion) {
    *latency_sum_ns += u128::from(completion.latency_ns());
    let stretch = stretches.last_mut().expect("a clock has a stretch");
    stretch.latencies.record(completion);
    stretch.requests += 1;
    stretch.until_ns = completion.at;
}

/// At least a nanosecond, so that rates stay finite.
fn seconds(ns: u64) -> f64 {
    ns.max(1) as f64 / 1e9
}

impl Stretch {
    fn window(&self, kind: WindowKind) -> Window {
        let lasted = seconds(self.until_ns - self.from_ns);
        Window {
            kind,
            at_drive_writes: self.at_drive_writes,
            erase_count_mean: self.erase_count_mean,
            seconds: lasted,
            latency: Latency::of(&self.latencies),
            throughput: Throughput::of(&self.latencies, lasted),
            errors: self.errors_after.zip(self.errors_before).map(|(after, before)| after - before),
            read_cdf: cdf(&self.latencies.reads),
            write_cdf: cdf(&self.latencies.writes),
        }
    }
}
