//! Ids on the ring, of drives, of objects and of the places of shares: 160 bits, as in Kademlia.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use wane_units::excerpt;

use crate::ActorError;

/// Bytes of an id.
const BYTES: usize = 20;

/// A point of the ring: 160 bits, written as 40 hexadecimal digits, ordered as numbers are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RingId([u8; BYTES]);

impl RingId {
    /// Returns the first 160 bits of SHA-256 over `kind` and `parts`. The length before each makes lists of parts unambiguous.
    pub fn of(kind: &str, parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in [kind.as_bytes()].iter().chain(parts) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        let mut id = [0; BYTES];
        id.copy_from_slice(&digest[..BYTES]);
        Self(id)
    }

    /// The id of the object of this name.
    pub fn of_object(name: &str) -> Self {
        Self::of("object", &[name.as_bytes()])
    }

    /// Draws a unique id from the system's random numbers.
    ///
    /// # Errors
    /// The system gives none.
    pub fn random() -> Result<Self, ActorError> {
        let mut id = [0; BYTES];
        getrandom::fill(&mut id)
            .map_err(|error| ActorError::System(format!("the system gives no random numbers: {error}")))?;
        Ok(Self(id))
    }

    /// Its bytes, the most significant first.
    pub const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// Returns its first eight digits, by which people tell drives apart.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for RingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for RingId {
    type Err = ActorError;

    fn from_str(text: &str) -> Result<Self, ActorError> {
        let wrong = || ActorError::Invalid(format!("\"{}\" is no id: ids have 40 hexadecimal digits", excerpt(text)));
        if text.len() != 2 * BYTES || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut id = [0; BYTES];
        for (place, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(id))
    }
}

impl Serialize for RingId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RingId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_and_what_is_none_is_told() {
        let id = RingId::of_object("a");
        assert_eq!(id.to_string().parse::<RingId>().unwrap(), id);
        assert_eq!(serde_json::from_str::<RingId>(&serde_json::to_string(&id).unwrap()).unwrap(), id);
        for wrong in ["", "12", &"g".repeat(40), &"é".repeat(20), &"0".repeat(41)] {
            let told = wrong.parse::<RingId>().unwrap_err().to_string();
            assert!(told.contains("40 hexadecimal digits"), "{told}");
        }
    }

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(RingId::of("k", &[b"ab", b"c"]), RingId::of("k", &[b"a", b"bc"]));
        assert_ne!(RingId::of("k", &[b"a"]), RingId::of("l", &[b"a"]));
        assert_ne!(RingId::random().unwrap(), RingId::random().unwrap());
    }
}
