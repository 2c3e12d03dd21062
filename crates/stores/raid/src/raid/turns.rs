//! Which members hold an entry of the ring, so that each member bears what it can.
//!
//! The ring is written more than anything else. Members of one size take turns. Of unequal ones each gets bytes in proportion to its size, so that all
//! wear alike: entries, and what lies on every member, checkpoints and superblocks, together. No member holds an entry twice, so that the largest one
//! may not get all that it could bear.
//!
//! It follows from the sizes and from the number of the entry alone. Who reads the ring looks for entries on all members, and does not need to know it.

use std::cmp::Reverse;

use super::Journal;
use crate::code::Code;

/// The share of a member that holds every entry.
const ALL: u64 = 1 << 32;
/// 2^64 by the golden ratio: its multiples lie as evenly as any, however many of them there are.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What members have of the ring between two checkpoints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lap {
    /// Members that hold each entry.
    pub(super) copies: usize,
    /// Units of entries.
    pub(super) entries: u64,
    /// Units that each member gets with a checkpoint.
    pub(super) each: u64,
}

impl Lap {
    /// The share of the entries that each member holds, of [`ALL`]: its part, by size, of all that is written, less what it gets anyway.
    fn shares(&self, sizes: &[u64]) -> Vec<u64> {
        let (entries, each) = (u128::from(self.entries), u128::from(self.each));
        let mut left = self.copies.min(sizes.len()) as u128;
        let mut all = left * entries + each * sizes.len() as u128;
        let mut sum: u128 = sizes.iter().map(|size| u128::from(*size)).sum();
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|member| Reverse(sizes[*member]));
        // The largest come first: what they cannot hold falls to the others.
        let mut shares = vec![None; sizes.len()];
        for member in order {
            let size = u128::from(sizes[member]);
            if left == 0 || size * all <= (entries + each) * sum {
                break;
            }
            (all, sum, left) = (all - entries - each, sum - size, left - 1);
            shares[member] = Some(ALL);
        }
        let weight = |member: usize| (u128::from(sizes[member]) * all).saturating_sub(each * sum).max(1);
        let others = (0..sizes.len()).filter(|member| shares[*member].is_none());
        let weights: u128 = others.map(weight).sum();
        let edge = |before: u128| (before * left * u128::from(ALL)).checked_div(weights).unwrap_or(0) as u64;
        let mut before = 0;
        for (member, share) in shares.iter_mut().enumerate().filter(|(_, share)| share.is_none()) {
            let start = edge(before);
            before += weight(member);
            *share = Some(edge(before) - start);
        }
        shares.into_iter().flatten().collect()
    }

    /// The same as parts of one.
    pub(super) fn parts(&self, sizes: &[u64]) -> Vec<f64> {
        if is_equal(sizes) {
            return vec![self.copies.min(sizes.len()) as f64 / sizes.len() as f64; sizes.len()];
        }
        self.shares(sizes).into_iter().map(|share| share as f64 / ALL as f64).collect()
    }

    /// The members, of these sizes, that hold an entry.
    pub(super) fn holders(&self, sizes: &[u64], number: u64) -> Vec<usize> {
        let copies = self.copies.min(sizes.len());
        if is_equal(sizes) {
            return (number..number + copies as u64).map(|turn| (turn % sizes.len() as u64) as usize).collect();
        }
        // Shares lie side by side, and each whole step from a first place on finds another member.
        let at = number.wrapping_mul(GOLDEN) >> 32;
        let steps_below = |place: u64| (place + ALL - 1 - at) / ALL;
        let mut end = 0;
        let mut holds = |(member, share): (usize, u64)| {
            let start = end;
            end += share;
            (steps_below(end) > steps_below(start)).then_some(member)
        };
        self.shares(sizes).into_iter().enumerate().filter_map(&mut holds).collect()
    }
}

impl Journal {
    /// Bytes of the record of a change. It writes `bytes` to each of `parts` chunks.
    pub(super) const fn record_bytes(self, bytes: usize, parts: usize) -> usize {
        match self {
            Self::None => 0,
            // The sum of other chunks takes the place of a chunk and the parity.
            Self::Ppl => 64 + bytes + 8,
            Self::Full => 64 + parts * (bytes + 8),
        }
    }

    /// Bytes of the record of a change in a batch.
    pub(super) const fn batch_record_bytes(self, bytes: usize, parts: usize) -> usize {
        match self {
            // Of changes of more than a chunk all is recorded.
            Self::Ppl if parts != 2 => Self::Full.record_bytes(bytes, parts),
            _ => self.record_bytes(bytes, parts),
        }
    }

    /// Bytes that each of some members gets of a ring of 32 MiB for each byte that the host changes in pieces of `bytes`: with entries, checkpoints and
    /// superblocks. Sizes are in any unit.
    pub fn bytes_for_each(self, code: &dyn Code, sizes: &[u64], bytes: u64) -> Vec<f64> {
        let records = self.record_bytes(bytes as usize, code.tolerates() + 1) as f64 / bytes as f64;
        Self::ring_for_each(code, sizes, records)
    }

    /// The same where `records` bytes are recorded for each byte that the host changes.
    pub fn ring_for_each(code: &dyn Code, sizes: &[u64], records: f64) -> Vec<f64> {
        let (tolerates, unit) = (code.tolerates(), 4096);
        let lap = Lap { copies: tolerates + 1, entries: (32 << 20) / unit / 2, each: 4 };
        let each = lap.each as f64 / lap.entries as f64;
        lap.parts(sizes).into_iter().map(|part| records * (part + each)).collect()
    }
}

fn is_equal(sizes: &[u64]) -> bool {
    sizes.windows(2).all(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that members get in many turns, by what they get in a lap.
    fn borne(lap: &Lap, sizes: &[u64]) -> Vec<f64> {
        let mut turns = vec![0u64; sizes.len()];
        for number in 0..10_000 {
            let holders = lap.holders(sizes, number);
            assert_eq!(holders.len(), lap.copies.min(sizes.len()), "{sizes:?}");
            assert!(holders.windows(2).all(|pair| pair[0] != pair[1]), "{holders:?}");
            holders.into_iter().for_each(|member| turns[member] += 1);
        }
        turns.into_iter().map(|turns| turns as f64 / 1e4 * lap.entries as f64 + lap.each as f64).collect()
    }

    #[test]
    fn members_get_bytes_in_proportion_to_their_sizes() {
        let lap = Lap { copies: 2, entries: 4096, each: 3 };
        for sizes in [&[64, 64, 32, 32, 16, 8][..], &[1, 2, 3], &[1000, 10, 1000, 999]] {
            let borne = borne(&lap, sizes);
            let by_size: Vec<f64> = borne.iter().zip(sizes).map(|(bytes, size)| bytes / *size as f64).collect();
            let sum = borne.iter().sum::<f64>() / sizes.iter().sum::<u64>() as f64;
            let is_fair = |of: &f64| (of / sum - 1.0).abs() < 0.03;
            assert!(by_size.iter().all(is_fair), "{sizes:?}: {by_size:?}");
        }
        // What lies on every member counts: the smallest one of them has no entries at all here.
        let parts = Lap { each: 400, ..lap }.parts(&[64, 64, 32, 32, 16, 8]);
        assert!(parts[5] < 1e-3 && parts[0] > 0.6, "{parts:?}");
    }

    #[test]
    fn no_member_holds_an_entry_twice_and_equal_ones_take_turns() {
        let lap = Lap { copies: 2, entries: 512, each: 3 };
        let parts = lap.parts(&[1000, 10, 10, 20]);
        assert!(parts[0] == 1.0 && (parts[3] / parts[1] - 2.0).abs() < 0.1, "{parts:?}");
        assert_eq!(lap.parts(&[7, 9]), [1.0, 1.0]);
        assert_eq!(lap.holders(&[9], 3), [0]);
        let turns: Vec<Vec<usize>> = (0..4).map(|number| lap.holders(&[5; 3], number)).collect();
        assert_eq!(turns, [[0, 1], [1, 2], [2, 0], [0, 1]]);
        for copies in 1..5 {
            let lap = Lap { copies, ..lap };
            for sizes in [&[3, 1, 4, 1, 5, 9, 2][..], &[1, 1, 1, 1, 100], &[0, 0, 5], &[0, 1]] {
                let sum: f64 = lap.parts(sizes).iter().sum();
                assert!((sum - copies.min(sizes.len()) as f64).abs() < 1e-6, "{sizes:?}: {sum}");
                (0..99).for_each(|number| assert_eq!(lap.holders(sizes, number).len(), copies.min(sizes.len())));
            }
        }
    }
}
