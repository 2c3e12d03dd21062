//! No redundancy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::Task;

use super::RedundancyPolicy;
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`NoRedundancyParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NoRedundancy;

/// No page protects another.
///
/// A page that error correction cannot correct is uncorrectable.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NoRedundancyParams {}

impl Builtin for NoRedundancy {
    const NAME: &'static str = "none";
    type Params = NoRedundancyParams;

    fn build(_params: NoRedundancyParams) -> Self {
        Self
    }
}

impl RedundancyPolicy for NoRedundancy {
    remembered_by_serde!();

    fn data_pages(&self) -> u32 {
        1
    }

    fn protects(&self, _task: Task) -> bool {
        false
    }

    fn acts(&self) -> bool {
        false
    }
}
