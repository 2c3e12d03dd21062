//! How operations come in: what each one waits for, read off the lists so far.

use wane_nand::{FlashOp, OpKind, Purpose, Task};

use super::{Breakdown, Epoch, EventScheduler, Group, Later, Recovery};
use crate::node::{CLASSES, Follow, Kind, Node};
use crate::slab::NONE;

impl EventScheduler {
    /// Takes one operation of a command's list.
    pub(super) fn add(&mut self, command: u32, op: &FlashOp) {
        self.end_job(op);
        let kind = match op.kind {
            OpKind::Read(_) => Kind::Read,
            OpKind::Program => Kind::Program,
            OpKind::Erase => Kind::Erase,
            OpKind::Buffered => Kind::Buffered,
        };
        let command = if op.task == Task::Host { command } else { NONE };
        let id = self.make(command, op, kind);
        if command != NONE {
            self.commands[command].left += 1;
        }
        match op.kind {
            OpKind::Read(purpose) => self.add_read(id, op, purpose),
            OpKind::Program => self.add_program(id, op, command),
            OpKind::Erase => self.add_erase(id, op),
            OpKind::Buffered => self.hand_out(id),
        }
        self.join_job(id, op.block.0);
        if self.nodes[id].waits == 0 {
            self.enter(id);
        }
    }

    /// A page comes from the controller's buffer: those of one command one after the other.
    fn hand_out(&mut self, id: u32) {
        self.buffered_reads += 1;
        let node = &mut self.nodes[id];
        if node.command != NONE {
            let handed_ns = &mut self.commands[node.command].handed_ns;
            *handed_ns += node.transfer_ns;
            node.transfer_ns = *handed_ns;
        }
    }

    fn make(&mut self, command: u32, op: &FlashOp, kind: Kind) -> u32 {
        let (array_ns, rereads_ns) = match kind {
            Kind::Read => {
                let sense = self.timing.read_of(op.page);
                let again = sense * u64::from(op.rereads);
                (sense + again, again)
            }
            Kind::Program => (self.timing.program_of(op.page), 0),
            Kind::Erase => (self.timing.erase_ns, 0),
            Kind::Buffered => (0, 0),
        };
        if self.transfer.0 != op.bytes {
            self.transfer = (op.bytes, self.timing.transfer_ns(op.bytes));
        }
        let die = if kind == Kind::Buffered { NONE } else { self.blocks[op.block.index()].die };
        let sequence = self.sequence;
        self.sequence += 1;
        self.alive[op.task as usize] += 1;
        self.nodes.insert(Node {
            sequence,
            entered: 0,
            array_ns,
            rereads_ns,
            transfer_ns: if kind == Kind::Erase { 0 } else { self.transfer.1 },
            think_ns: 0,
            waited: [0; CLASSES],
            block: op.block.0,
            bytes: op.bytes,
            die,
            command,
            next: NONE,
            next_in_batch: NONE,
            next_waiter: NONE,
            waits: 0,
            follower: NONE,
            group: NONE,
            epoch: NONE,
            job: NONE,
            recoveries: NONE,
            recovery: NONE,
            flush: 0,
            held: false,
            kind,
            task: op.task,
            rank: self.ranks[op.task as usize][usize::from(kind != Kind::Read)],
            follow: Follow::Done,
            counted: false,
            #[cfg(test)]
            started: u64::MAX,
        })
    }

    fn add_read(&mut self, id: u32, op: &FlashOp, purpose: Purpose) {
        let block = &mut self.blocks[op.block.index()];
        if block.pending > 0 && op.page + block.pending >= block.issued {
            let node = &mut self.nodes[id];
            node.kind = Kind::Buffered;
            (node.array_ns, node.rereads_ns) = (0, 0);
            self.hand_out(id);
        } else {
            // A block that is about to be erased holds nothing; who reads it all the same is not waited for.
            self.nodes[id].counted = block.eraser == NONE;
            block.reads += u32::from(block.eraser == NONE);
            self.hold(id);
        }
        match purpose {
            Purpose::Serve => self.last_read = id,
            Purpose::Relocate(target) => {
                self.last_read = id;
                self.join_group(id, target.0);
                self.join_epoch(id);
            }
            Purpose::Recover => self.add_recovery(id),
        }
    }

    /// A recovery read waits for the read that failed. What waits for the failed read waits for its recovery reads too.
    fn add_recovery(&mut self, id: u32) {
        let failed = self.last_read;
        if failed == NONE {
            return;
        }
        let (recoveries, group) = (self.nodes[failed].recoveries, self.nodes[failed].group);
        if recoveries == NONE {
            let recovery = Recovery { failed: Breakdown::default(), at: 0, left: 0 };
            self.nodes[failed].recovery = self.recoveries.insert(recovery);
        }
        let recovery = self.nodes[failed].recovery;
        self.recoveries[recovery].left += 1;
        self.nodes[failed].recoveries = id;
        let node = &mut self.nodes[id];
        node.next_waiter = recoveries;
        node.recovery = recovery;
        node.waits += 1;
        if group != NONE && self.groups[group].program == NONE {
            self.nodes[id].group = group;
            self.groups[group].pending += 1;
            self.join_epoch(id);
        }
    }

    fn add_program(&mut self, id: u32, op: &FlashOp, command: u32) {
        self.follow_last(id, op.block.index());
        let block = &mut self.blocks[op.block.index()];
        block.issued = op.page + 1;
        block.pending += 1;
        let (group, relocates) = (std::mem::replace(&mut block.group, NONE), std::mem::take(&mut block.relocates));
        if group != NONE {
            self.groups[group].program = id;
            self.nodes[id].waits += 1;
        }
        // Parity holds no data of the block that is to be erased, so no erase waits for it.
        if relocates {
            self.join_epoch(id);
        }
        self.nodes[id].flush = self.flush.add();
        if command != NONE {
            self.commands[command].programs += 1;
            self.wait_for_admission(id, command);
        }
        self.hold(id);
    }

    fn add_erase(&mut self, id: u32, op: &FlashOp) {
        self.follow_last(id, op.block.index());
        let block = &mut self.blocks[op.block.index()];
        block.issued = 0;
        if block.reads > 0 && block.eraser == NONE {
            block.eraser = id;
            self.nodes[id].waits += 1;
        }
        let epoch = self.filling[op.task as usize];
        if epoch != NONE {
            let epoch = &mut self.epochs[epoch];
            epoch.erasing = true;
            if epoch.pending > 0 {
                let node = &mut self.nodes[id];
                node.waits += 1;
                node.next_waiter = std::mem::replace(&mut epoch.waiters, id);
            }
        }
        self.hold(id);
    }

    /// Programs and erases of a block keep their order. Where the queue keeps it, a program may enter the queue early.
    fn follow_last(&mut self, id: u32, block: usize) {
        let last = std::mem::replace(&mut self.blocks[block].last, id);
        if last == NONE {
            return;
        }
        let (before, node) = (&self.nodes[last], &self.nodes[id]);
        let programs = before.kind == Kind::Program && node.kind == Kind::Program;
        let in_queue = programs && before.rank <= node.rank;
        if in_queue && before.waits == 0 {
            return;
        }
        self.nodes[last].follow = if in_queue { Follow::Entered } else { Follow::Done };
        self.nodes[last].follower = id;
        self.nodes[id].waits += 1;
    }

    fn join_group(&mut self, id: u32, target: u32) {
        let mut group = self.blocks[target as usize].group;
        if group == NONE {
            group = self.groups.insert(Group { pending: 0, program: NONE, block: target });
            self.blocks[target as usize].group = group;
        }
        self.blocks[target as usize].relocates = true;
        self.groups[group].pending += 1;
        self.nodes[id].group = group;
    }

    fn join_epoch(&mut self, id: u32) {
        let filling = &mut self.filling[self.nodes[id].task as usize];
        if *filling != NONE && self.epochs[*filling].erasing {
            if self.epochs[*filling].pending == 0 {
                self.epochs[*filling].erasing = false;
            } else {
                *filling = NONE;
            }
        }
        if *filling == NONE {
            *filling = self.epochs.insert(Epoch { pending: 0, erasing: false, waiters: NONE });
        }
        self.epochs[*filling].pending += 1;
        self.nodes[id].epoch = *filling;
    }

    /// One thing less to wait for.
    pub(super) fn satisfy(&mut self, id: u32) {
        debug_assert!(self.nodes[id].waits > 0, "an operation waits for what it is told of");
        self.nodes[id].waits -= 1;
        if self.nodes[id].waits == 0 {
            self.enter(id);
        }
    }

    /// Puts an operation into its queue, and behind it the next programs of the block.
    pub(super) fn enter(&mut self, mut id: u32) {
        loop {
            self.queue_up(id);
            let node = &mut self.nodes[id];
            if node.follower == NONE || node.follow == Follow::Done {
                return;
            }
            id = std::mem::replace(&mut node.follower, NONE);
            self.nodes[id].waits -= 1;
            if self.nodes[id].waits > 0 {
                return;
            }
        }
    }

    fn queue_up(&mut self, id: u32) {
        let node = &mut self.nodes[id];
        if node.kind == Kind::Buffered {
            let time = self.now + node.transfer_ns;
            self.at_later(time, Later::Buffered(id));
        } else if let Some(firmware) = &mut self.firmware {
            node.entered = self.now;
            firmware.queues.push(&mut self.nodes, id);
        } else {
            self.queue_at_die(id);
        }
    }

    /// Puts an operation into the queues of its die, unless a collection that has begun there comes first.
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
