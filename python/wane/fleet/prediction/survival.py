"""Lives of drives: survival with left truncation, yearly failure rates with their intervals, and causes of death.

Time is a drive's age in days under power. A drive that entered the data old is at risk from that age on (left truncation). A drive that left without
failing is censored. Drive models are ranked only if the intervals of their rates do not overlap. Each rate is also given under the assumption that
models are draws from one distribution (partial pooling), which pulls rates from few failures to the mean.

Sources: Kaplan and Meier (1958) and Nelson and Aalen, in the library lifelines; Garwood (1936) for the Poisson interval; Graf et al. (1999) for the
Brier score under censoring.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane._errors import FleetError
from wane.fleet._plain import counted, library, plain
from wane.fleet.prediction.models import rule_score

Numbers = NDArray[np.float64]

#: Drive-days of a drive model below which it is not ranked.
RANK_DRIVE_DAYS_MIN = 10_000

#: Failures below which no curve is fitted.
CURVE_FAILURES_MIN = 5

YEAR_DAYS = 365.0

#: Attributes with the age, and the factors that convert them to days.
AGES = {"smart_9_raw": 1 / 24, "power_on_hours": 1 / 24}

#: Causes of death, from the last days of a drive.
CAUSES = ("infant", "interface", "wear-out", "no sign")


@dataclass(frozen=True)
class Survival:
    """Lives of a fleet's drives.

    Attributes:
        rates: A row for each drive model: drive-days, failures, failures in a hundred drive-years with the interval, and the pooled rate.
        ranked: Pairs of drive models whose intervals do not overlap, the better first.
        weibull: Shape and scale (days) with intervals, for all drives; ``None`` if too few failed.
        causes: Failures by cause.
        brier: Brier score at ``horizon_days`` of each curve, on drives to which it was not fitted.
        curves: ``age_days``, ``survival`` with its interval, ``cumulative_hazard``, and each cause's cumulative incidence.
        horizon_days: Horizon of the Brier score.
        notes: What was left out.
    """

    rates: list[dict[str, Any]]
    ranked: list[tuple[str, str]]
    weibull: dict[str, float] | None
    causes: dict[str, int]
    brier: dict[str, float]
    curves: dict[str, list[float]]
    horizon_days: float
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The results as plain data for JSON."""
        told: dict[str, Any] = plain(vars(self))
        return told

    def table(self) -> Any:
        """The rates as a ``pandas.DataFrame``."""
        return library("pandas").DataFrame(self.rates)


def survival(frame: Any, horizon_days: float = 30) -> Survival:
    """Estimates the lives of a fleet's drives.

    Args:
        frame: Drive-days from `Fleet.days`, with ``smart_9_raw`` or ``power_on_hours``.
        horizon_days: Days for which the Brier score looks ahead from a drive's first day, above 0.

    Raises:
        FleetError: There are no ages or no drive-days, or these do not say whether a drive failed.
    """
    if not len(frame):
        raise FleetError("drive-days: found none")
    untold = sorted(set(untold_models(frame)) & set(frame["model"]))
    frame = frame[~frame["model"].isin(untold)]
    if not len(frame):
        raise FleetError(
            "survival: no drive-day tells whether the drive failed, as smartctl does not know it; there are no rates"
        )
    notes = went_on(frame)
    rates = yearly_rates(frame)
    ranked = [
        (one["model"], other["model"])
        for one, other in combinations(sorted(rates, key=lambda row: float(row["afr_percent"])), 2)
        if min(one["drive_days"], other["drive_days"]) >= RANK_DRIVE_DAYS_MIN and one["high"] < other["low"]
    ]
    lives, left_out = lives_of(frame)
    notes += left_out
    if untold:
        notes.append(
            f"{counted(len(untold), 'drive model')} left out, of which nobody tells failures: {', '.join(untold[:5])}"
        )
    causes = {cause: int((lives["cause"] == cause).sum()) for cause in CAUSES}
    if lives["failed"].sum() < CURVE_FAILURES_MIN:
        notes.append(f"{counted(int(lives['failed'].sum()), 'failure')}: no curve is fitted below {CURVE_FAILURES_MIN}")
        return Survival(rates, ranked, None, causes, {}, {}, horizon_days, notes)
    try:
        told = curves(lives)
    except library("lifelines").exceptions.StatError:
        told = {}
        notes.append(
            "no curves: at some age all drives that were watched failed, as few were watched from their youth on"
        )
    fitted, scores = weibull(lives), brier_scores(lives, horizon_days)
    return Survival(rates, ranked, fitted, causes, scores, told, horizon_days, notes)


def untold_models(frame: Any) -> list[str]:
    """The models for which no drive-day says whether a drive failed: a rate of 0 for them would be made up."""
    return list(frame.attrs.get("failures_untold", ()))


def until_failure(frame: Any) -> Any:
    """The drive-days up to each drive's first failure, which is its only one: a drive that is flagged again has not died twice."""
    failed_on = frame["date"].where(frame["failure"]).groupby(frame["serial"], sort=False).transform("min")
    kept = frame[~(frame["date"] > failed_on)]
    return frame if len(kept) == len(frame) else kept


def went_on(frame: Any) -> list[str]:
    """A note on drives with drive-days after their first failure."""
    kept = until_failure(frame)
    if len(kept) == len(frame):
        return []
    drives = frame.loc[~frame.index.isin(kept.index), "serial"].nunique()
    return [
        f"{counted(drives, 'drive')} went on after the day of the failure: one failure a drive counts, and "
        f"{counted(len(frame) - len(kept), 'drive-day')} after it left out"
    ]


def yearly_rates(frame: Any) -> list[dict[str, Any]]:
    """Failures in a hundred drive-years (AFR, percent) of each model, with exact Poisson intervals of 95 %, the most drive-days first."""
    chi2 = library("scipy.stats").chi2
    frame = until_failure(frame)
    grouped = frame.groupby("model").agg(
        drives=("serial", "nunique"), drive_days=("serial", "size"), failures=("failure", "sum")
    )
    pooled = _pooled(grouped["failures"].to_numpy(dtype=float), grouped["drive_days"].to_numpy(dtype=float) / YEAR_DAYS)
    rows = []
    for (model, row), (mean, low, high) in zip(grouped.iterrows(), pooled, strict=True):
        failures, years = int(row["failures"]), float(row["drive_days"]) / YEAR_DAYS
        ends = (chi2.ppf(0.025, 2 * failures) / 2 if failures else 0.0, chi2.ppf(0.975, 2 * failures + 2) / 2)
        rows.append(
            {
                "model": str(model),
                "drives": int(row["drives"]),
                "drive_days": int(row["drive_days"]),
                "failures": failures,
                "afr_percent": 100 * failures / years,
                "low": 100 * float(ends[0]) / years,
                "high": 100 * float(ends[1]) / years,
                "pooled_percent": 100 * mean,
                "pooled_low": 100 * low,
                "pooled_high": 100 * high,
            }
        )
    return sorted(rows, key=lambda row: (-row["drive_days"], row["model"]))


def _pooled(failures: Numbers, years: Numbers) -> list[tuple[float, float, float]]:
    """Yearly rates under one gamma distribution of the models' rates, fitted by its marginal likelihood, with intervals of 95 %."""
    special, optimize, stats = library("scipy.special"), library("scipy.optimize"), library("scipy.stats")
    if not failures.sum():
        # The data do not show that models differ, so they are taken as one.
        most = float(stats.chi2.ppf(0.975, 2)) / 2 / float(years.sum())
        return [(0.0, 0.0, most)] * len(failures)
    mean = failures.sum() / years.sum()

    def minus_likelihood(log_shape: float) -> float:
        shape = np.exp(log_shape)
        rate = shape / mean
        terms = special.gammaln(shape + failures) - special.gammaln(shape)
        terms += shape * np.log(rate / (rate + years)) + failures * np.log(years / (rate + years))
        return -float(terms.sum())

    shape = float(np.exp(optimize.minimize_scalar(minus_likelihood, bounds=(-4, 8), method="bounded").x))
    after, rate = shape + failures, shape / mean + years
    low, high = stats.gamma.ppf(0.025, after) / rate, stats.gamma.ppf(0.975, after) / rate
    return [(float(mean), float(least), float(most)) for mean, least, most in zip(after / rate, low, high, strict=True)]


def lives_of(frame: Any) -> tuple[Any, list[str]]:
    """A row for each drive: ``serial``, ``model``, ``entry`` and ``exit`` (age in days), ``failed``, ``cause``; and notes on what was left out.

    Raises:
        FleetError: There are no ages.
    """
    age = next((name for name in AGES if name in frame.columns), None)
    if age is None:
        raise FleetError(f"survival: no age is told; needed is one of {', '.join(AGES)}")
    frame = until_failure(frame)
    days = frame.assign(age=frame[age] * AGES[age], signs=rule_score(frame))
    by_drive = days.groupby("serial", sort=False)
    lives = by_drive.agg(
        model=("model", "first"),
        entry=("age", "first"),
        exit=("age", "last"),
        failed=("failure", "any"),
        signs=("signs", "max"),
    ).reset_index()
    links = next((name for name in ("smart_199_raw", "link_errors") if name in frame.columns), None)
    grown = (
        by_drive[links].agg(lambda values: values.max() - values.min() > 0).to_numpy()
        if links
        else np.zeros(len(lives), bool)
    )
    # The last day is watched to its end.
    lives["exit"] += 1.0
    whole = (
        lives["entry"].notna() & lives["exit"].notna() & (by_drive["age"].last() >= by_drive["age"].first()).to_numpy()
    )
    notes = []
    if not whole.all():
        notes.append(f"{counted(int((~whole).sum()), 'drive')} left out: the age is not told, or goes back")
    lives["cause"] = np.select(
        [~lives["failed"], lives["exit"] < YEAR_DAYS, grown & (lives["signs"] == 0), lives["signs"] > 0],
        ["", "infant", "interface", "wear-out"],
        "no sign",
    )
    return lives[whole].drop(columns="signs").reset_index(drop=True), notes


def weibull(lives: Any) -> dict[str, float] | None:
    """Shape and scale in days, with intervals of 95 %; a shape above 1 means that drives wear out. ``None`` if no fit holds.

    A drive that failed did so in the day after its last record, half a day after it in the mean; of the others nothing is known after theirs.
    """
    lifelines = library("lifelines")
    kinds = lifelines.exceptions
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", category=kinds.StatisticalWarning)
            warnings.simplefilter("error", category=kinds.ApproximationWarning)
            # A whole day for all, as in the curves, makes the scale up to 3.5 % greater where a log is 40 days long.
            exits = lives["exit"] - np.where(lives["failed"], 0.5, 1.0)
            watched = exits > lives["entry"]
            fitted = lifelines.WeibullFitter().fit(
                exits[watched], lives["failed"][watched], entry=lives["entry"][watched]
            )
    except (kinds.StatError, kinds.ConvergenceError, kinds.StatisticalWarning, kinds.ApproximationWarning):
        return None
    told = fitted.summary
    return {
        "shape": float(fitted.rho_),
        "shape_low": float(told.loc["rho_", "coef lower 95%"]),
        "shape_high": float(told.loc["rho_", "coef upper 95%"]),
        "scale_days": float(fitted.lambda_),
        "scale_low": float(told.loc["lambda_", "coef lower 95%"]),
        "scale_high": float(told.loc["lambda_", "coef upper 95%"]),
    }


def curves(lives: Any) -> dict[str, list[float]]:
    """Survival by Kaplan and Meier with its interval, cumulative hazard by Nelson and Aalen, and each cause's incidence, at the ages of failures."""
    lifelines = library("lifelines")
    meier = lifelines.KaplanMeierFitter().fit(lives["exit"], lives["failed"], entry=lives["entry"])
    aalen = lifelines.NelsonAalenFitter(nelson_aalen_smoothing=False).fit(
        lives["exit"], lives["failed"], entry=lives["entry"]
    )
    ages = np.unique(lives.loc[lives["failed"], "exit"].to_numpy(dtype=float))
    ends = meier.confidence_interval_survival_function_.reindex(ages, method="ffill")
    told = {
        "age_days": ages.tolist(),
        "survival": meier.survival_function_at_times(ages).to_numpy().tolist(),
        "survival_low": ends.iloc[:, 0].tolist(),
        "survival_high": ends.iloc[:, 1].tolist(),
        "cumulative_hazard": aalen.cumulative_hazard_at_times(ages).to_numpy().tolist(),
    }
    return told | {f"incidence {cause}": values for cause, values in _incidence(lives, ages).items()}


def _incidence(lives: Any, ages: Numbers) -> dict[str, list[float]]:
    """Cumulative incidence of competing causes (Aalen and Johansen): they add up to 1 less the survival."""
    entry, exit_ = lives["entry"].to_numpy(dtype=float), lives["exit"].to_numpy(dtype=float)
    at_risk = np.array([np.sum((entry < age) & (exit_ >= age)) for age in ages], dtype=float)
    failed = lives[lives["failed"]]
    deaths = {
        cause: np.array([np.sum((failed["cause"] == cause) & (failed["exit"] == age)) for age in ages])
        for cause in CAUSES
    }
    alive = np.cumprod(1 - sum(deaths.values()) / at_risk)
    before = np.concatenate([[1.0], alive[:-1]])
    return {cause: np.cumsum(before * number / at_risk).tolist() for cause, number in deaths.items()}


def brier_scores(lives: Any, horizon_days: float) -> dict[str, float]:
    """Brier scores of the chance to live ``horizon_days`` longer, weighted by the inverse of the chance to be still watched.

    Curves are fitted to half of the drives and judged by the other half: ``weibull``, ``exponential`` (age does not matter), and ``always`` (no drive
    fails).
    """
    lifelines = library("lifelines")
    first = np.array([hashlib.sha256(f"survival {name}".encode()).digest()[0] < 128 for name in lives["serial"]])
    fit, judged = lives[first], lives[~first]
    if fit["failed"].sum() < CURVE_FAILURES_MIN or not len(judged):
        return {}
    watched = (judged["exit"] - judged["entry"]).to_numpy(dtype=float)
    failed = judged["failed"].to_numpy(dtype=bool)
    left = lifelines.KaplanMeierFitter().fit(watched, ~failed)
    # Just before the day, since a drive that fails on it was watched until then.
    until = np.minimum(watched, horizon_days)
    chance = np.maximum(left.survival_function_at_times(until - 1e-9).to_numpy(dtype=float), 1e-6)
    weight = np.where((watched > horizon_days) | failed, 1 / chance, 0.0)
    serves = (watched > horizon_days).astype(float)
    start = judged["entry"].to_numpy(dtype=float)
    told = {"always": np.ones(len(judged))}
    rate = fit["failed"].sum() / (fit["exit"] - fit["entry"]).sum()
    told["exponential"] = np.full(len(judged), np.exp(-rate * horizon_days))
    if (curve := weibull(fit)) is not None:
        hazard = [((start + days) / curve["scale_days"]) ** curve["shape"] for days in (0.0, horizon_days)]
        told["weibull"] = np.exp(hazard[0] - hazard[1])
    return {name: float(np.sum(weight * (serves - value) ** 2) / len(judged)) for name, value in told.items()}
