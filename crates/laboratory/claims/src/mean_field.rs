//! MF1 to MF8: what garbage collection costs and how evenly it wears (mean-field study 003).
//!
//! MF1 to MF3 are arithmetic of `theory`. MF4 compares the occupancy model with a drive whose blocks are counted page by page. MF5 to MF8 are the
//! study's evaluation of one package, in `packages`. Its traces are not available as it used them: stand-ins have their share of sequential requests.

mod packages;

use std::sync::Arc;

use wane_lab::occupancy::observe;
use wane_scenario::Scenario;
use wane_sim::Streams;
use wane_theory::occupancy::{half_full_occupancy, total_variation};
use wane_theory::selection::{d_choices, greedy, random};
use wane_theory::tradeoff::{optimal_wear_leveling, optimum};

use super::{Claim, Class, Finding, Matter, Others, Reading, Runs, Verdict, scenario};

pub(super) fn claims() -> Vec<Claim> {
    let mut claims = arithmetic();
    claims.push(states());
    claims.extend(packages::claims());
    claims
}

/// Block sizes of MF1.
const PAGES: [u32; 4] = [16, 64, 128, 256];

fn arithmetic() -> Vec<Claim> {
    let none = || Vec::new();
    vec![
        Claim::new(
            Class::Arithmetic,
            [
                "MF1",
                "003 Th. 1, §3.2, §3.3",
                "binomial shares, random k/2 valid pages a victim, greedy's wear leveling 2^-k",
                "1e-12",
            ],
            ["blocks of 16, 64, 128 and 256 pages under uniform requests", "the theorem", "as printed"],
            none,
            |_| extremes(),
            Others::None("arithmetic"),
        ),
        Claim::new(
            Class::Arithmetic,
            [
                "MF2",
                "003 Th. 5",
                "the best wear leveling at a cost in closed form",
                "conditions of optimality within 1e-9",
            ],
            [
                "2,000 occupancies of 2 to 20 states drawn at random, a cost each",
                "the theorem; its index sets are damaged in print",
                "sums around the cost; feasible, and no other weights can be better (Karush, Kuhn and Tucker)",
            ],
            none,
            |_| optimality(),
            Others::None("arithmetic; a convex solver finds the same in the tests of the crate `theory`"),
        ),
        Claim::new(
            Class::Arithmetic,
            [
                "MF3",
                "003 Fig. 4",
                "d-choices lie on the best curve",
                "at least 0.97 of the best for d of 1 to 100 under uniform requests",
            ],
            [
                "blocks of 64 pages; uniform, and three truncated normal occupancies",
                "means and deviations of the normal ones are in a picture only",
                "normal ones of our choice: mean 32, 40 and 48, deviation 8, 12 and 16; they are reported, not judged",
            ],
            none,
            |_| on_the_curve(),
            Others::None("arithmetic"),
        ),
    ]
}

fn extremes() -> Finding {
    let mut off = 0.0f64;
    let mut table = "| pages | random, valid pages | greedy, wear leveling |\n|---:|---:|---:|\n".to_owned();
    for pages in PAGES {
        let occupancy = half_full_occupancy(pages);
        let (Ok(random), Ok(greedy)) = (random(&occupancy), greedy(&occupancy)) else { continue };
        let half = f64::from(pages) / 2.0;
        let want = libm::exp2(-f64::from(pages));
        off = off.max((random.cleaning_cost / half - 1.0).abs()).max((greedy.wear_leveling / want - 1.0).abs());
        table += &format!("| {pages} | {:.6} | {:.4e} |\n", random.cleaning_cost, greedy.wear_leveling);
    }
    Finding {
        ours: format!("within {off:.1e}"),
        verdict: Verdict::of(off < 1e-12),
        note: "the occupancy model has no utilization: uniform requests leave half of the pages valid".to_owned(),
        table,
    }
}

const INSTANCES: u32 = 2000;

/// With multipliers a and b, w_i = a - b i on the states that are chosen and a - b i <= 0 on the others: then no other weights are better.
fn optimality() -> Finding {
    let mut stream = Streams::new(11).stream("claims.tradeoff");
    // Strictly above 0.
    let mut draw = || 1.0 - stream.unit();
    let (mut worst, mut solved) = (0.0f64, 0);
    for instance in 0..INSTANCES {
        let states = 3 + (instance % 18) as usize;
        let mut occupancy: Vec<f64> = (0..states).map(|_| -libm::log(draw())).collect();
        let sum: f64 = occupancy.iter().sum();
        occupancy.iter_mut().for_each(|share| *share /= sum);
        let cost = (states - 1) as f64 * (0.01 + 0.98 * draw());
        let Ok(found) = optimum(&occupancy, cost) else { continue };
        solved += 1;
        let weights = &found.weights;
        let chosen: Vec<usize> = (0..states).filter(|state| weights[*state] > 0.0).collect();
        let (Some(first), Some(last)) = (chosen.first(), chosen.last()) else { continue };
        let total: f64 = weights.iter().zip(&occupancy).map(|(weight, share)| weight * share).sum();
        let reached: f64 = (0..states).map(|state| state as f64 * weights[state] * occupancy[state]).sum();
        worst = worst.max((total - 1.0).abs()).max((reached - cost).abs());
        if first < last {
            let slope = (weights[*last] - weights[*first]) / (*last - *first) as f64;
            let line = |state: usize| weights[*first] + slope * (state as f64 - *first as f64);
            let scale = weights.iter().copied().fold(0.0, f64::max);
            let violated = |state: usize| {
                let off =
                    if weights[state] > 0.0 { (weights[state] - line(state)).abs() } else { line(state).max(0.0) };
                off / scale
            };
            worst = (0..states).map(violated).fold(worst, f64::max);
        }
    }
    Finding {
        ours: format!("{solved} of {INSTANCES} within {worst:.1e}"),
        verdict: Verdict::of(solved == INSTANCES && worst < 1e-9),
        note: String::new(),
        table: String::new(),
    }
}

/// A normal occupancy of 64 pages, cut off at its ends.
fn normal(mean: f64, deviation: f64) -> Vec<f64> {
    let density = |valid: u32| libm::exp(-libm::pow((f64::from(valid) - mean) / deviation, 2.0) / 2.0);
    let sum: f64 = (0..=64).map(density).sum();
    (0..=64).map(|valid| density(valid) / sum).collect()
}

fn on_the_curve() -> Finding {
    let mut table = "| occupancy | least share of the best, d 1 to 100 | at d = |\n|---|---:|---:|\n".to_owned();
    let occupancies = [
        ("uniform".to_owned(), half_full_occupancy(64)),
        ("normal, 32 +- 8".to_owned(), normal(32.0, 8.0)),
        ("normal, 40 +- 12".to_owned(), normal(40.0, 12.0)),
        ("normal, 48 +- 16".to_owned(), normal(48.0, 16.0)),
    ];
    let mut shares = Vec::new();
    for (name, occupancy) in &occupancies {
        let share = |d: u32| {
            let point = d_choices(occupancy, f64::from(d)).ok()?;
            let best = optimal_wear_leveling(occupancy, point.cleaning_cost).ok()?;
            Some((point.wear_leveling / best, d))
        };
        let least = (1..=100).filter_map(share).min_by(|one, other| one.0.total_cmp(&other.0));
        let (least, d) = least.unwrap_or((f64::NAN, 0));
        table += &format!("| {name} | {least:.4} | {d} |\n");
        shares.push(least);
    }
    Finding {
        ours: format!("{:.4} of the best at least", shares[0]),
        verdict: Verdict::of(shares[0] >= 0.97),
        note: "by occupancy:".to_owned(),
        table,
    }
}

/// Drive writes before and while blocks are counted. The study's 10 million requests write a block about 140 times.
const SETTLE: f64 = 6.0;
const OBSERVED: f64 = 10.0;

/// The workloads of figure 3, by their share of sequential requests.
const FIGURE_3: [(&str, &str); 3] = [
    ("random", "pattern = 'uniform'"),
    ("sequential", "pattern = 'sequential'"),
    ("hybrid", "pattern = 'hybrid'\nsequential-share = '50 %'"),
];

/// Scenario of eight packages of `blocks` blocks, each of which collects by itself.
fn counted(workload: &str, victim: &str, blocks: u32) -> Scenario {
    let text = format!(
        "[drive]\nchannels = 8\nblocks-per-plane = {blocks}\npages-per-block = 64\nspare-factor = '15 %'\n[ftl]\ndomain = 'die'\nretire = 'never'\n\
         gc-reserve = {}\ngc = {victim}\n[precondition]\nsequential-drive-writes = 1\nrandom-drive-writes = 0\n[workload]\n{workload}\n[until]\n\
         drive-writes = 1\n",
        blocks / 20
    );
    scenario(&format!("{workload}, {victim}, 8 x {blocks} blocks"), &text)
}

const GREEDY: &str = "{ policy = 'greedy' }";
const BLOCKS: u32 = 160;

fn states() -> Claim {
    Claim::new(
        Class::Mechanism,
        [
            "MF4",
            "003 Fig. 3",
            "model and simulation of the blocks' states are close",
            "total variation of at most 0.05",
        ],
        [
            "8 packages of 160 blocks of 64 pages, 15 % spare, each collecting by itself at 5 % free; the drive full at first; blocks counted over 10 \
             drive writes after 6",
            "DiskSim, 10 million requests, exponential and normal gaps of 100 ms; the victim policy of this experiment is not stated",
            "greedy; gaps are left out: no two requests overlap, and the state does not depend on time. Rates by equation 8, where a request that \
             comes while a state is empty does not count for that state. The number of free blocks, a twentieth, which no request reaches, stays as \
             it is",
        ],
        Vec::new,
        |runs| closeness(runs, GREEDY, BLOCKS, Groups::AsTheDrive),
        Others::Run {
            scenarios: Vec::new,
            evaluate: |runs| {
                let victims = [
                    ("random victims", "{ policy = 'random' }"),
                    ("d-choices, d = 5", "{ policy = 'd-choices', d = 5 }"),
                ];
                let reading = |what: &str, matter, found: Finding| Reading {
                    what: what.to_owned(),
                    matter,
                    ours: found.ours,
                    verdict: found.verdict,
                };
                let of =
                    |(what, victim)| reading(what, Matter::Choice, closeness(runs, victim, BLOCKS, Groups::AsTheDrive));
                let larger =
                    reading("8 x 640 blocks", Matter::Scale, closeness(runs, GREEDY, 4 * BLOCKS, Groups::AsTheDrive));
                let none = closeness(runs, GREEDY, BLOCKS, Groups::One);
                let none = reading("no blocks in states that no request leads to", Matter::Choice, none);
                victims.map(of).into_iter().chain([none, larger]).collect()
            },
        },
    )
}

/// Share of the blocks in states that no request leads to or from, such as that of free blocks.
#[derive(Clone, Copy)]
enum Groups {
    /// The share that the drive has there.
    AsTheDrive,
    /// None: the theorem on the visited states.
    One,
}

fn closeness(runs: &Runs, victim: &str, blocks: u32, groups: Groups) -> Finding {
    let mut table =
        "| workload | total variation | valid pages a block, seen | by the model |\n|---|---:|---:|---:|\n".to_owned();
    let mut told = Vec::new();
    let mut worst = 0.0f64;
    for (name, workload) in FIGURE_3 {
        let seen = observe(&runs.seeded(&counted(workload, victim, blocks)), SETTLE, OBSERVED, &Arc::default());
        let compared = seen.ok().and_then(|seen| {
            let (rates, seen) = (seen.estimator.rates().ok()?, seen.estimator.occupancy().ok()?);
            let model = match groups {
                Groups::AsTheDrive => rates.fixed_point_from(&seen).ok()?,
                Groups::One => rates.fixed_point().ok()?,
            };
            Some((total_variation(&seen, &model).ok()?, valid(&seen), valid(&model)))
        });
        let (off, seen, model) = compared.unwrap_or((1.0, f64::NAN, f64::NAN));
        worst = worst.max(off);
        told.push(format!("{off:.3} {name}"));
        table += &format!("| {name} | {off:.4} | {seen:.2} | {model:.2} |\n");
    }
    Finding {
        ours: told.join(", "),
        verdict: Verdict::of(worst <= 0.05),
        note: "under sequential writes blocks are full or on their way to empty. A chain of single blocks does not remember which way a block \
               goes: it treats the few in between as a fair coin. By workload:"
            .to_owned(),
        table,
    }
}

/// Mean valid pages.
fn valid(shares: &[f64]) -> f64 {
    debug_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6, "shares of all blocks sum to 1");
    shares.iter().enumerate().map(|(valid, share)| valid as f64 * share).sum()
}
