//! Fast space at the price of capacity: the first tiles on fast members only, and as many others as still fit.

use super::peel::{largest, most};
use super::{Placement, PlacementError, Site, by_speed, check, grouped, peeled};
use crate::extents::Group;

/// So many tiles only on fast members, and as many others as still fit.
#[derive(Clone, Debug)]
pub struct Fast {
    /// Tiles that lie on fast members only.
    pub tiles: u64,
    /// The members of the fast class.
    pub members: Vec<usize>,
}

impl Placement for Fast {
    fn name(&self) -> &'static str {
        "fast"
    }

    fn groups(&self, sites: &[Site], width: usize) -> Result<Vec<Group>, PlacementError> {
        check(sites, width)?;
        let split = Split::new(sites, &self.members, width);
        let Some(rest) = split.rest(self.tiles) else {
            return Err(PlacementError::Fast { asked: self.tiles, most: split.most() });
        };
        let first = split.first(sites, self.tiles, rest);
        let left: Vec<u64> = split.sizes.iter().zip(&first).map(|(size, first)| size - first).collect();
        let mut runs = peeled(sites, &first, width, self.tiles);
        runs.extend(peeled(sites, &left, width, rest));
        Ok(grouped(sites, runs))
    }
}

/// What an amount of fast space costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontierPoint {
    /// Tiles that lie on fast members only.
    pub fast: u64,
    /// All tiles.
    pub tiles: u64,
}

/// The frontier of capacity against fast space, in about `steps` steps from no fast tile to as many as fit. The most fast space that costs no capacity
/// is among them.
///
/// # Errors
/// There are too few members.
pub fn frontier(
    sites: &[Site],
    fast: &[usize],
    width: usize,
    steps: u64,
) -> Result<Vec<FrontierPoint>, PlacementError> {
    check(sites, width)?;
    let split = Split::new(sites, fast, width);
    let point = |fast: u64| split.rest(fast).map(|rest| FrontierPoint { fast, tiles: fast + rest });
    let (ends, whole) = (split.most(), most(&split.sizes, width as u64));
    let free = largest(ends, |fast| point(fast).is_some_and(|point| point.tiles == whole));
    let steps = steps.max(1);
    let mut at: Vec<u64> = (0..=steps).map(|step| ends / steps * step + ends % steps * step / steps).collect();
    at.push(free);
    at.sort_unstable();
    at.dedup();
    Ok(at.into_iter().filter_map(point).collect())
}

/// Members of two classes.
struct Split {
    sizes: Vec<u64>,
    /// Slots of fast members; none of others.
    fast: Vec<u64>,
    width: u64,
}

impl Split {
    fn new(sites: &[Site], fast: &[usize], width: usize) -> Self {
        let sizes: Vec<u64> = sites.iter().map(|site| site.slots).collect();
        let fast = (0..sizes.len()).map(|member| if fast.contains(&member) { sizes[member] } else { 0 }).collect();
        Self { sizes, fast, width: width as u64 }
    }

    /// The most tiles on fast members only.
    fn most(&self) -> u64 {
        most(&self.fast, self.width)
    }

    /// Slots of a fast member that the other tiles, `rest` of them, cannot use.
    fn unused(&self, member: usize, rest: u64) -> u64 {
        self.fast[member].saturating_sub(rest)
    }

    /// The most other tiles beside `tiles` fast ones; `None` if these do not fit.
    ///
    /// With R other tiles, a slot of member i costs them nothing as long as it is one of the S - R that they cannot use. F fast tiles use at most F slots
    /// of a member; what they need beyond such slots is lost to the others. So R fits where
    /// `sum(min(S, R)) - max(0, width * F - sum over fast(min(F, max(0, S - R)))) >= width * R`.
    fn rest(&self, tiles: u64) -> Option<u64> {
        if tiles > self.most() {
            return None;
        }
        let fits = |rest: u64| {
            let free: u64 = (0..self.sizes.len()).map(|member| self.unused(member, rest).min(tiles)).sum();
            let lost = (self.width * tiles).saturating_sub(free);
            let usable: u64 = self.sizes.iter().map(|size| *size.min(&rest)).sum();
            usable >= self.width * rest + lost
        };
        Some(largest(self.sizes.iter().sum::<u64>() / self.width, fits))
    }

    /// Slots that the fast tiles take of each member: first those that cost the others nothing, fast members before slow ones.
    fn first(&self, sites: &[Site], tiles: u64, rest: u64) -> Vec<u64> {
        let mut first = vec![0; self.sizes.len()];
        let mut needed = self.width * tiles;
        let bounds: [fn(&Self, usize, u64) -> u64; 2] = [Self::unused, |split, member, _| split.fast[member]];
        for bound in bounds {
            for member in by_speed(sites) {
                let more = (bound(self, member, rest).min(tiles) - first[member]).min(needed);
                first[member] += more;
                needed -= more;
            }
        }
        assert_eq!(needed, 0, "as many fast tiles as fit find their slots");
        first
    }
}

#[cfg(test)]
mod tests {
    use super::super::peel::tests::random;
    use super::super::tests::{one, some, two, used};
    use super::super::{speed, tiles};
    use super::*;

    /// The most tiles beside `fast` on fast members only, by trying everything. Fast members come first.
    fn exact(sizes: &[u64], classes: usize, fast: u64, width: u32) -> Option<u64> {
        let mut best = if fast == 0 { Some(0) } else { None };
        for set in (0u32..1 << sizes.len()).filter(|set| set.count_ones() == width) {
            let has_room = (0..sizes.len()).all(|member| set >> member & 1 == 0 || sizes[member] > 0);
            if !has_room || fast > 0 && set >> classes != 0 {
                continue;
            }
            let rest: Vec<u64> =
                sizes.iter().enumerate().map(|(member, size)| size - u64::from(set >> member & 1)).collect();
            best = best.max(exact(&rest, classes, fast.saturating_sub(1), width).map(|most| most + 1));
        }
        best
    }

    #[test]
    fn the_form_for_fast_tiles_is_what_trying_everything_finds() {
        let mut next = random(17);
        for _ in 0..150 {
            let sizes: Vec<u64> = (0..3 + next(2)).map(|_| 1 + next(3)).collect();
            let (classes, width) = (2 + next(sizes.len() as u64 - 1), 2 + next(2));
            let sites: Vec<Site> = sizes.iter().map(|slots| Site { slots: *slots, speed: 1.0 }).collect();
            let split = Split::new(&sites, &(0..classes as usize).collect::<Vec<usize>>(), width as usize);
            for fast in 0..5 {
                let want = exact(&sizes, classes as usize, fast, width as u32);
                assert_eq!(split.rest(fast).map(|rest| rest + fast), want, "{sizes:?}, {classes}, {fast} by {width}");
            }
        }
    }

    /// Capacity of config 2 with N stripes on NVMe only, computed apart from this code.
    #[test]
    fn fast_space_costs_what_the_rules_say() {
        let nvme: Vec<usize> = (0..6).collect();
        let capacity = |fast| {
            let groups = Fast { tiles: fast, members: nvme.clone() }.groups(&two(), 6).unwrap();
            let on_fast = groups.iter().filter(|group| group.members[5] < 6);
            assert!(on_fast.map(|group| group.tiles).sum::<u64>() >= fast);
            tiles(&groups) * 6
        };
        // At full capacity 1,449 stripes need SATA3. The three others, which are the slack, can lie on NVMe only.
        assert_eq!([0, 3, 100, 447].map(capacity), [8712, 8712, 8562, 8046]);
        let points =
            |sites: &[Site], fast: usize, width| frontier(sites, &(0..fast).collect::<Vec<usize>>(), width, 8).unwrap();
        let point = |fast, tiles| FrontierPoint { fast, tiles };
        let (first, second) = (points(&one(), 3, 3), points(&two(), 6, 6));
        assert!(first.contains(&point(98, 176)), "98 fast stripes cost nothing in config 1: {first:?}");
        assert_eq!(first.last(), Some(&point(100, 175)), "two more cost one stripe");
        assert!(second.contains(&point(3, 1452)), "three are free in config 2: {second:?}");
        assert!(second.windows(2).all(|pair| pair[0].fast < pair[1].fast && pair[0].tiles >= pair[1].tiles));
    }

    /// Random members: as many fast tiles as asked for on fast members, all tiles within the members, more than fit refused.
    #[test]
    fn fast_tiles_lie_on_fast_members_only() {
        let mut next = random(29);
        for _ in 0..500 {
            let width = 1 + next(4) as usize;
            let sites = some(&mut next, width, 40);
            let fast: Vec<usize> = (0..sites.len()).filter(|member| sites[*member].speed > 2.0).collect();
            let points = frontier(&sites, &fast, width, 5).unwrap();
            for point in &points {
                let groups = Fast { tiles: point.fast, members: fast.clone() }.groups(&sites, width).unwrap();
                assert_eq!(tiles(&groups), point.tiles);
                let on_fast = groups.iter().filter(|group| speed(group, &sites) > 2.0 * width as f64);
                assert!(on_fast.map(|group| group.tiles).sum::<u64>() >= point.fast);
                let used = used(&groups, sites.len());
                assert!(used.iter().zip(&sites).all(|(used, site)| *used <= site.slots), "{sites:?}: {used:?}");
            }
            let end = points.last().unwrap().fast;
            let more = Fast { tiles: end + 1, members: fast }.groups(&sites, width);
            assert_eq!(more, Err(PlacementError::Fast { asked: end + 1, most: end }));
        }
    }
}
