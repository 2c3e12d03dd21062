//! What the host asks, when it is done, and what the time went to.

use wane_nand::Task;

/// What the host wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// Data.
    Read,
    /// To keep data.
    Write,
    /// To forget data. Done at once.
    Trim,
    /// To hear when every program so far is done.
    Flush,
}

/// A host command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The caller's own number for it; comes back with the completion.
    pub token: u64,
    /// What is wanted.
    pub kind: CommandKind,
    /// Bytes of user data.
    pub bytes: u64,
}

/// Where the time of a command went, by the page that finished last, in nanoseconds. The parts add up to the latency.
///
/// Waiting is told by who held the die or the channel meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Waiting behind the host.
    pub host_ns: u64,
    /// Waiting behind garbage collection.
    pub gc_ns: u64,
    /// Waiting behind scrubbing.
    pub scrub_ns: u64,
    /// Waiting behind wear leveling.
    pub wear_leveling_ns: u64,
    /// Sensing the page the first time.
    pub sensing_ns: u64,
    /// Sensing it again.
    pub rereads_ns: u64,
    /// From the failed read to the last read of its recovery.
    pub recovery_ns: u64,
    /// On the channel.
    pub transfer_ns: u64,
    /// At the processors, queueing there included.
    pub think_ns: u64,
    /// Programming or erasing.
    pub program_ns: u64,
    /// In the write cache: waiting for room, and its latency.
    pub cache_ns: u64,
    /// Of writes and flushes: waiting for operations that had to come before, and being suspended, where no collection held
    /// them back.
    pub dependency_ns: u64,
}

impl Breakdown {
    /// The parts with their names.
    pub fn parts(&self) -> [(&'static str, u64); 12] {
        [
            ("host", self.host_ns),
            ("gc", self.gc_ns),
            ("scrub", self.scrub_ns),
            ("wear-leveling", self.wear_leveling_ns),
            ("sensing", self.sensing_ns),
            ("rereads", self.rereads_ns),
            ("recovery", self.recovery_ns),
            ("transfer", self.transfer_ns),
            ("think", self.think_ns),
            ("program", self.program_ns),
            ("cache", self.cache_ns),
            ("dependency", self.dependency_ns),
        ]
    }

    /// Adds waiting behind a task.
    #[inline]
    pub(crate) fn add_waiting(&mut self, task: Task, waited_ns: u64) {
        *match task {
            Task::Host => &mut self.host_ns,
            Task::GarbageCollection => &mut self.gc_ns,
            Task::Scrub => &mut self.scrub_ns,
            Task::WearLeveling => &mut self.wear_leveling_ns,
        } += waited_ns;
    }

    /// The sum of the parts: the latency.
    pub fn total_ns(&self) -> u64 {
        self.parts().iter().map(|(_, time)| time).sum()
    }
}

/// A command that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The caller's number.
    pub token: u64,
    /// What was wanted.
    pub kind: CommandKind,
    /// Bytes of user data.
    pub bytes: u64,
    /// When it was submitted, ns.
    pub submitted_at: u64,
    /// When it was done, ns.
    pub at: u64,
    /// Where the time went.
    pub breakdown: Breakdown,
}

impl Completion {
    /// From submission to completion.
    pub fn latency_ns(&self) -> u64 {
        self.at - self.submitted_at
    }
}
