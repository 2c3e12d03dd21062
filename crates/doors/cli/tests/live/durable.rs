//! What survives: kills while a drive is saved and forked beside its server, and sessions that are replayed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

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
    println!("lag beside whole-device requests: {}", server.ctl(&["latency"])["kinds"]["read"]["lag_us"]);
    assert!(after < before + (100 << 20), "{before} B before, {after} B after");
    server.stop();
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
    let journal = path.join(segments(&path).pop().unwrap());
    let mut bytes = std::fs::read(&journal).unwrap();
    bytes[20_000] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let checked = check();
    assert_eq!(checked.status.code(), Some(1), "{}", told(&checked));
    assert!(told(&checked).contains("whole records are dropped behind that"), "{}", told(&checked));
}
