//! `grid.csv`: one line a cell of a sweep, in grid order.

use serde_json::Value;

use super::Summary;
use super::statistics::to_value;

/// One cell: the values that were swept, as the user wrote them, and what came out.
#[derive(Clone, Copy, Debug)]
pub struct GridCell<'a> {
    /// One value a swept key.
    pub values: &'a [String],
    /// `None` where the cell could not be run.
    pub summary: Option<&'a Summary>,
}

/// The figures of the summary that `grid.csv` shows; those of time and errors are empty where a run has none.
pub const GRID_LEAVES: &[&str] = &[
    "host.drive_writes",
    "host.bytes_written",
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
    "latency_of.from_drive_writes",
    "latency_of.until_drive_writes",
    "latency.read.mean_ns",
    "latency.read.p99_ns",
    "latency.read.p999_ns",
    "latency.write.mean_ns",
    "latency.write.p99_ns",
    "errors.retries",
    "errors.uncorrectable",
    "throughput.read.iops",
    "throughput.write.iops",
    "end.reason",
    "end.cause",
    "end.at_drive_writes",
    "scenario.hash",
    "run.version",
];

/// The grid as CSV: a column a key of `keys`, then a column a path of `leaves`. Null is empty.
pub fn grid_csv(keys: &[String], leaves: &[&str], cells: &[GridCell<'_>]) -> String {
    let header = keys.iter().map(String::as_str).chain(leaves.iter().copied());
    let mut text = line(header.map(str::to_owned));
    for cell in cells {
        let summary = cell.summary.map_or(Value::Null, to_value);
        let figures = leaves.iter().map(|path| plain(leaf(&summary, path)));
        text.push_str(&line(cell.values.iter().cloned().chain(figures)));
    }
    text
}

/// The value at a dotted path; null where there is none.
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

/// Quotes as RFC 4180 asks.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::{test_run, timed};

    #[test]
    fn every_leaf_of_the_grid_exists() {
        let summary = to_value(&timed(test_run(1), 3).summary);
        for path in GRID_LEAVES {
            assert!(path.split('.').try_fold(&summary, |value, key| value.get(key)).is_some(), "{path}");
        }
    }

    #[test]
    fn figures_that_a_run_does_not_have_are_empty() {
        let (timed, untimed) = (timed(test_run(1), 3).summary, test_run(1).summary);
        let cells = [&timed, &untimed].map(|summary| GridCell { values: &[], summary: Some(summary) });
        let text = grid_csv(&[], &["latency.read.p99_ns", "errors.retries", "end.reason"], &cells);
        let retries = timed.errors.unwrap().retries;
        let p99 = timed.latency.unwrap().read.unwrap().p99_ns;
        let expected =
            format!("latency.read.p99_ns,errors.retries,end.reason\n{p99},{retries},end-of-life\n,,end-of-life\n");
        assert_eq!(text, expected);
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
