//! How much of a life can be skipped: a goal of our own, over the eleven stand-ins with and without wear leveling.

use super::lives::{Life, TRACES, ftlsim};
use super::{SCALE, erases, percent};
use crate::{Claim, Class, Finding, Matter, Others, Reading, Runs, Verdict, mean};
use wane_aging::accuracy;
use wane_lab::predict::predict;
use wane_scenario::Scenario;

/// The forecaster: ranks of wear over ten drive writes of observation, in periods of a tenth.
const FORECASTER: &str =
    "[fast-forward]\nadaptive = true\nmodel = 'ranks'\nperiod = 0.1\nwindow = 100\nfactor = 4\nfactor-most = 40\n";

/// Limits that a forecast must keep.
const PAGES_MOST: f64 = 0.1;
const LIFE_OFF_MOST: f64 = 0.03;
const P99_OFF_MOST: f64 = 0.05;
const SEEDS_APART: f64 = 3.0;
const SHARE_OF_MEAN: f64 = 0.05;

/// How many times smaller the drive of the same kind is that is simulated in full instead.
const SMALLER: u32 = 12;

fn lives() -> Vec<Life> {
    lives_at(SCALE)
}

fn lives_at(scale: u32) -> Vec<Life> {
    let of = |trace| {
        let life = ftlsim(trace, scale, "end-of-life = true\ndrive-writes = 20000");
        [life.clone().unleveled().named("NoWL"), life.named("PWL")]
    };
    TRACES.into_iter().flat_map(of).collect()
}

/// Lives of drives with fewer blocks, in the order of [`lives`]. They cannot predict single blocks.
fn smaller() -> Vec<Life> {
    lives_at(SCALE * SMALLER).into_iter().map(|life| life.also(&format!("1/{}", SCALE * SMALLER))).collect()
}

/// Lives that the forecaster was not tuned on.
fn unseen() -> Vec<Life> {
    lives().into_iter().map(|life| life.seeded(2)).collect()
}

fn runs_of(lives: &[Life]) -> Vec<Scenario> {
    lives.iter().flat_map(|life| [life.full(), life.another_seed(), skipped(life)]).collect()
}

/// Other seeds, and smaller drives.
fn others() -> Vec<Scenario> {
    runs_of(&unseen()).into_iter().chain(smaller().iter().map(Life::full)).collect()
}

fn on_others(runs: &Runs) -> Vec<Reading> {
    let lives = unseen();
    let missing: Vec<&str> = lives
        .iter()
        .filter(|life| !Reached::of(runs, life).misses().is_empty())
        .map(|life| life.name.as_str())
        .collect();
    let on_another_seed = Reading {
        matter: Matter::Seed,
        what: "seed 2, which the forecaster was not tuned on".to_owned(),
        ours: format!("{}; these miss: {}", met(&lives, missing.len()), missing.join("; ")),
        verdict: Verdict::of(missing.is_empty()),
    };
    vec![on_another_seed, on_smaller(runs), by_theory(runs)]
}

/// Every life as predicted by a smaller drive.
fn on_smaller(runs: &Runs) -> Reading {
    let lives = lives();
    let reached = |(life, small): (&Life, &Life)| Reached::by(runs, life, runs.get(&small.full()));
    let all: Vec<Reached> = lives.iter().zip(&smaller()).map(reached).collect();
    let missing: Vec<String> = lives
        .iter()
        .zip(&all)
        .filter(|(_, reached)| !reached.misses().is_empty())
        .map(|(life, reached)| format!("{} ({})", life.name, reached.misses().join(", ")))
        .collect();
    Reading {
        matter: Matter::Scale,
        what: format!(
            "scaled geometry: a drive of 1/{SMALLER} of the blocks in full, which predicts no block by its id"
        ),
        ours: format!("{}; these miss: {}", met(&lives, missing.len()), missing.join("; ")),
        verdict: Verdict::of(missing.is_empty()),
    }
}

/// The lives without wear leveling as predicted by the mean-field model, which simulates no page.
fn by_theory(runs: &Runs) -> Reading {
    let off = |life: &Life| {
        let full = life.full();
        let told = predict(&full).ok()?.drive_writes?;
        Some((life.trace, told / runs.get(&full).summary.end.at_drive_writes - 1.0))
    };
    let all: Vec<(&str, f64)> = lives().iter().step_by(2).filter_map(off).collect();
    let missing = all.iter().filter(|(_, off)| off.abs() > LIFE_OFF_MOST).count();
    let told: Vec<String> = all.iter().map(|(trace, off)| format!("{trace} {:+.1} %", 100.0 * off)).collect();
    Reading {
        matter: Matter::Choice,
        what: "theory alone, without wear leveling: the life, no page simulated".to_owned(),
        ours: format!("{} of {} within 3 %: {}", all.len() - missing, all.len(), told.join("; ")),
        verdict: Verdict::of(missing == 0),
    }
}

/// Number of lives whose forecast keeps all limits, in words.
fn met(lives: &[Life], missing: usize) -> String {
    let met = lives.len() - missing;
    format!("{met} of {} ({} %)", lives.len(), percent(met as f64 / lives.len() as f64))
}

fn skipped(life: &Life) -> Scenario {
    life.with("ranks, adaptive", FORECASTER)
}

pub(super) fn claim() -> Claim {
    Claim::new(
        Class::Order,
        [
            "FF-tenth",
            "none: a goal of this project",
            "no paper's: a tenth of the flash pages predicts the life",
            "at most 10 % of the pages, observation included; life within 3 %, p99 within 5 %, Wasserstein-1 within 3 times that of two seeds or 5 % of \
             the mean: for all 22",
        ],
        [
            "FTLSim of 1 GiB (1/256), E 500, to the end of life under the eleven stand-ins, without wear leveling and with PWL(50 %)",
            "above a factor of 2 the published line through two observations loses accuracy; adaptive acceleration is future work (000, §3.5.1)",
            "ranks of wear in place of blocks, adaptive from a factor of 4 to one of 40, periods of a tenth of a drive write, a window of ten drive \
             writes",
        ],
        || runs_of(&lives()),
        evaluate,
        Others::Run { scenarios: others, evaluate: on_others },
    )
}

/// Results of a forecast, as shares.
struct Reached {
    pages: f64,
    life: f64,
    p99: f64,
    distance: f64,
    allowed: f64,
    life_of_seed: f64,
}

impl Reached {
    fn of(runs: &Runs, life: &Life) -> Self {
        Self::by(runs, life, runs.get(&skipped(life)))
    }

    /// Compares a run that stands in for a life with the full life.
    fn by(runs: &Runs, life: &Life, skipped: &wane_results::RunResult) -> Self {
        let [full, seed] = [life.full(), life.another_seed()].map(|scenario| runs.get(&scenario));
        let lived = |of: &wane_results::RunResult| of.summary.end.at_drive_writes;
        let pages = |of: &wane_results::RunResult| {
            let in_vain = of.summary.fast_forward.as_ref().map_or(0, |told| told.pages_programmed_in_vain);
            (of.summary.flash.pages_programmed.total + in_vain) as f64
        };
        let worn = erases(full);
        debug_assert_eq!(erases(seed).len(), worn.len(), "both seeds wear the same drive");
        let of_blocks = mean(worn.iter().map(|count| f64::from(*count)));
        let apart = |of| accuracy::wasserstein(&erases(of), &worn).unwrap_or(f64::NAN) / of_blocks;
        let p99 = |of: &wane_results::RunResult| f64::from(of.summary.wear.erase_count.p99);
        Self {
            pages: pages(skipped) / pages(full),
            life: lived(skipped) / lived(full) - 1.0,
            p99: p99(skipped) / p99(full) - 1.0,
            distance: apart(skipped),
            allowed: (SEEDS_APART * apart(seed)).max(SHARE_OF_MEAN),
            life_of_seed: lived(seed) / lived(full) - 1.0,
        }
    }

    /// The limits that it misses; empty if it keeps all.
    fn misses(&self) -> Vec<&'static str> {
        let asked = [
            ("pages", self.pages <= PAGES_MOST),
            ("life", self.life.abs() <= LIFE_OFF_MOST),
            ("p99", self.p99.abs() <= P99_OFF_MOST),
            ("distribution", self.distance <= self.allowed),
        ];
        asked.into_iter().filter(|(_, is_met)| !is_met).map(|(what, _)| what).collect()
    }
}

fn evaluate(runs: &Runs) -> Finding {
    let lives = lives();
    let mut table = "| life | pages | life off by | a second seed | p99 off by | Wasserstein-1 | allowed | misses |\n|---|---:|---:|---:|---:|---:|---:|---|\n"
        .to_owned();
    let mut missing = Vec::new();
    for life in &lives {
        let reached = Reached::of(runs, life);
        let Reached { pages, life: off, p99, distance, allowed, life_of_seed } = &reached;
        let misses = reached.misses().join(", ");
        let [pages, distance, allowed] = [pages, distance, allowed].map(|share| format!("{:.1} %", 100.0 * share));
        let [off, seed, p99] = [off, life_of_seed, p99].map(|share| format!("{:+.1} %", 100.0 * share));
        table += &format!("| {} | {pages} | {off} | {seed} | {p99} | {distance} | {allowed} | {misses} |\n", life.name);
        if !misses.is_empty() {
            missing.push(life.name.clone());
        }
    }
    Finding {
        ours: met(&lives, missing.len()),
        verdict: Verdict::of(missing.is_empty()),
        note: "the forecaster was chosen among about ten on these very lives, so other seeds are the fairer test. The lives that miss have a small \
               footprint or few drive writes. Without wear leveling such a drive lives for about 25 drive writes. The first ones, in which its data \
               settle, and the last ones, in which blocks leave service and the amplification climbs, are simulated. A likely cause, not examined: \
               with PWL, data that are never written move when the drive is half worn, again and again as the mean grows. Each move changes where \
               data lie, which no projection of wear does, so it is simulated or comes too late. By life:"
            .to_owned(),
        table,
    }
}
