//! Which closed block is reclaimed next.

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;
mod table;
mod wear_focusing;
mod windowed_greedy;

pub use cost_benefit::{CostBenefit, CostBenefitParams, Form};
pub use d_choices::{DChoices, DChoicesParams, Draw};
pub use fifo::{Fifo, FifoParams};
pub use greedy::{Greedy, GreedyParams, Tie};
pub use random::{Random, RandomParams};
pub use table::{ClosedBlock, GcTable};
pub use wear_focusing::{WearFocusing, WearFocusingParams};
pub use windowed_greedy::{WindowedGreedy, WindowedGreedyParams};

use dyn_clone::DynClone;
use wane_units::SuperblockId;

use super::{BlockEvent, Builtin, Entry, Mode, Needs, Setting};
use crate::index::VictimIndex;
pub use crate::index::{IndexSpec, Order, Roster};
use crate::policies::state::remembers;

/// Chooses the block to reclaim.
pub trait VictimPolicy: Send + Sync + DynClone {
    /// Tells the policy its drive and domain; called once, before anything else.
    fn begin(&mut self, _setting: Setting) {}

    /// What the mechanism must keep for this policy.
    fn index(&self) -> IndexSpec {
        IndexSpec::default()
    }

    /// Returns the victim, one of the closed blocks; `None` if none is worth reclaiming.
    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId>;

    /// Tells the policy of an event of a block. The erase count is the one after the event.
    fn heard(&mut self, _event: BlockEvent, _block: SuperblockId, _erase_count: u32) {}

    /// What the policy needs in order to have an effect.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    remembers!();
}

dyn_clone::clone_trait_object!(VictimPolicy);

/// What a victim policy sees: the closed blocks of its domain. A [`GcTable`] makes a view without a drive.
pub struct GcView<'a> {
    pub(crate) index: &'a VictimIndex,
    pub(crate) erase_count: &'a [u32],
    /// By block of the drive; empty if no policy asks for it.
    pub(crate) host_reads: &'a [u32],
    pub(crate) mode: Mode,
    pub(crate) free: u32,
    pub(crate) now: u64,
}

impl GcView<'_> {
    /// The drive's mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Free blocks of the domain.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Units that the host read from a block since its erase; 0 without [`IndexSpec::reads`].
    pub fn host_reads(&self, block: SuperblockId) -> u32 {
        self.host_reads.get(block.index()).copied().unwrap_or_default()
    }

    /// The most units that the host read from any block of this domain since the block's erase. It costs a scan of the blocks.
    pub fn host_reads_max(&self) -> u32 {
        let own = self.host_reads.get(self.index.superblocks()).unwrap_or_default();
        own.iter().copied().max().unwrap_or_default()
    }

    /// The closed blocks, in an arbitrary but repeatable order. A policy that looks at all of them says so in
    /// [`Needs::blocks_max`].
    pub fn blocks(&self) -> impl Iterator<Item = SuperblockId> {
        self.index.closed_blocks()
    }

    /// Host units written so far: the logical clock.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Mapping units in a block.
    pub fn units_per_block(&self) -> u32 {
        self.index.units_per_block()
    }

    /// Whether the block belongs to the policy's domain.
    pub fn has(&self, block: SuperblockId) -> bool {
        self.index.superblocks().contains(&block.index())
    }

    /// Whether the block is closed, so that it can be the victim.
    pub fn is_closed(&self, block: SuperblockId) -> bool {
        self.has(block) && self.index.is_closed(block)
    }

    /// Valid units of a block.
    pub fn valid(&self, block: SuperblockId) -> u32 {
        self.index.valid(block)
    }

    /// Erases of a block.
    pub fn erase_count(&self, block: SuperblockId) -> u32 {
        self.erase_count[block.index()]
    }

    /// The clock when a closed block was last written.
    pub fn closed_at(&self, block: SuperblockId) -> u64 {
        self.index.closed_at(block)
    }

    /// The lowest number of valid units that any block in a bucket has.
    pub fn lowest(&self) -> Option<u32> {
        self.index.lowest()
    }

    /// The lowest number of valid units from `valid` up that any block in a bucket has.
    pub fn next_bucket(&self, valid: u32) -> Option<u32> {
        self.index.next_bucket(valid)
    }

    /// The first block of the bucket, in the declared order.
    pub fn bucket_head(&self, valid: u32) -> Option<SuperblockId> {
        self.index.first(valid)
    }

    /// The block that entered the bucket last. Kept for [`Order::Entry`] only.
    pub fn bucket_tail(&self, valid: u32) -> Option<SuperblockId> {
        self.index.last(valid)
    }

    /// Number of closed blocks.
    pub fn closed_len(&self) -> u32 {
        self.index.closed_len()
    }

    /// The closed block at a position of an arbitrary but repeatable order, for uniform draws. It costs a scan of all blocks
    /// unless [`IndexSpec::roster`] has positions.
    pub fn closed(&self, position: u32) -> SuperblockId {
        self.index.closed(position)
    }

    /// The block that closed longest ago. It costs a scan of all blocks unless [`IndexSpec::roster`] has ages.
    pub fn oldest(&self) -> Option<SuperblockId> {
        self.index.oldest()
    }

    /// Invalid units in the blocks of the window, or in all closed blocks if there is no window.
    pub fn invalid_in_window(&self) -> u64 {
        self.index.invalid_in_window()
    }

    /// The oldest closed block outside the window.
    pub fn oldest_waiting(&self) -> Option<SuperblockId> {
        self.index.oldest_waiting()
    }
}

/// Every victim policy. A new one is a file and a line here.
pub const VICTIM_POLICIES: &[Entry<Box<dyn VictimPolicy>>] = &[
    entry::<Greedy>(),
    entry::<CostBenefit>(),
    entry::<Random>(),
    entry::<DChoices>(),
    entry::<WindowedGreedy>(),
    entry::<Fifo>(),
    entry::<WearFocusing>(),
];

const fn entry<P: Builtin + VictimPolicy + 'static>() -> Entry<Box<dyn VictimPolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}
