//! Records by time: the next ones in order, the others in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::slab::Slab;

/// Records kept in order at most. Sorted insertion shifts the later ones; up to this length that beats a heap, whose comparisons
/// mispredict.
const NEXT: usize = 64;

/// Records, each with a time; the earliest comes out first, and of those of one time the one that went in first.
///
/// Memory follows what is in it, not what has passed.
#[derive(Clone, Debug)]
pub(crate) struct Due<T> {
    /// Each with how many went in before it.
    records: Slab<(u64, T)>,
    inserted: u64,
    /// The earliest in order, from `first` up to `end`. None of them is later than one of the heap.
    next: [Entry; 2 * NEXT],
    first: usize,
    end: usize,
    /// The others, by time and by how many went in before.
    later: BinaryHeap<Reverse<(u64, u64, u32)>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    slot: u32,
}

impl<T> Due<T> {
    pub(crate) fn new() -> Self {
        let next = [Entry { at: 0, slot: 0 }; 2 * NEXT];
        Self { records: Slab::new(), inserted: 0, next, first: 0, end: 0, later: BinaryHeap::new() }
    }

    /// Records in it.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.end - self.first + self.later.len()
    }

    /// The time of the earliest record.
    pub(crate) fn earliest(&self) -> Option<u64> {
        let next = self.next[self.first..self.end].first().map(|entry| entry.at);
        next.or_else(|| self.later.peek().map(|Reverse((at, ..))| *at))
    }

    /// Records that were ever in it at once.
    pub(crate) fn slots(&self) -> usize {
        self.records.slots()
    }

    #[inline]
    pub(crate) fn insert(&mut self, at: u64, record: T) {
        let slot = self.records.insert((self.inserted, record));
        self.inserted += 1;
        if !self.later.is_empty() && (self.first == self.end || at >= self.next[self.end - 1].at) {
            return self.defer(Entry { at, slot });
        }
        if self.end - self.first == NEXT {
            let last = self.next[self.end - 1];
            if at >= last.at {
                return self.defer(Entry { at, slot });
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
            if next[before].at <= at {
                next[before + 1] = Entry { at, slot };
                return;
            }
            next[before + 1] = next[before];
        }
        next[0] = Entry { at, slot };
    }

    /// The earliest record, if its time is at most `until`: its time and itself, which stays readable until the next
    /// insertion.
    #[inline]
    pub(crate) fn remove(&mut self, until: u64) -> Option<(u64, &T)> {
        if self.first == self.end && !self.later.is_empty() {
            self.refill();
        }
        let Entry { at, slot } = *self.next[..self.end].get(self.first)?;
        if at > until {
            return None;
        }
        self.first += 1;
        self.records.release(slot);
        Some((at, &self.records[slot].1))
    }

    #[cold]
    fn defer(&mut self, entry: Entry) {
        self.later.push(Reverse((entry.at, self.records[entry.slot].0, entry.slot)));
    }

    #[cold]
    fn refill(&mut self) {
        (self.first, self.end) = (0, 0);
        while self.end < NEXT / 2
            && let Some(Reverse((at, _, slot))) = self.later.pop()
        {
            self.next[self.end] = Entry { at, slot };
            self.end += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_earliest_comes_out_first_and_slots_are_used_again() {
        // Room for far more than are kept in order, and for fewer; few different times, so that many are the same.
        for room in [3, 60, 64, 65, 1000] {
            let mut stream = wane_sim::Streams::new(3).stream("due");
            let (mut due, mut plain) = (Due::new(), BTreeSet::new());
            let (mut number, mut most, mut early) = (0u64, 0, 0);
            for step in 0..60_000 {
                let rising = step % 6000 < 3000;
                if plain.len() < room && (plain.is_empty() || stream.below(10) < if rising { 6 } else { 4 }) {
                    let at = number / 20 + stream.below(50);
                    due.insert(at, number);
                    plain.insert((at, number));
                    number += 1;
                } else {
                    let until = number / 20 + stream.below(50);
                    let expected = plain.first().copied().filter(|(at, _)| *at <= until);
                    assert_eq!(due.remove(until).map(|(at, record)| (at, *record)), expected);
                    match expected {
                        Some(entry) => assert!(plain.remove(&entry)),
                        None => early += 1,
                    }
                }
                assert_eq!(due.len(), plain.len());
                most = most.max(plain.len());
            }
            assert_eq!(due.slots(), most);
            assert!(most > room / 2 && early > 100, "{room}: {most} at once, {early} times none was due");
        }
    }

    #[test]
    fn an_empty_one_has_none() {
        let mut due = Due::new();
        assert_eq!(due.remove(u64::MAX), None);
        due.insert(u64::MAX, 7);
        assert_eq!(due.remove(u64::MAX - 1), None);
        assert_eq!(due.remove(u64::MAX), Some((u64::MAX, &7)));
        assert_eq!(due.remove(u64::MAX), None);
        assert_eq!(due.len(), 0);
    }
}
