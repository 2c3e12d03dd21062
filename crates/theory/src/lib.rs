//! Closed forms that simulations are held against.
//!
//! alpha is physical over logical pages, the reserve of garbage collection left out; write amplification starts at 1.

pub mod queueing;

/// Write amplification of FIFO (LRU) cleaning under uniform writes: alpha / (alpha + W0(-alpha e^-alpha)).
///
/// Exact in the limit of many blocks. Source: P. Desnoyers, "Analytic Models of SSD Write Performance", 2014. `alpha`
/// above 1.
pub fn lru_write_amplification(alpha: f64) -> f64 {
    assert!(alpha > 1.0, "there is more flash than data, found {alpha} times as much");
    alpha / (alpha + lambert_w0(-alpha * libm::exp(-alpha)))
}

/// Write amplification of random victims under any workload: alpha / (alpha - 1). Source: mean-field study (003).
pub fn random_write_amplification(alpha: f64) -> f64 {
    assert!(alpha > 1.0, "there is more flash than data, found {alpha} times as much");
    alpha / (alpha - 1.0)
}

/// Greedy under uniform writes at a spare factor of 0.1, 1024 logical blocks and a reserve of 7: pages a block and write
/// amplification, from a separate small model of the drive.
pub const GREEDY_UNIFORM: [(u32, f64); 4] = [(32, 4.53), (64, 4.85), (128, 5.03), (256, 5.11)];

/// Share of the blocks that hold i of `pages` valid pages, i = 0 to `pages`: binomial(`pages`, 1/2).
///
/// The fixed point of the mean-field model under uniform requests (003, Theorem 1). Utilization is no parameter: it is a
/// half, so this says nothing of fuller drives. `pages` up to 1,000; above, 2^-pages runs out of a float's range.
pub fn half_full_occupancy(pages: u32) -> Vec<f64> {
    assert!(pages <= 1000, "2^-{pages} runs out of a float's range");
    let none = libm::exp2(-f64::from(pages));
    let mut shares = vec![none];
    let mut share = none;
    for valid in 0..pages {
        share *= f64::from(pages - valid) / f64::from(valid + 1);
        shares.push(share);
    }
    shares
}

/// What a victim policy costs and how evenly it wears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Victims {
    /// Mean valid pages of a victim.
    pub valid_pages_mean: f64,
    /// Jain's index of the erasures, 0 to 1.
    pub wear_index: f64,
    /// Write amplification, from 1 on.
    pub write_amplification: f64,
}

/// The emptiest of `d` blocks drawn with replacement, by `occupancy[i]`, the share of blocks with i valid pages.
///
/// A fraction of `d` mixes its neighbors. Source: mean-field study (003), the randomized greedy algorithm. `occupancy` adds up to 1 and does not put every
/// block at its full size, where the amplification is infinite; `d` is at least 1.
pub fn d_choices(occupancy: &[f64], d: f64) -> Victims {
    debug_assert!((occupancy.iter().sum::<f64>() - 1.0).abs() < 1e-6, "shares of all blocks add up to 1");
    assert!(d >= 1.0, "at least one block is drawn, found {d}");
    let (whole, part) = (libm::floor(d), d - libm::floor(d));
    let (mut tail, mut next) = (1.0, 1.0);
    let (mut valid_pages_mean, mut squares) = (0.0, 0.0);
    for (valid, share) in occupancy.iter().enumerate() {
        next = f64::max(next - share, 0.0);
        let chance = |d| libm::pow(tail, d) - libm::pow(next, d);
        let chosen = (1.0 - part) * chance(whole) + part * chance(whole + 1.0);
        valid_pages_mean += valid as f64 * chosen;
        if *share > 0.0 {
            squares += chosen * chosen / share;
        }
        tail = next;
    }
    let pages = occupancy.len() as f64 - 1.0;
    Victims { valid_pages_mean, wear_index: 1.0 / squares, write_amplification: pages / (pages - valid_pages_mean) }
}

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

    #[test]
    fn half_full_blocks_are_binomial() {
        assert_eq!(half_full_occupancy(2), [0.25, 0.5, 0.25]);
        assert_eq!(half_full_occupancy(4), [0.0625, 0.25, 0.375, 0.25, 0.0625]);
        for pages in [64, 256, 1000] {
            let sum: f64 = half_full_occupancy(pages).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{pages} {sum}");
        }
    }

    #[test]
    fn d_choices_match_the_published_table() {
        // d, mean valid pages, wear index, write amplification of 64-page blocks. One unit of the last digit
        // is allowed: at d = 2 the table has 1.869 for 1.86848, at d = 3 28.622 for 28.62147.
        let occupancy = half_full_occupancy(64);
        for (d, valid, wear, amplification) in [
            (1.0, 32.0, 1.0, 2.0),
            (1.5, 30.874, 0.9235, 1.932),
            (2.0, 29.748, 0.7511, 1.869),
            (3.0, 28.622, 0.5571, 1.809),
            (5.0, 27.359, 0.3617, 1.747),
            (10.0, 25.865, 0.1914, 1.678),
            (20.0, 24.563, 0.0985, 1.623),
            (50.0, 23.060, 0.0402, 1.563),
            (100.0, 22.047, 0.0203, 1.526),
        ] {
            let found = d_choices(&occupancy, d);
            assert!((found.valid_pages_mean - valid).abs() < 1e-3, "{d} {found:?}");
            assert!((found.wear_index - wear).abs() < 1e-4, "{d} {found:?}");
            assert!((found.write_amplification - amplification).abs() < 1e-3, "{d} {found:?}");
        }
    }

    #[test]
    fn d_choices_match_exact_fractions() {
        // The sum of T_i^d over i >= 1 in rational arithmetic.
        let occupancy = half_full_occupancy(64);
        for (d, want) in [(2.0, 29.747645050559516), (3.0, 28.621467575839272), (100.0, 22.04721834236034)] {
            let found = d_choices(&occupancy, d).valid_pages_mean;
            assert!((found - want).abs() < 1e-11, "{d} {found}");
        }
    }

    #[test]
    fn empty_states_change_nothing() {
        let found = d_choices(&[0.0, 0.5, 0.0, 0.5, 0.0], 2.0);
        // Both draws full: 1/4.
        assert_eq!(found.valid_pages_mean, 1.5);
        assert!((found.wear_index - 0.8).abs() < 1e-12 && (found.write_amplification - 1.6).abs() < 1e-12, "{found:?}");
    }
}
