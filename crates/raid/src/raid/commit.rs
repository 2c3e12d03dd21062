//! How what an array acknowledges becomes durable: in cycles, one after the other.
//!
//! A cycle serves the flushes and the changes that wait for it together: members flush; if need be the checkpoint is written anew; an entry of the ring
//! holds the records; the members that have the ring flush. Then the changes go to their places and the flushes end.
//!
//! A stripe that held nothing is written in place without a record. It counts as written from the next flush on, which makes it so after its data are
//! durable; until then a power cut leaves zeros. During such a flush nothing else changes these stripes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wane_blockdev::{NoticeKind, Origin, Request, RequestId, SectorRange, Status};

use super::meta::{self, Checkpoint, Entry, Record, Superblock, runs};
use super::{Child, New, Operation, Raid, Step, Task};
use crate::bits::Bits;
use crate::owed::Part;

/// Which changes are written to the ring before they go to their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Journal {
    /// None, as long as no member is missing. After a power cut parities are made anew where something had changed; a member that is lost at that
    /// moment takes these stripes with it.
    None,
    /// All that change stripes which hold something. No power cut loses what was durable, nor does one together with the loss of as many members as
    /// the code tolerates.
    #[default]
    Full,
}

/// What a cycle does now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    #[default]
    Idle,
    /// Changes of stripes that are to count as written end.
    Drain,
    FlushMembers,
    WriteCheckpoint,
    FlushCheckpoint,
    WriteSuperblocks,
    FlushSuperblocks,
    WriteEntry,
    FlushEntry,
}

/// An entry in the ring.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Placed {
    number: u64,
    at: u64,
    units: u64,
    /// Its changes that are not in their places.
    open: u32,
    /// It has new contents of stripes.
    has_changes: bool,
}

/// What is durable of an array whose members keep no bytes: it takes the place of what they would hold.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) superblock: Option<Superblock>,
    pub(super) checkpoint: Checkpoint,
    pub(super) entries: Vec<Entry>,
}

/// The state of what makes things durable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Commits {
    stage: Stage,
    waits: u32,
    /// The number of the cycle.
    cycle: u64,
    /// The ring has no room for what waits, and its first entry is not in its place.
    is_blocked: bool,
    /// Members have flushed in this cycle.
    is_flushed: bool,
    /// Its entry is durable.
    is_entered: bool,
    /// Nothing waits for members: a batch takes no time.
    is_instant: bool,
    /// Flushes whose changes before them are done.
    pub(super) ready: Vec<RequestId>,
    flushes: Vec<RequestId>,
    /// How a flush of a member failed in this cycle.
    failed: Option<Status>,
    /// Changes that wait for an entry.
    pub(super) logging: VecDeque<u64>,
    /// Those of the present entry.
    entering: Vec<u64>,
    /// Records that wait for an entry, and how many of them the present one has.
    pub(super) records: Vec<Record>,
    recording: usize,
    /// Changes that wait until stripes count as written.
    held: Vec<u64>,
    /// Stripes that were written since the last flush and held nothing before.
    pub(super) fresh: Bits,
    /// Those of them that this cycle makes count.
    closing: Bits,
    with_checkpoint: bool,
    pub(super) wants_checkpoint: bool,
    /// A member was lost since the superblocks were written.
    pub(super) must_raise: bool,
    entries: VecDeque<Placed>,
    head: u64,
    /// Units of the ring that batches wrote since their last checkpoint.
    since: u64,
    next: u64,
    /// The first entry that the checkpoint of this cycle does not know.
    first: u64,
    pub(super) generation: u64,
    pub(super) epoch: u64,
    /// The place of the last checkpoint.
    pub(super) place: u64,
    bytes: u64,
    /// Tiles that the ring or the checkpoint says may not fit.
    pub(super) dirty: Bits,
    /// Tiles that changed since the last checkpoint began.
    touched: Bits,
    /// Whether the last checkpoint has stripes that members miss.
    has_stale: bool,
    /// What members missed, and which stripes did not fit, when this cycle's checkpoint began.
    stale: Vec<Bits>,
    differs: Bits,
    entry: Option<Entry>,
    checkpoint: Checkpoint,
    pub(super) kept: Kept,
    is_formatted: bool,
}

impl Commits {
    pub(super) fn new(stripes: u64, tiles: u64) -> Self {
        Self {
            stage: Stage::Idle,
            waits: 0,
            cycle: 0,
            is_blocked: false,
            is_flushed: false,
            is_entered: false,
            is_instant: false,
            ready: Vec::new(),
            flushes: Vec::new(),
            failed: None,
            logging: VecDeque::new(),
            entering: Vec::new(),
            records: Vec::new(),
            recording: 0,
            held: Vec::new(),
            fresh: Bits::new(stripes),
            closing: Bits::new(stripes),
            with_checkpoint: false,
            wants_checkpoint: true,
            must_raise: false,
            entries: VecDeque::new(),
            head: 0,
            since: 0,
            next: 1,
            first: 1,
            generation: 1,
            epoch: 0,
            place: 1,
            bytes: 0,
            dirty: Bits::new(tiles),
            touched: Bits::new(tiles),
            has_stale: false,
            stale: Vec::new(),
            differs: Bits::new(0),
            entry: None,
            checkpoint: Checkpoint::default(),
            kept: Kept::default(),
            is_formatted: false,
        }
    }

    /// What is under way is no more.
    pub(super) fn cut(&mut self) {
        let fresh = Self { kept: std::mem::take(&mut self.kept), ..Self::new(0, 0) };
        *self = fresh;
    }

    /// Goes on from a superblock: the next entry gets this number, and the ring is empty.
    pub(super) fn resume(&mut self, superblock: &Superblock, next: u64, stripes: u64, tiles: u64) {
        let kept = std::mem::take(&mut self.kept);
        *self = Self {
            kept,
            generation: superblock.generation,
            epoch: superblock.epoch,
            place: superblock.checkpoint.0,
            next,
            first: next,
            is_formatted: true,
            ..Self::new(stripes, tiles)
        };
    }

    /// More stripes and tiles.
    pub(super) fn widen(&mut self, stripes: u64, tiles: u64) {
        self.fresh.widen(stripes);
        self.closing.widen(stripes);
        self.dirty.widen(tiles);
        self.touched.widen(tiles);
    }

    /// The place of so many units in the ring, if there is one.
    fn room(&self, units: u64, ring: u64) -> Option<u64> {
        let Some(tail) = self.entries.front() else {
            return if self.head + units <= ring { Some(self.head) } else { Some(0).filter(|_| units <= ring) };
        };
        if self.head > tail.at {
            if self.head + units <= ring {
                return Some(self.head);
            }
            return Some(0).filter(|_| units < tail.at);
        }
        Some(self.head).filter(|_| self.head + units < tail.at)
    }

    /// Units of the ring in use.
    fn used(&self) -> u64 {
        self.entries.iter().map(|entry| entry.units).sum()
    }
}

impl Raid {
    /// A change may go to its place, after a record of it if it needs one.
    pub(super) fn log(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        let (stripe, task) = (operation.block.stripe, operation.task.clone());
        let tile = stripe / self.map.tile;
        if self.commits.fresh.holds(stripe) && task == Task::Write {
            return self.write(id);
        }
        if task == Task::Unwrite && self.commits.fresh.holds(stripe) {
            // What a power cut leaves of it holds nothing already.
            self.commits.fresh.remove(stripe..stripe + 1);
            return self.write(id);
        }
        let (needs_record, needs_contents) = (self.needs_record(operation), self.needs_contents(operation));
        if !needs_contents {
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
        let commits = &self.commits;
        self.config.journal == Journal::Full
            || self.needs_contents(operation)
            || !commits.dirty.holds(operation.block.stripe / self.map.tile)
    }

    /// Whether the record of a change must have its contents.
    fn needs_contents(&self, operation: &Operation) -> bool {
        let stripe = operation.block.stripe;
        self.config.journal == Journal::Full
            || operation.task == Task::Unwrite
            || operation.is_whole
            || !(0..self.coder.width()).all(|position| self.is_writable(stripe, position))
            // What the ring holds would be carried out again, over what came later.
            || self.commits.has_stale
            || self.commits.entries.iter().any(|entry| entry.has_changes)
            || self.commits.must_raise
    }

    /// Bytes of the record of a change without contents, for which members write `parts` chunks of `bytes`.
    pub(super) fn logged_quickly(&mut self, stripe: u64, parts: usize, bytes: usize) -> usize {
        let tile = stripe / self.map.tile;
        self.commits.touched.insert_one(tile);
        if self.commits.fresh.holds(stripe) {
            return 0;
        }
        match self.config.journal {
            Journal::Full => 64 + parts * (bytes + 8),
            Journal::None if self.commits.dirty.holds(tile) => 0,
            Journal::None => {
                self.commits.dirty.insert_one(tile);
                16
            }
        }
    }

    /// Has members write what the records of a batch take in the ring, and a checkpoint each time that half of it is full.
    pub(super) fn write_ring(&mut self, bytes: usize, writes: &mut [Vec<Part>]) {
        let mut left = if bytes == 0 { 0 } else { self.areas.units(bytes) };
        let host =
            |range: SectorRange| Part { host: SectorRange::new(wane_units::Lba(0), range.count), start: range.start };
        while left > 0 {
            let head = if self.commits.head >= self.areas.ring { 0 } else { self.commits.head };
            let units = left.min(self.areas.ring - head);
            for member in self.ring_members(self.config.code.tolerates() + 1) {
                writes[member].push(host(self.areas.ring(head, units)));
            }
            self.commits.head = head + units;
            self.commits.since += units;
            left -= units;
            if self.commits.since * 2 > self.areas.ring {
                self.commits.since = 0;
                let sectors = self.commits.bytes.div_ceil(512).max(1).next_multiple_of(self.areas.unit);
                for member in self.ring_members(self.members.len()) {
                    writes[member].push(host(self.areas.checkpoint(self.commits.place, sectors / self.areas.unit)));
                    writes[member].extend((0..2).map(|copy| host(self.areas.superblock(copy))));
                }
            }
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
                        || self.commits.is_instant =>
                {
                    self.commits.recording = self.commits.records.len();
                    self.begin_checkpoint();
                    self.unsure.begin_flush(RequestId(self.commits.cycle));
                    self.flush_present();
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
                    self.flush_for_commit(self.members.len());
                    Stage::FlushCheckpoint
                }
                Stage::FlushCheckpoint => {
                    self.write_superblocks();
                    Stage::WriteSuperblocks
                }
                Stage::WriteSuperblocks => {
                    self.flush_for_commit(self.members.len());
                    Stage::FlushSuperblocks
                }
                // A member was lost meanwhile: the others say so before anything is acknowledged that it lacks.
                Stage::FlushSuperblocks | Stage::FlushEntry if self.commits.must_raise => {
                    if self.commits.stage == Stage::FlushSuperblocks {
                        self.end_checkpoint();
                    } else {
                        self.end_entry();
                    }
                    self.commits.with_checkpoint = true;
                    self.begin_checkpoint();
                    self.flush_present();
                    Stage::FlushMembers
                }
                Stage::Drain | Stage::FlushMembers | Stage::FlushSuperblocks => {
                    if self.commits.stage == Stage::FlushSuperblocks {
                        self.end_checkpoint();
                    }
                    if !self.commits.is_entered && self.write_entry() { Stage::WriteEntry } else { self.end_cycle() }
                }
                Stage::WriteEntry => {
                    self.flush_for_commit(self.config.code.tolerates() + 1);
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

    /// Members that have the ring: as many as leave one when as many are lost as the code tolerates.
    fn ring_members(&self, count: usize) -> Vec<usize> {
        let counts = |member: &usize| self.members[*member].is_online() && !self.members[*member].is_retired;
        (0..self.members.len()).filter(counts).take(count).collect()
    }

    fn flush_for_commit(&mut self, count: usize) {
        for member in self.ring_members(count) {
            self.commits.waits += 1;
            self.ask(member, Request::flush(), Child::Commit { cycle: self.commits.cycle });
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
        // What is made good after the flush has begun may not be durable when it ends.
        self.commits.stale = self.members.iter().map(|member| member.stale.clone()).collect();
        self.commits.differs = self.differs.clone();
        let open = self.commits.entries.iter().find(|entry| entry.open > 0);
        self.commits.first = open.map_or(self.commits.next, |entry| entry.number);
        self.commits.touched = Bits::new(self.map.table.len());
        let is_bare = |operation: &&Operation| operation.task == Task::Write && !operation.has_contents;
        for operation in self.operations.values().filter(is_bare) {
            self.commits.touched.insert_one(operation.block.stripe / self.map.tile);
        }
    }

    fn write_checkpoint(&mut self) {
        let mut written = self.written.clone();
        for (start, end) in runs(&self.commits.fresh, self.map.stripes()) {
            written.remove(start..end);
        }
        let mut dirty = match self.config.journal {
            Journal::None => self.commits.touched.clone(),
            Journal::Full => Bits::new(self.map.table.len()),
        };
        for differs in [&self.differs, &self.commits.differs] {
            for (start, end) in runs(differs, self.map.stripes()) {
                dirty.insert(start / self.map.tile..(end - 1) / self.map.tile + 1);
            }
        }
        let mut stale = std::mem::take(&mut self.commits.stale);
        for (stale, member) in stale.iter_mut().zip(&self.members) {
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
            lost: Checkpoint::lost_of(self.lost.within(all)),
        };
        self.commits.dirty = dirty;
        self.commits.has_stale = stale.iter().any(|stale| !stale.is_empty());
        let bytes = meta::seal(meta::CHECKPOINT, self.config.uuid, &checkpoint, self.areas.unit_bytes());
        let units = (bytes.len() / self.areas.unit_bytes()) as u64;
        self.commits.place ^= 1;
        self.commits.bytes = bytes.len() as u64;
        let range = self.areas.checkpoint(self.commits.place, units);
        for member in self.ring_members(self.members.len()) {
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
            states: self.members.iter().map(|member| member.state).collect(),
            retired: self.members.iter().map(|member| member.is_retired).collect(),
            code: self.config.code.name().to_owned(),
            width: self.config.width as u16,
            chunk: self.map.chunk,
            tile: self.map.tile,
            offset: self.map.offset,
            parity_columns: self.map.parity_columns.iter().map(|column| *column as u8).collect(),
            areas: self.areas,
            checkpoint: (self.commits.place, self.commits.bytes),
            first: self.commits.first,
        }
    }

    fn write_superblocks(&mut self) {
        self.commits.epoch += 1;
        if std::mem::take(&mut self.commits.must_raise) {
            self.commits.generation += 1;
        }
        for member in self.ring_members(self.members.len()) {
            let superblock = self.superblock(member);
            let bytes = meta::seal(meta::SUPERBLOCK, self.config.uuid, &superblock, self.areas.unit_bytes());
            for copy in 0..2 {
                self.write_own(member, self.areas.superblock(copy), &bytes);
            }
        }
    }

    /// The checkpoint is durable, and so is what points to it.
    fn end_checkpoint(&mut self) {
        for member in self.ring_members(self.members.len()) {
            self.members[member].is_blank = false;
        }
        let first = self.commits.first;
        self.commits.entries.retain(|entry| entry.number >= first);
        self.commits.wants_checkpoint = false;
        self.commits.is_blocked = false;
        self.commits.is_formatted = true;
        self.commits.with_checkpoint = false;
        if self.is_degraded && !self.commits.has_stale && self.members.iter().all(super::member::Member::is_whole) {
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
        if !self.needs_contents(operation) {
            return Record::Dirty(stripe / self.map.tile);
        }
        let missing = self.missing(operation).into_iter().map(|member| member as u16).collect();
        let of = |(position, chunk): (usize, &super::Chunk)| {
            let new = chunk.new.as_ref()?;
            Some((position as u16, new.bytes().map(<[u8]>::to_vec).unwrap_or_default()))
        };
        let parts = operation.chunks.iter().enumerate().filter_map(of).collect();
        let lost = if operation.is_whole { self.lost_in(stripe) } else { Vec::new() };
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

    /// Lost sectors of a stripe.
    fn lost_in(&self, stripe: u64) -> Vec<(u64, u64)> {
        let all = self.map.host(stripe, 0, &(0..self.map.stripe_sectors()));
        self.lost.within(all).map(|range| (range.start.0, range.count.0)).collect()
    }

    /// Bytes that a record takes, whether the array keeps contents or not.
    fn room_of(&self, operation: &Operation) -> usize {
        let rows = (operation.block.rows.end - operation.block.rows.start) as usize * 512;
        let parts = operation.chunks.iter().filter(|chunk| chunk.new.is_some()).count();
        if self.needs_contents(operation) { 64 + parts * (rows + 8) } else { 16 }
    }

    /// Writes an entry with the records of what waits for it. Returns whether there is one.
    fn write_entry(&mut self) -> bool {
        let (mut records, mut contents) = (Vec::new(), Vec::new());
        if !self.commits.closing.is_empty() {
            records.push(self.record_of_closing());
        }
        records.extend(self.commits.records[..self.commits.recording].iter().cloned());
        let mut bytes = 64 + records.len() * 64 + self.commits.closing.len().min(self.map.stripes()) as usize * 24;
        let limit = self.areas.ring as usize * self.areas.unit_bytes() / 4;
        while let Some(id) = self.commits.logging.front().copied() {
            let Some(operation) = self.operations.get(&id) else {
                self.commits.logging.pop_front();
                continue;
            };
            let more = self.room_of(operation);
            if !records.is_empty() && bytes + more > limit {
                break;
            }
            bytes += more;
            let record = self.record(operation);
            if matches!(record, Record::Change { .. }) {
                contents.push(id);
            }
            records.push(record);
            self.commits.logging.pop_front();
            self.commits.entering.push(id);
        }
        if records.is_empty() {
            return false;
        }
        let has_changes = records.iter().any(|record| matches!(record, Record::Change { .. } | Record::Unwritten(_)));
        let entry = Entry { number: self.commits.next, records };
        let sealed = meta::seal(meta::ENTRY, self.config.uuid, &entry, self.areas.unit_bytes());
        let blank = if self.features.keeps_bytes { 0 } else { self.areas.units(bytes) };
        let units = ((sealed.len() / self.areas.unit_bytes()) as u64).max(blank);
        let Some(at) = self.commits.room(units, self.areas.ring) else { return self.wait_for_room() };
        for member in self.ring_members(self.config.code.tolerates() + 1) {
            self.write_own(member, self.areas.ring(at, units), &sealed);
        }
        let open = self.commits.entering.len() as u32;
        self.commits.entries.push_back(Placed { number: entry.number, at, units, open, has_changes });
        for id in self.commits.entering.clone() {
            if let Some(operation) = self.operations.get_mut(&id) {
                operation.entry = Some(entry.number);
                operation.has_contents = contents.contains(&id);
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
        let of = |(number, member): (usize, &super::member::Member)| {
            let mut both = member.stale.clone();
            both.keep(&self.commits.closing);
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
            self.write(id);
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
