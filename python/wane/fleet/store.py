"""A fleet's folder: Parquet files, opened in place, and ``fleet.json``, the only list of what counts.

        fleet.json                  format, parts, ledger of ingested files
        days/000001.parquet         a row for each drive and day
        records/000002.parquet      a row for each drive and moment: smartctl's and simulated records
        tickets/000003.parquet      a row for each failure, as operators recorded it
        hours/000004.parquet        a row for each drive and hour, of simulated fleets
        truth/000004.parquet        a row for each simulated drive: what became of it, and why
        files/000002.parquet        the files of a folder that was ingested as one

Nothing in it is ever changed. A part is written under a temporary name, moved to its place, and counts from the moment at which a new
``fleet.json`` replaces the old one, so that an interrupted run leaves the fleet as it was. Files that ``fleet.json`` does not name are leftovers of
such a run; readers ignore them, and the next ingest removes them.

Queries are in DuckDB's SQL, over views. Missing values are NULL, never zero.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wane._errors import FleetError
from wane.fleet._plain import counted, excerpt, first_line, library, named, quoted

#: Version of the folder's format. It changes when a reader of the old format would misread the new one.
FORMAT = 1

#: The mark that tells ``fleet.json`` from other files of that name.
MARK = "a fleet of wane"

#: Bytes that DuckDB may take before it spills to disk.
MEMORY_BYTES = 512 << 20

#: Columns that every row of the view ``days`` has, with their types in SQL.
DAYS = {
    "serial": "VARCHAR",
    "model": "VARCHAR",
    "date": "DATE",
    "capacity_bytes": "BIGINT",
    "failure": "BOOLEAN",
    "source": "VARCHAR",
}

#: Columns of the view ``tickets``.
TICKETS = {"serial": "VARCHAR", "model": "VARCHAR", "time": "TIMESTAMP", "failure": "BOOLEAN", "source": "VARCHAR"}

#: Columns of the view ``truth``, which only simulated drives have.
TRUTH = {
    "serial": "VARCHAR",
    "model": "VARCHAR",
    "source": "VARCHAR",
    "batch": "VARCHAR",
    "node": "VARCHAR",
    "rack": "VARCHAR",
    "failed": "BOOLEAN",
    "cause": "VARCHAR",
    "time": "BIGINT",
    "signs_since": "BIGINT",
}

KINDS = ("days", "records", "tickets", "hours", "truth")


@dataclass(frozen=True)
class Part:
    """A Parquet file of the fleet.

    Attributes:
        number: Its number, from 1, in the order of ingestion.
        kind: One of `KINDS`.
        rows: Number of its rows.
        drives: Number of its drives.
        first: Its first day, ISO 8601.
        last: Its last day.
    """

    number: int
    kind: str
    rows: int
    drives: int
    first: str
    last: str

    @property
    def place(self) -> str:
        """Its path in the folder."""
        return f"{self.kind}/{self.number:06}.parquet"


@dataclass(frozen=True)
class Entry:
    """A line of the ledger: a file that was ingested, a member of one, or a folder.

    Attributes:
        name: Its name when it was ingested.
        kind: Its kind: ``backblaze``, ``alibaba``, ``smart``, ``simulated``.
        bytes: Its size; for a folder that of its files.
        sha256: Hash of its bytes; ``None`` for a folder, whose files are in ``listed``.
        member: The member of a zip.
        rows: Number of rows that it added.
        repeated: Number of rows that were there already, with the same values.
        skipped: Number of its files that were bad and left out.
        listed: The Parquet file that names a folder's files.
        notes: A sentence for each oddity in what was kept.
    """

    name: str
    kind: str
    bytes: int
    sha256: str | None
    member: str | None = None
    rows: int = 0
    repeated: int = 0
    skipped: int = 0
    listed: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass
class Ledger:
    """Contents of ``fleet.json``."""

    parts: list[Part] = field(default_factory=list)
    files: list[Entry] = field(default_factory=list)

    def holds(self, sha256: str, member: str | None = None) -> bool:
        """Whether these bytes were ingested, under any name."""
        return any(each.sha256 == sha256 and each.member == member for each in self.files)

    def of(self, kind: str) -> list[Part]:
        """The parts of a kind."""
        return [part for part in self.parts if part.kind == kind]

    def next_number(self) -> int:
        """A number that no part and no list of files has."""
        listed = (int(Path(entry.listed).stem) for entry in self.files if entry.listed is not None)
        return max([0, *(part.number for part in self.parts), *listed]) + 1


class Folder:
    """A fleet's folder: its paths, and how its files are read and replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def manifest(self) -> Path:
        """The list of what counts."""
        return self.path / "fleet.json"

    def read(self) -> Ledger:
        """Reads the list of what the fleet holds.

        Raises:
            FleetError: There is no fleet, or it is of another format.
            """
        try:
            told = json.loads(self.manifest.read_bytes())
        except FileNotFoundError:
            what = "is no fleet (it has no fleet.json)" if self.path.exists() else "does not exist"
            raise FleetError(f"{self.path}: {what}; `python -m wane.fleet ingest FLEET FILE...` makes one") from None
        except NotADirectoryError:
            raise FleetError(f"{self.path}: is a file, and a fleet is a folder") from None
        except (OSError, ValueError) as error:
            raise FleetError(f"{self.manifest}: cannot be read: {error}") from None
        if not isinstance(told, dict) or told.get("mark") != MARK:
            raise FleetError(f"{self.manifest}: is not of a fleet; give another folder")
        if told.get("format") != FORMAT:
            sentence = f"has format {told.get('format')}, this version of wane reads format {FORMAT}"
            raise FleetError(f"{self.manifest}: {sentence}")
        try:
            return Ledger([Part(**part) for part in told["parts"]], [Entry(**entry) for entry in told["files"]])
        except (KeyError, TypeError) as error:
            raise FleetError(f"{self.manifest}: is damaged: {error}") from None

    def check(self, ledger: Ledger) -> None:
        """Checks that all files of the fleet are there.

        Raises:
            FleetError: One is missing.
        """
        listed = [entry.listed for entry in ledger.files if entry.listed is not None]
        for place in (*(part.place for part in ledger.parts), *listed):
            if not (self.path / place).exists():
                raise FleetError(
                    f"{self.path / place}: is missing, and fleet.json names it; the fleet is damaged: put the file back, or make the fleet anew"
                )

    def write(self, ledger: Ledger) -> None:
        """Replaces ``fleet.json``, whole or not at all; from that moment new parts count."""
        told = {
            "mark": MARK,
            "format": FORMAT,
            "parts": [asdict(part) for part in ledger.parts],
            "files": [asdict(entry) for entry in ledger.files],
        }
        staged = self.path / ".fleet.json"
        with staged.open("w") as file:
            json.dump(told, file, indent=1)
            file.write("\n")
        settle(staged, self.manifest)

    def stage(self, name: str) -> Path:
        """A path for a file that does not count yet."""
        folder = self.path / ".staging"
        folder.mkdir(exist_ok=True)
        return folder / name

    def clean(self, ledger: Ledger) -> None:
        """Removes the leftovers of an interrupted run: parts that ``fleet.json`` does not name, and staged files."""
        known = {part.place for part in ledger.parts} | {entry.listed for entry in ledger.files}
        for kind in (*KINDS, "files", ".staging"):
            for file in sorted((self.path / kind).glob("*")):
                if f"{kind}/{file.name}" not in known:
                    file.unlink()

    @contextmanager
    def claimed(self) -> Iterator[Ledger]:
        """Claims the fleet for a process that adds to it; makes it if it is missing.

        Raises:
            FleetError: Another process uses it, or the folder holds something else, lacks a file, or cannot be written.
        """
        try:
            if self.path.is_dir() and not self.manifest.exists() and not self._is_ours():
                raise FleetError(
                    f"{self.path}: holds something else than a fleet; give an empty folder or another name"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("w")
        except (FileExistsError, NotADirectoryError):
            raise FleetError(f"{self.path}: is a file, and a fleet is a folder") from None
        except OSError as error:
            raise FleetError(f"{self.path}: cannot be written: {error.strerror}") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FleetError(
                    f"{self.path}: another process ingests into this fleet; wait until it is done"
                ) from None
            if not self.manifest.exists():
                self.write(Ledger())
            ledger = self.read()
            self.check(ledger)
            yield ledger

    def _is_ours(self) -> bool:
        """Whether the folder is empty, or holds only what an interrupted run began."""
        return {file.name for file in self.path.iterdir()} <= {".lock", ".fleet.json", ".staging"}


def settle(staged: Path, place: Path) -> None:
    """Moves a written file to its place, so that it is whole even after a power cut."""
    with staged.open("rb") as file:
        os.fsync(file.fileno())
    place.parent.mkdir(exist_ok=True)
    staged.replace(place)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def connect(memory_bytes: int = MEMORY_BYTES) -> Any:
    """Opens a DuckDB in memory that spills into the system's folder for temporary files."""
    duckdb = library("duckdb")
    spill = Path(tempfile.gettempdir()) / f"wane-fleet-{os.getpid()}"
    connection = duckdb.connect()
    connection.execute(f"SET memory_limit='{memory_bytes >> 20}MB'")
    connection.execute(f"SET temp_directory={quoted(str(spill))}")
    connection.execute("SET preserve_insertion_order=false")
    connection.execute("SET enable_progress_bar=false")
    return connection


def scan(paths: Sequence[Path]) -> str:
    """Parquet files as an SQL table, with columns matched by name."""
    return f"read_parquet([{', '.join(quoted(str(path)) for path in paths)}], union_by_name=true)"


class Fleet:
    """An open fleet, for queries. It shows the fleet as it was when it was opened.

    ``days`` is a view with a row for each drive and day: ``serial``, ``model``, ``date``, ``capacity_bytes``, ``failure``, ``source``, the attributes
    as ``smart_N_raw`` and ``smart_N_normalized``, and named quantities with their unit at the end (``percentage_used_percent``), as far as files have
    them. If a drive has several records on a day, it has the last one. ``records`` has all records with their ``time``, and ``tickets`` failures as
    operators recorded them. Missing values are NULL; a record of smartctl does not say whether a drive failed.
    """

    def __init__(self, path: str | os.PathLike[str], memory_bytes: int = MEMORY_BYTES) -> None:
        self.folder = Folder(Path(path))
        self.ledger = self.folder.read()
        self._lock = threading.Lock()
        self._connection = connect(memory_bytes)
        self._make_views()

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.folder.path

    def query(self, sql: str) -> Any:
        """Runs an SQL query over the views ``days``, ``records``, ``tickets``, ``hours`` and ``truth``.

        Args:
            sql: One query in DuckDB's SQL.

        Returns:
            A ``pyarrow.Table``.

        Raises:
            FleetError: DuckDB refuses it.
        """
        duckdb = library("duckdb")
        if not isinstance(sql, str):
            raise FleetError(f"the query is refused: found {excerpt(sql)}, allowed is a text with one SELECT")
        with self._lock:
            try:
                kinds = [statement.type for statement in duckdb.extract_statements(sql)]
                if kinds != [duckdb.StatementType.SELECT]:
                    raise FleetError(
                        f"the query is refused: found {counted(len(kinds), 'statement')}, allowed is one SELECT"
                    )
                return self._connection.sql(sql).to_arrow_table()
            except duckdb.Error as error:
                raise FleetError(f"the query is refused: {error}") from None

    def columns(self, view: str = "days") -> list[str]:
        """The columns of a view."""
        return [str(name) for name in self.query(f"SELECT * FROM {view} LIMIT 0").column_names]

    def days(self, columns: Sequence[str] | None = None, models: Sequence[str] | None = None) -> Any:
        """Rows of the view ``days`` as a data frame.

        Args:
            columns: Columns in addition to ``serial``, ``model``, ``date`` and ``failure``, which are always there; by default all.
            models: Models of the drives; by default all.

        Returns:
            A ``pandas.DataFrame`` sorted by serial and date; missing values are NaN. ``failure`` is a bool, false if it is unknown; the
            models for which it is always unknown are in ``attrs["failures_untold"]``.

        Raises:
            FleetError: There is no such column, or no such model.
        """
        library("pandas")
        known = self.columns()
        base = ["serial", "model", "date", "failure"]
        for column in columns or ():
            if column not in known:
                raise FleetError(
                    f"columns: found {excerpt(column)}, which no file told; the fleet has {', '.join(known)}"
                )
        wanted = list(dict.fromkeys([*base, *(known if columns is None else columns)]))
        chosen = ", ".join(
            "COALESCE(failure, false) AS failure" if column == "failure" else named(column) for column in wanted
        )
        where = ""
        if models is not None:
            there = set(self.query("SELECT DISTINCT model FROM days").column("model").to_pylist())
            for model in models:
                if model not in there:
                    raise FleetError(f"models: found {excerpt(model)}, of which the fleet has no drive")
            where = f"WHERE model IN ({', '.join(quoted(model) for model in models)})"
        table = self.query(f"SELECT {chosen} FROM days {where} ORDER BY serial, date")
        frame = table.to_pandas(date_as_object=False)
        untold = self.query(f"SELECT model FROM days {where} GROUP BY model HAVING count(failure) = 0 ORDER BY model")
        frame.attrs["failures_untold"] = untold.column("model").to_pylist()
        return frame

    def summary(self) -> dict[str, Any]:
        """Overview of the fleet: counts, days, sources, failures.

        Returns:
            ``drive_days``, ``drives``, ``models``, ``failures``, ``first`` and ``last`` (ISO 8601), ``drive_days_by_source``,
            ``tickets``, ``files`` (including each file of a folder) and ``skipped_files``.
        """
        row = self.query(
            "SELECT count(*) AS drive_days, count(DISTINCT serial) AS drives, count(DISTINCT model) AS models, "
            "count(*) FILTER (failure) AS failures, CAST(min(date) AS VARCHAR) AS first, CAST(max(date) AS VARCHAR) AS last FROM days"
        ).to_pylist()[0]
        sources = self.query("SELECT source, count(*) AS n FROM days GROUP BY source ORDER BY source").to_pylist()
        tickets = self.query("SELECT count(*) AS n FROM tickets").column("n")[0].as_py()
        return {
            **row,
            "drive_days_by_source": {each["source"]: each["n"] for each in sources},
            "tickets": tickets,
            "files": self._files(),
            "skipped_files": sum(entry.skipped for entry in self.ledger.files),
        }

    def _files(self) -> int:
        """Number of ingested files, including each file of a folder."""
        listed = [self.path / entry.listed for entry in self.ledger.files if entry.listed is not None]
        single = len(self.ledger.files) - len(listed)
        return single + (
            self.query(f"SELECT count(*) AS n FROM {scan(listed)}").column("n")[0].as_py() if listed else 0
        )

    def close(self) -> None:
        """Closes DuckDB."""
        self._connection.close()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        told = self.summary()
        return f"<wane.fleet.Fleet {str(self.path)!r}: {told['drives']:,} drives, {told['drive_days']:,} drive-days>"

    def _make_views(self) -> None:
        paths = {kind: [self.path / part.place for part in self.ledger.of(kind)] for kind in KINDS}
        Folder(self.path).check(self.ledger)
        empty = _nothing(DAYS)
        days = [f"SELECT * FROM {scan(paths['days'])}"] if paths["days"] else []
        records = (
            f"SELECT * FROM {scan(paths['records'])}" if paths["records"] else _nothing({**DAYS, "time": "BIGINT"})
        )
        if paths["records"]:
            latest = "QUALIFY row_number() OVER (PARTITION BY serial, date ORDER BY time DESC) = 1"
            days.append(f"SELECT * EXCLUDE (time) FROM ({records}) {latest}")
        tickets = [f"SELECT * FROM {scan(paths['tickets'])}"] if paths["tickets"] else []
        truth = f"SELECT * FROM {scan(paths['truth'])}" if paths["truth"] else _nothing(TRUTH)
        if paths["truth"]:
            tickets.append(
                "SELECT serial, model, make_timestamp(time * 1000000) AS time, true AS failure, source, node AS node_id, rack AS rack_id "
                f"FROM ({truth}) WHERE failed"
            )
        hours = f"SELECT * FROM {scan(paths['hours'])}" if paths["hours"] else _nothing({**DAYS, "time": "BIGINT"})
        with self._lock:
            try:
                self._connection.execute(f"CREATE VIEW days AS {' UNION ALL BY NAME '.join(days) or empty}")
                self._connection.execute(f"CREATE VIEW records AS {records}")
                self._connection.execute(
                    f"CREATE VIEW tickets AS {' UNION ALL BY NAME '.join(tickets) or _nothing(TICKETS)}"
                )
                self._connection.execute(f"CREATE VIEW hours AS {hours}")
                self._connection.execute(f"CREATE VIEW truth AS {truth}")
            except library("duckdb").Error as error:
                raise FleetError(f"{self.path}: the fleet is damaged: {first_line(error)}") from None


def _nothing(columns: dict[str, str]) -> str:
    chosen = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns.items())
    return f"SELECT {chosen} WHERE false"
