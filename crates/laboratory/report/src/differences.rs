//! The figures in which runs differ, as a table for the terminal.

use serde_json::Value;

use super::ages::note;
use super::cells::table_of;
use super::groups::{Group, differing, groups};
use super::numbers::counted;
use super::text::wrapped;
use wane_results::RunResult;

/// Widest line of the name of a run in the header.
const NAME_MAX: f64 = 24.0;
/// Most runs that stand side by side; more are a line each, with the measures worth seeing.
const SIDE_BY_SIDE_MAX: usize = 5;

/// A table of the settings and figures that are not the same in all runs: one line for each, one column for each group of runs. Seeds
/// of one scenario share a column with their means. `run.*` always differs and is left out. Many groups have one line each with the
/// measures worth seeing.
pub fn differences(runs: &[RunResult]) -> String {
    let groups = groups(runs);
    if groups.len() < 2 {
        return "There is nothing to compare: the runs are of one scenario.\n".to_owned();
    }
    let note = note(&groups).map_or_else(String::new, |note| format!("\n{note}\n"));
    if groups.len() > SIDE_BY_SIDE_MAX {
        return table_of(&groups) + &note;
    }
    let mut lines = header(&groups.iter().map(|group| group.label.as_str()).collect::<Vec<_>>());
    let named = lines.len();
    // The names stand above.
    let keys = differing(&groups.iter().map(|group| &group.keys).collect::<Vec<_>>());
    for key in keys.into_iter().filter(|key| key != "name") {
        let values = groups.iter().map(|group| group.keys.get(&key).map_or("\u{2013}", String::as_str).to_owned());
        lines.push(std::iter::once(key.clone()).chain(values).collect());
    }
    let settings = lines.len();
    let trees: Vec<Vec<Value>> = groups
        .iter()
        .map(|group| {
            group.runs.iter().filter_map(|run| serde_json::to_value(run.summary_at(group.common)).ok()).collect()
        })
        .collect();
    // Timed runs have figures that others lack.
    let mut paths = Vec::new();
    trees.iter().flatten().for_each(|tree| leaves("", tree, &mut paths));
    paths.sort();
    paths.dedup();
    for path in paths {
        let cells: Vec<String> = trees.iter().map(|runs| cell(runs, &path)).collect();
        if cells.iter().any(|cell| *cell != cells[0]) {
            lines.push(std::iter::once(path).chain(cells).collect());
        }
    }
    if lines.len() == named {
        return format!("The runs do not differ.\n{note}");
    }
    aligned(&lines, settings, named) + &seeded(&groups) + &note
}

/// Line with the number of seeds that figures are means of; empty if each is that of one run.
fn seeded(groups: &[Group<'_>]) -> String {
    let counts: Vec<usize> = groups.iter().map(|group| group.runs.len()).collect();
    let (least, most) = (counts.iter().min().copied().unwrap_or(1), counts.iter().max().copied().unwrap_or(1));
    match (least, most) {
        (_, 0 | 1) => String::new(),
        (least, most) if least == most => format!("means over {most} seeds; +- is half of a 95 % interval\n"),
        _ => format!("means over {least} to {most} seeds; +- is half of a 95 % interval\n"),
    }
}

/// The names of runs above their columns, in as many lines as the longest needs.
fn header(labels: &[&str]) -> Vec<Vec<String>> {
    let names: Vec<Vec<String>> =
        labels.iter().map(|label| wrapped(label, NAME_MAX, |part| part.chars().count() as f64)).collect();
    let lines = names.iter().map(Vec::len).max().unwrap_or(0);
    let line = |index: usize| {
        let cells = names.iter().map(|name| name.get(index).cloned().unwrap_or_default());
        std::iter::once(String::new()).chain(cells).collect()
    };
    (0..lines.max(1)).map(line).collect()
}

/// The paths of all figures, sorted.
pub(super) fn leaves(path: &str, value: &Value, paths: &mut Vec<String>) {
    let Value::Object(fields) = value else {
        if !value.is_array() {
            paths.push(path.to_owned());
        }
        return;
    };
    for (key, below) in fields {
        if path.is_empty() && (key == "run" || key == "scenario") {
            continue;
        }
        leaves(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, below, paths);
    }
}

/// The mean of the runs' numbers, with half of its 95 % interval where they are of several seeds, or their texts.
fn cell(runs: &[Value], path: &str) -> String {
    let at = |tree| path.split('.').try_fold(tree, |value: &Value, key| value.get(key));
    let values: Vec<&Value> = runs.iter().filter_map(at).collect();
    let numbers: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
    if let Some(estimate) = wane_results::Estimate::of(&numbers) {
        let half = Some(estimate.half_width).filter(|half| half.is_finite() && *half > 0.0);
        return counted(estimate.mean) + &half.map_or_else(String::new, |half| format!(" +- {}", counted(half)));
    }
    let mut texts: Vec<&str> = values.iter().filter_map(|value| value.as_str()).collect();
    texts.dedup();
    if texts.is_empty() { "\u{2013}".to_owned() } else { texts.join(", ") }
}

/// Columns padded to their widest cell, the first to the left, with a blank line between the settings, below `named` lines of names, and the figures.
fn aligned(lines: &[Vec<String>], settings: usize, named: usize) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index == settings && settings > named {
            text.push('\n');
        }
        let pad = |(column, cell): (usize, &String)| {
            let space = " ".repeat(widths[column] - cell.chars().count());
            if column == 0 { format!("{cell}{space}") } else { format!("  {space}{cell}") }
        };
        let padded: String = line.iter().enumerate().map(pad).collect();
        text.push_str(padded.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_results::test_runs::{test_run, timed};

    #[test]
    fn only_what_differs_is_listed() {
        let mut runs = [test_run(1), test_run(1)];
        runs[1].summary.scenario.name = "other".to_owned();
        runs[1].scenario_toml = runs[1].scenario_toml.replace("greedy", "fifo");
        runs[1].summary.host.pages_read = 1_234_567;
        runs[1].summary.run.wall_seconds = 99.0;
        let expected = concat!(
            "                   test      other\n",
            "ftl.gc.policy    greedy       fifo\n",
            "\n",
            "host.pages_read       0  1,234,567\n",
        );
        assert_eq!(differences(&runs), expected);
    }

    #[test]
    fn a_long_name_stands_in_lines_above_its_column_and_keeps_its_value() {
        let mut runs = [test_run(1), test_run(1)];
        runs[1].summary.scenario.name = "a name that is far too long for one line of 24 letters".to_owned();
        runs[1].scenario_toml = runs[1].scenario_toml.replace("greedy", "fifo");
        let told = differences(&runs);
        let above: Vec<&str> = told.lines().take_while(|line| !line.starts_with("ftl.gc.policy")).collect();
        assert_eq!(above.len(), 3, "{told}");
        assert!(above[2].ends_with(" letters") && !told.contains('\u{2026}'), "{told}");
    }

    #[test]
    fn of_very_many_runs_the_first_are_listed() {
        let run = |number: u32| {
            let mut run = test_run(1);
            run.summary.scenario.name = format!("run {number}");
            run.scenario_toml = run.scenario_toml.replace("greedy", &format!("greedy-{number}"));
            run.summary.write_amplification.total = Some(2.0 + f64::from(number) / 100.0);
            run
        };
        let lines = |runs: u32| {
            let told = differences(&(0..runs).map(run).collect::<Vec<_>>());
            (told.lines().filter(|line| line.starts_with("run ")).count(), told.contains(" more are on the page"), told)
        };
        let (all, cut, told) = lines(40);
        assert!(!cut && all >= 40, "{told}");
        let (some, _, told) = lines(171);
        assert!(some == all && told.ends_with("131 more are on the page\n"), "{told}");
    }

    #[test]
    fn figures_that_only_one_run_has_are_listed() {
        let table = differences(&[test_run(1), timed(test_run(1), 3)]);
        for path in [
            "latency.read.mean_ns",
            "latency.write.p999_ns",
            "latency.read.breakdown_ns.behind_gc",
            "errors.retries",
            "throughput.read.iops",
        ] {
            let line = table.lines().find(|line| line.starts_with(path)).unwrap_or_else(|| panic!("{path}: {table}"));
            assert!(line.contains('\u{2013}'), "{line}");
        }
    }

    #[test]
    fn many_runs_are_a_line_each() {
        let run = |number: usize| {
            let mut run = test_run(1);
            run.summary.scenario.name = format!("run {number}");
            run.scenario_toml.push_str(&format!("\n[a]\nb = {number}\n"));
            run.summary.write_amplification.total = Some(9.0 - number as f64);
            run
        };
        let runs: Vec<RunResult> = (0..6).map(run).collect();
        let table = differences(&runs);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 8, "{table}");
        assert!(lines[1].starts_with("run 5") && lines[1].contains("4.00 *"), "{table}");
        assert!(differences(&runs[..5]).lines().next().unwrap().contains("run 4"), "five stand side by side");
    }

    #[test]
    fn means_of_seeds_say_so_and_have_intervals() {
        let mut runs = Vec::new();
        for (policy, life) in [("greedy", [1.0, 2.0, 3.0]), ("fifo", [4.0, 5.0, 6.0])] {
            for (seed, life) in life.into_iter().enumerate() {
                let mut run = test_run(seed as u64);
                run.scenario_toml =
                    run.scenario_toml.replace("greedy", policy).replace("seed = 0", "").replace("seed = 2", "");
                run.summary.end.at_drive_writes = life;
                runs.push(run);
            }
        }
        let table = differences(&runs);
        let line = table.lines().find(|line| line.starts_with("end.at_drive_writes")).unwrap();
        assert!(line.contains("2 +- 2.48") && line.contains("5 +- 2.48"), "{table}");
        assert!(table.contains("means over 3 seeds; +- is half of a 95 % interval\n"), "{table}");
    }

    #[test]
    fn seeds_of_one_scenario_are_nothing_to_compare() {
        let mut second = test_run(2);
        second.scenario_toml = test_run(1).scenario_toml.replace("seed = 1", "seed = 2");
        assert!(differences(&[test_run(1), second]).contains("one scenario"));
        assert!(differences(&[]).contains("nothing to compare"));
    }
}
