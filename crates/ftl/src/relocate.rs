//! Moving a block's valid units: they are gathered, forgotten where they were, and appended where they go.

use wane_nand::{Media, PageRead, Purpose, Task};
use wane_units::BlockId;

use crate::engine::Ftl;
use crate::host::{clear_range, for_words, set_range};
use crate::table::prefetch;

/// How far ahead of a relocation its map entry is asked for.
const AHEAD: usize = 40;

/// Where relocated units go.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) block: u32,
    /// Its next unit.
    pub(crate) next: u32,
    /// Who moves them.
    pub(crate) task: Task,
}

impl<M: Media> Ftl<M> {
    /// The valid units' logical addresses, in order, into the scratch table; returns how many.
    pub(crate) fn gather(&mut self, block: u32) -> u32 {
        if M::DETAILED {
            self.note_origins(block);
        }
        let base = block * self.units_per_block;
        let (validity, reverse, scratch) = (&self.validity[..], &self.reverse[..], &mut self.scratch[..]);
        let mut count = 0;
        for_words(base, self.units_per_block, |word, mask| {
            let mut bits = validity[word] & mask;
            let entries = &reverse[word * 64..];
            // Where most units are valid, copying all and stepping over the others mispredicts no branch.
            if bits.count_ones() >= 32 && entries.len() >= 64 {
                for (offset, entry) in entries[..64].iter().enumerate() {
                    scratch[count] = *entry;
                    count += (bits >> offset & 1) as usize;
                }
            } else {
                while bits != 0 {
                    scratch[count] = entries[bits.trailing_zeros() as usize];
                    count += 1;
                    bits &= bits - 1;
                }
            }
        });
        count as u32
    }

    /// Where in their block the gathered units lie.
    fn note_origins(&mut self, block: u32) {
        let base = block * self.units_per_block;
        let (validity, origins) = (&self.validity[..], &mut self.origins);
        origins.clear();
        for_words(base, self.units_per_block, |word, mask| {
            let mut bits = validity[word] & mask;
            while bits != 0 {
                origins.push((word * 64) as u32 + bits.trailing_zeros() - base);
                bits &= bits - 1;
            }
        });
    }

    /// Appends `run` units gathered from a block, from `done` on, to an open one.
    pub(crate) fn append(&mut self, domain: usize, from: u32, into: Target, done: u32, run: u32) {
        let Target { block, next, task } = into;
        let base = block * self.units_per_block + next;
        let pages = &self.scratch[done as usize..(done + run) as usize];
        self.reverse[base as usize..][..pages.len()].copy_from_slice(pages);
        let map = &mut self.map[..];
        for page in pages.iter().take(AHEAD) {
            prefetch(map, *page as usize);
        }
        let steady = pages.len().saturating_sub(AHEAD);
        for ((page, ahead), unit) in pages.iter().zip(&pages[pages.len() - steady..]).zip(base..) {
            prefetch(map, *ahead as usize);
            map[*page as usize] = unit;
        }
        for (page, unit) in pages[steady..].iter().zip(base + steady as u32..) {
            map[*page as usize] = unit;
        }
        set_range(&mut self.validity, base, run);
        self.domains[domain].index.add_valid(BlockId(block), run);
        if M::DETAILED {
            self.copy(from, into, done, run);
        } else {
            self.program(block, next, run, task);
        }
    }

    /// Reads the units' pages one by one and programs each page as soon as it is full.
    fn copy(&mut self, from: u32, into: Target, done: u32, run: u32) {
        let per_page = self.layout.units_per_page();
        let mut position = 0;
        while position < run {
            let at = (done + position) as usize;
            let rest = &self.origins[at..(done + run) as usize];
            let page = rest[0] / per_page;
            let together = rest.iter().take_while(|unit| *unit / per_page == page).count() as u32;
            let (source, source_page) = self.layout.place(from, rest[0]);
            let (target, _) = self.layout.place(into.block, into.next + position);
            let page = self.media.geometry().page(source, source_page);
            self.media.read(PageRead {
                page,
                bytes: together * self.unit_bytes(),
                task: into.task,
                purpose: Purpose::Relocate(target),
            });
            self.program(into.block, into.next + position, together, into.task);
            position += together;
        }
    }

    /// Forgets that a block's units are valid: they are gathered and about to be valid elsewhere.
    pub(crate) fn empty(&mut self, domain: usize, block: u32) {
        clear_range(&mut self.validity, block * self.units_per_block, self.units_per_block);
        self.domains[domain].index.clear(BlockId(block));
    }
}
