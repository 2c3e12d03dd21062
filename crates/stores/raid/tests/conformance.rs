//! Arrays are living devices.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use common::{drive, ended, forgetful, members, range};
use wane_blockdev::{
    Batch, BlockDevice, Fault, Keep, Living, Ram, Record, Request, SectorRange, Status, Stop, Tally, Work, all_of,
    carry_out, drain,
};
use wane_raid::{Linear, Mirror, MirrorConfig, Spread, Stripe};
use wane_ssd::Drive;
use wane_testkit::conformance;
use wane_units::{Fate, Sectors, SimTime};

#[test]
fn linear_arrays_are_living_devices() {
    conformance::living_device(
        "linear",
        &|| Box::new(Spread::new(Linear::default(), members([40, 8, 2048])).unwrap()),
        true,
        64,
    );
}

#[test]
fn stripes_are_living_devices() {
    for chunk in [8, 16] {
        let make = || -> Box<dyn Living> {
            Box::new(Spread::new(Stripe::new(Sectors(chunk)), members([1024, 1000, 1024])).unwrap())
        };
        conformance::living_device("stripe", &make, true, 64);
    }
}

#[test]
fn arrays_of_unequal_drives_are_living_devices() {
    for is_timed in [false, true] {
        let members = || vec![drive(40, is_timed), drive(56, false), drive(40, is_timed)];
        let linear = || -> Box<dyn Living> { Box::new(Spread::new(Linear::default(), members()).unwrap()) };
        let stripe = || -> Box<dyn Living> { Box::new(Spread::new(Stripe::new(Sectors(16)), members()).unwrap()) };
        conformance::living_device("a linear array of drives", &linear, !is_timed, 8);
        conformance::living_device("a stripe of drives", &stripe, !is_timed, 8);
        // Arrays stand on arrays.
        let both =
            || -> Box<dyn Living> { Box::new(Spread::new(Stripe::new(Sectors(8)), vec![linear(), stripe()]).unwrap()) };
        conformance::living_device("a stripe of arrays", &both, !is_timed, 4);
    }
}

#[test]
fn a_member_that_is_gone_is_an_error_of_its_sectors_until_all_are() {
    let member = |is_gone: bool| -> Box<dyn Living> {
        let mut fault = Fault::new(Ram::new(Sectors(64)));
        if is_gone {
            fault.make_gone();
        }
        Box::new(fault)
    };
    let mut array = Spread::new(Stripe::new(Sectors(8)), vec![member(false), member(true)]).unwrap();
    let write = Request::write(range(0, 32), vec![7; 32 * 512]);
    assert_eq!(ended(&mut array, write).status, Status::MediumError(vec![range(8, 8), range(24, 8)]));
    assert_eq!(ended(&mut array, Request::read(range(0, 8))).status, Status::Done);
    assert_eq!(ended(&mut array, Request::flush()).status, Status::MediumError(Vec::new()));
    let mut array = Spread::new(Stripe::new(Sectors(8)), vec![member(true), member(true)]).unwrap();
    assert_eq!(ended(&mut array, Request::read(range(0, 16))).status, Status::Gone(vec![range(0, 16)]));
    assert_eq!(ended(&mut array, Request::flush()).status, Status::Gone(Vec::new()));
}

#[test]
fn each_member_gets_one_request_for_what_follows_itself_there() {
    let recorded = || -> Box<dyn Living> { Box::new(Record::new(Ram::new(Sectors(64)), Keep::Bytes, 100)) };
    let mut array = Spread::new(Stripe::new(Sectors(8)), vec![recorded(), recorded()]).unwrap();
    let bytes: Vec<u8> = (0..40 * 512).map(|byte| (byte / 512) as u8).collect();
    assert_eq!(ended(&mut array, Request::write(range(4, 40), bytes.clone())).status, Status::Done);
    let mut counts = Vec::new();
    array.members(&mut |member| {
        counts.push(
            wane_blockdev::find::<Record<Ram>>(member)
                .unwrap()
                .entries()
                .iter()
                .filter(|entry| matches!(entry, wane_blockdev::Entry::Submit { .. }))
                .count(),
        );
    });
    assert_eq!(counts, [1, 1]);
    let now = array.now();
    array.submit(now, Request::read(range(4, 40)));
    let mut out = Vec::new();
    drain(&mut array, now, &mut out);
    assert_eq!(out.pop().unwrap().bytes, Some(bytes));
}

/// A drive that dies ends the batch where it died, in the order of the batch.
#[test]
fn the_first_member_that_dies_ends_the_array() {
    let mut array = Spread::new(Linear::default(), vec![drive(40, false), drive(40, false)]).unwrap();
    let half = array.capacity().0 / 2;
    let all: Vec<SectorRange> = (0..half / 8).map(|unit| range(half + 8 * unit, 8)).collect();
    let both = [&[range(0, 8)][..], &all].concat();
    let mut stop = Stop::Done;
    for _ in 0..20_000 {
        let now = array.now();
        let took = array.batch(now, &Batch::new(Work::Write, &both));
        stop = took.stop;
        while stop == Stop::Paused {
            stop = array.go_on(now, stop);
        }
        if stop != Stop::Done {
            assert!(took.done.0 < 8 * both.len() as u64 && took.done.0 >= 8, "{took:?}");
            break;
        }
    }
    assert!(matches!(stop, Stop::Dead(_)), "{stop:?}");
}

#[test]
fn what_was_complete_when_the_power_went_stays_so() {
    let mut array = Spread::new(Stripe::new(Sectors(8)), members([64, 64])).unwrap();
    // The second member takes 1 us.
    let ids = [range(0, 8), range(8, 8)].map(|range| array.submit(SimTime(0), Request::write_without_bytes(range)));
    array.power_off(SimTime(999), &mut || Fate::Done);
    let mut out = Vec::new();
    array.complete(SimTime(999), &mut out);
    let ends: Vec<_> = out.iter().map(|end| (end.id, end.at, end.status.is_done())).collect();
    assert_eq!(ends, [(ids[0], SimTime(0), true), (ids[1], SimTime(999), false)]);
}

#[test]
fn an_array_that_does_not_come_back_stays_off_as_a_whole() {
    let members = || vec![drive(40, true), forgetful(40)];
    let stripe = Spread::new(Stripe::new(Sectors(16)), members()).unwrap();
    let mirror = Mirror::new(MirrorConfig::default(), vec![forgetful(40), forgetful(40)]).unwrap();
    let arrays: [Box<dyn Living>; 2] = [Box::new(stripe), Box::new(mirror)];
    for mut array in arrays {
        let _ = ended(&mut *array, Request::write_without_bytes(range(0, 64)));
        let now = array.now();
        array.power_off(now, &mut || Fate::Done);
        let first = array.power_on(now).unwrap_err();
        assert!(first.to_string().contains("keeps nothing"), "{first}");
        assert!(array.is_off());
        array.members(&mut |member| assert!(member.is_off()));
        let now = array.now();
        assert_eq!(array.power_on(now).unwrap_err(), first);
    }
}

/// The next request takes no time of a batch before it.
#[test]
fn batches_are_no_part_of_the_next_request() {
    let members = || vec![drive(40, true), drive(40, true)];
    let stripe = Spread::new(Stripe::new(Sectors(8)), members()).unwrap();
    let mirror = Mirror::new(MirrorConfig::default(), members()).unwrap();
    let arrays: [Box<dyn Living>; 2] = [Box::new(stripe), Box::new(mirror)];
    for mut array in arrays {
        let write = Request::write(range(0, 64), vec![7; 64 * 512]);
        assert!(ended(&mut *array, write).status.is_done());
        let now = array.now();
        let _ = array.submit(now, Request::write(range(64, 64), vec![8; 64 * 512]));
        assert_eq!(carry_out(&mut *array, now, &Batch::new(Work::Read, &[range(0, 64)])).stop, Stop::Done);
        for drive in all_of::<Drive>(&*array) {
            assert!(drive.flash().is_none_or(|flash| flash.ops().is_empty()));
        }
    }
}

/// Batches take no time. What a drive with requests outstanding erased in them is programmed again in time.
#[test]
fn a_drive_ages_beside_requests_that_are_outstanding() {
    let mut drive = drive(40, true);
    let all = range(0, drive.capacity().0);
    let write_all = |drive: &mut dyn Living| assert!(ended(drive, Request::write_without_bytes(all)).status.is_done());
    for _ in 0..4 {
        write_all(&mut *drive);
        let now = drive.now();
        let _ = drive.submit(now, Request::write_without_bytes(range(0, 8)));
        for _ in 0..3 {
            assert_eq!(carry_out(&mut *drive, now, &Batch::new(Work::Write, &[all])).stop, Stop::Done);
        }
    }
    write_all(&mut *drive);
}

#[test]
fn what_is_only_counted_is_counted_once() {
    let drives = || vec![drive(40, false), drive(40, false)];
    let mut array = Spread::new(Stripe::new(Sectors(8)), drives()).unwrap();
    let tally = Tally { units_in_part: 3, bytes_around: 512, units_unmapped: 0 };
    let now = array.now();
    let took = array.batch(now, &Batch::new(Work::Write, &[range(0, 32)]).with(tally));
    assert_eq!((took.done, took.stop), (Sectors(32), Stop::Done));
    let counters = array.counters();
    assert_eq!((counters.host_units_written, counters.bytes_written_around), (4, 512));
}
