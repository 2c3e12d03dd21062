"""Folders of the output of smartctl and nvme, and records of simulated drives: files become rows of the view ``records``.

A row is a drive at a moment. It has the attributes as ``smart_N_raw`` (the number that smartctl made of the raw value) and
``smart_N_normalized``, and each quantity that ``wane doctor`` knows by its name. Days are in UTC, whatever the machine's time zone.
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
from wane.fleet._plain import CAPACITY_MAX, counted, days_allowed, excerpt, library, moment, tomorrow

#: Files whose records become one part.
FILES_MAX = 5_000

#: Serial numbers that name no drive: placeholders that tools write.
NAMELESS = re.compile(r"redacted|unknown|none|n/?a|not available|(.)\1*", re.IGNORECASE)

FIRST_NUMBER = re.compile(r"\s*(?:0x([0-9a-fA-F]+)|(\d+))")
LAST_DAY = datetime(2200, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class Seen:
    """What tells drives of one serial number apart: time, World Wide Name and hours under power of a record."""

    time: int
    wwn: str | None
    hours: float | None


@dataclass
class Batch:
    """Rows of some files, and the files themselves.

    Attributes:
        rows: The rows, by serial and time.
        files: Name, size and hash of each file.
        bad: A sentence for each file that was left out.
        repeated: Number of rows that occurred twice with the same values.
        passed: Number of rows that were replaced by a later, different row of the same second in the same file.
        passed_first: The first file with such rows.
        absurd: Number of rows whose capacity was more than any drive has, and counts as unknown.
        absurd_first: The first file with such rows.
        hasty: For each drive whose hours under power grew faster than the calendar, what says so.
    """

    rows: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    files: list[tuple[str, int, str]] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    repeated: int = 0
    passed: int = 0
    passed_first: str = ""
    absurd: int = 0
    absurd_first: str = ""
    hasty: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """Notes on the files."""
        notes = []
        if self.passed:
            rows, where = counted(self.passed, "record"), f"first of {self.passed_first}"
            notes.append(f"{rows} left out, {where}, as a later one of the same second in the file stands")
        if self.absurd:
            most, rows = f"{CAPACITY_MAX // 10**15} PB", counted(self.absurd, "record")
            notes.append(
                f"capacity_bytes is above {most} in {rows}, first of {self.absurd_first}: no drive has as much, and it counts as unknown"
            )
        for serial, what in self.hasty.items():
            notes.append(f"drive {serial}: {what}: two drives have this serial number, or it miscounts its hours")
        return notes

    def take(self, name: str, size: int, digest: str, rows: list[dict[str, Any]]) -> None:
        """Adds all of a file's rows or none.

        If a drive has several rows within a second in one file, the last one counts.

        Raises:
            FleetError: A drive has other values at the same moment in another file, or it has another model.
        """
        last: dict[tuple[str, int], dict[str, Any]] = {}
        repeated, passed = 0, 0
        for row in rows:
            key = (row["serial"], row["time"])
            if (row["capacity_bytes"] or 0) > CAPACITY_MAX:
                row["capacity_bytes"] = None
                self.absurd += 1
                self.absurd_first = self.absurd_first or name
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
    """Reads the files whose hashes are not known.

    Args:
        files: The files, in order.
        known: Hashes of files that were ingested.
        models: The model of each serial number that the fleet knows; new ones are added.
        skip_bad: Whether a bad file is left out and noted instead of being an error.

    Raises:
        FleetError: A file is bad.
    """
    batch = Batch()
    done = 0
    drives: dict[str, Seen] = {}
    for file in files:
        try:
            digest = sha256_of(file)
            if digest in known:
                continue
            readings = _readings(file)
            rows = [row_of(reading, str(file)) for reading in readings]
            for row, reading in zip(rows, readings, strict=True):
                if models.setdefault(row["serial"], row["model"]) != row["model"]:
                    raise FleetError(
                        f"{file}: drive {row['serial']} is a {excerpt(row['model'])}, "
                        f"and was a {excerpt(models[row['serial']])} before"
                    )
                hours = None if row["source"] == "simulated" else row.get("power_on_hours")
                seen = Seen(row["time"], reading.get("wwn"), hours)
                before = drives.setdefault(row["serial"], seen)
                if before.wwn and seen.wwn and before.wwn != seen.wwn:
                    raise FleetError(
                        f"{file}: drive {row['serial']} has the World Wide Name {seen.wwn}, and had {before.wwn} before: "
                        "two drives have this serial number"
                    )
                if faster := _faster(before, seen):
                    batch.hasty.setdefault(row["serial"], f"{faster}, in {file}")
                drives[row["serial"]] = seen
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
    # A page, such as OCP's, has no name and no time: it belongs to the record before it.
    records: list[dict[str, Any]] = []
    for reading in readings:
        if reading["source"].endswith("-page") and records:
            of_page, own = reading["known"], records[-1]["known"]
            if _is_of_other_writes(of_page, own):
                of_page = {key: told for key, told in of_page.items() if key != "flash_written_bytes"}
            records[-1]["known"] = {**of_page, **own}
        else:
            records.append(reading)
    return records


def _is_of_other_writes(of_page: dict[str, Any], own: dict[str, Any]) -> bool:
    """Whether a page counts other writes of the host than its record, for instance since it was switched on."""
    told = [known["host_written_bytes"]["value"] for known in (of_page, own) if "host_written_bytes" in known]
    return len(told) == 2 and abs(told[0] - told[1]) > max(0.1 * max(told), 1e10)


def _faster(before: Seen, seen: Seen) -> str | None:
    """What says that hours under power grew faster than the calendar, in words."""
    if before.hours is None or seen.hours is None:
        return None
    passed, hours = (seen.time - before.time) / 3600, seen.hours - before.hours
    if passed < 0:
        passed, hours = -passed, -hours
    # Both are rounded, and a text may have another time zone.
    return f"{hours:,.0f} hours under power more in {passed:.1f} hours" if hours > 1.05 * passed + 36 else None


def row_of(reading: dict[str, Any], name: str) -> dict[str, Any]:
    """Makes a row from a reading.

    Raises:
        FleetError: It does not have the drive's name, or the time.
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
    # A simulated drive has its own clock, and ages years in a minute.
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
