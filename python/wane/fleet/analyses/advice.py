"""What to do about drives at or below a threshold: logical failures need no replacement (002, sections 7.4.2 and 7.5)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from wane.fleet.analyses._libraries import Frame, library
from wane.fleet.analyses._names import short
from wane.fleet.analyses._result import Analysis, drawing
from wane.fleet.analyses.groups import DiskOptions, study_of, takes_disk_options
from wane.fleet.analyses.onset import COPY_HOURS, Rule, Starts, starts_in
from wane.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Advice for drives whose only sign is one that software causes (002, section 7.4.2).
REMEDIES = {
    "SUT": "keep it: spread its load so that it has no idle time, or keep it spinning (power management)",
    "HFW": "keep it: spread accesses over tracks, or move the head from its track while the reading is abnormal",
}

REMEDY_SOURCE = "002, section 7.4.2"

#: Advice for the other drives (002, sections 7.4.1 and 7.5).
REPLACE = "copy its data and replace it"
REPLACE_AT_ONCE = "copy its data at once and replace it: this type leaves no time for a copy"

COLUMNS = ["serial", "model", "failed", "signs", "health", "threshold", "advice", "source"]


@dataclass(frozen=True, eq=False)
class Advice(Analysis):
    """Drives that show signs of a failure, and what to do about each.

    Attributes:
        starts: The thresholds.
        rows: A row for each drive whose last record is at or below a threshold: serial, model, failed, signs (types of failure), health and
        threshold (of the sign that lies deepest below its threshold), advice, source.
    """

    starts: Starts
    rows: Frame

    def table(self) -> Frame:
        """A row for each drive."""
        return self.rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar for each piece of advice."""
        with drawing(ax) as axes:
            counts = Counter(str(text).partition(":")[0] for text in self.rows["advice"])
            axes.barh(list(counts), list(counts.values()), color=COLORS[0])
            axes.set(xlabel="drives", ylabel="advice")
            return axes


@takes_disk_options
def advice(
    frame: Frame,
    *,
    rule: Rule = "hyperplane",
    copy_hours: float = COPY_HOURS,
    **options: Unpack[DiskOptions],
) -> Advice:
    """Advises on each drive that shows signs of a failure. Source: 002, sections 7.4.1, 7.4.2 and 7.5.

    A drive whose only signs are spin-up time or high-fly writes has a logical failure: it need not be replaced. Any other sign is one of wear or
    damage. Types that leave no time for a copy after their threshold are to be watched from the first change on.

    Args:
        frame: The records.
        rule: The rule for thresholds, as in ``starts``.
        copy_hours: The time that a copy of the drive takes.
        options: Options of ``DiskOptions``.

    Raises:
        AnalysisError: As for ``starts``.
    """
    study = study_of(frame, "advice", **options)
    found = starts_in(study, rule, copy_hours, "advice")
    width = study.scale.high - study.scale.low
    limits = found.rows.to_dict("records")
    places = [study.scale.attributes.index(limit["attribute"]) for limit in limits]
    models = study.records.frame["model"].to_numpy()[study.records.first]
    rows = []
    for drive, serial in enumerate(study.records.serials):
        below = {
            number: (limit["threshold"] - study.health[drive, at]) / width
            for number, (limit, at) in enumerate(zip(limits, places, strict=True))
            if study.health[drive, at] <= limit["threshold"]
        }
        if not below:
            continue
        deepest = max(below, key=lambda number: below[number])
        physical = [number for number in below if short(limits[number]["attribute"]) not in REMEDIES]
        if physical:
            text = REPLACE_AT_ONCE if any(limits[number]["abrupt"] for number in physical) else REPLACE
            source = "002, section 7.5" if text == REPLACE_AT_ONCE else "002, section 7.4.1"
        else:
            text, source = REMEDIES[short(limits[deepest]["attribute"])], REMEDY_SOURCE
        rows.append(
            {
                "serial": str(serial),
                "model": str(models[drive]),
                "failed": bool(study.records.failed[drive]),
                "signs": ", ".join(limits[number]["name"] for number in below),
                "health": float(study.health[drive, places[deepest]]),
                "threshold": float(limits[deepest]["threshold"]),
                "advice": text,
                "source": source,
            }
        )
    return Advice(found, library("pandas").DataFrame(rows, columns=COLUMNS))
