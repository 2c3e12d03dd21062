//! FNV-1a, the only hash of the product: for names of random streams, scenarios and files.
//!
//! It guards against mistakes, not against forgery. The implementation is our own because its values are part of file formats
//! and of random streams and may never change. Source: Fowler, Noll and Vo,
//! <http://www.isthe.com/chongo/tech/comp/fnv/>; 64 bits.

/// A hash that is being computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv(u64);

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

impl Fnv {
    /// The hash of no bytes.
    pub const EMPTY: Self = Self(OFFSET_BASIS);

    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Self::EMPTY;
        hash.add(bytes);
        hash
    }

    /// Adds more bytes.
    #[inline]
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    }

    /// The hash of all bytes added so far.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The hash as 16 hexadecimal digits.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_authors() {
        // From the test vectors of the authors' reference code.
        for (text, want) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(Fnv::of(text.as_bytes()).get(), want, "{text}");
        }
        let mut parts = Fnv::of(b"foo");
        parts.add(b"bar");
        assert_eq!(parts.hex(), "85944171f73967e8");
    }
}
