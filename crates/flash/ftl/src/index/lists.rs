//! The buckets of [`Order::Entry`]: intrusive lists, only of the lowest buckets if a policy needs no others.
//!
//! Moving a block from list to list also writes to its two neighbors, and on a large drive each of them is a cache line far
//! away. Most blocks that lose a unit are far from being victims. For those, the row keeps only the moment at which they
//! entered their bucket. Once the lists below are used up, they are listed in the order of these moments. The choice of
//! victims and the order of blocks with equally many valid units stay the same.

use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::rows::{Links, Place, RowsMut, State};
use super::{IndexSpec, Order, VictimIndex};

/// When buckets are listed anew, at least one block in this many is listed.
const LISTED_SHARE: u32 = 128;

/// Which buckets are lists.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Listed {
    /// Buckets of fewer valid units than this are lists. At least one block is listed if any is in a bucket.
    pub(super) below: u32,
    /// Blocks in lists.
    blocks: u32,
    /// Fewest blocks that are listed anew. If four times as many are listed, the highest lists are given up.
    blocks_new: u32,
    /// Number of blocks that may enter before the number of listed blocks is checked again.
    entries_left: u32,
    /// Counts moves between buckets that are not lists, for the order within them.
    moment: u64,
}

impl IndexSpec {
    /// Whether only the lowest buckets are lists.
    fn lists_lowest(&self) -> bool {
        self.lowest_only && self.order == Order::Entry && self.window.is_none()
    }
}

impl Listed {
    pub(super) fn new(spec: IndexSpec, blocks: u32, buckets: u32) -> Self {
        let blocks_new = (blocks / LISTED_SHARE).max(8);
        let is_partial = spec.lists_lowest();
        Self { below: if is_partial { 0 } else { buckets }, blocks: 0, blocks_new, entries_left: blocks_new, moment: 0 }
    }
}

/// The lists while many units in a row are invalidated: what every step needs stays in registers.
pub(crate) struct Lists<'a> {
    chains: Chains<'a>,
    first: u32,
    lowest: u32,
    listed: Listed,
    /// Whether neighbors are prefetched: if most blocks are in lists and rows are far away.
    asks_neighbors: bool,
    /// Units that blocks in buckets lost.
    left: u64,
    lowest_before: &'a mut u32,
    listed_before: &'a mut Listed,
    bucketed_valid: &'a mut u64,
    coming: &'a mut Coming,
}

/// Distance of the second prefetch, in calls. By then the first one should have loaded the row, which names the neighbors.
const COMING: usize = 16;

/// With fewer blocks than this, up to a mebibyte of rows, lists are followed without waiting.
const BLOCKS_FAR: u32 = 1 << 14;

/// Targets of the last [`COMING`] prefetches. A hint: only speed depends on it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coming {
    blocks: [u32; COMING],
    turn: usize,
}

impl Lists<'_> {
    /// Prefetches the row of a block that will soon lose a unit. Also prefetches the neighbors of the block that was named
    /// [`COMING`] calls ago, since unlinking it changes their rows. If few blocks are in lists, that costs more than it saves.
    #[inline(always)]
    pub(crate) fn prefetch(&mut self, block: SuperblockId, unit: u32) {
        let local = block.0 - self.first;
        self.chains.rows.prefetch(local, unit);
        if !self.asks_neighbors {
            return;
        }
        let turn = self.coming.turn % COMING;
        let before = std::mem::replace(&mut self.coming.blocks[turn], local);
        self.coming.turn = turn + 1;
        if self.chains.rows.state(before).place == Place::Bucket {
            let Links { previous, next } = self.chains.rows.links(before);
            self.chains.rows.prefetch(previous, 0);
            self.chains.rows.prefetch(next, 0);
        }
    }

    /// As [`VictimIndex::invalidate`].
    #[inline(always)]
    pub(crate) fn invalidate(&mut self, block: SuperblockId, unit: u32) {
        let local = block.0 - self.first;
        let state = self.chains.rows.lose(local, unit);
        if state.place == Place::Unlisted && state.valid >= self.listed.below {
            self.left += 1;
            self.listed.moment += 1;
            self.chains.rows.set_moment(local, self.listed.moment);
        } else {
            self.moved(local, state);
        }
    }

    /// Moves a block that lost a unit, if that takes more than noting the moment.
    #[inline(always)]
    fn moved(&mut self, local: u32, State { valid, place }: State) {
        match place {
            Place::NotClosed | Place::Waiting => return,
            Place::Unlisted => {
                self.left += 1;
                self.chains.rows.set_state(local, State { valid, place: Place::Bucket });
                self.listed.blocks += 1;
            }
            Place::Bucket => {
                self.left += 1;
                self.chains.unlink(local);
            }
        }
        self.lowest = self.lowest.min(valid);
        self.chains.append(valid, local);
    }

    /// Ends the row.
    #[inline(always)]
    pub(crate) fn finish(self) {
        *self.lowest_before = self.lowest;
        *self.listed_before = self.listed;
        *self.bucketed_valid -= self.left;
    }
}

/// The links of all lists. A link at or beyond the number of blocks is the sentinel of a bucket.
struct Chains<'a> {
    rows: RowsMut<'a>,
    sentinels: &'a mut [Links],
    blocks: u32,
}

impl Chains<'_> {
    #[inline(always)]
    fn next_of(&self, link: u32) -> u32 {
        if link < self.blocks { self.rows.links(link).next } else { self.sentinels[(link - self.blocks) as usize].next }
    }

    #[inline(always)]
    fn set_next(&mut self, link: u32, next: u32) {
        if link < self.blocks {
            let links = self.rows.links(link);
            self.rows.set_links(link, Links { next, ..links });
        } else {
            self.sentinels[(link - self.blocks) as usize].next = next;
        }
    }

    #[inline(always)]
    fn set_previous(&mut self, link: u32, previous: u32) {
        if link < self.blocks {
            let links = self.rows.links(link);
            self.rows.set_links(link, Links { previous, ..links });
        } else {
            self.sentinels[(link - self.blocks) as usize].previous = previous;
        }
    }

    /// Appends a block that is in no list to a bucket's list.
    #[inline(always)]
    fn append(&mut self, bucket: u32, local: u32) {
        let sentinel = self.blocks + bucket;
        let tail = std::mem::replace(&mut self.sentinels[bucket as usize].previous, local);
        debug_assert_eq!(self.next_of(tail), sentinel, "the last block of a list is followed by its sentinel");
        self.set_next(tail, local);
        self.rows.set_links(local, Links { previous: tail, next: sentinel });
    }

    /// Takes a block out of its list.
    #[inline(always)]
    fn unlink(&mut self, local: u32) {
        let Links { previous, next } = self.rows.links(local);
        debug_assert_eq!(self.next_of(previous), local, "a block and the one before it agree that they are neighbors");
        self.set_next(previous, next);
        self.set_previous(next, previous);
    }
}

impl VictimIndex {
    /// The lists, to invalidate many units in a row; `None` if buckets have another order.
    #[inline(always)]
    pub(crate) fn lists(&mut self) -> Option<Lists<'_>> {
        (self.spec.order == Order::Entry).then(|| Lists {
            chains: Chains { rows: self.rows.edit(), sentinels: &mut self.sentinels, blocks: self.blocks },
            first: self.first,
            lowest: self.lowest,
            listed: self.listed,
            asks_neighbors: self.blocks >= BLOCKS_FAR && !self.spec.lists_lowest(),
            left: 0,
            lowest_before: &mut self.lowest,
            listed_before: &mut self.listed,
            bucketed_valid: &mut self.bucketed_valid,
            coming: &mut self.coming,
        })
    }

    /// As [`VictimIndex::invalidate`], for buckets that are lists.
    #[inline(always)]
    pub(super) fn invalidate_listed(&mut self, local: u32, unit: u32) {
        let mut rows = self.rows.edit();
        let state = rows.lose(local, unit);
        if state.place == Place::Unlisted && state.valid >= self.listed.below {
            self.listed.moment += 1;
            rows.set_moment(local, self.listed.moment);
            self.bucketed_valid -= 1;
        } else if let Some(mut lists) = self.lists() {
            lists.moved(local, state);
            lists.finish();
        }
    }

    fn chains(&mut self) -> Chains<'_> {
        Chains { rows: self.rows.edit(), sentinels: &mut self.sentinels, blocks: self.blocks }
    }

    /// Adds a closed block to the bucket of its valid units.
    pub(super) fn enter_list(&mut self, local: u32, valid: u32) {
        if self.listed.blocks == 0 {
            self.listed.below = self.listed.below.max(valid + 1);
        }
        if valid < self.listed.below {
            self.list(local, valid);
        } else {
            self.unlist(local);
        }
        self.listed.entries_left -= 1;
        if self.listed.entries_left == 0 {
            self.listed.entries_left = self.listed.blocks_new;
            if self.spec.lists_lowest() && self.listed.blocks > 4 * self.listed.blocks_new {
                self.list_fewer();
            }
        }
        debug_assert!(self.listed.blocks > 0, "where a block is in a bucket, the lowest bucket is a list");
    }

    /// Removes a block from its list.
    pub(super) fn leave_list(&mut self, local: u32) {
        self.chains().unlink(local);
        self.listed.blocks -= 1;
        if self.listed.blocks == 0 && self.bucketed > 0 {
            self.list_more();
        }
        debug_assert!(self.listed.blocks <= self.bucketed, "a block is in a list only where it is in a bucket");
    }

    /// Blocks that are in a bucket but in no list, with their valid units. Scans all blocks.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = (u32, u32)> {
        let states = (0..self.blocks).map(|local| (local, self.rows.state(local)));
        states.filter(|(_, state)| state.place == Place::Unlisted).map(|(local, state)| (local, state.valid))
    }

    fn list(&mut self, local: u32, valid: u32) {
        debug_assert!(valid < self.listed.below, "a block is listed where its bucket is a list");
        self.rows.edit().set_place(local, Place::Bucket);
        self.listed.blocks += 1;
        self.lowest = self.lowest.min(valid);
        self.chains().append(valid, local);
    }

    fn unlist(&mut self, local: u32) {
        self.listed.moment += 1;
        self.rows.edit().set_place(local, Place::Unlisted);
        self.rows.edit().set_moment(local, self.listed.moment);
    }

    /// Lists the lowest of the unlisted buckets once the lists are used up, in the order in which their blocks entered them.
    #[cold]
    fn list_more(&mut self) {
        let mut counts = vec![0u32; self.units_per_block as usize + 1];
        self.unlisted().for_each(|(_, valid)| counts[valid as usize] += 1);
        let mut sum = 0;
        let is_enough = |count: &u32| {
            sum += count;
            sum >= self.listed.blocks_new
        };
        let highest = counts.iter().position(is_enough).unwrap_or(self.units_per_block as usize) as u32;
        let low = self.unlisted().filter(|(_, valid)| *valid <= highest);
        let mut chosen: Vec<(u64, u32, u32)> =
            low.map(|(local, valid)| (self.rows.moment(local), local, valid)).collect();
        chosen.sort_unstable();
        self.listed.below = highest + 1;
        chosen.iter().for_each(|(_, local, valid)| self.list(*local, *valid));
        assert!(self.listed.blocks > 0, "blocks in buckets that are in no list can be listed");
    }

    /// Gives up the highest lists, but never the lowest one that holds a block.
    #[cold]
    fn list_fewer(&mut self) {
        while self.listed.blocks > self.listed.blocks_new && self.listed.below > self.lowest + 1 {
            self.listed.below -= 1;
            let sentinel = self.blocks + self.listed.below;
            let mut local = self.sentinels[self.listed.below as usize].next;
            while local != sentinel {
                let Links { next, .. } = self.rows.links(local);
                self.unlist(local);
                self.listed.blocks -= 1;
                local = next;
            }
            self.sentinels[self.listed.below as usize] = Links::to_itself(sentinel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::lose_one;

    /// Blocks by valid count and by the order in which they reached it, kept naively.
    #[derive(Default)]
    struct Model {
        moves: u64,
        closed: std::collections::BTreeMap<u32, (u32, u64)>,
    }

    impl Model {
        fn put(&mut self, block: u32, valid: u32) {
            self.moves += 1;
            self.closed.insert(block, (valid, self.moves));
        }

        fn bucket(&self, valid: u32) -> Vec<u32> {
            let mut bucket: Vec<_> = self.closed.iter().filter(|(_, (count, _))| *count == valid).collect();
            bucket.sort_by_key(|(_, (_, moment))| *moment);
            bucket.into_iter().map(|(block, _)| *block).collect()
        }
    }

    const BLOCKS: u32 = 600;
    const UNITS: u32 = 12;

    /// Checks that buckets answer as the model's do.
    fn compare(index: &VictimIndex, model: &Model) {
        for valid in 0..=UNITS {
            let bucket = model.bucket(valid);
            let ends = (index.first(valid), index.last(valid));
            assert_eq!(ends, (bucket.first().copied().map(SuperblockId), bucket.last().copied().map(SuperblockId)));
            let next = (valid..=UNITS).find(|valid| !model.bucket(*valid).is_empty());
            assert_eq!(index.next_bucket(valid), next);
        }
    }

    /// Closes blocks, invalidates units of them, and opens victims or any block. With a large `skew` most invalid units are in blocks of
    /// low numbers. Returns how often lists were filled again.
    fn lives_as_the_model(lowest_only: bool, skew: u64, victims_only: bool) -> u32 {
        let mut stream = wane_sim::Streams::new(skew).stream("lists");
        let spec = IndexSpec { lowest_only, ..IndexSpec::default() };
        let mut index = VictimIndex::new(SuperblockId(0), BLOCKS, UNITS, spec).expect("memory");
        let mut model = Model::default();
        let mut refills = 0;
        for step in 0..40_000 {
            let block = (stream.below(u64::from(BLOCKS)) >> stream.below(skew)) as u32;
            match model.closed.get(&block).copied() {
                None => {
                    index.add_valid(SuperblockId(block), 0, UNITS);
                    index.close(SuperblockId(block), step, 0);
                    model.put(block, UNITS);
                }
                Some((valid, _)) if valid > 0 && !stream.chance(0.02) => {
                    lose_one(&mut index, SuperblockId(block));
                    model.put(block, valid - 1);
                }
                Some(_) => {
                    // Sometimes many at once, so that lists are used up.
                    for _ in 0..if stream.chance(0.05) { 60 } else { 1 } {
                        let Some(lowest) = index.lowest().and_then(|valid| index.first(valid)) else { break };
                        let gone = if victims_only { lowest } else { SuperblockId(block) };
                        if !index.is_closed(gone) {
                            break;
                        }
                        let before = index.listed.blocks;
                        index.open(gone);
                        refills += u32::from(index.listed.blocks > before);
                        index.clear(gone);
                        model.closed.remove(&gone.0);
                    }
                }
            }
            assert_eq!(index.lowest(), model.closed.values().map(|(valid, _)| *valid).min());
            if step % 97 == 0 {
                compare(&index, &model);
            }
        }
        let (listed, bucketed) = (index.listed.blocks, index.bucketed);
        assert_eq!(listed < bucketed, lowest_only, "{listed} of {bucketed} blocks are in lists");
        refills
    }

    #[test]
    fn partial_lists_answer_as_full_ones_do() {
        for (skew, victims_only) in [(1, true), (1, false), (5, true), (5, false)] {
            assert_eq!(lives_as_the_model(false, skew, victims_only), 0);
            let refills = lives_as_the_model(true, skew, victims_only);
            assert!(refills > 10 || !victims_only, "lists were filled again {refills} times");
        }
    }
}
