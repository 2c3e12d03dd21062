//! Error correction: how many bits of a codeword it corrects, and what the controller tries when it fails.
//!
//! The mechanism is that of Kim et al., "Design Tradeoffs for SSD Reliability" (FAST 2019), section 3.2: hard-decision
//! decoding first; then the page is sensed again, with shifted thresholds or for soft information, and each further sense
//! divides the RBER that the decoder meets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Error correction of one page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecc {
    /// Bytes of user data in a codeword; 512 (the default) fits the figures of FAST 2019, 4096 those of CVSS. At most
    /// 131,072. Real longer codewords correct more for the same parity; here they only share one `strength` among more bits.
    pub codeword_bytes: u32,
    /// Bits corrected in a codeword. `None`: all are corrected, and no page is ever re-read.
    pub strength: Option<u32>,
    /// Most senses of a page beyond the first. `None`: until it is corrected.
    pub rereads_max: Option<u32>,
    /// Factor by which a re-read divides the RBER; 2 in FAST 2019, at least 1. Unused by [`Sensing::Soft`].
    pub scale: f64,
    /// How the errors of a codeword are drawn. [`Draws::Independent`]: binomial, anew at every sense. [`Draws::Sticky`]: binomial at the
    /// first sense; each re-read keeps an error with probability 1 / `scale`. [`Draws::Expected`]: the whole part of bits x RBER; nothing
    /// is drawn and re-reads do not disturb, the rule of CVSS (Jiao et al., FAST 2024). [`Draws::Table`]: errors as expected, but
    /// re-reads by the erase count alone, one for every [`TABLE_CYCLES`] and one more above [`TABLE_RETIRE`]. This is what the released
    /// code of CVSS does, with up to two re-reads fewer than its formula.
    pub draws: Draws,
    /// Purpose of the senses beyond the first.
    pub sensing: Sensing,
}

/// How the errors of re-reads are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draws {
    /// Drawn anew.
    Independent,
    /// Thinned from the errors of the previous sense.
    Sticky,
    /// As many as expected.
    Expected,
    /// Re-reads by a table of P/E cycles.
    Table,
}

/// What a page is sensed again for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sensing {
    /// Shifted thresholds: every re-read is one sense and divides the RBER by [`Ecc::scale`].
    Hard,
    /// Soft information, by [`SOFT_STEPS`]. After the last step the page is uncorrectable.
    Soft,
}

/// A step of soft-decision decoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftStep {
    /// Senses beyond the steps before.
    pub senses: u32,
    /// Ratio of the RBER that it corrects to the RBER that hard decision corrects.
    pub gain: f64,
}

/// Soft-decision decoding with 3, 5 and 7 senses in all.
///
/// The gains are the ratios of the RBER at which the mutual information of the channel falls to the rate of the code, 8/9:
/// binary input, Gaussian noise, thresholds placed for the most information, as Wang et al. do ("Enhanced Precision Through
/// Multiple Reads for LDPC Decoding in Flash Memories", JSAC 2014). They are what the best long code gains; at rate 0.8 it is
/// 1.55, 1.67 and 1.71, at 0.93 it is 1.81, 2.00 and 2.07. They were computed for this project; no chip was measured.
pub const SOFT_STEPS: [SoftStep; 3] =
    [SoftStep { senses: 2, gain: 1.6999 }, SoftStep { senses: 2, gain: 1.8555 }, SoftStep { senses: 2, gain: 1.9112 }];

// A step that corrects no more than the one before would raise the RBER of the attempt.
const _: () = assert!(SOFT_STEPS[0].gain < SOFT_STEPS[1].gain && SOFT_STEPS[1].gain < SOFT_STEPS[2].gain);

/// Attempts after which a page is given up whatever `rereads_max` says: 1.1, the least scale without a limit, to this power is 10^42.
pub const REREADS_BOUND: u32 = 1024;

/// Least scale with which re-reads without a limit end in reasonable time.
pub(crate) const SCALE_UNBOUNDED_MIN: f64 = 1.1;

/// Cycles for each re-read of [`Draws::Table`].
pub const TABLE_CYCLES: u32 = 50;

/// Cycles above which [`Draws::Table`] adds a re-read: the retirement threshold of the released code of CVSS (000, 001), above which a
/// block should have been retired.
pub const TABLE_RETIRE: u32 = 290;

/// One more attempt at a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Attempt {
    pub(crate) senses: u32,
    /// Factor by which it divides the RBER of the previous attempt.
    pub(crate) divisor: f64,
}

/// Outcome of the read of a page with expected errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Attempts beyond the first.
    pub(crate) attempts: u32,
    /// Senses beyond the first.
    pub(crate) rereads: u32,
    pub(crate) corrected: bool,
}

impl Default for Ecc {
    /// The TLC drive of FAST 2019: 75 bits in 512 bytes, and re-reads without a limit that halve the RBER.
    fn default() -> Self {
        Self {
            codeword_bytes: 512,
            strength: Some(75),
            rereads_max: None,
            scale: 2.0,
            draws: Draws::Independent,
            sensing: Sensing::Hard,
        }
    }
}

impl Ecc {
    /// Hard decision of `strength` bits, then soft decision by [`SOFT_STEPS`]. A noisy cell stays noisy, so draws are sticky.
    pub fn soft_decision(codeword_bytes: u32, strength: u32) -> Self {
        Self {
            codeword_bytes,
            strength: Some(strength),
            draws: Draws::Sticky,
            sensing: Sensing::Soft,
            ..Self::default()
        }
    }

    /// Bits of user data in a codeword.
    pub fn codeword_bits(&self) -> u32 {
        self.codeword_bytes * 8
    }

    /// Codewords that `bytes` of a page take; a part counts as one.
    #[inline]
    pub fn codewords(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.codeword_bytes).max(1)
    }

    /// Whether `errors` in a codeword are corrected.
    #[inline]
    pub fn corrects(&self, errors: u64) -> bool {
        self.strength.is_none_or(|strength| errors <= u64::from(strength))
    }

    /// The next attempt after `attempts` failed ones that took `rereads` senses; `None` if the page is given up.
    #[inline]
    pub(crate) fn next_attempt(&self, attempts: u32, rereads: u32) -> Option<Attempt> {
        let attempt = match self.sensing {
            Sensing::Hard if attempts >= REREADS_BOUND => return None,
            Sensing::Hard => Attempt { senses: 1, divisor: self.scale },
            Sensing::Soft => {
                let step = SOFT_STEPS.get(attempts as usize)?;
                let before = if attempts == 0 { 1.0 } else { SOFT_STEPS[attempts as usize - 1].gain };
                Attempt { senses: step.senses, divisor: step.gain / before }
            }
        };
        debug_assert!(attempt.divisor >= 1.0, "a further sense never finds more errors, or attempts would not end");
        let within = self.rereads_max.is_none_or(|most| rereads + attempt.senses <= most);
        within.then_some(attempt)
    }

    /// Re-reads of a page whose codewords have the whole part of bits x `rber` errors, and whether they correct it.
    pub fn rereads_expected(&self, rber: f64) -> (u32, bool) {
        let expected = self.attempts_expected(rber);
        (expected.rereads, expected.corrected)
    }

    pub(crate) fn attempts_expected(&self, rber: f64) -> Expected {
        debug_assert!((0.0..=1.0).contains(&rber), "a raw bit error rate is a share of the bits, found {rber}");
        let bits = f64::from(self.codeword_bits());
        let mut rber = rber;
        let mut expected = Expected { attempts: 0, rereads: 0, corrected: true };
        while !self.corrects((bits * rber) as u64) {
            let Some(attempt) = self.next_attempt(expected.attempts, expected.rereads) else {
                return Expected { corrected: false, ..expected };
            };
            rber /= attempt.divisor;
            expected.attempts += 1;
            expected.rereads += attempt.senses;
        }
        expected
    }

    /// Re-reads after `cycles` by the table of [`Draws::Table`].
    pub fn rereads_by_table(&self, cycles: u32) -> u32 {
        self.attempts_by_table(cycles).rereads
    }

    /// Attempts and re-reads after `cycles` by the table of [`Draws::Table`].
    pub(crate) fn attempts_by_table(&self, cycles: u32) -> Expected {
        if self.strength.is_none() {
            return Expected { attempts: 0, rereads: 0, corrected: true };
        }
        let wanted = cycles / TABLE_CYCLES + u32::from(cycles > TABLE_RETIRE);
        let most = self.rereads_max.unwrap_or(u32::MAX);
        let rereads = wanted.min(most);
        Expected { attempts: rereads, rereads, corrected: wanted <= most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rber::{CHIPS, RberModel, chip};

    fn expected(strength: u32, codeword_bytes: u32) -> Ecc {
        Ecc { strength: Some(strength), codeword_bytes, draws: Draws::Expected, ..Ecc::default() }
    }

    fn rereads(ecc: &Ecc, model: &RberModel, cycles: u32) -> u32 {
        let (rereads, corrected) = ecc.rereads_expected(model.rber(f64::from(cycles), 0.0, 0.0));
        assert!(corrected);
        rereads
    }

    #[test]
    fn rereads_of_the_rescaled_chip_come_at_the_known_cycles() {
        let model = chip("tlc-72l-cvss").unwrap().model;
        let ecc = expected(50, 4096);
        let firsts = [(0, 0), (12, 1), (51, 2), (86, 3), (130, 4), (187, 5), (267, 6), (301, 0)];
        for pair in firsts.windows(2) {
            for cycles in pair[0].0..pair[1].0.min(301) {
                assert_eq!(rereads(&ecc, &model, cycles), pair[0].1, "at {cycles} cycles");
            }
        }
        for (cycles, wanted) in [(290, [5, 5, 5, 5]), (250, [5, 5, 5, 4])] {
            let found = [60, 70, 80, 90].map(|strength| rereads(&expected(strength, 4096), &model, cycles));
            assert_eq!(found, wanted, "at {cycles} cycles");
        }
    }

    #[test]
    fn the_table_counts_cycles_and_nothing_else() {
        let ecc = expected(50, 4096);
        let table = [(0, 0), (49, 0), (50, 1), (100, 2), (150, 3), (200, 4), (250, 5), (290, 5), (291, 6), (300, 7)];
        let check = |ecc: Ecc, cycles, rereads, corrected| {
            let wanted = Expected { attempts: rereads, rereads, corrected };
            assert_eq!(ecc.attempts_by_table(cycles), wanted, "at {cycles} cycles");
        };
        table.into_iter().for_each(|(cycles, rereads)| check(ecc, cycles, rereads, true));
        check(Ecc { rereads_max: Some(3), ..ecc }, 291, 3, false);
        check(Ecc { strength: None, ..ecc }, 291, 0, true);
    }

    #[test]
    fn expected_rereads_rise_with_wear_and_fall_with_scale_and_strength() {
        for chip in CHIPS {
            let top = chip.ranges.cycles.1 as u32;
            let mut last = 0;
            for cycles in (0..=top).step_by(top as usize / 100) {
                let ecc = expected(40, 512);
                let here = rereads(&ecc, &chip.model, cycles);
                assert!(here >= last, "{} at {cycles}", chip.name);
                assert!(rereads(&Ecc { scale: 4.0, ..ecc }, &chip.model, cycles) <= here);
                assert!(rereads(&Ecc { strength: Some(41), ..ecc }, &chip.model, cycles) <= here);
                assert_eq!(rereads(&Ecc { strength: None, ..ecc }, &chip.model, cycles), 0);
                last = here;
            }
        }
    }

    #[test]
    fn the_limit_ends_in_an_uncorrectable_page() {
        let ecc = Ecc { rereads_max: Some(2), ..expected(50, 4096) };
        // 32,768 bits x 0.0062 = 203 errors: two halvings leave 50; at 0.0063, 51.
        assert_eq!(ecc.rereads_expected(0.0062), (2, true));
        assert_eq!(ecc.rereads_expected(0.0063), (2, false));
        assert_eq!(Ecc { rereads_max: Some(0), ..ecc }.rereads_expected(0.0063), (0, false));
        assert_eq!(Ecc { scale: 1.0, rereads_max: None, ..ecc }.rereads_expected(0.0063), (REREADS_BOUND, false));
    }

    #[test]
    fn soft_decision_corrects_its_gains_and_no_more() {
        let ecc = Ecc { draws: Draws::Expected, ..Ecc::soft_decision(4096, 100) };
        let hard = 100.9 / 32_768.0;
        let table = [(1.0, 0, true), (1.68, 2, true), (1.84, 4, true), (1.90, 6, true), (1.93, 6, false)];
        for (ratio, rereads, corrected) in table {
            assert_eq!(ecc.rereads_expected(hard * ratio), (rereads, corrected), "{ratio} times");
        }
        let limited = Ecc { rereads_max: Some(3), ..ecc };
        assert_eq!(limited.rereads_expected(hard * 1.84), (2, false), "a step is taken whole or not at all");
    }

    /// Bits of information that reads with these thresholds give on a bit sent as +1 or -1 in noise of deviation `sigma`.
    fn information(sigma: f64, thresholds: &[f64]) -> f64 {
        let above = |level: f64| 0.5 * libm::erfc(level / core::f64::consts::SQRT_2);
        let mut edges = vec![f64::NEG_INFINITY];
        edges.extend(thresholds);
        edges.push(f64::INFINITY);
        let mut bits = 0.0;
        for pair in edges.windows(2) {
            let [one, zero] = [1.0, -1.0].map(|sent| above((pair[0] - sent) / sigma) - above((pair[1] - sent) / sigma));
            for mass in [one, zero].into_iter().filter(|mass| *mass > 0.0) {
                bits += 0.5 * mass * libm::log2(2.0 * mass / (one + zero));
            }
        }
        bits
    }

    #[test]
    fn the_gain_of_three_senses_is_that_of_the_channel() {
        let rate = 8.0 / 9.0;
        let limit = |best: &dyn Fn(f64) -> f64| {
            let (mut low, mut high) = (0.1, 1.0);
            for _ in 0..40 {
                let middle = (low + high) / 2.0;
                if best(middle) > rate { low = middle } else { high = middle }
            }
            0.5 * libm::erfc(1.0 / low / core::f64::consts::SQRT_2)
        };
        let hard = limit(&|sigma| information(sigma, &[0.0]));
        let soft = limit(&|sigma| {
            let shifts = (1..400).map(|step| f64::from(step) * 0.002);
            shifts.map(|shift| information(sigma, &[-shift, 0.0, shift])).fold(0.0, f64::max)
        });
        assert!((soft / hard - SOFT_STEPS[0].gain).abs() < 1e-3, "{hard} {soft}");
    }
}
