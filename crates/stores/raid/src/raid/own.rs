//! What a parity array does for itself, at instants of its own: it makes parities fit after a power cut, gives members what they miss, and scrubs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wane_blockdev::{Completion, SectorRange};
use wane_units::{Nanos, Sectors, SimTime};

use super::map::Rows;
use super::member::{Joins, Member};
use super::reads::{slice, slice_mut};
use super::undo::Undo;
use super::{New, Operation, Raid, Step, Task};
use crate::bits::Bits;
use crate::code::add_scaled;

/// What an array did for itself since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaidRepairs {
    /// Sectors that a member had lost, and got back from the others.
    pub repaired: Sectors,
    /// Sectors that a member refused when it was to get them back.
    pub refused: Sectors,
    /// Sectors that members were given that they had missed.
    pub rebuilt: Sectors,
    /// Stripes whose parities were made anew after a power cut.
    pub resynced: u64,
    /// Stripes that were read and compared.
    pub scrubbed: u64,
    /// Stripes whose parities did not fit although nothing said so.
    pub mismatched: u64,
    /// Of these, stripes in which the one chunk that was wrong was found and corrected.
    pub corrected: u64,
    /// Reads for which a member took so long that the others were read instead.
    pub read_around: u64,
    /// Sectors of the array that were lost.
    pub lost: Sectors,
}

/// What a scrub does about parities that do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scrub {
    /// Counts them.
    Check,
    /// Corrects the chunk that is wrong, if the code tells which; otherwise makes parities anew from data.
    Repair,
}

/// See the head of this file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Own {
    pub(super) repairs: RaidRepairs,
    /// The operation of its own that is under way.
    running: Option<u64>,
    next_at: SimTime,
    /// Where the search for what is stale goes on.
    cursor: u64,
    /// Stripes of which what is missing could not be made, until something changes.
    stuck: Bits,
    pub(super) scrub: Option<(u64, Scrub)>,
    scrub_at: Option<SimTime>,
    /// No spare fits where a member is lost.
    pub(super) no_spare_fits: bool,
    /// Something was done since the last checkpoint that it should know.
    has_news: bool,
}

impl Own {
    pub(super) fn new(stripes: u64, now: SimTime, scrub_every: Option<Nanos>) -> Self {
        Self {
            repairs: RaidRepairs::default(),
            running: None,
            next_at: now,
            cursor: 0,
            stuck: Bits::new(stripes),
            scrub: None,
            scrub_at: scrub_every.map(|every| now.saturating_add(every)),
            no_spare_fits: false,
            has_news: false,
        }
    }

    /// What was under way is no more.
    pub(super) fn cut(&mut self, stripes: u64) {
        (self.running, self.cursor, self.has_news) = (None, 0, false);
        self.stuck = Bits::new(stripes);
    }
}

impl Raid {
    /// What it did for itself so far.
    pub fn repairs(&self) -> RaidRepairs {
        RaidRepairs { lost: self.lost.sectors(), ..self.own.repairs }
    }

    /// Begins a scrub: all stripes are read and compared, in the array's own time. What a member lost is written again.
    ///
    /// # Panics
    /// `at` lies before an instant that the device was given earlier.
    pub fn scrub(&mut self, at: SimTime, how: Scrub) {
        if !self.is_off {
            self.catch_up(at);
            self.own.scrub.get_or_insert((0, how));
            self.own.next_at = self.own.next_at.max(at);
        }
    }

    /// Whether it works for itself, or is about to.
    pub fn is_at_work(&self) -> bool {
        let joins = self.members.iter().any(|member| member.is_online() && member.joins != Joins::Not);
        let has_own = self.own.running.is_some() || self.own.scrub.is_some();
        !self.is_off && (joins || has_own || self.has_to_move() || self.next_own().is_some())
    }

    /// Sectors of members that are to be written until nothing is missing.
    pub fn sectors_to_rebuild(&self) -> Sectors {
        let of = |member: &Member| if member.is_online() { member.stale.len() } else { 0 };
        let stale: u64 = self.members.iter().map(of).sum();
        Sectors((stale + self.differs.len()) * self.map.chunk)
    }

    /// What is missing of a stripe may be made again.
    pub(super) fn own_again(&mut self, stripe: u64) {
        self.own.stuck.remove(stripe..stripe + 1);
    }

    /// What is missing may be made again.
    pub(super) fn look_again(&mut self) {
        self.own.stuck = Bits::new(self.map.stripes());
        self.own.cursor = 0;
    }

    /// The next stripe that needs something, and what.
    fn next_own(&self) -> Option<(u64, Task)> {
        let all = self.map.stripes();
        let from = self.own.cursor.min(all);
        let not_stuck = |bits: &Bits, mut range: std::ops::Range<u64>| {
            while let Some(run) = bits.next(range.clone()) {
                if let Some(stripe) = run.clone().find(|stripe| !self.own.stuck.holds(*stripe)) {
                    return Some(stripe);
                }
                range.start = run.end;
            }
            None
        };
        let find = |bits: &Bits| not_stuck(bits, from..all).or_else(|| not_stuck(bits, 0..from));
        if let Some(stripe) = find(&self.differs) {
            return Some((stripe, Task::Resync));
        }
        let online = self.members.iter().filter(|member| member.is_online());
        let stale = online.filter_map(|member| find(&member.stale)).min_by_key(|stripe| (*stripe < from, *stripe));
        stale.map(|stripe| (stripe, Task::Rebuild))
    }

    /// When the next step of its own is due.
    pub(super) fn next_own_step(&self) -> Option<SimTime> {
        if self.own.running.is_some() || self.is_off {
            return None;
        }
        let is_due = self.has_own_work();
        let work = is_due.then_some(self.own.next_at);
        [work, self.own.scrub_at].into_iter().flatten().min()
    }

    fn has_own_work(&self) -> bool {
        let is_lost = |member: &Member| !member.is_present() && !member.is_out && !member.is_retired;
        if !self.spares.is_empty() && !self.own.no_spare_fits && self.members.iter().any(is_lost) {
            return true;
        }
        let is_missing = !self.differs.is_empty()
            || self.members.iter().any(|member| member.is_online() && !member.stale.is_empty());
        self.own.scrub.is_some() || self.has_to_move() || is_missing && self.next_own().is_some()
    }

    /// Makes a step.
    pub(super) fn step(&mut self) {
        if let (Some(at), Some(every)) = (self.own.scrub_at, self.config.scrub_every)
            && at <= self.now
        {
            self.own.scrub_at = Some(at.saturating_add(every.max(Nanos(1))));
            self.own.scrub.get_or_insert((0, Scrub::Repair));
        }
        self.use_spares();
        if self.own.running.is_some() || self.own.next_at > self.now {
            return;
        }
        let next = self.next_own().or_else(|| self.next_to_move()).or_else(|| self.next_to_scrub());
        let Some((stripe, task)) = next else { return };
        self.own.cursor = stripe + 1;
        let bytes = u128::from(self.map.chunk) * 512 * self.map.width as u128;
        let time = bytes * 1_000_000_000 / u128::from(self.config.rebuild_rate.max(1));
        self.own.next_at = self.now.saturating_add(Nanos(u64::try_from(time).unwrap_or(u64::MAX).max(1)));
        let operation = self.own_operation(stripe, task);
        self.own.running = Some(self.next_id);
        self.enter(operation);
        self.begin_ready();
    }

    /// Makes a step now, whenever it were due.
    pub(super) fn step_at_once(&mut self) {
        self.own.next_at = self.own.next_at.min(self.now);
        self.step();
        self.catch_up(self.now);
    }

    fn next_to_scrub(&mut self) -> Option<(u64, Task)> {
        let (from, how) = self.own.scrub?;
        match self.written.next(from..self.map.stripes()) {
            Some(run) => {
                self.own.scrub = Some((run.start + 1, how));
                Some((run.start, Task::Scrub(how)))
            }
            None => {
                self.own.scrub = None;
                None
            }
        }
    }

    /// An operation of its own begins.
    pub(super) fn begin_own(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.step = Step::Reads;
        let (stripe, task) = (operation.block.stripe, operation.task.clone());
        if !self.written.holds(stripe) {
            self.differs.remove(stripe..stripe + 1);
            self.members.iter_mut().for_each(|member| member.stale.remove(stripe..stripe + 1));
            return self.go_on_or_leave(id);
        }
        if task != Task::Rebuild {
            return self.read_whole(id);
        }
        let targets = self.targets(stripe);
        let mut have: Vec<usize> =
            (0..self.coder.width()).filter(|position| self.is_usable(stripe, *position)).collect();
        // The first ones are read that are enough.
        have.sort_by_key(|position| self.is_spared(self.map.member(stripe, *position)));
        match self.coder.solve(&targets, &have).filter(|_| self.trusts_parity(stripe)) {
            Some(sums) => {
                let mut sources: Vec<usize> = sums.iter().flatten().map(|term| term.0).collect();
                sources.sort_unstable();
                sources.dedup();
                sources.iter().for_each(|position| self.ask_read(id, *position));
                if sources.is_empty() {
                    self.was_prepared(id);
                }
            }
            // Of data that are lost parities have zeros.
            None if self.is_given_up(stripe) => self.read_whole(id),
            None => {
                // More members are missing than the code tolerates.
                self.own.stuck.insert_one(stripe);
                self.go_on_or_leave(id);
            }
        }
    }

    /// Positions that members could have again.
    fn targets(&self, stripe: u64) -> Vec<usize> {
        let is_target = |position: &usize| {
            let member = &self.members[self.map.member(stripe, *position)];
            member.is_online() && member.stale.holds(stripe)
        };
        (0..self.coder.width()).filter(is_target).collect()
    }

    /// What an operation of its own needs was read.
    pub(super) fn prepare_own(&mut self, operation: &mut Operation) {
        match operation.task {
            Task::Rebuild => {
                let mut targets = self.targets(operation.block.stripe);
                // A member that came back meanwhile gets what was read for it, or waits for its turn.
                let asked: Vec<usize> =
                    (0..self.coder.width()).filter(|position| operation.chunks[*position].is_asked).collect();
                targets.retain(|target| operation.is_whole || self.coder.solve(&[*target], &asked).is_some());
                self.prepare_rebuild(operation, &targets);
            }
            Task::Move => {
                let position = self.moving_position(operation.block.stripe);
                self.prepare_rebuild(operation, position.as_slice());
            }
            Task::Resync => {
                let parities: Vec<usize> = (self.coder.data()..self.coder.width())
                    .filter(|position| self.is_usable(operation.block.stripe, *position))
                    .collect();
                self.make_whole(operation, &parities);
            }
            Task::Scrub(how) => self.compare(operation, how),
            _ => {}
        }
    }

    fn prepare_rebuild(&mut self, operation: &mut Operation, targets: &[usize]) {
        let stripe = operation.block.stripe;
        let all = operation.block.rows.clone();
        let length = (all.end - all.start) as usize * 512;
        let mut parities = Vec::new();
        for target in targets.iter().copied() {
            let parts = self.recovered(operation, target);
            if target >= self.coder.data() && parts.iter().any(|(_, bytes)| bytes.is_none()) {
                parities.push(target);
                continue;
            }
            let mut made = vec![0; if self.features.keeps_bytes { length } else { 0 }];
            for (rows, bytes) in parts {
                match bytes {
                    Some(bytes) if self.features.keeps_bytes => {
                        slice_mut(&mut made, &all, &rows).copy_from_slice(&bytes);
                    }
                    Some(_) => {}
                    // A sector that is lost stays one sector's error, and the rebuild goes on.
                    None => self.lost.insert(self.map.host(stripe, target, &rows)),
                }
            }
            operation.chunks[target].new = Some(if self.features.keeps_bytes { New::Bytes(made) } else { New::Blank });
        }
        if !parities.is_empty() {
            // Of data that are lost a parity has zeros.
            self.make_whole(operation, &parities);
        }
        let known: Vec<_> = (0..self.coder.width())
            .filter(|position| !operation.chunks[*position].bad.is_empty())
            .map(|position| (position, self.recovered(operation, position)))
            .collect();
        self.plan_repairs(operation, &known);
    }

    /// Compares the parities of a stripe with its data.
    fn compare(&mut self, operation: &mut Operation, how: Scrub) {
        self.own.repairs.scrubbed += 1;
        let stripe = operation.block.stripe;
        let width = self.coder.width();
        let known: Vec<_> = (0..width)
            .filter(|position| !operation.chunks[*position].bad.is_empty())
            .map(|position| (position, self.recovered(operation, position)))
            .collect();
        for (position, parts) in &known {
            let unknown = parts.iter().filter(|(_, bytes)| bytes.is_none());
            for (rows, _) in unknown.filter(|_| *position < self.coder.data()) {
                self.lost.insert(self.map.host(stripe, *position, rows));
            }
        }
        self.plan_repairs(operation, &known);
        let is_whole = operation.chunks.iter().all(|chunk| chunk.is_asked && chunk.bad.is_empty());
        if !is_whole || !self.features.keeps_bytes {
            return;
        }
        let all = operation.block.rows.clone();
        let (mut is_wrong, mut was_found) = (false, true);
        let mut corrections = Vec::new();
        for row in all.clone() {
            let rows = row..row + 1;
            if self.fits(operation, &all, &rows, None) {
                continue;
            }
            is_wrong = true;
            if how == Scrub::Check {
                continue;
            }
            let mut liars = (0..width).filter(|position| self.fits(operation, &all, &rows, Some(*position)));
            let (first, second) = (liars.next(), liars.next());
            if let (Some(liar), None) = (first, second) {
                corrections.extend(self.correction(operation, &all, &rows, liar));
                continue;
            }
            was_found = false;
            for parity in self.coder.data()..width {
                corrections.extend(self.correction(operation, &all, &rows, parity));
            }
        }
        self.correct(operation, &all, corrections);
        self.own.repairs.mismatched += u64::from(is_wrong);
        self.own.repairs.corrected += u64::from(is_wrong && was_found && how == Scrub::Repair);
    }

    /// Whether all parities fit, if one position has what follows from others.
    fn fits(&self, operation: &Operation, all: &Rows, rows: &Rows, instead: Option<usize>) -> bool {
        let data = self.coder.data();
        let of = |position: usize| slice(operation.chunks[position].old.as_deref().unwrap_or(&[]), all, rows);
        let replaced = instead.and_then(|position| self.follows(operation, all, rows, position));
        if instead.is_some() && replaced.is_none() {
            return false;
        }
        let contents = |position: usize| match (&replaced, instead) {
            (Some(bytes), Some(liar)) if liar == position => &bytes[..],
            _ => of(position),
        };
        (0..self.coder.parities()).all(|parity| {
            let mut sum = contents(data + parity).to_vec();
            (0..data).for_each(|chunk| add_scaled(&mut sum, self.coder.coefficient(parity, chunk), contents(chunk)));
            sum.iter().all(|byte| *byte == 0)
        })
    }

    /// What a position would hold by the others.
    fn follows(&self, operation: &Operation, all: &Rows, rows: &Rows, position: usize) -> Option<Vec<u8>> {
        let have: Vec<usize> = (0..self.coder.width()).filter(|other| *other != position).collect();
        let sums = self.coder.solve(&[position], &have)?;
        let mut made = vec![0; 512];
        for (from, factor) in sums.into_iter().flatten() {
            let bytes = operation.chunks[from].old.as_deref()?;
            add_scaled(&mut made, factor, slice(bytes, all, rows));
        }
        Some(made)
    }

    /// What a position is to hold in a row: the position, the row and its bytes.
    fn correction(
        &self,
        operation: &Operation,
        all: &Rows,
        row: &Rows,
        position: usize,
    ) -> Option<(usize, u64, Vec<u8>)> {
        self.follows(operation, all, row, position).map(|bytes| (position, row.start, bytes))
    }

    /// Has corrected rows written, by whole units: a member writes a part of a unit by reading the rest, which it may have wrong, too.
    fn correct(&self, operation: &mut Operation, all: &Rows, corrections: Vec<(usize, u64, Vec<u8>)>) {
        let mut units: BTreeMap<(usize, u64), Vec<u8>> = BTreeMap::new();
        let of_unit = |row: u64| row - row % self.unit.0..(row - row % self.unit.0 + self.unit.0).min(all.end);
        for (position, row, bytes) in corrections {
            let unit = of_unit(row);
            let old = || slice(operation.chunks[position].old.as_deref().unwrap_or(&[]), all, &unit).to_vec();
            let new = units.entry((position, unit.start)).or_insert_with(old);
            slice_mut(new, &unit, &(row..row + 1)).copy_from_slice(&bytes);
        }
        let repairs = units.into_iter().map(|((position, start), bytes)| (position, of_unit(start), Some(bytes)));
        operation.repairs.extend(repairs);
    }

    /// An operation of its own ends.
    pub(super) fn end_own(&mut self, operation: &Operation) {
        let stripe = operation.block.stripe;
        let is_done = operation.chunks.iter().all(|chunk| chunk.refused.is_none());
        match operation.task {
            Task::Rebuild => {
                for position in 0..self.coder.width() {
                    let chunk = &operation.chunks[position];
                    if chunk.was_written && chunk.refused.is_none() {
                        let member = self.map.member(stripe, position);
                        self.members[member].stale.remove(stripe..stripe + 1);
                        // Until a checkpoint has it.
                        self.commits.lacks.insert(member);
                        self.commits.lacks_if_cut.insert(member);
                        self.members[member].is_full = false;
                        self.own.repairs.rebuilt += Sectors(self.map.chunk);
                    }
                }
                if !is_done {
                    self.own.stuck.insert_one(stripe);
                }
                self.own.has_news = true;
            }
            Task::Move => {
                let is_copied = is_done && operation.chunks.iter().any(|chunk| chunk.was_written);
                if is_copied || !self.written.holds(stripe) {
                    self.note_copied(stripe, true);
                }
            }
            Task::Resync if is_done => {
                self.differs.remove(stripe..stripe + 1);
                self.own.repairs.resynced += 1;
                self.own.has_news = true;
            }
            Task::Resync => self.own.stuck.insert_one(stripe),
            Task::Unwrite => self.end_unwrite(operation),
            _ => {}
        }
    }

    /// An operation left: if it was the array's own, the next may come.
    pub(super) fn own_left(&mut self, id: u64) {
        if self.own.running != Some(id) {
            return;
        }
        self.own.running = None;
        if self.own.has_news && self.next_own().is_none() {
            self.own.has_news = false;
            self.want_checkpoint();
        }
    }

    /// A member answers what was to repair it. Changes that are taken back are no repairs.
    pub(super) fn count_repair(&mut self, id: u64, completion: &Completion) {
        if self.operations.get(&id).is_some_and(|operation| operation.undo == Undo::Not) {
            let repairs = &mut self.own.repairs;
            let counted = if completion.status.is_done() { &mut repairs.repaired } else { &mut repairs.refused };
            *counted += completion.range.count;
        }
    }

    /// Sectors of a range of which nothing is known any more.
    pub fn lost_sectors(&self, range: SectorRange) -> Vec<SectorRange> {
        self.lost.within(range).collect()
    }
}
