"""Start of degradation: thresholds between sick and healthy drives (002, sections 7.3.1 and 7.4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Unpack

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._health import Scale
from wane.fleet.analyses._libraries import Counts, Frame, Numbers, library, one_thread
from wane.fleet.analyses._names import short
from wane.fleet.analyses._records import Records
from wane.fleet.analyses._result import Analysis, drawing
from wane.fleet.analyses.groups import DiskOptions, Study, study_of, takes_disk_options
from wane.fleet.analyses.published import THRESHOLDS
from wane.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rules for finding a threshold.
Rule = Literal["hyperplane", "upper bound"]

#: Hours to copy 4 TB at 150 MB/s (002, section 7.4.1, whose "Mbps" is a slip: only bytes give eight hours).
COPY_HOURS = 4e12 / 150e6 / 3600


@dataclass(frozen=True, eq=False)
class Starts(Analysis):
    """Thresholds of health values at which drives begin to degrade, and the time that they then have.

    Attributes:
        scale: The scale that turns attributes into health values.
        rule: The rule by which thresholds were found.
        copy_hours: The time that a copy of the drive takes.
        rows: A row for each type of failure: name, attribute, threshold (health value; at or below it a drive degrades), value (the attribute's
        there), published (the study's threshold on its own drives, converted to this scale), accuracy (the mean of the shares of sick and of
        healthy drives on their side), healthy_below_percent, drives (that failed by it and whose start was seen), hours_q1, hours_median,
        hours_q3 (from the start to the failure), abrupt (whether the median leaves no time for a copy).
    """

    scale: Scale
    rule: Rule
    copy_hours: float
    rows: Frame

    def table(self) -> Frame:
        """A row for each type of failure."""
        return self.rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """The time from the start to the failure, compared with the time that a copy takes."""
        with drawing(ax) as axes:
            at = np.arange(len(self.rows))
            low, middle, high = (
                self.rows[name].to_numpy(dtype=float) for name in ("hours_q1", "hours_median", "hours_q3")
            )
            axes.errorbar(at, middle, [middle - low, high - middle], fmt="o", markersize=3, capsize=3, color=COLORS[0])
            axes.axhline(self.copy_hours, color=COLORS[1], linestyle="--", label="a copy takes")
            axes.set_xticks(at, list(self.rows["name"]))
            axes.set(ylabel="from start to failure (h)", yscale="symlog", xlabel="type of failure")
            axes.set_ylim(bottom=0)
            axes.legend()
            return axes


@takes_disk_options
def starts(
    frame: Frame,
    *,
    rule: Rule = "hyperplane",
    copy_hours: float = COPY_HOURS,
    **options: Unpack[DiskOptions],
) -> Starts:
    """Finds the health value at which degradation begins, for each type of failure that has a sign. Source: 002, sections 7.3.1 and 7.4.2.

    Sick are the failure records of the type and the last records of working drives with its signs; healthy are the last records of the others. A
    drive's degradation starts when its value falls to the threshold and stays at or below it until the failure.

    Args:
        frame: The records.
        rule: ``"hyperplane"`` separates sick from healthy with the fewest errors, both counting the same; ``"upper bound"`` is the ninth decile of
        the sick. The study uses the first for RSC and the second for RUE.
        copy_hours: The time that a copy of the drive takes.
        options: Options of ``DiskOptions``.

    Raises:
        AnalysisError: As for ``working_groups``, or no type of failure has a sign.
    """
    return starts_in(study_of(frame, "starts", **options), rule, copy_hours, "starts")


def starts_in(study: Study, rule: Rule, copy_hours: float, user: str) -> Starts:
    """The starts of a study."""
    if rule not in ("hyperplane", "upper bound"):
        raise AnalysisError(f"{user}: rule is {rule!r}; it is 'hyperplane' or 'upper bound'")
    if not study.named:
        raise AnalysisError(
            f"{user}: no type of failure has a sign: all {study.failures.failed} failed drives read as working ones do"
        )
    health = study.scale(study.records.frame)
    rows = []
    for name, attribute in study.named:
        at = study.scale.attributes.index(attribute)
        sick = study.drives(name, of="failed") | study.drives(name, of="degrading")
        bad, good = study.health[sick, at], study.health[study.healthy, at]
        threshold = threshold_of(bad, good, rule)
        begins = start_rows(study.records, health[:, at], threshold)[study.drives(name, of="failed")]
        ends = study.records.last[study.drives(name, of="failed")]
        hours = (study.records.hours[ends] - study.records.hours[begins])[begins >= 0]
        quartiles = np.percentile(hours, [25, 50, 75]) if hours.size else np.full(3, np.nan)
        on_scale = THRESHOLDS.get(short(attribute))
        below, above = (bad <= threshold).mean(), (good > threshold).mean() if good.size else float("nan")
        rows.append(
            {
                "name": name,
                "attribute": attribute,
                "threshold": threshold,
                "value": study.scale.column(attribute, threshold),
                "published": float("nan") if on_scale is None else _on(study.scale, on_scale),
                "accuracy": float((below + above) / 2),
                "healthy_below_percent": 100 * float(1 - above),
                "drives": int(hours.size),
                "hours_q1": float(quartiles[0]),
                "hours_median": float(quartiles[1]),
                "hours_q3": float(quartiles[2]),
                "abrupt": bool(quartiles[1] < copy_hours),
            }
        )
    return Starts(study.scale, rule, copy_hours, library("pandas").DataFrame(rows))


def _on(scale: Scale, published: float) -> float:
    """Converts a published health value, -1 to 1, to another scale."""
    return scale.low + (scale.high - scale.low) * (published + 1) / 2


def threshold_of(bad: Numbers, good: Numbers, rule: Rule) -> float:
    """The health value that separates bad from good; NaN if none does."""
    if rule == "upper bound":
        return float(np.percentile(bad, 90))
    values, sick = np.r_[bad, good], np.r_[np.ones(bad.size, dtype=bool), np.zeros(good.size, dtype=bool)]
    with one_thread():
        stump = library("sklearn.tree").DecisionTreeClassifier(max_depth=1, class_weight="balanced", random_state=0)
        tree = stump.fit(values[:, None], sick).tree_
    return float(tree.threshold[0]) if tree.node_count > 1 else float("nan")


def start_rows(records: Records, health: Numbers, threshold: float) -> Counts:
    """For each drive the record from which on its health values stay at or below a threshold; -1 if its last value does not."""
    # A missing value does not interrupt that.
    above = health > threshold
    found = np.full(records.first.size, -1, dtype=np.int64)
    for drive, (first, last) in enumerate(zip(records.first, records.last, strict=True)):
        own = above[first : last + 1]
        if np.isnan(threshold) or own[-1]:
            continue
        found[drive] = first + (own.size - int(np.argmax(own[::-1])) if own.any() else 0)
    return found
