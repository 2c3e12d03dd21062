//! CS2 to CS8, CS11 to CS18, CS20 and the bounds CS-B1 to CS-B4: the capacity-variant drive (Jiao et al., FAST 2024: 001).
//!
//! This file has the drive's lives and what is measured on them; the claims are in the files below. Only CS2 and CS3 (`shrink`) have a
//! file system on the drive.

mod bounds;
mod figures;
mod lifetime;
mod shrink;
mod speed;
mod stores;
mod wear;

use super::{Claim, Class, Finding, Matter, Others, Reading, Runs, Verdict, scenario};
use wane_report::published::Picture;
use wane_results::{RunResult, Window};
use wane_scenario::Scenario;

/// Pages of a block of the paper's drive.
const PAGES_WHOLE: u32 = 1024;
/// Pages of a block of the claims' drives: 1/64.
const PAGES: u32 = 16;
/// Pages of a block of the larger drives that some claims are also run on: 1/16.
const PAGES_LARGER: u32 = 64;
/// Bytes that the whole drive exports.
const WHOLE_BYTES: f64 = 122_070.0 * 1_048_576.0;
/// Blocks of a superblock.
const SUPERBLOCK: usize = 64;
/// Drive writes between two probes.
const STEP: u32 = 10;
/// Outstanding requests that keep most dies busy.
const DEEP: u32 = 32;
/// Erases at which CVSS retires blocks: an RBER of 5 %.
const RETIRED_AT: u32 = 267;
/// The last probe; no drive lives that long.
const LAST: u32 = 310;

/// What the paper compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Design {
    Variant,
    Traditional,
    Streams,
    Ideal,
}

impl Design {
    /// Those whose lives the paper compares.
    const ALL: [Self; 3] = [Self::Traditional, Self::Streams, Self::Variant];

    const fn preset(self) -> &'static str {
        match self {
            Self::Variant => "cvss-128g",
            Self::Traditional => "trss-128g",
            Self::Streams => "autostream-128g",
            Self::Ideal => "ttflash-128g",
        }
    }

    /// The preset with these rules.
    const fn preset_by(self, rules: Rules) -> &'static str {
        match (self, rules) {
            (Self::Variant, Rules::Code) => "cvss-128g-released",
            (Self::Variant | Self::Traditional | Self::Streams | Self::Ideal, _) => self.preset(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Variant => "CVSS",
            Self::Traditional => "TrSS",
            Self::Streams => "AutoStream",
            Self::Ideal => "ttFlash",
        }
    }
}

/// Whose rules the drives follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    /// Those of the paper's text: equation 1, two frontiers, re-reads that halve the RBER.
    Text,
    /// Those of the released code: fewest valid pages, one frontier, re-reads by a table.
    Code,
}

impl Rules {
    /// Keys of `[drive.ecc]`.
    const fn correction(self) -> &'static str {
        match self {
            Self::Text => "",
            Self::Code => "draws = 'table'\n",
        }
    }
}

/// Where requests go; half of them read and half write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// By Zipf's law with fio's exponent: what is written often is read often.
    Zipf,
    /// At random.
    Uniform,
    /// Writes by Zipf's law on a sixth of the data, reads uniform on all: most of what is read is seldom written.
    Apart,
}

impl Access {
    const fn name(self) -> &'static str {
        match self {
            Self::Zipf => "Zipf",
            Self::Uniform => "random",
            Self::Apart => "reads apart from writes",
        }
    }

    /// The workload's keys.
    fn workload(self, share: u32) -> String {
        let pattern = |pattern: &str, footprint: &str, reads: &str| {
            format!("{pattern}, footprint = '{footprint} %', request-size = '16 KiB', read-share = '{reads} %'")
        };
        let one = |table: String| table.replace(", ", "\n");
        let all = share.to_string();
        match self {
            Self::Zipf => one(pattern("pattern = 'zipf', exponent = 1.1", &all, "50")),
            Self::Uniform => one(pattern("pattern = 'uniform'", &all, "50")),
            Self::Apart => format!(
                "mix = [{{ share = '50 %', {} }}, {{ share = '50 %', {} }}]",
                pattern("pattern = 'zipf', exponent = 1.1", &format!("{:.1}", f64::from(share) / 6.0), "0"),
                // A few writes tell the host that all of it is in use.
                pattern("pattern = 'uniform'", &all, "99"),
            ),
        }
    }
}

/// What another reading of the paper changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twist {
    None,
    /// Host and garbage collection fill one block, as in the released code.
    OneFrontier,
    /// Re-reads by the released code's table: one for each 50 cycles.
    Table,
    /// All rules of the released code.
    Released,
    /// Streams by chunks of a request instead of 1 MiB.
    SmallChunks,
    /// Weights of the victim score: invalid share, age, reads.
    Weights([&'static str; 3]),
    /// Without wear leveling.
    Unleveled,
}

impl Twist {
    const fn rules(self) -> Rules {
        match self {
            Self::Released => Rules::Code,
            Self::None | Self::OneFrontier | Self::Table | Self::SmallChunks | Self::Weights(_) | Self::Unleveled => {
                Rules::Text
            }
        }
    }
}

/// A drive's life to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    design: Design,
    access: Access,
    /// Percent of the capacity that holds data.
    share: u32,
    /// Pages of a block.
    pages: u32,
    /// Correctable bits of a codeword of 4 KiB.
    strength: u32,
    /// Outstanding requests of a probe.
    depth: u32,
    /// Drive writes between two probes.
    step: u32,
    twist: Twist,
    /// Erases at which CVSS retires blocks; `None`: the preset's.
    retires: Option<u32>,
}

impl Life {
    const fn new(design: Design, access: Access, share: u32) -> Self {
        let (twist, retires) = (Twist::None, None);
        Self { design, access, share, pages: PAGES, strength: 50, depth: 1, step: STEP, twist, retires }
    }

    /// The life that most claims look at: Zipf, 30 % mapped.
    const fn of(design: Design) -> Self {
        Self::new(design, Access::Zipf, 30)
    }

    const fn with(self, twist: Twist) -> Self {
        Self { twist, ..self }
    }

    /// The same; CVSS retires blocks at this number of erases.
    const fn retired_at(self, erases: u32) -> Self {
        Self { retires: if matches!(self.design, Design::Variant) { Some(erases) } else { None }, ..self }
    }

    const fn with_strength(self, strength: u32) -> Self {
        Self { strength, ..self }
    }

    const fn deep(self) -> Self {
        Self { depth: DEEP, ..self }
    }

    const fn larger(self) -> Self {
        Self { pages: PAGES_LARGER, ..self }
    }

    fn name(self) -> String {
        let Self { design, access, share, pages, strength, depth, step, twist, retires } = self;
        let retired = retires.map(|erases| format!(", retired at {erases}")).unwrap_or_default();
        let twist = match twist {
            Twist::None => String::new(),
            Twist::OneFrontier => ", one frontier".to_owned(),
            Twist::Table => ", c/50 table".to_owned(),
            Twist::Released => ", as released".to_owned(),
            Twist::SmallChunks => ", streams by 16 KiB".to_owned(),
            Twist::Weights(weights) => format!(", weights {}", weights.join("/")),
            Twist::Unleveled => ", without wear leveling".to_owned(),
        };
        let scale = PAGES_WHOLE / pages;
        let probes = if step == STEP { String::new() } else { format!(", probes every {step}") };
        format!(
            "{}, {}, {share} %, {strength} bits{twist}{retired}, {depth} deep{probes}, 1/{scale}",
            design.name(),
            access.name()
        )
    }

    fn scenario(self) -> Scenario {
        let Self { design, access, share, pages, strength, depth, step, twist, retires } = self;
        let mut text = format!(
            "[drive]\npreset = '{}'\npages-per-block = {pages}\n[drive.ecc]\nstrength = {strength}\n",
            design.preset_by(twist.rules())
        );
        text += if twist == Twist::Table { Rules::Code.correction() } else { twist.rules().correction() };
        // The time of an erase shrinks with the block, so that the dies' time is divided as on the whole drive.
        text += &format!("[drive.timing]\nerase = '{} ns'\n[ftl]\n", 5_000_000 / (PAGES_WHOLE / pages));
        if let Some(erases) = retires {
            text += &format!("retire = {{ policy = 'at-erases', erases = {erases} }}\n");
        }
        match twist {
            Twist::OneFrontier => text += "frontiers = 'one'\n",
            Twist::Unleveled => text += "wear-leveling = { policy = 'none' }\n",
            Twist::Weights([invalidity, aging, reads]) => {
                text += &format!(
                    "gc = {{ policy = 'wear-focusing', invalidity = {invalidity}, aging = {aging}, reads = {reads} }}\n"
                );
            }
            Twist::SmallChunks | Twist::None | Twist::Table | Twist::Released => {}
        }
        if design == Design::Streams {
            // A smaller drive has fewer chunks, each of which is written more often by the same factor.
            let decay = 1_000_000 / (PAGES_WHOLE / pages);
            let chunk = if twist == Twist::SmallChunks { 4 } else { 256 };
            text += &format!("placement = {{ policy = 'autostream-sfr', chunk-units = {chunk}, decay = {decay} }}\n");
        }
        let ages = (0..=LAST).step_by(step as usize);
        let ages = ages.map(|age| age.to_string()).collect::<Vec<_>>().join(", ");
        text += &format!(
            "[workload]\n{}\n[precondition]\nfill = '{share} %'\n[time]\nscheduler = 'timeline'\n[probe]\n\
             at-drive-writes = [{ages}]\nuntil = {{ requests = 20000 }}\nworkload = {{ arrival = {{ queue-depth = {depth} }} }}\n\
             [until]\nend-of-life = true\n",
            access.workload(share)
        );
        scenario(&self.name(), &text)
    }
}

/// Scenarios of lives.
fn lives(lives: impl IntoIterator<Item = Life>) -> Vec<Scenario> {
    lives.into_iter().map(Life::scenario).collect()
}

/// The variant and the traditional drive.
const fn pair(access: Access, share: u32) -> [Life; 2] {
    [Life::new(Design::Variant, access, share), Life::new(Design::Traditional, access, share)]
}

/// Read throughput of a window, in MB/s.
fn read_rate(window: &Window) -> f64 {
    window.throughput.read.bytes_per_second / 1e6
}

/// Write throughput of a window, in MB/s.
fn write_rate(window: &Window) -> f64 {
    window.throughput.write.bytes_per_second / 1e6
}

/// Terabytes (10^12 bytes) that the whole drive takes in `drive_writes` drive writes.
fn terabytes(drive_writes: f64) -> f64 {
    debug_assert!(drive_writes >= 0.0, "{drive_writes} drive writes");
    drive_writes * WHOLE_BYTES / 1e12
}

/// Whose throughput is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// The new drive's.
    New,
    /// That of the first probe after it was new: collection runs.
    Settled,
}

/// Drive writes until the read throughput falls below the share `requirement` of the base's, linear between two probes. If it never does,
/// drive writes of the whole life.
fn drive_writes_at(result: &RunResult, requirement: f64, base: Base) -> f64 {
    let windows = match base {
        Base::New => &result.windows[..],
        Base::Settled => result.windows.get(1..).unwrap_or_default(),
    };
    drive_writes_between(windows, requirement).unwrap_or(result.summary.end.at_drive_writes)
}

fn drive_writes_between(windows: &[Window], requirement: f64) -> Option<f64> {
    let wanted = requirement * read_rate(windows.first()?);
    let below = windows.iter().position(|window| read_rate(window) < wanted)?;
    assert!(below > 0, "a drive is as fast as it is when it is new, and what is asked is at most that: {requirement}");
    let (before, after) = (&windows[below - 1], &windows[below]);
    let part = (read_rate(before) - wanted) / (read_rate(before) - read_rate(after));
    Some(before.at_drive_writes + part * (after.at_drive_writes - before.at_drive_writes))
}

/// Windows of two lives at equal host writes, from the first after both were new.
fn side_by_side<'a>(one: &'a RunResult, other: &'a RunResult) -> impl Iterator<Item = (&'a Window, &'a Window)> {
    one.windows.iter().zip(&other.windows).skip(1)
}

/// Re-reads for each GiB that the host read.
fn rereads_per_gib(result: &RunResult) -> f64 {
    let pages_of_gib = f64::from(1 << 18);
    result.summary.errors.and_then(|errors| errors.host_retry_rate()).unwrap_or(0.0) * pages_of_gib
}

impl Runs {
    fn life(&self, life: Life) -> &RunResult {
        self.get(&life.scenario())
    }
}

fn finding(ours: String, agrees: bool, note: String, table: String) -> Finding {
    Finding { ours, verdict: Verdict::of(agrees), note, table }
}

fn reading(matter: Matter, what: &str, (ours, agrees): (String, bool)) -> Reading {
    Reading { what: what.to_owned(), matter, ours, verdict: Verdict::of(agrees) }
}

fn percent(share: f64) -> String {
    format!("{:+.0} %", 100.0 * share)
}

const CONFIGURATION: &str = "presets cvss-128g, trss-128g and autostream-128g at 1/64: 16 of 1,024 pages in a block, an erase 1/64 as long; 30 or 70 % \
                             mapped, the rest never written; requests of 16 KiB, half of them reads, Zipf 1.1 or uniform; lives to their end, with a \
                             probe of 20,000 requests of the same kind when new and after every 10 drive writes, one at a time";

const PUBLISHED: &str = "FEMU with 128 GiB beneath F2FS, fio with its default settings and requests of 16 KiB, half of them reads; the file system is \
                         aged first, and the drive by an acceleration factor of 2; retries halve the RBER in the text; the released code has a table \
                         with one for each 50 cycles";

const READ: &str = "no file system and no page cache: the drive sees fio's requests; fio's default is one request at a time; retries halve the RBER";

/// A claim on these lives.
const fn claim(
    class: Class,
    texts: [&'static str; 4],
    scenarios: fn() -> Vec<Scenario>,
    evaluate: fn(&Runs) -> Finding,
    others: Others,
) -> Claim {
    Claim::new(class, texts, [CONFIGURATION, PUBLISHED, READ], scenarios, evaluate, others)
}

/// A page's title and figures for a claim, if the paper has some.
pub(super) fn pictures(id: &str, runs: &Runs) -> Option<(&'static str, Vec<Picture>)> {
    figures::of(id, runs)
}

/// Every claim, in order.
pub(super) fn claims() -> Vec<Claim> {
    let first = shrink::claims().into_iter().chain(wear::first());
    let mut claims: Vec<Claim> = first.chain(speed::claims()).chain(stores::served()).collect();
    claims
        .extend(lifetime::claims().into_iter().chain(stores::thresholds()).chain(wear::last()).chain(bounds::claims()));
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_results::{Latency, OpThroughput, Throughput, WindowKind};

    #[test]
    fn a_drive_is_too_slow_between_two_probes() {
        let window = |at_drive_writes: f64, megabytes: f64| Window {
            kind: WindowKind::Probe,
            phase: 0,
            at_drive_writes,
            at_days: None,
            erase_count_mean: 0.0,
            life_used: None,
            seconds: 1.0,
            latency: Latency::default(),
            throughput: Throughput {
                read: OpThroughput { iops: 0.0, bytes_per_second: megabytes * 1e6 },
                write: OpThroughput::default(),
            },
            errors: None,
            thermal: None,
            read_cdf: Vec::new(),
            write_cdf: Vec::new(),
        };
        let windows = [window(0.0, 100.0), window(10.0, 90.0), window(20.0, 70.0), window(30.0, 95.0)];
        // (share of the new drive's throughput, drive writes)
        for (requirement, want) in [(1.0, Some(0.0)), (0.95, Some(5.0)), (0.8, Some(15.0)), (0.7, None), (0.0, None)] {
            assert_eq!(drive_writes_between(&windows, requirement), want, "{requirement}");
        }
        assert_eq!(drive_writes_between(&[], 0.8), None);
    }

    #[test]
    fn a_smaller_drive_divides_the_time_of_its_dies_as_the_whole_one() {
        for (life, pages) in [(Life::of(Design::Variant), 16), (Life::of(Design::Variant).larger(), 64)] {
            let written = life.scenario().to_toml();
            let erase = format!("erase = \"{} ns\"", 5_000_000 * pages / 1024);
            let micros = format!("erase = \"{} us\"", 5_000_000.0 * f64::from(pages) / 1024.0 / 1000.0);
            assert!(written.contains(&erase) || written.contains(&micros), "{erase}\n{written}");
        }
    }
}
