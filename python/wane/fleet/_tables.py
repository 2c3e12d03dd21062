"""Tables as printed text and as CSV, in which no cell acts on a terminal or in a spreadsheet."""

from __future__ import annotations

import re
from typing import Any

from wane.fleet._plain import library, plain, shown

#: Beginnings of a cell that a spreadsheet takes for a formula, and what looks so and is none: a number, or a dash for nothing.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
NO_FORMULA = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-+")

#: Cells that have to be looked at letter by letter: those that may begin a formula, and those with other letters than ASCII's.
SUSPECT = r"^\s*[=+\-@]|[^ -~]"

#: Kinds of Arrow's columns that have a form of their own in CSV.
PRINTABLE = ("integer", "floating", "decimal", "boolean", "null", "date", "time", "timestamp", "duration")


def cell(value: Any) -> Any:
    """A value as a cell of CSV: a text that a spreadsheet would compute gets an apostrophe, after which it is text there."""
    if not isinstance(value, str):
        return value
    text = shown(value)
    is_formula = text.lstrip().startswith(FORMULA) and NO_FORMULA.fullmatch(text.strip()) is None
    return f"'{text}" if is_formula else text


def frame_text(frame: Any, index: bool = True) -> str:
    """A ``pandas.DataFrame`` as a table for the terminal."""
    escaped = _mapped(frame, lambda value: shown(value) if isinstance(value, str) else value)
    return str(escaped.to_string(index=index))


def frame_csv(frame: Any) -> str:
    """A ``pandas.DataFrame`` as CSV, without its index."""
    return str(_mapped(frame, cell).to_csv(index=False))


def _mapped(frame: Any, change: Any) -> Any:
    named = frame.rename(columns=change, index=change)
    texts = [number for number, kind in enumerate(named.dtypes) if str(kind) in ("object", "str", "string")]
    for number in texts:
        named.isetitem(number, named.iloc[:, number].map(change))
    return named


def arrow_csv(table: Any) -> str:
    """A ``pyarrow.Table`` as CSV; values that have no form in CSV, such as lists, are JSON-like text."""
    pyarrow = library("pyarrow")
    columns = [_column(table.column(number)) for number in range(table.num_columns)]
    printed = pyarrow.Table.from_arrays(columns, names=[cell(name) for name in table.column_names])
    sink = pyarrow.BufferOutputStream()
    library("pyarrow.csv").write_csv(printed, sink)
    return str(sink.getvalue().to_pybytes().decode())


def _column(column: Any) -> Any:
    types, compute = library("pyarrow.types"), library("pyarrow.compute")
    kind, text = column.type, library("pyarrow").string()
    if types.is_string(kind) or types.is_large_string(kind):
        if not compute.any(compute.match_substring_regex(column, SUSPECT)).as_py():
            return column
    elif any(getattr(types, f"is_{name}")(kind) for name in PRINTABLE):
        return column
    values = (None if value is None else cell(str(plain(value))) for value in column.to_pylist())
    return library("pyarrow").array(values, text)
