//! What a drive has left, by its log alone (dissertation 000, §3.5.2, which leaves it as future work): "the changes in percentage lifetime
//! used can be used to estimate how much host data the SSD can sustain under the current workload before its failure".
//!
//! A log tells percentage used in whole percents, and somebody reads it now and then. What is known is where a percent turned: between two
//! readings. The forecast is a line through these turns, of the later half of them, since a workload changes in years; its bounds
//! are what the two outer turns allow by where between two readings they may lie. That a change of workload is still to come no log
//! tells.

use crate::AgingError;
use crate::regression::theil_sen;

/// Turns of the percentage that make a line.
const TURNS_LEAST: usize = 2;

/// Percentage used at which the rated life is over.
const END: f64 = 100.0;

/// One reading of a drive's log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogEntry {
    /// Bytes written so far: by the host, or to flash where a log has only those; the forecast is of the same.
    pub bytes_written: f64,
    /// Percentage used, as the log has it: in whole percents of the rated life, above 100 where the drive outlives it.
    pub percentage_used: f64,
}

/// What is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Bytes that can still be written until 100 % are used; below zero where they are.
    pub bytes_left: f64,
    /// As few as that may be, if the workload stays as it is.
    pub bytes_left_least: f64,
    /// As many as that may be.
    pub bytes_left_most: f64,
    /// Bytes that one percent took, by the Theil-Sen line through the later half of the turns.
    pub bytes_per_percent: f64,
    /// Turns of the percentage that this rests on.
    pub turns: usize,
}

/// Where the log shows a new percentage: the bytes of the reading before and of the reading itself.
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
    // Turns between the outer two may know better than these.
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
            // Not a number is no growth either.
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
        assert!(refused(&[]).contains("0 of readings of the log were found"));
        assert!(refused(&[(0.0, 5.0), (9.0, 5.0)]).contains("percentage used stays at 5 %"));
        assert!(refused(&[(0.0, 5.0), (9.0, 6.0)]).contains("1 of turns of percentage used were found; at least 2"));
        assert!(refused(&[(4.0, 5.0), (3.0, 6.0)]).contains("entry 1 of the log has 3 after 4"));
        assert!(refused(&[(1.0, 5.0), (3.0, f64::NAN)]).contains("NaN"));
    }
}
