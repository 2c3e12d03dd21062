//! Collections in the foreground: what comes after a victim's operations waits for the whole of them, on the dies that they
//! read or erase.

use wane_nand::{FlashOp, OpKind, Task};

use super::Timeline;
use crate::node::Kind;
use crate::slab::NONE;

/// One victim's operations.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Operations to place, and the latest end of those that are placed.
    left: u32,
    end: u64,
    is_erasing: bool,
    /// Dies that it holds.
    dies: Vec<u32>,
    /// Dies that still list it.
    listed: u32,
}

impl Timeline {
    /// Counts an operation to the present job.
    #[inline]
    pub(super) fn join_job(&mut self, id: u32) {
        let op = &self.ops[id];
        if op.task != Task::GarbageCollection {
            return;
        }
        let (kind, die) = (op.kind, op.die);
        // Parity empties no victim.
        if kind == Kind::Program && self.links[id].epoch == NONE {
            return;
        }
        if self.open_job == NONE {
            self.open_job = self.new_job();
        }
        let job = &mut self.jobs[self.open_job];
        job.left += 1;
        job.is_erasing = kind == Kind::Erase;
        if matches!(kind, Kind::Read | Kind::Erase) && !job.dies.contains(&die) {
            job.dies.push(die);
        }
        self.links[id].job = self.open_job;
    }

    /// A job is complete when something else follows its erases.
    #[inline]
    pub(super) fn end_job(&mut self, op: &FlashOp) {
        let continues = op.task == Task::GarbageCollection && op.kind == OpKind::Erase;
        if self.open_job != NONE && self.jobs[self.open_job].is_erasing && !continues {
            self.close_job();
        }
    }

    fn new_job(&mut self) -> u32 {
        let Some(id) = self.jobs.reuse() else {
            return self.jobs.insert(Job { left: 0, end: 0, is_erasing: false, dies: Vec::new(), listed: 0 });
        };
        let job = &mut self.jobs[id];
        job.dies.clear();
        (job.left, job.end, job.is_erasing, job.listed) = (0, 0, false, 0);
        id
    }

    /// The present job is complete: from now on it holds others back.
    #[inline]
    pub(super) fn close_job(&mut self) {
        let id = std::mem::replace(&mut self.open_job, NONE);
        if id == NONE {
            return;
        }
        let job = &mut self.jobs[id];
        job.listed = job.dies.len() as u32;
        for die in &job.dies {
            self.dies[*die as usize].jobs.push_back(id);
        }
        if job.left == 0 {
            self.leave_dies(id);
        }
    }

    /// An operation that comes after foreground collections on its die waits for them, one of a later collection too: it
    /// must not go before those that wait since earlier.
    #[inline]
    pub(super) fn hold(&mut self, id: u32) {
        let (op, links) = (&mut self.ops[id], &mut self.links[id]);
        let die = &mut self.dies[op.die as usize];
        if !die.jobs.is_empty() {
            links.jobs_before = die.jobs_placed + die.jobs.len() as u64;
            links.waits += 1;
            links.is_held = true;
            die.held.push_back(id);
        } else if die.jobs_end > self.now {
            op.entered = op.entered.max(die.jobs_end);
            links.is_held = true;
        }
    }

    /// An operation of a job ends at `end`.
    pub(super) fn leave_job(&mut self, id: u32, end: u64) {
        let job = &mut self.jobs[id];
        job.left -= 1;
        job.end = job.end.max(end);
        if job.left == 0 && id != self.open_job {
            self.leave_dies(id);
        }
    }

    /// A job is placed whole: each die forgets it as soon as the jobs before it are placed too.
    fn leave_dies(&mut self, id: u32) {
        if self.jobs[id].listed == 0 {
            return self.jobs.release(id);
        }
        for place in 0..self.jobs[id].dies.len() {
            let number = self.jobs[id].dies[place] as usize;
            let die = &mut self.dies[number];
            while let Some(front) = die.jobs.front().copied()
                && self.jobs[front].left == 0
            {
                die.jobs.pop_front();
                die.jobs_placed += 1;
                let job = &mut self.jobs[front];
                die.jobs_end = die.jobs_end.max(job.end);
                job.listed -= 1;
                if job.listed == 0 {
                    self.jobs.release(front);
                }
            }
            let end = die.jobs_end;
            while let Some(held) = self.dies[number].held.front().copied()
                && self.links[held].jobs_before <= self.dies[number].jobs_placed
            {
                self.dies[number].held.pop_front();
                self.satisfy(held, end);
            }
        }
    }
}
