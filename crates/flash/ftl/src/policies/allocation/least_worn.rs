//! Dynamic wear leveling: the least worn free block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{AllocationPolicy, FreeOrder, FreeView};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`LeastWornParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeastWorn;

/// The free block with the fewest erases.
///
/// Dynamic wear leveling: new data go to the least worn free block; of equally worn ones the one with the lower id. It costs
/// no copies and cannot reach blocks whose data never change.
///
/// Source: the dynamic wear leveling of L.-P. Chang, 2007, and of most textbooks.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LeastWornParams {}

impl Builtin for LeastWorn {
    const NAME: &'static str = "least-worn";
    type Params = LeastWornParams;

    fn build(_params: LeastWornParams) -> Self {
        Self
    }
}

impl AllocationPolicy for LeastWorn {
    remembered_by_serde!();

    fn order(&self) -> FreeOrder {
        FreeOrder::Wear
    }

    fn choose(&mut self, view: &FreeView<'_>) -> SuperblockId {
        view.first()
    }
}
