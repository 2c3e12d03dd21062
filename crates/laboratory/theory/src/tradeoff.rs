//! The best wear leveling of any weights at a cleaning cost, and the d of d-choices that reaches a wanted figure.
//!
//! Minimizing sum w_i^2 pi_i subject to sum w_i pi_i = 1, sum i w_i pi_i = C and w >= 0 has a closed form (003, Theorem 5).
//! It is written here around C, which keeps its digits. With u_i = i - C and, over an end B of the states, S0 = sum pi_i, U1 =
//! sum u_i pi_i, U2 = sum u_i^2 pi_i and Z = S0 U2 - U1^2, the weights are w_i = (U2 - u_i U1) / Z on B and 0 elsewhere, and the
//! best wear leveling is Z / U2. For a cost below that of random victims B is the lower end of the states, above it the upper
//! end. B ends where the line U2 - u U1 crosses 0.

use crate::error::{TheoryError, distribution, within};
use crate::selection::{OperatingPoint, d_choices, operating_point};

/// The weights with the most even wear at a cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// Cleaning cost, wear leveling and write amplification.
    pub point: OperatingPoint,
    /// Weights of the states, 0 to k valid pages; 0 for states without a block.
    pub weights: Vec<f64>,
}

/// The most even wear at a cleaning cost. `cost` lies between the fewest and the most valid pages that any block holds.
///
/// # Errors
/// `occupancy` is no distribution over 0 to k valid pages, or no weights have this cost.
pub fn optimum(occupancy: &[f64], cost: f64) -> Result<Optimum, TheoryError> {
    distribution("shares of the blocks", occupancy)?;
    let (least, most) = visited(occupancy);
    within("the cleaning cost", cost, least as f64, most as f64)?;
    let mean: f64 = occupancy.iter().enumerate().map(|(valid, share)| valid as f64 * share).sum();
    let mut weights = vec![0.0; occupancy.len()];
    if (cost - mean).abs() <= 1e-12 * mean {
        weights.iter_mut().zip(occupancy).for_each(|(weight, share)| *weight = f64::from(u8::from(*share > 0.0)));
    } else if cost < mean {
        lower_end(occupancy, cost, &mut weights);
    } else {
        // The upper branch is the lower branch of blocks counted by their invalid pages.
        let pages = occupancy.len() - 1;
        let mirrored: Vec<f64> = occupancy.iter().rev().copied().collect();
        lower_end(&mirrored, pages as f64 - cost, &mut weights);
        weights.reverse();
    }
    let point = operating_point(occupancy, &weights)?;
    // The cost is what was asked for; rounding of the sums must not change it.
    Ok(Optimum { point: OperatingPoint { cleaning_cost: cost, ..point }, weights })
}

/// The most even wear at a cleaning cost: W* of 003, Theorem 5.
///
/// # Errors
/// As [`optimum`].
pub fn optimal_wear_leveling(occupancy: &[f64], cost: f64) -> Result<f64, TheoryError> {
    Ok(optimum(occupancy, cost)?.point.wear_leveling)
}

/// The curve from greedy to random: `points` optima, 2 or more, at costs spaced evenly from the fewest valid pages of any block
/// to the mean of all. Costs above the mean are left out: they cost more and wear less evenly.
///
/// # Errors
/// `occupancy` is no distribution, or fewer than 2 points are asked for.
pub fn curve(occupancy: &[f64], points: usize) -> Result<Vec<OperatingPoint>, TheoryError> {
    distribution("shares of the blocks", occupancy)?;
    within("points of the curve", points as f64, 2.0, f64::MAX)?;
    let least = visited(occupancy).0 as f64;
    let mean: f64 = occupancy.iter().enumerate().map(|(valid, share)| valid as f64 * share).sum();
    let at = |place: usize| least + (mean - least) * (place as f64 / (points - 1) as f64);
    (0..points).map(|place| optimum(occupancy, at(place).min(mean)).map(|optimum| optimum.point)).collect()
}

/// The smallest d of d-choices whose cleaning cost is at most `cost`. A fractional d mixes its two neighbors.
///
/// # Errors
/// `occupancy` is not a distribution, or the cost is not above greedy's and at most that of random victims. Above 2^53 draws, d
/// has no fraction and greedy is meant.
pub fn d_for_cost(occupancy: &[f64], cost: f64) -> Result<f64, TheoryError> {
    reach(occupancy, "the cleaning cost", cost, |point| point.cleaning_cost)
}

/// The largest d of d-choices whose wear leveling is at least `wear_leveling`. A fractional d mixes its two neighbors.
///
/// # Errors
/// `occupancy` is not a distribution, or the wear leveling is not above greedy's and at most 1.
pub fn d_for_wear_leveling(occupancy: &[f64], wear_leveling: f64) -> Result<f64, TheoryError> {
    reach(occupancy, "the wear leveling", wear_leveling, |point| point.wear_leveling)
}

/// The d at which a figure that falls with d reaches `wanted`.
fn reach(
    occupancy: &[f64],
    what: &'static str,
    wanted: f64,
    figure: impl Fn(&OperatingPoint) -> f64,
) -> Result<f64, TheoryError> {
    const D_MAX: f64 = 9_007_199_254_740_992.0;
    let at = |d: f64| d_choices(occupancy, d).map(|point| figure(&point));
    let (most, least) = (at(1.0)?, at(D_MAX)?);
    if !(least..=most).contains(&wanted) {
        let allowed = format!("what d-choices reach on these blocks, {least:.6} to {most:.6}");
        return Err(TheoryError::OutOfRange { what, found: wanted, allowed });
    }
    // First the whole d below, then the fraction.
    let (mut low, mut high) = (1.0, D_MAX);
    while high - low > 1.0 {
        let middle = libm::floor(low + (high - low) / 2.0);
        if at(middle)? >= wanted { low = middle } else { high = middle }
    }
    let (mut from, mut to) = (low, high);
    for _ in 0..64 {
        let middle = from + (to - from) / 2.0;
        if at(middle)? >= wanted { from = middle } else { to = middle }
    }
    Ok(from)
}

/// The fewest and the most valid pages that any block holds.
fn visited(occupancy: &[f64]) -> (usize, usize) {
    let held = |share: &f64| *share > 0.0;
    let least = occupancy.iter().position(held).unwrap_or(0);
    (least, occupancy.iter().rposition(held).unwrap_or(least))
}

/// The weights for a cost below the mean.
fn lower_end(occupancy: &[f64], cost: f64, weights: &mut [f64]) {
    debug_assert_eq!(weights.len(), occupancy.len(), "each state has its weight");
    let (least, most) = visited(occupancy);
    // X / Y lands exactly on a state for symmetric shares; the neighboring choices give the same weights.
    const ROUNDING: f64 = 1e-10;
    if cost <= least as f64 {
        weights[least] = 1.0 / occupancy[least];
        return;
    }
    // Shares of rare states are far below 1, so the sums are kept in units of the largest share so far.
    let (mut s0, mut u1, mut u2, mut unit) = (0.0, 0.0, 0.0, 0.0);
    for last in least..=most {
        let share = occupancy[last];
        if share > unit {
            let scale = unit / share;
            (s0, u1, u2, unit) = (s0 * scale, u1 * scale, u2 * scale, share);
        }
        let (share, u) = (share / unit, last as f64 - cost);
        (s0, u1, u2) = (s0 + share, u1 + u * share, u2 + u * u * share);
        let z = s0 * u2 - u1 * u1;
        // If the states so far all lie below the cost, no weights of these states reach it.
        if u1 <= 0.0 || z <= 0.0 {
            continue;
        }
        // The weights fall to 0 between the last state and the next.
        let crossing = cost + u2 / u1;
        if last == most || crossing <= last as f64 + 1.0 + ROUNDING {
            for state in least..=last {
                if occupancy[state] > 0.0 {
                    weights[state] = ((u2 - (state as f64 - cost) * u1) / (z * unit)).max(0.0);
                }
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::half_full_occupancy;

    fn near(found: &[f64], want: &[f64]) {
        for (place, (found, want)) in found.iter().zip(want).enumerate() {
            assert!((found - want).abs() < 1e-12 * want.abs().max(1.0), "{place}: {found} for {want}");
        }
    }

    #[test]
    fn examples_by_hand_come_out() {
        let two = half_full_occupancy(2);
        for (cost, weights, best) in [
            (0.0, [4.0, 0.0, 0.0], 0.25),
            (0.25, [3.0, 0.5, 0.0], 8.0 / 19.0),
            (0.5, [2.0, 1.0, 0.0], 2.0 / 3.0),
            (0.75, [1.5, 1.0, 0.5], 8.0 / 9.0),
            (1.0, [1.0, 1.0, 1.0], 1.0),
            (1.5, [0.0, 1.0, 2.0], 2.0 / 3.0),
            (2.0, [0.0, 0.0, 4.0], 0.25),
        ] {
            let found = optimum(&two, cost).unwrap();
            near(&found.weights, &weights);
            near(&[found.point.wear_leveling], &[best]);
        }
        let four = half_full_occupancy(4);
        for (cost, weights, best) in [
            (0.5, [8.0, 2.0, 0.0, 0.0, 0.0], 0.2),
            (1.0, [48.0 / 13.0, 28.0 / 13.0, 8.0 / 13.0, 0.0, 0.0], 13.0 / 28.0),
            (1.5, [2.0, 1.5, 1.0, 0.5, 0.0], 0.8),
        ] {
            let found = optimum(&four, cost).unwrap();
            near(&found.weights, &weights);
            near(&[found.point.wear_leveling], &[best]);
        }
        assert!((optimum(&four, 0.5).unwrap().point.write_amplification - 8.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn d_choices_run_close_below_the_curve() {
        let occupancy = half_full_occupancy(64);
        for (d, best) in [
            (1.0, 1.0),
            (1.5, 0.9266),
            (2.0, 0.7570),
            (3.0, 0.5637),
            (5.0, 0.3679),
            (10.0, 0.1955),
            (20.0, 0.1009),
            (50.0, 0.0412),
            (100.0, 0.0208),
        ] {
            let found = d_choices(&occupancy, d).unwrap();
            let optimal = optimal_wear_leveling(&occupancy, found.cleaning_cost).unwrap();
            assert!((optimal - best).abs() < 1e-4, "{d}: {optimal} for {best}");
            let ratio = found.wear_leveling / optimal;
            assert!((0.97..=1.0 + 1e-12).contains(&ratio), "{d}: {ratio}");
        }
    }

    #[test]
    fn the_curve_rises_from_greedy_to_random() {
        for occupancy in [half_full_occupancy(64), vec![0.0, 0.5, 0.0, 0.25, 0.25, 0.0]] {
            let points = curve(&occupancy, 101).unwrap();
            let (greedy, random) = (crate::selection::greedy(&occupancy), crate::selection::random(&occupancy));
            assert_eq!(points[0], greedy.unwrap());
            near(&[points[100].wear_leveling, points[100].cleaning_cost], &[1.0, random.unwrap().cleaning_cost]);
            assert!(points.windows(2).all(|pair| pair[0].wear_leveling < pair[1].wear_leveling));
        }
    }

    #[test]
    fn wanted_points_are_reached_by_some_d() {
        let occupancy = half_full_occupancy(64);
        for d in [1.0, 1.25, 1.5, 2.0, 2.75, 7.0, 33.5, 100.0] {
            let point = d_choices(&occupancy, d).unwrap();
            for found in
                [d_for_cost(&occupancy, point.cleaning_cost), d_for_wear_leveling(&occupancy, point.wear_leveling)]
            {
                let found = found.unwrap();
                assert!((found / d - 1.0).abs() < 1e-6, "{d} {found}");
            }
        }
    }

    #[test]
    fn points_out_of_reach_are_refused_in_words() {
        let two = half_full_occupancy(2);
        let text = |error: TheoryError| error.to_string();
        assert_eq!(text(optimum(&two, 2.5).unwrap_err()), "the cleaning cost: found 2.5, allowed is 0 to 2");
        assert_eq!(
            text(optimum(&[0.0, 1.0, 0.0], 0.5).unwrap_err()),
            "the cleaning cost: found 0.5, allowed is 1 to 1"
        );
        let found = text(d_for_wear_leveling(&two, 0.1).unwrap_err());
        assert_eq!(
            found,
            "the wear leveling: found 0.1, allowed is what d-choices reach on these blocks, 0.250000 to 1.000000"
        );
        assert!(d_for_cost(&two, 1.5).is_err() && curve(&two, 1).is_err());
    }
}
