"""Tests the list of `replacements` on the fleet itself: it is made as of earlier days, and what became of its drives is counted.

A list as of a day sees that day and earlier ones alone: the drives' values, and the failures by which models are told apart. Of the drives that
reported in the week before, those count that failed within a horizon after the day. The horizons do not overlap, so that a failure counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from wane._errors import FleetError
from wane.fleet._plain import counted, library, plain
from wane.fleet._replace import GONE_DAYS, URGENT, bounds, replacements, until
from wane.fleet._risk import WINDOW_DAYS
from wane.fleet.store import Fleet

#: Days before the first list: a week, so that growth can be seen.
HISTORY_DAYS = 7

#: Most lists.
DAYS_MAX = 12

#: Days after a list in which failures count, by default.
HORIZON_DAYS = 14

#: Longest horizon, in days; no records are that long.
HORIZON_DAYS_MAX = 3650


@dataclass
class Backtest:
    """What became of the drives that the list named on earlier days.

    Attributes:
        at_most: The budget of each list; ``None`` if there was none.
        horizon_days: Days after a list in which failures count.
        rows: A row for each list, the earliest first: ``as_of``, ``drives`` (that reported in the week before), ``failed`` of them within the
        horizon, ``named``, ``found`` (named, and failed within the horizon), ``precision`` = found / named, ``recall`` = found / failed,
        ``base_rate`` = failed / drives, ``lift`` = precision / base rate, ``unseen`` (drives that failed within the horizon and had not reported in
        the week, so that no list could have them). A share of nothing is ``None``.
        total: The same over all lists; a drive counts once for each list.
        notes: What the numbers cannot show.
    """

    at_most: int | None
    horizon_days: int
    rows: list[dict[str, Any]]
    total: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The values as plain data for JSON."""
        told: dict[str, Any] = plain(vars(self))
        return told

    def table(self) -> Any:
        """The rows as a ``pandas.DataFrame``, the total last, whose ``as_of`` is ``None``."""
        return library("pandas").DataFrame([*self.rows, self.total])

    def __str__(self) -> str:
        lines = [
            f"{'as of':12}{'drives':>10}{'failed':>8}{'named':>8}{'of them':>9}{'precision':>11}{'recall':>8}{'base rate':>11}{'lift':>7}"
        ]
        for row in (*self.rows, self.total):
            shares = [_percent(row[name]) for name in ("precision", "recall", "base_rate")]
            lift = "-" if row["lift"] is None else f"{row['lift']:.1f}"
            lines.append(
                f"{row['as_of'] or 'all'!s:12}{row['drives']:>10,}{row['failed']:>8,}{row['named']:>8,}{row['found']:>9,}"
                f"{shares[0]:>11}{shares[1]:>8}{shares[2]:>11}{lift:>7}"
            )
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    return f"{100 * share:.1f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def backtest(
    fleet: Fleet, *, at_most: int | None = None, horizon_days: int = HORIZON_DAYS, as_of: Sequence[date] | None = None
) -> Backtest:
    """Makes the list as of earlier days, and counts what became of its drives.

    Only drives that are listed as ``now`` or ``soon`` count as named, and no silent ones.

    Args:
        fleet: The fleet.
        at_most: The budget of each list, as for `replacements`.
        horizon_days: Days after a list in which failures count, 1 to 3,650.
        as_of: The days of the lists; by default one horizon before the fleet's last day, two horizons, and so on, while a week lies before them, 12
            at most.

    Raises:
        FleetError: No file tells which drives failed, or the fleet's days are too few.
    """
    if not 1 <= horizon_days <= HORIZON_DAYS_MAX:
        raise FleetError(f"horizon: found {horizon_days} days, allowed are 1 to {HORIZON_DAYS_MAX}")
    first, last = bounds(fleet)
    failed_on = failures_of(fleet)
    days = _days(first, last, horizon_days) if as_of is None else sorted(set(as_of))
    for day in days:
        if not first <= day <= last - timedelta(days=horizon_days):
            raise FleetError(
                f"as-of: found {day}, allowed are {first} to {last - timedelta(days=horizon_days)}, as {horizon_days} days must follow"
            )
    rows = [_row(fleet, day, at_most, horizon_days, failed_on) for day in days]
    names = ("drives", "failed", "named", "found", "unseen")
    total = _shares({"as_of": None, **{name: sum(row[name] for row in rows) for name in names}})
    return Backtest(at_most, horizon_days, rows, total, _notes(total, (last - first).days + 1))


def failures_of(fleet: Fleet) -> dict[str, date]:
    """The day of each drive's first failure.

    Raises:
        FleetError: No file tells failures.
    """
    rows = fleet.query("SELECT serial, min(date) AS day FROM days WHERE failure GROUP BY serial").to_pylist()
    if not rows:
        raise FleetError(
            "backtest: no drive failed in the fleet's days as far as files tell, so that no list can be tested"
        )
    return {row["serial"]: row["day"] for row in rows}


def _days(first: date, last: date, horizon_days: int) -> list[date]:
    """One horizon before the last day, two horizons, and so on, the earliest first."""
    most = ((last - first).days - HISTORY_DAYS) // horizon_days
    if most < 1:
        raise FleetError(
            f"horizon: found {horizon_days} days, and the fleet's days go over {(last - first).days + 1}; allowed are "
            f"{horizon_days + HISTORY_DAYS + 1} days or more, or a shorter horizon"
        )
    return [last - timedelta(days=horizon_days * number) for number in range(min(most, DAYS_MAX), 0, -1)]


def _row(fleet: Fleet, day: date, at_most: int | None, horizon_days: int, failed_on: dict[str, date]) -> dict[str, Any]:
    """Tests one list."""
    listed = replacements(fleet, as_of=day)
    named = [row["serial"] for row in listed.drives if row["urgency"] in URGENT and row["silent_since"] is None]
    named = named[:at_most]
    failing = {serial for serial, on in failed_on.items() if day < on <= day + timedelta(days=horizon_days)}
    query = f"SELECT DISTINCT serial FROM {until(day)} AS days WHERE date >= DATE '{day}' - {GONE_DAYS}"
    seen = failing.intersection(fleet.query(query).column("serial").to_pylist())
    return _shares(
        {
            "as_of": day,
            "drives": listed.seen,
            "failed": len(seen),
            "named": len(named),
            "found": len(seen.intersection(named)),
            "unseen": len(failing) - len(seen),
        }
    )


def _shares(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its shares; a share of nothing is unknown."""

    def share(part: float, whole: float) -> float | None:
        return part / whole if whole else None

    precision, base = share(row["found"], row["named"]), share(row["failed"], row["drives"])
    lift = None if precision is None or not base else precision / base
    return row | {
        "precision": precision,
        "recall": share(row["found"], row["failed"]),
        "base_rate": base,
        "lift": lift,
    }


def _notes(total: dict[str, Any], days: int) -> list[str]:
    notes = []
    if total["found"] < 30:
        notes.append(f"{counted(total['found'], 'drive')} found in all: the shares of so few are wide")
    if total["unseen"]:
        notes.append(f"{counted(total['unseen'], 'more drive')} failed without a record in the week before a list")
    if days <= WINDOW_DAYS:
        notes.append(f"the fleet's days go over {days}, and growth is judged over {WINDOW_DAYS}")
    return notes
