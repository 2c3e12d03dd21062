//! The bytes of a segment: a head, and records.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The first bytes of a segment. The last two are the version of its format.
const MAGIC: [u8; 8] = *b"wanejr01";

/// Bytes of a segment's head.
pub(crate) const HEAD_BYTES: usize = 52;

/// Bytes of a record before its input.
pub(crate) const RECORD_HEAD_BYTES: usize = 32;

/// Most bytes of an input: the longest transfer, and what names it.
pub(crate) const INPUT_MAX: usize = 33 << 20;

/// Where a device goes on: the first record behind a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The number of the segment.
    pub segment: u64,
    /// Bytes from its start.
    pub offset: u64,
    /// The record's number, from 0.
    pub number: u64,
    /// The digest of all records before it.
    pub digest: u32,
}

/// Whose segments a journal has. That of a fork begins with segments of the device from which it was forked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    /// What sets the device apart from all others.
    pub device: u64,
    /// The last segment of each device before it, and that device; the oldest first.
    pub before: Vec<(u64, u64)>,
}

impl Lineage {
    /// That of a device whose journal is all its own.
    pub const fn of(device: u64) -> Self {
        Self { device, before: Vec::new() }
    }

    /// The device to which a segment belongs.
    pub fn owner(&self, segment: u64) -> u64 {
        self.before.iter().find(|(until, _)| segment <= *until).map_or(self.device, |(_, device)| *device)
    }

    /// That of a fork, which has the segments up to this one.
    #[must_use]
    pub fn forked(&self, until: u64, device: u64) -> Self {
        let mut before = self.before.clone();
        before.push((until, self.device));
        Self { device, before }
    }
}

/// The head of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// The number of its first record.
    pub(crate) first: u64,
    /// Records that were on the disk when it was written.
    pub(crate) synced: u64,
    /// The digest of all records before it.
    pub(crate) digest: u32,
}

impl Head {
    pub(crate) fn bytes(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        bytes.extend(MAGIC);
        for field in [self.device, self.number, self.first, self.synced] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(self.digest.to_le_bytes());
        bytes.extend([0; 4]);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes.try_into().expect("a head has all its fields")
    }

    /// `None` if these are no head.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEAD_BYTES] = bytes.first_chunk()?;
        let (body, checksum) = bytes.split_at(HEAD_BYTES - 4);
        if !body.starts_with(&MAGIC) || crc32fast::hash(body).to_le_bytes() != *checksum {
            return None;
        }
        let field = |number: usize| long(&body[8 + 8 * number..]);
        let head = Self {
            device: field(0)?,
            number: field(1)?,
            first: field(2)?,
            synced: field(3)?,
            digest: u32::from_le_bytes(*body[40..].first_chunk()?),
        };
        // What a later version may write there.
        (body[44..] == [0; 4]).then_some(head)
    }

    /// What the checksums of its records begin with.
    pub(crate) fn salt(&self) -> Salt {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.device.to_le_bytes());
        hasher.update(&self.number.to_le_bytes());
        Salt(hasher)
    }
}

fn long(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// See [`Head::salt`].
#[derive(Clone, Debug)]
pub(crate) struct Salt(crc32fast::Hasher);

impl Salt {
    fn checksum(&self, rest: &[u8]) -> u32 {
        let mut hasher = self.0.clone();
        hasher.update(rest);
        hasher.finalize()
    }
}

/// A record of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number, from 0.
    pub number: u64,
    /// The instant of the device's time.
    pub at: u64,
    /// Records that were on the disk when it was written.
    pub(crate) synced: u64,
    pub(crate) checksum: u32,
    /// The input: see [`crate::Input::decode`].
    pub bytes: &'a [u8],
}

/// Appends a record whose input `write` appends. Returns its checksum.
pub(crate) fn put(
    out: &mut Vec<u8>,
    salt: &Salt,
    (number, at, synced): (u64, u64, u64),
    write: impl FnOnce(&mut Vec<u8>),
) -> u32 {
    let start = out.len();
    out.extend([0; 8]);
    for field in [number, at, synced] {
        out.extend(field.to_le_bytes());
    }
    write(out);
    let length = out.len() - start - RECORD_HEAD_BYTES;
    assert!(length > 0 && length <= INPUT_MAX, "an input has {length} bytes");
    out[start..start + 4].copy_from_slice(&(length as u32).to_le_bytes());
    let length_and = salt.checksum(&(length as u32).to_le_bytes());
    let mut hasher = crc32fast::Hasher::new_with_initial(length_and);
    hasher.update(&out[start + 8..]);
    let checksum = hasher.finalize();
    out[start + 4..start + 8].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

impl<'a> Record<'a> {
    /// The record at the start of `bytes`; `None` if there is none, or a bad one.
    pub(crate) fn parse(bytes: &'a [u8], salt: &Salt) -> Option<Self> {
        let head: &[u8; RECORD_HEAD_BYTES] = bytes.first_chunk()?;
        let length = u32::from_le_bytes(*head.first_chunk()?);
        let end = RECORD_HEAD_BYTES + length as usize;
        if length == 0 || length as usize > INPUT_MAX || bytes.len() < end {
            return None;
        }
        let checksum = u32::from_le_bytes(*head[4..].first_chunk()?);
        let mut hasher = crc32fast::Hasher::new_with_initial(salt.checksum(&length.to_le_bytes()));
        hasher.update(&bytes[8..end]);
        if hasher.finalize() != checksum {
            return None;
        }
        let (number, at, synced) = (long(&head[8..])?, long(&head[16..])?, long(&head[24..])?);
        Some(Self { number, at, synced, checksum, bytes: &bytes[RECORD_HEAD_BYTES..end] })
    }

    /// The length that the head of a record at the start of `bytes` claims; `None` if it cannot be the head of a record with one of these numbers.
    pub(crate) fn claimed(bytes: &[u8], numbers: &Range<u64>) -> Option<usize> {
        let head: &[u8; RECORD_HEAD_BYTES] = bytes.first_chunk()?;
        let length = u32::from_le_bytes(*head.first_chunk()?) as usize;
        let (number, synced) = (long(&head[8..])?, long(&head[24..])?);
        let is_one = length > 0 && length <= INPUT_MAX && numbers.contains(&number) && synced <= number;
        (is_one && bytes.len() >= RECORD_HEAD_BYTES + length).then_some(RECORD_HEAD_BYTES + length)
    }

    /// Its bytes in the segment.
    pub(crate) const fn length(&self) -> usize {
        RECORD_HEAD_BYTES + self.bytes.len()
    }
}

/// The digest of all records up to one with this checksum.
pub(crate) fn digest_with(digest: u32, checksum: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(digest);
    hasher.update(&checksum.to_le_bytes());
    hasher.finalize()
}
