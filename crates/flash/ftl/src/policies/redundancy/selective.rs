//! Stripes over cold data only: the redundancy of holistic reliability management.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::Task;

use super::{DATA_PAGES_MAX, RedundancyPolicy};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// See [`SelectiveParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Selective {
    data_pages: u32,
    rereads_max: u32,
}

/// Only data that garbage collection or wear leveling moved join a stripe.
///
/// The last task that moved data decides their class. Data moved by garbage collection or wear leveling are cold and join a
/// stripe, as with `stripes`. Data moved by the scrubber are read often, and data written by the host will soon be overwritten,
/// so neither are worth parity. A protected page is re-read at most `rereads-max` times and then reconstructed, since every
/// re-read disturbs its neighbors. Other pages are re-read as often as error correction allows.
///
/// Source: Kim et al., FAST 2019 (004) §5; the limit of one re-read is ours.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SelectiveParams {
    /// Data pages of a stripe: at most one fewer than the drive has dies.
    #[schemars(range(min = 1, max = DATA_PAGES_MAX))]
    pub data_pages: u32,
    /// Most re-reads of a protected page before it is reconstructed.
    pub rereads_max: u32,
}

impl Default for SelectiveParams {
    fn default() -> Self {
        Self { data_pages: 15, rereads_max: 1 }
    }
}

impl Builtin for Selective {
    const NAME: &'static str = "selective";
    type Params = SelectiveParams;

    fn build(params: SelectiveParams) -> Self {
        Self { data_pages: params.data_pages, rereads_max: params.rereads_max }
    }
}

impl RedundancyPolicy for Selective {
    remembered_by_serde!();

    fn data_pages(&self) -> u32 {
        self.data_pages
    }

    fn protects(&self, task: Task) -> bool {
        matches!(task, Task::GarbageCollection | Task::WearLeveling)
    }

    fn rereads_max(&self) -> Option<u32> {
        Some(self.rereads_max)
    }

    fn needs(&self) -> Needs {
        Needs { dies: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stripes;
    use super::*;

    #[test]
    fn only_cold_data_are_protected() {
        let selective = Selective::build(SelectiveParams::default());
        let stripes = Stripes::build(Default::default());
        let protected = Task::ALL.map(|task| (selective.protects(task), stripes.protects(task)));
        assert_eq!(protected, [(false, true), (true, true), (false, true), (true, true)]);
        assert_eq!((selective.rereads_max(), stripes.rereads_max()), (Some(1), None));
    }
}
