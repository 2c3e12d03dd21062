//! An array at one instant: which members it has, how worn they are, and what a rebuild would find unreadable.

use wane_units::DAYS_PER_YEAR;

use crate::plan::{SECTOR_BYTES, TB, combinations};
use crate::{Curve, DriveKind, Plan, WornOut};

/// Why a member failed, or data were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A member was worn out.
    WearOut,
    /// A member failed for another reason than wear.
    Chance,
    /// An event took several members.
    Shock,
    /// A worn member could not read a sector that nothing else protected.
    Unreadable,
    /// A sector had become unreadable at rest, and no scrub had found it.
    Latent,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::WearOut, Self::Chance, Self::Shock, Self::Unreadable, Self::Latent];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WearOut => "wear-out",
            Self::Chance => "chance",
            Self::Shock => "shock",
            Self::Unreadable => "unreadable",
            Self::Latent => "latent",
        }
    }
}

/// Cumulative hazards of a member over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Hazard {
    pub(crate) wear: f64,
    pub(crate) chance: f64,
}

impl Hazard {
    pub(crate) const fn sum(self) -> f64 {
        self.wear + self.chance
    }
}

/// What is in the place of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    pub(crate) drive: &'a DriveKind,
    load: &'a Curve,
    born: f64,
    bytes_at_birth: f64,
    load_at_birth: f64,
    age_at_birth: f64,
    /// How long its batch lasts over the mean of all.
    pub(crate) batch: f64,
    /// The day at which another has its place and its data; `None` if it works.
    pub(crate) failed_until: Option<f64>,
}

/// An array at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Array<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) slots: Vec<Slot<'a>>,
    /// Of each spare, the day from which on it is there.
    shelf: Vec<f64>,
}

impl<'a> Array<'a> {
    /// The array on its first day. `batches`: how long the batch of each member lasts over the mean.
    pub(crate) fn new(plan: &'a Plan, batches: &[f64]) -> Self {
        let slot = |(member, batch): (&'a crate::Member, &f64)| Slot {
            drive: &member.drive,
            load: &member.load,
            born: 0.0,
            bytes_at_birth: member.bytes_before,
            load_at_birth: member.load.at(0.0),
            age_at_birth: member.age_days,
            batch: *batch,
            failed_until: None,
        };
        let slots = plan.members.iter().zip(batches).map(slot).collect();
        Self { plan, slots, shelf: vec![0.0; plan.upkeep.spares as usize] }
    }

    /// Bytes written on the drive of a place so far.
    fn bytes(&self, place: usize, day: f64) -> f64 {
        let slot = &self.slots[place];
        slot.bytes_at_birth + slot.load.at(day * self.plan.host_bytes_per_day) - slot.load_at_birth
    }

    /// Share of its rated erases that the drive of a place has used.
    pub(crate) fn wear(&self, place: usize, day: f64) -> f64 {
        self.slots[place].drive.wear.at(self.bytes(place, day))
    }

    /// The day at which the drive of a place reaches a wear: infinite if it never does.
    pub(crate) fn day_of_wear(&self, place: usize, wear: f64) -> f64 {
        let slot = &self.slots[place];
        let bytes = slot.drive.wear.first_at(wear) - slot.bytes_at_birth;
        if bytes <= 0.0 {
            return slot.born;
        }
        if self.plan.host_bytes_per_day == 0.0 || bytes.is_infinite() {
            return f64::INFINITY;
        }
        (slot.load.first_at(slot.load_at_birth + bytes) / self.plan.host_bytes_per_day).max(slot.born)
    }

    /// The day at which the drive of a place fails by chance, if it has survived until `from` and an exponential draw of mean 1 was `drawn`.
    pub(crate) fn day_of_chance(&self, place: usize, from: f64, drawn: f64) -> f64 {
        let slot = &self.slots[place];
        let chance = &slot.drive.chance;
        let age = chance.age_at(chance.hazard(self.age(place, from)) + drawn);
        slot.born + age - slot.age_at_birth
    }

    fn age(&self, place: usize, day: f64) -> f64 {
        let slot = &self.slots[place];
        slot.age_at_birth + day - slot.born
    }

    /// What may take the drive of a place between two days so that its data are lost.
    pub(crate) fn hazard(&self, place: usize, from: f64, to: f64) -> Hazard {
        let slot = &self.slots[place];
        let (young, old) = (self.age(place, from), self.age(place, to));
        let chance = slot.drive.chance.hazard(old) - slot.drive.chance.hazard(young);
        let wear = match (&slot.drive.endurance, self.plan.upkeep.worn_out) {
            (Some(endurance), WornOut::Gone) => {
                let mean = endurance.mean() * slot.batch;
                let until = endurance.hazard(self.wear(place, to) / mean);
                // Nobody outlives a certain death: it would have come before.
                let since = endurance.hazard(self.wear(place, from) / mean);
                if since.is_infinite() { f64::INFINITY } else { until - since }
            }
            _ => 0.0,
        };
        Hazard { wear, chance }
    }

    /// Places whose drives work.
    pub(crate) fn working(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.slots.len()).filter(|place| self.slots[*place].failed_until.is_none())
    }

    /// How many drives have failed and are not replaced.
    pub(crate) fn failed(&self) -> u32 {
        self.slots.iter().filter(|slot| slot.failed_until.is_some()).count() as u32
    }

    /// How many more may fail.
    pub(crate) fn margin(&self) -> u32 {
        self.plan.redundancy.tolerance().saturating_sub(self.failed())
    }

    /// The next place whose replacement is whole, and its day.
    pub(crate) fn next_whole(&self) -> Option<(usize, f64)> {
        let days = self.slots.iter().enumerate().filter_map(|(place, slot)| Some((place, slot.failed_until?)));
        days.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// The day at which a drive that fails now will be replaced, and takes the spare if there is one.
    pub(crate) fn order(&mut self, day: f64, place: usize) -> f64 {
        let upkeep = &self.plan.upkeep;
        let noticed = day + upkeep.detection_days;
        let arrives = noticed + upkeep.arrival_days;
        let spare = self.shelf.iter_mut().min_by(|one, other| one.total_cmp(other));
        let there = match spare {
            Some(spare) => {
                let there = spare.max(noticed).min(arrives);
                *spare = arrives;
                there
            }
            None => arrives,
        };
        there + self.slots[place].drive.capacity_bytes / upkeep.rebuild_bytes_per_day
    }

    /// The drive of a place fails.
    pub(crate) fn fail(&mut self, place: usize, day: f64) {
        let until = self.order(day, place);
        self.slots[place].failed_until = Some(until);
    }

    /// A new drive has the data of a place: they were written on it, which wears it.
    pub(crate) fn replace(&mut self, place: usize, day: f64, batch: f64) {
        let member = &self.plan.members[place];
        let drive = self.plan.spare.as_ref().unwrap_or(&member.drive);
        self.slots[place] = Slot {
            drive,
            load: &member.load,
            born: day,
            bytes_at_birth: drive.capacity_bytes.min(member.drive.capacity_bytes),
            load_at_birth: member.load.at(day * self.plan.host_bytes_per_day),
            age_at_birth: 0.0,
            batch,
            failed_until: None,
        };
    }

    /// Chance that a sector of a working member cannot be read, of worn cells and of what happened at rest.
    fn unreadable_share(&self, day: f64) -> (f64, f64) {
        let (mut worn, mut working) = (0.0, 0u32);
        for place in self.working() {
            worn += self.slots[place].drive.uber(self.wear(place, day)) * SECTOR_BYTES * 8.0;
            working += 1;
        }
        // A scrub comes at any time of its interval: half of one has passed on average.
        let waited = self.plan.upkeep.scrub_days.map_or(day, |interval| day.min(interval / 2.0));
        let latent = self.plan.latent_per_tb_year * SECTOR_BYTES / TB * waited / DAYS_PER_YEAR;
        (worn / f64::from(working.max(1)), latent)
    }

    /// Sectors that are expected to be lost when all that is left is read once, and which part of them was latent.
    ///
    /// With f members gone, a stripe of w members that may lose m is lost where m - f + 1 of its other w - f sectors are unreadable: their
    /// number is S C(w - f, m - f + 1) q^(m - f + 1) for a small chance q. With f = m these are all sectors read, times q.
    pub(crate) fn unreadable(&self, day: f64) -> (f64, f64) {
        let (worn, latent) = self.unreadable_share(day);
        let share = worn + latent;
        if share == 0.0 {
            return (0.0, 0.0);
        }
        let (failed, tolerance) = (self.failed(), self.plan.redundancy.tolerance());
        if failed > tolerance {
            return (0.0, 0.0);
        }
        let width = self.plan.width();
        let sectors = match failed {
            0 => self.plan.data_bytes / SECTOR_BYTES / f64::from((width - tolerance).max(1)),
            _ => self.plan.member_bytes_max() / SECTOR_BYTES,
        };
        let together = tolerance - failed + 1;
        let expected =
            sectors * combinations(width.saturating_sub(failed), together) * libm::pow(share, f64::from(together));
        (expected, latent / share)
    }
}
