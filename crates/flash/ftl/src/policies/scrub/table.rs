//! A drive's blocks as a plain table that makes a view, so that a scrubber can be asked without a drive.

use wane_nand::Health;
use wane_units::SuperblockId;

use super::{Condition, ScrubView};

/// What a scrubber sees, as plain data.
///
/// ```
/// use wane_ftl::policies::scrub::{Health, ScrubTable};
/// use wane_units::SuperblockId;
///
/// let read = Health { reads: 100, ..Health::default() };
/// let table = ScrubTable { blocks: vec![(Some(8), read), (None, Health::default())], ..ScrubTable::default() };
/// let view = table.view(0.0);
/// assert_eq!((view.health(SuperblockId(0)).reads, view.valid(SuperblockId(1))), (100, None));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScrubTable {
    /// For every block its valid units, `None` if it cannot be relocated, and its condition.
    pub blocks: Vec<(Option<u32>, Health)>,
    /// Blocks that were read for the host since the scrubber was last asked.
    pub touched: Vec<SuperblockId>,
}

impl ScrubTable {
    /// What a scrubber sees of the table `now_days` days after the drive was new.
    pub fn view(&self, now_days: f64) -> ScrubView<'_> {
        ScrubView { blocks: self.blocks.len() as u32, touched: &self.touched, condition: self, now_days }
    }
}

impl Condition for ScrubTable {
    fn relocatable(&self, block: SuperblockId) -> Option<u32> {
        self.blocks[block.index()].0
    }

    fn health(&self, block: SuperblockId) -> Health {
        self.blocks[block.index()].1
    }
}
