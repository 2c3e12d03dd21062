//! Blocks in the order of a count, for the levelers that ask for the least or the most worn.

use std::collections::BTreeSet;

use wane_units::BlockId;

/// A set of blocks ordered by a count each. Of equal counts the lower block id comes first from both ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountOrder {
    by_count: BTreeSet<(u32, u32)>,
}

impl CountOrder {
    /// Adds a block with its count.
    pub(crate) fn insert(&mut self, block: BlockId, count: u32) {
        let new = self.by_count.insert((count, block.0));
        debug_assert!(new, "block {block} is added once");
    }

    /// Takes a block out; `count` is the one it was added with.
    pub(crate) fn remove(&mut self, block: BlockId, count: u32) {
        let found = self.by_count.remove(&(count, block.0));
        debug_assert!(found, "block {block} is in the order with count {count}");
    }

    /// The block with the lowest count.
    pub(crate) fn least(&self) -> Option<(BlockId, u32)> {
        self.by_count.first().map(|(count, block)| (BlockId(*block), *count))
    }

    /// The block with the highest count.
    pub(crate) fn most(&self) -> Option<(BlockId, u32)> {
        let (highest, _) = self.by_count.last()?;
        self.by_count.range((*highest, 0)..).next().map(|(count, block)| (BlockId(*block), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_block_at_both_ends() {
        let mut order = CountOrder::default();
        for (block, count) in [(5, 2), (3, 2), (9, 7), (8, 7)] {
            order.insert(BlockId(block), count);
        }
        assert_eq!((order.least(), order.most()), (Some((BlockId(3), 2)), Some((BlockId(8), 7))));
        order.remove(BlockId(8), 7);
        order.remove(BlockId(3), 2);
        assert_eq!((order.least(), order.most()), (Some((BlockId(5), 2)), Some((BlockId(9), 7))));
    }
}
