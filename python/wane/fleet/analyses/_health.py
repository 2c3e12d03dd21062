"""Health values: attributes on one scale, on which low is bad (002, section 7.3; section 7.5 for the scale of the Backblaze variant)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Flags, Frame, Numbers, library, stream
from wane.fleet.analyses._names import candidates, falls_with_harm, listed
from wane.fleet.analyses._records import Records, records_of

#: How attributes are scaled.
Spread: TypeAlias = Literal["linear", "log"]

#: The ends of the study's scale.
BOUNDS = (-1.0, 1.0)

#: Attributes that distinguish failures, if records have them: RSC, RUE, SUT, HFW, USC, SDEC and pending sectors (002, sections 7.2 and 7.5).
#: Power-on hours are not among them, because clusters by age are no types of failure.
DISK_ATTRIBUTES = (5, 187, 3, 189, 198, 183, 197)


#: Share of the drives that must have an attribute for it to be chosen: vendors and models differ, and drives without a chosen one are left out.
KNOWN_MIN = 0.5


@dataclass(frozen=True)
class Scale:
    """Turns attributes into health values, linearly from the worst value of the fitted records to the best.

    Attributes:
        attributes: The columns.
        least: Their least values in the records to which the scale was fitted.
        most: Their greatest values.
        falling: The columns whose low values are bad; in the others high values are.
        low: The health value of the worst value.
        high: The health value of the best value.
        spread: ``"log"`` first takes the logarithm of 1 + the value, because raw counts span decades.
    """

    attributes: tuple[str, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]
    falling: tuple[str, ...]
    low: float
    high: float
    spread: Spread

    def __call__(self, frame: Frame) -> Numbers:
        """Health values of shape (records, attributes). Values beyond those of the fitted records lie beyond the scale's ends."""
        values = _spread(frame[list(self.attributes)].to_numpy(dtype=float), self.spread)
        shares = (values - np.array(self.least)) / (np.array(self.most) - np.array(self.least))
        good = np.where([name in self.falling for name in self.attributes], shares, 1 - shares)
        found: Numbers = self.low + (self.high - self.low) * good
        return found

    def column(self, name: str, health: float) -> float:
        """The attribute's value at a health value."""
        at = self.attributes.index(name)
        good = (health - self.low) / (self.high - self.low)
        share = good if name in self.falling else 1 - good
        value = self.least[at] + share * (self.most[at] - self.least[at])
        return float(np.expm1(value)) if self.spread == "log" else value


def scale_of(
    records: Records,
    user: str,
    *,
    falling: Sequence[str] = (),
    bounds: tuple[float, float] = BOUNDS,
    spread: Spread = "linear",
) -> Scale:
    """Fits the scale to records.

    Raises:
        AnalysisError: An attribute is constant, the ends are not in order, or values for a logarithm are negative.
    """
    if spread not in ("linear", "log"):
        raise AnalysisError(f"{user}: spread is {spread!r}; it is 'linear' or 'log'")
    if not bounds[0] < bounds[1]:
        raise AnalysisError(f"{user}: the scale goes from {bounds[0]:g} to {bounds[1]:g}; the first is the lower one")
    for name in falling:
        if name not in records.attributes:
            raise AnalysisError(
                f"{user}: falling names {name!r}, which is none of the attributes: {listed(records.attributes)}"
            )
    values = records.values()
    if spread == "log" and np.nanmin(values) < 0:
        raise AnalysisError(f"{user}: the logarithm is for counts, and the least value is {np.nanmin(values):g}")
    values = _spread(values, spread)
    least, most = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    for at, name in enumerate(records.attributes):
        if least[at] == most[at]:
            raise AnalysisError(f"{user}: column {name!r} is constant in all {len(values)} records, and has no scale")
    low = tuple(name for name in records.attributes if falls_with_harm(name) or name in falling)
    return Scale(records.attributes, tuple(least.tolist()), tuple(most.tolist()), low, *bounds, spread)


def refitted(scale: Scale, records: Records, user: str) -> Scale:
    """The same kind of scale, fitted to other records.

    Raises:
        AnalysisError: An attribute is constant in them.
    """
    return scale_of(records, user, falling=scale.falling, bounds=(scale.low, scale.high), spread=scale.spread)


def _spread(values: Numbers, spread: Spread) -> Numbers:
    return np.log1p(values) if spread == "log" else values


def disk_records(
    frame: Frame,
    user: str,
    attributes: Sequence[str] | None,
    model: str | None,
    *,
    failed_min: int,
    drives_min: int = 2,
) -> tuple[Records, int]:
    """Checks the records of disks and chooses attributes: those asked for, or those of ``DISK_ATTRIBUTES`` that vary, normalized if available.

    Drives whose last record lacks one of the attributes are left out.

    Returns:
        The records, and the number of drives that were left out.

    Raises:
        AnalysisError: The records do not suit the analysis.
    """
    names = list(attributes) if attributes is not None and not isinstance(attributes, str) else attributes
    if names is None:
        names = _chosen(frame, user, model)
    records = records_of(frame, user, attributes=names, model=model)
    told: Flags = np.logical_not(np.isnan(records.values()[records.last]).any(axis=1))
    if not told.any():
        raise AnalysisError(
            f"{user}: no drive's last record has all of {listed(records.attributes)}; name fewer as attributes"
        )
    kept = records.of(told)
    return records_of(kept.frame, user, attributes=names, drives_min=drives_min, failed_min=failed_min), int(
        (~told).sum()
    )


def _chosen(frame: Frame, user: str, model: str | None) -> list[str]:
    """For each attribute the normalized column if it varies, otherwise the raw one, if half of the drives or more have it in their last record."""
    records = records_of(frame, user, model=model)
    known = dict(zip(records.attributes, 1 - np.isnan(records.values()[records.last]).mean(axis=0), strict=True))
    varying = {name for name in records.attributes if known[name] >= KNOWN_MIN and records.frame[name].nunique() > 1}
    found = []
    for number in DISK_ATTRIBUTES:
        name = next((name for name in reversed(candidates(number)) if name in varying), None)
        found += [name] if name is not None else []
    if not found:
        wanted = listed([str(number) for number in DISK_ATTRIBUTES])
        raise AnalysisError(f"{user}: none of the attributes {wanted} is there and varies; name others as attributes")
    return found


def held_out(drives: int, share: float, seed: int, user: str) -> Flags:
    """Draws the drives to hold out: a share of them, at least one, and not all.

    Raises:
        AnalysisError: The share is not between 0 and 1, or there are fewer than 2 drives.
    """
    if not 0 < share < 1:
        raise AnalysisError(f"{user}: the share held out is {share:g}; it lies between 0 and 1")
    if drives < 2:
        raise AnalysisError(f"{user}: {drives} drive can be used, and some must be held out; it needs 2 or more")
    count = min(max(round(share * drives), 1), drives - 1)
    out = np.zeros(drives, dtype=bool)
    out[stream(seed, "held out").permutation(drives)[:count]] = True
    return out


def deciles_of(values: Numbers) -> Numbers:
    """The nine deciles of each column, of shape (9, columns)."""
    found: Numbers = np.percentile(values, np.arange(10, 100, 10), axis=0)
    return found


def frame_of(columns: Mapping[str, object]) -> Frame:
    """A data frame of columns."""
    return library("pandas").DataFrame(dict(columns))
