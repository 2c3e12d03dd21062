"""Backblaze's daily files, of any year: turns streams of CSV into a staged Parquet file, in bounded memory.

Columns are found by the header. ``date``, ``serial_number``, ``model`` and ``failure`` must be there; ``smart_N_raw`` and ``smart_N_normalized``
become numbers; all other columns stay text. Arrow parses and writes. If it refuses, the file is searched row by row, for a message that says what is
wrong and in which line.

Source: Backblaze, "Drive Stats", https://www.backblaze.com/cloud-storage/resources/hard-drive-test-data
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

from wane._errors import FleetError
from wane.fleet._inputs import Input
from wane.fleet._plain import FIRST_DAY, days_allowed, excerpt, library, tomorrow

#: Bytes that Arrow parses at once, and rows of a group of the Parquet file: 2^15 rows of 200 columns are 52 MB.
BLOCK_BYTES = 1 << 20
GROUP_ROWS = 1 << 15

NEEDED = ("date", "serial_number", "model", "failure")
FLAGS = ("0", "1")
SMART = re.compile(r"smart_\d+_(raw|normalized)")

#: A raw value is a count of at most eight bytes; some vendors' tools write fractions. Arrow would read 0x10 as 16.
RAW_MAX = (1 << 64) - 1
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

#: Hexadecimal at the beginning of a cell, in the bytes of a CSV.
HEXADECIMAL = (b"0x", b"0X")
BEFORE_CELL = b',"\r\n\t +-'

#: Largest normalized value of an ATA attribute, which is a byte.
NORMALIZED_MAX = 255


def stage(given: Input, place: Path) -> None:
    """Writes a stream of CSV as a Parquet file with the fleet's columns.

    Raises:
        FleetError: It is not in the form of Backblaze's files; the message gives the line.
    """
    pyarrow = library("pyarrow")
    header = read_header(given)
    for number in ("int64", "float64"):
        try:
            _write(given, place, header, number)
            break
        except pyarrow.ArrowInvalid as error:
            _look_through(given, header)
            # No row is wrong by itself, so some attributes have fractions. Parsed again with fractions allowed.
            if number == "float64":
                raise FleetError(f"{given.name}: is no CSV that can be read: {error}") from None
    if (what := _out_of_range(place)) is not None:
        _look_through(given, header)
        raise FleetError(f"{given.name}: {what}")
    if _has_hexadecimal(given):
        _look_through(given, header)


def read_header(given: Input) -> list[str]:
    """The names of the columns.

    Raises:
        FleetError: A column is missing or occurs twice.
    """
    line = given.head().removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")
    header = next(csv.reader([line]), [])
    for name in NEEDED:
        if name not in header:
            raise FleetError(
                f"{given.name}: has no column {name}; needed are {', '.join(NEEDED)}, found {excerpt(line)}"
            )
    for name in header:
        if header.count(name) > 1:
            raise FleetError(f"{given.name}: has the column {excerpt(name)} twice")
    return header


def _write(given: Input, place: Path, header: list[str], number: str) -> None:
    parquet = library("pyarrow.parquet")
    names = ["serial", "model", "date", "capacity_bytes", "failure", "source"]
    others = [name for name in header if name not in (*NEEDED, "capacity_bytes", "source")]
    texts = ["serial", "model", "date", "source", *(name for name in others if not SMART.fullmatch(name))]
    writer = None
    try:
        for rows in _ahead(_batches(given, header, number)):
            table = _as_days(rows, [*names, *others])
            if writer is None:
                writer = parquet.ParquetWriter(place, table.schema, compression="zstd", use_dictionary=texts)
            writer.write_table(table, row_group_size=GROUP_ROWS)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise FleetError(f"{given.name}: has a header and no rows")


def _batches(given: Input, header: list[str], number: str) -> Iterator[Any]:
    """Groups of rows, as large as a group of the Parquet file."""
    pyarrow, reader = library("pyarrow"), library("pyarrow.csv")
    types = dict.fromkeys(header, pyarrow.string())
    types |= {name: getattr(pyarrow, number)() for name in header if SMART.fullmatch(name)}
    types |= {"date": pyarrow.date32(), "failure": pyarrow.bool_(), "capacity_bytes": pyarrow.int64()}
    types = {name: kind for name, kind in types.items() if name in header}
    with given.opened() as stream:
        rows = reader.open_csv(
            stream,
            read_options=reader.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
            convert_options=reader.ConvertOptions(
                column_types=types, null_values=[""], strings_can_be_null=True, true_values=["1"], false_values=["0"]
            ),
        )
        waiting: list[Any] = []
        for batch in rows:
            for name in NEEDED:
                if batch.column(header.index(name)).null_count:
                    raise pyarrow.ArrowInvalid(f"{name} is missing")
            waiting.append(batch)
            if sum(each.num_rows for each in waiting) >= GROUP_ROWS:
                yield pyarrow.Table.from_batches(waiting)
                waiting = []
        if waiting and sum(each.num_rows for each in waiting):
            yield pyarrow.Table.from_batches(waiting)


def _ahead(items: Iterator[Any]) -> Iterator[Any]:
    """The same items, of which the next is made on another thread meanwhile: Arrow parses and writes without the interpreter's lock."""
    end = object()
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(next, items, end)
        while (item := waiting.result()) is not end:
            waiting = beside.submit(next, items, end)
            yield item


def _as_days(table: Any, names: list[str]) -> Any:
    """The table with the fleet's names and order; a capacity that is not above zero counts as unknown."""
    pyarrow, compute = library("pyarrow"), library("pyarrow.compute")
    table = table.rename_columns(["serial" if name == "serial_number" else name for name in table.column_names])
    if "source" not in table.column_names:
        table = table.append_column("source", pyarrow.repeat(pyarrow.scalar("backblaze"), table.num_rows))
    if "capacity_bytes" in table.column_names:
        told = table.column("capacity_bytes")
        told = compute.if_else(compute.greater(told, 0), told, None)
        table = table.set_column(table.column_names.index("capacity_bytes"), "capacity_bytes", told)
    else:
        table = table.append_column("capacity_bytes", pyarrow.nulls(table.num_rows, pyarrow.int64()))
    return table.select(names)


def _out_of_range(place: Path) -> str | None:
    """Finds a value that no attribute can have, or an impossible day, by the statistics of the Parquet file."""
    told = library("pyarrow.parquet").ParquetFile(place).metadata
    for group in range(told.num_row_groups):
        for index in range(told.num_columns):
            column = told.row_group(group).column(index)
            if column.path_in_schema == "date":
                days = (column.statistics.min, column.statistics.max)
                wrong = next((day for day in days if not FIRST_DAY <= day <= tomorrow()), None)
                if wrong is not None:
                    return f"date is {wrong}, {days_allowed()}"
            if not SMART.fullmatch(column.path_in_schema):
                continue
            range_, most = column.statistics, _most(column.path_in_schema)
            if range_ is not None and range_.has_min_max and not 0 <= range_.min <= range_.max <= most:
                found = range_.max if range_.max > most else range_.min
                return f"{column.path_in_schema} is {found}, allowed are 0 to {most}"
    return None


def _most(name: str) -> int:
    return NORMALIZED_MAX if name.endswith("_normalized") else RAW_MAX


def _has_hexadecimal(given: Input) -> bool:
    """Whether a cell may begin with 0x: after Arrow has read it, it looks like a decimal number."""
    before = b"\n"
    with given.opened() as stream:
        while block := stream.read(BLOCK_BYTES):
            text = before + block
            for sign in HEXADECIMAL:
                at = text.find(sign)
                while at >= 0:
                    if text[max(at - 1, 0)] in BEFORE_CELL:
                        return True
                    at = text.find(sign, at + 1)
            # The mark may lie across two blocks, with the byte before it.
            before = text[-2:]
    return False


def _look_through(given: Input, header: list[str]) -> None:
    """Raises the error of the first wrong row.

    Raises:
        FleetError: It has the line, what was found, and what is allowed.
    """
    with given.opened() as stream:
        rows = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", "replace", newline=""))
        try:
            next(rows)
            for row in rows:
                if row and (what := _wrong(row, header)) is not None:
                    raise FleetError(f"{given.name}, line {rows.line_num}: {what}")
        except csv.Error as error:
            raise FleetError(f"{given.name}, line {rows.line_num}: is no CSV: {error}") from None


def _wrong(row: list[str], header: list[str]) -> str | None:
    """Says what is wrong with a row; ``None`` if nothing is."""
    if len(row) != len(header):
        return f"has {len(row)} columns, the header has {len(header)}; columns are shifted or the row is cut off"
    cells = dict(zip(header, row, strict=True))
    for name, cell in cells.items():
        if "\ufffd" in cell:
            return f"{name} is {excerpt(cell)}, which is no UTF-8"
    for name in ("serial_number", "model"):
        if not cells[name].strip():
            return f"{name} is empty, and without it a row is of no drive"
    capacity = cells.get("capacity_bytes", "")
    what = None
    if not _is_day(cells["date"]):
        what = f"date is {excerpt(cells['date'])}, allowed is a day such as 2013-04-10, without time or zone"
    elif not FIRST_DAY <= date.fromisoformat(cells["date"]) <= tomorrow():
        what = f"date is {excerpt(cells['date'])}, {days_allowed()}"
    elif cells["failure"] not in FLAGS:
        what = f"failure is {excerpt(cells['failure'])}, allowed are 0 and 1; are columns shifted?"
    elif not re.fullmatch(r"-?\d*", capacity):
        what = f"capacity_bytes is {excerpt(capacity)}, allowed is a count of bytes; are columns shifted?"
    if what is not None:
        return what
    told = ((name, cell) for name, cell in cells.items() if cell and SMART.fullmatch(name))
    return next((wrong for name, cell in told if (wrong := _wrong_attribute(name, cell))), None)


def _wrong_attribute(name: str, cell: str) -> str | None:
    if NUMBER.fullmatch(cell.strip()) is None and cell.strip().lower() not in ("nan", "inf", "-inf"):
        return f"{name} is {excerpt(cell)}, allowed is a number in decimal; are columns shifted?"
    value = float(cell)
    if not math.isfinite(value):
        return f"{name} is {excerpt(cell)}, allowed is a number; leave it empty where it is not known"
    if not 0 <= value <= _most(name):
        return f"{name} is {excerpt(cell)}, allowed are 0 to {_most(name)}; are columns shifted?"
    return None


def _is_day(text: str) -> bool:
    try:
        return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None and date.fromisoformat(text) is not None
    except ValueError:
        return False
