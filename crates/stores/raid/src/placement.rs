//! Placements: on which members each tile of an array lies.
//!
//! A placement sees members as [`Site`]s and answers with groups of tiles. What the groups hold together lies on the same members; the array's first
//! tiles lie in the fastest group (dissertation 000 §6.4.3).

mod equal;
mod fast;
mod manual;
pub(crate) mod peel;
mod unequal;

use std::collections::BTreeMap;

pub use equal::EQUAL;
pub use fast::{Fast, FrontierPoint, frontier};
pub use manual::MANUAL;
pub use unequal::UNEQUAL;

use crate::extents::Group;

/// A member as a placement sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// Slots that it offers.
    pub slots: u64,
    /// Bytes a second that it reads in sequence; of members that are equally fast the one that comes first goes first.
    pub speed: f64,
}

/// Why members make no tiles.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// There are fewer members than a stripe is wide.
    #[error("a stripe of {width} chunks needs {width} members, found {found}; the largest that works has {found}")]
    Width {
        /// Chunks of a stripe.
        width: usize,
        /// Members that have room.
        found: usize,
    },
    /// The members of the fast class hold fewer tiles than are to lie on them.
    #[error("{asked} tiles are to lie on fast members only, and these hold at most {most}")]
    Fast {
        /// Tiles that are to lie on fast members.
        asked: u64,
        /// Tiles that these hold.
        most: u64,
    },
}

/// Chooses members for tiles. Each placement has a file, and a line in [`PLACEMENTS`].
pub trait Placement: std::fmt::Debug + Send + Sync {
    /// Its name in settings and answers.
    fn name(&self) -> &'static str;

    /// Groups of tiles of `width` slots on members, fastest first.
    ///
    /// # Errors
    /// There are too few members.
    ///
    /// # Panics
    /// `width` is 0.
    fn groups(&self, sites: &[Site], width: usize) -> Result<Vec<Group>, PlacementError>;
}

/// All placements that need no parameter, by name. [`Fast`] has one.
pub static PLACEMENTS: [&dyn Placement; 3] = [&UNEQUAL, &EQUAL, &MANUAL];

/// The placement of a name.
pub fn placement(name: &str) -> Option<&'static dyn Placement> {
    PLACEMENTS.into_iter().find(|placement| placement.name() == name)
}

/// Tiles of groups.
pub fn tiles(groups: &[Group]) -> u64 {
    groups.iter().map(|group| group.tiles).sum()
}

/// Bytes a second of a group's sequential reads: its width times the slowest member's. A bound: what members do besides is left out.
pub fn speed(group: &Group, sites: &[Site]) -> f64 {
    let slowest = group.members.iter().map(|member| sites[usize::from(*member)].speed).min_by(f64::total_cmp);
    slowest.unwrap_or(0.0) * group.members.len() as f64
}

/// Checks that a tile finds enough members.
pub(crate) fn check(sites: &[Site], width: usize) -> Result<(), PlacementError> {
    assert!(width > 0, "a tile has a slot");
    let found = sites.iter().filter(|site| site.slots > 0).count();
    if found < width { Err(PlacementError::Width { width, found }) } else { Ok(()) }
}

/// Numbers of the members, fastest first; of equally fast ones the first.
fn by_speed(sites: &[Site]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sites.len()).collect();
    order.sort_by(|one, other| sites[*other].speed.total_cmp(&sites[*one].speed));
    order
}

/// Runs of tiles on `sizes[member]` slots of each member, which prefer fast members.
pub(crate) fn peeled(sites: &[Site], sizes: &[u64], width: usize, tiles: u64) -> Vec<(Vec<usize>, u64)> {
    let order = by_speed(sites);
    let sorted: Vec<u64> = order.iter().map(|member| sizes[*member]).collect();
    let runs = peel::peel(&sorted, width as u64, tiles).into_iter();
    runs.map(|(chosen, count)| (chosen.into_iter().map(|place| order[place]).collect(), count)).collect()
}

/// Groups of these runs: one for each set of members, fastest first, of equally fast ones that with more tiles (dissertation 000 §6.4.3). Members rise.
pub(crate) fn grouped(sites: &[Site], runs: Vec<(Vec<usize>, u64)>) -> Vec<Group> {
    let mut counts: BTreeMap<Vec<u16>, u64> = BTreeMap::new();
    for (members, count) in runs {
        let mut members: Vec<u16> = members.into_iter().map(number).collect();
        members.sort_unstable();
        *counts.entry(members).or_default() += count;
    }
    let mut groups: Vec<Group> = counts.into_iter().map(|(members, tiles)| Group { members, tiles }).collect();
    groups.sort_by(|one, other| speed(other, sites).total_cmp(&speed(one, sites)).then(other.tiles.cmp(&one.tiles)));
    groups
}

/// A member's number as groups and slots have it.
fn number(member: usize) -> u16 {
    u16::try_from(member).expect("an array has fewer than 65,536 members")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const NVME: f64 = 3.33;
    pub(crate) const SATA: f64 = 0.48;

    fn sites(members: &[(u64, f64)]) -> Vec<Site> {
        members.iter().map(|(slots, speed)| Site { slots: *slots, speed: *speed }).collect()
    }

    /// Config 1 of dissertation 000, table 9, in GiB. The first three members are NVMe.
    pub(crate) fn one() -> Vec<Site> {
        sites(&[(150, NVME), (120, NVME), (100, NVME), (80, SATA), (60, SATA), (20, SATA)])
    }

    /// Config 2. The first six members are NVMe.
    pub(crate) fn two() -> Vec<Site> {
        let mut members = vec![(894, NVME); 4];
        members.extend([(2969, NVME), (894, 2.58), (447, SATA), (447, SATA), (447, SATA), (1740, SATA)]);
        sites(&members)
    }

    /// Random members of up to five speeds.
    pub(crate) fn some(next: &mut impl FnMut(u64) -> u64, width: usize, size: u64) -> Vec<Site> {
        (0..width as u64 + next(6)).map(|_| Site { slots: 1 + next(size), speed: (1 + next(5)) as f64 }).collect()
    }

    pub(crate) fn used(groups: &[Group], members: usize) -> Vec<u64> {
        let mut used = vec![0; members];
        for group in groups {
            group.members.iter().for_each(|member| used[usize::from(*member)] += group.tiles);
        }
        used
    }

    #[test]
    fn the_layouts_of_the_paper_come_out() {
        // The example of figure 53, in which disks 1, 2 and 4 make the fastest group.
        let small = sites(&[(6, NVME), (4, NVME), (2, SATA), (5, NVME), (2, SATA)]);
        let groups = UNEQUAL.groups(&small, 3).unwrap();
        assert_eq!((tiles(&groups), &groups[0].members[..]), (6, &[0u16, 1, 3][..]));
        let (one, two) = (one(), two());
        let (unequal_1, unequal_2) = (UNEQUAL.groups(&one, 3).unwrap(), UNEQUAL.groups(&two, 6).unwrap());
        assert_eq!((tiles(&unequal_1) * 3, tiles(&unequal_2) * 6), (528, 8712));
        assert_eq!((unequal_1.len(), unequal_2.len()), (6, 7), "never more than there are members");
        assert_eq!((&unequal_1[0].members[..], unequal_1[0].tiles), (&[0u16, 1, 2][..], 98), "NVMe alone");
        let (manual_1, manual_2) = (MANUAL.groups(&one, 3).unwrap(), MANUAL.groups(&two, 6).unwrap());
        assert_eq!((tiles(&manual_1) * 3, tiles(&manual_2) * 6), (510, 8046));
        assert_eq!((&manual_1[0].members[..], manual_1[0].tiles), (&[0u16, 1, 2][..], 100), "NVMe alone");
        assert_eq!(tiles(&EQUAL.groups(&one, 3).unwrap()), 40, "six times 20, three a tile");
    }

    /// Each placement, on random members: each tile on members of its own, none beyond its size, groups from fast to slow.
    #[test]
    fn placements_keep_to_the_sizes_of_members() {
        let mut next = peel::tests::random(3);
        for _ in 0..500 {
            let width = 1 + next(5) as usize;
            let sites = some(&mut next, width, 50);
            let sizes: Vec<u64> = sites.iter().map(|site| site.slots).collect();
            for placement in PLACEMENTS {
                let groups = placement.groups(&sites, width).unwrap();
                for group in &groups {
                    assert_eq!(group.members.len(), width);
                    assert!(group.members.windows(2).all(|pair| pair[0] < pair[1]), "{group:?}");
                    assert!(group.tiles > 0);
                }
                assert!(used(&groups, sites.len()).iter().zip(&sizes).all(|(used, size)| used <= size));
                assert!(tiles(&groups) <= peel::most(&sizes, width as u64), "{}", placement.name());
                let speeds: Vec<f64> = groups.iter().map(|group| speed(group, &sites)).collect();
                assert!(speeds.windows(2).all(|pair| pair[0] >= pair[1]), "{}: {speeds:?}", placement.name());
            }
            assert_eq!(tiles(&UNEQUAL.groups(&sites, width).unwrap()), peel::most(&sizes, width as u64));
        }
    }

    #[test]
    fn too_few_members_are_told_the_largest_width() {
        let sites = sites(&[(5, 1.0), (0, 1.0), (7, 1.0)]);
        for placement in PLACEMENTS {
            let error = placement.groups(&sites, 3).unwrap_err();
            assert_eq!(error, PlacementError::Width { width: 3, found: 2 });
            assert_eq!(
                error.to_string(),
                "a stripe of 3 chunks needs 3 members, found 2; the largest that works has 2"
            );
        }
        assert_eq!(placement("manual").map(Placement::name), Some("manual"));
        assert!(placement("auto").is_none());
    }
}
