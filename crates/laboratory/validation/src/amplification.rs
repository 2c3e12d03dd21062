//! Write amplification of every victim policy over workloads, spare factors and sizes of drives, against the plain drive.

use wane_testkit::plain::{Leveler, Tie, Victim};

use super::drives::{HOT, SMALL_HOT, Spec, Traffic, UNIFORM, WARM, sampled, victim_name};
use super::{Extent, Job, Part};

/// The part.
pub(crate) fn part() -> Part {
    Part {
        id: "amplification",
        title: "Write amplification",
        compared: "(host + garbage collection) / host over 4 drive writes after 1 sequential and 3 uniform ones: every victim \
                   policy under four workloads at spare factors of 7 and 20 %, then sizes of drives and blocks",
        reference: "the plain drive of `testkit`, which scans all blocks for each victim and draws its own traffic",
        seeds: "engine and plain drive each run with seeds 1 to 3; they share no random numbers",
        tolerance: "1 % of the reference",
        note: "three seeds a side leave the standard error itself uncertain: by chance one figure in sixty lies more than four of them away (Student's t of four degrees of freedom). The tolerance decides",
        takes: "3 minutes",
        jobs,
    }
}

pub(crate) const VICTIMS: [Victim; 9] = [
    Victim::Greedy(Tie::Oldest),
    Victim::Greedy(Tie::Newest),
    Victim::Lfs,
    Victim::Kawaguchi,
    Victim::Windowed(200),
    Victim::Choices(2.0),
    Victim::Choices(5.5),
    Victim::Fifo,
    Victim::Random,
];

const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;
/// In percent.
const SPARES: [usize; 2] = [7, 20];
const TRAFFICS: [Traffic; 4] = [UNIFORM, WARM, HOT, SMALL_HOT];

/// The cells of the full grid, for the test of what reports take as validated.
#[cfg(test)]
pub(crate) fn cells() -> Vec<Spec> {
    specs(Extent::Full)
}

fn specs(extent: Extent) -> Vec<Spec> {
    let greedy = |blocks, pages, spare, traffic| {
        Spec::new(blocks, pages, spare, traffic).with(Victim::Greedy(Tie::Oldest), Leveler::None)
    };
    if extent == Extent::Quick {
        let of = |victim| Spec::new(512, 32, 10, HOT).with(victim, Leveler::None);
        return VICTIMS.into_iter().map(of).collect();
    }
    let mut specs = Vec::new();
    for victim in VICTIMS {
        for traffic in TRAFFICS {
            for spare in SPARES {
                specs.push(Spec::new(1024, 64, spare, traffic).with(victim, Leveler::None));
            }
        }
    }
    for traffic in [UNIFORM, HOT] {
        specs.push(greedy(1024, 16, 10, traffic));
        specs.push(greedy(1024, 256, 10, traffic));
        specs.push(greedy(2048, 64, 10, traffic));
        specs.push(greedy(4096, 32, 10, traffic));
        specs.push(greedy(1024, 64, 28, traffic));
        specs.push(greedy(1024, 64, 50, traffic));
    }
    specs
}

fn jobs(extent: Extent) -> Vec<Job> {
    let drive_writes = if extent == Extent::Quick { 3 } else { 4 };
    specs(extent)
        .into_iter()
        .map(|spec| -> Job {
            Box::new(move || {
                let cell = format!("{}; {}; {}", victim_name(spec.setup.victim), spec.traffic.name(), spec.size());
                let ours: Vec<f64> = SEEDS
                    .map(|seed| {
                        let summary = spec.engine(seed, &format!("drive-writes = {drive_writes}")).summary;
                        summary.write_amplification.gc.expect("the host wrote")
                    })
                    .collect();
                let reference: Vec<f64> = SEEDS
                    .map(|seed| {
                        let (drive, death) = spec.plain(seed, drive_writes);
                        assert_eq!(death, None, "no block of it retires");
                        drive.counts().amplification()
                    })
                    .collect();
                vec![sampled(cell, "write amplification", &ours, &reference, (0.01, 0.0))]
            })
        })
        .collect()
}
