//! Estimates how long a run will take and what it will program. A miniature of the scenario is measured in a fraction of a second.
//!
//! The miniature does the same work on a drive with a few megabytes of maps. Its seconds for a host unit, once these are steady, and
//! its write amplification are applied to each drive write of the drive. A larger drive also waits for memory, since its maps do not fit
//! the caches. That time is measured on an array of their size, and added for each page.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_nand::Relocations;
use wane_scenario::{FastForward, Phase, Probe, Scenario, Scheduler, TraceSpec, Until, Workload};
use wane_ssd::Drive;
use wane_workload::Op;
use wane_workload::trace::Reader;

use crate::build::{self, PolicyOverrides};
use crate::forward;
use crate::held::Target;
use crate::predict;
use crate::progress::Stopwatch;
use crate::run::{Budget, Progress, Run, Watch};
use crate::sources::trace_options;

/// Units of a miniature that only ages, of one with errors, and of one that is timed.
const UNITS: [u64; 3] = [1 << 19, 1 << 18, 1 << 17];
/// Seconds that a phase of the miniature is watched, and the seconds if it is not steady by then.
const WATCHED_SECONDS: f64 = 0.25;
const WATCHED_SECONDS_MAX: f64 = 1.0;
/// Units programmed, divided by those of the flash, after which a drive counts as steady.
const ROUNDS: f64 = 3.0;
/// Most drive writes of the miniature's preconditioning.
const RANDOM_DRIVE_WRITES_MAX: f64 = 3.0;
/// Mean erases of a block from which the wear of a drive that lives to its end can be distinguished from chance.
const ERASES_MEAN: f64 = 20.0;
/// Mean erases of a block between two looks at the wear.
const ERASES_LOOK: f64 = 0.5;
/// Requests between two looks at the clock.
const SLICE_REQUESTS: u64 = 2048;
/// Units of preconditioning between two looks.
const SLICE_UNITS: u64 = 1 << 15;
/// Places in memory that each programmed page waits for. It changes three or four, but batches prefetch most of them.
const TOUCHES: f64 = 1.0;
/// Largest array that is measured. Beyond this size memory hardly gets slower.
const ARRAY_BYTES_MAX: u64 = 256 << 20;
/// Time limit for counting the requests of a trace, in seconds.
const COUNT_SECONDS: f64 = 0.5;
/// Least number of requests of a trace that a miniature keeps, if the trace has them.
const SAMPLED_REQUESTS_MIN: u64 = 4096;
/// Bytes per second when a drive is copied.
const COPY_BYTES_PER_SECOND: f64 = 2e9;

/// The estimate of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Seconds on one core of this machine.
    pub seconds: f64,
    /// Flash pages programmed, in mapping units.
    pub pages: f64,
    /// Drive writes of the life, including predicted ones.
    pub drive_writes: f64,
    /// Drive writes that are simulated. In an adaptive life, which decides during the run, all of them.
    pub simulated: f64,
}

impl Estimate {
    /// The sum of two estimates, for one part after the other.
    fn and(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            pages: self.pages + other.pages,
            drive_writes: self.drive_writes + other.drive_writes,
            simulated: self.simulated + other.simulated,
        }
    }

    /// The estimate with fast-forward.
    fn skipped(self, spec: &FastForward) -> Self {
        let simulated = forward::simulated(spec, self.drive_writes);
        let share = if self.drive_writes > 0.0 { simulated / self.drive_writes } else { 1.0 };
        Self { seconds: self.seconds * share, pages: self.pages * share, simulated, ..self }
    }
}

/// Estimates a run. `None` if its length depends on the end of a long trace, or of a trace that can be read only once. Each drive of an array counts as one
/// alone that is given what the array writes on it; what the array itself does takes no time here.
pub fn estimate(scenario: &Scenario) -> Option<Estimate> {
    let Some(array) = &scenario.array else { return of_drive(scenario) };
    let given = predict::given(scenario);
    let mut sum = Estimate { drive_writes: f64::INFINITY, simulated: f64::INFINITY, ..Estimate::default() };
    for place in 0..array.members.len() {
        let mut member = scenario.of_member(place)?;
        member.fast_forward = scenario.fast_forward;
        let own = of_drive(&member)?;
        // Drive writes of it for one of the array, and pages of it for one of the host.
        let (drive_writes, share) = given.as_ref().map_or((1.0, 1.0), |given| given[place]);
        let until = &scenario.phases[0].until;
        let times = match () {
            // A drive's life in its own writes does not depend on its share.
            () if until.end_of_life && until.drive_writes.is_none() && until.days.is_none() => 1.0,
            () if until.requests.is_some() => share,
            () => drive_writes,
        };
        sum.seconds += own.seconds * times;
        sum.pages += own.pages * times;
        let of_array = times / drive_writes.max(f64::MIN_POSITIVE);
        sum.drive_writes = sum.drive_writes.min(own.drive_writes * of_array);
        sum.simulated = sum.simulated.min(own.simulated * of_array);
    }
    Some(sum)
}

fn of_drive(scenario: &Scenario) -> Option<Estimate> {
    // What a file system does besides takes no time here.
    let scenario = &Scenario { file_system: None, ..scenario.clone() };
    let mut aging = scenario.clone();
    if scenario.probe.is_some() {
        (aging.probe, aging.time.scheduler) = (None, Scheduler::None);
    }
    let latency = Latency::measure(scenario);
    let (mut before, mut sum) = (Estimate::default(), Estimate::default());
    for (number, phase) in aging.phases.iter().enumerate() {
        let (prepared, mut part) = of_phase(&aging, phase, number == 0, &latency)?;
        if let Some(spec) = &scenario.fast_forward {
            part = part.skipped(spec);
        }
        before = before.and(prepared);
        sum = sum.and(part);
    }
    sum = before.and(sum);
    if let Some(probe) = &scenario.probe {
        sum.seconds += of_probe(scenario, probe)?;
    }
    Some(sum)
}

/// Seconds that aging a held drive to a target takes, of which it has made `made` drive writes and used `used` of its wear; without a target,
/// those of preconditioning it. `None` as of [`estimate`].
pub fn aging_seconds(scenario: &Scenario, target: Option<Target>, made: f64, used: f64) -> Option<f64> {
    if let Some(array) = &scenario.array {
        // Each of its drives is written as often as the array, or less.
        let of_drive = |place| aging_seconds(&scenario.of_member(place)?, target, made, used);
        return (0..array.members.len()).map(of_drive).sum();
    }
    let mut asked = scenario.clone();
    let mut until = Until::default();
    let share = match target {
        None => {
            until.drive_writes = Some(0.01);
            1.0
        }
        Some(Target::DriveWrites(writes)) => {
            until.drive_writes = Some((writes - made).max(0.01));
            1.0
        }
        Some(Target::Days(days)) => {
            until.days = Some(days);
            1.0
        }
        Some(Target::Wear(share)) => {
            until.end_of_life = true;
            (share - used).max(0.0)
        }
        Some(Target::EndOfLife) => {
            until.end_of_life = true;
            1.0 - used
        }
        // A copy is aged to its end first.
        Some(Target::DriveWritesLeft(_) | Target::DaysLeft(_)) => {
            until.end_of_life = true;
            2.0 * (1.0 - used)
        }
    };
    asked.phases[0].until = until;
    // A drive ages without its clock, and mostly without its errors.
    (asked.probe, asked.time.scheduler) = (None, Scheduler::None);
    if asked.medium.ecc.relocations == Relocations::Trusted {
        asked.medium.chip = None;
    }
    estimate(&asked).map(|each| share * each.seconds)
}

/// The measurements of a miniature.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// Preconditioning.
    prepared: Stretch,
    /// The phase, and its last third.
    whole: Stretch,
    late: Stretch,
    /// Whether the phase ended, and whether the drive died.
    is_over: bool,
    died: bool,
    /// Wear of the blocks that a fixed drive cannot lose, divided by the mean wear.
    unevenness: f64,
    /// Seconds to build the miniature, including decoding of traces.
    opened: f64,
    /// Drive writes per day.
    per_day: Option<f64>,
    /// Logical units of the miniature.
    logical: f64,
}

/// Seconds, host units and programmed units of a part of a trial.
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

    /// Units programmed per host unit.
    fn amplification(self) -> f64 {
        if self.units > 0.0 { (self.programmed / self.units).max(1.0) } else { 1.0 }
    }
}

/// The estimates of preconditioning, if the phase is the first, and of the phase.
fn of_phase(scenario: &Scenario, phase: &Phase, is_first: bool, latency: &Latency) -> Option<(Estimate, Estimate)> {
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
            ..Estimate::default()
        }
    } else {
        Estimate::default()
    };
    let until = &phase.until;
    let Trial { whole, late, .. } = trial;
    let units_per_request = if whole.requests > 0.0 { whole.units / whole.requests } else { 0.0 };
    let by_days = until.days.zip(trial.per_day).map(|(days, rate)| days * rate * logical);
    // First erases of the scenario replace those of preconditioning.
    let all_worn = |endurance: u32| match scenario.medium.initial.erase_count {
        Some(first) => f64::from(endurance.saturating_sub(first)) * physical / trial.unevenness,
        None => f64::from(endurance) * physical / trial.unevenness - prepared.pages,
    };
    let life = match scenario.device.endurance.filter(|_| until.end_of_life) {
        _ if trial.died => Some(whole.units * scale),
        endurance => endurance.map(|endurance| all_worn(endurance).max(0.0) / late.amplification()),
    };
    let of_trace = match &phase.workload {
        // On a miniature, the rest of a trace may be a share of its requests, or all of them.
        Workload::Trace(trace) if !trace.looped => units_of_trace(scenario, trace),
        _ => trial.is_over.then_some(whole.units * scale).filter(|_| phase.workload.ends()),
    };
    let written = until.drive_writes.map(|drive_writes| drive_writes * logical);
    let requested = until.requests.map(|requests| requests as f64 * units_per_request).filter(|units| *units > 0.0);
    let units = [written, by_days, life, of_trace, requested].into_iter().flatten().reduce(f64::min);
    if matches!(&phase.workload, Workload::Trace(trace) if !trace.looped) && units.is_none() && until.requests.is_none()
    {
        return None;
    }
    let phase = match units.filter(|_| whole.units > 0.0) {
        Some(units) if units <= whole.units * scale => {
            let share = units / whole.units;
            Estimate { seconds: whole.seconds * share, pages: whole.programmed * share, ..Estimate::default() }
        }
        Some(units) => {
            let rest = (units - whole.units * scale) / late.units.max(1.0);
            Estimate {
                seconds: whole.seconds * scale + rest * late.seconds,
                pages: whole.programmed * scale + rest * late.programmed,
                ..Estimate::default()
            }
        }
        // Nothing is written, so only requests take time.
        None => {
            let requests = until.requests? as f64;
            Estimate { seconds: requests * late.seconds / late.requests.max(1.0), ..Estimate::default() }
        }
    };
    let waited =
        |part: Estimate| Estimate { seconds: part.seconds + part.pages * latency.of_page(trial.logical), ..part };
    let drive_writes = units.unwrap_or(0.0) / logical;
    Some((waited(prepared), Estimate { drive_writes, simulated: drive_writes, ..waited(phase) }))
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
    Some((probe.ages.count() + usize::from(probe.at_end_of_life)) as f64 * (each + copied + trial.opened))
}

/// A miniature at work.
struct Miniature {
    run: Run,
    stop: Arc<AtomicBool>,
    at: Stretch,
}

impl Miniature {
    /// Advances the run and adds up its time and units; `None` if its trace cannot be read further.
    fn advance(&mut self, budget: Budget) -> Option<Progress> {
        let stopwatch = Stopwatch::start();
        let progress = self.run.advance(budget, &mut Watch { step: &mut |_| {}, stop: &self.stop }).ok()?;
        let counters = self.run.drive().counters();
        self.at.seconds += stopwatch.elapsed().as_secs_f64();
        self.at.units = counters.host_units_written as f64;
        self.at.programmed = counters.programmed_total() as f64;
        Some(progress)
    }
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
    let mut scaled = single.miniature(units).ok()?;
    let random = &mut scaled.precondition.random_drive_writes;
    *random = random.min(RANDOM_DRIVE_WRITES_MAX);
    if scaled.traces().iter().any(|path| !path.is_file()) {
        return None;
    }
    sample_enough(&mut scaled.phases[0].workload, &phase.workload, scenario.device.unit.0);
    let stop = Arc::new(AtomicBool::new(false));
    let opening = Stopwatch::start();
    let plan = build::plan_with(&scaled, &PolicyOverrides::default(), &stop).ok()?;
    let opened = opening.elapsed().as_secs_f64();
    let per_day = plan.calendar.map(|calendar| calendar.drive_writes_per_day);
    let mut miniature = Miniature { run: Run::new(plan), stop, at: Stretch::default() };
    // No requests, since the slice that ends preconditioning must not enter the phase.
    let slice = Budget { units: SLICE_UNITS, ..Budget::requests(0) };
    while miniature.advance(slice)? == Progress::Paused && miniature.run.is_preconditioning() {}
    let watched = watch(&mut miniature, &scaled)?;
    Some(Trial { opened, per_day, logical: f64::from(scaled.device.logical_units), ..watched })
}

/// Measures a miniature in its phase.
fn watch(miniature: &mut Miniature, scenario: &Scenario) -> Option<Trial> {
    let physical = scenario.device.physical_units() as f64;
    let wears_out = scenario.phases[0].until.end_of_life && scenario.device.endurance.is_some();
    let prepared = miniature.at;
    let mut slices = vec![prepared];
    let mut wear = Wear::default();
    let is_over = loop {
        let progress = miniature.advance(Budget::requests(SLICE_REQUESTS))?;
        miniature.at.requests += SLICE_REQUESTS as f64;
        let at = miniature.at;
        slices.push(at);
        let (seconds, rounds) = (at.since(prepared).seconds, at.since(prepared).programmed / physical);
        if wears_out {
            wear.look(rounds, miniature.run.drive());
        }
        // Until garbage collection has reclaimed the whole drive, writes cost less than later.
        let has_gone_round = at.programmed >= ROUNDS * physical && (!wears_out || rounds >= ERASES_MEAN);
        let is_steady = at.units == prepared.units || has_gone_round;
        if progress == Progress::Over || (is_steady && seconds >= WATCHED_SECONDS) || seconds >= WATCHED_SECONDS_MAX {
            break progress == Progress::Over;
        }
    };
    let drive = miniature.run.drive();
    Some(Trial {
        prepared,
        whole: miniature.at.since(prepared),
        late: miniature.at.since(slices[slices.len() * 2 / 3]),
        is_over,
        died: is_over && drive.end_of_life().is_some(),
        unevenness: wear.unevenness(),
        ..Trial::default()
    })
}

/// Erases of a miniature's blocks at several looks.
#[derive(Debug, Default)]
struct Wear {
    looks: Vec<(f64, Vec<u32>)>,
    /// Blocks that the drive can lose.
    spare: usize,
}

impl Wear {
    fn look(&mut self, rounds: f64, drive: &Drive) {
        if self.looks.last().is_some_and(|(last, _)| rounds < last + ERASES_LOOK) {
            return;
        }
        let counts = drive.superblock_erase_counts();
        if self.looks.is_empty() {
            let beside = drive.service_units().saturating_sub(u64::from(drive.exported()));
            let of_block = u64::from(drive.layout().units_per_block());
            // A drive that may shrink can lose all of its blocks in the end.
            self.spare = if drive.capacity_policy().may_shrink() { counts.len() } else { (beside / of_block) as usize };
        }
        self.looks.push((rounds, counts.to_vec()));
    }

    /// Wear of the blocks whose loss ends the drive, divided by the mean wear. These blocks are chosen as the most worn in the first half of the
    /// looks, and their wear is measured in the second half, since by chance some block is the most worn on any drive.
    fn unevenness(&self) -> f64 {
        let [(from, first), .., (to, last)] = self.looks.as_slice() else { return 1.0 };
        let half = self.looks.partition_point(|(rounds, _)| *rounds < (from + to) / 2.0);
        let middle = &self.looks[half].1;
        let mut blocks: Vec<usize> = (0..first.len()).collect();
        blocks.sort_by_key(|block| std::cmp::Reverse(middle[*block] - first[*block]));
        let mean = |blocks: &[usize]| {
            let erases: u64 = blocks.iter().map(|block| u64::from(last[*block] - middle[*block])).sum();
            erases as f64 / blocks.len() as f64
        };
        let (worn, all) = (mean(&blocks[..self.spare.clamp(1, blocks.len())]), mean(&blocks));
        if all > 0.0 { (worn / all).max(1.0) } else { 1.0 }
    }
}

/// What was counted of a trace.
struct Counted {
    requests: u64,
    /// Mapping units written.
    units: u64,
    /// Whether the trace was read to its end.
    is_whole: bool,
}

fn counted(trace: &TraceSpec, unit: u64) -> Option<Counted> {
    let stopwatch = Stopwatch::start();
    let mut counted = Counted { requests: 0, units: 0, is_whole: true };
    for request in Reader::open(&trace.path, &trace_options(trace)).ok()? {
        let request = request.ok()?;
        counted.requests += 1;
        if request.op == Op::Write {
            counted.units += (request.offset + request.length).div_ceil(unit) - request.offset / unit;
        }
        if stopwatch.elapsed().as_secs_f64() > COUNT_SECONDS {
            counted.is_whole = false;
            break;
        }
    }
    Some(counted)
}

/// Units that a trace writes; `None` for a trace that is too long to count.
fn units_of_trace(scenario: &Scenario, trace: &TraceSpec) -> Option<f64> {
    let counted = counted(trace, scenario.device.unit.0).filter(|counted| counted.is_whole)?;
    Some(counted.units as f64 / f64::from(trace.sample))
}

/// Lets a miniature keep more addresses of its traces than its share, up to those that the drive keeps, if its share would be only a
/// few requests, which would not be representative.
fn sample_enough(workload: &mut Workload, of: &Workload, unit: u64) {
    match (workload, of) {
        (Workload::Trace(small), Workload::Trace(own)) if small.sample > own.sample => {
            let requests = counted(own, unit).map_or(0, |counted| counted.requests);
            let enough = u32::try_from(requests / SAMPLED_REQUESTS_MIN).unwrap_or(u32::MAX);
            small.sample = small.sample.min(enough.max(own.sample));
        }
        (Workload::Mix(small), Workload::Mix(own)) => {
            small.iter_mut().zip(own).for_each(|((_, small), (_, own))| sample_enough(small, own, unit));
        }
        _ => {}
    }
}

/// The memory latency of a drive's maps compared with those of a miniature.
struct Latency {
    /// Bytes of a drive's maps for each logical unit.
    bytes_per_unit: f64,
    /// Seconds to change a place in the drive's maps.
    seconds: f64,
}

impl Latency {
    fn measure(scenario: &Scenario) -> Self {
        let bytes = scenario.device.memory_bytes();
        let units = f64::from(scenario.device.logical_units);
        Self { bytes_per_unit: bytes as f64 / units, seconds: seconds_of_a_touch(bytes.min(ARRAY_BYTES_MAX)) }
    }

    /// Seconds that a page costs in addition to those on a miniature of `logical` units.
    fn of_page(&self, logical: f64) -> f64 {
        let small = seconds_of_a_touch(((logical * self.bytes_per_unit) as u64).clamp(1 << 16, ARRAY_BYTES_MAX));
        TOUCHES * (self.seconds - small).max(0.0)
    }
}

/// Mean seconds to change a random place of an array of `bytes` bytes, with accesses to other places in flight.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The unevenness of a hundred blocks, of which the last twenty wear `faster` times as fast, and the first of the others more by chance.
    fn unevenness(faster: u32) -> f64 {
        let erases = |round: u32| {
            let of_block = |block: u32| if block < 80 { 10 * round } else { faster * 10 * round };
            let chance = |block: u32, at: u32| if block % 8 == at { 20 } else { 0 };
            (0..100).map(|block| of_block(block) + (1..=round).map(|at| chance(block, at)).sum::<u32>()).collect()
        };
        Wear { looks: (0..5).map(|round| (f64::from(round), erases(round))).collect(), spare: 10 }.unevenness()
    }

    #[test]
    fn blocks_that_are_worn_by_their_data_count_and_those_by_chance_do_not() {
        assert!((unevenness(5) - 2.5).abs() < 0.2, "{}", unevenness(5));
        assert!((unevenness(1) - 1.0).abs() < 0.1, "{}", unevenness(1));
        assert_eq!(Wear::default().unevenness(), 1.0);
    }
}
