//! A set of sectors, kept as intervals: for example what is mapped, cannot be read, or was lost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wane_units::{Lba, Sectors};

use crate::SectorRange;

/// A set of sectors. Its memory grows with the number of separate ranges, not with their length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeSet {
    /// Start to end, the end excluded; never empty, never touching each other.
    ranges: BTreeMap<u64, u64>,
}

impl RangeSet {
    /// No sector.
    pub const fn new() -> Self {
        Self { ranges: BTreeMap::new() }
    }

    /// Whether it holds no sector.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Sectors in the set.
    pub fn sectors(&self) -> Sectors {
        Sectors(self.ranges.iter().map(|(start, end)| end - start).sum())
    }

    /// Adds sectors.
    ///
    /// # Panics
    /// The range ends beyond 2^64.
    pub fn insert(&mut self, range: SectorRange) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = bounds(range);
        // A range that begins before and reaches this one is joined with it, and so are all ranges that begin within it or at its
        // end.
        if let Some((&before, &before_end)) = self.ranges.range(..=start).next_back()
            && before_end >= start
        {
            if before_end >= end {
                return;
            }
            start = before;
        }
        while let Some((&next, &next_end)) = self.ranges.range(start..=end).next() {
            end = end.max(next_end);
            self.ranges.remove(&next);
        }
        self.ranges.insert(start, end);
        let before = self.ranges.range(..start).next_back().is_none_or(|(_, before_end)| *before_end < start);
        debug_assert!(before, "ranges of a set do not touch, or one of them would be found twice");
    }

    /// Removes sectors.
    ///
    /// # Panics
    /// The range ends beyond 2^64.
    pub fn remove(&mut self, range: SectorRange) {
        if range.is_empty() {
            return;
        }
        let (start, end) = bounds(range);
        if let Some((&before, before_end)) = self.ranges.range_mut(..start).next_back()
            && *before_end > start
        {
            let old_end = std::mem::replace(before_end, start);
            debug_assert!(before < start, "what is left of the range is not empty");
            if old_end > end {
                self.ranges.insert(end, old_end);
                return;
            }
        }
        while let Some((&next, &next_end)) = self.ranges.range(start..end).next() {
            self.ranges.remove(&next);
            if next_end > end {
                self.ranges.insert(end, next_end);
            }
        }
    }

    /// The members within `range`, as ranges in rising order that do not touch each other.
    ///
    /// # Panics
    /// The range ends beyond 2^64.
    pub fn within(&self, range: SectorRange) -> impl Iterator<Item = SectorRange> + '_ {
        let (start, end) = bounds(range);
        let before = self.ranges.range(..start).next_back();
        let rest = self.ranges.range(start..end);
        before.into_iter().chain(rest).filter_map(move |(&from, &to)| {
            let shared = SectorRange::between(Lba(from.max(start)), Lba(to.min(end)));
            (!shared.is_empty()).then_some(shared)
        })
    }

    /// Whether a sector of `range` is in the set.
    ///
    /// # Panics
    /// The range ends beyond 2^64.
    pub fn touches(&self, range: SectorRange) -> bool {
        self.within(range).next().is_some()
    }
}

impl FromIterator<SectorRange> for RangeSet {
    fn from_iter<I: IntoIterator<Item = SectorRange>>(ranges: I) -> Self {
        let mut set = Self::new();
        for range in ranges {
            set.insert(range);
        }
        set
    }
}

fn bounds(range: SectorRange) -> (u64, u64) {
    (range.start.0, range.end().expect("a range in a set ends below 2^64").0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_range_set_is_a_set_of_sectors(
            steps in prop::collection::vec((any::<bool>(), 0u64..64, 0u64..16), 0..40),
            (from, count) in (0u64..64, 0u64..32),
        ) {
            let (mut set, mut plain) = (RangeSet::new(), BTreeSet::new());
            for (insert, start, count) in steps {
                let range = SectorRange::new(Lba(start), Sectors(count));
                if insert {
                    set.insert(range);
                    plain.extend(start..start + count);
                } else {
                    set.remove(range);
                    plain.retain(|sector| !(start..start + count).contains(sector));
                }
                prop_assert_eq!(set.sectors(), Sectors(plain.len() as u64));
            }
            let window = SectorRange::new(Lba(from), Sectors(count));
            let found: Vec<SectorRange> = set.within(window).collect();
            let sectors: Vec<u64> = found.iter().flat_map(|r| r.start.0..r.start.0 + r.count.0).collect();
            let want: Vec<u64> = plain.range(from..from + count).copied().collect();
            prop_assert_eq!(sectors, want);
            prop_assert!(found.windows(2).all(|pair| pair[0].end().unwrap() < pair[1].start));
            prop_assert_eq!(set.touches(window), !found.is_empty());
        }
    }
}
