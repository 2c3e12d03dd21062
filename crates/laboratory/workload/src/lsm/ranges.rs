//! Sets of extents in the logical space: free ones, and freed ones that are not discarded yet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A range of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extent {
    pub(super) start: u32,
    pub(super) units: u32,
}

impl Extent {
    fn end(self) -> u32 {
        self.start + self.units
    }
}

/// A set of units, stored as extents that do not touch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ranges {
    /// Number of units of each extent, by its start.
    extents: BTreeMap<u32, u32>,
}

impl Ranges {
    /// Adds units, none of which may be in the set.
    pub(super) fn insert(&mut self, extent: Extent) {
        let Extent { mut start, mut units } = extent;
        if units == 0 {
            return;
        }
        if let Some((before, length)) = self.extents.range(..start).next_back().map(|(at, length)| (*at, *length)) {
            assert!(before + length <= start, "units are freed once");
            if before + length == start {
                (start, units) = (before, units + length);
            }
        }
        if let Some((after, length)) = self.extents.range(extent.start..).next().map(|(at, length)| (*at, *length)) {
            assert!(extent.end() <= after, "units are freed once");
            if extent.end() == after {
                self.extents.remove(&after);
                units += length;
            }
        }
        self.extents.insert(start, units);
    }

    /// Removes those of these units that are in the set.
    pub(super) fn remove(&mut self, extent: Extent) {
        let first = self.extents.range(..extent.start).next_back().map_or(extent.start, |(at, _)| *at);
        let hit: Vec<Extent> = self
            .extents
            .range(first..extent.end())
            .map(|(start, units)| Extent { start: *start, units: *units })
            .collect();
        for found in hit.into_iter().filter(|found| found.end() > extent.start) {
            self.extents.remove(&found.start);
            if found.start < extent.start {
                self.extents.insert(found.start, extent.start - found.start);
            }
            if found.end() > extent.end() {
                self.extents.insert(extent.end(), found.end() - extent.end());
            }
        }
    }

    /// Takes `units` units from the first extent that holds them all, otherwise in pieces from the lowest on. Returns `None` and takes nothing if
    /// there are fewer.
    pub(super) fn take(&mut self, units: u32) -> Option<Vec<Extent>> {
        let fits = self.extents.iter().find(|(_, length)| **length >= units).map(|(start, _)| *start);
        if let Some(start) = fits {
            let taken = Extent { start, units };
            self.remove(taken);
            return Some(vec![taken]);
        }
        if self.extents.values().map(|length| u64::from(*length)).sum::<u64>() < u64::from(units) {
            return None;
        }
        let (mut taken, mut left) = (Vec::new(), units);
        while let Some(piece) = self.pop_first(left) {
            left -= piece.units;
            taken.push(piece);
        }
        Some(taken)
    }

    /// The same from unit `from` on: takes the first extent from there that holds them all, which may be the rest of the extent at `from`. If there is
    /// none, it searches from the lowest on.
    pub(super) fn take_from(&mut self, from: u32, units: u32) -> Option<Vec<Extent>> {
        let cut = self.extents.range(..from).next_back().map(|(start, length)| (*start, start + length));
        let rest = cut.filter(|(_, end)| *end > from && end - from >= units).map(|_| from);
        let next = || self.extents.range(from..).find(|(_, length)| **length >= units).map(|(start, _)| *start);
        let Some(start) = rest.or_else(next) else { return self.take(units) };
        let taken = Extent { start, units };
        self.remove(taken);
        Some(vec![taken])
    }

    /// Its extents in order.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = Extent> {
        self.extents.iter().map(|(start, units)| Extent { start: *start, units: *units })
    }

    /// Takes the lowest extent, or at most `units_max` units of it.
    pub(super) fn pop_first(&mut self, units_max: u32) -> Option<Extent> {
        if units_max == 0 {
            return None;
        }
        let (start, length) = self.extents.pop_first()?;
        let units = length.min(units_max);
        if units < length {
            self.extents.insert(start + units, length - units);
        }
        Some(Extent { start, units })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent((start, units): (u32, u32)) -> Extent {
        Extent { start, units }
    }

    fn of(ranges: &Ranges) -> Vec<(u32, u32)> {
        ranges.extents.iter().map(|(start, units)| (*start, *units)).collect()
    }

    #[test]
    fn extents_that_touch_become_one_and_what_is_taken_is_cut_out() {
        let mut ranges = Ranges::default();
        for piece in [(10, 5), (20, 5), (0, 2), (15, 5), (2, 1)] {
            ranges.insert(extent(piece));
        }
        assert_eq!(of(&ranges), [(0, 3), (10, 15)]);
        ranges.remove(extent((12, 3)));
        assert_eq!(of(&ranges), [(0, 3), (10, 2), (15, 10)]);
        ranges.remove(extent((1, 15)));
        assert_eq!(of(&ranges), [(0, 1), (16, 9)]);
        ranges.remove(extent((2, 5)));
        assert_eq!(of(&ranges), [(0, 1), (16, 9)]);
    }

    #[test]
    fn a_file_lies_in_one_piece_where_one_is_long_enough() {
        let mut ranges = Ranges::default();
        for piece in [(0, 3), (10, 8), (30, 2)] {
            ranges.insert(extent(piece));
        }
        assert_eq!(ranges.take(5), Some(vec![extent((10, 5))]));
        assert_eq!(ranges.take(9), None);
        assert_eq!(ranges.take(7), Some([(0, 3), (15, 3), (30, 1)].map(extent).to_vec()));
        assert_eq!(of(&ranges), [(31, 1)]);
    }

    #[test]
    fn files_may_go_around_the_space() {
        let mut ranges = Ranges::default();
        for piece in [(0, 10), (20, 10), (40, 3)] {
            ranges.insert(extent(piece));
        }
        // (from, units, start)
        for (from, units, start) in [(5, 4, 5), (9, 4, 20), (24, 4, 24), (28, 4, 0), (4, 2, 28)] {
            assert_eq!(ranges.take_from(from, units), Some(vec![extent((start, units))]), "{units} from {from}");
        }
        assert_eq!(of(&ranges), [(4, 1), (9, 1), (40, 3)]);
        assert_eq!(ranges.take_from(1, 9), None);
    }
}
