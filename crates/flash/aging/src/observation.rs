//! Observations of a life: its periods.

use std::collections::VecDeque;

use crate::AgingError;

/// One simulated stretch of a life. Dissertation 000, §3.3.1: block identifier (the index), erase count, time, and the write
/// amplification of the stretch. The host's behavior is left out on purpose, because its effect depends on the firmware.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    /// When it began, in periods of life since observation began, predicted ones included.
    pub from: f64,
    /// How long it was, in periods: 1, or less if the life ended in it.
    pub span: f64,
    /// Erases of each block when it began, by block id.
    pub before: Vec<u32>,
    /// Erases of each block when it ended, by block id.
    pub after: Vec<u32>,
    /// Flash pages programmed over host pages written in it.
    pub write_amplification: f64,
}

impl Period {
    /// Erases of a block in it, for each period of its span.
    pub(crate) fn rate(&self, block: usize) -> f64 {
        debug_assert!(self.before[block] <= self.after[block], "no erase is taken back within a period");
        f64::from(self.after[block] - self.before[block]) / self.span
    }
}

/// The latest periods, as many as are needed.
#[derive(Clone, Debug)]
pub struct History {
    periods: VecDeque<Period>,
    most: usize,
}

impl History {
    /// An empty history that keeps the last `most` periods.
    pub fn new(most: usize) -> Self {
        Self { periods: VecDeque::new(), most: most.max(1) }
    }

    /// Adds a period.
    ///
    /// # Errors
    /// The period is not of the same blocks as those before it.
    pub fn push(&mut self, period: Period) -> Result<(), AgingError> {
        let wanted = self.periods.back().map_or(period.before.len(), |last| last.after.len());
        for found in [period.before.len(), period.after.len()] {
            if found != wanted {
                return Err(AgingError::Lengths { found, wanted });
            }
        }
        if self.periods.len() == self.most {
            self.periods.pop_front();
        }
        self.periods.push_back(period);
        Ok(())
    }

    /// The periods that are kept, the oldest first.
    pub fn periods(&self) -> impl DoubleEndedIterator<Item = &Period> + ExactSizeIterator {
        self.periods.iter()
    }

    /// The latest.
    pub fn last(&self) -> Option<&Period> {
        self.periods.back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn period(from: f64, before: &[u32], after: &[u32]) -> Period {
        Period { from, span: 1.0, before: before.to_vec(), after: after.to_vec(), write_amplification: 1.0 }
    }

    #[test]
    fn a_history_keeps_the_latest_and_refuses_other_blocks() {
        let mut history = History::new(2);
        for from in 0..3 {
            history.push(period(f64::from(from), &[0, 0], &[from, 1])).unwrap();
        }
        assert_eq!(history.periods().map(|period| period.from).collect::<Vec<_>>(), [1.0, 2.0]);
        let error = history.push(period(3.0, &[0], &[0])).unwrap_err();
        assert_eq!(error, AgingError::Lengths { found: 1, wanted: 2 });
        assert!(error.to_string().contains("1 erase counts are compared with 2"), "{error}");
    }
}
