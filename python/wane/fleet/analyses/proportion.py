"""Proportion of two counters: write amplification, and sectors for each flash page (002, section 4.3.2, figure 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Frame, Numbers, library, quietly
from wane.fleet.analyses._names import column_of, label, listed
from wane.fleet.analyses._records import Records, records_of
from wane.fleet.analyses._result import HERE, Analysis, drawing
from wane.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most records that are drawn in the picture.
DRAWN_MAX = 5_000


@dataclass(frozen=True, eq=False)
class Proportion(Analysis):
    """One counter against another, over all records of a fleet.

    The slope is the study's figure. It compares drives of different ages; ``growth`` is what drives did while they were watched. The two differ if
    the past was unlike the present.

    Attributes:
        name: Name of the proportion, such as "write amplification".
        over: The counters on the vertical axis, which are summed.
        under: The counter on the horizontal axis.
        models: The drives' models.
        drives: Number of drives that have both.
        records: Number of records that have both.
        slope: Growth of the one for each of the other, by least squares over all records.
        slope_interval: Its 95 % interval, which allows for a drive's records repeating each other.
        intercept: Value of the line at 0, in the vertical axis's unit.
        r2: The share of the variance that the line explains.
        total: The sum of the one over the sum of the other, in the drives' last records.
        growth: The same for the growth while the drives were watched; NaN if nothing grew.
        growth_quartiles: The quartiles of the drives' own growths; NaN if nothing grew.
        drives_reset: Number of drives with a counter that goes back; they are not in ``growth``.
    """

    name: str
    over: tuple[str, ...]
    under: str
    models: tuple[str, ...]
    drives: int
    records: int
    slope: float
    slope_interval: tuple[float, float]
    intercept: float
    r2: float
    total: float
    growth: float
    growth_quartiles: tuple[float, float, float]
    drives_reset: int
    points: Numbers = field(metadata=HERE, repr=False)

    def table(self) -> Frame:
        """A row for each figure: quantity, value."""
        rows = {
            "slope": self.slope,
            "slope, 95 % from": self.slope_interval[0],
            "slope, 95 % to": self.slope_interval[1],
            "intercept": self.intercept,
            "R²": self.r2,
            "total": self.total,
            "growth": self.growth,
            "growth, first quartile": self.growth_quartiles[0],
            "growth, median": self.growth_quartiles[1],
            "growth, third quartile": self.growth_quartiles[2],
        }
        return library("pandas").DataFrame({"quantity": rows.keys(), "value": rows.values()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Figure 4.3: records, evenly picked, and the line through all of them."""
        with drawing(ax) as axes:
            under, over = self.points
            axes.plot(under, over, ".", markersize=2, color=COLORS[4], rasterized=True, label="records")
            ends = np.array([0, under.max()])
            axes.plot(ends, self.intercept + self.slope * ends, color=COLORS[1], label=f"slope {self.slope:.3g}")
            axes.set(xlabel=label(self.under), ylabel=" + ".join(label(name) for name in self.over))
            axes.legend()
            return axes


def write_amplification(
    frame: Frame,
    *,
    flash: str | Sequence[str] | None = None,
    host: str | None = None,
    model: str | None = None,
) -> Proportion:
    """Write amplification by regression of flash writes on host writes. Source: 002, section 4.3.2, figure 4.3 (a).

    Args:
        frame: The records.
        flash: Flash writes, in ``host``'s unit; several columns are summed. By default attribute 233 (GB), or 247 and 248 (pages).
        host: Host writes. By default attribute 241 (GB), or 247 (pages).
        model: The only model to analyze, because the unit of an attribute differs between vendors.

    Raises:
        AnalysisError: A counter is missing or constant, or fewer than 2 drives have both.
    """
    user = "write_amplification"
    if (flash is None) != (host is None):
        raise AnalysisError(f"{user}: flash and host are given together, in one unit")
    if flash is None or host is None:
        # A fleet of several models has columns that this model does not report.
        chosen = frame if model is None or "model" not in frame else frame[frame["model"] == model]
        told = chosen.notna().any() if len(chosen) else None
        names = [str(name) for name in getattr(frame, "columns", ()) if told is None or told[name]]
        if not any(name in names for name in ("smart_233_raw", "smart_233")) and any(
            name in names for name in ("smart_248_raw", "smart_248")
        ):
            host = column_of(names, 247, user)
            flash = (host, column_of(names, 248, user))
        else:
            flash, host = column_of(names, 233, user), column_of(names, 241, user)
    return _proportion(frame, "write amplification", flash, host, model, user)


def sectors_per_page(
    frame: Frame, *, sectors: str | None = None, pages: str | None = None, model: str | None = None
) -> Proportion:
    """Host sectors for each flash page written for the host; 32 of 512 bytes fill a page of 16 KiB. Source: 002, section 4.3.2, figure 4.3 (b).

    Args:
        frame: The records.
        sectors: Sectors that the host wrote; by default attribute 246.
        pages: Flash pages written for the host; by default attribute 247.
        model: The only model to analyze.

    Raises:
        AnalysisError: A counter is missing or constant, or fewer than 2 drives have both.
    """
    names = [str(name) for name in getattr(frame, "columns", ())]
    over = sectors if sectors is not None else column_of(names, 246, "sectors_per_page")
    under = pages if pages is not None else column_of(names, 247, "sectors_per_page")
    return _proportion(frame, "sectors per page", over, under, model, "sectors_per_page")


def _proportion(
    frame: Frame, name: str, over: str | Sequence[str], under: str, model: str | None, user: str
) -> Proportion:
    overs = (over,) if isinstance(over, str) else tuple(over)
    records = records_of(frame, user, attributes=list(dict.fromkeys((*overs, under))), model=model)
    y, x = records.values(overs).sum(axis=1), records.values((under,))[:, 0]
    told = ~np.isnan(x) & ~np.isnan(y)
    drive = records.drive[told]
    x, y = x[told], y[told]
    if np.unique(drive).size < 2:
        raise AnalysisError(
            f"{user}: {np.unique(drive).size} drives have both {listed(overs)} and {under}; it needs 2 or more"
        )
    if np.ptp(x) == 0:
        raise AnalysisError(
            f"{user}: {under} is {x[0]:g} in all {x.size} records, and nothing can be said for each of it"
        )
    models = library("statsmodels.api")
    with quietly():
        fitted = models.OLS(y, models.add_constant(x)).fit(cov_type="cluster", cov_kwds={"groups": drive})
        low, high = fitted.conf_int(0.05)[1]
    growths, resets, growth = _growths(records, drive, x, y)
    ends = np.r_[np.flatnonzero(np.diff(drive)), drive.size - 1]
    total = float(y[ends].sum() / x[ends].sum()) if x[ends].sum() > 0 else float("nan")
    quartiles = np.percentile(growths, [25, 50, 75]) if growths.size else np.full(3, np.nan)
    picked = np.unique(np.linspace(0, x.size - 1, min(x.size, DRAWN_MAX)).astype(int))
    return Proportion(
        name=name,
        over=overs,
        under=under,
        models=records.models,
        drives=int(np.unique(drive).size),
        records=int(x.size),
        slope=float(fitted.params[1]),
        slope_interval=(float(low), float(high)),
        intercept=float(fitted.params[0]),
        r2=float(fitted.rsquared),
        total=total,
        growth=growth,
        growth_quartiles=(float(quartiles[0]), float(quartiles[1]), float(quartiles[2])),
        drives_reset=resets,
        points=np.stack([x[picked], y[picked]]),
    )


def _growths(records: Records, drive: Numbers, x: Numbers, y: Numbers) -> tuple[Numbers, int, float]:
    """Each drive's growth of the one over that of the other, the number of drives with counters that go back, and the joint growth of the rest."""
    same = np.diff(drive) == 0
    back = same & ((np.diff(x) < 0) | (np.diff(y) < 0))
    reset = np.zeros(records.first.size, dtype=bool)
    reset[drive[1:][back]] = True
    begins = np.r_[True, ~same]
    ends = np.r_[~same, True]
    kept = ~reset[drive[begins]]
    grown_x, grown_y = (x[ends] - x[begins])[kept], (y[ends] - y[begins])[kept]
    some = grown_x > 0
    growth = float(grown_y.sum() / grown_x.sum()) if some.any() else float("nan")
    return grown_y[some] / grown_x[some], int(reset.sum()), growth
