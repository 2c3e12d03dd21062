//! A layer that counts: requests, sectors and latencies by kind, and read-modify-writes.

use wane_archive::{Archive, ArchiveError};
use wane_units::{Nanos, Sectors, SimTime};

use crate::{
    Batch, BlockDevice, Completion, Kind, Living, Request, RequestId, Status, Stop, Took, UnitSplit, Work, live_on,
    pass_on,
};

/// Counts of one kind of request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindStats {
    /// Requests submitted.
    pub submitted: u64,
    /// Requests that completed as asked.
    pub done: u64,
    /// Requests that failed: by a medium error, without space, on a device that was read-only or gone.
    pub failed: u64,
    /// Requests that completed as out of range or unsupported.
    pub refused: u64,
    /// Of those that are done, requests of batches, which took no time.
    pub batched: u64,
    /// Sectors of requests that were not refused, without those that failed.
    pub served: Sectors,
    /// Sum of the latencies of all completed requests, ns.
    pub latency_sum_ns: u128,
    /// The longest latency.
    pub latency_max: Nanos,
    /// Completed requests by latency: element `i` counts latencies from 2^(i-1) ns to below 2^i ns; element 0 counts those of 0
    /// ns.
    pub latency_counts: [u64; 65],
}

impl Default for KindStats {
    fn default() -> Self {
        Self {
            submitted: 0,
            done: 0,
            failed: 0,
            refused: 0,
            batched: 0,
            served: Sectors::ZERO,
            latency_sum_ns: 0,
            latency_max: Nanos::ZERO,
            latency_counts: [0; 65],
        }
    }
}

impl KindStats {
    /// Requests that completed, however they ended.
    pub const fn completed(&self) -> u64 {
        self.done + self.failed + self.refused
    }

    /// Mean latency of the completed requests in nanoseconds, without those of batches; none if there are none.
    pub fn latency_mean_ns(&self) -> Option<f64> {
        let timed = self.completed() - self.batched;
        (timed > 0).then(|| self.latency_sum_ns as f64 / timed as f64)
    }

    /// Counts requests of a batch that are done.
    fn count_batched(&mut self, requests: u64, served: Sectors) {
        self.submitted += requests;
        self.done += requests;
        self.batched += requests;
        self.served.0 = self.served.0.saturating_add(served.0);
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let mut counts = [self.submitted, self.done, self.failed, self.refused, self.batched, self.served.0];
        archive.fixed("stats.counts", &mut counts)?;
        [self.submitted, self.done, self.failed, self.refused, self.batched, self.served.0] = counts;
        archive.field("stats.latency-sum", &mut self.latency_sum_ns)?;
        archive.field("stats.latency-max", &mut self.latency_max.0)?;
        archive.fixed("stats.latency-counts", &mut self.latency_counts)
    }

    fn count(&mut self, completion: &Completion) {
        match &completion.status {
            Status::Done => self.done += 1,
            Status::MediumError(_) | Status::NoSpace(_) | Status::ReadOnly(_) | Status::Gone(_) => self.failed += 1,
            Status::OutOfRange | Status::Unsupported(_) => self.refused += 1,
        }
        if !completion.status.is_refusal() {
            let failed = completion.status.failed().iter().fold(Sectors::ZERO, |sum, range| sum + range.count);
            // A flush has no range; the sectors that it names were never part of it.
            self.served.0 = self.served.0.saturating_add(completion.range.count.0.saturating_sub(failed.0));
        }
        debug_assert!(self.completed() <= self.submitted, "a request that completes was outstanding");
        let latency = completion.latency();
        self.latency_sum_ns += u128::from(latency.0);
        self.latency_max = self.latency_max.max(latency);
        self.latency_counts[(u64::BITS - latency.0.leading_zeros()) as usize] += 1;
    }
}

/// Counts the requests that pass through it.
#[derive(Clone, Debug)]
pub struct Stats<D> {
    device: D,
    by_kind: Box<[KindStats; Kind::ALL.len()]>,
    read_modify_writes: u64,
}

impl<D: BlockDevice> Stats<D> {
    /// Wraps a device.
    pub fn new(device: D) -> Self {
        Self { device, by_kind: Box::default(), read_modify_writes: 0 }
    }

    /// Counts of a kind.
    pub const fn of(&self, kind: Kind) -> &KindStats {
        &self.by_kind[kind as usize]
    }

    /// Number of atomic units that a write, write-zeroes or trim covered only in part. Refused requests do not count.
    pub const fn read_modify_writes(&self) -> u64 {
        self.read_modify_writes
    }

    /// Requests submitted and not complete.
    pub fn outstanding(&self) -> u64 {
        self.by_kind.iter().map(|kind| kind.submitted - kind.completed()).sum()
    }

    /// The device below.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// Returns the device below.
    pub fn into_inner(self) -> D {
        self.device
    }
}

impl<D: BlockDevice> BlockDevice for Stats<D> {
    pass_on!(device: features capacity next_event_at set_capacity mapped_limit set_mapped_limit notices extents peek);

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.by_kind[request.kind as usize].submitted += 1;
        let features = self.device.features();
        let cuts_units = matches!(request.kind, Kind::Write | Kind::WriteZeroes | Kind::Trim);
        if cuts_units && request.check(&features, self.device.capacity()).is_ok() {
            self.read_modify_writes += UnitSplit::new(request.range, features.atomic_unit).ragged();
        }
        self.device.submit(at, request)
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        let first = out.len();
        self.device.complete(until, out);
        for completion in &out[first..] {
            self.by_kind[completion.kind as usize].count(completion);
        }
    }
}

impl<D: Living> Living for Stats<D> {
    live_on!(device: now go_on work pass prefetch counters members timed power_off power_on);

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let took = self.device.batch(at, batch);
        let kind = batch.work.kind();
        if batch.work == Work::ReadToModify {
            return took;
        }
        if kind == Kind::Flush && took.stop == Stop::Done {
            self.by_kind[kind as usize].count_batched(1, Sectors::ZERO);
        }
        let unit = self.device.features().atomic_unit;
        let (mut reached, mut requests) = (Sectors::ZERO, 0);
        for extent in batch.extents {
            reached += extent.count;
            if reached > took.done {
                break;
            }
            requests += 1;
            if kind.changes_contents() {
                self.read_modify_writes += UnitSplit::new(*extent, unit).ragged();
            }
        }
        self.by_kind[kind as usize].count_batched(requests, took.done);
        took
    }

    fn another(&self) -> Box<dyn Living> {
        let (by_kind, read_modify_writes) = (self.by_kind.clone(), self.read_modify_writes);
        Box::new(Stats { device: self.device.another(), by_kind, read_modify_writes })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        for kind in self.by_kind.iter_mut() {
            kind.archive(archive)?;
        }
        archive.field("stats.read-modify-writes", &mut self.read_modify_writes)?;
        self.device.archive(archive)
    }
}
