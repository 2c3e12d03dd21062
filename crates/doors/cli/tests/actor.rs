//! Drives as processes: what a kill during a put leaves behind, and what the command prints.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Number of looks, and pause between looks, at what drives do on their own.
const LOOKS: usize = 600;
const PAUSE: Duration = Duration::from_millis(50);

struct Drive {
    process: Child,
    address: String,
    id: String,
}

/// Drives in folders below one folder, ended by their process ids when the test ends.
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
        self.start_by(number, Command::new(env!("CARGO_BIN_EXE_wane")));
    }

    fn start_by(&mut self, number: usize, mut command: Command) {
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

    /// Kills a drive by SIGKILL, so that nothing ends in order.
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

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
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

/// Sends a request over a connection that stays open; returns the whole answer.
fn ask(stream: &mut TcpStream, target: &str, members: &str) -> String {
    write!(stream, "GET {target} HTTP/1.1\r\nhost: localhost\r\nwane-members: {members}\r\n\r\n").unwrap();
    let (mut answer, mut length) = (String::new(), 0);
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(count) = line.strip_prefix("content-length: ") {
            length = count.trim().parse().unwrap();
        }
        answer += &line;
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    answer + &String::from_utf8(body).unwrap()
}

/// The number of files that a process has open.
fn open_files(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

#[test]
fn a_drive_that_cannot_read_for_the_moment_does_not_say_that_it_keeps_nothing() {
    let drives = Drives::new(1);
    std::fs::write(drives.root.path().join("letter"), "content").unwrap();
    drives.done(&["put", "letter", "--code", "1+0"]);
    let drive = drives.served[0].as_ref().unwrap();
    let (address, process) = (drive.address.clone(), drive.process.id());
    let limit = |files: usize| {
        let words = ["--pid".to_owned(), process.to_string(), format!("--nofile={files}:")];
        Command::new("prlimit").args(words).output().is_ok_and(|ended| ended.status.success())
    };
    if open_files(process) == 0 || !limit(1024) {
        wane_testkit::skipped("this system has no prlimit and no /proc, to take a process's files from it");
        return;
    }
    let members = wane_actor::Client::connect(std::slice::from_ref(&address), None).unwrap().members();
    let tag = format!("{}:{}", members.version(), members.digest());
    let target = format!("/v1/objects/{}", wane_actor::RingId::of_object("letter"));
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let keeps = |answer: &str| answer.starts_with("HTTP/1.1 200") && answer.contains("\"letter\"");
    let answer = ask(&mut stream, &target, &tag);
    assert!(keeps(&answer), "{answer}");
    // As many files as it has open now, or fewer.
    assert!(limit(8));
    let answer = ask(&mut stream, &target, &tag);
    assert!(answer.starts_with("HTTP/1.1 500") && answer.contains("cannot be read: Too many open files"), "{answer}");
    assert!(limit(1024));
    let answer = ask(&mut stream, &target, &tag);
    assert!(keeps(&answer), "{answer}");
}

#[test]
fn a_drive_answers_while_others_hold_more_half_requests_than_it_has_files() {
    let mut drives = Drives { root: tempfile::tempdir().unwrap(), served: vec![None] };
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_wane")]);
    drives.start_by(0, command);
    let address = drives.served[0].as_ref().unwrap().address.clone();
    for half in [
        "GET /v1/status HTTP/1.1\r\nHo",
        "PUT /v1/members HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n[",
    ] {
        let connect = |_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            // The drive may have closed it already, in favor of a newer one.
            let _ = stream.write_all(half.as_bytes());
            stream
        };
        let held: Vec<TcpStream> = (0..80).map(connect).collect();
        drives.done(&["status"]);
        drop(held);
    }
}

#[test]
fn a_drive_whose_disk_takes_nothing_serves_what_it_has() {
    let mut drives = Drives::new(1);
    std::fs::write(drives.root.path().join("letter"), "content").unwrap();
    drives.done(&["put", "letter", "--code", "1+0"]);
    drives.kill(0);
    // It is served on another port, so that its list changes, and no file of it can be written: no file may be longer than nothing.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 0; trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_wane")]);
    drives.start_by(0, command);
    assert_eq!(drives.run(&["get", "letter", "--out", "-"]).stdout, b"content");
    let status = drives.done(&["status"]);
    assert!(status.contains("members.json cannot be written"), "{status}");
    drives.kill(0);
    drives.start(0);
    assert!(!drives.done(&["status"]).contains("cannot be written"));
    assert_eq!(drives.run(&["get", "letter", "--out", "-"]).stdout, b"content");
}

#[test]
fn a_drive_leaves_though_it_has_a_share_of_a_put_that_was_killed() {
    let drives = Drives::new(4);
    let mut command = drives.command(&["put", "-", "--name", "half", "--code", "2+1", "--cell", "1 KiB"]);
    let mut put = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    put.stdin.as_mut().unwrap().write_all(&bytes(10_000)).unwrap();
    let being_written = || -> Vec<(String, u64)> {
        let told: Value = serde_json::from_str(&drives.done(&["status", "--json"])).unwrap();
        let one = |drive: &Value| (drive["id"].as_str().unwrap().to_owned(), drive["being_written"].as_u64().unwrap());
        told.as_array().unwrap().iter().map(one).collect()
    };
    let mut looks = (0..LOOKS).map(|_| {
        std::thread::sleep(PAUSE);
        being_written().into_iter().find(|(_, count)| *count > 0)
    });
    let (leaving, _) = looks.find_map(|found| found).expect("the put writes to some drives");
    put.kill().unwrap();
    put.wait().unwrap();
    let left = drives.done(&["leave", &leaving, "--wait", "60"]);
    assert!(left.contains("is gone with nothing left on it"), "{left}");
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
    // Drives of data and of parity, killed when the put has moved some of its stripes.
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
            assert!(told.contains("object now was not put: 5 of its 6 drives take it, and 6 are needed"), "{told}");
        }
        for name in (0..8).map(|number| format!("before {number}")).chain(["now".to_owned()]) {
            let read = drives.run(&["get", &name, "--out", "-"]).stdout;
            // Until a second put of an object is acknowledged, the old object is read.
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
    // The others may not know yet at which address the last one is back: a scrub then reports what it could not repair.
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
    assert!(drives.refused(&["serve", "new", "--memory", "1 KiB"]).contains("48 MiB or more are allowed"));
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

/// Serves a drive above a simulated one; returns its process and its state.
fn above(root: &Path) -> (Child, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    command.args(["actor", "serve", "d", "--drive", "sim.wane", "--json"]).current_dir(root);
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
    (process, serde_json::from_str(&first).unwrap())
}

#[test]
fn a_simulated_drive_that_has_worn_out_is_served_to_be_read() {
    let root = tempfile::tempdir().unwrap();
    let wane = |words: &[&str], at: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
        command.args(words).env("WANE_ACTOR_AT", at).current_dir(root.path()).output().unwrap()
    };
    let put = |name: &str, at: &str| wane(&["actor", "put", "a", "--name", name, "--code", "1+0"], at);
    let made = wane(&["drive", "create", "sim.wane", "--preset", "tiny", "--until", "wear=90 %"], "");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::write(root.path().join("a"), bytes(8_000_000)).unwrap();
    let serve = || {
        let (process, status) = above(root.path());
        (process, status["address"].as_str().unwrap().to_owned())
    };
    let (mut process, at) = serve();
    assert!(put("kept", &at).status.success());
    let refused = (0..1000).map(|_| put("more", &at)).find(|output| !output.status.success()).unwrap();
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("has worn out") && told.contains("takes no writes"), "{told}");
    assert!(Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(0));
    let (mut process, at) = serve();
    let got = wane(&["actor", "get", "kept", "--out", "b"], &at);
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    assert_eq!(std::fs::read(root.path().join("b")).unwrap(), bytes(8_000_000));
    assert!(String::from_utf8_lossy(&put("more", &at).stderr).contains("has worn out"));
    process.kill().unwrap();
    process.wait().unwrap();
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
    // Shares that are there are not written again.
    let (mut process, status) = above(root.path());
    let at = status["address"].as_str().unwrap().to_owned();
    assert_eq!(simulated(&at)["bytes_written"].as_u64(), Some(2 * 4096 * pages));
    wane(&["actor", "delete", "a"], &at);
    assert_eq!(simulated(&at)["pages_held"].as_u64(), Some(1), "the note of the deletion");
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Limits hold if the system hands out control groups, and are refused otherwise.
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
        assert!(told.contains("limits of processors and memory need control groups"), "{told}");
        wane_testkit::skipped("this system hands out no control groups");
        return;
    }
    let status: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(status["limits"]["processors"], 0.5);
    // The process is in its own groups, whose files have the limits.
    let number = process.id();
    let groups = std::fs::read_to_string(format!("/proc/{number}/cgroup")).unwrap();
    let name = format!("wane-actor-{number}");
    assert!(groups.lines().any(|line| line.ends_with(&name)), "{groups}");
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let roots = mounts.lines().filter(|line| line.contains(" cgroup")).filter_map(|line| line.split(' ').nth(1));
    let own = groups.lines().filter_map(|line| line.rsplit_once(':').map(|(_, group)| group.trim_start_matches('/')));
    let places: Vec<PathBuf> = roots
        .flat_map(|root| own.clone().map(move |group| Path::new(root).join(group)))
        .filter(|at| at.ends_with(&name))
        .collect();
    let told = |file: &str| places.iter().find_map(|at| std::fs::read_to_string(at.join(file)).ok());
    let quota = told("cpu.max").or_else(|| told("cpu.cfs_quota_us")).unwrap();
    let most = told("memory.max").or_else(|| told("memory.limit_in_bytes")).unwrap();
    assert_eq!((quota.split_whitespace().next(), most.trim()), (Some("50000"), "268435456"));
    // A drive that ends in order leaves no groups behind.
    assert!(Command::new("kill").args(["-INT", &number.to_string()]).status().unwrap().success());
    assert!(process.wait().unwrap().success());
    assert_eq!(places.iter().filter(|at| at.exists()).count(), 0, "{places:?}");
}

impl Drives {
    fn folder_of(&self, id: &str) -> PathBuf {
        self.folder(self.number(id).unwrap())
    }

    /// Puts some objects; returns the drives of each object's shares.
    fn put_some(&self, count: usize, code: &str) -> Vec<Vec<String>> {
        std::fs::write(self.root.path().join("some"), bytes(5000)).unwrap();
        let put = |number: usize| {
            let told = self.done(&["put", "some", "--name", &format!("o{number}"), "--code", code, "--json"]);
            let put: Value = serde_json::from_str(&told).unwrap();
            put["drives"].as_array().unwrap().iter().map(|drive| drive.as_str().unwrap().to_owned()).collect()
        };
        (0..count).map(put).collect()
    }

    fn signal(&self, number: usize, signal: &str) {
        let process = self.served[number].as_ref().unwrap().process.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }

    /// Returns why a drive does not serve; ends it if it does.
    fn not_served(&self, arguments: &[&str]) -> String {
        let mut command = self.command(&[&["serve"], arguments].concat());
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        for _ in 0..LOOKS {
            if process.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        let _ = process.kill();
        let ended = process.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?} is served");
        String::from_utf8(ended.stderr).unwrap()
    }
}

/// The file of a share of an object.
fn share_file(folder: &Path, share: usize) -> PathBuf {
    let below = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = below(&folder.join("shares")).flat_map(|part| below(&part).collect::<Vec<PathBuf>>());
    files.find(|path| path.to_string_lossy().ends_with(&format!(".{share}"))).unwrap()
}

#[test]
fn a_file_that_is_gone_or_unreadable_hides_no_other() {
    let drives = Drives::new(3);
    let all = drives.put_some(1, "2+1");
    let folder = drives.folder_of(&all[0][0]);
    let gone = share_file(&folder, 0);
    std::fs::remove_file(&gone).unwrap();
    assert_eq!(drives.done(&["repair", "o0"]), "o0: share 0 made anew\n");
    assert!(gone.is_file());
    drives.put_some(12, "2+1");
    // On one drive a file is gone, another is replaced by a folder, and a third is rotten.
    let below = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        below(&folder.join("shares")).flat_map(|part| below(&part).collect::<Vec<PathBuf>>()).collect();
    files.sort();
    assert_eq!(files.len(), 12);
    std::fs::remove_file(&files[0]).unwrap();
    std::fs::remove_file(&files[1]).unwrap();
    std::fs::create_dir(&files[1]).unwrap();
    let mut rotten = std::fs::read(&files[11]).unwrap();
    rotten[5000] ^= 1;
    std::fs::write(&files[11], rotten).unwrap();
    // Damage that is visible without reading blocks may be repaired by a drive that is scrubbed before this one.
    let repaired = || -> u64 {
        let told: Value = serde_json::from_str(&drives.done(&["scrub", "--json"])).unwrap();
        told.as_array().unwrap().iter().map(|drive| drive["scrubbed"]["repaired"].as_u64().unwrap()).sum()
    };
    assert_eq!(repaired(), 3);
    assert!(files.iter().all(|path| path.is_file()));
    assert_eq!(repaired(), 0);
    for object in 0..12 {
        assert_eq!(drives.run(&["get", &format!("o{object}"), "--out", "-"]).stdout, bytes(5000));
    }
}

#[test]
fn a_quorum_that_old_shares_could_undo_is_refused() {
    let drives = Drives::new(3);
    std::fs::write(drives.root.path().join("a"), b"content").unwrap();
    let put = |quorum: &str, code: &str| ["put", "a", "--code", code, "--quorum", quorum].map(str::to_owned);
    let words = |given: [String; 6]| given.into_iter().collect::<Vec<String>>();
    let refused = words(put("1", "1+2"));
    let told = drives.refused(&refused.iter().map(String::as_str).collect::<Vec<&str>>());
    assert!(told.contains("a quorum of 1: with the code 1+2, 3 alone are allowed: the 2 shares"), "{told}");
    for (quorum, code) in [("3", "1+2"), ("2", "2+1"), ("1", "1+0")] {
        let words = words(put(quorum, code));
        drives.done(&words.iter().map(String::as_str).collect::<Vec<&str>>());
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a command takes is what is tested")]
fn one_frozen_drive_costs_seconds() {
    let mut drives = Drives::new(6);
    let all = drives.put_some(2, "4+2");
    let frozen = drives.number(&all[0][0]).unwrap();
    drives.signal(frozen, "-STOP");
    // The client knows any drives; the frozen one is not asked for the list.
    let at = drives.served.iter().flatten().map(|drive| drive.address.clone());
    let at = at.enumerate().filter(|(number, _)| *number != frozen).map(|(_, address)| address);
    let at = at.collect::<Vec<String>>().join(",");
    for words in [
        &["get", "o0", "--out", "-"][..],
        &["put", "some", "--name", "o0", "--quorum", "5"],
        &["status"],
        &["list"],
        &["delete", "o1"],
    ] {
        let began = std::time::Instant::now();
        let ended = drives.command(&[words, &["--at", &at]].concat()).output().unwrap();
        assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
        let took = began.elapsed();
        assert!(took < Duration::from_secs(15), "{words:?} took {took:?}");
        eprintln!("{words:?} took {took:?}");
    }
    drives.signal(frozen, "-CONT");
    // Other drives do not ask it for up to five seconds after their last try, unless they hear of it.
    let back = std::time::Instant::now();
    while !drives.run(&["put", "some", "--name", "o2", "--code", "4+2"]).status.success() {
        assert!(back.elapsed() < Duration::from_secs(15), "the drive that is back is asked again");
    }
    drives.kill(frozen);
}

#[test]
fn drives_may_be_started_in_any_order_and_a_put_waits_for_them() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), b"content").unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let first = format!("127.0.0.1:{port}");
    let spawn = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
        command.arg("actor").args(words).current_dir(root.path()).stdout(Stdio::null());
        command.spawn().unwrap()
    };
    let mut put = spawn(&["put", "a", "--code", "2+1", "--at", &first]);
    let mut served = vec![spawn(&["serve", "d2", "--join", &first]), spawn(&["serve", "d3", "--join", &first])];
    std::thread::sleep(Duration::from_secs(1));
    served.push(spawn(&["serve", "d1", "--listen", &first]));
    let done = put.wait().unwrap().success();
    for mut drive in served {
        let _ = drive.kill();
        drive.wait().unwrap();
    }
    assert!(done);
}

#[test]
fn a_drive_without_its_list_gets_it_from_its_cluster_alone() {
    let mut drives = Drives::new(3);
    drives.put_some(1, "2+1");
    drives.kill(2);
    let list = drives.folder(2).join("members.json");
    std::fs::remove_file(&list).unwrap();
    let gone = drives.not_served(&["d2"]);
    assert!(gone.contains("d2/members.json is gone, and the drive keeps 1 share; with --join"), "{gone}");
    assert!(!list.exists(), "no cluster was made up");
    std::fs::write(&list, "").unwrap();
    let empty = drives.not_served(&["d2"]);
    assert!(empty.contains("d2/members.json: no list of members"), "{empty}");
    let other = Drives::new(1);
    let strange = drives.not_served(&["d2", "--join", &other.at()]);
    assert!(strange.contains("does not know this drive: what it keeps belongs to another cluster"), "{strange}");
    drives.start(2);
    drives.kill(0);
    assert_eq!(drives.run(&["get", "o0", "--out", "-"]).stdout, bytes(5000));
}

#[test]
fn all_drives_that_do_not_answer_are_named_and_counted() {
    let mut drives = Drives::new(6);
    let all = drives.put_some(1, "4+2");
    let dead = [0, 2, 5].map(|share| drives.number(&all[0][share]).unwrap());
    dead.into_iter().for_each(|number| drives.kill(number));
    let named = |told: &str| [0, 2, 5].iter().all(|share| told.contains(&format!("drive {}", &all[0][*share][..8])));
    let put = drives.refused(&["put", "some", "--name", "o0"]);
    assert!(put.contains("3 of its 6 drives take it, and 6 are needed") && named(&put), "{put}");
    let get = drives.refused(&["get", "o0", "--out", "-"]);
    assert!(get.contains("3 of its 4+2 shares are left") && named(&get), "{get}");
}

#[test]
fn an_address_that_nobody_reaches_is_not_told_to_others() {
    let drives = Drives::new(1);
    let secret = drives.root.path().join("secret");
    std::fs::write(&secret, "a secret of some letters").unwrap();
    set_mode(&secret, 0o644);
    let told = drives.not_served(&["new", "--secret-file", "secret"]);
    assert!(told.contains("others on this machine may read or change (mode 0644): 0600 is allowed"), "{told}");
    set_mode(&secret, 0o600);
    let told = drives.not_served(&["new", "--listen", "0.0.0.0:0", "--secret-file", "secret"]);
    assert!(told.contains("--announce IP:PORT"), "{told}");
    let mut command = drives.command(&["serve", "new", "--json", "--secret-file", "secret"]);
    command.args(["--listen", "0.0.0.0:0", "--announce", "127.0.0.1:0"]);
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let status: Value = serde_json::from_str(&first).unwrap();
    let address = status["address"].as_str().unwrap().to_owned();
    let asked = drives.run(&["status", "--at", &address, "--secret-file", "secret"]);
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(address.starts_with("127.0.0.1:") && asked.status.success(), "{address}");
    // From now on its folder knows of the secret.
    let bare = drives.not_served(&["new"]);
    assert!(bare.contains("new/drive.json says that its cluster has a secret: --secret-file must give it"), "{bare}");
}

#[test]
fn a_copy_of_a_folder_is_no_second_drive() {
    let drives = Drives::new(2);
    drives.put_some(1, "1+1");
    let copied = Command::new("cp").args(["-r", "d1", "copy"]).current_dir(drives.root.path()).status().unwrap();
    assert!(copied.success());
    let other = drives.served[0].as_ref().unwrap().address.clone();
    for words in [&["copy", "--join", &other][..], &["copy"]] {
        let told = drives.not_served(words);
        assert!(told.contains("is served at") && told.contains("no second drive"), "{told}");
    }
}

#[test]
fn a_drive_that_cannot_leave_or_is_not_lost_stays() {
    let mut drives = Drives::new(3);
    drives.put_some(1, "2+1");
    let id = drives.served[0].as_ref().unwrap().id.clone();
    let few = drives.refused(&["leave", &id, "--wait", "2"]);
    assert!(few.contains("objects on it need 3 drives, and 2 would be left"), "{few}");
    let answers = drives.refused(&["leave", &id, "--lost"]);
    assert!(answers.contains("is not lost, it answers"), "{answers}");
    assert_eq!(drives.done(&["status"]).lines().count(), 3);
    drives.done(&["leave", &id, "--lost", "--force"]);
    assert!(drives.done(&["status"]).lines().count() == 2);
    drives.kill(0);
}

#[test]
fn sizes_names_and_folders_are_taken_or_told() {
    let drives = Drives::new(1);
    std::fs::write(drives.root.path().join("a"), b"content").unwrap();
    drives.done(&["put", "a", "--name", "\u{202e}exe.a", "--code", "1+0", "--cell", "65536"]);
    assert_eq!(drives.done(&["list"]), "\\u{202e}exe.a\n");
    let folder = drives.refused(&["put", ".", "--code", "1+0"]);
    assert!(folder.contains(". is a folder"), "{folder}");
    let status = drives.done(&["status"]);
    assert!(!Drives::new(1).done(&["status"]).contains("on the move"), "{status}");
}

#[test]
fn a_drive_may_end_with_whoever_holds_its_stdin() {
    let root = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    command.args(["actor", "serve", "d", "--json", "--until-stdin-ends"]).current_dir(root.path());
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("\"address\"") && process.try_wait().unwrap().is_none(), "{first}");
    drop(process.stdin.take());
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn wear_counts_from_a_steady_state() {
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
        command.args(["actor", "wear", "--preset", "tiny", "--code", "1+0,1+1"]);
        String::from_utf8(command.args(words).output().unwrap().stdout).unwrap()
    };
    let wear = |writes: &str| run(&["--writes", writes]);
    for writes in ["2", "8"] {
        let told = wear(writes);
        assert!(told.lines().nth(2).unwrap().ends_with("0.50"), "{told}");
        assert!(!told.contains("Less than one erase"), "{told}");
    }
    assert!(wear("0.2").contains("Less than one erase of each block was counted"));
    let little = ["--writes", "0.00006", "--object", "64 KiB"];
    let none = run(&little);
    assert!(
        none.lines().nth(1).unwrap().ends_with("   -") && none.contains("Nothing was erased where life is -"),
        "{none}"
    );
    let facts: Value = serde_json::from_str(&run(&[&little[..], &["--json"]].concat())).unwrap();
    assert!(facts[0]["life"].is_null() && facts[0]["is_short"] == true && facts[0]["cold_drives"] == 0, "{facts}");
    let cold = run(&["--writes", "1", "--object", "8 MiB", "--filled", "0.02", "--set", "drive.endurance=none"]);
    assert!(cold.contains("of 12 drives were not written over twice before counting began"), "{cold}");
}
