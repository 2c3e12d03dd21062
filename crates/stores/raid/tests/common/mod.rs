//! Members for tests of arrays.

#![allow(dead_code, reason = "each test program uses some of it")]

use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Completion, Delay, Delays, Living, Ram, Request, SectorRange, Stop,
    Took, drain, live_on, pass_on,
};
use wane_ftl::FtlConfig;
use wane_ftl::policies::Builtin;
use wane_ftl::policies::recovery::{FullScan, FullScanParams};
use wane_ftl::policies::retirement::{AtErases, AtErasesParams};
use wane_raid::code::Code;
use wane_raid::{DIRECT, Following, Group, Journal, Placement, PlacementError, RaidConfig, Site};
use wane_ssd::{ClockSpec, Drive, DriveConfig, SchedulerConfig, Timing};
use wane_units::{Bytes, EndOfLife, Geometry, Lba, Nanos, Ratio, Sectors, SimTime};

/// Members in memory that take different times.
pub(crate) fn members<const N: usize>(sizes: [u64; N]) -> Vec<Box<dyn Living>> {
    let member = |(number, size): (usize, u64)| -> Box<dyn Living> {
        let delays = Delays::all(Nanos(1_000 * number as u64));
        Box::new(Delay::new(Ram::new(Sectors(size)), delays))
    };
    sizes.into_iter().enumerate().map(member).collect()
}

/// A small drive that recovers.
pub(crate) fn drive(blocks: u32, is_timed: bool) -> Box<dyn Living> {
    let geometry = Geometry::new(2, 1, 1, blocks / 2, 8, Bytes(4096)).unwrap();
    let mut ftl = FtlConfig::new(&geometry, Ratio::new(0.4).unwrap());
    ftl.recovery = Box::new(FullScan::build(FullScanParams::default()));
    ftl.power_loss_protection = false;
    ftl.logical_units /= 2;
    ftl.retire = Box::new(AtErases::build(AtErasesParams { erases: 40 }));
    let timing = Timing {
        read_ns: vec![50_000],
        program_ns: vec![600_000],
        erase_ns: 3_000_000,
        channel_bytes_per_second: None,
    };
    let clock =
        ClockSpec { by_events: true, timing, config: SchedulerConfig::default(), rereads_max: 0, thermal: None };
    let clock = is_timed.then_some(clock);
    Box::new(Drive::new(DriveConfig { clock, keeps_bytes: true, ..DriveConfig::new(geometry, ftl) }).unwrap())
}

/// A drive of 16 MiB that keeps no bytes.
pub(crate) fn hollow_drive() -> Box<dyn Living> {
    drive_of_16_mib(false)
}

/// A drive of 16 MiB that recovers.
pub(crate) fn drive_of_16_mib(keeps_bytes: bool) -> Box<dyn Living> {
    let geometry = Geometry::new(1, 1, 1, 128, 64, Bytes(4096)).unwrap();
    let mut ftl = FtlConfig::new(&geometry, Ratio::new(0.5).unwrap());
    ftl.recovery = Box::new(FullScan::build(FullScanParams::default()));
    Box::new(Drive::new(DriveConfig { keeps_bytes, ..DriveConfig::new(geometry, ftl) }).unwrap())
}

/// A small drive of which a power cut leaves nothing.
pub(crate) fn forgetful(blocks: u32) -> Box<dyn Living> {
    let geometry = Geometry::new(2, 1, 1, blocks / 2, 8, Bytes(4096)).unwrap();
    let mut ftl = FtlConfig::new(&geometry, Ratio::new(0.4).unwrap());
    ftl.logical_units /= 2;
    Box::new(Drive::new(DriveConfig::new(geometry, ftl)).unwrap())
}

/// The end of one request.
pub(crate) fn ended(array: &mut dyn Living, request: Request) -> Completion {
    let now = array.now();
    let id = array.submit(now, request);
    let mut out = Vec::new();
    drain(array, now, &mut out);
    out.into_iter().find(|end| end.id == id).unwrap()
}

pub(crate) fn range(start: u64, count: u64) -> SectorRange {
    SectorRange::new(Lba(start), Sectors(count))
}

/// A device that pauses after every `every` units, and dies after `dies_at`.
#[derive(Clone)]
pub(crate) struct Pausing {
    device: Ram,
    every: u64,
    dies_at: u64,
    since: u64,
    /// The units that it took, in order.
    pub(crate) written: Vec<u64>,
}

impl Pausing {
    pub(crate) fn new(every: u64, dies_at: u64) -> Self {
        Self { device: Ram::new(Sectors(800)), every, dies_at, since: 0, written: Vec::new() }
    }
}

impl BlockDevice for Pausing {
    pass_on!(device: features capacity submit next_event_at complete set_capacity mapped_limit set_mapped_limit notices extents peek);
}

impl Living for Pausing {
    live_on!(device: now pass counters members timed power_off power_on);

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let mut done = Sectors(0);
        for extent in batch.extents {
            if self.written.len() as u64 == self.dies_at {
                return Took::new(done, Stop::Dead(EndOfLife::NoVictim));
            }
            self.device.batch(at, &Batch { extents: &[*extent], ..*batch });
            self.written.push(extent.start.0 / 8);
            done += extent.count;
            self.since += 1;
            if self.since == self.every {
                self.since = 0;
                return Took::new(done, Stop::Paused);
            }
        }
        Took::new(done, Stop::Done)
    }

    fn go_on(&mut self, _at: SimTime, _after: Stop) -> Stop {
        Stop::Done
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.device.archive(archive)
    }
}

/// All members, each of which gives as much as the smallest.
#[derive(Debug)]
pub(crate) struct All;

impl Placement for All {
    fn name(&self) -> &'static str {
        "all"
    }

    fn groups(&self, sites: &[Site], width: usize) -> Result<Vec<Group>, PlacementError> {
        let tiles = sites.iter().take(width).map(|site| site.slots).min().unwrap_or(0);
        Ok(vec![Group { members: (0..width as u16).collect(), tiles }])
    }
}

/// A small parity array.
pub(crate) fn raid_config(code: &'static dyn Code, width: usize, placement: &'static dyn Placement) -> RaidConfig {
    RaidConfig {
        code,
        width,
        chunk: Sectors(16),
        slot: Sectors(16 * width as u64),
        placement,
        parity_shares: Vec::new(),
        path: &DIRECT,
        journal: Journal::Full,
        ring: Sectors(0),
        write_mostly: Vec::new(),
        read_around: None,
        following: Following::Never,
        rebuild_rate: 1_000_000_000,
        scrub_every: None,
        uuid: 7,
    }
}
