//! The victim index: every closed block of a domain, ready for any policy's question.
//!
//! Blocks lie in buckets by their number of valid units. With [`Order::Entry`] a bucket is an intrusive list with a
//! sentinel, so that moving a block after an invalidation takes a few stores. With [`Order::Closing`] it is a set of bits
//! (`ClosingOrder`), and by wear a heap with lazy deletion. If a policy needs only the lowest bucket, only
//! the lowest buckets are lists (`lists`). If a policy asks for them ([`Roster`]), the index also keeps all closed blocks
//! in closing order, and densely for draws.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_registry::ShareOrCount;
use wane_units::{SuperblockId, prefetch};

use crate::policies::wear_leveling::ValidUnits;

use crate::closing::ClosingOrder;

mod lists;
mod rows;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use lists::Lists;
use lists::{Coming, Listed};
use rows::{Links, Place, Rows, State, set_range};

/// The order of blocks that have the same number of valid units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By the time at which a block reached this number: O(1) upkeep.
    #[default]
    Entry,
    /// By the host clock when the block closed, then by id. Upkeep flips a few bits.
    Closing,
    /// By erase count, then by id: O(log n) upkeep.
    Wear,
    /// By erase count, the highest first, then by id: O(log n) upkeep.
    MostWorn,
}

impl Order {
    /// The key that a heap sorts blocks by, the lowest first; `None` if the order has no heaps.
    fn key(self, erase_count: u32) -> Option<u64> {
        match self {
            Self::Entry | Self::Closing => None,
            Self::Wear => Some(u64::from(erase_count)),
            Self::MostWorn => Some(u64::from(u32::MAX - erase_count)),
        }
    }
}

/// Which lists of all closed blocks the mechanism keeps for a policy, in addition to the buckets. A policy may also ask for what is
/// not kept; that scans all blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Roster {
    /// By position and by age.
    #[default]
    Full,
    /// By position: `closed` and `blocks` of the view.
    ByPosition,
    /// By age: `oldest`.
    ByAge,
    /// None. Keeping both costs each victim a few cache lines, which are far away on a large drive.
    Nothing,
}

impl Roster {
    fn has_positions(self) -> bool {
        matches!(self, Self::Full | Self::ByPosition)
    }

    fn has_ages(self) -> bool {
        matches!(self, Self::Full | Self::ByAge)
    }
}

/// What a policy asks the mechanism to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IndexSpec {
    /// The order within a bucket.
    pub order: Order,
    /// Only this many of the oldest closed blocks, as a count or a share of the domain's blocks, are in buckets; the others wait. `None`: all.
    pub window: Option<ShareOrCount>,
    /// The policy asks only for the lowest bucket. With [`Order::Entry`] and without a window that saves most of the upkeep.
    /// The policy may still ask for other buckets, at the cost of a scan of all blocks.
    pub lowest_only: bool,
    /// Which lists of all closed blocks are kept.
    pub roster: Roster,
    /// The policy uses the number of units that the host reads from each block.
    pub reads: bool,
}

impl IndexSpec {
    /// Whether a closed block has entries, apart from its bucket, that must be removed when it opens.
    fn keeps_entries(&self) -> bool {
        self.roster != Roster::Nothing || self.window.is_some()
    }
}

const NOWHERE: u32 = u32::MAX;

/// Data of a closed block outside its row. One cache line holds all of it, since it is needed once for each victim.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C, align(32))]
struct ClosedBlock {
    /// Number of the closing. It means nothing for an open block, but is 0 if a queue must be able to see that the block has left.
    sequence: u64,
    /// The host clock at the closing.
    at: u64,
    /// Its position in the dense table, if that is kept.
    position: u32,
}

/// A heap entry: the order's key, then the block.
type Key = Reverse<(u64, u32)>;

/// The closed blocks of one domain. Block ids run from `first` on.
#[derive(Clone, Debug)]
pub struct VictimIndex {
    spec: IndexSpec,
    /// Blocks of the window that the spec asks for.
    window: Option<u32>,
    first: u32,
    blocks: u32,
    units_per_block: u32,
    rows: Rows,
    /// Head and tail of each bucket's list. Links name the sentinel of bucket `b` as `blocks + b`.
    sentinels: Vec<Links>,
    closing: Option<ClosingOrder>,
    heaps: Vec<BinaryHeap<Key>>,
    keys: Vec<u64>,
    /// Number of blocks in each bucket; kept for heaps, which also hold stale entries.
    counts: Vec<u32>,
    /// No bucket below this one holds a block.
    lowest: u32,
    bucketed: u32,
    bucketed_valid: u64,
    /// Number of closed blocks.
    closed_len: u32,
    /// The closed blocks, densely; kept if the roster has positions.
    closed: Vec<u32>,
    closings: Vec<ClosedBlock>,
    /// Closing sequence number and block; the front entry is never stale. Kept if the roster has ages.
    by_closing: VecDeque<(u64, u32)>,
    waiting: VecDeque<(u64, u32)>,
    sequence: u64,
    /// The host clock at the last closing.
    closed_last_at: u64,
    /// Which buckets are lists, with [`Order::Entry`].
    listed: Listed,
    coming: Coming,
}

impl VictimIndex {
    /// An index of `blocks` blocks from `first` on, none of them closed.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub fn new(first: SuperblockId, blocks: u32, units_per_block: u32, spec: IndexSpec) -> std::io::Result<Self> {
        let sentinels = units_per_block + 1;
        let keyed = spec.order.key(0).is_some();
        Ok(Self {
            spec,
            window: spec.window.map(|window| window.of(blocks)),
            first: first.0,
            blocks,
            units_per_block,
            rows: Rows::new(blocks, units_per_block)?,
            sentinels: (blocks..blocks + sentinels).map(Links::to_itself).collect(),
            closing: (spec.order == Order::Closing).then(|| ClosingOrder::new(blocks, sentinels)),
            heaps: if keyed { vec![BinaryHeap::new(); sentinels as usize] } else { Vec::new() },
            keys: if keyed { vec![0; blocks as usize] } else { Vec::new() },
            counts: if keyed { vec![0; sentinels as usize] } else { Vec::new() },
            lowest: sentinels,
            bucketed: 0,
            bucketed_valid: 0,
            closed_len: 0,
            closed: Vec::with_capacity(if spec.roster.has_positions() { blocks as usize } else { 0 }),
            closings: vec![ClosedBlock { sequence: 0, at: 0, position: NOWHERE }; blocks as usize],
            by_closing: VecDeque::new(),
            waiting: VecDeque::new(),
            sequence: 0,
            closed_last_at: 0,
            listed: Listed::new(spec, blocks, sentinels),
            coming: Coming::default(),
        })
    }

    /// Writes everything to a file, or reads it back into an index of the same number of blocks.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.rows.archive(archive)?;
        archive.fixed("index.sentinels", &mut self.sentinels)?;
        archive.optional("index.by-closing", &mut self.closing, ClosingOrder::archive)?;
        archive.field("index.heaps", &mut self.heaps)?;
        archive.fixed("index.keys", &mut self.keys)?;
        archive.fixed("index.counts", &mut self.counts)?;
        archive.field("index.lowest", &mut self.lowest)?;
        archive.field("index.bucketed", &mut self.bucketed)?;
        archive.field("index.bucketed-valid", &mut self.bucketed_valid)?;
        archive.list("index.closed", &mut self.closed)?;
        archive.field("index.closings", &mut self.closings)?;
        archive.field("index.closing", &mut self.by_closing)?;
        archive.field("index.waiting", &mut self.waiting)?;
        archive.field("index.sequence", &mut self.sequence)?;
        // The targets of the last prefetches are only hints and are not kept.
        archive.field("index.listed", &mut self.listed)?;
        if archive.is_reading() {
            self.rebuild();
        }
        Ok(())
    }

    /// Recomputes what follows from the rest: the number of closed blocks and the lists of the roster. The file may be of a version
    /// that kept other lists: lists that this version does not keep are dropped, missing ones are made.
    fn rebuild(&mut self) {
        let is_closed = |local: &u32| self.rows.state(*local).place != Place::NotClosed;
        let mut closed: Vec<u32> = (0..self.blocks).filter(is_closed).collect();
        self.closed_len = closed.len() as u32;
        self.closed_last_at = closed.iter().map(|local| self.closings[*local as usize].at).max().unwrap_or_default();
        if !self.spec.roster.has_positions() {
            self.closed.clear();
        } else if self.closed.is_empty() {
            self.closed.clone_from(&closed);
            (0..).zip(&closed).for_each(|(position, local)| self.closings[*local as usize].position = position);
        }
        if !self.spec.roster.has_ages() {
            self.by_closing.clear();
        } else if self.by_closing.is_empty() {
            let sequence = |local: &u32| self.closings[*local as usize].sequence;
            closed.sort_unstable_by_key(sequence);
            self.by_closing = closed.iter().map(|local| (sequence(local), *local)).collect();
        }
    }

    #[inline(always)]
    fn local(&self, block: SuperblockId) -> u32 {
        debug_assert!(block.0.wrapping_sub(self.first) < self.blocks, "block {block} has a row in this domain's index");
        block.0 - self.first
    }

    /// Range of its blocks among those of the drive.
    pub fn superblocks(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.blocks) as usize
    }

    /// Mapping units in a block.
    pub fn units_per_block(&self) -> u32 {
        self.units_per_block
    }

    /// Valid units of any block of the domain.
    #[inline(always)]
    pub fn valid(&self, block: SuperblockId) -> u32 {
        self.rows.state(self.local(block)).valid
    }

    /// The host clock when a closed block was last written.
    pub fn closed_at(&self, block: SuperblockId) -> u64 {
        self.closings[self.local(block) as usize].at
    }

    /// Whether the block is closed.
    pub fn is_closed(&self, block: SuperblockId) -> bool {
        self.rows.state(self.local(block)).place != Place::NotClosed
    }

    /// Makes `count` units of a block that is being written valid, from `first` on.
    #[inline(always)]
    pub fn add_valid(&mut self, block: SuperblockId, first: u32, count: u32) {
        let local = self.local(block);
        let State { valid, place } = self.rows.state(local);
        debug_assert_eq!(place, Place::NotClosed, "only an open block gains units");
        debug_assert!(valid + count <= self.units_per_block, "a block has no more valid units than units");
        set_range(self.rows.bits_mut(local), first, count);
        self.rows.edit().set_state(local, State { valid: valid + count, place });
    }

    /// Makes one unit of a block that is being written valid.
    #[inline(always)]
    pub fn add_one(&mut self, block: SuperblockId, unit: u32) {
        let local = self.local(block);
        debug_assert_eq!(self.rows.state(local).place, Place::NotClosed, "only an open block gains units");
        self.rows.edit().gain(local, unit);
    }

    /// Whether a unit of a block is valid.
    #[inline(always)]
    pub fn is_valid(&self, block: SuperblockId, unit: u32) -> bool {
        self.bits(block)[unit as usize / 64] >> (unit % 64) & 1 == 1
    }

    /// One bit for each unit of a block, the first unit lowest: whether it is valid.
    #[inline(always)]
    pub fn bits(&self, block: SuperblockId) -> &[u64] {
        self.rows.bits(self.local(block))
    }

    /// The valid units of a block, in order.
    pub fn valid_units(&self, block: SuperblockId) -> impl Iterator<Item = u32> {
        (0..).step_by(64).zip(self.bits(block)).flat_map(|(first, word)| ones(*word).map(move |bit| first + bit))
    }

    /// Brings what [`VictimIndex::invalidate`] touches into the cache.
    #[inline(always)]
    pub(crate) fn prefetch_unit(&mut self, block: SuperblockId, unit: u32) {
        let local = self.local(block);
        self.rows.edit().prefetch(local, unit);
    }

    /// Makes a unit of a block invalid and moves the block to its new bucket.
    #[inline]
    pub fn invalidate(&mut self, block: SuperblockId, unit: u32) {
        if self.spec.order == Order::Entry {
            self.invalidate_listed(self.local(block), unit);
        } else {
            self.invalidate_keyed(block, unit);
        }
    }

    /// As [`VictimIndex::invalidate`], for buckets that are not lists.
    #[inline(always)]
    fn invalidate_keyed(&mut self, block: SuperblockId, unit: u32) {
        let local = self.local(block);
        let State { valid, place } = self.rows.edit().lose(local, unit);
        if place == Place::Bucket {
            self.bucketed_valid -= 1;
            self.lowest = self.lowest.min(valid);
            self.lower(local, valid);
        }
    }

    /// Moves a block to the bucket below in the orders that are not lists. A separate function, so that greedy's path stays short.
    #[inline(never)]
    fn lower(&mut self, local: u32, valid: u32) {
        if let Some(closing) = &mut self.closing {
            closing.leave(local, valid + 1);
            closing.enter(local, valid);
        } else {
            self.leave_heap(valid + 1);
            self.enter_heap(local, valid);
        }
    }

    /// Makes all units of an open block invalid.
    pub fn clear(&mut self, block: SuperblockId) {
        let local = self.local(block);
        let State { place, .. } = self.rows.state(local);
        debug_assert_eq!(place, Place::NotClosed, "a closed block is opened before it is cleared");
        self.rows.bits_mut(local).fill(0);
        self.rows.edit().set_state(local, State { valid: 0, place });
    }

    /// Whether reclaiming some closed block would gain a unit.
    pub fn reclaimable(&self) -> bool {
        self.lowest().is_some_and(|valid| valid < self.units_per_block) || self.oldest_waiting().is_some()
    }

    /// Whether any choice of a victim could gain a unit. With a window, which hides blocks, only trying would tell, so it is `true`.
    pub fn gains(&self) -> bool {
        self.spec.window.is_some() || self.reclaimable()
    }

    /// Adds a block that will not be written further to the index.
    pub fn close(&mut self, block: SuperblockId, now: u64, erase_count: u32) {
        let local = self.local(block);
        assert_eq!(self.rows.state(local).place, Place::NotClosed, "block {block} closes once");
        let roster = self.spec.roster;
        let is_later = self.closed_last_at <= now;
        debug_assert!(is_later, "blocks close in the order of the host clock, by which policies tell their age");
        self.closed_last_at = now;
        self.sequence += 1;
        self.closed_len += 1;
        let position = if roster.has_positions() { self.closed.len() as u32 } else { NOWHERE };
        self.closings[local as usize] = ClosedBlock { sequence: self.sequence, at: now, position };
        if let Some(closing) = &mut self.closing {
            closing.close(local, now);
        } else if let Some(key) = self.spec.order.key(erase_count) {
            self.keys[local as usize] = key;
        }
        if roster.has_positions() {
            self.closed.push(local);
        }
        if roster.has_ages() {
            self.by_closing.push_back((self.sequence, local));
        }
        if self.spec.window.is_some() {
            self.rows.edit().set_place(local, Place::Waiting);
            self.waiting.push_back((self.sequence, local));
        } else {
            self.enter(local);
        }
    }

    /// Removes a closed block, which is reclaimed or refilled.
    pub fn open(&mut self, block: SuperblockId) {
        let local = self.local(block);
        let State { valid, place } = self.rows.state(local);
        assert_ne!(place, Place::NotClosed, "block {block} is closed");
        self.rows.edit().set_place(local, Place::NotClosed);
        if place == Place::Unlisted {
            self.bucketed -= 1;
            self.bucketed_valid -= u64::from(valid);
        } else if place == Place::Bucket {
            self.bucketed -= 1;
            self.bucketed_valid -= u64::from(valid);
            if self.spec.order == Order::Entry {
                self.leave_list(local);
            } else if let Some(closing) = &mut self.closing {
                closing.leave(local, valid);
            } else {
                self.leave_heap(valid);
            }
            self.raise_lowest();
        }
        if let Some(closing) = &mut self.closing {
            closing.open(local);
        }
        self.closed_len -= 1;
        if self.spec.keeps_entries() {
            self.strike_off(local);
        }
    }

    /// Removes a block that is no longer closed from the roster and from the waiting blocks.
    fn strike_off(&mut self, local: u32) {
        let left = &mut self.closings[local as usize];
        left.sequence = 0;
        if self.spec.roster.has_positions() {
            let position = left.position as usize;
            let found = self.closed.swap_remove(position);
            debug_assert_eq!(found, local, "the block is where its entry says, or another one would leave");
            if let Some(moved) = self.closed.get(position) {
                self.closings[*moved as usize].position = position as u32;
            }
        }
        Self::drop_stale(&mut self.by_closing, &self.closings, local, self.closed_len);
        Self::drop_stale(&mut self.waiting, &self.closings, local, self.closed_len);
    }

    /// Prefetches what [`VictimIndex::open`] will need of a block. The two steps have other work between and after them, since the
    /// second uses what the first has loaded.
    #[inline]
    pub(crate) fn prefetch_open(&self, block: SuperblockId, step: u32) {
        let local = self.local(block) as usize;
        if step == 0 {
            self.rows.prefetch(local as u32);
            if self.spec.keeps_entries() {
                prefetch(&self.closings, local);
            }
        } else if self.spec.roster.has_positions() {
            prefetch(&self.closed, self.closings[local].position as usize);
            self.closed.last().iter().for_each(|last| prefetch(&self.closings, **last as usize));
        }
    }

    /// Prefetches what a block that will be written needs, up to [`VictimIndex::close`].
    #[inline]
    pub(crate) fn prefetch_close(&self, block: SuperblockId) {
        let local = self.local(block);
        self.rows.prefetch(local);
        prefetch(&self.closings, local as usize);
    }

    /// Moves the oldest waiting blocks into the window until it is full.
    pub fn fill_window(&mut self) {
        let Some(window) = self.window else { return };
        while self.bucketed < window {
            let Some((sequence, local)) = self.waiting.pop_front() else { return };
            if self.closings[local as usize].sequence == sequence {
                self.enter(local);
            }
        }
        Self::drop_front(&mut self.waiting, &self.closings);
        // At the next victim the first waiting block enters the window, and the one behind it is checked for still waiting.
        self.waiting.front().iter().for_each(|(_, local)| self.rows.prefetch(*local));
        self.waiting.get(1).iter().for_each(|(_, local)| prefetch(&self.closings, *local as usize));
        debug_assert!(self.bucketed <= window, "the policy sees no more blocks than its window has");
    }

    /// The lowest number of valid units in any bucket.
    pub fn lowest(&self) -> Option<u32> {
        debug_assert!(self.bucketed == 0 || self.has(self.lowest), "the lowest bucket holds a block");
        (self.bucketed > 0).then_some(self.lowest)
    }

    /// The lowest number of valid units, from `valid` up, whose bucket holds a block.
    pub fn next_bucket(&self, valid: u32) -> Option<u32> {
        let from = valid.max(self.lowest);
        let listed = (from..self.listed.below).find(|valid| self.has(*valid));
        if listed.is_some() || self.listed.below > self.units_per_block {
            return listed;
        }
        self.unlisted().map(|(_, valid)| valid).filter(|valid| *valid >= from).min()
    }

    /// The first block of a bucket in the declared order.
    pub fn first(&self, valid: u32) -> Option<SuperblockId> {
        if self.spec.order == Order::Entry {
            if valid >= self.listed.below {
                let bucket = self.unlisted().filter(|(_, count)| *count == valid);
                let first = bucket.min_by_key(|(local, _)| self.rows.moment(*local));
                return first.map(|(local, _)| SuperblockId(self.first + local));
            }
            return self.block_at(self.sentinels[valid as usize].next, valid);
        }
        let local = match &self.closing {
            Some(closing) => closing.first(valid),
            None => self.heaps[valid as usize].peek().map(|Reverse((_, local))| *local),
        };
        local.and_then(|local| self.block_at(local, valid))
    }

    /// The block that is likely to be reclaimed next. A guess for prefetches; the policy decides.
    pub(crate) fn likely_victim(&self) -> Option<SuperblockId> {
        if self.spec.roster == Roster::ByAge {
            return self.oldest();
        }
        let lowest = self.lowest()?;
        let has_gap = self.window.is_some_and(|window| self.bucketed < window);
        match self.waiting.front() {
            // It enters the window before the next choice.
            Some((_, local)) if has_gap && self.rows.state(*local).valid < lowest => {
                Some(SuperblockId(self.first + local))
            }
            _ => self.first(lowest),
        }
    }

    /// The block that entered a bucket last; `None` unless the order is [`Order::Entry`].
    pub fn last(&self, valid: u32) -> Option<SuperblockId> {
        match self.spec.order {
            Order::Entry if valid >= self.listed.below => {
                let bucket = self.unlisted().filter(|(_, count)| *count == valid);
                let last = bucket.max_by_key(|(local, _)| self.rows.moment(*local));
                last.map(|(local, _)| SuperblockId(self.first + local))
            }
            Order::Entry => self.block_at(self.sentinels[valid as usize].previous, valid),
            Order::Closing | Order::Wear | Order::MostWorn => None,
        }
    }

    /// Number of closed blocks.
    pub fn closed_len(&self) -> u32 {
        self.closed_len
    }

    /// The closed block at a position of an arbitrary but repeatable order.
    ///
    /// # Panics
    /// The position is not below [`VictimIndex::closed_len`].
    pub fn closed(&self, position: u32) -> SuperblockId {
        if self.spec.roster.has_positions() {
            return SuperblockId(self.first + self.closed[position as usize]);
        }
        self.closed_blocks().nth(position as usize).expect("a position below the number of closed blocks")
    }

    /// The closed blocks, in the order of [`VictimIndex::closed`]: by id if the roster has no positions.
    pub fn closed_blocks(&self) -> impl Iterator<Item = SuperblockId> {
        let scanned = if self.spec.roster.has_positions() { 0..0 } else { 0..self.blocks };
        let is_closed = |local: &u32| self.rows.state(*local).place != Place::NotClosed;
        self.closed.iter().copied().chain(scanned.filter(is_closed)).map(|local| SuperblockId(self.first + local))
    }

    /// The block that closed longest ago.
    pub fn oldest(&self) -> Option<SuperblockId> {
        if self.spec.roster.has_ages() {
            return self.by_closing.front().map(|(_, local)| SuperblockId(self.first + local));
        }
        self.closed_blocks().min_by_key(|block| self.closings[self.local(*block) as usize].sequence)
    }

    /// The oldest closed block outside the window.
    pub fn oldest_waiting(&self) -> Option<SuperblockId> {
        self.waiting.front().map(|(_, local)| SuperblockId(self.first + local))
    }

    /// Invalid units in all buckets.
    pub fn invalid_in_window(&self) -> u64 {
        u64::from(self.bucketed) * u64::from(self.units_per_block) - self.bucketed_valid
    }

    /// Valid units of all blocks, open ones included. Scans every block: for checks.
    pub fn valid_total(&self) -> u64 {
        (0..self.blocks).map(|local| u64::from(self.rows.state(local).valid)).sum()
    }

    /// The block that a link of a bucket leads to; `None` if that is the bucket's own sentinel, so that the bucket is empty.
    fn block_at(&self, link: u32, valid: u32) -> Option<SuperblockId> {
        let holds = |local| self.rows.state(local) == State { valid, place: Place::Bucket };
        debug_assert!(link >= self.blocks || holds(link), "a bucket holds blocks of its number of valid units");
        (link < self.blocks).then_some(SuperblockId(self.first + link))
    }

    fn has(&self, valid: u32) -> bool {
        match self.spec.order {
            Order::Entry => self.sentinels[valid as usize].next < self.blocks,
            Order::Closing => self.closing.as_ref().is_some_and(|closing| closing.has(valid)),
            Order::Wear | Order::MostWorn => self.counts[valid as usize] > 0,
        }
    }

    fn enter(&mut self, local: u32) {
        let State { valid, .. } = self.rows.state(local);
        self.bucketed += 1;
        self.bucketed_valid += u64::from(valid);
        if self.spec.order == Order::Entry {
            self.enter_list(local, valid);
            return;
        }
        self.rows.edit().set_place(local, Place::Bucket);
        self.lowest = self.lowest.min(valid);
        if let Some(closing) = &mut self.closing {
            closing.enter(local, valid);
        } else {
            self.enter_heap(local, valid);
        }
    }

    fn enter_heap(&mut self, local: u32, valid: u32) {
        self.counts[valid as usize] += 1;
        self.heaps[valid as usize].push(Reverse((self.keys[local as usize], local)));
    }

    /// Called after a block left the bucket: keeps a present block on top of the heap, and its length in proportion.
    fn leave_heap(&mut self, valid: u32) {
        self.counts[valid as usize] -= 1;
        let (rows, keys) = (&self.rows, &self.keys);
        let holds = |(key, local): (u64, u32)| {
            rows.state(local) == State { valid, place: Place::Bucket } && keys[local as usize] == key
        };
        let heap = &mut self.heaps[valid as usize];
        while heap.peek().is_some_and(|Reverse(entry)| !holds(*entry)) {
            heap.pop();
        }
        if heap.len() > 2 * self.counts[valid as usize] as usize + 64 {
            heap.retain(|Reverse(entry)| holds(*entry));
        }
        debug_assert!(heap.len() >= self.counts[valid as usize] as usize, "the heap holds each block of its bucket");
    }

    fn raise_lowest(&mut self) {
        self.lowest = self.next_bucket(self.lowest).unwrap_or(self.units_per_block + 1);
    }

    /// Takes over projected erase counts, if the order uses them.
    pub(crate) fn resync(&mut self, erase_count: &[u32]) {
        let order = self.spec.order;
        self.heaps.iter_mut().for_each(BinaryHeap::clear);
        let closed: Vec<SuperblockId> = self.closed_blocks().collect();
        for block in closed {
            let Some(key) = order.key(erase_count[block.index()]) else { return };
            let local = self.local(block);
            self.keys[local as usize] = key;
            let state = self.rows.state(local);
            if state.place == Place::Bucket {
                self.heaps[state.valid as usize].push(Reverse((key, local)));
            }
        }
        let entries: usize = self.heaps.iter().map(BinaryHeap::len).sum();
        debug_assert_eq!(entries, self.bucketed as usize, "each block of a bucket is in its heap once");
    }

    /// Called after a block opened: removes stale entries in front, and all of them once they outnumber the closed blocks.
    fn drop_stale(queue: &mut VecDeque<(u64, u32)>, closings: &[ClosedBlock], opened: u32, closed: u32) {
        if queue.front().is_some_and(|(_, local)| *local == opened) {
            Self::drop_front(queue, closings);
        }
        if queue.len() > 2 * closed as usize + 64 {
            queue.retain(|(sequence, local)| closings[*local as usize].sequence == *sequence);
        }
    }

    fn drop_front(queue: &mut VecDeque<(u64, u32)>, closings: &[ClosedBlock]) {
        while queue.front().is_some_and(|(sequence, local)| closings[*local as usize].sequence != *sequence) {
            queue.pop_front();
        }
    }
}

/// The set bits of a word, lowest first.
#[inline(always)]
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

impl ValidUnits for VictimIndex {
    fn valid(&self, block: SuperblockId) -> u32 {
        Self::valid(self, block)
    }
}
