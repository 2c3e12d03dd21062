//! The page around the pictures: what was run, the answer, key figures, tables and the scenario.

use std::fmt::Write as _;

use super::ages::note;
use super::array;
use super::compare::comparison;
use super::distribution::distribution;
use super::errors::errors;
use super::figures::figures;
use super::flat::without_flat;
use super::groups::{Group, Keys, differing, groups};
use super::html::{Figure, Table, beyond_box, document, escape, figure, hero, swatch, table, warning_box};
use super::latency::latencies;
use super::map::maps;
use super::numbers::{capacity, counted, percent, short_or_dash};
use super::paper::{FigureFile, Format, files};
use super::picture::{Drawing, Values};
use super::series::assigned_to;
use super::settled::unsettled;
use super::thermal::heat;
use super::timed;
use super::validated;
use super::words::{
    as_of_arrays, ends, headline, jain_in_digits, life, life_in_words, paragraphs, with_interval, written, years,
};
use wane_results::{EndReason, RunResult, Summary};

/// Size that a page should stay below, in bytes.
const BYTES_MAX: usize = 1_000_000;
/// From this coarseness on a page leaves the values of its charts out.
const LEFT_FROM: usize = 8;
/// Most scenarios that are printed whole.
const SCENARIOS_MAX: usize = 12;
/// Most groups that are described in sentences above the table.
const PARAGRAPHS_MAX: usize = 6;
/// Figures before the measures that are one click away.
const FIRST_FIGURES: usize = 2;
/// Most groups in the table of key figures.
const TOLD_MAX: usize = 64;

/// One page about one run, or about several laid over each other: HTML that needs nothing else, under 1 MB.
///
/// Runs that differ in their seed only are drawn as one with a band. The page of one array has its drives side by side.
pub fn render(runs: &[RunResult]) -> String {
    match runs {
        [run] if let Some(opening) = array::opening(run) => render_opened(&run.drives, Some(&opening)),
        _ => render_opened(runs, None),
    }
}

/// What a page begins with, instead of what its runs say themselves.
pub(super) struct Opening<'a> {
    /// What was run.
    pub(super) name: String,
    /// The answer in one line.
    pub(super) headline: String,
    /// Markup that follows it.
    pub(super) lead: String,
    /// The array: pictures of what its host felt come next.
    pub(super) host: &'a RunResult,
    /// Markup that follows them.
    pub(super) section: String,
}

/// As [`render`], with another beginning.
fn render_opened(runs: &[RunResult], opened: Option<&Opening<'_>>) -> String {
    let groups = groups(runs);
    // Curves and maps are drawn as finely as the size allows.
    let mut page = String::new();
    for coarseness in [1, 2, 4, 8, 16] {
        page = draw(&groups, coarseness, opened);
        if page.len() < BYTES_MAX {
            break;
        }
    }
    page
}

/// The pictures of [`render`] as files for a paper, each with the values behind it.
pub fn figure_files(runs: &[RunResult], format: Format) -> Vec<FigureFile> {
    match runs {
        [run] if run.summary.array.is_some() => {
            let own = array::pictures(run);
            files(&own, format).into_iter().chain(files(&all_pictures(&run.drives), format)).collect()
        }
        _ => files(&all_pictures(runs), format),
    }
}

/// Every picture of a page.
pub(super) fn all_pictures(runs: &[RunResult]) -> Vec<Figure> {
    let groups = groups(runs);
    let compared = comparison(&groups)
        .map_or_else(Vec::new, |found| found.shown.into_iter().chain(found.more.map(|(_, figure)| figure)).collect());
    compared.into_iter().chain(pictures(&groups, 1)).collect()
}

fn draw(groups: &[Group<'_>], coarseness: usize, opened: Option<&Opening<'_>>) -> String {
    let title = match groups {
        _ if let Some(opened) = opened => format!("{} \u{2013} wane report", opened.name),
        [] => "wane report".to_owned(),
        [group] => format!("{} \u{2013} wane report", group.label),
        several => format!("{} runs \u{2013} wane report", several.len()),
    };
    let values = if coarseness < LEFT_FROM { Values::Beside } else { Values::Left };
    let comparison = comparison(groups);
    let headline = comparison.as_ref().and_then(|found| found.headline.clone()).unwrap_or_else(|| headline(groups));
    let mut page = match opened {
        Some(opened) => {
            let of_host = array::of_host(opened.host, coarseness);
            let drawn: String = of_host.iter().map(|shown| figure(shown, values)).collect();
            header(Some(&opened.name), &opened.headline) + &opened.lead + &drawn + &opened.section
        }
        None => header(if let [group] = groups { Some(&group.label) } else { None }, &headline),
    };
    let (compared, more) = comparison.map_or((Vec::new(), None), |found| (found.shown, found.more));
    let over_life = pictures(groups, coarseness).into_iter().map(|figure| without_flat(figure, groups.len()));
    let (left_out, telling): (Vec<Figure>, Vec<Figure>) = over_life.partition(|figure| figure.drawings.is_empty());
    let drawn: Vec<Figure> = compared.into_iter().chain(telling).chain(left_out).collect();
    let mut ids: Vec<&str> = drawn.iter().flat_map(|shown| &shown.drawings).map(Drawing::id).collect();
    ids.sort_unstable();
    debug_assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "the script of a page finds a picture by its id");
    for (index, shown) in drawn.iter().enumerate() {
        page.push_str(&if index == 0 { hero(shown, values) } else { figure(shown, values) });
        if index == 0 {
            page.push_str(&warnings(groups));
        }
        if index + 1 == FIRST_FIGURES.min(drawn.len())
            && let Some((names, more)) = &more
        {
            let (names, more) = (escape(names), figure(more, values));
            let _ =
                writeln!(page, "<details class=\"more\"><summary>More measures: {names}</summary>\n{more}</details>");
        }
    }
    page.push_str(&in_words(groups));
    if let [group] = groups {
        page.push_str(&tiles(group));
    } else if !groups.is_empty() {
        page.push_str(&timed::table(groups, TOLD_MAX));
        page.push_str(&array::tabulate_waits(groups, TOLD_MAX));
        page.push_str(&side_by_side(groups));
    }
    page.push_str(&what_was_run(groups));
    page.push_str(&beyond_what_was_validated(groups));
    page.push_str(&scenarios(groups));
    page.push_str(&footer(groups));
    document(&title, &page)
}

/// All pictures, the answer first.
fn pictures(groups: &[Group<'_>], coarseness: usize) -> Vec<Figure> {
    let timed =
        latencies(groups, coarseness).into_iter().chain(errors(groups, coarseness)).chain(heat(groups, coarseness));
    let life = figures(groups, coarseness);
    let wear = distribution(groups, coarseness).into_iter().chain(maps(groups, coarseness));
    // The life of a drive that died comes first, however fast it was.
    let died = groups.iter().any(|group| group.first().summary.end.reason == EndReason::EndOfLife);
    if died { life.into_iter().chain(timed).chain(wear).collect() } else { timed.chain(life).chain(wear).collect() }
}

/// The answer in one line.
fn header(name: Option<&str>, headline: &str) -> String {
    let mut text = String::from("<header>\n<p class=\"eyebrow\">wane report");
    if let Some(name) = name {
        text.push_str(&format!(" \u{b7} {}", escape(name)));
    }
    let _ = write!(text, "</p>\n<h1>{}</h1>\n</header>\n", escape(headline));
    text
}

/// What there is to say in sentences: everything of one group, the most telling of several.
fn in_words(groups: &[Group<'_>]) -> String {
    let told: String = match groups {
        [] => return String::new(),
        [group] => {
            let told = paragraphs(group).into_iter().map(|told| as_of_arrays(groups, told));
            told.map(|told| format!("<p class=\"lead\">{}</p>\n", escape(&told))).collect()
        }
        several if several.len() <= PARAGRAPHS_MAX => {
            let item = |group: &Group<'_>| {
                let told: Vec<String> = timed::in_short(group).into_iter().chain([life_in_words(group)]).collect();
                let told = as_of_arrays(std::slice::from_ref(group), told.join(" "));
                let (label, told) = (escape(&group.label), escape(&told));
                format!("<li>{}<strong>{label}.</strong> {told}</li>\n", swatch(group))
            };
            format!("<ul class=\"answers\">\n{}</ul>\n", several.iter().map(item).collect::<String>())
        }
        _ => String::new(),
    };
    let note = note(groups).filter(|_| groups.len() > 1);
    let note = note.map_or_else(String::new, |note| format!("<p class=\"caption\">{}</p>\n", escape(&note)));
    format!("<section class=\"words\">\n<h2>In words and numbers</h2>\n{told}{note}</section>\n")
}

fn warnings(groups: &[Group<'_>]) -> String {
    let mut told: Vec<String> = Vec::new();
    // One run alone says so in its first line.
    if groups.iter().map(|group| group.runs.len()).sum::<usize>() > 1 {
        told.extend(groups.iter().filter_map(interrupted));
    }
    if groups.len() > 1 {
        told.extend(
            unsettled(groups.iter().flat_map(|group| group.runs.iter().copied())).map(|told| format!("{told}.")),
        );
    }
    told.extend(shared_warnings(groups));
    warning_box(&told)
}

/// Most runs that a warning names.
const WARNED_MAX: usize = 3;

/// The warnings of runs, each once with the names of its runs. Warnings that differ only in their numbers are one.
fn shared_warnings(groups: &[Group<'_>]) -> Vec<String> {
    /// A warning as the first run has it, whether others have other numbers, and the groups of those runs.
    struct Shared<'a> {
        warning: &'a str,
        is_varied: bool,
        groups: Vec<usize>,
    }
    let words = |warning: &str| warning.replace(|letter: char| letter.is_ascii_digit() || ".,".contains(letter), "");
    let mut all: Vec<Shared<'_>> = Vec::new();
    for (group, run) in groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run))) {
        for warning in &run.summary.warnings {
            let Some(shared) = all.iter_mut().find(|shared| words(shared.warning) == words(warning)) else {
                all.push(Shared { warning, is_varied: false, groups: vec![group.index] });
                continue;
            };
            shared.is_varied |= shared.warning != warning;
            if !shared.groups.contains(&group.index) {
                shared.groups.push(group.index);
            }
        }
    }
    let told = |shared: &Shared<'_>| {
        let names: Vec<&str> = shared.groups.iter().map(|group| groups[*group].label.as_str()).collect();
        let rest = names.len().saturating_sub(WARNED_MAX);
        let whose = match (groups.len(), names.len()) {
            (1, _) => return shared.warning.to_owned(),
            (all, some) if all == some && shared.is_varied => {
                format!("all runs, here with the numbers of {}", names[0])
            }
            (all, some) if all == some => "all runs".to_owned(),
            (_, some) if some <= WARNED_MAX => names.join("; "),
            _ => format!("{} and {rest} more", names[..WARNED_MAX].join("; ")),
        };
        format!("{whose}: {}", shared.warning)
    };
    all.iter().map(told).collect()
}

/// What became of the runs of a group that were interrupted; `None` where none was.
fn interrupted(group: &Group<'_>) -> Option<String> {
    let is_partial = group.first().summary.end.reason == EndReason::Interrupted;
    let told = match (group.left_out, group.runs.len()) {
        (0, _) if !is_partial => return None,
        (0, 1) => "the run was interrupted: its figures cover the time until then".to_owned(),
        (0, all) => format!("all {all} seeds were interrupted: their figures cover the time until then"),
        (some, whole) => format!("{some} of {} seeds were interrupted and are left out", some + whole),
    };
    Some(format!("{}: {told}.", group.label))
}

/// A note of what lies outside of what was validated; of several groups each phrase once.
fn beyond_what_was_validated(groups: &[Group<'_>]) -> String {
    let mut told: Vec<String> = Vec::new();
    for phrase in groups.iter().flat_map(validated::beyond) {
        if !told.contains(&phrase) {
            told.push(phrase);
        }
    }
    beyond_box(&told, validated::WHERE)
}

/// The figures of one group, large.
fn tiles(group: &Group<'_>) -> String {
    let of = |figure: fn(&Summary) -> Option<f64>| with_interval(group.estimate(figure));
    let mean = |figure: fn(&Summary) -> f64| group.mean(|summary| Some(figure(summary))).unwrap_or(0.0);
    let first = &group.first().summary;
    let exported = |summary: &Summary| {
        Some(summary.capacity.logical_bytes_exported as f64 / summary.capacity.logical_bytes_initial.max(1) as f64)
    };
    let tiles = [
        ("drive writes", of(life), traffic_and_time(group)),
        (
            "write amplification",
            of(|summary| summary.write_amplification.total),
            format!(
                "GC {}, wear leveling {}",
                short_or_dash(group.mean(|summary| summary.write_amplification.gc)),
                short_or_dash(group.mean(|summary| summary.write_amplification.wear_leveling))
            ),
        ),
        (
            "mean erases of a block",
            of(|summary| Some(summary.wear.erase_count.mean)),
            format!(
                "{} to {}; Jain {}",
                counted(mean(|summary| f64::from(summary.wear.erase_count.min))),
                counted(mean(|summary| f64::from(summary.wear.erase_count.max))),
                jain_in_digits(mean(|summary| summary.wear.jain_index))
            ),
        ),
        (
            "exported at the end",
            percent(group.mean(exported).unwrap_or(1.0)),
            format!("of {}{}", capacity(first.capacity.logical_bytes_initial), surplus(&first.capacity)),
        ),
    ];
    let tiles: String = timed::tiles(group)
        .iter()
        .chain(&of_files(group))
        .chain(&tiles)
        .map(|(name, value, note)| {
            format!("<div><dt>{name}</dt><dd>{}<small>{}</small></dd></div>\n", escape(value), escape(note))
        })
        .collect();
    format!("<dl class=\"tiles\">\n{tiles}</dl>\n")
}

/// What programs wrote to the files of a file system, if there is one, and how large that is at the end.
fn of_files(group: &Group<'_>) -> Vec<(&'static str, String, String)> {
    if group.first().summary.file_system.is_none() {
        return Vec::new();
    }
    let mean = |figure: fn(&wane_results::FileSystem) -> f64| {
        group.mean(|summary| summary.file_system.as_ref().map(figure)).unwrap_or(0.0)
    };
    let written = wane_units::Bytes(mean(|files| files.bytes_written as f64) as u64).decimal();
    let size = wane_units::Bytes(mean(|files| files.size_at_end as f64) as u64);
    let drive = short_or_dash(group.mean(|summary| summary.file_system.as_ref()?.write_amplification));
    let flash = short_or_dash(group.mean(|summary| summary.file_system.as_ref()?.write_amplification_of_flash));
    let note = format!(
        "the drive got {drive} times as much, its flash {flash}; the file system has {} at the end",
        capacity(size.0)
    );
    vec![("written to files", written, note)]
}

/// What the host wrote, and how long that took where the calendar is known.
fn traffic_and_time(group: &Group<'_>) -> String {
    let written = written(group);
    let in_time = if written.contains(',') { ", in" } else { " in" };
    years(group).map_or_else(|| written.clone(), |years| format!("{written}{in_time} {years}"))
}

/// The over-provisioning of the new drive, where a result has it.
fn surplus(capacity: &wane_results::Capacity) -> String {
    let surplus = capacity.over_provisioning;
    surplus.map_or_else(String::new, |surplus| format!("; over-provisioning {} with the reserve", percent(surplus)))
}

/// The figures of several groups, a row each; a card each on a narrow screen.
fn side_by_side(groups: &[Group<'_>]) -> String {
    const NAMES: [&str; 8] = [
        "run",
        "ended by",
        "drive writes",
        "data written",
        "write amplification",
        "mean erases of a block",
        "Jain\u{2019}s index",
        "exported at the end",
    ];
    let names = NAMES.map(|name| as_of_arrays(groups, name.to_owned()));
    let head: String = names.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let mut rows = String::new();
    for group in groups.iter().take(TOLD_MAX) {
        let of = |figure: fn(&Summary) -> Option<f64>| with_interval(group.estimate(figure));
        let left = |summary: &Summary| {
            Some(summary.capacity.logical_bytes_exported as f64 / summary.capacity.logical_bytes_initial.max(1) as f64)
        };
        let cells = [
            ends(group),
            of(life),
            written(group),
            of(|summary| summary.write_amplification.total),
            of(|summary| Some(summary.wear.erase_count.mean)),
            group.mean(|summary| Some(summary.wear.jain_index)).map_or_else(String::new, jain_in_digits),
            percent(group.mean(left).unwrap_or(1.0)),
        ];
        let seeds = match (group.alike(), group.runs.len()) {
            (Some(seeds), _) => format!(" <small>{seeds} seeds, all alike</small>"),
            (None, 1) => String::new(),
            (None, seeds) => format!(" <small>{seeds} seeds</small>"),
        };
        let _ = write!(rows, "<tr><th scope=\"row\">{}{}{seeds}</th>", swatch(group), escape(&group.label));
        for (name, cell) in names[1..].iter().zip(&cells) {
            let _ = write!(rows, "<td data-name=\"{name}\">{}</td>", escape(cell));
        }
        rows.push_str("</tr>\n");
    }
    let rest = groups.len().saturating_sub(TOLD_MAX);
    let rest =
        if rest > 0 { format!("<p class=\"caption\">{rest} more runs are drawn below.</p>\n") } else { String::new() };
    format!("<table class=\"cards\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{rest}")
}

/// What all runs share, and where their settings differ.
fn what_was_run(groups: &[Group<'_>]) -> String {
    let Some(first) = groups.first() else { return String::new() };
    let apart = differing(&groups.iter().map(|group| &group.keys).collect::<Vec<_>>());
    let common: Keys = first
        .keys
        .iter()
        .filter(|(key, _)| !apart.contains(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut text = String::from("<section>\n<h2>What was run</h2>\n");
    let setting = |(name, value): &(String, String)| format!("<span>{} =</span> {}", escape(name), escape(value));
    let facts: String = sections(&common)
        .iter()
        .map(|(name, settings)| {
            let told: Vec<String> = settings.iter().map(setting).collect();
            format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), told.join(" \u{b7} "))
        })
        .collect();
    if !facts.is_empty() {
        let _ = writeln!(text, "<dl class=\"facts\">\n{facts}</dl>");
    }
    if !apart.is_empty() {
        let mut headers = vec!["setting that differs".to_owned()];
        headers.extend(groups.iter().take(SCENARIOS_MAX).map(|group| group.label.clone()));
        let rows = apart.iter().map(|key| {
            let values = groups.iter().take(SCENARIOS_MAX);
            let values = values.map(|group| group.keys.get(key).cloned().unwrap_or_else(|| "\u{2013}".to_owned()));
            std::iter::once(key.clone()).chain(values).collect()
        });
        text.push_str(&table(&Table { headers, rows: rows.collect() }, "settings"));
    }
    text.push_str("</section>\n");
    text
}

/// Settings as names and values by the first part of their keys; the parameters of a policy stand in brackets behind its
/// name: gc, "greedy (tie = oldest)".
fn sections(keys: &Keys) -> Vec<(String, Vec<(String, String)>)> {
    let mut sections: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for (key, value) in keys {
        let (section, name) = key.split_once('.').unwrap_or(("run", key));
        let policy = name.rsplit_once('.').filter(|(owner, _)| keys.contains_key(&format!("{section}.{owner}.policy")));
        let setting = match policy {
            Some((owner, "policy")) => (owner.replace('.', " "), value.clone() + &parameters(keys, section, owner)),
            Some(_) => continue,
            None => (name.replace('.', " "), value.clone()),
        };
        match sections.iter_mut().find(|(known, _)| known == section) {
            Some((_, settings)) => settings.push(setting),
            None => sections.push((section.to_owned(), vec![setting])),
        }
    }
    sections
}

fn parameters(keys: &Keys, section: &str, owner: &str) -> String {
    let prefix = format!("{section}.{owner}.");
    let parameters: Vec<String> = keys
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)))
        .filter(|(name, _)| *name != "policy")
        .map(|(name, value)| assigned_to(name, value))
        .collect();
    if parameters.is_empty() { String::new() } else { format!(" ({})", parameters.join(", ")) }
}

fn scenarios(groups: &[Group<'_>]) -> String {
    let mut text = String::new();
    for group in groups.iter().take(SCENARIOS_MAX) {
        let name = if groups.len() > 1 { format!(": {}", escape(&group.label)) } else { String::new() };
        let _ = writeln!(
            text,
            "<details><summary>Resolved scenario{name}</summary>\n<pre>{}</pre></details>",
            escape(&group.first().scenario_toml)
        );
    }
    if text.is_empty() { text } else { format!("<section>\n<h2>To run it again</h2>\n{text}</section>\n") }
}

fn footer(groups: &[Group<'_>]) -> String {
    let lines: String = groups
        .iter()
        .take(TOLD_MAX)
        .map(|group| {
            let seeds: Vec<String> = group.all.iter().map(|run| run.summary.run.seed.to_string()).collect();
            let first = &group.first().summary;
            format!(
                "<p>{}: scenario {}, seed {}, wane {}, {} s</p>\n",
                escape(&group.label),
                escape(&first.scenario.hash),
                seeds.join(", "),
                escape(&first.run.version),
                short_or_dash(group.mean(|summary| Some(summary.run.wall_seconds))),
            )
        })
        .collect();
    format!("<footer>\n{lines}</footer>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_gathered_by_section_and_policy() {
        let keys: Keys = [
            ("drive.page-size", "4 KiB"),
            ("ftl.gc.policy", "greedy"),
            ("ftl.gc.tie", "oldest"),
            ("ftl.gc-reserve", "7"),
            ("workload.1.share", "0.5"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        let told = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [
            ("drive".to_owned(), vec![told("page-size", "4 KiB")]),
            ("ftl".to_owned(), vec![told("gc-reserve", "7"), told("gc", "greedy (tie = oldest)")]),
            ("workload".to_owned(), vec![told("1 share", "0.5")]),
        ];
        assert_eq!(sections(&keys), expected);
    }
}
