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
    /// Of an array, the cells of each of its drives with power, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<usize>,
    /// The numbers of these drives.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<usize>,
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
    /// Of the firmware's blocks of these drives, which have power.
    pub(super) fn of(drives: &[(usize, &Drive)], is_array: bool) -> Self {
        let most = CELLS_MAX / (drives.len() as u32).max(1);
        let of_drive = |drive: &Drive| {
            let counts = drive.superblock_erase_counts();
            Self::new(counts, most.max(1), |block| drive.state(SuperblockId(block as u32)))
        };
        let mut all = Self::default();
        for (place, drive) in drives {
            let cells = of_drive(drive);
            if is_array {
                all.members.push(cells.erases.len());
                all.places.push(*place);
            }
            all.per_cell = all.per_cell.max(cells.per_cell);
            all.erases.extend(cells.erases);
            all.state.push_str(&cells.state);
        }
        all
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
            members: Vec::new(),
            places: Vec::new(),
        }
    }
}

/// Mean and most erases of a block.
pub(super) fn mean_and_most<'a>(counts: impl Iterator<Item = &'a u32>) -> (f64, u32) {
    let add =
        |(blocks, sum, most): (u64, u64, u32), erases: &u32| (blocks + 1, sum + u64::from(*erases), most.max(*erases));
    let (blocks, sum, most) = counts.fold((0, 0, 0), add);
    (sum as f64 / blocks.max(1) as f64, most)
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
            members: Vec::new(),
            places: Vec::new(),
        };
        assert_eq!(cells(5), wanted(&[3, 9, 4, 4, 7], 1, "fdorf"));
        assert_eq!(cells(4), wanted(&[9, 4, 7], 2, "drf"));
        assert_eq!(mean_and_most(counts.iter()), (5.4, 9));
    }
}
