//! The rules of living devices: batches, copies, saving, power and passing time.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wane_archive::{Archive, ArchiveError, Reader, Writer};
use wane_blockdev::{
    Batch, BlockDevice, Completion, Extent, Health, Kind, Living, Notice, Passing, Request, RequestId, Resize,
    SectorRange, Status, Stop, Work, carry_out, drain,
};
use wane_units::{Counters, Fate, Fnv, Lba, Nanos, Sectors, SimTime};

use super::MakeLiving;
use super::model::pattern;
use super::on_random;
use super::steps::{Step, WINDOW, sequences};

/// Sectors of the start of a device that are compared.
const COMPARED: u64 = WINDOW + 48;

pub(super) fn check(make: MakeLiving<'_>, is_plain: bool, cases: u32) -> Result<(), String> {
    if is_plain {
        on_random(cases, &(sequences(), asks()), |(before, asks)| batches(make, &before, &asks))?;
    }
    beyond_the_end(make)?;
    on_random(cases, &(sequences(), asks()), |(before, asks)| rewrites(make, &before, &asks))?;
    on_random(cases, &(sequences(), sequences()), |(before, after)| copies(make, &before, &after))?;
    on_random(cases, &(sequences(), sequences(), any::<u64>()), |(before, after, seed)| {
        power(make, &before, &after, seed)
    })?;
    on_random(cases, &(sequences(), 0u64..1 << 40, 0u32..1000), |(steps, idle, days)| {
        passing(make, &steps, Nanos(idle), f64::from(days))
    })
}

/// What is asked of some ranges, in terms that suit any device.
type Asked = (Work, Vec<(u64, u64)>);

fn asks() -> impl Strategy<Value = Vec<Asked>> {
    let work =
        prop_oneof![3 => Just(Work::Write), 2 => Just(Work::Read), 2 => Just(Work::Trim), 1 => Just(Work::Flush)];
    let ranges = prop::collection::vec((0..WINDOW, 0u64..24), 0..10);
    prop::collection::vec((work, ranges), 0..8)
}

/// The ranges for a device, rounded to its sectors and cut off at its capacity.
fn extents(device: &dyn Living, ranges: &[(u64, u64)]) -> Vec<SectorRange> {
    let (unit, capacity) = (device.features().sector.0, device.capacity());
    let range = |&(start, count): &(u64, u64)| {
        let start = start - start % unit;
        SectorRange::new(Lba(start), Sectors(count.next_multiple_of(unit)))
            .intersection(SectorRange::new(Lba(0), capacity))
    };
    ranges.iter().map(range).collect()
}

/// A device, what came out of it so far, and its instant.
struct Life {
    device: Box<dyn Living>,
    now: SimTime,
    start: Sectors,
    tag: u64,
    requests: BTreeMap<RequestId, (SimTime, Request)>,
    completions: Vec<Completion>,
    notices: Vec<Notice>,
    /// What was read when it was seen last.
    read: Vec<Completion>,
}

/// What can be seen of a device from outside.
#[derive(Debug, PartialEq)]
struct Seen {
    capacity: Sectors,
    limit: Sectors,
    extents: Vec<Extent>,
    /// The status of a read of everything, and a hash of its bytes.
    contents: Vec<(Status, Option<String>)>,
    counters: Counters,
    health: Vec<Health>,
}

impl Life {
    fn new(make: MakeLiving<'_>) -> Self {
        let device = make();
        let (start, now) = (device.capacity(), device.now());
        Self {
            device,
            now,
            start,
            tag: 0,
            requests: BTreeMap::new(),
            completions: Vec::new(),
            notices: Vec::new(),
            read: Vec::new(),
        }
    }

    fn live(&mut self, steps: &[Step]) {
        for step in steps {
            let (Step::Submit { wait, .. }
            | Step::Complete { wait }
            | Step::SetCapacity { wait, .. }
            | Step::SetLimit { wait, .. }) = step;
            self.now = self.now.saturating_add(wait.nanos());
            match step {
                Step::Submit { ask, .. } => {
                    self.tag += 1;
                    let request = ask.request(&self.device.features(), self.start, self.tag);
                    self.submit(request);
                }
                Step::Complete { .. } => self.complete(),
                Step::SetCapacity { parts, .. } => {
                    self.device.set_capacity(self.now, Sectors(self.start.0 / 16 * parts));
                }
                Step::SetLimit { limit, .. } => {
                    let limit = limit.sectors(&*self.device);
                    self.device.set_mapped_limit(self.now, limit);
                }
            }
        }
    }

    fn submit(&mut self, request: Request) -> RequestId {
        let id = self.device.submit(self.now, request.clone());
        self.requests.insert(id, (self.now, request));
        id
    }

    fn complete(&mut self) {
        self.device.complete(self.now, &mut self.completions);
        self.device.notices(&mut self.notices);
    }

    fn come_to_rest(&mut self) {
        self.now = drain(self.device.as_mut(), self.now, &mut self.completions);
        self.device.notices(&mut self.notices);
    }

    /// What is seen of the device once it is at rest.
    fn see(&mut self) -> Seen {
        self.come_to_rest();
        let capacity = self.device.capacity();
        let unit = self.device.features().sector.0;
        let range = SectorRange::new(Lba(0), Sectors(COMPARED.next_multiple_of(unit).min(capacity.0)));
        let mut extents = Vec::new();
        self.device.extents(range, &mut extents);
        let first = self.completions.len();
        self.submit(Request::read(range));
        self.come_to_rest();
        let mut health = Vec::new();
        self.device.health(&mut health);
        self.read = self.completions.split_off(first);
        let hash = |bytes: &Vec<u8>| Fnv::of(bytes).hex();
        let contents = self.read.iter().map(|read| (read.status.clone(), read.bytes.as_ref().map(hash))).collect();
        Seen {
            capacity,
            limit: self.device.mapped_limit(),
            extents,
            contents,
            counters: *self.device.counters(),
            health,
        }
    }
}

/// Checks that a batch leaves what its requests leave.
fn batches(make: MakeLiving<'_>, before: &[Step], asks: &[Asked]) -> Result<(), String> {
    let (mut by_one, mut at_once) = (Life::new(make), Life::new(make));
    for life in [&mut by_one, &mut at_once] {
        life.live(before);
        life.come_to_rest();
    }
    for (work, ranges) in asks {
        let list = extents(by_one.device.as_ref(), ranges);
        if *work == Work::Flush {
            by_one.submit(Request::flush());
            by_one.come_to_rest();
        }
        for range in list.iter().filter(|_| *work != Work::Flush) {
            let request = match work {
                Work::Read => Request::read(*range),
                Work::Write => Request::write_without_bytes(*range),
                _ => Request::trim(*range),
            };
            by_one.submit(request);
            by_one.come_to_rest();
        }
        let list = if *work == Work::Flush { Vec::new() } else { list };
        let took = carry_out(at_once.device.as_mut(), at_once.now, &Batch::new(*work, &list));
        let all = list.iter().fold(Sectors::ZERO, |sum, range| sum + range.count);
        if took.stop != Stop::Done || took.done != all {
            return Err(format!("a batch of {work:?} on {list:?} ends as {took:?}"));
        }
        if at_once.device.next_event_at().is_some() {
            return Err(format!("a batch of {work:?} on {list:?} leaves something to complete"));
        }
    }
    let now = by_one.now.max(at_once.now);
    (by_one.now, at_once.now) = (now, now);
    let (one, other) = (by_one.see(), at_once.see());
    if one == other { Ok(()) } else { Err(format!("requests leave {one:#?}, their batches {other:#?}")) }
}

/// Checks that a batch with a range beyond the capacity does nothing.
fn beyond_the_end(make: MakeLiving<'_>) -> Result<(), String> {
    let mut life = Life::new(make);
    let before = life.see();
    let unit = life.device.features().sector;
    let list = [SectorRange::new(Lba(0), unit), SectorRange::new(Lba(life.start.0), unit)];
    for work in [Work::Read, Work::ReadToModify, Work::Write, Work::Rewrite, Work::Trim] {
        let took = life.device.batch(life.now, &Batch::new(work, &list));
        if took.stop != Stop::OutOfRange || took.done != Sectors::ZERO {
            return Err(format!("a batch of {work:?} beyond the capacity ends as {took:?}"));
        }
    }
    let after = life.see();
    let same =
        (before.extents, before.counters.host_units_written) == (after.extents, after.counters.host_units_written);
    if same { Ok(()) } else { Err("a batch beyond the capacity changed something".to_owned()) }
}

/// Checks that a batch that writes again leaves contents alone.
fn rewrites(make: MakeLiving<'_>, before: &[Step], asks: &[Asked]) -> Result<(), String> {
    let mut life = Life::new(make);
    life.live(before);
    let first = life.see();
    for (_, ranges) in asks {
        let list = extents(life.device.as_ref(), ranges);
        for work in [Work::ReadToModify, Work::Rewrite] {
            carry_out(life.device.as_mut(), life.now, &Batch::new(work, &list));
        }
    }
    let last = life.see();
    let (was, is) = (first.contents, last.contents);
    // A device may err.
    let may_err = was.iter().chain(&is).any(|(status, _)| !status.is_done());
    if was == is || may_err { Ok(()) } else { Err("writing contents again changed them".to_owned()) }
}

/// Checks that a copy, and a device that reads the saved state, go on as the device itself.
fn copies(make: MakeLiving<'_>, before: &[Step], after: &[Step]) -> Result<(), String> {
    let mut itself = Life::new(make);
    itself.live(before);
    let copy = |device: Box<dyn Living>, of: &Life| Life {
        device,
        now: of.now,
        start: of.start,
        tag: of.tag,
        requests: BTreeMap::new(),
        completions: Vec::new(),
        notices: Vec::new(),
        read: Vec::new(),
    };
    let mut never = copy(itself.device.another(), &itself);
    let bytes = saved(itself.device.as_mut()).map_err(|error| format!("it cannot be saved: {error}"))?;
    let reopened = opened(make, &bytes).map_err(|error| format!("it cannot be opened: {error}"))?;
    let mut again = copy(reopened, &itself);
    (itself.completions, itself.notices) = (Vec::new(), Vec::new());
    for life in [&mut itself, &mut never, &mut again] {
        life.live(after);
    }
    let want = (itself.see(), &itself.completions, &itself.notices);
    for (name, mut life) in [("a copy", never), ("the device read back", again)] {
        let seen = life.see();
        let found = (seen, &life.completions, &life.notices);
        if found != want {
            return Err(format!("the saved device goes on as {want:#?}, {name} as {found:#?}"));
        }
    }
    Ok(())
}

fn saved(device: &mut dyn Living) -> Result<Vec<u8>, ArchiveError> {
    let mut writer = Writer::new(Vec::new())?;
    device.archive(&mut writer as &mut dyn Archive)?;
    writer.finish()
}

fn opened(make: MakeLiving<'_>, bytes: &[u8]) -> Result<Box<dyn Living>, ArchiveError> {
    let mut device = make();
    let mut reader = Reader::new(bytes)?;
    device.archive(&mut reader as &mut dyn Archive)?;
    reader.finish()?;
    Ok(device)
}

/// What a sector may hold after a power cut, the oldest first.
struct May(BTreeMap<u64, Vec<Vec<u8>>>);

impl May {
    /// What the device holds now, all of it durable.
    fn of(read: &[Completion]) -> Self {
        let mut may = BTreeMap::new();
        for read in read {
            for (lba, bytes) in (read.range.start.0..).zip(read.bytes.iter().flat_map(|bytes| bytes.chunks(512))) {
                may.insert(lba, vec![bytes.to_vec()]);
            }
        }
        Self(may)
    }

    fn change(&mut self, request: &Request, tag: u64, is_durable: bool) {
        let new = match (request.kind, &request.bytes) {
            (Kind::Write, Some(_)) => pattern(tag, request.range.count),
            _ => vec![0; request.range.len_bytes()],
        };
        for (lba, bytes) in (request.range.start.0..).zip(new.chunks(512)) {
            let Some(may) = self.0.get_mut(&lba) else { continue };
            if is_durable {
                may.clear();
            }
            may.push(bytes.to_vec());
        }
    }
}

/// Checks a power cut in the midst of requests: what was durable is there, and each request has ended once.
fn power(make: MakeLiving<'_>, before: &[Step], after: &[Step], seed: u64) -> Result<(), String> {
    let mut life = Life::new(make);
    life.live(before);
    life.submit(Request::flush());
    life.see();
    let durable = std::mem::take(&mut life.read);
    (life.requests, life.completions) = (BTreeMap::new(), Vec::new());
    let mut tags = BTreeMap::new();
    for step in after {
        let Step::Submit { wait, ask } = step else { continue };
        life.now = life.now.saturating_add(wait.nanos());
        life.tag += 1;
        let request = ask.request(&life.device.features(), life.start, life.tag);
        // What a remap may leave is left to the tests of firmware.
        if request.kind != Kind::Remap {
            tags.insert(life.submit(request), life.tag);
        }
    }
    let mut random = seed;
    let mut fate = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        [Fate::Done, Fate::Torn, Fate::Undone][(random >> 33) as usize % 3]
    };
    let at = life.now.saturating_add(Nanos(seed % 2_000_000));
    let limit = life.device.mapped_limit();
    life.now = at;
    life.device.power_off(at, &mut fate);
    life.device.power_off(at, &mut fate);
    off_is_off(&mut life)?;
    let ended: BTreeMap<RequestId, Completion> = life.completions.iter().map(|one| (one.id, one.clone())).collect();
    if ended.len() != life.completions.len() || !life.requests.keys().eq(ended.keys()) {
        return Err(format!("of {:?} these end: {:?}", life.requests.keys(), ended.keys()));
    }
    let mut may = May::of(&durable);
    for (id, (_, request)) in life.requests.iter().filter(|(_, (_, request))| request.kind.changes_contents()) {
        let done = &ended[id];
        if done.at > at {
            return Err(format!("the power went at {at}, and {done:?} ends after it"));
        }
        let Some(tag) = tags.get(id).filter(|_| !done.status.is_refusal()) else { continue };
        may.change(request, *tag, request.flags.fua && done.status.is_done());
    }
    if life.device.power_on(life.now).is_err() {
        // It keeps nothing, and stays without power.
        return off_is_off(&mut life);
    }
    if life.device.mapped_limit() != limit.min(life.device.capacity()) {
        return Err(format!("a mapped limit of {limit} is {} after a power cut", life.device.mapped_limit()));
    }
    if life.device.power_on(life.device.now()).is_ok() {
        return Err("its power is switched on twice".to_owned());
    }
    life.now = life.device.now().max(life.now);
    let bytes = saved(life.device.as_mut()).map_err(|error| format!("it cannot be saved: {error}"))?;
    life.device = opened(make, &bytes).map_err(|error| format!("it cannot be opened: {error}"))?;
    life.see();
    for read in life.read.iter().filter(|read| read.status.is_done()) {
        for (lba, bytes) in (read.range.start.0..).zip(read.bytes.iter().flat_map(|bytes| bytes.chunks(512))) {
            if may.0.get(&lba).is_some_and(|may| !may.iter().any(|may| may == bytes)) {
                return Err(format!("after a power cut sector {lba} holds {:?}..", &bytes[..16]));
            }
        }
    }
    life.live(before);
    life.come_to_rest();
    Ok(())
}

/// Checks that a device without power does nothing. Takes what had not been handed out.
fn off_is_off(life: &mut Life) -> Result<(), String> {
    life.come_to_rest();
    let (unit, kept) = (life.device.features().sector, life.completions.len());
    let range = SectorRange::new(Lba(0), unit);
    let asked = [Request::read(range), Request::write_without_bytes(range), Request::trim(range), Request::flush()];
    for request in asked {
        let id = life.device.submit(life.now, request.clone());
        life.come_to_rest();
        let done = life.completions.pop();
        let want = Status::all_gone(request.range);
        if done.as_ref().is_none_or(|done| done.id != id || done.status != want) || life.completions.len() != kept {
            return Err(format!("without power {request:?} ends as {done:?}"));
        }
    }
    let took = life.device.batch(life.now, &Batch::new(Work::Write, &[range]));
    let status = life.device.set_capacity(life.now, Sectors::ZERO);
    // What never changes its capacity refuses that with or without power.
    let is_fixed = life.device.features().resize == Resize::Fixed && matches!(status, Status::Unsupported(_));
    if took.stop != Stop::Gone || took.done != Sectors::ZERO || !(is_fixed || matches!(status, Status::Gone(_))) {
        return Err(format!("without power a batch ends as {took:?}, a new capacity as {status:?}"));
    }
    let status = life.device.set_mapped_limit(life.now, Sectors::ZERO);
    let is_unlimited = !life.device.features().mapped_limit && matches!(status, Status::Unsupported(_));
    if !is_unlimited && !matches!(status, Status::Gone(_)) {
        return Err(format!("without power another mapped limit ends as {status:?}"));
    }
    Ok(())
}

/// Checks that time without requests changes no contents, and that it goes on where it says.
fn passing(make: MakeLiving<'_>, steps: &[Step], idle: Nanos, days: f64) -> Result<(), String> {
    let mut life = Life::new(make);
    life.live(steps);
    life.submit(Request::flush());
    let before = life.see();
    for time in [Passing::Idle(idle), Passing::Days(days), Passing::Shelf { days, rate: 1.5 }, Passing::Idle(Nanos(0))]
    {
        let end = life.device.pass(life.now, time);
        if end < time.end(life.now) || end != life.device.now() {
            return Err(format!("{time:?} from {} on leads to {end}", life.now));
        }
        life.now = end;
    }
    let after = life.see();
    let (was, is) = (before.contents, after.contents);
    let may_err = was.iter().chain(&is).any(|(status, _)| !status.is_done());
    if was == is || may_err { Ok(()) } else { Err("time changed contents".to_owned()) }
}
