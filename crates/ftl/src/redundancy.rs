//! Redundancy inside the drive: parity is written as stripes fill, goes as they empty, and gives lost pages back.

use wane_nand::{Media, PageRead, Purpose, ReadOutcome, Task};
use wane_units::{DieId, SuperblockId};

use crate::counters::{Cause, CountPrograms};
use crate::domain::Frontier;
use crate::engine::{Ftl, Outcome, UNMAPPED};
use crate::policies::StreamId;
use crate::stripes::Stripes;

/// Parity that may wait for a die of its own, for each die; beyond, it goes where there is room.
const WAITING_PER_DIE: usize = 2;

/// The block that takes a parity page.
#[derive(Clone, Copy)]
struct ParitySlot {
    domain: usize,
    stream: StreamId,
    frontier: Frontier,
}

impl<M: Media> Ftl<M> {
    /// Takes programmed pages into stripes. Relocated parity has none of its own: a page of nothing else joins none, and
    /// beside data it does not count.
    pub(crate) fn join_stripes(&mut self, block: SuperblockId, pages: std::ops::Range<u32>, task: Task) {
        let Some(stripes) = &mut self.stripes else { return };
        let per_page = self.layout.units_per_page();
        let first = block.0 * (self.units_per_block / per_page);
        let (layout, reverse) = (&self.layout, &self.reverse);
        let index = &self.domains[layout.domain(block)].index;
        for page in pages.map(|page| first + page) {
            let units = page * per_page..(page + 1) * per_page;
            let valid = units.filter(|unit| index.is_valid(block, unit - block.0 * self.units_per_block));
            let (mut live, mut parity) = (0, 0);
            for unit in valid {
                *if reverse[unit as usize] < self.logical_initial { &mut live } else { &mut parity } += 1;
            }
            if live == 0 && parity > 0 {
                continue;
            }
            if !stripes.join(task, page, live, layout.die_of_page(page)) {
                self.counters.stripes_unprotected += 1;
            }
        }
    }

    /// Gives up the parity of stripes without valid data, and writes that of stripes which are full.
    pub(crate) fn write_pending_parity(&mut self) -> Outcome {
        if self.stripes.is_none() {
            return Outcome::Done;
        }
        self.drop_emptied();
        // Parity can make garbage collection work, which fills stripes: those wait for the next time, so that this ends.
        for _ in 0..self.stripes.as_ref().map_or(0, |stripes| stripes.full.len()) {
            let Some(stripes) = &mut self.stripes else { break };
            let Some((stripe, task)) = stripes.full.pop_front() else { break };
            let crowded = stripes.full.len() >= WAITING_PER_DIE * self.media.geometry().dies() as usize;
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

    /// Stripes without a valid page need no parity.
    pub(crate) fn drop_emptied(&mut self) {
        while let Some(stripe) = self.stripes.as_mut().and_then(Stripes::next_emptied) {
            for page in self.parity_units(stripe) {
                let unit = std::mem::replace(&mut self.map[page as usize], UNMAPPED);
                self.lost.remove(&page);
                if unit != UNMAPPED {
                    let (block, within) = self.locate(unit);
                    self.domains[self.layout.domain(block)].index.invalidate(block, within);
                }
            }
            self.stripes.as_mut().expect("it just gave a stripe").release(stripe);
        }
    }

    /// The logical units under which a stripe's parity is mapped.
    fn parity_units(&self, stripe: u32) -> std::ops::Range<u32> {
        let per_page = self.layout.units_per_page();
        let first = self.logical_initial + stripe * per_page;
        first..first + per_page
    }

    /// A block at a page boundary, on a die without a page of the stripe, in the stream that filled the stripe.
    /// `anywhere` takes the first block with room instead.
    fn parity_slot(&mut self, stripe: u32, task: Task, anywhere: bool) -> Option<ParitySlot> {
        let stream = self.place_parity(task);
        let count = self.domains.len();
        let first = self.stripes.as_ref().map_or(0, |stripes| stripes.turn) as usize;
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
            let die = self.die_of_unit(self.base(frontier.block) + frontier.next);
            let stripes = self.stripes.as_mut().expect("slots are sought for stripes");
            let layout = &self.layout;
            if anywhere || stripes.members(stripe).all(|page| layout.die_of_page(page) != die) {
                stripes.turn = (domain as u32 + 1) % count as u32;
                return Some(ParitySlot { domain, stream, frontier });
            }
        }
        None
    }

    fn die_of_unit(&self, unit: u32) -> DieId {
        self.layout.die_of_page(self.layout.page(unit))
    }

    fn write_parity(&mut self, stripe: u32, task: Task, slot: ParitySlot) -> Outcome {
        let ParitySlot { domain, stream, frontier } = slot;
        let per_page = self.layout.units_per_page();
        let base = self.base(frontier.block) + frontier.next;
        for (page, unit) in self.parity_units(stripe).zip(base..) {
            debug_assert_eq!(self.map[page as usize], UNMAPPED, "a stripe's parity is written once");
            self.map[page as usize] = unit;
            self.reverse[unit as usize] = page;
        }
        self.clear_tags(base, per_page);
        self.domains[domain].index.add_valid(frontier.block, frontier.next, per_page);
        self.program_pages(frontier.block, frontier.next, per_page, task);
        self.counters.programmed(Cause::Parity, u64::from(per_page));
        if stream != self.host_stream {
            self.advance(domain, stream, frontier, per_page);
            return self.reclaim_domain(domain);
        }
        let moved = Frontier { next: frontier.next + per_page, ..frontier };
        self.domains[domain].host = Some(moved);
        if moved.next == self.units_per_block { self.roll_host(domain) } else { Outcome::Done }
    }

    /// Re-reads that a page is given before it is reconstructed instead.
    #[inline]
    pub(crate) fn rereads_max(&self, unit: u32) -> Option<u32> {
        let stripes = self.stripes.as_ref()?;
        stripes.stripe_of(unit / self.layout.units_per_page())?;
        stripes.policy.rereads_max()
    }

    /// The pages that give the wanted units of a failed one back: the rest of its stripe with the parity; where it is in none
    /// and only parity is wanted, the data that this was made of.
    fn rest_of(&self, wanted: &[u32]) -> Option<Vec<u32>> {
        let stripes = self.stripes.as_ref()?;
        let per_page = self.layout.units_per_page();
        let failed = wanted[0] / per_page;
        if let Some(stripe) = stripes.stripe_of(failed) {
            let mut pages: Vec<u32> = stripes.members(stripe).filter(|page| *page != failed).collect();
            let parity = self.parity_units(stripe).map(|page| self.map[page as usize]).filter(|unit| *unit != UNMAPPED);
            pages.extend(parity.map(|unit| unit / per_page));
            pages.dedup();
            return Some(pages);
        }
        let mut pages = Vec::new();
        for unit in wanted {
            let parity = self.reverse[*unit as usize].checked_sub(self.logical_initial)?;
            pages.extend(stripes.members(parity / per_page));
        }
        pages.sort_unstable();
        pages.dedup();
        Some(pages)
    }

    /// Whether the parity that would give a failed page back was itself lost when it was relocated. Data that were lost so
    /// do no harm: parity is made of what was programmed, whatever that is.
    fn parity_is_lost(&self, wanted: &[u32]) -> bool {
        let Some(stripes) = self.stripes.as_ref().filter(|_| !self.lost.is_empty()) else { return false };
        let failed = wanted[0] / self.layout.units_per_page();
        let Some(stripe) = stripes.stripe_of(failed) else { return false };
        self.parity_units(stripe).any(|page| self.lost.contains(&page))
    }

    /// Reads what gives the wanted units of a failed page back, at least one. Whether it did.
    pub(crate) fn reconstruct(&mut self, wanted: &[u32], task: Task) -> bool {
        let per_page = self.layout.units_per_page();
        let Some(pages) = self.rest_of(wanted) else { return false };
        let bytes = self.media.geometry().page_size().0 as u32;
        let mut recovered = !self.parity_is_lost(wanted);
        for page in pages {
            let unit = page * per_page;
            let (block, within) = self.locate(unit);
            if self.is_buffered(block, within) {
                continue;
            }
            let (flash, page) = self.layout.place(block, within);
            let read = PageRead { block: flash, page, bytes, task, purpose: Purpose::Recover, rereads_max: None };
            recovered &= self.media.read(read) != ReadOutcome::Uncorrectable;
            // These reads disturb like the host's.
            self.touch(block);
        }
        *if recovered { &mut self.counters.recoveries } else { &mut self.counters.recovery_failures } += 1;
        recovered
    }
}
