//! Builds a plan from a scenario: here names become objects.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_blockdev::Living;
use wane_ftl::FtlConfig;
use wane_ftl::policies::recovery::Summaries;
use wane_ftl::{BuildError, RefusedSetting};
use wane_nand::ErrorConfig;
use wane_results::Calendar;
use wane_sim::Streams;
use wane_ssd::{ClockSpec, Drive, DriveConfig, DriveError};
use wane_units::{Bytes, Nanos, Sectors};
use wane_workload::trace::{Reader, TraceError};
use wane_workload::{Arrival, Op, SHARE_MIN};

use crate::ahead::Ahead;
use crate::array::{Assembly, Drives, Lanes};
use crate::calendar;
use crate::files::Files;
use crate::observer::{Asked, ObserverSpec, Past};
use crate::overrides::OverrideError;
pub use crate::overrides::{Override, PolicyOverrides};
use crate::queued::Queued;
use crate::run::{Phase, Plan, Planned, Precondition, Stretch};
use crate::sources::Opener;
pub use crate::sources::trace_options;
use crate::timed::TimedSpec;
use wane_scenario::{ArraySpec, Scenario, ScenarioError, Scheduler, Workload};

mod detailed;

pub(crate) use detailed::error_correction;
pub use detailed::errors;

/// Reasons why a resolved scenario cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The firmware refuses its counts, or the parts of the drive do not fit together.
    #[error(transparent)]
    Drive(DriveError),
    /// The firmware refuses a setting, which is named by its key in the scenario.
    #[error("{0}: {1}")]
    Setting(String, String),
    /// Times or schedule contradict each other.
    #[error("[drive.timing] and [time]: {0}")]
    Clock(wane_ssd::ConfigError),
    /// A policy from outside does not fit the scenario.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// Errors or their correction contradict each other.
    #[error("[drive]: {0}")]
    Nand(wane_nand::NandConfigError),
    /// A trace cannot be opened or does not fit the drive.
    #[error("workload.trace: {0}")]
    Trace(#[from] TraceError),
    /// A workload does not fit what is left of its device.
    #[error(transparent)]
    Rest(#[from] ScenarioError),
    /// There is no room for a key-value store.
    #[error("workload: {0}")]
    Store(String),
    /// Requests should arrive at the times of a trace that has none.
    #[error("{0}, so arrival = \"trace\" is impossible; give arrival.queue-depth or arrival.poisson")]
    Timeless(String),
    /// Days are counted by the pace of a trace that has none.
    #[error(
        "{0}: has no pace that days could be counted by: it writes nothing, has no times, or cannot be read twice; give time.drive-writes-per-day"
    )]
    NoPace(String),
    /// An array is asked for where one drive is needed.
    #[error("[array]: this is for one drive; `wane run` runs arrays")]
    Array,
    /// A file system is asked for where a drive is needed whose addresses the workload uses.
    #[error(
        "[file-system]: this is for a drive or an array alone; `wane run` runs one under a file system, and `wane fs mkfs` puts one on a kept drive"
    )]
    UnderFiles,
    /// The drive does not take a file system.
    #[error("[file-system]: {0}")]
    FileSystem(String),
    /// A phase loops over traces without writes, but ends only by writes.
    #[error("the run would never end, because the traces of {0} hold no write; give {1}.requests, or loop = false")]
    Endless(String, String),
}

impl From<DriveError> for PlanError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Clock(error) => Self::Clock(error),
            DriveError::Nand(error) => Self::Nand(error),
            DriveError::Firmware(BuildError::Contradiction { setting, reason }) => {
                Self::Setting(key_of(setting).to_owned(), reason)
            }
            other => Self::Drive(other),
        }
    }
}

/// The scenario's key of a setting of the firmware.
fn key_of(setting: RefusedSetting) -> &'static str {
    match setting {
        RefusedSetting::UnitsPerPage => "drive.mapping-unit",
        RefusedSetting::PagesPerBlock => "drive.pages-per-block",
        RefusedSetting::LogicalUnits => "drive.spare-factor",
        RefusedSetting::FactoryBad => "drive.faults.factory-bad",
        RefusedSetting::GcReserve => "ftl.gc-reserve",
        RefusedSetting::Placement => "ftl.placement",
        RefusedSetting::Redundancy => "ftl.redundancy.data-pages",
        RefusedSetting::Domain => "ftl.domain",
        RefusedSetting::Recovery => "ftl.recovery",
    }
}

/// Makes the plan of a scenario.
///
/// # Errors
/// A trace cannot be opened, or the maps find no memory.
pub fn plan(scenario: &Scenario) -> Result<Plan, PlanError> {
    plan_with(scenario, &PolicyOverrides::default(), &Arc::default())
}

/// Makes the plan of a scenario with policies from outside. Once `stop` is true, traces are not read further. The plan is then
/// only for a run that ends before it uses them.
///
/// # Errors
/// As [`plan`].
pub fn plan_with(scenario: &Scenario, overrides: &PolicyOverrides, stop: &Arc<AtomicBool>) -> Result<Plan, PlanError> {
    let mut opener = Opener::new(*scenario.workload_device(), Streams::new(scenario.seed), Arc::clone(stop));
    let calendar = calendar::calendar(scenario, &mut opener)?;
    let (device, lanes, observer) = match &scenario.array {
        None => {
            let (drive, observer) = drive(&overrides.checked(scenario)?, calendar, &mut opener)?;
            (Planned::Drive(Box::new(drive)), None, observer)
        }
        Some(spec) => {
            let (array, lanes, observer) = array(scenario, spec, overrides, calendar, &mut opener)?;
            (on_device(scenario, array), Some(Box::new(lanes)), observer)
        }
    };
    let phases = phases(scenario, &mut opener, calendar)?;
    let device = match &scenario.file_system {
        None => device,
        Some(spec) => {
            let mut below = device.into_living();
            if scenario.time.is_timed() && scenario.array.is_none() {
                below = Box::new(Queued::new(below));
            }
            let files = Files::new(below, spec).map_err(PlanError::FileSystem)?;
            on_device(scenario, Box::new(files))
        }
    };
    Ok(Plan {
        device,
        lanes,
        observer,
        calendar,
        young_below: scenario.array.is_none().then(|| detailed::young_below(scenario)).flatten(),
        precondition: precondition(scenario),
        phases,
    })
}

/// A stack of devices, with the units of the drive or the array at its bottom.
fn on_device(scenario: &Scenario, stack: Box<dyn Living>) -> Planned {
    let device = scenario.host_device();
    Planned::Stack { stack, unit: Sectors(device.unit.0 / Sectors::SIZE.0), units: device.logical_units }
}

/// Makes the array of a scenario, the lanes of its drives, and the spec of what is observed besides its aging.
#[expect(clippy::type_complexity, reason = "the parts of one plan")]
fn array(
    scenario: &Scenario,
    spec: &ArraySpec,
    overrides: &PolicyOverrides,
    calendar: Option<Calendar>,
    opener: &mut Opener,
) -> Result<(Box<dyn Living>, Lanes, Option<Box<ObserverSpec>>), PlanError> {
    let observer = observer_of_array(scenario, calendar, opener)?.map(Box::new);
    // They age without their clocks, which start with counting, or in copies.
    let mut untimed = spec.clone();
    untimed.members.iter_mut().for_each(|member| member.time.scheduler = Scheduler::None);
    let all = spec.device.logical_units;
    let used = scenario.phases.iter().map(|phase| phase.workload.footprint().unwrap_or(all)).max().unwrap_or(all);
    let mut drives = Drives::new(scenario.seed, untimed, overrides.clone());
    let mut array = drives.assemble(Assembly::New)?;
    if scenario.time.is_timed() {
        drives = drives.with_clocks(clocks(scenario));
        array = Box::new(Queued::new(array));
    }
    let observes = observer.as_ref().is_some_and(|observer| !observer.only_wears);
    let lanes = Lanes::new(drives, observes, calendar, used);
    Ok((array, lanes, observer))
}

/// Erases at which a block of a scenario's drive is no longer young, if known.
pub(crate) fn young_below(scenario: &Scenario) -> Option<u32> {
    detailed::young_below(scenario)
}

/// Refuses an array where one drive is needed.
fn refuse_array(scenario: &Scenario) -> Result<(), PlanError> {
    if scenario.array.is_some() { Err(PlanError::Array) } else { Ok(()) }
}

/// Makes the phases of a scenario, with their sources.
pub(crate) fn phases(
    scenario: &Scenario,
    opener: &mut Opener,
    calendar: Option<Calendar>,
) -> Result<Vec<Phase>, PlanError> {
    let logical = f64::from(scenario.host_device().logical_units);
    let mut phases = Vec::new();
    for (number, phase) in scenario.phases.iter().enumerate() {
        let source = opener.source(&phase.workload, &format!("workload.{number}"))?;
        if phase.arrival == Arrival::Trace
            && let Some(reason) = source.timeless()
        {
            return Err(PlanError::Timeless(reason));
        }
        if source.never_writes() && !ends_by_itself(scenario, phase) {
            return Err(endless(scenario, number));
        }
        let units = |drive_writes: f64| (drive_writes * logical).round() as u64;
        let days_max = phase.until.days.map(|days| match calendar {
            Some(calendar) if !runs_by_clock(scenario) => Stretch::Units(units(days * calendar.drive_writes_per_day)),
            _ => Stretch::Ns((days * Nanos::DAY.0 as f64) as u64),
        });
        let units_max = phase.until.drive_writes.map(units);
        phases.push(Phase { source, units_max, days_max, requests_max: phase.until.requests });
    }
    Ok(phases)
}

/// How a scenario's drive is aged before counting starts.
pub(crate) fn precondition(scenario: &Scenario) -> Precondition {
    let (device, precondition) = (scenario.workload_device(), &scenario.precondition);
    let filled = precondition.sequential_drive_writes > 0;
    Precondition {
        fill_units: if filled { 0 } else { precondition.fill.floor_of(u64::from(device.logical_units)) as u32 },
        sequential_drive_writes: precondition.sequential_drive_writes,
        random_units: (precondition.random_drive_writes * f64::from(device.logical_units)).round() as u64,
        stream: Streams::new(scenario.seed).stream("precondition"),
    }
}

/// Whether the run itself is timed, and not only its probes.
fn runs_by_clock(scenario: &Scenario) -> bool {
    scenario.time.is_timed() && scenario.probe.is_none()
}

/// Whether a phase ends though nothing is written.
fn ends_by_itself(scenario: &Scenario, phase: &wane_scenario::Phase) -> bool {
    phase.until.requests.is_some() || (phase.until.days.is_some() && runs_by_clock(scenario))
}

/// Refuses a drive that cannot be built, without reading traces.
///
/// # Errors
/// Firmware and flash do not fit together.
pub fn check_drive(scenario: &Scenario) -> Result<(), PlanError> {
    let streams = Streams::new(scenario.seed);
    let mut opener = Opener::new(scenario.device, streams, Arc::default());
    drive(scenario, None, &mut opener).map(drop)
}

/// Refuses a phase whose requests should arrive at the times of a trace that has none. Reads the first bytes of each such trace.
///
/// # Errors
/// There is one, or its trace cannot be read.
pub fn check_times(scenario: &Scenario) -> Result<(), PlanError> {
    for phase in scenario.phases.iter().filter(|phase| phase.arrival == Arrival::Trace) {
        if let Workload::Trace(spec) = &phase.workload
            && let Some(reason) = Reader::open(&spec.path, &trace_options(spec))?.timeless()
        {
            return Err(PlanError::Timeless(reason));
        }
    }
    Ok(())
}

/// Refuses a phase that ends by writes although its workload loops over traces without one. Reads each such trace up to its
/// first write. Traces that cannot be read, or only once, such as stdin or a pipe, are left to the run.
///
/// # Errors
/// A phase would never end.
pub fn check_ends(scenario: &Scenario) -> Result<(), PlanError> {
    let lives_on = scenario.array.as_ref().is_some_and(|array| array.lives_on());
    for (number, phase) in scenario.phases.iter().enumerate() {
        let until = &phase.until;
        let is_bounded =
            until.drive_writes.is_some() || until.days.is_some() || until.years.is_some() || phase.workload.ends();
        if lives_on && !is_bounded && !ends_by_itself(scenario, phase) {
            return Err(PlanError::Setting(
                "until.end-of-life".to_owned(),
                "drives enough have drive.endurance = \"none\" in their member tables for the array to live on; give another end as well".to_owned(),
            ));
        }
        if !ends_by_itself(scenario, phase) && !phase.workload.ends() && !may_write(&phase.workload) {
            return Err(endless(scenario, number));
        }
    }
    Ok(())
}

fn may_write(workload: &Workload) -> bool {
    match workload {
        Workload::Mix(parts) => parts.iter().any(|(share, part)| share.get() > SHARE_MIN && may_write(part)),
        Workload::Trace(spec) if !spec.path.is_file() => true,
        Workload::Trace(spec) => Reader::open(&spec.path, &trace_options(spec))
            .map_or(true, |mut reader| reader.any(|request| request.map_or(true, |request| request.op == Op::Write))),
        Workload::Pattern(_) | Workload::Standin(_) | Workload::Lsm(_) => workload.writes(),
    }
}

fn endless(scenario: &Scenario, phase: usize) -> PlanError {
    let place = |table: &str| match scenario.phases.len() {
        1 => table.to_owned(),
        _ => format!("phase.{phase}.{table}"),
    };
    PlanError::Endless(place("workload"), place("until"))
}

/// Makes the drive of a scenario, and the spec of what is observed besides its aging.
fn drive(
    scenario: &Scenario,
    calendar: Option<Calendar>,
    opener: &mut Opener,
) -> Result<(Drive, Option<Box<ObserverSpec>>), PlanError> {
    let is_observed = detailed::is_needed(scenario);
    let errors = errors(scenario);
    let drive = drive_of(scenario, errors, opener.streams, Assembly::New)?;
    let observer =
        is_observed.then(|| detailed::spec(scenario, errors.as_ref(), calendar, opener).map(Box::new)).transpose()?;
    Ok((drive, observer))
}

/// Makes the plan of a look at an existing drive: the requests of the scenario's only phase, without preconditioning, on `units` units of it.
pub(crate) fn look(scenario: &Scenario, drive: Drive, units: u32, stop: &Arc<AtomicBool>) -> Result<Plan, PlanError> {
    let streams = Streams::new(scenario.seed);
    let mut opener = Opener::new(scenario.device, streams, Arc::clone(stop));
    let phase = &scenario.phases[0];
    let source = opener.source_on_the_rest(&phase.workload, units, "look.workload")?;
    if phase.arrival == Arrival::Trace
        && let Some(reason) = source.timeless()
    {
        return Err(PlanError::Timeless(reason));
    }
    let errors = errors(scenario);
    let mut observer = detailed::spec(scenario, errors.as_ref(), None, &mut opener)?;
    // The drive has its own past.
    observer.past = crate::observer::Past::default();
    Ok(Plan {
        device: Planned::Drive(Box::new(drive)),
        lanes: None,
        observer: Some(Box::new(observer)),
        calendar: None,
        young_below: detailed::young_below(scenario),
        precondition: Precondition::none(),
        phases: vec![Phase { source, units_max: None, days_max: None, requests_max: phase.until.requests }],
    })
}

/// What is observed of an array besides its aging; `None` if nothing is.
///
/// # Errors
/// The workload of its probes cannot be opened.
pub(crate) fn observer_of_array(
    scenario: &Scenario,
    calendar: Option<Calendar>,
    opener: &mut Opener,
) -> Result<Option<ObserverSpec>, PlanError> {
    if scenario.probe.is_none() && !scenario.members().iter().any(detailed::is_needed) {
        return Ok(None);
    }
    // Each drive has a past of its own.
    let spec =
        ObserverSpec { past: Past::default(), by_looks: true, ..detailed::spec(scenario, None, calendar, opener)? };
    Ok(Some(spec))
}

/// The requests of a look at an array, which come from the scenario's only phase, on `units` units of it, and their times.
///
/// # Errors
/// The workload cannot be opened, or has no times and needs some.
pub(crate) fn look_at_array(
    scenario: &Scenario,
    units: u32,
    stop: &Arc<AtomicBool>,
) -> Result<(Asked, TimedSpec), PlanError> {
    let streams = Streams::new(scenario.seed);
    let mut opener = Opener::new(*scenario.host_device(), streams, Arc::clone(stop));
    let phase = &scenario.phases[0];
    let source = opener.source_on_the_rest(&phase.workload, units, "look.workload")?;
    if phase.arrival == Arrival::Trace
        && let Some(reason) = source.timeless()
    {
        return Err(PlanError::Timeless(reason));
    }
    let asked = Asked {
        source,
        ahead: Ahead::default(),
        arrivals: (phase.arrival, streams.stream("look.arrivals")),
        requests: phase.until.requests.unwrap_or(u64::MAX),
        by_wear: false,
    };
    Ok((asked, detailed::clock(scenario, None)))
}

/// The clock of a scenario's drive, for a host that keeps time.
pub fn clock(scenario: &Scenario) -> ClockSpec {
    detailed::clock_of_drive(scenario, errors(scenario).as_ref())
}

/// The clock of each drive of an array, which serves the requests of a probe.
pub(crate) fn clocks(scenario: &Scenario) -> Vec<ClockSpec> {
    let of = |member: &Scenario| {
        let timed = Scenario { time: scenario.time, ..member.clone() };
        detailed::clock_of_drive(&timed, errors(member).as_ref())
    };
    scenario.members().iter().map(of).collect()
}

/// Makes only the drive of a scenario: nothing is observed, and no trace is read.
///
/// # Errors
/// Firmware and flash do not fit each other.
pub fn bare_drive(scenario: &Scenario) -> Result<Drive, PlanError> {
    bare_drive_with(scenario, &PolicyOverrides::default(), Assembly::New)
}

/// As [`bare_drive`], with policies from outside.
///
/// # Errors
/// As [`bare_drive`]; a policy does not fit the scenario.
pub(crate) fn bare_drive_with(
    scenario: &Scenario,
    overrides: &PolicyOverrides,
    what_for: Assembly,
) -> Result<Drive, PlanError> {
    refuse_array(scenario)?;
    if scenario.file_system.is_some() {
        return Err(PlanError::UnderFiles);
    }
    let scenario = &overrides.checked(scenario)?;
    drive_of(scenario, errors(scenario), Streams::new(scenario.seed), what_for)
}

fn firmware_of(scenario: &Scenario, streams: Streams) -> FtlConfig {
    let Scenario { device, ftl, .. } = scenario;
    FtlConfig {
        units_per_page: device.units_per_page,
        logical_units: device.logical_units,
        gc_reserve: device.gc_reserve,
        gc_unforced: ftl.gc_unforced,
        rated_blocks: device.rated_blocks,
        endurance: device.endurance,
        retire: ftl.retire.policy().clone(),
        erase_group: ftl.erase_group,
        domain: ftl.domain,
        placement: ftl.placement.policy().clone(),
        allocation: ftl.allocation.policy().clone(),
        victim: ftl.gc.policy().clone(),
        wear_leveling: ftl.wear_leveling.policy().clone(),
        redundancy: ftl.redundancy.policy().clone(),
        scrub: ftl.scrub.policy().clone(),
        capacity: ftl.capacity.policy().clone(),
        mode: ftl.mode.policy().clone(),
        recovery: ftl.recovery.policy().clone(),
        power_loss_protection: device.power_loss_protection,
        wordline_pages: device.wordline_pages,
        remap_log: ftl.remap_log,
        streams,
        is_to_be_read: false,
    }
}

fn drive_of(
    scenario: &Scenario,
    errors: Option<ErrorConfig>,
    streams: Streams,
    what_for: Assembly,
) -> Result<Drive, PlanError> {
    let device = &scenario.device;
    let is_to_be_read = what_for == Assembly::Read;
    let config = FtlConfig { is_to_be_read, ..firmware_of(scenario, streams) };
    let mut drive = Drive::new(DriveConfig {
        erase_counts: detailed::first_erases(scenario, streams),
        errors,
        faults: detailed::faults(scenario),
        // Below a file system it starts with counting, as what comes before takes no time.
        clock: (scenario.time.is_timed() && scenario.file_system.is_none())
            .then(|| detailed::clock_of_drive(scenario, errors.as_ref())),
        ..DriveConfig::new(device.geometry, config)
    })?;
    if scenario.ftl.read_recovery.is_some() {
        // The new drive has no data that its host could move: what it demands, it demands again at the next retirement.
        let _ = drive.set_read_recovery(scenario.ftl.read_recovery);
    }
    Ok(drive)
}

/// Rough estimate of the bytes that a run holds at its peak.
pub fn memory_estimate(scenario: &Scenario) -> Bytes {
    if let Some(array) = &scenario.array {
        // A probe is made on a copy, and one at the end on copies from before it.
        let copies = 1 + scenario.probe.as_ref().map_or(0, |probe| 1 + 2 * u64::from(probe.at_end_of_life));
        return array.members.iter().fold(Bytes(0), |sum, member| Bytes(sum.0 + copies * memory_estimate(member).0));
    }
    let footprint_map = scenario.ftl.capacity.policy().may_shrink();
    let looked_up = if footprint_map {
        8 * u64::from(scenario.device.logical_units) + u64::from(scenario.device.logical_units) / 8
    } else {
        0
    };
    let recovery = scenario.ftl.recovery.policy();
    let survives = match Some(recovery).filter(|policy| policy.acts()).map(|policy| policy.summaries()) {
        None => 0,
        // A sequence number for each page, and the summaries.
        Some(summaries) => {
            let device = &scenario.device;
            let told = match summaries {
                Summaries::Map => 4 * u64::from(device.logical_units),
                Summaries::Unmapped => u64::from(device.logical_units) / 8,
            };
            4 * u64::from(device.geometry.blocks()) * u64::from(device.geometry.pages_per_block()) + told
        }
    };
    Bytes(scenario.device.memory_bytes() + looked_up + survives + detailed::memory(scenario))
}
