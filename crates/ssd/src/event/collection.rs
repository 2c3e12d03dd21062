//! Collections of the background: once a job has begun on a die, what was submitted after its last operation is kept out of
//! the queues there, until the job has nothing left to do on the die.

use super::EventScheduler;
use crate::config::Collection;
use crate::slab::NONE;

impl EventScheduler {
    /// Operations that start on a die may begin a job of the background there.
    #[inline]
    pub(super) fn begin_jobs(&mut self, index: usize, first: u32) {
        if !matches!(self.config.collection, Collection::Background | Collection::Rotating) {
            return;
        }
        let mut id = first;
        while id != NONE {
            let job = self.graph.job_of(id);
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
        die.gate = die.begun.iter().map(|job| self.graph.job_last(*job)).min().unwrap_or(u64::MAX);
        die.queues.drain(&self.nodes, &mut self.scratch);
        for id in self.scratch.drain(..) {
            if self.nodes[id].sequence > die.gate {
                self.graph.mark_held(id);
                die.held.push_back(id);
            } else {
                die.queues.push(&mut self.nodes, id);
            }
        }
    }

    /// A job has ended on a die: what it held back and may go on returns to the queues, at its old place.
    pub(super) fn open_gate(&mut self, index: usize, job: u32) {
        let die = &mut self.dies[index];
        let before = die.begun.len();
        die.begun.retain(|begun| *begun != job);
        if die.begun.len() == before {
            return;
        }
        die.gate = die.begun.iter().map(|job| self.graph.job_last(*job)).min().unwrap_or(u64::MAX);
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
}
