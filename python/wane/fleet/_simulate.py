"""Simulated fleets, made by the native part: here, or in ranges of drives on a Dask cluster."""

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

#: Files in a range for one worker of a cluster.
FILES_PER_RANGE = 4


@dataclass(frozen=True)
class SimulatedFleet:
    """Result of a simulation.

    Attributes:
        folder: The folder of records and truth; ``ingest`` takes it.
        drives: Number of drives.
        rows: Number of records.
        failed: Number of failed drives, by cause.
        already: Whether all was there before.
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
    """Simulates a fleet into a folder: its drives' records, and the truth about the drives.

    Another call continues an interrupted simulation. The same settings give the same bytes with any number of threads and machines.

    Args:
        fleet: A file, a dict with the keys of a file, or ``None`` for a fleet of all defaults.
        out: The folder.
        set: Keys that override it, such as ``{"days": 90, "model.0.count": 1000}``.
        drives: The first drive and the end, which is excluded, both multiples of 16 or the fleet's end; by default all drives.
        threads: Number of drives that are simulated at a time; by default one on each core.
        force: Whether to begin anew if the folder holds another simulation.
        progress: Whether to show progress.
        scheduler: A Dask client, whose cluster simulates ranges of the drives. Workers must find a scenario that a model names.

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
        # All is there; this call confirms it.
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
    """Formats a value for an assignment."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(value)
    raise FleetError(f"set: {key}: found {excerpt(type(value).__name__)}, allowed are texts, numbers, True and False")


def _on_cluster(client: Any, job: _Job, drives: Sequence[int] | None) -> None:
    """Has workers simulate the missing ranges, and puts their files into the folder."""
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
                # The truth first: if the records are there, both are.
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
    """Simulates a range of drives on a worker; returns its files by their names in the folder.

    Args:
        path: The fleet's file; scenarios are relative to its folder.
        text: Its text.
        table: The settings as a dict, instead of a file.
        set: Assignments that override them.
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
