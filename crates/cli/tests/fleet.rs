//! `wane fleet` as its user meets it: handed over, or refused in a sentence. What the verbs do, the package's own tests tell.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assert_cmd::Command;

/// Runs `wane fleet` with these words by a Python; gives the exit code, stdout and stderr.
fn fleet(python: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    let output = command.arg("fleet").args(words).env("WANE_PYTHON", python).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A program in the place of Python.
fn stand_in(folder: &Path, script: &str) -> std::path::PathBuf {
    let place = folder.join("python");
    std::fs::write(&place, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
    place
}

#[test]
fn words_and_exit_codes_are_handed_over() {
    let place = tempfile::tempdir().unwrap();
    for (ends, want) in [(0, 0), (2, 2), (3, 3), (130, 130), (1, 3)] {
        let python = stand_in(place.path(), &format!("shift 3\nprintf '<%s>' \"$@\"\nexit {ends}"));
        let (code, out, err) = fleet(&python, &["ingest", "--help", "a b", "--skip-bad"]);
        assert_eq!((code, out.as_str(), err.as_str()), (want, "<ingest><--help><a b><--skip-bad>", ""));
    }
}

#[test]
fn without_the_package_it_is_refused_in_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let (code, out, err) = fleet(&stand_in(place.path(), "exit 97"), &["predict", "a.fleet"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("wane: fleets need the Python package wane, which the Python "), "{err}");
    assert_eq!(err.lines().count(), 1);
    let (code, _, err) = fleet(&place.path().join("none"), &["predict", "a.fleet"]);
    assert_eq!(code, 2);
    assert!(err.contains("cannot be run"), "{err}");
}

#[test]
fn a_verb_is_needed() {
    let (code, _, err) = fleet(Path::new("python3"), &[]);
    assert_eq!(code, 2);
    assert!(err.contains("VERB"), "{err}");
}

#[test]
fn a_fleet_is_simulated_without_python() {
    let place = tempfile::tempdir().unwrap();
    let (none, twin) = (place.path().join("none"), place.path().join("twin"));
    let twin = twin.to_str().unwrap();
    let set = ["--set", "model.0.count=3", "--set", "days=2"];
    let words = [&["simulate", "--out", twin, "--quiet", "--json"][..], &set].concat();
    let (code, out, err) = fleet(&none, &words);
    assert_eq!((code, err.as_str()), (0, ""));
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&told["drives"], &told["whole"]), (&3.into(), &true.into()), "{out}");
    let (code, out, err) = fleet(&none, &words);
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(err.ends_with("holds this fleet already\n"), "{err}");
    let (code, _, err) = fleet(&none, &["simulate", "--out", twin]);
    assert_eq!(code, 2);
    assert!(err.contains("--force begins anew") && err.lines().count() == 1, "{err}");
}

#[test]
fn a_fleets_file_is_shown_checked_and_explained() {
    let none = Path::new("none");
    let (code, example, _) = fleet(none, &["simulate", "--example"]);
    assert_eq!(code, 0);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fleet.toml");
    std::fs::write(&file, example).unwrap();
    let file = file.to_str().unwrap();
    let (code, out, err) = fleet(none, &["simulate", file, "--dry-run"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("# SIM-A: 60 drives; one simulated byte stands for 3576.3 of a drive"), "{out}");
    let (code, _, err) = fleet(none, &["simulate", file, "--dry-run", "--set", "model.0.cuont=3"]);
    assert_eq!(code, 2);
    assert!(err.contains("did you mean \"count\"?"), "{err}");
    let (code, out, _) = fleet(none, &["simulate", "--schema"]);
    assert_eq!(code, 0);
    assert!(out.contains("\"title\": \"wane fleet\""));
}
