//! CS11, CS12, CS15 and CS16: key-value stores on drives that age (001, sections 5.2.3 and 5.4.1).

use super::{
    Claim, Class, Design, Finding, Matter, Others, PAGES_WHOLE, Reading, Rules, Runs, finding, percent, reading,
};
use crate::{gain, mean, scenario};
use wane_results::{LatencyDistribution, RunResult, Window};
use wane_scenario::Scenario;

/// Pages of a block of these drives: 1/256.
const PAGES: u32 = 4;
/// Pages of a block of the larger drives that some claims are also run on: 1/64.
const PAGES_LARGER: u32 = 16;
/// Clients at a time.
const CLIENTS: u32 = 16;
/// Drive writes between two probes, and the last one; no drive lives that long.
const STEP: u32 = 15;
const LAST: u32 = 345;

/// What clients ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    YcsbA,
    YcsbF,
    /// Percent of lookups (the rest are puts), and the exponent of Zipf's law in hundredths.
    Mixture(u32, u32),
}

/// In place of the eight traces of Twitter: mostly puts and mostly lookups, on keys of little and of much skew.
const MIXTURES: [Asked; 4] =
    [Asked::Mixture(20, 80), Asked::Mixture(20, 120), Asked::Mixture(60, 80), Asked::Mixture(60, 120)];

impl Asked {
    pub(super) fn name(self) -> String {
        match self {
            Self::YcsbA => "YCSB-A".to_owned(),
            Self::YcsbF => "YCSB-F".to_owned(),
            Self::Mixture(gets, skew) => format!("{gets} % lookups, Zipf {:.1}", f64::from(skew) / 100.0),
        }
    }

    /// Percent of the capacity that all records take: 30 million of YCSB's, or 36.7 GB.
    const fn data(self) -> u32 {
        if matches!(self, Self::Mixture(..)) { 29 } else { 24 }
    }

    fn keys(self) -> String {
        match self {
            Self::YcsbA => "lsm = 'ycsb-a'\n".to_owned(),
            Self::YcsbF => "lsm = 'ycsb-f'\n".to_owned(),
            Self::Mixture(gets, skew) => {
                format!("lsm = 'mixed'\ngets = '{gets} %'\nskew = {}\n", f64::from(skew) / 100.0)
            }
        }
    }
}

/// What the file system beneath the store discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Discards {
    /// Never, as plain F2FS on a device that is never idle.
    Never,
    /// While the store neither flushes nor merges.
    Idle,
    /// Soon, as the paper's own does.
    Soon,
}

/// A drive's life to its end beneath a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    design: Design,
    asked: Asked,
    discards: Discards,
    /// Erases at which CVSS retires blocks: 239, 267 and 293 are an RBER of 4, 5 and 6 %; the released code's own are 291.
    erases: u32,
    rules: Rules,
    pages: u32,
}

impl Life {
    /// CVSS discards soon, and those that it is compared with run beneath plain F2FS.
    const fn new(design: Design, asked: Asked) -> Self {
        let discards = if matches!(design, Design::Variant) { Discards::Soon } else { Discards::Never };
        Self { design, asked, discards, erases: 267, rules: Rules::Text, pages: PAGES }
    }

    const fn larger(self) -> Self {
        Self { pages: PAGES_LARGER, ..self }
    }

    const fn with(self, discards: Discards) -> Self {
        Self { discards, ..self }
    }

    /// The same with the rules of the released code, and `erases` for CVSS.
    const fn released(self, erases: u32) -> Self {
        Self { rules: Rules::Code, erases, ..self }
    }

    fn scenario(self) -> Scenario {
        let Self { design, asked, discards, erases, rules, pages } = self;
        let scale = PAGES_WHOLE / pages;
        let discard = match discards {
            Discards::Never => "never",
            Discards::Idle => "idle",
            Discards::Soon => "delayed",
        };
        let ftl = match design {
            Design::Variant => format!("retire = {{ policy = 'at-erases', erases = {erases} }}\n"),
            Design::Streams => {
                format!(
                    "placement = {{ policy = 'autostream-sfr', chunk-units = 256, decay = {} }}\n",
                    1_000_000 / scale
                )
            }
            Design::Traditional | Design::Ideal => String::new(),
        };
        let store = [("memtable", 64), ("table-size", 64), ("level-base", 256)];
        let store = store.map(|(key, mib)| format!("{key} = '{} KiB'\n", mib * 1024 / scale)).concat();
        let ages = (0..=LAST).step_by(STEP as usize).map(|age| age.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!(
            "[drive]\npreset = '{}'\npages-per-block = {pages}\n[drive.ecc]\n{}[drive.timing]\nerase = '{} ns'\n[ftl]\n{ftl}[workload]\n{}data = '{} %'\n\
             extents = 'around'\ndiscard = '{discard}'\nclients = {CLIENTS}\nload = 'assumed'\n{store}[precondition]\nfill = '{} %'\n\
             [time]\nscheduler = 'timeline'\n[probe]\nat-drive-writes = [{ages}]\nuntil = {{ requests = 20000 }}\n\
             workload = {{ arrival = {{ queue-depth = {} }} }}\n[until]\nend-of-life = true\n",
            design.preset_by(rules),
            rules.correction(),
            5_000_000 / scale,
            asked.keys(),
            asked.data(),
            // The tables of all levels and the log, which lie at the beginning of the space.
            asked.data() + 6,
            4 * CLIENTS,
        );
        let erases = if design == Design::Variant { format!(", {erases} erases") } else { String::new() };
        let code = if rules == Rules::Code { ", as released" } else { "" };
        scenario(&format!("{}, {}, discards {discard}{erases}{code}, 1/{scale}", design.name(), asked.name()), &text)
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

/// Thousands of operations a second over the life: the harmonic mean over the probes, since any two neighbors are equally many host writes
/// apart.
fn kiops(result: &RunResult) -> f64 {
    let rates: Vec<f64> = result.windows.iter().filter_map(operations_a_second).collect();
    rates.len() as f64 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>() / 1000.0
}

fn operations_a_second(window: &Window) -> Option<f64> {
    Some(window.latency.operations?.all.per_second)
}

fn amplification(result: &RunResult) -> f64 {
    result.summary.write_amplification.total.unwrap_or(f64::NAN)
}

/// 99th percentile of a lookup's time in milliseconds, mean over the probes of a life. In YCSB-F half of the operations are lookups.
fn p99(result: &RunResult) -> f64 {
    let of = |window: &Window| Some(window.latency.operations?.read?.times.p99_ns as f64 / 1e6);
    mean(result.windows.iter().filter_map(of))
}

const CONFIGURATION: &str = "presets at 1/256: 4 of 1,024 pages in a block, an erase 1/256 as long, and memtable, tables and level 1 smaller by the \
                             same factor; a store on an LSM-tree with 16 clients, whose files go around the space as F2FS' segments do; lives to \
                             their end, with a probe of 20,000 requests when new and after every 15 drive writes, up to 64 outstanding";

const PUBLISHED: &str = "RocksDB over F2FS on FEMU with 128 GiB; the file system is aged first, and the drive by an acceleration factor of 2";

const READ_DISCARD: &str = "CVSS is that of the text (equation 1), and that of the released code another reading. It soon discards what the store \
                            drops, its rivals never do: plain F2FS discards while the device is idle, and under such a load it never is (section \
                            5.2.3). Section 4 says that TrSS discards soon as well, which is another reading";

/// CS11 and CS12.
pub(super) fn served() -> Vec<Claim> {
    vec![
        Claim::new(
            Class::Order,
            [
                "CS11",
                "001 Fig. 14",
                "key-value operations a second over the life: CVSS 0.49 to 3.16 above TrSS (Trace38), 1.42 on average; AutoStream and ttFlash little",
                "more than 0 for all, and more than AutoStream and ttFlash",
            ],
            [CONFIGURATION, PUBLISHED, READ_DISCARD],
            || lives(RIVALS.into_iter().flat_map(|design| MIXTURES.map(|asked| Life::new(design, asked)))),
            cs11,
            Others::Run { scenarios: cs11_others, evaluate: cs11_readings },
        ),
        Claim::new(
            Class::Order,
            [
                "CS12",
                "001 §5.2.3",
                "write amplification under the same: up to 6.79 for TrSS, 1.12 for CVSS",
                "TrSS more than 3 times CVSS where TrSS' is largest",
            ],
            [CONFIGURATION, PUBLISHED, READ_DISCARD],
            || {
                let designs = [Design::Traditional, Design::Variant];
                lives(designs.into_iter().flat_map(|design| MIXTURES.map(|asked| Life::new(design, asked))))
            },
            cs12,
            Others::Run { scenarios: cs12_others, evaluate: cs12_readings },
        ),
    ]
}

/// CS15 and CS16.
pub(super) fn thresholds() -> Vec<Claim> {
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
            [CONFIGURATION, CS16_PUBLISHED, READ_DISCARD],
            || lives(BOTH.into_iter().flat_map(compared)),
            cs16,
            Others::Run { scenarios: threshold_others, evaluate: cs16_readings },
        ),
    ]
}

const RIVALS: [Design; 4] = [Design::Traditional, Design::Streams, Design::Ideal, Design::Variant];

/// Gains in operations a second over TrSS: of AutoStream, ttFlash and CVSS.
fn gains(runs: &Runs, asked: Asked) -> [f64; 3] {
    let rate = |design| kiops(runs.store(Life::new(design, asked)));
    [Design::Streams, Design::Ideal, Design::Variant].map(|design| gain(rate(design), rate(Design::Traditional)))
}

fn cs11(runs: &Runs) -> Finding {
    let found = MIXTURES.map(|asked| gains(runs, asked));
    let of = |place: usize| found.iter().map(move |gains| gains[place]);
    let (least, most) = of(2).fold((f64::MAX, f64::MIN), |(least, most), gain| (least.min(gain), most.max(gain)));
    let agrees = found.iter().all(|[streams, ideal, own]| *own > 0.0 && own > streams && own > ideal);
    let [streams, ideal, own] = [0, 1, 2].map(|place| mean(of(place)));
    let ours = format!(
        "{least:+.2} to {most:+.2}, {own:+.2} on average; AutoStream {streams:+.2}, ttFlash {ideal:+.2} on average"
    );
    finding(ours, agrees, CS11_NOTE.to_owned(), table(runs))
}

const CS11_NOTE: &str = "most of the gain comes from discards: where TrSS discards as CVSS does, it is gone. ttFlash is ideal here: its collections \
                         take no time, and it gains more than the paper's. Four mixtures stand for eight traces of Twitter";

/// Operations, amplification and life by mixture.
fn table(runs: &Runs) -> String {
    let mut text = "| mixture | TrSS, KIOPS | AutoStream | ttFlash | CVSS | WAF of TrSS | WAF of CVSS | drive writes of TrSS | of CVSS |\n\
                    |---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for asked in MIXTURES {
        let results = RIVALS.map(|design| runs.store(Life::new(design, asked)));
        let rates = results.map(|result| format!("{:.2}", kiops(result))).join(" | ");
        let [first, .., last] = results;
        text += &format!(
            "| {} | {rates} | {:.2} | {:.2} | {:.0} | {:.0} |\n",
            asked.name(),
            amplification(first),
            amplification(last),
            first.summary.end.at_drive_writes,
            last.summary.end.at_drive_writes
        );
    }
    text
}

/// The mixture of CS11's other readings.
const PLAIN: Asked = Asked::Mixture(60, 80);

fn cs11_cases() -> [(Matter, &'static str, [Life; 2]); 3] {
    let [traditional, variant] = [Design::Traditional, Design::Variant].map(|design| Life::new(design, PLAIN));
    [
        (Matter::Choice, "TrSS discards soon, too", [traditional.with(Discards::Soon), variant]),
        (
            Matter::Choice,
            "TrSS discards while nothing is flushed or merged",
            [traditional.with(Discards::Idle), variant],
        ),
        (Matter::Scale, "1/64", [traditional.larger(), variant.larger()]),
    ]
}

/// TrSS and CVSS with the rules of the released code under each mixture.
fn released() -> [[Life; 2]; 4] {
    MIXTURES.map(|asked| [Design::Traditional, Design::Variant].map(|design| Life::new(design, asked).released(291)))
}

fn cs11_others() -> Vec<Scenario> {
    lives(cs11_cases().into_iter().flat_map(|(_, _, lives)| lives).chain(released().into_iter().flatten()))
}

fn cs11_readings(runs: &Runs) -> Vec<Reading> {
    let of = |(matter, what, [traditional, variant]): (Matter, &'static str, [Life; 2])| {
        let found = gain(kiops(runs.store(variant)), kiops(runs.store(traditional)));
        reading(matter, &format!("{} alone: {what}", PLAIN.name()), (format!("{found:+.2}"), found > 0.0))
    };
    let gains = released().map(|pair| {
        let [traditional, variant] = pair.map(|life| kiops(runs.store(life)));
        gain(variant, traditional)
    });
    let (least, most) =
        gains.into_iter().fold((f64::MAX, f64::MIN), |(least, most), gain| (least.min(gain), most.max(gain)));
    let found = format!("{least:+.2} to {most:+.2}, {:+.2} on average", mean(gains));
    let code = reading(Matter::Choice, CODE, (found, least > 0.0));
    cs11_cases().into_iter().map(of).chain([code]).collect()
}

/// What the released code does, beside the text's equation 1.
const CODE: &str =
    "the code in place of the text's equation 1: `cvss-128g-released`, and re-reads of both by its table";

/// The amplification of TrSS where it is largest, and of CVSS there.
fn worst(runs: &Runs, pairs: [[Life; 2]; 4]) -> (String, bool) {
    let found = pairs
        .map(|[traditional, variant]| (amplification(runs.store(traditional)), amplification(runs.store(variant))));
    let (most, variant) = found.into_iter().fold((0.0, 1.0), |worst, next| if next.0 > worst.0 { next } else { worst });
    (format!("{most:.2} and {variant:.2}"), most > 3.0 * variant)
}

fn cs12(runs: &Runs) -> Finding {
    let (ours, agrees) = worst(runs, beside(|traditional| traditional));
    finding(ours, agrees, CS12_NOTE.to_owned(), String::new())
}

const CS12_NOTE: &str = "2.8 times. Under the same discards greedy collection amplifies 1.01, so that CVSS' 1.50 is the cost of its score and its \
                         two frontiers; the paper's CVSS has 1.12 on traces that are not at hand";

/// A form of TrSS beside CVSS, by mixture.
fn beside(form: impl Fn(Life) -> Life) -> [[Life; 2]; 4] {
    MIXTURES.map(|asked| [form(Life::new(Design::Traditional, asked)), Life::new(Design::Variant, asked)])
}

fn cs12_cases() -> [(&'static str, [[Life; 2]; 4]); 2] {
    [("TrSS discards soon, too", beside(|traditional| traditional.with(Discards::Soon))), (CODE, released())]
}

fn cs12_others() -> Vec<Scenario> {
    lives(cs12_cases().into_iter().flat_map(|(_, pairs)| pairs.into_iter().flatten()))
}

fn cs12_readings(runs: &Runs) -> Vec<Reading> {
    cs12_cases().into_iter().map(|(what, pairs)| reading(Matter::Choice, what, worst(runs, pairs))).collect()
}

pub(super) const BOTH: [Asked; 2] = [Asked::YcsbA, Asked::YcsbF];

pub(super) const COMPARED: [&str; 3] = ["TrSS", "CVSS(4 %)", "CVSS(6 %)"];

/// TrSS, CVSS with 4 % and with 6 %.
pub(super) fn compared(asked: Asked) -> [Life; 3] {
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
    finding(ours, found.iter().all(|(_, agrees)| *agrees), CS15_NOTE.to_owned(), percentiles(runs))
}

const CS15_NOTE: &str = "";

/// Percentiles of lookups, 75 to 99 %, in milliseconds: means over the probes of a life.
pub(super) fn lookups(runs: &Runs, life: Life) -> [f64; 4] {
    let windows = &runs.store(life).windows;
    let reads: Vec<_> = windows.iter().filter_map(|window| window.latency.operations?.read).collect();
    let at = |of: fn(&LatencyDistribution) -> u64| mean(reads.iter().map(|reads| of(&reads.times) as f64 / 1e6));
    [at(|of| of.p75_ns), at(|of| of.p90_ns), at(|of| of.p95_ns), at(|of| of.p99_ns)]
}

fn percentiles(runs: &Runs) -> String {
    let mut text = "| store | drive | p75 | p90 | p95 | p99 | paper's p99 against TrSS | drive writes |\n|---|---|---:|---:|---:|---:|---:|---:|\n".to_owned();
    let published = [["-", "-51 %", "-44 %"], ["-", "-53 %", "-40 %"]];
    for (asked, published) in BOTH.into_iter().zip(published) {
        for ((life, name), paper) in compared(asked).into_iter().zip(COMPARED).zip(published) {
            let times = lookups(runs, life).map(|milliseconds| format!("{milliseconds:.2} ms")).join(" | ");
            let until = runs.store(life).summary.end.at_drive_writes;
            text += &format!("| {} | {name} | {times} | {paper} | {until:.0} |\n", asked.name());
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
    finding(ours, agrees, CS16_NOTE.to_owned(), String::new())
}

const CS16_PUBLISHED: &str = "RocksDB over F2FS on FEMU with 128 GiB; the file system is aged first, and the drive by an acceleration factor of 2. \
                              Section 5.4.1 says 3.27x and 2.68x of TrSS' host writes, a ratio; the abstract extends \"the lifetime by 268-327 %\", \
                              which would be a gain, of the same numbers";

const CS16_NOTE: &str = "read as ratios, as section 5.4.1 has them; as gains they would be 4.27 and 3.68 times. The order is judged, which is the same";

/// YCSB-A under other readings.
fn threshold_cases() -> Vec<(Matter, &'static str, [Life; 3])> {
    let [traditional, least, most] = compared(Asked::YcsbA);
    vec![
        (Matter::Choice, "YCSB-A alone: TrSS discards soon, too", [traditional.with(Discards::Soon), least, most]),
        (
            Matter::Choice,
            "YCSB-A alone: the code in place of the text's equation 1: `cvss-128g-released` with these thresholds, and re-reads of all by its table",
            [traditional, least, most].map(|life| life.released(life.erases)),
        ),
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
