//! Flash that fails where and when a test wants it to.

use std::collections::BTreeSet;

use wane_nand::{Barrier, Health, Media, PageRead, Purpose, ReadOutcome, Task};
use wane_units::{BlockId, Geometry, PeCycles, Ppn};

use crate::StrictMedia;

/// [`StrictMedia`] with injected failures. It fails only as its fields say, without randomness, and records what tests of
/// redundancy need. The fields may change between calls.
#[derive(Clone, Debug)]
pub struct FailingMedia {
    /// Enforces the rules of flash, and keeps contents.
    pub media: StrictMedia,
    /// Pages that cannot be corrected.
    pub failing: BTreeSet<Ppn>,
    /// Whether they are uncorrectable only when they are read for relocation.
    pub in_relocations: bool,
    /// Pages that cannot be corrected until their block is erased.
    pub worn: BTreeSet<Ppn>,
    /// Every Nth program fails, with N in this field; 0: none fails. A page whose program failed still reads well.
    pub program_fails_every: u64,
    /// Pages programmed so far.
    pub programs: u64,
    /// Blocks whose program failed, until the firmware asks.
    pub failed: Vec<BlockId>,
    /// Blocks that were bad from the factory or whose erase failed.
    pub unusable: BTreeSet<BlockId>,
    /// Blocks whose next erase fails.
    pub erase_fails: BTreeSet<BlockId>,
    /// Pages read to reconstruct others, in order.
    pub recovery_reads: Vec<Ppn>,
    /// The condition of every block.
    pub health: Health,
}

impl FailingMedia {
    /// New flash that does not fail yet.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            media: StrictMedia::new(geometry),
            failing: BTreeSet::new(),
            in_relocations: false,
            worn: BTreeSet::new(),
            program_fails_every: 0,
            programs: 0,
            failed: Vec::new(),
            unusable: BTreeSet::new(),
            erase_fails: BTreeSet::new(),
            recovery_reads: Vec::new(),
            health: Health::default(),
        }
    }
}

impl Media for FailingMedia {
    const DETAILED: bool = true;

    type Tag = <StrictMedia as Media>::Tag;

    /// The past of the medium, whether the block was usable, and its worn pages.
    type Past = (<StrictMedia as Media>::Past, bool, Vec<Ppn>);

    fn past(&self, block: BlockId) -> Self::Past {
        let worn = self.worn.iter().copied().filter(|page| self.geometry().block_of(*page) == block);
        (self.media.past(block), !self.is_unusable(block), worn.collect())
    }

    fn unerase(&mut self, block: BlockId, (past, was_usable, worn): Self::Past) {
        self.media.unerase(block, past);
        self.worn.extend(worn);
        if was_usable {
            self.unusable.remove(&block);
        }
    }

    fn unprogram(&mut self, block: BlockId, page: u32) {
        self.media.unprogram(block, page);
    }

    fn barrier(&mut self, barrier: Barrier) {
        self.media.barrier(barrier);
    }

    fn read_instead(&mut self, block: BlockId, page: u32, bytes: u32, rereads: u32) {
        self.media.read_instead(block, page, bytes, rereads);
    }

    fn read_buffered(&mut self, bytes: u32, task: Task) {
        self.media.read_buffered(bytes, task);
    }

    fn tear_page(&mut self, block: BlockId, page: u32) {
        self.media.tear_page(block, page);
    }

    fn tear_block(&mut self, block: BlockId) {
        self.media.tear_block(block);
    }

    fn geometry(&self) -> &Geometry {
        self.media.geometry()
    }

    fn program(&mut self, block: BlockId, first: u32, count: u32, task: Task, tags: &[Self::Tag]) {
        self.media.program(block, first, count, task, tags);
        self.programs += u64::from(count);
        if count > 0 && self.program_fails_every > 0 && self.programs.is_multiple_of(self.program_fails_every) {
            self.failed.push(block);
        }
    }

    fn tag(&self, block: BlockId, page: u32, unit: u32) -> Self::Tag {
        self.media.tag(block, page, unit)
    }

    fn read(&mut self, read: PageRead) -> ReadOutcome {
        let page = self.geometry().page(read.block, read.page);
        if read.purpose == Purpose::Recover {
            self.recovery_reads.push(page);
        }
        let outcome = self.media.read(read);
        let applies = matches!(read.purpose, Purpose::Relocate(_)) || !self.in_relocations;
        let fails = applies && self.failing.contains(&page) || self.worn.contains(&page);
        if fails { ReadOutcome::Uncorrectable } else { outcome }
    }

    fn erase(&mut self, block: BlockId, task: Task) -> PeCycles {
        if self.erase_fails.contains(&block) {
            self.unusable.insert(block);
        }
        if !self.worn.is_empty() {
            let geometry = *self.geometry();
            self.worn.retain(|page| geometry.block_of(*page) != block);
        }
        self.media.erase(block, task)
    }

    fn erase_count(&self, block: BlockId) -> PeCycles {
        self.media.erase_count(block)
    }

    fn next_failed(&mut self) -> Option<BlockId> {
        self.failed.pop()
    }

    fn is_unusable(&self, block: BlockId) -> bool {
        self.unusable.contains(&block)
    }

    fn health(&self, _block: BlockId) -> Health {
        self.health
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_units::Bytes;

    #[test]
    fn it_fails_as_it_is_told_and_not_otherwise() {
        let mut media = FailingMedia::new(Geometry::flat(2, 4, Bytes(4096)).expect("2 blocks fit"));
        media.program_fails_every = 3;
        media.program(BlockId(0), 0, 2, Task::Host, &[]);
        assert_eq!(media.next_failed(), None);
        media.program(BlockId(0), 2, 1, Task::Host, &[]);
        assert_eq!((media.next_failed(), media.next_failed()), (Some(BlockId(0)), None));
        let read = |purpose| PageRead {
            block: BlockId(0),
            page: 1,
            bytes: 4096,
            task: Task::Host,
            purpose,
            rereads_max: None,
        };
        (media.failing, media.in_relocations) = ([Ppn(1)].into(), true);
        assert_eq!(media.read(read(Purpose::Recover)), ReadOutcome::Corrected { rereads: 0 });
        assert_eq!(media.read(read(Purpose::Relocate(BlockId(1)))), ReadOutcome::Uncorrectable);
        media.in_relocations = false;
        assert_eq!(media.read(read(Purpose::Serve)), ReadOutcome::Uncorrectable);
        assert_eq!(media.recovery_reads, [Ppn(1)]);
        media.erase_fails.insert(BlockId(0));
        media.erase(BlockId(0), Task::Host);
        assert!(media.is_unusable(BlockId(0)) && !media.is_unusable(BlockId(1)));
    }
}
