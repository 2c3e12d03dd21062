//! Out-of-band data: what a page says about itself when the firmware's tables are gone.
//!
//! A page carries the logical unit of each of its mapping units, and one sequence number. The logical units are the entries of the reverse
//! map, which serves both purposes, so only the sequence numbers are stored here. The stripes keep the number of a page's stripe
//! ([`crate::stripes`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::SuperblockId;

use crate::config::PageId;
use crate::table::Table;

/// Offset of an erased page.
const ERASED: u32 = 0;
/// Offset of a page whose program was cut short.
const TORN: u32 = u32::MAX;
/// Offset of a page whose sequence number is too far from its block's first one. The number lies in `far`.
const FAR: u32 = u32::MAX - 1;

/// What a read of a page's out-of-band data finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stamp {
    /// The page is erased.
    Erased,
    /// It cannot be read: power failed while it was programmed or erased.
    Torn,
    /// It was programmed with this sequence number.
    At(u64),
}

/// What [`OutOfBand`] held of a block before an erase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OobPast {
    stamps: Vec<Stamp>,
    lost: Vec<u32>,
    torn: Vec<(u32, u64)>,
}

/// The sequence numbers of a drive's pages: 4 bytes for each page and 16 for each block.
#[derive(Clone, Debug)]
pub(crate) struct OutOfBand {
    pages_per_block: u32,
    /// Number of flash blocks in a block. Page p lies on number p % width, and each flash block is programmed in order.
    width: u32,
    /// By page: its sequence number minus that of its block's first page, plus 1.
    offsets: Table<u32>,
    /// By block: the sequence numbers of its first page and of the last one programmed.
    ends: Vec<[u64; 2]>,
    far: BTreeMap<u32, u64>,
    /// Units that were programmed without their data, which were lost before.
    lost: BTreeSet<u32>,
    /// Pages that a power cut tore after they had been programmed, with their sequence numbers: they share a wordline with the page that was
    /// being programmed. They cannot be read, but parity can reconstruct them.
    torn: BTreeMap<u32, u64>,
    /// Those of them that parity has reconstructed since power returned.
    rebuilt: BTreeSet<u32>,
    next: u64,
}

impl OutOfBand {
    /// The out-of-band data of erased flash.
    pub(crate) fn new(blocks: u32, pages_per_block: u32, width: u32) -> std::io::Result<Self> {
        let pages = blocks as usize * pages_per_block as usize;
        Ok(Self {
            pages_per_block,
            width,
            offsets: Table::zeroed(pages)?,
            ends: vec![[0; 2]; blocks as usize],
            far: BTreeMap::new(),
            lost: BTreeSet::new(),
            torn: BTreeMap::new(),
            rebuilt: BTreeSet::new(),
            // 0 is before everything.
            next: 1,
        })
    }

    /// Writes everything to a file, or reads it back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.offsets.archive("oob.offsets", archive)?;
        archive.fixed("oob.ends", &mut self.ends)?;
        archive.field("oob.far", &mut self.far)?;
        archive.field("oob.lost", &mut self.lost)?;
        archive.field("oob.torn", &mut self.torn)?;
        archive.field("oob.rebuilt", &mut self.rebuilt)?;
        archive.field("oob.next", &mut self.next)
    }

    /// Whether all of it was read.
    pub(crate) fn is_whole(&self) -> bool {
        self.offsets.is_whole()
    }

    /// Reads what was not read yet.
    pub(crate) fn load(&mut self) -> Result<(), ArchiveError> {
        self.offsets.load()
    }

    /// Reads what was not read yet of a block.
    pub(crate) fn touch(&mut self, block: SuperblockId) -> Result<(), ArchiveError> {
        let pages = self.pages(block);
        self.offsets.touch(pages.start as usize..pages.end as usize)
    }

    /// The number that the next program gets.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Takes a number for another event that has its place in the order of programs.
    pub(crate) fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Numbers `count` pages of a block that are programmed in order from page `row` on.
    #[inline]
    pub(crate) fn program(&mut self, block: SuperblockId, row: u32, count: u32) {
        let first = block.0 * self.pages_per_block + row;
        let [base, last] = &mut self.ends[block.index()];
        if row == 0 {
            *base = self.next;
        }
        let from = self.next - *base + 1;
        self.next += u64::from(count);
        *last = self.next - 1;
        let offsets = &mut self.offsets[first as usize..][..count as usize];
        debug_assert!(offsets.iter().all(|offset| *offset == ERASED), "a page is programmed once an erase");
        if from + u64::from(count) > u64::from(FAR) {
            offsets.fill(FAR);
            self.far.extend((first..first + count).zip(self.next - u64::from(count)..));
            return;
        }
        for (entry, offset) in offsets.iter_mut().zip(from as u32..) {
            *entry = offset;
        }
    }

    /// Notes that a unit is programmed without its data.
    pub(crate) fn mark_lost(&mut self, unit: u32) {
        self.lost.insert(unit);
    }

    pub(crate) fn lost_units(&self) -> impl Iterator<Item = u32> {
        self.lost.iter().copied()
    }

    /// Erases a block; `units` are its mapping units.
    pub(crate) fn erase(&mut self, block: SuperblockId, units: Range<u32>) {
        let pages = self.pages(block);
        self.offsets[pages.start as usize..pages.end as usize].fill(ERASED);
        if !self.far.is_empty() {
            self.far.retain(|page, _| !pages.contains(page));
        }
        if !self.lost.is_empty() {
            self.lost.retain(|unit| !units.contains(unit));
        }
        if !self.torn.is_empty() {
            self.torn.retain(|page, _| !pages.contains(page));
            self.rebuilt.retain(|page| !pages.contains(page));
        }
    }

    /// Tears a page: power failed while it, or one that shares its wordline, was programmed.
    pub(crate) fn tear(&mut self, page: PageId) {
        if let Stamp::At(sequence) = self.stamp(page) {
            self.torn.insert(page.0, sequence);
        }
        self.rebuilt.remove(&page.0);
        self.offsets[page.index()] = TORN;
    }

    /// Forgets what parity reconstructed before the last power cut, since that lay in the controller's memory.
    pub(crate) fn forget_rebuilt(&mut self) {
        self.rebuilt.clear();
    }

    /// Notes that parity has reconstructed a torn page with its out-of-band data.
    pub(crate) fn rebuild(&mut self, page: PageId) {
        debug_assert!(self.torn.contains_key(&page.0), "only a page that was programmed can be given back");
        self.rebuilt.insert(page.0);
    }

    /// Torn pages that had been programmed before.
    pub(crate) fn torn_pages(&self) -> impl Iterator<Item = PageId> {
        self.torn.keys().copied().map(PageId)
    }

    /// Torn pages that parity has reconstructed.
    pub(crate) fn rebuilt_pages(&self) -> impl Iterator<Item = PageId> {
        self.rebuilt.iter().copied().map(PageId)
    }

    /// The sequence number of a programmed page, whether the page can be read or not.
    pub(crate) fn number(&self, page: PageId) -> Option<u64> {
        match self.stamp(page) {
            Stamp::At(sequence) => Some(sequence),
            Stamp::Torn => self.torn.get(&page.0).copied(),
            Stamp::Erased => None,
        }
    }

    /// Whether a unit was programmed without its data.
    pub(crate) fn is_lost(&self, unit: u32) -> bool {
        self.lost.contains(&unit)
    }

    pub(crate) fn stamp(&self, page: PageId) -> Stamp {
        match self.offsets[page.index()] {
            ERASED => Stamp::Erased,
            TORN if self.rebuilt.contains(&page.0) => Stamp::At(self.torn[&page.0]),
            TORN => Stamp::Torn,
            FAR => Stamp::At(self.far[&page.0]),
            offset => Stamp::At(self.ends[(page.0 / self.pages_per_block) as usize][0] + u64::from(offset) - 1),
        }
    }

    /// Number of pages of a block up to the last one that is not erased.
    pub(crate) fn programmed(&self, block: SuperblockId) -> u32 {
        self.extent(block).1
    }

    /// Whether erased pages of a block lie before programmed ones, because power failed while its flash blocks were programmed in parallel.
    pub(crate) fn has_hole(&self, block: SuperblockId) -> bool {
        let (first_erased, end) = self.extent(block);
        first_erased < end
    }

    /// The first erased page of a block, and the end of the pages that are not erased. Each flash block is programmed in order, so a
    /// binary search finds its end.
    fn extent(&self, block: SuperblockId) -> (u32, u32) {
        let pages = self.pages(block);
        let offsets = &self.offsets[pages.start as usize..pages.end as usize];
        if self.width == 1 {
            let end = offsets.partition_point(|offset| *offset != ERASED) as u32;
            return (end, end);
        }
        let (mut first_erased, mut end) = (self.pages_per_block, 0);
        for member in 0..self.width {
            let (mut programmed, mut erased) = (0, self.pages_per_block / self.width);
            while programmed < erased {
                let row = programmed.midpoint(erased);
                let is_erased = offsets[(row * self.width + member) as usize] == ERASED;
                if is_erased { erased = row } else { programmed = row + 1 }
            }
            first_erased = first_erased.min(programmed * self.width + member);
            if programmed > 0 {
                end = end.max((programmed - 1) * self.width + member + 1);
            }
        }
        (first_erased.min(self.pages_per_block), end)
    }

    /// Undoes the program of a page before which power failed; `units` are its mapping units.
    pub(crate) fn unprogram(&mut self, page: PageId, units: Range<u32>) {
        self.offsets[page.index()] = ERASED;
        self.far.remove(&page.0);
        self.torn.remove(&page.0);
        self.rebuilt.remove(&page.0);
        self.lost.retain(|unit| !units.contains(unit));
    }

    /// What an erase removes from a block: its pages' stamps, and which of its units were programmed without their data.
    pub(crate) fn past(&self, block: SuperblockId, units: Range<u32>) -> OobPast {
        let stamps = self.pages(block).map(|page| self.stamp(PageId(page))).collect();
        let torn = self.torn.range(self.pages(block)).map(|(page, sequence)| (*page, *sequence)).collect();
        OobPast { stamps, lost: self.lost.range(units).copied().collect(), torn }
    }

    /// Undoes the erase of a block before which power failed.
    pub(crate) fn unerase(&mut self, block: SuperblockId, past: OobPast) {
        let base = self.ends[block.index()][0];
        let torn: BTreeMap<u32, u64> = past.torn.into_iter().collect();
        for (page, stamp) in self.pages(block).zip(past.stamps) {
            self.offsets[page as usize] = match stamp {
                Stamp::Erased => ERASED,
                // Recovery finds out again whether parity can reconstruct it.
                _ if torn.contains_key(&page) => TORN,
                Stamp::Torn => TORN,
                Stamp::At(sequence) => match sequence.checked_sub(base).map(|offset| offset + 1) {
                    Some(offset) if offset < u64::from(FAR) => offset as u32,
                    // Its block was opened again since then, with another first page.
                    _ => {
                        self.far.insert(page, sequence);
                        FAR
                    }
                },
            };
        }
        self.lost.extend(past.lost);
        self.torn.extend(torn);
    }

    /// The sequence number of the last programmed page of a block, which the firmware knows while it has power.
    pub(crate) fn newest(&self, block: SuperblockId) -> u64 {
        self.ends[block.index()][1]
    }

    /// The sequence number of the last readable page of a block.
    pub(crate) fn last(&self, block: SuperblockId) -> Option<u64> {
        let first = self.pages(block).start;
        (first..first + self.programmed(block)).rev().find_map(|page| match self.stamp(PageId(page)) {
            Stamp::At(sequence) => Some(sequence),
            Stamp::Erased | Stamp::Torn => None,
        })
    }

    fn pages(&self, block: SuperblockId) -> Range<u32> {
        let first = block.0 * self.pages_per_block;
        first..first + self.pages_per_block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_within_a_block_whatever_lies_between() {
        let mut oob = OutOfBand::new(3, 4, 1).unwrap();
        oob.program(SuperblockId(1), 0, 2);
        oob.program(SuperblockId(0), 0, 1);
        assert_eq!(oob.take(), 4);
        oob.program(SuperblockId(1), 2, 1);
        let stamps = (0..8).map(|page| oob.stamp(PageId(page))).collect::<Vec<_>>();
        let at = Stamp::At;
        let erased = Stamp::Erased;
        assert_eq!(stamps, [at(3), erased, erased, erased, at(1), at(2), at(5), erased]);
        assert_eq!((oob.programmed(SuperblockId(1)), oob.last(SuperblockId(1))), (3, Some(5)));
        oob.tear(PageId(6));
        assert_eq!((oob.stamp(PageId(6)), oob.last(SuperblockId(1))), (Stamp::Torn, Some(2)));
        oob.mark_lost(5);
        oob.erase(SuperblockId(1), 4..8);
        assert_eq!((oob.programmed(SuperblockId(1)), oob.lost_units().count(), oob.next()), (0, 0, 6));
    }

    #[test]
    fn a_block_that_stays_open_for_long_keeps_its_order() {
        let mut oob = OutOfBand::new(2, 4, 1).unwrap();
        oob.program(SuperblockId(0), 0, 1);
        oob.next += u64::from(u32::MAX);
        oob.program(SuperblockId(0), 1, 2);
        assert_eq!(oob.stamp(PageId(2)), Stamp::At(u64::from(u32::MAX) + 3));
        assert_eq!(oob.last(SuperblockId(0)), Some(u64::from(u32::MAX) + 3));
        oob.erase(SuperblockId(0), 0..4);
        assert!(oob.far.is_empty());
    }
}
