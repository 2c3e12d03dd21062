//! Recovery from a checkpoint of the map and the pages programmed since.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RecoveryPolicy, RecoveryView};
use crate::persist::Summaries;
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`CheckpointParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    params: CheckpointParams,
}

/// The drive writes its map to flash one page at a time, and after a power cut it reads the map and what was programmed since.
///
/// A map page holds an entry per 4 bytes: 1,024 in 4 KiB. Within N x `interval` programmed pages, and those until the host has filled a
/// block, all N pages of the map are written once. Recovery reads the map, at most that many other pages, and one page of each block
/// that was open. The drive programs one more page for every `interval` pages, and one for each page of its journal of trims.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CheckpointParams {
    /// Number of pages programmed between two pages of the map.
    #[schemars(range(min = 1))]
    pub interval: u32,
}

/// Default interval: 1.6 % more programs.
const INTERVAL: u32 = 64;

impl Default for CheckpointParams {
    fn default() -> Self {
        Self { interval: INTERVAL }
    }
}

impl Builtin for Checkpoint {
    const NAME: &'static str = "checkpoint";
    type Params = CheckpointParams;

    fn build(params: CheckpointParams) -> Self {
        Self { params }
    }
}

impl RecoveryPolicy for Checkpoint {
    remembered_by_serde!();

    fn summaries(&self) -> Summaries {
        Summaries::Map
    }

    fn due(&self, view: &RecoveryView) -> u32 {
        let due = view.programmed / u64::from(self.params.interval);
        u32::try_from(due).unwrap_or(u32::MAX).min(view.summaries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_the_map_is_due_for_each_interval() {
        let policy = Checkpoint::build(CheckpointParams { interval: 8 });
        let due = |programmed| policy.due(&RecoveryView { programmed, summaries: 5 });
        assert_eq!([7, 8, 23, 1000].map(due), [0, 1, 2, 5]);
    }
}
