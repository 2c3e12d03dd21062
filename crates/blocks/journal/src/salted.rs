//! Records of the format before the present one, which is still read. Their checksums are salted with the device and the segment, which is no
//! secret: clients can write what looks like heads of them.

use std::ops::Range;

use crate::Input;
use crate::segment::{Behind, Checksum, INPUT_MAX, Record, long};

/// Bytes of a record before its input: length, checksum, number, instant, records on the disk.
const RECORD_HEAD_BYTES: usize = 32;

/// How many times over the bytes behind the end are checked at most.
const CHECKS_MOST: usize = 16;

/// What the checksums of a segment's records begin with.
#[derive(Clone, Debug)]
pub(crate) struct Salt(crc32fast::Hasher);

impl Salt {
    /// That of a segment of a device.
    pub(crate) fn new(device: u64, segment: u64) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&device.to_le_bytes());
        hasher.update(&segment.to_le_bytes());
        Self(hasher)
    }

    /// The record at a place of the segment's bytes; `None` if there is none, or a bad one.
    pub(crate) fn record<'a>(&self, bytes: &'a [u8], place: usize) -> Option<Record<'a>> {
        let bytes = bytes.get(place..)?;
        let head: &[u8; RECORD_HEAD_BYTES] = bytes.first_chunk()?;
        let length = u32::from_le_bytes(*head.first_chunk()?);
        let end = RECORD_HEAD_BYTES + length as usize;
        if length == 0 || length as usize > INPUT_MAX || bytes.len() < end {
            return None;
        }
        let checksum = u32::from_le_bytes(*head[4..].first_chunk()?);
        let mut hasher = self.0.clone();
        hasher.update(&length.to_le_bytes());
        hasher.update(&bytes[8..end]);
        if hasher.finalize() != checksum {
            return None;
        }
        let (number, at, synced) = (long(&head[8..])?, long(&head[16..])?, long(&head[24..])?);
        let input = &bytes[RECORD_HEAD_BYTES..end];
        Some(Record { number, at, synced, checksum: Checksum::Salted(checksum), length: end, bytes: input })
    }

    /// What lies behind an end of records: see [`Behind`]. It takes too long to look at each place that may be the head of a record, as clients may
    /// have written nothing else. So those come first that others follow, as they do in a journal; then as many others as there is time for. What
    /// is not looked at is no sign of damage.
    pub(crate) fn behind(&self, bytes: &[u8], end: usize, from: u64) -> Behind {
        let bytes = bytes.get(end..).unwrap_or_default();
        let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let numbers = from..from.saturating_add(bytes.len() as u64);
        let follows = |place: usize, number: u64| {
            place >= written || claimed(&bytes[place..], &numbers).is_some_and(|(_, next)| next == number + 1)
        };
        let mut left = bytes.len().saturating_mul(CHECKS_MOST).max(INPUT_MAX);
        let mut look = |is_strict: bool| {
            let mut found = Behind::default();
            let mut place = 0;
            while place < written {
                // Most places are ruled out without a look at the bytes that a record there would have.
                let length = match claimed(&bytes[place..], &numbers) {
                    Some((length, number)) if !is_strict || follows(place + length, number) => length,
                    _ => 0,
                };
                if length > left {
                    break;
                }
                left -= length;
                match Some(length).filter(|length| *length > 0).and_then(|_| self.record(bytes, place)) {
                    // Of many places one may have the right checksum by chance, but then no input.
                    Some(record) if Input::decode(record.bytes).is_ok() => {
                        found.marked = found.marked.max(record.synced);
                        found.records += 1;
                        place += record.length;
                    }
                    _ => place += 1,
                }
            }
            found
        };
        let (likely, all) = (look(true), look(false));
        Behind { marked: likely.marked.max(all.marked), records: likely.records.max(all.records) }
    }
}

/// The length and the number of the record whose head `bytes` begin with; `None` if they cannot be the head of one with one of these numbers.
fn claimed(bytes: &[u8], numbers: &Range<u64>) -> Option<(usize, u64)> {
    let head: &[u8; RECORD_HEAD_BYTES] = bytes.first_chunk()?;
    let length = u32::from_le_bytes(*head.first_chunk()?) as usize;
    let (number, synced) = (long(&head[8..])?, long(&head[24..])?);
    let is_one = length > 0 && length <= INPUT_MAX && numbers.contains(&number) && synced <= number;
    (is_one && bytes.len() >= RECORD_HEAD_BYTES + length).then_some((RECORD_HEAD_BYTES + length, number))
}
