//! Which of a drive's open streams takes the data to be written.

mod autostream_mq;
mod autostream_sfr;
mod chunks;
mod one;
mod separate;

pub use autostream_mq::{AutostreamMq, AutostreamMqParams};
pub use autostream_sfr::{AutostreamSfr, AutostreamSfrParams};
pub use one::{OneStream, OneStreamParams};
pub use separate::{Separate, SeparateParams};

use dyn_clone::DynClone;
use wane_units::{Lpn, SuperblockId};

pub use crate::engine::Origin;
pub use wane_nand::Task;

use super::{Builtin, Entry, Needs, Setting, StreamId};
use crate::policies::state::remembers;

/// Most streams that a drive keeps open.
pub const STREAMS_MAX: u32 = 16;

/// Decides which stream takes data. Each domain has a block open for each stream; data of one stream fill the same blocks.
///
/// One policy serves the whole drive. It is asked once for each host request, or for the rest of one that the drive
/// interrupted, and once for each run of units that the firmware relocates into one block. Each move by wear leveling fills a
/// block of its own.
pub trait PlacementPolicy: Send + Sync + DynClone {
    /// Tells the policy its drive; called once, before anything else.
    fn begin(&mut self, _setting: Setting) {}

    /// Number of streams that a drive keeps open if these tasks write: 1 to [`STREAMS_MAX`]. Each stream takes a block of each domain
    /// from the capacity that the drive can export.
    fn streams(&self, tasks: &[Task]) -> u32;

    /// Returns the stream of a host request; called only if there are several streams. Stream 0 replaces an answer that does not exist.
    fn host(&mut self, write: &HostWrite) -> StreamId;

    /// Tells the policy that a block was opened for `stream`, or for wear leveling (`None`). All data later relocated from the block
    /// were written since then. The blocks that a new drive opens are reported too.
    fn opened(&mut self, _block: SuperblockId, _stream: Option<StreamId>) {}

    /// Returns the stream of relocated units; called only if there are several streams. Stream 0 replaces an answer that does not exist.
    fn relocated(&mut self, run: &RelocatedRun) -> StreamId;

    /// Returns the stream for the parity of stripes that this task filled.
    fn parity(&self, task: Task) -> StreamId;

    /// What the policy needs in order to have an effect. If its answers differ from one host request to the next, it needs
    /// [`Needs::requests`]: otherwise runs hand in many requests at once.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    remembers!();
}

dyn_clone::clone_trait_object!(PlacementPolicy);

/// A host request, as a placement policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostWrite {
    /// Its first logical unit.
    pub first: Lpn,
    /// Its units.
    pub units: u32,
    /// Who writes.
    pub origin: Origin,
    /// The stream that the host suggests, if any.
    pub hint: Option<u16>,
    /// Host units written before it.
    pub now: u64,
}

/// Units that are relocated together, as a placement policy sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelocatedRun {
    /// Who relocates: garbage collection or scrubbing.
    pub task: Task,
    /// The block that they come from.
    pub from: SuperblockId,
    /// Erases of that block.
    pub erase_count: u32,
    /// The clock when that block was last written, in host units written.
    pub closed_at: u64,
    /// Units that still have to be moved out of that block.
    pub units: u32,
    /// Host units written so far.
    pub now: u64,
}

/// Every placement policy. A new one is a file and a line here.
pub const PLACEMENT_POLICIES: &[Entry<Box<dyn PlacementPolicy>>] =
    &[entry::<OneStream>(), entry::<Separate>(), entry::<AutostreamSfr>(), entry::<AutostreamMq>()];

const fn entry<P: Builtin + PlacementPolicy + 'static>() -> Entry<Box<dyn PlacementPolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use wane_sim::Streams;

    /// The setting of a drive of `blocks` blocks of `units_per_block` units.
    pub(crate) fn setting(blocks: u32, units_per_block: u32) -> Setting {
        let stream = Streams::new(1).stream("placement");
        Setting { first: SuperblockId(0), blocks, units_per_block, endurance: None, rated_blocks: blocks, stream }
    }

    /// A write of the host.
    pub(crate) fn write(first: u32, units: u32, now: u64) -> HostWrite {
        HostWrite { first: Lpn(first), units, origin: Origin::Host, hint: None, now }
    }

    #[test]
    fn one_stream_takes_all_and_separate_ones_go_by_task() {
        let tasks = [Task::Host, Task::GarbageCollection, Task::Scrub];
        for (name, streams, want) in [("one", [1, 1], [0, 0, 0, 0]), ("separate", [3, 2], [0, 1, 2, 1])] {
            let entry = super::super::find(PLACEMENT_POLICIES, name).unwrap();
            let mut policy = entry.parse(toml::Table::new()).unwrap();
            assert_eq!([policy.streams(&tasks), policy.streams(&tasks[..2])], streams, "{name}");
            let write = HostWrite { first: Lpn(7), units: 1, origin: Origin::Host, hint: Some(5), now: 9 };
            let run =
                |task| RelocatedRun { task, from: SuperblockId(3), erase_count: 1, closed_at: 2, units: 8, now: 9 };
            let answers = [
                policy.host(&write),
                policy.relocated(&run(Task::GarbageCollection)),
                policy.relocated(&run(Task::Scrub)),
                policy.parity(Task::WearLeveling),
            ];
            assert_eq!(answers, want.map(StreamId), "{name}");
        }
    }
}
