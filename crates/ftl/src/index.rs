//! The victim index: every closed block of a domain, ready for any policy's question.
//!
//! Blocks lie in buckets by their number of valid units. With [`Order::Entry`] a bucket is an intrusive list with a
//! sentinel, so that moving a block after an invalidation is a handful of stores; with [`Order::Closing`] it is a set of
//! bits (`ClosingOrder`), and with [`Order::Wear`] a heap with lazy deletion. Beside the buckets stand all closed
//! blocks in closing order, and densely for draws.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wane_units::SuperblockId;

use crate::closing::ClosingOrder;
use crate::table::prefetch;

/// The order of blocks that have the same number of valid units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By the time a block last came to this number: O(1) upkeep.
    #[default]
    Entry,
    /// By the host clock when the block closed, then by id: a few bits flip.
    Closing,
    /// By erase count, then by id: O(log n) upkeep.
    Wear,
}

/// What a policy asks the mechanism to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexSpec {
    /// The order within a bucket.
    pub order: Order,
    /// Only this many of the oldest closed blocks are in buckets; the others wait. `None`: all.
    pub window: Option<u32>,
}

const NOWHERE: u32 = u32::MAX;

/// Where a block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Place {
    /// Free, being written, or retired.
    Outside,
    /// Closed, but not yet in the window.
    Waiting,
    /// Closed and in the bucket of its valid count.
    Bucket,
}

/// Sixteen bytes, so that four share a cache line and one prefetch brings all of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
struct Record {
    previous: u32,
    next: u32,
    valid: u32,
    place: Place,
}

/// What is kept of a closed block beside its record. One line of the cache holds all of it, for it is asked once for each victim.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct ClosedBlock {
    /// Number of the closing; 0 while the block is not closed.
    sequence: u64,
    /// The host clock at the closing.
    at: u64,
    /// Where it stands in the dense table.
    position: u32,
}

/// A heap entry: the order's key, then the block.
type Key = Reverse<(u64, u32)>;

/// The closed blocks of one domain. Block ids run from `first` on.
#[derive(Clone, Debug)]
pub struct VictimIndex {
    spec: IndexSpec,
    first: u32,
    blocks: u32,
    units_per_block: u32,
    /// One a block, then one sentinel a bucket.
    records: Vec<Record>,
    closing: Option<ClosingOrder>,
    heaps: Vec<BinaryHeap<Key>>,
    keys: Vec<u64>,
    /// How many blocks each bucket holds; kept for heaps, which hold stale entries too.
    counts: Vec<u32>,
    /// No bucket below this one holds a block.
    lowest: u32,
    bucketed: u32,
    bucketed_valid: u64,
    /// The closed blocks, densely.
    closed: Vec<u32>,
    closings: Vec<ClosedBlock>,
    /// Closing sequence number and block; the front entry is never stale.
    by_closing: VecDeque<(u64, u32)>,
    waiting: VecDeque<(u64, u32)>,
    sequence: u64,
    /// See [`Lists::prefetch`].
    pub(crate) coming: Coming,
}

/// Distance of the second prefetch, in writes. A block's record arrives within so many writes, and only then are its neighbors
/// in the list known.
pub(crate) const COMING: usize = 8;

/// What the last [`COMING`] prefetches named, each at its number modulo [`COMING`]. A hint: nothing depends on it but speed.
pub(crate) type Coming = [u32; COMING];

/// Fewer records than this, 512 KiB, lie in a cache from which a list is followed without waiting.
const RECORDS_NEAR: usize = 1 << 15;

/// The lists of [`Order::Entry`] while many units in a row are invalidated: what every step needs stays in registers.
pub(crate) struct Lists<'a> {
    records: &'a mut [Record],
    first: u32,
    blocks: u32,
    lowest: u32,
    /// Units that blocks in buckets lost.
    left: u64,
    lowest_before: &'a mut u32,
    bucketed_valid: &'a mut u64,
}

impl Lists<'_> {
    /// Prefetches the record of a block that will soon lose a unit, and the neighbors of the block that was named [`COMING`]
    /// calls ago: unlinking that block writes to their records. `position` is the number of the call.
    #[inline(always)]
    pub(crate) fn prefetch(&self, coming: &mut Coming, position: usize, block: SuperblockId) {
        let local = block.0 - self.first;
        prefetch(self.records, local as usize);
        if self.records.len() < RECORDS_NEAR {
            return;
        }
        let before = std::mem::replace(&mut coming[position % COMING], local);
        let Record { previous, next, .. } = self.records[before as usize];
        prefetch(self.records, previous as usize);
        prefetch(self.records, next as usize);
    }

    /// As [`VictimIndex::invalidate`].
    #[inline(always)]
    pub(crate) fn invalidate(&mut self, block: SuperblockId) {
        let local = block.0 - self.first;
        let record = &mut self.records[local as usize];
        debug_assert!(record.valid > 0, "a block without valid units loses none");
        record.valid -= 1;
        if record.place != Place::Bucket {
            return;
        }
        let Record { previous, next, valid, .. } = *record;
        self.left += 1;
        self.lowest = self.lowest.min(valid);
        self.records[previous as usize].next = next;
        self.records[next as usize].previous = previous;
        append(self.records, self.blocks + valid, local);
    }

    /// Ends the row.
    #[inline(always)]
    pub(crate) fn finish(self) {
        *self.lowest_before = self.lowest;
        *self.bucketed_valid -= self.left;
    }
}

/// Puts a block that is in no list at the end of a sentinel's.
#[inline(always)]
fn append(records: &mut [Record], sentinel: u32, local: u32) {
    let tail = records[sentinel as usize].previous;
    records[tail as usize].next = local;
    records[sentinel as usize].previous = local;
    let record = &mut records[local as usize];
    (record.previous, record.next) = (tail, sentinel);
}

impl VictimIndex {
    /// An index of `blocks` blocks from `first` on, none of them closed.
    pub fn new(first: SuperblockId, blocks: u32, units_per_block: u32, spec: IndexSpec) -> Self {
        let sentinels = units_per_block + 1;
        let outside = Record { previous: NOWHERE, next: NOWHERE, valid: 0, place: Place::Outside };
        let mut records = vec![outside; (blocks + sentinels) as usize];
        for sentinel in blocks..blocks + sentinels {
            let record = &mut records[sentinel as usize];
            (record.previous, record.next) = (sentinel, sentinel);
        }
        let keyed = spec.order == Order::Wear;
        Self {
            spec,
            first: first.0,
            blocks,
            units_per_block,
            records,
            closing: (spec.order == Order::Closing).then(|| ClosingOrder::new(blocks, sentinels)),
            heaps: if keyed { vec![BinaryHeap::new(); sentinels as usize] } else { Vec::new() },
            keys: if keyed { vec![0; blocks as usize] } else { Vec::new() },
            counts: if keyed { vec![0; sentinels as usize] } else { Vec::new() },
            lowest: sentinels,
            bucketed: 0,
            bucketed_valid: 0,
            closed: Vec::with_capacity(blocks as usize),
            closings: vec![ClosedBlock { sequence: 0, at: 0, position: NOWHERE }; blocks as usize],
            by_closing: VecDeque::new(),
            waiting: VecDeque::new(),
            sequence: 0,
            coming: [0; COMING],
        }
    }

    #[inline(always)]
    fn local(&self, block: SuperblockId) -> u32 {
        block.0 - self.first
    }

    /// Mapping units in a block.
    pub fn units_per_block(&self) -> u32 {
        self.units_per_block
    }

    /// Valid units of any block of the domain.
    #[inline(always)]
    pub fn valid(&self, block: SuperblockId) -> u32 {
        self.records[self.local(block) as usize].valid
    }

    /// The host clock when a closed block was last written.
    pub fn closed_at(&self, block: SuperblockId) -> u64 {
        self.closings[self.local(block) as usize].at
    }

    /// Whether the block is closed.
    pub fn is_closed(&self, block: SuperblockId) -> bool {
        self.records[self.local(block) as usize].place != Place::Outside
    }

    /// Counts `units` more valid units in a block that is being written.
    #[inline(always)]
    pub fn add_valid(&mut self, block: SuperblockId, units: u32) {
        let local = self.local(block);
        let record = &mut self.records[local as usize];
        debug_assert_eq!(record.place, Place::Outside, "only an open block gains units");
        record.valid += units;
    }

    /// Brings a block's record into the cache.
    #[inline(always)]
    pub fn prefetch(&self, block: SuperblockId) {
        prefetch(&self.records, self.local(block) as usize);
    }

    /// Counts one valid unit less in a block and moves it to its new bucket.
    #[inline]
    pub fn invalidate(&mut self, block: SuperblockId) {
        match self.lists() {
            Some(mut lists) => {
                lists.invalidate(block);
                lists.finish();
            }
            None => self.invalidate_keyed(block),
        }
    }

    /// The lists, to invalidate many units in a row; none where buckets have another order.
    #[inline(always)]
    pub(crate) fn lists(&mut self) -> Option<Lists<'_>> {
        (self.spec.order == Order::Entry).then(|| Lists {
            records: &mut self.records,
            first: self.first,
            blocks: self.blocks,
            lowest: self.lowest,
            left: 0,
            lowest_before: &mut self.lowest,
            bucketed_valid: &mut self.bucketed_valid,
        })
    }

    /// As [`VictimIndex::invalidate`], where a bucket is no list.
    #[inline(always)]
    fn invalidate_keyed(&mut self, block: SuperblockId) {
        let local = self.local(block);
        let record = &mut self.records[local as usize];
        debug_assert!(record.valid > 0, "a block without valid units loses none");
        record.valid -= 1;
        if record.place == Place::Bucket {
            let valid = record.valid;
            self.bucketed_valid -= 1;
            self.lowest = self.lowest.min(valid);
            self.lower(local, valid);
        }
    }

    /// Moves a block to the bucket below in the orders that are not a list. Apart, so that greedy's path stays short.
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

    /// Counts no unit of an open block as valid any more.
    pub fn clear(&mut self, block: SuperblockId) {
        let local = self.local(block);
        let record = &mut self.records[local as usize];
        debug_assert_eq!(record.place, Place::Outside, "a closed block is opened before it is cleared");
        record.valid = 0;
    }

    /// Whether reclaiming some closed block would gain a unit.
    pub fn reclaimable(&self) -> bool {
        self.lowest().is_some_and(|valid| valid < self.units_per_block) || self.oldest_waiting().is_some()
    }

    /// Whether any choice of a victim could gain a unit. A window hides blocks, so there only trying tells.
    pub fn gains(&self) -> bool {
        self.spec.window.is_some() || self.reclaimable()
    }

    /// Takes a block that will not be written further into the index.
    pub fn close(&mut self, block: SuperblockId, now: u64, erase_count: u32) {
        let local = self.local(block);
        assert_eq!(self.records[local as usize].place, Place::Outside, "block {block} closes once");
        self.sequence += 1;
        let position = self.closed.len() as u32;
        self.closings[local as usize] = ClosedBlock { sequence: self.sequence, at: now, position };
        match self.spec.order {
            Order::Entry => {}
            Order::Closing => self.closing.iter_mut().for_each(|closing| closing.close(local, now)),
            Order::Wear => self.keys[local as usize] = u64::from(erase_count),
        }
        self.closed.push(local);
        self.by_closing.push_back((self.sequence, local));
        if self.spec.window.is_some() {
            self.records[local as usize].place = Place::Waiting;
            self.waiting.push_back((self.sequence, local));
        } else {
            self.enter(local);
        }
    }

    /// Takes a closed block out: it is reclaimed or refilled.
    pub fn open(&mut self, block: SuperblockId) {
        let local = self.local(block);
        let Record { previous, next, valid, place } = self.records[local as usize];
        assert_ne!(place, Place::Outside, "block {block} is closed");
        self.records[local as usize].place = Place::Outside;
        if place == Place::Bucket {
            self.bucketed -= 1;
            self.bucketed_valid -= u64::from(valid);
            if self.spec.order == Order::Entry {
                self.records[previous as usize].next = next;
                self.records[next as usize].previous = previous;
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
        let left = &mut self.closings[local as usize];
        left.sequence = 0;
        let position = left.position as usize;
        self.closed.swap_remove(position);
        if let Some(moved) = self.closed.get(position) {
            self.closings[*moved as usize].position = position as u32;
        }
        Self::drop_stale(&mut self.by_closing, &self.closings, local, self.closed.len());
        Self::drop_stale(&mut self.waiting, &self.closings, local, self.closed.len());
    }

    /// Asks for what [`VictimIndex::open`] will need of a block, in two steps with other work between and after them, since the
    /// second follows what the first has brought.
    #[inline]
    pub(crate) fn prefetch_open(&self, block: SuperblockId, step: u32) {
        let local = self.local(block) as usize;
        if step == 0 {
            prefetch(&self.records, local);
            prefetch(&self.closings, local);
        } else {
            prefetch(&self.closed, self.closings[local].position as usize);
            self.closed.last().iter().for_each(|last| prefetch(&self.closings, **last as usize));
        }
    }

    /// Moves the oldest waiting blocks into the window until it is full.
    pub fn fill_window(&mut self) {
        let Some(window) = self.spec.window else { return };
        while self.bucketed < window {
            let Some((sequence, local)) = self.waiting.pop_front() else { return };
            if self.closings[local as usize].sequence == sequence {
                self.enter(local);
            }
        }
        Self::drop_front(&mut self.waiting, &self.closings);
    }

    /// The lowest number of valid units in any bucket.
    pub fn lowest(&self) -> Option<u32> {
        (self.bucketed > 0).then_some(self.lowest)
    }

    /// The next number of valid units, from `valid` up, that any bucket has.
    pub fn next_bucket(&self, valid: u32) -> Option<u32> {
        (valid.max(self.lowest)..=self.units_per_block).find(|valid| self.has(*valid))
    }

    /// The first block of a bucket in the declared order.
    pub fn first(&self, valid: u32) -> Option<SuperblockId> {
        if self.spec.order == Order::Entry {
            return self.block_at(self.records[(self.blocks + valid) as usize].next);
        }
        let local = match &self.closing {
            Some(closing) => closing.first(valid),
            None => self.heaps[valid as usize].peek().map(|Reverse((_, local))| *local),
        };
        local.map(|local| SuperblockId(self.first + local))
    }

    /// The block that came last to a bucket; `None` unless the order is [`Order::Entry`].
    pub fn last(&self, valid: u32) -> Option<SuperblockId> {
        match self.spec.order {
            Order::Entry => self.block_at(self.records[(self.blocks + valid) as usize].previous),
            Order::Closing | Order::Wear => None,
        }
    }

    /// Closed blocks.
    pub fn closed_len(&self) -> u32 {
        self.closed.len() as u32
    }

    /// The closed block at a position of an arbitrary but repeatable order.
    pub fn closed(&self, position: u32) -> SuperblockId {
        SuperblockId(self.first + self.closed[position as usize])
    }

    /// The block that closed longest ago.
    pub fn oldest(&self) -> Option<SuperblockId> {
        self.by_closing.front().map(|(_, local)| SuperblockId(self.first + local))
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
        self.records[..self.blocks as usize].iter().map(|record| u64::from(record.valid)).sum()
    }

    fn block_at(&self, record: u32) -> Option<SuperblockId> {
        (record < self.blocks).then_some(SuperblockId(self.first + record))
    }

    fn has(&self, valid: u32) -> bool {
        match self.spec.order {
            Order::Entry => self.records[(self.blocks + valid) as usize].next < self.blocks,
            Order::Closing => self.closing.as_ref().is_some_and(|closing| closing.has(valid)),
            Order::Wear => self.counts[valid as usize] > 0,
        }
    }

    fn enter(&mut self, local: u32) {
        let valid = self.records[local as usize].valid;
        self.records[local as usize].place = Place::Bucket;
        self.bucketed += 1;
        self.bucketed_valid += u64::from(valid);
        self.lowest = self.lowest.min(valid);
        if self.spec.order == Order::Entry {
            append(&mut self.records, self.blocks + valid, local);
        } else if let Some(closing) = &mut self.closing {
            closing.enter(local, valid);
        } else {
            self.enter_heap(local, valid);
        }
    }

    fn enter_heap(&mut self, local: u32, valid: u32) {
        self.counts[valid as usize] += 1;
        self.heaps[valid as usize].push(Reverse((self.keys[local as usize], local)));
    }

    /// A block left the bucket: keep its heap's top a block that is there, and its length in proportion.
    fn leave_heap(&mut self, valid: u32) {
        self.counts[valid as usize] -= 1;
        let (records, keys) = (&self.records, &self.keys);
        let holds = |(key, local): (u64, u32)| {
            let record = &records[local as usize];
            record.place == Place::Bucket && record.valid == valid && keys[local as usize] == key
        };
        let heap = &mut self.heaps[valid as usize];
        while heap.peek().is_some_and(|Reverse(entry)| !holds(*entry)) {
            heap.pop();
        }
        if heap.len() > 2 * self.counts[valid as usize] as usize + 64 {
            heap.retain(|Reverse(entry)| holds(*entry));
        }
    }

    fn raise_lowest(&mut self) {
        self.lowest = self.next_bucket(self.lowest).unwrap_or(self.units_per_block + 1);
    }

    /// A block opened: stale entries never stay in front, and never outnumber the closed blocks for long.
    fn drop_stale(queue: &mut VecDeque<(u64, u32)>, closings: &[ClosedBlock], opened: u32, closed: usize) {
        if queue.front().is_some_and(|(_, local)| *local == opened) {
            Self::drop_front(queue, closings);
        }
        if queue.len() > 2 * closed + 64 {
            queue.retain(|(sequence, local)| closings[*local as usize].sequence == *sequence);
        }
    }

    fn drop_front(queue: &mut VecDeque<(u64, u32)>, closings: &[ClosedBlock]) {
        while queue.front().is_some_and(|(sequence, local)| closings[*local as usize].sequence != *sequence) {
            queue.pop_front();
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::policies::victim::GcView;

    /// Blocks 0.. closed in order at clock 1, 2, ... with these valid counts.
    pub(crate) fn closed(units_per_block: u32, valid: &[u32], spec: IndexSpec) -> VictimIndex {
        let mut index = VictimIndex::new(SuperblockId(0), valid.len() as u32, units_per_block, spec);
        for (block, valid) in (0..).zip(valid) {
            index.add_valid(SuperblockId(block), *valid);
            index.close(SuperblockId(block), u64::from(block) + 1, 0);
        }
        index.fill_window();
        index
    }

    pub(crate) fn view<'a>(index: &'a VictimIndex, erase_count: &'a [u32], now: u64) -> GcView<'a> {
        GcView { index, erase_count, now }
    }

    #[test]
    fn entry_order_follows_the_last_move() {
        let mut index = closed(4, &[3, 2, 3], IndexSpec::default());
        index.invalidate(SuperblockId(2));
        index.invalidate(SuperblockId(0));
        assert_eq!((index.first(2), index.last(2)), (Some(SuperblockId(1)), Some(SuperblockId(0))));
        index.open(SuperblockId(1));
        assert_eq!(index.first(2), Some(SuperblockId(2)));
        assert_eq!(index.lowest(), Some(2));
    }

    #[test]
    fn keyed_orders_ignore_the_time_of_entry() {
        let spec = IndexSpec { order: Order::Closing, window: None };
        let mut index = closed(8, &[5, 4, 4], spec);
        index.invalidate(SuperblockId(0));
        assert_eq!(index.first(4), Some(SuperblockId(0)));
        index.open(SuperblockId(0));
        assert_eq!(index.first(4), Some(SuperblockId(1)));
        let mut wear = VictimIndex::new(SuperblockId(0), 2, 4, IndexSpec { order: Order::Wear, window: None });
        wear.close(SuperblockId(0), 1, 9);
        wear.close(SuperblockId(1), 2, 3);
        assert_eq!(wear.first(0), Some(SuperblockId(1)));
    }

    #[test]
    fn a_window_holds_the_oldest_blocks() {
        let mut index = closed(4, &[4, 3, 1], IndexSpec { order: Order::Entry, window: Some(2) });
        assert_eq!((index.lowest(), index.oldest_waiting()), (Some(3), Some(SuperblockId(2))));
        assert_eq!(index.invalid_in_window(), 1);
        index.open(SuperblockId(1));
        index.fill_window();
        assert_eq!((index.lowest(), index.oldest_waiting()), (Some(1), None));
    }

    #[test]
    fn random_moves_keep_every_structure_true() {
        for order in [Order::Entry, Order::Closing, Order::Wear] {
            let mut stream = wane_sim::Streams::new(3).stream("index");
            let mut index = closed(16, &[16; 40], IndexSpec { order, window: None });
            for now in 0..20_000u64 {
                let block = SuperblockId(stream.below(40) as u32);
                match (index.is_closed(block), index.valid(block)) {
                    (true, 0) => index.open(block),
                    (true, _) if stream.chance(0.02) => index.open(block),
                    (true, _) => index.invalidate(block),
                    (false, valid) => {
                        index.add_valid(block, 16 - valid);
                        index.close(block, now / 7, now as u32 % 5);
                    }
                }
                let want = (0..40).map(SuperblockId).filter(|block| index.is_closed(*block));
                assert_eq!(index.lowest(), want.map(|block| index.valid(block)).min());
                if let Some(valid) = index.lowest() {
                    let first = index.first(valid).unwrap();
                    assert!(index.is_closed(first) && index.valid(first) == valid);
                }
                let oldest = (0..40)
                    .filter(|b| index.is_closed(SuperblockId(*b)))
                    .min_by_key(|b| index.closings[*b as usize].sequence);
                assert_eq!(index.oldest(), oldest.map(SuperblockId));
            }
        }
    }
}
