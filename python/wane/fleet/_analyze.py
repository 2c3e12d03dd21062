"""The analyses by name, for the verb ``analyze``: those of this package and those of ``wane.fleet.analyses``.

To add an analysis, add a line to ``ANALYSES`` there: a name, and a function of a data frame of drive-days with options by keyword. Its answer has
``table()`` and ``to_dict()``, and ``plot()`` if it can be drawn.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from wane._errors import FleetError
from wane.fleet._correlated import correlated
from wane.fleet._plain import excerpt
from wane.fleet.prediction.survival import survival
from wane.fleet.store import Fleet

Analysis = Callable[..., Any]

#: Analyses of failure tickets instead of drive-days.
OF_TICKETS: dict[str, Analysis] = {"correlated": correlated}


def names_of_analyses() -> dict[str, Analysis]:
    """All analyses by name."""
    # Imported on first use, because it imports libraries of statistics.
    others: Mapping[str, Analysis] = import_module("wane.fleet.analyses").ANALYSES
    return {**OF_TICKETS, "survival": survival, **others}


def options_of(name: str, given: Sequence[str]) -> dict[str, Any]:
    """Reads options of an analysis from texts such as ``groups=3``; lists have commas.

    Raises:
        FleetError: There is no such analysis or option, or the value is of another kind.
    """
    takes = {} if name not in names_of_analyses() else _kinds(names_of_analyses()[name])
    options: dict[str, Any] = {}
    for text in given:
        key, found, value = text.partition("=")
        if not found or key not in takes:
            raise FleetError(f"--option: found {excerpt(text)}, allowed are {_listed(takes)}, each as NAME=VALUE")
        try:
            options[key] = takes[key](value)
        except ValueError:
            words = {int: "a whole number", float: "a number"}
            allowed = next((word for kind, word in words.items() if takes[key] is kind), "numbers with commas between")
            raise FleetError(f"--option {key}: found {excerpt(value)}, allowed is {allowed}") from None
    return options


def _listed(takes: Mapping[str, Any]) -> str:
    return ", ".join(takes) or "none"


def _kinds(analysis: Analysis) -> dict[str, Callable[[str], Any]]:
    """Functions that read an option's value from a text, for the options that a text can express."""
    kinds: dict[str, Callable[[str], Any]] = {}
    for key, parameter in list(inspect.signature(analysis).parameters.items())[1:]:
        kind = str(parameter.annotation)
        if key in {"attributes", "model"} or "Callable" in kind or "dict" in kind:
            continue
        if "Sequence[str]" in kind:
            kinds[key] = lambda text: text.split(",")
        elif "Sequence[float]" in kind or "tuple[float" in kind:
            kinds[key] = lambda text: tuple(float(part) for part in text.split(","))
        elif "int" in kind:
            kinds[key] = int
        else:
            kinds[key] = float if "float" in kind else str
    return kinds


def analyze(fleet: Fleet, name: str, *, rows_max: int | None = None, **options: Any) -> Any:
    """Answers one question on a fleet.

    Args:
        fleet: The fleet.
        name: One of `names_of_analyses`.
        rows_max: If there are more drive-days than this, only every n-th drive is taken.
        **options: The analysis' own options, by keyword. ``attributes`` and ``model`` choose columns and drives beforehand; ``None`` chooses all.

    Raises:
        FleetError: There is no such analysis or option.
        WaneError: The fleet has no answer.
    """
    known = names_of_analyses()
    if name not in known:
        raise FleetError(f"analysis: found {excerpt(name)}, allowed are {', '.join(known)}")
    given = {key: value for key, value in options.items() if value is not None}
    takes = list(inspect.signature(known[name]).parameters)[1:]
    for key in given:
        if key not in (*takes, "attributes", "model"):
            raise FleetError(f"{name}: takes no option {excerpt(key)}, allowed are {', '.join(takes)}")
    if name in OF_TICKETS:
        return known[name](fleet.query("SELECT * FROM tickets").to_pandas(), **given)
    attributes, model = given.get("attributes"), given.get("model")
    frame = fleet.days(numbers(fleet) if attributes is None else attributes, None if model is None else [model])
    if rows_max is not None and len(frame) > rows_max:
        drives = frame["serial"].unique()
        frame = frame[frame["serial"].isin(drives[:: -(-len(frame) // rows_max)])].reset_index(drop=True)
    # Columns and drives are chosen already; analyses that also take these options get them.
    return known[name](frame, **{key: value for key, value in given.items() if key in takes})


def numbers(fleet: Fleet) -> list[str]:
    """The columns of drive-days that are attributes: numbers that at least one file has."""
    table = fleet.query("DESCRIBE SELECT * FROM days").to_pylist()
    numeric = ("BIGINT", "DOUBLE", "INTEGER", "SMALLINT", "FLOAT", "HUGEINT")
    names = [
        row["column_name"] for row in table if row["column_type"] in numeric and row["column_name"] != "capacity_bytes"
    ]
    if not names:
        return []
    told = fleet.query(
        "SELECT " + ", ".join(f'count("{name}") AS "{name}"' for name in names) + " FROM days"
    ).to_pylist()[0]
    return [name for name in names if told[name]]
