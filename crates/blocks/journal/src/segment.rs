//! The bytes of a segment: a head, and records.

use serde::{Deserialize, Serialize};

use crate::keyed::{Keys, Secret};
use crate::salted::Salt;

/// The first bytes of a segment. The last two are the version of its format.
const MAGIC: [u8; 8] = *b"wanejr02";
const MAGIC_BEFORE: [u8; 8] = *b"wanejr01";

/// Bytes of a segment's head, and of the format before, in which it has no secret.
pub(crate) const HEAD_BYTES: usize = 68;
const HEAD_BYTES_BEFORE: usize = 52;

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
    /// The journal's; `None`: the segment is of the format before.
    pub(crate) secret: Option<Secret>,
}

impl Head {
    /// Its bytes. All that is written is of the present format.
    pub(crate) fn bytes(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        bytes.extend(MAGIC);
        for field in [self.device, self.number, self.first, self.synced] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(self.digest.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.secret.expect("what is written has a secret").0);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes.try_into().expect("a head has all its fields")
    }

    /// `None` if these are no head.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let is_before = bytes.starts_with(&MAGIC_BEFORE);
        if !is_before && !bytes.starts_with(&MAGIC) {
            return None;
        }
        let length = if is_before { HEAD_BYTES_BEFORE } else { HEAD_BYTES };
        let (body, checksum) = bytes.get(..length)?.split_at(length - 4);
        if crc32fast::hash(body).to_le_bytes() != *checksum {
            return None;
        }
        let field = |number: usize| long(&body[8 + 8 * number..]);
        let head = Self {
            device: field(0)?,
            number: field(1)?,
            first: field(2)?,
            synced: field(3)?,
            digest: u32::from_le_bytes(*body[40..].first_chunk()?),
            secret: body[48..].first_chunk().copied().map(Secret),
        };
        // What a later version may write there.
        (body[44..48] == [0; 4]).then_some(head)
    }

    /// Bytes before its first record.
    pub(crate) const fn length(&self) -> usize {
        if self.secret.is_some() { HEAD_BYTES } else { HEAD_BYTES_BEFORE }
    }

    /// How its records are read.
    pub(crate) fn marks(&self) -> Marks {
        Marks::new(self.secret.as_ref(), self.device, self.number)
    }
}

pub(crate) fn long(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// How the records of a segment are told from other bytes.
#[derive(Clone, Debug)]
pub(crate) enum Marks {
    Keyed(Keys),
    /// In the format before.
    Salted(Salt),
}

impl Marks {
    /// Those of a segment of a device, whose journal has this secret, or none.
    pub(crate) fn new(secret: Option<&Secret>, device: u64, segment: u64) -> Self {
        match secret {
            Some(secret) => Self::Keyed(Keys::new(secret, device, segment)),
            None => Self::Salted(Salt::new(device, segment)),
        }
    }

    /// The record at a place of the segment's bytes; `None` if there is none, or a bad one.
    pub(crate) fn record<'a>(&self, bytes: &'a [u8], place: usize) -> Option<Record<'a>> {
        match self {
            Self::Keyed(keys) => keys.record(bytes, place),
            Self::Salted(salt) => salt.record(bytes, place),
        }
    }

    /// What lies behind an end of records, whose next would have this number.
    pub(crate) fn behind(&self, bytes: &[u8], end: usize, from: u64) -> Behind {
        match self {
            Self::Keyed(keys) => keys.behind(bytes, end, from),
            Self::Salted(salt) => salt.behind(bytes, end, from),
        }
    }
}

/// Records that lie anywhere behind the end. Those of an earlier end, which a crash brought back, have lower numbers, and are none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behind {
    /// The most records that they say were on the disk.
    pub(crate) marked: u64,
    /// How many are whole.
    pub(crate) records: u64,
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
    pub(crate) checksum: Checksum,
    /// Its bytes in the segment.
    pub(crate) length: usize,
    /// The input: see [`crate::Input::decode`].
    pub bytes: &'a [u8],
}

/// What holds a record together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    Tag(u64),
    /// In the format before.
    Salted(u32),
}

impl Checksum {
    /// The digest of all records up to the one with this checksum.
    pub(crate) fn digest_after(self, digest: u32) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(digest);
        match self {
            Self::Tag(tag) => hasher.update(&tag.to_le_bytes()),
            Self::Salted(checksum) => hasher.update(&checksum.to_le_bytes()),
        }
        hasher.finalize()
    }
}
