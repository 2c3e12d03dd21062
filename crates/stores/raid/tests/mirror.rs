//! Mirrors are living devices, and lose nothing of which a copy is left.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use std::any::Any;

use common::{Pausing, drive, ended, members, range};
use wane_blockdev::{
    Batch, BlockDevice, Blocking, Delay, Delays, Effect, Fault, Kind, Living, NoticeKind, Passing, Persistence, Ram,
    Request, RequestId, Status, Stop, Work, all_of, drain, each_of,
};
use wane_raid::{LayoutError, MemberState, Mirror, MirrorConfig, ReadPolicy, Spread, Stripe};
use wane_sim::Stream;
use wane_ssd::Drive;
use wane_testkit::crash::{DeviceTally, Devices, Disturb};
use wane_testkit::{Volatile, conformance};
use wane_units::{EndOfLife, Fate, Nanos, Sectors, SimTime};

fn mirror(members: Vec<Box<dyn Living>>) -> Mirror {
    Mirror::new(MirrorConfig::default(), members).unwrap()
}

#[test]
fn mirrors_are_living_devices() {
    conformance::living_device("a mirror", &|| Box::new(mirror(members([1024, 1000]))), true, 64);
    let by_health = MirrorConfig { reads: ReadPolicy::Healthiest, ..MirrorConfig::default() };
    let three = || -> Box<dyn Living> { Box::new(Mirror::new(by_health.clone(), members([300, 1024, 1000])).unwrap()) };
    conformance::living_device("two copies on three members", &three, true, 64);
    let config = MirrorConfig { copies: 3, ..MirrorConfig::default() };
    let copies =
        || -> Box<dyn Living> { Box::new(Mirror::new(config.clone(), members([1024, 300, 600, 800])).unwrap()) };
    conformance::living_device("three copies on four members", &copies, true, 32);
}

#[test]
fn mirrors_of_drives_are_living_devices() {
    for is_timed in [false, true] {
        let both = || -> Box<dyn Living> { Box::new(mirror(vec![drive(40, is_timed), drive(56, is_timed)])) };
        conformance::living_device("a mirror of drives", &both, !is_timed, 8);
        let stripe =
            || -> Box<dyn Living> { Box::new(Spread::new(Stripe::new(Sectors(8)), vec![both(), both()]).unwrap()) };
        conformance::living_device("a stripe of mirrors", &stripe, !is_timed, 4);
    }
}

/// Members in memory with volatile caches.
fn volatile(sizes: &[u64]) -> Vec<Box<dyn Living>> {
    let member = |(number, size): (usize, &u64)| -> Box<dyn Living> {
        Box::new(Delay::new(Volatile::memory(Sectors(*size)), Delays::all(Nanos(1_000 * number as u64))))
    };
    sizes.iter().enumerate().map(member).collect()
}

fn as_mirror(device: &mut dyn Living) -> &mut Mirror {
    let any: &mut dyn Any = device;
    any.downcast_mut().unwrap()
}

/// What is explored of mirrors: members come and go, one at a time.
fn explored<'a>(make: &'a dyn Fn(&mut Stream) -> Box<dyn Living>) -> Devices<'a> {
    Devices {
        make,
        disturb: &|device, at, stream| {
            let mirror = as_mirror(device);
            let count = mirror.states().count();
            let out = mirror.states().position(|state| state != MemberState::Online);
            match (out, stream.below(3)) {
                (Some(member), 0) => mirror.put_back(at, member).unwrap(),
                (Some(member), 1) => _ = mirror.replace(at, member, volatile(&[112; 3]).remove(2)).unwrap(),
                // The other copies of what it lacks must be there.
                (None, 0) if mirror.sectors_to_copy() == Sectors::ZERO => {
                    let member = stream.below(count as u64) as usize;
                    mirror.take_out(at, member, &mut || Fate::Undone);
                }
                (None, 1) => mirror.scrub(at),
                _ => {}
            }
        },
        on_return: &|device, at, _| {
            let mirror = as_mirror(device);
            let out = mirror.states().position(|state| state == MemberState::Absent);
            if let Some(member) = out {
                mirror.put_back(at, member).unwrap();
            }
        },
        recovery: Nanos(50_000_000),
        ..Devices::new(make)
    }
}

#[test]
fn power_cuts_leave_mirrors_with_what_was_durable_and_equal_copies() {
    let config = MirrorConfig { rebuild_chunk: Sectors(16), rebuild_rate: 10_000_000, ..MirrorConfig::default() };
    let make = move |stream: &mut Stream| -> Box<dyn Living> {
        let sizes: &[u64] = if stream.below(2) == 0 { &[112, 96] } else { &[72, 56, 112] };
        Box::new(Mirror::new(config.clone(), volatile(sizes)).unwrap())
    };
    let mut tally = DeviceTally::default();
    for seed in 0..10 {
        match explored(&make).explore(seed) {
            Ok(found) => tally += found,
            Err(what) => panic!("{what}"),
        }
    }
    assert!(tally.cuts > 3_000 && tally.complete > 50 && tally.twice > 500, "{tally:?}");
}

/// A mirror of which one member fails to read, to write and to flush, by turns; the others do not.
fn erring(errs: usize, stream: &mut Stream) -> Box<dyn Living> {
    let config = MirrorConfig { rebuild_chunk: Sectors(16), rebuild_rate: 10_000_000, ..MirrorConfig::default() };
    let member = |(number, size): (usize, u64)| -> Box<dyn Living> {
        let delays = Delays::all(Nanos(if stream.below(2) == 0 { 0 } else { 2_000 * (1 + number as u64) }));
        let mut member = Fault::new(Delay::new(Volatile::memory(Sectors(size)), delays));
        for number in 0..if number == errs { 60 } else { 0 } {
            let first = Sectors(stream.below(3) * 4);
            let effect = if stream.below(3) == 0 { Effect::NoSpace { first } } else { Effect::MediumError { first } };
            member = member.with_nth(number * 5 + stream.below(5), effect);
            if number % 8 == 0 {
                member.make_bad(range(stream.below(size / 8) * 8, 8), Persistence::UntilWritten);
            }
        }
        Box::new(member)
    };
    Box::new(Mirror::new(config, [104, 72, 112].into_iter().enumerate().map(member).collect()).unwrap())
}

#[test]
fn a_member_that_errs_costs_nothing() {
    let scrub: Disturb<'_> = &|device, at, _| as_mirror(device).scrub(at);
    let mut tally = DeviceTally::default();
    for seed in 100..112 {
        // Where copies may differ, the first is it. If that cannot be read after a power cut, nobody knows whether the other one is as it was.
        let errs = seed as usize % 3;
        let (steps, cut_every) = if errs == 2 { (60, 1) } else { (1_000, 0) };
        let make = move |stream: &mut Stream| erring(errs, stream);
        let devices = Devices { disturb: scrub, on_return: scrub, steps, cut_every, ..explored(&make) };
        match devices.explore(seed) {
            Ok(found) => tally += found,
            Err(what) => panic!("{what}"),
        }
    }
    assert!(tally.cuts > 1_000, "{tally:?}");
}

fn notices(mirror: &mut Mirror) -> Vec<NoticeKind> {
    let mut out = Vec::new();
    mirror.notices(&mut out);
    out.into_iter().map(|notice| notice.kind).collect()
}

fn bytes(value: u8, sectors: u64) -> Vec<u8> {
    vec![value; (sectors * 512) as usize]
}

/// Lets the mirror do what it does for itself.
fn let_pass(mirror: &mut Mirror, time: Nanos) {
    let until = mirror.now().saturating_add(time);
    mirror.complete(until, &mut Vec::new());
}

/// Reads a range so often at once that each member is asked, and returns the one answer.
fn read_all(mirror: &mut Mirror, start: u64, count: u64) -> Result<Vec<u8>, Status> {
    let now = mirror.now();
    let ids: Vec<RequestId> = (0..4).map(|_| mirror.submit(now, Request::read(range(start, count)))).collect();
    let mut out = Vec::new();
    drain(mirror, now, &mut out);
    let mut answers = out.into_iter().filter(|end| ids.contains(&end.id));
    let first = answers.next().unwrap();
    assert!(answers.all(|other| (&other.bytes, &other.status) == (&first.bytes, &first.status)), "copies differ");
    if first.status.is_done() { Ok(first.bytes.unwrap()) } else { Err(first.status) }
}

#[test]
fn a_member_that_returns_late_gets_what_it_missed() {
    let mut mirror = mirror(members([64, 64]));
    assert!(ended(&mut mirror, Request::write(range(0, 64), bytes(1, 64))).status.is_done());
    let now = mirror.now();
    mirror.take_out(now, 1, &mut || Fate::Done);
    assert_eq!(notices(&mut mirror), [NoticeKind::MemberLost(1), NoticeKind::Degraded]);
    assert!(ended(&mut mirror, Request::write(range(8, 16), bytes(2, 16))).status.is_done());
    // Of what was not flushed nobody knows whether it has that.
    assert_eq!(mirror.sectors_to_copy(), Sectors(64));
    let now = mirror.now();
    mirror.put_back(now, 1).unwrap();
    assert_eq!(read_all(&mut mirror, 8, 16), Ok(bytes(2, 16)));
    let_pass(&mut mirror, Nanos(1_000_000_000));
    assert_eq!((mirror.sectors_to_copy(), notices(&mut mirror)), (Sectors(0), vec![NoticeKind::Rebuilt]));
    let now = mirror.now();
    mirror.take_out(now, 0, &mut || Fate::Done);
    assert_eq!(read_all(&mut mirror, 0, 32), Ok([bytes(1, 8), bytes(2, 16), bytes(1, 8)].concat()));
}

/// What was flushed before a member left need not be copied.
#[test]
fn a_member_that_returns_late_gets_no_more_than_it_missed() {
    let mut mirror = mirror(members([64, 64]));
    assert!(ended(&mut mirror, Request::write(range(0, 64), bytes(1, 64))).status.is_done());
    assert!(ended(&mut mirror, Request::flush()).status.is_done());
    let now = mirror.now();
    mirror.take_out(now, 1, &mut || Fate::Done);
    // A part of a unit counts as the unit.
    assert!(ended(&mut mirror, Request::write(range(9, 2), bytes(2, 2))).status.is_done());
    let now = mirror.now();
    mirror.put_back(now, 1).unwrap();
    assert_eq!(mirror.sectors_to_copy(), Sectors(8));
    assert_eq!(read_all(&mut mirror, 8, 4), Ok([bytes(1, 1), bytes(2, 2), bytes(1, 1)].concat()));
    let_pass(&mut mirror, Nanos(1_000_000_000));
    assert_eq!((mirror.sectors_to_copy(), mirror.repairs().copied), (Sectors(0), Sectors(8)));
}

/// Overwrites a mirror in batches until it stops.
fn wear(mirror: &mut Mirror, units: u64, batches: u64) -> (Stop, u64) {
    let extents: Vec<_> = (0..units).map(|unit| range(unit * 5 % units * 8, 8)).collect();
    for number in 0..batches {
        let now = mirror.now();
        let took = mirror.batch(now, &Batch::new(Work::Rewrite, &extents));
        let mut stop = took.stop;
        while stop == Stop::Paused {
            stop = mirror.go_on(now, stop);
        }
        if stop != Stop::Done {
            assert!(took.done < Sectors(units * 8), "{took:?}");
            return (stop, number);
        }
        mirror.work(now);
    }
    (Stop::Done, batches)
}

#[test]
fn a_mirror_outlives_its_first_member_and_ends_with_the_last() {
    let mut mirror = mirror(vec![drive(40, false), drive(80, false)]);
    let units = mirror.capacity().0 / 8;
    let contents = bytes(7, 64);
    assert!(ended(&mut mirror, Request::write(range(0, 64), contents.clone())).status.is_done());
    let mut told = Vec::new();
    let mut lived = 0;
    while mirror.states().all(|state| state == MemberState::Online) {
        assert_eq!(wear(&mut mirror, units, 1).0, Stop::Done);
        lived += 1;
        assert!(lived < 20_000, "a member dies at some time");
        told.extend(notices(&mut mirror));
    }
    assert_eq!(told, [NoticeKind::MemberLost(0), NoticeKind::Degraded]);
    assert_eq!(mirror.states().collect::<Vec<_>>(), [MemberState::ReadOnly, MemberState::Online]);
    assert_eq!(read_all(&mut mirror, 0, 64), Ok(contents.clone()));
    let (stop, more) = wear(&mut mirror, units, 100_000);
    assert!(matches!(stop, Stop::Dead(EndOfLife::SpareExhausted)) && more > lived / 2, "{stop:?}: {lived}, {more}");
    assert_eq!(notices(&mut mirror), [NoticeKind::MemberLost(1)]);
    assert_eq!(read_all(&mut mirror, 0, 64), Ok(contents));
    let refused = ended(&mut mirror, Request::write(range(0, 8), bytes(1, 8))).status;
    assert_eq!(refused, Status::ReadOnly(vec![range(0, 8)]));
    assert!(matches!(wear(&mut mirror, units, 1).0, Stop::Dead(_)));
}

#[test]
fn a_new_member_gets_all_that_the_others_have() {
    let mut mirror = mirror(vec![drive(40, false), drive(40, false)]);
    let units = mirror.capacity().0 / 8;
    assert_eq!(wear(&mut mirror, units / 2, 20).0, Stop::Done);
    assert!(ended(&mut mirror, Request::write(range(16, 40), bytes(3, 40))).status.is_done());
    let now = mirror.now();
    let small = Box::new(Ram::new(Sectors(80)));
    let why = mirror.replace(now, 0, small).err().unwrap();
    assert_eq!(why, LayoutError::Smaller(80, mirror.capacity().0));
    let old = mirror.replace(now, 0, drive(48, false)).unwrap();
    assert_eq!(old.capacity(), mirror.capacity());
    assert_eq!(mirror.sectors_to_copy(), mirror.capacity());
    assert_eq!(notices(&mut mirror), [NoticeKind::MemberLost(0), NoticeKind::Degraded]);
    // Time stands still for these drives: their host gives the array its turns.
    let mut turns = 0;
    while mirror.sectors_to_copy() > Sectors(0) {
        mirror.work(now);
        turns += 1;
        assert!(turns < 100, "it is copied at some time");
    }
    (0..3).for_each(|_| _ = mirror.work(now));
    assert_eq!(notices(&mut mirror), [NoticeKind::Rebuilt]);
    // What holds nothing is not written on the new one, and does not count.
    assert_eq!(mirror.repairs().copied, Sectors(units / 2 * 8));
    let mut written = Vec::new();
    mirror.members(&mut |member| written.push(member.counters().host_units_written));
    assert!(written[0] < units * 3 / 4, "{written:?} of {units}");
    mirror.take_out(now, 1, &mut || Fate::Done);
    assert_eq!(read_all(&mut mirror, 16, 40), Ok(bytes(3, 40)));
}

/// Each member pauses, and another one ends, in the midst of a batch: no unit is written twice, and none is left out.
#[test]
fn what_members_owe_is_done_once() {
    let pausing = |every: u64, dies_at: u64| -> Box<dyn Living> { Box::new(Pausing::new(every, dies_at)) };
    let written = |mirror: &Mirror| {
        let mut all = Vec::new();
        mirror.members(&mut |member| {
            all.push(wane_blockdev::find::<Pausing>(member).unwrap().written.clone());
        });
        all
    };
    let extents: Vec<_> = (0..50).map(|unit| range(unit * 7 % 100 * 8, 8)).collect();
    let want: Vec<u64> = extents.iter().map(|extent| extent.start.0 / 8).collect();
    for every in [1, 3, 50, 1_000] {
        let mut mirror = mirror(vec![pausing(every, u64::MAX), pausing(7, u64::MAX)]);
        let mut stop = mirror.batch(SimTime(0), &Batch::new(Work::Write, &extents)).stop;
        while stop == Stop::Paused {
            stop = mirror.go_on(SimTime(0), stop);
        }
        assert_eq!((stop, written(&mirror)), (Stop::Done, vec![want.clone(), want.clone()]));
        // One of them ends: it has what it took, and is stale in the rest.
        let mut mirror = Mirror::new(MirrorConfig::default(), vec![pausing(every, 20), pausing(7, u64::MAX)]).unwrap();
        let mut stop = mirror.batch(SimTime(0), &Batch::new(Work::Write, &extents)).stop;
        while stop == Stop::Paused {
            stop = mirror.go_on(SimTime(0), stop);
        }
        assert_eq!((stop, written(&mirror)), (Stop::Done, vec![want[..20].to_vec(), want.clone()]));
        assert_eq!(mirror.sectors_to_copy(), Sectors(30 * 8));
        // Both do: what neither took is as it was.
        let mut mirror = Mirror::new(MirrorConfig::default(), vec![pausing(1_000, 20), pausing(1_000, 35)]).unwrap();
        let took = mirror.batch(SimTime(0), &Batch::new(Work::Write, &extents));
        assert_eq!((took.done, took.stop), (Sectors(35 * 8), Stop::Dead(EndOfLife::NoVictim)));
        assert_eq!(written(&mirror), [want[..20].to_vec(), want[..35].to_vec()]);
        assert_eq!(mirror.sectors_to_copy(), Sectors(15 * 8));
        // What nobody took does not count as written.
        assert_eq!(mirror.counters().host_units_written, 35);
    }
}

/// Where all members of a run take no writes, a batch ends; the others go on.
#[test]
fn a_batch_ends_before_what_no_member_takes() {
    let pausing = |dies_at: u64| -> Box<dyn Living> { Box::new(Pausing::new(1_000, dies_at)) };
    // Runs of 50 units on the members 0 and 1, 0 and 2, and 1 and 2.
    let mut mirror = Mirror::new(MirrorConfig::default(), vec![pausing(0), pausing(0), pausing(u64::MAX)]).unwrap();
    assert_eq!(mirror.capacity(), Sectors(150 * 8));
    let all: Vec<_> = [140, 141, 3, 142].map(|unit| range(unit * 8, 8)).to_vec();
    let took = mirror.batch(SimTime(0), &Batch::new(Work::Write, &all));
    assert_eq!((took.done, matches!(took.stop, Stop::Dead(_))), (Sectors(16), true), "{took:?}");
    // The members are known to be worn now; what the third one has goes on.
    for (units, done) in [(&[140, 90, 60][..], 24), (&[60, 3][..], 8), (&[10][..], 0)] {
        let extents: Vec<_> = units.iter().map(|unit| range(unit * 8, 8)).collect();
        let took = mirror.batch(SimTime(0), &Batch::new(Work::Write, &extents));
        let is_dead = matches!(took.stop, Stop::Dead(_));
        assert_eq!((took.done, is_dead), (Sectors(done), done < 8 * units.len() as u64), "{took:?}");
    }
    let refused = ended(&mut mirror, Request::write(range(40, 16), bytes(1, 16))).status;
    assert_eq!(refused, Status::ReadOnly(vec![range(40, 16)]));
    assert!(ended(&mut mirror, Request::write(range(140 * 8, 8), bytes(1, 8))).status.is_done());
}

#[test]
fn the_healthiest_member_is_read() {
    let config = MirrorConfig { reads: ReadPolicy::Healthiest, ..MirrorConfig::default() };
    // Of two drives with the same writes the smaller one wears faster.
    let mut mirror = Mirror::new(config, vec![drive(40, false), drive(80, false)]).unwrap();
    let units = mirror.capacity().0 / 8;
    assert_eq!(wear(&mut mirror, units, 30).0, Stop::Done);
    let read = |mirror: &Mirror| {
        let mut all = Vec::new();
        mirror.members(&mut |member| all.push(member.counters().host_units_read));
        all
    };
    let before = read(&mirror);
    for unit in 0..units {
        assert!(ended(&mut mirror, Request::read(range(unit * 8, 8))).status.is_done());
    }
    let extents: Vec<_> = (0..units).map(|unit| range(unit * 8, 8)).collect();
    let now = mirror.now();
    assert_eq!(mirror.batch(now, &Batch::new(Work::Read, &extents)).stop, Stop::Done);
    let after = read(&mirror);
    assert_eq!((after[0] - before[0], after[1] - before[1]), (0, 2 * units));
}

/// Whether a write fails on a member is known only when it ends. A read that came meanwhile waits for that.
#[test]
fn a_read_does_not_believe_a_member_on_which_a_write_is_failing() {
    let slow = |ns| Delay::new(Ram::new(Sectors(64)), Delays::all(Nanos(ns)));
    let failing = Fault::new(slow(1_000)).with_nth_of(Kind::Write, 1, Effect::MediumError { first: Sectors(0) });
    let mut mirror = mirror(vec![Box::new(failing), Box::new(slow(2_000))]);
    assert!(ended(&mut mirror, Request::write(range(0, 8), bytes(1, 8))).status.is_done());
    let now = mirror.now();
    let write = mirror.submit(now, Request::write(range(0, 8), bytes(2, 8)));
    let reads: Vec<RequestId> = (0..3).map(|_| mirror.submit(now, Request::read(range(0, 8)))).collect();
    let mut out = Vec::new();
    drain(&mut mirror, now, &mut out);
    for end in &out {
        assert!(end.status.is_done(), "{end:?}");
        assert!(end.id == write || end.bytes == Some(bytes(2, 8)), "{end:?}");
    }
    assert_eq!(out.len(), 1 + reads.len());
}

#[test]
fn what_a_member_lost_is_written_again_once() {
    let bad = Fault::new(Ram::new(Sectors(64))).with_bad(range(0, 16), Persistence::UntilWritten);
    let mut mirror = mirror(vec![Box::new(bad), Box::new(Ram::new(Sectors(64)))]);
    for _ in 0..3 {
        assert_eq!(read_all(&mut mirror, 0, 16), Ok(bytes(0, 16)));
    }
    let repaired = mirror.repairs().repaired;
    let now = mirror.now();
    mirror.take_out(now, 1, &mut || Fate::Done);
    assert_eq!(read_all(&mut mirror, 0, 16), Ok(bytes(0, 16)));
    assert_eq!((repaired > Sectors(0), mirror.repairs().repaired), (true, repaired));
}

/// What an operator should know before he pulls a member.
#[test]
fn the_only_copies_on_a_member_are_counted() {
    let mut mirror = mirror(members([800, 800]));
    ended(&mut mirror, Request::write(range(0, 160), bytes(1, 160)));
    ended(&mut mirror, Request::flush());
    assert_eq!((mirror.only_on(0), mirror.only_on(1)), (Sectors(0), Sectors(0)));
    let now = mirror.now();
    mirror.take_out(now, 1, &mut || Fate::Done);
    assert_eq!((mirror.only_on(0), mirror.only_on(1)), (Sectors(800), Sectors(0)));
    ended(&mut mirror, Request::write(range(80, 8), bytes(2, 8)));
    let now = mirror.now();
    mirror.put_back(now, 1).unwrap();
    // It is there again, and lacks what was written meanwhile.
    assert_eq!((mirror.only_on(0), mirror.only_on(1)), (Sectors(8), Sectors(0)));
    let_pass(&mut mirror, Nanos(1_000_000_000));
    assert_eq!((mirror.only_on(0), mirror.only_on(1)), (Sectors(0), Sectors(0)));
    // With a third copy nobody has the only one.
    let three = MirrorConfig { copies: 3, ..MirrorConfig::default() };
    let mut mirror = Mirror::new(three, members([800, 800, 800])).unwrap();
    mirror.take_out(SimTime(0), 2, &mut || Fate::Done);
    ended(&mut mirror, Request::write(range(0, 8), bytes(2, 8)));
    let now = mirror.now();
    mirror.put_back(now, 2).unwrap();
    assert_eq!([0, 1, 2].map(|member| mirror.only_on(member)), [Sectors(0); 3]);
}

/// How drives below are set is how the array is.
#[test]
fn an_array_follows_settings_of_its_drives() {
    let drives = || vec![drive(40, true), drive(56, true)];
    let mirrored: Box<dyn Living> = Box::new(mirror(drives()));
    let striped: Box<dyn Living> = Box::new(Spread::new(Stripe::new(Sectors(8)), drives()).unwrap());
    for mut array in [mirrored, striped] {
        let before = array.features();
        each_of(array.as_mut(), &mut |drive: &mut Drive| drive.format(Sectors(1)));
        assert_eq!((before.sector, array.features().sector), (Sectors(8), Sectors(1)));
        // A drive whose flash came to rest is ahead, and the array with it.
        array.submit(SimTime(5), Request::write(range(3, 2), bytes(7, 2)));
        each_of(array.as_mut(), &mut |drive: &mut Drive| drive.come_to_rest());
        let ahead = all_of::<Drive>(array.as_ref()).iter().map(|drive| drive.now()).max();
        assert!(Some(array.now()) >= ahead && array.now() > SimTime(5), "{:?} and {ahead:?}", array.now());
        let mut copy = array.another();
        let now = copy.now();
        copy.submit(now, Request::read(range(3, 2)));
        let mut out = Vec::new();
        drain(&mut copy, now, &mut out);
        assert_eq!(out.last().and_then(|last| last.bytes.clone()), Some(bytes(7, 2)));
    }
}

/// A server that died leaves answers that nobody takes: what comes after them is waited for all the same.
#[test]
fn answers_that_nobody_took_are_no_reason_to_wait_in_the_past() {
    let drives = || vec![drive(40, true), drive(56, true)];
    let mirrored: Box<dyn Living> = Box::new(mirror(drives()));
    let striped: Box<dyn Living> = Box::new(Spread::new(Stripe::new(Sectors(8)), drives()).unwrap());
    for mut array in [mirrored, striped] {
        array.submit(SimTime(0), Request::write(range(0, 8), bytes(7, 8)));
        let end = array.pass(SimTime(0), Passing::Idle(Nanos(1_000_000_000)));
        let mut blocking = Blocking::starting_at(array.as_mut(), end);
        blocking.flush().unwrap();
        assert_eq!(blocking.take_completions().len(), 1);
    }
}

/// What members that were replaced did for the array is not undone.
#[test]
fn counters_of_an_array_never_fall() {
    let mut mirror = mirror(vec![drive(40, false), drive(56, false)]);
    wear(&mut mirror, 64, 20);
    let before: Vec<u64> = mirror.counters().values().collect();
    let now = mirror.now();
    mirror.replace(now, 0, drive(40, false)).unwrap();
    let after: Vec<u64> = mirror.counters().values().collect();
    assert!(before.iter().zip(&after).all(|(before, after)| after >= before), "{before:?} {after:?}");
}

/// Aging writes what is there again. A new member has none of it.
#[test]
fn what_is_written_again_is_no_copy_on_a_member_that_lacks_it() {
    let slow = MirrorConfig { rebuild_chunk: Sectors(8), rebuild_rate: 1, ..MirrorConfig::default() };
    let mut mirror = Mirror::new(slow, members([64, 64])).unwrap();
    assert!(ended(&mut mirror, Request::write(range(0, 64), bytes(7, 64))).status.is_done());
    let now = mirror.now();
    mirror.replace(now, 1, members([64]).remove(0)).unwrap();
    for work in [Work::Rewrite, Work::Trim] {
        let now = mirror.now();
        let took = mirror.batch(now, &Batch::new(work, &[range(48, 8)]));
        assert_eq!((took.done, took.stop), (Sectors(8), Stop::Done));
        // The first 8 sectors are copied by now. What holds nothing need not be.
        assert_eq!(mirror.sectors_to_copy(), Sectors(if work == Work::Rewrite { 56 } else { 48 }));
    }
    assert_eq!(read_all(&mut mirror, 40, 8), Ok(bytes(7, 8)));
}

/// Where the only good copy of a sector lies on the other member, or the first one lost it, a look takes the other.
#[test]
fn a_look_takes_the_first_copy_that_has_it() {
    let bad = |at: u64| -> Box<dyn Living> {
        Box::new(Fault::new(Ram::new(Sectors(64))).with_bad(range(at, 2), Persistence::Forever))
    };
    for copies in [mirror(vec![bad(9), bad(10)]), mirror(vec![bad(10), bad(9)])] {
        let mut array: Box<dyn Living> = Box::new(
            Spread::new(Stripe::new(Sectors(8)), vec![Box::new(copies), Box::new(Ram::new(Sectors(64)))]).unwrap(),
        );
        let at = array.now();
        array.submit(at, Request::write(range(0, 8), vec![5; 8 * 512]));
        array.submit(at, Request::write(range(8, 8), vec![6; 8 * 512]));
        drain(&mut array, at, &mut Vec::new());
        let mut bytes = vec![1; 24 * 512];
        // Sector 18 of the stripe is sector 10 of the mirror, which both lost.
        assert_eq!(array.peek(range(0, 24), &mut bytes), Some(vec![range(18, 1)]));
        assert_eq!([0, 8, 16, 18].map(|sector| bytes[sector * 512]), [5, 6, 0, 0]);
    }
}
