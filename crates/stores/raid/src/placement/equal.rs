//! Every member gives as many slots as the smallest: what md makes of unequal members.

use super::{Placement, PlacementError, Site, check, grouped, peel, peeled};
use crate::extents::Group;

/// All members, of which the smallest decides.
pub static EQUAL: Equal = Equal;

/// Each member gives as many slots as the smallest that has any. Where a tile is as wide as there are members it lies on all of them; a narrower one
/// leaves some out in turns.
#[derive(Debug)]
pub struct Equal;

impl Placement for Equal {
    fn name(&self) -> &'static str {
        "equal"
    }

    fn groups(&self, sites: &[Site], width: usize) -> Result<Vec<Group>, PlacementError> {
        check(sites, width)?;
        let smallest = sites.iter().map(|site| site.slots).filter(|slots| *slots > 0).min().unwrap_or(0);
        let sizes: Vec<u64> = sites.iter().map(|site| site.slots.min(smallest)).collect();
        Ok(grouped(sites, peeled(sites, &sizes, width, peel::most(&sizes, width as u64))))
    }
}
