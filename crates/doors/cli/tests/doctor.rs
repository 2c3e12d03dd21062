//! `wane doctor` from a user's view.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

/// Runs `wane` with these words; returns the exit code, stdout and stderr.
fn wane(folder: &Path, words: &str, stdin: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    let words = words.split_whitespace();
    let output = command.args(words).current_dir(folder).write_stdin(stdin).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs a command that must succeed.
fn done(folder: &Path, words: &str, stdin: &str) -> String {
    let (code, out, err) = wane(folder, words, stdin);
    assert_eq!((code, err.as_str()), (0, ""), "{words}");
    out
}

/// smartctl's JSON of an NVMe drive, some days on.
fn record(days: i64, used: u32, media_errors: u32) -> String {
    // After this many hours, only wear in the last few percent is near its end.
    json!({
        "smartctl": {}, "device": { "protocol": "NVMe" }, "model_name": "A DRIVE", "serial_number": "S1",
        "local_time": { "time_t": 1_700_000_000 + 86_400 * days }, "smart_status": { "passed": true },
        "nvme_smart_health_information_log": {
            "percentage_used": used, "media_errors": media_errors, "power_on_hours": 50_000 + 24 * days, "available_spare": 100,
        },
    })
    .to_string()
}

#[test]
fn a_simulated_drive_is_judged_like_a_real_one() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    done(folder, "drive create a.wane --preset tiny --until drive-writes=3", "");
    let printed = done(folder, "drive smart a.wane --json", "");
    let judged: Value = serde_json::from_str(&done(folder, "doctor - --json", &printed)).unwrap();
    let shown: Value = serde_json::from_str(&printed).unwrap();
    let record = &shown["wane"]["record"];
    assert_eq!(judged["drive"]["serial"], shown["serial_number"]);
    assert_eq!(judged["drive"]["is_simulated"], true);
    let amplification =
        record["flash_bytes_programmed"].as_f64().unwrap() / record["host_bytes_written"].as_f64().unwrap();
    assert_eq!(judged["writes"]["amplification"]["life"], amplification);
    assert_eq!(judged["life"]["wear_percent"], record["percentage_used"]);
    assert_eq!(judged["known"]["erase_count_mean"]["value"], record["erase_count_mean"]);
    // Its log pages give the same.
    done(folder, "drive smart a.wane --log c0h --raw page.bin", "");
    std::fs::write(folder.join("now.json"), &printed).unwrap();
    let page: Value = serde_json::from_str(&done(folder, "doctor page.bin --json", "")).unwrap();
    assert_eq!(page["known"]["flash_written_bytes"]["value"].as_f64(), record["flash_bytes_programmed"].as_f64());
    let both: Value = serde_json::from_str(&done(folder, "doctor now.json page.bin --json", "")).unwrap();
    assert_eq!((&both["records"]["count"], &both["verdict"]), (&json!(1), &judged["verdict"]));
    assert!(both["known"]["capacitor_health_percent"]["value"].is_number());
}

/// The keys of the JSON that readers may rely on.
#[test]
fn the_json_is_stable_and_every_form_comes_of_the_same_records() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("now.json"), record(100, 20, 1)).unwrap();
    std::fs::write(folder.join("then.json"), record(0, 10, 1)).unwrap();
    let judged: Value = serde_json::from_str(&done(folder, "doctor now.json then.json --json", "")).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&judged), "drive findings format known life not_understood rates records verdict writes");
    assert_eq!(keys(&judged["drive"]), "family firmware is_simulated model protocol serial");
    assert_eq!(keys(&judged["records"]), "clock count days first last");
    assert_eq!(
        keys(&judged["life"]),
        "basis end host_terabytes_left power_on_hours_left wear_percent wear_percent_per_year wear_step_percent"
    );
    assert_eq!(keys(&judged["life"]["end"]), "earliest expected latest");
    assert_eq!(keys(&judged["findings"][0]), "reason rule source verdict");
    assert_eq!(keys(&judged["known"]["media_errors"]), "from value");
    assert_eq!(keys(&judged["rates"]["media_errors"]), "increase per_day");
    assert_eq!(keys(&judged["writes"]["amplification"]), "life life_at_first why_none window");
    assert_eq!((&judged["format"], &judged["verdict"]), (&json!(1), &json!("good")));
    assert_eq!(
        done(folder, "doctor now.json then.json --format json", ""),
        done(folder, "doctor then.json now.json --json", "")
    );
    let text = done(folder, "doctor now.json then.json", "");
    assert!(
        text.starts_with(
            "A DRIVE, serial S1, firmware not reported\n2 records, 2023-11-14 to 2024-02-22 (100.0 days)\n"
        ),
        "{text}"
    );
    assert!(text.contains("media errors: 1 over the life, none of them in 100.0 days"), "{text}");
    assert!(text.contains("the rated wear is used on 2026-05-02, between 2026-02-10 and 2026-08-10"), "{text}");
    let ceph = done(folder, "doctor now.json then.json --format ceph", "");
    assert_eq!(ceph, "ceph device set-life-expectancy A_DRIVE_S1 2026-02-10 2026-08-10\n");
    let prometheus = done(folder, "doctor - then.json --format prometheus", &record(100, 20, 1));
    assert!(prometheus.contains("wane_doctor_verdict{model=\"A DRIVE\",serial=\"S1\"} 1\n"), "{prometheus}");
}

#[test]
fn many_that_watch_at_once_lose_no_verdict() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let of_drive = record(0, 3, 0).replace("S1", &format!("S{number}"));
            scope.spawn(move || assert!(!done(folder, "doctor - --watch state.json", &of_drive).is_empty()));
        }
    });
    let state: Value = serde_json::from_slice(&std::fs::read(folder.join("state.json")).unwrap()).unwrap();
    assert_eq!(state["drives"].as_object().unwrap().len(), 16);
}

#[test]
fn a_watched_drive_is_silent_until_a_verdict_changes() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let watch = |used| done(folder, "doctor - --watch state.json", &record(0, used, 0));
    assert!(watch(3).contains("verdict              good"), "a drive that is new to the file is told");
    for used in [3, 4, 79] {
        assert_eq!(watch(used), "");
    }
    assert!(watch(80).contains("80 % of the rated wear is used"));
    assert_eq!(watch(81), "");
    assert!(watch(70).contains("70 % of"), "and back");
    let other = record(0, 3, 0).replace("S1", "S2");
    assert!(!done(folder, "doctor - --watch state.json", &other).is_empty());
    assert_eq!(watch(70), "", "a file keeps several drives");
    std::fs::write(folder.join("mine.json"), "{\"mark\": \"mine\", \"drives\": {}}").unwrap();
    let (code, out, err) = wane(folder, "doctor - --watch mine.json", &record(0, 3, 0));
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(
        err,
        "wane: mine.json: exists, and keeps no verdicts of `wane doctor --watch`: give another name, or remove it\n"
    );
    let (code, _, err) = wane(folder, "doctor - --watch no/state.json", &record(0, 3, 0));
    assert!(code == 2 && err.starts_with("wane: no/state.json: cannot be written:"), "{err}");
}

/// Several drives: a line for each, the worst first; blanked serial numbers are told apart by file.
#[test]
fn several_drives_are_ranked() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    write("good.json", record(0, 3, 0));
    write("worn.json", record(0, 85, 0).replace("S1", "S2"));
    write("failed.json", record(0, 3, 0).replace("S1", "S3").replace("\"passed\":true", "\"passed\":false"));
    let told = done(folder, "doctor good.json worn.json failed.json", "");
    let lines: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.iter().map(|line| line[0]).collect::<Vec<_>>()[0], "failing", "{told}");
    assert_eq!(lines.len(), 3, "{told}");
    assert!(told.lines().next().unwrap().contains("S3") && told.lines().last().unwrap().contains("S1"), "{told}");
    let json: serde_json::Value = serde_json::from_str(&done(folder, "doctor good.json worn.json --json", "")).unwrap();
    assert_eq!(json["drives"][0]["judgement"]["drive"]["serial"], "S2");
    write("a.json", record(0, 3, 0));
    write("b.json", record(0, 85, 0));
    // One serial number is one drive with a history, unless its records are told apart by file.
    assert!(done(folder, "doctor a.json b.json", "").lines().count() > 3);
    let told = done(folder, "doctor a.json b.json --name-by file", "");
    assert!(told.lines().count() == 2 && told.lines().next().unwrap().contains("b.json"), "{told}");
}

#[test]
fn what_is_no_record_gets_one_sentence() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("a.json"), record(0, 3, 0)).unwrap();
    std::fs::write(folder.join("b.json"), record(0, 3, 0).replace("S1", "S2")).unwrap();
    std::fs::write(folder.join("half.json"), &record(0, 3, 0)[..60]).unwrap();
    std::fs::write(folder.join("page.bin"), [0xFF; 512]).unwrap();
    for (words, part) in [
        ("doctor none.json", "none.json: cannot be read"),
        ("doctor .", "cannot be read"),
        ("doctor half.json", "half.json: is no whole JSON"),
        ("doctor page.bin", "page.bin: log page c0h has the GUID"),
        ("doctor -", "stdin: is empty; allowed are smartctl's JSON or text"),
        ("doctor - -", "stdin is given twice"),
        ("doctor a.json b.json --watch v.state", "--watch is for one drive, and the records are of 2"),
        ("doctor a.json b.json --format prometheus", "this --format is for one drive"),
    ] {
        let (code, out, err) = wane(folder, words, "");
        assert_eq!((code, out.as_str()), (2, ""), "{words}: {err}");
        assert!(err.contains(part) && err.lines().count() == 1, "{words}: {err}");
    }
    // Whatever it finds, it could judge.
    let failing = record(0, 3, 0).replace("\"passed\":true", "\"passed\":false");
    assert!(done(folder, "doctor -", &failing).contains("failing  assessment"));
}
