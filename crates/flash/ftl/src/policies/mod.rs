//! Policies: a trait for each question, a file for each answer, a public list for each family.
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
pub use wane_registry::{Builtin, Entry, ParameterError, ShareOrCount, find, names};

use serde::{Deserialize, Serialize};
use wane_nand::Task;
use wane_sim::Stream;
use wane_units::SuperblockId;

/// What a policy learns about its domain before anything else. On a drive with `ftl.domain = "die"` each die has its own policy.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The first block of the policy's domain. Superblocks count as blocks.
    pub first: SuperblockId,
    /// Number of blocks in the domain. Their ids are consecutive from `first`.
    pub blocks: u32,
    /// Mapping units in a block.
    pub units_per_block: u32,
    /// Rated P/E cycles; `None` when the drive has no rating.
    pub endurance: Option<u32>,
    /// Blocks of the domain without the garbage collector's reserve: T in the released FTLSim.
    pub rated_blocks: u32,
    /// The policy's own random stream.
    pub stream: Stream,
}

impl Setting {
    /// The blocks of the policy's domain.
    pub fn superblocks(&self) -> impl DoubleEndedIterator<Item = SuperblockId> + Clone + use<> {
        SuperblockId::all(self.first.0..self.first.0 + self.blocks)
    }
}

/// Number of one of a drive's open streams, from 0. Data of one stream fill the same blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId(pub u32);

impl StreamId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a policy needs in order to have an effect, apart from what every drive has. A scenario whose drive lacks it is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The policy uses raw bit errors, so the flash must have a chip's error model.
    pub errors: bool,
    /// The policy counts in days, so time must pass.
    pub time: bool,
    /// The policy uses the rated endurance, so the drive must have one.
    pub endurance: bool,
    /// The policy spreads pages over dies, so consecutive writes must go to different dies.
    pub dies: bool,
    /// The policy looks at single host requests, so each must be handed in separately.
    pub requests: bool,
    /// Free blocks that one action of the policy takes at once.
    pub free_blocks: u32,
    /// Most firmware blocks that a domain may have, for a policy that looks at all of them; `None` if it looks at few.
    pub blocks_max: Option<u32>,
}

/// Why a block was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EraseCause {
    /// Garbage collection reclaimed it.
    GarbageCollection,
    /// Wear leveling moved its data away.
    WearLeveling,
    /// Scrubbing moved its data away.
    Scrub,
    /// The metadata area no longer needs it.
    Metadata,
}

impl EraseCause {
    /// The task that the flash works for during such an erase.
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
    /// It left service permanently.
    Retired,
}
