"""Folders of a simulated fleet, written by ``wane fleet simulate``: records become rows of ``hours`` and ``days``, the truth rows of ``truth``.

A folder counts only if it says that all of its drives are there. Several folders may hold parts of one fleet. Each file is identified by its hash.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wane._errors import FleetError
from wane.fleet._inputs import sha256_of
from wane.fleet._plain import counted, excerpt, library, named, quoted

MANIFEST = "simulated.json"
MARK = "a fleet simulated by wane"
FORMAT = 3

#: The settings, beside the drives that they name.
SETTINGS = "fleet.toml"

#: Hashes of the files, as ``sha256sum`` writes them.
SUMS = "SHA256SUMS"

#: The metadata that identify each file.
SIMULATED = b"wane.simulated"

#: Advice for a missing or damaged file.
AGAIN = "`wane fleet simulate` with the same settings makes it anew"

#: Advice if it is unknown to which fleet the drives belong.
ANEW = "`wane fleet simulate --force` with the same settings begins anew"

#: Drives in a file.
FILE_DRIVES = 16

#: Used share of the rated wear, by the attribute that reports it in each of the two sets.
WEAR = {"smart_230_raw": "CAST(smart_230_raw AS DOUBLE)", "smart_202_raw": "CAST(100 - smart_202_raw AS DOUBLE)"}


@dataclass(frozen=True)
class Simulated:
    """A folder of a simulated fleet.

    Attributes:
        folder: Its path.
        hourly: Whether its records are hourly.
        files: Records, truth, size and hash of each pair of files.
        part: The drives of the fleet that it holds, in words, if these are not all.
    """

    folder: Path
    hourly: bool
    files: list[tuple[Path, Path, int, str]]
    part: str


def is_simulated(folder: Path) -> bool:
    """Whether a folder is marked as a simulated fleet, or has drives of one."""
    return (folder / MANIFEST).is_file() or any((folder / "records").glob("simulated-*.parquet"))


def simulated_of(folder: Path) -> Simulated:
    """The files of a folder.

    Raises:
        FleetError: Some of its drives are missing or damaged, or it is of another format.
    """
    try:
        told = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise FleetError(f"{folder / MANIFEST}: cannot be read: {error}; {ANEW}") from None
    if not isinstance(told, dict) or told.get("mark") != MARK:
        raise FleetError(f"{folder}: {MANIFEST} is not of a simulated fleet")
    if told.get("format") != FORMAT:
        raise FleetError(f"{folder}: has format {told.get('format')}, this version of wane reads format {FORMAT}")
    if told.get("whole") is not True:
        raise FleetError(f"{folder}: its simulation was interrupted; run `wane fleet simulate` again, which goes on")
    if (what := _wrong(told)) is not None:
        raise FleetError(f"{folder / MANIFEST}: is damaged: {what}; {ANEW}")
    numbers = range(told["first"] // FILE_DRIVES, -(-told["end"] // FILE_DRIVES))
    files, metadata, sums = [], [], _sums_of(folder)
    for name in {MANIFEST, SETTINGS, *(name for name in sums if "/" not in name)}:
        _sum_of(folder, name, sums)
    for number in numbers:
        records, truth = (folder / kind / f"simulated-{number:06}.parquet" for kind in ("records", "truth"))
        metadata += [_metadata_of(path, told["fleet"]) for path in (records, truth)]
        found = [_sum_of(folder, f"{path.parent.name}/{path.name}", sums) for path in (records, truth)]
        files.append((records, truth, records.stat().st_size, found[0]))
    hours = metadata[0].get(b"wane.record_hours", b"1")
    if not hours.isdigit():
        raise FleetError(
            f"{files[0][0]}: is damaged: its record_hours are {excerpt(hours.decode('utf-8', 'replace'))}; {AGAIN}"
        )
    missing = "" if told["end"] - told["first"] == told["drives_of_fleet"] else _part_of(told)
    return Simulated(folder, int(hours) < 24, files, missing)


def _wrong(told: dict[str, Any]) -> str | None:
    """Says which value of ``simulated.json`` is not as wane writes it; ``None`` if all are."""
    for key in ("first", "end", "drives_of_fleet"):
        found = told.get(key)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            return f"{key} is {excerpt(found)}, allowed is a count"
    if not told["first"] < told["end"] <= told["drives_of_fleet"]:
        return f"first is {told['first']} and end {told['end']} of {counted(told['drives_of_fleet'], 'drive')}"
    if not isinstance(told.get("fleet"), str):
        return f"fleet is {excerpt(told.get('fleet'))}, allowed is a text"
    return None


def _sums_of(folder: Path) -> dict[str, str]:
    """The hashes of a folder's files, by their paths relative to the folder."""
    try:
        lines = (folder / SUMS).read_text().splitlines()
    except (OSError, ValueError) as error:
        raise FleetError(f"{folder / SUMS}: cannot be read: {error}; {AGAIN}") from None
    return {name: found for found, separator, name in (line.partition("  ") for line in lines) if separator}


def _sum_of(folder: Path, name: str, sums: dict[str, str]) -> str:
    """The hash of a folder's file, after a check against the folder's list.

    Raises:
        FleetError: The hash is not the listed one, or the file is missing.
    """
    file = folder / name
    if not file.is_file():
        raise FleetError(f"{file}: is missing; {AGAIN}")
    found = sha256_of(file)
    if sums.get(name) != found:
        raise FleetError(f"{file}: is damaged: its hash is not the one in {SUMS}; {AGAIN}")
    return found


def _part_of(told: dict[str, Any]) -> str:
    """The part of a fleet that a folder holds, in words."""
    return (
        f"drives {told['first']} to {told['end'] - 1} of a fleet of {told['drives_of_fleet']}; the others are not there"
    )


def _metadata_of(file: Path, fleet: str) -> dict[bytes, bytes]:
    """A file's metadata, after a check that it is this fleet's file of that name.

    Raises:
        FleetError: It is another file, or it is missing or damaged.
    """
    if not file.is_file():
        raise FleetError(f"{file}: is missing; {AGAIN}")
    pyarrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    try:
        metadata: dict[bytes, bytes] = parquet.read_metadata(file).metadata or {}
    except (OSError, pyarrow.ArrowException) as error:
        raise FleetError(f"{file}: is damaged: {error}; {AGAIN}") from None
    if SIMULATED not in metadata:
        raise FleetError(f"{file}: does not say that it is simulated, and lies among what is")
    found = tuple(metadata.get(key, b"").decode("utf-8", "replace") for key in (b"wane.fleet", b"wane.file"))
    if found != (fleet, f"{file.parent.name}/{file.stem}"):
        raise FleetError(
            f"{file}: is {found[1] or 'a file'} of the fleet {found[0]}, and lies in one of the fleet {fleet}; {AGAIN}"
        )
    return metadata


def stage_days(connection: Any, files: list[Path], place: Path) -> None:
    """Writes the last record of each drive's day, without the attributes that no drive reported."""
    paths = ", ".join(quoted(str(file)) for file in files)
    table = f"read_parquet([{paths}])"
    columns = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]
    attributes = [name for name in columns if name.startswith("smart_")]
    counts = ", ".join(f"count({named(name)})" for name in attributes)
    told = connection.execute(f"SELECT {counts} FROM {table}").fetchone()
    kept = [name for name, count in zip(attributes, told, strict=True) if count > 0]
    chosen = ", ".join(named(name) for name in columns if name in kept or (name not in attributes and name != "time"))
    wear = [WEAR[name] for name in WEAR if name in kept]
    used = f", COALESCE({', '.join(wear)}) AS percentage_used_percent" if wear else ""
    last = f"SELECT serial, max(time) AS time FROM {table} GROUP BY serial, date"
    connection.execute(
        f"COPY (SELECT {chosen}{used} FROM {table} SEMI JOIN ({last}) USING (serial, time) ORDER BY serial, date) "
        f"TO {quoted(str(place))} (FORMAT parquet, COMPRESSION zstd)"
    )


def rows_of(file: Path) -> tuple[int, int]:
    """Numbers of rows and drives in a file of records or of the truth, which has a row group for each drive."""
    metadata = library("pyarrow.parquet").read_metadata(file)
    return metadata.num_rows, metadata.num_row_groups


def copy(file: Path, place: Path) -> None:
    """Copies a file unchanged."""
    try:
        shutil.copyfile(file, place)
    except OSError as error:
        raise FleetError(f"{file}: cannot be copied: {error.strerror}") from None
