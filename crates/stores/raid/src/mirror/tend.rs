//! What the operator of a mirror does: takes members out, puts them back, replaces them, and changes settings of what stands below.

use wane_blockdev::{Living, PowerError};
use wane_units::{EndOfLife, Fate, Sectors, SimTime};

use super::Mirror;
use super::member::{Known, Member};
use crate::layout::LayoutError;
use crate::living::tending_that_goes_on;
use crate::members::MemberState;

impl Mirror {
    tending_that_goes_on!();

    /// A member is lost while the array has no power.
    fn lose_without_power(&mut self, member: usize) {
        self.lose(member, MemberState::Absent);
    }

    /// A member is there again, at an instant to which it led the array.
    fn take_in_at(&mut self, now: SimTime, member: usize) {
        self.now = now;
        self.run_members(now);
        self.members[member].come_back();
        self.own.is_due = true;
        self.count();
    }

    /// Puts a new device in a member's place. All of it is copied from the others. Returns the old one, which no longer belongs to the array.
    ///
    /// # Errors
    /// The new device is too small, or its units do not fit.
    ///
    /// # Panics
    /// As of [`Mirror::take_out`].
    pub fn replace(
        &mut self,
        at: SimTime,
        member: usize,
        device: Box<dyn Living>,
    ) -> Result<Box<dyn Living>, LayoutError> {
        let (used, features) = (self.layout.used(member), device.features());
        if device.capacity() < used {
            return Err(LayoutError::Smaller(device.capacity().0, used.0));
        }
        let (unit, sector) = (features.atomic_unit.0, features.sector.0);
        if !self.unit.0.is_multiple_of(unit) || sector > self.features.sector.0 || unit < self.features.atomic_unit.0 {
            return Err(LayoutError::Units(unit, self.unit.0));
        }
        if self.members[member].is_present() {
            self.take_out(at, member, &mut || Fate::Done);
        } else {
            self.catch_up(at);
        }
        self.now = self.now.max(device.now());
        self.count();
        let old = self.members.replace(member, device);
        let units = self.capacity.0 / self.unit.0;
        (self.members[member].state, self.members[member].known) = (MemberState::Online, Known::new(units));
        self.forget_changes(member);
        for number in 0..self.layout.runs().len() {
            let run = &self.layout.runs()[number];
            if run.places.iter().any(|place| place.0 == member) {
                let units = self.units_of(run.range);
                self.members[member].spoil(units);
            }
        }
        self.run_members(self.now);
        self.own.is_due = true;
        self.tell_if_degraded();
        self.count();
        Ok(old)
    }

    /// Sectors of which a member has the only present copy that can be reached. They go with it.
    pub fn only_on(&self, member: usize) -> Sectors {
        let own = &self.members[member];
        if !own.is_present() {
            return Sectors::ZERO;
        }
        let mut units = 0;
        for run in self.layout.runs().iter().filter(|run| run.places.iter().any(|place| place.0 == member)) {
            let others = run.places.iter().map(|place| place.0).filter(|other| *other != member);
            let there: Vec<&Member> =
                others.map(|other| &self.members[other]).filter(|other| other.is_present()).collect();
            let all = self.units_of(run.range);
            let Some((first, rest)) = there.split_first() else {
                units += all.end - all.start - own.stale().count_in(all);
                continue;
            };
            let mut at = all.start;
            while let Some(lacks) = first.stale().next(at..all.end) {
                at = lacks.end;
                let is_alone = |unit: u64| {
                    let one = unit..unit + 1;
                    rest.iter().all(|other| other.stale().touches(one.clone())) && !own.stale().touches(one)
                };
                units += lacks.filter(|unit| is_alone(*unit)).count() as u64;
            }
        }
        Sectors(units * self.unit.0)
    }

    /// Takes note of settings of members that were changed.
    pub(super) fn follow_settings(&mut self) {
        self.follow_features();
        if self.is_off {
            return;
        }
        // A member that came to rest is ahead, and takes nothing before its instant.
        self.now = self.members.latest(self.now);
        self.catch_up(self.now);
        self.count();
        self.ask_health();
    }

    /// What members can do, they do as they are set.
    pub(super) fn follow_features(&mut self) {
        if let Ok(features) = self.members.features() {
            self.features = features;
        }
    }

    /// Whether some sectors have no copy that could be written, and one that can be read.
    pub(super) fn refuses_writes(&self) -> bool {
        !self.is_off
            && self.layout.runs().iter().any(|run| {
                let mut there =
                    run.places.iter().map(|place| &self.members[place.0]).filter(|member| member.is_present());
                there.clone().next().is_some() && !there.any(Member::takes_writes)
            })
    }

    /// Why nothing of these members takes writes any more.
    pub(super) fn why_dead(&self) -> EndOfLife {
        let mut health = Vec::new();
        for member in self.members.iter().filter(|member| member.is_present()) {
            member.device.health(&mut health);
        }
        health.iter().find_map(|health| health.end_of_life).unwrap_or(EndOfLife::SpareExhausted)
    }
}
