"""A run's result: its numbers, its tables, its report."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from wane import _wane
from wane._extras import need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Rows of a table that a notebook shows.
ROWS_SHOWN = 10

#: Width of the names in the command's output, with the space after them.
NAME_WIDTH = 21


class Table(Mapping[str, "NDArray[Any]"]):
    """A table of named columns: a mapping from their names to arrays of shape ``(rows,)``, in the order of the file of that name.

    The arrays are copies and cannot be written. Whole numbers are ``uint32`` or ``uint64``, ratios ``float64`` with ``nan`` if they are
    undefined, words arrays of text.

    A table is also an Arrow stream (``__arrow_c_stream__``): ``polars.DataFrame(table)``, ``pyarrow.table(table)``, DuckDB and others that
    know the Arrow PyCapsule interface take it without a copy, with undefined ratios as null.
    """

    def __init__(self, columns: _wane.Columns) -> None:
        self._native = columns
        self._columns = {name: _array(values) for name, values in columns.arrays()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        """The number of rows; 0 for a table without columns."""
        return next((len(column) for column in self._columns.values()), 0)

    def to_polars(self) -> Any:
        """The table as a ``polars.DataFrame``, undefined ratios as null.

        Raises:
            MissingExtraError: Polars is not installed; the extra ``frames`` brings it.
        """
        polars = need("polars", "frames", "Table.to_polars")
        return polars.DataFrame(dict(self._columns), nan_to_null=True)

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``, undefined ratios as ``nan``.

        Raises:
            MissingExtraError: pandas is not installed; the extra ``frames`` brings it.
        """
        pandas = need("pandas", "frames", "Table.to_pandas")
        return pandas.DataFrame(dict(self._columns))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule ``arrow_array_stream`` of the Arrow C stream interface, with one batch. Other schemas are not supported.

        Args:
            requested_schema: Ignored, as the interface allows.
        """
        return self._native.arrow_stream()

    def _repr_html_(self) -> str:
        shown = min(self.rows, ROWS_SHOWN)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(column[row]))}</td>" for column in self.values()) + "</tr>"
            for row in range(shown)
        )
        more = f"{shown} of {self.rows} rows, " if shown < self.rows else f"{self.rows} rows, "
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div><p>{more}{len(self)} columns</p>'

    def __repr__(self) -> str:
        names = ", ".join(list(self._columns)[:4]) + (", ..." if len(self) > 4 else "")
        return f"<wane.Table of {self.rows} rows and {len(self)} columns{': ' + names if names else ''}>"


class Result:
    """A run's result. ``run`` and ``read`` make it; ``print`` shows what ``wane run`` prints.

    A page is a mapping unit: the flash page, unless the scenario sets a smaller one. Counts start when preconditioning ends; wear
    includes it. A drive write is as many host pages as the new drive had logical pages.
    """

    def __init__(self, result: _wane.RunResult) -> None:
        self._result = result

    def __reduce__(self) -> tuple[type[Result], tuple[_wane.RunResult]]:
        """Pickles the result unchanged."""
        return Result, (self._result,)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The run in numbers: the dict of ``wane run --json``, whose keys and units the book lists. Ratios without a denominator are ``None``.

        Only what is under ``run`` may differ between two runs of the same scenario.
        """
        return self._result.summary()

    @cached_property
    def timeline(self) -> Table:
        """The drive's life: a row for each moment, at most 2,048 rows.

        Among the columns, all of shape ``(rows,)``: ``drive_writes`` since preconditioning, ``float64``; ``pages_programmed_*`` and
        ``blocks_erased_*``, pages and blocks since preconditioning, ``uint64``; ``write_amplification_*`` since the row before, flash pages for
        each host page, ``float64``; ``erase_count_*``, erases of a block, percentiles over all physical blocks; ``logical_bytes_exported``, bytes.
        """
        return table_of(self._result.timeline())

    @cached_property
    def blocks(self) -> Table:
        """The wear of the drive's physical blocks at the end: a row for each block, in order of id.

        Columns of shape ``(blocks,)``: ``block``, ``channel``, ``die`` and ``plane``, indices; ``erase_count``, erases; ``valid_pages``, pages
        that hold current data; all ``uint32``; and ``state``, text such as ``"closed"`` or ``"retired"``.
        """
        return table_of(self._result.blocks())

    @cached_property
    def windows(self) -> Table:
        """Timed windows and probes, a row each; without columns if nothing was timed.

        Among the columns, all of shape ``(windows,)``: ``kind``, ``"run"`` or ``"probe"``; ``at_drive_writes`` and ``at_days``, when it began;
        ``seconds`` that it lasted; ``latency_*_ns``, nanoseconds; ``throughput_*_iops``, requests a second; ``errors_*``, counts.
        """
        return table_of(self._result.windows())

    def latency_distribution(
        self, window: int, operation: Literal["read", "write"] = "read"
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Points of the distribution of latencies in a window.

        Args:
            window: Its row in ``windows``; -1 is the last.
            operation: The requests: ``"read"`` or ``"write"``.

        Returns:
            Nanoseconds, and the share of the requests that took no longer, 0 to 1; both of shape ``(points,)``, empty without requests.

        Raises:
            IndexError: There is no such window.
            ValueError: There is no such operation.
        """
        if operation not in ("read", "write"):
            raise ValueError(f'operation: found {operation!r}, allowed are "read" and "write"')
        distributions = self._distributions
        if not -len(distributions) <= window < len(distributions):
            raise IndexError(f"window: found {window}, the run has {len(distributions)} windows")
        reads, read_shares, writes, write_shares = distributions[window]
        return (reads, read_shares) if operation == "read" else (writes, write_shares)

    @cached_property
    def _distributions(self) -> list[_wane.Distributions]:
        return self._result.distributions()

    @cached_property
    def raw_bit_errors(self) -> NDArray[np.uint64] | None:
        """Numbers of codewords of first reads with 0, 1, 2, ... raw bit errors, of shape ``(most + 1,)``; the last entry counts all beyond.

        ``None`` on flash without errors.
        """
        return self._result.error_histogram()

    @cached_property
    def drives(self) -> list[Result]:
        """Of an array: the results of its drives, in the order of ``summary["array"]["drives"]``. Empty of a drive alone."""
        return [Result(drive) for drive in self._result.drives()]

    @property
    def scenario_toml(self) -> str:
        """The resolved scenario, as in ``scenario.toml``: every key with its value. Running it again gives the same numbers."""
        return self._result.scenario_toml()

    def report(self) -> str:
        """The page ``report.html``: pictures and tables in HTML that need no network."""
        return self._result.report()

    def __str__(self) -> str:
        return self._result.in_words().rstrip("\n")

    def __repr__(self) -> str:
        summary = self.summary
        end, amplification = summary["end"], summary["write_amplification"]["total"]
        told = "none" if amplification is None else f"{amplification:.3f}"
        cause = f" ({end['cause']})" if end["cause"] else ""
        return (
            f"<wane.Result of {summary['scenario']['name']!r}: {end['reason']}{cause} after {end['at_drive_writes']:.2f} drive writes, "
            f"write amplification {told}>"
        )

    def _repr_html_(self) -> str:
        rows = []
        for line in str(self).splitlines():
            # A wider name has a line of its own.
            width = NAME_WIDTH if line[NAME_WIDTH - 1 : NAME_WIDTH] == " " else len(line)
            name, value = line[:width], line[width:]
            rows.append((name.strip(), value))
        return rows_as_html(rows)


def rows_as_html(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as a table of HTML."""
    left = 'style="text-align:left"'
    cells = [
        f"<tr><th {left}>{html.escape(name)}</th><td {left}>{html.escape(value)}</td></tr>" for name, value in rows
    ]
    return f"<table>{''.join(cells)}</table>"


def table_of(columns: _wane.Columns) -> Table:
    """The table of native columns."""
    return Table(columns)


def _cell(value: Any) -> str:
    if value.dtype.kind != "f":
        return str(value)
    return "" if value != value else f"{value:.6g}"  # noqa: PLR0124 - nan


def _array(values: NDArray[Any] | list[str]) -> NDArray[Any]:
    # Here, so that the command starts without NumPy.
    import numpy as np  # noqa: PLC0415

    if isinstance(values, np.ndarray):
        return values
    texts = np.array(values, dtype=np.str_)
    texts.flags.writeable = False
    return texts
