//! A host that limits how much its drive holds: the addresses stay, and the drive gets its space back.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use wane_archive::{Archive, Reader, Writer};
use wane_blockdev::{
    AnsweredBy, Batch, BlockDevice, Living, Notice, NoticeKind, Request, SectorRange, Status, Stop, WantedCause, Work,
    carry_out, drain,
};
use wane_ftl::FtlConfig;
use wane_ftl::policies::Builtin;
use wane_ftl::policies::capacity::{Shrink, Variant, VariantParams};
use wane_ftl::policies::recovery::{FullScan, FullScanParams};
use wane_ftl::policies::retirement::{AtEndurance, AtEnduranceParams};
use wane_sim::Streams;
use wane_ssd::{Drive, DriveConfig};
use wane_units::{Bytes, Fate, Geometry, Lba, Ratio, Sectors, SimTime};

/// 48 blocks of 8 pages of two units, which wear out after 40 erases. It gives space back as its blocks do.
fn config() -> DriveConfig {
    let geometry = Geometry::new(2, 1, 1, 24, 8, Bytes(8192)).unwrap();
    let mut ftl = FtlConfig::new(&geometry, Ratio::new(0.3).unwrap());
    (ftl.units_per_page, ftl.logical_units) = (2, ftl.logical_units * 3 / 2);
    ftl.endurance = Some(40);
    ftl.retire = Box::new(AtEndurance::build(AtEnduranceParams::default()));
    ftl.capacity = Box::new(Variant::build(VariantParams { shrink: Shrink::Graceful, ..VariantParams::default() }));
    ftl.recovery = Box::new(FullScan::build(FullScanParams::default()));
    DriveConfig { keeps_bytes: true, ..DriveConfig::new(geometry, ftl) }
}

fn unit(number: u64) -> SectorRange {
    SectorRange::new(Lba(8 * number), Sectors(8))
}

fn ask(drive: &mut Drive, request: Request) -> Status {
    let at = drive.now();
    let id = drive.submit(at, request);
    let mut out = Vec::new();
    drain(drive, at, &mut out);
    out.into_iter().find(|completion| completion.id == id).unwrap().status
}

fn wanted(drive: &mut Drive) -> Option<NoticeKind> {
    let mut notices: Vec<Notice> = Vec::new();
    drive.notices(&mut notices);
    notices.into_iter().map(|notice| notice.kind).rfind(|kind| matches!(kind, NoticeKind::CapacityWanted { .. }))
}

/// A drive that was asked for space `times` times, all of whose units that are in use lie anywhere.
fn worn(times: usize) -> (Drive, BTreeSet<u64>) {
    let mut drive = Drive::new(config()).unwrap();
    let units = drive.capacity().0 / 8;
    let mut used: BTreeSet<u64> = (0..units).collect();
    let mut stream = Streams::new(3).stream("writes");
    for number in 0..units {
        assert_eq!(ask(&mut drive, Request::write_without_bytes(unit(number))), Status::Done);
    }
    let mut answered = 0;
    while answered < times {
        let number = *used.iter().nth(stream.below(used.len() as u64) as usize).unwrap();
        assert_eq!(ask(&mut drive, Request::write_without_bytes(unit(number))), Status::Done, "after {answered}");
        let Some(NoticeKind::CapacityWanted { to, .. }) = wanted(&mut drive) else { continue };
        while used.len() as u64 > to.0 / 8 {
            let gone = *used.iter().nth(stream.below(used.len() as u64) as usize).unwrap();
            used.remove(&gone);
            assert_eq!(ask(&mut drive, Request::trim(unit(gone))), Status::Done);
        }
        let at = drive.now();
        let limit = Sectors(to.0 / 8 * 8);
        assert_eq!(drive.set_mapped_limit(at, limit), Status::Done);
        assert_eq!((drive.mapped_limit(), drive.mapped_units()), (limit, used.len() as u64));
        answered += 1;
    }
    assert_eq!(drive.check(), Ok(()));
    (drive, used)
}

#[test]
fn a_limit_answers_a_drive_as_less_capacity_does() {
    let (mut drive, used) = worn(26);
    let new = Sectors(u64::from(drive.logical_initial()) * 8);
    assert_eq!(drive.capacity(), new, "addresses stay");
    assert!(drive.retired_blocks() >= 20 && drive.mapped_limit() < Sectors(new.0 * 6 / 10));
    let free = (0..new.0 / 8).find(|number| !used.contains(number)).unwrap();
    let room = drive.mapped_limit().0 / 8 - used.len() as u64;
    assert_eq!(room, 0);
    assert_eq!(ask(&mut drive, Request::write_without_bytes(unit(free))), Status::NoSpace(vec![unit(free)]));
    // What its blocks no longer hold it does not promise again.
    let at = drive.now();
    assert_eq!(drive.set_mapped_limit(at, new), Status::OutOfRange);
    let holds = Sectors(drive.service_units().min(new.0 / 8) * 8);
    assert!(holds > drive.mapped_limit() && holds < new);
    assert_eq!(drive.set_mapped_limit(at, holds), Status::Done);
    assert_eq!(ask(&mut drive, Request::write_without_bytes(unit(free))), Status::Done);
}

#[test]
fn a_limit_survives_power_cuts_copies_and_files() {
    let (mut drive, used) = worn(3);
    let (limit, at) = (drive.mapped_limit(), drive.now());
    let mut writer = Writer::new(Vec::new()).unwrap();
    drive.archive(&mut writer as &mut dyn Archive).unwrap();
    let bytes = writer.finish().unwrap();
    let mut opened = Drive::new(config()).unwrap();
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    opened.archive(&mut reader as &mut dyn Archive).unwrap();
    reader.finish().unwrap();
    let mut cut = drive.clone();
    cut.power_off(at, &mut || Fate::Done);
    assert_eq!(cut.set_mapped_limit(at, Sectors(8)), Status::Gone(Vec::new()));
    Living::power_on(&mut cut, at).unwrap();
    let free = (0..).find(|number| !used.contains(number)).unwrap();
    for mut other in [drive, opened, cut] {
        assert_eq!(other.mapped_limit(), limit);
        assert_eq!(ask(&mut other, Request::write_without_bytes(unit(free))), Status::NoSpace(vec![unit(free)]));
        assert_eq!(ask(&mut other, Request::remap(unit(*used.first().unwrap()), unit(free))), Status::Done);
        assert_eq!((other.mapped_units(), other.check()), (used.len() as u64, Ok(())));
    }
}

#[test]
fn a_batch_leaves_out_what_does_not_fit() {
    let mut drive = Drive::new(config()).unwrap();
    assert_eq!(drive.set_mapped_limit(SimTime(0), Sectors(5 * 8)), Status::Done);
    let part = SectorRange::new(Lba(8 * 9 + 1), Sectors(3));
    // Ranges that overlap, parts of units, and units in between that hold data.
    let ranges = [unit(2), unit(2), SectorRange::new(Lba(8), Sectors(24)), part, unit(30), unit(31), unit(2)];
    let all = ranges.iter().fold(Sectors::ZERO, |sum, range| sum + range.count);
    let took = carry_out(&mut drive, SimTime(0), &Batch::new(Work::Write, &ranges));
    assert_eq!((took.stop, took.done), (Stop::Done, all));
    let held: Vec<u64> = (0..40).filter(|number| drive.lookup(wane_units::Lpn(*number as u32)).is_some()).collect();
    assert_eq!((held, drive.mapped_units(), drive.check()), (vec![1, 2, 3, 9, 30], 5, Ok(())));
}

/// A host that ignores what its drive wants, and writes where nothing was, still finds the space that it was told of.
#[test]
fn a_drive_takes_what_it_says_that_it_takes() {
    let mut checked = 0;
    for times in [0, 1, 5, 12, 20, 26] {
        let (mut drive, _) = worn(times);
        let mut stream = Streams::new(times as u64).stream("more");
        let told = loop {
            let number = stream.below(drive.capacity().0 / 8);
            // Beyond the limit nothing is written.
            ask(&mut drive, Request::write_without_bytes(unit(number)));
            if let Some(NoticeKind::CapacityWanted { cause, writes_left, by, .. }) = wanted(&mut drive) {
                assert_eq!((cause, by), (WantedCause::Wear, AnsweredBy::Either));
                break writes_left.0;
            }
        };
        let (at, retired) = (drive.now(), drive.retired_blocks());
        let room = Sectors((drive.service_units() * 8).min(drive.capacity().0));
        // A drive that is pressed may hold more than that.
        let _ = drive.set_mapped_limit(at, room);
        let mut written = 0;
        while written < told && drive.retired_blocks() == retired {
            let number = stream.below(drive.capacity().0 / 8);
            let is_full = drive.mapped_units() * 8 >= drive.mapped_limit().0;
            match ask(&mut drive, Request::write_without_bytes(unit(number))) {
                Status::NoSpace(_) if is_full => {}
                status => assert_eq!(status, Status::Done, "{written} of {told} after {times} answers"),
            }
            written += 8;
        }
        checked += written;
    }
    assert!(checked > 100, "{checked} sectors were told of and written");
}
