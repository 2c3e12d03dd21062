//! Aging in which a part of the life is predicted (dissertation 000, ch. 3).

use std::sync::atomic::AtomicBool;

use wane_scenario::FastForward;

use super::{Goal, Held, KeptError};
use crate::forward::{Forward, ForwardError, Start};
use crate::run::Run;

/// Predictions of a held drive's life.
#[derive(Clone)]
pub(super) struct Ahead {
    factor: f64,
    forward: Forward,
    /// The start of the period that is simulated now.
    start: Start,
    /// Host units of the life when this was last looked at. If others write meanwhile, what was learned does not hold.
    seen: u64,
    /// Share of the rated erases that the last period used, if the drive is rated.
    wear_of_period: f64,
    used_at_start: f64,
}

impl Ahead {
    fn new(run: &Run, factor: f64) -> Result<Self, ForwardError> {
        let spec = FastForward { factor, ..FastForward::default() };
        Ok(Self {
            factor,
            forward: Forward::new(run, &spec)?,
            start: Start::of(run),
            seen: run.lived(),
            wear_of_period: 0.0,
            used_at_start: used(run),
        })
    }

    /// Learns from a period once it is over, and predicts what it earned. Returns whether the drive died of it.
    pub(super) fn look(&mut self, run: &mut Run, goal: Goal) -> Result<bool, ForwardError> {
        if run.lived() - self.start.lived >= self.forward.period_units() {
            self.wear_of_period = used(run) - self.used_at_start;
            let most = self.room(run, goal);
            let next = Start::of(run);
            // It is not interrupted: a prediction takes no longer than a step.
            let go = AtomicBool::new(false);
            let is_new = self.forward.learn_and_predict(run, std::mem::replace(&mut self.start, next), most, &go)?;
            if is_new {
                self.start = Start::of(run);
            }
            self.used_at_start = used(run);
        }
        self.seen = run.lived();
        Ok(run.is_over())
    }

    /// Host units that may be predicted before a goal. The last period before it is simulated, so that data lie as the workload leaves
    /// them.
    fn room(&self, run: &Run, goal: Goal) -> u64 {
        let period = self.forward.period_units();
        let units = match goal {
            Goal::Units(most) => most.saturating_sub(run.lived()),
            // `Forward` leaves spare blocks.
            Goal::Wear(share) if share.is_infinite() => u64::MAX,
            Goal::Wear(share) => {
                let periods = (share - used(run)) / self.wear_of_period.max(f64::MIN_POSITIVE);
                (periods * period as f64) as u64
            }
        };
        units.saturating_sub(period)
    }
}

fn used(run: &Run) -> f64 {
    run.drive().life_used().unwrap_or(0.0)
}

impl Held {
    /// From now on [`Held::age`] simulates one drive write in `factor`, about, and predicts the wear of the others; with `None` it simulates
    /// all. Predicted drive writes and their days count as others do, but no data move in them, so that data which the workload does not write
    /// again look older than they would be. The last drive write before the target is simulated. After a request of anybody else, and
    /// in a drive that is opened, the prediction begins anew, which takes two drive writes.
    ///
    /// # Errors
    /// The factor is out of range, or the drive keeps more of its wear than erase counts: its flash fails, or retires by errors or re-reads.
    pub fn fast_forward(&mut self, factor: Option<f64>) -> Result<(), KeptError> {
        let Some(factor) = factor else {
            self.forward = None;
            return Ok(());
        };
        if self.is_array() {
            return Err(KeptError::ForwardArray);
        }
        let is_going_on = |ahead: &Ahead| ahead.factor.to_bits() == factor.to_bits() && ahead.seen == self.run.lived();
        if self.forward.as_ref().is_some_and(is_going_on) {
            return Ok(());
        }
        let ahead = Ahead::new(&self.run, factor)?;
        self.run.check_projection().map_err(ForwardError::from)?;
        self.forward = Some(ahead);
        Ok(())
    }
}
