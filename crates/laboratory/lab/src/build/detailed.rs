//! The parts of a plan besides aging: errors, a clock, a past, probes.

use wane_nand::{
    CellKind, Draws, Ecc, ErrorConfig, FailureRate, Fault, FaultConfig, Loss, PageTime, REREADS_BOUND, ReadCounts, When,
};
use wane_sim::Streams;
use wane_ssd::{ClockSpec, Link, MultiPlane, Processors, ReadPriority, SchedulerConfig, Timing, WriteCache};
use wane_units::DieId;

use super::PlanError;
use crate::observer::{Due, ObserverSpec, Past, ProbeSpec};
use crate::sources::{Opener, SourceMaker};
use crate::timed::TimedSpec;
use wane_results::Calendar;
use wane_scenario::{self as scenario, Ages, Scenario, Time, Workload};

/// Whether a scenario needs any of them.
pub(super) fn is_needed(scenario: &Scenario) -> bool {
    scenario.time.is_timed()
        || scenario.probe.is_some()
        || scenario.medium.chip.is_some()
        || scenario.medium.faults != scenario::FaultSpec::default()
        || scenario.ftl.scrub.policy().acts()
        || scenario.ftl.placement.policy().needs().requests
}

/// Bad blocks and failures.
pub(super) fn faults(scenario: &Scenario) -> Option<FaultConfig> {
    let spec = &scenario.medium.faults;
    (*spec != scenario::FaultSpec::default()).then(|| FaultConfig {
        factory_bad: spec.factory_bad.get(),
        program: FailureRate::constant(spec.program_failure),
        erase: FailureRate::constant(spec.erase_failure),
        wordline_loss: spec.wordline_loss,
        die_loss: spec.die_loss,
        pages_per_wordline: scenario.medium.cell.map_or(1, CellKind::bits_per_cell),
        schedule: spec.lost_die.map(|die| lost_die(die, spec.lost_die_at)).into_iter().collect(),
    })
}

fn lost_die(die: u32, at: f64) -> Fault {
    Fault { when: When::DriveWrites(at), loss: Loss::Die(DieId(die)) }
}

/// Erases of each flash block at the start; empty if all blocks are new.
pub(super) fn first_erases(scenario: &Scenario, streams: Streams) -> Vec<u32> {
    let (device, initial) = (&scenario.device, &scenario.medium.initial);
    let Some(mean) = initial.erase_count else { return Vec::new() };
    let (mean, spread) = (f64::from(mean), initial.erase_count_spread.get());
    let mut stream = streams.stream("initial-wear");
    let mut counts = vec![0; device.geometry.blocks() as usize];
    // The firmware counts a superblock's erases once, so its members start with equal counts.
    let ftl = &scenario.ftl;
    let layout = wane_ftl::Layout::new(device.geometry, ftl.erase_group, ftl.domain, device.units_per_page);
    for block in layout.superblocks() {
        let drawn = libm::round(mean * (1.0 + spread * stream.normal()));
        let erases = drawn.clamp(0.0, 2.0 * f64::from(scenario::ERASES_INITIAL_MAX)) as u32;
        layout.members(block).for_each(|member| counts[member.index()] = erases);
    }
    counts
}

/// The spec of what is observed besides aging.
pub(super) fn spec(
    scenario: &Scenario,
    errors: Option<&ErrorConfig>,
    calendar: Option<Calendar>,
    opener: &mut Opener,
) -> Result<ObserverSpec, PlanError> {
    let (device, initial) = (scenario.host_device(), &scenario.medium.initial);
    let days_per_write = calendar.map_or(0.0, |calendar| 1.0 / calendar.drive_writes_per_day);
    Ok(ObserverSpec {
        past: Past { retention_days: initial.retention_days, reads: initial.reads },
        days_per_unit: days_per_write / f64::from(device.logical_units),
        clock: scenario.time.is_timed().then(|| clock(scenario, errors)),
        arrivals: scenario.phases.iter().map(|phase| phase.arrival).collect(),
        probe: probe(scenario, calendar, opener)?,
        only_wears: scenario.fast_forward.is_some(),
        by_looks: false,
        streams: opener.streams,
    })
}

/// Erases at which a block is no longer young: `ftl.young-below`, or the erases from which freshly programmed data are expected to need a re-read.
/// `None` if reads never need one.
pub(super) fn young_below(scenario: &Scenario) -> Option<u32> {
    if let Some(erases) = scenario.ftl.young_below {
        return Some(erases);
    }
    let (chip, ecc) = (scenario.medium.chip.as_ref()?, &scenario.medium.ecc);
    ecc.strength?;
    let ecc = error_correction(scenario);
    let rereads = |erases: u32| match ecc.draws {
        Draws::Table => ecc.rereads_by_table(erases),
        Draws::Independent | Draws::Sticky | Draws::Expected => {
            ecc.rereads_expected(chip.model.rber(f64::from(erases), 0.0, 0.0)).0
        }
    };
    let (mut low, mut high) = (0, scenario::ERASES_INITIAL_MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        (low, high) = if rereads(middle) == 0 { (middle + 1, high) } else { (low, middle) };
    }
    Some(low)
}

/// The error correction of reads.
pub(crate) fn error_correction(scenario: &Scenario) -> Ecc {
    let ecc = &scenario.medium.ecc;
    Ecc {
        codeword_bytes: ecc.codeword.0 as u32,
        strength: ecc.strength,
        rereads_max: ecc.rereads_max,
        scale: ecc.scale,
        draws: ecc.draws,
        sensing: ecc.sensing,
    }
}

/// Raw bit errors of a scenario's flash and their correction; `None` without a chip.
pub fn errors(scenario: &Scenario) -> Option<ErrorConfig> {
    let chip = scenario.medium.chip.as_ref()?;
    let (checks, detail) = (scenario.medium.ecc.checks_per_read, scenario.medium.ecc.detail);
    let (ecc, variation) = (error_correction(scenario), &scenario.medium.variation);
    let share = scenario.medium.ecc.disturb_count.share(scenario.device.geometry.pages_per_block(), chip.block_pages);
    let model = chip.model.disturbed_by(share);
    Some(ErrorConfig {
        block_sigma: variation.blocks,
        layer_sigma: variation.layers,
        layers: variation.layer_count.min(scenario.device.geometry.pages_per_block()),
        page_time: PageTime::PerPage,
        // Scrubbers use the counts of reads and re-reads even if these do not disturb.
        read_counts: if scenario.ftl.scrub.policy().acts() { ReadCounts::Always } else { ReadCounts::AsNeeded },
        checks,
        detail,
        relocations: scenario.medium.ecc.relocations,
        uncorrectable: scenario.medium.ecc.uncorrectable,
        ..ErrorConfig::new(model.aging_at(scenario.medium.retention.rate()), ecc)
    })
}

/// When requests arrive, and the clocks of the drives.
pub(super) fn clock(scenario: &Scenario, errors: Option<&ErrorConfig>) -> TimedSpec {
    let probed = scenario.probe.iter().map(|probe| &probe.workload);
    let mut workloads = scenario.phases.iter().map(|phase| &phase.workload).chain(probed);
    let looks_back = workloads.any(|workload| matches!(workload, Workload::Lsm(_)));
    let clocks = match &scenario.array {
        None => vec![clock_of_drive(scenario, errors)],
        Some(_) => super::clocks(scenario),
    };
    TimedSpec { clocks, scale: scenario.time.scale, unit_bytes: scenario.host_device().unit.0, looks_back }
}

/// The clock of a drive: how long its operations take.
pub(super) fn clock_of_drive(scenario: &Scenario, errors: Option<&ErrorConfig>) -> ClockSpec {
    let (timing, time) = (&scenario.medium.timing, &scenario.time);
    ClockSpec {
        by_events: time.scheduler == scenario::Scheduler::Event,
        timing: Timing {
            read_ns: timing.read.iter().map(|time| time.0).collect(),
            program_ns: timing.program.iter().map(|time| time.0).collect(),
            erase_ns: timing.erase.0,
            channel_bytes_per_second: timing.channel_rate.map(|rate| rate.0),
        },
        config: schedule(time, timing.suspend.0),
        rereads_max: errors.map_or(0, |errors| errors.ecc.rereads_max.unwrap_or(REREADS_BOUND)),
        thermal: scenario.medium.thermal.thermal(),
    }
}

fn schedule(time: &Time, suspend_ns: u64) -> SchedulerConfig {
    SchedulerConfig {
        order: time.order,
        read_priority: if time.read_priority { ReadPriority::Yes } else { ReadPriority::No },
        suspend: time.suspend,
        suspend_ns,
        collection: time.gc,
        // The drive sets its own.
        group_dies: None,
        multi_plane: if time.multi_plane { MultiPlane::On } else { MultiPlane::Off },
        write_cache: time
            .write_cache
            .map(|bytes| WriteCache { bytes: bytes.0, latency_ns: time.write_cache_latency.0 }),
        processors: time.processors.map(|count| Processors { count, think_ns: time.think_time.0 }),
        link: time
            .has_link()
            .then(|| Link { bytes_per_second: time.link_rate.map(|rate| rate.0), command_ns: time.command_time.0 }),
    }
}

/// Makes the spec of the probes. Each probe has its own source, and all get the same requests. A source is made when its probe is due, so that
/// ages cost nothing before.
fn probe(scenario: &Scenario, calendar: Option<Calendar>, opener: &mut Opener) -> Result<Option<ProbeSpec>, PlanError> {
    let Some(probe) = &scenario.probe else { return Ok(None) };
    Ok(Some(ProbeSpec {
        due: due(&probe.ages, calendar, f64::from(scenario.host_device().logical_units)),
        at_end_of_life: probe.at_end_of_life,
        sources: SourceMaker::new(opener, &probe.workload, "probe.workload")?,
        goes_on: scenario
            .phases
            .iter()
            .map(|phase| matches!(phase.workload, Workload::Lsm(_)) && phase.workload == probe.workload)
            .collect(),
        arrival: probe.arrival,
        requests: probe.requests,
        retention_days: probe.retention_days,
    }))
}

/// When probes at these ages are due on a drive of `logical` units. Without a calendar ages in days are never reached. Only a drive that is
/// inspected before its run has none.
fn due(ages: &Ages, calendar: Option<Calendar>, logical: f64) -> Due {
    let units = |each: f64| ages.listed().iter().map(|age| libm::round(age * each * logical) as u64).collect();
    match (ages, calendar) {
        (Ages::DriveWrites(_), _) => Due::Units(units(1.0)),
        (Ages::Days(_), Some(calendar)) => Due::Units(units(calendar.drive_writes_per_day)),
        (Ages::Days(_), None) => Due::Units(Vec::new()),
        (Ages::Wear(shares), _) => Due::Wear(shares.clone()),
    }
}

/// Rough estimate of the bytes that cells and a copy for probes hold.
pub(super) fn memory(scenario: &Scenario) -> u64 {
    let device = &scenario.device;
    let mut bytes = 0;
    if let Some(config) = errors(scenario).filter(|config| config.check(&device.geometry).is_ok()) {
        let pages = u64::from(device.geometry.pages());
        // Four bytes for each page if pages have ages. Blocks add little.
        bytes += if config.model.beta > 0.0 { 4 * pages } else { 0 } + 64 * u64::from(device.geometry.blocks());
    }
    // A copy that serves the requests, and two of the drive as it was lately.
    let copies = scenario.probe.as_ref().map_or(0, |probe| 1 + 2 * u64::from(probe.at_end_of_life));
    bytes + copies * (bytes + device.memory_bytes())
}
