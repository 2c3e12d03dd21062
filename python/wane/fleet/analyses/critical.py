"""Attributes that correlate with the others as drives fail (002, section 7.2.1, figure 7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Frame, Numbers, library, quietly
from wane.fleet.analyses._names import listed, short
from wane.fleet.analyses._records import Records, records_of
from wane.fleet.analyses._result import Analysis, drawing
from wane.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of other attributes that figure 7.1 shows for an attribute.
SHOWN = 8

#: Least records of a drive for its own correlation.
RECORDS_MIN = 10


@dataclass(frozen=True, eq=False)
class CriticalAttributes(Analysis):
    """Attributes ranked by how often they correlate with the others within a drive.

    Attributes:
        models: The drives' models.
        drives: Number of drives that were correlated.
        drives_left_out: Number of drives with fewer than 10 records.
        above: The absolute coefficient that counts.
        shares: A row and a column for each attribute: the percentage of the drives in which the two are correlated above the limit.
        002 has 28.8 % for RSC with RUE and 41.7 % for RUE with RSC, although shares of the same disks would be equal. Perhaps they are shares of
        the disks in which the first of the two moves; those are ``moving``.
        moving: For each attribute, the percentage of the drives in which it moves.
        critical: The attributes, ordered by the mean of their shares with the others, the largest first.
        fluctuation: For each attribute, the median over drives of the share of its way that led back: 0 for a counter, near 1 for a reading. NaN
        if it never moves.
        dropped: The attributes that fluctuate too much, or never move.
    """

    models: tuple[str, ...]
    drives: int
    drives_left_out: int
    above: float
    shares: Frame
    moving: dict[str, float]
    critical: tuple[str, ...]
    fluctuation: dict[str, float]
    dropped: tuple[str, ...]

    def table(self) -> Frame:
        """A row for each attribute, the critical ones first: attribute, mean_percent (with the others), moving, fluctuation, dropped."""
        names = [*self.critical, *self.dropped]
        count = max(len(self.critical) - 1, 1)
        means = [float(self.shares[name].sum()) / count if name in self.critical else float("nan") for name in names]
        return library("pandas").DataFrame(
            {
                "attribute": names,
                "mean_percent": means,
                "moving": [self.moving[name] for name in names],
                "fluctuation": [self.fluctuation[name] for name in names],
                "dropped": [name in self.dropped for name in names],
            }
        )

    def plot(self, ax: Axes | None = None, *, attribute: str | None = None) -> Axes:
        """Figure 7.1: the share of drives in which an attribute, by default the most critical one, correlates with others."""
        chosen = self.critical[0] if attribute is None else attribute
        if chosen not in self.critical:
            raise AnalysisError(
                f"critical_attributes: {chosen!r} was not correlated; these were: {listed(self.critical)}"
            )
        with drawing(ax) as axes:
            others = self.shares[chosen].drop(chosen).sort_values(ascending=False, kind="stable").head(SHOWN)
            axes.bar([short(name) for name in others.index], others, width=0.6, color=COLORS[0])
            axes.grid(visible=False, axis="x")
            axes.set(xlabel=f"correlated with {short(chosen)}", ylabel="drives (%)")
            return axes


def critical_attributes(
    frame: Frame,
    *,
    attributes: Sequence[str] | None = None,
    model: str | None = None,
    drives: Literal["failed", "all"] = "failed",
    above: float = 0.75,
    fluctuation_max: float = 0.5,
) -> CriticalAttributes:
    """Correlates attributes within each drive, and counts the drives in which they correlate. Source: 002, section 7.2.1, figure 7.1.

    Attributes that do not accumulate are dropped: if more than ``fluctuation_max`` of an attribute's way in the median drive led back, it is a
    reading, such as a read error rate, without history. Counters that only grow with time correlate in every drive, failing or not.

    Args:
        frame: The records.
        attributes: The columns; by default all numeric ones.
        model: The only model to analyze.
        drives: Whether failed drives are analyzed, as in the study, or all.
        above: The absolute Spearman coefficient that counts, 0 to 1.
        fluctuation_max: The largest share of a way that may lead back, 0 to 1.

    Raises:
        AnalysisError: No drive failed or has 10 records, or fewer than two attributes are left.
    """
    user = "critical_attributes"
    if drives not in ("failed", "all"):
        raise AnalysisError(f"{user}: drives is {drives!r}; it is 'failed' or 'all'")
    records = records_of(
        frame, user, attributes=attributes, model=model, drives_min=1, failed_min=1 if drives == "failed" else 0
    )
    if drives == "failed":
        records = records.of(records.failed)
    long = records.last - records.first + 1 >= RECORDS_MIN
    if not long.any():
        most = int((records.last - records.first).max()) + 1
        raise AnalysisError(
            f"{user}: no drive has {RECORDS_MIN} records, which its own correlation needs; the most is {most}"
        )
    looked = records.of(long)
    fluctuation, moving = _fluctuation(looked)
    kept = [name for name in looked.attributes if fluctuation[name] <= fluctuation_max]
    dropped = tuple(name for name in looked.attributes if name not in kept)
    if len(kept) < 2:
        found = f"{kept[0]} alone accumulates" if kept else "no attribute accumulates"
        raise AnalysisError(f"{user}: {found}, and two must; the others fluctuate or never move: {listed(dropped)}")
    shares = 100 * _shares(looked, kept, above)
    means = (shares.sum(axis=0) - np.diag(shares)) / (len(kept) - 1)
    order = np.argsort(-means, kind="stable")
    names = [kept[at] for at in order]
    np.fill_diagonal(shares, 0)
    return CriticalAttributes(
        models=looked.models,
        drives=looked.first.size,
        drives_left_out=int((~long).sum()),
        above=above,
        shares=library("pandas").DataFrame(shares, kept, kept).loc[names, names],
        moving=moving,
        critical=tuple(names),
        fluctuation=fluctuation,
        dropped=dropped,
    )


def _fluctuation(records: Records) -> tuple[dict[str, float], dict[str, float]]:
    """For each attribute, the drives' median share of its way that led back, 1 - |end - start| / way, and the percentage in which it moves."""
    found, moving = {}, {}
    for name in records.attributes:
        column = records.frame[name].to_numpy(dtype=float)
        backs = []
        for first, last in zip(records.first, records.last, strict=True):
            told = column[first : last + 1]
            told = told[~np.isnan(told)]
            way = np.abs(np.diff(told)).sum()
            if way > 0:
                backs.append(1 - abs(told[-1] - told[0]) / way)
        found[name] = float(np.median(backs)) if backs else float("nan")
        moving[name] = 100 * len(backs) / records.first.size
    return found, moving


def _shares(records: Records, names: Sequence[str], above: float) -> Numbers:
    """Share of the drives in which two attributes are correlated; a drive in which one never moves counts as not correlated."""
    counts = np.zeros((len(names), len(names)))
    with quietly():
        for first, last in zip(records.first, records.last, strict=True):
            drive = records.frame[list(names)].iloc[first : last + 1]
            counts += np.abs(drive.corr(method="spearman", min_periods=RECORDS_MIN).to_numpy()) > above
    return counts / records.first.size
