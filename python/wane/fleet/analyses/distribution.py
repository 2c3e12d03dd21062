"""Distributions of attributes over the drives of each model: the boxes of 002, figures 4.4 and 4.5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Frame, Numbers, library
from wane.fleet.analyses._names import label, listed
from wane.fleet.analyses._records import records_of
from wane.fleet.analyses._result import Analysis, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Reach of the whiskers, in distances of the quartiles (002, section 4.3.3).
WHISKER = 1.5

#: Most outliers that are kept, picked evenly from the sorted ones.
OUTLIERS_MAX = 1_000


@dataclass(frozen=True, eq=False)
class Distribution(Analysis):
    """Boxes of attributes by model.

    Attributes:
        boxes: A row for each attribute and model: attribute, model, values (their number), missing, mean, minimum, whisker_low, q1, median, q3,
        whisker_high, maximum, outliers (their number). Whiskers end at the last value within 1.5 quartile distances of the box.
        outliers: The values beyond the whiskers by (attribute, model), at most 1,000 of each, sorted.
    """

    boxes: Frame
    outliers: dict[tuple[str, str], Numbers]

    def table(self) -> Frame:
        """The boxes."""
        return self.boxes

    def plot(
        self,
        ax: Axes | None = None,
        *,
        attribute: str | None = None,
        outliers: Literal["shown", "hidden"] = "hidden",
    ) -> Axes:
        """Boxes of one attribute, one for each model; a dashed line is the mean. With outliers it is figure 4.4, without them figure 4.5.

        Args:
            ax: Where to draw.
            attribute: The attribute; by default the first.
            outliers: Whether values beyond the whiskers are drawn.
        """
        known = list(dict.fromkeys(self.boxes["attribute"]))
        chosen = known[0] if attribute is None else attribute
        if chosen not in known:
            raise AnalysisError(f"distribution: no box is of {chosen!r}; boxes are of: {listed(known)}")
        with drawing(ax) as axes:
            rows = self.boxes[self.boxes["attribute"] == chosen]
            boxes: list[dict[str, Any]] = [
                {
                    "med": row.median,
                    "q1": row.q1,
                    "q3": row.q3,
                    "whislo": row.whisker_low,
                    "whishi": row.whisker_high,
                    "mean": row.mean,
                    "fliers": self.outliers[chosen, row.model],
                    "label": row.model,
                }
                for row in rows.itertuples(index=False)
            ]
            axes.bxp(boxes, showmeans=True, meanline=True, showfliers=outliers == "shown", flierprops={"markersize": 2})
            axes.set(ylabel=label(chosen))
            return axes


def distribution(
    frame: Frame,
    *,
    attributes: Sequence[str] | None = None,
    model: str | None = None,
    of: Literal["drives", "records"] = "drives",
) -> Distribution:
    """Quartiles, whiskers and outliers of attributes, by model. Source: 002, section 4.3.3, figures 4.4 and 4.5.

    Args:
        frame: The records.
        attributes: The columns to analyze; by default all numeric ones.
        model: The only model to analyze.
        of: Whether only each drive's last record counts, or all records.

    Raises:
        AnalysisError: The records cannot be read, or no drive has a value.
    """
    if of not in ("records", "drives"):
        raise AnalysisError(f"distribution: of is {of!r}; it is 'drives' or 'records'")
    records = records_of(frame, "distribution", attributes=attributes, model=model, drives_min=1)
    looked = records.frame.iloc[records.last] if of == "drives" else records.frame
    kinds = looked["model"].astype(str).to_numpy()
    rows, outliers = [], {}
    for name in records.attributes:
        for kind in records.models:
            of_model = looked[name].to_numpy(dtype=float)[kinds == kind]
            values = np.sort(of_model[~np.isnan(of_model)])
            if values.size == 0:
                continue
            row, beyond = _box(values)
            rows.append(
                {"attribute": name, "model": kind, "values": values.size, "missing": of_model.size - values.size, **row}
            )
            outliers[name, kind] = beyond
    if not rows:
        raise AnalysisError(f"distribution: no drive has a value of {listed(records.attributes)}")
    return Distribution(library("pandas").DataFrame(rows), outliers)


def _box(values: Numbers) -> tuple[dict[str, float | int], Numbers]:
    """The box of sorted values, and the values beyond its whiskers."""
    q1, median, q3 = np.percentile(values, [25, 50, 75])
    reach = WHISKER * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    beyond = values[(values < q1 - reach) | (values > q3 + reach)]
    row: dict[str, float | int] = {
        "mean": float(values.mean()),
        "minimum": float(values[0]),
        "whisker_low": float(inside[0]),
        "q1": float(q1),
        "median": float(median),
        "q3": float(q3),
        "whisker_high": float(inside[-1]),
        "maximum": float(values[-1]),
        "outliers": int(beyond.size),
    }
    kept = np.unique(np.linspace(0, max(beyond.size - 1, 0), min(beyond.size, OUTLIERS_MAX)).astype(int))
    return row, beyond[kept] if beyond.size else beyond
