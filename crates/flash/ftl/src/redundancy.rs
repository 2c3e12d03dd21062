//! Redundancy inside the drive. Parity is written once a stripe is full, dropped once the stripe holds nothing valid, and read to
//! reconstruct pages that cannot be corrected.

use std::collections::BTreeMap;

use wane_nand::{Barrier, Media, PageRead, Purpose, ReadOutcome, Task};
use wane_units::{Lpn, SuperblockId, UnitId};

use crate::config::PageId;
use crate::counters::{Cause, CountPrograms};
use crate::domain::Frontier;
use crate::engine::{Ftl, Outcome, UNMAPPED};
use crate::policies::StreamId;
use crate::stripes::{StripeId, Stripes};

/// Number of stripes, for each die of the drive, that may wait for a die without a page of theirs for their parity. If more wait,
/// parity goes to any die that has room.
const WAITING_PER_DIE: usize = 2;

/// Which blocks take a page of parity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slots {
    /// Those on a die without a page of the stripe; any block if too many stripes wait for such a die.
    Apart,
    /// Any.
    Any,
}

/// Units that the map already points to, but that are not programmed there yet.
#[derive(Default)]
pub(crate) struct UnderWay {
    /// Where their data still lie.
    pub(crate) origins: BTreeMap<UnitId, UnitId>,
    /// The page that waits in the controller's buffer until it is full.
    pub(crate) buffered: Option<PageId>,
}

/// The block that takes a parity page.
#[derive(Clone, Copy)]
struct ParitySlot {
    domain: usize,
    stream: StreamId,
    frontier: Frontier,
}

impl<M: Media> Ftl<M> {
    /// Adds programmed pages of a block to stripes. Relocated parity is not protected again: a page that holds only parity joins no
    /// stripe, and in a page of data and parity only the data count.
    pub(crate) fn join_stripes(&mut self, block: SuperblockId, pages: std::ops::Range<u32>, task: Task) {
        let Some(stripes) = &mut self.stripes else { return };
        let (layout, reverse) = (&self.layout, &self.reverse);
        let index = &self.domains[layout.domain(block)].index;
        let base = layout.unit(block, 0).0;
        let data_of = |page| {
            let (mut live, mut parity) = (0, 0);
            for unit in layout.units_of(page).filter(|unit| index.is_valid(block, unit.0 - base)) {
                *if reverse[unit.index()] < self.logical_initial { &mut live } else { &mut parity } += 1;
            }
            (live > 0 || parity == 0).then_some((page, live))
        };
        // Consecutive pages of a superblock lie on consecutive dies; those of a block lie on one die.
        let on_a_die = if layout.width() == 1 { pages.len().max(1) } else { 1 };
        for first in pages.step_by(on_a_die) {
            let ids = (first..first + on_a_die as u32).map(|page| layout.page_id(block, page));
            let die = layout.die_of_page(layout.page_id(block, first));
            self.counters.stripes_unprotected += stripes.join(task, die, ids.filter_map(data_of));
        }
    }

    /// Drops the parity of stripes without valid data, and writes that of stripes which are full.
    pub(crate) fn write_pending_parity(&mut self) -> Outcome {
        self.write_parity_where(Slots::Apart)
    }

    /// As [`Ftl::write_pending_parity`], in the blocks that `slots` allows.
    pub(crate) fn write_parity_where(&mut self, slots: Slots) -> Outcome {
        if self.stripes.is_none() {
            return Outcome::Done;
        }
        self.drop_emptied();
        // Writing parity can start garbage collection, which fills more stripes. Those wait for the next call, so that the loop ends.
        for _ in 0..self.stripes.as_ref().map_or(0, |stripes| stripes.full.len()) {
            let Some(stripes) = &mut self.stripes else { break };
            let Some((stripe, task)) = stripes.full.pop_front() else { break };
            let crowded =
                slots == Slots::Any || stripes.full.len() >= WAITING_PER_DIE * self.media.geometry().dies() as usize;
            match self.parity_slot(stripe, task, crowded) {
                Some(slot) => match self.write_parity(stripe, task, slot) {
                    Outcome::Done => self.drop_emptied(),
                    stop => return stop,
                },
                None => self.stripes.as_mut().expect("checked above").full.push_back(stripe, task),
            }
        }
        Outcome::Done
    }

    /// Releases the stripes that hold nothing valid, and unmaps their parity.
    pub(crate) fn drop_emptied(&mut self) {
        while let Some(stripe) = self.stripes.as_mut().and_then(Stripes::next_emptied) {
            for logical in self.parity_units(stripe) {
                let unit = std::mem::replace(&mut self.map[logical.index()], UNMAPPED);
                self.lost.remove(&logical.0);
                if unit != UNMAPPED {
                    let (block, within) = self.locator.locate(UnitId(unit));
                    self.domains[self.layout.domain(block)].index.invalidate(block, within);
                }
            }
            self.stripes.as_mut().expect("it just gave a stripe").release(stripe);
        }
    }

    /// The logical units under which a stripe's parity is mapped.
    pub(crate) fn parity_units(&self, stripe: StripeId) -> impl Iterator<Item = Lpn> + use<M> {
        let per_page = self.layout.units_per_page();
        let first = self.logical_initial + stripe.0 * per_page;
        debug_assert!(
            (first + per_page) as usize <= self.map.len(),
            "the map has entries for the parity of every stripe"
        );
        Lpn::all(first..first + per_page)
    }

    /// The stripe whose parity is mapped under a logical unit; `None` where the unit is the host's.
    fn stripe_of_parity(&self, logical: u32) -> Option<StripeId> {
        logical.checked_sub(self.logical_initial).map(|unit| StripeId(unit / self.layout.units_per_page()))
    }

    /// An open block at a page boundary, on a die without a page of the stripe, in the stream that the placement policy gives to
    /// parity. With `anywhere` the first block with room will do.
    fn parity_slot(&mut self, stripe: StripeId, task: Task, anywhere: bool) -> Option<ParitySlot> {
        let stream = self.place_parity(task);
        let count = self.domains.len();
        let stripes = self.stripes.as_mut().expect("slots are sought for stripes");
        stripes.note_dies(stripe, |page| self.layout.die_of_page(page));
        let first = stripes.turn as usize;
        for domain in (0..count).map(|offset| (first + offset) % count) {
            let frontier = match self.frontier(domain, stream) {
                // The last free block is left to the host.
                None if self.domains[domain].free.len() < 2 => None,
                None => self.frontier_or_next(domain, stream),
                open => open,
            };
            let Some(frontier) = frontier else { continue };
            if !frontier.next.is_multiple_of(self.layout.units_per_page()) {
                continue;
            }
            let unit = self.layout.unit(frontier.block, frontier.next);
            let die = self.layout.die_of_page(self.layout.page_of(unit));
            let stripes = self.stripes.as_mut().expect("slots are sought for stripes");
            if anywhere || stripes.is_apart(die) {
                stripes.turn = (domain as u32 + 1) % count as u32;
                return Some(ParitySlot { domain, stream, frontier });
            }
        }
        None
    }

    fn write_parity(&mut self, stripe: StripeId, task: Task, slot: ParitySlot) -> Outcome {
        let ParitySlot { domain, stream, frontier } = slot;
        let per_page = self.layout.units_per_page();
        debug_assert!(frontier.next + per_page <= self.units_per_block, "a page of parity fits the block");
        let base = self.layout.unit(frontier.block, frontier.next);
        for (logical, unit) in self.parity_units(stripe).zip(base.0..) {
            debug_assert_eq!(self.map[logical.index()], UNMAPPED, "a stripe's parity is written once");
            self.map[logical.index()] = unit;
            self.reverse[unit as usize] = logical.0;
        }
        self.clear_tags(base, per_page);
        self.domains[domain].index.add_valid(frontier.block, frontier.next, per_page);
        if self.may_lose_buffers() {
            // Parity of a page that is not there would give back none of the others.
            self.media.barrier(Barrier::Programs);
        }
        self.program_pages(frontier.block, frontier.next, per_page, task);
        self.counters.programmed(Cause::Parity, u64::from(per_page));
        if stream != self.host_stream {
            self.advance(domain, stream, frontier, per_page);
            return self.reclaim_domain(domain);
        }
        let moved = Frontier { next: frontier.next + per_page, ..frontier };
        self.domains[domain].host = Some(moved);
        if moved.next == self.units_per_block { self.next_host_block(domain) } else { Outcome::Done }
    }

    /// Most re-reads of a unit's page before it is reconstructed instead; `None` where the page is in no stripe or the policy sets no
    /// limit.
    #[inline]
    pub(crate) fn rereads_max(&self, unit: UnitId) -> Option<u32> {
        let stripes = self.stripes.as_ref()?;
        stripes.stripe_of(self.layout.page_of(unit))?;
        stripes.policy.rereads_max()
    }

    /// The pages to read to reconstruct the wanted units of a failed page. If the failed page is in a stripe: the other pages of the
    /// stripe and its parity. If it is in none and only parity is wanted of it: the data that the parity was made of. Otherwise there
    /// are none.
    fn rest_of(&self, wanted: &[UnitId], under_way: &UnderWay) -> Option<Vec<PageId>> {
        let stripes = self.stripes.as_ref()?;
        let failed = self.layout.page_of(wanted[0]);
        let is_there = |unit: &UnitId| self.layout.page_of(*unit) == failed;
        debug_assert!(wanted.iter().all(is_there), "units that are reconstructed together lie in one page");
        if let Some(stripe) = stripes.stripe_of(failed) {
            let mut pages: Vec<PageId> = stripes.members(stripe).filter(|page| *page != failed).collect();
            let mapped = self.parity_units(stripe).filter_map(|logical| self.lookup(logical));
            let place = |unit| under_way.origins.get(&unit).copied().unwrap_or(unit);
            pages.extend(mapped.map(|unit| self.layout.page_of(place(unit))));
            pages.dedup();
            return Some(pages);
        }
        let mut pages = Vec::new();
        for unit in wanted {
            pages.extend(stripes.members(self.stripe_of_parity(self.reverse[unit.index()])?));
        }
        pages.sort_unstable();
        pages.dedup();
        Some(pages)
    }

    /// Names the other pages of the stripe of a page that the host just read, so that a scheduler may read them instead. Done if the policy reads
    /// around dies and these pages give the data without the page's die. Pages in the controller's buffers need no read.
    #[cold]
    pub(crate) fn offer_instead(&mut self, unit: UnitId, bytes: u32, rereads: u32) {
        let Some(stripes) = &self.stripes else { return };
        let read = self.layout.page_of(unit);
        let Some(stripe) = stripes.stripe_of(read) else { return };
        if self.parity_is_lost(&[unit]) {
            return;
        }
        let mut pages: Vec<PageId> = stripes.members(stripe).filter(|page| *page != read).collect();
        pages.extend(
            self.parity_units(stripe).filter_map(|logical| self.lookup(logical)).map(|unit| self.layout.page_of(unit)),
        );
        pages.dedup();
        let die = self.layout.die_of_page(read);
        if pages.iter().any(|page| self.layout.die_of_page(*page) == die) {
            return;
        }
        for page in pages {
            let (block, within) = self.locator.locate(self.layout.first_unit(page));
            if !self.is_buffered(block, within) {
                let (block, page) = self.layout.place(block, within);
                self.media.read_instead(block, page, bytes, rereads);
            }
        }
    }

    /// Whether the parity of a failed page's stripe was itself lost when it was relocated. Lost data of other pages do not matter:
    /// parity is computed from what was programmed, and these pages still hold that.
    fn parity_is_lost(&self, wanted: &[UnitId]) -> bool {
        let Some(stripes) = self.stripes.as_ref().filter(|_| !self.lost.is_empty()) else { return false };
        let Some(stripe) = stripes.stripe_of(self.layout.page_of(wanted[0])) else { return false };
        self.parity_units(stripe).any(|logical| self.lost.contains(&logical.0))
    }

    /// Reconstructs wanted units, at least one, of a page that could not be corrected, by reading the rest of its stripe. Returns
    /// whether that gave them back.
    pub(crate) fn reconstruct(&mut self, wanted: &[UnitId], task: Task, under_way: &UnderWay) -> bool {
        debug_assert!(!wanted.is_empty(), "a page is reconstructed for one of its units");
        let Some(pages) = self.rest_of(wanted, under_way) else { return false };
        let bytes = self.media.geometry().page_size().0 as u32;
        let mut recovered = !self.parity_is_lost(wanted);
        for page in pages {
            let (block, within) = self.locator.locate(self.layout.first_unit(page));
            if self.is_buffered(block, within) || under_way.buffered == Some(page) {
                continue;
            }
            let (flash, page) = self.layout.place(block, within);
            let read = PageRead { block: flash, page, bytes, task, purpose: Purpose::Recover, rereads_max: None };
            recovered &= self.media.read(read) != ReadOutcome::Uncorrectable;
            // Recovery reads disturb the block as any read does, so the scrub policy is told.
            self.touch(block);
        }
        *if recovered { &mut self.counters.recoveries } else { &mut self.counters.recovery_failures } += 1;
        recovered
    }
}
