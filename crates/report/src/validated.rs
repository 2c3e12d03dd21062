//! What the validation of `docs/validation.md` spans, and a note of each figure of a run that lies outside.
//!
//! A run outside is not wrong: nothing independent was held against it there. The book's page "How far can I trust this?" says
//! what that means. A test of the validation holds these ranges to its grid.

use std::collections::BTreeSet;

use super::groups::{Group, Keys};
use wane_results::EXTRAPOLATED;

/// The least blocks of a domain (a drive, or a die that is collected by itself) of any part. There is no most: no rule
/// depends on it, and more blocks only mean less noise.
pub const DOMAIN_BLOCKS_MIN: u64 = 256;
/// The least and the most pages of a block, in mapping units.
pub const BLOCK_PAGES: (u64, u64) = (16, 256);
/// The least and the most spare factor, in percent.
pub const SPARE_PERCENT: (f64, f64) = (7.0, 50.0);
/// The most outstanding reads of a closed loop.
pub const QUEUE_DEPTH_MAX: u64 = 64;
/// Policies that choose victims.
pub const VICTIMS: &[&str] = &["greedy", "cost-benefit", "random", "d-choices", "windowed-greedy", "fifo"];
/// Policies that level wear.
pub const LEVELERS: &[&str] = &["none", "hot-cold-swap", "obp", "dual-pool", "pwl", "variance"];

/// Patterns of traffic.
const PATTERNS: [&str; 2] = ["uniform", "hot-cold"];

/// Keys whose other values nothing independent was held against, with what is told of them. A policy's key stands for its name.
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
];

/// What of a run lies outside, a phrase each; nothing where all of it lies inside.
pub(super) fn beyond(group: &Group<'_>) -> Vec<String> {
    let keys = &group.keys;
    let mut told = Vec::new();
    let mut outside = |name: &str, found: u64, least: u64, most: u64| {
        if found < least {
            told.push(format!("{found} {name} (validated from {least} on)"));
        } else if found > most {
            told.push(format!("{found} {name} (validated up to {most})"));
        }
    };
    outside("blocks that are collected together", blocks_of_domain(group), DOMAIN_BLOCKS_MIN, u64::MAX);
    if let Some(pages) = units_of_block(keys) {
        outside("pages a block", pages, BLOCK_PAGES.0, BLOCK_PAGES.1);
    }
    if let Some(depth) = number(keys, "workload.arrival.queue-depth").filter(|_| is_timed(group)) {
        outside("requests outstanding", depth as u64, 1, QUEUE_DEPTH_MAX);
    }
    if let Some(spare) = number(keys, "drive.spare-factor").map(|share| 100.0 * share) {
        // A ratio as written may lie a rounding beside the percent that it means.
        if spare < SPARE_PERCENT.0 - 1e-6 || spare > SPARE_PERCENT.1 + 1e-6 {
            let (least, most) = SPARE_PERCENT;
            told.push(format!("a spare factor of {spare:.1} % (validated from {least} to {most} %)"));
        }
    }
    for (key, values) in CHOICES {
        let policy = format!("{key}.policy");
        let chosen = keys.get(&policy).or_else(|| keys.get(*key));
        if let Some(chosen) = chosen.filter(|chosen| !values.contains(&chosen.as_str())) {
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

/// Traffic that no part has: parts write uniformly or to a hot and a cold part, all of them without trims.
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
    if of("trace").next().is_some() {
        told.push("a trace".to_owned());
    }
    if of("trim-share").any(|(_, share)| share.parse() != Ok(0.0)) {
        told.push("trims".to_owned());
    }
    told
}

/// Where the book tells more. Reports need no network and lie anywhere, so that the page is named and not linked.
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
                          domain = \"drive\"\nretire = \"never\"\n[ftl.gc]\npolicy = \"d-choices\"\nd = 3\n[time]\ngc = \"foreground\"\n";

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
            ("d-choices", "my-own", "ftl.gc = my-own"),
            ("\"foreground\"", "\"background\"", "time.gc = background"),
            ("[time]", "[workload]\nstandin = \"vdi\"\n[time]", "a stand-in for a trace"),
            ("[time]", "[workload]\ntrace = \"t.iolog\"\n[time]", "a trace"),
            ("[time]", "[workload]\npattern = \"zipf\"\n[time]", "zipf traffic"),
            ("[time]", "[workload]\ntrim-share = 0.02\n[time]", "trims"),
            ("[time]", "[drive.faults]\ndie-loss = 1\n[time]", "faults"),
            ("[time]", "[drive.variation]\nblocks = 0.1\n[time]", "variation between blocks"),
        ];
        for (from, to, want) in table {
            let found = told(run(512, &INSIDE.replace(from, to)));
            assert!(found.contains(&want.to_owned()), "{to}: {found:?}");
        }
        let plain = "[workload]\npattern = \"uniform\"\ntrim-share = 0.0\n[time]";
        assert_eq!(told(run(512, &INSIDE.replace("[time]", plain))), [""; 0]);
        assert_eq!(told(run(248, INSIDE)).len(), 1);
    }

    #[test]
    fn timed_writes_deep_queues_and_extrapolated_errors_are_told() {
        let deep = format!("{INSIDE}[workload.arrival]\nqueue-depth = 65\n");
        assert_eq!(told(run(512, &deep)), [""; 0], "an untimed run has no queue");
        let mut deep_and_timed = timed(run(512, ""), 3);
        deep_and_timed.scenario_toml = deep;
        let found = told(deep_and_timed);
        assert_eq!(
            found,
            ["65 requests outstanding (validated up to 64)", "latencies beside writes (reads alone are validated)"]
        );
        let mut erring = timed(run(512, ""), 3);
        erring.scenario_toml = INSIDE.replace("[drive]", "[drive]\nchip = \"tlc-72l-2018\"");
        assert!(told(erring).contains(&"re-reads in time (reads without errors are validated)".to_owned()));
        let mut worn = run(512, INSIDE);
        worn.summary.warnings.push(format!("the errors of a chip {EXTRAPOLATED} P/E cycles"));
        assert_eq!(told(worn), ["errors beyond the data of their model"]);
    }
}
