//! Statistics over several seeds of one scenario: means and their 95 % intervals.

use serde_json::{Map, Value, json};

use super::{EndReason, Row, Run, RunResult, Scenario, Summary};

/// Mean and 95 % interval of every number in the summaries of several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    tree: Value,
    runs: usize,
}

/// A mean with its 95 % confidence interval, if runs are normally distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean of the runs.
    pub mean: f64,
    /// Half the width of the interval (Student's t); infinite for a single run.
    pub half_width: f64,
}

/// The runs of several seeds at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPoint {
    /// Drive writes.
    pub drive_writes: f64,
    /// Mean and interval of the figure.
    pub estimate: Estimate,
}

/// Figures that differ by less than this share of themselves differ only by rounding.
const ROUNDING: f64 = 1e-12;

/// Whether two figures are the same except for rounding.
pub fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}

/// Whether runs of several seeds have the same results, except real time. The random draws then made no difference, and the runs are one
/// observation.
pub fn seeds_made_no_difference(runs: &[&RunResult]) -> bool {
    let bare = |run: &RunResult| Summary { scenario: Scenario::default(), run: Run::default(), ..run.summary.clone() };
    let is_same = |one: &RunResult, other: &RunResult| {
        bare(one) == bare(other) && one.windows == other.windows && one.blocks == other.blocks
    };
    runs.len() > 1 && runs[1..].iter().all(|run| is_same(runs[0], run))
}

impl Estimate {
    /// Estimates the mean of `values`; `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        if count == 1 {
            return Some(Self { mean: values[0], half_width: f64::INFINITY });
        }
        // Figures that differ only by rounding would have an interval of rounding errors.
        if values.iter().all(|value| is_same(*value, values[0])) {
            return Some(Self { mean: values[0], half_width: 0.0 });
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
        Some(Self { mean, half_width: student_t_975(count - 1) * (variance / count as f64).sqrt() })
    }

    /// Lower end of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// Upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }
}

/// Of runs of one scenario, returns those that were not interrupted, or all if all were. Whole lives and parts of lives have no meaningful mean.
pub fn whole_runs<T>(mut runs: Vec<T>, summary: impl Fn(&T) -> &Summary) -> Vec<T> {
    let is_whole = |run: &T| summary(run).end.reason != EndReason::Interrupted;
    if runs.iter().any(is_whole) {
        runs.retain(is_whole);
    }
    runs
}

impl Statistics {
    /// Computes the statistics of `summaries` of one scenario with several seeds.
    pub fn of(summaries: &[Summary]) -> Self {
        let values: Vec<Value> = summaries.iter().map(to_value).collect();
        let mut tree = estimates(&values.iter().collect::<Vec<_>>());
        if let (Some(Value::Object(run)), Some(first)) = (tree.get_mut("run"), summaries.first()) {
            run.remove("seed");
            run.insert("seeds".to_owned(), summaries.iter().map(|summary| summary.run.seed).collect());
            run.insert("version".to_owned(), json!(first.run.version));
        }
        if let Value::Object(top) = &mut tree {
            top.insert("runs".to_owned(), json!(summaries.len()));
            let reasons: Vec<&str> = summaries.iter().map(|summary| summary.end.reason.name()).collect();
            if let Some(Value::Object(end)) = top.get_mut("end") {
                end.insert("reasons".to_owned(), json!(reasons));
            }
            if let Some(first) = summaries.first() {
                top.insert("scenario".to_owned(), json!({ "name": first.scenario.name }));
            }
        }
        Self { tree, runs: summaries.len() }
    }

    /// Number of runs.
    pub const fn runs(&self) -> usize {
        self.runs
    }

    /// The object with the summary's keys, and `{mean, low, high, runs}` for each number.
    pub const fn json(&self) -> &Value {
        &self.tree
    }

    /// The object as indented JSON with a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.tree).expect("statistics hold only strings and numbers");
        text.push('\n');
        text
    }
}

pub(super) fn to_value(summary: &Summary) -> Value {
    serde_json::to_value(summary).expect("a summary holds only strings and numbers")
}

/// Estimates every number over its values in all of `values`; text and lists are left out. A figure or an object that is
/// null or missing in one run may be there in another.
fn estimates(values: &[&Value]) -> Value {
    let objects: Vec<&Map<String, Value>> = values.iter().filter_map(|value| value.as_object()).collect();
    if objects.is_empty() {
        let numbers: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
        return Estimate::of(&numbers).map_or(Value::Null, |estimate| {
            let bound = |end: f64| if end.is_finite() { json!(end) } else { Value::Null };
            let (low, high) = (bound(estimate.low()), bound(estimate.high()));
            json!({ "mean": estimate.mean, "low": low, "high": high, "runs": numbers.len() })
        });
    }
    let mut result = Map::new();
    for key in objects.iter().flat_map(|fields| fields.keys()) {
        if result.contains_key(key) {
            continue;
        }
        let below: Vec<&Value> = values.iter().filter_map(|value| value.get(key)).collect();
        if below.iter().any(|value| value.is_string() || value.is_array()) {
            continue;
        }
        result.insert(key.clone(), estimates(&below));
    }
    Value::Object(result)
}

/// The runs of several seeds as one band of `points` moments, up to the end of the shortest run. Beyond it the mean would
/// cover only the survivors. Figures between two rows are interpolated. Empty if a run has no rows with the figure.
pub fn band(timelines: &[&[Row]], figure: impl Fn(&[Row]) -> Vec<Option<f64>>, points: usize) -> Vec<BandPoint> {
    let curves: Vec<Vec<(f64, f64)>> = timelines
        .iter()
        .map(|rows| rows.iter().zip(figure(rows)).filter_map(|(row, y)| Some((row.drive_writes, y?))).collect())
        .collect();
    let ends = curves.iter().map(|curve: &Vec<(f64, f64)>| curve.last().map_or(f64::NEG_INFINITY, |last| last.0));
    let starts = curves.iter().filter_map(|curve| curve.first()).map(|first| first.0);
    let (start, end) = (starts.fold(f64::NEG_INFINITY, f64::max), ends.fold(f64::INFINITY, f64::min));
    if points < 2 || !(start < end && end.is_finite()) {
        return Vec::new();
    }
    let moment = |index: usize| start + (end - start) * index as f64 / (points - 1) as f64;
    (0..points)
        .map(moment)
        .filter_map(|drive_writes| {
            let values: Vec<f64> = curves.iter().map(|curve| interpolate(curve, drive_writes)).collect();
            Estimate::of(&values).map(|estimate| BandPoint { drive_writes, estimate })
        })
        .collect()
}

/// The value at `x` of a curve with ascending x; `x` must be within it.
fn interpolate(curve: &[(f64, f64)], x: f64) -> f64 {
    debug_assert!(curve.first().is_some_and(|first| first.0 <= x), "a curve is asked from where it begins");
    let after = curve.partition_point(|point| point.0 < x).min(curve.len() - 1);
    let (x1, y1) = curve[after];
    let (x0, y0) = curve[after.saturating_sub(1)];
    if x1 > x0 { y0 + (y1 - y0) * ((x - x0) / (x1 - x0)).clamp(0.0, 1.0) } else { y1 }
}

/// The 97.5 % quantile of Student's t distribution with `freedom` degrees of freedom; infinite for 0.
///
/// Up to 30 from the usual table, beyond by the Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5), which is
/// within 0.000 01 there.
pub fn student_t_975(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139, 2.200985,
        2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873,
        2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272,
    ];
    const Z: f64 = 1.959_963_984_540_054;
    match freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[freedom - 1],
        _ => {
            let n = freedom as f64;
            let first = (Z.powi(3) + Z) / (4.0 * n);
            let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * n * n);
            let third = (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / (384.0 * n.powi(3));
            let quantile = Z + first + second + third;
            debug_assert!(quantile > Z, "Student's t is wider than the normal distribution");
            quantile
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::{test_run, timed};
    use crate::{Counters, EndReason, RunResult};

    #[test]
    fn student_t_meets_the_printed_table() {
        let table = [(1, 12.7062), (2, 4.3027), (4, 2.7764), (30, 2.0423), (31, 2.0395), (40, 2.0211), (120, 1.9799)];
        for (freedom, expected) in table {
            assert!((student_t_975(freedom) - expected).abs() < 6e-5, "{freedom}: {}", student_t_975(freedom));
        }
        assert_eq!(student_t_975(0), f64::INFINITY);
    }

    #[test]
    fn an_estimate_is_a_mean_with_a_student_interval() {
        // sd of 1..5 is sqrt(2.5), of the mean sqrt(0.5).
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(estimate.mean, 3.0);
        assert!((estimate.half_width - 2.776445 * 0.5f64.sqrt()).abs() < 1e-9);
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn figures_that_are_the_same_have_no_interval_of_rounding_errors() {
        for values in [[0.1; 3], [11.52, 11.519_999_999_999_996, 11.52], [0.0; 3]] {
            assert_eq!(Estimate::of(&values), Some(Estimate { mean: values[0], half_width: 0.0 }), "{values:?}");
        }
        assert!(Estimate::of(&[1.0, 1.0 + 1e-9]).unwrap().half_width > 0.0);
    }

    #[test]
    fn seeds_that_came_to_the_same_in_all_are_known() {
        let mut runs = [timed(test_run(1), 2), timed(test_run(1), 2), timed(test_run(2), 2)];
        runs[1].summary.run.seed = 2;
        runs[1].summary.scenario.name = "seed-2".to_owned();
        assert!(seeds_made_no_difference(&[&runs[0], &runs[1]]));
        assert!(!seeds_made_no_difference(&[&runs[0], &runs[1], &runs[2]]));
        assert!(!seeds_made_no_difference(&[&runs[0]]), "one seed differs from none");
    }

    #[test]
    fn every_number_of_the_summaries_is_estimated_and_no_text_is() {
        let mut summaries = [test_run(1).summary, test_run(2).summary];
        summaries[0].host.pages_written = 10;
        summaries[1].host.pages_written = 14;
        summaries[0].gc.valid_pages_per_victim_mean = None;
        summaries[1].gc.valid_pages_per_victim_mean = Some(3.0);
        summaries[1].end.reason = EndReason::Interrupted;
        let json = Statistics::of(&summaries).json().clone();
        let half = 12.706205 * 2.0;
        assert_eq!(json["host"]["pages_written"]["mean"], 12.0);
        assert!((json["host"]["pages_written"]["low"].as_f64().unwrap() - (12.0 - half)).abs() < 1e-9);
        assert_eq!(
            json["gc"]["valid_pages_per_victim_mean"],
            json!({"mean": 3.0, "low": null, "high": null, "runs": 1})
        );
        assert_eq!(json["run"]["seeds"], json!([1, 2]));
        assert_eq!(json["end"]["reasons"], json!(["end-of-life", "interrupted"]));
        assert_eq!(json["end"].get("reason"), None);
        assert_eq!(json["runs"], 2);
    }

    #[test]
    fn interrupted_runs_count_only_where_no_run_came_to_its_end() {
        let mut runs = vec![test_run(1), test_run(2), test_run(3)];
        let seeds = |runs: &[RunResult]| -> Vec<u64> {
            whole_runs(runs.iter().collect(), |run| &run.summary).iter().map(|run| run.summary.run.seed).collect()
        };
        assert_eq!(seeds(&runs), [1, 2, 3]);
        runs[1].summary.end.reason = EndReason::Interrupted;
        assert_eq!(seeds(&runs), [1, 3]);
        for run in &mut runs {
            run.summary.end.reason = EndReason::Interrupted;
        }
        assert_eq!(seeds(&runs), [1, 2, 3]);
        assert!(seeds(&[]).is_empty());
    }

    #[test]
    fn latencies_are_estimated_over_the_seeds_that_have_them() {
        let mut summaries = [1, 2, 3].map(|seed| timed(test_run(seed), 3).summary);
        summaries[0].latency.as_mut().unwrap().write = None;
        let means = [1, 2].map(|seed: usize| summaries[seed].latency.as_ref().unwrap().write.unwrap().times.mean_ns);
        let json = Statistics::of(&summaries).json().clone();
        assert_eq!(json["latency"]["write"]["mean_ns"]["mean"], (means[0] + means[1]) / 2.0);
        assert_eq!(json["latency"]["write"]["mean_ns"]["runs"], 2);
        assert_eq!(json["latency"]["read"]["p99_ns"]["runs"], 3);
        assert_eq!(json["errors"]["retries"]["runs"], 3);
        assert_eq!(Statistics::of(&[test_run(1).summary]).json().get("latency"), None);
    }

    #[test]
    fn a_band_ends_with_the_shortest_run() {
        let rows = |last: u64, slope: u64| -> Vec<Row> {
            let row = |at| Row {
                drive_writes: at as f64,
                counters: Counters { host_units_written: at, gc_victims: at * slope, ..Counters::default() },
                ..Row::default()
            };
            (0..=last).map(row).collect()
        };
        let (long, short) = (rows(10, 1), rows(4, 3));
        let victims = |rows: &[Row]| rows.iter().map(|row| Some(row.counters.gc_victims as f64)).collect();
        let points = band(&[&long, &short], victims, 9);
        assert_eq!(points.first().unwrap().drive_writes, 0.0);
        assert_eq!(points.last().unwrap().drive_writes, 4.0);
        assert_eq!(points[1].estimate.mean, 1.0, "half way between two rows");
        assert!(band(&[&long, &[]], victims, 9).is_empty());
    }
}
