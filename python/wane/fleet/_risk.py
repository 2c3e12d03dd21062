"""The rules of `replacements`: what a drive's last month says, how urgent it is, and how much risk it tells. Each rule has its source.

The thresholds are those of ``wane doctor`` (crate ``smart``, module ``doctor``). A doctor's warning is a reason to look; a list of drives to buy is
shorter: a few sectors lost in a month are no reason by themselves. Error counts are judged by their growth: sectors that were lost years ago are no
reason. Wear is no failure: if it grows, the day on which the rating is used up is given, without urgency. Resets, errors of the link and heat are
left out, as another drive seldom ends them.

The risk orders drives of one list, and is no probability: for each sign, how much likelier disks with it are to fail than disks without, times one
more than the number that was lost, times how often the drive's model failed up to that day. The ratios are published: Pinheiro et al., "Failure
Trends in a Large Disk Drive Population", FAST 2007, section 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

from wane.fleet._plain import counted, library

#: Days over which growth is judged.
WINDOW_DAYS = 30

#: Days ahead for which the end of the rated wear is given.
AHEAD_DAYS = 365

#: Percent of the rated wear from which a drive is near it, and the rating.
NEAR_PERCENT = 90
RATED_PERCENT = 100

#: Least growth of wear for which a day is given, in percent; wear is reported in whole percents.
GROWN_PERCENT_MIN = 2

#: Sectors or blocks gone bad from which on they are many, where one record has to do, as for ``wane doctor``.
MANY = 100

#: Normalized value from which on a vendor calls its count of bad sectors small.
NORMALIZED_FINE = 90

#: Bits read for each uncorrectable error that JESD218 allows.
BITS_PER_ERROR = 1e15

#: Sectors or blocks lost in a month below which they are too few to be a reason, the number of errors below which ``wane doctor`` says nothing.
FEW = 10

#: Points of spare above the drive's threshold up to which it is a warning, as for ``wane doctor``.
SPARE_MARGIN = 10

GOOGLE = "Pinheiro et al., FAST 2007, section 3.5"

LOG = "NVM Express, log page 02h"

#: Counts whose growth is a sign, with words for it and the source of the rule.
GROWING = {
    "media_errors": ("media errors", LOG),
    "uncorrectable_reads": ("uncorrectable reads", "OCP Datacenter NVMe SSD Specification, log page C0h"),
    "smart_187_raw": ("uncorrectable errors", "Backblaze watches attribute 187"),
    "end_to_end_errors": ("end-to-end errors", "OCP Datacenter NVMe SSD Specification, log page C0h"),
    "smart_184_raw": ("end-to-end errors", "Hewlett-Packard watches attribute 184"),
    "pending_sectors": ("sectors that wait to be rewritten", f"Backblaze watches attribute 197; {GOOGLE}.4"),
    "smart_197_raw": ("sectors that wait to be rewritten", f"Backblaze watches attribute 197; {GOOGLE}.4"),
    "offline_uncorrectable_sectors": ("sectors that offline scans could not read", "Backblaze watches attribute 198"),
    "smart_198_raw": ("sectors that offline scans could not read", "Backblaze watches attribute 198"),
    "reallocated_sectors": ("reallocated sectors", f"Backblaze watches attribute 5; {GOOGLE}.2"),
    "smart_5_raw": ("reallocated sectors", f"Backblaze watches attribute 5; {GOOGLE}.2"),
    "blocks_bad_grown": ("bad blocks", "OCP Datacenter NVMe SSD Specification, log page C0h"),
}


#: Sources of the same rules for drives without NVMe's log.
WITHOUT_LOG = {
    "media_errors": "Backblaze watches attribute 187; of SAS drives, the uncorrected errors",
    "spare": "the drive's own threshold",
}


class Sign(NamedTuple):
    """A kind of loss, of which drives report one or several counts.

    Attributes:
        columns: The counts; the one that grew most is told.
        ratio: How many times as likely as other disks one with the sign fails within 60 days.
        least: Growth in a month from which on it is a reason by itself.
        waits: Whether what a drive has now is a sign too, however old it is.
    """

    columns: tuple[str, ...]
    ratio: float
    least: int
    waits: bool = False


#: Scan errors of the study are read errors here, and its probational sectors are pending ones. End-to-end errors have no published ratio: they have
#: the least one. On flash the same counts are of blocks: a few are normal, and more of them mean that hundreds follow (Schroeder et al., FAST 2016,
#: section 6).
SIGNS = (
    Sign(("media_errors", "uncorrectable_reads", "smart_187_raw"), 39, 1),
    Sign(("end_to_end_errors", "smart_184_raw"), 14, 1),
    Sign(("pending_sectors", "smart_197_raw", "offline_uncorrectable_sectors", "smart_198_raw"), 16, FEW, waits=True),
    Sign(("reallocated_sectors", "smart_5_raw", "blocks_bad_grown"), 14, FEW),
)

#: Bits of NVMe's critical warning with which a drive fails, and those with which it works on with reduced guarantees, as ``wane doctor`` judges them.
#: Bit 1, temperature, is no reason to replace a drive.
WARNED_NOW = {0: "the spare is below its threshold", 2: "the drive is degraded", 3: "the drive is read-only"}
WARNED_SOON = {
    4: "the backup of volatile memory failed",
    5: "the persistent memory region is unreliable",
}

#: NVMe's critical warning with only the bit "reliability degraded", which some vendors set for the rating.
DEGRADED = 4
RATING = "smartmontools, issue 537: Samsung's PM9A1 sets this bit at 100 % used"

STATE = (
    "is_passed",
    "percentage_used_percent",
    "available_spare_percent",
    "available_spare_threshold_percent",
    "critical_warning",
    "dies_offline",
    "capacitor_health_percent",
    "host_read_bytes",
    "smart_5_normalized",
)

#: Factor of the risk for a drive that warns of itself, by wane: that of reallocated sectors.
WARNED_RATIO = 14.0


@dataclass
class Judgment:
    """What a drive's last month says.

    Attributes:
        urgency: ``now``, ``soon``, ``past-rating``, ``by-date``, or ``None`` if there is no reason to replace it.
        by: The day on which the rated wear is used up, or ``None``.
        reasons: Sentences with their sources.
        risk: Its place among the drives of a list: higher is worse. Without a dimension; no probability.
        few: Whether sectors were lost, but too few to be a reason.
    """

    urgency: str | None = None
    by: date | None = None
    reasons: list[str] = field(default_factory=list)
    risk: float = 1.0
    few: bool = False


def judge_row(row: dict[str, Any], columns: list[str]) -> Judgment:
    """Judges a drive by its last values and their month; ``row`` is one of those of `of_drives`."""
    now = _failing(row)
    soon, risk, few = _grown(row, columns)
    warned = [*_warned(row, WARNED_SOON), *_limited(row), *_alone(row, columns)]
    risk *= WARNED_RATIO ** len([*now, *warned])
    by, wear = _wear(row)
    rated = _only_rated(row)
    wears = [each for each in (rated, wear) if each]
    if now or soon or warned:
        return Judgment("now" if now else "soon", by, [*now, *warned, *soon, *wears], risk, few)
    if not wears:
        return Judgment(risk=risk, few=few)
    return Judgment("past-rating" if by is None else "by-date", by, wears, risk, few)


def _grown(row: dict[str, Any], columns: list[str]) -> tuple[list[str], float, bool]:
    """The reasons from what grew, the risk that all signs tell, and whether something grew that is too little for a reason."""
    grown, risk, kinds = [], 1.0, 0
    for sign in SIGNS:
        there = [name for name in sign.columns if name in columns]
        name = max(there, key=lambda each: row[f"grown {each}"], default=None)
        more = 0 if name is None else row[f"grown {name}"]
        lost = max([more, *(value_of(row, each) or 0 for each in there)]) if sign.waits else more
        if lost > 0:
            kinds += 1
            risk *= sign.ratio * (1 + lost)
        if name is not None and more > 0:
            grown.append((sign, name, more))
    # Two kinds that agree are a reason, though each may be small.
    told = [name for sign, name, more in grown if more >= sign.least or kinds > 1]
    reasons = [f"{GROWING[name][0]}: {_growth(row, name)} ({_source(row, name)})" for name in told]
    return reasons, risk, bool(grown) and not told


def _source(row: dict[str, Any], name: str) -> str:
    """Where the rule for a value comes from: only drives that report the critical warning have NVMe's log."""
    source = LOG if name == "spare" else GROWING[name][1]
    return source if value_of(row, "critical_warning") is not None else WITHOUT_LOG.get(name, source)


def value_of(row: dict[str, Any], name: str) -> float | None:
    """A drive's last value of a column; ``None`` if there is none."""
    value = row.get(name)
    return None if value is None or library("pandas").isna(value) else float(value)


def _growth(row: dict[str, Any], name: str) -> str:
    """Says how a count grew in the month: "0 to 2 in 20 days", or by how much if it went back in between."""
    days = counted(int(row[f"days {name}"]), "day")
    if not row[f"fell {name}"]:
        return f"{row[f'first {name}']:,.0f} to {row[name]:,.0f} in {days}"
    return f"{row[f'grown {name}']:,.0f} more in {days}, at last {row[name]:,.0f}, as the count went back in between"


def _failing(row: dict[str, Any]) -> list[str]:
    """The reasons for which a drive fails: its own assessment, and its own limits."""
    reasons = []
    # A critical warning also fails the assessment, and its bits say why; so if there are bits, they are judged instead.
    if value_of(row, "is_passed") == 0 and not value_of(row, "critical_warning"):
        reasons.append("the drive's own assessment is that it fails (SMART status)")
    spare, threshold = value_of(row, "available_spare_percent"), value_of(row, "available_spare_threshold_percent")
    if spare is not None and threshold is not None and spare < threshold:
        reasons.append(f"{_spare(spare, threshold)} ({_source(row, 'spare')})")
    return reasons if _only_rated(row) else reasons + _warned(row, WARNED_NOW)


def _spare(spare: float, threshold: float) -> str:
    return f"{spare:g} % of the spare is left, the threshold is {threshold:g} %"


def _warned(row: dict[str, Any], bits: dict[int, str]) -> list[str]:
    """Returns the reasons from these bits of NVMe's critical warning."""
    told = int(value_of(row, "critical_warning") or 0)
    source = f"{LOG}, critical warning"
    return [f"{words} ({source})" for bit, words in bits.items() if told >> bit & 1]


def _only_rated(row: dict[str, Any]) -> str | None:
    """Why a drive that says "reliability degraded" says it for its rating alone: it has no error, and its spare."""
    used, spare = value_of(row, "percentage_used_percent"), value_of(row, "available_spare_percent")
    if value_of(row, "critical_warning") != DEGRADED or used is None or used < RATED_PERCENT:
        return None
    threshold = value_of(row, "available_spare_threshold_percent") or 0
    if value_of(row, "media_errors") != 0 or spare is None or spare <= threshold + SPARE_MARGIN:
        return None
    return (
        f'the drive says "reliability degraded" at {used:g} % of its rated wear, with no media error and {spare:g} % of its spare: '
        f"its vendor sets this for the rating ({RATING})"
    )


def _limited(row: dict[str, Any]) -> list[str]:
    """The reasons from parts of flash that are nearly used up or lost."""
    reasons = []
    spare, threshold = value_of(row, "available_spare_percent"), value_of(row, "available_spare_threshold_percent") or 0
    if spare is not None and spare < 100 and threshold <= spare <= threshold + SPARE_MARGIN:
        reasons.append(f"{_spare(spare, threshold)} (wane: within ten points of it)")
    if (dies := value_of(row, "dies_offline") or 0) > 0:
        reasons.append(f"lost dies: {dies:,.0f} (OCP Datacenter NVMe SSD Specification, media dies offline)")
    held = value_of(row, "capacitor_health_percent")
    if held is not None and held < 100:
        reasons.append(
            f"the capacitors hold {held:g} % of the energy that a power cut needs (OCP Datacenter NVMe SSD Specification, capacitor health)"
        )
    return reasons


def _alone(row: dict[str, Any], columns: list[str]) -> list[str]:
    """The reasons from counts of which the month has one value, so that their growth is unknown: published limits have to do."""

    def of(name: str) -> float:
        return (value_of(row, name) or 0) if name in columns and row[f"count {name}"] == 1 else 0

    reasons = []
    errors, retired = (max(sign.columns, key=of) for sign in (SIGNS[0], SIGNS[-1]))
    read = value_of(row, "host_read_bytes")
    if of(errors) >= FEW and (read is None or of(errors) > 8 * read / BITS_PER_ERROR):
        words = f"{GROWING[errors][0]}: {of(errors):,.0f} in one record"
        reasons.append(f"{words} (JESD218: one in 10^15 bits read; from ten on by wane)")
    is_fine = retired == "smart_5_raw" and (value_of(row, "smart_5_normalized") or 0) >= NORMALIZED_FINE
    if of(retired) >= MANY and not is_fine:
        words = f"{GROWING[retired][0]}: {of(retired):,.0f} in one record"
        reasons.append(
            f"{words} (Schroeder et al., FAST 2016, section 6: a few are normal, hundreds are where a chip fails)"
        )
    return reasons


def _wear(row: dict[str, Any]) -> tuple[date | None, str | None]:
    """Estimates the day on which the rated wear is used up, if within a year, from the month's growth; beyond the rating there is no day.

    Wear is reported in whole percents, so that a growth of g lies between g - 1 and g + 1, and likewise for what is left. A growth of one percent has
    no least rate, and so no day. ``wane doctor`` has the same interval for two records.
    """
    used, first = value_of(row, "percentage_used_percent"), value_of(row, "first percentage_used_percent")
    if used is None:
        return None, None
    source = "NVMe's Percentage Used: 100 is the rating, and no failure"
    if used >= RATED_PERCENT:
        return None, f"{used:g} % of the rated wear is used ({source})"
    watched = 0 if first is None else int(row["days percentage_used_percent"])
    grown = 0 if first is None else used - first
    if grown < GROWN_PERCENT_MIN or watched <= 0 or row["fell percentage_used_percent"]:
        return None, None

    def day(left: float, percent: float, whole: Any = np.ceil) -> date:
        """The day on which ``left`` percent are worn at a growth of ``percent`` in the watched days."""
        last: date = row["last_day"]
        return last + timedelta(days=int(whole(left * watched / percent)))

    left = RATED_PERCENT - used
    by = day(left, grown)
    if by > row["last_day"] + timedelta(days=AHEAD_DAYS):
        return None, None
    least, most = day(left - 1, grown + 1, np.floor), day(left + 1, grown - 1)
    told = f"{used:g} % of the rated wear is used, {grown:g} % of it in {counted(watched, 'day')}"
    return by, f"{told}, so that it ends between {least} and {most} ({source})"
