//! No recovery.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RecoveryPolicy, RecoveryView};
use crate::persist::Summaries;
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`NoRecoveryParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NoRecovery;

/// The drive keeps no out-of-band data: its power is never cut.
///
/// The drive programs only data and parity, and needs the least memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NoRecoveryParams {}

impl Builtin for NoRecovery {
    const NAME: &'static str = "none";
    type Params = NoRecoveryParams;

    fn build(_params: NoRecoveryParams) -> Self {
        Self
    }
}

impl RecoveryPolicy for NoRecovery {
    remembered_by_serde!();

    fn summaries(&self) -> Summaries {
        Summaries::Unmapped
    }

    fn due(&self, _view: &RecoveryView) -> u32 {
        0
    }

    fn acts(&self) -> bool {
        false
    }
}
