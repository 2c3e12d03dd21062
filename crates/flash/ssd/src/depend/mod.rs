//! What flash operations wait for before they may queue, and what waits for them. Both schedulers use this graph.
//!
//! A scheduler reports each operation when its list is submitted ([`Graph::add`]), and its end as soon as the end is known
//! ([`Graph::ended`]): the timeline ahead of time, the event scheduler when the end comes. The scheduler then takes up what
//! follows: operations that may queue ([`Graph::next_ready`]) and other [`News`]. The scheduler itself decides when an operation
//! gets a processor, its die and its channel, and which operations a background collection keeps from its dies.
//!
//! Ends may lie ahead. So an operation keeps the number of ends that it waits for and that are not known, and the latest of those
//! that are known.

mod cache;
mod changes;
mod collection;
mod command;
mod kept;
mod relocation;
mod turns;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wane_nand::{Barrier, FlashOp, OpKind, Purpose, Task};
use wane_units::{BlockId, Geometry, prefetch};

use crate::command::Breakdown;
use crate::config::{Collection, SchedulerConfig};
use crate::node::{CLASSES, Kind};
use crate::slab::{Beside, NONE, Slab};
use cache::{Cache, Flushes};
use changes::Changes;
pub use changes::Progress;
use collection::Job;
use command::Parts;
use relocation::{Epoch, Group, Recovery};
use turns::Turns;

/// What waits for what. Operations and commands have the numbers that their scheduler gave them.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    links: Beside<Links>,
    parts: Beside<Parts>,
    /// Where the time of commands went until their ends in `parts`, if an end that they waited for lies ahead.
    breakdowns: Beside<Breakdown>,
    groups: Slab<Group>,
    epochs: Slab<Epoch>,
    recoveries: Slab<Recovery>,
    jobs: Slab<Job>,
    blocks: Vec<Block>,
    dies: Vec<Die>,
    cache: Option<Cache>,
    flushes: Flushes,
    erases: Flushes,
    /// Writes and flushes whose end is not known, in place of programs, for protected flushes.
    unacknowledged: Flushes,
    /// What the next program or erase waits for in addition.
    barrier: Option<Barrier>,
    /// How far programs and erases are; `None` if they are not tracked.
    changes: Option<Box<Changes>>,
    collection: Collection,
    /// Collections that take turns.
    turns: Option<Turns>,
    /// Number of reads that went to other dies because their own die collected.
    reads_around: u64,
    /// The queue of each task's programs. A program in a lower queue may overtake.
    ranks: [u8; CLASSES],
    /// The last read that was not for recovery, while its end is not known.
    last_read: u32,
    /// Each task's epoch that still fills.
    filling: [u32; CLASSES],
    /// Number of each task's present collection, which ends with an erase. Each collection has another number.
    collections: [u64; CLASSES],
    /// The collection to which the present list belongs.
    open_job: u32,
    /// First and last of the operations that wait for nothing any more and were not taken up yet.
    ready: (u32, u32),
    /// What else followed from the last calls, in order. The scheduler that takes it up clears it.
    pub(crate) news: Vec<News>,
}

/// What a scheduler has to take up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The end of a command is known: see [`Graph::end_of`]. `is_over`: none of its operations is left.
    Done { command: u32, is_over: bool },
    /// The same for a command that the write cache acknowledges.
    Acknowledged { command: u32, is_over: bool },
    /// The end of this command was known before, and now none of its operations is left.
    Over(u32),
    /// A program ends at `end`, which is still to come. It then makes room in the write cache: the time to call
    /// [`Graph::make_room`].
    Room { command: u32, bytes: u32, end: u64 },
    /// A collection of the background has nothing left to do on a die.
    Left { die: u32, job: u32 },
}

/// An operation as it comes in.
pub(crate) struct New<'a> {
    pub(crate) op: &'a FlashOp,
    /// As [`Graph::kind_of`] says.
    pub(crate) kind: Kind,
    /// The host's command; [`NONE`] if the operation is not the host's.
    pub(crate) command: u32,
    pub(crate) die: u32,
    /// Place in the history of the drive.
    pub(crate) sequence: u64,
}

/// What an operation waits for, and what waits for it. One line of the cache.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(64))]
struct Links {
    /// When the operation may queue, once it waits for nothing: the latest end of what it waited for, and no earlier than it
    /// came.
    until: u64,
    /// Number of events that it still waits for.
    waits: u32,
    /// Next operation that waits for the same event, or that also waits for nothing any more.
    next_waiter: u32,
    /// Next program or erase of its block.
    follower: u32,
    /// Relocation reads that one program waits for.
    group: u32,
    /// Relocations that one erase waits for.
    epoch: u32,
    /// Collection that it belongs to.
    job: u32,
    /// Recovery reads that wait for it.
    recoveries: u32,
    /// Recovery of a failed read: its cost so far.
    recovery: u32,
    /// Number of the span in which flushes or barriers count the program. For an erase, only barriers do.
    flush: u32,
    bytes: u32,
    /// Block that it changes, or whose erase waits for it. [`NONE`] for a flash read that no erase waits for.
    block: u32,
    die: u32,
    command: u32,
    kind: Kind,
    task: Task,
    follow: Follow,
    /// A collection held it back. Its waiting outside the queues counts as waiting for garbage collection.
    is_held: bool,
}

/// When the next program or erase of the same block may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Follow {
    /// As soon as this one is in its queue, which keeps the order.
    Entered,
    /// When this one is done.
    Done,
}

/// What the graph needs to know of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Block {
    /// Last program or erase whose end is not known, and the end of the last one before.
    last: u32,
    last_end: u64,
    /// Pages programmed in the world of state.
    issued: u32,
    /// Number of programs that are not done. The block's programs end in order, so these are its last ones.
    pending: u32,
    /// Number of reads that an erase must wait for and whose end is not known, and the latest end of the others.
    reads: u32,
    reads_end: u64,
    /// Erase that waits for these reads.
    eraser: u32,
    /// Relocation reads that the next program waits for.
    group: u32,
    /// Latest end of these reads, if all ends are known.
    gathered: u64,
    /// Number, from `collections`, of the collection that last read data for the next program; 0: none did.
    relocates: u64,
}

/// What operations of a die wait for.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Die {
    /// Programs that are not done.
    programs_pending: u32,
    /// Ends and blocks of programs whose end is known ahead, in order. Programs that have ended stay until the next look.
    programs: VecDeque<(u64, u32)>,
    /// Foreground collections that later operations wait for, in order; the number of those that have gone, and the end of the
    /// last of these.
    jobs: VecDeque<u32>,
    jobs_gone: u64,
    jobs_end: u64,
    /// Operations that these collections hold back, in order, each with the number of collections that must have gone before it.
    held: VecDeque<(u32, u64)>,
    /// Number of background collections that may be at work on the die and are not done there.
    collecting: u32,
}

impl Graph {
    /// Makes the graph for flash of this geometry. Programs of each task queue in the order of `ranks`.
    pub(crate) fn new(geometry: &Geometry, config: &SchedulerConfig, ranks: [u8; CLASSES]) -> Self {
        Self {
            links: Beside::new(),
            parts: Beside::new(),
            breakdowns: Beside::new(),
            groups: Slab::new(),
            epochs: Slab::new(),
            recoveries: Slab::new(),
            jobs: Slab::new(),
            blocks: vec![Block::NEW; geometry.blocks() as usize],
            dies: vec![Die::NEW; geometry.dies() as usize],
            cache: config.write_cache.map(Cache::new),
            flushes: Flushes::new(),
            erases: Flushes::new(),
            unacknowledged: Flushes::new(),
            barrier: None,
            changes: None,
            collection: config.collection,
            turns: (config.collection == Collection::Rotating).then(|| Turns::new(geometry, config.group_dies)),
            reads_around: 0,
            ranks,
            last_read: NONE,
            filling: [NONE; CLASSES],
            collections: std::array::from_fn(|task| 1 + task as u64),
            open_job: NONE,
            ready: (NONE, NONE),
            news: Vec::new(),
        }
    }

    /// Kind of an operation. A page whose program is not done is read from the controller's buffer.
    #[inline]
    pub(crate) fn kind_of(&mut self, now: u64, op: &FlashOp, die: u32) -> Kind {
        match op.kind {
            OpKind::Read(_) => {
                if self.is_in_flight(now, op, die) {
                    Kind::Buffered
                } else {
                    Kind::Read
                }
            }
            OpKind::Program => Kind::Program,
            OpKind::Erase => Kind::Erase,
            OpKind::Buffered => Kind::Buffered,
            OpKind::Barrier(_) => unreachable!("a barrier is no operation, and is told by itself"),
        }
    }

    /// Whether a read that comes now waits for nothing: its page is in flash and no collection holds its die.
    #[inline]
    pub(crate) fn is_free(&mut self, now: u64, op: &FlashOp, die: u32) -> bool {
        let state = &self.dies[die as usize];
        let is_held = !state.jobs.is_empty() || state.jobs_end > now;
        !is_held && (state.programs_pending == 0 || !self.is_in_flight(now, op, die))
    }

    /// Whether a collection blocks a die for what comes now.
    fn collects(&self, now: u64, die: u32) -> bool {
        let die = &self.dies[die as usize];
        die.collecting > 0 || !die.jobs.is_empty() || die.jobs_end > now
    }

    /// The next operation of a list, and the rest of the list. If a read's die collects, the reads that go around it take its
    /// place, unless one of their dies collects too.
    #[inline(always)]
    pub(crate) fn next_of<'a>(
        &mut self,
        now: u64,
        geometry: &Geometry,
        ops: &'a [FlashOp],
    ) -> (&'a [FlashOp], &'a [FlashOp]) {
        let (next, rest) = ops.split_at(1);
        let others = rest.iter().take_while(|op| matches!(op.kind, OpKind::Read(Purpose::Instead))).count();
        if others == 0 {
            return (next, rest);
        }
        let (around, rest) = rest.split_at(others);
        (if self.goes_around(now, geometry, &next[0], around) { around } else { next }, rest)
    }

    /// Whether the reads of its stripe replace an operation.
    #[cold]
    fn goes_around(&mut self, now: u64, geometry: &Geometry, op: &FlashOp, around: &[FlashOp]) -> bool {
        let die_of = |op: &FlashOp| geometry.die_of(op.block).0;
        let die = die_of(op);
        let goes_around = self.collects(now, die)
            && !self.is_in_flight(now, op, die)
            && !around.iter().any(|op| self.collects(now, die_of(op)));
        self.reads_around += u64::from(goes_around);
        goes_around
    }

    /// Number of reads that went to other dies because their own die collected.
    pub(crate) fn reads_around(&self) -> u64 {
        self.reads_around
    }

    /// Whether a page's program is not done.
    #[inline(always)]
    fn is_in_flight(&mut self, now: u64, op: &FlashOp, die: u32) -> bool {
        self.blocks[op.block.index()].pending > 0 && self.is_pending(now, op, die)
    }

    /// As [`Self::is_in_flight`], if programs of the page's block are not done.
    fn is_pending(&mut self, now: u64, op: &FlashOp, die: u32) -> bool {
        self.settle(now, die);
        let block = &self.blocks[op.block.index()];
        block.pending > 0 && op.page + block.pending >= block.issued
    }

    /// Forgets the programs of a die that are done.
    #[inline]
    fn settle(&mut self, now: u64, die: u32) {
        let die = &mut self.dies[die as usize];
        while let Some((end, block)) = die.programs.front()
            && *end <= now
        {
            self.blocks[*block as usize].pending -= 1;
            die.programs_pending -= 1;
            die.programs.pop_front();
        }
    }

    /// Takes one operation of a command's list. Returns whether it waits for nothing and may queue, now or from [`Self::until`]
    /// on.
    #[inline(always)]
    pub(crate) fn add(&mut self, now: u64, id: u32, new: &New<'_>) -> bool {
        let New { op, kind, command, die, sequence } = *new;
        debug_assert_eq!(die == NONE, op.kind == OpKind::Buffered, "all but what lies in a buffer happens on a die");
        self.end_job(op);
        let (block, bytes, task) = (op.block.0, op.bytes, op.task);
        // In its place from the start: what was stored field by field is slow to copy as a whole.
        self.links.put(id, Links { until: now, bytes, block, die, command, kind, task, ..Links::NEW });
        if command != NONE {
            self.parts[command].left += 1;
        }
        match op.kind {
            OpKind::Read(purpose) => self.add_read(now, id, new, purpose),
            OpKind::Program => self.add_program(now, id, new),
            OpKind::Erase => self.add_erase(now, id, new),
            OpKind::Buffered | OpKind::Barrier(_) => {}
        }
        if task == Task::GarbageCollection && self.collection != Collection::Preemptible {
            self.join_job(id, kind, die, sequence);
        }
        self.links[id].waits == 0
    }

    #[inline]
    fn add_read(&mut self, now: u64, id: u32, new: &New<'_>, purpose: Purpose) {
        if new.kind == Kind::Read {
            // A block that is about to be erased holds nothing. The erase does not wait for reads that come now.
            let block = &mut self.blocks[new.op.block.index()];
            if block.eraser == NONE {
                block.reads += 1;
            } else {
                self.links[id].block = NONE;
            }
            self.hold(now, id, new.die);
        }
        match purpose {
            Purpose::Serve | Purpose::Check | Purpose::Instead => self.last_read = id,
            Purpose::Relocate(target) => {
                self.last_read = id;
                self.join_group(id, new.op.task, target.0);
                self.join_epoch(id, new.op.task);
            }
            Purpose::Recover => self.add_recovery(id, new.op.task),
        }
    }

    #[inline(always)]
    fn add_program(&mut self, now: u64, id: u32, new: &New<'_>) {
        self.add_change(id, new);
        let (page, task) = (new.op.page, new.op.task);
        let block = &mut self.blocks[new.op.block.index()];
        debug_assert!(page >= block.issued, "the pages of a block are programmed in order between two erases");
        block.issued = page + 1;
        block.pending += 1;
        self.dies[new.die as usize].programs_pending += 1;
        let (group, gathered) = (std::mem::replace(&mut block.group, NONE), std::mem::take(&mut block.gathered));
        let relocates = std::mem::take(&mut block.relocates);
        let links = &mut self.links[id];
        links.wait_until(gathered);
        links.flush = self.flushes.add();
        if group != NONE {
            self.groups[group].program = id;
            links.waits += 1;
        }
        // Parity holds no data of a block that is to be erased, and a page that is filled up holds data of one that was.
        if relocates == self.collections[task as usize] {
            self.join_epoch(id, task);
        }
        if new.command != NONE {
            self.parts[new.command].programs += 1;
            self.wait_for_admission(id, new.command);
        }
        self.hold(now, id, new.die);
    }

    /// Adds a program or an erase.
    #[inline(always)]
    fn add_change(&mut self, id: u32, new: &New<'_>) {
        if let Some(changes) = &mut self.changes {
            changes.add(id);
        }
        if let Some(barrier) = self.barrier.take() {
            self.wait_at_barrier(id, barrier);
        }
        self.follow_last(id, new);
    }

    /// Erases a block outside time: its pages are programmed from the first one on again.
    pub(crate) fn skip_erase(&mut self, block: BlockId) {
        self.blocks[block.index()].issued = 0;
    }

    fn add_erase(&mut self, now: u64, id: u32, new: &New<'_>) {
        self.add_change(id, new);
        let task = new.op.task;
        let links = &mut self.links[id];
        links.flush = self.erases.add();
        let block = &mut self.blocks[new.op.block.index()];
        block.issued = 0;
        if block.reads > 0 && block.eraser == NONE {
            block.eraser = id;
            links.waits += 1;
        }
        links.wait_until(block.reads_end);
        self.collections[task as usize] += CLASSES as u64;
        self.wait_for_epoch(id, task);
        self.hold(now, id, new.die);
    }

    /// Makes an operation wait for the one before it on its block, so that programs and erases of a block keep their order. Where
    /// the die's queue keeps the order, a program may queue as soon as the one before it does.
    #[inline(always)]
    fn follow_last(&mut self, id: u32, new: &New<'_>) {
        let block = &mut self.blocks[new.op.block.index()];
        let last = std::mem::replace(&mut block.last, id);
        if last == NONE {
            // Behind a program whose end is known the die's queue keeps the order, too.
            if new.kind == Kind::Erase || block.issued == 0 {
                self.links[id].wait_until(block.last_end);
            }
            return;
        }
        let before = &mut self.links[last];
        let programs = before.kind == Kind::Program && new.kind == Kind::Program;
        let in_queue = programs && self.ranks[before.task as usize] <= self.ranks[new.op.task as usize];
        if in_queue && before.waits == 0 {
            let until = before.until;
            return self.links[id].wait_until(until);
        }
        before.follow = if in_queue { Follow::Entered } else { Follow::Done };
        before.follower = id;
        self.links[id].waits += 1;
    }

    /// Removes one thing that an operation waits for, which ends at `end`.
    #[inline(always)]
    fn satisfy(&mut self, id: u32, end: u64) {
        let links = &mut self.links[id];
        debug_assert!(links.waits > 0, "an operation waits for what it is told of");
        links.wait_until(end);
        links.waits -= 1;
        if links.waits == 0 {
            self.enter(id);
        }
    }

    /// Lets an operation queue, and after it the next programs of its block.
    fn enter(&mut self, mut id: u32) {
        loop {
            debug_assert_eq!(self.links[id].waits, 0, "what may queue waits for nothing any more");
            match std::mem::replace(&mut self.ready.1, id) {
                NONE => self.ready.0 = id,
                last => self.links[last].next_waiter = id,
            }
            let links = &mut self.links[id];
            links.next_waiter = NONE;
            if links.follower == NONE || links.follow == Follow::Done {
                return;
            }
            let entered = links.until;
            id = std::mem::replace(&mut links.follower, NONE);
            let links = &mut self.links[id];
            links.wait_until(entered);
            links.waits -= 1;
            if links.waits > 0 {
                return;
            }
        }
    }

    /// Whether anything followed from the last calls.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.ready.0 != NONE || !self.news.is_empty()
    }

    /// The next operation, in order, that waits for nothing any more. It may queue from [`Self::until`] on.
    #[inline]
    pub(crate) fn next_ready(&mut self) -> Option<u32> {
        let first = self.ready.0;
        if first == NONE {
            return None;
        }
        self.ready.0 = self.links[first].next_waiter;
        if self.ready.0 == NONE {
            self.ready.1 = NONE;
        }
        Some(first)
    }

    /// When an operation that waits for nothing may queue, or could have queued. This is before processors: time spent there is
    /// not included.
    #[inline]
    pub(crate) fn until(&self, id: u32) -> u64 {
        self.links[id].until
    }

    /// Adds a read that is already in a queue without being known here, so that an erase of its block waits for it. Its command
    /// was added by [`Self::begin`].
    pub(crate) fn take_up(&mut self, entered: u64, id: u32, command: u32, block: u32, die: u32) {
        let (kind, task, until) = (Kind::Read, Task::Host, entered);
        self.links.put(id, Links { until, block, die, command, kind, task, ..Links::NEW });
        self.parts[command].left += 1;
        self.blocks[block as usize].reads += 1;
    }

    /// Records that a read which was never added here ends at `end`, so that an erase of its block waits for it.
    pub(crate) fn read_until(&mut self, block: u32, end: u64) {
        let block = &mut self.blocks[block as usize];
        block.reads_end = block.reads_end.max(end);
    }

    /// Prefetches the records of an operation at work on `block`, whose end will be reported soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, id: u32, block: BlockId) {
        self.links.prefetch(id);
        self.prefetch_block(block);
    }

    /// Prefetches the record of a block, on which an operation will come soon.
    #[inline(always)]
    pub(crate) fn prefetch_block(&self, block: BlockId) {
        prefetch(&self.blocks, block.index());
    }

    /// Records that an operation ends at `end`, now or later. `known` returns the time it spent in queues, on its die, on its
    /// channel and at the processors; its argument is the time since when processors count. Returns the command that ends with
    /// this operation and of which nothing is left, or [`NONE`].
    #[inline]
    #[must_use]
    pub(crate) fn ended(&mut self, now: u64, id: u32, end: u64, known: impl Fn(u64) -> Breakdown) -> u32 {
        let Links { kind, task, recovery, epoch, job, command, .. } = self.links[id];
        debug_assert_eq!(self.links[id].waits, 0, "an operation ends after what it waits for");
        debug_assert!(end >= self.links[id].until, "an operation ends after it could begin");
        debug_assert!(end >= now, "an end that is told now lies not in the past");
        if recovery != NONE {
            self.recovery_ended(id, end, &known);
        }
        match kind {
            Kind::Read | Kind::Buffered => self.read_ended(id, end),
            Kind::Program | Kind::Erase => self.change_ended(now, id, end),
        }
        if epoch != NONE {
            self.leave_epoch(epoch, task, end);
        }
        if job != NONE {
            self.leave_job(id, end);
        }
        if command == NONE { NONE } else { self.part_ended(now, id, command, end, known) }
    }

    /// Records that an operation of a command ends at `end`.
    #[inline(always)]
    fn part_ended(&mut self, now: u64, id: u32, command: u32, end: u64, known: impl Fn(u64) -> Breakdown) -> u32 {
        let parts = &mut self.parts[command];
        parts.left -= 1;
        if parts.is_done {
            if parts.left == 0 {
                self.news.push(News::Over(command));
            }
            return NONE;
        }
        if parts.left > 0 {
            // An end that has already come is not the latest while another is still to come.
            if end > now && end >= parts.end {
                parts.end = end;
                let breakdown = self.breakdown(id, end, known);
                self.breakdowns.put(command, breakdown);
            }
            return NONE;
        }
        if self.cache.is_some() && parts.is_write() {
            return NONE;
        }
        parts.is_done = true;
        if !parts.is_read() {
            let end = end.max(parts.end);
            self.acknowledged(command, end);
        }
        command
    }

    /// The end of a command that [`Self::ended`] returned for this operation, and where its time went. If ends are reported when
    /// they come, it is this operation's end and [`Self::breakdown`].
    #[inline]
    pub(crate) fn end_with(
        &self,
        command: u32,
        id: u32,
        end: u64,
        known: impl Fn(u64) -> Breakdown,
    ) -> (u64, Breakdown) {
        let latest = self.parts[command].end;
        if end >= latest { (end, self.breakdown(id, end, known)) } else { (latest, self.breakdowns[command]) }
    }

    #[inline(always)]
    fn read_ended(&mut self, id: u32, end: u64) {
        let Links { kind, block, group, .. } = self.links[id];
        if kind == Kind::Read && block != NONE {
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
        if group != NONE {
            self.leave_group(group, end);
        }
    }

    /// Records the end of a program or an erase.
    #[inline(always)]
    fn change_ended(&mut self, now: u64, id: u32, end: u64) {
        let Links { kind, die, block: number, follower, follow, command, bytes, flush, .. } = self.links[id];
        debug_assert!(follower == NONE || follow == Follow::Done, "who may queue behind it does");
        let block = &mut self.blocks[number as usize];
        debug_assert!(block.last_end <= end, "programs and erases of a block end in their order");
        block.last_end = end;
        if block.last == id {
            block.last = NONE;
        }
        if kind == Kind::Program {
            if end > now {
                self.settle(now, die);
                self.dies[die as usize].programs.push_back((end, number));
            } else {
                block.pending -= 1;
                self.dies[die as usize].programs_pending -= 1;
            }
        }
        if let Some(changes) = &mut self.changes {
            changes.ended(id, end);
        }
        if follower != NONE {
            self.satisfy(follower, end);
        }
        if kind == Kind::Program {
            if command != NONE {
                self.leave_cache(now, command, bytes, end);
            }
            self.leave_flush(flush, end);
        } else {
            self.leave_erases(flush, end);
        }
    }

    /// Where the time of a host operation went from the submission of its command until its end.
    #[inline]
    pub(crate) fn breakdown(&self, id: u32, end: u64, known: impl Fn(u64) -> Breakdown) -> Breakdown {
        let links = &self.links[id];
        if links.recovery != NONE && links.recoveries == NONE {
            return self.recovered(links.recovery, end);
        }
        let mut breakdown = known(links.until);
        let parts = &self.parts[links.command];
        let rest = end - parts.submitted_at - breakdown.total_ns();
        // A host read depends on nothing; outside the queues only a collection holds it back.
        if links.is_held || parts.is_read() {
            breakdown.gc_ns += rest;
        } else {
            breakdown.dependency_ns = rest;
        }
        breakdown
    }

    /// Number of records that were ever alive at once.
    pub(crate) fn slots(&self) -> usize {
        self.groups.slots()
            + self.epochs.slots()
            + self.recoveries.slots()
            + self.jobs.slots()
            + self.dies.iter().map(|die| die.programs.len()).sum::<usize>()
    }

    /// Number of records that are alive, of each kind but epochs, of which each task keeps one.
    #[cfg(test)]
    pub(crate) fn live(&self) -> [usize; 3] {
        [self.groups.live(), self.recoveries.live(), self.jobs.live()]
    }

    #[cfg(test)]
    pub(crate) fn epochs_live(&self) -> usize {
        self.epochs.live()
    }
}

const _: () = assert!(size_of::<Links>() == 64, "what an operation waits for takes one line of the cache");

impl Default for Links {
    fn default() -> Self {
        Self::NEW
    }
}

impl Links {
    const NEW: Self = Self {
        until: 0,
        waits: 0,
        next_waiter: NONE,
        follower: NONE,
        group: NONE,
        epoch: NONE,
        job: NONE,
        recoveries: NONE,
        recovery: NONE,
        flush: 0,
        bytes: 0,
        block: NONE,
        die: NONE,
        command: NONE,
        kind: Kind::Buffered,
        task: Task::Host,
        follow: Follow::Done,
        is_held: false,
    };

    #[inline]
    fn wait_until(&mut self, time: u64) {
        self.until = self.until.max(time);
    }
}

impl Block {
    const NEW: Self = Self {
        last: NONE,
        last_end: 0,
        issued: 0,
        pending: 0,
        reads: 0,
        reads_end: 0,
        eraser: NONE,
        group: NONE,
        gathered: 0,
        relocates: 0,
    };
}

impl Die {
    const NEW: Self = Self {
        programs_pending: 0,
        programs: VecDeque::new(),
        jobs: VecDeque::new(),
        jobs_gone: 0,
        jobs_end: 0,
        held: VecDeque::new(),
        collecting: 0,
    };
}
