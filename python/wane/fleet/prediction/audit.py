"""Refuses leaks, which make a prediction look better than it is. Each of these leaks was found in published work.

Features are tested by their values, not by their code. They are made again from drive-days with changes that must not matter (later days removed,
other drives removed, failures hidden, drives and models renamed), and must be the same. Training and test are compared row by row.

Source: the pitfalls that studies of disk failures name (Lu et al., FAST 2020; Han et al., StreamDFP, 2022), gathered for this project.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wane._errors import FleetError
from wane.fleet._plain import counted, library

#: Function that makes features from drive-days: a data frame of the same index.
Features = Callable[[Any], Any]

#: Number of drives on which features are tested, half of them failed if there are enough.
DRIVES = 40


def features_see_no_more_than_they_may(frame: Any, make: Features) -> None:
    """Tests a maker of features on some drives.

    Args:
        frame: Drive-days sorted by serial and date.
        make: The maker.

    Raises:
        FleetError: A feature depends on what a model must not see.
    """
    some = _sample(frame)
    made = make(some)
    if not made.index.equals(some.index):
        raise FleetError("features: rows are not those of the drive-days that were given")
    _same(made, make(some.assign(failure=False)), "sees whether the drive fails")
    codes = library("pandas").factorize(some["serial"])[0]
    _same(
        made,
        make(some.assign(serial=[f"{999_999 - code:06}" for code in codes])),
        "tells which drive it is, by its serial number",
    )
    _same(made, make(some.assign(model="a drive")), "tells the model, and no more of the drive")
    own = some[codes < max(1, (codes.max() + 1) // 2)]
    _same(made.loc[own.index], make(own), "sees other drives, as what is normalized over all of them does")
    half = some["date"].min() + (some["date"].max() - some["date"].min()) / 2
    early = some[some["date"] <= half]
    _same(made.loc[early.index], make(early), "sees later days than the one that it is of")
    attributes = [name for name in some.columns if name not in ("serial", "model", "date", "failure")]
    blank = make(some.assign(**dict.fromkeys(attributes, np.nan)))
    for name in blank.columns:
        if blank[name].notna().any():
            raise FleetError(f"features: {name} has a value where nothing was told; missing is missing, and never zero")
    for name in made.columns:
        if _is_constant_of_model(made[name], some["model"]):
            raise FleetError(f"features: {name} is the same for all drives of a model, and so tells the model")


def _sample(frame: Any) -> Any:
    """The days of some drives, including failed ones; the same drives in every call."""
    failed = frame.loc[frame["failure"], "serial"].unique()[: DRIVES // 2]
    others = frame["serial"].unique()
    step = max(1, len(others) // DRIVES)
    chosen = set(failed) | set(others[::step][: DRIVES - len(failed)])
    return frame[frame["serial"].isin(chosen)]


def _same(one: Any, other: Any, what: str) -> None:
    for name in one.columns:
        if name not in other.columns:
            raise FleetError(f"features: {name} {what}")
        found, again = one[name].to_numpy(dtype=float), other[name].to_numpy(dtype=float)
        if len(found) != len(again) or not np.allclose(found, again, rtol=1e-9, atol=1e-12, equal_nan=True):
            raise FleetError(f"features: {name} {what}")


def _is_constant_of_model(feature: Any, model: Any) -> bool:
    """Whether a feature has one value for each model, and differs between models."""
    spread = feature.groupby(model).agg(["nunique", "min"])
    return len(spread) > 1 and bool((spread["nunique"] == 1).all()) and spread["min"].nunique() == len(spread)


def parts_are_apart(train: Any, test: Any, horizon_days: int) -> None:
    """Checks that the rows of training and test are apart.

    Args:
        train: Rows with ``serial``, ``batch``, ``date``, ``failure``.
        test: The same.
        horizon_days: Days that a label looks ahead.

    Raises:
        FleetError: A drive is in both, a training row has a label from the test's time, or one of them has the day of a failure.
    """
    both = np.intersect1d(train["serial"].unique(), test["serial"].unique())
    if len(both):
        raise FleetError(
            f"parts: {counted(len(both), 'drive')} in training and test, first {both[0]}; a drive is in one of them"
        )
    for name, part in (("training", train), ("test", test)):
        if part["failure"].any():
            raise FleetError(f"parts: {name} has the day of a failure, which is known only when it is too late")
    if len(train) and len(test):
        last, first = train["date"].max(), test["date"].min()
        if (first - last).days <= horizon_days:
            raise FleetError(
                f"parts: training goes to {last.date()} and the test begins on {first.date()}; a label looks {horizon_days} days ahead, "
                "so that more days must lie between them, as rows that are split at random have not"
            )


def batches_are_apart(train: Any, test: Any) -> None:
    """Checks that no batch is in both parts.

    Raises:
        FleetError: A batch is in both.
    """
    both = np.intersect1d(train["batch"].unique(), test["batch"].unique())
    if len(both):
        raise FleetError(f"parts: {counted(len(both), 'batch', 'batches')} in training and test, first {both[0]}")


def test_is_whole(test: Any, every: Any) -> None:
    """Checks that the test has every drive-day of its time, since precision depends on how rare failures are.

    Args:
        test: Rows of the test, of all folds.
        every: All rows of its time.

    Raises:
        FleetError: Some were left out.
    """
    if len(test) != len(every):
        raise FleetError(
            f"parts: the test has {len(test):,} of {len(every):,} drive-days of its time; precision means nothing where healthy drives are left out"
        )
