//! Whole lives: drive writes until a drive whose blocks retire is dead, compared with the plain drive.

use wane_testkit::plain::{Leveler, Tie, Victim};

use super::drives::{HOT, SMALL_HOT, Spec, Traffic, UNIFORM, leveler_name, sampled, victim_name};
use super::{Extent, Job, Part};

/// The part.
pub(crate) fn part() -> Part {
    Part {
        id: "lives",
        title: "Whole lives, each with its own traffic",
        compared: "drive writes after preconditioning until the drive is dead, of small drives whose blocks retire at their endurance \
                   of 60 erases",
        reference: "the plain drive of `testkit`, to its death",
        seeds: "engine and plain drive each live with seeds 1 to 24, in the quick part 1 to 8; they share no random numbers",
        tolerance: "2 % of the reference",
        note: "",
        takes: "1 minute",
        jobs,
    }
}

/// Logical blocks of the drives: the fewest of any part with random traffic.
pub(crate) const BLOCKS: usize = 256;

const LEVELERS: [Leveler; 6] = [
    Leveler::None,
    Leveler::Obp { threshold: 4, protection: 8 },
    Leveler::DualPool(5),
    Leveler::Progressive { percent: 50 },
    Leveler::Swap(30),
    Leveler::Variance(0.995),
];

fn jobs(extent: Extent) -> Vec<Job> {
    let (seeds, traffics): (u64, &[Traffic]) = match extent {
        Extent::Quick => (8, &[HOT]),
        Extent::Full => (24, &[UNIFORM, HOT, SMALL_HOT]),
    };
    let mut specs = Vec::new();
    for traffic in traffics {
        for leveler in LEVELERS {
            specs.push(Spec::new(BLOCKS, 32, 10, *traffic).with(Victim::Greedy(Tie::Oldest), leveler));
        }
        if extent == Extent::Full {
            for victim in [Victim::Lfs, Victim::Choices(2.0), Victim::Fifo, Victim::Random] {
                specs.push(Spec::new(BLOCKS, 32, 10, *traffic).with(victim, Leveler::None));
            }
        }
    }
    let job = |mut spec: Spec| -> Job {
        (spec.setup.endurance, spec.setup.retires) = (60, true);
        Box::new(move || vec![row(&spec, seeds)])
    };
    specs.into_iter().map(job).collect()
}

fn row(spec: &Spec, seeds: u64) -> super::Row {
    let cell = format!(
        "{}; {}; {}; {}",
        victim_name(spec.setup.victim),
        leveler_name(spec.setup.leveler),
        spec.traffic.name(),
        spec.size()
    );
    let ours: Vec<f64> =
        (1..=seeds).map(|seed| spec.engine(seed, "end-of-life = true").summary.host.drive_writes).collect();
    let lived = |seed| {
        let (drive, death) = spec.plain(seed, 1000);
        assert!(death.is_some(), "60 erases a block are used up");
        drive.counts().host as f64 / spec.setup.logical_pages() as f64
    };
    let reference: Vec<f64> = (1..=seeds).map(lived).collect();
    sampled(cell, "drive writes to death", &ours, &reference, (0.02, 0.0))
}
