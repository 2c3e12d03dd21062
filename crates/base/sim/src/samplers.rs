//! Draws from continuous distributions, over [`Stream`] and `libm` alone.

use crate::Stream;

impl Stream {
    /// A draw from the normal distribution of mean 0 and standard deviation 1, by the polar method (Marsaglia and Bray, 1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            // The method gives two independent draws; keeping the second would make a stream depend on its own past.
            if square > 0.0 && square < 1.0 {
                return x * libm::sqrt(-2.0 * libm::log(square) / square);
            }
        }
    }

    /// A draw from the exponential distribution of mean 1.
    pub fn exponential(&mut self) -> f64 {
        let drawn = -libm::log(1.0 - self.unit());
        debug_assert!(drawn.is_finite(), "a time between two events is a number");
        debug_assert!(drawn >= 0.0, "a time between two events is no less than none");
        drawn
    }

    /// A draw from the lognormal distribution with this mean, whose logarithm has the standard deviation `sigma`.
    /// Neither is negative.
    pub fn lognormal(&mut self, mean: f64, sigma: f64) -> f64 {
        debug_assert!(mean >= 0.0, "a lognormal draw is not negative");
        debug_assert!(sigma >= 0.0, "a standard deviation is not negative");
        debug_assert!(mean.is_finite() && sigma.is_finite(), "a draw is a number");
        if sigma == 0.0 {
            return mean;
        }
        mean * libm::exp(sigma * self.normal() - sigma * sigma / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Stream, Streams};

    fn stream(seed: u64) -> Stream {
        Streams::new(seed).stream("samplers")
    }

    #[test]
    fn continuous_draws_never_change() {
        let mut stream = stream(1);
        let found = [stream.normal(), stream.normal(), stream.exponential(), stream.lognormal(2.0, 0.5)];
        assert_eq!(found.map(f64::to_bits), GOLDEN);
    }

    const GOLDEN: [u64; 4] = [4607664771485394456, 4603606959946043992, 4591630373939173113, 4612011803441769864];

    /// Checks mean and variance of a million draws; the fourth central moment sets the tolerance of the variance.
    fn check(name: &str, (mean, variance, fourth): (f64, f64, f64), mut draw: impl FnMut() -> f64) {
        const DRAWS: u32 = 1_000_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..DRAWS {
            let value = draw() - mean;
            sum += value;
            squares += value * value;
        }
        let draws = f64::from(DRAWS);
        assert!((sum / draws).abs() < 4.0 * libm::sqrt(variance / draws), "{name}: mean off by {}", sum / draws);
        let slack = 4.0 * libm::sqrt((fourth - variance * variance) / draws);
        assert!((squares / draws - variance).abs() < slack, "{name}: variance {} for {variance}", squares / draws);
    }

    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let mut stream = stream(2);
        check("normal", (0.0, 1.0, 3.0), || stream.normal());
        check("exponential", (1.0, 1.0, 9.0), || stream.exponential());
        // With w = exp(sigma^2): variance w - 1, fourth central moment (w - 1)^2 (w^4 + 2 w^3 + 3 w^2 - 3).
        let w = libm::exp(0.09_f64);
        let fourth = (w - 1.0) * (w - 1.0) * (w * w * w * w + 2.0 * w * w * w + 3.0 * w * w - 3.0);
        check("lognormal", (1.0, w - 1.0, fourth), || stream.lognormal(1.0, 0.3));
    }

    #[test]
    fn normal_draws_fall_into_their_quantiles() {
        let mut stream = stream(3);
        let bounds = [-3.090_232, -1.281_552, -0.253_347, 0.524_401, 1.644_854, 2.326_348];
        let shares = [0.001, 0.1, 0.4, 0.7, 0.95, 0.99];
        let mut below = [0u32; 6];
        for _ in 0..1_000_000 {
            let value = stream.normal();
            for (count, bound) in below.iter_mut().zip(bounds) {
                *count += u32::from(value < bound);
            }
        }
        for (count, share) in below.iter().zip(shares) {
            let slack = 4.0 * libm::sqrt(share * (1.0 - share) / 1e6);
            assert!((f64::from(*count) / 1e6 - share).abs() < slack, "{below:?}");
        }
    }

    #[test]
    fn a_lognormal_without_spread_is_its_mean() {
        let mut stream = stream(4);
        let untouched = stream.clone().bits();
        assert_eq!(stream.lognormal(1.5, 0.0), 1.5);
        assert_eq!(stream.bits(), untouched);
    }
}
