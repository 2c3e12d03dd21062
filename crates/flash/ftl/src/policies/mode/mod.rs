//! When a drive with wear focusing starts to spare its worn blocks.

mod host_only;
mod low_pool;
mod over_provisioning;

pub use host_only::{HostOnly, HostOnlyParams};
pub use low_pool::{LowPool, LowPoolParams};
pub use over_provisioning::{OverProvisioning, OverProvisioningParams};

use dyn_clone::DynClone;
use serde::{Deserialize, Serialize};
pub use wane_units::Trigger;

use super::{Builtin, Entry, Needs};
use crate::policies::state::remembers;

/// How a drive with wear focusing treats its blocks. Other policies ignore the mode.
///
/// Source: the capacity-variant SSD (001, section 3.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Worn blocks wear on, so that others stay young.
    #[default]
    Normal,
    /// Space has become short: worn blocks are spared, and serve up to the rated endurance.
    Degraded,
}

/// Decides when the drive changes its mode.
///
/// The policy is asked after a block retired, whenever the host has filled a block, before each victim, and after a trim or a remap. The host
/// can change the mode too.
pub trait ModePolicy: Send + Sync + DynClone {
    /// The change to make now, if any.
    fn judge(&mut self, view: &ModeView) -> Option<Change>;

    /// Whether the policy ever changes the mode. If not, it is never asked.
    fn acts(&self) -> bool {
        true
    }

    /// What the policy needs in order to have an effect.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    remembers!();
}

dyn_clone::clone_trait_object!(ModePolicy);

/// A change of mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The drive becomes degraded.
    Degrade(Trigger),
    /// The drive is normal again.
    Recover,
}

/// What a mode policy sees of the drive. Superblocks count as blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModeView {
    /// The mode now.
    pub mode: Mode,
    /// Mapping units of the blocks in service when the drive was new.
    pub physical_initial: u64,
    /// Mapping units of the blocks in service, free ones and those of the reserve included.
    pub physical: u64,
    /// Logical units when new.
    pub logical_initial: u64,
    /// Units that hold valid data.
    pub valid: u64,
    /// Free blocks of the domain that has the fewest.
    pub free: u32,
    /// Whether a closed block is more than half invalid.
    pub has_half_invalid: bool,
    /// Whether the host has given up data, by a trim or a remap, since the policy was last asked.
    pub has_freed: bool,
}

impl ModeView {
    /// EOP: (capacity of the blocks in service - data) / data; infinite without data (001, section 3.2.4).
    pub fn effective_over_provisioning(&self) -> f64 {
        surplus(self.physical, self.valid)
    }

    /// OP of the new drive: (capacity of its blocks - exported capacity) / exported capacity.
    pub fn over_provisioning(&self) -> f64 {
        surplus(self.physical_initial, self.logical_initial)
    }
}

fn surplus(physical: u64, used: u64) -> f64 {
    if used == 0 { f64::INFINITY } else { physical as f64 / used as f64 - 1.0 }
}

/// Every mode policy. A new one is a file and a line here.
pub const MODE_POLICIES: &[Entry<Box<dyn ModePolicy>>] =
    &[entry::<HostOnly>(), entry::<OverProvisioning>(), entry::<LowPool>()];

const fn entry<P: Builtin + ModePolicy + 'static>() -> Entry<Box<dyn ModePolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}
