//! Closed forms and mean-field models: references for simulations, and answers without one.
//!
//! alpha is physical over logical pages, without the reserve of garbage collection; write amplification starts at 1. Shares of
//! blocks by valid pages are slices of k + 1 numbers, for 0 to k. Functions that take a user's values return [`TheoryError`]; the
//! older functions in this file panic.

mod error;
pub mod lifetime;
pub mod occupancy;
pub mod queueing;
mod roots;
pub mod selection;
pub mod tradeoff;
pub mod utilization;

pub use error::TheoryError;

/// Write amplification of FIFO (LRU) cleaning under uniform writes: alpha / (alpha + W0(-alpha e^-alpha)).
///
/// Exact in the limit of many blocks. Source: P. Desnoyers, "Analytic Models of SSD Write Performance", 2014. `alpha`
/// above 1.
pub fn lru_write_amplification(alpha: f64) -> f64 {
    assert!(alpha > 1.0, "there is more flash than data, found {alpha} times as much");
    alpha / (alpha + lambert_w::lambert_w0(-alpha * libm::exp(-alpha)))
}

/// Write amplification of random victims under any workload: alpha / (alpha - 1). Source: mean-field study (003).
pub fn random_write_amplification(alpha: f64) -> f64 {
    assert!(alpha > 1.0, "there is more flash than data, found {alpha} times as much");
    alpha / (alpha - 1.0)
}

/// Greedy under uniform writes at a spare factor of 0.1, 1024 logical blocks and a reserve of 7: (pages a block, write
/// amplification), from a separate small model of the drive.
pub const GREEDY_UNIFORM: [(u32, f64); 4] = [(32, 4.53), (64, 4.85), (128, 5.03), (256, 5.11)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_match_their_anchors() {
        for (alpha, want) in [(1.0 / 0.9, 5.179), (1.0 / 0.93, 7.318), (1.25, 2.693)] {
            let found = lru_write_amplification(alpha);
            assert!((found - want).abs() < 5e-4, "{alpha} {found}");
        }
        assert!((random_write_amplification(1.0 / 0.9) - 10.0).abs() < 1e-9);
    }
}
