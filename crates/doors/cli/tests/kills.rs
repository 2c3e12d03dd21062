//! Readers and writers of a kept drive that are killed at once.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A `wane drive` command on its way.
fn begun(folder: &Path, words: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    let quiet = command.arg("drive").args(words.split_whitespace()).current_dir(folder).stdout(Stdio::null());
    quiet.stderr(Stdio::null()).spawn().unwrap()
}

/// Waits for a command that nobody kills. A killed one may still hold the drive for a moment.
fn done(folder: &Path, words: &str) {
    let is_done = || begun(folder, words).wait().unwrap().success();
    let tried = (0..200).any(|_| {
        is_done() || {
            std::thread::sleep(Duration::from_millis(50));
            false
        }
    });
    assert!(tried, "{words} fails");
}

/// The first 8 KiB of the drive, which are one byte again and again.
fn held(folder: &Path) -> u8 {
    done(folder, "read a.wane seen --at 0B --length 8KiB --force");
    let bytes = fs::read(folder.join("seen")).unwrap();
    assert!(bytes.len() == 8192 && bytes.iter().all(|byte| *byte == bytes[0]), "no write is seen in part");
    bytes[0]
}

#[test]
fn readers_and_writers_that_are_killed_at_once_leave_the_one_write_or_the_other() {
    const ROUNDS: u8 = 16;
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    done(folder, "create a.wane --preset tiny --until drive-writes=1");
    let write = |content: u8| {
        fs::write(folder.join("content"), vec![content; 8192]).unwrap();
        "write a.wane content --at 0B"
    };
    done(folder, write(100));
    let mut before = 100;
    for round in 0..ROUNDS {
        let mut writer = begun(folder, write(round));
        let words = ["show a.wane", "smart a.wane", "read a.wane out --at 0B --length 8KiB --force"];
        let mut readers = words.map(|words| begun(folder, words));
        // The last rounds are late enough for a write to end, where the machine is not busy.
        std::thread::sleep(Duration::from_millis(12) * u32::from(round));
        if round % 2 == 0 {
            readers.iter_mut().for_each(|reader| reader.kill().unwrap());
        }
        writer.kill().unwrap();
        let is_written = writer.wait().unwrap().success();
        readers.iter_mut().for_each(|reader| {
            let _ = reader.kill();
            reader.wait().unwrap();
        });
        done(folder, "check a.wane --data");
        let now = held(folder);
        assert!(now == round || now == before && !is_written, "round {round}: {now} after {before}, {is_written}");
        before = now;
    }
    done(folder, write(101));
    assert_eq!(held(folder), 101);
    let files = fs::read_dir(folder.join("a.wane")).unwrap().map(|entry| entry.unwrap().file_name());
    let parts: Vec<_> = files.filter(|name| name.to_string_lossy().ends_with(".part")).collect();
    assert!(parts.is_empty(), "the next command takes away what killed writers leave: {parts:?}");
}

/// A sweep of whole stacks, small: a file system on a RAID-5 of old drives, with probes, two codes and two seeds.
const STACKS: &str = "run stack.toml --sweep array.code=xor,pq --seeds 2 --quiet --set until.drive-writes=0.3 --set probe.at-drive-writes=[0,0.1,0.2] \
                      --set probe.until.requests=400";

/// The files of a sweep's folder with what does not depend on the clock on the wall.
fn results(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if entry.is_dir() {
                folders.push(entry);
            } else if name.ends_with("summary.json") {
                let mut summary: serde_json::Value = serde_json::from_slice(&fs::read(entry).unwrap()).unwrap();
                summary.as_object_mut().unwrap().remove("run");
                all.push((name, summary.to_string()));
            } else if ["csv", "json", "toml"].iter().any(|kind| name.ends_with(kind))
                && !name.ends_with("manifest.json")
            {
                all.push((name, fs::read_to_string(entry).unwrap()));
            }
        }
    }
    all.sort();
    all
}

/// Runs of a sweep that are written.
fn summaries(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .map(|entry| entry.unwrap().path())
        // Drives of an array have their own.
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("drive-")))
        .map(|path| if path.is_dir() { summaries(&path) } else { usize::from(path.ends_with("summary.json")) })
        .sum()
}

#[test]
fn a_sweep_of_stacks_that_is_killed_goes_on_and_ends_as_one_that_is_not() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/scenarios/stack.toml");
    fs::copy(scenario, folder.join("stack.toml")).unwrap();
    let sweep = |out: &str| {
        let words = STACKS.split_whitespace().chain(["--out", out]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
        command.args(words).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    assert!(sweep("whole").wait().unwrap().success());
    for finished in 0..3 {
        let mut child = sweep("killed");
        // It is killed once N runs are written, while others still run.
        for _ in 0..6000 {
            if summaries(&folder.join("killed")) >= finished || child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "it is killed before its end");
    }
    assert!(sweep("killed").wait().unwrap().success());
    let (whole, killed) = (results(&folder.join("whole")), results(&folder.join("killed")));
    assert!(whole.len() > 4 * 10, "{} files", whole.len());
    for (one, other) in whole.iter().zip(&killed) {
        assert_eq!(one, other);
    }
    assert_eq!(whole.len(), killed.len());
}
