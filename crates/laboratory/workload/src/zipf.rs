//! Zipf's law: rank k is drawn with a probability proportional to k^-theta.

use wane_sim::Stream;

/// Zipf's law by rejection-inversion (W. Hörmann and G. Derflinger, 1996): O(1) time for each draw and O(1) memory. Logarithms are
/// from `libm`, which gives the same on every machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    ranks: f64,
    exponent: f64,
    /// Ends of the area that is drawn from: the start of the first rank's bar, and the end of the last one's.
    lowest: f64,
    highest: f64,
    /// Ranks whose bar is covered this far below their midpoint are accepted without a test.
    shortcut: f64,
}

impl Zipf {
    pub(crate) fn new(ranks: u32, exponent: f64) -> Self {
        let mut law = Self { ranks: f64::from(ranks), exponent, lowest: 0.0, highest: 0.0, shortcut: 0.0 };
        law.lowest = law.area(1.5) - 1.0;
        law.highest = law.area(law.ranks + 0.5);
        assert!(
            law.lowest < law.highest,
            "the ranks have an area to draw from, found {} to {}",
            law.lowest,
            law.highest
        );
        law.shortcut = 2.0 - law.rank_at(law.area(2.5) - law.height(2.0));
        law
    }

    /// The density x^-theta.
    fn height(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// The integral of the density, up to a constant: (x^(1-theta) - 1) / (1 - theta), or ln x at theta = 1.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        expm1_over((1.0 - self.exponent) * log) * log
    }

    /// The inverse of [`Zipf::area`].
    fn rank_at(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        libm::exp(log1p_over(scaled) * area)
    }

    /// Draws a rank, from 0.
    pub(crate) fn draw(&self, stream: &mut Stream) -> u32 {
        loop {
            let area = self.highest + stream.unit() * (self.lowest - self.highest);
            let x = self.rank_at(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.ranks);
            if rank - x <= self.shortcut || area >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u32 - 1;
            }
        }
    }
}

/// (e^x - 1) / x, 1 at 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x, 1 at 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x / 2.0 }
}

/// Number of ranks with a bin of their own.
const SINGLE_RANKS: u32 = 1024;

/// Size of the bins of later ranks: the last rank of a bin is up to 1/64 above its first.
const BIN_PARTS: u64 = 64;

/// Zipf's law by a table. Ranks are in bins: the first 1,024 have one each, later ones share bins that grow with the rank. A bin
/// is drawn by the alias method (A. J. Walker, 1977), and a rank in it by rejection, which nearly always accepts without evaluating the
/// law. It is exact except for the rounding of chances to 2^-32, and needs one or two random words for each draw, for any number of ranks.
#[derive(Clone, Debug)]
pub(crate) struct ZipfTable {
    exponent: f64,
    /// A power of two.
    bins: Vec<Bin>,
    /// Number of bits to the right of a bin's number in a random word.
    shift: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// Number of draws, of 2^32 that hit the bin, that stay in it; the others go to `alias`.
    below: u64,
    alias: u32,
    /// Its first rank, from 1, and its number of ranks.
    first: u32,
    ranks: u32,
    /// Number of draws of a rank, of 2^32, that are accepted at any rank of the bin.
    sure: u64,
}

impl ZipfTable {
    pub(crate) fn new(ranks: u32, exponent: f64) -> Self {
        let (mut bins, mut weights) = (Vec::new(), Vec::new());
        let mut first = 1u64;
        while first <= u64::from(ranks) {
            let wide = if first <= u64::from(SINGLE_RANKS) { 1 } else { first / BIN_PARTS };
            let count = wide.min(u64::from(ranks) + 1 - first);
            let sure = power((first + count - 1) as f64 / first as f64, -exponent);
            bins.push(Bin { first: first as u32, ranks: count as u32, sure: threshold(sure), ..Bin::default() });
            weights.push(weight(first, count, exponent));
            first += count;
        }
        let size = bins.len().next_power_of_two();
        bins.resize(size, Bin::default());
        weights.resize(size, 0.0);
        fill_aliases(&mut bins, &weights);
        Self { exponent, bins, shift: 64 - size.trailing_zeros() }
    }

    /// Draws a rank, from 0.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u32 {
        let word = stream.bits();
        // A table of one bin has no bits for its number.
        let number = word.checked_shr(self.shift).unwrap_or(0) as usize;
        let mut bin = &self.bins[number];
        if (word & 0xffff_ffff) >= bin.below {
            bin = &self.bins[bin.alias as usize];
        }
        if bin.ranks == 1 {
            return bin.first - 1;
        }
        loop {
            let word = stream.bits();
            let within = ((word >> 32) * u64::from(bin.ranks)) >> 32;
            let rank = bin.first + within as u32;
            let chance = word & 0xffff_ffff;
            if chance < bin.sure || chance < threshold(power(f64::from(rank) / f64::from(bin.first), -self.exponent)) {
                return rank - 1;
            }
        }
    }
}

/// x^y for positive x, the same on every machine.
fn power(x: f64, y: f64) -> f64 {
    libm::exp(y * libm::log(x))
}

/// Converts a chance to a threshold for 32 random bits.
pub(crate) fn threshold(chance: f64) -> u64 {
    (chance.clamp(0.0, 1.0) * 4_294_967_296.0).round() as u64
}

/// The sum of k^-theta over `count` ranks from `first` on. Low ranks are added one by one; for high ranks the Euler-Maclaurin formula is used,
/// whose next term is below 1e-12 of the sum.
fn weight(first: u64, count: u64, exponent: f64) -> f64 {
    let height = |x: f64| power(x, -exponent);
    if count <= 32 {
        return (first..first + count).rev().map(|rank| height(rank as f64)).sum();
    }
    let (from, to) = (first as f64, (first + count) as f64);
    let log = libm::log(to / from);
    let area = height(from) * from * expm1_over((1.0 - exponent) * log) * log;
    let slope = |x: f64| -exponent * height(x) / x;
    area + (height(from) - height(to)) / 2.0 + (slope(to) - slope(from)) / 12.0
}

/// Fills in Walker's aliases by Vose's method: each bin keeps its share of an equal part, and one other bin fills the rest.
fn fill_aliases(bins: &mut [Bin], weights: &[f64]) {
    let whole: f64 = weights.iter().sum();
    let mut parts: Vec<f64> = weights.iter().map(|weight| weight / whole * weights.len() as f64).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..parts.len()).partition(|bin| parts[*bin] < 1.0);
    while let Some(more) = large.last().copied() {
        let Some(less) = small.pop() else { break };
        (bins[less].below, bins[less].alias) = (threshold(parts[less]), more as u32);
        parts[more] -= 1.0 - parts[less];
        if parts[more] < 1.0 {
            large.pop();
            small.push(more);
        }
    }
    // The bins that are left are full except for rounding.
    large.into_iter().chain(small).for_each(|bin| bins[bin].below = 1 << 32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_every_rank_once_with_its_weight() {
        for (ranks, exponent) in
            [(1, 1.0), (2, 0.5), (1024, 1.0), (1025, 0.9), (70_000, 0.0), (1_000_000, 1.2), (900_000, 3.0)]
        {
            let table = ZipfTable::new(ranks, exponent);
            let mut shares = vec![0.0f64; table.bins.len()];
            for bin in 0..table.bins.len() {
                let stays = table.bins[bin].below as f64 / 4_294_967_296.0;
                shares[bin] += stays;
                if stays < 1.0 {
                    shares[table.bins[bin].alias as usize] += 1.0 - stays;
                }
            }
            let height = |rank: u32| power(f64::from(rank), -exponent);
            let whole: f64 = (1..=ranks).rev().map(height).sum();
            let mut next = 1;
            for (bin, share) in table.bins.iter().zip(shares).filter(|(bin, _)| bin.ranks > 0) {
                assert_eq!(bin.first, next);
                next += bin.ranks;
                let exact: f64 = (bin.first..next).rev().map(height).sum::<f64>() / whole;
                let found = share / table.bins.len() as f64;
                assert!(
                    (found - exact).abs() < 1e-9 * exact + 1e-9 / table.bins.len() as f64,
                    "{ranks} {exponent} {bin:?}"
                );
            }
            assert_eq!(next, ranks + 1);
        }
    }

    #[test]
    fn sums_far_out_are_those_of_their_terms() {
        for exponent in [0.0, 0.3, 0.99, 1.0, 1.01, 2.0, 5.0, 10.0] {
            for (first, count) in [(2100u64, 33u64), (40_000, 625), (1 << 20, 16_384)] {
                let exact: f64 = (first..first + count).rev().map(|rank| power(rank as f64, -exponent)).sum();
                let found = weight(first, count, exponent);
                assert!((found / exact - 1.0).abs() < 1e-11, "{exponent} {first}: {found} {exact}");
            }
        }
    }
}
