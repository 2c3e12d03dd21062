//! A block leaves service when its programs fail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RetirePolicy, RetireView, Verdict, retire_if};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`FailuresParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failures {
    programs: u32,
}

/// A block leaves service when its programs fail, whatever its wear.
///
/// A block whose program failed is emptied at once. At its erase it leaves service if `programs` of its programs have failed.
/// Wear alone retires no block, so without `drive.faults` no block ever leaves service.
///
/// Source: grown bad blocks as drives report them (002) §4.1.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FailuresParams {
    /// Failed programs at which a block leaves service.
    #[schemars(range(min = 1))]
    pub programs: u32,
}

impl Default for FailuresParams {
    fn default() -> Self {
        Self { programs: 1 }
    }
}

impl Builtin for Failures {
    const NAME: &'static str = "failures";
    type Params = FailuresParams;

    fn build(params: FailuresParams) -> Self {
        Self { programs: params.programs }
    }
}

impl RetirePolicy for Failures {
    remembered_by_serde!();

    fn verdict(&self, view: &RetireView) -> Verdict {
        retire_if(view.failures >= self.programs)
    }

    fn retires_at(&self, _rated: Option<u32>) -> Option<u32> {
        None
    }

    fn retires(&self, _rated: Option<u32>) -> bool {
        true
    }
}
