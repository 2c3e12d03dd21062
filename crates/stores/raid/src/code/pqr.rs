//! Three parities: P and Q, and R, the sum of chunk N times 4^N.

use super::{Code, field};

/// Three parities.
pub static PQR: Pqr = Pqr;

/// See [`PQR`].
#[derive(Debug)]
pub struct Pqr;

impl Code for Pqr {
    fn name(&self) -> &'static str {
        "pqr"
    }

    fn tolerates(&self) -> usize {
        3
    }

    /// The powers of 2 are distinct for 255 chunks, and so are their squares: any three lost chunks are a system with one solution.
    fn data(&self, width: usize) -> Option<usize> {
        width.checked_sub(3).filter(|data| (1..=255).contains(data))
    }

    fn coefficient(&self, parity: usize, data: usize, _of: usize) -> u8 {
        [1, 2, 4].get(parity).map_or(0, |generator| field::power(*generator, data))
    }
}
