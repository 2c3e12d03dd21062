//! A block leaves service when it has too many raw bit errors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RetirePolicy, RetireView, RetirementThreshold, Verdict, retire_if};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// See [`RberParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rber {
    threshold: f64,
}

/// A block leaves service when its RBER reaches a threshold.
///
/// A block leaves service at the erase after which just programmed data would have an RBER of at least `threshold`, or after one
/// of its programs failed. Blocks that wear faster leave earlier. The rating matters only on a degraded drive, whose blocks serve
/// up to `drive.endurance`. The policy needs `drive.chip`.
///
/// Source: capacity-variant SSDs (001), which map blocks out at an RBER of 5 %.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RberParams {
    /// RBER of just programmed data at which a block leaves service.
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
        let is_over = if view.serves_to_rating() { view.is_rated_out() } else { view.rber >= self.threshold };
        retire_if(is_over || view.failures > 0)
    }

    fn retires_at(&self, _rated: Option<u32>) -> Option<u32> {
        None
    }

    fn retires(&self, _rated: Option<u32>) -> bool {
        true
    }

    fn set_threshold(&mut self, threshold: RetirementThreshold) -> bool {
        let RetirementThreshold::Rber(threshold) = threshold else { return false };
        debug_assert!(threshold > 0.0 && threshold <= 1.0, "a raw bit error rate is a share, found {threshold}");
        self.threshold = threshold;
        true
    }

    fn needs(&self) -> Needs {
        Needs { errors: true, ..Needs::default() }
    }
}
