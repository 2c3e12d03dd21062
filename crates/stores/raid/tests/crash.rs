//! Power cuts of layers and arrays without copies: what was durable is there. And devices that lie are found out.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use common::range;
use wane_blockdev::{Delay, Delays, Effect, Fault, Keep, Kind, Living, Persistence, Record, Stats};
use wane_raid::{Linear, Spread, Stripe};
use wane_sim::Stream;
use wane_testkit::crash::{DeviceTally, Devices};
use wane_testkit::{Volatile, conformance};
use wane_units::{Nanos, Sectors};

/// A volatile cache on a slow device in memory.
fn member(size: u64, latency: u64) -> Box<dyn Living> {
    Box::new(Volatile::new(Delay::new(Volatile::memory(Sectors(size)).into_inner(), Delays::all(Nanos(latency)))))
}

#[test]
fn a_volatile_cache_is_a_living_device() {
    conformance::living_device("a volatile cache", &|| member(2048, 0), true, 64);
    conformance::living_device("a slow volatile cache", &|| member(2048, 1_500), true, 64);
}

#[test]
fn power_cuts_leave_what_was_durable() {
    let layers = |stream: &mut Stream| -> Box<dyn Living> {
        let below = member(128, 1_000 * stream.below(3));
        match stream.below(3) {
            0 => Box::new(Stats::new(below)),
            1 => Box::new(Record::new(below, Keep::Bytes, 10)),
            _ => Box::new(Delay::new(below, Delays::all(Nanos(2_000)))),
        }
    };
    let arrays = |stream: &mut Stream| -> Box<dyn Living> {
        let members = vec![member(40, 0), member(64, 3_000), member(48, 1_000)];
        match stream.below(2) {
            0 => Box::new(Spread::new(Linear::default(), members).unwrap()),
            _ => Box::new(Spread::new(Stripe::new(Sectors(8)), members).unwrap()),
        }
    };
    let mut tally = DeviceTally::default();
    for seed in 0..6 {
        for make in [&layers as &dyn Fn(&mut Stream) -> Box<dyn Living>, &arrays] {
            tally += Devices::new(make).explore(seed).unwrap_or_else(|what| panic!("{what}"));
        }
    }
    assert!(tally.cuts > 1_000 && tally.complete > 50 && tally.twice > 200, "{tally:?}");
}

/// The replay of a failure leads to the same failure, and to none on a device that does not lie.
#[test]
fn a_device_that_lies_is_found_and_its_failure_is_replayed() {
    let lies = |_: &mut Stream| -> Box<dyn Living> {
        let flush = |fault: Fault<_>, number| fault.with_nth_of(Kind::Flush, number, Effect::DROPPED);
        Box::new((0..100).fold(Fault::new(member(128, 0)), flush))
    };
    let torn = |_: &mut Stream| -> Box<dyn Living> { Box::new(Volatile::memory(Sectors(128)).tearing()) };
    let forgets = |_: &mut Stream| -> Box<dyn Living> {
        let mut fault = Fault::new(member(128, 0));
        fault.make_bad(range(8, 8), Persistence::UntilWritten);
        Box::new(fault)
    };
    let honest = |_: &mut Stream| -> Box<dyn Living> { member(128, 0) };
    for (make, outcomes, says) in [
        (&lies as &dyn Fn(&mut Stream) -> Box<dyn Living>, 2, "may hold"),
        (&torn, 3, "is torn"),
        (&forgets, 2, "a read ends as medium error"),
    ] {
        let devices = Devices { outcomes, ..Devices::new(make) };
        let what = (0..20).find_map(|seed| devices.explore(seed).err());
        let what = what.unwrap_or_else(|| panic!("the one of which it should be said that it {says} is not found"));
        assert!(what.contains(says), "{what}");
        let (replay, _) = what.split_once(": ").unwrap();
        if replay.matches('/').count() >= 2 {
            assert_eq!(devices.replay(replay), Err(what.clone()));
            assert_eq!(Devices { outcomes, ..Devices::new(&honest) }.replay(replay), Ok(()));
        }
    }
    assert_eq!(Devices::new(&honest).replay("5/x"), Err("5/x is no replay".to_owned()));
}
