//! Predicts read latencies by theory, for reads that arrive by a Poisson process on dies that collect by themselves.

use wane_ftl::{EraseGroup, Frontiers, Pooling};
use wane_scenario::{
    Ages, Collection as Collecting, FaultSpec, Order, Pattern, PatternSpec, Scenario, Scheduler, Suspend, Workload,
};
use wane_theory::queueing::{Collection, Die, LOAD_MAX, Precedence, ReadTimes, reads};
use wane_workload::Arrival;

/// Drive writes after which collection is in its steady state.
const AT_REST: f64 = 2.0;
/// Smallest block of the model, in mapping units. In smaller ones single pages of a victim matter.
const UNITS_MIN: usize = 32;

/// Predicts read latencies in ns of the last probe. `victims` has the chances that a victim has 0 to k valid units. `None` if nothing is timed; an
/// error with the reason if reads are timed but have no model.
pub(super) fn predict(
    scenario: &Scenario,
    victims: Option<&[f64]>,
    is_reduced: bool,
) -> Option<Result<ReadTimes, String>> {
    (scenario.time.scheduler != Scheduler::None).then(|| probed(scenario, victims, is_reduced))
}

fn probed(scenario: &Scenario, victims: Option<&[f64]>, is_reduced: bool) -> Result<ReadTimes, String> {
    let Some(probe) = &scenario.probe else {
        return Err("a timed run mixes reads of all ages; there is a model of [probe]".to_owned());
    };
    let Arrival::Poisson(gap_ns) = probe.arrival else {
        return Err("there is a model of arrival = { poisson = \"0.5 ms\" } and the like only".to_owned());
    };
    let Workload::Pattern(spec) = &probe.workload else { return Err("there is a model of patterns only".to_owned()) };
    let Some(victims) = victims else { return Err("of victims of this policy only the mean is known".to_owned()) };
    if is_reduced {
        return Err("two temperatures stand for the popularity, which is too coarse for waits".to_owned());
    }
    if victims.len() <= UNITS_MIN {
        return Err(format!("the model is of blocks of {UNITS_MIN} mapping units and more"));
    }
    if !matches!(&probe.ages, Ages::DriveWrites(ages) if ages.last().is_some_and(|age| *age >= AT_REST)) {
        return Err(format!("the model is of probes from {AT_REST} drive writes on, when collection has come to rest"));
    }
    match unlike(scenario, spec) {
        Some(reason) => Err(reason.to_owned()),
        None => served(scenario, spec, gap_ns as f64, victims),
    }
}

fn served(scenario: &Scenario, spec: &PatternSpec, gap_ns: f64, victims: &[f64]) -> Result<ReadTimes, String> {
    let (device, timing) = (&scenario.device, &scenario.medium.timing);
    let rate = timing.channel_rate.map(|rate| rate.0 as f64 / 1e9);
    let transfer = device.unit.0 as f64 / rate.unwrap_or(f64::INFINITY);
    let (sense, program) = (timing.read[0].0 as f64, timing.program[0].0 as f64);
    let (dies, per_page) = (f64::from(device.geometry.dies()), f64::from(device.units_per_page));
    let asked = 1.0 / gap_ns / dies;
    let (reading, writing) = (asked * spec.read_share.get(), asked * (1.0 - spec.read_share.get()));
    let units = victims.len() as f64 - 1.0;
    let valid: f64 = victims.iter().enumerate().map(|(valid, chance)| valid as f64 * chance).sum();
    let relocating = if scenario.time.gc == Collecting::Free { 0.0 } else { writing * valid / (units - valid) };
    // Rates of a die's transfers, with their times. A page that is relocated from is assumed to be full.
    let transfers = [
        (reading, transfer),
        ((writing + relocating) / per_page, transfer * per_page),
        (relocating / per_page, transfer * per_page),
    ];
    let wait = behind_transfers(&transfers, f64::from(device.geometry.dies_per_channel()))?;
    let page = program + per_page * transfer + wait;
    let of = Die {
        reads: reading,
        read: sense + transfer + wait,
        programs: writing / per_page,
        program: page,
        turns: device.geometry.dies() * device.units_per_page,
        collection: (relocating > 0.0).then(|| Collection {
            valid: victims.to_vec(),
            units_per_page: device.units_per_page,
            sense: sense + wait,
            transfer,
            program: page,
            erase: timing.erase.0 as f64,
        }),
        precedence: if scenario.time.order == Order::Priority { Precedence::Reads } else { Precedence::FirstCome },
    };
    reads(&of).map_err(|error| error.to_string())
}

/// Mean wait for the channel behind transfers of its other dies, each of which moves one page at a time.
fn behind_transfers(transfers: &[(f64, f64)], dies: f64) -> Result<f64, String> {
    let load: f64 = dies * transfers.iter().map(|(rate, time)| rate * time).sum::<f64>();
    if load > LOAD_MAX {
        return Err(format!(
            "the channel is busy {load:.3} of the time, allowed is up to {LOAD_MAX}: beyond, waits are not predicted"
        ));
    }
    let others = (dies - 1.0) / dies;
    let residual: f64 = transfers.iter().map(|(rate, time)| (dies - 1.0) * rate * time * time / 2.0).sum();
    Ok(residual / (1.0 - load * others))
}

/// The reason why a drive's reads have no model.
fn unlike(scenario: &Scenario, spec: &PatternSpec) -> Option<&'static str> {
    let (ftl, time, timing) = (&scenario.ftl, &scenario.time, &scenario.medium.timing);
    let is_whole_job = time.order == Order::FirstCome && matches!(time.gc, Collecting::Foreground | Collecting::Free);
    let is_by_operation = time.order == Order::Priority
        && time.read_priority
        && matches!(time.gc, Collecting::Preemptible | Collecting::Free);
    let others = [ftl.wear_leveling.name(), ftl.scrub.name(), ftl.redundancy.name()];
    let is_as_aged = matches!(
        &scenario.phases[..],
        [phase] if matches!(&phase.workload, Workload::Pattern(life)
            if life.pattern == spec.pattern && life.footprint_units == spec.footprint_units && life.request_units == 1)
    );
    let is_one = ftl.frontiers == Frontiers::One && ftl.placement.name() == "one";
    let holds_all = scenario.precondition.fill.get() >= 1.0 || spec.footprint_units == scenario.device.logical_units;
    let reasons = [
        (ftl.domain != Pooling::Die, "there is a model of ftl.domain = \"die\" only, where dies collect by themselves"),
        (ftl.erase_group != EraseGroup::Block, "there is a model of ftl.unit = \"block\" only"),
        (
            !is_whole_job && !is_by_operation,
            "there is a model of time.order = \"first-come\" with gc = \"foreground\", and of \"priority\" with read-priority and gc = \"preemptible\"",
        ),
        (time.suspend != Suspend::None, "there is no model of time.suspend"),
        (time.multi_plane, "there is no model of time.multi-plane"),
        (time.write_cache.is_some(), "there is no model of time.write-cache"),
        (time.processors.is_some(), "there is no model of time.processors"),
        (time.has_link(), "there is no model of time.link-rate and time.command-time"),
        (!is_one, "there is a model of ftl.frontiers = \"one\" only"),
        (ftl.gc_unforced > 0, "there is no model of ftl.gc-unforced"),
        (scenario.medium.faults != FaultSpec::default(), "there is no model of drive.faults"),
        (spec.request_units != 1, "the model is of requests of one mapping unit"),
        (
            !is_as_aged,
            "the model is of a probe that asks for what the drive was aged by, in requests of one mapping unit",
        ),
        (!holds_all, "the model is of a drive that was filled before, or is written everywhere"),
        (
            timing.read.len() > 1 || timing.program.len() > 1,
            "there is no model of pages that differ in drive.timing.read or program",
        ),
        (scenario.medium.chip.is_some(), "there is no model of re-reads, which flash with drive.chip has"),
        (others.iter().any(|name| *name != "none"), "wear leveling, scrubbing and parity are not in the model"),
        (matches!(spec.pattern, Pattern::Sequential), "the model is of addresses at random"),
        (spec.trim_share.get() > 0.0, "trims are not in the model"),
        (spec.read_share.get() <= 0.0, "nothing is read"),
    ];
    reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
}
