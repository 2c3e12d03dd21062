//! Operations in flight: those that the firmware has already done, but the flash has not.
//!
//! State changes at once, and time follows. If time is kept, a power cut finds programs and erases that have not ended. The firmware keeps
//! what it needs to undo each of them until it hears that the operation is done.
//!
//! The cut undoes them from the newest on, and corrects what NVRAM said too early. A block that was not erased waits for its erase, or still
//! belongs to the metadata area; it is not out of service; and a block that was opened after its erase was not opened. Pages that a summary
//! made obsolete are still there if the summary was not written. Everything else in NVRAM was acknowledged or does not depend on flash.
//!
//! This relies on the order that the firmware demands ([`wane_nand::Barrier`]). The metadata area is programmed in order, after all that it
//! records. A block of it is erased after the summaries that made it obsolete. Without power-loss protection any block is erased after
//! all that was programmed before.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_nand::{Barrier, Media};
pub use wane_units::Fate;
use wane_units::{SuperblockId, UnitId};

use super::Pending;
use super::area::{MetaBlock, MetaPage, Part, Record};
use super::cut::{Buffered, PowerCut};
use super::oob::OobPast;
use super::write::JOURNAL_AHEAD;
use crate::config::PageId;
use crate::engine::Ftl;
use crate::policies::EraseCause;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(crate) struct Flight<M: Media> {
    /// Number of programs and erases that are done, counted from the start. It is the number of the first entry.
    first: u64,
    entries: VecDeque<Entry<M::Past>>,
    /// A block that was taken out of the metadata area and is about to be erased.
    dropped: Option<MetaBlock>,
    /// Units that were relocated into pages that are not programmed yet, with their origins. Empty if buffers survive.
    moved: BTreeMap<u32, u32>,
    /// Relocated units of programmed pages on wordlines that are not full, with their origins. A power cut may tear them together with
    /// a later page.
    unfilled: BTreeMap<PageId, Vec<(u32, u32)>>,
    /// Units that were remapped while programs before that were in flight, the oldest first.
    remapped: VecDeque<Remapped>,
}

/// A unit whose data got another address while they may still have been in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Remapped {
    /// Number of the first program or erase after the command.
    until: u64,
    from: u32,
    to: u32,
    /// Sequence number of the command.
    since: u64,
    /// Sequence number of the record that the source holds nothing.
    trimmed: u64,
}

/// The program of a page or the erase of a flash block.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry<P> {
    block: SuperblockId,
    change: Change<P>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Change<P> {
    Program {
        page: u32,
        /// For a page of the metadata area.
        meta: Option<Box<MetaPast>>,
        /// Its relocated units, with their origins.
        moved: Vec<(u32, u32)>,
    },
    /// The erase of one member of a block. The first member's entry has what the firmware knew of the block.
    Erase { past: P, block: Option<Box<BlockPast>> },
}

/// The state that a page of the metadata area replaced.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum MetaPast {
    /// Its records, which were in the journal.
    Journal(Vec<Pending>),
    Summary {
        part: u32,
        sequence: u64,
        before: Part,
        content: Vec<u32>,
        /// Blocks that were opened since the oldest summary before it.
        opened: VecDeque<SuperblockId>,
    },
}

/// What the firmware knew of a block before its erase.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BlockPast {
    cause: EraseCause,
    oob: OobPast,
    /// The logical units of its units.
    logical: Vec<u32>,
    /// Its entries of the remap log.
    remaps: Vec<(u32, u32, u64)>,
    /// The stripes of its pages; empty if there are none.
    stripes: Vec<u32>,
    /// The payload of its units; empty if none is kept.
    payload: Vec<u32>,
    /// Its state in the metadata area, if it belonged there.
    meta: Option<MetaBlock>,
}

impl<M: Media> Ftl<M> {
    /// Makes programs and erases from now on count as in flight until [`Ftl::landed`] says that they are done. They are numbered from `first`
    /// in the order in which the medium lists them. `None`: they are done at once. Earlier ones are done. Does nothing if the drive keeps no
    /// out-of-band data.
    ///
    /// # Panics
    /// The medium does not see every operation.
    pub fn keep_flight(&mut self, first: Option<u64>) {
        assert!(M::DETAILED || first.is_none(), "operations have an order in time where the medium sees each");
        self.landed(u64::MAX);
        self.flight = first.filter(|_| self.persist.is_some()).map(|first| Box::new(Flight::new(first)));
    }

    /// Writes the operations in flight to a file, or reads them back.
    ///
    /// # Errors
    /// As of [`Archive`]; or operations are in flight in the file, and this drive keeps no out-of-band data.
    pub fn archive_flight(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError>
    where
        M::Past: Serialize + DeserializeOwned,
    {
        // A truth value in older files, which have no remaps.
        let mut kept = self.flight.as_ref().map_or(0, |flight| if flight.remapped.is_empty() { 1 } else { 2u8 });
        archive.field("flight.is-kept", &mut kept)?;
        if archive.is_reading() {
            self.keep_flight((kept > 0).then_some(0));
        }
        match &mut self.flight {
            Some(flight) => {
                flight.archive(archive)?;
                if kept == 2 { archive.field("flight.remapped", &mut flight.remapped) } else { Ok(()) }
            }
            None if kept > 0 => {
                let (found, wanted) = ("kept".to_owned(), "without out-of-band data".to_owned());
                Err(ArchiveError::AnotherDrive { name: "flight".to_owned(), found, wanted })
            }
            None => Ok(()),
        }
    }

    /// Notes that the first `count` programs and erases are done.
    pub fn landed(&mut self, count: u64) {
        let (Some(flight), Some(persist)) = (&mut self.flight, &self.persist) else { return };
        while flight.remapped.front().is_some_and(|remapped| remapped.until <= count) {
            flight.remapped.pop_front();
        }
        while flight.first < count
            && let Some(Entry { block, change }) = flight.entries.pop_front()
        {
            flight.first += 1;
            match change {
                Change::Erase { block: Some(past), .. } => {
                    let (first, pages) = (self.layout.page_id(block, 0).0, self.layout.pages_per_superblock());
                    flight.unfilled.retain(|page, _| !(first..first + pages).contains(&page.0));
                    if let Some(payload) = &mut self.payload {
                        payload.give_up(&past.payload);
                    }
                }
                Change::Program { page, moved, .. } if persist.wordline > 1 => {
                    flight.unfilled.insert(self.layout.page_id(block, page), moved);
                    let (start, width) = (page / persist.wordline * persist.wordline, self.layout.width());
                    let is_full = page + width >= (start + persist.wordline).min(self.layout.pages_per_superblock());
                    for filled in self.layout.pages_below(page, start).chain([page]).filter(|_| is_full) {
                        flight.unfilled.remove(&self.layout.page_id(block, filled));
                    }
                }
                _ => {}
            }
        }
    }

    /// Number of the next program or erase; 0 if they are not numbered.
    pub fn changes(&self) -> u64 {
        self.flight.as_ref().map_or(0, |flight| flight.first + flight.entries.len() as u64)
    }

    /// Cuts the power. `fate` says by number what happened to each program and erase that did not land. An operation may be done only if all that it
    /// waits for is done, and torn only if it had begun. `None` if the drive keeps no out-of-band data.
    pub fn power_cut_in_flight(mut self, mut fate: impl FnMut(u64) -> Fate) -> Option<PowerCut<M>> {
        let Some(flight) = self.flight.take() else { return self.power_cut() };
        let fates: Vec<Fate> = (flight.first..).take(flight.entries.len()).map(&mut fate).collect();
        let persist = self.persist.as_ref()?;
        let survives = persist.power_loss_protection;
        let buffered = if survives { self.unprogrammed_units(&flight, &fates) } else { Vec::new() };
        let mut cut = self.power_cut()?;
        for unit in buffered {
            cut.buffered.retain(|other| other.logical != unit.logical);
            cut.buffered.push(unit);
        }
        cut.undo_all(*flight, fates, survives);
        Some(cut)
    }

    /// Units of pages that were not programmed. Such a unit is the newest version of its logical unit if the map points to it.
    fn unprogrammed_units(&self, flight: &Flight<M>, fates: &[Fate]) -> Vec<Buffered<M::Tag>> {
        let mut found = Vec::new();
        let Some(persist) = &self.persist else { return found };
        for (entry, fate) in flight.entries.iter().zip(fates) {
            let Change::Program { page, ref meta, .. } = entry.change else { continue };
            let first = match fate {
                Fate::Done => continue,
                Fate::Torn if meta.is_none() => page / persist.wordline * persist.wordline,
                Fate::Torn | Fate::Undone => page,
            };
            for page in self.layout.pages_below(page, first).chain([page]) {
                let units = self.layout.units_of(self.layout.page_id(entry.block, page));
                found.extend(units.filter_map(|unit| self.newest(persist, unit)));
            }
        }
        found
    }

    /// Notes that a page is about to be programmed.
    pub(crate) fn note_program(&mut self, block: SuperblockId, page: u32) {
        let Some(flight) = &mut self.flight else { return };
        let units = self.layout.units_of(self.layout.page_id(block, page));
        let moved = units.filter_map(|unit| Some((unit.0, flight.moved.remove(&unit.0)?))).collect();
        flight.entries.push_back(Entry { block, change: Change::Program { page, meta: None, moved } });
    }

    /// Notes that a unit is about to be relocated. A REMAP before its program has ended must not lose the data at its origin.
    pub(crate) fn note_moved(&mut self, from: UnitId, to: UnitId) {
        if let (Some(flight), Some(persist)) = (&mut self.flight, &self.persist)
            && !persist.power_loss_protection
        {
            flight.moved.insert(to.0, from.0);
        }
    }

    /// Notes a REMAP of these pairs of units, from where to where, that just took place. `since`: its sequence number. The source is trimmed only if
    /// the destination has the data: a cut that undoes their program undoes both.
    pub(crate) fn note_remapped(&mut self, pairs: &[(u32, u32)], since: u64) {
        let (Some(flight), Some(persist)) = (&mut self.flight, &self.persist) else { return };
        let Some(trim) = persist.journal.last().filter(|_| !flight.entries.is_empty()) else { return };
        let (until, trimmed) = (flight.first + flight.entries.len() as u64, trim.record.sequence);
        flight.remapped.extend(pairs.iter().map(|(from, to)| Remapped { until, from: *from, to: *to, since, trimmed }));
    }

    /// Notes that a page of the metadata area is about to be programmed.
    pub(crate) fn note_meta(&mut self, block: SuperblockId, page: u32, meta: &MetaPage) {
        let (Some(flight), Some(persist)) = (&mut self.flight, &self.persist) else { return };
        let meta = match meta {
            MetaPage::Journal(records) => MetaPast::Journal(persist.journal[..records.len()].to_vec()),
            MetaPage::Summary(part) => MetaPast::Summary {
                part: *part,
                sequence: persist.oob.next(),
                before: persist.area.parts[*part as usize].clone(),
                content: persist.area.content_of(*part),
                opened: persist.nvram.opened.clone(),
            },
        };
        flight.entries.push_back(Entry {
            block,
            change: Change::Program { page, meta: Some(Box::new(meta)), moved: Vec::new() },
        });
    }

    /// Notes that a block was taken out of the metadata area.
    pub(crate) fn note_dropped(&mut self, dropped: Option<MetaBlock>) {
        if let Some(flight) = &mut self.flight {
            flight.dropped = dropped;
        }
    }

    /// Notes that a block, with all its members, is about to be erased.
    pub(crate) fn note_erase(&mut self, block: SuperblockId, cause: EraseCause) {
        if self.flight.is_none() {
            return;
        }
        let first = self.layout.unit(block, 0).0;
        let units = first..first + self.units_per_block;
        let first_page = self.layout.page_id(block, 0).0;
        let stripes = self.stripes_named(first_page..first_page + self.layout.pages_per_superblock());
        let (Some(flight), Some(persist)) = (&mut self.flight, &self.persist) else { return };
        let mut past = Some(Box::new(BlockPast {
            cause,
            oob: persist.oob.past(block, units.clone()),
            logical: self.reverse[first as usize..units.end as usize].to_vec(),
            payload: self.payload.as_mut().map(|payload| payload.take_out(units.clone())).unwrap_or_default(),
            remaps: persist.nvram.remaps.of(units),
            stripes,
            meta: flight.dropped.take(),
        }));
        for member in self.layout.members(block) {
            let change = Change::Erase { past: self.media.past(member), block: past.take() };
            flight.entries.push_back(Entry { block, change });
        }
    }

    /// Orders the erase of a block's member after other programs, in addition to those in the block and of the data moved out of it.
    pub(crate) fn order_erase(&mut self, cause: EraseCause) {
        let Some(persist) = &self.persist else { return };
        // Units that replaced the block's data may be in flight, and so may the summaries that replaced a journal page.
        if cause == EraseCause::Metadata || !persist.power_loss_protection {
            self.media.barrier(Barrier::Programs);
        }
    }
}

impl<M: Media> Flight<M> {
    fn new(first: u64) -> Self {
        let (moved, unfilled) = (BTreeMap::new(), BTreeMap::new());
        Self { first, entries: VecDeque::new(), dropped: None, moved, unfilled, remapped: VecDeque::new() }
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError>
    where
        M::Past: Serialize + DeserializeOwned,
    {
        archive.field("flight.first", &mut self.first)?;
        archive.field("flight.entries", &mut self.entries)?;
        archive.field("flight.dropped", &mut self.dropped)?;
        archive.field("flight.moved", &mut self.moved)?;
        archive.field("flight.unfilled", &mut self.unfilled)
    }

    /// Payload that the units of blocks held that are being erased.
    pub(crate) fn payload(&self) -> impl Iterator<Item = u32> {
        let of_entry = |entry: &Entry<M::Past>| match &entry.change {
            Change::Erase { block: Some(past), .. } => past.payload.clone(),
            _ => Vec::new(),
        };
        self.entries.iter().flat_map(of_entry)
    }
}

impl<M: Media> PowerCut<M> {
    /// Undoes the operations that were not done, from the newest on.
    fn undo_all(&mut self, flight: Flight<M>, fates: Vec<Fate>, all_records_survive: bool) {
        let Flight { entries, mut unfilled, remapped, .. } = flight;
        let (mut members, mut seen) = (Vec::new(), [false; 2]);
        // Blocks whose erase had begun. One member may be erased before earlier programs of other members have begun. The data of these pages
        // were moved away before, so the block holds nothing, whatever happened to the programs.
        let mut torn = BTreeSet::new();
        // Pages that were torn together with a later one of their wordline.
        let mut torn_along = BTreeSet::new();
        for (Entry { block, change }, fate) in entries.into_iter().zip(fates).rev() {
            match change {
                Change::Program { page, meta, moved } => {
                    if fate != Fate::Done && !torn.contains(&block) {
                        self.undo_moves(moved);
                        self.undo_program(block, page, all_records_survive);
                        if fate == Fate::Torn {
                            torn_along.extend(self.tear_wordline(block, page, &mut unfilled));
                        }
                        if let Some(meta) = meta {
                            self.undo_meta(block, page, *meta, fate, all_records_survive);
                        }
                    } else if torn_along.contains(&self.layout.page_id(block, page)) {
                        self.undo_moves(moved);
                    }
                }
                Change::Erase { past, block: of_block } => {
                    members.push(past);
                    seen = [seen[0] | (fate != Fate::Undone), seen[1] | (fate != Fate::Done)];
                    let Some(of_block) = of_block else { continue };
                    let fate = match seen {
                        [true, true] => Fate::Torn,
                        [true, false] => fate,
                        [false, _] => Fate::Undone,
                    };
                    seen = [false; 2];
                    let first = self.layout.page_id(block, 0).0;
                    torn_along.retain(|page| !(first..first + self.layout.pages_per_superblock()).contains(&page.0));
                    let members = std::mem::take(&mut members);
                    if torn.contains(&block) {
                        // A later erase had begun, so this one had, and the medium counts it.
                        continue;
                    }
                    self.undo_erase(block, members, *of_block, fate);
                    if fate == Fate::Torn {
                        torn.insert(block);
                    }
                }
            }
        }
        self.close_unbegun();
        remapped.into_iter().for_each(|remapped| self.leave_open(remapped));
    }

    /// Leaves it to the recovery whether the source of a REMAP holds nothing: it finds whether the destination has the data. A record on a page
    /// of the metadata area was written after them, so there is nothing to decide.
    fn leave_open(&mut self, Remapped { from, to, since, trimmed, .. }: Remapped) {
        let is_its = |record: &Record| {
            let units = record.first..record.first + record.units;
            record.change == super::area::Change::Trimmed && record.sequence == trimmed && units.contains(&from)
        };
        let Some(place) = self.journal.iter().position(is_its) else { return };
        let whole = self.journal[place];
        let before = Record { units: from - whole.first, ..whole };
        let own = Record { first: from, units: 1, change: super::area::Change::Moved { to, since }, ..whole };
        let after = Record { first: from + 1, units: whole.first + whole.units - from - 1, ..whole };
        self.journal.splice(place..=place, [before, own, after].into_iter().filter(|record| record.units > 0));
    }

    fn undo_program(&mut self, block: SuperblockId, page: u32, buffer_survives: bool) {
        let (flash, row) = self.layout.place_page(block, page);
        let id = self.layout.page_id(block, page);
        let first = self.layout.first_unit(id).0;
        self.leave_stripe(id, buffer_survives);
        self.media.unprogram(flash, row);
        let units = first..first + self.layout.units_per_page();
        self.oob.unprogram(id, units.clone());
        // The remapped data are not there, and the data before the erase were others.
        self.nvram.remaps.forget(units);
    }

    /// Tears a page and the pages before it on its wordline. Returns the latter.
    fn tear_wordline(
        &mut self,
        block: SuperblockId,
        page: u32,
        unfilled: &mut BTreeMap<PageId, Vec<(u32, u32)>>,
    ) -> Vec<PageId> {
        self.tear(block, page);
        let mut along = Vec::new();
        for below in self.wordline_below(block, page) {
            let id = self.layout.page_id(block, below);
            self.undo_moves(unfilled.remove(&id).unwrap_or_default());
            self.tear(block, below);
            along.push(id);
        }
        along
    }

    /// Undoes relocations: entries of the remap log go back to the origins of the units.
    fn undo_moves(&mut self, moved: Vec<(u32, u32)>) {
        for (unit, from) in moved {
            if let Some((logical, sequence)) = self.nvram.remaps.get(unit) {
                self.nvram.remaps.put_back(from, logical, sequence);
            }
        }
    }

    fn undo_meta(&mut self, block: SuperblockId, page: u32, meta: MetaPast, fate: Fate, all_records_survive: bool) {
        if let Some(of_ring) = self.area.ring.iter_mut().find(|of_ring| of_ring.block == block) {
            // The area is programmed in order, so this is its last page.
            of_ring.pages.truncate(page as usize);
            if fate == Fate::Torn {
                of_ring.pages.push(None);
            }
        }
        match meta {
            MetaPast::Journal(records) => {
                let kept = records.into_iter().filter(|pending| all_records_survive || pending.is_in_nvram);
                self.journal.splice(0..0, kept.map(|pending| pending.record));
            }
            MetaPast::Summary { part, sequence, before, content, opened } => {
                if self.area.parts[part as usize].sequence == sequence {
                    self.area.unsum(part, before, &content);
                }
                let since = std::mem::replace(&mut self.nvram.opened, opened);
                for block in since {
                    if !self.nvram.opened.contains(&block) {
                        self.nvram.opened.push_back(block);
                    }
                }
            }
        }
    }

    /// Undoes an erase. `members` are the pasts of the block's flash blocks, the last one first.
    fn undo_erase(&mut self, block: SuperblockId, members: Vec<M::Past>, past: BlockPast, fate: Fate) {
        if fate == Fate::Done {
            return;
        }
        // The block was opened again since then, but that use never began.
        self.area.ring.retain(|of_ring| of_ring.block != block);
        for (member, past) in self.layout.members(block).zip(members.into_iter().rev()) {
            self.media.unerase(member, past);
            if fate == Fate::Torn {
                self.media.tear_block(member);
            }
        }
        let BlockPast { cause, oob, logical, remaps, stripes, payload, meta } = past;
        self.ledger.uncount(self.layout.domain(block), cause, self.layout.width());
        self.kept.retired.retain(|retired| *retired != block);
        self.nvram.used[block.index()] = true;
        let first = self.layout.unit(block, 0).0;
        for (unit, logical, sequence) in remaps {
            self.nvram.remaps.put_back(unit, logical, sequence);
        }
        self.logical[first as usize..][..logical.len()].copy_from_slice(&logical);
        let first_page = self.layout.page_id(block, 0).0;
        self.forget_stripes(first_page..first_page + self.layout.pages_per_superblock());
        if fate == Fate::Undone {
            self.oob.unerase(block, oob);
            self.put_stripes_back(first_page, &stripes);
            if let Some(held) = &mut self.payload {
                held.put_back(first, &payload);
            }
        } else {
            self.oob.erase(block, first..first + self.layout.units_per_block());
        }
        match meta.filter(|_| cause == EraseCause::Metadata && fate == Fate::Undone) {
            Some(meta) => {
                // It may have been erased once more since then, as a data block.
                self.nvram.erasing.remove(&block);
                self.area.ring.push_front(meta);
            }
            None => {
                self.nvram.erasing.insert(block);
            }
        }
    }

    /// Closes blocks of the metadata area that hold nothing, since they were opened too early. One stays if the block before it is almost full.
    fn close_unbegun(&mut self) {
        let pages = self.layout.pages_per_superblock();
        let mut room = 0;
        self.area.ring.retain(|of_ring| {
            let is_kept = !of_ring.pages.is_empty() || room < JOURNAL_AHEAD;
            if is_kept {
                room = pages - of_ring.pages.len() as u32;
            }
            is_kept
        });
    }
}
