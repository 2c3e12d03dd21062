//! Days and years, counted by a rate, by the pace of a trace, and by the clock of a timed run.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::sync::Arc;

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session::execute;
use wane_results::{CalendarOrigin, EndReason, RunResult};
use wane_scenario::{Scenario, Sources};

fn run(text: &str, set: &[&str]) -> Result<RunResult, String> {
    let set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
    let sources = Sources { file: Some(("test.toml", text)), set: &set, ..Sources::default() };
    let scenario = Scenario::resolve(&sources).map_err(|error| error.to_string())?;
    let watch = &mut Watch { step: &mut |_| {}, stop: &Arc::default() };
    execute(&scenario, &PolicyOverrides::default(), watch).map_err(|error| error.to_string())
}

/// 16,384 logical pages.
const SMALL: &str =
    "[drive]\nlogical-capacity = '64 MiB'\nspare-factor = '20 %'\npages-per-block = 64\nendurance = 40\n";

/// Half a drive write in a quarter of a day, evenly, over an eighth of the drive: two drive writes a day.
fn trace(folder: &tempfile::TempDir) -> String {
    let (requests, quarter) = (8192u64, 21_600_000_000_000u64);
    let mut text = String::new();
    for number in 0..requests {
        let page = number * 7 % 2048;
        writeln!(text, "{} 0 {} 8 0", number * quarter / (requests - 1), page * 8).unwrap();
    }
    let path = folder.path().join("a.trace");
    std::fs::write(&path, text).unwrap();
    format!("[workload]\ntrace = '{}'\n", path.display())
}

#[test]
fn a_phase_ends_after_its_days() {
    let aged = run(SMALL, &["until.days=4", "time.drive-writes-per-day=1.5"]).unwrap().summary;
    let life = aged.life.unwrap();
    assert_eq!((aged.end.reason, aged.end.at_drive_writes), (EndReason::Days, 6.0));
    assert_eq!((life.days, life.dwpd, life.calendar), (Some(4.0), None, Some(CalendarOrigin::Scenario)));
    // The limit that is reached first ends it.
    let sooner =
        run(SMALL, &["until.days=4", "until.drive-writes=5", "time.drive-writes-per-day=1.5"]).unwrap().summary;
    assert_eq!((sooner.end.reason, sooner.end.at_drive_writes), (EndReason::DriveWrites, 5.0));
    let dead =
        run(SMALL, &["until.end-of-life=true", "until.years=9", "time.drive-writes-per-day=0.25"]).unwrap().summary;
    let (life, writes) = (dead.life.unwrap(), dead.end.at_drive_writes);
    assert_eq!(dead.end.reason, EndReason::EndOfLife);
    assert!((life.years.unwrap() - writes / 0.25 / 365.0).abs() < 1e-9, "{life:?}");
    assert!((life.dwpd.unwrap() - writes / 365.0 / 5.0).abs() < 1e-9, "{life:?}");
    assert!((life.terabytes_written - writes * 67_108_864.0 / 1e12).abs() < 1e-12, "{life:?}");
}

#[test]
fn a_trace_is_a_calendar_however_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = SMALL.to_owned() + &trace(&folder);
    let looped = run(&text, &["until.days=3"]).unwrap();
    let life = looped.summary.life.unwrap();
    assert_eq!((looped.summary.end.reason, life.calendar), (EndReason::Days, Some(CalendarOrigin::Trace)));
    assert!((looped.summary.end.at_drive_writes - 6.0).abs() < 1e-3, "{}", looped.summary.end.at_drive_writes);
    assert!((life.drive_writes_per_day.unwrap() - 2.0).abs() < 1e-9, "{life:?}");
    assert!(looped.scenario_toml.contains("drive-writes-per-day = \"trace\""), "{}", looped.scenario_toml);
    // The scenario has no days, but its life is reported in days.
    for set in
        [&["until.drive-writes=6"][..], &["workload.loop=false"], &["workload.remap=compact", "until.requests=100"]]
    {
        let summary = run(&text, set).unwrap().summary;
        let life = summary.life.unwrap();
        assert!((life.drive_writes_per_day.unwrap() - 2.0).abs() < 1e-3, "{set:?}: {life:?}");
        assert!((life.days.unwrap() - summary.end.at_drive_writes / 2.0).abs() < 1e-3, "{set:?}: {life:?}");
    }
    // A trace that is read once in the run is read once more for its pace.
    let once = run(&text, &["until.days=0.125", "workload.loop=false"]).unwrap().summary;
    assert_eq!((once.end.reason, once.end.at_drive_writes), (EndReason::Days, 0.25));
    let still = "0 0 0 8 0\n0 0 8 8 0\n";
    std::fs::write(folder.path().join("a.trace"), still).unwrap();
    let error = run(&text, &["until.days=1"]).unwrap_err();
    assert!(error.contains("a.trace: has no pace that days could be counted by"), "{error}");
}

#[test]
fn data_age_by_the_pace_of_a_trace_as_by_a_rate() {
    let folder = tempfile::tempdir().unwrap();
    let text = SMALL.to_owned() + &trace(&folder);
    let errs = ["drive.chip=tlc-72l-2018", "until.drive-writes=4", "drive.endurance=none"];
    let of = |calendar: &str| run(&text, &[&errs[..], &[calendar]].concat()).unwrap().summary;
    let (trace, rate) = (of("time.drive-writes-per-day=trace"), of("time.drive-writes-per-day=2.0"));
    assert_eq!((trace.errors, trace.flash), (rate.errors, rate.flash));
}

#[test]
fn probes_look_at_days_and_windows_tell_them() {
    let folder = tempfile::tempdir().unwrap();
    let probe = "[time]\nscheduler = 'timeline'\n[probe]\nat-days = [0, 1, 2.5]\nuntil = { requests = 50 }\n";
    let text = format!("{SMALL}{probe}{}", trace(&folder));
    for set in [&["until.days=3"][..], &["until.drive-writes=6", "time.drive-writes-per-day=2"]] {
        let run = run(&text, set).unwrap();
        let windows: Vec<(f64, f64)> = run
            .windows
            .iter()
            .map(|window| (window.at_drive_writes, window.at_days.unwrap()))
            .map(|(writes, days)| ((writes * 1e3).round() / 1e3, (days * 1e3).round() / 1e3))
            .collect();
        assert_eq!(windows, [(0.0, 0.0), (2.0, 1.0), (5.0, 2.5)], "{set:?}");
        assert!(
            run.summary.warnings.iter().all(|warning| !warning.contains("probes were due")),
            "{:?}",
            run.summary.warnings
        );
    }
    let early = run(&text, &["until.days=1.5"]).unwrap().summary;
    assert!(early.warnings.iter().any(|warning| warning.ends_with("the next at 2.5 days")), "{:?}", early.warnings);
}

#[test]
fn a_timed_run_counts_days_by_its_clock() {
    let timed = "[time]\nscheduler = 'timeline'\n[workload]\nread-share = '50 %'\narrival = { poisson = '10 s' }\n";
    let summary = run(&format!("{SMALL}{timed}"), &["until.days=1"]).unwrap().summary;
    let life = summary.life.unwrap();
    assert_eq!((summary.end.reason, life.calendar), (EndReason::Days, Some(CalendarOrigin::Clock)));
    assert!((life.days.unwrap() - 1.0).abs() < 1e-2, "{life:?}");
    let requests = summary.host.pages_written + summary.host.pages_read;
    assert!((8300..9000).contains(&requests), "{requests} requests, one in 10 s");
}

/// A run and a probe that replay times of whole seconds say so; a run that only ages the drive has no use for times.
#[test]
fn times_of_whole_seconds_are_told_where_they_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let text: String = (0..400u64).map(|at| format!("{} 0 {} 8 0\n", at / 20 * 1_000_000_000, at % 50 * 8)).collect();
    std::fs::write(&path, text).unwrap();
    let trace = format!("trace = '{}'\n", path.display());
    let timed = format!("[time]\nscheduler = 'event'\n[workload]\narrival = 'trace'\nloop = false\n{trace}");
    let probed = format!(
        "[time]\nscheduler = 'event'\n[until]\ndrive-writes = 1\n[probe]\nat-drive-writes = [0, 0.5]\nuntil = {{ requests = 50 }}\n\
         workload = {{ trace = '{}', arrival = 'trace' }}\n",
        path.display()
    );
    let aged = format!("[workload]\nloop = false\n{trace}");
    for (scenario, expected) in [(timed, 1), (probed, 1), (aged, 0)] {
        let warnings = run(&(SMALL.to_owned() + &scenario), &[]).unwrap().summary.warnings;
        let told = warnings.iter().filter(|told| told.contains("a.trace: its times are whole seconds, and ")).count();
        assert_eq!(told, expected, "{scenario}{warnings:?}");
    }
}
