//! As many tiles as fit on members of any sizes, the first ones on fast members where their speeds are known.

use super::{Placement, PlacementError, Site, check, grouped, peel, peeled};
use crate::extents::Group;

/// As many tiles as fit on members of any sizes.
pub static UNEQUAL: Unequal = Unequal;

/// The closed form says how many tiles there are; fast members are taken first, as long as all of these tiles still fit.
#[derive(Debug)]
pub struct Unequal;

impl Placement for Unequal {
    fn name(&self) -> &'static str {
        "unequal"
    }

    fn groups(&self, sites: &[Site], width: usize) -> Result<Vec<Group>, PlacementError> {
        check(sites, width)?;
        let sizes: Vec<u64> = sites.iter().map(|site| site.slots).collect();
        Ok(grouped(sites, peeled(sites, &sizes, width, peel::most(&sizes, width as u64))))
    }
}
