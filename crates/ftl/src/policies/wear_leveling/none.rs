//! No wear leveling: blocks wear as the workload wears them.

use serde::Deserialize;

use super::{Action, BuiltinWearLevel, WearLevelPolicy, WearView};
use crate::policies::{Builtin, Setting};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct NoWearLeveling;

/// [`NoWearLeveling`] takes none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Builtin for NoWearLeveling {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "no data moves for wear's sake";
    const EXAMPLE: &'static str = "{ policy = \"none\" }";
    const PAGE: &'static str = "\
Moves nothing. Free blocks are still taken in the order in which they became free, which spreads wear by itself as
long as garbage collection reaches every block.

Source: dissertation (000) ch. 4 (NoWL).
";
    type Params = Params;
}

impl BuiltinWearLevel for NoWearLeveling {
    fn new(_params: &Params, _setting: Setting) -> Self {
        Self
    }
}

impl WearLevelPolicy for NoWearLeveling {
    fn plan(&mut self, _view: &WearView<'_>) -> Option<Action> {
        None
    }
}
