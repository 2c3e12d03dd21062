//! A checkpoint and what was programmed since.

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

/// The drive writes its map to flash a page at a time, in turn, and after a power cut reads it and what was programmed since.
///
/// A page of the map holds a quarter as many entries as it has bytes: 1,024 in 4 KiB. The map is on flash once in `interval` times its pages
/// programmed and a host's block filled; recovery reads at most that many pages beside the map, and one of each block that was open. The drive programs
/// one page in `interval` more, and one for each page of its journal of trims.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CheckpointParams {
    /// Pages that are programmed for each page of the map.
    #[schemars(range(min = 1))]
    pub interval: u32,
}

/// 1.6 % more programs.
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
