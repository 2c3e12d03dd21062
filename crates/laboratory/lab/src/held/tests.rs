use std::sync::atomic::{AtomicBool, Ordering};

use wane_nand::Media as _;
use wane_scenario::{Scenario, Sources};

use super::*;
use crate::run::Step;

fn scenario(text: &str) -> Scenario {
    Scenario::resolve(&Sources { file: Some(("held.toml", text)), ..Sources::default() }).unwrap()
}

const LIFE: &str = "[drive]\npreset = \"tiny\"\nendurance = 100\n[ftl]\ncapacity = \"variant\"\n\
     wear-leveling = { policy = \"pwl\", threshold = \"50 %\" }\n[precondition]\nrandom-drive-writes = 1\n\
     [workload]\npattern = \"hot-cold\"\nfootprint = 0.5\n[until]\nend-of-life = true\n";

fn held(text: &str) -> Held {
    Held::new(&scenario(text), PolicyOverrides::default()).unwrap()
}

fn precondition(held: &mut Held) {
    held.precondition(&mut Watch { step: &mut |_| {}, stop: &Arc::default() }).unwrap();
}

fn age(held: &mut Held, to: f64) -> Reached {
    held.age(Target::DriveWrites(to), WrittenBytes::Stay, &Arc::default(), &mut |_| true).unwrap()
}

#[test]
fn a_held_drive_that_is_preconditioned_ages_as_a_run_does() {
    let mut held = held(LIFE);
    precondition(&mut held);
    assert_eq!(held.drive_writes(), 0.0);
    for to in [0.3, 7.0] {
        assert_eq!(age(&mut held, to), Reached::Target);
    }
    let reached = held.age(Target::EndOfLife, WrittenBytes::Stay, &Arc::default(), &mut |_| true).unwrap();
    assert_eq!(reached, Reached::Died(EndCause::FootprintDoesNotFit));
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    let run = session::execute(&scenario(LIFE), &PolicyOverrides::default(), &mut watch).unwrap();
    assert_eq!(held.wear().rows(), run.blocks);
    let counters = held.counters();
    assert_eq!(counters.programmed_total(), run.summary.flash.pages_programmed.total);
    assert_eq!(counters.host_units_trimmed, run.summary.host.pages_trimmed);
    assert!(run.summary.wear.blocks_retired > 0 && counters.erases_wear_leveling > 0, "{:?}", run.summary.wear);
}

#[test]
fn a_stopped_precondition_leaves_a_drive_that_goes_on() {
    let mut held = held(LIFE);
    let stop = Arc::new(AtomicBool::new(false));
    let mut step = |step: &Step| stop.store(step.done > Some(0.5), Ordering::Relaxed);
    held.precondition(&mut Watch { step: &mut step, stop: &stop }).unwrap();
    held.check().unwrap();
    assert_eq!(held.drive_writes(), 0.0);
    assert_eq!(age(&mut held, 2.0), Reached::Target);
    assert_eq!(held.cause(), None);
    held.check().unwrap();
}

#[test]
fn requests_of_its_user_go_by_the_host_and_count() {
    let mut held = held(LIFE);
    let pages: Vec<u32> = (0..held.pages()).collect();
    let (third, go) = (pages.len() / 3, AtomicBool::new(false));
    held.write(&pages[..2 * third], &go);
    held.trim(&pages[..third], &go);
    assert!(held.read(&pages).is_empty());
    let counters = held.counters();
    assert_eq!((counters.host_units_written, counters.host_units_trimmed), (2 * third as u64, third as u64));
    assert_eq!(counters.host_units_read_unmapped, (pages.len() - third) as u64);
    while held.cause().is_none() {
        held.write(&pages[..third], &go);
    }
    held.check().unwrap();
    held.write(&pages, &go);
    assert!(held.read(&pages).is_empty());
}

#[test]
fn copies_go_their_own_way() {
    let mut held = held(LIFE);
    precondition(&mut held);
    age(&mut held, 2.0);
    let mut copy = held.try_clone().unwrap();
    age(&mut held, 4.0);
    assert_ne!(held.wear(), copy.wear());
    age(&mut copy, 4.0);
    assert_eq!(held.wear(), copy.wear());
}

#[test]
fn a_drive_that_would_be_too_old_stays_as_it_is() {
    let mut held = held(LIFE);
    for days in [2e9, f64::MAX, f64::INFINITY] {
        assert!(matches!(held.wait(days, None), Err(KeptError::TooOld { .. })), "{days}");
    }
    held.wait(DAYS_MAX, None).unwrap();
    assert_eq!(
        held.wait(1.0, None).unwrap_err().to_string(),
        "days: found 1.0 on day 1000000000, and a drive's days are counted up to 1000000000"
    );
    assert_eq!((held.drive().day(), held.drive().unpowered()), (DAYS_MAX, (DAYS_MAX, 1)));
    held.check().unwrap();
}

/// Expected wrong bits of a codeword of each block, and the days of the drive and of its data.
fn aged(held: &Held) -> (Vec<f64>, f64, f64) {
    let drive = held.drive();
    let blocks = 0..drive.geometry().blocks();
    let flash = drive.flash().expect("errors are asked for of a drive that is awake");
    let errors = blocks.map(|block| flash.health(wane_units::BlockId(block)).expected_errors).collect();
    (errors, drive.day(), drive.data_days())
}

#[test]
fn data_that_lie_warm_age_as_in_more_days() {
    let chip = format!("{LIFE}\n[drive.ecc]\nstrength = 75\n").replace("\n[ftl]", "\nchip = \"tlc-72l-2018\"\n[ftl]");
    let keys = "\n[drive.retention]\nreference = 30\nactivation-energy = 1.1\n";
    let mut held = held(&(chip.clone() + keys));
    age(&mut held, 2.0);
    let mut lain = |days, celsius| {
        let mut copy = held.try_clone().unwrap();
        copy.wait(days, celsius).unwrap();
        copy.check().unwrap();
        aged(&copy)
    };
    // A bake of JESD218: 500 h at 52 °C for a year at 30.
    let rate = wane_nand::arrhenius::acceleration(52.0, 30.0, 1.1);
    let (warm, day, data_day) = lain(20.0, Some(52.0));
    let (long, _, _) = lain(20.0 * rate, None);
    let (cold, _, _) = lain(20.0, Some(-20.0));
    assert_eq!(day, 20.0);
    assert!((data_day - 20.0 * rate).abs() < 1e-6 && rate > 17.0, "{data_day}");
    for (warm, long) in warm.iter().zip(&long) {
        assert!((warm / long - 1.0).abs() < 1e-3, "{warm} {long}");
    }
    // Blocks that were never erased hold nothing that retention would harm.
    let most = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
    assert!(most(&cold) < 0.6 * most(&warm), "{} {}", most(&cold), most(&warm));
    // Where they always lie as warm, each of their days counts as much.
    let mut always = self::held(&(chip + keys + "celsius = 52\n"));
    age(&mut always, 2.0);
    always.wait(20.0, None).unwrap();
    for (always, long) in aged(&always).0.iter().zip(&long) {
        assert!((always / long - 1.0).abs() < 1e-3, "{always} {long}");
    }
    assert!(matches!(held.wait(1e8, Some(150.0)), Err(KeptError::TooWarm { .. })));
    assert!(matches!(self::held(LIFE).wait(1.0, Some(20.0)), Err(KeptError::Ageless)));
}

/// A drive with all that a server asks of one: time, errors, recovery.
const SERVED: &str = "[drive]\npreset = \"tiny\"\nendurance = 400\nchip = \"tlc-72l-2018\"\n[drive.ecc]\nstrength = 75\n\
     [ftl]\nrecovery = \"checkpoint\"\n[time]\nscheduler = \"event\"\ndrive-writes-per-day = 2\n[workload]\n\
     pattern = \"hot-cold\"\n[until]\nend-of-life = true\n";

#[test]
fn a_fast_forwarded_drive_wears_as_one_that_is_simulated() {
    for text in [SERVED, &LIFE.replace("endurance = 100", "endurance = 400")] {
        let mean = |held: &Held| {
            let counts = held.drive().superblock_erase_counts();
            counts.iter().map(|count| f64::from(*count)).sum::<f64>() / counts.len() as f64
        };
        let lived = |factor: Option<f64>, target: Target| {
            let mut held = held(text);
            precondition(&mut held);
            held.fast_forward(factor).unwrap();
            let reached = held.age(target, WrittenBytes::Stay, &Arc::default(), &mut |_| true).unwrap();
            held.check().unwrap();
            (held, reached)
        };
        // To a number of drive writes: the count is exact, and the last one is simulated.
        let ([simulated, forwarded], target) = ([None, Some(8.0)], Target::DriveWrites(40.0));
        let (simulated, forwarded) = (lived(simulated, target).0, lived(forwarded, target).0);
        assert_eq!((forwarded.drive_writes(), simulated.drive_writes_predicted()), (40.0, 0.0));
        assert_eq!(forwarded.drive().day(), simulated.drive().day());
        let predicted = forwarded.drive_writes_predicted();
        assert!((20.0..=39.0).contains(&predicted), "{predicted} of 40 drive writes");
        assert!((mean(&forwarded) / mean(&simulated) - 1.0).abs() < 0.03, "{} {}", mean(&forwarded), mean(&simulated));
        let written = |held: &Held| held.drive().health_record().host_bytes_written;
        assert!(written(&forwarded).abs_diff(written(&simulated)) < 1 << 20, "SMART tells all that was written");
        // To a share of its wear, and to its end.
        let (worn, reached) = lived(Some(8.0), Target::Wear(0.5));
        let used = worn.drive().life_used().unwrap();
        assert!(reached == Reached::Target && (0.5..0.53).contains(&used), "{reached:?} {used}");
        let (dead, reached) = lived(Some(8.0), Target::EndOfLife);
        let lasted = lived(None, Target::EndOfLife).0.drive_writes();
        assert!(matches!(reached, Reached::Died(_)) && dead.drive_writes_predicted() > 0.4 * lasted, "{reached:?}");
        assert!((dead.drive_writes() / lasted - 1.0).abs() < 0.06, "{} of {lasted} drive writes", dead.drive_writes());
        // The same again is the same.
        assert_eq!(lived(Some(8.0), target).0.wear(), forwarded.wear());
    }
}

/// Each drive of an array is predicted from its own periods. What comes when one dies or is replaced is simulated, and what was predicted is kept with it.
#[test]
fn a_fast_forwarded_array_wears_as_one_that_is_simulated() {
    let drive = "[drive]\npreset = \"tiny\"\nendurance = 400\n";
    let end = "[workload]\npattern = \"hot-cold\"\n[until]\nend-of-life = true\n";
    for array in [
        "[array]\nlayout = \"mirror\"\n[[array.member]]\n[[array.member]]\ndrive.initial.erase-count = 100\n",
        "[array]\nlayout = \"raid\"\nchunk = \"16 KiB\"\n[[array.member]]\ncount = 4\n",
        "[array]\nlayout = \"mirror\"\nreplace-at = \"50 %\"\n[[array.member]]\n[[array.member]]\ndrive.initial.erase-count = 100\n",
    ] {
        let text = format!("{drive}{array}{end}");
        let lived = |factor: Option<f64>, target: Target| {
            let mut held = held(&text);
            precondition(&mut held);
            held.fast_forward(factor).unwrap();
            let reached = held.age(target, WrittenBytes::Stay, &Arc::default(), &mut |_| true).unwrap();
            held.check().unwrap();
            (held, reached)
        };
        let used = |held: &Held| -> Vec<Option<f64>> { held.members().iter().map(|facts| facts.life_used).collect() };
        let target = Target::DriveWrites(10.0);
        let (simulated, forwarded) = (lived(None, target).0, lived(Some(8.0), target).0);
        assert_eq!((forwarded.drive_writes(), simulated.drive_writes_predicted()), (10.0, 0.0));
        let predicted = forwarded.drive_writes_predicted();
        assert!((2.0..=8.0).contains(&predicted), "{array}: {predicted} of 10 array writes");
        for (one, other) in used(&simulated).into_iter().zip(used(&forwarded)) {
            assert!(
                (one.unwrap() - other.unwrap()).abs() < 0.02,
                "{array}: {:?} {:?}",
                used(&simulated),
                used(&forwarded)
            );
        }
        // The first death, or the end of the array.
        let (dead, reached) = lived(Some(8.0), Target::EndOfLife);
        let lasted = lived(None, Target::EndOfLife).0.drive_writes();
        assert!(
            matches!(reached, Reached::Died(_)) && dead.drive_writes_predicted() > 0.1 * lasted,
            "{array}: {reached:?}"
        );
        assert!((dead.drive_writes() / lasted - 1.0).abs() < 0.05, "{array}: {} of {lasted}", dead.drive_writes());
        // It is kept with what was predicted.
        let mut again = held(&text);
        let mut forwarded = forwarded;
        let mut writer = wane_archive::Writer::new(Vec::new()).unwrap();
        forwarded.archive(&mut writer).unwrap();
        let bytes = writer.finish().unwrap();
        again.archive(&mut wane_archive::Reader::new(&bytes[..]).unwrap()).unwrap();
        assert_eq!((again.drive_writes(), again.drive_writes_predicted()), (10.0, predicted));
    }
}

#[test]
fn a_fast_forwarded_drive_survives_a_power_cut_and_goes_on() {
    let mut held = held(SERVED);
    precondition(&mut held);
    held.fast_forward(Some(8.0)).unwrap();
    age(&mut held, 30.0);
    let (predicted, wear) = (held.drive_writes_predicted(), held.wear());
    held.cut_power(&[], || wane_ftl::Fate::Done).unwrap();
    held.check().unwrap();
    let before = wear.rows().iter().map(|row| row.erase_count).sum::<u32>();
    let after = held.wear().rows().iter().map(|row| row.erase_count).sum::<u32>();
    assert!(after >= before && held.drive_writes_predicted() == predicted && predicted > 15.0, "{predicted}");
    held.fast_forward(Some(8.0)).unwrap();
    assert_eq!(age(&mut held, 60.0), Reached::Target);
    assert!(held.drive_writes_predicted() > predicted + 15.0);
}

#[test]
fn a_drive_that_records_more_than_erases_is_not_fast_forwarded() {
    for key in ["faults = { program-failure = 1e-6 }\n[drive.ecc]", "[ftl]\nread-recovery = 2"] {
        let table = if key.ends_with("[drive.ecc]") { "[drive.ecc]" } else { "[ftl]" };
        let mut held = held(&SERVED.replace(table, key));
        let refused = held.fast_forward(Some(8.0)).map_err(|error| error.to_string());
        assert!(refused.as_ref().is_err_and(|told| told.contains("simulated in detail")), "{key}: {refused:?}");
        held.fast_forward(None).unwrap();
    }
    let refused = held(SERVED).fast_forward(Some(0.5)).unwrap_err().to_string();
    assert!(refused.contains("factor"), "{refused}");
}
