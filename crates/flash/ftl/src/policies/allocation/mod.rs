//! Which free block is opened next.

mod fifo;
mod least_worn;
mod most_worn;
mod table;
mod wear_focusing;

pub use fifo::{FreedFirst, FreedFirstParams};
pub use least_worn::{LeastWorn, LeastWornParams};
pub use most_worn::{MostWorn, MostWornParams};
pub use table::{FreeBlock, FreeTable};
pub use wear_focusing::{FocusedBlock, FocusedBlockParams};

use dyn_clone::DynClone;
use wane_units::SuperblockId;

use super::{Builtin, Entry, Mode, Needs, Setting, StreamId};
use crate::free::FreeList;
use crate::policies::state::remembers;

/// Chooses the free block that is opened next.
///
/// The policy is asked whenever a stream needs a block or wear leveling needs a spare one. A wear leveler that names a free
/// block itself gets that one.
pub trait AllocationPolicy: Send + Sync + DynClone {
    /// Tells the policy its drive and domain; called once, before anything else.
    fn begin(&mut self, _setting: Setting) {}

    /// The order in which the mechanism keeps the free blocks for this policy.
    fn order(&self) -> FreeOrder {
        FreeOrder::default()
    }

    /// Returns the block to open, one of the free ones. An answer that is not free is replaced by the first block of the order.
    fn choose(&mut self, view: &FreeView<'_>) -> SuperblockId;

    /// What the policy needs in order to have an effect.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    remembers!();
}

dyn_clone::clone_trait_object!(AllocationPolicy);

/// An order of free blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FreeOrder {
    /// The block that became free first comes first. To look up a block between the ends costs a scan.
    #[default]
    Freed,
    /// The block with the fewest erases comes first. Of equally worn blocks the one with the lower id is taken, at both ends.
    Wear,
}

/// What an allocation policy sees: the free blocks of its domain, at least one. A [`FreeTable`] makes a view without a drive.
pub struct FreeView<'a> {
    pub(crate) free: &'a FreeList,
    pub(crate) erase_count: &'a [u32],
    pub(crate) failures: &'a [u32],
    pub(crate) stream: Option<StreamId>,
    pub(crate) mode: Mode,
    pub(crate) now: u64,
}

impl FreeView<'_> {
    /// The drive's mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The stream that the block is for; `None` if wear leveling takes a spare block.
    pub fn stream(&self) -> Option<StreamId> {
        self.stream
    }

    /// Host units written so far: the logical clock.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Number of free blocks: at least one.
    pub fn count(&self) -> u32 {
        self.free.len() as u32
    }

    /// The first block of the declared order.
    pub fn first(&self) -> SuperblockId {
        self.free.first().expect("a policy is asked while a block is free")
    }

    /// The last block of the declared order.
    pub fn last(&self) -> SuperblockId {
        self.free.last().expect("a policy is asked while a block is free")
    }

    /// The free blocks in the declared order. A new drive has very many, so look at only a few.
    pub fn blocks(&self) -> impl Iterator<Item = SuperblockId> {
        self.free.iter()
    }

    /// Whether the drive has the block.
    pub fn has(&self, block: SuperblockId) -> bool {
        block.index() < self.erase_count.len()
    }

    /// Whether the block is free. With [`FreeOrder::Freed`] this costs a scan of the free blocks.
    pub fn is_free(&self, block: SuperblockId) -> bool {
        self.has(block) && self.free.contains(block, self.erase_count(block))
    }

    /// Erases of a block.
    pub fn erase_count(&self, block: SuperblockId) -> u32 {
        self.erase_count[block.index()]
    }

    /// Programs of a block that failed so far; 0 on flash without errors.
    pub fn failures(&self, block: SuperblockId) -> u32 {
        self.failures.get(block.index()).copied().unwrap_or_default()
    }
}

/// Every allocation policy. A new one is a file and a line here.
pub const ALLOCATION_POLICIES: &[Entry<Box<dyn AllocationPolicy>>] =
    &[entry::<FreedFirst>(), entry::<LeastWorn>(), entry::<MostWorn>(), entry::<FocusedBlock>()];

const fn entry<P: Builtin + AllocationPolicy + 'static>() -> Entry<Box<dyn AllocationPolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_takes_its_own_block() {
        // Freed in this order: block 0 with 3 erases, 1 with 1, 2 with 9, 3 with 9, 4 with 1.
        let free = [3, 1, 9, 9, 1].map(|erase_count| FreeBlock { erase_count, failures: 0 });
        for (name, want) in [("fifo", 0), ("least-worn", 1), ("most-worn", 2)] {
            let mut policy = super::super::find(ALLOCATION_POLICIES, name).unwrap().parse(toml::Table::new()).unwrap();
            let table = FreeTable::new(policy.order(), &free);
            assert_eq!(policy.choose(&table.view(Some(StreamId(0)), 0)), SuperblockId(want), "{name}");
        }
    }
}
