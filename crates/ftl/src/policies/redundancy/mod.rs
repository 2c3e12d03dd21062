//! Which pages are protected against the loss of others: redundancy inside the drive.

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
pub trait RedundancyPolicy: Send + DynClone {
    /// Data pages of a full stripe; one page of parity comes on top.
    fn data_pages(&self) -> u32;

    /// Whether pages that this task programs are protected.
    fn protects(&self, task: Task) -> bool;

    /// Re-reads of a protected page before it is reconstructed instead; `None` leaves that to error correction.
    fn rereads_max(&self) -> Option<u32> {
        None
    }

    /// Dies in a row, across channels first, that the pages of a stripe lie on; `None`: all dies of the drive. More than
    /// [`Self::data_pages`].
    fn group_dies(&self) -> Option<u32> {
        None
    }

    /// Whether a read of the host may go to the rest of its stripe while its die collects.
    fn reads_around(&self) -> bool {
        false
    }

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

dyn_clone::clone_trait_object!(RedundancyPolicy);

/// Every redundancy policy. A new one is a file and a line here.
pub const REDUNDANCY_POLICIES: &[Entry<Box<dyn RedundancyPolicy>>] =
    &[entry::<NoRedundancy>(), entry::<Stripes>(), entry::<Selective>(), entry::<Rain>()];

/// Most data pages of a stripe.
const DATA_PAGES_MAX: u32 = 1024;

const fn entry<P: Builtin + RedundancyPolicy + 'static>() -> Entry<Box<dyn RedundancyPolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}
