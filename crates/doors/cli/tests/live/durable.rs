//! What survives: kills while a drive is saved and forked beside its server, and sessions that are replayed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wane_sim::Streams;

use super::client::{READ, WRITE};
use super::hostile::resident;
use super::programs::output_of;
use super::{Server, create, has, is_full, told, until_killed, wane};

fn done(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", told(&done));
    String::from_utf8(done.stdout).unwrap()
}

fn segments(drive: &Path) -> Vec<String> {
    let names = std::fs::read_dir(drive).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("journal.")).collect()
}

#[test]
fn another_process_saves_the_drive_while_its_clients_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &["--empty"]);
    let mut server = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
    let mut client = server.client();
    for number in 0..40u64 {
        assert_eq!(client.ask(WRITE, number << 18, 1 << 18, &vec![number as u8 + 1; 1 << 18]).0, 0);
    }
    let before = segments(&path);
    assert_eq!(server.ctl(&["checkpoint"])["saved"], true);
    let after = segments(&path);
    assert!(before.iter().all(|name| !after.contains(name)), "{before:?} {after:?}");
    assert_eq!(client.ask(WRITE, 0, 512, &[99; 512]).0, 0);
    // A fork has all that was answered.
    let forked = server.ctl(&["fork", "now.wane"]);
    let fork = folder.path().join("now.wane");
    assert_eq!(Path::new(forked["fork"].as_str().unwrap()), fork);
    assert!(server.refused(&["fork", "now.wane"]).contains("is there already"));
    assert_eq!(client.ask(WRITE, 0, 512, &[5; 512]).0, 0);
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    for (drive, first) in [(&path, 5), (&fork, 99)] {
        done(wane().args(["drive", "check", "--data"]).arg(drive));
        let server = Server::start(&[drive.to_str().unwrap(), "--speed", "max"]);
        let mut client = server.client();
        assert_eq!(client.ask(READ, 0, 512, &[]), (0, vec![first; 512]));
        let (errno, read) = client.ask(READ, 39 << 18, 1 << 18, &[]);
        assert!(errno == 0 && read.iter().all(|byte| *byte == 40));
        server.stop();
    }
    // Without a journal there is nothing to fork.
    let server = Server::start(&[path.to_str().unwrap(), "--speed", "max", "--durability", "none"]);
    assert!(server.refused(&["fork", "then.wane"]).contains("one without --durability none"));
    server.stop();
}

#[test]
fn kills_while_it_is_saved_and_forked_lose_nothing() {
    let kills = if is_full() { 60 } else { 5 };
    let mut stream = Streams::new(7).stream("kills");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &["--empty"]);
    let mut held = vec![0u8; 2100];
    let mut forks = 0;
    for kill in 0..kills {
        let mut server = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
        let mut client = server.client();
        let (errno, found) = client.ask(READ, 0, 512 * held.len() as u32, &[]);
        assert_eq!(errno, 0);
        for (sector, fill) in found.chunks(512).zip(&held) {
            assert!(sector.iter().all(|byte| byte == fill), "kill {kill}: {} in place of {fill}", sector[0]);
        }
        let fork = folder.path().join(format!("fork-{kill}.wane"));
        let (first, second) = (stream.below(40) as f64 / 1e3, (40 + stream.below(260)) as f64 / 1e3);
        let command = format!(
            "exec >/dev/null 2>&1; {wane} ctl {control} checkpoint & sleep {first}; {wane} ctl {control} fork {fork} & sleep {second}; kill -9 {pid}; wait",
            wane = env!("CARGO_BIN_EXE_wane"),
            control = server.path("control").display(),
            fork = fork.display(),
            pid = server.process.id(),
        );
        let mut killer = Command::new("sh").args(["-c", &command]).spawn().unwrap();
        let (last, fill) = until_killed(&mut client, &mut stream, &mut held);
        killer.wait().unwrap();
        server.process.wait().unwrap();
        if fork.exists() {
            forks += 1;
            done(wane().args(["drive", "check", "--data"]).arg(&fork));
        }
        let mut looked = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
        let found = looked.client().ask(READ, 0, 512 * held.len() as u32, &[]).1;
        if !last.is_empty() && found[512 * last.start..512 * last.end].iter().all(|byte| *byte == fill) {
            held[last].fill(fill);
        }
        looked.process.kill().unwrap();
        looked.process.wait().unwrap();
    }
    assert!(forks > 0, "each fork came after the kill");
}

/// Requests by what they are and when they ended, with their number and when they came.
type Rows = BTreeMap<(String, u64, u64, u64), (u64, u64)>;

fn rows(text: &str, columns: [usize; 5]) -> Rows {
    let mut rows = Rows::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |column: usize| fields[columns[column]].parse::<u64>().unwrap();
        let kind = fields[columns[0]].to_owned();
        if !["read", "write", "flush", "trim"].contains(&kind.as_str()) {
            continue;
        }
        rows.entry((kind, number(1), number(2), number(4))).or_insert((0, number(3))).0 += 1;
    }
    rows
}

#[test]
fn a_paced_session_under_stalls_is_replayed_to_the_nanosecond() {
    if !has(&["fio"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &[]);
    let drive = path.to_str().unwrap();
    let (log, again) = (folder.path().join("live.csv"), folder.path().join("again.csv"));
    let server = Server::start(&[drive, "--keep-journal", "--log", log.to_str().unwrap()]);
    let requests = if is_full() { "40000" } else { "4000" };
    let text = r#"
        cd "$(mktemp -d)"
        fio --name=s --ioengine=nbd --uri="$uri" --rw=randrw --bs=4k --iodepth=32 --fsync=50 --number_ios="$requests" --size=60M --output=fio.txt & f=$!
        while kill -0 "$f" 2>/dev/null; do
            sleep "0.0$((RANDOM % 9))"; kill -STOP "$pid"; sleep "0.0$((RANDOM % 4))"; kill -CONT "$pid"
        done
        wait "$f""#;
    output_of(&server, text, &[("pid", &server.process.id().to_string()), ("requests", requests)]);
    server.stop();
    assert!(!segments(&path).is_empty(), "the journal stays");
    let history = done(wane().args(["drive", "show", drive]));
    assert!(history.contains("served "), "{history}");
    done(wane().args(["drive", "replay", drive, "--log", again.to_str().unwrap()]));
    let lived = rows(&std::fs::read_to_string(&log).unwrap(), [2, 3, 4, 5, 6]);
    let replayed = rows(&std::fs::read_to_string(&again).unwrap(), [1, 2, 3, 4, 5]);
    assert!(lived.len() > 2000, "{}", lived.len());
    for (row, times) in &lived {
        assert_eq!(replayed.get(row), Some(times), "{row:?}");
    }
    // At an instant, as a drive of its own.
    let mut ends: Vec<u64> = lived.keys().map(|row| row.3).collect();
    ends.sort_unstable();
    let (middle, then) = (ends[ends.len() / 2], folder.path().join("then.wane"));
    let until = format!("{middle} ns");
    let json = done(wane().args(["drive", "replay", drive, "--json", "--until", &until, "--to"]).arg(&then));
    let facts: serde_json::Value = serde_json::from_str(&json).unwrap();
    let count = facts["replayed"]["requests"].as_u64().unwrap();
    assert!(count > 500 && count < lived.len() as u64, "{count}");
    done(wane().args(["drive", "check", "--data"]).arg(&then));
    let none = wane().args(["drive", "replay"]).arg(&then).output().unwrap();
    assert!(none.status.code() == Some(2) && super::told(&none).contains("--keep-journal"), "it has no journal");
}

#[test]
fn long_requests_beside_paced_reads_hold_no_memory() {
    if !has(&["fio"]) {
        return;
    }
    let server = Server::start(&["--preset", "tiny", "--set", "drive.endurance=100000"]);
    let pid = server.process.id();
    let text = r#"
        cd "$(mktemp -d)"
        run() { fio --ioengine=nbd --uri="$uri" --verify_state_save=0 --output=out.txt "$@" || { cat out.txt; exit 1; }; }
        run --name=w --rw=write --bs=32M --iodepth=2 --size=64M --loops=2 --name=t --rw=trim --bs=32M --size=64M --loops=2 --name=r --rw=randread --bs=4k --size=64M --rate_iops=400 --time_based --runtime=$seconds"#;
    output_of(&server, text, &[("seconds", "1")]);
    let before = resident(pid);
    output_of(&server, text, &[("seconds", if is_full() { "20" } else { "2" })]);
    let after = resident(pid);
    println!("lag beside whole-device requests: {}", server.ctl(&["latency", "--json"])["kinds"]["read"]["lag_us"]);
    assert!(after < before + (100 << 20), "{before} B before, {after} B after");
    server.stop();
}

/// The newest segment of a drive's journal, and its bytes up to the last that is not zero.
fn newest(drive: &Path) -> (PathBuf, Vec<u8>) {
    let number = |name: &String| name["journal.".len()..].parse::<u64>().unwrap();
    let path = drive.join(segments(drive).into_iter().max_by_key(number).unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1);
    (path, bytes)
}

#[test]
fn a_record_that_a_kill_tore_is_cut_off_whatever_its_client_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &["--empty"]);
    let mut server = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
    let mut client = server.client();
    assert_eq!(client.ask(WRITE, 0, 512, &[7; 512]).0, 0);
    // Lengths and numbers of records at once, wherever one looks.
    let numbers = 100_000u64.to_le_bytes().repeat(1 << 17);
    assert_eq!(client.ask(WRITE, 1 << 20, 1 << 20, &numbers).0, 0);
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let (segment, bytes) = newest(&path);
    std::fs::write(segment, &bytes[..bytes.len() - (1 << 18)]).unwrap();
    let checked = done(wane().args(["drive", "check"]).arg(&path));
    assert!(checked.contains("nobody can tell whether others followed"), "{checked}");
    let server = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
    assert_eq!(server.client().ask(READ, 0, 512, &[]), (0, vec![7; 512]));
    assert_eq!(server.client().ask(READ, 1 << 20, 512, &[]), (0, vec![0; 512]), "it was not acknowledged whole");
    server.stop();
}

#[test]
fn a_journal_that_was_closed_is_not_taken_for_whole_when_its_end_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &["--empty"]);
    let check = |more: &[&str]| wane().args(["drive", "check"]).arg(&path).args(more).output().unwrap();
    let server = Server::start(&[path.to_str().unwrap(), "--speed", "max", "--keep-journal"]);
    for number in 0..4 {
        assert_eq!(server.client().ask(WRITE, 4096 * number, 4096, &[7; 4096]).0, 0);
    }
    server.stop();
    let json: serde_json::Value = serde_json::from_slice(&check(&["--json"]).stdout).unwrap();
    let (end, unknown) = (&json["journal"]["is_end_known"], &json["journal"]["records_not_known_on_disk"]);
    assert_eq!((end.as_bool(), unknown.as_u64()), (Some(true), Some(0)), "{json}");
    let (segment, bytes) = newest(&path);
    for length in (68..bytes.len()).step_by(977) {
        std::fs::write(&segment, &bytes[..length]).unwrap();
        let cut = check(&[]);
        assert_eq!(cut.status.code(), Some(2), "{length}: {}", told(&cut));
    }
    std::fs::write(&segment, &bytes[..68]).unwrap();
    assert!(told(&check(&[])).contains("was cut off, or is an older copy"), "{}", told(&check(&[])));
}

#[test]
fn whole_records_behind_a_torn_one_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &["--empty"]);
    let mut server = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
    let mut client = server.client();
    for number in 0..20u64 {
        assert_eq!(client.ask(WRITE, 4096 * number, 4096, &[7; 4096]).0, 0);
    }
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let check = || wane().args(["drive", "check", "--data"]).arg(&path).output().unwrap();
    assert!(check().status.success(), "a kill tears nothing: {}", told(&check()));
    let (journal, mut bytes) = newest(&path);
    bytes[20_000] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let checked = check();
    assert_eq!(checked.status.code(), Some(1), "{}", told(&checked));
    assert!(told(&checked).contains("whole records are dropped behind that"), "{}", told(&checked));
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_waits_for_what_a_process_had_begun_that_is_gone() {
    if !has(&["flock"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.wane");
    create(&path, &["--empty"]);
    let lock = path.join("lock");
    // As a server that is killed leaves the process that saves its drive.
    let mut command = Command::new("sh");
    command.args(["-c", "exec 9>>\"$0\" 5<&0; flock 9; cat <&5 & echo $!"]).arg(&lock).stdout(Stdio::piped());
    let mut gone = command.stdin(Stdio::piped()).spawn().unwrap();
    let heir_lives = gone.stdin.take().unwrap();
    let mut heir = String::new();
    BufReader::new(gone.stdout.take().unwrap()).read_line(&mut heir).unwrap();
    assert!(gone.wait().unwrap().success());
    let mut waits =
        wane().args(["drive", "check"]).arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let has_it_open = |of: u32| {
        let files = std::fs::read_dir(format!("/proc/{of}/fd")).into_iter().flatten().flatten();
        files.map(|file| std::fs::read_link(file.path()).unwrap_or_default()).any(|file| file == lock)
    };
    while waits.try_wait().unwrap().is_none() && !has_it_open(waits.id()) {
        std::thread::yield_now();
    }
    drop(heir_lives);
    let waited = waits.wait_with_output().unwrap();
    assert!(waited.status.success(), "{}", told(&waited));
}

#[test]
fn a_later_server_is_not_taken_for_one_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (sockets, other) = (folder.path().join("s"), folder.path().join("other"));
    std::fs::create_dir(&other).unwrap();
    let (killed, served) = (folder.path().join("d.wane"), other.join("d.wane"));
    create(&killed, &["--empty"]);
    create(&served, &["--empty"]);
    let serve =
        |path: &Path| Server::start(&[path.to_str().unwrap(), "--speed", "max", "--dir", sockets.to_str().unwrap()]);
    let mut server = serve(&killed);
    assert_eq!(server.client().ask(WRITE, 0, 512, &[7; 512]).0, 0);
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    // It takes the place of the other, and its drive has the same name.
    let server = serve(&served);
    assert_eq!(server.client().ask(WRITE, 0, 512, &[9; 512]).0, 0);
    let asked = wane().args(["ctl", killed.to_str().unwrap(), "status"]).output().unwrap();
    assert!(asked.status.code() == Some(2) && told(&asked).contains("has ended without a word"), "{}", told(&asked));
    if cfg!(target_os = "linux") {
        done(wane().args(["fs", "mkfs", "--segment", "256 KiB", "--force"]).arg(&killed));
    }
    assert_eq!(server.client().ask(READ, 0, 512, &[]), (0, vec![9; 512]));
    // The killed one is served at once, although something listens where it was.
    let own = Server::start(&[killed.to_str().unwrap(), "--speed", "max"]);
    own.stop();
    server.stop();
}

#[test]
fn a_server_that_is_killed_while_it_is_saved_is_started_again_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, sockets) = (folder.path().join("d.wane"), folder.path().join("s"));
    create(&path, &["--empty"]);
    for round in 0..6u8 {
        let mut server = Server::start(&[path.to_str().unwrap(), "--speed", "max", "--dir", sockets.to_str().unwrap()]);
        let mut client = server.client();
        if round > 0 {
            assert_eq!(client.ask(READ, 0, 512, &[]), (0, vec![round; 512]));
        }
        for number in 0..8 {
            assert_eq!(client.ask(WRITE, number << 20, 1 << 20, &[round + 1; 1 << 20]).0, 0);
        }
        let mut saves = wane();
        saves.args(["ctl", path.to_str().unwrap(), "checkpoint"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut saves = saves.spawn().unwrap();
        // Until the other process is there, or has been.
        let children = format!("/proc/{0}/task", server.process.id());
        let has_child = || {
            let mut tasks = std::fs::read_dir(&children).into_iter().flatten().flatten();
            tasks.any(|task| std::fs::read_to_string(task.path().join("children")).is_ok_and(|all| !all.is_empty()))
        };
        while cfg!(target_os = "linux") && !has_child() && saves.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        saves.wait().unwrap();
    }
}
