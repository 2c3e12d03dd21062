//! Draws from the binomial distribution, such as the number of wrong bits among `n`.
//!
//! Small means are inverted from zero; larger ones use transformed rejection with a squeeze (Hörmann, "The generation of
//! binomial random variates", 1993, algorithm BTRS), whose acceptance test is evaluated here by products near the mode and by
//! logarithms far from it. Both are exact up to the rounding of 64-bit floats, 1e-8 of a probability at the largest `n`.

use crate::Stream;

/// Least mean that is drawn by rejection. The constants of the method hold from 10 on.
const REJECTION_MEAN_MIN: f64 = 10.0;

/// Distance from the mode up to which products are cheaper than logarithms. The product of 32 factors of at most
/// 2^20 stays below 2^640, far from overflow.
const PRODUCT_DISTANCE_MAX: u32 = 32;

/// Below this mass the rest of the distribution is smaller than the grid of a uniform draw.
const NEGLIGIBLE: f64 = 1e-18;

/// The number of successes among `n` trials, each with the same probability.
///
/// Build it once for an (n, p), then draw from it often. Building costs a square root and a few divisions.
#[derive(Clone, Copy, Debug)]
pub struct Binomial {
    n: u32,
    /// Whether failures are counted, as the rarer outcome, and the result is n minus their number.
    flip: bool,
    method: Method,
}

#[derive(Clone, Copy, Debug)]
enum Method {
    Constant(u32),
    Inversion(Inversion),
    Rejection(Rejection),
}

#[derive(Clone, Copy, Debug)]
struct Inversion {
    p: f64,
    /// 1 - np, which is at most the probability of no success: most draws of a rare event end here.
    none_min: f64,
    /// (1 - p)^n, computed when first needed; negative before.
    none: f64,
}

#[derive(Clone, Copy, Debug)]
struct Rejection {
    odds: f64,
    mode: u32,
    a: f64,
    b: f64,
    center: f64,
    squeeze: f64,
    alpha: f64,
}

impl Binomial {
    /// Most trials.
    pub const TRIALS_MAX: u32 = 1 << 20;

    /// `n` trials of probability `p`. `n` is at most [`Self::TRIALS_MAX`] and `p` lies in [0, 1].
    pub fn new(n: u32, p: f64) -> Self {
        debug_assert!(n <= Self::TRIALS_MAX, "the products of the acceptance test must not overflow");
        debug_assert!((0.0..=1.0).contains(&p), "a probability lies between 0 and 1");
        let flip = p > 0.5;
        let p = if flip { 1.0 - p } else { p };
        let mean = f64::from(n) * p;
        let method = if mean <= 0.0 {
            Method::Constant(0)
        } else if mean < REJECTION_MEAN_MIN {
            Method::Inversion(Inversion { p, none_min: 1.0 - mean, none: -1.0 })
        } else {
            Method::Rejection(Rejection::new(n, p))
        };
        Self { n, flip, method }
    }

    /// A draw from 0 to `n`.
    #[inline]
    pub fn draw(&mut self, stream: &mut Stream) -> u32 {
        let rare = match &mut self.method {
            Method::Constant(count) => *count,
            Method::Inversion(inversion) => inversion.draw(self.n, stream),
            Method::Rejection(rejection) => rejection.draw(self.n, stream),
        };
        debug_assert!(rare <= self.n, "a draw of {} trials has no more successes, found {rare}", self.n);
        if self.flip { self.n - rare } else { rare }
    }
}

impl Inversion {
    #[inline]
    fn draw(&mut self, n: u32, stream: &mut Stream) -> u32 {
        let uniform = stream.unit();
        if uniform < self.none_min { 0 } else { self.search(n, uniform) }
    }

    fn search(&mut self, n: u32, uniform: f64) -> u32 {
        if self.none < 0.0 {
            self.none = power(1.0 - self.p, n);
        }
        let odds = self.p / (1.0 - self.p);
        let scale = f64::from(n + 1) * odds;
        let (mut left, mut mass, mut count) = (uniform, self.none, 0);
        // `mass` starts above e^-11 and keeps falling after the mode, so the loop ends.
        while left >= mass && mass > NEGLIGIBLE && count < n {
            left -= mass;
            count += 1;
            mass *= scale / f64::from(count) - odds;
        }
        count
    }
}

impl Rejection {
    fn new(n: u32, p: f64) -> Self {
        let trials = f64::from(n);
        let deviation = libm::sqrt(trials * p * (1.0 - p));
        debug_assert!(trials * p >= REJECTION_MEAN_MIN, "the constants of the method hold from a mean of 10 on");
        let b = 1.15 + 2.53 * deviation;
        Self {
            odds: p / (1.0 - p),
            mode: ((trials + 1.0) * p) as u32,
            a: -0.0873 + 0.0248 * b + 0.01 * p,
            b,
            center: trials * p + 0.5,
            squeeze: 0.92 - 4.2 / b,
            alpha: (2.83 + 5.1 / b) * deviation,
        }
    }

    #[inline]
    fn draw(&self, n: u32, stream: &mut Stream) -> u32 {
        loop {
            let place = stream.unit() - 0.5;
            let height = stream.unit();
            let edge = 0.5 - place.abs();
            let value = (2.0 * self.a / edge + self.b) * place + self.center;
            if edge >= 0.07 && height <= self.squeeze {
                return value as u32;
            }
            // At the very edge the value is infinite or negative; both lie outside.
            if !(value >= 0.0 && value < f64::from(n) + 1.0) {
                continue;
            }
            let count = value as u32;
            let scaled = height * self.alpha / (self.a / (edge * edge) + self.b);
            if self.accepts(n, count, scaled) {
                return count;
            }
        }
    }

    /// Whether the probability of `count`, divided by that of the mode, is at least `height`.
    #[inline(never)]
    fn accepts(&self, n: u32, count: u32, height: f64) -> bool {
        if count.abs_diff(self.mode) > PRODUCT_DISTANCE_MAX {
            return libm::log(height) <= self.log_ratio(n, count);
        }
        let (low, high) = (count.min(self.mode), count.max(self.mode));
        let (mut above, mut below) = (1.0, 1.0);
        for step in low + 1..=high {
            above *= f64::from(n + 1 - step) * self.odds;
            below *= f64::from(step);
        }
        if count >= self.mode { height * below <= above } else { height * above <= below }
    }

    /// Logarithm of the probability of `count` divided by that of the mode, by Stirling's series.
    fn log_ratio(&self, n: u32, count: u32) -> f64 {
        let (n, mode, count) = (f64::from(n), f64::from(self.mode), f64::from(count));
        log_factorial(mode) + log_factorial(n - mode) - log_factorial(count) - log_factorial(n - count)
            + (count - mode) * libm::log(self.odds)
    }
}

/// Logarithm of a factorial.
fn log_factorial(value: f64) -> f64 {
    libm::lgamma(value + 1.0)
}

/// `base` to a whole power, in the same order of products on every machine.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    fn stream(seed: u64) -> Stream {
        Streams::new(seed).stream("binomial")
    }

    /// Probability of `count`, from the definition.
    fn mass(n: u32, p: f64, count: u32) -> f64 {
        let (n, k) = (f64::from(n), f64::from(count));
        let logarithm = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
            + k * libm::log(p)
            + (n - k) * libm::log1p(-p);
        libm::exp(logarithm)
    }

    /// Pearson's statistic over cells of at least 20 expected draws, in standard deviations above its mean.
    fn excess(n: u32, p: f64, draws: u32) -> f64 {
        let mut binomial = Binomial::new(n, p);
        let mut stream = stream(u64::from(n) + draws as u64);
        let mut counts = vec![0u32; n as usize + 1];
        for _ in 0..draws {
            counts[binomial.draw(&mut stream) as usize] += 1;
        }
        let (mut statistic, mut cells) = (0.0, 0u32);
        let (mut expected, mut found) = (0.0, 0.0);
        let mut left = f64::from(draws);
        for (value, count) in counts.iter().enumerate() {
            let here = mass(n, p, value as u32) * f64::from(draws);
            expected += here;
            found += f64::from(*count);
            left -= here;
            if expected >= 20.0 && left >= 20.0 {
                statistic += (found - expected) * (found - expected) / expected;
                (expected, found, cells) = (0.0, 0.0, cells + 1);
            }
        }
        if expected > 0.0 {
            statistic += (found - expected) * (found - expected) / expected;
        }
        let freedom = f64::from(cells.max(1));
        (statistic - freedom) / libm::sqrt(2.0 * freedom)
    }

    #[test]
    fn draws_follow_the_exact_probabilities() {
        let table = [
            (1, 0.3),
            (10, 0.5),
            (50, 0.02),
            (4096, 1e-5),
            (4096, 4.6e-4),
            (4096, 2.4e-3),
            (4096, 2.45e-3),
            (20, 0.5),
            (200, 0.06),
            (4096, 0.016_406),
            (4096, 0.3),
            (4096, 0.7),
            (4096, 0.999),
            (32_768, 1.48e-3),
            (32_768, 0.063),
            (32_768, 0.5),
            (1 << 20, 3e-6),
            (1 << 20, 0.038),
        ];
        for (n, p) in table {
            let excess = excess(n, p, 400_000);
            assert!(excess < 4.5, "n = {n}, p = {p}: {excess} standard deviations");
        }
    }

    #[test]
    fn logarithms_and_products_accept_alike() {
        for (n, p) in [(4096, 0.016), (32_768, 0.4), (1 << 20, 0.038)] {
            let rejection = Rejection::new(n, p);
            for count in rejection.mode - 9..rejection.mode + 9 {
                let ratio = libm::exp(rejection.log_ratio(n, count));
                assert!(rejection.accepts(n, count, ratio * (1.0 - 1e-7)), "{n} {p} {count}");
                assert!(!rejection.accepts(n, count, ratio * (1.0 + 1e-7)), "{n} {p} {count}");
            }
        }
    }

    #[test]
    fn certain_and_impossible_trials_draw_nothing() {
        let mut stream = stream(1);
        let untouched = stream.clone().bits();
        for (n, p, expected) in [(0, 0.5, 0), (100, 0.0, 0), (100, 1.0, 100), (1 << 20, 1.0, 1 << 20)] {
            assert_eq!(Binomial::new(n, p).draw(&mut stream), expected);
        }
        assert_eq!(stream.bits(), untouched);
    }

    #[test]
    fn draws_never_exceed_the_trials() {
        let mut stream = stream(2);
        for n in [1, 2, 3, 19, 20, 21, 40] {
            for p in [1e-12, 0.01, 0.25, 0.5, 0.500_001, 0.75, 0.99, 1.0 - 1e-12] {
                let mut binomial = Binomial::new(n, p);
                assert!((0..20_000).all(|_| binomial.draw(&mut stream) <= n), "{n} {p}");
            }
        }
    }

    #[test]
    fn binomial_draws_never_change() {
        let mut stream = stream(1);
        let table = [(4096, 1e-5), (4096, 1e-3), (4096, 0.0164), (32_768, 0.063), (32_768, 0.9), (1 << 20, 0.0381)];
        let found = table.map(|(n, p)| {
            let mut binomial = Binomial::new(n, p);
            [(); 4].map(|()| binomial.draw(&mut stream))
        });
        assert_eq!(found, GOLDEN);
    }

    const GOLDEN: [[u32; 4]; 6] = [
        [0, 1, 0, 0],
        [8, 1, 3, 5],
        [68, 64, 63, 66],
        [2119, 2135, 2075, 2089],
        [29494, 29482, 29454, 29436],
        [40246, 39931, 39780, 39827],
    ];
}
