//! The probability that a codeword has more wrong bits than are corrected, by its RBER.
//!
//! With it a page need not draw the errors of every codeword, only whether it fails. The table is a Taylor series around the
//! middle of each of its pieces. Its derivatives are known, since the derivative of the tail is a single term of the binomial
//! distribution.

/// Below this a codeword never fails: one in 10^18.
const NEVER: f64 = 1e-18;

/// P(binomial(n, p) > s) for fixed n and s, to a relative error of 10^-7: the probability that a codeword of n bits, each wrong
/// with probability p, is not corrected by a code that corrects s. Below 10^-18 it is taken for 0.
#[derive(Clone, Debug)]
pub struct TailTable {
    /// Number of bits of a probability below those that choose its piece.
    shift: u32,
    first: u64,
    pieces: Vec<Piece>,
    /// Whether all `n` errors would be corrected.
    always_corrected: bool,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    middle: f64,
    /// The series in the distance from the middle.
    series: [f64; 5],
}

impl TailTable {
    /// Pieces are so narrow that |d ln T| stays below 1/6 at their ends: the first term cut off is 6^-5 / 5! = 1.1e-6 there,
    /// less than a tenth of that wherever T is not close to 1, and T as a whole is far larger there.
    pub const ERROR_MAX: f64 = 1e-7;

    /// The table for `n` bits of which `s` are corrected.
    pub fn new(n: u32, s: u32) -> Self {
        let corrected = f64::from(s) + 1.0;
        // From the lower end, where T goes with p^(s + 1), to the upper, some eight deviations above s.
        let slope = corrected + 8.0 * libm::sqrt(corrected) + 16.0;
        let mut piece_bits = 4;
        while slope * 6.0 > f64::from(1u32 << (piece_bits + 1)) {
            piece_bits += 1;
        }
        let shift = f64::MANTISSA_DIGITS - 1 - piece_bits;
        let mut table = Self { shift, first: 0, pieces: Vec::new(), always_corrected: s >= n };
        if table.always_corrected {
            return table;
        }
        let start = (corrected / f64::from(n)).min(0.5).to_bits() >> shift;
        let piece = |key: u64| Piece::new(n, s, f64::from_bits((key << shift) + (1 << (shift - 1))));
        let below = (0..start).rev().map(piece).take_while(|piece| piece.series[0] > NEVER);
        table.pieces.extend(below);
        table.pieces.reverse();
        table.first = start - table.pieces.len() as u64;
        let end = 1.0f64.to_bits() >> shift;
        let above = (start..end).map(piece).take_while(|piece| piece.series[0] < 1.0);
        table.pieces.extend(above);
        // Sums end a rounding short.
        let rises = |pair: &[Piece]| pair[0].series[0] <= pair[1].series[0] + 1e-12;
        debug_assert!(table.pieces.windows(2).all(rises), "a codeword fails the more often the more bits are wrong");
        table
    }

    /// The probability that more bits are wrong than are corrected, if each bit is wrong with probability `p`.
    #[inline]
    pub fn at(&self, p: f64) -> f64 {
        let key = p.to_bits() >> self.shift;
        let Some(place) = key.checked_sub(self.first) else { return 0.0 };
        let Some(piece) = self.pieces.get(place as usize) else {
            return if self.always_corrected { 0.0 } else { 1.0 };
        };
        let d = p - piece.middle;
        let [zeroth, first, second, third, fourth] = piece.series;
        (zeroth + d * (first + d * (second + d * (third + d * fourth)))).clamp(0.0, 1.0)
    }
}

impl Piece {
    fn new(n: u32, s: u32, p: f64) -> Self {
        let (trials, correct) = (f64::from(n), f64::from(s));
        let left = trials - 1.0 - correct;
        // The derivative of the tail is g = n C(n - 1, s) p^s q^(n - 1 - s); h is that of ln g.
        let g = (trials - correct) / (1.0 - p) * mass(n, s, p);
        let q = 1.0 - p;
        let h = correct / p - left / q;
        let h1 = -correct / (p * p) - left / (q * q);
        let h2 = 2.0 * correct / (p * p * p) - 2.0 * left / (q * q * q);
        let series =
            [tail(n, s, p), g, g * h / 2.0, g * (h * h + h1) / 6.0, g * (h * h * h + 3.0 * h * h1 + h2) / 24.0];
        Self { middle: p, series }
    }
}

/// P(binomial(n, p) > s), summed from the side with fewer terms.
fn tail(n: u32, s: u32, p: f64) -> f64 {
    debug_assert!(s < n, "more errors than bits never happen");
    debug_assert!(0.0 < p && p < 1.0, "the terms of the sum are ratios of p and 1 - p");
    let odds = p / (1.0 - p);
    let at = |count: u32| mass(n, count, p);
    if f64::from(s) + 1.0 > f64::from(n) * p {
        // The ratio of consecutive terms falls, so the sum may stop early.
        let (mut term, mut sum) = (at(s + 1), 0.0);
        for count in s + 1..=n {
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
            term *= f64::from(n - count) / f64::from(count + 1) * odds;
        }
        return sum;
    }
    let (mut term, mut sum) = (at(s), 0.0);
    for count in (0..=s).rev() {
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
        term *= f64::from(count) / (f64::from(n - count + 1) * odds);
    }
    1.0 - sum
}

/// The probability of `count` successes among `n`.
fn mass(n: u32, count: u32, p: f64) -> f64 {
    let (n, k) = (f64::from(n), f64::from(count));
    let choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    libm::exp(choose + k * libm::log(p) + (n - k) * libm::log1p(-p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_sim::Streams;

    /// (bits, strength), from one bit to the longest codeword.
    const TABLE: [(u32, u32); 12] = [
        (8, 0),
        (8, 7),
        (4096, 0),
        (4096, 1),
        (4096, 4),
        (4096, 10),
        (4096, 75),
        (4096, 3000),
        (32_768, 50),
        (32_768, 400),
        (1 << 20, 8),
        (1 << 20, 2000),
    ];

    #[test]
    fn tails_stay_within_the_bound_everywhere() {
        for (n, s) in TABLE {
            let table = TailTable::new(n, s);
            let mut stream = Streams::new(1).stream("tails");
            for _ in 0..3000 {
                let (place, within) = (stream.below(table.pieces.len() as u64), stream.bits() >> (64 - table.shift));
                let p = f64::from_bits(((table.first + place) << table.shift) + within);
                let (found, exact) = (table.at(p), tail(n, s, p));
                assert!((found / exact - 1.0).abs() <= TailTable::ERROR_MAX, "{n} {s} {p}: {found} {exact}");
            }
            let (low, high) = (table.pieces[0].middle, table.pieces[table.pieces.len() - 1].middle);
            assert!(tail(n, s, low) < 1e-16, "{n} {s}: the table starts low enough");
            assert!(high > 0.9 || tail(n, s, high) > 1.0 - 1e-9, "{n} {s}: the table ends high enough");
            assert_eq!((table.at(0.0), table.at(low / 4.0), table.at(1.0)), (0.0, 0.0, 1.0));
        }
    }

    #[test]
    fn tails_are_sums_of_the_distribution() {
        for (n, s, p) in [(8, 2, 0.3), (8, 2, 0.6), (8, 0, 0.01), (100, 30, 0.2), (4096, 75, 0.016_406)] {
            let sum: f64 = (s + 1..=n).map(|count| mass(n, count, p)).sum();
            assert!((tail(n, s, p) / sum - 1.0).abs() < 1e-9, "{n} {s} {p}");
        }
        // The published share of codewords that 75 bits do not correct at 5,000 cycles.
        assert!((tail(4096, 75, 0.016_406) - (1.0 - 0.846)).abs() < 5e-4);
    }

    #[test]
    fn what_corrects_every_bit_never_fails() {
        for s in [8, 9, 1000] {
            let table = TailTable::new(8, s);
            assert!([0.0, 0.5, 1.0].into_iter().all(|p| table.at(p) == 0.0));
        }
    }

    #[test]
    fn tables_stay_small() {
        for (n, s) in TABLE {
            let pieces = TailTable::new(n, s).pieces.len();
            assert!(pieces <= 20_000, "{n} {s}: {pieces} pieces");
        }
        assert!(TailTable::new(4096, 75).pieces.len() < 2_500);
    }
}
