//! A drive that keeps bytes returns what was written, even if it moves the data, loses its power, is saved, or is cloned.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;

use wane_archive::{Archive, Reader, Writer};
use wane_blockdev::{BlockDevice, Blocking, Request, SectorRange, Status, drain};
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::{Fate, FtlConfig, Outcome};
use wane_nand::{Ecc, ErrorConfig, Relocations, Uncorrectable, rber};
use wane_sim::{Stream, Streams};
use wane_ssd::{ClockSpec, Drive, DriveConfig, SchedulerConfig, Timing};
use wane_units::{Bytes, Geometry, Lba, Lpn, Ratio, Sectors, SimTime};

const UNIT: usize = 4096;

fn clock(stream: &mut Stream) -> ClockSpec {
    let timing = Timing {
        read_ns: vec![50_000],
        program_ns: vec![600_000],
        erase_ns: 3_000_000,
        channel_bytes_per_second: None,
    };
    ClockSpec {
        by_events: stream.chance(0.5),
        timing,
        config: SchedulerConfig::default(),
        rereads_max: 0,
        thermal: None,
    }
}

fn config(stream: &mut Stream) -> DriveConfig {
    let geometry = Geometry::new(2, 1, 1, 24, 8, Bytes(8192)).unwrap();
    let base = FtlConfig::new(&geometry, Ratio::new(0.1).unwrap());
    let recovery = if stream.chance(0.5) { "full-scan" } else { "checkpoint" };
    let find = |name: &str| RECOVERY_POLICIES.iter().find(|entry| entry.name() == name).unwrap();
    let ftl = FtlConfig {
        units_per_page: 2,
        // So full that victims hold data.
        logical_units: base.logical_units * 2 * [7, 8, 9][stream.below(3) as usize] / 10,
        recovery: find(recovery).parse(toml::Table::new()).unwrap(),
        power_loss_protection: stream.chance(0.6),
        wear_leveling: WEAR_LEVEL_POLICIES[stream.below(3) as usize].parse(toml::Table::new()).unwrap(),
        streams: Streams::new(stream.bits()),
        ..base
    };
    let clock = clock(stream);
    let clock = stream.chance(0.5).then_some(clock);
    DriveConfig { keeps_bytes: true, clock, ..DriveConfig::new(geometry, ftl) }
}

/// Contents of every unit; a missing unit is zeros.
type Oracle = BTreeMap<u32, u64>;

fn bytes(version: u64) -> Vec<u8> {
    version.to_le_bytes().repeat(UNIT / 8)
}

fn holds(drive: &Drive, oracle: &Oracle, name: &str) {
    drive.check().unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let mut found = vec![0; UNIT];
    for unit in 0..drive.exported() {
        drive.peek_unit(Lpn(unit), &mut found);
        let expected = bytes(oracle.get(&unit).copied().unwrap_or(0));
        assert!(found == expected, "{name}: unit {unit} holds {}, not {}", found[0], expected[0]);
    }
}

fn settle(drive: &mut Drive, mut outcome: Outcome) {
    while let Outcome::Paused | Outcome::Demand(_) = outcome {
        outcome = if outcome == Outcome::Paused { drive.resume() } else { drive.reclaim() };
    }
    assert_eq!(outcome, Outcome::Done);
}

/// Runs some commands, all of which have taken effect at the end.
fn live(drive: &mut Drive, stream: &mut Stream, oracle: &mut Oracle, version: &mut u64) {
    let exported = u64::from(drive.exported());
    for _ in 0..60 {
        let units: Vec<Lpn> = (0..1 + stream.below(20)).map(|_| Lpn(stream.below(exported) as u32)).collect();
        match stream.below(10) {
            0..=4 => {
                let mut data = Vec::new();
                for unit in &units {
                    *version += 1;
                    data.extend(bytes(*version));
                    oracle.insert(unit.0, *version);
                }
                let (done, outcome) = drive.write_bytes(&units, &data);
                assert_eq!(done, units.len());
                settle(drive, outcome);
            }
            // Aging rewrites the present contents.
            5..=6 => drive.age(&units).unwrap(),
            7 => {
                drive.trim_batch(&units).unwrap();
                oracle.retain(|unit, _| !units.contains(&Lpn(*unit)));
            }
            8 => {
                let (to, from) = (units[0], Lpn(stream.below(exported) as u32));
                if drive.remap(to, from, 1, 1).is_ok() {
                    match oracle.remove(&from.0) {
                        Some(moved) => oracle.insert(to.0, moved),
                        None => oracle.remove(&to.0),
                    };
                }
            }
            _ => {
                let outcome = drive.flush_batch();
                settle(drive, outcome);
            }
        }
    }
    let outcome = drive.flush_batch();
    settle(drive, outcome);
}

#[test]
fn bytes_survive_collection_power_cuts_saving_and_cloning() {
    let mut relocated = 0;
    for seed in 0..80 {
        let mut stream = Streams::new(seed).stream("payload");
        let config = config(&mut stream);
        let Ok(mut drive) = Drive::new(config.clone()) else { continue };
        drive.set_leveling(true);
        let (mut oracle, mut version) = (Oracle::new(), 0);
        for part in 0..8 {
            live(&mut drive, &mut stream, &mut oracle, &mut version);
            holds(&drive, &oracle, &format!("{seed}, {part}"));
            match stream.below(3) {
                0 => {
                    drive.power_cut(|| Fate::Torn);
                    drive.power_on().unwrap();
                    holds(&drive, &oracle, &format!("{seed}, {part}, after a power cut"));
                }
                1 => {
                    let mut writer = Writer::new(Vec::new()).unwrap();
                    drive.archive(&mut writer).unwrap();
                    let saved = writer.finish().unwrap();
                    let mut opened = Drive::new(config.clone()).unwrap();
                    let mut reader = Reader::new(saved.as_slice()).unwrap();
                    opened.archive(&mut reader as &mut dyn Archive).unwrap();
                    reader.finish().unwrap();
                    drive = opened;
                    holds(&drive, &oracle, &format!("{seed}, {part}, opened"));
                }
                _ => {
                    let mut clone = drive.clone();
                    live(&mut clone, &mut stream, &mut oracle.clone(), &mut version);
                    holds(&drive, &oracle, &format!("{seed}, {part}, a clone writes"));
                }
            }
        }
        relocated += drive.counters().programmed_gc;
    }
    assert!(relocated > 10_000, "{relocated} units were relocated");
}

#[test]
fn bytes_survive_a_power_cut_in_the_midst_of_time() {
    let (mut cuts, mut erases) = (0, 0);
    for seed in 100..180 {
        let mut stream = Streams::new(seed).stream("payload");
        let mut config = config(&mut stream);
        config.clock = Some(clock(&mut stream));
        let Ok(mut drive) = Drive::new(config.clone()) else { continue };
        let (mut oracle, mut version, mut now) = (Oracle::new(), 0, 0);
        for _ in 0..6 {
            // Everything that a drive held when it came back is on flash.
            let durable = oracle.clone();
            for _ in 0..150 {
                let unit = stream.below(u64::from(drive.exported()));
                version += 1;
                oracle.insert(unit as u32, version);
                let range = SectorRange::new(Lba(unit * 8), Sectors(8));
                now += stream.below(400_000);
                drive.submit(SimTime(now), Request::write(range, bytes(version)));
            }
            drive.check().unwrap();
            erases += drive.counters().erases_gc;
            let fates = [Fate::Done, Fate::Torn, Fate::Undone];
            drive.power_cut(|| fates[stream.below(3) as usize]);
            drive.power_on().unwrap();
            now = now.max(drive.now().0);
            cuts += 1;
            if config.ftl.power_loss_protection {
                holds(&drive, &oracle, &format!("{seed}"));
                continue;
            }
            // Data that were not flushed are old or new, and never a mix.
            drive.check().unwrap();
            let mut found = vec![0; UNIT];
            for unit in 0..drive.exported() {
                drive.peek_unit(Lpn(unit), &mut found);
                assert!(found.chunks(8).all(|part| part == &found[..8]), "{seed}: unit {unit} is a mix");
                let held = u64::from_le_bytes(found[..8].try_into().unwrap());
                let least = durable.get(&unit).copied().unwrap_or(0);
                assert!(held >= least, "{seed}: unit {unit} holds {held}, and {least} was durable");
                if held == 0 {
                    oracle.remove(&unit)
                } else {
                    oracle.insert(unit, held)
                };
            }
        }
    }
    assert!(cuts > 200 && erases > 1000, "{cuts} cuts, {erases} erases");
}

#[test]
fn a_drive_that_goes_to_rest_gives_up_what_erases_under_way_held() {
    let mut rested = 0;
    for seed in 0..40 {
        let mut stream = Streams::new(seed).stream("payload");
        let mut config = config(&mut stream);
        config.clock = Some(clock(&mut stream));
        let Ok(mut drive) = Drive::new(config) else { continue };
        // The last write has ended, and the collection that it began has not.
        let works = |drive: &Drive| drive.clock().unwrap().scheduler().next_work_at().is_some();
        let (mut now, mut version) = (SimTime(0), 0);
        while version < 400 || version < 2_000 && !works(&drive) {
            let range = SectorRange::new(Lba(stream.below(u64::from(drive.exported())) * 8), Sectors(8));
            drive.submit(now, Request::write(range, bytes(version)));
            now = drain(&mut drive, now, &mut Vec::new());
            version += 1;
        }
        rested += u32::from(works(&drive));
        let (done, _) = drive.write_bytes(&[Lpn(3)], &[7; UNIT]);
        assert_eq!((done, drive.is_awake(), drive.check()), (1, false, Ok(())), "{seed}, at {now}");
    }
    assert!(rested > 10, "{rested} drives had work under way");
}

#[test]
fn memory_follows_what_is_written_and_not_what_is_exported() {
    let geometry = Geometry::flat(1 << 16, 512, Bytes(4096)).unwrap();
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.1).unwrap());
    let mut drive = Drive::new(DriveConfig { keeps_bytes: true, ..DriveConfig::new(geometry, ftl) }).unwrap();
    let units: Vec<Lpn> = (0..1000).map(|unit| Lpn(unit * 20_000)).collect();
    let (done, _) = drive.write_bytes(&units, &vec![7; 1000 * UNIT]);
    assert_eq!((done, drive.payload_memory()), (1000, (1000 * UNIT as u64).next_multiple_of(256 << 10)));
}

#[test]
fn what_wear_makes_unreadable_is_a_medium_error_and_no_bytes() {
    let mut drive = worn(Uncorrectable::MediumError, 2);
    let range = SectorRange::new(Lba(0), Sectors(8 * 64));
    drive.submit(SimTime(0), Request::write(range, vec![0xab; 64 * UNIT]));
    drive.submit(SimTime(1), Request::read(range));
    let mut out = Vec::new();
    drain(&mut drive, SimTime(1), &mut out);
    let read = out.iter().find(|completion| completion.bytes.is_some()).unwrap();
    let Status::MediumError(failed) = &read.status else { panic!("{:?}", read.status) };
    let is_failed = |sector: u64| {
        failed.iter().any(|range| range.intersection(SectorRange::new(Lba(sector), Sectors(1))).count.0 == 1)
    };
    for (sector, bytes) in (0..).zip(read.bytes.as_ref().unwrap().chunks(512)) {
        let expected = if is_failed(sector) { 0 } else { 0xab };
        assert!(bytes.iter().all(|byte| *byte == expected), "sector {sector}");
    }
}

/// One worn drive of 48 blocks, whose pages have more errors than are corrected.
fn worn(uncorrectable: Uncorrectable, units_per_page: u32) -> Drive {
    let geometry = Geometry::new(2, 1, 1, 24, 8, Bytes(8192)).unwrap();
    let ftl = FtlConfig { units_per_page, ..FtlConfig::new(&geometry, Ratio::new(0.5).unwrap()) };
    let model = rber::chip("tlc-72l-2018").unwrap().model;
    let ecc = Ecc { strength: Some(4), rereads_max: Some(0), ..Ecc::default() };
    let errors = Some(ErrorConfig { uncorrectable, ..ErrorConfig::new(model, ecc) });
    let worn = vec![9_000; 48];
    let config = DriveConfig { keeps_bytes: true, errors, erase_counts: worn, ..DriveConfig::new(geometry, ftl) };
    Drive::new(config).unwrap()
}

/// Bytes and sectors of a mapping unit that can be written in part: two sectors of the drive.
const BIG: usize = 8192;
const SECTORS: u64 = 16;

fn read(drive: &mut Drive, first: u32, units: u32) -> (Status, Vec<u8>) {
    let (first, count, now) = (u64::from(first) * SECTORS, u64::from(units) * SECTORS, drive.now());
    let range = SectorRange::new(Lba(first), Sectors(count));
    match Blocking::starting_at(drive, now).perform(Request::read(range)) {
        Ok(read) => (read.status, read.bytes.unwrap()),
        Err(error) => (error.status, error.bytes.unwrap()),
    }
}

fn write(drive: &mut Drive, sector: u64, data: Vec<u8>) {
    let (range, now) = (SectorRange::new(Lba(sector), Sectors(data.len() as u64 / 512)), drive.now());
    assert!(Blocking::starting_at(drive, now).perform(Request::write(range, data)).is_ok());
}

#[test]
fn wear_may_flip_bits_and_say_nothing() {
    let mut drive = worn(Uncorrectable::FlippedBits, 1);
    write(&mut drive, 0, vec![0xab; 64 * BIG]);
    let (status, data) = read(&mut drive, 0, 64);
    assert_eq!(status, Status::Done);
    let wrong = |unit: &[u8]| unit.iter().map(|byte| (byte ^ 0xab).count_ones()).sum::<u32>();
    let counts: Vec<u32> = data.chunks(BIG).map(wrong).collect();
    // At this wear, 5 % of the bits.
    assert!(counts.iter().all(|count| (2900..4000).contains(count)), "{counts:?}");
    let record = drive.health_record();
    assert!(drive.reads_misread() > 0 && record.media_errors == 0 && !record.is_unreliable);
    let mut pristine = vec![0; BIG];
    drive.peek_unit(Lpn(0), &mut pristine);
    assert_eq!(wrong(&pristine), 0);
    // A part that is written back with the rest of its unit stays wrong.
    let unit = counts.iter().position(|count| *count > 0).unwrap() as u32;
    write(&mut drive, u64::from(unit) * SECTORS, vec![0xab; 4096]);
    let flipped = &drive.injected(Lpn(unit)).unwrap().flipped;
    assert!(flipped.len() > 1000 && flipped.iter().all(|bit| *bit >= 4096 * 8));
    let mut honest = worn(Uncorrectable::MediumError, 1);
    write(&mut honest, 0, vec![0xab; 64 * BIG]);
    assert!(matches!(read(&mut honest, 0, 64).0, Status::MediumError(_)) && honest.reads_misread() == 0);
}

#[test]
fn a_read_fills_the_buffer_that_it_is_lent() {
    let geometry = Geometry::new(2, 1, 1, 24, 8, Bytes(8192)).unwrap();
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.3).unwrap());
    let mut drive = Drive::new(DriveConfig { keeps_bytes: true, ..DriveConfig::new(geometry, ftl) }).unwrap();
    write(&mut drive, 8, vec![0x77; BIG]);
    let buffer = vec![0xee; 4 * BIG];
    let (place, capacity) = (buffer.as_ptr(), buffer.capacity());
    let range = SectorRange::new(Lba(0), Sectors(2 * SECTORS));
    let done = Blocking::new(&mut drive).perform(Request { bytes: Some(buffer), ..Request::read(range) }).unwrap();
    let bytes = done.bytes.unwrap();
    assert_eq!((bytes.as_ptr(), bytes.capacity(), bytes.len()), (place, capacity, 2 * BIG));
    let marks: Vec<u8> = bytes.chunks(4096).map(|part| part[4095]).collect();
    assert_eq!(marks, [0, 0x77, 0x77, 0]);
}

#[test]
fn injected_faults_go_where_the_data_go_until_they_are_written() {
    let geometry = Geometry::new(2, 1, 1, 24, 8, Bytes(8192)).unwrap();
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.3).unwrap());
    let mut drive = Drive::new(DriveConfig { keeps_bytes: true, ..DriveConfig::new(geometry, ftl) }).unwrap();
    let units = drive.exported();
    assert!(!drive.flip_bits(Lpn(3), &[1]) && !drive.inject_uncorrectable(Lpn(3)), "it holds nothing");
    write(&mut drive, 0, vec![0x55; 32 * BIG]);
    assert!(drive.flip_bits(Lpn(3), &[0, 8 * 5000 + 1]) && drive.inject_uncorrectable(Lpn(5)));
    let mut stream = Streams::new(1).stream("test");
    let rest: Vec<Lpn> = (0..8000).map(|_| Lpn(32 + stream.below(u64::from(units) - 32) as u32)).collect();
    drive.age(&rest).unwrap();
    assert!(drive.counters().programmed_gc > 0);
    assert!(drive.remap(Lpn(40), Lpn(3), 1, 1).is_ok());
    let (status, data) = read(&mut drive, 40, 1);
    assert!(
        status == Status::Done
            && data[0] == 0x54
            && data[5000] == 0x57
            && drive.counters().host_reads_uncorrectable == 0
    );
    assert!(matches!(read(&mut drive, 5, 1).0, Status::MediumError(_)));
    assert_eq!(drive.injected(Lpn(5)).map(|injected| injected.is_unreadable), Some(true));
    // The first sector is written, the second keeps its flipped bit; a bit that is flipped twice is right.
    write(&mut drive, 40 * SECTORS, vec![0x55; 4096]);
    let (_, data) = read(&mut drive, 40, 1);
    assert!(data[0] == 0x55 && data[5000] == 0x57);
    assert!(drive.flip_bits(Lpn(40), &[8 * 5000 + 1]));
    assert!(read(&mut drive, 40, 1).1.iter().all(|byte| *byte == 0x55) && drive.injected(Lpn(40)).is_none());
    drive.flip_bits(Lpn(7), &[9]);
    drive.age(&[Lpn(5), Lpn(7)]).unwrap();
    let (status, data) = read(&mut drive, 5, 3);
    assert!(status == Status::Done && data.iter().all(|byte| *byte == 0x55), "rewritten data are right again");
    drive.check().unwrap();
}

#[test]
fn relocations_that_err_lose_data_while_a_drive_ages() {
    let lost = |relocations| {
        let geometry = Geometry::new(2, 1, 1, 24, 8, Bytes(8192)).unwrap();
        let ftl = FtlConfig { units_per_page: 2, ..FtlConfig::new(&geometry, Ratio::new(0.3).unwrap()) };
        let model = rber::chip("tlc-72l-2018").unwrap().model;
        let ecc = Ecc { strength: Some(4), rereads_max: Some(0), ..Ecc::default() };
        let errors = Some(ErrorConfig { relocations, ..ErrorConfig::new(model, ecc) });
        let config = DriveConfig { errors, erase_counts: vec![9_000; 48], ..DriveConfig::new(geometry, ftl) };
        let mut drive = Drive::new(config).unwrap();
        let mut stream = Streams::new(1).stream("test");
        let units = u64::from(drive.exported());
        for _ in 0..200 {
            let some: Vec<Lpn> = (0..32).map(|_| Lpn(stream.below(units) as u32)).collect();
            drive.age(&some).unwrap();
        }
        (0..drive.exported()).filter(|unit| drive.is_lost(Lpn(*unit))).count()
    };
    assert_eq!(lost(Relocations::Trusted), 0);
    assert!(lost(Relocations::Checked) > 0);
}

/// What a look shows is what a read brings, and the drive's counters and time stay.
#[test]
fn a_look_names_units_that_are_lost_and_counts_nothing() {
    let mut device = Blocking::new(Drive::new(config(&mut Streams::new(11).stream("look"))).unwrap());
    device.write(Lba(0), vec![9; 4 * UNIT]).unwrap();
    assert!(device.device_mut().inject_uncorrectable(Lpn(1)));
    assert!(device.device_mut().flip_bits(Lpn(2), &[0]));
    let (now, counters) = (device.device().now(), *device.device().counters());
    let mut seen = vec![1; 4 * UNIT - 1024];
    let lost = device.device().peek(SectorRange::new(Lba(1), Sectors(30)), &mut seen);
    assert_eq!(lost, Some(vec![SectorRange::new(Lba(8), Sectors(8))]));
    assert_eq!((device.device().now(), *device.device().counters()), (now, counters));
    let read = device.read(SectorRange::new(Lba(16), Sectors(8))).unwrap();
    assert_eq!((seen[0], seen[8 * 512 - 512], read[0]), (9, 0, 8));
    assert!(seen[15 * 512..23 * 512] == read);
}
