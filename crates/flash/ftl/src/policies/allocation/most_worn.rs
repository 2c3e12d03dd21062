//! The most worn free block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{AllocationPolicy, FreeOrder, FreeView};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`MostWornParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MostWorn;

/// The free block with the most erases.
///
/// The opposite of `least-worn`: worn blocks wear on, which is a bound on how uneven wear can get. Of equally worn blocks the
/// one with the lower id is opened.
///
/// Source: ours, as a bound.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MostWornParams {}

impl Builtin for MostWorn {
    const NAME: &'static str = "most-worn";
    type Params = MostWornParams;

    fn build(_params: MostWornParams) -> Self {
        Self
    }
}

impl AllocationPolicy for MostWorn {
    remembered_by_serde!();

    fn order(&self) -> FreeOrder {
        FreeOrder::Wear
    }

    fn choose(&mut self, view: &FreeView<'_>) -> SuperblockId {
        view.last()
    }
}
