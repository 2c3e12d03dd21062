//! Lives whose workload writes the files of a file system.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::Arc;

use wane_lab::build::{self, PolicyOverrides};
use wane_lab::run::{Budget, Progress, Run, Watch};
use wane_lab::session;
use wane_results::{EndCause, RunResult};
use wane_scenario::{Scenario, Sources};

/// A drive whose blocks begin with different wear, so that they do not wear out at once.
const LIFE: &str = "[drive]\nlogical-capacity = \"32 MiB\"\nspare-factor = 0.12\npages-per-block = 32\nendurance = 60\n\
                    initial = { erase-count = 25, erase-count-spread = 0.4 }\n[file-system]\nutilization = \"40 %\"\n\
                    [workload]\npattern = \"uniform\"\n[until]\nend-of-life = true\n";
const VARIANT: &str = "ftl.capacity={ policy = \"variant\", shrink = \"graceful\", keep = \"spare\" }";

fn scenario(set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Scenario::resolve(&Sources { file: Some(("life.toml", LIFE)), set: &set, preset: None }).unwrap()
}

fn lived(set: &[&str]) -> RunResult {
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    session::execute(&scenario(set), &PolicyOverrides::default(), &mut watch).unwrap()
}

#[test]
fn programs_write_more_to_a_drive_that_may_shrink() {
    let fixed = lived(&[]).summary;
    let before = fixed.file_system.unwrap();
    assert_eq!((before.size_at_start, fixed.end.cause), (before.size_at_end, Some(EndCause::SpareExhausted)));
    for way in ["surrender", "relocate", "remap"] {
        let variant = lived(&[VARIANT, &format!("file-system.way=\"{way}\"")]).summary;
        let files = variant.file_system.unwrap();
        assert!(files.bytes_written > before.bytes_written * 12 / 10, "{way}: {files:?} {before:?}");
        assert!(files.size_at_end < files.size_at_start * 3 / 4, "{way}: {files:?}");
        assert_eq!((files.way.as_str(), files.bytes_remapped > 0), (way, way == "remap"));
        // What the drive got is what programs wrote, what moved, and structures. Three ratios, of which one is the product of the others.
        let at_drive = variant.host.bytes_written as f64;
        let (own, flash) = (variant.write_amplification.total.unwrap(), files.write_amplification_of_flash.unwrap());
        assert!((own * files.write_amplification.unwrap() - flash).abs() < 1e-9, "{way}: {files:?} {own}");
        assert_eq!(variant.flash.pages_programmed.total * 4096, (flash * files.bytes_written as f64).round() as u64);
        assert_eq!(variant.flash.pages_programmed.file_system, 0, "to the drive it is its host's");
        assert!((variant.host.drive_writes - at_drive / f64::from(32 << 20)).abs() < 1e-3, "{way}");
        assert!((at_drive / files.bytes_written as f64 - files.write_amplification.unwrap()).abs() < 1e-9);
        let (back, structures) = (files.bytes_written_back.unwrap(), files.bytes_of_structures.unwrap());
        assert_eq!(back + files.bytes_moved + structures, variant.host.bytes_written, "{way}: {files:?}");
        assert!(back <= files.bytes_written && structures > 0 && structures < back, "{way}: {files:?}");
    }
}

#[test]
fn the_same_life_gives_the_same_bytes_however_it_is_stepped() {
    let whole = lived(&[VARIANT]);
    let again = lived(&[VARIANT]);
    assert_eq!((&whole.summary.file_system, &whole.timeline), (&again.summary.file_system, &again.timeline));
    let mut run = Run::new(build::plan(&scenario(&[VARIANT])).unwrap());
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    let mut copy = None;
    while run.advance(Budget::units(7_000), &mut watch).unwrap() == Progress::Paused {
        // A copy goes on as the run itself does.
        if copy.is_none() && !run.is_preconditioning() {
            copy = Some(run.try_clone().unwrap());
        }
    }
    let mut copy = copy.unwrap();
    assert_eq!(copy.advance(Budget::WHOLE, &mut watch).unwrap(), Progress::Over);
    let ends = [run, copy].map(|run| run.finish(&Arc::default()).unwrap());
    for end in ends {
        assert_eq!(
            (end.file_system.as_ref(), end.counters.host_units_written),
            (whole.summary.file_system.as_ref(), whole.summary.host.pages_written)
        );
    }
}

#[test]
fn programs_read_and_trim_files_too() {
    let set = [
        "workload.read-share=\"30 %\"",
        "workload.trim-share=\"20 %\"",
        "until.end-of-life=false",
        "until.drive-writes=3",
    ];
    let lived = lived(&set).summary;
    let files = lived.file_system.unwrap();
    assert!(
        files.bytes_read > 0 && files.bytes_written > files.bytes_read && lived.host.pages_trimmed > 0,
        "{files:?}"
    );
    assert_eq!((files.blocks_lost, files.is_degraded), (0, false));
}

#[test]
fn what_a_file_system_cannot_stand_on_is_refused_in_a_sentence() {
    let refused = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
        let sources = Sources { file: Some(("life.toml", LIFE)), set: &set, preset: None };
        Scenario::resolve(&sources).unwrap_err().to_string()
    };
    let table = [
        ("file-system.files=60000", "file-system", "60000"),
        ("file-system.segment=\"3 KiB\"", "file-system.segment", "64 KiB"),
        ("file-system.segment=\"8 MiB\"", "file-system", "a segment has 8388608 bytes"),
        ("drive.logical-capacity=\"1 MiB\"", "file-system", "are needed at least"),
        ("ftl.capacity=\"variant\"", "ftl.capacity", "graceful"),
        ("file-system.way=\"melt\"", "file-system.way", "remap"),
        (
            "ftl.capacity={ policy = \"variant\", shrink = \"graceful\", relocation-bound = \"1 GiB\" }",
            "ftl.capacity",
            "bound",
        ),
    ];
    for (set, key, why) in table {
        let sentence = refused(&[set]);
        assert!(sentence.contains(key) && sentence.contains(why), "{set}: {sentence}");
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
    }
}

/// Members of an array, two of them so worn that they want space back, under a file system.
const STACK: &str = "[drive]\nlogical-capacity = \"16 MiB\"\nspare-factor = 0.12\npages-per-block = 32\nendurance = 60\n\
                     initial = { erase-count = 25, erase-count-spread = 0.4 }\n[array]\nlayout = \"raid\"\nwidth = 3\nchunk = \"16 KiB\"\n\
                     journal = \"none\"\n[[array.member]]\ncount = 4\n[file-system]\nutilization = \"40 %\"\nway = \"relocate\"\n\
                     [workload]\npattern = \"uniform\"\n[until]\nend-of-life = true\n";

fn stacked(set: &[&str]) -> RunResult {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let scenario = Scenario::resolve(&Sources { file: Some(("stack.toml", STACK)), set: &set, preset: None }).unwrap();
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    session::execute(&scenario, &PolicyOverrides::default(), &mut watch).unwrap()
}

/// File system, array and drives in one stack: what worn members want back the file system gives, and the array lives on.
#[test]
fn a_file_system_gives_members_of_an_array_the_space_that_they_want() {
    let fixed = stacked(&[]);
    let follows = stacked(&[VARIANT, "array.following=\"members\""]);
    let files = |run: &RunResult| run.summary.file_system.clone().unwrap();
    let (before, after) = (files(&fixed), files(&follows));
    assert_eq!(before.size_at_start, before.size_at_end, "{before:?}");
    assert!(after.size_at_end < after.size_at_start, "{after:?}");
    assert!(after.bytes_written > before.bytes_written * 11 / 10, "{after:?} {before:?}");
    for run in [&fixed, &follows] {
        // What the array got is what programs wrote, what moved, and structures; what the members got is more, by the parities.
        let (own, array) = (files(run), run.summary.array.as_ref().unwrap());
        let (back, structures) = (own.bytes_written_back.unwrap(), own.bytes_of_structures.unwrap());
        assert_eq!(back + own.bytes_moved + structures, run.summary.host.bytes_written, "{own:?}");
        let members: u64 = array.drives.iter().map(|drive| drive.bytes_written).sum();
        assert!(members > run.summary.host.bytes_written * 3 / 2, "{members}");
        assert_eq!((array.bytes_lost, own.blocks_lost), (0, 0));
    }
}

/// An array of one member under a file system wears that member as the file system alone does.
#[test]
fn one_member_of_an_array_lives_as_a_drive_under_the_same_file_system() {
    let one = ["array={ layout = \"linear\", member = [{}] }", "until={ drive-writes = 5 }"];
    let stacked = stacked(&one);
    let mut alone =
        Scenario::resolve(&Sources { file: Some(("stack.toml", STACK)), set: &one.map(str::to_owned), preset: None })
            .unwrap();
    alone.array = None;
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    let alone = session::execute(&alone, &PolicyOverrides::default(), &mut watch).unwrap();
    // Wear leveling is on from the start in an array, and after preconditioning in a drive alone: flash differs by that.
    let above = |run: &RunResult| {
        let files = run.summary.file_system.clone().unwrap();
        wane_results::FileSystem { write_amplification_of_flash: None, ..files }
    };
    assert_eq!(above(&stacked), above(&alone));
    assert_eq!(stacked.summary.host, alone.summary.host);
    let total = |run: &RunResult| run.summary.flash.pages_programmed.total as f64;
    assert!((total(&stacked) / total(&alone) - 1.0).abs() < 0.01, "{} {}", total(&stacked), total(&alone));
}

/// What a file system asks of an array does not depend on how many copies that keeps, and a member's own results count what moved as written.
#[test]
fn what_moves_is_counted_once_whatever_the_array_keeps() {
    let life = ["until={ drive-writes = 4 }", "file-system.utilization=\"80 %\"", "drive.logical-capacity=\"16 MiB\""];
    let of = |array: &str| stacked(&[&life[..], &[array]].concat());
    let one = of("array={ layout = \"linear\", member = [{}] }");
    for (copies, mirror) in [(2, "copies = 2, member = [{ count = 2 }]"), (3, "copies = 3, member = [{ count = 3 }]")] {
        let mirror = of(&format!("array={{ layout = \"mirror\", {mirror} }}"));
        assert!(one.summary.file_system.as_ref().unwrap().bytes_moved > 1 << 20);
        assert_eq!(mirror.summary.host, one.summary.host, "{copies}");
        let files = |run: &RunResult| {
            let files = run.summary.file_system.clone().unwrap();
            wane_results::FileSystem { write_amplification_of_flash: None, ..files }
        };
        assert_eq!(files(&mirror), files(&one), "{copies}");
        assert!(mirror.summary.write_amplification.total.unwrap() >= f64::from(copies));
        for drive in mirror.drives.iter().chain(&one.drives) {
            assert_eq!(drive.summary.host.bytes_written, one.summary.host.bytes_written, "{copies}");
            assert_eq!(drive.summary.flash.pages_programmed.file_system, 0);
        }
    }
}

/// A drive below a file system is predicted as one whose addresses a workload uses.
#[test]
fn a_fast_forwarded_life_under_a_file_system_is_as_long_as_the_simulated_one() {
    let life = ["until={ end-of-life = true }", "drive.endurance=150", "file-system.utilization=\"40 %\""];
    for capacity in ["ftl.capacity=\"fixed\"", VARIANT] {
        let set = [&life[..], &[capacity]].concat();
        let simulated = lived(&set).summary;
        let predicted = lived(&[&set[..], &["fast-forward.factor=4"]].concat()).summary;
        let told = predicted.fast_forward.unwrap();
        assert!(told.factor_reached > 2.0 && told.predictions > 5, "{told:?}");
        let (one, other) = (predicted.end.at_drive_writes, simulated.end.at_drive_writes);
        assert!((one / other - 1.0).abs() < 0.05, "{one} {other} {told:?}");
        assert_eq!(predicted.end.cause, simulated.end.cause);
    }
}
