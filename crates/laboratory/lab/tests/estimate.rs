//! Estimates from a miniature of what a run programs. Their seconds depend on the machine and are checked by hand.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::sync::Arc;

use wane_lab::build::PolicyOverrides;
use wane_lab::estimate::{aging_seconds, estimate};
use wane_lab::kept::Target;
use wane_lab::run::Watch;
use wane_lab::session::execute;
use wane_scenario::{Scenario, Sources};

fn scenario(text: &str) -> Scenario {
    let sources = Sources { file: Some(("test.toml", text)), ..Sources::default() };
    Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// 2.6 million units: larger than a miniature.
const DRIVE: &str = "[drive]\nlogical-capacity = '9 GiB'\nspare-factor = '12 %'\n";
const BY_DIE: &str = "[drive]\nchannels = 4\ndies-per-channel = 4\nblocks-per-plane = 640\nspare-factor = '15 %'\n[ftl]\ndomain = 'die'\ngc-reserve = 4\n";

#[test]
fn pages_of_an_estimate_are_those_of_the_run_within_a_factor_of_two() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let mut trace = String::new();
    for number in 0..50_000u64 {
        writeln!(trace, "{} 0 {} 8 0", number * 1000, number * 7919 % 100_000 * 8).unwrap();
    }
    std::fs::write(&path, trace).unwrap();
    let traced = format!("[workload]\ntrace = '{}'\n", path.display());
    let table = [
        format!("{DRIVE}[until]\ndrive-writes = 3\n"),
        format!("{DRIVE}[workload]\npattern = 'hot-cold'\n[until]\ndrive-writes = 0.5\n"),
        format!("{BY_DIE}[workload]\npattern = 'zipf'\nread-share = '30 %'\n[until]\nrequests = 6_000_000\n"),
        format!("{DRIVE}endurance = 12\n[until]\nend-of-life = true\n"),
        format!("{DRIVE}endurance = 40\n[workload]\npattern = 'hot-cold'\n[until]\nend-of-life = true\n"),
        format!("{DRIVE}{traced}[until]\ndrive-writes = 1\n"),
        format!("{DRIVE}{traced}loop = false\n"),
        format!("{DRIVE}{traced}[until]\ndays = 0.001\n"),
        format!("{BY_DIE}[time]\nscheduler = 'timeline'\n{traced}loop = false\n"),
        format!(
            "{BY_DIE}[time]\nscheduler = 'timeline'\n[workload]\nread-share = '70 %'\n[until]\nrequests = 100_000\n"
        ),
    ];
    for text in table {
        let scenario = scenario(&text);
        let estimated = estimate(&scenario).unwrap_or_else(|| panic!("no estimate of {text}"));
        let watch = &mut Watch { step: &mut |_| {}, stop: &Arc::default() };
        let summary = execute(&scenario, &PolicyOverrides::default(), watch).unwrap().summary;
        // Counting starts after the fill.
        let programmed = summary.flash.pages_programmed.total as f64 + f64::from(scenario.device.logical_units);
        let off = estimated.pages / programmed;
        assert!((0.5..=2.0).contains(&off), "{text}{} for {programmed} pages", estimated.pages);
        assert!(estimated.seconds > 0.0 && estimated.seconds.is_finite(), "{text}{estimated:?}");
    }
}

#[test]
fn what_cannot_be_known_has_no_estimate() {
    let stdin = scenario(&format!("{DRIVE}[workload]\ntrace = '-'\nloop = false\n"));
    assert_eq!(estimate(&stdin), None);
    let reads = scenario(&format!("{DRIVE}[workload]\nread-share = 1\n[until]\nrequests = 1_000_000\n"));
    let estimated = estimate(&reads).unwrap();
    let filled = f64::from(reads.device.logical_units);
    assert!((estimated.pages / filled - 1.0).abs() < 0.1, "nothing is written after the fill: {estimated:?}");
}

/// The array is larger than each of its drives, or smaller.
#[test]
fn aging_an_array_takes_as_long_as_its_drives() {
    let layouts = ["mirror", "stripe", "linear"];
    let workloads = ["pattern = 'zipf'\nfootprint = '60 %'", "standin = 'rad-be'", "read-share = '30 %'"];
    for (layout, workload) in layouts.into_iter().flat_map(|layout| workloads.map(|workload| (layout, workload))) {
        for member in ["", "drive.spare-factor = '30 %'"] {
            let list = format!("[[array.member]]\ncount = 2\n[[array.member]]\n{member}\n");
            let array = format!("[array]\nlayout = '{layout}'\n{list}");
            let asked = scenario(&format!(
                "[drive]\npreset = 'tiny'\n{array}[workload]\n{workload}\n[until]\ndrive-writes = 2\n"
            ));
            let seconds = aging_seconds(&asked, Some(Target::DriveWrites(4.0)), 1.0, 0.0);
            assert!(seconds.is_some_and(|seconds| seconds > 0.0), "{layout}, {workload}: {seconds:?}");
        }
    }
}
