"""A fleet's folder: Parquet files, opened in place, and ``fleet.json``, the only list of what counts.

        fleet.json                  format, parts, ledger of ingested files
        days/000001.parquet         a row for each drive and day
        records/000002.parquet      a row for each drive and moment: smartctl's and simulated records
        tickets/000003.parquet      a row for each failure, as operators recorded it
        hours/000004.parquet        a row for each drive and hour, of simulated fleets
        truth/000004.parquet        a row for each simulated drive: what became of it, and why
        files/000002.parquet        the files of a folder that was ingested as one

None of these is a link: an ingest writes, moves and removes files here, and through a link it would do so elsewhere.

Nothing in it is ever changed. A part is written under a temporary name, moved to its place, and counts from the moment at which a new
``fleet.json`` replaces the old one, so that an interrupted run leaves the fleet as it was. Files that ``fleet.json`` does not name are leftovers of
such a run; readers ignore them, and the next ingest removes them.

Queries are in DuckDB's SQL, over views. Missing values are NULL, never zero.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from wane._errors import FleetError
from wane.fleet._ledger import KINDS, Ledger, ledger_of
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

#: Days before a ticket within which a drive's last log must lie, so that the drive failed after that log and not long after the last one there is.
LABEL_DAYS = 7

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

#: Names that an ingest writes into a fleet's folder, and those of files that it leaves if it is interrupted.
WRITTEN = ("fleet.json", ".lock", ".fleet.json", ".staging", "files", *KINDS)
LEFTOVER = re.compile(r"\d{6,}\.parquet")


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
        except RecursionError:
            raise FleetError(f"{self.manifest}: is damaged: brackets are nested too deep") from None
        if not isinstance(told, dict) or told.get("mark") != MARK:
            raise FleetError(f"{self.manifest}: is not of a fleet; give another folder")
        if told.get("format") != FORMAT:
            sentence = f"has format {told.get('format')}, this version of wane reads format {FORMAT}"
            raise FleetError(f"{self.manifest}: {sentence}")
        try:
            return ledger_of(told)
        except ValueError as error:
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
        staged = _vacant(self.path / ".fleet.json")
        # Only a new file is written: one that is there may be another name of a file elsewhere.
        with staged.open("x") as file:
            json.dump(told, file, indent=1)
            file.write("\n")
        settle(staged, self.manifest)

    def stage(self, name: str) -> Path:
        """A path for a file that does not count yet."""
        folder = self.path / ".staging"
        folder.mkdir(exist_ok=True)
        return _vacant(folder / name)

    def clean(self, ledger: Ledger) -> None:
        """Removes the leftovers of an interrupted run: parts that ``fleet.json`` does not name, and staged files."""
        known = {part.place for part in ledger.parts} | {entry.listed for entry in ledger.files}
        for kind in (*KINDS, "files", ".staging"):
            for file in sorted((self.path / kind).glob("*")):
                is_left = kind == ".staging" or LEFTOVER.fullmatch(file.name) is not None
                if is_left and not file.is_dir() and f"{kind}/{file.name}" not in known:
                    file.unlink()

    @contextmanager
    def claimed(self) -> Iterator[Ledger]:
        """Claims the fleet for a process that adds to it; makes it if it is missing.

        Raises:
            FleetError: Another process uses it, or the folder holds something else, lacks a file, or cannot be written.
        """
        self._holds_its_files()
        try:
            if self.path.is_dir() and not self.manifest.exists() and not self._is_ours():
                raise FleetError(
                    f"{self.path}: holds something else than a fleet; give an empty folder or another name"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            lock = _opened_lock(self.path / ".lock")
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

    def _holds_its_files(self) -> None:
        """Checks that what an ingest writes lies in the folder itself.

        Raises:
            FleetError: A link leads out of it.
        """
        for name in WRITTEN:
            if (self.path / name).is_symlink():
                raise FleetError(
                    f"{self.path / name}: is a link, and an ingest would write and remove files where it leads; "
                    "put a file or folder in its place"
                )

    def _is_ours(self) -> bool:
        """Whether the folder is empty, or holds only what an interrupted run began."""
        return {file.name for file in self.path.iterdir()} <= {".lock", ".fleet.json", ".staging"}


def _opened_lock(path: Path) -> IO[bytes]:
    """Opens the lock's file without changing it, and makes it if it is missing.

    Raises:
        FleetError: Something else has its name.
    """
    # A pipe does not block this, and a link is not followed.
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise FleetError(f"{path}: is no file; remove it, an ingest makes it anew")
    return os.fdopen(number, "r+b")


def _vacant(path: Path) -> Path:
    """The path, without the file that an interrupted run left there."""
    path.unlink(missing_ok=True)
    return path


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
    """Opens a DuckDB in memory that spills into a folder of its own below the system's folder for temporary files.

    Nobody else can enter the folder or foretell its name: what spills is the fleet's data. It is removed with the connection.
    """
    duckdb = library("duckdb")
    spill = tempfile.mkdtemp(prefix="wane-fleet-")
    connection = duckdb.connect()
    weakref.finalize(connection, shutil.rmtree, spill, ignore_errors=True)
    connection.execute(f"SET memory_limit='{memory_bytes >> 20}MB'")
    connection.execute(f"SET temp_directory={quoted(spill)}")
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
    them. If a drive has several records on a day, it has the last one. Logs of Alibaba have ``failure`` from its tickets. ``records`` has all records
    with their ``time``, and ``tickets`` failures as operators recorded them. Missing values are NULL; a record of smartctl does not say whether a
    drive failed.
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
        """Overview of the fleet: counts, days, sources, and failures, one for each drive that failed.

        Returns:
            ``drive_days``, ``drives``, ``models``, ``failures``, ``first`` and ``last`` (ISO 8601), ``drive_days_by_source``,
            ``tickets``, ``files`` (including each file of a folder) and ``skipped_files``.
        """
        row = self.query(
            "SELECT count(*) AS drive_days, count(DISTINCT serial) AS drives, count(DISTINCT model) AS models, "
            "count(DISTINCT serial) FILTER (failure) AS failures, CAST(min(date) AS VARCHAR) AS first, CAST(max(date) AS VARCHAR) AS last FROM days"
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
                if days and self._has_labels():
                    days = [self._labeled(" UNION ALL BY NAME ".join(days), scan(paths["tickets"]))]
                self._connection.execute(f"CREATE VIEW days AS {' UNION ALL BY NAME '.join(days) or empty}")
                self._connection.execute(f"CREATE VIEW records AS {records}")
                self._connection.execute(
                    f"CREATE VIEW tickets AS {' UNION ALL BY NAME '.join(tickets) or _nothing(TICKETS)}"
                )
                self._connection.execute(f"CREATE VIEW hours AS {hours}")
                self._connection.execute(f"CREATE VIEW truth AS {truth}")
            except library("duckdb").Error as error:
                raise FleetError(f"{self.path}: the fleet is damaged: {first_line(error)}") from None

    def _has_labels(self) -> bool:
        """Whether the fleet has both logs of Alibaba and tickets, which say what the logs do not: which drives failed."""
        kinds = {entry.kind for entry in self.ledger.files}
        return "alibaba" in kinds and not kinds.isdisjoint({"alibaba-ssd", "alibaba-disk"})

    def _labeled(self, days: str, tickets: str) -> str:
        """The drive-days with ``failure`` from the tickets, where logs of Alibaba do not tell it.

        It is true on the drive's last day up to its first ticket, if that is within a week before, as in daily files of Backblaze. It is false on
        other days of models that have tickets, and unknown for other models.
        """
        self._connection.execute(
            "CREATE TEMP TABLE labels AS SELECT serial, any_value(told.model) AS model, "
            f"max(told.date) FILTER (told.date <= failed.day AND told.date >= failed.day - {LABEL_DAYS}) AS day "
            f"FROM ({days}) AS told JOIN (SELECT serial, min(CAST(time AS DATE)) AS day FROM {tickets} WHERE failure GROUP BY serial) AS failed "
            "USING (serial) WHERE told.source = 'alibaba' GROUP BY serial"
        )
        return (
            "SELECT told.* REPLACE (CASE WHEN told.failure IS NULL AND told.source = 'alibaba' AND told.model IN (SELECT model FROM labels) "
            f"THEN COALESCE(told.date = labels.day, false) ELSE told.failure END AS failure) FROM ({days}) AS told LEFT JOIN labels USING (serial)"
        )


def _nothing(columns: dict[str, str]) -> str:
    chosen = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns.items())
    return f"SELECT {chosen} WHERE false"
