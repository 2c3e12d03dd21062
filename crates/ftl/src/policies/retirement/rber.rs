//! A block leaves service when its raw bit errors grow too many.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RetirePolicy, RetireView, Verdict, retire_if};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// See [`RberParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rber {
    threshold: f64,
}

/// A block leaves service when its RBER reaches a threshold.
///
/// A block leaves service at the erase after which a page just programmed would read with so many raw bit errors, or after a
/// program of it failed. Blocks that wear faster than others leave earlier, and none leaves because of a rating. It needs
/// `drive.chip`.
///
/// Source: capacity-variant SSDs (001), which map blocks out at an RBER of 5 %.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RberParams {
    /// RBER of fresh data at which a block leaves service.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub threshold: f64,
}

impl Default for RberParams {
    fn default() -> Self {
        Self { threshold: 0.05 }
    }
}

impl Builtin for Rber {
    const NAME: &'static str = "rber";
    type Params = RberParams;

    fn build(params: RberParams) -> Self {
        Self { threshold: params.threshold }
    }
}

impl RetirePolicy for Rber {
    remembered_by_serde!();

    fn verdict(&self, view: &RetireView) -> Verdict {
        retire_if(view.rber >= self.threshold || view.failures > 0)
    }

    fn retires_at(&self, _rated: Option<u32>) -> Option<u32> {
        None
    }

    fn retires(&self, _rated: Option<u32>) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { errors: true, ..Needs::default() }
    }
}
