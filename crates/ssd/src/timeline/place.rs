//! Finding the time of one operation.

use std::hint::select_unpredictable;

use super::{Breakdown, FlashOp, OpKind, Purpose, Task, Timeline, VecDeque};
use crate::node::{CLASSES, Usage};
use crate::slab::NONE;

/// Gaps that a channel remembers; the earliest is forgotten first.
const GAPS: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) channel: u32,
    pub(super) busy_until: u64,
    /// From this time on nothing is pending but reads of the host, one right after the other.
    reads_only_from: u64,
    /// Start of the last of these, which end at `busy_until`; there are none where it is that. The others are pending.
    reads_since: u64,
    pub(super) usage: Usage,
    /// Operations that are not done, in order.
    pub(super) pending: VecDeque<Placed>,
    /// How many of these are programs.
    programs: u32,
    /// Time of the operations that are done, by class.
    done: [u64; CLASSES],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    start: u64,
    end: u64,
    task: Task,
    /// Block whose program this is.
    block: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Channel {
    busy_until: u64,
    /// Free times before that, in order, each with its end; empty ones come first.
    gaps: [(u64, u64); GAPS],
    holder: Task,
    pub(super) usage: Usage,
}

impl Die {
    pub(super) fn new(channel: u32) -> Self {
        Self {
            channel,
            busy_until: 0,
            reads_only_from: 0,
            reads_since: 0,
            usage: Usage::new(),
            pending: VecDeque::new(),
            programs: 0,
            done: [0; CLASSES],
        }
    }

    /// Adds a read of the host that came at `at`.
    fn add_read(&mut self, at: u64, start: u64, end: u64) {
        if start > self.busy_until.max(at) {
            // The time between will be nobody's.
            self.close_reads();
            self.reads_only_from = start;
            self.reads_since = start;
            self.busy_until = start;
        }
        self.add_early_read(start, end);
    }

    /// Adds one that starts when it came, or when the die is free if that is later.
    #[inline]
    fn add_early_read(&mut self, start: u64, end: u64) {
        // Whether the die was idle is not to be foreseen: no branch.
        let idle = start > self.busy_until;
        self.done[Task::Host as usize] += select_unpredictable(idle, self.busy_until - self.reads_since, 0);
        self.reads_since = select_unpredictable(idle, start, self.reads_since);
        self.usage.busy[Task::Host as usize] += end - start;
        self.busy_until = end;
    }

    /// Puts the last reads among the operations before them.
    #[inline]
    fn close_reads(&mut self) {
        if self.reads_since < self.busy_until {
            let (start, end) = (self.reads_since, self.busy_until);
            self.pending.push_back(Placed { start, end, task: Task::Host, block: NONE });
            self.reads_since = end;
        }
    }

    /// What waiting from `at` until everything placed is done means, by class. Idle time between is nobody's.
    fn waiting(&self, at: u64) -> [u64; CLASSES] {
        let mut waiting = self.usage.held_at(0);
        for (waiting, done) in waiting.iter_mut().zip(&self.done) {
            *waiting -= done;
        }
        if let Some(running) = self.pending.front() {
            waiting[running.task as usize] -= at.saturating_sub(running.start);
        }
        waiting
    }
}

impl Channel {
    pub(super) const fn new() -> Self {
        Self { busy_until: 0, gaps: [(0, 0); GAPS], holder: Task::Host, usage: Usage::new() }
    }

    /// The earliest time from `from` on at which `length` fits, of the gaps that are remembered; takes it.
    #[inline]
    pub(super) fn take(&mut self, from: u64, length: u64) -> u64 {
        if from + length <= self.gaps[GAPS - 1].1 {
            // All of them, for where the search would end is not to be foreseen.
            let fits = |(start, end): (u64, u64)| u32::from(start.max(from) + length <= end);
            let mask = (0..GAPS).fold(0, |mask, index| mask | fits(self.gaps[index]) << index);
            if mask != 0 {
                let index = mask.trailing_zeros() as usize;
                let begin = self.gaps[index].0.max(from);
                self.split(index, begin, begin + length);
                return begin;
            }
        }
        let begin = self.busy_until.max(from);
        if begin > self.busy_until {
            self.remember(GAPS, (self.busy_until, begin));
        }
        self.busy_until = begin + length;
        begin
    }

    #[inline]
    fn split(&mut self, index: usize, begin: u64, end: u64) {
        let (start, until) = self.gaps[index];
        match (start < begin, end < until) {
            (false, false) => {
                self.gaps.copy_within(..index, 1);
                self.gaps[0] = (0, 0);
            }
            (false, true) => self.gaps[index].0 = end,
            (true, false) => self.gaps[index].1 = begin,
            (true, true) => {
                self.gaps[index].1 = begin;
                self.remember(index + 1, (end, until));
            }
        }
    }

    /// Puts a gap before the one at `index`, and forgets the first.
    #[inline]
    fn remember(&mut self, index: usize, gap: (u64, u64)) {
        for place in 1..GAPS {
            if place < index {
                self.gaps[place - 1] = self.gaps[place];
            }
        }
        self.gaps[index - 1] = gap;
    }
}

impl Timeline {
    /// Places an operation of a command that came at `at`, not before `ready`: its end, and, of the host's, where the time
    /// went.
    #[inline]
    pub(super) fn place<const HOST: bool>(
        &mut self,
        at: u64,
        ready: u64,
        op: &FlashOp,
        breakdown: &mut Breakdown,
    ) -> u64 {
        if HOST && self.is_among_reads(at, op) {
            let end;
            (end, *breakdown) = self.place_among_reads(at, op);
            return end;
        }
        let buffered = match op.kind {
            OpKind::Buffered => true,
            OpKind::Read(_) => self.in_flight(at, op),
            OpKind::Program | OpKind::Erase => false,
        };
        let transfer_ns = if op.kind == OpKind::Erase { 0 } else { self.transfer_ns(op.bytes) };
        if buffered {
            self.buffered_reads += 1;
            let recovery = op.kind == OpKind::Read(Purpose::Recover);
            // Those of one command one after the other.
            let handed_ns = if HOST {
                self.handed_ns += transfer_ns;
                self.handed_ns
            } else {
                transfer_ns
            };
            let end = if recovery { self.last_read.max(at) } else { at } + handed_ns;
            breakdown.transfer_ns = handed_ns;
            self.note_read::<HOST>(end, op, breakdown);
            return end;
        }
        self.operations += 1;
        let decided = self.think(ready);
        if HOST {
            breakdown.transfer_ns = transfer_ns;
            breakdown.think_ns = if self.processors.is_empty() { 0 } else { decided - ready };
        }
        let die = self.die_of(op);
        if matches!(op.kind, OpKind::Read(_)) {
            self.place_read::<HOST>(at, decided, die, op, transfer_ns, breakdown)
        } else {
            self.place_change::<HOST>(at, decided, die, op, transfer_ns, breakdown)
        }
    }

    #[inline]
    fn die_of(&self, op: &FlashOp) -> usize {
        self.geometry.die_of(op.block).0 as usize
    }

    fn transfer_ns(&mut self, bytes: u32) -> u64 {
        if self.transfer.0 != bytes {
            self.transfer = (bytes, self.timing.transfer_ns(bytes));
        }
        self.transfer.1
    }

    /// Whether a page's program is placed but not done.
    #[inline]
    fn in_flight(&mut self, at: u64, op: &FlashOp) -> bool {
        let die = self.die_of(op);
        self.settle(die, at);
        if self.dies[die].programs == 0 {
            return false;
        }
        let block = &self.blocks[op.block.index()];
        block.pending > 0 && op.page + block.pending >= block.issued
    }

    /// Forgets what a die has done by `at`.
    #[inline]
    fn settle(&mut self, die: usize, at: u64) {
        let die = &mut self.dies[die];
        die.close_reads();
        while let Some(first) = die.pending.front()
            && first.end <= at
        {
            die.done[first.task as usize] += first.end - first.start;
            if first.block != NONE {
                self.blocks[first.block as usize].pending -= 1;
                die.programs -= 1;
            }
            die.pending.pop_front();
        }
    }

    fn think(&mut self, ready: u64) -> u64 {
        if self.processors.is_empty() {
            return ready;
        }
        let processor = &mut self.processors[self.processor];
        *processor = ready.max(*processor) + self.think_ns;
        let decided = *processor;
        self.processor = (self.processor + 1) % self.processors.len();
        decided
    }

    /// Whether this is a read of the host that finds nothing but such on its die.
    #[inline]
    pub(super) fn is_among_reads(&self, at: u64, op: &FlashOp) -> bool {
        #[cfg(test)]
        if self.long_way {
            return false;
        }
        op.kind == OpKind::Read(Purpose::Serve)
            && op.task == Task::Host
            && self.dies[self.die_of(op)].reads_only_from <= at
            && self.processors.is_empty()
    }

    /// Places such a read: its end, and where the time went. The same as [`Self::place`], shorter.
    #[inline]
    pub(super) fn place_among_reads(&mut self, at: u64, op: &FlashOp) -> (u64, Breakdown) {
        let die = self.die_of(op);
        let transfer_ns = self.transfer_ns(op.bytes);
        let sensing_ns = self.timing.read_of(op.page);
        let rereads_ns = sensing_ns * u64::from(op.rereads);
        let start = self.dies[die].busy_until.max(at);
        let host_ns = start - at;
        let mut breakdown = Breakdown { host_ns, sensing_ns, rereads_ns, transfer_ns, ..Breakdown::default() };
        let sensed = start + sensing_ns + rereads_ns;
        let end = self.move_bytes::<true>(die, sensed, transfer_ns, Task::Host, &mut breakdown);
        self.dies[die].add_early_read(start, end);
        self.operations += 1;
        self.last_read = end;
        (end, breakdown)
    }

    #[inline]
    fn place_read<const HOST: bool>(
        &mut self,
        at: u64,
        ready: u64,
        die: usize,
        op: &FlashOp,
        transfer_ns: u64,
        breakdown: &mut Breakdown,
    ) -> u64 {
        let recovery = op.kind == OpKind::Read(Purpose::Recover);
        let ready = if recovery { ready.max(self.last_read) } else { ready };
        let sense = self.timing.read_of(op.page);
        let again = sense * u64::from(op.rereads);
        if HOST {
            (breakdown.sensing_ns, breakdown.rereads_ns) = (sense, again);
            self.explain_wait(die, ready, breakdown);
        }
        let start = self.dies[die].busy_until.max(ready);
        let end = self.move_bytes::<HOST>(die, start + sense + again, transfer_ns, op.task, breakdown);
        if HOST {
            self.dies[die].add_read(at, start, end);
        } else {
            self.occupy(die, Placed { start, end, task: op.task, block: NONE });
        }
        self.note_read::<HOST>(end, op, breakdown);
        end
    }

    /// A program or an erase.
    #[inline]
    fn place_change<const HOST: bool>(
        &mut self,
        at: u64,
        ready: u64,
        die: usize,
        op: &FlashOp,
        transfer_ns: u64,
        breakdown: &mut Breakdown,
    ) -> u64 {
        let task = op.task as usize;
        self.settle(die, at);
        let block = &mut self.blocks[op.block.index()];
        let program = op.kind == OpKind::Program;
        let after = if program { std::mem::take(&mut block.gathered) } else { self.relocated[task] };
        let held_ns = if program {
            block.issued = op.page + 1;
            block.pending += 1;
            self.timing.program_of(op.page)
        } else {
            block.issued = 0;
            self.erasing[task] = true;
            self.timing.erase_ns
        };
        if HOST {
            breakdown.program_ns = held_ns;
            self.explain_wait(die, ready, breakdown);
        }
        let start = self.dies[die].busy_until.max(ready).max(after);
        let mut end = start + held_ns;
        if program {
            end = self.move_bytes::<HOST>(die, start, transfer_ns, op.task, breakdown) + held_ns;
            self.programmed = self.programmed.max(end);
            if !HOST || after > 0 {
                self.note_relocation(task, end);
            }
        }
        self.occupy(die, Placed { start, end, task: op.task, block: if program { op.block.0 } else { NONE } });
        end
    }

    #[inline]
    fn occupy(&mut self, die: usize, placed: Placed) {
        let die = &mut self.dies[die];
        die.usage.busy[placed.task as usize] += placed.end - placed.start;
        die.busy_until = placed.end;
        (die.reads_only_from, die.reads_since) = (placed.end, placed.end);
        die.programs += u32::from(placed.block != NONE);
        die.pending.push_back(placed);
    }

    /// Tells a host operation's waiting for a die by class.
    #[inline]
    fn explain_wait(&mut self, die: usize, ready: u64, breakdown: &mut Breakdown) {
        if self.dies[die].busy_until <= ready {
            return;
        }
        let [host, gc, scrub, wear_leveling] = if self.dies[die].pending.front().is_some_and(|first| first.end <= ready)
        {
            self.waiting_later(die, ready)
        } else {
            self.dies[die].waiting(ready)
        };
        breakdown.host_ns += host;
        breakdown.gc_ns += gc;
        breakdown.scrub_ns += scrub;
        breakdown.wear_leveling_ns += wear_leveling;
    }

    /// As [`Die::waiting`], from a time at which operations will have ended that have not yet.
    fn waiting_later(&self, die: usize, ready: u64) -> [u64; CLASSES] {
        let mut waiting = [0; CLASSES];
        for placed in &self.dies[die].pending {
            waiting[placed.task as usize] += placed.end - placed.end.min(placed.start.max(ready));
        }
        waiting
    }

    /// Moves bytes over a die's channel from `from` on; returns the end.
    #[inline]
    fn move_bytes<const HOST: bool>(
        &mut self,
        die: usize,
        from: u64,
        transfer_ns: u64,
        task: Task,
        breakdown: &mut Breakdown,
    ) -> u64 {
        if self.timing.channel_bytes_per_second.is_none() {
            return from;
        }
        let channel = &mut self.channels[self.dies[die].channel as usize];
        let begin = channel.take(from, transfer_ns);
        if HOST {
            let waited = begin - from;
            breakdown.add_waiting(channel.holder, waited);
        }
        channel.holder = task;
        channel.usage.busy[task as usize] += transfer_ns;
        begin + transfer_ns
    }

    /// What waits for a read, and what a recovery has cost its command.
    #[inline]
    fn note_read<const HOST: bool>(&mut self, end: u64, op: &FlashOp, breakdown: &mut Breakdown) {
        match op.kind {
            OpKind::Read(Purpose::Recover) if HOST => {
                *breakdown = Breakdown { recovery_ns: end - self.last_read, ..self.failed_read };
            }
            OpKind::Read(Purpose::Relocate(target)) => {
                let gathered = &mut self.blocks[target.index()].gathered;
                *gathered = end.max(*gathered);
                self.note_relocation(op.task as usize, end);
                self.last_read = end;
            }
            OpKind::Read(Purpose::Serve) => self.last_read = end,
            _ => {}
        }
    }

    fn note_relocation(&mut self, task: usize, end: u64) {
        if std::mem::take(&mut self.erasing[task]) {
            self.relocated[task] = 0;
        }
        self.relocated[task] = end.max(self.relocated[task]);
    }
}
