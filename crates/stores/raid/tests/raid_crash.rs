//! Power cuts and lost members of parity arrays: what was durable is there.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use std::any::Any;

use common::{All, raid_config};
use wane_blockdev::{BlockDevice as _, Delay, Delays, Effect, Fault, Living, Persistence};
use wane_raid::code::{COPIES_2, Code, PQ, XOR};
use wane_raid::{DIRECT, Following, Journal, MD, MemberState, Raid, RaidConfig, Rebalance, STRAID, Scrub, UNEQUAL};
use wane_sim::Stream;
use wane_testkit::Volatile;
use wane_testkit::crash::{DeviceTally, Devices, Disturb};
use wane_units::{Fate, Nanos, Sectors};

/// Members in memory with volatile caches.
fn volatile(count: usize) -> Vec<Box<dyn Living>> {
    let member = |number: usize| -> Box<dyn Living> {
        Box::new(Delay::new(Volatile::memory(Sectors(1200)), Delays::all(Nanos(1_000 * number as u64))))
    };
    (0..count).map(member).collect()
}

fn as_raid(device: &mut dyn Living) -> &mut Raid {
    let any: &mut dyn Any = device;
    any.downcast_mut().unwrap()
}

/// An array that has come to rest after its first checkpoint.
fn array(config: RaidConfig) -> Box<dyn Living> {
    let members = volatile(config.width);
    let mut array: Box<dyn Living> = Box::new(Raid::new(config, members).unwrap());
    let _ = common::ended(&mut *array, wane_blockdev::Request::flush());
    array
}

/// Takes out as many members as the code tolerates, at most.
fn lose_some(array: &mut Raid, at: wane_units::SimTime, stream: &mut Stream) {
    let width = array.config().width;
    for _ in 0..array.config().code.tolerates() {
        let member = stream.below(width as u64) as usize;
        if (0..width).all(|member| array.state(member) == MemberState::Online) || array.config().code.tolerates() > 1 {
            array.take_out(at, member, &mut || Fate::Undone);
        }
    }
}

/// What is explored: members are lost while nothing is missing, come back, and are lost while the power is off.
fn explored<'a>(make: &'a dyn Fn(&mut Stream) -> Box<dyn Living>) -> Devices<'a> {
    Devices {
        make,
        disturb: &|device, at, stream| {
            let array = as_raid(device);
            let width = array.config().width;
            let out = (0..width).find(|member| array.state(*member) == MemberState::Absent);
            match (out, stream.below(4)) {
                (Some(member), 0 | 1) => array.put_back(at, member).unwrap(),
                (Some(member), 2) => _ = array.replace(at, member, volatile(1).remove(0)).unwrap(),
                // Without a journal a member that is lost takes with it what was changed and not flushed.
                (None, 0) if !array.is_at_work() && array.config().journal != Journal::None => {
                    lose_some(array, at, stream);
                }
                (None, 1) => array.scrub(at, Scrub::Repair),
                _ => {}
            }
        },
        on_return: &|device, at, stream| {
            let array = as_raid(device);
            let is_whole = (0..array.config().width).all(|member| array.state(member) == MemberState::Online);
            if array.config().journal != Journal::None && is_whole && array.sectors_to_rebuild() == Sectors::ZERO {
                lose_some(array, at, stream);
            }
        },
        recovery: Nanos(50_000_000),
        ..Devices::new(make)
    }
}

/// The journal that writes least of those that lose nothing.
fn scarcest(code: &dyn Code) -> Journal {
    if code.name() == XOR.name() { Journal::Ppl } else { Journal::Full }
}

fn codes() -> [(&'static dyn Code, usize); 4] {
    [(&XOR, 3), (&XOR, 4), (&PQ, 4), (&COPIES_2, 4)]
}

#[test]
fn power_cuts_leave_what_was_durable_whoever_is_lost_with_it() {
    let make = |stream: &mut Stream| -> Box<dyn Living> {
        let (code, width) = codes()[stream.below(4) as usize];
        let path = [&DIRECT as &'static dyn wane_raid::WritePath, &MD, &STRAID][stream.below(3) as usize];
        let journal = [scarcest(code), Journal::Full, Journal::None][stream.below(3) as usize];
        array(RaidConfig { path, journal, ..raid_config(code, width, &All) })
    };
    let mut tally = DeviceTally::default();
    // The last: a member that had been replaced when the power went has no part in the replay of partial parities.
    for seed in (0..3).chain([5095]) {
        match explored(&make).explore(seed) {
            Ok(found) => tally += found,
            Err(what) => panic!("{what}"),
        }
    }
    assert!(tally.cuts > 500 && tally.twice > 100, "{tally:?}");
}

/// Members are given other numbers of slots at random, so that tiles move, while members are lost and the power goes.
#[test]
fn tiles_that_move_lose_nothing() {
    let make = |stream: &mut Stream| -> Box<dyn Living> {
        let (code, width): (&'static dyn Code, usize) = [(&XOR as _, 3), (&PQ as _, 4)][stream.below(2) as usize];
        let config = RaidConfig {
            following: Following::Members,
            rebuild_rate: 100_000_000,
            journal: [scarcest(code), Journal::Full][stream.below(2) as usize],
            ..raid_config(code, width, &UNEQUAL)
        };
        let mut array: Box<dyn Living> = Box::new(Raid::new(config, volatile(5)).unwrap());
        let _ = common::ended(&mut *array, wane_blockdev::Request::flush());
        array
    };
    let (moved, cuts) = (std::cell::Cell::new(0), std::cell::Cell::new(DeviceTally::default()));
    let disturb = |device: &mut dyn Living, at: wane_units::SimTime, stream: &mut Stream| {
        let array = as_raid(device);
        let members = array.slots().count();
        let out = (0..members).find(|member| array.state(*member) == MemberState::Absent);
        moved.set(moved.get().max(array.sectors_moved().0));
        match (out, stream.below(3)) {
            (Some(member), 0 | 1) => array.put_back(at, member).unwrap(),
            (None, 0) if !array.is_at_work() => {
                array.take_out(at, stream.below(members as u64) as usize, &mut || Fate::Undone);
            }
            (None, 1 | 2) if !array.is_moving() => {
                let slots: Vec<u32> = (0..members)
                    .map(|member| if stream.below(3) == 0 { 0 } else { array.slots_of_device(member).min(6) })
                    .collect();
                let Ok(told) = array.retarget(at, &slots, Rebalance::ForCapacity) else { return };
                if told.capacity < array.capacity() {
                    assert!(array.set_capacity(at, told.capacity.max(Sectors(96))).is_done());
                }
            }
            _ => {}
        }
    };
    for seed in 0..3 {
        let devices = Devices { disturb: &disturb, on_return: &|_, _, _| {}, steps: 60, ..explored(&make) };
        let mut tally = cuts.get();
        tally += devices.explore(seed).unwrap_or_else(|what| panic!("{what}"));
        cuts.set(tally);
    }
    assert!(moved.get() > 0 && cuts.get().cuts > 500, "{} {:?}", moved.get(), cuts.get());
}

/// An array of which one member fails to read, to write and to flush, by turns; the others do not.
fn erring(errs: usize, stream: &mut Stream) -> Box<dyn Living> {
    let (code, width) = codes()[stream.below(4) as usize];
    let member = |number: usize| -> Box<dyn Living> {
        let delays = Delays::all(Nanos(if stream.below(2) == 0 { 0 } else { 2_000 * (1 + number as u64) }));
        let mut member = Fault::new(Delay::new(Volatile::memory(Sectors(1200)), delays));
        // The first requests write what the array knows of itself, which nobody else could know.
        for turn in 4..if number == errs { 60 } else { 0 } {
            let first = Sectors(stream.below(3) * 4);
            let effect = if stream.below(3) == 0 { Effect::NoSpace { first } } else { Effect::MediumError { first } };
            member = member.with_nth(turn * 5 + stream.below(5), effect);
            if turn % 8 == 0 {
                member.make_bad(common::range(stream.below(150) * 8, 8), Persistence::UntilWritten);
            }
        }
        Box::new(member)
    };
    let members = (0..width).map(member).collect();
    Box::new(Raid::new(raid_config(code, width, &All), members).unwrap())
}

#[test]
fn a_member_of_a_parity_array_that_errs_costs_nothing() {
    let scrub: Disturb<'_> = &|device, at, _| as_raid(device).scrub(at, Scrub::Repair);
    for seed in 0..12 {
        let errs = seed as usize % 3;
        let make = move |stream: &mut Stream| erring(errs, stream);
        let devices = Devices { disturb: scrub, on_return: scrub, steps: 600, cut_every: 0, ..explored(&make) };
        devices.explore(seed).unwrap_or_else(|what| panic!("{what}"));
    }
}
