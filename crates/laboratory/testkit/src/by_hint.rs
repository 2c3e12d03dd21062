//! A placement policy from outside, for tests of hints.

use wane_ftl::policies::StreamId;
use wane_ftl::policies::placement::{HostWrite, PlacementPolicy, RelocatedRun};
use wane_nand::Task;

/// The host's hint is the stream, even if there is no such stream. Relocated data and parity go to the last stream.
#[derive(Clone, Debug)]
pub struct ByHint {
    /// Number of open streams, at least one.
    pub streams: u32,
}

impl PlacementPolicy for ByHint {
    fn streams(&self, _tasks: &[Task]) -> u32 {
        self.streams
    }

    fn host(&mut self, write: &HostWrite) -> StreamId {
        StreamId(write.hint.map_or(0, u32::from))
    }

    fn relocated(&mut self, _run: &RelocatedRun) -> StreamId {
        StreamId(self.streams - 1)
    }

    fn parity(&self, _task: Task) -> StreamId {
        StreamId(self.streams - 1)
    }
}
