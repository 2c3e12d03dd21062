//! The free blocks of a domain, in the order that the allocation policy declares.

use std::collections::VecDeque;

use wane_archive::{Archive, ArchiveError};
use wane_units::SuperblockId;

use crate::policies::CountOrder;
use crate::policies::allocation::FreeOrder;

/// Free blocks. Their erase counts do not change while they are free, so a block is found by its count.
#[derive(Clone, Debug)]
pub(crate) struct FreeList {
    order: FreeOrder,
    /// For [`FreeOrder::Freed`]: the block that became free first stands in front.
    freed: VecDeque<SuperblockId>,
    /// For [`FreeOrder::Wear`].
    by_wear: CountOrder,
}

impl FreeList {
    pub(crate) fn new(order: FreeOrder) -> Self {
        Self { order, freed: VecDeque::new(), by_wear: CountOrder::default() }
    }

    /// Writes the free blocks to a file, or reads them back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("free.freed", &mut self.freed)?;
        archive.field("free.by-wear", &mut self.by_wear)
    }

    pub(crate) fn len(&self) -> usize {
        match self.order {
            FreeOrder::Freed => self.freed.len(),
            FreeOrder::Wear => self.by_wear.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn first(&self) -> Option<SuperblockId> {
        match self.order {
            FreeOrder::Freed => self.freed.front().copied(),
            FreeOrder::Wear => self.by_wear.least().map(|(block, _)| block),
        }
    }

    pub(crate) fn last(&self) -> Option<SuperblockId> {
        match self.order {
            FreeOrder::Freed => self.freed.back().copied(),
            FreeOrder::Wear => self.by_wear.most().map(|(block, _)| block),
        }
    }

    /// The blocks in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SuperblockId> {
        // One of the two is empty.
        self.freed.iter().copied().chain(self.by_wear.iter())
    }

    /// Adds a block that became free after its erase.
    pub(crate) fn push(&mut self, block: SuperblockId, erase_count: u32) {
        match self.order {
            FreeOrder::Freed => self.freed.push_back(block),
            FreeOrder::Wear => self.by_wear.insert(block, erase_count),
        }
    }

    /// Puts the blocks in order again after their erase counts were changed.
    pub(crate) fn resync(&mut self, erase_count: &[u32]) {
        let blocks: Vec<SuperblockId> = self.iter().collect();
        let before = blocks.len();
        *self = Self::new(self.order);
        blocks.into_iter().for_each(|block| self.push(block, erase_count[block.index()]));
        assert_eq!(self.len(), before, "a new order loses no free block");
    }

    /// Whether a block with this erase count is free. With [`FreeOrder::Freed`] this costs a scan of the list.
    pub(crate) fn contains(&self, block: SuperblockId, erase_count: u32) -> bool {
        match self.order {
            FreeOrder::Freed => self.freed.contains(&block),
            FreeOrder::Wear => self.by_wear.contains(block, erase_count),
        }
    }

    /// Takes a free block out.
    pub(crate) fn remove(&mut self, block: SuperblockId, erase_count: u32) {
        let before = self.len();
        match self.order {
            FreeOrder::Wear => self.by_wear.remove(block, erase_count),
            // The block is nearly always at an end: the one that has been free longest, or the one that was just erased.
            FreeOrder::Freed if self.freed.front() == Some(&block) => drop(self.freed.pop_front()),
            FreeOrder::Freed if self.freed.back() == Some(&block) => drop(self.freed.pop_back()),
            FreeOrder::Freed => self.freed.retain(|free| *free != block),
        }
        assert_eq!(self.len() + 1, before, "block {block} was free once, with {erase_count} erases");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_in_the_declared_order() {
        // (order, blocks in order once 5, 3, 9 and 4 with 2, 7, 0 and 7 erases became free)
        for (order, want) in [(FreeOrder::Freed, [5, 3, 9, 4]), (FreeOrder::Wear, [9, 5, 3, 4])] {
            let mut free = FreeList::new(order);
            for (block, erases) in [(5, 2), (3, 7), (9, 0), (4, 7)] {
                free.push(SuperblockId(block), erases);
            }
            assert_eq!(free.iter().map(|block| block.0).collect::<Vec<_>>(), want);
            assert_eq!(free.first(), Some(SuperblockId(want[0])));
            assert!(free.contains(SuperblockId(3), 7) && !free.contains(SuperblockId(8), 7));
            free.remove(SuperblockId(3), 7);
            free.remove(SuperblockId(want[0]), if want[0] == 5 { 2 } else { 0 });
            assert_eq!((free.len(), free.is_empty(), free.last()), (2, false, Some(SuperblockId(4))));
        }
    }
}
