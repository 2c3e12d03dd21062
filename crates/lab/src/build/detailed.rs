//! What a scenario asks for beside aging: errors, a clock, a past, probes.

use wane_nand::{
    Array, CellKind, Draws, Ecc, ErrorConfig, FailureRate, Fault, FaultConfig, Faults, Flash, Loss, PageTime,
    REREADS_BOUND, ReadCounts, When,
};
use wane_sim::Streams;
use wane_ssd::{
    ClockSpec, Collection, MultiPlane, Order, Processors, ReadPriority, SchedulerConfig, Suspend, Timing, WriteCache,
};
use wane_units::{BlockId, DieId};
use wane_workload::SourceError;

use super::{Opener, PlanError, Policies};
use crate::detail::{DetailSpec, Past, ProbeSpec};
use crate::timed::TimedSpec;
use wane_scenario::{self as scenario, Scenario, Time};

/// Cycles above which the released code of CVSS reads once more (000, 001): the retirement threshold there.
const TABLE_RETIRE: u32 = 290;

/// Whether a scenario needs more than counting.
pub(super) fn is_needed(scenario: &Scenario, policies: &Policies) -> bool {
    scenario.time.is_timed()
        || scenario.probe.is_some()
        || scenario.medium.chip.is_some()
        || scenario.medium.faults != scenario::FaultSpec::default()
        || policies.scrub.acts()
}

/// New flash with the erases that a scenario starts from.
pub(super) fn flash(scenario: &Scenario, streams: Streams) -> Flash {
    let mut flash = Flash::new(scenario.device.geometry);
    first_erases(scenario, streams, |block, erases| flash.set_past(block, erases, 0.0, 0));
    let spec = &scenario.medium.faults;
    if *spec != scenario::FaultSpec::default() {
        let config = FaultConfig {
            factory_bad: spec.factory_bad.get(),
            program: FailureRate::constant(spec.program_failure),
            erase: FailureRate::constant(spec.erase_failure),
            wordline_loss: spec.wordline_loss,
            die_loss: spec.die_loss,
            pages_per_wordline: scenario.medium.cell.map_or(1, CellKind::bits_per_cell),
            schedule: spec.lost_die.map(|die| lost_die(die, spec.lost_die_at)).into_iter().collect(),
        };
        flash.set_faults(Faults::new(&scenario.device.geometry, config, streams.stream("faults")));
    }
    flash
}

/// As [`flash`], for aging.
pub(super) fn array(scenario: &Scenario, streams: Streams) -> Array {
    let mut array = Array::new(scenario.device.geometry);
    first_erases(scenario, streams, |block, erases| array.set_erase_count(block, erases));
    array
}

fn lost_die(die: u32, at: f64) -> Fault {
    Fault { when: When::DriveWrites(at), loss: Loss::Die(DieId(die)) }
}

fn first_erases(scenario: &Scenario, streams: Streams, mut set: impl FnMut(BlockId, u32)) {
    let initial = &scenario.medium.initial;
    let Some(mean) = initial.erase_count else { return };
    let (mean, spread) = (f64::from(mean), initial.erase_count_spread.get());
    let mut stream = streams.stream("initial-wear");
    // The firmware counts a superblock's erases once, so its members start alike.
    let ftl = &scenario.ftl;
    let layout = wane_ftl::Layout::new(scenario.device.geometry, ftl.unit, ftl.domain, scenario.device.units_per_page);
    for block in layout.superblocks() {
        let drawn = libm::round(mean * (1.0 + spread * stream.normal()));
        let erases = drawn.clamp(0.0, 2.0 * f64::from(scenario::ERASES_INITIAL_MAX)) as u32;
        layout.members(block).for_each(|member| set(member, erases));
    }
}

/// Everything beside aging.
pub(super) fn spec(scenario: &Scenario, policies: &Policies, opener: &mut Opener) -> Result<DetailSpec, PlanError> {
    let (device, initial) = (&scenario.device, &scenario.medium.initial);
    let errors = errors(scenario, policies);
    if let Some(config) = &errors {
        config.check(&device.geometry)?;
    }
    let clock = scenario.time.is_timed().then(|| clock(scenario, &errors));
    if let Some(clock) = &clock {
        clock.clock.scheduler(&device.geometry)?;
    }
    let days_per_write = scenario.time.drive_writes_per_day.map_or(0.0, |rate| 1.0 / rate);
    Ok(DetailSpec {
        errors,
        past: Past { retention_days: initial.retention_days, reads: initial.reads },
        days_per_unit: days_per_write / f64::from(device.logical_units),
        clock,
        arrivals: scenario.phases.iter().map(|phase| phase.arrival).collect(),
        probe: probe(scenario, opener)?,
        stripes: policies.redundancy.acts(),
        streams: opener.streams,
    })
}

fn errors(scenario: &Scenario, policies: &Policies) -> Option<ErrorConfig> {
    let chip = scenario.medium.chip.as_ref()?;
    let detail = scenario.medium.ecc.detail;
    let (ecc, variation) = (&scenario.medium.ecc, &scenario.medium.variation);
    let draws = match ecc.draws {
        scenario::Draws::Independent => Draws::Independent,
        scenario::Draws::Sticky => Draws::Sticky,
        scenario::Draws::Expected => Draws::Expected,
        scenario::Draws::Table => Draws::Table { retire: TABLE_RETIRE },
    };
    let ecc = Ecc {
        codeword_bytes: ecc.codeword.0 as u32,
        strength: ecc.strength,
        rereads_max: ecc.rereads_max,
        scale: ecc.scale,
        draws,
        sensing: ecc.sensing,
    };
    Some(ErrorConfig {
        block_sigma: variation.blocks,
        layer_sigma: variation.layers,
        layers: variation.layer_count.min(scenario.device.geometry.pages_per_block()),
        page_time: PageTime::PerPage,
        // Scrubbers count reads and re-reads even where these do not disturb.
        read_counts: if policies.scrub.acts() { ReadCounts::Always } else { ReadCounts::AsNeeded },
        detail,
        ..ErrorConfig::new(chip.model, ecc)
    })
}

fn clock(scenario: &Scenario, errors: &Option<ErrorConfig>) -> TimedSpec {
    let (timing, time) = (&scenario.medium.timing, &scenario.time);
    let clock = ClockSpec {
        by_events: time.scheduler == scenario::Scheduler::Event,
        timing: Timing {
            read_ns: timing.read.clone(),
            program_ns: timing.program.clone(),
            erase_ns: timing.erase,
            channel_bytes_per_second: timing.channel_bytes_per_second,
        },
        config: schedule(time, timing.suspend),
        rereads_max: errors.as_ref().map_or(0, |errors| errors.ecc.rereads_max.unwrap_or(REREADS_BOUND)),
    };
    TimedSpec { clock, scale: time.scale, unit_bytes: scenario.device.unit.0 }
}

fn schedule(time: &Time, suspend_ns: u64) -> SchedulerConfig {
    SchedulerConfig {
        order: match time.order {
            scenario::Order::FirstCome => Order::FirstCome,
            scenario::Order::Priority => Order::Priority,
        },
        read_priority: if time.read_priority { ReadPriority::Yes } else { ReadPriority::No },
        suspend: match time.suspend {
            scenario::Suspend::None => Suspend::None,
            scenario::Suspend::Program => Suspend::Program,
            scenario::Suspend::Erase => Suspend::Erase,
            scenario::Suspend::Both => Suspend::Both,
        },
        suspend_ns,
        collection: match time.gc {
            scenario::Collection::Foreground => Collection::Foreground,
            scenario::Collection::Background => Collection::Background,
            scenario::Collection::Preemptible => Collection::Preemptible,
        },
        multi_plane: if time.multi_plane { MultiPlane::On } else { MultiPlane::Off },
        write_cache: time.write_cache.map(|bytes| WriteCache { bytes: bytes.0, latency_ns: time.write_cache_latency }),
        processors: time.processors.map(|count| Processors { count, think_ns: time.think_time }),
    }
}

/// Every probe has requests of its own; all see the same ones. A source is made when its probe is due, so that ages cost
/// nothing before; the first one is made now, so that what is wrong with it is told before the run.
fn probe(scenario: &Scenario, opener: &mut Opener) -> Result<Option<ProbeSpec>, PlanError> {
    let Some(probe) = &scenario.probe else { return Ok(None) };
    let logical = f64::from(scenario.device.logical_units);
    let name = "probe.workload";
    let mut first = Some(opener.source(&probe.workload, name)?);
    let (mut opener, workload) = (opener.another(), probe.workload.clone());
    let open = move || match first.take() {
        Some(source) => Ok(source),
        None => opener.source(&workload, name).map_err(|error| SourceError::new(error.to_string())),
    };
    Ok(Some(ProbeSpec {
        due: probe.at_drive_writes.iter().map(|writes| libm::round(writes * logical) as u64).collect(),
        open: Box::new(open),
        arrival: probe.arrival,
        requests: probe.requests,
        retention_days: probe.retention_days,
    }))
}

/// Bytes that cells and a copy for probes hold, roughly.
pub(super) fn memory(scenario: &Scenario, policies: &Policies) -> u64 {
    let device = &scenario.device;
    let mut bytes = 0;
    if let Some(config) = errors(scenario, policies).filter(|config| config.check(&device.geometry).is_ok()) {
        let pages = u64::from(device.geometry.pages());
        // Four bytes a page where pages have ages; blocks are few beside them.
        bytes += if config.model.beta > 0.0 { 4 * pages } else { 0 } + 64 * u64::from(device.geometry.blocks());
    }
    if scenario.probe.is_some() {
        bytes = 2 * bytes + device.memory_bytes();
    }
    bytes
}
