//! FF1 to FF8: lives that are fast-forwarded, against the same lives simulated in full (dissertation 000, ch. 3).

mod figures;
mod lives;
mod tenth;

use wane_aging::accuracy;
use wane_aging::skew_normal::SkewNormal;

use super::{Claim, Class, Finding, Matter, Others, Reading, Runs, Verdict, mean};
use wane_results::{FastForwarded, RunResult};
use wane_scenario::Scenario;

pub(super) use figures::pictures;
use lives::{Life, OLTP, TRACES, amber, femu, ftlsim};

/// Models: the framework's, and those it is compared with.
const FRAMEWORK: &str = "two-point";
const DEVS: &str = "devs";
const CML: &str = "cml";
const MODELS: [&str; 3] = [FRAMEWORK, DEVS, CML];

/// Denominators of the scales: of FTLSim, and of its row at another scale.
const SCALE: u32 = 256;
const LARGER: u32 = 64;

/// Acceleration factors of figure 12.
const FACTORS: [&str; 4] = ["1.5", "2", "3", "4"];

/// What the paper says of all these claims, and how they are read here.
const PUBLISHED: &str = "traces that are not public, looped, \"modified to fit the logical capacity\"; the accuracy is \"the mean difference in erase \
                         counts across all blocks relative to their real values from the full simulation\"; the baselines are described in words";
const READ: &str = "stand-ins of the traces; an iteration is a drive write; blocks are matched by their ids; DEVS and CML are reconstructions, so \
                    only their order can be compared fairly";

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
    let mut claims = vec![ff1(), ff2(), ff3()];
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
    summed: f64,
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
            summed: accuracy::summed(&of, &full).unwrap_or(f64::NAN),
            distance: accuracy::wasserstein(&of, &full).unwrap_or(f64::NAN) / mean,
        }
    }

    /// How close a fast-forwarded life comes to the same life in full.
    fn forwarded(&self, life: &Life, factor: &str, model: &str) -> Closeness {
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

/// Accuracy by id of each model on each life, as shares.
fn accuracies(runs: &Runs, lives: &[Life], factor: &str) -> [Vec<f64>; 3] {
    MODELS.map(|model| lives.iter().map(|life| runs.forwarded(life, factor, model).by_id).collect())
}

/// A row for each life: the models' accuracy by id, and figures that show what it is worth.
fn table(runs: &Runs, lives: &[Life], factor: &str) -> String {
    let mut table = "| workload | FF, by id | by rank | summed | Wasserstein-1 | DEVS | CML | every block the mean | second seed, by id | by rank | Wasserstein-1 \
                     |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for life in lives {
        let [framework, devs, cml] = MODELS.map(|model| runs.forwarded(life, factor, model));
        let (seed, null) = (runs.by_another_seed(life), accuracy::of_the_mean(&erases(runs.get(&life.full()))));
        let cells = [
            framework.by_id,
            framework.by_rank,
            framework.summed,
            framework.distance,
            devs.by_id,
            cml.by_id,
            null.unwrap_or(f64::NAN),
            seed.by_id,
            seed.by_rank,
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

fn in_full(lives: &[Life], factors: &[&str], models: &[&str]) -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = lives.iter().map(Life::full).collect();
    for factor in factors {
        scenarios.extend(lives.iter().flat_map(|life| models.iter().map(|model| life.forwarded(factor, model))));
    }
    scenarios
}

fn with_nulls(lives: &[Life], factors: &[&str], models: &[&str]) -> Vec<Scenario> {
    let mut scenarios = in_full(lives, factors, models);
    scenarios.extend(lives.iter().map(Life::another_seed));
    scenarios
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
                let lives = to_failure(LARGER);
                let found: Vec<f64> = lives.iter().map(|life| runs.forwarded(life, "1.5", FRAMEWORK).by_id).collect();
                let (ours, agrees) = ff1_judged(&lives, &found);
                let verdict = Verdict::of(agrees);
                let scale = Reading { what: "4 GiB (1/64)".to_owned(), matter: Matter::Scale, ours, verdict };
                let lives = to_failure(SCALE);
                let found: Vec<f64> = lives.iter().map(|life| runs.forwarded(life, "1.5", FRAMEWORK).by_rank).collect();
                let (ours, agrees) = ff1_judged(&lives, &found);
                let what = "blocks are matched by rank".to_owned();
                vec![scale, Reading { what, matter: Matter::Choice, ours, verdict: Verdict::of(agrees) }]
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
    let [framework, ..] = accuracies(runs, &lives, "1.5");
    let (ours, agrees) = ff1_judged(&lives, &framework);
    let lived = |scenario: &Scenario| runs.get(scenario).summary.end.at_drive_writes;
    let gains = lives.iter().map(|life| (lived(&life.forwarded("1.5", FRAMEWORK)) / lived(&life.full()) - 1.0).abs());
    let note = format!(
        "the lives are off by {:.1} % on average. Accuracies by rank are hardly higher, so the low ones do not come from a permutation of blocks. A \
         likely cause, not examined: relative errors weigh blocks that are hardly worn as much as any, and PWL leaves some under small footprints. \
         {NULLS}",
        100.0 * mean(gains)
    );
    Finding { ours, verdict: Verdict::of(agrees), note, table: table(runs, &lives, "1.5") }
}

fn ff2() -> Claim {
    claim(
        Class::Order,
        [
            "FF2",
            "000 Fig. 8",
            "the same: DEVS 60 to 93 %, CML 48 to 84 % (the text also has 83)",
            "FF above DEVS above CML on average",
        ],
        FTLSIM,
        || in_full(&to_failure(SCALE), &["1.5"], &MODELS),
        |runs| {
            let found = accuracies(runs, &to_failure(SCALE), "1.5");
            let means = found.each_ref().map(|found| mean(found.iter().copied()));
            let [framework, devs, cml] = means;
            Finding {
                ours: format!("means: FF {} %, DEVS {}, CML {}", percent(framework), percent(devs), percent(cml)),
                verdict: Verdict::of(framework > devs && devs > cml),
                note: format!(
                    "DEVS from {}, CML from {}. A likely cause, not examined: a drive that dies is worn to its rated erases whichever model predicted \
                     it, and what a baseline lost comes back as a longer life, so that all three end close together",
                    range(&found[1]),
                    range(&found[2])
                ),
                table: String::new(),
            }
        },
        Others::None("the baselines are reconstructions, and another reconstruction is another baseline"),
    )
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
            let found = accuracies(runs, &lives, "2");
            let means = found.each_ref().map(|found| mean(found.iter().copied()));
            let worst = found[2].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let [framework, devs, cml] = found.each_ref().map(|found| range(found));
            Finding {
                ours: format!(
                    "FF {framework}, mean {}; DEVS {devs}, mean {}; CML {cml}, mean {}",
                    percent(means[0]),
                    percent(means[1]),
                    percent(means[2])
                ),
                verdict: Verdict::of((means[0] - means[1]).abs() <= 0.05 && worst <= 0.65),
                note: format!(
                    "a block with a few real erases and hundreds of predicted ones counts with that ratio: at its threshold of 0.7 the leveler \
                     does not touch blocks with data at rest. DEVS keeps a parabola, once chosen, for 600 drive writes. {NULLS}. By workload:"
                ),
                table: table(runs, &lives, "2"),
            }
        },
        Others::None("the platform's wear leveler leaves no choice but its threshold, which is SimpleSSD's"),
    )
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
            let [framework, devs, _] = accuracies(runs, &lives, "2");
            let off = framework.iter().zip(&devs).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
            let words = lives.iter().zip(framework.iter().zip(&devs)).map(|(life, (framework, devs))| {
                format!("{} FF {} %, DEVS {}", life.trace, percent(*framework), percent(*devs))
            });
            Finding {
                ours: words.collect::<Vec<_>>().join("; "),
                verdict: Verdict::of(off <= 0.03),
                note: "a likely cause, not examined: DEVS keeps the coefficients that it chose over the first four drive writes, when the workload \
                       has hardly begun to sort hot from cold"
                    .to_owned(),
                table: table(runs, &lives, "2"),
            }
        },
        Others::None("the baselines are reconstructions"),
    )
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
            let found = accuracies(runs, &lives, "2");
            let words = lives.iter().enumerate().map(|(place, life)| {
                let cells = found.each_ref().map(|found| percent(found[place])).join(", ");
                format!("{} {cells} %", life.trace)
            });
            let agrees = found[0].iter().all(|found| *found >= 0.85) && found[2].iter().all(|found| *found <= 0.4);
            Finding {
                ours: words.collect::<Vec<_>>().join("; "),
                verdict: Verdict::of(agrees),
                note: "CML as reconstructed loses what was predicted and keeps what was simulated, half of all at this factor. The paper's 11 to 18 % \
                       is less than that half; no forecast that is projected into a running drive can come out so low. The workloads are our own, \
                       with TPC-C's skew after Leutenegger and Dias (SIGMOD 1993)"
                    .to_owned(),
                table: table(runs, &lives, "2"),
            }
        },
        Others::None("the stand-ins are ours, and class C compares order alone"),
    )
}

fn of_factors() -> Vec<Life> {
    ["lm-tbe", "msn-befs"].map(|trace| ftlsim(trace, SCALE, "drive-writes = 100").undying()).into()
}

/// The paper's accuracies for each factor: LM-TBE, MSN-BEFS.
const FIGURE_12: [[f64; 4]; 2] = [[0.91, 0.87, 0.68, 0.56], [0.98, 0.97, 0.84, 0.77]];

fn by_factor(runs: &Runs, life: &Life, of: fn(&Closeness) -> f64) -> [f64; 4] {
    FACTORS.map(|factor| of(&runs.forwarded(life, factor, FRAMEWORK)))
}

fn ff6_judged(found: &[f64; 4]) -> bool {
    found.is_sorted_by(|one, other| one >= other) && found[0] - found[1] <= 0.06 && found[1] - found[2] >= 0.05
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
            let found = lives.iter().map(|life| by_factor(runs, life, |found| found.by_id)).collect::<Vec<_>>();
            let words = lives.iter().zip(&found);
            let words = words.map(|(life, found)| format!("{} {} %", life.trace, found.map(percent).join(", ")));
            let mut table = "| workload | factor | by id | by rank | Wasserstein-1 | simulated periods | second seed, by id |\n|---|---:|---:|---:|---:|---:|---:|\n"
                .to_owned();
            for life in &lives {
                let seed = runs.by_another_seed(life).by_id;
                for factor in FACTORS {
                    let found = runs.forwarded(life, factor, FRAMEWORK);
                    let [by_id, by_rank, distance, seed] = [found.by_id, found.by_rank, found.distance, seed]
                        .map(|share| format!("{:.1} %", 100.0 * share));
                    let periods = told(runs, life, factor).map_or(0, |told| told.periods_simulated);
                    table += &format!(
                        "| {} | {factor} | {by_id} | {by_rank} | {distance} | {periods} | {seed} |\n",
                        life.trace
                    );
                }
            }
            Finding {
                ours: words.collect::<Vec<_>>().join("; "),
                verdict: Verdict::of(found.iter().all(ff6_judged)),
                note: "how to predict above a factor of 2 is not published. Here it is y1 + n (y1 - y0), which carries the random error of one period \
                       over n periods. A stand-in stays the same all its life, so a longer prediction misses no change of the workload, as it may in \
                       a trace. The paper's text calls MSN-BEFS RAD-BEFS once. By factor:"
                    .to_owned(),
                table,
            }
        },
        Others::Run {
            scenarios: Vec::new,
            evaluate: |runs| {
                let found: Vec<[f64; 4]> =
                    of_factors().iter().map(|life| by_factor(runs, life, |found| found.by_rank)).collect();
                let words = of_factors()
                    .iter()
                    .zip(&found)
                    .map(|(life, found)| format!("{} {} %", life.trace, found.map(percent).join(", ")))
                    .collect::<Vec<_>>();
                let verdict = Verdict::of(found.iter().all(ff6_judged));
                vec![Reading {
                    what: "blocks are matched by rank".to_owned(),
                    matter: Matter::Choice,
                    ours: words.join("; "),
                    verdict,
                }]
            },
        },
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
