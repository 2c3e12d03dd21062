//! Records as they are written: each with a mark that nobody can make who does not know its journal's secret.
//!
//! Clients choose the bytes of records, and a torn tail has any part of them. So a place is the head of a record only if it has the mark that the
//! segment has there, of 64 bits that are drawn at random. A check holds the head together, and a tag the whole; both are keyed, as a client
//! could choose bytes that a checksum without a key does not miss.

use std::fmt;
use std::hash::Hasher;
use std::io;

use siphasher::sip::{SipHasher13, SipHasher24};

use crate::segment::{Behind, Checksum, INPUT_MAX, Record, long};

/// Bytes of a record before its input: mark, check, length, number, instant, records on the disk, tag.
pub(crate) const RECORD_HEAD_BYTES: usize = 48;

const MARK_BYTES: usize = 8;
/// Where the fields begin that check and tag cover.
const FIELDS: usize = 12;
const TAG: usize = 40;

/// Odd, so that no two places have the same mark: what was a record elsewhere is none here.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the marks of a journal are made of. It is drawn when the journal is created, and is in the heads of all its segments, so that a segment
/// whose own head is lost can be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) [u8; 16]);

impl Secret {
    pub(crate) fn draw() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Secret").finish_non_exhaustive()
    }
}

/// The keys of a segment.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    mark: u64,
    check: SipHasher13,
    tag: SipHasher13,
}

/// The head of a record.
struct Head {
    /// Of its input.
    length: usize,
    number: u64,
    at: u64,
    synced: u64,
    tag: u64,
}

impl Keys {
    /// Those of a segment of a device.
    pub(crate) fn new(secret: &Secret, device: u64, segment: u64) -> Self {
        let part = |part: u64| {
            let mut hasher = SipHasher24::new_with_key(&secret.0);
            for field in [device, segment, part] {
                hasher.write(&field.to_le_bytes());
            }
            hasher.finish()
        };
        let hasher = |first: u64| SipHasher13::new_with_keys(part(first), part(first + 1));
        Self { mark: part(0), check: hasher(1), tag: hasher(3) }
    }

    /// The mark of a record at a place of the segment.
    const fn mark(&self, place: usize) -> u64 {
        self.mark ^ (place as u64).wrapping_mul(SPREAD)
    }

    fn check(&self, head: &[u8]) -> [u8; 4] {
        let mut hasher = self.check;
        hasher.write(&head[..MARK_BYTES]);
        hasher.write(&head[FIELDS..]);
        (hasher.finish() as u32).to_le_bytes()
    }

    fn tag(&self, head: &[u8], input: &[u8]) -> u64 {
        let mut hasher = self.tag;
        hasher.write(&head[..MARK_BYTES]);
        hasher.write(&head[FIELDS..TAG]);
        hasher.write(input);
        hasher.finish()
    }

    /// Appends a record, which comes at a place of the segment. `write` appends its input.
    pub(crate) fn put(
        &self,
        out: &mut Vec<u8>,
        place: u64,
        (number, at, synced): (u64, u64, u64),
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Checksum {
        let start = out.len();
        out.extend([0; RECORD_HEAD_BYTES]);
        write(out);
        let (head, input) = out[start..].split_at_mut(RECORD_HEAD_BYTES);
        assert!(!input.is_empty() && input.len() <= INPUT_MAX, "an input has {} bytes", input.len());
        head[..MARK_BYTES].copy_from_slice(&self.mark(place as usize).to_le_bytes());
        head[FIELDS..FIELDS + 4].copy_from_slice(&(input.len() as u32).to_le_bytes());
        for (field, to) in [number, at, synced].into_iter().zip(head[FIELDS + 4..TAG].chunks_exact_mut(8)) {
            to.copy_from_slice(&field.to_le_bytes());
        }
        let tag = self.tag(head, input);
        head[TAG..].copy_from_slice(&tag.to_le_bytes());
        let check = self.check(head);
        head[MARK_BYTES..FIELDS].copy_from_slice(&check);
        Checksum::Tag(tag)
    }

    /// The head of a record at a place of the segment's bytes; `None` if there is none, or a bad one.
    fn head(&self, bytes: &[u8], place: usize) -> Option<Head> {
        let head: &[u8; RECORD_HEAD_BYTES] = bytes.get(place..)?.first_chunk()?;
        if long(head)? != self.mark(place) || head[MARK_BYTES..FIELDS] != self.check(head) {
            return None;
        }
        let length = u32::from_le_bytes(*head[FIELDS..].first_chunk()?) as usize;
        let field = |number: usize| long(&head[FIELDS + 4 + 8 * number..]);
        Some(Head { length, number: field(0)?, at: field(1)?, synced: field(2)?, tag: field(3)? })
    }

    /// The record at a place of the segment's bytes; `None` if there is none, or a bad one.
    pub(crate) fn record<'a>(&self, bytes: &'a [u8], place: usize) -> Option<Record<'a>> {
        let head = self.head(bytes, place)?;
        self.whole(bytes, place, &head)
    }

    fn whole<'a>(&self, bytes: &'a [u8], place: usize, head: &Head) -> Option<Record<'a>> {
        let (head_bytes, rest) = bytes[place..].split_at(RECORD_HEAD_BYTES);
        let input = rest.get(..head.length)?;
        let Head { length, number, at, synced, tag } = *head;
        let length = RECORD_HEAD_BYTES + length;
        let is_whole = self.tag(head_bytes, input) == tag;
        is_whole.then_some(Record { number, at, synced, checksum: Checksum::Tag(tag), length, bytes: input })
    }

    /// What lies behind an end of records: see [`Behind`].
    pub(crate) fn behind(&self, bytes: &[u8], end: usize, from: u64) -> Behind {
        let mut found = Behind::default();
        let mut place = end;
        while place + RECORD_HEAD_BYTES <= bytes.len() {
            let Some(head) = self.head(bytes, place).filter(|head| head.number >= from) else {
                place += 1;
                continue;
            };
            // What a head says was so, whatever became of its input.
            found.marked = found.marked.max(head.synced);
            match self.whole(bytes, place, &head) {
                Some(record) => {
                    found.records += 1;
                    place += record.length;
                }
                None => place += RECORD_HEAD_BYTES,
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(secret: u8, device: u64, segment: u64) -> Keys {
        Keys::new(&Secret([secret; 16]), device, segment)
    }

    #[test]
    fn a_record_is_one_at_its_place_and_under_its_keys_alone() {
        let own = keys(1, 7, 2);
        let mut bytes = vec![0; 100];
        own.put(&mut bytes, 100, (5, 50, 4), |out| out.extend(b"input"));
        let record = own.record(&bytes, 100).unwrap();
        assert_eq!((record.number, record.at, record.synced, record.bytes), (5, 50, 4, &b"input"[..]));
        assert_eq!(record.length, RECORD_HEAD_BYTES + 5);
        // The same bytes elsewhere, or read as of another segment, device, or journal.
        let elsewhere = [&bytes[..], &bytes[100..]].concat();
        assert!(own.record(&elsewhere, bytes.len()).is_none());
        for other in [keys(2, 7, 2), keys(1, 8, 2), keys(1, 7, 3)] {
            assert!(other.record(&bytes, 100).is_none());
        }
        for place in 100..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(own.record(&damaged, 100).is_none(), "byte {place}");
        }
    }

    #[test]
    fn bytes_that_a_checksum_without_a_key_misses_are_told_from_what_was_written() {
        // A sector that is a multiple of CRC-32's polynomial: a checksum is the same with and without it.
        let mut sector = vec![0u8; 508];
        sector[0] = 1;
        let bare = |bytes: &[u8]| crc32fast::hash(bytes) ^ crc32fast::hash(&vec![0; bytes.len()]);
        let target = (0..32).map(|bit| {
            let mut tail = vec![0u8; 512];
            tail[508 + bit / 8] = 1 << (bit % 8);
            bare(&tail)
        });
        let rows: Vec<u32> = target.collect();
        sector.extend([0; 4]);
        let tail = solved(&rows, bare(&sector));
        sector[508..].copy_from_slice(&tail.to_le_bytes());
        assert!(sector[0] == 1 && crc32fast::hash(&sector) == crc32fast::hash(&[0; 512]));
        let own = keys(1, 7, 2);
        let mut bytes = Vec::new();
        own.put(&mut bytes, 0, (5, 50, 4), |out| out.extend([&[9; 464][..], &sector, &[9; 100]].concat()));
        bytes[512..1024].fill(0);
        assert!(own.record(&bytes, 0).is_none(), "its second sector is lost");
    }

    /// The bits of which the rows add up to `wanted`.
    fn solved(rows: &[u32], wanted: u32) -> u32 {
        let mut basis: Vec<(u32, u32)> = Vec::new();
        let reduced = |basis: &[(u32, u32)], mut row: u32, mut bits: u32| {
            for (other, of) in basis {
                if row & (1 << (31 - other.leading_zeros())) != 0 {
                    (row, bits) = (row ^ other, bits ^ of);
                }
            }
            (row, bits)
        };
        for (bit, row) in rows.iter().enumerate() {
            let (row, bits) = reduced(&basis, *row, 1 << bit);
            assert_ne!(row, 0, "the rows are independent");
            basis.push((row, bits));
            basis.sort_unstable_by_key(|(row, _)| std::cmp::Reverse(*row));
        }
        reduced(&basis, wanted, 0).1
    }

    #[test]
    fn heads_of_torn_records_say_what_was_on_the_disk() {
        let own = keys(1, 7, 2);
        let mut bytes = vec![0; 10];
        for number in 5..9 {
            let place = bytes.len() as u64;
            own.put(&mut bytes, place, (number, 0, number - 1), |out| out.extend([1; 300]));
        }
        let found = own.behind(&bytes, 1, 5);
        assert_eq!((found.records, found.marked), (4, 7));
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let found = own.behind(&bytes[..last], 1, 5);
        assert_eq!((found.records, found.marked), (3, 7));
        let found = own.behind(&bytes, 11, 5);
        assert_eq!((found.records, found.marked), (2, 7));
        assert_eq!(own.behind(&bytes, 1, 9).records, 0);
    }
}
