//! The drive as a block device.
//!
//! A request never waits for its host. Where the drive wants capacity back, it posts a notice and goes on while a free block is
//! left. Units that find no space complete as *no space*.
//!
//! A drive that died reads on, and so does what its map alone can do: trims of whole units and remaps. What needs a program
//! completes as *read-only*. If the drive waits for capacity back, it is full rather than dead, and such requests complete as *no
//! space*: with that capacity it may live on.
//!
//! The clock of a drive ends after 2^64 ns. The first request whose operations might not end by then is carried out and completes
//! at the last instant; later requests are refused.

use std::ops::Range;

use wane_blockdev::{
    BlockDevice, Completion, Extent, ExtentState, Features, Kind, Notice, NoticeKind, Origin as Asked, Request,
    RequestId, Resize, SectorRange, Served, Status, UnitSplit, Unsupported, check_capacity, check_peek,
};
use wane_ftl::{EndOfLife, Origin, Outcome, ZEROS};
use wane_units::{Lba, Lpn, Nanos, Sectors, SimTime};

use crate::drive::{BREAKDOWNS_MAX, Drive, Front, GO, Scratch};
use crate::{Breakdown, CLOCK_MAX_NS, Clock, CommandKind};

/// Bytes of a sector.
const SECTOR: usize = 512;

/// Units handed to the firmware at once, and looked at for extents in one call.
const UNITS_AT_ONCE: u32 = 1 << 16;

/// What became of the units of a request.
#[derive(Default)]
struct Failed {
    /// Units that were not read or not rewritten.
    medium: Vec<Lpn>,
    /// Units that would hold data beyond the limit.
    beyond: Vec<Lpn>,
    /// The first unit that was not written for want of space or because the drive died; none after it was.
    unwritten: Option<Lpn>,
}

/// The units that a request covers in part, each with its bytes that the request does not cover.
type Ends = [Option<(Lpn, u64)>; 2];

impl Drive {
    /// Where the time of a request went. Known for the last few thousand requests that are over.
    pub fn breakdown(&self, id: RequestId) -> Option<Breakdown> {
        let found = self.front.breakdowns.iter().rev().find(|(known, _)| *known == id);
        found.map(|(_, breakdown)| *breakdown)
    }

    /// The instant up to which the drive ran as a block device.
    pub fn now(&self) -> SimTime {
        self.front.now
    }

    /// Number of units of which a write covered only a part, so that the rest was read first.
    pub fn read_modify_writes(&self) -> u64 {
        self.counters().units_written_in_part
    }

    /// Formats the drive with another logical sector, of 1 sector of 512 bytes or of 8, as NVMe's Format does; contents stay. Writes that cover units
    /// in part read the rest first. It is not saved.
    ///
    /// # Panics
    /// The mapping unit is no multiple of it.
    pub fn format(&mut self, sector: Sectors) {
        assert!(sector.0 > 0 && self.front.unit.0.is_multiple_of(sector.0), "a unit is of whole logical sectors");
        self.front.sector = sector;
    }

    /// Units that hold sectors of a range.
    pub fn units_of(&self, range: SectorRange) -> impl Iterator<Item = Lpn> + use<> {
        self.units(range).map(Lpn)
    }

    /// Lets `budget` pass without requests, in which the scrubber makes one step after the other. Returns the number of its
    /// steps.
    ///
    /// A step takes no time on a drive without a clock. Such a drive makes steps while there is something to do, at most one a
    /// block.
    pub fn idle(&mut self, budget: Nanos) -> u64 {
        let end = self.front.now.saturating_add(budget);
        let blocks = u64::from(self.layout().blocks());
        let (mut steps, mut idle) = (0, 0);
        // A policy inspects a few blocks a step: stop after as many idle steps in a row as there are blocks.
        while self.scrubs() && idle < blocks && (self.clock.is_some() || steps < blocks) && !self.clock_has_ended() {
            if self.clock.as_ref().is_none_or(Clock::scrub_is_through) {
                let acted = self.scrub_once();
                (steps, idle) = if acted { (steps + 1, 0) } else { (steps, idle + 1) };
                continue;
            }
            let next = self.clock.as_ref().and_then(|clock| clock.scheduler().next_work_at()).map(SimTime);
            match next.filter(|next| *next <= end) {
                Some(next) => self.run_to(next),
                None => break,
            }
        }
        self.run_to(end);
        steps
    }

    /// Makes one step of the scrubber, with all that follows from it. Returns whether there was one.
    fn scrub_once(&mut self) -> bool {
        let Some(outcome) = self.scrub() else { return false };
        self.settle(outcome);
        self.commit_background();
        true
    }

    /// Runs the clock, if there is one, to `at`, and keeps what completes.
    pub(crate) fn run_to(&mut self, at: SimTime) {
        assert!(at >= self.front.now, "time went back from {} to {at}", self.front.now);
        self.front.now = at;
        let Some(clock) = self.clock.as_mut().filter(|_| self.off.is_none()) else { return };
        let front = &mut self.front;
        // Everything ends within the clock's time. To wait for longer meets all of it and does not end the clock.
        clock.arrive_at(at.0.min(CLOCK_MAX_NS), &GO, &mut |completion| {
            front.settle(completion);
        });
        clock.pass();
        self.follow_clock();
    }

    /// Whether the drive has a clock, and a request that comes now could no longer end in time.
    fn clock_has_ended(&self) -> bool {
        let over = self.clock.as_ref().is_some_and(Clock::is_over);
        over || (self.clock_spec().is_some() && self.front.now.0 > CLOCK_MAX_NS)
    }

    /// Starts the clock or wakes the drive, if requests need it.
    fn prepare(&mut self, at: SimTime) {
        if self.clock.is_some() {
            return self.wake();
        }
        match self.clock_spec().cloned() {
            Some(spec) => {
                self.start_clock(&spec).expect("the clock was checked when the drive was built");
                // What ran before the clock started took no time.
                self.run_to(at);
            }
            None if self.may_err() => self.wake(),
            None => {}
        }
    }

    /// The status of a request that is refused.
    fn refusal(&self, request: &Request) -> Option<Status> {
        match request.check(&self.features(), self.front.capacity) {
            _ if self.is_off() => Some(Status::all_gone(request.range)),
            Ok(()) if self.clock_has_ended() => Some(Status::Unsupported(Unsupported::ClockEnd)),
            Ok(()) => None,
            Err(status) => Some(status),
        }
    }

    /// Does what a request asks, at once.
    fn execute(&mut self, request: &Request) -> Status {
        let range = request.range;
        let is_forced = request.flags.fua && request.kind.changes_contents() && !range.is_empty();
        if is_forced && self.keeps_undurable() {
            return Status::ReadOnly(vec![range]);
        }
        let status = match request.kind {
            Kind::Read => self.read(range),
            Kind::Write => self.write(range, request),
            Kind::WriteZeroes if request.flags.may_unmap => {
                self.trim(range);
                self.zero_ends(range, request)
            }
            Kind::WriteZeroes => self.write(range, request),
            Kind::Trim => {
                self.trim(range);
                if self.keeps_bytes() { self.zero_ends(range, request) } else { Status::Done }
            }
            Kind::Flush => {
                let outcome = self.flush_batch();
                self.settle(outcome);
                if self.keeps_undurable() { Status::ReadOnly(Vec::new()) } else { Status::Done }
            }
            Kind::Remap => self.remap_sectors(range, request.source),
        };
        if !is_forced {
            return status;
        }
        let outcome = self.flush_firmware();
        self.settle(outcome);
        if self.keeps_undurable() { Status::ReadOnly(vec![range]) } else { status }
    }

    /// Whether the drive died and what it holds in buffers can no longer be programmed.
    fn keeps_undurable(&self) -> bool {
        self.end_of_life().is_some() && self.may_lose_buffers()
    }

    /// Whether the drive takes no writes any more, whatever its host gives up.
    pub fn is_worn_out(&self) -> bool {
        match self.end_of_life() {
            Some(EndOfLife::NoFreeBlock | EndOfLife::NoVictim) => self.front.wanted.is_none(),
            Some(EndOfLife::SpareExhausted) => true,
            None => false,
        }
    }

    /// The status of a request of which these sectors were not written.
    fn unwritten(&self, sectors: Vec<SectorRange>) -> Status {
        if self.is_worn_out() { Status::ReadOnly(sectors) } else { Status::NoSpace(sectors) }
    }

    /// The command by which a request is timed. Commits operations that are not part of it.
    fn command(&mut self, request: &Request) -> CommandKind {
        let is_write = match request.kind {
            Kind::Read => return CommandKind::Read,
            Kind::Flush => return self.flush_kind(),
            Kind::WriteZeroes => !request.flags.may_unmap,
            kind => kind == Kind::Write,
        };
        let caches = || self.clock_spec().is_some_and(|spec| spec.config.write_cache.is_some());
        let waits = match request.kind {
            // Room in the remap log was made by programs, which come first.
            Kind::Remap => self.flash().is_some_and(|flash| !flash.ops().is_empty()),
            // A write without a cache waits for its own programs. The cache does not, and the records of trims are in pages of the
            // metadata area, which are not the host's operations.
            _ => request.flags.fua && self.may_lose_buffers() && (!is_write || caches()),
        };
        if waits {
            self.commit_background();
            return CommandKind::Flush;
        }
        if is_write { CommandKind::Write } else { CommandKind::Trim }
    }

    /// Remaps whole units. If the remap log has no room for them, none is.
    fn remap_sectors(&mut self, to: SectorRange, from: SectorRange) -> Status {
        let unit = self.front.unit.0;
        let units = |range: SectorRange| ((range.start.0 / unit) as u32, (range.count.0 / unit) as u32);
        let ((to_first, to_units), (from_first, from_units)) = (units(to), units(from));
        let held = self.mapped_without(Lpn::all(to_first..to_first + to_units));
        match self.remap(Lpn(to_first), Lpn(from_first), to_units, from_units) {
            Ok(_) => {
                self.front.mapped = held;
                Status::Done
            }
            Err(_) if to.is_empty() => Status::Done,
            Err(_) => self.unwritten(vec![to]),
        }
    }

    /// Writes zeros to the parts of units that `range` covers only in part.
    fn zero_ends(&mut self, range: SectorRange, request: &Request) -> Status {
        let mut status = Status::Done;
        for end in UnitSplit::new(range, self.front.unit).ragged_ends() {
            if self.lookup(self.unit_of(end)).is_some() {
                status = status.join(self.write(end, request));
            }
        }
        status
    }

    /// The bytes that a read of `range` brought, with zeros for sectors that could not be read, in the buffer that it lent.
    fn bytes_read(&self, range: SectorRange, buffer: Option<Vec<u8>>, status: &Status) -> Vec<u8> {
        let mut out = buffer.unwrap_or_default();
        out.clear();
        out.reserve(range.len_bytes());
        for lpn in self.units(range).map(Lpn) {
            let (_, within) = self.part(lpn, range);
            self.append_seen(lpn, within, &mut out);
        }
        for failed in status.failed() {
            let from = (failed.start.0 - range.start.0) as usize * SECTOR;
            out[from..from + failed.len_bytes()].fill(0);
        }
        out
    }

    /// The sectors of a unit in `range`, and their bytes within the unit.
    fn part(&self, lpn: Lpn, range: SectorRange) -> (SectorRange, Range<usize>) {
        let sectors = SectorRange::new(Lba(u64::from(lpn.0) * self.front.unit.0), self.front.unit);
        let part = sectors.intersection(range);
        let from = (part.start.0 - sectors.start.0) as usize * SECTOR;
        (part, from..from + part.len_bytes())
    }

    /// Takes handles to the contents of the units after a request wrote `range`.
    fn take_handles(&mut self, scratch: &mut Scratch, range: SectorRange, request: &Request) {
        let Scratch { units, handles, pristine, seen } = scratch;
        handles.clear();
        for lpn in units.iter() {
            let (part, within) = self.part(*lpn, range);
            let bytes = request.bytes.as_ref().map(|bytes| {
                let from = (part.start.0 - request.range.start.0) as usize * SECTOR;
                &bytes[from..from + part.len_bytes()]
            });
            handles.push(match bytes {
                _ if part.count < self.front.unit => self.keep_part((*lpn, within), bytes, pristine, seen),
                Some(bytes) => self.keep(bytes),
                None => ZEROS,
            });
        }
    }

    /// The unit that holds the first sector of a range.
    fn unit_of(&self, range: SectorRange) -> Lpn {
        Lpn((range.start.0 / self.front.unit.0) as u32)
    }

    /// Units that a range touches.
    fn units(&self, range: SectorRange) -> Range<u32> {
        let unit = self.front.unit.0;
        let (first, end) = (range.start.0 / unit, (range.start.0 + range.count.0).div_ceil(unit));
        if range.is_empty() { 0..0 } else { first as u32..end as u32 }
    }

    fn read(&mut self, range: SectorRange) -> Status {
        let mut failed = Failed::default();
        let mut units = std::mem::take(&mut self.front.scratch.units);
        let touched = self.units(range);
        for piece in pieces(touched.clone()) {
            units.clear();
            units.extend(piece.map(Lpn));
            self.read_batch(&units).expect("a request in range asks for exported units");
            self.note_unread(&mut failed.medium);
        }
        units.clear();
        self.front.scratch.units = units;
        let around = u64::from(touched.end - touched.start) * self.front.unit.0 - range.count.0;
        self.count_read_around(around * SECTOR as u64);
        self.status(range, failed)
    }

    /// Reads the units that a write of `range` covers in part, since they are written whole. Those that cannot be read are added to
    /// `failed`.
    fn read_ends(&mut self, range: SectorRange, failed: &mut Vec<Lpn>) -> Ends {
        let split = UnitSplit::new(range, self.front.unit);
        [split.head, split.tail].map(|end| {
            if end.is_empty() {
                return None;
            }
            let unit = self.unit_of(end);
            self.read_to_modify(&[unit]).expect("a request in range asks for exported units");
            self.note_unread(failed);
            Some((unit, u64::from(self.unit_bytes()) - end.len_bytes() as u64))
        })
    }

    /// Writes all or some sectors of a request.
    fn write(&mut self, range: SectorRange, request: &Request) -> Status {
        if range.is_empty() {
            return Status::Done;
        }
        if self.is_worn_out() {
            return Status::ReadOnly(vec![range]);
        }
        let mut failed = Failed::default();
        // A unit that is covered in part is read first. If it cannot be read, it is not rewritten.
        let ends = self.read_ends(range, &mut failed.medium);
        let mut scratch = std::mem::take(&mut self.front.scratch);
        for piece in pieces(self.units(range)) {
            scratch.units.clear();
            scratch.units.extend(piece.map(Lpn));
            if !failed.medium.is_empty() {
                scratch.units.retain(|unit| !failed.medium.contains(unit));
            }
            let fresh = self.keep_within_limit(&mut scratch.units, &mut failed.beyond);
            let held = self.front.mapped.take();
            let done = self.write_units(&mut scratch, range, request);
            self.note_mapped(held, fresh, done == scratch.units.len());
            if !matches!(request.origin, Asked::FileSystemMove) {
                self.count_ends(&ends, &scratch.units[..done]);
            }
            failed.unwritten = scratch.units.get(done).copied();
            if failed.unwritten.is_some() {
                break;
            }
        }
        scratch.units.clear();
        self.front.scratch = scratch;
        self.status(range, failed)
    }

    /// Writes units. Returns how many were written.
    fn write_units(&mut self, scratch: &mut Scratch, range: SectorRange, request: &Request) -> usize {
        let hint = request.stream.map(|hint| hint.0);
        let origin = match request.origin {
            Asked::FileSystemMove => Origin::FileSystemMove,
            _ => Origin::Host,
        };
        let keeps_bytes = self.keeps_bytes();
        if keeps_bytes {
            self.take_handles(scratch, range, request);
        }
        let (units, handles, mut done) = (&scratch.units, &scratch.handles, 0);
        while done < units.len() && !self.is_starved() {
            let (written, outcome) = if keeps_bytes {
                self.write_handles(origin, hint, &units[done..], &handles[done..])
            } else {
                self.write_from(origin, hint, &units[done..])
            };
            done += written;
            if !self.settle(outcome) {
                break;
            }
        }
        if keeps_bytes {
            self.give_up(&handles[done..]);
        }
        done
    }

    /// Counts those of the ends that are among the units written, which rise.
    fn count_ends(&mut self, ends: &Ends, written: &[Lpn]) {
        for (unit, around) in ends.iter().flatten() {
            if written.binary_search(unit).is_ok() {
                self.count_written_in_part(1, *around);
            }
        }
    }

    /// Whether the drive waits for capacity and has only its last free block. Without that block, nothing that the host gives up
    /// later could be collected.
    fn is_starved(&self) -> bool {
        self.front.wanted.is_some() && self.free_blocks_min() <= 1
    }

    /// Units that the host read and wrote so far.
    fn units_asked(&self) -> (u64, u64) {
        (self.counters().host_units_read, self.counters().host_units_written)
    }

    /// Counts a request as one command instead of by its units. `before` are the units that were asked for before it.
    fn count_request(&mut self, kind: Kind, before: (u64, u64)) {
        let now = self.units_asked();
        let (read, written) = (now.0 - before.0, now.1 - before.1);
        let commands = &mut self.front.commands;
        commands.reads += u64::from(kind == Kind::Read);
        commands.writes += u64::from(matches!(kind, Kind::Write | Kind::WriteZeroes) && written > 0);
        commands.units_read += read;
        commands.units_written += written;
    }

    /// Ends what a setting began while nobody answers: capacity that the drive wants back is posted as a notice.
    pub fn settle_alone(&mut self, outcome: Outcome) {
        self.settle(outcome);
        self.commit_background();
    }

    /// Lets the firmware finish what it began, without an answer from the host. Returns whether it takes more writes.
    fn settle(&mut self, mut outcome: Outcome) -> bool {
        loop {
            outcome = match outcome {
                Outcome::Done => return true,
                Outcome::Dead(_) => return false,
                Outcome::Paused => self.resume(),
                Outcome::Demand(demand) => {
                    let wanted = self.sectors_wanted(demand);
                    if let Some(wanted) = wanted.filter(|wanted| self.front.wanted != Some(*wanted)) {
                        self.front.wanted = Some(wanted);
                        let (at, kind) = (self.front.now, self.wish_for(wanted));
                        self.front.notices.push(Notice { at, kind });
                    }
                    if self.is_starved() {
                        return false;
                    }
                    self.reclaim()
                }
                Outcome::OutOfRange(refused) => unreachable!("a request in range asks for exported units: {refused}"),
            }
        }
    }

    fn trim(&mut self, range: SectorRange) {
        let whole = UnitSplit::new(range, self.front.unit).whole_sectors();
        let mut units = std::mem::take(&mut self.front.scratch.units);
        for piece in pieces(self.units(whole)) {
            units.clear();
            units.extend(piece.map(Lpn));
            let held = self.mapped_without(units.iter().copied());
            self.trim_batch(&units).expect("a request in range asks for exported units");
            self.front.mapped = held;
        }
        units.clear();
        self.front.scratch.units = units;
    }

    /// The status of a request of which some units failed.
    fn status(&self, range: SectorRange, mut failed: Failed) -> Status {
        if failed.medium.is_empty() && failed.beyond.is_empty() && failed.unwritten.is_none() {
            return Status::Done;
        }
        let has_room = failed.beyond.is_empty();
        failed.medium.append(&mut failed.beyond);
        let unit = self.front.unit.0;
        let sectors =
            |first: u64, end: u64| SectorRange::between(Lba(first * unit), Lba(end * unit)).intersection(range);
        failed.medium.sort_unstable();
        let mut ranges: Vec<SectorRange> = Vec::new();
        for lpn in failed.medium.iter().filter(|lpn| failed.unwritten.is_none_or(|first| **lpn < first)) {
            sectors(u64::from(lpn.0), u64::from(lpn.0) + 1).push_to(&mut ranges);
        }
        let Some(first) = failed.unwritten else {
            return if has_room { Status::MediumError(ranges) } else { Status::NoSpace(ranges) };
        };
        sectors(u64::from(first.0), u64::from(self.units(range).end)).push_to(&mut ranges);
        self.unwritten(ranges)
    }
}

/// Cuts units into pieces of at most [`UNITS_AT_ONCE`].
fn pieces(units: Range<u32>) -> impl Iterator<Item = Range<u32>> {
    let end = units.end;
    units.step_by(UNITS_AT_ONCE as usize).map(move |first| first..end.min(first.saturating_add(UNITS_AT_ONCE)))
}

impl Front {
    /// Keeps the end of a request that was submitted. Returns whether it was one.
    #[inline]
    pub(crate) fn settle(&mut self, served: &Served) -> bool {
        let id = RequestId(served.token);
        let Some(answer) = self.pending.remove(id) else { return false };
        debug_assert!(answer.submitted_at.0 <= served.at, "a request is over after it came");
        self.done.push(Completion { at: SimTime(served.at), ..answer });
        if self.breakdowns.len() == BREAKDOWNS_MAX {
            self.breakdowns.pop_front();
        }
        self.breakdowns.push_back((id, served.breakdown));
        true
    }

    fn take_id(&mut self) -> RequestId {
        self.next_id += 1;
        RequestId(self.next_id - 1)
    }
}

impl BlockDevice for Drive {
    fn features(&self) -> Features {
        Features {
            sector: self.front.sector,
            atomic_unit: self.front.unit,
            keeps_bytes: self.keeps_bytes(),
            trim_reads_zeros: true,
            fua: true,
            remap: true,
            resize: Resize::Shrink,
            mapped_limit: true,
        }
    }

    fn capacity(&self) -> Sectors {
        self.front.capacity
    }

    fn submit(&mut self, at: SimTime, mut request: Request) -> RequestId {
        self.run_to(at);
        let Request { kind, range, .. } = request;
        let mut answer =
            Completion { id: RequestId(0), submitted_at: at, at, kind, range, status: Status::Done, bytes: None };
        if let Some(status) = self.refusal(&request) {
            let id = self.front.take_id();
            self.front.done.push(Completion { id, status, ..answer });
            return id;
        }
        self.prepare(at);
        self.misread.clear();
        let before = self.units_asked();
        answer.status = self.execute(&request);
        self.count_request(kind, before);
        if kind == Kind::Read && self.keeps_bytes() {
            answer.bytes = Some(self.bytes_read(range, request.bytes.take(), &answer.status));
        }
        let command = self.command(&request);
        if let Some(id) = self.commit(command, range.count.0.saturating_mul(SECTOR as u64)) {
            answer.id = id;
            self.front.pending.insert(answer);
            self.scrub_once();
            return id;
        }
        answer.id = self.front.take_id();
        if self.clock_has_ended() {
            // Done, but its flash operations may not end before the clock does.
            answer.at = SimTime::MAX;
        }
        let id = answer.id;
        self.front.done.push(answer);
        self.scrub_once();
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        let in_clock = || self.clock.as_ref().and_then(|clock| clock.scheduler().next_at()).map(SimTime);
        let pending = if self.front.pending.is_empty() { None } else { in_clock() };
        [self.front.done.first_at(), pending].into_iter().flatten().min()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.run_to(until);
        self.front.done.hand_out(until, out);
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.run_to(at);
        if self.is_off() {
            return Status::Gone(Vec::new());
        }
        let current = self.front.capacity;
        if let Err(status) = check_capacity(&self.features(), current, current, capacity) {
            return status;
        }
        if capacity == current {
            return Status::Done;
        }
        let exported = capacity.0.div_ceil(self.front.unit.0) as u32;
        let given_up = SectorRange::between(Lba(u64::from(exported) * self.front.unit.0), Lba(current.0));
        let units = u64::from(self.exported()) * self.front.unit.0;
        if !given_up.is_empty() {
            self.trim(SectorRange::between(given_up.start, Lba(units)));
        }
        self.shrink_to(exported);
        assert!(capacity <= self.front.capacity, "no sector is offered whose unit the firmware does not export");
        self.front.capacity = capacity;
        self.follow_limit();
        self.front.wanted = None;
        self.front.notices.push(Notice { at, kind: NoticeKind::CapacityChanged(capacity) });
        let outcome = self.look_for_space();
        self.settle(outcome);
        self.commit_background();
        Status::Done
    }

    fn mapped_limit(&self) -> Sectors {
        self.limit()
    }

    fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        self.limit_to(at, limit)
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.front.notices);
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        check_peek(&self.features(), self.front.capacity, range, bytes).filter(|()| !self.is_off())?;
        let (mut lost, mut from) = (Vec::new(), 0);
        for lpn in self.units(range).map(Lpn) {
            let (part, within) = self.part(lpn, range);
            let out = &mut bytes[from..from + within.len()];
            if self.is_lost(lpn) {
                out.fill(0);
                part.push_to(&mut lost);
            } else {
                self.copy_known(lpn, within, out);
            }
            from += part.len_bytes();
        }
        Some(lost)
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        let range = range.intersection(SectorRange::new(Lba(0), self.front.capacity));
        if self.is_off() {
            if !range.is_empty() {
                out.push(Extent { range, state: ExtentState::Data });
            }
            return;
        }
        let unit = self.front.unit.0;
        let mut last: Option<Extent> = None;
        // The caller asks on from there.
        for lpn in pieces(self.units(range)).next().into_iter().flatten().map(Lpn) {
            let first = u64::from(lpn.0) * unit;
            let sectors = SectorRange::between(Lba(first), Lba(first + unit)).intersection(range);
            let state = if self.lookup(lpn).is_some() { ExtentState::Data } else { ExtentState::Hole };
            match &mut last {
                Some(extent) if extent.state == state => {
                    extent.range = SectorRange::new(extent.range.start, extent.range.count + sectors.count);
                }
                _ => out.extend(last.replace(Extent { range: sectors, state })),
            }
        }
        out.extend(last);
    }
}
