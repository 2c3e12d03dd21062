//! `wane fleet` from a user's view: handed over to the package, or refused in a sentence. The package's own tests check the verbs.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assert_cmd::Command;

/// Runs `wane fleet` with these words and a given Python; returns the exit code, stdout and stderr.
fn fleet(python: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    let output = command.arg("fleet").args(words).env("WANE_PYTHON", python).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Makes a program that replaces Python.
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
    let (code, again, err) = fleet(&none, &words);
    assert_eq!((code, again), (0, out), "it tells the same of what is there");
    assert!(err.ends_with("holds these drives already\n"), "{err}");
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

/// Runs `wane reproduce` with these words, with a program that replaces Python.
fn reproduce(python: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    let output = command.arg("reproduce").args(words).env("WANE_PYTHON", python).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The package's answer for a claim: findings of `seeds` seeds, and a reading that agrees.
fn answer(id: &str, seeds: u64) -> String {
    let finding = |seed: u64| {
        let ours = format!("{seed} hours off");
        serde_json::json!({ "seed": seed, "ours": ours, "verdict": "differs", "note": "why:", "table": "| a |\n|---|\n| 1 |\n" })
    };
    let other =
        serde_json::json!({ "what": "a line", "changes": "choice", "ours": "5 hours off", "verdict": "agrees" });
    let seeds: Vec<serde_json::Value> = (1..=seeds).map(finding).collect();
    serde_json::json!({ id: { "seeds": seeds, "others": [other] } }).to_string()
}

#[test]
fn claims_of_the_package_are_asked_of_it_and_written_with_all_others() {
    let place = tempfile::tempdir().unwrap();
    let python = stand_in(
        place.path(),
        &format!("shift 3\n[ \"$*\" = 'claims DC8' ] || exit 3\ncat <<'END'\n{}\nEND", answer("DC8", 5)),
    );
    let page = place.path().join("page.md");
    let path = page.to_str().unwrap();
    let (code, out, err) = reproduce(&python, &["DC8", "RE10", "DC9", "--write", path]);
    assert_eq!((code, err.as_str()), (0, "wane: measuring DC8 with the Python package, some minutes\n"));
    assert!(out.contains("differs, fragile (choice)") && out.contains("seed 5"), "{out}");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(
        text.contains("Claims: 3. Of these 1 agree, 0 of them fragile; 1 differ, 1 of them fragile; 1 not run."),
        "{text}"
    );
    for part in [
        "| 1 hours off | differs, fragile (choice) |",
        "| a line | choice | 5 hours off | agrees |",
        "| 5 | 5 hours off | differs |",
        "\n| a |\n",
        "| not run |",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (code, out, err) = reproduce(&python, &["DC8", "--check", path, "--json", "--quiet"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("\"verdict\": \"differs\""), "{out}");
}

#[test]
fn without_the_package_its_claims_are_refused_by_name_and_listed() {
    let place = tempfile::tempdir().unwrap();
    let absent = stand_in(place.path(), "exit 97");
    let (code, out, err) = reproduce(&absent, &["dc8", "--quiet"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("wane: DC8 needs the Python package wane, which the Python "), "{err}");
    let (code, out, err) = reproduce(&absent, &["DC", "--list"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("DC7 ") && out.contains("DC8 ") && out.contains("DC9 "), "{out}");
}

#[test]
fn a_package_that_answers_otherwise_is_of_another_version_and_its_own_refusals_are_its_own() {
    let place = tempfile::tempdir().unwrap();
    let wrong = [String::new(), "{}".to_owned(), answer("DC8", 4), answer("DC8", 5).replace("why:", "a | b")];
    for told in wrong {
        let python = stand_in(place.path(), &format!("cat <<'END'\n{told}\nEND"));
        let (code, out, err) = reproduce(&python, &["DC8", "--quiet"]);
        assert_eq!((code, out.as_str()), (2, ""), "{told}");
        assert!(err.contains("is not of this command's version") && err.lines().count() == 1, "{err}");
    }
    for (ends, want) in [(2, 2), (130, 130), (1, 3)] {
        let python = stand_in(place.path(), &format!("echo 'wane: why' >&2\nexit {ends}"));
        assert_eq!(reproduce(&python, &["DC7", "--quiet"]), (want, String::new(), "wane: why\n".to_owned()));
    }
}
