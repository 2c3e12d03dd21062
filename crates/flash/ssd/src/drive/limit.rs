//! How many units of a drive may hold data at once.
//!
//! The limit is the drive's, as its capacity is: it stays when the power goes. The firmware knows it as far as it asks for space back. The drive counts
//! the units that hold data only while there is a limit below the capacity, so that other drives pay nothing.

use wane_blockdev::{AnsweredBy, Notice, NoticeKind, Status, WantedCause, check_mapped_limit};
use wane_ftl::DemandCause;
use wane_units::{Lpn, Sectors, SimTime};

use super::{Drive, Firmware, MOVING};

impl Drive {
    /// Sectors that may hold data at once.
    pub(crate) fn limit(&self) -> Sectors {
        self.front.limit.map_or(self.front.capacity, |limit| limit.min(self.front.capacity))
    }

    /// Sectors that the blocks in service hold, without the reserve.
    fn holds_at_most(&self) -> Sectors {
        Sectors(self.service_units().saturating_mul(self.front.unit.0))
    }

    /// Units that hold data, on flash or in buffers that a recovery could not program. Without a known count, this counts all.
    pub fn mapped_units(&self) -> u64 {
        self.front.mapped.unwrap_or_else(|| over_either!(&self.firmware, ftl => ftl.units_held()))
    }

    fn holds(&self, unit: Lpn) -> bool {
        over_either!(&self.firmware, ftl => ftl.holds(unit))
    }

    /// See [`wane_blockdev::BlockDevice::set_mapped_limit`].
    pub(crate) fn limit_to(&mut self, at: SimTime, limit: Sectors) -> Status {
        self.run_to(at);
        if self.is_off() {
            return Status::Gone(Vec::new());
        }
        if limit == self.limit() {
            return Status::Done;
        }
        let features = wane_blockdev::BlockDevice::features(self);
        let mapped = || Sectors(self.mapped_units() * self.front.unit.0);
        if let Err(status) = check_mapped_limit(&features, self.front.capacity, self.holds_at_most(), limit, mapped) {
            return status;
        }
        self.front.limit = Some(limit);
        self.follow_limit();
        self.front.wanted = None;
        self.front.notices.push(Notice { at, kind: NoticeKind::MappedLimitChanged(limit) });
        let outcome = self.look_for_space();
        self.settle_alone(outcome);
        Status::Done
    }

    /// What the drive asked its host for, as it stands now, if it did not get it.
    pub fn wish(&self) -> Option<NoticeKind> {
        self.front.wanted.map(|to| self.wish_for(to))
    }

    /// The notice that the drive wants its host to use no more than this.
    pub(crate) fn wish_for(&self, to: Sectors) -> NoticeKind {
        let (cause, left) = over_either!(&self.firmware, ftl => (ftl.demand_cause(), ftl.units_left()));
        let cause = match cause {
            DemandCause::Wear => WantedCause::Wear,
            DemandCause::BadBlock => WantedCause::BadBlocks,
            DemandCause::ReadRequirement => WantedCause::ReadRequirement,
            DemandCause::Full => WantedCause::Full,
        };
        let writes_left = Sectors(left.saturating_mul(self.front.unit.0));
        NoticeKind::CapacityWanted { to, cause, writes_left, by: AnsweredBy::Either }
    }

    /// Tells the firmware what the limit is. One that the capacity does not exceed is none.
    pub(crate) fn follow_limit(&mut self) {
        self.front.limit = self.front.limit.filter(|limit| *limit < self.front.capacity);
        self.front.mapped = self.front.mapped.filter(|_| self.front.limit.is_some());
        let units = self.front.limit.map(|limit| (limit.0 / self.front.unit.0) as u32);
        over_either!(&mut self.firmware, ftl => ftl.set_held_max(units));
    }

    /// Takes out of a list of different units those that would hold data beyond the limit, from the first that does not fit on, and adds them to
    /// `beyond`. Returns how many of the rest hold none yet.
    pub(crate) fn keep_within_limit(&mut self, units: &mut Vec<Lpn>, beyond: &mut Vec<Lpn>) -> u64 {
        let Some(limit) = self.front.limit else { return 0 };
        let held = self.mapped_units();
        self.front.mapped = Some(held);
        let room = (limit.0 / self.front.unit.0).saturating_sub(held);
        let mut fresh = 0;
        units.retain(|unit| {
            if self.holds(*unit) {
                return true;
            }
            if fresh == room {
                beyond.push(*unit);
                return false;
            }
            fresh += 1;
            true
        });
        fresh
    }

    /// Notes that units were written, of which `fresh` held nothing before. `held`: the count before, if it is known.
    pub(crate) fn note_mapped(&mut self, held: Option<u64>, fresh: u64, all_are_written: bool) {
        self.front.mapped = held.filter(|_| all_are_written).map(|held| held + fresh);
    }

    /// The count of units that hold data once these, each named once, hold none.
    pub(crate) fn mapped_without(&self, units: impl IntoIterator<Item = Lpn>) -> Option<u64> {
        let held = self.front.mapped?;
        Some(held - units.into_iter().filter(|unit| self.holds(*unit)).count() as u64)
    }
}
