//! Host writes to a drive of several domains, which take pages in turn.

use wane_nand::{Media, Task};
use wane_units::{UnitId, prefetch};

use super::{AHEAD, InDomains, announce, replace};
use crate::counters::{Cause, CountPrograms};
use crate::domain::Frontier;
use crate::engine::Ftl;

/// The share of a domain in units that go to all domains in turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    domain: u32,
    /// The next of its physical units.
    unit: u32,
    /// Its place in the block.
    next: u32,
    /// Units that are left of its page.
    page_rest: u32,
    /// How many units it takes.
    count: u32,
}

impl<M: Media> Ftl<M> {
    /// Writes whole pages to the domains in turn while there is nothing else to do: no block fills up, no leveler is due, nothing is
    /// striped or lost. Returns the number of units written; the next one may need [`Ftl::write_for`].
    pub(super) fn write_across(&mut self, units: &[u32], done: usize, cause: Cause) -> usize {
        let stamps_by_unit = self.capture.is_some() || self.persist.is_some() && self.layout.units_per_page() > 1;
        if self.stripes.is_some() || self.payload.is_some() || stamps_by_unit || !self.lost.is_empty() {
            return 0;
        }
        let mut turns = std::mem::take(&mut self.turns);
        let pages = self.plan_turns(units.len() - done, &mut turns);
        let written = turns.iter().map(|turn| turn.count as usize).sum();
        if written > 0 {
            self.overwrite_in_turns(units, done, written, &mut turns);
            self.turn = ((self.turn as usize + pages) % self.domains.len()) as u32;
            self.counters.programmed(cause, written as u64);
            if cause == Cause::Host {
                self.counters.host_units_written += written as u64;
            }
        }
        self.turns = turns;
        written
    }

    /// Plans which of at most `most` units go to the domains in turn as whole pages without filling a block. `turns` gets the share of each
    /// domain, starting with the one whose turn it is. Returns the number of pages.
    fn plan_turns(&self, most: usize, turns: &mut Vec<Turn>) -> usize {
        let (per_page, count) = (self.layout.units_per_page(), self.domains.len());
        turns.clear();
        // The domain at `place` takes its n-th page (n = 0, 1, ...) in turn `place` + n x `count`. The first domain that can take no more
        // ends the plan.
        let mut pages_max = most / per_page as usize;
        let (mut place, mut at) = (0, self.turn as usize);
        while place < pages_max.min(count) {
            let domain = &self.domains[at];
            let has_room = domain.free.len() as u32 >= self.gc_reserve || domain.index.reclaimable();
            let frontier = domain.host.filter(|_| has_room && !(self.leveling && domain.leveling_due));
            let Some(Frontier { block, next }) = frontier else {
                pages_max = place;
                break;
            };
            // All but the last page of the block.
            let rest = self.units_per_block - next;
            let pages = if per_page == 1 { rest - 1 } else { rest.div_ceil(per_page) - 1 };
            pages_max = pages_max.min(place + pages as usize * count);
            let page_rest = if per_page == 1 { 1 } else { per_page - next % per_page };
            turns.push(Turn { domain: at as u32, unit: self.layout.unit(block, next).0, next, page_rest, count: 0 });
            at = if at + 1 == count { 0 } else { at + 1 };
            place += 1;
        }
        let (rounds, more) = (pages_max / count, pages_max % count);
        for (place, turn) in turns.iter_mut().enumerate() {
            let pages = (rounds + usize::from(place < more)) as u32;
            turn.count = if pages == 0 { 0 } else { turn.page_rest + (pages - 1) * per_page };
        }
        pages_max
    }

    /// Writes `run` units as planned.
    fn overwrite_in_turns(&mut self, units: &[u32], done: usize, run: usize, turns: &mut [Turn]) {
        for turn in turns.iter().filter(|turn| turn.count > 0) {
            let domain = &mut self.domains[turn.domain as usize];
            let Some(frontier) = domain.host.as_mut() else { continue };
            debug_assert_eq!(frontier.next, turn.next, "a page goes where the domain writes next");
            frontier.next += turn.count;
            let block = frontier.block;
            debug_assert!(domain.has(block), "a domain writes to a block of its own");
            domain.index.add_valid(block, turn.next, turn.count);
            let page = |within| self.layout.page_in_block(within);
            let pages = page(turn.next)..page(turn.next + turn.count);
            self.counters.program_operations += u64::from(pages.end - pages.start);
            if self.persist.is_none() {
                self.program_media(block, pages, Task::Host);
            }
        }
        if self.persist.is_some() {
            self.program_in_turns(run, turns);
        }
        let Self { map, reverse, domains, layout, .. } = self;
        let (map, reverse, per_page) = (&mut map[..], &mut reverse[..], layout.units_per_page());
        let mut replaced = InDomains { domains, layout, locator: self.locator };
        let (mut at, mut position) = (0, done);
        while position < done + run {
            let turn = &mut turns[at];
            let page = turn.unit..turn.unit + turn.page_rest;
            (turn.unit, turn.page_rest) = (page.end, per_page);
            at = if at + 1 == turns.len() { 0 } else { at + 1 };
            for unit in page {
                reverse[unit as usize] = units[position];
                if let Some(far) = units.get(position + AHEAD) {
                    prefetch(map, *far as usize);
                    announce(map, units[position + AHEAD / 2], position, &mut replaced);
                }
                replace(map, units[position], unit, &mut replaced);
                position += 1;
            }
        }
        debug_assert_eq!(position, done + run, "pages are written as planned");
    }

    /// Programs `run` pages of a unit each as planned, in the order of their out-of-band data.
    fn program_in_turns(&mut self, run: usize, turns: &[Turn]) {
        debug_assert_eq!(self.layout.units_per_page(), 1, "out-of-band data of larger pages is written unit by unit");
        let Some(persist) = &mut self.persist else { return };
        for step in 0..run {
            let (at, round) = (step % turns.len(), (step / turns.len()) as u32);
            let (block, within) = self.locator.locate(UnitId(turns[at].unit + round));
            let page = self.layout.page_in_block(within);
            let (flash, row) = self.layout.place_page(block, page);
            persist.accepted[block.index()] = within + 1;
            persist.oob.program(block, page, 1);
            // Only a detailed medium keeps tags, and none comes here.
            self.media.program(flash, row, 1, Task::Host, &[]);
        }
    }
}
