//! The RBER of worn flash: the additive power law and the chips to which it was fitted.
//!
//! The law and its constants are those of Kim et al., "Design Tradeoffs for SSD Reliability" (FAST 2019), equation 1 and
//! table 2. Other modules correct the errors.

/// RBER = epsilon + alpha c^k + beta c^m t^n + gamma c^p r^q, with c in P/E cycles, t in days since the page was programmed
/// and r in reads of its block since the last erase.
///
/// A coefficient of zero disables its mechanism. The law holds in the range of its data: see [`Ranges`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RberModel {
    /// Errors that are always there.
    pub epsilon: f64,
    /// Wear, at one cycle.
    pub alpha: f64,
    /// Retention, at one cycle and one day.
    pub beta: f64,
    /// Read disturb, at one cycle and one read.
    pub gamma: f64,
    /// Exponent of the cycles in wear.
    pub k: f64,
    /// Exponent of the cycles in retention.
    pub m: f64,
    /// Exponent of the days in retention.
    pub n: f64,
    /// Exponent of the cycles in read disturb.
    pub p: f64,
    /// Exponent of the reads in read disturb.
    pub q: f64,
}

/// The four sources of errors, each an RBER.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Always there.
    pub floor: f64,
    /// From programming and erasing.
    pub wear: f64,
    /// From the time since programming.
    pub retention: f64,
    /// From reading the block.
    pub disturb: f64,
}

impl Terms {
    /// Their sum, not above 1.
    pub fn rber(&self) -> f64 {
        (self.floor + self.wear + self.retention + self.disturb).min(1.0)
    }
}

impl RberModel {
    /// Names of the parameters, in the order of [`Self::parameters`].
    pub const NAMES: [&'static str; 9] = ["epsilon", "alpha", "beta", "gamma", "k", "m", "n", "p", "q"];

    /// The largest value of a parameter that still describes flash: errors of a fresh cell below those of a coin, and powers
    /// well beyond the published ones, which end at 3.33.
    pub fn largest(name: &str) -> f64 {
        match name {
            "epsilon" => 0.5,
            "k" | "m" | "n" | "p" | "q" => 10.0,
            _ => f64::MAX,
        }
    }

    /// The model with these parameters, in the order of [`Self::NAMES`].
    pub const fn from_parameters(parameters: [f64; 9]) -> Self {
        let [epsilon, alpha, beta, gamma, k, m, n, p, q] = parameters;
        Self { epsilon, alpha, beta, gamma, k, m, n, p, q }
    }

    /// The parameters, in the order of [`Self::NAMES`].
    pub const fn parameters(&self) -> [f64; 9] {
        [self.epsilon, self.alpha, self.beta, self.gamma, self.k, self.m, self.n, self.p, self.q]
    }

    /// The share of bits that read wrong, from 0 to 1, after `cycles` P/E cycles, `days` since programming and `reads` of the
    /// block. None of the three is negative.
    pub fn rber(&self, cycles: f64, days: f64, reads: f64) -> f64 {
        self.terms(cycles, days, reads).rber()
    }

    /// The same model for data that age `rate` times as fast as its days; see [`crate::arrhenius`].
    #[must_use]
    pub fn aging_at(self, rate: f64) -> Self {
        debug_assert!(rate > 0.0, "data age");
        Self { beta: product(self.beta, 1.0, libm::pow(rate, self.n)), ..self }
    }

    /// The same model where each read of a block counts as this share of one.
    #[must_use]
    pub fn disturbed_by(self, share: f64) -> Self {
        debug_assert!(share > 0.0, "a read disturbs");
        Self { gamma: product(self.gamma, 1.0, libm::pow(share, self.q)), ..self }
    }

    /// The four terms of the RBER. They are not limited to 1.
    pub fn terms(&self, cycles: f64, days: f64, reads: f64) -> Terms {
        debug_assert!(cycles >= 0.0, "a block is not erased less than never");
        debug_assert!(days >= 0.0, "a page is not programmed in the future");
        debug_assert!(reads >= 0.0, "a block is not read less than never");
        Terms {
            floor: self.epsilon,
            wear: product(self.alpha, libm::pow(cycles, self.k), 1.0),
            retention: product(self.beta, libm::pow(cycles, self.m), libm::pow(days, self.n)),
            disturb: product(self.gamma, libm::pow(cycles, self.p), libm::pow(reads, self.q)),
        }
    }
}

/// `scale * left * right`, but 0 if `scale` is 0, even if a power overflowed.
fn product(scale: f64, left: f64, right: f64) -> f64 {
    if scale == 0.0 || left == 0.0 || right == 0.0 { 0.0 } else { scale * left * right }
}

/// The range in which a model was fitted or is projected: minimum and maximum of each input. Outside it extrapolates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranges {
    /// P/E cycles.
    pub cycles: (f64, f64),
    /// Days since programming.
    pub days: (f64, f64),
    /// Reads of the block since its erase.
    pub reads: (f64, f64),
}

/// A chip whose errors were published.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    /// Its name in a scenario.
    pub name: &'static str,
    /// One line of description.
    pub summary: &'static str,
    /// Source of the constants.
    pub source: &'static str,
    /// Its errors.
    pub model: RberModel,
    /// The range over which its source plots them: up to the rated cycles, one year and 10,000 reads.
    pub ranges: Ranges,
    /// Pages of a block of the drive in which its source used the fit (Kim et al., FAST 2019, table 3). The pages of the chips that were measured
    /// are not published.
    pub block_pages: u32,
}

/// See [`Chip::block_pages`].
const FITTED_PAGES: u32 = 256;

const fn ranges(cycles: f64) -> Ranges {
    Ranges { cycles: (0.0, cycles), days: (0.0, 365.0), reads: (0.0, 10_000.0) }
}

/// Every chip.
///
/// The unit of time is days. In hours the 2y-nm chip would not reach an RBER of 1 after a year at 10,000 cycles, as the paper
/// says it does. The paper projects there; its data do not reach that far.
pub const CHIPS: &[Chip] = &[
    Chip {
        name: "mlc-3xnm-2011",
        summary: "3x-nm MLC; retention leads",
        source: "Kim et al., FAST 2019, table 2: 98 samples from published figures, R2 0.984",
        model: RberModel::from_parameters([5.06e-8, 1.05e-14, 9.31e-14, 4.17e-15, 2.16, 1.80, 0.80, 1.07, 1.45]),
        ranges: ranges(50_000.0),
        block_pages: FITTED_PAGES,
    },
    Chip {
        name: "mlc-2ynm-2015",
        summary: "2y-nm MLC; retention leads, steeply",
        source: "Kim et al., FAST 2019, table 2: 173 samples from published figures of two chips, R2 0.988",
        model: RberModel::from_parameters([8.34e-5, 3.30e-11, 5.56e-19, 6.26e-13, 1.71, 2.49, 3.33, 1.76, 0.47]),
        ranges: ranges(10_000.0),
        block_pages: FITTED_PAGES,
    },
    Chip {
        name: "tlc-72l-2018",
        summary: "72-layer TLC; read disturb leads",
        source: "Kim et al., FAST 2019, table 2: 54 samples from a manufacturer, R2 0.969",
        model: RberModel::from_parameters([1.48e-3, 3.90e-10, 6.28e-5, 3.73e-9, 2.05, 0.14, 0.54, 0.33, 1.71]),
        ranges: ranges(10_000.0),
        block_pages: FITTED_PAGES,
    },
    // alpha is that of tlc-72l-2018 times (10,000/300)^2.05; gamma and p match its disturb at both ends.
    Chip {
        name: "tlc-72l-cvss",
        summary: "tlc-72l-2018 with 10,000 cycles pressed into 300, without retention",
        source: "Jiao et al., FAST 2024 (CVSS), released code",
        model: RberModel::from_parameters([
            1.48e-3,
            5.16375983e-7,
            0.0,
            6.51773564e-9,
            2.05,
            0.0,
            0.0,
            0.435025976,
            1.71,
        ]),
        ranges: ranges(300.0),
        block_pages: FITTED_PAGES,
    },
];

/// The chip called `name`.
pub fn chip(name: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str) -> RberModel {
        chip(name).unwrap().model
    }

    #[test]
    fn reference_values_come_out_to_their_printed_digits() {
        // (chip, cycles, days, reads, RBER, half a unit of its last digit)
        let table = [
            ("tlc-72l-2018", 1_000.0, 0.0, 0.0, 2.0309e-3, 5e-8),
            ("tlc-72l-2018", 3_000.0, 0.0, 0.0, 6.7180e-3, 5e-8),
            ("tlc-72l-2018", 5_000.0, 0.0, 0.0, 1.6406e-2, 5e-7),
            ("tlc-72l-2018", 10_000.0, 0.0, 0.0, 6.3291e-2, 5e-7),
            ("tlc-72l-2018", 10_000.0, 0.0, 10_000.0, 0.602, 5e-4),
            ("mlc-3xnm-2011", 10_000.0, 0.0, 0.0, 4.634e-6, 5e-10),
            ("mlc-3xnm-2011", 30_000.0, 0.0, 0.0, 4.923e-5, 5e-9),
            ("mlc-3xnm-2011", 50_000.0, 0.0, 0.0, 1.4829e-4, 5e-9),
            ("mlc-2ynm-2015", 2_000.0, 0.0, 0.0, 9.796e-5, 5e-9),
            ("mlc-2ynm-2015", 5_000.0, 0.0, 0.0, 1.5318e-4, 5e-9),
            ("mlc-2ynm-2015", 10_000.0, 0.0, 0.0, 3.1170e-4, 5e-9),
            ("mlc-2ynm-2015", 10_000.0, 365.0, 0.0, 1.0, 0.0),
            ("tlc-72l-cvss", 0.0, 0.0, 0.0, 0.001480, 5e-7),
            ("tlc-72l-cvss", 100.0, 0.0, 0.0, 0.007981, 5e-7),
            ("tlc-72l-cvss", 200.0, 0.0, 0.0, 0.028400, 5e-7),
            ("tlc-72l-cvss", 266.0, 0.0, 0.0, 0.049783, 5e-7),
            ("tlc-72l-cvss", 267.0, 0.0, 0.0, 0.050156, 5e-7),
            ("tlc-72l-cvss", 290.0, 0.0, 0.0, 0.059141, 5e-7),
            ("tlc-72l-cvss", 291.0, 0.0, 0.0, 0.059549, 5e-7),
            ("tlc-72l-cvss", 300.0, 0.0, 0.0, 0.063291, 5e-7),
            ("tlc-72l-cvss", 238.2, 0.0, 0.0, 0.04, 2e-5),
            ("tlc-72l-cvss", 266.6, 0.0, 0.0, 0.05, 2e-5),
            ("tlc-72l-cvss", 292.1, 0.0, 0.0, 0.06, 2e-5),
        ];
        for (name, cycles, days, reads, expected, slack) in table {
            let found = model(name).rber(cycles, days, reads);
            assert!((found - expected).abs() <= slack * 1.000_1, "{name} at {cycles}, {days}, {reads}: {found:e}");
        }
    }

    #[test]
    fn the_rescaled_chip_meets_the_original_at_both_ends() {
        let (long, short) = (model("tlc-72l-2018"), model("tlc-72l-cvss"));
        for reads in [0.0, 1.0, 5_000.0] {
            let (end, pressed) = (long.rber(10_000.0, 0.0, reads), short.rber(300.0, 0.0, reads));
            assert!((end / pressed - 1.0).abs() < 1e-6, "{reads} reads: {end} {pressed}");
        }
    }

    #[test]
    fn errors_never_fall_with_cycles_days_or_reads() {
        let steps = [0.0, 0.5, 1.0, 3.0, 10.0, 100.0, 365.0, 3_000.0, 10_000.0, 60_000.0];
        for chip in CHIPS {
            for (left, right) in steps.iter().zip(&steps[1..]) {
                for (a, b) in steps.iter().flat_map(|a| steps.iter().map(move |b| (*a, *b))) {
                    let rber = |cycles, days, reads| chip.model.rber(cycles, days, reads);
                    assert!(rber(*left, a, b) <= rber(*right, a, b), "{} cycles {right} {a} {b}", chip.name);
                    assert!(rber(a, *left, b) <= rber(a, *right, b), "{} days {right} {a} {b}", chip.name);
                    assert!(rber(a, b, *left) <= rber(a, b, *right), "{} reads {right} {a} {b}", chip.name);
                }
            }
        }
    }

    #[test]
    fn the_rber_stays_between_zero_and_one_whatever_overflows() {
        let steep = RberModel::from_parameters([0.0, 1.0, 1.0, 1.0, 6.0, 6.0, 6.0, 6.0, 6.0]);
        for chip in CHIPS.iter().map(|chip| chip.model).chain([steep, RberModel::default()]) {
            for (cycles, days, reads) in
                [(0.0, 1e300, 1e300), (1e300, 0.0, 0.0), (1e300, 1e300, 1e300), (0.0, 0.0, 0.0)]
            {
                let rber = chip.rber(cycles, days, reads);
                assert!((0.0..=1.0).contains(&rber), "{chip:?} at {cycles}, {days}, {reads}: {rber}");
            }
        }
        assert_eq!(steep.rber(0.0, 1e300, 1e300), 0.0);
    }

    #[test]
    fn parameters_keep_their_order() {
        let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        assert_eq!(RberModel::from_parameters(numbers).parameters(), numbers);
        let model = RberModel::from_parameters(numbers);
        assert_eq!((model.epsilon, model.gamma, model.k, model.n, model.q), (1.0, 4.0, 5.0, 7.0, 9.0));
    }
}
