//! One drive in two forms: as a scenario of the engine and as the plain drive of `testkit`.

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session;
use wane_results::RunResult;
use wane_scenario::{Scenario, Sources};
use wane_testkit::plain::{Death, Dice, Drive, HotCold, Leveler, Setup, Tie, Victim};

use super::Row;

/// Uniform drive writes before counting.
pub(crate) const RANDOM_DRIVE_WRITES: u64 = 3;

/// A drive and its writes.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// The drive.
    pub(crate) setup: Setup,
    /// (Physical - logical) / physical blocks, in percent.
    pub(crate) spare_percent: usize,
    /// Its writes.
    pub(crate) traffic: Traffic,
}

/// Shares of the hot writes, of the hot pages in the footprint, and of the footprint, in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    /// Share of the writes that are hot.
    pub(crate) hot_share: usize,
    /// Share of the footprint that is hot.
    pub(crate) hot_part: usize,
    /// Share of the logical pages that are written.
    pub(crate) footprint: usize,
}

pub(crate) const UNIFORM: Traffic = Traffic { hot_share: 50, hot_part: 50, footprint: 100 };
pub(crate) const WARM: Traffic = Traffic { hot_share: 80, hot_part: 20, footprint: 100 };
pub(crate) const HOT: Traffic = Traffic { hot_share: 90, hot_part: 10, footprint: 100 };
pub(crate) const SMALL_HOT: Traffic = Traffic { hot_share: 90, hot_part: 10, footprint: 20 };

impl Traffic {
    pub(crate) fn name(self) -> String {
        let share = if self.hot_share == self.hot_part {
            "uniform".to_owned()
        } else {
            format!("{}/{}", self.hot_share, self.hot_part)
        };
        if self.footprint == 100 { share } else { format!("{share} on {} %", self.footprint) }
    }

    pub(crate) fn of(self, setup: &Setup) -> HotCold {
        let share = |percent: usize| percent as f64 / 100.0;
        HotCold::new(setup.logical_pages(), share(self.hot_share), share(self.hot_part), share(self.footprint))
    }
}

/// Name of a victim policy on the page.
pub(crate) fn victim_name(victim: Victim) -> String {
    match victim {
        Victim::Greedy(Tie::Oldest) => "greedy".to_owned(),
        Victim::Greedy(Tie::Newest) => "greedy, newest of equals".to_owned(),
        Victim::Greedy(Tie::LeastWorn) => "greedy, least worn of equals".to_owned(),
        Victim::Greedy(Tie::MostWorn) => "greedy, most worn of equals".to_owned(),
        Victim::Random => "random".to_owned(),
        Victim::Choices(d) => format!("d-choices, d = {d}"),
        Victim::Fifo => "fifo".to_owned(),
        Victim::Windowed(window) => format!("windowed greedy, {window}"),
        Victim::Lfs => "cost-benefit, lfs".to_owned(),
        Victim::Kawaguchi => "cost-benefit, kawaguchi".to_owned(),
    }
}

/// Name of a wear leveler on the page.
pub(crate) fn leveler_name(leveler: Leveler) -> String {
    match leveler {
        Leveler::None => "no leveling".to_owned(),
        Leveler::Swap(threshold) => format!("hot-cold swap ({threshold})"),
        Leveler::Obp { threshold, protection } => format!("OBP ({threshold}, {protection})"),
        Leveler::DualPool(threshold) => format!("dual pool ({threshold})"),
        Leveler::Progressive { percent } => format!("PWL ({percent} %)"),
        Leveler::Variance(least) => format!("variance ({least})"),
    }
}

pub(crate) fn victim_toml(victim: Victim) -> String {
    match victim {
        Victim::Greedy(Tie::Oldest) => "{ policy = 'greedy' }".to_owned(),
        Victim::Greedy(Tie::Newest) => "{ policy = 'greedy', tie = 'newest' }".to_owned(),
        Victim::Greedy(Tie::LeastWorn) => "{ policy = 'greedy', tie = 'least-worn' }".to_owned(),
        Victim::Greedy(Tie::MostWorn) => "{ policy = 'greedy', tie = 'most-worn' }".to_owned(),
        Victim::Random => "{ policy = 'random' }".to_owned(),
        Victim::Choices(d) => format!("{{ policy = 'd-choices', d = {d} }}"),
        Victim::Fifo => "{ policy = 'fifo' }".to_owned(),
        Victim::Windowed(window) => format!("{{ policy = 'windowed-greedy', window = {window} }}"),
        Victim::Lfs => "{ policy = 'cost-benefit', form = 'lfs' }".to_owned(),
        Victim::Kawaguchi => "{ policy = 'cost-benefit', form = 'kawaguchi' }".to_owned(),
    }
}

pub(crate) fn leveler_toml(leveler: Leveler) -> String {
    match leveler {
        Leveler::None => "{ policy = 'none' }".to_owned(),
        Leveler::Swap(threshold) => format!("{{ policy = 'hot-cold-swap', threshold = {threshold} }}"),
        Leveler::Obp { threshold, protection } => {
            format!("{{ policy = 'obp', threshold = {threshold}, protection = {protection} }}")
        }
        Leveler::DualPool(threshold) => format!("{{ policy = 'dual-pool', threshold = {threshold} }}"),
        Leveler::Progressive { percent } => format!("{{ policy = 'pwl', threshold = '{percent} %' }}"),
        Leveler::Variance(least) => format!("{{ policy = 'variance', threshold = {least} }}"),
    }
}

impl Spec {
    /// Makes a greedy drive without leveling.
    pub(crate) fn new(logical_blocks: usize, pages: usize, spare_percent: usize, traffic: Traffic) -> Self {
        Self { setup: Setup::new(logical_blocks, pages, spare_percent), spare_percent, traffic }
    }

    pub(crate) fn with(mut self, victim: Victim, leveler: Leveler) -> Self {
        (self.setup.victim, self.setup.leveler) = (victim, leveler);
        self
    }

    /// The size of the drive in words.
    pub(crate) fn size(&self) -> String {
        let Setup { logical_blocks, pages, .. } = self.setup;
        format!("{logical_blocks} x {pages}, {} %", self.spare_percent)
    }

    /// The engine's scenario; `until` is the content of its table `until`.
    pub(crate) fn scenario(&self, seed: u64, until: &str) -> Scenario {
        let Setup { pages, endurance, retires, victim, leveler, .. } = self.setup;
        let Traffic { hot_share, hot_part, footprint } = self.traffic;
        let text = format!(
            "seed = {seed}\n[drive]\nlogical-capacity = '{} KiB'\npages-per-block = {pages}\nspare-factor = '{} %'\n\
             endurance = {endurance}\n[ftl]\ngc = {}\nwear-leveling = {}\nretire = '{}'\n[precondition]\n\
             random-drive-writes = {RANDOM_DRIVE_WRITES}\n[workload]\npattern = 'hot-cold'\nr = '{hot_share} %'\n\
             h = '{hot_part} %'\nfootprint = '{footprint} %'\n[until]\n{until}\n",
            4 * self.setup.logical_pages(),
            self.spare_percent,
            victim_toml(victim),
            leveler_toml(leveler),
            if retires { "at-endurance" } else { "never" },
        );
        Scenario::resolve(&Sources { preset: None, file: Some(("validation", &text)), set: &[] })
            .unwrap_or_else(|error| unreachable!("a scenario of the validation is valid: {error}"))
    }

    /// The engine's run.
    pub(crate) fn engine(&self, seed: u64, until: &str) -> RunResult {
        let mut watch = Watch { step: &mut |_| {}, stop: &std::sync::Arc::default() };
        let result = session::execute(&self.scenario(seed, until), &PolicyOverrides::default(), &mut watch)
            .unwrap_or_else(|error| unreachable!("a small run gives a result: {error}"));
        let blocks = self.setup.rated_blocks + self.setup.reserve;
        assert_eq!(result.blocks.len(), blocks, "both drives have as many blocks");
        result
    }

    /// The plain drive after `drive_writes` drive writes, or at its death.
    pub(crate) fn plain(&self, seed: u64, drive_writes: u64) -> (Drive, Option<Death>) {
        let mut dice = Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(17));
        let setup = Setup { seed: seed.wrapping_mul(7919).wrapping_add(5), ..self.setup.clone() };
        let traffic = self.traffic.of(&setup);
        let pages = setup.logical_pages() as u64;
        let mut drive = Drive::new(setup);
        if let Err(death) = drive.precondition(RANDOM_DRIVE_WRITES, &mut dice) {
            return (drive, Some(death));
        }
        for _ in 0..drive_writes.saturating_mul(pages) {
            if let Err(death) = drive.write(traffic.draw(&mut dice)) {
                return (drive, Some(death));
            }
        }
        (drive, None)
    }
}

/// Mean and variance of the mean.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, squares / (count * (count - 1.0)))
}

/// A row of independent runs of both, one value a seed. The two may differ by the larger of `share` of the reference and `least`.
pub(crate) fn sampled(
    cell: String,
    figure: &'static str,
    ours: &[f64],
    reference: &[f64],
    (share, least): (f64, f64),
) -> Row {
    let ((ours, one), (reference, other)) = (moments(ours), moments(reference));
    let allowed = (share * reference.abs()).max(least);
    Row { cell, figure, ours, reference, error: Some((one + other).sqrt()), allowed }
}

/// Standard deviation of the erase counts of a drive's blocks.
pub(crate) fn spread(erases: &[u32]) -> f64 {
    let count = erases.len() as f64;
    let mean = mean(erases);
    (erases.iter().map(|erases| (f64::from(*erases) - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// Mean of the erase counts.
pub(crate) fn mean(erases: &[u32]) -> f64 {
    erases.iter().map(|erases| f64::from(*erases)).sum::<f64>() / erases.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_samples_have_the_error_of_the_difference() {
        let row = sampled("a".to_owned(), "b", &[1.0, 3.0], &[2.0, 4.0, 6.0], (0.5, 0.1));
        assert_eq!((row.ours, row.reference, row.allowed), (2.0, 4.0, 2.0));
        // Variances 2 / 2 and 4 / 3.
        assert!((row.error.expect("chance") - (1.0f64 + 4.0 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn erase_counts_have_mean_and_spread() {
        assert_eq!((mean(&[1, 3]), spread(&[1, 3])), (2.0, 1.0));
    }
}
