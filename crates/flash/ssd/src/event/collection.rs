//! Collections in the background. Once a job has begun on a die, operations submitted after its last one are kept out of the
//! queues there, until the job has nothing left to do on the die.

use super::EventScheduler;
use crate::config::Collection;
use crate::slab::NONE;

impl EventScheduler {
    /// Begins the background jobs on a die whose operations start there.
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

    /// Takes out of the queues all operations that come after a job that has begun.
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

    /// Ends a job on a die: what it held back returns to the queues, at its old place, if nothing else holds it.
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
