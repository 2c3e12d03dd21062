//! How much logical space a drive still exports after blocks retired.

mod fixed;
mod variant;

pub use fixed::{Fixed, FixedParams};
pub use variant::{Keep, Shrink, Variant, VariantParams};

use super::{Builtin, Entry, Needs};
use crate::policies::state::remembers;
use dyn_clone::DynClone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Decides what a retired block means for the exported capacity.
pub trait CapacityPolicy: Send + Sync + DynClone {
    /// What the drive now demands of its host.
    fn demand(&mut self, view: &CapacityView) -> Demand;

    /// Whether the drive may shrink, so that the host must know which pages it uses.
    fn may_shrink(&self) -> bool;

    /// How the host's file system gives up space.
    fn method(&self) -> ShrinkMethod {
        ShrinkMethod::default()
    }

    /// Data that the file system may relocate over the drive's life; `None`: no limit.
    fn relocation_bound(&self) -> Option<wane_units::Bytes> {
        None
    }

    /// What the policy needs in order to have an effect.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    remembers!();
}

dyn_clone::clone_trait_object!(CapacityPolicy);

/// How a file system gives up the end of its space (001, section 3.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShrinkMethod {
    /// The file system reads data above the new end and writes them below it.
    #[default]
    Relocate,
    /// The drive gives data above the new end addresses below it. Nothing is written.
    Remap,
    /// Nothing moves. Free space is marked as taken wherever it lies, and the remaining space is scattered.
    NonContiguous,
}

/// What a capacity policy sees after a block retired. Counts are of the whole drive; superblocks count as blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityView {
    /// Blocks out of service.
    pub retired_blocks: u32,
    /// Physical blocks without the garbage collector's reserve: T in the released FTLSim.
    pub rated_blocks: u32,
    /// Physical blocks: T plus the reserve.
    pub blocks: u32,
    /// Free blocks of the domain that lost the block.
    pub free: u32,
    /// Mapping units in a block.
    pub units_per_block: u32,
    /// Logical units when new.
    pub logical_initial: u64,
    /// Logical units that the host may have in use now: those exported, or fewer if it limits itself.
    pub exported: u64,
}

impl CapacityView {
    /// Whether the spare blocks are used up: `retired-blocks >= T - U`.
    pub fn spare_exhausted(&self) -> bool {
        let service = u64::from(self.rated_blocks.saturating_sub(self.retired_blocks));
        service * u64::from(self.units_per_block) <= self.logical_initial
    }
}

/// What the drive demands after a block retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Nothing.
    Keep,
    /// The end of life: the spare blocks are used up.
    EndOfLife,
    /// Once: every logical page that the workload never wrote is given up.
    DropUnused,
    /// No more than this many logical units can be exported.
    ExportAtMost(u64),
}

/// Every capacity policy. A new one is a file and a line here.
pub const CAPACITY_POLICIES: &[Entry<Box<dyn CapacityPolicy>>] = &[entry::<Fixed>(), entry::<Variant>()];

const fn entry<P: Builtin + CapacityPolicy + 'static>() -> Entry<Box<dyn CapacityPolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}

#[cfg(test)]
mod tests {
    use super::CapacityView;

    /// 10 rated blocks of 10 units, 2 in reserve, 80 logical units.
    pub(super) fn view(retired_blocks: u32, exported: u64) -> CapacityView {
        CapacityView {
            retired_blocks,
            rated_blocks: 10,
            blocks: 12,
            free: 5,
            units_per_block: 10,
            logical_initial: 80,
            exported,
        }
    }
}
