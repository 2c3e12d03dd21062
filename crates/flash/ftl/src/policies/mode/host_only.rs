//! Only the host changes the mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Change, ModePolicy, ModeView};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`HostOnlyParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostOnly;

/// The drive never becomes degraded by itself.
///
/// Only the host changes the mode, as in the artifact of 001, which uses an admin command.
///
/// Source: released code of 001.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostOnlyParams {}

impl Builtin for HostOnly {
    const NAME: &'static str = "host-only";
    type Params = HostOnlyParams;

    fn build(_params: HostOnlyParams) -> Self {
        Self
    }
}

impl ModePolicy for HostOnly {
    remembered_by_serde!();

    fn judge(&mut self, _view: &ModeView) -> Option<Change> {
        None
    }

    fn acts(&self) -> bool {
        false
    }
}
