//! The skew-normal distribution, which the distribution of erase counts "can be almost perfectly matched by" (dissertation 000, §3.3.2).
//!
//! Density 2 / scale x phi(z) x Phi(shape z), z = (x - location) / scale (A. Azzalini, "A class of distributions which includes
//! the normal ones", 1985). No Rust library has it; erf is libm's.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::AgingError;

/// A skew-normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkewNormal {
    /// Skewness parameter alpha: 0 is the normal distribution; a positive one has its long tail to the right.
    pub shape: f64,
    /// Location, in the unit of the values.
    pub location: f64,
    /// Scale, above 0, in the unit of the values.
    pub scale: f64,
}

/// Limit of the fitted skewness. The largest skewness of any skew-normal distribution is 0.9953.
const SKEWNESS_MOST: f64 = 0.95;

/// Largest shape. A sample could not show a difference between larger shapes and a half-normal.
const SHAPE_MOST: f64 = 50.0;

impl SkewNormal {
    /// Probability of a value of at most `x`: Phi(z) - 2 T(z, shape), with Owen's T.
    pub fn cdf(&self, x: f64) -> f64 {
        let z = (x - self.location) / self.scale;
        (normal_cdf(z) - 2.0 * owen_t(z, self.shape)).clamp(0.0, 1.0)
    }

    /// Natural logarithm of the density at `x`.
    pub fn ln_density(&self, x: f64) -> f64 {
        let z = (x - self.location) / self.scale;
        let (ln_two, ln_root) = (std::f64::consts::LN_2, 0.5 * (2.0 * PI).ln());
        ln_two - self.scale.ln() - ln_root - 0.5 * z * z + ln_normal_cdf(self.shape * z)
    }

    /// The value below which `probability`, between 0 and 1, lies. By bisection.
    pub fn quantile(&self, probability: f64) -> f64 {
        let (mut low, mut high) = (self.location - 40.0 * self.scale, self.location + 40.0 * self.scale);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if self.cdf(middle) < probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// Mean.
    pub fn mean(&self) -> f64 {
        self.location + self.scale * self.delta() * (2.0 / PI).sqrt()
    }

    /// Standard deviation.
    pub fn deviation(&self) -> f64 {
        self.scale * (1.0 - 2.0 * self.delta().powi(2) / PI).sqrt()
    }

    fn delta(&self) -> f64 {
        self.shape / (1.0 + self.shape.powi(2)).sqrt()
    }

    /// The distribution under which these values are likeliest. A simplex search starts from that of their moments.
    ///
    /// # Errors
    /// There are fewer than three values, or all are the same.
    pub fn fit(values: &[f64]) -> Result<Self, AgingError> {
        if values.len() < 3 {
            return Err(AgingError::TooFew { what: "values", found: values.len(), least: 3 });
        }
        let from = Self::of_moments(values)?;
        let weighed = weighed(values);
        // In standard deviations, so that the search does not depend on the unit.
        let (mean, deviation) = (from.mean(), from.deviation());
        let of = |point: [f64; 3]| Self {
            location: mean + deviation * point[0],
            scale: deviation * point[1].exp(),
            shape: point[2].clamp(-SHAPE_MOST, SHAPE_MOST),
        };
        let unlikelihood = |point: [f64; 3]| {
            let fit = of(point);
            let sum: f64 = weighed.iter().map(|(value, weight)| weight * fit.ln_density(*value)).sum();
            if sum.is_finite() { -sum } else { f64::MAX }
        };
        let start = [(from.location - mean) / deviation, (from.scale / deviation).ln(), from.shape];
        Ok(of(simplex(start, unlikelihood)))
    }

    /// The distribution with the mean, deviation and skewness of these values. The skewness is limited to what such a
    /// distribution can have.
    fn of_moments(values: &[f64]) -> Result<Self, AgingError> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let moment = |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / count;
        let deviation = moment(2).sqrt();
        if deviation <= f64::EPSILON * mean.abs() {
            return Err(AgingError::Constant(mean));
        }
        let skewness = (moment(3) / deviation.powi(3)).clamp(-SKEWNESS_MOST, SKEWNESS_MOST);
        let third = skewness.abs().powf(2.0 / 3.0);
        let delta = (PI / 2.0 * third / (third + ((4.0 - PI) / 2.0).powf(2.0 / 3.0))).sqrt().copysign(skewness);
        let scale = deviation / (1.0 - 2.0 * delta * delta / PI).sqrt();
        let location = mean - scale * delta * (2.0 / PI).sqrt();
        Ok(Self { shape: delta / (1.0 - delta * delta).max(1e-9).sqrt(), location, scale })
    }

    /// Largest difference between this distribution and that of whole numbers, and the probability of one as large by chance
    /// (Kolmogorov and Smirnov). A whole number stands for all values that round to it.
    ///
    /// # Errors
    /// There are no values.
    pub fn kolmogorov_smirnov(&self, counts: &[u32]) -> Result<(f64, f64), AgingError> {
        if counts.is_empty() {
            return Err(AgingError::TooFew { what: "values", found: 0, least: 1 });
        }
        let mut sorted = counts.to_vec();
        sorted.sort_unstable();
        let count = sorted.len() as f64;
        let most = sorted.chunk_by(PartialEq::eq).scan(0usize, |below, alike| {
            *below += alike.len();
            Some((self.cdf(f64::from(alike[0]) + 0.5) - *below as f64 / count).abs())
        });
        let distance = most.fold(0.0, f64::max);
        Ok((distance, by_chance(distance, count)))
    }
}

/// Probability that `count` draws differ by `distance` or more from their distribution (Kolmogorov's series, with Stephens's
/// correction for small samples).
fn by_chance(distance: f64, count: f64) -> f64 {
    let root = count.sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * distance;
    if lambda < 0.3 {
        return 1.0;
    }
    let term = |k: i32| f64::from(1 - 2 * (k % 2)) * -2.0 * (-2.0 * (f64::from(k) * lambda).powi(2)).exp();
    (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// Values with how often they occur, so that each whole number is evaluated once.
fn weighed(values: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(PartialEq::eq).map(|alike| (alike[0], alike.len() as f64)).collect()
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// Logarithm of the normal distribution. Far below the mean it uses the first terms of the asymptotic series, because the
/// probability itself underflows.
fn ln_normal_cdf(z: f64) -> f64 {
    if z > -30.0 {
        return normal_cdf(z).ln();
    }
    let series = 1.0 - 1.0 / (z * z) + 3.0 / z.powi(4);
    -0.5 * z * z - (-z).ln() - 0.5 * (2.0 * PI).ln() + series.ln()
}

/// Owen's T(h, a) = 1 / (2 pi) x integral over x from 0 to a of exp(-h^2 (1 + x^2) / 2) / (1 + x^2). (D. B. Owen, 1956.)
///
/// By Gauss and Legendre for |a| up to 1; beyond, by T(h, a) = (Phi(h) + Phi(ah)) / 2 - Phi(h) Phi(ah) - T(ah, 1/a), for h and a
/// at least 0.
fn owen_t(h: f64, a: f64) -> f64 {
    let (h, positive) = (h.abs(), a.abs());
    let value = if positive <= 1.0 {
        owen_integral(h, positive)
    } else {
        let (one, other) = (normal_cdf(h), normal_cdf(positive * h));
        0.5 * (one + other) - one * other - owen_integral(positive * h, 1.0 / positive)
    };
    value.copysign(a)
}

/// Half of the nodes of the ten-point rule, and their weights.
const NODES: [(f64, f64); 5] = [
    (0.148_874_338_981_631_2, 0.295_524_224_714_752_9),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996_3),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
    (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
];

fn owen_integral(h: f64, a: f64) -> f64 {
    let inside = |x: f64| (-0.5 * h * h * (1.0 + x * x)).exp() / (1.0 + x * x);
    let at = |(node, weight): (f64, f64)| weight * (inside(0.5 * a * (1.0 - node)) + inside(0.5 * a * (1.0 + node)));
    NODES.into_iter().map(at).sum::<f64>() * 0.5 * a / (2.0 * PI)
}

/// The point of least value, by Nelder and Mead (1965).
fn simplex(start: [f64; 3], value: impl Fn([f64; 3]) -> f64) -> [f64; 3] {
    const STEP: f64 = 0.25;
    const ROUNDS: usize = 400;
    let mut points: Vec<([f64; 3], f64)> = (0..4)
        .map(|corner| {
            let mut point = start;
            if corner > 0 {
                point[corner - 1] += STEP;
            }
            (point, value(point))
        })
        .collect();
    let along = |from: [f64; 3], to: [f64; 3], how_far: f64| {
        let mut point = from;
        (0..3).for_each(|axis| point[axis] += how_far * (to[axis] - from[axis]));
        (point, value(point))
    };
    for _ in 0..ROUNDS {
        points.sort_by(|one, other| one.1.total_cmp(&other.1));
        if points[3].1 - points[0].1 <= 1e-12 * points[0].1.abs() {
            break;
        }
        let mut center = [0.0; 3];
        points[..3].iter().for_each(|(point, _)| (0..3).for_each(|axis| center[axis] += point[axis] / 3.0));
        let worst = points[3].0;
        let reflected = along(worst, center, 2.0);
        if reflected.1 < points[0].1 {
            let further = along(worst, center, 3.0);
            points[3] = if further.1 < reflected.1 { further } else { reflected };
        } else if reflected.1 < points[2].1 {
            points[3] = reflected;
        } else {
            let nearer = along(worst, center, if reflected.1 < points[3].1 { 1.5 } else { 0.5 });
            if nearer.1 < points[3].1.min(reflected.1) {
                points[3] = nearer;
            } else {
                let best = points[0].0;
                points[1..].iter_mut().for_each(|corner| *corner = along(corner.0, best, 0.5));
            }
        }
    }
    points.sort_by(|one, other| one.1.total_cmp(&other.1));
    points[0].0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probability by the trapezoid rule over the density, which shares nothing with Owen's T.
    fn by_integration(of: &SkewNormal, x: f64) -> f64 {
        let (steps, from) = (40_000, of.location - 12.0 * of.scale);
        let width = (x - from) / f64::from(steps);
        let density = |at: f64| of.ln_density(at).exp();
        let inner: f64 = (1..steps).map(|step| density(from + width * f64::from(step))).sum();
        width * (inner + 0.5 * (density(from) + density(x)))
    }

    #[test]
    fn the_cdf_is_the_integral_of_the_density() {
        for shape in [-20.0, -1.5, 0.0, 0.75, 1.0, 4.0, 30.0] {
            let of = SkewNormal { shape, location: 310.0, scale: 15.1 };
            for x in [280.0, 305.0, 310.0, 318.0, 350.0] {
                let (found, want) = (of.cdf(x), by_integration(&of, x));
                assert!((found - want).abs() < 1e-6, "{shape} {x}: {found} {want}");
            }
            let quantile = of.quantile(0.25);
            assert!((of.cdf(quantile) - 0.25).abs() < 1e-9, "{shape} {quantile}");
        }
    }

    #[test]
    fn owens_function_has_its_known_values() {
        // T(0, a) = atan(a) / (2 pi); T(h, 1) = Phi(h) (1 - Phi(h)) / 2.
        for a in [0.3, 1.0, 5.0] {
            assert!((owen_t(0.0, a) - libm::atan(a) / (2.0 * PI)).abs() < 1e-9, "{a}");
        }
        for h in [0.1, 1.0, 3.0] {
            assert!((owen_t(h, 1.0) - 0.5 * normal_cdf(h) * normal_cdf(-h)).abs() < 1e-9, "{h}");
            assert!((owen_t(h, -1.0) + owen_t(-h, 1.0)).abs() < 1e-12, "{h}");
        }
    }

    #[test]
    fn a_fit_finds_the_distribution_that_made_the_values() {
        for of in [
            SkewNormal { shape: 0.75, location: 310.0, scale: 15.1 },
            SkewNormal { shape: -4.0, location: 90.0, scale: 3.0 },
            SkewNormal { shape: 3.0, location: 0.0, scale: 40.0 },
        ] {
            // The distribution's own quantiles are a sample without chance.
            let values: Vec<f64> = (0..4000).map(|rank| of.quantile((f64::from(rank) + 0.5) / 4000.0)).collect();
            let fit = SkewNormal::fit(&values).unwrap();
            assert!((fit.mean() / of.scale - of.mean() / of.scale).abs() < 0.01, "{fit:?}");
            assert!((fit.deviation() / of.deviation() - 1.0).abs() < 0.01, "{fit:?}");
            assert!((fit.shape - of.shape).abs() < 0.15 * of.shape.abs().max(1.0), "{fit:?}");
            let counts: Vec<u32> = values.iter().map(|value| (value + 0.5).max(0.0) as u32).collect();
            let (distance, chance) = fit.kolmogorov_smirnov(&counts).unwrap();
            assert!(of.location == 0.0 || (distance < 0.01 && chance > 0.9), "{distance} {chance}");
        }
    }

    #[test]
    fn another_distribution_is_told() {
        // Two humps are no skew-normal distribution.
        let counts: Vec<u32> = (0..1000).map(|n| if n % 2 == 0 { 10 + n % 7 } else { 100 + n % 5 }).collect();
        let values: Vec<f64> = counts.iter().map(|count| f64::from(*count)).collect();
        let (distance, chance) = SkewNormal::fit(&values).unwrap().kolmogorov_smirnov(&counts).unwrap();
        assert!(distance > 0.2 && chance < 1e-6, "{distance} {chance}");
        // For many values, 1.36 is exceeded by chance in one case of twenty.
        assert!((by_chance(1.358 / 1000.0, 1e6) - 0.05).abs() < 1e-3);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        assert!(SkewNormal::fit(&[1.0, 2.0]).unwrap_err().to_string().contains("at least 3 are needed"));
        assert_eq!(SkewNormal::fit(&[5.0; 9]), Err(AgingError::Constant(5.0)));
    }
}
