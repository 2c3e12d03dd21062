//! BLOCK_STATUS: which bytes are allocated, and how worn the blocks are in which they lie.

use wane_blockdev::{Extent, ExtentState, SectorRange};
use wane_lab::held::Held;
use wane_nbd::{Action, Context, Errno, Span};
use wane_units::{Lba, Lpn, Sectors};

use super::SECTOR;
use crate::client::Asked;

/// Most bytes for which one answer says what is allocated: a look at each page of them, while other clients wait.
const ALLOCATION_MAX: u64 = 1 << 30;

/// Bytes that are looked at in one go: a device that holds small pieces has an extent for each.
const STEP: u64 = 64 << 20;

/// Spans from which on an answer ends before its request: the client asks on from there.
const SPANS_ENOUGH: usize = 1024;

/// Most regions into which wear divides a drive.
const REGIONS_MAX: u64 = 1024;

/// Places of a region at which its wear is looked up.
const PLACES: u64 = 64;

const HOLE: u32 = 1;
const ZERO: u32 = 2;

/// The spans of each context that a client chose.
///
/// # Errors
/// It chose none.
pub(super) fn of(held: &Held, asked: &Asked) -> Result<Vec<(u32, Vec<Span>)>, Errno> {
    let Action::BlockStatus { one } = asked.frame.action else { return Err(Errno::Invalid) };
    let (start, end) = (asked.frame.offset, asked.frame.offset + u64::from(asked.frame.length));
    let mut found = Vec::new();
    for context in asked.contexts.iter() {
        let mut spans = match context {
            Context::Allocation => allocation(held, start, end.min(start + ALLOCATION_MAX), one),
            Context::Wear if held.is_array() => wear_of_all(held, start, end),
            Context::Wear => wear(held, start, end),
        };
        if one {
            spans.truncate(1);
        }
        found.push((context as u32, spans));
    }
    if found.is_empty() { Err(Errno::Invalid) } else { Ok(found) }
}

/// Adds a span, or makes the last one longer.
fn push(spans: &mut Vec<Span>, length: u64, flags: u32) {
    let length = u32::try_from(length).expect("a request is below 4 GiB");
    match spans.last_mut() {
        Some(last) if last.flags == flags => last.length += length,
        _ => spans.push(Span { length, flags }),
    }
}

/// What is allocated from a byte on: to the end, or until there are enough spans.
fn allocation(held: &Held, start: u64, end: u64, one: bool) -> Vec<Span> {
    let enough = if one { 1 } else { SPANS_ENOUGH };
    let (mut spans, mut extents): (Vec<Span>, Vec<Extent>) = (Vec::new(), Vec::new());
    let mut at = start;
    // The last span may go on.
    while at < end && spans.len() <= enough {
        let step = SectorRange::between(Lba(at / SECTOR), Lba(end.min(at + STEP) / SECTOR));
        held.device().extents(step, &mut extents);
        for Extent { range, state } in extents.drain(..) {
            let flags = match state {
                ExtentState::Data => 0,
                ExtentState::Zeroes => ZERO,
                ExtentState::Hole => HOLE | ZERO,
            };
            push(&mut spans, range.len_bytes() as u64, flags);
            at += range.len_bytes() as u64;
        }
    }
    spans
}

/// Mean erases of all blocks of an array's drives: where its data lie on them, it alone knows.
fn wear_of_all(held: &Held, start: u64, end: u64) -> Vec<Span> {
    let (mut erases, mut blocks) = (0u64, 0u64);
    for (_, drive) in held.drives() {
        let counts = drive.superblock_erase_counts();
        erases += counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        blocks += counts.len() as u64;
    }
    let mut spans = Vec::new();
    push(&mut spans, end - start, u32::try_from(erases / blocks.max(1)).unwrap_or(u32::MAX));
    spans
}

/// Mean erases of the blocks that hold a region, looked up at some places; 0 where nothing is held.
fn wear(held: &Held, start: u64, end: u64) -> Vec<Span> {
    let drive = held.drive();
    let unit = u64::from(drive.unit_bytes());
    let units = u64::from(held.pages());
    let region = units.div_ceil(REGIONS_MAX).max(1) * unit;
    let counts = drive.superblock_erase_counts();
    let erases = |lpn: u64| {
        let place = drive.lookup(Lpn(held.unit_of(u32::try_from(lpn).ok()?)?))?;
        Some(u64::from(counts[drive.layout().locate(place).0.index()]))
    };
    let mut spans = Vec::new();
    let mut at = start;
    while at < end {
        let (first, last) = (at / region * region, (at / region + 1) * region);
        let (from, step) = (first / unit, (region / unit).div_ceil(PLACES).max(1));
        let to = (last / unit).min(units);
        let found: Vec<u64> = (from..to).step_by(step as usize).filter_map(erases).collect();
        let mean = if found.is_empty() { 0 } else { found.iter().sum::<u64>() / found.len() as u64 };
        push(&mut spans, last.min(end) - at, u32::try_from(mean).unwrap_or(u32::MAX));
        at = last;
    }
    debug_assert!(!spans.is_empty() && Sectors(end / SECTOR) <= wane_blockdev::BlockDevice::capacity(drive));
    spans
}
