"""Failure tickets of Alibaba: a row for each failed drive, as the view ``tickets``.

``time`` is that of the failure, in the operator's local time as published. There are three tables: the tickets of FAST 2021 with the places of the
drives, the labels of the SMART logs of SSDs, and the fault tags of the SMART logs of disks. Drives are named as in the logs. The tickets have other
names for six models of the logs: their ``serial`` has the logs' name, and ``model`` that of the ticket. Attributes keep their names (``r_x`` raw,
``n_x`` normalized).

Source: Alibaba, "dcbrain", https://github.com/alibaba-edu/dcbrain; Han et al., FAST 2021; Xu et al., DSN 2021; PAKDD 2020.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from wane._errors import FleetError
from wane.fleet._csv import Table, read_header
from wane.fleet._days import FLAGS, NUMBER, joined
from wane.fleet._inputs import Input
from wane.fleet._layouts import ALIBABA_DISK, ALIBABA_MODELS, ALIBABA_SSD
from wane.fleet._plain import FIRST_DAY, counted, days_allowed, excerpt, library, quoted, tomorrow
from wane.fleet.store import connect, scan

#: Most bytes of a file's tickets, as Arrow has them. Alibaba's are 8 MB.
TICKETS_BYTES_MAX = 32 << 20

#: Bytes that DuckDB may take to make one ticket of several.
MEMORY_BYTES = 64 << 20


@dataclass(frozen=True)
class Tickets:
    """A kind of table of tickets.

    Attributes:
        needed: Columns that must be there.
        serial: Columns that make the serial number, with the texts between them.
        model: Columns that make the model.
        time: The column with the time.
        merged: The column of which a drive may have several values at a time, which become one ticket.
    """

    needed: tuple[str, ...]
    serial: tuple[str, ...]
    model: tuple[str, ...]
    time: str
    merged: str | None = None


PLACED = Tickets(
    ("model", "failure_time", "failure", "disk_id", "node_id", "rack_id"),
    ALIBABA_SSD.serial,
    ALIBABA_SSD.model,
    "failure_time",
)
LABELS = Tickets(("model", "disk_id", "failure_time"), ALIBABA_SSD.serial, ALIBABA_SSD.model, "failure_time")
TAGS = Tickets(
    ("manufacturer", "model", "serial_number", "fault_time", "tag"),
    ALIBABA_DISK.serial,
    ALIBABA_DISK.model,
    "fault_time",
    "tag",
)

#: Names of columns with numbers, raw and normalized; others are texts.
ATTRIBUTE = re.compile(r"[rn]_")
IDS = ("disk_id", "node_id", "rack_id", "machine_room_id")


def stage(given: Input, place: Path) -> list[str]:
    """Writes a CSV of tickets as a Parquet file.

    Returns:
        Notes on what was passed over.

    Raises:
        FleetError: It is not in the form of Alibaba's files; the message gives the line.
    """
    pyarrow = library("pyarrow")
    header = read_header(given, ())
    kind = TAGS if "fault_time" in header else PLACED if {"failure", "node_id", "rack_id"} & set(header) else LABELS
    header = read_header(given, kind.needed)
    types = dict.fromkeys(filter(ATTRIBUTE.match, header), pyarrow.float64())
    types |= dict.fromkeys((name for name in IDS if name in header), pyarrow.int64())
    types |= {kind.time: pyarrow.timestamp("us"), "failure": pyarrow.bool_()}
    table = Table(given, header, lambda cells: _wrong(cells, kind))
    written = _Written(given, place, header, kind)
    table.write(types, lambda _: False, written.put)
    if written.has_wrong_day:
        table.look_through()
    joined_rows = 0 if kind.merged is None else _merge(place, kind.merged)
    notes = f"{counted(joined_rows, 'row')} joined with another one of the same drive and time"
    return table.notes + ([notes] if joined_rows else [])


class _Written:
    """The staged file of tickets, written group by group: the tickets of a packed file may be more than memory should hold."""

    def __init__(self, given: Input, place: Path, header: list[str], kind: Tickets) -> None:
        self.given = given
        self.place = place
        self.header = header
        self.kind = kind
        self.has_wrong_day = False

    def put(self, groups: Iterator[Any]) -> None:
        """Writes groups of rows to the file, anew.

        Raises:
            FleetError: There is no row, or they are more than anybody's tickets.
        """
        pyarrow, parquet = library("pyarrow"), library("pyarrow.parquet")
        size = rows = 0
        writer = None
        try:
            for group in groups:
                for name in self.kind.needed:
                    if group.column(name).null_count:
                        raise pyarrow.ArrowInvalid(f"{name} is missing")
                size += group.nbytes
                rows += group.num_rows
                if size > TICKETS_BYTES_MAX:
                    raise FleetError(
                        f"{self.given.name}: has tickets of {size >> 20:,} MiB in its first {rows:,} rows, allowed are at most "
                        f"{TICKETS_BYTES_MAX >> 20:,} MiB; is it a log of drives?"
                    )
                table = _as_tickets(group, self.header, self.kind)
                self.has_wrong_day = self.has_wrong_day or _has_wrong_day(table)
                if writer is None:
                    writer = parquet.ParquetWriter(self.place, table.schema, compression="zstd")
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise FleetError(f"{self.given.name}: has a header and no rows")


def _as_tickets(table: Any, header: list[str], kind: Tickets) -> Any:
    pyarrow, compute = library("pyarrow"), library("pyarrow.compute")
    if "disk_id" in header:
        number = table.column_names.index("disk_id")
        table = table.set_column(number, "disk_id", compute.cast(table.column("disk_id"), pyarrow.string()))
    left = ("model", "failure", kind.time)
    columns = {
        "serial": joined(_named_as_in_logs(table) if kind is PLACED else table, kind.serial),
        "model": joined(table, kind.model),
        "time": table.column(kind.time),
        "failure": table.column("failure")
        if "failure" in header
        else pyarrow.repeat(pyarrow.scalar(True), table.num_rows),
        "source": pyarrow.repeat(pyarrow.scalar("alibaba"), table.num_rows),
        **{name: table.column(name) for name in header if name not in left},
    }
    return pyarrow.table(columns)


def _named_as_in_logs(table: Any) -> Any:
    """The table with the models' names of the SMART logs, as far as these have the models."""
    pyarrow, compute = library("pyarrow"), library("pyarrow.compute")
    told = table.column("model")
    known = compute.index_in(told, pyarrow.array(list(ALIBABA_MODELS)))
    model = compute.coalesce(compute.take(pyarrow.array(list(ALIBABA_MODELS.values())), known), told)
    return table.set_column(table.column_names.index("model"), "model", model)


def _has_wrong_day(table: Any) -> bool:
    pyarrow, compute = library("pyarrow"), library("pyarrow.compute")
    ends = compute.min_max(table.column("time").cast(pyarrow.date32())).as_py()
    return not all(FIRST_DAY <= day <= tomorrow() for day in ends.values())


def _merge(place: Path, name: str) -> int:
    """Makes one ticket of those of a drive and time, with all values of a column; returns how many rows these are fewer."""
    merged = place.with_name("merged.parquet")
    merged.unlink(missing_ok=True)
    connection = connect(MEMORY_BYTES)
    try:
        told = f"read_parquet({quoted(str(place))}, file_row_number=true)"
        connection.execute(
            f"COPY (WITH told AS (SELECT * FROM {told}), every AS (SELECT serial, time, min(file_row_number) AS file_row_number, "
            f"string_agg(DISTINCT {name}, '+' ORDER BY {name}) AS every FROM told GROUP BY serial, time) "
            f"SELECT told.* EXCLUDE (file_row_number) REPLACE (every.every AS {name}) FROM told JOIN every USING (serial, time, file_row_number) "
            f"ORDER BY file_row_number) TO {quoted(str(merged))} (FORMAT parquet, COMPRESSION zstd)"
        )
        parts = (place, merged)
        before, after = (connection.execute(f"SELECT count(*) FROM {scan([part])}").fetchone() for part in parts)
    finally:
        connection.close()
    merged.replace(place)
    return int(before[0] - after[0])


def _wrong(cells: dict[str, str], kind: Tickets) -> str | None:
    """Says what is wrong with a row's cells; ``None`` if nothing is."""
    for name in kind.needed:
        if not cells[name].strip():
            return f"{name} is empty; a ticket has one"
    told = cells[kind.time]
    try:
        moment = datetime.fromisoformat(told)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is not None:
        return f"{kind.time} is {excerpt(told)}, allowed is a time such as 2018-03-02 11:20:00, without a zone"
    if not FIRST_DAY <= moment.date() <= tomorrow():
        return f"{kind.time} is of {moment.date()}, {days_allowed()}"
    if cells.get("failure", FLAGS[1]) not in FLAGS:
        return f"failure is {excerpt(cells['failure'])}, allowed are 0 and 1; are columns shifted?"
    numbers = [(name, cell) for name, cell in cells.items() if cell and (name in IDS or ATTRIBUTE.match(name))]
    for name, cell in numbers:
        is_right = cell.isdecimal() and len(cell) <= 18 if name in IDS else NUMBER.fullmatch(cell.strip()) is not None
        if not is_right:
            return f"{name} is {excerpt(cell)}, allowed is {'a whole number' if name in IDS else 'a number in decimal'}; are columns shifted?"
    return None
