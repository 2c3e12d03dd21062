//! Flash in detail: an array that wears, cells with errors, and a list of its operations.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::{BlockId, Geometry, PeCycles};

use crate::cells::{Cells, CellsPast};
use crate::faults::Faults;
use crate::op::{Barrier, FlashOp, Health, OpKind, PageRead, Purpose, ReadOutcome, Task};
use crate::{Array, Media};

/// Whether the errors of relocation reads are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relocations {
    /// They are drawn as for any read.
    #[default]
    Checked,
    /// They are not drawn, and every relocation read counts as corrected, which makes aging several times faster. The block is
    /// erased next, which also ends the disturb of these reads.
    Trusted,
}

/// The detailed medium. Without cells it has no errors; while it does not record it lists no operations.
#[derive(Clone, Debug)]
pub struct Flash {
    array: Array,
    cells: Option<Cells>,
    now_days: f64,
    /// Days of age that data have in addition to the days that passed, because they were warm; negative for cold.
    ahead_days: f64,
    /// Day of each block's first program since its erase.
    written: Vec<f64>,
    faults: Option<Faults>,
    /// Blocks whose erase failed.
    erase_failed: Vec<BlockId>,
    /// Blocks whose program failed and of which the firmware was not told yet.
    failed: Vec<BlockId>,
    /// Pages that a power cut tore, by block and number.
    torn: BTreeSet<(BlockId, u32)>,
    relocations: Relocations,
    recording: bool,
    ops: Vec<FlashOp>,
}

impl Flash {
    /// New flash without errors.
    pub fn new(geometry: Geometry) -> Self {
        let written = vec![0.0; geometry.blocks() as usize];
        Self {
            array: Array::new(geometry),
            cells: None,
            now_days: 0.0,
            ahead_days: 0.0,
            written,
            faults: None,
            erase_failed: Vec::new(),
            failed: Vec::new(),
            torn: BTreeSet::new(),
            relocations: Relocations::Checked,
            recording: false,
            ops: Vec::new(),
        }
    }

    /// Flash over an array that aged alone, without errors so far.
    pub fn over(array: Array) -> Self {
        let geometry = *array.geometry();
        Self { array, ..Self::new(geometry) }
    }

    /// Splits off the array, which then ages alone. `unprogrammed`: each block that is not fully programmed, with its first erased
    /// page.
    ///
    /// # Panics
    /// Faults are configured: their failures would be missed.
    pub fn rest(mut self, unprogrammed: Vec<(BlockId, u32)>) -> (Array, Resting) {
        assert!(self.faults.is_none(), "flash that may fail does not rest");
        let geometry = *self.array.geometry();
        let array = std::mem::replace(&mut self.array, Array::placeholder(geometry));
        let erase_counts = array.erase_counts().to_vec();
        (array, Resting { flash: self, erase_counts, unprogrammed })
    }

    /// Gives the flash errors. `cells` learn the wear so far, and all data count as written now.
    pub fn set_cells(&mut self, mut cells: Cells) {
        let pages = self.array.geometry().pages_per_block();
        self.written.fill(self.now_days);
        for (block, erases) in (0..).map(BlockId).zip(self.array.erase_counts()) {
            cells.erase(block, *erases);
            cells.program(block, 0, pages, self.now_days + self.ahead_days);
        }
        self.cells = Some(cells);
    }

    /// Gives the flash faults.
    pub fn set_faults(&mut self, mut faults: Faults) {
        for (block, erases) in (0..).map(BlockId).zip(self.array.erase_counts()) {
            faults.age(block, *erases);
        }
        self.faults = Some(faults);
    }

    /// Whether the flash may fail.
    pub fn has_faults(&self) -> bool {
        self.faults.is_some()
    }

    /// Its faults; `None` if it cannot fail.
    pub fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    /// Applies all scheduled losses that are due once the host has written `drive_writes` drive capacities.
    pub fn set_drive_writes(&mut self, drive_writes: f64) {
        if let Some(faults) = &mut self.faults {
            while faults.due(drive_writes).is_some() {}
        }
    }

    /// Its cells.
    pub fn cells(&self) -> Option<&Cells> {
        self.cells.as_ref()
    }

    /// Gives a block a past: `erases` erases, all its data written `written_days_ago` days ago and read `reads` times since.
    ///
    /// # Panics
    /// The days are negative.
    pub fn set_past(&mut self, block: BlockId, erases: u32, written_days_ago: f64, reads: u32) {
        assert!(written_days_ago >= 0.0, "a page is not programmed in the future, {written_days_ago} days ago");
        self.array.set_erase_count(block, erases);
        self.written[block.index()] = self.now_days - written_days_ago;
        if let Some(cells) = &mut self.cells {
            cells.erase(block, erases);
            cells.age(block, written_days_ago - self.now_days - self.ahead_days, reads);
        }
    }

    /// Sets the time, in days since the flash was new. It never goes back.
    pub fn set_now_days(&mut self, now_days: f64) {
        debug_assert!(now_days >= self.now_days, "time does not go back");
        self.now_days = now_days;
    }

    /// Ages data by `days` days without passing time: the effect of warmth in addition to the days that passed. Negative for cold, which slows aging.
    pub fn age_data(&mut self, days: f64) {
        self.ahead_days += days;
    }

    /// Time in days on the clock of the data. Differences of it are ages.
    pub fn data_days(&self) -> f64 {
        self.now_days + self.ahead_days
    }

    /// Days that the data in the first page of a block have aged, on that clock.
    pub fn data_age(&self, block: BlockId) -> f64 {
        let of_cells = self.cells.as_ref().and_then(|cells| cells.data_age(block, self.data_days()));
        of_cells.unwrap_or(self.now_days - self.written[block.index()])
    }

    /// Sets whether the errors of relocation reads are drawn.
    pub fn set_relocations(&mut self, relocations: Relocations) {
        self.relocations = relocations;
    }

    /// Starts or stops the list of operations.
    pub fn record(&mut self, recording: bool) {
        self.recording = recording;
        self.ops.clear();
    }

    /// The operations since the list was cleared, in order.
    pub fn ops(&self) -> &[FlashOp] {
        &self.ops
    }

    /// Empties the list; its memory stays.
    pub fn clear_ops(&mut self) {
        self.ops.clear();
    }

    /// Erases of every block.
    pub fn erase_counts(&self) -> &[u32] {
        self.array.erase_counts()
    }

    /// Writes its state to a file, or reads it back into flash of the same kind. For the list of operations see [`Flash::archive_ops`].
    ///
    /// # Errors
    /// As of [`Archive`].
    pub fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.array.archive(archive)?;
        self.archive_beside(archive)
    }

    /// Writes the list of operations, which no scheduler has taken yet, or reads it back.
    ///
    /// # Errors
    /// As of [`Archive`].
    pub fn archive_ops(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("flash.operations", &mut self.ops)
    }

    /// Writes or reads the state outside the array.
    fn archive_beside(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("flash.day", &mut self.now_days)?;
        archive.field("flash.ahead", &mut self.ahead_days)?;
        archive.fixed("flash.written", &mut self.written)?;
        archive.field("flash.erase-failed", &mut self.erase_failed)?;
        archive.field("flash.failed", &mut self.failed)?;
        archive.field("flash.torn", &mut self.torn)?;
        archive.field("flash.relocations", &mut self.relocations)?;
        archive.optional("flash.errs", &mut self.cells, Cells::archive)?;
        archive.optional("flash.fails", &mut self.faults, Faults::archive)
    }

    #[inline]
    fn note(&mut self, kind: OpKind, task: Task, block: BlockId, page: u32, bytes: u32, rereads: u32) {
        if self.recording {
            self.ops.push(FlashOp { kind, task, block, page, bytes, rereads });
        }
    }

    /// The pages of a block that a power cut tore.
    fn torn_pages(&self, block: BlockId) -> impl Iterator<Item = u32> {
        self.torn.range((block, 0)..=(block, u32::MAX)).map(|(_, page)| *page)
    }

    /// Forgets the torn pages of a block that is erased.
    #[inline]
    fn mend(&mut self, block: BlockId) {
        if !self.torn.is_empty() {
            self.torn.retain(|(torn, _)| *torn != block);
        }
    }

    fn read_imperfect(&mut self, read: PageRead) -> ReadOutcome {
        let PageRead { block, page: within, bytes, task, purpose, rereads_max } = read;
        if self.faults.as_ref().is_some_and(|faults| faults.page_lost(block, within)) {
            self.note(OpKind::Read(purpose), task, block, within, bytes, 0);
            return ReadOutcome::Uncorrectable;
        }
        if self.torn.contains(&(block, within)) {
            // A torn page is sensed as often as any uncorrectable page.
            let rereads = self.cells.as_ref().map_or(0, |cells| cells.rereads_of_uncorrectable(rereads_max));
            self.note(OpKind::Read(purpose), task, block, within, bytes, rereads);
            return ReadOutcome::Uncorrectable;
        }
        let trusted = self.relocations == Relocations::Trusted && matches!(purpose, Purpose::Relocate(_));
        let outcome = match &mut self.cells {
            Some(cells) if !trusted => {
                let read = cells.read_within(block, within, bytes, self.now_days + self.ahead_days, rereads_max);
                if purpose == Purpose::Serve {
                    cells.served_host(&read);
                }
                self.note(OpKind::Read(purpose), task, block, within, bytes, read.rereads);
                if !read.correctable {
                    return ReadOutcome::Uncorrectable;
                }
                read.rereads
            }
            _ => {
                self.note(OpKind::Read(purpose), task, block, within, bytes, 0);
                0
            }
        };
        ReadOutcome::Corrected { rereads: outcome }
    }
}

/// A block of flash as it was before an erase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlashPast {
    array: (u32, u32),
    written: f64,
    is_usable: bool,
    cells: Option<CellsPast>,
    torn: Vec<u32>,
}

/// Flash without its array, which ages alone meanwhile.
#[derive(Clone, Debug)]
pub struct Resting {
    flash: Flash,
    erase_counts: Vec<u32>,
    unprogrammed: Vec<(BlockId, u32)>,
}

impl Resting {
    /// Joins the flash with its array again. Blocks that were erased or programmed meanwhile count as programmed now. Reads were not counted.
    pub fn wake(self, array: Array) -> Flash {
        let Self { mut flash, erase_counts, unprogrammed } = self;
        assert_eq!(erase_counts.len(), array.erase_counts().len(), "flash gets the array back that it gave away");
        flash.array = array;
        let (pages, now, data_now) = (flash.array.geometry().pages_per_block(), flash.now_days, flash.data_days());
        let programmed = |flash: &mut Flash, block: BlockId, first: u32| {
            if first == 0 {
                flash.written[block.index()] = now;
            }
            if let Some(cells) = &mut flash.cells {
                cells.program(block, first, pages - first, data_now);
            }
        };
        for (block, before) in (0..).map(BlockId).zip(erase_counts) {
            let erases = flash.array.erase_counts()[block.index()];
            assert!(
                erases >= before,
                "an array that ages alone loses no erase: block {} has {erases} of {before}",
                block.0
            );
            if erases != before {
                flash.mend(block);
                if let Some(cells) = &mut flash.cells {
                    cells.erase(block, erases);
                }
                programmed(&mut flash, block, 0);
            }
        }
        for (block, first) in unprogrammed {
            programmed(&mut flash, block, first);
        }
        flash
    }

    /// Days by which the clock of the data is ahead of time.
    pub fn ahead_days(&self) -> f64 {
        self.flash.ahead_days
    }

    /// As [`Flash::data_age`], of a block that was erased so often by now. One that was erased meanwhile counts as programmed now.
    pub fn data_age(&self, block: BlockId, erases: u32) -> f64 {
        if self.erase_counts[block.index()] == erases { self.flash.data_age(block) } else { 0.0 }
    }

    /// Writes its state to a file, or reads it back. It must be of the same flash.
    ///
    /// # Errors
    /// As of [`Archive`].
    pub fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.fixed("resting.erases", &mut self.erase_counts)?;
        archive.field("resting.unprogrammed", &mut self.unprogrammed)?;
        self.flash.archive_beside(archive)
    }

    /// Sets the time, in days since the flash was new. See [`Flash::set_now_days`].
    pub fn set_now_days(&mut self, now_days: f64) {
        self.flash.set_now_days(now_days);
    }

    /// The time, in days since the flash was new.
    pub fn now_days(&self) -> f64 {
        self.flash.now_days
    }

    /// Its cells, which are not read meanwhile.
    pub fn cells(&self) -> Option<&Cells> {
        self.flash.cells.as_ref()
    }

    /// Whether the flash has errors.
    pub fn errs(&self) -> bool {
        self.flash.cells.is_some()
    }
}

impl Media for Flash {
    const DETAILED: bool = true;

    type Tag = ();

    type Past = FlashPast;

    fn past(&self, block: BlockId) -> FlashPast {
        FlashPast {
            array: self.array.past(block),
            written: self.written[block.index()],
            is_usable: !self.erase_failed.contains(&block),
            cells: self.cells.as_ref().map(|cells| cells.past(block)),
            torn: self.torn_pages(block).collect(),
        }
    }

    fn unerase(&mut self, block: BlockId, past: FlashPast) {
        let FlashPast { array, written, is_usable, cells, torn } = past;
        self.torn.extend(torn.into_iter().map(|page| (block, page)));
        self.array.unerase(block, array);
        self.written[block.index()] = written;
        if is_usable {
            self.erase_failed.retain(|failed| *failed != block);
        }
        if let (Some(present), Some(cells)) = (&mut self.cells, cells) {
            present.unerase(block, array.0, cells);
        }
    }

    fn barrier(&mut self, barrier: Barrier) {
        // The task does not matter, since a barrier takes no time.
        self.note(OpKind::Barrier(barrier), Task::Host, BlockId(0), 0, 0, 0);
    }

    fn geometry(&self) -> &Geometry {
        self.array.geometry()
    }

    fn program(&mut self, block: BlockId, first: u32, count: u32, task: Task, _tags: &[()]) {
        debug_assert!(first + count <= self.geometry().pages_per_block(), "a block has no page beyond its last");
        self.array.program(block, first, count, task, &[]);
        if first == 0 {
            self.written[block.index()] = self.now_days;
        }
        if let Some(cells) = &mut self.cells {
            cells.program(block, first, count, self.now_days + self.ahead_days);
        }
        if let Some(faults) = &mut self.faults
            && (first..first + count).filter(|page| faults.program_fails(block, *page)).count() > 0
        {
            self.failed.push(block);
        }
        if self.recording {
            let bytes = self.array.geometry().page_size().0 as u32;
            (first..first + count).for_each(|page| self.note(OpKind::Program, task, block, page, bytes, 0));
        }
    }

    #[inline]
    fn read(&mut self, read: PageRead) -> ReadOutcome {
        debug_assert!(read.page < self.geometry().pages_per_block(), "a page beyond the last is one of the next block");
        self.array.read(read);
        if self.cells.is_some() || self.faults.is_some() || !self.torn.is_empty() {
            return self.read_imperfect(read);
        }
        let PageRead { block, page, bytes, task, purpose, .. } = read;
        self.note(OpKind::Read(purpose), task, block, page, bytes, 0);
        ReadOutcome::Corrected { rereads: 0 }
    }

    fn read_instead(&mut self, block: BlockId, page: u32, bytes: u32, rereads: u32) {
        self.note(OpKind::Read(Purpose::Instead), Task::Host, block, page, bytes, rereads);
    }

    fn read_buffered(&mut self, bytes: u32, task: Task) {
        self.note(OpKind::Buffered, task, BlockId(0), 0, bytes, 0);
    }

    fn tear_page(&mut self, block: BlockId, page: u32) {
        self.torn.insert((block, page));
    }

    fn erase(&mut self, block: BlockId, task: Task) -> PeCycles {
        let erases = self.array.erase(block, task);
        self.mend(block);
        if let Some(cells) = &mut self.cells {
            cells.erase(block, erases.0);
        }
        if self.faults.as_mut().is_some_and(|faults| faults.erase_fails(block)) {
            self.erase_failed.push(block);
        }
        self.note(OpKind::Erase, task, block, 0, 0, 0);
        erases
    }

    fn erase_count(&self, block: BlockId) -> PeCycles {
        self.array.erase_count(block)
    }

    fn next_failed(&mut self) -> Option<BlockId> {
        self.failed.pop()
    }

    fn is_unusable(&self, block: BlockId) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.is_factory_bad(block) || self.erase_failed.contains(&block))
    }

    fn now_days(&self) -> f64 {
        self.now_days
    }

    fn health(&self, block: BlockId) -> Health {
        let age_days = self.now_days - self.written[block.index()];
        let Some(cells) = &self.cells else {
            return Health { reads: self.array.reads(block), age_days, ..Health::default() };
        };
        // Pages are programmed in order, so the first one is the oldest.
        Health {
            expected_errors: cells.expected_errors(block, 0, self.data_days()),
            fresh_errors: cells.fresh_errors(block),
            fresh_rber: cells.fresh_rber(block),
            fresh_rereads: cells.fresh_rereads(block),
            reads: cells.reads(block),
            rereads: cells.rereads(block),
            age_days,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecc, ErrorConfig, rber};
    use wane_archive::{Reader, Writer};
    use wane_sim::Streams;
    use wane_units::Bytes;

    fn flash() -> Flash {
        Flash::new(Geometry::new(2, 1, 1, 2, 4, Bytes(4096)).unwrap())
    }

    fn read(page: u32) -> PageRead {
        PageRead {
            block: BlockId(page / 4),
            page: page % 4,
            bytes: 4096,
            task: Task::Host,
            purpose: Purpose::Serve,
            rereads_max: None,
        }
    }

    fn cells(strength: u32) -> Cells {
        let model = rber::chip("tlc-72l-2018").unwrap().model;
        let ecc = Ecc { codeword_bytes: 512, strength: Some(strength), ..Ecc::default() };
        Cells::new(flash().geometry(), ErrorConfig::new(model, ecc), Streams::new(1).stream("nand"))
    }

    #[test]
    fn a_torn_page_is_uncorrectable_until_its_block_is_erased() {
        let mut flash = flash();
        flash.program(BlockId(1), 0, 2, Task::Host, &[]);
        flash.tear_page(BlockId(1), 1);
        let is_whole = |flash: &mut Flash| [4, 5].map(|page| flash.read(read(page)) != ReadOutcome::Uncorrectable);
        assert_eq!(is_whole(&mut flash), [true, false]);
        // With a limit of re-reads it is sensed that often.
        let mut limited = flash.clone();
        let model = rber::chip("tlc-72l-2018").unwrap().model;
        let ecc = Ecc { codeword_bytes: 512, strength: Some(72), rereads_max: Some(3), ..Ecc::default() };
        limited.set_cells(Cells::new(flash.geometry(), ErrorConfig::new(model, ecc), Streams::new(1).stream("nand")));
        limited.record(true);
        assert_eq!(is_whole(&mut limited), [true, false]);
        assert_eq!(limited.ops().last().map(|op| op.rereads), Some(3));
        // The tear survives a file, comes back with its block, and goes with it, also at rest.
        let past = flash.past(BlockId(1));
        let (mut writer, mut saved) = (Writer::new(Vec::new()).unwrap(), self::flash());
        flash.archive(&mut writer).unwrap();
        saved.archive(&mut Reader::new(writer.finish().unwrap().as_slice()).unwrap()).unwrap();
        assert_eq!(is_whole(&mut saved), [true, false]);
        saved.erase(BlockId(1), Task::Host);
        assert_eq!(is_whole(&mut saved), [true, true]);
        saved.unerase(BlockId(1), past);
        assert_eq!(is_whole(&mut saved), [true, false]);
        let (mut array, resting) = saved.rest(Vec::new());
        array.erase(BlockId(1), Task::Host);
        assert_eq!(is_whole(&mut resting.wake(array)), [true, true]);
    }

    #[test]
    fn operations_are_listed_in_order_while_recording() {
        let mut flash = flash();
        flash.program(BlockId(1), 0, 2, Task::Host, &[]);
        assert!(flash.ops().is_empty());
        flash.record(true);
        flash.program(BlockId(1), 2, 2, Task::GarbageCollection, &[]);
        flash.read(read(5));
        flash.erase(BlockId(0), Task::WearLeveling);
        let listed: Vec<_> = flash.ops().iter().map(|op| (op.kind, op.task, op.block.0, op.page)).collect();
        assert_eq!(
            listed,
            [
                (OpKind::Program, Task::GarbageCollection, 1, 2),
                (OpKind::Program, Task::GarbageCollection, 1, 3),
                (OpKind::Read(Purpose::Serve), Task::Host, 1, 1),
                (OpKind::Erase, Task::WearLeveling, 0, 0),
            ]
        );
        flash.clear_ops();
        assert!(flash.ops().is_empty());
    }

    #[test]
    fn cells_learn_the_wear_and_their_rereads_reach_the_list() {
        let mut flash = flash();
        flash.set_cells(cells(25));
        flash.set_past(BlockId(1), 5_000, 0.0, 0);
        flash.record(true);
        // 67 errors are expected in a codeword: two halvings bring it near 17.
        assert_eq!(flash.read(read(4)), ReadOutcome::Corrected { rereads: flash.ops()[0].rereads });
        assert!(flash.ops()[0].rereads >= 1 && flash.health(BlockId(1)).rereads >= 1);
        assert_eq!(flash.erase_count(BlockId(1)), PeCycles(5_000));
        // Without re-reads it fails, and new flash does not.
        let outcome = flash.read(PageRead { rereads_max: Some(0), ..read(4) });
        assert_eq!((outcome, flash.ops()[1].rereads), (ReadOutcome::Uncorrectable, 0));
        assert_eq!(flash.read(read(0)), ReadOutcome::Corrected { rereads: 0 });
    }

    #[test]
    fn trusted_relocations_are_not_checked() {
        let mut flash = flash();
        flash.set_cells(cells(25));
        flash.set_past(BlockId(1), 5_000, 0.0, 0);
        let relocate = PageRead { purpose: Purpose::Relocate(BlockId(0)), ..read(4) };
        for (relocations, checked) in [(Relocations::Trusted, false), (Relocations::Checked, true)] {
            flash.set_relocations(relocations);
            let before = flash.cells().unwrap().counters().codewords_checked;
            flash.read(relocate);
            let between = flash.cells().unwrap().counters().codewords_checked;
            assert_eq!(between > before, checked, "{relocations:?}");
            flash.read(read(5));
            assert!(flash.cells().unwrap().counters().codewords_checked > between);
        }
    }

    #[test]
    fn only_what_is_served_counts_as_read_for_the_host() {
        let purposes =
            [(Purpose::Serve, 1), (Purpose::Check, 0), (Purpose::Recover, 0), (Purpose::Relocate(BlockId(0)), 0)];
        for (purpose, counted) in purposes {
            let mut flash = flash();
            flash.set_cells(cells(25));
            flash.read(PageRead { purpose, ..read(4) });
            let counters = flash.cells().unwrap().counters();
            assert_eq!((counters.page_reads, counters.host_page_reads), (1, counted), "{purpose:?}");
        }
    }

    #[test]
    fn health_follows_time_and_reads() {
        let mut flash = flash();
        flash.set_cells(cells(75));
        flash.set_past(BlockId(0), 1_000, 30.0, 7);
        let health = flash.health(BlockId(0));
        assert_eq!((health.reads, health.age_days), (7, 30.0));
        assert!(health.expected_errors > health.fresh_errors && health.fresh_errors > 0.0);
        flash.set_now_days(10.0);
        assert_eq!(flash.health(BlockId(0)).age_days, 40.0);
        flash.erase(BlockId(0), Task::Host);
        flash.program(BlockId(0), 0, 1, Task::Host, &[]);
        assert_eq!((flash.health(BlockId(0)).reads, flash.health(BlockId(0)).age_days), (0, 0.0));
        // Written after day 0, but not after the present day.
        flash.set_past(BlockId(1), 5, 2.0, 0);
        assert_eq!(flash.health(BlockId(1)).age_days, 2.0);
    }

    #[test]
    fn days_of_programs_and_failures_are_saved() {
        let mut flash = flash();
        flash.set_past(BlockId(1), 5, 3.5, 0);
        flash.erase_failed = vec![BlockId(2)];
        flash.failed = vec![BlockId(3)];
        flash.set_relocations(Relocations::Trusted);
        let mut writer = Writer::new(Vec::new()).unwrap();
        flash.archive(&mut writer).unwrap();
        let bytes = writer.finish().unwrap();
        let mut again = self::flash();
        again.archive(&mut Reader::new(bytes.as_slice()).unwrap()).unwrap();
        assert_eq!((&again.written, again.written[1]), (&flash.written, -3.5));
        assert_eq!((again.erase_failed, again.failed), (vec![BlockId(2)], vec![BlockId(3)]));
        assert_eq!((again.relocations, again.array.erase_counts()), (Relocations::Trusted, flash.array.erase_counts()));
    }
}
