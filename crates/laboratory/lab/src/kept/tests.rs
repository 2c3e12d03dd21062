use std::sync::atomic::Ordering;

use wane_archive::Writer;
use wane_blockdev::{Passing, Request, SectorRange, drain};
use wane_raid::MemberState;
use wane_scenario::{Scenario, Sources};
use wane_sim::{Stream, Streams};
use wane_units::{Lba, Lpn, Sectors, SimTime};

use super::*;
use crate::build::PolicyOverrides;
use crate::held::{Aging, STEP_UNITS_MAX, next_step};
use crate::session;

mod attached;
mod journals;

fn scenario(text: &str) -> Scenario {
    Scenario::resolve(&Sources { file: Some(("kept.toml", text)), ..Sources::default() }).unwrap()
}

fn go() -> Arc<AtomicBool> {
    Arc::default()
}

fn bytes(kept: &mut Kept) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    kept.archive(&mut writer).unwrap();
    writer.finish().unwrap()
}

fn age(kept: &mut Kept, target: Target) -> Reached {
    kept.age(target, WrittenBytes::Stay, &go(), &mut |_| true).unwrap()
}

const LIVES: [&str; 8] = [
    "[drive]\npreset = \"tiny\"\n[workload]\npattern = \"zipf\"\nexponent = 0.9\n[until]\ndrive-writes = 1\n",
    "[drive]\npreset = \"tiny\"\nchip = \"tlc-72l-2018\"\necc.strength = 60\n[time]\ndrive-writes-per-day = 0.5\n\
     [workload]\npattern = \"hot-cold\"\nr = 0.8\nh = 0.2\n[until]\ndrive-writes = 1\n",
    "[drive]\npreset = \"tiny\"\nendurance = 40\n[ftl]\ncapacity = { policy = \"variant\", shrink = \"graceful\" }\nwear-leveling = \"pwl\"\n\
     [workload]\npattern = \"uniform\"\nfootprint = 0.4\n[until]\nend-of-life = true\n",
    "[drive]\npreset = \"tiny\"\nspare-factor = 0.4\n[ftl]\nrecovery = \"checkpoint\"\n[workload]\npattern = \"uniform\"\nread-share = 0.3\n\
     trim-share = 0.1\n[until]\ndrive-writes = 1\n",
    "[drive]\npreset = \"tiny\"\n[workload]\nstandin = \"lm-tbe\"\n[until]\ndrive-writes = 1\n",
    "[drive]\npreset = \"tiny\"\nendurance = 40\n[array]\nreplace-at = 0.15\nreplacements = 3\n[time]\ndrive-writes-per-day = 0.5\n\
     [workload]\npattern = \"zipf\"\n[until]\ndrive-writes = 1\n",
    "[drive]\npreset = \"tiny\"\nendurance = 30\n[ftl]\nrecovery = \"checkpoint\"\n[array]\nat-end-of-life = \"gone\"\n[[array.member]]\n\
     [[array.member]]\ndrive.initial.erase-count = 20\n[workload]\ntrim-share = 0.1\n[until]\ndrive-writes = 1\n",
    "[drive]\npreset = \"tiny\"\nlogical-capacity = \"16 MiB\"\nendurance = 30\n[array]\nlayout = \"raid\"\nchunk = \"8 KiB\"\nspares = 1\n\
     at-end-of-life = \"gone\"\n[[array.member]]\ncount = 2\n[[array.member]]\ndrive.initial.erase-count = 15\n\
     [workload]\ntrim-share = 0.1\n[until]\ndrive-writes = 1\n",
];

/// Does something to a drive: what is asked for where, and how much, is drawn.
fn use_it(kept: &mut Kept, stream: &mut Stream) {
    let units = kept.device().capacity().0 / 8;
    let range = SectorRange::new(Lba(8 * stream.below(units - 8)), Sectors(1 + stream.below(64)));
    let what = stream.below(100);
    let bytes = || (0..range.len_bytes()).map(|at| (at as u64 ^ what) as u8).collect();
    match what {
        0..30 => drop(kept.perform(Request::read(range))),
        30..60 => drop(kept.perform(Request::write(range, bytes()))),
        60..80 => drop(kept.perform(Request::trim(range))),
        80..85 => drop(kept.act(&Act::Flush)),
        85..88 => drop(kept.held.mapped()),
        88..91 => drop(kept.held.check_data()),
        91..94 => drop(kept.act(&Act::Retire(Retire::MostWorn(1)))),
        _ => {
            let target = Target::DriveWrites(kept.drive_writes() + 0.01);
            drop(kept.held.age(target, WrittenBytes::Stay, &go(), &mut |_| true));
        }
    }
}

#[test]
fn a_drive_that_is_read_piece_by_piece_does_as_one_that_is_read_whole() {
    let place = tempfile::tempdir().unwrap();
    for (number, text) in LIVES.into_iter().chain(journals::SERVED).enumerate() {
        let path = place.path().join(format!("{number}.wane"));
        let mut kept = Kept::create(&path, &scenario(text), &go()).unwrap();
        age(&mut kept, Target::DriveWrites(1.3));
        kept.save("aged".to_owned()).unwrap();
        drop(kept);
        for seed in 0..6 {
            let mut stream = Streams::new(seed).stream("use");
            let mut pieces = Kept::open_late(&path).unwrap();
            let is_partly_read = !pieces.drive().is_whole();
            assert!(is_partly_read, "{number}: its maps are read as they are needed");
            assert!(pieces.check().is_err(), "nobody calls a map sound that was not read");
            for _ in 0..[1, 1, 2, 4, 30, 200][seed as usize] {
                use_it(&mut pieces, &mut stream);
            }
            pieces.check_bytes().unwrap();
            let told = bytes(&mut pieces);
            drop(pieces);
            let mut stream = Streams::new(seed).stream("use");
            let mut whole = Kept::open(&path).unwrap();
            assert!(whole.drive().is_whole());
            for _ in 0..[1, 1, 2, 4, 30, 200][seed as usize] {
                use_it(&mut whole, &mut stream);
            }
            assert!(told == bytes(&mut whole), "{number}, seed {seed}");
        }
    }
}

/// A bit of a map is flipped. A call that needs its piece is told, and nothing is kept. Calls that do not need it go on.
#[test]
fn damage_of_maps_is_found_when_they_are_touched_and_nothing_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut kept = Kept::create(&path, &scenario(LIVES[0]), &go()).unwrap();
    age(&mut kept, Target::DriveWrites(1.3));
    kept.save("aged".to_owned()).unwrap();
    drop(kept);
    let state = path.join("state.2");
    let whole = std::fs::read(&state).unwrap();
    let find = |name: &[u8]| whole.windows(name.len()).position(|window| window == name).unwrap();
    let units = |first: u64| SectorRange::new(Lba(8 * first), Sectors(8));
    for (name, is_read) in [(&b"map\x02"[..], true), (&b"reverse-map\x02"[..], false)] {
        let mut bytes = whole.clone();
        bytes[find(name) + 3000] ^= 1;
        std::fs::write(&state, &bytes).unwrap();
        assert!(Kept::open(&path).is_err(), "everything is verified");
        let mut kept = Kept::open_late(&path).unwrap();
        assert!(kept.drive_writes() > 1.0, "what is not read does not disturb");
        kept.check_bytes().unwrap();
        let _unknown = kept.perform(Request::read(units(3)));
        assert_eq!(kept.check_bytes().is_err(), is_read, "{name:?}");
        drop(kept);
        let mut kept = Kept::open_late(&path).unwrap();
        let _unknown = kept.perform(Request::write(units(3), vec![1; 4096]));
        let told = kept.check_bytes().unwrap_err().to_string();
        let (name, _) = name.split_at(name.len() - 1);
        let wanted = format!("it is damaged in \"{} in state.2\"", String::from_utf8_lossy(name));
        assert!(told.contains(&wanted), "{told}");
        assert!(kept.keep("written".to_owned()).is_err() && kept.save("written".to_owned()).is_err());
        assert!(kept.load().unwrap_err().to_string().contains(&wanted));
        assert!(!path.join("state.3").exists());
    }
}

/// A drive whose map has many pieces, of which a save writes what changed, is bit by bit the one that was saved: also where its maps were not read
/// between two saves, and where a fork shares its files and goes on without them.
#[test]
fn a_drive_that_is_saved_by_its_changes_is_what_it_was() {
    let place = tempfile::tempdir().unwrap();
    let (path, fork) = (place.path().join("a.wane"), place.path().join("b.wane"));
    let text = "[drive]\npreset = \"tiny\"\nlogical-capacity = \"2 GiB\"\n[precondition]\nsequential-drive-writes = 1\n\
                [workload]\npattern = \"uniform\"\n[until]\ndrive-writes = 1\n";
    let mut kept = Kept::create(&path, &scenario(text), &go()).unwrap();
    let saved = |mut kept: Kept| {
        kept.save("changed".to_owned()).unwrap();
        let number = kept.folder.manifest().stored.number;
        let length = std::fs::metadata(path.join(format!("state.{number}"))).unwrap().len() as usize;
        // What was not read would be written as it lies.
        kept.load().unwrap();
        let was = bytes(&mut kept);
        drop(kept);
        assert!(bytes(&mut Kept::open(&path).unwrap()) == was, "save {number}: another drive");
        length as f64 / was.len() as f64
    };
    let mut shares = Vec::new();
    for step in 1..=5u64 {
        age(&mut kept, Target::DriveWrites(0.02 * step as f64));
        shares.push(saved(kept));
        // A few calls touch some pieces, and the rest is written by its places.
        kept = Kept::open_late(&path).unwrap();
        let mut stream = Streams::new(step).stream("calls");
        (0..5).for_each(|_| use_it(&mut kept, &mut stream));
        kept.check_bytes().unwrap();
        shares.push(saved(kept));
        if step == 3 {
            Kept::fork(&path, &fork).unwrap();
        }
        kept = Kept::open(&path).unwrap();
    }
    drop(kept);
    assert!(shares[2] < 0.3 && shares[3] < 0.3, "{shares:?}");
    // The parent's files are gone, and the fork has its own.
    std::fs::remove_dir_all(&path).unwrap();
    let mut fork = Kept::open(&fork).unwrap();
    fork.check().unwrap();
    age(&mut fork, Target::DriveWrites(0.2));
    fork.save("aged".to_owned()).unwrap();
}

#[test]
fn a_life_in_parts_is_the_same_as_one_at_once() {
    let place = tempfile::tempdir().unwrap();
    for (number, text) in LIVES.into_iter().enumerate() {
        let scenario = scenario(text);
        let path = |name: &str| place.path().join(format!("{name}-{number}.wane"));
        let mut whole = Kept::create(&path("whole"), &scenario, &go()).unwrap();
        let mut parts = Kept::create(&path("parts"), &scenario, &go()).unwrap();
        let whole_end = age(&mut whole, Target::DriveWrites(9.0));
        for writes in [0.37, 1.0, 4.123, 9.0] {
            let reached = age(&mut parts, Target::DriveWrites(writes));
            assert!(reached == Reached::Target || reached == whole_end, "{number}: {reached:?}");
            parts.check().unwrap();
            parts.save("aged".to_owned()).unwrap();
            drop(parts);
            parts = Kept::open(&path("parts")).unwrap();
        }
        assert!(bytes(&mut whole) == bytes(&mut parts), "{number}");
        assert_eq!(
            age(&mut parts, Target::DriveWrites(9.0)),
            if whole_end == Reached::Target { Reached::Already } else { whole_end }
        );
        let fork = path("fork");
        drop(parts);
        Kept::fork(&path("parts"), &fork).unwrap();
        let mut fork = Kept::open(&fork).unwrap();
        let ended = (age(&mut whole, Target::DriveWrites(12.0)), age(&mut fork, Target::DriveWrites(12.0)));
        assert_eq!(ended.0, ended.1);
        assert!(bytes(&mut whole) == bytes(&mut fork), "{number}: a fork goes on as its parent would");
    }
}

#[test]
fn a_kept_drive_ages_as_a_run_of_its_scenario_does() {
    let place = tempfile::tempdir().unwrap();
    let text = "[drive]\npreset = \"tiny\"\n[precondition]\nfill = 0\nrandom-drive-writes = 0\n[workload]\npattern = \"zipf\"\nexponent = 0.9\n\
                [until]\ndrive-writes = 7\n";
    let scenario = scenario(text);
    let run = session::execute(&scenario, &PolicyOverrides::default(), &mut Watch { step: &mut |_| {}, stop: &go() });
    let summary = run.unwrap().summary;
    let mut kept = Kept::create(&place.path().join("a.wane"), &scenario, &go()).unwrap();
    assert_eq!(age(&mut kept, Target::DriveWrites(7.0)), Reached::Target);
    let counters = kept.drive().counters();
    assert_eq!(counters.host_units_written, summary.host.pages_written);
    assert_eq!(counters.programmed_total(), summary.flash.pages_programmed.total);
}

/// A drive that was preconditioned counts from there on, also after it was opened again, and ages as `wane run` does.
#[test]
fn a_preconditioned_drive_ages_as_a_run_does() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let text = "[drive]\npreset = \"tiny\"\n[precondition]\nsequential-drive-writes = 1\nrandom-drive-writes = 1\n[workload]\n\
                pattern = \"zipf\"\nexponent = 0.9\n[until]\ndrive-writes = 3\n";
    let scenario = scenario(text);
    let run = session::execute(&scenario, &PolicyOverrides::default(), &mut Watch { step: &mut |_| {}, stop: &go() });
    let summary = run.unwrap().summary;
    let mut kept = Kept::create(&path, &scenario, &go()).unwrap();
    let stop = go();
    kept.precondition(&mut Watch { step: &mut |_| {}, stop: &stop }).unwrap();
    kept.save("preconditioned".to_owned()).unwrap();
    assert_eq!((kept.drive_writes(), kept.counters().programmed_total(), kept.share_filled()), (0.0, 0, 1.0));
    drop(kept);
    let mut kept = Kept::open(&path).unwrap();
    assert_eq!((kept.drive_writes(), kept.counters().programmed_total()), (0.0, 0));
    assert_eq!(age(&mut kept, Target::DriveWrites(3.0)), Reached::Target);
    let counters = kept.counters();
    assert_eq!(counters.host_units_written, summary.host.pages_written);
    assert_eq!(counters.programmed_total(), summary.flash.pages_programmed.total);
    assert!(summary.write_amplification.total.unwrap() > 1.5, "collection had begun");
}

#[test]
fn a_drive_ages_to_a_share_of_its_wear_and_to_its_end() {
    let place = tempfile::tempdir().unwrap();
    let mut kept = Kept::create(&place.path().join("a.wane"), &scenario(LIVES[2]), &go()).unwrap();
    assert_eq!(age(&mut kept, Target::Wear(0.5)), Reached::Target);
    let used = kept.drive().life_used().unwrap();
    assert!((0.5..0.52).contains(&used), "{used}");
    let died = age(&mut kept, Target::EndOfLife);
    assert!(matches!(died, Reached::Died(_)), "{died:?}");
    assert_eq!(age(&mut kept, Target::Wear(0.1)), died);
    kept.save("aged to its end".to_owned()).unwrap();
    let path = place.path().join("a.wane");
    drop(kept);
    let again = Kept::open(&path).unwrap();
    assert_eq!(again.cause().map(Reached::Died), Some(died));
    assert_eq!(again.history().len(), 2);
}

#[test]
fn a_drive_ages_up_to_a_day_before_its_end() {
    let place = tempfile::tempdir().unwrap();
    let text = LIVES[2].replace("[workload]", "[time]\ndrive-writes-per-day = 0.5\n[workload]");
    let mut kept = Kept::create(&place.path().join("a.wane"), &scenario(&text), &go()).unwrap();
    assert_eq!(age(&mut kept, Target::DaysLeft(1.0)), Reached::Target);
    let (day, writes) = (kept.drive().day(), kept.drive_writes());
    assert!(kept.cause().is_none());
    assert_eq!(age(&mut kept, Target::DriveWritesLeft(0.5)), Reached::Already);
    assert!(matches!(age(&mut kept, Target::EndOfLife), Reached::Died(_)));
    assert!((kept.drive_writes() - writes - 0.5).abs() < 1e-3, "{} after {writes}", kept.drive_writes());
    assert!((kept.drive().day() - day - 1.0).abs() < 0.05, "{} after {day}", kept.drive().day());
    let aged = scenario(&text.replace("endurance = 40", "endurance = 4000"));
    let mut young = Kept::create(&place.path().join("c.wane"), &aged, &go()).unwrap();
    assert_eq!(age(&mut young, Target::Days(6.0)), Reached::Target);
    assert!(
        (young.drive_writes() - 3.0).abs() < 1e-3 && (young.drive().day() - 6.0).abs() < 1e-2,
        "{}",
        young.drive().day()
    );
    young.wait(10.0, None).unwrap();
    assert_eq!(
        (age(&mut young, Target::Days(16.0)), age(&mut young, Target::Days(17.0))),
        (Reached::Already, Reached::Target)
    );
    assert!((young.drive_writes() - 3.5).abs() < 1e-3, "{}", young.drive_writes());
    let mut paceless = Kept::create(&place.path().join("b.wane"), &scenario(LIVES[2]), &go()).unwrap();
    let refused =
        paceless.age(Target::DaysLeft(1.0), WrittenBytes::Stay, &go(), &mut |_| true).unwrap_err().to_string();
    assert_eq!(
        refused,
        "a drive whose days are to be counted needs a pace; give time.drive-writes-per-day a number, or \"trace\" for a trace's own"
    );
}

#[test]
fn a_workload_is_changed_and_days_pass_while_a_drive_lies() {
    let place = tempfile::tempdir().unwrap();
    let mut kept = Kept::create(&place.path().join("a.wane"), &scenario(LIVES[1]), &go()).unwrap();
    age(&mut kept, Target::DriveWrites(2.0));
    assert_eq!(kept.drive().day(), 4.0);
    kept.wait(30.0, None).unwrap();
    age(&mut kept, Target::DriveWrites(3.0));
    assert_eq!(kept.drive().day(), 36.0);
    // The same workload at another pace goes on where it stood.
    let faster = LIVES[1].replace("drive-writes-per-day = 0.5", "drive-writes-per-day = 2");
    kept.set_workload(scenario(&faster), &go()).unwrap();
    age(&mut kept, Target::DriveWrites(4.0));
    assert_eq!((kept.drive().day(), kept.workloads()), (36.5, 0));
    let other = LIVES[1].replace("pattern = \"hot-cold\"\nr = 0.8\nh = 0.2", "pattern = \"sequential\"");
    kept.set_workload(scenario(&other), &go()).unwrap();
    age(&mut kept, Target::DriveWrites(5.0));
    kept.save("aged".to_owned()).unwrap();
    let path = place.path().join("a.wane");
    let before = bytes(&mut kept);
    drop(kept);
    let mut kept = Kept::open(&path).unwrap();
    assert!(bytes(&mut kept) == before);
    let reads = LIVES[1].replace("h = 0.2", "h = 0.2\nread-share = 1").replace("drive-writes = 1\n", "requests = 9\n");
    let refused = kept.set_workload(scenario(&reads), &go()).unwrap_err();
    assert_eq!(refused.to_string(), "a drive ages by writes, and its workload writes nothing");
    assert!(bytes(&mut kept) == before, "it keeps the workload that it has");
}

#[test]
fn aging_stops_between_two_steps_and_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let mut stopped = Kept::create(&path("a.wane"), &scenario(LIVES[0]), &go()).unwrap();
    let mut whole = Kept::create(&path("b.wane"), &scenario(LIVES[0]), &go()).unwrap();
    let stop = go();
    let flag = Arc::clone(&stop);
    let reached = stopped.age(Target::DriveWrites(3.0), WrittenBytes::Stay, &stop, &mut |aged| {
        flag.store(aged.drive_writes > 1.2, Ordering::Relaxed);
        true
    });
    assert_eq!(reached.unwrap(), Reached::Interrupted);
    assert!(stopped.drive_writes() < 1.3);
    // A watcher that wants no more stops it as well, and what is saved on the way has one line of history.
    for (first, until) in [(true, 1.5), (false, 2.0)] {
        let target = Target::DriveWrites(3.0);
        let reached = stopped.age(target, WrittenBytes::Stay, &go(), &mut |aged| aged.drive_writes < until).unwrap();
        assert_eq!(reached, Reached::Interrupted);
        stopped.save_on_the_way(format!("on the way at {until}"), first).unwrap();
    }
    assert_eq!(stopped.history()[1..], ["on the way at 2".to_owned()]);
    drop(stopped);
    let mut stopped = Kept::open(&path("a.wane")).unwrap();
    assert!((2.0..2.1).contains(&stopped.drive_writes()), "a killed command leaves what was saved");
    age(&mut stopped, Target::DriveWrites(3.0));
    age(&mut whole, Target::DriveWrites(3.0));
    assert!(bytes(&mut stopped) == bytes(&mut whole));
}

#[test]
fn trims_of_an_aging_workload_leave_written_bytes_alone_unless_they_may_remove_them() {
    let place = tempfile::tempdir().unwrap();
    let text = LIVES[0].replace("exponent = 0.9", "exponent = 0.9\ntrim-share = 0.1");
    for (name, fate) in [("stay.wane", WrittenBytes::Stay), ("go.wane", WrittenBytes::AreTrimmed)] {
        let mut kept = Kept::create(&place.path().join(name), &scenario(&text), &go()).unwrap();
        kept.keep_bytes().unwrap();
        let unit_bytes = kept.drive().unit_bytes() as usize;
        let units: Vec<Lpn> = (0..4000).map(Lpn).collect();
        let (done, _) = kept.run.drive_mut().write_bytes(&units, &vec![7; unit_bytes * units.len()]);
        assert_eq!(done, units.len());
        kept.age(Target::DriveWrites(2.0), fate, &go(), &mut |_| true).unwrap();
        kept.check().unwrap();
        assert!(kept.written_trimmed() > 100, "{name}: the workload trims some of them");
        let mut read = vec![0; unit_bytes];
        let changed = units.iter().filter(|unit| {
            kept.drive().peek_unit(**unit, &mut read);
            read.iter().any(|byte| *byte != 7)
        });
        assert_eq!(changed.count() == 0, fate == WrittenBytes::Stay, "{name}");
        // What its user trims is trimmed, however the drive was aged.
        kept.trim(&(0..4000).collect::<Vec<_>>(), &go());
        assert!(units.iter().all(|unit| kept.drive().lookup(*unit).is_none()), "{name}");
    }
}

#[test]
fn steps_end_at_the_same_places_and_with_each_drive_write() {
    for logical in [1, 63, 64, 1000, 5_000_000, 268_435_456] {
        let (mut written, mut steps) = (0, 0);
        while written < 2 * logical {
            let next = next_step(written, logical);
            assert!(next > written && next - written <= STEP_UNITS_MAX, "{logical}: {written} to {next}");
            assert_eq!(next_step(next - 1, logical), next);
            assert!(written >= logical || next <= logical, "{logical}: {next}");
            (written, steps) = (next, steps + 1);
        }
        assert!(steps >= 2 * logical.min(64), "{logical}: {steps}");
    }
}
