//! What an operation sets free when it is done, and what its command hears.

use wane_nand::Task;

use super::{Breakdown, CommandKind, Completion, EventScheduler};
use crate::node::{Follow, Kind};
use crate::slab::NONE;

impl EventScheduler {
    /// An operation is done.
    pub(super) fn complete(&mut self, id: u32) {
        #[cfg(test)]
        self.log_operation(id);
        let node = &self.nodes[id];
        debug_assert_eq!(node.waits, 0, "an operation ends after what it waits for");
        let (kind, command, epoch, job) = (node.kind, node.command, node.epoch, node.job);
        let recovers = node.recovery != NONE && node.recoveries == NONE;
        self.alive[node.task as usize] -= 1;
        self.operations += u64::from(kind != Kind::Buffered);
        match kind {
            Kind::Read | Kind::Buffered => self.read_done(id),
            Kind::Program | Kind::Erase => self.block_done(id),
        }
        if epoch != NONE {
            self.leave_epoch(id);
        }
        if job != NONE {
            self.leave_job(id);
        }
        if command != NONE {
            self.commands[command].left -= 1;
            if self.commands[command].left == 0 {
                self.host_operations_done(command, id);
            }
        }
        if recovers {
            let recovery = self.nodes[id].recovery;
            self.recoveries[recovery].left -= 1;
            if self.recoveries[recovery].left == 0 {
                self.recoveries.release(recovery);
            }
        }
        self.nodes.release(id);
    }

    #[inline]
    fn read_done(&mut self, id: u32) {
        let node = &self.nodes[id];
        let (group, recoveries) = (node.group, node.recoveries);
        if self.last_read == id {
            self.last_read = NONE;
        }
        if node.counted {
            let block = &mut self.blocks[node.block as usize];
            block.reads -= 1;
            if block.reads == 0 && block.eraser != NONE {
                let eraser = std::mem::replace(&mut block.eraser, NONE);
                self.satisfy(eraser);
            }
        }
        if recoveries != NONE {
            self.release_recoveries(id, recoveries);
        }
        if group != NONE {
            self.leave_group(group);
        }
    }

    #[cold]
    fn release_recoveries(&mut self, id: u32, mut waiting: u32) {
        let breakdown = self.breakdown(id);
        let recovery = &mut self.recoveries[self.nodes[id].recovery];
        recovery.failed = breakdown;
        recovery.at = self.now;
        while waiting != NONE {
            let next = self.nodes[waiting].next_waiter;
            self.satisfy(waiting);
            waiting = next;
        }
    }

    fn leave_group(&mut self, group: u32) {
        self.groups[group].pending -= 1;
        if self.groups[group].pending > 0 {
            return;
        }
        let (program, block) = (self.groups[group].program, self.groups[group].block);
        self.groups.release(group);
        if program == NONE {
            self.blocks[block as usize].group = NONE;
        } else {
            self.satisfy(program);
        }
    }

    /// A program or an erase is done.
    fn block_done(&mut self, id: u32) {
        let node = &self.nodes[id];
        let (kind, follower, command, bytes, flush) = (node.kind, node.follower, node.command, node.bytes, node.flush);
        debug_assert!(follower == NONE || node.follow == Follow::Done, "who may enter has entered");
        let block = &mut self.blocks[node.block as usize];
        if block.last == id {
            block.last = NONE;
        }
        block.pending -= u32::from(kind == Kind::Program);
        if follower != NONE {
            self.satisfy(follower);
        }
        if kind == Kind::Program {
            if command != NONE {
                self.commands[command].programs -= 1;
                self.leave_cache(command, bytes);
            }
            self.leave_flush(flush);
        }
    }

    fn leave_epoch(&mut self, id: u32) {
        let (epoch, task) = (self.nodes[id].epoch, self.nodes[id].task);
        self.epochs[epoch].pending -= 1;
        if self.epochs[epoch].pending > 0 {
            return;
        }
        let mut waiter = std::mem::replace(&mut self.epochs[epoch].waiters, NONE);
        if self.filling[task as usize] != epoch {
            self.epochs.release(epoch);
        }
        while waiter != NONE {
            let next = self.nodes[waiter].next_waiter;
            self.satisfy(waiter);
            waiter = next;
        }
    }

    /// The last host operation of a command is done.
    #[inline]
    fn host_operations_done(&mut self, command: u32, last: u32) {
        if self.commands[command].done {
            self.commands.release(command);
        } else if !self.is_cached(command) {
            let breakdown = self.breakdown(last);
            self.finish(command, breakdown);
        }
    }

    /// A command is done; its slot stays until its operations are.
    #[inline]
    pub(super) fn finish(&mut self, command: u32, breakdown: Breakdown) {
        self.count_outstanding();
        self.outstanding -= 1;
        let entry = &mut self.commands[command];
        debug_assert!(!entry.done, "a command is done once");
        entry.done = true;
        let number = entry.number;
        let completion = Completion {
            token: entry.command.token,
            kind: entry.command.kind,
            bytes: entry.command.bytes,
            submitted_at: entry.submitted_at,
            at: self.now,
            breakdown,
        };
        debug_assert_eq!(breakdown.total_ns(), completion.latency_ns(), "the parts add up");
        if entry.left == 0 {
            self.commands.release(command);
        }
        let mut place = self.done.len();
        while place > 0 && self.done[place - 1].1.at == self.now && self.done[place - 1].0 > number {
            place -= 1;
        }
        if place == self.done.len() {
            self.done.push_back((number, completion));
        } else {
            self.done.insert(place, (number, completion));
        }
    }

    /// Where the time of a host operation went from the submission of its command until now.
    #[inline]
    pub(super) fn breakdown(&self, id: u32) -> Breakdown {
        let node = &self.nodes[id];
        let entry = (node.command != NONE).then(|| &self.commands[node.command]);
        let Some(entry) = entry else { return Breakdown::default() };
        if node.recovery != NONE && node.recoveries == NONE {
            let recovery = &self.recoveries[node.recovery];
            return Breakdown { recovery_ns: self.now - recovery.at, ..recovery.failed };
        }
        let senses = matches!(node.kind, Kind::Read | Kind::Buffered);
        let array = |wanted: bool| if wanted { node.array_ns - node.rereads_ns } else { 0 };
        let mut breakdown = Breakdown {
            host_ns: node.waited[Task::Host as usize],
            gc_ns: node.waited[Task::GarbageCollection as usize],
            scrub_ns: node.waited[Task::Scrub as usize],
            wear_leveling_ns: node.waited[Task::WearLeveling as usize],
            sensing_ns: array(senses),
            rereads_ns: node.rereads_ns,
            transfer_ns: node.transfer_ns,
            think_ns: node.think_ns,
            program_ns: array(!senses),
            ..Breakdown::default()
        };
        let rest = self.now - entry.submitted_at - breakdown.total_ns();
        // A host read depends on nothing; outside the queues only a collection holds it back.
        if node.held || entry.command.kind == CommandKind::Read {
            breakdown.gc_ns += rest;
        } else {
            breakdown.dependency_ns = rest;
        }
        breakdown
    }
}
