//! Observes a run besides its aging: errors, time and probes. A run that only ages has no observer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wane_nand::Cells;
use wane_sim::{Stream, Streams};
use wane_ssd::Drive;
use wane_units::BlockId;
use wane_workload::{Arrival, Batch, Source, SourceError};

use crate::ahead::Ahead;
use crate::below::Below;
use crate::host::{Addresses, Ended, Halt, Host};
use crate::record::Recorded;
use crate::run::cannot_go_on;
use crate::sources::SourceMaker;
use crate::timed::{Requests, Standing, Timed, TimedSpec};
use wane_results::{Errors, Latency, LatencyByGc, Thermal, Throughput, Window, WindowKind};

/// The past that a drive gets when counting starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past {
    /// Days since its data were written: the ends of a range from which each block's are drawn uniformly.
    pub retention_days: Option<(f64, f64)>,
    /// Reads of each block since its erase.
    pub reads: u32,
}

/// When probes are due; ascending.
#[derive(Clone, Debug)]
pub enum Due {
    /// Host units written.
    Units(Vec<u64>),
    /// Shares of the rated wear ([`Drive::life_used`]).
    Wear(Vec<f64>),
}

impl Due {
    fn is_rising(&self) -> bool {
        match self {
            Self::Units(units) => units.is_sorted(),
            Self::Wear(shares) => shares.is_sorted(),
        }
    }

    /// Whether probe `number` is due on a drive that has lived `lived` host units. A dead drive is not looked at for its wear: it reached it
    /// alive, or never did.
    fn is_now(&self, number: usize, drive: &Drive, lived: u64) -> bool {
        match self {
            Self::Units(units) => units.get(number).is_some_and(|due| *due <= lived),
            Self::Wear(shares) => shares.get(number).is_some_and(|share| {
                drive.end_of_life().is_none() && drive.life_used().is_some_and(|used| used >= *share)
            }),
        }
    }
}

/// The probes: timed windows on copies of the drive.
pub struct ProbeSpec {
    /// When they are due.
    pub due: Due,
    /// Whether one more looks at the drive as it was just before it died.
    pub at_end_of_life: bool,
    /// Makes the requests of the next probe, which are the same for each.
    pub sources: SourceMaker,
    /// For each phase, whether a probe continues from the present state of its source instead. A key-value store does, since its tables lie on the drive.
    pub goes_on: Vec<bool>,
    /// When requests come.
    pub arrival: Arrival,
    /// Number of requests.
    pub requests: u64,
    /// Days without power before a probe.
    pub retention_days: f64,
}

/// Everything that is observed besides aging.
pub struct ObserverSpec {
    /// The past of the drive's data.
    pub past: Past,
    /// Days that a host unit's write takes in untimed aging; 0 without a calendar.
    pub days_per_unit: f64,
    /// The clock, if the run itself is timed or has probes.
    pub clock: Option<TimedSpec>,
    /// Arrivals of each phase.
    pub arrivals: Vec<Arrival>,
    /// Windows of an untimed life.
    pub probe: Option<ProbeSpec>,
    /// Whether the life has only erase counts, since it is fast-forwarded. Its probes find all data as just written.
    pub only_wears: bool,
    /// Random streams.
    pub streams: Streams,
}

impl ObserverSpec {
    /// Makes an independent copy.
    pub(crate) fn another(&self) -> Self {
        let probe = |probe: &ProbeSpec| ProbeSpec {
            due: probe.due.clone(),
            at_end_of_life: probe.at_end_of_life,
            sources: probe.sources.another(),
            goes_on: probe.goes_on.clone(),
            arrival: probe.arrival,
            requests: probe.requests,
            retention_days: probe.retention_days,
        };
        Self {
            past: self.past,
            days_per_unit: self.days_per_unit,
            clock: self.clock.clone(),
            arrivals: self.arrivals.clone(),
            probe: self.probe.as_ref().map(probe),
            only_wears: self.only_wears,
            streams: self.streams,
        }
    }
}

/// The state of a run's requests between two of them.
pub(crate) struct Present<'a> {
    phase: usize,
    source: &'a dyn Source,
    /// Requests that were drawn but not served.
    ahead: &'a Ahead,
}

impl<'a> Present<'a> {
    /// The state of phase `phase`, whose next requests come from `ahead` and then from `source`.
    pub(crate) fn new(phase: usize, source: &'a dyn Source, ahead: &'a Ahead) -> Self {
        Self { phase, source, ahead }
    }
}

/// What an observed run measured.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Latencies over the run, or over its last window if only windows are timed.
    pub latency: Option<Latency>,
    /// Throughput, likewise.
    pub throughput: Option<Throughput>,
    /// Latencies before and after garbage collection began, if it began in the run.
    pub latency_by_gc: Option<LatencyByGc>,
    /// Temperature of the drive over the same time as `latency`.
    pub thermal: Option<Thermal>,
    /// Windows, in order.
    pub windows: Vec<Window>,
    /// Errors since counting started, without those of probes.
    pub errors: Option<Errors>,
    /// Codewords of first reads in the main run by their number of raw bit errors; the last entry counts all with more.
    pub error_histogram: Option<Vec<u64>>,
    /// Flash operations scheduled.
    pub operations: u64,
    /// Simulated nanoseconds.
    pub elapsed_ns: u64,
    /// Reads served from the controller's buffers.
    pub buffered_reads: u64,
    /// Reads that went to the rest of their stripe.
    pub reads_around: u64,
    /// Notes on the requests of probes, in sentences.
    pub notes: Vec<String>,
    /// Most reads of a block since its erase, and most days since data was written, at the end.
    pub oldest: (u32, f64),
}

/// See [`ObserverSpec`].
pub(crate) struct Observer {
    spec: ObserverSpec,
    requests: Option<Requests>,
    kind: WindowKind,
    errors_at_start: Option<Errors>,
    life: Lived,
    /// Blocks collected by the start of counting, until another one is collected.
    victims_before: Option<u64>,
    probed: Vec<Timed>,
    /// Notes on the requests of probes.
    notes: Vec<String>,
    next_probe: usize,
    /// The drive as it was lately, if it is looked at when it has died: the older and the newer.
    lately: [Option<Arc<Mutex<Lately>>>; 2],
    /// Host units of the life at the last window.
    window_at: u64,
    /// Host units of the life from which it is kept anew.
    keep_from: u64,
    /// Wear when counting started.
    used_at_start: f64,
}

/// A drive that may be about to die, and what a probe of it needs; copies of the run share it. Each is kept for the next 200th of the life, or
/// an eighth of a drive write, which bounds what the copies cost. Two are kept, so that the older one has as much left to live.
struct Lately {
    drive: Drive,
    life: Lived,
    lived: u64,
    source: Option<Box<dyn Source>>,
    ahead: Ahead,
}

/// The least way to a probe by wear that a projection goes at once, in parts of a drive write.
const STEPS_OF_PROJECTION: u64 = 100;

/// Share of the life after which the drive is kept anew, in parts.
const KEPT_FOR: u64 = 200;
/// The least, in parts of a drive write.
const KEPT_FOR_LEAST: u64 = 8;

/// Returns for how many units a copy of a device serves. The device has lived `lived` units; `drive_write` are its units.
pub(crate) fn kept_for(lived: u64, drive_write: u64) -> u64 {
    (lived / KEPT_FOR).max(drive_write.div_ceil(KEPT_FOR_LEAST))
}

/// Host units of a drive's life so far.
#[derive(Clone, Copy, Debug, Default)]
struct Lived {
    /// Units that were written when counting started.
    at_start: u64,
    /// Units that were predicted since, instead of written.
    predicted: u64,
}

/// Whole units that the host's written bytes would fill, since the drive was new.
fn filled(drive: &Drive) -> u64 {
    drive.counters().host_units_filled(u64::from(drive.unit_bytes()))
}

impl Lived {
    /// The standing of a drive with this life.
    fn standing(self, drive: &Drive) -> Standing {
        let (counts, written) = (drive.erase_counts(), filled(drive) - self.at_start);
        Standing {
            drive_writes: (written + self.predicted) as f64 / f64::from(drive.logical_initial()),
            erase_count_mean: counts.iter().map(|count| f64::from(*count)).sum::<f64>() / counts.len() as f64,
            life_used: None,
            errors: errors(drive),
            heat: drive.clock().and_then(wane_ssd::Clock::heat),
        }
    }
}

impl Observer {
    /// Makes an observer that has seen nothing yet.
    pub(crate) fn new(spec: ObserverSpec) -> Self {
        assert!(
            spec.probe.as_ref().is_none_or(|probe| probe.due.is_rising()),
            "probes stand in the order in which they are due"
        );
        Self {
            spec,
            requests: None,
            kind: WindowKind::Run,
            errors_at_start: None,
            life: Lived::default(),
            victims_before: None,
            probed: Vec::new(),
            notes: Vec::new(),
            next_probe: 0,
            lately: [None, None],
            window_at: 0,
            keep_from: 0,
            used_at_start: 0.0,
        }
    }

    /// Makes an independent copy.
    pub(crate) fn another(&self) -> Self {
        Self {
            spec: self.spec.another(),
            requests: self.requests.clone(),
            kind: self.kind,
            errors_at_start: self.errors_at_start,
            life: self.life,
            victims_before: self.victims_before,
            probed: self.probed.clone(),
            notes: self.notes.clone(),
            next_probe: self.next_probe,
            lately: self.lately.clone(),
            window_at: self.window_at,
            keep_from: self.keep_from,
            used_at_start: self.used_at_start,
        }
    }

    fn stream(&self, name: &str) -> Stream {
        self.spec.streams.stream(name)
    }

    /// Whether the run itself is timed, and not only its probes.
    fn times_the_run(&self) -> bool {
        self.spec.clock.is_some() && self.spec.probe.is_none()
    }

    /// Whether requests between probes need not be observed one by one.
    pub(crate) fn only_wears(&self) -> bool {
        self.spec.only_wears
    }

    /// Notes that `units` host units were predicted instead of written.
    pub(crate) fn predict(&mut self, units: u64) {
        self.life.predicted += units;
    }

    /// Host units of the life, `lived` by now, at which the next probe is due. Where wear decides they are projected by its pace so far.
    pub(crate) fn probe_due(&self, drive: &Drive, lived: u64) -> Option<u64> {
        match &self.spec.probe.as_ref()?.due {
            Due::Units(units) => units.get(self.next_probe).copied(),
            Due::Wear(shares) => {
                let left = shares.get(self.next_probe)? - drive.life_used()?;
                let pace = (drive.life_used()? - self.used_at_start) / lived.max(1) as f64;
                let drive_write = u64::from(drive.logical_initial());
                let units = if pace > 0.0 { (left / pace).ceil() as u64 } else { drive_write };
                Some(lived.saturating_add(units.max(drive_write.div_ceil(STEPS_OF_PROJECTION))))
            }
        }
    }

    /// Whether the requests of a phase arrive at the times of their trace.
    pub(crate) fn replays_times(&self, phase: usize) -> bool {
        self.requests.is_some() && self.spec.arrivals[phase] == Arrival::Trace
    }

    /// Notes that counting starts.
    pub(crate) fn start(&mut self, drive: &mut Drive) {
        self.used_at_start = drive.life_used().unwrap_or(0.0);
        if self.spec.only_wears {
            self.life.at_start = filled(drive);
            return;
        }
        drive.keep_detail(true);
        let Past { retention_days, reads } = self.spec.past;
        if retention_days.is_some() || reads > 0 {
            let (least, most) = retention_days.unwrap_or_default();
            let mut stream = self.stream("retention");
            drive.set_past(|_| (least + (most - least) * stream.unit(), reads));
        }
        self.errors_at_start = errors(drive);
        self.life.at_start = filled(drive);
        if self.times_the_run()
            && let Some(spec) = &self.spec.clock
        {
            drive.start_clock(&spec.clock).expect("the clock was checked when the run was planned");
            self.victims_before = Some(drive.counters().gc_victims);
            let arrivals = (self.spec.arrivals[0], self.stream("arrivals.0"));
            self.requests = Some(Requests::new(spec, arrivals, self.life.standing(drive)));
        }
    }

    /// Notes that a phase begins.
    pub(crate) fn begin_phase(&mut self, host: &mut Host, number: usize) {
        let arrivals = (self.spec.arrivals[number], self.stream(&format!("arrivals.{number}")));
        match &mut self.requests {
            Some(requests) if number == 0 => requests.change_arrivals(host.device(), arrivals),
            Some(requests) => {
                let standing = self.life.standing(host.drive());
                requests.begin_phase(host.device(), standing, arrivals);
            }
            None => {}
        }
    }

    /// Lets time run until a request arrives, by `until_ns` at the latest. Returns false if it did not arrive by then; call again. Once
    /// `stop` is true, it must not be served any more.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        host: &mut Host,
        batch: &Batch,
        written: u64,
        until_ns: u64,
        stop: &AtomicBool,
    ) -> bool {
        match &mut self.requests {
            Some(requests) => {
                if !requests.arrive(host.device(), batch, until_ns, stop) {
                    return false;
                }
            }
            None => host.drive_mut().set_day(written as f64 * self.spec.days_per_unit),
        }
        if host.drive().may_fail() {
            let drive = host.drive_mut();
            drive.set_drive_writes(written as f64 / f64::from(drive.logical_initial()));
        }
        true
    }

    /// Notes that a request has been served.
    #[inline]
    pub(crate) fn served(&mut self, host: &mut Host, batch: &Batch) {
        let Some(requests) = &mut self.requests else { return };
        requests.submit(host.device(), batch);
        if self.victims_before.is_some_and(|before| host.counters().gc_victims > before) {
            self.victims_before = None;
            let standing = self.life.standing(host.drive());
            requests.begin_gc(host.device(), standing);
        }
        if requests.window_is_full() {
            let standing = self.life.standing(host.drive());
            requests.next_window(host.device(), standing);
        }
    }

    /// Makes the probes that are due, until `stop` is true.
    ///
    /// # Errors
    /// The trace of a probe is damaged.
    #[inline]
    pub(crate) fn probe_if_due(
        &mut self,
        drive: &Drive,
        present: Option<&Present<'_>>,
        written: u64,
        stop: &Arc<AtomicBool>,
    ) -> Result<(), SourceError> {
        if self.spec.probe.is_none() { Ok(()) } else { self.probe(drive, present, written, stop) }
    }

    fn probe(
        &mut self,
        drive: &Drive,
        present: Option<&Present<'_>>,
        written: u64,
        stop: &Arc<AtomicBool>,
    ) -> Result<(), SourceError> {
        let lived = written + self.life.predicted;
        let opened = self.next_probe;
        while let Some(probe) = &self.spec.probe
            && probe.due.is_now(self.next_probe, drive, lived)
            && !stop.load(Ordering::Relaxed)
        {
            let (source, ahead) = self.requests_of_probe(present)?;
            self.open_window(drive.clone(), source, ahead, (self.life, lived), stop)?;
            self.next_probe += 1;
        }
        if opened < self.next_probe {
            (self.window_at, self.keep_from) = (lived, 0);
        }
        let looks_back = self.spec.probe.as_ref().is_some_and(|probe| probe.at_end_of_life);
        if looks_back && lived >= self.keep_from && drive.end_of_life().is_none() {
            let (source, ahead) = self.requests_of_probe(present)?;
            let lately = Lately { drive: drive.clone(), life: self.life, lived, source, ahead };
            let older = self.lately[1].take();
            self.lately = [older, Some(Arc::new(Mutex::new(lately)))];
            let drive_write = u64::from(drive.logical_initial());
            self.keep_from = lived + kept_for(lived, drive_write);
        }
        Ok(())
    }

    /// Notes that the drive has died, and looks at it as it was just before if that is asked for.
    ///
    /// # Errors
    /// The trace of the probe is damaged.
    pub(crate) fn probe_the_dead(&mut self, stop: &Arc<AtomicBool>) -> Result<(), SourceError> {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        // The newer one may be about to die at once. Windows come in the order of their ages.
        let kept = std::mem::take(&mut self.lately).into_iter().flatten().collect::<Vec<_>>();
        let is_in_order =
            |kept: &Arc<Mutex<Lately>>| kept.lock().unwrap_or_else(PoisonError::into_inner).lived >= self.window_at;
        let Some(lately) = kept.into_iter().find(is_in_order) else { return Ok(()) };
        let lately = lately.lock().unwrap_or_else(PoisonError::into_inner);
        let source = lately.source.as_ref().map(|source| source.try_clone()).transpose()?;
        self.open_window(lately.drive.clone(), source, lately.ahead.clone(), (lately.life, lately.lived), stop)
    }

    /// The source that a probe goes on with, and what was drawn of it; `None` if it makes its own.
    fn requests_of_probe(
        &self,
        present: Option<&Present<'_>>,
    ) -> Result<(Option<Box<dyn Source>>, Ahead), SourceError> {
        let goes_on =
            |present: &&Present<'_>| self.spec.probe.as_ref().is_some_and(|probe| probe.goes_on[present.phase]);
        Ok(match present.filter(goes_on) {
            Some(present) => (Some(present.source.try_clone()?), present.ahead.clone()),
            None => (None, Ahead::default()),
        })
    }

    /// Serves a probe's requests on a copy of the drive, which has lived `lived` host units.
    fn open_window(
        &mut self,
        mut copy: Drive,
        source: Option<Box<dyn Source>>,
        ahead: Ahead,
        (life, lived): (Lived, u64),
        stop: &Arc<AtomicBool>,
    ) -> Result<(), SourceError> {
        let Some(probe) = &mut self.spec.probe else { return Ok(()) };
        let source = match source {
            Some(source) => source,
            None => probe.sources.make()?,
        };
        let by_wear = matches!(probe.due, Due::Wear(_)) || probe.at_end_of_life;
        let (arrival, requests, retention_days) = (probe.arrival, probe.requests, probe.retention_days);
        if self.spec.only_wears {
            copy.set_day(copy.day().max(lived as f64 * self.spec.days_per_unit));
            copy.keep_detail(true);
            // A drive that waited for its first day is awake by then, with data of the day before.
            copy.set_past(|_| (0.0, 0));
        }
        copy.set_day(copy.day() + retention_days);
        let clock = self.spec.clock.as_ref().expect("a probe has a clock");
        copy.start_clock(&clock.clock).expect("the clock was checked when the run was planned");
        let arrivals = (arrival, self.stream(&format!("probe.arrivals.{}", self.probed.len())));
        let mut before = life.standing(&copy);
        if by_wear {
            before.life_used = copy.life_used();
        }
        let observer = Self {
            requests: Some(Requests::new(clock, arrivals, before).with_one_window()),
            kind: WindowKind::Probe,
            life,
            ..Self::new(ObserverSpec {
                past: Past::default(),
                days_per_unit: 0.0,
                clock: Some(clock.clone()),
                arrivals: vec![arrival],
                probe: None,
                only_wears: false,
                streams: self.spec.streams,
            })
        };
        let mut host = Host::new(copy, Addresses::Wrapping);
        let probe = observer.probe_with(&mut host, source, ahead, requests, stop)?;
        if let Some(Ended::Died(_)) = probe.ended {
            let served: u64 = probe.timed.windows.iter().map(Window::requests).sum();
            let after = before.drive_writes;
            self.notes.push(format!(
                "the drive died in its probe after {after:.2} drive writes: {served} of {requests} requests were served"
            ));
        }
        let Probed { timed, notes, .. } = probe;
        self.probed.push(timed);
        // Each probe reads the same requests.
        self.notes.extend(notes.into_iter().filter(|note| !self.notes.contains(note)).collect::<Vec<_>>());
        Ok(())
    }

    /// Serves the requests of a probe, `most` of them.
    fn probe_with(
        mut self,
        host: &mut Host,
        mut source: Box<dyn Source>,
        mut ahead: Ahead,
        most: u64,
        stop: &AtomicBool,
    ) -> Result<Probed, SourceError> {
        let (zero, unit_bytes) = (host.counters(), host.unit_bytes());
        let (mut served, mut ended) = (0, None);
        while served < most && ended.is_none() {
            if stop.load(Ordering::Relaxed) {
                ended = Some(Ended::Interrupted);
                break;
            }
            let written = host.counters().host_units_filled(unit_bytes) - zero.host_units_filled(unit_bytes);
            let Some(batch) = ahead.front(source.as_mut(), host)? else { break };
            self.arrive(host, batch, written, u64::MAX, stop);
            ended = cannot_go_on(host, stop);
            if ended.is_some() {
                break;
            }
            served += batch.requests;
            let outcome = host.serve(batch, &mut 0, &mut { u64::MAX }, stop);
            self.served(host, batch);
            ahead.pop();
            if let Err(Halt::Ended(why)) = outcome {
                ended = Some(why);
            } else if let Err(why) = host.work(stop) {
                ended = Some(why);
            }
        }
        let mut notes = source.notes();
        notes.extend(source.coarse_times().filter(|_| self.replays_times(0)));
        let timed = self.into_timed(host.device(), stop).expect("a probe is timed");
        Ok(Probed { timed, notes, ended })
    }

    /// The figures of the requests, if they were timed.
    fn into_timed(self, device: &mut Below, stop: &AtomicBool) -> Option<Timed> {
        let now = self.life.standing(device.drive());
        self.requests.map(|requests| requests.finish(device, now, self.kind, stop))
    }

    /// The measurements. Once `stop` is true, unfinished operations are left out.
    pub(crate) fn finish(mut self, device: &mut Below, stop: &AtomicBool) -> Measured {
        let total = errors(device.drive()).zip(self.errors_at_start).map(|(now, before)| now - before);
        let cells = device.drive().flash().and_then(wane_nand::Flash::cells);
        let error_histogram = cells.map(|cells| cells.histogram().counts().to_vec());
        let of_the_run = self.spec.probe.is_none();
        let (mut timed, notes) = (std::mem::take(&mut self.probed), std::mem::take(&mut self.notes));
        timed.extend(self.into_timed(device, stop));
        let overload = timed.last_mut().and_then(|last| last.overload.take());
        let notes = overload.into_iter().chain(notes).collect();
        let run = timed.last().filter(|_| of_the_run);
        let (buffered_reads, reads_around) = run.map_or((0, 0), |run| (run.buffered_reads, run.reads_around));
        Measured {
            latency: timed.last().map(|last| last.latency.clone()),
            throughput: timed.last().map(|last| last.throughput),
            thermal: timed.last().and_then(|last| last.thermal),
            latency_by_gc: timed.last_mut().filter(|_| of_the_run).and_then(|run| run.by_gc.take()),
            errors: total,
            error_histogram,
            operations: timed.iter().map(|timed| timed.operations).sum(),
            elapsed_ns: timed.iter().map(|timed| timed.elapsed_ns).sum(),
            oldest: oldest(device.drive()),
            notes,
            buffered_reads,
            reads_around,
            windows: timed.into_iter().flat_map(|timed| timed.windows).collect(),
        }
    }
}

/// What a probe found.
struct Probed {
    timed: Timed,
    /// Notes on its requests.
    notes: Vec<String>,
    /// Why it ended early.
    ended: Option<Ended>,
}

/// Most reads and most days of any block.
pub(crate) fn oldest(drive: &Drive) -> (u32, f64) {
    let blocks = (0..drive.geometry().blocks()).map(|block| drive.health(BlockId(block)));
    blocks.fold((0, 0.0), |(reads, days), health| (health.reads.max(reads), health.age_days.max(days)))
}

/// Errors that a drive has seen since it was new; `None` if it cannot err.
pub(crate) fn errors(drive: &Drive) -> Option<Errors> {
    let flash = drive.flash()?;
    if flash.cells().is_none() && !flash.has_faults() {
        return None;
    }
    let seen = flash.cells().map(Cells::counters).unwrap_or_default();
    let counters = drive.counters();
    Some(Errors {
        codewords_checked: seen.codewords_checked,
        raw_bit_errors: seen.raw_bit_errors,
        reads_retried: seen.reads_retried,
        retries: seen.retries,
        host_page_reads: seen.host_page_reads,
        host_retries: seen.host_retries,
        background_page_reads: seen.page_reads - seen.host_page_reads,
        background_retries: seen.retries - seen.host_retries,
        recoveries: counters.recoveries,
        recovery_failures: counters.recovery_failures,
        uncorrectable: counters.host_reads_uncorrectable,
        uncorrectable_relocated: counters.relocation_reads_uncorrectable,
    })
}
