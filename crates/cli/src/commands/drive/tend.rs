//! `wane drive take-out`, `put-back`, `replace` and `scrub`: what an operator does with the drives of a mirror.

use std::path::Path;

use wane_lab::held::{Act, MemberFacts};
use wane_lab::kept::{Kept, KeptError, check_whole};
use wane_raid::MemberState;
use wane_units::{Bytes, excerpt_path};

use super::{answer, tell_dropped};
use crate::args::drive::{KeptDrive, LoseArguments};
use crate::output::Failure;
use crate::{DIFFERS, DONE};

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

/// Refuses to do without a drive that has the only copy of something, unless that is wanted.
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
    let found = [
        (after.copied - before.copied, "copied"),
        (after.repaired - before.repaired, "repaired from another copy"),
        (after.unequal - before.unequal, "differed and are now as the first copy has them"),
        (after.unreadable - before.unreadable, "could be read from no copy"),
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
        "; all copies are equal".to_owned()
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
