//! First in, first out: the block that became free first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{AllocationPolicy, FreeView};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`FreedFirstParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FreedFirst;

/// The block that became free first.
///
/// Blocks are opened in the order in which they became free, whatever their wear. Every block waits its turn. This alone spreads
/// wear as long as garbage collection reaches every block.
///
/// Source: the released FTLSim (dissertation 000).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FreedFirstParams {}

impl Builtin for FreedFirst {
    const NAME: &'static str = "fifo";
    type Params = FreedFirstParams;

    fn build(_params: FreedFirstParams) -> Self {
        Self
    }
}

impl AllocationPolicy for FreedFirst {
    remembered_by_serde!();

    fn choose(&mut self, view: &FreeView<'_>) -> SuperblockId {
        view.first()
    }
}
