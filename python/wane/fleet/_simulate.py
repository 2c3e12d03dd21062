"""Simulated fleets, by the native part: here, or in ranges of drives on a cluster of Dask."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wane import _wane
from wane._cluster import is_client
from wane._errors import FleetError
from wane._extras import need
from wane._plain import plain as plain_settings
from wane.fleet._plain import excerpt

#: Files of a range that a worker of a cluster is given.
FILES_PER_RANGE = 4


@dataclass(frozen=True)
class SimulatedFleet:
    """What a simulation came to.

    Attributes:
        folder: Where records and truth lie; ``ingest`` takes it.
        drives: How many drives there are.
        rows: Their records.
        failed: How many failed, by cause.
        already: Whether they were there before.
    """

    folder: Path
    drives: int
    rows: int
    failed: dict[str, int]
    already: bool


def simulate(
    fleet: str | os.PathLike[str] | Mapping[str, Any] | None,
    out: str | os.PathLike[str],
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002
    drives: tuple[int, int] | None = None,
    threads: int | None = None,
    force: bool = False,
    progress: bool = False,
    scheduler: Any = None,
) -> SimulatedFleet:
    """Simulates a fleet into a folder: what its drives tell, and the truth about them.

    An interrupted simulation goes on when it is called again. The same settings give the same bytes, however many threads and machines there are.

    Args:
        fleet: A file, a dict of what a file would say, or ``None`` for the fleet of all defaults.
        out: The folder.
        set: Keys above it, such as ``{"days": 90, "model.0.count": 1000}``.
        drives: The first drive and the one behind the last, both multiples of 16 or the fleet's end; all without.
        threads: How many drives are simulated at a time; one a core without.
        force: Begins anew where the folder holds another simulation.
        progress: Shows progress.
        scheduler: A client of Dask, whose cluster simulates ranges of the drives. A scenario that a model names must be where the workers find it.

    Raises:
        FleetError: The settings, the range or the folder are wrong.
    """
    for name, path in (("out", out), ("fleet", fleet)):
        if isinstance(path, str | os.PathLike) and not os.fspath(path):
            raise FleetError(f"{name}: found an empty path; give the folder that this runs in as .")
    path, table = _given(fleet)
    assignments = [f"{key}={_written(key, value)}" for key, value in (set or {}).items()]
    if drives is not None and len(drives) != 2:
        raise FleetError(f"drives: found {excerpt(drives)}, allowed are the first and the one behind the last")
    if threads is not None and threads < 1:
        raise FleetError(f"threads: found {threads}, allowed are 1 and more")
    asked = None if drives is None else f"{int(drives[0])}..{int(drives[1])}"
    job = _Job(path, table, assignments, os.fspath(out), asked, threads, force, progress)
    if scheduler is not None:
        if not is_client(scheduler):
            raise FleetError(f"scheduler: found {excerpt(type(scheduler).__name__)}, allowed is a client of Dask")
        _on_cluster(scheduler, job, drives)
        # All is there; this says so.
        job = _Job(path, table, assignments, os.fspath(out), asked, threads, False, progress)
    rows, already, count, failed = job.run()
    return SimulatedFleet(Path(out), count, rows, failed, already)


@dataclass(frozen=True)
class _Job:
    path: str | None
    table: dict[str, Any] | None
    set: list[str]
    out: str
    drives: str | None
    threads: int | None
    force: bool
    progress: bool

    def run(self, *, claims_only: bool = False) -> tuple[int, bool, int, dict[str, int]]:
        return _wane.simulate_fleet(
            self.path,
            self.table,
            self.set,
            self.out,
            self.drives,
            self.threads,
            self.force,
            self.progress,
            claims_only,
        )


def _given(fleet: object) -> tuple[str | None, dict[str, Any] | None]:
    if fleet is None:
        return None, None
    if isinstance(fleet, str | os.PathLike):
        return os.fspath(fleet), None
    if isinstance(fleet, Mapping):
        table: dict[str, Any] = plain_settings(fleet, "", source="fleet")
        return None, table
    raise FleetError(f"fleet: found {excerpt(type(fleet).__name__)}, allowed are a path, a dict and None")


def _written(key: str, value: object) -> str:
    """A value as an assignment has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(value)
    raise FleetError(f"set: {key}: found {excerpt(type(value).__name__)}, allowed are texts, numbers, True and False")


def _on_cluster(client: Any, job: _Job, drives: Sequence[int] | None) -> None:
    """Has workers simulate ranges that are not there yet, and puts their files into the folder."""
    distributed = need("distributed", "dask", "wane.fleet.simulate on a cluster")
    count, of_file = _wane.simulated_drives(job.path, job.table, job.set)
    first, end = drives if drives is not None else (0, count)
    job.run(claims_only=True)
    step = of_file * FILES_PER_RANGE
    out = Path(job.out)
    futures = []
    for begin in range(first, end, step):
        last = min(begin + step, end)
        numbers = range(begin // of_file, -(-last // of_file))
        if all((out / "records" / f"simulated-{number:06}.parquet").exists() for number in numbers):
            continue
        text = None if job.path is None else Path(job.path).read_text()
        future = client.submit(part, job.path, text, job.table, job.set, f"{begin}..{last}", pure=False)
        futures.append(future)
    try:
        for future in distributed.as_completed(list(futures)):
            for name, content in sorted(future.result().items(), reverse=True):
                # The truth first: where the records are, both are.
                place = out / name
                place.parent.mkdir(exist_ok=True)
                staged = place.with_name(f".{place.name}")
                staged.write_bytes(content)
                staged.replace(place)
            future.release()
    finally:
        client.cancel(futures)


def part(
    path: str | None,
    text: str | None,
    table: dict[str, Any] | None,
    set: list[str],  # noqa: A002
    drives: str,
) -> dict[str, bytes]:
    """Simulates a range of drives; its files by their names in the folder. Runs on a worker.

    Args:
        path: The fleet's file, by whose folder scenarios are found.
        text: What it says.
        table: Or the settings as a dict.
        set: Assignments above them.
        drives: The range.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        if path is not None and text is not None and not Path(path).exists():
            file = Path(folder) / Path(path).name
            file.write_text(text)
            path = str(file)
        _Job(path, table, set, str(out), drives, 1, False, False).run()
        return {
            f"{kind}/{file.name}": file.read_bytes()
            for kind in ("records", "truth")
            for file in sorted((out / kind).glob("simulated-*.parquet"))
        }
