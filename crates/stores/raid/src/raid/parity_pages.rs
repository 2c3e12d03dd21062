//! Which pages of parity a write path has at hand: the least recently used leave first.
//!
//! Only which pages these are is kept here. Such a cache writes through, so that members hold the same contents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::map::Rows;

/// Sectors of a page.
const PAGE: u64 = 8;

/// A page of a position of a stripe.
type Page = (u64, u16, u32);

/// See the head of this file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ParityPages {
    /// When each was used last.
    used: BTreeMap<Page, u64>,
    /// The same by the time of use.
    order: BTreeMap<u64, Page>,
    next: u64,
}

impl ParityPages {
    /// Whether all pages of some rows are there. They count as used then.
    pub(super) fn has(&mut self, stripe: u64, position: usize, rows: &Rows) -> bool {
        let pages = rows.start / PAGE..rows.end.div_ceil(PAGE);
        let has_all = pages.clone().all(|page| self.used.contains_key(&(stripe, position as u16, page as u32)));
        if has_all {
            pages.for_each(|page| self.touch((stripe, position as u16, page as u32)));
        }
        has_all
    }

    /// The pages that lie in some rows are there from now on, and at most `most` in all.
    pub(super) fn insert(&mut self, stripe: u64, position: usize, rows: &Rows, most: usize) {
        for page in rows.start.div_ceil(PAGE)..rows.end / PAGE {
            self.touch((stripe, position as u16, page as u32));
            if self.used.len() > most
                && let Some((_, oldest)) = self.order.pop_first()
            {
                self.used.remove(&oldest);
            }
        }
    }

    fn touch(&mut self, page: Page) {
        if let Some(before) = self.used.insert(page, self.next) {
            self.order.remove(&before);
        }
        self.order.insert(self.next, page);
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_not_used_for_longest_leave() {
        let mut pages = ParityPages::default();
        // Four pages, of which the cache keeps four; rows 3 to 8 have no whole page.
        pages.insert(1, 2, &(0..16), 4);
        pages.insert(1, 3, &(3..8), 4);
        pages.insert(5, 2, &(8..24), 4);
        assert!(pages.has(1, 2, &(0..16)) && pages.has(5, 2, &(9..24)) && !pages.has(1, 3, &(3..8)));
        assert!(pages.has(1, 2, &(0..8)));
        // The oldest now is the second page of stripe 1.
        pages.insert(7, 2, &(0..8), 4);
        assert!(!pages.has(1, 2, &(8..16)) && pages.has(1, 2, &(0..8)) && pages.has(5, 2, &(8..24)));
        assert!(!pages.has(1, 2, &(0..16)) && !pages.has(7, 2, &(0..9)));
    }
}
