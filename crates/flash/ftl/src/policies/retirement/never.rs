//! Blocks stay in service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RetirePolicy, RetireView, Verdict};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`NeverParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Never;

/// Blocks stay in service, however worn.
///
/// A block stays in service whatever its wear, its errors and its failed programs. Only a failed erase ends its service.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NeverParams {}

impl Builtin for Never {
    const NAME: &'static str = "never";
    type Params = NeverParams;

    fn build(_params: NeverParams) -> Self {
        Self
    }
}

impl RetirePolicy for Never {
    remembered_by_serde!();

    fn verdict(&self, _view: &RetireView) -> Verdict {
        Verdict::Keep
    }

    fn retires_at(&self, _rated: Option<u32>) -> Option<u32> {
        None
    }
}
