//! Counts of host sectors: 512 bytes each, whatever sector a device itself works with.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use crate::Bytes;

/// A number of sectors of 512 bytes: the distance between two [`crate::Lba`]s.
///
/// Operators panic in every build when a result lies below 0 or above 2^64 - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Sectors(pub u64);

impl Sectors {
    /// Bytes of one sector.
    pub const SIZE: Bytes = Bytes(512);
    /// No sector.
    pub const ZERO: Self = Self(0);

    /// The number of sectors in `bytes`, if it is whole.
    pub const fn filled_by(bytes: Bytes) -> Option<Self> {
        if bytes.0.is_multiple_of(Self::SIZE.0) { Some(Self(bytes.0 / Self::SIZE.0)) } else { None }
    }

    /// The number of bytes in them, if it is below 2^64.
    pub const fn bytes(self) -> Option<Bytes> {
        match self.0.checked_mul(Self::SIZE.0) {
            Some(bytes) => Some(Bytes(bytes)),
            None => None,
        }
    }

    /// The sum, if it is below 2^64.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "sector" } else { "sectors" })
    }
}

impl Add for Sectors {
    type Output = Self;

    /// # Panics
    /// The sum exceeds 2^64 - 1.
    fn add(self, other: Self) -> Self {
        self.checked_add(other).expect("a count of sectors is below 2^64")
    }
}

impl AddAssign for Sectors {
    /// # Panics
    /// The sum exceeds 2^64 - 1.
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Sectors {
    type Output = Self;

    /// # Panics
    /// `other` is larger.
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("a count of sectors is not negative"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_512_bytes() {
        let table = [(0, Some(0)), (512, Some(1)), (4096, Some(8)), (511, None), (513, None)];
        for (bytes, sectors) in table {
            assert_eq!(Sectors::filled_by(Bytes(bytes)), sectors.map(Sectors), "{bytes}");
        }
        assert_eq!(Sectors(3).bytes(), Some(Bytes(1536)));
        assert_eq!(Sectors(1 << 55).bytes(), None);
    }

    #[test]
    fn counts_add_up_and_never_wrap_around() {
        assert_eq!(Sectors(5) - Sectors(2) + Sectors(1), Sectors(4));
        assert_eq!((Sectors(1).to_string(), Sectors(2).to_string()), ("1 sector".to_owned(), "2 sectors".to_owned()));
        let cases: [fn() -> Sectors; 2] = [|| Sectors(u64::MAX) + Sectors(1), || Sectors(1) - Sectors(2)];
        assert!(cases.into_iter().all(|case| std::panic::catch_unwind(case).is_err()));
    }
}
