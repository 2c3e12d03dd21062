//! Streams keep data apart, and allocation decides which blocks they fill.

use std::sync::{Arc, Mutex};

use wane_ftl::policies::allocation::{ALLOCATION_POLICIES, AllocationPolicy, FreeView};
use wane_ftl::policies::placement::PLACEMENT_POLICIES;
use wane_ftl::policies::victim::{GcView, IndexSpec, VICTIM_POLICIES, VictimPolicy};
use wane_ftl::policies::{Mode, StreamId, find};
use wane_ftl::{Ftl, FtlConfig, Origin, Outcome};
use wane_nand::Array;
use wane_sim::Streams;
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

/// A drive of 128 blocks of 64 units. Nine tenths of its writes go to a tenth of its units. Also returns the mean share of hot data
/// in the block of a hot unit.
fn aged_under_hot_and_cold(placement: &str) -> (Ftl<Array>, f64) {
    let table: toml::Table = placement.parse().unwrap();
    let (name, parameters) = table.iter().next().unwrap();
    let entry = find(PLACEMENT_POLICIES, name).unwrap();
    let placement = entry.parse(parameters.as_table().unwrap().clone()).unwrap();
    let geometry = Geometry::flat(128, 64, Bytes(4096)).unwrap();
    let logical = 128 * 64 * 8 / 10;
    let mut ftl = Ftl::new(Array::new(geometry), FtlConfig { placement, ..super::config(logical, 124, 4) }).unwrap();
    let mut stream = Streams::new(7).stream("writes");
    (0..logical).for_each(|unit| assert_eq!(ftl.write(&[Lpn(unit)]), (1, Outcome::Done)));
    let hot = u64::from(logical) / 10;
    for _ in 0..30 * logical {
        let unit = if stream.chance(0.9) { stream.below(hot) } else { hot + stream.below(u64::from(logical) - hot) };
        assert_eq!(ftl.write(&[Lpn(unit as u32)]), (1, Outcome::Done));
    }
    ftl.check().unwrap();
    assert_eq!(ftl.counters().policy_refusals, 0);
    let mut hot_in_block = std::collections::BTreeMap::<SuperblockId, u32>::new();
    (0..hot as u32).for_each(|unit| *hot_in_block.entry(block_of(&ftl, unit)).or_default() += 1);
    let alike = |(block, count): (&SuperblockId, &u32)| f64::from(count * count) / f64::from(ftl.valid(*block));
    let share = hot_in_block.iter().map(alike).sum::<f64>() / hot as f64;
    (ftl, share)
}

#[test]
fn autostream_keeps_hot_and_cold_data_apart_and_moves_less() {
    let amplification =
        |ftl: &Ftl<Array>| ftl.counters().programmed_total() as f64 / ftl.counters().host_units_written as f64;
    let (one, alike_in_one) = aged_under_hot_and_cold("one = {}");
    let before = amplification(&one);
    for (placement, moved) in [
        ("autostream-sfr = { streams = 4, chunk-units = 16, decay = 400 }", 0.8),
        ("autostream-mq = { streams = 4, chunk-units = 16 }", 0.95),
    ] {
        let (ftl, alike) = aged_under_hot_and_cold(placement);
        assert!(
            alike > 4.0 * alike_in_one,
            "{placement}: {alike} of the data beside hot data are hot, {alike_in_one} with one stream"
        );
        let found = amplification(&ftl);
        assert!(found < moved * before, "{placement}: {found}, with one stream {before}");
    }
}

#[test]
fn an_answer_that_is_no_stream_is_counted_and_the_first_takes_its_place() {
    let mut ftl = small(FtlConfig { placement: Box::new(ByHint { streams: 3 }), ..super::config(64, 14, 2) });
    assert_eq!(ftl.write_from(Origin::Host, Some(3), &[Lpn(1)]), (1, Outcome::Done));
    assert_eq!(ftl.write_from(Origin::Host, Some(0), &[Lpn(2)]), (1, Outcome::Done));
    assert_eq!((ftl.counters().policy_refusals, block_of(&ftl, 1)), (1, block_of(&ftl, 2)));
}

/// Chooses blocks that are not free.
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
    // Half of the data are written once and never change; the rest are overwritten in turn.
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

/// The mode at each choice of a victim, and what the host had read of each block.
type Seen = Arc<Mutex<Vec<(Mode, Vec<u32>)>>>;

/// Greedy that reports what it saw.
#[derive(Clone)]
struct Watched(Seen);

impl VictimPolicy for Watched {
    fn index(&self) -> IndexSpec {
        IndexSpec { reads: true, ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        let reads = SuperblockId::all(0..16).map(|block| view.host_reads(block)).collect();
        self.0.lock().unwrap().push((view.mode(), reads));
        view.bucket_head(view.lowest()?)
    }
}

#[test]
fn collection_sees_what_the_host_read_of_each_block_since_its_erase_and_the_mode() {
    let seen = Seen::default();
    let mut ftl = small(FtlConfig { victim: Box::new(Watched(Arc::clone(&seen))), ..super::config(64, 14, 2) });
    let fill: Vec<u32> = (0..64).collect();
    assert_eq!(ftl.write(Lpn::slice(&fill)), (64, Outcome::Done));
    // Units 0 to 7 fill one block, and the next one another.
    let (read, beside) = (block_of(&ftl, 0), block_of(&ftl, 8));
    ftl.read(Lpn::slice(&[0, 1, 2, 0, 8, 63])).unwrap();
    ftl.set_mode(Mode::Degraded);
    let overwrite = |ftl: &mut Ftl<Array>, times: usize| {
        let units: Vec<u32> = (0..8).cycle().take(times).collect();
        assert_eq!(ftl.write(Lpn::slice(&units)), (times, Outcome::Done));
    };
    while seen.lock().unwrap().is_empty() {
        overwrite(&mut ftl, 1);
    }
    let (mode, reads) = seen.lock().unwrap()[0].clone();
    assert_eq!(
        (mode, reads[read.index()], reads[beside.index()], reads.iter().sum::<u32>()),
        (Mode::Degraded, 4, 1, 6)
    );
    // Its data were overwritten, so it is erased first.
    ftl.set_mode(Mode::Normal);
    overwrite(&mut ftl, 64);
    let (mode, reads) = seen.lock().unwrap().last().unwrap().clone();
    assert_eq!((mode, reads[read.index()], reads[beside.index()]), (Mode::Normal, 0, 1));
}

#[test]
fn wear_focusing_gathers_wear_and_a_degraded_drive_spreads_it() {
    // The standard deviation of the erases of 64 blocks, after random writes.
    let spread = |gc: &str, allocation: &str, mode: Mode| {
        let table = toml::Table::new;
        let mut ftl = Ftl::new(
            Array::new(Geometry::flat(64, 16, Bytes(4096)).unwrap()),
            FtlConfig {
                endurance: Some(1000),
                placement: super::placement("separate"),
                victim: find(VICTIM_POLICIES, gc).unwrap().parse(table()).unwrap(),
                allocation: find(ALLOCATION_POLICIES, allocation).unwrap().parse(table()).unwrap(),
                ..super::config(700, 60, 4)
            },
        )
        .unwrap();
        ftl.set_mode(mode);
        let mut random = 1u64;
        let units: Vec<u32> = (0..60_000)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) as u32 % 700
            })
            .collect();
        assert_eq!(ftl.write(Lpn::slice(&units)), (units.len(), Outcome::Done));
        ftl.check().unwrap();
        assert_eq!(ftl.counters().policy_refusals, 0, "{gc} and {allocation} name blocks that are there");
        let erases: Vec<f64> = ftl.erase_counts().iter().map(|count| f64::from(*count)).collect();
        let mean = erases.iter().sum::<f64>() / erases.len() as f64;
        (erases.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / erases.len() as f64).sqrt() / mean
    };
    let plain = spread("greedy", "fifo", Mode::Normal);
    let focused = spread("wear-focusing", "wear-focusing", Mode::Normal);
    let degraded = spread("wear-focusing", "wear-focusing", Mode::Degraded);
    assert!(focused > 1.5 * plain && degraded < plain / 1.5, "{plain}, {focused}, {degraded}");
}
