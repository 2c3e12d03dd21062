//! Tests whether two sets of measurements differ: Student's t-test, two-sided.
//!
//! 002 assumes equal variances (section 6.3.1.2), although its samples spread differently ([`spread`](super::spread)). Welch's test does not
//! assume that.

use special::Beta;

use crate::FleetError;
use crate::error::{positive, within};
use crate::named::named;

/// The assumption about the variances of two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variances {
    /// They are equal: the pooled test, as in 002.
    Equal,
    /// They may differ: Welch's test with Satterthwaite's degrees of freedom.
    Apart,
}

named!(Variances, "variances", Equal = "equal", Apart = "apart");

/// The figures of a set of measurements that a test needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Their mean.
    pub mean: f64,
    /// Their variance, with one less than their number as the denominator.
    pub variance: f64,
    /// Their number, at least 2.
    pub count: u32,
}

impl Sample {
    /// Makes the sample of these values.
    ///
    /// # Errors
    ///
    /// [`FleetError::Unfit`] for fewer than two values or one that is not finite.
    pub fn of(values: &[f64]) -> Result<Self, FleetError> {
        let unfit = |found| FleetError::Unfit { what: "a sample", found, needed: "are two or more finite numbers" };
        if let Some(odd) = values.iter().find(|value| !value.is_finite()) {
            return Err(unfit(odd.to_string()));
        }
        let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
        if count < 2 {
            return Err(unfit(format!("{count}")));
        }
        let mean = values.iter().sum::<f64>() / f64::from(count);
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Ok(Self { mean, variance: squares / f64::from(count - 1), count })
    }

    fn checked(&self) -> Result<(), FleetError> {
        if !self.mean.is_finite() {
            return Err(FleetError::OutOfRange { what: "a mean", found: self.mean, allowed: "a finite number".into() });
        }
        if self.variance != 0.0 {
            positive("a variance that is not 0", self.variance)?;
        }
        within("the measurements of a sample", f64::from(self.count), 2.0, f64::MAX)?;
        Ok(())
    }
}

/// The result of a t-test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    /// t: the first mean less the second, in standard errors.
    pub statistic: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Probability of a t at least this far from 0, on either side, if the means are equal.
    pub p_value: f64,
}

/// Performs Student's test of two samples. Source: 002, section 6.3.1.2, whose printed formula is damaged ([`MISPRINTS`](super::MISPRINTS)); for
/// variances that differ, B. L. Welch, "The generalization of Student's problem", 1947.
///
/// # Errors
///
/// [`FleetError`] for samples of fewer than two values, and for two that do not vary at all.
pub fn t_test(one: &Sample, other: &Sample, variances: Variances) -> Result<TTest, FleetError> {
    one.checked()?;
    other.checked()?;
    let (n1, n2) = (f64::from(one.count), f64::from(other.count));
    let (squared_error, freedom) = match variances {
        Variances::Equal => {
            let freedom = n1 + n2 - 2.0;
            let pooled = ((n1 - 1.0) * one.variance + (n2 - 1.0) * other.variance) / freedom;
            (pooled * (1.0 / n1 + 1.0 / n2), freedom)
        }
        Variances::Apart => {
            let (first, second) = (one.variance / n1, other.variance / n2);
            let sum = first + second;
            (sum, sum * sum / (first * first / (n1 - 1.0) + second * second / (n2 - 1.0)))
        }
    };
    if squared_error <= 0.0 {
        let found = "two that do not vary".to_owned();
        return Err(FleetError::Unfit { what: "samples of a t-test", found, needed: "are measurements that vary" });
    }
    let statistic = (one.mean - other.mean) / squared_error.sqrt();
    Ok(TTest { statistic, freedom, p_value: two_sided_p(statistic, freedom) })
}

/// Degrees of freedom up to which the incomplete beta function is summed. The sum takes as many steps.
const FREEDOM_SUMMED: f64 = 1e5;

/// Halvings from an interval of 400 down to the last bit of a double.
const HALVINGS: u32 = 62;

/// Probability of a t at least this far from 0 with these degrees of freedom. NaN if these are not above 0, or if t is not a number.
///
/// Above 100,000 degrees it uses the normal distribution, corrected by Abramowitz and Stegun 26.7.8, within 1e-6 of p for t up to 6.
pub fn two_sided_p(statistic: f64, freedom: f64) -> f64 {
    if statistic.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return f64::NAN;
    }
    if statistic == 0.0 {
        return 1.0;
    }
    if statistic.is_infinite() {
        return 0.0;
    }
    if freedom > FREEDOM_SUMMED {
        let inverse = 1.0 / freedom;
        let normal = statistic.abs() * (1.0 - 0.25 * inverse) / (1.0 + 0.5 * statistic * statistic * inverse).sqrt();
        return libm::erfc(normal * std::f64::consts::FRAC_1_SQRT_2);
    }
    let ratio = statistic * statistic / freedom;
    if ratio.is_infinite() {
        return 0.0;
    }
    // Abramowitz and Stegun 26.7.1 and 26.5.27: I_x(v/2, 1/2) at x = v / (v + t^2).
    let (a, b) = (freedom / 2.0, 0.5);
    (1.0 / (1.0 + ratio)).inc_beta(a, b, a.ln_beta(b))
}

/// The t, at least 0, whose [`two_sided_p`] is `p`.
///
/// # Errors
///
/// [`FleetError::OutOfRange`] for a `p` that is not from 1e-300 to 1, or degrees of freedom below 2.
pub fn statistic_of(p: f64, freedom: f64) -> Result<f64, FleetError> {
    within("a p-value", p, 1e-300, 1.0)?;
    within("degrees of freedom", freedom, 2.0, f64::MAX)?;
    // In the logarithm of t: with two degrees of freedom t is about 1 / sqrt(p), 1e150 at the most.
    let (mut low, mut high) = (-50.0, 350.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if two_sided_p(libm::exp(middle), freedom) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(if p == 1.0 { 0.0 } else { libm::exp(0.5 * (low + high)) })
}
