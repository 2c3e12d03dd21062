//! A drive that may shrink, below the map of its host: addresses stay, and the map answers what the drive wants.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{
    Batch, BlockDevice, Completion, CompletionQueue, Extent, ExtentState, Features, Kind, Living, Notice, NoticeKind,
    Passing, PowerError, RangeSet, Recovered, Request, RequestId, Resize, SectorRange, Status, Stop, Timed, Took,
    Wanted, Work, all_extents, check_peek,
};
use wane_results::{Counters, EndCause};
use wane_ssd::Drive;
use wane_units::{EndOfLife, Fate, Lba, Sectors, SimTime};

use super::{HostSpace, RELOCATIONS_PER_PAUSE};

/// Sectors of a host, and where they lie on the drive; `None` if nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Piece {
    host: SectorRange,
    start: Option<Lba>,
}

impl Piece {
    /// Where it lies on the drive.
    fn there(&self) -> Option<SectorRange> {
        self.start.map(|start| SectorRange::new(start, self.host.count))
    }

    /// The sectors of the host that are these of the drive, as far as they are its own.
    fn host_of(&self, there: SectorRange) -> Option<SectorRange> {
        let own = self.there()?.intersection(there);
        let from = Lba(self.host.start.0 + own.start.0.saturating_sub(self.start?.0));
        Some(SectorRange::new(from, own.count)).filter(|host| !host.is_empty())
    }
}

/// A request that is under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    at: SimTime,
    kind: Kind,
    range: SectorRange,
    waits: usize,
    ended: SimTime,
    failed: Vec<SectorRange>,
    worst: Status,
    bytes: Option<Vec<u8>>,
}

/// What an answer to the drive has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Settling {
    /// Whether space was given up, so that what lies in it moves.
    gave: bool,
    relocated: u32,
    /// Whether it paused between two relocations, and not the drive in its work.
    is_between: bool,
}

/// See the head of this file. A host sees as many sectors as the new drive has; pages that it never wrote take no room, and a write that finds
/// none is refused as one without space.
#[derive(Clone)]
pub(crate) struct Space {
    drive: Drive,
    map: HostSpace,
    unit: Sectors,
    capacity: Sectors,
    settling: Option<Settling>,
    /// Why the drive cannot go on, as results name it.
    cause: Option<EndCause>,
    next_id: u64,
    open: BTreeMap<RequestId, Open>,
    children: BTreeMap<RequestId, (RequestId, Piece)>,
    ended: CompletionQueue,
    notices: Vec<Notice>,
}

impl Space {
    pub(crate) fn new(drive: Drive, map: HostSpace) -> Self {
        let unit = Sectors(u64::from(drive.unit_bytes()) / Sectors::SIZE.0);
        let capacity = Sectors(u64::from(drive.logical_initial()) * unit.0);
        Self {
            drive,
            map,
            unit,
            capacity,
            settling: None,
            cause: None,
            next_id: 0,
            open: BTreeMap::new(),
            children: BTreeMap::new(),
            ended: CompletionQueue::new(),
            notices: Vec::new(),
        }
    }

    pub(crate) const fn drive(&self) -> &Drive {
        &self.drive
    }

    pub(crate) const fn drive_mut(&mut self) -> &mut Drive {
        &mut self.drive
    }

    pub(crate) const fn map(&self) -> &HostSpace {
        &self.map
    }

    pub(crate) fn into_drive(self) -> Drive {
        self.drive
    }

    /// Why it cannot go on.
    pub(crate) fn cause(&self, cause: EndOfLife) -> EndCause {
        self.cause.unwrap_or_else(|| self.map.cause(cause))
    }

    /// The drive's unit of a page; `None` if it has none.
    pub(crate) fn slot(&self, page: u32) -> Option<u32> {
        let mut slot = vec![page];
        self.map.find(&mut slot);
        slot.first().copied()
    }

    /// Answers what the drive asks, until it is done, pauses or dies.
    pub(crate) fn settle(&mut self, mut stopped: Stop) -> Stop {
        if stopped == Stop::Done && self.settling.is_none() {
            return Stop::Done;
        }
        let mut state = self.settling.take().unwrap_or_default();
        loop {
            stopped = match stopped {
                Stop::Wants(wanted) => {
                    if let Err(cause) = self.map.give_up(&mut self.drive, wanted) {
                        return self.dead(cause);
                    }
                    state.gave = true;
                    self.go_on_below(stopped)
                }
                Stop::Done => {
                    if !state.gave {
                        return Stop::Done;
                    }
                    state.relocated += 1;
                    if state.relocated.is_multiple_of(RELOCATIONS_PER_PAUSE) && !state.is_between {
                        self.settling = Some(Settling { is_between: true, relocated: state.relocated - 1, ..state });
                        return Stop::Paused;
                    }
                    state.is_between = false;
                    match self.map.relocate_one(&mut self.drive) {
                        Ok(Some(stopped)) => stopped,
                        Ok(None) => break,
                        Err(cause) => return self.dead(cause),
                    }
                }
                Stop::Paused => {
                    self.settling = Some(state);
                    return Stop::Paused;
                }
                Stop::Dead(cause) => return self.dead(self.map.cause(cause)),
                over => return over,
            };
        }
        self.map.shrink(&mut self.drive);
        Stop::Done
    }

    /// What the drive did for its host's map takes time, if there is a clock.
    fn close_own(&mut self) {
        if let Some(time) = self.drive.timed() {
            time.close_own();
        }
    }

    fn dead(&mut self, cause: EndCause) -> Stop {
        self.cause = Some(cause);
        Stop::Dead(self.drive.end_of_life().unwrap_or(EndOfLife::NoFreeBlock))
    }

    fn go_on_below(&mut self, after: Stop) -> Stop {
        let now = Living::now(&self.drive);
        Living::go_on(&mut self.drive, now, after)
    }

    /// The pages that a range touches.
    fn pages(&self, range: SectorRange) -> std::ops::Range<u32> {
        let end = range.start.0 + range.count.0;
        (range.start.0 / self.unit.0) as u32..end.div_ceil(self.unit.0) as u32
    }

    /// The part of a range that lies in a page.
    fn within(&self, range: SectorRange, page: u32) -> SectorRange {
        range.intersection(SectorRange::new(Lba(u64::from(page) * self.unit.0), self.unit))
    }

    /// Cuts a range at places where what follows lies elsewhere; `find` says where a page lies.
    fn pieces(&mut self, range: SectorRange, mut find: impl FnMut(&mut Self, u32) -> Option<u32>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for page in self.pages(range) {
            let host = self.within(range, page);
            let offset = host.start.0 - u64::from(page) * self.unit.0;
            let start = find(self, page).map(|slot| Lba(u64::from(slot) * self.unit.0 + offset));
            if let Some(last) = pieces.last_mut()
                && last.there().and_then(SectorRange::end) == start
                && last.start.is_some() == start.is_some()
            {
                last.host.count += host.count;
                continue;
            }
            pieces.push(Piece { host, start });
        }
        pieces
    }

    /// Where a page is written. It takes room if it had none.
    fn take(&mut self, page: u32) -> Option<u32> {
        let mut slot = [page];
        let placed = self.map.take(&mut slot);
        self.map.written(&[page], placed);
        (placed == 1).then_some(slot[0])
    }

    /// Gives up a page; `None` if it lay nowhere.
    fn release(&mut self, page: u32) -> Option<u32> {
        let mut slot = vec![page];
        self.map.release(&mut slot);
        slot.first().copied()
    }

    /// Where the sectors of a request lie. What it writes takes room, what it trims whole gives it back.
    fn placed(&mut self, kind: Kind, range: SectorRange, may_unmap: bool) -> Vec<Piece> {
        let gives_back = kind == Kind::Trim || (kind == Kind::WriteZeroes && may_unmap);
        let is_whole = |space: &Self, page: u32| space.within(range, page).count == space.unit;
        self.pieces(range, |space, page| match kind {
            _ if gives_back && is_whole(space, page) => space.release(page),
            _ if gives_back => space.slot(page),
            Kind::Write | Kind::WriteZeroes => space.take(page),
            _ => space.slot(page),
        })
    }

    /// Answers what the drive asked for by notices, and passes them on.
    fn answer(&mut self) {
        let mut told = Vec::new();
        self.drive.notices(&mut told);
        for notice in told {
            match notice.kind {
                NoticeKind::CapacityWanted { to: sectors, .. } => {
                    self.notices.push(notice);
                    self.give_back(Wanted::AtMost(sectors));
                }
                NoticeKind::MappedLimitChanged(_) => self.notices.push(notice),
                _ => {}
            }
        }
    }

    /// Gives space back beside requests. What the drive does for that takes time, if there is a clock.
    fn give_back(&mut self, wanted: Wanted) {
        let before = self.drive.keeps_detail();
        let is_timed = self.drive.timed().is_some();
        self.drive.keep_detail(before || is_timed);
        let mut stopped = self.settle(Stop::Wants(wanted));
        while stopped == Stop::Paused {
            stopped = self.after_pause();
        }
        self.close_own();
        self.drive.keep_detail(before);
        if self.drive.may_lose_buffers() {
            // What moved is made durable; nobody waits for that.
            let now = Living::now(&self.drive);
            self.drive.submit(now, Request::flush());
        }
    }

    fn after_pause(&mut self) -> Stop {
        let is_between = self.settling.is_some_and(|settling| settling.is_between);
        let stopped = if is_between { Stop::Done } else { self.go_on_below(Stop::Paused) };
        self.settle(stopped)
    }

    /// Takes note of what the drive completed.
    fn absorb(&mut self, completion: Completion) {
        let Some((parent, piece)) = self.children.remove(&completion.id) else { return };
        let Some(open) = self.open.get_mut(&parent) else { return };
        if let (Some(bytes), Some(read)) = (&mut open.bytes, &completion.bytes) {
            let from = SectorRange::between(open.range.start, piece.host.start).len_bytes();
            bytes[from..from + read.len()].copy_from_slice(read);
        }
        if !completion.status.is_done() {
            open.failed.extend(completion.status.failed().iter().filter_map(|there| piece.host_of(*there)));
            let worst = std::mem::replace(&mut open.worst, Status::Done);
            open.worst = if worst.is_done() { completion.status } else { worst };
        }
        open.ended = open.ended.max(completion.at);
        open.waits -= 1;
        if open.waits == 0
            && let Some(open) = self.open.remove(&parent)
        {
            self.end(parent, open);
        }
    }

    /// Hands the host the end of its request.
    fn end(&mut self, id: RequestId, open: Open) {
        let Open { at, kind, range, ended, failed, worst, bytes, .. } = open;
        let mut set = RangeSet::new();
        failed.into_iter().for_each(|range| set.insert(range));
        let named: Vec<SectorRange> = if kind == Kind::Flush { Vec::new() } else { set.within(range).collect() };
        let status = match worst {
            Status::MediumError(_) => Status::MediumError(named),
            Status::NoSpace(_) => Status::NoSpace(named),
            Status::ReadOnly(_) => Status::ReadOnly(named),
            Status::Gone(_) => Status::all_gone(range),
            other => other,
        };
        let has_bytes = matches!(status, Status::Done | Status::MediumError(_));
        let bytes = bytes.filter(|_| has_bytes);
        self.ended.push(Completion { id, submitted_at: at, at: ended, kind, range, status, bytes });
    }

    fn run_to(&mut self, until: SimTime) {
        let mut out = Vec::new();
        self.drive.complete(until, &mut out);
        out.into_iter().for_each(|completion| self.absorb(completion));
    }

    /// Submits what a request asks of the drive.
    fn ask(&mut self, parent: RequestId, at: SimTime, piece: Piece, request: &Request, bytes: Option<Vec<u8>>) {
        let there = piece.there().filter(|_| request.kind != Kind::Flush);
        let range = there.unwrap_or(SectorRange::EMPTY);
        let Request { kind, flags, origin, stream, .. } = *request;
        let asked = Request { kind, range, source: SectorRange::EMPTY, flags, origin, stream, bytes };
        let id = self.drive.submit(at, asked);
        self.children.insert(id, (parent, piece));
        if let Some(open) = self.open.get_mut(&parent) {
            open.waits += 1;
        }
    }

    /// Hands the drive a part of a batch, whose pieces have their places. Returns how many sectors are done.
    fn batch_placed(&mut self, at: SimTime, batch: &Batch<'_>, pieces: &[Piece]) -> Took {
        let extents: Vec<SectorRange> = pieces.iter().filter_map(Piece::there).collect();
        let mut took = self.drive.batch(at, &Batch { extents: &extents, ..*batch });
        let host_of = |there: &SectorRange| pieces.iter().filter_map(|piece| piece.host_of(*there)).collect::<Vec<_>>();
        took.unread = took.unread.iter().flat_map(host_of).collect();
        took
    }

    /// Writes what is left of a batch, as far as there is room.
    fn write_some(&mut self, at: SimTime, batch: &Batch<'_>) -> (Took, bool) {
        if !self.map.shrank() {
            let took = self.drive.batch(at, batch);
            let mut left = took.done;
            for extent in batch.extents {
                let part = extent.first(left.min(extent.count));
                left = left - part.count;
                self.pages(part).filter(|_| !part.is_empty()).for_each(|page| self.map.note(page));
            }
            return (took, true);
        }
        let mut pages: Vec<u32> = Vec::with_capacity(batch.extents.len());
        let mut parts: Vec<SectorRange> = Vec::with_capacity(batch.extents.len());
        for extent in batch.extents {
            for page in self.pages(*extent) {
                pages.push(page);
                parts.push(self.within(*extent, page));
            }
        }
        let mut slots = pages.clone();
        let placed = self.map.take(&mut slots);
        let unit = self.unit.0;
        let there = |number: usize| {
            let offset = parts[number].start.0 - u64::from(pages[number]) * unit;
            SectorRange::new(Lba(u64::from(slots[number]) * unit + offset), parts[number].count)
        };
        let extents: Vec<SectorRange> = (0..placed).map(there).collect();
        let took = self.drive.batch(at, &Batch { extents: &extents, ..*batch });
        let (mut done, mut sum) = (0, Sectors::ZERO);
        while done < placed && sum + parts[done].count <= took.done {
            sum += parts[done].count;
            done += 1;
        }
        self.map.written(&pages, done);
        (took, placed == pages.len())
    }

    /// Writes a batch, and answers what the drive wants meanwhile.
    fn write_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let all = batch.extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.count);
        let (mut took, mut fits) = self.write_some(at, batch);
        loop {
            took.stop = match std::mem::replace(&mut took.stop, Stop::Done) {
                Stop::Done if took.done < all && !fits => self.dead(EndCause::FootprintDoesNotFit),
                stopped => self.settle(stopped),
            };
            if took.stop != Stop::Done || took.done == all {
                return took;
            }
            let rest = wane_blockdev::rest_of(batch.extents, took.done);
            let tally = wane_blockdev::Tally::default();
            let (more, more_fits) = self.write_some(at, &Batch { extents: &rest, tally, ..*batch });
            took.done += more.done;
            (took.stop, fits) = (more.stop, more_fits);
        }
    }

    /// Whether requests are under way, or anything else that a host at rest does not have.
    pub(crate) fn is_under_way(&self) -> bool {
        let is_told = self.open.is_empty() && self.children.is_empty() && self.ended.next_at().is_none();
        let is_new = self.next_id == 0 && self.notices.is_empty() && self.settling.is_none();
        let capacity = Sectors(u64::from(self.drive.logical_initial()) * self.unit.0);
        !(is_told && is_new && self.capacity == capacity)
    }

    /// Archives what pages are in use and where they lie.
    pub(crate) fn archive_map(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.map.archive(archive)
    }

    /// Archives what a host at rest does not have.
    pub(crate) fn archive_under_way(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("space.capacity", &mut self.capacity)?;
        archive.field("space.settling", &mut self.settling)?;
        archive.field("space.next-id", &mut self.next_id)?;
        archive.field("space.open", &mut self.open)?;
        archive.field("space.children", &mut self.children)?;
        archive.field("space.notices", &mut self.notices)?;
        self.ended.archive(archive)
    }
}

impl BlockDevice for Space {
    fn features(&self) -> Features {
        Features { remap: false, resize: Resize::Shrink, ..self.drive.features() }
    }

    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.run_to(at);
        let id = RequestId(self.next_id);
        self.next_id += 1;
        let Request { kind, range, .. } = request;
        let refused = request.check(&self.features(), self.capacity).err();
        let gone = || Status::all_gone(if kind == Kind::Flush { SectorRange::EMPTY } else { range });
        let told = refused.or_else(|| self.drive.is_off().then(gone));
        let keeps_bytes = self.drive.keeps_bytes();
        if told.is_some() || (kind != Kind::Flush && range.is_empty()) {
            let bytes = (told.is_none() && kind == Kind::Read && keeps_bytes).then(Vec::new);
            let status = told.unwrap_or(Status::Done);
            self.ended.push(Completion { id, submitted_at: at, at, kind, range, status, bytes });
            return id;
        }
        let pieces = match kind {
            Kind::Flush => vec![Piece { host: SectorRange::EMPTY, start: Some(Lba(0)) }],
            _ => self.placed(kind, range, request.flags.may_unmap),
        };
        let mut request = request;
        let given = request.bytes.take();
        let (written, read) = match kind {
            Kind::Read if keeps_bytes => {
                let mut buffer = given.unwrap_or_default();
                buffer.clear();
                buffer.resize(range.len_bytes(), 0);
                (None, Some(buffer))
            }
            Kind::Write => (given, None),
            _ => (None, None),
        };
        let nowhere = pieces.iter().filter(|piece| piece.start.is_none()).map(|piece| piece.host);
        let lacks = if matches!(kind, Kind::Write | Kind::WriteZeroes) { nowhere.collect() } else { Vec::new() };
        let worst = if lacks.is_empty() { Status::Done } else { Status::NoSpace(Vec::new()) };
        // It waits for itself until all is asked.
        self.open.insert(id, Open { at, kind, range, waits: 1, ended: at, failed: lacks, worst, bytes: read });
        for piece in pieces.into_iter().filter(|piece| piece.start.is_some()) {
            let part = written.as_ref().map(|all| {
                let from = SectorRange::between(range.start, piece.host.start).len_bytes();
                all[from..from + piece.host.len_bytes()].to_vec()
            });
            self.ask(id, at, piece, &request, part);
        }
        if let Some(open) = self.open.get_mut(&id) {
            open.waits -= 1;
            if open.waits == 0
                && let Some(open) = self.open.remove(&id)
            {
                self.end(id, open);
            }
        }
        self.answer();
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        let below = if self.open.is_empty() { None } else { self.drive.next_event_at() };
        [self.ended.next_at(), below].into_iter().flatten().min()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.run_to(until);
        self.ended.pop_until(until, out);
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.run_to(at);
        if self.drive.is_off() {
            return Status::Gone(Vec::new());
        }
        if let Err(status) = wane_blockdev::check_capacity(&self.features(), self.capacity, self.capacity, capacity) {
            return status;
        }
        if capacity == self.capacity {
            return Status::Done;
        }
        // The last unit may keep a part.
        let kept = Sectors(capacity.0.div_ceil(self.unit.0) * self.unit.0).min(self.capacity);
        let given_up = SectorRange::between(Lba(kept.0), Lba(self.capacity.0));
        let pieces = self.placed(Kind::Trim, given_up, true);
        self.batch_placed(at, &Batch::new(Work::Trim, &[]), &pieces);
        self.capacity = capacity;
        self.notices.push(Notice { at, kind: NoticeKind::CapacityChanged(capacity) });
        self.give_back(Wanted::AtMost(capacity));
        Status::Done
    }

    /// No more than the drive offers, since its map puts a page where there is room.
    fn mapped_limit(&self) -> Sectors {
        self.drive.mapped_limit().min(self.capacity)
    }

    fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        self.run_to(at);
        let status = if limit > self.capacity { Status::OutOfRange } else { self.drive.set_mapped_limit(at, limit) };
        self.answer();
        status
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.notices);
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        check_peek(&self.features(), self.capacity, range, bytes).filter(|()| !self.drive.is_off())?;
        let (mut lost, mut from) = (Vec::new(), 0);
        for page in if range.is_empty() { 0..0 } else { self.pages(range) } {
            let host = self.within(range, page);
            let out = &mut bytes[from..from + host.len_bytes()];
            from += host.len_bytes();
            let Some(slot) = self.slot(page).filter(|slot| *slot < self.drive.exported()) else {
                out.fill(0);
                continue;
            };
            let offset = host.start.0 - u64::from(page) * self.unit.0;
            let there = SectorRange::new(Lba(u64::from(slot) * self.unit.0 + offset), host.count);
            let piece = Piece { host, start: Some(there.start) };
            let told = self.drive.peek(there, out)?;
            told.into_iter().filter_map(|gone| piece.host_of(gone)).for_each(|gone| gone.push_to(&mut lost));
        }
        Some(lost)
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        /// Most pages of which one call tells the state, once they are looked up.
        const TOLD_MAX: u32 = 1 << 12;
        let range = range.intersection(SectorRange::new(Lba(0), self.capacity));
        if !self.map.shrank() {
            return self.drive.extents(range, out);
        }
        let pages = self.pages(range);
        for page in pages.start..pages.end.min(pages.start.saturating_add(TOLD_MAX)) {
            let host = self.within(range, page);
            let Some(slot) = self.slot(page).filter(|slot| *slot < self.drive.exported()) else {
                out.push(Extent { range: host, state: ExtentState::Hole });
                continue;
            };
            let offset = host.start.0 - u64::from(page) * self.unit.0;
            let there = SectorRange::new(Lba(u64::from(slot) * self.unit.0 + offset), host.count);
            let (piece, mut told) = (Piece { host, start: Some(there.start) }, Vec::new());
            all_extents(&self.drive, there, &mut told);
            let of_host = |extent: Extent| Some(Extent { range: piece.host_of(extent.range)?, ..extent });
            out.extend(told.into_iter().filter_map(of_host));
        }
    }
}

impl Living for Space {
    fn now(&self) -> SimTime {
        Living::now(&self.drive)
    }

    #[inline]
    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        if self.drive.is_off() {
            return Took::new(Sectors::ZERO, Stop::Gone);
        }
        if batch.work != Work::Flush && !batch.extents.iter().all(|extent| extent.lies_within(self.capacity)) {
            return Took::new(Sectors::ZERO, Stop::OutOfRange);
        }
        let all = batch.extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.count);
        match batch.work {
            Work::Write | Work::Rewrite if !batch.extents.is_empty() => self.write_batch(at, batch),
            Work::Read | Work::ReadToModify if self.map.shrank() => {
                let pieces: Vec<Piece> = batch
                    .extents
                    .iter()
                    .flat_map(|extent| self.pieces(*extent, |space, page| space.slot(page)))
                    .collect();
                let lacking = pieces.iter().filter(|piece| piece.start.is_none());
                let missing: u64 = lacking.map(|piece| piece.host.count.0.div_ceil(self.unit.0)).sum();
                let mut tally = batch.tally;
                if batch.work == Work::Read {
                    tally.units_unmapped += missing;
                }
                let took = self.batch_placed(at, &Batch { tally, ..*batch }, &pieces);
                Took { done: all, ..took }
            }
            Work::Trim => {
                let pieces: Vec<Piece> =
                    batch.extents.iter().flat_map(|extent| self.placed(Kind::Trim, *extent, true)).collect();
                let took = self.batch_placed(at, batch, &pieces);
                let stop = self.settle(took.stop);
                Took { done: all, stop, unread: took.unread }
            }
            _ => {
                let took = self.drive.batch(at, batch);
                let stop = self.settle(took.stop);
                Took { stop, ..took }
            }
        }
    }

    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
        self.run_to(at);
        match after {
            _ if self.drive.is_off() => Stop::Gone,
            Stop::Paused => self.after_pause(),
            Stop::Wants(_) => self.settle(after),
            over => over,
        }
    }

    fn work(&mut self, at: SimTime) -> Option<Stop> {
        let stopped = Living::work(&mut self.drive, at)?;
        Some(self.settle(stopped))
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        let end = self.drive.pass(at, time);
        self.run_to(end);
        if !self.drive.is_off() {
            self.answer();
        }
        end
    }

    fn prefetch(&self, sector: Lba) {
        Living::prefetch(&self.drive, sector);
    }

    fn counters(&self) -> &Counters {
        Living::counters(&self.drive)
    }

    fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn Living)) {
        each(&self.drive);
    }

    fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
        let now = Living::now(&self.drive);
        self.run_to(now);
        each(&mut self.drive);
        let now = Living::now(&self.drive);
        self.run_to(now);
        if !self.drive.is_off() {
            self.answer();
        }
    }

    fn timed(&mut self) -> Option<&mut dyn Timed> {
        self.drive.timed()
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.run_to(at);
        self.drive.power_off(at, fate);
        self.run_to(at);
        self.settling = None;
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        Living::power_on(&mut self.drive, at)
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.drive.archive(archive)?;
        self.archive_map(archive)?;
        self.archive_under_way(archive)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
