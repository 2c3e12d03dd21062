//! How operations come in, and what follows when their end is known.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use wane_nand::{FlashOp, OpKind, Purpose, Task};

use super::{Breakdown, Command, Completion, End, Later, Timeline};
use crate::depend::{New, News};
use crate::node::{CLASSES, Kind};
use crate::slab::NONE;
use crate::times::Times;

/// A flash operation whose end is not known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Op {
    /// Place in the history of the drive.
    pub(super) sequence: u64,
    /// When it enters the queue of its die, once that is known.
    pub(super) entered: u64,
    pub(super) times: Times,
    /// Next in the queue of its die.
    pub(super) next: u32,
    pub(super) die: u32,
    pub(super) block: u32,
    /// The host's command; none where the operation is not the host's.
    pub(super) command: u32,
    pub(super) kind: Kind,
    pub(super) task: Task,
    /// The only operation of a read, with no dependencies in either direction. The graph knows neither it nor its command.
    pub(super) is_alone: bool,
}

/// A host command that was not handed out, or whose operations are not placed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// What the submission says of it. Its end is added once that is known.
    pub(super) completion: Completion,
    pub(super) number: u32,
    /// All of its operations are placed.
    pub(super) is_over: bool,
    /// It was handed out.
    pub(super) is_handed: bool,
}

impl Timeline {
    /// Adds a read of one page, if it has no dependencies in either direction. Returns whether it was added.
    #[inline]
    pub(super) fn add_alone(&mut self, command: u32, op: &FlashOp) -> bool {
        if op.kind != OpKind::Read(Purpose::Serve) || op.task != Task::Host || self.processors.is_some() {
            return false;
        }
        let die = self.geometry.die_of(op.block).0;
        if !self.graph.is_free(self.now, op, die) {
            return false;
        }
        let times = self.times.of(Kind::Read, op);
        let id = self.make(command, op, Kind::Read, die, times);
        self.ops[id].is_alone = true;
        self.queue_at_die(id);
        true
    }

    /// Records that such a read ends at `end`.
    #[inline]
    pub(super) fn ended_alone(&mut self, id: u32, command: u32, end: u64, breakdown: Breakdown) {
        let host = Task::Host as usize;
        self.unplaced[host] -= 1;
        self.busy_until[host] = self.busy_until[host].max(end);
        self.ops.release(id);
        self.commands[command].is_over = true;
        self.finish(command, end, breakdown);
    }

    /// Makes an erase wait for the reads of its block that were added alone.
    fn take_up_alone(&mut self, op: &FlashOp, number: u32) {
        let die = &self.dies[number as usize];
        if die.last_read.0 == op.block.0 {
            self.graph.read_until(op.block.0, die.last_read.1);
        }
        let mut next = die.current;
        if next == NONE {
            next = die.head;
        }
        while next != NONE {
            let id = next;
            let read = &mut self.ops[id];
            next = if id == die.current { die.head } else { read.next };
            if read.is_alone && read.block == op.block.0 {
                read.is_alone = false;
                let Completion { token, kind, bytes, submitted_at, .. } = self.commands[read.command].completion;
                self.graph.begin(submitted_at, read.command, &Command { token, kind, bytes });
                self.graph.take_up(read.entered, id, read.command, read.block, number);
            }
        }
    }

    /// Takes one operation of a command's list.
    #[inline]
    pub(super) fn add(&mut self, command: u32, op: &FlashOp) {
        if let OpKind::Barrier(barrier) = op.kind {
            return self.graph.set_barrier(barrier);
        }
        let command = if op.task == Task::Host { command } else { NONE };
        let die = if op.kind == OpKind::Buffered { NONE } else { self.geometry.die_of(op.block).0 };
        let kind = self.graph.kind_of(self.now, op, die);
        let mut times = self.times.of(kind, op);
        match kind {
            Kind::Buffered => {
                self.buffered_reads += 1;
                times.transfer_ns = self.graph.hand_out(command, times.transfer_ns);
            }
            Kind::Erase => self.take_up_alone(op, die),
            Kind::Read | Kind::Program => {}
        }
        let id = self.make(command, op, kind, die, times);
        let sequence = self.ops[id].sequence;
        if self.graph.add(self.now, id, &New { op, kind, command, die, sequence }) {
            self.queue_up(id);
        }
    }

    #[inline]
    fn make(&mut self, command: u32, op: &FlashOp, kind: Kind, die: u32, times: Times) -> u32 {
        let sequence = self.sequence;
        self.sequence += 1;
        self.unplaced[op.task as usize] += 1;
        self.ops.insert(Op {
            sequence,
            entered: self.now,
            times,
            next: NONE,
            die,
            block: op.block.0,
            command,
            kind,
            task: op.task,
            is_alone: false,
        })
    }

    /// Queues an operation that waits for nothing any more.
    #[inline]
    fn queue_up(&mut self, id: u32) {
        let entered = self.graph.until(id);
        let op = &mut self.ops[id];
        op.entered = entered;
        if op.kind == Kind::Buffered {
            let end = entered + op.times.transfer_ns;
            self.at_later(end, End::Buffered(id));
        } else if self.processors.is_some() {
            let sequence = op.sequence;
            self.later.push(Reverse((entered, Later::Think { sequence, id })));
        } else {
            self.queue_at_die(id);
        }
    }

    /// Records the end of an operation, now that it is known.
    #[inline]
    pub(super) fn ended(&mut self, id: u32, end: u64, waited: &[u64; CLASSES]) {
        let op = &self.ops[id];
        self.unplaced[op.task as usize] -= 1;
        self.busy_until[op.task as usize] = self.busy_until[op.task as usize].max(end);
        if self.graph.tracks_changes() && matches!(op.kind, Kind::Program | Kind::Erase) {
            self.graph.change_begins(id, end - op.times.array_ns);
        }
        let known = |until: u64| op.times.breakdown(op.kind, waited, op.entered - until);
        let done = self.graph.ended(self.now, id, end, known);
        if done != NONE {
            let (end, breakdown) = self.graph.end_with(done, id, end, known);
            self.commands[done].is_over = true;
            self.finish(done, end, breakdown);
        }
        self.ops.release(id);
        self.take_news();
    }

    /// Finishes a command whose end the graph knows.
    #[inline]
    fn finish_known(&mut self, command: u32, is_over: bool) {
        let (end, breakdown) = self.graph.end_of(command);
        self.commands[command].is_over = is_over;
        self.finish(command, end, breakdown);
    }

    /// Takes up what followed in the graph from the last calls.
    #[inline]
    pub(super) fn take_news(&mut self) {
        if self.graph.has_news() {
            self.take_all_news();
        }
    }

    #[inline(never)]
    fn take_all_news(&mut self) {
        while let Some(id) = self.graph.next_ready() {
            self.queue_up(id);
        }
        for place in 0..self.graph.news.len() {
            match self.graph.news[place] {
                News::Done { command, is_over } | News::Acknowledged { command, is_over } => {
                    self.finish_known(command, is_over);
                }
                News::Over(command) => self.leave_command(command),
                News::Room { command, bytes, end } => self.at_later(end, End::Leave { command, bytes }),
                News::Left { .. } => unreachable!("no collection is in the background"),
            }
        }
        self.graph.news.clear();
    }
}
