"""Compares the advice of ``replacements`` with the truth, which only simulated fleets have: which drives died, why, and what was advised about them.

Each drive is judged once, by its last month. A drive that died is judged by the month before the day of its failure, since that was known when
something could still be done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wane._errors import FleetError
from wane.fleet._plain import library, plain
from wane.fleet._replace import judged_columns, of_drives
from wane.fleet._risk import judge_row
from wane.fleet.prediction.causes import LIVED
from wane.fleet.store import Fleet

#: Advice about a drive, the most urgent first, no advice last.
URGENCIES = ("now", "soon", "by-date", "past-rating", "nothing")


@dataclass(frozen=True)
class Judged:
    """Quality of the advice.

    Attributes:
        rows: A row for each cause: ``cause``, ``drives``, how many of them were listed as each of `URGENCIES`, how many are ``untold``,
        ``with_signs``, how many showed signs before they died, and ``signs_found``, how many of those were listed as ``now`` or ``soon``.
        died: Number of drives that died.
        listed: Number of drives that were listed as ``now`` or ``soon``.
        detected: Share of the drives that died which were listed so.
        right: Share of the listed drives that died.
        untold: Number of drives without a record before the day on which they died.
    """

    rows: list[dict[str, Any]]
    died: int
    listed: int
    detected: float | None
    right: float | None
    untold: int

    def to_dict(self) -> dict[str, Any]:
        """The values as plain data for JSON."""
        told: dict[str, Any] = plain(vars(self))
        return told

    def table(self) -> Any:
        """The rows as a ``pandas.DataFrame``."""
        return library("pandas").DataFrame(self.rows)


def judge(fleet: Fleet) -> Judged:
    """Compares the advice of ``replacements`` with the truth, cause by cause.

    Args:
        fleet: A fleet with simulated drives; its other drives are left out.

    Raises:
        FleetError: The fleet has no truth.
    """
    truth = {
        row["serial"]: row for row in fleet.query("SELECT serial, failed, cause, signs_since FROM truth").to_pylist()
    }
    if not truth:
        raise FleetError(
            f"{fleet.path}: has no truth, which only simulated fleets have: `wane fleet simulate` makes one"
        )
    columns = judged_columns(fleet)
    known = "(SELECT * FROM days WHERE failure IS NOT TRUE AND source = 'simulated')"
    said = {
        row["serial"]: judge_row(row, columns).urgency or "nothing"
        for row in of_drives(fleet, columns, known).to_dict("records")
        if row["serial"] in truth
    }
    rows: dict[str, dict[str, Any]] = {}
    for serial, told in sorted(truth.items()):
        cause = told["cause"] if told["failed"] else LIVED
        row = rows.setdefault(
            cause,
            {
                "cause": cause,
                "drives": 0,
                **dict.fromkeys(URGENCIES, 0),
                "untold": 0,
                "with_signs": 0,
                "signs_found": 0,
            },
        )
        advice = said.get(serial)
        row["drives"] += 1
        if advice is None:
            row["untold"] += 1
            continue
        row[advice] += 1
        if told["failed"] and told["signs_since"] is not None:
            row["with_signs"] += 1
            row["signs_found"] += advice in ("now", "soon")
    causes = sorted(rows.values(), key=lambda row: (row["cause"] == LIVED, -row["drives"], row["cause"]))
    died = sum(row["drives"] for row in causes if row["cause"] != LIVED)
    listed = sum(row["now"] + row["soon"] for row in causes)
    found = sum(row["now"] + row["soon"] for row in causes if row["cause"] != LIVED)
    return Judged(
        rows=causes,
        died=died,
        listed=listed,
        detected=found / died if died else None,
        right=found / listed if listed else None,
        untold=len(truth) - len(said),
    )
