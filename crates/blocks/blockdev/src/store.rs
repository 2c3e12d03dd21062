//! Bytes by sector, kept sparsely: sectors that were never written, or were zeroed, take no memory.

use std::collections::BTreeMap;

use wane_archive::{Archive, ArchiveError};
use wane_units::{Lba, Sectors};

use crate::{Extent, ExtentState, RangeSet, SectorRange};

/// Sectors of a page, the unit in which bytes are kept.
const PAGE_SECTORS: u64 = 8;
const SECTOR_BYTES: usize = Sectors::SIZE.0 as usize;
const PAGE_BYTES: usize = PAGE_SECTORS as usize * SECTOR_BYTES;

/// Contents of a device. A missing page is all zeros.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    pages: BTreeMap<u64, Box<[u8; PAGE_BYTES]>>,
}

/// A part of one page: its number, the bytes within it, and the bytes within the range that was cut.
struct Part {
    page: u64,
    within: std::ops::Range<usize>,
    of_range: std::ops::Range<usize>,
}

/// Cuts a range that lies within the device at the bounds of pages.
fn parts(range: SectorRange) -> impl Iterator<Item = Part> {
    let (start, end) = (range.start.0, range.start.0 + range.count.0);
    let pages = if range.is_empty() { 0..0 } else { start / PAGE_SECTORS..(end - 1) / PAGE_SECTORS + 1 };
    pages.map(move |page| {
        let first = page * PAGE_SECTORS;
        let (low, high) = (start.max(first), end.min(first.saturating_add(PAGE_SECTORS)));
        let bytes = |sectors: u64| sectors as usize * SECTOR_BYTES;
        Part {
            page,
            within: bytes(low - first)..bytes(high - first),
            of_range: bytes(low - start)..bytes(high - start),
        }
    })
}

impl Store {
    /// Appends the bytes of `range` to `out`.
    pub(crate) fn read(&self, range: SectorRange, out: &mut Vec<u8>) {
        out.reserve(range.len_bytes());
        for part in parts(range) {
            match self.pages.get(&part.page) {
                Some(page) => out.extend_from_slice(&page[part.within]),
                None => out.resize(out.len() + part.within.len(), 0),
            }
        }
    }

    /// Copies the bytes of `range` to `out`, which is as long.
    pub(crate) fn copy(&self, range: SectorRange, out: &mut [u8]) {
        for part in parts(range) {
            match self.pages.get(&part.page) {
                Some(page) => out[part.of_range].copy_from_slice(&page[part.within]),
                None => out[part.of_range].fill(0),
            }
        }
    }

    /// Stores `bytes`, which are as long as `range`.
    pub(crate) fn write(&mut self, range: SectorRange, bytes: &[u8]) {
        assert_eq!(bytes.len(), range.len_bytes(), "bytes fill their range, or the rest of one of them would be lost");
        for part in parts(range) {
            let page = self.pages.entry(part.page).or_insert_with(|| Box::new([0; PAGE_BYTES]));
            page[part.within].copy_from_slice(&bytes[part.of_range]);
        }
    }

    /// Makes `range` all zeros. The time grows with the number of pages kept, not with the length.
    pub(crate) fn zero(&mut self, range: SectorRange) {
        let mut next = range.start.0 / PAGE_SECTORS;
        let last = range.start.0 + range.count.0;
        while let Some((&page, kept)) = self.pages.range_mut(next..).next()
            && page * PAGE_SECTORS < last
        {
            let whole = SectorRange::new(Lba(page * PAGE_SECTORS), Sectors(PAGE_SECTORS));
            let shared = whole.intersection(range);
            if shared == whole {
                self.pages.remove(&page);
            } else if !shared.is_empty() {
                let from = (shared.start.0 - whole.start.0) as usize * SECTOR_BYTES;
                kept[from..from + shared.len_bytes()].fill(0);
            }
            next = page + 1;
        }
    }

    /// Moves the bytes of `source` to `to`, where there are zeros; the source becomes zeros. The two must not overlap.
    pub(crate) fn relocate(&mut self, source: SectorRange, to: Lba) {
        let target = SectorRange::new(to, source.count);
        debug_assert!(source.intersection(target).is_empty(), "a source that overlaps its target would be moved twice");
        let mut next = source.start.0 / PAGE_SECTORS;
        let last = source.start.0 + source.count.0;
        while let Some((&page, kept)) = self.pages.range(next..).next()
            && page * PAGE_SECTORS < last
        {
            let whole = SectorRange::new(Lba(page * PAGE_SECTORS), Sectors(PAGE_SECTORS));
            let shared = whole.intersection(source);
            // The destination may lie between pages of the source, where this loop meets it. It is no part of the source.
            if !shared.is_empty() {
                let from = (shared.start.0 - whole.start.0) as usize * SECTOR_BYTES;
                let mut bytes = [0; PAGE_BYTES];
                let bytes = &mut bytes[..shared.len_bytes()];
                bytes.copy_from_slice(&kept[from..from + bytes.len()]);
                let target = Lba(to.0 + (shared.start.0 - source.start.0));
                self.write(SectorRange::new(target, shared.count), bytes);
            }
            next = page + 1;
        }
        self.zero(source);
    }

    /// Appends the states of `range`, of which the sectors in `mapped` are allocated.
    pub(crate) fn extents(&self, range: SectorRange, mapped: &RangeSet, out: &mut Vec<Extent>) {
        let first = out.len();
        let mut reached = range.start;
        for piece in mapped.within(range) {
            push(out, first, SectorRange::between(reached, piece.start), ExtentState::Hole);
            reached = piece.start;
            let end = Lba(piece.start.0 + piece.count.0);
            let pages = piece.start.0 / PAGE_SECTORS..end.0.div_ceil(PAGE_SECTORS);
            for &page in self.pages.range(pages).map(|(page, _)| page) {
                let kept = SectorRange::new(Lba(page * PAGE_SECTORS), Sectors(PAGE_SECTORS)).intersection(piece);
                push(out, first, SectorRange::between(reached, kept.start), ExtentState::Zeroes);
                push(out, first, kept, ExtentState::Data);
                reached = Lba(kept.start.0 + kept.count.0);
            }
            push(out, first, SectorRange::between(reached, end), ExtentState::Zeroes);
            reached = end;
        }
        let end = Lba(range.start.0 + range.count.0);
        push(out, first, SectorRange::between(reached, end), ExtentState::Hole);
    }

    /// Writes the contents, or reads them back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let mut numbers: Vec<u64> = self.pages.keys().copied().collect();
        archive.list("store.pages", &mut numbers)?;
        if archive.is_reading() {
            self.pages = numbers.into_iter().map(|number| (number, Box::new([0; PAGE_BYTES]))).collect();
        }
        self.pages.values_mut().try_for_each(|page| archive.table("store.page", &mut page[..]))
    }

    /// Bytes of memory that contents take.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.pages.len() * PAGE_BYTES
    }
}

/// Appends an extent, or lengthens the last one of this call if it has the same state.
fn push(out: &mut Vec<Extent>, first: usize, range: SectorRange, state: ExtentState) {
    if range.is_empty() {
        return;
    }
    if let Some(last) = out[first..].last_mut()
        && last.state == state
    {
        last.range.count += range.count;
    } else {
        out.push(Extent { range, state });
    }
}
