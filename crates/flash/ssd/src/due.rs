//! Commands by the time of their end: the next ones in order, the others in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};

/// Most commands that are kept in order. Sorted insertion shifts the later ones; up to this number that is cheaper than a heap,
/// whose comparisons mispredict.
const NEXT: usize = 64;

/// Numbers of commands, each with a time and a rank. The earliest comes out first; at equal times, the one with the lowest rank.
/// Ranks may wrap around; those present at once lie within 2^31 of each other.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    /// The earliest in order, from `first` up to `end`. None of them comes after one of the heap.
    next: [Entry; 2 * NEXT],
    first: usize,
    end: usize,
    later: BinaryHeap<Reverse<Entry>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    at: u64,
    rank: u32,
    id: u32,
}

impl Entry {
    #[inline(always)]
    fn comes_before(self, other: Self) -> bool {
        self.at < other.at || self.at == other.at && (self.rank.wrapping_sub(other.rank) as i32) < 0
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at).then((self.rank.wrapping_sub(other.rank) as i32).cmp(&0))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Due {
    pub(crate) fn new() -> Self {
        let next = [Entry { at: 0, rank: 0, id: 0 }; 2 * NEXT];
        Self { next, first: 0, end: 0, later: BinaryHeap::new() }
    }

    /// The earliest time.
    #[inline]
    pub(crate) fn earliest(&self) -> Option<u64> {
        if self.first < self.end {
            return Some(self.next[self.first].at);
        }
        self.later.peek().map(|Reverse(entry)| entry.at)
    }

    #[inline]
    pub(crate) fn insert(&mut self, at: u64, rank: u32, id: u32) {
        let entry = Entry { at, rank, id };
        if !self.later.is_empty() && (self.first == self.end || !entry.comes_before(self.next[self.end - 1])) {
            return self.defer(entry);
        }
        if self.end - self.first == NEXT {
            let last = self.next[self.end - 1];
            if !entry.comes_before(last) {
                return self.defer(entry);
            }
            self.defer(last);
            self.end -= 1;
        }
        if self.end == self.next.len() {
            self.next.copy_within(self.first.., 0);
            (self.first, self.end) = (0, self.end - self.first);
        }
        let next = &mut self.next[self.first..=self.end];
        self.end += 1;
        for before in (0..next.len() - 1).rev() {
            if !entry.comes_before(next[before]) {
                next[before + 1] = entry;
                return;
            }
            next[before + 1] = next[before];
        }
        next[0] = entry;
    }

    /// Removes the earliest if its time is at most `until`. Returns its time and its number.
    #[inline]
    pub(crate) fn remove(&mut self, until: u64) -> Option<(u64, u32)> {
        if self.first == self.end && !self.later.is_empty() {
            self.refill();
        }
        let earliest = *self.next[..self.end].get(self.first)?;
        let comes_later = |Reverse(later): &Reverse<Entry>| !later.comes_before(earliest);
        debug_assert!(self.later.peek().is_none_or(comes_later), "what is kept in order comes before the heap");
        let Entry { at, id, .. } = earliest;
        if at > until {
            return None;
        }
        self.first += 1;
        Some((at, id))
    }

    /// Writes the commands to a file in their order, or reads them back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let mut entries = self.next[self.first..self.end].to_vec();
        entries.extend(self.later.clone().into_sorted_vec().into_iter().rev().map(|Reverse(entry)| entry));
        archive.field("schedule.done", &mut entries)?;
        if archive.is_reading() {
            *self = Self::new();
            entries.into_iter().for_each(|Entry { at, rank, id }| self.insert(at, rank, id));
        }
        Ok(())
    }

    #[cold]
    fn defer(&mut self, entry: Entry) {
        self.later.push(Reverse(entry));
    }

    #[cold]
    fn refill(&mut self) {
        (self.first, self.end) = (0, 0);
        while self.end < NEXT / 2
            && let Some(Reverse(entry)) = self.later.pop()
        {
            self.next[self.end] = entry;
            self.end += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_earliest_comes_out_first() {
        // Room for far more than are kept in order, and for fewer; few different times, so that many are the same.
        for room in [3, 60, 64, 65, 1000] {
            let mut stream = wane_sim::Streams::new(3).stream("due");
            let (mut due, mut plain) = (Due::new(), BTreeSet::new());
            let (mut most, mut early) = (0, 0);
            for step in 0..60_000u32 {
                let rising = step % 6000 < 3000;
                if plain.len() < room && (plain.is_empty() || stream.below(10) < if rising { 6 } else { 4 }) {
                    // Ranks do not rise with the steps, so that the order of insertion does not decide ties.
                    let (at, rank) = (u64::from(step / 20) + stream.below(50), step * 7919 % 60_013);
                    due.insert(at, rank.wrapping_sub(30_000), rank);
                    plain.insert((at, rank));
                } else {
                    let until = u64::from(step / 20) + stream.below(50);
                    let expected = plain.first().copied().filter(|(at, _)| *at <= until);
                    assert_eq!(due.earliest(), plain.first().map(|(at, _)| *at));
                    assert_eq!(due.remove(until), expected);
                    match expected {
                        Some(entry) => assert!(plain.remove(&entry)),
                        None => early += 1,
                    }
                }
                most = most.max(plain.len());
            }
            assert!(most > room / 2 && early > 100, "{room}: {most} at once, {early} times none was due");
        }
    }

    #[test]
    fn an_empty_one_has_none() {
        let mut due = Due::new();
        assert_eq!(due.remove(u64::MAX), None);
        due.insert(u64::MAX, 0, 7);
        assert_eq!(due.remove(u64::MAX - 1), None);
        assert_eq!(due.remove(u64::MAX), Some((u64::MAX, 7)));
        assert_eq!((due.remove(u64::MAX), due.earliest()), (None, None));
    }
}
