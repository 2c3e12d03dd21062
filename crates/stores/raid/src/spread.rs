//! Arrays in which each sector lies on one member.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Completion, CompletionQueue, Extent, Features, Kind, Living, Notice,
    Passing, PowerError, RangeSet, Recovered, Request, RequestId, Resize, SectorRange, Status, Stop, Took, Work,
    all_extents, check_peek,
};
use wane_units::{Counters, Fate, Lba, Nanos, Sectors, SimTime};

use crate::layout::{Layout, LayoutError};
use crate::living::{device_of_members, life_of_members, times_of_members};
use crate::members::{Member, Members, archive_counters};
use crate::owed::{Owed, Part};
use crate::times::{Array, MemberTime, Times};

/// Most pieces of which one call tells the state.
const TOLD_MAX: usize = 256;

/// A request of the host that is under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    at: SimTime,
    kind: Kind,
    range: SectorRange,
    /// Requests to members that are not complete.
    waits: usize,
    /// Members that it needs.
    members: usize,
    /// How its parts failed, in sectors of the array.
    failures: Vec<Status>,
    /// When the last part ended.
    ended: SimTime,
    bytes: Option<Vec<u8>>,
}

/// A request to a member.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Child {
    parent: RequestId,
    parts: Vec<Part>,
}

/// An array in which each sector lies on one member, where its [`Layout`] says. It loses what one of its members loses.
///
/// Its sector is the largest of its members', its atomic unit the smallest of theirs; what one of them cannot do, it cannot do. It neither remaps nor
/// changes its capacity. A request asks each member once, for sectors that follow each other there, and ends with the last of them.
#[derive(Clone)]
pub struct Spread<L> {
    layout: L,
    members: Members<()>,
    features: Features,
    capacity: Sectors,
    now: SimTime,
    is_off: bool,
    next_id: u64,
    open: BTreeMap<RequestId, Open>,
    children: BTreeMap<(usize, RequestId), Child>,
    ended: CompletionQueue,
    owed: Option<Owed>,
    times: Times,
}

/// What all members can do, and the largest of their atomic units.
pub(crate) fn common(members: &[Box<dyn Living>]) -> Result<(Features, Sectors), LayoutError> {
    common_of(members.iter().map(|member| &**member))
}

/// The same.
pub(crate) fn common_of<'a>(members: impl Iterator<Item = &'a dyn Living>) -> Result<(Features, Sectors), LayoutError> {
    let mut all = members.map(|member| member.features());
    let first = all.next().ok_or(LayoutError::NoMember)?;
    let mut features = Features { remap: false, resize: Resize::Fixed, mapped_limit: false, ..first };
    let mut largest = first.atomic_unit;
    for next in all {
        let (low, high) = (features.atomic_unit.min(next.atomic_unit), largest.max(next.atomic_unit));
        if !high.0.is_multiple_of(low.0) {
            return Err(LayoutError::Units(high.0, low.0));
        }
        features.sector = features.sector.max(next.sector);
        (features.atomic_unit, largest) = (low, high);
        features.keeps_bytes &= next.keeps_bytes;
        features.trim_reads_zeros &= next.trim_reads_zeros;
        features.fua &= next.fua;
    }
    features.atomic_unit = features.atomic_unit.max(features.sector);
    Ok((features, largest))
}

impl<L: Layout> Spread<L> {
    /// An array of these members, none of which has a request outstanding.
    ///
    /// # Errors
    /// They make none.
    pub fn new(mut layout: L, devices: Vec<Box<dyn Living>>) -> Result<Self, LayoutError> {
        let (features, unit) = common(&devices)?;
        let sizes: Vec<Sectors> = devices.iter().map(|device| device.capacity()).collect();
        let capacity = layout.capacity(&sizes, unit)?;
        let members: Members<()> = devices.into_iter().map(|device| Member::new(device, ())).collect();
        let now = members.latest(SimTime::ZERO);
        let mut array = Self {
            layout,
            members,
            features,
            capacity,
            now,
            is_off: false,
            next_id: 0,
            open: BTreeMap::new(),
            children: BTreeMap::new(),
            ended: CompletionQueue::new(),
            owed: None,
            times: Times::default(),
        };
        array.count();
        Ok(array)
    }

    /// What members can do, they do as they are set.
    fn follow_features(&mut self) {
        if let Ok(features) = self.members.features() {
            self.features = features;
        }
    }

    /// Notes the instant of a call.
    fn come_to(&mut self, at: SimTime) {
        assert!(at >= self.now, "time falls from {:?} to {at:?}", self.now);
        self.now = at;
    }

    /// Adds up what the members counted. Without power they do not say.
    fn count(&mut self) {
        if !self.is_off {
            self.members.count(None);
        }
    }

    /// The parts of a range in order, each with its member.
    fn parts(&self, range: SectorRange) -> impl Iterator<Item = (usize, Part)> {
        let mut rest = range;
        std::iter::from_fn(move || {
            let piece = (!rest.is_empty()).then(|| self.layout.find(rest.start))?;
            let part = Part { host: rest.first(piece.count.min(rest.count)), start: piece.start };
            rest = rest.without_first(part.host.count);
            Some((piece.member, part))
        })
    }

    /// Submits what a request asks of a member, whose parts follow each other there.
    fn ask(&mut self, parent: RequestId, member: usize, parts: Vec<Part>, request: &Request, bytes: Option<Vec<u8>>) {
        let start = parts.first().map_or(Lba(0), |first| first.start);
        let count = parts.iter().fold(Sectors::ZERO, |sum, part| sum + part.host.count);
        let range = if request.kind == Kind::Flush { SectorRange::EMPTY } else { SectorRange::new(start, count) };
        let Request { kind, flags, origin, stream, .. } = *request;
        let asked = Request { kind, range, source: SectorRange::EMPTY, flags, origin, stream, bytes };
        let id = self.members[member].device.submit(self.now, asked);
        self.children.insert((member, id), Child { parent, parts });
    }

    /// Takes note of what a member completed.
    fn absorb(&mut self, member: usize, completion: Completion) {
        let Some(Child { parent, parts }) = self.children.remove(&(member, completion.id)) else { return };
        let Some(open) = self.open.get_mut(&parent) else { return };
        self.times.note(parent, member, &completion);
        if let (Some(bytes), Some(read)) = (&mut open.bytes, &completion.bytes) {
            let mut from = 0;
            for part in &parts {
                let (length, to) = (part.host.len_bytes(), bytes_before(open.range, part.host));
                bytes[to..to + length].copy_from_slice(&read[from..from + length]);
                from += length;
            }
        }
        if !completion.status.is_done() {
            let failed = completion.status.failed();
            let hosts = |range: &SectorRange| parts.iter().map(|part| part.host_of(*range)).collect::<Vec<_>>();
            let named: Vec<SectorRange> = failed.iter().flat_map(hosts).filter(|host| !host.is_empty()).collect();
            open.failures.push(match completion.status {
                Status::MediumError(_) => Status::MediumError(named),
                Status::NoSpace(_) => Status::NoSpace(named),
                Status::ReadOnly(_) => Status::ReadOnly(named),
                Status::Gone(_) => Status::Gone(named),
                refusal => refusal,
            });
        }
        open.ended = open.ended.max(completion.at);
        open.waits -= 1;
        if open.waits == 0
            && let Some(open) = self.open.remove(&parent)
        {
            self.ended.push(open.end(parent));
        }
    }

    /// Runs the members to an instant.
    fn run_to(&mut self, until: SimTime) {
        let mut out = Vec::new();
        for number in 0..self.members.len() {
            self.members[number].device.complete(until, &mut out);
            out.drain(..).for_each(|completion| self.absorb(number, completion));
        }
    }

    /// Lets the members do what they owe.
    fn carry_on(&mut self, at: SimTime) -> (Stop, Option<Part>, Vec<SectorRange>) {
        let Some(carried) = self.members.carry_on(at, &mut self.owed) else { return (Stop::Done, None, Vec::new()) };
        self.members.close_own();
        self.count();
        let refused = carried.ended.iter().find_map(|(_, _, left)| left.first().copied());
        (carried.stop, refused, carried.unread)
    }
}

/// Where the bytes of a part lie in those of its request.
fn bytes_before(range: SectorRange, part: SectorRange) -> usize {
    SectorRange::between(range.start, part.start).len_bytes()
}

/// Which of two failures says more.
pub(crate) const fn severity(status: &Status) -> u8 {
    match status {
        Status::Done => 0,
        // A member that is gone is a medium error of its sectors.
        Status::MediumError(_) | Status::Gone(_) => 1,
        Status::NoSpace(_) => 2,
        Status::ReadOnly(_) => 3,
        Status::OutOfRange | Status::Unsupported(_) => 4,
    }
}

impl Open {
    /// The request's completion.
    fn end(self, id: RequestId) -> Completion {
        let Self { at, kind, range, members, failures, ended, bytes, .. } = self;
        let is_gone = failures.len() == members && failures.iter().all(|failure| matches!(failure, Status::Gone(_)));
        let mut sectors = RangeSet::new();
        failures.iter().flat_map(Status::failed).for_each(|failed| sectors.insert(*failed));
        let named = if kind == Kind::Flush { Vec::new() } else { sectors.within(range).collect() };
        let status = match failures.into_iter().max_by_key(severity) {
            None => Status::Done,
            Some(_) if is_gone => Status::all_gone(range),
            Some(Status::Done | Status::MediumError(_) | Status::Gone(_)) => Status::MediumError(named),
            Some(Status::NoSpace(_)) => Status::NoSpace(named),
            Some(Status::ReadOnly(_)) => Status::ReadOnly(named),
            Some(refusal) => refusal,
        };
        let has_bytes = matches!(status, Status::Done | Status::MediumError(_));
        Completion { id, submitted_at: at, at: ended, kind, range, status, bytes: bytes.filter(|_| has_bytes) }
    }
}

impl<L: Layout> BlockDevice for Spread<L> {
    device_of_members!();

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.come_to(at);
        let id = RequestId(self.next_id);
        self.next_id += 1;
        let Request { kind, range, .. } = request;
        let refused = request.check(&self.features, self.capacity).err();
        let told = refused.or_else(|| {
            self.is_off.then(|| Status::all_gone(if kind == Kind::Flush { SectorRange::EMPTY } else { range }))
        });
        let is_empty = kind != Kind::Flush && range.is_empty();
        if told.is_some() || is_empty {
            let bytes = (told.is_none() && kind == Kind::Read && self.features.keeps_bytes).then(Vec::new);
            let status = told.unwrap_or(Status::Done);
            self.ended.push(Completion { id, submitted_at: at, at, kind, range, status, bytes });
            return id;
        }
        let mut parts = vec![Vec::new(); self.members.len()];
        if kind != Kind::Flush {
            self.parts(range).for_each(|(member, part)| parts[member].push(part));
        }
        let asked: Vec<(usize, Vec<Part>)> =
            parts.into_iter().enumerate().filter(|(_, parts)| kind == Kind::Flush || !parts.is_empty()).collect();
        let mut request = request;
        let given = request.bytes.take();
        let (written, read) = match kind {
            Kind::Write => (given, None),
            Kind::Read if self.features.keeps_bytes => {
                let mut buffer = given.unwrap_or_default();
                buffer.clear();
                buffer.resize(range.len_bytes(), 0);
                (None, Some(buffer))
            }
            _ => (None, None),
        };
        let (waits, members) = (asked.len(), asked.len());
        let failures = Vec::new();
        self.open.insert(id, Open { at, kind, range, waits, members, failures, ended: at, bytes: read });
        for (member, parts) in asked {
            let written = written.as_ref().map(|all| {
                let of = |part: &Part| {
                    let from = bytes_before(range, part.host);
                    &all[from..from + part.host.len_bytes()]
                };
                parts.iter().map(of).collect::<Vec<_>>().concat()
            });
            self.ask(id, member, parts, &request, written);
        }
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        let ended = self.ended.next_at();
        let below = || self.members.devices().filter_map(|device| device.next_event_at()).min();
        [ended, (!self.open.is_empty()).then(below).flatten()].into_iter().flatten().min()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.come_to(until);
        self.run_to(until);
        self.ended.pop_until(until, out);
        self.count();
    }

    /// An array gives no space back, whatever a member wants.
    fn notices(&mut self, _out: &mut Vec<Notice>) {
        self.members.drop_notices();
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        check_peek(&self.features, self.capacity, range, bytes).filter(|()| !self.is_off)?;
        let mut lost = Vec::new();
        for (member, part) in self.parts(range) {
            let to = bytes_before(range, part.host);
            let there = &mut bytes[to..to + part.host.len_bytes()];
            let told = self.members[member].device.peek(part.range(), there)?;
            told.into_iter().for_each(|gone| part.host_of(gone).push_to(&mut lost));
        }
        Some(lost)
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        let range = range.intersection(SectorRange::new(Lba(0), self.capacity));
        for (member, part) in self.parts(range).take(TOLD_MAX) {
            let mut told = Vec::new();
            all_extents(&self.members[member].device, part.range(), &mut told);
            out.extend(told.into_iter().map(|extent| Extent { range: part.host_of(extent.range), ..extent }));
        }
    }
}

impl<L: Layout> Array for Spread<L> {
    times_of_members!();
}

impl<L: Layout> Living for Spread<L> {
    life_of_members!();

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        self.come_to(at);
        let lies_within = |range: &SectorRange| range.lies_within(self.capacity);
        if self.is_off {
            return Took::new(Sectors::ZERO, Stop::Gone);
        }
        if batch.work != Work::Flush && !batch.extents.iter().all(lies_within) {
            return Took::new(Sectors::ZERO, Stop::OutOfRange);
        }
        let mut parts = vec![Vec::new(); self.members.len()];
        let all = batch.extents.iter().flat_map(|extent| self.parts(*extent));
        all.for_each(|(member, part)| parts[member].push(part));
        self.owed = Some(Owed::new(batch, parts));
        let (stop, refused, unread) = self.carry_on(at);
        let done = batch.extents.iter().fold((Sectors::ZERO, false), |(done, is_over), extent| {
            let first = refused.filter(|part| !is_over && !extent.intersection(part.host).is_empty());
            match first {
                Some(part) => (done + Sectors(part.host.start.0.saturating_sub(extent.start.0)), true),
                None if is_over => (done, true),
                None => (done + extent.count, false),
            }
        });
        Took { done: done.0, stop, unread: merged(unread) }
    }

    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
        self.come_to(at);
        match after {
            Stop::Paused | Stop::Wants(_) => self.carry_on(at).0,
            other => other,
        }
    }

    fn work(&mut self, at: SimTime) -> Option<Stop> {
        self.come_to(at);
        let done = self.members.devices_mut().find_map(|device| device.work(at));
        self.members.close_own();
        self.count();
        done
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        self.come_to(at);
        self.now = self.members.pass(at, time, self.now);
        self.count();
        self.now
    }

    fn prefetch(&self, sector: Lba) {
        if sector.0 < self.capacity.0 {
            let piece = self.layout.find(sector);
            self.members[piece.member].device.prefetch(piece.start);
        }
    }

    fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
        if !self.is_off {
            self.run_to(self.now);
        }
        self.members.devices_mut().for_each(|device| each(&mut **device));
        self.follow_features();
        if !self.is_off {
            self.now = self.members.latest(self.now);
            self.run_to(self.now);
            self.count();
        }
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.come_to(at);
        if self.is_off {
            return;
        }
        // What is complete by now was not cut.
        self.run_to(at);
        self.count();
        self.is_off = true;
        self.members.power_off(at, fate);
        for (id, open) in std::mem::take(&mut self.open) {
            let Open { at: submitted_at, kind, range, .. } = open;
            let status = Status::all_gone(if kind == Kind::Flush { SectorRange::EMPTY } else { range });
            self.ended.push(Completion { id, submitted_at, at, kind, range, status, bytes: None });
        }
        self.children.clear();
        self.owed = None;
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        self.come_to(at);
        if !self.is_off {
            return Err(PowerError::IsOn);
        }
        let mut took = Nanos::ZERO;
        for number in 0..self.members.len() {
            match self.members[number].device.power_on(at) {
                Ok(recovered) => took = took.max(recovered.took),
                Err(error) => {
                    // It stays off as a whole, and may be tried again.
                    self.now = self.members.latest(at);
                    let (now, came) = (self.now, self.members.devices_mut().take(number));
                    came.for_each(|device| device.power_off(now, &mut || Fate::Done));
                    return Err(error);
                }
            }
        }
        self.is_off = false;
        self.now = self.members.latest(self.now);
        self.count();
        Ok(Recovered { took })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("array.members", &self.members.len())?;
        archive.field("array.now", &mut self.now)?;
        archive.field("array.is-off", &mut self.is_off)?;
        archive.field("array.next-id", &mut self.next_id)?;
        archive.field("array.open", &mut self.open)?;
        archive.field("array.children", &mut self.children)?;
        archive.field("array.owed", &mut self.owed)?;
        self.ended.archive(archive)?;
        // Without power the members do not say what they counted.
        archive_counters(archive, "array.counters", &mut self.members.counters)?;
        self.members.devices_mut().try_for_each(|device| device.archive(archive))?;
        if archive.is_reading() {
            self.follow_features();
        }
        Ok(())
    }
}

/// Ranges in rising order, which do not touch each other.
fn merged(ranges: Vec<SectorRange>) -> Vec<SectorRange> {
    let mut set = RangeSet::new();
    ranges.into_iter().for_each(|range| set.insert(range));
    let all = SectorRange::between(Lba(0), Lba(u64::MAX));
    set.within(all).collect()
}
