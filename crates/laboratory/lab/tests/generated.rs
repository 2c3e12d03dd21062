//! Generated scenarios on tiny drives, in which blocks fail and retire and drives shrink and choke all the time. In every scenario
//! the run ends or can be interrupted, the firmware keeps its invariants (debug builds check them at the end of every run),
//! the exported capacity never grows, and a clock does not change the drive's state.
//!
//! `WANE_CASES=20000 WANE_FIRST=0 cargo test -p wane-lab --test generated` runs more of them. A failure prints the scenario and
//! the number of its case, which `WANE_FIRST=number WANE_CASES=1` repeats.

#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "a run that never ends must not hold its test")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session::execute;
use wane_results::{BlockRow, RunResult, Summary};
use wane_scenario::{Scenario, Sources};
use wane_sim::{Stream, Streams};

/// Cases of an ordinary test run.
const CASES: u64 = 400;

/// A run is interrupted after this time, since a drive that chokes but sometimes accepts a page may run for long.
const PATIENCE: Duration = Duration::from_secs(3);

/// An interrupted run must have ended after this. Generous: a second is promised on a machine that is not shared.
const GRACE: Duration = Duration::from_secs(20);

/// Draws the values of a scenario.
struct Draw(Stream);

impl Draw {
    fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.0.chance(probability)
    }

    fn one<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.0.below(words.len() as u64) as usize]
    }
}

/// A scenario without time, as TOML. Not every one is valid.
fn scenario(case: u64) -> String {
    let mut draw = Draw(Streams::new(case).stream("generated"));
    let mut text = format!("seed = {case}\n");
    drive(&mut text, &mut draw);
    firmware(&mut text, &mut draw);
    let fill = draw.one(&["0 %", "50 %", "100 %"]);
    let _ = writeln!(text, "[precondition]\nfill = '{fill}'");
    let pattern = draw.one(&["uniform", "uniform", "hot-cold", "zipf", "sequential", "hybrid"]);
    let request = 512u64 << draw.within(0, 9);
    let _ = writeln!(text, "[workload]\npattern = '{pattern}'\nrequest-size = '{} B'", request.max(4096));
    let _ = writeln!(text, "footprint = '{} %'", draw.within(1, 10) * 10);
    if draw.chance(0.3) {
        let _ = writeln!(text, "read-share = '{} %'\ntrim-share = '{} %'", draw.within(0, 40), draw.within(0, 40));
    }
    let _ = writeln!(text, "[until]\nrequests = {}\nend-of-life = true", draw.within(1, 4000));
    text
}

fn drive(text: &mut String, draw: &mut Draw) {
    let (page, fraction) = (4096u64 << draw.within(0, 2), 1u64 << draw.within(0, 1));
    let _ = writeln!(text, "[drive]\nchannels = {}\ndies-per-channel = {}", draw.within(1, 3), draw.within(1, 3));
    let _ = writeln!(text, "planes-per-die = {}\npages-per-block = {}", draw.within(1, 2), draw.within(2, 12));
    let _ = writeln!(text, "blocks-per-plane = {}\npage-size = '{page} B'", draw.within(12, 40));
    let _ = writeln!(text, "mapping-unit = '{} B'\nspare-factor = '{} %'", page / fraction, draw.within(3, 15) * 5);
    match draw.within(0, 2) {
        0 => text.push_str("endurance = 'none'\n"),
        _ => {
            let _ = writeln!(text, "endurance = {}", draw.within(1, 20));
        }
    }
    if draw.chance(0.5) {
        return;
    }
    text.push_str("[drive.faults]\n");
    for (key, values) in [
        ("factory-bad", &["0.02", "0.1"][..]),
        ("program-failure", &["0.0001", "0.01", "1"]),
        ("erase-failure", &["0.001", "0.1"]),
        ("wordline-loss", &["0.001", "0.1", "1"]),
        ("die-loss", &["0.1", "2"]),
    ] {
        if draw.chance(0.3) {
            let _ = writeln!(text, "{key} = {}", draw.one(values));
        }
    }
}

fn firmware(text: &mut String, draw: &mut Draw) {
    let gc = draw.one(&[
        "{ policy = 'greedy' }",
        "{ policy = 'greedy', tie = 'newest' }",
        "{ policy = 'greedy', tie = 'most-worn' }",
        "{ policy = 'cost-benefit' }",
        "{ policy = 'random' }",
        "{ policy = 'd-choices', d = 3 }",
        "{ policy = 'windowed-greedy', window = 1 }",
        "{ policy = 'windowed-greedy', window = 30 }",
        "{ policy = 'fifo' }",
        "{ policy = 'wear-focusing' }",
    ]);
    let leveling = draw.one(&[
        "{ policy = 'none' }",
        "{ policy = 'hot-cold-swap', threshold = 1 }",
        "{ policy = 'obp', threshold = 1, protection = 2 }",
        "{ policy = 'dual-pool', threshold = 0 }",
        "{ policy = 'pwl', threshold = '10 %' }",
        "{ policy = 'variance', threshold = 0.98 }",
    ]);
    let capacity = draw.one(&[
        "{ policy = 'fixed' }",
        "{ policy = 'variant' }",
        "{ policy = 'variant', shrink = 'graceful' }",
        "{ policy = 'variant', shrink = 'graceful', keep = 'capacity' }",
        "{ policy = 'variant', shrink = 'graceful', relocation-bound = '64 KiB' }",
        "{ policy = 'variant', shrink = 'graceful', keep = 'spare', step = 2, method = 'remap' }",
        "{ policy = 'variant', shrink = 'graceful', method = 'non-contiguous' }",
    ]);
    let retire = draw.one(&["at-endurance", "at-gc-erase", "failures", "never", "at-erases"]);
    let _ = writeln!(text, "[ftl]\ngc = {gc}\nwear-leveling = {leveling}\ncapacity = {capacity}");
    let _ = writeln!(text, "retire = {{ policy = '{retire}' }}\ngc-reserve = {}", draw.within(2, 4));
    let _ = writeln!(text, "frontiers = '{}'", draw.one(&["one", "separate"]));
    let _ = writeln!(text, "allocation = '{}'", draw.one(&["fifo", "least-worn", "most-worn", "wear-focusing"]));
    let _ = writeln!(
        text,
        "mode = '{}'\ngc-unforced = {}",
        draw.one(&["host-only", "over-provisioning", "low-pool"]),
        draw.within(0, 8)
    );
    let (unit, domain) = (draw.one(&["block", "block", "superblock"]), draw.one(&["drive", "die"]));
    let _ = writeln!(text, "unit = '{unit}'\ndomain = '{domain}'");
    if draw.chance(0.3) {
        let redundancy = draw.one(&["stripes", "selective"]);
        let _ = writeln!(text, "redundancy = {{ policy = '{redundancy}', data-pages = {} }}", draw.within(1, 3));
    }
    if draw.chance(0.15) {
        let _ = writeln!(text, "scrub = {{ policy = 'read-count', reads = {} }}", draw.within(1, 50));
    }
}

/// Something to run: the scenario's text, and how it is timed.
type Job = (String, &'static str, Arc<AtomicBool>);

/// Runs what it is given. `None` where the scenario is not valid.
fn work(jobs: &Receiver<Job>, results: &Sender<Option<RunResult>>) {
    for (text, scheduler, stop) in jobs {
        let set = [format!("time.scheduler=\"{scheduler}\"")];
        let sources = Sources { file: Some(("generated.toml", &text)), set: &set, ..Sources::default() };
        let resolved = Scenario::resolve(&sources).ok();
        let mut watch = Watch { step: &mut |_| {}, stop: &stop };
        let result = resolved.and_then(|scenario| execute(&scenario, &PolicyOverrides::default(), &mut watch).ok());
        results.send(result).unwrap();
    }
}

/// The final state, without time and errors.
fn state(result: &RunResult) -> (Summary, Vec<BlockRow>) {
    let mut summary = result.summary.clone();
    (summary.latency, summary.throughput, summary.errors) = (None, None, None);
    (summary.latency_of, summary.latency_by_gc) = (None, None);
    // Reads from the controller's buffer and reads around a die depend on time.
    (summary.flash.reads_buffered, summary.flash.reads_around) = (0, 0);
    (summary.run, summary.scenario) = Default::default();
    summary.warnings.clear();
    // Its window begins between two batches, whose sizes differ.
    let last = &mut summary.write_amplification.last_drive_write;
    (last.gc, last.wear_leveling, last.total) = (None, None, None);
    (summary, result.blocks.clone())
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn generated_drives_end_keep_their_invariants_and_do_not_care_for_time() {
    let (jobs, received) = channel();
    let (sent, results) = channel();
    std::thread::spawn(move || work(&received, &sent));
    let (first, cases) = (number("WANE_FIRST", 0), number("WANE_CASES", CASES));
    let (mut valid, mut interrupted, mut ended) = (0, 0, 0);
    for case in first..first + cases {
        let text = scenario(case);
        let repeat =
            || format!("WANE_FIRST={case} WANE_CASES=1 cargo test -p wane-lab --test generated -- --nocapture\n{text}");
        let mut states = Vec::new();
        for scheduler in ["none", "timeline", "event"] {
            let stop = Arc::new(AtomicBool::new(false));
            jobs.send((text.clone(), scheduler, Arc::clone(&stop))).unwrap();
            let result = match results.recv_timeout(PATIENCE) {
                Err(RecvTimeoutError::Timeout) => {
                    stop.store(true, Ordering::Relaxed);
                    interrupted += 1;
                    println!("interrupted, {scheduler}: {}", repeat());
                    let late = results.recv_timeout(GRACE);
                    let late = late.unwrap_or_else(|error| panic!("cannot be interrupted ({error}): {}", repeat()));
                    drop(late);
                    break;
                }
                other => other.unwrap_or_else(|error| panic!("the run panicked ({error}): {}", repeat())),
            };
            let Some(result) = result else { break };
            let exported: Vec<u64> = result.timeline.iter().map(|row| row.exported_bytes).collect();
            assert!(exported.is_sorted_by(|a, b| a >= b), "capacity came back, {scheduler}: {}", repeat());
            states.push(state(&result));
        }
        valid += u64::from(!states.is_empty());
        ended += u64::from(states.first().is_some_and(|state| state.0.end.cause.is_some()));
        // The scrubber depends on time.
        if text.contains("scrub = ") {
            continue;
        }
        if let Some(pair) = states.windows(2).find(|pair| pair[0] != pair[1]) {
            let (left, right) = (pair[0].0.to_json(), pair[1].0.to_json());
            let differ = left.lines().zip(right.lines()).filter(|(left, right)| left != right);
            let differ: Vec<String> = differ.map(|(left, right)| format!("{left} and {right}\n")).collect();
            panic!("time changed the state: {}{}", differ.concat(), repeat());
        }
    }
    println!("{valid} of {cases} cases are valid, {ended} drives died, {interrupted} runs were interrupted");
    assert!(cases < CASES || (valid > cases / 4 && ended > cases / 10), "the generator lost its bite");
}

/// Drives that choke: what collection frees goes to failing pages or to parity, and leveling and windows add to it.
const CHOKED: [&str; 4] = [
    "[drive]\npreset = 'tiny'\n[drive.faults]\nwordline-loss = 0.002\n[ftl]\nretire = 'never'\n[until]\ndrive-writes = 100",
    "[drive]\nchannels = 4\ndies-per-channel = 2\npages-per-block = 2\npage-size = '512 B'\nblocks-per-plane = 16\nendurance = \
     'none'\n[drive.faults]\nwordline-loss = 1\n[ftl]\ndomain = 'drive'\ngc = { policy = 'windowed-greedy', window = 1 }\ncapacity = { policy = \
     'variant', shrink = 'graceful' }\n[until]\nrequests = 1000",
    "[drive]\nchannels = 4\ndies-per-channel = 3\nplanes-per-die = 2\npages-per-block = 128\nblocks-per-plane = 32\nspare-factor = \
     0.1\n[ftl]\ngc = { policy = 'windowed-greedy', window = 2 }\nredundancy = { policy = 'selective', data-pages = 3 }\ndomain = \
     'die'\nunit = 'block'\ngc-reserve = 3\n[until]\nrequests = 20000",
    "[drive]\ndies-per-channel = 2\nplanes-per-die = 2\npages-per-block = 128\nblocks-per-plane = 32\nspare-factor = 0.25\n[ftl]\n\
     domain = 'die'\nunit = 'block'\nredundancy = { policy = 'selective', data-pages = 1 }\nwear-leveling = { policy = 'dual-pool', threshold = \
     0 }\n[until]\nrequests = 20000",
];

#[test]
fn choked_drives_end_with_a_cause() {
    let (jobs, received) = channel();
    let (sent, results) = channel();
    std::thread::spawn(move || work(&received, &sent));
    for text in CHOKED {
        jobs.send((text.to_owned(), "none", Arc::default())).unwrap();
        let result = results.recv_timeout(GRACE).unwrap_or_else(|error| panic!("{error}: {text}")).unwrap();
        assert!(result.summary.end.cause.is_some(), "{:?}: {text}", result.summary.end);
    }
}

#[test]
fn what_a_lazy_drive_gave_up_never_comes_back() {
    let text = "[drive]\npreset = 'tiny'\nendurance = 20\n[ftl]\ncapacity = 'variant'\n[workload]\npattern = 'hot-cold'\nr = 0.95\n\
                h = 0.05\n[until]\nend-of-life = true";
    let scenario = Scenario::resolve(&Sources { file: Some(("lazy.toml", text)), ..Sources::default() }).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let result =
        execute(&scenario, &PolicyOverrides::default(), &mut Watch { step: &mut |_| {}, stop: &stop }).unwrap();
    let exported: Vec<u64> = result.timeline.iter().map(|row| row.exported_bytes).collect();
    assert!(exported.is_sorted_by(|a, b| a >= b) && exported.first() > exported.last(), "{exported:?}");
    assert_eq!(result.summary.end.cause, Some(wane_results::EndCause::FootprintDoesNotFit));
}
