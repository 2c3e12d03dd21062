//! Lives of arrays with parities, and what their operator does with them.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::Arc;

use wane_lab::build::PolicyOverrides;
use wane_lab::held::{Held, Reached, Target, WrittenBytes};
use wane_lab::run::Watch;
use wane_lab::session;
use wane_raid::MemberState;
use wane_results::{ArrayFigures, DriveState, EndReason, RunResult, Summary};
use wane_scenario::{Scenario, Sources};

/// Five small drives, one of them old.
const RAID: &str = "[drive]\nlogical-capacity = \"4 MiB\"\nspare-factor = 0.2\npages-per-block = 16\nendurance = 30\n\
                    [array]\nlayout = \"raid\"\nchunk = \"8 KiB\"\njournal = \"none\"\n[[array.member]]\ncount = 4\n[[array.member]]\n\
                    drive.initial.erase-count = 15\n[workload]\npattern = \"zipf\"\n[until]\nend-of-life = true\n";

fn scenario(set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Scenario::resolve(&Sources { file: Some(("raid.toml", RAID)), set: &set, preset: None }).unwrap()
}

/// What became of an array.
#[derive(Debug)]
struct Lived {
    summary: Summary,
    array: ArrayFigures,
    drives: Vec<RunResult>,
}

fn executed(scenario: &Scenario) -> Lived {
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    let RunResult { mut summary, drives, .. } =
        session::execute(scenario, &PolicyOverrides::default(), &mut watch).unwrap();
    let array = summary.array.take().unwrap();
    Lived { summary, array, drives }
}

fn lived(set: &[&str]) -> Lived {
    executed(&scenario(set))
}

fn states(result: &Lived) -> Vec<(&str, DriveState)> {
    result.array.drives.iter().map(|drive| (drive.run.as_str(), drive.state)).collect()
}

/// With one parity an array goes on without the old drive, and ends with the next one, whose data it still has.
#[test]
fn five_drives_live_to_the_end_of_their_array() {
    let result = lived(&[]);
    let (summary, array) = (&result.summary, &result.array);
    assert_eq!((array.layout.as_str(), summary.end.reason), ("raid", EndReason::EndOfLife));
    // All drives read on, so nothing of what they had is lost with the second one that takes no more writes.
    assert_eq!(array.bytes_lost, 0);
    let (first, end) = (array.first_death_at.unwrap(), summary.end.at_drive_writes);
    // The journal that the array keeps without a drive wears the others faster: 0.84 of the life.
    assert!(first < 0.9 * end, "{first} of {end}");
    assert_eq!(array.writes_degraded, end - first);
    let (old, others) = array.drives.split_last().unwrap();
    assert_eq!((old.state, old.ended_at), (DriveState::ReadOnly, Some(first)));
    assert!(others.iter().any(|drive| drive.state == DriveState::ReadOnly), "{:?}", states(&result));
    // Each unit is written with its parity, unless neighbors share one.
    let written: u64 = array.drives.iter().map(|drive| drive.bytes_written).sum();
    assert!(written > summary.host.bytes_written * 5 / 4, "{written} of {}", summary.host.bytes_written);
}

/// A journal writes changes of a page once more on two drives, with a head: the partial parity, or the page and its parity.
#[test]
fn a_journal_wears_drives() {
    let new =
        ["array.member.1.drive.initial.erase-count=none", "workload.pattern=uniform", "drive.logical-capacity=16 MiB"];
    let until = ["until.end-of-life=false", "until.drive-writes=3"];
    let written = |journal: &'static str| {
        let result = lived(&[&new[..], &until, &[journal]].concat());
        let all: Vec<u64> = result.array.drives.iter().map(|drive| drive.bytes_written).collect();
        let (least, most) = (*all.iter().min().unwrap() as f64, *all.iter().max().unwrap() as f64);
        assert!(most < 1.1 * least, "the ring lies on all drives in turns: {all:?}");
        all.iter().sum::<u64>() as f64 / result.summary.host.bytes_written as f64
    };
    let (none, ppl, full) =
        (written("array.journal=none"), written("array.journal=ppl"), written("array.journal=full"));
    assert!((1.9..2.2).contains(&none), "{none}");
    // Checkpoints come on top, as the ring is small.
    assert!((2.0..2.8).contains(&(ppl - none)), "{ppl} {none}");
    assert!((2.0..2.8).contains(&(full - ppl)), "{full} {ppl}");
}

/// Of drives of unequal sizes each gets bytes by its size, the ring and what lies on each of them among these: so they wear alike.
#[test]
fn a_journal_wears_unequal_drives_alike() {
    let six = [
        "array.member=[{count=2}, {count=2, drive.logical-capacity='16 MiB'}, {drive.logical-capacity='8 MiB'}, {drive.logical-capacity='4 MiB'}]",
        "drive.logical-capacity=32 MiB",
        "array.width=3",
        "array.chunk=16 KiB",
        "workload.pattern=uniform",
        "drive.endurance=1000",
        "until.end-of-life=false",
        "until.drive-writes=2",
    ];
    let written = |journal: &'static str| -> Vec<f64> {
        let result = lived(&[&six[..], &[journal]].concat());
        result.array.drives.iter().map(|drive| drive.bytes_written as f64).collect()
    };
    // What they get of the data, by the slots that they have.
    let data = written("array.journal=none");
    for journal in ["array.journal=ppl", "array.journal=full"] {
        let times: Vec<f64> = written(journal).iter().zip(&data).map(|(all, data)| all / data).collect();
        let (least, most) =
            (times.iter().fold(f64::MAX, |one, of| one.min(*of)), times.iter().fold(0.0, |one: f64, of| one.max(*of)));
        assert!(least > 1.5 && most < 1.1 * least, "{journal}: {times:?}");
    }
}

/// A drive that was put back counts once the others say so durably. Until then the array is not called whole, and no drive may be lost.
#[test]
fn a_drive_that_came_back_counts_once_that_is_durable() {
    let timed = [
        "time.scheduler=event",
        "ftl.recovery=checkpoint",
        "drive.logical-capacity=16 MiB",
        "array.member.1.drive.initial.erase-count=none",
    ];
    for layout in [&["array.journal=full"][..], &["array.code=copies-2", "array.width=4", "array.member.0.count=3"]] {
        let mut held = Held::new(&scenario(&[&timed[..], layout].concat()), PolicyOverrides::default()).unwrap();
        held.flush().unwrap();
        held.come_to_rest();
        let whole = held.standing().unwrap();
        assert_eq!((whole.code(), whole.spare), (0, 1), "{}", whole.told);
        held.take_out(1).unwrap();
        held.put_back(1).unwrap();
        let between = held.standing().unwrap();
        assert_eq!((between.code(), between.spare, between.condition.name()), (1, 0, "degraded"), "{}", between.told);
        assert!(
            between.told.contains("is not known durably yet (a flush does that); and no drive more may be lost"),
            "{}",
            between.told
        );
        held.flush().unwrap();
        held.come_to_rest();
        assert_eq!(held.standing().unwrap(), whole);
    }
}

/// Pages of the ring are soon out of date. Drives with one stream write them between long-lived data and amplify more than without a journal; drives that
/// keep relocated data apart amplify less.
#[test]
fn a_journal_suits_drives_with_two_streams() {
    let drives = [
        "array.member.1.drive.initial.erase-count=none",
        "workload.pattern=uniform",
        "drive.logical-capacity=64 MiB",
        "drive.spare-factor=0.1",
        "drive.pages-per-block=64",
        "drive.endurance=100",
        "array.chunk=64 KiB",
    ];
    let amplification = |journal: &'static str, placement: &'static str| {
        let result = lived(&[&drives[..], &[journal, placement]].concat());
        let all = result.drives.iter().map(|drive| drive.summary.write_amplification.total.unwrap());
        all.sum::<f64>() / result.drives.len() as f64
    };
    let (one, separate) = ("ftl.placement=one", "ftl.placement=separate");
    let (none, full) = ("array.journal=none", "array.journal=full");
    assert!(amplification(full, one) > 1.2 * amplification(none, one));
    assert!(amplification(full, separate) < 0.9 * amplification(none, separate));
}

/// With shares of parities of 4 : 1 : 1 : 1 : 1 a change of a page writes the first drive with a chance of 1/2 + 1/2 x 1/4, the others with 1/8 + 7/8 x 1/4.
#[test]
fn a_drive_with_more_parities_wears_faster() {
    let new = "array.member.1.drive.initial.erase-count=none";
    let small = [new, "workload.pattern=uniform", "array.journal=none", "array.chunk=4KiB"];
    let until = ["until.end-of-life=false", "until.drive-writes=3"];
    let result = lived(&[&small[..], &until, &["array.parity-shares=[4, 1, 1, 1, 1]"]].concat());
    let written: Vec<f64> = result.array.drives.iter().map(|drive| drive.bytes_written as f64).collect();
    let others = written[1..].iter().sum::<f64>() / 4.0;
    let ratio = written[0] / others;
    assert!((ratio / (0.625 / 0.34375) - 1.0).abs() < 0.03, "{ratio}");
}

/// A spare takes the place of the drive that died, and is given all that was there.
#[test]
fn a_spare_comes_for_a_dead_drive() {
    let gone = "array.at-end-of-life=gone";
    let without = lived(&[gone]);
    let with = lived(&[gone, "array.spares=1"]);
    assert_eq!(states(&with)[4..], [("drive-4", DriveState::Gone), ("drive-4-new-1", DriveState::Online)]);
    let (old, new) = (&with.array.drives[4], &with.array.drives[5]);
    assert_eq!((old.ended_at, with.array.first_death_at), (Some(new.came_at), old.ended_at));
    assert!(with.array.bytes_copied > 3 << 20, "{}", with.array.bytes_copied);
    // Without it, the next death takes data along.
    assert_eq!(without.array.bytes_copied, 0);
    assert!(without.array.bytes_lost > 0 && without.array.writes_degraded > 0.5, "{:?}", without.summary);
    assert!(with.array.writes_degraded < 0.5 * without.array.writes_degraded, "{:?}", with.summary);
}

/// Two parities keep what two dead drives took along.
#[test]
fn a_code_decides_how_many_drives_may_go() {
    let set = |code: &'static str| {
        let until = ["until.end-of-life=false", "until.drive-writes=14"];
        let new = "array.member.0.drive.endurance=300";
        let counts = ["array.member.0.count=3", "array.member.1.count=2"];
        [code, new, counts[0], counts[1], "array.at-end-of-life=gone", until[0], until[1]]
    };
    let gone = |result: &Lived| {
        let gone = result.array.drives.iter().filter(|drive| drive.state == DriveState::Gone).count();
        (gone, result.array.bytes_lost > 0)
    };
    assert_eq!(gone(&lived(&set("array.code=xor"))), (2, true));
    assert_eq!(gone(&lived(&set("array.code=pq"))), (2, false));
}

#[test]
fn a_worn_drive_of_a_raid_is_replaced() {
    let result = lived(&["array.replace-at=0.6", "array.code=copies-2", "array.width=2"]);
    assert_eq!(states(&result)[4], ("drive-4", DriveState::Replaced));
    assert_eq!((result.array.drives[5].run.as_str(), result.array.bytes_lost), ("drive-4-new-1", 0));
    let old = &result.array.drives[4];
    assert!((0.6..0.7).contains(&old.life_used.unwrap()), "{old:?}");
}

/// A copy of it answers requests in time, whole and without a drive.
#[test]
fn a_probe_sees_what_a_parity_costs() {
    let probe = [
        "time.scheduler=event",
        "array.member.1.drive.initial.erase-count=none",
        "until.end-of-life=false",
        "until.drive-writes=2",
        "probe.at-drive-writes=[1]",
        "probe.workload.pattern=uniform",
        "probe.workload.read-share=0.5",
        "probe.workload.arrival.queue-depth=4",
        "probe.until.requests=400",
        "array.journal=full",
        "drive.endurance=300",
    ];
    let of = |code: &'static str| {
        let result = lived(&[&probe[..], &[code]].concat());
        let probe = result.array.probes.into_iter().next().unwrap();
        assert_eq!(probe.failed, 0);
        probe
    };
    let (xor, pqr) = (of("array.code=xor"), of("array.code=pqr"));
    let writes = |probe: &wane_results::ArrayProbe| -> u64 {
        probe.drives.iter().filter_map(|drive| drive.latency.write).map(|latency| latency.count).sum()
    };
    assert!(writes(&pqr) > writes(&xor), "{} {}", writes(&pqr), writes(&xor));
    let mean = |probe: &wane_results::ArrayProbe| probe.host.write.unwrap().mean_ns;
    assert!(mean(&xor) > probe_of_drives(&xor), "a write waits for its reads, its record and its parity");
}

/// How long a drive takes for a write, in the mean.
fn probe_of_drives(probe: &wane_results::ArrayProbe) -> f64 {
    let of: Vec<f64> = probe.drives.iter().filter_map(|drive| drive.latency.write).map(|one| one.mean_ns).collect();
    of.iter().sum::<f64>() / of.len() as f64
}

/// A kept array with a clock ages past the death of a drive: what it does without that one is done when a step ends, and does not pile up.
#[test]
fn an_array_with_a_clock_ages_past_a_death() {
    let mut held = Held::new(&scenario(&["time.scheduler=event"]), PolicyOverrides::default()).unwrap();
    let stop = Arc::default();
    let mut step = |_: &wane_lab::held::Aged| true;
    let dead = |held: &Held| held.members().iter().filter(|member| member.state != MemberState::Online).count();
    let mut writes = 1.0;
    while dead(&held) == 0 {
        held.age(Target::DriveWrites(writes), WrittenBytes::Stay, &stop, &mut step).unwrap();
        writes += 1.0;
    }
    held.age(Target::DriveWrites(writes), WrittenBytes::Stay, &stop, &mut step).unwrap();
    assert_eq!(held.device().next_event_at(), None, "nothing is under way");
    let reached = held.age(Target::EndOfLife, WrittenBytes::Stay, &stop, &mut step).unwrap();
    assert!(matches!(reached, Reached::Died(_)), "{reached:?}");
}

/// A thread of its own costs time, of which a life without a clock has none: trims and deaths stop nothing.
#[test]
fn a_path_with_a_thread_ages_its_drives_as_one_without_does() {
    let trims =
        ["until={ drive-writes = 3 }", "workload={ pattern = \"uniform\", trim-share = 0.2 }", "drive.endurance=500"];
    let gone = ["array.at-end-of-life=gone", "until={ end-of-life = true, requests = 50_000 }"];
    for set in [&trims[..], &gone] {
        let of = |path: &str| lived(&[set, &[path]].concat());
        let direct = of("array.write-path=direct");
        for path in ["array.write-path=md", "array.write-path=straid"] {
            let result = of(path);
            let programmed = |lived: &Lived| lived.summary.flash.pages_programmed.host as f64;
            let per_write = |lived: &Lived| programmed(lived) / lived.summary.host.pages_written as f64;
            assert!((per_write(&result) / per_write(&direct) - 1.0).abs() < 0.25, "{path}: {:?}", result.summary.flash);
            assert_eq!(result.summary.end.reason, direct.summary.end.reason, "{path}");
            let (one, other) = (result.summary.end.at_drive_writes, direct.summary.end.at_drive_writes);
            assert!((one / other - 1.0).abs() < 0.25, "{path}: {one} {other}");
        }
    }
}
