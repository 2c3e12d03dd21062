//! How long an operation takes: its time in the array and on the channel.

use serde::{Deserialize, Serialize};
use wane_nand::{FlashOp, Task};

use crate::command::Breakdown;
use crate::config::Timing;
use crate::node::{CLASSES, Kind};
use crate::thermal::stretched;

/// Times of one operation, without waiting.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Times {
    /// Time of the array: sensing with re-reads, programming or erasing.
    pub(crate) array_ns: u64,
    /// The part of it for re-reads.
    pub(crate) rereads_ns: u64,
    pub(crate) transfer_ns: u64,
}

impl Times {
    /// Makes the array's time `by` times as long.
    pub(crate) fn stretch_array(&mut self, by: f64) {
        self.array_ns = stretched(self.array_ns, by);
        self.rereads_ns = stretched(self.rereads_ns, by);
    }

    /// Where the time went in queues, on the die, on the channel and at the processors.
    #[inline]
    pub(crate) fn breakdown(&self, kind: Kind, waited: &[u64; CLASSES], think_ns: u64) -> Breakdown {
        let senses = matches!(kind, Kind::Read | Kind::Buffered);
        let array_ns = self.array_ns - self.rereads_ns;
        Breakdown {
            host_ns: waited[Task::Host as usize],
            gc_ns: waited[Task::GarbageCollection as usize],
            scrub_ns: waited[Task::Scrub as usize],
            wear_leveling_ns: waited[Task::WearLeveling as usize],
            sensing_ns: if senses { array_ns } else { 0 },
            rereads_ns: self.rereads_ns,
            transfer_ns: self.transfer_ns,
            think_ns,
            program_ns: if senses { 0 } else { array_ns },
            ..Breakdown::default()
        }
    }
}

/// Times of all operations.
#[derive(Clone, Debug)]
pub(crate) struct TimeTable {
    timing: Timing,
    /// The last number of bytes and its transfer time, because most transfers have the same size.
    transfer: (u32, u64),
}

impl TimeTable {
    pub(crate) fn new(timing: Timing) -> Self {
        Self { timing, transfer: (0, 0) }
    }

    /// Whether data move over channels. Otherwise transfers take no time and need no channel.
    #[inline]
    pub(crate) fn has_channels(&self) -> bool {
        self.timing.channel_bytes_per_second.is_some()
    }

    #[inline]
    pub(crate) fn of(&mut self, kind: Kind, op: &FlashOp) -> Times {
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
        let transfer_ns = if kind == Kind::Erase { 0 } else { self.transfer_of(op.bytes) };
        Times { array_ns, rereads_ns, transfer_ns }
    }

    #[inline]
    fn transfer_of(&mut self, bytes: u32) -> u64 {
        if self.transfer.0 != bytes {
            self.transfer = (bytes, self.timing.transfer_ns(bytes));
        }
        self.transfer.1
    }
}
