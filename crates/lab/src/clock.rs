//! The clock of a timed run: requests arrive, their operations are scheduled, completions are measured.

use wane_ftl::Ftl;
use wane_nand::Flash;
use wane_sim::Stream;
use wane_ssd::{Command, CommandKind, Latencies, Scheduler, SchedulerConfig, Timing};
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
    pub(crate) fn new(scheduler: Scheduler, arrival: Arrival, scale: f64, stream: Stream, standing: Standing) -> Self {
        let mut clock = Self {
            scheduler,
            arrivals: Arrivals::new(arrival, scale, 0, stream),
            scale,
            at: 0,
            token: 0,
            latency_sum_ns: 0,
            stretches: Vec::new(),
            stretch_requests: WINDOW_REQUESTS,
        };
        clock.begin_stretch(standing);
        clock
    }

    /// As [`Self::new`], for a clock that measures one stretch.
    pub(crate) fn one_window(
        scheduler: Scheduler,
        arrival: Arrival,
        scale: f64,
        stream: Stream,
        standing: Standing,
    ) -> Self {
        Self { stretch_requests: u64::MAX, ..Self::new(scheduler, arrival, scale, stream, standing) }
    }

    /// The next phase's requests come in another way.
    pub(crate) fn change_arrivals(&mut self, arrival: Arrival, stream: Stream) {
        self.arrivals = Arrivals::new(arrival, self.scale, self.at, stream);
    }

    /// Lets time run until the request of `batch` comes; returns the day of that moment.
    pub(crate) fn arrive(&mut self, batch: &Batch) -> f64 {
        match self.arrivals.next(batch.at) {
            Next::At(at) => {
                self.at = at.max(self.at);
                while let Some(completion) = self.scheduler.next_completion(self.at) {
                    record(&mut self.latency_sum_ns, &mut self.stretches, completion);
                }
            }
            Next::Below(depth) => {
                while self.scheduler.outstanding() >= depth {
                    let Some(completion) = self.scheduler.next_completion(u64::MAX) else { break };
                    self.at = completion.at.max(self.at);
                    record(&mut self.latency_sum_ns, &mut self.stretches, completion);
                }
            }
        }
        self.at as f64 * NS_DAYS
    }

    /// Hands over what the drive did for the request. Reads that found nothing took no time and are no latency.
    pub(crate) fn submit(&mut self, ftl: &mut Ftl<Flash>, batch: &Batch, unit_bytes: u64) {
        let kind = match batch.op {
            Op::Read => CommandKind::Read,
            Op::Write => CommandKind::Write,
            Op::Trim => CommandKind::Trim,
            Op::Flush => CommandKind::Flush,
        };
        let media = ftl.media_mut();
        if kind == CommandKind::Read && media.ops().is_empty() {
            return;
        }
        self.token += 1;
        let command = Command { token: self.token, kind, bytes: batch.pages.len() as u64 * unit_bytes };
        self.scheduler.submit(self.at, command, media.ops());
        media.clear_ops();
    }

    /// Hands over what the drive did on its own account.
    pub(crate) fn submit_background(&mut self, ftl: &mut Ftl<Flash>) {
        let media = ftl.media_mut();
        if media.ops().is_empty() {
            return;
        }
        self.token += 1;
        // A trim without host operations is done at once and is no latency.
        let command = Command { token: self.token, kind: CommandKind::Trim, bytes: 0 };
        self.scheduler.submit(self.at, command, media.ops());
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

    /// Lets everything end and says what it took.
    pub(crate) fn finish(mut self, standing: Standing, kind: WindowKind) -> Timed {
        while let Some(completion) = self.scheduler.next_completion(u64::MAX) {
            record(&mut self.latency_sum_ns, &mut self.stretches, completion);
        }
        let outstanding_time_ns = self.scheduler.outstanding_time_ns();
        assert_eq!(self.latency_sum_ns, outstanding_time_ns, "Little's law: every command was seen from start to end");
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
