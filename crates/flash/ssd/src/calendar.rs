//! When something is due. Each slot has at most one pending event, so the pending events are a table with one time a slot under a
//! tree of minima. Time and event share a word: an update is one minimum of four keys a level, without a branch that could be
//! mispredicted.

use wane_archive::{Archive, ArchiveError};

/// Not due.
pub(crate) const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Nodes of four keys, the root first and the leaves last. A leaf has the keys of four slots; elsewhere a key is the least of
    /// the node below it. A key is the time since `origin` above `bits` bits of the event; all ones where nothing is due.
    keys: Vec<[u64; 4]>,
    /// The least key.
    least: u64,
    /// Number of keys before those of the slots.
    base: usize,
    bits: u32,
    /// No event is earlier. The origin moves before a key would become all ones, which means "not due".
    origin: u64,
}

impl Calendar {
    /// Makes a calendar of slots with one event each. The event has the slot's number.
    pub(crate) fn new(slots: usize) -> Self {
        Self::with_events(slots, slots)
    }

    /// Makes a calendar of `slots` slots and `events` events. Of events at the same time, the one with the lowest number comes
    /// first.
    pub(crate) fn with_events(slots: usize, events: usize) -> Self {
        assert!(slots <= events, "{slots} slots have {events} events: at least one each");
        let (mut inner, mut leaves) = (0, 1);
        while 4 * leaves < slots {
            (inner, leaves) = (inner + leaves, 4 * leaves);
        }
        let bits = events.max(2).next_power_of_two().trailing_zeros();
        Self { keys: vec![[NEVER; 4]; inner + leaves], least: NEVER, base: 4 * inner, bits, origin: 0 }
    }

    /// Sets when a slot is due. After this call, nothing may be set to a time before `now`.
    #[inline]
    pub(crate) fn set(&mut self, slot: usize, now: u64, time: u64) {
        self.set_event(slot, slot, now, time);
    }

    /// As [`Calendar::set`], for an event with a number of its own.
    #[inline]
    pub(crate) fn set_event(&mut self, slot: usize, event: usize, now: u64, time: u64) {
        debug_assert!(time >= now && now >= self.origin, "nothing is due in the past");
        debug_assert!(event < 1 << self.bits, "an event beyond the last would say another time");
        if (time - self.origin).leading_zeros() <= self.bits {
            self.move_origin(now, time);
        }
        self.put(slot, (time - self.origin) << self.bits | event as u64);
    }

    /// Sets when a slot is due; [`NEVER`] clears it.
    #[inline]
    pub(crate) fn set_or_clear(&mut self, slot: usize, now: u64, time: u64) {
        if time == NEVER { self.clear(slot) } else { self.set(slot, now, time) }
    }

    /// Clears a slot: it is no longer due.
    #[inline]
    pub(crate) fn clear(&mut self, slot: usize) {
        self.put(slot, NEVER);
    }

    #[inline]
    fn put(&mut self, slot: usize, key: u64) {
        debug_assert!(self.base + slot < 4 * self.keys.len(), "a slot beyond the leaves has no key of its own");
        let mut place = self.base + slot;
        let mut least = key;
        loop {
            let (node, side) = (place / 4, place % 4);
            let keys = &mut self.keys[node];
            keys[side] = least;
            least = least.min(keys[side ^ 1]).min(keys[side ^ 2].min(keys[side ^ 3]));
            if node == 0 {
                break;
            }
            place = node - 1;
        }
        self.least = least;
    }

    /// Moves the origin to `now`. Keys overflow once in days.
    #[cold]
    fn move_origin(&mut self, now: u64, time: u64) {
        assert!((time - now).leading_zeros() > self.bits, "no operation takes days: {time} ns after {now} ns");
        let shift = (now - self.origin) << self.bits;
        self.origin = now;
        // The least key is found anew by the update that follows.
        for key in self.keys.as_flattened_mut().iter_mut().filter(|key| **key != NEVER) {
            *key -= shift;
        }
    }

    /// Writes what is due to a file, or reads it back into a calendar of as many slots.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("calendar.origin", &mut self.origin)?;
        archive.fixed("calendar.keys", self.keys.as_flattened_mut())?;
        self.least = self.keys[0].into_iter().fold(NEVER, u64::min);
        Ok(())
    }

    /// Whether a slot is due at `time`.
    #[inline]
    pub(crate) fn is_due(&self, slot: usize, time: u64) -> bool {
        let place = self.base + slot;
        self.keys[place / 4][place % 4] >> self.bits == time - self.origin
    }

    /// The earliest time.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        if self.least == NEVER { NEVER } else { self.origin + (self.least >> self.bits) }
    }

    /// The event that comes first.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        debug_assert_ne!(self.least, NEVER, "the first is asked for where something is due");
        self.least as usize & ((1 << self.bits) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_event_is_found_in_any_tree() {
        for slots in [1, 4, 5, 7, 8, 9, 16, 17, 24, 64, 65, 600] {
            // A slot has two events: its own number, and one beyond all slots, counted backwards.
            let mut calendar = Calendar::with_events(slots, 2 * slots);
            let mut plain = vec![(NEVER, 0); slots];
            let mut stream = wane_sim::Streams::new(3).stream("calendar");
            assert_eq!(calendar.earliest(), NEVER);
            for step in 0..5000u64 {
                // Times far beyond what a key holds: the calendar moves its origin.
                let start = (step / 1000).min(3) * (1 << 62);
                if step % 1000 == 0 {
                    for (slot, due) in plain.iter_mut().enumerate() {
                        due.0 = NEVER;
                        calendar.clear(slot);
                    }
                }
                let slot = stream.below(slots as u64) as usize;
                let event = if stream.chance(0.5) { slot } else { 2 * slots - 1 - slot };
                let time = if stream.chance(0.3) { NEVER } else { start + stream.below(50) };
                match time {
                    NEVER => calendar.clear(slot),
                    time if event == slot => calendar.set(slot, start, time),
                    time => calendar.set_event(slot, event, start, time),
                }
                plain[slot] = (time, event);
                let (earliest, first) = *plain.iter().min().unwrap();
                assert_eq!(calendar.earliest(), earliest);
                if earliest != NEVER {
                    assert_eq!(calendar.first(), first, "{slots}");
                    let due = |slot: usize| calendar.is_due(slot, earliest);
                    assert!((0..slots).all(|slot| due(slot) == (plain[slot].0 == earliest)), "{slots}");
                }
            }
        }
    }

    #[test]
    fn events_to_come_outlast_a_move_of_the_origin() {
        let mut calendar = Calendar::new(600);
        let mut plain = vec![NEVER; 600];
        let mut stream = wane_sim::Streams::new(3).stream("calendar");
        let (mut now, mut moves) = (0, 0);
        for step in 0..3000 {
            // Twenty to come at a time, each within an eighth of what a key holds.
            let slot = stream.below(600) as usize;
            let (time, origin) = (now + stream.below(1 << 51), calendar.origin);
            calendar.set(slot, now, time);
            plain[slot] = time;
            moves += u32::from(calendar.origin != origin);
            if step >= 20 {
                now = *plain.iter().min().unwrap();
                assert_eq!(calendar.earliest(), now);
                assert_eq!(plain[calendar.first()], now);
                plain[calendar.first()] = NEVER;
                calendar.clear(calendar.first());
            }
        }
        assert!(moves > 10, "the origin moved {moves} times");
    }
}
