//! WL1 to WL10: wear leveling on synthetic workloads (dissertation 000, ch. 4.3).

use super::{Claim, Class, Finding, FullSize, Matter, Others, Reading, Runs, Verdict, gain, observe, scenario};
use wane_aging::accuracy::wasserstein;
use wane_results::{EraseCounts, Row, RunResult};
use wane_scenario::Scenario;

const NONE: &str = "{ policy = 'none' }";
const PWL: &str = "{ policy = 'pwl', threshold = '50 %' }";
const OBP_TIGHT: &str = "{ policy = 'obp', threshold = 4, protection = 8 }";
const OBP_LOOSE: &str = "{ policy = 'obp', threshold = 8, protection = 64 }";
const OBP_LONG: &str = "{ policy = 'obp', threshold = 5, protection = 1000 }";
const DP_TIGHT: &str = "{ policy = 'dual-pool', threshold = 5 }";
const DP_LOOSE: &str = "{ policy = 'dual-pool', threshold = 10 }";

/// The logical capacity that the claims run at, in GiB: 1/128 of the paper's.
const GIB: u32 = 2;

/// The paper's drive.
const FULL: Synthetic = Synthetic::of(256);
const FULL_SIZE: &str = "256 GiB";

/// Other scales that the claims are run at, in GiB.
const OTHER_GIB: [u32; 2] = [1, 4];

/// Pages of a block, unless a reading says otherwise.
const PAGES: u32 = 256;

/// Pages of a block in smaller calibration runs.
const FEWER_PAGES: u32 = 64;

/// The FTLSim drive of `gib` logical GiB in blocks of `pages`, which never retire, under a synthetic workload.
#[derive(Clone, Copy)]
struct Synthetic {
    gib: u32,
    pages: u32,
}

impl Synthetic {
    const fn of(gib: u32) -> Self {
        Self { gib, pages: PAGES }
    }

    fn scenario(self, r: f64, leveler: &str, footprint: &str, drive_writes: u32) -> Scenario {
        let Self { gib, pages } = self;
        let text = format!(
            "[drive]\npreset = 'ftlsim-256g'\nlogical-capacity = '{} MiB'\npages-per-block = {pages}\n[ftl]\nretire = 'never'\n\
             wear-leveling = {leveler}\n[workload]\npattern = 'hot-cold'\nr = {r}\nh = {h}\nfootprint = '{footprint}'\n[until]\n\
             drive-writes = {drive_writes}\n",
            gib * 1024 * pages / PAGES,
            h = ((1.0 - r) * 10.0).round() / 10.0
        );
        let policy = leveler.trim_start_matches("{ policy = ").trim_end_matches(" }").replace('\'', "");
        let blocks = if pages == PAGES { String::new() } else { format!(", {pages} pages a block") };
        scenario(&format!("{policy}, r {r}, {footprint} footprint, {gib} GiB{blocks}"), &text)
    }

    fn hot(self, leveler: &str) -> Scenario {
        self.scenario(0.9, leveler, "100 %", 100)
    }

    fn warm(self, leveler: &str) -> Scenario {
        self.scenario(0.8, leveler, "100 %", 100)
    }

    fn uniform(self) -> Scenario {
        self.scenario(0.5, NONE, "100 %", 100)
    }

    fn small(self, leveler: &str) -> Scenario {
        self.scenario(0.9, leveler, "5 %", 60)
    }
}

/// The row at a whole number of drive writes.
fn at(timeline: &[Row], drive_writes: u32) -> Option<&Row> {
    timeline.iter().find(|row| row.drive_writes >= f64::from(drive_writes) - 1e-9)
}

/// Wear leveling's write amplification within each drive write.
fn leveling_by_drive_write(result: &RunResult) -> Vec<f64> {
    let whole = result.summary.host.drive_writes.floor() as u32;
    let rows = (0..=whole).filter_map(|n| at(&result.timeline, n)).collect::<Vec<_>>();
    rows.windows(2)
        .map(|pair| {
            debug_assert!(pair[0].drive_writes < pair[1].drive_writes, "rows of a timeline follow each other");
            let counted = pair[1].counters - pair[0].counters;
            counted.programmed_wear_leveling as f64 / counted.programmed_host as f64
        })
        .collect()
}

fn leveling(result: &RunResult) -> f64 {
    result.summary.write_amplification.wear_leveling.unwrap_or(0.0)
}

fn last_leveling(result: &RunResult) -> f64 {
    result.summary.write_amplification.last_drive_write.wear_leveling.unwrap_or(0.0)
}

fn finding(ours: String, agrees: bool, note: &str) -> Finding {
    Finding { ours, verdict: Verdict::of(agrees), note: note.to_owned(), table: String::new() }
}

/// The drives at the other scales.
fn scales() -> impl Iterator<Item = Synthetic> {
    OTHER_GIB.into_iter().map(Synthetic::of)
}

/// Results of a claim at the other scales.
fn at_scales(runs: &Runs, evaluate: fn(&Runs, Synthetic) -> Finding) -> Vec<Reading> {
    scales().map(|drive| reading(format!("{} GiB", drive.gib), Matter::Scale, evaluate(runs, drive))).collect()
}

fn reading(what: String, matter: Matter, finding: Finding) -> Reading {
    Reading { what, matter, ours: finding.ours, verdict: finding.verdict }
}

const DRIVE: Synthetic = Synthetic::of(GIB);

/// A claim on synthetic workloads.
const fn claim(
    texts: [&'static str; 4],
    readings: [&'static str; 3],
    scenarios: fn() -> Vec<Scenario>,
    evaluate: fn(&Runs) -> Finding,
    others: Others,
) -> Claim {
    Claim::new(Class::Mechanism, texts, readings, scenarios, evaluate, others)
}

pub(super) fn claims() -> Vec<Claim> {
    let mut claims = progressive();
    claims.push(thresholds_claim());
    claims.extend(spread());
    claims.extend(skew());
    for claim in &mut claims {
        claim.full_size = full_size(claim.id);
    }
    claims
}

/// The claim on the paper's own drive.
fn full_size(id: &str) -> Option<FullSize> {
    let full = |scenarios: fn() -> Vec<Scenario>, evaluate: fn(&Runs) -> Finding| {
        Some(FullSize { what: FULL_SIZE, scenarios, evaluate })
    };
    match id {
        "WL1" => full(|| vec![FULL.hot(PWL)], |runs| wl1(runs, FULL)),
        "WL2" => full(|| vec![FULL.hot(PWL)], |runs| wl2(runs, FULL)),
        "WL3" => full(|| vec![FULL.hot(PWL)], |runs| wl3(runs, FULL)),
        "WL4" => full(|| threshold_runs(FULL), |runs| wl4(runs, FULL)),
        "WL5" => full(|| obp_runs(FULL), |runs| wl5(runs, FULL)),
        "WL6" => full(|| anomaly_runs(FULL), |runs| wl6(runs, FULL)),
        "WL7" => full(Vec::new, |runs| wl7(runs, FULL)),
        "WL8" => full(|| warm_runs(FULL), |runs| wl8(runs, FULL)),
        "WL9" => full(|| vec![FULL.uniform()], |runs| wl9(runs, FULL)),
        "WL10" => full(|| small_runs(FULL), |runs| wl10(runs, FULL)),
        _ => None,
    }
}

/// What the paper says of figures 17 and 18, and leaves open.
const FIGURE_18: &str = "256 GiB, 100 drive writes of r/h 0.9/0.1 after one sequential and three random drive writes. It is not stated whether \
                         worn-out blocks retire, nor the endurance in PWL's formula";

/// WL1 to WL3.
fn progressive() -> Vec<Claim> {
    vec![
        claim(
            [
                "WL1",
                "000 Fig. 18",
                "up to 5.4 pages moved by wear leveling a host page",
                "5.2 to 5.6, the highest of any drive write",
            ],
            [
                "PWL(50 %), r/h 0.9/0.1, 100 drive writes; 2 GiB (1/128), 256 pages a block",
                FIGURE_18,
                "wear leveling's pages a host page, the host's own not counted; an endurance of 500 erases, at which blocks do not \
                 retire: with retirement the drive ends before drive write 100",
            ],
            || vec![DRIVE.hot(PWL)],
            |runs| wl1(runs, DRIVE),
            Others::Run {
                scenarios: || {
                    let fewer = Synthetic { pages: FEWER_PAGES, ..DRIVE };
                    scales().chain([fewer]).map(|drive| drive.hot(PWL)).collect()
                },
                evaluate: |runs| {
                    let fewer = wl1(runs, Synthetic { pages: FEWER_PAGES, ..DRIVE });
                    let fewer = reading("64 pages a block".to_owned(), Matter::Choice, fewer);
                    at_scales(runs, wl1).into_iter().chain([fewer]).collect()
                },
            },
        ),
        claim(
            [
                "WL2",
                "000 Fig. 18",
                "dormant until about drive write 80",
                "first drive write with more than 0.05 is 83 to 85; mean erase count at the start 13.3 +- 0.3",
            ],
            ["as WL1", FIGURE_18, "as WL1; active from 0.05 pages a host page on"],
            || vec![DRIVE.hot(PWL)],
            |runs| wl2(runs, DRIVE),
            Others::Run {
                scenarios: || scales().map(|drive| drive.hot(PWL)).collect(),
                evaluate: |runs| at_scales(runs, wl2),
            },
        ),
        claim(
            [
                "WL3",
                "000 §4.3.2",
                "256 GiB of user data cause 1.35 TiB of wear-leveling writes",
                "1.30 to 1.40 TiB: WL1's 5.2 to 5.6 pages a host page, x 256 / 1024",
            ],
            [
                "as WL1, whose measured number is scaled to 256 GiB of user data",
                "derived from WL1's number in the text",
                "WL1's number in other words: it agrees where WL1 does",
            ],
            || vec![DRIVE.hot(PWL)],
            |runs| wl3(runs, DRIVE),
            Others::Run {
                scenarios: || scales().map(|drive| drive.hot(PWL)).collect(),
                evaluate: |runs| at_scales(runs, wl3),
            },
        ),
    ]
}

/// WL4.
fn thresholds_claim() -> Claim {
    claim(
        ["WL4", "000 §4.3.2", "1.2x and 1.4x", "gains of 0.7 to 1.5 and 0.9 to 2.2"],
        [
            "OBP(8, 64) to (4, 8) and DP(10) to (5), as WL1",
            "\"will amplify the amount of data written\" by these factors; it is not stated when, nor whether they are ratios or gains. \
             OBP's protection changes with its threshold",
            "the gain of wear leveling's amplification in the last drive write",
        ],
        || threshold_runs(DRIVE),
        |runs| wl4(runs, DRIVE),
        Others::Run {
            scenarios: || scales().flat_map(threshold_runs).collect(),
            evaluate: |runs| {
                let whole = thresholds(runs, DRIVE, leveling, 0.0);
                let ratio = thresholds(runs, DRIVE, last_leveling, 1.0);
                let choices = [("gain over the whole run", whole), ("ratio in the last drive write", ratio)];
                let choices = choices.map(|(what, finding)| reading(what.to_owned(), Matter::Choice, finding));
                choices.into_iter().chain(at_scales(runs, wl4)).collect()
            },
        },
    )
}

/// WL5 to WL7.
fn spread() -> Vec<Claim> {
    vec![
        claim(
            ["WL5", "000 Fig. 17a", "7 % and 3 % of the blocks above 1200 erases", "2 % to 10 % of the blocks"],
            [
                "OBP(4, 8) and OBP(8, 64), as WL1",
                "the share right of the plateau of a cumulative curve after 25 TiB, which stands at 1,200 erases",
                "as it says: blocks of 1,200 erases and more",
            ],
            || obp_runs(DRIVE),
            |runs| wl5(runs, DRIVE),
            Others::Run {
                scenarios: || scales().flat_map(obp_runs).collect(),
                evaluate: |runs| {
                    let apart = beyond(runs, DRIVE, |median| 1.3 * median);
                    let apart = reading("above 1.3 x the median".to_owned(), Matter::Choice, apart);
                    at_scales(runs, wl5).into_iter().chain([apart]).collect()
                },
            },
        ),
        claim(
            [
                "WL6",
                "000 Fig. 17a",
                "every wear leveler spreads erase counts wider than none",
                "sd of OBP and DP above sd of none",
            ],
            [
                "as WL4, against no wear leveling",
                "wider cumulative curves of OBP and DP; PWL's has a dip",
                "the deviation of the erase counts of all blocks after 100 drive writes",
            ],
            || anomaly_runs(DRIVE),
            |runs| wl6(runs, DRIVE),
            Others::Run {
                scenarios: || scales().flat_map(anomaly_runs).collect(),
                evaluate: |runs| at_scales(runs, wl6),
            },
        ),
        claim(
            [
                "WL7",
                "000 Fig. 17b",
                "the oldest block enters wear leveling again soon after its protection",
                "median interval below 2 x the protection, 2,000 erases",
            ],
            [
                "OBP(5, 1000), as WL1; erases of the drive between two moves into the block that is the most worn at the end",
                "a histogram of intervals, whose unit is not stated",
                "erases of the whole drive, which the protection counts: the smaller the drive, the longer it is against a round of all blocks",
            ],
            Vec::new,
            |runs| wl7(runs, DRIVE),
            Others::Run {
                scenarios: Vec::new,
                evaluate: |runs| {
                    let scales = [1, 8].map(Synthetic::of);
                    scales.map(|drive| reading(format!("{} GiB", drive.gib), Matter::Scale, wl7(runs, drive))).into()
                },
            },
        ),
    ]
}

/// WL8 to WL10.
fn skew() -> Vec<Claim> {
    vec![
        claim(
            [
                "WL8",
                "000 Fig. 19",
                "DP bimodal with an older cold pool; PWL like none; OBP's mean much higher",
                "mean erase count of DP's cold pool above its hot pool's; PWL's curve within 5 % of none's mean of none's, OBP's beyond 10 %",
            ],
            [
                "r/h 0.8/0.2, 100 drive writes, otherwise as WL1: DP(5), PWL(50 %), OBP(4, 8), none",
                "cumulative curves, and a histogram of the pools; \"PWL(25), PWL(50), and PWL(75), however, show a similar result with NoWL\", while of \
                 OBP(4, 8) \"the average erase count is much higher\"",
                "the pools' means, and the distance of two curves: the mean difference of their quantiles (Wasserstein-1)",
            ],
            || warm_runs(DRIVE),
            |runs| wl8(runs, DRIVE),
            Others::Run {
                scenarios: || scales().chain([Synthetic { pages: FEWER_PAGES, ..DRIVE }]).flat_map(warm_runs).collect(),
                evaluate: |runs| {
                    let fewer = wl8(runs, Synthetic { pages: FEWER_PAGES, ..DRIVE });
                    let fewer = reading("64 pages a block".to_owned(), Matter::Choice, fewer);
                    let moved = leveling(runs.get(&DRIVE.warm(PWL)));
                    let hardly = finding(format!("PWL {moved:.3}"), moved < 0.05, "");
                    let hardly =
                        reading("PWL moves less than 0.05 pages a host page".to_owned(), Matter::Choice, hardly);
                    at_scales(runs, wl8).into_iter().chain([fewer, hardly]).collect()
                },
            },
        ),
        claim(
            [
                "WL9",
                "000 Fig. 20",
                "wear leveling gains next to nothing",
                "sd at most 2 % of the mean without wear leveling",
            ],
            [
                "r/h 0.5/0.5, 100 drive writes, no wear leveling, otherwise as WL1",
                "cumulative curves that nearly coincide",
                "what is left to gain: the deviation of the erase counts without wear leveling",
            ],
            || vec![DRIVE.uniform()],
            |runs| wl9(runs, DRIVE),
            Others::Run {
                scenarios: || scales().map(Synthetic::uniform).collect(),
                evaluate: |runs| at_scales(runs, wl9),
            },
        ),
        claim(
            [
                "WL10",
                "000 Fig. 21",
                "none is bimodal, wear levelers nearly vertical, at the cost of amplification",
                "none: p5 below a tenth of the median; sd of OBP and DP below a tenth of none's; their amplification above 0.5",
            ],
            [
                "5 % footprint, 60 drive writes, r/h 0.9/0.1, otherwise as WL1: none, OBP(4, 8), DP(5), PWL(50 %)",
                "cumulative curves without numbers; the number of drive writes is not stated",
                "two modes: the 5th percentile far below the median; nearly vertical: a tenth of the deviation",
            ],
            || small_runs(DRIVE),
            |runs| wl10(runs, DRIVE),
            Others::Run {
                scenarios: || scales().flat_map(small_runs).collect(),
                evaluate: |runs| at_scales(runs, wl10),
            },
        ),
    ]
}

fn threshold_runs(drive: Synthetic) -> Vec<Scenario> {
    [OBP_LOOSE, OBP_TIGHT, DP_LOOSE, DP_TIGHT].map(|leveler| drive.hot(leveler)).into()
}

fn obp_runs(drive: Synthetic) -> Vec<Scenario> {
    vec![drive.hot(OBP_TIGHT), drive.hot(OBP_LOOSE)]
}

fn anomaly_runs(drive: Synthetic) -> Vec<Scenario> {
    threshold_runs(drive).into_iter().chain([drive.hot(NONE)]).collect()
}

fn warm_runs(drive: Synthetic) -> Vec<Scenario> {
    [NONE, PWL, OBP_TIGHT].map(|leveler| drive.warm(leveler)).into()
}

fn small_runs(drive: Synthetic) -> Vec<Scenario> {
    [NONE, OBP_TIGHT, DP_TIGHT, PWL].map(|leveler| drive.small(leveler)).into()
}

/// Wear leveling's write amplification in the drive write where it is highest, as WL1 and WL3 define it.
fn most_leveling(runs: &Runs, drive: Synthetic) -> f64 {
    leveling_by_drive_write(runs.get(&drive.hot(PWL))).into_iter().fold(0.0, f64::max)
}

fn wl1(runs: &Runs, drive: Synthetic) -> Finding {
    let most = most_leveling(runs, drive);
    finding(format!("{most:.2}"), (5.2..=5.6).contains(&most), "")
}

fn wl3(runs: &Runs, drive: Synthetic) -> Finding {
    let tib = most_leveling(runs, drive) * 256.0 / 1024.0;
    finding(format!("{tib:.2} TiB"), (1.3..=1.4).contains(&tib), "")
}

fn wl2(runs: &Runs, drive: Synthetic) -> Finding {
    let result = runs.get(&drive.hot(PWL));
    let first =
        leveling_by_drive_write(result).iter().position(|amplification| *amplification > 0.05).map_or(0, |n| n + 1);
    let start = result.summary.wear.erase_count_mean_at_start;
    let agrees = (83..=85).contains(&first) && (start - 13.3).abs() <= 0.3;
    finding(format!("drive write {first}; mean {start:.2} at the start"), agrees, "")
}

fn wl4(runs: &Runs, drive: Synthetic) -> Finding {
    let of = |leveler| last_leveling(runs.get(&drive.hot(leveler)));
    let note = format!(
        "amplification in the last drive write: OBP {:.2} to {:.2}, DP {:.2} to {:.2}",
        of(OBP_LOOSE),
        of(OBP_TIGHT),
        of(DP_LOOSE),
        of(DP_TIGHT)
    );
    Finding { note, ..thresholds(runs, drive, last_leveling, 0.0) }
}

/// Cost of a lower threshold: the gain in what `leveling` measures, plus `one`, which is 1 for a ratio and 0 for a gain.
fn thresholds(runs: &Runs, drive: Synthetic, leveling: fn(&RunResult) -> f64, one: f64) -> Finding {
    let of = |leveler| leveling(runs.get(&drive.hot(leveler)));
    let (obp, dp) = (one + gain(of(OBP_TIGHT), of(OBP_LOOSE)), one + gain(of(DP_TIGHT), of(DP_LOOSE)));
    let agrees = (0.7..=1.5).contains(&obp) && (0.9..=2.2).contains(&dp);
    finding(format!("{obp:.2} and {dp:.2}"), agrees, "")
}

fn wl5(runs: &Runs, drive: Synthetic) -> Finding {
    beyond(runs, drive, |_| 1200.0)
}

/// Shares of the blocks above a bound that may depend on the median.
fn beyond(runs: &Runs, drive: Synthetic, bound: fn(f64) -> f64) -> Finding {
    let share = |leveler| {
        let result = runs.get(&drive.hot(leveler));
        let bound = bound(f64::from(result.summary.wear.erase_count.p50));
        let above = result.blocks.iter().filter(|block| f64::from(block.erase_count) > bound).count();
        100.0 * above as f64 / result.blocks.len() as f64
    };
    let (tight, loose) = (share(OBP_TIGHT), share(OBP_LOOSE));
    let agrees = [tight, loose].iter().all(|share| (2.0..=10.0).contains(share));
    let medians = [OBP_TIGHT, OBP_LOOSE].map(|leveler| runs.get(&drive.hot(leveler)).summary.wear.erase_count);
    let [tighter, looser] = medians;
    let note = format!(
        "OBP(4, 8) ends with a median of {} and at most {} erases, OBP(8, 64) with {} and {}",
        tighter.p50, tighter.max, looser.p50, looser.max
    );
    finding(format!("{tight:.1} % and {loose:.1} %"), agrees, &note)
}

fn wl6(runs: &Runs, drive: Synthetic) -> Finding {
    let sd = |leveler| runs.get(&drive.hot(leveler)).summary.wear.erase_count.sd;
    let levelers = [OBP_TIGHT, OBP_LOOSE, DP_TIGHT, DP_LOOSE].map(sd);
    let none = sd(NONE);
    let ours = format!("sd {none:.1} without, {}", levelers.map(|sd| format!("{sd:.1}")).join(", "));
    finding(ours, levelers.iter().all(|sd| *sd > none), "in the order OBP(4, 8), OBP(8, 64), DP(5), DP(10)")
}

fn wl7(runs: &Runs, drive: Synthetic) -> Finding {
    let scenario = runs.seeded(&drive.hot(OBP_LONG));
    let mut intervals = observe::intervals_of_oldest(&scenario, runs.stop());
    intervals.sort_unstable();
    let count = intervals.len();
    let median = intervals.get(count / 2).copied().unwrap_or(u64::MAX);
    let shorter = intervals.iter().filter(|interval| **interval < 2000).count() as f64 / count.max(1) as f64;
    let note = format!(
        "data move into the most worn block again and again while others wait, at every scale; {} physical blocks make a round",
        scenario.device.geometry.blocks()
    );
    let ours = format!("median {median} erases, {:.0} % of {count} intervals below 2,000", 100.0 * shorter);
    finding(ours, median < 2000, &note)
}

fn wl8(runs: &Runs, drive: Synthetic) -> Finding {
    let pools = observe::pools_of_dual_pool(&runs.seeded(&drive.warm(DP_TIGHT)), runs.stop());
    let erases = |leveler| runs.get(&drive.warm(leveler)).summary.wear.erase_count.mean;
    let counts =
        |leveler| -> Vec<u32> { runs.get(&drive.warm(leveler)).blocks.iter().map(|block| block.erase_count).collect() };
    let apart = |leveler| wasserstein(&counts(leveler), &counts(NONE)).unwrap_or(f64::NAN) / erases(NONE);
    let (pwl, obp) = (apart(PWL), apart(OBP_TIGHT));
    let agrees = pools.cold_mean > pools.hot_mean && pwl <= 0.05 && obp >= 0.1;
    let note = format!(
        "mean erase count: OBP(4, 8) {:.0}, PWL {:.0}, none {:.0}. At 256 pages a block the drive passes its rated 500 erases within the 100 \
         drive writes. There PWL's threshold falls below the average, and it begins to move data: {:.2} pages a host page in the last drive \
         write; at 64, where garbage collection costs less, it does not",
        erases(OBP_TIGHT),
        erases(PWL),
        erases(NONE),
        last_leveling(runs.get(&drive.warm(PWL))),
    );
    let ours = format!(
        "cold pool {:.1}, hot pool {:.1}; from none's curve PWL's is {:.1} % apart, OBP's {:.1} %",
        pools.cold_mean,
        pools.hot_mean,
        100.0 * pwl,
        100.0 * obp
    );
    finding(ours, agrees, &note)
}

fn wl9(runs: &Runs, drive: Synthetic) -> Finding {
    let wear = runs.get(&drive.uniform()).summary.wear.erase_count;
    let share = 100.0 * wear.sd / wear.mean;
    finding(format!("sd {share:.2} % of the mean"), share <= 2.0, "")
}

fn wl10(runs: &Runs, drive: Synthetic) -> Finding {
    let of = |leveler| runs.get(&drive.small(leveler));
    let none = of(NONE).summary.wear.erase_count;
    let (obp, dp, pwl) = (of(OBP_TIGHT), of(DP_TIGHT), of(PWL));
    let counts: Vec<u32> = of(NONE).blocks.iter().map(|block| block.erase_count).collect();
    let p5 = EraseCounts::percentile(&counts, 5);
    let bimodal = p5 * 10 < none.p50;
    let tight = [obp, dp].iter().all(|run| run.summary.wear.erase_count.sd * 10.0 < none.sd && leveling(run) > 0.5);
    let sd = |run: &RunResult| run.summary.wear.erase_count.sd;
    let ours = format!(
        "none p5 {}, median {}, sd {:.0}; OBP sd {:.1}, amplification {:.2}; DP {:.1}, {:.2}; PWL {:.1}, {:.2}",
        p5,
        none.p50,
        none.sd,
        sd(obp),
        leveling(obp),
        sd(dp),
        leveling(dp),
        sd(pwl),
        leveling(pwl)
    );
    finding(ours, bimodal && tight, "")
}
