//! A value for every cell of an endless row. Neighbors with equal values share one entry.
//!
//! Memory grows with the number of changes, up to one entry for each cell, so that a request of gigabytes costs the
//! same as one of a page.

use std::collections::BTreeMap;

/// Values of cells that were changed; other cells have none. Each entry is the first cell of a stretch, with its end and value.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans<T>(BTreeMap<u64, (u64, T)>);

impl<T: Clone + Default> Spans<T> {
    /// Changes the values of the cells from `first` up to `end`. `change` is called once for each stretch of cells with
    /// one value; a cell without a value starts with the default.
    pub(super) fn change(&mut self, first: u64, end: u64, mut change: impl FnMut(&mut T)) {
        if first >= end {
            return;
        }
        if end == first + 1
            && let Some((start, (stop, value))) = self.0.range_mut(..=first).next_back()
            && (*start, *stop) == (first, end)
        {
            // The common case of small requests needs one search.
            return change(value);
        }
        self.split(first);
        self.split(end);
        let mut at = first;
        while at < end {
            let next = self.0.range_mut(at..end).next();
            if let Some((start, (stop, value))) = next
                && *start == at
            {
                change(value);
                at = *stop;
                continue;
            }
            let until = self.0.range(at..end).next().map_or(end, |(start, _)| *start);
            debug_assert!(at < until, "a stretch without a value has a cell, so that the loop ends");
            let mut value = T::default();
            change(&mut value);
            self.0.insert(at, (until, value));
            at = until;
        }
    }

    /// Splits the stretch that contains `at`, if any, so that one begins there.
    fn split(&mut self, at: u64) {
        if let Some((_, (end, value))) = self.0.range_mut(..at).next_back()
            && *end > at
        {
            let rest = (*end, value.clone());
            *end = at;
            self.0.insert(at, rest);
        }
    }

    /// The stretches in order: first cell, number of cells, value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64, &T)> {
        self.0.iter().map(|(first, (end, value))| (*first, end - first, value))
    }

    /// Number of stretches, with which memory grows.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_hold_what_single_cells_would() {
        let mut stream = wane_sim::Streams::new(4).stream("spans");
        for round in 0..200 {
            let (mut spans, mut plain) = (Spans::<u32>::default(), vec![0u32; 100]);
            for change in 1..=40u32 {
                let first = stream.below(100);
                let end = if stream.chance(0.5) { first + 1 } else { first + stream.below(101 - first) };
                spans.change(first, end, |value| *value += change);
                plain[first as usize..end as usize].iter_mut().for_each(|value| *value += change);
            }
            let mut found = vec![0; 100];
            let mut last = 0;
            for (first, cells, value) in spans.iter() {
                assert!(first >= last && cells > 0, "round {round}: stretches follow each other");
                last = first + cells;
                found[first as usize..last as usize].fill(*value);
            }
            assert_eq!(found, plain, "round {round}");
        }
    }
}
