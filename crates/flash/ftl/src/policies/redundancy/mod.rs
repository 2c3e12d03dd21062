//! Redundancy inside the drive: which pages are protected by parity.

mod none;
mod rain;
mod selective;
mod stripes;

pub use none::{NoRedundancy, NoRedundancyParams};
pub use rain::{Rain, RainParams};
pub use selective::{Selective, SelectiveParams};
pub use stripes::{Stripes, StripesParams};

use dyn_clone::DynClone;
use wane_nand::Task;

use super::{Builtin, Entry, Needs};
use crate::policies::state::remembers;

/// Says which programmed pages join a stripe, and how large stripes are.
pub trait RedundancyPolicy: Send + Sync + DynClone {
    /// Number of data pages of a full stripe. One page of parity is added.
    fn data_pages(&self) -> u32;

    /// Whether pages programmed by `task` are protected.
    fn protects(&self, task: Task) -> bool;

    /// Most re-reads of a protected page before it is reconstructed instead; `None`: as many as error correction allows.
    fn rereads_max(&self) -> Option<u32> {
        None
    }

    /// Number of consecutive dies, counted across channels first, that hold the pages of a stripe; `None`: all dies of the drive.
    /// It is more than [`Self::data_pages`].
    fn group_dies(&self) -> Option<u32> {
        None
    }

    /// Whether a host read may be served by the rest of the page's stripe while the page's die collects garbage.
    fn reads_around(&self) -> bool {
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

dyn_clone::clone_trait_object!(RedundancyPolicy);

/// Every redundancy policy. A new one is a file and a line here.
pub const REDUNDANCY_POLICIES: &[Entry<Box<dyn RedundancyPolicy>>] =
    &[entry::<NoRedundancy>(), entry::<Stripes>(), entry::<Selective>(), entry::<Rain>()];

/// Most data pages of a stripe.
const DATA_PAGES_MAX: u32 = 1024;

const fn entry<P: Builtin + RedundancyPolicy + 'static>() -> Entry<Box<dyn RedundancyPolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}
