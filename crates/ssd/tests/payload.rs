//! A drive that keeps bytes gives back what was written, whatever it moves, loses its power, is saved, or cloned.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;

use wane_archive::{Archive, Reader, Writer};
use wane_blockdev::{BlockDevice, Request, SectorRange, Status, drain};
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::{Fate, FtlConfig, Outcome};
use wane_nand::{Ecc, ErrorConfig, rber};
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
    ClockSpec { by_events: stream.chance(0.5), timing, config: SchedulerConfig::default(), rereads_max: 0 }
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

/// What every unit holds; nothing is zeros.
type Oracle = BTreeMap<u32, u64>;

fn bytes(version: u64) -> Vec<u8> {
    version.to_le_bytes().repeat(UNIT / 8)
}

fn holds(drive: &Drive, oracle: &Oracle, name: &str) {
    drive.check().unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let mut found = vec![0; UNIT];
    for unit in 0..drive.exported() {
        drive.peek(Lpn(unit), &mut found);
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

/// Some commands, of which all is there at the end.
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
            // Aging rewrites what is there.
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
                    let off = drive.power_cut(|| Fate::Torn).unwrap();
                    drive = Drive::recover(off, config.ftl.clone()).unwrap().0;
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
            // What a drive held when it came back is on flash.
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
            let off = drive.power_cut(|| fates[stream.below(3) as usize]).unwrap();
            drive = Drive::recover(off, config.ftl.clone()).unwrap().0;
            now = now.max(drive.now().0);
            cuts += 1;
            if config.ftl.power_loss_protection {
                holds(&drive, &oracle, &format!("{seed}"));
                continue;
            }
            // What was not flushed is old or new, and never a mix.
            drive.check().unwrap();
            let mut found = vec![0; UNIT];
            for unit in 0..drive.exported() {
                drive.peek(Lpn(unit), &mut found);
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
    let geometry = Geometry::new(2, 1, 1, 24, 8, Bytes(8192)).unwrap();
    let ftl = FtlConfig { units_per_page: 2, ..FtlConfig::new(&geometry, Ratio::new(0.5).unwrap()) };
    let model = rber::chip("tlc-72l-2018").unwrap().model;
    let ecc = Ecc { strength: Some(4), rereads_max: Some(0), ..Ecc::default() };
    let errors = Some(ErrorConfig::new(model, ecc));
    let worn = vec![9_000; 48];
    let config = DriveConfig { keeps_bytes: true, errors, erase_counts: worn, ..DriveConfig::new(geometry, ftl) };
    let mut drive = Drive::new(config).unwrap();
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
