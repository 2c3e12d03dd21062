//! The drives of an array: which stands in which place, and what its operator does when one is dead or worn.

use std::any::Any;

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{Integrity, IntegrityError, Living, Passing, all_of, find};
use wane_raid::{Linear, MemberState, Mirror, MirrorConfig, Raid, Redundant, Spread, Stripe, as_redundant};
use wane_results::Counters;
use wane_scenario::{ArrayLayout, ArraySpec, Initial, LastWord, SEED_MAX, Scenario};
use wane_sim::Streams;
use wane_ssd::{ClockSpec, Drive};
use wane_units::{EndOfLife, Fate, Nanos, Sectors};

use crate::build::{self, PlanError, PolicyOverrides};

/// Times that an array with a clock is given a second in which it copies nothing, before it is left alone.
const IDLE_SECONDS_MAX: u32 = 3;

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Drives {
    spec: ArraySpec,
    /// Policies from outside, which each drive has.
    overrides: PolicyOverrides,
    /// The clock of each drive, for one that comes when the others have theirs and its scenario says nothing of it.
    clocks: Vec<ClockSpec>,
    seed: u64,
    /// Of each place, which new drive stands there: 0 is the one of the scenario, N the Nth that was put in.
    numbers: Vec<u32>,
    /// Drives that were put in so far.
    made: u32,
    /// Of these, drives that `replace-at` put in.
    replaced: u32,
    /// Of these, spares that came for dead drives.
    spared: u32,
    /// Places whose drive is known to be dead.
    dead: Vec<bool>,
    /// What each drive had counted when counting started.
    zero: Vec<Counters>,
    /// Days of service of the array.
    pub(crate) day: f64,
}

/// A drive for which something is to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    /// It takes no more writes.
    Dead(usize, EndOfLife),
    /// It is worn as much as the scenario allows.
    Worn(usize),
}

/// When a new drive gets what belongs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copying {
    /// Before the host goes on: copying takes hours where a life takes years.
    AtOnce,
    /// Beside what the host asks, in the array's own time.
    InItsTime,
}

/// What a device is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assembly {
    /// To be used.
    New,
    /// To have a state read into it, for which its drives must have done nothing.
    Read,
}

impl Due {
    pub(crate) const fn place(self) -> usize {
        match self {
            Self::Dead(place, _) | Self::Worn(place) => place,
        }
    }
}

/// A drive with checksums, also as a copy is one.
pub(crate) type Checked = Integrity<Box<dyn Living>>;

/// A new drive of a member. Its wear leveling is on from the start.
fn new_drive(member: &Scenario, overrides: &PolicyOverrides, what_for: Assembly) -> Result<Drive, PlanError> {
    let mut drive = build::bare_drive_with(member, overrides, what_for)?;
    drive.set_leveling(true);
    Ok(drive)
}

impl Drives {
    /// The drives of an array that was just made.
    pub(crate) fn new(seed: u64, spec: ArraySpec, overrides: PolicyOverrides) -> Self {
        let count = spec.members.len();
        Self {
            spec,
            overrides,
            clocks: Vec::new(),
            seed,
            numbers: vec![0; count],
            made: 0,
            replaced: 0,
            spared: 0,
            dead: vec![false; count],
            zero: vec![Counters::default(); count],
            day: 0.0,
        }
    }

    /// The same, whose drives get these clocks in the course of a run.
    pub(crate) fn with_clocks(self, clocks: Vec<ClockSpec>) -> Self {
        Self { clocks, ..self }
    }

    pub(crate) const fn spec(&self) -> &ArraySpec {
        &self.spec
    }

    /// Makes the device of new drives.
    ///
    /// # Errors
    /// They make none.
    pub(crate) fn assemble(&self, what_for: Assembly) -> Result<Box<dyn Living>, PlanError> {
        let member = |place| self.as_member(new_drive(&self.scenario(place), &self.overrides, what_for)?);
        let drives = (0..self.numbers.len()).map(member).collect::<Result<_, _>>()?;
        let settings = &self.spec.settings;
        let of = |error: wane_raid::LayoutError| PlanError::Setting("array".to_owned(), error.to_string());
        let chunk = Sectors(settings.chunk.0 / Sectors::SIZE.0);
        Ok(match settings.layout {
            ArrayLayout::Mirror => {
                let config = MirrorConfig {
                    copies: settings.copies as usize,
                    reads: settings.reads,
                    write_mostly: settings.write_mostly(),
                    rebuild_rate: settings.rebuild_rate.0,
                    scrub_every: settings.scrub_time(),
                    ..MirrorConfig::default()
                };
                Box::new(Mirror::new(config, drives).map_err(of)?)
            }
            ArrayLayout::Stripe => Box::new(Spread::new(Stripe::new(chunk), drives).map_err(of)?),
            ArrayLayout::Linear => Box::new(Spread::new(Linear::default(), drives).map_err(of)?),
            ArrayLayout::Raid => {
                let config = self.spec.raid(self.seed).expect("the scenario's checks let through what makes a raid");
                Box::new(
                    match what_for {
                        Assembly::New => Raid::new(config, drives),
                        Assembly::Read => Raid::to_be_read(config, drives),
                    }
                    .map_err(of)?,
                )
            }
        })
    }

    /// A drive as the array has it: with checksums, if the scenario says so.
    fn as_member(&self, drive: Drive) -> Result<Box<dyn Living>, PlanError> {
        if !self.spec.settings.checksums {
            return Ok(Box::new(drive));
        }
        let of = |error: IntegrityError| PlanError::Setting("array.checksums".to_owned(), error.to_string());
        Ok(Box::new(Checked::new(Box::new(drive)).map_err(of)?))
    }

    /// Number of the new drive that stands in a place; 0 for the one of the scenario.
    pub(crate) fn number(&self, place: usize) -> u32 {
        self.numbers[place]
    }

    /// The scenario of the drive that stands in a place.
    pub(crate) fn scenario(&self, place: usize) -> Scenario {
        self.scenario_of(place, self.numbers[place])
    }

    fn scenario_of(&self, place: usize, number: u32) -> Scenario {
        let mut scenario = self.spec.members[place].clone();
        if number > 0 {
            scenario.seed = Streams::new(self.seed).stream(&format!("array.new.{number}")).below(SEED_MAX);
            // The one that it replaces may have had a past.
            scenario.medium.initial = Initial::default();
        }
        scenario
    }

    /// Counts what the drives do from now on.
    pub(crate) fn begin(&mut self, array: &dyn Living) {
        let counted = |drive: &&Drive| if drive.is_off() { Counters::default() } else { *drive.counters() };
        self.zero = all_of::<Drive>(array).iter().map(counted).collect();
    }

    /// What the drive of a place had counted when counting started.
    pub(crate) fn zero(&self, place: usize) -> Counters {
        self.zero[place]
    }

    fn drive<'a>(array: &'a dyn Living, place: usize) -> Option<&'a Drive> {
        let mut members: Vec<&'a dyn Living> = Vec::new();
        array.members(&mut |member| members.push(member));
        find(*members.get(place)?).filter(|drive: &&Drive| !drive.is_off())
    }

    /// Share of its rated wear at which a drive is replaced; `None` if none is any more.
    pub(crate) fn replaced_at(&self) -> Option<f64> {
        let settings = &self.spec.settings;
        settings.replace_at.map(|share| share.get()).filter(|_| self.replaced < settings.replacements)
    }

    /// Drives that were put in so far.
    pub(crate) const fn made(&self) -> u32 {
        self.made
    }

    /// Whether the drive of a place is known to have died.
    pub(crate) fn is_dead(&self, place: usize) -> bool {
        self.dead[place]
    }

    /// A drive that died, and was not seen to.
    pub(crate) fn dead(&self, array: &dyn Living) -> Option<Due> {
        let mut places = (0..self.dead.len()).filter(|place| !self.dead[*place]);
        places.find_map(|place| Some(Due::Dead(place, Self::drive(array, place)?.end_of_life()?)))
    }

    /// The drive that is worn most, if it has come as far as the scenario allows. One is replaced at a time.
    pub(crate) fn worn(&self, array: &mut dyn Living) -> Option<Due> {
        let share = self.spec.settings.replace_at?.get();
        let known = as_redundant(array)?;
        let is_whole = (0..self.dead.len()).all(|place| known.state(place) == MemberState::Online);
        // One whose data another drive still lacks stays.
        let is_whole = is_whole && known.to_copy() == Sectors::ZERO;
        if self.replaced == self.spec.settings.replacements || !is_whole {
            return None;
        }
        let mut worn: Option<(f64, usize)> = None;
        for place in (0..self.dead.len()).filter(|place| !self.dead[*place]) {
            let used = Self::drive(array, place).and_then(Drive::life_used).filter(|used| *used >= share);
            if let Some(used) = used.filter(|used| worn.is_none_or(|(most, _)| *used > most)) {
                worn = Some((used, place));
            }
        }
        worn.map(|(_, place)| Due::Worn(place))
    }

    /// Does what is due: a dead drive goes if the scenario says so, and a spare comes in its place if there is one; a worn drive is replaced. Returns
    /// the place in which a new drive stands then.
    ///
    /// # Errors
    /// The new drive cannot be built.
    pub(crate) fn see_to(
        &mut self,
        array: &mut dyn Living,
        due: Due,
        copying: Copying,
    ) -> Result<Option<usize>, PlanError> {
        let place = due.place();
        match due {
            Due::Dead(..) => {
                self.dead[place] = true;
                let Some(known) = as_redundant(array) else { return Ok(None) };
                if self.spec.settings.at_end_of_life == LastWord::Gone {
                    let now = known.now();
                    known.take_out(now, place, &mut || Fate::Done);
                }
                // A drive that still reads stays if the others could not do without it.
                if self.spared == self.spec.settings.spares || known.only_on(place) > Sectors::ZERO {
                    return Ok(None);
                }
                self.spared += 1;
            }
            Due::Worn(_) => self.replaced += 1,
        }
        self.replace(array, place)?;
        if copying == Copying::AtOnce {
            as_redundant(array).into_iter().for_each(copy_all);
        }
        Ok(Some(place))
    }

    /// Does all that is due.
    ///
    /// # Errors
    /// As of [`Drives::see_to`].
    pub(crate) fn look(&mut self, array: &mut dyn Living) -> Result<(), PlanError> {
        while let Some(due) = self.dead(array) {
            self.see_to(array, due, Copying::AtOnce)?;
        }
        if let Some(due) = self.worn(array) {
            self.see_to(array, due, Copying::AtOnce)?;
        }
        Ok(())
    }

    /// Puts a new drive in a place of an array, which gives it all that belongs there in its own time.
    ///
    /// # Errors
    /// The drive cannot be built.
    pub(crate) fn replace(&mut self, array: &mut dyn Living, place: usize) -> Result<(), PlanError> {
        let Some(array) = as_redundant(array) else { return Ok(()) };
        let mut new = new_drive(&self.scenario_of(place, self.made + 1), &self.overrides, Assembly::New)?;
        let mut kept = Ok(());
        let mut like = None;
        array.members(&mut |member| like = like.or_else(|| find::<Drive>(member)));
        if let Some(like) = like {
            // It is set up as the others are.
            new.format(wane_blockdev::BlockDevice::features(like).sector);
            if like.keeps_bytes() {
                kept = new.keep_bytes();
            }
        }
        if let Some(clock) = self.clocks.get(place).filter(|_| like.is_some_and(|like| like.clock().is_some())) {
            new.keep_detail(true);
            new.start_clock(clock).map_err(PlanError::Clock)?;
            // It begins at 0.
            wane_blockdev::BlockDevice::complete(&mut new, array.now(), &mut Vec::new());
        }
        let failed = |error: String| PlanError::Setting("array.replace-at".to_owned(), error);
        kept.map_err(|error| failed(format!("no memory for the new drive's bytes: {error}")))?;
        let (now, new) = (array.now(), self.as_member(new)?);
        array.replace(now, place, new).map_err(|error| failed(error.to_string()))?;
        self.made += 1;
        (self.numbers[place], self.dead[place], self.zero[place]) = (self.made, false, Counters::default());
        Ok(())
    }

    /// Archives which drives stand where, and what was predicted of the array. Those that are read may be others than stood
    /// there.
    pub(crate) fn archive(
        &mut self,
        archive: &mut dyn Archive,
        predicted: &mut (u64, u64),
    ) -> Result<(), ArchiveError> {
        archive.same("drives.places", &self.numbers.len())?;
        archive.field("drives.numbers", &mut self.numbers)?;
        archive.field("drives.made", &mut self.made)?;
        archive.field("drives.replaced", &mut self.replaced)?;
        if self.spec.settings.spares > 0 {
            archive.field("drives.spared", &mut self.spared)?;
        }
        archive.field("drives.dead", &mut self.dead)?;
        let mut lived = (self.day, predicted.0, predicted.1);
        archive.grown_by(2, "drives.day", &mut lived)?;
        (self.day, *predicted) = (lived.0, (lived.1, lived.2));
        for zero in &mut self.zero {
            let mut values: Vec<u64> = zero.values().collect();
            archive.list("drives.zero", &mut values)?;
            *zero = Counters::from_values(values);
        }
        Ok(())
    }
}

/// Lets a parity array move what it planned to, now.
pub(crate) fn move_all(array: &mut dyn Living) {
    let is_moving = |array: &mut dyn Living| {
        let array: &mut dyn Any = array;
        array.downcast_mut::<Raid>().is_some_and(|array| array.is_moving())
    };
    let mut idle = 0;
    while is_moving(array) && idle < IDLE_SECONDS_MAX {
        let now = array.now();
        idle = if array.work(now).is_none() { idle + 1 } else { 0 };
    }
}

/// Lets an array give its members all that they lack, as far as it can, and end its scrub, now.
pub(crate) fn copy_all(array: &mut dyn Redundant) {
    let done = |array: &dyn Redundant| (array.to_copy(), array.repairs());
    let has_work = |array: &dyn Redundant| array.to_copy() > Sectors::ZERO || array.is_scrubbing();
    let (mut idle, mut before) = (0, done(array));
    while has_work(array) && idle < IDLE_SECONDS_MAX {
        let now = array.now();
        let is_timed = all_of::<Drive>(array).iter().any(|drive| drive.clock().is_some());
        if is_timed {
            // It copies at instants of its own.
            array.pass(now, Passing::Idle(Nanos::SECOND));
        } else if array.work(now).is_none() {
            return;
        }
        let after = done(array);
        idle = if after == before { idle + u32::from(is_timed) } else { 0 };
        before = after;
    }
}
