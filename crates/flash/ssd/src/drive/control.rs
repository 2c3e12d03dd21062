//! What a host controls while the drive lives: power, capacity, mode, thresholds, and where data lie.

use wane_ftl::policies::Mode;
use wane_ftl::policies::mode::ModeView;
use wane_ftl::policies::retirement::RetirementThreshold;
use wane_ftl::{Outcome, ProjectionError, RemapError, UnretiredError};
use wane_units::{Lpn, Sectors, SuperblockId, Trigger};

use super::{Drive, Firmware, MOVING};
use crate::projection::{Predicted, Projection};

impl Drive {
    /// Lets the drive lie for `days` days without power: as [`Drive::set_day`], but they are no hours of service.
    ///
    /// # Panics
    /// The days are negative or no finite number.
    pub fn lie(&mut self, days: f64) {
        self.set_day(self.day() + days);
        self.unpowered = (self.unpowered.0 + days, self.unpowered.1 + 1);
    }

    /// As [`Drive::lie`], with data that age `rate` times as fast as where they usually lie.
    ///
    /// # Panics
    /// The days or the rate are negative or no finite number.
    pub fn lie_at(&mut self, days: f64, rate: f64) {
        assert!(rate.is_finite() && rate >= 0.0, "a rate of aging is a finite number from 0 on, found {rate}");
        self.lie(days);
        if let Some(flash) = self.flash_mut() {
            flash.age_data(days * (rate - 1.0));
        }
    }

    /// The age clock of data, in days. It is [`Drive::day`], corrected for the time that the drive lay warmer or colder than
    /// usual. Its differences are the age of data.
    pub fn data_days(&self) -> f64 {
        let at_rest = || self.day() + self.resting().map_or(0.0, wane_nand::Resting::ahead_days);
        self.flash().map_or_else(at_rest, wane_nand::Flash::data_days)
    }

    /// Days that the drive lay without power, and how often it did.
    pub fn unpowered(&self) -> (f64, u64) {
        self.unpowered
    }

    /// Lowers the exported capacity, in mapping units. The host must have trimmed every unit at or above it.
    ///
    /// # Panics
    /// The capacity would grow.
    pub fn shrink_to(&mut self, exported: u32) {
        over_either!(&mut self.firmware, ftl => ftl.shrink_to(exported));
        self.front.capacity = self.front.capacity.min(Sectors(self.front.unit.0 * u64::from(exported)));
        self.follow_limit();
    }

    /// Switches wear leveling on or off. It is off in a new drive.
    pub fn set_leveling(&mut self, on: bool) {
        over_either!(&mut self.firmware, ftl => ftl.set_leveling(on));
    }

    /// See [`wane_ftl::Ftl::retire_block`].
    ///
    /// # Errors
    /// The block cannot be taken out of service.
    pub fn retire_block(&mut self, block: SuperblockId) -> Result<Outcome, UnretiredError> {
        over_either!(&mut self.firmware, ftl => ftl.retire_block(block))
    }

    /// See [`wane_ftl::Ftl::remap`].
    ///
    /// # Errors
    /// A range is not exported, the two overlap, or the destination is the shorter one.
    pub fn remap(&mut self, to: Lpn, from: Lpn, to_units: u32, from_units: u32) -> Result<u32, RemapError> {
        self.front.mapped = None;
        over_either!(&mut self.firmware, ftl => ftl.remap(to, from, to_units, from_units))
    }

    /// The mode, in which policies that focus wear treat the drive's blocks.
    pub fn mode(&self) -> Mode {
        over_either!(&self.firmware, ftl => ftl.mode())
    }

    /// What made the drive degraded; `None` while it is normal.
    pub fn trigger(&self) -> Option<Trigger> {
        over_either!(&self.firmware, ftl => ftl.trigger())
    }

    /// Whether the drive may change its mode by itself.
    pub fn judges_mode(&self) -> bool {
        over_either!(&self.firmware, ftl => ftl.judges_mode())
    }

    /// The facts by which the mode is decided. This counts the valid units of every block.
    pub fn mode_view(&self) -> ModeView {
        over_either!(&self.firmware, ftl => ftl.mode_view())
    }

    /// Sets the mode, as a host does if its file system could not shrink.
    pub fn set_mode(&mut self, mode: Mode) {
        over_either!(&mut self.firmware, ftl => ftl.set_mode(mode));
    }

    /// See [`wane_ftl::Ftl::set_retirement_threshold`].
    pub fn set_retirement_threshold(&mut self, threshold: RetirementThreshold) -> Option<Outcome> {
        over_either!(&mut self.firmware, ftl => ftl.set_retirement_threshold(threshold))
    }

    /// Applies wear that was predicted instead of simulated: see [`wane_ftl::Ftl::project_wear`]. Counters of what was done are
    /// not changed, and [`Drive::check`] holds before and after; [`Drive::predicted`] counts it. A drive that does not keep its
    /// detail goes to rest first.
    ///
    /// # Errors
    /// The counts are not of this drive or take erases back, or the drive keeps more of its wear than counts. Nothing was
    /// changed.
    pub fn project_wear(&mut self, projection: &Projection<'_>) -> Result<Outcome, ProjectionError> {
        let &Projection { erase_counts, by_wear_leveling, worn, host_units, programmed_units } = projection;
        if !self.rest() {
            return Err(ProjectionError::Detailed);
        }
        let Firmware::Counting(ftl) = &mut self.firmware else { return Err(ProjectionError::Detailed) };
        let erases = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        let before = erases(ftl.erase_counts());
        let counted = ftl.counters().erases_total();
        let outcome = ftl.project_wear(erase_counts, by_wear_leveling, worn)?;
        // What collection erased for blocks that left service is counted.
        let collected = ftl.counters().erases_total() - counted;
        let width = u64::from(ftl.layout().width());
        let erased = (erases(ftl.erase_counts()) - before) * width;
        self.predicted.host_units += host_units;
        self.predicted.programmed_units += programmed_units;
        self.predicted.erases += erased.saturating_sub(collected);
        Ok(outcome)
    }

    /// What was predicted instead of simulated since the drive was new.
    pub fn predicted(&self) -> Predicted {
        self.predicted
    }

    /// See [`wane_ftl::Ftl::set_read_recovery`]. While a limit is set, a drive with errors does not rest: it looks at its flash at each erase.
    pub fn set_read_recovery(&mut self, rereads_max: Option<u32>) -> Outcome {
        if rereads_max.is_some() && self.may_err() {
            self.wake();
        }
        over_either!(&mut self.firmware, ftl => ftl.set_read_recovery(rereads_max))
    }

    /// See [`wane_ftl::Ftl::units_beyond_recovery`].
    pub fn units_beyond_recovery(&self) -> u64 {
        over_either!(&self.firmware, ftl => ftl.units_beyond_recovery())
    }

    /// Most re-reads of a host read; `None`: as many as error correction allows.
    pub fn read_recovery(&self) -> Option<u32> {
        over_either!(&self.firmware, ftl => ftl.read_recovery())
    }
}
