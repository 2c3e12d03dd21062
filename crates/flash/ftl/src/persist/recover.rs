//! Recovery: rebuilds the firmware from what a power cut left.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use wane_nand::{Media, PageRead, Purpose, ReadOutcome, Task};
use wane_units::{SuperblockId, UnitId};

use super::area::{Change, MetaPage, Record, Summaries};
use super::cut::{Buffered, Kept, Ledger, PowerCut};
use super::oob::Stamp;
use super::striped::Unreadable;
use super::{Pending, Persist};
use crate::config::{BuildError, FtlConfig};
use crate::counters::Cause;
use crate::domain::Frontier;
use crate::engine::{EndOfLife, Ftl, Outcome, UNMAPPED};
use crate::payload::Payload;
use crate::policies::capacity::Demand;
use crate::policies::{BlockEvent, EraseCause, StreamId};

/// Map entry, during recovery, of a unit that was trimmed or lies in a buffer: pages no longer count for it.
const GONE: u32 = u32::MAX - 1;

/// What a recovery did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Pages of the checkpoint, or of the full scan's summaries, that were read.
    pub summary_pages_read: u64,
    /// Pages of the journal that were read.
    pub journal_pages_read: u64,
    /// Data pages whose out-of-band data were read, torn ones among them.
    pub data_pages_read: u64,
    /// Of all pages read, those whose program the power cut interrupted or that are uncorrectable because of wear. The out-of-band data of
    /// uncorrectable data pages can still be read, since they have their own code.
    pub pages_unreadable: u64,
    /// Blocks whose last programmed page was searched for.
    pub blocks_searched: u64,
    /// Blocks that were being written and are continued after their last page.
    pub blocks_resumed: u64,
    /// Blocks erased: those whose erase the cut may have interrupted and, if free blocks are short, those that hold nothing.
    pub blocks_erased: u64,
    /// Logical units that hold data.
    pub units_mapped: u64,
    /// Of these, units that came from the controller's buffers and were programmed again.
    pub units_rewritten: u64,
    /// Stripes that got new parity because they were open or their parity could not be read.
    pub stripes_closed: u64,
    /// Torn pages that were reconstructed from the rest of their stripe.
    pub pages_rebuilt: u64,
    /// Capacity that the drive demands because a block retired during recovery. Answer it as the demand of a write.
    pub demand: Option<Demand>,
}

/// What a read of a page finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Whole,
    /// Only its out-of-band data.
    OutOfBand,
    Nothing,
}

impl Recovery {
    fn note(&mut self, stop: Option<Outcome>) {
        if let Some(Outcome::Demand(demand)) = stop {
            self.demand = Some(demand);
        }
    }
}

impl<M: Media> Ftl<M> {
    /// Rebuilds the firmware from what a power cut left: flash, the metadata area and NVRAM. `config` is the drive's own.
    ///
    /// Policies begin anew. Also lost are the counts of reads since the last erase, the times at which blocks closed, and the blocks that
    /// a scrubber still had to check.
    ///
    /// # Errors
    /// The configuration contradicts itself, is that of another drive or keeps no out-of-band data, or there is not enough memory.
    pub fn recover(cut: PowerCut<M>, config: FtlConfig) -> Result<(Self, Recovery), BuildError> {
        Self::recover_watched(cut, config, |_| {})
    }

    /// As [`Ftl::recover`]. `ready` is called when everything is found, before the drive writes anything, so that a test can ask for
    /// power cuts during the recovery.
    ///
    /// # Errors
    /// As [`Ftl::recover`].
    pub fn recover_watched(
        cut: PowerCut<M>,
        config: FtlConfig,
        ready: impl FnOnce(&mut Self),
    ) -> Result<(Self, Recovery), BuildError> {
        let PowerCut {
            media,
            layout,
            logical,
            oob,
            stripes,
            area,
            nvram,
            kept,
            journal,
            buffered,
            payload,
            ledger,
            ..
        } = cut;
        let mut ftl = Self::assemble(media, config, false)?;
        let Some(persist) = &mut ftl.persist else { return Err(BuildError::NothingKept) };
        if !persist.area.is_like(&area) || !layout.is_like(&ftl.layout) {
            return Err(BuildError::AnotherDrive);
        }
        ftl.reverse = logical;
        (persist.oob, persist.area, persist.nvram) = (oob, area, nvram);
        // What was cut may come from a file of which not all was read.
        persist
            .oob
            .load()
            .and_then(|()| ftl.reverse.load())
            .map_err(|error| BuildError::Unreadable(error.to_string()))?;
        persist.oob.forget_rebuilt();
        for meta in &persist.area.ring {
            persist.in_area[meta.block.index()] = true;
        }
        let mut report = Recovery::default();
        ftl.restore_kept(kept, ledger);
        let mut records = ftl.read_area(&mut report);
        records.extend_from_slice(&journal);
        let in_nvram = |record| Pending { record, is_in_nvram: true };
        ftl.persisted_mut().journal = journal.into_iter().map(in_nvram).collect();
        ftl.drop_dangling_remaps();
        let held = ftl.group_stripes(stripes)?;
        // Units in the buffers are the newest of their logical units.
        buffered.iter().for_each(|unit| ftl.map[unit.logical.index()] = GONE);
        let unreadable = ftl.scan(&mut report);
        ftl.rebuild_torn(&unreadable, &held, &mut report);
        ftl.drop_torn_remaps();
        ftl.decide_moves(&mut records);
        ftl.apply_trims(&records);
        ftl.take_summaries_up();
        report.units_mapped = ftl.take_units_up();
        ftl.find_lost(&records);
        ftl.take_stripes_up(&unreadable, &held, &mut report);
        ftl.take_blocks_up(&mut report);
        ftl.take_payload_up(payload, &buffered);
        ftl.rescued = buffered;
        ready(&mut ftl);
        ftl.erase_again(&mut report);
        ftl.begin();
        ftl.reclaim_reserve(&mut report);
        ftl.rewrite_buffered(&mut report);
        ftl.move_rebuilt(&mut report);
        Ok((ftl, report))
    }

    pub(super) fn persisted(&self) -> &Persist {
        self.persist.as_ref().expect("a drive that recovers keeps out-of-band data")
    }

    pub(super) fn persisted_mut(&mut self) -> &mut Persist {
        self.persist.as_mut().expect("a drive that recovers keeps out-of-band data")
    }

    fn restore_kept(&mut self, kept: Kept, ledger: Ledger) {
        let Kept { exported, mode, trigger, retired } = kept;
        (self.exported, self.mode.mode, self.mode.trigger) = (exported, mode, trigger);
        for block in retired {
            if !std::mem::replace(&mut self.retired[block.index()], true) {
                let erases = self.erase_count[block.index()];
                let domain = &mut self.domains[self.layout.domain(block)];
                domain.free.remove(block, erases);
                domain.retired += 1;
                domain.tell(BlockEvent::Retired, block, erases);
                self.retired_blocks += 1;
            }
        }
        self.counters = ledger.counters;
        self.erases_initial = ledger.erases_initial;
        self.worn_before = ledger.worn_before;
        self.mode.blocks_initial = ledger.blocks_initial;
        for (domain, (gc, wear_leveling)) in self.domains.iter_mut().zip(ledger.erases) {
            (domain.gc_erases, domain.wear_leveling_erases) = (gc, wear_leveling);
        }
    }

    /// Reads the metadata area from its newest page back to the point from which summaries are enough. Returns the journal's records. All of its
    /// pages but torn ones are assumed to be readable whatever their wear, since drives keep them with few bits per cell and more than once.
    fn read_area(&mut self, report: &mut Recovery) -> Vec<Record> {
        let persist = self.persisted();
        let mut pages = Vec::new();
        for (number, meta) in persist.area.ring.iter().enumerate() {
            report.blocks_searched += 1;
            let rows = 0..persist.oob.programmed(meta.block);
            pages.extend(rows.filter(|row| !self.is_erased(meta.block, *row)).map(|row| (number, meta.block, row)));
        }
        let last = persist.area.ring.back().map_or(0, |meta| persist.oob.programmed(meta.block));
        let parts = persist.area.parts.len();
        let (mut seen, mut records, mut newest, mut owed) = (BTreeSet::new(), Vec::new(), None, 0);
        for (number, block, row) in pages.into_iter().rev() {
            let is_there = self.read_oob(block, row, report) != Found::Nothing;
            let persist = self.persisted();
            let page = persist.area.ring[number].pages.get(row as usize).filter(|_| is_there).and_then(Option::as_ref);
            match page {
                None => {}
                Some(MetaPage::Journal(found)) => {
                    report.journal_pages_read += 1;
                    owed += u32::from(newest.is_none());
                    records.extend_from_slice(found);
                }
                Some(MetaPage::Summary(part)) => {
                    report.summary_pages_read += 1;
                    newest.get_or_insert(*part);
                    seen.insert(*part);
                }
            }
            if seen.len() == parts {
                break;
            }
        }
        let persist = self.persisted_mut();
        persist.area.next_part = newest.map_or(0, |part| (part + 1) % parts as u32);
        if let Some(meta) = persist.area.ring.back_mut() {
            // Writing continues after a page that the cut tore.
            meta.pages.resize(last as usize, None);
        }
        persist.area.journal_owed = owed;
        persist.summed_up_at = persist.area.parts.iter().map(|part| part.sequence).max().unwrap_or(0);
        for (part, summary) in (0..).zip(&persist.area.parts) {
            debug_assert_eq!(summary.sequence > 0, seen.contains(&part), "the newest summary of each part is found");
        }
        records
    }

    /// Whether a page is erased, according to the search for the end of its flash block.
    fn is_erased(&self, block: SuperblockId, row: u32) -> bool {
        self.persisted().oob.stamp(self.layout.page_id(block, row)) == Stamp::Erased
    }

    /// Reads the out-of-band data of a page.
    fn read_oob(&mut self, block: SuperblockId, row: u32, report: &mut Recovery) -> Found {
        let oob = &self.persisted().oob;
        let stamp = oob.stamp(self.layout.page_id(block, row));
        let (flash, page) = self.layout.place_page(block, row);
        let bytes = self.media.geometry().page_size().0 as u32;
        let (task, purpose) = (Task::GarbageCollection, Purpose::Recover);
        let read = self.media.read(PageRead { block: flash, page, bytes, task, purpose, rereads_max: None });
        let found = match stamp {
            Stamp::At(_) if read == ReadOutcome::Uncorrectable => Found::OutOfBand,
            Stamp::At(_) => Found::Whole,
            Stamp::Torn | Stamp::Erased => Found::Nothing,
        };
        report.pages_unreadable += u64::from(found != Found::Whole);
        found
    }

    /// Drops entries of the remap log whose unit was never programmed, or is no longer there.
    fn drop_dangling_remaps(&mut self) {
        let layout = self.layout;
        let Persist { nvram, oob, .. } = self.persisted_mut();
        nvram.remaps.retain(|unit| oob.number(layout.page_of(UnitId(unit))).is_some());
    }

    /// Maps each logical unit to its newest place among the pages that have to be read. Returns the pages that cannot be read.
    fn scan(&mut self, report: &mut Recovery) -> Unreadable {
        let persist = self.persisted();
        let floor = persist.area.floor();
        let is_checkpoint = persist.area.kind() == Summaries::Map;
        let holds_data = |block: &SuperblockId| {
            persist.nvram.used[block.index()] && !self.retired[block.index()] && !persist.in_area[block.index()]
        };
        let blocks: BTreeSet<SuperblockId> = if is_checkpoint {
            persist.nvram.opened.iter().copied().filter(holds_data).collect()
        } else {
            self.layout.superblocks().filter(holds_data).collect()
        };
        let mut unreadable = Unreadable::default();
        for block in blocks {
            report.blocks_searched += 1;
            let end = self.persisted().oob.programmed(block);
            for row in (0..end).rev() {
                if self.is_erased(block, row) {
                    continue;
                }
                report.data_pages_read += 1;
                let found = self.read_oob(block, row, report);
                if found != Found::Whole {
                    unreadable.0.insert(self.layout.page_id(block, row));
                }
                if found == Found::Nothing {
                    continue;
                }
                self.layout.units_of(self.layout.page_id(block, row)).for_each(|unit| self.note_unit(unit));
                if is_checkpoint && self.sequence(self.layout.first_unit(self.layout.page_id(block, row))) < floor {
                    break;
                }
            }
        }
        // This includes units of blocks that need not be read.
        let remapped: Vec<u32> = self.persisted().nvram.remaps.iter().map(|(unit, ..)| unit).collect();
        let is_there = |unit: &u32| self.sequence(UnitId(*unit)) > 0;
        let remapped: Vec<u32> = remapped.into_iter().filter(is_there).collect();
        remapped.into_iter().for_each(|unit| self.note_unit(UnitId(unit)));
        unreadable
    }

    /// The sequence number of a unit's page; 0 if it cannot be read.
    fn sequence(&self, unit: UnitId) -> u64 {
        let persist = self.persisted();
        match persist.oob.stamp(self.layout.page_of(unit)) {
            Stamp::At(sequence) => sequence,
            Stamp::Erased | Stamp::Torn => 0,
        }
    }

    /// The logical unit whose data a unit holds, and since which sequence number. The out-of-band data say so, unless the unit was remapped
    /// after it was programmed.
    fn owner(&self, unit: UnitId) -> (u32, u64) {
        let persist = self.persisted();
        let programmed = self.sequence(unit);
        match persist.nvram.remaps.get(unit.0) {
            Some((logical, given)) if given > programmed => (logical, given),
            _ => (self.reverse[unit.index()], programmed),
        }
    }

    /// Adds a unit to the map if it is newer than the map's entry and the last summary. Of two versions in one page the first one is marked as
    /// holding nothing.
    pub(super) fn note_unit(&mut self, unit: UnitId) {
        let (logical, since) = self.owner(unit);
        let is_parity = logical >= self.logical_initial && (logical as usize) < self.map.len();
        if logical >= self.exported && !is_parity {
            return;
        }
        let area = &self.persisted().area;
        if !is_parity
            && since < area.summed_up(logical)
            && (area.kind() == Summaries::Map || area.was_unmapped(logical))
        {
            return;
        }
        let found = self.map[logical as usize];
        if found == GONE {
            return;
        }
        if found == UNMAPPED || self.owner(UnitId(found)).1 < since {
            self.map[logical as usize] = unit.0;
        }
    }

    /// Decides of each unit that a REMAP took in the midst of the cut whether it holds nothing, which is so if its destination has something newer
    /// than before the command. Both are wholly before it or wholly after it.
    fn decide_moves(&mut self, records: &mut Vec<Record>) {
        let is_open = |record: &mut Record| matches!(record.change, Change::Moved { .. });
        let mut open: Vec<Record> = records.extract_if(.., is_open).collect();
        // The newest first: a source may be the destination of an earlier command.
        open.sort_unstable_by_key(|record| Reverse(record.sequence));
        for record in open {
            let Change::Moved { to, since } = record.change else { continue };
            if self.is_newer(to, since, records) {
                records.push(Record { change: Change::Trimmed, ..record });
            }
        }
        self.persisted_mut().journal.retain_mut(|Pending { record, .. }| {
            let is_decided = !matches!(record.change, Change::Moved { .. });
            is_decided || {
                record.change = Change::Trimmed;
                records.contains(record)
            }
        });
    }

    /// Whether a unit was written, remapped or trimmed with this sequence number or later.
    fn is_newer(&self, logical: u32, since: u64, records: &[Record]) -> bool {
        let is_trimmed = |record: &Record| {
            let units = record.first..record.first + record.units;
            record.change == Change::Trimmed && record.sequence >= since && units.contains(&logical)
        };
        let is_written = match self.map[logical as usize] {
            GONE => true,
            UNMAPPED => false,
            unit => self.owner(UnitId(unit)).1 >= since,
        };
        is_written || self.persisted().area.summed_up(logical) >= since || records.iter().any(is_trimmed)
    }

    /// Unmaps units that were trimmed after they were written.
    fn apply_trims(&mut self, records: &[Record]) {
        for record in records.iter().filter(|record| record.change == Change::Trimmed) {
            for logical in record.first..(record.first + record.units).min(self.exported) {
                let area = &self.persisted().area;
                let since = match self.map[logical as usize] {
                    GONE => continue,
                    UNMAPPED => area.summed_up(logical),
                    unit => self.owner(UnitId(unit)).1,
                };
                if record.sequence > since {
                    self.map[logical as usize] = GONE;
                }
            }
        }
    }

    /// Maps units without a change since their last summary as that summary says.
    fn take_summaries_up(&mut self) {
        let Self { persist: Some(persist), map, exported, .. } = self else { return };
        for (logical, entry) in (0..*exported).zip(map.iter_mut()) {
            match *entry {
                GONE => *entry = UNMAPPED,
                UNMAPPED => *entry = persist.area.mapped(logical).unwrap_or(UNMAPPED),
                _ => {}
            }
        }
    }

    /// Marks the units that the map points to as valid. Returns their number.
    fn take_units_up(&mut self) -> u64 {
        let mut mapped = 0;
        for logical in 0..self.exported {
            let unit = self.map[logical as usize];
            if unit == UNMAPPED {
                continue;
            }
            mapped += 1;
            // Units in the remap log have another logical unit in their out-of-band data.
            self.reverse[unit as usize] = logical;
            let (block, within) = self.locator.locate(UnitId(unit));
            self.domains[self.layout.domain(block)].index.add_one(block, within);
        }
        mapped
    }

    /// Finds the units whose data are lost, according to their page, the journal or a summary.
    fn find_lost(&mut self, records: &[Record]) {
        let persist = self.persisted();
        let is_older = |logical: u32, than: u64| {
            let unit = self.map[logical as usize];
            unit != UNMAPPED && self.owner(UnitId(unit)).1 < than
        };
        let mut lost = BTreeSet::new();
        for record in records.iter().filter(|record| record.change == Change::Lost) {
            let units = record.first..record.first + record.units;
            lost.extend(units.filter(|logical| is_older(*logical, record.sequence)));
        }
        for part in &persist.area.parts {
            lost.extend(part.lost.iter().filter(|logical| is_older(**logical, part.sequence)));
        }
        for unit in persist.oob.lost_units() {
            let logical = self.reverse[unit as usize];
            if self.map.get(logical as usize) == Some(&unit) {
                lost.insert(logical);
            }
        }
        self.lost = lost;
    }

    /// Sorts the blocks. A block that was being written is continued after its last page. Any other block that holds something is closed. So is one
    /// with erased pages between others, since its flash blocks can no longer be programmed in parallel, and one that ends within a wordline
    /// if no buffer has the data that a program there might tear.
    fn take_blocks_up(&mut self, report: &mut Recovery) {
        let per_page = self.layout.units_per_page();
        let Some(persist) = &mut self.persist else { return };
        let mut closing = Vec::new();
        for block in self.layout.superblocks() {
            let programmed = persist.oob.programmed(block);
            let is_kept = persist.takes(block);
            if self.retired[block.index()] || programmed == 0 && !is_kept {
                persist.nvram.used[block.index()] = false;
                continue;
            }
            persist.accepted[block.index()] = programmed * per_page;
            let domain = &mut self.domains[self.layout.domain(block)];
            domain.free.remove(block, self.erase_count[block.index()]);
            domain.tell(BlockEvent::Opened, block, self.erase_count[block.index()]);
            if is_kept {
                continue;
            }
            let frontier = Frontier { block, next: programmed * per_page };
            let stream = persist.nvram.streams[block.index()];
            let place = match stream {
                Some(StreamId(0)) => Some(&mut domain.host),
                Some(stream) => domain.parked.get_mut(stream.index()).map(|parked| &mut parked.frontier),
                None => None,
            };
            // A block that summaries cover was closed before it was full. A later recovery would not look for new data in it.
            let is_told = persist.area.kind() == Summaries::Map && !persist.nvram.opened.contains(&block);
            let has_room = programmed < self.layout.pages_per_superblock() && !persist.oob.has_hole(block);
            let is_safe = persist.power_loss_protection || programmed.is_multiple_of(persist.wordline);
            let goes_on = has_room && is_safe && !is_told;
            match place.filter(|place| place.is_none() && goes_on) {
                Some(place) => {
                    report.blocks_resumed += 1;
                    *place = Some(frontier);
                }
                None => closing.push((persist.oob.last(block), block)),
            }
        }
        closing.sort_unstable();
        let now = self.counters.host_units_written;
        for (_, block) in closing {
            let erases = self.erase_count[block.index()];
            self.domains[self.layout.domain(block)].close(block, now, erases);
        }
    }

    /// Erases the blocks whose erase may have been cut short. If collection would find fewer free blocks than its reserve, also erases those
    /// without valid units: one may have been opened for data that never came.
    fn erase_again(&mut self, report: &mut Recovery) {
        // If time is kept, erases of the metadata area may lag behind its programs.
        let stop = self.drop_spent(&mut report.blocks_erased);
        report.note(stop);
        while let Some(block) = self.persist.as_ref().and_then(|persist| persist.nvram.erasing.first().copied()) {
            if self.retired[block.index()] {
                // Its erase failed, and then power did before the firmware noted it. The flash itself reports the failure.
                self.persisted_mut().nvram.erasing.remove(&block);
                continue;
            }
            if self.valid(block) > 0 {
                // The cut tore the newer version of these data together with a page of its wordline, so these are the newest left.
                self.keep_erasing(block);
                continue;
            }
            report.blocks_erased += 1;
            report.note(self.recycle_unclosed(block, EraseCause::GarbageCollection).stop());
        }
        for domain in 0..self.domains.len() {
            while (self.domains[domain].free.len() as u32) < self.gc_reserve
                && self.domains[domain].index.lowest() == Some(0)
                && let Some(block) = self.domains[domain].index.first(0)
            {
                report.blocks_erased += 1;
                self.domains[domain].index.open(block);
                report.note(self.recycle(domain, block, EraseCause::GarbageCollection).stop());
            }
        }
        // No block was free when one retired, before the others were erased.
        if self.dead == Some(EndOfLife::NoFreeBlock) && self.free_blocks_min() > 0 {
            self.dead = None;
        }
    }

    /// Leaves a block that was to be erased as it is.
    fn keep_erasing(&mut self, block: SuperblockId) {
        let (now, erases) = (self.counters.host_units_written, self.erase_count[block.index()]);
        self.persisted_mut().nvram.erasing.remove(&block);
        self.domains[self.layout.domain(block)].close(block, now, erases);
    }

    /// Finishes the collection that the cut interrupted, so that the host does not take the blocks that collection needs.
    fn reclaim_reserve(&mut self, report: &mut Recovery) {
        loop {
            match self.reclaim() {
                Outcome::Paused => {}
                outcome => return report.note(Some(outcome)),
            }
        }
    }

    /// Restores the payload of units that are programmed or lay in the buffers.
    fn take_payload_up(&mut self, payload: Option<Box<Payload>>, buffered: &[Buffered<M::Tag>]) {
        let Some(mut payload) = payload else { return };
        let (layout, oob) = (self.layout, &self.persisted().oob);
        let is_erased = |unit| oob.stamp(layout.page_of(UnitId(unit))) == Stamp::Erased;
        payload.recount(is_erased, buffered.iter().map(|unit| unit.payload));
        self.payload = Some(payload);
    }

    /// Programs the units that lay in the controller's buffers.
    pub(crate) fn rewrite_buffered(&mut self, report: &mut Recovery) {
        while let Some(unit) = self.rescued.first().copied() {
            let is_unmapped = self.map[unit.logical.index()] == UNMAPPED;
            if !self.rewrite(unit, report) {
                // A dead drive keeps the rest in its buffers.
                return;
            }
            report.units_rewritten += 1;
            report.units_mapped += u64::from(is_unmapped);
            if unit.is_lost {
                self.note_lost(unit.logical.0, true);
                self.lost.insert(unit.logical.0);
            }
            self.rescued.remove(0);
        }
    }

    /// Programs the buffered units that the drive could not program when it recovered.
    pub(crate) fn rewrite_rescued(&mut self) -> Outcome {
        let mut report = Recovery::default();
        self.rewrite_buffered(&mut report);
        let demanded = report.demand.map_or(Outcome::Done, Outcome::Demand);
        self.dead.map_or(demanded, Outcome::Dead)
    }

    /// Programs a unit that lay in the controller's buffer. Returns `false` if the drive is dead.
    pub(super) fn rewrite(&mut self, unit: Buffered<M::Tag>, report: &mut Recovery) -> bool {
        loop {
            self.tags_written.push(unit.tag);
            if let Some(payload) = &mut self.payload {
                payload.write_one(unit.payload);
            }
            let (done, outcome) = self.write_for(&[unit.logical.0], Cause::GarbageCollection);
            self.tags_written.clear();
            if let Some(payload) = &mut self.payload {
                payload.end_write();
            }
            let outcome = match outcome {
                Outcome::Paused => self.resume(),
                Outcome::Demand(_) => {
                    report.note(Some(outcome));
                    self.reclaim()
                }
                outcome => outcome,
            };
            if done == 1 || matches!(outcome, Outcome::Dead(_) | Outcome::OutOfRange(_)) {
                return done == 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::recovery::{FullScan, FullScanParams};
    use wane_nand::Array;
    use wane_units::{Bytes, Geometry, Lpn, Ratio};

    /// A drive that died while it recovered, with units 1 to 4 still in its buffers.
    fn rescued() -> Ftl<Array> {
        let geometry = Geometry::flat(20, 8, Bytes(4096)).expect("a small drive");
        let recovery = Box::new(<FullScan as crate::policies::Builtin>::build(FullScanParams::default()));
        let config = FtlConfig { recovery, ..FtlConfig::new(&geometry, Ratio::new(0.5).expect("a ratio")) };
        let mut ftl = Ftl::new(Array::new(geometry), config).expect("it has room");
        ftl.rescued =
            [1, 2, 3, 4].map(|unit| Buffered { logical: Lpn(unit), tag: (), is_lost: unit == 4, payload: 0 }).into();
        ftl
    }

    fn left(ftl: &Ftl<Array>) -> Vec<u32> {
        ftl.rescued.iter().map(|rescued| rescued.logical.0).collect()
    }

    #[test]
    fn what_comes_later_is_newer_than_what_a_recovery_left_in_buffers() {
        let mut ftl = rescued();
        assert_eq!(ftl.write(&[Lpn(1), Lpn(9)]), (2, Outcome::Done));
        ftl.trim(&[Lpn(2)]).expect("it is exported");
        assert_eq!(left(&ftl), [3, 4]);
        ftl.remap(Lpn(10), Lpn(3), 2, 1).expect("it is exported");
        assert_eq!(left(&ftl), [10, 4]);
        ftl.remap(Lpn(10), Lpn(9), 1, 1).expect("it is exported");
        assert_eq!(left(&ftl), [4]);
        let cut = ftl.power_cut().expect("it keeps out-of-band data");
        assert_eq!(cut.buffered.iter().map(|unit| unit.logical.0).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn what_a_recovery_left_in_buffers_is_read_there_and_programmed_once_there_is_room() {
        let mut ftl = rescued();
        ftl.read(&[Lpn(1), Lpn(4), Lpn(5)]).expect("they are exported");
        assert_eq!((ftl.counters().host_units_read_unmapped, ftl.unread()), (1, &[Lpn(4)][..]));
        assert_eq!(ftl.look_for_space(), Outcome::Done);
        assert_eq!(left(&ftl), [0; 0]);
        assert!((1..=4).all(|unit| ftl.lookup(Lpn(unit)).is_some()) && ftl.is_lost(Lpn(4)) && !ftl.is_lost(Lpn(3)));
    }
}
