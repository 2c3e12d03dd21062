//! Dies and channels: the next operation, and when it ends.

use std::collections::VecDeque;
use std::hint::select_unpredictable;

use serde::{Deserialize, Serialize};
use wane_nand::Task;

use super::Timeline;
use crate::calendar::NEVER;
use crate::node::{CLASSES, Kind, Usage};
use crate::slab::{NONE, Slab};
use crate::timeline::entry::Op;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Die {
    #[serde(skip)]
    pub(super) channel: u32,
    /// The operation that is chosen but not placed, when it starts, and what it waited behind.
    pub(super) current: u32,
    start: u64,
    waited: [u64; CLASSES],
    /// When everything placed so far ends.
    pub(super) free_at: u64,
    /// First and last of the operations that wait, by when they entered and then by sequence number.
    pub(super) head: u32,
    tail: u32,
    pub(super) history: History,
    /// Block and end of the last read that was placed alone.
    pub(super) last_read: (u32, u64),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Channel {
    #[serde(skip)]
    dies: Vec<u32>,
    free_at: u64,
    pub(super) history: History,
}

/// The classes that held a die or channel, as far back as any operation waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct History {
    /// Start, end and class of the last time without a pause or another class.
    last: (u64, u64, usize),
    /// Those right before it, in order, back to the last pause: during a pause nobody waits.
    earlier: VecDeque<(u64, u64, usize)>,
    pub(super) usage: Usage,
}

impl History {
    fn new() -> Self {
        Self { last: (0, 0, 0), earlier: VecDeque::new(), usage: Usage::new() }
    }

    /// Forgets the time before `time`, at which the next holder enters: nobody will ask about it.
    #[inline]
    fn forget(&mut self, time: u64) {
        while let Some((_, end, _)) = self.earlier.front()
            && *end <= time
        {
            self.earlier.pop_front();
        }
    }

    #[inline]
    fn hold(&mut self, start: u64, end: u64, task: Task) {
        let task = task as usize;
        self.usage.busy[task] += end - start;
        let (last_start, last_end, class) = self.last;
        debug_assert!(last_end == start || self.earlier.is_empty(), "who starts after a pause entered during it");
        if class != task {
            self.change(start);
        }
        // A pause is unpredictable, so this is without a branch.
        let goes_on = last_end == start && class == task;
        self.last = (select_unpredictable(goes_on, last_start, start), end, task);
    }

    fn change(&mut self, start: u64) {
        let (_, last_end, _) = self.last;
        if last_end == start {
            self.earlier.push_back(self.last);
        }
    }

    /// Adds the time that each class held it from `from` to `to`.
    #[inline]
    fn add_held(&self, from: u64, to: u64, held: &mut [u64; CLASSES]) {
        let (start, end, class) = self.last;
        held[class] += end.min(to).saturating_sub(start.max(from));
        if !self.earlier.is_empty() {
            self.add_earlier(from, to, held);
        }
    }

    fn add_earlier(&self, from: u64, to: u64, held: &mut [u64; CLASSES]) {
        for (start, end, class) in self.earlier.iter().rev() {
            if *end <= from {
                break;
            }
            held[*class] += (*end).min(to).saturating_sub((*start).max(from));
        }
    }

    pub(super) fn records(&self) -> usize {
        self.earlier.len()
    }
}

impl Channel {
    pub(super) fn new(dies: Vec<u32>) -> Self {
        Self { dies, free_at: 0, history: History::new() }
    }

    /// Has the same dies as `other` has.
    pub(super) fn keep_dies(&mut self, other: &Self) {
        self.dies.clone_from(&other.dies);
    }
}

impl Die {
    pub(super) fn new(channel: u32) -> Self {
        Self {
            channel,
            current: NONE,
            start: 0,
            waited: [0; CLASSES],
            free_at: 0,
            head: NONE,
            tail: NONE,
            history: History::new(),
            last_read: (NONE, 0),
        }
    }

    #[inline]
    fn push(&mut self, ops: &mut Slab<Op>, id: u32) {
        ops[id].next = NONE;
        if self.head == NONE {
            (self.head, self.tail) = (id, id);
        } else if came_before(&ops[self.tail], &ops[id]) {
            debug_assert_eq!(ops[self.tail].next, NONE, "the last of a queue is followed by none");
            ops[self.tail].next = id;
            self.tail = id;
        } else {
            self.insert(ops, id);
        }
    }

    /// Lets a die without a chosen operation choose the first one, if nothing can come before it any more. Returns the die's next
    /// event: when the chosen operation asks for its channel, or when the die looks again; [`NEVER`] if nothing waits.
    #[inline]
    fn look_for_next(&mut self, ops: &Slab<Op>, now: u64, asks_after_sensing: bool) -> u64 {
        if self.head == NONE {
            return NEVER;
        }
        let entered = ops[self.head].entered;
        if entered <= now { self.choose(ops, asks_after_sensing) } else { entered.max(self.free_at) }
    }

    /// Chooses the first operation that waits. Returns when it asks for the channel.
    #[inline]
    fn choose(&mut self, ops: &Slab<Op>, asks_after_sensing: bool) -> u64 {
        debug_assert_eq!(self.current, NONE, "a die chooses when the operation before is placed");
        let op = &ops[self.head];
        self.current = std::mem::replace(&mut self.head, op.next);
        self.start = self.free_at.max(op.entered);
        self.history.forget(op.entered);
        if op.task == Task::Host {
            self.waited = [0; CLASSES];
            self.history.add_held(op.entered, self.start, &mut self.waited);
        }
        // A program loads its data first. Without a channel nothing is moved, and the end is as good as known.
        self.start + if op.kind == Kind::Read && asks_after_sensing { op.times.array_ns } else { 0 }
    }

    /// Inserts an operation into the middle of the queue. Operations that enter later, because they wait for an end still to
    /// come, may already be there.
    fn insert(&mut self, ops: &mut Slab<Op>, id: u32) {
        let (mut before, mut after) = (NONE, self.head);
        while came_before(&ops[after], &ops[id]) {
            (before, after) = (after, ops[after].next);
        }
        ops[id].next = after;
        match before {
            NONE => self.head = id,
            before => ops[before].next = id,
        }
    }
}

#[inline(always)]
fn came_before(one: &Op, other: &Op) -> bool {
    (one.entered, one.sequence) < (other.entered, other.sequence)
}

impl Timeline {
    /// Puts an operation into the queue of its die.
    #[inline]
    pub(super) fn queue_at_die(&mut self, id: u32) {
        let number = self.ops[id].die as usize;
        let die = &mut self.dies[number];
        die.push(&mut self.ops, id);
        if die.current == NONE && die.head == id {
            self.idle_dies.push(number as u32);
        }
    }

    /// Lets idle dies look at operations that have entered their queues. Only now, because operations that enter at the same
    /// instant go by sequence number.
    #[inline]
    pub(super) fn wake_dies(&mut self) {
        while let Some(number) = self.idle_dies.pop() {
            let die = &mut self.dies[number as usize];
            if die.current == NONE && die.head != NONE {
                let time = die.look_for_next(&self.ops, self.now, self.asks_after_sensing);
                self.calendar.set(number as usize, self.now, time);
            }
        }
    }

    /// Handles the event of a die that is due.
    #[inline]
    pub(super) fn step_die(&mut self, number: usize) {
        let first = self.first_to_ask(number);
        let die = &mut self.dies[first];
        if die.current == NONE {
            let time = die.choose(&self.ops, self.asks_after_sensing);
            return self.calendar.set(first, self.now, time);
        }
        self.place(first);
    }

    /// Of the dies of a channel that are due now: one that still has to choose, or otherwise the one whose operation has the
    /// lowest sequence number.
    #[inline]
    fn first_to_ask(&self, number: usize) -> usize {
        let dies = &self.channels[self.dies[number].channel as usize].dies;
        if dies.iter().filter(|die| self.calendar.is_due(**die as usize, self.now)).count() == 1 {
            return number;
        }
        self.first_of_several(dies)
    }

    fn first_of_several(&self, dies: &[u32]) -> usize {
        let due = dies.iter().map(|die| *die as usize).filter(|die| self.calendar.is_due(*die, self.now));
        let sequence = |die: &usize| match self.dies[*die].current {
            NONE => None,
            id => Some(self.ops[id].sequence),
        };
        due.min_by_key(sequence).expect("the first die of the calendar is due")
    }

    /// Places the operation of a die, which asks for its channel now, so that its end is known.
    #[inline]
    fn place(&mut self, number: usize) {
        let die = &mut self.dies[number];
        let (id, now) = (die.current, self.now);
        debug_assert!(die.start <= now, "an operation has started when it asks for its channel");
        let op = &self.ops[id];
        let end = if op.kind == Kind::Erase || !self.asks_after_sensing {
            now + op.times.array_ns
        } else {
            let channel = &mut self.channels[die.channel as usize];
            let begin = channel.free_at.max(now);
            channel.history.forget(now);
            if op.task == Task::Host {
                channel.history.add_held(now, begin, &mut die.waited);
            }
            channel.free_at = begin + op.times.transfer_ns;
            channel.history.hold(begin, channel.free_at, op.task);
            channel.free_at + if op.kind == Kind::Program { op.times.array_ns } else { 0 }
        };
        die.history.hold(die.start, end, op.task);
        die.free_at = end;
        self.operations += 1;
        if op.is_alone {
            die.last_read = (op.block, end);
            let (command, breakdown) = (op.command, op.times.breakdown(op.kind, &die.waited, 0));
            die.current = NONE;
            let time = die.look_for_next(&self.ops, now, self.asks_after_sensing);
            self.calendar.set_or_clear(number, now, time);
            return self.ended_alone(id, command, end, breakdown);
        }
        // The die counts as taken until every waiter knows the end.
        let waited = die.waited;
        self.ended(id, end, &waited);
        let die = &mut self.dies[number];
        die.current = NONE;
        let time = die.look_for_next(&self.ops, now, self.asks_after_sensing);
        self.calendar.set_or_clear(number, now, time);
        self.wake_dies();
    }
}
