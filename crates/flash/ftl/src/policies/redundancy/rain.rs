//! Stripes over groups of dies, so that reads can go around a busy die: ttFlash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::Task;

use super::{DATA_PAGES_MAX, RedundancyPolicy};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// See [`RainParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rain {
    data_pages: u32,
}

/// Every page joins a stripe in its group of dies, and reads go around a die that collects.
///
/// The dies of the drive form groups of `data-pages` + 1 dies, across channels first. Each stripe lies in one group, with parity on
/// the die that has none of its data pages. While a die collects garbage, a host read is served by the other pages of the stripe,
/// as if the page could not be corrected. With `time.gc = "rotating"` one die of a group collects at a time, so that a read can
/// always go around it; with `foreground` and `background` a read waits if two dies of its group collect. Without timing the
/// policy is `stripes`, confined to groups.
///
/// Reads that go around cost time on the other dies. Maps, read counts and errors do not change: the drive's state records that
/// the page itself was read, and the other pages are assumed to need as many re-reads. All other rules are those of `stripes`.
///
/// Source: ttFlash (Yan et al., FAST 2017) as 001 §5 compares with it: its redundancy, its reads and its rotating collection.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RainParams {
    /// Data pages of a stripe. A group has one die more, and the drive must consist of whole groups.
    #[schemars(range(min = 1, max = DATA_PAGES_MAX))]
    pub data_pages: u32,
}

impl Default for RainParams {
    fn default() -> Self {
        Self { data_pages: 7 }
    }
}

impl Builtin for Rain {
    const NAME: &'static str = "rain";
    type Params = RainParams;

    fn build(params: RainParams) -> Self {
        Self { data_pages: params.data_pages }
    }
}

impl RedundancyPolicy for Rain {
    remembered_by_serde!();

    fn data_pages(&self) -> u32 {
        self.data_pages
    }

    fn protects(&self, _task: Task) -> bool {
        true
    }

    fn group_dies(&self) -> Option<u32> {
        Some(self.data_pages + 1)
    }

    fn reads_around(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { dies: true, ..Needs::default() }
    }
}
