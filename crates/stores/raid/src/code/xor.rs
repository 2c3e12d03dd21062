//! One parity: the sum of all data chunks, as RAID-5 has it.

use super::Code;

/// One parity.
pub static XOR: Xor = Xor;

/// See [`XOR`].
#[derive(Debug)]
pub struct Xor;

impl Code for Xor {
    fn name(&self) -> &'static str {
        "xor"
    }

    fn tolerates(&self) -> usize {
        1
    }

    fn data(&self, width: usize) -> Option<usize> {
        width.checked_sub(1).filter(|data| *data > 0)
    }

    fn coefficient(&self, _parity: usize, _data: usize, _of: usize) -> u8 {
        1
    }
}
