//! A block leaves service at a number of erases below its rating.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RetirePolicy, RetireView, RetirementThreshold, Verdict, retire_if};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`AtErasesParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtErases {
    erases: u32,
}

/// A block leaves service at a number of erases, before its rating.
///
/// A block leaves service at the erase that brings it to `erases` or to the rated endurance, whichever comes first, or after one of its
/// programs failed. Blocks of a degraded drive serve up to the rated endurance.
///
/// On the chip of 001, which is rated for 300 erases, just programmed data have an RBER above 4, 5 and 6 % from 239, 267 and 293 erases on.
///
/// Source: the capacity-variant SSD (001, section 3.2.2), whose threshold is an RBER; its released code goes by erases.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AtErasesParams {
    /// Erases at which a block leaves service.
    #[schemars(range(min = 1, max = 1 << 20))]
    pub erases: u32,
}

impl Default for AtErasesParams {
    fn default() -> Self {
        Self { erases: 267 }
    }
}

impl Builtin for AtErases {
    const NAME: &'static str = "at-erases";
    type Params = AtErasesParams;

    fn build(params: AtErasesParams) -> Self {
        Self { erases: params.erases }
    }
}

impl RetirePolicy for AtErases {
    remembered_by_serde!();

    fn verdict(&self, view: &RetireView) -> Verdict {
        let is_over = !view.serves_to_rating() && view.erase_count >= self.erases;
        retire_if(is_over || view.is_rated_out() || view.failures > 0)
    }

    fn retires_at(&self, rated: Option<u32>) -> Option<u32> {
        Some(rated.map_or(self.erases, |rated| rated.min(self.erases)))
    }

    fn set_threshold(&mut self, threshold: RetirementThreshold) -> bool {
        let RetirementThreshold::Erases(erases) = threshold else { return false };
        debug_assert!(erases > 0, "a block that serves is erased at least once");
        self.erases = erases;
        true
    }
}
