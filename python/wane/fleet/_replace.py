"""What to replace, when, and why: rules over each drive's last month, by its own sources.

Counts of errors are judged by their growth, as ``wane doctor`` does: sectors that were lost years ago are no reason. Wear is no failure: where it
grows, its day is told, and nothing is urgent. A drive that told nothing for a week is silent: it is listed if what it told last was urgent, with the
day of its last record, and else counted alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from wane._errors import FleetError
from wane.fleet._plain import counted, library, named, plain
from wane.fleet.store import Fleet

#: Days over which growth is judged, and after which a drive counts as gone.
WINDOW_DAYS = 30
GONE_DAYS = 7

#: Days ahead for which the end of the rated wear is told.
AHEAD_DAYS = 365

#: Percent of the rated wear from which a drive is near it.
NEAR_PERCENT = 90

#: Percent of wear, which is told in whole ones, that must have grown for a day to be told.
GROWN_PERCENT_MIN = 2

#: Counts whose growth is a reason, with words, and where the rule comes from.
GROWING = {
    "smart_197_raw": ("sectors that wait to be rewritten", "Backblaze watches attribute 197"),
    "pending_sectors": ("sectors that wait to be rewritten", "Backblaze watches attribute 197"),
    "smart_5_raw": ("reallocated sectors", "Backblaze watches attribute 5"),
    "reallocated_sectors": ("reallocated sectors", "Backblaze watches attribute 5"),
    "smart_187_raw": ("uncorrectable errors", "Backblaze watches attribute 187"),
    "smart_198_raw": ("sectors that offline scans could not read", "Backblaze watches attribute 198"),
    "media_errors": ("media errors", "NVM Express, log page 02h"),
    "blocks_bad_grown": ("bad blocks", "OCP Datacenter NVMe SSD Specification, log page C0h"),
}

#: Bits of NVMe's critical warning with which a drive fails, and those with which it serves on and promises less: as ``wane doctor`` judges them.
#: Bit 1, temperature, is no reason to replace a drive.
WARNED_NOW = {0: "the spare is below its threshold", 2: "the drive is degraded", 3: "the drive is read-only"}
WARNED_SOON = {
    4: "the backup of volatile memory failed",
    5: "the persistent memory region is unreliable",
}

STATE = (
    "is_passed",
    "percentage_used_percent",
    "available_spare_percent",
    "available_spare_threshold_percent",
    "critical_warning",
)


@dataclass
class Replacements:
    """What to replace.

    Attributes:
        drives: A row a drive: ``serial``, ``model``, ``urgency`` (``now``, ``soon``, ``past-rating`` or ``by-date``), ``by`` (the day of the rated
            wear, or ``None``), ``reasons`` with their sources, ``last_day``, ``silent_since`` (``last_day`` of a silent drive, else ``None``); the
            most urgent first.
        seen: Drives that told something in the last week.
        gone: Drives that did not, without having failed: silent ones.
        gone_listed: Those of them that are listed, as what they told last was urgent.
        failed: Drives that failed.
        still: Drives with errors or lost sectors that did not grow in the month: no reason.
        once: Drives with errors or lost sectors of which the month has one value: whether they grow is not known.
        near: Drives that are not listed though 90 % or more of their rated wear is used: it did not grow, or the month has one value of it.
        last_day: The fleet's last day.
    """

    drives: list[dict[str, Any]]
    seen: int
    gone: int
    gone_listed: int
    failed: int
    still: int
    once: int
    near: int
    last_day: date

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told: dict[str, Any] = plain(vars(self))
        return told

    def table(self) -> Any:
        """The list as a ``pandas.DataFrame``, the reasons in one text."""
        rows = [{**row, "reasons": "; ".join(row["reasons"])} for row in self.drives]
        names = ["serial", "model", "urgency", "by", "reasons", "last_day", "silent_since"]
        return library("pandas").DataFrame(rows, columns=names)


def replacements(fleet: Fleet) -> Replacements:
    """Judges each drive by the month before its last record.

    Raises:
        FleetError: The fleet has no drive-days.
    """
    there = fleet.columns()
    # Simulated drives have clocks of their own, which say nothing of today where there are others.
    query = "SELECT COALESCE(max(date) FILTER (source IS DISTINCT FROM 'simulated'), max(date)) AS last FROM days"
    bounds = fleet.query(query).to_pylist()[0]
    if bounds["last"] is None:
        raise FleetError(f"{fleet.path}: has no drive-days, and so no drive to judge")
    last: date = bounds["last"]
    columns = [name for name in (*STATE, *GROWING) if name in there]
    rows = of_drives(fleet, columns)
    found = Replacements([], 0, 0, 0, int(rows["failed"].sum()), 0, 0, 0, last)
    for row in rows[~rows["failed"]].to_dict("records"):
        _take(found, row, columns)
    order = {"now": 0, "soon": 1, "past-rating": 2, "by-date": 3}
    found.drives.sort(key=lambda row: (order[row["urgency"]], row["by"] or last, -len(row["reasons"]), row["serial"]))
    return found


def _take(found: Replacements, row: dict[str, Any], columns: list[str]) -> None:
    """Counts a drive that did not fail, and lists it where there is a reason."""
    is_silent = row["last_day"] < found.last_day - timedelta(days=GONE_DAYS)
    urgency, by, reasons = judge_row(row, columns)
    if is_silent:
        found.gone += 1
        # Nobody knows whether it still wears; what was failing has not become better by silence.
        if urgency not in ("now", "soon"):
            return
        found.gone_listed += 1
        reasons.append(f"silent since {row['last_day']}")
    else:
        found.seen += 1
    if urgency is not None:
        since = row["last_day"] if is_silent else None
        told = {key: row[key] for key in ("serial", "model", "last_day")}
        found.drives.append(told | {"urgency": urgency, "by": by, "reasons": reasons, "silent_since": since})
        return
    if "percentage_used_percent" in columns and (_value(row, "percentage_used_percent") or 0) >= NEAR_PERCENT:
        found.near += 1
    losses = [name for name in columns if name in GROWING and _value(row, name)]
    if any(row[f"count {name}"] < 2 for name in losses):
        found.once += 1
    elif losses:
        found.still += 1


def of_drives(fleet: Fleet, columns: list[str], days: str = "days") -> Any:
    """A row a drive: what it told last, and of the month before its last record each column's values, first, growth and days.

    ``days`` is a table of SQL: the view, or a part of it.

    Growth is the sum of increases from each value to the next; a fall is a reset, across which nothing is known.
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


def _value(row: dict[str, Any], name: str) -> float | None:
    value = row.get(name)
    return None if value is None or library("pandas").isna(value) else float(value)


def judge_row(row: dict[str, Any], columns: list[str]) -> tuple[str | None, date | None, list[str]]:
    """Urgency, the day of the rated wear, and the reasons."""
    now = _failing(row)
    soon: dict[str, str] = {}
    for name in (each for each in columns if each in GROWING):
        if row[f"grown {name}"] > 0:
            words, source = GROWING[name]
            soon.setdefault(words, f"{words}: {_growth(row, name)} ({source})")
    soon |= {warned: warned for warned in _warned(row, WARNED_SOON)}
    by, wear = _wear(row)
    reasons = [*now, *soon.values(), *([wear] if wear else [])]
    if now or soon:
        return "now" if now else "soon", by, reasons
    if wear is None:
        return None, None, []
    return "past-rating" if by is None else "by-date", by, reasons


def _growth(row: dict[str, Any], name: str) -> str:
    """How a count grew in the month: "0 to 2 in 20 days", or by how much where it went back in between."""
    days = counted(int(row[f"days {name}"]), "day")
    if not row[f"fell {name}"]:
        return f"{row[f'first {name}']:,.0f} to {row[name]:,.0f} in {days}"
    return f"{row[f'grown {name}']:,.0f} more in {days}, at last {row[name]:,.0f}, as the count went back in between"


def _failing(row: dict[str, Any]) -> list[str]:
    reasons = []
    # A critical warning fails the assessment too, and says what of: its bits are judged where there are any.
    if _value(row, "is_passed") == 0 and not _value(row, "critical_warning"):
        reasons.append("the drive's own assessment is that it fails (SMART status)")
    spare, threshold = _value(row, "available_spare_percent"), _value(row, "available_spare_threshold_percent")
    if spare is not None and threshold is not None and spare < threshold:
        reasons.append(
            f"{spare:g} % of the spare is left, the threshold is {threshold:g} % (NVM Express, log page 02h)"
        )
    return reasons + _warned(row, WARNED_NOW)


def _warned(row: dict[str, Any], bits: dict[int, str]) -> list[str]:
    """What these bits of NVMe's critical warning say."""
    told = int(_value(row, "critical_warning") or 0)
    source = "NVM Express, log page 02h, critical warning"
    return [f"{words} ({source})" for bit, words in bits.items() if told >> bit & 1]


def _wear(row: dict[str, Any]) -> tuple[date | None, str | None]:
    """The day on which the rated wear is used, if within a year: by the month's growth; beyond the rating there is no day.

    Wear is told in whole percents, so that a growth of g lies between g - 1 and g + 1, and so does what is left. One of a single percent has no
    least rate, and so no day. ``wane doctor`` has the same interval of two records.
    """
    used, first = _value(row, "percentage_used_percent"), _value(row, "first percentage_used_percent")
    if used is None:
        return None, None
    source = "NVMe's Percentage Used: 100 is the rating, and no failure"
    if used >= 100:
        return None, f"{used:g} % of the rated wear is used ({source})"
    watched = 0 if first is None else int(row["days percentage_used_percent"])
    grown = 0 if first is None else used - first
    if grown < GROWN_PERCENT_MIN or watched <= 0 or row["fell percentage_used_percent"]:
        return None, None

    def day(left: float, percent: float, whole: Any = np.ceil) -> date:
        """The day on which so much is worn at a growth of so much in the days that were watched."""
        last: date = row["last_day"]
        return last + timedelta(days=int(whole(left * watched / percent)))

    left = 100 - used
    by = day(left, grown)
    if by > row["last_day"] + timedelta(days=AHEAD_DAYS):
        return None, None
    least, most = day(left - 1, grown + 1, np.floor), day(left + 1, grown - 1)
    told = f"{used:g} % of the rated wear is used, {grown:g} % of it in {counted(watched, 'day')}"
    return by, f"{told}, so that it ends between {least} and {most} ({source})"
