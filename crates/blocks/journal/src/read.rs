//! Reading a journal from a place on.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

use wane_folder::Disk;

use crate::JournalError;
use crate::keyed::Secret;
use crate::segment::{Behind, Head, Lineage, Marks, Place, Record};

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
    /// The last of these, of which nobody knows that they are on the disk. If they are cut off at the end of a record, that is not seen.
    pub unmarked: u64,
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

impl Segments {
    /// The journal's secret; `None`: none of them is of the present format.
    fn secret(&self) -> Option<Secret> {
        self.whole.iter().rev().find_map(|segment| segment.head.secret)
    }
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
    /// The journal's, if it has one.
    pub(crate) secret: Option<Secret>,
}

/// Reads the records from `place` on, in segments before `before`, and hands each to `each`. The first `known` records are on the disk.
pub(crate) fn read<E: From<JournalError>>(
    disk: &dyn Disk,
    folder: &Path,
    lineage: &Lineage,
    (place, before, known): (Place, u64, u64),
    each: &mut dyn FnMut(&Record<'_>, &str) -> Result<(), E>,
) -> Result<Found, E> {
    let mut loose: VecDeque<Loose> = VecDeque::new();
    let found = segments(disk, folder, lineage, place.segment..before)?;
    let secret = found.secret();
    let Segments { whole: segments, headless, newest } = found;
    let mut end = place;
    let mut synced = place.number.max(known);
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
            end = Place { segment: head.number, offset: head.length() as u64, ..end };
        }
        synced = synced.max(head.synced);
        let marks = head.marks();
        while end.number < segment.end {
            let record = marks.record(&segment.bytes, end.offset as usize);
            let Some(record) = record.filter(|record| record.number == end.number) else { break };
            each(&record, &file)?;
            synced = synced.max(record.synced);
            let Record { number, at, bytes, length, checksum, .. } = record;
            loose.push_back(Loose { number, at, bytes: bytes.to_vec(), digest: end.digest });
            while loose.front().is_some_and(|first| first.number < synced) {
                loose.pop_front();
            }
            end.digest = checksum.digest_after(end.digest);
            end.number += 1;
            end.offset += length as u64;
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
        let tail = Marks::new(secret.as_ref(), lineage.owner(*number), *number).behind(bytes, 0, end.number);
        dropped += tail.records;
        if tail.marked > end.number {
            return Err(JournalError::Damaged { file: name(*number), offset: 0, number: end.number }.into());
        }
    }
    loose.retain(|record| record.number >= synced);
    let (records, unmarked) = (end.number - place.number, loose.len() as u64);
    Ok(Found { opened: Opened { end, cut, dropped, records, unmarked }, loose, newest, secret })
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
        let from = if is_last { end.offset as usize } else { segment.head.length() };
        let tail = segment.bytes.get(from..).unwrap_or_default();
        cut += tail.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1);
        if !is_last {
            all.marked = all.marked.max(segment.head.synced);
        }
        let found = segment.head.marks().behind(&segment.bytes, from, end.number);
        all = Behind { marked: all.marked.max(found.marked), records: all.records + found.records };
    }
    (all, cut)
}
