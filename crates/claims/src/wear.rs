//! WL1 to WL10: wear leveling on synthetic workloads (dissertation 000, ch. 4.3).

use super::{Claim, Class, Finding, Runs, Verdict, gain, observe, scenario};
use wane_results::{Row, RunResult};
use wane_scenario::Scenario;

const NONE: &str = "{ policy = 'none' }";
const PWL: &str = "{ policy = 'pwl', threshold = '50 %' }";
const OBP_TIGHT: &str = "{ policy = 'obp', threshold = 4, protection = 8 }";
const OBP_LOOSE: &str = "{ policy = 'obp', threshold = 8, protection = 64 }";
const OBP_LONG: &str = "{ policy = 'obp', threshold = 5, protection = 1000 }";
const DP_TIGHT: &str = "{ policy = 'dual-pool', threshold = 5 }";
const DP_LOOSE: &str = "{ policy = 'dual-pool', threshold = 10 }";

/// The FTLSim drive at 1/128: 2048 logical blocks of 256 pages, which never retire.
fn synthetic(r: f64, leveler: &str, footprint: &str, drive_writes: u32) -> Scenario {
    scaled(2, r, leveler, footprint, drive_writes)
}

/// The same with another logical capacity.
fn scaled(gib: u32, r: f64, leveler: &str, footprint: &str, drive_writes: u32) -> Scenario {
    let text = format!(
        "[drive]\npreset = 'ftlsim-256g'\nlogical-capacity = '{gib} GiB'\n[ftl]\nretire = 'never'\nwear-leveling = {leveler}\n\
         [workload]\npattern = 'hot-cold'\nr = {r}\nh = {h}\nfootprint = '{footprint}'\n[until]\ndrive-writes = {drive_writes}\n",
        h = ((1.0 - r) * 10.0).round() / 10.0
    );
    let policy = leveler.trim_start_matches("{ policy = ").trim_end_matches(" }").replace('\'', "");
    scenario(&format!("{policy}, r {r}, {footprint} footprint, {gib} GiB"), &text)
}

fn hot(leveler: &str) -> Scenario {
    synthetic(0.9, leveler, "100 %", 100)
}

fn warm(leveler: &str) -> Scenario {
    synthetic(0.8, leveler, "100 %", 100)
}

fn small(leveler: &str) -> Scenario {
    synthetic(0.9, leveler, "5 %", 60)
}

/// WL8's PWL with the 64 pages a block of smaller calibration runs.
fn small_blocks() -> Scenario {
    let text = "[drive]\npreset = 'ftlsim-256g'\nlogical-capacity = '512 MiB'\npages-per-block = 64\n[ftl]\nretire = \
                'never'\nwear-leveling = { policy = 'pwl', threshold = '50 %' }\n[workload]\npattern = 'hot-cold'\nr = 0.8\nh = \
                0.2\n[until]\ndrive-writes = 100\n";
    scenario("pwl, threshold = 50 %, r 0.8, 64 pages a block", text)
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

pub(super) fn claims() -> Vec<Claim> {
    let mut claims = progressive();
    claims.extend(spread());
    claims.extend(skew());
    claims
}

/// WL1 to WL4.
fn progressive() -> Vec<Claim> {
    vec![
        Claim {
            id: "WL1",
            class: Class::Mechanism,
            source: "000 Fig. 18",
            configuration: "PWL(50 %), r/h 0.9/0.1, 100 drive writes, E 500, no retirement; 2 GiB (1/128), 256 pages a block",
            paper: "up to 5.4 pages moved by wear leveling a host page",
            tolerance: "5.2 to 5.6, the highest of any drive write",
            scenarios: || vec![hot(PWL)],
            evaluate: wl1,
        },
        Claim {
            id: "WL2",
            class: Class::Mechanism,
            source: "000 Fig. 18",
            configuration: "as WL1",
            paper: "dormant until about drive write 80",
            tolerance: "first drive write with more than 0.05 is 83 to 85; mean erase count at the start 13.3 +- 0.3",
            scenarios: || vec![hot(PWL)],
            evaluate: wl2,
        },
        Claim {
            id: "WL3",
            class: Class::Mechanism,
            source: "000 §4.3.2",
            configuration: "as WL1, whose measured number is scaled to 256 GiB of user data",
            paper: "256 GiB of user data cause 1.35 TiB of wear-leveling writes",
            tolerance: "1.30 to 1.40 TiB: WL1's 5.2 to 5.6 pages a host page, x 256 / 1024",
            scenarios: || vec![hot(PWL)],
            evaluate: wl3,
        },
        Claim {
            id: "WL4",
            class: Class::Mechanism,
            source: "000 §4.3.2",
            configuration: "OBP(8, 64) to (4, 8) and DP(10) to (5), as WL1; gain of wear leveling's amplification in the last drive write",
            paper: "1.2x and 1.4x",
            tolerance: "gains of 0.7 to 1.5 and 0.9 to 2.2",
            scenarios: || vec![hot(OBP_LOOSE), hot(OBP_TIGHT), hot(DP_LOOSE), hot(DP_TIGHT)],
            evaluate: wl4,
        },
    ]
}

/// WL5 to WL7.
fn spread() -> Vec<Claim> {
    vec![
        Claim {
            id: "WL5",
            class: Class::Mechanism,
            source: "000 Fig. 17a",
            configuration: "OBP(4, 8) and OBP(8, 64), as WL1",
            paper: "7 % and 3 % of the blocks above 1200 erases",
            tolerance: "2 % to 10 % of the blocks above 1.3 x the median",
            scenarios: || vec![hot(OBP_TIGHT), hot(OBP_LOOSE)],
            evaluate: wl5,
        },
        Claim {
            id: "WL6",
            class: Class::Mechanism,
            source: "000 Fig. 17a",
            configuration: "as WL4, against no wear leveling",
            paper: "every wear leveler spreads erase counts wider than none",
            tolerance: "sd of OBP and DP above sd of none",
            scenarios: || vec![hot(NONE), hot(OBP_TIGHT), hot(OBP_LOOSE), hot(DP_TIGHT), hot(DP_LOOSE)],
            evaluate: wl6,
        },
        Claim {
            id: "WL7",
            class: Class::Mechanism,
            source: "000 Fig. 17b",
            configuration: "OBP(5, 1000), as WL1 but on 1 GiB (1/256), where the protection is nearly a round of the 1,144 blocks; erases of \
                            the drive between two moves into the block that is the most worn at the end",
            paper: "the oldest block enters wear leveling again soon after its protection",
            tolerance: "median interval below 2 x the protection",
            scenarios: Vec::new,
            evaluate: |_| wl7(),
        },
    ]
}

/// WL8 to WL10.
fn skew() -> Vec<Claim> {
    vec![
        Claim {
            id: "WL8",
            class: Class::Mechanism,
            source: "000 Fig. 19",
            configuration: "r/h 0.8/0.2, 100 drive writes, else as WL1: DP(5), PWL(50 %), OBP(4, 8), none",
            paper: "DP bimodal with an older cold pool; PWL like none; OBP's mean much higher",
            tolerance: "mean erase count of DP's cold pool above its hot pool's; PWL's amplification below 0.05",
            scenarios: || vec![warm(NONE), warm(PWL), warm(OBP_TIGHT), small_blocks()],
            evaluate: wl8,
        },
        Claim {
            id: "WL9",
            class: Class::Mechanism,
            source: "000 Fig. 20",
            configuration: "r/h 0.5/0.5, 100 drive writes, no wear leveling, else as WL1",
            paper: "wear leveling gains next to nothing",
            tolerance: "sd at most 2 % of the mean without wear leveling",
            scenarios: || vec![synthetic(0.5, NONE, "100 %", 100)],
            evaluate: wl9,
        },
        Claim {
            id: "WL10",
            class: Class::Mechanism,
            source: "000 Fig. 21",
            configuration: "5 % footprint, 60 drive writes, r/h 0.9/0.1, else as WL1: none, OBP(4, 8), DP(5), PWL(50 %)",
            paper: "none is bimodal, wear levelers nearly vertical, at the cost of amplification",
            tolerance: "none: p5 below a tenth of the median; sd of OBP and DP below a tenth of none's; their amplification above 0.5",
            scenarios: || vec![small(NONE), small(OBP_TIGHT), small(DP_TIGHT), small(PWL)],
            evaluate: wl10,
        },
    ]
}

/// Pages that wear leveling moves a host page in the drive write in which it moves most, as WL1 and WL3 mean it.
fn most_leveling(runs: &Runs) -> f64 {
    leveling_by_drive_write(runs.get(&hot(PWL))).into_iter().fold(0.0, f64::max)
}

fn wl1(runs: &Runs) -> Finding {
    let most = most_leveling(runs);
    finding(format!("{most:.2}"), (5.2..=5.6).contains(&most), "")
}

fn wl3(runs: &Runs) -> Finding {
    let tib = most_leveling(runs) * 256.0 / 1024.0;
    finding(format!("{tib:.2} TiB"), (1.3..=1.4).contains(&tib), "")
}

fn wl2(runs: &Runs) -> Finding {
    let result = runs.get(&hot(PWL));
    let first =
        leveling_by_drive_write(result).iter().position(|amplification| *amplification > 0.05).map_or(0, |n| n + 1);
    let start = result.summary.wear.erase_count_mean_at_start;
    let agrees = (83..=85).contains(&first) && (start - 13.3).abs() <= 0.3;
    finding(format!("drive write {first}; mean {start:.2} at the start"), agrees, "")
}

fn wl4(runs: &Runs) -> Finding {
    let of = |leveler| last_leveling(runs.get(&hot(leveler)));
    let (obp, dp) = (gain(of(OBP_TIGHT), of(OBP_LOOSE)), gain(of(DP_TIGHT), of(DP_LOOSE)));
    let agrees = (0.7..=1.5).contains(&obp) && (0.9..=2.2).contains(&dp);
    let note = format!(
        "amplification in the last drive write: OBP {:.2} to {:.2}, DP {:.2} to {:.2}",
        of(OBP_LOOSE),
        of(OBP_TIGHT),
        of(DP_LOOSE),
        of(DP_TIGHT)
    );
    finding(format!("gains {obp:.2} and {dp:.2}"), agrees, &note)
}

fn wl5(runs: &Runs) -> Finding {
    let share = |leveler| {
        let result = runs.get(&hot(leveler));
        let bound = 1.3 * f64::from(result.summary.wear.erase_count.p50);
        let above = result.blocks.iter().filter(|block| f64::from(block.erase_count) > bound).count();
        100.0 * above as f64 / result.blocks.len() as f64
    };
    let (tight, loose) = (share(OBP_TIGHT), share(OBP_LOOSE));
    let agrees = [tight, loose].iter().all(|share| (2.0..=10.0).contains(share));
    finding(format!("{tight:.1} % and {loose:.1} %"), agrees, "")
}

fn wl6(runs: &Runs) -> Finding {
    let sd = |leveler| runs.get(&hot(leveler)).summary.wear.erase_count.sd;
    let levelers = [OBP_TIGHT, OBP_LOOSE, DP_TIGHT, DP_LOOSE].map(sd);
    let none = sd(NONE);
    let ours = format!("sd {none:.1} without, {}", levelers.map(|sd| format!("{sd:.1}")).join(", "));
    finding(ours, levelers.iter().all(|sd| *sd > none), "in the order OBP(4, 8), OBP(8, 64), DP(5), DP(10)")
}

fn wl7() -> Finding {
    let of = |gib| {
        let mut intervals = observe::intervals_of_oldest(&scaled(gib, 0.9, OBP_LONG, "100 %", 100));
        intervals.sort_unstable();
        let share =
            intervals.iter().filter(|interval| **interval < 2000).count() as f64 / intervals.len().max(1) as f64;
        (intervals.get(intervals.len() / 2).copied().unwrap_or(u64::MAX), intervals.len(), 100.0 * share)
    };
    let [small, middle, large] = [1, 2, 8].map(of);
    let note = format!(
        "the protection counts erases of the whole drive, so its length against a round of all blocks depends on the drive's size: \
         at 2 GiB, where a round takes twice as many erases, the median is {} and {:.0} % of the intervals are shorter than 2 x the \
         protection. At 8 GiB the median is {} ({:.0} % shorter), a third of a round of the 9,109 blocks: the most worn block is \
         moved into again and again while others wait",
        middle.0, middle.2, large.0, large.2
    );
    finding(format!("median {} erases of {} intervals", small.0, small.1), small.0 < 2000, &note)
}

fn wl8(runs: &Runs) -> Finding {
    let pools = observe::pools_of_dual_pool(&warm(DP_TIGHT));
    let pwl = leveling(runs.get(&warm(PWL)));
    let erases = |leveler| runs.get(&warm(leveler)).summary.wear.erase_count.mean;
    let agrees = pools.cold_mean > pools.hot_mean && pwl < 0.05;
    let note = format!(
        "mean erase count: OBP(4, 8) {:.0}, PWL {:.0}, none {:.0}; PWL's curve is none's up to that. At 256 pages a block the drive passes its rated 500 erases within the 100 \
         drive writes, where PWL's threshold falls below the average and it begins to move data: {:.2} pages a host page in the \
         last drive write. At 64 pages a block, where garbage collection costs less, PWL's amplification is {:.3}",
        erases(OBP_TIGHT),
        erases(PWL),
        erases(NONE),
        last_leveling(runs.get(&warm(PWL))),
        leveling(runs.get(&small_blocks()))
    );
    let ours = format!("cold pool {:.1}, hot pool {:.1}; PWL {pwl:.3}", pools.cold_mean, pools.hot_mean);
    finding(ours, agrees, &note)
}

fn wl9(runs: &Runs) -> Finding {
    let wear = runs.get(&synthetic(0.5, NONE, "100 %", 100)).summary.wear.erase_count;
    let share = 100.0 * wear.sd / wear.mean;
    finding(format!("sd {share:.2} % of the mean"), share <= 2.0, "")
}

fn wl10(runs: &Runs) -> Finding {
    let of = |leveler| runs.get(&small(leveler));
    let none = of(NONE).summary.wear.erase_count;
    let (obp, dp, pwl) = (of(OBP_TIGHT), of(DP_TIGHT), of(PWL));
    let mut counts: Vec<u32> = of(NONE).blocks.iter().map(|block| block.erase_count).collect();
    counts.sort_unstable();
    let p5 = counts[(counts.len() - 1) / 20];
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
