//! The medium: blocks that are programmed page by page, erased whole, and wear with every erase.
//!
//! [`Media`] is the interface. [`Array`] only counts and wears; aging runs use it. [`Flash`] also has errors and lists its
//! operations. The medium never sees a logical address.

pub mod arrhenius;
mod cell;
mod cells;
mod config;
mod ecc;
mod faults;
mod flash;
mod op;
mod power;
pub mod rber;
mod tail;
mod uber;

use wane_archive::{Archive, ArchiveError};
use wane_units::{BlockId, Geometry, PeCycles};

pub use cell::{CellKind, PageType};
pub use cells::{
    Cells, ChecksPerRead, Detail, DisturbCount, ErrorConfig, ErrorCounters, ErrorHistogram, PageOutcome, PageTime,
    ReadCounts, Uncorrectable,
};
pub use config::NandConfigError;
pub use ecc::{Draws, Ecc, REREADS_BOUND, SOFT_STEPS, Sensing, SoftStep, TABLE_CYCLES, TABLE_RETIRE};
pub use faults::{FailureRate, Fault, FaultConfig, Faults, Loss, When};
pub use flash::{Flash, FlashPast, Relocations, Resting};
pub use op::{Barrier, FlashOp, Health, OpKind, PageRead, Purpose, ReadOutcome, Task};
pub use tail::TailTable;
pub use uber::Uber;

/// What flash does. Every call changes state at once and takes no time.
pub trait Media {
    /// Whether it sees every operation: relocations read the data that they move, and neighbors in a page are read together. It
    /// is `false` for a medium that only counts wear, so that aging need not find out where data come from.
    const DETAILED: bool;

    /// What the medium keeps of a mapping unit's data. It is opaque to the firmware, which passes it with a program and moves it
    /// with a relocation. `()` if nothing is kept; the firmware then keeps no table of tags either. Only a detailed medium may
    /// keep tags.
    type Tag: Copy + Default + std::fmt::Debug + Send;

    /// What an erase removes from a block: enough to restore it.
    type Past: Clone + std::fmt::Debug + Send;

    /// The shape of the flash.
    fn geometry(&self) -> &Geometry;

    /// Programs `count` pages of a block from page `first` on. `tags` are those of their mapping units in order, with the default
    /// for padding and parity; empty if a tag is `()`.
    fn program(&mut self, block: BlockId, first: u32, count: u32, task: Task, tags: &[Self::Tag]);

    /// The tag of unit `unit` of a programmed page.
    fn tag(&self, _block: BlockId, _page: u32, _unit: u32) -> Self::Tag {
        Self::Tag::default()
    }

    /// Reads one page.
    fn read(&mut self, read: PageRead) -> ReadOutcome;

    /// Names a page that could serve the host's read just before it, together with those of the consecutive calls, without the read's die. The
    /// page would need `_rereads` re-reads. The call changes no state; it is for the scheduler.
    fn read_instead(&mut self, _block: BlockId, _page: u32, _bytes: u32, _rereads: u32) {}

    /// Returns `bytes` that still wait in the controller for the rest of their page.
    fn read_buffered(&mut self, _bytes: u32, _task: Task) {}

    /// Prefetches for a block that will soon be erased. A hint: only speed depends on it.
    fn prefetch(&self, _block: BlockId) {}

    /// Erases a block and returns its new erase count.
    fn erase(&mut self, block: BlockId, task: Task) -> PeCycles;

    /// Tears a page, since power failed during its program. It can neither be read nor programmed until its block is erased.
    fn tear_page(&mut self, _block: BlockId, _page: u32) {}

    /// Tears a block, since power failed during its erase. Its pages can neither be read nor programmed until it is erased again.
    fn tear_block(&mut self, _block: BlockId) {}

    /// Returns the state of a block before an erase.
    fn past(&self, block: BlockId) -> Self::Past;

    /// Undoes the last erase of a block, before which power failed.
    fn unerase(&mut self, block: BlockId, past: Self::Past);

    /// Undoes the program of a page, before which power failed. The page is the last programmed one of its block.
    fn unprogram(&mut self, _block: BlockId, _page: u32) {}

    /// Makes the next program or erase wait for these earlier operations in addition, if time is kept.
    fn barrier(&mut self, _barrier: Barrier) {}

    /// Erases of a block so far.
    fn erase_count(&self, block: BlockId) -> PeCycles;

    /// Returns a block whose program failed and that was not returned yet.
    fn next_failed(&mut self) -> Option<BlockId> {
        None
    }

    /// Whether a block cannot be used: it was bad from the factory, or its erase failed.
    fn is_unusable(&self, _block: BlockId) -> bool {
        false
    }

    /// Days since the flash was new.
    fn now_days(&self) -> f64 {
        0.0
    }

    /// The condition of a block.
    fn health(&self, _block: BlockId) -> Health {
        Health::default()
    }
}

/// Counts erases and reads; trusts its caller to program in order.
#[derive(Clone, Debug)]
pub struct Array {
    geometry: Geometry,
    erase_counts: Vec<u32>,
    /// Empty until the first read: most aging runs never read.
    reads: Vec<u32>,
    pages_programmed: u64,
}

impl Array {
    /// New flash: no block erased, no page programmed.
    pub fn new(geometry: Geometry) -> Self {
        Self { geometry, erase_counts: vec![0; geometry.blocks() as usize], reads: Vec::new(), pages_programmed: 0 }
    }

    /// An array without tables, which takes the place of one that was moved out.
    pub(crate) fn placeholder(geometry: Geometry) -> Self {
        Self { geometry, erase_counts: Vec::new(), reads: Vec::new(), pages_programmed: 0 }
    }

    /// Erases of every block.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erase_counts
    }

    /// Reads of a block since its last erase.
    pub fn reads(&self, block: BlockId) -> u32 {
        self.reads.get(block.index()).copied().unwrap_or(0)
    }

    /// Sets the erase count of a block.
    pub fn set_erase_count(&mut self, block: BlockId, erases: u32) {
        self.erase_counts[block.index()] = erases;
    }

    /// Makes the table of reads, at the first read, and counts that read.
    #[cold]
    fn first_read(&mut self, block: BlockId) {
        self.reads = vec![0; self.geometry.blocks() as usize];
        self.reads[block.index()] = 1;
    }

    /// Pages programmed since the flash was new.
    pub fn pages_programmed(&self) -> u64 {
        self.pages_programmed
    }

    /// Writes its state to a file, or reads it back into an array of the same flash.
    ///
    /// # Errors
    /// As of [`Archive`].
    pub fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.fixed("array.erases", &mut self.erase_counts)?;
        archive.list("array.reads", &mut self.reads)?;
        archive.field("array.programmed", &mut self.pages_programmed)
    }
}

impl Media for Array {
    const DETAILED: bool = false;

    type Tag = ();

    #[inline(always)]
    fn prefetch(&self, block: BlockId) {
        wane_units::prefetch(&self.erase_counts, block.index());
    }

    /// Its erases, and its reads since the last one.
    type Past = (u32, u32);

    fn past(&self, block: BlockId) -> (u32, u32) {
        (self.erase_counts[block.index()], self.reads(block))
    }

    fn unerase(&mut self, block: BlockId, (erases, reads): (u32, u32)) {
        self.erase_counts[block.index()] = erases;
        if let Some(count) = self.reads.get_mut(block.index()) {
            *count = reads;
        }
    }

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline(always)]
    fn program(&mut self, _block: BlockId, first: u32, count: u32, _task: Task, _tags: &[()]) {
        debug_assert!(first + count <= self.geometry.pages_per_block(), "a block is programmed up to its last page");
        self.pages_programmed += u64::from(count);
    }

    #[inline]
    fn read(&mut self, read: PageRead) -> ReadOutcome {
        match self.reads.get_mut(read.block.index()) {
            Some(reads) => *reads = reads.saturating_add(1),
            None => self.first_read(read.block),
        }
        ReadOutcome::Corrected { rereads: 0 }
    }

    fn erase(&mut self, block: BlockId, _task: Task) -> PeCycles {
        if let Some(reads) = self.reads.get_mut(block.index()) {
            *reads = 0;
        }
        let count = &mut self.erase_counts[block.index()];
        *count = count.checked_add(1).expect("the firmware retires a block at the last erase that can be counted");
        PeCycles(*count)
    }

    fn erase_count(&self, block: BlockId) -> PeCycles {
        PeCycles(self.erase_counts[block.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_units::Bytes;

    #[test]
    fn an_erase_wears_its_block_and_forgets_its_reads() {
        let mut array = Array::new(Geometry::flat(2, 4, Bytes(4096)).expect("2 blocks fit"));
        let (task, purpose) = (Task::Host, Purpose::Serve);
        let read = PageRead { block: BlockId(1), page: 1, bytes: 4096, task, purpose, rereads_max: None };
        assert_eq!(array.read(read), ReadOutcome::Corrected { rereads: 0 });
        assert_eq!((array.reads(BlockId(0)), array.reads(BlockId(1))), (0, 1));
        assert_eq!(array.erase(BlockId(1), Task::Host), PeCycles(1));
        assert_eq!((array.reads(BlockId(1)), array.erase_counts()), (0, &[0, 1][..]));
    }
}
