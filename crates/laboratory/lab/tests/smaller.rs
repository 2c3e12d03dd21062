//! Devices whose host lowered their capacity, or how much of them may hold data, are aged and probed within what is left.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fmt::Write as _;
use std::sync::Arc;

use wane_blockdev::{ExtentState, SectorRange, all_extents};
use wane_lab::build::PolicyOverrides;
use wane_lab::held::{Act, Aging, Held, Reached, Target};
use wane_lab::kept::{Kept, WrittenBytes};
use wane_lab::run::Watch;
use wane_scenario::{Scenario, Sources};
use wane_units::{Lba, Sectors};

const UNIT: u64 = 8;
/// Units of the preset `tiny`.
const ALL: u64 = 16_384;

fn scenario(text: &str) -> Scenario {
    Scenario::resolve(&Sources { file: Some(("smaller.toml", text)), ..Sources::default() }).unwrap()
}

fn drive(more: &str, workload: &str) -> Scenario {
    scenario(&format!("[drive]\npreset = \"tiny\"\n{more}\n[workload]\n{workload}\n[until]\ndrive-writes = 1\n"))
}

/// A new device, whose logical sector is 512 bytes, as a server's clients see it.
fn held(scenario: &Scenario) -> Held {
    let mut held = Held::new(scenario, PolicyOverrides::default()).unwrap();
    held.act(&Act::Format(1)).unwrap();
    held
}

fn set_capacity(held: &mut Held, sectors: u64) {
    let device = held.device_mut();
    let status = device.set_capacity(device.now(), Sectors(sectors));
    assert!(status.is_done(), "{status}");
}

fn set_limit(held: &mut Held, units: u64) {
    let device = held.device_mut();
    let status = device.set_mapped_limit(device.now(), Sectors(units * UNIT));
    assert!(status.is_done(), "{status}");
}

fn age(held: &mut Held, writes: f64) -> Reached {
    held.age(Target::DriveWrites(writes), WrittenBytes::Stay, &Arc::default(), &mut |_| true).unwrap()
}

/// Units that hold data.
fn held_units(held: &Held) -> Vec<u64> {
    let mut told = Vec::new();
    let device = held.device();
    all_extents(device, SectorRange::new(Lba(0), device.capacity()), &mut told);
    let data = told.iter().filter(|extent| extent.state != ExtentState::Hole);
    data.flat_map(|extent| extent.range.start.0 / UNIT..(extent.range.start.0 + extent.range.count.0).div_ceil(UNIT))
        .collect()
}

/// One of each kind, some of which draw requests of several pages, trims and reads.
fn workloads(trace: &str) -> Vec<String> {
    let patterns = [
        "pattern = \"uniform\"",
        "pattern = \"hot-cold\"\nfootprint = 0.9\nrequest-size = \"64 KiB\"",
        "pattern = \"zipf\"\ntrim-share = 0.2\nread-share = 0.2",
        "pattern = \"sequential\"\nrequest-size = \"1 MiB\"",
        "pattern = \"hybrid\"",
        "pattern = \"jesd219\"",
        "standin = \"rad-be\"",
        "standin = \"dap-ps\"\nlayout = \"scattered\"",
        "mix = [{ share = 0.5, pattern = \"uniform\" }, { share = 0.5, pattern = \"sequential\" }]",
        "lsm = \"ycsb-a\"\ndata = 0.2\nmemtable = \"64 KiB\"\ntable-size = \"64 KiB\"\nlevel-base = \"256 KiB\"",
    ];
    let traced = ["modulo", "compact"].map(|remap| format!("trace = \"{trace}\"\nremap = \"{remap}\""));
    patterns.into_iter().map(str::to_owned).chain(traced).collect()
}

/// A trace that writes at the end of the new drive, and nowhere else.
fn trace(folder: &std::path::Path) -> String {
    let mut text = String::new();
    for number in 0..2_000u64 {
        writeln!(text, "{} 0 {} 8 0", number * 1000, (ALL - 1 - number * 7 % 4_000) * UNIT).unwrap();
    }
    let path = folder.join("end.trace");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn every_workload_stays_on_a_drive_whose_capacity_fell() {
    let folder = tempfile::tempdir().unwrap();
    for workload in workloads(&trace(folder.path())) {
        for more in ["", "[ftl]\ncapacity = \"variant\""] {
            let mut held = held(&drive(more, &workload));
            assert_eq!(age(&mut held, 0.3), Reached::Target, "{workload}");
            // Within a unit, and further once the workload is open.
            for (sectors, writes) in [(9_000 * UNIT + 1, 1.0), (8_192 * UNIT, 1.5)] {
                set_capacity(&mut held, sectors);
                assert_eq!(age(&mut held, writes), Reached::Target, "{workload} {more}");
                assert_eq!(held.pages(), (sectors / UNIT) as u32);
            }
            held.check().unwrap();
            assert!(
                held.drive_writes() >= 1.5 && held_units(&held).iter().all(|unit| *unit < 8_192),
                "{workload} {more}"
            );
        }
    }
}

#[test]
fn every_workload_stays_within_a_limit_and_leaves_what_the_host_holds() {
    let folder = tempfile::tempdir().unwrap();
    for workload in workloads(&trace(folder.path())) {
        for more in ["", "[ftl]\ncapacity = \"variant\""] {
            let mut held = held(&drive(more, &workload));
            held.keep_bytes().unwrap();
            let range = SectorRange::new(Lba(16_000 * UNIT), Sectors(100 * UNIT));
            held.blocking().write(range.start, vec![7; range.len_bytes()]).unwrap();
            set_limit(&mut held, 4_096);
            let before = held_units(&held);
            let aging = Aging { target: Target::DriveWrites(1.0), fast_forward: None, stopped_at: None };
            let mut most = 0;
            let acted = held.age_and_trim(&aging, &Arc::default(), &mut |_| {
                most += 1;
                true
            });
            assert_eq!(acted.unwrap().reached, Some(Reached::Target), "{workload} {more}");
            assert!(most > 1, "{workload}");
            held.check().unwrap();
            assert_eq!(held_units(&held), before, "{workload} {more}: only what the host holds is left");
            assert_eq!(held.blocking().read(range).unwrap(), vec![7; range.len_bytes()], "{workload} {more}");
            // All that the limit leaves can be written, and no more.
            assert_eq!(age(&mut held, 4.0), Reached::Target, "{workload} {more}");
            assert!(held_units(&held).len() <= 4_096, "{workload} {more}");
            assert!(held.room() <= 4_096 - 100, "{workload} {more}");
        }
    }
}

/// Also where it is saved between its parts, so that it goes on at its place.
#[test]
fn a_life_on_what_is_left_is_the_same_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    for (number, workload) in ["pattern = \"sequential\"", "pattern = \"zipf\"\nexponent = 0.9"].into_iter().enumerate()
    {
        let scenario = drive("", workload);
        let path = |name: &str| folder.path().join(format!("{name}-{number}.wane"));
        let make = |name: &str| {
            let mut kept = Kept::create(&path(name), &scenario, &Arc::default()).unwrap();
            set_capacity(&mut kept, 8_192 * UNIT);
            kept
        };
        let (mut whole, mut parts) = (make("whole"), make("parts"));
        age(&mut whole, 2.0);
        for writes in [0.37, 1.1, 2.0] {
            assert_eq!(age(&mut parts, writes), Reached::Target);
            parts.save("aged".to_owned()).unwrap();
            drop(parts);
            parts = Kept::open(&path("parts")).unwrap();
        }
        assert_eq!(whole.wear(), parts.wear(), "{workload}");
        assert_eq!(whole.counters(), parts.counters(), "{workload}");
    }
}

#[test]
fn an_array_whose_capacity_fell_is_aged_and_probed() {
    // Other layouts keep their size.
    let text = "[drive]\npreset = \"tiny\"\n[array]\nlayout = \"raid\"\nfollowing = \"members\"\n[[array.member]]\ncount = 3\n[workload]\n\
                pattern = \"zipf\"\nscramble = true\n[until]\ndrive-writes = 1\n";
    let scenario = scenario(text);
    let mut held = held(&scenario);
    age(&mut held, 0.2);
    let fewer = held.device().capacity().0 / 2 / 4096 * 4096;
    set_capacity(&mut held, fewer);
    assert_eq!(age(&mut held, 0.6), Reached::Target);
    held.check().unwrap();
    let asked = scenario.reworked(None, 500, &["workload.read-share=0.5".to_owned()], true).unwrap();
    let (probe, notes) = held.look_at_array(&asked, &Arc::default()).unwrap();
    assert_eq!((probe.failed, notes), (0, Vec::new()));
}

#[test]
fn a_probe_stays_on_what_is_left() {
    for (capacity, limit) in [(8_192 * UNIT + 3, None), (ALL * UNIT, Some(2_048))] {
        let scenario = drive("", "pattern = \"uniform\"");
        let mut held = held(&scenario);
        set_capacity(&mut held, capacity);
        if let Some(limit) = limit {
            set_limit(&mut held, limit);
        }
        age(&mut held, 0.5);
        let asked = scenario.reworked(None, 3_000, &[], true).unwrap();
        let result = held.look(&asked, &mut Watch { step: &mut |_| {}, stop: &Arc::default() }).unwrap();
        assert_eq!(result.summary.host.pages_written, 3_000, "each request writes its page");
    }
}

#[test]
fn a_drive_without_a_whole_unit_is_a_sentence() {
    let mut held = held(&drive("", "pattern = \"uniform\""));
    set_capacity(&mut held, 1);
    let aging = Aging { target: Target::EndOfLife, fast_forward: None, stopped_at: None };
    let refused = held.act(&Act::Age(aging)).unwrap_err().to_string();
    assert_eq!(refused, "the drive may hold 512 B, which is no whole unit of it, so that no workload has room there");
    set_limit_of_large_requests();
}

/// A workload that does not fit what is left is told by its key.
fn set_limit_of_large_requests() {
    let mut held = held(&drive("", "pattern = \"uniform\"\nrequest-size = \"8 MiB\""));
    set_limit(&mut held, 1_024);
    let aging = Aging { target: Target::DriveWrites(1.0), fast_forward: None, stopped_at: None };
    let refused = held.act(&Act::Age(aging)).unwrap_err().to_string();
    assert!(refused.starts_with("workload.request-size: found 8 MiB; "), "{refused}");
    assert!(refused.ends_with("4 MiB of the device are left for it, so give another workload"), "{refused}");
}
