//! Arrays over members with checksums: a member that lies is found, and what it lied about is made of the others.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use std::any::Any;

use common::{All, ended, raid_config, range};
use wane_blockdev::{
    BlockDevice, Delay, Delays, Fault, Integrity, Living, Mismatches, Ram, Request, SectorRange, all_of, each_of, find,
};
use wane_raid::code::{COPIES_2, Code, PQ, XOR};
use wane_raid::{MemberState, Mirror, MirrorConfig, Raid, RaidRepairs, Scrub};
use wane_sim::Stream;
use wane_testkit::crash::{DeviceTally, Devices};
use wane_testkit::{Volatile, conformance};
use wane_units::{Fate, Lba, Nanos, Sectors};

type Liar = Fault<Ram>;

fn liar() -> Liar {
    Fault::new(Ram::new(Sectors(4096)))
}

fn checked<D: Living>(device: D) -> Box<dyn Living> {
    Box::new(Integrity::new(device).unwrap().cleaning_every(Nanos(50_000)))
}

/// Members of which each may lie, with checksums or without.
fn members(count: usize, has_checksums: &str) -> Vec<Box<dyn Living>> {
    let member = |_| if has_checksums == "with" { checked(liar()) } else { Box::new(liar()) as Box<dyn Living> };
    (0..count).map(member).collect()
}

/// Lets the sectors rot in which a member has data of an array, and some behind its start that hold what the array knows of itself.
fn rot(array: &mut dyn Living, member: usize, sectors: SectorRange) {
    let mut number = 0;
    each_of::<Liar>(array, &mut |liar| {
        if number == member {
            liar.make_rotten(sectors);
        }
        number += 1;
    });
}

fn mismatches(array: &dyn Living) -> Mismatches {
    let mut all = Mismatches::default();
    all_of::<Integrity<Liar>>(array).iter().for_each(|layer| all += layer.mismatches());
    all
}

/// The contents of the array that were written.
fn pattern(sectors: u64) -> Vec<u8> {
    (0..sectors * 512).map(|at| (at / 512 * 7 + at % 251) as u8).collect()
}

const FILLED: u64 = 16 * 24;

fn filled(code: &'static dyn Code, width: usize, has_checksums: &str) -> Raid {
    let mut array = Raid::new(raid_config(code, width, &All), members(width, has_checksums)).unwrap();
    assert!(ended(&mut array, Request::write(range(0, FILLED), pattern(FILLED))).status.is_done());
    assert!(ended(&mut array, Request::flush()).status.is_done());
    let_pass(&mut array);
    array
}

fn let_pass(array: &mut Raid) {
    let until = array.now().saturating_add(Nanos(1_000_000_000));
    array.complete(until, &mut Vec::new());
}

/// Where the data of an array begin on the drive of a member with checksums.
fn data_of(array: &Raid) -> u64 {
    let layer = find::<Integrity<Liar>>(array).unwrap();
    array.data_offset().0 + layer.device().capacity().0 - layer.capacity().0
}

#[test]
fn arrays_over_checksums_are_living_devices() {
    for (code, width) in [(&XOR as &'static dyn Code, 3), (&PQ, 4), (&COPIES_2, 4)] {
        let make = || -> Box<dyn Living> {
            let member =
                |number: usize| checked(Delay::new(Ram::new(Sectors(4096)), Delays::all(Nanos(700 * number as u64))));
            Box::new(Raid::new(raid_config(code, width, &All), (0..width).map(member).collect()).unwrap())
        };
        conformance::living_device(&format!("{} over checksums", code.name()), &make, true, 12);
    }
    let mirror = || -> Box<dyn Living> { Box::new(Mirror::new(MirrorConfig::default(), members(2, "with")).unwrap()) };
    conformance::living_device("a mirror over checksums", &mirror, true, 12);
}

/// One member lies about a chunk and a half, in each place; the array reads on as if nothing were, and writes what was wrong again.
#[test]
fn what_one_member_lies_about_is_read_right_and_repaired() {
    for (code, width) in [(&XOR as &'static dyn Code, 3), (&PQ, 4), (&COPIES_2, 4)] {
        for member in 0..width {
            let mut array = filled(code, width, "with");
            let from = data_of(&array);
            rot(&mut array, member, range(from + 8, 24));
            let read = ended(&mut array, Request::read(range(0, FILLED)));
            assert!(read.status.is_done() && read.bytes.unwrap() == pattern(FILLED), "{} {member}", code.name());
            array.scrub(array.now(), Scrub::Repair);
            let_pass(&mut array);
            let Mismatches { found, rewritten, .. } = mismatches(&array);
            assert_eq!(
                (found, rewritten),
                (Sectors(24), Sectors(24)),
                "{} {member}: all is found, and right",
                code.name()
            );
            let RaidRepairs { repaired, mismatched, lost, .. } = array.repairs();
            assert_eq!((repaired, mismatched, lost), (Sectors(24), 0, Sectors(0)), "the array was told which");
            array.scrub(array.now(), Scrub::Check);
            let_pass(&mut array);
            assert_eq!(mismatches(&array).found, Sectors(24), "nothing more is wrong");
        }
    }
}

/// Without checksums parity tells that something is wrong, and not what.
#[test]
fn without_checksums_one_parity_cannot_tell_who_lies() {
    let mut array = filled(&XOR, 3, "without");
    let from = array.data_offset().0;
    rot(&mut array, 0, range(from, 1));
    array.scrub(array.now(), Scrub::Check);
    let_pass(&mut array);
    let RaidRepairs { mismatched, corrected, .. } = array.repairs();
    assert_eq!((mismatched, corrected), (1, 0), "one stripe, which nobody can judge");
    let read = ended(&mut array, Request::read(range(0, FILLED)));
    let is_wrong = read.bytes.unwrap() != pattern(FILLED);
    // The first member has data in the first stripe of a left-symmetric layout.
    assert!(read.status.is_done() && is_wrong, "the host is given the lie");
    // Two parities can.
    let mut array = filled(&PQ, 4, "without");
    let from = array.data_offset().0;
    rot(&mut array, 0, range(from, 1));
    array.scrub(array.now(), Scrub::Repair);
    let_pass(&mut array);
    assert_eq!((array.repairs().mismatched, array.repairs().corrected), (1, 1));
}

/// What two members lie about at once in the same stripe is lost, and told as lost: never as data.
#[test]
fn what_cannot_be_made_again_is_an_error_of_exactly_these_sectors() {
    let mut array = filled(&XOR, 3, "with");
    let from = data_of(&array);
    (0..3).for_each(|member| rot(&mut array, member, range(from, 8)));
    let read = ended(&mut array, Request::read(range(0, FILLED)));
    let lost: u64 = read.status.failed().iter().map(|range| range.count.0).sum();
    assert_eq!(lost, 2 * 8, "{:?}", read.status);
    let (bytes, want) = (read.bytes.unwrap(), pattern(FILLED));
    for sector in 0..FILLED {
        let part = (sector * 512) as usize..(sector as usize + 1) * 512;
        let is_lost =
            read.status.failed().iter().any(|range| range.overlaps(SectorRange::new(Lba(sector), Sectors(1))));
        assert!(if is_lost { bytes[part].iter().all(|byte| *byte == 0) } else { bytes[part.clone()] == want[part] });
    }
}

#[test]
fn a_mirror_reads_the_copy_that_is_right() {
    let mut mirror = Mirror::new(MirrorConfig::default(), members(2, "with")).unwrap();
    ended(&mut mirror, Request::write(range(0, 64), pattern(64)));
    let layer = find::<Integrity<Liar>>(&mirror).unwrap();
    let from = layer.device().capacity().0 - layer.capacity().0;
    rot(&mut mirror, 0, range(from, 16));
    rot(&mut mirror, 1, range(from + 32, 8));
    for _ in 0..2 {
        let read = ended(&mut mirror, Request::read(range(0, 64)));
        assert!(read.status.is_done() && read.bytes.unwrap() == pattern(64));
    }
}

fn as_raid(device: &mut dyn Living) -> &mut Raid {
    let any: &mut dyn Any = device;
    any.downcast_mut().unwrap()
}

#[test]
fn power_cuts_of_arrays_over_checksums_lose_nothing() {
    let make = |stream: &mut Stream| -> Box<dyn Living> {
        let (code, width): (&'static dyn Code, usize) = [(&XOR as _, 3), (&PQ as _, 4)][stream.below(2) as usize];
        let member = |number: usize| {
            checked(Delay::new(Volatile::memory(Sectors(1200)), Delays::all(Nanos(1_000 * number as u64))))
        };
        let mut array: Box<dyn Living> =
            Box::new(Raid::new(raid_config(code, width, &All), (0..width).map(member).collect()).unwrap());
        let _ = ended(&mut *array, Request::flush());
        array
    };
    let devices = Devices {
        disturb: &|device, at, stream| {
            let array = as_raid(device);
            let out = (0..3).find(|member| array.state(*member) == MemberState::Absent);
            match (out, stream.below(2)) {
                (Some(member), 0) => array.put_back(at, member).unwrap(),
                (None, 0) if !array.is_at_work() => array.take_out(at, stream.below(3) as usize, &mut || Fate::Undone),
                (None, 1) => array.scrub(at, Scrub::Repair),
                _ => {}
            }
        },
        recovery: Nanos(50_000_000),
        ..Devices::new(&make)
    };
    let mut tally = DeviceTally::default();
    for seed in 0..3 {
        tally += devices.explore(seed).unwrap_or_else(|what| panic!("{what}"));
    }
    assert!(tally.cuts > 500 && tally.twice > 100, "{tally:?}");
}
