//! Stripes over all data, as RAID 5 does over drives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::Task;

use super::{DATA_PAGES_MAX, RedundancyPolicy};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// See [`StripesParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stripes {
    data_pages: u32,
}

/// Every page joins a stripe with parity on another die.
///
/// Pages on different dies form stripes in the order in which they are programmed. Each stripe has one page of parity on yet
/// another die. A page that error correction cannot correct is reconstructed from the rest of its stripe. On a freshly written
/// drive parity takes 1 / (data-pages + 1) of the flash, and more as data in stripes are overwritten. To garbage collection
/// this is less over-provisioning.
///
/// The controller keeps the parity of a stripe that is still filling. Overwritten data stay in their stripe until their block
/// is erased. The erase takes them out of the stripe, which is assumed to cost the controller nothing. The parity becomes
/// invalid with the last valid page of its stripe. Relocated parity gets no parity of its own; lost parity is computed again
/// from its data.
///
/// A drive is at its end when parity takes all that garbage collection frees. That is so once garbage collection has moved as
/// many units as 256 blocks hold while less than a thousandth of that was written, or as many as the whole flash holds while
/// less than a hundredth of that was written. In both cases it must have moved at least 2^20 units.
///
/// Source: Kim et al., FAST 2019 (004) §3.3, §4.2.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StripesParams {
    /// Data pages of a stripe: at most one fewer than the drive has dies.
    #[schemars(range(min = 1, max = DATA_PAGES_MAX))]
    pub data_pages: u32,
}

impl Default for StripesParams {
    fn default() -> Self {
        Self { data_pages: 15 }
    }
}

impl Builtin for Stripes {
    const NAME: &'static str = "stripes";
    type Params = StripesParams;

    fn build(params: StripesParams) -> Self {
        Self { data_pages: params.data_pages }
    }
}

impl RedundancyPolicy for Stripes {
    remembered_by_serde!();

    fn data_pages(&self) -> u32 {
        self.data_pages
    }

    fn protects(&self, _task: Task) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { dies: true, ..Needs::default() }
    }
}
