//! CS15 and CS16: key-value stores on drives that age (001, section 5.4.1).

use super::{Claim, Class, Design, Finding, Matter, Others, PAGES_WHOLE, Reading, Runs, finding, percent, reading};
use crate::{gain, mean, scenario};
use wane_results::{RunResult, Window};
use wane_scenario::Scenario;

/// Pages of a block of these drives: 1/256.
const PAGES: u32 = 4;
/// Pages of a block of the larger drives that some claims are run on besides: 1/64.
const PAGES_LARGER: u32 = 16;
/// Clients at a time.
const CLIENTS: u32 = 16;
/// Drive writes between two probes, and the last one; no drive lives that long.
const STEP: u32 = 15;
const LAST: u32 = 345;

/// What clients ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    YcsbA,
    YcsbF,
}

impl Asked {
    const fn name(self) -> &'static str {
        match self {
            Self::YcsbA => "YCSB-A",
            Self::YcsbF => "YCSB-F",
        }
    }

    const fn lsm(self) -> &'static str {
        match self {
            Self::YcsbA => "ycsb-a",
            Self::YcsbF => "ycsb-f",
        }
    }
}

/// Percent of the capacity that 30 million records of YCSB take.
const DATA: u32 = 24;

/// What the file system beneath the store discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Discards {
    /// Never, as plain F2FS on a device that is never idle.
    Never,
    /// Soon, as the paper's own does.
    Soon,
}

/// A drive's life to its end beneath a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    design: Design,
    asked: Asked,
    discards: Discards,
    /// Erases at which CVSS retires blocks: 239, 267 and 293 are an RBER of 4, 5 and 6 %.
    erases: u32,
    pages: u32,
}

impl Life {
    /// CVSS discards soon, and those that it is compared with run beneath plain F2FS.
    const fn new(design: Design, asked: Asked) -> Self {
        let discards = if matches!(design, Design::Variant) { Discards::Soon } else { Discards::Never };
        Self { design, asked, discards, erases: 267, pages: PAGES }
    }

    const fn larger(self) -> Self {
        Self { pages: PAGES_LARGER, ..self }
    }

    const fn with(self, discards: Discards) -> Self {
        Self { discards, ..self }
    }

    fn scenario(self) -> Scenario {
        let Self { design, asked, discards, erases, pages } = self;
        let scale = PAGES_WHOLE / pages;
        let discard = match discards {
            Discards::Never => "never",
            Discards::Soon => "delayed",
        };
        let ftl = match design {
            Design::Variant => format!("retire = {{ policy = 'at-erases', erases = {erases} }}\n"),
            Design::Traditional | Design::Streams => String::new(),
        };
        let store = [("memtable", 64), ("table-size", 64), ("level-base", 256)];
        let store = store.map(|(key, mib)| format!("{key} = '{} KiB'\n", mib * 1024 / scale)).concat();
        let ages = (0..=LAST).step_by(STEP as usize).map(|age| age.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!(
            "[drive]\npreset = '{}'\npages-per-block = {pages}\n[drive.timing]\nerase = '{} ns'\n[ftl]\n{ftl}[workload]\nlsm = '{}'\ndata = '{} %'\n\
             extents = 'around'\ndiscard = '{discard}'\nclients = {CLIENTS}\nload = 'assumed'\n{store}[precondition]\nfill = '{} %'\n\
             [time]\nscheduler = 'timeline'\n[probe]\nat-drive-writes = [{ages}]\nuntil = {{ requests = 20000 }}\n\
             workload = {{ arrival = {{ queue-depth = {} }} }}\n[until]\nend-of-life = true\n",
            design.preset(),
            5_000_000 / scale,
            asked.lsm(),
            DATA,
            // The tables of all levels and the log, which lie at the beginning of the space.
            DATA + 6,
            4 * CLIENTS,
        );
        let erases = if design == Design::Variant { format!(", {erases} erases") } else { String::new() };
        scenario(&format!("{}, {}, discards {discard}{erases}, 1/{scale}", design.name(), asked.name()), &text)
    }
}

fn lives(lives: impl IntoIterator<Item = Life>) -> Vec<Scenario> {
    lives.into_iter().map(Life::scenario).collect()
}

impl Runs {
    fn store(&self, life: Life) -> &RunResult {
        self.get(&life.scenario())
    }
}

/// Milliseconds that 99 of 100 lookups stay below, mean over the probes of a life. YCSB-F looks up in half of its operations.
fn p99(result: &RunResult) -> f64 {
    let of = |window: &Window| Some(window.latency.operations?.read?.times.p99_ns as f64 / 1e6);
    mean(result.windows.iter().filter_map(of))
}

const CONFIGURATION: &str = "presets at 1/256: 4 of 1,024 pages in a block, an erase 1/256 as long, and memtable, tables and level 1 as much smaller; \
                             a store on an LSM-tree with 16 clients, whose files go around the space as F2FS' segments do; lives to their end, \
                             with a probe of 20,000 requests when new and after every 15 drive writes, up to 64 outstanding";

const PUBLISHED: &str = "RocksDB over F2FS on FEMU with 128 GiB; the file system is aged first, and the drive by an acceleration factor of 2";

const READ_DISCARD: &str = "CVSS discards soon what the store drops, its rivals never: plain F2FS discards while the device is idle, and under such a load \
                            it never is (section 5.2.3). Section 4 says that TrSS discards soon as well, which is another reading";

/// CS15 and CS16.
pub(super) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            Class::Mechanism,
            [
                "CS15",
                "001 Fig. 17a, 17b",
                "p99 of reads against TrSS: -51 and -53 % under YCSB-A and F with blocks retired at an RBER of 4 %, -44 and -40 % at 6 %",
                "4 % below 6 % below TrSS, under both",
            ],
            [CONFIGURATION, PUBLISHED, READ_DISCARD],
            || lives(BOTH.into_iter().flat_map(compared)),
            cs15,
            Others::Run { scenarios: threshold_others, evaluate: cs15_readings },
        ),
        Claim::new(
            Class::Order,
            [
                "CS16",
                "001 Fig. 17c, 17d",
                "host writes of the life against TrSS, YCSB-A and F on average: 3.27 times with 6 %, 2.68 times with 4 %",
                "6 % above 4 % above TrSS",
            ],
            [CONFIGURATION, PUBLISHED, READ_DISCARD],
            || lives(BOTH.into_iter().flat_map(compared)),
            cs16,
            Others::Run { scenarios: threshold_others, evaluate: cs16_readings },
        ),
    ]
}

const BOTH: [Asked; 2] = [Asked::YcsbA, Asked::YcsbF];

/// TrSS, CVSS with 4 % and with 6 %.
fn compared(asked: Asked) -> [Life; 3] {
    let variant = |erases| Life { erases, ..Life::new(Design::Variant, asked) };
    [Life::new(Design::Traditional, asked), variant(239), variant(293)]
}

/// The p99 of CVSS with 4 % and 6 % against TrSS, and whether they are in order.
fn tails(runs: &Runs, lives: [Life; 3]) -> ([f64; 2], bool) {
    let [traditional, least, most] = lives.map(|life| p99(runs.store(life)));
    ([gain(least, traditional), gain(most, traditional)], least < most && most < traditional)
}

fn cs15(runs: &Runs) -> Finding {
    let found = BOTH.map(|asked| tails(runs, compared(asked)));
    let told = |place: usize| found.map(|(gains, _)| percent(gains[place])).join(" and ");
    let ours = format!("{} at 4 %, {} at 6 %", told(0), told(1));
    finding(ours, found.iter().all(|(_, agrees)| *agrees), String::new(), percentiles(runs))
}

/// Percentiles of lookups, means over the probes of a life.
fn percentiles(runs: &Runs) -> String {
    let mut text = "| store | drive | p75 | p90 | p95 | p99 | paper's p99 against TrSS | drive writes |\n\
                    |---|---|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let published = [["-", "-51 %", "-44 %"], ["-", "-53 %", "-40 %"]];
    for (asked, published) in BOTH.into_iter().zip(published) {
        let names = ["TrSS", "CVSS(4 %)", "CVSS(6 %)"];
        for ((life, name), paper) in compared(asked).into_iter().zip(names).zip(published) {
            let result = runs.store(life);
            let reads: Vec<_> = result.windows.iter().filter_map(|window| window.latency.operations?.read).collect();
            let at = |of: fn(&wane_results::LatencyDistribution) -> u64| {
                format!("{:.2} ms", mean(reads.iter().map(|reads| of(&reads.times) as f64 / 1e6)))
            };
            text += &format!(
                "| {} | {name} | {} | {} | {} | {} | {paper} | {:.0} |\n",
                asked.name(),
                at(|of| of.p75_ns),
                at(|of| of.p90_ns),
                at(|of| of.p95_ns),
                at(|of| of.p99_ns),
                result.summary.end.at_drive_writes
            );
        }
    }
    text
}

/// Drive writes of CVSS with 4 % and 6 % against those of TrSS.
fn longer(runs: &Runs, lives: [Life; 3]) -> [f64; 2] {
    let [traditional, least, most] = lives.map(|life| runs.store(life).summary.end.at_drive_writes);
    [least / traditional, most / traditional]
}

fn in_order([least, most]: [f64; 2]) -> (String, bool) {
    (format!("{most:.2} times with 6 %, {least:.2} times with 4 %"), most > least && least > 1.0)
}

fn cs16(runs: &Runs) -> Finding {
    let found = BOTH.map(|asked| longer(runs, compared(asked)));
    let (ours, agrees) = in_order([0, 1].map(|place| mean(found.iter().map(|ratios| ratios[place]))));
    finding(ours, agrees, String::new(), String::new())
}

/// YCSB-A under other readings.
fn threshold_cases() -> Vec<(Matter, &'static str, [Life; 3])> {
    let [traditional, least, most] = compared(Asked::YcsbA);
    vec![
        (Matter::Choice, "YCSB-A alone: TrSS discards soon, too", [traditional.with(Discards::Soon), least, most]),
        (Matter::Scale, "YCSB-A alone: 1/64", [traditional, least, most].map(Life::larger)),
    ]
}

fn threshold_others() -> Vec<Scenario> {
    lives(threshold_cases().into_iter().flat_map(|(_, _, lives)| lives))
}

fn cs15_readings(runs: &Runs) -> Vec<Reading> {
    let of = |(matter, what, lives): (Matter, &'static str, [Life; 3])| {
        let (gains, agrees) = tails(runs, lives);
        let ours = format!("{} at 4 %, {} at 6 %", percent(gains[0]), percent(gains[1]));
        reading(matter, what, (ours, agrees))
    };
    threshold_cases().into_iter().map(of).collect()
}

fn cs16_readings(runs: &Runs) -> Vec<Reading> {
    let of =
        |(matter, what, lives): (Matter, &'static str, [Life; 3])| reading(matter, what, in_order(longer(runs, lives)));
    threshold_cases().into_iter().map(of).collect()
}
