//! Drives and records a second of whole simulated fleets: engine, expectations of errors, attributes and Parquet together.
//!
//! `cargo bench -p wane-twin` prints one JSON object a line. `seconds_per_fleet` is what 1,000 drives over two years with hourly records come to at
//! that pace (100 drives on the full medium). The hash is of the files, so that a change of behavior shows. Arguments after `--` choose cases by a
//! part of their name; `--whole` runs the whole fleets.

#![allow(missing_docs, reason = "a program")]

use std::sync::atomic::AtomicBool;

use wane_lab::progress::Stopwatch;
use wane_twin::{Ended, Fleet, Job, Others, simulate};
use wane_units::Fnv;

/// Name, settings on top, drives and days of the whole fleet.
const CASES: [(&str, &[&str], u32, u32); 2] = [("expected", &[], 1000, 730), ("full", &["medium=full"], 100, 730)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let is_whole = arguments.iter().any(|argument| argument == "--whole");
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    for (name, set, drives_whole, days_whole) in CASES {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        // The test suite runs benches too, without `--bench`.
        let (drives, days) = match (is_whole, is_bench) {
            (true, _) => (drives_whole, days_whole),
            (false, true) => (32, 180),
            (false, false) => (2, 2),
        };
        let mut set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
        set.extend([format!("model.0.count={drives}"), format!("days={days}")]);
        let fleet = Fleet::read(None, &set).expect("the bench's settings are right");
        let place = tempfile::tempdir().expect("there is a folder for temporary files");
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let job = Job { out: place.path(), drives: (0, drives), threads, others: Others::Keep };
        let stopwatch = Stopwatch::start();
        let ended = simulate(&fleet, &job, &AtomicBool::new(false), &mut |_| {}).expect("it is simulated");
        let seconds = stopwatch.elapsed().as_secs_f64();
        let Ended::Whole(told) = ended else { panic!("nobody stopped it") };
        let (mut hash, mut bytes) = (Fnv::of(name.as_bytes()), 0);
        let mut files: Vec<_> = std::fs::read_dir(place.path().join("records"))
            .expect("records are there")
            .map(|file| file.expect("a file can be listed").path())
            .collect();
        files.sort();
        for file in files {
            let read = std::fs::read(file).expect("a file can be read");
            bytes += read.len();
            hash.add(&read);
        }
        let days_of = |drives: u32, days: u32| f64::from(drives) * f64::from(days);
        let whole = seconds * days_of(drives_whole, days_whole) / days_of(drives, days);
        println!(
            "{{\"bench\":\"fleet-{name}\",\"drives\":{drives},\"days\":{days},\"threads\":{threads},\"rows\":{},\"bytes\":{bytes},\
             \"seconds\":{seconds:.2},\"rows_per_second\":{:.0},\"seconds_per_fleet\":{whole:.0},\"hash\":\"{}\"}}",
            told.rows,
            told.rows as f64 / seconds,
            hash.hex()
        );
    }
}
