//! From a scenario to a plan: names become objects here, once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_ftl::{BuildError, Ftl, FtlConfig};
use wane_sim::Streams;
use wane_units::Bytes;
use wane_workload::pattern::{PatternConfig, PatternSource, Shape};
use wane_workload::standin::{self, StandinSource};
use wane_workload::trace::{Assume, Options, Reader, Replay, TraceError, TraceSource};
use wane_workload::{Arrival, Batch, Mix, Op, Progress, SHARE_MIN, Source, SourceError};

pub use crate::overrides::{Override, PolicyOverrides};
use crate::overrides::{OverrideError, Policies};
use crate::run::{Drive, Phase, Plan, Precondition};
use wane_scenario::{Device, Pattern, Scenario, TraceSpec, Workload};

mod detailed;

/// Why a scenario that resolved cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The firmware refuses its counts.
    #[error(transparent)]
    Firmware(#[from] BuildError),
    /// Times or schedule contradict each other.
    #[error("[drive.timing] and [time]: {0}")]
    Clock(#[from] wane_ssd::ConfigError),
    /// A policy from outside does not fit the scenario.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// Errors or their correction contradict each other.
    #[error("[drive]: {0}")]
    Nand(#[from] wane_nand::NandConfigError),
    /// A trace cannot be opened or does not fit the drive.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Requests are to come at the times of a trace that has none.
    #[error("{0}, so arrival = \"trace\" cannot be; give arrival.queue-depth or arrival.poisson")]
    Timeless(String),
    /// A phase loops over traces without a write and ends by writes only.
    #[error("the run would never end, because the traces of {0} hold no write; give {1}.requests, or loop = false")]
    Endless(String, String),
}

/// The plan of a scenario.
///
/// # Errors
/// A trace cannot be opened, or the maps find no memory.
pub fn plan(scenario: &Scenario) -> Result<Plan, PlanError> {
    plan_with(scenario, &PolicyOverrides::default(), &Arc::default())
}

/// The plan of a scenario with policies from outside. Once `stop` is true, traces are not read further; the plan is then
/// for a run that ends before it asks them.
///
/// # Errors
/// As [`plan`].
pub fn plan_with(scenario: &Scenario, overrides: &PolicyOverrides, stop: &Arc<AtomicBool>) -> Result<Plan, PlanError> {
    let Scenario { device, precondition, .. } = scenario;
    let streams = Streams::new(scenario.seed);
    let mut opener = Opener { device: *device, streams, stop: Arc::clone(stop), decoded: Vec::new() };
    let drive = drive(scenario, overrides.policies(scenario)?, &mut opener)?;
    let logical = f64::from(device.logical_units);
    let filled = precondition.sequential_drive_writes > 0;
    let mut phases = Vec::new();
    for (number, phase) in scenario.phases.iter().enumerate() {
        let source = opener.source(&phase.workload, &format!("workload.{number}"))?;
        if phase.arrival == Arrival::Trace
            && let Some(reason) = source.timeless()
        {
            return Err(PlanError::Timeless(reason));
        }
        if source.never_writes() && phase.until.requests.is_none() {
            return Err(endless(scenario, number));
        }
        let units = phase.until.drive_writes.map(|drive_writes| (drive_writes * logical).round() as u64);
        phases.push(Phase { source, units_max: units, requests_max: phase.until.requests });
    }
    Ok(Plan {
        drive,
        unit_bytes: device.unit.0,
        precondition: Precondition {
            fill_units: if filled { 0 } else { precondition.fill.floor_of(u64::from(device.logical_units)) as u32 },
            sequential_drive_writes: precondition.sequential_drive_writes,
            random_units: (precondition.random_drive_writes * logical).round() as u64,
            stream: streams.stream("precondition"),
        },
        phases,
    })
}

/// Refuses a drive that cannot be built, without a look at traces.
///
/// # Errors
/// Firmware and flash do not fit each other.
pub fn check_drive(scenario: &Scenario) -> Result<(), PlanError> {
    let streams = Streams::new(scenario.seed);
    let mut opener = Opener { device: scenario.device, streams, stop: Arc::default(), decoded: Vec::new() };
    drive(scenario, Policies::of(&scenario.ftl), &mut opener).map(drop)
}

/// Refuses a phase that waits for writes, where its workload loops over traces without one. Reads each such trace up to its
/// first write; one that cannot be read, and stdin, are left to the run.
///
/// # Errors
/// A phase would never end.
pub fn check_ends(scenario: &Scenario) -> Result<(), PlanError> {
    for (number, phase) in scenario.phases.iter().enumerate() {
        if phase.until.requests.is_none() && !phase.workload.ends() && !may_write(&phase.workload) {
            return Err(endless(scenario, number));
        }
    }
    Ok(())
}

fn may_write(workload: &Workload) -> bool {
    match workload {
        Workload::Mix(parts) => parts.iter().any(|(share, part)| share.get() > SHARE_MIN && may_write(part)),
        Workload::Trace(spec) if spec.path == Path::new("-") => true,
        Workload::Trace(spec) => Reader::open(&spec.path, &trace_options(spec))
            .map_or(true, |mut reader| reader.any(|request| request.map_or(true, |request| request.op == Op::Write))),
        Workload::Pattern(_) | Workload::Standin(_) => workload.writes(),
    }
}

fn endless(scenario: &Scenario, phase: usize) -> PlanError {
    let place = |table: &str| match scenario.phases.len() {
        1 => table.to_owned(),
        _ => format!("phase.{phase}.{table}"),
    };
    PlanError::Endless(place("workload"), place("until"))
}

fn drive(scenario: &Scenario, policies: Policies, opener: &mut Opener) -> Result<Drive, PlanError> {
    let (Scenario { device, ftl, .. }, streams) = (scenario, opener.streams);
    let detailed = detailed::is_needed(scenario, &policies);
    let spec = if detailed { Some(detailed::spec(scenario, &policies, opener)?) } else { None };
    let config = FtlConfig {
        units_per_page: device.units_per_page,
        logical_units: device.logical_units,
        gc_reserve: device.gc_reserve,
        rated_blocks: device.rated_blocks,
        endurance: device.endurance,
        retire: policies.retire,
        unit: ftl.unit,
        domain: ftl.domain,
        frontiers: ftl.frontiers,
        victim: policies.victim,
        wear_leveling: policies.wear_leveling,
        redundancy: policies.redundancy,
        scrub: policies.scrub,
        capacity: policies.capacity,
        streams,
    };
    Ok(if let Some(spec) = spec {
        let flash = detailed::flash(scenario, streams);
        Drive::Detailed(Box::new(Ftl::new(flash, config)?), Box::new(spec))
    } else {
        Drive::Plain(Box::new(Ftl::new(detailed::array(scenario, streams), config)?))
    })
}

/// Makes sources. A trace that is decoded whole is decoded once, whoever asks for it.
pub(crate) struct Opener {
    device: Device,
    pub(crate) streams: Streams,
    stop: Arc<AtomicBool>,
    /// Traces that are decoded whole, each with a source that is still at its start.
    decoded: Vec<(TraceSpec, TraceSource)>,
}

impl Opener {
    /// Another one that shares what was decoded.
    pub(crate) fn another(&self) -> Self {
        let (device, streams, stop) = (self.device, self.streams, Arc::clone(&self.stop));
        let decoded = self.decoded.iter().filter_map(|(spec, source)| Some((spec.clone(), source.restarted()?)));
        Self { device, streams, stop, decoded: decoded.collect() }
    }

    /// The source of a workload, whose random streams begin with `name`.
    pub(crate) fn source(&mut self, workload: &Workload, name: &str) -> Result<Box<dyn Source>, PlanError> {
        let stream = self.streams.stream(name);
        Ok(match workload {
            Workload::Pattern(spec) => Box::new(PatternSource::new(
                PatternConfig {
                    shape: shape(&spec.pattern, spec.footprint_units),
                    footprint_pages: spec.footprint_units,
                    request_pages: spec.request_units,
                    read_share: spec.read_share.get(),
                    trim_share: spec.trim_share.get(),
                },
                stream,
            )),
            Workload::Standin(standin) => standin_source(standin, &self.device, self.streams, name),
            Workload::Trace(spec) => match self.trace(spec) {
                Err(PlanError::Trace(TraceError::Interrupted { .. })) => Box::new(Nothing),
                source => Box::new(source?),
            },
            Workload::Mix(parts) => {
                let mut built = Vec::new();
                for (number, (share, part)) in parts.iter().enumerate() {
                    built.push((share.get(), self.source(part, &format!("{name}.{number}"))?));
                }
                Box::new(Mix::new(built, stream))
            }
        })
    }

    fn trace(&mut self, spec: &TraceSpec) -> Result<TraceSource, PlanError> {
        let decoded = self.decoded.iter().find(|(known, _)| known == spec);
        if let Some(source) = decoded.and_then(|(_, decoded)| decoded.restarted()) {
            return Ok(source);
        }
        let reader = Reader::open(Path::new(&spec.path), &trace_options(spec))?.stopped_by(Arc::clone(&self.stop));
        let replay = Replay {
            page_bytes: self.device.unit.0,
            logical_pages: self.device.logical_units,
            compact: spec.compact,
            looped: spec.looped,
        };
        let source = TraceSource::new(reader, replay)?;
        if let Some(another) = source.restarted() {
            self.decoded.push((spec.clone(), another));
        }
        Ok(source)
    }
}

/// In place of a trace whose reading was interrupted: the run ends before it asks.
struct Nothing;

impl Source for Nothing {
    fn next(&mut self, batch: &mut Batch, _pages_max: usize, _requests_max: u64) -> Result<Progress, SourceError> {
        batch.pages.clear();
        batch.requests = 0;
        Ok(Progress::End)
    }
}

fn shape(pattern: &Pattern, footprint: u32) -> Shape {
    match *pattern {
        Pattern::Uniform => Shape::Uniform,
        Pattern::HotCold { r, h } => Shape::HotCold { r: r.get(), hot_pages: h.floor_of(u64::from(footprint)) as u32 },
        Pattern::Zipf { exponent, scramble } => Shape::Zipf { exponent, scramble },
        Pattern::Sequential => Shape::Sequential,
        Pattern::Hybrid { sequential_share } => Shape::Hybrid { sequential_share: sequential_share.get() },
        Pattern::Jesd219 => Shape::Jesd219,
    }
}

fn standin_source(standin: &str, device: &Device, streams: Streams, name: &str) -> Box<dyn Source> {
    let (logical, unit) = (device.logical_units, device.unit.0);
    if let Some(traffic) = standin::find_traffic(standin) {
        let streams = standin::traffic_streams(streams, name);
        return Box::new(standin::traffic_source(traffic, logical, unit, streams));
    }
    let standin = standin::find(standin).expect("resolved scenarios name known stand-ins");
    Box::new(StandinSource::new(standin, logical, unit, streams.stream(name)))
}

/// How a scenario's trace is read.
pub fn trace_options(spec: &TraceSpec) -> Options {
    Options {
        format: spec.format.as_deref().and_then(|format| format.parse().ok()),
        assume: Assume { op: if spec.assume_read { Op::Read } else { Op::Write }, block_bytes: spec.assume_block.0 },
        skip_bad_lines: spec.skip_bad_lines,
    }
}

/// Flash pages that a scenario will program, roughly, for an estimate of its time. `None` where only the end of a
/// trace decides.
pub fn programs_estimate(scenario: &Scenario) -> Option<f64> {
    let device = &scenario.device;
    let logical = f64::from(device.logical_units);
    // Uniform writes on a first-in first-out drive bound what greedy collection relocates.
    let alpha = 1.0 / (1.0 - device.spare_factor);
    let amplification = wane_theory::lru_write_amplification(alpha);
    let prepared = f64::from(scenario.precondition.sequential_drive_writes)
        + scenario.precondition.random_drive_writes * amplification;
    let mut pages = prepared * logical;
    for phase in &scenario.phases {
        let life = device.endurance.map(|endurance| f64::from(endurance) * device.physical_units() as f64);
        let written = phase.until.drive_writes.map(|drive_writes| drive_writes * logical * amplification);
        let requested = phase.until.requests.map(|requests| requests as f64 * amplification);
        let bounds = [written, requested, life.filter(|_| phase.until.end_of_life)];
        pages += bounds.into_iter().flatten().reduce(f64::min)?;
    }
    Some(pages)
}

/// Bytes that a run holds at its peak, roughly.
pub fn memory_estimate(scenario: &Scenario) -> Bytes {
    memory_of(scenario, &Policies::of(&scenario.ftl))
}

/// As [`memory_estimate`], with these policies.
pub(crate) fn memory_of(scenario: &Scenario, policies: &Policies) -> Bytes {
    let footprint_map = policies.capacity.may_shrink();
    let looked_up = if footprint_map {
        8 * u64::from(scenario.device.logical_units) + u64::from(scenario.device.logical_units) / 8
    } else {
        0
    };
    Bytes(scenario.device.memory_bytes() + looked_up + detailed::memory(scenario, policies))
}
