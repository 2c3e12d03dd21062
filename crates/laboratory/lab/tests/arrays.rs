//! Lives of arrays.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_lab::build::{self, Override, PolicyOverrides};
use wane_lab::run::{Budget, Progress, Run, Watch};
use wane_lab::session;
use wane_results::{
    ArrayFigures, ArrayLatency, ArrayProbe, DriveState, EndCause, EndReason, LatencyDistribution, RunResult, Summary,
};
use wane_scenario::{Scenario, Sources};

const MIRROR: &str = "[drive]\nlogical-capacity = \"8 MiB\"\nspare-factor = 0.2\npages-per-block = 16\nendurance = 40\n\
                      [array]\n[[array.member]]\n[[array.member]]\n[workload]\npattern = \"zipf\"\n\
                      [until]\nend-of-life = true\n";

fn scenario(set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Scenario::resolve(&Sources { file: Some(("mirror.toml", MIRROR)), set: &set, preset: None }).unwrap()
}

/// What became of an array.
#[derive(Debug)]
struct Lived {
    summary: Summary,
    array: ArrayFigures,
    drives: Vec<RunResult>,
}

fn lived(scenario: &Scenario) -> Lived {
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    let RunResult { mut summary, drives, .. } =
        session::execute(scenario, &PolicyOverrides::default(), &mut watch).unwrap();
    let array = summary.array.take().unwrap();
    Lived { summary, array, drives }
}

fn states(result: &Lived) -> Vec<(&str, DriveState)> {
    result.array.drives.iter().map(|drive| (drive.run.as_str(), drive.state)).collect()
}

#[test]
fn equal_drives_die_together_and_staggered_ones_do_not() {
    let together = lived(&scenario(&[]));
    assert_eq!(states(&together), [("drive-0", DriveState::ReadOnly), ("drive-1", DriveState::ReadOnly)]);
    assert!(together.array.between_deaths().unwrap() < 0.02, "{:?}", together.summary);
    assert_eq!(together.summary.end.reason, EndReason::EndOfLife);
    assert_eq!((together.array.bytes_lost, together.summary.capacity.logical_bytes_initial), (0, 8 << 20));
    let staggered = lived(&scenario(&["array.member.1.drive.initial.erase-count=20"]));
    assert!(staggered.array.between_deaths().unwrap() > 0.3, "{:?}", staggered.summary);
    // The used drive died first; the other lived as long as without it.
    let ends: Vec<f64> = staggered.array.drives.iter().map(|drive| drive.ended_at.unwrap()).collect();
    assert!(ends[1] < 0.7 * ends[0], "{ends:?}");
    assert!((ends[0] / together.array.last_death_at.unwrap() - 1.0).abs() < 0.02, "{ends:?}");
    // Each drive's own results are those of a drive that died when its array says.
    for (told, result) in staggered.array.drives.iter().zip(&staggered.drives) {
        assert_eq!(result.summary.end.reason, EndReason::EndOfLife);
        assert!((result.summary.end.at_drive_writes - told.ended_at.unwrap()).abs() < 0.02, "{told:?}");
        assert_eq!(result.summary.host.bytes_written, told.bytes_written);
        assert!(result.timeline.len() > 20, "{}", result.timeline.len());
    }
}

#[test]
fn a_drive_that_takes_its_data_with_it_leaves_them_to_the_other() {
    let gone = "array.at-end-of-life=gone";
    let both = lived(&scenario(&[gone]));
    assert_eq!(both.array.bytes_lost, both.summary.capacity.logical_bytes_initial);
    let one = lived(&scenario(&[
        gone,
        "array.member.1.drive.endurance=400",
        "until.drive-writes=40",
        "until.end-of-life=false",
    ]));
    assert_eq!(states(&one), [("drive-0", DriveState::Gone), ("drive-1", DriveState::Online)]);
    assert_eq!((one.array.bytes_lost, one.array.last_death_at), (0, None));
    assert!(one.array.first_death_at.is_some() && one.summary.end.reason == EndReason::DriveWrites);
}

/// With one copy, what a drive takes with it is lost.
#[test]
fn arrays_with_one_copy_lose_what_a_drive_held() {
    for (layout, share) in [("stripe", 2), ("linear", 1)] {
        let set = format!("array.layout={layout}");
        let result = lived(&scenario(&[&set, "array.at-end-of-life=gone"]));
        assert_eq!(result.array.bytes_lost, share * (8 << 20), "{layout}");
    }
}

/// What was written on the drives is what the array wrote, from the first page to the last.
#[test]
fn what_drives_were_written_adds_up() {
    for set in [
        &["precondition.fill=0", "until.drive-writes=0.001", "until.end-of-life=false"][..],
        &["precondition.fill=0.3"],
        &["precondition.random-drive-writes=1"],
        &[],
    ] {
        let result = lived(&scenario(set));
        for drive in &result.array.drives {
            // The last write is that of the drive that lived longest.
            let less = result.summary.host.bytes_written - drive.bytes_written;
            assert!(
                less <= result.summary.capacity.logical_bytes_initial / 64,
                "{set:?}: {less} of {:?}",
                result.summary
            );
        }
        let most = result.array.drives.iter().map(|drive| drive.bytes_written).max();
        assert_eq!(most, Some(result.summary.host.bytes_written), "{set:?}");
    }
}

/// A replacement has no past, whatever the drive had that it replaces.
#[test]
fn a_new_drive_is_new() {
    let result = lived(&scenario(&[
        "drive.initial.erase-count=10",
        "array.replace-at=0.3",
        "array.member.1.drive.endurance=400",
    ]));
    assert_eq!(states(&result)[..2], [("drive-0", DriveState::Replaced), ("drive-0-new-1", DriveState::ReadOnly)]);
    let [old, new] = [&result.drives[0], &result.drives[1]].map(|drive| drive.summary.wear.erase_count_mean_at_start);
    assert!(old >= 10.0 && new < 4.0, "{old} {new}");
}

#[test]
fn a_worn_drive_is_replaced_before_its_end() {
    let replaced = lived(&scenario(&["array.replace-at=0.8", "array.replacements=2"]));
    let array = &replaced.array;
    let count = |state| array.drives.iter().filter(|drive| drive.state == state).count();
    assert_eq!((count(DriveState::Replaced), array.drives.len()), (2, 4), "{:?}", states(&replaced));
    for drive in array.drives.iter().filter(|drive| drive.state == DriveState::Replaced) {
        assert!((0.8..0.9).contains(&drive.life_used.unwrap()), "{drive:?}");
    }
    // All data went to the new drives, and no more than that.
    let capacity = replaced.summary.capacity.logical_bytes_initial;
    assert!((capacity..=2 * capacity).contains(&array.bytes_copied), "{array:?}");
    assert_eq!(array.bytes_lost, 0);
    let ends = replaced.drives.iter().map(|drive| drive.summary.end.reason);
    assert_eq!(ends.filter(|reason| *reason == EndReason::Replaced).count(), 2);
}

#[test]
fn arrays_with_one_copy_end_with_their_first_drive() {
    for layout in ["stripe", "linear"] {
        let set = format!("array.layout={layout}");
        let result = lived(&scenario(&[&set, "array.member.0.drive.endurance=20"]));
        assert_eq!(result.summary.capacity.logical_bytes_initial, 16 << 20, "{layout}");
        assert_eq!(result.summary.end.reason, EndReason::EndOfLife);
        assert!(result.summary.end.cause.is_some_and(|cause| cause != EndCause::FootprintDoesNotFit));
        let worn = result.array.drives.iter().position(|drive| drive.state == DriveState::ReadOnly).unwrap();
        assert_eq!(states(&result)[1 - worn].1, DriveState::Online);
        assert_eq!(result.drives[1 - worn].summary.end.reason, EndReason::ArrayEnd);
    }
}

#[test]
fn members_of_other_sizes_are_filled() {
    let result = lived(&scenario(&[
        "array.member.1.drive.logical-capacity=4MiB",
        "array.member.0.count=2",
        "until.drive-writes=2",
        "until.end-of-life=false",
    ]));
    // (8 + 8 + 4) / 2
    assert_eq!(result.summary.capacity.logical_bytes_initial, 10 << 20);
    let written: u64 = result.array.drives.iter().map(|drive| drive.bytes_written).sum();
    assert_eq!(written, 2 * result.summary.host.bytes_written);
}

#[test]
fn two_lives_of_a_seed_are_the_same() {
    let same = |one: &Lived, other: &Lived| {
        let files = |result: &Lived| -> Vec<_> {
            let of = |drive: &RunResult| {
                let mut drive = drive.clone();
                drive.summary.run.wall_seconds = 0.0;
                drive.summary.run.flash_pages_programmed_per_second = None;
                drive.summary.run.peak_memory_bytes = None;
                drive.to_files().unwrap()
            };
            result.drives.iter().map(of).collect()
        };
        let summary = |result: &Lived| {
            let run = wane_results::Run { seed: result.summary.run.seed, ..wane_results::Run::default() };
            (Summary { run, ..result.summary.clone() }, result.array.clone())
        };
        (summary(one) == summary(other), files(one) == files(other))
    };
    let first = lived(&scenario(&["array.replace-at=0.5"]));
    assert_eq!(same(&first, &lived(&scenario(&["array.replace-at=0.5"]))), (true, true));
    // The resolved scenario makes the same array.
    let text = scenario(&["array.replace-at=0.5"]).to_toml();
    let again = Scenario::resolve(&Sources { file: Some(("again.toml", &text)), ..Sources::default() }).unwrap();
    assert_eq!(same(&first, &lived(&again)), (true, true));
    assert!(!same(&first, &lived(&scenario(&["array.replace-at=0.5", "seed=2"]))).0);
}

#[test]
fn a_life_that_is_stopped_tells_what_it_has() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut steps = 0;
    let mut step = |_: &wane_lab::run::Step| {
        steps += 1;
        stop.store(steps > 20, std::sync::atomic::Ordering::Relaxed);
    };
    let mut watch = Watch { step: &mut step, stop: &stop };
    let result = session::execute(&scenario(&[]), &PolicyOverrides::default(), &mut watch).unwrap();
    assert_eq!(result.summary.end.reason, EndReason::Interrupted);
    assert!(result.drives.iter().all(|drive| drive.summary.end.reason == EndReason::Interrupted));
}

/// The host's figures are of all drives together, and its rows go from the start of its life to the end.
#[test]
fn the_summary_of_an_array_is_that_of_its_host() {
    let result = lived(&scenario(&["until={ drive-writes = 4 }"]));
    let (summary, drives) = (&result.summary, &result.drives);
    let sum = |of: fn(&Summary) -> u64| drives.iter().map(|drive| of(&drive.summary)).sum::<u64>();
    assert!((summary.host.drive_writes - 4.0).abs() < 0.01, "{:?}", summary.host);
    assert_eq!(summary.flash.pages_programmed.total, sum(|drive| drive.flash.pages_programmed.total));
    assert_eq!(summary.flash.blocks_erased.total, sum(|drive| drive.flash.blocks_erased.total));
    assert_eq!(summary.capacity.physical_bytes_usable, sum(|drive| drive.capacity.physical_bytes_usable));
    // Two copies: what flash gets for a byte of the host is the sum of what it gets for a byte of each copy.
    let own: f64 = drives.iter().map(|drive| drive.summary.write_amplification.total.unwrap()).sum();
    let amplification = &summary.write_amplification;
    assert!((amplification.total.unwrap() / own - 1.0).abs() < 1e-9, "{own}");
    // A second copy is no garbage collection.
    assert!((amplification.total.unwrap() - amplification.gc.unwrap() - 1.0).abs() < 1e-9, "{amplification:?}");
    let mean = drives.iter().map(|drive| drive.summary.wear.erase_count.mean).sum::<f64>() / 2.0;
    assert!((summary.wear.erase_count.mean / mean - 1.0).abs() < 1e-9, "{mean}");
}

/// However a run of an array is stepped, and from a copy in its midst too, it becomes the same: requests of several pages stay whole.
#[test]
fn an_array_lives_the_same_however_it_is_stepped() {
    let set = ["array.replace-at=0.5", "precondition.fill=0.7"];
    lives_the_same_however_it_is_stepped(&set);
    let raid = ["array.layout='raid'", "array.chunk='16 KiB'", "array.member=[{count=4}]", "drive.endurance=60"];
    let long = ["workload={pattern='uniform',request-size='28 KiB',trim-share='10 %'}"];
    lives_the_same_however_it_is_stepped(&[&set[..], &raid, &long].concat());
}

fn lives_the_same_however_it_is_stepped(set: &[&str]) {
    let scenario = scenario(set);
    let whole = lived(&scenario);
    let mut run = Run::new(build::plan(&scenario).unwrap());
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    let (mut steps, mut copy) = (0, None);
    while run.advance(Budget::units(777), &mut watch).unwrap() == Progress::Paused {
        steps += 1;
        if steps == 20 {
            copy = Some(run.try_clone().unwrap());
        }
    }
    let mut copy = copy.unwrap();
    assert_eq!(copy.advance(Budget::WHOLE, &mut watch).unwrap(), Progress::Over);
    for run in [run, copy] {
        let finished = run.finish(&Arc::default()).unwrap();
        let array = finished.array.unwrap();
        assert_eq!(array.figures, whole.array);
        let rows = array.drives.iter().map(|(_, drive)| &drive.timeline);
        assert!(rows.eq(whole.drives.iter().map(|drive| &drive.timeline)));
        assert_eq!(finished.counters.host_units_written, whole.summary.host.pages_written);
    }
}

/// What requests change of a stripe together changes its parity once. The host's bytes and those of parities, by hand.
#[test]
fn requests_of_whole_stripes_write_each_parity_once() {
    let raid = ["array.layout='raid'", "array.chunk='16 KiB'", "array.journal='none'", "array.member=[{count=4}]"];
    let of = |request: &str| {
        let (workload, until) =
            (format!("workload={{pattern='uniform',request-size='{request}'}}"), "until={ drive-writes = 1 }");
        let result = lived(&scenario(&[&raid[..], &["drive.endurance=1000", &workload, until]].concat()));
        let written: u64 = result.array.drives.iter().map(|drive| drive.bytes_written).sum();
        written as f64 / result.summary.host.bytes_written as f64
    };
    for (request, bytes) in [("4 KiB", 2.0), ("16 KiB", 2.0), ("24 KiB", 1.0 + 16.0 / 24.0), ("48 KiB", 4.0 / 3.0)] {
        let found = of(request);
        assert!((found / bytes - 1.0).abs() < 0.01, "{request}: {found} for {bytes}");
    }
}

/// Data and parities in order come in the rhythm of the dies: one that fills up with what stays ends its drive, and the drive says so.
#[test]
fn a_drive_that_ends_with_good_blocks_says_why() {
    let of = |domain: &str| {
        let text = format!(
            "[drive]\nchannels = 1\ndies-per-channel = 4\nplanes-per-die = 1\nblocks-per-plane = 64\npages-per-block = 16\n\
             page-size = '4 KiB'\nlogical-capacity = '12 MiB'\nendurance = 3000\n\
             [ftl]\ndomain = '{domain}'\nfrontiers = 'separate'\ngc-reserve = 4\n\
             [array]\nlayout = 'raid'\nchunk = '4 KiB'\njournal = 'none'\n[[array.member]]\ncount = 3\n\
             [workload]\npattern = 'sequential'\n[until]\ndrive-writes = 6\n"
        );
        lived(&Scenario::resolve(&Sources { file: Some(("rhythm.toml", &text)), ..Sources::default() }).unwrap())
    };
    let is_told =
        |drive: &RunResult| drive.summary.warnings.iter().any(|told| told.contains("all of its blocks were good"));
    let (die, drive) = (of("die"), of("drive"));
    let ended = |lived: &Lived| lived.array.drives.iter().map(|drive| drive.ended_at.is_some()).collect::<Vec<_>>();
    assert_eq!(die.drives.iter().map(is_told).collect::<Vec<_>>(), ended(&die));
    assert!(ended(&die).contains(&true) && !ended(&drive).contains(&true), "{:?}", die.array.drives);
}

/// Members have policies from outside as one drive has them.
#[test]
fn a_policy_from_outside_serves_each_member() {
    let scenario = scenario(&["until={ drive-writes = 4 }", "ftl.gc=\"fifo\""]);
    let greedy = PolicyOverrides {
        victim: Some(Override::new(
            "my-greedy",
            Scenario { array: None, ..lived_with("greedy") }.ftl.gc.policy().clone(),
        )),
        ..PolicyOverrides::default()
    };
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    let outside = session::execute(&scenario, &greedy, &mut watch).unwrap();
    let (fifo, own) = (lived(&scenario), lived(&lived_with("greedy")));
    assert_eq!(outside.summary.flash, own.summary.flash);
    assert_ne!(outside.summary.flash, fifo.summary.flash);
    // Results say so, of the whole and of each drive.
    for result in outside.drives.iter().chain([&outside]) {
        assert_eq!(result.summary.scenario.overrides["gc"]["policy"], "my-greedy");
    }
    assert_ne!(outside.summary.scenario.hash, fifo.summary.scenario.hash);
}

/// The mirror that collects by a built-in policy.
fn lived_with(policy: &str) -> Scenario {
    scenario(&["until={ drive-writes = 4 }", &format!("ftl.gc={policy}")])
}

const PROBED: [&str; 4] = [
    "time.scheduler=event",
    "until={ drive-writes = 6 }",
    "probe.at-drive-writes=[0, 2, 5]",
    "probe.workload={ pattern = \"uniform\", read-share = 0.6, arrival = { queue-depth = 8 } }",
];

/// The probes of the mirror with these settings.
fn probes(set: &[&str]) -> Vec<ArrayProbe> {
    lived(&scenario(&[&PROBED[..], &["probe.until.requests=4000"], set].concat())).array.probes
}

#[test]
fn a_mirror_is_as_slow_as_its_last_copy_and_reads_from_all() {
    let probes = probes(&[]);
    let at: Vec<f64> = probes.iter().map(|probe| probe.at_array_writes).collect();
    assert!(at.iter().zip([0.0, 2.0, 5.0]).all(|(at, due)| (0.0..0.01).contains(&(at - due))), "{at:?}");
    for probe in &probes {
        let (read, write) = (probe.host.read.unwrap(), probe.host.write.unwrap());
        let of = |kind: fn(&ArrayLatency) -> Option<LatencyDistribution>| -> Vec<LatencyDistribution> {
            probe.drives.iter().map(|drive| kind(&drive.latency).unwrap()).collect()
        };
        let (reads, writes) = (of(|latency| latency.read), of(|latency| latency.write));
        assert_eq!((reads.len(), read.count + write.count, probe.failed), (2, 4000, 0));
        // Each read goes to one of them, each write to both.
        assert_eq!(reads.iter().map(|one| one.count).sum::<u64>(), read.count);
        assert!(
            writes.iter().all(|one| one.count == write.count && one.mean_ns <= write.mean_ns),
            "{writes:?} {write:?}"
        );
        assert!(
            reads.iter().all(|one| one.count * 3 > read.count),
            "the shortest queue is now this one, now the other"
        );
        let mean = reads.iter().map(|one| one.mean_ns * one.count as f64).sum::<f64>() / read.count as f64;
        // A read that finds a write of its page under way waits for all copies of that.
        assert!((0.98..=1.0).contains(&(mean / read.mean_ns)), "{mean} {}", read.mean_ns);
        assert_eq!(probe.drives[1].run.as_deref(), Some("drive-1"));
    }
}

/// A probe is a copy, and the errors of a chip are those of each drive.
#[test]
fn probes_change_nothing_and_drives_of_a_run_err() {
    let chip = [
        "drive.chip=\"tlc-72l-2018\"",
        "until={ drive-writes = 2 }",
        "workload.read-share=0.3",
        "probe.until.requests=500",
    ];
    let (without, with) = (lived(&scenario(&chip[..3])), lived(&scenario(&[&PROBED[..], &chip].concat())));
    for (one, other) in without.drives.iter().zip(&with.drives) {
        let (one, other) = (one.summary.errors.unwrap(), other.summary.errors.unwrap());
        assert!(one.codewords_checked > 1000 && one == other, "{one:?} {other:?}");
    }
    let all: u64 = with.drives.iter().map(|drive| drive.summary.errors.unwrap().codewords_checked).sum();
    assert_eq!(with.summary.errors.unwrap().codewords_checked, all);
    let again = lived(&scenario(&[&PROBED[..], &chip].concat())).summary;
    let run = with.summary.run.clone();
    assert_eq!(Summary { run, ..again }, with.summary);
    let worn = lived(&scenario(&["time.scheduler=event", "probe.at-wear=[0.4, 0.7, 1.0]", "probe.until.requests=100"]));
    let used: Vec<f64> = worn.array.probes.iter().map(|probe| probe.life_used.unwrap()).collect();
    assert!((0.4..0.45).contains(&used[0]) && (0.7..0.75).contains(&used[1]) && used.len() == 2, "{used:?}");
    assert!(worn.summary.warnings[0].starts_with("the run ended before 1 of 3 probes were due"), "{worn:?}");
}

/// An array that ends is looked at as it was just before: slower than when it was new, since its drives have little left to collect into.
#[test]
fn an_array_is_probed_at_the_end_of_its_life() {
    let end = ["until.end-of-life=true", "probe.at-end-of-life=true"];
    let set = [&PROBED[..1], &PROBED[2..], &["probe.at-drive-writes=[0]", "probe.until.requests=2000"], &end].concat();
    let lived = lived(&scenario(&set));
    let [first, last] = &lived.array.probes[..] else { panic!("{:?}", lived.array.probes) };
    assert_eq!(lived.summary.end.reason, EndReason::EndOfLife);
    // Little was left: the copy may end in its probe, and nothing else is to say.
    let told = &lived.summary.warnings;
    assert!(told.iter().all(|told| told.starts_with("the array ended in its probe after ")), "{told:?}");
    let end = lived.summary.end.at_drive_writes;
    assert!(last.at_array_writes < end && last.at_array_writes > 0.95 * end, "{} of {end}", last.at_array_writes);
    assert!(last.life_used.unwrap() > 0.7 && first.life_used.unwrap() < 0.1, "{:?}", last.life_used);
    let p99 = |probe: &ArrayProbe| probe.host.write.unwrap().p99_ns;
    assert!(p99(last) > p99(first), "{} {}", p99(first), p99(last));
    // One that does not end is not looked at, and says so.
    let set = [&set[..], &["until.end-of-life=false", "until.drive-writes=1"]].concat();
    let lived = self::lived(&scenario(&set));
    assert_eq!(lived.array.probes.len(), 1);
    assert!(
        lived.summary.warnings.iter().any(|told| told.contains("probe.at-end-of-life")),
        "{:?}",
        lived.summary.warnings
    );
}

/// Each member is predicted from its own periods, and no prediction spans a death or what comes after it.
#[test]
fn a_fast_forwarded_array_dies_when_the_simulated_one_does() {
    let life = ["drive.endurance=150"];
    let worn = "array.member=[{}, { drive = { initial = { erase-count = 60 } } }]";
    let tended =
        ["array.at-end-of-life=gone", "array.spares=1", "array.replace-at=0.7", "until={ drive-writes = 120 }"];
    for more in [&[][..], &[worn], &[&[worn][..], &tended].concat()] {
        let set = [&life[..], more].concat();
        let simulated = lived(&scenario(&set));
        let predicted = lived(&scenario(&[&set[..], &["fast-forward.factor=4"]].concat()));
        let told = predicted.summary.fast_forward.as_ref().unwrap();
        assert!(told.factor_reached > 1.4 && told.predictions > 5, "{told:?}");
        assert_eq!(states(&predicted), states(&simulated));
        let (end, first) = (simulated.summary.end.at_drive_writes, simulated.array.first_death_at);
        assert!((predicted.summary.end.at_drive_writes / end - 1.0).abs() < 0.05, "{told:?} {end}");
        if let Some(first) = first {
            assert!((predicted.array.first_death_at.unwrap() / first - 1.0).abs() < 0.08, "{told:?} {first}");
        }
        for (one, other) in predicted.array.drives.iter().zip(&simulated.array.drives) {
            assert!((one.came_at - other.came_at).abs() < 0.05 * end, "{one:?} {other:?}");
            assert!((one.erase_count_mean / other.erase_count_mean - 1.0).abs() < 0.1, "{one:?} {other:?}");
        }
        // What was predicted counts in the lives of the drives, too.
        let drive = &predicted.drives[0].summary;
        assert!(drive.end.at_drive_writes > 1.5 * drive.host.drive_writes, "{drive:?}");
    }
}
