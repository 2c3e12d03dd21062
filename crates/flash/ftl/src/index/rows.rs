//! What the write path needs of a block, in one row: its place and neighbors, its valid units and their number.
//!
//! A write that replaces a unit clears a bit, lowers a count and moves the block to another bucket. On a large drive each
//! of these lies in a cache line far away, so they share one line: a row starts with two words of state, and the validity
//! bits follow. Blocks of up to 384 units have rows of one line.

use bytemuck::{Pod, Zeroable};
use wane_archive::{Archive, ArchiveError};
use wane_units::prefetch;

use crate::table::Table;

/// Words before the validity bits.
const STATE_WORDS: usize = 2;
/// Words in a cache line.
const LINE_WORDS: usize = 8;

/// Where a block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Place {
    /// Free, being written, or retired.
    NotClosed,
    /// Closed, but not yet in the window.
    Waiting,
    /// Closed and in the bucket of its valid count.
    Bucket,
    /// Closed and in a bucket that is not kept as a list. The row says when the block entered it.
    Unlisted,
}

/// Valid units and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) valid: u32,
    pub(super) place: Place,
}

impl State {
    #[inline(always)]
    fn unpack(word: u64) -> Self {
        debug_assert!(word >> 32 <= Place::Unlisted as u64, "the upper half of a state is one of the places");
        let place = match word >> 32 {
            0 => Place::NotClosed,
            1 => Place::Waiting,
            2 => Place::Bucket,
            _ => Place::Unlisted,
        };
        Self { valid: word as u32, place }
    }

    #[inline(always)]
    fn pack(self) -> u64 {
        (self.place as u64) << 32 | u64::from(self.valid)
    }
}

/// The neighbors of a block in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Links {
    pub(super) previous: u32,
    pub(super) next: u32,
}

impl Links {
    /// Links of the sentinel of an empty list.
    pub(super) fn to_itself(link: u32) -> Self {
        Self { previous: link, next: link }
    }

    #[inline(always)]
    fn unpack(word: u64) -> Self {
        Self { previous: word as u32, next: (word >> 32) as u32 }
    }

    #[inline(always)]
    fn pack(self) -> u64 {
        u64::from(self.next) << 32 | u64::from(self.previous)
    }
}

/// One row for each block. A zeroed row is a block that is not closed and has no valid units.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    words: Table<u64>,
    /// A row has 2 to the power of this many words.
    shift: u32,
    bit_words: usize,
}

impl Rows {
    /// Rows of `blocks` blocks.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub(super) fn new(blocks: u32, units_per_block: u32) -> std::io::Result<Self> {
        let bit_words = units_per_block.div_ceil(64) as usize;
        let row_words = (STATE_WORDS + bit_words).next_power_of_two().max(LINE_WORDS);
        Ok(Self { words: Table::zeroed(blocks as usize * row_words)?, shift: row_words.trailing_zeros(), bit_words })
    }

    pub(super) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.fixed("index.rows", &mut self.words)
    }

    #[inline(always)]
    pub(super) fn edit(&mut self) -> RowsMut<'_> {
        RowsMut { words: &mut self.words, shift: self.shift }
    }

    #[inline(always)]
    pub(super) fn state(&self, block: u32) -> State {
        State::unpack(self.words[((block as usize) << self.shift) + 1])
    }

    #[inline(always)]
    pub(super) fn links(&self, block: u32) -> Links {
        Links::unpack(self.words[(block as usize) << self.shift])
    }

    /// When an unlisted block entered its bucket.
    pub(super) fn moment(&self, block: u32) -> u64 {
        self.words[(block as usize) << self.shift]
    }

    /// The validity bits of a block's units, the lowest bit first.
    #[inline(always)]
    pub(super) fn bits(&self, block: u32) -> &[u64] {
        &self.words[((block as usize) << self.shift) + STATE_WORDS..][..self.bit_words]
    }

    pub(super) fn bits_mut(&mut self, block: u32) -> &mut [u64] {
        &mut self.words[((block as usize) << self.shift) + STATE_WORDS..][..self.bit_words]
    }

    /// Brings the start of a row into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, block: u32) {
        prefetch(&self.words, (block as usize) << self.shift);
    }
}

/// [`Rows`] while many units are changed. What every step needs stays in registers.
pub(super) struct RowsMut<'a> {
    words: &'a mut [u64],
    shift: u32,
}

impl RowsMut<'_> {
    #[inline(always)]
    fn at(&self, block: u32) -> usize {
        (block as usize) << self.shift
    }

    #[inline(always)]
    pub(super) fn links(&self, block: u32) -> Links {
        Links::unpack(self.words[self.at(block)])
    }

    #[inline(always)]
    pub(super) fn set_links(&mut self, block: u32, links: Links) {
        let at = self.at(block);
        self.words[at] = links.pack();
    }

    #[inline(always)]
    pub(super) fn set_moment(&mut self, block: u32, moment: u64) {
        let at = self.at(block);
        self.words[at] = moment;
    }

    #[inline(always)]
    pub(super) fn state(&self, block: u32) -> State {
        State::unpack(self.words[self.at(block) + 1])
    }

    #[inline(always)]
    pub(super) fn set_state(&mut self, block: u32, state: State) {
        let at = self.at(block) + 1;
        self.words[at] = state.pack();
    }

    pub(super) fn set_place(&mut self, block: u32, place: Place) {
        let State { valid, .. } = self.state(block);
        self.set_state(block, State { valid, place });
    }

    /// Makes a unit valid.
    #[inline(always)]
    pub(super) fn gain(&mut self, block: u32, unit: u32) {
        let at = self.at(block);
        let bits = &mut self.words[at + STATE_WORDS + unit as usize / 64];
        debug_assert_eq!(*bits >> (unit % 64) & 1, 0, "a unit becomes valid once, or the count would be one too many");
        *bits |= 1 << (unit % 64);
        self.words[at + 1] += 1;
    }

    /// Makes a unit invalid. Returns the block's new state.
    #[inline(always)]
    pub(super) fn lose(&mut self, block: u32, unit: u32) -> State {
        let at = self.at(block);
        let bits = &mut self.words[at + STATE_WORDS + unit as usize / 64];
        debug_assert!(*bits >> (unit % 64) & 1 == 1, "only a valid unit is lost");
        *bits &= !(1 << (unit % 64));
        let word = &mut self.words[at + 1];
        debug_assert!(*word as u32 > 0, "a count below zero would borrow from the place beside it");
        *word -= 1;
        State::unpack(*word)
    }

    /// Prefetches the lines of a row that hold the state and a unit's bit.
    #[inline(always)]
    pub(super) fn prefetch(&self, block: u32, unit: u32) {
        let at = self.at(block);
        prefetch(self.words, at);
        if self.shift > LINE_WORDS.trailing_zeros() {
            prefetch(self.words, at + STATE_WORDS + unit as usize / 64);
        }
    }
}

/// Sets `count` bits from `first` on.
#[inline(always)]
pub(super) fn set_range(bits: &mut [u64], first: u32, count: u32) {
    let (mut bit, end) = (first as usize, first as usize + count as usize);
    while bit < end {
        let within = bit % 64;
        let span = (64 - within).min(end - bit);
        let mask = (u64::MAX >> (64 - span)) << within;
        debug_assert_eq!(bits[bit / 64] & mask, 0, "a unit becomes valid once, or the count would be too high");
        bits[bit / 64] |= mask;
        bit += span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_bits_cross_words() {
        let mut bits = [0u64; 4];
        set_range(&mut bits, 60, 70);
        assert_eq!(bits, [0xf << 60, u64::MAX, 0b11, 0]);
        set_range(&mut bits, 192, 64);
        assert_eq!(bits[3], u64::MAX);
    }

    #[test]
    fn a_row_keeps_links_state_and_bits_apart() {
        let mut rows = Rows::new(3, 448).expect("memory");
        set_range(rows.bits_mut(1), 0, 448);
        let mut edit = rows.edit();
        edit.set_state(1, State { valid: 448, place: Place::Bucket });
        edit.set_links(1, Links { previous: 7, next: u32::MAX });
        assert_eq!(edit.lose(1, 447), State { valid: 447, place: Place::Bucket });
        assert_eq!(rows.links(1), Links { previous: 7, next: u32::MAX });
        assert_eq!(rows.bits(1)[6], u64::MAX >> 1);
        let others = [0, 2].map(|block| (rows.state(block), rows.bits(block).iter().sum::<u64>()));
        assert_eq!(others, [(State { valid: 0, place: Place::NotClosed }, 0); 2]);
    }
}
