//! Blocks ordered by a count, to find the least or the most worn one.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

/// A set of blocks, each with a count, ordered by that count. Of equal counts the lower block id comes first, from both ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CountOrder {
    /// The count in the upper and the block in the lower half of a word, so that one comparison orders them.
    by_count: BTreeSet<u64>,
}

impl CountOrder {
    /// Adds a block with its count.
    pub(crate) fn insert(&mut self, block: SuperblockId, count: u32) {
        let new = self.by_count.insert(pack(count, block));
        debug_assert!(new, "block {block} is added once");
    }

    /// Removes a block; `count` is the one it was added with.
    pub(crate) fn remove(&mut self, block: SuperblockId, count: u32) {
        let found = self.by_count.remove(&pack(count, block));
        debug_assert!(found, "block {block} is in the order with count {count}");
    }

    /// Number of blocks in the order.
    pub(crate) fn len(&self) -> usize {
        self.by_count.len()
    }

    /// Whether a block is in the order with this count.
    pub(crate) fn contains(&self, block: SuperblockId, count: u32) -> bool {
        self.by_count.contains(&pack(count, block))
    }

    /// The blocks from the lowest count up.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SuperblockId> {
        self.by_count.iter().map(|entry| unpack(*entry).0)
    }

    /// The block with the lowest count.
    pub(crate) fn least(&self) -> Option<(SuperblockId, u32)> {
        self.by_count.first().copied().map(unpack)
    }

    /// The block with the highest count.
    pub(crate) fn most(&self) -> Option<(SuperblockId, u32)> {
        let (_, highest) = unpack(*self.by_count.last()?);
        self.by_count.range(pack(highest, SuperblockId(0))..).next().copied().map(unpack)
    }
}

fn pack(count: u32, block: SuperblockId) -> u64 {
    u64::from(count) << 32 | u64::from(block.0)
}

fn unpack(entry: u64) -> (SuperblockId, u32) {
    (SuperblockId(entry as u32), (entry >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_block_at_both_ends() {
        let mut order = CountOrder::default();
        for (block, count) in [(5, 2), (3, 2), (9, 7), (8, 7)] {
            order.insert(SuperblockId(block), count);
        }
        assert_eq!((order.least(), order.most()), (Some((SuperblockId(3), 2)), Some((SuperblockId(8), 7))));
        order.remove(SuperblockId(8), 7);
        order.remove(SuperblockId(3), 2);
        assert_eq!((order.least(), order.most()), (Some((SuperblockId(5), 2)), Some((SuperblockId(9), 7))));
    }
}
