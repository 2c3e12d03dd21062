//! The drive as a block device.
//!
//! A request never waits for its host. Where the drive wants capacity back, it posts a notice and goes on while a free block is
//! left. Units that find no space complete as *no space*.
//!
//! The clock of a drive ends after 2^64 ns. The first request whose operations might not end by then is carried out and completes
//! at the last instant; later requests are refused.

use wane_blockdev::{
    BlockDevice, Completion, Extent, ExtentState, Features, Kind, Notice, NoticeKind, Origin as Asked, Request,
    RequestId, Resize, SectorRange, Status, UnitSplit, Unsupported, check_capacity,
};
use wane_ftl::{Origin, Outcome};
use wane_units::{Lba, Lpn, Nanos, Sectors, SimTime};

use crate::drive::{BREAKDOWNS_MAX, Drive, Front, GO};
use crate::{Breakdown, CLOCK_MAX_NS, Clock, CommandKind};

/// Bytes of a sector.
const SECTOR: usize = 512;

/// Units handed to the firmware at once.
const UNITS_AT_ONCE: u64 = 1 << 16;

/// What became of the units of a request.
#[derive(Default)]
struct Failed {
    /// Units that were not read or not rewritten, in rising order.
    medium: Vec<Lpn>,
    /// The first unit that found no space; all after it found none either.
    no_space: Option<Lpn>,
}

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
        let Some(clock) = &mut self.clock else { return };
        let front = &mut self.front;
        // Everything ends within the clock's time. To wait for longer meets all of it and does not end the clock.
        clock.arrive_at(at.0.min(CLOCK_MAX_NS), &GO, &mut |completion| {
            let id = RequestId(completion.token);
            let Some(answer) = front.pending.remove(&id.0) else { return };
            debug_assert!(answer.submitted_at.0 <= completion.at, "a request is over after it came");
            front.done.push(Completion { at: SimTime(completion.at), ..answer });
            if front.breakdowns.len() == BREAKDOWNS_MAX {
                front.breakdowns.pop_front();
            }
            front.breakdowns.push_back((id, completion.breakdown));
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
    fn prepare(&mut self) {
        match (&self.clock, self.clock_spec().cloned()) {
            (None, Some(spec)) => self.start_clock(&spec).expect("the clock was checked when the drive was built"),
            (Some(_), _) => self.wake(),
            (None, None) if self.may_err() => self.wake(),
            (None, None) => {}
        }
    }

    /// Does what a request asks, at once.
    fn execute(&mut self, request: &Request) -> Status {
        let range = request.range;
        match request.kind {
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
                if self.settle(outcome) { Status::Done } else { Status::MediumError(Vec::new()) }
            }
            Kind::Remap => self.remap_sectors(range, request.source),
        }
    }

    /// Remaps whole units. Returns *no space* if the remap log has no room for them.
    fn remap_sectors(&mut self, to: SectorRange, from: SectorRange) -> Status {
        let unit = self.front.unit.0;
        let units = |range: SectorRange| ((range.start.0 / unit) as u32, (range.count.0 / unit) as u32);
        let ((to_first, to_units), (from_first, from_units)) = (units(to), units(from));
        match self.remap(Lpn(to_first), Lpn(from_first), to_units, from_units) {
            Ok(_) => Status::Done,
            Err(_) if to.is_empty() => Status::Done,
            Err(_) => Status::NoSpace(vec![to]),
        }
    }

    /// Writes zeros to the parts of units that `range` covers only in part.
    fn zero_ends(&mut self, range: SectorRange, request: &Request) -> Status {
        let split = UnitSplit::new(range, self.front.unit);
        let ends: Vec<SectorRange> = split.ragged_ends().filter(|end| self.is_mapped(*end)).collect();
        ends.into_iter().map(|end| self.write(end, request)).fold(Status::Done, joined)
    }

    /// The bytes that a read of `range` brought, with zeros for sectors that could not be read.
    fn bytes_read(&self, range: SectorRange, status: &Status) -> Vec<u8> {
        let (unit, mut out) = (self.front.unit.0, Vec::with_capacity(range.len_bytes()));
        let mut whole = vec![0; self.unit_bytes() as usize];
        for lpn in self.pieces(range).flatten() {
            let sectors = SectorRange::new(Lba(u64::from(lpn.0) * unit), self.front.unit);
            let part = sectors.intersection(range);
            self.see(lpn, &mut whole);
            let from = (part.start.0 - sectors.start.0) as usize * SECTOR;
            out.extend_from_slice(&whole[from..from + part.len_bytes()]);
        }
        for failed in status.failed() {
            let from = (failed.start.0 - range.start.0) as usize * SECTOR;
            out[from..from + failed.len_bytes()].fill(0);
        }
        out
    }

    /// Handles to the contents of `units` after a request wrote `range`.
    fn handles(&mut self, units: &[Lpn], range: SectorRange, request: &Request) -> Vec<u32> {
        let unit = self.front.unit;
        let (mut whole, mut seen) = (vec![0; self.unit_bytes() as usize], vec![0; self.unit_bytes() as usize]);
        let mut handles = Vec::with_capacity(units.len());
        for lpn in units {
            let sectors = SectorRange::new(Lba(u64::from(lpn.0) * unit.0), unit);
            let part = sectors.intersection(range);
            let bytes = request.bytes.as_ref().map(|bytes| {
                let from = (part.start.0 - request.range.start.0) as usize * SECTOR;
                &bytes[from..from + part.len_bytes()]
            });
            if part == sectors {
                handles.push(bytes.map_or(wane_ftl::ZEROS, |bytes| self.keep(bytes)));
                continue;
            }
            self.peek(*lpn, &mut whole);
            self.see(*lpn, &mut seen);
            let from = (part.start.0 - sectors.start.0) as usize * SECTOR;
            for whole in [&mut whole, &mut seen] {
                let place = &mut whole[from..from + part.len_bytes()];
                match bytes {
                    Some(bytes) => place.copy_from_slice(bytes),
                    None => place.fill(0),
                }
            }
            handles.push(self.keep_misread(&whole, &seen));
        }
        handles
    }

    fn is_mapped(&self, sectors: SectorRange) -> bool {
        self.lookup(Lpn((sectors.start.0 / self.front.unit.0) as u32)).is_some()
    }

    /// Units that a range touches, in pieces of at most [`UNITS_AT_ONCE`].
    fn pieces(&self, range: SectorRange) -> impl Iterator<Item = Vec<Lpn>> + use<> {
        let unit = self.front.unit.0;
        let first = range.start.0 / unit;
        let end = (range.start.0 + range.count.0).div_ceil(unit).max(first);
        let starts = (first..end).step_by(UNITS_AT_ONCE as usize);
        starts.map(move |start| (start..end.min(start + UNITS_AT_ONCE)).map(|unit| Lpn(unit as u32)).collect())
    }

    fn read(&mut self, range: SectorRange) -> Status {
        if range.is_empty() {
            return Status::Done;
        }
        let mut failed = Failed::default();
        for units in self.pieces(range) {
            self.read_batch(&units).expect("a request in range asks for exported units");
            let unread = self.unread().to_vec();
            failed.medium.append(&mut self.unnoticed(unread));
        }
        let split = UnitSplit::new(range, self.front.unit);
        let around = split.ragged_ends().map(|end| self.bytes_around(end)).sum();
        self.count_read_around(around);
        self.status(range, &failed)
    }

    /// Bytes of a unit beside those sectors of it.
    fn bytes_around(&self, part: SectorRange) -> u64 {
        u64::from(self.unit_bytes()) - part.len_bytes() as u64
    }

    /// Writes all or some sectors of a request.
    fn write(&mut self, range: SectorRange, request: &Request) -> Status {
        if range.is_empty() {
            return Status::Done;
        }
        let hint = request.stream.map(|hint| hint.0);
        let origin = match request.origin {
            Asked::FileSystemMove => Origin::FileSystemMove,
            _ => Origin::Host,
        };
        let split = UnitSplit::new(range, self.front.unit);
        let mut failed = Failed::default();
        // A unit that is covered in part is read first. If it cannot be read, it is not rewritten.
        let mut parts = Vec::new();
        for end in split.ragged_ends() {
            let unit = Lpn((end.start.0 / self.front.unit.0) as u32);
            self.read_to_modify(&[unit]).expect("a request in range asks for exported units");
            let unread = self.unread().to_vec();
            failed.medium.append(&mut self.unnoticed(unread));
            parts.push((unit, self.bytes_around(end)));
        }
        for mut units in self.pieces(range) {
            units.retain(|unit| !failed.medium.contains(unit));
            let handles = if self.keeps_bytes() { self.handles(&units, range, request) } else { Vec::new() };
            let mut done = 0;
            while done < units.len() && failed.no_space.is_none() {
                if self.is_starved() {
                    failed.no_space = Some(units[done]);
                    break;
                }
                let (written, outcome) = if self.keeps_bytes() {
                    self.write_handles(origin, hint, &units[done..], &handles[done..])
                } else {
                    self.write_from(origin, hint, &units[done..])
                };
                done += written;
                if !self.settle(outcome) && done < units.len() {
                    failed.no_space = Some(units[done]);
                }
            }
            if self.keeps_bytes() {
                self.give_up(&handles[done..]);
            }
            if origin == Origin::Host {
                let written = parts.iter().filter(|(unit, _)| units[..done].contains(unit));
                let (count, around) = written.fold((0, 0), |(count, sum), (_, bytes)| (count + 1, sum + bytes));
                self.count_written_in_part(count, around);
            }
        }
        self.status(range, &failed)
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
                        let (at, kind) = (self.front.now, NoticeKind::CapacityWanted(wanted));
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
        if whole.is_empty() {
            return;
        }
        for units in self.pieces(whole) {
            self.trim_batch(&units).expect("a request in range asks for exported units");
        }
    }

    /// The status of a request of which some units failed.
    fn status(&self, range: SectorRange, failed: &Failed) -> Status {
        let unit = self.front.unit.0;
        let sectors =
            |first: u64, end: u64| SectorRange::between(Lba(first * unit), Lba(end * unit)).intersection(range);
        if let Some(first) = failed.no_space {
            let end = (range.start.0 + range.count.0).div_ceil(unit);
            let mut none: Vec<SectorRange> = Vec::new();
            for unit in failed.medium.iter().filter(|unit| **unit < first) {
                push(&mut none, sectors(u64::from(unit.0), u64::from(unit.0) + 1));
            }
            push(&mut none, sectors(u64::from(first.0), end));
            return Status::NoSpace(none);
        }
        let mut ranges: Vec<SectorRange> = Vec::new();
        let mut units = failed.medium.clone();
        units.sort_unstable();
        units.iter().for_each(|unit| push(&mut ranges, sectors(u64::from(unit.0), u64::from(unit.0) + 1)));
        if ranges.is_empty() { Status::Done } else { Status::MediumError(ranges) }
    }
}

/// Adds a range to a rising list. It is joined with the last range if they touch or overlap.
fn push(ranges: &mut Vec<SectorRange>, next: SectorRange) {
    if next.is_empty() {
        return;
    }
    if let Some(last) = ranges.last_mut() {
        debug_assert!(last.start <= next.start, "failed sectors are told in rising order");
        let (last_end, next_end) = (last.start.0 + last.count.0, next.start.0 + next.count.0);
        if last_end >= next.start.0 {
            *last = SectorRange::between(last.start, Lba(last_end.max(next_end)));
            return;
        }
    }
    ranges.push(next);
}

/// The status of a request from those of two of its parts, the first of which lies before the second.
fn joined(first: Status, second: Status) -> Status {
    match (first, second) {
        (Status::Done, other) | (other, Status::Done) => other,
        (one, other) => {
            let mut ranges = one.failed().to_vec();
            other.failed().iter().for_each(|range| push(&mut ranges, *range));
            if matches!(one, Status::NoSpace(_)) || matches!(other, Status::NoSpace(_)) {
                Status::NoSpace(ranges)
            } else {
                Status::MediumError(ranges)
            }
        }
    }
}

impl Front {
    fn take_id(&mut self) -> RequestId {
        self.next_id += 1;
        RequestId(self.next_id - 1)
    }

    /// When the first completion ended that was not handed out yet.
    fn bound(&self) -> Option<SimTime> {
        self.done.iter().map(|answer| answer.at).min()
    }
}

impl BlockDevice for Drive {
    fn features(&self) -> Features {
        Features {
            sector: self.front.sector,
            atomic_unit: self.front.unit,
            keeps_bytes: self.keeps_bytes(),
            trim_reads_zeros: true,
            // A write that the cache has taken is not in flash yet.
            fua: self.clock_spec().is_none_or(|spec| spec.config.write_cache.is_none()),
            remap: true,
            resize: Resize::Shrink,
        }
    }

    fn capacity(&self) -> Sectors {
        self.front.capacity
    }

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.run_to(at);
        let answer = |id, status| Completion {
            id,
            submitted_at: at,
            at,
            kind: request.kind,
            range: request.range,
            status,
            bytes: None,
        };
        let mut refusal = request.check(&self.features(), self.front.capacity);
        if refusal.is_ok() && self.clock_has_ended() {
            refusal = Err(Status::Unsupported(Unsupported::ClockEnd));
        }
        if let Err(status) = refusal {
            let id = self.front.take_id();
            self.front.done.push(answer(id, status));
            return id;
        }
        self.prepare();
        self.misread.clear();
        // What ran before the clock started took no time.
        self.run_to(at);
        let before = self.units_asked();
        let mut status = self.execute(&request);
        self.count_request(request.kind, before);
        let read = (request.kind == Kind::Read && self.keeps_bytes()).then(|| self.bytes_read(request.range, &status));
        if request.flags.fua && request.kind.changes_contents() {
            let outcome = self.flush_firmware();
            if !self.settle(outcome) {
                status = joined(status, Status::NoSpace(vec![request.range]));
            }
        }
        let kind = match request.kind {
            Kind::Read => CommandKind::Read,
            Kind::Write => CommandKind::Write,
            Kind::WriteZeroes if !request.flags.may_unmap => CommandKind::Write,
            Kind::WriteZeroes | Kind::Trim if request.flags.fua && self.may_lose_buffers() => {
                // The record is in pages of the metadata area, which are not the host's operations.
                self.commit_background();
                CommandKind::Flush
            }
            // Room in the remap log was made by programs, which come first.
            Kind::Remap if self.flash().is_some_and(|flash| !flash.ops().is_empty()) => {
                self.commit_background();
                CommandKind::Flush
            }
            Kind::WriteZeroes | Kind::Trim | Kind::Remap => CommandKind::Trim,
            Kind::Flush => CommandKind::Flush,
        };
        let id = match self.commit(kind, request.range.count.0.saturating_mul(512)) {
            Some(id) => {
                let before = self.front.pending.insert(id.0, Completion { bytes: read, ..answer(id, status) });
                assert!(before.is_none(), "request {id} has a number of its own, or another one would never complete");
                id
            }
            None => {
                let id = self.front.take_id();
                // Done, but its flash operations may not end before the clock does.
                let at = if self.clock_has_ended() { SimTime::MAX } else { at };
                self.front.done.push(Completion { at, bytes: read, ..answer(id, status) });
                id
            }
        };
        self.scrub_once();
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        let in_clock = || self.clock.as_ref().and_then(|clock| clock.scheduler().next_at()).map(SimTime);
        let pending = if self.front.pending.is_empty() { None } else { in_clock() };
        [self.front.bound(), pending].into_iter().flatten().min()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.run_to(until);
        self.front.done.sort_unstable_by_key(|answer| (answer.at, answer.id));
        let over = self.front.done.partition_point(|answer| answer.at <= until);
        out.extend(self.front.done.drain(..over));
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.run_to(at);
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
        self.front.wanted = None;
        self.front.notices.push(Notice { at, kind: NoticeKind::CapacityChanged(capacity) });
        let outcome = self.look_for_space();
        self.settle(outcome);
        self.commit_background();
        Status::Done
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.front.notices);
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        let range = range.intersection(SectorRange::new(Lba(0), self.front.capacity));
        let unit = self.front.unit.0;
        let mut last: Option<Extent> = None;
        for units in self.pieces(range) {
            for lpn in units {
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
        }
        out.extend(last);
    }
}
