//! Random numbers of the plain drive: SplitMix64 (Steele, Lea and Flood, 2014), another generator than the engine's.

/// A source of random numbers, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Makes dice with this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A uniform draw from `0..bound`; the bias is at most `bound` / 2^64. `bound` is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// A uniform draw from [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_are_even() {
        let mut dice = Dice::new(7);
        let mut seen = [0u32; 6];
        (0..60_000).for_each(|_| seen[dice.below(6) as usize] += 1);
        assert!(seen.iter().all(|count| count.abs_diff(10_000) < 400), "{seen:?}");
        let mean = (0..100_000).map(|_| dice.unit()).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }

    #[test]
    fn seeds_of_a_few_bits_give_streams_that_differ() {
        let first: Vec<u64> = (0..64).map(|seed| Dice::new(seed).bits()).collect();
        assert!((0..64).all(|one| (0..one).all(|other| first[one] != first[other])));
    }
}
