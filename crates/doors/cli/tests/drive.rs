//! `wane drive` from a user's view.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::Path;
use std::process::{Command as Process, Stdio};

use assert_cmd::Command;

/// Runs `wane drive` with these words; returns the exit code, stdout and stderr.
fn drive(folder: &Path, words: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    let output = command.arg("drive").args(words.split_whitespace()).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs a command that must succeed.
fn done(folder: &Path, words: &str) -> String {
    let (code, out, err) = drive(folder, words);
    assert_eq!(code, 0, "{words}: {err}");
    out
}

fn facts(folder: &Path, name: &str) -> serde_json::Value {
    serde_json::from_str(&done(folder, &format!("show {name} --json"))).unwrap()
}

#[test]
fn a_key_that_changes_nothing_is_told_when_a_drive_is_made() {
    let place = tempfile::tempdir().unwrap();
    let (code, _, err) = drive(place.path(), "create a.wane --preset tiny --set drive.wordline-pages=3");
    assert_eq!(
        (code, err.as_str()),
        (0, "wane: drive.wordline-pages has no effect: power is never cut, as ftl.recovery is \"none\"\n")
    );
    let kept = "create b.wane --preset tiny --set drive.wordline-pages=3 --set ftl.recovery=checkpoint";
    assert_eq!(drive(place.path(), kept).2, "");
}

/// What lies longer than its chip was measured says so wherever it is looked at, and what a drive's error correction takes for granted.
#[test]
fn an_answer_beyond_the_chips_data_says_so() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    done(folder, "create new.wane --for serve --preset tiny --until wear=90% --quiet");
    let days = "days since data was written, as at 40 °C by Arrhenius' law with 1.1 eV, which the source did not measure (up to ";
    let endless =
        "it re-reads until a page can be read, as drive.ecc.rereads-max is \"none\": age costs it time, about ";
    let one = |words: &str| {
        let (code, out, err) = drive(folder, words);
        assert!(code < 2, "{words}: {err}");
        out + &err
    };
    let looks = ["show", "smart", "check --data", "age --until drive-writes=0.1 --quiet"];
    let look = |name: &str, words: &str| {
        let (verb, options) = words.split_once(' ').unwrap_or((words, ""));
        one(&format!("{verb} {name} {options}"))
    };
    for words in looks {
        let told = look("new.wane", words);
        assert!(!told.contains("extrapolated"), "{words}: {told}");
    }
    done(folder, "fork new.wane old.wane");
    let lay = one("wait old.wane --days 3650 --celsius 55");
    for (words, told) in looks.map(|words| (words, look("old.wane", words))).into_iter().chain([("wait", lay)]) {
        assert!(told.contains("the errors of tlc-72l-2018 are extrapolated in "), "{words}: {told}");
        assert!(told.contains(days) && told.contains("the source has 0 to 365)"), "{words}: {told}");
        assert!(told.contains(endless) && told.contains("of its data could not be read"), "{words}: {told}");
    }
    let warnings = facts(folder, "old.wane")["warnings"].clone();
    assert_eq!(warnings.as_array().unwrap().len(), 2, "{warnings}");
    done(folder, "read old.wane back --at 0B --length 4KiB");
    // A drive that stops, one that corrects everything, and one without errors.
    let lies = |name: &str, set: &str| {
        done(folder, &format!("create {name} --for serve --preset tiny --until wear=90% --quiet {set}"));
        one(&format!("wait {name} --days 3650"))
    };
    let stops = lies("stops.wane", "--set drive.chip=tlc-72l-2018 --set drive.ecc.rereads-max=1");
    assert!(
        stops.contains("extrapolated in days since data was written (up to 3650;") && !stops.contains("re-reads"),
        "{stops}"
    );
    done(folder, "create all.wane --preset tiny --set drive.chip=tlc-72l-2018");
    assert!(
        one("wait all.wane --days 400").contains("every error is corrected at once, as drive.ecc.strength is \"none\"")
    );
    done(folder, "create never.wane --preset tiny");
    let never = one("wait never.wane --days 400") + &one("check never.wane --data");
    assert_eq!(never.matches("its flash never errs, as drive.chip is \"none\"").count(), 2, "{never}");
    // Beyond its cycles, and as a drive of an array.
    std::fs::write(
        folder.join("pair.toml"),
        "[drive]\npreset = \"tiny\"\nchip = \"tlc-72l-2018\"\nendurance = 30_000\n[array]\nlayout = \"mirror\"\n[[array.member]]\n\
         [[array.member]]\ndrive.initial.erase-count = 20000\n[until]\ndrive-writes = 1\n",
    )
    .unwrap();
    done(folder, "create pair.wane pair.toml --quiet");
    let pair = one("show pair.wane");
    // Its blocks were erased 20,000 times in the mean, with a spread.
    assert!(
        pair.contains("drive 1: the errors of tlc-72l-2018 are extrapolated in P/E cycles (up to 22959; "),
        "{pair}"
    );
    assert!(!pair.contains("drive 0: ") && one("show pair.wane/1").contains("extrapolated in P/E cycles"), "{pair}");
}

#[test]
fn a_drive_is_made_aged_in_parts_and_forked() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    assert!(done(folder, "create b.wane --preset tiny --workload zipf").starts_with("b.wane: created\n"));
    done(folder, "create a.wane --preset tiny --workload zipf --until drive-writes=6");
    for writes in ["1.3", "4", "6"] {
        done(folder, &format!("age b.wane --until drive-writes={writes}"));
    }
    let (mut a, mut b) = (facts(folder, "a.wane"), facts(folder, "b.wane"));
    for facts in [&mut a, &mut b] {
        let object = facts.as_object_mut().unwrap();
        object.remove("drive");
        object.remove("history");
    }
    assert_eq!(a, b);
    let states: Vec<Vec<u8>> = ["a.wane/state.2", "b.wane/state.4"]
        .into_iter()
        .map(|file| std::fs::read(folder.join(file)).unwrap())
        .collect();
    assert!(states[0] == states[1], "100 then 100 is 200, byte for byte");
    done(folder, "fork a.wane c.wane");
    assert!(done(folder, "show c.wane").contains("forked from a.wane"));
    assert!(done(folder, "age a.wane --until drive-writes=5").starts_with("a.wane: had reached that age already\n"));
    assert!(done(folder, "check b.wane").ends_with("every invariant of its firmware holds\n"));
    let end = done(folder, "age b.wane --until end-of-life");
    assert!(end.starts_with("b.wane: died (spare-exhausted)\n"), "{end}");
    let (code, out, _) = drive(folder, "age b.wane --until wear=99%");
    assert!(code == 1 && out.starts_with("b.wane: is dead (spare-exhausted) and ages no more\n"), "{out}");
    let shown = done(folder, "show b.wane");
    for part in ["by zipf of exponent", "dead (spare-exhausted)", "     erases   blocks\n"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn a_probe_tells_latencies_and_leaves_the_drive_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("probed.toml"), "[probe]\nat-drive-writes = [2]\n").unwrap();
    let (code, _, err) = drive(folder, "create a.wane probed.toml --preset tiny");
    assert!(code == 2 && err.contains("probe: needs a clock"), "{err}");
    done(folder, "create a.wane probed.toml --preset tiny --set time.scheduler=event --set drive.chip=tlc-72l-2018");
    done(folder, "age a.wane --until wear=50% --quiet");
    let before = std::fs::read(folder.join("a.wane/drive.json")).unwrap();
    let told = done(folder, "probe a.wane --requests 2000");
    assert!(told.starts_with("a.wane: 2,000 requests of uniform\n") && told.contains("p99.9"), "{told}");
    let summary: serde_json::Value =
        serde_json::from_str(&done(folder, "probe a.wane --requests 2000 --json --set workload.arrival.queue-depth=8"))
            .unwrap();
    assert!(summary["latency"]["read"].is_object() && summary["host"]["pages_read"].as_u64() > Some(900), "{summary}");
    assert_eq!(std::fs::read(folder.join("a.wane/drive.json")).unwrap(), before);
    done(folder, "wait a.wane --days 30.5");
    assert_eq!(facts(folder, "a.wane")["day"], 30.5);
}

#[test]
fn drives_are_compared_also_where_one_is_dead() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    done(folder, "create a.wane --preset tiny --set drive.endurance=20");
    done(folder, "create b.wane --preset tiny --set drive.endurance=20");
    done(folder, "age b.wane --until end-of-life");
    let words = "compare a.wane b.wane --requests 500 --out page.html";
    let (code, out, err) = drive(folder, words);
    assert_eq!(code, 0, "{err}");
    let row = |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {out}"));
    assert!(row("wear").ends_with("dead (spare-exhausted)") && row("reads, p50").ends_with('-'), "{out}");
    assert!(err.contains("warning: b.wane: is dead (spare-exhausted) and takes no writes any more"), "{err}");
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    assert!(page.contains("a.wane") && !page.contains("b.wane"), "the dead one has no latencies");
    // Two of one scenario are two.
    done(folder, "fork a.wane c.wane");
    done(folder, "age c.wane --until drive-writes=2");
    done(folder, "compare a.wane c.wane --requests 500 --out page.html");
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    assert!(page.contains("a.wane") && page.contains("c.wane"), "each has its latencies");
    // Both answer reads.
    let (code, out, err) = drive(folder, "compare a.wane b.wane --requests 500 --set workload.read-share=1 --json");
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && told[1]["probe"]["latency"]["read"]["p50_ns"].is_u64(), "{err}: {told}");
    let both = drive(folder, "compare b.wane b.wane --out none.html");
    assert!(both.0 == 0 && both.2.contains("none.html: not written, as no drive answered"), "{both:?}");
    assert!(!folder.join("none.html").exists());
}

#[test]
fn each_drive_has_a_serial_number_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    for words in ["create a.wane --preset tiny", "create b.wane --preset tiny", "fork a.wane c.wane"] {
        done(folder, words);
    }
    let serial = |name: &str| {
        let told: serde_json::Value = serde_json::from_str(&done(folder, &format!("smart {name} --json"))).unwrap();
        told["serial_number"].as_str().unwrap().to_owned()
    };
    let serials = ["a.wane", "b.wane", "c.wane"].map(serial);
    assert!(serials[0] != serials[1] && serials[0] != serials[2] && serials[1] != serials[2], "{serials:?}");
    // It stays where the drive goes.
    std::fs::rename(folder.join("a.wane"), folder.join("moved.wane")).unwrap();
    done(folder, "age moved.wane --until drive-writes=1");
    assert_eq!(serial("moved.wane"), serials[0]);
}

#[test]
fn a_dead_drive_says_that_nothing_was_written_and_keeps_no_other_record() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("data.bin"), [7; 5000]).unwrap();
    done(folder, "create dead.wane --preset tiny --until end-of-life");
    let (code, out, _) = drive(folder, "write dead.wane data.bin");
    assert!(code == 1 && out.starts_with("dead.wane: nothing of 5000 B written from 0 B on\n"), "{out}");
    let ends = "not written          8 KiB from 0 B on\ncause                the drive is dead: it reads on, and takes no writes any more\n";
    assert!(out.ends_with(ends), "{out}");
    let shown = done(folder, "show dead.wane");
    assert!(shown.contains("nothing of 5000 B of data.bin written from 0 B on"), "{shown}");
}

#[test]
fn trims_of_a_workload_leave_written_data_alone_and_say_so() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let bytes: Vec<u8> = (0..16u32 << 20).map(|at| (at * 7 + at / 251) as u8).collect();
    std::fs::write(folder.join("data.bin"), &bytes).unwrap();
    done(folder, "create a.wane --preset tiny --set workload.trim-share=0.1");
    done(folder, "write a.wane data.bin");
    done(folder, "fork a.wane b.wane");
    let (code, _, err) = drive(folder, "age a.wane --until drive-writes=2 --trim-after");
    assert!(code == 0 && err.contains("of data that were written to the drive; they stay (--trim-data"), "{err}");
    done(folder, "read a.wane a.bin --length 16MiB");
    assert!(std::fs::read(folder.join("a.bin")).unwrap() == bytes);
    assert!(done(folder, "show a.wane").contains("; they stay"), "it is recorded");
    let (code, _, err) = drive(folder, "age b.wane --until drive-writes=2 --trim-data");
    assert!(code == 0 && err.contains("of data that were written to the drive; they are gone"), "{err}");
    done(folder, "read b.wane b.bin --length 16MiB");
    assert!(std::fs::read(folder.join("b.bin")).unwrap() != bytes);
    let (_, _, err) = drive(folder, "age b.wane --until drive-writes=2.1 --workload sequential");
    assert_eq!(err, "", "a workload without trims has nothing to say");
}

#[test]
fn data_outlive_aging_a_power_cut_and_a_fork() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let bytes: Vec<u8> = (0..300_000u32).map(|at| (at * 7 + at / 251) as u8).collect();
    std::fs::write(folder.join("data.bin"), &bytes).unwrap();
    done(folder, "create a.wane --preset tiny --set ftl.recovery=checkpoint --set drive.spare-factor=0.3");
    assert!(done(folder, "write a.wane data.bin --at 1MiB").starts_with("a.wane: 300000 B written from 1 MiB on\n"));
    done(folder, "age a.wane --until drive-writes=9");
    let told = done(folder, "power-cut a.wane");
    assert!(told.contains("recovery read") && told.contains("units mapped"), "{told}");
    let health = done(folder, "smart a.wane");
    assert!(health.contains("Unsafe Shutdowns:                   1\n"), "{health}");
    done(folder, "fork a.wane b.wane");
    assert_eq!(
        done(folder, "trim a.wane --at 1MiB --length 4KiB").lines().next(),
        Some("a.wane: 4 KiB trimmed from 1 MiB on")
    );
    for (drive, first) in [("a", 0), ("b", bytes[0])] {
        done(folder, &format!("read {drive}.wane {drive}.bin --at 1MiB --length 300KiB"));
        let read = std::fs::read(folder.join(format!("{drive}.bin"))).unwrap();
        assert_eq!((read.len(), read[0]), (300 << 10, first));
        assert!(read[4096..bytes.len()] == bytes[4096..] && read[bytes.len()..].iter().all(|byte| *byte == 0));
        done(folder, &format!("check {drive}.wane"));
    }
    done(folder, "create small.wane --preset tiny --set ftl.capacity.policy=variant");
    let table = [
        ("read a.wane b.bin --length 4KiB", "b.bin: exists: give another name"),
        ("read a.wane c.bin --at 3B --length 4KiB", "--at 3 B: is no multiple of the drive's sectors of 4 KiB"),
        ("read a.wane c.bin --at 63MiB --length 8MiB", "8 MiB from 63 MiB on end beyond the 64 MiB"),
        ("read a.wane c.bin --at 1TiB", "--at 1 TiB: lies beyond the 64 MiB that the drive exports"),
        ("write a.wane absent.bin", "absent.bin: cannot be read"),
        ("write a.wane data.bin --at 64MiB", "end beyond the 64 MiB"),
        ("power-cut small.wane", "its recovery policy is none; ftl.recovery says how it could"),
    ];
    for (words, part) in table {
        let (code, out, err) = drive(folder, words);
        assert_eq!((code, out.as_str()), (2, ""), "{words}: {err}");
        assert!(err.contains(part), "{words}: {err}");
    }
    assert!(!folder.join("c.bin").exists());
}

#[test]
fn a_trace_that_is_gone_or_changed_is_told_when_the_drive_ages() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let trace = |requests: u32| {
        let mut text = String::from("fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n");
        (0..requests).for_each(|at| text.push_str(&format!("{at} /dev/a write {} 4096\n", at * 7919 % 9000 * 4096)));
        std::fs::write(folder.join("t.iolog"), text).unwrap();
    };
    trace(3000);
    done(folder, "create a.wane --preset tiny");
    done(folder, "age a.wane --workload t.iolog --until drive-writes=0.5");
    done(folder, "age a.wane --until drive-writes=0.6");
    trace(2900);
    let (code, _, err) = drive(folder, "age a.wane --until drive-writes=0.7");
    assert!(code == 2 && err.contains("trace has changed since the drive was aged by it"), "{err}");
    done(folder, "age a.wane --until drive-writes=0.7 --workload t.iolog");
    std::fs::remove_file(folder.join("t.iolog")).unwrap();
    for words in ["show a.wane", "check a.wane", "probe a.wane --requests 50", "fork a.wane b.wane"] {
        done(folder, words);
    }
    assert_eq!(drive(folder, "age a.wane --until drive-writes=1").0, 2);
    done(folder, "age a.wane --until drive-writes=1 --workload zipf");
}

#[test]
fn drives_without_a_capacitor_and_with_a_calendar_are_opened_and_probed() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let keys = "--set ftl.recovery=checkpoint --set drive.spare-factor=0.3 --set drive.power-loss-protection=false";
    done(
        folder,
        &format!("create a.wane --preset tiny {keys} --set time.drive-writes-per-day=1 --until drive-writes=3"),
    );
    assert_eq!(facts(folder, "a.wane")["day"], 3.0);
    done(folder, "power-cut a.wane");
    assert!(done(folder, "probe a.wane --requests 200").contains("p99.9"));
    done(folder, "create new.wane --preset tiny --empty");
    let told = done(folder, "probe new.wane --requests 1 --set workload.read-share=1");
    assert!(told.contains("1 request of") && told.contains("without data, which need no flash"), "{told}");
    std::fs::write(folder.join("long.txt"), "A\n".repeat(4096)).unwrap();
    std::fs::write(folder.join("short.txt"), "xyz").unwrap();
    done(folder, "write a.wane long.txt");
    done(folder, "write a.wane short.txt");
    done(folder, "read a.wane back.txt --length 8KiB");
    assert_eq!(std::fs::read_to_string(folder.join("back.txt")).unwrap(), "xyz\n".to_owned() + &"A\n".repeat(4094));
    for words in [
        "read a.wane a.wane/drive.json --length 8KiB --force",
        "smart a.wane --log 02h --raw a.wane/drive.json --force",
    ] {
        let (code, _, err) = drive(folder, words);
        assert!(code == 2 && err.contains("lies in a drive's folder"), "{err}");
    }
    let (code, out, _) = drive(folder, "age a.wane --until drive-writes=1000");
    assert!(code == 1 && out.starts_with("a.wane: died"), "{out}");
    let (code, _, err) = drive(folder, "probe a.wane");
    assert!(code == 2 && err.contains("takes no writes any more"), "{err}");
    done(folder, "probe a.wane --requests 50 --set workload.read-share=1");
}

#[cfg(unix)]
#[test]
fn sectors_that_wear_took_are_told_and_zeros() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("data.bin"), vec![0xab; 1 << 20]).unwrap();
    let worn = "--set drive.chip=tlc-72l-2018 --set drive.ecc.strength=4 --set drive.ecc.rereads-max=0 --set drive.initial.erase-count=90";
    done(folder, &format!("create a.wane --preset tiny {worn} --set drive.endurance=20000"));
    done(folder, "write a.wane data.bin");
    done(folder, "age a.wane --until drive-writes=3 --set workload.footprint=10%");
    done(folder, "wait a.wane --days 4000");
    let (code, out, _) = drive(folder, "read a.wane read.bin --length 1MiB --json");
    let facts: serde_json::Value = serde_json::from_str(&out).unwrap();
    let failed = facts["failed"].as_array().unwrap();
    assert_eq!(code, i32::from(!failed.is_empty()));
    let read = std::fs::read(folder.join("read.bin")).unwrap();
    let lost: u64 = failed.iter().map(|range| range["bytes"].as_u64().unwrap()).sum();
    let zeros = read.iter().filter(|byte| **byte == 0).count() as u64;
    assert!(lost > 0 && lost == zeros && read.iter().all(|byte| [0, 0xab].contains(byte)), "{lost} and {zeros}: {out}");
    // Three bytes would leave the rest of a sector as it is, and it cannot be read.
    let at = failed[0]["offset"].as_u64().unwrap();
    std::fs::write(folder.join("short.txt"), "xyz").unwrap();
    let (code, out, _) = drive(folder, &format!("write a.wane short.txt --at {at}B"));
    assert!(code == 1 && out.contains("not written          4 KiB from"), "{out}");
    let (_, again, _) = drive(folder, "read a.wane again.bin --length 1MiB --json");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&again).unwrap()["failed"], facts["failed"]);
}

#[test]
fn its_health_is_told_as_smartctl_and_log_pages_do() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    done(folder, "create a.wane --preset tiny --empty --until drive-writes=5");
    done(folder, "wait a.wane --days 30");
    let before = std::fs::read(folder.join("a.wane/drive.json")).unwrap();
    let facts = facts(folder, "a.wane");
    let told = done(folder, "smart a.wane");
    for part in [
        "a.wane: wane tiny (simulated), serial WANE",
        "test result: PASSED\n",
        "Data Units Written:                 656 [335 MB]\n",
        "Power Cycles:                       2\n",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let json: serde_json::Value = serde_json::from_str(&done(folder, "smart a.wane --json")).unwrap();
    let log = &json["nvme_smart_health_information_log"];
    assert_eq!(log["data_units_written"], facts["bytes_written"].as_u64().unwrap().div_ceil(512_000));
    assert_eq!(log["percentage_used"], (facts["life_used"].as_f64().unwrap() * 100.0).floor() as u64);
    assert_eq!(json["smartctl"]["argv"], serde_json::json!(["wane", "drive", "smart", "a.wane", "--json"]));
    assert_eq!((&json["local_time"]["time_t"], &json["power_on_time"]["hours"]), (&1_738_281_600.into(), &0.into()));
    assert_eq!(json["wane"]["record"]["flash_bytes_programmed"], facts["bytes_programmed"]);
    let page = done(folder, "smart a.wane --log C0h");
    let programmed = format!("{:<48} {}\n", "physical_media_units_written", facts["bytes_programmed"]);
    assert!(page.starts_with("Log page c0h, OCP SMART") && page.contains(&programmed), "{page}");
    let page: serde_json::Value = serde_json::from_str(&done(folder, "smart a.wane --log 09h --json")).unwrap();
    assert_eq!(page["total_endurance_group_capacity"], 64 << 20);
    assert_eq!(done(folder, "smart a.wane --log c0h --raw page.bin"), "page.bin: log page c0h of a.wane, 512 bytes\n");
    let bytes = std::fs::read(folder.join("page.bin")).unwrap();
    assert_eq!((bytes.len(), &bytes[294..311]), (512, &b"simulated by wane"[..]));
    let (code, _, err) = drive(folder, "smart a.wane --log 02h --raw page.bin");
    assert!(code == 2 && err.contains("page.bin: exists") && err.contains("--force to overwrite it"), "{code} {err}");
    assert_eq!(std::fs::read(folder.join("page.bin")).unwrap(), bytes);
    done(folder, "smart a.wane --log 02h --raw page.bin --force");
    assert_eq!(std::fs::read(folder.join("page.bin")).unwrap()[1..3], 313u16.to_le_bytes());
    assert_eq!(std::fs::read(folder.join("a.wane/drive.json")).unwrap(), before);
    done(folder, "age a.wane --until end-of-life");
    let dead: serde_json::Value = serde_json::from_str(&done(folder, "smart a.wane --json")).unwrap();
    assert_eq!((&dead["smart_status"]["passed"], &dead["smart_status"]["nvme"]["value"]), (&false.into(), &9.into()));
}

#[test]
fn a_requirement_retires_blocks_and_lasts_until_it_is_lifted() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let scenario = "[drive]\npreset = 'cvss-128g'\npages-per-block = 2\ninitial = { erase-count = 70 }\n[workload]\npattern = 'zipf'\nfootprint = 0.3\n[precondition]\nfill = 0.3\n\
                    [until]\nrequests = 1\n";
    std::fs::write(folder.join("variant.toml"), scenario).unwrap();
    done(folder, "create a.wane variant.toml --until drive-writes=3");
    let new = facts(folder, "a.wane");
    assert_eq!(new["rereads_max"], serde_json::Value::Null);
    // Blocks retire at 267 erases, and each had 70 before the drive's first.
    let (used, mean) = (new["life_used"].as_f64().unwrap(), new["erases"]["mean"].as_f64().unwrap());
    assert!(mean > 70.0 && (used - mean / 267.0).abs() < 0.01, "{used} of the wear at a mean of {mean} erases");
    let told = done(folder, "require a.wane --rereads 2");
    assert!(told.starts_with("a.wane: reads take 2 re-reads at most; "), "{told}");
    assert!(done(folder, "show a.wane").contains(" 2 re-reads of a read at most\n"));
    let retired = |facts: &serde_json::Value| facts["blocks"]["retired"].as_u64().unwrap();
    let before = retired(&facts(folder, "a.wane"));
    done(folder, "age a.wane --until drive-writes=6");
    let after = facts(folder, "a.wane");
    assert_eq!(after["rereads_max"], 2);
    assert!(retired(&after) > before, "{before} {}", retired(&after));
    let page: serde_json::Value = serde_json::from_str(&done(folder, "smart a.wane --log cah --json")).unwrap();
    assert_eq!((&page["rereads_max"], &page["blocks_retired"]), (&2.into(), &(64 * retired(&after)).into()));
    assert!(done(folder, "smart a.wane").contains("Most Re-reads of a Host Read:       2\n"));
    done(folder, "require a.wane --rereads none");
    let page = done(folder, "smart a.wane --log CAh");
    assert!(page.contains(&format!("{:<48} {}\n", "rereads_max", u32::MAX)), "{page}");
}

/// A drive that looks at its flash comes to rest with blocks that are written in part, some flash blocks of which are full.
#[test]
fn a_requirement_is_lifted_whatever_is_being_written() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    done(folder, "create a.wane --preset cvss-128g --set drive.pages-per-block=4 --until drive-writes=0.3");
    for writes in ["0.31", "0.32", "0.33", "0.34"] {
        done(folder, "require a.wane --rereads 2");
        done(folder, &format!("age a.wane --until drive-writes={writes}"));
        done(folder, "require a.wane --rereads none");
    }
}

#[test]
fn a_fast_forwarded_drive_tells_what_was_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let told = done(
        folder.path(),
        "create a.wane --preset tiny --set drive.endurance=1000 --until drive-writes=40 --fast-forward 8 --for serve",
    );
    assert!(
        told.contains("in 40.00 drive writes, 3") && told.contains(" of them predicted; write amplification"),
        "{told}"
    );
    let found = facts(folder.path(), "a.wane");
    let predicted = found["drive_writes_predicted"].as_f64().unwrap();
    assert!(predicted > 25.0 && found["drive_writes"] == 40.0, "{predicted}");
    assert!(found["history"].as_array().unwrap().last().unwrap().as_str().unwrap().contains("were predicted"));
    // The host's writes and the flash's are told as if all were done.
    let smart: serde_json::Value = serde_json::from_str(&done(folder.path(), "smart a.wane --json")).unwrap();
    let written = smart["nvme_smart_health_information_log"]["data_units_written"].as_f64().unwrap() * 512_000.0;
    let of_host = found["bytes_written"].as_f64().unwrap();
    // SMART also counts what was written before: the drive was filled, and written once more.
    assert!(written > of_host && written < 1.1 * of_host, "{written} {of_host}");
    // What it is aged by next is simulated, unless it is asked for again.
    done(folder.path(), "age a.wane --until drive-writes=42");
    assert_eq!(facts(folder.path(), "a.wane")["drive_writes_predicted"], predicted);
    let (code, _, told) = drive(folder.path(), "age a.wane --until drive-writes=50 --fast-forward 0.5");
    assert!(code == 2 && told.contains("a factor from 1 to 1000 is allowed"), "{told}");
    let (code, _, told) = drive(folder.path(), "create b.wane --preset tiny --fast-forward 8");
    assert!(code == 2 && told.contains("--until"), "{told}");
}

#[test]
fn what_is_wrong_is_one_sentence_and_the_drive_is_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    done(folder, "create a.wane --preset tiny");
    done(folder, "create endless.wane --preset tiny --set drive.endurance=none");
    std::fs::create_dir(folder.join("empty")).unwrap();
    std::fs::write(folder.join("phases.toml"), "[drive]\npreset = \"tiny\"\n").unwrap();
    let before = std::fs::read(folder.join("a.wane/drive.json")).unwrap();
    let table = [
        ("create a.wane --preset tiny", "a.wane is there already; give another name, or remove it"),
        ("create", "the following required arguments were not provided"),
        ("create x.wane", "create needs a drive, such as `wane drive create d.wane --preset tiny`"),
        (
            "create x.wane --preset tiny --set fast-forward.factor=2",
            "a drive that is kept is fast-forwarded when it is aged",
        ),
        ("create x.wane --preset tinny", "--preset: found \"tinny\""),
        ("create x.wane --preset tiny --capacity 3", "--capacity"),
        ("create x.wane --preset tiny --until days-left=1", "give time.drive-writes-per-day a number, or \"trace\""),
        ("create nowhere/x.wane --preset tiny", "nowhere/x.wane cannot be created: "),
        ("age absent.wane --until end-of-life", "absent.wane: there is no such drive"),
        ("show empty", "empty is not a drive: it has no drive.json"),
        (
            "age a.wane --until tomorrow",
            "drive-writes=NUMBER, wear=SHARE such as wear='75 %', years=NUMBER, days=NUMBER, end-of-life,",
        ),
        ("age a.wane --until drive-writes=-3", "drive-writes is a number above 0 and up to 1e9"),
        ("age a.wane --until days-left=1", "give time.drive-writes-per-day"),
        ("age a.wane --until wear=120%", "wear is above 0 and at most 1"),
        ("age endless.wane --until wear=50%", "no block of the drive ever retires (drive.endurance, ftl.retire)"),
        ("age endless.wane --until end-of-life", "age it by drive-writes"),
        ("age a.wane --until end-of-life --set workload={trace='-'}", "stdin can be read only once"),
        ("age a.wane --until end-of-life --workload zpf", "did you mean \"zipf\"?"),
        ("age a.wane --until end-of-life --workload phases.toml", "phases.toml: has no [workload] table"),
        (
            "age a.wane --until end-of-life --set drive.endurance=5",
            "drive.endurance: a drive that exists is not changed",
        ),
        ("age a.wane --until end-of-life --set workload.read-share=1", "its workload writes nothing"),
        ("smart absent.wane", "absent.wane: there is no such drive"),
        ("smart a.wane --log 05h", "02h, 09h, c0h, cah are allowed"),
        ("require a.wane --rereads 2", "no read of the drive ever needs a re-read (drive.chip, drive.ecc.strength)"),
        ("require a.wane --rereads two", "none, or 0 to 1024 are allowed"),
        ("require a.wane", "--rereads <N>"),
        ("smart a.wane --raw page.bin", "--log <PAGE>"),
        ("smart a.wane --log 02h --raw nowhere/page.bin", "nowhere/page.bin: cannot be written"),
        ("smart absent.wane --log 02h --raw nowhere/page.bin", "nowhere/page.bin: cannot be written"),
        ("smart a.wane --log 02h --raw a.wane/drive.json", "lies in a drive's folder"),
        ("wait a.wane --days 0", "a number of days above 0"),
        ("probe a.wane --set workload.arrival=trace", "needs the times of a trace"),
        ("fork a.wane endless.wane", "endless.wane is there already; give another name, or remove it"),
        ("fork absent.wane x.wane", "absent.wane: there is no such drive"),
    ];
    for (words, part) in table {
        let (code, out, err) = drive(folder, words);
        assert_eq!((code, out.as_str()), (2, ""), "{words}: {err}");
        assert!(err.contains(part) && !err.contains("internal error"), "{words}: {err}");
    }
    assert_eq!(std::fs::read(folder.join("a.wane/drive.json")).unwrap(), before);
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[cfg(unix)]
#[test]
fn aging_that_is_stopped_is_saved_and_a_second_process_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    done(folder, "create a.wane --preset ftlsim-8g --set drive.endurance=none");
    let mut child = Process::new(env!("CARGO_BIN_EXE_wane"))
        .args(["drive", "age", "a.wane", "--until", "drive-writes=1000000"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It holds the lock once it has begun.
    let refused = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (code, _, err) = drive(folder, "fork a.wane b.wane");
        if code == 0 {
            std::fs::remove_dir_all(folder.join("b.wane")).unwrap();
        }
        (code == 2).then_some(err)
    });
    let refused = refused.expect("the first process comes to have the drive open");
    let holder =
        if cfg!(target_os = "linux") { format!("process {}", child.id()) } else { "another process".to_owned() };
    assert_eq!(refused, format!("wane: a.wane is in use by {holder}; wait until that has ended\n"));
    std::thread::sleep(std::time::Duration::from_millis(500));
    Process::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(done(folder, "check a.wane").contains("its files are whole"));
}

#[test]
fn faults_on_purpose_are_told_from_others_and_blocks_leave_service() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("data.bin"), vec![0x5a; 1 << 20]).unwrap();
    done(folder, "create a.wane --preset tiny --empty --set drive.spare-factor=0.3");
    done(folder, "write a.wane data.bin --at 1MiB");
    done(folder, "age a.wane --until drive-writes=2 --trim-after");
    assert_eq!(facts(folder, "a.wane")["capacity"]["bytes_mapped"], 1 << 20, "aging alone left nothing");
    let whole = done(folder, "check a.wane --data");
    assert!(whole.ends_with("data                 1 MiB held, 1 MiB of them read as written\n"), "{whole}");
    let made = done(folder, "inject a.wane --fault medium-error --at 1MiB --length 8KiB");
    assert!(made.starts_with("a.wane: made 8 KiB from 1 MiB on unreadable\n"), "{made}");
    done(folder, "inject a.wane --fault flipped-bits --bits 2 --at 1036KiB --length 4KiB");
    let (code, out, _) = drive(folder, "check a.wane --data");
    assert!(code == 1 && out.contains("1012 KiB of them read as written\n"), "{out}");
    assert!(out.contains("8 KiB unreadable on purpose: 8 KiB from 1 MiB on\n"), "{out}");
    assert!(out.contains("4 KiB flipped on purpose: 4 KiB from 1036 KiB on\n"), "{out}");
    let (_, out, _) = drive(folder, "check a.wane --data --json");
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["data"]["injected_flips"][0]["offset"], 1036 << 10);
    assert_eq!((&told["is_sound"], &told["data"]["unexplained"]), (&true.into(), &serde_json::json!([])));
    let (code, out, _) = drive(folder, "read a.wane read.bin --at 1MiB --length 1MiB");
    assert!(code == 1 && out.contains("medium error         8 KiB from 1 MiB on\n"), "{out}");
    let read = std::fs::read(folder.join("read.bin")).unwrap();
    let flipped: u32 = read[8 << 10..].iter().map(|byte| (byte ^ 0x5a).count_ones()).sum();
    assert!(flipped == 2 && read[..8 << 10].iter().all(|byte| *byte == 0));
    done(folder, "write a.wane data.bin --at 1MiB");
    done(folder, "check a.wane --data");
    let free = facts(folder, "a.wane")["blocks"]["retired"].as_u64().unwrap();
    assert!(done(folder, "retire a.wane --blocks 3").starts_with("a.wane: retired 3 blocks: "));
    assert!(done(folder, "retire a.wane --block 7").starts_with("a.wane: retired block 7\n"));
    assert_eq!(facts(folder, "a.wane")["blocks"]["retired"].as_u64(), Some(free + 4));
    done(folder, "check a.wane --data");
    let before = std::fs::read(folder.join("a.wane/drive.json")).unwrap();
    done(
        folder,
        "create small.wane --preset tiny --set ftl.capacity.policy=variant --set ftl.capacity.shrink=graceful",
    );
    let table = [
        ("retire a.wane --block 7", "block 7 is out of service already"),
        ("retire a.wane --block 9 --block 9", "block 9 is out of service already"),
        ("retire a.wane --block 70000", "there is no block 70000"),
        ("inject a.wane --fault medium-error --at 40MiB --length 4KiB", "no data are stored there"),
        (
            "inject a.wane --fault medium-error --at 1KiB --length 4KiB",
            "is no multiple of the drive's mapping units of 4 KiB",
        ),
        ("inject small.wane --fault medium-error --length 4KiB", "its file system decides where its data lie"),
        ("retire a.wane --blocks 0", "0"),
        (
            "inject a.wane --fault medium-error --at 1MiB --length 4KiB --bits 2",
            "--bits: is allowed only with --fault flipped-bits",
        ),
        ("inject a.wane --fault medium-error --at 1MiB --length 0B", "--length 0 B: 4 KiB or more are allowed"),
        ("inject a.wane --fault flood --length 4KiB", "flood"),
    ];
    for (words, part) in table {
        let (code, out, err) = drive(folder, words);
        assert!(code == 2 && out.is_empty() && err.contains(part), "{words}: {err}");
    }
    assert_eq!(std::fs::read(folder.join("a.wane/drive.json")).unwrap(), before, "what is refused changes nothing");
    let (code, out, _) = drive(folder, "retire a.wane --blocks 2000");
    assert!(code == 1 && out.contains(" of 2000 that were asked for, and died (spare-exhausted)\n"), "{out}");
    assert_eq!(drive(folder, "retire a.wane").0, 2);
    done(folder, "retire small.wane --blocks 40 --worn least");
    let small = facts(folder, "small.wane");
    assert!(small["capacity"]["bytes_exported"].as_u64() < small["capacity"]["bytes_initial"].as_u64(), "{small}");
}

/// A drive that may shrink keeps its addresses: its host's map knows where data lie, and refuses what finds no room.
#[test]
fn data_stay_at_their_addresses_on_a_drive_that_shrinks() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("data"), vec![0x5a; 64 << 10]).unwrap();
    std::fs::write(folder.join("much"), vec![1; 62 << 20]).unwrap();
    done(
        folder,
        "create v.wane --preset tiny --empty --set ftl.recovery=checkpoint --set ftl.capacity.policy=variant \
         --set ftl.capacity.shrink=graceful",
    );
    done(folder, "write v.wane data --at 63MiB");
    done(folder, "retire v.wane --blocks 60 --worn least");
    let exported = facts(folder, "v.wane")["capacity"]["bytes_exported"].as_u64().unwrap();
    assert!(exported < 63 << 20, "{exported}");
    done(folder, "power-cut v.wane");
    done(folder, "read v.wane back --at 63MiB --length 64KiB");
    assert_eq!(std::fs::read(folder.join("back")).unwrap(), std::fs::read(folder.join("data")).unwrap());
    // What finds no room is refused, and nothing else.
    let (code, out, _) = drive(folder, "write v.wane much");
    assert!(code == 1 && out.contains("cause                the drive is full"), "{out}");
    done(folder, "trim v.wane --at 0B --length 32MiB");
    done(folder, "write v.wane data --at 40MiB");
    done(folder, "read v.wane again --at 63MiB --length 64KiB");
    assert_eq!(std::fs::read(folder.join("again")).unwrap(), std::fs::read(folder.join("data")).unwrap());
    done(folder, "check v.wane --data");
    done(folder, "age v.wane --until drive-writes=1 --trim-after");
}

#[test]
fn what_a_command_did_is_durable_without_a_capacitor() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("data.bin"), vec![0x5a; 64 << 10]).unwrap();
    for recovery in ["full-scan", "checkpoint"] {
        let keys = format!(
            "--set ftl.recovery={recovery} --set drive.spare-factor=0.3 --set drive.power-loss-protection=false"
        );
        let name = format!("{recovery}.wane");
        done(folder, &format!("create {name} --preset tiny --empty {keys}"));
        done(folder, &format!("write {name} data.bin --at 8MiB"));
        done(folder, &format!("trim {name} --at 8MiB --length 4KiB"));
        done(folder, &format!("inject {name} --fault medium-error --at 8196KiB --length 4KiB"));
        done(folder, &format!("power-cut {name}"));
        done(folder, &format!("age {name} --until drive-writes=0.2 --trim-after --set workload.footprint=5%"));
        done(folder, &format!("power-cut {name}"));
        let (code, out, _) = drive(folder, &format!("check {name} --data"));
        assert_eq!(code, 1);
        assert!(out.contains("60 KiB held, 56 KiB of them read as written\n"), "{recovery}: {out}");
        assert!(out.contains("4 KiB unreadable on purpose: 4 KiB from 8196 KiB on\n"), "{recovery}: {out}");
    }
}

#[test]
fn bits_are_flipped_once_and_relatives_keep_apart() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("data.bin"), vec![0x5a; 8 << 10]).unwrap();
    done(folder, "create a.wane --preset tiny");
    done(folder, "write a.wane data.bin");
    for _ in 0..2 {
        done(folder, "inject a.wane --fault flipped-bits --bits 3 --length 8KiB");
    }
    done(folder, "read a.wane read.bin --length 8KiB");
    let read = std::fs::read(folder.join("read.bin")).unwrap();
    let flipped = |bytes: &[u8]| bytes.iter().map(|byte| (byte ^ 0x5a).count_ones()).sum::<u32>();
    assert_eq!((flipped(&read[..4096]), flipped(&read[4096..])), (6, 6));
    // Forks number their saves the same way, but their files differ.
    done(folder, "fork a.wane b.wane");
    std::fs::write(folder.join("other.bin"), vec![0x77; 8 << 10]).unwrap();
    for (name, file) in [("a", "data"), ("b", "other")] {
        done(folder, &format!("write {name}.wane {file}.bin --at 1MiB"));
        // Aging saves it; a write alone is in its journal.
        done(folder, &format!("age {name}.wane --until drive-writes=0.1"));
    }
    let state = |name: &str| {
        let manifest = std::fs::read(folder.join(format!("{name}.wane/drive.json"))).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        folder.join(format!("{name}.wane")).join(manifest["stored"]["file"].as_str().unwrap())
    };
    std::fs::copy(state("a"), state("b")).unwrap();
    for words in ["show b.wane", "check b.wane --data", "fork b.wane c.wane"] {
        let (code, _, err) = drive(folder, words);
        assert!(code == 2 && err.contains("is the state of another drive, or of another time"), "{words}: {err}");
    }
    done(folder, "check a.wane");
}

/// Runs `wane drive` with these words as a user other than root, for whom no file is read-only. Fails if the system does not allow that.
#[cfg(unix)]
fn looked_at_by_another(folder: &Path, words: &str) -> std::io::Result<(i32, String)> {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let is_root = Process::new("id").arg("-u").output()?.stdout == b"0\n";
    let mut command = Process::new(env!("CARGO_BIN_EXE_wane"));
    command.arg("drive").args(words.split_whitespace()).current_dir(folder);
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output()?;
    Ok((output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap()))
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_file_and_a_drive_may_be_looked_at_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    done(folder, "create a.wane --preset tiny");
    assert!(Process::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    let (code, _, err) = drive(folder, "write a.wane pipe");
    assert!(code == 2 && err.contains("pipe: only a plain file's bytes can be written"), "{err}");
    let permit = |mode| {
        std::fs::set_permissions(folder.join("a.wane/lock"), std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::set_permissions(folder.join("a.wane"), std::fs::Permissions::from_mode(mode | 0o111)).unwrap();
    };
    permit(0o444);
    for words in ["show a.wane", "check a.wane", "smart a.wane", "age a.wane --until drive-writes=1"] {
        match looked_at_by_another(folder, words) {
            Ok((code, err)) if words.starts_with("age") => assert!(code == 2 && err.contains("a.wane"), "{code} {err}"),
            Ok((code, err)) => assert_eq!(code, 0, "{words}: {err}"),
            Err(error) => println!("skipped: {words} as another user: {error}"),
        }
    }
    permit(0o644);
}

/// A drive is out of its array while the array ages and is saved whole. Its flash is found as it was left.
#[test]
fn a_drive_that_was_out_while_its_array_aged_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, set) in [
        ("m.wane", "--set array.layout=mirror"),
        ("r.wane", "--set array.layout=raid --set array.member=[{count=4}]"),
        ("f.wane", "--set array.layout=mirror --set ftl.recovery=full-scan"),
    ] {
        done(folder, &format!("create {name} --preset tiny {set} --for serve --quiet"));
        done(folder, &format!("take-out {name}/1"));
        done(folder, &format!("age {name} --until drive-writes=0.5 --quiet"));
        done(folder, &format!("put-back {name}/1"));
        assert!(done(folder, &format!("status {name}")).contains("whole"), "{name}");
        done(folder, &format!("check {name} --data"));
        done(folder, &format!("age {name} --until drive-writes=1 --quiet"));
    }
}

/// A mirror is made, aged, written and cut as a drive is; a path names one of its drives.
#[test]
fn a_mirror_is_kept_as_a_drive_is_and_its_drives_come_and_go() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("data"), vec![7; 70_000]).unwrap();
    done(folder, "create m.wane --preset tiny --set array.layout=mirror --for serve --until drive-writes=2");
    done(folder, "write m.wane data --at 64KiB");
    done(folder, "take-out m.wane/1");
    done(folder, "write m.wane data --at 4MiB");
    let states = |facts: &serde_json::Value| -> Vec<(String, u64)> {
        let of = |drive: &serde_json::Value| {
            (drive["state"].as_str().unwrap().to_owned(), drive["stale_bytes"].as_u64().unwrap())
        };
        facts["members"].as_array().unwrap().iter().map(of).collect()
    };
    assert_eq!(states(&facts(folder, "m.wane")), [("online".to_owned(), 0), ("absent".to_owned(), 73_728)]);
    // What a drive has alone is not given away.
    let (code, _, err) = drive(folder, "take-out m.wane/0");
    assert_eq!(code, 2);
    assert!(err.contains("m.wane/0: drive 0 has the only copy of 64 MiB, which would be lost; --force"), "{err}");
    let back = done(folder, "put-back m.wane/1");
    assert!(back.starts_with("m.wane/1: put drive 1 back, and copied 72 KiB to it\n"), "{back}");
    done(folder, "power-cut m.wane");
    done(folder, "replace m.wane/0");
    let shown = facts(folder, "m.wane");
    assert_eq!(states(&shown), [("online".to_owned(), 0), ("online".to_owned(), 0)]);
    assert_eq!((&shown["members"][0]["new"], &shown["members"][1]["new"]), (&1.into(), &0.into()));
    assert!(shown["life_used"].as_f64() > Some(0.05) && shown["members"][0]["life_used"].as_f64() < Some(0.05));
    done(folder, "take-out m.wane/1");
    done(folder, "read m.wane read --at 4MiB --length 68KiB");
    let read = std::fs::read(folder.join("read")).unwrap();
    assert!(read[..69_632].iter().all(|byte| *byte == 7), "the new drive has what the old one had");
    done(folder, "put-back m.wane/1");
    done(folder, "fork m.wane k.wane");
    // What a scrub finds is repaired from the other copy.
    done(folder, "inject k.wane/1 --at 64KiB --length 16KiB --fault medium-error");
    let scrubbed = done(folder, "scrub k.wane");
    assert!(scrubbed.starts_with("k.wane: scrubbed 64 MiB: 16 KiB repaired from another copy\n"), "{scrubbed}");
    assert!(done(folder, "check k.wane --data").contains("128 MiB held, 128 MiB of them read as written"));
    assert!(done(folder, "show k.wane/1").starts_with("drive                drive 1 (tiny), day 0.0\n"));
    let health = |name: &str| done(folder, &format!("smart {name}")).lines().next().unwrap().to_owned();
    assert_ne!(health("k.wane/0").split("serial").nth(1), health("k.wane/1").split("serial").nth(1));
    assert!(done(folder, "list .").contains("mirror of 2"));
    let end = done(folder, "age k.wane --until end-of-life");
    assert!(end.starts_with("k.wane: died (spare-exhausted)\n") && end.contains("read-only"), "{end}");
}

/// Four small drives with a parity.
const RAID_OF_FOUR: &str = "--preset tiny --set drive.logical-capacity=16MiB --set ftl.recovery=checkpoint \
                            --set array.layout=raid --set array.chunk=16KiB --set array.member=[{count=4}]";

/// A folder with such an array, aged, as `r.wane`, and 70,000 bytes of sevens as `data`.
fn raid_of_four() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("data"), vec![7; 70_000]).unwrap();
    done(place.path(), &format!("create r.wane {RAID_OF_FOUR} --for serve --until drive-writes=2"));
    place
}

/// An array with parities goes on without a drive, tells what to do, and is whole again.
#[test]
fn an_array_with_parities_tells_its_condition_and_is_tended() {
    let place = raid_of_four();
    let folder = place.path();
    done(folder, "write r.wane data --at 64KiB");
    let told = |words: &str| {
        let (code, out, err) = drive(folder, words);
        (code, out + &err)
    };
    let whole = "r.wane: whole: every drive has all that it should, any one drive may be lost\n";
    assert_eq!(told("status r.wane"), (0, whole.to_owned()));
    done(folder, "take-out r.wane/1");
    done(folder, "write r.wane data --at 1MiB");
    let out = "r.wane: degraded: drive 1 is out (put-back 1, or replace 1); and no drive more may be lost\n";
    assert_eq!(told("status r.wane"), (1, out.to_owned()));
    let (code, refused) = told("take-out r.wane/2");
    assert!(code == 2 && refused.contains("r.wane/2: without drive 2, ") && refused.contains("--force"), "{refused}");
    done(folder, "read r.wane read --at 1MiB --length 68KiB");
    let read = std::fs::read(folder.join("read")).unwrap();
    assert!(read[..69_632].iter().all(|byte| *byte == 7), "what the drive has is made of the others");
    done(folder, "fork r.wane f.wane");
    done(folder, "take-out f.wane/2 --force");
    let (code, failed) = told("status f.wane");
    assert!(code == 2 && failed.contains("cannot be read, too many drives are out (1, 2); put back"), "{failed}");
    let (code, refused) = told("replace f.wane/1");
    assert!(
        code == 2 && refused.contains("drive 1 is out, and ") && refused.contains("put-back 1, or --force"),
        "{refused}"
    );
    let back = done(folder, "put-back r.wane/1");
    assert!(back.starts_with("r.wane/1: put drive 1 back, and copied "), "{back}");
    done(folder, "power-cut r.wane");
    assert_eq!(told("status r.wane"), (0, whole.to_owned()));
    let new = done(folder, "replace r.wane/2");
    assert!(new.starts_with("r.wane/2: put a new drive in the place of drive 2, and copied "), "{new}");
    done(folder, "inject r.wane/0 --at 5MiB --length 16KiB --fault medium-error");
    let scrubbed = done(folder, "scrub r.wane");
    assert!(scrubbed.contains(": 16 KiB made again of the other drives\n"), "{scrubbed}");
    done(folder, "check r.wane --data");
    let shown = done(folder, "show r.wane");
    assert!(shown.contains("raid of 4 drives") && shown.contains("whole: every drive has all"), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&done(folder, "status r.wane --json")).unwrap();
    assert_eq!((&json["condition"], &json["spare_losses"]), (&"whole".into(), &1.into()));
    let end = done(folder, "age r.wane --until drive-writes=3");
    assert!(end.starts_with("r.wane: aged"), "{end}");
    // What is no array, or cannot be asked, gives no answer.
    done(folder, "create d.wane --preset tiny");
    for (words, why) in [
        ("status d.wane", "d.wane: is one drive and no array"),
        ("status r.wane/0", "r.wane/0: is a drive of an array, which is asked how safe its data are as a whole"),
        ("status none.wane", "none.wane"),
    ] {
        let (code, refused) = told(words);
        assert!(code == 4 && refused.contains(why) && refused.lines().count() == 1, "{words}: {code} {refused}");
    }
}

/// What drives lost for good is told once it is found; what they only return wrong is corrected, and a cut costs nothing at rest.
#[test]
fn an_array_tells_what_is_lost_and_corrects_what_is_not() {
    let place = raid_of_four();
    let folder = place.path();
    let told = |words: &str| {
        let (code, out, err) = drive(folder, words);
        (code, out + &err)
    };
    // What two drives lost in one stripe is lost, and told once it is found.
    done(folder, "fork r.wane g.wane");
    done(folder, "inject g.wane/0 --at 5MiB --length 16KiB --fault medium-error");
    done(folder, "inject g.wane/1 --at 5MiB --length 16KiB --fault medium-error");
    assert_eq!(told("scrub g.wane").0, 1);
    let (code, lost) = told("status g.wane");
    assert!(code == 2 && lost.contains("16 KiB cannot be read, which drives lost and no other has"), "{lost}");
    // Without a journal, a cut costs nothing where nothing was being changed.
    done(folder, &format!("create n.wane {RAID_OF_FOUR} --set array.journal=none --empty"));
    done(folder, "write n.wane data --at 0B");
    done(folder, "take-out n.wane/0");
    done(folder, "write n.wane data --at 1MiB");
    done(folder, "power-cut n.wane");
    let (code, after) = told("status n.wane");
    assert!(code == 1 && after.contains("degraded: drive 0 is out"), "{after}");
    // A flipped bit is written over with all of its unit.
    done(folder, "inject r.wane/2 --at 5MiB --length 64KiB --fault flipped-bits");
    let scrubbed = done(folder, "scrub r.wane");
    assert!(scrubbed.contains("did not fit"), "{scrubbed}");
    let again = done(folder, "scrub r.wane");
    assert!(!again.contains("did not fit"), "{again}");
}

/// The power and drives go in one instant: what was kept is there, and what is done to the array afterwards is replayed.
#[test]
fn the_power_and_drives_of_an_array_go_in_one_instant() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("data"), vec![7; 70_000]).unwrap();
    let told = |words: &str| {
        let (code, out, err) = drive(folder, words);
        (code, out + &err)
    };
    for journal in ["none", "ppl", "full"] {
        let name = format!("{journal}.wane");
        done(folder, &format!("create {name} {RAID_OF_FOUR} --for serve --set array.journal={journal} --empty"));
        done(folder, &format!("write {name} data --at 64KiB"));
        let cut = done(folder, &format!("power-cut {name} --take-out 2"));
        assert!(
            cut.starts_with(&format!("{name}: lost its power and drive 2 in one instant, and came back\n")),
            "{cut}"
        );
        let out = "degraded: drive 2 is out (put-back 2, or replace 2); and no drive more may be lost\n";
        assert_eq!(told(&format!("status {name}")), (1, format!("{name}: {out}")));
        done(folder, &format!("read {name} read-{journal} --at 64KiB --length 68KiB"));
        assert!(
            std::fs::read(folder.join(format!("read-{journal}"))).unwrap()[..69_632].iter().all(|byte| *byte == 7),
            "{journal}"
        );
        let (code, refused) = told(&format!("power-cut {name} --take-out 0"));
        assert!(code == 2 && refused.contains("members of generation") && refused.lines().count() == 1, "{refused}");
        done(folder, &format!("put-back {name}/2"));
        let (code, whole) = told(&format!("status {name}"));
        assert!(code == 0 && whole.contains("any one drive may be lost"), "{whole}");
    }
    let facts: serde_json::Value =
        serde_json::from_str(&done(folder, "power-cut full.wane --take-out 3 --json")).unwrap();
    assert_eq!(facts["taken_out"], serde_json::json!([3]));
    done(folder, "create s.wane --preset tiny --set array.layout=stripe --set ftl.recovery=checkpoint");
    done(folder, "create d.wane --preset tiny --set ftl.recovery=checkpoint");
    for (words, why) in [
        ("power-cut full.wane --take-out 3", "full.wane: drive 3 of the array is out already"),
        ("power-cut none.wane --take-out 1,1", "none.wane: drive 1 of the array is out already"),
        ("power-cut none.wane --take-out 4", "none.wane: the array has no drive 4; its drives are 0 to 3"),
        ("power-cut s.wane --take-out 0", "s.wane: the array is no mirror"),
        ("power-cut d.wane --take-out 0", "d.wane: is one drive and no array"),
    ] {
        let (code, refused) = told(words);
        assert!(code == 2 && refused.contains(why) && refused.lines().count() == 1, "{words}: {code} {refused}");
    }
}

/// What is done to the whole is not done to a drive of it, and the other way round.
#[test]
fn what_an_array_or_a_drive_of_it_does_not_do_is_refused_in_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    done(folder, "create m.wane --preset tiny --set array.layout=mirror --set ftl.recovery=checkpoint");
    done(folder, "create s.wane --preset tiny --set array.layout=stripe");
    done(folder, "create d.wane --preset tiny");
    std::fs::write(folder.join("data"), vec![7; 4096]).unwrap();
    let whole = "is a drive of an array, which is";
    let alone = "is an array, and a drive alone is";
    for (words, wanted) in [
        ("age m.wane/1 --until end-of-life", format!("m.wane/1: {whole} aged as a whole; leave out its number")),
        ("write m.wane/0 data", format!("m.wane/0: {whole} read and written as a whole")),
        ("power-cut m.wane/0", format!("m.wane/0: {whole} cut off from power as a whole")),
        ("wait m.wane/0 --days 3", format!("m.wane/0: {whole} left without power as a whole")),
        ("fork m.wane/0 x.wane", format!("m.wane/0: {whole} forked as a whole")),
        (
            "smart m.wane",
            format!("m.wane: {alone} asked for its health; name one by its number behind the folder, the first by /0"),
        ),
        ("retire m.wane", format!("m.wane: {alone} made to retire blocks")),
        ("inject m.wane --at 0B --fault medium-error", format!("m.wane: {alone} damaged")),
        ("take-out m.wane", format!("m.wane: {alone} taken out, put back or replaced")),
        ("show m.wane/2", "m.wane: the array has no drive 2; its drives are 0 to 1".to_owned()),
        ("put-back m.wane/2", "m.wane: the array has no drive 2; its drives are 0 to 1".to_owned()),
        ("put-back m.wane/1", "m.wane/1: drive 1 of the array is there".to_owned()),
        ("take-out s.wane/1", "s.wane/1: the array is no mirror".to_owned()),
        ("scrub s.wane", "s.wane: the array is no mirror".to_owned()),
        ("scrub d.wane", "d.wane: is one drive and no array".to_owned()),
        ("show d.wane/0", "d.wane: is one drive and no array".to_owned()),
        ("create m.wane/2 --preset tiny", "m.wane/2: lies in the drive's own folder".to_owned()),
    ] {
        let (code, out, err) = drive(folder, words);
        assert!(code == 2 && err.contains(&wanted) && err.lines().count() == 1, "{words}: {code} {out}{err}");
    }
    // A drive that is out is not looked at, and nothing is asked of it.
    done(folder, "take-out m.wane/0");
    for words in ["show m.wane/0", "smart m.wane/0", "probe m.wane/0"] {
        let (code, _, err) = drive(folder, words);
        assert!(
            code == 2 && err.contains("drive 0 of the array is out: it was taken out, or did not come back"),
            "{words}: {err}"
        );
    }
    assert!(done(folder, "show m.wane").contains("absent"));
    done(folder, "age m.wane --until drive-writes=1");
    done(folder, "check m.wane --data");
}

/// Whatever is left of an array, every command answers, and nothing is done in spite of a refusal.
#[test]
fn an_array_whose_drives_died_or_are_out_answers_every_command() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::write(folder.join("data"), vec![7; 1 << 20]).unwrap();
    let gone = "--set array.at-end-of-life=gone --set drive.endurance=20";
    done(folder, &format!("create g.wane --preset tiny --set array.layout=mirror {gone}"));
    let end = done(folder, "age g.wane --until end-of-life");
    assert!(end.starts_with("g.wane: died (spare-exhausted)\n") && end.contains("all drives are out; dead"), "{end}");
    assert_eq!(facts(folder, "g.wane")["is_dead"], true);
    assert_eq!(drive(folder, "read g.wane lost").0, 1);
    done(folder, "create b.wane --preset tiny --set array.layout=mirror --for serve");
    done(folder, "write b.wane data");
    done(folder, "take-out b.wane/1");
    assert_eq!(drive(folder, "take-out b.wane/0").0, 2);
    done(folder, "take-out b.wane/0 --force");
    for (words, code) in [
        ("show b.wane", 0),
        ("write b.wane data", 1),
        ("read b.wane none", 1),
        ("trim b.wane --at 0B --length 1MiB", 1),
        ("check b.wane --data", 1),
        ("check b.wane", 0),
        ("age b.wane --until drive-writes=1", 2),
        ("power-cut b.wane", 2),
        ("show b.wane/0", 2),
        ("list .", 0),
    ] {
        let (found, out, err) = drive(folder, words);
        assert_eq!(found, code, "{words}: {out}{err}");
    }
    for back in ["put-back b.wane/1", "put-back b.wane/0"] {
        done(folder, back);
    }
    done(folder, "read b.wane data-again --length 1MiB");
    assert_eq!(std::fs::read(folder.join("data-again")).unwrap(), vec![7; 1 << 20]);
    // What only the drive that goes can read is saved first; what no copy has is told.
    done(folder, "inject b.wane/0 --fault medium-error --at 0B --length 4KiB");
    done(folder, "replace b.wane/1");
    done(folder, "read b.wane saved --length 1MiB");
    assert_eq!(std::fs::read(folder.join("saved")).unwrap(), vec![7; 1 << 20]);
    for number in [0, 1] {
        done(folder, &format!("inject b.wane/{number} --fault medium-error --at 64KiB --length 8KiB"));
    }
    let (code, out, _) = drive(folder, "scrub b.wane");
    assert!(code == 1 && out.contains("8 KiB could be read from no copy"), "{out}");
    let (code, out, _) = drive(folder, "check b.wane --data");
    assert!(code == 1 && out.contains("array                8 KiB cannot be read"), "{out}");
}
