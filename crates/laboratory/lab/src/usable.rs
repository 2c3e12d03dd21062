//! What of a device its host may use now. It is asked here and nowhere else: a device exports fewer units than when it was new once its capacity
//! fell, and a limit may let fewer of them hold data at once.

use std::ops::Range;

use wane_blockdev::{BlockDevice, Extent, ExtentState, SectorRange, all_extents};
use wane_units::{Lba, Sectors};

/// Units that may hold data at once, in rising order. Where fewer may than are exported, these are the units that hold data and, as far as the limit
/// lets, the first of the others: whoever uses no other unit never meets the limit, and moves nobody's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usable {
    /// Ranges of units, each with how many units lie in those before it.
    ranges: Vec<(u32, Range<u32>)>,
    count: u32,
}

impl Usable {
    /// Of a device whose units have `unit` sectors.
    pub(crate) fn of(device: &dyn BlockDevice, unit: Sectors) -> Self {
        Self::within(device, unit, device.mapped_limit())
    }

    /// The same of a device that may map `limit` sectors.
    pub(crate) fn within(device: &dyn BlockDevice, unit: Sectors, limit: Sectors) -> Self {
        let exported = units_in(device.capacity(), unit);
        let most = units_in(limit, unit).min(exported);
        if most == exported {
            return Self::listed(std::iter::once(0..exported), exported);
        }
        let mut told = Vec::new();
        all_extents(device, SectorRange::new(Lba(0), Sectors(u64::from(exported) * unit.0)), &mut told);
        let is_held = |extent: &Extent| extent.state != ExtentState::Hole;
        let units = |extent: &Extent| {
            let end = (extent.range.start.0 + extent.range.count.0).div_ceil(unit.0);
            (extent.range.start.0 / unit.0) as u32..end.min(u64::from(exported)) as u32
        };
        let held: u32 = told.iter().filter(|extent| is_held(extent)).map(|extent| units(extent).len() as u32).sum();
        let mut left = most.saturating_sub(held);
        let ranges = told.iter().map(|extent| {
            let all = units(extent);
            if is_held(extent) {
                return all;
            }
            let taken = left.min(all.len() as u32);
            left -= taken;
            all.start..all.start + taken
        });
        Self::listed(ranges, most)
    }

    /// The first `most` units of ranges.
    fn listed(all: impl IntoIterator<Item = Range<u32>>, most: u32) -> Self {
        let (mut ranges, mut count): (Vec<(u32, Range<u32>)>, u32) = (Vec::new(), 0);
        for range in all {
            let range = range.start..range.start + (range.len() as u32).min(most - count);
            match ranges.last_mut() {
                _ if range.is_empty() => {}
                Some((_, last)) if last.end == range.start => last.end = range.end,
                _ => ranges.push((count, range.clone())),
            }
            count += range.len() as u32;
        }
        Self { ranges, count }
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// Turns the places of units among them into the units.
    #[inline]
    pub(crate) fn place(&self, pages: &mut [u32]) {
        if let [(_, first)] = &self.ranges[..]
            && first.start == 0
        {
            return;
        }
        for page in pages {
            let number = self.ranges.partition_point(|(before, _)| *before <= *page).saturating_sub(1);
            let (before, range) = &self.ranges[number];
            debug_assert!(*page < self.count, "a workload was made for as many units as there are");
            *page = range.start + (*page - before);
        }
    }
}

/// Whole units of a device.
fn units_in(sectors: Sectors, unit: Sectors) -> u32 {
    u32::try_from(sectors.0 / unit.0).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use wane_blockdev::{Blocking, Ram};
    use wane_units::SimTime;

    use super::*;

    const UNIT: Sectors = Sectors(8);

    /// A device that had 32 units, of which these hold data, with another capacity and limit in sectors.
    fn device(held: &[u64], capacity: u64, limit: u64) -> Ram {
        let mut ram = Ram::new(Sectors(32 * UNIT.0));
        for unit in held {
            let range = SectorRange::new(Lba(unit * UNIT.0), UNIT);
            Blocking::new(&mut ram).write(range.start, vec![7; range.len_bytes()]).unwrap();
        }
        assert!(ram.set_capacity(SimTime::ZERO, Sectors(capacity)).is_done());
        assert!(ram.set_mapped_limit(SimTime::ZERO, Sectors(limit)).is_done());
        ram
    }

    #[test]
    fn a_workload_stays_on_what_is_held_and_what_the_limit_leaves() {
        // (units that hold data, sectors of capacity, sectors of limit, usable units)
        let table: [(&[u64], u64, u64, Vec<u32>); 6] = [
            (&[], 256, 256, (0..32).collect()),
            (&[3], 83, 83, (0..10).collect()),
            (&[3, 20], 256, 40, vec![0, 1, 2, 3, 20]),
            (&[0, 1, 30, 31], 256, 32, vec![0, 1, 30, 31]),
            (&[5], 200, 24, vec![0, 1, 5]),
            (&[], 7, 7, vec![]),
        ];
        for (held, capacity, limit, units) in table {
            let usable = Usable::of(&device(held, capacity, limit), UNIT);
            assert_eq!(usable.count() as usize, units.len(), "{held:?} {capacity} {limit}");
            let mut pages: Vec<u32> = (0..usable.count()).collect();
            usable.place(&mut pages);
            assert_eq!(pages, units, "{held:?} {capacity} {limit}");
        }
    }
}
