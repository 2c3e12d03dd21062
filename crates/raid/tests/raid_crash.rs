//! Power cuts and lost members of parity arrays: what was durable is there.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use std::any::Any;

use common::{All, raid_config};
use wane_blockdev::{Delay, Delays, Living};
use wane_raid::code::{COPIES_2, Code, PQ, XOR};
use wane_raid::{DIRECT, Journal, MD, MemberState, Raid, RaidConfig, STRAID, Scrub};
use wane_sim::Stream;
use wane_testkit::Volatile;
use wane_testkit::crash::{DeviceTally, Devices};
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
    let mut array: Box<dyn Living> = Box::new(Raid::new(config, volatile(config.width)).unwrap());
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
                (None, 0) if !array.is_at_work() => lose_some(array, at, stream),
                (None, 1) => array.scrub(at, Scrub::Repair),
                _ => {}
            }
        },
        on_return: &|device, at, stream| {
            let array = as_raid(device);
            let is_whole = (0..array.config().width).all(|member| array.state(member) == MemberState::Online);
            if array.config().journal == Journal::Full && is_whole && array.sectors_to_rebuild() == Sectors::ZERO {
                lose_some(array, at, stream);
            }
        },
        recovery: Nanos(50_000_000),
        ..common::explored(make)
    }
}

fn codes() -> [(&'static dyn Code, usize); 4] {
    [(&XOR, 3), (&XOR, 4), (&PQ, 4), (&COPIES_2, 4)]
}

#[test]
fn power_cuts_leave_what_was_durable_whoever_is_lost_with_it() {
    let make = |stream: &mut Stream| -> Box<dyn Living> {
        let (code, width) = codes()[stream.below(4) as usize];
        let path = [&DIRECT as &'static dyn wane_raid::WritePath, &MD, &STRAID][stream.below(3) as usize];
        array(RaidConfig { path, ..raid_config(code, width, &All) })
    };
    let mut tally = DeviceTally::default();
    for seed in 0..6 {
        match explored(&make).explore(seed) {
            Ok(found) => tally += found,
            Err(what) => panic!("{what}"),
        }
    }
    assert!(tally.cuts > 1_000 && tally.twice > 200, "{tally:?}");
}
