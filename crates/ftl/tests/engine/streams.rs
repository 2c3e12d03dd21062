//! Streams keep data apart, and allocation decides which blocks they fill.

use wane_ftl::policies::allocation::{AllocationPolicy, FreeView};
use wane_ftl::policies::{StreamId, find};
use wane_ftl::{Ftl, FtlConfig, Origin, Outcome};
use wane_nand::Array;
use wane_testkit::ByHint;
use wane_units::{Bytes, Geometry, Lpn, SuperblockId};

fn small(config: FtlConfig) -> Ftl<Array> {
    Ftl::new(Array::new(Geometry::flat(16, 8, Bytes(4096)).unwrap()), config).unwrap()
}

fn block_of(ftl: &Ftl<Array>, unit: u32) -> SuperblockId {
    ftl.layout().locate(ftl.lookup(Lpn(unit)).unwrap()).0
}

#[test]
fn hinted_writes_fill_blocks_of_their_own() {
    let mut ftl = small(FtlConfig { placement: Box::new(ByHint { streams: 3 }), ..super::config(64, 14, 2) });
    for round in 0..40u32 {
        for (hint, unit) in [(0u16, round % 32), (1, 32 + round % 32)] {
            assert_eq!(ftl.write_from(Origin::Host, Some(hint), &[Lpn(unit)]), (1, Outcome::Done));
        }
        ftl.check().unwrap();
    }
    let blocks = |units: std::ops::Range<u32>| -> Vec<SuperblockId> {
        units.map(|unit| block_of(&ftl, unit)).collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    };
    let (first, second) = (blocks(0..32), blocks(32..64));
    assert!(first.iter().all(|block| !second.contains(block)), "{first:?} and {second:?}");
    assert_eq!(ftl.counters().policy_refusals, 0);
}

#[test]
fn an_answer_that_is_no_stream_is_counted_and_the_first_takes_its_place() {
    let mut ftl = small(FtlConfig { placement: Box::new(ByHint { streams: 3 }), ..super::config(64, 14, 2) });
    assert_eq!(ftl.write_from(Origin::Host, Some(3), &[Lpn(1)]), (1, Outcome::Done));
    assert_eq!(ftl.write_from(Origin::Host, Some(0), &[Lpn(2)]), (1, Outcome::Done));
    assert_eq!((ftl.counters().policy_refusals, block_of(&ftl, 1)), (1, block_of(&ftl, 2)));
}

/// Takes what is not free.
#[derive(Clone)]
struct Stubborn;

impl AllocationPolicy for Stubborn {
    fn choose(&mut self, view: &FreeView<'_>) -> SuperblockId {
        assert!(view.count() > 0 && view.stream() == Some(StreamId(0)));
        SuperblockId(0)
    }
}

#[test]
fn a_block_that_is_not_free_is_never_opened() {
    let mut ftl = small(FtlConfig { allocation: Box::new(Stubborn), ..super::config(64, 14, 2) });
    let units: Vec<u32> = (0..64).chain(0..64).collect();
    assert_eq!(ftl.write(Lpn::slice(&units)), (128, Outcome::Done));
    ftl.check().unwrap();
    assert!(ftl.counters().policy_refusals > 0);
}

#[test]
fn allocation_decides_how_evenly_free_blocks_wear() {
    // Half of the data is written once and then lies still; the rest is overwritten in turn.
    let highest = |name: &str| {
        let allocation = find(wane_ftl::policies::allocation::ALLOCATION_POLICIES, name).unwrap();
        let allocation = allocation.parse(toml::Table::new()).unwrap();
        let mut ftl = small(FtlConfig { allocation, ..super::config(64, 12, 4) });
        let units: Vec<u32> = (0..64).chain((0..4000).map(|write| write % 32)).collect();
        assert_eq!(ftl.write(Lpn::slice(&units)), (units.len(), Outcome::Done));
        ftl.check().unwrap();
        *ftl.erase_counts().iter().max().unwrap()
    };
    let [fifo, least, most] = ["fifo", "least-worn", "most-worn"].map(highest);
    assert!(least <= fifo && fifo < most, "{least}, {fifo}, {most}");
}
