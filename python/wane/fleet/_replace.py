"""Which drives to replace, when, and why: rules over each drive's last month, each with its source.

Error counts are judged by their growth, as by ``wane doctor``: sectors that were lost years ago are no reason. Wear is no failure: if it grows,
the day on which the rating is used up is given, without urgency. A drive without a record for a week is silent. It is listed, with the day of its
last record, if that record was urgent; otherwise it is only counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from wane._errors import FleetError
from wane.fleet._plain import counted, library, named, plain
from wane.fleet.store import Fleet

#: Days over which growth is judged, and days without a record after which a drive counts as gone.
WINDOW_DAYS = 30
GONE_DAYS = 7

#: Days ahead for which the end of the rated wear is given.
AHEAD_DAYS = 365

#: Percent of the rated wear from which a drive is near it.
NEAR_PERCENT = 90

#: Least growth of wear for which a day is given, in percent; wear is reported in whole percents.
GROWN_PERCENT_MIN = 2

#: Counts whose growth is a reason, with words for it and the source of the rule.
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

#: Bits of NVMe's critical warning with which a drive fails, and those with which it works on with reduced guarantees, as ``wane doctor`` judges them.
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
    """Which drives to replace.

    Attributes:
        drives: A row for each drive: ``serial``, ``model``, ``urgency`` (``now``, ``soon``, ``past-rating`` or ``by-date``), ``by`` (the day on
        which the rated wear is used up, or ``None``), ``reasons`` with their sources, ``last_day``, ``silent_since`` (``last_day`` of a silent
        drive, otherwise ``None``); the most urgent first.
        seen: Number of drives with a record in the last week.
        gone: Number of drives without one that have not failed: silent drives.
        gone_listed: Number of silent drives that are listed, because their last record was urgent.
        failed: Number of drives that failed.
        still: Number of drives with errors or lost sectors that did not grow in the month, which is no reason.
        once: Number of drives with errors or lost sectors of which the month has one value, so that their growth is unknown.
        near: Number of drives that are not listed although 90 % or more of their rated wear is used: it did not grow, or the month has one value.
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
        """The values as plain data for JSON."""
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
    # Simulated drives have their own clocks, which say nothing about today if there are other drives.
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
    """Counts a drive that did not fail, and lists it if there is a reason."""
    is_silent = row["last_day"] < found.last_day - timedelta(days=GONE_DAYS)
    urgency, by, reasons = judge_row(row, columns)
    if is_silent:
        found.gone += 1
        # Whether a silent drive still wears is unknown; but a failing drive has not become better by silence.
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


def _value(row: dict[str, Any], name: str) -> float | None:
    value = row.get(name)
    return None if value is None or library("pandas").isna(value) else float(value)


def judge_row(row: dict[str, Any], columns: list[str]) -> tuple[str | None, date | None, list[str]]:
    """Returns urgency, the day on which the rated wear is used up, and the reasons."""
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
    """Says how a count grew in the month: "0 to 2 in 20 days", or by how much if it went back in between."""
    days = counted(int(row[f"days {name}"]), "day")
    if not row[f"fell {name}"]:
        return f"{row[f'first {name}']:,.0f} to {row[name]:,.0f} in {days}"
    return f"{row[f'grown {name}']:,.0f} more in {days}, at last {row[name]:,.0f}, as the count went back in between"


def _failing(row: dict[str, Any]) -> list[str]:
    reasons = []
    # A critical warning also fails the assessment, and its bits say why; so if there are bits, they are judged instead.
    if _value(row, "is_passed") == 0 and not _value(row, "critical_warning"):
        reasons.append("the drive's own assessment is that it fails (SMART status)")
    spare, threshold = _value(row, "available_spare_percent"), _value(row, "available_spare_threshold_percent")
    if spare is not None and threshold is not None and spare < threshold:
        reasons.append(
            f"{spare:g} % of the spare is left, the threshold is {threshold:g} % (NVM Express, log page 02h)"
        )
    return reasons + _warned(row, WARNED_NOW)


def _warned(row: dict[str, Any], bits: dict[int, str]) -> list[str]:
    """Returns the reasons from these bits of NVMe's critical warning."""
    told = int(_value(row, "critical_warning") or 0)
    source = "NVM Express, log page 02h, critical warning"
    return [f"{words} ({source})" for bit, words in bits.items() if told >> bit & 1]


def _wear(row: dict[str, Any]) -> tuple[date | None, str | None]:
    """Estimates the day on which the rated wear is used up, if within a year, from the month's growth; beyond the rating there is no day.

    Wear is reported in whole percents, so that a growth of g lies between g - 1 and g + 1, and likewise for what is left. A growth of one percent has
    no least rate, and so no day. ``wane doctor`` has the same interval for two records.
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
        """The day on which ``left`` percent are worn at a growth of ``percent`` in the watched days."""
        last: date = row["last_day"]
        return last + timedelta(days=int(whole(left * watched / percent)))

    left = 100 - used
    by = day(left, grown)
    if by > row["last_day"] + timedelta(days=AHEAD_DAYS):
        return None, None
    least, most = day(left - 1, grown + 1, np.floor), day(left + 1, grown - 1)
    told = f"{used:g} % of the rated wear is used, {grown:g} % of it in {counted(watched, 'day')}"
    return by, f"{told}, so that it ends between {least} and {most} ({source})"
