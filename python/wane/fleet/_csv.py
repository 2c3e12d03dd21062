"""Tables as CSV: their header, their rows as Arrow's batches, and the search for what is wrong with them, all in bounded memory.

Arrow parses. If it refuses, the file is searched row by row, for a message that says what is wrong and in which line. A row has at most a
megabyte, however much a packed file unpacks to. Files that were put together by ``cat`` have their header in the middle again: it is passed over.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from wane._errors import FleetError
from wane.fleet._inputs import HEAD_BYTES, Input
from wane.fleet._layouts import COLUMNS_MAX, kind_of_names
from wane.fleet._plain import counted, excerpt, library

#: Bytes that Arrow parses at once, and most bytes of a row.
BLOCK_BYTES = 1 << 20

#: Rows and bytes of a group of the Parquet file, whichever is reached first: 2^15 rows of 200 columns are 52 MB.
GROUP_ROWS = 1 << 15
GROUP_BYTES = 64 << 20

MARK = b"\xef\xbb\xbf"

#: Hexadecimal at the beginning of a cell, in the bytes of a CSV.
HEXADECIMAL = (b"0x", b"0X")
BEFORE_CELL = b',"\r\n\t +-'

#: Finds what is wrong with a row's cells, by the names of their columns; ``None`` if nothing is.
Judge = Callable[[dict[str, str]], str | None]


def read_header(given: Input, needed: tuple[str, ...]) -> list[str]:
    """The names of the columns.

    Raises:
        FleetError: A column is missing or occurs twice, or they are more than any table has.
    """
    head = given.head()
    line = _first_line(head)
    if len(head) == HEAD_BYTES and b"\n" not in head:
        raise FleetError(f"{given.name}: has a header of more than {HEAD_BYTES >> 10} KiB, allowed is less")
    header = next(csv.reader([line]), [])
    for name in needed:
        if name not in header:
            raise FleetError(
                f"{given.name}: has no column {name}; needed are {', '.join(needed)}, found {excerpt(line)}"
            )
    if len(header) > COLUMNS_MAX:
        raise FleetError(f"{given.name}: has {len(header):,} columns, allowed are at most {COLUMNS_MAX:,}")
    there: set[str] = set()
    for name in header:
        if name in there:
            raise FleetError(f"{given.name}: has the column {excerpt(name)} twice")
        there.add(name)
    return header


def _first_line(head: bytes) -> str:
    return head.removeprefix(MARK).split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")


class Table:
    """A CSV whose rows are read once or more often.

    Attributes:
        given: Where it comes from.
        header: The names of its columns.
        judge: What finds a wrong row.
        repeated: Number of lines that repeat the header, of which the first is line ``repeated_first``; known once a row was refused.
    """

    def __init__(self, given: Input, header: list[str], judge: Judge) -> None:
        self.given = given
        self.header = header
        self.judge = judge
        self.repeated = 0
        self.repeated_first = 0

    @property
    def notes(self) -> list[str]:
        """Notes on what was passed over."""
        if not self.repeated:
            return []
        return [
            f"{counted(self.repeated, 'header')} passed over between rows, first in line {self.repeated_first}: "
            "files were put together"
        ]

    def write(self, types: dict[str, Any], number: Callable[[str], bool], put: Callable[[Iterator[Any]], None]) -> None:
        """Gives groups of rows to ``put``, again and anew if they need another reading: numbers with fractions, or headers between rows.

        Args:
            types: Arrow's type of each column that is no number.
            number: Whether a column holds numbers: whole ones if all are.
            put: Takes the groups.

        Raises:
            FleetError: A row is wrong; the message gives its line.
        """
        pyarrow = library("pyarrow")
        kinds = [pyarrow.int64(), pyarrow.float64()]
        while True:
            there = {name: kinds[0] if number(name) else types.get(name, pyarrow.string()) for name in self.header}
            try:
                put(_ahead(self._groups(there)))
                return
            except pyarrow.ArrowInvalid as error:
                known = self.repeated
                self.look_through()
                # No row is wrong by itself: it has headers between rows, or numbers with fractions.
                if self.repeated > known:
                    continue
                kinds = kinds[1:]
                if not kinds:
                    raise FleetError(f"{self.given.name}: is no CSV that can be read: {error}") from None

    def _groups(self, types: dict[str, Any]) -> Iterator[Any]:
        """Groups of rows, as large as a group of the Parquet file."""
        pyarrow, reader = library("pyarrow"), library("pyarrow.csv")
        with self.given.opened() as stream:
            source = WithoutHeaders(stream) if self.repeated else stream
            rows = reader.open_csv(
                source,
                read_options=reader.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
                convert_options=reader.ConvertOptions(
                    column_types=types,
                    null_values=[""],
                    strings_can_be_null=True,
                    true_values=["1"],
                    false_values=["0"],
                ),
            )
            if rows.schema.names != self.header:
                raise FleetError(f"{self.given.name}: has a line break or a quotation mark within a name of its header")
            yield from grouped(rows, pyarrow)

    def look_through(self) -> None:
        """Raises the error of the first wrong row, or counts the headers between rows.

        Raises:
            FleetError: It has the line, what was found, and what is allowed.
        """
        self.repeated = 0
        with self.given.opened() as stream:
            lines = _Lines(stream, self.given.name)
            rows = csv.reader(lines)
            try:
                next(rows)
                lines.row_bytes = 0
                for row in rows:
                    lines.row_bytes = 0
                    if row and (what := self._wrong(row, rows.line_num)) is not None:
                        raise FleetError(f"{self.given.name}, line {rows.line_num}: {what}")
            except csv.Error as error:
                raise FleetError(f"{self.given.name}, line {rows.line_num}: is no CSV: {error}") from None

    def _wrong(self, row: list[str], line: int) -> str | None:
        """Says what is wrong with a row; ``None`` if nothing is."""
        names = [row[0].removeprefix("\ufeff"), *row[1:]]
        if names == self.header:
            self.repeated += 1
            self.repeated_first = self.repeated_first or line
            return None
        if kind_of_names(names) is not None:
            return (
                f"is another header, of {counted(len(names), 'column')}; files with other columns are given one by one"
            )
        if len(row) != len(self.header):
            return (
                f"has {counted(len(row), 'column')}, the header has {len(self.header)}; "
                "columns are shifted or the row is cut off"
            )
        cells = dict(zip(self.header, row, strict=True))
        for name, cell in cells.items():
            if "\ufffd" in cell:
                return f"{name} is {excerpt(cell)}, which is no UTF-8"
        return self.judge(cells)

    def check_hexadecimal(self) -> None:
        """Looks through the rows if a cell may begin with 0x: after Arrow has read it, it looks like a decimal number.

        Raises:
            FleetError: A row is wrong.
        """
        before = b"\n"
        with self.given.opened() as stream:
            while block := stream.read(BLOCK_BYTES):
                text = before + block
                for sign in HEXADECIMAL:
                    at = text.find(sign)
                    while at >= 0:
                        if text[max(at - 1, 0)] in BEFORE_CELL:
                            self.look_through()
                            return
                        at = text.find(sign, at + 1)
                # The mark may lie across two blocks, with the byte before it.
                before = text[-2:]


def grouped(batches: Any, pyarrow: Any) -> Iterator[Any]:
    """Batches of rows put together to the size of a group of the Parquet file."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= GROUP_ROWS or sum(each.nbytes for each in waiting) >= GROUP_BYTES:
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


class _Lines:
    """The lines of a stream as text. It counts the bytes of a row, which may have many lines, and refuses one that does not end."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.stream = stream
        self.name = name
        self.row_bytes = 0

    def __iter__(self) -> Iterator[str]:
        number, mark = 0, "\ufeff"
        while line := self.stream.readline(BLOCK_BYTES + 1):
            number += 1
            self.row_bytes += len(line)
            if self.row_bytes > BLOCK_BYTES:
                raise FleetError(
                    f"{self.name}, line {number}: is part of a row of more than {BLOCK_BYTES >> 20} MiB; "
                    "a row has some thousand bytes: is a quotation mark left open?"
                )
            text = line.decode("utf-8", "replace").removeprefix(mark)
            mark = ""
            # A line may also end with a carriage return alone.
            yield from io.StringIO(text, newline="")


class WithoutHeaders(io.RawIOBase):
    """A stream of CSV without the lines that repeat its first one."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream
        first = stream.readline(HEAD_BYTES)
        line = re.escape(first.removeprefix(MARK).rstrip(b"\r\n"))
        self._again = re.compile(rb"^(?:\xef\xbb\xbf)?" + line + rb"\r?(?:\n|\Z)", re.MULTILINE)
        self._ready = first
        self._rest = b""
        self._begins_line = True
        self._ended = False

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, target: Any) -> int:
        """Fills the target as far as bytes are there."""
        while not self._ready and not self._ended:
            self._fill()
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _fill(self) -> None:
        block = self._stream.read(BLOCK_BYTES)
        text = self._rest + block
        self._ended = not block
        cut = len(text) if self._ended else text.rfind(b"\n") + 1
        if cut == 0 and len(text) > HEAD_BYTES:
            # A line that is longer than the header goes through as it comes.
            self._ready, self._rest, self._begins_line = text, b"", False
            return
        lines, self._rest = text[:cut], text[cut:]
        begin = 0 if self._begins_line else lines.find(b"\n") + 1
        self._ready = lines[:begin] + self._again.sub(b"", lines[begin:])
        self._begins_line = True if cut else self._begins_line
