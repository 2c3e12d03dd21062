//! Format of a share's file and of its blocks' records.
//!
//! | bytes | are |
//! |---|---|
//! | 0 to 7 | `WANESHR1` |
//! | 8 to 11 | the length of the description, little-endian as all numbers are |
//! | 12 to 15 | CRC-32 of the description |
//! | 16 to 4095 | the description, JSON ([`Header`]), then zeros |
//! | from 4096 on | for each stripe, for each of its N blocks: a record of 16 bytes, and the block |
//!
//! A record is `WBLK`, the block's length, the CRC-32 of the block's place (upload, share, stripe, block) and of its bytes, and four zeros. A block that lies
//! where another belongs is as wrong as one with a flipped bit. A deleted object's file is a header alone.

use serde::{Deserialize, Serialize};

use crate::layout::{HEADER_BYTES, Layout, RECORD_BYTES};
use crate::{ActorError, RingId};

const MAGIC: &[u8; 8] = b"WANESHR1";
const RECORD_MAGIC: &[u8; 4] = b"WBLK";

/// Bytes of an object's name, at most.
pub const NAME_MAX: usize = 1024;

/// Version of an object that a put makes: its generation, and the put's number, which tells two puts of one generation apart. The larger one is
/// newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// One more than that of the version before.
    pub generation: u64,
    /// A random number that the client draws for each put.
    pub upload: u64,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:016x}", self.generation, self.upload)
    }
}

impl std::str::FromStr for Version {
    type Err = ActorError;

    fn from_str(text: &str) -> Result<Self, ActorError> {
        let parts = text.split_once('-').filter(|(_, upload)| upload.len() == 16);
        let read = parts
            .and_then(|(generation, upload)| Some((generation.parse().ok()?, u64::from_str_radix(upload, 16).ok()?)));
        let Some((generation, upload)) = read else {
            return Err(ActorError::Invalid(format!("\"{}\" is no version of an object", wane_units::excerpt(text))));
        };
        Ok(Self { generation, upload })
    }
}

/// Description of a share, at the head of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The object's name.
    pub name: String,
    /// The version of the object, and so the put that made it.
    pub version: Version,
    /// The share's number; those from N on are parities.
    pub share: u16,
    /// Whether the object was deleted: there are no blocks then.
    pub deleted: bool,
    /// How the object is cut.
    pub layout: Layout,
    /// SHA-256 of the object, in hexadecimal digits; empty if it is deleted.
    pub object_sha256: String,
    /// SHA-256 of the share's blocks, in order.
    pub share_sha256: String,
}

impl Header {
    /// The object's id.
    pub fn object(&self) -> RingId {
        RingId::of_object(&self.name)
    }

    /// The first 4,096 bytes of the file.
    ///
    /// # Errors
    /// [`ActorError::Invalid`] if the name is not allowed.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ActorError> {
        check_name(&self.name)?;
        let text = serde_json::to_vec(self).map_err(|error| ActorError::System(error.to_string()))?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&text).to_le_bytes());
        bytes.extend_from_slice(&text);
        // A name of 1,024 B leaves room; other values, if received, may not.
        if bytes.len() > HEADER_BYTES as usize {
            let what = format!("a share's description of {} B: at most {HEADER_BYTES} B are allowed", bytes.len());
            return Err(ActorError::Invalid(what));
        }
        bytes.resize(HEADER_BYTES as usize, 0);
        Ok(bytes)
    }

    /// Reads the first 4,096 bytes of a file.
    ///
    /// # Errors
    /// [`ActorError::Rotten`] if they are not a share's.
    pub fn parse(bytes: &[u8]) -> Result<Self, ActorError> {
        let rotten = |what: &str| ActorError::Rotten(format!("a share's description {what}"));
        if bytes.len() < HEADER_BYTES as usize || &bytes[..8] != MAGIC {
            return Err(rotten("is missing"));
        }
        let length = word(bytes, 8) as usize;
        let text = bytes
            .get(16..16 + length)
            .filter(|_| length <= HEADER_BYTES as usize - 16)
            .ok_or_else(|| rotten("has no length"))?;
        if crc32fast::hash(text) != word(bytes, 12) {
            return Err(rotten("does not have its checksum"));
        }
        let header: Self = serde_json::from_slice(text).map_err(|error| rotten(&format!("cannot be read: {error}")))?;
        check_name(&header.name)?;
        header.layout.checked()?;
        if header.share >= header.layout.code.shares() {
            return Err(rotten(&format!("is of share {}, and its code is {}", header.share, header.layout.code)));
        }
        Ok(header)
    }
}

/// Reads four bytes as a number; the length was checked.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// # Errors
/// [`ActorError::Invalid`] if it is no name of an object.
pub fn check_name(name: &str) -> Result<&str, ActorError> {
    if name.is_empty() || name.len() > NAME_MAX || name.chars().any(char::is_control) {
        let found = wane_units::excerpt(name);
        let allowed = format!("1 to {NAME_MAX} B without control characters are allowed");
        return Err(ActorError::Invalid(format!("\"{found}\" is no name of an object: {allowed}")));
    }
    Ok(name)
}

/// Place of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The put.
    pub version: Version,
    /// The share.
    pub share: u16,
    /// The stripe.
    pub stripe: u64,
    /// The block of the stripe's cell.
    pub block: u16,
}

impl Place {
    fn checksum(&self, block: &[u8]) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.version.generation.to_le_bytes());
        crc.update(&self.version.upload.to_le_bytes());
        crc.update(&self.stripe.to_le_bytes());
        crc.update(&self.share.to_le_bytes());
        crc.update(&self.block.to_le_bytes());
        crc.update(block);
        crc.finalize()
    }

    /// Makes the record that precedes a block at this place.
    pub fn record(&self, block: &[u8]) -> [u8; RECORD_BYTES as usize] {
        debug_assert!(u32::try_from(block.len()).is_ok(), "a block's length fits its record");
        let mut record = [0; RECORD_BYTES as usize];
        record[..4].copy_from_slice(RECORD_MAGIC);
        record[4..8].copy_from_slice(&(block.len() as u32).to_le_bytes());
        record[8..12].copy_from_slice(&self.checksum(block).to_le_bytes());
        record
    }

    /// Checks that a record belongs to this block at this place.
    ///
    /// # Errors
    /// [`ActorError::Rotten`] if not.
    pub fn check(&self, record: &[u8], block: &[u8]) -> Result<(), ActorError> {
        if record == self.record(block) {
            return Ok(());
        }
        let Self { share, stripe, block, .. } = self;
        Err(ActorError::Rotten(format!("block {block} of stripe {stripe} of share {share} does not have its checksum")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::Code;

    fn header(name: &str) -> Header {
        Header {
            name: name.into(),
            version: Version { generation: u64::MAX, upload: 5 },
            share: 5,
            deleted: false,
            layout: Layout { code: Code { data: 4, parity: 2 }, cell: 1 << 20, size: 1 << 50 },
            object_sha256: "0".repeat(64),
            share_sha256: "0".repeat(64),
        }
    }

    #[test]
    fn descriptions_read_back_and_every_flipped_bit_is_seen() {
        // The longest name, of the letters that JSON makes longest.
        for name in ["a", &"\"".repeat(NAME_MAX)] {
            let bytes = header(name).to_bytes().unwrap();
            assert_eq!(Header::parse(&bytes).unwrap(), header(name));
        }
        let bytes = header("a").to_bytes().unwrap();
        let used = 16 + word(&bytes, 8) as usize;
        for at in 0..used {
            let mut wrong = bytes.clone();
            wrong[at] ^= 4;
            assert!(matches!(Header::parse(&wrong), Err(ActorError::Rotten(_))), "byte {at}");
        }
        assert!(Header::parse(&bytes[..100]).is_err());
    }

    proptest! {
        /// Any bytes from a disk or a network are read or refused; what is read, reads back.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..400, text in "\\PC{0,60}") {
            let _ = (Header::parse(&bytes).is_ok(), crate::Members::parse(&bytes).is_ok(), crate::Members::parse(text.as_bytes()).is_ok());
            let _ = (text.parse::<Version>().is_ok(), text.parse::<RingId>().is_ok(), text.parse::<Code>().is_ok());
            let mut damaged = header("a").to_bytes().unwrap();
            let end = (at + bytes.len()).min(damaged.len());
            damaged[at..end].copy_from_slice(&bytes[..end - at]);
            if let Ok(read) = Header::parse(&damaged) {
                prop_assert_eq!(Header::parse(&read.to_bytes().unwrap()).unwrap(), read);
            }
        }
    }

    #[test]
    fn names_are_checked() {
        for wrong in ["", "a\nb", &"x".repeat(NAME_MAX + 1)] {
            assert!(header(wrong).to_bytes().unwrap_err().to_string().contains("no name of an object"));
        }
    }

    #[test]
    fn a_block_is_whole_in_its_own_place_alone() {
        let place = Place { version: Version { generation: 1, upload: 2 }, share: 3, stripe: 4, block: 5 };
        let record = place.record(b"bytes");
        place.check(&record, b"bytes").unwrap();
        assert!(place.check(&record, b"bytez").is_err() && place.check(&record, b"byte").is_err());
        assert!(Place { stripe: 5, ..place }.check(&record, b"bytes").is_err());
        assert!(Place { share: 4, ..place }.check(&record, b"bytes").is_err());
        // Bytes that were never written are no empty block.
        assert!(place.check(&[0; 16], b"").is_err());
        assert_eq!("7-000000000000000a".parse::<Version>().unwrap(), Version { generation: 7, upload: 10 });
        assert!("7-0a".parse::<Version>().unwrap_err().to_string().contains("no version"));
    }
}
