"""A fleet's records, checked once for all analyses.

A frame has a row for each drive and day, or hour, sorted by ``serial`` and then by ``date`` (or ``time``), with ``model``, ``failure`` (true on the
last record of a drive that failed) and attributes as numbers; NaN is missing. Records after a drive's failure are left out, since in 002 the failure
record is a drive's last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Counts, Flags, Frame, Numbers, library
from wane.fleet.analyses._names import listed

#: Columns that are not attributes.
RESERVED = ("serial", "model", "failure", "date", "time", "capacity_bytes")

HOUR_NS = 3_600_000_000_000


@dataclass(frozen=True, eq=False)
class Records:
    """Checked records.

    Attributes:
        frame: The records, numbered from 0.
        attributes: The columns to analyze.
        models: The drives' models, sorted.
        hours: Hours of each record since its drive's first record.
        first: Number of each drive's first record; drives are in the records' order.
        last: Number of each drive's last record, which is the failure record of a failed drive.
        failed: Whether each drive failed.
    """

    frame: Frame
    attributes: tuple[str, ...]
    models: tuple[str, ...]
    hours: Numbers
    first: Counts
    last: Counts
    failed: Flags

    @property
    def serials(self) -> Any:
        """The drives' serials, in the records' order."""
        return self.frame["serial"].to_numpy()[self.first]

    @property
    def drive(self) -> Counts:
        """The number of each record's drive."""
        return np.repeat(np.arange(self.first.size), self.last - self.first + 1)

    def values(self, columns: Sequence[str] | None = None) -> Numbers:
        """The attributes' values, of shape (records, attributes)."""
        found: Numbers = self.frame[list(columns or self.attributes)].to_numpy(dtype=float)
        return found

    def of(self, drives: Flags) -> Records:
        """The records of only some drives, chosen by a flag for each drive."""
        rows = np.repeat(drives, self.last - self.first + 1)
        lengths = (self.last - self.first + 1)[drives]
        last = np.cumsum(lengths) - 1
        return Records(
            self.frame[rows].reset_index(drop=True),
            self.attributes,
            tuple(sorted(str(name) for name in self.frame["model"][rows].unique())),
            self.hours[rows],
            last - lengths + 1,
            last,
            self.failed[drives],
        )


def records_of(
    frame: Frame,
    user: str,
    *,
    attributes: Sequence[str] | None = None,
    model: str | None = None,
    drives_min: int = 2,
    failed_min: int = 0,
) -> Records:
    """Checks records.

    Args:
        frame: The records.
        user: The analysis, for messages.
        attributes: The columns to analyze; by default all numeric ones.
        model: The only model to analyze; by default all models.
        drives_min: Least number of drives that the analysis needs.
        failed_min: Least number of failed drives among them.

    Raises:
        AnalysisError: The records do not suit the analysis.
    """
    time = _check_columns(frame, user)
    kept = frame if model is None else frame[frame["model"] == model]
    if model is not None and kept.empty:
        known = sorted(str(name) for name in frame["model"].unique())
        raise AnalysisError(f"{user}: no drive is of model {model!r}; the models are: {listed(known)}")
    if kept.empty:
        raise AnalysisError(f"{user}: there are no records")
    names = _attributes(kept, user, attributes)
    kept = _as_floats(kept.reset_index(drop=True), names)
    nanoseconds = _times(kept, time, user)
    failure = _failures(kept, user)
    begins = _begins(kept, time, nanoseconds, user)
    alive = _until_failure(begins, failure)
    kept, nanoseconds, failure, begins = (
        kept[alive].reset_index(drop=True),
        nanoseconds[alive],
        failure[alive],
        begins[alive],
    )
    first = np.flatnonzero(begins)
    last = np.r_[first[1:], begins.size] - 1
    hours = (nanoseconds - np.repeat(nanoseconds[first], last - first + 1)) / HOUR_NS
    records = Records(
        kept, names, tuple(sorted(str(name) for name in kept["model"].unique())), hours, first, last, failure[last]
    )
    _enough(records, user, drives_min, failed_min)
    return records


def _enough(records: Records, user: str, drives_min: int, failed_min: int) -> None:
    drives, failed = records.first.size, int(records.failed.sum())
    if drives < drives_min:
        raise AnalysisError(f"{user}: there {_are(drives, 'drive')}; it needs {drives_min} or more")
    if failed == 0 and failed_min > 0:
        raise AnalysisError(f"{user}: none of the {drives} drives failed; it needs {failed_min} or more that did")
    if failed < failed_min:
        raise AnalysisError(f"{user}: {failed} of the {drives} drives failed; it needs {failed_min} or more that did")


def _are(count: int, thing: str) -> str:
    return f"is 1 {thing}" if count == 1 else f"are {count} {thing}s"


def _check_columns(frame: Any, user: str) -> str:
    """Checks that the needed columns are there; returns the name of the column of time."""
    pandas = library("pandas")
    if not isinstance(frame, pandas.DataFrame):
        raise AnalysisError(f"{user}: records are a pandas.DataFrame, not {type(frame).__name__}")
    columns = [str(name) for name in frame.columns]
    for name in ("serial", "model", "failure"):
        if name not in columns:
            raise AnalysisError(f"{user}: the records have no column {name!r}; they have: {listed(columns)}")
    time = next((name for name in ("time", "date") if name in columns), None)
    if time is None:
        raise AnalysisError(f"{user}: the records have no column 'date' or 'time'; they have: {listed(columns)}")
    if len(set(columns)) < len(columns):
        twice = sorted({name for name in columns if columns.count(name) > 1})
        raise AnalysisError(f"{user}: the records have two columns of one name: {listed(twice)}")
    return time


def _attributes(frame: Frame, user: str, asked: Sequence[str] | None) -> tuple[str, ...]:
    """The attributes to analyze, all of them finite numbers or missing."""
    types = library("pandas").api.types
    numeric = [
        str(name)
        for name in frame.columns
        if name not in RESERVED and types.is_numeric_dtype(frame[name]) and not types.is_bool_dtype(frame[name])
    ]
    if isinstance(asked, str):
        raise AnalysisError(f"{user}: attributes are a list of columns, not the text {asked!r}")
    names = numeric if asked is None else list(asked)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise AnalysisError(f"{user}: column {twice!r} is asked for twice; each counts once")
    for name in names:
        if name not in frame.columns:
            raise AnalysisError(f"{user}: the records have no column {name!r}; their attributes are: {listed(numeric)}")
        if name not in numeric:
            raise AnalysisError(f"{user}: column {name!r} holds {frame[name].dtype}, and an attribute is a number")
        if np.isinf(frame[name].to_numpy(dtype=float, na_value=np.nan)).any():
            raise AnalysisError(f"{user}: column {name!r} holds an infinite value; NaN means a missing one")
    if not names:
        raise AnalysisError(f"{user}: the records have no attributes: a numeric column beside {listed(RESERVED)}")
    return tuple(names)


def _as_floats(frame: Frame, names: Sequence[str]) -> Frame:
    """Converts columns of pandas' own types to NumPy's, in which NaN is the only missing value."""
    kinds = library("pandas").api.types
    return frame.astype({name: float for name in names if kinds.is_extension_array_dtype(frame[name])})


def _times(frame: Frame, time: str, user: str) -> Counts:
    """The time of each record, in nanoseconds since 1970."""
    pandas = library("pandas")
    column = frame[time]
    if pandas.api.types.is_numeric_dtype(column):
        raise AnalysisError(
            f"{user}: column {time!r} holds numbers, and needs dates, such as those of pandas.to_datetime"
        )
    try:
        whens = pandas.to_datetime(column, utc=True)
    except (ValueError, TypeError) as error:
        said = str(error).partition("\n")[0].partition(". ")[0]
        raise AnalysisError(f"{user}: column {time!r} holds what is no date: {said}") from None
    if whens.isna().any():
        raise AnalysisError(f"{user}: column {time!r} has no date in row {int(np.argmax(whens.isna()))}")
    found: Counts = whens.dt.as_unit("ns").astype("int64").to_numpy()
    return found


def _failures(frame: Frame, user: str) -> Flags:
    column = frame["failure"]
    if column.isna().any():
        raise AnalysisError(
            f"{user}: column 'failure' is missing in row {int(np.argmax(column.isna()))}; it is true or false"
        )
    odd = ~column.isin([0, 1])
    if odd.any():
        raise AnalysisError(f"{user}: column 'failure' holds {column[odd].iloc[0]}; it is true or false")
    found: Flags = column.to_numpy().astype(bool)
    return found


def _begins(frame: Frame, time: str, nanoseconds: Counts, user: str) -> Flags:
    """Marks the records that are a drive's first. Checks that each drive's records lie together, in order of time, and have one model."""
    serials, models = frame["serial"].to_numpy(), frame["model"].to_numpy()
    begins: Flags = np.r_[True, serials[1:] != serials[:-1]]
    firsts = serials[begins]
    if len(set(firsts)) < firsts.size:
        again = next(row for row in np.flatnonzero(begins) if (serials[:row] == serials[row]).any())
        raise AnalysisError(f"{user}: the records are not sorted: serial {serials[again]!r} comes again in row {again}")
    back = ~begins & np.r_[False, nanoseconds[1:] <= nanoseconds[:-1]]
    if back.any():
        row = int(np.argmax(back))
        when, before = frame[time].iloc[row], frame[time].iloc[row - 1]
        if nanoseconds[row] == nanoseconds[row - 1]:
            raise AnalysisError(f"{user}: serial {serials[row]!r} has two records of {when}, rows {row - 1} and {row}")
        raise AnalysisError(
            f"{user}: the records are not sorted: row {row} (serial {serials[row]!r}) is of {when}, after {before}"
        )
    other = ~begins & np.r_[False, models[1:] != models[:-1]]
    if other.any():
        row = int(np.argmax(other))
        raise AnalysisError(f"{user}: serial {serials[row]!r} has two models: {models[row - 1]!r} and {models[row]!r}")
    return begins


def _until_failure(begins: Flags, failure: Flags) -> Flags:
    """Marks the records that are not after their drive's first failure."""
    before: Counts = np.cumsum(failure) - failure
    alive: Flags = before == np.maximum.accumulate(np.where(begins, before, 0))
    return alive
