//! Host commands, their completions, and where their time went.

use serde::{Deserialize, Serialize};

/// Kinds of host commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandKind {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Discards data. Done at once.
    Trim,
    /// Completes when every earlier program is done.
    Flush,
}

/// A host command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The caller's number for the command, which the completion returns.
    pub token: u64,
    /// Kind of the command.
    pub kind: CommandKind,
    /// Bytes of user data.
    pub bytes: u64,
}

/// Declares the parts of a command's time once: as nanoseconds of one command, as sums over many, and by name.
macro_rules! breakdown {
    ($($(#[$doc:meta])* $field:ident = $name:literal,)*) => {
        /// Where the time of a command went, by the page that finished last, in nanoseconds. The parts add up to the latency.
        ///
        /// Waiting is split by the task that held the die or the channel.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Breakdown {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Breakdown {
            /// How many parts there are.
            pub const PARTS: usize = [$($name),*].len();

            /// The parts with their names.
            pub fn parts(&self) -> [(&'static str, u64); Self::PARTS] {
                [$(($name, self.$field)),*]
            }

            /// Adds the parts of another one.
            #[inline]
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
        }

        /// Breakdowns of many commands added up, in nanoseconds.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct BreakdownTotals {
            $($(#[$doc])* pub $field: u128,)*
        }

        impl BreakdownTotals {
            /// The parts with their names.
            pub fn parts(&self) -> [(&'static str, u128); Breakdown::PARTS] {
                [$(($name, self.$field)),*]
            }

            /// Adds a breakdown.
            pub(crate) fn add(&mut self, other: &Breakdown) {
                $(self.$field += u128::from(other.$field);)*
            }

            /// Adds the parts of another one.
            pub(crate) fn merge(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

breakdown! {
    /// Waiting behind the host.
    host_ns = "host",
    /// Waiting behind garbage collection.
    gc_ns = "gc",
    /// Waiting behind scrubbing.
    scrub_ns = "scrub",
    /// Waiting behind wear leveling.
    wear_leveling_ns = "wear-leveling",
    /// Sensing the page the first time.
    sensing_ns = "sensing",
    /// Sensing it again.
    rereads_ns = "rereads",
    /// From the failed read to the last read of its recovery.
    recovery_ns = "recovery",
    /// On the channel.
    transfer_ns = "transfer",
    /// At the processors, queueing there included.
    think_ns = "think",
    /// Programming or erasing.
    program_ns = "program",
    /// In the write cache: waiting for room, and its latency.
    cache_ns = "cache",
    /// Of writes and flushes: waiting for operations that had to come before, and being suspended. What a collection held back
    /// counts as `gc`.
    dependency_ns = "dependency",
    /// On the link to the host, waiting for it included.
    link_ns = "link",
}

impl Breakdown {
    /// The sum of the parts: the latency.
    pub fn total_ns(&self) -> u64 {
        self.parts().iter().map(|(_, time)| time).sum()
    }
}

/// A command that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The caller's number.
    pub token: u64,
    /// Kind of the command.
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
