//! Stripes across a power cut.
//!
//! Out-of-band data carry the number of a page's stripe. The number is reused only once no page carries it. A parity page names the pages that
//! it was computed from, is newer than all of them, and also covers their out-of-band data. So it can reconstruct a page of which nothing can be
//! read. Erasing a page takes it out of its stripe at no cost to the controller, as it does while the drive has power.
//!
//! A stripe without parity on flash is closed when power returns, full or not. With power-loss protection the controller's buffer has kept its
//! parity. Without it parity is computed again from the stripe's pages; a page that cannot be read leaves the stripe. Parity that cannot be
//! read or is incomplete is computed again in the same way.

use std::collections::{BTreeMap, BTreeSet};

use wane_archive::{Archive, ArchiveError};
use wane_nand::{Media, PageRead, Purpose, Task};
use wane_units::{Lpn, UnitId};

use super::Persist;
use super::cut::{Buffered, PowerCut};
use super::oob::Stamp;
use super::recover::Recovery;
use crate::config::{BuildError, Layout, PageId};
use crate::engine::{Ftl, Outcome, UNMAPPED};
use crate::redundancy::Slots;
use crate::stripes::StripeId;
use crate::table::Table;

/// What a power cut leaves of the stripes.
#[derive(Clone, Debug)]
pub(super) struct StripesLeft {
    /// By page: the stripe in its out-of-band data, or `UNMAPPED`.
    pub(super) named: Table<u32>,
    /// Stripes whose parity lies in the controller's surviving buffer, with the task that it is written for.
    held: BTreeMap<u32, Task>,
    /// The first logical unit of parity.
    parity_first: u32,
}

impl StripesLeft {
    pub(super) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("cut.parity-first", &self.parity_first)?;
        archive.fixed("cut.stripes-named", &mut self.named)?;
        archive.field("cut.stripes-held", &mut self.held)
    }

    /// The stripe whose parity a logical unit belongs to.
    fn of_parity(&self, layout: &Layout, logical: u32) -> Option<u32> {
        let is_parity = logical != UNMAPPED && logical >= self.parity_first;
        is_parity.then(|| (logical - self.parity_first) / layout.units_per_page())
    }
}

impl<M: Media> PowerCut<M> {
    /// Takes a page out of its stripe, since power failed before its program. If the controller's buffer survives, it holds the stripe's parity.
    pub(super) fn leave_stripe(&mut self, page: PageId, buffer_survives: bool) {
        let Some(left) = &mut self.stripes else { return };
        let named = std::mem::replace(&mut left.named[page.index()], UNMAPPED);
        if !buffer_survives {
            return;
        }
        let of_units = self.layout.units_of(page).map(|unit| self.logical[unit.index()]);
        let of_parity: Vec<u32> = of_units.filter_map(|logical| left.of_parity(&self.layout, logical)).collect();
        for stripe in of_parity.into_iter().chain((named != UNMAPPED).then_some(named)) {
            left.held.entry(stripe).or_insert(Task::GarbageCollection);
        }
    }

    /// Forgets the stripes of consecutive erased pages.
    pub(super) fn forget_stripes(&mut self, pages: std::ops::Range<u32>) {
        if let Some(left) = &mut self.stripes {
            left.named[pages.start as usize..pages.end as usize].fill(UNMAPPED);
        }
    }

    /// Puts pages from `first` on back into these stripes.
    pub(super) fn put_stripes_back(&mut self, first: u32, named: &[u32]) {
        if let Some(left) = &mut self.stripes {
            left.named[first as usize..][..named.len()].copy_from_slice(named);
        }
    }
}

impl<M: Media> Ftl<M> {
    /// What a power cut leaves of the stripes.
    pub(super) fn stripes_left(&self) -> Option<StripesLeft> {
        let (stripes, persist) = (self.stripes.as_ref()?, self.persist.as_ref()?);
        let is_on_flash = |unit: UnitId| matches!(persist.oob.stamp(self.layout.page_of(unit)), Stamp::At(_));
        let has_parity =
            |stripe| self.parity_units(stripe).all(|logical| self.lookup(logical).is_some_and(is_on_flash));
        let held = if persist.power_loss_protection {
            let in_buffer = stripes.in_use().filter(|(stripe, _)| !has_parity(*stripe));
            in_buffer.map(|(stripe, task)| (stripe.0, task)).collect()
        } else {
            BTreeMap::new()
        };
        Some(StripesLeft { named: stripes.named().clone(), held, parity_first: self.logical_initial })
    }

    /// The stripes in the out-of-band data of these pages.
    pub(super) fn stripes_named(&self, pages: std::ops::Range<u32>) -> Vec<u32> {
        let named = self.stripes.as_ref().map(|stripes| &stripes.named()[pages.start as usize..pages.end as usize]);
        named.map(<[u32]>::to_vec).unwrap_or_default()
    }

    /// Groups the pages that name a stripe, without those of blocks that will be erased. Returns the stripes whose parity has survived in the
    /// controller's buffer.
    pub(super) fn group_stripes(&mut self, left: Option<StripesLeft>) -> Result<BTreeMap<u32, Task>, BuildError> {
        let (Some(stripes), Some(persist)) = (&mut self.stripes, &self.persist) else {
            return if left.is_none() { Ok(BTreeMap::new()) } else { Err(BuildError::AnotherDrive) };
        };
        let Some(StripesLeft { named, held, .. }) = left else { return Err(BuildError::AnotherDrive) };
        if named.len() != stripes.named().len() {
            return Err(BuildError::AnotherDrive);
        }
        let pages = self.layout.pages_per_superblock();
        let retired = &self.retired;
        stripes.regroup(named, |page| {
            let block = wane_units::SuperblockId(page.0 / pages);
            persist.oob.number(page).is_some() && !persist.takes(block) && !retired[block.index()]
        });
        Ok(held)
    }

    /// Adds torn pages to the map that can be reconstructed from the rest of their stripe. Such a page may hold the newest parity of the
    /// stripe of another one.
    pub(super) fn rebuild_torn(&mut self, found: &Unreadable, held: &BTreeMap<u32, Task>, report: &mut Recovery) {
        let torn: Vec<PageId> = self.persisted().oob.torn_pages().collect();
        loop {
            let is_back = |ftl: &Self, page| matches!(ftl.persisted().oob.stamp(page), Stamp::At(_));
            let next =
                torn.iter().copied().find(|page| !is_back(self, *page) && self.is_given_back(*page, found, held));
            let Some(page) = next else { return };
            let stripe = self.stripes.as_ref().and_then(|stripes| stripes.named_by(page));
            self.read_stripe(stripe, Some(page));
            self.persisted_mut().oob.rebuild(page);
            self.layout.units_of(page).for_each(|unit| self.note_unit(unit));
            report.pages_rebuilt += 1;
        }
    }

    /// Drops entries of the remap log whose unit can never be read.
    pub(super) fn drop_torn_remaps(&mut self) {
        let layout = self.layout;
        let Persist { nvram, oob, .. } = self.persisted_mut();
        nvram.remaps.retain(|unit| matches!(oob.stamp(layout.page_of(UnitId(unit))), Stamp::At(_)));
    }

    /// Whether a page can be reconstructed from the rest of its stripe.
    fn is_given_back(&self, page: PageId, found: &Unreadable, held: &BTreeMap<u32, Task>) -> bool {
        let Some(stripes) = &self.stripes else { return false };
        let Some(stripe) = stripes.named_by(page) else { return false };
        let rest_is_read = stripes.members(stripe).all(|member| member == page || !found.0.contains(&member));
        rest_is_read && (held.contains_key(&stripe.0) || self.has_whole_parity(stripe, found))
    }

    /// Whether all parity of a stripe can be read and is newer than its pages. Older parity belongs to an earlier stripe of the same
    /// number.
    fn has_whole_parity(&self, stripe: StripeId, found: &Unreadable) -> bool {
        let (Some(stripes), oob) = (&self.stripes, &self.persisted().oob) else { return false };
        let newest = stripes.members(stripe).filter_map(|page| oob.number(page)).max().unwrap_or(0);
        self.parity_units(stripe).all(|logical| {
            let Some(unit) = self.map.get(logical.index()).copied().filter(|unit| *unit < self.reverse.len() as u32)
            else {
                return false;
            };
            let page = self.layout.page_of(UnitId(unit));
            let is_to_be_erased = self.persisted().takes(self.locator.locate(UnitId(unit)).0);
            !is_to_be_erased
                && !found.0.contains(&page)
                && !oob.is_lost(unit)
                && oob.number(page).is_some_and(|number| number > newest)
        })
    }

    /// Reads the pages of a stripe except `but`. Also reads its parity if `but` is given.
    fn read_stripe(&mut self, stripe: Option<StripeId>, but: Option<PageId>) {
        let (Some(stripe), Some(stripes)) = (stripe, &self.stripes) else { return };
        let mut pages: Vec<PageId> = stripes.members(stripe).filter(|page| Some(*page) != but).collect();
        if but.is_some() {
            let units = self.parity_units(stripe).map(|logical| self.map[logical.index()]);
            let is_there = |unit: &u32| *unit < self.reverse.len() as u32;
            pages.extend(units.filter(is_there).map(|unit| self.layout.page_of(UnitId(unit))));
            pages.dedup();
        }
        for page in pages {
            let (block, within) = self.layout.locate(self.layout.first_unit(page));
            let (flash, row) = self.layout.place(block, within);
            let bytes = self.media.geometry().page_size().0 as u32;
            let (task, purpose) = (Task::GarbageCollection, Purpose::Recover);
            self.media.read(PageRead { block: flash, page: row, bytes, task, purpose, rereads_max: None });
        }
    }

    /// Restores the stripes that protect something: with their parity, or to be given new parity.
    pub(super) fn take_stripes_up(&mut self, found: &Unreadable, held: &BTreeMap<u32, Task>, report: &mut Recovery) {
        for stripe in self.stripes.as_ref().map(|stripes| stripes.closed()).unwrap_or_default() {
            let is_whole = self.has_whole_parity(stripe, found);
            let is_held = held.get(&stripe.0).copied();
            if !is_whole && is_held.is_none() {
                self.drop_unreadable(stripe, found);
            }
            let live = self.live_of(stripe);
            let Some(stripes) = &mut self.stripes else { return };
            stripes.set_live(stripe, live);
            if live > 0 && is_whole {
                self.take_parity_up(stripe);
                continue;
            }
            self.forget_parity(stripe);
            let Some(stripes) = &mut self.stripes else { return };
            if live == 0 {
                stripes.release(stripe);
                continue;
            }
            stripes.full.push_back(stripe, is_held.unwrap_or(Task::GarbageCollection));
            report.stripes_closed += 1;
            if is_held.is_none() {
                self.read_stripe(Some(stripe), None);
            }
        }
        self.forget_stray_parity();
    }

    /// Takes pages that cannot be read out of their stripe, since its new parity cannot cover them.
    fn drop_unreadable(&mut self, stripe: StripeId, found: &Unreadable) {
        let Some(stripes) = &mut self.stripes else { return };
        let unreadable: Vec<PageId> = stripes.members(stripe).filter(|page| found.0.contains(page)).collect();
        unreadable.into_iter().for_each(|page| stripes.pages_erased(page, 1));
    }

    /// Number of valid data units in the pages of a stripe.
    fn live_of(&self, stripe: StripeId) -> u32 {
        let Some(stripes) = &self.stripes else { return 0 };
        let units = stripes.members(stripe).flat_map(|page| self.layout.units_of(page));
        let is_live = |unit: &UnitId| {
            let logical = self.reverse[unit.index()];
            logical < self.logical_initial && self.map[logical as usize] == unit.0
        };
        units.filter(is_live).count() as u32
    }

    fn take_parity_up(&mut self, stripe: StripeId) {
        for logical in self.parity_units(stripe) {
            let (block, within) = self.locator.locate(UnitId(self.map[logical.index()]));
            self.domains[self.layout.domain(block)].index.add_one(block, within);
        }
    }

    fn forget_parity(&mut self, stripe: StripeId) {
        for logical in self.parity_units(stripe) {
            self.map[logical.index()] = UNMAPPED;
            self.lost.remove(&logical.0);
        }
    }

    /// Drops parity whose stripe has no pages any more.
    fn forget_stray_parity(&mut self) {
        let Some(stripes) = &self.stripes else { return };
        let closed: BTreeSet<u32> = stripes.closed().into_iter().map(|stripe| stripe.0).collect();
        let per_page = self.layout.units_per_page();
        for logical in self.logical_initial..self.map.len() as u32 {
            if self.map[logical as usize] != UNMAPPED
                && !closed.contains(&((logical - self.logical_initial) / per_page))
            {
                self.map[logical as usize] = UNMAPPED;
                self.lost.remove(&logical);
            }
        }
    }

    /// Programs the data of reconstructed torn pages again. If the drive has no room, they stay torn and parity reconstructs them on each read.
    pub(super) fn move_rebuilt(&mut self, report: &mut Recovery) {
        let rebuilt: Vec<PageId> = self.persisted().oob.rebuilt_pages().collect();
        let layout = self.layout;
        for unit in rebuilt.into_iter().flat_map(|page| layout.units_of(page)) {
            let logical = Lpn(self.reverse[unit.index()]);
            let is_there = logical.0 < self.logical_initial && self.lookup(logical) == Some(unit);
            if !is_there || self.lost.contains(&logical.0) || self.dead.is_some() {
                continue;
            }
            let (block, within) = self.layout.locate(unit);
            let (flash, row) = self.layout.place(block, within);
            let tag = self.media.tag(flash, row, within % self.layout.units_per_page());
            let payload = self.payload.as_mut().map_or(crate::payload::ZEROS, |payload| payload.share(unit.0));
            if !self.rewrite(Buffered { logical, tag, is_lost: false, payload }, report) {
                return;
            }
        }
    }

    /// Closes every stripe that takes pages, and writes the parity of all that wait for it, wherever there is room. An outcome that stops this is
    /// returned at the end.
    pub(super) fn close_stripes(&mut self) -> Outcome {
        let Some(stripes) = &mut self.stripes else { return Outcome::Done };
        stripes.close_filling();
        let mut last = Outcome::Done;
        // Each stop comes after a page of parity.
        for _ in 0..=stripes.full.len() {
            match self.write_parity_where(Slots::Any) {
                Outcome::Done => break,
                Outcome::Dead(death) => return Outcome::Dead(death),
                stop => last = stop,
            }
        }
        last
    }

    /// Where the parity lies that would reconstruct a logical unit if its page could not be read.
    pub fn protection(&self, logical: Lpn) -> Protection {
        let (Some(unit), Some(stripes)) = (self.lookup(logical), &self.stripes) else { return Protection::None };
        let Some(stripe) = stripes.stripe_of(self.layout.page_of(unit)) else { return Protection::None };
        if stripes.is_held(stripe) {
            return Protection::InController;
        }
        let units: Vec<Option<UnitId>> = self.parity_units(stripe).map(|parity| self.lookup(parity)).collect();
        let is_lost = self.parity_units(stripe).any(|parity| self.lost.contains(&parity.0));
        if is_lost || units.contains(&None) {
            return Protection::None;
        }
        let is_on_flash = |unit: &UnitId| {
            let (block, within) = self.layout.locate(*unit);
            !self.is_buffered(block, within)
        };
        if units.iter().flatten().all(is_on_flash) { Protection::OnFlash } else { Protection::InController }
    }
}

/// Where the parity of a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// There is none.
    None,
    /// In the controller's buffer, at least in part.
    InController,
    /// On flash.
    OnFlash,
}

/// Pages that a recovery could not read.
#[derive(Default)]
pub(super) struct Unreadable(pub(super) BTreeSet<PageId>);
