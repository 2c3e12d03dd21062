//! Placement of shares. Every drive and every client computes it from the list of members, with the same result.
//!
//! Each drive lies on `points` points of a circle of 2^160 points, and owns the arcs that end at its points. Share i of an object goes to the owner
//! of hash(object, i). If that drive keeps an earlier share of the object, the share goes to the next drive on the circle that keeps none (002,
//! section 8.2.2.2). The paper puts the parities on "non-overlapping" drives without saying which. Here they follow the same rule, with i from N on.
//! If they went to the K drives after the data's, they would shift by one whenever a drive joins among them.

use std::collections::BTreeMap;

use crate::{ActorError, Members, RingId};

/// The ring of a list of members.
#[derive(Clone, Debug)]
pub struct Ring {
    /// The drives at their points.
    points: BTreeMap<RingId, RingId>,
    drives: usize,
}

impl Ring {
    /// Makes the ring of the members that are on it.
    pub fn new(members: &Members) -> Self {
        let mut points = BTreeMap::new();
        for id in members.on_ring() {
            for point in 1..members.points {
                points.insert(RingId::of("point", &[id.bytes(), &point.to_le_bytes()]), id);
            }
        }
        // The first point is the drive's own id: with one point each, a drive owns the arc up to its id. It is set last, because a drive's id may
        // be another's point, and each drive must keep at least its own.
        points.extend(members.on_ring().map(|id| (id, id)));
        Self { points, drives: members.on_ring().count() }
    }

    /// Number of drives on it.
    pub const fn drives(&self) -> usize {
        self.drives
    }

    /// The drives that keep an object's shares, in the shares' order; no two are the same.
    ///
    /// # Errors
    /// [`ActorError::Lost`] if there are fewer drives than shares.
    pub fn place(&self, object: RingId, shares: u16) -> Result<Vec<RingId>, ActorError> {
        if usize::from(shares) > self.drives {
            let found = self.drives;
            return Err(ActorError::Lost(format!("{shares} shares need as many drives, and {found} are on the ring")));
        }
        let mut placed: Vec<RingId> = Vec::with_capacity(usize::from(shares));
        for share in 0..shares {
            let from = RingId::of("share", &[object.bytes(), &share.to_le_bytes()]);
            let onwards = self.points.range(from..).chain(self.points.range(..from));
            let free = onwards.map(|(_, drive)| *drive).find(|drive| !placed.contains(drive));
            placed.push(free.expect("there are more drives than shares that are placed"));
        }
        Ok(placed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Standing;

    fn drive(number: u32) -> RingId {
        RingId::of("drive", &[&number.to_le_bytes()])
    }

    fn members(drives: u32, points: u16) -> Members {
        let mut members = Members::new(RingId::of("cluster", &[]), points).unwrap();
        for number in 0..drives {
            members.set(drive(number), Standing::In, &format!("127.0.0.1:{}", 1000 + number)).unwrap();
        }
        members
    }

    fn object(number: u32) -> RingId {
        RingId::of_object(&format!("object {number}"))
    }

    #[test]
    fn no_two_shares_of_an_object_lie_on_one_drive() {
        for (drives, shares) in [(1, 1), (6, 6), (20, 12)] {
            let ring = Ring::new(&members(drives, 1));
            for number in 0..200 {
                let placed = ring.place(object(number), shares).unwrap();
                let distinct: std::collections::BTreeSet<&RingId> = placed.iter().collect();
                assert_eq!(distinct.len(), usize::from(shares));
            }
        }
        let few = Ring::new(&members(5, 64)).place(object(0), 6).unwrap_err().to_string();
        assert_eq!(few, "6 shares need as many drives, and 5 are on the ring");
    }

    #[test]
    fn with_one_point_a_drive_owns_the_arc_up_to_its_id() {
        let ring = Ring::new(&members(10, 1));
        let ids: Vec<RingId> = members(10, 1).on_ring().collect();
        for number in 0..100 {
            let key = RingId::of("share", &[object(number).bytes(), &0u16.to_le_bytes()]);
            let owner = ids.iter().find(|id| **id >= key).unwrap_or(&ids[0]);
            assert_eq!(ring.place(object(number), 1).unwrap(), [*owner]);
        }
    }

    #[test]
    fn a_drive_whose_id_is_a_point_of_another_keeps_a_point_of_its_own() {
        let point = |id: RingId| RingId::of("point", &[id.bytes(), &1u16.to_le_bytes()]);
        // The one in the middle has two points: the first one's, which comes later in the list, and the id of the last.
        let ids = (0..).map(|number| [drive(number), point(drive(number)), point(point(drive(number)))]);
        let ids = ids.into_iter().find(|[first, middle, last]| middle < first && last > middle).unwrap();
        let mut members = Members::new(RingId::of("cluster", &[]), 2).unwrap();
        for (number, id) in ids.into_iter().enumerate() {
            members.set(id, Standing::In, &format!("127.0.0.1:{number}")).unwrap();
        }
        for number in 0..50 {
            let mut placed = Ring::new(&members).place(object(number), 3).unwrap();
            placed.sort_unstable();
            assert!(placed.iter().copied().eq(members.on_ring()), "each of three drives has a share");
        }
    }

    /// Ratio of shares that move from `before` to `after` to those that must move. A share must move if its drive is in only one of the lists.
    fn moved_over_least(before: &Members, after: &Members, shares: u16) -> f64 {
        let (rings, objects) = ((Ring::new(before), Ring::new(after)), 3000);
        let (mut moved, mut least) = (0, 0);
        for number in 0..objects {
            let (from, to) =
                (rings.0.place(object(number), shares).unwrap(), rings.1.place(object(number), shares).unwrap());
            moved += from.iter().zip(&to).filter(|(from, to)| from != to).count();
            least += to.iter().filter(|drive| !from.contains(drive)).count();
        }
        moved as f64 / f64::from(u32::try_from(least).unwrap())
    }

    #[test]
    fn joining_and_leaving_move_little_more_than_they_must() {
        // (drives before, drives after, shares, moved shares over those that must move, at most)
        for (before, after, shares, most) in
            [(20, 21, 6, 1.25), (21, 20, 6, 1.25), (60, 61, 12, 1.25), (60, 61, 1, 1.0), (7, 8, 6, 2.0)]
        {
            let ratio = moved_over_least(&members(before, 64), &members(after, 64), shares);
            assert!((1.0..=most).contains(&ratio), "{before} to {after} drives, {shares} shares: {ratio}");
        }
    }

    #[test]
    fn a_joining_drive_gets_its_part() {
        let (before, after) = (Ring::new(&members(20, 64)), Ring::new(&members(21, 64)));
        let objects = 3000;
        let gets = (0..objects).filter(|number| after.place(object(*number), 6).unwrap().contains(&drive(20))).count();
        assert!((0..objects).all(|number| !before.place(object(number), 6).unwrap().contains(&drive(20))));
        let (share, ideal) = (gets as f64 / f64::from(objects), 6.0 / 21.0);
        assert!((share / ideal - 1.0).abs() < 0.25, "{share} of the objects, ideally {ideal}");
    }
}
