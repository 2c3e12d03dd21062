//! A drive that loses its power at any time, and its recovery.

#![allow(missing_docs, reason = "tests")]

use std::collections::BTreeSet;

use wane_archive::{Archive, Reader, Writer};
use wane_blockdev::{BlockDevice, Completion, Kind, Living, Request, SectorRange, drain};
use wane_ftl::policies::Builtin;
use wane_ftl::policies::recovery::{Checkpoint, CheckpointParams, FullScan, FullScanParams};
use wane_ftl::{BuildError, EraseGroup, Fate, FtlConfig};
use wane_sim::{Stream, Streams};
use wane_ssd::{ClockSpec, Drive, DriveConfig, DriveError, SchedulerConfig, Timing, WriteCache};
use wane_units::{Bytes, Geometry, Lba, Lpn, Nanos, Ratio, Sectors, SimTime};

const READ_NS: u64 = 50_000;
const PROGRAM_NS: u64 = 600_000;

/// 8 dies of 16 blocks of 8 pages of 4 KiB, whose transfers take no time.
fn config(stream: &mut Stream, clock: Option<bool>) -> DriveConfig {
    let geometry = Geometry::new(4, 2, 1, 16, 8, Bytes(4096)).expect("a small drive");
    let mut ftl = FtlConfig::new(&geometry, Ratio::new(0.6).expect("a ratio"));
    ftl.gc_reserve = 3;
    if stream.chance(0.5) {
        ftl.erase_group = EraseGroup::Superblock;
        ftl.rated_blocks = 13;
    }
    ftl.recovery = if stream.chance(0.5) {
        Box::new(FullScan::build(FullScanParams::default()))
    } else {
        Box::new(Checkpoint::build(CheckpointParams { interval: 16 }))
    };
    ftl.power_loss_protection = stream.chance(0.5);
    ftl.logical_units = 150;
    let timing = Timing {
        read_ns: vec![READ_NS],
        program_ns: vec![PROGRAM_NS],
        erase_ns: 3_000_000,
        channel_bytes_per_second: None,
    };
    let write_cache = stream.chance(0.3).then_some(WriteCache { bytes: 1 << 16, latency_ns: 2_000 });
    let schedule = SchedulerConfig { write_cache, ..SchedulerConfig::default() };
    let clock = clock.map(|by_events| ClockSpec { by_events, timing, config: schedule, rereads_max: 0, thermal: None });
    DriveConfig { clock, ..DriveConfig::new(geometry, ftl) }
}

fn sectors(first: u32, units: u32) -> SectorRange {
    SectorRange::new(Lba(u64::from(first) * 8), Sectors(u64::from(units) * 8))
}

/// All completions until nothing is outstanding.
fn ended(drive: &mut Drive) -> Vec<Completion> {
    let (now, mut out) = (drive.clock().map_or(0, |clock| clock.now_ns()), Vec::new());
    drain(drive, SimTime(now), &mut out);
    out
}

fn mapped(drive: &Drive) -> BTreeSet<u32> {
    (0..drive.exported()).filter(|unit| drive.lookup(Lpn(*unit)).is_some()).collect()
}

/// The drive as it is saved.
fn saved(drive: &mut Drive) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).expect("memory");
    drive.archive(&mut writer as &mut dyn Archive).expect("memory");
    writer.finish().expect("memory")
}

/// Cuts the power at `at` and recovers the drive. `known`: what a flush made durable, and what was touched since.
fn cut(
    drive: &Drive,
    at: SimTime,
    (ftl, make): (&FtlConfig, &dyn Fn() -> Drive),
    known: &(BTreeSet<u32>, BTreeSet<u32>),
    stream: &mut Stream,
) -> Drive {
    let mut drive = drive.clone();
    drive.complete(at, &mut Vec::new());
    let before = mapped(&drive);
    let fate = || [Fate::Done, Fate::Torn, Fate::Undone][stream.below(3) as usize];
    drive.power_cut(fate);
    let mut reopened = make();
    let mut reader = Reader::new(std::io::Cursor::new(saved(&mut drive))).expect("an archive");
    reopened.archive(&mut reader as &mut dyn Archive).expect("it is of the same drive");
    reader.finish().expect("nothing is left over");
    assert!(reopened.is_off());
    let (report, took) = drive.power_on().expect("it keeps out-of-band data");
    assert_eq!(reopened.power_on().expect("it keeps out-of-band data"), (report, took));
    assert!(
        saved(&mut reopened) == saved(&mut drive),
        "a drive that was saved without power comes back as it would have"
    );
    let back = drive;
    back.check().expect("every invariant holds");
    let after = mapped(&back);
    assert_eq!(report.units_mapped, after.len() as u64);
    if ftl.power_loss_protection {
        assert_eq!(after, before, "buffers survive");
    } else {
        let (durable, touched) = known;
        let untouched = |units: &BTreeSet<u32>| units.difference(touched).copied().collect::<BTreeSet<u32>>();
        assert_eq!(untouched(&after), untouched(durable), "what was flushed and not touched since is there");
    }
    assert_eq!(took.is_some(), back.clock().is_some(), "time is told where it is kept");
    if let Some(Nanos(took)) = took {
        let pages = report.data_pages_read + report.summary_pages_read + report.journal_pages_read;
        let dies = u64::from(back.geometry().dies());
        assert!(took >= READ_NS * pages.div_ceil(dies), "dies read at once: {took} ns, {report:?}");
        assert_eq!(back.clock().map(|clock| clock.now_ns()), Some(at.0 + took), "requests come after the recovery");
    }
    back
}

/// A host writes, trims and flushes; power fails again and again.
fn live(seed: u64, clock: Option<bool>) {
    let mut stream = Streams::new(seed).stream("power");
    let ftl = config(&mut stream, clock).ftl;
    let make = || Drive::new(config(&mut Streams::new(seed).stream("power"), clock)).expect("it has room");
    let mut drive = make();
    if seed.is_multiple_of(2) {
        drive.keep_bytes().expect("memory");
    }
    let mut known = (BTreeSet::new(), BTreeSet::new());
    let mut at = SimTime(0);
    for _ in 0..400 {
        at = SimTime(at.0 + stream.below(400_000));
        drive.complete(at, &mut Vec::new());
        let (first, units) = (stream.below(145) as u32, 1 + stream.below(5) as u32);
        match stream.below(20) {
            0 => {
                drive.submit(at, Request::flush());
                let mut done = Vec::new();
                at = drain(&mut drive, at, &mut done);
                assert!(done.iter().any(|answer| answer.kind == Kind::Flush), "a flush completes");
                known = (mapped(&drive), BTreeSet::new());
                continue;
            }
            1..=3 => {
                drive.submit(at, Request::trim(sectors(first, units)));
            }
            _ => {
                let range = sectors(first, units);
                let bytes = drive.keeps_bytes().then(|| vec![1 + stream.below(255) as u8; range.len_bytes()]);
                drive.submit(at, Request { bytes, ..Request::write_without_bytes(range) });
            }
        }
        known.1.extend(first..first + units);
        if stream.below(10) == 0 {
            let then = SimTime(at.0 + stream.below(6_000_000));
            let back = cut(&drive, then, (&ftl, &make), &known, &mut stream);
            if stream.below(3) == 0 {
                drive = back;
                at = SimTime(drive.clock().map_or(then.0, |clock| clock.now_ns()));
                known = (mapped(&drive), BTreeSet::new());
            }
        }
    }
}

#[test]
fn a_drive_comes_back_from_the_midst_of_time() {
    for seed in 0..40 {
        live(seed, Some(seed % 2 == 0));
    }
}

#[test]
fn a_drive_without_a_clock_comes_back() {
    (0..20).for_each(|seed| live(seed, None));
}

/// Two pages of data, on two dies.
fn two_pages(power_loss_protection: bool, by_events: bool) -> (Drive, FtlConfig) {
    let mut config = config(&mut Streams::new(1).stream("power"), Some(by_events));
    config.ftl.power_loss_protection = power_loss_protection;
    config.ftl.erase_group = EraseGroup::Superblock;
    config.ftl.rated_blocks = 13;
    config.clock.as_mut().expect("it has one").config.write_cache = None;
    let ftl = config.ftl.clone();
    let mut drive = Drive::new(config).expect("it has room");
    drive.submit(SimTime(0), Request::write_without_bytes(sectors(0, 2)));
    (drive, ftl)
}

#[test]
fn what_is_in_flight_is_done_torn_or_never_began() {
    for (power_loss_protection, at, fate, held, unreadable) in [
        (false, PROGRAM_NS / 2, Fate::Undone, 0, 0),
        (false, PROGRAM_NS / 2, Fate::Torn, 0, 2),
        (false, PROGRAM_NS / 2, Fate::Done, 2, 0),
        (false, PROGRAM_NS, Fate::Torn, 2, 0),
        (true, PROGRAM_NS / 2, Fate::Undone, 2, 0),
        (true, PROGRAM_NS / 2, Fate::Torn, 2, 2),
    ] {
        let (mut drive, _) = two_pages(power_loss_protection, true);
        drive.complete(SimTime(at), &mut Vec::new());
        drive.power_cut(|| fate);
        let (report, _) = drive.power_on().expect("it keeps out-of-band data");
        let back = drive;
        let found = (mapped(&back).len(), report.pages_unreadable);
        assert_eq!(found, (held, unreadable), "{power_loss_protection} {at} ns {fate:?}");
    }
}

#[test]
fn a_trim_with_fua_is_over_once_flash_tells_of_it() {
    for by_events in [true, false] {
        let (mut drive, _) = two_pages(false, by_events);
        ended(&mut drive);
        let at = SimTime(10 * PROGRAM_NS);
        drive.submit(at, Request::trim(sectors(0, 1)).with_fua());
        let over: Vec<SimTime> = ended(&mut drive).iter().map(|answer| answer.at).collect();
        assert_eq!(
            over,
            [SimTime(12 * PROGRAM_NS)],
            "the journal's page is programmed, and the summary that it is owed"
        );
    }
}

#[test]
fn what_a_cache_took_with_fua_survives_whatever_becomes_of_its_programs() {
    for by_events in [true, false] {
        for power_loss_protection in [true, false] {
            let mut config = config(&mut Streams::new(1).stream("power"), Some(by_events));
            config.ftl.power_loss_protection = power_loss_protection;
            let clock = config.clock.as_mut().expect("it has one");
            clock.config.write_cache = Some(WriteCache { bytes: 1 << 16, latency_ns: 2_000 });
            let mut drive = Drive::new(config).expect("it has room");
            drive.submit(SimTime(0), Request::write_without_bytes(sectors(4, 1)));
            drive.submit(SimTime(0), Request::write_without_bytes(sectors(0, 2)).with_fua());
            let mut done = Vec::new();
            while done.len() < 2 {
                let next = drive.next_event_at().expect("both complete");
                drive.complete(next, &mut done);
            }
            assert_eq!(done[1].at < SimTime(PROGRAM_NS), power_loss_protection, "{:?}", done[1]);
            drive.power_cut(|| Fate::Undone);
            drive.power_on().expect("it keeps out-of-band data");
            let found = mapped(&drive);
            assert!(found.contains(&0) && found.contains(&1), "{power_loss_protection} {by_events}: {found:?}");
        }
    }
}

#[test]
fn a_drive_that_keeps_nothing_does_not_come_back() {
    let mut config = config(&mut Streams::new(1).stream("power"), Some(true));
    config.ftl.recovery = FtlConfig::new(&config.geometry, Ratio::ZERO).recovery;
    let mut drive = Drive::new(config).expect("it has room");
    assert!(matches!(drive.power_on(), Err(DriveError::PowerIsOn)));
    drive.power_cut(|| Fate::Done);
    for _ in 0..2 {
        assert!(matches!(drive.power_on(), Err(DriveError::Firmware(BuildError::NothingKept))));
        assert!(drive.is_off());
    }
}

#[test]
fn a_recovery_begins_when_the_power_is_back() {
    for by_events in [true, false] {
        let (mut drive, _) = two_pages(true, by_events);
        let (off, on) = (SimTime(PROGRAM_NS), SimTime(1_000 * PROGRAM_NS));
        drive.power_off(off, &mut || Fate::Undone);
        let took = Living::power_on(&mut drive, on).expect("it keeps out-of-band data").took;
        assert!(took > Nanos(0), "it reads its pages");
        assert_eq!(drive.now(), on + took, "requests come no earlier");
        assert_eq!(drive.clock().map(|clock| clock.now_ns()), Some((on + took).0));
    }
}
