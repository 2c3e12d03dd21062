//! No wear leveling: blocks wear as the workload wears them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, WearLevelPolicy, WearView};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`NoWearLevelingParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NoWearLeveling;

/// Moves no data to level wear.
///
/// If free blocks are opened in the order in which they became free (`ftl.allocation = "fifo"`, the default), wear spreads without
/// a leveler as long as garbage collection reaches every block.
///
/// Source: dissertation (000) ch. 4 (NoWL).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NoWearLevelingParams {}

impl Builtin for NoWearLeveling {
    const NAME: &'static str = "none";
    type Params = NoWearLevelingParams;

    fn build(_params: NoWearLevelingParams) -> Self {
        Self
    }
}

impl WearLevelPolicy for NoWearLeveling {
    remembered_by_serde!();

    fn plan(&mut self, _view: &WearView<'_>) -> Option<Action> {
        None
    }

    fn acts(&self) -> bool {
        false
    }
}
