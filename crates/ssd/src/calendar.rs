//! When each resource is due. A resource has one running operation at most, so the pending events are a table with one
//! time per resource under a tree of winners. An update walks from a leaf to the root without a branch that could be
//! mispredicted, which is twice as fast here as a heap.

use std::hint::select_unpredictable;

/// Not due.
pub(crate) const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Time and slot of the winner below each node; the root is 1, the leaves are the second half.
    nodes: Vec<(u64, u32)>,
    leaves: usize,
}

impl Calendar {
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.max(2).next_power_of_two();
        let slot = |node: usize| (node % leaves) as u32;
        Self { nodes: (0..2 * leaves).map(|node| (NEVER, slot(node))).collect(), leaves }
    }

    #[inline]
    pub(crate) fn set(&mut self, slot: usize, time: u64) {
        let mut node = self.leaves + slot;
        let mut winner = (time, slot as u32);
        self.nodes[node] = winner;
        while node > 1 {
            let other = self.nodes[node ^ 1];
            let earlier = other.0 < winner.0;
            winner =
                (select_unpredictable(earlier, other.0, winner.0), select_unpredictable(earlier, other.1, winner.1));
            node /= 2;
            self.nodes[node] = winner;
        }
    }

    /// The earliest time.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.nodes[1].0
    }

    /// A slot that is due at the earliest time.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        self.nodes[1].1 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_slot_is_found_in_any_tree() {
        for slots in [1, 7, 8, 9, 24, 64, 65, 600] {
            let mut calendar = Calendar::new(slots);
            let mut plain = vec![NEVER; slots];
            let mut stream = wane_sim::Streams::new(3).stream("calendar");
            assert_eq!(calendar.earliest(), NEVER);
            for _ in 0..5000 {
                let slot = stream.below(slots as u64) as usize;
                let time = if stream.chance(0.3) { NEVER } else { stream.below(50) };
                calendar.set(slot, time);
                plain[slot] = time;
                assert_eq!(calendar.earliest(), *plain.iter().min().unwrap());
                assert_eq!(plain[calendar.first()], calendar.earliest(), "{slots}");
            }
        }
    }
}
