//! A stream for each task: the host's, garbage collection's, scrubbing's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::Task;

use super::{HostWrite, PlacementPolicy, RelocatedRun, StreamId};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`SeparateParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Separate;

/// Relocated data fill blocks of their own.
///
/// The host has one stream, garbage collection a second, and scrubbing, if there is any, a third. This keeps hot and cold data
/// apart. `frontiers = "separate"` selects this policy.
///
/// Source: Kim et al., FAST 2019 (004), whose drive keeps relocated pages apart.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SeparateParams {}

impl Builtin for Separate {
    const NAME: &'static str = "separate";
    type Params = SeparateParams;

    fn build(_params: SeparateParams) -> Self {
        Self
    }
}

impl Separate {
    /// Returns the stream of a task. Wear leveling fills blocks of its own, so only the parity of its data goes to a stream.
    fn stream(task: Task) -> StreamId {
        match task {
            Task::Host => StreamId(0),
            Task::GarbageCollection | Task::WearLeveling => StreamId(1),
            Task::Scrub => StreamId(2),
        }
    }
}

impl PlacementPolicy for Separate {
    remembered_by_serde!();

    fn streams(&self, tasks: &[Task]) -> u32 {
        if tasks.contains(&Task::Scrub) { 3 } else { 2 }
    }

    fn host(&mut self, _write: &HostWrite) -> StreamId {
        Self::stream(Task::Host)
    }

    fn relocated(&mut self, run: &RelocatedRun) -> StreamId {
        Self::stream(run.task)
    }

    fn parity(&self, task: Task) -> StreamId {
        Self::stream(task)
    }
}
