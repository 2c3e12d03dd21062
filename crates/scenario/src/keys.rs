//! Every key of a scenario: its kind, default, range and text. Checks and the manual are made from this table.

mod medium;
mod time;

use wane_ftl::policies::capacity::CAPACITY_POLICIES;
use wane_ftl::policies::names;
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::SCRUB_POLICIES;
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_nand::rber::CHIPS;
use wane_units::{Bytes, Nanos, Rate};

pub(super) use medium::{CELL_TIMES, CHIP_DATA, CHIP_TABLES};
pub(super) use time::{EVENT_KEYS, PRIORITY_KEYS};

/// The keys of a workload that say of what kind it is.
pub(super) const WORKLOAD_KINDS: [&str; 4] = ["pattern", "trace", "standin", "mix"];

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A bare whole number within bounds.
    Count(u64, u64),
    /// A bare whole number, or `"none"`.
    CountOrNone(u64, u64),
    /// A number within bounds.
    Number(f64, f64),
    /// A number above the first and up to the second.
    Above(f64, f64),
    /// Such a number, or `"none"`.
    AboveOrNone(f64, f64),
    /// A size with its unit, within bounds.
    Bytes(u64, u64),
    /// A size with its unit, or `"none"`.
    BytesOrNone(u64, u64),
    /// Bytes per second with their unit, within bounds, or `"none"`.
    RateOrNone(u64, u64),
    /// A duration with its unit, within bounds of nanoseconds.
    Duration(u64, u64),
    /// A duration, or a list with one for each page type.
    Durations(u64, u64),
    /// A stretch of the calendar in whole seconds, or `"none"`.
    SpanOrNone,
    /// A stretch of the calendar, the least and most of one, or `"none"`.
    Spans,
    /// Ascending ages in drive writes.
    Ages,
    /// 0 to 1, as a number or in percent.
    Ratio,
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A policy's name, or a table with `policy` and its parameters.
    Policy(Family),
    /// A list of workloads with a share each.
    Mix,
    /// A table as `[workload]`.
    Workload,
    /// When requests come.
    Arrival,
    /// A chip's name, the table of its errors, or `"none"`.
    Chip,
}

/// Most page types that a cell can have.
pub(crate) const PAGE_TYPES_MAX: usize = 4;
/// Most windows of a probe.
pub(crate) const AGES_MAX: usize = 10_000;
/// Longest stretch of the calendar.
pub(crate) const SPAN_MAX: Nanos = Nanos(100 * 365 * Nanos::DAY.0);
/// Largest queue depth.
pub(crate) const QUEUE_DEPTH_MAX: u32 = 1 << 16;
/// Longest time between two requests, on average.
pub(crate) const GAP_MAX: Nanos = Nanos::DAY;
/// Where requests may come from in time.
pub(crate) const ARRIVALS: [&str; 3] = ["queue-depth", "poisson", "normal"];

/// A family of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `ftl.gc`
    Victim,
    /// `ftl.wear-leveling`
    WearLeveling,
    /// `ftl.capacity`
    Capacity,
    /// `ftl.redundancy`
    Redundancy,
    /// `ftl.scrub`
    Scrub,
    /// `ftl.retire`
    Retirement,
}

impl Family {
    /// The key under `[ftl]`.
    pub fn key(self) -> &'static str {
        match self {
            Family::Victim => "gc",
            Family::WearLeveling => "wear-leveling",
            Family::Capacity => "capacity",
            Family::Redundancy => "redundancy",
            Family::Scrub => "scrub",
            Family::Retirement => "retire",
        }
    }

    /// Names of its policies.
    pub fn names(self) -> Vec<&'static str> {
        match self {
            Family::Victim => names(VICTIM_POLICIES),
            Family::WearLeveling => names(WEAR_LEVEL_POLICIES),
            Family::Capacity => names(CAPACITY_POLICIES),
            Family::Redundancy => names(REDUNDANCY_POLICIES),
            Family::Scrub => names(SCRUB_POLICIES),
            Family::Retirement => names(RETIRE_POLICIES),
        }
    }
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name within its section.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// The default, as the manual shows it.
    pub default: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// A table of a scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    /// Its name; empty for the top.
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

const fn key(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { name, kind, default, doc }
}

const U32: u64 = u32::MAX as u64;
const ANY: u64 = i64::MAX as u64;
/// Largest seed: TOML's integers have room above it for the seeds that follow.
pub const SEED_MAX: u64 = 1 << 62;
const MIB: u64 = 1 << 20;
/// A sector: no unit of a drive is smaller.
const SECTOR: u64 = 512;

/// The patterns.
pub(crate) const PATTERNS: &[&str] = &["uniform", "hot-cold", "zipf", "sequential", "hybrid", "jesd219"];

/// The top of a scenario.
pub(crate) const TOP: Section = Section {
    name: "",
    doc: "The run as a whole.",
    keys: &[
        key(
            "seed",
            Kind::Count(0, SEED_MAX),
            "1",
            "Root of all random streams. The same scenario and seed give the same result, byte for byte.",
        ),
        key("name", Kind::Text, "the file's name", "A name for people, shown in results and reports."),
    ],
};

/// The flash and what is exported of it.
pub(crate) const DRIVE: Section = Section {
    name: "drive",
    doc: "The flash, and what the drive exports of it. Two of logical capacity, spare factor and geometry are given, the third \
          follows. A key set here displaces one that comes from the preset.",
    keys: &[
        key(
            "preset",
            Kind::Text,
            "none",
            "The drive to start from; `wane presets` lists them. `none` starts from the defaults of this page.",
        ),
        key(
            "logical-capacity",
            Kind::Bytes(SECTOR, 1 << 56),
            "8 GiB",
            "What the drive exports when new. A multiple of the mapping unit.",
        ),
        key(
            "spare-factor",
            Kind::Ratio,
            "10 %",
            "(physical - logical) / physical capacity. With a logical capacity, the physical blocks are floor(logical / (1 - spare-factor)), and the reserve of garbage collection comes on top, rounded up to whole dies and planes; with a geometry, the logical pages are floor((1 - spare-factor) x physical pages), and the reserve lies inside.",
        ),
        key("channels", Kind::Count(1, 4096), "1", "Channels of the drive."),
        key("dies-per-channel", Kind::Count(1, 4096), "1", "Dies on each channel."),
        key("planes-per-die", Kind::Count(1, 64), "1", "Planes of each die."),
        key("blocks-per-plane", Kind::Count(1, U32), "derived", "Blocks of each plane."),
        key(
            "blocks",
            Kind::Count(1, U32),
            "derived",
            "Blocks of the whole drive, instead of `blocks-per-plane`. A multiple of the drive's planes.",
        ),
        key(
            "pages-per-block",
            Kind::Count(1, 1 << 20),
            "256",
            "Pages of a block. At least 2 mapping units must fit a block.",
        ),
        key("page-size", Kind::Bytes(SECTOR, 16 * MIB), "4 KiB", "Unit of program."),
        key(
            "mapping-unit",
            Kind::Bytes(SECTOR, 16 * MIB),
            "the page",
            "Unit of the map, of validity and of host pages: the page or a whole fraction of it. Fine units make small writes cheap and maps large.",
        ),
        key(
            "endurance",
            Kind::CountOrNone(1, U32),
            "500",
            "Rated P/E cycles, which policies read and at which blocks retire; or `\"none\"`.",
        ),
        medium::CHIP,
        medium::CELL,
    ],
};

/// The firmware.
pub(crate) const FTL: Section = Section {
    name: "ftl",
    doc: "The firmware.",
    keys: &[
        key("gc", Kind::Policy(Family::Victim), "{ policy = \"greedy\" }", "Which block garbage collection reclaims."),
        key(
            "wear-leveling",
            Kind::Policy(Family::WearLeveling),
            "{ policy = \"none\" }",
            "Which data moves so that blocks wear alike. Off during preconditioning.",
        ),
        key(
            "capacity",
            Kind::Policy(Family::Capacity),
            "{ policy = \"fixed\" }",
            "What happens to the exported capacity as blocks retire.",
        ),
        key(
            "redundancy",
            Kind::Policy(Family::Redundancy),
            "{ policy = \"none\" }",
            "Which pages protect each other by parity on another die. Needs `domain = \"die\"` or `unit = \"superblock\"`.",
        ),
        key(
            "scrub",
            Kind::Policy(Family::Scrub),
            "{ policy = \"none\" }",
            "Which blocks are relocated before their errors grow too many. An untimed run scrubs a block at most after each request; a timed one whenever the last relocation is through. Off during preconditioning.",
        ),
        key(
            "gc-reserve",
            Kind::Count(1, 1 << 20),
            "7",
            "Free blocks that garbage collection keeps, in each domain. At least 2 where blocks can retire or swap.",
        ),
        key(
            "retire",
            Kind::Policy(Family::Retirement),
            "{ policy = \"at-endurance\" }",
            "When a block leaves service. One whose erase failed leaves it in any case.",
        ),
        key(
            "unit",
            Kind::Choice(&["block", "superblock"]),
            "block",
            "Unit of reclaim: a block, or a block of every plane of the domain together.",
        ),
        key(
            "domain",
            Kind::Choice(&["drive", "die"]),
            "drive",
            "How far one free list, its frontiers and its victim index reach. With `die`, host pages go to the dies in turn, channel first.",
        ),
        key(
            "frontiers",
            Kind::Choice(&["one", "separate"]),
            "one",
            "Whether relocated pages fill the host's block or blocks of their own, one for garbage collection and one for scrubbing, which keeps hot and cold data apart.",
        ),
    ],
};

/// How the drive is aged before counting.
pub(crate) const PRECONDITION: Section = Section {
    name: "precondition",
    doc: "What happens before counting starts. Wear from here is kept; wear leveling is off.",
    keys: &[
        key(
            "fill",
            Kind::Ratio,
            "100 %",
            "Share of the logical pages written first, sequentially. `\"0 %\"` starts with an empty drive. Less than 100 % displaces the drive writes of a preset.",
        ),
        key(
            "sequential-drive-writes",
            Kind::Count(0, 1 << 20),
            "1 when filled",
            "Sequential drive writes; the fill is the first of them.",
        ),
        key("random-drive-writes", Kind::Number(0.0, 1e6), "0", "Uniform random writes after that, in drive writes."),
    ],
};

/// Where requests come from.
pub(crate) const WORKLOAD: Section = Section {
    name: "workload",
    doc: "Where requests come from: a pattern, a trace, a stand-in for a published trace, or a mixture.",
    keys: &[
        key(
            "pattern",
            Kind::Choice(PATTERNS),
            "uniform",
            "`uniform`; `hot-cold`: r of the accesses go to h of the footprint; `zipf`; `sequential`, wrapping; `hybrid`: random and sequential; `jesd219`: 50 % of the accesses on 5 % of the pages, 30 % on the next 15 %.",
        ),
        key("footprint", Kind::Ratio, "100 %", "Share of the logical pages that a pattern touches, from page 0 on."),
        key("request-size", Kind::Bytes(SECTOR, 1 << 40), "one mapping unit", "Size of a pattern's requests."),
        key("read-share", Kind::Ratio, "0 %", "Share of a pattern's requests that read."),
        key("trim-share", Kind::Ratio, "0 %", "Share of a pattern's requests that trim."),
        key("r", Kind::Ratio, "0.8", "`hot-cold`: share of the accesses that go to the hot pages."),
        key("h", Kind::Ratio, "0.2", "`hot-cold`: share of the footprint that is hot."),
        key("exponent", Kind::Number(0.0, 10.0), "1.2", "`zipf`: the exponent theta; 0 is uniform."),
        key("scramble", Kind::Flag, "true", "`zipf`: spread the popular pages over the footprint."),
        key(
            "sequential-share",
            Kind::Ratio,
            "50 %",
            "`hybrid`: share of the requests that go on where the last sequential one ended.",
        ),
        key("trace", Kind::Text, "none", "A trace file; relative to the scenario's folder. `\"-\"` reads stdin."),
        key(
            "trace-name",
            Kind::Text,
            "`trace`",
            "The name by which the trace counts in the scenario's hash. Resolved scenarios have it, where `trace` became an absolute path.",
        ),
        key("format", Kind::Text, "auto", "The trace's format; `auto` looks at its content."),
        key("assume-op", Kind::Choice(&["read", "write"]), "write", "Direction of a trace that has none."),
        key("assume-block", Kind::Bytes(1, MIB), "512 B", "Unit of a trace that has none."),
        key("skip-bad-lines", Kind::Flag, "false", "Count lines that do not parse instead of stopping at the first."),
        key(
            "remap",
            Kind::Choice(&["modulo", "compact"]),
            "modulo",
            "How a trace's pages become the drive's: page modulo logical pages, which keeps distances; or the rank among the pages touched, which keeps the footprint.",
        ),
        key("loop", Kind::Flag, "true", "Start a trace over at its end."),
        key(
            "standin",
            Kind::Text,
            "none",
            "A stand-in for a published trace, by name: `rad-be` and others have its writes, `rad-be-traffic` and others its reads too.",
        ),
        key("mix", Kind::Mix, "none", "Workloads drawn per request: `[{ share = \"70 %\", pattern = ... }, ...]`."),
        key("share", Kind::Ratio, "required in a mix", "A mixture's part: share of the requests."),
        time::ARRIVAL,
    ],
};

/// When a run or phase ends.
pub(crate) const UNTIL: Section = Section {
    name: "until",
    doc: "When the run, or a phase, ends: at whichever comes first. A trace without `loop` also ends at its end, and a dead \
          drive always ends the run.",
    keys: &[
        key(
            "drive-writes",
            Kind::Number(0.0, 1e9),
            "none",
            "Host pages written over the initial logical pages, since preconditioning or the start of the phase.",
        ),
        key("requests", Kind::Count(1, ANY), "none", "Requests served."),
        key("end-of-life", Kind::Flag, "false", "Run until the drive is dead."),
    ],
};

/// Every section, in the order of the manual.
pub(crate) const SECTIONS: &[&Section] = &[
    &TOP,
    &DRIVE,
    &medium::TIMING,
    &medium::ECC,
    &medium::VARIATION,
    &medium::INITIAL,
    &medium::FAULTS,
    &FTL,
    &PRECONDITION,
    &WORKLOAD,
    &UNTIL,
    &time::TIME,
    &time::PROBE,
    &time::PROBE_UNTIL,
];

impl Section {
    /// The tables in this one, by the names that they have here.
    pub(crate) fn inner(&self) -> impl Iterator<Item = (&'static str, &'static Section)> {
        let name = self.name;
        SECTIONS.iter().filter_map(move |section| {
            let inner = section.name.strip_prefix(name)?.strip_prefix('.')?;
            Some((inner, *section))
        })
    }
}

/// The manual page of all keys, in Markdown.
pub fn manual() -> String {
    let mut page = String::from(
        "# The scenario file\n\nOne TOML file says everything about a run. Unknown keys are refused. Ratios are written `0.9` or \
         `\"90 %\"`, counts as bare numbers, everything else with its unit: `\"4 KiB\"`, `\"75 us\"`, `\"667 MB/s\"`, `\"90 days\"`. Values come in layers: the preset, the file, `--set \
         KEY=VALUE`; a layer that names another policy than the one below replaces that table whole. `[[phase]]` tables, each with \
         its `workload` and `until`, take the place of a single workload; `--set phase.0.until.requests=5` speaks of the \
         first.\n",
    );
    for section in SECTIONS {
        let title = if section.name.is_empty() { "Top".to_owned() } else { format!("`[{}]`", section.name) };
        page.push_str(&format!(
            "\n## {title}\n\n{}\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n",
            section.doc
        ));
        for key in section.keys {
            page.push_str(&format!(
                "| `{}` | {} | {} | {} |\n",
                key.name,
                code(key.default),
                key.kind.allowed(),
                key.doc
            ));
        }
    }
    page
}

fn code(text: &str) -> String {
    if text.starts_with(['{', '[']) || text.starts_with(|first: char| first.is_ascii_digit()) {
        format!("`{text}`")
    } else {
        text.to_owned()
    }
}

impl Kind {
    /// What is allowed, in words.
    pub(crate) fn allowed(&self) -> String {
        match self {
            Kind::Count(least, most) => range(*least, *most),
            Kind::CountOrNone(least, most) => format!("{}, or `\"none\"`", range(*least, *most)),
            Kind::Number(least, most) => format!("a number from {least} to {most}"),
            Kind::Bytes(least, most) => format!("a size with its unit, \"{}\" to \"{}\"", Bytes(*least), Bytes(*most)),
            Kind::Above(least, most) => above(*least, *most),
            Kind::AboveOrNone(least, most) => format!("{}, or `\"none\"`", above(*least, *most)),
            Kind::BytesOrNone(least, most) => format!("{}, or `\"none\"`", Kind::Bytes(*least, *most).allowed()),
            Kind::RateOrNone(least, most) => {
                format!("a rate, \"{}\" to \"{}\", or `\"none\"`", Rate(*least), Rate(*most))
            }
            Kind::Duration(least, most) => {
                format!("a duration with its unit, \"{}\" to \"{}\"", Nanos(*least), Nanos(*most))
            }
            Kind::Durations(least, most) => {
                format!("{}, or a list of 1 to {PAGE_TYPES_MAX}", Kind::Duration(*least, *most).allowed())
            }
            Kind::SpanOrNone => format!("{}, or `\"none\"`", span()),
            Kind::Spans => format!("{}, a list of the least and the most, or `\"none\"`", span()),
            Kind::Ages => format!("a list of 1 to {AGES_MAX} ascending numbers from 0 to 1e9"),
            Kind::Ratio => "0 to 1, or \"0 %\" to \"100 %\"".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Text => "text".to_owned(),
            Kind::Choice(words) => words.join(", "),
            Kind::Policy(family) => {
                format!("a policy ({}), or a table with `policy` and its parameters", family.names().join(", "))
            }
            Kind::Mix => "a list of workloads with `share`".to_owned(),
            Kind::Workload => "a table as `[workload]`".to_owned(),
            Kind::Arrival => {
                "one of `{ queue-depth = 16 }`, `{ poisson = \"0.5 ms\" }`, `{ normal = [\"100 ms\", \"10 ms\"] }` \
                              and `\"trace\"`"
                    .to_owned()
            }
            Kind::Chip => {
                let names: Vec<&str> = CHIPS.iter().map(|chip| chip.name).collect();
                format!("none, {}, or a table of parameters", names.join(", "))
            }
        }
    }
}

fn above(least: f64, most: f64) -> String {
    format!("a number above {least}, up to {most}")
}

fn span() -> String {
    format!("a duration in whole seconds, \"0 s\" to \"{SPAN_MAX}\"")
}

fn range(least: u64, most: u64) -> String {
    format!("a whole number from {least} to {most}")
}
