//! No scrubbing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, ScrubPolicy, ScrubView};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`NoScrubParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NoScrub;

/// No scrubbing.
///
/// Errors are corrected when data are read. No data are relocated in advance.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NoScrubParams {}

impl Builtin for NoScrub {
    const NAME: &'static str = "none";
    type Params = NoScrubParams;

    fn build(_params: NoScrubParams) -> Self {
        Self
    }
}

impl ScrubPolicy for NoScrub {
    remembered_by_serde!();

    fn next(&mut self, _view: &ScrubView<'_>) -> Option<Action> {
        None
    }

    fn acts(&self) -> bool {
        false
    }
}
