"""Turns scenarios in Python into the plain values of a scenario file."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from wane._errors import ScenarioError

TYPES = "text, numbers, True, False, paths, lists and dicts of these"

#: Range of a number in a scenario file.
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1

#: Most depth of a scenario; anything deeper contains itself.
DEPTH_MAX = 32


def plain(value: object, key: str, depth: int = 0, source: str = "scenario") -> Any:
    """Returns the value with NumPy scalars, paths, tuples and mappings turned into Python scalars, texts, lists and dicts.

    Args:
        value: A value of the scenario.
        key: Its key, for error messages.
        depth: Number of values that contain it.
        source: What contains it; error messages begin with it.

    Raises:
        ScenarioError: A scenario file could not hold it.
    """
    if depth > DEPTH_MAX:
        raise ScenarioError(f"{source}: {key}: found values in each other past a depth of {DEPTH_MAX}", key, source)
    # A scalar of any NumPy version.
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        if INTEGER_MIN <= value <= INTEGER_MAX:
            return int(value)
        raise ScenarioError(f"{source}: {key}: found {value}, a number past 64 bits", key, source)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, Mapping):
        return _table(value, key, depth, source)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item, f"{key}.{number}", depth + 1, source) for number, item in enumerate(value)]
    found = "None" if value is None else f"a value of type {type(value).__name__}"
    raise ScenarioError(f"{source}: {key}: found {found}, allowed are {TYPES}", key, source)


def _table(table: Mapping[object, object], key: str, depth: int, source: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in table.items():
        if not isinstance(name, str):
            place = f"{key}: " if key else ""
            raise ScenarioError(f"{source}: {place}found the key {name!r}, allowed is text", key or None, source)
        found[name] = plain(value, f"{key}.{name}" if key else name, depth + 1, source)
    return found
