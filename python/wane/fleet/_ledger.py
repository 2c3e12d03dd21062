"""Contents of ``fleet.json``: the parts of a fleet and the files that it was made of, read with a check of every value.

A fleet may come from elsewhere, or from a disk that lost a sector. Paths are made of what is read here, so that every value is checked before it is
used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

from wane.fleet._plain import excerpt

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


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_day(value: Any) -> bool:
    try:
        return _is_text(value) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_list_of_files(value: Any) -> bool:
    return value is None or (_is_text(value) and re.fullmatch(r"files/[0-9]{6,18}\.parquet", value) is not None)


def _is_hash(value: Any) -> bool:
    return value is None or (_is_text(value) and re.fullmatch(r"[0-9a-f]{64}", value) is not None)


#: For each key of a part and of a file: whether a value is allowed, and what is allowed in words.
COUNT = (_is_count, "a count")
PART: dict[str, tuple[Callable[[Any], bool], str]] = {
    "number": (lambda value: _is_count(value) and value > 0, "a count from 1"),
    "kind": (lambda value: value in KINDS, "one of " + ", ".join(KINDS)),
    "rows": COUNT,
    "drives": COUNT,
    "first": (_is_day, "a day such as 2013-04-10"),
    "last": (_is_day, "a day such as 2013-04-10"),
}
ENTRY: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (_is_text, "a text"),
    "kind": (_is_text, "a text"),
    "bytes": COUNT,
    "sha256": (_is_hash, "64 hexadecimal digits or null"),
    "member": (lambda value: value is None or _is_text(value), "a text or null"),
    "rows": COUNT,
    "repeated": COUNT,
    "skipped": COUNT,
    "listed": (_is_list_of_files, "a path such as files/000002.parquet or null"),
    "notes": (lambda value: isinstance(value, list) and all(map(_is_text, value)), "a list of texts"),
}


def ledger_of(told: dict[str, Any]) -> Ledger:
    """Makes the ledger of what a ``fleet.json`` says.

    Raises:
        ValueError: A value is missing, of another kind, or twice there; the message names it.
    """
    parts = [Part(**_checked(each, name, PART, Part)) for name, each in _each_of(told, "parts")]
    entries = [Entry(**_checked(each, name, ENTRY, Entry)) for name, each in _each_of(told, "files")]
    places = [*(part.place for part in parts), *(entry.listed for entry in entries if entry.listed is not None)]
    if len(set(places)) < len(places):
        twice = next(place for place, count in Counter(places).items() if count > 1)
        raise ValueError(f"{twice} is named twice")
    return Ledger(parts, entries)


def _each_of(told: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    each = told.get(key)
    if not isinstance(each, list):
        raise ValueError(f"{key} is {excerpt(each)}, allowed is a list")
    return [(f"{key}[{index}]", one) for index, one in enumerate(each)]


def _checked(
    told: Any, name: str, allowed: dict[str, tuple[Callable[[Any], bool], str]], made: type[Part] | type[Entry]
) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise ValueError(f"{name} is {excerpt(told)}, allowed is a table")
    for key, value in told.items():
        if key not in allowed:
            raise ValueError(f"{name} has the key {excerpt(key)}, allowed are {', '.join(allowed)}")
        is_right, words = allowed[key]
        if not is_right(value):
            raise ValueError(f"{name}.{key} is {excerpt(value)}, allowed is {words}")
    # The other keys of an entry have defaults.
    needed = [each.name for each in fields(made) if made is Part or each.name in ("name", "kind", "bytes", "sha256")]
    for key in needed:
        if key not in told:
            raise ValueError(f"{name} has no {key}")
    return told
