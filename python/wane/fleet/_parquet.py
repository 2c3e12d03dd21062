"""Tables as Parquet: DuckDB reads them within its limit of memory, and gives the types that a CSV of the same columns has."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from typing import Any

from wane._errors import FleetError
from wane.fleet._csv import BLOCK_BYTES, GROUP_ROWS, grouped
from wane.fleet._inputs import PARQUET_MAGIC, Input
from wane.fleet._layouts import COLUMNS_MAX, LAYOUTS, Layout, kind_of_names
from wane.fleet._plain import first_line, library, named, quoted
from wane.fleet._simulated import SIMULATED
from wane.fleet.store import connect

#: Bytes that DuckDB may take for a file: a row group of Drive Stats has some tens of megabytes.
MEMORY_BYTES = 256 << 20

#: Types of columns that are numbers already, in DuckDB.
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


def is_parquet(given: Input) -> bool:
    """Whether an input is Parquet, by its first bytes."""
    return given.head().startswith(PARQUET_MAGIC)


def kind_of(given: Input) -> str:
    """The kind of a Parquet file: ``simulated``, or one of the daily tables.

    Raises:
        FleetError: It is neither, or damaged.
    """
    pyarrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    with given.file.open("rb") as stream:
        if stream.read(4) != PARQUET_MAGIC:
            raise FleetError(f"{given.name}: is packed Parquet; unpack it, Parquet packs its columns by itself")
    try:
        schema = parquet.read_schema(given.file)
    except (OSError, pyarrow.ArrowException) as error:
        raise FleetError(f"{given.name}: is damaged: {first_line(error)}") from None
    if SIMULATED in (schema.metadata or {}):
        return "simulated"
    kind = kind_of_names(schema.names)
    if kind not in LAYOUTS:
        words = ", ".join(layout.words for layout in LAYOUTS.values())
        raise FleetError(
            f"{given.name}: is Parquet, but neither of a simulated fleet nor with the columns of a table that is known ({words})"
        )
    return str(kind)


def columns_of(given: Input, layout: Layout) -> list[str]:
    """The names of the columns.

    Raises:
        FleetError: A column is missing, or they are more than any table has.
    """
    names = [str(name) for name in library("pyarrow.parquet").read_schema(given.file).names]
    for name in layout.needed:
        if name not in names:
            raise FleetError(f"{given.name}: has no column {name}; needed are {', '.join(layout.needed)}")
    if len(names) > COLUMNS_MAX:
        raise FleetError(f"{given.name}: has {len(names):,} columns, allowed are at most {COLUMNS_MAX:,}")
    folded = [name.lower() for name in names]
    if (twice := next((name for name in names if folded.count(name.lower()) > 1), None)) is not None:
        raise FleetError(f"{given.name}: has the column {twice} twice, whatever the case of its letters")
    return names


def groups(given: Input, layout: Layout) -> Iterator[Any]:
    """Groups of rows with the types that a CSV's rows have.

    Raises:
        FleetError: A value is none that the layout allows, or the file is damaged.
    """
    duckdb, pyarrow = library("duckdb"), library("pyarrow")
    connection = connect(MEMORY_BYTES)
    connection.execute("SET preserve_insertion_order=true")
    try:
        # Names in the path are no columns, and files beside it are not read.
        table = f"read_parquet({quoted(glob.escape(str(given.file)))}, hive_partitioning=false)"
        told = connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
        try:
            chosen = ", ".join(
                f"{_cast(str(name), str(kind), layout)} AS {named(str(name))}" for name, kind, *_ in told
            )
        except FleetError as error:
            raise FleetError(f"{given.name}: {error}") from None
        rows = connection.sql(f"SELECT {chosen} FROM {table}").to_arrow_reader(GROUP_ROWS)
        yield from grouped(rows, pyarrow)
    except duckdb.OutOfMemoryException:
        raise FleetError(
            f"{given.name}: has a cell or a group of rows that unpacks to more than {MEMORY_BYTES >> 20} MiB, allowed is less"
        ) from None
    except duckdb.Error as error:
        what = first_line(error).partition("Error: ")[2] or first_line(error)
        raise FleetError(f"{given.name}: {what}") from None
    finally:
        connection.close()


def _cast(name: str, kind: str, layout: Layout) -> str:
    """A column as an expression of the type that it has as CSV.

    Raises:
        FleetError: It has a type that cannot be read as such.
    """
    column = named(name)
    if kind == "VARCHAR":
        size = f"strlen({column})"
        large = f"{quoted(name)} || ' is a cell of ' || {size} // {1 << 20} || ' MiB, allowed is at most {BLOCK_BYTES >> 20} MiB'"
        column = f"CASE WHEN {size} > {BLOCK_BYTES} THEN error({large}) ELSE {column} END"
    found = f"COALESCE(CAST({column} AS VARCHAR), 'nothing')"
    if name == layout.failure:
        wrong = f"error('{name} is ' || {found} || ', allowed are 0 and 1')"
        flag = f"CAST({column} AS VARCHAR)"
        return f"CASE WHEN {flag} IN ('1', '1.0', 'true') THEN true WHEN {flag} IN ('0', '0.0', 'false') THEN false ELSE {wrong} END"
    if name == layout.day:
        text = f"CAST({column} AS VARCHAR)"
        if layout.is_compact:
            text = f"regexp_replace({text}, '^(\\d{{4}})(\\d\\d)(\\d\\d)$', '\\1-\\2-\\3')"
        text = f"regexp_replace({text}, '^(\\d{{4}}-\\d\\d-\\d\\d) 00:00:00(\\+00)?$', '\\1')"
        day = f"CASE WHEN regexp_full_match({text}, '\\d{{4}}-\\d\\d-\\d\\d') THEN TRY_CAST({text} AS DATE) END"
        return f"COALESCE({day}, error('{name} is ' || {found} || ', allowed is a day without time or zone'))"
    if layout.names_drive(name):
        text = f"NULLIF(trim(CAST({column} AS VARCHAR)), '')"
        return f"COALESCE({text}, error('{name} is empty, and without it a row is of no drive'))"
    if name != layout.capacity and layout.attribute(name) is None:
        return f"CAST({column} AS VARCHAR)"
    return _number(name, kind, column, name == layout.capacity)


def _number(name: str, kind: str, column: str, is_count: bool) -> str:
    """A column of numbers as an expression; a text that is empty is missing, as in a CSV."""
    if kind in WHOLE and not is_count:
        return f"CAST({column} AS BIGINT)"
    if kind not in (*WHOLE, "VARCHAR", "UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE") and not kind.startswith(
        "DECIMAL"
    ):
        raise FleetError(f"{name} has the type {kind}, allowed are numbers")
    told = f"NULLIF(trim({column}), '')" if kind == "VARCHAR" else column
    number = f"TRY_CAST({told} AS DOUBLE)"
    allowed = "a count of bytes" if is_count else "a number"
    wrong = f"error({quoted(name)} || ' is ' || CAST({column} AS VARCHAR) || ', allowed is {allowed}')"
    is_wrong = f"{told} IS NOT NULL AND {number} IS NULL"
    if is_count:
        is_wrong += f" OR NOT isnan({number}) AND (isinf({number}) OR {number} <> floor({number}))"
    # Not a number is what pandas writes for a missing one.
    return f"CASE WHEN {is_wrong} THEN {wrong} WHEN isnan({number}) THEN NULL ELSE {number} END"
