//! Which blocks are relocated before their errors grow too many: scrubbing, read reclaim and refresh.

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
/// Asked once after each host request, or in a timed run whenever its last relocation is through; not during
/// preconditioning. One policy serves the whole drive.
pub trait ScrubPolicy: Send + DynClone {
    /// Hears once, before all else, of which drive it is.
    fn begin(&mut self, _setting: Setting) {}

    /// What to do next, if anything.
    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action>;

    /// How the page of an [`Action::Check`] read: its re-reads, or `None` if it was uncorrectable.
    fn checked(&mut self, _block: SuperblockId, _rereads: Option<u32>) {}

    /// What it needs to have any effect.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Whether it ever acts. Where it does not, the mechanism leaves out what would only serve it.
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
    /// Reads one valid page of a block, as a patrol does, and tells the policy how it read.
    Check(SuperblockId),
}

/// What a scrub policy sees. Superblocks count as blocks. A [`ScrubTable`] gives one without a drive.
pub struct ScrubView<'a> {
    pub(crate) blocks: u32,
    pub(crate) touched: &'a [SuperblockId],
    pub(crate) condition: &'a dyn Condition,
    pub(crate) now_days: f64,
}

/// Who knows the condition of the blocks.
pub(crate) trait Condition {
    /// See [`ScrubView::valid`].
    fn relocatable(&self, block: SuperblockId) -> Option<u32>;

    /// See [`ScrubView::health`].
    fn health(&self, block: SuperblockId) -> Health;
}

impl ScrubView<'_> {
    /// Blocks of the drive; they are numbered from 0.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Blocks that were read for the host since the last ask, reads of recovery included; some may come more than once.
    pub fn touched(&self) -> impl Iterator<Item = SuperblockId> + '_ {
        self.touched.iter().copied()
    }

    /// Valid units of a block that could be relocated: it holds some and is not being written, unless its data is a day old or
    /// was read as often as the block has pages.
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

/// Walks over all blocks, a few at each ask, so that time's work is found as well as that of reads.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Round {
    next: u32,
}

impl Round {
    /// Blocks looked at in each ask: a drive of 65,536 blocks is seen whole within 8,192 asks.
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

    /// A policy's answer where every block holds 8 valid units and is in the given condition.
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
