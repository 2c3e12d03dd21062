//! A block device in memory: the simplest device that follows all rules, and the reference for the others.

use std::collections::VecDeque;

use wane_archive::{Archive, ArchiveError};
use wane_units::{Counters, Fate, Lba, Nanos, Sectors, SimTime};

use crate::store::Store;
use crate::{
    Batch, BlockDevice, Completion, Extent, ExtentState, Features, Kind, Living, Notice, NoticeKind, Passing,
    PowerError, RangeSet, Recovered, Request, RequestId, Resize, SectorRange, Status, Stop, Took, UnitSplit, Work,
    check_capacity, check_mapped_limit, check_peek,
};

/// Configuration of a [`Ram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RamConfig {
    /// Sectors of 512 bytes at the start; a multiple of `sector`. It takes no memory until it is written.
    pub capacity: Sectors,
    /// The logical sector: 1 or 8 sectors.
    pub sector: Sectors,
    /// The mapping unit: a multiple of `sector`.
    pub atomic_unit: Sectors,
    /// Time from the submission of a request to its completion, for every request and load.
    pub latency: Nanos,
    /// Whether contents are kept. Otherwise the device knows only what is allocated.
    pub keeps_bytes: bool,
    /// Whether it accepts force unit access, which costs it nothing.
    pub fua: bool,
    /// Whether it accepts remaps.
    pub remap: bool,
    /// Which changes of capacity it accepts.
    pub resize: Resize,
    /// Whether it accepts a mapped limit.
    pub mapped_limit: bool,
}

impl RamConfig {
    /// 512-byte sectors, 4 KiB units, no latency, and all features.
    pub const fn new(capacity: Sectors) -> Self {
        Self {
            capacity,
            sector: Sectors(1),
            atomic_unit: Sectors(8),
            latency: Nanos::ZERO,
            keeps_bytes: true,
            fua: true,
            remap: true,
            resize: Resize::Both,
            mapped_limit: true,
        }
    }
}

/// Why a [`RamConfig`] was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RamError {
    /// The logical sector.
    #[error("the logical sector is {0}; it is 1 or 8 sectors of 512 bytes")]
    Sector(Sectors),
    /// The mapping unit.
    #[error("the atomic unit is {unit}; it is a multiple of the logical sector of {sector}, and not 0")]
    AtomicUnit {
        /// The unit asked for.
        unit: Sectors,
        /// The logical sector.
        sector: Sectors,
    },
    /// The capacity.
    #[error("the capacity is {capacity}; it is a multiple of the logical sector of {sector}")]
    Capacity {
        /// The capacity asked for.
        capacity: Sectors,
        /// The logical sector.
        sector: Sectors,
    },
}

/// A block device in memory.
///
/// It supports everything in the trait, as far as its configuration asks for it. Its memory grows with what was written, in pages
/// of 4 KiB. It has no volatile cache, so that everything is durable at once.
#[derive(Clone, Debug)]
pub struct Ram {
    config: RamConfig,
    capacity: Sectors,
    /// `None`: the capacity.
    limit: Option<Sectors>,
    now: SimTime,
    next_id: u64,
    /// In order of time: the latency is constant and time never falls.
    outstanding: VecDeque<Completion>,
    notices: Vec<Notice>,
    /// Whole units, cut off at the capacity.
    mapped: RangeSet,
    store: Store,
    read_modify_writes: u64,
    /// Its power is off.
    is_off: bool,
    /// It has no firmware that counts.
    counters: Counters,
}

impl Ram {
    /// Makes a device of 512-byte sectors and 4 KiB units without latency.
    pub fn new(capacity: Sectors) -> Self {
        Self::with(RamConfig::new(capacity)).expect("any capacity is a multiple of one sector")
    }

    /// Makes a device with a configuration.
    ///
    /// # Errors
    /// Sector, unit and capacity do not fit each other.
    pub fn with(config: RamConfig) -> Result<Self, RamError> {
        let RamConfig { capacity, sector, atomic_unit: unit, .. } = config;
        if !matches!(sector.0, 1 | 8) {
            return Err(RamError::Sector(sector));
        }
        if unit.0 == 0 || !unit.0.is_multiple_of(sector.0) {
            return Err(RamError::AtomicUnit { unit, sector });
        }
        if !capacity.0.is_multiple_of(sector.0) {
            return Err(RamError::Capacity { capacity, sector });
        }
        Ok(Self {
            config,
            capacity,
            limit: None,
            now: SimTime::ZERO,
            next_id: 0,
            outstanding: VecDeque::new(),
            notices: Vec::new(),
            mapped: RangeSet::new(),
            store: Store::default(),
            read_modify_writes: 0,
            is_off: false,
            counters: Counters::default(),
        })
    }

    /// Number of units that a write, write-zeroes or trim covered only in part.
    pub const fn read_modify_writes(&self) -> u64 {
        self.read_modify_writes
    }

    /// Bytes of memory that contents take.
    pub fn kept_bytes(&self) -> usize {
        self.store.kept_bytes()
    }

    fn advance(&mut self, to: SimTime) {
        assert!(to >= self.now, "time went back from {} to {to}", self.now);
        self.now = to;
    }

    /// Carries out a request that passed the check.
    fn execute(&mut self, request: &mut Request) -> (Status, Option<Vec<u8>>) {
        let range = request.range;
        let mut beyond = Vec::new();
        match request.kind {
            Kind::Read if self.config.keeps_bytes => {
                let mut bytes = request.bytes.take().unwrap_or_default();
                bytes.clear();
                self.store.read(range, &mut bytes);
                return (Status::Done, Some(bytes));
            }
            Kind::Read | Kind::Flush => {}
            Kind::WriteZeroes if request.flags.may_unmap => self.trim(range),
            Kind::Write | Kind::WriteZeroes => {
                let bytes = request.bytes.as_deref().filter(|_| request.kind == Kind::Write);
                beyond = self.write_what_fits(range, |ram, part| {
                    let from = SectorRange::between(range.start, part.start).len_bytes();
                    ram.write(part, bytes.map(|bytes| &bytes[from..from + part.len_bytes()]));
                });
            }
            Kind::Trim => self.trim(range),
            Kind::Remap => self.remap(request.source, range),
        }
        (if beyond.is_empty() { Status::Done } else { Status::NoSpace(beyond) }, None)
    }

    /// Writes the parts of a range whose units are mapped or fit the limit. Returns the others.
    fn write_what_fits(
        &mut self,
        range: SectorRange,
        mut write: impl FnMut(&mut Self, SectorRange),
    ) -> Vec<SectorRange> {
        let beyond = self.beyond_limit(range);
        let mut reached = range.start;
        for gap in &beyond {
            write(self, SectorRange::between(reached, gap.start));
            reached = Lba(gap.start.0 + gap.count.0);
        }
        let rest = Sectors(range.count.0 - (reached.0 - range.start.0));
        write(self, SectorRange::new(reached, rest));
        beyond
    }

    /// The sectors of a range whose units would be mapped beyond the limit.
    fn beyond_limit(&self, range: SectorRange) -> Vec<SectorRange> {
        let mut beyond = Vec::new();
        let Some(limit) = self.limit.filter(|_| !range.is_empty()) else { return beyond };
        let mut room = Sectors(limit.0.saturating_sub(self.mapped.sectors().0));
        let unit = self.config.atomic_unit.0;
        let end = (range.start.0 + range.count.0).next_multiple_of(unit).min(self.capacity.0);
        let units = SectorRange::between(Lba(range.start.0 / unit * unit), Lba(end));
        let mut holes = RangeSet::new();
        holes.insert(units);
        self.mapped.within(units).for_each(|mapped| holes.remove(mapped));
        for hole in holes.within(units) {
            let fits = if hole.count <= room { hole.count } else { Sectors(room.0 / unit * unit) };
            room = room - fits;
            hole.without_first(fits).intersection(range).push_to(&mut beyond);
        }
        beyond
    }

    /// Marks the units of a range as allocated.
    fn allocate(&mut self, range: SectorRange) {
        let split = UnitSplit::new(range, self.config.atomic_unit);
        self.read_modify_writes += split.ragged();
        for end in split.ragged_ends() {
            self.mapped.insert(split.unit_around(end, self.capacity));
        }
        self.mapped.insert(range);
    }

    fn write(&mut self, range: SectorRange, bytes: Option<&[u8]>) {
        self.allocate(range);
        match bytes {
            Some(bytes) if self.config.keeps_bytes => self.store.write(range, bytes),
            _ => self.store.zero(range),
        }
    }

    fn trim(&mut self, range: SectorRange) {
        let split = UnitSplit::new(range, self.config.atomic_unit);
        self.read_modify_writes += split.ragged();
        self.mapped.remove(split.whole_sectors());
        self.store.zero(range);
    }

    fn remap(&mut self, source: SectorRange, destination: SectorRange) {
        self.mapped.remove(destination);
        self.store.zero(destination);
        let moved = |range: SectorRange| {
            let start = Lba(range.start.0 - source.start.0 + destination.start.0);
            SectorRange::new(start, range.count)
        };
        let arriving: Vec<SectorRange> = self.mapped.within(source).map(moved).collect();
        self.mapped.remove(source);
        for range in arriving {
            self.mapped.insert(range);
        }
        self.store.relocate(source, destination.start);
    }
}

impl BlockDevice for Ram {
    fn features(&self) -> Features {
        Features {
            sector: self.config.sector,
            atomic_unit: self.config.atomic_unit,
            keeps_bytes: self.config.keeps_bytes,
            trim_reads_zeros: true,
            fua: self.config.fua,
            remap: self.config.remap,
            resize: self.config.resize,
            mapped_limit: self.config.mapped_limit,
        }
    }

    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn submit(&mut self, at: SimTime, mut request: Request) -> RequestId {
        self.advance(at);
        let id = RequestId(self.next_id);
        self.next_id += 1;
        let (status, bytes) = match request.check(&self.features(), self.capacity) {
            _ if self.is_off => (Status::all_gone(request.range), None),
            Ok(()) => self.execute(&mut request),
            Err(status) => (status, None),
        };
        let done_at = at.saturating_add(self.config.latency);
        let last = self.outstanding.back().map(|last| last.at);
        debug_assert!(last.is_none_or(|last| last <= done_at), "requests end in the order in which they come");
        self.outstanding.push_back(Completion {
            id,
            submitted_at: at,
            at: done_at,
            kind: request.kind,
            range: request.range,
            status,
            bytes,
        });
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        self.outstanding.front().map(|first| first.at)
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.advance(until);
        while self.outstanding.front().is_some_and(|first| first.at <= until) {
            out.extend(self.outstanding.pop_front());
        }
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.advance(at);
        if self.is_off {
            return Status::Gone(Vec::new());
        }
        if let Err(status) = check_capacity(&self.features(), self.capacity, self.config.capacity, capacity) {
            return status;
        }
        if capacity == self.capacity {
            return Status::Done;
        }
        let lost = SectorRange::between(Lba(capacity.0), Lba(self.capacity.0));
        self.mapped.remove(lost);
        debug_assert!(self.mapped.sectors() <= capacity, "what lies beyond the capacity is mapped no longer");
        self.store.zero(lost);
        self.capacity = capacity;
        self.notices.push(Notice { at, kind: NoticeKind::CapacityChanged(capacity) });
        Status::Done
    }

    fn mapped_limit(&self) -> Sectors {
        self.limit.map_or(self.capacity, |limit| limit.min(self.capacity))
    }

    fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        self.advance(at);
        if self.is_off {
            return Status::Gone(Vec::new());
        }
        let (features, capacity) = (self.features(), self.capacity);
        if let Err(status) = check_mapped_limit(&features, capacity, capacity, limit, || self.mapped.sectors()) {
            return status;
        }
        if limit != self.mapped_limit() {
            self.limit = (limit < capacity).then_some(limit);
            self.notices.push(Notice { at, kind: NoticeKind::MappedLimitChanged(limit) });
        }
        Status::Done
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.notices);
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        check_peek(&self.features(), self.capacity, range, bytes).filter(|()| !self.is_off)?;
        self.store.copy(range, bytes);
        Some(Vec::new())
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        let range = range.intersection(SectorRange::new(Lba(0), self.capacity));
        let first = out.len();
        self.store.extents(range, &self.mapped, out);
        if !self.config.keeps_bytes {
            for extent in &mut out[first..] {
                // It is not known what a write without bytes meant to keep.
                if extent.state == ExtentState::Zeroes {
                    extent.state = ExtentState::Data;
                }
            }
        }
    }
}

/// Nothing wears, and everything survives a power cut.
impl Living for Ram {
    fn now(&self) -> SimTime {
        self.now
    }

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        self.advance(at);
        if self.is_off {
            return Took::new(Sectors::ZERO, Stop::Gone);
        }
        if !batch.extents.iter().all(|extent| extent.lies_within(self.capacity)) {
            return Took::new(Sectors::ZERO, Stop::OutOfRange);
        }
        for extent in batch.extents {
            match batch.work {
                Work::Read | Work::ReadToModify | Work::Flush => {}
                // What does not fit is left out.
                Work::Write => drop(self.write_what_fits(*extent, |ram, part| ram.write(part, None))),
                Work::Rewrite => drop(self.write_what_fits(*extent, |ram, part| ram.allocate(part))),
                Work::Trim => self.trim(*extent),
            }
        }
        Took::new(batch.extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.count), Stop::Done)
    }

    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
        self.advance(at);
        after
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        self.advance(at);
        self.advance(time.end(at));
        self.now
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn is_off(&self) -> bool {
        self.is_off
    }

    fn power_off(&mut self, at: SimTime, _fate: &mut dyn FnMut() -> Fate) {
        self.advance(at);
        self.is_off = true;
        for lost in self.outstanding.iter_mut().filter(|completion| completion.at > at) {
            (lost.at, lost.status, lost.bytes) = (at, Status::all_gone(lost.range), None);
        }
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        self.advance(at);
        if !std::mem::take(&mut self.is_off) {
            return Err(PowerError::IsOn);
        }
        Ok(Recovered { took: Nanos::ZERO })
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let mut sizes = (self.capacity, self.limit.map_or(0, |limit| limit.0 + 1));
        archive.grown_by(1, "ram.capacity", &mut sizes)?;
        (self.capacity, self.limit) = (sizes.0, sizes.1.checked_sub(1).map(Sectors));
        archive.field("ram.now", &mut self.now)?;
        archive.field("ram.next-id", &mut self.next_id)?;
        archive.field("ram.outstanding", &mut self.outstanding)?;
        archive.field("ram.notices", &mut self.notices)?;
        archive.field("ram.mapped", &mut self.mapped)?;
        archive.field("ram.read-modify-writes", &mut self.read_modify_writes)?;
        archive.field("ram.is-off", &mut self.is_off)?;
        self.store.archive(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, count: u64) -> SectorRange {
        SectorRange::new(Lba(start), Sectors(count))
    }

    fn states(device: &Ram, range: SectorRange) -> Vec<(u64, u64, ExtentState)> {
        let mut out = Vec::new();
        device.extents(range, &mut out);
        out.into_iter().map(|extent| (extent.range.start.0, extent.range.count.0, extent.state)).collect()
    }

    fn ask(device: &mut Ram, request: Request) -> Completion {
        let now = device.now;
        device.submit(now, request);
        let mut out = Vec::new();
        device.complete(SimTime::MAX.min(now + device.config.latency), &mut out);
        assert_eq!(out.len(), 1);
        out.remove(0)
    }

    #[test]
    fn memory_follows_what_is_written() {
        let mut device = Ram::new(Sectors(1 << 50));
        assert_eq!(device.kept_bytes(), 0);
        ask(&mut device, Request::write(range((1 << 50) - 8, 8), vec![1; 4096]));
        assert_eq!(device.kept_bytes(), 4096);
        ask(&mut device, Request::write_zeroes(range(0, 1 << 50)));
        assert_eq!(device.kept_bytes(), 0);
        assert_eq!(states(&device, range(0, 1 << 51)), [(0, 1 << 50, ExtentState::Zeroes)]);
        ask(&mut device, Request::trim(range(0, 1 << 50)));
        assert_eq!(states(&device, range(0, 1 << 51)), [(0, 1 << 50, ExtentState::Hole)]);
    }

    #[test]
    fn extents_tell_data_from_zeros_and_holes() {
        let mut device = Ram::new(Sectors(100));
        ask(&mut device, Request::write(range(10, 1), vec![1; 512]));
        ask(&mut device, Request::write_zeroes(range(24, 8)));
        let want = [
            (0, 8, ExtentState::Hole),
            (8, 8, ExtentState::Data),
            (16, 8, ExtentState::Hole),
            (24, 8, ExtentState::Zeroes),
        ];
        assert_eq!(states(&device, range(0, 32)), want);
        assert_eq!(states(&device, range(12, 6)), [(12, 4, ExtentState::Data), (16, 2, ExtentState::Hole)]);
        ask(&mut device, Request::remap(range(8, 8), range(40, 16)));
        assert_eq!(
            states(&device, range(0, 64)),
            [
                (0, 24, ExtentState::Hole),
                (24, 8, ExtentState::Zeroes),
                (32, 8, ExtentState::Hole),
                (40, 8, ExtentState::Data),
                (48, 16, ExtentState::Hole)
            ]
        );
        assert_eq!(ask(&mut device, Request::read(range(42, 1))).bytes, Some(vec![1; 512]));
    }

    #[test]
    fn parts_of_units_are_counted() {
        let mut device = Ram::new(Sectors(100));
        let table = [
            (Request::write_without_bytes(range(0, 8)), 0),
            (Request::write_without_bytes(range(1, 7)), 1),
            (Request::write_zeroes(range(5, 20)), 3),
            (Request::trim(range(8, 12)), 4),
            (Request::read(range(1, 2)), 4),
            (Request::trim(range(1, 200)), 4),
            (Request::remap(range(0, 8), range(16, 8)), 4),
        ];
        for (request, want) in table {
            ask(&mut device, request.clone());
            assert_eq!(device.read_modify_writes(), want, "{request:?}");
        }
    }

    #[test]
    fn requests_take_the_latency_and_no_more() {
        let config = RamConfig {
            capacity: Sectors(64),
            sector: Sectors(8),
            atomic_unit: Sectors(16),
            latency: Nanos(100),
            ..RamConfig::new(Sectors(64))
        };
        let mut device = Ram::with(config).unwrap();
        device.submit(SimTime(50), Request::flush());
        let mut out = Vec::new();
        device.complete(SimTime(149), &mut out);
        assert!(out.is_empty());
        device.complete(SimTime(150), &mut out);
        assert_eq!((out.len(), out[0].at), (1, SimTime(150)));
        device.submit(SimTime::MAX, Request::flush());
        device.complete(SimTime::MAX, &mut out);
        assert_eq!(out[1].at, SimTime::MAX, "the end of time is not passed");
    }

    #[test]
    fn misfits_are_refused_in_a_sentence() {
        let good = RamConfig {
            capacity: Sectors(64),
            sector: Sectors(8),
            atomic_unit: Sectors(16),
            latency: Nanos::ZERO,
            ..RamConfig::new(Sectors(64))
        };
        let table = [
            (
                RamConfig { sector: Sectors(2), ..good },
                "the logical sector is 2 sectors; it is 1 or 8 sectors of 512 bytes",
            ),
            (
                RamConfig { atomic_unit: Sectors(12), ..good },
                "the atomic unit is 12 sectors; it is a multiple of the logical sector of 8 sectors, and not 0",
            ),
            (
                RamConfig { capacity: Sectors(1), ..good },
                "the capacity is 1 sector; it is a multiple of the logical sector of 8 sectors",
            ),
        ];
        for (config, want) in table {
            assert_eq!(Ram::with(config).map(|_| ()).unwrap_err().to_string(), want);
        }
        assert!(Ram::with(good).is_ok());
    }

    #[test]
    fn capacity_that_fell_is_lost_and_comes_back_empty() {
        let mut device = Ram::new(Sectors(64));
        ask(&mut device, Request::write(range(32, 32), vec![9; 32 * 512]));
        assert_eq!(device.set_capacity(SimTime(0), Sectors(65)), Status::OutOfRange);
        assert_eq!(device.set_capacity(SimTime(0), Sectors(36)), Status::Done);
        assert_eq!(ask(&mut device, Request::read(range(32, 8))).status, Status::OutOfRange);
        assert_eq!(device.set_capacity(SimTime(0), Sectors(64)), Status::Done);
        let bytes = ask(&mut device, Request::read(range(35, 2))).bytes.unwrap();
        assert_eq!((bytes[511], bytes[512]), (9, 0));
        let mut out = Vec::new();
        device.notices(&mut out);
        device.notices(&mut out);
        let kinds: Vec<NoticeKind> = out.iter().map(|notice| notice.kind).collect();
        assert_eq!(kinds, [36, 64].map(|capacity| NoticeKind::CapacityChanged(Sectors(capacity))));
    }
}
