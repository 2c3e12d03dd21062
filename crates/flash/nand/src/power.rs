//! Powers with a fixed exponent, without a logarithm, since an RBER is needed for every page that is read.

/// Mantissas are cut into 2^7 pieces.
const PIECE_BITS: u32 = 7;
const PIECES: usize = 1 << PIECE_BITS;
/// Bits of a 64-bit float's mantissa.
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
/// Values from 2^-64 on and below 2^65 come from the table: reads up to 2^32, and times from femtoseconds on in days.
const EXPONENT_MAX: i64 = 64;

/// x^q for a fixed q in [0, 10], the exponents that a chip may have, to a relative error of [`PowerTable::ERROR_MAX`].
///
/// A value is 2^e m with m in [1, 2). One table holds the powers of 2^e, another those of the middles of m's pieces. The rest is
/// a binomial series in the distance d from the middle, |d| <= 2^-8, cut after d^4.
#[derive(Clone, Debug)]
pub(crate) struct PowerTable {
    exponent: f64,
    at_zero: f64,
    series: [f64; 4],
    octaves: Vec<f64>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    middle: f64,
    inverse: f64,
    power: f64,
}

impl PowerTable {
    /// The first term cut off, C(10, 5) 2^-40 = 2.3e-10, and rounding. Up to q = 8 it is less than half of that.
    #[cfg(test)]
    pub(crate) const ERROR_MAX: f64 = 3e-10;

    /// The table of x^`exponent`.
    pub(crate) fn new(exponent: f64) -> Self {
        let q = exponent;
        let octaves = (-EXPONENT_MAX..=EXPONENT_MAX).map(|octave| libm::exp2(octave as f64 * q)).collect();
        let pieces = (0..PIECES)
            .map(|piece| {
                let middle = 1.0 + (piece as f64 + 0.5) / PIECES as f64;
                Piece { middle, inverse: 1.0 / middle, power: libm::pow(middle, q) }
            })
            .collect();
        let second = q * (q - 1.0) / 2.0;
        let third = second * (q - 2.0) / 3.0;
        let series = [q, second, third, third * (q - 3.0) / 4.0];
        Self { exponent, at_zero: libm::pow(0.0, q), series, octaves, pieces }
    }

    /// x^q, at most the largest finite float. `x` is not negative.
    #[inline]
    pub(crate) fn at(&self, x: f64) -> f64 {
        debug_assert!(x >= 0.0, "neither times nor counts are negative");
        if x == 0.0 {
            return self.at_zero;
        }
        let bits = x.to_bits();
        let octave = (bits >> MANTISSA_BITS) as i64 - 1023;
        if octave.abs() > EXPONENT_MAX {
            return libm::pow(x, self.exponent).min(f64::MAX);
        }
        let piece = self.pieces[(bits >> (MANTISSA_BITS - PIECE_BITS)) as usize & (PIECES - 1)];
        let mantissa = f64::from_bits(bits & ((1 << MANTISSA_BITS) - 1) | 1.0f64.to_bits());
        let d = (mantissa - piece.middle) * piece.inverse;
        let [first, second, third, fourth] = self.series;
        let series = 1.0 + d * (first + d * (second + d * (third + d * fourth)));
        (self.octaves[(octave + EXPONENT_MAX) as usize] * (piece.power * series)).min(f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_sim::Streams;

    #[test]
    fn powers_stay_within_the_bound_everywhere() {
        let mut stream = Streams::new(1).stream("powers");
        for exponent in [0.0, 0.14, 0.47, 0.54, 0.8, 1.0, 1.45, 1.71, 2.0, 3.33, 6.0, 8.0, 10.0] {
            let table = PowerTable::new(exponent);
            let check = |x: f64| {
                let (found, exact) = (table.at(x), libm::pow(x, exponent));
                assert!((found / exact - 1.0).abs() <= PowerTable::ERROR_MAX, "{x}^{exponent}: {found} {exact}");
            };
            (0..50_000).for_each(|_| check(libm::exp2(stream.unit() * 100.0 - 50.0)));
            (1..20_000).for_each(|reads| check(f64::from(reads)));
            // The ends of the pieces, where the series is furthest from its middle.
            (0..PIECES).for_each(|piece| check((1.0 + piece as f64 / PIECES as f64).next_down().max(1.0)));
            (0..PIECES).for_each(|piece| check(1.0 + piece as f64 / PIECES as f64));
        }
    }

    #[test]
    fn powers_are_exact_at_zero_and_outside_the_table() {
        for exponent in [0.0, 0.54, 1.71, 6.0] {
            let table = PowerTable::new(exponent);
            for x in [0.0, 1e-300, libm::exp2(-65.0), libm::exp2(65.0), 1e40] {
                assert_eq!(table.at(x), libm::pow(x, exponent), "{x}^{exponent}");
            }
        }
        assert_eq!(PowerTable::new(6.0).at(1e300), f64::MAX);
    }

    #[test]
    fn powers_never_fall() {
        for exponent in [0.0, 0.54, 1.71, 3.33] {
            let table = PowerTable::new(exponent);
            let mut last = 0.0;
            for reads in 0..200_000 {
                let next = table.at(f64::from(reads));
                assert!(next >= last, "{reads}^{exponent}");
                last = next;
            }
        }
    }
}
