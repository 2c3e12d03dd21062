//! A volatile cache on a device: what was not flushed survives a power cut or not, unit by unit.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Completion, Extent, Features, Kind, Living, Notice, Passing, PowerError,
    Ram, RamConfig, Recovered, Request, RequestId, Resize, SectorRange, Stop, Took, Work, pass_on,
};
use wane_units::{Counters, Fate, Lba, Sectors, SimTime};

/// A unit that was changed and is not known to be durable.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Change {
    number: u64,
    unit: u64,
    before: Vec<u8>,
    after: Vec<u8>,
    /// It was forced to be durable, and that is done.
    is_forced: bool,
}

/// A layer that keeps changes in a volatile cache until they are flushed.
///
/// When the power goes, `fate` is asked for each unit that was changed and not flushed, in the order of the changes: done, it is durable; undone, it is
/// lost; torn, its first half is durable, if the layer [tears](Volatile::tearing). It stands on a device that keeps bytes, neither remaps nor changes its
/// capacity or limit, and on which everything is durable at once ([`Volatile::memory`]).
#[derive(Clone)]
pub struct Volatile<D> {
    device: D,
    tears: bool,
    now: BTreeMap<u64, Vec<u8>>,
    changes: Vec<Change>,
    number: u64,
    /// Flushes and forced changes that are under way, with the number of the next change when they came.
    waiting: BTreeMap<RequestId, (u64, u64, bool)>,
    /// Requests of its own.
    own: BTreeSet<RequestId>,
    /// What had ended when the power went, and was not handed out.
    early: Vec<Completion>,
    is_off: bool,
}

impl Volatile<Ram> {
    /// A cache on N sectors in memory.
    ///
    /// # Panics
    /// The sectors are no whole units of 4 KiB.
    pub fn memory(capacity: Sectors) -> Self {
        let config = RamConfig { remap: false, resize: Resize::Fixed, mapped_limit: false, ..RamConfig::new(capacity) };
        Self::new(Ram::with(config).expect("whole units"))
    }
}

impl<D: Living> Volatile<D> {
    /// A cache on a device that holds nothing yet.
    ///
    /// # Panics
    /// The device remaps, changes its capacity or has a limit.
    pub fn new(device: D) -> Self {
        let Features { remap, resize, mapped_limit, .. } = device.features();
        assert!(!remap && resize == Resize::Fixed, "the cache knows neither remaps nor other capacities");
        assert!(!mapped_limit, "the cache knows no limit");
        let (now, waiting, own) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let early = Vec::new();
        Self { device, tears: false, now, changes: Vec::new(), number: 0, waiting, own, early, is_off: false }
    }

    /// The same, which tears units. It is then no block device, whose units are written whole or not at all.
    #[must_use]
    pub fn tearing(self) -> Self {
        Self { tears: true, ..self }
    }

    /// The device below.
    pub fn into_inner(self) -> D {
        self.device
    }

    /// Units that are not known to be durable.
    pub const fn unflushed(&self) -> usize {
        self.changes.len()
    }

    fn unit(&self) -> u64 {
        self.device.features().atomic_unit.0
    }

    /// Changes the contents of a range to `bytes`, or zeros.
    fn change(&mut self, range: SectorRange, bytes: Option<&[u8]>) {
        let size = self.unit();
        let end = range.start.0 + range.count.0;
        for unit in range.start.0 / size..end.div_ceil(size) {
            let whole = SectorRange::new(Lba(unit * size), Sectors(size));
            let shared = whole.intersection(range);
            let before = self.now.get(&unit).cloned().unwrap_or_else(|| vec![0; whole.len_bytes()]);
            let mut after = before.clone();
            let to = SectorRange::between(whole.start, shared.start).len_bytes();
            let from = SectorRange::between(range.start, shared.start).len_bytes();
            let target = &mut after[to..to + shared.len_bytes()];
            match bytes {
                Some(bytes) => target.copy_from_slice(&bytes[from..from + shared.len_bytes()]),
                None => target.fill(0),
            }
            self.now.insert(unit, after.clone());
            self.changes.push(Change { number: self.number, unit, before, after, is_forced: false });
            self.number += 1;
        }
    }

    /// Takes note of what is durable.
    fn settle(&mut self, completion: &Completion) {
        let Some((first, end, is_flush)) = self.waiting.remove(&completion.id) else { return };
        if !completion.status.is_done() {
            return;
        }
        if is_flush {
            self.changes.retain(|change| change.number >= end);
        } else {
            let forced = self.changes.iter_mut().filter(|change| (first..end).contains(&change.number));
            forced.for_each(|change| change.is_forced = true);
        }
    }

    /// Decides what is durable of what was changed, and writes that below.
    fn decide(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        let mut units: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for change in std::mem::take(&mut self.changes) {
            let held = units.entry(change.unit).or_insert(change.before);
            match if change.is_forced { Fate::Done } else { fate() } {
                Fate::Done => *held = change.after,
                Fate::Torn if self.tears => {
                    let half = held.len() / 2;
                    held[..half].copy_from_slice(&change.after[..half]);
                }
                Fate::Torn | Fate::Undone => {}
            }
        }
        let size = self.unit();
        for (unit, bytes) in units {
            self.now.insert(unit, bytes.clone());
            let range = SectorRange::new(Lba(unit * size), Sectors(size));
            self.own.insert(self.device.submit(at, Request::write(range, bytes)));
        }
    }
}

impl<D: Living> BlockDevice for Volatile<D> {
    pass_on!(device: features capacity);

    fn next_event_at(&self) -> Option<SimTime> {
        let early = self.early.iter().map(|completion| completion.at).min();
        [early, self.device.next_event_at()].into_iter().flatten().min()
    }

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        let is_fine = !self.is_off && request.check(&self.features(), self.capacity()).is_ok();
        let Request { kind, range, flags, .. } = request;
        let first = self.number;
        if is_fine && kind.changes_contents() && !range.is_empty() {
            let bytes = if kind == Kind::Write { request.bytes.as_deref() } else { None };
            self.change(range, bytes);
        }
        let id = self.device.submit(at, request);
        if is_fine && (kind == Kind::Flush || flags.fua && kind.changes_contents()) {
            self.waiting.insert(id, (first, self.number, kind == Kind::Flush));
        }
        id
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        out.append(&mut self.early);
        let first = out.len();
        self.device.complete(until, out);
        let all = out.split_off(first);
        for completion in all {
            if !self.own.remove(&completion.id) {
                self.settle(&completion);
                out.push(completion);
            }
        }
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        self.device.notices(out);
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        self.device.extents(range, out);
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        self.device.peek(range, bytes)
    }
}

impl<D: Living + Clone> Living for Volatile<D> {
    fn now(&self) -> SimTime {
        self.device.now()
    }

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let took = self.device.batch(at, batch);
        if took.stop != Stop::Done {
            return took;
        }
        match batch.work {
            Work::Write | Work::Trim => batch.extents.iter().for_each(|extent| self.change(*extent, None)),
            Work::Flush => self.changes.clear(),
            Work::Read | Work::ReadToModify | Work::Rewrite => {}
        }
        took
    }

    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
        self.device.go_on(at, after)
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        self.device.pass(at, time)
    }

    fn counters(&self) -> &Counters {
        self.device.counters()
    }

    fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn Living)) {
        each(&self.device);
    }

    fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
        each(&mut self.device);
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        if self.is_off {
            return;
        }
        // What ended by now is durable, if it asked for that.
        let mut ended = Vec::new();
        self.complete(at, &mut ended);
        self.early.append(&mut ended);
        self.decide(at, fate);
        self.is_off = true;
        self.waiting.clear();
        self.device.power_off(at, fate);
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        let recovered = self.device.power_on(at)?;
        self.is_off = false;
        Ok(recovered)
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("volatile.now", &mut self.now)?;
        archive.field("volatile.changes", &mut self.changes)?;
        archive.field("volatile.number", &mut self.number)?;
        archive.field("volatile.waiting", &mut self.waiting)?;
        archive.field("volatile.own", &mut self.own)?;
        archive.field("volatile.early", &mut self.early)?;
        archive.field("volatile.is-off", &mut self.is_off)?;
        self.device.archive(archive)
    }
}
