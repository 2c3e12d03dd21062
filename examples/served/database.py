"""What a database does on old drives: PostgreSQL under pgbench on drives of several ages, and a picture of it.

    python3 examples/served/database.py y0.wane y2.wane y4.wane --out database.png

Each drive is served at the speed of a real one, and gets a file system (ext4) with a database. pgbench reads it with cold caches, then writes.
Needs the package (``pip install '.[plot]'``), PostgreSQL, nbdfuse, and either root or fuse2fs. In a container:

    docker run --device /dev/fuse --cap-add SYS_ADMIN ...
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import wane

IS_ROOT = os.geteuid() == 0


def run(*words: str | Path) -> str:
    """Runs a program that must succeed, and returns what it prints."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"{words[0]}: {ended.stderr.strip() or ended.stdout.strip()}")
    return ended.stdout


def postgres_bin() -> Path:
    """The folder of PostgreSQL's programs."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *map(Path, os.get_exec_path())]
    whole = [folder for folder in folders if all((folder / name).exists() for name in ("initdb", "pg_ctl", "pgbench"))]
    if not whole:
        sys.exit("PostgreSQL is missing: apt install postgresql")
    return whole[0]


@contextlib.contextmanager
def mounted(uri: str) -> Iterator[Path]:
    """A new ext4 on the served drive."""
    with tempfile.TemporaryDirectory(prefix="wane-db-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "n").mkdir()
        (folder / "m").mkdir()
        fuse = subprocess.Popen(["nbdfuse", str(folder / "n"), uri])
        image = folder / "n" / "nbd"
        for _ in range(100):
            if image.exists():
                break
            time.sleep(0.05)
        loop = run("losetup", "-f", "--show", image).strip() if IS_ROOT else str(image)
        try:
            # A drive that mkfs discards is an empty one, whatever its age.
            run("mkfs.ext4", "-qF", "-E", "nodiscard", loop)
            run(*(["mount", loop] if IS_ROOT else ["fuse2fs", "-o", "fakeroot", loop]), folder / "m")
            yield folder / "m"
        finally:
            run(*(["umount"] if IS_ROOT else ["fusermount3", "-u"]), folder / "m")
            if IS_ROOT:
                run("losetup", "-d", loop)
            run("fusermount3", "-u", folder / "n")
            fuse.wait()


class Database:
    """A PostgreSQL below a folder."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.folder = postgres_bin(), folder / "pg"
        self.folder.mkdir()
        if IS_ROOT:
            shutil.chown(self.folder, "postgres")
        self("initdb", "-D", self.folder)

    def __call__(self, program: str, *words: str | Path) -> str:
        """Runs one of its programs, as its user."""
        command = [str(self.bin / program), *map(str, words)]
        return run(*(["runuser", "-u", "postgres", "--", *command] if IS_ROOT else command))

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses= -c shared_buffers=32MB"
        self("pg_ctl", "-w", "-D", self.folder, "-l", self.folder / "log", "-o", options, "start")

    def stop(self) -> None:
        self("pg_ctl", "-w", "-D", self.folder, "stop")

    def bench(self, seconds: int, *options: str) -> tuple[float, float]:
        """Transactions a second, and the p99 of their latency in milliseconds."""
        prefix = self.folder / "bench"
        words = ["-h", self.folder, "-n", "-c", "4", "-T", str(seconds), "-l", f"--log-prefix={prefix}", *options, "postgres"]
        told = self("pgbench", *words)
        tps = next(float(line.split("=")[1].split()[0]) for line in told.splitlines() if line.startswith("tps"))
        times = []
        for log in self.folder.glob("bench*"):
            times += [int(line.split()[2]) / 1000 for line in log.read_text().splitlines()]
            log.unlink()
        return tps, statistics.quantiles(times, n=100)[98]


def measure(drive: str, seconds: int, scale: int, speed: str) -> dict[str, float]:
    """What a drive lets a database do. The drive is left as it was: its fork is served."""
    with tempfile.TemporaryDirectory(prefix="wane-fork-") as name:
        fork = Path(name) / Path(drive).name
        run(sys.executable, "-m", "wane", "drive", "fork", drive, fork)
        with wane.serve(fork, speed=speed) as served, mounted(served.uri) as folder:
            database = Database(folder)
            database.start()
            database("pgbench", "-qi", "-h", database.folder, "-s", str(scale), "postgres")
            database.stop()
            if IS_ROOT:
                Path("/proc/sys/vm/drop_caches").write_text("3")
            database.start()
            served.ctl.latency(clear=True)
            reads, reads_p99 = database.bench(seconds, "-S")
            device = served.ctl.latency(clear=True)
            writes, writes_p99 = database.bench(seconds)
            writing = served.ctl.latency()
            database.stop()
            status = served.ctl.status()
    return {
        "years": status["day"] / 365.25,
        "wear": status["life_used"] or 0.0,
        "reads_tps": reads,
        "reads_p99_ms": reads_p99,
        "writes_tps": writes,
        "writes_p99_ms": writes_p99,
        "device_read_p99_us": device["read"]["latency_us"]["p99"],
        "device_read_lag_p99_us": device["read"].get("lag_us", {}).get("p99", 0.0),
        "device_write_p99_us": writing["write"]["latency_us"]["p99"],
    }


def draw(found: dict[str, dict[str, float]], out: Path) -> None:
    """Draws throughput and p99 by drive."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    names = [f"{name}\n{row['years']:.1f} years, {row['wear']:.0%} worn" for name, row in found.items()]
    for place, (key, title) in enumerate(
        [("tps", "transactions a second"), ("p99_ms", "p99 of a transaction, ms")], start=1
    ):
        axes = figure.add_subplot(1, 2, place)
        for shift, (kind, label, color) in enumerate(
            [("reads", "reads, cold caches", "#3b6ea8"), ("writes", "reads and writes", "#c8703a")]
        ):
            values = [row[f"{kind}_{key}"] for row in found.values()]
            bars = axes.bar([x + 0.38 * shift - 0.19 for x in range(len(names))], values, 0.36, label=label, color=color)
            axes.bar_label(bars, fmt="{:,.0f}" if key == "tps" else "{:.1f}", fontsize=8)
        axes.set_xticks(range(len(names)), names, fontsize=8)
        axes.set_title(title, fontsize=10)
        axes.margins(y=0.15)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    figure.savefig(out, dpi=150)


def main() -> None:
    """Measures the drives that are named, prints what was found, and draws it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drives", nargs="+", help="folders of kept drives, made by `wane drive create --for serve`")
    parser.add_argument("--seconds", type=int, default=20, help="of each of the two loads")
    parser.add_argument("--scale", type=int, default=20, help="of pgbench: 15 MB each")
    parser.add_argument("--speed", default="1x", help="of the drives' time")
    parser.add_argument("--out", type=Path, help="draw a picture into this file")
    arguments = parser.parse_args()
    postgres_bin()
    found = {}
    for drive in arguments.drives:
        row = measure(drive, arguments.seconds, arguments.scale, arguments.speed)
        found[Path(drive).stem] = row
        print(f"{Path(drive).stem}: {row['years']:.1f} years, {row['wear']:.0%} of the rated wear used")
        for kind in ("reads", "writes"):
            print(f"  {kind:<7} {row[f'{kind}_tps']:8.0f} tps   p99 {row[f'{kind}_p99_ms']:7.2f} ms")
        print(f"  of the drive: reads p99 {row['device_read_p99_us']:.0f} us, lag {row['device_read_lag_p99_us']:.0f} us")
    if arguments.out:
        draw(found, arguments.out)
        arguments.out.with_suffix(".json").write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
