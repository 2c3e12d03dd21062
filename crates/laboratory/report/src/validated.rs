//! The ranges that the validation of `docs/validation.md` spans, and a note on each figure of a run that lies outside.
//!
//! A run outside is not wrong: it was not compared with anything independent there. The book's page "How far can I trust this?" says
//! what that means. A test of the validation compares these ranges with its grid.

use std::collections::BTreeSet;

use super::groups::{Group, Keys};
use wane_results::EXTRAPOLATED;
use wane_units::Bytes;

/// The fewest blocks of a domain (a drive, or a die that is collected by itself) in any part. There is no upper limit: no rule
/// depends on it, and more blocks only mean less noise.
pub const DOMAIN_BLOCKS_MIN: u64 = 256;
/// What a kind of policy was validated over. Not every pair of the two was run: the page has the cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least and the most pages of a block, in mapping units.
    pub block_pages: (u64, u64),
    /// The least and the most spare factor, in percent.
    pub spare_percent: (f64, f64),
}
/// Drives without wear leveling that collect greedily.
pub const OF_GREEDY: Range = Range { block_pages: (16, 256), spare_percent: (7.0, 50.0) };
/// Drives without wear leveling under every other victim policy.
pub const OF_VICTIMS: Range = Range { block_pages: (64, 64), spare_percent: (7.0, 20.0) };
/// Drives with wear leveling.
pub const OF_LEVELERS: Range = Range { block_pages: (32, 32), spare_percent: (10.0, 10.0) };
/// The victim policy that wear leveling was validated with.
pub const BESIDE_LEVELERS: &str = "greedy";
/// The most outstanding reads of a closed loop.
pub const QUEUE_DEPTH_MAX: u64 = 256;
/// The highest load of reads in an open loop, in percent of what dies or channels can do.
pub const LOAD_PERCENT_MAX: f64 = 95.0;
/// Policies that choose victims.
pub const VICTIMS: &[&str] = &["greedy", "cost-benefit", "random", "d-choices", "windowed-greedy", "fifo"];
/// Policies that level wear.
pub const LEVELERS: &[&str] = &["none", "hot-cold-swap", "obp", "dual-pool", "pwl", "variance"];

/// Patterns of traffic.
const PATTERNS: [&str; 2] = ["uniform", "hot-cold"];

/// Keys with their validated values; other values were not compared with anything independent. A policy's key stands for its name.
const CHOICES: &[(&str, &[&str])] = &[
    ("ftl.gc", VICTIMS),
    ("ftl.wear-leveling", LEVELERS),
    ("ftl.capacity", &["fixed"]),
    ("ftl.retire", &["at-endurance", "never"]),
    ("ftl.redundancy", &["none"]),
    ("ftl.scrub", &["none"]),
    ("ftl.unit", &["block"]),
    ("ftl.domain", &["drive"]),
    ("ftl.frontiers", &["one"]),
    ("ftl.placement", &["one"]),
    ("ftl.allocation", &["fifo"]),
    ("time.order", &["first-come"]),
    ("time.suspend", &["none"]),
    ("time.gc", &["foreground"]),
    ("time.multi-plane", &["false"]),
    ("time.write-cache", &["none"]),
    ("time.processors", &["none"]),
    ("time.link-rate", &["none"]),
    ("time.command-time", &["0 ns"]),
];

/// Phrases for what of a run lies outside; empty if all of it lies inside.
pub(super) fn beyond(group: &Group<'_>) -> Vec<String> {
    let keys = &group.keys;
    let mut told = Vec::new();
    let mut outside = |name: &str, found: u64, least: u64, most: u64| {
        if found != least && least == most {
            told.push(format!("{found} {name} (validated with {least})"));
        } else if found < least {
            told.push(format!("{found} {name} (validated from {least} on)"));
        } else if found > most {
            told.push(format!("{found} {name} (validated up to {most})"));
        }
    };
    outside("blocks that are collected together", blocks_of_domain(group), DOMAIN_BLOCKS_MIN, u64::MAX);
    let is_leveled = chosen(keys, "ftl.wear-leveling").is_some_and(|leveler| leveler != "none");
    let is_greedy = chosen(keys, "ftl.gc").is_none_or(|victims| victims == BESIDE_LEVELERS);
    let range = match (is_leveled, is_greedy) {
        (true, _) => OF_LEVELERS,
        (false, true) => OF_GREEDY,
        (false, false) => OF_VICTIMS,
    };
    if let Some(pages) = units_of_block(keys) {
        outside("pages a block", pages, range.block_pages.0, range.block_pages.1);
    }
    if let Some(depth) = number(keys, "workload.arrival.queue-depth").filter(|_| is_timed(group)) {
        outside("requests outstanding", depth as u64, 1, QUEUE_DEPTH_MAX);
    }
    if let Some(spare) = number(keys, "drive.spare-factor").map(|share| 100.0 * share) {
        let (least, most) = range.spare_percent;
        // A ratio as written may differ by rounding from the percent that it means.
        if spare < least - 1e-6 || spare > most + 1e-6 {
            let span = if least < most { format!("from {least} to {most} %") } else { format!("with {least} %") };
            told.push(format!("a spare factor of {spare:.1} % (validated {span})"));
        }
    }
    if is_leveled && let Some(victims) = chosen(keys, "ftl.gc").filter(|victims| *victims != BESIDE_LEVELERS) {
        told.push(format!("wear leveling beside ftl.gc = {victims} (validated beside {BESIDE_LEVELERS})"));
    }
    if let Some(load) = load_percent(group).filter(|load| *load > LOAD_PERCENT_MAX) {
        told.push(format!("a load of {load:.0} % (validated up to {LOAD_PERCENT_MAX} %)"));
    }
    for (key, values) in CHOICES {
        if let Some(chosen) = chosen(keys, key).filter(|chosen| !values.contains(chosen)) {
            told.push(format!("{key} = {chosen}"));
        }
    }
    if is_timed(group)
        && group.runs.iter().any(|run| run.summary.latency.as_ref().is_some_and(|one| one.write.is_some()))
    {
        told.push("latencies beside writes (reads alone are validated)".to_owned());
    }
    told.extend(traffic(keys));
    if is_timed(group) && keys.iter().any(|(key, chip)| key.starts_with("drive.chip") && chip != "none") {
        told.push("re-reads in time (reads without errors are validated)".to_owned());
    }
    for (table, what) in [("drive.faults.", "faults"), ("drive.variation.", "variation between blocks")] {
        if keys.iter().any(|(key, _)| key.starts_with(table)) {
            told.push(what.to_owned());
        }
    }
    let mut warnings = group.runs.iter().flat_map(|run| &run.summary.warnings);
    if warnings.any(|warning| warning.contains(EXTRAPOLATED)) {
        told.push("errors beyond the data of their model".to_owned());
    }
    told
}

/// A key's value, or the name of the policy in its table.
fn chosen<'a>(keys: &'a Keys, key: &str) -> Option<&'a str> {
    keys.get(&format!("{key}.policy")).or_else(|| keys.get(key)).map(String::as_str)
}

/// How busy reads in an open loop keep their bottleneck, dies or channels, in percent: a die is held while a page is sensed and moved, a
/// channel while it is moved. `None` if there is no such read, or if writes are served too, which have a phrase of their own.
fn load_percent(group: &Group<'_>) -> Option<f64> {
    let summary = &group.first().summary;
    let read = summary.latency.as_ref().filter(|latency| latency.write.is_none())?.read?;
    let rate = summary.throughput.as_ref()?.read.iops / 1e9;
    if group.keys.contains_key("workload.arrival.queue-depth") {
        return None;
    }
    let channels = number(&group.keys, "drive.channels")?;
    let dies = channels * number(&group.keys, "drive.dies-per-channel")?;
    let moved = read.breakdown_ns.transfer;
    Some(100.0 * rate * ((read.breakdown_ns.sensing + moved) / dies).max(moved / channels))
}

/// Phrases for traffic that no part has: parts write uniformly or to a hot and a cold part, a mapping unit at a time and without trims.
fn traffic(keys: &Keys) -> Vec<String> {
    let of = |name: &'static str| keys.iter().filter(move |(key, _)| key.rsplit('.').next() == Some(name));
    let mut told = Vec::new();
    let patterns: BTreeSet<&str> = of("pattern").map(|(_, pattern)| pattern.as_str()).collect();
    told.extend(
        patterns.into_iter().filter(|pattern| !PATTERNS.contains(pattern)).map(|pattern| format!("{pattern} traffic")),
    );
    if of("standin").next().is_some() {
        told.push("a stand-in for a trace".to_owned());
    }
    if of("lsm").next().is_some() {
        told.push("a key-value store".to_owned());
    }
    if of("trace").next().is_some() {
        told.push("a trace".to_owned());
    }
    if let Some(unit) = keys.get("drive.mapping-unit").and_then(|unit| bytes(unit)) {
        let sizes: BTreeSet<u64> = of("request-size").filter_map(|(_, size)| bytes(size)).collect();
        if let Some(size) = sizes.last().filter(|size| **size > unit) {
            told.push(format!("requests of {} (validated one mapping unit at a time)", Bytes(*size)));
        }
    }
    if of("trim-share").any(|(_, share)| share.parse() != Ok(0.0)) {
        told.push("trims".to_owned());
    }
    told
}

/// Where the book says more. Reports need no network and lie anywhere, so the page is named and not linked.
pub(super) const WHERE: &str =
    "what that means: \u{201c}How far can I trust this?\u{201d}, a page of the book (docs/src/trust.md)";

fn is_timed(group: &Group<'_>) -> bool {
    group.first().summary.latency.is_some()
}

fn number(keys: &Keys, key: &str) -> Option<f64> {
    keys.get(key)?.parse().ok()
}

fn blocks_of_domain(group: &Group<'_>) -> u64 {
    let blocks = &group.first().blocks;
    let dies = 1 + u64::from(blocks.iter().map(|block| block.die).max().unwrap_or(0));
    let by_die = group.keys.get("ftl.domain").is_some_and(|domain| domain == "die");
    blocks.len() as u64 / if by_die { dies } else { 1 }
}

/// Mapping units of a block: its pages times the units in one.
fn units_of_block(keys: &Keys) -> Option<u64> {
    let size = |key| bytes(keys.get(key)?);
    let units = size("drive.page-size")? / size("drive.mapping-unit")?;
    Some(number(keys, "drive.pages-per-block")? as u64 * units)
}

/// A size as a resolved scenario writes it: `4 KiB`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let shift = match unit {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::groups;
    use wane_results::RunResult;
    use wane_results::test_runs::{MadeUp, made_up, timed};

    const INSIDE: &str = "[drive]\nspare-factor = 0.07\npages-per-block = 64\npage-size = \"16 KiB\"\nmapping-unit = \"4 KiB\"\n[ftl]\n\
                          domain = \"drive\"\nretire = \"never\"\n[ftl.gc]\npolicy = \"greedy\"\n[time]\ngc = \"foreground\"\n";

    fn run(blocks: u32, toml: &str) -> RunResult {
        let mut run = made_up(MadeUp { name: "a", seed: 1, blocks, rows: 2, variant: false, leveled: false });
        run.scenario_toml = toml.to_owned();
        run
    }

    fn told(run: RunResult) -> Vec<String> {
        beyond(&groups(&[run])[0])
    }

    #[test]
    fn what_lies_inside_is_not_told_and_what_lies_outside_is_told_once() {
        assert_eq!(told(run(512, INSIDE)), [""; 0]);
        let table = [
            ("= 0.07", "= 0.05", "a spare factor of 5.0 % (validated from 7 to 50 %)"),
            ("= 64", "= 3", "12 pages a block (validated from 16 on)"),
            ("= 64", "= 65", "260 pages a block (validated up to 256)"),
            ("\"drive\"", "\"die\"", "128 blocks that are collected together (validated from 256 on)"),
            ("\"never\"", "\"rber\"", "ftl.retire = rber"),
            ("greedy", "my-own", "ftl.gc = my-own"),
            ("\"foreground\"", "\"background\"", "time.gc = background"),
            ("[time]", "[workload]\nstandin = \"vdi\"\n[time]", "a stand-in for a trace"),
            ("[time]", "[workload]\ntrace = \"t.iolog\"\n[time]", "a trace"),
            ("[time]", "[workload]\npattern = \"zipf\"\n[time]", "zipf traffic"),
            ("[time]", "[workload]\ntrim-share = 0.02\n[time]", "trims"),
            (
                "[time]",
                "[workload]\nrequest-size = \"16 KiB\"\n[time]",
                "requests of 16 KiB (validated one mapping unit at a time)",
            ),
            (
                "[time]",
                "[ftl.wear-leveling]\npolicy = \"pwl\"\n[time]",
                "a spare factor of 7.0 % (validated with 10 %)",
            ),
            ("[time]", "[drive.faults]\ndie-loss = 1\n[time]", "faults"),
            ("[time]", "[drive.variation]\nblocks = 0.1\n[time]", "variation between blocks"),
        ];
        for (from, to, want) in table {
            let found = told(run(512, &INSIDE.replace(from, to)));
            assert!(found.contains(&want.to_owned()), "{to}: {found:?}");
        }
        let plain = "[workload]\npattern = \"uniform\"\ntrim-share = 0.0\n[time]";
        assert_eq!(told(run(512, &INSIDE.replace("[time]", plain))), [""; 0]);
        let one_unit = "[workload]\nrequest-size = \"4 KiB\"\n[time]";
        assert_eq!(told(run(512, &INSIDE.replace("[time]", one_unit))), [""; 0]);
        assert_eq!(told(run(248, INSIDE)).len(), 1);
    }

    #[test]
    fn each_kind_of_policy_has_ranges_of_its_own() {
        let with = |spare: &str, pages: &str, victims: &str, leveler: &str| {
            let toml = INSIDE.replace("= 0.07", &format!("= {spare}")).replace("= 64", &format!("= {pages}"));
            let toml = toml.replace("\"greedy\"", &format!("\"{victims}\""));
            told(run(512, &toml.replace("[time]", &format!("[ftl.wear-leveling]\npolicy = \"{leveler}\"\n[time]"))))
        };
        // A page holds four mapping units.
        let inside = [("0.5", "64", "greedy", "none"), ("0.2", "16", "fifo", "none"), ("0.1", "8", "greedy", "obp")];
        for (spare, pages, victims, leveler) in inside {
            assert_eq!(with(spare, pages, victims, leveler), [""; 0], "{victims} {leveler}");
        }
        assert_eq!(
            with("0.5", "64", "fifo", "none"),
            ["256 pages a block (validated with 64)", "a spare factor of 50.0 % (validated from 7 to 20 %)"]
        );
        assert_eq!(
            with("0.2", "16", "fifo", "obp"),
            [
                "64 pages a block (validated with 32)",
                "a spare factor of 20.0 % (validated with 10 %)",
                "wear leveling beside ftl.gc = fifo (validated beside greedy)"
            ]
        );
    }

    #[test]
    fn loads_of_reads_that_come_by_themselves_are_told_beyond_what_was_validated() {
        let toml = "[drive]\nchannels = 2\ndies-per-channel = 4\n[workload]\npattern = \"uniform\"\n[workload.arrival]\npoisson = \"1 us\"\n";
        let mut run = timed(run(512, toml), 3);
        run.scenario_toml = toml.to_owned();
        let latency = run.summary.latency.as_mut().unwrap();
        latency.write = None;
        let read = latency.read.as_mut().unwrap();
        (read.breakdown_ns.sensing, read.breakdown_ns.transfer) = (60_000.0, 20_000.0);
        let mut at = |iops, toml: &str| {
            run.summary.throughput.as_mut().unwrap().read.iops = iops;
            run.scenario_toml = toml.to_owned();
            told(run.clone())
        };
        // Eight dies of 80 us serve 100,000 reads a second, two channels of 20 us as many.
        assert_eq!(at(95_000.0, toml), [""; 0]);
        assert_eq!(at(98_000.0, toml), ["a load of 98 % (validated up to 95 %)"]);
        let closed = toml.replace("poisson = \"1 us\"", "queue-depth = 4");
        assert_eq!(at(98_000.0, &closed), [""; 0], "as many as are outstanding make no queue of their own");
    }

    #[test]
    fn timed_writes_deep_queues_and_extrapolated_errors_are_told() {
        let deep = format!("{INSIDE}[workload.arrival]\nqueue-depth = 257\n");
        assert_eq!(told(run(512, &deep)), [""; 0], "an untimed run has no queue");
        let mut deep_and_timed = timed(run(512, ""), 3);
        deep_and_timed.scenario_toml = deep;
        let found = told(deep_and_timed);
        assert_eq!(
            found,
            ["257 requests outstanding (validated up to 256)", "latencies beside writes (reads alone are validated)"]
        );
        let mut erring = timed(run(512, ""), 3);
        erring.scenario_toml = INSIDE.replace("[drive]", "[drive]\nchip = \"tlc-72l-2018\"");
        assert!(told(erring).contains(&"re-reads in time (reads without errors are validated)".to_owned()));
        let mut worn = run(512, INSIDE);
        worn.summary.warnings.push(format!("the errors of a chip {EXTRAPOLATED} P/E cycles"));
        assert_eq!(told(worn), ["errors beyond the data of their model"]);
    }

    #[test]
    fn the_book_explains_every_phrase() {
        let book = include_str!("../../../../docs/src/trust.md").to_lowercase();
        for phrase in [
            "blocks that are collected together",
            "pages a block",
            "a spare factor",
            "wear leveling beside",
            "requests outstanding",
            "a load",
            "requests of 16 kib",
            "`ftl.capacity = variant`",
            "zipf, jesd219, sequential or hybrid traffic",
            "a stand-in for a trace",
            "a trace",
            "trims",
            "latencies beside writes",
            "re-reads in time",
            "faults",
            "variation between blocks",
            "errors beyond the data of their model",
        ] {
            let row =
                book.lines().find(|line| line.starts_with('|') && line.split('|').nth(1).unwrap().contains(phrase));
            assert!(row.is_some(), "{phrase}");
        }
    }
}
