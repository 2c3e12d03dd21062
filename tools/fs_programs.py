"""Programs that `tools/fs-test` runs on a mount of wane's file system: each uses it hard, and holds what it finds there against what it wrote.

A program that is not installed is skipped, and says so. Each has a limit of operations or of time, in `SECONDS` or in its words, and none may last
longer than `SECONDS_MAX`.
"""

import contextlib
import hashlib
import os
import random
import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
# No program of these lasts longer.
SECONDS_MAX = 900
# How long dbench, each kind of stress-ng, and pgbench write.
SECONDS = {"dbench": 15, "stress-ng": 2, "pgbench": 20}
# Files of fs_mark, each of 4 KiB and synchronized.
FS_MARK_FILES = 2000
# What fio writes at random in each of its ways.
FIO_BYTES = 128 << 20
SQLITE_ROWS = 60_000
PGBENCH_SCALE = 5
CLONE_COMMITS = 200

# What of stress-ng's class `filesystem` asks a file system for what it has, with the switch that names it.
STRESSORS = [
    "access",
    "chdir",
    "chmod",
    "chown",
    "copy-file",
    "dentry",
    "dir",
    "dirdeep",
    "dirmany",
    "fallocate",
    "fcntl",
    "fiemap",
    "filename",
    "flock",
    "fpunch",
    "fsize",
    "fstat",
    "getdent",
    "hdd",
    "inode-flags",
    "io",
    "iomix",
    "lease",
    "link",
    "locka",
    "lockf",
    "lockofd",
    "mknod",
    "open",
    "readahead",
    "rename",
    "seek",
    "symlink",
    "sync-file",
    "touch",
    "utime",
    "xattr",
]


class FailureError(Exception):
    """Something is not as it should be."""


class MissingError(Exception):
    """A program is not installed."""


@dataclass(frozen=True)
class Bench:
    """Where programs run."""

    wane: str
    # The mount's directory, and one outside of it.
    point: Path
    folder: Path
    seed: int


def run(*words: object, **given: object) -> str:
    """Run a command that has to succeed, and return what it printed."""
    told = [str(word) for word in words]
    try:
        done = subprocess.run(told, capture_output=True, text=True, check=False, timeout=SECONDS_MAX, **given)  # type: ignore[call-overload]
    except subprocess.TimeoutExpired as error:
        raise FailureError(f"{' '.join(told)}: it takes more than {SECONDS_MAX} s") from error
    if done.returncode != 0:
        raise FailureError(f"{' '.join(told)}: {done.returncode}: {(done.stdout + done.stderr)[-3000:]}")
    return str(done.stdout + done.stderr)


def need(name: str) -> str:
    """The path of a program."""
    if found := shutil.which(name):
        return found
    raise MissingError(f"{name} is not installed")


def pick(pattern: str, text: str) -> str:
    """What a pattern finds, which has to be there."""
    if found := re.search(pattern, text):
        return found.group(1)
    raise FailureError(f"{pattern} is not in: {text[-3000:]}")


def dbench(bench: Bench) -> str:
    """Calls of a file server's clients."""
    load = Path("/usr/share/dbench/client.txt")
    tool = need("dbench")
    told = run(tool, "-c", load, "-t", SECONDS["dbench"], "-D", bench.point, 4)
    if "ERROR" in told:
        raise FailureError(told[-3000:])
    return f"{pick(r'Throughput ([0-9.]+)', told)} MB/s with 4 clients"


def fs_mark(bench: Bench) -> str:
    """Files that are synchronized before they are closed."""
    words = [
        "-d",
        bench.point,
        "-n",
        FS_MARK_FILES,
        "-s",
        4096,
        "-S",
        1,
        "-t",
        1,
        "-k",
        "-l",
        bench.folder / "fs_mark.log",
    ]
    told = run(need("fs_mark"), *words)
    there = sum(1 for file in bench.point.rglob("*") if file.is_file() and file.stat().st_size == 4096)
    if there != FS_MARK_FILES:
        raise FailureError(f"{there} files of 4 KiB are there, of {FS_MARK_FILES}")
    rate = pick(r"\n\s*\d+\s+\d+\s+4096\s+([0-9.]+)", told)
    return f"{FS_MARK_FILES} files, {rate} a second"


def stress_ng(bench: Bench) -> str:
    """Many kinds of calls, which verify what they can."""
    tool, done, absent = need("stress-ng"), 0, []
    for kind in STRESSORS:
        words = [tool, "--temp-path", bench.point, f"--{kind}", 2, "--timeout", SECONDS["stress-ng"], "--verify"]
        ended = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True, check=False, timeout=SECONDS_MAX
        )
        # 3 and 4: this machine lacks what it needs.
        if ended.returncode in {3, 4}:
            absent.append(kind)
        elif ended.returncode != 0:
            raise FailureError(f"{kind}: {ended.returncode}: {(ended.stdout + ended.stderr)[-3000:]}")
        done += ended.returncode == 0
    return f"{done} kinds of calls" + (f", not here: {' '.join(absent)}" if absent else "")


def sqlite(bench: Bench) -> str:
    """Two databases, one for each kind of journal, with rows that are changed, removed and rolled back."""
    for journal in ["delete", "wal"]:
        file, draw = bench.point / f"{journal}.db", random.Random(bench.seed)
        rows: dict[int, bytes] = {}
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as base:
            base.execute(f"pragma journal_mode = {journal}")
            base.execute("create table kept (id integer primary key, held blob, digest text)")
            base.execute("create index by_digest on kept (digest)")
            for first in range(0, SQLITE_ROWS // 2, 500):
                base.execute("begin")
                changed = {first + n: draw.randbytes(draw.randrange(600)) for n in range(500)}
                changed |= {draw.randrange(first + 1): draw.randbytes(50) for _ in range(100)}
                for number, held in changed.items():
                    digest = hashlib.sha256(held).hexdigest()
                    base.execute("insert or replace into kept values (?, ?, ?)", (number, held, digest))
                if draw.random() < 0.1:
                    base.execute("rollback")
                else:
                    base.execute("commit")
                    rows |= changed
            base.execute("vacuum")
        with contextlib.closing(sqlite3.connect(file)) as base:
            if (told := base.execute("pragma integrity_check").fetchall()) != [("ok",)]:
                raise FailureError(f"{journal}: {told[:10]}")
            if dict(base.execute("select id, held from kept")) != rows:
                raise FailureError(f"{journal}: the rows are others than were committed")
    return f"{sqlite3.sqlite_version}, {SQLITE_ROWS} rows, integrity_check ok"


class Postgres:
    """A cluster of PostgreSQL on a mount, which has checksums of its pages and listens on a Unix socket alone."""

    def __init__(self, data: Path, sockets: Path) -> None:
        """Find the programs, the newest ones that are there."""
        bins = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        if not bins:
            raise MissingError("PostgreSQL is not installed")
        self.bin, self.data, self.sockets = bins[-1], data, sockets
        sockets.mkdir(exist_ok=True)
        shutil.chown(sockets, "postgres")
        self.user = {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": "/"}
        self.server: subprocess.Popen[bytes] | None = None

    def run(self, tool: str, *words: object) -> str:
        """Run one of its programs as its user."""
        return run(self.bin / tool, *words, **self.user)

    def at(self) -> list[object]:
        """How clients reach it."""
        return ["-h", self.sockets, "-d", "postgres"]

    def client(self, tool: str) -> list[str]:
        """How a client is called."""
        return [str(self.bin / tool)]

    def make(self, *options: str) -> None:
        """Make the cluster."""
        self.data.mkdir()
        shutil.chown(self.data, "postgres", "postgres")
        self.data.chmod(0o700)
        self.run("initdb", "-D", self.data, "--data-checksums", "--auth=trust", "-E", "UTF8", "--locale=C", *options)

    def start(self, *options: str) -> None:
        """Start the server, and wait until it answers, which is after its recovery."""
        # It is of a server that was killed.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        given = ["listen_addresses=", f"unix_socket_directories={self.sockets}", "shared_buffers=16MB", *options]
        words = [
            str(self.bin / "postgres"),
            "-D",
            str(self.data),
            *[word for option in given for word in ("-c", option)],
        ]
        with (self.sockets.parent / "postgres.log").open("ab") as log:
            self.server = subprocess.Popen(words, stdout=log, stderr=log, **self.user)  # type: ignore[call-overload]
        for _ in range(600):
            if self.server.poll() is not None:
                break
            asked = [str(self.bin / "pg_isready"), "-q", "-h", str(self.sockets)]
            if subprocess.run(asked, check=False, cwd="/").returncode == 0:
                return
            time.sleep(0.1)
        told = (self.sockets.parent / "postgres.log").read_text(errors="replace")
        raise FailureError(f"PostgreSQL does not start: {told[-3000:]}")

    def ask(self, query: str) -> str:
        """Ask it by psql."""
        return self.run("psql", *self.at(), "-XAtq", "-c", query).strip()

    def stop(self) -> None:
        """Stop it with all saved."""
        if self.server:
            self.run("pg_ctl", "-D", self.data, "stop", "-m", "fast")
            self.server.wait()
            self.server = None

    def kill(self) -> None:
        """Kill its server, whose other processes end then."""
        if self.server:
            self.server.kill()
            self.server.wait()
            self.server = None

    def check(self) -> None:
        """Hold tables against their indexes, and pages against their checksums; it is stopped afterwards."""
        self.ask("create extension if not exists amcheck")
        self.run("pg_amcheck", *self.at(), "--heapallindexed")
        self.stop()
        self.run("pg_checksums", "--check", "-D", self.data)


def postgresql(bench: Bench) -> str:
    """Tables that are filled, and changed by four clients."""
    base = Postgres(bench.point / "base", bench.folder / "sockets")
    base.make()
    base.start()
    try:
        base.run("pgbench", "-h", base.sockets, "-i", "-q", "-s", PGBENCH_SCALE, "postgres")
        told = base.run("pgbench", "-h", base.sockets, "-c", 4, "-T", SECONDS["pgbench"], "postgres")
        sums = base.ask(
            "select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)"
        )
        if sums != "t":
            raise FailureError("pgbench: the accounts do not have what was paid in")
        version = base.ask("show server_version").split()[0]
        base.check()
    finally:
        base.kill()
    return f"{version}, {pick(r'tps = ([0-9]+)', told)} transactions a second, pg_amcheck and pg_checksums find nothing"


def fio(bench: Bench) -> str:
    """Writes at random, read back and verified, by the kernel's cache and without it."""
    tool, told = need("fio"), []
    for name, words in [
        ("cached", ["--ioengine=psync", "--fsync=128", "--bs=12k"]),
        ("direct", ["--ioengine=libaio", "--direct=1", "--iodepth=16", "--bs=4k"]),
        ("mapped", ["--ioengine=mmap", "--fsync=128", "--bs=4k"]),
    ]:
        words += ["--rw=randwrite", f"--size={FIO_BYTES}", "--verify=crc32c", "--verify_fatal=1", "--do_verify=1"]
        words += ["--verify_backlog=512", "--verify_state_save=0", f"--randseed={bench.seed}"]
        done = run(tool, f"--name={name}", f"--filename={bench.point}/{name}", *words)
        if "err= 0" not in done:
            raise FailureError(done[-3000:])
        told.append(name)
    return f"{run(tool, '--version').strip()}, {FIO_BYTES >> 20} MiB {', '.join(told)}: verified"


def git(bench: Bench) -> str:
    """A clone of this checkout."""
    tool, clone = need("git"), bench.point / "clone"
    if not (CHECKOUT / ".git").exists():
        raise MissingError("this is no checkout of git")
    run(tool, "clone", "-q", "--depth", CLONE_COMMITS, f"file://{CHECKOUT}", clone)
    run(tool, "-C", clone, "fsck", "--full", "--strict")
    run(tool, "-C", clone, "repack", "-adfq")
    run(tool, "-C", clone, "fsck", "--full", "--strict")
    if told := run(tool, "-C", clone, "status", "--porcelain"):
        raise FailureError(f"git status: {told[-3000:]}")
    return f"{run(tool, '--version').split()[2]}, {sum(1 for _ in clone.rglob('*'))} files, fsck finds nothing"


def build(bench: Bench) -> str:
    """A build of this project's crate `units`, sources and results on the mount, and its tests."""
    cargo, clone = need("cargo"), bench.point / "clone"
    if not clone.exists():
        raise MissingError("there is no clone to build; git made none")
    env = {**os.environ, "CARGO_TARGET_DIR": str(bench.point / "built"), "CARGO_INCREMENTAL": "0"}
    words = ["test", "--offline", "--locked", "-q", "-p", "wane-units", "--lib"]
    told = run(cargo, *words, cwd=clone, env=env)
    passed = pick(r"(\d+) passed", told)
    return f"{run(cargo, '--version').split()[1]}, crate units, {passed} tests pass"


PROGRAMS: dict[str, Callable[[Bench], str]] = {
    "dbench": dbench,
    "fs_mark": fs_mark,
    "stress-ng": stress_ng,
    "sqlite": sqlite,
    "postgresql": postgresql,
    "fio": fio,
    "git": git,
    "build": build,
}


def all_of(bench: Bench, names: list[str]) -> dict[str, bool]:
    """Run programs, print what each shows, and return which of them found all as it should be."""
    verdicts = {}
    point = bench.point
    for name in names:
        # The build takes what git left.
        space = "git" if name == "build" else name
        below = Bench(bench.wane, point / space, bench.folder / space, bench.seed)
        for made in [below.point, below.folder]:
            made.mkdir(exist_ok=True)
            made.chmod(0o755)
        begun = time.monotonic()
        try:
            print(f"  {name}: {PROGRAMS[name](below)} ({time.monotonic() - begun:.0f} s)", flush=True)
            verdicts[name] = True
        except MissingError as error:
            print(f"fs-test: skipped: {name}: {error}", flush=True)
        except FailureError as error:
            print(f"  {name}: {error}", flush=True)
            verdicts[name] = False
        if not (name == "git" and "build" in names):
            shutil.rmtree(below.point)
    return verdicts
