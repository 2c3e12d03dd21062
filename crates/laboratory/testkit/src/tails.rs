//! Golden tail probabilities, by exact sums and by scipy. `tools/tails.py` makes `data/tails.csv` and documents how.

/// The table as it lies in the tree.
const TABLE: &str = include_str!("../data/tails.csv");

/// Distribution of a tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Successes among trials of equal probability.
    Binomial {
        /// Trials.
        trials: u32,
        /// Probability of each.
        probability: f64,
    },
    /// Mean 0, standard deviation 1.
    Normal,
    /// Mean 1.
    Exponential,
}

/// A golden probability.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    /// The distribution.
    pub distribution: Distribution,
    /// The variable is above this.
    pub above: f64,
    /// Its probability by exact sums, rounded once.
    pub exact: f64,
    /// Its probability by scipy.
    pub scipy: f64,
}

/// Every golden probability.
///
/// # Panics
/// The table in the tree is damaged.
pub fn golden() -> Vec<Tail> {
    let number = |cell: &str| cell.parse::<f64>().expect("the table holds numbers");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let distribution = match cells[0] {
            "binomial" => Distribution::Binomial { trials: number(cells[1]) as u32, probability: number(cells[2]) },
            "normal" => Distribution::Normal,
            "exponential" => Distribution::Exponential,
            other => unreachable!("the table has no distribution {other}"),
        };
        Tail { distribution, above: number(cells[3]), exact: number(cells[4]), scipy: number(cells[5]) }
    };
    TABLE.lines().skip(1).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_sums_and_scipy_agree_to_nine_digits() {
        let golden = golden();
        assert!(golden.len() > 25);
        for tail in golden {
            assert!((tail.scipy / tail.exact - 1.0).abs() < 1e-9, "{tail:?}");
        }
    }
}
