"""Prediction of failures, tested as in production: see `protocol` for the method, `audit` for what is refused, `survival` for lives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wane._cluster import over as over_cluster
from wane._errors import FleetError
from wane.fleet._plain import excerpt, library, plain, quoted, shown
from wane.fleet.prediction import audit, causes
from wane.fleet.prediction.features import attributes_of, features, told_enough
from wane.fleet.prediction.models import LEARNING, MODELS, RULE, Fit, fit_and_score, rule_score
from wane.fleet.prediction.pace import Pace
from wane.fleet.prediction.protocol import DRIVE_DAYS_MIN, Labeled, Protocol, label, splits
from wane.fleet.prediction.scores import Costs, Over, Trial, cheapest, evaluate, overlap
from wane.fleet.store import Fleet

__all__ = ["Costs", "Prediction", "Protocol", "predict", "rule_by_drive"]

#: Days of data below which a note says that results hold only for their time.
QUARTER_DAYS = 92

#: Trials without a model that learns: chance, the rule by its budgets, and the rule by its own alarms.
UNLEARNED = ("chance", "rule", "rule, any sector")


@dataclass
class Prediction:
    """Results of the models on a fleet.

    Attributes:
        drive_days: Number of drive-days that were given.
        drives: Number of distinct drives.
        failures: Number of drives that failed.
        protocol: The protocol of the test.
        attributes: The attributes of the features.
        rule: What the rule "any reallocated or pending sector" finds, by drive: on the last day without the flag, and by any earlier day.
        splits: By ``drive`` and ``batch``: the counts of the test, and each model's rates; empty if there are too few data. For simulated drives
        also ``causes``: what alarmed drives died of (see `causes.by_cause`), at the largest budget.
        too_few: Whether there are too few data for a result.
        notes: What was left out, and what the numbers cannot show.
    """

    drive_days: int
    drives: int
    failures: int
    protocol: Protocol
    attributes: list[str]
    rule: dict[str, dict[str, int]]
    splits: dict[str, Any] = field(default_factory=dict)
    too_few: bool = False
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The results as plain data for JSON; counts are numbers, and unknown values are ``None``."""
        told: dict[str, Any] = plain(vars(self) | {"protocol": vars(self.protocol)})
        return told

    def table(self) -> Any:
        """A row for each split, model and budget, as a ``pandas.DataFrame``; rates have the ends of their intervals."""
        rows = []
        for split, told in self.splits.items():
            for model, measured in told["models"].items():
                for budget, at in {**measured.get("budgets", {}), **measured.get("alarms", {})}.items():
                    row = {"split": split, "model": model, "budget": budget}
                    for name, value in {**at, "pr_auc": measured["pr_auc"]}.items():
                        if isinstance(value, dict):
                            row |= {name: value["value"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
                        else:
                            row[name] = value
                    rows.append(row)
        return library("pandas").DataFrame(rows)

    def __str__(self) -> str:
        return in_words(self)


def rule_by_drive(frame: Any) -> dict[str, dict[str, int]]:
    """Applies the rule "any reallocated or pending sector" drive by drive, without the days of failures.

    Args:
        frame: Drive-days sorted by serial and date.

    Returns:
        ``last_day`` and ``any_day``, each with ``failed``, ``failed_flagged``, ``healthy``, ``healthy_flagged``.
    """
    failed = frame.groupby("serial", sort=False)["failure"].any()
    days = frame[~frame["failure"]]
    flagged = library("pandas").Series(rule_score(days) > 0, index=days["serial"].to_numpy())
    by_drive = flagged.groupby(level=0, sort=False)
    told = {}
    for name, flags in (("last_day", by_drive.last()), ("any_day", by_drive.any())):
        flags = flags.reindex(failed.index, fill_value=False)  # noqa: PLW2901
        told[name] = {
            "failed": int(failed.sum()),
            "failed_flagged": int((failed & flags).sum()),
            "healthy": int((~failed).sum()),
            "healthy_flagged": int((~failed & flags).sum()),
        }
    return told


def predict(
    fleet: Fleet | Any,
    protocol: Protocol | None = None,
    *,
    models: Sequence[str] | None = None,
    attributes: Sequence[str] | None = None,
    costs: Costs | None = None,
    make: Callable[[Any], Any] | None = None,
    learning: Sequence[str] = LEARNING,
    client: Any = None,
    truth: Any = None,
    tell: Callable[[str], object] | None = None,
) -> Prediction:
    """Tests models on a fleet as they would be used: trained before a day, tested after it, on drives that they never saw.

    Args:
        fleet: A fleet, or a data frame of drive-days from `Fleet.days`.
        protocol: The protocol; by default seven days ahead, from the middle of the fleet's days on.
        models: Models of the drives; by default all.
        attributes: Attributes for the features; by default those of the fleet that mean the same for every vendor.
        costs: With costs, an alarm threshold is chosen on the days before the test, and its cost is counted in the test.
        make: Function that makes other features from drive-days: a data frame of the same index. They are first tested for leaks.
        learning: The models that learn: ``logistic``, ``boosting`` or both; ``chance`` and ``rule`` are always included.
        client: A ``dask.distributed.Client`` whose cluster fits the models of all splits and makes the bootstrap draws; the numbers are the same.
        truth: What became of drives, if it is known, in the form of a simulated fleet's view ``truth``; by default that of a `Fleet`.
        tell: Function that is called with a line: at once with an estimate of the time, and after each part of the work with what is left.

    Returns:
        The results of each model.

    Raises:
        FleetError: The fleet has no failures or lacks the attributes, the days do not fit, or features leak.
        WaneError: The client is no Dask client.
    """
    protocol, over = protocol or Protocol(), over_cluster(client)
    for name in learning:
        if name not in LEARNING:
            raise FleetError(f"models: found {excerpt(name)}, allowed are {' and '.join(LEARNING)}")
    pace = _pace(tell, fleet, models, learning, protocol)
    frame = _drive_days(fleet, models, attributes)
    chosen = attributes_of(list(frame.columns), frame["model"].unique().tolist(), attributes)
    chosen, notes = told_enough(frame, chosen)
    if not chosen and make is None:
        raise FleetError("attributes: the fleet tells none that features can be made of")
    labeled = label(frame, protocol)
    notes += labeled.notes
    if (days := (frame["date"].max() - frame["date"].min()).days + 1) < QUARTER_DAYS:
        notes.append(f"{days} days, less than a quarter: what holds in another season or for other models is not known")
    told = Prediction(
        len(frame),
        frame["serial"].nunique(),
        labeled.failures,
        protocol,
        chosen,
        rule_by_drive(frame),
        notes=notes,
    )
    if len(frame) < DRIVE_DAYS_MIN:
        told.too_few = True
        return told
    made = _made(frame, labeled, make or partial(features, attributes=chosen))
    ways = _ways(labeled, notes)
    if truth is None and isinstance(fleet, Fleet):
        truth = causes.truth_of(fleet)
    tries = [Try(by, learning, _parted(labeled, by, protocol)) for by in ways]
    pace.done("read", "drive-days are read and checked")
    fitted = iter(over(fit_and_score, (job for each in tries for job in _jobs(labeled, made, each, protocol))))
    for each in tries:
        told.splits[each.by] = _tried(labeled, each, fitted, protocol, costs, truth, over, pace)
    return told


def _made(frame: Any, labeled: Labeled, make: Callable[[Any], Any]) -> NDArray[np.float64]:
    """The features of the labeled rows, after a test for leaks."""
    audit.features_see_no_more_than_they_may(frame[["serial", "model", "date", "failure", *_values(frame)]], make)
    # Made from all days, including that of the failure: the audit has shown that features of other days do not see it.
    found: NDArray[np.float64] = make(frame).loc[labeled.rows.index].to_numpy(dtype=np.float64)
    return found


def _ways(labeled: Labeled, notes: list[str]) -> list[str]:
    """By what drives are split."""
    if labeled.rows["batch"].nunique() < 2:
        notes.append("the drives are of one batch (model and first month), so that no split by batch can be made")
        return ["drive"]
    return ["drive", "batch"]


def _pace(
    tell: Callable[[str], object] | None,
    fleet: Fleet | Any,
    models: Sequence[str] | None,
    learning: Sequence[str],
    protocol: Protocol,
) -> Pace:
    """Tells the estimate of the time, if there is enough for a trial."""
    count = _count(fleet, models)
    pace = Pace(tell if tell is not None and count >= DRIVE_DAYS_MIN else lambda _: None, count, protocol.draws)
    fits = [name for name in learning for _ in range(protocol.folds)]
    judged = ["judge"] * (len(learning) + len(UNLEARNED))
    words = f"{2 * len(fits)} fits of models and {2 * len(judged)} trials of {protocol.draws:,} draws"
    pace.begin(["read", *2 * [*fits, *judged]], words)
    return pace


def _count(fleet: Fleet | Any, models: Sequence[str] | None) -> int:
    """Number of the drive-days."""
    if not isinstance(fleet, Fleet):
        return len(fleet)
    where = "" if models is None else f" WHERE model IN ({', '.join(quoted(model) for model in models) or 'NULL'})"
    return int(fleet.query(f"SELECT count(*) AS n FROM days{where}").column("n")[0].as_py())


def _drive_days(fleet: Fleet | Any, models: Sequence[str] | None, attributes: Sequence[str] | None) -> Any:
    """Sorted drive-days with the needed columns."""
    if isinstance(fleet, Fleet):
        from wane.fleet.prediction.features import SHARED  # noqa: PLC0415

        there = fleet.columns()
        wanted = [name for name in dict.fromkeys([*SHARED, *RULE, *(attributes or ())]) if name in there]
        frame = fleet.days(wanted, models)
    else:
        frame = fleet if models is None else fleet[fleet["model"].isin(models)]
    for name in ("serial", "model", "date", "failure"):
        if name not in frame.columns:
            raise FleetError(f"drive-days: have no column {name}; needed are serial, model, date and failure")
    if not len(frame):
        raise FleetError("drive-days: found none")
    frame = frame.sort_values(["serial", "date"], kind="stable", ignore_index=True)
    if frame.duplicated(["serial", "date"]).any():
        raise FleetError("drive-days: a drive has a day twice; allowed is one row a drive and day")
    return frame


def _values(frame: Any) -> list[str]:
    return [name for name in frame.columns if name not in ("serial", "model", "date", "failure")]


class Parts(NamedTuple):
    """Masks of training by fold, and the fold of each row; -1 for rows that no model judges."""

    trains: list[NDArray[np.bool_]]
    fold: NDArray[np.int64]


class Try(NamedTuple):
    """A split, the models that learn in it, and its parts."""

    by: str
    learning: Sequence[str]
    parts: Parts


def _parted(labeled: Labeled, by: str, protocol: Protocol) -> Parts:
    parts = list(splits(labeled, by, protocol))
    # Rows before the test are also judged, by models that saw neither them nor their drives: a threshold by cost is chosen on them.
    return Parts([train for train, _ in parts], _fold_of(labeled, parts))


def _jobs(labeled: Labeled, made: NDArray[np.float64], each: Try, protocol: Protocol) -> Iterator[Fit]:
    """The fits of a split, made one by one, as each holds copies of its rows."""
    label = labeled.rows["label"].to_numpy(dtype=np.float64)
    for name in each.learning:
        for number, train in enumerate(each.parts.trains):
            yield Fit(name, made[train], label[train], made[each.parts.fold == number], protocol.seed)


def _tried(
    labeled: Labeled,
    each: Try,
    fitted: Iterator[NDArray[np.float64]],
    protocol: Protocol,
    costs: Costs | None,
    truth: Any,
    over: Over,
    pace: Pace,
) -> dict[str, Any]:
    rows, in_test, (trains, fold) = labeled.rows, labeled.in_test, each.parts
    label = rows["label"].to_numpy(dtype=np.float64)
    scores = {name: np.zeros(len(rows)) for name in each.learning}
    for name in each.learning:
        for number in range(len(trains)):
            scores[name][fold == number] = next(fitted)
            pace.done(name, f"split by {each.by}, {name}: {number + 1} of {len(trains)} fits")
    trial = Trial(rows[in_test], protocol.horizon_days, protocol.seed)
    rule = rule_score(rows)
    told: dict[str, Any] = {
        "test": {
            "from": labeled.test_from.date(),
            "drive_days": int(in_test.sum()),
            "drives": trial.drives,
            "failed": int(trial.failed.sum()),
            "failures_without_a_day_before": _unseen(labeled),
            "train_drive_days": int(sum(train.sum() for train in trains) // len(trains)),
            "train_failed": int(rows.loc[np.any(trains, axis=0) & (label == 1), "serial"].nunique()),
        },
        "models": {},
    }
    for name, score, is_probability, alarms in _asked(trial, scores, rule, in_test):
        told["models"][name] = evaluate(trial, score, protocol, is_probability=is_probability, alarms=alarms, over=over)
        pace.done("judge", f"split by {each.by}, trial of {name}")
    told["better"] = _better(told["models"], protocol)
    if truth is not None:
        asked = {"chance": trial.daily_lot, "rule": rule[in_test]}
        asked |= {name: score[in_test] for name, score in scores.items()}
        told["causes"] = causes.by_cause(trial, asked, max(protocol.budgets), truth)
    if costs is not None:
        earlier = Trial(rows[~in_test], protocol.horizon_days, protocol.seed)
        told["costs"] = _costs(earlier, trial, {**scores, "rule": rule}, in_test, costs)
    return told


def _asked(
    trial: Trial, scores: dict[str, NDArray[np.float64]], rule: NDArray[np.float64], in_test: NDArray[np.bool_]
) -> Iterator[tuple[str, NDArray[np.float64], bool, NDArray[np.bool_] | None]]:
    """Each model's name, its scores in the test, whether these are probabilities, and its own alarms if it has no budget."""
    flagged = rule[in_test]
    yield "chance", trial.daily_lot, False, None
    yield "rule", flagged, False, None
    yield "rule, any sector", flagged, False, flagged > 0
    for name, score in scores.items():
        yield name, score[in_test], True, None


def _fold_of(labeled: Labeled, parts: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]) -> NDArray[np.int64]:
    """The fold of each row whose drive is in the test; -1 for others, which no model judges."""
    fold = dict[str, int]()
    for number, (_, test) in enumerate(parts):
        fold |= dict.fromkeys(labeled.rows.loc[test, "serial"].unique(), number)
    mapped = labeled.rows["serial"].map(fold)
    missing = labeled.rows.loc[mapped.isna(), "serial"].unique()
    # Drives that ended before the test: in a fold whose models did not learn from them.
    for number, (train, _) in enumerate(parts):
        seen = set(labeled.rows.loc[train, "serial"].unique())
        fold |= {name: number for name in missing if name not in seen and name not in fold}
    return np.asarray(labeled.rows["serial"].map(fold).fillna(-1), dtype=np.int64)


def _unseen(labeled: Labeled) -> int:
    """Number of drives that failed in the test's time without an earlier day in it, so that no prediction was possible."""
    rows = labeled.rows
    rows = rows[rows["fails_in"].notna()]
    fails_on = rows["date"] + library("pandas").to_timedelta(rows["fails_in"], unit="D")
    in_time = rows.loc[fails_on >= labeled.test_from, "serial"].unique()
    return len(set(in_time) - set(labeled.rows.loc[labeled.in_test, "serial"]))


def _better(models: dict[str, Any], protocol: Protocol) -> list[dict[str, str]]:
    """Pairs of models of which one finds more at the largest budget, with intervals that do not overlap."""
    budget = f"{max(protocol.budgets):g}"
    rates = {name: models[name]["budgets"][budget]["detection_rate"] for name in MODELS if name in models}
    return [
        {"better": one, "worse": other, "by": f"detection rate at {100 * max(protocol.budgets):g} % a day"}
        for one, rate in rates.items()
        for other, less in rates.items()
        if rate["value"] > less["value"] and not overlap(rate, less)
    ]


def _costs(
    earlier: Trial, trial: Trial, scores: dict[str, NDArray[np.float64]], in_test: NDArray[np.bool_], costs: Costs
) -> dict[str, Any]:
    failed = int(trial.failed.sum())
    told: dict[str, Any] = {"inputs": vars(costs), "without_alarms": costs.of(0, 0, failed), "models": {}}
    for name, score in scores.items():
        threshold = cheapest(earlier, score[~in_test], costs)
        counts = trial.outcome(score[in_test] >= threshold).counts()
        cost = costs.of(counts["healthy_alarmed"], counts["failed_found"], failed - counts["failed_found"])
        told["models"][name] = counts | {"threshold": threshold, "cost": cost}
    return told


def in_words(told: Prediction) -> str:
    """Formats a prediction for people."""
    lines = [f"{told.drive_days:,} drive-days, {told.drives:,} drives, {told.failures:,} failures", ""]
    for name, words in (("last_day", "on the last day without the failure flag"), ("any_day", "by any earlier day")):
        at = told.rule[name]
        share = 100 * at["healthy_flagged"] / max(1, at["healthy"])
        lines.append(
            f"rule, {words}: finds {at['failed_flagged']} of {at['failed']}, flags {at['healthy_flagged']:,} of {at['healthy']:,} "
            f"healthy drives ({share:.2f} %)"
        )
    lines.append("")
    if told.too_few:
        lines.append(f"too few: {told.drive_days:,} drive-days, a trial of models needs {DRIVE_DAYS_MIN:,}")
    for by, split in told.splits.items():
        lines += _split_in_words(by, split, told.protocol)
    return "\n".join([*lines, *(f"note: {shown(note)}" for note in told.notes)])


def _split_in_words(by: str, split: dict[str, Any], protocol: Protocol) -> list[str]:
    test = split["test"]
    lines = [
        f"split by time and {by}: test from {test['from']}, {test['drive_days']:,} drive-days, {test['failed']} failed drives; "
        f"horizon {protocol.horizon_days} days",
        f"{'model':18}{'a day':>8}{'detected':>22}{'false alarms':>24}{'precision':>22}{'lead, days':>20}{'PR-AUC':>26}",
    ]
    for name, told in split["models"].items():
        for budget, at in {**told.get("budgets", {}), **told.get("alarms", {})}.items():
            lines.append(
                f"{name:18}{'own' if budget == 'own' else f'{100 * float(budget):g} %':>8}"
                f"{_cell(at['detection_rate'], 100, 1):>22}{_cell(at['false_alarm_rate'], 100, 2):>24}"
                f"{_cell(at['precision'], 100, 1):>22}{_cell(at['lead_days_median'], 1, 0):>20}{_cell(told['pr_auc'], 1, 4):>26}"
            )
    for name in (each for each in LEARNING if each in split["models"]):
        told = split["models"][name]
        lines.append(
            f"{name}: Brier score {_cell(told['brier'], 1, 6)}, expected for each that came {_cell(told['expected_for_each'], 1, 2)}"
        )
    pairs = [f"{pair['better']} above {pair['worse']}" for pair in split["better"]]
    lines.append(f"ranked where intervals do not overlap: {', '.join(pairs) or 'no pair'}")
    if "costs" in split:
        lines.append(f"cost without alarms {split['costs']['without_alarms']:,.0f}")
        for name, at in split["costs"]["models"].items():
            lines.append(
                f"cost with {name} at the threshold of least cost before the test: {at['cost']:,.0f} "
                f"({at['failed_found']} found, {at['healthy_alarmed']:,} healthy drives replaced)"
            )
    if split.get("causes"):
        lines += ["", *causes.in_words(split["causes"], max(protocol.budgets))]
    return [*lines, ""]


def _cell(told: dict[str, float], unit: float, digits: int) -> str:
    if np.isnan(told["value"]):
        return "-"
    value, low, high = (f"{unit * told[name]:.{digits}f}" for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"
