//! Two parities, as RAID-6 of Linux md has them: P, the sum of all data chunks, and Q, the sum of chunk N times 2^N.

use super::{Code, field};

/// Two parities.
pub static PQ: Pq = Pq;

/// See [`PQ`].
#[derive(Debug)]
pub struct Pq;

impl Code for Pq {
    fn name(&self) -> &'static str {
        "pq"
    }

    fn tolerates(&self) -> usize {
        2
    }

    fn data(&self, width: usize) -> Option<usize> {
        width.checked_sub(2).filter(|data| (1..=255).contains(data))
    }

    fn coefficient(&self, parity: usize, data: usize, _of: usize) -> u8 {
        if parity == 0 { 1 } else { field::power(2, data) }
    }
}
