//! Named random streams: one seed, one generator for each component, the same numbers on every machine.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, 2019), seeded by SplitMix64 from the root seed and the
//! stream's name, so that adding a component never changes another one's numbers. Generator and samplers are our own on
//! purpose: their golden vectors may never change, but a library's stream may.

mod binomial;
mod clock;
mod samplers;

pub use binomial::Binomial;
pub use clock::{Clock, PacedClock, ReplayClock, VirtualClock};
use serde::{Deserialize, Serialize};
use wane_units::Fnv;

/// A random stream. Its position is saved with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    state: [u64; 4],
}

/// Makes the streams of one run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// Streams of the run with this root seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream called `name`.
    pub fn stream(&self, name: &str) -> Stream {
        // FNV-1a is short and stable. SplitMix does the mixing.
        let hash = Fnv::of(name.as_bytes()).get();
        let mut mixer = SplitMix(self.seed ^ hash.rotate_left(32));
        let state = [mixer.next(), mixer.next(), mixer.next(), mixer.next()];
        assert_ne!(state, [0; 4], "xoshiro never leaves the state zero");
        Stream { state }
    }
}

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Stream {
    /// The next 64 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A uniform draw from `0..bound` by Lemire's multiplication. `bound` is at least 1.
    ///
    /// The bias is at most `bound / 2^64`, below 2^-32 for every table in this project.
    #[inline(always)]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "an empty range has no draw");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A uniform draw from [0, 1) on a grid of 2^-53.
    #[inline(always)]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with the given probability.
    #[inline(always)]
    pub fn chance(&mut self, probability: f64) -> bool {
        debug_assert!(!probability.is_nan(), "a probability is a number");
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_never_change() {
        let mut stream = Streams::new(1).stream("workload");
        let golden = [stream.bits(), stream.bits(), stream.bits()];
        assert_eq!(golden, GOLDEN_BITS);
        assert_eq!(stream.below(1000), GOLDEN_BELOW);
    }

    const GOLDEN_BITS: [u64; 3] = [15394188629619458054, 1851425518929671379, 16823218063359804381];
    const GOLDEN_BELOW: u64 = 136;

    #[test]
    fn xoshiro_matches_its_reference() {
        // First outputs of the authors' C code for the state 1, 2, 3, 4.
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let want = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205];
        assert_eq!(want.map(|_| stream.bits()), want);
    }

    #[test]
    fn draws_cover_their_range_evenly() {
        let mut stream = Streams::new(7).stream("test");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[stream.below(10) as usize] += 1;
        }
        // 4 sigma of a binomial(100000, 0.1).
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 380), "{counts:?}");
    }

    #[test]
    fn names_separate_streams() {
        let streams = Streams::new(1);
        assert_ne!(streams.stream("gc").bits(), streams.stream("workload").bits());
        assert_ne!(Streams::new(2).stream("gc").bits(), streams.stream("gc").bits());
    }
}
