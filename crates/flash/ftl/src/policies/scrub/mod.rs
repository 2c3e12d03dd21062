//! Which blocks are relocated before they have too many errors: scrubbing, read reclaim and refresh.

mod age;
mod cost_benefit;
mod none;
mod oracle;
mod patrol;
mod read_count;
mod table;

pub use age::{Age, AgeParams};
pub use cost_benefit::{CostBenefit, CostBenefitParams};
pub use none::{NoScrub, NoScrubParams};
pub use oracle::{Oracle, OracleParams};
pub use patrol::{Patrol, PatrolParams};
pub use read_count::{ReadCount, ReadCountParams};
pub use table::ScrubTable;

use dyn_clone::DynClone;
use serde::{Deserialize, Serialize};
pub use wane_nand::Health;
use wane_units::SuperblockId;

use super::{Builtin, Entry, Needs, Setting};
use crate::policies::state::remembers;

/// Finds the next block to relocate.
///
/// The policy is asked once after each host request or, in a timed run, whenever its last relocation is done. It is not asked
/// during preconditioning. One policy serves the whole drive.
pub trait ScrubPolicy: Send + Sync + DynClone {
    /// Tells the policy its drive; called once, before anything else.
    fn begin(&mut self, _setting: Setting) {}

    /// What to do next, if anything.
    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action>;

    /// Tells the policy the result of an [`Action::Check`]: the page's re-reads, or `None` if it was uncorrectable.
    fn checked(&mut self, _block: SuperblockId, _rereads: Option<u32>) {}

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

dyn_clone::clone_trait_object!(ScrubPolicy);

/// A step of scrubbing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Copies the valid units of a block elsewhere, erases it and frees it.
    Relocate(SuperblockId),
    /// Reads one valid page of a block, as a patrol does, and tells the policy the result.
    Check(SuperblockId),
}

/// What a scrub policy sees. Superblocks count as blocks. A [`ScrubTable`] makes a view without a drive.
pub struct ScrubView<'a> {
    pub(crate) blocks: u32,
    pub(crate) touched: &'a [SuperblockId],
    pub(crate) condition: &'a dyn Condition,
    pub(crate) now_days: f64,
}

/// Source of the condition of the blocks.
pub(crate) trait Condition {
    /// See [`ScrubView::valid`].
    fn relocatable(&self, block: SuperblockId) -> Option<u32>;

    /// See [`ScrubView::health`].
    fn health(&self, block: SuperblockId) -> Health;
}

impl ScrubView<'_> {
    /// Number of blocks of the drive. They are numbered from 0.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Blocks that were read for the host since the policy was last asked, recovery reads included. A block may occur several times.
    pub fn touched(&self) -> impl Iterator<Item = SuperblockId> + '_ {
        self.touched.iter().copied()
    }

    /// Valid units of a block that can be relocated; `None` for any other block. A block can be relocated if it holds valid units and
    /// is closed. An open one can be if its data are a day old or were read as often as the block has pages.
    pub fn valid(&self, block: SuperblockId) -> Option<u32> {
        self.condition.relocatable(block)
    }

    /// The condition of a block.
    pub fn health(&self, block: SuperblockId) -> Health {
        self.condition.health(block)
    }

    /// Days since the drive was new.
    pub fn now_days(&self) -> f64 {
        self.now_days
    }
}

/// Walks over all blocks, a few at each question to the policy, so that it also finds blocks that only age.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Round {
    next: u32,
}

impl Round {
    /// Blocks that the policy checks each time it is asked. 8,192 times cover a drive of 65,536 blocks.
    const STEP: u32 = 8;

    fn step(&mut self, blocks: u32) -> impl Iterator<Item = SuperblockId> + use<> {
        debug_assert!(blocks > 0, "a drive has a block to look at");
        let first = self.next;
        self.next = (first + Self::STEP) % blocks;
        (0..Self::STEP.min(blocks)).map(move |offset| SuperblockId((first + offset) % blocks))
    }
}

/// Every scrub policy. A new one is a file and a line here.
pub const SCRUB_POLICIES: &[Entry<Box<dyn ScrubPolicy>>] = &[
    entry::<NoScrub>(),
    entry::<Oracle>(),
    entry::<ReadCount>(),
    entry::<Age>(),
    entry::<Patrol>(),
    entry::<CostBenefit>(),
];

const fn entry<P: Builtin + ScrubPolicy + 'static>() -> Entry<Box<dyn ScrubPolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn setting() -> Setting {
        let stream = wane_sim::Streams::new(1).stream("scrub");
        Setting { first: SuperblockId(0), blocks: 4, units_per_block: 8, endurance: None, rated_blocks: 4, stream }
    }

    /// A policy's answer if every block holds 8 valid units and is in the given condition.
    pub(super) fn ask(
        policy: &mut dyn ScrubPolicy,
        touched: &[u32],
        health: &[Health],
        now_days: f64,
    ) -> Option<Action> {
        let blocks = health.iter().map(|health| (Some(8), *health)).collect();
        policy.next(&ScrubTable { blocks, touched: SuperblockId::slice(touched).to_vec() }.view(now_days))
    }

    pub(super) fn errors(expected_errors: f64) -> Health {
        Health { expected_errors, fresh_errors: 10.0, ..Health::default() }
    }

    #[test]
    fn rounds_see_every_block() {
        let mut round = Round::default();
        let mut seen: Vec<u32> = (0..3).flat_map(|_| round.step(20)).map(|block| block.0).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..20).collect::<Vec<_>>());
        assert_eq!(Round::default().step(3).count(), 3);
    }
}
