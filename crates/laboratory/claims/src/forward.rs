//! FF1 to FF8: lives that are fast-forwarded, against the same lives simulated in full (dissertation 000, ch. 3).

mod equal;
mod figures;
mod lives;
mod tenth;

use wane_aging::accuracy;
use wane_aging::skew_normal::SkewNormal;

use super::{Claim, Class, Finding, Matter, Others, Reading, Runs, Verdict, mean};
use wane_results::{FastForwarded, RunResult};
use wane_scenario::Scenario;

pub(super) use figures::pictures;
use lives::{CML, DEVS, FRAMEWORK, Life, Model, OLTP, TRACES, amber, femu, ftlsim};

/// What the paper compares.
const MODELS: [Model; 3] = [FRAMEWORK, DEVS, CML];

/// Other readings of "not always updated before each prediction stage".
const REFITS: [(&str, Model); 2] = [
    ("DEVS is fitted before each prediction", DEVS.refitted(1)),
    ("DEVS keeps its first coefficients", DEVS.refitted(0)),
];

const BY_ID: &str = "blocks are matched by their ids";

/// Denominators of the scales: of FTLSim, and of its row at another scale.
const SCALE: u32 = 256;
const LARGER: u32 = 64;

/// Acceleration factors of figure 12.
const FACTORS: [&str; 4] = ["1.5", "2", "3", "4"];

/// What the paper says of all these claims, and how they are read here.
const PUBLISHED: &str = "traces that are not in the repository, looped, \"modified to fit the logical capacity\"; the accuracy is \"the mean difference in erase \
                         counts across all blocks relative to their real values from the full simulation\"; the baselines are described in words";
const READ: &str = "stand-ins of the traces; an iteration is a drive write; blocks are matched by their rank of wear: the figures show distributions, \
                    and by id two seeds of the full run are further apart than the paper's forecasts are from theirs; DEVS and CML are reconstructions, \
                    so only their order can be compared fairly: DEVS chooses a curve for each block once and fits it again after every second \
                    prediction";

const FTLSIM: &str = "FTLSim of 1 GiB (1/256), PWL(50 %), E 500, after one sequential and two random drive writes";

fn claim(
    class: Class,
    texts: [&'static str; 4],
    configuration: &'static str,
    scenarios: fn() -> Vec<Scenario>,
    evaluate: fn(&Runs) -> Finding,
    others: Others,
) -> Claim {
    Claim::new(class, texts, [configuration, PUBLISHED, READ], scenarios, evaluate, others)
}

pub(super) fn claims() -> Vec<Claim> {
    let mut claims = vec![ff1(), equal::claim(), ff3()];
    claims.extend([ff4(), ff5(), ff6(), ff7(), ff8(), tenth::claim()]);
    claims
}

/// Erase counts by block id.
fn erases(result: &RunResult) -> Vec<u32> {
    result.blocks.iter().map(|block| block.erase_count).collect()
}

/// How close one run's wear is to another's.
#[derive(Clone, Copy)]
struct Closeness {
    by_id: f64,
    by_rank: f64,
    /// Wasserstein-1 distance over the mean of the full run.
    distance: f64,
}

impl Runs {
    /// How close the wear of `of` is to that of `full`.
    fn closeness(&self, of: &RunResult, full: &RunResult) -> Closeness {
        let (of, full) = (erases(of), erases(full));
        debug_assert_eq!(of.len(), full.len(), "both runs are of one drive's blocks");
        let mean = mean(full.iter().map(|count| f64::from(*count)));
        Closeness {
            by_id: accuracy::id_matched(&of, &full).unwrap_or(f64::NAN),
            by_rank: accuracy::rank_matched(&of, &full).unwrap_or(f64::NAN),
            distance: accuracy::wasserstein(&of, &full).unwrap_or(f64::NAN) / mean,
        }
    }

    /// How close a fast-forwarded life comes to the same life in full.
    fn forwarded(&self, life: &Life, factor: &str, model: Model) -> Closeness {
        self.closeness(self.get(&life.forwarded(factor, model)), self.get(&life.full()))
    }

    /// How close the full run with another seed comes to the life in full.
    fn by_another_seed(&self, life: &Life) -> Closeness {
        self.closeness(self.get(&life.another_seed()), self.get(&life.full()))
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}", 100.0 * share)
}

/// One of a closeness' figures.
type Figure = fn(&Closeness) -> f64;

const RANKED: Figure = |found| found.by_rank;
const MATCHED: Figure = |found| found.by_id;

/// Accuracy of each model on each life, as shares.
fn accuracies<const N: usize>(
    runs: &Runs,
    lives: &[Life],
    factor: &str,
    models: [Model; N],
    of: Figure,
) -> [Vec<f64>; N] {
    models.map(|model| lives.iter().map(|life| of(&runs.forwarded(life, factor, model))).collect())
}

fn choice(what: &str, (ours, agrees): (String, bool)) -> Reading {
    Reading { what: what.to_owned(), matter: Matter::Choice, ours, verdict: Verdict::of(agrees) }
}

/// Results of a claim that compares the models, by id and with other fits of DEVS. `judge` has the models' accuracies.
fn other_models(
    runs: &Runs,
    lives: &[Life],
    factor: &str,
    judge: fn(&[Vec<f64>; 3]) -> (String, bool),
) -> Vec<Reading> {
    let by_id = choice(BY_ID, judge(&accuracies(runs, lives, factor, MODELS, MATCHED)));
    let refitted = REFITS
        .map(|(what, devs)| choice(what, judge(&accuracies(runs, lives, factor, [FRAMEWORK, devs, CML], RANKED))));
    std::iter::once(by_id).chain(refitted).collect()
}

/// A row for each life: the models' accuracy, and figures that show what it is worth.
fn table(runs: &Runs, lives: &[Life], factor: &str) -> String {
    let mut table = "| workload | FF, by rank | by id | Wasserstein-1 | DEVS, by rank | by id | CML, by rank | by id | every block the mean | second seed, \
                     by rank | by id | Wasserstein-1 |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for life in lives {
        let [framework, devs, cml] = MODELS.map(|model| runs.forwarded(life, factor, model));
        let (seed, null) = (runs.by_another_seed(life), accuracy::of_the_mean(&erases(runs.get(&life.full()))));
        let cells = [
            framework.by_rank,
            framework.by_id,
            framework.distance,
            devs.by_rank,
            devs.by_id,
            cml.by_rank,
            cml.by_id,
            null.unwrap_or(f64::NAN),
            seed.by_rank,
            seed.by_id,
            seed.distance,
        ];
        let cells = cells.map(|share| format!("{:.1} %", 100.0 * share)).join(" | ");
        table += &format!("| {} | {cells} |\n", life.name);
    }
    table
}

/// What the tables show in addition to the claims.
const NULLS: &str = "\"Every block the mean\" and a second seed of the full run show what an accuracy is worth: two seeds differ by id, \
                     but not by rank. Wasserstein-1 is relative to the mean";

fn in_full(lives: &[Life], factors: &[&str], models: &[Model]) -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = lives.iter().map(Life::full).collect();
    for factor in factors {
        scenarios.extend(lives.iter().flat_map(|life| models.iter().map(|model| life.forwarded(factor, *model))));
    }
    scenarios
}

fn with_nulls(lives: &[Life], factors: &[&str], models: &[Model]) -> Vec<Scenario> {
    let mut scenarios = in_full(lives, factors, models);
    scenarios.extend(lives.iter().map(Life::another_seed));
    scenarios
}

/// The lives with DEVS fitted otherwise.
fn refitted(lives: &[Life], factor: &str) -> Vec<Scenario> {
    REFITS.iter().flat_map(|(_, devs)| lives.iter().map(|life| life.forwarded(factor, *devs))).collect()
}

fn to_failure(scale: u32) -> Vec<Life> {
    TRACES.iter().map(|trace| ftlsim(trace, scale, "end-of-life = true\ndrive-writes = 20000")).collect()
}

fn ff1() -> Claim {
    claim(
        Class::Order,
        [
            "FF1",
            "000 Fig. 8",
            "until failure, AF 1.5: 91 to 97 %, mean 94; VDI 97, YCSB-A 91",
            "mean at least 88 %, each at least 85 %",
        ],
        "FTLSim of 1 GiB (1/256), PWL(50 %), E 500, to the end of life after one sequential and two random drive writes; factor 1.5; the row at \
         another scale: 4 GiB (1/64)",
        || with_nulls(&to_failure(SCALE), &["1.5"], &MODELS),
        |runs| ff1_of(runs, SCALE),
        Others::Run {
            scenarios: || in_full(&to_failure(LARGER), &["1.5"], &[FRAMEWORK]),
            evaluate: |runs| {
                let judged = |scale, of| {
                    let lives = to_failure(scale);
                    let [found] = accuracies(runs, &lives, "1.5", [FRAMEWORK], of);
                    ff1_judged(&lives, &found)
                };
                let scale = Reading { matter: Matter::Scale, ..choice("4 GiB (1/64)", judged(LARGER, RANKED)) };
                vec![scale, choice(BY_ID, judged(SCALE, MATCHED))]
            },
        },
    )
}

fn ff1_judged(lives: &[Life], found: &[f64]) -> (String, bool) {
    let (mut least, mut most) = ((f64::INFINITY, ""), (f64::NEG_INFINITY, ""));
    for (life, found) in lives.iter().zip(found) {
        least = if *found < least.0 { (*found, life.trace) } else { least };
        most = if *found > most.0 { (*found, life.trace) } else { most };
    }
    let all = mean(found.iter().copied());
    let words =
        format!("{} ({}) to {} % ({}), mean {}", percent(least.0), least.1, percent(most.0), most.1, percent(all));
    (words, all >= 0.88 && least.0 >= 0.85)
}

fn ff1_of(runs: &Runs, scale: u32) -> Finding {
    let lives = to_failure(scale);
    let [framework] = accuracies(runs, &lives, "1.5", [FRAMEWORK], RANKED);
    let (ours, agrees) = ff1_judged(&lives, &framework);
    let lived = |scenario: &Scenario| runs.get(scenario).summary.end.at_drive_writes;
    let gains = lives.iter().map(|life| (lived(&life.forwarded("1.5", FRAMEWORK)) / lived(&life.full()) - 1.0).abs());
    let note = format!(
        "the lives are off by {:.1} % on average. A likely cause of the low ones, not examined: relative errors weigh blocks that are hardly worn as \
         much as any, and PWL leaves some under small footprints. {NULLS}",
        100.0 * mean(gains)
    );
    Finding { ours, verdict: Verdict::of(agrees), note, table: table(runs, &lives, "1.5") }
}

/// "60 to 93 %".
fn range(found: &[f64]) -> String {
    let (least, most) =
        found.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), next| (next.min(least), next.max(most)));
    format!("{} to {} %", percent(least), percent(most))
}

fn on_amber() -> Vec<Life> {
    TRACES.iter().map(|trace| amber(trace)).collect()
}

fn ff3() -> Claim {
    claim(
        Class::Order,
        [
            "FF3",
            "000 Fig. 9",
            "600 iterations, AF 2: FF 88 (WBS) to 99 % (DAP-PS), mean 93; DEVS 83 (DTRS) to 99, mean 91; CML 40 (RAD-AS) to 60 (WBS), mean 49",
            "means of FF and DEVS within 5 points, no CML above 65 %",
        ],
        "Amber's shape at 512 MiB (1/512): 512 pages a block, 284 of 256 GiB, variance-based wear leveling, E 100,000; 600 drive writes, factor 2",
        || with_nulls(&on_amber(), &["2"], &MODELS),
        |runs| {
            let lives = on_amber();
            let (ours, agrees) = ff3_judged(&accuracies(runs, &lives, "2", MODELS, RANKED));
            Finding {
                ours,
                verdict: Verdict::of(agrees),
                note: format!(
                    "by id a block with a few real erases and hundreds of predicted ones counts with that ratio, and the full run of another seed \
                     does no better: at its threshold of 0.7 the leveler does not touch blocks with data at rest, and chance says which these are. \
                     {NULLS}. By workload:"
                ),
                table: table(runs, &lives, "2"),
            }
        },
        Others::Run {
            scenarios: || refitted(&on_amber(), "2"),
            evaluate: |runs| other_models(runs, &on_amber(), "2", ff3_judged),
        },
    )
}

fn ff3_judged(found: &[Vec<f64>; 3]) -> (String, bool) {
    let [framework, devs, cml] = found.each_ref().map(|found| mean(found.iter().copied()));
    let worst = found[2].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ranges = found.each_ref().map(|found| range(found));
    let words = format!(
        "FF {}, mean {}; DEVS {}, mean {}; CML {}, mean {}",
        ranges[0],
        percent(framework),
        ranges[1],
        percent(devs),
        ranges[2],
        percent(cml)
    );
    (words, (framework - devs).abs() <= 0.05 && worst <= 0.65)
}

fn unleveled() -> Vec<Life> {
    ["dtrs", "wbs"].map(|trace| ftlsim(trace, SCALE, "drive-writes = 600").unleveled().undying()).into()
}

fn ff4() -> Claim {
    claim(
        Class::Mechanism,
        [
            "FF4",
            "000 Fig. 10",
            "without wear leveling, 600 iterations of DTRS and WBS: DEVS about as FF",
            "within 3 points",
        ],
        "FTLSim of 1 GiB (1/256) without wear leveling and without end, 600 drive writes; factor 2",
        || with_nulls(&unleveled(), &["2"], &MODELS),
        |runs| {
            let lives = unleveled();
            let (ours, agrees) = ff4_judged(&accuracies(runs, &lives, "2", MODELS, RANKED));
            Finding { ours, verdict: Verdict::of(agrees), note: NULLS.to_owned(), table: table(runs, &lives, "2") }
        },
        Others::Run {
            scenarios: || refitted(&unleveled(), "2"),
            evaluate: |runs| other_models(runs, &unleveled(), "2", ff4_judged),
        },
    )
}

fn ff4_judged([framework, devs, _]: &[Vec<f64>; 3]) -> (String, bool) {
    let off = framework.iter().zip(devs).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
    let words = unleveled().into_iter().zip(framework.iter().zip(devs)).map(|(life, (framework, devs))| {
        format!("{} FF {} %, DEVS {}", life.trace, percent(*framework), percent(*devs))
    });
    (words.collect::<Vec<_>>().join("; "), off <= 0.03)
}

fn on_femu() -> Vec<Life> {
    OLTP.map(femu).into()
}

fn ff5() -> Claim {
    claim(
        Class::Order,
        [
            "FF5",
            "000 Fig. 11",
            "FEMU, 50 iterations, AF 2: TPCC 93, 79, 18 %, TPCE 91, 60, 11 % (FF, DEVS, CML)",
            "FF at least 85 %, CML at most 40 %",
        ],
        "the FEMU drive, 16 GiB in superblocks of 64 blocks, greedy; 50 drive writes, factor 2; two stand-ins of ours for OLTP: 8 KiB requests, \
         84 % of them to 20 % of the data (TPC-C), 60 % to 40 % (TPC-E)",
        || with_nulls(&on_femu(), &["2"], &MODELS),
        |runs| {
            let lives = on_femu();
            let (ours, agrees) = ff5_judged(&accuracies(runs, &lives, "2", MODELS, RANKED));
            Finding {
                ours,
                verdict: Verdict::of(agrees),
                note: "CML as reconstructed loses what was predicted and keeps what was simulated, half of all at this factor. The paper's 11 to 18 % \
                       is less than that half; no forecast that is projected into a running drive can come out so low. The workloads are our own, \
                       with TPC-C's skew after Leutenegger and Dias (SIGMOD 1993)"
                    .to_owned(),
                table: table(runs, &lives, "2"),
            }
        },
        Others::Run {
            scenarios: Vec::new,
            evaluate: |runs| vec![choice(BY_ID, ff5_judged(&accuracies(runs, &on_femu(), "2", MODELS, MATCHED)))],
        },
    )
}

fn ff5_judged(found: &[Vec<f64>; 3]) -> (String, bool) {
    let words = on_femu().into_iter().enumerate().map(|(place, life)| {
        let cells = found.each_ref().map(|found| percent(found[place])).join(", ");
        format!("{} {cells} %", life.trace)
    });
    let agrees = found[0].iter().all(|found| *found >= 0.85) && found[2].iter().all(|found| *found <= 0.4);
    (words.collect::<Vec<_>>().join("; "), agrees)
}

fn of_factors() -> Vec<Life> {
    ["lm-tbe", "msn-befs"].map(|trace| ftlsim(trace, SCALE, "drive-writes = 100").undying()).into()
}

/// The paper's accuracies for each factor: LM-TBE, MSN-BEFS.
const FIGURE_12: [[f64; 4]; 2] = [[0.91, 0.87, 0.68, 0.56], [0.98, 0.97, 0.84, 0.77]];

fn by_factor(runs: &Runs, life: &Life, of: Figure) -> [f64; 4] {
    FACTORS.map(|factor| of(&runs.forwarded(life, factor, FRAMEWORK)))
}

fn ff6_judged(runs: &Runs, of: Figure) -> (String, bool) {
    let lives = of_factors();
    let found: Vec<[f64; 4]> = lives.iter().map(|life| by_factor(runs, life, of)).collect();
    let words =
        lives.iter().zip(&found).map(|(life, found)| format!("{} {} %", life.trace, found.map(percent).join(", ")));
    let falls = |found: &[f64; 4]| {
        found.is_sorted_by(|one, other| one >= other) && found[0] - found[1] <= 0.06 && found[1] - found[2] >= 0.05
    };
    (words.collect::<Vec<_>>().join("; "), found.iter().all(falls))
}

fn ff6() -> Claim {
    claim(
        Class::Mechanism,
        [
            "FF6",
            "000 Fig. 12",
            "100 iterations, AF 1.5, 2, 3, 4: LM-TBE 91, 87, 68, 56 %; MSN-BEFS 98, 97, 84, 77 %",
            "falling; by at most 6 points from 1.5 to 2, by at least 5 from 2 to 3",
        ],
        "FTLSim of 1 GiB (1/256), PWL(50 %) of E 500, without end, 100 drive writes; above 2 all periods are predicted at once",
        || with_nulls(&of_factors(), &FACTORS, &[FRAMEWORK]),
        |runs| {
            let lives = of_factors();
            let (ours, agrees) = ff6_judged(runs, RANKED);
            let mut table = "| workload | factor | by rank | by id | Wasserstein-1 | simulated periods | second seed, by id |\n|---|---:|---:|---:|---:|---:|---:|\n"
                .to_owned();
            for life in &lives {
                let seed = runs.by_another_seed(life).by_id;
                for factor in FACTORS {
                    let found = runs.forwarded(life, factor, FRAMEWORK);
                    let [by_rank, by_id, distance, seed] = [found.by_rank, found.by_id, found.distance, seed]
                        .map(|share| format!("{:.1} %", 100.0 * share));
                    let periods = told(runs, life, factor).map_or(0, |told| told.periods_simulated);
                    table += &format!(
                        "| {} | {factor} | {by_rank} | {by_id} | {distance} | {periods} | {seed} |\n",
                        life.trace
                    );
                }
            }
            Finding {
                ours,
                verdict: Verdict::of(agrees),
                note: "how to predict above a factor of 2 is not published. Here it is y1 + n (y1 - y0), which carries the random error of one period \
                       over n periods. A stand-in stays the same all its life, so a longer prediction misses no change of the workload, as it may in \
                       a trace. The paper's text calls MSN-BEFS RAD-BEFS once. By factor:"
                    .to_owned(),
                table,
            }
        },
        Others::Run { scenarios: Vec::new, evaluate: |runs| vec![choice(BY_ID, ff6_judged(runs, MATCHED))] },
    )
}

fn told<'a>(runs: &'a Runs, life: &Life, factor: &str) -> Option<&'a FastForwarded> {
    runs.get(&life.forwarded(factor, FRAMEWORK)).summary.fast_forward.as_ref()
}

fn ff7() -> Claim {
    claim(
        Class::Arithmetic,
        ["FF7", "000 §3", "AF 2: the time of simulation halves", "51 of 100 iterations are simulated"],
        "the lives of FF6 at factor 2",
        || in_full(&of_factors(), &["2"], &[FRAMEWORK]),
        |runs| {
            let lives = of_factors();
            let periods = lives.iter().filter_map(|life| told(runs, life, "2").map(|told| told.periods_simulated));
            let periods: Vec<u64> = periods.collect();
            let pages = |scenario: &Scenario| runs.get(scenario).summary.flash.pages_programmed.total as f64;
            let shares = lives.iter().map(|life| pages(&life.forwarded("2", FRAMEWORK)) / pages(&life.full()));
            let shares = shares.map(|share| format!("{:.3}", share)).collect::<Vec<_>>().join(" and ");
            Finding {
                ours: format!("{} of 100 periods", periods.first().copied().unwrap_or_default()),
                verdict: Verdict::of(periods.iter().all(|periods| *periods == 51)),
                note: format!(
                    "of the flash pages of the full runs, {shares} were programmed ({})",
                    lives.iter().map(|life| life.trace).collect::<Vec<_>>().join(", ")
                ),
                table: String::new(),
            }
        },
        Others::None("arithmetic"),
    )
}

fn of_figure_7() -> Life {
    ftlsim("wbs", SCALE, "drive-writes = 62").undying()
}

/// The skew-normal distribution of the paper's figure 7.
const FIGURE_7: SkewNormal = SkewNormal { shape: 0.75, location: 310.0, scale: 15.1 };

fn ff8() -> Claim {
    claim(
        Class::Order,
        [
            "FF8",
            "000 Fig. 7",
            "erase counts under WBS: skew-normal, shape 0.75, location 310, scale 15.1; p > 0.1 (Kolmogorov-Smirnov, 100,000 samples)",
            "p above 0.05 for the likeliest skew-normal distribution of our histogram",
        ],
        "FTLSim of 1 GiB (1/256), PWL(50 %), under WBS until the mean block has about the figure's erases (62 drive writes)",
        || vec![of_figure_7().full()],
        |runs| {
            let counts = erases(runs.get(&of_figure_7().full()));
            let values: Vec<f64> = counts.iter().map(|count| f64::from(*count)).collect();
            let (fit, distance, chance) = match SkewNormal::fit(&values) {
                Ok(fit) => {
                    let (distance, chance) = fit.kolmogorov_smirnov(&counts).unwrap_or((1.0, 0.0));
                    (fit, distance, chance)
                }
                Err(_) => (FIGURE_7, 1.0, 0.0),
            };
            let of_blocks = mean(values);
            Finding {
                ours: format!(
                    "shape {:.2}, location {:.0}, scale {:.1}; p = {chance:.2}",
                    fit.shape, fit.location, fit.scale
                ),
                verdict: Verdict::of(chance > 0.05),
                note: format!(
                    "{} blocks with a mean of {of_blocks:.0} erases, deviation {:.1}; the figure's distribution has {:.0} and {:.1}. Largest difference \
                     of the distributions {distance:.3}. Ours has a tail to the left, likely blocks with data that WBS does not write, which PWL moves only \
                     once the drive is half worn. The paper does not say how old the drive of the figure is",
                    counts.len(),
                    fit.deviation(),
                    FIGURE_7.mean(),
                    FIGURE_7.deviation()
                ),
                table: String::new(),
            }
        },
        Others::None("only the age of the drive is open, and the mean of the figure fixes it"),
    )
}
