"""What to replace, when, and why: rules over each drive's last month, by its own sources.

Counts of errors are judged by their growth, as ``wane doctor`` does: sectors that were lost years ago are no reason. Wear is no failure: where it
grows, its day is told, and nothing is urgent. A drive that told nothing for a week is not in the list, but counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from wane._errors import FleetError
from wane.fleet._plain import library, named, plain
from wane.fleet.store import Fleet

#: Days over which growth is judged, and after which a drive counts as gone.
WINDOW_DAYS = 30
GONE_DAYS = 7

#: Days ahead for which the end of the rated wear is told.
AHEAD_DAYS = 365

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

STATE = (
    "is_passed",
    "percentage_used_percent",
    "available_spare_percent",
    "available_spare_threshold_percent",
    "critical_warning",
)


@dataclass(frozen=True)
class Replacements:
    """What to replace.

    Attributes:
        drives: A row a drive: ``serial``, ``model``, ``urgency`` (``now``, ``soon`` or ``by-date``), ``by`` (the day of the rated wear, or ``None``),
            ``reasons`` with their sources, ``last_day``; the most urgent first.
        seen: Drives that told something in the last week.
        gone: Drives that did not, without having failed.
        failed: Drives that failed.
        still: Drives with sectors lost that did not grow: no reason.
        last_day: The fleet's last day.
    """

    drives: list[dict[str, Any]]
    seen: int
    gone: int
    failed: int
    still: int
    last_day: date

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told: dict[str, Any] = plain(vars(self))
        return told

    def table(self) -> Any:
        """The list as a ``pandas.DataFrame``, the reasons in one text."""
        rows = [{**row, "reasons": "; ".join(row["reasons"])} for row in self.drives]
        return library("pandas").DataFrame(rows, columns=["serial", "model", "urgency", "by", "reasons", "last_day"])


def replacements(fleet: Fleet) -> Replacements:
    """Judges each drive by its last month.

    Raises:
        FleetError: The fleet has no drive-days.
    """
    there = fleet.columns()
    # Simulated drives have clocks of their own, which say nothing of today where there are others.
    query = "SELECT COALESCE(max(date) FILTER (source <> 'simulated'), max(date)) AS last FROM days"
    bounds = fleet.query(query).to_pylist()[0]
    if bounds["last"] is None:
        raise FleetError(f"{fleet.path}: has no drive-days, and so no drive to judge")
    last: date = bounds["last"]
    columns = [name for name in (*STATE, *GROWING) if name in there]
    rows = _of_drives(fleet, columns, last)
    listed, still = [], 0
    present = rows[(rows["last_day"] >= last - timedelta(days=GONE_DAYS)) & ~rows["failed"]]
    for row in present.to_dict("records"):
        urgency, by, reasons = _judge(row, columns, last)
        if urgency is not None:
            listed.append(
                {key: row[key] for key in ("serial", "model", "last_day")}
                | {"urgency": urgency, "by": by, "reasons": reasons}
            )
        elif any(_value(row, name) for name in columns if name in GROWING):
            still += 1
    order = {"now": 0, "soon": 1, "by-date": 2}
    listed.sort(key=lambda row: (order[row["urgency"]], row["by"] or last, -len(row["reasons"]), row["serial"]))
    failed = int(rows["failed"].sum())
    return Replacements(listed, len(present), len(rows) - len(present) - failed, failed, still, last)


def _of_drives(fleet: Fleet, columns: list[str], last: date) -> Any:
    """A row a drive: what it told last, and at the beginning of the month."""
    since = f"DATE '{last - timedelta(days=WINDOW_DAYS)}'"
    parts = [
        "serial",
        "any_value(model) AS model",
        "max(date) AS last_day",
        "COALESCE(bool_or(failure), false) AS failed",
    ]
    parts.append(f"date_diff('day', min(date) FILTER (date >= {since}), max(date)) AS days")
    for name in columns:
        column = named(name)
        known = f"{column} IS NOT NULL AND date >= {since}"
        parts.append(f"arg_max({column}, date) FILTER ({column} IS NOT NULL) AS {named(name)}")
        parts.append(f"arg_min({column}, date) FILTER ({known}) AS {named('first ' + name)}")
    table = fleet.query(f"SELECT {', '.join(parts)} FROM days GROUP BY serial ORDER BY serial").to_pandas()
    table["last_day"] = [day.date() if hasattr(day, "date") else day for day in table["last_day"]]
    return table


def _value(row: dict[str, Any], name: str) -> float | None:
    value = row.get(name)
    return None if value is None or library("pandas").isna(value) else float(value)


def _judge(row: dict[str, Any], columns: list[str], last: date) -> tuple[str | None, date | None, list[str]]:
    """Urgency, the day of the rated wear, and the reasons."""
    now = _failing(row)
    soon: list[str] = []
    for name in (each for each in columns if each in GROWING):
        value, first = _value(row, name), _value(row, f"first {name}")
        if value is not None and first is not None and value > first:
            words, source = GROWING[name]
            reason = f"{words}: {first:,.0f} to {value:,.0f} in {row['days']:.0f} days ({source})"
            if not any(words in other for other in soon):
                soon.append(reason)
    by, wear = _wear(row, last)
    reasons = [*now, *soon, *([wear] if wear else [])]
    if now:
        return "now", by, reasons
    if soon:
        return "soon", by, reasons
    return ("by-date", by, reasons) if wear else (None, None, [])


def _failing(row: dict[str, Any]) -> list[str]:
    reasons = []
    if _value(row, "is_passed") == 0:
        reasons.append("the drive's own assessment is that it fails (SMART status)")
    spare, threshold = _value(row, "available_spare_percent"), _value(row, "available_spare_threshold_percent")
    if spare is not None and threshold is not None and spare < threshold:
        reasons.append(
            f"{spare:g} % of the spare is left, the threshold is {threshold:g} % (NVM Express, log page 02h)"
        )
    bits = int(_value(row, "critical_warning") or 0)
    for bit, words in (
        (2, "the drive is degraded"),
        (3, "the drive is read-only"),
        (4, "the backup of volatile memory failed"),
    ):
        if bits >> bit & 1:
            reasons.append(f"{words} (NVM Express, log page 02h, critical warning)")
    return reasons


def _wear(row: dict[str, Any], last: date) -> tuple[date | None, str | None]:
    """The day on which the rated wear is used, if within a year: by the month's growth."""
    used, first = _value(row, "percentage_used_percent"), _value(row, "first percentage_used_percent")
    if used is None:
        return None, None
    source = "NVMe's Percentage Used: 100 is the rating, and no failure"
    if used >= 100:
        return last, f"{used:g} % of the rated wear is used ({source})"
    if first is None or used <= first or row["days"] <= 0:
        return None, None
    days = (100 - used) * row["days"] / (used - first)
    if days > AHEAD_DAYS:
        return None, None
    by = last + timedelta(days=int(np.ceil(days)))
    return by, f"{used:g} % of the rated wear is used, {used - first:g} % of it in {row['days']:.0f} days ({source})"
