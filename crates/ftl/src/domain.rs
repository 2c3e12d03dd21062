//! A domain: the blocks that share a free list, frontiers, a victim index and policies.

use std::collections::VecDeque;

use wane_nand::Task;
use wane_units::SuperblockId;

use crate::counters::Cause;
use crate::index::VictimIndex;
use crate::policies::BlockEvent;
use crate::policies::victim::VictimPolicy;
use crate::policies::wear_leveling::WearLevelPolicy;

/// A block that is being written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frontier {
    pub(crate) block: SuperblockId,
    /// The next unit to write.
    pub(crate) next: u32,
}

/// Who relocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mover {
    GarbageCollection,
    Scrub,
}

impl Mover {
    pub(crate) fn task(self) -> Task {
        match self {
            Self::GarbageCollection => Task::GarbageCollection,
            Self::Scrub => Task::Scrub,
        }
    }

    pub(crate) fn cause(self) -> Cause {
        match self {
            Self::GarbageCollection => Cause::GarbageCollection,
            Self::Scrub => Cause::Scrub,
        }
    }
}

/// See the module's text.
#[derive(Clone)]
pub(crate) struct Domain {
    pub(crate) first: SuperblockId,
    pub(crate) blocks: u32,
    pub(crate) free: VecDeque<SuperblockId>,
    pub(crate) index: VictimIndex,
    /// `None` only in a drive that ran out of free blocks.
    pub(crate) host: Option<Frontier>,
    /// Garbage collection's and scrubbing's, with separate frontiers; opened at the first relocation.
    pub(crate) relocation: [Option<Frontier>; 2],
    pub(crate) victim: Box<dyn VictimPolicy>,
    pub(crate) leveler: Box<dyn WearLevelPolicy>,
    /// The leveler's last answer was an action, so it is asked before the next host write.
    pub(crate) leveling_due: bool,
    /// Victims in a row without an invalid unit, of a collection that was left in the middle.
    pub(crate) fruitless: u64,
    pub(crate) gc_erases: u64,
    pub(crate) wear_leveling_erases: u64,
    pub(crate) retired: u32,
}

impl Domain {
    /// Whether a block is one of the domain's.
    pub(crate) fn has(&self, block: SuperblockId) -> bool {
        block >= self.first && block.0 - self.first.0 < self.blocks
    }

    /// The blocks being written.
    pub(crate) fn open(&self) -> impl Iterator<Item = Frontier> {
        [self.host, self.relocation[0], self.relocation[1]].into_iter().flatten()
    }

    /// Tells both policies of a block.
    pub(crate) fn tell(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        self.victim.heard(event, block, erase_count);
        self.leveler.heard(event, block, erase_count);
    }

    /// Takes the longest-free block as a frontier.
    pub(crate) fn open_next(&mut self, erase_count: &[u32]) -> Option<Frontier> {
        let block = self.free.pop_front()?;
        assert_eq!(self.index.valid(block), 0, "a free block holds nothing valid");
        assert!(!self.index.is_closed(block), "a free block is in no index");
        self.tell(BlockEvent::Opened, block, erase_count[block.index()]);
        Some(Frontier { block, next: 0 })
    }

    /// Takes a block that will not be written further into the index.
    pub(crate) fn close(&mut self, block: SuperblockId, now: u64, erase_count: u32) {
        self.index.close(block, now, erase_count);
        self.tell(BlockEvent::Closed, block, erase_count);
    }
}
