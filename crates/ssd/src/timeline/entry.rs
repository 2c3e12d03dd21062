//! What an operation waits for before it enters the queue of its die, and who waits for it.

use std::cmp::Reverse;

use wane_nand::{FlashOp, OpKind, Purpose, Task};

use super::{Breakdown, CommandKind, Completion, Die, End, Later, Timeline};
use crate::node::{CLASSES, Follow, Kind};
use crate::slab::NONE;

/// A flash operation whose end is not known.
#[derive(Clone, Debug)]
pub(super) struct Op {
    /// Place in the history of the drive.
    pub(super) sequence: u64,
    /// When it enters the queue of its die; before that is known, the latest end of what it waited for.
    pub(super) entered: u64,
    /// Time of the array: sensing with re-reads, programming or erasing.
    pub(super) array_ns: u64,
    /// Of it, sensing again.
    rereads_ns: u64,
    pub(super) transfer_ns: u64,
    /// Next in the queue of its die.
    pub(super) next: u32,
    pub(super) die: u32,
    pub(super) block: u32,
    /// The host's command; none where the operation is not the host's.
    pub(super) command: u32,
    pub(super) kind: Kind,
    pub(super) task: Task,
    /// The only operation of a read, on which nothing depends and which depends on nothing: it has no [`Links`], and its
    /// command no [`Parts`].
    pub(super) is_alone: bool,
}

/// Who waits for an operation and what it waits for, by its number.
#[derive(Clone, Debug)]
pub(super) struct Links {
    /// Events that it still waits for.
    pub(super) waits: u32,
    /// Next of those that wait for the same event.
    pub(super) next_waiter: u32,
    /// Next program or erase of its block.
    follower: u32,
    follow: Follow,
    /// Relocation reads that one program waits for.
    group: u32,
    /// Relocations that one erase waits for.
    pub(super) epoch: u32,
    /// Collection that it belongs to.
    pub(super) job: u32,
    /// Recovery reads that wait for it.
    recoveries: u32,
    /// What its recovery has cost so far.
    recovery: u32,
    /// Programs are counted by the flush that waits for them.
    flush: u32,
    bytes: u32,
    /// Collections on its die that it waits for: how many, counted from the first one there.
    pub(super) jobs_before: u64,
    /// Time at the processors.
    pub(super) think_ns: u64,
    /// A collection held it back: what it waited for outside the queues counts as garbage collection's.
    pub(super) is_held: bool,
    /// Whether the block counts it among the reads that its erase waits for.
    is_counted: bool,
}

impl Links {
    const NEW: Self = Self {
        waits: 0,
        next_waiter: NONE,
        follower: NONE,
        follow: Follow::Done,
        group: NONE,
        epoch: NONE,
        job: NONE,
        recoveries: NONE,
        recovery: NONE,
        flush: 0,
        bytes: 0,
        jobs_before: 0,
        think_ns: 0,
        is_held: false,
        is_counted: false,
    };
}

/// A host command that was not handed out, or whose operations are not placed.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// What its submission says of it, and its end from when that is known.
    pub(super) completion: Completion,
    pub(super) number: u32,
    /// All of its operations are placed.
    pub(super) is_over: bool,
    /// It was handed out.
    pub(super) is_handed: bool,
}

/// What a command of several operations has come to, by its number.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// Host operations to place, the flush it waits for, and one more until all of its operations are added.
    pub(super) left: u32,
    /// Host programs that are not done.
    pub(super) programs: u32,
    /// Bytes that its programs will free in the cache.
    pub(super) cached: u64,
    /// Programs that wait for admission to the cache.
    pub(super) admission: u32,
    /// Transfers of its pages from the controller's buffer.
    handed_ns: u64,
    /// Latest end of its operations, and where the time of that one went.
    pub(super) end: u64,
    breakdown: Breakdown,
    /// Whether it has host operations.
    pub(super) has_operations: bool,
    pub(super) is_done: bool,
}

impl Parts {
    #[inline]
    pub(super) fn new(at: u64) -> Self {
        Self {
            left: 1,
            programs: 0,
            cached: 0,
            admission: NONE,
            handed_ns: 0,
            end: at,
            breakdown: Breakdown::default(),
            has_operations: false,
            is_done: false,
        }
    }

    /// A flush, which came at `submitted_at`, waits for programs that end at `end`.
    pub(super) fn end_at_least(&mut self, end: u64, submitted_at: u64) {
        if end > self.end {
            (self.end, self.breakdown) = (end, Breakdown { dependency_ns: end - submitted_at, ..Breakdown::default() });
        }
    }
}

/// What time needs to know of a block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Last program or erase that is not placed, and the end of those that are.
    last: u32,
    last_end: u64,
    /// Pages programmed in the world of state.
    issued: u32,
    /// Programs that are not done: the block's programs end in order, so these are its last ones.
    pending: u32,
    /// Reads that are not placed and that an erase must wait for, and the latest end of those that are.
    reads: u32,
    reads_end: u64,
    /// Erase that waits for them.
    eraser: u32,
    /// Relocation reads that the next program waits for.
    group: u32,
    /// Latest end of those that are placed, where none is left to place.
    gathered: u64,
    /// Whether the next program holds relocated data.
    relocates: bool,
}

impl Block {
    pub(super) fn new() -> Self {
        Self {
            last: NONE,
            last_end: 0,
            issued: 0,
            pending: 0,
            reads: 0,
            reads_end: 0,
            eraser: NONE,
            group: NONE,
            gathered: 0,
            relocates: false,
        }
    }
}

/// Relocation reads into one page.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pending: u32,
    program: u32,
    block: u32,
    end: u64,
}

/// Relocations up to the erases that they allow.
#[derive(Clone, Debug)]
pub(super) struct Epoch {
    pending: u32,
    is_erasing: bool,
    waiters: u32,
    end: u64,
}

/// A read that failed and what it had cost when it did.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    failed: Breakdown,
    at: u64,
    left: u32,
}

/// Forgets the programs of a die that are done by `now`.
#[inline]
pub(super) fn settle(die: &mut Die, blocks: &mut [Block], now: u64) {
    while let Some((end, block)) = die.programs.front()
        && *end <= now
    {
        blocks[*block as usize].pending -= 1;
        die.programs_pending -= 1;
        die.programs.pop_front();
    }
}

impl Timeline {
    /// A read of one page on which nothing depends and which depends on nothing. Whether it is one.
    #[inline]
    pub(super) fn add_alone(&mut self, command: u32, op: &FlashOp) -> bool {
        if op.kind != OpKind::Read(Purpose::Serve) || op.task != Task::Host || self.processors.is_some() {
            return false;
        }
        let number = self.geometry.die_of(op.block).0;
        let die = &self.dies[number as usize];
        let is_held = !die.jobs.is_empty() || die.jobs_end > self.now;
        if is_held || die.programs_pending > 0 && self.in_flight(op) {
            return false;
        }
        let sense = self.timing.read_of(op.page);
        let rereads_ns = sense * u64::from(op.rereads);
        let transfer_ns = self.transfer_ns(op.bytes);
        let sequence = self.sequence;
        self.sequence += 1;
        self.unplaced[Task::Host as usize] += 1;
        let id = self.ops.insert(Op {
            sequence,
            entered: self.now,
            array_ns: sense + rereads_ns,
            rereads_ns,
            transfer_ns,
            next: NONE,
            die: number,
            block: op.block.0,
            command,
            kind: Kind::Read,
            task: Task::Host,
            is_alone: true,
        });
        self.queue_at_die(id);
        true
    }

    /// Such a read ends at `end`.
    #[inline]
    pub(super) fn ended_alone(&mut self, id: u32, command: u32, end: u64, breakdown: Breakdown) {
        let host = Task::Host as usize;
        self.unplaced[host] -= 1;
        self.busy_until[host] = self.busy_until[host].max(end);
        self.ops.release(id);
        self.commands[command].is_over = true;
        self.finish(command, end, breakdown);
    }

    /// An erase is to wait for the reads of its block that are on their way alone.
    fn count_alone(&mut self, number: u32, block: u32) {
        let die = &self.dies[number as usize];
        if die.last_read.0 == block {
            let block = &mut self.blocks[block as usize];
            block.reads_end = block.reads_end.max(die.last_read.1);
        }
        let mut next = die.current;
        if next == NONE {
            next = die.head;
        }
        while next != NONE {
            let id = next;
            let op = &mut self.ops[id];
            next = if id == die.current { die.head } else { op.next };
            if op.is_alone && op.block == block {
                op.is_alone = false;
                let (command, bytes) = (op.command, 0);
                self.links.put(id, Links { bytes, is_counted: true, ..Links::NEW });
                self.parts.put(
                    command,
                    Parts { has_operations: true, ..Parts::new(self.commands[command].completion.submitted_at) },
                );
                self.blocks[block as usize].reads += 1;
            }
        }
    }

    #[inline]
    fn transfer_ns(&mut self, bytes: u32) -> u64 {
        if self.transfer.0 != bytes {
            self.transfer = (bytes, self.timing.transfer_ns(bytes));
        }
        self.transfer.1
    }
    /// Takes one operation of a command's list.
    #[inline]
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
            let parts = &mut self.parts[command];
            parts.left += 1;
            parts.has_operations = true;
        }
        match op.kind {
            OpKind::Read(purpose) => self.add_read(id, op, purpose),
            OpKind::Program => self.add_program(id, op, command),
            OpKind::Erase => self.add_erase(id, op),
            OpKind::Buffered => self.hand_out(id),
        }
        self.join_job(id);
        if self.links[id].waits == 0 {
            self.enter(id);
        }
    }

    #[inline]
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
        let transfer_ns = if kind == Kind::Erase { 0 } else { self.transfer_ns(op.bytes) };
        let die = if kind == Kind::Buffered { NONE } else { self.geometry.die_of(op.block).0 };
        let sequence = self.sequence;
        self.sequence += 1;
        self.unplaced[op.task as usize] += 1;
        let id = self.ops.insert(Op {
            sequence,
            entered: self.now,
            array_ns,
            rereads_ns,
            transfer_ns,
            next: NONE,
            die,
            block: op.block.0,
            command,
            kind,
            task: op.task,
            is_alone: false,
        });
        self.links.put(id, Links { bytes: op.bytes, ..Links::NEW });
        id
    }

    /// A page comes from the controller's buffer: those of one command one after the other.
    fn hand_out(&mut self, id: u32) {
        self.buffered_reads += 1;
        let op = &mut self.ops[id];
        if op.command != NONE {
            let handed_ns = &mut self.parts[op.command].handed_ns;
            *handed_ns += op.transfer_ns;
            op.transfer_ns = *handed_ns;
        }
    }

    /// Whether a page's program is not done.
    #[inline]
    fn in_flight(&mut self, op: &FlashOp) -> bool {
        if self.blocks[op.block.index()].pending == 0 {
            return false;
        }
        let die = &mut self.dies[self.geometry.die_of(op.block).0 as usize];
        settle(die, &mut self.blocks, self.now);
        let block = &self.blocks[op.block.index()];
        block.pending > 0 && op.page + block.pending >= block.issued
    }

    #[inline]
    fn add_read(&mut self, id: u32, op: &FlashOp, purpose: Purpose) {
        if self.in_flight(op) {
            let read = &mut self.ops[id];
            read.kind = Kind::Buffered;
            (read.array_ns, read.rereads_ns) = (0, 0);
            self.hand_out(id);
        } else {
            // A block that is about to be erased holds nothing; who reads it all the same is not waited for.
            let block = &mut self.blocks[op.block.index()];
            self.links[id].is_counted = block.eraser == NONE;
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

    /// A recovery read waits for the read that failed, and whoever waits for that one waits for it too.
    fn add_recovery(&mut self, id: u32) {
        let failed = self.last_read;
        if failed == NONE {
            return;
        }
        let (recoveries, group) = (self.links[failed].recoveries, self.links[failed].group);
        if recoveries == NONE {
            let recovery = Recovery { failed: Breakdown::default(), at: 0, left: 0 };
            self.links[failed].recovery = self.recoveries.insert(recovery);
        }
        let recovery = self.links[failed].recovery;
        self.recoveries[recovery].left += 1;
        self.links[failed].recoveries = id;
        let links = &mut self.links[id];
        links.next_waiter = recoveries;
        links.recovery = recovery;
        links.waits += 1;
        if group != NONE && self.groups[group].program == NONE {
            self.links[id].group = group;
            self.groups[group].pending += 1;
            self.join_epoch(id);
        }
    }

    fn add_program(&mut self, id: u32, op: &FlashOp, command: u32) {
        self.follow_last(id, op.block.index());
        let block = &mut self.blocks[op.block.index()];
        block.issued = op.page + 1;
        block.pending += 1;
        self.dies[self.ops[id].die as usize].programs_pending += 1;
        let (group, gathered) = (std::mem::replace(&mut block.group, NONE), std::mem::take(&mut block.gathered));
        let relocates = std::mem::take(&mut block.relocates);
        if group != NONE {
            self.groups[group].program = id;
            self.links[id].waits += 1;
        }
        self.wait_until(id, gathered);
        // Parity holds no data of the block that is to be erased, so no erase waits for it.
        if relocates {
            self.join_epoch(id);
        }
        self.links[id].flush = self.flushes.add();
        if command != NONE {
            self.parts[command].programs += 1;
            self.wait_for_admission(id, command);
        }
        self.hold(id);
    }

    fn add_erase(&mut self, id: u32, op: &FlashOp) {
        self.count_alone(self.ops[id].die, op.block.0);
        self.follow_last(id, op.block.index());
        let block = &mut self.blocks[op.block.index()];
        block.issued = 0;
        if block.reads > 0 && block.eraser == NONE {
            block.eraser = id;
            self.links[id].waits += 1;
        }
        let reads_end = block.reads_end;
        self.wait_until(id, reads_end);
        let epoch = self.filling[op.task as usize];
        if epoch != NONE {
            let epoch = &mut self.epochs[epoch];
            epoch.is_erasing = true;
            if epoch.pending > 0 {
                let links = &mut self.links[id];
                links.waits += 1;
                links.next_waiter = std::mem::replace(&mut epoch.waiters, id);
            }
            let end = epoch.end;
            self.wait_until(id, end);
        }
        self.hold(id);
    }

    #[inline]
    pub(super) fn wait_until(&mut self, id: u32, time: u64) {
        let op = &mut self.ops[id];
        op.entered = op.entered.max(time);
    }

    /// Programs and erases of a block keep their order. A program may enter the queue as soon as the one before it has.
    #[inline]
    fn follow_last(&mut self, id: u32, block: usize) {
        let (last, last_end) = (self.blocks[block].last, self.blocks[block].last_end);
        self.blocks[block].last = id;
        let programs = |last: u32| self.ops[last].kind == Kind::Program && self.ops[id].kind == Kind::Program;
        if last == NONE {
            // Of a program that is placed the queue keeps the order, too.
            if self.ops[id].kind == Kind::Erase || self.blocks[block].issued == 0 {
                self.wait_until(id, last_end);
            }
            return;
        }
        let in_queue = programs(last);
        if in_queue && self.links[last].waits == 0 {
            // When it came to the processors, if there are any.
            let entered = self.ops[last].entered - self.links[last].think_ns;
            return self.wait_until(id, entered);
        }
        self.links[last].follow = if in_queue { Follow::Entered } else { Follow::Done };
        self.links[last].follower = id;
        self.links[id].waits += 1;
    }

    fn join_group(&mut self, id: u32, target: u32) {
        let mut group = self.blocks[target as usize].group;
        if group == NONE {
            group = self.groups.insert(Group { pending: 0, program: NONE, block: target, end: 0 });
            self.blocks[target as usize].group = group;
        }
        self.blocks[target as usize].relocates = true;
        self.groups[group].pending += 1;
        self.links[id].group = group;
    }

    fn join_epoch(&mut self, id: u32) {
        let filling = &mut self.filling[self.ops[id].task as usize];
        if *filling != NONE && self.epochs[*filling].is_erasing {
            let epoch = &mut self.epochs[*filling];
            if epoch.pending > 0 {
                *filling = NONE;
            } else {
                // Its erases know when it ends.
                (epoch.is_erasing, epoch.end) = (false, 0);
            }
        }
        if *filling == NONE {
            *filling = self.epochs.insert(Epoch { pending: 0, is_erasing: false, waiters: NONE, end: 0 });
        }
        self.epochs[*filling].pending += 1;
        self.links[id].epoch = *filling;
    }

    /// One thing less to wait for: it ends at `end`.
    #[inline]
    pub(super) fn satisfy(&mut self, id: u32, end: u64) {
        debug_assert!(self.links[id].waits > 0, "an operation waits for what it is told of");
        self.wait_until(id, end);
        let links = &mut self.links[id];
        links.waits -= 1;
        if links.waits == 0 {
            self.enter(id);
        }
    }

    /// Puts an operation into its queue, and behind it the next programs of the block.
    #[inline]
    pub(super) fn enter(&mut self, mut id: u32) {
        loop {
            let entered = self.ops[id].entered;
            let links = &mut self.links[id];
            let (follower, follow) = (links.follower, links.follow);
            if follower != NONE && follow == Follow::Entered {
                links.follower = NONE;
            }
            self.queue_up(id);
            if follower == NONE || follow == Follow::Done {
                return;
            }
            id = follower;
            self.wait_until(id, entered);
            let links = &mut self.links[id];
            links.waits -= 1;
            if links.waits > 0 {
                return;
            }
        }
    }

    #[inline]
    fn queue_up(&mut self, id: u32) {
        let op = &self.ops[id];
        if op.kind == Kind::Buffered {
            let end = op.entered + op.transfer_ns;
            self.at_later(end, End::Buffered(id));
        } else if self.processors.is_some() {
            let (entered, sequence) = (op.entered, op.sequence);
            self.later.push(Reverse((entered, Later::Think { sequence, id })));
        } else {
            self.queue_at_die(id);
        }
    }

    /// The end of an operation is known.
    #[inline]
    pub(super) fn ended(&mut self, id: u32, end: u64, waited: &[u64; CLASSES]) {
        let (op, links) = (&self.ops[id], &self.links[id]);
        debug_assert_eq!(links.waits, 0, "an operation ends after what it waits for");
        let (kind, task, command, epoch, job) = (op.kind, op.task, op.command, links.epoch, links.job);
        let recovers = links.recovery != NONE && links.recoveries == NONE;
        self.unplaced[task as usize] -= 1;
        self.busy_until[task as usize] = self.busy_until[task as usize].max(end);
        let breakdown = if command == NONE { Breakdown::default() } else { self.breakdown(id, end, waited) };
        match kind {
            Kind::Read | Kind::Buffered => self.read_ended(id, end, breakdown),
            Kind::Program | Kind::Erase => self.change_ended(id, end),
        }
        if epoch != NONE {
            self.leave_epoch(epoch, task, end);
        }
        if job != NONE {
            self.leave_job(job, end);
        }
        if command != NONE {
            let parts = &mut self.parts[command];
            if end >= parts.end {
                (parts.end, parts.breakdown) = (end, breakdown);
            }
            parts.left -= 1;
            if parts.left == 0 {
                self.host_operations_ended(command);
            }
        }
        if recovers {
            let recovery = self.links[id].recovery;
            self.recoveries[recovery].left -= 1;
            if self.recoveries[recovery].left == 0 {
                self.recoveries.release(recovery);
            }
        }
        self.ops.release(id);
    }

    #[inline]
    fn read_ended(&mut self, id: u32, end: u64, breakdown: Breakdown) {
        let (block, links) = (self.ops[id].block, &self.links[id]);
        let (group, recoveries) = (links.group, links.recoveries);
        if links.is_counted {
            let block = &mut self.blocks[block as usize];
            block.reads -= 1;
            block.reads_end = block.reads_end.max(end);
            if block.reads == 0 && block.eraser != NONE {
                let (eraser, end) = (std::mem::replace(&mut block.eraser, NONE), block.reads_end);
                self.satisfy(eraser, end);
            }
        }
        if self.last_read == id {
            self.last_read = NONE;
        }
        if recoveries != NONE {
            self.release_recoveries(id, recoveries, end, breakdown);
        }
        if group != NONE {
            self.leave_group(group, end);
        }
    }

    #[cold]
    fn release_recoveries(&mut self, id: u32, mut waiting: u32, end: u64, breakdown: Breakdown) {
        let recovery = &mut self.recoveries[self.links[id].recovery];
        (recovery.failed, recovery.at) = (breakdown, end);
        while waiting != NONE {
            let next = self.links[waiting].next_waiter;
            self.satisfy(waiting, end);
            waiting = next;
        }
    }

    fn leave_group(&mut self, group: u32, end: u64) {
        let Group { pending, program, block, end: latest } = &mut self.groups[group];
        *pending -= 1;
        *latest = end.max(*latest);
        if *pending > 0 {
            return;
        }
        let (program, block, end) = (*program, *block, *latest);
        self.groups.release(group);
        if program == NONE {
            let block = &mut self.blocks[block as usize];
            block.group = NONE;
            block.gathered = block.gathered.max(end);
        } else {
            self.satisfy(program, end);
        }
    }

    /// A program or an erase.
    #[inline]
    fn change_ended(&mut self, id: u32, end: u64) {
        let (op, links) = (&self.ops[id], &self.links[id]);
        let (kind, command) = (op.kind, op.command);
        let (follower, bytes, flush) = (links.follower, links.bytes, links.flush);
        let block = &mut self.blocks[op.block as usize];
        block.last_end = end;
        if block.last == id {
            block.last = NONE;
        }
        if follower != NONE {
            self.satisfy(follower, end);
        }
        if kind == Kind::Program {
            if command != NONE {
                self.leave_cache(command, bytes, end);
            }
            self.leave_flush(flush, end);
        }
    }

    fn leave_epoch(&mut self, epoch: u32, task: Task, end: u64) {
        let entry = &mut self.epochs[epoch];
        entry.pending -= 1;
        entry.end = entry.end.max(end);
        if entry.pending > 0 {
            return;
        }
        let (mut waiter, end) = (std::mem::replace(&mut entry.waiters, NONE), entry.end);
        if self.filling[task as usize] != epoch {
            self.epochs.release(epoch);
        }
        while waiter != NONE {
            let next = self.links[waiter].next_waiter;
            self.satisfy(waiter, end);
            waiter = next;
        }
    }

    /// All host operations of a command have their end.
    #[inline]
    pub(super) fn host_operations_ended(&mut self, command: u32) {
        let parts = &self.parts[command];
        if parts.is_done {
            self.leave_command(command);
        } else if !self.is_cached(command) {
            let (end, breakdown) = (parts.end, parts.breakdown);
            self.finish_parts(command, end, breakdown);
        }
    }

    /// Where the time of a host operation went from the submission of its command until its end.
    #[inline]
    fn breakdown(&self, id: u32, end: u64, waited: &[u64; CLASSES]) -> Breakdown {
        let (op, links) = (&self.ops[id], &self.links[id]);
        let command = &self.commands[op.command].completion;
        if links.recovery != NONE && links.recoveries == NONE {
            let recovery = &self.recoveries[links.recovery];
            return Breakdown { recovery_ns: end - recovery.at, ..recovery.failed };
        }
        let mut breakdown = Breakdown { think_ns: links.think_ns, ..op.breakdown(waited) };
        let rest = end - command.submitted_at - breakdown.total_ns();
        // A host read depends on nothing; outside the queues only a collection holds it back.
        if links.is_held || command.kind == CommandKind::Read {
            breakdown.gc_ns += rest;
        } else {
            breakdown.dependency_ns = rest;
        }
        breakdown
    }
}

impl Op {
    /// Where the time went in its queues, on its die and on its channel.
    #[inline]
    pub(super) fn breakdown(&self, waited: &[u64; CLASSES]) -> Breakdown {
        let senses = matches!(self.kind, Kind::Read | Kind::Buffered);
        let array_ns = self.array_ns - self.rereads_ns;
        Breakdown {
            host_ns: waited[Task::Host as usize],
            gc_ns: waited[Task::GarbageCollection as usize],
            scrub_ns: waited[Task::Scrub as usize],
            wear_leveling_ns: waited[Task::WearLeveling as usize],
            sensing_ns: if senses { array_ns } else { 0 },
            rereads_ns: self.rereads_ns,
            transfer_ns: self.transfer_ns,
            program_ns: if senses { 0 } else { array_ns },
            ..Breakdown::default()
        }
    }
}
