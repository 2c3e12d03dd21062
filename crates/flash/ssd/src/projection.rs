//! Wear that is predicted instead of simulated (dissertation 000, ch. 3).

use serde::{Deserialize, Serialize};
use wane_ftl::Worn;

/// A prediction that a drive takes over.
#[derive(Clone, Copy, Debug)]
pub struct Projection<'a> {
    /// Erases of each firmware block after it.
    pub erase_counts: &'a [u32],
    /// Share of the added erases that wear leveling would have made, from 0 to 1.
    pub by_wear_leveling: f64,
    /// What happens to free blocks that are worn out by it.
    pub worn: Worn,
    /// Units that the host would have written.
    pub host_units: u64,
    /// Units that would have been programmed.
    pub programmed_units: u64,
}

/// What was predicted instead of simulated. No operation was done for it, so it is not in the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predicted {
    /// Units that the host would have written.
    pub host_units: u64,
    /// Units that would have been programmed.
    pub programmed_units: u64,
    /// Erases of flash blocks.
    pub erases: u64,
}

impl Predicted {
    /// Number of its fields, which older archives lack.
    pub(crate) const FIELDS: usize = 3;
}
