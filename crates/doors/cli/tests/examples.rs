//! The scenarios of `examples/scenarios`: each runs at a small scale, and a page of the book shows it unchanged.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// The recorded trace beside the scenarios, which they name.
const TRACE: &str = "pgbench-ext4.iolog.zst";

/// Each scenario, the settings that make it small, and how it then ends.
const SMALL: [(&str, &[&str], &str); 20] = [
    (
        "aging",
        &["until.drive-writes=3", "probe.at-drive-writes=[0, 1, 2, 3]", "probe.until.requests=500"],
        "drive-writes",
    ),
    ("block-size", &["drive.blocks-per-plane=64", "probe.until.requests=500"], "drive-writes"),
    ("collect", &["until.drive-writes=0.2"], "drive-writes"),
    ("ecc", &["until.requests=500"], "requests"),
    ("file-system", &["drive.endurance=50", "drive.initial.erase-count=40"], "end-of-life"),
    ("level", &["drive.endurance=5"], "end-of-life"),
    ("mirror", &["drive.endurance=5"], "end-of-life"),
    ("parity", &["until.drive-writes=0.05", "drive.faults.lost-die-at=0.01"], "drive-writes"),
    (
        "phases",
        &[
            "phase.0.until.drive-writes=0.1",
            "phase.1.until.drive-writes=0.2",
            "phase.2.until.drive-writes=0.1",
            "phase.3.until.drive-writes=0.2",
        ],
        "drive-writes",
    ),
    ("redundancy", &["drive.endurance=20", "forecast.arrays=100"], "end-of-life"),
    ("scrub", &["until.requests=2000"], "requests"),
    ("shrink", &["drive.endurance=5"], "end-of-life"),
    ("spares", &["drive.blocks-per-plane=128", "until.requests=1000"], "requests"),
    (
        "stack",
        &["until.drive-writes=0.2", "probe.at-drive-writes=[0, 0.1]", "probe.until.requests=200"],
        "drive-writes",
    ),
    ("trim", &["until.drive-writes=0.2"], "drive-writes"),
    ("twice-speed", &["until.requests=2000"], "requests"),
    ("until-it-dies", &["drive.endurance=5"], "end-of-life"),
    ("worn", &["until.drive-writes=0.05"], "drive-writes"),
    ("write-cache", &["until.requests=2000"], "requests"),
    (
        "years",
        &["drive.logical-capacity='2 GiB'", "drive.pages-per-block=64", "drive.channels=1", "until.requests=2000"],
        "requests",
    ),
];

/// Bytes below which a picture of a page is small.
const PICTURE_BYTES: u64 = 60_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_list_has_every_scenario() {
    let files = std::fs::read_dir(root().join("examples/scenarios")).unwrap().map(|file| file.unwrap().path());
    let scenarios = files.filter(|path| path.extension().is_some_and(|kind| kind == "toml"));
    let mut names: Vec<String> = scenarios.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, SMALL.map(|(name, ..)| name));
}

#[test]
fn every_scenario_runs_at_a_small_scale() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(root().join("assets/traces").join(TRACE), folder.path().join(TRACE)).unwrap();
    for (name, small, end) in SMALL {
        let file = format!("{name}.toml");
        std::fs::write(folder.path().join(&file), text(&format!("examples/scenarios/{file}"))).unwrap();
        let mut run = Command::new(env!("CARGO_BIN_EXE_wane"));
        run.current_dir(&folder).args(["run", &file, "--json", "--quiet"]);
        for set in small {
            run.args(["--set", set]);
        }
        let output = run.output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["end"]["reason"], end, "{name}");
        // A calendar alone (time.drive-writes-per-day) measures none.
        let is_timed = text(&format!("examples/scenarios/{file}")).lines().any(|line| line.starts_with("scheduler"));
        assert_eq!(
            summary["latency"].is_object(),
            is_timed,
            "{name}: latencies are measured where a clock is asked for"
        );
    }
}

#[test]
fn every_scenario_has_a_page_that_shows_it_as_it_is() {
    let (summary, jobs) = (text("docs/src/SUMMARY.md"), text("docs/src/jobs.md"));
    for (name, ..) in SMALL {
        let page = text(&format!("docs/src/jobs/{name}.md"));
        let scenario = text(&format!("examples/scenarios/{name}.toml"));
        assert!(page.contains(&format!("```toml\n{scenario}```\n")), "{name}.md: shows another scenario than the file");
        let question = page.lines().next().unwrap().trim_start_matches("# ");
        let link = format!("[{question}](jobs/{name}.md)");
        for (index, text) in [("SUMMARY.md", &summary), ("jobs.md", &jobs)] {
            assert!(text.contains(&link), "{index} lacks {link}");
        }
        let picture = std::fs::metadata(root().join(format!("docs/src/jobs/{name}.png"))).unwrap().len();
        assert!(picture < PICTURE_BYTES, "{name}.png has {picture} bytes");
        for part in [
            &format!("\n```\nwane run {name}.toml "),
            "\n| ",
            &format!("({name}.png)"),
            "\n## What it means\n",
            "\n## What it does not mean\n",
        ] {
            assert!(page.contains(part), "{name}.md lacks {part:?}");
        }
    }
}
