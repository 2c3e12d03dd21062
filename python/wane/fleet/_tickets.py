"""Failure tickets of Alibaba: a row for each failed drive, as the view ``tickets``.

``time`` is that of the failure, in the operator's local time as published. There are three tables: the tickets of FAST 2021 with the places of the
drives, the labels of the SMART logs of SSDs, and the fault tags of the SMART logs of disks. Drives of the last two are named as in their logs; of the
first, ``serial`` is the disk's number. Attributes keep their names (``r_x`` raw, ``n_x`` normalized).

Source: Alibaba, "dcbrain", https://github.com/alibaba-edu/dcbrain; Han et al., FAST 2021; Xu et al., DSN 2021; PAKDD 2020.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from wane._errors import FleetError
from wane.fleet._csv import Table, read_header
from wane.fleet._days import FLAGS, NUMBER, joined
from wane.fleet._inputs import Input
from wane.fleet._layouts import ALIBABA_DISK, ALIBABA_SSD
from wane.fleet._plain import FIRST_DAY, counted, days_allowed, excerpt, library, tomorrow

#: Most bytes of tickets in memory. Alibaba's are 8 MB.
TICKETS_BYTES_MAX = 256 << 20


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
    ("model", "failure_time", "failure", "disk_id", "node_id", "rack_id"), ("disk_id",), ("model",), "failure_time"
)
LABELS = Tickets(("model", "disk_id", "failure_time"), ALIBABA_SSD.serial, ALIBABA_SSD.model, "failure_time")
TAGS = Tickets(
    ("manufacturer", "model", "serial_number", "fault_time", "tag"),
    ALIBABA_DISK.serial,
    ALIBABA_DISK.model,
    "fault_time",
    "tag",
)

TEXTS = ("model", "app", "manufacturer", "serial_number", "tag")
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
    types = dict.fromkeys(header, pyarrow.float64())
    types |= dict.fromkeys((name for name in TEXTS if name in header), pyarrow.string())
    types |= dict.fromkeys((name for name in IDS if name in header), pyarrow.int64())
    types |= {kind.time: pyarrow.timestamp("s"), "failure": pyarrow.bool_()}
    table = Table(given, header, lambda cells: _wrong(cells, kind))
    taken: list[Any] = []

    def put(groups: Iterator[Any]) -> None:
        taken.clear()
        size = 0
        for group in groups:
            for name in kind.needed:
                if group.column(name).null_count:
                    raise pyarrow.ArrowInvalid(f"{name} is missing")
            size += group.nbytes
            if size > TICKETS_BYTES_MAX:
                most = f"{TICKETS_BYTES_MAX >> 20} MiB"
                raise FleetError(f"{given.name}: has tickets of more than {most}, allowed are at most as many")
            taken.append(_as_tickets(group, header, kind))

    table.write(types, lambda _: False, put)
    if not taken:
        raise FleetError(f"{given.name}: has a header and no rows")
    whole = pyarrow.concat_tables(taken)
    if _has_wrong_day(whole):
        table.look_through()
    merged, count = _merged(whole, kind)
    library("pyarrow.parquet").write_table(merged, place, compression="zstd")
    notes = f"{counted(count, 'row')} joined with another one of the same drive and time"
    return table.notes + ([notes] if count else [])


def _as_tickets(table: Any, header: list[str], kind: Tickets) -> Any:
    pyarrow, compute = library("pyarrow"), library("pyarrow.compute")
    if "disk_id" in header:
        number = table.column_names.index("disk_id")
        table = table.set_column(number, "disk_id", compute.cast(table.column("disk_id"), pyarrow.string()))
    left = ("model", "failure", kind.time, *(kind.serial if len(kind.serial) == 1 else ()))
    columns = {
        "serial": joined(table, kind.serial),
        "model": joined(table, kind.model),
        "time": table.column(kind.time).cast(pyarrow.timestamp("us")),
        "failure": table.column("failure")
        if "failure" in header
        else pyarrow.repeat(pyarrow.scalar(True), table.num_rows),
        "source": pyarrow.repeat(pyarrow.scalar("alibaba"), table.num_rows),
        **{name: table.column(name) for name in header if name not in left},
    }
    return pyarrow.table(columns)


def _has_wrong_day(table: Any) -> bool:
    pyarrow, compute = library("pyarrow"), library("pyarrow.compute")
    ends = compute.min_max(table.column("time").cast(pyarrow.date32())).as_py()
    return not all(FIRST_DAY <= day <= tomorrow() for day in ends.values())


def _merged(table: Any, kind: Tickets) -> tuple[Any, int]:
    """One ticket for each drive and time, with all values of the column that may have several; and how many rows were joined."""
    if kind.merged is None:
        return table, 0
    compute, name = library("pyarrow.compute"), kind.merged
    values: dict[tuple[str, Any], list[str]] = {}
    first = []
    for number, row in enumerate(table.select(["serial", "time", name]).to_pylist()):
        there = values.setdefault((row["serial"], row["time"]), [])
        if not there:
            first.append(number)
        if row[name] not in there:
            there.append(row[name])
    texts = library("pyarrow").array(["+".join(sorted(each)) for each in values.values()])
    kept = compute.take(table, library("pyarrow").array(first))
    return kept.set_column(kept.column_names.index(name), name, texts), table.num_rows - len(first)


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
    numbers = [(name, cell) for name, cell in cells.items() if cell and name not in (*TEXTS, kind.time, "failure")]
    for name, cell in numbers:
        is_right = cell.isdecimal() and len(cell) <= 18 if name in IDS else NUMBER.fullmatch(cell.strip()) is not None
        if not is_right:
            return f"{name} is {excerpt(cell)}, allowed is {'a whole number' if name in IDS else 'a number in decimal'}; are columns shifted?"
    return None
