//! Checks the engine against hand-executed traces, a plain oracle and closed forms.

#![allow(clippy::unwrap_used, reason = "a test")]

mod analytic;
mod flight;
mod mode;
mod model;
mod projection;
mod recovery;
mod reliability;
mod remap;
mod saved;
mod streams;

use wane_ftl::policies::allocation::ALLOCATION_POLICIES;
use wane_ftl::policies::capacity::CAPACITY_POLICIES;
use wane_ftl::policies::find;
use wane_ftl::policies::placement::{PLACEMENT_POLICIES, PlacementPolicy};
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::SCRUB_POLICIES;
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::{EraseGroup, Ftl, FtlConfig, Outcome, Pooling};
use wane_nand::Array;
use wane_units::{Bytes, Geometry, Lpn, Ratio, SuperblockId, UnitId};

fn config(logical_units: u32, rated_blocks: u32, gc_reserve: u32) -> FtlConfig {
    let table = toml::Table::new;
    FtlConfig {
        logical_units,
        gc_reserve,
        rated_blocks,
        retire: find(RETIRE_POLICIES, "never").expect("built in").parse(table()).expect("valid"),
        placement: placement("one"),
        allocation: find(ALLOCATION_POLICIES, "fifo").unwrap().parse(table()).unwrap(),
        victim: find(VICTIM_POLICIES, "greedy").unwrap().parse(table()).unwrap(),
        wear_leveling: find(WEAR_LEVEL_POLICIES, "none").unwrap().parse(table()).unwrap(),
        redundancy: find(REDUNDANCY_POLICIES, "none").unwrap().parse(table()).unwrap(),
        scrub: find(SCRUB_POLICIES, "none").unwrap().parse(table()).unwrap(),
        capacity: find(CAPACITY_POLICIES, "fixed").unwrap().parse(table()).unwrap(),
        ..FtlConfig::new(&Geometry::flat(8, 4, Bytes(4096)).unwrap(), Ratio::ZERO)
    }
}

/// The placement policy of this name.
fn placement(name: &str) -> Box<dyn PlacementPolicy> {
    find(PLACEMENT_POLICIES, name).unwrap().parse(toml::Table::new()).unwrap()
}

#[test]
fn hand_traces_come_out() {
    // (writes, host, programmed, erase counts, valid counts)
    type Row = (&'static [u32], u64, u64, [u32; 4], [u32; 4]);
    let table: [Row; 3] = [
        (&[0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0], 12, 13, [0, 0, 1, 0], [3, 4, 0, 1]),
        (&[0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 1, 2, 3], 15, 16, [1, 0, 1, 0], [0, 4, 0, 4]),
        (&[0, 1, 2, 3, 4, 5, 6, 7, 0, 4, 1, 5, 2, 6], 14, 17, [1, 1, 0, 0], [1, 0, 4, 3]),
    ];
    for (writes, host, programmed, erases, valid) in table {
        let array = Array::new(Geometry::flat(4, 4, Bytes(4096)).unwrap());
        let mut ftl = Ftl::new(array, config(8, 3, 1)).unwrap();
        assert_eq!(ftl.write(Lpn::slice(writes)), (writes.len(), Outcome::Done));
        ftl.check().unwrap();
        assert_eq!((ftl.counters().host_units_written, ftl.counters().programmed_total()), (host, programmed));
        assert_eq!(ftl.erase_counts(), erases);
        assert_eq!([0, 1, 2, 3].map(|block| ftl.valid(SuperblockId(block))), valid);
    }
}

#[test]
fn a_trim_of_many_units_is_many_trims() {
    // 300 logical units; (units written, units trimmed at once). Runs that are mapped nowhere, at one end or in one place.
    let runs = |from: u32, to: u32| (from..to).collect::<Vec<u32>>();
    let mut gaps = runs(0, 300);
    gaps.swap(100, 200);
    let table = [
        (vec![], runs(0, 300)),
        (vec![63, 64, 299], runs(0, 300)),
        (runs(70, 90), runs(0, 300)),
        (runs(0, 300), runs(5, 290)),
        (vec![200], gaps),
        (vec![7], vec![7; 130]),
        (runs(0, 64), runs(64, 300)),
        (vec![0, 299], runs(236, 300)),
    ];
    for (written, trimmed) in table {
        let new = || {
            let array = Array::new(Geometry::flat(16, 32, Bytes(4096)).unwrap());
            let mut ftl = Ftl::new(array, config(300, 15, 1)).unwrap();
            assert_eq!(ftl.write(Lpn::slice(&written)), (written.len(), Outcome::Done));
            ftl
        };
        let (mut at_once, mut one_by_one) = (new(), new());
        at_once.trim(Lpn::slice(&trimmed)).unwrap();
        trimmed.iter().for_each(|unit| one_by_one.trim(&[Lpn(*unit)]).unwrap());
        at_once.check().unwrap();
        let state = |ftl: &Ftl<Array>| {
            let mapped: Vec<_> = Lpn::all(0..300).map(|unit| ftl.lookup(unit)).collect();
            (mapped, *ftl.counters(), (0..16).map(|block| ftl.valid(SuperblockId(block))).collect::<Vec<_>>())
        };
        assert_eq!(state(&at_once), state(&one_by_one), "{written:?}, {trimmed:?}");
        assert!(trimmed.iter().all(|unit| at_once.lookup(Lpn(*unit)).is_none()), "{written:?}, {trimmed:?}");
    }
}

/// Many units at once go to the dies by a plan. If pages have several units, a single unit goes without it.
#[test]
fn on_several_dies_it_does_not_matter_how_the_host_cuts_its_requests() {
    // (dies, units a page, percent of the flash that is exported, wear leveler)
    let table = [
        (4, 1, 70, "none"),
        (4, 4, 70, "none"),
        (3, 3, 86, "none"),
        (2, 1, 70, "hot-cold-swap"),
        (5, 2, 70, "dual-pool"),
        (3, 2, 70, "variance"),
    ];
    for (dies, units_per_page, percent, leveler) in table {
        let geometry = Geometry::new(dies, 1, 1, 24, 16, Bytes(4096 * u64::from(units_per_page))).unwrap();
        let logical = dies * 24 * 16 * units_per_page * percent / 100;
        let new = || {
            let config = FtlConfig {
                units_per_page,
                domain: Pooling::Die,
                erase_group: EraseGroup::Block,
                endurance: Some(60),
                wear_leveling: find(WEAR_LEVEL_POLICIES, leveler).unwrap().parse(toml::Table::new()).unwrap(),
                ..config(logical, dies * 22, 2)
            };
            let mut ftl = Ftl::new(Array::new(geometry), config).unwrap();
            ftl.set_leveling(true);
            ftl
        };
        let (mut at_once, mut one_by_one) = (new(), new());
        let mut stream = wane_sim::Streams::new(u64::from(dies)).stream("cuts");
        for round in 0..400 {
            // Most writes go to a third of the addresses, so that dies wear unevenly.
            let bound = if stream.chance(0.8) { logical / 3 } else { logical };
            let count = [1, 2, 7, 64, 500][round % 5];
            let mut request: Vec<Lpn> = (0..count).map(|_| Lpn(stream.below(u64::from(bound)) as u32)).collect();
            if percent > 80 && round > 200 {
                // No unit of the first die becomes invalid, so it fills up and is skipped.
                let block = |unit: UnitId| SuperblockId(unit.0 / (16 * units_per_page));
                let is_elsewhere = |unit: UnitId| at_once.layout().domain(block(unit)) > 0;
                request.retain(|unit| at_once.lookup(*unit).is_none_or(is_elsewhere));
            }
            let end = at_once.write(&request);
            let ends = request.iter().map(|unit| one_by_one.write(&[*unit]).1).take_while(|end| *end == Outcome::Done);
            assert_eq!(end.0, ends.count());
            let state = |ftl: &Ftl<Array>| {
                let mapped: Vec<_> = Lpn::all(0..logical).map(|unit| ftl.lookup(unit)).collect();
                (mapped, *ftl.counters(), ftl.erase_counts().to_vec())
            };
            assert_eq!(
                state(&at_once),
                state(&one_by_one),
                "{dies} dies, {units_per_page} units a page, round {round}"
            );
            if end.1 != Outcome::Done {
                break;
            }
        }
        at_once.check().unwrap();
        assert!(at_once.counters().gc_victims > 100, "dies collect, found {}", at_once.counters().gc_victims);
        assert_eq!(leveler == "none", at_once.counters().erases_wear_leveling == 0, "{leveler}");
    }
}

/// From this size on map entries are prefetched in two steps, by code that smaller drives do not run.
#[test]
fn a_drive_whose_map_is_far_away_keeps_what_was_written() {
    let (logical, blocks) = (1 << 22, 16_800);
    let array = Array::new(Geometry::flat(blocks, 256, Bytes(4096)).unwrap());
    let mut ftl = Ftl::new(array, config(logical, blocks - 4, 4)).unwrap();
    let all: Vec<u32> = (0..logical).collect();
    assert_eq!(ftl.write(Lpn::slice(&all)), (all.len(), Outcome::Done));
    // Each address once, far apart, in requests that end within blocks.
    let writes: Vec<u32> = (0..300_000u32).map(|number| number.wrapping_mul(1_234_567) % logical).collect();
    let before = writes.iter().map(|unit| ftl.lookup(Lpn(*unit)).unwrap()).collect::<Vec<_>>();
    for request in writes.chunks(1_000) {
        assert_eq!(ftl.write(Lpn::slice(request)), (request.len(), Outcome::Done));
    }
    assert!(ftl.counters().gc_victims > 100, "collection moves units too, found {}", ftl.counters().gc_victims);
    ftl.check().unwrap();
    let after = writes.iter().map(|unit| ftl.lookup(Lpn(*unit)).unwrap());
    assert!(before.iter().zip(after).filter(|(before, after)| **before == *after).count() < writes.len() / 100);
}
