//! DC4: how much of its random write throughput a drive loses to foreground garbage collection (dissertation 002, section 5.2.2).

use super::{Claim, Class, Finding, Matter, Others, OverSeeds, Reading, Runs, Verdict, scenario};
use wane_results::{RunResult, Window};
use wane_scenario::Scenario;

/// An empty QLC drive that is filled at random and then written further without a pause.
fn burst(size: &str) -> Scenario {
    burst_with(size, 7)
}

/// The same with another spare factor, in percent.
fn burst_with(size: &str, spare: u32) -> Scenario {
    let text = format!(
        "[drive]\npreset = 'fast19-ssd'\nblocks-per-plane = 32\nspare-factor = '{spare} %'\ncell = 'qlc'\n[ftl]\nretire = 'never'\nfrontiers \
         = 'one'\ngc-reserve = 2\n[time]\nscheduler = 'event'\ngc = 'foreground'\n[precondition]\nfill = '0 %'\n[workload]\n\
         pattern = 'uniform'\nrequest-size = '{size}'\narrival = {{ queue-depth = 32 }}\n[until]\ndrive-writes = 3\n"
    );
    let spare = if spare == 7 { String::new() } else { format!(", {spare} % spare") };
    scenario(&format!("random writes of {size}{spare}"), &text)
}

/// Sizes of a write; the source plots 4 KiB to 1 MiB.
pub(super) const SIZES: [&str; 3] = ["4 KiB", "16 KiB", "64 KiB"];

pub(super) fn claims() -> Vec<Claim> {
    vec![Claim {
        id: "DC4",
        class: Class::Mechanism,
        source: "002 §5.2.2.2, Fig. 5.2",
        configuration: "a QLC drive of 8 x 4 x 2 planes of 32 blocks, 7 % spare, garbage collection in the foreground, 32 writes outstanding, three \
                        drive writes at random onto an empty drive; throughput of the first half drive write against that of the last",
        paper: "random writes lose 90 % (drive C) and 76 % (drive D) when garbage collection sets in",
        published: "drives filled with random data, then bursts of random writes, with and without garbage collection; the mean over sizes of writes, the \
                    drives' insides unknown",
        reading: "a drive that collects only when it must, empty at first; the first half drive write against the last",
        tolerance: "at least 60 % at every size",
        needs_package: false,
        over_seeds: OverSeeds::Untried,
        scenarios: || SIZES.map(burst).into(),
        later: |_| Vec::new(),
        evaluate: dc4,
        others: Others::Run {
            scenarios: || OTHER_SPARES.map(|spare| burst_with(LARGEST, spare)).into(),
            evaluate: dc4_others,
        },
        full_size: None,
    }]
}

/// Spare factors of other readings, in percent, and their size of a write: the one that runs fastest.
const OTHER_SPARES: [u32; 2] = [20, 28];
const LARGEST: &str = SIZES[2];

/// Share of their throughput that writes lose.
fn lost(result: &RunResult) -> f64 {
    1.0 - rate(result, |at| at >= 2.5) / rate(result, |at| at < 0.5)
}

const LOST_MIN: f64 = 0.60;

fn dc4_others(runs: &Runs) -> Vec<Reading> {
    let of = |spare| {
        let lost = lost(runs.get(&burst_with(LARGEST, spare)));
        Reading {
            what: format!("{spare} % spare, writes of {LARGEST}"),
            matter: Matter::Choice,
            ours: format!("{:.0} %", 100.0 * lost),
            verdict: Verdict::of(lost >= LOST_MIN),
        }
    };
    OTHER_SPARES.map(of).into()
}

/// Bytes a second written over the windows whose drive writes are in `part` of the run.
fn rate(result: &RunResult, part: impl Fn(f64) -> bool) -> f64 {
    let of = |window: &&Window| part(window.at_drive_writes);
    let windows = || result.windows.iter().filter(of);
    let bytes: f64 = windows().map(|window| window.throughput.write.bytes_per_second * window.seconds).sum();
    bytes / windows().map(|window| window.seconds).sum::<f64>()
}

fn dc4(runs: &Runs) -> Finding {
    let mut table = "| write | empty drive, MB/s | with garbage collection, MB/s | lost | amplification |\n|---|---:|---:|---:|---:|\n".to_owned();
    let mut least: f64 = 1.0;
    let mut told = Vec::new();
    for size in SIZES {
        let result = runs.get(&burst(size));
        let (before, after) = (rate(result, |at| at < 0.5), rate(result, |at| at >= 2.5));
        let lost = lost(result);
        least = least.min(lost);
        told.push(format!("{:.0} %", 100.0 * lost));
        let amplification = result.summary.write_amplification.last_drive_write.total.unwrap_or(f64::NAN);
        table += &format!(
            "| {size} | {:.0} | {:.0} | {:.0} % | {amplification:.2} |\n",
            before / 1e6,
            after / 1e6,
            100.0 * lost
        );
    }
    Finding {
        ours: told.join(", "),
        verdict: Verdict::of(least >= LOST_MIN),
        note:
            "the insides of the source's drives are unknown; ours has the die times of 002's Table 2.2. By write size:"
                .to_owned(),
        table,
    }
}
