//! When each resource is due. A resource has one running operation at most, so the pending events are a table with one
//! time per resource under a tree of minima. Time and slot share a word, so that an update is one minimum a level, without
//! a branch that could be mispredicted.

/// Not due.
pub(crate) const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// The least key below each node: the root is 1, the leaves are the second half. A key is the time since `origin` above
    /// `bits` bits of the slot; all ones where nothing is due.
    keys: Vec<u64>,
    leaves: usize,
    bits: u32,
    /// No event is earlier. It moves before a key would be all ones, so that none looks like nothing.
    origin: u64,
}

impl Calendar {
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.max(2).next_power_of_two();
        Self { keys: vec![NEVER; 2 * leaves], leaves, bits: leaves.trailing_zeros(), origin: 0 }
    }

    /// Sets when a slot is due. Nothing will be set before `now` any more.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, now: u64, time: u64) {
        debug_assert!(time >= now && now >= self.origin, "nothing is due in the past");
        if (time - self.origin).leading_zeros() <= self.bits {
            self.move_origin(now, time);
        }
        self.put(slot, (time - self.origin) << self.bits | slot as u64);
    }

    /// Sets when a slot is due, or that it is not.
    #[inline]
    pub(crate) fn set_or_clear(&mut self, slot: usize, now: u64, time: u64) {
        if time == NEVER { self.clear(slot) } else { self.set(slot, now, time) }
    }

    /// A slot is due no more.
    #[inline]
    pub(crate) fn clear(&mut self, slot: usize) {
        self.put(slot, NEVER);
    }

    #[inline]
    fn put(&mut self, slot: usize, key: u64) {
        debug_assert!(slot < self.leaves, "a slot beyond the leaves has no key of its own");
        let mut node = self.leaves + slot;
        let mut least = key;
        self.keys[node] = least;
        while node > 1 {
            least = least.min(self.keys[node ^ 1]);
            node /= 2;
            self.keys[node] = least;
        }
    }

    /// Keys run over once in days; then they count from `now` on.
    #[cold]
    fn move_origin(&mut self, now: u64, time: u64) {
        assert!((time - now).leading_zeros() > self.bits, "no operation takes days: {time} ns after {now} ns");
        let shift = (now - self.origin) << self.bits;
        self.origin = now;
        for key in self.keys.iter_mut().filter(|key| **key != NEVER) {
            *key -= shift;
        }
    }

    /// Whether a slot is due at `time`.
    #[inline]
    pub(crate) fn is_due(&self, slot: usize, time: u64) -> bool {
        self.keys[self.leaves + slot] == (time - self.origin) << self.bits | slot as u64
    }

    /// The earliest time.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        let key = self.keys[1];
        if key == NEVER { NEVER } else { self.origin + (key >> self.bits) }
    }

    /// A slot that is due at the earliest time.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        debug_assert_ne!(self.keys[1], NEVER, "the first is asked for where something is due");
        self.keys[1] as usize & (self.leaves - 1)
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
            for step in 0..5000u64 {
                // Times far beyond what a key holds: the calendar moves its origin.
                let start = (step / 1000).min(3) * (1 << 62);
                if step % 1000 == 0 {
                    for (slot, time) in plain.iter_mut().enumerate() {
                        *time = NEVER;
                        calendar.clear(slot);
                    }
                }
                let slot = stream.below(slots as u64) as usize;
                let time = if stream.chance(0.3) { NEVER } else { start + stream.below(50) };
                match time {
                    NEVER => calendar.clear(slot),
                    time => calendar.set(slot, start, time),
                }
                plain[slot] = time;
                assert_eq!(calendar.earliest(), *plain.iter().min().unwrap());
                if calendar.earliest() != NEVER {
                    assert_eq!(plain[calendar.first()], calendar.earliest(), "{slots}");
                }
            }
        }
    }
}
