//! Raw bit errors, tails of codewords and random draws, against reference values, golden tails and moments.

use wane_nand::TailTable;
use wane_nand::rber::{CHIPS, chip};
use wane_sim::{Binomial, Streams};
use wane_testkit::tails::{Distribution, Tail, golden};

use super::{Extent, Job, Part, Row};

/// RBER of the published chips.
pub(crate) fn reference_values() -> Part {
    Part {
        id: "rber",
        title: "Raw bit error rates",
        compared: "RBER of the four chips: at the cycles of the specification's table, and over a grid of cycles, days and reads",
        reference: "the specification's figures; over the grid, epsilon + alpha c^k + beta c^m t^n + gamma c^p r^q by logarithms, with \
                    constants typed a second time from the paper's table",
        seeds: "none",
        tolerance: "one unit of the last printed digit; over the grid 10^-12 of the value",
        note: "",
        takes: "no time",
        jobs: rber_jobs,
    }
}

/// Tails of codewords.
pub(crate) fn tails() -> Part {
    Part {
        id: "tails",
        title: "Codewords that are not corrected",
        compared: "the probability that a codeword has more wrong bits than are corrected, from the table that draws whole pages",
        reference: "`tools/tails.py`: sums of 80 digits, and scipy 1.17.1, which agree with each other to nine digits",
        seeds: "none",
        tolerance: "10^-7 of the value; below 10^-18 the engine says 0",
        note: "",
        takes: "no time",
        jobs: tail_jobs,
    }
}

/// Draws.
pub(crate) fn draws() -> Part {
    Part {
        id: "draws",
        title: "Random draws",
        compared: "how often draws of the binomial, normal and exponential distribution lie above a bound; mean and variance of the \
                   binomial's",
        reference: "the same golden tails; n p and n p (1 - p)",
        seeds: "1; 2,000,000 draws each, in the quick part 200,000",
        tolerance: "four standard errors, which follow from the number of draws",
        note: "",
        takes: "5 seconds",
        jobs: draw_jobs,
    }
}

/// Name, cycles and RBER of fresh data that was never read, as printed, with the unit of the last digit.
const PRINTED: [(&str, f64, f64, f64); 19] = [
    ("tlc-72l-2018", 1000.0, 2.0309e-3, 1e-7),
    ("tlc-72l-2018", 3000.0, 6.7180e-3, 1e-7),
    ("tlc-72l-2018", 5000.0, 1.6406e-2, 1e-6),
    ("tlc-72l-2018", 10_000.0, 6.3291e-2, 1e-6),
    ("mlc-3xnm-2011", 10_000.0, 4.634e-6, 1e-9),
    ("mlc-3xnm-2011", 30_000.0, 4.923e-5, 1e-8),
    ("mlc-3xnm-2011", 50_000.0, 1.4829e-4, 1e-8),
    ("mlc-2ynm-2015", 2000.0, 9.796e-5, 1e-8),
    ("mlc-2ynm-2015", 5000.0, 1.5318e-4, 1e-8),
    ("mlc-2ynm-2015", 10_000.0, 3.1170e-4, 1e-8),
    ("tlc-72l-cvss", 0.0, 0.001480, 1e-6),
    ("tlc-72l-cvss", 100.0, 0.007981, 1e-6),
    ("tlc-72l-cvss", 200.0, 0.028400, 1e-6),
    ("tlc-72l-cvss", 266.0, 0.049783, 1e-6),
    ("tlc-72l-cvss", 267.0, 0.050156, 1e-6),
    ("tlc-72l-cvss", 290.0, 0.059141, 1e-6),
    ("tlc-72l-cvss", 291.0, 0.059549, 1e-6),
    ("tlc-72l-cvss", 300.0, 0.063291, 1e-6),
    ("tlc-72l-cvss", 292.1, 0.06, 1e-5),
];

/// epsilon, alpha, beta, gamma, k, m, n, p, q of table 2 of 004 and of the released code of 001.
const CONSTANTS: [(&str, [f64; 9]); 4] = [
    ("mlc-3xnm-2011", [5.06e-8, 1.05e-14, 9.31e-14, 4.17e-15, 2.16, 1.80, 0.80, 1.07, 1.45]),
    ("mlc-2ynm-2015", [8.34e-5, 3.30e-11, 5.56e-19, 6.26e-13, 1.71, 2.49, 3.33, 1.76, 0.47]),
    ("tlc-72l-2018", [1.48e-3, 3.90e-10, 6.28e-5, 3.73e-9, 2.05, 0.14, 0.54, 0.33, 1.71]),
    ("tlc-72l-cvss", [1.48e-3, 5.163_759_83e-7, 0.0, 6.517_735_64e-9, 2.05, 0.0, 0.0, 0.435_025_976, 1.71]),
];

/// a^b by logarithms, without a power function.
fn raised(base: f64, exponent: f64) -> f64 {
    if base == 0.0 { 0.0 } else { libm::exp(exponent * libm::log(base)) }
}

fn by_logarithms([epsilon, alpha, beta, gamma, k, m, n, p, q]: [f64; 9], c: f64, t: f64, r: f64) -> f64 {
    let wear = alpha * raised(c, k);
    let retention = beta * raised(c, m) * raised(t, n);
    let disturb = gamma * raised(c, p) * raised(r, q);
    (epsilon + wear + retention + disturb).min(1.0)
}

fn rber_jobs(_extent: Extent) -> Vec<Job> {
    let printed = || {
        let row = |(name, cycles, value, unit): (&str, f64, f64, f64)| {
            let model = chip(name).expect("the chip is built in").model;
            Row::exact(format!("{name}; {cycles} cycles"), "RBER", model.rber(cycles, 0.0, 0.0), value, unit)
        };
        let model = chip("tlc-72l-2018").expect("the chip is built in").model;
        let read = Row::exact(
            "tlc-72l-2018; 10000 cycles; 10000 reads",
            "RBER",
            model.rber(10_000.0, 0.0, 10_000.0),
            0.602,
            1e-3,
        );
        PRINTED.map(row).into_iter().chain([read]).collect()
    };
    let grid = || {
        assert_eq!(CHIPS.len(), CONSTANTS.len(), "each chip's constants were typed again");
        CONSTANTS.map(over_grid).to_vec()
    };
    vec![Box::new(printed), Box::new(grid)]
}

/// The grid's value that is furthest from the reference, as a ratio.
fn over_grid((name, constants): (&str, [f64; 9])) -> Row {
    let chip = chip(name).expect("the chip is built in");
    let mut furthest: f64 = 1.0;
    for cycles in 0..=20 {
        for days in 0..=12 {
            for reads in 0..=12 {
                let c = chip.ranges.cycles.1 * f64::from(cycles) / 20.0;
                let (t, r) = (365.0 * f64::from(days) / 12.0, 10_000.0 * f64::from(reads) / 12.0);
                let ratio = chip.model.rber(c, t, r) / by_logarithms(constants, c, t, r);
                if (ratio - 1.0).abs() > (furthest - 1.0).abs() {
                    furthest = ratio;
                }
            }
        }
    }
    Row::exact(format!("{name}; 3,549 places"), "furthest ratio", furthest, 1.0, 1e-12)
}

/// Below this the engine says that a codeword never fails.
const NEVER: f64 = 1e-18;

fn tail_jobs(_extent: Extent) -> Vec<Job> {
    let rows = || {
        let row = |tail: Tail| {
            let Distribution::Binomial { trials, probability } = tail.distribution else { return None };
            let corrected = tail.above as u32;
            let found = TailTable::new(trials, corrected).at(probability);
            let cell = format!("{trials} bits, {corrected} corrected, RBER {probability}");
            let reference = if tail.exact < NEVER { 0.0 } else { tail.exact };
            Some(Row::exact(cell, "probability", found, reference, 1e-7 * reference))
        };
        golden().into_iter().filter_map(row).collect()
    };
    vec![Box::new(rows)]
}

/// Golden tails that occur often enough to be counted.
const COUNTED_MIN: f64 = 5e-4;

fn draw_jobs(extent: Extent) -> Vec<Job> {
    let draws = if extent == Extent::Quick { 200_000 } else { 2_000_000 };
    let counted = |tail: &Tail| tail.exact >= COUNTED_MIN && 1.0 - tail.exact >= COUNTED_MIN;
    golden().into_iter().filter(counted).map(|tail| -> Job { Box::new(move || drawn(&tail, draws)) }).collect()
}

fn drawn(tail: &Tail, draws: u32) -> Vec<Row> {
    let count = f64::from(draws);
    let mut stream = Streams::new(1).stream("draws");
    let by_chance = |cell: String, figure, ours, reference, variance: f64| {
        let error = (variance / count).sqrt();
        Row { cell, figure, ours, reference, error: Some(error), allowed: 4.0 * error }
    };
    let share = |cell: String, above: u32| {
        by_chance(cell, "share above", f64::from(above) / count, tail.exact, tail.exact * (1.0 - tail.exact))
    };
    match tail.distribution {
        Distribution::Normal => {
            let above = (0..draws).filter(|_| stream.normal() > tail.above).count();
            vec![share(format!("normal above {}", tail.above), above as u32)]
        }
        Distribution::Exponential => {
            let above = (0..draws).filter(|_| stream.exponential() > tail.above).count();
            vec![share(format!("exponential above {}", tail.above), above as u32)]
        }
        Distribution::Binomial { trials, probability } => {
            let mut binomial = Binomial::new(trials, probability);
            let (n, p) = (f64::from(trials), probability);
            let (mean, variance) = (n * p, n * p * (1.0 - p));
            let (mut above, mut sum, mut squares) = (0, 0.0, 0.0);
            for _ in 0..draws {
                let successes = f64::from(binomial.draw(&mut stream));
                above += u32::from(successes > tail.above);
                let off = successes - mean;
                (sum, squares) = (sum + off, squares + off * off);
            }
            let cell = format!("binomial, n = {trials}, p = {p}");
            // The variance of a sample varies with the fourth central moment.
            let fourth = variance * (1.0 + 3.0 * (n - 2.0) * p * (1.0 - p));
            vec![
                share(format!("{cell}, above {}", tail.above), above),
                by_chance(cell.clone(), "mean", mean + sum / count, mean, variance),
                by_chance(cell, "variance", squares / count, variance, fourth - variance * variance),
            ]
        }
    }
}
