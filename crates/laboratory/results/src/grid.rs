//! `grid.csv`: one line for each cell of a sweep, in grid order. Also the windows of all cells.

use serde_json::Value;

use wane_units::{Bytes, Nanos};

use super::statistics::to_value;
use super::tables::{Column, Values, text_column, to_csv, window_columns};
use super::{Estimate, RunResult, Summary};

/// One cell: the swept values, as the user wrote them, and the result.
#[derive(Clone, Copy, Debug)]
pub struct GridCell<'a> {
    /// One value for each swept key.
    pub values: &'a [String],
    /// `None` if the cell could not be run.
    pub summary: Option<&'a Summary>,
}

/// The figures of the summary that `grid.csv` shows. Those of time, errors and fast-forward are empty if a run has none.
const GRID_LEAVES: &[&str] = &[
    "host.drive_writes",
    "host.bytes_written",
    "fast_forward.drive_writes_simulated",
    "fast_forward.drive_writes_predicted",
    "flash.pages_programmed.total",
    "flash.blocks_erased.total",
    "life.terabytes_written",
    "life.years",
    "life.dwpd",
    "write_amplification.gc",
    "write_amplification.wear_leveling",
    "write_amplification.total",
    "write_amplification.last_drive_write.gc",
    "write_amplification.last_drive_write.wear_leveling",
    "write_amplification.last_drive_write.total",
    "gc.valid_pages_per_victim_mean",
    "wear.erase_count.min",
    "wear.erase_count.p50",
    "wear.erase_count.max",
    "wear.erase_count.mean",
    "wear.erase_count.sd",
    "wear.jain_index",
    "wear.blocks_retired",
    "capacity.logical_bytes_initial",
    "capacity.logical_bytes_exported",
    "file_system.bytes_written",
    "file_system.write_amplification",
    "file_system.size_at_end",
    "scaled.from_logical_bytes",
    "scaled.ratio",
    "latency_of.from_drive_writes",
    "latency_of.until_drive_writes",
    "latency_of.life_used",
    "latency.read.mean_ns",
    "latency.read.p99_ns",
    "latency.read.p999_ns",
    "latency.write.mean_ns",
    "latency.write.p99_ns",
    "errors.retries",
    "errors.uncorrectable",
    "throughput.read.iops",
    "throughput.write.iops",
    "throughput.read.bytes_per_second",
    "throughput.write.bytes_per_second",
    "thermal.celsius_mean",
    "thermal.throttled_share",
    "end.reason",
    "end.cause",
    "end.at_drive_writes",
    "scenario.hash",
    "run.version",
];

/// The figures that follow where a run is of an array.
const ARRAY_LEAVES: [&str; 7] = [
    "array.first_death_at",
    "array.first_to_die",
    "array.last_death_at",
    "array.writes_degraded",
    "array.bytes_lost",
    "array.bytes_repaired",
    "array.bytes_copied",
];

/// The paths of the figures that `grid.csv` shows of these runs.
pub fn leaves_of<'a>(runs: impl IntoIterator<Item = &'a RunResult>) -> Vec<&'static str> {
    let is_array = runs.into_iter().any(|run| run.summary.array.is_some());
    GRID_LEAVES.iter().chain(ARRAY_LEAVES.iter().filter(|_| is_array)).copied().collect()
}

/// The figures among [`GRID_LEAVES`] that are texts.
const TEXTS: [&str; 5] = ["array.first_to_die", "end.reason", "end.cause", "scenario.hash", "run.version"];

/// The grid as CSV: a column for each of `keys`, then a column for each path of `leaves`. Null is empty. Values of a key are written as
/// numbers if all of them are: percentages as shares, sizes in bytes, durations in seconds.
pub fn grid_csv(keys: &[String], leaves: &[&str], cells: &[GridCell<'_>]) -> String {
    let header = keys.iter().map(String::as_str).chain(leaves.iter().copied());
    let mut text = line(header.map(str::to_owned));
    let values = as_numbers(keys.len(), cells.iter().map(|cell| cell.values));
    for (cell, values) in cells.iter().zip(values) {
        let summary = cell.summary.map_or(Value::Null, to_value);
        let figures = leaves.iter().map(|path| plain(leaf(&summary, path)));
        text.push_str(&line(values.into_iter().chain(figures)));
    }
    text
}

/// The same as a table. Keys are numbers if all of their values are. Figures are whole numbers if all runs have one, otherwise numbers that
/// may be null. Reasons, causes and hashes are texts, empty if there are none.
pub fn grid_columns(keys: &[String], leaves: &[&str], cells: &[GridCell<'_>]) -> Vec<Column> {
    let values: Vec<&[String]> = cells.iter().map(|cell| cell.values).collect();
    let of_key = |key: usize| {
        let numbers = numbers(values.iter().map(|row| row[key].as_str()));
        let texts = || Values::Own(values.iter().map(|row| row[key].clone()).collect());
        numbers.map_or_else(texts, |numbers| whole(&numbers).map_or(Values::F64(numbers), Values::U64))
    };
    let trees: Vec<Value> = cells.iter().map(|cell| cell.summary.map_or(Value::Null, to_value)).collect();
    let of_leaf = |path: &&str| {
        let found = || trees.iter().map(|tree| leaf(tree, path));
        if TEXTS.contains(path) {
            return Values::Own(found().map(plain).collect());
        }
        let counts: Option<Vec<u64>> = found().map(Value::as_u64).collect();
        counts.map_or_else(|| Values::Ratio(found().map(Value::as_f64).collect()), Values::U64)
    };
    let keys = keys.iter().enumerate().map(|(index, key)| Column { name: key.clone(), values: of_key(index) });
    keys.chain(leaves.iter().map(|path| Column { name: (*path).to_owned(), values: of_leaf(path) })).collect()
}

/// The numbers as whole ones, if a double holds all of them exactly.
fn whole(numbers: &[f64]) -> Option<Vec<u64>> {
    let is_whole = |number: &f64| number.fract() == 0.0 && (0.0..9.0e15).contains(number);
    numbers.iter().all(is_whole).then(|| numbers.iter().map(|number| *number as u64).collect())
}

/// One cell of a sweep with several seeds.
#[derive(Clone, Debug)]
pub struct SeededCell<'a> {
    /// One value for each swept key.
    pub values: &'a [String],
    /// The summaries of the seeds that could be run.
    pub summaries: Vec<Summary>,
}

/// The grid with several seeds as CSV: a line for each cell. Each number has its mean, and in `.low` and `.high` the ends of its 95 % interval.
/// Texts that differ between the seeds are joined by `|`. Values of keys are as in [`grid_csv`].
pub fn seeded_grid_csv(keys: &[String], leaves: &[&str], cells: &[SeededCell<'_>]) -> String {
    let figures = leaves.iter().flat_map(|leaf| {
        let ends: &[&str] = if TEXTS.contains(leaf) { &[""] } else { &["", ".low", ".high"] };
        ends.iter().map(move |end| format!("{leaf}{end}"))
    });
    let mut text = line(keys.iter().cloned().chain(["seeds".to_owned()]).chain(figures));
    let values = as_numbers(keys.len(), cells.iter().map(|cell| cell.values));
    for (cell, values) in cells.iter().zip(values) {
        let trees: Vec<Value> = cell.summaries.iter().map(to_value).collect();
        let mut fields = values;
        fields.push(trees.len().to_string());
        for path in leaves {
            let found = || trees.iter().map(|tree| leaf(tree, path));
            if TEXTS.contains(path) {
                let mut told: Vec<String> = found().map(plain).filter(|text| !text.is_empty()).collect();
                told.sort();
                told.dedup();
                fields.push(told.join("|"));
                continue;
            }
            let numbers: Vec<f64> = found().filter_map(Value::as_f64).collect();
            let estimate = Estimate::of(&numbers);
            let end = |end: fn(&Estimate) -> f64| {
                estimate.as_ref().map(end).filter(|end| end.is_finite()).map_or_else(String::new, |end| end.to_string())
            };
            fields.extend([end(|of| of.mean), end(Estimate::low), end(Estimate::high)]);
        }
        text.push_str(&line(fields.into_iter()));
    }
    text
}

/// The windows of all cells as CSV, each line with the values of the cell's keys first; empty without any window.
pub fn windows_csv(keys: &[String], cells: &[(&[String], &RunResult)]) -> String {
    let windows = || cells.iter().flat_map(|(_, run)| &run.windows);
    if windows().next().is_none() {
        return String::new();
    }
    let values: Vec<Vec<String>> = as_numbers(keys.len(), cells.iter().map(|cell| cell.0)).collect();
    let of_key = |key: usize| {
        let each = cells.iter().zip(&values).flat_map(|((_, run), row)| vec![row[key].clone(); run.windows.len()]);
        text_column(&keys[key], each.collect())
    };
    let columns: Vec<Column> = (0..keys.len()).map(of_key).chain(window_columns(windows())).collect();
    to_csv(&columns)
}

/// The rows with the values of a key as plain numbers, if all of its values are numbers.
fn as_numbers<'a>(keys: usize, rows: impl Iterator<Item = &'a [String]>) -> impl Iterator<Item = Vec<String>> {
    let mut rows: Vec<Vec<String>> = rows.map(<[String]>::to_vec).collect();
    assert!(
        rows.iter().all(|row| row.len() == keys),
        "a cell has a value for each key, or figures would shift columns"
    );
    for key in 0..keys {
        let numbers = numbers(rows.iter().map(|row| row[key].as_str()));
        for (row, number) in rows.iter_mut().zip(numbers.into_iter().flatten()) {
            row[key] = number.to_string();
        }
    }
    rows.into_iter()
}

/// The values of a key as numbers; `None` if one is none, or if shares stand beside counts, as in `window=100 %,500`.
fn numbers<'a>(values: impl Iterator<Item = &'a str>) -> Option<Vec<f64>> {
    let (mut numbers, mut shares, mut counts) = (Vec::new(), false, false);
    for value in values {
        let (number, is_share) = (number(value)?, value.trim().trim_end_matches(['"', '\'']).ends_with('%'));
        shares |= is_share;
        counts |= !is_share && number > 1.0;
        numbers.push(number);
    }
    (!shares || !counts).then_some(numbers)
}

/// A value as a number: a percentage as a share, a size in bytes, a duration in seconds; `None` if it is not a number.
pub fn number(value: &str) -> Option<f64> {
    let value = value.trim().trim_matches(['"', '\'']);
    let plain = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    plain(value)
        .or_else(|| plain(value.strip_suffix('%')?).map(|percent| percent / 100.0))
        .or_else(|| value.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64))
        .or_else(|| value.parse::<Nanos>().ok().map(|nanos| nanos.0 as f64 / 1e9))
}

/// The value at a dotted path; null if there is none.
fn leaf<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').try_fold(value, |value, key| value.get(key)).unwrap_or(&Value::Null)
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let mut text = fields.map(|field| quoted(&field)).collect::<Vec<_>>().join(",");
    text.push('\n');
    text
}

/// Quotes a field as RFC 4180 requires, with nothing in it that a spreadsheet computes.
pub(super) fn quoted(field: &str) -> String {
    let field = wane_units::cell(field);
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::{test_run, timed};

    #[test]
    fn every_leaf_of_the_grid_exists() {
        let mut summary = timed(test_run(1), 3).summary;
        summary.fast_forward = Some(crate::FastForwarded::default());
        summary.thermal =
            Some(crate::Thermal { celsius_end: 50.0, celsius_mean: 40.0, watts_mean: 2.0, throttled_share: 0.1 });
        summary.file_system = Some(crate::FileSystem::default());
        summary.scaled = Some(crate::Scaled { from_logical_bytes: 1 << 40, ratio: 0.25 });
        summary.latency_of.as_mut().unwrap().life_used = Some(0.5);
        assert_eq!(leaves_of([&test_run(1)]), GRID_LEAVES);
        summary.array =
            Some(crate::ArrayFigures { first_to_die: Some("drive-1".to_owned()), ..crate::ArrayFigures::default() });
        let array = RunResult { summary: summary.clone(), ..test_run(1) };
        let summary = to_value(&summary);
        for path in leaves_of([&array]) {
            assert!(path.split('.').try_fold(&summary, |value, key| value.get(key)).is_some(), "{path}");
        }
    }

    #[test]
    fn shares_beside_counts_stay_as_they_were_written() {
        let of = |values: &[&str]| numbers(values.iter().copied());
        assert_eq!(of(&["2 %", "100 %"]), Some(vec![0.02, 1.0]));
        assert_eq!(of(&["0.9", "90 %"]), Some(vec![0.9, 0.9]));
        assert_eq!(of(&["100 %", "500"]), None);
        assert_eq!(of(&["1", "500"]), Some(vec![1.0, 500.0]));
        assert_eq!(of(&["greedy", "1"]), None);
    }

    #[test]
    fn figures_that_a_run_does_not_have_are_empty() {
        let (timed, untimed) = (timed(test_run(1), 3).summary, test_run(1).summary);
        let cells = [&timed, &untimed].map(|summary| GridCell { values: &[], summary: Some(summary) });
        let text = grid_csv(&[], &["latency.read.p99_ns", "errors.retries", "end.reason"], &cells);
        let retries = timed.errors.unwrap().retries;
        let p99 = timed.latency.unwrap().read.unwrap().times.p99_ns;
        let expected =
            format!("latency.read.p99_ns,errors.retries,end.reason\n{p99},{retries},end-of-life\n,,end-of-life\n");
        assert_eq!(text, expected);
    }

    #[test]
    fn values_that_are_numbers_are_written_as_numbers() {
        let rows = [["5 %", "8 GiB", "10 us", "greedy", "1"], ["7.5 %", "1 GiB", "2 ms", "4", "none"]];
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
        let found: Vec<Vec<String>> = as_numbers(5, rows.iter().map(Vec::as_slice)).collect();
        let expected =
            [["0.05", "8589934592", "0.00001", "greedy", "1"], ["0.075", "1073741824", "0.002", "4", "none"]];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_cell_of_several_seeds_has_means_and_intervals() {
        let mut runs = [test_run(1).summary, test_run(1).summary];
        (runs[0].end.at_drive_writes, runs[1].end.at_drive_writes) = (10.0, 12.0);
        runs[1].end.cause = Some(crate::EndCause::NoVictim);
        let values = ["4".to_owned()];
        let cell = SeededCell { values: &values, summaries: runs.to_vec() };
        let text = seeded_grid_csv(&["d".to_owned()], &["end.at_drive_writes", "end.cause"], &[cell]);
        let mut lines = text.lines();
        let header = "d,seeds,end.at_drive_writes,end.at_drive_writes.low,end.at_drive_writes.high,end.cause";
        assert_eq!(lines.next(), Some(header));
        // Two values one away from their mean: t of one degree of freedom, 12.706.
        let fields: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!((fields[0], fields[1], fields[2], fields[5]), ("4", "2", "11", "no-victim|spare-exhausted"));
        let low: f64 = fields[3].parse().unwrap();
        assert!((low - (11.0 - 12.706205)).abs() < 1e-6, "{low}");
    }

    #[test]
    fn columns_of_the_grid_have_the_types_of_their_figures() {
        let (timed, untimed) = (timed(test_run(1), 3).summary, test_run(1).summary);
        let values =
            [["4".to_owned(), "7 %".to_owned(), "a".to_owned()], ["8".to_owned(), "0.5".to_owned(), "1".to_owned()]];
        let cells: Vec<GridCell<'_>> = values
            .iter()
            .zip([&timed, &untimed])
            .map(|(values, summary)| GridCell { values, summary: Some(summary) })
            .collect();
        let keys = ["d", "spare", "x"].map(str::to_owned);
        let leaves = ["host.bytes_written", "errors.retries", "end.reason"];
        let columns = grid_columns(&keys, &leaves, &cells);
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["d", "spare", "x", "host.bytes_written", "errors.retries", "end.reason"]);
        let retries = timed.errors.unwrap().retries as f64;
        let expected = [
            Values::U64(vec![4, 8]),
            Values::F64(vec![0.07, 0.5]),
            Values::Own(vec!["a".to_owned(), "1".to_owned()]),
            Values::U64(vec![timed.host.bytes_written, untimed.host.bytes_written]),
            Values::Ratio(vec![Some(retries), None]),
            Values::Own(vec!["end-of-life".to_owned(); 2]),
        ];
        for (column, expected) in columns.iter().zip(expected) {
            assert_eq!(column.values, expected, "{}", column.name);
        }
    }

    #[test]
    fn windows_of_a_sweep_stand_behind_the_values_of_their_cell() {
        let (short, long) = (timed(test_run(1), 1), timed(test_run(2), 2));
        let values = [["10 %".to_owned()], ["20 %".to_owned()]];
        let text = windows_csv(&["k".to_owned()], &[(&values[0], &short), (&values[1], &long)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("k,kind,at_drive_writes,"), "{}", lines[0]);
        let keys: Vec<&str> = lines[1..].iter().map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(keys, ["0.1", "0.2", "0.2"]);
        let at = lines[0].split(',').position(|name| name == "latency_read_p999_ns").unwrap();
        let p999 = long.windows[1].latency.read.unwrap().times.p999_ns;
        assert_eq!(lines[3].split(',').nth(at).unwrap(), p999.to_string());
        assert_eq!(windows_csv(&[], &[(&[], &test_run(1))]), "");
    }

    #[test]
    fn the_grid_keeps_its_order_and_quotes_its_values() {
        let mut summary = test_run(1).summary;
        summary.write_amplification.gc = None;
        let values = [["8".to_owned(), "a,\"b\"".to_owned()], ["4".to_owned(), "c".to_owned()]];
        let cells =
            [GridCell { values: &values[0], summary: Some(&summary) }, GridCell { values: &values[1], summary: None }];
        let text =
            grid_csv(&["ftl.gc.d".to_owned(), "x".to_owned()], &["write_amplification.gc", "end.reason"], &cells);
        let expected = "ftl.gc.d,x,write_amplification.gc,end.reason\n8,\"a,\"\"b\"\"\",,end-of-life\n4,c,,\n";
        assert_eq!(text, expected);
    }
}
