//! A layer that makes requests fail: sectors that cannot be read or written, requests that end half done, requests that are
//! reported as done and are not, and devices that wear out or are gone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::{EndOfLife, Lba, Sectors, SimTime};

use crate::{
    Batch, BlockDevice, Completion, Kind, Living, Notice, NoticeKind, RangeSet, Request, RequestId, SectorRange,
    Status, Stop, Tally, Took, Work, live_on, pass_on,
};

/// How long bad sectors stay bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Reads fail until the sector is written, zeroed or trimmed: a latent error. A remap moves it.
    UntilWritten,
    /// Reads and writes fail for ever. A write stops at the first such sector.
    Forever,
}

/// What happens to a request that was chosen to fail. Its first `first` sectors, rounded down to whole logical sectors, are
/// carried out; a remap that is cut is not carried out at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// A medium error names the rest.
    MediumError {
        /// Sectors carried out.
        first: Sectors,
    },
    /// The rest is named as lacking space. Reads, trims and flushes need no space and are not affected.
    NoSpace {
        /// Sectors carried out.
        first: Sectors,
    },
    /// The device wears out: as [`Fault::make_read_only`], but the first sectors of this request are still carried out, and a
    /// flush fails.
    ReadOnly {
        /// Sectors carried out.
        first: Sectors,
    },
    /// The device is gone from this request on: see [`Fault::make_gone`].
    Gone,
    /// The request is reported as done. The rest of a write keeps its old contents, the rest of a read is zeros, and a flush does
    /// nothing. This breaks the rules on purpose: the layers above must find it by checksums, or lose data.
    Torn {
        /// Sectors carried out.
        first: Sectors,
    },
    /// A write is carried out elsewhere and reported as done: as [`Effect::Torn`] of no sector, and others lose what they held. Beyond the capacity it
    /// is lost. Requests of other kinds are not affected.
    Misdirected {
        /// The first sector that is written.
        to: Lba,
    },
}

impl Effect {
    /// Nothing of the request is carried out, and it is reported as done.
    pub const DROPPED: Self = Self::Torn { first: Sectors::ZERO };
}

/// Changes still to be made to a completion.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Patch {
    kind: Kind,
    range: SectorRange,
    /// Sectors that are not carried out.
    rest: SectorRange,
    end: End,
    /// For a read: bad sectors.
    unreadable: Vec<SectorRange>,
    /// For a read: sectors that are read wrong.
    rotten: Vec<SectorRange>,
}

/// How a request ends if its rest is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum End {
    MediumError,
    NoSpace,
    ReadOnly,
    Gone,
    Done,
}

/// What the device as a whole still does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Condition {
    Sound,
    ReadOnly,
    Gone,
}

/// Makes chosen requests and sectors fail. The choice depends only on what was submitted, so that failures repeat.
#[derive(Clone, Debug)]
pub struct Fault<D> {
    device: D,
    forever: RangeSet,
    until_written: RangeSet,
    /// Sectors that are read with wrong bytes.
    rotten: RangeSet,
    /// By number of the request among all requests, or among those of its kind.
    effects: BTreeMap<u64, Effect>,
    effects_by_kind: BTreeMap<(Kind, u64), Effect>,
    submitted: u64,
    submitted_by_kind: [u64; Kind::ALL.len()],
    patches: BTreeMap<RequestId, Patch>,
    notices: Vec<Notice>,
    condition: Condition,
}

impl<D: BlockDevice> Fault<D> {
    /// Wraps a device. Nothing fails yet.
    pub const fn new(device: D) -> Self {
        Self {
            device,
            forever: RangeSet::new(),
            until_written: RangeSet::new(),
            rotten: RangeSet::new(),
            effects: BTreeMap::new(),
            effects_by_kind: BTreeMap::new(),
            submitted: 0,
            submitted_by_kind: [0; Kind::ALL.len()],
            patches: BTreeMap::new(),
            notices: Vec::new(),
            condition: Condition::Sound,
        }
    }

    /// Makes sectors bad, rounded outward to whole logical sectors.
    ///
    /// # Panics
    /// The range ends beyond 2^64.
    #[must_use]
    pub fn with_bad(mut self, range: SectorRange, persistence: Persistence) -> Self {
        self.make_bad(range, persistence);
        self
    }

    /// As [`Self::with_bad`], for requests submitted from now on.
    ///
    /// # Panics
    /// The range ends beyond 2^64.
    pub fn make_bad(&mut self, range: SectorRange, persistence: Persistence) {
        let sector = self.device.features().sector.0;
        let end = range.end().expect("bad sectors lie below 2^64").0;
        let start = range.start.0 - range.start.0 % sector;
        let end = end.checked_next_multiple_of(sector).expect("bad sectors lie below 2^64");
        match persistence {
            Persistence::UntilWritten => self.until_written.insert(SectorRange::between(Lba(start), Lba(end))),
            Persistence::Forever => self.forever.insert(SectorRange::between(Lba(start), Lba(end))),
        }
    }

    /// Lets sectors rot, as [`Self::make_bad`] makes them bad: until they are written, zeroed or trimmed, a read of them is done and returns all their
    /// bits inverted. This breaks the rules as [`Effect::Torn`] does. A remap does not move it.
    ///
    /// # Panics
    /// The range ends beyond 2^64.
    pub fn make_rotten(&mut self, range: SectorRange) {
        self.rotten.insert(range);
    }

    /// Wears the device out: everything submitted from now on that changes contents ends as [`Status::ReadOnly`]. Reads and
    /// flushes go on, and so do changes of capacity.
    pub fn make_read_only(&mut self) {
        self.condition = self.condition.max(Condition::ReadOnly);
    }

    /// Takes the device away: everything submitted from now on ends as [`Status::Gone`], and the capacity stays. What is
    /// outstanding is not affected.
    pub const fn make_gone(&mut self) {
        self.condition = Condition::Gone;
    }

    /// Chooses request `number`, counted from 0 over all requests. Takes precedence over [`Self::with_nth_of`].
    #[must_use]
    pub fn with_nth(mut self, number: u64, effect: Effect) -> Self {
        self.effects.insert(number, effect);
        self
    }

    /// Chooses request `number`, counted from 0 over requests of its kind.
    #[must_use]
    pub fn with_nth_of(mut self, kind: Kind, number: u64, effect: Effect) -> Self {
        self.effects_by_kind.insert((kind, number), effect);
        self
    }

    /// Gives the host a notice, as a drive would.
    pub fn announce(&mut self, at: SimTime, kind: NoticeKind) {
        self.notices.push(Notice { at, kind });
    }

    /// The device below.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// Returns the device below. Outstanding requests are no longer changed.
    pub fn into_inner(self) -> D {
        self.device
    }

    /// Counts a request. Returns its effect if it was chosen.
    fn next_effect(&mut self, kind: Kind) -> Option<Effect> {
        let number = self.submitted;
        self.submitted += 1;
        let of_kind = &mut self.submitted_by_kind[kind as usize];
        let number_of_kind = *of_kind;
        *of_kind += 1;
        let by_kind = self.effects_by_kind.remove(&(kind, number_of_kind));
        self.effects.remove(&number).or(by_kind)
    }

    /// As [`Self::next_effect`], and lets the device wear out or go. Returns its condition before too.
    fn choose(&mut self, kind: Kind) -> (Option<Effect>, Condition) {
        let (effect, condition) = (self.next_effect(kind), self.condition);
        match effect {
            Some(Effect::ReadOnly { .. }) => self.make_read_only(),
            Some(Effect::Gone) => self.make_gone(),
            _ => {}
        }
        (effect, condition)
    }

    /// The sectors that are not carried out, and how the request ends because of them. `condition` is that before the request.
    fn cut(&self, request: &Request, effect: Option<Effect>, condition: Condition) -> (SectorRange, End) {
        let kind = request.kind;
        let range = if kind == Kind::Flush { SectorRange::EMPTY } else { request.range };
        match (condition, effect) {
            (Condition::Gone, _) | (_, Some(Effect::Gone)) => return (range, End::Gone),
            (Condition::ReadOnly, _) if kind.changes_contents() => return (range, End::ReadOnly),
            (Condition::Sound | Condition::ReadOnly, _) => {}
        }
        let sector = self.device.features().sector.0;
        let served = |first: Sectors| Sectors(first.0 - first.0 % sector).min(range.count);
        let needs_space = matches!(kind, Kind::Write | Kind::WriteZeroes | Kind::Remap);
        let (chosen, end) = match effect {
            Some(Effect::MediumError { first }) => (served(first), End::MediumError),
            Some(Effect::NoSpace { first }) if needs_space => (served(first), End::NoSpace),
            Some(Effect::ReadOnly { first }) if kind != Kind::Read => (served(first), End::ReadOnly),
            Some(Effect::Torn { first }) => (served(first), End::Done),
            Some(Effect::NoSpace { .. } | Effect::ReadOnly { .. } | Effect::Gone | Effect::Misdirected { .. })
            | None => (range.count, End::Done),
        };
        let bad = match kind {
            Kind::Write | Kind::WriteZeroes | Kind::Remap => self.forever.within(range).next(),
            Kind::Read | Kind::Trim | Kind::Flush => None,
        };
        let bad = bad.map(|bad| Sectors(bad.start.0 - range.start.0));
        let source_is_bad = kind == Kind::Remap && self.forever.touches(request.source);
        let bad = if source_is_bad { Some(Sectors::ZERO) } else { bad };
        let (first, end) = match bad {
            Some(bad) if bad < chosen => (bad, End::MediumError),
            _ => (chosen, end),
        };
        // A remap is done whole or not at all.
        let first = if kind == Kind::Remap && first < range.count { Sectors::ZERO } else { first };
        debug_assert!(first <= range.count, "no more is carried out than was asked");
        (range.without_first(first), end)
    }

    /// Removes latent errors where contents are replaced, and moves them with contents that are moved.
    fn heal(&mut self, request: &Request) {
        if !request.kind.changes_contents() {
            return;
        }
        self.until_written.remove(request.range);
        self.rotten.remove(request.range);
        if request.kind == Kind::Remap {
            let moved = |range: SectorRange| {
                let start = Lba(range.start.0 - request.source.start.0 + request.range.start.0);
                SectorRange::new(start, range.count)
            };
            let arriving: Vec<SectorRange> = self.until_written.within(request.source).map(moved).collect();
            self.until_written.remove(request.source);
            for range in arriving {
                self.until_written.insert(range);
            }
        }
    }

    /// Sends a write elsewhere. Returns whether it was one.
    fn misdirect(&self, request: &mut Request, effect: Option<Effect>) -> bool {
        let Some(Effect::Misdirected { to }) = effect.filter(|_| request.kind == Kind::Write) else { return false };
        let there = SectorRange::new(to, request.range.count);
        if there.lies_within(self.device.capacity()) {
            request.range = there;
        } else {
            *request = Request::read(SectorRange::EMPTY).with_origin(request.origin);
        }
        true
    }

    /// Cuts a request down to what is carried out.
    fn shorten(request: &mut Request, rest: SectorRange, end: End) {
        let nothing = Request::read(SectorRange::EMPTY).with_origin(request.origin);
        match request.kind {
            // An empty read instead takes a number and the time of a request, and has no effect.
            _ if end == End::Gone => *request = nothing,
            // A read is carried out whole, and its result is changed afterwards.
            Kind::Read => {}
            Kind::Flush | Kind::Remap => *request = nothing,
            Kind::Write | Kind::WriteZeroes | Kind::Trim => {
                request.range.count = request.range.count - rest.count;
                if let Some(bytes) = &mut request.bytes {
                    bytes.truncate(request.range.len_bytes());
                }
            }
        }
    }
}

/// Inverts the bytes of a part of a range.
fn invert(range: SectorRange, part: SectorRange, bytes: &mut [u8]) {
    let from = SectorRange::between(range.start, part.start).len_bytes();
    bytes[from..from + part.len_bytes()].iter_mut().for_each(|byte| *byte = !*byte);
}

impl Patch {
    fn apply(self, completion: &mut Completion) {
        completion.kind = self.kind;
        completion.range = self.range;
        if matches!(completion.status, Status::Gone(_)) {
            completion.status = Status::all_gone(self.range);
            return;
        }
        let below = std::mem::replace(&mut completion.status, Status::Done);
        let mut failed: RangeSet = below.failed().iter().chain(&self.unreadable).copied().collect();
        if self.end != End::Done {
            failed.insert(self.rest);
        }
        let own = match self.end {
            End::Done if self.unreadable.is_empty() => Status::Done,
            End::Done | End::MediumError => Status::MediumError(Vec::new()),
            End::NoSpace => Status::NoSpace(Vec::new()),
            End::ReadOnly => Status::ReadOnly(Vec::new()),
            End::Gone => Status::Gone(Vec::new()),
        };
        let worse = if own.severity() > below.severity() { own } else { below };
        completion.status = worse.naming(failed.within(self.range).collect());
        if self.kind != Kind::Read || self.end == End::Gone {
            completion.bytes = None;
        } else if let Some(bytes) = &mut completion.bytes {
            self.rotten.iter().for_each(|part| invert(self.range, *part, bytes));
            for spoiled in self.unreadable.iter().chain([&self.rest]) {
                let from = SectorRange::between(self.range.start, spoiled.start).len_bytes();
                bytes[from..from + spoiled.len_bytes()].fill(0);
            }
        }
    }
}

impl<D: BlockDevice> BlockDevice for Fault<D> {
    pass_on!(device: features capacity mapped_limit next_event_at extents);

    fn submit(&mut self, at: SimTime, mut request: Request) -> RequestId {
        let (effect, condition) = self.choose(request.kind);
        if request.check(&self.device.features(), self.device.capacity()).is_err() {
            return self.device.submit(at, request);
        }
        let (kind, range) = (request.kind, request.range);
        let (rest, end) = self.cut(&request, effect, condition);
        // A chosen flush has an empty rest, and so do empty requests.
        let is_dropped = end != End::Done || matches!(effect, Some(Effect::Torn { .. }));
        let cut = !rest.is_empty() || (is_dropped && kind == Kind::Flush) || end == End::Gone;
        let mut unreadable = Vec::new();
        if kind == Kind::Read && end != End::Gone {
            let both: RangeSet = self.forever.within(range).chain(self.until_written.within(range)).collect();
            unreadable.extend(both.within(range));
        }
        let mut rotten = Vec::new();
        if kind == Kind::Read && !self.rotten.is_empty() {
            rotten.extend(self.rotten.within(range));
        }
        if cut {
            Self::shorten(&mut request, rest, end);
        }
        let is_elsewhere = self.misdirect(&mut request, effect);
        self.heal(&request);
        let patched = cut || is_elsewhere || !unreadable.is_empty() || !rotten.is_empty();
        let id = self.device.submit(at, request);
        if patched {
            self.patches.insert(id, Patch { kind, range, rest, end, unreadable, rotten });
        }
        id
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        let first = out.len();
        self.device.complete(until, out);
        if self.patches.is_empty() {
            return;
        }
        for completion in &mut out[first..] {
            if let Some(patch) = self.patches.remove(&completion.id) {
                patch.apply(completion);
            }
        }
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        if self.condition == Condition::Gone {
            return Status::Gone(Vec::new());
        }
        let before = self.device.capacity();
        let status = self.device.set_capacity(at, capacity);
        if status.is_done() {
            // Contents above the end are lost, and their errors with them.
            self.rotten.remove(SectorRange::between(Lba(capacity.0), Lba(before.0)));
            self.until_written.remove(SectorRange::between(Lba(capacity.0), Lba(before.0)));
        }
        status
    }

    fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        if self.condition == Condition::Gone {
            return Status::Gone(Vec::new());
        }
        self.device.set_mapped_limit(at, limit)
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        if self.condition == Condition::Gone {
            return None;
        }
        let below = self.device.peek(range, bytes)?;
        self.rotten.within(range).for_each(|part| invert(range, part, bytes));
        let bad = self.forever.within(range).chain(self.until_written.within(range));
        let lost: RangeSet = below.into_iter().chain(bad).collect();
        let lost: Vec<SectorRange> = lost.within(range).collect();
        for part in &lost {
            let from = SectorRange::between(range.start, part.start).len_bytes();
            bytes[from..from + part.len_bytes()].fill(0);
        }
        Some(lost)
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        let first = out.len();
        self.device.notices(out);
        out.append(&mut self.notices);
        out[first..].sort_by_key(|notice| notice.at);
    }
}

impl<D: Living> Fault<D> {
    /// Whether a batch passes as it is.
    fn is_harmless(&self) -> bool {
        self.condition == Condition::Sound
            && self.effects.is_empty()
            && self.effects_by_kind.is_empty()
            && self.forever.is_empty()
            && self.until_written.is_empty()
            && self.rotten.is_empty()
    }

    /// Carries out one range of a batch as far as it is to succeed.
    fn batch_one(&mut self, at: SimTime, batch: &Batch<'_>, extent: SectorRange) -> Took {
        let mut request = match batch.work.kind() {
            Kind::Read => Request::read(extent),
            Kind::Write => Request::write_without_bytes(extent),
            Kind::Trim => Request::trim(extent),
            _ => Request::flush(),
        };
        let is_counted = batch.work != Work::ReadToModify;
        let (effect, condition) = if is_counted { self.choose(request.kind) } else { (None, self.condition) };
        let (rest, end) = self.cut(&request, effect, condition);
        if end == End::Gone {
            return Took::new(Sectors::ZERO, Stop::Gone);
        }
        let mut unread = Vec::new();
        let is_dropped =
            request.kind == Kind::Flush && (end != End::Done || matches!(effect, Some(Effect::Torn { .. })));
        let mut work = batch.work;
        if request.kind == Kind::Read {
            let bad: RangeSet =
                self.forever.within(extent).chain(self.until_written.within(extent)).chain([rest]).collect();
            unread.extend(bad.within(extent));
        } else if is_dropped {
            // An empty read instead takes the number of a request, as in `shorten`.
            work = Work::Read;
        } else {
            Self::shorten(&mut request, rest, end);
        }
        if self.misdirect(&mut request, effect) && request.kind == Kind::Read {
            work = Work::Read;
        }
        self.heal(&request);
        let list = [request.range];
        let extents = if work == Work::Flush { &[][..] } else { &list[..] };
        let mut took = self.device.batch(at, &Batch { work, extents, ..*batch });
        took.unread = unread;
        if took.stop == Stop::Done {
            // What was not carried out has failed, and is over.
            took.done = extent.count;
        }
        if end == End::ReadOnly {
            took.stop = Stop::Dead(EndOfLife::SpareExhausted);
            took.done = took.done.min(extent.count - rest.count);
        }
        took
    }
}

/// Sectors of a batch that fail are left out, as of requests. A batch of reads names them; nothing else of a batch has a status.
impl<D: Living> Living for Fault<D> {
    live_on!(device: now go_on work pass prefetch counters members power_off power_on);

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let fits = batch.extents.iter().all(|extent| extent.lies_within(self.device.capacity()));
        if self.is_harmless() || !fits {
            let took = self.device.batch(at, batch);
            if batch.work != Work::ReadToModify {
                let requests = if batch.work == Work::Flush { 1 } else { batch.extents.len() as u64 };
                self.submitted += requests;
                self.submitted_by_kind[batch.work.kind() as usize] += requests;
            }
            return took;
        }
        if batch.work == Work::Flush {
            return self.batch_one(at, batch, SectorRange::EMPTY);
        }
        let mut all = Took::new(Sectors::ZERO, Stop::Done);
        for (number, extent) in batch.extents.iter().enumerate() {
            // What is only counted comes once.
            let tally = if number == 0 { batch.tally } else { Tally::default() };
            let took = self.batch_one(at, &Batch { tally, ..*batch }, *extent);
            all.done += took.done;
            all.unread.extend(took.unread);
            all.stop = took.stop;
            if took.stop != Stop::Done {
                break;
            }
        }
        all
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(Fault {
            device: self.device.another(),
            forever: self.forever.clone(),
            until_written: self.until_written.clone(),
            rotten: self.rotten.clone(),
            effects: self.effects.clone(),
            effects_by_kind: self.effects_by_kind.clone(),
            submitted: self.submitted,
            submitted_by_kind: self.submitted_by_kind,
            patches: self.patches.clone(),
            notices: self.notices.clone(),
            condition: self.condition,
        })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("fault.forever", &mut self.forever)?;
        archive.field("fault.until-written", &mut self.until_written)?;
        archive.field("fault.rotten", &mut self.rotten)?;
        archive.field("fault.effects", &mut self.effects)?;
        archive.field("fault.effects-by-kind", &mut self.effects_by_kind)?;
        archive.field("fault.submitted", &mut self.submitted)?;
        archive.fixed("fault.submitted-by-kind", &mut self.submitted_by_kind)?;
        archive.field("fault.patches", &mut self.patches)?;
        archive.field("fault.notices", &mut self.notices)?;
        archive.field("fault.condition", &mut self.condition)?;
        self.device.archive(archive)
    }
}
