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
        "basis end host_terabytes_left power_on_hours_left spare_end wear_percent wear_percent_per_year wear_step_percent"
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

/// smartctl's JSON of a SATA drive.
fn sata(device: &str, wwn: Option<u32>, seconds: i64, hours: u32, left: u32) -> String {
    let wwn = wwn.map(|id| json!({ "naa": 5, "oui": 1, "id": id }));
    json!({
        "smartctl": {}, "device": { "name": device, "protocol": "ATA" }, "model_name": "CHEAP", "serial_number": "AA11", "wwn": wwn,
        "local_time": { "time_t": 1_700_000_000 + seconds }, "smart_status": { "passed": true }, "power_on_time": { "hours": hours },
        "model_family": "Silicon Motion based SSDs",
        "ata_smart_attributes": { "table": [{ "id": 169, "name": "Remaining_Lifetime_Perc", "value": 100, "raw": { "value": left, "string": left.to_string() } }] },
    })
    .to_string()
}

/// Cheap drives of one batch share a serial number.
#[test]
fn two_drives_of_one_serial_number_are_two() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    write("a.json", sata("/dev/sda", Some(7), 0, 5000, 97));
    write("b.json", sata("/dev/sdb", Some(14), 60, 21_000, 31));
    write("a2.json", sata("/dev/sdc", Some(7), 86_400, 5024, 96));
    let told: Value = serde_json::from_str(&done(folder, "doctor a.json b.json a2.json --json", "")).unwrap();
    let wear = |at: usize| (&told["drives"][at]["file"], &told["drives"][at]["judgement"]["life"]["wear_percent"]);
    assert_eq!([wear(0), wear(1)], [(&json!("a2.json"), &json!(4.0)), (&json!("b.json"), &json!(69.0))], "{told}");
    assert_eq!(told["drives"].as_array().unwrap().len(), 2);
    // Without World Wide Names, by hours that grew faster than the calendar: the last record alone is judged, and it is said.
    write("a.json", sata("/dev/sda", None, 0, 5000, 97));
    for (device, hours) in [("/dev/sdb", 21_000), ("/dev/sda", 21_000), ("/dev/sdb", 4000)] {
        write("b.json", sata(device, None, 60, hours, 31));
        let told = done(folder, "doctor a.json b.json", "");
        assert!(told.contains("notice   two-drives") && told.contains("two drives of one serial number"), "{told}");
        assert!(told.starts_with("CHEAP, serial AA11, firmware not reported\none record"), "{told}");
        assert_eq!(done(folder, "doctor a.json b.json --name-by file", "").lines().count(), 2);
    }
    // A day later it may be the same one.
    write("b.json", sata("/dev/sdb", None, 86_400, 5023, 96));
    assert!(done(folder, "doctor a.json b.json", "").contains("2 records"), "one drive under another name");
}

#[test]
fn a_folder_of_many_drives_is_ranked_by_urgency_with_date_and_file() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::create_dir_all(folder.join("logs/web01")).unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.join("logs").join(name), text).unwrap();
    let with = |text: String, serial: &str| text.replace("S1", serial);
    let hot = record(0, 3, 0).replace("\"percentage_used\":3", "\"percentage_used\":3,\"temperature\":78");
    write("hot.json", with(hot, "HOT"));
    write("past.json", with(record(0, 104, 0), "PAST"));
    for (name, day, used) in [("soon-1.json", 0, 80), ("soon-2.json", 60, 98)] {
        write(name, with(record(day, used, 0), "SOON"));
    }
    for (name, day, errors) in [("web01/errors-1.json", 0, 1), ("web01/errors-2.json", 30, 9)] {
        write(name, with(record(day, 20, errors), "ERRORS"));
    }
    write("well.json", with(record(0, 3, 0), "WELL"));
    let told = done(folder, "doctor logs", "");
    let serials: Vec<&str> = told.lines().map(|line| line.split("  ").nth(2).unwrap().trim()).collect();
    let order: Vec<&str> =
        ["ERRORS", "PAST", "SOON", "HOT", "WELL"].into_iter().filter(|serial| told.contains(serial)).collect();
    let at = |serial: &str| told.lines().position(|line| line.contains(serial)).unwrap();
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{serials:?}\n{told}");
    assert!(told.lines().next().unwrap().contains("logs/web01/errors-2.json"), "{told}");
    let soon = told.lines().find(|line| line.contains("SOON")).unwrap();
    assert!(soon.contains("2024-01-1") && soon.contains("the rated wear is used on"), "{soon}");
    // A file that is no record is a sentence, and the exit code says so.
    write("notes.txt", "to do".to_owned());
    let (code, out, err) = wane(folder, "doctor logs", "");
    assert_eq!((code, out.lines().count()), (1, 5), "{out}");
    assert!(err.starts_with("wane: logs/notes.txt: is not of a drive") && err.lines().count() == 1, "{err}");
}

#[test]
fn what_is_no_record_gets_one_sentence() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("a.json"), record(0, 3, 0)).unwrap();
    std::fs::write(folder.join("b.json"), record(0, 3, 0).replace("S1", "S2")).unwrap();
    std::fs::write(folder.join("half.json"), &record(0, 3, 0)[..60]).unwrap();
    std::fs::write(folder.join("page.bin"), [0xFF; 512]).unwrap();
    std::fs::create_dir(folder.join("empty")).unwrap();
    for (words, part) in [
        ("doctor none.json", "none.json: cannot be read"),
        ("doctor empty", "empty: has no files; give records of drives"),
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
