//! Compares the engine with code that shares nothing with it, with closed forms and with golden values. For development only,
//! like `testkit`.
//!
//! A [`Part`] names what is compared, the independent reference, and how far the two may differ. It makes jobs, each a cell of
//! its grid. `make validate` runs all of them and writes `docs/validation.md`; a test runs the quick ones. Everything follows
//! from seeds, so that the page is the same byte for byte each time. A new part is one file and one line in [`parts`].

mod amplification;
mod drives;
mod errors;
mod estimates;
mod forms;
mod latency;
mod leveling;
mod lives;
mod mean_field;
mod page;
mod replay;
mod run;

pub use page::{page, table};
pub use run::run;

/// How many cells are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A few cells of each part, within a minute without optimization.
    Quick,
    /// Every cell.
    Full,
}

/// A comparison of the engine with one reference.
pub struct Part {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What is compared.
    pub compared: &'static str,
    /// The reference.
    pub reference: &'static str,
    /// The seeds, and what in a run depends on them.
    pub seeds: &'static str,
    /// How far the two may differ, in words. Each row carries the number.
    pub tolerance: &'static str,
    /// What a reader should know about the result.
    pub note: &'static str,
    /// About how long it takes on one core of a present machine.
    pub takes: &'static str,
    /// Its cells, in the order of the page.
    pub jobs: fn(Extent) -> Vec<Job>,
}

/// One cell of a part, as some rows. It gives the same rows each time it is called.
pub type Job = Box<dyn Fn() -> Vec<Row> + Send + Sync>;

/// The result of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The two differ by no more than is allowed.
    Agrees,
    /// They differ by more than is allowed.
    Differs,
    /// Nothing can be said: one standard error is more than the allowed difference.
    TooCoarse,
}

impl Verdict {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::TooCoarse => "too coarse",
        }
    }
}

/// One figure of a cell, from the engine and from the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The cell, such as a policy on a drive under a workload.
    pub cell: String,
    /// What is compared, with its unit.
    pub figure: &'static str,
    /// The engine's figure, a mean over the seeds.
    pub ours: f64,
    /// The reference's figure.
    pub reference: f64,
    /// Standard error of the difference; `None` if it does not depend on chance.
    pub error: Option<f64>,
    /// The most by which the two may differ.
    pub allowed: f64,
}

impl Row {
    /// Makes a row that does not depend on chance.
    pub fn exact(cell: impl Into<String>, figure: &'static str, ours: f64, reference: f64, allowed: f64) -> Self {
        Self { cell: cell.into(), figure, ours, reference, error: None, allowed }
    }

    /// The engine's figure minus the reference's.
    pub fn difference(&self) -> f64 {
        self.ours - self.reference
    }

    /// The difference in percent of the reference; `None` if the reference is zero and the engine's figure is not.
    pub fn percent(&self) -> Option<f64> {
        if self.difference() == 0.0 {
            return Some(0.0);
        }
        (self.reference != 0.0).then(|| 100.0 * self.difference() / self.reference)
    }

    /// The difference in standard errors; `None` if it does not depend on chance.
    pub fn standard_errors(&self) -> Option<f64> {
        let error = self.error?;
        if self.difference() == 0.0 { Some(0.0) } else { Some(self.difference() / error) }
    }

    /// Whether the two differ by no more than is allowed or by no more than four standard errors, and whether the standard error
    /// is small enough for that to mean something.
    pub fn verdict(&self) -> Verdict {
        let chance = self.error.unwrap_or(0.0);
        let is_near = self.difference().abs() <= self.allowed.max(4.0 * chance);
        match (is_near, chance <= self.allowed) {
            (true, true) => Verdict::Agrees,
            (true, false) => Verdict::TooCoarse,
            // A figure that is NaN is near nothing.
            (false, _) => Verdict::Differs,
        }
    }

    /// Whether the two agree.
    pub fn agrees(&self) -> bool {
        self.verdict() == Verdict::Agrees
    }
}

/// Every part, in the order of the page.
pub fn parts() -> Vec<Part> {
    vec![
        replay::part(),
        lives::part(),
        amplification::part(),
        leveling::part(),
        forms::part(),
        mean_field::part(),
        latency::part(),
        latency::queues(),
        estimates::standins(),
        estimates::reads(),
        errors::reference_values(),
        errors::tails(),
        errors::draws(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: f64, reference: f64, error: Option<f64>, allowed: f64) -> Row {
        Row { cell: String::new(), figure: "", ours, reference, error, allowed }
    }

    #[test]
    fn rows_agree_within_the_tolerance_or_within_chance_but_not_by_coarseness() {
        let cases = [
            (row(1.01, 1.0, None, 0.011), Verdict::Agrees),
            (row(1.02, 1.0, None, 0.011), Verdict::Differs),
            (row(1.02, 1.0, Some(0.006), 0.011), Verdict::Agrees),
            (row(1.03, 1.0, Some(0.006), 0.011), Verdict::Differs),
            (row(1.02, 1.0, Some(0.02), 0.011), Verdict::TooCoarse),
            (row(1.2, 1.0, Some(0.02), 0.011), Verdict::Differs),
            (row(0.0, 0.0, None, 0.0), Verdict::Agrees),
            (row(f64::NAN, 1.0, None, 1.0), Verdict::Differs),
        ];
        for (row, want) in cases {
            assert_eq!(row.verdict(), want, "{row:?}");
        }
    }

    #[test]
    fn differences_are_told_in_percent_and_in_standard_errors() {
        let found = row(1.02, 1.0, Some(0.01), 0.1);
        assert!((found.percent().expect("a reference") - 2.0).abs() < 1e-9);
        assert!((found.standard_errors().expect("an error") - 2.0).abs() < 1e-9);
        assert_eq!(row(1.0, 0.0, None, 0.1).percent(), None);
        assert_eq!(
            (row(0.0, 0.0, Some(0.0), 0.1).percent(), row(0.0, 0.0, Some(0.0), 0.1).standard_errors()),
            (Some(0.0), Some(0.0))
        );
    }

    /// What a report takes as validated is what the parts cover.
    #[test]
    fn reports_speak_of_the_grid_as_it_is() {
        use wane_report::validated;
        let range = |cells: &[drives::Spec]| {
            let ends = |of: fn(&drives::Spec) -> usize| {
                let found = || cells.iter().map(of);
                (found().min().expect("the grid has cells"), found().max().expect("the grid has cells"))
            };
            let ((pages_min, pages_max), (spare_min, spare_max)) =
                (ends(|cell| cell.setup.pages), ends(|cell| cell.spare_percent));
            validated::Range {
                block_pages: (pages_min as u64, pages_max as u64),
                spare_percent: (spare_min as f64, spare_max as f64),
            }
        };
        let (cells, leveled) = (amplification::cells(), leveling::specs(Extent::Full));
        // Each policy has its own range, which is no other policy's.
        for victim in amplification::VICTIMS {
            let of = cells.iter().filter(|cell| cell.setup.victim == victim).cloned().collect::<Vec<_>>();
            let is_greedy = drives::victim_toml(victim) == "{ policy = 'greedy' }";
            let want = if is_greedy { validated::OF_GREEDY } else { validated::OF_VICTIMS };
            // With ties broken by the newest block the policy is `greedy` too, and reports do not distinguish the two.
            if drives::victim_toml(victim).contains("newest") {
                continue;
            }
            assert_eq!(range(&of), want, "{victim:?}");
        }
        for leveler in leveling::LEVELERS {
            let of = leveled.iter().filter(|cell| cell.setup.leveler == leveler).cloned().collect::<Vec<_>>();
            assert_eq!(range(&of), validated::OF_LEVELERS, "{leveler:?}");
        }
        assert!(leveled.iter().all(|cell| drives::victim_toml(cell.setup.victim).contains(validated::BESIDE_LEVELERS)));
        assert_eq!(validated::LOAD_PERCENT_MAX, latency::LOADS[latency::LOADS.len() - 1] as f64);
        assert_eq!(validated::DOMAIN_BLOCKS_MIN, lives::BLOCKS as u64);
        assert_eq!(validated::QUEUE_DEPTH_MAX, latency::DEPTHS[latency::DEPTHS.len() - 1] as u64);
        let named = |tables: Vec<String>, names: &[&str]| {
            let is_named = |name: &&str| tables.iter().any(|table| table.contains(&format!("policy = '{name}'")));
            names.iter().all(is_named)
                && tables.iter().all(|table| names.iter().any(|name| table.contains(&format!("'{name}'"))))
        };
        assert!(named(amplification::VICTIMS.map(drives::victim_toml).to_vec(), validated::VICTIMS));
        assert!(named(leveling::LEVELERS.map(drives::leveler_toml).to_vec(), validated::LEVELERS));
    }

    #[test]
    fn parts_have_names_of_their_own() {
        let parts = parts();
        let names: std::collections::BTreeSet<&str> = parts.iter().map(|part| part.id).collect();
        assert_eq!(names.len(), parts.len());
    }
}
