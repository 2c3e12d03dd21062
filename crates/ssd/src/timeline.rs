//! The plain scheduler: every die and channel knows until when it is busy, and an operation gets its time when it is
//! submitted.
//!
//! Operations of a die run in the order they were made, whoever they work for; a program starts when the relocation reads
//! into it have ended, an erase when the relocations before it have. A channel remembers a few of the gaps that waiting
//! dies leave in its time and fills them, so that a program that starts late does not shut a channel that is free now.
//! Waiting for a die is told by class exactly; waiting for a channel counts for the class of its latest transfer.

mod place;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wane_nand::{FlashOp, OpKind, Purpose, Task};
use wane_units::{DieId, Geometry};

use crate::command::{Breakdown, Command, CommandKind, Completion};
use crate::config::{
    Collection, ConfigError, MultiPlane, Order, ReadPriority, SchedulerConfig, Suspend, Timing, WriteCache, check,
};
use crate::due::Due;
use crate::node::{CLASSES, Utilization};
use place::{Channel, Die};

/// Places operations when they are submitted. See the head of this file.
#[derive(Clone, Debug)]
pub struct Timeline {
    timing: Timing,
    now: u64,
    operations: u64,
    buffered_reads: u64,
    /// Latencies of the commands handed out, ns.
    latencies: u128,
    /// Submission times of the others, summed.
    submissions: u128,
    blocks: Vec<Block>,
    geometry: Geometry,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Ends of each task's relocations up to the erases that they allow.
    relocated: [u64; CLASSES],
    erasing: [bool; CLASSES],
    /// End of the last program that was placed, of all.
    programmed: u64,
    /// End of the last read that was not for recovery, and, where it was the host's and needed recovery, what it cost.
    last_read: u64,
    failed_read: Breakdown,
    /// When each processor is free, and the next one's number: with a fixed time each, the one used longest ago.
    processors: Vec<u64>,
    processor: usize,
    think_ns: u64,
    cache: Option<Cache>,
    /// Commands that were not handed out, by when they are done; of those done together, the one submitted first.
    done: Due<Completion>,
    transfer: (u32, u64),
    /// Transfers of the present command's pages from the controller's buffer.
    handed_ns: u64,
    /// When the last operation of each task ends.
    busy_until: [u64; CLASSES],
    /// No read takes the short way.
    #[cfg(test)]
    long_way: bool,
}

#[derive(Clone, Debug)]
struct Block {
    /// Pages programmed in the world of state, and how many of them are not done.
    issued: u32,
    pending: u32,
    /// End of the relocation reads that the next program waits for.
    gathered: u64,
}

#[derive(Clone, Debug)]
struct Cache {
    config: WriteCache,
    used: u64,
    loose: u64,
    /// The last admission.
    admitted: u64,
    /// When bytes leave.
    leaving: BinaryHeap<Reverse<(u64, u64)>>,
}

/// The host operation of a command that ends last.
#[derive(Clone, Copy)]
struct Last {
    at: u64,
    operations: u32,
    breakdown: Breakdown,
}

impl Timeline {
    /// A timeline for flash of this shape. Processors and the write cache work as with events.
    ///
    /// # Errors
    /// A time or count is out of range, or the configuration asks for what only the event scheduler does.
    pub fn new(geometry: &Geometry, timing: Timing, config: SchedulerConfig) -> Result<Self, ConfigError> {
        check(&timing, &config)?;
        refuse(&config)?;
        let blocks = geometry.blocks();
        let processors = config.processors.map_or(0, |processors| processors.count as usize);
        Ok(Self {
            busy_until: [0; CLASSES],
            timing,
            now: 0,
            operations: 0,
            buffered_reads: 0,
            latencies: 0,
            submissions: 0,
            blocks: vec![Block { issued: 0, pending: 0, gathered: 0 }; blocks as usize],
            geometry: *geometry,
            dies: (0..geometry.dies()).map(|die| Die::new(geometry.channel_of(DieId(die)).0)).collect(),
            channels: vec![Channel::new(); geometry.channels() as usize],
            relocated: [0; CLASSES],
            erasing: [false; CLASSES],
            programmed: 0,
            last_read: 0,
            failed_read: Breakdown::default(),
            processors: vec![0; processors],
            processor: 0,
            think_ns: config.processors.map_or(0, |processors| processors.think_ns),
            cache: config.write_cache.map(|config| Cache {
                config,
                used: 0,
                loose: 0,
                admitted: 0,
                leaving: BinaryHeap::new(),
            }),
            done: Due::new(),
            transfer: (0, 0),
            handed_ns: 0,
            #[cfg(test)]
            long_way: false,
        })
    }

    /// As [`crate::EventScheduler::submit`].
    #[inline]
    pub fn submit(&mut self, at: u64, command: Command, ops: &[FlashOp]) {
        assert!(at >= self.now, "a command is submitted at {at} ns, before {} ns", self.now);
        self.now = at;
        self.submissions += u128::from(at);
        if let [op] = ops
            && command.kind == CommandKind::Read
            && self.is_among_reads(at, op)
        {
            // Most of the commands, where little is written.
            let (done, breakdown) = self.place_among_reads(at, op);
            self.busy_until[Task::Host as usize] = self.busy_until[Task::Host as usize].max(done);
            self.expect(at, command, done, breakdown);
        } else {
            self.submit_any(at, command, ops);
        }
    }

    /// When dies, processors and the write cache will be done with everything placed so far, ns.
    #[inline]
    pub fn busy_until(&self) -> u64 {
        let admitted = self.cache.as_ref().map_or(0, |cache| cache.admitted);
        let busy = self.busy_until.iter().chain(&self.processors);
        busy.fold(admitted, |latest, end| latest.max(*end))
    }

    fn submit_any(&mut self, at: u64, command: Command, ops: &[FlashOp]) {
        let cached = self.cache.is_some() && command.kind == CommandKind::Write;
        let admitted = if cached { self.admit(at, command.bytes) } else { at };
        self.handed_ns = 0;
        let mut last = Last { at, operations: 0, breakdown: Breakdown::default() };
        let mut programs = (0, 0);
        for (number, op) in ops.iter().enumerate() {
            // Where the time went is told of the host's operations only.
            if op.task != Task::Host {
                let end = self.place::<false>(at, at, op, &mut Breakdown::default());
                self.busy_until[op.task as usize] = self.busy_until[op.task as usize].max(end);
                continue;
            }
            let ready = if op.kind == OpKind::Program { admitted } else { at };
            let mut breakdown = Breakdown::default();
            let end = self.place::<true>(at, ready, op, &mut breakdown);
            if op.kind == OpKind::Program {
                programs = (end.max(programs.0), programs.1 + 1);
            }
            if ops.get(number + 1).is_some_and(|next| next.kind == OpKind::Read(Purpose::Recover))
                && op.kind != OpKind::Read(Purpose::Recover)
            {
                self.failed_read = breakdown;
            }
            if end >= last.at {
                (last.at, last.breakdown) = (end, breakdown);
            }
            last.operations += 1;
        }
        self.busy_until[Task::Host as usize] = self.busy_until[Task::Host as usize].max(last.at);
        if let Some(cache) = &mut self.cache
            && programs.1 > 0
        {
            cache.leaving.push(Reverse((programs.0, std::mem::take(&mut cache.loose))));
        }
        let (done, breakdown) = self.conclude(at, admitted, command.kind, last);
        self.expect(at, command, done, breakdown);
    }

    /// A command will be done.
    #[inline]
    fn expect(&mut self, at: u64, command: Command, done: u64, breakdown: Breakdown) {
        let Command { token, kind, bytes } = command;
        let completion = Completion { token, kind, bytes, submitted_at: at, at: done, breakdown };
        debug_assert_eq!(breakdown.total_ns(), completion.latency_ns(), "the parts add up");
        self.done.insert(done, completion);
    }

    /// As [`crate::EventScheduler::next_completion`].
    #[inline]
    pub fn next_completion(&mut self, until: u64) -> Option<&Completion> {
        let (at, completion) = self.done.remove(until)?;
        self.now = self.now.max(at);
        self.latencies += u128::from(completion.latency_ns());
        self.submissions -= u128::from(completion.submitted_at);
        Some(completion)
    }

    /// As [`crate::Scheduler::next_at`]: exact.
    pub fn next_at(&self) -> Option<u64> {
        self.done.earliest()
    }

    /// As [`crate::Scheduler::pass_to`].
    pub fn pass_to(&mut self, at: u64) {
        self.now = self.now.max(at);
    }

    /// As [`crate::Scheduler::next_work_at`].
    pub fn next_work_at(&self) -> Option<u64> {
        self.busy_until.iter().copied().filter(|until| *until > self.now).min()
    }

    /// Time of the last completion handed out or submission, ns.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// 1 while operations of a task are not done, else 0: the timeline does not count them.
    pub fn outstanding_of(&self, task: Task) -> u64 {
        u64::from(self.busy_until[task as usize] > self.now)
    }

    /// Commands that were not handed out.
    pub fn outstanding(&self) -> u64 {
        self.done.len() as u64
    }

    /// As [`crate::EventScheduler::outstanding_time_ns`].
    pub fn outstanding_time_ns(&self) -> u128 {
        self.latencies + u128::from(self.now) * self.done.len() as u128 - self.submissions
    }

    /// Flash operations placed.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Reads served from the controller's buffer.
    pub fn buffered_reads(&self) -> u64 {
        self.buffered_reads
    }

    /// For how long dies and channels are held by everything placed so far.
    pub fn utilization(&self) -> Utilization {
        let ends = self.dies.iter().map(|die| die.busy_until).max().unwrap_or(0).max(self.now);
        Utilization::of(
            ends,
            self.dies.iter().map(|die| &die.usage),
            self.channels.iter().map(|channel| &channel.usage),
        )
    }

    /// Records that were ever alive at once: what memory grows with.
    pub fn slots(&self) -> usize {
        self.done.slots() + self.dies.iter().map(|die| die.pending.capacity()).sum::<usize>()
    }

    /// When a command is done, and where its time went.
    fn conclude(&self, at: u64, admitted: u64, kind: CommandKind, last: Last) -> (u64, Breakdown) {
        let cached = |done: u64| (done, Breakdown { cache_ns: done - at, ..Breakdown::default() });
        match (kind, &self.cache) {
            (CommandKind::Trim, _) => (at, Breakdown::default()),
            (CommandKind::Flush, _) => {
                let done = last.at.max(self.programmed).max(at);
                (done, Breakdown { dependency_ns: done - at, ..Breakdown::default() })
            }
            (CommandKind::Write, Some(cache)) => cached(admitted + cache.config.latency_ns),
            (CommandKind::Read, Some(cache)) if last.operations == 0 => cached(at + cache.config.latency_ns),
            _ => {
                let mut breakdown = last.breakdown;
                let rest = last.at - at - breakdown.total_ns();
                if kind == CommandKind::Read {
                    breakdown.gc_ns += rest;
                } else {
                    breakdown.dependency_ns = rest;
                }
                (last.at, breakdown)
            }
        }
    }

    /// When a write is admitted to the cache: in turn, when its bytes fit or nothing is left that could leave.
    fn admit(&mut self, at: u64, bytes: u64) -> u64 {
        let Some(cache) = &mut self.cache else { return at };
        let mut admitted = at.max(cache.admitted);
        while let Some(Reverse((end, leaving))) = cache.leaving.peek().copied()
            && (end <= admitted || cache.used + bytes > cache.config.bytes)
        {
            cache.leaving.pop();
            cache.used -= leaving;
            admitted = admitted.max(end);
        }
        cache.used += bytes;
        cache.loose += bytes;
        cache.admitted = admitted;
        admitted
    }
}

fn refuse(config: &SchedulerConfig) -> Result<(), ConfigError> {
    let needs = [
        ("order", "priority", config.order == Order::Priority),
        ("read-priority", "yes", config.read_priority == ReadPriority::Yes),
        ("suspend", "program or erase", config.suspend != Suspend::None),
        ("collection", "background", config.collection == Collection::Background),
        ("collection", "preemptible", config.collection == Collection::Preemptible),
        ("multi-plane", "on", config.multi_plane == MultiPlane::On),
    ];
    match needs.into_iter().find(|(_, _, asked)| *asked) {
        Some((name, found, _)) => Err(ConfigError::NeedsEvents { name, found }),
        None => Ok(()),
    }
}
