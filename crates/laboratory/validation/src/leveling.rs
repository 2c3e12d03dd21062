//! What wear levelers move and how evenly they wear, compared with the plain drive.

use wane_testkit::plain::{Leveler, Tie, Victim};

use super::drives::{HOT, SMALL_HOT, Spec, Traffic, WARM, leveler_name, mean, sampled, spread};
use super::{Extent, Job, Part};

/// The part.
pub(crate) fn part() -> Part {
    Part {
        id: "leveling",
        title: "Wear leveling",
        compared: "pages that garbage collection and wear leveling move a host page, mean and standard deviation of the erase \
                   counts, after 20 drive writes on blocks that never retire",
        reference: "the plain drive of `testkit`, which scans all blocks for the coldest",
        seeds: "engine and plain drive each run with seeds 1 to 20, in the quick part 1 to 12; they share no random numbers",
        tolerance: "1 % of write amplification and of the mean erase count, 3 % (at least 0.005) of what leveling moves, 5 % (at least 0.1) of the standard deviation",
        note: "where almost nothing is moved, a difference in percent says little, and the tolerance of 0.005 pages applies. One figure lies 3.7 standard errors away, the spread under dual pool (10) and 90/10; with the seeds 21 to 100 it is 0.6, so this was chance",
        takes: "2 minutes",
        jobs,
    }
}

pub(crate) const LEVELERS: [Leveler; 9] = [
    Leveler::None,
    Leveler::Obp { threshold: 4, protection: 8 },
    Leveler::Obp { threshold: 8, protection: 64 },
    Leveler::DualPool(5),
    Leveler::DualPool(10),
    Leveler::Progressive { percent: 25 },
    Leveler::Progressive { percent: 50 },
    Leveler::Swap(5),
    Leveler::Variance(0.9995),
];

/// The cells. What reports take as validated is checked against them.
pub(crate) fn specs(extent: Extent) -> Vec<Spec> {
    let traffics: &[Traffic] = match extent {
        Extent::Quick => &[HOT],
        Extent::Full => &[HOT, WARM, SMALL_HOT],
    };
    let of = |traffic, leveler| {
        // The endurance is reached within the run, so that progressive leveling passes through all of its threshold.
        let mut spec = Spec::new(256, 32, 10, traffic).with(Victim::Greedy(Tie::Oldest), leveler);
        spec.setup.endurance = if extent == Extent::Quick { 60 } else { 80 };
        spec
    };
    // It moves so little in a short run that its standard error exceeds the tolerance.
    let is_run = |leveler: &Leveler| extent == Extent::Full || *leveler != Leveler::DualPool(10);
    let levelers = || LEVELERS.into_iter().filter(is_run);
    traffics.iter().flat_map(|traffic| levelers().map(|leveler| of(*traffic, leveler))).collect()
}

fn jobs(extent: Extent) -> Vec<Job> {
    let (seeds, drive_writes) = match extent {
        Extent::Quick => (12, 12),
        Extent::Full => (20, 20),
    };
    let job = |spec| -> Job { Box::new(move || rows(&spec, seeds, drive_writes)) };
    specs(extent).into_iter().map(job).collect()
}

fn rows(spec: &Spec, seeds: u64, drive_writes: u64) -> Vec<super::Row> {
    let cell = format!("{}; {}; {}", leveler_name(spec.setup.leveler), spec.traffic.name(), spec.size());
    let figures: [(&str, (f64, f64)); 4] = [
        ("write amplification", (0.01, 0.0)),
        ("pages leveled a host page", (0.03, 0.005)),
        ("mean erase count", (0.01, 0.0)),
        ("sd of the erase counts", (0.05, 0.1)),
    ];
    let mut ours = [const { Vec::new() }; 4];
    let mut reference = [const { Vec::new() }; 4];
    for seed in 1..=seeds {
        let run = spec.engine(seed, &format!("drive-writes = {drive_writes}"));
        let wear = &run.summary.wear.erase_count;
        let amplification = &run.summary.write_amplification;
        let of = |figure: Option<f64>| figure.expect("the host wrote");
        let found = [of(amplification.gc), of(amplification.wear_leveling), wear.mean, wear.sd];
        ours.iter_mut().zip(found).for_each(|(values, value)| values.push(value));
        let (drive, death) = spec.plain(seed, drive_writes);
        assert_eq!(death, None, "no block of it retires");
        let (counts, erases) = (drive.counts(), drive.erases());
        let found = [counts.amplification(), counts.leveling(), mean(&erases), spread(&erases)];
        reference.iter_mut().zip(found).for_each(|(values, value)| values.push(value));
    }
    figures
        .into_iter()
        .zip(ours.iter().zip(&reference))
        .map(|((figure, tolerance), (ours, reference))| sampled(cell.clone(), figure, ours, reference, tolerance))
        .collect()
}
