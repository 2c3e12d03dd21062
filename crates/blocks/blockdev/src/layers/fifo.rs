//! A layer that serves requests one after the other, each in a time that grows with its size: a drive of which only the speed is known.

use wane_archive::{Archive, ArchiveError};
use wane_units::{Fate, Nanos, Sectors, SimTime};

use crate::{BlockDevice, Completion, CompletionQueue, Kind, Living, live_on, pass_on};

/// How long a device is busy with a request: a straight line through two measured sizes, `a + b * size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyTime {
    small: Point,
    large: Point,
}

/// A measured size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    bytes: i64,
    nanos: i64,
}

impl Point {
    /// A size, and how many GiB of requests of this size a device serves in a second.
    const fn measured(bytes: i64, gib_per_second: f64) -> Self {
        Self { bytes, nanos: (bytes as f64 * 1e9 / (gib_per_second * 1_073_741_824.0) + 0.5) as i64 }
    }
}

impl BusyTime {
    /// No time.
    pub const NONE: Self = Self::through(Point { bytes: 0, nanos: 0 }, Point { bytes: 1, nanos: 0 });

    const fn through(small: Point, large: Point) -> Self {
        Self { small, large }
    }

    /// From what many requests of 4 KiB and of 64 KiB reach, in GiB a second.
    pub const fn of_4k_and_64k(gib_4k: f64, gib_64k: f64) -> Self {
        Self::through(Point::measured(4096, gib_4k), Point::measured(65_536, gib_64k))
    }

    /// From what many requests of 64 KiB reach, in GiB a second. Other sizes reach the same: `a` is 0.
    pub const fn of_64k(gib_64k: f64) -> Self {
        Self::through(Point { bytes: 0, nanos: 0 }, Point::measured(65_536, gib_64k))
    }

    /// The time for a request of this size, rounded down to nanoseconds.
    pub const fn of(&self, count: Sectors) -> Nanos {
        let Self { small, large } = *self;
        let bytes = count.0 as i64 * 512;
        let more = (large.nanos - small.nanos) as i128 * (bytes - small.bytes) as i128;
        let nanos = small.nanos as i128 + more / (large.bytes - small.bytes) as i128;
        Nanos(if nanos < 0 { 0 } else { nanos as u64 })
    }
}

/// How a device serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceTimes {
    /// How long it is busy with a read.
    pub read: BusyTime,
    /// How long it is busy with a write, or a write of zeros.
    pub write: BusyTime,
    /// Time from the end of a read's service to its completion. The device serves others meanwhile.
    pub read_latency: Nanos,
    /// The same of a write.
    pub write_latency: Nanos,
}

impl ServiceTimes {
    const fn of(&self, completion: &Completion) -> (Nanos, Nanos) {
        if completion.status.is_refusal() || matches!(completion.status, crate::Status::Gone(_)) {
            return (Nanos::ZERO, Nanos::ZERO);
        }
        let count = completion.range.count;
        match completion.kind {
            Kind::Read => (self.read.of(count), self.read_latency),
            Kind::Write | Kind::WriteZeroes => (self.write.of(count), self.write_latency),
            Kind::Flush | Kind::Trim | Kind::Remap => (Nanos::ZERO, Nanos::ZERO),
        }
    }
}

/// Serves what the device below completes, first in first out, by one server.
///
/// A request waits until the server is free, holds it for its [`BusyTime`], and completes a latency later. Flushes, trims and remaps hold it for no time;
/// a flush completes no earlier than the changes before it. Refused requests do not wait. Batches take no time.
#[derive(Clone, Debug)]
pub struct Fifo<D> {
    device: D,
    times: ServiceTimes,
    /// When the server is free.
    free_at: SimTime,
    served: CompletionQueue,
    /// When the last change of contents completes that the device below completed.
    changes_done_at: SimTime,
    passing: Vec<Completion>,
}

impl<D: BlockDevice> Fifo<D> {
    /// Wraps a device.
    pub fn new(device: D, times: ServiceTimes) -> Self {
        Self {
            device,
            times,
            free_at: SimTime::ZERO,
            served: CompletionQueue::new(),
            changes_done_at: SimTime::ZERO,
            passing: Vec::new(),
        }
    }

    /// The device below.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// Returns the device below. Completions that wait here are lost.
    pub fn into_inner(self) -> D {
        self.device
    }

    /// Serves what the device below completes up to `until`.
    fn serve(&mut self, until: SimTime) {
        self.device.complete(until, &mut self.passing);
        for mut completion in self.passing.drain(..) {
            let (busy, latency) = self.times.of(&completion);
            if busy > Nanos::ZERO {
                self.free_at = self.free_at.max(completion.at).saturating_add(busy);
                completion.at = self.free_at.saturating_add(latency);
            }
            if completion.kind == Kind::Flush {
                completion.at = completion.at.max(self.changes_done_at);
            } else if completion.kind.changes_contents() {
                self.changes_done_at = self.changes_done_at.max(completion.at);
            }
            self.served.push(completion);
        }
    }
}

impl<D: BlockDevice> BlockDevice for Fifo<D> {
    pass_on!(device: features capacity submit set_capacity mapped_limit set_mapped_limit notices extents peek);

    fn next_event_at(&self) -> Option<SimTime> {
        [self.served.next_at(), self.device.next_event_at()].into_iter().flatten().min()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.serve(until);
        self.served.pop_until(until, out);
    }
}

impl<D: Living> Living for Fifo<D> {
    live_on!(device: now batch go_on work pass prefetch counters members power_on);

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.device.power_off(at, fate);
        self.serve(at);
        self.served.cut_off(at);
        self.changes_done_at = self.changes_done_at.min(at);
        self.free_at = self.free_at.min(at);
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(Fifo {
            device: self.device.another(),
            times: self.times,
            free_at: self.free_at,
            served: self.served.clone(),
            changes_done_at: self.changes_done_at,
            passing: self.passing.clone(),
        })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.served.archive(archive)?;
        archive.field("fifo.free-at", &mut self.free_at)?;
        archive.field("fifo.changes-done-at", &mut self.changes_done_at)?;
        self.device.archive(archive)
    }
}
