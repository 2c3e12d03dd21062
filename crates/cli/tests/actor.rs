//! Drives as processes: what a kill in the midst of a put leaves, and what the command says.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// How often, and with which pauses, tests look at what drives do on their own.
const LOOKS: usize = 600;
const PAUSE: Duration = Duration::from_millis(50);

struct Drive {
    process: Child,
    address: String,
    id: String,
}

/// Drives in folders below one, ended by their ids when the test ends.
struct Drives {
    root: TempDir,
    served: Vec<Option<Drive>>,
}

impl Drives {
    fn new(count: usize) -> Self {
        let mut drives = Self { root: tempfile::tempdir().unwrap(), served: Vec::new() };
        for number in 0..count {
            drives.served.push(None);
            drives.start(number);
        }
        drives
    }

    fn folder(&self, number: usize) -> PathBuf {
        self.root.path().join(format!("d{number}"))
    }

    fn start(&mut self, number: usize) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
        command.args(["actor", "serve", "--json", "--upkeep", "1"]).arg(self.folder(number));
        if let Some(other) = self.served.iter().flatten().next() {
            command.args(["--join", &other.address]);
        }
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let status: Value = serde_json::from_str(&first).unwrap();
        let text = |key: &str| status[key].as_str().unwrap().to_owned();
        self.served[number] = Some(Drive { process, address: text("address"), id: text("id") });
    }

    /// SIGKILL: nothing is ended in order.
    fn kill(&mut self, number: usize) {
        let mut drive = self.served[number].take().unwrap();
        drive.process.kill().unwrap();
        drive.process.wait().unwrap();
    }

    fn at(&self) -> String {
        self.served.iter().flatten().map(|drive| drive.address.clone()).collect::<Vec<String>>().join(",")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
        command.arg("actor").args(arguments).env("WANE_ACTOR_AT", self.at()).current_dir(self.root.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).unwrap()
    }

    fn number(&self, id: &str) -> Option<usize> {
        self.served.iter().position(|drive| drive.as_ref().is_some_and(|drive| drive.id == id))
    }
}

impl Drop for Drives {
    fn drop(&mut self) {
        for drive in self.served.iter_mut().flatten() {
            let _ = drive.process.kill();
            let _ = drive.process.wait();
        }
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

fn files_below(folder: &Path) -> usize {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|part| std::fs::read_dir(part.unwrap().path()).map_or(0, Iterator::count))
        .sum()
}

#[test]
fn a_kill_in_the_midst_of_a_put_loses_nothing_that_was_acknowledged() {
    let mut drives = Drives::new(6);
    let before = bytes(300_000);
    std::fs::write(drives.root.path().join("before"), &before).unwrap();
    for number in 0..8 {
        drives.done(&["put", "before", "--name", &format!("before {number}"), "--code", "4+2", "--cell", "16 KiB"]);
    }
    let placed: Value =
        serde_json::from_str(&drives.done(&["put", "before", "--name", "now", "--code", "4+2", "--json"])).unwrap();
    // Drives of data and of parity, killed while the put under way has moved some of its stripes.
    for (round, share) in [0, 5, 2].into_iter().enumerate() {
        let victim = drives.number(placed["drives"][share].as_str().unwrap()).unwrap();
        let quorum: &[&str] = if round == 1 { &["--quorum", "5"] } else { &[] };
        let mut command =
            drives.command(&[&["put", "-", "--name", "now", "--code", "4+2", "--cell", "4 KiB"], quorum].concat());
        let mut put = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = put.stdin.take().unwrap();
        let after = bytes(400_000);
        input.write_all(&after[..200_000]).unwrap();
        // The pipe holds less than was written: some stripes are coded already.
        drives.kill(victim);
        let _ = input.write_all(&after[200_000..]);
        drop(input);
        let ended = put.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.success(), round == 1, "{told}");
        if round != 1 {
            assert!(told.contains("object now was not put: 5 of its 6 drives answer, and 6 are needed"), "{told}");
        }
        for name in (0..8).map(|number| format!("before {number}")).chain(["now".to_owned()]) {
            let read = drives.run(&["get", &name, "--out", "-"]).stdout;
            // An object that is put again is the old one until the put is acknowledged.
            assert!(
                read == if name == "now" && round >= 1 { &after[..] } else { &before[..] },
                "round {round}: {name}"
            );
        }
        drives.start(victim);
        assert_eq!(
            std::fs::read_dir(drives.folder(victim).join("staging")).unwrap().count(),
            0,
            "nothing half is left"
        );
        if round == 1 {
            let wait = |_| {
                files_below(&drives.folder(victim).join("shares")) == 9 || {
                    std::thread::sleep(PAUSE);
                    false
                }
            };
            assert!((0..LOOKS).any(wait), "the share that the quorum did without is made");
        }
    }
    // The others may not have heard yet where the last one is back: a scrub then says what it could not repair.
    let mut told = drives.run(&["scrub", "--json"]);
    for _ in 0..LOOKS {
        if told.status.success() {
            break;
        }
        std::thread::sleep(PAUSE);
        told = drives.run(&["scrub", "--json"]);
    }
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
    let scrubbed: Value = serde_json::from_slice(&told.stdout).unwrap();
    for drive in scrubbed.as_array().unwrap() {
        assert_eq!(drive["scrubbed"]["rotten"], 0, "{drive}");
    }
}

#[test]
fn a_drive_ends_in_order_when_it_is_asked_to() {
    let mut drives = Drives::new(1);
    std::fs::write(drives.root.path().join("a"), b"content").unwrap();
    drives.done(&["put", "a", "--code", "1+0"]);
    let mut drive = drives.served[0].take().unwrap();
    let asked = Command::new("kill").args(["-TERM", &drive.process.id().to_string()]).status().unwrap();
    assert!(asked.success());
    assert_eq!(drive.process.wait().unwrap().code(), Some(0));
    drives.start(0);
    assert_eq!(drives.run(&["get", "a", "--out", "-"]).stdout, b"content");
    // Its folder is in use.
    let busy = drives.refused(&["serve", "d0"]);
    assert!(busy.contains("d0 is in use by another process"), "{busy}");
}

#[test]
fn what_the_command_says_and_refuses() {
    let mut drives = Drives::new(3);
    std::fs::write(drives.root.path().join("a.txt"), bytes(5000)).unwrap();
    assert_eq!(
        drives.done(&["put", "a.txt", "--code", "2+1", "--cell", "1 KiB"]),
        "a.txt: 4.88 KiB in 3 of 3 shares\n"
    );
    assert_eq!(drives.done(&["list"]), "a.txt\n");
    assert_eq!(drives.done(&["get", "a.txt", "--out", "b.txt"]), "a.txt: 4.88 KiB\n");
    assert_eq!(std::fs::read(drives.root.path().join("b.txt")).unwrap(), bytes(5000));
    assert!(drives.refused(&["get", "a.txt", "--out", "b.txt"]).contains("exists: give another name, or --force"));
    assert!(drives.refused(&["get", "c", "--out", "c"]).contains("there is no object c"));
    assert!(!drives.root.path().join("c").exists());
    assert_eq!(drives.done(&["repair", "a.txt"]), "a.txt: nothing was missing\n");
    assert!(drives.refused(&["put", "a.txt"]).contains("6 shares need as many drives, and 3 are on the ring"));
    assert!(drives.refused(&["put", "a.txt", "--cell", "100 B", "--code", "2+1"]).contains("multiples of 64 B"));
    assert!(drives.refused(&["put", "a.txt", "--code", "2"]).contains("write data+parity"));
    assert!(drives.refused(&["put", "-"]).contains("--name NAME"));
    assert!(drives.refused(&["leave", "nobody"]).contains("no drive of the list"));
    assert!(drives.refused(&["serve", "new", "--listen", "0.0.0.0:0"]).contains("--secret-file"));
    assert!(drives.refused(&["serve", "new", "--memory", "1 KiB"]).contains("32 MiB or more are allowed"));
    let nobody = Command::new(env!("CARGO_BIN_EXE_wane"))
        .args(["actor", "status"])
        .env_remove("WANE_ACTOR_AT")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("which cluster? --at or WANE_ACTOR_AT"));
    drives.kill(1);
    assert_eq!(drives.run(&["get", "a.txt", "--out", "-"]).stdout, bytes(5000));
    let status = drives.done(&["status"]);
    assert!(status.contains("does not answer") || status.contains("no drive answers at"), "{status}");
    let lines = status.lines().count();
    assert_eq!(lines, 3, "{status}");
    drives.start(1);
    assert_eq!(drives.done(&["delete", "a.txt"]), "a.txt: deleted\n");
    assert_eq!(drives.done(&["list"]), "");
    let mut ended = drives.served[0].take().unwrap();
    ended.process.kill().unwrap();
    ended.process.wait().unwrap();
    let gone = drives.done(&["leave", &ended.id[..8], "--lost"]);
    assert!(gone.contains("is gone; `wane actor scrub` makes its shares anew; 2 are left"), "{gone}");
}

/// Serves a drive above a simulated one; gives its process and how it stands.
fn above(root: &Path) -> (Child, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    command.args(["actor", "serve", "d", "--drive", "sim.wane", "--json"]).current_dir(root);
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
    (process, serde_json::from_str(&first).unwrap())
}

#[test]
fn a_simulated_drive_wears_by_what_is_put() {
    let root = tempfile::tempdir().unwrap();
    let wane = |words: &[&str], at: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
        let output = command.args(words).env("WANE_ACTOR_AT", at).current_dir(root.path()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let simulated = |at: &str| -> Value {
        let status: Value = serde_json::from_slice(&wane(&["actor", "status", "--json"], at)).unwrap();
        status[0]["simulated"].clone()
    };
    wane(&["drive", "create", "sim.wane", "--preset", "tiny"], "");
    std::fs::write(root.path().join("a"), bytes(1_000_000)).unwrap();
    let (mut process, status) = above(root.path());
    let at = status["address"].as_str().unwrap().to_owned();
    wane(&["actor", "put", "a", "--code", "1+0"], &at);
    wane(&["actor", "put", "a", "--code", "1+0"], &at);
    // A description of 4,096 B and one record, in pages of 4 KiB; the first put's are trimmed.
    let pages = (4096 + 16 + 1_000_000u64.next_multiple_of(64)).div_ceil(4096);
    let found = simulated(&at);
    assert_eq!((found["bytes_written"].as_u64(), found["pages_held"].as_u64()), (Some(2 * 4096 * pages), Some(pages)));
    assert!(found["life_used"].as_f64().is_some(), "{found}");
    assert!(Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(0));
    let shown: Value = serde_json::from_slice(&wane(&["drive", "show", "sim.wane", "--json"], "")).unwrap();
    assert_eq!(shown["bytes_written"].as_u64(), Some(2 * 4096 * pages));
    // What is there is not written again.
    let (mut process, status) = above(root.path());
    let at = status["address"].as_str().unwrap().to_owned();
    assert_eq!(simulated(&at)["bytes_written"].as_u64(), Some(2 * 4096 * pages));
    wane(&["actor", "delete", "a"], &at);
    assert_eq!(simulated(&at)["pages_held"].as_u64(), Some(1), "the note of the deletion");
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Limits hold where the system has cgroup v2 with its controllers, and are refused elsewhere.
#[test]
fn limits_hold_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    command
        .args(["actor", "serve", "--json", "--processors", "0.5", "--memory", "256 MiB"])
        .arg(folder.path().join("d"));
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
    if first.is_empty() {
        let mut told = String::new();
        process.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(2));
        assert!(told.contains("limits of processors and memory need cgroup v2"), "{told}");
        return;
    }
    let status: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(status["limits"]["processors"], 0.5);
    process.kill().unwrap();
    process.wait().unwrap();
}
