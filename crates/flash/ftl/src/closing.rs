//! Blocks of each bucket in the order in which they closed, without comparisons or lists: a set of bits for each bucket.
//!
//! Every closed block holds a slot. Slots are handed out in rising order and renumbered when they run out. A bucket is a
//! set of slots: 64-ary levels of bits, where each word says which words below it are not empty. Moving a block between
//! buckets flips a bit in each. The first block of a bucket is found along the levels. Heaps took three times as long.

use wane_archive::{Archive, ArchiveError};

/// No block, or no slot.
const NOWHERE: u32 = u32::MAX;

/// Which bucket holds which closed block.
#[derive(Clone, Debug)]
pub(crate) struct ClosingOrder {
    /// Words of one bucket.
    stride: usize,
    /// Where each level of a bucket starts within its words, from the slots up to the single word on top.
    levels: Vec<usize>,
    words: Vec<u64>,
    /// Slot of each block.
    slots: Vec<u32>,
    /// Block of each slot.
    blocks: Vec<u32>,
    /// Closing clock and bucket of each block; `NOWHERE` while it is in none.
    entries: Vec<(u64, u32)>,
    next: u32,
}

impl ClosingOrder {
    /// An order of `blocks` blocks in `buckets` buckets, none of them closed.
    pub(crate) fn new(blocks: u32, buckets: u32) -> Self {
        let slots = blocks as usize * 2 + 64;
        let (mut levels, mut stride, mut bits) = (Vec::new(), 0, slots);
        loop {
            let words = bits.div_ceil(64);
            levels.push(stride);
            stride += words;
            if words == 1 {
                break;
            }
            bits = words;
        }
        Self {
            stride,
            levels,
            words: vec![0; stride * buckets as usize],
            slots: vec![NOWHERE; blocks as usize],
            blocks: vec![NOWHERE; slots],
            entries: vec![(0, NOWHERE); blocks as usize],
            next: 0,
        }
    }

    /// Writes everything to a file, or reads it back into an order of the same number of blocks.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.fixed("closing.words", &mut self.words)?;
        archive.fixed("closing.slots", &mut self.slots)?;
        archive.fixed("closing.blocks", &mut self.blocks)?;
        archive.field("closing.entries", &mut self.entries)?;
        archive.field("closing.next", &mut self.next)
    }

    /// Closes a block, which comes last. Of blocks that close at the same clock the lower id comes first.
    pub(crate) fn close(&mut self, block: u32, now: u64) {
        if self.next as usize == self.blocks.len() {
            self.renumber();
        }
        debug_assert_eq!(self.slots[block as usize], NOWHERE, "block {block} closes once");
        self.entries[block as usize] = (now, NOWHERE);
        let mut slot = self.next;
        self.next += 1;
        while slot > 0 {
            let earlier = self.blocks[slot as usize - 1];
            if earlier == NOWHERE || earlier < block || self.entries[earlier as usize].0 != now {
                break;
            }
            self.place(earlier, slot);
            slot -= 1;
        }
        self.place(block, slot);
    }

    /// Frees the slot of a block that is no longer closed. It has left its bucket before.
    pub(crate) fn open(&mut self, block: u32) {
        debug_assert_eq!(
            self.entries[block as usize].1, NOWHERE,
            "a block leaves its bucket before it gives up its slot"
        );
        self.blocks[self.slots[block as usize] as usize] = NOWHERE;
        self.slots[block as usize] = NOWHERE;
    }

    /// Adds a closed block to a bucket.
    pub(crate) fn enter(&mut self, block: u32, bucket: u32) {
        debug_assert_eq!(self.entries[block as usize].1, NOWHERE, "a block is in one bucket at a time");
        self.entries[block as usize].1 = bucket;
        self.set(bucket, self.slots[block as usize]);
    }

    /// Removes a closed block from its bucket.
    pub(crate) fn leave(&mut self, block: u32, bucket: u32) {
        debug_assert_eq!(self.entries[block as usize].1, bucket, "a block leaves the bucket that it is in");
        self.entries[block as usize].1 = NOWHERE;
        self.clear(bucket, self.slots[block as usize]);
    }

    /// Whether a bucket holds a block.
    pub(crate) fn has(&self, bucket: u32) -> bool {
        self.words[bucket as usize * self.stride + self.stride - 1] != 0
    }

    /// The block of a bucket that closed first.
    pub(crate) fn first(&self, bucket: u32) -> Option<u32> {
        let base = bucket as usize * self.stride;
        let mut index = 0;
        for level in self.levels.iter().rev() {
            let word = self.words[base + level + index];
            if word == 0 {
                return None;
            }
            index = index * 64 + word.trailing_zeros() as usize;
        }
        debug_assert_ne!(self.blocks[index], NOWHERE, "a bucket holds slots of closed blocks only");
        Some(self.blocks[index])
    }

    /// Gives a block a free slot and moves its bit there.
    fn place(&mut self, block: u32, slot: u32) {
        let (_, bucket) = self.entries[block as usize];
        if bucket != NOWHERE {
            self.clear(bucket, self.slots[block as usize]);
            self.set(bucket, slot);
        }
        self.slots[block as usize] = slot;
        self.blocks[slot as usize] = block;
    }

    fn set(&mut self, bucket: u32, slot: u32) {
        let base = bucket as usize * self.stride;
        let mut index = slot as usize;
        for level in &self.levels {
            let word = &mut self.words[base + level + index / 64];
            let before = *word;
            *word |= 1 << (index % 64);
            if before != 0 {
                return;
            }
            index /= 64;
        }
    }

    fn clear(&mut self, bucket: u32, slot: u32) {
        let base = bucket as usize * self.stride;
        let mut index = slot as usize;
        for level in &self.levels {
            let word = &mut self.words[base + level + index / 64];
            *word &= !(1 << (index % 64));
            if *word != 0 {
                return;
            }
            index /= 64;
        }
    }

    /// Moves all closed blocks to the first slots. At least half of the slots are then free.
    fn renumber(&mut self) {
        self.words.fill(0);
        self.next = 0;
        for slot in 0..self.blocks.len() {
            let block = std::mem::replace(&mut self.blocks[slot], NOWHERE);
            if block == NOWHERE {
                continue;
            }
            self.slots[block as usize] = self.next;
            self.blocks[self.next as usize] = block;
            let (_, bucket) = self.entries[block as usize];
            if bucket != NOWHERE {
                self.set(bucket, self.next);
            }
            self.next += 1;
        }
        assert!(
            self.next as usize <= self.slots.len(),
            "a closed block holds one slot, so that the others are free again"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_bucket_closed_first_through_renumbering() {
        let mut order = ClosingOrder::new(70, 3);
        let mut plain: Vec<(u64, u32, u32)> = Vec::new();
        let mut stream = wane_sim::Streams::new(5).stream("closing");
        for now in 0..30_000u64 {
            let block = stream.below(70) as u32;
            match plain.iter().position(|entry| entry.1 == block) {
                Some(at) if stream.chance(0.3) => {
                    order.leave(block, plain[at].2);
                    order.open(block);
                    plain.remove(at);
                }
                Some(at) => {
                    order.leave(block, plain[at].2);
                    plain[at].2 = (plain[at].2 + 1) % 3;
                    order.enter(block, plain[at].2);
                }
                None => {
                    order.close(block, now / 4);
                    order.enter(block, 1);
                    plain.push((now / 4, block, 1));
                }
            }
            for bucket in 0..3 {
                let holders = || plain.iter().filter(|entry| entry.2 == bucket);
                let oldest = holders().map(|entry| entry.0).min();
                let first = order.first(bucket);
                assert_eq!(first.is_some(), order.has(bucket));
                assert_eq!(first.map(|block| holders().find(|entry| entry.1 == block).unwrap().0), oldest);
            }
        }
    }

    #[test]
    fn of_equal_clocks_the_lower_id_comes_first() {
        let mut order = ClosingOrder::new(8, 2);
        for block in [5, 3, 7, 4] {
            order.close(block, 9);
            order.enter(block, 0);
        }
        for want in [3, 4, 5, 7] {
            assert_eq!(order.first(0), Some(want));
            order.leave(want, 0);
            order.open(want);
        }
        assert_eq!(order.first(0), None);
    }
}
