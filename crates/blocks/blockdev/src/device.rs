//! The trait of every block device, the properties of a device, and how a wrapper forwards what it does not change.

use serde::{Deserialize, Serialize};
use wane_units::{Sectors, SimTime};

use crate::{Completion, Request, RequestId, SectorRange, Status, Unsupported};

/// What a device can do. It never changes while the device lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// The logical sector, 1 or 8 sectors of 512 bytes. Ranges of requests and the capacity are multiples of it.
    pub sector: Sectors,
    /// The mapping unit, a multiple of the logical sector. When power fails, an aligned unit is written whole or not at all. A
    /// part of a unit is written by read-modify-write. Remaps are aligned to units.
    pub atomic_unit: Sectors,
    /// Whether reads return what was written. A device that keeps no bytes completes reads without bytes.
    pub keeps_bytes: bool,
    /// Whether trimmed sectors read as zeros. If not, each reads as zeros or as its old contents, until it is written again.
    pub trim_reads_zeros: bool,
    /// Whether requests may carry [`crate::Flags::fua`].
    pub fua: bool,
    /// Whether [`crate::Kind::Remap`] is supported.
    pub remap: bool,
    /// What [`BlockDevice::set_capacity`] can do.
    pub resize: Resize,
    /// Whether [`BlockDevice::set_mapped_limit`] is supported.
    pub mapped_limit: bool,
}

/// Which changes of capacity the host may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resize {
    /// None.
    Fixed,
    /// Capacity falls and never rises again.
    Shrink,
    /// Capacity falls and rises, up to the capacity at the start.
    Both,
}

/// A message from a device to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Time of the notice.
    pub at: SimTime,
    /// Its contents.
    pub kind: NoticeKind,
}

/// Contents of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
#[non_exhaustive]
pub enum NoticeKind {
    /// The device wants space back from its host.
    CapacityWanted {
        /// What the host is to lower the capacity or the mapped limit to.
        to: Sectors,
        /// Why.
        cause: WantedCause,
        /// Sectors, those that the host moves included, that the device still takes before it has no space: a lower bound as long as nothing more
        /// of it leaves service. 0 if it cannot tell.
        writes_left: Sectors,
        /// What answers it.
        by: AnsweredBy,
    },
    /// The capacity is now this.
    CapacityChanged(Sectors),
    /// A member of an array cannot be reached, or takes no more writes. Members are numbered from 0.
    MemberLost(u32),
    /// From now on an array has data with fewer copies than it should.
    Degraded,
    /// All data of an array have all their copies again.
    Rebuilt,
    /// From now on at most N sectors may hold data at once.
    MappedLimitChanged(Sectors),
}

/// Why a device wants space back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WantedCause {
    /// A part of it wore out.
    Wear,
    /// A part of it failed, or was taken out of service.
    BadBlocks,
    /// A part of it no longer reads as fast as its host requires.
    ReadRequirement,
    /// Nothing left service. It holds so much that it finds no space for more.
    Full,
}

impl WantedCause {
    /// Its name in answers of programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wear => "wear",
            Self::BadBlocks => "bad-blocks",
            Self::ReadRequirement => "read-requirement",
            Self::Full => "full",
        }
    }
}

/// Which call of a host answers a device that wants space back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnsweredBy {
    /// [`BlockDevice::set_capacity`].
    Capacity,
    /// [`BlockDevice::set_mapped_limit`].
    MappedLimit,
    /// Either of them.
    Either,
}

impl AnsweredBy {
    /// Its name in answers of programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::MappedLimit => "mapped-limit",
            Self::Either => "either",
        }
    }
}

/// How notices are written. States of older versions have capacities that were wanted without more.
#[derive(Serialize, Deserialize)]
enum Written {
    CapacityWanted(Sectors),
    CapacityChanged(Sectors),
    MemberLost(u32),
    Degraded,
    Rebuilt,
    MappedLimitChanged(Sectors),
    SpaceWanted { to: Sectors, cause: WantedCause, writes_left: Sectors, by: AnsweredBy },
}

impl From<Written> for NoticeKind {
    fn from(written: Written) -> Self {
        match written {
            Written::CapacityWanted(to) => Self::wanted(to),
            Written::CapacityChanged(sectors) => Self::CapacityChanged(sectors),
            Written::MemberLost(member) => Self::MemberLost(member),
            Written::Degraded => Self::Degraded,
            Written::Rebuilt => Self::Rebuilt,
            Written::MappedLimitChanged(sectors) => Self::MappedLimitChanged(sectors),
            Written::SpaceWanted { to, cause, writes_left, by } => Self::CapacityWanted { to, cause, writes_left, by },
        }
    }
}

impl From<NoticeKind> for Written {
    fn from(kind: NoticeKind) -> Self {
        match kind {
            NoticeKind::CapacityWanted { to, cause, writes_left, by } => {
                Self::SpaceWanted { to, cause, writes_left, by }
            }
            NoticeKind::CapacityChanged(sectors) => Self::CapacityChanged(sectors),
            NoticeKind::MemberLost(member) => Self::MemberLost(member),
            NoticeKind::Degraded => Self::Degraded,
            NoticeKind::Rebuilt => Self::Rebuilt,
            NoticeKind::MappedLimitChanged(sectors) => Self::MappedLimitChanged(sectors),
        }
    }
}

impl NoticeKind {
    /// A device that wants space back and says no more than how much.
    pub const fn wanted(to: Sectors) -> Self {
        let (cause, by) = (WantedCause::Wear, AnsweredBy::Either);
        Self::CapacityWanted { to, cause, writes_left: Sectors::ZERO, by }
    }
}

/// Sectors in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The sectors; never empty.
    pub range: SectorRange,
    /// The state of all of them.
    pub state: ExtentState,
}

/// What a device knows of sectors without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentState {
    /// Allocated; may hold anything.
    Data,
    /// Allocated, and reads as zeros.
    Zeroes,
    /// Not allocated; reads as trimmed sectors do.
    Hole,
}

/// A block device in virtual time. The crate's page states the rules that every implementation follows; the conformance suite in
/// `wane-testkit` checks them.
pub trait BlockDevice: Send {
    /// What the device can do.
    fn features(&self) -> Features;

    /// Sectors that the device offers now.
    fn capacity(&self) -> Sectors;

    /// Submits a request at the instant `at`. It takes effect now, and completes later.
    ///
    /// # Panics
    /// `at` lies before an instant that the device was given earlier, in any call.
    fn submit(&mut self, at: SimTime, request: Request) -> RequestId;

    /// A lower bound of the next completion's time if nothing else is submitted; `None` if nothing is outstanding. The call
    /// changes nothing. After `complete(until, ..)` the bound lies after `until`, so that a loop over it advances.
    fn next_event_at(&self) -> Option<SimTime>;

    /// Runs to the instant `until` and no further. Appends what completed up to then, by time and then by id.
    ///
    /// # Panics
    /// `until` lies before an instant that the device was given earlier, in any call.
    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>);

    /// Asks for another capacity at the instant `at`. Answers at once: requests submitted earlier keep the capacity at their
    /// submission. Contents at or above a lowered capacity are lost.
    ///
    /// Default: unsupported.
    ///
    /// # Panics
    /// `at` lies before an instant that the device was given earlier, in any call.
    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        let _ = (at, capacity);
        Status::Unsupported(Unsupported::Kind)
    }

    /// Most sectors that may hold data at once, wherever they lie; never above the capacity. Sectors hold data that
    /// [`BlockDevice::extents`] does not report as a hole.
    ///
    /// Default: the capacity.
    fn mapped_limit(&self) -> Sectors {
        self.capacity()
    }

    /// Asks for another [`BlockDevice::mapped_limit`], a multiple of the atomic unit or the capacity, at the instant `at`. It may fall
    /// and rise again, up to what the device's medium can hold now. Answers at once. The crate's page says what the limit does.
    ///
    /// Returns *no space*, without sectors, if more than the limit holds data now, and *out of range* if the device could not hold
    /// that much. Then nothing has changed.
    ///
    /// Default: unsupported.
    ///
    /// # Panics
    /// `at` lies before an instant that the device was given earlier, in any call.
    fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        let _ = (at, limit);
        Status::Unsupported(Unsupported::Kind)
    }

    /// Moves new notices to `out`, oldest first. Each is handed out once.
    ///
    /// Default: there are none.
    fn notices(&mut self, out: &mut Vec<Notice>) {
        let _ = out;
    }

    /// Appends the states of the sectors of `range` below the capacity, in rising order and without gaps. Neighboring extents may
    /// be in the same state. A device may stop before the end of the range, so that no call takes long: ask again from where the
    /// last extent ends, as [`all_extents`] does. At least one extent comes, unless no sector of the range lies below the capacity.
    ///
    /// Default: one extent of [`ExtentState::Data`], which is always true.
    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        let range = range.intersection(SectorRange::new(wane_units::Lba(0), self.capacity()));
        if !range.is_empty() {
            out.push(Extent { range, state: ExtentState::Data });
        }
    }

    /// Copies to `bytes` the contents that a read of `range` would return if it were submitted now. This is no request: it takes no
    /// time, nothing wears, and nothing is counted. Returns the sectors that are known to be lost, in rising order; their bytes are
    /// zeros. What only an attempt to read would find, such as errors of worn flash, is not known. The range need not be a multiple
    /// of the logical sector.
    ///
    /// `None` if the device cannot tell, keeps no bytes or has no power, or if the range ends beyond the capacity. What `bytes` holds
    /// has no meaning then.
    ///
    /// Default: the device cannot tell.
    ///
    /// # Panics
    /// `bytes` is not as long as `range`, on a device that can tell.
    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        let _ = (range, bytes);
        None
    }
}

/// Checks that [`BlockDevice::peek`] of `range` has an answer on a device with these features and this capacity.
///
/// # Panics
/// `bytes` is not as long as `range`.
pub fn check_peek(features: &Features, capacity: Sectors, range: SectorRange, bytes: &[u8]) -> Option<()> {
    let is_fine = features.keeps_bytes && range.lies_within(capacity);
    assert!(!is_fine || bytes.len() == range.len_bytes(), "the bytes to which {range} is copied are as long as it");
    is_fine.then_some(())
}

/// Appends the states of all sectors of `range` below the capacity: see [`BlockDevice::extents`].
///
/// # Panics
/// The device gives no extent where it has sectors.
pub fn all_extents(device: &(impl BlockDevice + ?Sized), range: SectorRange, out: &mut Vec<Extent>) {
    let mut rest = range.intersection(SectorRange::new(wane_units::Lba(0), device.capacity()));
    while !rest.is_empty() {
        let first = out.len();
        device.extents(rest, out);
        assert!(out.len() > first, "a device gives the state of at least one sector of {rest}");
        let told = out[first..].iter().fold(Sectors::ZERO, |sum, extent| sum + extent.range.count);
        rest = rest.without_first(told);
    }
}

/// Checks that a device with these features accepts the capacity `wanted` in place of `current`. `most` is the capacity at the
/// start.
///
/// # Errors
/// The status that [`BlockDevice::set_capacity`] returns.
pub fn check_capacity(features: &Features, current: Sectors, most: Sectors, wanted: Sectors) -> Result<(), Status> {
    let allowed = match features.resize {
        Resize::Fixed => return Err(Status::Unsupported(Unsupported::Kind)),
        Resize::Shrink => current,
        Resize::Both => most,
    };
    if !wanted.0.is_multiple_of(features.sector.0) {
        return Err(Status::Unsupported(Unsupported::Alignment));
    }
    if wanted > allowed { Err(Status::OutOfRange) } else { Ok(()) }
}

/// Checks that a device of these features and this capacity accepts a mapped limit. `most`: sectors that its medium can hold.
/// `mapped`: sectors that hold data now; asked last, since to count them may take long.
///
/// # Errors
/// The status that [`BlockDevice::set_mapped_limit`] returns.
pub fn check_mapped_limit(
    features: &Features,
    capacity: Sectors,
    most: Sectors,
    wanted: Sectors,
    mapped: impl FnOnce() -> Sectors,
) -> Result<(), Status> {
    if !features.mapped_limit {
        return Err(Status::Unsupported(Unsupported::Kind));
    }
    if wanted != capacity && !wanted.0.is_multiple_of(features.atomic_unit.0) {
        return Err(Status::Unsupported(Unsupported::Alignment));
    }
    if wanted > capacity.min(most) {
        return Err(Status::OutOfRange);
    }
    if mapped() > wanted { Err(Status::NoSpace(Vec::new())) } else { Ok(()) }
}

/// Writes those methods of [`BlockDevice`] that a wrapper forwards to the device in the named field.
///
/// ```
/// use wane_blockdev::{BlockDevice, Ram, Request, RequestId, pass_on};
/// use wane_units::{Sectors, SimTime};
///
/// /// Counts requests.
/// struct Counted<D> {
///     device: D,
///     requests: u64,
/// }
///
/// impl<D: BlockDevice> BlockDevice for Counted<D> {
///     pass_on!(device: features capacity next_event_at complete set_capacity mapped_limit set_mapped_limit notices extents peek);
///
///     fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
///         self.requests += 1;
///         self.device.submit(at, request)
///     }
/// }
///
/// let mut device = Counted { device: Ram::new(Sectors(8)), requests: 0 };
/// device.submit(SimTime(0), Request::flush());
/// assert_eq!(device.requests, 1);
/// ```
#[macro_export]
macro_rules! pass_on {
    ($field:ident: $($method:ident)+) => { $($crate::pass_on!(@ $field $method);)+ };
    (@ $field:ident features) => {
        fn features(&self) -> $crate::Features {
            self.$field.features()
        }
    };
    (@ $field:ident capacity) => {
        fn capacity(&self) -> $crate::units::Sectors {
            self.$field.capacity()
        }
    };
    (@ $field:ident submit) => {
        fn submit(&mut self, at: $crate::units::SimTime, request: $crate::Request) -> $crate::RequestId {
            self.$field.submit(at, request)
        }
    };
    (@ $field:ident next_event_at) => {
        fn next_event_at(&self) -> Option<$crate::units::SimTime> {
            self.$field.next_event_at()
        }
    };
    (@ $field:ident complete) => {
        fn complete(&mut self, until: $crate::units::SimTime, out: &mut Vec<$crate::Completion>) {
            self.$field.complete(until, out);
        }
    };
    (@ $field:ident set_capacity) => {
        fn set_capacity(&mut self, at: $crate::units::SimTime, capacity: $crate::units::Sectors) -> $crate::Status {
            self.$field.set_capacity(at, capacity)
        }
    };
    (@ $field:ident mapped_limit) => {
        fn mapped_limit(&self) -> $crate::units::Sectors {
            self.$field.mapped_limit()
        }
    };
    (@ $field:ident set_mapped_limit) => {
        fn set_mapped_limit(&mut self, at: $crate::units::SimTime, limit: $crate::units::Sectors) -> $crate::Status {
            self.$field.set_mapped_limit(at, limit)
        }
    };
    (@ $field:ident notices) => {
        fn notices(&mut self, out: &mut Vec<$crate::Notice>) {
            self.$field.notices(out);
        }
    };
    (@ $field:ident extents) => {
        fn extents(&self, range: $crate::SectorRange, out: &mut Vec<$crate::Extent>) {
            self.$field.extents(range, out);
        }
    };
    (@ $field:ident peek) => {
        fn peek(&self, range: $crate::SectorRange, bytes: &mut [u8]) -> Option<Vec<$crate::SectorRange>> {
            self.$field.peek(range, bytes)
        }
    };
}

/// Implements the trait for a reference or a box by the device behind it.
macro_rules! is_the_device_behind {
    ($($pointer:ty),+) => { $(
        impl<D: BlockDevice + ?Sized> BlockDevice for $pointer {
            fn features(&self) -> Features {
                (**self).features()
            }

            fn capacity(&self) -> Sectors {
                (**self).capacity()
            }

            fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
                (**self).submit(at, request)
            }

            fn next_event_at(&self) -> Option<SimTime> {
                (**self).next_event_at()
            }

            fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
                (**self).complete(until, out);
            }

            fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
                (**self).set_capacity(at, capacity)
            }

            fn mapped_limit(&self) -> Sectors {
                (**self).mapped_limit()
            }

            fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
                (**self).set_mapped_limit(at, limit)
            }

            fn notices(&mut self, out: &mut Vec<Notice>) {
                (**self).notices(out);
            }

            fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
                (**self).extents(range, out);
            }

            fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
                (**self).peek(range, bytes)
            }
        }
    )+ };
}

is_the_device_behind!(Box<D>, &mut D);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_of_older_versions_are_read() {
        // As the enum was before space was wanted for a reason: the number of the kind, and its sectors.
        let old: NoticeKind = postcard::from_bytes(&[0, 100]).unwrap();
        assert_eq!(old, NoticeKind::wanted(Sectors(100)));
        for kind in [NoticeKind::wanted(Sectors(7)), NoticeKind::CapacityChanged(Sectors(8)), NoticeKind::Rebuilt] {
            let bytes = postcard::to_allocvec(&kind).unwrap();
            assert_eq!(postcard::from_bytes::<NoticeKind>(&bytes), Ok(kind));
        }
        assert_eq!(postcard::to_allocvec(&NoticeKind::CapacityChanged(Sectors(8))), Ok(vec![1, 8]));
    }
}
