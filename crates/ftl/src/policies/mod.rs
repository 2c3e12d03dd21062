//! Policies: one trait a question, one file an answer, one visible list a family.
//!
//! A policy sees a read-only view, returns a decision and changes nothing but itself. It hears of blocks, never of
//! pages. The mechanism checks the answer and carries it out.

pub mod allocation;
pub mod capacity;
pub mod mode;
pub mod placement;
pub mod recovery;
pub mod redundancy;
pub mod retirement;
pub mod scrub;
mod state;
pub mod victim;
pub mod wear_leveling;

pub(crate) use wear_leveling::CountOrder;

pub use mode::Mode;

pub use state::{ProjectedWear, SavedState, StateError};
pub use wane_registry::{Builtin, Entry, ParameterError, find, names};

use serde::{Deserialize, Serialize};
use wane_nand::Task;
use wane_sim::Stream;
use wane_units::SuperblockId;

/// What a policy is told before all else. On a drive with `ftl.domain = "die"` each die has a policy of its own.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The first block of the policy's domain. Superblocks count as blocks.
    pub first: SuperblockId,
    /// Blocks of the domain: their ids follow the first one's.
    pub blocks: u32,
    /// Mapping units in a block.
    pub units_per_block: u32,
    /// Rated P/E cycles; `None` when the drive has no rating.
    pub endurance: Option<u32>,
    /// T of the released FTLSim: blocks of the domain without the garbage collector's reserve.
    pub rated_blocks: u32,
    /// A random stream of the policy's own.
    pub stream: Stream,
}

impl Setting {
    /// The blocks of the policy's domain.
    pub fn superblocks(&self) -> impl DoubleEndedIterator<Item = SuperblockId> + Clone + use<> {
        SuperblockId::all(self.first.0..self.first.0 + self.blocks)
    }
}

/// One of a drive's open streams, numbered from 0: data in one stream fill the same blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId(pub u32);

impl StreamId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a policy needs to have any effect, beside what every drive has. A scenario whose drive lacks it is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// It goes by raw bit errors, so the flash has a chip's.
    pub errors: bool,
    /// It goes by days, so time passes.
    pub time: bool,
    /// It goes by the rated endurance, so the drive has one.
    pub endurance: bool,
    /// It spreads pages over dies, so writing goes from die to die.
    pub dies: bool,
    /// It goes by single host requests, so that each is handed in by itself.
    pub requests: bool,
    /// Free blocks that one of its actions takes at once.
    pub free_blocks: u32,
    /// Most firmware blocks of a domain, as it looks at all of them; `None` where it looks at few.
    pub blocks_max: Option<u32>,
}

/// Why a block was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseCause {
    /// Garbage collection reclaimed it.
    GarbageCollection,
    /// Wear leveling moved its data away.
    WearLeveling,
    /// Scrubbing moved its data away.
    Scrub,
    /// The metadata area needs it no longer.
    Metadata,
}

impl EraseCause {
    /// For whom the flash works then.
    pub fn task(self) -> Task {
        match self {
            Self::GarbageCollection | Self::Metadata => Task::GarbageCollection,
            Self::WearLeveling => Task::WearLeveling,
            Self::Scrub => Task::Scrub,
        }
    }
}

/// What happened to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEvent {
    /// It left the free list and is being written.
    Opened,
    /// It is full (or will not be written further) and may be chosen as a victim.
    Closed,
    /// It was erased and is free.
    Erased(EraseCause),
    /// It left service for ever.
    Retired,
}
