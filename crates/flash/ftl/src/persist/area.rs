//! The metadata area: separate blocks, written as a circular log.
//!
//! It holds two kinds of pages. A journal page lists trims and losses, which no data page records. A summary describes a part of
//! the logical units at the time when it was written: where each is mapped (`checkpoint`), or which ones hold nothing
//! (`full-scan`). Summaries are written in turn, so the last summary of each part is among the newest pages. Once every part was
//! summed up after a journal page, that page is obsolete. The log's oldest block can be erased once all its pages are.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::SuperblockId;

use crate::engine::UNMAPPED;
use crate::table::Table;

/// Bytes of a journal record: first unit, number of units, sequence number and kind.
const RECORD_BYTES: u64 = 16;

/// What happened to logical units without a program of a page.
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
    /// The data that they hold are lost.
    Lost,
    /// A REMAP took the data of this one unit, and a power cut came while they were still being programmed. It holds nothing if unit `to` has
    /// something since the sequence number `since`; otherwise the command never happened to it. Recovery decides that; no page ever has it.
    Moved { to: u32, since: u64 },
}

/// What summaries record of a logical unit.
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
    /// The summary of the part with this number. Its content lies in the area's table, since only a part's newest summary is ever read.
    Summary(u32),
}

/// A block of the area.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MetaBlock {
    pub(crate) block: SuperblockId,
    /// The programmed pages, in order; `None` for a page whose program a power cut interrupted.
    pub(crate) pages: Vec<Option<MetaPage>>,
    /// The sequence number of its last page.
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

/// What lies on the flash of the metadata area, and where writing continues.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    kind: Summaries,
    logical_units: u32,
    units_per_part: u32,
    records_per_page: usize,
    pub(crate) parts: Vec<Part>,
    /// Content of the newest summary of each part: map entries, or words of bits. `None`: the drive's map serves, see [`Area::keep_content`].
    content: Option<Table<u32>>,
    /// The part that is summed up next; its summary is the oldest.
    pub(crate) next_part: u32,
    /// The log's blocks, the oldest first. The last one is written.
    pub(crate) ring: VecDeque<MetaBlock>,
    /// Journal pages for which a summary still has to be written, so that the log stays short.
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

    /// Writes everything to a file, or reads it back into the area of a drive of the same kind.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("area.parts", &(self.parts.len() as u32))?;
        archive.field("area.summaries", &mut self.parts)?;
        // A drive that has recovered once keeps the content, whatever it did before.
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

    /// Whether two areas have the same kind of summaries and the same number of units.
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

    /// Sequence number before which recovery relies on summaries alone.
    pub(crate) fn floor(&self) -> u64 {
        self.parts[self.next_part as usize].sequence
    }

    /// Sequence number of the last summary of a logical unit; 0 if there is none.
    pub(crate) fn summed_up(&self, logical: u32) -> u64 {
        self.parts[(logical / self.units_per_part) as usize].sequence
    }

    /// The units of a part.
    pub(crate) fn units(&self, part: u32) -> Range<u32> {
        let first = part * self.units_per_part;
        first..(first + self.units_per_part).min(self.logical_units)
    }

    /// Keeps a copy of what each page of the checkpoint holds from now on. `map` is the drive's map, as they may hold it now.
    ///
    /// Recovery reads an entry of a page only if no later change of its unit survived the cut. With power-loss protection every change survives.
    /// Then an entry is read only if its unit did not change, and it equals the map's entry at the cut: no copy is needed.
    pub(crate) fn keep_content(&mut self, map: Table<u32>) {
        if self.kind == Summaries::Map {
            self.content = Some(map);
        }
    }

    pub(crate) fn keeps_content(&self) -> bool {
        self.content.is_some()
    }

    /// Notes the new summary of a part. `map` is the drive's, `lost` the units of the part whose data are lost.
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

    /// The content of the newest summary of a part; empty if no copy is kept.
    pub(crate) fn content_of(&self, part: u32) -> Vec<u32> {
        let Some(content) = &self.content else { return Vec::new() };
        content[self.words(part)].to_vec()
    }

    /// Undoes the newest summary of a part, which was not written. `before` is the summary before it, `content` its content.
    pub(crate) fn unsum(&mut self, part: u32, before: Part, content: &[u32]) {
        let words = self.words(part);
        if let Some(present) = self.content.as_mut().filter(|_| !content.is_empty()) {
            present[words].copy_from_slice(content);
        }
        self.parts[part as usize] = before;
    }

    /// Range of the words with the content of a part.
    fn words(&self, part: u32) -> Range<usize> {
        let units = self.units(part);
        match self.kind {
            Summaries::Map => units.start as usize..units.end as usize,
            // A part has whole words, as a page has.
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

    /// The oldest block, if all its pages are obsolete. Never the last block.
    pub(crate) fn spent(&self) -> Option<SuperblockId> {
        let oldest = self.ring.front().filter(|_| self.ring.len() > 1)?;
        (oldest.newest < self.floor()).then_some(oldest.block)
    }

    /// The block that is being written and its next page; `None` before the first block.
    pub(crate) fn next(&self) -> Option<(SuperblockId, u32)> {
        self.ring.back().map(|meta| (meta.block, meta.pages.len() as u32))
    }

    /// Adds a page that was programmed with this sequence number.
    pub(crate) fn push(&mut self, page: MetaPage, sequence: u64) {
        let meta = self.ring.back_mut().expect("a page is programmed in a block of the area");
        meta.pages.push(Some(page));
        meta.newest = sequence;
    }
}

/// Number of logical units that one summary covers.
fn units_per_part(kind: Summaries, page_bytes: u32) -> u32 {
    match kind {
        Summaries::Unmapped => page_bytes * u8::BITS,
        Summaries::Map => page_bytes / size_of::<u32>() as u32,
    }
}

/// Journal pages that may be written before their summaries are.
const JOURNAL_SLACK: u64 = 4;

/// Most firmware blocks that the metadata area takes. At most one journal page is written for each summary. A circular log holds the needed
/// pages, the rest of its oldest block, and a block that was opened ahead.
pub fn metadata_blocks(kind: Summaries, logical_units: u64, page_bytes: u32, pages_per_block: u32) -> u64 {
    let parts = logical_units.div_ceil(u64::from(units_per_part(kind, page_bytes)));
    // A block's last page may stay empty if the next block was opened ahead.
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
