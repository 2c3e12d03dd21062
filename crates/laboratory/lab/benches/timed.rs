//! Flash operations a second of whole timed runs: workload, firmware, medium, scheduler and histograms together.
//!
//! `cargo bench -p wane-lab` prints one JSON object per line. The drive is 8 channels of 2 dies, 8 GiB, driven at a depth of
//! 16. The hash covers the latencies, so that nothing is optimized away and a change of behavior shows. Arguments after
//! `--` choose cases by a part of their name.

#![allow(missing_docs, reason = "a program")]

use std::sync::atomic::AtomicBool;

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session::execute;
use wane_scenario::{Scenario, Sources};

const DRIVE: &str = "
[drive]
preset = 'mlc-8g'
timing = { read = '75 us', program = '750 us', erase = '3.8 ms', channel-rate = '333 MB/s' }
[time]
scheduler = 'event'
[workload]
arrival = { queue-depth = 16 }
[until]
requests = 1
";

/// Name, settings on top, requests.
const CASES: [(&str, &[&str], u64); 9] = [
    ("event-reads", &["workload.read-share=1"], 8_000_000),
    ("event-writes", &[], 4_000_000),
    ("event-mixed-priority", &["time.order='priority'", "time.gc='preemptible'", "workload.read-share=0.7"], 4_000_000),
    ("timeline-reads", &["time.scheduler='timeline'", "workload.read-share=1"], 8_000_000),
    ("timeline-writes", &["time.scheduler='timeline'"], 4_000_000),
    ("timeline-mixed", &["time.scheduler='timeline'", "workload.read-share=0.7"], 4_000_000),
    (
        "event-worn-reads",
        &[
            "workload.read-share=1",
            "drive.chip='tlc-72l-2018'",
            "drive.endurance='none'",
            "drive.ecc.strength=75",
            "drive.initial.erase-count=5000",
        ],
        1_000_000,
    ),
    // Five of these drives: operations of all of them a second, to be held against those of one.
    ("stripe-reads", &["array.layout='stripe'", "array.member=[{ count = 5 }]", "workload.read-share=1"], 4_000_000),
    (
        "raid-mixed",
        &["array.layout='raid'", "array.journal='none'", "array.member=[{ count = 5 }]", "workload.read-share=0.7"],
        1_000_000,
    ),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The test suite runs benches too, without `--bench`.
    let divisor = if arguments.iter().any(|argument| argument == "--bench") { 1 } else { 1000 };
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    for (name, set, requests) in CASES {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let mut set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
        set.push(format!("until.requests={}", requests / divisor));
        let sources = Sources { file: Some(("bench.toml", DRIVE)), set: &set, ..Sources::default() };
        let scenario = Scenario::resolve(&sources).expect("the case is valid");
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let result = execute(&scenario, &PolicyOverrides::default(), &mut Watch { step: &mut |_| {}, stop: &stop })
            .expect("the case runs");
        let run = &result.summary.run;
        let latency = serde_json::to_string(&result.summary.latency).expect("numbers are JSON");
        println!(
            "{{\"case\":\"{name}\",\"requests\":{},\"flash_operations_per_second\":{:.0},\"peak_memory_bytes\":{},\"hash\":\"{}\"}}",
            requests / divisor,
            run.flash_operations_per_second.unwrap_or(0.0),
            run.peak_memory_bytes.unwrap_or(0),
            wane_units::Fnv::of(latency.as_bytes()).hex()
        );
    }
}
