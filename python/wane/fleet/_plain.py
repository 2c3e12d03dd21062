"""Helpers of the package: the libraries of the extra, sentences, numbers for JSON."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any
from uuid import UUID

from wane._extras import need

#: The extra with the libraries that `wane.fleet` needs.
EXTRA = "fleet"

#: Most letters of a found value in a sentence.
EXCERPT_MAX = 60

#: Control characters that have an escape of one letter.
ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

#: Most bytes of a drive, far above any of 2026: some drives report 600 PB, and a number below is exact in floating point.
CAPACITY_MAX = 8 * 10**15

#: The first day that a file may contain: earlier days come from a clock that was never set.
FIRST_DAY = date(1970, 1, 1)


def tomorrow() -> date:
    """The last day that a file may contain: a clock may be half a day ahead, but not more."""
    return datetime.now(UTC).date() + timedelta(days=1)


def moment(seconds: float) -> str:
    """Formats a moment of Unix time for people."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def days_allowed() -> str:
    """The days that a file may contain, for a message."""
    return f"allowed are {FIRST_DAY} to {tomorrow()}, which is tomorrow in UTC; was a clock wrong?"


def library(name: str) -> ModuleType:
    """Imports a module of the extra ``fleet``; raises ``MissingExtraError`` if it is not installed."""
    return need(name, EXTRA, "wane.fleet")


def shown(text: object) -> str:
    r"""A text as it is printed: on one line, with escapes for what a terminal would act on.

    Serial numbers, models and names of files come from elsewhere. Control characters, marks that change the direction of writing and letters
    without a shape become escapes such as ``\u{1b}``, as in the command's own messages.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else ESCAPES.get(letter, f"\\u{{{ord(letter):x}}}") for letter in text
    )


def shown_lines(text: object) -> str:
    """A text of several lines as it is printed: `shown`, line by line."""
    return "\n".join(shown(line) for line in str(text).split("\n"))


def excerpt(found: object) -> str:
    """A found value in quotes, on one line and cut short."""
    text = shown(found)
    return f'"{text[:EXCERPT_MAX]}..."' if len(text) > EXCERPT_MAX else f'"{text}"'


def first_line(error: object) -> str:
    """A library's error message, in one line."""
    return str(error).strip().partition("\n")[0]


def counted(number: int, one: str, more: str | None = None) -> str:
    """A count with its word: "1 drive", "1,234 drives"."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def named(column: str) -> str:
    """A column's name in SQL."""
    return '"' + column.replace('"', '""') + '"'


def plain(value: Any) -> Any:
    """Converts a value for JSON: NumPy numbers become Python numbers, and numbers that are not finite become ``None``."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "item") and not isinstance(value, str):
        return plain(value.item()) if getattr(value, "ndim", 0) == 0 else plain(value.tolist())
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, timedelta | UUID):
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else value
