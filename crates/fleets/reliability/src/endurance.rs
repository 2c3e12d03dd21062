//! How long drives live: wear-out, whose limit differs from drive to drive and from batch to batch, and failures by chance.

use serde::{Deserialize, Serialize};
use wane_sim::Stream;
use wane_units::DAYS_PER_YEAR;

use crate::PlanError;

/// How the limits of drives of one batch are distributed about their mean.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// The logarithm is normal.
    #[default]
    Lognormal,
    /// The weakest of many parts decides.
    Weibull,
    /// Normal. The coefficient of variation is at most 0.25, so that limits below 0 do not matter (3e-5 of them).
    Normal,
}

/// Most coefficient of variation of a normal spread.
const NORMAL_CV_MAX: f64 = 0.25;
/// Most coefficient of variation of the others.
const CV_MAX: f64 = 2.0;

/// The wear at which drives die.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endurance {
    mean: f64,
    spread: Spread,
    cv: f64,
    batch_cv: f64,
    /// Of the spread with mean 1: (location, scale) of a lognormal, (shape, scale) of a Weibull, (mean, deviation) of a normal one.
    fitted: (f64, f64),
}

impl Endurance {
    /// Drives that die at a wear of `mean` on average, with a coefficient of variation `cv` within a batch. The means of batches are lognormal about
    /// that, with `batch_cv`.
    ///
    /// # Errors
    /// `mean` is not above 0, or a coefficient of variation is not in 0..=2 (0.25 if normal).
    pub fn new(mean: f64, spread: Spread, cv: f64, batch_cv: f64) -> Result<Self, PlanError> {
        if !(mean > 0.0 && mean.is_finite()) {
            return Err(PlanError::Value("endurance.mean", mean, "above 0"));
        }
        let most = if spread == Spread::Normal { NORMAL_CV_MAX } else { CV_MAX };
        if !(0.0..=most).contains(&cv) {
            let allowed = if spread == Spread::Normal { "0 to 0.25 for a normal spread" } else { "0 to 2" };
            return Err(PlanError::Value("endurance.cv", cv, allowed));
        }
        if !(0.0..=CV_MAX).contains(&batch_cv) {
            return Err(PlanError::Value("endurance.batch-cv", batch_cv, "0 to 2"));
        }
        let fitted = match spread {
            Spread::Lognormal => (-lognormal_sigma(cv).powi(2) / 2.0, lognormal_sigma(cv)),
            Spread::Weibull => {
                let shape = weibull_shape(cv);
                (shape, 1.0 / libm::tgamma(1.0 + 1.0 / shape))
            }
            Spread::Normal => (1.0, cv),
        };
        Ok(Self { mean, spread, cv, batch_cv, fitted })
    }

    /// The mean wear at death.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The same drives with a mean that is `factor` times as high.
    ///
    /// # Errors
    /// The mean is not above 0 then.
    pub fn times(&self, factor: f64) -> Result<Self, PlanError> {
        Self::new(self.mean * factor, self.spread, self.cv, self.batch_cv)
    }

    /// The factor of a batch, whose mean is 1.
    pub fn draw_batch(&self, stream: &mut Stream) -> f64 {
        stream.lognormal(1.0, lognormal_sigma(self.batch_cv))
    }

    /// A drive's limit over the mean of its batch.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let (one, two) = self.fitted;
        // Without spread all are equal, but the stream moves on: it must not depend on a value.
        let drawn = match self.spread {
            Spread::Lognormal => libm::exp(one + two * stream.normal()),
            Spread::Weibull => two * libm::pow(stream.exponential(), 1.0 / one),
            Spread::Normal => one + two * stream.normal(),
        };
        if self.cv == 0.0 { 1.0 } else { drawn.max(f64::MIN_POSITIVE) }
    }

    /// The cumulative hazard at a wear that is `ratio` times the mean of the batch: minus the logarithm of the share that survives.
    pub fn hazard(&self, ratio: f64) -> f64 {
        if self.cv == 0.0 {
            return if ratio < 1.0 { 0.0 } else { f64::INFINITY };
        }
        if ratio <= 0.0 {
            return 0.0;
        }
        let (one, two) = self.fitted;
        match self.spread {
            Spread::Lognormal => upper_hazard((libm::log(ratio) - one) / two),
            Spread::Weibull => libm::pow(ratio / two, one),
            Spread::Normal => upper_hazard((ratio - one) / two),
        }
    }
}

/// The deviation of the logarithm for a coefficient of variation.
fn lognormal_sigma(cv: f64) -> f64 {
    libm::sqrt(libm::log1p(cv * cv))
}

/// The shape of a Weibull distribution with a coefficient of variation above 0, by bisection. Below 0.001 it is that of 0.001.
fn weibull_shape(cv: f64) -> f64 {
    let squared = |shape: f64| {
        let (one, two) = (libm::lgamma(1.0 + 1.0 / shape), libm::lgamma(1.0 + 2.0 / shape));
        libm::expm1(two - 2.0 * one)
    };
    let (mut low, mut high) = (0.3, 2000.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if squared(middle) > cv * cv { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Minus the logarithm of the normal distribution's upper tail above z.
fn upper_hazard(z: f64) -> f64 {
    /// Behind this the complementary error function loses its last bits.
    const FAR: f64 = 25.0;
    if z > FAR {
        // Mills' ratio to its second term: relative error of the tail below 1e-5, of its logarithm below 1e-7.
        return z * z / 2.0 + libm::log(z) + 0.5 * libm::log(2.0 * std::f64::consts::PI) - libm::log1p(-1.0 / (z * z));
    }
    if z < 0.0 {
        return -libm::log1p(-0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2));
    }
    -libm::log(0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2))
}

/// Failures that wear does not explain: a Weibull distribution over age.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// -ln(1 - AFR): the cumulative hazard of the first year.
    first_year: f64,
    shape: f64,
}

impl Chance {
    /// Failures of which a new drive has the chance `afr` in its first year. `shape` 1 is a constant rate; below 1 young drives fail more often,
    /// above 1 old ones.
    ///
    /// # Errors
    /// `afr` is not in 0..1, or `shape` not in 0.1..=10.
    pub fn new(afr: f64, shape: f64) -> Result<Self, PlanError> {
        if !(0.0..1.0).contains(&afr) {
            return Err(PlanError::Value("afr", afr, "at least 0 and below 1"));
        }
        if !(0.1..=10.0).contains(&shape) {
            return Err(PlanError::Value("afr-shape", shape, "0.1 to 10"));
        }
        Ok(Self { first_year: -libm::log1p(-afr), shape })
    }

    /// Failures at a constant rate, in a year.
    ///
    /// # Errors
    /// The rate is not finite or below 0.
    pub fn rate(a_year: f64) -> Result<Self, PlanError> {
        if !(a_year >= 0.0 && a_year.is_finite()) {
            return Err(PlanError::Value("rate", a_year, "at least 0"));
        }
        Ok(Self { first_year: a_year, shape: 1.0 })
    }

    /// The cumulative hazard at an age in days.
    pub fn hazard(&self, days: f64) -> f64 {
        if self.first_year == 0.0 {
            return 0.0;
        }
        let years = days / DAYS_PER_YEAR;
        self.first_year * if self.shape == 1.0 { years } else { libm::pow(years, self.shape) }
    }

    /// The age in days at which the cumulative hazard reaches a value.
    pub fn age_at(&self, hazard: f64) -> f64 {
        if self.first_year == 0.0 {
            return f64::INFINITY;
        }
        let years = hazard / self.first_year;
        DAYS_PER_YEAR * if self.shape == 1.0 { years } else { libm::pow(years, 1.0 / self.shape) }
    }
}

#[cfg(test)]
mod tests {
    use wane_sim::Streams;

    use super::*;

    const SPREADS: [Spread; 3] = [Spread::Lognormal, Spread::Weibull, Spread::Normal];

    #[test]
    fn drawn_limits_have_the_mean_and_the_spread_that_was_asked_for() {
        for (spread, cv) in SPREADS.into_iter().zip([0.3, 0.3, 0.2]) {
            let endurance = Endurance::new(1.0, spread, cv, 0.0).unwrap();
            let mut stream = Streams::new(1).stream("endurance");
            let draws: Vec<f64> = (0..200_000).map(|_| endurance.draw(&mut stream)).collect();
            let mean = draws.iter().sum::<f64>() / 2e5;
            let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 2e5;
            assert!((mean - 1.0).abs() < 4.0 * cv / 447.0, "{spread:?} {mean}");
            assert!((variance.sqrt() / cv - 1.0).abs() < 0.02, "{spread:?} {}", variance.sqrt());
        }
    }

    #[test]
    fn hazards_agree_with_draws() {
        for (spread, cv) in SPREADS.into_iter().zip([0.3, 0.3, 0.2]) {
            let endurance = Endurance::new(1.0, spread, cv, 0.0).unwrap();
            let mut stream = Streams::new(2).stream("endurance");
            // A survival function of its own draws is uniform: the mean hazard is that of an exponential, 1.
            let mean = (0..100_000).map(|_| endurance.hazard(endurance.draw(&mut stream))).sum::<f64>() / 1e5;
            assert!((mean - 1.0).abs() < 4.0 / 316.0, "{spread:?} {mean}");
        }
    }

    #[test]
    fn the_far_tail_goes_on_where_the_error_function_ends() {
        let step = upper_hazard(25.0 + 1e-9) - upper_hazard(25.0);
        assert!(step.abs() < 2e-5, "{step}");
        assert!(upper_hazard(200.0).is_finite());
        assert!((upper_hazard(0.0) - std::f64::consts::LN_2).abs() < 1e-12);
        // Far below the mean the hazard is the tail itself: Q(8) = 6.2e-16.
        assert!((upper_hazard(-8.0) / 6.22e-16 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_first_year_has_the_chance_that_was_given() {
        for shape in [0.5, 1.0, 2.0] {
            let chance = Chance::new(0.01, shape).unwrap();
            assert!((1.0 - libm::exp(-chance.hazard(DAYS_PER_YEAR)) - 0.01).abs() < 1e-12);
            assert!((chance.age_at(chance.hazard(100.0)) - 100.0).abs() < 1e-9);
        }
    }
}
