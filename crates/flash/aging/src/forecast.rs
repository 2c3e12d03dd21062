//! What a drive has left, forecast from its log alone (dissertation 000, §3.5.2, which leaves it as future work): "the changes in
//! percentage lifetime used can be used to estimate how much host data the SSD can sustain under the current workload before its
//! failure".
//!
//! The same forecast is made of days, of hours under power and of bytes, so that what is said of the same records in each of them
//! agrees. A log gives percentage used in steps, mostly of whole percents, so that the growth between its first and last entry is
//! known up to a step. This bounds the rate, and with many steps its slowest and fastest quarter do. The forecast then is a line
//! through the later half of the turns of the percentage, since a workload changes in years; with few steps it is the mean rate. A log
//! cannot show that a change of workload is still to come.

use crate::AgingError;
use crate::regression::theil_sen;

/// Percentage used at which the rated life is over.
const END: f64 = 100.0;

/// Steps of the counter from which quarters of a log are told apart, and fewest entries for it.
const QUARTERS_STEPS_LEAST: f64 = 8.0;
const QUARTERS_ENTRIES_LEAST: usize = 8;

/// Widest gaps between turns after which a drive without a turn stands still.
const STILL_GAPS: f64 = 2.0;

/// One reading of a drive's log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogEntry {
    /// Where in the drive's life: bytes written so far, days, or hours. The forecast is in the same.
    pub at: f64,
    /// Percentage used, as in the log; above 100 if the drive outlives its rating.
    pub percentage_used: f64,
}

/// What a drive has left until 100 % are used. A bound or value is `None` if the log does not show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// At the log's rate; `None` if the percentage grew by less than a step.
    pub left: Option<f64>,
    /// Lower bound.
    pub left_least: Option<f64>,
    /// Upper bound; `None` if the percentage grew by no more than a step, which may come at any time.
    pub left_most: Option<f64>,
    /// Whether the bounds cover the slowest and fastest quarter of the log beside its rounding.
    pub has_quarters: bool,
}

/// Forecasts what a drive has left from readings of its log, in their order. `step`: the log's rounding, in percent.
///
/// # Errors
/// There are fewer than two entries, or the last is not after the first, or shows less wear.
pub fn forecast(log: &[LogEntry], step: f64) -> Result<Forecast, AgingError> {
    let [first, .., last] = log else {
        return Err(AgingError::TooFew { what: "readings of the log", found: log.len(), least: 2 });
    };
    let (span, growth) = (last.at - first.at, last.percentage_used - first.percentage_used);
    // NaN is no growth either.
    if span.is_nan() || span <= 0.0 {
        return Err(AgingError::Backwards { found: last.at, before: first.at });
    }
    if growth.is_nan() || growth < 0.0 {
        return Err(AgingError::Backwards { found: last.percentage_used, before: first.percentage_used });
    }
    let (mut slowest, mut fastest) = ((growth - step).max(0.0) / span, (growth + step) / span);
    let has_quarters = growth >= QUARTERS_STEPS_LEAST * step && growth > 0.0 && log.len() >= QUARTERS_ENTRIES_LEAST;
    for quarter in (0..4).map(f64::from).filter(|_| has_quarters) {
        let at = |part: f64| log.iter().rev().find(|entry| entry.at <= first.at + span * part / 4.0).unwrap_or(first);
        let (start, end) = (at(quarter), at(quarter + 1.0));
        if end.at > start.at {
            let rate = (end.percentage_used - start.percentage_used) / (end.at - start.at);
            (slowest, fastest) = (slowest.min(rate.max(0.0)), fastest.max(rate));
        }
    }
    debug_assert!(slowest <= fastest, "the slowest growth is no faster than the fastest");
    let left = |percents: f64, rate: f64| Some(percents.max(0.0) / rate).filter(|left| left.is_finite());
    let rest = END - last.percentage_used;
    let (left_least, left_most) = (left(rest - step, fastest), left(rest + step, slowest));
    let mean = (growth >= step && growth > 0.0).then(|| left(rest, growth / span)).flatten();
    let line = has_quarters.then(|| by_turns(log, step)).flatten();
    // What is bounded lies within its bounds.
    let within = |found: f64| found.max(left_least.unwrap_or(0.0)).min(left_most.unwrap_or(f64::INFINITY));
    Ok(Forecast { left: line.map(within).or(mean), left_least, left_most, has_quarters })
}

/// What is left by a line through the later half of the turns of the percentage; `None` if there are too few, or the drive stands still
/// since.
fn by_turns(log: &[LogEntry], step: f64) -> Option<f64> {
    let mut most = log.first()?.percentage_used;
    let mut turns = Vec::new();
    for pair in log.windows(2) {
        let jump = pair[1].percentage_used - most;
        if jump > 0.0 {
            most = pair[1].percentage_used;
            // Of n steps between two entries the last comes where n of n + 1 parts have passed.
            turns.push((most, pair[0].at + (pair[1].at - pair[0].at) * jump / (jump + step)));
        }
    }
    let later = &turns[turns.len() / 2..];
    let (percentage, at) = *later.last()?;
    let widest = later.windows(2).map(|pair| pair[1].1 - pair[0].1).max_by(f64::total_cmp)?;
    let since = log.last()?.at - at;
    let per_percent = theil_sen(later);
    (since <= STILL_GAPS * widest && per_percent > 0.0).then(|| ((END - percentage) * per_percent - since).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(points: &[(f64, f64)]) -> Vec<LogEntry> {
        points.iter().map(|(at, percentage_used)| LogEntry { at: *at, percentage_used: *percentage_used }).collect()
    }

    fn close(found: Option<f64>, want: f64) {
        assert!(found.is_some_and(|found| (found - want).abs() < 1e-9 * want), "{found:?} is not {want}");
    }

    #[test]
    fn a_steady_drive_has_left_what_its_percents_say() {
        // A percent takes 10 bytes; it is read every 3.
        let steady: Vec<(f64, f64)> =
            (0..=100).map(|n| 3.0 * f64::from(n)).map(|bytes| (bytes, (bytes / 10.0).floor())).collect();
        let found = forecast(&log(&steady), 1.0).unwrap();
        let left = found.left.unwrap();
        assert!((left - 700.0).abs() < 3.0, "{left}: the last reading is 3 bytes after the one before");
        assert!(found.has_quarters && found.left_least < Some(690.0) && found.left_most > Some(710.0), "{found:?}");
        // Of three entries: 2 percents in 20, at most 3, and at least 1.
        let found = forecast(&log(&[(40.0, 4.0), (50.0, 5.0), (60.0, 6.0)]), 1.0).unwrap();
        close(found.left, 940.0);
        close(found.left_least, 620.0);
        close(found.left_most, 1900.0);
    }

    #[test]
    fn a_change_of_the_workload_widens_the_bounds() {
        // 20 percents at 10 bytes, 20 at 4: the rest may take 4 or 10.
        let bytes = |percent: u32| f64::from(percent.min(20)) * 10.0 + f64::from(percent.saturating_sub(20)) * 4.0;
        let points: Vec<(f64, f64)> = (0..=40).map(|percent| (bytes(percent), f64::from(percent))).collect();
        let found = forecast(&log(&points), 1.0).unwrap();
        assert!(found.has_quarters && found.left_least <= Some(240.0) && found.left_most >= Some(600.0), "{found:?}");
        // The later half is what goes on.
        assert!((found.left.unwrap() - 240.0).abs() < 4.0, "{found:?}");
    }

    #[test]
    fn a_drive_that_stands_still_leaves_the_line() {
        // A percent each 10 days, then none for 100: the line ended long ago, and the mean is of all days.
        let mut points: Vec<(f64, f64)> =
            (0..=20).map(|percent| (10.0 * f64::from(percent), f64::from(percent))).collect();
        points.push((300.0, 20.0));
        close(forecast(&log(&points), 1.0).unwrap().left, 80.0 * 15.0);
        points.pop();
        let found = forecast(&log(&points), 1.0).unwrap().left.unwrap();
        assert!((found - 800.0).abs() < 10.0, "{found}");
    }

    #[test]
    fn a_growth_of_a_step_bounds_one_side() {
        let found = forecast(&log(&[(0.0, 5.0), (9.0, 6.0)]), 1.0).unwrap();
        close(found.left, 9.0 * 94.0);
        close(found.left_least, 4.5 * 93.0);
        assert_eq!(found.left_most, None);
        let still = forecast(&log(&[(0.0, 5.0), (9.0, 5.0)]), 1.0).unwrap();
        close(still.left_least, 9.0 * 94.0);
        assert_eq!((still.left, still.left_most), (None, None));
        // An exact counter that stands still has no end.
        assert_eq!(forecast(&log(&[(0.0, 5.0), (9.0, 5.0)]), 0.0).unwrap().left_least, None);
    }

    #[test]
    fn a_log_without_a_slope_is_refused_in_a_sentence() {
        let refused = |points: &[(f64, f64)]| forecast(&log(points), 1.0).unwrap_err().to_string();
        assert!(refused(&[]).contains("found 0 readings of the log"));
        assert!(refused(&[(0.0, 5.0)]).contains("found 1 readings of the log; at least 2"));
        assert!(refused(&[(4.0, 5.0), (3.0, 6.0)]).contains("the log has 3 after 4"));
        assert!(refused(&[(1.0, 5.0), (3.0, 4.0)]).contains("the log has 4 after 5"));
        assert!(refused(&[(1.0, 5.0), (3.0, f64::NAN)]).contains("NaN"));
    }
}
