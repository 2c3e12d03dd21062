"""Folders of what smartctl and nvme tell, and records of simulated drives: files become rows of the view ``records``.

A row is a drive at a moment. It has the attributes as ``smart_N_raw`` (the number that smartctl made of the raw value) and
``smart_N_normalized``, and each quantity that ``wane doctor`` understands by its name. The day is that of UTC, whatever zone the machine was in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wane._errors import FleetError, SmartError
from wane._smart import read_smart
from wane.fleet._inputs import sha256_of
from wane.fleet._plain import counted, days_allowed, excerpt, library, moment, tomorrow

#: Files whose records become one part.
FILES_MAX = 5_000

#: Serial numbers that name no drive: what tools write in their place.
NAMELESS = re.compile(r"redacted|unknown|none|n/?a|not available|(.)\1*", re.IGNORECASE)

FIRST_NUMBER = re.compile(r"\s*(?:0x([0-9a-fA-F]+)|(\d+))")
LAST_DAY = datetime(2200, 1, 1, tzinfo=UTC).timestamp()


@dataclass
class Batch:
    """Rows of some files, and which files they are of.

    Attributes:
        rows: By serial and time.
        files: Name, size and hash of each file.
        bad: The sentences of those that were left out.
        repeated: Rows that were there twice with the same values.
        passed: Rows that a later one of the same second in their file differs from, which stands.
        passed_first: The first file with such rows.
    """

    rows: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    files: list[tuple[str, int, str]] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    repeated: int = 0
    passed: int = 0
    passed_first: str = ""

    @property
    def notes(self) -> list[str]:
        """What is to be told of the files."""
        if not self.passed:
            return []
        rows, where = counted(self.passed, "record"), f"first of {self.passed_first}"
        return [f"{rows} left out, {where}, as a later one of the same second in the file stands"]

    def take(self, name: str, size: int, digest: str, rows: list[dict[str, Any]]) -> None:
        """Adds a file's rows, all or none.

        A drive that is asked twice within a second has gone on meanwhile: of such rows of one file the last stands.

        Raises:
            FleetError: A drive has other values at the same moment in another file, or another model.
        """
        last: dict[tuple[str, int], dict[str, Any]] = {}
        repeated, passed = 0, 0
        for row in rows:
            key = (row["serial"], row["time"])
            before = last.get(key)
            repeated += before == row
            passed += before is not None and before != row
            last[key] = row
        for key, row in last.items():
            there = self.rows.get(key)
            if there is not None and there != row:
                differ = next(each for each in sorted(row.keys() | there.keys()) if row.get(each) != there.get(each))
                raise FleetError(
                    f"{name}: drive {row['serial']} was told with other values at the same time, {moment(row['time'])}, of {differ} for one"
                )
            repeated += there is not None
        if passed and not self.passed:
            self.passed_first = name
        self.passed += passed
        self.rows |= last
        self.repeated += repeated
        self.files.append((name, size, digest))


def batches(files: list[Path], known: set[str], models: dict[str, str], skip_bad: bool) -> Iterator[Batch]:
    """Reads files, those of them that are not known by their hash.

    Args:
        files: The files, in order.
        known: Hashes of files that were ingested.
        models: The model of each serial number that the fleet knows; new ones are added.
        skip_bad: Whether a bad file is left out and told, and no error.

    Raises:
        FleetError: A file is bad.
    """
    batch = Batch()
    done = 0
    for file in files:
        try:
            digest = sha256_of(file)
            if digest in known:
                continue
            rows = [row_of(reading, str(file)) for reading in _readings(file)]
            for row in rows:
                if models.setdefault(row["serial"], row["model"]) != row["model"]:
                    raise FleetError(
                        f"{file}: drive {row['serial']} is a {excerpt(row['model'])}, "
                        f"and was a {excerpt(models[row['serial']])} before"
                    )
            batch.take(str(file), file.stat().st_size, digest, rows)
            done += 1
        except FleetError as error:
            if not skip_bad:
                if batch.files:
                    yield batch
                there = f"; {counted(done, 'file')} before it {'is' if done == 1 else 'are'} ingested" if done else ""
                raise FleetError(f"{error}{there}; --skip-bad leaves bad files out") from None
            batch.bad.append(str(error))
        if len(batch.files) >= FILES_MAX:
            yield batch
            batch = Batch()
    if batch.files or batch.bad:
        yield batch


def _readings(file: Path) -> list[dict[str, Any]]:
    try:
        readings = read_smart(file)
    except SmartError as error:
        raise FleetError(str(error)) from None
    # An OCP page has neither name nor time: it belongs to the record before it.
    records: list[dict[str, Any]] = []
    for reading in readings:
        if reading["source"] == "ocp-page" and records:
            records[-1]["known"] = {**reading["known"], **records[-1]["known"]}
        else:
            records.append(reading)
    return records


def row_of(reading: dict[str, Any], name: str) -> dict[str, Any]:
    """A reading as a row.

    Raises:
        FleetError: It does not tell which drive, or when.
    """
    serial, model, seconds = reading["serial"], reading["model"], reading["unix_seconds"]
    if serial is None or NAMELESS.fullmatch(serial) or not serial.isprintable():
        what = (
            "tells no serial number"
            if serial is None
            else f"has the serial number {excerpt(serial)}, which names no drive"
        )
        raise FleetError(f"{name}: {what}")
    if model is None:
        raise FleetError(f"{name}: tells no model")
    if seconds is None or not 0 < seconds < LAST_DAY:
        raise FleetError(f"{name}: tells no time between 1970 and 2200; `smartctl -x --json` does")
    day, is_simulated = datetime.fromtimestamp(seconds, UTC).date(), "simulated" in reading
    # A simulated drive has a clock of its own, and ages years in a minute.
    if day > tomorrow() and not is_simulated:
        raise FleetError(f"{name}: is of {day}, {days_allowed()}")
    known = {key: told["value"] for key, told in reading["known"].items()}
    row: dict[str, Any] = {
        "serial": serial,
        "model": model,
        "date": day,
        "time": seconds,
        "capacity_bytes": known.pop("capacity_bytes", None),
        "failure": None,
        "source": "simulated" if is_simulated else reading["source"],
        "firmware": reading["firmware"],
        "is_passed": reading["is_passed"],
    }
    for attribute in reading["attributes"]:
        row[f"smart_{attribute['id']}_raw"] = _number(attribute)
        row[f"smart_{attribute['id']}_normalized"] = attribute.get("value")
    return row | known


def _number(attribute: dict[str, Any]) -> int | None:
    """The number that smartctl made of the raw value: 24 of "24 (Min/Max 18/47)"."""
    found = FIRST_NUMBER.match(attribute["raw"])
    if found is None:
        return attribute.get("raw_bits")
    return int(found[1], 16) if found[1] else int(found[2])


def stage(batch: Batch, place: Path) -> None:
    """Writes a batch's rows as a Parquet file, sorted by drive and time."""
    pyarrow = library("pyarrow")
    rows = [batch.rows[key] for key in sorted(batch.rows)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: pyarrow.array([row.get(name) for row in rows], _type(name, rows)) for name in names}
    library("pyarrow.parquet").write_table(pyarrow.table(columns), place, compression="zstd")


def _type(name: str, rows: list[dict[str, Any]]) -> Any:
    pyarrow = library("pyarrow")
    fixed = {
        "date": pyarrow.date32(),
        "time": pyarrow.int64(),
        "failure": pyarrow.bool_(),
        "is_passed": pyarrow.bool_(),
    }
    if name in fixed:
        return fixed[name]
    if name in ("serial", "model", "source", "firmware"):
        return pyarrow.string()
    if name == "capacity_bytes":
        return pyarrow.int64()
    whole = name.startswith("smart_") and all((row.get(name) or 0) < 1 << 63 for row in rows)
    return pyarrow.int64() if whole else pyarrow.float64()


def stage_files(batch: Batch, place: Path) -> None:
    """Writes the names, sizes and hashes of a batch's files."""
    names, sizes, hashes = zip(*batch.files, strict=True) if batch.files else ((), (), ())
    pyarrow = library("pyarrow")
    columns = {
        "name": pyarrow.array(names, pyarrow.string()),
        "bytes": pyarrow.array(sizes, pyarrow.int64()),
        "sha256": pyarrow.array(hashes, pyarrow.string()),
    }
    library("pyarrow.parquet").write_table(pyarrow.table(columns), place, compression="zstd")
