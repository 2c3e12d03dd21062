//! The stripes as rows of words, each in as few cache lines as possible: one word of state, then the stripe's pages.
//!
//! Pages join and leave stripes all over the table, so any part of a stripe outside its row would cost another cache miss.

use serde::{Deserialize, Serialize};
use wane_units::prefetch;

use super::{NONE, StripeId};
use crate::config::PageId;
use crate::table::Table;

/// Words of a cache line.
const LINE_WORDS: usize = 16;

const LIVE_BITS: u32 = 19;
const JOINED_BITS: u32 = 11;

/// Most pages of a stripe that the word of state can count; below it the most valid units.
const JOINED_MAX: usize = (1 << JOINED_BITS) - 1;
const LIVE_MAX: u32 = (1 << LIVE_BITS) - 1;

/// Whether the word of state can count a stripe of `data_pages` pages of `units_per_page` units.
pub(super) fn are_counted(data_pages: u32, units_per_page: u32) -> bool {
    data_pages as usize <= JOINED_MAX && u64::from(data_pages) * u64::from(units_per_page) <= u64::from(LIVE_MAX)
}

/// Stage in the life of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    Vacant,
    Filling,
    /// Full; its parity is written or about to be.
    Closed,
    /// Released, but its number is still in the out-of-band data of pages.
    Spent,
}

/// What is known of a stripe, apart from its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// Number of members so far, including those whose block was erased.
    pub(super) joined: u32,
    /// Valid data units.
    pub(super) live: u32,
    pub(super) stage: Stage,
}

impl State {
    pub(super) const fn new(stage: Stage) -> Self {
        Self { joined: 0, live: 0, stage }
    }

    /// Packs the state in a word: valid units in the lowest bits, then members, then the stage.
    #[inline(always)]
    fn word(self) -> u32 {
        debug_assert!(self.live <= LIVE_MAX && self.joined as usize <= JOINED_MAX, "{self:?} fits a word");
        self.live | self.joined << LIVE_BITS | (self.stage as u32) << (LIVE_BITS + JOINED_BITS)
    }

    #[inline(always)]
    const fn of(word: u32) -> Self {
        let stage = match word >> (LIVE_BITS + JOINED_BITS) {
            0 => Stage::Vacant,
            1 => Stage::Filling,
            2 => Stage::Closed,
            _ => Stage::Spent,
        };
        Self { joined: word >> LIVE_BITS & JOINED_MAX as u32, live: word & LIVE_MAX, stage }
    }
}

/// One row for each stripe.
pub(super) struct Rows {
    words: Table<u32>,
    /// Words of a row. The length of a short row divides a cache line; a longer row starts at one.
    stride: usize,
    data_pages: usize,
    /// Number of stripes that there ever were. Rows beyond them were never touched.
    count: u32,
}

impl Clone for Rows {
    /// Panics if the kernel gives no memory, as a `Vec` would.
    fn clone(&self) -> Self {
        let mut words = Table::zeroed(self.words.len()).expect("memory for a copy of the stripes");
        let used = self.count as usize * self.stride;
        words[..used].copy_from_slice(&self.words[..used]);
        Self { words, ..*self }
    }
}

impl Rows {
    /// Room for `most` stripes of `data_pages` pages, of which there is none yet. Memory is committed with the stripes.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub(super) fn new(data_pages: usize, most: u32) -> std::io::Result<Self> {
        assert!(
            (1..=JOINED_MAX).contains(&data_pages),
            "a stripe of {data_pages} pages: 1 to {JOINED_MAX} are counted"
        );
        let words = 1 + data_pages;
        let stride = if words <= LINE_WORDS { words.next_power_of_two() } else { words.next_multiple_of(LINE_WORDS) };
        Ok(Self { words: Table::zeroed(stride * most as usize)?, stride, data_pages, count: 0 })
    }

    /// Number of stripes that there ever were.
    pub(super) const fn len(&self) -> u32 {
        self.count
    }

    /// All stripes, including vacant ones.
    pub(super) fn ids(&self) -> impl Iterator<Item = StripeId> + use<> {
        (0..self.count).map(StripeId)
    }

    /// Adds a stripe without pages; `None` if there is no room for it.
    pub(super) fn add(&mut self, state: State) -> Option<StripeId> {
        let stripe = StripeId(self.count);
        if (self.count as usize + 1) * self.stride > self.words.len() {
            return None;
        }
        self.count += 1;
        self.set(stripe, state);
        self.members_mut(stripe).fill(NONE);
        Some(stripe)
    }

    #[inline(always)]
    fn row(&self, stripe: StripeId) -> &[u32] {
        debug_assert!(stripe.0 < self.count, "{stripe:?} is one of {}", self.count);
        &self.words[stripe.index() * self.stride..][..1 + self.data_pages]
    }

    #[inline(always)]
    fn row_mut(&mut self, stripe: StripeId) -> &mut [u32] {
        debug_assert!(stripe.0 < self.count, "{stripe:?} is one of {}", self.count);
        &mut self.words[stripe.index() * self.stride..][..1 + self.data_pages]
    }

    #[inline(always)]
    pub(super) fn state(&self, stripe: StripeId) -> State {
        State::of(self.row(stripe)[0])
    }

    #[inline(always)]
    pub(super) fn set(&mut self, stripe: StripeId, state: State) {
        self.row_mut(stripe)[0] = state.word();
    }

    /// The pages of a stripe in the order in which they joined; [`NONE`] for one that was erased or has not joined yet.
    #[inline(always)]
    pub(super) fn members(&self, stripe: StripeId) -> &[u32] {
        &self.row(stripe)[1..]
    }

    #[inline(always)]
    pub(super) fn members_mut(&mut self, stripe: StripeId) -> &mut [u32] {
        &mut self.row_mut(stripe)[1..]
    }

    /// Adds a page with `live` valid units to a stripe. Returns the stripe's new state.
    #[inline(always)]
    pub(super) fn join(&mut self, stripe: StripeId, page: PageId, live: u32) -> State {
        let row = self.row_mut(stripe);
        let State { joined, live: before, stage } = State::of(row[0]);
        row[1 + joined as usize] = page.0;
        let state = State { joined: joined + 1, live: before + live, stage };
        row[0] = state.word();
        state
    }

    /// Counts one valid unit less in a stripe. Returns the stripe's new state.
    #[inline(always)]
    pub(super) fn lose_unit(&mut self, stripe: StripeId) -> State {
        let word = &mut self.row_mut(stripe)[0];
        debug_assert!(State::of(*word).live > 0, "a stripe counts each valid unit of its pages");
        // Valid units are in the lowest bits of the word.
        *word -= 1;
        State::of(*word)
    }

    /// Takes a page out of a stripe. Returns the stripe's state.
    #[inline(always)]
    pub(super) fn leave(&mut self, stripe: StripeId, page: PageId) -> State {
        let (state, members) = self.row_mut(stripe).split_first_mut().expect("a row begins with its state");
        let member = members.iter_mut().find(|member| **member == page.0);
        *member.expect("a page that is in a stripe is one of its members") = NONE;
        State::of(*state)
    }

    /// Prefetches a stripe; of a long one its state and its first pages.
    #[inline(always)]
    pub(super) fn prefetch(&self, stripe: u32) {
        prefetch(&self.words, (stripe as usize).wrapping_mul(self.stride));
    }

    /// All states and all members, stripe by stripe, as they are saved in a file.
    pub(super) fn taken_apart(&self) -> (Vec<State>, Vec<u32>) {
        let states = self.ids().map(|stripe| self.state(stripe)).collect();
        (states, self.ids().flat_map(|stripe| self.members(stripe)).copied().collect())
    }

    /// Restores what [`Rows::taken_apart`] returned. Returns `false` if it is of other rows.
    pub(super) fn put_together(&mut self, states: &[State], members: &[u32]) -> bool {
        let fits = |state: &State| state.live <= LIVE_MAX && state.joined as usize <= self.data_pages;
        if members.len() != states.len() * self.data_pages || !states.iter().all(fits) {
            return false;
        }
        self.count = 0;
        for (state, pages) in states.iter().zip(members.chunks(self.data_pages)) {
            let Some(stripe) = self.add(*state) else { return false };
            self.members_mut(stripe).copy_from_slice(pages);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_all_of_a_state() {
        assert!(are_counted(1024, 511) && are_counted(2047, 256));
        assert!(!are_counted(1024, 512) && !are_counted(2048, 1) && !are_counted(u32::MAX, u32::MAX));
        for stage in [Stage::Vacant, Stage::Filling, Stage::Closed, Stage::Spent] {
            for (joined, live) in
                [(0, 0), (7, 28), (JOINED_MAX as u32, LIVE_MAX), (1, LIVE_MAX), (JOINED_MAX as u32, 0)]
            {
                let state = State { joined, live, stage };
                assert_eq!(State::of(state.word()), state);
            }
        }
    }

    #[test]
    fn rows_lie_in_as_few_lines_as_can_be_and_come_back_from_their_parts() {
        for (data_pages, stride) in [(1, 2), (3, 4), (7, 8), (15, 16), (16, 32), (31, 32), (33, 48)] {
            let mut rows = Rows::new(data_pages, 3).unwrap();
            assert_eq!(rows.stride, stride);
            for number in 0..3 {
                let stripe = rows.add(State::new(Stage::Filling)).unwrap();
                let last = (0..data_pages as u32).map(|page| rows.join(stripe, PageId(100 * number + page), 2)).last();
                let all = data_pages as u32;
                assert_eq!(last, Some(State { joined: all, live: 2 * all, stage: Stage::Filling }));
            }
            assert_eq!(rows.add(State::new(Stage::Vacant)), None, "there is room for three");
            let (states, members) = rows.taken_apart();
            assert_eq!((states.len(), members.len(), members[data_pages]), (3, 3 * data_pages, 100));
            let mut again = Rows::new(data_pages, 3).unwrap();
            assert!(again.put_together(&states, &members));
            assert_eq!(again.taken_apart(), rows.clone().taken_apart());
            assert!(!again.put_together(&states, &members[1..]), "a member is missing");
            let wrong = State { joined: 1 + data_pages as u32, ..states[0] };
            assert!(!again.put_together(&[wrong], &members[..data_pages]), "more pages joined than there are");
            assert!(!Rows::new(data_pages, 2).unwrap().put_together(&states, &members), "two rows hold no three");
        }
    }
}
