//! How a drive finds its data after a power cut, and what it writes in advance for that.

mod checkpoint;
mod full_scan;
mod none;

pub use checkpoint::{Checkpoint, CheckpointParams};
pub use full_scan::{FullScan, FullScanParams};
pub use none::{NoRecovery, NoRecoveryParams};

use dyn_clone::DynClone;

pub use crate::persist::Summaries;

use super::{Builtin, Entry, Needs};
use crate::policies::state::remembers;

/// Decides what a drive writes so that it can recover.
///
/// The policy is asked whenever the host has filled a block, and at each flush.
pub trait RecoveryPolicy: Send + Sync + DynClone {
    /// What summaries contain. If they contain the map, recovery reads only the pages programmed since; otherwise it reads all pages.
    fn summaries(&self) -> Summaries;

    /// Number of summaries to write now. The mechanism writes one more for each page of the journal.
    fn due(&self, view: &RecoveryView) -> u32;

    /// What the policy needs in order to have an effect.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Whether the drive can recover at all. If not, it keeps no out-of-band data.
    fn acts(&self) -> bool {
        true
    }

    remembers!();
}

dyn_clone::clone_trait_object!(RecoveryPolicy);

/// What a recovery policy sees.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryView {
    /// Pages programmed since the last summary; a trim or a remap counts as one.
    pub programmed: u64,
    /// Number of summaries that together cover all logical units.
    pub summaries: u32,
}

/// Every recovery policy. A new one is a file and a line here.
pub const RECOVERY_POLICIES: &[Entry<Box<dyn RecoveryPolicy>>] =
    &[entry::<NoRecovery>(), entry::<FullScan>(), entry::<Checkpoint>()];

const fn entry<P: Builtin + RecoveryPolicy + 'static>() -> Entry<Box<dyn RecoveryPolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}
