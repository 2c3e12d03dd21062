//! Closed forms that simulations are held against.
//!
//! alpha is physical over logical pages, the reserve of garbage collection left out; write amplification starts at 1.

/// Write amplification of FIFO (LRU) cleaning under uniform writes: alpha / (alpha + W0(-alpha e^-alpha)).
///
/// Exact in the limit of many blocks. Source: P. Desnoyers, "Analytic Models of SSD Write Performance", 2014. `alpha`
/// above 1.
pub fn lru_write_amplification(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w0(-alpha * libm::exp(-alpha)))
}

/// Write amplification of random victims under any workload: alpha / (alpha - 1). Source: mean-field study (003).
pub fn random_write_amplification(alpha: f64) -> f64 {
    alpha / (alpha - 1.0)
}

/// Greedy under uniform writes at a spare factor of 0.1, 1024 logical blocks and a reserve of 7: pages a block and write
/// amplification (SPEC §1.10).
pub const GREEDY_UNIFORM: [(u32, f64); 4] = [(32, 4.53), (64, 4.85), (128, 5.03), (256, 5.11)];

/// The principal branch of Lambert's W on [-1/e, 0], by Halley's iteration from the series at the branch point.
fn lambert_w0(x: f64) -> f64 {
    let p = libm::sqrt((2.0 * (core::f64::consts::E * x + 1.0)).max(0.0));
    let mut w = -1.0 + p - p * p / 3.0 + 11.0 / 72.0 * p * p * p;
    for _ in 0..64 {
        let e = libm::exp(w);
        let f = w * e - x;
        let step = f / (e * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0));
        if !step.is_finite() || step.abs() < 1e-15 {
            break;
        }
        w -= step;
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambert_inverts_x_e_x() {
        for x in [-0.3678, -0.35, -0.2, -0.05, -1e-6, 0.0] {
            let w = lambert_w0(x);
            assert!((w * w.exp() - x).abs() < 1e-12 && w >= -1.0, "{x} {w}");
        }
    }

    #[test]
    fn closed_forms_match_their_anchors() {
        for (alpha, want) in [(1.0 / 0.9, 5.179), (1.0 / 0.93, 7.318), (1.25, 2.693)] {
            let found = lru_write_amplification(alpha);
            assert!((found - want).abs() < 5e-4, "{alpha} {found}");
        }
        assert!((random_write_amplification(1.0 / 0.9) - 10.0).abs() < 1e-9);
    }
}
