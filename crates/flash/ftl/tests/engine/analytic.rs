//! Checks the engine against closed forms under uniform and sequential writes.

use wane_ftl::policies::find;
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::{Ftl, Outcome};
use wane_nand::Array;
use wane_sim::Streams;
use wane_theory::utilization::{Blocks, Mix, Victims, hot_cold, uniform};
use wane_units::{Bytes, Geometry, Lpn};

use super::config;

/// Writes all these pages.
fn write(ftl: &mut Ftl<Array>, pages: &[u32]) {
    let mut done = 0;
    while done < pages.len() {
        let (written, outcome) = ftl.write(Lpn::slice(&pages[done..]));
        assert!(matches!(outcome, Outcome::Done | Outcome::Paused), "{outcome:?}");
        assert_eq!(ftl.resume(), Outcome::Done);
        done += written;
    }
}

/// Write amplification over `measure` drive writes, after a fill and `settle` drive writes.
fn amplification(policy: &str, blocks: u32, pages_per_block: u32, settle: u64, measure: u64, sequential: bool) -> f64 {
    let rated = (f64::from(blocks) / 0.9) as u32;
    let logical = blocks * pages_per_block;
    let mut config = config(logical, rated, 7);
    config.victim = find(VICTIM_POLICIES, policy).unwrap().parse(toml::Table::new()).unwrap();
    let array = Array::new(Geometry::flat(rated + 7, pages_per_block, Bytes(4096)).unwrap());
    let mut ftl = Ftl::new(array, config).unwrap();
    let mut stream = Streams::new(9).stream("workload");
    let mut pages: Vec<u32> = (0..logical).collect();
    write(&mut ftl, &pages);
    let mut drive_write = |ftl: &mut Ftl<Array>| {
        if !sequential {
            pages.iter_mut().for_each(|page| *page = stream.below(u64::from(logical)) as u32);
        }
        write(ftl, &pages);
    };
    (0..settle).for_each(|_| drive_write(&mut ftl));
    let before = *ftl.counters();
    (0..measure).for_each(|_| drive_write(&mut ftl));
    let host = ftl.counters().host_units_written - before.host_units_written;
    (ftl.counters().programmed_total() - before.programmed_total()) as f64 / host as f64
}

fn within(found: f64, want: f64, share: f64, what: &str) {
    let off = found / want - 1.0;
    println!("{what}: {found:.4}, closed form {want:.4}, {:+.2} %", 100.0 * off);
    assert!(off.abs() <= share, "{what}: {found} is {off:+.4} off {want}");
}

// The physical pages of the closed forms are those that hold data: the blocks without the free reserve and the frontier.
#[test]
fn fifo_meets_its_closed_form() {
    let alpha = f64::from((2048.0 / 0.9) as u32) / 2048.0;
    within(amplification("fifo", 2048, 64, 6, 4, false), wane_theory::lru_write_amplification(alpha), 0.01, "FIFO");
}

#[test]
fn random_meets_its_closed_form() {
    let alpha = f64::from((2048.0 / 0.9) as u32) / 2048.0;
    within(
        amplification("random", 2048, 64, 8, 4, false),
        wane_theory::random_write_amplification(alpha),
        0.01,
        "random",
    );
}

#[test]
fn greedy_meets_its_table() {
    for (pages_per_block, want) in wane_theory::GREEDY_UNIFORM {
        within(amplification("greedy", 1024, pages_per_block, 4, 4, false), want, 0.02, "greedy");
    }
}

#[test]
fn sequential_writes_are_never_amplified() {
    for policy in ["greedy", "fifo", "cost-benefit", "windowed-greedy"] {
        assert_eq!(amplification(policy, 256, 64, 2, 3, true), 1.0, "{policy}");
    }
}

/// A case in which the engine is compared with the mean-field models.
struct Cell {
    victims: Victims,
    pages: u32,
    spare: f64,
    /// Shares of the hot writes and the hot pages.
    mix: (f64, f64),
}

impl Cell {
    const BLOCKS: u32 = 4096;

    fn logical_blocks(&self) -> u32 {
        (f64::from(Self::BLOCKS) * (1.0 - self.spare)).round() as u32
    }

    /// Write amplification of the engine with one open block after some drive writes to settle: mean and standard error over batches
    /// of half a drive write.
    fn engine(&self, seed: u64) -> (f64, f64) {
        let logical = self.logical_blocks() * self.pages;
        let mut config = config(logical, Self::BLOCKS, 7);
        let (name, d) = match self.victims {
            Victims::Random => ("random", None),
            Victims::DChoices(d) => ("d-choices", Some(d)),
            Victims::Greedy => ("greedy", None),
        };
        let table = d.map(|d| ("d".to_owned(), toml::Value::from(d))).into_iter().collect();
        config.victim = find(VICTIM_POLICIES, name).unwrap().parse(table).unwrap();
        config.streams = Streams::new(seed);
        let array = Array::new(Geometry::flat(Self::BLOCKS + 7, self.pages, Bytes(4096)).unwrap());
        let mut ftl = Ftl::new(array, config).unwrap();
        let mut stream = Streams::new(seed).stream("workload");
        write(&mut ftl, &(0..logical).collect::<Vec<u32>>());
        let hot = (self.mix.1 * f64::from(logical)) as u64;
        let mut batch = vec![0u32; logical as usize / 2];
        let mut next = |_| {
            for page in &mut batch {
                let is_hot = stream.chance(self.mix.0);
                let (first, count) = if is_hot { (0, hot) } else { (hot, u64::from(logical) - hot) };
                *page = (first + stream.below(count)) as u32;
            }
            let before = *ftl.counters();
            write(&mut ftl, &batch);
            let host = (ftl.counters().host_units_written - before.host_units_written) as f64;
            (ftl.counters().programmed_total() - before.programmed_total()) as f64 / host
        };
        (0..16).for_each(|batch| {
            next(batch);
        });
        let found: Vec<f64> = (0..16).map(&mut next).collect();
        let mean = found.iter().sum::<f64>() / 16.0;
        let variance = found.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / 15.0;
        (mean, (variance / 16.0).sqrt())
    }

    fn model(&self) -> f64 {
        let spare_factor = 1.0 - f64::from(self.logical_blocks()) / f64::from(Self::BLOCKS);
        let (blocks, (hot_writes, hot_pages)) = (Blocks { pages: self.pages, spare_factor }, self.mix);
        let steady = if hot_writes == hot_pages {
            uniform(self.victims, blocks)
        } else {
            hot_cold(self.victims, blocks, Mix { hot_writes, hot_pages })
        };
        steady.unwrap().write_amplification
    }
}

/// Uniform within 0.5 %, two temperatures within 1 %, or within four standard errors.
#[test]
fn mean_field_models_with_utilization_are_met() {
    use Victims::{DChoices, Greedy, Random};
    let (uniform, warm, hot, small) = ((0.5, 0.5), (0.8, 0.2), (0.9, 0.1), (0.95, 0.2));
    for (victims, pages, spare, mix) in [
        (Random, 32, 0.2, hot),
        (DChoices(1.5), 32, 0.1, uniform),
        (DChoices(2.0), 32, 0.05, uniform),
        (DChoices(3.0), 64, 0.1, uniform),
        (DChoices(10.0), 128, 0.2, uniform),
        (Greedy, 32, 0.05, uniform),
        (Greedy, 64, 0.1, uniform),
        (Greedy, 128, 0.4, uniform),
        (DChoices(2.0), 64, 0.1, warm),
        (DChoices(3.0), 32, 0.2, warm),
        (DChoices(10.0), 32, 0.05, hot),
        (DChoices(10.0), 64, 0.1, small),
        (Greedy, 32, 0.1, warm),
        (Greedy, 64, 0.05, hot),
        (Greedy, 64, 0.2, small),
    ] {
        let cell = Cell { victims, pages, spare, mix };
        let ((found, error), want) = (cell.engine(3), cell.model());
        let share: f64 = if mix.0 == mix.1 { 0.005 } else { 0.01 };
        let what = format!("{victims:?}, {pages} pages, spare {spare}, {mix:?}, error {:.2} %", 100.0 * error / found);
        assert!(error / found < 0.004, "{what}");
        within(found, want, share.max(4.0 * error / found), &what);
    }
}
