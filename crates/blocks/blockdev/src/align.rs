//! Cutting a range of sectors into whole mapping units and ragged ends.
//!
//! A device that maps units of several sectors writes a part of a unit by reading the unit, changing the part and writing
//! it back (read-modify-write). Drives, arrays and the statistics layer count these by the same cut.

use std::ops::Range;

use wane_units::{Lba, Sectors};

use crate::SectorRange;

/// A range of sectors, cut by mapping units: at most one ragged unit before, whole units, at most one ragged unit after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitSplit {
    /// Sectors of a unit that begins before the range. A range that lies within one unit and does not fill it is a head if it
    /// starts inside the unit, otherwise a tail.
    pub head: SectorRange,
    /// Numbers of the units that the range fills.
    pub whole: Range<u64>,
    /// Sectors of a unit that ends after the range.
    pub tail: SectorRange,
    unit: Sectors,
}

impl UnitSplit {
    /// Cuts `range` at the bounds of units of `unit` sectors.
    ///
    /// # Panics
    /// A unit has no sectors, or the range ends beyond 2^64.
    pub fn new(range: SectorRange, unit: Sectors) -> Self {
        assert!(unit.0 > 0, "a mapping unit has at least one sector");
        let start = range.start.0;
        let end = range.end().expect("a range that is cut lies within the device").0;
        let down = |sector: u64| sector - sector % unit.0;
        let ragged_start = !start.is_multiple_of(unit.0);
        // The first unit may end beyond 2^64: then the range ends before it.
        let whole_start = if ragged_start { down(start).saturating_add(unit.0).min(end) } else { start };
        let whole_end = down(end).max(whole_start);
        let split = Self {
            head: SectorRange::between(range.start, Lba(whole_start)),
            whole: if whole_start < whole_end { whole_start / unit.0..whole_end / unit.0 } else { 0..0 },
            tail: SectorRange::between(Lba(whole_end), Lba(end)),
            unit,
        };
        let parts = split.head.count + split.whole_sectors().count + split.tail.count;
        assert_eq!(parts, range.count, "each sector of a range lies in one of its parts");
        split
    }

    /// The sectors of all whole units.
    pub fn whole_sectors(&self) -> SectorRange {
        let first = Lba(self.whole.start * self.unit.0);
        SectorRange::between(first, Lba(self.whole.end * self.unit.0))
    }

    /// Number of units that the range covers only in part. Each needs a read before the write.
    pub fn ragged(&self) -> u64 {
        u64::from(!self.head.is_empty()) + u64::from(!self.tail.is_empty())
    }

    /// The ragged ends that hold sectors.
    pub fn ragged_ends(&self) -> impl Iterator<Item = SectorRange> + '_ {
        [self.head, self.tail].into_iter().filter(|end| !end.is_empty())
    }

    /// The whole unit in which the sectors of a ragged end lie, cut off at `capacity`.
    pub fn unit_around(&self, end: SectorRange, capacity: Sectors) -> SectorRange {
        debug_assert!(end.count < self.unit, "a ragged end is a part of a unit");
        let first = end.start.0 - end.start.0 % self.unit.0;
        SectorRange::between(Lba(first), Lba(first.saturating_add(self.unit.0).min(capacity.0)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_are_cut_at_the_bounds_of_units() {
        // Start, count; head, whole units, tail of units of 8 sectors.
        let table = [
            ((0, 0), 0, 0..0, 0),
            ((0, 8), 0, 0..1, 0),
            ((0, 7), 0, 0..0, 7),
            ((1, 7), 7, 0..0, 0),
            ((2, 3), 3, 0..0, 0),
            ((5, 6), 3, 0..0, 3),
            ((7, 10), 1, 1..2, 1),
            ((8, 20), 0, 1..3, 4),
        ];
        for ((start, count), head, whole, tail) in table {
            let split = UnitSplit::new(SectorRange::new(Lba(start), Sectors(count)), Sectors(8));
            assert_eq!(
                (split.head.count.0, split.whole.clone(), split.tail.count.0),
                (head, whole, tail),
                "{start} {count}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_parts_of_a_cut_are_the_range(
            start in prop_oneof![0u64..200, u64::MAX - 200..u64::MAX],
            count in 0u64..100,
            unit in 1u64..40,
        ) {
            let range = SectorRange::new(Lba(start), Sectors(count.min(u64::MAX - start)));
            let split = UnitSplit::new(range, Sectors(unit));
            let whole = split.whole_sectors();
            prop_assert_eq!(split.head.count + whole.count + split.tail.count, range.count);
            prop_assert_eq!(split.head.start, range.start);
            if !whole.is_empty() {
                prop_assert_eq!(split.head.end(), Some(whole.start));
                prop_assert_eq!(whole.end(), Some(split.tail.start));
                prop_assert!(whole.is_aligned_to(Sectors(unit)));
            }
            // Count the units that are touched and not filled, one by one.
            let end = range.start.0 + range.count.0;
            let covered = |number: u64| {
                let from = u128::from(number) * u128::from(unit);
                let (low, high) = (from.max(u128::from(start)), (from + u128::from(unit)).min(u128::from(end)));
                high.saturating_sub(low)
            };
            let units = if range.is_empty() { 0..0 } else { start / unit..(end - 1) / unit + 1 };
            let ragged = units.clone().filter(|number| covered(*number) < u128::from(unit)).count() as u64;
            prop_assert_eq!(split.ragged(), ragged);
            prop_assert_eq!(split.whole.end - split.whole.start, units.end - units.start - ragged);
            for end in split.ragged_ends() {
                let around = split.unit_around(end, Sectors(u64::MAX));
                prop_assert_eq!(around.intersection(end), end);
                prop_assert!(around.count.0 <= unit && around.start.0.is_multiple_of(unit));
            }
        }
    }
}
