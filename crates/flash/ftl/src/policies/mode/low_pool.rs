//! Degraded once hardly any block is free.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Change, Mode, ModePolicy, ModeView, Trigger};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// Most blocks of a domain, since each question to the policy counts the data of all of them.
const BLOCKS_MAX: u32 = 4096;

/// See [`LowPoolParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LowPool {
    params: LowPoolParams,
}

/// Degraded once hardly any block is free.
///
/// The drive becomes degraded when fewer than `low-pool` blocks are free and no closed block is more than half invalid. It does not look at its
/// effective over-provisioning, as `over-provisioning` does, and only the host makes it normal again.
///
/// Source: released code of 001.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LowPoolParams {
    /// Number of free blocks of a domain below which the drive is degraded, unless a closed block is more than half invalid.
    #[schemars(extend("x-scales" = "reserve"))]
    pub low_pool: u32,
}

impl Default for LowPoolParams {
    fn default() -> Self {
        Self { low_pool: 5 }
    }
}

impl Builtin for LowPool {
    const NAME: &'static str = "low-pool";
    type Params = LowPoolParams;

    fn build(params: LowPoolParams) -> Self {
        Self { params }
    }
}

impl ModePolicy for LowPool {
    remembered_by_serde!();

    fn judge(&mut self, view: &ModeView) -> Option<Change> {
        let is_low = view.free < self.params.low_pool && !view.has_half_invalid;
        (view.mode == Mode::Normal && is_low).then_some(Change::Degrade(Trigger::LowPool))
    }

    fn needs(&self) -> Needs {
        Needs { blocks_max: Some(BLOCKS_MAX), ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_low_pool_degrades_and_only_the_host_recovers() {
        let low = ModeView {
            mode: Mode::Normal,
            physical_initial: 128,
            physical: 64,
            logical_initial: 119,
            valid: 63,
            free: 4,
            has_half_invalid: false,
            has_freed: false,
        };
        let degrades = Some(Change::Degrade(Trigger::LowPool));
        for (view, want) in [
            (low, degrades),
            (ModeView { free: 5, ..low }, None),
            (ModeView { has_half_invalid: true, ..low }, None),
            (ModeView { mode: Mode::Degraded, free: 20, valid: 1, has_freed: true, ..low }, None),
        ] {
            assert_eq!(LowPool::build(LowPoolParams::default()).judge(&view), want, "{view:?}");
        }
    }
}
