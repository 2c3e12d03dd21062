//! The drive as a living device: batches, passing time, power, and time for requests without contents.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{
    Batch, Health, Living, Op, Origin as Asked, Passing, PowerError, Recovered, RequestId, SectorRange, Served, Stop,
    Tally, Timed, Took, UnitSplit, Until, Wanted, Work,
};
use wane_ftl::policies::capacity::Demand;
use wane_ftl::{BuildError, Origin, Outcome, ZEROS};
use wane_units::{Counters, EndOfLife, Fate, Lba, Lpn, Nanos, Sectors, SimTime};

use super::{Drive, DriveError};
use crate::Clock;

/// Units of a batch that are handed to the firmware at once.
const UNITS_AT_ONCE: usize = 1 << 16;

/// The firmware's name of who asks.
pub(crate) fn origin(asked: Asked) -> Origin {
    match asked {
        Asked::FileSystemMove => Origin::FileSystemMove,
        _ => Origin::Host,
    }
}

impl Drive {
    /// Lets the clock follow a caller that is ahead of it.
    #[inline]
    fn come_to(&mut self, at: SimTime) {
        if at != self.front.now {
            self.run_to(at);
        }
    }

    /// Whole units in a number of sectors.
    pub fn units_in(&self, sectors: Sectors) -> u64 {
        sectors.0 / self.front.unit.0
    }

    /// What the outcome of a call of the firmware means to a host.
    #[inline]
    pub fn stop_of(&self, outcome: Outcome) -> Stop {
        match outcome {
            Outcome::Done => Stop::Done,
            Outcome::Paused => Stop::Paused,
            Outcome::Dead(cause) => Stop::Dead(cause),
            Outcome::OutOfRange(_) => Stop::OutOfRange,
            Outcome::Demand(Demand::ExportAtMost(units)) => {
                Stop::Wants(Wanted::AtMost(Sectors(units.saturating_mul(self.front.unit.0))))
            }
            Outcome::Demand(Demand::DropUnused | Demand::Keep | Demand::EndOfLife) => Stop::Wants(Wanted::Unused),
        }
    }

    /// Counts what a batch only counts.
    fn tally(&mut self, work: Work, tally: Tally) {
        let Tally { units_in_part, bytes_around, units_unmapped } = tally;
        if units_unmapped > 0 {
            self.read_unmapped(units_unmapped);
        }
        match work {
            Work::Read if bytes_around > 0 => self.count_read_around(bytes_around),
            Work::Write | Work::Rewrite if units_in_part > 0 => {
                self.count_written_in_part(units_in_part, bytes_around);
            }
            _ => {}
        }
    }

    /// Does the work of a batch on some whole units. Returns how many were done.
    #[inline]
    fn work_on(&mut self, work: Work, from: Origin, units: &[Lpn], unread: &mut Vec<SectorRange>) -> (usize, Outcome) {
        const EXPORTED: &str = "the extents of a batch lie below the capacity";
        match work {
            Work::Read | Work::ReadToModify => {
                let read = if work == Work::Read { self.read_batch(units) } else { self.read_to_modify(units) };
                read.expect(EXPORTED);
                if !self.unread().is_empty() {
                    let unit = self.front.unit;
                    let range = |lost: &Lpn| SectorRange::new(Lba(u64::from(lost.0) * unit.0), unit);
                    unread.extend(self.unread().iter().map(range));
                }
                (units.len(), Outcome::Done)
            }
            Work::Write if self.keeps_bytes() => self.write_once(from, units, &vec![ZEROS; units.len()]),
            Work::Write | Work::Rewrite => self.write_batch_from(from, units),
            Work::Trim => {
                self.trim_batch(units).expect(EXPORTED);
                (units.len(), Outcome::Done)
            }
            Work::Flush => (0, self.flush_batch()),
        }
    }

    /// As [`Living::batch`], of whole units by their numbers: a host that counts in them makes no sectors of them.
    pub fn batch_of_units(&mut self, at: SimTime, work: Work, units: &[Lpn], tally: Tally) -> Took {
        self.come_to(at);
        let (unit, capacity) = (self.front.unit.0, self.front.capacity);
        let is_there = units.iter().max().is_none_or(|last| (u64::from(last.0) + 1) * unit <= capacity.0);
        let is_limited = self.front.limit.is_some() && matches!(work, Work::Write | Work::Rewrite);
        if !is_there || is_limited || self.is_off() || work == Work::Flush {
            let range = |unit_number: &Lpn| SectorRange::new(Lba(u64::from(unit_number.0) * unit), Sectors(unit));
            let extents: Vec<SectorRange> = units.iter().map(range).collect();
            return self.batch(at, &Batch::new(work, &extents).with(tally));
        }
        self.tally(work, tally);
        let mut took = Took::new(Sectors::ZERO, Stop::Done);
        self.work_on_all(&Batch::new(work, &[]), units, &mut took);
        took
    }

    /// Works on the commonest batch, one whole unit, without the list that others need. `None` if it is another batch.
    #[inline]
    fn work_on_one(&mut self, batch: &Batch<'_>) -> Option<Took> {
        let [extent] = batch.extents else { return None };
        let unit = self.front.unit;
        let is_unit = unit.0.is_power_of_two() && extent.count == unit && extent.start.0 & (unit.0 - 1) == 0;
        let is_there = extent.start.0 < self.front.capacity.0 && self.front.capacity.0 - extent.start.0 >= unit.0;
        let is_limited = self.front.limit.is_some() && matches!(batch.work, Work::Write | Work::Rewrite);
        if is_limited
            || !is_unit
            || !is_there
            || self.is_off()
            || batch.tally != Tally::default()
            || batch.work == Work::Flush
        {
            return None;
        }
        let mut took = Took::new(Sectors::ZERO, Stop::Done);
        let lpn = Lpn((extent.start.0 >> unit.0.trailing_zeros()) as u32);
        let (done, outcome) = self.work_on(batch.work, origin(batch.origin), &[lpn], &mut took.unread);
        took.done = Sectors(done as u64 * unit.0);
        took.stop = self.stop_of(outcome);
        Some(took)
    }

    /// Works on any batch. Not inlined, as the commonest one is.
    #[inline(never)]
    fn work_on_many(&mut self, batch: &Batch<'_>) -> Took {
        let mut took = Took::new(Sectors::ZERO, Stop::Done);
        if self.is_off() {
            took.stop = Stop::Gone;
            return took;
        }
        let capacity = self.front.capacity;
        if !batch.extents.iter().all(|extent| extent.lies_within(capacity)) {
            took.stop = Stop::OutOfRange;
            return took;
        }
        self.tally(batch.work, batch.tally);
        if batch.work == Work::Flush {
            let outcome = self.flush_batch();
            took.stop = self.stop_of(outcome);
            return took;
        }
        let mut units = std::mem::take(&mut self.batch);
        // Ranges that overlap map a unit once: with a limit, one range comes after the other.
        let is_limited = self.front.limit.is_some() && matches!(batch.work, Work::Write | Work::Rewrite);
        let is_listed = !is_limited && list_units(batch.extents, self.front.unit, &mut units);
        if is_listed {
            self.work_on_all(batch, &units, &mut took);
        }
        self.batch = units;
        if !is_listed {
            for extent in batch.extents.iter().filter(|extent| !extent.is_empty()) {
                self.work_on_range(batch, *extent, &mut took);
                if took.stop != Stop::Done {
                    break;
                }
            }
        }
        took
    }

    /// Works on whole units, in pieces.
    fn work_on_all(&mut self, batch: &Batch<'_>, units: &[Lpn], took: &mut Took) {
        for piece in units.chunks(UNITS_AT_ONCE) {
            let (done, outcome) = self.work_on(batch.work, origin(batch.origin), piece, &mut took.unread);
            took.done += Sectors(done as u64 * self.front.unit.0);
            took.stop = self.stop_of(outcome);
            if took.stop != Stop::Done {
                break;
            }
        }
    }

    /// Works on a range that is too long to be listed, or that covers units only in part.
    fn work_on_range(&mut self, batch: &Batch<'_>, range: SectorRange, took: &mut Took) {
        if matches!(batch.work, Work::Read | Work::ReadToModify) {
            return self.read_range(batch, range, took);
        }
        let split = UnitSplit::new(range, self.front.unit);
        self.work_on_part(batch, split.head, took);
        if took.stop == Stop::Done {
            self.work_on_units(batch, split.whole.clone(), took);
        }
        if took.stop == Stop::Done {
            self.work_on_part(batch, split.tail, took);
        }
    }

    /// Works on consecutive units, by their numbers.
    fn work_on_units(&mut self, batch: &Batch<'_>, whole: Range<u64>, took: &mut Took) {
        let mut units = std::mem::take(&mut self.batch);
        for first in whole.clone().step_by(UNITS_AT_ONCE) {
            units.clear();
            let end = whole.end.min(first + UNITS_AT_ONCE as u64);
            units.extend(Lpn::all(first as u32..end as u32));
            if matches!(batch.work, Work::Write | Work::Rewrite) && self.front.limit.is_some() {
                self.write_what_fits(batch, first..end, &mut units, took);
            } else {
                self.work_on_all(batch, &units, took);
            }
            if took.stop != Stop::Done {
                break;
            }
        }
        self.batch = units;
    }

    /// Writes those of consecutive units, which `units` lists, that hold data or fit the limit. The others are left out.
    fn write_what_fits(&mut self, batch: &Batch<'_>, all: Range<u64>, units: &mut Vec<Lpn>, took: &mut Took) {
        let mut beyond = Vec::new();
        let fresh = self.keep_within_limit(units, &mut beyond);
        let (held, before, unit) = (self.front.mapped, took.done, self.front.unit.0);
        self.work_on_all(batch, units, took);
        let done = ((took.done - before).0 / unit) as usize;
        self.note_mapped(held, fresh, done == units.len());
        let reached = units.get(done).map_or(all.end, |next| u64::from(next.0));
        took.done = before + Sectors((reached - all.start) * unit);
    }

    fn read_range(&mut self, batch: &Batch<'_>, range: SectorRange, took: &mut Took) {
        let unit = self.front.unit.0;
        let mut read = Took::new(Sectors::ZERO, Stop::Done);
        let end = (range.start.0 + range.count.0).div_ceil(unit);
        self.work_on_units(batch, range.start.0 / unit..end, &mut read);
        if batch.work == Work::Read {
            self.count_read_around((read.done - range.count).0 * Sectors::SIZE.0);
        }
        took.done += range.count;
        let asked = read.unread.into_iter().map(|lost| lost.intersection(range)).filter(|lost| !lost.is_empty());
        took.unread.extend(asked);
    }

    /// Writes or discards a part of a unit. A unit that is written is read first. A part that cannot be discarded becomes zeros.
    fn work_on_part(&mut self, batch: &Batch<'_>, part: SectorRange, took: &mut Took) {
        if part.is_empty() {
            return;
        }
        let unit = Lpn((part.start.0 / self.front.unit.0) as u32);
        if batch.work == Work::Trim && !(self.keeps_bytes() && self.lookup(unit).is_some()) {
            took.done += part.count;
            return;
        }
        if let Some(cause) = self.end_of_life() {
            // Nothing is read for a write that cannot be.
            took.stop = Stop::Dead(cause);
            return;
        }
        let (mut kept, mut beyond) = (vec![unit], Vec::new());
        let fresh = self.keep_within_limit(&mut kept, &mut beyond);
        if !beyond.is_empty() {
            took.done += part.count;
            return;
        }
        let held = self.front.mapped;
        let from = origin(batch.origin);
        self.work_on(Work::ReadToModify, from, &[unit], &mut Vec::new());
        let (done, outcome) = if batch.work != Work::Rewrite && self.keeps_bytes() {
            self.zero_part(from, part)
        } else {
            self.write_batch_from(from, &[unit])
        };
        took.stop = self.stop_of(outcome);
        self.note_mapped(held, fresh, done == 1);
        if done == 1 {
            took.done += part.count;
            if from == Origin::Host {
                let around = u64::from(self.unit_bytes()) - part.len_bytes() as u64;
                self.count_written_in_part(1, around);
            }
        }
    }

    /// Writes zeros to a part of a unit whose other bytes stay.
    fn zero_part(&mut self, from: Origin, part: SectorRange) -> (usize, Outcome) {
        let unit = Lpn((part.start.0 / self.front.unit.0) as u32);
        let mut whole = vec![0; self.unit_bytes() as usize];
        self.peek_unit(unit, &mut whole);
        let first = (part.start.0 % self.front.unit.0 * Sectors::SIZE.0) as usize;
        whole[first..first + part.len_bytes()].fill(0);
        let handle = self.keep(&whole);
        self.write_once(from, &[unit], &[handle])
    }
}

/// Lists the units of extents if each covers whole units, and not too many. Returns whether it did.
#[inline]
fn list_units(extents: &[SectorRange], unit: Sectors, units: &mut Vec<Lpn>) -> bool {
    units.clear();
    let add = |units: &mut Vec<Lpn>, first: u64, count: u64| {
        if count == 1 {
            units.push(Lpn(first as u32));
        } else {
            units.extend(Lpn::all(first as u32..(first + count) as u32));
        }
    };
    if unit.0.is_power_of_two() {
        let (shift, within) = (unit.0.trailing_zeros(), unit.0 - 1);
        for extent in extents {
            if (extent.start.0 | extent.count.0) & within != 0 || extent.count.0 >> shift > UNITS_AT_ONCE as u64 {
                return false;
            }
            add(units, extent.start.0 >> shift, extent.count.0 >> shift);
        }
        return true;
    }
    for extent in extents {
        if !extent.is_aligned_to(unit) || extent.count.0 / unit.0 > UNITS_AT_ONCE as u64 {
            return false;
        }
        add(units, extent.start.0 / unit.0, extent.count.0 / unit.0);
    }
    true
}

impl Living for Drive {
    fn now(&self) -> SimTime {
        self.front.now
    }

    #[inline]
    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        self.come_to(at);
        if let Some(took) = self.work_on_one(batch) {
            return took;
        }
        self.work_on_many(batch)
    }

    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
        self.come_to(at);
        let outcome = match after {
            _ if self.is_off() => return Stop::Gone,
            Stop::Paused => self.resume(),
            Stop::Wants(_) => self.reclaim(),
            over => return over,
        };
        self.stop_of(outcome)
    }

    fn work(&mut self, at: SimTime) -> Option<Stop> {
        self.come_to(at);
        if self.is_off() {
            return None;
        }
        let outcome = self.scrub()?;
        Some(self.stop_of(outcome))
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        self.come_to(at);
        let end = time.end(at);
        match time {
            Passing::Idle(_) if self.is_off() => self.run_to(end),
            Passing::Days(days) if self.is_off() => self.pass_off(days, 1.0),
            Passing::Shelf { days, rate } if self.is_off() => self.pass_off(days, rate),
            Passing::Idle(time) => {
                self.idle(time);
            }
            Passing::Days(days) => self.set_day(self.day() + days),
            Passing::Shelf { days, rate } => self.lie_at(days, rate),
        }
        self.front.now
    }

    fn prefetch(&self, sector: Lba) {
        if !self.is_off() {
            self.prefetch(&[Lpn((sector.0 / self.front.unit.0) as u32)]);
        }
    }

    fn counters(&self) -> &Counters {
        self.counters()
    }

    fn health(&self, out: &mut Vec<Health>) {
        if self.is_off() {
            return;
        }
        let (counts, blocks) = (self.erase_counts(), f64::from(self.layout().blocks()));
        let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
        out.push(Health {
            end_of_life: self.end_of_life(),
            life_used: self.life_used(),
            erases: (least.unwrap_or(0), sum as f64 / counts.len().max(1) as f64, most.unwrap_or(0)),
            retired: f64::from(self.retired_blocks()) / blocks,
            capacity: (self.front.capacity, Sectors(self.front.unit.0 * u64::from(self.logical_initial()))),
            counters: *self.counters(),
        });
    }

    fn is_off(&self) -> bool {
        self.is_off()
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        if !self.is_off() && self.is_worn_out() { self.end_of_life() } else { None }
    }

    fn timed(&mut self) -> Option<&mut dyn Timed> {
        if self.clock.is_some() && !self.is_off() { Some(self) } else { None }
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.run_to(at);
        self.power_cut(fate);
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        self.run_to(at);
        match self.power_on() {
            Ok((_, took)) => Ok(Recovered { took: took.unwrap_or(Nanos::ZERO) }),
            Err(DriveError::PowerIsOn) => Err(PowerError::IsOn),
            Err(DriveError::Firmware(BuildError::NothingKept)) => Err(PowerError::NothingKept),
            Err(error) => Err(PowerError::Lost(error.to_string())),
        }
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.archive(archive)
    }
}

impl Timed for Drive {
    #[inline]
    fn run(&mut self, until: Until, stop: &AtomicBool, each: &mut dyn FnMut(&Served)) -> bool {
        self.run_until(until, stop, &mut |served| each(served))
    }

    #[inline]
    fn close(&mut self, op: Op, bytes: u64) -> Option<RequestId> {
        self.commit(op, bytes)
    }

    fn close_own(&mut self) {
        self.commit_background();
    }

    fn is_over(&self) -> bool {
        self.clock.as_ref().is_some_and(Clock::is_over)
    }

    fn at(&self) -> SimTime {
        SimTime(self.clock.as_ref().map_or(0, Clock::now_ns))
    }
}
