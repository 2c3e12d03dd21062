//! `wane drive take-out`, `put-back`, `replace` and `scrub`: what an operator does with the drives of a mirror.

use std::path::Path;

use wane_lab::held::Act;
use wane_lab::kept::{Kept, KeptError};
use wane_units::{Bytes, excerpt_path};

use super::{answer, tell_dropped, whole};
use crate::args::drive::{KeptDrive, LoseArguments};
use crate::output::{Failure, line, print};
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

pub(super) fn take_out(arguments: &LoseArguments) -> Result<i32, Failure> {
    let (mut kept, place) = opened(&arguments.drive)?;
    check(&mut kept, place, arguments)?;
    act(&mut kept, &arguments.drive, &Act::TakeOut(place))?;
    let told = format!("took drive {place} out");
    kept.keep(told.clone())?;
    answer(arguments.json, &kept, &arguments.drive, &told)?;
    Ok(DONE)
}

pub(super) fn put_back(arguments: &KeptDrive) -> Result<i32, Failure> {
    let (kept, place) = opened(&arguments.drive)?;
    filled(kept, (&arguments.drive, arguments.json), &Act::PutBack(place), &format!("put drive {place} back"))
}

pub(super) fn replace(arguments: &LoseArguments) -> Result<i32, Failure> {
    let (mut kept, place) = opened(&arguments.drive)?;
    check(&mut kept, place, arguments)?;
    let told = format!("put a new drive in the place of drive {place}");
    filled(kept, (&arguments.drive, arguments.json), &Act::Replace(place), &told)
}

/// Does something to a drive, and copies to it what it lacks.
fn filled(mut kept: Kept, (path, as_json): (&Path, bool), done: &Act, words: &str) -> Result<i32, Failure> {
    act(&mut kept, path, done)?;
    let copied = act(&mut kept, path, &Act::CopyAll)?;
    kept.act(&Act::Flush)?;
    let left: u64 = kept.members().iter().map(|member| member.stale_bytes).sum();
    let mut told = format!("{words}, and copied {} to it", Bytes(copied));
    if left > 0 {
        told += &format!("; {} have no copy from which they could come", Bytes(left));
    }
    kept.keep(told.clone())?;
    answer(as_json, &kept, path, &told)?;
    Ok(if left > 0 { DIFFERS } else { DONE })
}

pub(super) fn scrub(arguments: &KeptDrive) -> Result<i32, Failure> {
    let mut kept = super::open(&arguments.drive)?;
    whole(&kept, &arguments.drive, "scrubbed")?;
    let before = kept.repairs().unwrap_or_default();
    act(&mut kept, &arguments.drive, &Act::Scrub)?;
    act(&mut kept, &arguments.drive, &Act::CopyAll)?;
    kept.act(&Act::Flush)?;
    let after = kept.repairs().unwrap_or_default();
    let bytes = |sectors: wane_units::Sectors| Bytes(sectors.0 * 512).to_string();
    let told = format!(
        "scrubbed {}: {} repaired, {} were unequal",
        bytes(after.scrubbed - before.scrubbed),
        bytes(after.repaired - before.repaired),
        bytes(after.unequal - before.unequal)
    );
    kept.keep(told.clone())?;
    answer(arguments.json, &kept, &arguments.drive, &told)?;
    let failed = after.failed - before.failed;
    if failed.0 > 0 && !arguments.json {
        let mut text = String::new();
        line(&mut text, "not repaired", &format!("{} that a drive did not take", bytes(failed)));
        print(&text)?;
    }
    Ok(if failed.0 > 0 { DIFFERS } else { DONE })
}
