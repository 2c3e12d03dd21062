//! A block leaves service at its rated P/E cycles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RetirePolicy, RetireView, Verdict, retire_if};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`AtEnduranceParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtEndurance;

/// A block leaves service at its rated P/E cycles.
///
/// A block leaves service at the erase that brings it to the rated endurance, or after one of its programs failed.
///
/// Source: dissertation (000) §4.4.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AtEnduranceParams {}

impl Builtin for AtEndurance {
    const NAME: &'static str = "at-endurance";
    type Params = AtEnduranceParams;

    fn build(_params: AtEnduranceParams) -> Self {
        Self
    }
}

impl RetirePolicy for AtEndurance {
    remembered_by_serde!();

    fn verdict(&self, view: &RetireView) -> Verdict {
        retire_if(view.is_rated_out() || view.failures > 0)
    }

    fn retires_at(&self, rated: Option<u32>) -> Option<u32> {
        rated
    }
}
