//! One stream: relocations fill the block that the host fills.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::Task;

use super::{HostWrite, PlacementPolicy, RelocatedRun, StreamId};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`OneStreamParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OneStream;

/// One stream takes all.
///
/// Host writes and relocations fill the same block, so that hot and cold data mix. `frontiers = "one"` selects this policy.
///
/// Source: the released FTLSim (dissertation 000).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OneStreamParams {}

impl Builtin for OneStream {
    const NAME: &'static str = "one";
    type Params = OneStreamParams;

    fn build(_params: OneStreamParams) -> Self {
        Self
    }
}

impl PlacementPolicy for OneStream {
    remembered_by_serde!();

    fn streams(&self, _tasks: &[Task]) -> u32 {
        1
    }

    fn host(&mut self, _write: &HostWrite) -> StreamId {
        StreamId(0)
    }

    fn relocated(&mut self, _run: &RelocatedRun) -> StreamId {
        StreamId(0)
    }

    fn parity(&self, _task: Task) -> StreamId {
        StreamId(0)
    }
}
