//! Garbage-collection jobs that hold other operations back.
//!
//! A job is the part of one command's list from the first relocation after an erase to the next erases, or to the end of the list.
//! A job holds back only operations that are submitted after its last one, so that it never waits for anything that waits for it.
//! In the foreground, what comes after a job waits for the whole job, on the dies that it reads or erases. In the background, the
//! scheduler holds back what waits in its queues once a job has begun on a die; this file only counts what the job still does
//! there. Where jobs take turns ([`super::turns`]), no operation of a job may queue before its turn.

use serde::{Deserialize, Serialize};
use wane_nand::{FlashOp, OpKind, Task};

use super::{Graph, Links, News};
use crate::config::Collection;
use crate::node::Kind;
use crate::slab::NONE;

/// One victim's operations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Job {
    /// Operations whose end is not known, and the latest end of the others.
    left: u32,
    pub(super) end: u64,
    /// Sequence number of the last one.
    last: u64,
    is_erasing: bool,
    /// Dies that the job holds. In the background, each with the number of operations there whose end is not known.
    pub(super) dies: Vec<(u32, u32)>,
    /// Number of dies that still list the job.
    listed: u32,
    /// Where jobs take turns: the job's group of dies, whether its turn is still to come, and what waits for it.
    pub(super) group: Option<u32>,
    pub(super) waits: bool,
    pub(super) waiting: Vec<u32>,
}

impl Graph {
    /// Adds an operation to the open job.
    #[inline(always)]
    pub(super) fn join_job(&mut self, id: u32, kind: Kind, die: u32, sequence: u64) {
        // Parity empties no victim.
        if kind == Kind::Program && self.links[id].epoch == NONE {
            return;
        }
        if self.open_job == NONE {
            self.open_job = self.new_job();
        }
        let waits = self.turns.is_some() && self.waits_for_turn(self.open_job, die);
        let job = &mut self.jobs[self.open_job];
        job.left += 1;
        debug_assert!(job.last <= sequence, "operations join a job in their order, so that the last one is known");
        job.last = sequence;
        job.is_erasing = kind == Kind::Erase;
        let holds = match self.collection {
            Collection::Foreground => matches!(kind, Kind::Read | Kind::Erase),
            _ => kind != Kind::Buffered,
        };
        if holds {
            match job.dies.iter_mut().find(|(known, _)| *known == die) {
                Some((_, left)) => *left += 1,
                None => {
                    job.dies.push((die, 1));
                    let is_at_work = self.collection != Collection::Foreground && !waits;
                    self.dies[die as usize].collecting += u32::from(is_at_work);
                }
            }
        }
        let links = &mut self.links[id];
        if waits {
            job.waiting.push(id);
            links.waits += 1;
        }
        links.job = self.open_job;
    }

    /// A job is complete when something else follows its erases.
    #[inline]
    pub(super) fn end_job(&mut self, op: &FlashOp) {
        if self.open_job == NONE {
            return;
        }
        let continues = op.task == Task::GarbageCollection && op.kind == OpKind::Erase;
        if self.jobs[self.open_job].is_erasing && !continues {
            self.close_open_job();
        }
    }

    fn new_job(&mut self) -> u32 {
        let Some(id) = self.jobs.reuse() else {
            return self.jobs.insert(Job::default());
        };
        let job = &mut self.jobs[id];
        job.dies.clear();
        debug_assert!(job.waiting.is_empty(), "a job is over after its turn");
        let (dies, waiting) = (std::mem::take(&mut job.dies), std::mem::take(&mut job.waiting));
        *job = Job { dies, waiting, ..Job::default() };
        id
    }

    /// Closes the open job: from now on it holds others back.
    #[inline]
    pub(super) fn close_job(&mut self) {
        if self.open_job != NONE {
            self.close_open_job();
        }
    }

    fn close_open_job(&mut self) {
        let id = std::mem::replace(&mut self.open_job, NONE);
        if self.collection != Collection::Foreground {
            return;
        }
        let job = &mut self.jobs[id];
        debug_assert!(job.left > 0, "nothing ends while its list comes in");
        job.listed = job.dies.len() as u32;
        for (die, _) in &job.dies {
            self.dies[*die as usize].jobs.push_back(id);
        }
    }

    /// Makes an operation that comes after foreground collections on its die wait for them. This includes operations of later
    /// collections, which must not overtake those that wait already.
    #[inline]
    pub(super) fn hold(&mut self, now: u64, id: u32, die: u32) {
        let die = &mut self.dies[die as usize];
        if !die.jobs.is_empty() {
            let links = &mut self.links[id];
            links.waits += 1;
            links.is_held = true;
            die.held.push_back((id, die.jobs_gone + die.jobs.len() as u64));
        } else if die.jobs_end > now {
            let links = &mut self.links[id];
            links.wait_until(die.jobs_end);
            links.is_held = true;
        }
    }

    /// Records that an operation of a job ends at `end`.
    #[inline(always)]
    pub(super) fn leave_job(&mut self, id: u32, end: u64) {
        let Links { job: number, die, kind, .. } = self.links[id];
        let job = &mut self.jobs[number];
        job.left -= 1;
        job.end = job.end.max(end);
        let is_over = job.left == 0;
        if self.collection == Collection::Foreground {
            if is_over {
                self.leave_dies(number);
            }
            return;
        }
        if kind != Kind::Buffered {
            let work = job.dies.iter_mut().find(|(known, _)| *known == die).expect("the job works here");
            work.1 -= 1;
            if work.1 == 0 {
                self.news.push(News::Left { die, job: number });
                self.dies[die as usize].collecting -= 1;
            }
        }
        if is_over {
            self.end_turn(number);
            self.jobs.release(number);
        }
    }

    /// Called when all ends of a foreground job are known. A die forgets the job once it has forgotten those before it.
    #[inline(always)]
    fn leave_dies(&mut self, id: u32) {
        if self.jobs[id].listed == 0 {
            return self.jobs.release(id);
        }
        for place in 0..self.jobs[id].dies.len() {
            let number = self.jobs[id].dies[place].0 as usize;
            let die = &mut self.dies[number];
            while let Some(front) = die.jobs.front().copied()
                && self.jobs[front].left == 0
            {
                die.jobs.pop_front();
                die.jobs_gone += 1;
                let job = &mut self.jobs[front];
                die.jobs_end = die.jobs_end.max(job.end);
                job.listed -= 1;
                if job.listed == 0 {
                    self.jobs.release(front);
                }
            }
            let (gone, end) = (die.jobs_gone, die.jobs_end);
            while let Some((held, jobs)) = self.dies[number].held.front().copied()
                && jobs <= gone
            {
                self.dies[number].held.pop_front();
                self.satisfy(held, end);
            }
        }
    }

    /// The job of an operation; [`NONE`] if it belongs to none.
    #[inline]
    pub(crate) fn job_of(&self, id: u32) -> u32 {
        self.links[id].job
    }

    /// Sequence number of a job's last operation.
    pub(crate) fn job_last(&self, job: u32) -> u64 {
        self.jobs[job].last
    }

    /// Marks an operation in a queue as held back by a background collection.
    pub(crate) fn mark_held(&mut self, id: u32) {
        self.links[id].is_held = true;
    }
}
