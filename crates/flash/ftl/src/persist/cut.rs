//! A power cut: what remains of a drive.

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_nand::Media;
use wane_units::{Counters, Lpn, SuperblockId, UnitId};

use super::area::{Area, Record};
use super::oob::{OutOfBand, Stamp};
use super::striped::StripesLeft;
use super::{Nvram, Persist};
use crate::config::{Layout, PageId};
use crate::engine::Ftl;
use crate::payload::{Payload, ZEROS};
use crate::policies::mode::Trigger;
use crate::policies::{EraseCause, Mode};
use crate::table::Table;

/// A change that persists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A page of a block is programmed.
    Program {
        /// The block.
        block: SuperblockId,
        /// The page's number in it.
        page: u32,
    },
    /// A block is erased.
    Erase {
        /// The block.
        block: SuperblockId,
    },
    /// NVRAM is written.
    Nvram,
}

/// What remains of a drive when power fails: flash with its out-of-band data, NVRAM and, with power-loss protection, the controller's
/// buffers. [`Ftl::recover`] makes a drive of it.
#[derive(Clone)]
pub struct PowerCut<M: Media> {
    pub(super) media: M,
    pub(super) layout: Layout,
    /// By physical unit, the logical unit of its out-of-band data.
    pub(super) logical: Table<u32>,
    pub(super) oob: OutOfBand,
    /// `None` for a drive without stripes.
    pub(super) stripes: Option<StripesLeft>,
    pub(super) area: Area,
    pub(super) nvram: Nvram,
    pub(super) kept: Kept,
    /// Journal records that are on no page yet.
    pub(super) journal: Vec<Record>,
    /// Units in the controller's buffers, in the order in which they were written.
    pub(super) buffered: Vec<Buffered<M::Tag>>,
    /// Units on wordlines that were not full, with their pages. The buffers keep them until the wordline is full, in case it is torn.
    pub(super) guarded: Vec<(PageId, Buffered<M::Tag>)>,
    /// See [`Persist::wordline`].
    pub(super) wordline: u32,
    /// The payload of units, on flash and in the buffers; `None` if none is kept.
    pub(super) payload: Option<Box<Payload>>,
    /// The event that was about to happen; `None` if the drive was idle.
    pub(super) event: Option<Event>,
    /// The simulator's own counts, which a power cut does not lose.
    pub(super) ledger: Ledger,
}

/// State that NVRAM always holds, since the firmware writes it before it acknowledges a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) exported: u32,
    pub(super) mode: Mode,
    pub(super) trigger: Option<Trigger>,
    pub(super) retired: Vec<SuperblockId>,
}

/// A unit that was accepted and not programmed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Buffered<T> {
    pub(crate) logical: Lpn,
    pub(crate) tag: T,
    /// Whether its data were lost before.
    pub(crate) is_lost: bool,
    /// Its payload, if that is kept.
    pub(crate) payload: u32,
}

/// See [`PowerCut::ledger`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ledger {
    pub(super) counters: Counters,
    pub(super) erases_initial: u64,
    pub(super) worn_before: u64,
    pub(super) blocks_initial: u32,
    /// For each domain: erases by garbage collection and by wear leveling.
    pub(super) erases: Vec<(u64, u64)>,
}

impl Ledger {
    /// Takes back the count of an erase that did not happen, of a block of `width` flash blocks.
    pub(super) fn uncount(&mut self, domain: usize, cause: EraseCause, width: u32) {
        let (gc, wear_leveling) = &mut self.erases[domain];
        let counted = match cause {
            EraseCause::GarbageCollection => {
                *gc -= 1;
                &mut self.counters.erases_gc
            }
            EraseCause::WearLeveling => {
                *wear_leveling -= 1;
                &mut self.counters.erases_wear_leveling
            }
            EraseCause::Scrub => &mut self.counters.erases_scrub,
            EraseCause::Metadata => &mut self.counters.erases_metadata,
        };
        *counted -= u64::from(width);
    }
}

impl<M: Media<Tag = ()>> PowerCut<M> {
    /// Writes what is left to a file, or reads it back into what is left of a new drive of the same configuration. `media` does the same for its
    /// medium. The event of a cut that a test captured is not kept.
    ///
    /// # Errors
    /// As of [`Archive`].
    pub fn archive(
        &mut self,
        archive: &mut dyn Archive,
        media: impl FnOnce(&mut M, &mut dyn Archive) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        archive
            .same("cut.shape", &(self.layout.blocks(), self.layout.units_per_block(), self.layout.units_per_page()))?;
        archive.same("cut.wordline", &self.wordline)?;
        media(&mut self.media, archive)?;
        archive.fixed("cut.reverse-map", &mut self.logical)?;
        self.oob.archive(archive)?;
        archive.optional("cut.stripes", &mut self.stripes, StripesLeft::archive)?;
        self.area.archive(archive)?;
        self.nvram.archive(archive)?;
        archive.field("cut.kept", &mut self.kept)?;
        archive.field("cut.journal", &mut self.journal)?;
        archive.field("cut.buffered", &mut self.buffered)?;
        archive.field("cut.guarded", &mut self.guarded)?;
        archive.optional("cut.payload", &mut self.payload, |payload, archive| payload.archive(archive))?;
        archive.field("cut.ledger", &mut self.ledger)
    }

    /// Of each handle, from the first: whether a unit on flash or in a buffer may refer to it.
    pub fn payloads_held(&self) -> Vec<bool> {
        let Some(payload) = &self.payload else { return Vec::new() };
        let buffers = self.buffered.iter().chain(self.guarded.iter().map(|(_, unit)| unit)).map(|unit| unit.payload);
        payload.named(buffers)
    }
}

impl<M: Media> PowerCut<M> {
    /// Keeps payload from now on, as [`Ftl::keep_payload`] does. What is there holds zeros.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub fn keep_payload(&mut self) -> std::io::Result<()> {
        if self.payload.is_none() {
            self.payload = Some(Box::new(Payload::new(self.logical.len())?));
        }
        Ok(())
    }

    /// The event that was about to happen; `None` if the drive was idle.
    pub fn event(&self) -> Option<Event> {
        self.event
    }

    /// The medium.
    pub fn media(&self) -> &M {
        &self.media
    }

    /// The medium, to take what it recorded.
    pub fn media_mut(&mut self) -> &mut M {
        &mut self.media
    }

    /// Number of pages before the one that was about to be programmed that share its wordline, by `wordline_pages` of the configuration. Each
    /// page of the metadata area has its own wordline.
    pub fn lower_pages(&self) -> u32 {
        match self.event {
            Some(Event::Program { block, page }) => self.wordline_below(block, page).count() as u32,
            _ => 0,
        }
    }

    /// Pages of a block before this one that share its wordline, the nearest first.
    pub(super) fn wordline_below(&self, block: SuperblockId, page: u32) -> impl Iterator<Item = u32> + use<M> {
        let is_of_area = self.area.ring.iter().any(|meta| meta.block == block);
        let first = if is_of_area { page } else { page / self.wordline * self.wordline };
        self.layout.pages_below(page, first)
    }

    /// Makes a page unreadable. Units of it that the buffers keep survive there.
    pub(super) fn tear(&mut self, block: SuperblockId, page: u32) {
        let (flash, row) = self.layout.place_page(block, page);
        self.media.tear_page(flash, row);
        let torn = self.layout.page_id(block, page);
        self.oob.tear(torn);
        for (_, unit) in self.guarded.extract_if(.., |(page, _)| *page == torn) {
            self.buffered.retain(|other| other.logical != unit.logical);
            self.buffered.push(unit);
        }
    }

    /// Makes the cut one that came during the event. A torn page reads as uncorrectable. A block whose erase was cut short reads as erased,
    /// but takes no program before it is erased again. `lower`: number of pages before the torn one in its flash block that share its wordline
    /// and are torn with it. NVRAM is written whole or not at all, so a cut during such a write stays as it was.
    #[must_use]
    pub fn torn(mut self, lower: u32) -> Self {
        match self.event {
            Some(Event::Program { block, page }) => {
                self.tear(block, page);
                for torn in self.layout.pages_below(page, page.saturating_sub(lower * self.layout.width())) {
                    self.tear(block, torn);
                }
            }
            Some(Event::Erase { block }) => {
                self.layout.members(block).for_each(|member| self.media.tear_block(member));
                // It reads as if it were erased, but it is not.
                let units = self.layout.unit(block, 0).0..self.layout.unit(block, 0).0 + self.layout.units_per_block();
                self.oob.erase(block, units);
                let first = self.layout.page_id(block, 0).0;
                self.forget_stripes(first..first + self.layout.pages_per_superblock());
            }
            Some(Event::Nvram) | None => {}
        }
        self
    }
}

/// Cuts taken before every event, for tests.
#[derive(Clone)]
pub(crate) struct Capture<M: Media> {
    /// Takes the cut of a drive before an event. It is a function, since only media that can be cloned have one.
    take: fn(&Ftl<M>, Event) -> PowerCut<M>,
    cuts: Vec<PowerCut<M>>,
}

impl<M: Media> Ftl<M> {
    /// Cuts the power while the drive is idle. `None` if the drive keeps no out-of-band data.
    pub fn power_cut(mut self) -> Option<PowerCut<M>> {
        if !self.is_whole() {
            // What cannot be read is told, and nothing that follows is kept.
            self.load_for_call();
        }
        let stripes = self.stripes_left();
        let persist = self.persist.take()?;
        let (kept, ledger) = (self.kept(), self.ledger());
        let (buffered, guarded) = (self.buffered(&persist), self.guarded(&persist));
        let journal = surviving(&persist);
        let Persist { oob, mut area, nvram, wordline, .. } = *persist;
        if !area.keeps_content() {
            area.keep_content(self.map);
        }
        let (media, layout, logical, payload) = (self.media, self.layout, self.reverse, self.payload);
        Some(PowerCut {
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
            guarded,
            wordline,
            payload,
            event: None,
            ledger,
        })
    }

    /// Called before a change persists.
    #[inline]
    pub(crate) fn event(&mut self, event: Event) {
        if self.capture.is_some() {
            self.capture_event(event);
        }
    }

    #[cold]
    fn capture_event(&mut self, event: Event) {
        let Some(mut capture) = self.capture.take() else { return };
        capture.cuts.push((capture.take)(self, event));
        self.capture = Some(capture);
    }

    fn kept(&self) -> Kept {
        let retired = self.layout.superblocks().filter(|block| self.retired[block.index()]).collect();
        Kept { exported: self.exported, mode: self.mode.mode, trigger: self.mode.trigger, retired }
    }

    fn ledger(&self) -> Ledger {
        Ledger {
            counters: self.counters,
            erases_initial: self.erases_initial,
            worn_before: self.worn_before,
            blocks_initial: self.mode.blocks_initial,
            erases: self.domains.iter().map(|domain| (domain.gc_erases, domain.wear_leveling_erases)).collect(),
        }
    }

    /// Units that survive in the controller's buffers.
    fn buffered(&self, persist: &Persist) -> Vec<Buffered<M::Tag>> {
        if !persist.power_loss_protection {
            return Vec::new();
        }
        // Units of a recovery that is not finished.
        let mut found = self.rescued.clone();
        let per_page = self.layout.units_per_page();
        for block in self.layout.superblocks() {
            let programmed = persist.oob.programmed(block) * per_page;
            for within in programmed..persist.accepted[block.index()] {
                if let Some(unit) = self.in_buffer(self.layout.unit(block, within)) {
                    found.retain(|rescued| rescued.logical != unit.logical);
                    found.push(unit);
                }
            }
        }
        found
    }

    /// Units on wordlines that are not full, if buffers survive.
    fn guarded(&self, persist: &Persist) -> Vec<(PageId, Buffered<M::Tag>)> {
        let mut found = Vec::new();
        if !persist.power_loss_protection || persist.wordline == 1 {
            return found;
        }
        for block in self.layout.superblocks() {
            let programmed = persist.oob.programmed(block);
            for page in programmed / persist.wordline * persist.wordline..programmed {
                let page = self.layout.page_id(block, page);
                found.extend(self.layout.units_of(page).filter_map(|unit| Some((page, self.newest(persist, unit)?))));
            }
        }
        found
    }

    /// The content of a unit, whether it is programmed or in the buffer; `None` if a newer version of the same logical unit was accepted.
    pub(super) fn newest(&self, persist: &Persist, unit: UnitId) -> Option<Buffered<M::Tag>> {
        let found = self.in_buffer(unit)?;
        if persist.oob.stamp(self.layout.page_of(unit)) == Stamp::Erased {
            return Some(found);
        }
        let (block, within) = self.layout.locate(unit);
        let (flash, page) = self.layout.place(block, within);
        Some(Buffered { tag: self.media.tag(flash, page, within % self.layout.units_per_page()), ..found })
    }

    /// The content that was accepted for a unit and is not programmed; `None` if a newer version of the same logical unit was accepted.
    pub(super) fn in_buffer(&self, unit: UnitId) -> Option<Buffered<M::Tag>> {
        let logical = self.reverse[unit.index()];
        // Parity is not a host unit: see `StripesLeft`.
        let is_data = logical < self.logical_initial;
        let is_newest = is_data && self.map[logical as usize] == unit.0;
        is_newest.then(|| Buffered {
            logical: Lpn(logical),
            tag: self.tags.get(unit.index()).copied().unwrap_or_default(),
            is_lost: self.lost.contains(&logical),
            payload: self.payload.as_ref().map_or(ZEROS, |payload| payload.of(unit.0)),
        })
    }
}

/// Journal records that survive the loss of the controller's memory.
fn surviving(persist: &Persist) -> Vec<Record> {
    let survives = |pending: &&super::Pending| persist.power_loss_protection || pending.is_in_nvram;
    persist.journal.iter().filter(survives).map(|pending| pending.record).collect()
}

impl<M: Media + Clone> Ftl<M> {
    /// Starts to take a power cut before every event, for tests. Does nothing if the drive keeps no out-of-band data.
    pub fn capture_cuts(&mut self) {
        if let Some(persist) = &mut self.persist {
            if !persist.area.keeps_content() {
                persist.area.keep_content(self.map.clone());
            }
            self.capture = Some(Box::new(Capture { take: Self::cut_before, cuts: Vec::new() }));
        }
    }

    /// Returns the cuts taken since the last call, in order.
    pub fn take_cuts(&mut self) -> Vec<PowerCut<M>> {
        self.capture.as_mut().map(|capture| std::mem::take(&mut capture.cuts)).unwrap_or_default()
    }

    fn cut_before(&self, event: Event) -> PowerCut<M> {
        let persist = self.persist.as_ref().expect("cuts are taken of a drive that keeps out-of-band data");
        PowerCut {
            media: self.media.clone(),
            layout: self.layout,
            logical: self.reverse.clone(),
            oob: persist.oob.clone(),
            stripes: self.stripes_left(),
            area: persist.area.clone(),
            nvram: persist.nvram.clone(),
            kept: self.kept(),
            journal: surviving(persist),
            buffered: self.buffered(persist),
            guarded: self.guarded(persist),
            wordline: persist.wordline,
            payload: self.payload.clone(),
            event: Some(event),
            ledger: self.ledger(),
        }
    }
}
