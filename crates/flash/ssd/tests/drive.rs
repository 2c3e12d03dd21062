//! The drive as one value: a block device like any other, with the same state with and without time, and with its health record.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "a test of sending a drive to a thread")]

use wane_archive::{Reader, Writer};
use wane_blockdev::{
    Batch, BlockDevice, Completion, Delay, Delays, Extent, ExtentState, Fault, Keep as Kept, Living, Notice,
    NoticeKind, Passing, Record, Request, RequestId, SectorRange, Stats, Status, Stop, StreamHint, Tally, Unsupported,
    Wanted, Work, all_extents, carry_out, drain, rest_of,
};
use wane_ftl::policies::capacity::{Keep, Shrink, ShrinkMethod, Variant, VariantParams};
use wane_ftl::policies::recovery::{FullScan, FullScanParams};
use wane_ftl::policies::redundancy::{Stripes, StripesParams};
use wane_ftl::policies::retirement::{AtEndurance, AtEnduranceParams, AtErases, AtErasesParams, RetirementThreshold};
use wane_ftl::policies::scrub::{Age, AgeParams};
use wane_ftl::policies::{Builtin, Mode};
use wane_ftl::{EndOfLife, FtlConfig, OutOfRange, Outcome, Pooling, ProjectionError, Worn};
use wane_nand::{Ecc, ErrorConfig, FailureRate, FaultConfig, Media, rber};
use wane_sim::{Stream, Streams};
use wane_ssd::{AgeError, ClockSpec, Drive, DriveConfig, Projection, SchedulerConfig, Timing, WriteCache};
use wane_testkit::{ByHint, conformance};
use wane_units::{BlockId, Bytes, Fate, Geometry, Lba, Lpn, Nanos, Ratio, Sectors, SimTime, Trigger};

const GRACEFUL: VariantParams = VariantParams {
    shrink: Shrink::Graceful,
    keep: Keep::OverProvisioning,
    relocation_bound: None,
    method: ShrinkMethod::Relocate,
    step: 1,
};

fn geometry() -> Geometry {
    Geometry::new(2, 1, 1, 24, 8, Bytes(8192)).expect("a small drive")
}

/// 48 blocks of 8 pages of two units.
fn config() -> DriveConfig {
    let geometry = geometry();
    let mut ftl = FtlConfig::new(&geometry, Ratio::new(0.3).expect("a ratio"));
    (ftl.units_per_page, ftl.logical_units) = (2, ftl.logical_units * 2);
    DriveConfig::new(geometry, ftl)
}

fn clock(by_events: bool) -> ClockSpec {
    let timing = Timing {
        read_ns: vec![50_000, 90_000],
        program_ns: vec![600_000],
        erase_ns: 3_000_000,
        channel_bytes_per_second: Some(400_000_000),
    };
    ClockSpec { by_events, timing, config: SchedulerConfig::default(), rereads_max: 0, thermal: None }
}

fn timed(by_events: bool) -> DriveConfig {
    DriveConfig { clock: Some(clock(by_events)), ..config() }
}

/// It keeps out-of-band data, and its buffers do not survive a power cut.
fn unprotected(mut config: DriveConfig) -> DriveConfig {
    config.ftl.recovery = Box::new(FullScan::build(FullScanParams::default()));
    config.ftl.power_loss_protection = false;
    // Two blocks for metadata, and what padding wastes.
    config.ftl.logical_units = config.ftl.logical_units * 3 / 4;
    config
}

/// It keeps out-of-band data, and its buffers survive a power cut.
fn recovering(mut config: DriveConfig) -> DriveConfig {
    config.ftl.recovery = Box::new(FullScan::build(FullScanParams::default()));
    config.ftl.logical_units = config.ftl.logical_units * 3 / 4;
    config
}

fn errors(rereads_max: u32, strength: u32) -> ErrorConfig {
    let model = rber::chip("tlc-72l-2018").expect("a chip").model;
    let ecc = Ecc { strength: Some(strength), rereads_max: Some(rereads_max), ..Ecc::default() };
    ErrorConfig::new(model, ecc)
}

fn lpns(range: std::ops::Range<u32>) -> Vec<Lpn> {
    range.map(Lpn).collect()
}

fn age(drive: &mut Drive, units: &[Lpn]) {
    drive.age(units).expect("the drive lives");
}

fn at_random(drive: &mut Drive, stream: &mut Stream, writes: u32) {
    let logical = u64::from(drive.exported());
    let units: Vec<Lpn> = (0..writes).map(|_| Lpn(stream.below(logical) as u32)).collect();
    age(drive, &units);
}

fn sectors(first: u64, count: u64) -> SectorRange {
    SectorRange::new(Lba(first), Sectors(count))
}

/// Submits a request at the moment where the drive is and waits for it.
fn ask(drive: &mut Drive, at: u64, request: Request) -> Completion {
    let id = drive.submit(SimTime(at), request);
    let mut out = Vec::new();
    drain(drive, SimTime(at), &mut out);
    out.into_iter().find(|completion| completion.id == id).expect("each request completes")
}

#[test]
fn a_drive_is_a_block_device() {
    let striped = |by_events| {
        let mut config = timed(by_events);
        config.ftl.domain = Pooling::Die;
        config.ftl.gc_reserve = 2;
        config.ftl.redundancy = Box::new(Stripes::new(StripesParams { data_pages: 1 }).expect("1"));
        (config.ftl.gc_reserve, config.ftl.logical_units) = (2, config.ftl.logical_units / 3);
        config
    };
    let erring = |by_events| {
        let mut config = timed(by_events);
        config.errors = Some(errors(1, 25));
        config.erase_counts = vec![4_000; 48];
        config
    };
    let cached = || {
        let mut config = timed(true);
        let clock = config.clock.as_mut().expect("timed");
        clock.config.write_cache = Some(WriteCache { bytes: 1 << 16, latency_ns: 5_000 });
        config
    };
    let scrubbed = || {
        let mut config = erring(true);
        config.ftl.scrub = Box::new(Age::new(AgeParams::default()).expect("defaults"));
        config
    };
    let cases: [(&str, DriveConfig); 12] = [
        ("an untimed drive", config()),
        ("a drive that recovers", recovering(config())),
        ("a drive that recovers, by events", recovering(timed(true))),
        ("a drive timed by events", timed(true)),
        ("a drive timed by the timeline", timed(false)),
        ("a striped drive by events", striped(true)),
        ("a drive that errs, by events", erring(true)),
        ("a drive that errs, by the timeline", erring(false)),
        ("a drive with a write cache", cached()),
        ("a drive that scrubs", scrubbed()),
        ("a drive that pads when it is flushed", unprotected(config())),
        ("a drive that pads when it is flushed, by events", unprotected(timed(true))),
    ];
    for (name, config) in cases {
        for keeps_bytes in [false, true] {
            let config = DriveConfig { keeps_bytes, ..config.clone() };
            let make = || -> Box<dyn Living> { Box::new(Drive::new(config.clone()).expect(name)) };
            let is_plain = config.clock.is_none() && config.errors.is_none();
            let name = format!("{name}, keeping bytes: {keeps_bytes}");
            conformance::living_device(&name, &make, is_plain, 24);
        }
    }
}

#[test]
fn a_layer_over_a_drive_lives_as_the_drive_does() {
    for (name, config) in [("untimed", recovering(config())), ("by events", recovering(timed(true)))] {
        let config = DriveConfig { keeps_bytes: true, ..config };
        let drive = || Drive::new(config.clone()).expect(name);
        let is_plain = config.clock.is_none();
        let table: [(&str, conformance::MakeLiving<'_>); 4] = [
            ("stats", &|| Box::new(Stats::new(drive()))),
            ("record", &|| Box::new(Record::new(drive(), Kept::Bytes, 10_000))),
            ("delay", &|| Box::new(Delay::new(drive(), Delays::all(Nanos(5_000))))),
            ("stats of a box of a fault", &|| {
                let below: Box<dyn Living> = Box::new(Fault::new(drive()));
                Box::new(Stats::new(below))
            }),
        ];
        for (layer, make) in table {
            conformance::living_device(&format!("{layer} over a drive {name}"), make, is_plain, 8);
        }
    }
}

#[test]
fn a_batch_of_parts_and_long_ranges_leaves_what_requests_leave() {
    // Units of four logical sectors.
    let geometry = Geometry::new(2, 1, 1, 24, 8, Bytes(16_384)).expect("a small drive");
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.3).expect("a ratio"));
    let config = DriveConfig { keeps_bytes: true, ..DriveConfig::new(geometry, ftl) };
    let make = || Drive::new(config.clone()).expect("a drive");
    let (mut by_one, mut at_once) = (make(), make());
    let whole = SectorRange::new(Lba(0), BlockDevice::capacity(&by_one));
    for drive in [&mut by_one, &mut at_once] {
        ask(drive, 0, Request::write(sectors(0, 512), vec![7; 512 * 512]));
    }
    for (work, range) in [
        (Work::Write, sectors(24, 560)),
        (Work::Trim, sectors(40, 240)),
        (Work::Read, sectors(72, 800)),
        (Work::Write, sectors(264, 16)),
        (Work::Trim, whole),
        (Work::Write, whole),
    ] {
        let request = match work {
            Work::Read => Request::read(range),
            Work::Write => Request::write_without_bytes(range),
            _ => Request::trim(range),
        };
        assert!(ask(&mut by_one, 0, request).status.is_done(), "{work:?} {range}");
        let took = carry_out(&mut at_once, SimTime(0), &Batch::new(work, &[range]));
        assert_eq!((took.stop, took.done), (Stop::Done, range.count), "{work:?}");
        assert_eq!(at_once.counters(), by_one.counters(), "{work:?} {range}");
        let all = sectors(0, 1024);
        let [one, other] = [&mut by_one, &mut at_once].map(|drive| ask(drive, 0, Request::read(all)).bytes);
        assert_eq!(one, other, "{work:?} {range}");
    }
    assert_eq!(by_one.erase_counts(), at_once.erase_counts());
    assert_eq!(at_once.check(), Ok(()));
}

#[test]
fn a_batch_stops_where_its_host_is_needed() {
    let mut config = config();
    config.ftl.endurance = Some(20);
    config.ftl.retire = Box::new(AtEndurance::build(AtEnduranceParams::default()));
    config.ftl.capacity = Box::new(Variant::build(GRACEFUL));
    let mut drive = Drive::new(config).expect("a drive");
    let unit = drive.features().atomic_unit.0;
    let all: Vec<SectorRange> =
        (0..u64::from(drive.logical_initial())).map(|number| sectors(number * unit, unit)).collect();
    let wanted = loop {
        let took = drive.batch(SimTime(0), &Batch::new(Work::Write, &all));
        match took.stop {
            Stop::Wants(wanted) => break (wanted, took.done),
            Stop::Done => {}
            Stop::Paused => assert_eq!(drive.go_on(SimTime(0), Stop::Paused), Stop::Done),
            stop => panic!("the drive wants space before it ends: {stop:?}"),
        }
    };
    let (Wanted::AtMost(most), done) = wanted else { panic!("{wanted:?}") };
    assert!(most < BlockDevice::capacity(&drive) && done.0 > 0, "{most} {done}");
    // A host that gives nothing lets it go on, and hands in the rest.
    let rest = rest_of(&all, done);
    assert_eq!(rest.len() as u64 * unit + done.0, all.len() as u64 * unit);
    drive.go_on(SimTime(0), Stop::Wants(wanted.0));
    let mut ends = 0;
    while !matches!(carry_out(&mut drive, SimTime(0), &Batch::new(Work::Write, &all)).stop, Stop::Dead(_)) {
        ends += 1;
        assert!(ends < 10_000, "a drive that gets no space dies");
    }
    let mut health = Vec::new();
    Living::health(&drive, &mut health);
    assert!(health[0].end_of_life.is_some() && health[0].retired > 0.0, "{health:?}");
}

#[test]
fn days_pass_without_power_as_they_do_with_it() {
    for by_events in [None, Some(true)] {
        let mut config = recovering(by_events.map_or_else(config, timed));
        config.errors = Some(errors(1, 25));
        let mut drive = Drive::new(config).expect("a drive");
        ask(&mut drive, 0, Request::write_without_bytes(sectors(0, 64)));
        let at = drive.now();
        drive.power_off(at, &mut || Fate::Done);
        let end = drive.pass(at, Passing::Shelf { days: 30.0, rate: 2.0 });
        assert_eq!(end, at, "no clock counts days without power");
        Living::power_on(&mut drive, at).expect("it comes back");
        assert!((drive.day() - 30.0).abs() < 1e-6, "{}", drive.day());
        assert!((drive.data_days() - 60.0).abs() < 1e-6, "{}", drive.data_days());
        assert_eq!(drive.unpowered(), (30.0, 1));
    }
}

#[test]
fn a_flush_programs_what_would_be_lost_and_waits_for_it() {
    const PROGRAM_NS: u64 = 600_000;
    let page = |drive: &Drive| (drive.counters().programmed_padding, drive.counters().programmed_metadata);
    for by_events in [true, false] {
        let mut drive = Drive::new(unprotected(timed(by_events))).expect("it has room");
        // Half a page.
        let written = ask(&mut drive, 0, Request::write_without_bytes(sectors(0, 8)));
        assert!(written.at < SimTime(PROGRAM_NS), "a unit that fills no page is not programmed");
        let flushed = ask(&mut drive, written.at.0, Request::flush());
        assert!(flushed.at >= SimTime(written.at.0 + PROGRAM_NS), "{flushed:?}");
        assert_eq!(page(&drive), (1, 0));
        // A write that is to be durable waits for its own program.
        let durable = ask(&mut drive, flushed.at.0, Request::write_without_bytes(sectors(8, 8)).with_fua());
        assert!(durable.at >= SimTime(flushed.at.0 + PROGRAM_NS), "{durable:?}");
        assert_eq!(page(&drive), (2, 0));
        // A trim is durable once its record is programmed.
        let trimmed = ask(&mut drive, durable.at.0, Request::trim(sectors(0, 8)));
        assert_eq!(page(&drive), (2, 0));
        ask(&mut drive, trimmed.at.0, Request::flush());
        assert_eq!(page(&drive), (2, 4), "a page of the journal, and the summary that it is owed");
    }
    let mut drive = Drive::new(timed(true)).expect("it has room");
    let written = ask(&mut drive, 0, Request::write_without_bytes(sectors(0, 8)));
    ask(&mut drive, written.at.0, Request::flush());
    assert_eq!(page(&drive), (0, 0));
}

fn with_cache(mut config: DriveConfig) -> DriveConfig {
    let clock = config.clock.as_mut().expect("timed");
    clock.config.write_cache = Some(WriteCache { bytes: 1 << 20, latency_ns: 5_000 });
    config
}

#[test]
fn a_flush_waits_for_the_flash_only_where_buffers_may_be_lost() {
    const PROGRAM_NS: u64 = 600_000;
    // Whether buffers survive, whether there is a cache; whether a write, a flush behind it, and a write with force unit access
    // take less than a program.
    let table = [
        (true, false, [false, false, false]),
        (true, true, [true, true, true]),
        (false, false, [false, false, false]),
        (false, true, [true, false, false]),
    ];
    for by_events in [true, false] {
        for (survive, caches, want) in table {
            let config = if survive { timed(by_events) } else { unprotected(timed(by_events)) };
            let mut drive = Drive::new(if caches { with_cache(config) } else { config }).expect("it has room");
            assert!(drive.features().fua);
            let write = || Request::write_without_bytes(sectors(0, 64));
            let requests = [write(), Request::flush(), write().with_fua()];
            let mut out = Vec::new();
            // The flush comes at once, the other write when all is quiet.
            let ids = [0, 0, 1_000_000_000].into_iter().zip(requests).map(|(at, request)| {
                drive.complete(SimTime(at), &mut out);
                drive.submit(SimTime(at), request)
            });
            let ids: Vec<RequestId> = ids.collect();
            drain(&mut drive, SimTime(1_000_000_000), &mut out);
            let took =
                [0, 1, 2].map(|number| out.iter().find(|done| done.id == ids[number]).expect("over").latency().0);
            assert_eq!(took.map(|took| took < PROGRAM_NS), want, "{by_events} {survive} {caches}: {took:?}");
            assert!(out.iter().all(|done| done.status.is_done()) && took[1] >= took[0], "{out:?}");
        }
    }
}

#[test]
fn drives_are_sent_to_other_threads_and_cloned() {
    let mut drive = Drive::new(timed(true)).expect("a drive");
    let mut stream = Streams::new(3).stream("writes");
    at_random(&mut drive, &mut stream, 2_000);
    let mut copy = drive.clone();
    let (mut here, mut there) = (stream.clone(), stream);
    let moved = std::thread::spawn(move || {
        at_random(&mut copy, &mut there, 500);
        copy.health_record()
    });
    at_random(&mut drive, &mut here, 500);
    assert_eq!(moved.join().expect("no panic"), drive.health_record());
}

/// A drive that ages on the counting medium, wakes for some requests now and then, and rests again, reaches the state of one that
/// stays on the detailed medium.
#[test]
fn rest_and_detail_come_to_the_same_state() {
    let mut plain = Drive::new(timed(true)).expect("a drive");
    let mut detailed = plain.clone();
    let mut resting = plain.clone();
    detailed.keep_detail(true);
    let mut streams = [(); 3].map(|()| Streams::new(5).stream("writes"));
    let mut now = 0;
    for round in 0..40u64 {
        for (drive, stream) in [&mut plain, &mut detailed, &mut resting].into_iter().zip(&mut streams) {
            at_random(drive, stream, 300);
        }
        assert!(!plain.is_awake() && detailed.is_awake() && !resting.is_awake());
        // A read and a flush change no map.
        now += 1_000_000_000;
        ask(&mut resting, now, Request::read(sectors(8 * round, 8)));
        assert!(resting.is_awake());
        now = resting.clock().expect("timed").now_ns();
        for drive in [&detailed, &resting] {
            assert_eq!(drive.erase_counts(), plain.erase_counts());
            assert!((0..plain.exported()).all(|unit| drive.lookup(Lpn(unit)) == plain.lookup(Lpn(unit))));
        }
    }
    assert_eq!(resting.check(), Ok(()));
}

/// What was written while the drive rested counts as written when it wakes; what was not touched keeps its age.
#[test]
fn data_keep_their_age_while_the_drive_rests() {
    let mut config = config();
    config.errors = Some(errors(3, 75));
    let mut drive = Drive::new(config).expect("a drive");
    let logical = drive.exported();
    age(&mut drive, &lpns(0..logical));
    drive.wake();
    drive.set_day(10.0);
    assert!(drive.rest() && !drive.is_awake());
    // The first sixteen units are a whole block, which is not touched. Three more blocks' worth is written anew.
    age(&mut drive, &lpns(16..64));
    drive.set_day(12.0);
    drive.wake();
    let old = drive.layout().locate(drive.lookup(Lpn(0)).expect("written")).0;
    let new = drive.layout().locate(drive.lookup(Lpn(48)).expect("written")).0;
    let age_of = |superblock| drive.health(drive.layout().member(superblock, 0)).age_days;
    assert_eq!((age_of(old), age_of(new)), (12.0, 2.0), "the write came before two days passed");
    // Blocks that are erased meanwhile hold new data when the drive wakes.
    assert!(drive.rest());
    let erased = drive.health_record().flash_blocks_erased;
    (0..6).for_each(|_| age(&mut drive, &lpns(0..logical)));
    assert!(drive.health_record().flash_blocks_erased > erased + 96, "each block was erased twice");
    drive.wake();
    let holder = |unit| drive.layout().locate(drive.lookup(Lpn(unit)).expect("written")).0;
    let oldest = (0..logical).map(|unit| drive.health(drive.layout().member(holder(unit), 0)).age_days);
    assert_eq!(oldest.fold(0.0, f64::max), 0.0);
}

/// Requests ask for parts of units: the rest is read first, once for each end.
#[test]
fn parts_of_units_are_read_modified_and_written() {
    let mut config = timed(true);
    config.ftl.units_per_page = 1;
    config.ftl.logical_units /= 2;
    let mut drive = Drive::new(config).expect("a drive");
    assert_eq!((drive.features().sector, drive.features().atomic_unit), (Sectors(8), Sectors(16)));
    ask(&mut drive, 0, Request::write_without_bytes(sectors(0, 48)));
    assert_eq!(drive.read_modify_writes(), 0);
    let whole = ask(&mut drive, 1_000_000_000, Request::write_without_bytes(sectors(16, 16)));
    let part = ask(&mut drive, 2_000_000_000, Request::write_without_bytes(sectors(8, 16)));
    assert_eq!(drive.read_modify_writes(), 2);
    // The host's bytes are those that it wrote and read.
    let read = ask(&mut drive, 3_000_000_000, Request::read(sectors(8, 8)));
    assert_eq!(read.status, Status::Done);
    let (health, counters) = (drive.health_record(), *drive.counters());
    assert_eq!((health.host_bytes_written, health.host_bytes_read), ((48 + 16 + 16) * 512, 8 * 512));
    assert_eq!(
        (counters.host_units_written, counters.host_units_read, counters.units_written_in_part),
        (3 + 1 + 2, 1, 2)
    );
    assert!(part.latency() > whole.latency(), "{} and {}", part.latency(), whole.latency());
    let parts = drive.breakdown(part.id).expect("it was just done").total_ns();
    assert_eq!(parts, part.latency().0);
}

/// A drive whose blocks retire after 40 erases and whose capacity falls with them.
fn shrinking() -> Drive {
    Drive::new(shrinking_config()).expect("a drive")
}

fn shrinking_config() -> DriveConfig {
    let mut config = config();
    config.ftl.endurance = Some(40);
    config.ftl.retire = Box::new(AtEndurance::new(AtEnduranceParams::default()).expect("defaults"));
    config.ftl.capacity = Box::new(Variant::new(GRACEFUL).expect("consistent"));
    config
}

/// A drive that wants capacity back notifies its host, and continues while it can; then it reports what found no space.
#[test]
fn a_request_never_waits_for_its_host() {
    let mut drive = shrinking();
    let capacity = drive.capacity().0;
    let mut stream = Streams::new(9).stream("writes");
    let mut notices: Vec<Notice> = Vec::new();
    let (mut failed, mut requests) = (None, 0);
    while failed.is_none() && requests < 1_000_000 {
        let first = 8 * stream.below(capacity / 8 - 16);
        let done = ask(&mut drive, requests, Request::write_without_bytes(sectors(first, 64)));
        drive.notices(&mut notices);
        requests += 1;
        if done.status != Status::Done {
            failed = Some(done);
        }
    }
    let failed = failed.expect("without an answer the drive dies");
    assert!(matches!(failed.status, Status::NoSpace(_)), "{failed:?}");
    let wanted = notices.iter().map(|notice| match notice.kind {
        NoticeKind::CapacityWanted { to: sectors, .. } => sectors.0,
        other => panic!("{other:?}"),
    });
    let wanted: Vec<u64> = wanted.collect();
    assert!(
        !wanted.is_empty() && wanted.is_sorted_by(|a, b| a > b) && wanted[0] < capacity,
        "{wanted:?} of {capacity}"
    );
    assert_eq!(drive.capacity().0, capacity, "what is not given up stays");
    assert_eq!(drive.check(), Ok(()));
    // Reads go on, and so do writes once the host answers.
    assert_eq!(ask(&mut drive, requests, Request::read(sectors(0, 64))).status, Status::Done);
    assert_eq!(drive.set_capacity(SimTime(requests), Sectors(*wanted.last().expect("not empty"))), Status::Done);
    assert_eq!(ask(&mut drive, requests, Request::write_without_bytes(sectors(0, 64))).status, Status::Done);
}

/// A drive that gets no answer keeps a free block, whatever it is asked to write.
#[test]
fn a_drive_that_waits_for_capacity_keeps_its_last_free_block() {
    let mut config = shrinking_config();
    (config.ftl.gc_reserve, config.ftl.logical_units) = (2, config.ftl.logical_units / 3);
    let mut drive = Drive::new(config).expect("a drive");
    let mut stream = Streams::new(4).stream("writes");
    let units = drive.capacity().0 / 8;
    let (mut refused, mut least) = (0, u32::MAX);
    for number in 0..40_000 {
        let request = Request::write_without_bytes(sectors(8 * stream.below(units), 8));
        refused += u32::from(ask(&mut drive, number, request).status != Status::Done);
        least = least.min(drive.free_blocks_min());
    }
    assert!(refused > 1000, "{refused} writes found no space");
    assert_eq!(least, 1);
}

/// The same drive survives if its host answers.
#[test]
fn a_host_that_gives_capacity_up_keeps_the_drive_alive() {
    let mut drive = shrinking();
    let capacity = drive.capacity().0;
    let mut stream = Streams::new(9).stream("writes");
    let mut notices = Vec::new();
    let mut requests = 0;
    while drive.capacity().0 > capacity / 2 {
        let first = 8 * stream.below(drive.capacity().0 / 8 - 8);
        let done = ask(&mut drive, requests, Request::write_without_bytes(sectors(first, 64)));
        assert_eq!(done.status, Status::Done, "after {requests} requests at {}", drive.capacity());
        notices.clear();
        drive.notices(&mut notices);
        for notice in &notices {
            if let NoticeKind::CapacityWanted { to: wanted, .. } = notice.kind {
                assert_eq!(drive.set_capacity(SimTime(requests), wanted), Status::Done);
            }
        }
        requests += 1;
    }
    assert_eq!(drive.check(), Ok(()));
}

#[test]
fn a_read_recovery_level_limits_the_rereads_of_the_host() {
    let worn = DriveConfig { errors: Some(errors(8, 75)), erase_counts: vec![5000; 48], ..config() };
    let mut drive = Drive::new(worn).expect("a drive");
    let units = lpns(0..100);
    age(&mut drive, &units);
    drive.wake();
    let mut unread = |level: Option<u32>| {
        assert_eq!(drive.set_read_recovery(level), wane_ftl::Outcome::Done);
        drive.read_batch(&units).expect("exported units");
        drive.unread().len()
    };
    // With one re-read there are half as many errors as the code corrects. Without any, most pages have a codeword with too many.
    assert_eq!([unread(None), unread(Some(4))], [0, 0]);
    assert!(unread(Some(0)) > 50);
    assert_eq!(unread(None), 0, "the level can be raised again");
}

#[test]
fn blocks_that_need_more_rereads_than_required_retire() {
    // Of the chip of 001 with 50 bits of 4 KiB: two re-reads up to 85 erases, three from 86 on.
    let model = rber::chip("tlc-72l-cvss").expect("a chip").model;
    let ecc = Ecc { codeword_bytes: 4096, strength: Some(50), draws: wane_nand::Draws::Expected, ..Ecc::default() };
    let mut erase_counts = vec![80; 48];
    erase_counts[46..].fill(86);
    let worn = DriveConfig { errors: Some(ErrorConfig::new(model, ecc)), erase_counts, ..config() };
    let mut drive = Drive::new(worn).expect("a drive");
    age(&mut drive, &lpns(0..100));
    assert_eq!((drive.retired_blocks(), drive.read_recovery()), (0, None));
    assert_eq!(drive.set_read_recovery(Some(2)), wane_ftl::Outcome::Done);
    assert_eq!((drive.retired_blocks(), drive.read_recovery()), (2, Some(2)), "free blocks beyond it go at once");
    assert!(!drive.rest(), "erases must see the flash");
    let mut stream = Streams::new(4).stream("writes");
    for _ in 0..400 {
        let unit = Lpn(stream.below(100) as u32);
        let _ = drive.write_batch(&[unit]);
    }
    let all: Vec<u32> = drive.superblock_erase_counts().to_vec();
    assert!(all[..46].iter().all(|erases| *erases <= 86), "{all:?}");
    let record = drive.health_record();
    assert_eq!((record.rereads_max, record.blocks_bad_grown), (Some(2), drive.retired_blocks()));
    drive.check().expect("invariants hold");
}

#[test]
fn a_host_steers_the_drive_alive() {
    let mut drive = Drive::new(config()).expect("a drive");
    age(&mut drive, &lpns(0..100));
    assert_eq!(drive.remap(Lpn(200), Lpn(10), 4, 4), Ok(4));
    assert!(drive.lookup(Lpn(10)).is_none() && drive.lookup(Lpn(203)).is_some());
    assert_eq!((drive.mode(), drive.trigger(), drive.judges_mode()), (Mode::Normal, None, false));
    drive.set_mode(Mode::Degraded);
    assert_eq!((drive.mode(), drive.trigger()), (Mode::Degraded, Some(Trigger::Host)));
    assert_eq!(drive.set_retirement_threshold(RetirementThreshold::Erases(5)), None, "it never retires");
    // All of it moves along when the drive changes its medium.
    drive.wake();
    assert_eq!((drive.mode(), drive.lookup(Lpn(10)), drive.mode_view().valid), (Mode::Degraded, None, 100));
    drive.check().expect("invariants hold");
}

/// Idle time is used for scrubbing.
#[test]
fn idle_time_is_scrubbed_in() {
    let mut config = timed(true);
    config.errors = Some(errors(3, 75));
    config.ftl.scrub = Box::new(Age::new(AgeParams { days: 1.0 }).expect("a day"));
    let mut drive = Drive::new(config).expect("a drive");
    let logical = drive.exported();
    age(&mut drive, &lpns(0..logical));
    ask(&mut drive, 0, Request::read(sectors(0, 8)));
    let before = drive.counters().programmed_scrub;
    assert_eq!(drive.idle(Nanos(1_000_000_000)), 0, "data of a second are not old");
    drive.set_day(30.0);
    let steps = drive.idle(Nanos(60_000_000_000));
    assert!(steps > 20, "{steps} blocks were relocated");
    assert!(drive.counters().programmed_scrub - before >= u64::from(logical) / 2);
    assert_eq!(drive.idle(Nanos(1_000_000_000)), 0, "all is fresh");
}

#[test]
fn aging_says_how_far_it_came() {
    let mut config = config();
    config.ftl.endurance = Some(5);
    config.ftl.retire = Box::new(AtEndurance::new(AtEnduranceParams::default()).expect("defaults"));
    let mut drive = Drive::new(config).expect("a drive");
    let logical = drive.exported();
    let refused = AgeError::OutOfRange(OutOfRange { unit: Lpn(logical), exported: logical });
    assert_eq!(drive.age(&[Lpn(0), Lpn(logical)]), Err(refused));
    let mut written = 0;
    let died = loop {
        match drive.age(&lpns(0..logical)) {
            Ok(()) => written += u64::from(logical),
            Err(died) => break died,
        }
    };
    let AgeError::Died { cause: EndOfLife::SpareExhausted, written: last } = died else { panic!("{died:?}") };
    assert_eq!(drive.health_record().host_bytes_written, (written + last as u64) * 4096);
    assert_eq!(drive.end_of_life(), Some(EndOfLife::SpareExhausted));
}

/// A drive that keeps bytes, whose blocks serve five erases, and whose units have two sectors of 4 KiB.
fn mortal(config: DriveConfig) -> Drive {
    let mut config = config;
    config.ftl.units_per_page = 1;
    config.ftl.logical_units /= 2;
    config.ftl.endurance = Some(5);
    config.ftl.retire = Box::new(AtEndurance::new(AtEnduranceParams::default()).expect("defaults"));
    Drive::new(DriveConfig { keeps_bytes: true, ..config }).expect("a drive")
}

/// What each 4 KiB of a drive hold: a byte that marks who wrote them.
struct Held(Vec<u8>);

impl Held {
    fn set(&mut self, range: SectorRange, failed: &[SectorRange], mark: u8) {
        for first in (range.start.0..range.start.0 + range.count.0).step_by(8) {
            if !failed.iter().any(|range| range.overlaps(sectors(first, 8))) {
                self.0[first as usize / 8] = mark;
            }
        }
    }

    fn check(&self, drive: &mut Drive) {
        let (now, capacity) = (drive.now().0, drive.capacity().0);
        let read = ask(drive, now, Request::read(sectors(0, capacity)));
        assert_eq!(read.status, Status::Done, "it reads on");
        let bytes = read.bytes.expect("it keeps bytes");
        let wrong = bytes.chunks(4096).zip(&self.0).position(|(found, mark)| found.iter().any(|byte| byte != mark));
        assert_eq!(wrong, None, "in units of 4 KiB");
        drive.check().expect("every invariant holds");
    }
}

/// Writes until a request fails. Returns what is held then, and that request.
fn write_to_death(drive: &mut Drive) -> (Held, Completion) {
    let capacity = drive.capacity().0;
    let mut held = Held(vec![0; capacity as usize / 8]);
    let mut stream = Streams::new(6).stream("writes");
    for number in 1..100_000u32 {
        let first = if number == 1 { 0 } else { 8 * stream.below(capacity / 8 - 12) };
        let (range, mark, now) = (sectors(first, 96), (number % 251 + 1) as u8, drive.now().0);
        let done = ask(drive, now, Request::write(range, vec![mark; 96 * 512]));
        held.set(range, done.status.failed(), mark);
        if !done.status.is_done() {
            return (held, done);
        }
    }
    panic!("it never died");
}

#[test]
fn a_drive_that_dies_reads_on_and_takes_no_writes() {
    let mut drive = mortal(config());
    let (mut held, last) = write_to_death(&mut drive);
    assert_eq!(drive.end_of_life(), Some(EndOfLife::SpareExhausted));
    let Status::ReadOnly(failed) = &last.status else { panic!("{last:?}") };
    assert_eq!((failed.len(), failed[0].end()), (1, last.range.end()), "it is written up to where the drive died");
    held.check(&mut drive);
    // Sectors 0 to 64 hold data, so that the ends of a range would have to be written.
    assert!((0..4).all(|unit| drive.lookup(Lpn(unit)).is_some()));
    let read_only =
        |ranges: &[(u64, u64)]| Status::ReadOnly(ranges.iter().map(|(first, count)| sectors(*first, *count)).collect());
    let write = |range: SectorRange| Request::write(range, vec![9; range.len_bytes()]);
    let table = [
        (write(sectors(8, 24)), read_only(&[(8, 24)])),
        (write(sectors(0, 16)).with_fua(), read_only(&[(0, 16)])),
        (write(sectors(8, 0)), Status::Done),
        (Request::write_zeroes(sectors(0, 32)), read_only(&[(0, 32)])),
        (Request::flush(), Status::Done),
        (Request::trim(sectors(8, 8)), read_only(&[(8, 8)])),
        (Request::trim(sectors(8, 32)), read_only(&[(8, 8), (32, 8)])),
        (Request::write_zeroes(sectors(32, 16)).with_may_unmap(), Status::Done),
        (Request::remap(sectors(48, 16), sectors(16, 16)), Status::Done),
        (Request::read(sectors(0, 64)), Status::Done),
    ];
    for (request, want) in table {
        let now = drive.now().0;
        let done = ask(&mut drive, now, request.clone());
        assert_eq!(done.status, want, "{request:?}");
    }
    held.set(sectors(32, 16), &[], 0);
    held.0[2] = held.0[6];
    held.0[3] = held.0[7];
    held.set(sectors(48, 16), &[], 0);
    held.check(&mut drive);
}

/// Drives that die in the midst of a sequence of requests, or were dead before, follow the rules.
#[test]
fn a_drive_at_the_end_of_its_life_is_a_block_device() {
    let cases = [
        ("untimed", config()),
        ("by events", timed(true)),
        ("unprotected", unprotected(config())),
        ("unprotected, by the timeline, with a cache", with_cache(unprotected(timed(false)))),
    ];
    for (name, config) in cases {
        let fresh = mortal(config);
        let logical = u64::from(fresh.exported());
        let mut stream = Streams::new(8).stream("writes");
        let units: Vec<Lpn> = (0..100_000).map(|_| Lpn(stream.below(logical) as u32)).collect();
        let Err(AgeError::Died { written: life, .. }) = fresh.clone().age(&units) else { panic!("{name} never died") };
        for left in [0, 1, 40] {
            let mut old = fresh.clone();
            let died = old.age(&units[..life - left]).is_err();
            assert_eq!(died, left == 0, "{name}, {left} units before its end");
            old.trim_batch(&lpns(0..logical as u32)).expect("they are exported");
            let make = || -> Box<dyn BlockDevice> { Box::new(old.clone()) };
            conformance::block_device_cases(&format!("{name}, {left} units before its end"), &make, 24);
        }
    }
}

/// Where buffers may be lost, a dead drive cannot make durable what it still takes.
#[test]
fn a_dead_drive_promises_nothing_that_a_power_cut_could_take() {
    for clock in [None, Some(clock(true)), Some(clock(false))] {
        let mut drive = mortal(unprotected(DriveConfig { clock, ..config() }));
        let (mut held, last) = write_to_death(&mut drive);
        assert!(drive.end_of_life().is_some() && matches!(last.status, Status::ReadOnly(_)), "{last:?}");
        held.check(&mut drive);
        let unit = sectors(0, 16);
        let table = [
            (Request::flush(), Status::ReadOnly(Vec::new())),
            (Request::trim(unit).with_fua(), Status::ReadOnly(vec![unit])),
            (Request::remap(sectors(32, 16), unit).with_fua(), Status::ReadOnly(vec![unit])),
            (Request::trim(sectors(16, 16)), Status::Done),
        ];
        for (request, want) in table {
            let now = drive.now().0;
            let done = ask(&mut drive, now, request.clone());
            assert_eq!(done.status, want, "{request:?}");
        }
        held.set(sectors(16, 16), &[], 0);
        held.check(&mut drive);
    }
}

#[test]
fn a_drive_without_a_free_block_is_read_only() {
    let mut config = config();
    config.ftl.retire = Box::new(AtErases::new(AtErasesParams { erases: 1_000 }).expect("a number"));
    let mut drive = Drive::new(config).expect("a drive");
    at_random(&mut drive, &mut Streams::new(5).stream("writes"), 8_000);
    let died = drive.set_retirement_threshold(RetirementThreshold::Erases(1));
    assert_eq!(died, Some(Outcome::Dead(EndOfLife::NoFreeBlock)));
    let done = ask(&mut drive, 0, Request::write_without_bytes(sectors(0, 16)));
    assert_eq!(done.status, Status::ReadOnly(vec![sectors(0, 16)]));
    assert_eq!(ask(&mut drive, 0, Request::read(sectors(0, 1024))).status, Status::Done);
}

/// A call looks at 65,536 units at most.
#[test]
fn extents_of_a_large_drive_come_in_parts() {
    let geometry = Geometry::flat(320, 512, Bytes(4096)).expect("a drive");
    let mut drive =
        Drive::new(DriveConfig::new(geometry, FtlConfig::new(&geometry, Ratio::new(0.1).expect("a ratio"))))
            .expect("a drive");
    age(&mut drive, &lpns(65_530..70_000));
    let (mut once, mut whole): (Vec<Extent>, Vec<Extent>) = (Vec::new(), Vec::new());
    let range = sectors(0, drive.capacity().0 + 800);
    drive.extents(range, &mut once);
    all_extents(&drive, range, &mut whole);
    let of = |extents: &[Extent]| {
        let facts = |extent: &Extent| (extent.range.start.0 / 8, extent.range.count.0 / 8, extent.state);
        extents.iter().map(facts).collect::<Vec<_>>()
    };
    let (hole, data) = (ExtentState::Hole, ExtentState::Data);
    let exported = u64::from(drive.exported());
    assert_eq!(of(&once), [(0, 65_530, hole), (65_530, 6, data)]);
    assert_eq!(of(&whole)[..4], [(0, 65_530, hole), (65_530, 6, data), (65_536, 4_464, data), (70_000, 61_072, hole)]);
    assert_eq!(whole.iter().map(|extent| extent.range.count.0 / 8).sum::<u64>(), exported);
}

/// Writes with different stream hints go to different blocks.
#[test]
fn a_stream_hint_reaches_the_placement_policy() {
    let mut config = config();
    config.ftl.placement = Box::new(ByHint { streams: 2 });
    let mut drive = Drive::new(config).expect("a drive");
    for number in 0..64 {
        let hint = StreamHint(number as u16 % 2);
        ask(&mut drive, number, Request::write_without_bytes(sectors(8 * number, 8)).with_stream(hint));
    }
    let block = |unit| drive.layout().locate(drive.lookup(Lpn(unit)).expect("written")).0;
    let of = |parity: u32| (0..32).map(|unit| block(2 * unit + parity)).collect::<std::collections::BTreeSet<_>>();
    assert!(of(0).is_disjoint(&of(1)), "{:?} and {:?}", of(0), of(1));
}

#[test]
fn what_cannot_be_built_is_refused_with_a_sentence() {
    type Spoil = fn(&mut DriveConfig);
    let table: [(Spoil, &str); 5] = [
        (|config| config.ftl.units_per_page = 0, "units_per_page: found 0 mapping units in a page"),
        (|config| config.ftl.units_per_page = 3, "a multiple of 512 bytes"),
        (|config| config.ftl.gc_reserve = u32::MAX, "logical_units: no room for"),
        (|config| config.erase_counts = vec![1; 7], "7 erase counts for 48 flash blocks"),
        (|config| config.ftl.units_per_page = 32, "a multiple of 512 bytes"),
    ];
    for (spoil, want) in table {
        let mut config = config();
        spoil(&mut config);
        let Err(refused) = Drive::new(config) else { panic!("built in spite of {want}") };
        assert!(refused.to_string().contains(want), "{refused}");
    }
}

#[test]
fn faulty_flash_is_watched_throughout() {
    let mut config = config();
    config.faults = Some(FaultConfig { program: FailureRate::constant(0.01), ..FaultConfig::default() });
    let mut drive = Drive::new(config).expect("a drive");
    drive.wake();
    assert!(!drive.rest());
    let mut stream = Streams::new(3).stream("writes");
    at_random(&mut drive, &mut stream, 1_000);
    assert!(drive.flash().is_some_and(|flash| flash.has_faults()) && drive.check() == Ok(()));
    assert_eq!(drive.flash().expect("awake").erase_count(BlockId(0)).0, drive.erase_counts()[0]);
}

#[test]
fn requests_near_the_end_of_time_end_or_are_refused() {
    let scrubbed = |by_events| {
        let mut config = timed(by_events);
        config.errors = Some(errors(1, 75));
        config.ftl.scrub = Box::new(Age::new(AgeParams::default()).expect("defaults"));
        config
    };
    let refused = Status::Unsupported(Unsupported::ClockEnd);
    let write = || Request { bytes: None, ..Request::write(sectors(0, 64), vec![0; 64 * 512]) };
    let cases = [timed(true), timed(false), scrubbed(true), scrubbed(false)];
    for (number, config) in cases.into_iter().enumerate() {
        // At once at the end, nothing is done.
        let mut drive = Drive::new(config.clone()).expect("a drive");
        let late = ask(&mut drive, u64::MAX, write());
        assert_eq!(
            (late.status, late.at, drive.lookup(Lpn(0))),
            (refused.clone(), SimTime::MAX, None),
            "case {number}"
        );
        // Earlier requests end, even if a host waits for ever, and the clock goes on.
        let mut drive = Drive::new(config.clone()).expect("a drive");
        let early = drive.submit(SimTime(1_000), write());
        let mut twin = drive.clone();
        let mut out = Vec::new();
        twin.complete(SimTime::MAX, &mut out);
        assert_eq!((out.len(), out[0].id, &out[0].status), (1, early, &Status::Done), "case {number}");
        assert!(out[0].at > SimTime(1_000) && out[0].at < SimTime(1_000_000_000), "case {number}: {:?}", out[0]);
        assert_eq!(ask(&mut twin, u64::MAX, write()).status, refused, "case {number}");
        // The first request that may not end in time is done at the last instant, and none is served after it.
        out.clear();
        let mut statuses = Vec::new();
        for at in [u64::MAX - (1 << 40), u64::MAX - 5_000, u64::MAX - 4_000, u64::MAX - 1, u64::MAX] {
            let id = drive.submit(SimTime(at), write());
            statuses.push((id, at));
        }
        drain(&mut drive, SimTime::MAX, &mut out);
        let of =
            |index: usize| out.iter().find(|completion| completion.id == statuses[index].0).expect("each completes");
        assert!(of(0).at < SimTime(u64::MAX - 5_000) && of(0).status.is_done(), "case {number}: {:?}", of(0));
        assert_eq!((of(1).at, &of(1).status), (SimTime::MAX, &Status::Done), "case {number}");
        for (index, (_, at)) in statuses.iter().enumerate().skip(2) {
            assert_eq!((of(index).at.0, &of(index).status), (*at, &refused), "case {number}");
        }
        assert_eq!(drive.idle(Nanos(u64::MAX)), 0, "case {number}: nothing is scrubbed after the end");
        drive.check().expect("every invariant holds");
    }
    // A drive without a clock takes no time, at the last instant as at any.
    let mut drive = Drive::new(config()).expect("a drive");
    let last = ask(&mut drive, u64::MAX, write());
    assert_eq!((last.status, last.at), (Status::Done, SimTime::MAX));
}

#[test]
fn days_and_drive_writes_are_numbers() {
    type Act = fn(&mut Drive, f64);
    let table: [(&str, Act); 3] = [
        ("day", |drive, value| drive.set_day(value)),
        ("drive writes", |drive, value| drive.set_drive_writes(value)),
        ("past", |drive, value| drive.set_past(|_| (value, 0))),
    ];
    let accepts = |act: Act, value: f64| {
        let mut drive = Drive::new(config()).expect("a drive");
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&mut drive, value))).is_ok()
    };
    for (name, act) in table {
        for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0] {
            assert!(!accepts(act, value), "{name} {value}");
        }
        assert!(accepts(act, 0.0) && accepts(act, 2.5), "{name}");
    }
}

/// A prediction of these erase counts for 60 units of the host.
fn predicted(erase_counts: &[u32]) -> Projection<'_> {
    let (host_units, programmed_units) = (60, 90);
    Projection { erase_counts, by_wear_leveling: 0.0, worn: Worn::AtOnce, host_units, programmed_units }
}

#[test]
fn a_drive_takes_projected_wear_while_it_rests() {
    let geometry = Geometry::flat(32, 8, Bytes(4096)).unwrap();
    let config = || DriveConfig::new(geometry, FtlConfig::new(&geometry, Ratio::new(0.3).unwrap()));
    let mut drive = Drive::new(config()).unwrap();
    drive.age(&(0..drive.exported()).chain(0..50).map(Lpn).collect::<Vec<Lpn>>()).unwrap();
    drive.wake();
    let wanted: Vec<u32> = drive.superblock_erase_counts().iter().map(|count| count + 7).collect();
    let (counters, before) = (*drive.counters(), drive.health_record());
    assert_eq!(drive.project_wear(&predicted(&wanted)), Ok(Outcome::Done));
    assert_eq!((drive.superblock_erase_counts(), drive.erase_counts()), (&wanted[..], &wanted[..]));
    // The counters tell what was done, and health also what was predicted.
    assert_eq!((*drive.counters(), drive.predicted().erases), (counters, 7 * 32));
    let health = drive.health_record();
    assert_eq!(health.host_bytes_written - before.host_bytes_written, 60 * 4096);
    assert_eq!(health.host_writes - before.host_writes, 60);
    assert_eq!(health.flash_pages_programmed - before.flash_pages_programmed, 90);
    assert_eq!(health.flash_blocks_erased - before.flash_blocks_erased, 7 * 32);
    drive.check().unwrap();
    let mut writer = Writer::new(Vec::new()).unwrap();
    drive.archive(&mut writer).unwrap();
    let bytes = writer.finish().unwrap();
    let mut opened = Drive::new(config()).unwrap();
    opened.archive(&mut Reader::new(&bytes[..]).unwrap()).unwrap();
    assert_eq!((opened.predicted(), opened.health_record()), (drive.predicted(), health));
    drive.age(&[Lpn(0); 300]).unwrap();
    drive.check().unwrap();
    drive.keep_detail(true);
    assert_eq!(drive.project_wear(&predicted(&wanted)), Err(ProjectionError::Detailed));
}

#[test]
fn projected_wear_survives_a_power_cut() {
    let geometry = Geometry::flat(64, 8, Bytes(4096)).unwrap();
    let retire = Box::new(AtEndurance::build(AtEnduranceParams::default()));
    let firmware = FtlConfig { retire, endurance: Some(40), ..FtlConfig::new(&geometry, Ratio::new(0.4).unwrap()) };
    let mut drive = Drive::new(unprotected(DriveConfig::new(geometry, firmware))).unwrap();
    drive.age(&(0..drive.exported()).chain(0..drive.exported()).map(Lpn).collect::<Vec<Lpn>>()).unwrap();
    let mut wanted: Vec<u32> = drive.superblock_erase_counts().iter().map(|count| count + 20).collect();
    // Some blocks are worn out by it, free ones among them.
    wanted.iter_mut().step_by(5).for_each(|count| *count = 41);
    drive.project_wear(&predicted(&wanted)).unwrap();
    drive.check().unwrap();
    let (erases, retired) = (drive.superblock_erase_counts().to_vec(), drive.retired_blocks());
    assert!(retired > 0 && erases.iter().zip(&wanted).all(|(found, wanted)| found >= wanted));
    drive.power_cut(|| Fate::Done);
    drive.power_on().unwrap();
    drive.check().unwrap();
    assert_eq!((drive.retired_blocks(), drive.predicted().host_units), (retired, 60));
    assert!(drive.superblock_erase_counts().iter().zip(&erases).all(|(after, before)| after >= before));
    drive.age(&(0..drive.exported()).map(Lpn).collect::<Vec<Lpn>>()).unwrap();
    drive.check().unwrap();
}

/// Whole units by their numbers are the same batch as their sectors: what it answers, and what the drive is afterwards, also with a limit, for what it does
/// not export, and without power.
#[test]
fn a_batch_of_units_is_the_batch_of_their_sectors() {
    let make = || Drive::new(DriveConfig { keeps_bytes: true, ..recovering(config()) }).expect("a drive");
    let (mut by_units, mut by_sectors) = (make(), make());
    let unit = Sectors(u64::from(by_units.unit_bytes()) / 512);
    let exported = by_units.capacity().0 / unit.0;
    let mut stream = Streams::new(8).stream("batches");
    for round in 0..600 {
        let bound = if round % 50 == 49 { exported + 8 } else { exported };
        let units: Vec<Lpn> = (0..stream.below(40)).map(|_| Lpn(stream.below(bound) as u32)).collect();
        let work = match stream.below(8) {
            0 => Work::Read,
            1 => Work::ReadToModify,
            2 => Work::Trim,
            3 => Work::Write,
            4 => Work::Flush,
            _ => Work::Rewrite,
        };
        if round == 300 {
            let limit = Sectors(by_units.capacity().0 * 3 / 4 / unit.0 * unit.0);
            for drive in [&mut by_units, &mut by_sectors] {
                let all: Vec<Lpn> = Lpn::all(0..exported as u32).collect();
                drive.trim_batch(&all).expect("all of it");
                assert_eq!(drive.set_mapped_limit(SimTime::ZERO, limit), Status::Done);
            }
        }
        if round == 598 {
            let counters = Living::counters(&by_units);
            assert!(counters.gc_victims > 100, "it collects: {counters:?}");
            for drive in [&mut by_units, &mut by_sectors] {
                drive.power_off(SimTime::ZERO, &mut || Fate::Done);
            }
        }
        let units = if work == Work::Flush { Vec::new() } else { units };
        let tally = Tally { units_in_part: stream.below(2), bytes_around: 512, ..Tally::default() };
        let extents: Vec<SectorRange> =
            units.iter().map(|number| SectorRange::new(Lba(u64::from(number.0) * unit.0), unit)).collect();
        let mut one = by_units.batch_of_units(SimTime::ZERO, work, &units, tally);
        let mut two = by_sectors.batch(SimTime::ZERO, &Batch::new(work, &extents).with(tally));
        for (drive, took) in [(&mut by_units, &mut one), (&mut by_sectors, &mut two)] {
            while matches!(took.stop, Stop::Paused | Stop::Wants(_)) {
                took.stop = drive.go_on(SimTime::ZERO, took.stop);
            }
        }
        assert_eq!((one.done, one.stop, &one.unread), (two.done, two.stop, &two.unread), "round {round}: {work:?}");
        if by_units.is_off() {
            assert_eq!(one.stop, Stop::Gone, "{work:?}");
            continue;
        }
        let mapped = |drive: &Drive| Lpn::all(0..exported as u32).map(|unit| drive.lookup(unit)).collect::<Vec<_>>();
        assert_eq!(mapped(&by_units), mapped(&by_sectors), "round {round}");
        assert_eq!(Living::counters(&by_units), Living::counters(&by_sectors), "round {round}");
    }
}
