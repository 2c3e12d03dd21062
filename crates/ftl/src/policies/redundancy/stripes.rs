//! Stripes over all data, as RAID 5 does over drives.

use serde::Deserialize;
use wane_nand::Task;

use super::{BuiltinRedundancy, RedundancyPolicy, check_size};
use crate::policies::Builtin;

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Stripes {
    data_pages: u32,
}

/// Parameters of [`Stripes`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    data_pages: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { data_pages: 15 }
    }
}

impl Builtin for Stripes {
    const NAME: &'static str = "stripes";
    const SUMMARY: &'static str = "every page joins a stripe with parity on another die";
    const EXAMPLE: &'static str = "{ policy = \"stripes\", data-pages = 15 }";
    const PAGE: &'static str = "\
Pages on different dies form stripes in the order in which they are programmed, each with one page of parity on yet
another die. A page that error correction gives up is reconstructed from the rest of its stripe. Freshly written, parity
takes 1 / (data-pages + 1) of the flash, and more as data in stripes is overwritten: garbage collection feels it as less
over-provisioning.

The controller keeps the parity of a stripe that is still filling. Data that are overwritten stay in their stripe until
their block is erased; erasing takes them out of it, which is taken to cost the controller nothing. The parity goes when the
last valid page of its stripe does. Parity that is relocated gets none of its own; where it is lost it is made again from its
data. A drive is at its end, as parity takes what collection frees, once garbage collection moves as much as 256 blocks hold
for less than a thousandth of that written, or all its flash for less than a hundredth, and a million units at least.

| key | default | allowed | meaning |
|---|---|---|---|
| `data-pages` | `15` | 1 to 1024 | data pages of a stripe; one fewer than the dies at most |

Source: Kim et al., FAST 2019 (004) §3.3, §4.2.
";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        check_size(params.data_pages)
    }
}

impl BuiltinRedundancy for Stripes {
    fn new(params: &Params) -> Self {
        Self { data_pages: params.data_pages }
    }
}

impl RedundancyPolicy for Stripes {
    fn data_pages(&self) -> u32 {
        self.data_pages
    }

    fn protects(&self, _task: Task) -> bool {
        true
    }
}
