//! A drive's health record compared with counts made by hand.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test")]

use wane_archive::{Archive, Reader, Writer};
use wane_blockdev::{Blocking, Request, SectorRange};
use wane_ftl::policies::retirement::{AtEndurance, AtEnduranceParams};
use wane_ftl::policies::{Builtin, Mode};
use wane_ftl::{EraseGroup, FtlConfig};
use wane_nand::{Ecc, ErrorConfig, Fault, FaultConfig, Loss, When, rber};
use wane_smart::{HealthRecord, OcpLog, energy};
use wane_ssd::{Drive, DriveConfig};
use wane_units::{Bytes, DieId, Geometry, Lba, Lpn, Ratio, Sectors};

/// Two dies of 24 blocks of 8 pages of two units of 4 KiB, of which it exports 404.
fn config() -> DriveConfig {
    let geometry = Geometry::new(2, 1, 1, 24, 8, Bytes(8192)).unwrap();
    let mut ftl = FtlConfig::new(&geometry, Ratio::new(0.3).unwrap());
    (ftl.units_per_page, ftl.logical_units) = (2, 404);
    DriveConfig::new(geometry, ftl)
}

fn rated(erases: u32) -> DriveConfig {
    let mut config = config();
    config.ftl.endurance = Some(erases);
    config.ftl.retire = Box::new(AtEndurance::new(AtEnduranceParams::default()).unwrap());
    config
}

fn all(drive: &Drive) -> Vec<Lpn> {
    (0..drive.exported()).map(Lpn).collect()
}

fn saved(drive: &mut Drive) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    drive.archive(&mut writer).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_new_drive_is_well() {
    let want = HealthRecord {
        capacity_initial_bytes: 404 * 4096,
        capacity_bytes: 404 * 4096,
        logical_block_bytes: 4096,
        percentage_used: Some(0.0),
        available_spare_percent: 100.0,
        // 48 blocks, of which 26 are taken by what it exports, and one is open.
        free_blocks_percent: 100.0,
        endurance_estimate_bytes: Some(48 * 8 * 8192 * 10),
        dies: 2,
        power_cycles: 1,
        ..HealthRecord::default()
    };
    assert_eq!(Drive::new(rated(10)).unwrap().health_record(), want);
    let unrated = HealthRecord { percentage_used: None, endurance_estimate_bytes: None, ..want };
    assert_eq!(Drive::new(config()).unwrap().health_record(), unrated);
    assert_eq!((unrated.critical_warning(), unrated.write_amplification()), (0, None));
}

#[test]
fn what_was_written_read_and_erased_is_told() {
    let mut drive = Drive::new(rated(1000)).unwrap();
    let units = all(&drive);
    // Sequential writes: nothing is relocated.
    (0..10).for_each(|_| drive.age(&units).unwrap());
    drive.read_batch(&units[..100]).unwrap();
    drive.trim_batch(&units[..4]).unwrap();
    drive.read_unmapped(7);
    let counters = *drive.counters();
    let erases = counters.erases_gc;
    assert!(erases > 200 && counters.programmed_gc == 0, "{counters:?}");
    let record = drive.health_record();
    assert_eq!((record.host_bytes_written, record.host_writes), (10 * 404 * 4096, 10 * 404));
    assert_eq!((record.host_bytes_read, record.host_reads), (107 * 4096, 107));
    assert_eq!((record.flash_bytes_programmed, record.flash_pages_programmed), (10 * 404 * 4096, 10 * 202));
    assert_eq!((record.flash_bytes_read, record.flash_pages_read), (100 * 4096, 100), "what holds nothing is not read");
    assert_eq!((record.mapped_bytes, record.flash_blocks_erased), (400 * 4096, erases));
    assert_eq!(record.erase_count_mean * 48.0, erases as f64);
    assert!(f64::from(record.erase_count_min) <= record.erase_count_mean);
    assert!(f64::from(record.erase_count_max) >= record.erase_count_mean && record.erase_count_max > 0);
    assert_eq!(record.percentage_used, drive.life_used().map(|used| 100.0 * used));
    assert_eq!(record.flash_energy_joules, energy::joules(100, 2020, erases));
    let free = f64::from(drive.free_blocks_min());
    assert_eq!(record.free_blocks_percent, 100.0 * free / (48.0 - 26.0));
    // Relocated units are read and programmed.
    let mut stream = wane_sim::Streams::new(1).stream("writes");
    let random: Vec<Lpn> = (0..4000).map(|_| Lpn(stream.below(404) as u32)).collect();
    drive.age(&random).unwrap();
    let (record, moved) = (drive.health_record(), drive.counters().programmed_gc);
    assert!(moved > 100);
    assert_eq!(record.flash_pages_read, 100 + moved);
    assert_eq!(record.flash_bytes_programmed, (10 * 404 + 4000 + moved) * 4096);
}

#[test]
fn requests_are_commands_and_aged_units_count_each() {
    let mut drive = Drive::new(rated(1000)).unwrap();
    let mut device = Blocking::new(&mut drive);
    let range = |first: u64, units: u64| SectorRange::new(Lba(8 * first), Sectors(8 * units));
    device.write_zeroes(range(0, 40)).unwrap();
    device.perform(Request::write_without_bytes(range(0, 100))).unwrap();
    (0..3).for_each(|_| drop(device.perform(Request::read(range(0, 50))).unwrap()));
    device.remap(range(0, 10), range(200, 12)).unwrap();
    let record = drive.health_record();
    assert_eq!((record.host_writes, record.host_bytes_written), (2, 140 * 4096));
    assert_eq!((record.host_reads, record.host_bytes_read), (3, 150 * 4096));
    let units = all(&drive);
    drive.age(&units).unwrap();
    assert_eq!(drive.health_record().host_writes, 2 + 404);
    let mut again = Drive::new(rated(1000)).unwrap();
    let saved = saved(&mut drive);
    let mut reader = Reader::new(saved.as_slice()).unwrap();
    again.archive(&mut reader).unwrap();
    assert_eq!(again.health_record(), drive.health_record());
}

#[test]
fn a_question_changes_nothing_and_days_without_power_are_no_hours() {
    let mut drive = Drive::new(rated(1000)).unwrap();
    let units = all(&drive);
    drive.age(&units).unwrap();
    drive.set_day(2.0);
    drive.lie(30.0);
    drive.lie(0.5);
    drive.set_day(33.0);
    let before = saved(&mut drive);
    let record = drive.health_record();
    assert_eq!(drive.health_record(), record);
    assert!(saved(&mut drive) == before, "the state is the same, byte for byte");
    assert_eq!((record.day, record.power_on_hours, record.power_cycles), (33.0, 60.0, 3));
    let mut opened = Drive::new(rated(1000)).unwrap();
    let mut reader = Reader::new(&before[..]).unwrap();
    opened.archive(&mut reader as &mut dyn Archive).unwrap();
    reader.finish().unwrap();
    assert_eq!(opened.health_record(), record);
}

#[test]
fn spare_falls_until_the_drive_is_read_only() {
    let mut drive = Drive::new(rated(5)).unwrap();
    let units = all(&drive);
    let (mut last, mut seen) = (drive.health_record(), Vec::new());
    // T is 41 blocks of 16 units; 404 units take 25.25 of them.
    let percent = |retired: f64| (100.0 * ((41.0 - retired) * 16.0 - 404.0) / (41.0 * 16.0 - 404.0)).max(0.0);
    while drive.age(&units[..40]).is_ok() {
        let record = drive.health_record();
        assert!(record.available_spare_percent <= last.available_spare_percent);
        assert_eq!(record.available_spare_percent, percent(f64::from(record.blocks_bad_grown)));
        assert_eq!(record.critical_warning(), u8::from(record.available_spare_percent < 10.0));
        seen.push(record.critical_warning());
        last = record;
    }
    let dead = drive.health_record();
    assert_eq!((dead.critical_warning(), dead.available_spare(), dead.is_read_only), (0b1001, 0, true));
    assert!(dead.blocks_bad_grown >= 15 && seen[0] == 0, "{dead:?}");
    let mut drive = Drive::new(rated(5)).unwrap();
    // A drive that spares worn blocks does as it was made to.
    drive.set_mode(Mode::Degraded);
    assert_eq!(drive.health_record().critical_warning(), 0);
}

#[test]
fn a_drive_that_lost_data_is_unreliable() {
    let mut config = rated(5_000);
    let model = rber::chip("tlc-72l-2018").unwrap().model;
    config.errors = Some(ErrorConfig::new(model, Ecc { strength: Some(1), rereads_max: Some(0), ..Ecc::default() }));
    let mut drive = Drive::new(config).unwrap();
    drive.wake();
    let units: Vec<Lpn> = (0..40).map(Lpn).collect();
    let _ = drive.write_batch(&units);
    assert_eq!(drive.health_record().critical_warning(), 0);
    drive.wake();
    drive.set_past(|_| (4_000.0, 1_000_000));
    drive.read_batch(&units).unwrap();
    assert!(!drive.unread().is_empty());
    assert_eq!(drive.health_record().critical_warning(), 0b100);
}

#[test]
fn superblocks_count_in_flash_blocks_and_spare_in_those_of_a_new_drive() {
    let geometry = Geometry::new(1, 1, 2, 40, 8, Bytes(8192)).unwrap();
    let mut ftl = FtlConfig::new(&geometry, Ratio::new(0.5).unwrap());
    (ftl.erase_group, ftl.rated_blocks, ftl.logical_units, ftl.gc_reserve) = (EraseGroup::Superblock, 38, 300, 2);
    let mut config = DriveConfig::new(geometry, ftl);
    config.faults = Some(FaultConfig { factory_bad: 0.05, ..FaultConfig::default() });
    let drive = Drive::new(config).unwrap();
    let record = drive.health_record();
    // 4 of 80 blocks are bad, and take their superblocks along.
    assert_eq!(drive.flash().unwrap().faults().unwrap().factory_bad().len(), 4);
    assert_eq!(record.blocks_bad_factory, 2 * drive.retired_blocks());
    assert!(record.blocks_bad_factory >= 4);
    assert_eq!((record.blocks_bad_grown, record.available_spare_percent), (0, 100.0));
}

#[test]
fn a_lost_die_is_offline_and_what_it_held_is_lost() {
    let mut config = config();
    config.ftl.logical_units = 120;
    let loss = Fault { when: When::DriveWrites(1.0), loss: Loss::Die(DieId(1)) };
    config.faults = Some(FaultConfig { schedule: vec![loss], ..FaultConfig::default() });
    let mut drive = Drive::new(config).unwrap();
    let units = all(&drive);
    drive.age(&units).unwrap();
    assert_eq!(drive.health_record().dies_offline, 0);
    drive.set_drive_writes(1.0);
    drive.read_batch(&units).unwrap();
    let (record, lost) = (drive.health_record(), drive.unread().len() as u64);
    assert_eq!(record.dies_offline, 1);
    assert!(record.media_errors == lost && record.reads_uncorrectable >= lost, "{record:?}, {lost} units unread");
    assert_eq!(OcpLog::of(&record).media_dies_offline, 1);
}

#[test]
fn reads_that_were_corrected_are_remembered_while_the_drive_ages() {
    let model = rber::chip("tlc-72l-2018").unwrap().model;
    let ecc = Ecc { strength: Some(25), rereads_max: Some(20), ..Ecc::default() };
    let mut config = config();
    config.errors = Some(ErrorConfig::new(model, ecc));
    config.erase_counts = vec![4_000; 48];
    let mut drive = Drive::new(config).unwrap();
    let units = all(&drive);
    drive.age(&units).unwrap();
    drive.wake();
    drive.set_day(400.0);
    (0..5).for_each(|_| drive.read_batch(&units).unwrap());
    let seen = drive.flash().unwrap().cells().unwrap().counters();
    let want = seen.reads_retried - seen.uncorrectable_reads;
    assert!(want > 0, "{seen:?}");
    assert_eq!(drive.health_record().reads_corrected, want);
    assert!(drive.rest());
    assert_eq!(drive.health_record().reads_corrected, want);
}
