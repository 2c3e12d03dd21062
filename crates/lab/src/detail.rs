//! What a run does beside aging: errors, time, scrubbing and probes. A plain run does none of it and pays for none.

use std::sync::atomic::{AtomicBool, Ordering};

use wane_ftl::{Ftl, Outcome};
use wane_nand::{Array, Cells, ErrorConfig, Flash, Media, Relocations};
use wane_sim::{Stream, Streams};
use wane_units::{BlockId, Lpn};
use wane_workload::{Arrival, Batch, Op, Progress, Source, SourceError};

use crate::timed::{Requests, Standing, Timed, TimedSpec};
use wane_results::{Errors, Latency, Throughput, Window, WindowKind};

/// A medium that a run can tell the wear of.
pub trait WearCounts: Media {
    /// Erases of every flash block.
    fn erase_counts(&self) -> &[u32];
}

impl WearCounts for Array {
    fn erase_counts(&self) -> &[u32] {
        Array::erase_counts(self)
    }
}

impl WearCounts for Flash {
    fn erase_counts(&self) -> &[u32] {
        Flash::erase_counts(self)
    }
}

/// What happens around each batch of a run.
pub trait Detail<M: Media> {
    /// Whether requests are served one by one and as they are, so that each has its own moment.
    const ONE_BY_ONE: bool;

    /// Counting starts.
    fn start(&mut self, ftl: &mut Ftl<M>);

    /// A phase begins.
    fn begin_phase(&mut self, number: usize);

    /// A request is about to be served. Once `stop` is true, it must not be served any more.
    fn arrive(&mut self, ftl: &mut Ftl<M>, batch: &Batch, written: u64, stop: &AtomicBool);

    /// Whether the simulated time is used up, so that nothing more can be served.
    fn is_over(&self) -> bool;

    /// It has been served.
    fn served(&mut self, ftl: &mut Ftl<M>, batch: &Batch);

    /// Whether the scrubber may act now.
    fn may_scrub(&self, ftl: &Ftl<M>) -> bool;

    /// The scrubber, or the file system, has acted.
    fn acted(&mut self, ftl: &mut Ftl<M>);

    /// Looks closely, if it is time to, and until `stop` is true.
    ///
    /// # Errors
    /// The trace of a probe is damaged.
    fn probe(&mut self, ftl: &Ftl<M>, written: u64, stop: &AtomicBool) -> Result<(), SourceError>;

    /// What was measured. Once `stop` is true, what is not done is left out.
    fn finish(self, ftl: &Ftl<M>, stop: &AtomicBool) -> Option<Measured>;
}

/// Nothing.
pub struct Plain;

impl Detail<Array> for Plain {
    const ONE_BY_ONE: bool = false;

    fn start(&mut self, _ftl: &mut Ftl<Array>) {}

    fn begin_phase(&mut self, _number: usize) {}

    #[inline(always)]
    fn arrive(&mut self, _ftl: &mut Ftl<Array>, _batch: &Batch, _written: u64, _stop: &AtomicBool) {}

    #[inline(always)]
    fn is_over(&self) -> bool {
        false
    }

    #[inline(always)]
    fn served(&mut self, _ftl: &mut Ftl<Array>, _batch: &Batch) {}

    #[inline(always)]
    fn may_scrub(&self, _ftl: &Ftl<Array>) -> bool {
        false
    }

    fn acted(&mut self, _ftl: &mut Ftl<Array>) {}

    #[inline(always)]
    fn probe(&mut self, _ftl: &Ftl<Array>, _written: u64, _stop: &AtomicBool) -> Result<(), SourceError> {
        Ok(())
    }

    fn finish(self, _ftl: &Ftl<Array>, _stop: &AtomicBool) -> Option<Measured> {
        None
    }
}

/// The past that a drive is given when counting starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past {
    /// Days since its data were written: least and most of a uniform draw for each block.
    pub retention_days: Option<(f64, f64)>,
    /// Reads of each block since its erase.
    pub reads: u32,
}

/// Makes a source anew whenever it is called.
pub type OpenSource = dyn FnMut() -> Result<Box<dyn Source>, SourceError> + Send;

/// A look at a copy of the drive.
pub struct ProbeSpec {
    /// Host units written at which it is due, ascending.
    pub due: Vec<u64>,
    /// Makes the requests of the next look: the same ones for each.
    pub open: Box<OpenSource>,
    /// When requests come.
    pub arrival: Arrival,
    /// How many.
    pub requests: u64,
    /// Days without power before it.
    pub retention_days: f64,
}

/// Everything beside aging.
pub struct DetailSpec {
    /// Errors of the flash; none without.
    pub errors: Option<ErrorConfig>,
    /// The past of its data.
    pub past: Past,
    /// Days that a host unit's write takes in untimed aging; 0 without a calendar.
    pub days_per_unit: f64,
    /// The clock, if the run itself is timed or has probes.
    pub clock: Option<TimedSpec>,
    /// Arrivals of each phase.
    pub arrivals: Vec<Arrival>,
    /// Windows of an untimed life.
    pub probe: Option<ProbeSpec>,
    /// Whether pages protect each other.
    pub stripes: bool,
    /// Random streams.
    pub streams: Streams,
}

/// What a detailed run measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Over the run, or over its last window where only windows are timed.
    pub latency: Option<Latency>,
    /// Likewise.
    pub throughput: Option<Throughput>,
    /// Windows, in order.
    pub windows: Vec<Window>,
    /// Errors since counting started, those of probes left out.
    pub errors: Option<Errors>,
    /// Codewords of first reads by their raw bit errors, the last entry those beyond; of the main run.
    pub error_histogram: Option<Vec<u64>>,
    /// Flash operations scheduled.
    pub operations: u64,
    /// Simulated nanoseconds.
    pub elapsed_ns: u64,
    /// Reads served from the controller's buffers.
    pub buffered_reads: u64,
    /// Most reads of a block since its erase, and most days since data was written, at the end.
    pub oldest: (u32, f64),
}

/// See [`DetailSpec`].
pub struct Detailed {
    spec: DetailSpec,
    requests: Option<Requests>,
    errors_at_start: Option<Errors>,
    /// Host units written when counting started.
    units_at_start: u64,
    probed: Vec<Timed>,
    next_probe: usize,
}

impl Detailed {
    /// Nothing happened yet.
    pub fn new(spec: DetailSpec) -> Self {
        Self { spec, requests: None, errors_at_start: None, units_at_start: 0, probed: Vec::new(), next_probe: 0 }
    }

    fn stream(&self, name: &str) -> Stream {
        self.spec.streams.stream(name)
    }

    fn probe_if_due(&mut self, ftl: &Ftl<Flash>, written: u64, stop: &AtomicBool) -> Result<(), SourceError> {
        let Some(probe) = &mut self.spec.probe else { return Ok(()) };
        let is_due = probe.due.get(self.next_probe).is_some_and(|due| *due <= written);
        if !is_due || stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut source = (probe.open)()?;
        let clock = self.spec.clock.as_ref().expect("a probe has a clock");
        let due = Probe {
            arrival: probe.arrival,
            requests: probe.requests,
            retention_days: probe.retention_days,
            clock,
            stream: self.spec.streams.stream(&format!("probe.arrivals.{}", self.next_probe)),
            units_at_start: self.units_at_start,
        };
        let timed = due.at(ftl, source.as_mut(), stop)?;
        self.probed.push(timed);
        self.next_probe += 1;
        self.probe_if_due(ftl, written, stop)
    }

    /// The run itself is timed unless windows are.
    fn times_the_run(&self) -> bool {
        self.spec.clock.is_some() && self.spec.probe.is_none()
    }
}

fn standing(ftl: &Ftl<Flash>, units_at_start: u64) -> Standing {
    let counts = ftl.media().erase_counts();
    Standing {
        drive_writes: (ftl.counters().host_units_written - units_at_start) as f64 / f64::from(ftl.logical_initial()),
        erase_count_mean: counts.iter().map(|count| f64::from(*count)).sum::<f64>() / counts.len() as f64,
        errors: errors(ftl),
    }
}

/// Most reads and most days of any block.
fn oldest(ftl: &Ftl<Flash>) -> (u32, f64) {
    let blocks = (0..ftl.media().geometry().blocks()).map(|block| ftl.media().health(BlockId(block)));
    blocks.fold((0, 0.0), |(reads, days), health| (health.reads.max(reads), health.age_days.max(days)))
}

fn errors(ftl: &Ftl<Flash>) -> Option<Errors> {
    let media = ftl.media();
    if media.cells().is_none() && !media.has_faults() {
        return None;
    }
    let seen = media.cells().map(wane_nand::Cells::counters).unwrap_or_default();
    let counters = ftl.counters();
    Some(Errors {
        codewords_checked: seen.codewords_checked,
        raw_bit_errors: seen.raw_bit_errors,
        reads_retried: seen.reads_retried,
        retries: seen.retries,
        recoveries: counters.recoveries,
        recovery_failures: counters.recovery_failures,
        uncorrectable: counters.host_reads_uncorrectable,
        uncorrectable_relocated: counters.relocation_reads_uncorrectable,
    })
}

impl Detail<Flash> for Detailed {
    const ONE_BY_ONE: bool = true;

    fn start(&mut self, ftl: &mut Ftl<Flash>) {
        let geometry = *ftl.media().geometry();
        let cells = self.spec.errors.map(|config| Cells::new(&geometry, config, self.stream("nand")));
        let media = ftl.media_mut();
        if let Some(cells) = cells {
            media.set_cells(cells);
        }
        let Past { retention_days, reads } = self.spec.past;
        if retention_days.is_some() || reads > 0 {
            let (least, most) = retention_days.unwrap_or_default();
            let mut stream = self.stream("retention");
            for block in (0..geometry.blocks()).map(BlockId) {
                let days = least + (most - least) * stream.unit();
                let erases = media.erase_count(block).0;
                media.set_past(block, erases, days, reads);
            }
        }
        // What is lost in a relocation matters where stripes give it back, and takes time where time is kept.
        let trusted = !self.times_the_run() && !self.spec.stripes;
        media.set_relocations(if trusted { Relocations::Trusted } else { Relocations::Checked });
        self.errors_at_start = errors(ftl);
        self.units_at_start = ftl.counters().host_units_written;
        if self.times_the_run()
            && let Some(spec) = &self.spec.clock
        {
            ftl.media_mut().record(true);
            let arrivals = (self.spec.arrivals[0], self.stream("arrivals.0"));
            let standing = standing(ftl, self.units_at_start);
            self.requests = Some(Requests::new(spec, &geometry, arrivals, standing));
        }
    }

    fn begin_phase(&mut self, number: usize) {
        let (arrival, stream) = (self.spec.arrivals[number], self.stream(&format!("arrivals.{number}")));
        if let Some(requests) = &mut self.requests {
            requests.change_arrivals(arrival, stream);
        }
    }

    fn arrive(&mut self, ftl: &mut Ftl<Flash>, batch: &Batch, written: u64, stop: &AtomicBool) {
        let day = match &mut self.requests {
            Some(requests) => requests.arrive(batch, stop),
            None => written as f64 * self.spec.days_per_unit,
        };
        ftl.media_mut().set_now_days(day);
        if ftl.media().has_faults() {
            let drive_writes = written as f64 / f64::from(ftl.logical_initial());
            ftl.media_mut().set_drive_writes(drive_writes);
        }
    }

    fn is_over(&self) -> bool {
        self.requests.as_ref().is_some_and(|requests| requests.clock.is_over())
    }

    fn served(&mut self, ftl: &mut Ftl<Flash>, batch: &Batch) {
        let Some(requests) = &mut self.requests else { return };
        requests.submit(ftl.media_mut(), batch);
        if requests.clock.window_is_full() {
            requests.clock.next_window(standing(ftl, self.units_at_start));
        }
    }

    fn may_scrub(&self, ftl: &Ftl<Flash>) -> bool {
        ftl.scrubs() && self.requests.as_ref().is_none_or(|requests| requests.clock.scrub_is_through())
    }

    fn acted(&mut self, ftl: &mut Ftl<Flash>) {
        if let Some(requests) = &mut self.requests {
            requests.clock.submit_background(ftl.media_mut());
        }
    }

    #[inline]
    fn probe(&mut self, ftl: &Ftl<Flash>, written: u64, stop: &AtomicBool) -> Result<(), SourceError> {
        if self.spec.probe.is_none() { Ok(()) } else { self.probe_if_due(ftl, written, stop) }
    }

    fn finish(self, ftl: &Ftl<Flash>, stop: &AtomicBool) -> Option<Measured> {
        let total = errors(ftl).zip(self.errors_at_start).map(|(now, before)| now - before);
        let histogram = ftl.media().cells().map(|cells| cells.histogram().counts().to_vec());
        let mut timed: Vec<Timed> = self.probed;
        let now = standing(ftl, self.units_at_start);
        timed.extend(self.requests.map(|requests| requests.finish(now, WindowKind::Run, stop)));
        let of_the_run = timed.last().filter(|_| self.spec.probe.is_none());
        let buffered_reads = of_the_run.map_or(0, |run| run.buffered_reads);
        Some(Measured {
            latency: timed.last().map(|last| last.latency.clone()),
            throughput: timed.last().map(|last| last.throughput),
            errors: total,
            error_histogram: histogram,
            operations: timed.iter().map(|timed| timed.operations).sum(),
            elapsed_ns: timed.iter().map(|timed| timed.elapsed_ns).sum(),
            oldest: oldest(ftl),
            buffered_reads,
            windows: timed.into_iter().flat_map(|timed| timed.windows).collect(),
        })
    }
}

/// One probe of a drive that ages untimed.
struct Probe<'a> {
    arrival: Arrival,
    requests: u64,
    retention_days: f64,
    clock: &'a TimedSpec,
    stream: Stream,
    units_at_start: u64,
}

impl Probe<'_> {
    /// Serves requests on a copy of the drive, timed, until they end or `stop` is true, and throws the copy away.
    fn at(self, ftl: &Ftl<Flash>, source: &mut dyn Source, stop: &AtomicBool) -> Result<Timed, SourceError> {
        let mut copy = ftl.clone();
        let start_days = copy.media().now_days() + self.retention_days;
        copy.media_mut().set_now_days(start_days);
        copy.media_mut().record(true);
        copy.media_mut().set_relocations(Relocations::Checked);
        let before = standing(&copy, self.units_at_start);
        let geometry = *copy.media().geometry();
        let arrivals = (self.arrival, self.stream);
        let mut requests = Requests::new(self.clock, &geometry, arrivals, before).with_one_window();
        let mut batch = Batch::default();
        for _ in 0..self.requests {
            if source.next(&mut batch, PAGES_MAX, 1)? == Progress::End {
                break;
            }
            let day = start_days + requests.arrive(&batch, stop);
            if requests.clock.is_over() || stop.load(Ordering::Relaxed) {
                break;
            }
            copy.media_mut().set_now_days(day);
            let submit = &mut |copy: &mut Ftl<Flash>| requests.clock.submit_background(copy.media_mut());
            let outcome = serve(&mut copy, &mut batch, stop, submit);
            requests.submit(copy.media_mut(), &batch);
            if outcome != Outcome::Done {
                break;
            }
            if copy.scrubs() && requests.clock.scrub_is_through() {
                let outcome = copy.scrub().unwrap_or(Outcome::Done);
                let submit = &mut |copy: &mut Ftl<Flash>| requests.clock.submit_background(copy.media_mut());
                finish(&mut copy, outcome, stop, submit);
                requests.clock.submit_background(copy.media_mut());
            }
        }
        Ok(requests.finish(standing(&copy, self.units_at_start), WindowKind::Probe, stop))
    }
}

/// Lets the drive finish what it paused in, unless `stop` is true; `pause` takes what it did so far.
fn finish(
    drive: &mut Ftl<Flash>,
    mut outcome: Outcome,
    stop: &AtomicBool,
    pause: &mut dyn FnMut(&mut Ftl<Flash>),
) -> Outcome {
    while outcome == Outcome::Paused && !stop.load(Ordering::Relaxed) {
        pause(drive);
        outcome = drive.resume();
    }
    outcome
}

fn serve(
    drive: &mut Ftl<Flash>,
    batch: &mut Batch,
    stop: &AtomicBool,
    pause: &mut dyn FnMut(&mut Ftl<Flash>),
) -> Outcome {
    // A drive that gave capacity back is asked for what it still has.
    let exported = drive.exported();
    if exported == 0 {
        return Outcome::Done;
    }
    batch.pages.iter_mut().for_each(|page| *page %= exported);
    match batch.op {
        Op::Write => {
            let mut done = 0;
            while done < batch.pages.len() && !stop.load(Ordering::Relaxed) {
                let (written, outcome) = drive.write(Lpn::slice(next_slice(&batch.pages[done..])));
                done += written;
                match finish(drive, outcome, stop, pause) {
                    Outcome::Done => {}
                    ended => return ended,
                }
            }
            Outcome::Done
        }
        Op::Read => drive.read(Lpn::slice(&batch.pages)).map_or_else(Outcome::OutOfRange, |()| Outcome::Done),
        Op::Trim => drive.trim(Lpn::slice(&batch.pages)).map_or_else(Outcome::OutOfRange, |()| Outcome::Done),
        Op::Flush => Outcome::Done,
    }
}

/// What of a request is written before the next look at the flag that stops a run: a request may have gigabytes. Slice by slice
/// comes to the same as at once.
pub(crate) fn next_slice(pages: &[u32]) -> &[u32] {
    &pages[..pages.len().min(SLICE_PAGES)]
}

/// Pages of a request that is served whole.
pub(crate) const PAGES_MAX: usize = 1 << 20;

/// Pages of a request that are written between two looks at the flag that stops a run.
const SLICE_PAGES: usize = 1 << 12;
