//! However a run is stepped, its results are the same. It stops exactly at the end of its budget, and a copy continues in the same way.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use wane_lab::build::PolicyOverrides;
use wane_lab::build::plan;
use wane_lab::run::{Budget, Finished, Progress, Run, Step, Watch};
use wane_lab::session::{attended, execute, interrupted};
use wane_scenario::{Scenario, Sources};
use wane_sim::{Stream, Streams};
use wane_testkit::SMALL_DRIVE;

/// A small drive that collects garbage all the time.
static SMALL: LazyLock<String> = LazyLock::new(|| {
    format!(
        r#"
[drive]
{SMALL_DRIVE}dies-per-channel = 1
planes-per-die = 1
blocks-per-plane = 24
[ftl]
gc-reserve = 3
[precondition]
fill = "70 %"
random-drive-writes = 0.3
[workload]
request-size = "24 KiB"
read-share = "30 %"
trim-share = "5 %"
"#
    )
});

/// Scenarios that differ in what happens besides aging: name, settings.
const SCENARIOS: &[(&str, &[&str])] = &[
    ("aging", &["until.drive-writes=3"]),
    ("phases of requests", &["until.requests=5000", "workload.pattern='zipf'"]),
    (
        "a drive that shrinks",
        &[
            "drive.endurance=30",
            "ftl.capacity={policy='variant',shrink='graceful'}",
            "workload.footprint='40 %'",
            "until.end-of-life=true",
        ],
    ),
    ("a closed loop by events", &["until.requests=4000", "time.scheduler='event'", "workload.arrival={queue-depth=4}"]),
    (
        "a key-value store that is looked at",
        &[
            "workload={lsm='mixed',gets='30 %',clients=3,log='synced',data='30 %',record-size='512 B',memtable='32 KiB',\
             table-size='32 KiB',level-base='64 KiB',level0-tables=2,arrival={queue-depth=4}}",
            "drive.blocks-per-plane=64",
            "until.drive-writes=2",
            "time.scheduler='event'",
            "probe={at-drive-writes=[0, 1.5],until={requests=500}}",
        ],
    ),
    (
        "an open one by the timeline, with errors and a scrubber",
        &[
            "until.requests=4000",
            "time.scheduler='timeline'",
            "workload.arrival={poisson='400 us'}",
            "drive.chip='tlc-72l-2018'",
            "drive.initial.erase-count=3000",
            "drive.endurance='none'",
            "ftl.scrub={policy='read-count',reads=200}",
        ],
    ),
    (
        "probes of an untimed life",
        &[
            "until.drive-writes=3",
            "time.scheduler='event'",
            "drive.chip='tlc-72l-2018'",
            "probe.at-drive-writes=[0.5,1.5,2.5]",
            "probe.until.requests=300",
        ],
    ),
];

fn start(set: &[&str]) -> Run {
    let set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
    let sources = Sources { file: Some(("small.toml", &SMALL)), set: &set, ..Sources::default() };
    Run::new(plan(&Scenario::resolve(&sources).unwrap()).unwrap())
}

fn advance(run: &mut Run, budget: Budget) -> Progress {
    let stop = Arc::new(AtomicBool::new(false));
    run.advance(budget, &mut Watch { step: &mut |_| {}, stop: &stop }).unwrap()
}

/// All that a run leaves, as text.
fn results(run: Run) -> String {
    let finished: Finished = run.finish(&Arc::new(AtomicBool::new(false))).unwrap();
    format!("{finished:?}")
}

/// A small step of any kind.
fn step(run: &Run, stream: &mut Stream) -> Budget {
    let now = run.drive().clock().map_or(0, wane_ssd::Clock::now_ns);
    match stream.below(3) {
        0 => Budget::units(1 + stream.below(700)),
        1 => Budget::requests(1 + stream.below(90)),
        _ => Budget { until_ns: now + stream.below(20_000_000), units: 500, ..Budget::WHOLE },
    }
}

#[test]
fn any_split_of_a_run_gives_the_same() {
    for (name, set) in SCENARIOS {
        let mut whole = start(set);
        assert_eq!(advance(&mut whole, Budget::WHOLE), Progress::Over);
        let want = results(whole);
        let mut single = start(set);
        while advance(&mut single, Budget::units(1)) == Progress::Paused {}
        assert_eq!(results(single), want, "{name}, one unit at a time");
        for seed in 0..4 {
            let mut stream = Streams::new(seed).stream("steps");
            let mut stepped = start(set);
            let mut steps = 0;
            while {
                let budget = step(&stepped, &mut stream);
                advance(&mut stepped, budget) == Progress::Paused
            } {
                steps += 1;
            }
            assert!(steps > 5, "{name}: {steps} steps");
            assert_eq!(results(stepped), want, "{name}, seed {seed}");
        }
    }
}

#[test]
fn a_budget_is_met_exactly() {
    for (name, set) in SCENARIOS {
        let mut run = start(set);
        for units in [1, 7, 300, 1000, 2, 13] {
            let before = run.drive().counters().host_units_written;
            if advance(&mut run, Budget::units(units)) == Progress::Over {
                break;
            }
            assert_eq!(run.drive().counters().host_units_written - before, units, "{name}");
        }
    }
    let (_, set) = SCENARIOS[3];
    let mut run = start(set);
    for until_ns in [1_000_000, 1_000_001, 30_000_000, 200_000_000] {
        assert_eq!(advance(&mut run, Budget::until_ns(until_ns)), Progress::Paused);
        let next = run.drive().clock().unwrap().scheduler().next_at().unwrap();
        assert!(run.drive().clock().unwrap().now_ns() <= until_ns && next > until_ns, "{next} after {until_ns}");
    }
}

#[test]
fn a_copy_of_a_run_goes_on_the_same() {
    for (name, set) in SCENARIOS {
        let mut run = start(set);
        advance(&mut run, Budget::units(900));
        let mut copy = run.try_clone().unwrap();
        advance(&mut run, Budget::WHOLE);
        advance(&mut copy, Budget::WHOLE);
        assert_eq!(results(copy), results(run), "{name}");
    }
}

#[test]
fn a_run_that_is_left_in_the_middle_ends_as_interrupted() {
    let mut run = start(SCENARIOS[0].1);
    advance(&mut run, Budget::units(900));
    let finished = run.finish(&Arc::new(AtomicBool::new(false))).unwrap();
    assert_eq!(finished.reason, wane_results::EndReason::Interrupted);
}

#[test]
fn an_attended_run_comes_to_the_same_and_is_stopped_by_who_attends() {
    let scenario = |set: &str| {
        let set = [set.to_owned()];
        Scenario::resolve(&Sources { preset: None, file: Some(("attended", &SMALL)), set: &set }).unwrap()
    };
    let (short, endless) = (scenario("until.drive-writes=20"), scenario("until.drive-writes=1e6"));
    let stop = Arc::new(AtomicBool::new(false));
    let run = |scenario: &Scenario, step: &mut dyn FnMut(&Step)| {
        execute(scenario, &PolicyOverrides::default(), &mut Watch { step, stop: &stop }).unwrap()
    };
    let alone = run(&short, &mut |_| {});
    let beside = attended(Duration::from_millis(1), |step| run(&short, step), &mut |_| {});
    assert_eq!((&beside.timeline, &beside.blocks), (&alone.timeline, &alone.blocks));
    assert_eq!(beside.summary.flash, alone.summary.flash);
    let mut last = 0.0;
    let attend = &mut |step: Option<&Step>| {
        last = step.map_or(last, |step| step.drive_writes);
        stop.store(last > 1.0, Ordering::Relaxed);
    };
    let stopped = attended(Duration::from_millis(1), |step| run(&endless, step), attend);
    assert!(interrupted(&stopped));
    assert!(last > 1.0 && last <= stopped.summary.end.at_drive_writes, "{last}");
}
