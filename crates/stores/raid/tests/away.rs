//! Members that are away: taken out and put back, lost together with the power, replaced. What they forgot meanwhile is not taken for what they hold.
//!
//! Any member goes whenever the array says that it can spare one, so that a safety that it only claims is found out. `WANE_ARRAY_SEEDS` sets the number
//! of runs of each test, `WANE_ARRAY_SEED` the only one.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use common::{All, ended, raid_config};
use wane_blockdev::{Delay, Delays, Integrity, Living, Request};
use wane_raid::code::{COPIES_2, COPIES_3, Code, PQ, PQR, XOR};
use wane_raid::{
    DIRECT, Journal, MD, MemberState, Mirror, MirrorConfig, Raid, RaidConfig, Redundant, STRAID, UNEQUAL, WritePath,
    as_redundant, redundant_of,
};
use wane_sim::Stream;
use wane_testkit::Volatile;
use wane_testkit::crash::{DeviceTally, Devices};
use wane_units::{Fate, Nanos, Sectors, SimTime};

/// Sectors of a member.
const SECTORS: u64 = 1200;

/// The seeds of a test: the first ones, and those that found something once.
fn seeds(few: u64, found: &[u64]) -> Vec<u64> {
    let told = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    if let Some(seed) = told("WANE_ARRAY_SEED") {
        return vec![seed];
    }
    let count = told("WANE_ARRAY_SEEDS").unwrap_or(few);
    (0..count).chain(found.iter().copied().filter(|seed| *seed >= count)).collect()
}

/// Hands the devices of a seed to whoever explores them.
type DevicesOf<'a> = &'a dyn Fn(u64, &mut dyn FnMut(&Devices<'_>));

/// Explores runs, and names all that fail. One run alone need not be `enough`.
fn explore(few: u64, found: &[u64], devices_of: DevicesOf<'_>, enough: impl Fn(&DeviceTally) -> bool) {
    let (mut tally, mut failed) = (DeviceTally::default(), Vec::new());
    let seeds = seeds(few, found);
    for seed in &seeds {
        devices_of(*seed, &mut |devices| match devices.explore(*seed) {
            Ok(found) => tally += found,
            Err(what) => failed.push(what),
        });
    }
    assert!(failed.is_empty(), "{} of {} runs fail: {}", failed.len(), seeds.len(), failed.join("\n"));
    assert!(seeds.len() == 1 || enough(&tally), "{tally:?}");
}

/// A member with a volatile cache, which forgets what was not flushed.
fn forgetful(sectors: Sectors, stream: &mut Stream) -> Box<dyn Living> {
    let latency = [0, 1_000, 5_000, 300_000][stream.below(4) as usize];
    Box::new(Delay::new(Volatile::memory(sectors), Delays::all(Nanos(latency))))
}

/// One that is as large as a member.
fn another(array: &dyn Redundant, member: usize, stream: &mut Stream) -> Box<dyn Living> {
    let mut sizes = Vec::new();
    array.members(&mut |device| sizes.push(device.capacity()));
    forgetful(sizes[member], stream)
}

/// The same, perhaps with checksums.
fn member(stream: &mut Stream) -> Box<dyn Living> {
    let device = forgetful(Sectors(SECTORS), stream);
    if stream.below(4) > 0 {
        return device;
    }
    Box::new(Integrity::new(device).unwrap().cleaning_every(Nanos(1_000 << stream.below(9))))
}

/// The array, if it can spare a member now, also if the power goes with that.
fn sparing(device: &mut dyn Living) -> Option<&mut dyn Redundant> {
    as_redundant(device).filter(|array| array.safety().spare > 0 && array.safety().lost == Sectors::ZERO)
}

fn random(stream: &mut Stream) -> Fate {
    if stream.below(2) == 0 { Fate::Done } else { Fate::Undone }
}

/// The number of members in a state.
fn those(array: &dyn Redundant, of: impl Fn(MemberState) -> bool) -> Vec<usize> {
    let mut count = 0;
    array.members(&mut |_| count += 1);
    (0..count).filter(|member| of(array.state(*member))).collect()
}

fn one_of(list: &[usize], stream: &mut Stream) -> Option<usize> {
    (!list.is_empty()).then(|| list[stream.below(list.len() as u64) as usize])
}

/// Takes out as many as can be spared.
fn take_what_is_spared(device: &mut dyn Living, at: SimTime, stream: &mut Stream) {
    while let Some(array) = sparing(device) {
        let there = those(array, |state| state != MemberState::Absent);
        let Some(member) = one_of(&there, stream) else { return };
        array.take_out(at, member, &mut || random(stream));
    }
}

/// Members come and go.
fn come_and_go(device: &mut dyn Living, at: SimTime, stream: &mut Stream) {
    let can_spare = sparing(device).is_some();
    let array = as_redundant(device).unwrap();
    let out = one_of(&those(array, |state| state == MemberState::Absent), stream);
    let there = one_of(&those(array, |state| state != MemberState::Absent), stream);
    match (stream.below(8), out, there) {
        (0..=2, _, Some(member)) if can_spare => array.take_out(at, member, &mut || random(stream)),
        // Its power fails for a moment.
        (3, _, Some(member)) if can_spare => {
            array.take_out(at, member, &mut || random(stream));
            array.put_back(at, member).unwrap();
        }
        (3..=5, Some(member), _) => array.put_back(at, member).unwrap(),
        (6, Some(member), _) => _ = array.replace(at, member, another(array, member, stream)).unwrap(),
        (6, None, Some(member)) if can_spare => {
            let _ = array.replace(at, member, another(array, member, stream)).unwrap();
        }
        (7, _, _) => array.scrub(at),
        _ => {}
    }
}

/// What happens to members at the very instant of a power cut.
fn with_the_power(device: &mut dyn Living, at: SimTime, stream: &mut Stream) {
    let can_spare = sparing(device).is_some();
    let array = as_redundant(device).unwrap();
    let out = one_of(&those(array, |state| state == MemberState::Absent), stream);
    let there = one_of(&those(array, |state| state != MemberState::Absent), stream);
    match (stream.below(3), out, there) {
        (0 | 1, _, Some(member)) if can_spare => array.take_out(at, member, &mut || Fate::Undone),
        (_, Some(member), _) => array.put_back(at, member).unwrap(),
        _ => {}
    }
}

/// What is explored of arrays whose members come and go.
fn explored<'a>(make: &'a dyn Fn(&mut Stream) -> Box<dyn Living>) -> Devices<'a> {
    Devices {
        disturb: &come_and_go,
        disturbs: 4,
        with_cut: Some(&with_the_power),
        without: Some(&take_what_is_spared),
        adopted: 40,
        steps: 120,
        cut_every: 12,
        some: 6,
        each_of: 2,
        recovery: Nanos(50_000_000),
        ..Devices::new(make)
    }
}

/// The code, chunks and journal of a run.
fn shape(seed: u64) -> (&'static dyn Code, usize, Journal) {
    let codes: [(&'static dyn Code, usize, [Journal; 2]); 6] = [
        (&XOR, 3, [Journal::Ppl, Journal::Full]),
        (&COPIES_2, 4, [Journal::Full; 2]),
        (&PQ, 4, [Journal::Full; 2]),
        (&XOR, 4, [Journal::Ppl, Journal::Full]),
        (&PQR, 5, [Journal::Full; 2]),
        (&COPIES_3, 3, [Journal::Full; 2]),
    ];
    let (code, width, journals) = codes[(seed % 6) as usize];
    (code, width, journals[(seed / 6 % 2) as usize])
}

fn array(seed: u64, journal: Journal, stream: &mut Stream) -> Box<dyn Living> {
    let (code, width, _) = shape(seed);
    let path = [&DIRECT as &'static dyn WritePath, &MD, &STRAID][stream.below(3) as usize];
    let members = (0..width).map(|_| member(stream)).collect();
    let mut array = Raid::new(RaidConfig { path, journal, ..raid_config(code, width, &All) }, members).unwrap();
    let _ = ended(&mut array, Request::flush());
    Box::new(array)
}

/// Sectors of a stripe.
fn stripe_of(seed: u64) -> Sectors {
    let (code, width, _) = shape(seed);
    Sectors((wane_raid::code::Coder::new(code, width).unwrap().data() * 16) as u64)
}

#[test]
fn a_member_that_was_away_gives_nothing_back_that_it_forgot() {
    let devices = |seed: u64, run: &mut dyn FnMut(&Devices<'_>)| {
        let make = move |stream: &mut Stream| array(seed, shape(seed).2, stream);
        run(&Devices { stripe: stripe_of(seed), ..explored(&make) });
    };
    explore(12, &[112, 166, 179, 236], &devices, |tally| {
        tally.spared > 500 && tally.with_cut > 100 && tally.cuts > 500
    });
}

/// Members of unequal sizes do not hold as many entries of the ring. Whichever may be lost, one with each entry stays.
#[test]
fn members_of_unequal_sizes_hold_the_ring_as_safely() {
    let devices = |seed: u64, run: &mut dyn FnMut(&Devices<'_>)| {
        let make = move |stream: &mut Stream| -> Box<dyn Living> {
            let (code, width, journal) = shape(seed);
            let more = stream.below(3) as usize;
            let sizes = [3, 1, 2, 1, 1, 2, 3].map(|size| Sectors(size * SECTORS));
            let members = (0..width + more).map(|member| forgetful(sizes[member], stream)).collect();
            let config = RaidConfig { journal, ..raid_config(code, width, &UNEQUAL) };
            let mut array = Raid::new(config, members).unwrap();
            let _ = ended(&mut array, Request::flush());
            Box::new(array)
        };
        run(&Devices { stripe: stripe_of(seed), ..explored(&make) });
    };
    explore(8, &[29, 35, 107, 173, 196, 209], &devices, |tally| {
        tally.spared > 500 && tally.with_cut > 100 && tally.cuts > 400
    });
}

/// Without a journal a drive that is lost with the power takes stripes with it. The array says so, and hands out nothing else in their place.
#[test]
fn without_a_journal_what_a_member_and_the_power_took_is_told() {
    let devices = |seed: u64, run: &mut dyn FnMut(&Devices<'_>)| {
        let make = move |stream: &mut Stream| array(seed, Journal::None, stream);
        let told_lost = |device: &dyn Living| redundant_of(device).map(|array| array.safety().lost);
        run(&Devices { stripe: stripe_of(seed), told_lost: &told_lost, ..explored(&make) });
    };
    explore(12, &[70, 156, 166, 236], &devices, |tally| tally.spared > 500 && tally.with_cut > 100 && tally.lost > 0);
}

fn mirror(seed: u64, stream: &mut Stream) -> Box<dyn Living> {
    let copies = 2 + (seed % 2) as usize;
    let config =
        MirrorConfig { copies, rebuild_chunk: Sectors(16), rebuild_rate: 10_000_000, ..MirrorConfig::default() };
    let members = (0..copies + stream.below(2) as usize).map(|_| forgetful(Sectors(SECTORS), stream)).collect();
    Box::new(Mirror::new(config, members).unwrap())
}

#[test]
fn a_mirrors_member_that_was_away_gives_nothing_back_that_it_forgot() {
    let devices = |seed: u64, run: &mut dyn FnMut(&Devices<'_>)| {
        let make = move |stream: &mut Stream| mirror(seed, stream);
        run(&Devices { stripe: Sectors(32), ..explored(&make) });
    };
    explore(16, &[], &devices, |tally| tally.spared > 500 && tally.with_cut > 100 && tally.cuts > 500);
}
