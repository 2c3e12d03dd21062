//! Retirement as in the released FTLSim: only erases by garbage collection are checked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RetirePolicy, RetireView, Verdict, retire_if};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, EraseCause};

/// See [`AtGcEraseParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtGcErase;

/// As at-endurance, but only erases by garbage collection are checked.
///
/// As `at-endurance`, but only erases by garbage collection are checked, as in the released FTLSim. So a block that wear
/// leveling erases may outlive its rating.
///
/// Source: released code of the dissertation (000).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AtGcEraseParams {}

impl Builtin for AtGcErase {
    const NAME: &'static str = "at-gc-erase";
    type Params = AtGcEraseParams;

    fn build(_params: AtGcEraseParams) -> Self {
        Self
    }
}

impl RetirePolicy for AtGcErase {
    remembered_by_serde!();

    fn verdict(&self, view: &RetireView) -> Verdict {
        retire_if((view.is_rated_out() || view.failures > 0) && view.cause == EraseCause::GarbageCollection)
    }

    fn retires_at(&self, rated: Option<u32>) -> Option<u32> {
        rated
    }
}
