//! Collections that take turns: in each group of dies one at a time, in the order in which they came.
//!
//! A group of dies holds a stripe, so that reads can go around the one die in it that collects. A job waits only for jobs that
//! came before it, and these never wait for it.

use std::collections::VecDeque;

use wane_archive::{Archive, ArchiveError};
use wane_units::Geometry;

use super::Graph;
use crate::saved;

/// The jobs of each group that are not over. The first one has its turn.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    group_dies: u32,
    groups: Vec<VecDeque<u32>>,
}

impl Turns {
    pub(super) fn new(geometry: &Geometry, group_dies: Option<u32>) -> Self {
        let group_dies = group_dies.unwrap_or(geometry.dies());
        Self { group_dies, groups: vec![VecDeque::new(); geometry.dies().div_ceil(group_dies) as usize] }
    }

    pub(super) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        saved::table(archive, "turns.groups", &mut self.groups, |_, _| {})
    }
}

impl Graph {
    /// Whether a job must still wait for its turn. The die of its first operation determines the group.
    pub(super) fn waits_for_turn(&mut self, number: u32, die: u32) -> bool {
        let (Some(turns), job) = (&mut self.turns, &mut self.jobs[number]) else { return false };
        if job.group.is_none() && (die as usize) < self.dies.len() {
            let group = die / turns.group_dies;
            let queue = &mut turns.groups[group as usize];
            job.waits = !queue.is_empty();
            job.group = Some(group);
            queue.push_back(number);
        }
        job.waits
    }

    /// Ends a job's turn: the next job of its group has its turn.
    pub(super) fn end_turn(&mut self, number: u32) {
        let (Some(turns), Some(group)) = (&mut self.turns, self.jobs[number].group) else { return };
        let queue = &mut turns.groups[group as usize];
        let over = queue.pop_front();
        debug_assert_eq!(over, Some(number), "only the job that has its turn goes on");
        let Some(next) = queue.front().copied() else { return };
        let end = self.jobs[number].end;
        let job = &mut self.jobs[next];
        job.waits = false;
        for (die, _) in &job.dies {
            self.dies[*die as usize].collecting += 1;
        }
        let mut waiting = std::mem::take(&mut job.waiting);
        for id in waiting.drain(..) {
            self.satisfy(id, end);
        }
        self.jobs[next].waiting = waiting;
    }
}
