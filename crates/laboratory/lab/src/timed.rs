//! Requests of a timed drive: when they arrive, and their latencies in the form of results.
//!
//! `ssd` records raw latencies; this module makes figures, means and distributions of them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::AtomicBool;

use wane_blockdev::Until;
use wane_sim::Stream;
use wane_ssd::{
    BreakdownSum, ClockSpec, CommandKind, Completion, HeatReading, Histogram, Latencies, MeasuredWindow, Meter, Parts,
    RequestId,
};
use wane_units::SimTime;
use wane_workload::{Arrival, Arrivals, Batch, Next, Op, OperationKind};

use crate::below::Below;
use crate::operations::Operations;

use wane_results::{
    BreakdownMeans, Errors, Latency, LatencyByGc, LatencyDistribution, LatencyFigures, OVERLOADED, OpThroughput,
    OperationFigures, OperationLatency, Thermal, Throughput, Window, WindowKind,
};

/// Most points of a distribution that are kept.
const CDF_POINTS_MAX: usize = 200;

/// The state of the drive when a window begins or ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) drive_writes: f64,
    pub(crate) erase_count_mean: f64,
    /// Share of the rated wear, where a probe went by it.
    pub(crate) life_used: Option<f64>,
    pub(crate) errors: Option<Errors>,
    pub(crate) heat: Option<HeatReading>,
}

/// Arrivals of requests by a drive's clock, and their latencies.
#[derive(Clone)]
pub(crate) struct Requests {
    meter: Meter<Standing>,
    arrivals: Arrivals,
    /// The arrival of the next request, if it is drawn but not reached.
    next: Option<Next>,
    /// Factor of the times between a trace's requests.
    scale: f64,
    /// Bytes of a mapping unit.
    unit_bytes: u64,
    waiting: Waiting,
    operations: Operations,
    /// Reading of the drive's heat at the start.
    heat: Option<HeatReading>,
    /// Requests that came at times of their own, whatever the drive was doing.
    open: OpenLoop,
    /// The number at the drive that the next request has at least.
    next_token: u64,
}

/// Arrivals of an open loop so far.
#[derive(Clone, Copy, Debug, Default)]
struct OpenLoop {
    requests: u64,
    outstanding: u64,
    /// Number of requests when one last came while none was outstanding: the drive had caught up.
    caught_up: u64,
    from: u64,
    until: u64,
}

/// Least requests of an open loop for a warning that the drive does not keep up.
const OVERLOAD_REQUESTS: u64 = 1_000;
/// Least requests that are outstanding when the last one comes.
const OVERLOAD_OUTSTANDING: u64 = 100;

impl OpenLoop {
    fn came(&mut self, at: u64) {
        if self.requests == 0 {
            self.from = at;
        }
        if self.outstanding == 0 {
            self.caught_up = self.requests;
        }
        (self.requests, self.until) = (self.requests + 1, at);
    }

    /// What to say if requests came faster than the drive served them, so that it has not caught up since the first half of them: the last
    /// was done at `done`. A burst that the drive works off is none.
    fn overload(self, done: u64) -> Option<String> {
        let (span, late) = ((self.until - self.from) as f64, done.saturating_sub(self.until) as f64);
        let is_behind = self.outstanding >= OVERLOAD_OUTSTANDING && 2 * self.caught_up < self.requests;
        if self.requests < OVERLOAD_REQUESTS || !is_behind {
            return None;
        }
        let rate = |nanos: f64| self.requests as f64 / seconds(nanos.max(1.0) as u64);
        Some(format!(
            "{OVERLOADED}: {:.0} requests a second came and {:.0} a second were done, the last {:.3} s after it came; latencies grow \
             with the length of the run and say nothing about the drive (workload.arrival)",
            rate(span),
            rate(span + late),
            late / 1e9,
        ))
    }
}

/// The last requests, as far back as a source may refer to them.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// Whether a source refers to earlier requests. Otherwise nothing is kept.
    is_on: bool,
    /// The last requests, the newest last, each with its number at the drive; `None` for a request that took no time.
    recent: VecDeque<Option<u64>>,
    /// Requests that are not done, by their numbers at the drive.
    open: BTreeSet<u64>,
}

/// Number of requests back that one may wait for. Earlier ones count as done.
const LOOKS_BACK: usize = 4096;

impl Waiting {
    /// The number of the request `after` back, if it is not done.
    fn of(&self, after: u64) -> Option<u64> {
        let back = usize::try_from(after).ok().filter(|back| (1..=self.recent.len()).contains(back))?;
        self.recent[self.recent.len() - back].filter(|request| self.open.contains(request))
    }

    fn submitted(&mut self, request: Option<u64>) {
        if self.is_on {
            self.open.extend(request);
            self.recent.push_back(request);
            if self.recent.len() > LOOKS_BACK {
                self.recent.pop_front();
            }
        }
    }

    fn done(&mut self, request: u64) {
        if self.is_on {
            self.open.remove(&request);
        }
    }
}

impl Requests {
    /// Makes the requests for a device whose time is `from` nanoseconds.
    pub(crate) fn new(spec: &TimedSpec, (arrival, stream): (Arrival, Stream), standing: Standing, from: u64) -> Self {
        Self {
            meter: Meter::new(from, standing),
            arrivals: Arrivals::new(arrival, spec.scale, from, stream),
            next: None,
            scale: spec.scale,
            unit_bytes: spec.unit_bytes,
            waiting: Waiting { is_on: spec.looks_back, ..Waiting::default() },
            operations: Operations::default(),
            heat: standing.heat,
            open: OpenLoop::default(),
            next_token: 0,
        }
    }

    /// The same, for one window.
    pub(crate) fn with_one_window(self) -> Self {
        Self { meter: self.meter.with_one_window(), ..self }
    }

    /// Begins a phase: changes the arrivals, and ends the window of the phase before.
    pub(crate) fn begin_phase(&mut self, device: &mut Below, standing: Standing, (arrival, stream): (Arrival, Stream)) {
        let now = device.at().0;
        self.meter.begin_phase(now, standing, self.next_token);
        self.change_arrivals(device, (arrival, stream));
    }

    /// Changes the arrivals.
    pub(crate) fn change_arrivals(&mut self, device: &mut Below, (arrival, stream): (Arrival, Stream)) {
        let now = device.at().0;
        (self.arrivals, self.next) = (Arrivals::new(arrival, self.scale, now, stream), None);
        self.operations.begin_phase();
    }

    /// Lets time run until the request of `batch` arrives, by `until_ns` at the latest. Returns false if it did not arrive by then, and
    /// early once `stop` is true.
    #[inline]
    pub(crate) fn arrive(&mut self, device: &mut Below, batch: &Batch, until_ns: u64, stop: &AtomicBool) -> bool {
        if !batch.milestones.is_empty() && !self.operations.is_told {
            self.tell(device, batch);
        }
        if batch.after > 0 && !self.wait_for(device, batch.after, until_ns, stop) {
            return false;
        }
        let Self { meter, arrivals, next, waiting, operations, open, .. } = self;
        let when = next.take().unwrap_or_else(|| arrivals.next(batch.at));
        let each = &mut |completion: &Completion| {
            meter.record(completion);
            waiting.done(completion.token);
            operations.done(completion, meter);
            open.outstanding = open.outstanding.saturating_sub(1);
        };
        let by = SimTime(until_ns);
        match when {
            Next::At(at) if at > until_ns => {
                device.run(Until::At(by), stop, each);
                *next = Some(when);
                return false;
            }
            Next::At(at) => {
                device.run(Until::At(SimTime(at)), stop, each);
                open.came(at);
            }
            Next::Below(depth) => {
                if !device.run(Until::Below(depth, by), stop, each) {
                    *next = Some(when);
                    return false;
                }
            }
        }
        true
    }

    /// Processes the beginnings and ends of operations before the request of `batch`.
    #[cold]
    fn tell(&mut self, device: &mut Below, batch: &Batch) {
        let Self { meter, waiting, operations, .. } = self;
        operations.tell(&batch.milestones, device.at().0, &|after| waiting.of(after), meter);
    }

    /// Lets time run until the request `after` back is done, by `until_ns` at the latest. Returns false if it was not done by then.
    #[cold]
    fn wait_for(&mut self, device: &mut Below, after: u64, until_ns: u64, stop: &AtomicBool) -> bool {
        let Self { meter, waiting, operations, open, .. } = self;
        let Some(request) = waiting.of(after) else { return true };
        let each = &mut |completion: &Completion| {
            meter.record(completion);
            waiting.done(completion.token);
            operations.done(completion, meter);
            open.outstanding = open.outstanding.saturating_sub(1);
        };
        device.run(Until::Done(RequestId(request), SimTime(until_ns)), stop, each)
    }

    /// Submits what the device did for the request.
    #[inline]
    pub(crate) fn submit(&mut self, device: &mut Below, batch: &Batch) {
        let kind = match batch.op {
            Op::Read => CommandKind::Read,
            Op::Write => CommandKind::Write,
            Op::Trim => CommandKind::Trim,
            Op::Flush => CommandKind::Flush,
        };
        let now = device.at().0;
        let request = device.close(kind, batch.pages.len() as u64 * self.unit_bytes);
        self.operations.came(now);
        self.next_token = request.map_or(self.next_token, |request| request.0 + 1);
        self.open.outstanding += u64::from(request.is_some());
        self.waiting.submitted(request.map(|request| request.0));
    }

    pub(crate) fn window_is_full(&self) -> bool {
        self.meter.window_is_full()
    }

    pub(crate) fn next_window(&mut self, device: &mut Below, standing: Standing) {
        self.meter.next_window(device.at().0, standing);
    }

    /// Notes that garbage collection begins; latencies from now on are recorded separately.
    pub(crate) fn begin_gc(&mut self, device: &mut Below, standing: Standing) {
        self.meter.begin_part(device.at().0, standing);
    }

    /// Lets all requests end and returns their figures. Once `stop` is true, those that have not ended are left out.
    pub(crate) fn finish(self, device: &mut Below, standing: Standing, kind: WindowKind, stop: &AtomicBool) -> Timed {
        let Self { mut meter, mut operations, heat, open, .. } = self;
        let mut done = 0;
        device.run(Until::Idle, stop, &mut |completion| {
            done = completion.at;
            meter.record(completion);
            operations.done(completion, &mut meter);
        });
        let ended = device.heat();
        let timed = meter.finish(device.ran(), standing);
        Timed {
            latency: latency(&timed.latencies, seconds(timed.elapsed_ns)),
            throughput: throughput(&timed.latencies, seconds(timed.elapsed_ns)),
            thermal: heat.zip(ended).map(|(before, after)| thermal(&before, &after)),
            windows: timed.windows.iter().map(|measured| window(measured, kind)).collect(),
            overload: open.overload(done),
            by_gc: timed.parts.as_ref().map(|parts| by_gc(parts, timed.elapsed_ns)),
            operations: timed.operations,
            elapsed_ns: timed.elapsed_ns,
            buffered_reads: timed.buffered_reads,
            reads_around: timed.reads_around,
        }
    }
}

/// The spec of timed requests.
#[derive(Clone, Debug)]
pub struct TimedSpec {
    /// The clock of each drive, in order.
    pub clocks: Vec<ClockSpec>,
    /// Factor of the times between a trace's requests.
    pub scale: f64,
    /// Bytes of a mapping unit.
    pub unit_bytes: u64,
    /// Whether some requests wait for others to be done.
    pub looks_back: bool,
}

/// The figures of timed requests.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    /// Latencies over the whole run.
    pub(crate) latency: Latency,
    /// Throughput over the whole run.
    pub(crate) throughput: Throughput,
    /// Latencies before and after garbage collection began, if it began in the run.
    pub(crate) by_gc: Option<LatencyByGc>,
    /// Temperature of the drive.
    pub(crate) thermal: Option<Thermal>,
    /// A sentence that requests came faster than they were served, if they did.
    pub(crate) overload: Option<String>,
    /// Its windows.
    pub(crate) windows: Vec<Window>,
    /// Flash operations scheduled.
    pub(crate) operations: u64,
    /// Simulated nanoseconds.
    pub(crate) elapsed_ns: u64,
    /// Reads served from the controller's buffers.
    pub(crate) buffered_reads: u64,
    /// Reads that went to the rest of their stripe.
    pub(crate) reads_around: u64,
}

/// At least a nanosecond, so that rates stay finite.
fn seconds(ns: u64) -> f64 {
    ns.max(1) as f64 / 1e9
}

fn window(measured: &MeasuredWindow<Standing>, kind: WindowKind) -> Window {
    let lasted = seconds(measured.until_ns - measured.from_ns);
    let (from, until) = (&measured.from, &measured.until);
    Window {
        kind,
        phase: measured.phase,
        at_drive_writes: from.drive_writes,
        at_days: None,
        erase_count_mean: from.erase_count_mean,
        life_used: from.life_used,
        seconds: lasted,
        latency: latency(&measured.latencies, lasted),
        throughput: throughput(&measured.latencies, lasted),
        errors: until.errors.zip(from.errors).map(|(after, before)| after - before),
        thermal: from.heat.zip(until.heat).map(|(before, after)| thermal(&before, &after)),
        read_cdf: cdf(&measured.latencies.reads),
        write_cdf: cdf(&measured.latencies.writes),
    }
}

/// The temperature between two readings.
fn thermal(before: &HeatReading, after: &HeatReading) -> Thermal {
    let ns = after.at_ns.saturating_sub(before.at_ns);
    let lasted = seconds(ns);
    // If no time passed, the means are the present values.
    let of = |share: f64, else_it_is: f64| if ns == 0 { else_it_is } else { share / lasted };
    Thermal {
        celsius_end: after.celsius,
        celsius_mean: of(after.celsius_seconds - before.celsius_seconds, after.celsius),
        watts_mean: of(after.joules - before.joules, 0.0),
        throttled_share: of((after.throttled_ns - before.throttled_ns) as f64 / 1e9, 0.0),
    }
}

fn by_gc(parts: &Parts<Standing>, elapsed_ns: u64) -> LatencyByGc {
    LatencyByGc {
        began_at_drive_writes: parts.at.drive_writes,
        before: latency(&parts.before, seconds(parts.at_ns)),
        since: latency(&parts.since, seconds(elapsed_ns.saturating_sub(parts.at_ns))),
    }
}

/// Figures of the latencies recorded in `seconds`, more than 0.
fn latency(latencies: &Latencies, seconds: f64) -> Latency {
    Latency {
        read: figures(&latencies.reads, &latencies.read_breakdown),
        write: figures(&latencies.writes, &latencies.write_breakdown),
        operations: operations(&latencies.operations, seconds),
    }
}

fn figures(histogram: &Histogram, breakdown: &BreakdownSum) -> Option<LatencyFigures> {
    let at = |percent: f64| histogram.percentile_ns(percent);
    let parts: u128 = breakdown.totals().parts().iter().map(|(_, ns)| ns).sum();
    assert_eq!(parts, histogram.sum_ns(), "the parts of all latencies add up to them");
    assert!(
        wane_ssd::PERCENTILES.is_sorted_by_key(|percent| at(*percent)),
        "a higher percentile is no shorter latency"
    );
    (histogram.count() > 0)
        .then(|| LatencyFigures { times: times(histogram), breakdown_ns: means(breakdown, histogram.count()) })
}

pub(crate) fn times(histogram: &Histogram) -> LatencyDistribution {
    let at = |percent: f64| histogram.percentile_ns(percent);
    LatencyDistribution {
        count: histogram.count(),
        mean_ns: histogram.mean_ns(),
        p50_ns: at(50.0),
        p75_ns: at(75.0),
        p90_ns: at(90.0),
        p95_ns: at(95.0),
        p99_ns: at(99.0),
        p999_ns: at(99.9),
        p9999_ns: at(99.99),
        max_ns: histogram.max_ns(),
    }
}

/// Figures of a key-value store's operations by kind, in the order of [`OperationKind::ALL`]; `None` if there were none.
fn operations(histograms: &[Histogram], seconds: f64) -> Option<OperationLatency> {
    let mut all = Histogram::new();
    histograms.iter().for_each(|histogram| all.merge(histogram));
    let figures = |histogram: &Histogram| {
        (histogram.count() > 0)
            .then(|| OperationFigures { times: times(histogram), per_second: histogram.count() as f64 / seconds })
    };
    let of = |kind: OperationKind| histograms.get(kind as usize).and_then(figures);
    Some(OperationLatency {
        all: figures(&all)?,
        read: of(OperationKind::Read),
        update: of(OperationKind::Update),
        insert: of(OperationKind::Insert),
        scan: of(OperationKind::Scan),
        read_modify_write: of(OperationKind::ReadModifyWrite),
    })
}

fn means(sums: &BreakdownSum, count: u64) -> BreakdownMeans {
    let totals = sums.totals();
    let mean = |sum_ns: u128| sum_ns as f64 / count as f64;
    BreakdownMeans {
        behind_host: mean(totals.host_ns),
        behind_gc: mean(totals.gc_ns),
        behind_scrub: mean(totals.scrub_ns),
        behind_wear_leveling: mean(totals.wear_leveling_ns),
        sensing: mean(totals.sensing_ns),
        rereads: mean(totals.rereads_ns),
        recovery: mean(totals.recovery_ns),
        transfer: mean(totals.transfer_ns),
        thinking: mean(totals.think_ns),
        programming: mean(totals.program_ns),
        cache: mean(totals.cache_ns),
        dependencies: mean(totals.dependency_ns),
        link: mean(totals.link_ns),
    }
}

/// Throughput of the requests recorded in `seconds`, more than 0.
fn throughput(latencies: &Latencies, seconds: f64) -> Throughput {
    let rate = |count: u64, bytes: u64| OpThroughput {
        iops: count as f64 / seconds,
        bytes_per_second: bytes as f64 / seconds,
    };
    Throughput {
        read: rate(latencies.reads.count(), latencies.bytes_read),
        write: rate(latencies.writes.count(), latencies.bytes_written),
    }
}

/// Points of a distribution, at most [`CDF_POINTS_MAX`]: always its ends, and more points in a long tail.
fn cdf(histogram: &Histogram) -> Vec<(u64, f64)> {
    let points = histogram.points();
    if points.len() <= CDF_POINTS_MAX {
        return points;
    }
    // Even steps of -log10(1 - share) cover p50, p99 and p99.99 equally well.
    let depth = |share: f64| -libm::log10((1.0 - share).max(1e-7));
    let step = 7.0 / CDF_POINTS_MAX as f64;
    let mut kept: Vec<(u64, f64)> = Vec::new();
    let mut next = 0.0;
    let last = points.len() - 1;
    for (index, (latency, share)) in points.into_iter().enumerate() {
        if index == 0 || index == last || depth(share) >= next {
            next = depth(share) + step;
            kept.push((latency, share));
        }
    }
    assert!(kept.last().is_some_and(|(_, share)| *share == 1.0), "the longest latency is the last point");
    kept
}
