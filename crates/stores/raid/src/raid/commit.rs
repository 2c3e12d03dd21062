//! How what an array acknowledges becomes durable: in cycles, one after the other.
//!
//! A cycle serves the flushes and the changes that wait for it together: members flush; if need be the checkpoint is written anew; an entry of the ring
//! holds the records; the members that have the ring flush. Then the changes go to their places and the flushes end.
//!
//! A stripe that held nothing is written in place without a record. It counts as written from the next flush on, which makes it so after its data are
//! durable; until then a power cut leaves zeros. During such a flush nothing else changes these stripes.

use wane_blockdev::{NoticeKind, Origin, RangeSet, Request, RequestId, SectorRange, Status};

use super::commits::{InBatch, Journal, Placed, Stage};
use super::map::Block;
use super::member::{Joins, Member};
use super::meta::{self, Checkpoint, Entry, Record, Superblock, runs};
use super::recorded::Recorded;
use super::{Child, New, Operation, Raid, Step, Task, packed};
use crate::bits::Bits;

/// Units of the ring that a batch writes on the same members before others take their turn.
const ENTRY_UNITS: u64 = 64;

impl Raid {
    /// A change may go to its place, after a record of it if it needs one.
    pub(super) fn log(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        if self.leaves_out(operation) {
            return self.prepare_again(id);
        }
        let (stripe, task) = (operation.block.stripe, operation.task.clone());
        let tile = stripe / self.map.tile;
        if self.commits.fresh.holds(stripe) && task == Task::Write {
            if self.commits.in_batch == InBatch::Hollow {
                self.write_ring_for(id);
            }
            return self.write(id);
        }
        if task == Task::Unwrite && self.commits.fresh.holds(stripe) {
            // What a power cut leaves of it holds nothing already.
            self.commits.fresh.remove(stripe..stripe + 1);
            return self.write(id);
        }
        let (recorded, needs_record) = (self.recorded(operation), self.needs_record(operation));
        if recorded == Recorded::Tile {
            // Until members flush, nothing says what its parities should be.
            self.commits.touched.insert_one(tile);
        }
        if !needs_record {
            return self.write(id);
        }
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.step = Step::Logs;
        }
        self.commits.logging.push_back(id);
        self.commit_if_due();
    }

    /// Whether a change of a stripe that holds something may not go to its place without more.
    fn needs_record(&self, operation: &Operation) -> bool {
        self.recorded(operation) != Recorded::Tile || !self.commits.dirty.holds(operation.block.stripe / self.map.tile)
    }

    /// Bytes of the record of a change in a batch, for which members write `parts` chunks of `bytes`. A batch counts as flushed: what it changes is
    /// recorded, also in a stripe that its host never flushed. Of an array that keeps bytes nothing durable says that a tile may not fit, so that a change
    /// of it records that itself.
    pub(super) fn logged_quickly(&mut self, stripe: u64, parts: usize, bytes: usize) -> usize {
        let tile = stripe / self.map.tile;
        let is_noted = self.commits.dirty.holds(tile) || self.features.keeps_bytes && self.commits.touched.holds(tile);
        self.commits.touched.insert_one(tile);
        match self.config.journal {
            Journal::Full | Journal::Ppl => self.config.journal.batch_record_bytes(bytes, parts),
            Journal::None if is_noted => 0,
            Journal::None => {
                if !self.features.keeps_bytes {
                    self.commits.dirty.insert_one(tile);
                }
                16
            }
        }
    }

    /// Takes note of bytes of records in a batch. Returns what members write of the ring for them, a unit at a time, and a checkpoint each time that half
    /// of the ring is full. It does not depend on where a batch ends.
    pub(super) fn ring_for(&mut self, bytes: usize) -> Vec<(usize, SectorRange)> {
        self.commits.pending += bytes;
        let mut writes = Vec::new();
        while self.commits.pending >= self.areas.unit_bytes() {
            self.commits.pending -= self.areas.unit_bytes();
            let head = match self.features.keeps_bytes {
                // Entries that count lie there, and the next one goes behind them.
                true => self.commits.turn % self.areas.ring,
                false if self.commits.head >= self.areas.ring => 0,
                false => self.commits.head,
            };
            let holders = self.holders_of(self.commits.turn / ENTRY_UNITS);
            writes.extend(holders.into_iter().map(|member| (member, self.areas.ring(head, 1))));
            self.commits.turn += 1;
            if !self.features.keeps_bytes {
                self.commits.head = head + 1;
            }
            self.commits.since += 1;
            if self.commits.since * 2 > self.areas.ring {
                self.commits.since = 0;
                let units = self.areas.units(self.commits.bytes);
                for member in self.ring_members() {
                    writes.push((member, self.areas.checkpoint(self.members[member].place, units)));
                    writes.extend((0..2).map(|copy| (member, self.areas.superblock(copy))));
                }
            }
        }
        writes
    }

    /// The same of a change that is carried out by itself in a batch.
    fn write_ring_for(&mut self, id: u64) {
        let bytes = self.operations.get(&id).map_or(0, |operation| self.room_of(operation));
        for (member, range) in self.ring_for(bytes) {
            let request = New::Blank.request(range).with_origin(Origin::ArrayParity);
            self.ask(member, request, Child::Commit { cycle: u64::MAX });
        }
    }

    /// Whether a change of a stripe has to wait until that counts as written.
    pub(super) fn hold(&mut self, id: u64, stripe: u64) -> bool {
        let holds = self.commits.stage != Stage::Idle && self.commits.closing.holds(stripe);
        if holds {
            self.commits.held.push(id);
            if let Some(operation) = self.operations.get_mut(&id) {
                operation.step = Step::Waits;
            }
        }
        holds
    }

    /// A stripe holds something that held nothing.
    pub(super) fn note_first(&mut self, stripe: u64) {
        self.commits.fresh.insert_one(stripe);
    }

    /// Asks for a checkpoint, for what cannot wait for the next.
    pub(super) fn want_checkpoint(&mut self) {
        self.commits.wants_checkpoint = true;
        self.commit_if_due();
    }

    /// Whether a cycle is under way or due.
    pub(super) fn is_committing(&self) -> bool {
        self.commits.stage != Stage::Idle || !self.commits.logging.is_empty() || !self.commits.ready.is_empty()
    }

    /// Begins a cycle if something waits for one.
    pub(super) fn commit_if_due(&mut self) {
        if self.commits.stage != Stage::Idle || self.is_off {
            return;
        }
        let has_work =
            !self.commits.ready.is_empty() || !self.commits.logging.is_empty() || !self.commits.records.is_empty();
        if !has_work && !self.commits.wants_checkpoint {
            return;
        }
        let is_low = self.commits.used() * 2 > self.areas.ring;
        let is_movable = self.commits.entries.front().is_none_or(|entry| entry.open == 0);
        if self.commits.is_blocked && !is_movable {
            return;
        }
        let has_changes = self.commits.entries.iter().any(|entry| entry.has_changes) && is_movable;
        let is_none = self.config.journal == Journal::None && !self.is_degraded;
        let is_clean = is_none && (self.commits.has_stale || has_changes);
        self.commits.with_checkpoint = self.commits.wants_checkpoint && (is_movable || !self.commits.is_formatted)
            || self.commits.must_raise
            || self.commits.must_equalize
            || is_low && is_movable
            || is_clean;
        if !has_work && !self.commits.with_checkpoint {
            return;
        }
        self.commits.flushes = std::mem::take(&mut self.commits.ready);
        self.commits.failed = None;
        self.commits.closing = if self.commits.flushes.is_empty() { Bits::new(0) } else { self.commits.fresh.clone() };
        self.begin_cycle();
    }

    fn begin_cycle(&mut self) {
        self.commits.cycle += 1;
        self.commits.waits = 0;
        self.commits.is_flushed = false;
        self.commits.is_entered = false;
        self.commits.stage = Stage::Drain;
        self.commit_on();
    }

    /// Runs a whole cycle without waiting for members.
    pub(super) fn commit_at_once(&mut self) {
        // What is under way goes on by itself; what waits is served with it.
        self.commits.is_instant = true;
        if self.commits.stage != Stage::Idle {
            self.commits.waits = 0;
            self.commit_on();
        }
        if !self.commits.fresh.is_empty() || self.commits.must_raise {
            self.commits.closing = self.commits.fresh.clone();
            // What is under way there is not in its place yet.
            for operation in self.operations.values().filter(|operation| operation.task != Task::Read) {
                self.commits.closing.remove(operation.block.stripe..operation.block.stripe + 1);
            }
            self.commits.with_checkpoint = self.commits.must_raise || self.commits.used() * 2 > self.areas.ring;
            self.begin_cycle();
        }
        self.commits.is_instant = false;
    }

    /// Whether a change of a stripe that is to count as written is under way.
    fn is_draining(&self) -> bool {
        !self.commits.closing.is_empty()
            && self.operations.values().any(|operation| {
                let is_at_work = matches!(operation.step, Step::Reads | Step::After | Step::Writes);
                operation.task != Task::Read && is_at_work && self.commits.closing.holds(operation.block.stripe)
            })
    }

    /// Goes through the stages of a cycle, up to one that waits.
    pub(super) fn commit_on(&mut self) {
        while self.commits.waits == 0 && self.commits.stage != Stage::Idle {
            let with_checkpoint = self.commits.with_checkpoint;
            self.commits.stage = match self.commits.stage {
                Stage::Drain if self.is_draining() && !self.commits.is_instant => return,
                // Copies are durable before a record says that they count.
                Stage::Drain
                    if with_checkpoint
                        || !self.commits.flushes.is_empty()
                        || !self.commits.records.is_empty()
                        || self.awaits_flush()
                        || self.commits.is_instant =>
                {
                    self.begin_flush();
                    Stage::FlushMembers
                }
                Stage::FlushMembers if !std::mem::replace(&mut self.commits.is_flushed, true) => {
                    self.unsure.end_flush(RequestId(self.commits.cycle), self.commits.failed.is_none());
                    Stage::FlushMembers
                }
                Stage::FlushMembers if with_checkpoint => {
                    self.write_checkpoint();
                    Stage::WriteCheckpoint
                }
                Stage::WriteCheckpoint => {
                    self.flush_for_commit(&self.ring_members());
                    Stage::FlushCheckpoint
                }
                Stage::FlushCheckpoint => {
                    self.write_superblocks();
                    Stage::WriteSuperblocks
                }
                Stage::WriteSuperblocks => {
                    self.flush_for_commit(&self.ring_members());
                    Stage::FlushSuperblocks
                }
                // A member was lost meanwhile: the others say so before anything is acknowledged that it lacks.
                Stage::FlushSuperblocks | Stage::FlushEntry if self.commits.must_raise => {
                    if self.commits.stage == Stage::FlushSuperblocks {
                        self.end_checkpoint();
                    } else {
                        self.end_entry();
                    }
                    self.checkpoint_first()
                }
                Stage::Drain | Stage::FlushMembers | Stage::FlushSuperblocks => self.enter_or_end(),
                Stage::WriteEntry => {
                    let mut holders = std::mem::take(&mut self.commits.holders);
                    holders.retain(|member| self.members[*member].is_online());
                    self.flush_for_commit(&holders);
                    Stage::FlushEntry
                }
                Stage::FlushEntry => {
                    self.end_entry();
                    self.end_cycle()
                }
                Stage::Idle => Stage::Idle,
            };
            if self.commits.is_instant {
                self.commits.waits = 0;
            }
        }
        if self.commits.stage == Stage::Idle {
            self.commit_if_due();
        }
    }

    /// An entry is written if there is something for one; otherwise the cycle ends, unless a member was lost of which the others do not say so yet.
    fn enter_or_end(&mut self) -> Stage {
        if self.commits.stage == Stage::FlushSuperblocks {
            self.end_checkpoint();
        }
        if !self.commits.is_entered && self.write_entry() {
            Stage::WriteEntry
        } else if self.commits.must_raise && !self.commits.flushes.is_empty() {
            self.checkpoint_first()
        } else {
            self.end_cycle()
        }
    }

    /// A checkpoint comes before this cycle ends.
    fn checkpoint_first(&mut self) -> Stage {
        self.commits.with_checkpoint = true;
        self.note_lacking();
        self.begin_checkpoint();
        self.flush_present();
        Stage::FlushMembers
    }

    /// Members flush what is in its place.
    fn begin_flush(&mut self) {
        self.commits.unflushed = Bits::new(self.map.stripes());
        self.commits.recording = self.commits.records.len();
        self.note_lacking();
        self.begin_checkpoint();
        self.unsure.begin_flush(RequestId(self.commits.cycle));
        self.flush_present();
    }

    /// What a member is given from now on may not be durable when the flush ends that begins now.
    fn note_lacking(&mut self) {
        let closing = &self.commits.closing;
        let lacks = |member: &Member| {
            let mut lacks = if closing.is_empty() { Bits::new(0) } else { member.stale.clone() };
            lacks.keep(closing);
            lacks
        };
        self.commits.lacking = self.members.iter().map(lacks).collect();
    }

    /// Members that have superblocks and checkpoints.
    fn ring_members(&self) -> Vec<usize> {
        let counts = |member: &usize| self.members[*member].is_online() && !self.members[*member].is_retired;
        (0..self.members.len()).filter(counts).collect()
    }

    /// Members that have an entry of the ring: as many as leave one when as many are lost as the code tolerates.
    fn holders_of(&self, number: u64) -> Vec<usize> {
        let mut members = self.ring_members();
        // What is only written on a member that others do not count yet would be lost with them.
        let counted = |member: &usize| self.members[*member].joins == Joins::Not;
        let lap = self.areas.lap(self.config.code.tolerates() + 1, self.commits.bytes);
        if members.iter().filter(|member| counted(member)).count() >= lap.copies {
            members.retain(counted);
        }
        let sizes: Vec<u64> = members.iter().map(|member| u64::from(self.members[*member].slots)).collect();
        lap.holders(&sizes, number).into_iter().map(|number| members[number]).collect()
    }

    fn flush_for_commit(&mut self, members: &[usize]) {
        for member in members {
            self.commits.waits += 1;
            self.ask(*member, Request::flush(), Child::Commit { cycle: self.commits.cycle });
        }
    }

    /// Members that read and take no writes any more may still have something to make durable.
    fn flush_present(&mut self) {
        for member in 0..self.members.len() {
            if self.members[member].is_present() {
                self.commits.waits += 1;
                self.ask(member, Request::flush(), Child::Commit { cycle: self.commits.cycle });
            }
        }
    }

    /// Writes sealed bytes, or as much without contents.
    fn write_own(&mut self, member: usize, range: SectorRange, bytes: &[u8]) {
        let new = if self.features.keeps_bytes { New::Bytes(bytes.to_vec()) } else { New::Blank };
        self.commits.waits += 1;
        self.ask(
            member,
            new.request(range).with_origin(Origin::ArrayParity),
            Child::Commit { cycle: self.commits.cycle },
        );
    }

    /// A member answers.
    pub(super) fn committed_on(&mut self, cycle: u64, status: &Status) {
        if cycle != self.commits.cycle {
            return;
        }
        if !status.is_done() && !matches!(status, Status::Gone(_) | Status::ReadOnly(_)) {
            self.commits.failed = Some(status.clone());
        }
        if self.commits.waits > 0 {
            self.commits.waits -= 1;
            if self.commits.waits == 0 {
                self.commit_on();
            }
        }
    }

    /// What the checkpoint of this cycle will know: all entries before the first whose changes are not in their places.
    fn begin_checkpoint(&mut self) {
        if !self.commits.with_checkpoint {
            return;
        }
        // What is made good after the flush has begun may not be durable when it ends, and asks for the next checkpoint.
        self.commits.wants_checkpoint = false;
        self.commits.stale = self.members.iter().map(|member| member.stale.clone()).collect();
        self.commits.differs = self.differs.clone();
        let open = self.commits.entries.iter().find(|entry| entry.open > 0);
        self.commits.first = open.map_or(self.commits.next, |entry| entry.number);
        self.commits.touched = Bits::new(self.map.table.len());
        // Of what waits for its record, nothing is in its place; of what has it, all may come there before the next checkpoint. A stripe that does not
        // count yet has no parities that could not fit.
        let is_bare = |operation: &&Operation| {
            let is_fresh = self.commits.fresh.holds(operation.block.stripe);
            operation.task == Task::Write && operation.recorded == Recorded::Tile && !is_fresh
        };
        let placed = self.operations.values().filter(|operation| operation.step == Step::Writes);
        let entered = self.commits.entering.iter().filter_map(|id| self.operations.get(id));
        for operation in placed.chain(entered).filter(is_bare) {
            self.commits.touched.insert_one(operation.block.stripe / self.map.tile);
        }
    }

    /// Positions of stripes that would be stale after a power cut now, since a change is going to its place there of which the ring does not have the contents
    /// and a member was lost meanwhile.
    fn unfit_if_cut(&self) -> Vec<(u64, usize)> {
        let is_bare = |operation: &&Operation| {
            operation.task == Task::Write && operation.step == Step::Writes && operation.recorded == Recorded::Tile
        };
        let mut unfit = Vec::new();
        for operation in
            self.operations.values().filter(|_| self.is_degraded && !self.coder.has_copies()).filter(is_bare)
        {
            let stripe = operation.block.stripe;
            let missing = (0..self.coder.width()).filter(|position| !self.is_usable(stripe, *position));
            let missing: Vec<usize> = missing.collect();
            if !missing.is_empty() && !self.commits.fresh.holds(stripe) {
                let all = missing.into_iter().chain(self.coder.data()..self.coder.width());
                unfit.extend(all.map(|position| (stripe, position)));
            }
        }
        unfit
    }

    fn write_checkpoint(&mut self) {
        let mut written = self.written.clone();
        for (start, end) in runs(&self.commits.fresh, self.map.stripes()) {
            written.remove(start..end);
        }
        let mut dirty = match self.config.journal {
            Journal::None => self.commits.touched.clone(),
            Journal::Full | Journal::Ppl => Bits::new(self.map.table.len()),
        };
        for differs in [&self.differs, &self.commits.differs] {
            for (start, end) in runs(differs, self.map.stripes()) {
                dirty.insert(start / self.map.tile..(end - 1) / self.map.tile + 1);
            }
        }
        let mut stale = std::mem::take(&mut self.commits.stale);
        let (unfit, mut lost) = (self.unfit_if_cut(), self.lost.clone());
        for (stripe, position) in &unfit {
            stale[self.map.member(*stripe, *position)].insert_one(*stripe);
            if *position < self.coder.data() {
                lost.insert(self.map.host(*stripe, *position, &(0..self.map.chunk)));
            }
        }
        for (stale, member) in stale.iter_mut().zip(self.members.iter()) {
            stale.merge(&member.stale);
            stale.keep(&written);
        }
        let all = SectorRange::new(wane_units::Lba(0), self.capacity);
        let table = (0..self.map.table.len()).flat_map(|tile| self.map.table.tile(tile));
        let checkpoint = Checkpoint {
            table: table.map(|slot| (slot.member, slot.slot)).collect(),
            written: written.words().to_vec(),
            stale: stale.iter().map(|stale| stale.words().to_vec()).collect(),
            dirty: dirty.words().to_vec(),
            slots: self.members.iter().map(|member| member.slots).collect(),
            target: self.moves.target().to_vec(),
            capacity: self.capacity.0,
            lost: Checkpoint::lost_of(lost.within(all)),
        };
        self.commits.dirty = dirty;
        self.commits.has_stale = stale.iter().any(|stale| !stale.is_empty());
        // The entry of this cycle will say the same of stripes that count from then on.
        let is_lacking = |member: &usize| self.commits.lacking.get(*member).is_some_and(|lacking| !lacking.is_empty());
        let lacks = (0..stale.len()).filter(|member| !stale[*member].is_empty() || is_lacking(member));
        self.commits.lacks = lacks.collect();
        let bytes = packed::seal(self.config.uuid, &checkpoint, self.config.width, self.areas.unit_bytes());
        let units = (bytes.len() / self.areas.unit_bytes()) as u64;
        self.commits.bytes = bytes.len() as u64;
        self.commits.having = self.ring_members();
        for member in self.commits.having.clone() {
            // Not where its superblock points to: that may be the only one that is whole.
            let range = self.areas.checkpoint(self.members[member].place ^ 1, units);
            self.write_own(member, range, &bytes);
        }
        self.commits.checkpoint = checkpoint;
    }

    /// The superblock of a member, as things are.
    fn superblock(&self, member: usize) -> Superblock {
        Superblock {
            generation: self.commits.generation,
            epoch: self.commits.epoch,
            member: member as u16,
            states: self.members.iter().map(Member::told_state).collect(),
            retired: self.members.iter().map(Member::is_left_out).collect(),
            code: self.config.code.name().to_owned(),
            width: self.config.width as u16,
            chunk: self.map.chunk,
            tile: self.map.tile,
            offset: self.map.offset,
            parity_columns: self.map.parity_columns.iter().map(|column| *column as u8).collect(),
            areas: self.areas,
            checkpoint: (self.members[member].place ^ 1, self.commits.bytes),
            first: self.commits.first,
            life: self.commits.life,
        }
    }

    fn write_superblocks(&mut self) {
        self.commits.epoch += 1;
        if !std::mem::take(&mut self.commits.must_equalize) && std::mem::take(&mut self.commits.must_raise) {
            self.commits.generation += 1;
        }
        for member in self.commits.having.clone() {
            let superblock = self.superblock(member);
            let bytes = meta::seal(meta::SUPERBLOCK, self.config.uuid, &superblock, self.areas.unit_bytes());
            for copy in 0..2 {
                self.write_own(member, self.areas.superblock(copy), &bytes);
            }
        }
    }

    /// The checkpoint is durable, and so is what points to it.
    fn end_checkpoint(&mut self) {
        let having = std::mem::take(&mut self.commits.having);
        let all = self.ring_members();
        let mut joined = false;
        self.commits.lacks_if_cut = std::mem::take(&mut self.commits.lacks);
        for member in having.iter().filter(|member| all.contains(member)) {
            self.members[*member].is_blank = false;
            self.members[*member].place ^= 1;
            let joins = &mut self.members[*member].joins;
            *joins = match joins {
                // The next superblocks count it.
                Joins::Newly | Joins::Again => Joins::Next,
                Joins::Next | Joins::Not => Joins::Not,
            };
            joined |= *joins == Joins::Next;
        }
        // One that came meanwhile has none of it.
        let is_late = all.iter().any(|member| !having.contains(member));
        let first = self.commits.first;
        self.commits.entries.retain(|entry| entry.number >= first);
        self.commits.wants_checkpoint |= is_late || joined;
        self.commits.must_raise |= joined;
        self.commits.is_blocked = false;
        self.commits.is_formatted = true;
        self.commits.with_checkpoint = false;
        if self.is_degraded && !self.commits.has_stale && self.members.iter().all(Member::is_whole) {
            self.tell_rebuilt();
        }
        if !self.features.keeps_bytes {
            let superblock = self.superblock(0);
            let kept = &mut self.commits.kept;
            kept.superblock = Some(superblock);
            kept.checkpoint = std::mem::take(&mut self.commits.checkpoint);
            kept.entries.retain(|entry| entry.number >= first);
        }
    }

    /// The record of a change.
    fn record(&self, operation: &Operation) -> Record {
        let stripe = operation.block.stripe;
        if operation.task == Task::Unwrite {
            return Record::Unwritten(stripe);
        }
        match self.recorded(operation) {
            Recorded::Tile => return Record::Dirty(stripe / self.map.tile),
            Recorded::PartialParity => return self.record_of_partial(operation),
            Recorded::Contents => {}
        }
        let mut missing = self.missing(operation);
        let lost = if operation.is_whole { self.lost_beside(&operation.block) } else { Vec::new() };
        if operation.is_whole {
            // Who lacks a chunk that is lost may come back with what it held.
            let members = (0..self.coder.width()).map(|position| self.map.member(stripe, position));
            missing.extend(members.filter(|member| self.members[*member].stale.holds(stripe)));
            missing.sort_unstable();
            missing.dedup();
        }
        let missing = missing.into_iter().map(|member| member as u16).collect();
        let of = |(position, chunk): (usize, &super::Chunk)| {
            let new = chunk.new.as_ref()?;
            Some((position as u16, new.bytes().map(<[u8]>::to_vec).unwrap_or_default()))
        };
        let parts = operation.chunks.iter().enumerate().filter_map(of).collect();
        let Operation { block, .. } = operation;
        Record::Change {
            stripe,
            rows: (block.rows.start, block.rows.end),
            chunks: (block.chunks.start as u16, block.chunks.end as u16),
            parts,
            missing,
            lost,
        }
    }

    /// Lost sectors of the stripe of a change, beside those that it writes.
    fn lost_beside(&self, block: &Block) -> Vec<(u64, u64)> {
        let all = self.map.host(block.stripe, 0, &(0..self.map.stripe_sectors()));
        let mut lost: RangeSet = self.lost.within(all).collect();
        self.map.hosts(block).for_each(|(_, host)| lost.remove(host));
        lost.within(all).map(|range| (range.start.0, range.count.0)).collect()
    }

    /// Bytes that a record takes, whether the array keeps contents or not.
    fn room_of(&self, operation: &Operation) -> usize {
        let rows = (operation.block.rows.end - operation.block.rows.start) as usize * 512;
        let parts = operation.chunks.iter().filter(|chunk| chunk.new.is_some()).count();
        match self.recorded(operation) {
            Recorded::Tile => 16,
            Recorded::PartialParity => 64 + rows + 8,
            Recorded::Contents => 64 + parts * (rows + 8),
        }
    }

    /// Writes an entry with the records of what waits for it. Returns whether there is one.
    fn write_entry(&mut self) -> bool {
        let (mut records, mut kinds) = (Vec::new(), Vec::new());
        if !self.commits.closing.is_empty() {
            records.push(self.record_of_closing());
        }
        records.extend(self.commits.records[..self.commits.recording].iter().cloned());
        let mut bytes = 64 + records.len() * 64 + self.commits.closing.len().min(self.map.stripes()) as usize * 24;
        let limit = self.areas.ring as usize * self.areas.unit_bytes() / 4;
        let later = self.take_unflushed();
        while let Some(id) = self.commits.logging.front().copied() {
            let Some(operation) = self.operations.get(&id) else {
                self.commits.logging.pop_front();
                continue;
            };
            if self.leaves_out(operation) {
                self.commits.logging.pop_front();
                self.prepare_again(id);
                continue;
            }
            let more = self.room_of(operation);
            if !records.is_empty() && bytes + more > limit {
                break;
            }
            bytes += more;
            records.push(self.record(operation));
            kinds.push(self.recorded(operation));
            self.commits.logging.pop_front();
            self.commits.entering.push(id);
        }
        self.commits.logging.extend(later);
        if records.is_empty() {
            return false;
        }
        let has_changes = records.iter().any(|record| matches!(record, Record::Change { .. } | Record::Unwritten(_)));
        let entry = Entry { number: self.commits.next, life: self.commits.life, records };
        let sealed = meta::seal(meta::ENTRY, self.config.uuid, &entry, self.areas.unit_bytes());
        let blank = if self.features.keeps_bytes { 0 } else { self.areas.units(bytes as u64) };
        let units = ((sealed.len() / self.areas.unit_bytes()) as u64).max(blank);
        let Some(at) = self.commits.room(units, self.areas.ring) else { return self.wait_for_room() };
        self.commits.holders = self.holders_of(entry.number);
        for member in self.commits.holders.clone() {
            self.write_own(member, self.areas.ring(at, units), &sealed);
        }
        let open = self.commits.entering.len() as u32;
        self.commits.entries.push_back(Placed { number: entry.number, at, units, open, has_changes });
        for (id, recorded) in self.commits.entering.clone().into_iter().zip(kinds) {
            if let Some(operation) = self.operations.get_mut(&id) {
                operation.entry = Some(entry.number);
                operation.recorded = recorded;
            }
        }
        (self.commits.head, self.commits.next) = (at + units, entry.number + 1);
        self.commits.entry = Some(entry);
        true
    }

    /// The ring has no room: what waits for it goes on waiting, until a checkpoint makes some.
    fn wait_for_room(&mut self) -> bool {
        for id in std::mem::take(&mut self.commits.entering).into_iter().rev() {
            self.commits.logging.push_front(id);
        }
        self.commits.wants_checkpoint = true;
        self.commits.is_blocked = true;
        if !self.commits.closing.is_empty() {
            self.commits.ready = std::mem::take(&mut self.commits.flushes);
        }
        false
    }

    /// Stripes that count as written from now on.
    fn record_of_closing(&self) -> Record {
        let all = self.map.stripes();
        let of = |(number, member): (usize, &Member)| {
            let mut both = member.stale.clone();
            both.keep(&self.commits.closing);
            if let Some(lacking) = self.commits.lacking.get(number) {
                both.merge(lacking);
            }
            (!both.is_empty()).then(|| (number as u16, runs(&both, all)))
        };
        let missing = self.members.iter().enumerate().filter_map(of).collect();
        Record::Written { stripes: runs(&self.commits.closing, all), missing }
    }

    /// An entry is durable.
    fn end_entry(&mut self) {
        let Some(mut entry) = self.commits.entry.take() else { return };
        self.commits.is_entered = true;
        let count = std::mem::take(&mut self.commits.recording);
        for record in self.commits.records.drain(..count).collect::<Vec<_>>() {
            self.note_record(&record);
        }
        for record in &mut entry.records {
            match record {
                Record::Dirty(tile) => self.commits.dirty.insert_one(*tile),
                Record::Change { parts, .. } => parts.iter_mut().for_each(|part| part.1 = Vec::new()),
                Record::PartialParity { partial, .. } => *partial = Vec::new(),
                _ => {}
            }
        }
        for (start, end) in runs(&self.commits.closing, self.map.stripes()) {
            self.commits.fresh.remove(start..end);
        }
        if !self.features.keeps_bytes {
            self.commits.kept.entries.push(entry);
        }
    }

    /// A cycle is over: changes go to their places, and flushes end.
    fn end_cycle(&mut self) -> Stage {
        // As long as this goes on, the stage keeps another cycle from beginning.
        self.commits.closing = Bits::new(0);
        let failed = self.commits.failed.take();
        for request in std::mem::take(&mut self.commits.flushes) {
            if let Some(status) = &failed {
                // Of a write that was to be durable it is said which.
                let range = self.open.get(&request).map_or(SectorRange::EMPTY, |open| open.range);
                self.fail(Some(request), range, status);
            }
            if let Some(open) = self.open.get_mut(&request) {
                open.ended = open.ended.max(self.now);
            }
            self.settle(request);
        }
        for id in std::mem::take(&mut self.commits.entering) {
            if !self.record_again(id) {
                self.note_unflushed(id);
                self.write(id);
            }
        }
        self.ready.extend(std::mem::take(&mut self.commits.held));
        Stage::Idle
    }

    /// A change is in its place.
    pub(super) fn note_placed(&mut self, entry: Option<u64>) {
        if let Some(number) = entry
            && let Some(entry) = self.commits.entries.iter_mut().find(|entry| entry.number == number)
        {
            entry.open = entry.open.saturating_sub(1);
        }
        if self.commits.stage == Stage::Drain {
            self.commit_on();
        } else {
            self.commit_if_due();
        }
    }

    /// A member is lost: the superblocks of the others say so before anything is acknowledged that it lacks.
    pub(super) fn must_raise(&mut self) {
        self.commits.must_raise = true;
    }

    /// All is there again.
    pub(super) fn tell_rebuilt(&mut self) {
        self.is_degraded = false;
        self.tell(NoticeKind::Rebuilt);
    }
}
