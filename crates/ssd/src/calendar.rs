//! When each resource is due. A resource has one running operation at most, so the pending events are a table with one
//! time per resource under a tree of minima, eight children a node: one cache line.

const FAN: usize = 8;

/// Not due.
pub(crate) const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Level by level from the leaves on, each padded to whole nodes.
    times: Vec<u64>,
    /// Where each level starts.
    levels: Vec<usize>,
}

impl Calendar {
    pub(crate) fn new(slots: usize) -> Self {
        let (mut levels, mut size, mut width) = (Vec::new(), 0, slots.max(1));
        loop {
            levels.push(size);
            size += width.next_multiple_of(FAN);
            if width <= FAN {
                return Self { times: vec![NEVER; size], levels };
            }
            width = width.div_ceil(FAN);
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, slot: usize, time: u64) {
        let (mut index, mut value) = (slot, time);
        for level in &self.levels {
            let entry = &mut self.times[level + index];
            if *entry == value {
                return;
            }
            *entry = value;
            index /= FAN;
            value = least(&self.times[level + index * FAN..][..FAN]);
        }
    }

    /// The earliest time.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        least(&self.times[self.times.len() - FAN..])
    }

    /// The first slot that is due at the earliest time; some slot is due.
    #[inline]
    pub(crate) fn first(&self, earliest: u64) -> usize {
        let mut index = 0;
        for level in self.levels.iter().rev() {
            let node = &self.times[level + index * FAN..][..FAN];
            index =
                index * FAN + node.iter().position(|time| *time == earliest).expect("a parent is one of its children");
        }
        index
    }
}

#[inline(always)]
fn least(node: &[u64]) -> u64 {
    let pair = |index: usize| node[index].min(node[index + 4]);
    (pair(0).min(pair(1))).min(pair(2).min(pair(3)))
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
                let least = *plain.iter().min().unwrap();
                assert_eq!(calendar.earliest(), least);
                if least != NEVER {
                    assert_eq!(calendar.first(least), plain.iter().position(|time| *time == least).unwrap(), "{slots}");
                }
            }
        }
    }
}
