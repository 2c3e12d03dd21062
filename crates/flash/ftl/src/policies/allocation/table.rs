//! Free blocks as a plain table that makes a view, so that an allocation policy can be asked without a drive.

use wane_units::SuperblockId;

use super::{FreeOrder, FreeView, Mode, StreamId};
use crate::free::FreeList;

/// One free block of a [`FreeTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeBlock {
    /// Its erases.
    pub erase_count: u32,
    /// Its failed programs.
    pub failures: u32,
}

/// Free blocks, in the order that the policy declares.
///
/// ```
/// use wane_ftl::policies::allocation::{FreeBlock, FreeOrder, FreeTable};
/// use wane_units::SuperblockId;
///
/// let free = [4, 2].map(|erase_count| FreeBlock { erase_count, failures: 0 });
/// let table = FreeTable::new(FreeOrder::Wear, &free);
/// assert_eq!(table.view(None, 0).first(), SuperblockId(1));
/// ```
#[derive(Clone, Debug)]
pub struct FreeTable {
    free: FreeList,
    erase_count: Vec<u32>,
    failures: Vec<u32>,
}

impl FreeTable {
    /// Makes a table of blocks 0, 1, 2, ..., which became free in this order. `order` is the order that the policy declares.
    pub fn new(order: FreeOrder, blocks: &[FreeBlock]) -> Self {
        let mut free = FreeList::new(order);
        for (block, state) in (0..).map(SuperblockId).zip(blocks) {
            free.push(block, state.erase_count);
        }
        let erase_count = blocks.iter().map(|block| block.erase_count).collect();
        Self { free, erase_count, failures: blocks.iter().map(|block| block.failures).collect() }
    }

    /// What a policy sees of the table when `stream` needs a block and the host has written `now` units.
    pub fn view(&self, stream: Option<StreamId>, now: u64) -> FreeView<'_> {
        self.view_in(Mode::Normal, stream, now)
    }

    /// As [`FreeTable::view`], on a drive in this mode.
    pub fn view_in(&self, mode: Mode, stream: Option<StreamId>, now: u64) -> FreeView<'_> {
        FreeView { free: &self.free, erase_count: &self.erase_count, failures: &self.failures, stream, mode, now }
    }
}
