//! Write amplification compared with the mean-field models of `theory::utilization`: spare factors, choices, sizes of blocks and
//! temperatures.

use wane_results::Row as Moment;
use wane_testkit::plain::{Leveler, Tie, Victim};
use wane_theory::utilization::{Blocks, Mix, Victims, hot_cold, uniform};

use super::drives::{HOT, Spec, Traffic, UNIFORM, WARM, victim_name};
use super::{Extent, Job, Part, Row};

/// The part.
pub(crate) fn part() -> Part {
    Part {
        id: "mean-field",
        title: "Write amplification, mean field",
        compared: "(host + garbage collection) / host of a drive with one open block, from the fourth drive write on until the standard error over windows of half \
                   a drive write is below 0.2 %, or 96 drive writes; 8,192 blocks, and some drives of 512 and 2,048",
        reference: "the mean-field models of `theory`: random victims, d-choices and greedy, uniform or with two temperatures, in the limit of many blocks",
        seeds: "seed 1",
        tolerance: "0.5 % of the reference under uniform writes, 1 % with two temperatures; 1 % and 2 % for drives of 512 blocks",
        note: "rows of 512 and 2,048 blocks show the finite size, which falls with the number of blocks. Windows follow each other, so that under few \
               choices their standard error is too small. The model of two temperatures is least exact where writes are concentrated and blocks are small: greedy at \
               90/10 on blocks of 32 pages is off by up to 1.05 %, on blocks of 64 by 0.32",
        takes: "40 minutes",
        jobs,
    }
}

/// Blocks of the grid, and of the smaller drives.
const BLOCKS: usize = 8192;
const FEWER: [usize; 2] = [512, 2048];
/// In percent.
const SPARES: [usize; 4] = [5, 10, 20, 40];
const PAGES: [usize; 6] = [32, 64, 128, 256, 512, 1024];
/// With two temperatures.
const PAGES_MIXED: [usize; 3] = [32, 64, 256];
const VICTIMS: [Victim; 5] = [
    Victim::Choices(1.0),
    Victim::Choices(2.0),
    Victim::Choices(3.0),
    Victim::Choices(10.0),
    Victim::Greedy(Tie::Oldest),
];
/// 19 of 20 writes go to a fifth of the pages.
const SHARP: Traffic = Traffic { hot_share: 95, hot_part: 20, footprint: 100 };
const MIXES: [Traffic; 3] = [WARM, HOT, SHARP];

/// Drive writes to settle, and drive writes of the first, second and third attempt.
const SETTLE: f64 = 4.0;
const ATTEMPTS: [u32; 3] = [12, 32, 96];
/// Standard error relative to the mean that is small enough.
const ERROR_MAX: f64 = 0.002;

fn specs(extent: Extent) -> Vec<Spec> {
    let of = |blocks, pages, spare, traffic, victim| {
        let logical = blocks * (100 - spare) / 100;
        Spec::new(logical, pages, spare, traffic).with(victim, Leveler::None)
    };
    if extent == Extent::Quick {
        return vec![
            of(2048, 32, 10, UNIFORM, Victim::Choices(3.0)),
            of(2048, 32, 10, UNIFORM, Victim::Greedy(Tie::Oldest)),
            of(2048, 32, 10, WARM, Victim::Choices(10.0)),
            of(2048, 32, 20, WARM, Victim::Greedy(Tie::Oldest)),
        ];
    }
    let mut specs = Vec::new();
    for victim in VICTIMS {
        for spare in SPARES {
            specs.extend(PAGES.map(|pages| of(BLOCKS, pages, spare, UNIFORM, victim)));
            for traffic in MIXES {
                specs.extend(PAGES_MIXED.map(|pages| of(BLOCKS, pages, spare, traffic, victim)));
            }
        }
        for blocks in FEWER {
            specs.extend([UNIFORM, HOT].map(|traffic| of(blocks, 64, 10, traffic, victim)));
        }
    }
    specs
}

fn jobs(extent: Extent) -> Vec<Job> {
    specs(extent).into_iter().map(|spec| -> Job { Box::new(move || vec![row(&spec)]) }).collect()
}

fn row(spec: &Spec) -> Row {
    let (mut mean, mut error) = (f64::NAN, f64::INFINITY);
    for drive_writes in ATTEMPTS {
        (mean, error) = measured(spec, drive_writes);
        if error < ERROR_MAX * mean {
            break;
        }
    }
    let reference = model(spec);
    let is_mixed = spec.traffic.hot_share != spec.traffic.hot_part;
    let is_small = spec.setup.rated_blocks < 1024;
    let share = if is_mixed { 0.01 } else { 0.005 } * if is_small { 2.0 } else { 1.0 };
    let Spec { traffic, setup, spare_percent } = spec;
    let cell = format!(
        "{}; {}; {} blocks of {}, {spare_percent} %",
        victim_name(setup.victim),
        traffic.name(),
        setup.rated_blocks,
        setup.pages
    );
    Row { cell, figure: "write amplification", ours: mean, reference, error: Some(error), allowed: share * reference }
}

/// Mean and standard error over windows of half a drive write.
fn measured(spec: &Spec, drive_writes: u32) -> (f64, f64) {
    let result = spec.engine(1, &format!("drive-writes = {drive_writes}"));
    let mut windows = Vec::new();
    let mut last: Option<&Moment> = None;
    for row in result.timeline.iter().filter(|row| row.drive_writes >= SETTLE) {
        let Some(from) = last else {
            last = Some(row);
            continue;
        };
        if row.drive_writes >= from.drive_writes + 0.5 - 1e-9 {
            let counted = row.counters - from.counters;
            let moved = counted.programmed_gc as f64 / counted.programmed_host as f64;
            windows.push(1.0 + moved);
            last = Some(row);
        }
    }
    let count = windows.len() as f64;
    let mean = windows.iter().sum::<f64>() / count;
    let squares: f64 = windows.iter().map(|window| (window - mean).powi(2)).sum();
    (mean, (squares / (count * (count - 1.0))).sqrt())
}

fn model(spec: &Spec) -> f64 {
    let setup = &spec.setup;
    let spare_factor = 1.0 - setup.logical_blocks as f64 / setup.rated_blocks as f64;
    let blocks = Blocks { pages: setup.pages as u32, spare_factor };
    let victims = match setup.victim {
        Victim::Choices(d) => Victims::DChoices(d),
        _ => Victims::Greedy,
    };
    let share = |percent: usize| percent as f64 / 100.0;
    let Traffic { hot_share, hot_part, .. } = spec.traffic;
    let steady = if hot_share == hot_part {
        uniform(victims, blocks)
    } else {
        hot_cold(victims, blocks, Mix { hot_writes: share(hot_share), hot_pages: share(hot_part) })
    };
    steady.map_or(f64::NAN, |steady| steady.write_amplification)
}
