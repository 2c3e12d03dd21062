//! Which pages are protected against the loss of others: redundancy inside the drive.

mod none;
mod selective;
mod stripes;

pub use none::NoRedundancy;
pub use selective::Selective;
pub use stripes::Stripes;

use dyn_clone::DynClone;
use wane_nand::Task;

use super::{Builtin, Entry};

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
}

dyn_clone::clone_trait_object!(RedundancyPolicy);

/// Makes the policy of a drive; `None` where nothing is protected.
pub type RedundancyMaker = Box<dyn Fn() -> Option<Box<dyn RedundancyPolicy>> + Send + Sync>;

/// Every redundancy policy. A new one is a file and a line here.
pub const REDUNDANCY_POLICIES: &[Entry<RedundancyMaker>] =
    &[Entry { parse: none::parse, ..entry::<NoRedundancy>() }, entry::<Stripes>(), entry::<Selective>()];

/// A redundancy policy that builds itself from its parameters.
pub trait BuiltinRedundancy: Builtin + RedundancyPolicy + Sized + 'static {
    /// The policy of a drive.
    fn new(params: &Self::Params) -> Self;
}

/// Most data pages of a stripe.
const DATA_PAGES_MAX: u32 = 1024;

fn check_size(data_pages: u32) -> Result<(), String> {
    if (1..=DATA_PAGES_MAX).contains(&data_pages) {
        return Ok(());
    }
    Err(format!("`data-pages` is {data_pages}; 1 to {DATA_PAGES_MAX} is allowed"))
}

const fn entry<P: BuiltinRedundancy>() -> Entry<RedundancyMaker>
where
    P::Params: Send + Sync + 'static,
{
    Entry::of::<P>(|table| {
        let params = P::params(table)?;
        Ok(Box::new(move || Some(Box::new(P::new(&params)))))
    })
}
