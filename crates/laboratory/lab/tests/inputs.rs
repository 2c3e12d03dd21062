//! Runs with hostile inputs that were once endless or wrong, or panicked: stopping, the end of the clock, tiny drives.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wane_lab::build::{self, PolicyOverrides};
use wane_lab::run::Watch;
use wane_lab::session;
use wane_results::{EndReason, RunResult};
use wane_scenario::{Scenario, Sources};
use wane_workload::standin;

fn scenario(text: &str) -> Scenario {
    Scenario::resolve(&Sources { preset: None, file: Some(("test.toml", text)), set: &[] }).unwrap()
}

fn run(scenario: &Scenario, stop: &Arc<AtomicBool>) -> RunResult {
    session::execute(scenario, &PolicyOverrides::default(), &mut Watch { step: &mut |_| {}, stop }).unwrap()
}

/// Runs a scenario that takes hours, and raises the flag after a moment.
#[allow(clippy::disallowed_methods, reason = "a user stops a run from outside its thread")]
fn interrupted(text: &str) -> RunResult {
    let scenario = scenario(text);
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let raiser = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        flag.store(true, Ordering::Relaxed);
    });
    let result = run(&scenario, &stop);
    raiser.join().unwrap();
    assert_eq!(result.summary.end.reason, EndReason::Interrupted, "{text}");
    result
}

#[test]
fn a_probe_hears_the_flag() {
    for scheduler in ["event", "timeline"] {
        let result = interrupted(&format!(
            "drive = {{ preset = 'tiny', endurance = 'none' }}\ntime.scheduler = '{scheduler}'\nuntil.requests = 10\n\
             probe = {{ at-drive-writes = [0], until = {{ requests = 1000000000 }} }}"
        ));
        assert_eq!(result.windows.len(), 1, "what the probe has seen is kept");
        assert_eq!(result.summary.host.pages_written, 0);
    }
}

#[test]
fn requests_of_gigabytes_hear_the_flag() {
    for (scheduler, pattern) in [("event", "sequential"), ("timeline", "sequential"), ("event", "uniform")] {
        interrupted(&format!(
            "drive = {{ preset = 'mlc-8g', endurance = 'none' }}\ntime.scheduler = '{scheduler}'\n\
             workload = {{ pattern = '{pattern}', request-size = '2 GiB' }}\nuntil.drive-writes = 100000"
        ));
    }
}

/// Writes of 4 KiB on pages of 16 KiB: bytes, drive writes and amplification are those of what the host wrote, timed or not.
#[test]
fn writes_smaller_than_a_page_count_as_what_the_host_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.iolog");
    let mut text = String::from("fio version 2 iolog\nf add\nf open\n");
    (0..6000u64).for_each(|at| text.push_str(&format!("f write {} 4096\n", at * 7919 % 8192 * 4096)));
    std::fs::write(&path, text).unwrap();
    let of = |more: &str| {
        let text = format!(
            "drive = {{ preset = 'tiny', page-size = '16 KiB', logical-capacity = '32 MiB', endurance = 'none' }}\n\
             workload = {{ trace = '{}', loop = true }}\nuntil.drive-writes = 2\n{more}",
            path.display()
        );
        run(&scenario(&text), &Arc::default())
    };
    let aged = of("");
    let summary = &aged.summary;
    let host = &summary.host;
    assert_eq!((host.page_bytes, host.pages_written_in_part), (16 << 10, host.pages_written));
    assert_eq!((host.bytes_written, host.drive_writes), (64 << 20, 2.0));
    assert_eq!(host.bytes_written, host.pages_written * 4096);
    let total = summary.write_amplification.total.unwrap();
    assert_eq!(total, summary.flash.pages_programmed.total as f64 / (host.pages_written as f64 / 4.0));
    assert!(total >= 4.0 && summary.write_amplification.last_drive_write.total.unwrap() >= 4.0, "{total}");
    assert!((summary.life.as_ref().unwrap().terabytes_written * 1e12 - f64::from(64 << 20)).abs() < 1.0);
    let last = aged.timeline.last().unwrap();
    assert_eq!(last.drive_writes, 2.0);
    assert!(
        summary
            .warnings
            .iter()
            .any(|told| told.contains("6000 of 6000 writes begin or end within a page (mapping unit) of 16 KiB"))
    );
    // With a clock each of them costs a read, which shows in its time.
    let timed = of("time.scheduler = 'event'");
    assert_eq!(timed.summary.host, summary.host);
    assert_eq!(timed.summary.flash.pages_programmed, summary.flash.pages_programmed);
    assert!(timed.summary.latency.unwrap().write.unwrap().times.p50_ns > 0);
}

/// Requests that come faster than the drive serves them void the latencies, which is the first thing to know.
#[test]
fn a_drive_that_does_not_keep_up_is_told_first() {
    let of = |poisson: &str, requests: u32| {
        let text = format!(
            "drive = {{ preset = 'tiny', endurance = 'none' }}\ntime.scheduler = 'event'\n\
             workload = {{ read-share = 1, arrival = {{ poisson = '{poisson}' }} }}\nuntil.requests = {requests}"
        );
        run(&scenario(&text), &Arc::default()).summary.warnings
    };
    let told = of("5 us", 5_000);
    assert!(
        told[0].starts_with("the drive does not keep up: ") && told[0].contains(" requests a second came and "),
        "{told:?}"
    );
    assert!(of("5 ms", 5_000).iter().all(|told| !told.contains("keep up")));
    assert!(of("5 us", 100).iter().all(|told| !told.contains("keep up")), "a burst may end at any time");
}

#[test]
fn a_backlog_does_not_hold_up_the_end() {
    interrupted(
        "drive = { preset = 'tiny', endurance = 'none' }\ntime.scheduler = 'event'\n\
         workload.arrival = { poisson = '1 ns' }\nuntil.requests = 1000000000",
    );
}

#[test]
fn a_trace_is_not_decoded_further_once_the_flag_is_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.txt");
    // A bad line behind the first ones. A reader that gets there refuses the trace.
    std::fs::write(&path, "0 0 0 8 0\n".repeat(20_000) + "here it is damaged\n").unwrap();
    for looped in [true, false] {
        let text = format!(
            "drive.preset = 'tiny'\nworkload = {{ trace = '{}', loop = {looped} }}\nuntil.requests = 100000000",
            path.display()
        );
        let result = run(&scenario(&text), &Arc::new(AtomicBool::new(true)));
        assert_eq!(result.summary.end.reason, EndReason::Interrupted);
    }
}

#[test]
fn the_clock_ends_a_run_before_it_wraps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.txt");
    std::fs::write(&path, "0 0 0 8 0\n20000000000 0 8 8 0\n30000000000 0 8 8 0\n").unwrap();
    let trace = format!(
        "time.scale = 1e9\nworkload = {{ trace = '{}', format = 'mqsim', arrival = 'trace', loop = false }}",
        path.display()
    );
    let slow = "workload = { read-share = 0.5, arrival = { poisson = '1 day' } }\nuntil.requests = 300000";
    for scheduler in ["event", "timeline"] {
        for (text, kept) in [(trace.as_str(), 1), (slow, 100_000)] {
            let text =
                format!("drive = {{ preset = 'tiny', endurance = 'none' }}\ntime.scheduler = '{scheduler}'\n{text}");
            let result = run(&scenario(&text), &Arc::default());
            assert_eq!(result.summary.end.reason, EndReason::ClockEnd, "{text}");
            assert!(result.summary.warnings.iter().any(|warning| warning.contains("584 years")), "{text}");
            let latency = result.summary.latency.unwrap();
            let requests = [latency.read, latency.write].into_iter().flatten().map(|op| op.times.count).sum::<u64>();
            assert!(requests >= kept, "{requests} {text}");
        }
    }
}

#[test]
fn a_trace_serves_all_probes_from_one_decoded_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.txt");
    std::fs::write(&path, (0..500).map(|n| format!("{} 0 {} 8 {}\n", n * 1000, n % 64 * 8, n % 2)).collect::<String>())
        .unwrap();
    let text = |looped: bool| {
        format!(
            "drive.preset = 'tiny'\ntime.scheduler = 'timeline'\nuntil.drive-writes = 1\nprecondition.fill = '100 %'\n\
             probe = {{ at-drive-writes = [0, 0.5, 1], until = {{ requests = 400 }}, workload = {{ trace = '{}', loop = {looped} }} }}",
            path.display()
        )
    };
    // Read from the file each time, or from the copy: the same requests.
    let [shared, read] = [true, false].map(|looped| run(&scenario(&text(looped)), &Arc::default()));
    assert_eq!((shared.windows.len(), &shared.windows), (3, &read.windows));
}

/// Runs a scenario for a few requests, or refuses it in a sentence.
fn tries(text: &str) -> bool {
    let sources = Sources { preset: None, file: Some(("test.toml", text)), set: &[] };
    let scenario = match Scenario::resolve(&sources) {
        Ok(scenario) => scenario,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{text}: {error}");
            return false;
        }
    };
    let stop = Arc::default();
    session::execute(&scenario, &PolicyOverrides::default(), &mut Watch { step: &mut |_| {}, stop: &stop }).is_ok()
}

#[test]
fn no_workload_panics_on_a_drive_of_few_pages() {
    let mut workloads: Vec<String> = standin::names().map(|name| format!("standin = '{name}'")).collect();
    let scattered = |standin: &standin::Standin| format!("standin = '{}', layout = 'scattered'", standin.name);
    workloads.extend(standin::STANDINS.iter().map(scattered));
    for pattern in [
        "'uniform'",
        "'hot-cold', r = 1, h = 0.5",
        "'hot-cold', r = 0.9, h = 0.1",
        "'hot-cold', r = 0, h = 0",
        "'zipf'",
        "'zipf', exponent = 0, scramble = false",
        "'zipf', exponent = 50",
        "'sequential'",
        "'hybrid', sequential-share = 0.5",
        "'jesd219'",
    ] {
        for rest in [
            "",
            ", request-size = '8 KiB'",
            ", request-size = '64 KiB'",
            ", footprint = 0.3, read-share = 0.3, trim-share = 0.3",
        ] {
            workloads.push(format!("pattern = {pattern}{rest}"));
        }
    }
    let mut served = 0;
    for pages in (1..=9).chain([12, 20]) {
        for workload in &workloads {
            // Slightly more than the pages, since the share is cut off.
            let spare = 1.0 - (f64::from(pages) + 0.01) / 256.0;
            let text = format!(
                "drive = {{ blocks-per-plane = 16, pages-per-block = 16, page-size = '4 KiB', spare-factor = {spare} }}\n\
                 workload = {{ {workload} }}\nuntil.requests = 40"
            );
            served += u32::from(tries(&text));
        }
    }
    assert!(served > 300, "{served} runs");
}

#[test]
fn a_stand_in_needs_two_pages() {
    let text = "drive = { blocks-per-plane = 16, pages-per-block = 16, spare-factor = 0.995 }\nworkload.standin = 'rad-be'\nuntil.requests = 1";
    let sources = Sources { preset: None, file: Some(("test.toml", text)), set: &[] };
    let error = Scenario::resolve(&sources).unwrap_err().to_string();
    assert!(
        error.contains("workload.standin: a stand-in needs a drive of at least 2 logical pages; this one has 1"),
        "{error}"
    );
}

#[test]
fn what_never_writes_is_refused_where_writes_are_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reads.txt");
    std::fs::write(&path, "0 0 0 8 1\n1000 0 8 8 1\n").unwrap();
    let reads = format!("{{ share = 0.5, trace = '{}' }}", path.display());
    let pattern = "{ share = 0.5, read-share = 0.7, trim-share = 0.3 }";
    for (parts, by_scenario) in [(format!("{reads}, {pattern}"), false), (format!("{pattern}, {pattern}"), true)] {
        for until in ["drive-writes = 1", "end-of-life = true"] {
            let text = format!("drive.preset = 'tiny'\nworkload.mix = [{parts}]\nuntil = {{ {until} }}");
            let sources = Sources { preset: None, file: Some(("test.toml", &text)), set: &[] };
            let resolved = Scenario::resolve(&sources);
            if by_scenario {
                assert!(resolved.unwrap_err().to_string().contains("would never end"), "{text}");
                continue;
            }
            let resolved = resolved.unwrap();
            for refusal in [build::check_ends(&resolved).err(), build::plan(&resolved).err()] {
                assert!(refusal.unwrap().to_string().contains("would never end"), "{text}");
            }
        }
    }
    let share_of_none = "drive.preset = 'tiny'\nuntil.drive-writes = 1\nworkload.mix = [{ share = 1, read-share = 1 }, \
                         { share = 0, trace = 'absent', loop = false }]";
    let sources = Sources { preset: None, file: Some(("test.toml", share_of_none)), set: &[] };
    assert!(Scenario::resolve(&sources).unwrap_err().to_string().contains("would never end"));
}
