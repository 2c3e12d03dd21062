//! A drive that is saved under load goes on as if it were not, and so does the drive that is read back: to the nanosecond, the byte
//! and the fate of what a power cut finds.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;

use wane_archive::{Archive, ArchiveError, Reader, Writer};
use wane_blockdev::{BlockDevice, Completion, Notice, NoticeKind, Request, SectorRange, Until, drain};
use wane_ftl::policies::Entry;
use wane_ftl::policies::capacity::CAPACITY_POLICIES;
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::SCRUB_POLICIES;
use wane_ftl::{Fate, FtlConfig, Pooling};
use wane_nand::{Ecc, ErrorConfig, FailureRate, FaultConfig, Uncorrectable, rber};
use wane_sim::{Stream, Streams};
use wane_ssd::{
    Breakdown, ClockSpec, Collection, CommandKind, Drive, DriveConfig, Link, MultiPlane, Order, Processors,
    ReadPriority, SchedulerConfig, Suspend, Thermal, Throttle, Timing, WriteCache,
};
use wane_units::{Bytes, Geometry, Lba, Lpn, Nanos, Ratio, Sectors, SimTime};

static GO: AtomicBool = AtomicBool::new(false);

/// Requests that a host keeps outstanding.
const DEPTH: u64 = 32;

/// Instants at which each drive is saved.
const INSTANTS: u32 = 100;

/// What a host does after each of them, and before the next one.
const STEPS: u32 = 40;

fn policy<T>(family: &[Entry<T>], name: &str, parameters: &str) -> T {
    let entry = family.iter().find(|entry| entry.name() == name).unwrap();
    entry.parse(parameters.parse().unwrap()).unwrap()
}

/// 4 dies of 2 planes of 12 blocks of 8 pages.
fn geometry(page_bytes: u64) -> Geometry {
    Geometry::new(2, 2, 2, 12, 8, Bytes(page_bytes)).unwrap()
}

/// A drive with two mapping units a page.
fn config(by_events: bool, schedule: SchedulerConfig) -> DriveConfig {
    let geometry = geometry(8192);
    let base = FtlConfig::new(&geometry, Ratio::new(0.3).unwrap());
    let ftl = FtlConfig { units_per_page: 2, logical_units: base.logical_units * 2, ..base };
    let timing = Timing {
        read_ns: vec![50_000, 90_000],
        program_ns: vec![600_000, 750_000],
        erase_ns: 3_000_000,
        channel_bytes_per_second: Some(400_000_000),
    };
    let clock = ClockSpec { by_events, timing, config: schedule, rereads_max: 3, thermal: None };
    DriveConfig { clock: Some(clock), ..DriveConfig::new(geometry, ftl) }
}

fn erring(config: DriveConfig) -> DriveConfig {
    let model = rber::chip("tlc-72l-2018").unwrap().model;
    let ecc = Ecc { strength: Some(25), rereads_max: Some(1), ..Ecc::default() };
    let mut config =
        DriveConfig { errors: Some(ErrorConfig { block_sigma: 0.4, ..ErrorConfig::new(model, ecc) }), ..config };
    config.erase_counts = vec![3_000; config.geometry.blocks() as usize];
    config
}

/// Wrong bits that nobody notices.
fn flipping(config: DriveConfig) -> DriveConfig {
    let mut config = erring(config);
    config.errors.as_mut().unwrap().uncorrectable = Uncorrectable::FlippedBits;
    config.erase_counts.fill(6_000);
    config
}

fn scrubbed(mut config: DriveConfig) -> DriveConfig {
    config.ftl.scrub = policy(SCRUB_POLICIES, "patrol", "");
    erring(config)
}

/// Stripes over the dies, on a drive that errs, so that reads are reconstructed.
fn striped(mut config: DriveConfig, name: &str) -> DriveConfig {
    config.ftl.domain = Pooling::Die;
    config.ftl.redundancy = policy(REDUNDANCY_POLICIES, name, "data-pages = 3");
    (config.ftl.gc_reserve, config.ftl.logical_units) = (3, config.ftl.logical_units / 2);
    erring(config)
}

fn bytes(mut config: DriveConfig) -> DriveConfig {
    // A unit is a page of two sectors: writes may cover it in part.
    (config.ftl.units_per_page, config.ftl.logical_units) = (1, config.ftl.logical_units / 2);
    DriveConfig { geometry: geometry(1024), keeps_bytes: true, ..config }
}

fn recovering(mut config: DriveConfig, name: &str, power_loss_protection: bool) -> DriveConfig {
    config.ftl.recovery = policy(RECOVERY_POLICIES, name, if name == "checkpoint" { "interval = 16" } else { "" });
    config.ftl.power_loss_protection = power_loss_protection;
    config.ftl.wordline_pages = NonZeroU32::new(2).unwrap();
    config.ftl.logical_units = config.ftl.logical_units * 3 / 4;
    config
}

/// A drive that gives capacity up as its blocks retire, each after a program that failed.
fn shrinking(mut config: DriveConfig) -> DriveConfig {
    config.faults = Some(FaultConfig { program: FailureRate::constant(3e-3), ..FaultConfig::default() });
    config.ftl.endurance = Some(1_000);
    config.ftl.retire = policy(RETIRE_POLICIES, "at-endurance", "");
    config.ftl.capacity = policy(CAPACITY_POLICIES, "variant", "shrink = \"graceful\"");
    config
}

fn warm(mut config: DriveConfig) -> DriveConfig {
    config.clock.as_mut().unwrap().thermal = Some(Thermal {
        ambient: 30.0,
        initial: None,
        idle_watts: 1.0,
        die_watts: 2.0,
        channel_watts: 0.5,
        resistance: 10.0,
        time_constant_ns: 5_000_000,
        throttle: Some(Throttle { above: 80.0, below: 65.0, stretch: 3.0 }),
    });
    config
}

type Case = (&'static str, DriveConfig);

const PLAIN: SchedulerConfig = SchedulerConfig {
    order: Order::FirstCome,
    read_priority: ReadPriority::No,
    suspend: Suspend::None,
    suspend_ns: 0,
    collection: Collection::Foreground,
    group_dies: None,
    multi_plane: MultiPlane::Off,
    write_cache: None,
    processors: None,
    link: None,
};
const CACHED: SchedulerConfig =
    SchedulerConfig { write_cache: Some(WriteCache { bytes: 100_000, latency_ns: 5_000 }), ..PLAIN };
const PROCESSORS: Option<Processors> = Some(Processors { count: 2, think_ns: 7_000 });
const BY_CLASS: SchedulerConfig = SchedulerConfig { order: Order::Priority, read_priority: ReadPriority::Yes, ..PLAIN };
const SUSPENDING: SchedulerConfig = SchedulerConfig { suspend: Suspend::Both, suspend_ns: 20_000, ..BY_CLASS };

fn collecting(collection: Collection) -> DriveConfig {
    config(true, SchedulerConfig { collection, ..BY_CLASS })
}

/// A host that keeps [`DEPTH`] requests outstanding. Its next call depends on its stream and on what the drive answered.
#[derive(Clone)]
struct Host {
    stream: Stream,
    at: u64,
    sent: u64,
    got: u64,
}

/// What a host was told.
#[derive(Debug, Default, PartialEq)]
struct Told {
    completions: Vec<(Completion, Option<Breakdown>)>,
    notices: Vec<Notice>,
}

impl Host {
    fn outstanding(&self) -> u64 {
        self.sent - self.got
    }

    fn request(&mut self, drive: &Drive) -> Request {
        let (sector, unit) = (drive.features().sector.0, drive.features().atomic_unit.0);
        let count = sector * (1 + self.stream.below(4 * unit / sector));
        let first = sector * self.stream.below((drive.capacity().0 - count) / sector);
        let range = SectorRange::new(Lba(first), Sectors(count));
        let version = self.stream.below(1 << 32);
        let write = |range: SectorRange| Request::write(range, version.to_le_bytes().repeat(range.len_bytes() / 8));
        match self.stream.below(100) {
            0..50 => Request::read(range),
            50..68 => write(range),
            68..82 => Request::write_without_bytes(range),
            82..86 => write(range).with_fua(),
            86..91 => Request::trim(range),
            91..93 => Request::write_zeroes(range).with_may_unmap(),
            93 => Request::trim(range).with_fua(),
            94..96 => {
                let one = |sector: u64| SectorRange::new(Lba(sector / unit * unit), Sectors(unit));
                Request::remap(one(self.stream.below(drive.capacity().0 - unit)), one(first))
            }
            _ => Request::flush(),
        }
    }

    /// Submits one more request, or lets time run.
    fn step(&mut self, drive: &mut Drive, told: &mut Told) {
        let next = drive.next_event_at().map_or(self.at, |next| next.0.max(self.at));
        if self.outstanding() >= DEPTH || self.stream.chance(0.1) {
            // Up to the next event or shortly behind it, or to an instant before it.
            self.at = match self.stream.below(3) {
                0 => next,
                1 => next + self.stream.below(90_000),
                _ => self.at + self.stream.below(next - self.at + 1),
            };
            self.take(drive, told);
        } else {
            self.at += self.stream.below(20_000);
            let request = self.request(drive);
            drive.submit(SimTime(self.at), request);
            self.sent += 1;
        }
        if self.stream.chance(0.01) {
            drive.idle(Nanos(self.stream.below(100_000)));
            self.at = drive.now().0;
        }
    }

    /// Takes what is over, and gives the capacity back that the drive wants.
    fn take(&mut self, drive: &mut Drive, told: &mut Told) {
        let mut out = Vec::new();
        drive.complete(SimTime(self.at), &mut out);
        self.hear(drive, out, told);
        let before = told.notices.len();
        drive.notices(&mut told.notices);
        for notice in &told.notices[before..] {
            if let NoticeKind::CapacityWanted { to: sectors, .. } = notice.kind {
                drive.set_capacity(SimTime(self.at), sectors);
            }
        }
    }

    fn hear(&mut self, drive: &Drive, out: Vec<Completion>, told: &mut Told) {
        self.got += out.len() as u64;
        told.completions.extend(out.into_iter().map(|over| (over.clone(), drive.breakdown(over.id))));
    }

    /// Goes on for a while, to the end of all requests if `to_the_end`.
    fn live(mut self, drive: &mut Drive, to_the_end: bool) -> (Self, Told) {
        let mut told = Told::default();
        (0..STEPS).for_each(|_| self.step(drive, &mut told));
        if to_the_end {
            let mut out = Vec::new();
            self.at = drain(drive, SimTime(self.at), &mut out).0;
            self.hear(drive, out, &mut told);
        }
        (self, told)
    }
}

/// All that a drive tells of itself.
fn facts(drive: &Drive) -> String {
    drive.check().unwrap();
    let clock = drive.clock().unwrap();
    let schedule = clock.scheduler();
    let at = (drive.now(), drive.day(), clock.now_ns(), clock.is_over(), schedule.now());
    let next = (drive.next_event_at(), schedule.next_at(), schedule.next_work_at());
    let counts = (schedule.operations(), schedule.buffered_reads(), schedule.reads_around(), schedule.slots());
    let outstanding = (schedule.outstanding(), schedule.outstanding_time_ns(), clock.changes_seen());
    let misread = (0..drive.exported()).filter(|unit| drive.misread(Lpn(*unit))).count();
    format!(
        "{at:?}\n{next:?}\n{counts:?}\n{outstanding:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{misread}",
        clock.progress(),
        clock.heat(),
        schedule.utilization(),
        drive.counters(),
        drive.health_record(),
    )
}

fn saved(drive: &mut Drive) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    drive.archive(&mut writer).unwrap();
    writer.finish().unwrap()
}

fn opened(config: &DriveConfig, bytes: &[u8]) -> Result<Drive, ArchiveError> {
    let mut drive = Drive::new(config.clone()).unwrap();
    let mut reader = Reader::new(bytes)?;
    drive.archive(&mut reader as &mut dyn Archive)?;
    reader.finish()?;
    Ok(drive)
}

/// Cuts a copy's power and brings it back: the drive's facts, its file, and what the recovery tells.
fn cut(drive: &Drive, seed: u64) -> (String, Vec<u8>) {
    let mut stream = Streams::new(seed).stream("fates");
    let fate = || [Fate::Done, Fate::Torn, Fate::Undone][stream.below(3) as usize];
    let mut back = drive.clone();
    back.power_cut(fate);
    let (report, took) = back.power_on().unwrap();
    (format!("{report:?}\n{took:?}\n{}", facts(&back)), saved(&mut back))
}

/// A drive whose flash is full, so that it collects under load, and its host.
fn loaded(name: &str, config: &DriveConfig) -> (Drive, Host) {
    let mut stream = Streams::new(11).stream(name);
    let mut drive = Drive::new(config.clone()).unwrap();
    drive.set_leveling(true);
    let logical = drive.exported();
    let units: Vec<Lpn> = (0..logical).map(Lpn).collect();
    drive.age(&units).unwrap();
    let rewritten: Vec<Lpn> = (0..logical).map(|_| Lpn(stream.below(u64::from(logical)) as u32)).collect();
    drive.age(&rewritten).unwrap();
    let host = Host { stream, at: 0, sent: 0, got: 0 };
    let (host, _) = host.live(&mut drive, false);
    (drive, host)
}

/// What happened to a drive while it was looked at.
#[derive(Debug, Default)]
struct Seen {
    outstanding: u64,
    unfinished: usize,
    notices: usize,
    failed: usize,
}

/// Saves a drive at many instants. From each on, it is compared with the drive that is read back and with one that was never saved.
fn goes_on(name: &str, config: &DriveConfig) -> (Drive, Seen) {
    let (mut drive, mut host) = loaded(name, config);
    let keeps_what_survives = config.ftl.recovery.acts();
    let (mut seen, mut known) = (Seen::default(), Vec::new());
    for instant in 0..INSTANTS {
        (0..host.stream.below(8)).for_each(|_| host.step(&mut drive, &mut Told::default()));
        let at = format!("{name}, instant {instant} at {} ns", host.at);
        seen.outstanding += host.outstanding();
        let mut never = drive.clone();
        let file = saved(&mut drive);
        let mut again = opened(config, &file).unwrap_or_else(|error| panic!("{at}: {error}"));
        assert!(saved(&mut again) == file, "{at}: what was read is not what was written");
        assert_eq!(facts(&again), facts(&never), "{at}");
        assert!(known.iter().all(|(id, breakdown)| again.breakdown(*id) == *breakdown), "{at}: breakdowns");
        if keeps_what_survives && instant % 2 == 0 {
            seen.unfinished += drive.clock().unwrap().progress().len();
            let [one, other] = [&never, &again].map(|drive| cut(drive, u64::from(instant)));
            assert_eq!(one.0, other.0, "{at}: another recovery");
            assert!(one == other, "{at}: another drive after a power cut");
        }
        let to_the_end = instant % 10 == 9;
        let (after, told) = host.clone().live(&mut drive, to_the_end);
        // Files are slow to make: every tenth time.
        let file = to_the_end.then(|| saved(&mut drive));
        for (other, what) in [(&mut again, "read back"), (&mut never, "never saved")] {
            let (_, heard) = host.clone().live(other, to_the_end);
            let differs = heard.completions.iter().zip(&told.completions).find(|(one, other)| one != other);
            assert!(differs.is_none(), "{at}: the drive {what} says {differs:?}");
            assert_eq!(heard, told, "{at}: {what}");
            assert_eq!(facts(other), facts(&drive), "{at}: {what}");
            assert!(file.as_ref().is_none_or(|file| saved(other) == *file), "{at}: the drive {what} has another state");
        }
        host = after;
        known = told.completions.iter().map(|(over, breakdown)| (over.id, *breakdown)).collect();
        seen.notices += told.notices.len();
        seen.failed += told.completions.iter().filter(|(over, _)| !over.status.is_done()).count();
    }
    (drive, seen)
}

fn all_go_on(cases: Vec<Case>) {
    for (name, config) in cases {
        let (drive, seen) = goes_on(name, &config);
        let (counters, schedule) = (drive.counters(), drive.clock().unwrap().scheduler());
        assert!(seen.outstanding > 25 * u64::from(INSTANTS), "{name}: {seen:?}");
        assert!(counters.erases_gc > 40 && schedule.buffered_reads() > 0, "{name}: {counters:?}");
        assert!(!config.ftl.recovery.acts() || seen.unfinished > 1_000, "{name}: {seen:?}");
        assert!(name != "flipping bits" || drive.reads_misread() > 100, "{name}: {}", drive.reads_misread());
        assert!(name != "shrinking" || seen.notices > 3, "{name}: {seen:?}");
        assert!(!config.ftl.redundancy.acts() || counters.recoveries > 10, "{name}: {counters:?}");
        assert!(!name.contains("around") || schedule.reads_around() > 100, "{name}: few reads went around");
        let heat = drive.clock().and_then(wane_ssd::Clock::heat);
        assert!(heat.is_none_or(|heat| heat.throttles > 3), "{name}: {heat:?}");
    }
}

#[test]
fn a_drive_saved_under_load_goes_on_as_if_it_were_not() {
    let link = Some(Link { bytes_per_second: Some(200_000_000), command_ns: 5_000 });
    all_go_on(vec![
        ("by events", config(true, PLAIN)),
        ("by the timeline", config(false, PLAIN)),
        ("by events, with a cache", config(true, CACHED)),
        ("by the timeline, with a cache", config(false, CACHED)),
        ("with bytes, by events", bytes(config(true, SchedulerConfig { processors: PROCESSORS, ..CACHED }))),
        ("with bytes, by the timeline", bytes(config(false, SchedulerConfig { processors: PROCESSORS, ..PLAIN }))),
        ("with suspends", config(true, SchedulerConfig { multi_plane: MultiPlane::On, ..SUSPENDING })),
        ("with a link", config(true, SchedulerConfig { link, write_cache: CACHED.write_cache, ..SUSPENDING })),
        ("warm", warm(config(true, PLAIN))),
    ]);
}

#[test]
fn a_drive_that_collects_scrubs_and_reconstructs_goes_on() {
    all_go_on(vec![
        ("in the background", collecting(Collection::Background)),
        ("between others", scrubbed(collecting(Collection::Preemptible))),
        ("in no time", collecting(Collection::Free)),
        ("around busy dies", striped(collecting(Collection::Rotating), "rain")),
        ("in stripes, by events", striped(config(true, SUSPENDING), "stripes")),
        ("in stripes, by the timeline", striped(config(false, CACHED), "rain")),
        ("scrubbed, by the timeline", scrubbed(config(false, PLAIN))),
        ("flipping bits", bytes(flipping(config(true, PLAIN)))),
        ("shrinking", shrinking(config(true, SUSPENDING))),
    ]);
}

#[test]
fn a_power_cut_of_a_drive_that_was_read_back_finds_the_same() {
    all_go_on(vec![
        ("by a scan", recovering(config(true, SUSPENDING), "full-scan", false)),
        ("by a scan, with bytes", bytes(recovering(config(false, CACHED), "full-scan", true))),
        ("by a checkpoint", recovering(config(false, PLAIN), "checkpoint", false)),
        ("by a checkpoint, with bytes", bytes(scrubbed(recovering(config(true, CACHED), "checkpoint", true)))),
        ("in stripes", striped(recovering(config(true, PLAIN), "full-scan", true), "stripes")),
    ]);
}

/// An archive to which some fields are written changed, or not at all: those for which `change` returns false.
struct Forged<F>(Writer<Vec<u8>>, F);

impl<F: FnMut(&str, &mut Vec<u8>) -> bool> Archive for Forged<F> {
    fn is_reading(&self) -> bool {
        false
    }

    fn value(&mut self, name: &str, bytes: &mut Vec<u8>) -> Result<(), ArchiveError> {
        let mut changed = bytes.clone();
        if (self.1)(name, &mut changed) { self.0.value(name, &mut changed) } else { Ok(()) }
    }

    fn table(&mut self, name: &str, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        if (self.1)(name, &mut Vec::new()) { self.0.table(name, bytes) } else { Ok(()) }
    }
}

fn forged(drive: &mut Drive, change: impl FnMut(&str, &mut Vec<u8>) -> bool) -> Vec<u8> {
    let mut archive = Forged(Writer::new(Vec::new()).unwrap(), change);
    drive.archive(&mut archive).unwrap();
    archive.0.finish().unwrap()
}

/// The drive as builds wrote it that saved only drives at rest.
fn older(drive: &mut Drive) -> Vec<u8> {
    let mut is_over = false;
    forged(drive, |name, bytes| {
        if name == "drive.medium" {
            bytes[0] %= 3;
        }
        let is_written = !is_over;
        is_over |= name == "front.notices";
        is_written
    })
}

#[test]
fn the_file_of_an_older_build_is_a_drive_whose_schedule_begins_anew() {
    for by_events in [true, false] {
        let config = erring(config(by_events, PLAIN));
        let (mut drive, host) = loaded("older", &config);
        drain(&mut drive, SimTime(host.at), &mut Vec::new());
        let at = drive.now().0 + 1_000_000_000;
        drive.complete(SimTime(at), &mut Vec::new());
        let mut again = opened(&config, &older(&mut drive)).unwrap();
        assert_eq!((again.now(), again.day()), (drive.now(), drive.day()));
        assert_eq!(again.clock().unwrap().scheduler().operations(), 0, "by events: {by_events}");
        // Nothing is left from which a later request would differ.
        let host = Host { at, sent: 0, got: 0, ..host };
        let [one, other] = [&mut drive, &mut again].map(|drive| host.clone().live(drive, true).1);
        assert_eq!(one, other, "by events: {by_events}");
    }
}

#[test]
fn a_drive_that_comes_to_rest_saves_no_schedule() {
    for (name, config, rests) in [
        ("plain", config(true, PLAIN), true),
        ("by the timeline, with bytes", bytes(config(false, PLAIN)), true),
        ("warm", warm(config(true, BY_CLASS)), true),
        ("recovering", bytes(recovering(config(true, BY_CLASS), "checkpoint", false)), true),
        ("scrubbed", scrubbed(recovering(config(false, PLAIN), "full-scan", true)), false),
    ] {
        let (mut drive, mut host) = loaded(name, &config);
        assert!(host.outstanding() > 8, "{name}: {}", host.outstanding());
        drive.come_to_rest();
        assert_eq!(drive.is_awake(), !rests, "{name}");
        // What was outstanding has ended, and waits.
        assert!(drive.next_event_at().is_some_and(|next| next <= drive.now()), "{name}");
        let mut told = Told::default();
        host.at = drive.now().0;
        host.take(&mut drive, &mut told);
        assert_eq!((host.outstanding(), drive.next_event_at()), (0, None), "{name}");
        drive.come_to_rest();
        let file = saved(&mut drive);
        assert!(file == older(&mut drive), "{name}: the layout is that of a drive at rest");
        let mut again = opened(&config, &file).unwrap();
        assert!(saved(&mut again) == file, "{name}");
        drive.check().unwrap();
        let [one, other] = [&mut drive, &mut again].map(|drive| host.clone().live(drive, true).1);
        assert_eq!(one, other, "{name}");
        assert_eq!(facts(&drive), facts(&again), "{name}");
    }
}

#[test]
fn a_drive_at_rest_keeps_its_last_schedule_and_its_answers() {
    let plain = config(true, PLAIN);
    for config in [plain.clone(), bytes(recovering(plain.clone(), "full-scan", false))] {
        let (mut drive, mut host) = loaded("rested", &config);
        // No request is outstanding, and collections are at work.
        for round in 0.. {
            assert!(round < 50, "a collection outlasts the requests now and then");
            host = host.live(&mut drive, true).0;
            if round > 10 && drive.clock().unwrap().scheduler().next_work_at().is_some() {
                break;
            }
        }
        // Written without time.
        drive.age(&[Lpn(3), Lpn(4)]).unwrap();
        assert!(!drive.is_awake());
        let mut again = opened(&config, &saved(&mut drive)).unwrap();
        assert_eq!(facts(&again), facts(&drive));
        let host = Host { at: drive.now().0, sent: 0, got: 0, ..host };
        let [one, other] = [&mut drive, &mut again].map(|drive| host.clone().live(drive, true).1);
        assert_eq!(one, other);
    }
    // Without a clock every request is over at once, and may not be taken out yet.
    let untimed = DriveConfig { clock: None, ..bytes(plain) };
    let mut drive = Drive::new(untimed.clone()).unwrap();
    let range = SectorRange::new(Lba(16), Sectors(16));
    drive.submit(SimTime(5), Request::write(range, vec![7; 8192]));
    drive.submit(SimTime(6), Request::read(range));
    drive.submit(SimTime(7), Request::read(SectorRange::new(Lba(1 << 40), Sectors(16))));
    drive.submit(SimTime(8), Request::read(SectorRange::new(Lba(1), Sectors(1))));
    let mut again = opened(&untimed, &saved(&mut drive)).unwrap();
    let [one, other] = [&mut drive, &mut again].map(|drive| {
        let mut out = Vec::new();
        drive.complete(SimTime(8), &mut out);
        out
    });
    assert_eq!((one.len(), &one), (4, &other));
}

#[test]
fn what_was_done_and_not_committed_is_committed_later() {
    for by_events in [true, false] {
        let config = recovering(config(by_events, PLAIN), "full-scan", true);
        let (mut drive, host) = loaded("committed", &config);
        let units: Vec<Lpn> = (5..25).map(Lpn).collect();
        drive.keep_detail(true);
        assert!(drive.write_batch(&units).0 == 20 && drive.read_batch(&units).is_ok());
        assert!(drive.flash().unwrap().ops().len() > 10);
        let mut again = opened(&config, &saved(&mut drive)).unwrap();
        assert_eq!(cut(&drive, 1), cut(&again, 1));
        let [one, other] = [&mut drive, &mut again].map(|drive| {
            drive.run_until(Until::At(SimTime(host.at)), &GO, &mut |_| {});
            drive.commit(CommandKind::Write, 20 * 4096).unwrap();
            (host.clone().live(drive, true).1, facts(drive))
        });
        assert_eq!(one, other, "by events: {by_events}");
    }
}

#[test]
fn a_schedule_of_another_drive_is_refused() {
    let config_of = |geometry: Geometry, by_events, schedule| DriveConfig { geometry, ..config(by_events, schedule) };
    let built = |channels: u32, dies: u32| Geometry::new(channels, dies, 2, 12, 8, Bytes(8192)).unwrap();
    let same = config_of(built(2, 2), true, CACHED);
    let (mut drive, _) = loaded("foreign", &same);
    let file = saved(&mut drive);
    assert!(opened(&same, &file).is_ok());
    for (other, said) in [
        (config_of(built(4, 1), true, CACHED), "its \"schedule.channels\" is 2 long, and this drive's is 4 long"),
        (config_of(built(2, 2), false, CACHED), "its \"schedule.by-events\" is true, and this drive's is false"),
        (config_of(built(2, 2), true, PLAIN), "its \"graph.cache\" is true, and this drive's is false"),
    ] {
        assert_eq!(opened(&other, &file).map(drop).unwrap_err().to_string(), said);
    }
    for length in (0..file.len()).step_by(997) {
        assert!(opened(&same, &file[..length]).is_err(), "cut to {length} bytes");
    }
    for (field, bytes) in [
        ("drive.medium", vec![6]),
        ("schedule.dies", vec![0]),
        // No slot, and a free one.
        ("schedule.nodes", vec![0, 1, 5]),
        // Block 300 of 96.
        ("graph.blocks", vec![1, 172, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        // A request of kind 9.
        ("front.done", vec![1, 0, 0, 0, 9, 0, 0, 0, 0]),
        // A refusal that there is not.
        ("front.pending", vec![1, 0, 0, 0, 0, 0, 0, 4, 6, 0]),
        ("flight.is-kept", vec![1]),
    ] {
        let change = |name: &str, found: &mut Vec<u8>| {
            if name == field {
                found.clone_from(&bytes);
            }
            true
        };
        let refused = opened(&same, &forged(&mut drive, change)).map(drop).unwrap_err();
        let is_told = matches!(
            refused,
            ArchiveError::AnotherDrive { .. } | ArchiveError::Damaged { .. } | ArchiveError::Malformed { .. }
        );
        assert!(is_told, "{field}: {refused}");
    }
}
