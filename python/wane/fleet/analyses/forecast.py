"""Forecasts of drives' failures: extrapolates degradation by linear regression or ARIMA (002, section 7.4.1, figures 7.8 and 7.9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Frame, Numbers, library, one_thread, quietly
from wane.fleet.analyses._names import listed, short
from wane.fleet.analyses._result import HERE, Analysis, drawing
from wane.fleet.analyses.groups import DiskOptions, Study, study_of, takes_disk_options
from wane.fleet.analyses.onset import COPY_HOURS, start_rows, threshold_of
from wane.fleet.analyses.published import FORECAST_ERRORS_H
from wane.fleet.analyses.signature import Signature, Signatures, signatures_in
from wane.plot import COLORS, DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Method = Literal["linear", "arima"]

#: The degradation at which a drive counts as failed; that of the failure record is 0.
FAILED_AT = 0.1

#: Reach of forecasts beyond the monitored time, in multiples of it.
REACH = 10.0

#: Least records for each method.
RECORDS_MIN = {"linear": 3, "arima": 12}

#: Largest orders p and q of ARIMA, and most points of a series.
ORDER_MAX, POINTS_MAX = 3, 400

#: The level of the unit-root test that chooses ARIMA's d.
UNIT_ROOT_LEVEL = 0.05


class Job(NamedTuple):
    """All that one drive's forecast needs: the monitored hours and degradations, and the method."""

    hours: Numbers
    degradation: Numbers
    method: Method
    failed_at: float


class Ahead(NamedTuple):
    """A forecast: hours and degradations from the last monitored record on, and the hour of failure, NaN if none is in reach."""

    hours: Numbers
    degradation: Numbers
    failure: float


@dataclass(frozen=True, eq=False)
class Forecasts(Analysis):
    """Forecast failures of drives to which no signature was fitted.

    Attributes:
        monitored: The monitored share of the time from the start of degradation to the last record, or the monitored hours after the start.
        failed_at: The degradation that counts as failure.
        copy_hours: The time that a copy of the drive takes.
        rows: A row for each drive: serial, name, method, failed, start_hours, seen_hours (the last monitored record), end_hours (the failure, or a
        working drive's last record), forecast_hours (NaN: no failure in reach), error_hours (forecast less failure), lead_hours (from the last
        monitored record to the forecast failure), left_hours (to the end); hours count from the drive's first record.
        summary: A row for each type: name, method, drives (failed, with a forecast or not), never_started (their values never stayed below the
        threshold), too_short (too few monitored records, or failed before the hours had passed), forecast (with a failure in reach),
        error_median, error_max (absolute, hours), error_published (hours, the study's largest), lead_median, usable_percent (lead and time left
        suffice for a copy), working (drives with signs that live on), working_wrong (those of them forecast to fail before their last record).
        series: By serial: the hours and degradations by the signature, and the forecast ones.
    """

    monitored: float
    failed_at: float
    copy_hours: float
    rows: Frame
    summary: Frame
    series: dict[str, tuple[Numbers, Numbers, Ahead]] = field(metadata=HERE, repr=False)

    def table(self) -> Frame:
        """A row for each type."""
        return self.summary

    def plot(self, ax: Axes | None = None, *, serial: str | None = None) -> Axes:
        """Figures 7.8 and 7.9: one drive's degradation by its signature, and the forecast."""
        if not self.series:
            raise AnalysisError("forecasts: no drive has a forecast to draw")
        chosen = next(iter(self.series)) if serial is None else serial
        if chosen not in self.series:
            raise AnalysisError(
                f"forecasts: there is none of serial {chosen!r}; there are: {listed(list(self.series))}"
            )
        hours, degradation, ahead = self.series[chosen]
        with drawing(ax) as axes:
            axes.plot(hours, degradation, color=COLORS[0], linestyle=DASHES[0], label="by the signature")
            # Points far beyond the drive's end would flatten the rest.
            shown = ahead.hours <= max(hours[-1] * 1.2, ahead.failure if np.isfinite(ahead.failure) else 0)
            axes.plot(
                ahead.hours[shown], ahead.degradation[shown], color=COLORS[1], linestyle=DASHES[1], label="forecast"
            )
            axes.axhline(self.failed_at, color=COLORS[2], linestyle=DASHES[2], linewidth=0.8, label="failure")
            axes.set(xlabel=f"hours of drive {chosen}", ylabel="degradation (0 is failure)")
            axes.legend()
            return axes


@takes_disk_options
def forecasts(
    frame: Frame,
    *,
    methods: dict[str, Method] | None = None,
    monitored: float = 0.5,
    monitored_hours: float | None = None,
    failed_at: float = FAILED_AT,
    copy_hours: float = COPY_HOURS,
    degradation: str | None = None,
    test_share: float = 0.3,
    over: Callable[[Callable[[Job], Ahead], Sequence[Job]], Iterable[Ahead]] = map,
    **options: Unpack[DiskOptions],
) -> Forecasts:
    """Forecasts when drives fail, and the time that remains for a copy. Source: 002, section 7.4.1, figures 7.8 and 7.9.

    Signatures and thresholds are fitted to 70 % of the failed drives. The others' degradation is monitored from its start and extrapolated until it
    reaches ``failed_at``. The study monitors the first half of each degradation, for which the time of failure must be known; in service it is not.
    ``monitored_hours`` instead monitors a number of hours after the start, which is possible in service.

    The study does not give ARIMA's orders. Here d is 1 unless the augmented Dickey-Fuller test rejects a unit root at 5 %, and p and q are up to 3 by
    Akaike's criterion. With d = 1 there is a drift, without which a forecast would become constant. Series have even steps, at most 400.

    Args:
        frame: The records.
        methods: The method by type's name; by default ``"arima"`` for RSC, which moves in steps, and ``"linear"`` for others.
        monitored: The monitored share of the time from the start to the last record, between 0 and 1.
        monitored_hours: The monitored hours after the start, instead of a share.
        failed_at: The degradation that counts as failure, above 0.
        copy_hours: The time that a copy of the drive takes.
        degradation: A column with the degradation to which signatures are fitted, if it is known.
        test_share: The share of each type's failed drives to which no signature is fitted, and which are forecast.
        over: A function that applies a function to a list, such as the ``map`` of a pool of processes: drives are independent, so any gives the
        same numbers.
        options: Options of ``DiskOptions``.

    Raises:
        AnalysisError: As for ``signatures``.
    """
    user = "forecasts"
    if not 0 < monitored < 1:
        raise AnalysisError(f"{user}: the share monitored is {monitored:g}; it lies between 0 and 1")
    if monitored_hours is not None and monitored_hours <= 0:
        raise AnalysisError(f"{user}: the hours monitored are {monitored_hours:g}; they are above 0")
    for name, method in (methods or {}).items():
        if method not in RECORDS_MIN:
            raise AnalysisError(f"{user}: the method of {name} is {method!r}; it is 'linear' or 'arima'")
    study = study_of(frame, user, **options)
    found = signatures_in(study, degradation, test_share, user)
    asked = _jobs(study, found, methods or {}, monitored, monitored_hours, failed_at)
    runs = list(over(carried_forward, [job for _, _, job in asked if job is not None]))
    answers = iter(runs)
    ahead = [next(answers) if job is not None else None for _, _, job in asked]
    rows, series = [], {}
    for (row, (hours, values), _), each in zip(asked, ahead, strict=True):
        rows.append(row | _judged(row, each))
        if each is not None:
            series[row["serial"]] = (hours, values, each)
    table = library("pandas").DataFrame(rows)
    seen = monitored if monitored_hours is None else monitored_hours
    return Forecasts(seen, failed_at, copy_hours, table, _summary(table, copy_hours), series)


def _jobs(
    study: Study,
    found: Signatures,
    methods: dict[str, Method],
    monitored: float,
    monitored_hours: float | None,
    failed_at: float,
) -> list[tuple[dict[str, Any], tuple[Numbers, Numbers], Job | None]]:
    """For each drive to forecast its known facts, its series, and its job; no job if degradation never began or too little was monitored."""
    asked: list[tuple[dict[str, Any], tuple[Numbers, Numbers], Job | None]] = []
    for name, signature in found.signatures.items():
        method = methods.get(name, "arima" if short(signature.attribute) == "RSC" else "linear")
        out = np.isin(study.records.serials.astype(str), signature.held_out)
        threshold = _threshold(study, name, signature, out)
        for at in np.flatnonzero(out | study.drives(name, of="degrading")):
            drive = study.records.of(np.arange(out.size) == at)
            health = signature.scale(drive.frame)[:, signature.scale.attributes.index(signature.attribute)]
            begin = int(start_rows(drive, health, threshold)[0])
            values = signature.degradation(drive.frame)
            told = ~np.isnan(values)
            end = float(drive.hours[-1])
            row = {"serial": str(drive.serials[0]), "name": name, "method": method, "failed": bool(drive.failed[0])}
            row |= {"start_hours": float(drive.hours[begin]) if begin >= 0 else float("nan"), "end_hours": end}
            if begin < 0:
                asked.append((row | {"seen_hours": float("nan")}, (drive.hours, values), None))
                continue
            until = _until(float(drive.hours[begin]), end, monitored, monitored_hours)
            seen = told & (np.arange(values.size) >= begin) & (drive.hours <= until)
            row["seen_hours"] = float(drive.hours[seen][-1]) if seen.any() else float("nan")
            enough = seen.sum() >= RECORDS_MIN[method] and until < end
            job = Job(drive.hours[seen], values[seen], method, failed_at) if enough else None
            asked.append((row, (drive.hours[told], values[told]), job))
    return asked


def _until(begin: float, end: float, monitored: float, monitored_hours: float | None) -> float:
    return begin + monitored_hours if monitored_hours is not None else begin + monitored * (end - begin)


def _threshold(study: Study, name: str, signature: Signature, out: Any) -> float:
    """The threshold at which degradation starts, from drives that are not held out, on the signature's scale."""
    at = signature.scale.attributes.index(signature.attribute)
    health = signature.scale(study.records.frame.iloc[study.records.last])[:, at]
    sick = (study.drives(name, of="failed") & ~out) | study.drives(name, of="degrading")
    return threshold_of(health[sick], health[study.healthy], "hyperplane")


def _judged(row: dict[str, Any], ahead: Ahead | None) -> dict[str, Any]:
    failure = ahead.failure if ahead is not None else float("nan")
    return {
        "forecast_hours": failure,
        "error_hours": failure - row["end_hours"] if row["failed"] else float("nan"),
        "lead_hours": failure - row["seen_hours"],
        "left_hours": row["end_hours"] - row["seen_hours"],
        "too_short": ahead is None and np.isfinite(row["start_hours"]),
    }


def _summary(rows: Frame, copy_hours: float) -> Frame:
    found = []
    for name, own in rows.groupby("name", sort=False):
        failed, working = own[own["failed"]], own[~own["failed"]]
        errors = failed["error_hours"].abs().dropna()
        usable = (failed["lead_hours"] >= copy_hours) & (failed["left_hours"] >= copy_hours)
        wrong = working["forecast_hours"] < working["end_hours"]
        found.append(
            {
                "name": name,
                "method": own["method"].iloc[0],
                "drives": len(failed),
                "never_started": int(failed["start_hours"].isna().sum()),
                "too_short": int(failed["too_short"].sum()),
                "forecast": len(errors),
                "error_median": float(errors.median()) if len(errors) else float("nan"),
                "error_max": float(errors.max()) if len(errors) else float("nan"),
                "error_published": FORECAST_ERRORS_H.get(str(name), float("nan")),
                "lead_median": float(failed["lead_hours"].dropna().median()) if len(errors) else float("nan"),
                "usable_percent": 100 * float(usable.mean()) if len(failed) else float("nan"),
                "working": int(working["start_hours"].notna().sum()),
                "working_wrong": int(wrong.sum()),
            }
        )
    return library("pandas").DataFrame(found)


def carried_forward(job: Job) -> Ahead:
    """Extrapolates one drive's degradation until failure, or to the end of the reach."""
    span = float(job.hours[-1] - job.hours[0])
    hours, values = _linear(job, span) if job.method == "linear" else _arima(job, span)
    failed = np.flatnonzero(values <= job.failed_at)
    return Ahead(hours, values, float(hours[failed[0]]) if failed.size else float("nan"))


def _linear(job: Job, span: float) -> tuple[Numbers, Numbers]:
    fitted = library("scipy.stats").linregress(job.hours, job.degradation)
    reach = span * REACH
    if fitted.slope < 0:
        # The exact end of the line, so that the hour of failure is exact.
        reach = min(reach, max((job.failed_at - fitted.intercept) / fitted.slope - job.hours[-1], 0))
    hours: Numbers = job.hours[-1] + np.linspace(0, reach, 100)
    values: Numbers = fitted.intercept + fitted.slope * hours
    if fitted.slope < 0 and reach < span * REACH:
        values[-1] = min(values[-1], job.failed_at)
    return hours, values


def _arima(job: Job, span: float) -> tuple[Numbers, Numbers]:
    step = max(float(np.median(np.diff(job.hours))), span / POINTS_MAX)
    grid = job.hours[-1] - step * np.arange(int(span / step) + 1)[::-1]
    # Between two records the value of the earlier one holds.
    series = job.degradation[np.searchsorted(job.hours, grid + 1e-9, side="right") - 1]
    ahead = job.hours[-1] + step * np.arange(1, int(REACH * grid.size) + 1)
    if np.ptp(series) == 0:
        return ahead, np.full(ahead.size, series[-1])
    statespace, tests = library("statsmodels.tsa.arima.model"), library("statsmodels.tsa.stattools")
    best: Any = None
    with quietly(), one_thread():
        differences = 0 if tests.adfuller(series)[1] < UNIT_ROOT_LEVEL else 1
        for p in range(ORDER_MAX + 1):
            for q in range(ORDER_MAX + 1):
                try:
                    model = statespace.ARIMA(series, order=(p, differences, q), trend="t" if differences else "c")
                    fitted = model.fit()
                except (np.linalg.LinAlgError, ValueError):
                    continue
                if np.isfinite(fitted.aic) and (best is None or fitted.aic < best.aic):
                    best = fitted
        values = best.forecast(ahead.size) if best is not None else np.full(ahead.size, series[-1])
    return ahead, np.asarray(values, dtype=float)
