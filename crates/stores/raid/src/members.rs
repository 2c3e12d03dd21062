//! The members of an array, and what arrays of all kinds do with them.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use wane_blockdev::{
    Archive, ArchiveError, Completion, Features, Living, Passing, PowerError, Request, RequestId, Stop,
};
use wane_units::{Counters, Fate, Nanos, SimTime};

use crate::host;
use crate::layout::LayoutError;
use crate::owed::{Carried, Owed};
use crate::spread::common_of;

/// The condition of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemberState {
    /// It reads and writes.
    Online,
    /// It reads, and takes no writes any more.
    ReadOnly,
    /// It cannot be reached.
    Absent,
}

impl MemberState {
    /// Its name in answers of programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::ReadOnly => "read-only",
            Self::Absent => "absent",
        }
    }
}

/// A member and what is known of it. What only arrays of one kind know can be asked of it as if it were its own.
#[derive(Clone)]
pub(crate) struct Member<K> {
    pub(crate) device: Box<dyn Living>,
    pub(crate) state: MemberState,
    /// It was taken out, and is not switched on with the others.
    pub(crate) is_out: bool,
    /// Requests to it that are not complete.
    pub(crate) queue: u32,
    /// What it counted when it had power last.
    pub(crate) counted: Counters,
    /// What arrays of this kind know of it beside.
    pub(crate) known: K,
}

impl<K> Deref for Member<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.known
    }
}

impl<K> DerefMut for Member<K> {
    fn deref_mut(&mut self) -> &mut K {
        &mut self.known
    }
}

impl<K> Member<K> {
    pub(crate) fn new(device: Box<dyn Living>, known: K) -> Self {
        let (state, counted) = (MemberState::Online, Counters::default());
        Self { device, state, is_out: false, queue: 0, counted, known }
    }

    pub(crate) fn is_online(&self) -> bool {
        self.state == MemberState::Online
    }

    pub(crate) fn is_present(&self) -> bool {
        self.state != MemberState::Absent
    }

    /// Whether it takes writes.
    pub(crate) fn takes_writes(&self) -> bool {
        self.is_online() && self.device.end_of_life().is_none()
    }

    /// It can do less from now on. Returns whether that is new.
    pub(crate) fn lose(&mut self, state: MemberState) -> bool {
        let is_new = self.is_present() && self.state != state;
        self.state = if is_new { state } else { self.state };
        is_new
    }

    /// It has power again.
    pub(crate) fn come_back(&mut self) {
        let is_worn_out = self.device.end_of_life().is_some();
        self.state = if is_worn_out { MemberState::ReadOnly } else { MemberState::Online };
    }

    /// It was taken out, or could not be reached, and is switched on.
    pub(crate) fn put_back(&mut self, at: SimTime) -> Result<(), PowerError> {
        match self.device.power_on(at) {
            Ok(_) | Err(PowerError::IsOn) => self.is_out = false,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Share of its rated wear that is used.
    pub(crate) fn life_used(&self) -> f64 {
        let mut health = Vec::new();
        self.device.health(&mut health);
        health.iter().filter_map(|health| health.life_used).fold(0.0, f64::max)
    }

    /// Writes or reads what it counted, and its device.
    pub(crate) fn archive_device(&mut self, archive: &mut dyn Archive, name: &str) -> Result<(), ArchiveError> {
        archive_counters(archive, name, &mut self.counted)?;
        self.device.archive(archive)
    }
}

/// All members of an array, and what they counted.
#[derive(Clone)]
pub(crate) struct Members<K> {
    all: Vec<Member<K>>,
    /// What those counted that were replaced.
    pub(crate) gone: Counters,
    /// What all counted when that was last added up.
    pub(crate) counters: Counters,
}

/// What became of members that were switched on.
pub(crate) struct Returned {
    /// How long they took.
    pub(crate) took: Nanos,
    /// Those that did not come back.
    pub(crate) lost: Vec<usize>,
    /// Why the first of these did not, of those that were not taken out.
    pub(crate) why: Option<PowerError>,
}

impl<K> Deref for Members<K> {
    type Target = Vec<Member<K>>;

    fn deref(&self) -> &Vec<Member<K>> {
        &self.all
    }
}

impl<K> DerefMut for Members<K> {
    fn deref_mut(&mut self) -> &mut Vec<Member<K>> {
        &mut self.all
    }
}

impl<K> FromIterator<Member<K>> for Members<K> {
    fn from_iter<I: IntoIterator<Item = Member<K>>>(members: I) -> Self {
        Self { all: members.into_iter().collect(), gone: Counters::default(), counters: Counters::default() }
    }
}

impl<K> Members<K> {
    pub(crate) fn devices(&self) -> impl Iterator<Item = &dyn Living> {
        self.all.iter().map(|member| &*member.device)
    }

    pub(crate) fn devices_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Living>> {
        self.all.iter_mut().map(|member| &mut member.device)
    }

    /// Whether none can be reached.
    pub(crate) fn are_gone(&self) -> bool {
        self.all.iter().all(|member| !member.is_present())
    }

    /// What an array of them can do.
    pub(crate) fn features(&self) -> Result<Features, LayoutError> {
        common_of(self.devices()).map(|(features, _)| features)
    }

    /// The instant of the member that is furthest ahead, `now` at least.
    pub(crate) fn latest(&self, now: SimTime) -> SimTime {
        self.devices().map(|device| device.now()).fold(now, SimTime::max)
    }

    /// When one is next heard of. One that is ahead is heard of when its instant comes.
    pub(crate) fn next_event_at(&self) -> Option<SimTime> {
        self.devices().filter_map(|device| Some(device.next_event_at()?.max(device.now()))).min()
    }

    pub(crate) fn submit(&mut self, at: SimTime, member: usize, request: Request) -> RequestId {
        self.all[member].queue += 1;
        self.all[member].device.submit(at, request)
    }

    /// Runs those to an instant that are not ahead of it. Returns what they complete.
    pub(crate) fn complete(&mut self, until: SimTime) -> Vec<(usize, Completion)> {
        let mut all = Vec::new();
        let mut out = Vec::new();
        for (number, device) in self.devices_mut().enumerate().filter(|(_, device)| device.now() <= until) {
            device.complete(until, &mut out);
            all.extend(out.drain(..).map(|completion| (number, completion)));
        }
        all
    }

    /// Lets them do what they owe. `None`: nothing.
    pub(crate) fn carry_on(&mut self, at: SimTime, owed: &mut Option<Owed>) -> Option<Carried> {
        let mut work = owed.take()?;
        let carried = work.carry_on(at, self.devices_mut());
        *owed = Some(work).filter(Owed::is_open);
        Some(carried)
    }

    /// Makes what batches did on members that keep time tasks of those members: no request of the array waits for it. Otherwise the next request of a
    /// member would take its time too.
    pub(crate) fn close_own(&mut self) {
        for device in self.devices_mut() {
            if let Some(time) = device.timed() {
                time.close_own();
            }
        }
    }

    /// Lets each that can be reached make a step of its own work.
    pub(crate) fn work(&mut self, at: SimTime) -> Option<Stop> {
        let present = self.all.iter_mut().filter(|member| member.is_present());
        let done = present.fold(None, |done: Option<Stop>, member| done.or(member.device.work(at)));
        self.close_own();
        done
    }

    /// Whether requests without contents take time on one of them.
    pub(crate) fn are_timed(&mut self) -> bool {
        self.devices_mut().any(|device| device.timed().is_some())
    }

    /// Lets time pass on all. Returns the latest instant after it, `now` at least.
    pub(crate) fn pass(&mut self, at: SimTime, time: Passing, now: SimTime) -> SimTime {
        let ends: Vec<SimTime> = self.devices_mut().map(|device| device.pass(at, time)).collect();
        ends.into_iter().fold(now, SimTime::max)
    }

    /// Takes notices of which nobody hears.
    pub(crate) fn drop_notices(&mut self) {
        self.devices_mut().for_each(|device| device.notices(&mut Vec::new()));
    }

    /// Adds up what they counted. Those without power do not say. Of an array that counts its host's units itself, `host` has each of them once.
    pub(crate) fn count(&mut self, host: Option<&Counters>) {
        let mut sums: Vec<u64> = self.gone.values().collect();
        for member in &mut self.all {
            if member.is_present() {
                member.counted = *member.device.counters();
            }
            sums.iter_mut().zip(member.counted.values()).for_each(|(sum, value)| *sum += value);
        }
        let sum = Counters::from_values(sums);
        self.counters = host.map_or(sum, |host| host::instead(sum, host));
    }

    /// Puts a device in a member's place, which counts from zero. Returns the old one.
    pub(crate) fn replace(&mut self, member: usize, device: Box<dyn Living>) -> Box<dyn Living> {
        let place = &mut self.all[member];
        let counted = std::mem::take(&mut place.counted);
        self.gone = Counters::from_values(self.gone.values().zip(counted.values()).map(|(one, two)| one + two));
        (place.queue, place.is_out) = (0, false);
        std::mem::replace(&mut place.device, device)
    }

    /// Takes the power of all away. What they say of it is told nobody.
    pub(crate) fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.devices_mut().for_each(|device| device.power_off(at, fate));
        let mut unheard = Vec::new();
        for member in &mut self.all {
            member.device.complete(at, &mut unheard);
            member.queue = 0;
        }
    }

    /// Switches all on but those that were taken out. `came`: one is there.
    pub(crate) fn power_on(&mut self, at: SimTime, mut came: impl FnMut(&mut Member<K>)) -> Returned {
        let mut returned = Returned { took: Nanos::ZERO, lost: Vec::new(), why: None };
        for (number, member) in self.all.iter_mut().enumerate() {
            let on = if member.is_out { Err(PowerError::NothingKept) } else { member.device.power_on(at) };
            match on {
                Ok(recovered) => {
                    returned.took = returned.took.max(recovered.took);
                    came(member);
                }
                Err(error) => {
                    returned.lost.push(number);
                    if !member.is_out {
                        returned.why.get_or_insert(error);
                    }
                }
            }
        }
        returned
    }

    /// Switches off what was switched on in vain. Returns the instant of it.
    pub(crate) fn stay_off(&mut self, now: SimTime) -> SimTime {
        let now = self.latest(now);
        for device in self.devices_mut().filter(|device| !device.is_off()) {
            device.power_off(now, &mut || Fate::Done);
        }
        now
    }
}

/// Writes or reads counters.
pub(crate) fn archive_counters(
    archive: &mut dyn Archive,
    name: &str,
    counters: &mut Counters,
) -> Result<(), ArchiveError> {
    let mut values: Vec<u64> = counters.values().collect();
    archive.list(name, &mut values)?;
    *counters = Counters::from_values(values);
    Ok(())
}
