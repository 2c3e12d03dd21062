//! Doing what control asks, on the thread that owns the drive.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use wane_blockdev::{BlockDevice, NoticeKind, Passing, SectorRange, Status};
use wane_ftl::Fate;
use wane_ftl::policies::Mode;
use wane_lab::estimate::aging_seconds;
use wane_lab::held::{Act, Acted, Aging};
use wane_lab::kept::{Aged, KeptError, Reached};
use wane_nand::REREADS_BOUND;
use wane_raid::{MemberState, Repairs};
use wane_scenario::{ArrayLayout, FastForward, Precondition};
use wane_sim::Streams;
use wane_smart::{Identity, smartctl};
use wane_ssd::Drive;
use wane_units::{Bytes, Lba, Lpn, Nanos, Ratio, Sectors};

use super::order::{Age, Answer, Asks, FaultName, Fork, Inject, Place, PowerCut, Rest, Set, kinds};
use crate::engine::{Effect, Engine, Fault, Member, SECTOR};
use crate::measure::Measures;

/// What an order can reach.
pub(crate) struct Desk<'a> {
    pub(crate) engine: &'a mut Engine,
    pub(crate) measures: &'a mut Measures,
    /// Facts of the server, to which those of the drive are added.
    pub(crate) facts: Value,
    pub(crate) real: Nanos,
    /// The drive's folder, if it is kept.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) stop: &'a Arc<AtomicBool>,
    /// Told what takes long, with the share of it that is done; returns whether it goes on.
    pub(crate) meanwhile: &'a mut dyn FnMut(Value) -> bool,
}

/// What is said of a drive that has no power.
const OFF: &str = "the drive has no power; power-on gives it back";

impl Asks {
    /// Whether nothing may be under way.
    pub(crate) const fn needs_quiet(&self) -> bool {
        matches!(self, Self::Age(_) | Self::Rest(_) | Self::Replace(_) | Self::Save | Self::Checkpoint)
    }
}

/// Does what is asked.
pub(crate) fn carry_out(asks: Asks, desk: &mut Desk<'_>) -> Answer {
    let is_off = desk.engine.shelf.device().is_off();
    match asks {
        Asks::Status => Ok(status(desk)),
        Asks::Latency => {
            let speed = desk.engine.speed();
            Ok(json!({ "speed": speed.to_string(), "kinds": desk.measures.told(speed.factor()) }))
        }
        Asks::ClearLatency => {
            *desk.measures = Measures::new();
            Ok(json!({}))
        }
        Asks::Faults => Ok(json!({ "faults": desk.engine.faults.iter().map(told).collect::<Vec<_>>() })),
        Asks::ClearFaults(clear) => {
            let cleared = desk.engine.faults.clear(clear.fault);
            if cleared == 0
                && let Some(fault) = clear.fault
            {
                return Err(format!("fault {fault}: there is none with this number; `faults` lists them"));
            }
            desk.engine.release();
            let at = desk.engine.now(desk.real);
            desk.engine.watcher.tell(at, "faults-cleared", json!({ "cleared": cleared }));
            Ok(json!({ "cleared": cleared }))
        }
        Asks::PowerOn => power_on(desk),
        Asks::Listen(to) => {
            let _ = to.send(desk.engine.watcher.listen());
            Ok(json!({}))
        }
        Asks::Fork(fork) => forked(desk, &fork),
        // The loop of the drive has seen to it.
        Asks::Stop | Asks::Withdraw => Ok(json!({})),
        Asks::Set(Set {
            speed: Some(speed),
            retirement_threshold: None,
            degraded: None,
            read_recovery: None,
            capacity: None,
            mapped_limit: None,
        }) => {
            desk.engine.set_speed(speed.0, desk.real);
            Ok(json!({ "speed": speed.0.to_string() }))
        }
        // It comes back with the others.
        Asks::PutBack(Place { member, .. }) if is_off => {
            desk.engine.act(&Act::PutBack(member)).map_err(|error| error.to_string())?;
            Ok(noted(desk, "put-back", member, &format!("drive {member} was put back")))
        }
        _ if is_off => Err(OFF.to_owned()),
        Asks::Smart => Ok(smart(desk)),
        Asks::Age(age) => aged(desk, &age),
        Asks::Rest(rest) => rested(desk, &rest),
        Asks::Set(set) => changed(desk, set),
        Asks::Inject(inject) => injected(desk, &inject),
        Asks::PowerCut(cut) => power_cut(desk, &cut),
        Asks::TakeOut(Place { member, force }) => {
            spared(desk, member, force)?;
            tended(desk, &Act::TakeOut(member), &format!("drive {member} was taken out"))
        }
        Asks::PutBack(Place { member, .. }) => {
            tended(desk, &Act::PutBack(member), &format!("drive {member} was put back"))
        }
        Asks::Replace(Place { member, force }) => {
            spared(desk, member, force)?;
            tended(desk, &Act::Replace(member), &format!("drive {member} was replaced"))
        }
        Asks::Scrub => tended(desk, &Act::Scrub, "a scrub began"),
        Asks::Save | Asks::Checkpoint => saved(desk),
    }
}

/// A server without a second process saves the drive itself.
fn saved(desk: &mut Desk<'_>) -> Answer {
    let saved = desk.engine.save("served, and saved meanwhile".to_owned());
    // The drive came to rest for it.
    desk.engine.follow_drive(desk.real);
    saved.map_err(|error| error.to_string())?;
    Ok(json!({ "saved": true }))
}

fn status(desk: &mut Desk<'_>) -> Value {
    let now = desk.engine.now(desk.real);
    let (under_way, stuck) = desk.engine.outstanding();
    let mut facts = desk.facts.take();
    let shelf = &desk.engine.shelf;
    let is_off = shelf.device().is_off();
    // Asked while the drive ages, somebody else answers.
    facts["busy"] = Value::Null;
    facts["speed"] = json!(desk.engine.speed().to_string());
    facts["now_s"] = json!(now.0 as f64 / 1e9);
    facts["power"] = json!(if is_off { "off" } else { "on" });
    facts["capacity_bytes"] = json!(shelf.device().capacity().0 * SECTOR);
    facts["mapped_limit_bytes"] = json!(shelf.device().mapped_limit().0 * SECTOR);
    facts["requests"] = json!({
        "under_way": under_way, "stuck": stuck, "refused_for_memory": desk.engine.refused_for_memory,
    });
    facts["memory"] = json!({ "kept_bytes": shelf.payload_memory(), "most_bytes": desk.engine.memory() });
    facts["faults"] = json!(desk.engine.faults.iter().count());
    if !is_off {
        let counters = shelf.device().counters();
        let degraded = shelf.drives().iter().any(|(_, drive)| drive.mode() == Mode::Degraded);
        facts["life_used"] = json!(shelf.life_used());
        facts["day"] = json!(shelf.day());
        facts["drive_writes"] = json!(shelf.drive_writes());
        facts["drive_writes_predicted"] = json!(shelf.drive_writes_predicted());
        facts["blocks_retired"] = json!(shelf.retired_blocks());
        facts["uncorrectable_reads"] = json!(counters.host_reads_uncorrectable);
        facts["dead"] = json!(shelf.cause().map(|cause| cause.name()));
        facts["degraded"] = json!(degraded);
        facts["read_recovery"] = json!(shelf.required().into_iter().flatten().min());
        facts["warnings"] = json!(shelf.caveats());
        facts["wanted"] = if shelf.is_array() { Value::Null } else { wanted(shelf.drive()) };
        if let Some(repairs) = shelf.repairs() {
            facts["repairs"] = repaired(&repairs);
            let is_mirror = shelf.scenario().array.as_ref().is_some_and(|of| of.settings.layout == ArrayLayout::Mirror);
            if is_mirror {
                let is_whole = shelf.members().iter().all(|member| member.state == MemberState::Online);
                facts["mirror"] = json!({
                    "has_all_copies": is_whole && shelf.bytes_lacking() == 0,
                    "copying": shelf.has_own_work(), "scrubbing": shelf.is_scrubbing(),
                });
            }
        }
        if let Some(standing) = shelf.standing() {
            facts["array"] = json!({
                "condition": standing.condition.name(), "test": standing.code(), "spare_losses": standing.spare,
                "lost_bytes": standing.lost_bytes, "at_work": shelf.has_own_work(), "scrubbing": shelf.is_scrubbing(),
                "told": standing.told,
            });
        }
        if shelf.is_array() {
            let members = desk.engine.members();
            facts["members"] = members.iter().enumerate().map(member).collect();
        }
    }
    facts
}

/// What the drive asked its host for and did not get.
fn wanted(drive: &Drive) -> Value {
    let Some(NoticeKind::CapacityWanted { to, cause, writes_left, by }) = drive.wish() else { return Value::Null };
    json!({
        "bytes": to.0 * SECTOR, "cause": cause.name(), "writes_left_bytes": writes_left.0 * SECTOR, "by": by.name(),
    })
}

/// What an array did for itself, in bytes.
fn repaired(repairs: &Repairs) -> Value {
    json!({
        "repaired_bytes": repairs.repaired.0 * SECTOR, "copied_bytes": repairs.copied.0 * SECTOR,
        "failed_bytes": repairs.failed.0 * SECTOR, "scrubbed_bytes": repairs.scrubbed.0 * SECTOR,
        "unequal_bytes": repairs.unequal.0 * SECTOR, "unreadable_bytes": repairs.unreadable.0 * SECTOR,
    })
}

/// A drive of an array.
pub(crate) fn member((place, member): (usize, &Member)) -> Value {
    let own = member.own.as_ref();
    json!({
        "member": place, "state": member.state, "stale_bytes": member.stale_bytes, "life_used": member.life_used,
        "blocks_retired": own.map(|own| own.retired_blocks), "erases_mean": own.map(|own| own.erases.0),
        "erases_most": own.map(|own| own.erases.1), "bytes_written": own.map(|own| own.bytes_written),
        "uncorrectable_reads": own.map(|own| own.uncorrectable_reads),
    })
}

/// Refuses to do without a drive that has the only copy of something, unless that is wanted.
fn spared(desk: &mut Desk<'_>, member: u32, force: bool) -> Result<(), String> {
    if force {
        return Ok(());
    }
    desk.engine.rest_until(desk.real);
    desk.engine.shelf.check_copies(member as usize).map_err(|error| error.to_string())
}

/// Does something to a drive of an array.
fn tended(desk: &mut Desk<'_>, act: &Act, done: &str) -> Answer {
    desk.engine.rest_until(desk.real);
    desk.engine.act(act).map_err(|error| error.to_string())?;
    desk.engine.follow_drive(desk.real);
    let (event, member_of) = match act {
        Act::TakeOut(member) => ("take-out", Some(*member)),
        Act::PutBack(member) => ("put-back", Some(*member)),
        Act::Replace(member) => ("replace", Some(*member)),
        _ => ("scrub", None),
    };
    Ok(noted(desk, event, member_of, done))
}

/// Tells what was done to an array. Returns how its drives are now.
fn noted(desk: &mut Desk<'_>, event: &'static str, member_of: impl Into<Option<u32>>, done: &str) -> Value {
    let at = desk.engine.now_of_drive(desk.real);
    desk.engine.watcher.tell(at, event, json!({ "member": member_of.into() }));
    desk.engine.note(done.to_owned());
    let members = desk.engine.members();
    json!({ "done": done, "members": members.iter().enumerate().map(member).collect::<Vec<_>>() })
}

fn smart(desk: &Desk<'_>) -> Value {
    let (shelf, name) = (&desk.engine.shelf, desk.facts["drive"].as_str().unwrap_or_default());
    let scenario = shelf.scenario();
    let identity = Identity::simulated(&scenario.name, &scenario.preset, scenario.seed, shelf.label());
    let words = ["wane", "ctl", name, "smart"];
    let of_drive = |drive: &Drive, identity: &Identity| {
        serde_json::to_value(smartctl(&drive.health_record(), identity, name, &words))
            .expect("a record of plain values is JSON")
    };
    if !shelf.is_array() {
        return of_drive(shelf.drive(), &identity);
    }
    let each = shelf.drives().into_iter().map(|(place, drive)| {
        let own = shelf.scenario_of(place);
        let label = format!("{}{place}", shelf.label());
        let mut record = of_drive(drive, &Identity::simulated(&own.name, &own.preset, own.seed, &label));
        record["member"] = json!(place);
        record
    });
    json!({ "members": each.collect::<Vec<_>>() })
}

fn aged(desk: &mut Desk<'_>, age: &Age) -> Answer {
    match (age.until, age.days) {
        (None, Some(days)) if days > 0.0 && days.is_finite() => {
            desk.engine.act(&Act::Days(days)).map_err(|error| error.to_string())?;
            desk.engine.note(format!("{days} days passed"));
            Ok(json!({ "day": desk.engine.shelf.day() }))
        }
        (None, Some(days)) => Err(format!("age: found {days} days, and a number above 0 is allowed")),
        (Some(until), None) => aged_until(desk, until.0, age.fast_forward, age.most.0),
        _ => Err("age: give one of `until` and `days`".to_owned()),
    }
}

fn aged_until(desk: &mut Desk<'_>, target: wane_lab::kept::Target, forward: Option<f64>, most: Nanos) -> Answer {
    let shelf = &mut desk.engine.shelf;
    if let Some(cause) = shelf.cause() {
        return Err(format!("age: the drive is dead ({}) and ages no more", cause.name()));
    }
    (desk.meanwhile)(json!({ "doing": "age", "done": 0.0, "drive_writes": shelf.drive_writes() }));
    let mut asked = shelf.scenario().clone();
    asked.precondition = Precondition { fill: Ratio::ZERO, sequential_drive_writes: 0, random_drive_writes: 0.0 };
    asked.fast_forward = forward.map(|factor| FastForward { factor, ..FastForward::default() });
    let used = shelf.life_used().unwrap_or(0.0);
    let seconds = aging_seconds(&asked, Some(target), shelf.drive_writes(), used);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > most.0 as f64 / 1e9) {
        return Err(format!(
            "age: takes about {seconds:.0} s, in which clients would wait; `most` allows {most}, and may be longer"
        ));
    }
    let mut goes_on =
        |aged: &Aged| (desk.meanwhile)(json!({ "doing": "age", "done": aged.done, "drive_writes": aged.drive_writes }));
    let aging = Aging { target, fast_forward: forward, stopped_at: None };
    let Acted { reached, units: trimmed, .. } =
        desk.engine.age(aging, desk.stop, &mut goes_on).map_err(|error| format!("age: {error}"))?;
    desk.engine.follow_drive(desk.real);
    let writes = desk.engine.shelf.drive_writes();
    desk.engine.note(format!("aged to {writes:.2} drive writes"));
    let shelf = &desk.engine.shelf;
    let reached = match reached {
        Some(Reached::Target) => "target",
        Some(Reached::Died(_)) => "died",
        Some(Reached::WorkloadEnd) => "workload-end",
        Some(Reached::Interrupted) => "interrupted",
        Some(Reached::Already) | None => "already",
    };
    Ok(json!({
        "reached": reached, "drive_writes": shelf.drive_writes(), "life_used": shelf.life_used(),
        "drive_writes_predicted": shelf.drive_writes_predicted(), "day": shelf.day(), "units_trimmed": trimmed,
    }))
}

fn rested(desk: &mut Desk<'_>, rest: &Rest) -> Answer {
    let at = desk.engine.now_of_drive(desk.real);
    desk.engine.pass(at, Passing::Idle(rest.time.0));
    desk.engine.follow_drive(desk.real);
    Ok(json!({ "now_s": desk.engine.now(desk.real).0 as f64 / 1e9 }))
}

fn changed(desk: &mut Desk<'_>, set: Set) -> Answer {
    let at = desk.engine.now_of_drive(desk.real);
    let mut told = json!({});
    // Everything is checked before anything changes.
    let rereads = set.read_recovery.map(|most| rereads(&most)).transpose()?;
    let threshold = set.retirement_threshold.map(threshold).transpose()?;
    if rereads.is_some() && desk.engine.shelf.scenario().medium.chip.is_none() {
        return Err("read-recovery: no read of the drive ever needs a re-read (drive.chip)".to_owned());
    }
    let capacity = set.capacity.map(|capacity| sized(desk, "capacity", capacity.0)).transpose()?;
    let limit = set.mapped_limit.map(|limit| sized(desk, "mapped-limit", limit.0)).transpose()?;
    if let Some(limit) = limit {
        limited(desk, at, limit)?;
        told["mapped_limit_bytes"] = json!(desk.engine.shelf.device().mapped_limit().0 * SECTOR);
        desk.engine.note(format!("at most {} of it may hold data", Bytes(limit.0 * SECTOR)));
    }
    if let Some(capacity) = capacity {
        let status = desk.engine.set_capacity(at, capacity);
        if !status.is_done() {
            return Err(format!("capacity: found {}, which the drive refuses: {status}", Bytes(capacity.0 * SECTOR)));
        }
        told["capacity_bytes"] = json!(desk.engine.shelf.device().capacity().0 * SECTOR);
        desk.engine.note(format!("its capacity fell to {}", Bytes(capacity.0 * SECTOR)));
    }
    let act =
        |desk: &mut Desk<'_>, key: &str, act: Act| desk.engine.act(&act).map_err(|error| format!("{key}: {error}"));
    if let Some(threshold) = threshold {
        act(desk, "retirement-threshold", threshold)?;
        told["blocks_retired"] = json!(desk.engine.shelf.retired_blocks());
    }
    if let Some(degraded) = set.degraded {
        act(desk, "degraded", Act::Degraded(degraded))?;
        told["degraded"] = json!(degraded);
    }
    if let Some(most) = rereads {
        act(desk, "read-recovery", Act::ReadRecovery(most))?;
        told["read_recovery"] = json!(most);
        told["blocks_retired"] = json!(desk.engine.shelf.retired_blocks());
    }
    if let Some(speed) = set.speed {
        desk.engine.set_speed(speed.0, desk.real);
        told["speed"] = json!(speed.0.to_string());
    }
    if told.as_object().is_some_and(serde_json::Map::is_empty) {
        let names = "speed, retirement-threshold, degraded, read-recovery, capacity and mapped-limit";
        return Err(format!("set: nothing is given; {names} are allowed"));
    }
    Ok(told)
}

/// A size to which a limit of the drive is to be set: whole units, no more than the drive has.
fn sized(desk: &Desk<'_>, key: &str, size: Bytes) -> Result<Sectors, String> {
    let shelf = &desk.engine.shelf;
    if shelf.is_array() {
        return Err(format!("{key}: an array's capacity stays as it is"));
    }
    let (capacity, unit) = (shelf.device().capacity().0 * SECTOR, u64::from(shelf.unit_bytes()));
    // A capacity may end within a unit.
    let step = if key == "capacity" { SECTOR } else { unit };
    let is_fine = size.0 > 0 && size.0 <= capacity && (size.0.is_multiple_of(step) || size.0 == capacity);
    if is_fine {
        return Ok(Sectors(size.0 / SECTOR));
    }
    Err(format!("{key}: found {size}, and a multiple of {} up to {} is allowed", Bytes(unit), Bytes(capacity)))
}

/// Sets how much of the drive may hold data.
fn limited(desk: &mut Desk<'_>, at: wane_units::SimTime, limit: Sectors) -> Result<(), String> {
    let found = Bytes(limit.0 * SECTOR);
    match desk.engine.set_mapped_limit(at, limit) {
        Status::Done => Ok(()),
        Status::NoSpace(_) => Err(format!("mapped-limit: found {found}, and more than that holds data now")),
        Status::OutOfRange => {
            Err(format!("mapped-limit: found {found}, and the blocks that are left hold less than that"))
        }
        status => Err(format!("mapped-limit: found {found}, which the drive refuses: {status}")),
    }
}

fn rereads(most: &Value) -> Result<Option<u32>, String> {
    let number = most.as_u64().and_then(|most| u32::try_from(most).ok()).filter(|most| *most <= REREADS_BOUND);
    match most.as_str() {
        Some("none") => Ok(None),
        _ => number.map(Some).ok_or_else(|| {
            format!(
                "read-recovery: found {most}, and a number of re-reads up to {REREADS_BOUND}, or \"none\", is allowed"
            )
        }),
    }
}

fn threshold(value: f64) -> Result<Act, String> {
    match value {
        rber if rber > 0.0 && rber < 1.0 => Ok(Act::RetireAtRber(rber)),
        erases if erases >= 1.0 && erases <= f64::from(u32::MAX) && erases.fract() == 0.0 => {
            Ok(Act::RetireAtErases(erases as u32))
        }
        _ => Err(format!(
            "retirement-threshold: found {value}, and a whole number of erases, or an RBER above 0 and below 1, is allowed"
        )),
    }
}

/// The sectors that a fault names; `None`: all.
fn place(desk: &Desk<'_>, inject: &Inject) -> Result<Option<SectorRange>, String> {
    let shelf = &desk.engine.shelf;
    let of_member = inject.member.and_then(|member| shelf.members().get(member as usize).map(|of| of.capacity_bytes));
    let capacity = of_member.unwrap_or(shelf.device().capacity().0 * SECTOR);
    let (at, length) = match (inject.at, inject.length) {
        (None, None) => return Ok(None),
        (Some(at), Some(length)) => (at.0.0, length.0.0),
        _ => return Err("inject: `at` and `length` go together".to_owned()),
    };
    let is_whole = at.is_multiple_of(SECTOR) && length.is_multiple_of(SECTOR) && length > 0;
    match at.checked_add(length).filter(|end| is_whole && *end <= capacity) {
        Some(end) => Ok(Some(SectorRange::between(Lba(at / SECTOR), Lba(end / SECTOR)))),
        None => Err(format!(
            "inject: found {} from {} on, and whole sectors of {SECTOR} B below {} are allowed",
            Bytes(length),
            Bytes(at),
            Bytes(capacity)
        )),
    }
}

/// Checks that a fault of data names a drive, if there are several.
fn check_member(desk: &Desk<'_>, inject: &Inject) -> Result<(), String> {
    let of_data = matches!(inject.fault, FaultName::Lost | FaultName::Die);
    let places = desk.engine.shelf.places();
    match (inject.member, places) {
        (Some(_), None) => Err("inject: `member` names a drive of an array, and this is one drive".to_owned()),
        (None, Some(places)) if of_data => {
            Err(format!("inject: data are lost on one drive; `member` says on which, 0 to {}", places - 1))
        }
        (Some(member), Some(places)) if member as usize >= places => {
            Err(format!("inject: found drive {member}, and drives 0 to {} are there", places - 1))
        }
        (Some(member), Some(_)) if !desk.engine.shelf.drives().iter().any(|(place, _)| *place == member as usize) => {
            Err(format!("inject: drive {member} has no power"))
        }
        _ => Ok(()),
    }
}

fn injected(desk: &mut Desk<'_>, inject: &Inject) -> Answer {
    let name = inject.fault;
    check_member(desk, inject)?;
    let range = place(desk, inject)?;
    let refuse = |is_given: bool, key: &str| {
        if is_given { Err(format!("inject: `{key}` has no meaning for this fault")) } else { Ok(()) }
    };
    refuse(inject.by.is_some() && name != FaultName::Slow, "by")?;
    refuse(inject.die.is_some() && name != FaultName::Die, "die")?;
    refuse(inject.member.is_some() && !matches!(name, FaultName::Lost | FaultName::Die), "member")?;
    let of_data = matches!(name, FaultName::Lost | FaultName::Die);
    refuse(!inject.kinds.is_empty() && (of_data || name == FaultName::Region), "kinds")?;
    refuse(inject.rate.is_some() && name == FaultName::Region, "rate")?;
    let rate = inject.rate.map_or(1.0, |rate| rate.0.get());
    if inject.count == Some(0) || rate == 0.0 {
        return Err("inject: a `count` or a `rate` of 0 breaks nothing; more is allowed".to_owned());
    }
    let effect = match name {
        FaultName::Lost | FaultName::Die => return lost(desk, inject, range, rate),
        FaultName::Region if range.is_none() => return Err("inject: a region needs `at` and `length`".to_owned()),
        FaultName::Region | FaultName::Error => Effect::Error,
        FaultName::Stuck => Effect::Stuck,
        FaultName::Slow => {
            let by = inject.by.ok_or("inject: a slow request needs `by`, such as \"20 ms\"")?;
            Effect::Slow(by.0)
        }
    };
    let stream = Streams::new(inject.seed).stream("inject");
    let fault =
        Fault { number: 0, effect, kinds: kinds(&inject.kinds), range, left: inject.count, rate, stream, met: 0 };
    let (at, facts) = (desk.engine.now(desk.real), told(&fault));
    desk.engine.watcher.tell(at, "fault", json!({ "does": facts["does"] }));
    Ok(json!({ "fault": desk.engine.faults.add(fault) }))
}

/// Makes data unreadable, until they are written again.
fn lost(desk: &mut Desk<'_>, inject: &Inject, range: Option<SectorRange>, rate: f64) -> Answer {
    let shelf = &desk.engine.shelf;
    let member = inject.member.map(|member| member as usize);
    let drive = shelf.drives().into_iter().find(|(place, _)| member.is_none_or(|member| member == *place));
    let Some((_, drive)) = drive else { return Err(OFF.to_owned()) };
    if !drive.keeps_bytes() {
        return Err("inject: the drive keeps no bytes".to_owned());
    }
    let dies = drive.geometry().dies();
    match inject.die {
        None if inject.fault == FaultName::Die => return Err("inject: which die? `die` is missing".to_owned()),
        Some(die) if die >= dies => {
            return Err(format!("inject: found die {die}, and dies 0 to {} are there", dies - 1));
        }
        _ => {}
    }
    let range = range.unwrap_or(SectorRange::new(Lba(0), drive.capacity()));
    let mut stream = Streams::new(inject.seed).stream("inject");
    let most = inject.count.unwrap_or(u64::MAX);
    let mut chosen = Vec::new();
    for unit in drive.units_of(range).collect::<Vec<Lpn>>() {
        // A drive that may shrink has a map above it.
        let unit = if member.is_some() { Some(unit) } else { shelf.unit_of(unit.0).map(Lpn) };
        let Some(unit) = unit else { continue };
        let Some(place) = drive.lookup(unit) else { continue };
        let is_there = inject.die.is_none_or(|die| {
            let (block, within) = drive.layout().locate(place);
            let (block, _) = drive.layout().place(block, within);
            drive.geometry().die_of(block).0 == die
        });
        if is_there && stream.chance(rate) && (chosen.len() as u64) < most {
            chosen.push(unit.0);
        }
    }
    let unit = u64::from(drive.unit_bytes());
    let act = match inject.member {
        Some(member) => Act::Of(member, Box::new(Act::Lose(chosen))),
        None => Act::Lose(chosen),
    };
    let units = desk.engine.act(&act).map_err(|error| error.to_string())?.units;
    let bytes = units * unit;
    let at = desk.engine.now(desk.real);
    desk.engine.watcher.tell(at, "lost", json!({ "bytes": bytes }));
    desk.engine.note(format!("lost {} on purpose", Bytes(bytes)));
    Ok(json!({ "units_lost": units, "bytes_lost": bytes }))
}

/// A fault as it stands.
fn told(fault: &Fault) -> Value {
    let (name, by) = match fault.effect {
        Effect::Error => ("error", None),
        Effect::Stuck => ("stuck", None),
        Effect::Slow(by) => ("slow", Some(by.to_string())),
    };
    json!({
        "fault": fault.number, "does": name, "by": by, "met": fault.met, "left": fault.left, "rate": fault.rate,
        "at": fault.range.map(|range| range.start.0 * SECTOR),
        "length": fault.range.map(|range| range.len_bytes()),
    })
}

fn forked(desk: &mut Desk<'_>, fork: &Fork) -> Answer {
    let beside = desk.folder.and_then(Path::parent).unwrap_or(Path::new(""));
    if fork.name.is_relative() && fork.name.components().count() != 1 {
        let found = wane_units::excerpt_path(&fork.name);
        return Err(format!(
            "fork: found {found}, and a name beside the drive's folder, or an absolute path, is allowed"
        ));
    }
    let path = beside.join(&fork.name);
    desk.engine.rest_until(desk.real);
    desk.engine.fork(&path).map_err(|error| format!("fork: {error}"))?;
    Ok(json!({ "fork": std::path::absolute(&path).unwrap_or(path) }))
}

fn power_cut(desk: &mut Desk<'_>, cut: &PowerCut) -> Answer {
    if !desk.engine.shelf.scenario().ftl.recovery.policy().acts() {
        let made = "`wane drive create --for serve` makes drives that do";
        return Err(format!("power-cut: the drive keeps nothing from which it could recover (ftl.recovery); {made}"));
    }
    let refused = |error: KeptError| format!("power-cut: {error}");
    desk.engine.shelf.check_out(&cut.take_out).map_err(refused)?;
    let at = desk.engine.now_of_drive(desk.real);
    let mut stream = Streams::new(cut.seed).stream("power-cut");
    let mut fate =
        || if cut.torn { Fate::Torn } else { [Fate::Done, Fate::Torn, Fate::Undone][stream.below(3) as usize] };
    desk.engine.cut_power(at, &mut fate);
    desk.engine.watcher.tell(at, "power-cut", json!({}));
    desk.engine.note("lost its power".to_owned());
    for member in &cut.take_out {
        desk.engine.act(&Act::TakeOut(*member)).map_err(|error| format!("power-cut: {error}"))?;
        noted(desk, "take-out", *member, &format!("drive {member} was taken out"));
    }
    Ok(json!({ "power": "off", "taken_out": cut.take_out }))
}

fn power_on(desk: &mut Desk<'_>) -> Answer {
    let at = desk.engine.now_of_drive(desk.real);
    let recovered = desk.engine.give_power(at).map_err(|error| format!("power-on: {error}"))?;
    desk.engine.watcher.tell(at, "power-on", json!({ "recovery_s": recovered.0 as f64 / 1e9 }));
    Ok(json!({ "power": "on", "recovery_s": recovered.0 as f64 / 1e9 }))
}
