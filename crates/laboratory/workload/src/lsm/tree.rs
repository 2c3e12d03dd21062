//! Tables and levels: the table of a key, and the next merge.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::ranges::Extent;

/// One more than the largest place of a key.
pub(super) const PLACES: u64 = 1 << 32;

/// A file of sorted records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Table {
    /// Places of the keys that it covers.
    pub(super) keys: Range<u64>,
    pub(super) bytes: u64,
    pub(super) extents: Vec<Extent>,
}

/// Tables of ascending keys that do not overlap.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Level {
    pub(super) tables: Vec<Table>,
    pub(super) bytes: u64,
    /// The place from which the next table is taken down.
    cursor: u64,
}

impl Level {
    /// The tables that have keys in common with `keys`.
    fn overlap(&self, keys: &Range<u64>) -> Range<usize> {
        let from = self.tables.partition_point(|table| table.keys.end <= keys.start);
        let until = self.tables.partition_point(|table| table.keys.start < keys.end);
        from..until.max(from)
    }

    /// The table that covers a place.
    pub(super) fn table_of(&self, place: u64) -> Option<&Table> {
        self.tables.get(self.overlap(&(place..place + 1)).start).filter(|table| table.keys.contains(&place))
    }

    /// Replaces tables by others and returns the replaced ones.
    pub(super) fn replace(&mut self, old: Range<usize>, new: Vec<Table>) -> Vec<Table> {
        let new_bytes: u64 = new.iter().map(|table| table.bytes).sum();
        let old: Vec<Table> = self.tables.splice(old, new).collect();
        self.bytes = self.bytes + new_bytes - old.iter().map(|table| table.bytes).sum::<u64>();
        debug_assert!(self.tables.is_sorted_by(|a, b| a.keys.end <= b.keys.start), "tables of a level do not overlap");
        old
    }
}

/// A tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tree {
    /// Flushed tables, which may hold any key, the oldest first.
    pub(super) level0: VecDeque<Table>,
    /// The levels from level 1 on.
    pub(super) levels: Vec<Level>,
}

/// A merge of tables into the next level. Until it is done, the tree changes only by new tables in level 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Merge {
    /// The level that the tables leave.
    pub(super) from: usize,
    /// Its tables there.
    pub(super) upper: Range<usize>,
    /// The tables of the next level.
    pub(super) lower: Range<usize>,
}

impl Tree {
    /// The next merge: out of the level that is fullest relative to its target, if one is above its target. Within a level the tables
    /// take turns in the order of their keys.
    pub(super) fn next_merge(&mut self, targets: &[u64], level0_tables: u32) -> Option<Merge> {
        let level0 = self.level0.len() as f64 / f64::from(level0_tables);
        let score = |level: &Level, target: u64| level.bytes as f64 / target as f64;
        // Level 0 is merged as soon as it is full, other levels if they are above their target, the last level never.
        let inner = &self.levels[..self.levels.len() - 1];
        let full = inner.iter().zip(targets).map(|(level, target)| score(level, *target)).enumerate();
        let fullest =
            full.filter(|(_, score)| *score > 1.0).fold(None, |best: Option<(usize, f64)>, next| match best {
                Some(best) if best.1 >= next.1 => Some(best),
                _ => Some(next),
            });
        if level0 >= 1.0 && fullest.is_none_or(|(_, score)| level0 >= score) {
            return Some(Merge { from: 0, upper: 0..self.level0.len(), lower: 0..self.levels[0].tables.len() });
        }
        let (number, _) = fullest?;
        let level = &mut self.levels[number];
        let next = level.overlap(&(level.cursor..PLACES)).start;
        let upper = if next < level.tables.len() { next } else { 0 };
        let keys = level.tables[upper].keys.clone();
        level.cursor = keys.end;
        Some(Merge { from: number + 1, upper: upper..upper + 1, lower: self.levels[number + 1].overlap(&keys) })
    }

    /// The tables of a merge, those of the upper level first.
    pub(super) fn inputs(&self, merge: &Merge) -> impl Iterator<Item = &Table> {
        let (level0, upper) = match merge.from {
            0 => (Some(self.level0.range(merge.upper.clone())), None),
            from => (None, Some(&self.levels[from - 1].tables[merge.upper.clone()])),
        };
        let lower = &self.levels[merge.from].tables[merge.lower.clone()];
        level0.into_iter().flatten().chain(upper.into_iter().flatten()).chain(lower)
    }

    /// Puts the results of a merge into the tree and returns its inputs.
    pub(super) fn merged(&mut self, merge: &Merge, outputs: Vec<Table>) -> Vec<Table> {
        let mut gone: Vec<Table> = match merge.from {
            0 => self.level0.drain(merge.upper.clone()).collect(),
            from => self.levels[from - 1].replace(merge.upper.clone(), Vec::new()),
        };
        gone.extend(self.levels[merge.from].replace(merge.lower.clone(), outputs));
        gone
    }

    /// Bytes of all tables.
    pub(super) fn bytes(&self) -> u64 {
        let level0: u64 = self.level0.iter().map(|table| table.bytes).sum();
        level0 + self.levels.iter().map(|level| level.bytes).sum::<u64>()
    }
}

/// Cuts a range of keys into the fewest equal parts that hold the bytes.
pub(super) fn cut(keys: &Range<u64>, bytes: u64, table_bytes: u64) -> Vec<(Range<u64>, u64)> {
    let parts = bytes.div_ceil(table_bytes).clamp(1, (keys.end - keys.start).max(1));
    let at = |part: u64, whole: u64| (u128::from(whole) * u128::from(part) / u128::from(parts)) as u64;
    let key = |part: u64| keys.start + at(part, keys.end - keys.start);
    (0..parts).map(|part| (key(part)..key(part + 1), at(part + 1, bytes) - at(part, bytes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(keys: Range<u64>, bytes: u64) -> Table {
        Table { keys, bytes, extents: Vec::new() }
    }

    fn level(tables: Vec<Table>) -> Level {
        let mut level = Level::default();
        level.replace(0..0, tables);
        level
    }

    #[test]
    fn the_fullest_level_gives_its_next_table_to_those_it_overlaps() {
        let upper = level(vec![table(0..100, 10), table(200..300, 10), table(PLACES - 50..PLACES, 10)]);
        let lower = level((0..40).map(|n| table(n * 30..(n + 1) * 30, 10)).collect());
        let mut tree = Tree { level0: VecDeque::new(), levels: vec![upper, lower] };
        assert!(tree.next_merge(&[30, 400], 4).is_none(), "at its target it is not above it");
        let overlaps: Vec<_> = (0..4)
            .map(|_| {
                let merge = tree.next_merge(&[20, 400], 4).unwrap();
                (merge.from, merge.upper, merge.lower)
            })
            .collect();
        // 200..300 meets 180..210 to 270..300; the last table meets none; then the first one's turn comes again.
        assert_eq!(overlaps, [(1, 0..1, 0..4), (1, 1..2, 6..10), (1, 2..3, 40..40), (1, 0..1, 0..4)]);
        tree.level0.extend((0..4).map(|_| table(0..PLACES, 5)));
        // Level 0 is full, and level 1 is 1.5 times as large as it should be.
        assert_eq!(tree.next_merge(&[20, 400], 4).unwrap().from, 1);
        let merge = tree.next_merge(&[30, 400], 4).unwrap();
        assert_eq!((merge.from, merge.upper.clone(), merge.lower.clone()), (0, 0..4, 0..3));
        let gone = tree.merged(&merge, vec![table(0..PLACES, 50)]);
        assert_eq!((gone.len(), tree.level0.len(), tree.levels[0].bytes, tree.bytes()), (7, 0, 50, 450));
    }

    #[test]
    fn a_place_is_found_in_the_table_that_covers_it() {
        let level = level(vec![table(0..100, 10), table(200..300, 10)]);
        let found = [0, 99, 100, 199, 200, 299, 300].map(|place| level.table_of(place).map(|table| table.keys.start));
        assert_eq!(found, [Some(0), Some(0), None, None, Some(200), Some(200), None]);
        assert_eq!(cut(&(0..100), 25, 10), [(0..33, 8), (33..66, 8), (66..100, 9)]);
    }
}
