//! The engine against hand-executed traces, a plain oracle and closed forms.

#![allow(clippy::unwrap_used, reason = "a test")]

mod analytic;
mod model;
mod reliability;
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
use wane_units::{Bytes, Geometry, Lpn, SuperblockId};

fn config(logical_units: u32, rated_blocks: u32, gc_reserve: u32) -> FtlConfig {
    let table = toml::Table::new;
    FtlConfig {
        units_per_page: 1,
        logical_units,
        gc_reserve,
        rated_blocks,
        endurance: None,
        retire: find(RETIRE_POLICIES, "never").expect("built in").parse(table()).expect("valid"),
        unit: EraseGroup::Block,
        domain: Pooling::Drive,
        placement: placement("one"),
        allocation: find(ALLOCATION_POLICIES, "fifo").unwrap().parse(table()).unwrap(),
        victim: find(VICTIM_POLICIES, "greedy").unwrap().parse(table()).unwrap(),
        wear_leveling: find(WEAR_LEVEL_POLICIES, "none").unwrap().parse(table()).unwrap(),
        redundancy: find(REDUNDANCY_POLICIES, "none").unwrap().parse(table()).unwrap(),
        scrub: find(SCRUB_POLICIES, "none").unwrap().parse(table()).unwrap(),
        capacity: find(CAPACITY_POLICIES, "fixed").unwrap().parse(table()).unwrap(),
        streams: wane_sim::Streams::new(1),
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
