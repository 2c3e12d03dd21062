//! The plain scheduler. Operations of a die run in the order in which they could, whatever their task, and a channel moves data
//! in the order in which they are ready.
//!
//! It gives the same results as the event scheduler where both apply ([`crate::Order::FirstCome`],
//! [`crate::Collection::Foreground`], nothing suspended, one plane at a time), with one event an operation instead of four. That
//! event is the moment at which an operation asks for its channel. Channels are granted in the order of these moments, so the end
//! of the operation is known then, ahead of time, and with it the start of the next one on the die. What depends on the operation
//! learns its end at once, and enters its own queue at that later time.
//!
//! Nothing may be booked earlier than that. A transfer that is booked when the command comes, for a time far ahead, leaves gaps
//! in the channel's time that no other transfer fits into. Channels then stay below Rényi's parking constant, 0.748.

mod die;
mod entry;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_nand::{FlashOp, Task};
use wane_units::{DieId, Geometry};

use crate::calendar::{Calendar, NEVER};
use crate::command::{Breakdown, Command, CommandKind, Completion};
use crate::config::{
    Collection, ConfigError, MultiPlane, Order, ReadPriority, SchedulerConfig, Suspend, Timing, check,
};
use crate::depend::Graph;
use crate::due::Due;
use crate::node::{CLASSES, Utilization};
use crate::saved;
use crate::slab::Slab;
use crate::times::TimeTable;
use die::{Channel, Die};
use entry::{Entry, Op};

/// Events that [`Timeline::work`] runs in one call: a few milliseconds.
const STEPS_AT_ONCE: usize = 1 << 15;

/// Places operations on dies and channels. See the head of this file.
#[derive(Clone, Debug)]
pub struct Timeline {
    times: TimeTable,
    /// Whether there are channels. A read asks for its channel once it has sensed.
    asks_after_sensing: bool,
    geometry: Geometry,
    now: u64,
    sequence: u64,
    submitted: u32,
    operations: u64,
    buffered_reads: u64,
    /// Latencies of the commands handed out, ns.
    latencies: u128,
    /// Sum of the submission times of the other commands.
    submissions: u128,
    /// Commands that were not handed out.
    outstanding: u64,
    ops: Slab<Op>,
    commands: Slab<Entry>,
    graph: Graph,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Next event of each die: its operation asks for the channel, or it chooses an operation.
    calendar: Calendar,
    /// What happens outside dies and channels, by time.
    later: BinaryHeap<Reverse<(u64, Later)>>,
    foretold: u64,
    processors: Option<Processors>,
    idle_dies: Vec<u32>,
    /// Commands whose end is known. Of those that end together, the one submitted first comes first.
    done: Due,
    /// Number of each task's operations whose end is not known, and the latest end of the others.
    unplaced: [u64; CLASSES],
    busy_until: [u64; CLASSES],
}

/// Processors in front of the dies: the time at which each is free.
#[derive(Clone, Debug)]
struct Processors {
    free: BinaryHeap<Reverse<u64>>,
    think_ns: u64,
}

impl Processors {
    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("processors.count", &(self.free.len() as u32))?;
        saved::heap(archive, "processors.free", &mut self.free)
    }
}

/// Events outside dies and channels. At the same time they happen in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Later {
    /// Something ends, in the order in which the ends became known.
    End { number: u64, end: End },
    /// An operation comes to the processors.
    Think { sequence: u64, id: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum End {
    /// A program that makes room in the write cache.
    Leave { command: u32, bytes: u32 },
    /// The transfer of a page from the controller's buffer.
    Buffered(u32),
}

impl Timeline {
    /// Makes a timeline for flash of this geometry. Processors and the write cache work as in the event scheduler.
    ///
    /// # Errors
    /// A time or count is out of range, or the configuration asks for what only the event scheduler does.
    pub fn new(geometry: &Geometry, timing: Timing, config: SchedulerConfig) -> Result<Self, ConfigError> {
        check(&timing, &config)?;
        refuse(&config)?;
        let dies: Vec<Die> = (0..geometry.dies()).map(|die| Die::new(geometry.channel_of(DieId(die)).0)).collect();
        let channel = |channel: u32| {
            let of_it = (0..geometry.dies()).filter(|die| geometry.channel_of(DieId(*die)).0 == channel);
            Channel::new(of_it.collect())
        };
        Ok(Self {
            now: 0,
            sequence: 0,
            submitted: 0,
            operations: 0,
            buffered_reads: 0,
            latencies: 0,
            submissions: 0,
            outstanding: 0,
            ops: Slab::new(),
            commands: Slab::new(),
            // Everything that is not a host read stands in one queue.
            graph: Graph::new(geometry, &config, [0; CLASSES]),
            asks_after_sensing: timing.channel_bytes_per_second.is_some(),
            geometry: *geometry,
            channels: (0..geometry.channels()).map(channel).collect(),
            calendar: Calendar::new(dies.len()),
            dies,
            later: BinaryHeap::new(),
            foretold: 0,
            processors: config.processors.map(|processors| Processors {
                free: (0..processors.count).map(|_| Reverse(0)).collect(),
                think_ns: processors.think_ns,
            }),
            idle_dies: Vec::new(),
            done: Due::new(),
            unplaced: [0; CLASSES],
            busy_until: [0; CLASSES],
            times: TimeTable::new(timing),
        })
    }

    /// As [`crate::Scheduler::is_new`].
    pub(crate) fn is_new(&self) -> bool {
        self.submitted == 0 && self.now == 0 && self.graph.changes_seen() == 0
    }

    /// As [`crate::Scheduler::archive`].
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        debug_assert!(self.idle_dies.is_empty(), "between two calls every idle die has chosen");
        archive.field("schedule.now", &mut self.now)?;
        archive.field("schedule.sequence", &mut self.sequence)?;
        archive.field("schedule.submitted", &mut self.submitted)?;
        archive.field("schedule.operations", &mut self.operations)?;
        archive.field("schedule.buffered-reads", &mut self.buffered_reads)?;
        archive.field("schedule.latencies", &mut self.latencies)?;
        archive.field("schedule.submissions", &mut self.submissions)?;
        archive.field("schedule.outstanding", &mut self.outstanding)?;
        self.ops.archive(archive, "schedule.nodes")?;
        self.commands.archive(archive, "schedule.commands")?;
        self.graph.archive(archive)?;
        saved::table(archive, "schedule.dies", &mut self.dies, |new, die| die.channel = new.channel)?;
        saved::table(archive, "schedule.channels", &mut self.channels, |new, channel| channel.keep_dies(new))?;
        self.calendar.archive(archive)?;
        saved::heap(archive, "schedule.later", &mut self.later)?;
        archive.field("schedule.foretold", &mut self.foretold)?;
        archive.optional("schedule.processors", &mut self.processors, Processors::archive)?;
        self.done.archive(archive)?;
        archive.field("schedule.unplaced", &mut self.unplaced)?;
        archive.field("schedule.busy-until", &mut self.busy_until)
    }

    /// As [`crate::EventScheduler::submit`].
    #[inline]
    pub fn submit(&mut self, at: u64, command: Command, ops: &[FlashOp]) {
        assert!(at >= self.now, "a command is submitted at {at} ns, before {} ns", self.now);
        self.run(at);
        self.now = at;
        self.submissions += u128::from(at);
        self.outstanding += 1;
        let Command { token, kind, bytes } = command;
        let entry = self.commands.insert(Entry {
            completion: Completion { token, kind, bytes, submitted_at: at, at, breakdown: Breakdown::default() },
            number: self.submitted,
            is_over: false,
            is_handed: false,
        });
        self.submitted = self.submitted.wrapping_add(1);
        // Most of the commands, where little is written.
        let is_alone = match ops {
            [op] if command.kind == CommandKind::Read => self.add_alone(entry, op),
            _ => false,
        };
        if !is_alone {
            self.submit_any(entry, &command, ops);
        }
        self.wake_dies();
    }

    fn submit_any(&mut self, entry: u32, command: &Command, ops: &[FlashOp]) {
        self.graph.begin(self.now, entry, command);
        let mut rest = ops;
        while !rest.is_empty() {
            let (next, after) = self.graph.next_of(self.now, &self.geometry, rest);
            next.iter().for_each(|op| self.add(entry, op));
            rest = after;
        }
        self.graph.close(self.now, entry);
        self.take_news();
    }

    /// Records that a command will be done at `end`.
    #[inline]
    fn finish(&mut self, command: u32, end: u64, breakdown: Breakdown) {
        let Entry { completion, number, .. } = &mut self.commands[command];
        (completion.at, completion.breakdown) = (end, breakdown);
        debug_assert_eq!(breakdown.total_ns(), completion.latency_ns(), "the parts add up");
        self.done.insert(end, *number, command);
    }

    /// Marks a command of which no operation is left to place. Its slot is free once it was handed out.
    #[inline]
    fn leave_command(&mut self, command: u32) {
        let entry = &mut self.commands[command];
        debug_assert!(!entry.is_over, "the last operation of a command is placed once");
        entry.is_over = true;
        if entry.is_handed {
            self.commands.release(command);
        }
    }

    /// As [`crate::EventScheduler::next_completion`].
    #[inline]
    pub fn next_completion(&mut self, until: u64) -> Option<&Completion> {
        while let Some(next) = self.next_before_done(until) {
            self.step(next);
        }
        let (at, command) = self.done.remove(until)?;
        self.now = self.now.max(at);
        self.outstanding -= 1;
        let entry = &mut self.commands[command];
        debug_assert!(!entry.is_handed, "a command is handed out once");
        entry.is_handed = true;
        if entry.is_over {
            self.commands.release(command);
        }
        let completion = &self.commands[command].completion;
        self.latencies += u128::from(completion.latency_ns());
        self.submissions -= u128::from(completion.submitted_at);
        Some(completion)
    }

    /// As [`crate::Scheduler::next_at`].
    pub fn next_at(&self) -> Option<u64> {
        (self.outstanding > 0).then(|| self.done.earliest().unwrap_or(NEVER).min(self.next_event()))
    }

    /// As [`crate::Scheduler::work`].
    pub fn work(&mut self, until: u64) -> bool {
        for _ in 0..STEPS_AT_ONCE {
            match self.next_before_done(until) {
                Some(next) => self.step(next),
                None => return false,
            }
        }
        true
    }

    /// As [`crate::Scheduler::pass_to`].
    pub fn pass_to(&mut self, at: u64) {
        self.run(at);
        self.now = self.now.max(at);
    }

    /// As [`crate::Scheduler::next_work_at`].
    pub fn next_work_at(&self) -> Option<u64> {
        let ends = self.busy_until.iter().copied().filter(|until| *until > self.now);
        ends.chain(Some(self.next_event())).min().filter(|next| *next != NEVER)
    }

    /// Time of the last completion handed out or submission, ns.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Number of a task's operations whose end is not known, plus one while a known end lies ahead.
    pub fn outstanding_of(&self, task: Task) -> u64 {
        self.unplaced[task as usize] + u64::from(self.busy_until[task as usize] > self.now)
    }

    /// Commands that were not handed out.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// As [`crate::EventScheduler::outstanding_time_ns`].
    pub fn outstanding_time_ns(&self) -> u128 {
        self.latencies + u128::from(self.now) * u128::from(self.outstanding) - self.submissions
    }

    /// Flash operations placed.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Flash operations whose end is not known.
    pub fn operations_pending(&self) -> u64 {
        self.ops.live() as u64
    }

    /// The latest of all known ends, ns.
    #[inline]
    pub fn busy_until(&self) -> u64 {
        self.busy_until.iter().fold(0, |latest, end| latest.max(*end))
    }

    /// As [`crate::Scheduler::run_out`].
    pub fn run_out(&mut self) -> u64 {
        self.run(NEVER - 1);
        self.busy_until().max(self.now)
    }

    /// The operations that are not done, and what they wait for.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The same, to track changes in it.
    pub(crate) fn graph_mut(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// Number of host reads that went to the rest of their stripe because their die collected.
    pub fn reads_around(&self) -> u64 {
        self.graph.reads_around()
    }

    /// Reads served from the controller's buffer.
    pub fn buffered_reads(&self) -> u64 {
        self.buffered_reads
    }

    /// How long dies and channels are held by everything placed so far.
    pub fn utilization(&self) -> Utilization {
        let ends = self.dies.iter().map(|die| die.free_at).max().unwrap_or(0).max(self.now);
        Utilization::of(
            ends,
            self.dies.iter().map(|die| &die.history.usage),
            self.channels.iter().map(|channel| &channel.history.usage),
        )
    }

    /// Number of records that were ever alive at once, with which memory grows.
    pub fn slots(&self) -> usize {
        self.ops.slots()
            + self.commands.slots()
            + self.graph.slots()
            + self.dies.iter().map(|die| die.history.records()).sum::<usize>()
            + self.channels.iter().map(|channel| channel.history.records()).sum::<usize>()
    }

    #[inline]
    fn next_event(&self) -> u64 {
        let later = self.later.peek().map_or(NEVER, |Reverse((time, ..))| *time);
        self.calendar.earliest().min(later)
    }

    /// The next event up to `until` that may come before the first command that is done. An operation that is still to be placed
    /// at the instant at which that command ends may end at the same instant.
    #[inline]
    fn next_before_done(&self, until: u64) -> Option<u64> {
        let (next, done) = (self.next_event(), self.done.earliest().unwrap_or(NEVER));
        (next <= done.min(until) && next != NEVER).then_some(next)
    }

    #[inline]
    fn run(&mut self, until: u64) {
        loop {
            let next = self.next_event();
            if next > until || next == NEVER {
                return;
            }
            self.step(next);
        }
    }

    /// Handles what happens outside dies at `at`, or otherwise the next event of a die.
    #[inline]
    fn step(&mut self, at: u64) {
        debug_assert!(at >= self.now, "events happen in the order of time");
        self.now = at;
        if let Some(Reverse((time, ..))) = self.later.peek()
            && *time == at
        {
            self.step_later();
        } else {
            self.step_die(self.calendar.first());
        }
    }

    #[cold]
    fn step_later(&mut self) {
        let Some(Reverse((_, event))) = self.later.pop() else { return };
        match event {
            Later::End { end: End::Leave { command, bytes }, .. } => {
                self.graph.make_room(self.now, command, bytes);
                self.take_news();
            }
            Later::End { end: End::Buffered(id), .. } => self.ended(id, self.now, &[0; CLASSES]),
            Later::Think { id, .. } => self.think(id),
        }
        self.wake_dies();
    }

    fn at_later(&mut self, time: u64, end: End) {
        self.later.push(Reverse((time, Later::End { number: self.foretold, end })));
        self.foretold += 1;
    }

    /// Gives an operation to the first processor that is free.
    fn think(&mut self, id: u32) {
        let Some(processors) = &mut self.processors else { return };
        let Reverse(free) = processors.free.pop().expect("at least one processor was asked for");
        let op = &mut self.ops[id];
        let decided = free.max(op.entered) + processors.think_ns;
        op.entered = decided;
        processors.free.push(Reverse(decided));
        self.queue_at_die(id);
    }
}

fn refuse(config: &SchedulerConfig) -> Result<(), ConfigError> {
    let needs = [
        ("order", "priority", config.order == Order::Priority),
        ("read-priority", "yes", config.read_priority == ReadPriority::Yes),
        ("suspend", "program or erase", config.suspend != Suspend::None),
        ("collection", "background", config.collection == Collection::Background),
        ("collection", "preemptible", config.collection == Collection::Preemptible),
        ("collection", "rotating", config.collection == Collection::Rotating),
        ("multi-plane", "on", config.multi_plane == MultiPlane::On),
        ("link", "a rate or a command time", config.link.is_some()),
    ];
    match needs.into_iter().find(|(_, _, asked)| *asked) {
        Some((name, found, _)) => Err(ConfigError::NeedsEvents { name, found }),
        None => Ok(()),
    }
}
