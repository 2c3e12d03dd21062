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
/// Pages on different dies form stripes in the order in which they are programmed, each with one page of parity on yet
/// another die. A page that error correction gives up is reconstructed from the rest of its stripe. Freshly written, parity
/// takes 1 / (data-pages + 1) of the flash, and more as data in stripes is overwritten: garbage collection feels it as less
/// over-provisioning.
///
/// The controller keeps the parity of a stripe that is still filling. Data that are overwritten stay in their stripe until
/// their block is erased; erasing takes them out of it, which is taken to cost the controller nothing. The parity goes when the
/// last valid page of its stripe does. Parity that is relocated gets none of its own; where it is lost it is made again from its
/// data. A drive is at its end, as parity takes what collection frees, once garbage collection moves as much as 256 blocks hold
/// for less than a thousandth of that written, or all its flash for less than a hundredth, and a million units at least.
///
/// Source: Kim et al., FAST 2019 (004) §3.3, §4.2.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StripesParams {
    /// Data pages of a stripe; one fewer than the dies at most.
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
