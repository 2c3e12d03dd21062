//! A domain: the blocks that share a free list, frontiers, a victim index and policies.

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_nand::Task;
use wane_units::SuperblockId;

use crate::counters::Cause;
use crate::free::FreeList;
use crate::index::VictimIndex;
use crate::policies::BlockEvent;
use crate::policies::allocation::AllocationPolicy;
use crate::policies::victim::VictimPolicy;
use crate::policies::wear_leveling::WearLevelPolicy;
use crate::reclaim::Fruitless;

/// A block that is being written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Frontier {
    pub(crate) block: SuperblockId,
    /// The next unit to write.
    pub(crate) next: u32,
}

/// A stream that the host does not fill at present.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Parked {
    pub(crate) frontier: Option<Frontier>,
    /// The task that wrote to it last. Padding of its open page counts for that task.
    pub(crate) task: Task,
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

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct Domain {
    pub(crate) first: SuperblockId,
    pub(crate) blocks: u32,
    pub(crate) free: FreeList,
    pub(crate) index: VictimIndex,
    /// The block that the host's present stream fills. `None` only in a drive that ran out of free blocks.
    pub(crate) host: Option<Frontier>,
    /// The blocks of the other streams, opened when data come. The entry of the host's present stream is empty.
    pub(crate) parked: Vec<Parked>,
    pub(crate) allocation: Box<dyn AllocationPolicy>,
    pub(crate) victim: Box<dyn VictimPolicy>,
    pub(crate) leveler: Box<dyn WearLevelPolicy>,
    /// Whether the leveler's last answer was an action, so that it is asked before the next host write.
    pub(crate) leveling_due: bool,
    /// The fruitless victims of a collection that was interrupted.
    pub(crate) fruitless: Fruitless,
    pub(crate) gc_erases: u64,
    pub(crate) wear_leveling_erases: u64,
    pub(crate) retired: u32,
}

impl Domain {
    /// Whether a block belongs to the domain.
    pub(crate) fn has(&self, block: SuperblockId) -> bool {
        block >= self.first && block.0 - self.first.0 < self.blocks
    }

    /// The blocks being written.
    pub(crate) fn open(&self) -> impl Iterator<Item = Frontier> {
        std::iter::once(self.host).chain(self.parked.iter().map(|parked| parked.frontier)).flatten()
    }

    /// Units that can be written before a block has to be erased.
    pub(crate) fn room(&self, units_per_block: u32) -> u64 {
        let open: u64 = self.open().map(|frontier| u64::from(units_per_block - frontier.next)).sum();
        open + self.free.len() as u64 * u64::from(units_per_block)
    }

    /// Writes its state without its policies' to a file, or reads it back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("domain.blocks", &(self.first, self.blocks, self.parked.len() as u32))?;
        self.free.archive(archive)?;
        self.index.archive(archive)?;
        archive.field("domain.host", &mut self.host)?;
        archive.field("domain.parked", &mut self.parked)?;
        archive.field("domain.leveling-due", &mut self.leveling_due)?;
        archive.field("domain.fruitless", &mut self.fruitless)?;
        archive.field("domain.erases", &mut self.gc_erases)?;
        archive.field("domain.leveling-erases", &mut self.wear_leveling_erases)?;
        archive.field("domain.retired", &mut self.retired)
    }

    /// Tells the policies that listen to block events of an event.
    pub(crate) fn tell(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        assert!(self.has(block), "policies hear of the blocks of their own domain");
        self.victim.heard(event, block, erase_count);
        self.leveler.heard(event, block, erase_count);
    }

    /// Adds a block that will not be written further to the index.
    pub(crate) fn close(&mut self, block: SuperblockId, now: u64, erase_count: u32) {
        assert!(
            (self.index.closed_len() as usize) + self.free.len() < self.blocks as usize,
            "a free block is not closed"
        );
        self.index.close(block, now, erase_count);
        self.tell(BlockEvent::Closed, block, erase_count);
    }
}
