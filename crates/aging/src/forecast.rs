//! What a drive has left, forecast from its log alone (dissertation 000, §3.5.2, which leaves it as future work): "the changes in
//! percentage lifetime used can be used to estimate how much host data the SSD can sustain under the current workload before its
//! failure".
//! used can be used to estimate how much host data the SSD can sustain under the current workload before its failure".
//!
//! A log gives percentage used in whole percents, and it is read now and then. So what is known is that the percentage turned
//! between two readings. The forecast is a line through the later half of these turns, since a workload changes in years. Its
//! bounds follow from the two outer turns, which may lie anywhere between their two readings. A log cannot show that a change of
//! workload is still to come.

use crate::AgingError;
use crate::regression::theil_sen;

/// Fewest turns of the percentage for a line.
const TURNS_LEAST: usize = 2;

/// Percentage used at which the rated life is over.
const END: f64 = 100.0;

/// One reading of a drive's log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogEntry {
    /// Bytes written so far: by the host, or to flash if a log has only those. The forecast is in the same bytes.
    pub bytes_written: f64,
    /// Percentage used, as in the log: whole percents of the rated life, above 100 if the drive outlives it.
    pub percentage_used: f64,
}

/// What a drive has left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Bytes that can still be written until 100 % are used; below zero if more than 100 % are used.
    pub bytes_left: f64,
    /// Lower bound of these bytes, if the workload stays as it is.
    pub bytes_left_least: f64,
    /// Upper bound of these bytes.
    pub bytes_left_most: f64,
    /// Bytes that one percent took, by the Theil-Sen line through the later half of the turns.
    pub bytes_per_percent: f64,
    /// Turns of the percentage on which this is based.
    pub turns: usize,
}

/// A new percentage in the log, between two readings: the bytes at the reading before and at the first reading that shows it.
#[derive(Clone, Copy)]
struct Turn {
    percentage: f64,
    before: f64,
    at: f64,
}

impl Turn {
    fn middle(&self) -> f64 {
        0.5 * (self.before + self.at)
    }
}

/// Forecasts what a drive has left from readings of its log, in the order in which they were made.
///
/// # Errors
/// A reading is less than the one before it, or the log shows fewer than two turns of the percentage.
pub fn forecast(log: &[LogEntry]) -> Result<Forecast, AgingError> {
    let turns = turns(log)?;
    let Some(last_entry) = log.last() else {
        return Err(AgingError::TooFew { what: "readings of the log", found: 0, least: TURNS_LEAST + 1 });
    };
    match turns.len() {
        0 => return Err(AgingError::NoStep(last_entry.percentage_used)),
        found if found < TURNS_LEAST => {
            let what = "turns of percentage used";
            return Err(AgingError::TooFew { what, found, least: TURNS_LEAST });
        }
        _ => {}
    }
    let later = &turns[(turns.len() / 2).min(turns.len() - TURNS_LEAST)..];
    assert!(later.len() >= TURNS_LEAST, "a line goes through two turns or more");
    let (first, last) = (later[0], later[later.len() - 1]);
    let percents = last.percentage - first.percentage;
    assert!(percents > 0.0, "the percentage is more at each turn than at the one before");
    let left =
        |per_percent: f64, turned: f64| turned + (END - last.percentage) * per_percent - last_entry.bytes_written;
    let least = (last.before - first.at).max(0.0) / percents;
    let most = (last.at - first.before) / percents;
    let points: Vec<(f64, f64)> = later.iter().map(|turn| (turn.percentage, turn.middle())).collect();
    let bytes_per_percent = theil_sen(&points);
    let bytes_left = left(bytes_per_percent, last.middle());
    let outer = [left(least, last.before), left(most, last.at), left(least, last.at), left(most, last.before)];
    // Turns between the outer two may give closer values.
    let bounds = outer.into_iter().chain([bytes_left]);
    Ok(Forecast {
        bytes_left,
        bytes_left_least: bounds.clone().fold(f64::INFINITY, f64::min),
        bytes_left_most: bounds.fold(f64::NEG_INFINITY, f64::max),
        bytes_per_percent,
        turns: later.len(),
    })
}

fn turns(log: &[LogEntry]) -> Result<Vec<Turn>, AgingError> {
    let mut turns = Vec::new();
    for (entry, pair) in (1..).zip(log.windows(2)) {
        for (before, found) in
            [(pair[0].bytes_written, pair[1].bytes_written), (pair[0].percentage_used, pair[1].percentage_used)]
        {
            // NaN is no growth either.
            if !matches!(found.partial_cmp(&before), Some(std::cmp::Ordering::Greater | std::cmp::Ordering::Equal)) {
                return Err(AgingError::Backwards { entry, found, before });
            }
        }
        if pair[1].percentage_used > pair[0].percentage_used {
            let (before, at) = (pair[0].bytes_written, pair[1].bytes_written);
            turns.push(Turn { percentage: pair[1].percentage_used, before, at });
        }
    }
    Ok(turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(points: &[(f64, f64)]) -> Vec<LogEntry> {
        points
            .iter()
            .map(|(bytes_written, percentage_used)| LogEntry {
                bytes_written: *bytes_written,
                percentage_used: *percentage_used,
            })
            .collect()
    }

    #[test]
    fn a_steady_drive_has_left_what_its_percents_say() {
        // A percent takes 10 bytes; it is read every 3.
        let steady: Vec<(f64, f64)> =
            (0..=100).map(|n| 3.0 * f64::from(n)).map(|bytes| (bytes, (bytes / 10.0).floor())).collect();
        let found = forecast(&log(&steady)).unwrap();
        assert!((found.bytes_per_percent - 10.0).abs() < 0.3, "{found:?}");
        assert!((found.bytes_left - 700.0).abs() < 25.0, "{found:?}");
        assert!((found.bytes_left_least..=found.bytes_left_most).contains(&700.0), "{found:?}");
        assert_eq!(found.turns, 15);
    }

    #[test]
    fn the_later_workload_counts() {
        // 20 percents at 10 bytes, 20 at 4.
        let bytes = |percent: u32| f64::from(percent.min(20)) * 10.0 + f64::from(percent.saturating_sub(20)) * 4.0;
        let points: Vec<(f64, f64)> = (0..=40).map(|percent| (bytes(percent), f64::from(percent))).collect();
        let found = forecast(&log(&points)).unwrap();
        assert!((found.bytes_per_percent - 4.0).abs() < 0.1, "{found:?}");
        assert!((found.bytes_left_least..=found.bytes_left_most).contains(&240.0), "{found:?}");
    }

    #[test]
    fn a_log_without_a_slope_is_refused_in_a_sentence() {
        let refused = |points: &[(f64, f64)]| forecast(&log(points)).unwrap_err().to_string();
        assert!(refused(&[]).contains("found 0 readings of the log"));
        assert!(refused(&[(0.0, 5.0), (9.0, 5.0)]).contains("percentage used stays at 5 %"));
        assert!(refused(&[(0.0, 5.0), (9.0, 6.0)]).contains("found 1 turns of percentage used; at least 2"));
        assert!(refused(&[(4.0, 5.0), (3.0, 6.0)]).contains("entry 1 of the log has 3 after 4"));
        assert!(refused(&[(1.0, 5.0), (3.0, f64::NAN)]).contains("NaN"));
    }
}
