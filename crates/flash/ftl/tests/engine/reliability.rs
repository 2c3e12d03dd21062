//! Stripes and scrubbing on a medium that fails on demand.

use std::collections::BTreeSet;

use wane_ftl::policies::find;
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::{Action, ScrubPolicy, ScrubView};
use wane_ftl::{BlockState, EndOfLife, EraseGroup, Ftl, FtlConfig, Origin, OutOfRange, Outcome, Pooling};
use wane_nand::{FlashOp, Health, Media, OpKind, Purpose};
use wane_testkit::{FailingMedia, StrictMedia};
use wane_units::{BlockId, Bytes, Geometry, Lpn, Ppn, SuperblockId, UnitId};

/// Logical units. Even with an equal amount of parity, a third of the flash is spare.
const UNITS: u32 = 300;

/// With this many logical units parity leaves no spare.
const CROWDED: u32 = 7500;

/// Four dies of 16 blocks of 8 pages, 2 mapping units a page.
fn drive(redundancy: &str, data_pages: u32, unit: EraseGroup) -> Ftl<FailingMedia> {
    let geometry = Geometry::new(2, 2, 1, 16, 8, Bytes(8192)).unwrap();
    let parameters = if redundancy == "none" { String::new() } else { format!("data-pages = {data_pages}") };
    let domain = if unit == EraseGroup::Block { Pooling::Die } else { Pooling::Drive };
    let config = FtlConfig {
        units_per_page: 2,
        erase_group: unit,
        domain,
        placement: super::placement("separate"),
        redundancy: find(REDUNDANCY_POLICIES, redundancy).unwrap().parse(parameters.parse().unwrap()).unwrap(),
        ..super::config(UNITS, if unit == EraseGroup::Block { 56 } else { 14 }, 2)
    };
    Ftl::new(FailingMedia::new(geometry), config).unwrap()
}

fn drive_with(retire: &str, unit: EraseGroup) -> Ftl<FailingMedia> {
    let geometry = Geometry::new(2, 2, 1, 16, 8, Bytes(8192)).unwrap();
    let domain = if unit == EraseGroup::Block { Pooling::Die } else { Pooling::Drive };
    let config = FtlConfig {
        units_per_page: 2,
        erase_group: unit,
        domain,
        retire: find(RETIRE_POLICIES, retire).unwrap().parse(toml::Table::new()).unwrap(),
        ..super::config(UNITS, if unit == EraseGroup::Block { 56 } else { 14 }, 2)
    };
    Ftl::new(FailingMedia::new(geometry), config).unwrap()
}

/// Writes every unit in order, then `random` units.
fn fill(ftl: &mut Ftl<FailingMedia>, random: u32) {
    let all: Vec<u32> = (0..UNITS).collect();
    assert_eq!(ftl.write(Lpn::slice(&all)), (all.len(), Outcome::Done));
    let mut stream = wane_sim::Streams::new(3).stream("test");
    let scatter: Vec<u32> = (0..random).map(|_| stream.below(u64::from(UNITS)) as u32).collect();
    assert_eq!(ftl.write(Lpn::slice(&scatter)), (scatter.len(), Outcome::Done));
    ftl.check().unwrap();
}

#[test]
fn one_page_of_parity_is_written_for_every_full_stripe() {
    for unit in [EraseGroup::Block, EraseGroup::Superblock] {
        for data_pages in [1, 2, 3] {
            let mut ftl = drive("stripes", data_pages, unit);
            fill(&mut ftl, 0);
            let per_stripe = 2 * u64::from(data_pages);
            let (want, found) = (u64::from(UNITS) / per_stripe, ftl.counters().programmed_parity / 2);
            // A stripe may still wait for a die of its own.
            assert!(found <= want && found + 8 >= want, "{unit:?} {data_pages}: {found} of {want} pages of parity");
            fill(&mut ftl, 2000);
            let counters = ftl.counters();
            let data = counters.programmed_host + counters.programmed_gc + counters.programmed_padding;
            let share = counters.programmed_parity as f64 * f64::from(data_pages) / data as f64;
            // Stripes that empty before their parity is due never get it.
            assert!((0.6..=1.0).contains(&share), "{unit:?} {data_pages}: {share} {counters:?}");
            assert_eq!(counters.stripes_unprotected, 0);
        }
    }
}

#[test]
fn a_die_that_collects_many_victims_in_a_row_leaves_no_stripe_unfinished() {
    // Victims are nearly full, so a die copies ten blocks of 128 pages for each one that it gains.
    let geometry = Geometry::new(4, 2, 1, 64, 128, Bytes(8192)).unwrap();
    let config = FtlConfig {
        units_per_page: 2,
        erase_group: EraseGroup::Block,
        domain: Pooling::Die,
        placement: super::placement("separate"),
        redundancy: find(REDUNDANCY_POLICIES, "stripes").unwrap().parse("data-pages = 7".parse().unwrap()).unwrap(),
        ..super::config(80_000, 8 * 60, 2)
    };
    let mut ftl = Ftl::new(StrictMedia::new(geometry), config).unwrap();
    let mut stream = wane_sim::Streams::new(3).stream("test");
    let units: Vec<u32> = (0..80_000).chain((0..60_000).map(|_| stream.below(80_000) as u32)).collect();
    assert_eq!(ftl.write(Lpn::slice(&units)), (units.len(), Outcome::Done));
    let counters = ftl.counters();
    let data = counters.programmed_host + counters.programmed_gc + counters.programmed_padding;
    let share = counters.programmed_parity as f64 * 7.0 / data as f64;
    assert!((0.9..=1.0).contains(&share), "{share} {counters:?}");
}

#[test]
fn lost_parity_is_made_again_from_its_data() {
    for data_pages in [1, 3] {
        let mut ftl = drive("stripes", data_pages, EraseGroup::Block);
        fill(&mut ftl, 1000);
        ftl.media_mut().in_relocations = true;
        let pages = ftl.media().geometry().pages();
        let mut stream = wane_sim::Streams::new(9).stream("test");
        for _ in 0..400 {
            // Every page without host data: of those only parity is relocated.
            let data: BTreeSet<u32> =
                (0..UNITS).filter_map(|unit| ftl.lookup(Lpn(unit))).map(|unit| unit.0 / 2).collect();
            ftl.media_mut().failing = (0..pages).filter(|page| !data.contains(page)).map(Ppn).collect();
            let units: Vec<u32> = (0..4).map(|_| stream.below(u64::from(UNITS)) as u32).collect();
            assert_eq!(ftl.write(Lpn::slice(&units)), (units.len(), Outcome::Done));
        }
        let counters = ftl.counters();
        assert!(counters.recoveries > 20, "{data_pages}: {counters:?}");
        assert_eq!((counters.relocation_reads_uncorrectable, counters.recovery_failures), (0, 0), "{data_pages}");
        ftl.check().unwrap();
    }
}

#[test]
fn a_drive_whose_parity_takes_what_collection_frees_is_dead() {
    let geometry = Geometry::new(2, 2, 1, 48, 32, Bytes(8192)).unwrap();
    let parameters = "data-pages = 3";
    let config = FtlConfig {
        units_per_page: 2,
        domain: Pooling::Die,
        placement: super::placement("separate"),
        redundancy: find(REDUNDANCY_POLICIES, "stripes").unwrap().parse(parameters.parse().unwrap()).unwrap(),
        ..super::config(CROWDED, 184, 2)
    };
    let mut ftl = Ftl::new(FailingMedia::new(geometry), config).unwrap();
    let mut stream = wane_sim::Streams::new(5).stream("crowd");
    let mut outcome = Outcome::Done;
    for _ in 0..60_000 {
        outcome = ftl.write(Lpn::slice(&[stream.below(u64::from(CROWDED)) as u32])).1;
        if outcome != Outcome::Done {
            break;
        }
    }
    assert_eq!(outcome, Outcome::Dead(EndOfLife::NoVictim));
    ftl.check().unwrap();
}

#[test]
fn selective_redundancy_writes_parity_for_relocated_data_only() {
    let mut ftl = drive("selective", 3, EraseGroup::Block);
    fill(&mut ftl, 0);
    assert_eq!(ftl.counters().programmed_parity, 0);
    fill(&mut ftl, 8000);
    let counters = ftl.counters();
    let want = counters.programmed_gc / 3;
    assert!(counters.programmed_parity.abs_diff(want) < 200 && want > 100, "{counters:?}");
}

/// The firmware block of a unit.
fn block_of<M: Media>(ftl: &Ftl<M>, unit: UnitId) -> SuperblockId {
    ftl.layout().locate(unit).0
}

/// Where a logical unit lies.
fn page_of(ftl: &Ftl<FailingMedia>, logical: u32) -> Ppn {
    let unit = ftl.lookup(Lpn(logical)).unwrap();
    let (block, within) = ftl.layout().locate(unit);
    let (block, page) = ftl.layout().place(block, within);
    ftl.media().geometry().page(block, page)
}

#[test]
fn a_lost_page_comes_back_from_its_stripe_and_two_do_not() {
    for unit in [EraseGroup::Block, EraseGroup::Superblock] {
        let mut ftl = drive("stripes", 3, unit);
        fill(&mut ftl, 2000);
        let (mut protected, mut lost) = (0, 0);
        for logical in 0..UNITS {
            let page = page_of(&ftl, logical);
            ftl.media_mut().failing = [page].into();
            ftl.media_mut().recovery_reads.clear();
            let before = *ftl.counters();
            ftl.read(Lpn::slice(&[logical])).unwrap();
            let after = *ftl.counters();
            if after.recoveries == before.recoveries {
                // Still in the page buffer.
                continue;
            }
            let reads = ftl.media().recovery_reads.clone();
            assert!(reads.len() <= 4 && !reads.contains(&page), "{reads:?}");
            assert_eq!(after.host_reads_uncorrectable, lost, "unit {logical}");
            protected += 1;
            // Members whose block was erased have left their stripe, so it may be small.
            let Some(second) = reads.first() else { continue };
            ftl.media_mut().failing.insert(*second);
            ftl.read(Lpn::slice(&[logical])).unwrap();
            let lost_now = ftl.counters().host_reads_uncorrectable;
            assert_eq!((lost_now, ftl.counters().recovery_failures), (lost + 1, lost + 1), "two pages of a stripe");
            lost = lost_now;
            let geometry = *ftl.media().geometry();
            let dies: BTreeSet<_> =
                reads.iter().chain([&page]).map(|page| geometry.die_of(geometry.block_of(*page))).collect();
            assert!(dies.len() >= reads.len(), "members lie on different dies: {reads:?}");
        }
        assert!(protected > 250, "{protected}");
    }
}

#[test]
fn without_redundancy_a_lost_page_stays_lost() {
    let mut ftl = drive("none", 0, EraseGroup::Block);
    fill(&mut ftl, 0);
    let lost = page_of(&ftl, 5);
    ftl.media_mut().failing = [lost].into();
    ftl.read(Lpn::slice(&[5])).unwrap();
    let counters = ftl.counters();
    assert_eq!((counters.host_reads_uncorrectable, counters.recovery_failures, counters.programmed_parity), (1, 0, 0));
}

#[test]
fn data_lost_in_a_relocation_stay_lost_until_they_are_written_or_trimmed() {
    // With two lost pages a stripe gives neither back.
    for (redundancy, unit) in
        [("none", EraseGroup::Block), ("none", EraseGroup::Superblock), ("stripes", EraseGroup::Block)]
    {
        let mut ftl = drive(redundancy, 3, unit);
        fill(&mut ftl, 1000);
        let pages = ftl.media().geometry().pages();
        (ftl.media_mut().in_relocations, ftl.media_mut().failing) = (true, (0..pages).map(Ppn).collect());
        let mut stream = wane_sim::Streams::new(4).stream("test");
        if redundancy == "stripes" {
            ftl.media_mut().in_relocations = false;
        }
        let before: Vec<UnitId> = (0..UNITS).map(|unit| ftl.lookup(Lpn(unit)).unwrap()).collect();
        let scatter: Vec<u32> = (0..600).map(|_| stream.below(u64::from(UNITS)) as u32).collect();
        assert_eq!(ftl.write(Lpn::slice(&scatter)), (scatter.len(), Outcome::Done));
        ftl.media_mut().failing.clear();
        let lost: Vec<u32> = (0..UNITS).filter(|unit| ftl.is_lost(Lpn(*unit))).collect();
        assert!(lost.len() > 5 && ftl.counters().relocation_reads_uncorrectable > 0, "{redundancy} {unit:?}");
        assert!(
            lost.iter().all(|unit| ftl.lookup(Lpn(*unit)) != Some(before[*unit as usize])),
            "only what moved is lost"
        );
        ftl.check().unwrap();
        // Pages can be read now, but still do not hold what the host wrote, however often they move.
        for _ in 0..2 {
            let moved: Vec<u32> =
                (0..UNITS).cycle().take(900).filter(|unit| unit % 3 == 0 && !lost.contains(unit)).collect();
            assert_eq!(ftl.write(Lpn::slice(&moved)), (moved.len(), Outcome::Done));
            for unit in &lost {
                let (failed, found) = (ftl.counters().host_reads_uncorrectable, ftl.lookup(Lpn(*unit)));
                ftl.read(Lpn::slice(&[*unit])).unwrap();
                assert_eq!(ftl.counters().host_reads_uncorrectable, failed + 1, "unit {unit} at {found:?}");
            }
        }
        let (written, trimmed) = lost.split_at(lost.len() / 2);
        assert_eq!(ftl.write(Lpn::slice(written)), (written.len(), Outcome::Done));
        ftl.trim(Lpn::slice(trimmed)).unwrap();
        let failed = ftl.counters().host_reads_uncorrectable;
        ftl.read(Lpn::slice(&lost)).unwrap();
        assert_eq!(ftl.counters().host_reads_uncorrectable, failed, "what is written anew is there");
        ftl.check().unwrap();
    }
}

#[test]
fn requests_beyond_what_is_exported_are_refused_whole() {
    let mut ftl = drive("stripes", 3, EraseGroup::Block);
    fill(&mut ftl, 1000);
    for (exported, unit) in [(UNITS, UNITS), (UNITS, u32::MAX), (UNITS - 10, UNITS - 10)] {
        ftl.trim(&Lpn::all(exported..ftl.exported()).collect::<Vec<_>>()).unwrap();
        ftl.shrink_to(exported);
        let (counters, parity) = (*ftl.counters(), ftl.lookup(Lpn(UNITS)));
        let refused = OutOfRange { unit: Lpn(unit), exported };
        assert_eq!(ftl.write(Lpn::slice(&[0, unit, 1])), (0, Outcome::OutOfRange(refused)));
        assert_eq!(ftl.write_from(Origin::FileSystemMove, None, &[Lpn(unit)]), (0, Outcome::OutOfRange(refused)));
        assert_eq!(ftl.write_uncorrectable(Lpn(unit)), Err(refused));
        assert_eq!((ftl.read(Lpn::slice(&[0, unit])), ftl.trim(Lpn::slice(&[unit, 0]))), (Err(refused), Err(refused)));
        assert_eq!((*ftl.counters(), ftl.lookup(Lpn(UNITS))), (counters, parity), "nothing was done");
        ftl.check().unwrap();
    }
}

#[test]
fn what_is_written_as_uncorrectable_is_lost_until_it_is_written_or_trimmed() {
    let mut ftl = drive("stripes", 3, EraseGroup::Block);
    fill(&mut ftl, 100);
    for unit in [3, 4] {
        ftl.write_uncorrectable(Lpn(unit)).unwrap();
    }
    ftl.read(Lpn::slice(&[2, 3, 4, 5])).unwrap();
    assert_eq!(ftl.unread(), Lpn::slice(&[3, 4]));
    assert_eq!(ftl.write(&[Lpn(3)]), (1, Outcome::Done));
    ftl.trim(&[Lpn(4)]).unwrap();
    // A unit without data has none to lose.
    ftl.write_uncorrectable(Lpn(4)).unwrap();
    ftl.read(Lpn::slice(&[2, 3, 4, 5])).unwrap();
    assert_eq!((ftl.unread(), ftl.is_lost(Lpn(4))), (&[][..], false));
    ftl.check().unwrap();
}

#[test]
fn a_block_retires_at_the_last_erase_that_can_be_counted() {
    let mut array = wane_nand::Array::new(Geometry::flat(16, 8, Bytes(4096)).unwrap());
    array.set_erase_count(BlockId(3), u32::MAX);
    array.set_erase_count(BlockId(4), u32::MAX - 1);
    let mut ftl = Ftl::new(array, super::config(64, 14, 2)).unwrap();
    assert_eq!((ftl.retired_blocks(), ftl.state(SuperblockId(3))), (1, BlockState::Retired));
    let mut stream = wane_sim::Streams::new(4).stream("test");
    let scatter: Vec<u32> = (0..2000).map(|_| stream.below(64) as u32).collect();
    assert_eq!(ftl.write(Lpn::slice(&scatter)), (scatter.len(), Outcome::Done));
    assert_eq!(
        (ftl.retired_blocks(), ftl.state(SuperblockId(4)), ftl.erase_counts()[4]),
        (2, BlockState::Retired, u32::MAX)
    );
    ftl.check().unwrap();
}

#[test]
fn a_drive_whose_pages_fail_for_ever_ends_or_hands_back() {
    for (every, unit) in [(1, EraseGroup::Block), (2, EraseGroup::Block), (1, EraseGroup::Superblock)] {
        let mut ftl = drive_with("never", unit);
        ftl.media_mut().program_fails_every = every;
        let (mut unit, mut done, mut handed_back) = (0, 0, 0);
        let outcome = loop {
            let (written, outcome) = ftl.write(Lpn::slice(&[unit]));
            let outcome = if outcome == Outcome::Paused { ftl.resume() } else { outcome };
            done += written;
            handed_back += u32::from(outcome == Outcome::Paused);
            match outcome {
                Outcome::Done | Outcome::Paused => unit = (unit + 7) % UNITS,
                end => break end,
            }
            assert!(handed_back < 100 && done < 1_000_000, "it goes on for ever");
        };
        assert!(matches!(outcome, Outcome::Dead(_)), "{outcome:?}");
        ftl.check().unwrap();
    }
}

#[test]
fn stripes_that_the_dies_cannot_hold_are_refused() {
    for (name, domain, unit, data_pages, want) in [
        ("stripes", Pooling::Die, EraseGroup::Block, 4, "need 5 dies; the drive has 4"),
        ("stripes", Pooling::Drive, EraseGroup::Block, 3, "from die to die"),
        ("rain", Pooling::Die, EraseGroup::Block, 2, "need groups of 3 dies; the drive has 4"),
        ("rain", Pooling::Drive, EraseGroup::Superblock, 3, "pool blocks by die"),
    ] {
        let parameters = format!("data-pages = {data_pages}");
        let config = FtlConfig {
            domain,
            erase_group: unit,
            redundancy: find(REDUNDANCY_POLICIES, name).unwrap().parse(parameters.parse().unwrap()).unwrap(),
            ..super::config(100, if unit == EraseGroup::Block { 56 } else { 14 }, 2)
        };
        let geometry = Geometry::new(2, 2, 1, 16, 8, Bytes(4096)).unwrap();
        let error = Ftl::new(StrictMedia::new(geometry), config).err().unwrap().to_string();
        assert!(error.contains(want), "{error}");
    }
}

/// Two groups of four dies.
#[test]
fn reads_are_offered_the_rest_of_their_stripe_on_the_other_dies_of_their_group() {
    let drive = |redundancy: &str| {
        let geometry = Geometry::new(4, 2, 1, 16, 8, Bytes(8192)).unwrap();
        let parameters = "data-pages = 3".parse().unwrap();
        let config = FtlConfig {
            units_per_page: 2,
            domain: Pooling::Die,
            placement: super::placement("separate"),
            redundancy: find(REDUNDANCY_POLICIES, redundancy).unwrap().parse(parameters).unwrap(),
            ..super::config(UNITS, 8 * 14, 2)
        };
        let mut ftl = Ftl::new(FailingMedia::new(geometry), config).unwrap();
        fill(&mut ftl, 10_000);
        ftl
    };
    let mut ftl = drive("rain");
    let before = ftl.media().media.reads;
    let die = |op: &FlashOp| op.block.0 / 16;
    let (mut whole, mut all, mut far, mut groups) = (0, 0, 0, BTreeSet::new());
    for unit in 0..UNITS {
        ftl.media_mut().media.ops = Some(Vec::new());
        ftl.read(&[Lpn(unit)]).unwrap();
        let ops = ftl.media_mut().media.ops.take().unwrap();
        let around = &ops[1..];
        assert!(around.iter().all(|op| op.kind == OpKind::Read(Purpose::Instead) && op.bytes == ops[0].bytes));
        assert!(around.iter().all(|op| die(op) != die(&ops[0])), "{ops:?}");
        let dies: BTreeSet<u32> = ops.iter().map(die).collect();
        whole += u32::from(dies.len() == 4);
        // If too much parity waits, it goes to any die; all else lies in the group.
        let near = around.iter().filter(|op| die(op) / 4 == die(&ops[0]) / 4).count();
        assert!(around.is_empty() || near + 2 >= around.len(), "{ops:?}");
        (all, far) = (all + around.len(), far + around.len() - near);
        groups.insert(die(&ops[0]) / 4);
    }
    // Pages have fewer if their stripe is still filling or other pages of it were erased.
    assert!(whole > UNITS / 4 && groups.len() == 2, "{whole} {groups:?}");
    assert!(20 * far < all, "{far} of {all} lie in the other group");
    assert!(ftl.media().media.reads <= before + u64::from(UNITS), "only the pages themselves are read");
    let mut plain = drive("stripes");
    plain.media_mut().media.ops = Some(Vec::new());
    plain.read(&Lpn::all(0..UNITS).collect::<Vec<_>>()).unwrap();
    let ops = plain.media_mut().media.ops.take().unwrap();
    assert!(ops.len() > 100 && ops.iter().all(|op| op.kind != OpKind::Read(Purpose::Instead)));
}

/// Relocates the block of every read.
#[derive(Clone)]
struct Eager;

impl ScrubPolicy for Eager {
    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        view.touched().find(|block| view.valid(*block).is_some()).map(Action::Relocate)
    }
}

#[test]
fn scrubbing_moves_a_block_to_its_own_stream() {
    let geometry = Geometry::flat(16, 8, Bytes(4096)).unwrap();
    let config =
        FtlConfig { scrub: Box::new(Eager), placement: super::placement("separate"), ..super::config(64, 14, 2) };
    let mut ftl = Ftl::new(StrictMedia::new(geometry), config).unwrap();
    ftl.write(&Lpn::all(0..64).collect::<Vec<_>>());
    ftl.trim(Lpn::slice(&[1, 3])).unwrap();
    assert_eq!(ftl.scrub(), None);
    let from = block_of(&ftl, ftl.lookup(Lpn(0)).unwrap());
    ftl.read(Lpn::slice(&[0])).unwrap();
    assert_eq!(ftl.scrub(), Some(Outcome::Done));
    ftl.check().unwrap();
    let to = block_of(&ftl, ftl.lookup(Lpn(0)).unwrap());
    assert!((2..8).all(|page| page == 3 || block_of(&ftl, ftl.lookup(Lpn(page)).unwrap()) == to) && from != to);
    let counters = ftl.counters();
    assert_eq!((counters.programmed_scrub, counters.erases_scrub, counters.programmed_gc), (6, 1, 0));
    assert_eq!((ftl.erase_counts()[from.index()], ftl.scrub()), (1, None));
}

#[test]
fn data_in_an_open_block_is_scrubbed_once_it_is_old_or_was_read_much() {
    let (worn, old) = (Health { reads: 8, ..Health::default() }, Health { age_days: 1.0, ..Health::default() });
    let fresh = Health { reads: 7, age_days: 0.9, ..Health::default() };
    for (health, frontiers, moves) in
        [(fresh, "separate", false), (worn, "separate", true), (old, "separate", true), (worn, "one", true)]
    {
        let config =
            FtlConfig { scrub: Box::new(Eager), placement: super::placement(frontiers), ..super::config(64, 14, 2) };
        let mut media = FailingMedia::new(Geometry::flat(16, 8, Bytes(4096)).unwrap());
        media.health = health;
        let mut ftl = Ftl::new(media, config).unwrap();
        ftl.write(Lpn::slice(&[0, 1, 2]));
        // The host's block, then the scrubber's own.
        for _ in 0..2 {
            let from = block_of(&ftl, ftl.lookup(Lpn(0)).unwrap());
            ftl.read(Lpn::slice(&[0])).unwrap();
            assert_eq!(ftl.scrub(), moves.then_some(Outcome::Done), "{health:?} {frontiers:?}");
            ftl.check().unwrap();
            assert_eq!(block_of(&ftl, ftl.lookup(Lpn(0)).unwrap()) != from, moves, "{health:?} {frontiers:?}");
        }
        ftl.write(&Lpn::all(0..64).collect::<Vec<_>>());
        ftl.check().unwrap();
        assert_eq!(ftl.counters().programmed_scrub, if moves { 6 } else { 0 });
    }
}

#[test]
fn a_failed_program_empties_and_retires_its_block() {
    for (retire, lives_on) in [("at-endurance", false), ("never", true)] {
        for unit in [EraseGroup::Block, EraseGroup::Superblock] {
            let mut ftl = drive_with(retire, unit);
            ftl.media_mut().program_fails_every = 397;
            fill(&mut ftl, 3000);
            let failures = ftl.media().programs / 397;
            assert!(failures >= 2);
            assert_eq!(ftl.retired_blocks() == 0, lives_on, "{retire}: {} of {failures}", ftl.retired_blocks());
            assert!(u64::from(ftl.retired_blocks()) <= failures);
            assert!((0..UNITS).all(|unit| ftl.lookup(Lpn(unit)).is_some()), "no data are lost");
        }
    }
}

#[test]
fn a_block_whose_program_failed_is_not_written_further() {
    let mut ftl = drive_with("at-endurance", EraseGroup::Block);
    ftl.media_mut().program_fails_every = 51;
    for unit in 0..200 {
        let before = ftl.retired_blocks();
        let (_, outcome) = ftl.write(Lpn::slice(&[unit]));
        assert_eq!(outcome, Outcome::Done);
        assert!(
            ftl.retired_blocks() == before || ftl.counters().erases_gc == u64::from(ftl.retired_blocks()),
            "emptied and retired at once"
        );
    }
    assert!(ftl.retired_blocks() > 0);
}

#[test]
fn a_block_whose_erase_fails_leaves_service_whatever_the_policy() {
    let mut ftl = drive_with("never", EraseGroup::Block);
    ftl.media_mut().erase_fails = [BlockId(3), BlockId(20)].into();
    fill(&mut ftl, 3000);
    assert_eq!((ftl.retired_blocks(), ftl.erase_counts()[3], ftl.erase_counts()[20]), (2, 1, 1));
}

#[test]
fn blocks_that_came_bad_are_never_used() {
    let geometry = Geometry::new(2, 2, 1, 16, 8, Bytes(8192)).unwrap();
    let mut media = FailingMedia::new(geometry);
    media.unusable = [BlockId(0), BlockId(17), BlockId(40)].into();
    let config = FtlConfig { units_per_page: 2, domain: Pooling::Die, ..super::config(UNITS, 56, 2) };
    let mut ftl = Ftl::new(media, config).unwrap();
    assert_eq!(ftl.retired_blocks(), 3);
    fill(&mut ftl, 3000);
    for block in [0, 17, 40] {
        assert_eq!((ftl.state(SuperblockId(block)), ftl.erase_counts()[block as usize]), (BlockState::Retired, 0));
    }
    let mut media = FailingMedia::new(geometry);
    media.unusable = (0..40).map(BlockId).collect();
    let config = FtlConfig { units_per_page: 2, domain: Pooling::Die, ..super::config(UNITS, 56, 2) };
    let error = Ftl::new(media, config).err().unwrap().to_string();
    assert!(error.contains("40 are bad"), "{error}");
}
