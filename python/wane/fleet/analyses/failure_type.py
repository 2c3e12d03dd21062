"""Predicts a drive's type of failure from a window of its records some time before (002, section 7.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._health import held_out, refitted
from wane.fleet.analyses._libraries import Flags, Frame, Numbers, library, one_thread, quietly, state, stream
from wane.fleet.analyses._result import Analysis, drawing
from wane.fleet.analyses.groups import HEALTHY, DiskOptions, Study, study_of, takes_disk_options
from wane.plot import COLORS, DASHES, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Name of working drives with signs of a failure among the judged drives; models do not learn from them.
DEGRADING = "degrading"

#: Most healthy drives to learn from for each failed one; all held-out drives are judged.
HEALTHY_PER_FAILED = 20


@dataclass(frozen=True, eq=False)
class FailureTypes(Analysis):
    """Types of failure, predicted ahead of the failure, of drives that were not learned from.

    Attributes:
        window_hours: The length of the window.
        leads: Hours before a drive's last record at which its windows end.
        drives_learned: Number of drives that were learned from.
        rows: A row for each lead and type: lead_hours, name, drives, told_percent (predicted as this type), failing_percent (predicted as any type
        but healthy), right_percent (of the drives predicted as this type, those that were; working drives with signs count as wrong).
        confusion: A row for each lead and pair: lead_hours, actual, told (predicted), drives.
        accuracy: By lead, the mean of ``told_percent`` over types; guessing gives 100 divided by their number.
        left_out: By lead, the number of drives with fewer than two records in the window.
    """

    window_hours: float
    leads: tuple[float, ...]
    drives_learned: int
    rows: Frame
    confusion: Frame
    accuracy: dict[float, float]
    left_out: dict[float, int]

    def table(self) -> Frame:
        """A row for each lead and type."""
        return self.rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """Share of drives of each type that are predicted, by lead."""
        with drawing(ax) as axes:
            for number, (name, own) in enumerate(self.rows.groupby("name", sort=False)):
                look = {"color": COLORS[number % len(COLORS)], "linestyle": DASHES[number % len(DASHES)]}
                marker = MARKERS[number % len(MARKERS)]
                axes.plot(own["lead_hours"], own["told_percent"], marker=marker, markersize=3, label=str(name), **look)
            axes.set(xlabel="hours before the last record", ylabel="drives told by type (%)", ylim=(0, 102))
            axes.legend()
            return axes


class Windows(NamedTuple):
    """Windows of drives: features of shape (drives, 3 x attributes), and flags of the drives that have one."""

    features: Numbers
    told: Flags


@takes_disk_options
def failure_types(
    frame: Frame,
    *,
    window_hours: float = 168.0,
    leads: Sequence[float] = (24.0, 72.0, 168.0),
    test_share: float = 0.3,
    **options: Unpack[DiskOptions],
) -> FailureTypes:
    """Predicts the type by which drives will fail, from windows of records that end some time before. Source: 002, section 7.4.

    The study mentions an ensemble of predictors without naming them. Here three vote with their probabilities: logistic regression, a random forest
    and gradient boosting. For each attribute they know its last value, its least and its change in the window. Drives are split by type; models learn
    from windows at all leads. Types are those of the failure records, which no window reaches.

    Args:
        frame: The records.
        window_hours: The length of the window.
        leads: Hours before the last record at which windows end, each above 0.
        test_share: The share of drives that are not learned from.
        options: Options of ``DiskOptions``.

    Raises:
        AnalysisError: As for ``working_groups``, or no type of failure has drives with records in the window.
    """
    user = "failure_types"
    if not leads or min(leads) <= 0 or window_hours <= 0:
        raise AnalysisError(f"{user}: leads and window are hours above 0, not {list(leads)} and {window_hours:g}")
    study = study_of(frame, user, **options)
    actual = np.array(study.group, dtype=object)
    actual[~study.records.failed & (actual != HEALTHY)] = DEGRADING
    out = _split(actual, test_share, study.seed, user)
    scale = refitted(study.scale, study.records.of(~out), user)
    health = scale(study.records.frame)
    windows = {lead: _windows(study, health, lead, window_hours) for lead in leads}
    for lead in leads:
        if not (out & windows[lead].told).any():
            raise AnalysisError(
                f"{user}: no drive held out has two records in the {window_hours:g} hours that end {lead:g} hours before its last"
            )
    learned = _learned(actual, out, study.seed)
    at = [learned & windows[lead].told for lead in leads]
    x = np.concatenate([windows[lead].features[rows] for lead, rows in zip(leads, at, strict=True)])
    y = np.concatenate([actual[rows] for rows in at])
    failing = sorted(set(y) - {HEALTHY})
    if not failing or HEALTHY not in y:
        raise AnalysisError(
            f"{user}: no {'failed' if not failing else 'healthy'} drive has two records in a window of {window_hours:g} hours"
        )
    with one_thread(), quietly():
        model = _ensemble(study.seed).fit(x, y)
        told = {lead: model.predict(windows[lead].features[out & windows[lead].told]) for lead in leads}
    names = [HEALTHY, *failing]
    rows, confusion, accuracy = [], [], {}
    for lead in leads:
        own, pairs = _judged(actual[out & windows[lead].told], told[lead], names)
        rows += [{"lead_hours": lead} | row for row in own]
        confusion += [{"lead_hours": lead} | pair for pair in pairs]
        accuracy[lead] = float(np.nanmean([row["told_percent"] for row in own]))
    pandas = library("pandas")
    return FailureTypes(
        window_hours=window_hours,
        leads=tuple(leads),
        drives_learned=int(np.logical_or.reduce(at).sum()),
        rows=pandas.DataFrame(rows),
        confusion=pandas.DataFrame(confusion),
        accuracy=accuracy,
        left_out={lead: int((~windows[lead].told).sum()) for lead in leads},
    )


def _split(actual: Any, share: float, seed: int, user: str) -> Flags:
    """Draws the drives to hold out: a share of each type."""
    out = np.zeros(actual.size, dtype=bool)
    for name in sorted(set(actual)):
        own = np.flatnonzero(actual == name)
        if own.size > 1:
            out[own[held_out(own.size, share, seed, user)]] = True
    return out


def _learned(actual: Any, out: Flags, seed: int) -> Flags:
    """Chooses the drives to learn from: all failed ones that are not held out, and a limited number of healthy ones."""
    learned: Flags = ~out & (actual != DEGRADING)
    healthy = np.flatnonzero(learned & (actual == HEALTHY))
    most = HEALTHY_PER_FAILED * max(int((learned & (actual != HEALTHY)).sum()), 1)
    if healthy.size > most:
        learned[stream(seed, "healthy drives learned from").permutation(healthy)[most:]] = False
    return learned


def _windows(study: Study, health: Numbers, lead: float, length: float) -> Windows:
    """For each drive the last value, the least value and the change of its attributes in a window that ends ``lead`` hours before its last record."""
    records = study.records
    features = np.full((records.first.size, 3 * health.shape[1]), np.nan)
    for drive, (first, last) in enumerate(zip(records.first, records.last, strict=True)):
        hours = records.hours[first : last + 1]
        end = hours[-1] - lead
        begin, stop = np.searchsorted(hours, [end - length, end + 1e-9])
        if stop - begin < 2:
            continue
        own = health[first + begin : first + stop]
        features[drive] = np.r_[own[-1], own.min(axis=0), own[-1] - own[0]]
    told: Flags = np.logical_not(np.isnan(features).any(axis=1))
    return Windows(features, told)


def _ensemble(seed: int) -> Any:
    ensemble, linear = library("sklearn.ensemble"), library("sklearn.linear_model")
    pipeline, preprocessing = library("sklearn.pipeline"), library("sklearn.preprocessing")
    logistic = linear.LogisticRegression(max_iter=1000, class_weight="balanced")
    forest = ensemble.RandomForestClassifier(
        200, class_weight="balanced", min_samples_leaf=2, random_state=state(seed, "random forest")
    )
    boosting = ensemble.HistGradientBoostingClassifier(
        max_iter=100, class_weight="balanced", early_stopping=False, random_state=state(seed, "gradient boosting")
    )
    voters = [
        ("logistic", pipeline.make_pipeline(preprocessing.StandardScaler(), logistic)),
        ("forest", forest),
        ("boosting", boosting),
    ]
    return ensemble.VotingClassifier(voters, voting="soft")


def _judged(actual: Any, told: Any, names: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows, pairs = [], []
    for name in names:
        own = told[actual == name]
        as_this = actual[told == name]
        rows.append(
            {
                "name": name,
                "drives": int(own.size),
                "told_percent": 100 * float((own == name).mean()) if own.size else float("nan"),
                "failing_percent": 100 * float((own != HEALTHY).mean()) if own.size else float("nan"),
                "right_percent": 100 * float((as_this == name).mean()) if as_this.size else float("nan"),
            }
        )
    for name in [*names, DEGRADING]:
        for other in names:
            count = int(((actual == name) & (told == other)).sum())
            pairs.append({"actual": name, "told": other, "drives": count})
    return rows, pairs
