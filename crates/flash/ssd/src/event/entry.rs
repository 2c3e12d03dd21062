//! How operations come in and enter their queues.

use wane_nand::{FlashOp, OpKind, Task};

use super::{EventScheduler, Later};
use crate::depend::New;
use crate::node::{CLASSES, Kind, Node};
use crate::slab::NONE;

impl EventScheduler {
    /// Takes one operation of a command's list.
    pub(super) fn add(&mut self, command: u32, op: &FlashOp) {
        if let OpKind::Barrier(barrier) = op.kind {
            return self.graph.set_barrier(barrier);
        }
        let command = if op.task == Task::Host { command } else { NONE };
        let die = if matches!(op.kind, OpKind::Buffered) { NONE } else { self.geometry.die_of(op.block).0 };
        let kind = self.graph.kind_of(self.now, op, die);
        let (id, sequence) = self.make(command, op, kind, die);
        if self.graph.add(self.now, id, &New { op, kind, command, die, sequence }) {
            self.queue_up(id);
        }
    }

    fn make(&mut self, command: u32, op: &FlashOp, kind: Kind, die: u32) -> (u32, u64) {
        let mut times = self.times.of(kind, op);
        if kind == Kind::Buffered {
            self.buffered_reads += 1;
            times.transfer_ns = self.graph.hand_out(command, times.transfer_ns);
        }
        let sequence = self.sequence;
        self.sequence += 1;
        self.alive[op.task as usize] += 1;
        let id = self.nodes.insert(Node {
            sequence,
            entered: 0,
            times,
            think_ns: 0,
            waited: [0; CLASSES],
            block: op.block.0,
            die,
            next: NONE,
            next_in_batch: NONE,
            kind,
            task: op.task,
            rank: self.ranks[op.task as usize][usize::from(!matches!(op.kind, OpKind::Read(_)))],
            #[cfg(test)]
            started: u64::MAX,
        });
        (id, sequence)
    }

    /// Queues an operation that waits for nothing any more.
    #[inline(always)]
    pub(super) fn queue_up(&mut self, id: u32) {
        let node = &mut self.nodes[id];
        if node.kind == Kind::Buffered {
            let time = self.now + node.times.transfer_ns;
            self.at_later(time, Later::Buffered(id));
        } else if let Some(firmware) = &mut self.firmware {
            node.entered = self.now;
            firmware.queues.push(&mut self.nodes, id);
        } else {
            self.queue_at_die(id);
        }
    }

    /// Puts an operation into the queues of its die, unless a collection that has begun there comes first.
    #[inline(always)]
    pub(super) fn queue_at_die(&mut self, id: u32) {
        let node = &mut self.nodes[id];
        let die = &mut self.dies[node.die as usize];
        node.entered = self.now;
        if node.task == Task::Host {
            die.usage.start(self.now, &mut node.waited);
        }
        if node.sequence > die.gate {
            die.held.push_back(id);
            return;
        }
        let number = node.die;
        die.queues.push(&mut self.nodes, id);
        if !die.dirty {
            die.dirty = true;
            self.dirty_dies.push(number);
        }
    }
}
