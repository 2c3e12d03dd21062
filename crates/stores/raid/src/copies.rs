//! Where the copies of an array's sectors lie, on members of any sizes.

use wane_blockdev::SectorRange;
use wane_units::{Lba, Sectors};

use crate::LayoutError;
use crate::placement::peel::{most, peel};

/// Sectors of an array whose copies lie on the same members, and follow each other there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The sectors of the array.
    pub range: SectorRange,
    /// The members with a copy, and where its first sector lies on each. Members rise.
    pub places: Vec<(usize, Lba)>,
}

impl Run {
    /// Where a sector of the run lies on member number `place` of its members.
    pub(crate) fn at(&self, place: usize, sector: Lba) -> Lba {
        Lba(self.places[place].1.0 + (sector.0 - self.range.start.0))
    }
}

/// Puts each sector on several members, which may differ in size.
///
/// The capacity is the largest D with `sum(min(size, D)) >= copies * D` (the closed form of the problem in
/// dissertation 000 §6.4.2): members no larger than D are
/// filled, and no sector has two copies on one member. The sectors are cut into runs, at most one more than there are members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    copies: usize,
    runs: Vec<Run>,
}

impl Copies {
    /// N copies of each sector.
    pub const fn new(copies: usize) -> Self {
        Self { copies, runs: Vec::new() }
    }

    /// Copies of each sector.
    pub const fn copies(&self) -> usize {
        self.copies
    }

    /// The runs, in rising order. They cover the capacity.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Sectors of an array on members of these capacities, in whole units.
    ///
    /// # Errors
    /// There are fewer members than copies, or one copy alone is asked for, or nothing fits.
    pub fn capacity(&mut self, members: &[Sectors], unit: Sectors) -> Result<Sectors, LayoutError> {
        let width = self.copies as u64;
        if self.copies < 2 || members.len() < self.copies {
            return Err(LayoutError::Copies(self.copies, members.len()));
        }
        let sizes: Vec<u64> = members.iter().map(|member| member.0 / unit.0).collect();
        let units = most(&sizes, width);
        if units == 0 {
            return Err(LayoutError::Small(members.iter().map(|member| member.0).min().unwrap_or(0), unit.0));
        }
        let mut used = vec![0; sizes.len()];
        let mut begin = 0;
        self.runs.clear();
        for (chosen, count) in peel(&sizes, width, units) {
            let places = chosen.iter().map(|member| (*member, Lba(used[*member] * unit.0))).collect();
            let range = SectorRange::new(Lba(begin * unit.0), Sectors(count * unit.0));
            self.runs.push(Run { range, places });
            begin += count;
            chosen.iter().for_each(|member| used[*member] += count);
        }
        Ok(Sectors(units * unit.0))
    }

    /// The number of the run of a sector below the capacity.
    #[inline]
    pub(crate) fn find(&self, sector: Lba) -> usize {
        match self.runs.len() {
            1 => 0,
            _ => self.runs.partition_point(|run| run.range.start <= sector) - 1,
        }
    }

    /// A range cut at the ends of runs, with the numbers of these.
    pub(crate) fn pieces(&self, range: SectorRange) -> impl Iterator<Item = (usize, SectorRange)> + '_ {
        let first = if range.is_empty() { 0 } else { self.find(range.start) };
        let runs = self.runs.iter().enumerate().skip(first);
        runs.map(move |(number, run)| (number, run.range.intersection(range)))
            .take_while(|(_, piece)| !piece.is_empty())
    }

    /// Sectors that lie on a member.
    pub(crate) fn used(&self, member: usize) -> Sectors {
        let on = |run: &&Run| run.places.iter().any(|place| place.0 == member);
        self.runs.iter().filter(on).fold(Sectors::ZERO, |sum, run| sum + run.range.count)
    }

    /// Whether each sector lies on every member at its own address.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(&self.runs[..], [run] if run.places.iter().all(|place| place.1 == Lba(0)))
            && self.runs[0].places.len() == self.copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(copies: usize, sizes: &[u64]) -> Copies {
        let mut layout = Copies::new(copies);
        let sizes: Vec<Sectors> = sizes.iter().map(|size| Sectors(*size)).collect();
        layout.capacity(&sizes, Sectors(1)).unwrap();
        layout
    }

    /// Members and counts of the runs.
    fn runs(layout: &Copies) -> Vec<(Vec<usize>, u64)> {
        let members = |run: &Run| run.places.iter().map(|place| place.0).collect();
        layout.runs().iter().map(|run| (members(run), run.range.count.0)).collect()
    }

    #[test]
    fn two_members_have_what_the_smaller_one_has() {
        let layout = layout(2, &[70, 100]);
        assert_eq!(runs(&layout), [(vec![0, 1], 70)]);
        assert!(layout.is_plain());
    }

    #[test]
    fn three_equal_members_are_filled() {
        let layout = layout(2, &[10, 10, 10]);
        assert_eq!(layout.runs().iter().map(|run| run.range.count.0).sum::<u64>(), 15);
        assert_eq!((0..3).map(|member| layout.used(member).0).collect::<Vec<_>>(), [10, 10, 10]);
    }

    /// Random arrays: every copy on a member of its own, within its size, none twice, and no more than fits.
    #[test]
    fn copies_lie_on_different_members_and_never_on_each_other() {
        let mut random = 7u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..2_000 {
            let width = 2 + next(3) as usize;
            let sizes: Vec<u64> = (0..width as u64 + next(5)).map(|_| 1 + next(40)).collect();
            let layout = layout(width, &sizes);
            let mut taken = vec![0; sizes.len()];
            let mut end = 0;
            for run in layout.runs() {
                assert_eq!(run.range.start.0, end);
                end += run.range.count.0;
                assert_eq!(run.places.len(), width);
                assert!(run.places.windows(2).all(|pair| pair[0].0 < pair[1].0), "{run:?}");
                for (member, start) in &run.places {
                    assert_eq!(start.0, taken[*member], "members are filled from their start on");
                    taken[*member] += run.range.count.0;
                }
            }
            assert!(taken.iter().zip(&sizes).all(|(taken, size)| taken <= size), "{sizes:?}: {taken:?}");
            assert!(layout.runs().len() <= sizes.len() + 1, "{sizes:?} has {} runs", layout.runs().len());
            let more = end + 1;
            assert!(
                sizes.iter().map(|size| *size.min(&more)).sum::<u64>() < width as u64 * more,
                "{sizes:?} holds more"
            );
        }
    }

    #[test]
    fn too_few_members_are_refused() {
        assert_eq!(Copies::new(2).capacity(&[Sectors(8)], Sectors(1)), Err(LayoutError::Copies(2, 1)));
        assert_eq!(Copies::new(1).capacity(&[Sectors(8); 2], Sectors(1)), Err(LayoutError::Copies(1, 2)));
        assert_eq!(Copies::new(2).capacity(&[Sectors(8), Sectors(3)], Sectors(4)), Err(LayoutError::Small(3, 4)));
    }
}
