//! A domain as a plain table that makes a view, so that a wear leveler can be asked without a drive.

use wane_units::SuperblockId;

use super::{ValidUnits, WearView};
use crate::policies::mode::Mode;

/// What a wear leveler sees, as plain data.
///
/// ```
/// use wane_ftl::policies::wear_leveling::WearTable;
/// use wane_units::SuperblockId;
///
/// let table = WearTable { erase_count: vec![3, 9], valid: vec![4, 0], free: 1, ..WearTable::default() };
/// let view = table.view(Some(SuperblockId(1)));
/// assert_eq!((view.erase_count(SuperblockId(1)), view.valid(SuperblockId(0)), view.free()), (9, 4, 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WearTable {
    /// Erases of every block; the domain is blocks 0, 1, 2, ...
    pub erase_count: Vec<u32>,
    /// Valid units of every block. Blocks beyond the end of the list have none.
    pub valid: Vec<u32>,
    /// Erases by garbage collection.
    pub gc_erases: u64,
    /// Erases by wear leveling.
    pub wear_leveling_erases: u64,
    /// Host units written.
    pub host_writes: u64,
    /// Free blocks.
    pub free: u32,
    /// The mode of the drive.
    pub mode: Mode,
}

impl WearTable {
    /// What a leveler sees of the table after garbage collection erased `erased`, or before a host write if that is `None`.
    pub fn view(&self, erased: Option<SuperblockId>) -> WearView<'_> {
        WearView {
            first: SuperblockId(0),
            blocks: self.erase_count.len() as u32,
            erased,
            erase_count: &self.erase_count,
            valid: self,
            gc_erases: self.gc_erases,
            wear_leveling_erases: self.wear_leveling_erases,
            host_writes: self.host_writes,
            free: self.free,
            mode: self.mode,
        }
    }
}

impl ValidUnits for WearTable {
    fn valid(&self, block: SuperblockId) -> u32 {
        self.valid.get(block.index()).copied().unwrap_or_default()
    }
}
