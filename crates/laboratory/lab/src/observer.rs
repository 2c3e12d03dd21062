//! Observes a run besides its aging: errors, time and probes. A run that only ages has no observer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wane_sim::{Stream, Streams};
use wane_ssd::Drive;
use wane_workload::{Arrival, Batch, Source, SourceError};

mod seen;

use seen::histogram;
pub(crate) use seen::{errors, oldest, set_past};

use crate::ahead::Ahead;
use crate::host::{Ended, Halt, Host};
use crate::queued::Queued;
use crate::record::Recorded;
use crate::run::cannot_go_on;
use crate::sources::SourceMaker;
use crate::timed::{Requests, Standing, Timed, TimedSpec};
use wane_results::{ArrayProbe, Errors, Latency, LatencyByGc, Thermal, Throughput, Window, WindowKind};

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

    /// Whether probe `number` is due on a device that has lived `lived` host units. A dead one is not looked at for its wear: it reached it alive, or
    /// never did.
    fn is_now(&self, number: usize, host: &Host, lived: u64) -> bool {
        match self {
            Self::Units(units) => units.get(number).is_some_and(|due| *due <= lived),
            Self::Wear(shares) => shares
                .get(number)
                .is_some_and(|share| host.takes_writes() && host.life_used().is_some_and(|used| used >= *share)),
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
    /// Whether the run looks at its drives between batches, as it does at those of an array: then data age and probes are made, and each drive has a
    /// past of its own.
    pub by_looks: bool,
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
            by_looks: self.by_looks,
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
    /// Probes of an array, with what its members answered.
    pub(crate) probes: Vec<ArrayProbe>,
    /// Whether the user stopped it in a probe, or before one that was due.
    pub(crate) was_cut: bool,
}

impl Measured {
    /// What a drive of an array measured since it had these errors.
    pub(crate) fn of_member(drive: &Drive, at_start: Option<Errors>) -> Self {
        Self {
            errors: errors(drive).zip(at_start).map(|(now, before)| now - before),
            error_histogram: histogram(drive),
            oldest: oldest(drive),
            ..Self::default()
        }
    }
}

/// See [`ObserverSpec`].
pub(crate) struct Observer {
    spec: ObserverSpec,
    requests: Option<Requests>,
    kind: WindowKind,
    errors_at_start: Option<Errors>,
    /// Errors of drives that stand there no longer.
    errors_before: Option<Errors>,
    /// Days of service of the whole, where the run looks at its drives.
    day: f64,
    life: Lived,
    /// Blocks collected by the start of counting, until another one is collected.
    victims_before: Option<u64>,
    probed: Vec<Timed>,
    of_array: Vec<ArrayProbe>,
    /// Notes on the requests of probes.
    notes: Vec<String>,
    next_probe: usize,
    /// Whether the user stopped it in a probe, or before one that was due.
    was_cut: bool,
    /// The device as it was lately, if it is looked at when it has died: the older and the newer.
    lately: [Option<Arc<Mutex<Lately>>>; 2],
    /// Host units of the life at the last window.
    window_at: u64,
    /// Host units of the life from which it is kept anew.
    keep_from: u64,
    /// Wear when counting started.
    used_at_start: f64,
}

/// A device that may be about to die, and what a probe of it needs; copies of the run share it. Each is kept for the next 200th of the life, or
/// an eighth of a drive write, which bounds what the copies cost. Two are kept, so that the older one has as much left to live.
struct Lately {
    copy: Host,
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

/// Whole units that the host's written bytes would fill, since the device was new.
fn filled(host: &impl Recorded) -> u64 {
    host.counters().host_units_filled(host.unit_bytes())
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
            errors_before: None,
            day: 0.0,
            life: Lived::default(),
            victims_before: None,
            probed: Vec::new(),
            of_array: Vec::new(),
            notes: Vec::new(),
            next_probe: 0,
            was_cut: false,
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
            errors_before: self.errors_before,
            day: self.day,
            life: self.life,
            victims_before: self.victims_before,
            probed: self.probed.clone(),
            of_array: self.of_array.clone(),
            notes: self.notes.clone(),
            next_probe: self.next_probe,
            was_cut: self.was_cut,
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
    pub(crate) fn times_the_run(&self) -> bool {
        self.spec.clock.is_some() && self.spec.probe.is_none()
    }

    /// Whether requests are observed one by one, and not only at probes.
    pub(crate) fn is_by_one(&self) -> bool {
        !self.spec.only_wears && (!self.spec.by_looks || self.times_the_run())
    }

    /// Whether the run makes the probes when it looks at its drives.
    pub(crate) fn is_by_looks(&self) -> bool {
        self.spec.by_looks
    }

    /// Notes that `units` host units were predicted instead of written.
    pub(crate) fn predict(&mut self, units: u64) {
        self.life.predicted += units;
    }

    /// Host units of the life, `lived` by now, at which the next probe is due. Where wear decides they are projected by its pace so far.
    pub(crate) fn probe_due(&self, host: &Host, lived: u64) -> Option<u64> {
        match &self.spec.probe.as_ref()?.due {
            Due::Units(units) => units.get(self.next_probe).copied(),
            Due::Wear(shares) => {
                let used = host.life_used()?;
                let left = shares.get(self.next_probe)? - used;
                let pace = (used - self.used_at_start) / lived.max(1) as f64;
                let drive_write = u64::from(host.when_new());
                let units = if pace > 0.0 { (left / pace).ceil() as u64 } else { drive_write };
                Some(lived.saturating_add(units.max(drive_write.div_ceil(STEPS_OF_PROJECTION))))
            }
        }
    }

    /// Whether the requests of a phase arrive at the times of their trace.
    pub(crate) fn replays_times(&self, phase: usize) -> bool {
        self.requests.is_some() && self.spec.arrivals[phase] == Arrival::Trace
    }

    /// The device as it is now.
    fn standing(&self, host: &Host) -> Standing {
        let drives = host.drives();
        let counts = || drives.iter().flat_map(|drive| drive.erase_counts());
        let written = filled(host) - self.life.at_start;
        Standing {
            drive_writes: (written + self.life.predicted) as f64 / f64::from(host.when_new()),
            erase_count_mean: counts().map(|count| f64::from(*count)).sum::<f64>() / counts().count() as f64,
            life_used: None,
            errors: self.errors(host),
            heat: host.only().and_then(Drive::clock).and_then(wane_ssd::Clock::heat),
        }
    }

    /// Errors of all drives that stood there so far.
    fn errors(&self, host: &Host) -> Option<Errors> {
        let drives = host.drives().into_iter().filter_map(errors);
        drives.chain(self.errors_before).reduce(|one, other| one + other)
    }

    /// Notes that a drive which has seen these errors stands there no longer.
    pub(crate) fn note_gone(&mut self, seen: Option<Errors>) {
        self.errors_before = self.errors_before.into_iter().chain(seen).reduce(|one, other| one + other);
    }

    /// Notes that counting starts.
    pub(crate) fn start(&mut self, host: &mut Host) {
        self.used_at_start = host.life_used().unwrap_or(0.0);
        self.life.at_start = filled(host);
        if self.spec.only_wears {
            return;
        }
        if let Some(drive) = host.device().one_drive().filter(|_| !self.spec.by_looks) {
            drive.keep_detail(true);
            set_past(drive, self.spec.past, || self.spec.streams.stream("retention"));
        }
        self.errors_at_start = self.errors(host);
        if self.times_the_run()
            && let Some(spec) = &self.spec.clock
        {
            host.device().start_clocks(&spec.clocks);
            self.victims_before = Some(host.counters().gc_victims);
            let arrivals = (self.spec.arrivals[0], self.stream("arrivals.0"));
            let (standing, from) = (self.standing(host), host.device().at().0);
            self.requests = Some(Requests::new(spec, arrivals, standing, from));
        }
    }

    /// Lets data age with what the host wrote, where the run looks at its drives and no clock does it.
    pub(crate) fn follow(&mut self, host: &mut Host, written: u64) {
        if self.times_the_run() || self.spec.only_wears {
            return;
        }
        let day = written as f64 * self.spec.days_per_unit;
        let passed = day - std::mem::replace(&mut self.day, day);
        if passed > 0.0 {
            // A drive that came later is younger.
            host.each_drive(&mut |drive| drive.set_day(drive.day() + passed));
        }
    }

    /// Notes that a phase begins.
    pub(crate) fn begin_phase(&mut self, host: &mut Host, number: usize) {
        let arrivals = (self.spec.arrivals[number], self.stream(&format!("arrivals.{number}")));
        match &mut self.requests {
            Some(requests) if number == 0 => requests.change_arrivals(host.device(), arrivals),
            Some(_) => {
                let standing = self.standing(host);
                if let Some(requests) = &mut self.requests {
                    requests.begin_phase(host.device(), standing, arrivals);
                }
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
        if let Some(drive) = host.device().one_drive().filter(|drive| drive.may_fail()) {
            drive.set_drive_writes(written as f64 / f64::from(drive.logical_initial()));
        }
        true
    }

    /// Notes that a request has been served.
    #[inline]
    pub(crate) fn served(&mut self, host: &mut Host, batch: &Batch) {
        let Some(requests) = &mut self.requests else { return };
        requests.submit(host.device(), batch);
        let begins_gc = self.victims_before.is_some_and(|before| host.counters().gc_victims > before);
        if begins_gc || requests.window_is_full() {
            self.mark(host, begins_gc);
        }
    }

    /// Begins another window, and with it the part of the run in which there is garbage collection, if it `begins_gc`.
    #[cold]
    fn mark(&mut self, host: &mut Host, begins_gc: bool) {
        let standing = self.standing(host);
        let Some(requests) = &mut self.requests else { return };
        if begins_gc {
            self.victims_before = None;
            requests.begin_gc(host.device(), standing);
        }
        if requests.window_is_full() {
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
        host: &Host,
        present: Option<&Present<'_>>,
        written: u64,
        stop: &Arc<AtomicBool>,
    ) -> Result<(), SourceError> {
        if self.spec.probe.is_none() { Ok(()) } else { self.probe(host, present, written, stop) }
    }

    fn probe(
        &mut self,
        host: &Host,
        present: Option<&Present<'_>>,
        written: u64,
        stop: &Arc<AtomicBool>,
    ) -> Result<(), SourceError> {
        let lived = written + self.life.predicted;
        let opened = self.next_probe;
        while let Some(probe) = &self.spec.probe
            && probe.due.is_now(self.next_probe, host, lived)
        {
            if stop.load(Ordering::Relaxed) {
                self.was_cut = true;
                break;
            }
            let is_served = host.only().is_some() || host.takes_writes();
            if is_served {
                let (source, ahead) = self.requests_of_probe(present)?;
                self.open_window(host.for_probe(), source, ahead, (self.life, lived), stop)?;
            }
            self.next_probe += 1;
        }
        if opened < self.next_probe {
            // One that ends soon is looked at as it was after its last probe.
            (self.window_at, self.keep_from) = (lived, 0);
            if self.spec.by_looks {
                self.lately = [None, None];
            }
        }
        let looks_back = self.spec.probe.as_ref().is_some_and(|probe| probe.at_end_of_life);
        if looks_back && lived >= self.keep_from && host.takes_writes() {
            let (source, ahead) = self.requests_of_probe(present)?;
            let lately = Lately { copy: host.for_probe(), life: self.life, lived, source, ahead };
            let older = self.lately[1].take();
            self.lately = [older, Some(Arc::new(Mutex::new(lately)))];
            self.keep_from = lived + kept_for(lived, u64::from(host.when_new()));
        }
        Ok(())
    }

    /// Notes that the drive has died, and looks at it as it was just before if that is asked for.
    ///
    /// # Errors
    /// The trace of the probe is damaged.
    pub(crate) fn probe_the_dead(&mut self, stop: &Arc<AtomicBool>) -> Result<(), SourceError> {
        // The newer one may be about to die at once. Windows come in the order of their ages.
        let kept = std::mem::take(&mut self.lately).into_iter().flatten().collect::<Vec<_>>();
        let is_in_order =
            |kept: &Arc<Mutex<Lately>>| kept.lock().unwrap_or_else(PoisonError::into_inner).lived >= self.window_at;
        let Some(lately) = kept.into_iter().find(is_in_order) else { return Ok(()) };
        if stop.load(Ordering::Relaxed) {
            self.was_cut = true;
            return Ok(());
        }
        let lately = lately.lock().unwrap_or_else(PoisonError::into_inner);
        let source = lately.source.as_ref().map(|source| source.try_clone()).transpose()?;
        self.open_window(lately.copy.clone(), source, lately.ahead.clone(), (lately.life, lately.lived), stop)
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

    /// Serves a probe's requests on a copy, which has lived `lived` host units.
    fn open_window(
        &mut self,
        mut copy: Host,
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
        let asked = Asked {
            source,
            ahead,
            arrivals: (probe.arrival, self.spec.streams.stream(&format!("probe.arrivals.{}", self.probed.len()))),
            requests: probe.requests,
            by_wear,
        };
        let retention_days = probe.retention_days;
        let (only_wears, day) = (self.spec.only_wears, lived as f64 * self.spec.days_per_unit);
        copy.each_drive(&mut |drive| {
            if only_wears {
                drive.set_day(drive.day().max(day));
                drive.keep_detail(true);
                // A drive that waited for its first day is awake by then, with data of the day before.
                drive.set_past(|_| (0.0, 0));
            }
            drive.set_day(drive.day() + retention_days);
        });
        let clock = self.spec.clock.as_ref().expect("a probe has a clock");
        let asked_for = asked.requests;
        let Probed { timed, before, of_array, notes, ended } = asked.serve_on(copy, clock, life, stop)?;
        if self.spec.by_looks && stop.load(Ordering::Relaxed) {
            // It served a part of its requests.
            self.was_cut = true;
            return Ok(());
        }
        if let Some(Ended::Died(_)) = ended {
            let served: u64 = timed.windows.iter().map(Window::requests).sum();
            let (what, writes) =
                if of_array.is_some() { ("array ended", "array writes") } else { ("drive died", "drive writes") };
            let after = before.drive_writes;
            self.notes.push(format!(
                "the {what} in its probe after {after:.2} {writes}: {served} of {asked_for} requests were served"
            ));
        }
        self.probed.push(timed);
        self.of_array.extend(of_array);
        // Each probe reads the same requests.
        self.notes.extend(notes.into_iter().filter(|note| !self.notes.contains(note)).collect::<Vec<_>>());
        Ok(())
    }

    /// The figures of the requests, if they were timed.
    fn into_timed(self, host: &mut Host, stop: &AtomicBool) -> Option<Timed> {
        let now = self.standing(host);
        self.requests.map(|requests| requests.finish(host.device(), now, self.kind, stop))
    }

    /// The measurements. Once `stop` is true, unfinished operations are left out.
    pub(crate) fn finish(mut self, host: &mut Host, stop: &AtomicBool) -> Measured {
        let total = self.errors(host).zip(self.errors_at_start).map(|(now, before)| now - before);
        let of_the_run = self.spec.probe.is_none();
        let (mut timed, notes) = (std::mem::take(&mut self.probed), std::mem::take(&mut self.notes));
        let (probes, was_cut) = (std::mem::take(&mut self.of_array), self.was_cut);
        timed.extend(self.into_timed(host, stop));
        let overload = timed.last_mut().and_then(|last| last.overload.take());
        let failed = host.array_time().map_or(0, Queued::failed);
        let failed = (failed > 0).then(|| format!("{failed} of the host's requests failed in some of their sectors"));
        let notes = overload.into_iter().chain(failed).chain(notes).collect();
        let run = timed.last().filter(|_| of_the_run);
        let (buffered_reads, reads_around) = run.map_or((0, 0), |run| (run.buffered_reads, run.reads_around));
        Measured {
            latency: timed.last().map(|last| last.latency.clone()),
            throughput: timed.last().map(|last| last.throughput),
            thermal: timed.last().and_then(|last| last.thermal),
            latency_by_gc: timed.last_mut().filter(|_| of_the_run).and_then(|run| run.by_gc.take()),
            errors: total,
            error_histogram: host.only().and_then(histogram),
            operations: timed.iter().map(|timed| timed.operations).sum(),
            elapsed_ns: timed.iter().map(|timed| timed.elapsed_ns).sum(),
            oldest: host
                .drives()
                .into_iter()
                .map(oldest)
                .fold((0, 0.0), |(reads, days), (more, older)| (reads.max(more), f64::max(days, older))),
            notes,
            buffered_reads,
            reads_around,
            probes,
            was_cut,
            windows: timed.into_iter().flat_map(|timed| timed.windows).collect(),
        }
    }
}

/// What a copy of a device is asked.
pub(crate) struct Asked {
    pub(crate) source: Box<dyn Source>,
    /// Requests that were drawn of it.
    pub(crate) ahead: Ahead,
    pub(crate) arrivals: (Arrival, Stream),
    /// The number of requests.
    pub(crate) requests: u64,
    /// Whether its window says how worn it is.
    pub(crate) by_wear: bool,
}

impl Asked {
    /// Serves the requests on a copy, whose past was set, and of which so much is known.
    ///
    /// # Errors
    /// Its trace is damaged.
    fn serve_on(
        self,
        mut host: Host,
        clock: &TimedSpec,
        life: Lived,
        stop: &Arc<AtomicBool>,
    ) -> Result<Probed, SourceError> {
        let Self { mut source, mut ahead, arrivals, requests: most, by_wear } = self;
        host.device().flush();
        host.device().start_clocks(&clock.clocks);
        let mut observer = Observer {
            kind: WindowKind::Probe,
            life,
            ..Observer::new(ObserverSpec {
                past: Past::default(),
                days_per_unit: 0.0,
                clock: Some(clock.clone()),
                arrivals: vec![arrivals.0],
                probe: None,
                only_wears: false,
                by_looks: false,
                streams: wane_sim::Streams::new(0),
            })
        };
        let life_used = host.life_used();
        let mut before = observer.standing(&host);
        before.life_used = life_used.filter(|_| by_wear);
        let from = host.device().at().0;
        observer.requests = Some(Requests::new(clock, arrivals, before, from).with_one_window());
        let zero = filled(&host);
        let (mut served, mut ended) = (0, None);
        while served < most && ended.is_none() {
            if stop.load(Ordering::Relaxed) {
                ended = Some(Ended::Interrupted);
                break;
            }
            let written = filled(&host) - zero;
            let Some(batch) = ahead.front(source.as_mut(), &host)? else { break };
            observer.arrive(&mut host, batch, written, u64::MAX, stop);
            ended = cannot_go_on(&mut host, stop);
            if ended.is_some() {
                break;
            }
            served += batch.requests;
            let outcome = host.serve(batch, &mut 0, &mut { u64::MAX }, stop);
            observer.served(&mut host, batch);
            ahead.pop();
            if let Err(Halt::Ended(why)) = outcome {
                ended = Some(why);
            } else if let Err(why) = host.work(stop) {
                ended = Some(why);
            }
        }
        let mut notes = source.notes();
        notes.extend(source.coarse_times().filter(|_| observer.replays_times(0)));
        let mut timed = observer.into_timed(&mut host, stop).expect("a probe is timed");
        notes.extend(timed.overload.take().filter(|_| host.array_time().is_some()));
        let of_array = host.array_time().map(|queued| queued.probe(before.drive_writes, life_used, &timed));
        Ok(Probed { timed, before, of_array, notes, ended })
    }
}

/// Looks at a copy of an array that was made elsewhere. Returns what it answered, and sentences on the requests.
///
/// # Errors
/// Its trace is damaged.
pub(crate) fn look_at_array(
    copy: Host,
    asked: Asked,
    clock: &TimedSpec,
    stop: &Arc<AtomicBool>,
) -> Result<(ArrayProbe, Vec<String>), SourceError> {
    let most = asked.requests;
    let Probed { timed, of_array, mut notes, ended, .. } = asked.serve_on(copy, clock, Lived::default(), stop)?;
    if let Some(Ended::Died(_)) = ended {
        let served: u64 = timed.windows.iter().map(Window::requests).sum();
        notes.push(format!("the array ended in its probe: {served} of {most} requests were served"));
    }
    Ok((of_array.expect("it is an array whose time is kept"), notes))
}

/// What a probe found.
struct Probed {
    timed: Timed,
    /// The copy before its first request.
    before: Standing,
    of_array: Option<ArrayProbe>,
    /// Notes on its requests.
    notes: Vec<String>,
    /// Why it ended early.
    ended: Option<Ended>,
}
