"""Real drives: reads the output of smartctl and nvme about a drive, and judges its health, as the command `wane doctor` does."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from wane import _wane
from wane._errors import SmartError

#: A path, or the text or bytes themselves. A text is not taken for a path if it has a line break or begins with a brace.
Told: TypeAlias = "str | bytes | PathLike[str]"

#: Most bytes of an input, as in the command: some 5,000 dumps of smartctl's text.
INPUT_BYTES_MAX = 64 << 20


def read_smart(told: Told) -> list[dict[str, Any]]:
    """Reads a tool's output about a drive.

    It takes smartctl's and ``nvme smart-log``'s JSON or text, smartd's attrlog, pages, and what else "Your fleet" in the book lists.

    Args:
        told: A path, or the text or bytes themselves. It may hold several records.

    Returns:
        The records in their order, at least one. ``known`` has each quantity by name (with its unit at the end) with ``value`` and ``from``;
        ``attributes`` has the ATA attributes as reported. Values that were not reported are absent.

    Raises:
        SmartError: It is none of these, or cut off.
    """
    return _wane.readings(*_input(told))


def doctor(*told: Told) -> dict[str, Any]:
    """Judges a drive by one record or several: wear, writes, errors and their rate, end of life.

    Args:
        *told: The records of one drive, the latest first; each as for `read_smart`.

    Returns:
        The dict that ``wane doctor --json`` prints; "Your fleet" in the book lists its keys.

    Raises:
        SmartError: No record is given, one cannot be read, or they are of several drives.
    """
    return _wane.judge([_input(each) for each in told])


def _input(told: Told) -> tuple[str, bytes]:
    """Returns a name for messages, and the bytes."""
    if isinstance(told, bytes):
        return "the bytes", told
    if isinstance(told, str) and ("\n" in told or told.lstrip()[:1] in ("{", "[")):
        return "the text", told.encode()
    path = Path(told)
    try:
        with path.open("rb") as file:
            found = file.read(INPUT_BYTES_MAX + 1)
    except OSError as error:
        raise SmartError(f"{path}: cannot be read: {error.strerror}") from None
    if len(found) > INPUT_BYTES_MAX:
        raise SmartError(f"{path}: has more than {INPUT_BYTES_MAX >> 20} MiB, allowed are at most as many of records")
    return str(path), found
