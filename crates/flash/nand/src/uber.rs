//! The UBER of flash: what error correction leaves of its raw bit errors, from the same model and the same rule of re-reads as [`crate::Cells`].
//!
//! A data error is a codeword that the last re-read does not correct, and counts as one error in the bits of the codeword (JESD218's UBER: data errors
//! over bits read). What the drive does besides is left out: its parity over pages, its scrubs, and that re-reads disturb.

use crate::ErrorConfig;
use crate::ecc::{Draws, Ecc};
use crate::tail::TailTable;

/// Steps of the mean over blocks and layers, from -8 to 8 standard deviations.
const STEPS: i32 = 160;
const STEP: f64 = 0.1;
/// A chance below this changes no mean that matters.
const NOTHING: f64 = 1e-60;

/// UBER by cycles, days and reads.
#[derive(Clone, Debug)]
pub struct Uber {
    config: ErrorConfig,
    /// `None` if all errors are corrected.
    tail: Option<TailTable>,
    /// Factors of blocks and layers on the RBER, and how often they are found. Their sum is 1.
    factors: Vec<(f64, f64)>,
}

impl Uber {
    /// The UBER of flash with these errors. `config` has passed [`ErrorConfig::check`].
    pub fn new(config: &ErrorConfig) -> Self {
        let sigma = libm::hypot(config.block_sigma, config.layer_sigma);
        let tail = config.ecc.strength.map(|strength| TailTable::new(config.ecc.codeword_bits(), strength));
        Self { config: *config, tail, factors: factors(sigma) }
    }

    /// Data errors per bit read of pages with `cycles` P/E cycles, `days` since they were programmed and `reads` of their block: the mean over blocks and
    /// layers. Days are those of the model, which [`crate::rber::RberModel::aging_at`] has fitted to a temperature.
    pub fn at(&self, cycles: f64, days: f64, reads: f64) -> f64 {
        let Some(tail) = &self.tail else { return 0.0 };
        let ecc = &self.config.ecc;
        let rber = self.config.model.rber(cycles, days, reads);
        let lost = |factor: f64| ecc.uncorrectable(tail, (rber * factor).min(1.0), cycles);
        let mean: f64 = self.factors.iter().map(|(factor, share)| share * lost(*factor)).sum();
        mean / f64::from(ecc.codeword_bits())
    }
}

/// Lognormal factors of mean 1, and their shares.
fn factors(sigma: f64) -> Vec<(f64, f64)> {
    if sigma == 0.0 {
        return vec![(1.0, 1.0)];
    }
    let steps = (-STEPS / 2..=STEPS / 2).map(|step| f64::from(step) * STEP);
    let found: Vec<(f64, f64)> =
        steps.map(|z| (libm::exp(sigma * z - sigma * sigma / 2.0), libm::exp(-z * z / 2.0))).collect();
    let sum: f64 = found.iter().map(|(_, share)| share).sum();
    found.into_iter().map(|(factor, share)| (factor, share / sum)).collect()
}

impl Ecc {
    /// Chance that a codeword whose bits are wrong with probability `rber` is not corrected after the last re-read. `tail`: that of this codeword and strength.
    ///
    /// Errors that are drawn anew fail each attempt by its own chance. Of sticky ones a re-read keeps some: they are binomial again, and an attempt
    /// that fails had failing ones before it.
    fn uncorrectable(&self, tail: &TailTable, rber: f64, cycles: f64) -> f64 {
        let given_up = |corrected: bool| if corrected { 0.0 } else { 1.0 };
        match self.draws {
            Draws::Expected => return given_up(self.attempts_expected(rber).corrected),
            Draws::Table => return given_up(self.attempts_by_table(cycles as u32).corrected),
            Draws::Independent | Draws::Sticky => (),
        }
        let (mut chance, mut met) = (tail.at(rber), rber);
        let (mut attempts, mut rereads) = (0, 0);
        while chance > NOTHING
            && let Some(attempt) = self.next_attempt(attempts, rereads)
        {
            attempts += 1;
            rereads += attempt.senses;
            met /= attempt.divisor;
            let fails = tail.at(met);
            chance = if self.draws == Draws::Sticky { fails } else { chance * fails };
        }
        chance
    }
}

#[cfg(test)]
mod tests {
    use wane_sim::Streams;
    use wane_units::{BlockId, Bytes, Geometry};

    use super::*;
    use crate::rber::chip;
    use crate::{Cells, Sensing};

    fn config(rereads: u32) -> ErrorConfig {
        let ecc = Ecc { rereads_max: Some(rereads), ..Ecc::default() };
        ErrorConfig::new(chip("tlc-72l-2018").unwrap().model, ecc)
    }

    /// P(binomial(n, p) > s) from its definition: terms from s + 1 on, each from the one before.
    fn direct(n: u32, s: u32, p: f64) -> f64 {
        let log_choose: f64 = (0..=s).map(|k| (f64::from(n - k) / f64::from(k + 1)).ln()).sum();
        let mut term = (log_choose + f64::from(s + 1) * p.ln() + f64::from(n - s - 1) * (-p).ln_1p()).exp();
        let mut sum = 0.0;
        for k in s + 1..n {
            sum += term;
            term *= f64::from(n - k) / f64::from(k + 1) * p / (1.0 - p);
        }
        sum
    }

    #[test]
    fn the_uber_is_the_tail_of_a_binomial_distribution() {
        let one = config(0);
        let uber = Uber::new(&one);
        for (cycles, days) in [(3_000.0, 90.0), (5_000.0, 365.0)] {
            let want = direct(4096, 75, one.model.rber(cycles, days, 0.0)) / 4096.0;
            assert!(want > 1e-18 && (uber.at(cycles, days, 0.0) / want - 1.0).abs() < 1e-6, "{want}");
        }
        // A re-read meets half of the errors: drawn anew both must fail, of sticky ones the second decides.
        let worn = one.model.rber(6_000.0, 365.0, 0.0);
        let (first, second) = (direct(4096, 75, worn), direct(4096, 75, worn / 2.0));
        assert!(first > second && second > 1e-18, "{first} {second}");
        let anew = Uber::new(&config(1)).at(6_000.0, 365.0, 0.0);
        assert!((anew / (first * second / 4096.0) - 1.0).abs() < 1e-6, "{anew}");
        let sticky = Ecc { draws: Draws::Sticky, rereads_max: Some(1), ..Ecc::default() };
        let sticky = Uber::new(&ErrorConfig { ecc: sticky, ..one }).at(6_000.0, 365.0, 0.0);
        assert!((sticky / (second / 4096.0) - 1.0).abs() < 1e-6, "{sticky}");
    }

    #[test]
    fn the_uber_rises_with_wear_time_and_reads_and_falls_with_rereads() {
        let soft = Ecc { sensing: Sensing::Soft, rereads_max: None, ..Ecc::default() };
        let spread = ErrorConfig { block_sigma: 0.2, layer_sigma: 0.1, ..config(0) };
        for errors in [config(0), config(2), ErrorConfig { ecc: soft, ..config(0) }, spread] {
            let uber = Uber::new(&errors);
            let by_wear: Vec<f64> = (0..100).map(|step| uber.at(f64::from(step) * 200.0, 90.0, 0.0)).collect();
            assert!(by_wear.windows(2).all(|pair| pair[0] <= pair[1]), "{by_wear:?}");
            assert!(by_wear[99] > by_wear[0]);
            assert!(uber.at(9_000.0, 365.0, 0.0) >= uber.at(9_000.0, 30.0, 0.0));
            assert!(uber.at(9_000.0, 90.0, 1_000.0) >= uber.at(9_000.0, 90.0, 0.0));
        }
        assert!(Uber::new(&config(1)).at(8_000.0, 90.0, 0.0) < Uber::new(&config(0)).at(8_000.0, 90.0, 0.0));
        assert!(Uber::new(&spread).at(3_000.0, 90.0, 0.0) > 10.0 * Uber::new(&config(0)).at(3_000.0, 90.0, 0.0));
        let all = ErrorConfig { ecc: Ecc { strength: None, ..Ecc::default() }, ..config(0) };
        assert_eq!(Uber::new(&all).at(50_000.0, 365.0, 0.0), 0.0);
    }

    #[test]
    fn as_many_pages_are_lost_as_are_drawn() {
        // Reads of one codeword, so worn that many are lost. Nothing disturbs, so that all of them meet one RBER.
        let mut calm = config(1);
        calm.model.gamma = 0.0;
        let cycles = 7_300;
        let uber = Uber::new(&calm).at(f64::from(cycles), 0.0, 0.0);
        let geometry = Geometry::flat(1, 64, Bytes(4096)).unwrap();
        let mut cells = Cells::new(&geometry, calm, Streams::new(4).stream("nand"));
        let block = BlockId(0);
        cells.erase(block, cycles);
        cells.age(block, 0.0, 0);
        let draws = 20_000;
        let lost = (0..draws).filter(|_| !cells.read(block, 0, 512, 0.0).correctable).count() as f64;
        let (share, want) = (lost / f64::from(draws), uber * 4096.0);
        let error = (want * (1.0 - want) / f64::from(draws)).sqrt();
        assert!(want > 0.01 && want < 0.99 && (share - want).abs() < 3.0 * error, "{share} for {want}");
    }
}
