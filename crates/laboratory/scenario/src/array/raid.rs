//! `layout = "raid"`: the settings as the array takes them.

use wane_raid::code::{CODES, Code, code};
use wane_raid::{LayoutError, PATHS, PLACEMENTS, RaidConfig, path, placement};
use wane_units::{Bytes, Sectors};

use super::{ArraySettings, sectors};

/// Bytes of a tile on a member, at most: what a member gives back or takes at a time.
const SLOT_MAX: Bytes = Bytes(64 << 20);
/// A member has as many slots at least, so that cutting it into slots costs little of it.
const SLOTS_LEAST: u64 = 64;
/// Slots of all members at most: each takes 8 bytes of a table.
const SLOTS_MOST: u64 = 1 << 16;
/// Bytes of the ring on a member, at most.
const RING_MAX: Bytes = Bytes(32 << 20);
/// Stripes after which the places of uneven parities repeat, at most. Superblocks list them.
const TURN_MAX: u32 = 100;

/// The names of all codes.
pub(super) fn codes() -> Vec<&'static str> {
    CODES.iter().map(|code| code.name()).collect()
}

/// The names of all placements.
pub(super) fn placements() -> Vec<&'static str> {
    PLACEMENTS.iter().map(|placement| placement.name()).collect()
}

/// The names of all write paths.
pub(super) fn write_paths() -> Vec<&'static str> {
    PATHS.iter().map(|path| path.name()).collect()
}

/// The largest stripe of a code on so many members.
fn widest(code: &dyn Code, members: usize) -> Option<usize> {
    // A single chunk is no stripe: it would protect nothing.
    (2..=members).rev().find(|width| code.data(*width).is_some())
}

/// The width of stripes on so many members.
///
/// # Errors
/// A key and a sentence: there are no such stripes.
pub(super) fn width(settings: &ArraySettings, members: usize) -> Result<usize, (&'static str, String)> {
    const KEY: &str = "array.width";
    let Some(code) = code(&settings.code) else { return Err(unknown("array.code", &settings.code, &codes())) };
    let Some(widest) = widest(code, members) else {
        let (name, parities) = (code.name(), code.tolerates());
        let least = (2..).find(|width| code.data(*width).is_some()).unwrap_or(2);
        let of = if name.starts_with("copies") { "further copies" } else { "parities" };
        let why = format!("\"{name}\" has {parities} {of} and needs {least} members, found {members}");
        return Err(("array.code", why));
    };
    let Some(width) = settings.width.map(|width| width as usize) else { return Ok(widest) };
    if width > members {
        let why = format!(
            "a stripe of {width} chunks needs {width} members, found {members}; the largest width that works is {widest}"
        );
        return Err((KEY, why));
    }
    if code.data(width).is_none() {
        let name = code.name();
        return Err((
            KEY,
            format!("\"{name}\" has no stripes of {width} chunks; the largest width that works is {widest}"),
        ));
    }
    Ok(width)
}

fn unknown(key: &'static str, found: &str, all: &[&str]) -> (&'static str, String) {
    (key, format!("found \"{}\", allowed are {}", wane_units::excerpt(found), all.join(", ")))
}

/// Shares of the parities; empty if all members have the same.
///
/// # Errors
/// A key and a sentence: members cannot have them.
fn shares(
    settings: &ArraySettings,
    code: &dyn Code,
    width: usize,
    members: usize,
) -> Result<Vec<u32>, (&'static str, String)> {
    let shares = &settings.parity_shares;
    let refuse = |why: String| Err(("array.parity-shares", why));
    if shares.is_empty() {
        return Ok(Vec::new());
    }
    if code.tolerates() != 1 || code.data(width) != width.checked_sub(1) {
        return refuse(format!("needs a code with one parity, \"xor\", found \"{}\"", code.name()));
    }
    if width != members {
        return refuse(format!("needs stripes on all {members} members, found a width of {width}"));
    }
    if shares.len() != members {
        return refuse(format!("found {} shares for {members} members; each has one", shares.len()));
    }
    if shares.iter().all(|share| *share == 0) {
        return refuse("found 0 for each member; at least one has a part of the parities".to_owned());
    }
    let divisor = shares.iter().fold(0, |one, other| gcd(one, *other));
    let turn: u32 = shares.iter().map(|share| share / divisor).sum();
    if turn > TURN_MAX {
        return refuse(format!(
            "found shares of {turn} in lowest terms, at most {TURN_MAX} are allowed, as of percent"
        ));
    }
    Ok(shares.clone())
}

fn gcd(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// How the array works, on members of these sizes.
///
/// # Errors
/// A key and a sentence: some setting is none.
pub(super) fn config(
    settings: &ArraySettings,
    sizes: &[Sectors],
    uuid: u64,
) -> Result<RaidConfig, (&'static str, String)> {
    let width = width(settings, sizes.len())?;
    let of = |settings: &ArraySettings| {
        Some((code(&settings.code)?, placement(&settings.placement)?, path(&settings.write_path)?))
    };
    let Some((code, placement, path)) = of(settings) else {
        return match placement(&settings.placement) {
            None => Err(unknown("array.placement", &settings.placement, &placements())),
            Some(_) => Err(unknown("array.write-path", &settings.write_path, &write_paths())),
        };
    };
    let (all, least) = (sizes.iter().map(|size| size.0).sum::<u64>(), sizes.iter().map(|size| size.0).min());
    let share = least.unwrap_or(0) / SLOTS_LEAST;
    Ok(RaidConfig {
        code,
        width,
        chunk: sectors(settings.chunk.0),
        slot: sectors(SLOT_MAX.0).min(Sectors(share.max(all / SLOTS_MOST))),
        placement,
        parity_shares: shares(settings, code, width, sizes.len())?,
        path,
        journal: settings.journal,
        ring: sectors(RING_MAX.0).min(Sectors(share)),
        write_mostly: settings.write_mostly(),
        read_around: settings.read_around,
        following: settings.following,
        rebuild_rate: settings.rebuild_rate.0,
        scrub_every: settings.scrub_time(),
        uuid,
    })
}

/// The key to which an error of a layout belongs.
pub(super) const fn key_of(error: &LayoutError) -> &'static str {
    match error {
        LayoutError::Chunk(..) | LayoutError::Room(..) => "array.chunk",
        LayoutError::Placement(_) | LayoutError::Width(..) => "array.width",
        _ => "array",
    }
}
