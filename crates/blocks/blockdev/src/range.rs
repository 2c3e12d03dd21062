//! Ranges of sectors, without overflow, since a range may come from outside.

use std::fmt;

use serde::{Deserialize, Serialize};
use wane_units::{Lba, Sectors};

/// `count` sectors of 512 bytes from `start` on.
///
/// Any value is allowed, even one whose end exceeds 2^64: devices refuse it as out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SectorRange {
    /// The first sector.
    pub start: Lba,
    /// Number of sectors.
    pub count: Sectors,
}

impl SectorRange {
    /// No sector, at the start of the device.
    pub const EMPTY: Self = Self { start: Lba(0), count: Sectors(0) };

    /// `count` sectors from `start` on.
    pub const fn new(start: Lba, count: Sectors) -> Self {
        Self { start, count }
    }

    /// The sectors from `start` up to, but without, `end`. Empty if `end` is not above `start`.
    pub const fn between(start: Lba, end: Lba) -> Self {
        Self { start, count: Sectors(end.0.saturating_sub(start.0)) }
    }

    /// The sector after the last one, if its number is below 2^64.
    pub const fn end(self) -> Option<Lba> {
        match self.start.0.checked_add(self.count.0) {
            Some(end) => Some(Lba(end)),
            None => None,
        }
    }

    /// Whether it holds no sector.
    pub const fn is_empty(self) -> bool {
        self.count.0 == 0
    }

    /// Whether the range ends at or below `capacity`. An empty range does if it starts at or below `capacity`.
    pub fn lies_within(self, capacity: Sectors) -> bool {
        self.end().is_some_and(|end| end.0 <= capacity.0)
    }

    /// Whether start and count are multiples of `unit`, which is at least one sector.
    pub const fn is_aligned_to(self, unit: Sectors) -> bool {
        if unit.0.is_power_of_two() {
            // Two divisions would take half of what a check takes.
            return (self.start.0 | self.count.0) & (unit.0 - 1) == 0;
        }
        self.start.0.is_multiple_of(unit.0) && self.count.0.is_multiple_of(unit.0)
    }

    /// The sectors in both ranges; empty if they share none.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        let start = self.start.max(other.start);
        let end = Lba(self.end_saturating().min(other.end_saturating()));
        let shared = if end > start { Self::between(start, end) } else { Self::EMPTY };
        debug_assert!(shared.count <= self.count.min(other.count), "what two ranges share is no longer than either");
        shared
    }

    /// Whether they share a sector.
    pub fn overlaps(self, other: Self) -> bool {
        !self.intersection(other).is_empty()
    }

    /// The first `count` sectors, or all if there are fewer.
    #[must_use]
    pub fn first(self, count: Sectors) -> Self {
        Self { start: self.start, count: self.count.min(count) }
    }

    /// The range without its first `count` sectors.
    ///
    /// # Panics
    /// Sectors are left and their number is 2^64 or above.
    #[must_use]
    pub fn without_first(self, count: Sectors) -> Self {
        let skipped = self.count.min(count);
        let start = self.start.0.checked_add(skipped.0).expect("a range that is cut lies within the device");
        Self { start: Lba(start), count: self.count - skipped }
    }

    /// Number of bytes of the range in memory.
    ///
    /// # Panics
    /// They exceed what memory can address.
    pub fn len_bytes(self) -> usize {
        let bytes = self.count.bytes().and_then(|bytes| usize::try_from(bytes.0).ok());
        bytes.expect("ranges whose bytes are carried are at most Request::TRANSFER_MAX long")
    }

    /// Adds the range to a list of ranges in rising order that do not touch each other, none of which begins after it.
    ///
    /// # Panics
    /// A range ends beyond 2^64.
    pub fn push_to(self, ranges: &mut Vec<Self>) {
        if self.is_empty() {
            return;
        }
        let end = |range: Self| range.end().expect("sectors of a device lie below 2^64");
        if let Some(last) = ranges.last_mut() {
            debug_assert!(last.start <= self.start, "ranges are told in rising order");
            if end(*last) >= self.start {
                *last = Self::between(last.start, end(*last).max(end(self)));
                return;
            }
        }
        ranges.push(self);
    }

    fn end_saturating(self) -> u64 {
        self.start.0.saturating_add(self.count.0)
    }
}

impl fmt::Display for SectorRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.count, self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, count: u64) -> SectorRange {
        SectorRange::new(Lba(start), Sectors(count))
    }

    #[test]
    fn ranges_meet_where_they_share_sectors() {
        let table = [
            ((0, 8), (8, 8), None),
            ((0, 8), (7, 8), Some((7, 1))),
            ((4, 2), (0, 16), Some((4, 2))),
            ((4, 0), (0, 16), None),
            ((u64::MAX - 1, 9), (u64::MAX - 4, 4), Some((u64::MAX - 1, 1))),
        ];
        for ((a, b), (c, d), shared) in table {
            let want = shared.map_or(SectorRange::EMPTY, |(start, count)| range(start, count));
            assert_eq!(range(a, b).intersection(range(c, d)), want);
            assert_eq!(range(c, d).intersection(range(a, b)), want);
            assert_eq!(range(a, b).overlaps(range(c, d)), shared.is_some());
        }
    }

    #[test]
    fn no_end_wraps_around_into_the_device() {
        let table = [((0, 100), true), ((0, 101), false), ((100, 0), true), ((101, 0), false), ((99, 1), true)];
        for ((start, count), within) in table {
            assert_eq!(range(start, count).lies_within(Sectors(100)), within, "{start} {count}");
        }
        for (start, count) in [(u64::MAX, 2), (2, u64::MAX), (u64::MAX, u64::MAX)] {
            assert!(!range(start, count).lies_within(Sectors(u64::MAX)), "{start} {count}");
        }
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = Vec::new();
        for (start, count) in [(4, 2), (6, 1), (6, 0), (5, 1), (9, 3), (10, 4), (20, 1)] {
            range(start, count).push_to(&mut ranges);
        }
        assert_eq!(ranges, [range(4, 3), range(9, 5), range(20, 1)]);
    }

    #[test]
    fn a_range_is_aligned_if_its_start_and_length_are() {
        for (unit, start, count) in (1..=9).flat_map(|unit| (0..20).map(move |number| (unit, number % 10, number))) {
            let aligned = start % unit == 0 && count % unit == 0;
            assert_eq!(range(start, count).is_aligned_to(Sectors(unit)), aligned, "{unit} {start} {count}");
        }
    }

    #[test]
    fn a_cut_range_keeps_all_its_sectors() {
        for cut in 0..=9 {
            let (front, back) = (range(5, 7).first(Sectors(cut)), range(5, 7).without_first(Sectors(cut)));
            assert_eq!(front.count + back.count, Sectors(7));
            assert_eq!(front.end(), Some(back.start));
        }
    }
}
