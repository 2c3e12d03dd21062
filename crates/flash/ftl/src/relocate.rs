//! Relocation of a block's valid units: they are gathered, made invalid where they were, and appended to their new block.

use wane_nand::{Media, PageRead, Purpose, ReadOutcome, Task};
use wane_units::{SuperblockId, UnitId, prefetch, prefetch_far};

use crate::counters::CountPrograms;
use crate::domain::Mover;
use crate::engine::{ENTRIES_PER_LINE, EndOfLife, FAR_ENTRIES, Ftl};
use crate::index::ones;
use crate::policies::StreamId;
use crate::redundancy::UnderWay;

/// Distance, in units, at which the map entry of a relocation is prefetched.
const AHEAD: usize = 64;

/// The same for a map that no cache holds: first into the second cache level, from there into the first.
const FAR_AHEAD: usize = 96;
const NEAR_AHEAD: usize = 12;

/// Units that are moved for each prefetched line of the next block's reverse map. Prefetching all lines at once would hold up map
/// entries, since a processor has room for only one or two dozen pending lines.
const UNITS_PER_LINE: usize = 6;

/// Where relocated units go.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) block: SuperblockId,
    /// Its next unit.
    pub(crate) next: u32,
    /// Who moves them.
    pub(crate) task: Task,
}

/// Points the map entries of `units` to consecutive physical units from `base` on.
#[inline(always)]
fn point(map: &mut [u32], units: &[u32], base: u32) {
    for logical in &units[..units.len().min(AHEAD)] {
        prefetch(map, *logical as usize);
    }
    let steady = units.len().saturating_sub(AHEAD);
    for ((logical, ahead), unit) in units.iter().zip(&units[units.len() - steady..]).zip(base..) {
        prefetch(map, *ahead as usize);
        map[*logical as usize] = unit;
    }
    for (logical, unit) in units[steady..].iter().zip(base + steady as u32..) {
        map[*logical as usize] = unit;
    }
}

/// As [`point`], on a map that no cache holds. `next` are the units that are likely to be moved next: they are prefetched, and at the
/// end also their map entries.
#[inline(never)]
fn point_far(map: &mut [u32], units: &[u32], base: u32, next: &[u32]) {
    for logical in &units[..units.len().min(FAR_AHEAD)] {
        prefetch_far(map, *logical as usize);
    }
    let steady = units.len().saturating_sub(FAR_AHEAD);
    let mut lines = (0..next.len()).step_by(ENTRIES_PER_LINE);
    for ((position, window), unit) in units.windows(FAR_AHEAD + 1).enumerate().zip(base..) {
        if position.is_multiple_of(UNITS_PER_LINE)
            && let Some(line) = lines.next()
        {
            prefetch(next, line);
        }
        prefetch_far(map, window[FAR_AHEAD] as usize);
        prefetch(map, window[NEAR_AHEAD] as usize);
        map[window[0] as usize] = unit;
    }
    let mut next = next.iter();
    for (position, unit) in (steady..units.len()).zip(base + steady as u32..) {
        if let Some(logical) = next.next() {
            prefetch_far(map, *logical as usize);
        }
        if let Some(near) = units.get(position + NEAR_AHEAD) {
            prefetch(map, *near as usize);
        }
        map[units[position] as usize] = unit;
    }
}

impl<M: Media> Ftl<M> {
    /// Copies a victim's valid units to the streams that the placement policy chooses.
    pub(crate) fn relocate(&mut self, domain: usize, victim: SuperblockId, mover: Mover) -> Result<(), EndOfLife> {
        self.relocate_to(domain, victim, mover, None)
    }

    /// As [`Ftl::relocate`], after the policy was asked for the first stream.
    pub(crate) fn relocate_to(
        &mut self,
        domain: usize,
        victim: SuperblockId,
        mover: Mover,
        mut asked: Option<StreamId>,
    ) -> Result<(), EndOfLife> {
        if !self.is_whole() && !self.load_for_call() {
            return Err(EndOfLife::NoVictim);
        }
        let count = self.gather(victim);
        self.empty(domain, victim);
        let mut done = 0;
        while done < count {
            let place = || self.place_run(domain, victim, mover.task(), count - done);
            let stream = asked.take().unwrap_or_else(place);
            let (stream, frontier) = match self.frontier_or_next(domain, stream) {
                // Pages that power cuts tore may take room that the stream counted on. The host's stream is used then.
                None if self.persist.is_some() => (self.host_stream, self.frontier(domain, self.host_stream)),
                found => (stream, found),
            };
            let Some(frontier) = frontier else {
                self.put_back(domain, victim, done, count);
                return Err(EndOfLife::NoFreeBlock);
            };
            let run = (self.units_per_block - frontier.next).min(count - done);
            assert_ne!(frontier.block, victim, "a block that is about to be erased takes none of its own units");
            let into = Target { block: frontier.block, next: frontier.next, task: mover.task() };
            self.append(domain, victim, into, done, run);
            self.counters.programmed(mover.cause(), u64::from(run));
            done += run;
            self.advance(domain, stream, frontier, run);
        }
        Ok(())
    }

    /// Pads the pages in which relocations ended, since parity needs whole pages. The host's present stream is not padded: the host
    /// continues there.
    pub(crate) fn fill_page(&mut self, domain: usize, mover: Mover) {
        if self.stripes.is_none() {
            return;
        }
        let host = self.host_stream;
        for stream in (0..self.stream_count).map(StreamId).filter(|stream| *stream != host) {
            let parked = self.domains[domain].parked[stream.index()];
            let Some(frontier) = parked.frontier.filter(|_| parked.task == mover.task()) else { continue };
            let padding = frontier.next.next_multiple_of(self.layout.units_per_page()) - frontier.next;
            if padding > 0 {
                self.pad(frontier.block, frontier.next, padding, mover.task());
                self.advance(domain, stream, frontier, padding);
            }
        }
    }

    /// Fills the rest of a page with empty units, so that it is programmed. Padding may go on into further pages to fill a wordline.
    pub(crate) fn pad(&mut self, block: SuperblockId, first: u32, padding: u32, task: Task) {
        let per_page = self.layout.units_per_page();
        debug_assert!((first + padding).is_multiple_of(per_page), "padding ends with a page");
        self.counters.programmed_padding += u64::from(padding);
        self.clear_tags(self.layout.unit(block, first), padding);
        self.program(block, first, padding, task);
    }

    /// Clears the tags of units from `base` on, which hold no host data.
    pub(crate) fn clear_tags(&mut self, base: UnitId, units: u32) {
        if size_of::<M::Tag>() > 0 {
            self.tags[base.index()..][..units as usize].fill(M::Tag::default());
        }
    }

    /// Gathers the logical addresses of the valid units, in order, in the scratch table. Returns their number.
    pub(crate) fn gather(&mut self, block: SuperblockId) -> u32 {
        if M::DETAILED {
            self.note_origins(block);
        }
        let base = self.layout.unit(block, 0).index();
        let reverse = &self.reverse[base..base + self.units_per_block as usize];
        let bits = self.domains[self.layout.domain(block)].index.bits(block);
        let scratch = &mut self.scratch[..];
        let mut count = 0;
        for (entries, bits) in reverse.chunks(64).zip(bits) {
            // If most units are valid, copying all of them and overwriting the invalid ones mispredicts no branch.
            if bits.count_ones() >= 32 && entries.len() == 64 {
                for (offset, entry) in entries.iter().enumerate() {
                    scratch[count] = *entry;
                    count += (bits >> offset & 1) as usize;
                }
            } else {
                for bit in ones(*bits) {
                    scratch[count] = entries[bit as usize];
                    count += 1;
                }
            }
        }
        let valid = self.domains[self.layout.domain(block)].index.valid(block);
        assert_eq!(count as u32, valid, "all valid units are gathered, for what is left behind is erased");
        debug_assert!(!M::DETAILED || self.origins.len() == count, "each gathered unit is known where it lies");
        count as u32
    }

    /// Notes the numbers of the gathered units within their block.
    fn note_origins(&mut self, block: SuperblockId) {
        self.origins.clear();
        self.origins.extend(self.domains[self.layout.domain(block)].index.valid_units(block));
    }

    /// Appends `run` units gathered from a block, from `done` on, to an open one.
    pub(crate) fn append(&mut self, domain: usize, from: SuperblockId, into: Target, done: u32, run: u32) {
        let Target { block, next, task } = into;
        debug_assert!(next + run <= self.units_per_block, "what is appended fits the block");
        let base = self.layout.unit(block, next).0;
        self.copy_payload(done, run, base);
        let units = &self.scratch[done as usize..(done + run) as usize];
        let is_here = |logical: &u32| self.locator.locate(UnitId(self.map[*logical as usize])).0 == from;
        debug_assert!(units.iter().all(is_here), "a unit that moves is mapped to the block that it leaves");
        self.reverse[base as usize..][..units.len()].copy_from_slice(units);
        let map = &mut self.map[..];
        if map.len() >= FAR_ENTRIES {
            let entries = |block| &self.reverse[self.layout.unit(block, 0).index()..][..self.units_per_block as usize];
            let next = self.domains[domain].index.likely_victim().map_or(&[][..], entries);
            point_far(map, units, base, next);
        } else {
            point(map, units, base);
        }
        self.domains[domain].index.add_valid(block, next, run);
        if M::DETAILED {
            self.copy(from, into, done, run);
        } else {
            self.program(block, next, run, task);
        }
    }

    /// Reads the units' pages one by one and programs each page as soon as it is full. Units that cannot be read are marked lost at
    /// their new place. A page that holds only lost units is not read again.
    fn copy(&mut self, from: SuperblockId, into: Target, done: u32, run: u32) {
        let mut position = 0;
        while position < run {
            let at = (done + position) as usize;
            let rest = &self.origins[at..(done + run) as usize];
            let page = self.layout.page_in_block(rest[0]);
            let in_page = |within: &&u32| self.layout.page_in_block(**within) == page;
            let together = rest.iter().take_while(in_page).count() as u32;
            let (source, page) = self.layout.place(from, rest[0]);
            let (target, _) = self.layout.place(into.block, into.next + position);
            let unit = self.layout.unit(from, rest[0]);
            let read = PageRead {
                block: source,
                page,
                bytes: together * self.unit_bytes(),
                task: into.task,
                purpose: Purpose::Relocate(target),
                rereads_max: self.rereads_max(unit),
            };
            let logical = at..at + together as usize;
            if size_of::<M::Tag>() > 0 {
                self.take_tags(from, into, at, position, together);
            }
            let is_gone =
                !self.lost.is_empty() && self.scratch[logical.clone()].iter().all(|unit| self.lost.contains(unit));
            if !is_gone && self.media.read(read) == ReadOutcome::Uncorrectable {
                let origins = self.origins[logical.clone()].iter();
                let wanted: Vec<UnitId> = origins.map(|within| self.layout.unit(from, *within)).collect();
                if !self.reconstruct(&wanted, into.task, &self.under_way(from, into, done, position, run)) {
                    self.counters.relocation_reads_uncorrectable += 1;
                    self.lost.extend(&self.scratch[logical]);
                }
            }
            if self.flight.is_some() {
                self.note_moves(from, into, at, position, together);
            }
            self.program(into.block, into.next + position, together, into.task);
            position += together;
        }
    }

    /// The units of a run, from `position` on, that are not programmed at their new place yet.
    fn under_way(&self, from: SuperblockId, into: Target, done: u32, position: u32, run: u32) -> UnderWay {
        let base = self.layout.unit(into.block, into.next).0;
        let unread = position..run;
        let origins = unread.map(|at| {
            let origin = self.layout.unit(from, self.origins[(done + at) as usize]);
            (UnitId(base + at), origin)
        });
        let per_page = self.layout.units_per_page();
        let first = self.layout.unit(into.block, (into.next + position) / per_page * per_page);
        UnderWay { origins: origins.collect(), buffered: Some(self.layout.page_of(first)) }
    }

    /// Notes the origins of units that lie together in one page.
    fn note_moves(&mut self, from: SuperblockId, into: Target, at: usize, position: u32, together: u32) {
        for offset in 0..together {
            let source = self.layout.unit(from, self.origins[at + offset as usize]);
            self.note_moved(source, self.layout.unit(into.block, into.next + position + offset));
        }
    }

    /// Moves the tags of units that lie together in one page. They are read from the medium, as the data are.
    fn take_tags(&mut self, from: SuperblockId, into: Target, at: usize, position: u32, together: u32) {
        let base = self.layout.unit(into.block, into.next + position).index();
        for offset in 0..together as usize {
            let within = self.origins[at + offset];
            let (flash, page) = self.layout.place(from, within);
            self.tags[base + offset] = self.media.tag(flash, page, within % self.layout.units_per_page());
        }
    }

    /// Makes a block's units invalid. They are gathered and about to be valid elsewhere.
    pub(crate) fn empty(&mut self, domain: usize, block: SuperblockId) {
        if self.stripes.is_some() {
            self.leave_stripes(block);
        }
        self.domains[domain].index.clear(block);
    }

    /// Restores the units that were not copied when the drive dies during a relocation, so that no data are lost.
    fn put_back(&mut self, domain: usize, block: SuperblockId, done: u32, count: u32) {
        for logical in &self.scratch[done as usize..count as usize] {
            let unit = UnitId(self.map[*logical as usize]);
            let (holder, within) = self.locator.locate(unit);
            debug_assert_eq!(holder, block, "what was not copied is still mapped where it was");
            self.domains[domain].index.add_one(block, within);
            if let Some(stripes) = &mut self.stripes
                && *logical < self.logical_initial
            {
                stripes.unit_back(self.layout.page_of(unit));
            }
        }
        let now = self.counters.host_units_written;
        // The policies never heard that the block left the index.
        self.domains[domain].index.close(block, now, self.erase_count[block.index()]);
    }

    /// Takes every valid unit of a block out of its stripe. Parity is in none.
    fn leave_stripes(&mut self, block: SuperblockId) {
        let layout = &self.layout;
        let Some(stripes) = &mut self.stripes else { return };
        // All pages of the block: the coming erase also takes those without valid units out of their stripes.
        stripes.prefetch(layout.page_id(block, 0), layout.pages_per_superblock());
        let valid = self.domains[layout.domain(block)].index.valid_units(block);
        for unit in valid.map(|within| layout.unit(block, within)) {
            if self.reverse[unit.index()] < self.logical_initial {
                stripes.unit_gone(layout.page_of(unit));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_pointed_alike_near_and_far() {
        for length in [0, 1, 11, 12, 13, 95, 96, 97, 108, 256] {
            let units: Vec<u32> = (0..length).map(|number| number * 7 % 257).collect();
            let mut maps = [vec![u32::MAX; 257], vec![u32::MAX; 257]];
            point(&mut maps[0], &units, 1000);
            point_far(&mut maps[1], &units, 1000, &[5, u32::MAX, 256]);
            assert_eq!(maps[0], maps[1], "{length} units");
            for (unit, place) in units.iter().zip(1000..) {
                assert_eq!(maps[1][*unit as usize], place);
            }
        }
    }
}
