//! Copies: each data chunk lies on several members.

use super::Code;

/// Two copies: a mirror, or RAID-10 if a stripe has more than one data chunk.
pub static COPIES_2: Copies = Copies("copies-2", 2);
/// Three copies.
pub static COPIES_3: Copies = Copies("copies-3", 3);

/// N copies of each data chunk.
#[derive(Debug)]
pub struct Copies(&'static str, usize);

impl Code for Copies {
    fn name(&self) -> &'static str {
        self.0
    }

    fn tolerates(&self) -> usize {
        self.1 - 1
    }

    fn data(&self, width: usize) -> Option<usize> {
        (width > 0 && width.is_multiple_of(self.1)).then(|| width / self.1)
    }

    /// The further copies of chunk 0 come first, then those of chunk 1.
    fn coefficient(&self, parity: usize, data: usize, _of: usize) -> u8 {
        u8::from(parity / (self.1 - 1) == data)
    }
}
