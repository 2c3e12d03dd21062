//! Recovery by reading all pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RecoveryPolicy, RecoveryView};
use crate::persist::Summaries;
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`FullScanParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FullScan;

/// After a power cut the drive reads the out-of-band data of every programmed page.
///
/// The newest page of each logical unit counts. Trims are kept in a journal, so a drive whose host trims nothing writes nothing
/// for its recovery. Recovery takes as long as reading the whole drive.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FullScanParams {}

impl Builtin for FullScan {
    const NAME: &'static str = "full-scan";
    type Params = FullScanParams;

    fn build(_params: FullScanParams) -> Self {
        Self
    }
}

impl RecoveryPolicy for FullScan {
    remembered_by_serde!();

    fn summaries(&self) -> Summaries {
        Summaries::Unmapped
    }

    fn due(&self, _view: &RecoveryView) -> u32 {
        0
    }
}
