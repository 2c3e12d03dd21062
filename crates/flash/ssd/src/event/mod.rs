//! The event scheduler: an operation waits for what it depends on, then queues at processors, dies and channels, which
//! are granted by class or by the order of arrival.
//!
//! A read senses while its die is busy and then moves its data over the channel with the die held. A program moves its
//! data first. A die runs one operation at a time and a channel one transfer; dies of a channel sense in parallel. At
//! each instant all ends are handled before anything is granted. Of operations that came at the same time the one with
//! the lower sequence number goes first; of ends, those of dies before those of channels, each in their order.
//!
//! It never stalls. Whatever an operation waits for outside the queues has a lower sequence number: dependencies point
//! back in history; a collection holds back only what was submitted after its last operation; a write waits in the cache
//! for the programs of earlier writes. So the unfinished operation with the lowest number waits only in a queue, queues
//! are finite, and every operation that runs ends.

mod collection;
mod completion;
mod entry;
mod grant;
#[cfg(test)]
pub(crate) mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_nand::{FlashOp, Task};
use wane_units::{DieId, Geometry};

use crate::calendar::{Calendar, NEVER};
use crate::command::{Breakdown, Command, CommandKind, Completion};
use crate::config::{Collection, ConfigError, Link, Order, ReadPriority, SchedulerConfig, Timing, check};
use crate::depend::Graph;
use crate::node::{CLASSES, ClassQueues, Node, Usage, Utilization};
use crate::saved;
use crate::slab::{NONE, Slab};
use crate::thermal::{Heat, Thermal};
use crate::times::TimeTable;

/// Events that [`EventScheduler::work`] runs in one call: a few milliseconds.
const STEPS_AT_ONCE: usize = 1 << 14;

/// Places operations on dies and channels by events. See the head of this file.
#[derive(Clone, Debug)]
pub struct EventScheduler {
    times: TimeTable,
    geometry: Geometry,
    config: SchedulerConfig,
    /// Number of the class queue of each task: that of its reads, then that of its programs and erases.
    ranks: [[u8; 2]; CLASSES],
    now: u64,
    sequence: u64,
    submitted: u64,
    operations: u64,
    buffered_reads: u64,
    outstanding: u64,
    outstanding_time: u128,
    outstanding_since: u64,
    nodes: Slab<Node>,
    commands: Slab<Entry>,
    graph: Graph,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// One slot a die: its array works, or one of its pages is on the channel, never both. Events are numbered: first the ends on
    /// dies (of array operations and interruptions), then those on channels. Ends at the same instant are handled by number,
    /// which decides which command crosses the link first and which page of a command counts as its last.
    calendar: Calendar,
    /// What happens outside dies and channels.
    later: BinaryHeap<Reverse<(u64, u64, Later)>>,
    later_made: u64,
    firmware: Option<FirmwareQueue>,
    link: Option<LinkQueue>,
    heat: Option<Box<Heat>>,
    dirty_dies: Vec<u32>,
    dirty_channels: Vec<u32>,
    scratch: Vec<u32>,
    /// Commands that are done and not handed out, by time and then by submission.
    done: VecDeque<Done>,
    /// When the last command was done that was handed out.
    handed_at: u64,
    /// Operations of each task that are not done.
    alive: [u64; CLASSES],
    #[cfg(test)]
    log: Vec<tests::Logged>,
}

/// A host command that was not handed out, or whose operations are not done.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// What the submission says of it. Its end is added once that has come.
    completion: Completion,
    number: u64,
    /// None of its operations is left.
    is_over: bool,
    is_handed: bool,
}

/// A command that is done: its time, the number of its submission, and its slot.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Done {
    at: u64,
    number: u64,
    command: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    Idle,
    /// Data of programs are on their way in.
    Loading,
    /// Sensing, programming or erasing.
    Array,
    /// An operation is being interrupted.
    Suspending,
    /// Data of reads are on their way out.
    Unloading,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Die {
    #[serde(skip)]
    channel: u32,
    phase: Phase,
    dirty: bool,
    /// First operation that runs; those that run with it follow by [`Node::next_in_batch`].
    batch: u32,
    /// Number of the batch's transfers still to come.
    left: u32,
    ends: u64,
    /// First operation that was interrupted.
    suspended: u32,
    /// Time that the interrupted operation still needs.
    remaining: u64,
    usage: Usage,
    queues: ClassQueues,
    /// Operations with a higher sequence number wait for a collection that has begun.
    gate: u64,
    begun: Vec<u32>,
    /// Operations that the collection holds back, in order.
    held: VecDeque<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Channel {
    current: u32,
    dirty: bool,
    usage: Usage,
    queues: ClassQueues,
}

/// Operations that wait for one of the processors, each of which decides on one at a time.
#[derive(Clone, Debug)]
struct FirmwareQueue {
    /// Idle processors.
    free: u32,
    think_ns: u64,
    queues: ClassQueues,
}

/// Commands that the drive is done with. They cross the link one after the other.
#[derive(Clone, Debug)]
struct LinkQueue {
    config: Link,
    /// When the last of them has crossed it.
    free_at: u64,
    /// Time on the link of all commands that are not done.
    owed_ns: u64,
    /// Commands that the drive is done with, in order.
    crossing: VecDeque<(u32, Breakdown)>,
}

impl FirmwareQueue {
    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("processors.free", &mut self.free)?;
        archive.field("processors.queues", &mut self.queues)
    }
}

impl LinkQueue {
    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("link.free-at", &mut self.free_at)?;
        archive.field("link.owed", &mut self.owed_ns)?;
        archive.field("link.crossing", &mut self.crossing)
    }

    fn new(config: Link) -> Self {
        Self { config, free_at: 0, owed_ns: 0, crossing: VecDeque::new() }
    }

    fn time_of(&self, kind: CommandKind, bytes: u64) -> u64 {
        if kind == CommandKind::Trim { 0 } else { self.config.crossing_ns(bytes) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Later {
    ProcessorDone(u32),
    Buffered(u32),
    Acknowledged(u32),
    Crossed,
}

impl EventScheduler {
    /// Makes a scheduler for flash of this geometry.
    ///
    /// # Errors
    /// A time or count is out of range.
    pub fn new(geometry: &Geometry, timing: Timing, config: SchedulerConfig) -> Result<Self, ConfigError> {
        check(&timing, &config)?;
        let dies = (0..geometry.dies()).map(|die| Die::new(geometry.channel_of(DieId(die)).0)).collect::<Vec<_>>();
        let channel = Channel { current: NONE, dirty: false, usage: Usage::new(), queues: ClassQueues::new() };
        let ranks = ranks(&config);
        Ok(Self {
            times: TimeTable::new(timing),
            geometry: *geometry,
            graph: Graph::new(geometry, &config, ranks.map(|[_, others]| others)),
            ranks,
            now: 0,
            sequence: 0,
            submitted: 0,
            operations: 0,
            buffered_reads: 0,
            outstanding: 0,
            outstanding_time: 0,
            outstanding_since: 0,
            nodes: Slab::new(),
            commands: Slab::new(),
            calendar: Calendar::with_events(dies.len(), dies.len() + geometry.channels() as usize),
            dies,
            channels: vec![channel; geometry.channels() as usize],
            later: BinaryHeap::new(),
            later_made: 0,
            firmware: config.processors.map(|processors| FirmwareQueue {
                free: processors.count,
                think_ns: processors.think_ns,
                queues: ClassQueues::new(),
            }),
            link: config.link.map(LinkQueue::new),
            heat: None,
            dirty_dies: Vec::new(),
            dirty_channels: Vec::new(),
            scratch: Vec::new(),
            done: VecDeque::new(),
            handed_at: 0,
            alive: [0; CLASSES],
            config,
            #[cfg(test)]
            log: Vec::new(),
        })
    }

    /// The same scheduler with heat.
    pub fn with_thermal(self, thermal: Thermal) -> Self {
        Self { heat: Some(Box::new(Heat::new(thermal))), ..self }
    }

    /// As [`crate::Scheduler::is_new`].
    pub(crate) fn is_new(&self) -> bool {
        self.submitted == 0 && self.now == 0 && self.graph.changes_seen() == 0
    }

    /// As [`crate::Scheduler::archive`].
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        debug_assert!(self.dirty_dies.is_empty(), "between two calls every free die was granted");
        debug_assert!(self.dirty_channels.is_empty(), "between two calls every free channel was granted");
        archive.field("schedule.now", &mut self.now)?;
        archive.field("schedule.sequence", &mut self.sequence)?;
        archive.field("schedule.submitted", &mut self.submitted)?;
        archive.field("schedule.operations", &mut self.operations)?;
        archive.field("schedule.buffered-reads", &mut self.buffered_reads)?;
        archive.field("schedule.outstanding", &mut self.outstanding)?;
        archive.field("schedule.outstanding-time", &mut self.outstanding_time)?;
        archive.field("schedule.outstanding-since", &mut self.outstanding_since)?;
        self.nodes.archive(archive, "schedule.nodes")?;
        self.commands.archive(archive, "schedule.commands")?;
        self.graph.archive(archive)?;
        saved::table(archive, "schedule.dies", &mut self.dies, |new, die| die.channel = new.channel)?;
        saved::table(archive, "schedule.channels", &mut self.channels, |_, _| {})?;
        self.calendar.archive(archive)?;
        saved::heap(archive, "schedule.later", &mut self.later)?;
        archive.field("schedule.later-made", &mut self.later_made)?;
        archive.optional("schedule.processors", &mut self.firmware, FirmwareQueue::archive)?;
        archive.optional("schedule.link", &mut self.link, LinkQueue::archive)?;
        archive.optional("schedule.heat", &mut self.heat, |heat, archive| heat.archive_since(archive))?;
        archive.field("schedule.done", &mut self.done)?;
        archive.field("schedule.handed-at", &mut self.handed_at)?;
        archive.field("schedule.alive", &mut self.alive)
    }

    pub(crate) fn heat(&self) -> Option<&Heat> {
        self.heat.as_deref()
    }

    pub(crate) fn heat_mut(&mut self) -> Option<&mut Heat> {
        self.heat.as_deref_mut()
    }

    /// Sets the heat to that of another scheduler's drive.
    pub(crate) fn set_heat(&mut self, heat: Heat) {
        self.heat = Some(Box::new(heat));
    }

    /// Takes a command and its flash operations. Calls come in the order of `at`, which must be no earlier than the last
    /// completion handed out.
    pub fn submit(&mut self, at: u64, command: Command, ops: &[FlashOp]) {
        assert!(at >= self.now, "a command is submitted at {at} ns, before {} ns", self.now);
        self.run(at);
        self.now = at;
        self.count_outstanding();
        self.outstanding += 1;
        if let Some(link) = &mut self.link {
            link.owed_ns += link.time_of(command.kind, command.bytes);
        }
        let number = self.submitted;
        self.submitted += 1;
        let Command { token, kind, bytes } = command;
        let entry = self.commands.insert(Entry {
            completion: Completion { token, kind, bytes, submitted_at: at, at, breakdown: Breakdown::default() },
            number,
            is_over: false,
            is_handed: false,
        });
        self.graph.begin(at, entry, &command);
        let mut rest = ops;
        while !rest.is_empty() {
            let (next, after) = self.graph.next_of(at, &self.geometry, rest);
            if let Some(op) = after.first() {
                self.graph.prefetch_block(op.block);
            }
            next.iter().for_each(|op| self.add(entry, op));
            rest = after;
        }
        self.graph.close(at, entry);
        self.take_news();
        self.grant();
    }

    /// The next command that is done at or before `until`, in the order of time; ties go in the order of submission. If there is
    /// none, the drive runs up to `until`.
    pub fn next_completion(&mut self, until: u64) -> Option<&Completion> {
        loop {
            let next = self.next_event();
            // Nothing that still happens at that instant may come before it.
            if let Some(Done { at, command, .. }) = self.done.front().copied()
                && at < next
            {
                if at > until {
                    return None;
                }
                self.done.pop_front();
                return Some(self.deliver(at, command));
            }
            if next > until {
                return None;
            }
            if next == NEVER {
                return None;
            }
            self.step(next);
        }
    }

    /// Hands out a command that is done.
    #[inline]
    fn deliver(&mut self, at: u64, command: u32) -> &Completion {
        debug_assert!(self.handed_at <= at, "completions come in the order of time");
        self.handed_at = at;
        let entry = &mut self.commands[command];
        debug_assert!(!entry.is_handed, "a command is handed out once");
        entry.is_handed = true;
        if entry.is_over {
            self.commands.release(command);
        }
        &self.commands[command].completion
    }

    /// As [`crate::Scheduler::next_at`].
    pub fn next_at(&self) -> Option<u64> {
        let done = self.done.front().map(|done| done.at);
        let next = self.next_event();
        (self.outstanding > 0 || done.is_some()).then(|| done.unwrap_or(NEVER).min(next))
    }

    /// As [`crate::Scheduler::next_work_at`].
    pub fn next_work_at(&self) -> Option<u64> {
        Some(self.next_event()).filter(|next| *next != NEVER)
    }

    /// As [`crate::Scheduler::work`].
    pub fn work(&mut self, until: u64) -> bool {
        for _ in 0..STEPS_AT_ONCE {
            let next = self.next_event();
            let is_ready = self.done.front().is_some_and(|done| done.at < next);
            if is_ready || next > until || next == NEVER {
                return false;
            }
            self.step(next);
        }
        true
    }

    /// Time of the last event or submission, ns.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Operations of a task that are not done.
    pub fn outstanding_of(&self, task: Task) -> u64 {
        self.alive[task as usize]
    }

    /// Commands that are not done.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// The integral over time, in ns, of the number of commands that were not done. By Little's law it is the sum of all
    /// latencies once every command is done.
    pub fn outstanding_time_ns(&self) -> u128 {
        self.outstanding_time + u128::from(self.outstanding) * u128::from(self.now - self.outstanding_since)
    }

    /// Flash operations executed.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Number of flash operations that are not done, including those served from the buffer.
    pub fn operations_pending(&self) -> u64 {
        self.nodes.live() as u64
    }

    /// Time, in ns, that the link needs until this command and all that are not done have crossed it.
    pub(crate) fn link_ns(&self, command: &Command) -> u64 {
        self.link.as_ref().map_or(0, |link| link.owed_ns.saturating_add(link.time_of(command.kind, command.bytes)))
    }

    /// As [`crate::Scheduler::run_out`].
    pub fn run_out(&mut self) -> u64 {
        self.run(NEVER - 1);
        self.now
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

    /// How long dies and channels were held so far, and for which task.
    pub fn utilization(&self) -> Utilization {
        Utilization::of(
            self.now,
            self.dies.iter().map(|die| &die.usage),
            self.channels.iter().map(|channel| &channel.usage),
        )
    }

    /// Number of records that were ever alive at once, with which memory grows.
    pub fn slots(&self) -> usize {
        self.nodes.slots() + self.commands.slots() + self.graph.slots()
    }

    #[inline]
    fn count_outstanding(&mut self) {
        if self.outstanding_since != self.now {
            self.outstanding_time = self.outstanding_time_ns();
            self.outstanding_since = self.now;
        }
    }

    #[inline]
    fn next_event(&self) -> u64 {
        let later = self.later.peek().map_or(NEVER, |Reverse((time, ..))| *time);
        self.calendar.earliest().min(later)
    }

    fn run(&mut self, until: u64) {
        loop {
            let next = self.next_event();
            if next > until || next == NEVER {
                return;
            }
            self.step(next);
        }
    }

    /// Handles everything that ends at `now`, then grants.
    fn step(&mut self, now: u64) {
        debug_assert!(now >= self.now, "events happen in the order of time");
        self.now = now;
        while self.calendar.earliest() == now {
            let event = self.calendar.first();
            match event.checked_sub(self.dies.len()) {
                None => self.die_ends(event),
                Some(channel) => self.transfer_ends(channel),
            }
            // The function that handles an end clears the slot or sets it anew.
            debug_assert!(self.calendar.earliest() != now || self.calendar.first() != event, "an end is handled once");
        }
        while let Some(Reverse((time, _, event))) = self.later.peek()
            && *time == now
        {
            let event = *event;
            self.later.pop();
            match event {
                Later::ProcessorDone(id) => self.processor_done(id),
                Later::Buffered(id) => self.complete(id),
                Later::Acknowledged(command) => self.finish_known(command),
                Later::Crossed => self.crossed(),
            }
        }
        self.grant();
    }

    fn at_later(&mut self, time: u64, event: Later) {
        self.later.push(Reverse((time, self.later_made, event)));
        self.later_made += 1;
    }
}

impl Die {
    fn new(channel: u32) -> Self {
        Self {
            channel,
            phase: Phase::Idle,
            dirty: false,
            batch: NONE,
            left: 0,
            ends: 0,
            suspended: NONE,
            remaining: 0,
            usage: Usage::new(),
            queues: ClassQueues::new(),
            gate: u64::MAX,
            begun: Vec::new(),
            held: VecDeque::new(),
        }
    }
}

/// The queues of each task: for its reads, and for the rest. Host reads have a queue of their own because they may overtake or
/// suspend.
fn ranks(config: &SchedulerConfig) -> [[u8; 2]; CLASSES] {
    Task::ALL.map(|task| match (task, config.order) {
        (Task::Host, _) => [0, 1],
        (_, Order::FirstCome) => [1, 1],
        (Task::GarbageCollection, _) if config.collection == Collection::Foreground => [1, 1],
        (Task::GarbageCollection, _) => [2, 2],
        (Task::Scrub, _) => [3, 3],
        (Task::WearLeveling, _) => [4, 4],
    })
}

impl SchedulerConfig {
    fn reads_overtake(&self) -> bool {
        self.read_priority == ReadPriority::Yes
    }
}
