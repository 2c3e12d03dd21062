"""Adds files to a fleet one by one, each whole or not at all, so that an interrupted run can go on where it stopped.

A file is identified by the hash of its bytes, a member of a zip also by its name; known ones are skipped. A part is staged, checked by
itself and against the fleet, and only then counts. A bad file ends the run with one sentence, and the files before it stay.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wane._errors import FleetError
from wane.fleet import _days, _parquet, _records, _simulated, _tickets
from wane.fleet._checks import Checks
from wane.fleet._inputs import Input, inputs_of, kind_of
from wane.fleet._layouts import LAYOUTS
from wane.fleet._ledger import Entry, Ledger, Part
from wane.fleet._plain import counted, first_line, library, quoted
from wane.fleet.store import Folder, settle

#: Ends of names of files in a folder that are taken for a table of many drives instead of one drive's record.
TABLES = (".csv", ".csv.gz", ".csv.zst", ".zip", ".parquet", ".parquet.gz", ".parquet.zst")

#: Kind of tables of tickets.
TICKETS = "alibaba"


@dataclass
class Taken:
    """Result of an ingest.

    Attributes:
        files: Number of files and members that were ingested.
        known: Number of those that the fleet had already.
        skipped: A sentence for each bad one that was left out.
        rows: Number of rows that were added: drive-days, records or tickets.
        repeated: Number of rows that were there already with the same values.
        notes: A sentence for each oddity in what was kept.
    """

    files: int = 0
    known: int = 0
    skipped: list[str] = field(default_factory=list)
    rows: int = 0
    repeated: int = 0
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The values as plain data for JSON."""
        return dict(vars(self))

    def __str__(self) -> str:
        parts = [f"{counted(self.files, 'file')} ingested, {counted(self.rows, 'row')} added"]
        parts += [f"{counted(self.known, 'file')} known already"] if self.known else []
        parts += [f"{counted(self.repeated, 'row')} there already"] if self.repeated else []
        parts += [f"{counted(len(self.skipped), 'bad file')} skipped"] if self.skipped else []
        return "; ".join(parts)


def ingest(
    fleet: str | os.PathLike[str],
    files: Iterable[str | os.PathLike[str]],
    *,
    skip_bad: bool = False,
    tell: Callable[[str], object] | None = None,
) -> Taken:
    """Adds files to a fleet, and makes the fleet if it is missing.

    Args:
        fleet: The fleet's folder.
        files: Backblaze's daily files (CSV, plain, gzip, Zstandard or members of a zip, or Parquet), Alibaba's SMART logs and tickets, records of
            smartctl, nvme or simulated drives, folders of them, and folders of a simulated fleet. The kind of each is found from its content.
        skip_bad: Whether bad files are left out and counted.
        tell: Function that is called with a line for each file.

    Returns:
        What was done.

    Raises:
        FleetError: A file is bad, the folder is no fleet, or it is in use. What was ingested before stays.
        MissingExtraError: The extra ``fleet`` is not installed.
    """
    for name in ("duckdb", "pyarrow"):
        library(name)
    files = list(files)
    given = [Path(file) for file in files]
    for file in (fleet, *files):
        if not os.fspath(file):
            raise FleetError("path: found an empty one, which would be the folder that this runs in; give it as .")
    for path in given:
        if not path.exists():
            raise FleetError(f"{path}: does not exist")
    try:
        return _into(Folder(Path(fleet)), given, skip_bad, tell or (lambda _: None))
    except OSError as error:
        raise FleetError(f"{fleet}: {error.strerror or first_line(error)}; what was ingested before stays") from None
    except library("duckdb").Error as error:
        raise FleetError(f"{fleet}: cannot be read or written: {first_line(error)}") from None


def _into(folder: Folder, given: list[Path], skip_bad: bool, tell: Callable[[str], object]) -> Taken:
    with folder.claimed() as ledger:
        checks = Checks(folder.path, ledger)
        try:
            work = _Ingest(folder, ledger, checks, skip_bad, tell)
            for path in given:
                work.path(path)
            return work.taken
        finally:
            checks.close()
            folder.clean(ledger)


class _Ingest:
    """One run over the given files."""

    def __init__(
        self, folder: Folder, ledger: Ledger, checks: Checks, skip_bad: bool, tell: Callable[[str], object]
    ) -> None:
        self.folder = folder
        self.ledger = ledger
        self.checks = checks
        self.skip_bad = skip_bad
        self.tell = tell
        self.taken = Taken()

    def path(self, path: Path) -> None:
        """Ingests a file, or the files of a folder."""
        if not path.is_dir():
            self._file(path)
            return
        if _simulated.is_simulated(path):
            try:
                self._simulation(path)
            except FleetError as error:
                self._bad(error)
            return
        # The fleet may lie in the folder that it is made of.
        own = self.folder.path.resolve()
        files = sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not file.name.startswith(".") and own not in file.resolve().parents
        )
        if not files:
            raise FleetError(f"{path}: has no file in it")
        tables = [file for file in files if file.name.lower().endswith(TABLES)]
        for file in tables:
            self._file(file)
        if others := [file for file in files if file not in set(tables)]:
            self._records(str(path), others)

    def _file(self, file: Path) -> None:
        try:
            inputs = inputs_of(file)
        except FleetError as error:
            self._bad(error)
            return
        for given in inputs:
            if self.ledger.holds(given.sha256, given.member):
                self.taken.known += 1
                continue
            try:
                kind = kind_of(given.head())
                if kind == "parquet":
                    kind = _parquet.kind_of(given)
                if kind == "simulated":
                    raise FleetError(
                        f"{given.name}: is of a simulated fleet; give the folder that holds its simulated.json"
                    )
                if kind == TICKETS or kind in LAYOUTS:
                    self._table(given, kind)
                elif file.name.lower().endswith(TABLES):
                    words = ", ".join(layout.words for layout in LAYOUTS.values())
                    raise FleetError(f"{given.name}: has no header of {words} or Alibaba's tickets in UTF-8")
                else:
                    self._records(given.name, [file])
            except FleetError as error:
                self._bad(error)

    def _bad(self, error: FleetError) -> None:
        if not self.skip_bad:
            raise error
        self.taken.skipped.append(str(error))
        self.tell(f"skipped: {error}")

    def _table(self, given: Input, kind: str) -> None:
        staged = self.folder.stage("part.parquet")
        entry = {"name": given.name, "kind": kind, "bytes": given.size, "sha256": given.sha256, "member": given.member}
        if kind == TICKETS:
            self._part(staged, "tickets", entry, _tickets.stage(given, staged))
            return
        notes = _days.stage(given, staged, LAYOUTS[kind])
        if LAYOUTS[kind].has_repeats:
            last = self.folder.stage("last.parquet")
            if passed := self.checks.last_of_day(staged, last):
                staged = last
                notes.append(f"{counted(passed, 'row')} left out, as a later one of the drive's day in the file stands")
        self._part(staged, "days", entry, notes)

    def _records(self, name: str, files: list[Path]) -> None:
        for batch in _records.batches(files, self._hashes(), self.checks.models(), self.skip_bad):
            for sentence in batch.bad:
                self.taken.skipped.append(sentence)
                self.tell(f"skipped: {sentence}")
            if not batch.files:
                continue
            staged, listed = self.folder.stage("part.parquet"), self.folder.stage("files.parquet")
            _records.stage(batch, staged)
            _records.stage_files(batch, listed)
            place = f"files/{self.ledger.next_number():06}.parquet"
            settle(listed, self.folder.path / place)
            size = sum(size for _, size, _ in batch.files)
            entry = {"name": name, "kind": "smart", "bytes": size, "sha256": None, "listed": place}
            self.taken.files += len(batch.files) - 1
            self._part(staged, "records", entry | {"repeated": batch.repeated, "skipped": len(batch.bad)}, batch.notes)

    def _simulation(self, folder: Path) -> None:
        """Ingests all new files of a simulated fleet, or none."""
        found = _simulated.simulated_of(folder)
        known = self._hashes()
        files = [pair for pair in found.files if pair[3] not in known]
        self.taken.known += len(found.files) - len(files)
        if not files:
            return
        staged = self.folder.stage("part.parquet")
        _simulated.stage_days(self.checks.connection, [records for records, *_ in files], staged)
        listed = self.folder.stage("files.parquet")
        _records.stage_files(
            _records.Batch(files=[(str(path), size, digest) for path, _, size, digest in files]), listed
        )
        number = self.ledger.next_number()
        days = self.checks.part(number, "days", staged)
        before = list(self.ledger.parts)
        try:
            place = f"files/{number:06}.parquet"
            settle(listed, self.folder.path / place)
            for records, truth, _, _ in files:
                number += 1
                for kind, file in (("hours", records), ("truth", truth)):
                    if kind == "truth" or found.hourly:
                        self.ledger.parts.append(self._as_it_is(number, kind, file, days))
            size = sum(size for _, _, size, _ in files)
            entry = {"name": str(folder), "kind": "simulated", "bytes": size, "sha256": None, "listed": place}
            self._part(staged, "days", entry, [found.part] if found.part else [])
        except BaseException:
            self.ledger.parts = before
            raise
        self.taken.files += len(files) - 1

    def _as_it_is(self, number: int, kind: str, file: Path, days: Part) -> Part:
        """Copies a file of a simulated fleet to its place, where it does not count yet."""
        rows, drives = _simulated.rows_of(file)
        part = Part(number, kind, rows, drives, days.first, days.last)
        staged = self.folder.stage("copied.parquet")
        _simulated.copy(file, staged)
        settle(staged, self.folder.path / part.place)
        return part

    def _hashes(self) -> set[str]:
        """The hashes of files that were ingested as part of a folder."""
        lists = [self.folder.path / entry.listed for entry in self.ledger.files if entry.listed is not None]
        if not lists:
            return set()
        paths = ", ".join(quoted(str(path)) for path in lists)
        return {
            row[0] for row in self.checks.connection.execute(f"SELECT sha256 FROM read_parquet([{paths}])").fetchall()
        }

    def _part(self, staged: Path, kind: str, entry: dict[str, Any], strange: Sequence[str] = ()) -> None:
        """Checks a staged file, moves it to its place and writes it into the ledger, with its oddities."""
        name = entry["name"]
        self.checks.itself(staged, name, kind)
        part = self.checks.part(self.ledger.next_number(), kind, staged)
        repeated = self.checks.repeats(staged, name, part, self.ledger)
        if repeated:
            kept = self.folder.stage("kept.parquet")
            self.checks.without_repeats(staged, part, self.ledger, kept)
            staged = kept
            part = self.checks.part(part.number, kind, staged)
        notes = list(strange)
        if kind != "tickets" and part.rows:
            notes += self.checks.went_on(staged) + self.checks.backward(staged, kind)
        line = Entry(**{**entry, "rows": part.rows, "repeated": entry.get("repeated", 0) + repeated, "notes": notes})
        if part.rows:
            settle(staged, self.folder.path / part.place)
            self.ledger.parts.append(part)
        self.ledger.files.append(line)
        self.folder.write(self.ledger)
        if part.rows and kind != "tickets":
            self.checks.learn(self.folder.path / part.place)
        self._count(line, part.first, part.last)

    def _count(self, line: Entry, first: str, last: str) -> None:
        taken = self.taken
        taken.files += 1
        taken.rows += line.rows
        taken.repeated += line.repeated
        taken.notes += [f"{line.name}: {note}" for note in line.notes]
        days = f", {first}" if first == last else f", {first} to {last}"
        there = f", {counted(line.repeated, 'row')} there already" if line.repeated else ""
        self.tell(f"{line.name}: {counted(line.rows, 'row')}{days if line.rows else ''}{there}")
        for note in line.notes:
            self.tell(f"  {note}")
