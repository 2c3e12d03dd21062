//! The metadata area: blocks of their own, written as a log that goes round.
//!
//! Two kinds of pages follow each other. A journal page lists trims and losses, which no data page tells of. A summary says for a
//! part of the logical units how they stood when it was written: where each is mapped (`checkpoint`), or which ones hold nothing
//! (`full-scan`). Summaries are written in turn, so that the last ones of each part are together the newest. Once every part was
//! summed up after a journal page was written, that page tells nothing more, and the log's oldest block can be erased.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::SuperblockId;

use crate::engine::UNMAPPED;
use crate::table::Table;

/// Bytes of a journal's record: first unit, units, number and kind.
const RECORD_BYTES: u64 = 16;

/// What happened to logical units without a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) first: u32,
    pub(crate) units: u32,
    pub(crate) sequence: u64,
    pub(crate) change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    /// The units hold nothing from here on.
    Trimmed,
    /// What they hold is lost.
    Lost,
}

/// What summaries tell of a logical unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summaries {
    /// Whether it holds nothing: a bit each.
    Unmapped,
    /// Where it is mapped: 4 bytes each, the checkpoint.
    Map,
}

/// A page of the area, as it can be read from flash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum MetaPage {
    Journal(Vec<Record>),
    /// The part of this number. Its content lies in the area's table, as only the newest one of a part is ever wanted.
    Summary(u32),
}

/// A block of the area.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MetaBlock {
    pub(crate) block: SuperblockId,
    /// What was programmed, in order; `None` for a page that power failed in the middle of.
    pub(crate) pages: Vec<Option<MetaPage>>,
    /// The number of its last page.
    pub(crate) newest: u64,
}

/// One part's newest summary.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    /// 0: it was never written, and all its units hold nothing.
    pub(crate) sequence: u64,
    /// Its units whose data are lost.
    pub(crate) lost: Vec<u32>,
}

/// What lies on the flash of the metadata area, and where it is written on.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    kind: Summaries,
    logical_units: u32,
    units_per_part: u32,
    records_per_page: usize,
    pub(crate) parts: Vec<Part>,
    /// Of the newest summary of each part: map entries, or words of bits. `None`: the drive's map will do, see [`Area::keep_content`].
    content: Option<Table<u32>>,
    /// The part that is summed up next; its summary is the oldest.
    pub(crate) next_part: u32,
    /// The log's blocks, the oldest first. The last one is written.
    pub(crate) ring: VecDeque<MetaBlock>,
    /// Journal pages that wait for a summary in return, so that the log stays short.
    pub(crate) journal_owed: u32,
}

impl Area {
    pub(crate) fn new(kind: Summaries, logical_units: u32, page_bytes: u32) -> std::io::Result<Self> {
        let units_per_part = units_per_part(kind, page_bytes);
        let parts = logical_units.div_ceil(units_per_part);
        let content = match kind {
            Summaries::Map => None,
            Summaries::Unmapped => Some(Table::zeroed(logical_units.div_ceil(u32::BITS) as usize)?),
        };
        Ok(Self {
            kind,
            logical_units,
            units_per_part,
            records_per_page: (u64::from(page_bytes) / RECORD_BYTES).max(1) as usize,
            parts: vec![Part::default(); parts as usize],
            content,
            next_part: 0,
            ring: VecDeque::new(),
            journal_owed: 0,
        })
    }

    /// All of it, to a file or back into the area of a drive of the same kind.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("area.parts", &(self.parts.len() as u32))?;
        archive.field("area.summaries", &mut self.parts)?;
        // A drive that has recovered once keeps it, whatever it did before.
        let mut keeps_content = self.keeps_content();
        archive.field("area.keeps-content", &mut keeps_content)?;
        if keeps_content && self.content.is_none() {
            self.content = Some(Table::zeroed(self.logical_units as usize)?);
        }
        if let Some(content) = &mut self.content {
            archive.fixed("area.entries", content)?;
        }
        archive.field("area.next-part", &mut self.next_part)?;
        archive.field("area.ring", &mut self.ring)?;
        archive.field("area.journal-owed", &mut self.journal_owed)
    }

    /// Whether two areas are of drives with the same summaries of as many units.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let shape = |area: &Self| (area.kind, area.logical_units, area.units_per_part);
        shape(self) == shape(other)
    }

    pub(crate) fn kind(&self) -> Summaries {
        self.kind
    }

    pub(crate) fn records_per_page(&self) -> usize {
        self.records_per_page
    }

    /// What was programmed before this is told by summaries alone.
    pub(crate) fn floor(&self) -> u64 {
        self.parts[self.next_part as usize].sequence
    }

    /// When a logical unit was summed up last.
    pub(crate) fn summed_up(&self, logical: u32) -> u64 {
        self.parts[(logical / self.units_per_part) as usize].sequence
    }

    /// The units of a part.
    pub(crate) fn units(&self, part: u32) -> Range<u32> {
        let first = part * self.units_per_part;
        first..(first + self.units_per_part).min(self.logical_units)
    }

    /// Keeps what each page of the checkpoint holds, from now on: `map` is the drive's, and is what they may hold now.
    ///
    /// An entry of a page is only ever read where nothing that happened to its unit since survives. Where all that happened does, as with
    /// power-loss protection, that is where nothing happened, and then it is the entry of the map at the cut: no copy is needed.
    pub(crate) fn keep_content(&mut self, map: Table<u32>) {
        if self.kind == Summaries::Map {
            self.content = Some(map);
        }
    }

    pub(crate) fn keeps_content(&self) -> bool {
        self.content.is_some()
    }

    /// A part is summed up. `map` is the drive's, `lost` the units of the part whose data are lost.
    pub(crate) fn sum_up(&mut self, part: u32, sequence: u64, map: &[u32], lost: Vec<u32>) {
        let units = self.units(part);
        match (self.kind, &mut self.content) {
            (_, None) => {}
            (Summaries::Map, Some(content)) => {
                let (from, to) = (units.start as usize, units.end as usize);
                content[from..to].copy_from_slice(&map[from..to]);
            }
            (Summaries::Unmapped, Some(content)) => {
                for logical in units {
                    let (word, bit) = ((logical / u32::BITS) as usize, 1 << (logical % u32::BITS));
                    let is_unmapped = map[logical as usize] == UNMAPPED;
                    if is_unmapped { content[word] |= bit } else { content[word] &= !bit }
                }
            }
        }
        self.parts[part as usize] = Part { sequence, lost };
        self.next_part = (part + 1) % self.parts.len() as u32;
    }

    /// What the newest summary of a part holds; nothing where no copy is kept.
    pub(crate) fn content_of(&self, part: u32) -> Vec<u32> {
        let Some(content) = &self.content else { return Vec::new() };
        content[self.words(part)].to_vec()
    }

    /// The newest summary of a part was not written: `before` is, and `content` is what it holds.
    pub(crate) fn unsum(&mut self, part: u32, before: Part, content: &[u32]) {
        let words = self.words(part);
        if let Some(present) = self.content.as_mut().filter(|_| !content.is_empty()) {
            present[words].copy_from_slice(content);
        }
        self.parts[part as usize] = before;
    }

    /// Where the content of a part lies.
    fn words(&self, part: u32) -> Range<usize> {
        let units = self.units(part);
        match self.kind {
            Summaries::Map => units.start as usize..units.end as usize,
            // A part is whole words, as a page is.
            Summaries::Unmapped => (units.start / u32::BITS) as usize..units.end.div_ceil(u32::BITS) as usize,
        }
    }

    /// Where a checkpoint has a unit mapped.
    pub(crate) fn mapped(&self, logical: u32) -> Option<u32> {
        let content = self.content.as_ref().filter(|_| self.kind == Summaries::Map && self.summed_up(logical) > 0)?;
        Some(content[logical as usize]).filter(|unit| *unit != UNMAPPED)
    }

    /// Whether a unit held nothing when its part was summed up.
    pub(crate) fn was_unmapped(&self, logical: u32) -> bool {
        let Some(content) = self.content.as_ref().filter(|_| self.kind == Summaries::Unmapped) else { return false };
        content[(logical / u32::BITS) as usize] >> (logical % u32::BITS) & 1 == 1
    }

    /// The oldest block, where no page of it tells anything that others do not. Never the last one.
    pub(crate) fn spent(&self) -> Option<SuperblockId> {
        let oldest = self.ring.front().filter(|_| self.ring.len() > 1)?;
        (oldest.newest < self.floor()).then_some(oldest.block)
    }

    /// The block that is written, and the next page of it; `None` before the first.
    pub(crate) fn next(&self) -> Option<(SuperblockId, u32)> {
        self.ring.back().map(|meta| (meta.block, meta.pages.len() as u32))
    }

    /// A page was programmed as the one of this number.
    pub(crate) fn push(&mut self, page: MetaPage, sequence: u64) {
        let meta = self.ring.back_mut().expect("a page is programmed in a block of the area");
        meta.pages.push(Some(page));
        meta.newest = sequence;
    }
}

/// Logical units that one summary tells of.
fn units_per_part(kind: Summaries, page_bytes: u32) -> u32 {
    match kind {
        Summaries::Unmapped => page_bytes * u8::BITS,
        Summaries::Map => page_bytes / size_of::<u32>() as u32,
    }
}

/// Journal pages that may be written before their summaries are.
const JOURNAL_SLACK: u64 = 4;

/// Firmware blocks that the metadata area takes at most. For each summary at most one journal page is written. A log that goes round holds
/// what is needed, the rest of its oldest block, and a block that was opened ahead.
pub fn metadata_blocks(kind: Summaries, logical_units: u64, page_bytes: u32, pages_per_block: u32) -> u64 {
    let parts = logical_units.div_ceil(u64::from(units_per_part(kind, page_bytes)));
    // A block's last page may stay empty, where the next block was opened ahead.
    (2 * parts + JOURNAL_SLACK).div_ceil(u64::from(pages_per_block - 1)) + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_summed_up_in_turn() {
        let mut area = Area::new(Summaries::Map, 40, 64).unwrap();
        area.keep_content(Table::filled(40, UNMAPPED).unwrap());
        assert_eq!((area.parts.len(), area.units(2), area.floor()), (3, 32..40, 0));
        let map: Vec<u32> = (0..40).map(|unit| if unit % 2 == 0 { unit + 100 } else { UNMAPPED }).collect();
        for (part, sequence) in [(0, 7), (1, 8), (2, 9)] {
            assert_eq!((area.next_part, area.floor()), (part, 0));
            area.sum_up(part, sequence, &map, vec![]);
        }
        assert_eq!((area.floor(), area.summed_up(39)), (7, 9));
        assert_eq!((area.mapped(38), area.mapped(39), area.was_unmapped(39)), (Some(138), None, false));
    }

    #[test]
    fn a_full_scan_is_told_what_holds_nothing() {
        let mut area = Area::new(Summaries::Unmapped, 100, 64).unwrap();
        let map: Vec<u32> = (0..100).map(|unit| if unit == 70 { UNMAPPED } else { unit }).collect();
        assert!(!area.was_unmapped(70));
        area.sum_up(0, 5, &map, vec![]);
        assert_eq!((area.was_unmapped(70), area.was_unmapped(71), area.mapped(71)), (true, false, None));
        area.sum_up(0, 9, &[3; 100], vec![]);
        assert!(!area.was_unmapped(70));
    }

    #[test]
    fn the_log_has_room_for_a_journal_page_with_every_summary() {
        // 1,024 units a summary of 4 KiB: 100 of them, and as many journal pages.
        assert_eq!(metadata_blocks(Summaries::Map, 102_400, 4096, 64), 4 + 2);
        assert_eq!(metadata_blocks(Summaries::Unmapped, 102_400, 4096, 64), 1 + 2);
    }
}
