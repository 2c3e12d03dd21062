//! Real programs on a served drive, each skipped where it is missing.

use std::process::{Command, Output};

use super::{Server, create, has, is_full, skipped, told};

/// Runs a script by bash beside a server, with Debian's own Python first, for which libnbd is made.
pub(super) fn script(server: &Server, text: &str, more: &[(&str, &str)]) -> Output {
    let path = format!("/usr/bin:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("timeout");
    command.args(["300", "bash", "-euc", text]).env("PATH", path).env("wane", env!("CARGO_BIN_EXE_wane"));
    command.env("uri", server.uri()).env("socket", server.path("socket")).env("control", server.path("control"));
    command.envs(more.iter().copied()).output().unwrap()
}

/// Runs a script that must succeed, and returns what it printed.
pub(super) fn output_of(server: &Server, text: &str, more: &[(&str, &str)]) -> String {
    let ended = script(server, text, more);
    assert!(ended.status.success(), "{}", told(&ended));
    String::from_utf8(ended.stdout).unwrap()
}

/// Questions whose answers the protocol fixes, put by libnbd's shell.
const EDGES: &str = r#"
import errno, nbd
def err(f):
    try:
        f()
        return "ok"
    except nbd.Error as error:
        return errno.errorcode.get(error.errnum, str(error.errnum))
h.pwrite(b"x" * 4096, 0, nbd.CMD_FLAG_FUA)
print("fua", h.pread(4096, 0) == b"x" * 4096)
h.zero(4096, 0, nbd.CMD_FLAG_NO_HOLE)
print("zero", h.pread(4096, 0) == bytes(4096))
h.pwrite(b"y" * 8192, 0)
print("fast zero", err(lambda: h.zero(4096, 0, nbd.CMD_FLAG_FAST_ZERO)), h.pread(8192, 0) == bytes(4096) + b"y" * 4096)
h.trim(4096, 4096, nbd.CMD_FLAG_FUA)
print("trim", h.pread(8192, 0) == bytes(8192))
h.cache(4096, 0)
h.flush()
got = []
h.block_status(8192, 0, lambda context, offset, entries, error: got.append((context, offset, entries[1::2])))
print("status", got[0][0], got[0][1], set(got[0][2]))
chunks = []
h.pread_structured(16384, 0, lambda data, offset, status, error: chunks.append((offset, len(data))), nbd.CMD_FLAG_DF)
print("one chunk", chunks)
h.set_strict_mode(0)
size = h.get_size()
print("beyond", err(lambda: h.pread(4096, size)), err(lambda: h.pwrite(bytes(4096), size)), err(lambda: h.zero(4096, size)))
print("across", err(lambda: h.pread(4096, size - 512)), err(lambda: h.pwrite(bytes(4096), size - 512)))
h.pwrite(b"z" * (32 << 20), 512)
print("long", h.pread(32 << 20, 512) == b"z" * (32 << 20))
"#;

#[test]
fn clients_get_the_answers_that_nbdkit_gives() {
    if !has(&["nbdkit", "nbdsh", "nbdinfo"]) {
        return;
    }
    let server = Server::tiny(&[]);
    let ask = "nbdsh --base-allocation -u \"$uri\" -c \"$edges\"";
    let ours = output_of(&server, ask, &[("edges", EDGES)]);
    let theirs = output_of(&server, &format!("nbdkit -U - memory 64M --run '{ask}' 2>/dev/null"), &[("edges", EDGES)]);
    assert_eq!(ours, theirs);
    assert!(ours.contains("beyond EINVAL ENOSPC ENOSPC") && ours.contains("long True"), "{ours}");
    let shown = output_of(&server, "nbdinfo \"$uri\"; nbdinfo --map=wane:wear \"$uri\"; nbdinfo --list \"$uri\"", &[]);
    for wanted in ["wane:wear", "block_size_minimum: 512", "can_multi_conn: true", "export=\"tiny\""] {
        assert!(shown.contains(wanted), "{shown}");
    }
    server.stop();
}

#[test]
fn fio_verifies_what_it_wrote() {
    if !has(&["fio"]) {
        return;
    }
    let server = Server::tiny(&[]);
    let size = if is_full() { "48M" } else { "8M" };
    let text = r#"
        cd "$(mktemp -d)"
        run() { fio --bs=4k "$@" --verify_state_save=0 --ioengine=nbd --uri="$uri" >"$out" 2>&1 || { cat "$out"; exit 1; }; }
        out=$(mktemp); trap 'rm -f "$out"' EXIT
        run --name=v --rw=randwrite --iodepth=16 --size=$size --verify=crc32c --do_verify=1 --verify_fatal=1
        run --name=b --rw=randwrite --bsrange=512-64k --bs_unaligned=0 --blockalign=512 --iodepth=8 --size=$size --verify=md5 --do_verify=1
        run --name=t --rw=trimwrite --iodepth=16 --size=$size
        run --name=s --rw=randwrite --iodepth=1 --fsync=16 --size=$size --io_size=2M
        run --name=m --rw=randrw --iodepth=4 --numjobs=4 --size=4M"#;
    output_of(&server, text, &[("size", size)]);
    server.stop();
}

#[test]
fn images_come_back_as_they_went() {
    if !has(&["nbdcopy", "qemu-io", "qemu-img"]) {
        return;
    }
    let server = Server::tiny(&[]);
    let text = r#"
        d=$(mktemp -d); trap 'rm -r "$d"' EXIT
        head -c 67108864 /dev/urandom >"$d/src"
        nbdcopy --flush --connections=2 "$d/src" "$uri"; nbdcopy "$uri" "$d/back"; cmp "$d/src" "$d/back"
        qemu-img compare -f raw -F raw "$d/src" "$uri"
        qemu-io -f raw "$uri" -c 'write -P 0xab 0 1M' -c 'read -P 0xab 0 1M' -c 'write -f -P 1 2M 64k' -c 'write -z 1M 1M' \
            -c 'write -z -u 3M 1M' -c 'discard 4M 1M' -c flush -c map -c 'aio_write -P 2 8M 64k' -c aio_flush
        qemu-img map --output=json "$uri"
        qemu-img bench -f raw -c 5000 -d 16 -s 4096 -w --flush-interval=64 "$uri""#;
    output_of(&server, text, &[]);
    server.stop();
}

/// Whether the export can be mounted here; if not, the test is skipped.
fn can_mount(programs: &[&str]) -> bool {
    if !has(&[&["nbdfuse", "losetup", "mkfs.ext4", "e2fsck", "fusermount3"], programs].concat()) {
        return false;
    }
    // Sandboxes show devices that they do not let anyone use.
    let text = r#"
        test $(id -u) = 0; exec 3<>/dev/fuse; exec 3>&-
        d=$(mktemp -d); trap 'umount "$d/m" 2>/dev/null; rm -rf "$d"' EXIT; mkdir "$d/m"
        truncate -s 8M "$d/f"; mkfs.ext4 -q "$d/f"; mount -o loop "$d/f" "$d/m""#;
    let can = Command::new("timeout").args(["20", "bash", "-euc", text]).output().unwrap().status.success();
    if !can {
        skipped("mounts need root, and /dev/fuse and loop devices that work");
    }
    can
}

/// Functions that mount the export below $d and take it away again, for scripts. A file system over a drive without power cannot be left in order,
/// so `lose` is not asked whether it succeeds.
const MOUNT: &str = r#"
    d=$(mktemp -d); mkdir "$d/n" "$d/m"; loop=; fuse=
    attach() {
        nbdfuse "$d/n" "$uri" & fuse=$!
        for _ in $(seq 100); do [ -e "$d/n/nbd" ] && break; sleep 0.05; done
        loop=$(losetup -f --show "$d/n/nbd")
    }
    detach() { losetup -d "$loop"; loop=; fusermount3 -u "$d/n" || fusermount3 -uz "$d/n"; wait "$fuse" || true; fuse=; }
    lose() { umount "$d/m" || umount -l "$d/m"; detach; } 2>/dev/null
    leave() { umount -l "$d/m"; [ -z "$loop" ] || losetup -d "$loop"; fusermount3 -uz "$d/n"; [ -z "$fuse" ] || kill "$fuse"; rm -rf "$d"; }
    trap '{ leave; } >/dev/null 2>&1 || true' EXIT
    ctl() { "$wane" ctl "$control" "$@" >/dev/null; }
    return_power() {
        ctl power-on; attach
        e2fsck -fp "$loop" >"$d/fsck" || [ $? -le 1 ] || { cat "$d/fsck"; return 1; }
    }
    attach
"#;

/// A file system whose files are all equal, and whose free space is trimmed, after its drive was aged below it.
#[test]
fn a_mounted_file_system_ages() {
    if !can_mount(&["fstrim"]) {
        return;
    }
    let server = Server::start(&[
        "--preset",
        "tiny",
        "--capacity",
        // XFS needs 300 MB.
        "384 MiB",
        "--set",
        "drive.endurance=3000",
        "--speed",
        "max",
    ]);
    let kinds: &[(&str, &str)] =
        if is_full() { &[("ext4", "-q"), ("xfs", "-q -f"), ("btrfs", "-q -f")] } else { &[("ext4", "-q")] };
    for (kind, options) in kinds {
        if !has(&[&format!("mkfs.{kind}")]) {
            continue;
        }
        let age = format!("{}", 3 + server.ctl(&["status"])["drive_writes"].as_f64().unwrap().ceil() as u32);
        let text = r#"
            "mkfs.$kind" $options "$loop"; mount -o discard "$loop" "$d/m"
            for n in $(seq 40); do head -c 1000000 /dev/urandom >"$d/m/$n"; done
            (cd "$d/m" && md5sum [0-9]* >sums); sync -f "$d/m"; fstrim "$d/m"
            ctl age --until "drive-writes=$age"
            echo 3 >/proc/sys/vm/drop_caches; (cd "$d/m" && md5sum --quiet -c sums)
            umount "$d/m"; [ "$kind" != ext4 ] || e2fsck -fn "$loop" >/dev/null
            held=$(nbdinfo --map --totals "$uri" | awk '/data/ {print $1}'); echo "held $held"
            detach"#;
        let text = format!("{MOUNT}{text}");
        let told = output_of(&server, &text, &[("kind", kind), ("options", options), ("age", &age)]);
        let held = told.lines().find_map(|line| line.strip_prefix("held ")?.parse::<u64>().ok());
        // 40 MB of files, and the file system's own structures.
        assert!(held.is_none_or(|held| (38 << 20..110 << 20).contains(&held)), "{kind}: {told}");
    }
    server.stop();
}

/// Power goes in the middle of writes, at instants that the seed draws. After each cut the file system is mounted and checked, and every file that
/// was synced is whole.
#[test]
fn synced_files_survive_power_cuts() {
    if !can_mount(&[]) {
        return;
    }
    let server = Server::start(&[
        "--preset",
        "tiny",
        "--capacity",
        "128 MiB",
        "--set",
        "drive.endurance=3000",
        "--speed",
        "10x",
    ]);
    let cuts = if is_full() { "10" } else { "2" };
    let text = r#"
        mkfs.ext4 -q "$loop"
        for cut in $(seq "$cuts"); do
            mount "$loop" "$d/m"
            (n=0; while head -c 200000 /dev/urandom >"$d/m/$cut.$n" && sync "$d/m/$cut.$n" && sync "$d/m"; do
                md5sum "$d/m/$cut.$n" >>"$d/synced"; n=$((n + 1)); done) 2>/dev/null & writer=$!
            sleep "0.$((20 + cut * 7 % 60))"
            ctl power-cut --seed "$cut"; wait "$writer" || true; lose
            return_power
            e2fsck -fn "$loop" >"$d/fsck" || { cat "$d/fsck"; exit 1; }
            mount "$loop" "$d/m"; md5sum --quiet -c "$d/synced"; umount "$d/m"
        done
        echo "synced $(wc -l <"$d/synced")"; detach"#;
    let told = output_of(&server, &format!("{MOUNT}{text}"), &[("cuts", cuts)]);
    let synced: u32 = told.lines().find_map(|line| line.strip_prefix("synced ")?.parse().ok()).unwrap();
    assert!(synced > 0, "{told}");
    server.stop();
}

/// Commits rows one by one until the drive fails, and writes each number that was committed to a file elsewhere.
const SQLITE: &str = r#"
import os, sqlite3, sys
path, noted = sys.argv[1:]
with open(noted, "a") as note:
    try:
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute("create table if not exists t (n integer primary key, b blob)")
        n = (db.execute("select max(n) from t").fetchone()[0] or 0) + 1
        while True:
            db.execute("insert into t values (?, ?)", (n, os.urandom(3000)))
            note.write(f"{n}\n"); note.flush(); n += 1
    except (sqlite3.Error, OSError) as error:
        print(error)
"#;

#[test]
fn sqlite_keeps_every_committed_transaction() {
    if !can_mount(&["python3"]) {
        return;
    }
    let server = Server::start(&[
        "--preset",
        "tiny",
        "--capacity",
        "128 MiB",
        "--set",
        "drive.endurance=3000",
        "--speed",
        "10x",
    ]);
    let cuts = if is_full() { "10" } else { "2" };
    let text = r#"
        mkfs.ext4 -q "$loop"; touch "$d/noted"
        for cut in $(seq "$cuts"); do
            mount "$loop" "$d/m"
            python3 -c "$code" "$d/m/db" "$d/noted" & writer=$!
            sleep "0.$((30 + cut * 13 % 60))"
            ctl power-cut --seed "$cut"; wait "$writer" || true; lose
            return_power
            mount "$loop" "$d/m"
            python3 - "$d/m/db" "$d/noted" <<'CHECK'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("pragma integrity_check").fetchone() == ("ok",)
held = {n for n, in db.execute("select n from t")}
missing = {int(line) for line in open(sys.argv[2])} - held
assert not missing, f"committed and lost: {sorted(missing)[:9]}"
CHECK
            umount "$d/m"
        done
        echo "committed $(wc -l <"$d/noted")"; detach"#;
    let told = output_of(&server, &format!("{MOUNT}{text}"), &[("cuts", cuts), ("code", SQLITE)]);
    let committed: u32 = told.lines().find_map(|line| line.strip_prefix("committed ")?.parse().ok()).unwrap();
    assert!(committed > 0, "{told}");
    server.stop();
}

/// Where the programs of `PostgreSQL` lie; if nowhere, the test is skipped.
fn postgresql() -> Option<String> {
    let found = Command::new("sh").args(["-c", "ls -d /usr/lib/postgresql/*/bin | tail -1"]).output().unwrap();
    let bin = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    if bin.is_empty() || !Command::new("id").arg("postgres").output().unwrap().status.success() {
        skipped("PostgreSQL and its user are missing");
        return None;
    }
    Some(bin)
}

/// Functions for a database in $d/m/pg, for scripts.
const POSTGRESQL: &str = r#"
    pg() { su postgres -s /bin/bash -c "cd /; PATH=$bin:\$PATH; $*"; }
    start() { pg "pg_ctl -w -t 120 -D $d/m/pg -l $d/m/pg/log -o '-k $d/m/pg -c listen_addresses= -c shared_buffers=32MB' start >/dev/null" || { tail -3 "$d/m/pg/log"; return 1; }; }
    rows() { pg "psql -Ath $d/m/pg postgres -c 'select count(*) from pgbench_history'"; }
"#;

/// `PostgreSQL` under pgbench, with power cuts. Each transaction of pgbench leaves a row in its history, so what was told to the client is counted
/// and compared; then pages are lost below it.
#[test]
fn postgresql_keeps_every_committed_transaction() {
    if !is_full() {
        return skipped("long: make live-test runs it");
    }
    if !can_mount(&["su"]) {
        return;
    }
    let Some(bin) = postgresql() else { return };
    let server = Server::start(&[
        "--preset",
        "tiny",
        "--capacity",
        "512 MiB",
        "--set",
        "drive.endurance=3000",
        "--speed",
        "10x",
    ]);
    let text = r#"
        chmod 755 "$d"; mkfs.ext4 -q "$loop"; mount "$loop" "$d/m"; mkdir "$d/m/pg"; chown postgres "$d/m/pg"
        pg "initdb -D $d/m/pg >/dev/null"; start
        pg "psql -qh $d/m/pg postgres -c 'create table seen (n serial primary key, note text)'"
        pg "pgbench -qih $d/m/pg -s 2 postgres 2>/dev/null"
        for cut in $(seq 10); do
            main=$(head -1 "$d/m/pg/postmaster.pid")
            before=$(rows)
            pg "pgbench -h $d/m/pg -n -c 2 -T 60 -l --log-prefix=/tmp/wane-pg-$$-$cut postgres" >/dev/null 2>&1 & bench=$!
            sleep "1.$((cut * 17 % 90 + 10))"
            ctl power-cut --seed "$cut"; wait "$bench" || true
            told=$(cat /tmp/wane-pg-$$-$cut* | wc -l); rm -f /tmp/wane-pg-$$-$cut*
            # The machine would be off with the drive.
            kill -9 $(pgrep -P "$main") "$main" 2>/dev/null || true
            while kill -0 "$main" 2>/dev/null; do sleep 0.1; done; sleep 0.5; lose
            return_power
            mount "$loop" "$d/m"; start
            after=$(rows)
            echo "cut $cut: $before rows, $told told, $after rows"
            [ "$after" -ge $((before + told)) ]
        done
        pg "psql -qh $d/m/pg postgres -c 'checkpoint'"; pg "pg_ctl -D $d/m/pg stop >/dev/null"
        echo 3 >/proc/sys/vm/drop_caches
        ctl inject lost --rate '2 %'; start || echo "it does not start"
        pg "psql -h $d/m/pg postgres -c 'select sum(abalance) from pgbench_accounts'" 2>&1 | tail -1
        pg "pg_ctl -m immediate -D $d/m/pg stop" >/dev/null 2>&1 || true; lose"#;
    let told = output_of(&server, &format!("{MOUNT}{POSTGRESQL}{text}"), &[("bin", &bin)]);
    println!("{told}");
    assert!(told.contains("cut 10:"), "{told}");
    server.stop();
}

/// Functions that serve $drive, mount it below $d, and take both away. What waits for a killed server gets an error once nbdfuse is gone too.
const KILLED: &str = r#"
    d=$(mktemp -d); mkdir "$d/n" "$d/m"; chmod 755 "$d"; loop=; fuse=; server=; uri="nbd+unix:///?socket=$d/s/nbd.sock"
    leave() { kill -9 $server $fuse; umount -l "$d/m"; [ -z "$loop" ] || losetup -d "$loop"; fusermount3 -uz "$d/n"; wait; rm -rf "$d"; }
    trap '{ leave; } >/dev/null 2>&1 || true' EXIT
    attach() {
        "$wane" serve "$drive" --speed max --dir "$d/s" --quiet >/dev/null & server=$!
        for _ in $(seq 200); do nbdinfo --size "$uri" >/dev/null 2>&1 && break; sleep 0.1; done
        nbdfuse "$d/n" "$uri" & fuse=$!
        for _ in $(seq 100); do [ -e "$d/n/nbd" ] && break; sleep 0.05; done
        loop=$(losetup -f --show "$d/n/nbd")
    }
    detach() {
        { wait "$server" "$fuse"; umount "$d/m" || umount -l "$d/m"; losetup -d "$loop"; fusermount3 -uz "$d/n"; } 2>/dev/null || true
        server=; fuse=; loop=
    }
    attach
"#;

/// The server is killed below `PostgreSQL`, again and again: each transaction that was told to its client is there when the next server has done the
/// journal again, and the drive is whole at the end.
#[test]
fn postgresql_keeps_every_committed_transaction_when_the_server_is_killed() {
    if !can_mount(&["su", "nbdinfo", "pgrep"]) {
        return;
    }
    let Some(bin) = postgresql() else { return };
    let folder = tempfile::tempdir().unwrap();
    let drive = folder.path().join("pg.wane");
    create(&drive, &["--empty", "--capacity", "512 MiB", "--set", "drive.endurance=3000"]);
    let kills = if is_full() { "10" } else { "2" };
    let text = r#"
        mkfs.ext4 -q "$loop"; mount "$loop" "$d/m"; mkdir "$d/m/pg"; chown postgres "$d/m/pg"
        pg "initdb -D $d/m/pg >/dev/null"; start; pg "pgbench -qih $d/m/pg -s 2 postgres 2>/dev/null"
        for kill in $(seq "$kills"); do
            main=$(head -1 "$d/m/pg/postmaster.pid"); before=$(rows)
            pg "pgbench -h $d/m/pg -n -c 2 -T 60 -l --log-prefix=/tmp/wane-pg-$$-$kill postgres" >/dev/null 2>&1 & bench=$!
            sleep "1.$((kill * 17 % 90 + 10))"
            kill -9 "$server" "$fuse"; wait "$bench" || true
            told=$(cat /tmp/wane-pg-$$-$kill* | wc -l); rm -f /tmp/wane-pg-$$-$kill*
            # The programs of a machine that died are gone too.
            kill -9 $(pgrep -P "$main") "$main" 2>/dev/null || true
            while kill -0 "$main" 2>/dev/null; do sleep 0.1; done; detach
            attach; e2fsck -fp "$loop" >"$d/fsck" || [ $? -le 1 ] || { cat "$d/fsck"; exit 1; }
            mount "$loop" "$d/m"; start; after=$(rows)
            echo "kill $kill: $before rows, $told told, $after rows"
            [ "$told" -gt 0 ] && [ "$after" -ge $((before + told)) ]
        done
        pg "pg_ctl -m fast -D $d/m/pg stop >/dev/null"; umount "$d/m"; losetup -d "$loop"; loop=; fusermount3 -u "$d/n"; wait "$fuse" || true; fuse=
        "$wane" ctl "$drive" stop >/dev/null; wait "$server"; server=
        "$wane" drive check "$drive" --data >/dev/null; echo whole"#;
    let script = format!("{KILLED}{POSTGRESQL}{text}");
    let mut command = Command::new("timeout");
    command.args(["600", "bash", "-euc", &script]).env("wane", env!("CARGO_BIN_EXE_wane"));
    let ran = command.env("drive", &drive).env("bin", &bin).env("kills", kills).output().unwrap();
    let told = told(&ran);
    assert!(ran.status.success() && told.contains(&format!("kill {kills}:")) && told.contains("whole"), "{told}");
}
