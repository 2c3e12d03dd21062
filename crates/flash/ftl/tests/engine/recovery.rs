//! What a drive writes so that it survives a power cut, and what it reads after one. The crash explorer (`wane_testkit::crash`) checks
//! that it recovers at all.

use std::num::NonZeroU32;

use wane_ftl::policies::capacity::{CAPACITY_POLICIES, Demand};
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::{Entry, find};
use wane_ftl::{
    BuildError, EndOfLife, Event, Ftl, FtlConfig, Outcome, Pooling, Protection, RefusedSetting, RemapError,
};
use wane_nand::{Array, Media};
use wane_sim::{Stream, Streams};
use wane_testkit::{Content, FailingMedia};
use wane_units::{Bytes, Geometry, Lpn, SuperblockId};

const BLOCKS: u32 = 40;
const PAGES: u32 = 16;
/// A summary of the map covers 16 units.
const PAGE: Bytes = Bytes(64);

fn policy<T>(family: &[Entry<T>], name: &str, parameters: &str) -> T {
    find(family, name).unwrap().parse(parameters.parse().unwrap()).unwrap()
}

fn kept(name: &str, parameters: &str) -> FtlConfig {
    FtlConfig { recovery: policy(RECOVERY_POLICIES, name, parameters), ..super::config(20 * PAGES, BLOCKS - 3, 3) }
}

fn new(config: &FtlConfig) -> Ftl<Array> {
    Ftl::new(Array::new(Geometry::flat(BLOCKS, PAGES, PAGE).unwrap()), config.clone()).unwrap()
}

fn write(ftl: &mut Ftl<Array>, stream: &mut Stream, units: u32) {
    for _ in 0..units {
        let unit = Lpn(stream.below(u64::from(ftl.exported())) as u32);
        assert_eq!(ftl.write(&[unit]), (1, Outcome::Done));
    }
}

fn places<M: Media>(ftl: &Ftl<M>) -> Vec<Option<wane_units::UnitId>> {
    Lpn::all(0..ftl.logical_initial()).map(|unit| ftl.lookup(unit)).collect()
}

fn mapped(ftl: &Ftl<Array>) -> Vec<Lpn> {
    Lpn::all(0..ftl.logical_initial()).filter(|unit| ftl.lookup(*unit).is_some()).collect()
}

#[test]
fn a_checkpoint_bounds_what_is_read() {
    let interval = 8_u32;
    let config = kept("checkpoint", &format!("interval = {interval}"));
    let (mut ftl, mut stream) = (new(&config), Streams::new(4).stream("writes"));
    write(&mut ftl, &mut stream, 4000);
    let (programmed, metadata) = (ftl.counters().programmed_total(), ftl.counters().programmed_metadata);
    let share = metadata as f64 * f64::from(interval) / (programmed - metadata) as f64;
    assert!((0.8..1.0).contains(&share), "a page of the map for 8 others: {share}");
    assert!(ftl.counters().erases_metadata > 10);
    let before = places(&ftl);
    let (recovered, report) = Ftl::recover(ftl.power_cut().unwrap(), config).unwrap();
    assert_eq!(places(&recovered), before);
    let parts = 20;
    assert_eq!((report.summary_pages_read, report.journal_pages_read, report.pages_unreadable), (parts, 0, 0));
    // The last round of the map, what is due until the host's block is full, and a page of each block that was open.
    let since = parts * u64::from(interval) + 2 * u64::from(PAGES);
    assert!(report.data_pages_read <= since + report.blocks_searched, "{report:?}");
    assert_eq!(report.units_mapped, before.iter().flatten().count() as u64);
}

#[test]
fn a_full_scan_reads_every_programmed_page_and_writes_nothing_until_something_is_trimmed() {
    let config = kept("full-scan", "");
    let (mut ftl, mut stream) = (new(&config), Streams::new(4).stream("writes"));
    write(&mut ftl, &mut stream, 4000);
    assert_eq!(ftl.counters().programmed_metadata, 0);
    let units: Vec<Lpn> = (0..ftl.exported()).step_by(2).map(Lpn).collect();
    ftl.trim(&units).unwrap();
    write(&mut ftl, &mut stream, 400);
    assert!(ftl.counters().programmed_metadata > 0, "half of the units are 160 records, of which 4 fill a page");
    let before = places(&ftl);
    let (recovered, report) = Ftl::recover(ftl.power_cut().unwrap(), config).unwrap();
    assert_eq!(places(&recovered), before);
    assert!(report.data_pages_read > u64::from(20 * PAGES), "{report:?}");
}

/// With power-loss protection no copy of the map is kept. The explorer's drives keep one.
#[test]
fn a_checkpoint_without_a_copy_of_the_map_is_the_one_with_it() {
    let config = kept("checkpoint", "interval = 8");
    let lived = |copies: bool| {
        let (mut ftl, mut stream) = (new(&config), Streams::new(6).stream("writes"));
        if copies {
            ftl.capture_cuts();
        }
        for round in 0..40 {
            write(&mut ftl, &mut stream, 50);
            ftl.trim(&[Lpn(round), Lpn(round + 100)]).unwrap();
            ftl.remap(Lpn(round), Lpn(200), 4, 4).unwrap();
            drop(ftl.take_cuts());
        }
        let before = places(&ftl);
        let (recovered, report) = Ftl::recover(ftl.power_cut().unwrap(), config.clone()).unwrap();
        assert_eq!(places(&recovered), before);
        report
    };
    assert_eq!(lived(false), lived(true));
}

#[test]
fn without_protection_a_flush_pads_and_writes_the_journal() {
    for (power_loss_protection, padding, metadata) in [(true, 0, 0), (false, 3, 8)] {
        let config = FtlConfig { units_per_page: 4, power_loss_protection, ..kept("full-scan", "") };
        let mut ftl = new(&config);
        ftl.write(&[Lpn(0), Lpn(1), Lpn(2), Lpn(3), Lpn(4)]);
        assert_eq!(ftl.flush(), Outcome::Done);
        assert_eq!(ftl.counters().programmed_padding, padding);
        // A page of the journal and the summary that is due for it: 4 units each.
        ftl.trim(&[Lpn(0)]).unwrap();
        assert_eq!(ftl.flush(), Outcome::Done);
        assert_eq!(ftl.counters().programmed_metadata, metadata);
        // Nothing is new.
        assert_eq!(ftl.flush(), Outcome::Done);
        assert_eq!((ftl.counters().programmed_padding, ftl.counters().programmed_metadata), (padding, metadata));
        let (recovered, report) = Ftl::recover(ftl.power_cut().unwrap(), config).unwrap();
        assert_eq!(mapped(&recovered), [1, 2, 3, 4].map(Lpn));
        assert_eq!(report.units_rewritten, u64::from(power_loss_protection), "the fifth unit fills no page");
    }
}

#[test]
fn what_is_not_flushed_is_lost_without_protection() {
    let config = FtlConfig { units_per_page: 4, power_loss_protection: false, ..kept("full-scan", "") };
    let mut ftl = new(&config);
    ftl.write(&[0, 1, 2, 3, 4].map(Lpn));
    let (recovered, _) = Ftl::recover(ftl.power_cut().unwrap(), config).unwrap();
    assert_eq!(mapped(&recovered), [0, 1, 2, 3].map(Lpn));
}

#[test]
fn a_full_remap_log_is_cleaned_or_the_command_is_refused() {
    let config = FtlConfig { remap_log: Bytes(64), ..kept("checkpoint", "") };
    let (mut ftl, mut stream) = (new(&config), Streams::new(4).stream("writes"));
    write(&mut ftl, &mut stream, 1000);
    let units: Vec<Lpn> = (0..64).map(Lpn).collect();
    ftl.write(&units);
    let (gc, mapped) = (ftl.counters().programmed_gc, places(&ftl).iter().flatten().count());
    for round in 0..8 {
        assert_eq!(ftl.remap(Lpn(100 + 4 * round), Lpn(4 * round), 4, 4), Ok(4));
        ftl.check().unwrap();
    }
    assert!(ftl.counters().programmed_gc > gc, "32 entries do not fit 8");
    let refused = ftl.remap(Lpn(100), Lpn(40), 9, 9);
    assert!(matches!(refused, Err(RemapError::LogFull { entries_max: 8, needed: 9, .. })), "{refused:?}");
    let left = places(&ftl).iter().flatten().count();
    assert!(left < mapped, "destinations that held something were replaced");
    let before = places(&ftl);
    let (recovered, _) = Ftl::recover(ftl.power_cut().unwrap(), config).unwrap();
    assert_eq!(places(&recovered), before);
}

#[test]
fn a_drive_that_keeps_nothing_does_not_recover() {
    let nothing = kept("none", "");
    assert!(new(&nothing).power_cut().is_none());
    let cut = new(&kept("full-scan", "")).power_cut().unwrap();
    assert!(matches!(Ftl::recover(cut, nothing), Err(BuildError::NothingKept)));
    let array = Array::new(Geometry::flat(BLOCKS, PAGES, PAGE).unwrap());
    let short = FtlConfig { gc_reserve: 2, ..kept("full-scan", "") };
    let refused = Ftl::new(array, short).err();
    assert!(matches!(refused, Some(BuildError::Contradiction { setting: RefusedSetting::GcReserve, .. })));
    let one_page = Array::new(Geometry::flat(BLOCKS, 1, PAGE).unwrap());
    let fine = FtlConfig { units_per_page: 4, logical_units: 20, ..kept("full-scan", "") };
    let refused = Ftl::new(one_page, fine).err();
    assert!(matches!(refused, Some(BuildError::Contradiction { setting: RefusedSetting::PagesPerBlock, .. })));
    let cut = || new(&kept("full-scan", "")).power_cut().unwrap();
    for other in [kept("checkpoint", ""), FtlConfig { logical_units: 9, ..kept("full-scan", "") }] {
        assert!(matches!(Ftl::recover(cut(), other), Err(BuildError::AnotherDrive)));
    }
    assert!(Ftl::recover(cut(), kept("full-scan", "")).is_ok());
}

/// A drive of four dies, with stripes over all of them.
fn striped(recovery: &str, power_loss_protection: bool) -> FtlConfig {
    FtlConfig {
        domain: Pooling::Die,
        redundancy: policy(REDUNDANCY_POLICIES, "stripes", "data-pages = 3"),
        logical_units: 160,
        rated_blocks: 56,
        power_loss_protection,
        ..kept(recovery, "")
    }
}

fn striped_media() -> FailingMedia {
    FailingMedia::new(Geometry::new(4, 1, 1, 16, PAGES, PAGE).unwrap())
}

#[test]
fn a_checkpoint_tells_of_no_stripes() {
    let refused = Ftl::new(striped_media(), striped("checkpoint", true)).err();
    assert!(matches!(refused, Some(BuildError::Contradiction { setting: RefusedSetting::Recovery, .. })));
    // If a flush closes stripes, all of them may have one page.
    for (power_loss_protection, most) in [(true, 540), (false, 360)] {
        let config = FtlConfig { logical_units: 2000, ..striped("full-scan", power_loss_protection) };
        let refused = Ftl::new(striped_media(), config).err().unwrap().to_string();
        assert!(refused.contains(&format!("at most {most} fit")), "{refused}");
    }
}

#[test]
fn a_flush_closes_stripes_where_buffers_do_not_survive() {
    for (power_loss_protection, parity) in [(true, 0), (false, 1)] {
        let config = striped("full-scan", power_loss_protection);
        let mut ftl = Ftl::new(striped_media(), config.clone()).unwrap();
        assert_eq!(ftl.write(&[Lpn(0)]), (1, Outcome::Done));
        assert_eq!(ftl.flush(), Outcome::Done);
        assert_eq!(ftl.counters().programmed_parity, parity);
        assert_eq!(ftl.flush(), Outcome::Done);
        assert_eq!(ftl.counters().programmed_parity, parity, "nothing is new");
        // Not flushed: it is closed when power comes back.
        assert_eq!(ftl.write(&[Lpn(2)]), (1, Outcome::Done));
        let (recovered, report) = Ftl::recover(ftl.power_cut().unwrap(), config).unwrap();
        assert_eq!(report.stripes_closed, 1);
        assert!([0, 2].iter().all(|unit| recovered.protection(Lpn(*unit)) != Protection::None));
        recovered.check().unwrap();
    }
}

#[test]
fn a_flush_closes_stripes_though_a_block_retires_in_it() {
    let capacity = |parameters| policy(CAPACITY_POLICIES, "variant", parameters);
    let mut stopped = 0;
    for seed in 0..60 {
        let config = FtlConfig {
            endurance: Some(4),
            retire: policy(RETIRE_POLICIES, "at-endurance", ""),
            capacity: capacity("shrink = 'graceful'"),
            logical_units: 360,
            ..striped("full-scan", false)
        };
        let mut ftl = Ftl::new(striped_media(), config).unwrap();
        let mut stream = Streams::new(seed).stream("writes");
        while ftl.end_of_life().is_none() && ftl.exported() > 20 {
            let unit = Lpn(stream.below(u64::from(ftl.exported())) as u32);
            let written = ftl.write(&[unit]).1;
            let before = places(&ftl);
            let flushed = ftl.flush();
            stopped += u32::from(matches!(flushed, Outcome::Demand(_)));
            // Units that collection moves meanwhile join new stripes.
            let stays = |unit: &Lpn| ftl.lookup(*unit) == before[unit.index()];
            let mut open = Lpn::all(0..ftl.exported()).filter(|unit| ftl.protection(*unit) == Protection::InController);
            let open = open.find(stays);
            assert!(open.is_none() || matches!(flushed, Outcome::Dead(_)), "seed {seed}: {open:?} after {flushed:?}");
            for outcome in [written, flushed] {
                if let Outcome::Demand(Demand::ExportAtMost(units)) = outcome {
                    let least = (units as u32).min(ftl.exported());
                    let given: Vec<Lpn> = Lpn::all(least..ftl.exported()).collect();
                    ftl.trim(&given).unwrap();
                    ftl.shrink_to(least);
                }
            }
        }
    }
    assert!(stopped > 10, "flushes that a block retires in: {stopped}");
}

#[test]
fn parity_gives_back_a_page_that_the_cut_tore_with_another_one_of_its_wordline() {
    for power_loss_protection in [true, false] {
        let config = striped("full-scan", power_loss_protection);
        let mut ftl = Ftl::new(striped_media(), config.clone()).unwrap();
        // A page on each die except the one that takes parity.
        let tags =
            |units: &[u32]| units.iter().map(|unit| Some(Content { unit: Lpn(*unit), version: 7 })).collect::<Vec<_>>();
        ftl.write_tagged(&[0, 1, 2].map(Lpn), &tags(&[0, 1, 2]));
        assert_eq!(ftl.flush(), Outcome::Done);
        ftl.capture_cuts();
        ftl.write_tagged(&[3, 4, 5, 6].map(Lpn), &tags(&[3, 4, 5, 6]));
        let mut rebuilt = 0;
        for cut in ftl.take_cuts() {
            let (mut recovered, report) = Ftl::recover(cut.torn(1), config.clone()).unwrap();
            rebuilt += report.pages_rebuilt;
            for unit in (0..3).map(Lpn) {
                recovered.read(&[unit]).unwrap();
                assert!(recovered.unread().is_empty() && recovered.tag(unit).is_some(), "{unit:?}");
            }
            recovered.check().unwrap();
        }
        assert!(rebuilt >= 3, "{rebuilt}");
    }
}

#[test]
fn a_flush_fills_the_wordline_so_that_no_later_cut_tears_what_was_flushed() {
    for pages in [1, 3] {
        let mut config = kept("full-scan", "");
        (config.power_loss_protection, config.wordline_pages) = (false, NonZeroU32::new(pages).unwrap());
        let mut ftl = new(&config);
        ftl.write(&[Lpn(7)]);
        assert_eq!(ftl.flush(), Outcome::Done);
        assert_eq!(ftl.counters().programmed_padding, u64::from(pages) - 1);
        ftl.capture_cuts();
        ftl.write(&[1, 2, 3].map(Lpn));
        let mut lower = Vec::new();
        for cut in ftl.take_cuts().into_iter().filter(|cut| matches!(cut.event(), Some(Event::Program { .. }))) {
            let written = lower.len();
            lower.push(cut.lower_pages());
            let (recovered, _) = Ftl::recover(cut.torn(lower[written]), config.clone()).unwrap();
            let found = mapped(&recovered);
            // Those before the torn page lie on its wordline.
            let left: &[u32] = if pages == 1 { &[1, 2, 3][..written] } else { &[] };
            assert_eq!(found, left.iter().chain(&[7]).copied().map(Lpn).collect::<Vec<_>>());
        }
        assert_eq!(lower, if pages == 1 { [0, 0, 0] } else { [0, 1, 2] });
    }
}

#[test]
fn lost_data_stay_lost() {
    for (name, parameters) in [("full-scan", ""), ("checkpoint", "interval = 8")] {
        let config = kept(name, parameters);
        let (mut ftl, mut stream) = (new(&config), Streams::new(4).stream("writes"));
        let all: Vec<Lpn> = Lpn::all(0..ftl.exported()).collect();
        ftl.write(&all);
        for unit in [Lpn(3), Lpn(4), Lpn(5)] {
            ftl.write_uncorrectable(unit).unwrap();
        }
        ftl.remap(Lpn(100), Lpn(4), 1, 1).unwrap();
        // Written units are no longer lost. Then the lost units' block is collected, and their new page says that it holds none of their data.
        for round in 0..2 {
            let lost: Vec<Lpn> = all.iter().copied().filter(|unit| ftl.is_lost(*unit)).collect();
            assert_eq!(lost, [3, 5, 100].map(Lpn));
            let (recovered, _) = Ftl::recover(ftl.clone().power_cut().unwrap(), config.clone()).unwrap();
            recovered.check().unwrap();
            assert!(lost.iter().all(|unit| recovered.is_lost(*unit)), "{name}, round {round}");
            assert_eq!(
                all.iter().filter(|unit| recovered.is_lost(**unit)).count(),
                lost.len(),
                "{name}, round {round}"
            );
            let (at, gc) = (ftl.lookup(Lpn(3)), ftl.counters().programmed_gc);
            while ftl.lookup(Lpn(3)) == at {
                let unit = Lpn(stream.below(u64::from(ftl.exported())) as u32);
                if lost.contains(&unit) {
                    continue;
                }
                assert_eq!(ftl.write(&[unit]), (1, Outcome::Done));
            }
            assert!(ftl.counters().programmed_gc > gc);
        }
    }
}

#[test]
fn a_drive_whose_padding_takes_what_collection_frees_is_dead_before_its_blocks_are() {
    let geometry = Geometry::flat(16, 5, Bytes(128)).unwrap();
    let mut deaths = 0;
    for seed in 0..300 {
        let mut stream = Streams::new(seed).stream("padding");
        let units_per_page = 2;
        let config = FtlConfig {
            units_per_page,
            power_loss_protection: false,
            recovery: policy(RECOVERY_POLICIES, "full-scan", ""),
            ..super::config(10 + stream.below(30) as u32, 12, 4)
        };
        let mut ftl = Ftl::new(Array::new(geometry), config).unwrap();
        while ftl.end_of_life().is_none() {
            let erases = ftl.counters().erases_gc;
            if stream.chance(0.3) {
                let _ = ftl.retire_block(SuperblockId(stream.below(16) as u32));
            } else {
                ftl.write(&[Lpn(stream.below(u64::from(ftl.exported())) as u32)]);
            }
            let erases = ftl.counters().erases_gc - erases;
            assert!(erases < 200, "seed {seed}: {erases} erases for one command, {:?}", ftl.end_of_life());
        }
        deaths += u32::from(ftl.end_of_life() == Some(EndOfLife::NoVictim));
    }
    assert!(deaths > 10, "{deaths} drives found no victim");
}
