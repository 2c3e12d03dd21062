//! Devices that live: they are aged by batches, rest, wear out, lose power, and are cloned and saved.

use std::any::Any;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::{Counters, EndOfLife, Fate, Lba, Nanos, Sectors, SimTime};

use crate::{BlockDevice, Kind, Origin, SectorRange, Status, Timed};

/// What a batch does with its sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Reads them.
    Read,
    /// Reads them so that a part of each unit can be changed and the unit be written whole. The host did not ask for the data.
    ReadToModify,
    /// Writes them, without contents: they then read as zeros.
    Write,
    /// Writes them again with the contents that they have, as a host does whose data are the same. Sectors that hold nothing hold
    /// zeros then. A device that keeps no bytes knows no difference to [`Work::Write`].
    Rewrite,
    /// Discards them.
    Trim,
    /// Makes everything durable. It has no sectors.
    Flush,
}

impl Work {
    /// The kind of the requests that do the same.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Read | Self::ReadToModify => Kind::Read,
            Self::Write | Self::Rewrite => Kind::Write,
            Self::Trim => Kind::Trim,
            Self::Flush => Kind::Flush,
        }
    }
}

/// What the host did beside the sectors of a batch. It takes no operation; the device only counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Units of the batch that the host wrote only in part.
    pub units_in_part: u64,
    /// Bytes of the batch's units that the host neither read nor wrote.
    pub bytes_around: u64,
    /// Units that the host read in addition and knows to hold nothing.
    pub units_unmapped: u64,
}

/// Work for many ranges of sectors at once, without contents and without time.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// What is done.
    pub work: Work,
    /// The sectors, in order. They may overlap: each range is a request of its own.
    pub extents: &'a [SectorRange],
    /// Who asks.
    pub origin: Origin,
    /// What is only counted.
    pub tally: Tally,
}

impl<'a> Batch<'a> {
    /// A batch of the host.
    pub const fn new(work: Work, extents: &'a [SectorRange]) -> Self {
        let tally = Tally { units_in_part: 0, bytes_around: 0, units_unmapped: 0 };
        Self { work, extents, origin: Origin::Host, tally }
    }

    /// The same of another origin.
    #[must_use]
    pub const fn from(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// The same, with what is only counted.
    #[must_use]
    pub const fn with(self, tally: Tally) -> Self {
        Self { tally, ..self }
    }
}

/// How much of a batch was carried out, and why no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Took {
    /// Sectors that are done, from the start of the list of extents.
    pub done: Sectors,
    /// Why the device stopped.
    pub stop: Stop,
    /// Of a batch of reads: sectors whose data are lost.
    pub unread: Vec<SectorRange>,
}

impl Took {
    /// The device stopped after `done` sectors.
    pub const fn new(done: Sectors, stop: Stop) -> Self {
        Self { done, stop, unread: Vec::new() }
    }
}

/// Why a device stopped working on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// All is done.
    Done,
    /// It worked for long, so that its caller can look whether to go on: [`Living::go_on`].
    Paused,
    /// It wants its host to give space back. The host may do so by trims, and lets it [`Living::go_on`] in any case.
    Wants(Wanted),
    /// It takes no more writes.
    Dead(EndOfLife),
    /// A sector lies beyond the capacity. Nothing of the batch is done.
    OutOfRange,
    /// It has no power.
    Gone,
}

/// The space that a device wants back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// The host shall use no more than so much.
    AtMost(Sectors),
    /// The host shall discard whatever it does not use.
    Unused,
}

/// Time without requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Passing {
    /// Time on the device's clock, in which it may work for itself.
    Idle(Nanos),
    /// Days of service that no clock counts: data age.
    Days(f64),
    /// Days without power, in which data age `rate` times as fast as where they usually lie.
    Shelf {
        /// Their number.
        days: f64,
        /// How much faster data age.
        rate: f64,
    },
}

/// The health of a device, as it knows it itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    /// Why it takes no more writes; `None` while it does.
    pub end_of_life: Option<EndOfLife>,
    /// Share of its rated wear that is used, if it has a rating.
    pub life_used: Option<f64>,
    /// Erases of its blocks: least, mean, most.
    pub erases: (u32, f64, u32),
    /// Share of its blocks that are out of service.
    pub retired: f64,
    /// Capacity now, and when it was new.
    pub capacity: (Sectors, Sectors),
    /// What it counted since it was new.
    pub counters: Counters,
}

/// What a device did when its power came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// How long it took. Requests come no earlier.
    pub took: Nanos,
}

/// Why a device does not come back when its power does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PowerError {
    /// Its power is on.
    #[error("the power is on")]
    IsOn,
    /// Nothing of it survives a power cut.
    #[error("the device keeps nothing from which it could recover after a power cut")]
    NothingKept,
    /// It found what was left, and could not use it.
    #[error("{0}")]
    Lost(String),
}

/// A block device with a life. The crate's page states the rules; the conformance suite in `wane-testkit` checks them.
///
/// Every call that changes something carries its instant; as in [`BlockDevice`], times never fall.
pub trait Living: BlockDevice + Any {
    /// The latest instant that the device was given, or that time of its own led it to.
    fn now(&self) -> SimTime;

    /// Carries out work without contents, and without time: nothing completes later, and a clock does not see it. It leaves the
    /// contents, map, wear and counters that the same requests leave, submitted one by one. Where the device needs its host, it
    /// stops; the host answers, calls [`Living::go_on`] until that says [`Stop::Done`], and hands in the rest.
    ///
    /// # Panics
    /// `at` lies before an instant that the device was given earlier.
    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took;

    /// Goes on after [`Stop::Paused`] or [`Stop::Wants`], which is `after`. Any other `after` is returned as it is.
    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop;

    /// Makes one step of the device's own work (scrubbing, rebuilding), if one is due.
    ///
    /// Default: there is none.
    fn work(&mut self, at: SimTime) -> Option<Stop> {
        let _ = at;
        None
    }

    /// Lets time pass without requests. Returns the instant after it.
    ///
    /// # Panics
    /// Days or rate are negative or no finite numbers, or `at` lies in the past.
    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime;

    /// Says that a sector will soon be asked for, so that the device may prefetch what it needs. It changes nothing.
    fn prefetch(&self, sector: Lba) {
        let _ = sector;
    }

    /// What it counted since it was new. A device that stands on others counts its own host's units, and what all below it did.
    fn counters(&self) -> &Counters;

    /// Appends its own health if it wears, otherwise that of the devices on which it stands. A device without power says nothing.
    ///
    /// Default: the health of [`Living::members`].
    fn health(&self, out: &mut Vec<Health>) {
        self.members(&mut |member| member.health(out));
    }

    /// Hands out the devices on which it stands directly, in order.
    ///
    /// Default: there is none.
    fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn Living)) {
        let _ = each;
    }

    /// Hands out the same devices, so that settings of theirs can be changed which are no requests: how they are formatted, or whether they keep
    /// bytes. The device takes note of what changed when it returns. What they hold belongs to the device above, and must stay as it is.
    ///
    /// Default: there is none.
    fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
        let _ = each;
    }

    /// Whether it has no power.
    ///
    /// Default: there are [`Living::members`], and none of them has.
    fn is_off(&self) -> bool {
        let (mut members, mut on) = (0, 0);
        self.members(&mut |member| {
            members += 1;
            on += u32::from(!member.is_off());
        });
        members > 0 && on == 0
    }

    /// Why it takes no more writes, whatever its host gives back; `None` while it does. A device without power says nothing.
    ///
    /// Default: that of the first of [`Living::members`] that has one.
    fn end_of_life(&self) -> Option<EndOfLife> {
        let mut found = None;
        self.members(&mut |member| found = found.or_else(|| member.end_of_life()));
        found
    }

    /// Its time, if requests without contents take time on it.
    ///
    /// Default: they do not.
    fn timed(&mut self) -> Option<&mut dyn Timed> {
        None
    }

    /// Takes its power away. `fate` decides what became of each program and erase that was under way, in the order in which they
    /// came. Requests that were not complete are so now, as [`crate::Status::Gone`]. Until the power is back, every request ends
    /// so and no batch is taken. Does nothing if the power is off.
    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate);

    /// Gives it power, and lets it recover. What was durable is there.
    ///
    /// # Errors
    /// The power is on, or the device does not come back.
    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError>;

    /// An independent copy, which goes on as this device would.
    fn another(&self) -> Box<dyn Living>;

    /// Writes its state, outstanding requests included, or reads it into a new device of the same configuration, which then goes on as if it
    /// had never stopped. If reading fails, the state is a mix and must not be used.
    ///
    /// # Errors
    /// As of [`Archive`]; or something in it cannot be saved.
    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError>;
}

/// Carries a batch to its end, for a host that gives nothing back: where the device pauses or wants space, it goes on. Returns as
/// [`Living::batch`] does, with [`Stop::Done`] or why it ended early.
pub fn carry_out<D: Living + ?Sized>(device: &mut D, at: SimTime, batch: &Batch<'_>) -> Took {
    let mut all = device.batch(at, batch);
    while let stop @ (Stop::Paused | Stop::Wants(_)) = all.stop {
        all.stop = device.go_on(at, stop);
        if all.stop == Stop::Done {
            let rest = rest_of(batch.extents, all.done);
            if rest.is_empty() {
                break;
            }
            let more = device.batch(at, &Batch { extents: &rest, tally: Tally::default(), ..*batch });
            all.done += more.done;
            all.stop = more.stop;
            all.unread.extend(more.unread);
        }
    }
    all
}

/// The sectors of a list of ranges after the first `done`.
pub fn rest_of(extents: &[SectorRange], done: Sectors) -> Vec<SectorRange> {
    let mut left = done;
    let mut rest = Vec::new();
    for extent in extents {
        let taken = left.min(extent.count);
        left = left - taken;
        let part = extent.without_first(taken);
        if !part.is_empty() {
            rest.push(part);
        }
    }
    rest
}

impl Status {
    /// How a request of this range ends on a device without power.
    pub fn all_gone(range: SectorRange) -> Self {
        Self::Gone(if range.is_empty() { Vec::new() } else { vec![range] })
    }
}

impl Passing {
    /// The instant after it, for a device at `at`.
    ///
    /// # Panics
    /// Days or rate are negative or no finite numbers.
    pub fn end(self, at: SimTime) -> SimTime {
        let is_fine = |number: f64| number.is_finite() && number >= 0.0;
        match self {
            Self::Idle(time) => at.saturating_add(time),
            Self::Days(days) | Self::Shelf { days, rate: _ } => {
                assert!(is_fine(days), "days pass in a finite number from 0 on, found {days}");
                if let Self::Shelf { rate, .. } = self {
                    assert!(is_fine(rate), "a rate of aging is a finite number from 0 on, found {rate}");
                }
                at
            }
        }
    }
}

impl Clone for Box<dyn Living> {
    fn clone(&self) -> Self {
        self.another()
    }
}

/// The first device of a kind at or below this one, as a drive below its layers.
pub fn find<D: Any>(device: &dyn Living) -> Option<&D> {
    let own: &dyn Any = device;
    if let Some(found) = own.downcast_ref() {
        return Some(found);
    }
    let mut found = None;
    device.members(&mut |member| {
        if found.is_none() {
            found = find(member);
        }
    });
    found
}

/// Hands out all devices of a kind at or below this one, as the drives of an array, in order, so that their settings can be changed. See
/// [`Living::members_mut`].
pub fn each_of<D: Any>(device: &mut dyn Living, each: &mut dyn FnMut(&mut D)) {
    let own: &mut dyn Any = device;
    if let Some(found) = own.downcast_mut() {
        return each(found);
    }
    device.members_mut(&mut |member| each_of(member, each));
}

/// All devices of a kind at or below this one, in order.
pub fn all_of<D: Any>(device: &dyn Living) -> Vec<&D> {
    let own: &dyn Any = device;
    if let Some(found) = own.downcast_ref() {
        return vec![found];
    }
    let mut all = Vec::new();
    device.members(&mut |member| all.append(&mut all_of(member)));
    all
}

impl Living for Box<dyn Living> {
    fn now(&self) -> SimTime {
        (**self).now()
    }

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        (**self).batch(at, batch)
    }

    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
        (**self).go_on(at, after)
    }

    fn work(&mut self, at: SimTime) -> Option<Stop> {
        (**self).work(at)
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        (**self).pass(at, time)
    }

    fn prefetch(&self, sector: Lba) {
        (**self).prefetch(sector);
    }

    fn counters(&self) -> &Counters {
        (**self).counters()
    }

    fn health(&self, out: &mut Vec<Health>) {
        (**self).health(out);
    }

    fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn Living)) {
        each(&**self);
    }

    fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
        each(&mut **self);
    }

    fn is_off(&self) -> bool {
        (**self).is_off()
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        (**self).end_of_life()
    }

    fn timed(&mut self) -> Option<&mut dyn Timed> {
        (**self).timed()
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        (**self).power_off(at, fate);
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        (**self).power_on(at)
    }

    fn another(&self) -> Box<dyn Living> {
        (**self).another()
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        (**self).archive(archive)
    }
}

/// Writes those methods of [`Living`] that a layer forwards to the device in the named field. `members` hands out that device, also to be changed.
///
/// ```
/// use wane_blockdev::{Batch, BlockDevice, Living, Ram, Request, RequestId, Took, Work, live_on, pass_on};
/// use wane_units::{Sectors, SimTime};
///
/// /// Counts batches.
/// struct Counted<D> {
///     device: D,
///     batches: u64,
/// }
///
/// impl<D: BlockDevice> BlockDevice for Counted<D> {
///     pass_on!(device: features capacity submit next_event_at complete set_capacity mapped_limit set_mapped_limit notices extents peek);
/// }
///
/// impl<D: Living> Living for Counted<D> {
///     live_on!(device: now go_on work pass prefetch counters members timed power_off power_on);
///
///     fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
///         self.batches += 1;
///         self.device.batch(at, batch)
///     }
///
///     fn another(&self) -> Box<dyn Living> {
///         Box::new(Counted { device: self.device.another(), batches: self.batches })
///     }
///
///     fn archive(&mut self, archive: &mut dyn wane_blockdev::Archive) -> Result<(), wane_blockdev::ArchiveError> {
///         archive.field("counted.batches", &mut self.batches)?;
///         self.device.archive(archive)
///     }
/// }
///
/// let mut device = Counted { device: Ram::new(Sectors(8)), batches: 0 };
/// device.batch(SimTime(0), &Batch::new(Work::Flush, &[]));
/// assert_eq!(device.batches, 1);
/// ```
#[macro_export]
macro_rules! live_on {
    ($field:ident: $($method:ident)+) => { $($crate::live_on!(@ $field $method);)+ };
    (@ $field:ident now) => {
        fn now(&self) -> $crate::units::SimTime {
            self.$field.now()
        }
    };
    (@ $field:ident batch) => {
        fn batch(&mut self, at: $crate::units::SimTime, batch: &$crate::Batch<'_>) -> $crate::Took {
            self.$field.batch(at, batch)
        }
    };
    (@ $field:ident go_on) => {
        fn go_on(&mut self, at: $crate::units::SimTime, after: $crate::Stop) -> $crate::Stop {
            self.$field.go_on(at, after)
        }
    };
    (@ $field:ident work) => {
        fn work(&mut self, at: $crate::units::SimTime) -> Option<$crate::Stop> {
            self.$field.work(at)
        }
    };
    (@ $field:ident pass) => {
        fn pass(&mut self, at: $crate::units::SimTime, time: $crate::Passing) -> $crate::units::SimTime {
            self.$field.pass(at, time)
        }
    };
    (@ $field:ident prefetch) => {
        fn prefetch(&self, sector: $crate::units::Lba) {
            self.$field.prefetch(sector);
        }
    };
    (@ $field:ident counters) => {
        fn counters(&self) -> &$crate::units::Counters {
            self.$field.counters()
        }
    };
    (@ $field:ident members) => {
        fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn $crate::Living)) {
            each(&self.$field);
        }

        fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn $crate::Living)) {
            each(&mut self.$field);
        }
    };
    (@ $field:ident timed) => {
        fn timed(&mut self) -> Option<&mut dyn $crate::Timed> {
            self.$field.timed()
        }
    };
    (@ $field:ident power_off) => {
        fn power_off(&mut self, at: $crate::units::SimTime, fate: &mut dyn FnMut() -> $crate::units::Fate) {
            self.$field.power_off(at, fate);
        }
    };
    (@ $field:ident power_on) => {
        fn power_on(&mut self, at: $crate::units::SimTime) -> Result<$crate::Recovered, $crate::PowerError> {
            self.$field.power_on(at)
        }
    };
}
