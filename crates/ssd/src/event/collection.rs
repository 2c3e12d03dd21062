//! Garbage-collection jobs that hold other operations back.
//!
//! A job is the part of one command's list from the first relocation after an erase to the next erases, or to the end of the list.
//! It holds back only operations that are submitted after its last one, so that a job never waits for what waits for it.

use wane_nand::{FlashOp, OpKind, Task};

use super::EventScheduler;
use crate::config::Collection;
use crate::node::Kind;
use crate::slab::NONE;

/// One victim's operations.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Operations to come.
    left: u32,
    /// Sequence number of the last one.
    last: u64,
    erasing: bool,
    /// Dies that it works on, each with the operations to come there; in the foreground, dies that it holds.
    dies: Vec<(u32, u32)>,
    /// Dies that still list it.
    listed: u32,
}

impl EventScheduler {
    /// Counts an operation to the present job.
    #[inline]
    pub(super) fn join_job(&mut self, id: u32, block: u32) {
        let node = &self.nodes[id];
        if node.task != Task::GarbageCollection || self.config.collection == Collection::Preemptible {
            return;
        }
        let (kind, sequence) = (node.kind, node.sequence);
        // Parity empties no victim.
        if kind == Kind::Program && node.epoch == NONE {
            return;
        }
        if self.open_job == NONE {
            self.open_job = self.new_job();
        }
        let job = &mut self.jobs[self.open_job];
        job.left += 1;
        job.last = sequence;
        job.erasing = kind == Kind::Erase;
        let works = match self.config.collection {
            Collection::Foreground => matches!(kind, Kind::Read | Kind::Erase),
            _ => kind != Kind::Buffered,
        };
        if works {
            let die = self.blocks[block as usize].die;
            match job.dies.iter_mut().find(|(known, _)| *known == die) {
                Some((_, left)) => *left += 1,
                None => job.dies.push((die, 1)),
            }
        }
        self.nodes[id].job = self.open_job;
    }

    /// A job is complete when something else follows its erases.
    #[inline]
    pub(super) fn end_job(&mut self, op: &FlashOp) {
        let continues = op.task == Task::GarbageCollection && op.kind == OpKind::Erase;
        if self.open_job != NONE && self.jobs[self.open_job].erasing && !continues {
            self.close_job();
        }
    }

    fn new_job(&mut self) -> u32 {
        let Some(id) = self.jobs.reuse() else {
            return self.jobs.insert(Job { left: 0, last: 0, erasing: false, dies: Vec::new(), listed: 0 });
        };
        let job = &mut self.jobs[id];
        job.dies.clear();
        (job.left, job.listed) = (0, 0);
        id
    }

    /// The present job is complete: from now on it holds others back.
    pub(super) fn close_job(&mut self) {
        let id = std::mem::replace(&mut self.open_job, NONE);
        if id == NONE || self.config.collection != Collection::Foreground {
            return;
        }
        let job = &mut self.jobs[id];
        job.listed = job.dies.len() as u32;
        for (die, _) in &job.dies {
            self.dies[*die as usize].jobs.push_back(id);
        }
    }

    /// An operation that comes after foreground collections on its die waits for them, one of a later collection too: it
    /// must not go before those that wait since earlier.
    #[inline]
    pub(super) fn hold(&mut self, id: u32) {
        let node = &mut self.nodes[id];
        let die = &mut self.dies[node.die as usize];
        if !die.jobs.is_empty() {
            node.waits += 1;
            node.held = true;
            die.behind.push_back((die.jobs_gone + die.jobs.len() as u64, id));
        }
    }

    /// Operations that start on a die may begin a job of the background there.
    #[inline]
    pub(super) fn begin_jobs(&mut self, index: usize, first: u32) {
        if self.config.collection != Collection::Background {
            return;
        }
        let mut id = first;
        while id != NONE {
            let job = self.nodes[id].job;
            if job != NONE && !self.dies[index].begun.contains(&job) {
                self.dies[index].begun.push(job);
                self.close_gate(index);
            }
            id = self.nodes[id].next_in_batch;
        }
    }

    /// Takes out of the queues what comes after a job that has begun.
    fn close_gate(&mut self, index: usize) {
        let die = &mut self.dies[index];
        die.gate = die.begun.iter().map(|job| self.jobs[*job].last).min().unwrap_or(u64::MAX);
        die.queues.drain(&self.nodes, &mut self.scratch);
        for id in self.scratch.drain(..) {
            if self.nodes[id].sequence > die.gate {
                self.nodes[id].held = true;
                die.held.push_back(id);
            } else {
                die.queues.push(&mut self.nodes, id);
            }
        }
    }

    /// A job has ended on a die: what it held back and may go on returns to the queues, at its old place.
    fn open_gate(&mut self, index: usize, job: u32) {
        let die = &mut self.dies[index];
        let before = die.begun.len();
        die.begun.retain(|begun| *begun != job);
        if die.begun.len() == before {
            return;
        }
        die.gate = die.begun.iter().map(|job| self.jobs[*job].last).min().unwrap_or(u64::MAX);
        for _ in 0..die.held.len() {
            let Some(id) = die.held.pop_front() else { break };
            if self.nodes[id].sequence > die.gate {
                die.held.push_back(id);
            } else {
                die.queues.push(&mut self.nodes, id);
            }
        }
        self.mark_die(index);
    }

    /// An operation of a job is done.
    pub(super) fn leave_job(&mut self, id: u32) {
        let (job, die, kind) = (self.nodes[id].job, self.nodes[id].die, self.nodes[id].kind);
        self.jobs[job].left -= 1;
        let done = self.jobs[job].left == 0;
        if self.config.collection == Collection::Foreground {
            if done {
                self.leave_dies(job);
            }
            return;
        }
        if kind != Kind::Buffered {
            let work = self.jobs[job].dies.iter_mut().find(|(known, _)| *known == die).expect("the job works here");
            work.1 -= 1;
            if work.1 == 0 {
                self.open_gate(die as usize, job);
            }
        }
        if done {
            self.jobs.release(job);
        }
    }

    /// A foreground job is done: each die forgets it as soon as the jobs before it are done too.
    fn leave_dies(&mut self, job: u32) {
        if self.jobs[job].listed == 0 {
            return self.jobs.release(job);
        }
        for place in 0..self.jobs[job].dies.len() {
            let index = self.jobs[job].dies[place].0 as usize;
            while let Some(front) = self.dies[index].jobs.front().copied()
                && self.jobs[front].left == 0
            {
                self.dies[index].jobs.pop_front();
                self.dies[index].jobs_gone += 1;
                self.jobs[front].listed -= 1;
                if self.jobs[front].listed == 0 {
                    self.jobs.release(front);
                }
            }
            while let Some((jobs, id)) = self.dies[index].behind.front().copied()
                && jobs <= self.dies[index].jobs_gone
            {
                self.dies[index].behind.pop_front();
                self.satisfy(id);
            }
        }
    }
}
