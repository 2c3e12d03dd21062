"""Which drives to replace, when, and why, in the order of their risk (`_risk`): rules over each drive's last month.

A drive without a record for a week is silent. It is listed, after the others, if its last record was urgent; otherwise it is only counted. The list
may be made as of an earlier day: then nothing that came later is used, and `backtest` counts what became of the drives.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from wane._errors import FleetError
from wane.fleet._plain import library, named, plain
from wane.fleet._risk import GROWING, NEAR_PERCENT, STATE, WINDOW_DAYS, Judgment, judge_row, value_of
from wane.fleet.store import Fleet

#: Days without a record after which a drive counts as silent.
GONE_DAYS = 7

#: Drive-days with which a model's own rate of failures and that of all models count alike.
RATE_DRIVE_DAYS = 10_000

#: A model that fails as many times as often as all models has a reason to be told.
RATE_TOLD_MIN = 1.5

#: Urgencies, in the order of the list. Those of the first group are reasons to replace a drive now or soon; the others are for plans.
ORDER = {"now": 0, "soon": 1, "past-rating": 2, "by-date": 3}
URGENT = ("now", "soon")


@dataclass
class Replacements:
    """Which drives to replace.

    Attributes:
        drives: A row for each drive: ``serial``, ``model``, ``urgency`` (``now``, ``soon``, ``past-rating`` or ``by-date``), ``by`` (the day on
        which the rated wear is used up, or ``None``), ``risk`` (orders the drives, and is no probability), ``reasons`` with their sources,
        ``last_day``, ``silent_since`` (``last_day`` of a silent drive, otherwise ``None``); the most urgent first, of these the one with the
        highest risk. Not more than the budget.
        listed: Number of drives with a reason, also those beyond the budget.
        urgent: Number of those that are ``now`` or ``soon`` and not silent.
        seen: Number of drives with a record in the last week.
        gone: Number of drives without one that have not failed: silent drives.
        gone_listed: Number of silent drives with a reason, because their last record was urgent.
        failed: Number of drives that failed.
        few: Number of drives that lost fewer than ten sectors in the month, and nothing else, which is no reason.
        still: Number of drives with errors or lost sectors that did not grow in the month, which is no reason.
        once: Number of drives with errors or lost sectors of which the month has one value, so that their growth is unknown.
        near: Number of drives that are not listed although 90 % or more of their rated wear is used: it did not grow, or the month has one value.
        last_day: The last day that was looked at.
    """

    drives: list[dict[str, Any]]
    listed: int = 0
    urgent: int = 0
    seen: int = 0
    gone: int = 0
    gone_listed: int = 0
    failed: int = 0
    few: int = 0
    still: int = 0
    once: int = 0
    near: int = 0
    last_day: date = date.min

    def to_dict(self) -> dict[str, Any]:
        """The values as plain data for JSON."""
        told: dict[str, Any] = plain(vars(self))
        return told

    def table(self) -> Any:
        """The list as a ``pandas.DataFrame``, the reasons in one text."""
        rows = [{**row, "reasons": "; ".join(row["reasons"])} for row in self.drives]
        names = ["serial", "model", "urgency", "by", "risk", "reasons", "last_day", "silent_since"]
        return library("pandas").DataFrame(rows, columns=names)


def replacements(fleet: Fleet, *, at_most: int | None = None, as_of: date | None = None) -> Replacements:
    """Judges each drive by the month before its last record, and orders those with a reason by their risk.

    Args:
        fleet: The fleet.
        at_most: The budget: the list has at most as many drives, those with the highest risk. By default it has all with a reason.
        as_of: The day of the list, in the fleet's days; nothing later is used. By default their last day.

    Raises:
        FleetError: The fleet has no drive-days, or none until that day, or the budget is none.
    """
    check_budget(at_most)
    first, last = bounds(fleet)
    if as_of is not None and not first <= as_of <= last:
        raise FleetError(f"as-of: found {as_of}, allowed are the fleet's days, {first} to {last}")
    columns = judged_columns(fleet)
    # Simulated drives may live beyond the last day of others.
    days = "days" if as_of is None else until(as_of)
    last = last if as_of is None else as_of
    rows = of_drives(fleet, columns, days)
    rates = rates_of_models(fleet, days)
    found = Replacements([], failed=int(rows["failed"].sum()), last_day=last)
    for row in rows[~rows["failed"]].to_dict("records"):
        _take(found, row, columns, rates)
    found.drives.sort(key=_rank)
    found.listed = len(found.drives)
    found.urgent = sum(row["urgency"] in URGENT and row["silent_since"] is None for row in found.drives)
    found.drives = found.drives[:at_most]
    return found


def check_budget(at_most: int | None) -> None:
    """Checks a budget.

    Raises:
        FleetError: It is below 1.
    """
    if at_most is not None and at_most < 1:
        raise FleetError(f"at-most: found {at_most}, allowed is a number of drives from 1 on")


def bounds(fleet: Fleet) -> tuple[date, date]:
    """The first and the last day of the fleet.

    Raises:
        FleetError: It has no drive-days.
    """
    # Simulated drives have their own clocks, which say nothing about today if there are other drives.
    real = "FILTER (source IS DISTINCT FROM 'simulated')"
    row = fleet.query(
        f"SELECT COALESCE(min(date) {real}, min(date)) AS first, COALESCE(max(date) {real}, max(date)) AS last FROM days"
    ).to_pylist()[0]
    if row["last"] is None:
        raise FleetError(f"{fleet.path}: has no drive-days, and so no drive to judge")
    return row["first"], row["last"]


def judged_columns(fleet: Fleet) -> list[str]:
    """The columns of the fleet by which drives are judged."""
    there = set(fleet.columns())
    return [name for name in (*STATE, *GROWING) if name in there]


def until(day: date) -> str:
    """The drive-days up to a day, as an SQL table."""
    return f"(SELECT * FROM days WHERE date <= DATE '{day}')"


def _rank(row: dict[str, Any]) -> tuple[Any, ...]:
    """Sorts drives: what still reports first, then by urgency, then by risk. A silent drive may be in no machine any more."""
    group = ORDER[row["urgency"]]
    return (
        row["silent_since"] is not None,
        group,
        row["by"] or date.max if row["urgency"] == "by-date" else date.min,
        -row["risk"],
        row["serial"],
    )


def _take(found: Replacements, row: dict[str, Any], columns: list[str], rates: dict[str, Rate]) -> None:
    """Counts a drive that did not fail, and lists it if there is a reason."""
    is_silent = row["last_day"] < found.last_day - timedelta(days=GONE_DAYS)
    judged = judge_row(row, columns)
    if is_silent:
        found.gone += 1
        # Whether a silent drive still wears is unknown; but a failing drive has not become better by silence.
        if judged.urgency not in URGENT:
            return
        found.gone_listed += 1
    else:
        found.seen += 1
    if judged.urgency is not None:
        found.drives.append(_listed(row, judged, rates[row["model"]], is_silent))
        return
    if (value_of(row, "percentage_used_percent") or 0) >= NEAR_PERCENT:
        found.near += 1
    losses = [name for name in columns if name in GROWING and value_of(row, name)]
    if judged.few:
        found.few += 1
    elif any(row[f"count {name}"] < 2 for name in losses):
        found.once += 1
    elif losses:
        found.still += 1


def _listed(row: dict[str, Any], judged: Judgment, rate: Rate, is_silent: bool) -> dict[str, Any]:
    """A drive's row of the list."""
    reasons = list(judged.reasons)
    if judged.urgency in URGENT and rate.ratio >= RATE_TOLD_MIN:
        reasons.append(rate.words)
    if is_silent:
        reasons.append(f"silent since {row['last_day']}")
    return {
        "serial": row["serial"],
        "model": row["model"],
        "urgency": judged.urgency,
        "by": judged.by,
        "risk": float(f"{judged.risk * rate.ratio:.4g}"),
        "reasons": reasons,
        "last_day": row["last_day"],
        "silent_since": row["last_day"] if is_silent else None,
    }


@dataclass(frozen=True)
class Rate:
    """How often drives of a model failed.

    Attributes:
        ratio: Its rate by that of all models, drawn to 1 as far as few drive-days stand behind it.
        failures: Number of its drives that failed.
        drive_days: Number of its drive-days.
    """

    ratio: float = 1.0
    failures: int = 0
    drive_days: int = 0

    @property
    def words(self) -> str:
        """A sentence for people."""
        return f"its model fails {self.ratio:.1f} times as often as the fleet's drives: {self.failures:,} in {self.drive_days:,} drive-days"


def rates_of_models(fleet: Fleet, days: str) -> dict[str, Rate]:
    """The rate of each model whose failures are told; other models count as all do.

    A model's rate and that of all models are weighed by drive-days: the mean of a gamma distribution whose weight is ``RATE_DRIVE_DAYS``.
    """
    rates: dict[str, Rate] = defaultdict(Rate)
    rows = fleet.query(
        "SELECT model, count(failure) AS days, count(DISTINCT serial) FILTER (failure) AS failures "
        f"FROM {days} AS days GROUP BY model HAVING count(failure) > 0"
    ).to_pylist()
    failures, drive_days = sum(row["failures"] for row in rows), sum(row["days"] for row in rows)
    if not failures:
        return rates
    mean = failures / drive_days
    for row in rows:
        ratio = (row["failures"] + RATE_DRIVE_DAYS * mean) / (row["days"] + RATE_DRIVE_DAYS) / mean
        rates[row["model"]] = Rate(ratio, row["failures"], row["days"])
    return rates


def of_drives(fleet: Fleet, columns: list[str], days: str = "days") -> Any:
    """A row for each drive: its last values, and for each column, over the month before its last record, count, first value, growth and days.

    ``days`` is an SQL table: the view, or a part of it.

    Growth is the sum of increases from each value to the next; a fall is a reset, over which growth is unknown.
    """
    latest, steps, month = [""], [""], ["serial"]
    for name in columns:
        column, before = named(name), named(f"before {name}")
        value = f"CAST(days.{column} AS DOUBLE)"
        latest.append(f"arg_max({column}, date) FILTER ({column} IS NOT NULL) AS {column}")
        steps += [f"{value} AS {column}", f"lag({value} IGNORE NULLS) OVER w AS {before}"]
        month += [
            f"count({column}) AS {named('count ' + name)}",
            f"arg_min({column}, date) FILTER ({column} IS NOT NULL) AS {named('first ' + name)}",
            f"COALESCE(sum(greatest({column} - {before}, 0)), 0) AS {named('grown ' + name)}",
            f"COALESCE(bool_or({column} < {before}), false) AS {named('fell ' + name)}",
            f"COALESCE(date_diff('day', min(date) FILTER ({column} IS NOT NULL), max(date) FILTER ({column} IS NOT NULL)), 0) "
            f"AS {named('days ' + name)}",
        ]
    table = fleet.query(
        "WITH drives AS (SELECT serial, any_value(model) AS model, max(date) AS last_day, COALESCE(bool_or(failure), false) AS failed"
        f"{', '.join(latest)} FROM {days} AS days GROUP BY serial), "
        f"steps AS (SELECT days.serial, date{', '.join(steps)} FROM {days} AS days JOIN drives ON days.serial = drives.serial "
        f"WHERE date >= last_day - {WINDOW_DAYS} WINDOW w AS (PARTITION BY days.serial ORDER BY date)) "
        f"SELECT * FROM drives JOIN (SELECT {', '.join(month)} FROM steps GROUP BY serial) USING (serial) ORDER BY serial"
    ).to_pandas()
    table["last_day"] = [day.date() if hasattr(day, "date") else day for day in table["last_day"]]
    return table
