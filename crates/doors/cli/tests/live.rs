//! Served drives under real programs: what clients see, what control does, what a file system and a database keep.
//!
//! What needs a tool that is missing is skipped, and says so. `WANE_LIVE=full` runs the long forms (`make live-test`).

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "live/arrays.rs"]
mod arrays;
#[path = "live/client.rs"]
mod client;
#[path = "live/durable.rs"]
mod durable;
#[path = "live/exports.rs"]
mod exports;
#[path = "live/hostile.rs"]
mod hostile;
#[path = "live/page.rs"]
mod page;
#[path = "live/programs.rs"]
mod programs;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use client::{Client, FLUSH, READ, TRIM, WRITE};
use serde_json::Value;
use tempfile::TempDir;
use wane_sim::{Stream, Streams};
use wane_testkit::skipped;

fn wane() -> Command {
    Command::new(env!("CARGO_BIN_EXE_wane"))
}

/// A server, ended with the test.
struct Server {
    process: Child,
    facts: Value,
    /// What is removed with it.
    _folder: Option<TempDir>,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut command = wane();
        command.args(["serve", "--json", "--quiet", "--until-stdin-ends"]).args(arguments);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut told = String::new();
            process.stderr.as_mut().unwrap().read_to_string(&mut told).unwrap();
            panic!("it is not served: {told}");
        }
        Self { process, facts: serde_json::from_str(&line).unwrap(), _folder: None }
    }

    /// A fast drive of 64 MiB for the session.
    fn tiny(arguments: &[&str]) -> Self {
        Self::start(&[&["--preset", "tiny", "--speed", "max"], arguments].concat())
    }

    fn path(&self, key: &str) -> PathBuf {
        PathBuf::from(self.facts[key].as_str().unwrap())
    }

    fn uri(&self) -> &str {
        self.facts["uri"].as_str().unwrap()
    }

    fn client(&self) -> Client {
        Client::new(&self.path("socket"))
    }

    fn ctl(&self, words: &[&str]) -> Value {
        let told = wane().arg("ctl").arg(self.path("control")).args(words).output().unwrap();
        assert!(told.status.success(), "{words:?}: {}", String::from_utf8_lossy(&told.stderr));
        serde_json::from_slice(&told.stdout).unwrap()
    }

    fn refused(&self, words: &[&str]) -> String {
        let told = wane().arg("ctl").arg(self.path("control")).args(words).output().unwrap();
        assert_eq!(told.status.code(), Some(2), "{words:?}");
        String::from_utf8(told.stderr).unwrap()
    }

    /// Ends it in order.
    fn stop(mut self) -> String {
        drop(self.process.stdin.take());
        let mut told = String::new();
        self.process.stderr.as_mut().unwrap().read_to_string(&mut told).unwrap();
        assert!(self.process.wait().unwrap().success(), "{told}");
        told
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // In order, if it can: a killed server leaves its directory behind.
        drop(self.process.stdin.take());
        for _ in 0..100 {
            if self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_full() -> bool {
    std::env::var("WANE_LIVE").is_ok_and(|live| live == "full")
}

/// Whether these programs are there; if not, the test is skipped.
fn has(programs: &[&str]) -> bool {
    let is_there = |program: &&&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
        !found.status.success()
    };
    let missing: Vec<&str> = programs.iter().filter(is_there).copied().collect();
    if !missing.is_empty() {
        skipped(&format!("{} missing", missing.join(", ")));
    }
    missing.is_empty()
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn create(path: &Path, more: &[&str]) {
    let mut command = wane();
    command.args(["drive", "create", "--for", "serve", "--preset", "tiny", "--quiet"]).arg(path).args(more);
    let made = command.output().unwrap();
    assert!(made.status.success(), "{}", told(&made));
}

#[test]
fn what_is_written_is_there_after_a_clean_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.wane");
    create(&path, &["--until", "wear=40 %"]);
    let drive = path.to_str().unwrap();
    let server = Server::start(&[drive, "--speed", "max", "--port", "0"]);
    let mut client = server.client();
    assert_eq!(client.ask(WRITE, 0, 4096, &[7; 4096]), (0, Vec::new()));
    // By the other door, in the middle of a sector.
    let mut other = Client::tcp(server.facts["address"].as_str().unwrap());
    assert_eq!(other.ask(WRITE, 512, 512, &[9; 512]).0, 0);
    assert_eq!(other.size, client.size);
    let in_use = wane().args(["serve", drive]).output().unwrap();
    assert_eq!(in_use.status.code(), Some(2));
    assert!(told(&in_use).contains("is served already, by process"), "{}", told(&in_use));
    // Control finds it by its folder.
    let status = wane().args(["ctl", drive, "status"]).output().unwrap();
    assert!(told(&status).contains("\"clients\": 2"), "{}", told(&status));
    server.stop();
    let unserved = wane().args(["ctl", drive, "status"]).output().unwrap();
    assert!(told(&unserved).contains("is not served"), "{}", told(&unserved));
    let server = Server::start(&[drive, "--speed", "max"]);
    let (errno, read) = server.client().ask(READ, 0, 4096, &[]);
    assert_eq!((errno, read[0], read[511], read[512], read[1023], read[1024]), (0, 7, 7, 9, 9, 7));
    let history = wane().args(["drive", "show", drive]).output().unwrap();
    assert_eq!(history.status.code(), Some(2), "it is in use");
    server.stop();
    let checked = wane().args(["drive", "check", "--data", drive]).output().unwrap();
    assert!(checked.status.success(), "{}", told(&checked));
}

#[test]
fn a_kill_loses_nothing_that_was_answered_and_the_next_server_cleans_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &["--empty"]);
    let drive = path.to_str().unwrap();
    let mut server = Server::start(&[drive, "--speed", "max"]);
    let mut client = server.client();
    assert_eq!(client.ask(WRITE, 0, 512, &[1; 512]).0, 0);
    assert_eq!(server.ctl(&["save"])["saved"], true);
    assert_eq!(client.ask(WRITE, 0, 512, &[2; 512]).0, 0);
    let left = server.path("socket");
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let dead = wane().args(["ctl", drive, "status"]).output().unwrap();
    assert!(told(&dead).contains("has ended without a word"), "{}", told(&dead));
    let mut next = Server::start(&[drive, "--speed", "max", "--durability", "none"]);
    assert!(!left.exists(), "what the killed server left is removed");
    assert_eq!(next.client().ask(READ, 0, 512, &[]), (0, vec![2; 512]));
    // Without durability the drive is what it was when it was saved last.
    next.ctl(&["save"]);
    assert_eq!(next.client().ask(WRITE, 0, 512, &[3; 512]).0, 0);
    next.process.kill().unwrap();
    next.process.wait().unwrap();
    let last = Server::start(&[drive, "--speed", "max"]);
    assert_eq!(last.client().ask(READ, 0, 512, &[]), (0, vec![2; 512]));
    last.stop();
}

/// Writes, trims and flushes until the server is gone. Returns what is answered for, by sector of 512 bytes, and the range of the last request, which
/// may have been done or not.
fn until_killed(client: &mut Client, stream: &mut Stream, held: &mut [u8]) -> (std::ops::Range<usize>, u8) {
    loop {
        let (at, count) = (stream.below(2000) as usize, 1 + stream.below(100) as usize);
        let fill = stream.below(250) as u8 + 1;
        let (kind, fill) = match stream.below(20) {
            0 => (FLUSH, 0),
            1..4 => (TRIM, 0),
            _ => (WRITE, fill),
        };
        let range = if kind == FLUSH { 0..0 } else { at..at + count };
        let (offset, length) = (512 * range.start as u64, 512 * range.len() as u32);
        match client.try_ask(kind, offset, length, &[fill; 512 * 100]) {
            Some(0) => held[range].fill(fill),
            Some(errno) => panic!("error {errno}"),
            None => return (range, fill),
        }
    }
}

#[test]
fn nothing_that_was_answered_is_lost_by_a_kill_at_any_moment() {
    let kills = if is_full() { 200 } else { 8 };
    let mut stream = Streams::new(1).stream("kills");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &["--empty"]);
    let mut held = vec![0u8; 2100];
    for kill in 0..kills {
        let durability = if kill % 4 == 3 { "host" } else { "process" };
        let mut server = Server::start(&[path.to_str().unwrap(), "--speed", "max", "--durability", durability]);
        let mut client = server.client();
        let (errno, found) = client.ask(READ, 0, 512 * held.len() as u32, &[]);
        assert_eq!(errno, 0);
        for (sector, fill) in found.chunks(512).zip(&held) {
            assert!(sector.iter().all(|byte| byte == fill), "kill {kill}: {} in place of {fill}", sector[0]);
        }
        let after = stream.below(60) as f64 / 1e3;
        let command = format!("sleep {after}; kill -9 {}", server.process.id());
        let mut killer = Command::new("sh").args(["-c", &command]).spawn().unwrap();
        let (last, fill) = until_killed(&mut client, &mut stream, &mut held);
        killer.wait().unwrap();
        server.process.wait().unwrap();
        // What was asked last is there whole, or not at all: what is there counts from now on.
        let mut looked = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
        let found = looked.client().ask(READ, 0, 512 * held.len() as u32, &[]).1;
        if !last.is_empty() && found[512 * last.start..512 * last.end].iter().all(|byte| *byte == fill) {
            held[last].fill(fill);
        }
        if kill % 3 == 0 {
            looked.stop();
        } else {
            looked.process.kill().unwrap();
        }
    }
}

#[test]
fn a_worn_out_drive_reads_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.wane");
    create(&path, &["--until", "end-of-life"]);
    let server = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
    let mut client = server.client();
    assert_ne!(client.flags & 2, 0, "it says that it is read-only");
    assert_eq!(client.ask(READ, 0, 65536, &[]).0, 0);
    assert_eq!(client.ask(WRITE, 0, 4096, &[1; 4096]).0, 1, "EPERM");
    assert_eq!(client.ask(TRIM, 0, 4096, &[]).0, 1, "EPERM: nothing changes");
    assert_eq!(client.ask(FLUSH, 0, 0, &[]).0, 0);
    assert!(server.ctl(&["status"])["dead"].is_string());
    assert!(server.refused(&["age", "--until", "drive-writes=9000"]).contains("is dead"));
    server.stop();
}

#[test]
fn control_breaks_and_mends_the_drive() {
    let server = Server::tiny(&["--set", "drive.endurance=1000"]);
    let mut client = server.client();
    let block = vec![5; 65536];
    assert_eq!(client.ask(WRITE, 0, 65536, &block).0, 0);
    // Three reads fail, then none.
    server.ctl(&["inject", "error", "--kind", "read", "--count", "3"]);
    let failed: Vec<u32> = (0..5).map(|_| client.ask(READ, 0, 4096, &[]).0).collect();
    assert_eq!(failed, [5, 5, 5, 0, 0]);
    // A region fails until it is cleared.
    let region = server.ctl(&["inject", "region", "--at", "8 KiB", "--length", "4 KiB"])["fault"].as_u64().unwrap();
    assert_eq!((client.ask(READ, 0, 16384, &[]).0, client.ask(WRITE, 8192, 512, &[0; 512]).0), (5, 5));
    assert_eq!(client.ask(READ, 0, 8192, &[]).0, 0);
    let faults = server.ctl(&["faults"]);
    assert_eq!((&faults["faults"][0]["met"], &faults["faults"][1]["met"]), (&3.into(), &2.into()));
    server.ctl(&["clear-faults", "--fault", &region.to_string()]);
    assert_eq!(client.ask(READ, 0, 65536, &[]), (0, block));
    // Lost data stay lost until they are written.
    assert_eq!(server.ctl(&["inject", "lost", "--at", "0 B", "--length", "4 KiB"])["units_lost"], 1);
    assert_eq!((client.ask(READ, 0, 512, &[]).0, client.ask(WRITE, 0, 4096, &[1; 4096]).0), (5, 0));
    assert_eq!(client.ask(READ, 0, 512, &[]).0, 0);
    // The data of a die are lost.
    assert!(server.ctl(&["inject", "die", "--die", "0"])["units_lost"].as_u64().unwrap() > 0);
    assert_eq!(client.ask(TRIM, 0, 1 << 20, &[]).0, 0);
    // Slowness and age.
    server.ctl(&["inject", "slow", "--by", "20 ms", "--kind", "write", "--count", "1"]);
    server.ctl(&["latency", "--clear", "--json"]);
    client.ask(WRITE, 0, 4096, &[1; 4096]);
    let slow = server.ctl(&["latency", "--json"])["kinds"]["write"]["latency_us"]["max"].as_f64().unwrap();
    assert!((20_000.0..30_000.0).contains(&slow), "{slow}");
    let aged = server.ctl(&["age", "--until", "drive-writes=3"]);
    assert_eq!((aged["reached"].as_str(), client.ask(READ, 0, 512, &[]).1), (Some("target"), vec![1; 512]));
    assert!(server.ctl(&["age", "--days", "30"])["day"].as_f64().unwrap() >= 30.0);
    let capacity = server.ctl(&["set", "--capacity", "32 MiB", "--speed", "10x"]);
    assert_eq!((capacity["capacity_bytes"].as_u64(), capacity["speed"].as_str()), (Some(32 << 20), Some("10x")));
    assert_eq!(server.client().size, 32 << 20);
    assert_eq!(client.ask(READ, 48 << 20, 512, &[]).0, 22, "EINVAL beyond the end");
    server.ctl(&["set", "--speed", "max"]);
    // How much of it may hold data falls and rises, and what it holds stays.
    let limit = server.ctl(&["set", "--mapped-limit", "8 MiB"]);
    assert_eq!(limit["mapped_limit_bytes"].as_u64(), Some(8 << 20));
    assert_eq!(server.ctl(&["status"])["mapped_limit_bytes"].as_u64(), Some(8 << 20));
    assert_eq!(client.ask(WRITE, 0, 65536, &[2; 65536]).0, 0);
    assert!(server.refused(&["set", "--mapped-limit", "4 KiB"]).contains("more than that holds data now"));
    assert!(server.refused(&["set", "--mapped-limit", "1 GiB"]).contains("up to 32 MiB is allowed"));
    server.ctl(&["set", "--mapped-limit", "32 MiB"]);
    assert_eq!(server.ctl(&["status"])["mapped_limit_bytes"].as_u64(), Some(32 << 20));
    // Its health is that of a real drive.
    assert!(server.ctl(&["smart"])["nvme_smart_health_information_log"].is_object());
    server.ctl(&["stop"]);
    let mut server = server;
    assert!(server.process.wait().unwrap().success());
}

#[test]
fn orders_between_requests_never_turn_time_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &["--empty"]);
    for speed in ["max", "1x"] {
        let server = Server::start(&[path.to_str().unwrap(), "--speed", speed]);
        let mut client = server.client();
        for round in 0..3u8 {
            assert_eq!(client.ask(WRITE, 0, 1 << 20, &[round; 1 << 20]).0, 0);
            server.ctl(&["save"]);
            server.ctl(&["rest", "1 ms"]);
            server.ctl(&["power-cut"]);
            // Orders come while the drive recovers.
            server.ctl(&["power-on"]);
            server.ctl(&["set", "--capacity", &format!("{} MiB", 60 - round)]);
            server.ctl(&["power-cut"]);
            server.ctl(&["power-on"]);
            server.ctl(&["rest", "1 ms"]);
            assert_eq!(client.ask(READ, 0, 512, &[]), (0, vec![round; 512]), "{speed}");
        }
        server.stop();
        std::fs::remove_dir_all(&path).unwrap();
        create(&path, &["--empty"]);
    }
}

/// What occupies a served drive, once something does, or once nothing does any more.
fn busy(server: &Server, wants: bool) -> Value {
    for _ in 0..600 {
        let found = server.ctl(&["status"]);
        if found["busy"].is_null() != wants {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("the drive should {} busy", if wants { "be" } else { "not be" });
}

#[test]
fn aging_tells_how_far_it_is_and_can_be_ended() {
    let server = Server::tiny(&["--set", "drive.endurance=1000000"]);
    let age = || {
        let mut aging = wane();
        aging.arg("ctl").arg(server.path("control")).args(["age", "--until", "drive-writes=1e6", "--most", "9 h"]);
        aging.stdout(Stdio::piped()).spawn().unwrap()
    };
    assert!(server.refused(&["cancel"]).contains("the drive does nothing that takes long"));
    let aging = age();
    let told = busy(&server, true);
    assert!(told["busy"]["doing"] == "age" && told["busy"]["done"].as_f64().unwrap() < 1.0, "{told}");
    assert_eq!(server.ctl(&["cancel"])["cancelled"], true);
    let ended: Value = serde_json::from_slice(&aging.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(ended["reached"], "interrupted");
    let after = busy(&server, false);
    assert_eq!(after["drive_writes"], ended["drive_writes"]);
    // Who asked leaves, and it ends.
    let mut aging = age();
    busy(&server, true);
    aging.kill().unwrap();
    aging.wait().unwrap();
    assert!(busy(&server, false)["drive_writes"].as_f64() >= after["drive_writes"].as_f64());
    // A server that is to end does not wait for it.
    let mut aging = age();
    busy(&server, true);
    server.ctl(&["stop"]);
    aging.wait().unwrap();
}

#[test]
fn power_goes_and_comes() {
    let server = Server::tiny(&[]);
    let mut client = server.client();
    for number in 0..64u64 {
        assert_eq!(client.ask(WRITE, number * 4096, 4096, &[number as u8; 4096]).0, 0);
    }
    assert_eq!(client.ask(FLUSH, 0, 0, &[]).0, 0);
    server.ctl(&["power-cut", "--torn"]);
    assert_eq!(server.ctl(&["status"])["power"], "off");
    assert_eq!([READ, WRITE].map(|kind| client.ask(kind, 0, 512, &[0; 512]).0), [108, 108]);
    assert!(server.refused(&["smart"]).contains("no power"));
    server.ctl(&["power-on"]);
    for number in 0..64u64 {
        assert_eq!(client.ask(READ, number * 4096, 512, &[]), (0, vec![number as u8; 512]));
    }
    assert!(server.refused(&["power-on"]).contains("the power is on"));
    server.stop();
}

#[test]
fn what_a_drive_lacks_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.wane");
    let made = wane().args(["drive", "create", "--preset", "tiny", "--quiet"]).arg(&path).output().unwrap();
    assert!(made.status.success(), "{}", told(&made));
    let server = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
    assert!(server.refused(&["power-cut"]).contains("wane drive create --for serve"));
    let told = server.stop();
    for lack in ["(time.scheduler)", "(drive.chip)", "(ftl.recovery)", "wane drive create NEW --for serve"] {
        assert!(told.contains(lack), "{told}");
    }
}

#[test]
fn events_tell_what_happens() {
    let server = Server::tiny(&["--set", "drive.endurance=20"]);
    let control = server.path("control");
    let mut listener =
        wane().args(["ctl"]).arg(&control).args(["events", "--count", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    // It listens once it is connected; until then events are told to nobody.
    let told = std::thread::scope(|scope| {
        let line = scope.spawn(|| {
            let mut line = String::new();
            BufReader::new(listener.stdout.take().unwrap()).read_line(&mut line).unwrap();
            line
        });
        while !line.is_finished() {
            server.ctl(&["power-cut"]);
            server.ctl(&["power-on"]);
        }
        line.join().unwrap()
    });
    let event: Value = serde_json::from_str(&told).unwrap();
    assert!(event["event"].as_str().unwrap().starts_with("power-"), "{told}");
    assert!(listener.wait().unwrap().success());
}

#[test]
fn the_log_pairs_model_and_truth() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.csv");
    let server = Server::start(&["--preset", "tiny", "--log", log.to_str().unwrap()]);
    let mut client = server.client();
    for number in 0..50u64 {
        client.ask(if number % 3 == 0 { READ } else { WRITE }, number * 4096, 4096, &[3; 4096]);
    }
    client.ask(READ, 1 << 40, 512, &[]);
    let lag = server.ctl(&["latency", "--json"])["kinds"]["write"]["lag_us"]["p50"].as_f64().unwrap();
    assert!(lag > 0.0);
    server.stop();
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("request,client,kind,offset,bytes,submitted_ns,modelled_ns,lag_ns,status"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 51);
    let mut before = 0;
    for row in &rows {
        let number = |column: usize| row[column].parse::<u64>().unwrap();
        let (submitted, modelled, lag) = (number(5), number(6), number(7));
        assert!(submitted <= modelled && lag < 10_000_000_000, "{row:?}");
        // A client with one request at a time sends the next after the answer.
        assert!(submitted >= before, "{row:?}");
        before = modelled;
    }
    assert_eq!((rows[50][8], rows[0][8]), ("EINVAL", "ok"));
}

#[test]
fn a_command_runs_beside_the_drive_and_ends_it() {
    let run = |command: &str| wane().args(["serve", "--preset", "tiny", "--run", command]).output().unwrap();
    let shown = run("test -S \"$socket\" && test -S \"$control\" && echo $uri; exit 7");
    assert_eq!(shown.status.code(), Some(7));
    assert!(told(&shown).starts_with("nbd+unix:///?socket=/"), "{}", told(&shown));
}

#[test]
fn memory_bounds_what_is_kept() {
    let server = Server::tiny(&["--memory", "1 MiB"]);
    let mut client = server.client();
    let errnos: Vec<u32> = (0..64).map(|number| client.ask(WRITE, number << 16, 1 << 16, &[1; 1 << 16]).0).collect();
    assert_eq!((errnos[0], errnos[63]), (0, 28));
    assert!(server.stop().contains("(--memory) would have been kept"));
}

#[test]
fn wrong_input_gets_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let open = in_folder("open");
    std::fs::create_dir(&open).unwrap();
    let missing = in_folder("missing");
    let log = in_folder("none/log.csv");
    let long = in_folder(&"d".repeat(100));
    for (arguments, wanted) in [
        (vec![missing.as_str()], "there is no such drive"),
        (vec![open.as_str()], "is not a drive"),
        (vec!["--preset", "tiny", "--dir", &open], "mode 755"),
        (vec!["--preset", "tiny", "--speed", "0x"], "a speed is `max`"),
        (vec!["--preset", "tiny", "--port", "0.0.0.0:1"], "this machine alone"),
        (vec!["--preset", "tinny"], "tiny"),
        (vec!["--preset", "tiny", "--spin", "1 s"], "up to 10 ms"),
        (vec!["--preset", "tiny", "--log", &log], "cannot be written"),
        (vec!["--preset", "tiny", "--age", "tomorrow"], "drive-writes=NUMBER"),
        (vec![open.as_str(), "--age", "days=3"], "--age: is for a drive that --preset makes"),
        (vec!["--preset", "tiny", "--dir", &long], "longer than 107 bytes"),
        (vec![], "--preset"),
    ] {
        let refused = wane().arg("serve").args(&arguments).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {}", told(&refused));
        assert!(told(&refused).contains(wanted), "{arguments:?}: {}", told(&refused));
    }
    let server = Server::tiny(&["--set", "drive.endurance=1000000"]);
    let directory = server.path("socket").parent().unwrap().to_owned();
    let in_use = wane().args(["serve", "--preset", "tiny", "--dir"]).arg(directory).output().unwrap();
    let pid = server.process.id().to_string();
    assert!(told(&in_use).contains(&format!("is in use by process {pid}")), "{}", told(&in_use));
    for (words, wanted) in [
        (vec!["age", "--until", "drive-writes=1e8"], "`most` allows 60 s"),
        (vec!["set"], "nothing is given"),
        (vec!["set", "--capacity", "1 TiB"], "is allowed"),
        (vec!["set", "--retirement-threshold", "1.5"], "a whole number of erases"),
        (vec!["set", "--read-recovery", "often"], "a number of re-reads"),
        (vec!["inject", "region"], "needs `at` and `length`"),
        (vec!["inject", "slow"], "needs `by`"),
        (vec!["inject", "die"], "which die?"),
        (vec!["inject", "die", "--die", "99"], "dies 0 to"),
        (vec!["inject", "stuck", "--count", "0"], "breaks nothing"),
        (vec!["set", "--capacity", "0 B"], "is allowed"),
        (vec!["inject", "error", "--at", "1 TiB", "--length", "1 KiB"], "are allowed"),
        (vec!["inject", "error", "--rate", "2"], "inject: '2' is not a ratio"),
        (vec!["clear-faults", "--fault", "3"], "there is none with this number"),
        (vec!["rest", "soon"], "soon"),
    ] {
        let sentence = server.refused(&words);
        assert!(sentence.contains(wanted), "{words:?}: {sentence}");
        assert_eq!(sentence.lines().count(), 1, "{words:?}: {sentence}");
    }
    assert_eq!(server.client().ask(READ, 0, 512, &[]).0, 0, "it goes on");
}
