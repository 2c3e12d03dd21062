//! How far programs and erases are, which a power cut needs to know.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Graph;
use crate::calendar::NEVER;

/// How far a program or an erase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The flash has not begun it; its data may have been moved.
    NotBegun,
    /// The flash is at work on it, or was interrupted.
    Begun,
    /// It is done.
    Done,
}

/// Programs and erases in the order in which they came, from the first one that is not done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Changes {
    /// Number of changes before these, all of them done.
    first: u64,
    /// When the flash began and ended, as far as that is known.
    times: VecDeque<(u64, u64)>,
    /// By operation, its place among all changes.
    places: Vec<u64>,
}

impl Changes {
    pub(super) fn add(&mut self, id: u32) {
        let place = self.first + self.times.len() as u64;
        if id as usize >= self.places.len() {
            self.places.resize(id as usize + 1, 0);
        }
        self.places[id as usize] = place;
        self.times.push_back((NEVER, NEVER));
    }

    fn times_of(&mut self, id: u32) -> &mut (u64, u64) {
        let place = self.places[id as usize] - self.first;
        &mut self.times[place as usize]
    }

    pub(super) fn ended(&mut self, id: u32, end: u64) {
        self.times_of(id).1 = end;
    }
}

impl Graph {
    /// Tracks programs and erases from now on. Requires that none is outstanding.
    pub(crate) fn track_changes(&mut self) {
        self.changes = Some(Box::default());
    }

    /// Whether programs and erases are tracked.
    #[inline]
    pub(crate) fn tracks_changes(&self) -> bool {
        self.changes.is_some()
    }

    /// Records that the flash begins a program or an erase at `at`, now or later.
    pub(crate) fn change_begins(&mut self, id: u32, at: u64) {
        if let Some(changes) = &mut self.changes {
            let (begun, _) = changes.times_of(id);
            if *begun == NEVER {
                *begun = at;
            }
        }
    }

    /// Counts `count` programs and erases as done that were not submitted.
    pub(crate) fn skip_changes(&mut self, count: usize) {
        if let Some(changes) = &mut self.changes {
            changes.times.extend(std::iter::repeat_n((0, 0), count));
        }
    }

    /// Forgets the changes that are done, up to the first one that is not. Returns the number of all that are forgotten.
    pub(crate) fn settle_changes(&mut self, now: u64) -> u64 {
        let Some(changes) = &mut self.changes else { return 0 };
        while changes.times.front().is_some_and(|(_, end)| *end <= now) {
            changes.times.pop_front();
            changes.first += 1;
        }
        changes.first
    }

    /// Number of changes that came so far.
    pub(crate) fn changes_seen(&self) -> u64 {
        self.changes.as_ref().map_or(0, |changes| changes.first + changes.times.len() as u64)
    }

    /// How far the changes are that were not forgotten, in order.
    pub(crate) fn progress(&self, now: u64) -> Vec<Progress> {
        let times = self.changes.iter().flat_map(|changes| &changes.times);
        let progress = |(begun, end): &(u64, u64)| match () {
            () if *end <= now => Progress::Done,
            () if *begun <= now => Progress::Begun,
            () => Progress::NotBegun,
        };
        times.map(progress).collect()
    }
}
