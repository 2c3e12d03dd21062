//! What an operator partitions by hand: a group on the members with the most space, until the smallest of them is full.

use std::cmp::Reverse;

use super::{Placement, PlacementError, Site, by_speed, check, grouped};
use crate::extents::Group;

/// Groups as an operator makes them by hand.
pub static MANUAL: Manual = Manual;

/// The baseline of dissertation 000 §6.5.4, by groups: the `width` members with the most free slots make a group, until the smallest
/// of them is full; then the next. Of members with equally many the fastest comes first.
#[derive(Debug)]
pub struct Manual;

impl Placement for Manual {
    fn name(&self) -> &'static str {
        "manual"
    }

    fn groups(&self, sites: &[Site], width: usize) -> Result<Vec<Group>, PlacementError> {
        check(sites, width)?;
        let mut free: Vec<u64> = sites.iter().map(|site| site.slots).collect();
        let mut order = by_speed(sites);
        let mut runs = Vec::new();
        loop {
            order.sort_by_key(|member| Reverse(free[*member]));
            let count = free[order[width - 1]];
            if count == 0 {
                return Ok(grouped(sites, runs));
            }
            order[..width].iter().for_each(|member| free[*member] -= count);
            runs.push((order[..width].to_vec(), count));
        }
    }
}
