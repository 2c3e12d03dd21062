//! Closed blocks as a plain table that makes a view, so that a policy can be asked without a drive.

use wane_units::SuperblockId;

use super::{GcView, IndexSpec, Mode};
use crate::index::VictimIndex;

/// Free blocks of a domain by default.
const FREE: u32 = 16;

/// One closed block of a [`GcTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClosedBlock {
    /// Its valid units.
    pub valid: u32,
    /// Its erases.
    pub erase_count: u32,
    /// The clock when it was last written, in host units written.
    pub closed_at: u64,
    /// Units that the host read from it since its erase.
    pub host_reads: u32,
}

/// Closed blocks, with the index that the policy declares.
///
/// ```
/// use wane_ftl::policies::Builtin;
/// use wane_ftl::policies::victim::{ClosedBlock, GcTable, Greedy, GreedyParams, VictimPolicy};
/// use wane_units::SuperblockId;
///
/// let mut greedy = Greedy::new(GreedyParams::default())?;
/// let closed = [3, 1, 2].map(|valid| ClosedBlock { valid, ..ClosedBlock::default() });
/// let table = GcTable::new(4, greedy.index(), &closed)?;
/// assert_eq!(greedy.choose(&table.view(0)), Some(SuperblockId(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct GcTable {
    index: VictimIndex,
    erase_count: Vec<u32>,
    host_reads: Vec<u32>,
}

impl GcTable {
    /// Makes a table of blocks 0, 1, 2, ... of `units_per_block` units, which closed in this order. `index` is what the policy declares.
    ///
    /// # Errors
    /// The kernel gives no memory for the index.
    ///
    /// # Panics
    /// A block has more valid units than units.
    pub fn new(units_per_block: u32, index: IndexSpec, closed: &[ClosedBlock]) -> std::io::Result<Self> {
        let mut index = VictimIndex::new(SuperblockId(0), closed.len() as u32, units_per_block, index)?;
        for (block, closed) in (0..).map(SuperblockId).zip(closed) {
            assert!(closed.valid <= units_per_block, "a block has no more valid units than units");
            index.add_valid(block, 0, closed.valid);
            index.close(block, closed.closed_at, closed.erase_count);
        }
        index.fill_window();
        let erase_count = closed.iter().map(|closed| closed.erase_count).collect();
        Ok(Self { index, erase_count, host_reads: closed.iter().map(|closed| closed.host_reads).collect() })
    }

    /// Makes one of a block's units invalid.
    ///
    /// # Panics
    /// The block has no valid unit.
    pub fn invalidate(&mut self, block: SuperblockId) {
        let unit = self.index.valid_units(block).last().expect("the caller promises a valid unit");
        self.index.invalidate(block, unit);
        self.index.fill_window();
    }

    /// Takes a block out, as garbage collection does with a victim.
    ///
    /// # Panics
    /// The block was taken out before.
    pub fn reclaim(&mut self, block: SuperblockId) {
        assert!(self.index.is_closed(block), "a closed block is reclaimed");
        self.index.open(block);
        self.index.fill_window();
    }

    /// What a policy sees of the table once the host has written `now` units, on a drive in normal mode with 16 free blocks.
    pub fn view(&self, now: u64) -> GcView<'_> {
        self.view_in(Mode::Normal, FREE, now)
    }

    /// As [`GcTable::view`], on a drive in this mode with `free` free blocks.
    pub fn view_in(&self, mode: Mode, free: u32, now: u64) -> GcView<'_> {
        GcView { index: &self.index, erase_count: &self.erase_count, host_reads: &self.host_reads, mode, free, now }
    }
}
