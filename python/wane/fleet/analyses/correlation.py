"""Correlation of attributes: Spearman's rank correlation with its significance (002, section 4.3, figures 4.1 and 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Counts, Frame, Numbers, library
from wane.fleet.analyses._names import listed, short
from wane.fleet.analyses._records import Records, records_of
from wane.fleet.analyses._result import Analysis, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Least number of drives with both attributes of a pair: with three drives, one in three orders of ranks is perfect.
DRIVES_MIN = 4


@dataclass(frozen=True, eq=False)
class Correlation(Analysis):
    """Spearman's rank correlation of attributes.

    Attributes:
        models: The drives' models.
        drives: Number of drives.
        records: Number of records that were ranked.
        confidence: The confidence at which a pair is significant.
        strong_above: The absolute coefficient above which a significant pair is strong.
        coefficients: A row and a column for each attribute, -1 to 1; NaN if two attributes have no records in common.
        p_values: The chance of a coefficient at least as far from 0 if the two were unrelated, with each drive counted once; NaN below 4 drives in
        common.
        drives_in_common: Number of drives with both attributes, in the shape of ``coefficients``.
        dropped: Constant attributes, which have no correlation.
    """

    models: tuple[str, ...]
    drives: int
    records: int
    confidence: float
    strong_above: float
    coefficients: Frame
    p_values: Frame
    drives_in_common: Frame
    dropped: tuple[str, ...]

    def table(self) -> Frame:
        """A row for each pair, the strongest first: attribute, other, drives (that have both), coefficient, p_value, significant, strong."""
        names = list(self.coefficients.columns)
        one, other = np.triu_indices(len(names), 1)
        coefficient, p_value = self.coefficients.to_numpy()[one, other], self.p_values.to_numpy()[one, other]
        significant = p_value < 1 - self.confidence
        pairs = library("pandas").DataFrame(
            {
                "attribute": [names[at] for at in one],
                "other": [names[at] for at in other],
                "drives": self.drives_in_common.to_numpy()[one, other],
                "coefficient": coefficient,
                "p_value": p_value,
                "significant": significant,
                "strong": significant & (np.abs(coefficient) > self.strong_above),
            }
        )
        order = np.argsort(-np.abs(pairs["coefficient"].fillna(0).to_numpy()), kind="stable")
        return pairs.iloc[order].reset_index(drop=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The heat map of figures 4.1 and 4.2; cells that are not significant are empty."""
        with drawing(ax) as axes:
            names = [short(name) for name in self.coefficients.columns]
            shown = np.where(self.p_values.to_numpy() < 1 - self.confidence, self.coefficients.to_numpy(), np.nan)
            np.fill_diagonal(shown, 1)
            image = axes.imshow(shown, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
            axes.grid(visible=False)
            axes.set_xticks(range(len(names)), names, rotation=90, fontsize=5)
            axes.set_yticks(range(len(names)), names, fontsize=5)
            figure: Any = axes.figure
            figure.colorbar(image, ax=axes, label="Spearman's coefficient (-1 to 1)")
            return axes


def correlation(
    frame: Frame,
    *,
    attributes: Sequence[str] | None = None,
    model: str | None = None,
    of: Literal["records", "drives"] = "records",
    confidence: float = 0.95,
    strong_above: float = 0.9,
) -> Correlation:
    """Correlates every pair of attributes by rank. Source: 002, section 4.3.

    The study ranks all records. A drive's records repeat each other, so that their number says nothing about significance. The test here counts each
    drive once (Student's t with the number of drives less 2), which is conservative. A pair with fewer than 4 drives in common is not significant.

    Args:
        frame: The records, of shape (drive-days or drive-hours, columns).
        attributes: The columns to correlate; by default all numeric ones.
        model: The only model to analyze, because vendors give an id different meanings.
        of: Whether all records are ranked, as in the study, or each drive's last one.
        confidence: The confidence of significance, between 0 and 1.
        strong_above: The absolute coefficient above which a pair is strong, 0 to 1; the study uses 0.9 for SSDs and 0.75 for disks.

    Raises:
        AnalysisError: There are fewer than 4 drives, or fewer than two attributes vary.
    """
    if not 0 < confidence < 1:
        raise AnalysisError(f"correlation: the confidence is {confidence}; it lies between 0 and 1")
    if of not in ("records", "drives"):
        raise AnalysisError(f"correlation: of is {of!r}; it is 'records' or 'drives'")
    records = records_of(frame, "correlation", attributes=attributes, model=model, drives_min=DRIVES_MIN)
    ranked = records.frame[list(records.attributes)]
    if of == "drives":
        ranked = ranked.iloc[records.last]
    dropped = tuple(name for name in records.attributes if ranked[name].nunique() < 2)
    varying = [name for name in records.attributes if name not in dropped]
    if len(varying) < 2:
        found = f"{varying[0]} alone varies" if varying else "no attribute varies"
        raise AnalysisError(f"correlation: {found}, and two must; constant: {listed(dropped)}")
    coefficients = ranked[varying].corr(method="spearman")
    common = _drives_in_common(records, ranked, varying)
    return Correlation(
        models=records.models,
        drives=records.first.size,
        records=len(ranked),
        confidence=confidence,
        strong_above=strong_above,
        coefficients=coefficients,
        p_values=library("pandas").DataFrame(_p_values(coefficients.to_numpy(), common), varying, varying),
        drives_in_common=library("pandas").DataFrame(common, varying, varying),
        dropped=dropped,
    )


def _drives_in_common(records: Records, ranked: Frame, names: Sequence[str]) -> Counts:
    """Number of drives that have both attributes in one of the ranked records, of shape (attributes, attributes)."""
    told = (~np.isnan(ranked[list(names)].to_numpy(dtype=float))).astype(float)
    drive = records.drive[ranked.index.to_numpy()]
    # A drive that has two attributes only in different records adds nothing to their coefficient.
    found: Counts = sum(
        (each.T @ each > 0).astype(np.int64) for each in np.split(told, np.flatnonzero(np.diff(drive)) + 1)
    )
    return found


def _p_values(coefficients: Numbers, drives: Counts) -> Numbers:
    """Two-sided chances under Student's t with the drives less 2 degrees of freedom; NaN for fewer than 4 drives."""
    freedom = np.where(drives >= DRIVES_MIN, drives - 2, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = coefficients * np.sqrt(freedom / np.maximum(1 - coefficients**2, 0))
        chances: Numbers = 2 * library("scipy.stats").t.sf(np.abs(t), freedom)
    return chances
