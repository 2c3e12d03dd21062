//! Random steps, independent of the device, and how they become requests for it.

use proptest::prelude::*;
use wane_blockdev::{BlockDevice, Features, Kind, Origin, Request, SectorRange, StreamHint};
use wane_units::{Lba, Nanos, Sectors};

use super::model::pattern;

/// Sectors at the start of the device in which most requests lie, so that they overlap.
pub(super) const WINDOW: u64 = 96;

/// One action of a host.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Submits a request after a while.
    Submit { wait: Wait, ask: Ask },
    /// Lets time run.
    Complete { wait: Wait },
    /// Asks for another capacity: `parts` sixteenths of the capacity at the start.
    SetCapacity { wait: Wait, parts: u64 },
    /// Asks for another mapped limit.
    SetLimit { wait: Wait, limit: Limit },
}

/// A mapped limit in terms that suit any device.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// So many atomic units. Most requests lie in fewer than [`WINDOW`] sectors, so that small limits are reached.
    Units(u64),
    /// The capacity.
    Capacity,
    /// A sector more than so many units.
    Ragged(u64),
    /// More than the capacity, by a unit.
    Beyond,
}

impl Limit {
    pub(super) fn sectors(self, device: &(impl BlockDevice + ?Sized)) -> Sectors {
        let (unit, capacity) = (device.features().atomic_unit, device.capacity());
        match self {
            Self::Units(units) => Sectors(units * unit.0).min(capacity),
            Self::Capacity => capacity,
            Self::Ragged(units) => Sectors(units * unit.0 + 1),
            Self::Beyond => Sectors((capacity.0 / unit.0 + 1) * unit.0),
        }
    }
}

/// Time that passes: 0, or a power of two in nanoseconds, for devices of any speed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait(u32);

impl Wait {
    pub(super) fn nanos(self) -> Nanos {
        Nanos(if self.0 == 0 { 0 } else { 1 << self.0 })
    }
}

/// A request in terms that suit any device.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    kind: Kind,
    place: Place,
    count: u64,
    source: u64,
    source_count: u64,
    flags: u8,
    /// Whether it is rounded to what the device demands; nine of ten are.
    rounded: bool,
}

#[derive(Clone, Debug)]
enum Place {
    Window(u64),
    /// Sectors before the end that the device had at the start; the range may reach beyond it.
    BeforeEnd(u64),
}

/// Random sequences of steps.
pub(super) fn sequences() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![3 => Just(Wait(0)), 4 => (1u32..26).prop_map(Wait)];
    let limit = prop_oneof![
        6 => (0u64..16).prop_map(Limit::Units),
        2 => Just(Limit::Capacity),
        1 => (0u64..16).prop_map(Limit::Ragged),
        1 => Just(Limit::Beyond),
    ];
    let step = prop_oneof![
        12 => (wait.clone(), ask()).prop_map(|(wait, ask)| Step::Submit { wait, ask }),
        4 => wait.clone().prop_map(|wait| Step::Complete { wait }),
        1 => (wait.clone(), 0u64..=17).prop_map(|(wait, parts)| Step::SetCapacity { wait, parts }),
        2 => (wait, limit).prop_map(|(wait, limit)| Step::SetLimit { wait, limit }),
    ];
    prop::collection::vec(step, 0..32)
}

fn ask() -> impl Strategy<Value = Ask> {
    let kind = prop_oneof![
        4 => Just(Kind::Read),
        5 => Just(Kind::Write),
        2 => Just(Kind::WriteZeroes),
        2 => Just(Kind::Trim),
        2 => Just(Kind::Flush),
        3 => Just(Kind::Remap),
    ];
    let place = prop_oneof![8 => (0..WINDOW).prop_map(Place::Window), 1 => (0u64..40).prop_map(Place::BeforeEnd)];
    let rounded = prop::bool::weighted(0.9);
    (kind, place, 0u64..40, 0..WINDOW, 0u64..40, any::<u8>(), rounded).prop_map(
        |(kind, place, count, source, source_count, flags, rounded)| Ask {
            kind,
            place,
            count,
            source,
            source_count,
            flags,
            rounded,
        },
    )
}

impl Ask {
    /// Makes the request for a device with these features. `tag` marks its bytes.
    pub(super) fn request(&self, features: &Features, capacity_at_start: Sectors, tag: u64) -> Request {
        let remap = self.kind == Kind::Remap;
        let unit = match (self.rounded, remap) {
            (true, true) => features.atomic_unit.0,
            (true, false) => features.sector.0,
            (false, _) => 1,
        };
        let down = |sector: u64| sector - sector % unit;
        // Counts are rounded up, so that they reach whole units even if these are long.
        let up = |count: u64| count.div_ceil(unit) * unit;
        let start = match self.place {
            Place::Window(start) => start,
            Place::BeforeEnd(back) => capacity_at_start.0.saturating_sub(back),
        };
        let range = SectorRange::new(Lba(down(start)), Sectors(up(self.count)));
        let mut request = match self.kind {
            Kind::Read => Request::read(range),
            Kind::Write if self.flags & 0x0c == 0 => Request::write_without_bytes(range),
            Kind::Write => Request::write(range, pattern(tag, range.count)),
            Kind::WriteZeroes => Request::write_zeroes(range),
            Kind::Trim => Request::trim(range),
            Kind::Flush => Request::flush(),
            Kind::Remap => {
                let count = up(self.source_count);
                let count = if self.rounded { count.min(range.count.0) } else { count };
                Request::remap(SectorRange::new(Lba(down(self.source)), Sectors(count)), range)
            }
        };
        request.flags.fua = self.flags & 0x30 == 0;
        request.flags.may_unmap = self.flags & 0x40 == 0;
        request.origin = if self.flags & 0x80 == 0 { Origin::Host } else { Origin::FileSystemMove };
        request.stream = (self.flags & 1 == 1).then_some(StreamHint(u16::from(self.flags >> 1)));
        if self.kind == Kind::Read && self.flags & 2 == 2 {
            request.bytes = Some(vec![0xee; 700]);
        }
        request
    }
}
