"""Scores of alarms: failures found, false alarms, the time that alarms leave, and intervals of all of these.

Alarms are given by a budget: each day to the drives with the highest scores, ties by lot. A failed drive is found if it has an alarm within the
horizon before its failure; a healthy drive is a false alarm if it ever has one. Lead time is counted from the first alarm that stays on until the
end. Intervals are the 2.5 and 97.5 percentiles over draws of whole drives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wane._errors import FleetError
from wane.fleet._plain import library

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]

#: Edges of the reliability table, which are small because failures are rare.
RELIABILITY = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)

#: Bootstrap draws that one worker of a cluster makes at a time.
DRAWS_OF_A_JOB = 50


@dataclass(frozen=True)
class Costs:
    """Costs of an alarm and of a missed failure, in one currency.

    Attributes:
        drive: Cost of a drive.
        rebuild: Cost of copying a drive's data, planned or not.
        lost_data: Mean loss if a drive fails without an alarm.
    """

    drive: float
    rebuild: float
    lost_data: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (np.isfinite(value) and value >= 0):
                raise FleetError(f"costs: {name} is {value}, allowed is 0 or more")

    def of(self, alarmed_healthy: float, found: float, missed: float) -> float:
        """The total cost: an alarmed drive is replaced and its data copied; one that fails without an alarm also loses data."""
        replaced = self.drive + self.rebuild
        return (alarmed_healthy + found + missed) * replaced + missed * self.lost_data


class Trial:
    """Rows of a test, prepared once for all scores.

    Attributes:
        serials: The drives.
        drives: Number of drives.
        failed: Flags of the drives that failed after a day that was scored.
        healthy: Flags of the drives that did not fail at all.
    """

    def __init__(self, rows: Any, horizon_days: int, seed: int) -> None:
        pandas = library("pandas")
        self.code, self.serials = pandas.factorize(rows["serial"])
        self.day = pandas.factorize(rows["date"], sort=True)[0]
        self.drives = len(self.serials)
        fails_in = rows["fails_in"].to_numpy(dtype=np.float64)
        self.label = rows["label"].to_numpy(dtype=np.float64)
        self.soon = fails_in <= horizon_days
        self.fails_in = fails_in
        self.failed = np.zeros(self.drives, dtype=bool)
        self.failed[self.code[~np.isnan(fails_in)]] = True
        self.healthy = ~self.failed
        self.lot = _stream(seed, "ties").permutation(self.drives)[self.code]
        self.daily_lot = _stream(seed, "chance").random(len(rows))

    def by_budget(self, score: Numbers, budget: float) -> Flags:
        """The alarms of each day: those of the day's drives with the highest scores, a share of them, at least one."""
        order = np.lexsort((self.lot, -score, self.day))
        starts = np.flatnonzero(np.diff(self.day[order], prepend=-1))
        rank = np.arange(len(score)) - np.repeat(starts, np.diff(starts, append=len(score)))
        most = np.maximum(1, np.rint(np.bincount(self.day) * budget))[self.day[order]]
        alarms = np.zeros(len(score), dtype=bool)
        alarms[order] = rank < most
        return alarms

    def outcome(self, alarms: Flags) -> Outcome:
        """Outcome of alarms, drive by drive."""
        ever = np.bincount(self.code[alarms], minlength=self.drives) > 0
        found = np.bincount(self.code[alarms & self.soon], minlength=self.drives) > 0
        known = ~np.isnan(self.label)
        return Outcome(
            self,
            ever,
            found & self.failed,
            np.bincount(self.code[alarms & known], minlength=self.drives).astype(float),
            np.bincount(self.code[alarms & (self.label == 1)], minlength=self.drives).astype(float),
            self._leads(alarms),
        )

    def _leads(self, alarms: Flags) -> Numbers:
        """Days from the first alarm that stays on to the failure; NaN if none does."""
        leads = np.full(self.drives, np.nan)
        for drive in np.flatnonzero(self.failed):
            rows = np.flatnonzero(self.code == drive)
            for row in rows[::-1]:
                if not alarms[row]:
                    break
                leads[drive] = self.fails_in[row]
        return leads


@dataclass(frozen=True)
class Outcome:
    """Outcome of alarms, by drive: flags and counts of shape (drives,)."""

    trial: Trial
    ever: Flags
    found: Flags
    alarm_days: Numbers
    right_days: Numbers
    leads: Numbers

    def counts(self) -> dict[str, int]:
        """The counts without weights."""
        trial = self.trial
        return {
            "failed": int(trial.failed.sum()),
            "failed_found": int(self.found.sum()),
            "failed_with_lead": int((self.found & ~np.isnan(self.leads)).sum()),
            "healthy": int(trial.healthy.sum()),
            "healthy_alarmed": int((self.ever & trial.healthy).sum()),
            "alarm_days": int(self.alarm_days.sum()),
            "alarm_days_right": int(self.right_days.sum()),
        }

    def rates(self, weight: Numbers) -> dict[str, float]:
        """The rates if drive i counts ``weight[i]`` times."""
        trial = self.trial
        led = self.found & ~np.isnan(self.leads)
        leads = np.repeat(self.leads[led], weight[led].astype(int))
        return {
            "detection_rate": _share(weight, self.found, trial.failed),
            "false_alarm_rate": _share(weight, self.ever & trial.healthy, trial.healthy),
            "precision": _ratio(float(np.sum(weight * self.right_days)), float(np.sum(weight * self.alarm_days))),
            "lead_days_median": float(np.median(leads)) if len(leads) else float("nan"),
        }


class Ranked:
    """The sorted scores of rows with a known label, for PR-AUC and the Brier score under any weights."""

    def __init__(self, trial: Trial, score: Numbers) -> None:
        known = np.flatnonzero(~np.isnan(trial.label))
        order = known[np.argsort(-score[known], kind="stable")]
        self.code, self.label, self.score = trial.code[order], trial.label[order], score[order]
        # Rows with the same score are taken together.
        self.ends = (
            np.flatnonzero(np.append(np.diff(self.score) != 0, True)) if len(order) else np.zeros(0, dtype=np.int64)
        )

    def pr_auc(self, weight: Numbers) -> float:
        """Average precision: the area under precision over recall, by steps."""
        of_row = weight[self.code]
        right = np.cumsum(of_row * self.label)[self.ends]
        total = np.cumsum(of_row)[self.ends]
        if not len(right) or right[-1] == 0:
            return float("nan")
        precision = np.divide(right, total, out=np.zeros_like(right), where=total > 0)
        return float(np.sum(np.diff(right, prepend=0) * precision) / right[-1])

    def brier(self, weight: Numbers) -> float:
        """Mean squared difference between the predicted chance and the outcome."""
        of_row = weight[self.code]
        return _ratio(float(np.sum(of_row * (self.score - self.label) ** 2)), float(of_row.sum()))

    def expected(self, weight: Numbers) -> float:
        """Ratio of expected to actual drive-days before failures: 1 is calibrated."""
        of_row = weight[self.code]
        return _ratio(float(np.sum(of_row * self.score)), float(np.sum(of_row * self.label)))

    def reliability(self) -> list[dict[str, float]]:
        """Predicted and actual shares, by ranges of the predicted chance."""
        rows = []
        for low, high in pairwise(RELIABILITY):
            inside = (self.score >= low) & ((self.score < high) | (high == 1.0))
            count = int(inside.sum())
            if count:
                told, came = float(self.score[inside].mean()), float(self.label[inside].mean())
                rows.append({"from": low, "to": high, "drive_days": count, "told": told, "came": came})
        return rows


class Draws(NamedTuple):
    """Some bootstrap draws of drives, from ``first`` to ``end``, which is excluded; draw 0 is the drives themselves."""

    trial: Trial
    outcomes: dict[str, Outcome]
    ranked: Ranked
    is_probability: bool
    seed: int
    first: int
    end: int


#: Name of a measure of the bootstrap: the budget's name, empty for all thresholds; and the rate's name.
Measures = dict[tuple[str, str], list[float]]


def drawn(draws: Draws) -> Measures:
    """The rates of each draw. It needs nothing else, so that another process may do it, and the numbers do not depend on how draws are divided."""
    trial, ranked = draws.trial, draws.ranked
    whole = {"pr_auc": ranked.pr_auc}
    if draws.is_probability:
        whole |= {"brier": ranked.brier, "expected_for_each": ranked.expected}
    random = _stream(draws.seed, "bootstrap")
    # All draws use one stream, so the numbers of earlier draws are skipped.
    for _ in range(1, draws.first):
        random.integers(0, trial.drives, trial.drives)
    found: Measures = {}
    for number in range(draws.first, draws.end):
        weight = np.ones(trial.drives)
        if number:
            weight = np.bincount(random.integers(0, trial.drives, trial.drives), minlength=trial.drives).astype(float)
        for name, outcome in draws.outcomes.items():
            for rate, value in outcome.rates(weight).items():
                found.setdefault((name, rate), []).append(value)
        for rate, measure in whole.items():
            found.setdefault(("", rate), []).append(measure(weight))
    return found


#: Function that applies a function to jobs, in their order: ``map``, or that of a cluster.
Over = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


def evaluate(
    trial: Trial,
    score: Numbers,
    protocol: Any,
    is_probability: bool,
    alarms: Flags | None = None,
    over: Over = map,
) -> dict[str, Any]:
    """Evaluates a score: by budget, or by given alarms, and over all thresholds.

    Returns:
        Counts as numbers; each rate as ``{"value", "low", "high"}``.
    """
    given = (
        {f"{budget:g}": trial.by_budget(score, budget) for budget in protocol.budgets}
        if alarms is None
        else {"own": alarms}
    )
    outcomes = {name: trial.outcome(each) for name, each in given.items()}
    ranked = Ranked(trial, score)
    ends = [*range(0, protocol.draws + 1, DRAWS_OF_A_JOB), protocol.draws + 1]
    jobs = (Draws(trial, outcomes, ranked, is_probability, protocol.seed, *part) for part in pairwise(ends))
    draws: Measures = {}
    for part in over(drawn, jobs):
        for of, values in part.items():
            draws.setdefault(of, []).extend(values)
    told: dict[str, Any] = {rate: interval(values) for (of, rate), values in draws.items() if not of}
    told["budgets" if alarms is None else "alarms"] = {
        name: outcome.counts() | {rate: interval(values) for (of, rate), values in draws.items() if of == name}
        for name, outcome in outcomes.items()
    }
    if is_probability:
        told["reliability"] = ranked.reliability()
    return told


def interval(values: list[float]) -> dict[str, float]:
    """The first value with the middle 95 % of the others."""
    others = np.asarray(values[1:])
    others = others[~np.isnan(others)]
    low, high = np.percentile(others, [2.5, 97.5]) if len(others) else (np.nan, np.nan)
    return {"value": values[0], "low": float(low), "high": float(high)}


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether two intervals overlap; unknown ones count as overlapping."""
    ends = (one["low"], one["high"], other["low"], other["high"])
    return any(np.isnan(end) for end in ends) or (one["low"] <= other["high"] and other["low"] <= one["high"])


def cheapest(trial: Trial, score: Numbers, costs: Costs) -> float:
    """The threshold of least cost on these rows; infinite if no alarms are cheaper."""
    most = np.full(trial.drives, -np.inf)
    relevant = trial.healthy[trial.code] | trial.soon
    np.maximum.at(most, trial.code[relevant], score[relevant])
    best, least = np.inf, costs.of(0, 0, float(trial.failed.sum()))
    # Only thresholds at which a failed drive is found are candidates: between two of them fewer alarms are cheaper.
    for threshold in sorted(set(most[trial.failed & np.isfinite(most)].tolist()), reverse=True):
        over = most >= threshold
        found = int((over & trial.failed).sum())
        cost = costs.of(int((over & trial.healthy).sum()), found, int(trial.failed.sum()) - found)
        if cost < least:
            best, least = threshold, cost
    return float(best)


def _stream(seed: int, name: str) -> np.random.Generator:
    """Makes a stream of random numbers by its name."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))


def _share(weight: Numbers, part: Flags, whole: Flags) -> float:
    return _ratio(float(weight[part].sum()), float(weight[whole].sum()))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
