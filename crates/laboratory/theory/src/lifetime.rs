//! How long a drive lives: drive writes to its end, and the drive writes a day for a wanted life.
//!
//! Blocks wear at a rate that write amplification sets and retire at their rated cycles. A fixed drive ends when the blocks in
//! service hold no more than it exports. Blocks that take turns reach their cycles together. The more the time between two erases
//! of a block varies, the earlier the first blocks retire; then the spare factor falls and write amplification rises.

use crate::error::{TheoryError, within};

/// A drive that wears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wearing {
    /// (Physical - logical) / physical pages when new, above 0 and below 1.
    pub spare_factor: f64,
    /// Erases after which a block retires, 1 or more.
    pub endurance: f64,
    /// Variance of the time between two erases of a block over its squared mean, 0 or more.
    pub erase_gap_variance: f64,
    /// Mean erases of a block before counting begins.
    pub erases_before: f64,
    /// Standard deviation of these over the blocks, 0 or more.
    pub spread_before: f64,
}

/// Steps of the integration over the time in which blocks retire.
const STEPS: u32 = 64;

/// Drive writes until a fixed drive ends. `write_amplification` gives it for a spare factor of 0.001 or more. Erases of a block
/// are modeled as a renewal process, so that their count after a mean of x is normal with a variance of x times the gap's, and that of what came before.
///
/// # Errors
/// A number outside its range, or an error of `write_amplification`.
pub fn drive_writes(
    wearing: Wearing,
    write_amplification: impl Fn(f64) -> Result<f64, TheoryError>,
) -> Result<f64, TheoryError> {
    let Wearing { spare_factor, endurance, erase_gap_variance, erases_before, spread_before } = wearing;
    within("the spare factor", spare_factor, 0.001, 0.999)?;
    within("the endurance", endurance, 1.0, 1e9)?;
    within("the variance of the time between erases", erase_gap_variance, 0.0, 1e6)?;
    within("the erases before", erases_before, 0.0, f64::MAX)?;
    within("the spread of the erases before", spread_before, 0.0, f64::MAX)?;
    let spread = libm::sqrt(erase_gap_variance * endurance + spread_before * spread_before);
    let logical = 1.0 - spare_factor;
    // Drive writes for each mean erase of every living block.
    let pace = |living: f64| -> Result<f64, TheoryError> {
        let spare = (1.0 - logical / living).max(0.001);
        Ok(living / logical / write_amplification(spare)?)
    };
    let fresh = pace(1.0)?;
    // The pace begins to change when one in a thousand of the spare blocks has retired.
    let (first, last) = (quantile(spare_factor * 1e-3), quantile(spare_factor));
    assert!(first < last, "some blocks retire before the drive ends");
    let at = |z: f64| endurance + z * spread;
    let whole = (at(first) - erases_before).max(0.0);
    let mut written = whole * fresh;
    let mut from = at(first).max(erases_before);
    for step in 1..=STEPS {
        let z = first + (last - first) * f64::from(step) / f64::from(STEPS);
        let to = at(z);
        if to > from {
            let middle = if spread > 0.0 { ((from + to) / 2.0 - endurance) / spread } else { z };
            written += (to - from) * pace(1.0 - share_below(middle))?;
            from = to;
        }
    }
    Ok(written)
}

/// Drive writes a day that use up a life in `years` years of 365 days.
pub fn drive_writes_per_day(drive_writes: f64, years: f64) -> f64 {
    drive_writes / (365.0 * years)
}

/// Share of a normal variable below z standard deviations.
fn share_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / core::f64::consts::SQRT_2)
}

/// The point below which `share` of a normal variable lies, in standard deviations.
fn quantile(share: f64) -> f64 {
    crate::roots::falling_root(|z| share - share_below(z), -12.0, 12.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_take_turns_use_all_their_cycles() {
        let wearing = Wearing {
            spare_factor: 0.1,
            endurance: 500.0,
            erase_gap_variance: 0.0,
            erases_before: 0.0,
            spread_before: 0.0,
        };
        let found = drive_writes(wearing, |_| Ok(4.0)).unwrap();
        assert!((found / (500.0 / 0.9 / 4.0) - 1.0).abs() < 1e-9, "{found}");
        let later = drive_writes(Wearing { erases_before: 13.0, ..wearing }, |_| Ok(4.0)).unwrap();
        assert!((later / found - 487.0 / 500.0).abs() < 1e-9, "{later}");
        assert!((drive_writes_per_day(1825.0, 5.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_more_chance_the_shorter_the_life() {
        let life = |erase_gap_variance| {
            let wearing = Wearing {
                spare_factor: 0.1,
                endurance: 100.0,
                erase_gap_variance,
                erases_before: 0.0,
                spread_before: 0.0,
            };
            drive_writes(wearing, |spare| Ok(1.0 / spare)).unwrap()
        };
        let (even, some, random) = (life(0.0), life(0.1), life(1.0));
        assert!(random < some && some < even, "{random} {some} {even}");
        // Random victims: a tenth of the blocks has 100 erases when the mean is some 1.28 standard deviations below.
        assert!((0.82..0.90).contains(&(random / even)), "{}", random / even);
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (share, want) in [(0.5, 0.0), (0.1, -1.281_552), (0.025, -1.959_964), (1e-4, -3.719_016)] {
            assert!((quantile(share) - want).abs() < 1e-5, "{share}");
        }
        let wearing = Wearing {
            spare_factor: 0.1,
            endurance: 0.0,
            erase_gap_variance: 0.0,
            erases_before: 0.0,
            spread_before: 0.0,
        };
        let text = drive_writes(wearing, |_| Ok(1.0)).unwrap_err().to_string();
        assert_eq!(text, "the endurance: found 0, allowed is 1 to 1000000000");
    }
}
