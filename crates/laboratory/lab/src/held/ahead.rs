//! Aging in which a part of the life is predicted (dissertation 000, ch. 3).

use std::sync::atomic::AtomicBool;

use wane_scenario::FastForward;

use super::{Goal, Held, KeptError};
use crate::array::Drives;
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
    /// Drives that were put in an array so far.
    made: u32,
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
            made: 0,
        })
    }

    /// Learns from a period once it is over, and predicts what it earned. Returns whether the drive died of it. Once another drive stands in an array, or
    /// one takes no more writes, it learns anew.
    pub(super) fn look(&mut self, run: &mut Run, goal: Goal, drives: Option<&Drives>) -> Result<bool, ForwardError> {
        let made = drives.map_or(0, Drives::made);
        if made != self.made || run.standing() != self.start.standing {
            *self = Self { made, ..Self::new(run, self.factor)? };
            return Ok(run.is_over());
        }
        if run.lived() - self.start.lived >= self.forward.period_units() {
            self.wear_of_period = used(run) - self.used_at_start;
            let most = self.room(run, goal, drives.and_then(Drives::replaced_at));
            let next = Start::of(run);
            // It is not interrupted: a prediction takes no longer than a step.
            let go = AtomicBool::new(false);
            if run.is_array() {
                // What an array copied to a new drive woke both.
                run.check_projection()?;
            }
            let is_new = self.forward.learn_and_predict(run, std::mem::replace(&mut self.start, next), most, &go)?;
            if is_new {
                self.start = Start::of(run);
            }
            self.used_at_start = used(run);
        }
        self.seen = run.lived();
        Ok(run.is_over())
    }

    /// Host units that may be predicted before a goal, and before a drive of an array is replaced. The last period before it is simulated, so that data
    /// lie as the workload leaves them.
    fn room(&self, run: &Run, goal: Goal, replaced_at: Option<f64>) -> u64 {
        let period = self.forward.period_units();
        let to_wear = |share: f64| {
            let periods = (share - used(run)) / self.wear_of_period.max(f64::MIN_POSITIVE);
            (periods * period as f64) as u64
        };
        let units = match goal {
            Goal::Units(most) => most.saturating_sub(run.lived()),
            // `Forward` leaves spare blocks.
            Goal::Wear(share) if share.is_infinite() => u64::MAX,
            Goal::Wear(share) => to_wear(share),
        };
        replaced_at.map_or(units, |share| units.min(to_wear(share))).saturating_sub(period)
    }
}

/// Share of its rated erases that the drive has used, or the drive of an array that is worn most.
fn used(run: &Run) -> f64 {
    run.life_used().unwrap_or(0.0)
}

impl Held {
    /// From now on [`Held::age`] simulates one drive write in `factor`, about, and predicts the wear of the others; with `None` it simulates
    /// all. Predicted drive writes and their days count as others do, but no data move in them, so that data which the workload does not write
    /// again look older than they would be. The last drive write before the target is simulated. After a request of anybody else, and
    /// in a drive that is opened, the prediction begins anew, which takes two drive writes. Each drive of an array is predicted from its own periods;
    /// no prediction spans the retirement of a block, and after a drive has come or gone it begins anew.
    ///
    /// # Errors
    /// The factor is out of range, or the drive keeps more of its wear than erase counts: its flash fails, or retires by errors or re-reads.
    pub fn fast_forward(&mut self, factor: Option<f64>) -> Result<(), KeptError> {
        let Some(factor) = factor else {
            self.forward = None;
            return Ok(());
        };
        let is_going_on = |ahead: &Ahead| ahead.factor.to_bits() == factor.to_bits() && ahead.seen == self.run.lived();
        if self.forward.as_ref().is_some_and(is_going_on) {
            return Ok(());
        }
        let made = self.drives.as_ref().map_or(0, Drives::made);
        let ahead = Ahead { made, ..Ahead::new(&self.run, factor)? };
        self.run.check_projection().map_err(ForwardError::from)?;
        self.forward = Some(ahead);
        Ok(())
    }
}
