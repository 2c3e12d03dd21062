//! What a mirror does for itself, at instants of its own: it makes copies equal after a power cut, copies to members that are stale, and scrubs.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_blockdev::{Extent, ExtentState, NoticeKind, Origin, Request, SectorRange};
use wane_units::{Lba, Nanos, Sectors, SimTime};

use super::{Mirror, changes, reads};
use crate::bits::Bits;

/// What a mirror did for itself since it was made, in sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repairs {
    /// Sectors that a member had lost, and got back from another copy.
    pub repaired: Sectors,
    /// Sectors that were copied to a member that was stale, or differed after a power cut.
    pub copied: Sectors,
    /// Sectors that a member did not take.
    pub failed: Sectors,
    /// Sectors whose copies were all read and compared.
    pub scrubbed: Sectors,
    /// Sectors whose copies differed although nothing said so, and are now as the first is.
    pub unequal: Sectors,
    /// Sectors that a scrub could read from no copy.
    pub unreadable: Sectors,
}

/// See the head of this file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Own {
    pub(super) repairs: Repairs,
    /// Whether there may be something to copy.
    pub(super) is_due: bool,
    /// Requests of the present step that are not complete; with its read, which counts as one.
    pub(super) copying: usize,
    /// The units of the present step, which are equal after it, and whether it is about those that differ.
    step: Option<(u64, u64, bool)>,
    /// Whether a member did not take what the present step copies.
    pub(super) is_step_failed: bool,
    /// Whether anything was copied since its last flush.
    pub(super) moved: bool,
    /// Whether a step of this pass copied anything.
    pub(super) progressed: bool,
    /// The pass: 0 goes through what differs, number N through what member N - 1 misses; and the next unit.
    place: (usize, u64),
    /// The earliest instant of the next step.
    next_at: SimTime,
    is_flushing: bool,
    /// Units of which no copy could be read.
    pub(super) lost: Bits,
    /// The next unit of a scrub that is under way.
    pub(super) scrub: Option<u64>,
    scrub_at: Option<SimTime>,
    pub(super) is_degraded: bool,
}

impl Own {
    pub(super) fn new(units: u64, now: SimTime, scrub_every: Option<Nanos>) -> Self {
        Self {
            repairs: Repairs::default(),
            is_due: false,
            copying: 0,
            step: None,
            is_step_failed: false,
            moved: false,
            progressed: false,
            place: (0, 0),
            next_at: now,
            is_flushing: false,
            lost: Bits::new(units),
            scrub: None,
            scrub_at: scrub_every.map(|every| now.saturating_add(every)),
            is_degraded: false,
        }
    }

    /// What was under way is no more.
    pub(super) fn stop(&mut self) {
        (self.copying, self.step, self.is_flushing) = (0, None, false);
        (self.place, self.progressed, self.is_due) = ((0, 0), false, true);
    }
}

impl Mirror {
    /// Begins a scrub: all copies are read and compared, in the array's own time. What one of them lost is written again.
    ///
    /// # Panics
    /// `at` lies before an instant that the device was given earlier.
    pub fn scrub(&mut self, at: SimTime) {
        if !self.is_off {
            self.catch_up(at);
            self.own.scrub.get_or_insert(0);
        }
    }

    /// Whether a copy that could be written is stale, or copies may differ.
    pub(super) fn has_to_copy(&self) -> bool {
        !self.differs.is_empty() || self.members.iter().any(|member| member.is_online() && !member.stale().is_empty())
    }

    /// Whether it copies or scrubs, or is about to.
    pub fn is_at_work(&self) -> bool {
        self.own.copying > 0 || self.own.is_flushing || self.own.is_due || self.own.scrub.is_some()
    }

    /// Whether there is something to do for itself.
    pub(super) fn has_work(&self) -> bool {
        self.own.copying == 0 && !self.own.is_flushing && (self.own.is_due || self.own.scrub.is_some())
    }

    /// Whether it has something to do for itself up to an instant.
    pub(super) fn works_until(&self, end: SimTime) -> bool {
        self.is_at_work() || self.next_own_step().is_some_and(|next| next <= end)
    }

    /// Makes a step now, whenever it were due.
    pub(super) fn step_at_once(&mut self) {
        self.step();
        self.catch_up(self.now);
    }

    /// When the next step of its own is due.
    pub(super) fn next_own_step(&self) -> Option<SimTime> {
        if self.own.copying > 0 || self.own.is_flushing {
            return None;
        }
        let work = self.has_work().then_some(self.own.next_at);
        [work, self.own.scrub_at].into_iter().flatten().min()
    }

    /// Makes a step.
    pub(super) fn step(&mut self) {
        if let (Some(at), Some(every)) = (self.own.scrub_at, self.config.scrub_every)
            && at <= self.now
        {
            self.own.scrub_at = Some(at.saturating_add(every.max(Nanos(1))));
            self.own.scrub.get_or_insert(0);
        }
        if !self.has_work() {
            return;
        }
        let Some((units, to)) = self.pick() else { return self.end_pass() };
        let (range, is_scrub) = (self.sectors_of(&units), to.is_empty());
        let time = range.len_bytes() as u128 * 1_000_000_000 / u128::from(self.config.rebuild_rate.max(1));
        self.own.next_at = self.now.saturating_add(Nanos(u64::try_from(time).unwrap_or(u64::MAX).max(1)));
        self.own.copying = 1;
        self.own.is_step_failed = false;
        self.own.step = None;
        if !is_scrub {
            // What holds nothing need not be written.
            let (units, is_empty) = self.in_one_state(units);
            let range = self.sectors_of(&units);
            self.own.step = Some((units.start, units.end, self.own.place.0 == 0));
            self.own.place.1 = units.end;
            if is_empty {
                let zeros = Request::write_zeroes(range).with_may_unmap();
                to.iter().for_each(|member| self.change_on(*member, zeros.clone(), changes::Why::Copy));
                return self.copied();
            }
            let id = self.new_id();
            return self.read(id, range, Origin::ArrayRepair, reads::Why::Copy(to));
        }
        let id = self.new_id();
        self.read(id, range, Origin::ArrayRepair, reads::Why::Scrub);
    }

    /// The first of these units that hold something, or nothing; and whether it is nothing. They lie in one run of the layout.
    fn in_one_state(&self, units: Range<u64>) -> (Range<u64>, bool) {
        let range = self.sectors_of(&units);
        let run = &self.layout.runs()[self.layout.find(range.start)];
        let good = |(_, place): &(usize, &(usize, Lba))| {
            let member = &self.members[place.0];
            member.is_present() && !member.stale().touches(units.clone())
        };
        let Some((place, (member, _))) = run.places.iter().enumerate().find(good) else { return (units, false) };
        let mut told: Vec<Extent> = Vec::new();
        let there = SectorRange::new(run.at(place, range.start), range.count);
        wane_blockdev::all_extents(&self.members[*member].device, there, &mut told);
        let is_hole = |extent: &Extent| extent.state == ExtentState::Hole;
        let is_empty = told.first().is_some_and(is_hole);
        let alike = told.iter().take_while(|extent| is_hole(extent) == is_empty);
        let sectors = alike.fold(Sectors::ZERO, |sum, extent| sum + extent.range.count);
        // A unit of which a part holds something is copied.
        let whole = if is_empty { sectors.0 / self.unit.0 } else { sectors.0.div_ceil(self.unit.0) };
        if whole == 0 { (units.start..units.start + 1, false) } else { (units.start..units.start + whole, is_empty) }
    }

    /// The units of the next step, and the members to which they are copied; none for a scrub. The step ends with this run of the layout.
    fn pick(&mut self) -> Option<(Range<u64>, Vec<usize>)> {
        let all = self.capacity.0 / self.unit.0;
        let most = (self.config.rebuild_chunk.0 / self.unit.0).max(1);
        let in_run = |units: Range<u64>| {
            let run = &self.layout.runs()[self.layout.find(Lba(units.start * self.unit.0))];
            let end = (run.range.start.0 + run.range.count.0) / self.unit.0;
            units.start..units.end.min(end).min(units.start + most)
        };
        while self.own.is_due && self.own.place.0 <= self.members.len() {
            let (list, from) = self.own.place;
            let found = match list.checked_sub(1) {
                None => self.differs.next(from..all),
                Some(member) if self.members[member].is_online() => self.members[member].stale().next(from..all),
                Some(_) => None,
            };
            let Some(units) = found.map(in_run) else {
                self.own.place = (list + 1, 0);
                continue;
            };
            let units = if list == 0 { self.alike(units) } else { units };
            self.own.place.1 = units.end;
            let to = match list.checked_sub(1) {
                Some(member) => vec![member],
                None => self.others(units.clone()),
            };
            if to.is_empty() {
                // One copy is there, which cannot differ from another.
                self.differs.remove(units);
                continue;
            }
            return Some((units, to));
        }
        if self.own.is_due {
            return None;
        }
        let from = self.own.scrub?;
        if from == all {
            self.own.scrub = None;
            return None;
        }
        let units = in_run(from..all);
        self.own.scrub = Some(units.end);
        Some((units, Vec::new()))
    }

    /// The first of these units, up to where another member is stale.
    pub(super) fn alike(&self, units: Range<u64>) -> Range<u64> {
        let mut end = units.end;
        for member in self.members.iter() {
            let next = member.stale().next(units.clone());
            end = match next {
                Some(stale) if stale.start == units.start => end.min(stale.end),
                Some(stale) => end.min(stale.start),
                None => end,
            };
        }
        units.start..end
    }

    /// The members that are to be made equal to the first good copy.
    fn others(&self, units: Range<u64>) -> Vec<usize> {
        let run = &self.layout.runs()[self.layout.find(Lba(units.start * self.unit.0))];
        let present = run.places.iter().map(|place| place.0).filter(|member| self.members[*member].is_present());
        let mut good = present.filter(|member| !self.members[*member].stale().touches(units.clone()));
        let _first = good.next();
        good.filter(|member| self.members[*member].is_online()).collect()
    }

    /// A request of the present step is complete.
    pub(super) fn copied(&mut self) {
        let Some(step) = self.own.step else {
            self.own.copying = self.own.copying.saturating_sub(1);
            return;
        };
        // The last one is the step itself.
        if self.own.copying > 1 {
            return;
        }
        self.own.copying = 0;
        let (start, end, is_about_differing) = step;
        self.own.step = None;
        if is_about_differing && !self.own.is_step_failed {
            self.differs.remove(start..end);
        }
    }

    /// All lists are done. Begins again if that is of use; otherwise makes durable what was copied.
    fn end_pass(&mut self) {
        if !self.own.is_due {
            return;
        }
        self.own.place = (0, 0);
        if self.has_to_copy() && std::mem::take(&mut self.own.progressed) {
            return;
        }
        self.own.progressed = false;
        self.own.is_due = false;
        let is_complete = self.own.is_degraded && self.members.iter().all(super::Member::is_online);
        if std::mem::take(&mut self.own.moved) || is_complete {
            let id = self.new_id();
            self.own.is_flushing = true;
            self.flush(id, true);
        }
    }

    /// Its own flush ended.
    pub(super) fn flushed(&mut self, is_done: bool) {
        self.own.is_flushing = false;
        if is_done {
            self.tell_if_rebuilt();
        }
    }

    /// Tells once that all copies are there again, on the disk.
    pub(super) fn tell_if_rebuilt(&mut self) {
        if !self.own.is_degraded {
            return;
        }
        // What no copy has cannot be copied.
        let is_whole = |member: &super::Member| {
            let (mut at, bound) = (0, self.capacity.0 / self.unit.0);
            while let Some(run) = member.stale().next(at..bound) {
                at = run.end;
                if !run.clone().all(|unit| self.own.lost.holds(unit)) {
                    return false;
                }
            }
            true
        };
        if self.members.iter().all(|member| member.is_online() && is_whole(member)) {
            self.own.is_degraded = false;
            self.tell(NoticeKind::Rebuilt);
        }
    }
}
