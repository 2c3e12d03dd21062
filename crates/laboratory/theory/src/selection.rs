//! Cost and wear leveling of a choice of victims by their valid pages.
//!
//! A policy is k + 1 weights: of N blocks, a block with i valid pages is the victim with chance w_i / N, so that sum w_i pi_i = 1
//! over the shares pi of the blocks. Source: mean-field study (003) §3.1, §3.5 and §4.2. The shares are those at one moment: the
//! index of wear holds while blocks keep their states, and evens out over a life.

use crate::error::{TheoryError, distribution, within};

/// The result of a victim policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatingPoint {
    /// Mean number of valid pages of a victim, 0 to k.
    pub cleaning_cost: f64,
    /// Jain's index of the erases, above 0 to 1.
    pub wear_leveling: f64,
    /// Pages programmed for each page of the host, from 1 on; infinite if every victim is full.
    pub write_amplification: f64,
}

/// The operating point of k + 1 weights: C = sum i w_i pi_i, W = 1 / sum w_i^2 pi_i, and k / (k - C) (003, equations 12, 13, 25).
///
/// # Errors
/// The shares are not a distribution, the number of weights differs, a weight is negative, or the chances do not add up to 1.
pub fn operating_point(occupancy: &[f64], weights: &[f64]) -> Result<OperatingPoint, TheoryError> {
    distribution("shares of the blocks", occupancy)?;
    if weights.len() != occupancy.len() {
        let allowed = format!("one for each of the {} shares", occupancy.len());
        return Err(TheoryError::Length { what: "weights", found: weights.len(), allowed });
    }
    for weight in weights {
        within("a weight", *weight, 0.0, f64::MAX)?;
    }
    let chances: Vec<f64> = occupancy.iter().zip(weights).map(|(share, weight)| share * weight).collect();
    let found: f64 = chances.iter().sum();
    if (found - 1.0).abs() > 1e-6 {
        return Err(TheoryError::NotNormalized { what: "weights times shares", found });
    }
    Ok(of_chances(occupancy, &chances))
}

/// Random victims: all weights 1.
///
/// # Errors
/// The shares are no distribution.
pub fn random(occupancy: &[f64]) -> Result<OperatingPoint, TheoryError> {
    operating_point(occupancy, &vec![1.0; occupancy.len()])
}

/// Greedy victims: the blocks with the fewest valid pages, each as likely as any other.
///
/// # Errors
/// The shares are no distribution.
pub fn greedy(occupancy: &[f64]) -> Result<OperatingPoint, TheoryError> {
    distribution("shares of the blocks", occupancy)?;
    let lowest = occupancy.iter().position(|share| *share > 0.0).unwrap_or(0);
    assert!(occupancy[lowest] > 0.0, "shares that add up to 1 are not all 0");
    let mut weights = vec![0.0; occupancy.len()];
    weights[lowest] = 1.0 / occupancy[lowest];
    operating_point(occupancy, &weights)
}

/// The emptiest of `d` blocks: the randomized greedy algorithm. A fractional `d` mixes its two neighbors.
///
/// # Errors
/// The shares are no distribution, or `d` is below 1.
pub fn d_choices(occupancy: &[f64], d: f64) -> Result<OperatingPoint, TheoryError> {
    Ok(of_chances(occupancy, &d_choices_chances(occupancy, d)?))
}

/// The k + 1 weights of d-choices (003, equation 26), with draws that may repeat a block: exact for many blocks. 0 for states
/// without a block.
///
/// # Errors
/// As [`d_choices`].
pub fn d_choices_weights(occupancy: &[f64], d: f64) -> Result<Vec<f64>, TheoryError> {
    let chances = d_choices_chances(occupancy, d)?;
    Ok(chances.iter().zip(occupancy).map(|(chance, share)| if *share > 0.0 { chance / share } else { 0.0 }).collect())
}

fn d_choices_chances(occupancy: &[f64], d: f64) -> Result<Vec<f64>, TheoryError> {
    distribution("shares of the blocks", occupancy)?;
    within("d", d, 1.0, f64::MAX)?;
    let whole = libm::floor(d);
    let part = d - whole;
    let mut tails = vec![0.0; occupancy.len() + 1];
    for state in (0..occupancy.len()).rev() {
        tails[state] = tails[state + 1] + occupancy[state];
    }
    let mut below = 0.0;
    let chances = occupancy.iter().enumerate().map(|(state, share)| {
        let (from, to) = (below, below + share);
        below = to;
        let chance = |d: f64| {
            if d == 1.0 {
                *share
            } else if to < 0.5 {
                // 1 - T^d from the blocks below: rare states at the bottom keep their digits.
                none_below(from, d) - none_below(to, d)
            } else {
                libm::pow(tails[state].min(1.0), d) - libm::pow(tails[state + 1], d)
            }
        };
        let chosen = if part > 0.0 { (1.0 - part) * chance(whole) + part * chance(whole + 1.0) } else { chance(whole) };
        chosen.max(0.0)
    });
    Ok(chances.collect())
}

/// (1 - `below`)^d - 1.
fn none_below(below: f64, d: f64) -> f64 {
    debug_assert!((0.0..1.0).contains(&below), "a share of the blocks lies below, found {below}");
    libm::expm1(d * libm::log1p(-below))
}

/// The operating point of chances of the states.
pub(crate) fn of_chances(occupancy: &[f64], chances: &[f64]) -> OperatingPoint {
    debug_assert_eq!(chances.len(), occupancy.len(), "each state has its chance");
    let pages = occupancy.len() as f64 - 1.0;
    let cleaning_cost: f64 = chances.iter().enumerate().map(|(valid, chance)| valid as f64 * chance).sum();
    let states = occupancy.iter().zip(chances).filter(|(share, _)| **share > 0.0);
    let squares: f64 = states.map(|(share, chance)| chance * chance / share).sum();
    let write_amplification = if cleaning_cost < pages { pages / (pages - cleaning_cost) } else { f64::INFINITY };
    OperatingPoint { cleaning_cost, wear_leveling: 1.0 / squares, write_amplification }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::half_full_occupancy;

    #[test]
    fn extremes_of_uniform_requests_are_known() {
        for pages in [2u32, 16, 64, 256] {
            let occupancy = half_full_occupancy(pages);
            let random = random(&occupancy).unwrap();
            assert!(
                (random.cleaning_cost - f64::from(pages) / 2.0).abs() < 1e-10
                    && (random.wear_leveling - 1.0).abs() < 1e-12
            );
            assert!((random.write_amplification - 2.0).abs() < 1e-12);
            let greedy = greedy(&occupancy).unwrap();
            assert_eq!((greedy.cleaning_cost, greedy.write_amplification), (0.0, 1.0));
            assert!((greedy.wear_leveling * libm::exp2(f64::from(pages)) - 1.0).abs() < 1e-12);
            assert!((d_choices(&occupancy, 1.0).unwrap().cleaning_cost - random.cleaning_cost).abs() < 1e-10);
        }
    }

    #[test]
    fn d_choices_match_the_published_table() {
        // d, cleaning cost, wear leveling, write amplification of 64-page blocks. One unit of the last digit
        // is allowed: at d = 2 the table has 1.869 for 1.86848, at d = 3 28.622 for 28.62147.
        let occupancy = half_full_occupancy(64);
        for (d, cost, wear, amplification) in [
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
            let found = d_choices(&occupancy, d).unwrap();
            assert!((found.cleaning_cost - cost).abs() < 1e-3, "{d} {found:?}");
            assert!((found.wear_leveling - wear).abs() < 1e-4, "{d} {found:?}");
            assert!((found.write_amplification - amplification).abs() < 1e-3, "{d} {found:?}");
            let weights = d_choices_weights(&occupancy, d).unwrap();
            let again = operating_point(&occupancy, &weights).unwrap();
            assert!((again.cleaning_cost - found.cleaning_cost).abs() < 1e-9, "{d} {again:?}");
        }
    }

    #[test]
    fn d_choices_match_exact_fractions() {
        // The sum of T_i^d over i >= 1 in rational arithmetic.
        let occupancy = half_full_occupancy(64);
        for (d, want) in [(2.0, 29.747645050559516), (3.0, 28.621467575839272), (100.0, 22.04721834236034)] {
            let found = d_choices(&occupancy, d).unwrap().cleaning_cost;
            assert!((found - want).abs() < 1e-11, "{d} {found}");
        }
    }

    #[test]
    fn many_draws_are_greedy() {
        // The lowest state has 2^-64 of the blocks; 10^24 draws surely include it.
        let occupancy = half_full_occupancy(64);
        let (many, greedy) = (d_choices(&occupancy, 1e24).unwrap(), greedy(&occupancy).unwrap());
        assert!(
            many.cleaning_cost < 1e-9 && (many.wear_leveling / greedy.wear_leveling - 1.0).abs() < 1e-9,
            "{many:?}"
        );
    }

    #[test]
    fn empty_states_change_nothing() {
        let found = d_choices(&[0.0, 0.5, 0.0, 0.5, 0.0], 2.0).unwrap();
        // Both draws full: 1/4.
        assert!((found.cleaning_cost - 1.5).abs() < 1e-12);
        assert!(
            (found.wear_leveling - 0.8).abs() < 1e-12 && (found.write_amplification - 1.6).abs() < 1e-12,
            "{found:?}"
        );
        let greedy = greedy(&[0.0, 0.5, 0.0, 0.5, 0.0]).unwrap();
        assert_eq!((greedy.cleaning_cost, greedy.wear_leveling), (1.0, 0.5));
        assert_eq!(random(&[0.0, 1.0]).unwrap().write_amplification, f64::INFINITY);
    }

    #[test]
    fn weights_that_are_none_are_refused_in_words() {
        let text = |result: Result<OperatingPoint, TheoryError>| result.unwrap_err().to_string();
        let occupancy = [0.25, 0.5, 0.25];
        assert_eq!(
            text(operating_point(&occupancy, &[1.0, 1.0, 0.9])),
            "weights times shares add up to 0.975, allowed is 1 within 0.000001"
        );
        assert_eq!(
            text(operating_point(&occupancy, &[1.0])),
            "weights: found 1 values, allowed are one for each of the 3 shares"
        );
        assert!(text(operating_point(&occupancy, &[2.0, -1.0, 4.0])).starts_with("a weight: found -1"));
        assert_eq!(text(d_choices(&occupancy, 0.5)), "d: found 0.5, allowed is a number from 1 on");
        assert!(text(d_choices(&occupancy, f64::NAN)).starts_with("d: found NaN"));
        assert!(text(random(&[])).starts_with("shares of the blocks: found 0 values"));
        assert!(text(random(&[0.5, 0.4])).contains("add up to 0.9"));
    }
}
