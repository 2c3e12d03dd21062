//! The remap log: units whose data got another address, so that the logical unit in their out-of-band data is outdated.

use std::collections::BTreeMap;
use std::ops::Range;

use wane_archive::{Archive, ArchiveError};

/// Bytes of an entry.
///
/// Source: 001, section 3.1.3.
pub const REMAP_ENTRY_BYTES: u64 = 8;

/// Entries in NVRAM: one for each physical unit that was remapped and not erased since.
#[derive(Clone, Debug)]
pub(crate) struct RemapLog {
    /// By physical unit: its logical unit, and the sequence number of the command that assigned it.
    entries: BTreeMap<u32, (u32, u64)>,
    entries_max: usize,
}

impl RemapLog {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { entries: BTreeMap::new(), entries_max: usize::try_from(bytes / REMAP_ENTRY_BYTES).unwrap_or(usize::MAX) }
    }

    /// Writes the entries to a file, or reads them back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("nvram.remaps", &mut self.entries)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entries_max(&self) -> usize {
        self.entries_max
    }

    /// Number of entries that a command adds that remaps these units.
    pub(crate) fn added_by(&self, units: &[u32]) -> usize {
        units.iter().filter(|unit| !self.entries.contains_key(unit)).count()
    }

    pub(crate) fn insert(&mut self, unit: u32, logical: u32, sequence: u64) {
        self.entries.insert(unit, (logical, sequence));
        debug_assert!(self.entries.len() <= self.entries_max, "room is made before a command is logged");
    }

    /// The entries of some units.
    pub(crate) fn of(&self, units: Range<u32>) -> Vec<(u32, u32, u64)> {
        self.entries.range(units).map(|(unit, (logical, sequence))| (*unit, *logical, *sequence)).collect()
    }

    /// Restores an entry whose unit was not erased. The log may then hold more entries than fit, until blocks are erased again.
    pub(crate) fn put_back(&mut self, unit: u32, logical: u32, sequence: u64) {
        self.entries.insert(unit, (logical, sequence));
    }

    /// The logical unit that was assigned to a physical one, and the sequence number of the command.
    pub(crate) fn get(&self, unit: u32) -> Option<(u32, u64)> {
        self.entries.get(&unit).copied()
    }

    /// The entries, by physical unit.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        self.entries.iter().map(|(unit, (logical, sequence))| (*unit, *logical, *sequence))
    }

    /// Keeps only the entries of units for which `is_kept` holds.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(u32) -> bool) {
        self.entries.retain(|unit, _| is_kept(*unit));
    }

    /// Removes the entries of erased units.
    pub(crate) fn forget(&mut self, units: Range<u32>) {
        let gone: Vec<u32> = self.entries.range(units).map(|(unit, _)| *unit).collect();
        for unit in gone {
            self.entries.remove(&unit);
        }
    }

    /// The block with the most entries. A block has `units_per_block` units.
    pub(crate) fn fullest(&self, units_per_block: u32) -> Option<u32> {
        let mut counts = BTreeMap::<u32, u32>::new();
        for unit in self.entries.keys() {
            *counts.entry(unit / units_per_block).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(block, count)| (*count, std::cmp::Reverse(*block))).map(|(block, _)| block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_goes_with_its_unit_and_the_newest_counts() {
        let mut log = RemapLog::new(64);
        assert_eq!((log.entries_max(), log.added_by(&[1, 2, 9])), (8, 3));
        for (unit, logical, sequence) in [(1, 70, 5), (9, 71, 6), (1, 72, 7), (8, 73, 8)] {
            log.insert(unit, logical, sequence);
        }
        assert_eq!((log.len(), log.get(1), log.added_by(&[1, 2])), (3, Some((72, 7)), 1));
        assert_eq!(log.fullest(4), Some(2));
        log.forget(8..12);
        assert_eq!(log.iter().collect::<Vec<_>>(), [(1, 72, 7)]);
    }
}
