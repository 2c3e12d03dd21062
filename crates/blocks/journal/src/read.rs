//! Reading a journal from a place on.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

use wane_folder::Disk;

use crate::JournalError;
use crate::segment::{HEAD_BYTES, Head, INPUT_MAX, Lineage, Place, Record, Salt, digest_with};

/// Name of a segment's file.
pub fn name(segment: u64) -> String {
    format!("journal.{segment}")
}

/// The number of the segment whose file has this name, if it is one.
pub fn segment_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix("journal.")?.parse().ok()?;
    (self::name(number) == name).then_some(number)
}

/// What a journal held from a place on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The end of its records: where the next one comes.
    pub end: Place,
    /// Bytes of the torn tail that were cut off. No record of it was known to be on the disk.
    pub cut: u64,
    /// Whole records in what was cut off. A program that is killed leaves none: a machine that died lost what lay before them, or somebody
    /// damaged it.
    pub dropped: u64,
    /// Records from the place on.
    pub records: u64,
}

/// A segment whose head is whole.
struct Segment {
    head: Head,
    bytes: Vec<u8>,
    /// Records from this number on are in later segments.
    end: u64,
}

/// Segments in their order.
struct Segments {
    whole: Vec<Segment>,
    /// Those without a head, by their numbers.
    headless: Vec<(u64, Vec<u8>)>,
    /// The number of the newest segment there is.
    newest: u64,
}

/// The segments with these numbers.
fn segments(disk: &dyn Disk, folder: &Path, lineage: &Lineage, wanted: Range<u64>) -> Result<Segments, JournalError> {
    let from = wanted.start;
    let unread = |file: &str| {
        let file = file.to_owned();
        move |error| JournalError::Unread { file, error }
    };
    let mut numbers: Vec<u64> =
        disk.names(folder).map_err(unread("its folder"))?.iter().filter_map(|name| segment_of(name)).collect();
    numbers.sort_unstable();
    let newest = numbers.last().copied().unwrap_or(0);
    let (mut found, mut headless): (Vec<Segment>, Vec<(u64, Vec<u8>)>) = (Vec::new(), Vec::new());
    for number in numbers.into_iter().filter(|number| wanted.contains(number)) {
        let file = name(number);
        let bytes = disk.read(&folder.join(&file)).map_err(unread(&file))?;
        match Head::parse(&bytes) {
            Some(head) if head.device != lineage.owner(number) || head.number != number => {
                return Err(JournalError::Stranger { file });
            }
            Some(head) => found.push(Segment { head, bytes, end: u64::MAX }),
            None if number == from => return Err(JournalError::Missing { file }),
            // It was being made when the machine stopped, or is damaged: marks tell, in others or behind its head.
            None => headless.push((number, bytes)),
        }
    }
    if found.first().is_none_or(|first| first.head.number != from) {
        return Err(JournalError::Missing { file: name(from) });
    }
    let mut end = u64::MAX;
    for segment in found.iter_mut().rev() {
        segment.end = end;
        end = end.min(segment.head.first);
    }
    Ok(Segments { whole: found, headless, newest })
}

/// A record that is there, and that nobody knows to be on the disk.
pub(crate) struct Loose {
    pub(crate) number: u64,
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
    /// Of all records before it.
    pub(crate) digest: u32,
}

/// What [`read`] found.
pub(crate) struct Found {
    pub(crate) opened: Opened,
    /// The last records, up to the end.
    pub(crate) loose: VecDeque<Loose>,
    /// The number of the newest segment there is.
    pub(crate) newest: u64,
}

/// Reads the records from `place` on, in segments before `before`, and hands each to `each`.
pub(crate) fn read<E: From<JournalError>>(
    disk: &dyn Disk,
    folder: &Path,
    lineage: &Lineage,
    (place, before): (Place, u64),
    each: &mut dyn FnMut(&Record<'_>, &str) -> Result<(), E>,
) -> Result<Found, E> {
    let mut loose: VecDeque<Loose> = VecDeque::new();
    let Segments { whole: segments, headless, newest } = segments(disk, folder, lineage, place.segment..before)?;
    let mut end = place;
    let mut synced = place.number;
    let mut is_torn = false;
    for segment in &segments {
        let head = segment.head;
        let file = name(head.number);
        let is_first = head.number == place.segment;
        if !is_first {
            if is_torn || head.first != end.number || segment.end <= head.first {
                // What it would go on from is not there, or a later segment replaces it.
                continue;
            }
            if head.digest != end.digest {
                return Err(JournalError::Stranger { file }.into());
            }
            end = Place { segment: head.number, offset: HEAD_BYTES as u64, ..end };
        }
        synced = synced.max(head.synced);
        let salt = head.salt();
        while end.number < segment.end {
            let rest = segment.bytes.get(end.offset as usize..).unwrap_or_default();
            let Some(record) = Record::parse(rest, &salt).filter(|record| record.number == end.number) else { break };
            each(&record, &file)?;
            synced = synced.max(record.synced);
            let Record { number, at, bytes, .. } = record;
            loose.push_back(Loose { number, at, bytes: bytes.to_vec(), digest: end.digest });
            while loose.front().is_some_and(|first| first.number < synced) {
                loose.pop_front();
            }
            end.digest = digest_with(end.digest, record.checksum);
            end.number += 1;
            end.offset += record.length() as u64;
        }
        // Others may go on from here, unless what they would go on from is missing.
        is_torn = segments.iter().all(|other| other.head.number <= head.number || other.head.first != end.number);
    }
    let (tail, cut) = beyond(&segments, end);
    let mut dropped = tail.records;
    if synced.max(tail.marked) > end.number {
        // What comes next is missing, without a head, or does not go on here.
        let next = end.segment + 1;
        let (mut has_next, mut has_later) = (false, false);
        for segment in &segments {
            has_next |= segment.head.number == next;
            has_later |= segment.head.number > next;
        }
        if has_later && !has_next {
            return Err(JournalError::Missing { file: name(next) }.into());
        }
        return Err(JournalError::Damaged { file: name(end.segment), offset: end.offset, number: end.number }.into());
    }
    for (number, bytes) in &headless {
        let salt = Head { device: lineage.owner(*number), number: *number, first: 0, synced: 0, digest: 0 }.salt();
        let tail = behind(bytes.get(HEAD_BYTES..).unwrap_or_default(), &salt, end.number);
        dropped += tail.records;
        if tail.marked > end.number {
            return Err(JournalError::Damaged { file: name(*number), offset: 0, number: end.number }.into());
        }
    }
    loose.retain(|record| record.number >= synced);
    Ok(Found { opened: Opened { end, cut, dropped, records: end.number - place.number }, loose, newest })
}

/// What lies behind the end, and its bytes.
fn beyond(segments: &[Segment], end: Place) -> (Behind, u64) {
    let (mut all, mut cut) = (Behind::default(), 0);
    for segment in segments.iter().filter(|segment| segment.head.number >= end.segment) {
        let is_last = segment.head.number == end.segment;
        if !is_last && segment.head.first < end.number {
            // It was replaced.
            continue;
        }
        let from = if is_last { end.offset as usize } else { HEAD_BYTES };
        let tail = segment.bytes.get(from..).unwrap_or_default();
        let written = tail.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        cut += written as u64;
        if !is_last {
            all.marked = all.marked.max(segment.head.synced);
        }
        let found = behind(&tail[..written], &segment.head.salt(), end.number);
        all = Behind { marked: all.marked.max(found.marked), records: all.records + found.records };
    }
    (all, cut)
}

/// Whole records that lie behind the end.
#[derive(Clone, Copy, Default)]
struct Behind {
    /// The highest mark of them.
    marked: u64,
    records: u64,
}

/// How many times over the bytes behind the end are checked at most. Clients wrote them, and may have written what looks like heads of records.
const CHECKS_MOST: usize = 16;

/// The whole records from this number on that lie anywhere in `bytes`. Records of an earlier end, which a crash brought back, have lower numbers.
fn behind(bytes: &[u8], salt: &Salt, from: u64) -> Behind {
    let mut found = Behind::default();
    let (mut at, mut left) = (0, bytes.len().saturating_mul(CHECKS_MOST).max(INPUT_MAX));
    let numbers = from..from.saturating_add(bytes.len() as u64);
    while at < bytes.len() {
        let rest = &bytes[at..];
        // Most places are ruled out without a look at the bytes that a record there would have.
        let length = Record::claimed(rest, &numbers).unwrap_or(0);
        if length > left {
            // It takes too long to find out, so that it counts as damage.
            return Behind { marked: u64::MAX, ..found };
        }
        left -= length;
        match Some(length).filter(|length| *length > 0).and_then(|_| Record::parse(rest, salt)) {
            Some(record) => {
                found.marked = found.marked.max(record.synced);
                found.records += 1;
                at += record.length();
            }
            None => at += 1,
        }
    }
    found
}
