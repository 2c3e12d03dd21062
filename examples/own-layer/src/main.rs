//! A layer of one's own: it lets some reads take longer, on any device.
//!
//! Run it with `cargo run -p own-layer`.

use std::collections::BTreeSet;

use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Completion, CompletionQueue, Kind, Living, Request, RequestId,
    SectorRange, Work, carry_out, drain, live_on, pass_on,
};
use wane_ftl::FtlConfig;
use wane_sim::Streams;
use wane_ssd::{ClockSpec, Drive, DriveConfig, SchedulerConfig, Timing};
use wane_units::{Bytes, Fate, Geometry, Lba, Nanos, Ratio, Sectors, SimTime};

// ANCHOR: layer
/// Makes one read of every N take longer, as a drive does that stumbles now and then.
pub struct Stumble<D> {
    device: D,
    every: u64,
    delay: Nanos,
    reads: u64,
    /// Reads that will be late.
    late: BTreeSet<RequestId>,
    held: CompletionQueue,
}

impl<D: BlockDevice> Stumble<D> {
    /// Wraps a device.
    pub fn new(device: D, every: u64, delay: Nanos) -> Self {
        Self { device, every, delay, reads: 0, late: BTreeSet::new(), held: CompletionQueue::new() }
    }

    /// Holds back what the device below completes up to `until`.
    fn hold(&mut self, until: SimTime) {
        let mut below = Vec::new();
        self.device.complete(until, &mut below);
        for mut completion in below {
            if self.late.remove(&completion.id) {
                completion.at = completion.at.saturating_add(self.delay);
            }
            self.held.push(completion);
        }
    }
}
// ANCHOR_END: layer

// ANCHOR: requests
impl<D: BlockDevice> BlockDevice for Stumble<D> {
    pass_on!(device: features capacity set_capacity mapped_limit set_mapped_limit notices extents peek);

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        let is_read = request.kind == Kind::Read;
        let id = self.device.submit(at, request);
        self.reads += u64::from(is_read);
        if is_read && self.reads.is_multiple_of(self.every) {
            self.late.insert(id);
        }
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        [self.held.next_at(), self.device.next_event_at()].into_iter().flatten().min()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.hold(until);
        self.held.pop_until(until, out);
    }
}
// ANCHOR_END: requests

// ANCHOR: life
impl<D: Living> Living for Stumble<D> {
    live_on!(device: now batch go_on work pass prefetch counters members power_on);

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.device.power_off(at, fate);
        // What the layer holds back would complete too late.
        self.hold(at);
        self.held.cut_off(at);
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(Stumble {
            device: self.device.another(),
            every: self.every,
            delay: self.delay,
            reads: self.reads,
            late: self.late.clone(),
            held: self.held.clone(),
        })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("stumble.reads", &mut self.reads)?;
        archive.field("stumble.late", &mut self.late)?;
        self.held.archive(archive)?;
        self.device.archive(archive)
    }
}
// ANCHOR_END: life

// ANCHOR: use
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut device = Stumble::new(drive()?, 100, Nanos(10_000_000));

    // Age the drive below it: five drive writes at random, at full speed, because batches take no time.
    let units = device.capacity().0 / 8;
    let mut stream = Streams::new(1).stream("workload");
    let mut at_random = |count| {
        let unit = |_| SectorRange::new(Lba(8 * stream.below(units)), Sectors(8));
        (0..count).map(unit).collect::<Vec<_>>()
    };
    carry_out(&mut device, SimTime(0), &Batch::new(Work::Rewrite, &at_random(5 * units)));

    // Ask it: ten thousand reads of 4 KiB, one every 20 us.
    for (number, range) in (0..).zip(at_random(10_000)) {
        device.submit(SimTime(20_000 * number), Request::read(range));
    }
    let mut done = Vec::new();
    drain(&mut device, SimTime(200_000_000), &mut done);
    let mut latencies: Vec<u64> = done.iter().map(|completion| completion.latency().0 / 1000).collect();
    latencies.sort_unstable();
    println!("reads: p50 {} us, p99.5 {} us", latencies[5_000], latencies[9_950]);
    println!("relocated meanwhile: {} units", device.counters().programmed_gc);
    Ok(())
}
// ANCHOR_END: use

fn drive() -> Result<Drive, Box<dyn std::error::Error>> {
    let geometry = Geometry::new(4, 2, 1, 64, 64, Bytes(4096))?;
    let (read_ns, program_ns) = (vec![75_000], vec![750_000]);
    let timing = Timing { read_ns, program_ns, erase_ns: 3_800_000, channel_bytes_per_second: Some(333_000_000) };
    let clock =
        ClockSpec { by_events: true, timing, config: SchedulerConfig::default(), rereads_max: 0, thermal: None };
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.1).ok_or("a ratio")?);
    Ok(Drive::new(DriveConfig { clock: Some(clock), ..DriveConfig::new(geometry, ftl) })?)
}

#[cfg(test)]
mod tests {
    use wane_blockdev::{Ram, RamConfig};
    use wane_testkit::conformance;

    use super::*;

    // ANCHOR: test
    #[test]
    fn a_device_that_stumbles_is_a_living_device() {
        let config = RamConfig { latency: Nanos(3_000), ..RamConfig::new(Sectors(400)) };
        let make = || -> Box<dyn Living> {
            Box::new(Stumble::new(Ram::with(config).expect("a small device"), 3, Nanos(50_000)))
        };
        conformance::living_device("stumble", &make, true, 32);
        conformance::layer("stumble", &|below| Box::new(Stumble::new(below, 3, Nanos(50_000))));
    }
    // ANCHOR_END: test

    #[test]
    fn it_runs() {
        main().expect("the example runs");
    }
}
