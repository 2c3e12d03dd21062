//! Requests without contents that a device has served, and where their time went.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use wane_units::SimTime;

use crate::RequestId;

/// What a request without contents does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Discards data. Done at once.
    Trim,
    /// Completes when every earlier program is done.
    Flush,
    /// A flush of a device whose buffers survive a power cut: completes when every earlier write and flush has. Programs may be
    /// under way.
    ProtectedFlush,
}

/// Declares the parts of a request's time once: as nanoseconds of one request, as sums over many, and by name.
macro_rules! breakdown {
    ($($(#[$doc:meta])* $field:ident = $name:literal,)*) => {
        /// Where the time of a request went, by the page that finished last, in nanoseconds. The parts add up to the latency.
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
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
        }

        /// Breakdowns of many requests added up, in nanoseconds.
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
            pub fn add(&mut self, other: &Breakdown) {
                $(self.$field += u128::from(other.$field);)*
            }

            /// Adds the parts of another one.
            pub fn merge(&mut self, other: &Self) {
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

/// A request without contents that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Its number, as of a [`crate::RequestId`].
    pub token: u64,
    /// What it did.
    pub kind: Op,
    /// Bytes of user data.
    pub bytes: u64,
    /// When it was submitted, ns.
    pub submitted_at: u64,
    /// When it was done, ns.
    pub at: u64,
    /// Where the time went.
    pub breakdown: Breakdown,
}

impl Served {
    /// From submission to completion.
    pub fn latency_ns(&self) -> u64 {
        self.at - self.submitted_at
    }
}

/// The moment for which a timed device is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// This instant. If it has passed, the device does not run.
    At(SimTime),
    /// When fewer requests than this are outstanding, if that is not after the instant.
    Below(u64, SimTime),
    /// When this request is done, if that is not after the instant. It must not have been handed out.
    Done(RequestId, SimTime),
    /// When no request is outstanding. The device stays at the instant of the last request.
    Idle,
}

/// The time of a device whose batches are parts of requests. What its batches did since the last call of [`Timed::close`] becomes
/// one request; its latency begins at the instant up to which the device ran.
pub trait Timed {
    /// Lets time run, and hands out the requests that are done until then. Returns whether the moment came. Returns early once
    /// `stop` is true.
    fn run(&mut self, until: Until, stop: &AtomicBool, each: &mut dyn FnMut(&Served)) -> bool;

    /// Makes one request of what the batches since the last request did. Returns `None` if it takes no time: a read that found
    /// nothing, or a clock at its end.
    fn close(&mut self, op: Op, bytes: u64) -> Option<RequestId>;

    /// Makes what the batches did a task of the device, which adds to no request's latency.
    fn close_own(&mut self);

    /// Whether the simulated time is used up. From then on requests are not timed.
    fn is_over(&self) -> bool;

    /// When the last request came.
    fn at(&self) -> SimTime;
}
