//! `wane drive status`, `take-out`, `put-back`, `replace` and `scrub`: what an operator does with the drives of an array.

use std::path::Path;

use serde_json::json;
use wane_lab::held::{Act, MemberFacts};
use wane_lab::kept::{Kept, KeptError, check_whole};
use wane_raid::MemberState;
use wane_scenario::ArrayLayout;
use wane_units::{Bytes, excerpt_path};

use super::{answer, open_late, tell_dropped};
use crate::args::drive::{KeptDrive, LoseArguments};
use crate::output::{Failure, print, print_json};
use crate::{DIFFERS, DONE, NO_ANSWER};

/// Opens the array of a path that names a drive of it, as in `mirror.wane/1`.
fn opened(path: &Path) -> Result<(Kept, u32), Failure> {
    let (kept, place) = Kept::open_for(path)?;
    tell_dropped(&kept);
    Ok((kept, place as u32))
}

/// Does something to an array.
fn act(kept: &mut Kept, path: &Path, act: &Act) -> Result<u64, Failure> {
    let at = |error| KeptError::At(excerpt_path(path), Box::new(error));
    Ok(kept.act(act).map_err(at)?.units)
}

/// Refuses to do without a drive without which something could not be read, unless that is wanted.
fn check(kept: &mut Kept, place: u32, arguments: &LoseArguments) -> Result<(), Failure> {
    if arguments.force {
        return Ok(());
    }
    let at = |error| KeptError::At(excerpt_path(&arguments.drive), Box::new(error));
    Ok(kept.only_copies(place as usize).map_err(at)?)
}

/// Which drives still lack copies, in a sentence that goes on; empty if none does.
fn lacking(kept: &Kept) -> String {
    let told = |member: &MemberFacts| {
        let why = match member.state {
            MemberState::Online => "",
            MemberState::ReadOnly => ", as it takes no writes",
            MemberState::Absent => ", as it is out",
        };
        format!("; drive {} lacks {}{why}", member.place, Bytes(member.stale_bytes))
    };
    kept.members().iter().filter(|member| member.stale_bytes > 0).map(told).collect()
}

/// Tells how safe an array is. Returns the exit code.
pub(super) fn status(arguments: &KeptDrive) -> i32 {
    tested(arguments).unwrap_or_else(|failure| match failure.report() {
        DONE => DONE,
        _ => NO_ANSWER,
    })
}

fn tested(arguments: &KeptDrive) -> Result<i32, Failure> {
    check_whole(&arguments.drive, "asked how safe its data are")?;
    let (kept, name) = (open_late(&arguments.drive)?, excerpt_path(&arguments.drive));
    let Some(standing) = kept.standing() else { return Err(Failure::wrong(format!("{name}: {}", KeptError::NoArray))) };
    if arguments.json {
        print_json(&json!({
            "drive": arguments.drive.display().to_string(), "condition": standing.condition.name(),
            "test": standing.code(), "spare_losses": standing.spare, "lost_bytes": standing.lost_bytes,
            "told": standing.told,
        }))?;
    } else {
        print(&format!("{name}: {}\n", standing.told))?;
    }
    Ok(standing.code())
}

pub(super) fn take_out(arguments: &LoseArguments) -> Result<i32, Failure> {
    let (mut kept, place) = opened(&arguments.drive)?;
    check(&mut kept, place, arguments)?;
    if !arguments.force {
        let at = |error| KeptError::At(excerpt_path(&arguments.drive), Box::new(error));
        kept.check_return(place as usize).map_err(at)?;
    }
    // What was answered is on it, as after every command.
    kept.act(&Act::Flush)?;
    act(&mut kept, &arguments.drive, &Act::TakeOut(place))?;
    let told = format!("took drive {place} out");
    kept.keep(told.clone())?;
    answer(arguments.json, &kept, &arguments.drive, &told)?;
    Ok(DONE)
}

pub(super) fn put_back(arguments: &KeptDrive) -> Result<i32, Failure> {
    let (kept, place) = opened(&arguments.drive)?;
    let is_there = |member: &MemberFacts| member.state != MemberState::Absent && member.stale_bytes > 0;
    let path = (arguments.drive.as_path(), arguments.json);
    if kept.members().get(place as usize).is_some_and(is_there) {
        // A server ended before all was copied.
        return filled(kept, path, None, &format!("drive {place} is there"));
    }
    filled(kept, path, Some(&Act::PutBack(place)), &format!("put drive {place} back"))
}

pub(super) fn replace(arguments: &LoseArguments) -> Result<i32, Failure> {
    let (mut kept, place) = opened(&arguments.drive)?;
    check(&mut kept, place, arguments)?;
    if !arguments.force {
        // What the others cannot read any more, the one that goes still has.
        act(&mut kept, &arguments.drive, &Act::Scrub)?;
        act(&mut kept, &arguments.drive, &Act::CopyAll)?;
    }
    let told = format!("put a new drive in the place of drive {place}");
    filled(kept, (&arguments.drive, arguments.json), Some(&Act::Replace(place)), &told)
}

/// Does something to a drive, and copies to it what it lacks.
fn filled(mut kept: Kept, (path, as_json): (&Path, bool), done: Option<&Act>, words: &str) -> Result<i32, Failure> {
    if let Some(done) = done {
        act(&mut kept, path, done)?;
    }
    let copied = act(&mut kept, path, &Act::CopyAll)?;
    kept.act(&Act::Flush)?;
    let left = kept.bytes_lacking();
    let mut told = format!("{words}, and copied {} to it", Bytes(copied));
    told += &lacking(&kept);
    kept.keep(told.clone())?;
    answer(as_json, &kept, path, &told)?;
    Ok(if left > 0 { DIFFERS } else { DONE })
}

/// What a scrub of a mirror found.
const OF_COPIES: [&str; 4] = [
    "repaired from another copy",
    "differed and are now as the first copy has them",
    "could be read from no copy",
    "all copies are equal",
];
/// The same of an array with parities.
const OF_PARITIES: [&str; 4] = [
    "made again of the other drives",
    "did not fit their parities and do now",
    "cannot be made of the other drives",
    "all parities fit their data",
];

pub(super) fn scrub(arguments: &KeptDrive) -> Result<i32, Failure> {
    check_whole(&arguments.drive, "scrubbed")?;
    let mut kept = super::open(&arguments.drive)?;
    let before = kept.repairs().unwrap_or_default();
    act(&mut kept, &arguments.drive, &Act::Scrub)?;
    act(&mut kept, &arguments.drive, &Act::CopyAll)?;
    kept.act(&Act::Flush)?;
    let after = kept.repairs().unwrap_or_default();
    let bytes = |sectors: wane_units::Sectors| Bytes(sectors.0 * 512).to_string();
    let mut told = format!("scrubbed {}", bytes(after.scrubbed - before.scrubbed));
    let is_mirror = kept.scenario().array.as_ref().is_some_and(|array| array.settings.layout == ArrayLayout::Mirror);
    let [repaired, unequal, unreadable, equal] = if is_mirror { OF_COPIES } else { OF_PARITIES };
    let found = [
        (after.copied - before.copied, "copied"),
        (after.repaired - before.repaired, repaired),
        (after.unequal - before.unequal, unequal),
        (after.unreadable - before.unreadable, unreadable),
        (after.failed - before.failed, "were not taken by a drive"),
    ];
    let found: Vec<String> = found
        .iter()
        .filter(|(sectors, _)| sectors.0 > 0)
        .map(|(sectors, what)| format!("{} {what}", bytes(*sectors)))
        .collect();
    told += &lacking(&kept);
    let is_all = kept.members().iter().all(|member| member.state != MemberState::Absent);
    told += &if found.is_empty() && is_all {
        format!("; {equal}")
    } else if found.is_empty() {
        "; what is there can be read".to_owned()
    } else {
        format!(": {}", found.join(", "))
    };
    kept.keep(told.clone())?;
    answer(arguments.json, &kept, &arguments.drive, &told)?;
    let is_short = after.failed != before.failed || after.unreadable != before.unreadable || kept.bytes_lacking() > 0;
    Ok(if is_short { DIFFERS } else { DONE })
}
