"""The protocol of a test, under which results hold in production.

The unit is the drive. Models are trained on days before a date, and tested on days from it on; a drive is in only one of the two parts. Drives are in
folds, and each fold is tested by models that never saw its drives, so that all failures of the time count. By ``batch`` the folds keep drives of one
model and first month together. A label says whether the drive fails within the horizon; there is none if the drive was not watched to the end of the
horizon. The day of the failure is in neither part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane._errors import FleetError
from wane.fleet._plain import counted, library
from wane.fleet.prediction import audit

#: Least drive-days for a test of models.
DRIVE_DAYS_MIN = 250_000

#: The largest seed that scikit-learn takes.
SEED_MAX = (1 << 32) - 1


#: Most days ahead of a predicted failure; no records are that long.
HORIZON_DAYS_MAX = 3650


@dataclass(frozen=True)
class Protocol:
    """Settings of a test.

    Attributes:
        horizon_days: Days within which a failure is to be predicted, 1 to 3,650.
        test_from: The first day of the test; by default the middle of the fleet's days.
        budgets: Shares of the drives that may be alarmed on a day, above 0 and below 1.
        folds: Number of folds of the drives, at least 2.
        draws: Number of bootstrap draws of drives.
        seed: Seed of the folds, the ties and the draws, 0 to 2^32 - 1.
    """

    horizon_days: int = 7
    test_from: date | None = None
    budgets: tuple[float, ...] = (0.001, 0.005, 0.01)
    folds: int = 5
    draws: int = 300
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.horizon_days <= HORIZON_DAYS_MAX:
            raise FleetError(f"horizon: found {self.horizon_days} days, allowed are 1 to {HORIZON_DAYS_MAX}")
        if self.folds < 2:
            raise FleetError(f"folds: found {self.folds}, allowed is 2 or more")
        if self.draws < 1:
            raise FleetError(f"draws: found {self.draws}, allowed is 1 or more")
        if not 0 <= self.seed <= SEED_MAX:
            raise FleetError(f"seed: found {self.seed}, allowed are 0 to {SEED_MAX}")
        for budget in self.budgets:
            if not 0 < budget < 1:
                raise FleetError(f"budget: found {budget}, allowed is a share of the drives above 0 and below 1")


@dataclass
class Labeled:
    """Drive-days with their labels, without the days of failures.

    Attributes:
        rows: ``serial``, ``model``, ``date``, ``failure``, ``batch``, ``fails_in`` (days, NaN if it does not), ``label`` (1, 0, or NaN if
        unknown), and the attributes.
        test_from: The first day of the test.
        failures: Number of drives that failed.
        notes: What was left out.
    """

    rows: Any
    test_from: Any
    failures: int
    notes: list[str]

    @property
    def in_test(self) -> NDArray[np.bool_]:
        """Mask of the rows of the test's time."""
        found: NDArray[np.bool_] = (self.rows["date"] >= self.test_from).to_numpy()
        return found


def label(frame: Any, protocol: Protocol) -> Labeled:
    """Labels drive-days.

    Args:
        frame: Drive-days sorted by serial and date, with ``serial``, ``model``, ``date``, ``failure``.
        protocol: The horizon and the first day of the test.

    Raises:
        FleetError: There are no failures, or no days before or after the test's first day.
    """
    pandas = library("pandas")
    if not frame["failure"].any():
        raise FleetError("failures: found none, and without one nothing can be learned or tried")
    notes = []
    by_drive = frame.groupby("serial", sort=False)
    last = by_drive["date"].transform("max")
    failed_on = frame["date"].where(frame["failure"]).groupby(frame["serial"], sort=False).transform("min")
    went_on = failed_on.notna() & (last > failed_on)
    if went_on.any():
        drives = frame.loc[went_on, "serial"].nunique()
        notes.append(
            f"{counted(drives, 'drive')} went on after the day of the failure and left out: swapped, and not failed"
        )
    first = frame["serial"].map(by_drive["date"].min().dt.strftime("%Y-%m"))
    rows = frame.assign(
        batch=frame["model"].astype(str) + " " + first,
        fails_in=(failed_on - frame["date"]).dt.days,
        watched=(last - frame["date"]).dt.days,
    )
    rows = rows[~went_on & ~rows["failure"]]
    soon = rows["fails_in"].le(protocol.horizon_days)
    known = soon | rows["fails_in"].notna() | rows["watched"].ge(protocol.horizon_days)
    rows = rows.assign(label=np.where(known, soon.astype(float), np.nan)).drop(columns="watched")
    days = sorted(rows["date"].unique())
    test_from = pandas.Timestamp(protocol.test_from) if protocol.test_from else pandas.Timestamp(days[len(days) // 2])
    before = pandas.Timestamp(days[0]) + timedelta(days=protocol.horizon_days)
    if protocol.test_from is None and not before < test_from:
        # The user did not choose the middle, so it is the horizon that does not fit.
        most, all_days = (test_from - pandas.Timestamp(days[0])).days - 1, (days[-1] - days[0]).days + 1
        allowed = f"allowed are 1 to {most}" if most >= 1 else "which are too few for any"
        raise FleetError(
            f"horizon: found {protocol.horizon_days} days, and the fleet's days go over {all_days}; {allowed}"
        )
    if not before < test_from <= days[-1]:
        raise FleetError(
            f"test-from: found {test_from.date()}, allowed are days after {before.date()} (a horizon after the first) "
            f"up to {pandas.Timestamp(days[-1]).date()}"
        )
    failures = int((frame["failure"] & ~went_on).sum())
    return Labeled(rows, test_from, failures, notes)


def folds(labeled: Labeled, by: str, protocol: Protocol) -> NDArray[np.int64]:
    """The fold of each row, by ``drive`` or ``batch``."""
    if by == "drive":
        names = labeled.rows["serial"].unique()
        fold = {name: _hash(protocol.seed, name) % protocol.folds for name in names}
        return np.asarray(labeled.rows["serial"].map(fold), dtype=np.int64)
    # The largest batch first, each to the fold with the fewest drives, because batches differ much in size.
    sizes = labeled.rows.groupby("batch")["serial"].nunique()
    drives = [0] * protocol.folds
    chosen: dict[str, int] = {}
    for name, size in sorted(sizes.items(), key=lambda each: (-each[1], each[0])):
        least = drives.index(min(drives))
        chosen[str(name)] = least
        drives[least] += int(size)
    return np.asarray(labeled.rows["batch"].map(chosen), dtype=np.int64)


def _hash(seed: int, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} fold {name}".encode()).digest()[:8], "little")


def splits(labeled: Labeled, by: str, protocol: Protocol) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Training and test rows for each fold: masks over the labeled rows.

    The labels of training rows were known before the test began: a horizon lies between them and the test.

    Raises:
        FleetError: The parts are not apart.
    """
    rows, in_test = labeled.rows, labeled.in_test
    fold = folds(labeled, by, protocol)
    known = (rows["date"] < labeled.test_from - timedelta(days=protocol.horizon_days)) & rows["label"].notna()
    tested = np.zeros(len(rows), dtype=bool)
    for number in range(protocol.folds):
        train = known.to_numpy() & (fold != number)
        test = in_test & (fold == number)
        columns = ["serial", "batch", "date", "failure"]
        audit.parts_are_apart(rows.loc[train, columns], rows.loc[test, columns], protocol.horizon_days)
        if by == "batch":
            audit.batches_are_apart(rows.loc[train, columns], rows.loc[test, columns])
        tested |= test
        yield train, test
    audit.test_is_whole(rows[tested], rows[in_test])
