//! Sets of units, a bit each: dense, and of a length that never changes.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A set of units below a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bits {
    /// Empty as long as nothing was ever put in.
    words: Vec<u64>,
    bound: u64,
    count: u64,
}

/// The bits of a word within a range of units, whose first unit of that word is `first`.
fn mask(first: u64, units: &Range<u64>) -> u64 {
    let from = units.start.saturating_sub(first).min(64);
    let to = units.end.saturating_sub(first).min(64);
    let below = |bits: u64| if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    below(to) & !below(from)
}

impl Bits {
    /// None of the units below `bound`.
    pub(crate) const fn new(bound: u64) -> Self {
        Self { words: Vec::new(), bound, count: 0 }
    }

    /// Its words, lowest units first; none if it is empty.
    pub(crate) fn words(&self) -> &[u64] {
        if self.count == 0 { &[] } else { &self.words }
    }

    /// The set with these words. Bits at or above the bound are left out.
    pub(crate) fn of_words(bound: u64, words: &[u64]) -> Self {
        let mut bits = Self::new(bound);
        for (index, word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
            for unit in (0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| index as u64 * 64 + bit) {
                if unit < bound {
                    bits.insert_one(unit);
                }
            }
        }
        bits
    }

    /// Makes room for units up to another bound, which is no lower.
    pub(crate) fn widen(&mut self, bound: u64) {
        self.bound = self.bound.max(bound);
        if !self.words.is_empty() {
            self.words.resize(self.bound.div_ceil(64) as usize, 0);
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) const fn len(&self) -> u64 {
        self.count
    }

    #[inline]
    pub(crate) fn holds(&self, unit: u64) -> bool {
        self.count > 0 && self.words[(unit / 64) as usize] >> (unit % 64) & 1 == 1
    }

    /// Changes the bits of each word that a range touches.
    #[inline]
    fn change(&mut self, units: &Range<u64>, to: impl Fn(u64, u64) -> u64) {
        if units.is_empty() {
            return;
        }
        assert!(units.end <= self.bound, "units {units:?} of {}", self.bound);
        if self.words.is_empty() {
            self.words = vec![0; self.bound.div_ceil(64) as usize];
        }
        for index in units.start / 64..units.end.div_ceil(64) {
            let word = &mut self.words[index as usize];
            let new = to(*word, mask(index * 64, units));
            self.count = self.count + u64::from(new.count_ones()) - u64::from(word.count_ones());
            *word = new;
        }
    }

    /// Puts one unit in.
    #[inline]
    pub(crate) fn insert_one(&mut self, unit: u64) {
        match self.words.get_mut((unit / 64) as usize) {
            Some(word) if unit < self.bound => {
                let bit = 1 << (unit % 64);
                self.count += u64::from(*word & bit == 0);
                *word |= bit;
            }
            _ => self.insert(unit..unit + 1),
        }
    }

    /// Puts a range in.
    #[inline]
    pub(crate) fn insert(&mut self, units: Range<u64>) {
        self.change(&units, |word, mask| word | mask);
    }

    /// Takes a range out.
    #[inline]
    pub(crate) fn remove(&mut self, units: Range<u64>) {
        if self.count > 0 {
            self.change(&units, |word, mask| word & !mask);
        }
    }

    /// Puts all of another set in.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut at = 0;
        while let Some(run) = other.next(at..other.bound) {
            at = run.end;
            self.insert(run);
        }
    }

    /// Takes all of another set out.
    pub(crate) fn remove_all(&mut self, other: &Self) {
        let mut at = 0;
        while let Some(run) = other.next(at..other.bound) {
            at = run.end;
            self.remove(run);
        }
    }

    /// Keeps only what another set holds, too.
    pub(crate) fn keep(&mut self, other: &Self) {
        if other.is_empty() {
            *self = Self::new(self.bound);
            return;
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
        self.count = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
    }

    /// How many units of a range are in the set.
    pub(crate) fn count_in(&self, units: Range<u64>) -> u64 {
        let (mut at, mut count) = (units.start, 0);
        while let Some(run) = self.next(at..units.end) {
            at = run.end;
            count += run.end - run.start;
        }
        count
    }

    /// The first units within a range that are in the set and follow each other.
    pub(crate) fn next(&self, units: Range<u64>) -> Option<Range<u64>> {
        if self.count == 0 {
            return None;
        }
        let start = self.first(&units, |word| word)?;
        let end = self.first(&(start..units.end), |word| !word).unwrap_or(units.end);
        Some(start..end)
    }

    /// The first unit of a range whose bit is set in what `look` makes of its word.
    fn first(&self, units: &Range<u64>, look: impl Fn(u64) -> u64) -> Option<u64> {
        for index in units.start / 64..units.end.div_ceil(64) {
            let found = look(self.words[index as usize]) & mask(index * 64, units);
            if found != 0 {
                return Some(index * 64 + u64::from(found.trailing_zeros()));
            }
        }
        None
    }

    pub(crate) fn touches(&self, units: Range<u64>) -> bool {
        self.next(units).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every operation against a set of numbers.
    #[test]
    fn bits_are_a_set() {
        let (mut bits, mut other) = (Bits::new(200), Bits::new(200));
        let (mut set, mut second) = (BTreeSet::new(), BTreeSet::new());
        let mut random = 1u64;
        for step in 0..3_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let start = (random >> 33) % 200;
            let range = start..(start + (random >> 50) % 90).min(200);
            match step % 5 {
                0 => (bits.insert(range.clone()), set.extend(range)).1,
                1 => (bits.insert_one(start), set.extend([start])).1,
                2 => (bits.remove(range.clone()), set.retain(|unit| !range.contains(unit))).1,
                3 if step % 40 == 33 => (bits.remove_all(&other), set.retain(|unit| !second.contains(unit))).1,
                3 => (other.insert(range.clone()), second.extend(range)).1,
                _ if step % 50 == 4 => (bits.merge(&other), set.extend(&second)).1,
                _ if step % 70 == 9 => (bits.keep(&other), set.retain(|unit| second.contains(unit))).1,
                _ => (other.remove(range.clone()), second.retain(|unit| !range.contains(unit))).1,
            }
            assert_eq!(bits.len(), set.len() as u64);
            assert_eq!(bits.is_empty(), set.is_empty());
            assert!((0..200).all(|unit| bits.holds(unit) == set.contains(&unit)), "step {step}");
            let (mut at, mut runs) = (0, BTreeSet::new());
            while let Some(run) = bits.next(at..200) {
                assert!(run.end == 200 || !bits.holds(run.end), "a run goes as far as it can");
                at = run.end;
                runs.extend(run);
            }
            assert_eq!(runs, set);
        }
    }
}
