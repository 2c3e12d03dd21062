//! Which data move so that blocks wear evenly.

mod dual_pool;
mod hot_cold_swap;
mod none;
mod obp;
mod order;
mod pwl;
mod pwl_band;
mod table;
mod variance;

pub use dual_pool::{DualPool, DualPoolParams};
pub use hot_cold_swap::{HotColdSwap, HotColdSwapParams};
pub use none::{NoWearLeveling, NoWearLevelingParams};
pub use obp::{OldBlockProtection, OldBlockProtectionParams};
pub(crate) use order::CountOrder;
pub use pwl::{Average, Progressive, ProgressiveParams};
pub use pwl_band::{ProgressiveBand, ProgressiveBandParams};
pub use table::WearTable;
pub use variance::{Variance, VarianceParams};

use dyn_clone::DynClone;
use wane_units::SuperblockId;

use super::{BlockEvent, Builtin, Entry, Needs, Setting};
use crate::policies::mode::Mode;
use crate::policies::state::remembers;

/// Plans moves of data between blocks.
///
/// The policy is asked after each erase by garbage collection. It is also asked before a host write if its last answer was an
/// action. It is not asked during preconditioning, but hears of every event from the first.
pub trait WearLevelPolicy: Send + Sync + DynClone {
    /// Tells the policy its drive and domain; called once, before anything else.
    fn begin(&mut self, _setting: Setting) {}

    /// The move to make now, if any.
    fn plan(&mut self, view: &WearView<'_>) -> Option<Action>;

    /// Tells the policy of an event of a block. The erase count is the one after the event.
    fn heard(&mut self, _event: BlockEvent, _block: SuperblockId, _erase_count: u32) {}

    /// Whether the policy is asked again after each of its moves until it plans none. Otherwise there is a host write between two
    /// moves.
    fn tests_again(&self) -> bool {
        false
    }

    /// What the policy needs in order to have an effect.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Whether the policy ever acts. If it does not, the mechanism skips the work that only serves it.
    fn acts(&self) -> bool {
        true
    }

    remembers!();
}

dyn_clone::clone_trait_object!(WearLevelPolicy);

/// A move of data. Its copied units and its erases count as wear leveling's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Copies the valid units of closed block `from` into free block `into`, closes `into`, erases `from` and frees it.
    Refill {
        /// A closed block.
        from: SuperblockId,
        /// A free block.
        into: SuperblockId,
    },
    /// Copies `hot`'s data to the next free block and closes that block. Then erases `hot`, copies `cold`'s data into it
    /// and closes it. Then erases `cold` and frees it. Refused while no block is free.
    Exchange {
        /// A closed, much worn block.
        hot: SuperblockId,
        /// A closed, little worn block.
        cold: SuperblockId,
    },
}

/// What a wear leveler sees. A [`WearTable`] makes a view without a drive.
pub struct WearView<'a> {
    pub(crate) first: SuperblockId,
    pub(crate) blocks: u32,
    pub(crate) erased: Option<SuperblockId>,
    pub(crate) erase_count: &'a [u32],
    pub(crate) valid: &'a dyn ValidUnits,
    pub(crate) gc_erases: u64,
    pub(crate) wear_leveling_erases: u64,
    pub(crate) host_writes: u64,
    pub(crate) free: u32,
    pub(crate) mode: Mode,
}

/// Source of the number of valid units of a block.
pub(crate) trait ValidUnits {
    fn valid(&self, block: SuperblockId) -> u32;
}

impl WearView<'_> {
    /// The blocks of the policy's domain.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = SuperblockId> + Clone + use<> {
        SuperblockId::all(self.first.0..self.first.0 + self.blocks)
    }

    /// The block that garbage collection just erased and freed; `None` before a host write.
    pub fn erased(&self) -> Option<SuperblockId> {
        self.erased
    }

    /// Erases of a block.
    pub fn erase_count(&self, block: SuperblockId) -> u32 {
        self.erase_count[block.index()]
    }

    /// Valid units of a block.
    pub fn valid(&self, block: SuperblockId) -> u32 {
        self.valid.valid(block)
    }

    /// Erases by garbage collection in this domain since it was new, preconditioning included.
    pub fn gc_erases(&self) -> u64 {
        self.gc_erases
    }

    /// Erases by wear leveling in this domain.
    pub fn wear_leveling_erases(&self) -> u64 {
        self.wear_leveling_erases
    }

    /// Host units written since the drive was new.
    pub fn host_writes(&self) -> u64 {
        self.host_writes
    }

    /// Free blocks of the domain.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// The mode of the drive.
    pub fn mode(&self) -> Mode {
        self.mode
    }
}

/// Every wear leveler. A new one is a file and a line here.
pub const WEAR_LEVEL_POLICIES: &[Entry<Box<dyn WearLevelPolicy>>] = &[
    entry::<NoWearLeveling>(),
    entry::<HotColdSwap>(),
    entry::<OldBlockProtection>(),
    entry::<DualPool>(),
    entry::<Progressive>(),
    entry::<ProgressiveBand>(),
    entry::<Variance>(),
];

const fn entry<P: Builtin + WearLevelPolicy + 'static>() -> Entry<Box<dyn WearLevelPolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<F: Fn(SuperblockId) -> u32> ValidUnits for F {
        fn valid(&self, block: SuperblockId) -> u32 {
            self(block)
        }
    }

    pub(super) fn setting(blocks: u32) -> Setting {
        let stream = wane_sim::Streams::new(1).stream("wear-leveling");
        Setting { first: SuperblockId(0), blocks, units_per_block: 4, endurance: None, rated_blocks: blocks, stream }
    }

    /// A policy that has begun on this domain.
    pub(super) fn begun<P: Builtin + WearLevelPolicy>(params: P::Params, setting: Setting) -> P {
        let mut policy = P::build(params);
        policy.begin(setting);
        policy
    }

    /// Tells a policy that blocks 0.. closed with these erase counts.
    pub(super) fn close(policy: &mut dyn WearLevelPolicy, erase_counts: &[u32]) {
        for (block, erases) in (0..).map(SuperblockId).zip(erase_counts) {
            policy.heard(BlockEvent::Closed, block, *erases);
        }
    }

    pub(super) fn view<'a>(erased: Option<u32>, erase_count: &'a [u32], valid: &'a dyn ValidUnits) -> WearView<'a> {
        WearView {
            first: SuperblockId(0),
            blocks: erase_count.len() as u32,
            erased: erased.map(SuperblockId),
            erase_count,
            valid,
            gc_erases: 0,
            wear_leveling_erases: 0,
            host_writes: 0,
            free: 2,
            mode: Mode::Normal,
        }
    }
}
