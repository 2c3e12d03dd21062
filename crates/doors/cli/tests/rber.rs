//! `wane rber` from a user's view.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fmt::Write as _;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// Runs the command in `folder`; returns the exit code, stdout and stderr.
fn run(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    let output = command.arg("rber").args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str], folder: &Path) -> Value {
    let (code, stdout, stderr) = run(arguments, folder);
    assert_eq!(code, 0, "{arguments:?}: {stderr}");
    serde_json::from_str(&stdout).unwrap()
}

/// Makes a folder with measurements of a chip: its exact errors, slightly rounded.
fn measurements(days: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let cycles = "200,437,957,2091,4573,10000";
    let points =
        ["--chip", "tlc-72l-2018", "--cycles", cycles, "--days", days, "--reads", "0,100,1000,10000", "--json"];
    let mut text = String::from("reads,cycles,rber,days\n");
    for row in json(&points, folder.path()).as_array().unwrap() {
        let rber = row["rber"].as_f64().unwrap();
        let _ = writeln!(text, "{},{},{rber:.4e},{}", row["reads"], row["cycles"], row["days"]);
    }
    std::fs::write(folder.path().join("data.csv"), text).unwrap();
    folder
}

#[test]
fn one_point_is_a_number_and_several_are_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let one = ["--chip", "tlc-72l-2018", "--cycles", "5000", "--days", "0", "--reads", "0"];
    let (code, words, stderr) = run(&one, folder.path());
    assert_eq!((code, words.lines().next(), stderr.as_str()), (0, Some("0.016406"), ""));
    let exact = json(&[&one[..], &["--json"]].concat(), folder.path());
    assert_eq!((&exact["rber"], &exact["chip"]), (&0.016406332642622676.into(), &"tlc-72l-2018".into()));

    let several = ["--chip", "tlc-72l-cvss", "--cycles", "0,100..300:100", "--reads", "0,5e3"];
    let rows = json(&[&several[..], &["--json"]].concat(), folder.path());
    let cycles: Vec<f64> = rows.as_array().unwrap().iter().map(|row| row["cycles"].as_f64().unwrap()).collect();
    assert_eq!(cycles, [0.0, 0.0, 100.0, 100.0, 200.0, 200.0, 300.0, 300.0]);
    assert_eq!((&rows[7]["reads"], &rows[7]["days"]), (&5_000.0.into(), &0.0.into()));
    let (_, table, _) = run(&several, folder.path());
    assert_eq!(table.lines().count(), 9, "{table}");
    assert_eq!(table.lines().nth(3).unwrap().split_whitespace().collect::<Vec<_>>(), ["100", "0", "0", "7.98079e-3"]);
    let tenths = json(&["--chip", "tlc-72l-cvss", "--cycles", "0..0.3:0.1", "--json"], folder.path());
    assert_eq!(tenths.as_array().unwrap().len(), 4, "the last value is not lost to rounding");
}

#[test]
fn a_plot_is_one_page_with_a_curve_for_each_combination() {
    let folder = tempfile::tempdir().unwrap();
    let plot = ["--chip", "mlc-3xnm-2011", "--cycles", "0..60000:1000", "--days", "0,30,365", "--plot", "r.html"];
    let (code, _, stderr) = run(&plot, folder.path());
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("60000 cycles lie outside the data of mlc-3xnm-2011, 0 to 50000"), "{stderr}");
    let page = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert_eq!(page.matches(" data-l=\"").count(), 2 * 3, "for a wide and for a narrow screen");
    for part in ["RBER of mlc-3xnm-2011 over cycles", "365 days", "60000 cycles lie outside"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_fit_is_a_preset_that_stands_in_for_a_chip() {
    let folder = measurements("0,1,30,365");
    let (code, words, stderr) = run(&["fit", "data.csv", "--out", "mine.toml"], folder.path());
    assert_eq!((code, stderr.as_str()), (0, "mine.toml\n"), "{words}");
    for part in ["data.csv: 96 rows, 9 parameters fitted, seed 1", "R2 of ln RBER            1.0000", "[rber.data]"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(words.ends_with(&std::fs::read_to_string(folder.path().join("mine.toml")).unwrap()), "{words}");
    let at = ["--cycles", "3000", "--days", "90", "--reads", "500", "--json"];
    let fitted = json(&[&["--params", "mine.toml"], &at[..]].concat(), folder.path());
    let truth = json(&[&["--chip", "tlc-72l-2018"], &at[..]].concat(), folder.path());
    let ratio = fitted["rber"].as_f64().unwrap() / truth["rber"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    let (_, _, stderr) = run(&["--params", "mine.toml", "--cycles", "100", "--days", "400"], folder.path());
    assert_eq!(stderr.matches("outside the data of mine.toml").count(), 2, "{stderr}");
    let first = run(&["fit", "data.csv", "--seed", "7", "--json"], folder.path());
    assert_eq!(first, run(&["fit", "data.csv", "--seed", "7", "--json"], folder.path()));
}

#[test]
fn what_the_data_do_not_tell_is_said() {
    let folder = measurements("0");
    let (_, words, _) = run(&["fit", "data.csv"], folder.path());
    for name in ["beta", "m", "n"] {
        let line = words.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
        assert!(line.ends_with("not identifiable: days do not vary"), "{line}");
    }
    let fit = json(&["fit", "data.csv", "--json"], folder.path());
    let of = |name: &str| fit["parameters"].as_array().unwrap().iter().find(|found| found["name"] == name).unwrap();
    assert_eq!((&of("beta")["identifiable"], &of("alpha")["identifiable"]), (&false.into(), &true.into()));
    assert!(of("alpha")["low"].as_f64() < of("alpha")["value"].as_f64());
}

#[test]
fn what_is_wrong_is_one_sentence_and_exit_2() {
    let folder = measurements("0,1");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("ber.csv", "cycles,days,reads,ber\n1,2,3,0.1\n");
    write("zero.csv", "cycles,days,reads,rber\n1000,0,0,0\n");
    write("few.csv", "cycles,days,reads,rber\n1000,0,0,0.1\n2000,0,0,0.2\n");
    write("empty.csv", "");
    write("typo.toml", "[rber]\nepsilom = 1\n");
    let chip = ["--chip", "tlc-72l-2018"];
    let with = |more: &[&'static str]| [&chip[..], more].concat();
    // (arguments, a part of the sentence)
    let table: [(Vec<&str>, &str); 19] = [
        (vec!["--chip", "tlc-72l-2108", "--cycles", "1"], "--chip: found \"tlc-72l-2108\", allowed are mlc-3xnm-2011"),
        (vec!["--chip", "tlc-72l-2108", "--cycles", "1"], "did you mean \"tlc-72l-2018\"?"),
        (vec!["--cycles", "1"], "--chip or --params: one is needed"),
        (with(&[]), "--cycles: is missing"),
        (with(&["--cycles", "-5"]), "--cycles: found \"-5\", allowed are numbers from 0 to 1e15"),
        (with(&["--cycles", "nan"]), "--cycles: found \"nan\""),
        (with(&["--cycles", "1", "--days", "0..9"]), "--days: found \"0..9\", a range is FIRST..LAST:STEP"),
        (with(&["--cycles", "1", "--reads", "9..0:1"]), "--reads: found \"9..0:1\", a range is"),
        (with(&["--cycles", "0..1e9:1"]), "--cycles: \"0..1e9:1\" is more than 1000000 values"),
        (with(&["--cycles", "0..1e3:1", "--days", "0..1e3:1"]), "found 1002001 points, allowed are at most 1000000"),
        (with(&["--cycles", "1", "--plot", "x.html"]), "--plot: found one value of each"),
        (
            with(&["--cycles", "0..9:1", "--days", "1..5:1", "--reads", "0,1,2", "--plot", "x"]),
            "--plot: found 15 curves",
        ),
        (vec!["--params", "absent.toml", "--cycles", "1"], "absent.toml: cannot be read"),
        (vec!["--params", "typo.toml", "--cycles", "1"], "typo.toml, line 2: rber.epsilom: unknown key; did you mean"),
        (vec!["fit", "absent.csv"], "absent.csv: cannot be read"),
        (vec!["fit", "ber.csv"], "ber.csv, line 1: no column \"rber\"; found cycles, days, reads, ber"),
        (vec!["fit", "zero.csv"], "zero.csv, line 2: rber: found 0, allowed is a number above 0, at most 1"),
        (vec!["fit", "few.csv"], "few.csv: found 2 rows of measurements, a fit needs at least 12"),
        (vec!["fit", "empty.csv"], "empty.csv: is empty"),
    ];
    for (arguments, want) in table {
        let (code, stdout, stderr) = run(&arguments, folder.path());
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(want), "{arguments:?}: {stderr}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{arguments:?}: {stderr}");
    }
}
