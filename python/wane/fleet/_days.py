"""Daily tables of drives, as CSV or Parquet, become a staged Parquet file with the fleet's columns.

Columns are found by their names (`Layout`). Attributes become ``smart_N_raw`` and ``smart_N_normalized``, which are numbers; all other columns stay
text. A missing value stays missing, and so does a capacity that no drive has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from wane._errors import FleetError
from wane.fleet import _parquet
from wane.fleet._csv import GROUP_ROWS, Table, read_header
from wane.fleet._inputs import Input
from wane.fleet._layouts import Layout
from wane.fleet._plain import CAPACITY_MAX, FIRST_DAY, counted, days_allowed, excerpt, library, tomorrow

FLAGS = ("0", "1")

#: A raw value is a count of at most eight bytes; some vendors' tools write fractions. Arrow would read 0x10 as 16.
RAW_MAX = (1 << 64) - 1
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

#: Largest normalized value of an ATA attribute, which is a byte.
NORMALIZED_MAX = 255

#: The fleet's columns, before those of the file.
BASE = ("serial", "model", "date", "capacity_bytes", "failure", "source")


class _Written:
    """The staged file of a table, and what was passed over while it was written."""

    def __init__(self, given: Input, place: Path, layout: Layout, header: list[str]) -> None:
        self.given = given
        self.place = place
        self.layout = layout
        self.capacities = 0
        self.capacity_first = ""
        taken = {*layout.needed, layout.failure, layout.capacity, "source"} - set(layout.kept)
        # The columns of the file that are kept, by their names in the fleet.
        self.others: dict[str, str] = {}
        for name in (each for each in header if each not in taken):
            known = layout.attribute(name) or name
            if known in BASE or known in self.others:
                other = self.others.get(known, f"the fleet's {known}")
                raise FleetError(f"{given.name}: has the column {excerpt(name)}, which is the same as {other}")
            self.others[known] = name

    @property
    def notes(self) -> list[str]:
        """Notes on values that count as missing."""
        if not self.capacities:
            return []
        most = f"{CAPACITY_MAX // 10**15} PB"
        where = f"{counted(self.capacities, 'drive-day')}, first of {self.capacity_first}"
        return [f"capacity_bytes is above {most} on {where}: no drive has as much, and it counts as unknown"]

    def put(self, groups: Iterator[Any]) -> None:
        """Writes groups of rows to the file, anew."""
        parquet = library("pyarrow.parquet")
        self.capacities = 0
        texts = ["serial", "model", "date", "source", *(name for name in self.others if not _is_attribute(name))]
        writer = None
        try:
            for rows in groups:
                table = self._as_days(rows)
                if writer is None:
                    writer = parquet.ParquetWriter(self.place, table.schema, compression="zstd", use_dictionary=texts)
                writer.write_table(table, row_group_size=GROUP_ROWS)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise FleetError(f"{self.given.name}: has a header and no rows")

    def _as_days(self, table: Any) -> Any:
        """The table with the fleet's names and order."""
        pyarrow, layout = library("pyarrow"), self.layout
        for name in layout.needed:
            if table.column(name).null_count:
                raise pyarrow.ArrowInvalid(f"{name} is missing")
        serial, model = joined(table, layout.serial), joined(table, layout.model)
        day = _day(table.column(layout.day))
        columns = {
            "serial": serial,
            "model": model,
            "date": day,
            "capacity_bytes": self._capacity(table, serial, day),
            "failure": pyarrow.nulls(table.num_rows, pyarrow.bool_()),
            "source": pyarrow.repeat(pyarrow.scalar(layout.source), table.num_rows),
        }
        for known, name in (("failure", layout.failure), ("source", "source")):
            if name in table.column_names:
                columns[known] = table.column(name)
        return pyarrow.table(columns | {name: table.column(told) for name, told in self.others.items()})

    def _capacity(self, table: Any, serial: Any, day: Any) -> Any:
        """The capacity in bytes; one that is not above zero, or that no drive has, is unknown."""
        pyarrow, compute, name = library("pyarrow"), library("pyarrow.compute"), self.layout.capacity
        if name not in table.column_names:
            return pyarrow.nulls(table.num_rows, pyarrow.int64())
        told = table.column(name)
        is_count = compute.and_(compute.is_finite(told), compute.equal(told, compute.floor(told)))
        if not compute.all(compute.fill_null(is_count, True)).as_py():
            raise pyarrow.ArrowInvalid(f"{name} is no count")
        absurd = compute.fill_null(compute.greater(told, CAPACITY_MAX), False)
        if count := compute.sum(absurd).as_py():
            first = compute.index(absurd, True).as_py()
            if not self.capacities:
                petabytes = told[first].as_py() / 1e15
                self.capacity_first = f"{serial[first].as_py()} on {day[first].as_py()} with {petabytes:,.0f} PB"
            self.capacities += count
        is_right = compute.and_(compute.greater(told, 0), compute.invert(absurd))
        return compute.if_else(is_right, told, None).cast(pyarrow.int64())


def stage(given: Input, place: Path, layout: Layout) -> list[str]:
    """Writes a table of drive-days as a Parquet file with the fleet's columns.

    Returns:
        Notes on what was passed over.

    Raises:
        FleetError: It is not in the form of the layout; the message gives the line.
    """
    if _parquet.is_parquet(given):
        header = _parquet.columns_of(given, layout)
        written = _Written(given, place, layout, header)
        written.put(_parquet.groups(given, layout))
        if (what := _out_of_range(place)) is not None:
            raise FleetError(f"{given.name}: {what}")
        return written.notes
    pyarrow = library("pyarrow")
    header = read_header(given, layout.needed)
    written = _Written(given, place, layout, header)
    types = {layout.failure: pyarrow.bool_(), layout.capacity: pyarrow.float64()}
    if not layout.is_compact:
        types[layout.day] = pyarrow.date32()
    table = Table(given, header, lambda cells: _wrong(cells, layout))
    table.write(types, lambda name: layout.attribute(name) is not None, written.put)
    if (what := _out_of_range(place)) is not None:
        table.look_through()
        raise FleetError(f"{given.name}: {what}")
    table.check_hexadecimal()
    return table.notes + written.notes


def joined(table: Any, parts: tuple[str, ...]) -> Any:
    """The values of some columns with texts between them, as one column."""
    pyarrow, compute = library("pyarrow"), library("pyarrow.compute")
    if len(parts) == 1:
        return table.column(parts[0])
    pieces = [table.column(part) if part in table.column_names else pyarrow.scalar(part) for part in parts]
    return compute.binary_join_element_wise(*pieces, "")


def _day(told: Any) -> Any:
    """Days, also those that were written as 20180101."""
    pyarrow, compute = library("pyarrow"), library("pyarrow.compute")
    if pyarrow.types.is_date32(told.type):
        return told
    return compute.replace_substring_regex(told, r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3").cast(pyarrow.date32())


def _is_attribute(name: str) -> bool:
    return re.fullmatch(r"smart_\d+_(raw|normalized)", name) is not None


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
            if not _is_attribute(column.path_in_schema):
                continue
            range_, most = column.statistics, _most(column.path_in_schema)
            if range_ is not None and range_.has_min_max and not 0 <= range_.min <= range_.max <= float(most):
                found = range_.max if range_.max > float(most) else range_.min
                return f"{column.path_in_schema} is {found}, allowed are 0 to {most}"
    return None


def _most(name: str) -> int:
    return NORMALIZED_MAX if name.endswith("_normalized") else RAW_MAX


def _wrong(cells: dict[str, str], layout: Layout) -> str | None:
    """Says what is wrong with a row's cells; ``None`` if nothing is."""
    for name in (each for each in cells if layout.names_drive(each)):
        if not cells[name].strip():
            return f"{name} is empty, and without it a row is of no drive"
    day = cells[layout.day]
    told = re.sub(r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3", day) if layout.is_compact else day
    forms = "20130410 or 2013-04-10" if layout.is_compact else "2013-04-10"
    if not _is_day(told):
        return f"{layout.day} is {excerpt(day)}, allowed is a day such as {forms}, without time or zone"
    if not FIRST_DAY <= date.fromisoformat(told) <= tomorrow():
        return f"{layout.day} is {excerpt(day)}, {days_allowed()}"
    failure = cells.get(layout.failure, FLAGS[0])
    if failure not in FLAGS:
        return f"{layout.failure} is {excerpt(failure)}, allowed are 0 and 1; are columns shifted?"
    capacity = cells.get(layout.capacity, "")
    if capacity and not _is_count(capacity):
        return f"{layout.capacity} is {excerpt(capacity)}, allowed is a count of bytes; are columns shifted?"
    values = ((name, layout.attribute(name), cell) for name, cell in cells.items() if cell)
    found = (_wrong_attribute(name, known, cell) for name, known, cell in values if known is not None)
    return next((wrong for wrong in found if wrong), None)


def _is_count(cell: str) -> bool:
    return NUMBER.fullmatch(cell.strip()) is not None and float(cell).is_integer()


def _wrong_attribute(name: str, known: str, cell: str) -> str | None:
    if NUMBER.fullmatch(cell.strip()) is None and cell.strip().lower() not in ("nan", "inf", "-inf"):
        return f"{name} is {excerpt(cell)}, allowed is a number in decimal; are columns shifted?"
    value = float(cell)
    if not math.isfinite(value):
        return f"{name} is {excerpt(cell)}, allowed is a number; leave it empty where it is not known"
    # In floating point eight bytes of ones are one more.
    if not 0 <= value <= float(_most(known)):
        return f"{name} is {excerpt(cell)}, allowed are 0 to {_most(known)}; are columns shifted?"
    return None


def _is_day(text: str) -> bool:
    try:
        return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None and date.fromisoformat(text) is not None
    except ValueError:
        return False
