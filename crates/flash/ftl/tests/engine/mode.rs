//! Degraded drives, thresholds that change during a drive's life, and unforced collection.

use wane_ftl::policies::allocation::ALLOCATION_POLICIES;
use wane_ftl::policies::capacity::CAPACITY_POLICIES;
use wane_ftl::policies::mode::{MODE_POLICIES, Trigger};
use wane_ftl::policies::retirement::{RETIRE_POLICIES, RetirementThreshold};
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::{Entry, Mode, find};
use wane_ftl::{EndOfLife, Ftl, FtlConfig, Outcome};
use wane_nand::Array;
use wane_sim::{Stream, Streams};
use wane_units::{BlockId, Bytes, Geometry, Lpn};

const BLOCKS: u32 = 40;
const PAGES: u32 = 8;
const ENDURANCE: u32 = 30;

fn policy<T>(family: &[Entry<T>], name: &str, parameters: &str) -> T {
    find(family, name).unwrap().parse(parameters.parse().unwrap()).unwrap()
}

/// A capacity-variant drive of 40 blocks that exports 34 of them and retires at 20 of 30 erases.
fn variant() -> FtlConfig {
    FtlConfig {
        endurance: Some(ENDURANCE),
        retire: policy(RETIRE_POLICIES, "at-erases", "erases = 20"),
        victim: policy(VICTIM_POLICIES, "wear-focusing", ""),
        allocation: policy(ALLOCATION_POLICIES, "wear-focusing", ""),
        placement: super::placement("separate"),
        capacity: policy(CAPACITY_POLICIES, "variant", "shrink = 'graceful'"),
        mode: policy(MODE_POLICIES, "over-provisioning", "low-pool = 0"),
        ..super::config(34 * PAGES, BLOCKS, 3)
    }
}

fn new(config: FtlConfig) -> Ftl<Array> {
    Ftl::new(Array::new(Geometry::flat(BLOCKS, PAGES, Bytes(4096)).unwrap()), config).unwrap()
}

/// Writes one of the first `footprint` units and reads another. Answers no demand.
fn step(ftl: &mut Ftl<Array>, stream: &mut Stream, footprint: u32) -> Outcome {
    let unit = |stream: &mut Stream| Lpn(stream.below(u64::from(footprint)) as u32);
    let (_, outcome) = ftl.write(&[unit(stream)]);
    ftl.read(&[unit(stream)]).unwrap();
    match outcome {
        Outcome::Demand(_) => ftl.reclaim(),
        outcome => outcome,
    }
}

/// Writes until `until` holds or the drive is dead, and checks its invariants on the way.
fn live(ftl: &mut Ftl<Array>, stream: &mut Stream, footprint: u32, until: impl Fn(&Ftl<Array>) -> bool) {
    for number in 0u32.. {
        assert!(number < 1_000_000, "a drive that is written dies");
        if until(ftl) || matches!(step(ftl, stream, footprint), Outcome::Dead(_)) {
            break;
        }
        if number.is_multiple_of(64) {
            ftl.check().unwrap();
        }
    }
    ftl.check().unwrap();
}

#[test]
fn a_drive_without_room_is_degraded_and_its_blocks_serve_to_their_rating() {
    let (mut ftl, mut stream) = (new(variant()), Streams::new(3).stream("writes"));
    let footprint = 30 * PAGES;
    live(&mut ftl, &mut stream, footprint, |ftl| ftl.mode() == Mode::Degraded);
    // Over-provisioning is 40 / 34 - 1, 17.6 %; 36 blocks over 30 are 20 %, 35 are 16.7 %.
    assert_eq!((ftl.trigger(), ftl.retired_blocks()), (Some(Trigger::OverProvisioning), 5));
    let retired_at = |ftl: &Ftl<Array>, erases| {
        let retired = ftl.layout().superblocks().filter(|block| ftl.state(*block) == wane_ftl::BlockState::Retired);
        retired.filter(|block| ftl.erase_counts()[block.index()] == erases).count()
    };
    assert_eq!((retired_at(&ftl, 20), retired_at(&ftl, ENDURANCE)), (5, 0));
    live(&mut ftl, &mut stream, footprint, |ftl| ftl.retired_blocks() >= 7);
    assert_eq!((retired_at(&ftl, 20), retired_at(&ftl, ENDURANCE)), (5, 2));
}

#[test]
fn a_drive_recovers_once_enough_is_trimmed_and_the_host_has_the_last_word() {
    let (mut ftl, mut stream) = (new(variant()), Streams::new(3).stream("writes"));
    live(&mut ftl, &mut stream, 30 * PAGES, |ftl| ftl.mode() == Mode::Degraded);
    ftl.trim(&[Lpn(0)]).unwrap();
    assert_eq!(ftl.mode(), Mode::Degraded, "one unit is not enough");
    ftl.trim(Lpn::slice(&(0..4 * PAGES).collect::<Vec<u32>>())).unwrap();
    assert_eq!((ftl.mode(), ftl.trigger()), (Mode::Normal, None));
    ftl.set_mode(Mode::Degraded);
    assert_eq!(ftl.trigger(), Some(Trigger::Host));
    (0..100).for_each(|_| assert!(!matches!(step(&mut ftl, &mut stream, 26 * PAGES), Outcome::Dead(_))));
    assert_eq!(ftl.trigger(), Some(Trigger::Host), "what the host says holds while nothing is trimmed");
    ftl.remap(Lpn(34 * PAGES - 1), Lpn(26 * PAGES), 1, 1).unwrap();
    assert_eq!(ftl.mode(), Mode::Normal, "a remap gives data up, too");
    ftl.set_mode(Mode::Degraded);
    ftl.set_mode(Mode::Normal);
    assert_eq!(ftl.trigger(), None);
}

#[test]
fn the_host_does_not_rewrite_why_a_drive_is_degraded() {
    let (mut ftl, mut stream) = (new(variant()), Streams::new(3).stream("writes"));
    live(&mut ftl, &mut stream, 30 * PAGES, |ftl| ftl.mode() == Mode::Degraded);
    ftl.set_mode(Mode::Degraded);
    assert_eq!(ftl.trigger(), Some(Trigger::OverProvisioning));
}

#[test]
fn blocks_that_were_never_in_service_are_no_over_provisioning_lost() {
    let mut array = Array::new(Geometry::flat(BLOCKS, PAGES, Bytes(4096)).unwrap());
    (0..2).for_each(|block| array.set_erase_count(BlockId(block), u32::MAX));
    let mut ftl = Ftl::new(array, FtlConfig { logical_units: 32 * PAGES, ..variant() }).unwrap();
    let all: Vec<u32> = (0..32 * PAGES).collect();
    for _ in 0..3 {
        assert_eq!(ftl.write(Lpn::slice(&all)).1, Outcome::Done);
    }
    let view = ftl.mode_view();
    assert_eq!((view.effective_over_provisioning(), ftl.mode()), (view.over_provisioning(), Mode::Normal));
}

#[test]
fn a_lower_threshold_retires_free_blocks_at_once_and_others_at_their_next_erase() {
    let (mut ftl, mut stream) = (new(variant()), Streams::new(5).stream("writes"));
    live(&mut ftl, &mut stream, 12 * PAGES, |ftl| ftl.erase_counts().iter().max() == Some(&15));
    assert_eq!(ftl.retired_blocks(), 0);
    assert_eq!(ftl.set_retirement_threshold(RetirementThreshold::Rber(0.05)), None, "it goes by erases");
    let beyond = |ftl: &Ftl<Array>| {
        let worn = ftl.layout().superblocks().filter(|block| ftl.erase_counts()[block.index()] >= 10);
        let free = worn.clone().filter(|block| ftl.state(*block) == wane_ftl::BlockState::Free).count();
        (worn.count() as u32, free as u32)
    };
    let (worn, free) = beyond(&ftl);
    assert!(free > 0 && worn > free, "{worn} worn blocks, of which {free} are free");
    assert!(ftl.set_retirement_threshold(RetirementThreshold::Erases(10)).is_some());
    ftl.check().unwrap();
    assert_eq!(ftl.retired_blocks(), free);
    live(&mut ftl, &mut stream, 12 * PAGES, |ftl| ftl.retired_blocks() >= worn);
    assert_eq!(ftl.erase_counts().iter().filter(|erases| **erases > 16).count(), 0, "each went at its next erase");
}

#[test]
fn a_threshold_at_the_rating_changes_nothing() {
    // The null test: a capacity-variant drive whose blocks all serve up to their rating lives like one of fixed capacity without wear leveling.
    let same_policy = || FtlConfig {
        victim: policy(VICTIM_POLICIES, "wear-focusing", "reads = 0.0"),
        retire: policy(RETIRE_POLICIES, "at-erases", "erases = 30"),
        ..variant()
    };
    let fixed = || FtlConfig {
        retire: policy(RETIRE_POLICIES, "at-endurance", ""),
        capacity: policy(CAPACITY_POLICIES, "fixed", ""),
        mode: policy(MODE_POLICIES, "host-only", ""),
        ..same_policy()
    };
    let (mut variant, mut fixed) = (new(same_policy()), new(fixed()));
    let (mut one, mut other) = (Streams::new(9).stream("writes"), Streams::new(9).stream("writes"));
    let mut writes = 0;
    while variant.retired_blocks() < 4 {
        assert_eq!(step(&mut variant, &mut one, 30 * PAGES), step(&mut fixed, &mut other, 30 * PAGES));
        assert_eq!(variant.erase_counts(), fixed.erase_counts());
        writes += 1;
    }
    assert_eq!(variant.counters(), fixed.counters());
    assert!(writes > 1000, "{writes}");
}

#[test]
fn without_weights_for_wear_and_reads_a_degraded_drive_collects_greedily() {
    let of = |victim| FtlConfig { victim, retire: policy(RETIRE_POLICIES, "never", ""), ..variant() };
    let weights = "degraded-invalidity = 1.0\ndegraded-youth = 0.0\nlow-pool = 0";
    let mut focused = new(of(policy(VICTIM_POLICIES, "wear-focusing", weights)));
    let mut greedy = new(of(policy(VICTIM_POLICIES, "greedy", "tie = 'least-worn'")));
    let (mut one, mut other) = (Streams::new(9).stream("writes"), Streams::new(9).stream("writes"));
    focused.set_mode(Mode::Degraded);
    greedy.set_mode(Mode::Degraded);
    for _ in 0..5000 {
        assert_eq!(step(&mut focused, &mut one, 34 * PAGES), step(&mut greedy, &mut other, 34 * PAGES));
    }
    assert_eq!(focused.erase_counts(), greedy.erase_counts());
    assert!(focused.counters().gc_victims > 500);
}

#[test]
fn unforced_collection_keeps_more_blocks_free_but_takes_no_block_that_is_nearly_full() {
    let of = |gc_unforced| FtlConfig { gc_unforced, endurance: None, ..super::config(34 * PAGES, BLOCKS, 3) };
    let lived = |gc_unforced, footprint| {
        let (mut ftl, mut stream) = (new(of(gc_unforced)), Streams::new(9).stream("writes"));
        let mut least = BLOCKS;
        for number in 0..4000 {
            assert_eq!(step(&mut ftl, &mut stream, footprint), Outcome::Done);
            if number > 1000 {
                least = least.min(ftl.free_blocks_min());
            }
        }
        (least, *ftl.counters())
    };
    let (forced, _) = lived(0, 20 * PAGES);
    let (unforced, counters) = lived(8, 20 * PAGES);
    assert_eq!((forced, unforced), (3, 8));
    let victims = counters.gc_victims * u64::from(PAGES);
    assert!(counters.gc_victim_valid_units <= victims * 7 / 8, "an eighth of each victim is invalid");
    // 34 blocks of data leave no victim worth it before the reserve is needed.
    assert!(lived(8, 34 * PAGES).0 < 8);
}

#[test]
fn a_block_of_which_less_than_an_eighth_is_invalid_is_no_unforced_victim() {
    // Blocks of 32 pages, 12 of 40 written in order; then some pages of each written block are trimmed.
    let collected = |trimmed: u32| {
        let geometry = Geometry::flat(BLOCKS, 32, Bytes(4096)).unwrap();
        let config = FtlConfig { gc_unforced: BLOCKS, endurance: None, ..super::config(34 * 32, BLOCKS, 3) };
        let mut ftl = Ftl::new(Array::new(geometry), config).unwrap();
        let units = |range: std::ops::Range<u32>| range.map(Lpn).collect::<Vec<_>>();
        ftl.write(&units(0..12 * 32));
        (0..12).for_each(|block| ftl.trim(&units(block * 32..block * 32 + trimmed)).unwrap());
        ftl.write(&units(12 * 32..13 * 32));
        ftl.check().unwrap();
        ftl.counters().gc_victims
    };
    assert_eq!((collected(3), collected(4) > 0), (0, true));
}

#[test]
fn a_drive_dies_when_all_that_is_free_retires() {
    let mut ftl = new(FtlConfig { capacity: policy(CAPACITY_POLICIES, "fixed", ""), ..variant() });
    let mut stream = Streams::new(5).stream("writes");
    live(&mut ftl, &mut stream, 12 * PAGES, |ftl| ftl.erase_counts().iter().max() == Some(&15));
    assert_eq!(
        ftl.set_retirement_threshold(RetirementThreshold::Erases(1)),
        Some(Outcome::Dead(EndOfLife::NoFreeBlock))
    );
    ftl.check().unwrap();
    assert_eq!(ftl.write(&[Lpn(0)]), (0, Outcome::Dead(EndOfLife::NoFreeBlock)));
}
