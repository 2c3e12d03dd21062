//! What the firmware writes so that it survives a power cut.

use wane_nand::{Barrier, Media, Task};
use wane_units::{BlockId, Lpn, SuperblockId, UnitId};

use super::area::{Change, MetaBlock, MetaPage, Record, Summaries};
use super::oob::Stamp;
use super::{Event, Pending, Persist};
use crate::counters::{Cause, CountPrograms};
use crate::domain::Frontier;
use crate::engine::{EndOfLife, Ftl, Outcome, UNMAPPED};
use crate::policies::recovery::RecoveryView;
use crate::policies::{BlockEvent, EraseCause, StreamId};
use crate::reclaim::Recycled;

/// Journal pages that may have to be written before [`Ftl::keep`] is called again: one for the host's commands since then, and one
/// for the present command.
pub(super) const JOURNAL_AHEAD: u32 = 2;

impl<M: Media> Ftl<M> {
    /// Whether the drive keeps out-of-band data, so that it can recover from a power cut.
    pub fn keeps_out_of_band(&self) -> bool {
        self.persist.is_some()
    }

    /// Whether data may lie in memory that a power cut clears, until they are flushed.
    pub fn may_lose_buffers(&self) -> bool {
        self.persist.as_ref().is_some_and(|persist| !persist.power_loss_protection)
    }

    /// Whether a flash block belongs to the metadata area.
    pub fn is_metadata(&self, flash: BlockId) -> bool {
        self.persist.as_ref().is_some_and(|persist| persist.in_area[self.layout.holder(flash).index()])
    }

    /// Programs pages with their out-of-band data. `end`: the block's first unit that was not accepted yet.
    pub(crate) fn program_stamped(&mut self, block: SuperblockId, pages: std::ops::Range<u32>, end: u32, task: Task) {
        let Some(persist) = &mut self.persist else { return };
        persist.accepted[block.index()] = end;
        if pages.is_empty() {
            return;
        }
        let is_padded = self.layout.units_per_page() > 1 || persist.wordline > 1;
        let is_marked = is_padded || !self.lost.is_empty();
        if self.capture.is_none() {
            if is_marked {
                pages.clone().for_each(|page| self.mark_units(block, page));
            }
            if self.flight.is_some() {
                pages.clone().for_each(|page| self.note_program(block, page));
            }
            self.stamp(block, pages.clone());
            return self.program_media(block, pages, task);
        }
        for page in pages {
            self.event(Event::Program { block, page });
            // Only after the event: before it the out-of-band data say nothing, and another unit may be programmed there.
            if is_marked {
                self.mark_units(block, page);
            }
            self.note_program(block, page);
            self.stamp(block, page..page + 1);
            self.program_media(block, page..page + 1, task);
        }
    }

    fn stamp(&mut self, block: SuperblockId, pages: std::ops::Range<u32>) {
        let Some(persist) = &mut self.persist else { return };
        persist.oob.program(block, pages.start, pages.end - pages.start);
    }

    /// Marks the units of a page that is about to be programmed. Invalid units and padding are marked as holding nothing. Otherwise a unit
    /// that was replaced while it waited would look newer than its replacement. Lost units are marked as lost.
    fn mark_units(&mut self, block: SuperblockId, page: u32) {
        let index = &self.domains[self.layout.domain(block)].index;
        let base = self.layout.unit(block, 0).0;
        for unit in self.layout.units_of(self.layout.page_id(block, page)) {
            let logical = &mut self.reverse[unit.index()];
            if !index.is_valid(block, unit.0 - base) {
                *logical = UNMAPPED;
            } else if self.lost.contains(logical)
                && let Some(persist) = &mut self.persist
            {
                persist.oob.mark_lost(unit.0);
            }
        }
    }

    /// Notes that these logical units of the host hold nothing from now on. Consecutive ones share a record.
    pub(crate) fn note_trimmed(&mut self, units: std::ops::Range<u32>, is_in_nvram: bool) {
        self.note(units, Change::Trimmed, is_in_nvram);
    }

    /// Notes that the data of a logical unit are lost from now on.
    pub(crate) fn note_lost(&mut self, logical: u32, is_in_nvram: bool) {
        self.note(logical..logical + 1, Change::Lost, is_in_nvram);
    }

    fn note(&mut self, units: std::ops::Range<u32>, change: Change, is_in_nvram: bool) {
        let Some(persist) = &mut self.persist else { return };
        if let Some(Pending { record, is_in_nvram: before }) = persist.journal.last_mut()
            && (record.change, *before) == (change, is_in_nvram)
            && record.sequence + 1 == persist.oob.next()
            && record.first + record.units == units.start
        {
            record.units += units.end - units.start;
            return;
        }
        let sequence = persist.oob.take();
        let record = Record { first: units.start, units: units.end - units.start, sequence, change };
        persist.journal.push(Pending { record, is_in_nvram });
    }

    /// Notes that a block leaves the free list.
    pub(crate) fn note_opened(&mut self, block: SuperblockId, stream: Option<StreamId>) {
        if self.persist.is_none() {
            return;
        }
        self.event(Event::Nvram);
        let Some(persist) = &mut self.persist else { return };
        persist.nvram.used[block.index()] = true;
        persist.nvram.streams[block.index()] = stream;
        if persist.area.kind() == Summaries::Map {
            persist.nvram.opened.push_back(block);
        }
    }

    /// Called before a block without valid units is erased. Everything that replaces its data goes to flash first: units that were moved out of
    /// it, or newer versions of its units, may still lie in the controller's memory, and so may the records of their trims.
    pub(crate) fn before_erase(&mut self, block: SuperblockId) {
        let Some(persist) = &self.persist else { return };
        if !persist.power_loss_protection {
            self.harden();
            let is_written = self.persist.as_ref().is_none_or(|persist| persist.journal.is_empty());
            debug_assert!(
                is_written,
                "the reserve has a block for the journal, or an erase could bring trimmed data back"
            );
        }
        self.event(Event::Nvram);
        if let Some(persist) = &mut self.persist {
            persist.nvram.erasing.insert(block);
        }
        self.event(Event::Erase { block });
    }

    /// Called after a block was erased.
    pub(crate) fn after_erase(&mut self, block: SuperblockId) {
        let Some(persist) = &mut self.persist else { return };
        let units = self.layout.unit(block, 0).0..self.layout.unit(block, 0).0 + self.units_per_block;
        persist.oob.erase(block, units.clone());
        persist.accepted[block.index()] = 0;
        self.event(Event::Nvram);
        if let Some(persist) = &mut self.persist {
            persist.nvram.erasing.remove(&block);
            persist.nvram.used[block.index()] = false;
            persist.nvram.remaps.forget(units);
        }
    }

    /// Makes sure that all that was written, trimmed and remapped so far survives a power cut. With power-loss protection it survives
    /// anyway. Without it open pages are padded, stripes are closed, and the journal is written. The flush is complete unless the drive is
    /// dead. Answer a demand or a pause as that of a write.
    pub fn flush(&mut self) -> Outcome {
        if self.persist.as_ref().is_none_or(|persist| persist.power_loss_protection) {
            return Outcome::Done;
        }
        if let Some(death) = self.dead {
            return Outcome::Dead(death);
        }
        if !self.is_whole() && !self.load_for_call() {
            return Outcome::Dead(EndOfLife::NoVictim);
        }
        self.harden();
        let closed = self.close_stripes();
        if let Outcome::Dead(_) = closed {
            return closed;
        }
        // Parity takes room, and units that collection moved to make that room may lie in open pages.
        self.harden();
        let reclaimed = self.reclaim();
        // There may now be room for parity that found none, whatever stopped collection.
        let again = if matches!(reclaimed, Outcome::Dead(_)) { reclaimed } else { self.close_stripes() };
        let stop = [again, reclaimed, closed].into_iter().find(|outcome| *outcome != Outcome::Done);
        self.harden();
        // The journal may have found no free block.
        self.write_journal();
        match stop {
            _ if self.persist.as_ref().is_some_and(|persist| !persist.journal.is_empty()) => {
                self.dead = Some(EndOfLife::NoFreeBlock);
                Outcome::Dead(EndOfLife::NoFreeBlock)
            }
            None => self.keep(),
            Some(stop) => stop,
        }
    }

    /// Programs the units in the controller's memory, and fills the wordlines that they lie on, so that no later program tears them.
    fn harden(&mut self) {
        let Some(persist) = &self.persist else { return };
        let per_wordline = self.layout.units_per_page() * persist.wordline;
        for domain in 0..self.domains.len() {
            for stream in (0..self.stream_count).map(StreamId) {
                let Some(frontier) = self.frontier(domain, stream) else { continue };
                let end = frontier.next.next_multiple_of(per_wordline).min(self.units_per_block);
                let padding = end - frontier.next;
                if padding == 0 {
                    continue;
                }
                let host = stream == self.host_stream;
                let task = if host { Task::Host } else { self.domains[domain].parked[stream.index()].task };
                self.pad(frontier.block, frontier.next, padding, task);
                self.advance(domain, stream, frontier, padding);
            }
        }
        self.write_journal();
    }

    /// Programs the journal's records, page by page. Without a free block they stay in memory.
    fn write_journal(&mut self) {
        while let Some(persist) = &self.persist
            && !persist.journal.is_empty()
        {
            let count = persist.journal.len().min(persist.area.records_per_page());
            let records = persist.journal[..count].iter().map(|pending| pending.record).collect();
            if !self.write_meta(MetaPage::Journal(records)) {
                return;
            }
            let Some(persist) = &mut self.persist else { return };
            persist.journal.drain(..count);
            persist.area.journal_owed += 1;
        }
    }

    /// Programs a page of the metadata area. Returns `false` if no block is free for it.
    fn write_meta(&mut self, page: MetaPage) -> bool {
        let Some((block, row)) = self.meta_page() else { return false };
        let per_page = self.layout.units_per_page();
        let first = row * per_page;
        self.clear_tags(self.layout.unit(block, first), per_page);
        let base = self.layout.unit(block, first).index();
        self.reverse[base..][..per_page as usize].fill(UNMAPPED);
        self.counters.programmed(Cause::Metadata, u64::from(per_page));
        self.counters.program_operations += 1;
        self.event(Event::Program { block, page: row });
        self.note_meta(block, row, &page);
        self.stamp(block, row..row + 1);
        // The area records earlier programs and is read from its end backwards, so no page may be missing between others.
        self.media.barrier(Barrier::Changes);
        self.program_media(block, row..row + 1, Task::GarbageCollection);
        if let MetaPage::Summary(part) = page
            && !self.map.is_whole()
        {
            let units = self.persist.as_ref().map_or(0..0, |persist| persist.area.units(part));
            self.load_units(units);
        }
        let Some(persist) = &mut self.persist else { return false };
        persist.accepted[block.index()] = first + per_page;
        let sequence = persist.oob.next() - 1;
        if let MetaPage::Summary(part) = page {
            let lost = self.lost.range(persist.area.units(part)).copied().collect();
            persist.area.sum_up(part, sequence, &self.map, lost);
            persist.summed_up_at = sequence;
        }
        persist.area.push(page, sequence);
        true
    }

    /// The next page of the metadata area. Opens a block if the last one is full.
    fn meta_page(&mut self) -> Option<(SuperblockId, u32)> {
        let pages = self.layout.pages_per_superblock();
        if self.persist.as_ref()?.area.next().is_none_or(|(_, next)| next == pages) {
            self.open_meta()?;
        }
        self.persist.as_ref()?.area.next()
    }

    /// Opens a block for the metadata area, in the domain with the most free blocks.
    fn open_meta(&mut self) -> Option<()> {
        let most =
            (0..self.domains.len()).max_by_key(|domain| (self.domains[*domain].free.len(), usize::MAX - domain))?;
        let block = self.open_block(most, None)?;
        let persist = self.persist.as_mut()?;
        persist.in_area[block.index()] = true;
        persist.area.ring.push_back(MetaBlock { block, pages: Vec::new(), newest: 0 });
        Some(())
    }

    /// Writes the summaries that are due, and erases obsolete blocks of the metadata area. When this is called, at least one block is free
    /// for each domain.
    pub(crate) fn keep(&mut self) -> Outcome {
        if self.persist.is_none() {
            return Outcome::Done;
        }
        if let Some(stop) = self.open_ahead() {
            return stop;
        }
        self.keep_journal_short();
        for _ in 0..self.summaries_due() {
            if self.persist.as_ref().is_some_and(|persist| !persist.power_loss_protection) {
                // Units that a summary records must not be lost after it.
                self.harden();
            }
            let Some(part) = self.persist.as_ref().map(|persist| persist.area.next_part) else { break };
            if !self.write_meta(MetaPage::Summary(part)) {
                break;
            }
            if let Some(persist) = &mut self.persist {
                persist.area.journal_owed = persist.area.journal_owed.saturating_sub(1);
            }
            self.forget_opened();
            if let Some(stop) = self.open_ahead().or_else(|| self.drop_spent(&mut 0)) {
                return stop;
            }
        }
        Outcome::Done
    }

    /// Opens the metadata area's next block while no collection runs. During a collection the journal may have to be written when no
    /// block is free.
    fn open_ahead(&mut self) -> Option<Outcome> {
        let pages = self.layout.pages_per_superblock();
        if self.persist.as_ref()?.area.next().is_some_and(|(_, next)| next + JOURNAL_AHEAD <= pages) {
            return None;
        }
        self.open_meta()?;
        (0..self.domains.len()).find_map(|domain| match self.reclaim_domain(domain) {
            Outcome::Done => None,
            stop => Some(stop),
        })
    }

    /// Writes the journal's records to flash once they fill a page.
    fn keep_journal_short(&mut self) {
        let Some(persist) = &self.persist else { return };
        if persist.journal.len() >= persist.area.records_per_page() {
            self.write_journal();
        }
    }

    fn summaries_due(&self) -> u32 {
        let Some(persist) = &self.persist else { return 0 };
        let parts = persist.area.parts.len() as u32;
        let view = RecoveryView { programmed: persist.oob.next() - persist.summed_up_at.max(1), summaries: parts };
        persist.policy.due(&view).max(persist.area.journal_owed).min(parts)
    }

    /// Erases the oldest blocks of the metadata area whose pages are all obsolete, and adds their number to `erased`.
    pub(super) fn drop_spent(&mut self, erased: &mut u64) -> Option<Outcome> {
        loop {
            let block = self.persist.as_ref()?.area.spent()?;
            self.event(Event::Nvram);
            let persist = self.persist.as_mut()?;
            let dropped = persist.area.ring.pop_front();
            persist.in_area[block.index()] = false;
            self.note_dropped(dropped);
            *erased += 1;
            let stop = self.recycle_unclosed(block, EraseCause::Metadata).stop();
            if stop.is_some() {
                return stop;
            }
        }
    }

    /// Erases a block that is in no index.
    pub(crate) fn recycle_unclosed(&mut self, block: SuperblockId, cause: EraseCause) -> Recycled {
        let domain = self.layout.domain(block);
        // Policies hear of an erase only for blocks that they heard were closed.
        self.domains[domain].tell(BlockEvent::Closed, block, self.erase_count[block.index()]);
        self.recycle(domain, block, cause)
    }

    /// Forgets the blocks that summaries cover completely. After each summary those that were opened first are checked, after a round all.
    fn forget_opened(&mut self) {
        while let Some(block) = self.persist.as_ref().and_then(|persist| persist.nvram.opened.front().copied())
            && self.is_told(block)
            && let Some(persist) = &mut self.persist
        {
            persist.nvram.opened.pop_front();
        }
        if self.persist.as_ref().is_some_and(|persist| persist.area.next_part == 0) {
            let opened = self.persist.as_mut().map(|persist| std::mem::take(&mut persist.nvram.opened));
            let kept = opened.into_iter().flatten().filter(|block| !self.is_told(*block)).collect();
            self.persist.as_mut().expect("it just had a list").nvram.opened = kept;
        }
    }

    /// Whether summaries cover a block completely.
    fn is_told(&self, block: SuperblockId) -> bool {
        let Some(persist) = &self.persist else { return true };
        let is_open = || self.domain_of(block).open().any(|frontier| frontier.block == block);
        let is_old = || persist.oob.newest(block) < persist.area.floor();
        !persist.nvram.used[block.index()] || is_old() && !is_open()
    }

    /// Makes room in the remap log for the entries of a command that remaps these units. Returns `false` if that is impossible.
    pub(crate) fn make_log_room(&mut self, units: impl Fn(&Self) -> Vec<u32>) -> bool {
        loop {
            let wanted = units(self);
            let Some(persist) = &self.persist else { return true };
            let log = &persist.nvram.remaps;
            let is_hopeless = log.len() == 0 || self.dead.is_some();
            if log.len() + log.added_by(&wanted) <= log.entries_max() {
                return true;
            }
            let fullest = log.fullest(self.units_per_block).map(SuperblockId);
            let Some(block) = fullest.filter(|_| !is_hopeless) else { return false };
            if !self.clean(block) {
                return false;
            }
        }
    }

    /// Moves the data of a block, so that its entries leave the remap log.
    fn clean(&mut self, block: SuperblockId) -> bool {
        let domain = self.layout.domain(block);
        self.close_early(domain, block);
        if !self.domains[domain].index.is_closed(block) || self.domains[domain].free.is_empty() {
            return false;
        }
        self.domains[domain].index.open(block);
        if self.relocate(domain, block, crate::domain::Mover::GarbageCollection).is_err() {
            return false;
        }
        let recycled = self.recycle(domain, block, EraseCause::GarbageCollection).stop();
        !matches!(recycled, Some(Outcome::Dead(_))) && !matches!(self.reclaim_domain(domain), Outcome::Dead(_))
    }

    /// Whether a power cut may lose a physical unit: it lies in the controller's buffer, or on a wordline that is not full.
    pub(crate) fn is_volatile(&self, unit: UnitId) -> bool {
        let Some(persist) = &self.persist else { return false };
        if persist.power_loss_protection {
            return false;
        }
        let (block, within) = self.locator.locate(unit);
        let per_wordline = self.layout.units_per_page() * persist.wordline;
        let is_on_its =
            |frontier: Frontier| frontier.block == block && within >= frontier.next / per_wordline * per_wordline;
        persist.oob.stamp(self.layout.page_of(unit)) == Stamp::Erased || self.domain_of(block).open().any(is_on_its)
    }

    /// Programs the units in the controller's memory if a unit of this range is among them.
    pub(crate) fn harden_units(&mut self, first: Lpn, units: u32) {
        let is_volatile = |logical: Lpn| self.lookup(logical).is_some_and(|unit| self.is_volatile(unit));
        if self.persist.is_some() && Lpn::all(first.0..first.0 + units).any(is_volatile) {
            self.harden();
        }
    }

    /// Called when the host gave up data and the journal has grown. Writes the journal if it fills a page, and then the summaries that are due.
    pub(crate) fn keep_what_was_given_up(&mut self) {
        let is_due = |persist: &Persist| {
            persist.journal.len() >= persist.area.records_per_page() || persist.area.journal_owed > 0
        };
        if self.dead.is_none() && self.persist.as_deref().is_some_and(is_due) {
            // If the drive dies here, the next write reports it. The next block that retires repeats a demand for space.
            let _ = self.keep();
        }
    }
}

impl Persist {
    /// Number of entries in the remap log, and how many fit.
    pub(crate) fn remap_log(&self) -> (usize, usize) {
        (self.nvram.remaps.len(), self.nvram.remaps.entries_max())
    }
}
