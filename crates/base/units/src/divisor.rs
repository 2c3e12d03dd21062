//! Division by numbers that never change.

/// Exact division of 32-bit numbers by a constant that is known only at run time. It takes one multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    magic: u64,
    divisor: u32,
}

impl Divisor {
    /// Divides by `divisor`.
    ///
    /// # Panics
    /// It is 0 or 1.
    pub fn new(divisor: u32) -> Self {
        assert!(divisor >= 2, "{divisor} has no 64-bit reciprocal");
        // floor(2^64 / d) + 1 overestimates 2^64 / d by at most 1, an error below n / 2^64 < 1 / d for n < 2^32.
        Self { magic: u64::MAX / u64::from(divisor) + 1, divisor }
    }

    /// `number / divisor`.
    #[inline(always)]
    pub const fn divide(self, number: u32) -> u32 {
        ((self.magic as u128 * number as u128) >> 64) as u32
    }

    /// `number / divisor` and `number % divisor`.
    #[inline(always)]
    pub const fn split(self, number: u32) -> (u32, u32) {
        let quotient = self.divide(number);
        (quotient, number - quotient * self.divisor)
    }
}

/// As [`Divisor`], but 1 is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyDivisor(Option<Divisor>);

impl AnyDivisor {
    /// Divides by `divisor`.
    ///
    /// # Panics
    /// It is 0.
    pub fn new(divisor: u32) -> Self {
        Self((divisor != 1).then(|| Divisor::new(divisor)))
    }

    /// `number / divisor`.
    #[inline(always)]
    pub const fn divide(self, number: u32) -> u32 {
        match self.0 {
            Some(divisor) => divisor.divide(number),
            None => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_divide_exactly() {
        for divisor in [2u32, 3, 4, 5, 7, 64, 255, 256, 384, 1152, 65_535, 1 << 31, u32::MAX] {
            let by = Divisor::new(divisor);
            let near = |n: u64| (n.saturating_sub(2)..n + 2).filter_map(|n| u32::try_from(n).ok());
            let multiples = [0, 1, 2, 1000].map(|k| k * u64::from(divisor));
            for number in multiples.into_iter().chain([u64::from(u32::MAX), 1 << 31]).flat_map(near) {
                assert_eq!(by.divide(number), number / divisor, "{number} / {divisor}");
                assert_eq!(AnyDivisor::new(divisor).divide(number), number / divisor);
                assert_eq!(AnyDivisor::new(1).divide(number), number);
            }
        }
    }
}
