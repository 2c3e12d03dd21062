//! When a life is simulated and when it is predicted.

use crate::AgingError;

/// The largest acceleration factor.
pub const FACTOR_MOST: f64 = 1000.0;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// One more period is simulated.
    Simulate,
    /// This number of periods is predicted at once.
    Predict(f64),
}

/// The order of simulated and predicted periods at an acceleration factor of (simulated + predicted) / simulated (dissertation 000, eq.
/// 3.1).
///
/// Each simulated period earns factor - 1 predicted ones. Earned periods are predicted at once when they come to a whole period:
/// at factor 1.5 after every second simulated period, at 2 after each, at 3 two at once after each. Before the first prediction a
/// model sees as many periods as it needs, at least two, so that 100 periods at factor 2 are 51 simulated and 49 predicted ones,
/// as in the released code. Periods simulated while the model waits earn no more than one prediction in all. A factor of 1.25
/// simulates four periods and predicts one; 2.5 predicts one and a half after each. How to predict above 2 is not published.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    earned_by_each: f64,
    earned: f64,
    seen: usize,
    needs: usize,
    is_first: bool,
}

impl Schedule {
    /// Makes a schedule at its start. `needs`: number of periods that the model needs before its first prediction.
    ///
    /// # Errors
    /// The factor is below 1, above [`FACTOR_MOST`] or not a number.
    pub fn new(factor: f64, needs: usize) -> Result<Self, AgingError> {
        if !(1.0..=FACTOR_MOST).contains(&factor) {
            return Err(AgingError::Factor { found: factor, most: FACTOR_MOST });
        }
        Ok(Self { earned_by_each: factor - 1.0, earned: 0.0, seen: 0, needs: needs.max(2), is_first: true })
    }

    /// Records that a period was simulated.
    pub fn simulated(&mut self) {
        self.seen += 1;
        self.earned += self.earned_by_each;
        if self.is_first {
            self.earned = self.earned.min(self.earned_by_each.max(1.0));
        }
    }

    /// Returns what comes next. A returned prediction counts as made.
    pub fn decide(&mut self) -> Next {
        // Tenths add up to one only up to rounding.
        const WHOLE: f64 = 1.0 - 1e-9;
        if self.seen < self.needs || self.earned < WHOLE {
            return Next::Simulate;
        }
        self.is_first = false;
        let at_once = if self.earned_by_each < WHOLE { 1.0 } else { self.earned };
        self.earned = (self.earned - at_once).max(0.0);
        Next::Predict(at_once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of simulated and predicted periods of `periods`. The last prediction is cut to what is left.
    fn over(factor: f64, needs: usize, periods: f64) -> (f64, f64) {
        let mut schedule = Schedule::new(factor, needs).unwrap();
        let (mut simulated, mut predicted) = (0.0, 0.0);
        while simulated + predicted < periods - 1e-9 {
            match schedule.decide() {
                Next::Simulate => {
                    schedule.simulated();
                    simulated += 1.0;
                }
                Next::Predict(ahead) => predicted += ahead.min(periods - simulated - predicted),
            }
        }
        (simulated, predicted)
    }

    #[test]
    fn a_factor_comes_to_its_share() {
        // (factor, periods that the model needs, of 100: simulated, predicted)
        for (factor, needs, simulated, predicted) in [
            (1.0, 2, 100.0, 0.0),
            (1.25, 2, 80.0, 20.0),
            (1.5, 2, 67.0, 33.0),
            (2.0, 2, 51.0, 49.0),
            (2.0, 4, 52.0, 48.0),
            (3.0, 2, 34.0, 66.0),
            (4.0, 2, 26.0, 74.0),
        ] {
            let (found, skipped) = over(factor, needs, 100.0);
            assert!(
                (found - simulated).abs() < 1e-6 && (skipped - predicted).abs() < 1e-6,
                "{factor}: {found} {skipped}"
            );
        }
        // In the long run any factor is reached.
        for factor in [1.1, 1.4, 1.7, 2.3, 2.5, 7.9, 100.0] {
            let (simulated, predicted) = over(factor, 2, 1e5);
            assert!(((simulated + predicted) / simulated / factor - 1.0).abs() < 0.01, "{factor} {simulated}");
        }
    }

    #[test]
    fn predictions_come_in_the_published_order() {
        let order = |factor: f64, count: usize| {
            let mut schedule = Schedule::new(factor, 2).unwrap();
            let mut next = || {
                let next = schedule.decide();
                if next == Next::Simulate {
                    schedule.simulated();
                    "s".to_owned()
                } else {
                    let Next::Predict(ahead) = next else { unreachable!() };
                    format!("{ahead:.1}")
                }
            };
            (0..count).map(|_| next()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order(1.5, 6), "s s 1.0 s s 1.0");
        assert_eq!(order(2.0, 7), "s s 1.0 s 1.0 s 1.0");
        assert_eq!(order(3.0, 5), "s s 2.0 s 2.0");
        assert_eq!(order(4.0, 5), "s s 3.0 s 3.0");
    }

    #[test]
    fn a_factor_below_one_is_refused_in_a_sentence() {
        for factor in [0.5, 0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            let error = Schedule::new(factor, 2).unwrap_err().to_string();
            assert!(error.contains("from 1, which simulates everything, to 1000 is allowed"), "{error}");
        }
    }
}
