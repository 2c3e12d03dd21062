//! Programs that use a file system, and the one that makes it smaller.

use wane_blockdev::BlockDevice;
use wane_fs::{Moment, Progress, Refusal, Way};
use wane_sim::Stream;
use wane_units::{Nanos, SimTime};

use super::{Actor, Call, Ended, PlannedVolume};

const NOW: Moment = Moment { seconds: 0, nanos: 0 };

/// How long calls took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Calls.
    pub calls: u64,
    /// Requests to the device.
    pub requests: u64,
    /// Time of all of them.
    pub sum: Nanos,
    /// Time of the one that took longest.
    pub longest: Nanos,
    /// Calls of which a request failed.
    pub failed: u64,
}

impl Latencies {
    fn note(&mut self, ended: Ended) {
        let latency = ended.latency();
        self.calls += 1;
        self.requests += ended.requests;
        self.sum = Nanos(self.sum.0 + latency.0);
        self.longest = self.longest.max(latency);
        self.failed += u64::from(ended.has_failed);
    }

    /// Mean time of a call, in nanoseconds; 0 without calls.
    pub fn mean(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.sum.0 as f64 / self.calls as f64 }
    }
}

/// Makes a file system smaller, step by step.
pub struct Shrinker {
    /// The size that it is to have, in bytes of the device.
    pub bytes: u64,
    /// How.
    pub way: Way,
    /// Blocks that a step moves about.
    pub step: u64,
    /// How far it is; `None` before it began.
    pub progress: Option<Progress>,
    /// Why it was refused.
    pub refused: Option<Refusal>,
    /// Its steps.
    pub steps: Latencies,
    /// When it was asked for.
    pub asked_at: SimTime,
    /// When it was done.
    pub done_at: SimTime,
}

impl Shrinker {
    /// One that has not begun.
    pub fn new(bytes: u64, way: Way, step: u64) -> Self {
        let (progress, refused, steps) = (None, None, Latencies::default());
        Self { bytes, way, step, progress, refused, steps, asked_at: SimTime::ZERO, done_at: SimTime::ZERO }
    }

    /// Whether it makes no more calls.
    pub const fn is_over(&self) -> bool {
        self.refused.is_some() || matches!(self.progress, Some(Progress::Done | Progress::Stuck(_)))
    }
}

impl<D: BlockDevice> Actor<D> for Shrinker {
    fn changes(&self) -> bool {
        true
    }

    fn call(&mut self, volume: &mut PlannedVolume<D>, at: SimTime) -> Option<Call> {
        if self.is_over() {
            return None;
        }
        if self.progress.is_none() {
            self.asked_at = at;
            if let Err(refusal) = volume.set_target(self.bytes, self.way) {
                self.refused = Some(refusal);
                return None;
            }
        }
        // A device that failed says so in the end of the call.
        self.progress = Some(volume.evacuate(self.step).unwrap_or(Progress::Stuck(0)));
        Some(Call::default())
    }

    fn ended(&mut self, ended: Ended) {
        self.steps.note(ended);
        self.done_at = ended.at;
    }
}

/// Overwrites blocks of a file at random, and makes some of its calls durable.
pub struct RandomWriter {
    /// The file.
    pub ino: u32,
    /// Its blocks.
    pub blocks: u32,
    /// An fsync ends each Nth call.
    pub fsync_every: u32,
    /// Draws the blocks.
    pub stream: Stream,
    /// Time between two calls.
    pub pause: Nanos,
    /// Most calls that it makes.
    pub most: u64,
    /// Its calls.
    pub calls: Latencies,
    until_fsync: u32,
}

impl RandomWriter {
    /// A writer of a file of `blocks` blocks.
    pub fn new(ino: u32, blocks: u32, fsync_every: u32, pause: Nanos, stream: Stream) -> Self {
        let (most, calls) = (u64::MAX, Latencies::default());
        Self { ino, blocks, fsync_every, stream, pause, most, calls, until_fsync: fsync_every }
    }
}

impl<D: BlockDevice> Actor<D> for RandomWriter {
    fn changes(&self) -> bool {
        true
    }

    fn call(&mut self, volume: &mut PlannedVolume<D>, _at: SimTime) -> Option<Call> {
        self.most = self.most.checked_sub(1)?;
        let at = self.stream.below(u64::from(self.blocks)) as u32;
        let wrote = volume.overwrite(self.ino, at..at + 1, NOW).ok()?;
        self.until_fsync -= 1;
        if self.until_fsync == 0 {
            self.until_fsync = self.fsync_every;
            volume.fsync(self.ino).ok()?;
        }
        Some(Call { copied: u64::from(wrote) * u64::from(volume.space().block_bytes), pause: self.pause })
    }

    fn ended(&mut self, ended: Ended) {
        self.calls.note(ended);
    }
}

/// Reads a file from its start to its end, N blocks a call, without a cache or read-ahead.
pub struct SequentialReader {
    /// The file.
    pub ino: u32,
    /// Its blocks.
    pub blocks: u32,
    /// Blocks of a call.
    pub at_once: u32,
    /// Its calls.
    pub calls: Latencies,
    next: u32,
}

impl SequentialReader {
    /// A reader at the start of a file of `blocks` blocks.
    pub fn new(ino: u32, blocks: u32, at_once: u32) -> Self {
        Self { ino, blocks, at_once, calls: Latencies::default(), next: 0 }
    }
}

impl<D: BlockDevice> Actor<D> for SequentialReader {
    fn changes(&self) -> bool {
        false
    }

    fn call(&mut self, volume: &mut PlannedVolume<D>, _at: SimTime) -> Option<Call> {
        let until = self.blocks.min(self.next + self.at_once);
        if self.next >= until {
            return None;
        }
        volume.read_blocks(self.ino, self.next..until).ok()?;
        let copied = u64::from(until - self.next) * u64::from(volume.space().block_bytes);
        self.next = until;
        Some(Call { copied, pause: Nanos(0) })
    }

    fn ended(&mut self, ended: Ended) {
        self.calls.note(ended);
    }
}
