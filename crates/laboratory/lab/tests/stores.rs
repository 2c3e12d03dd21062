//! Drives under a key-value store: what trims save, what requests wait for, and where probes begin.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::AtomicBool;

use wane_lab::run::Watch;
use wane_lab::session::execute;
use wane_results::RunResult;
use wane_scenario::{Scenario, Sources};
use wane_testkit::SMALL_DRIVE;

/// A store of 8 MiB on a drive of 24 MiB.
fn run(set: &[&str]) -> RunResult {
    let text = format!(
        r#"
[drive]
{SMALL_DRIVE}dies-per-channel = 2
planes-per-die = 1
blocks-per-plane = 64
endurance = "none"
[ftl]
domain = "die"
gc-reserve = 2
[workload]
lsm = "mixed"
data = "33 %"
record-size = "512 B"
memtable = "64 KiB"
table-size = "64 KiB"
level-base = "256 KiB"
[until]
drive-writes = 8
"#
    );
    let set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
    let sources = Sources { file: Some(("store.toml", &text)), set: &set, ..Sources::default() };
    let scenario = Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{error}"));
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let overrides = wane_lab::build::PolicyOverrides::default();
    execute(&scenario, &overrides, &mut Watch { step: &mut |_| {}, stop: &stop }).unwrap()
}

#[test]
fn a_drive_that_hears_of_dropped_tables_moves_less() {
    let amplification = |discard: &str| {
        let set = format!("workload.discard={discard}");
        run(&[&set]).summary.write_amplification.last_drive_write.total.unwrap()
    };
    let [now, delayed, never] = ["now", "delayed", "never"].map(amplification);
    assert!(now <= delayed && delayed < never, "{now}, {delayed}, {never}");
    assert!(now < 1.1, "{now}");
    let notes = run(&[]).summary.warnings.join(" ");
    assert!(notes.contains("GB of records and wrote"), "{notes}");
}

/// A drive that serves lookups, each of which reads a block of every table that could have its key.
const TIMED: [&str; 6] = [
    "workload.lsm=ycsb-c",
    "workload.load=assumed",
    "workload.false-positives=1",
    "time.scheduler=event",
    "drive.cell=tlc",
    "until={requests=4000}",
];

#[test]
fn the_reads_of_a_lookup_come_one_after_the_other() {
    let iops = |depth: u32, clients: u32| {
        let more = [format!("workload.arrival={{queue-depth={depth}}}"), format!("workload.clients={clients}")];
        let set: Vec<&str> = TIMED.iter().copied().chain(more.iter().map(String::as_str)).collect();
        run(&set).summary.throughput.unwrap().read.iops
    };
    let (alone, deep, many) = (iops(1, 1), iops(16, 1), iops(16, 8));
    assert!((deep / alone - 1.0).abs() < 1e-9, "one client has one read at a time: {alone} and {deep}");
    assert!(many > 2.0 * alone, "clients do not wait for each other: {alone} and {many}");
}

#[test]
fn operations_are_timed_by_kind() {
    let timed = |more: &[&str]| {
        let mut set = vec!["workload.load=assumed", "time.scheduler=event", "drive.cell=tlc", "until={requests=20000}"];
        set.extend_from_slice(more);
        run(&set)
    };
    let one = timed(&["workload.lsm=ycsb-c"]);
    let (reads, of) =
        (one.summary.latency.as_ref().unwrap(), one.summary.latency.as_ref().unwrap().operations.unwrap());
    let seconds: f64 = one.windows.iter().map(|window| window.seconds).sum();
    // One client, whose lookups follow each other at once: no other time than theirs.
    let lookups = of.read.unwrap();
    assert_eq!((of.all, of.update, of.scan, of.read_modify_write), (lookups, None, None, None));
    assert!(lookups.times.mean_ns * lookups.times.count as f64 / seconds > 0.999e9, "{lookups:?}");
    let requests = reads.read.unwrap();
    assert!(
        lookups.times.count < requests.times.count && lookups.times.mean_ns > requests.times.mean_ns,
        "some lookups read two tables"
    );
    let sum =
        |windows: &RunResult| windows.windows.iter().filter_map(|window| window.latency.operations).collect::<Vec<_>>();
    assert_eq!(
        sum(&one).iter().map(|of| of.all.times.count).sum::<u64>(),
        lookups.times.count,
        "windows tell them all"
    );

    let mixed = timed(&[
        "workload.gets=0.4",
        "workload.scans=0.1",
        "workload.read-modify-writes=0.2",
        "workload.clients=4",
        "workload.arrival={queue-depth=64}",
    ]);
    let of = mixed.summary.latency.as_ref().unwrap().operations.unwrap();
    let names: Vec<&str> = of.named().iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["reads", "updates", "scans", "read-modify-writes"]);
    assert_eq!(of.named().iter().map(|(_, of)| of.times.count).sum::<u64>(), of.all.times.count);
    assert_eq!(of.update.unwrap().times.p99_ns, 0, "nobody waits for a buffered log");
    assert!(of.scan.unwrap().times.mean_ns > of.read.unwrap().times.mean_ns, "a scan reads of each level");
    let synced = timed(&["workload.log=synced"]).summary.latency.unwrap().operations.unwrap();
    let update = synced.update.unwrap();
    assert!(update.times.p50_ns > 100_000, "each put waits for its log: {update:?}");
}

#[test]
fn a_probe_goes_on_with_the_store_that_the_run_has_written() {
    let probed = run(&[
        "workload.gets=0.9",
        "time.scheduler=event",
        "drive.cell=tlc",
        "probe={at-drive-writes=[0, 3], until={requests=100}}",
        "until={drive-writes=4}",
    ]);
    let reads: Vec<u64> =
        probed.windows.iter().map(|window| window.latency.read.as_ref().map_or(0, |reads| reads.times.count)).collect();
    // Before the run the store loads; then it looks keys up in tables that are there.
    assert_eq!(reads[0], 0);
    assert!(reads[1] > 50, "{reads:?}");
    assert_eq!(probed.summary.host.pages_read_unmapped, 0);
}
