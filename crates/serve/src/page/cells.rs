//! How worn a drive's blocks are, and what they are used for.

use serde::Serialize;
use wane_ssd::Drive;
use wane_units::{BlockState, SuperblockId};

/// Most cells into which blocks are put.
const CELLS_MAX: u32 = 4096;

/// See the head of this file.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Cells {
    /// Of each cell, the erases of its most worn block.
    erases: Vec<u32>,
    /// Blocks of a cell.
    per_cell: u32,
    /// A character for each cell: f free, d data, o open, r retired.
    state: String,
}

/// The order in which states matter in a cell.
const fn rank(state: BlockState) -> usize {
    match state {
        BlockState::Free => 0,
        BlockState::Closed => 1,
        BlockState::Open => 2,
        BlockState::Retired => 3,
    }
}

impl Cells {
    /// Of the firmware's blocks. The drive has power.
    pub(super) fn of(drive: &Drive) -> Self {
        let counts = drive.superblock_erase_counts();
        Self::new(counts, CELLS_MAX, |block| drive.state(SuperblockId(block as u32)))
    }

    fn new(counts: &[u32], most: u32, state: impl Fn(usize) -> BlockState) -> Self {
        let per_cell = counts.len().div_ceil(most as usize).max(1);
        let cell_state = |cell: usize, blocks: usize| {
            let first = cell * per_cell;
            let rank = (first..first + blocks).map(|block| rank(state(block))).max().unwrap_or(0);
            ['f', 'd', 'o', 'r'][rank]
        };
        let chunks = || counts.chunks(per_cell);
        Self {
            erases: chunks().map(|cell| cell.iter().copied().max().unwrap_or(0)).collect(),
            per_cell: per_cell as u32,
            state: chunks().enumerate().map(|(cell, blocks)| cell_state(cell, blocks.len())).collect(),
        }
    }
}

/// Mean and most erases of a block.
pub(super) fn mean_and_most(counts: &[u32]) -> (f64, u32) {
    let sum: u64 = counts.iter().map(|erases| u64::from(*erases)).sum();
    (sum as f64 / counts.len().max(1) as f64, counts.iter().copied().max().unwrap_or(0))
}

/// Units that hold data; `None` if parity lies among them.
pub(super) fn mapped_units(drive: &Drive) -> Option<u64> {
    let valid = || drive.layout().superblocks().map(|block| u64::from(drive.valid(block))).sum();
    (drive.counters().programmed_parity == 0).then(valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_share_cells_if_there_are_too_many() {
        use BlockState::{Closed, Free, Open, Retired};
        let (counts, states) = ([3, 9, 4, 4, 7], [Free, Closed, Open, Retired, Free]);
        let cells = |most| Cells::new(&counts, most, |block| states[block]);
        let wanted = |erases: &[u32], per_cell, state: &str| Cells {
            erases: erases.to_vec(),
            per_cell,
            state: state.to_owned(),
        };
        assert_eq!(cells(5), wanted(&[3, 9, 4, 4, 7], 1, "fdorf"));
        assert_eq!(cells(4), wanted(&[9, 4, 7], 2, "drf"));
        assert_eq!(mean_and_most(&counts), (5.4, 9));
    }
}
