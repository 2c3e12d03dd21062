//! Arrays and file systems whose requests take time.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::Arc;

use wane_lab::build::{self, PolicyOverrides};
use wane_lab::run::{Budget, Progress, Run, Watch};
use wane_lab::session;
use wane_results::{ArrayFigures, DriveState, RunResult, WindowKind};
use wane_scenario::{Scenario, Sources};

const DRIVE: &str = "[drive]\nlogical-capacity = \"16 MiB\"\nspare-factor = 0.2\npages-per-block = 32\nendurance = 300\nchannels = 2\n\
                     [time]\nscheduler = \"event\"\n[workload]\npattern = \"uniform\"\nread-share = 0.5\n\
                     arrival = { queue-depth = 4 }\n[until]\ndrive-writes = 1.5\n";
const MIRROR: &str = "[array]\nlayout = \"mirror\"\n[[array.member]]\ncount = 2\n";
const RAID: &str = "[array]\nlayout = \"raid\"\n[[array.member]]\ncount = 5\n";
const FILES: &str = "[file-system]\nfiles = 4\nutilization = \"60 %\"\n";
const UNTIMED: [&str; 2] = ["time.scheduler=none", "workload={ pattern = \"uniform\", read-share = 0.5 }"];

fn scenario(text: &str, set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Scenario::resolve(&Sources { file: Some(("clocked.toml", text)), set: &set, preset: None }).unwrap()
}

fn lived(layers: &[&str], set: &[&str]) -> RunResult {
    let scenario = scenario(&[&[DRIVE], layers].concat().concat(), set);
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    session::execute(&scenario, &PolicyOverrides::default(), &mut watch).unwrap()
}

fn array(result: &RunResult) -> &ArrayFigures {
    result.summary.array.as_ref().unwrap()
}

/// Bytes that the array wrote on each of its drives.
fn written(result: &RunResult) -> Vec<u64> {
    array(result).drives.iter().map(|drive| drive.bytes_written).collect()
}

/// Requests under way on average, by Little's law.
fn under_way(result: &RunResult) -> f64 {
    let (latency, throughput) = (result.summary.latency.as_ref().unwrap(), result.summary.throughput.unwrap());
    let of = |mean_ns: f64, iops: f64| mean_ns * iops / 1e9;
    of(latency.read.as_ref().unwrap().times.mean_ns, throughput.read.iops)
        + of(latency.write.as_ref().unwrap().times.mean_ns, throughput.write.iops)
}

/// A sole member has the scenario's seed, and the array adds no time.
#[test]
fn an_array_of_one_drive_is_that_drive_to_the_nanosecond() {
    let arrivals = ["workload.arrival={ queue-depth = 4 }", "workload.arrival={ poisson = \"2 ms\" }"];
    let chip = ["drive.chip=tlc-72l-2018", "drive.initial.erase-count=250", "drive.ecc.strength=9"];
    for (layout, arrival) in [("linear", arrivals[0]), ("stripe", arrivals[1]), ("linear", arrivals[1])] {
        let set = [&[arrival][..], &chip].concat();
        let alone = lived(&[], &set);
        let layer = format!("[array]\nlayout = \"{layout}\"\n[[array.member]]\n");
        let (of_array, alone) = (lived(&[&layer], &set).summary, alone.summary);
        assert!(alone.errors.unwrap().retries > 0 && alone.gc.victims > 20, "{alone:?}");
        assert_eq!(of_array.latency, alone.latency, "{layout} {arrival}");
        assert_eq!(of_array.throughput, alone.throughput);
        assert_eq!((&of_array.flash, &of_array.host), (&alone.flash, &alone.host));
        assert_eq!(of_array.errors, alone.errors);
    }
}

/// The parts of a latency add up to it above drives, too.
#[test]
fn the_host_of_an_array_sees_little_s_law_and_for_whom_it_waits() {
    for layer in [MIRROR, RAID] {
        let result = lived(&[layer], &["workload.arrival={ queue-depth = 8 }"]);
        let depth = under_way(&result);
        assert!((depth / 8.0 - 1.0).abs() < 0.01, "{depth}");
        let latency = result.summary.latency.unwrap();
        for (is_write, figures) in [(false, latency.read.unwrap()), (true, latency.write.unwrap())] {
            let parts: f64 = figures.breakdown_ns.named().iter().map(|(_, ns)| ns).sum();
            assert!((parts / figures.times.mean_ns - 1.0).abs() < 1e-9, "{figures:?}");
            // A change of a stripe waits for the reads that it needs and for its record first.
            let (gc, before) = (figures.breakdown_ns.behind_gc, figures.breakdown_ns.dependencies);
            assert!(gc > 0.0 && (before > gc) == (is_write && layer == RAID), "{figures:?}");
        }
        let drives = &result.summary.array.unwrap().drives;
        let waited: f64 = drives.iter().map(|drive| drive.waited_for.unwrap()).sum();
        assert!((waited - 1.0).abs() < 1e-6, "{waited}");
        for drive in drives {
            let latency = drive.latency.unwrap();
            assert!(latency.read.unwrap().count > 500 && latency.write.unwrap().count > 500, "{drive:?}");
        }
    }
}

/// A slow member is whom the host waits for: a write of a mirror is done with its last copy.
#[test]
fn a_slow_member_is_named() {
    let result = lived(&[MIRROR], &["array.member=[{}, { drive = { timing = { program = \"2 ms\" } } }]"]);
    let waited: Vec<f64> = array(&result).drives.iter().map(|drive| drive.waited_for.unwrap()).collect();
    assert!(waited[1] > 0.6 && waited[0] < 0.4, "{waited:?}");
}

/// Where nothing waits for anything else, time decides nothing: what members write is the same, up to what is cut differently.
#[test]
fn at_depth_one_members_write_what_they_write_without_time() {
    let none = RAID.replace("layout", "journal = \"none\"\nlayout");
    for layer in [MIRROR, &none] {
        let depth_one = "workload.arrival={ queue-depth = 1 }";
        let (timed, untimed) = (lived(&[layer], &[depth_one]), lived(&[layer], &UNTIMED));
        for (one, other) in written(&timed).into_iter().zip(written(&untimed)) {
            assert!((one as f64 / other as f64 - 1.0).abs() < 0.01, "{one} {other}");
        }
        assert_eq!(timed.summary.host.bytes_written, untimed.summary.host.bytes_written);
    }
}

/// A change that nothing waits beside has its record alone: 8 pages of members for one of the host, where changes that share heads need 6.1.
#[test]
fn a_record_of_its_own_costs_more_than_a_shared_one() {
    let pages = |result: &RunResult| {
        let flash = &result.summary.flash.pages_programmed;
        flash.host as f64 / result.summary.host.pages_written as f64
    };
    let (alone, shared) = (lived(&[RAID], &["workload.arrival={ queue-depth = 1 }"]), lived(&[RAID], &UNTIMED));
    assert!(
        (pages(&alone) - 8.0).abs() < 0.3 && (pages(&shared) - 6.2).abs() < 0.2,
        "{} {}",
        pages(&alone),
        pages(&shared)
    );
    let together = lived(&[RAID], &["workload.arrival={ queue-depth = 16 }"]);
    assert!(pages(&together) < pages(&alone), "{}", pages(&together));
}

/// Drives side by side that share nothing but their host amplify as one drive under the same load does.
#[test]
fn members_of_a_linear_array_amplify_as_one_drive_does() {
    let amplification = |result: &RunResult| result.summary.write_amplification.total.unwrap();
    let alone = amplification(&lived(&[], &["until.drive-writes=4"]));
    let layer = "[array]\nlayout = \"linear\"\n[[array.member]]\ncount = 3\n";
    let result = lived(&[layer], &["until.drive-writes=4"]);
    assert!((amplification(&result) / alone - 1.0).abs() < 0.03, "{} {alone}", amplification(&result));
    for drive in &result.drives {
        assert!((amplification(drive) / alone - 1.0).abs() < 0.05, "{} {alone}", amplification(drive));
    }
}

/// A spare gets its copy beside what the host asks, in time: the host goes on, and feels it.
#[test]
fn a_spare_is_filled_while_the_host_goes_on() {
    let life = [
        "until.drive-writes=12",
        "drive.endurance=40",
        "array.member=[{}, { drive = { initial = { erase-count = 30 } } }]",
    ];
    let spares = ["array.at-end-of-life=gone", "array.spares=1", "array.rebuild-rate=\"2 MB/s\""];
    let result = lived(&[MIRROR], &[&life[..], &spares].concat());
    let array = array(&result);
    let runs: Vec<(&str, DriveState)> = array.drives.iter().map(|drive| (drive.run.as_str(), drive.state)).collect();
    assert!(runs.contains(&("drive-1", DriveState::Gone)), "{runs:?}");
    let new = array.drives.iter().find(|drive| drive.run == "drive-1-new-1").unwrap();
    assert!(array.bytes_copied > 4 << 20 && array.bytes_lost == 0, "{array:?}");
    let copied_for = array.writes_degraded;
    assert!((0.1..8.0).contains(&copied_for), "data have a copy less until the spare has its own: {copied_for}");
    // Each drive has its own answers.
    let writes = |drive: &wane_results::ArrayDrive| drive.latency.unwrap().write.unwrap().count;
    let (first, gone) = (writes(&array.drives[0]), writes(&array.drives[1]));
    assert!(gone > 100 && writes(new) > 100 && gone + writes(new) <= first, "{gone} {first} {new:?}");
    // Little's law holds through the death and the copying.
    assert!((under_way(&result) / 4.0 - 1.0).abs() < 0.01, "{}", under_way(&result));
}

/// The next drive is replaced once the one before has all that belongs on it, so that nothing is lost.
#[test]
fn drives_are_replaced_one_after_the_other() {
    let life = ["drive.endurance=60", "workload.arrival={ poisson = \"5 ms\" }"];
    let replaced = ["array.replace-at=0.3", "array.replacements=2"];
    // The end of an array, which is another thing to lose data by, is not reached.
    for (layer, until) in [(MIRROR, "until.drive-writes=16"), (RAID, "until.drive-writes=4")] {
        let result = lived(&[layer], &[&life[..], &replaced, &[until]].concat());
        assert_eq!(result.summary.end.cause, None);
        let array = array(&result);
        let came: Vec<f64> = array.drives.iter().map(|drive| drive.came_at).filter(|came| *came > 0.0).collect();
        assert!(came.len() == 2 && (came[0] - came[1]).abs() > 0.01, "{came:?}");
        assert_eq!(array.bytes_lost, 0, "{array:?}");
        assert!(array.writes_degraded > 0.0, "{array:?}");
    }
}

/// Reads that find nothing take no time, and are no requests, above drives as on one.
#[test]
fn reads_of_nothing_are_not_counted() {
    let set = ["precondition.fill=0", "until={ requests = 4000 }"];
    let layer = "[array]\nlayout = \"linear\"\n[[array.member]]\n";
    let (alone, of_array) = (lived(&[], &set).summary, lived(&[layer], &set).summary);
    assert_eq!((alone.latency, alone.throughput), (of_array.latency, of_array.throughput));
    for layer in [MIRROR, RAID] {
        let nothing = lived(&[layer], &[&set[..], &["workload.read-share=1.0"]].concat());
        assert_eq!(nothing.summary.latency.and_then(|latency| latency.read), None);
    }
}

/// What is first written in a run is flushed now and then, so that changes of it need their records as they do without time.
#[test]
fn a_journal_is_written_on_an_array_that_was_empty() {
    let pages = |journal: &str| {
        let result =
            lived(&[RAID], &["precondition.fill=0", "until.drive-writes=3", &format!("array.journal={journal}")]);
        let flash = &result.summary.flash;
        let drives = result.drives.iter().map(|drive| drive.summary.flash.pages_programmed.total);
        assert_eq!(flash.pages_programmed.total, drives.sum::<u64>(), "the array is the sum of its drives");
        flash.pages_programmed.host as f64 / result.summary.host.pages_written as f64
    };
    let (full, none) = (pages("full"), pages("none"));
    assert!(full > 5.0 && (1.9..2.2).contains(&none), "{full} {none}");
}

/// Probes of an array are windows of its host, as those of a drive are, and its own data say more of its drives.
#[test]
fn probes_of_an_array_are_windows_of_its_host() {
    let set = ["probe.at-drive-writes=[0, 1]", "probe.until.requests=2000"];
    let result = lived(&[RAID], &set);
    let probes = &array(&result).probes;
    assert_eq!((result.windows.len(), probes.len()), (2, 2));
    for (window, probe) in result.windows.iter().zip(probes) {
        assert_eq!((window.kind, window.at_drive_writes), (WindowKind::Probe, probe.at_array_writes));
        assert_eq!(window.latency.read.as_ref().unwrap().times, probe.host.read.unwrap());
        assert_eq!(window.latency.write.as_ref().unwrap().times, probe.host.write.unwrap());
        assert!((window.seconds / probe.seconds - 1.0).abs() < 1e-9);
        let waited: f64 = probe.drives.iter().map(|drive| drive.waited_for.unwrap()).sum();
        assert!((waited - 1.0).abs() < 1e-6, "{probe:?}");
    }
    assert_eq!(result.summary.latency, result.windows.last().map(|window| window.latency.clone()));
    assert!(array(&result).drives.iter().all(|drive| drive.latency.is_none()), "the run itself takes no time");
}

/// A request of a program is done when the blocks that the file system writes for it are.
#[test]
fn programs_wait_for_their_file_system() {
    let result = lived(&[FILES], &[]);
    let summary = &result.summary;
    let (latency, files) = (summary.latency.as_ref().unwrap(), summary.file_system.as_ref().unwrap());
    let write = latency.write.as_ref().unwrap();
    assert_eq!(write.times.count * 4096, files.bytes_written, "each write takes time");
    assert!(write.times.p50_ns > 500_000, "at least a page is programmed: {write:?}");
    // A checkpoint is a part of the request that brings it.
    assert!(files.checkpoints > 10 && write.times.max_ns > 20 * write.times.p50_ns, "{write:?}");
    assert!((under_way(&result) / 4.0 - 1.0).abs() < 0.01, "{}", under_way(&result));
    // A life without time has probes with it.
    let probed =
        lived(&[FILES], &["probe.at-drive-writes=[0, 1]", "probe.until.requests=1000", "time.drive-writes-per-day=1"]);
    let counts = probed.windows.iter().map(|window| window.latency.write.as_ref().unwrap().times.count);
    assert!(counts.clone().count() == 2 && counts.min().unwrap() > 400, "{:?}", probed.windows);
    // What the drive gets is what it gets without time, but that blocks which are overwritten at once are not left out.
    let untimed = lived(&[FILES], &UNTIMED).summary.file_system.unwrap();
    let amplification = |files: &wane_results::FileSystem| files.write_amplification.unwrap();
    assert!((amplification(files) / amplification(&untimed) - 1.0).abs() < 0.05, "{files:?} {untimed:?}");
}

/// The stack of all three: what it answers depends on its seed alone, and on an older array it takes longer.
#[test]
fn a_file_system_on_an_array_is_probed_at_each_age() {
    let set = [
        "until.drive-writes=2",
        "probe.at-drive-writes=[0, 1, 2]",
        "probe.until.requests=2000",
        "drive.chip=tlc-72l-2018",
        "drive.initial.erase-count=100",
        "drive.ecc.strength=20",
    ];
    let (one, again) = (lived(&[RAID, FILES], &set), lived(&[RAID, FILES], &set));
    assert_eq!((&one.windows, array(&one), &one.timeline), (&again.windows, array(&again), &again.timeline));
    assert_eq!(one.windows.len(), 3, "{:?}", one.summary.warnings);
    let mean = |number: usize| one.windows[number].latency.read.as_ref().unwrap().times.mean_ns;
    assert!(mean(2) > mean(0), "{} {}", mean(0), mean(2));
    // In time as well, with the errors of its drives in its windows.
    let timed = lived(&[RAID, FILES], &[&set[3..], &["until.drive-writes=1"]].concat());
    let checked: u64 = timed.windows.iter().map(|window| window.errors.unwrap().codewords_checked).sum();
    let all = timed.summary.errors.unwrap().codewords_checked;
    // A last window in which nothing ends is left out.
    assert!(checked <= all && checked as f64 > 0.99 * all as f64, "{checked} {all}");
    assert!((under_way(&timed) / 4.0 - 1.0).abs() < 0.02, "{}", under_way(&timed));
}

/// However a timed run of an array is stepped, and from a copy in its midst too, it becomes the same.
#[test]
fn a_timed_array_lives_the_same_however_it_is_stepped() {
    for layers in [&[MIRROR][..], &[RAID, FILES]] {
        let scenario = scenario(&[&[DRIVE], layers].concat().concat(), &["until.drive-writes=1"]);
        let whole = lived(layers, &["until.drive-writes=1"]);
        let mut run = Run::new(build::plan(&scenario).unwrap());
        let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
        let (mut steps, mut copy) = (0, None);
        while run.advance(Budget::units(333), &mut watch).unwrap() == Progress::Paused {
            steps += 1;
            if steps == 20 {
                copy = Some(run.try_clone().unwrap());
            }
        }
        let mut copy = copy.unwrap();
        assert_eq!(copy.advance(Budget::WHOLE, &mut watch).unwrap(), Progress::Over);
        for run in [run, copy] {
            let finished = run.finish(&Arc::default()).unwrap();
            assert_eq!(finished.array.unwrap().figures, *array(&whole));
            let measured = finished.measured.unwrap();
            assert_eq!(measured.latency, whole.summary.latency);
            assert_eq!(measured.windows, whole.windows);
        }
    }
}
