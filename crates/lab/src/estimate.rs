//! How long a run will take, and what it will program: measured on a miniature of the very scenario in a fraction of a second.
//!
//! The miniature does the same work on a drive of a few megabytes of maps. Its seconds for a host unit, once it no longer changes much, and
//! its write amplification are carried over to the drive write for drive write. What a larger drive costs beside is the time until memory
//! answers: its maps do not fit the caches. That is measured too, on an array of their size, and added for each page.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_scenario::{Phase, Probe, Scenario, Scheduler, Workload};
use wane_workload::Op;
use wane_workload::trace::Reader;

use crate::build::{self, PolicyOverrides};
use crate::progress::Stopwatch;
use crate::run::{Budget, Progress, Run, Step, Watch};
use crate::sources::trace_options;

/// Units of a miniature that only ages, of one that errs besides, and of one that is timed.
const UNITS: [u64; 3] = [1 << 19, 1 << 18, 1 << 17];
/// Seconds that a phase of the miniature is watched, and how long where it is not steady by then.
const WATCHED_SECONDS: f64 = 0.25;
const WATCHED_SECONDS_MAX: f64 = 1.0;
/// Units programmed, over those of the flash, after which a drive is taken to be steady.
const ROUNDS: f64 = 3.0;
/// Most drive writes of the miniature's preconditioning.
const RANDOM_DRIVE_WRITES_MAX: f64 = 3.0;
/// Requests between two looks at the clock.
const SLICE_REQUESTS: u64 = 2048;
/// Units of preconditioning between two looks.
const SLICE_UNITS: u64 = 1 << 15;
/// Places in memory that a page programmed waits for. It changes three or four, but batches have most of them on their way.
const TOUCHES: f64 = 1.0;
/// Largest array whose answers are waited for: beyond, they hardly come later.
const ARRAY_BYTES_MAX: u64 = 256 << 20;
/// Seconds that the requests of a trace are counted.
const COUNT_SECONDS: f64 = 0.5;
/// Bytes that a copy of a drive moves in a second.
const COPY_BYTES_PER_SECOND: f64 = 2e9;

/// What a run is likely to take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Seconds on one core of this machine.
    pub seconds: f64,
    /// Flash pages programmed, in mapping units.
    pub pages: f64,
}

/// The estimate of a run; `None` where only the end of a long trace, or of something that can be read only once, decides.
pub fn estimate(scenario: &Scenario) -> Option<Estimate> {
    let mut aging = scenario.clone();
    if scenario.probe.is_some() {
        (aging.probe, aging.time.scheduler) = (None, Scheduler::None);
    }
    let latency = Latency::measure(scenario);
    let mut sum = Estimate::default();
    for (number, phase) in aging.phases.iter().enumerate() {
        let part = of_phase(&aging, phase, number == 0, &latency)?;
        sum = Estimate { seconds: sum.seconds + part.seconds, pages: sum.pages + part.pages };
    }
    if let Some(probe) = &scenario.probe {
        sum.seconds += of_probe(scenario, probe)?;
    }
    Some(sum)
}

/// What a miniature did.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// Seconds, host units and units programmed of preconditioning.
    prepared: Stretch,
    /// The same of the phase, and of its last third.
    whole: Stretch,
    late: Stretch,
    /// Whether the phase came to its end.
    is_over: bool,
    /// Seconds until the miniature stood, in which traces were decoded.
    opened: f64,
    /// Drive writes in a day.
    per_day: Option<f64>,
    /// Logical units of the miniature.
    logical: f64,
}

/// A stretch of a trial.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    seconds: f64,
    units: f64,
    requests: f64,
    programmed: f64,
}

impl Stretch {
    fn since(self, earlier: Self) -> Self {
        Self {
            seconds: self.seconds - earlier.seconds,
            units: self.units - earlier.units,
            requests: self.requests - earlier.requests,
            programmed: self.programmed - earlier.programmed,
        }
    }

    /// Units programmed for a host unit.
    fn amplification(self) -> f64 {
        if self.units > 0.0 { (self.programmed / self.units).max(1.0) } else { 1.0 }
    }
}

/// The first phase's estimate has what comes before it: preconditioning.
fn of_phase(scenario: &Scenario, phase: &Phase, is_first: bool, latency: &Latency) -> Option<Estimate> {
    let trial = trial(scenario, phase)?;
    let (logical, physical) = (f64::from(scenario.device.logical_units), scenario.device.physical_units() as f64);
    let scale = logical / trial.logical;
    let precondition = &scenario.precondition;
    let prepared = if is_first {
        let random = precondition.random_drive_writes;
        let units = (f64::from(precondition.sequential_drive_writes).max(precondition.fill.get()) + random) * logical;
        let measured = trial.prepared.units.max(1.0);
        Estimate {
            seconds: trial.prepared.seconds * units / measured + trial.opened,
            pages: trial.prepared.programmed * units / measured,
        }
    } else {
        Estimate::default()
    };
    let until = &phase.until;
    let Trial { whole, late, .. } = trial;
    let units_per_request = if whole.requests > 0.0 { whole.units / whole.requests } else { 0.0 };
    let by_days = until.days.zip(trial.per_day).map(|(days, rate)| days * rate * logical);
    let life = scenario
        .device
        .endurance
        .filter(|_| until.end_of_life)
        .map(|endurance| (f64::from(endurance) * physical - prepared.pages).max(0.0) / late.amplification());
    let of_trace = match &phase.workload {
        Workload::Trace(trace) if !trace.looped && !trial.is_over => Some(units_of_trace(scenario, &phase.workload)?),
        _ => trial.is_over.then_some(whole.units * scale).filter(|_| phase.workload.ends()),
    };
    let written = until.drive_writes.map(|drive_writes| drive_writes * logical);
    let requested = until.requests.map(|requests| requests as f64 * units_per_request).filter(|units| *units > 0.0);
    let units = [written, by_days, life, of_trace, requested].into_iter().flatten().reduce(f64::min);
    let phase = match units.filter(|_| whole.units > 0.0) {
        Some(units) if units <= whole.units * scale => {
            let share = units / whole.units;
            Estimate { seconds: whole.seconds * share, pages: whole.programmed * share }
        }
        Some(units) => {
            let rest = (units - whole.units * scale) / late.units.max(1.0);
            Estimate {
                seconds: whole.seconds * scale + rest * late.seconds,
                pages: whole.programmed * scale + rest * late.programmed,
            }
        }
        // Nothing is written: requests alone take time.
        None => {
            let requests = until.requests? as f64;
            Estimate { seconds: requests * late.seconds / late.requests.max(1.0), pages: 0.0 }
        }
    };
    let pages = prepared.pages + phase.pages;
    Some(Estimate { seconds: prepared.seconds + phase.seconds + pages * latency.of_page(trial.logical), pages })
}

/// Seconds of the probes: each copies the drive and serves its requests.
fn of_probe(scenario: &Scenario, probe: &Probe) -> Option<f64> {
    let mut timed = scenario.clone();
    let until = wane_scenario::Until { requests: Some(probe.requests), ..Default::default() };
    timed.probe = None;
    let phase = Phase { workload: probe.workload.clone(), arrival: probe.arrival, until };
    timed.precondition.random_drive_writes = timed.precondition.random_drive_writes.min(1.0);
    let trial = trial(&timed, &phase)?;
    let each = trial.late.seconds / trial.late.requests.max(1.0) * probe.requests as f64;
    let copied = 2.0 * scenario.device.memory_bytes() as f64 / COPY_BYTES_PER_SECOND;
    Some(probe.ages.count() as f64 * (each + copied + trial.opened))
}

/// Runs a phase on a miniature for a while.
fn trial(scenario: &Scenario, phase: &Phase) -> Option<Trial> {
    let units = match () {
        () if scenario.time.is_timed() => UNITS[2],
        () if scenario.medium.chip.is_some() => UNITS[1],
        () => UNITS[0],
    };
    let mut single = scenario.clone();
    single.phases = vec![phase.clone()];
    let mut miniature = single.miniature(units).ok()?;
    let random = &mut miniature.precondition.random_drive_writes;
    *random = random.min(RANDOM_DRIVE_WRITES_MAX);
    if miniature.traces().iter().any(|path| !path.is_file()) {
        return None;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let opening = Stopwatch::start();
    let plan = build::plan_with(&miniature, &PolicyOverrides::default(), &stop).ok()?;
    let logical = f64::from(miniature.device.logical_units);
    let physical = miniature.device.physical_units() as f64;
    let mut trial = Trial {
        opened: opening.elapsed().as_secs_f64(),
        per_day: plan.calendar.map(|calendar| calendar.drive_writes_per_day),
        logical,
        ..Trial::default()
    };
    let mut run = Run::new(plan);
    let mut at = Stretch::default();
    let mut advance = |budget: Budget, at: &mut Stretch| {
        let stopwatch = Stopwatch::start();
        let mut last: Option<Step> = None;
        let progress = run.advance(budget, &mut Watch { step: &mut |step| last = Some(*step), stop: &stop }).ok()?;
        let counters = run.drive().counters();
        at.seconds += stopwatch.elapsed().as_secs_f64();
        at.units = counters.host_units_written as f64;
        at.programmed = counters.programmed_total() as f64;
        Some((progress, run.is_preconditioning()))
    };
    // No request: the slice that ends preconditioning begins the phase, and may not go into it.
    let slice = Budget { units: SLICE_UNITS, ..Budget::requests(0) };
    while let (Progress::Paused, true) = advance(slice, &mut at)? {}
    trial.prepared = at;
    let mut slices = vec![at];
    loop {
        let (progress, _) = advance(Budget::requests(SLICE_REQUESTS), &mut at)?;
        at.requests += SLICE_REQUESTS as f64;
        slices.push(at);
        trial.is_over = progress == Progress::Over;
        let watched = at.since(trial.prepared).seconds;
        // Until garbage collection has gone round, writes cost less than they will.
        let is_steady = at.units == trial.prepared.units || at.programmed >= ROUNDS * physical;
        if trial.is_over || (is_steady && watched >= WATCHED_SECONDS) || watched >= WATCHED_SECONDS_MAX {
            break;
        }
    }
    trial.whole = at.since(trial.prepared);
    trial.late = at.since(slices[slices.len() * 2 / 3]);
    Some(trial)
}

/// Units that a trace writes, counted for a while; `None` of a longer one.
fn units_of_trace(scenario: &Scenario, workload: &Workload) -> Option<f64> {
    let Workload::Trace(trace) = workload else { return None };
    let stopwatch = Stopwatch::start();
    let unit = scenario.device.unit.0;
    let mut units = 0u64;
    for request in Reader::open(&trace.path, &trace_options(trace)).ok()? {
        let request = request.ok()?;
        if request.op == Op::Write {
            units += (request.offset + request.length).div_ceil(unit) - request.offset / unit;
        }
        if stopwatch.elapsed().as_secs_f64() > COUNT_SECONDS {
            return None;
        }
    }
    Some(units as f64 / f64::from(trace.sample))
}

/// How much longer the maps of a drive let wait than those of a miniature.
struct Latency {
    /// Bytes of a drive's maps for each logical unit.
    bytes_per_unit: f64,
    /// Seconds for a place in the drive's maps.
    seconds: f64,
}

impl Latency {
    fn measure(scenario: &Scenario) -> Self {
        let bytes = scenario.device.memory_bytes();
        let units = f64::from(scenario.device.logical_units);
        Self { bytes_per_unit: bytes as f64 / units, seconds: seconds_of_a_touch(bytes.min(ARRAY_BYTES_MAX)) }
    }

    /// What a page costs beyond what it cost a miniature of so many units, in seconds.
    fn of_page(&self, logical: f64) -> f64 {
        let small = seconds_of_a_touch(((logical * self.bytes_per_unit) as u64).clamp(1 << 16, ARRAY_BYTES_MAX));
        TOUCHES * (self.seconds - small).max(0.0)
    }
}

/// Seconds until one of many places of an array of so many bytes is changed, those of its neighbors in time being on their way.
fn seconds_of_a_touch(bytes: u64) -> f64 {
    const TOUCHED: u64 = 1 << 20;
    let mut words = vec![1u32; (bytes / 4) as usize];
    let places = words.len() as u64;
    let mut seed = 1u64;
    let stopwatch = Stopwatch::start();
    for _ in 0..TOUCHED {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = ((u128::from(seed) * u128::from(places)) >> 64) as usize;
        words[place] = words[place].wrapping_add(1);
    }
    let seconds = stopwatch.elapsed().as_secs_f64();
    std::hint::black_box(&words);
    seconds / TOUCHED as f64
}
