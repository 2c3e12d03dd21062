"""What a model may see of a drive on a day: its attributes then and how they changed over the week before, and nothing else.

A feature of a day is made of that day and earlier ones of the same drive alone. Missing stays missing: an attribute that a model of drive does
not tell gives no feature of it. Where a counter goes back it was reset or wrapped, and its increase is not known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane._errors import FleetError
from wane.fleet._plain import excerpt, library

#: Attributes that mean the same whoever made the drive (4.5 of the vendors' tables that `wane doctor` stands on), and whether they count.
SHARED = {
    "smart_5_raw": True,
    "smart_9_raw": True,
    "smart_12_raw": True,
    "smart_187_raw": True,
    "smart_188_raw": True,
    "smart_194_raw": False,
    "smart_197_raw": False,
    "smart_198_raw": False,
    "smart_199_raw": True,
    "percentage_used_percent": False,
    "available_spare_percent": False,
    "media_errors": True,
    "error_log_entries": True,
    "blocks_bad_grown": True,
    "reallocated_sectors": True,
    "pending_sectors": False,
    "power_on_hours": True,
    "temperature_celsius": False,
}

#: Days over which changes are taken.
WEEK = 7

#: Share of the drives that must tell an attribute: where fewer do, that it is missing tells the model, and the model the failures.
TOLD_MIN = 0.9

#: First letters of a model's name and who makes it.
VENDORS = (
    ("ST", "Seagate"),
    ("SEAGATE", "Seagate"),
    ("WDC", "WD"),
    ("WD", "WD"),
    ("HITACHI", "HGST"),
    ("HGST", "HGST"),
    ("TOSHIBA", "Toshiba"),
    ("SAMSUNG", "Samsung"),
    ("MZ", "Samsung"),
    ("INTEL", "Intel"),
    ("SSDSC", "Intel"),
    ("MICRON", "Micron"),
    ("CT", "Micron"),
    ("MTFD", "Micron"),
)


def vendor(model: str) -> str:
    """Who makes a model, by its name; its first word where that is not known."""
    for start, name in VENDORS:
        if model.upper().startswith(start):
            return name
    return model.split(" ", maxsplit=1)[0]


def attributes_of(columns: Sequence[str], models: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """The attributes that are used: those asked for, or all that the fleet tells and that mean the same for every vendor.

    Raises:
        FleetError: One asked for is not there, is no attribute, or means something else from vendor to vendor.
    """
    if wanted is None:
        return [name for name in SHARED if name in columns]
    vendors = sorted({vendor(model) for model in models})
    for name in wanted:
        if name in ("serial", "model", "source", "capacity_bytes") or not re.search(r"_|\d", name):
            raise FleetError(f"attributes: found {excerpt(name)}, which tells which drive it is and not how it is")
        if name == "failure":
            raise FleetError('attributes: found "failure", which is what is to be foretold')
        if name not in columns:
            raise FleetError(f"attributes: found {excerpt(name)}, which no file told")
        if name not in SHARED and len(vendors) > 1:
            raise FleetError(
                f"attributes: {name} means something else from vendor to vendor, and these drives are of {', '.join(vendors)}; "
                "choose models of one vendor"
            )
    return list(wanted)


def told_enough(frame: Any, attributes: Sequence[str]) -> tuple[list[str], list[str]]:
    """The attributes that at least 90 % of the drives tell, and a note for each of the others."""
    kept, notes = [], []
    for name in attributes:
        share = float(frame[name].notna().groupby(frame["serial"], sort=False).any().mean()) if len(frame) else 0.0
        if share >= TOLD_MIN:
            kept.append(name)
        else:
            notes.append(
                f"{name} is told by {100 * share:.0f} % of the drives and left out: that it is missing would tell the model"
            )
    return kept, notes


def features(frame: Any, attributes: Sequence[str]) -> Any:
    """The features of each drive-day.

    Args:
        frame: Drive-days sorted by ``serial`` and ``date``, with the attributes as columns.
        attributes: Which.

    Returns:
        A ``pandas.DataFrame`` of the same index: of each attribute its value, its change in one day and in seven, and the most of seven days;
        NaN where that is not known.
    """
    pandas = library("pandas")
    serial = pandas.factorize(frame["serial"])[0]
    day = frame["date"].to_numpy().astype("datetime64[D]").astype(np.int64)
    columns: dict[str, NDArray[np.float64]] = {}
    for name in attributes:
        value = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        columns[name] = value
        for days in (1, WEEK):
            change = value - _before(value, serial, day, days)
            if SHARED.get(name, False):
                change[change < 0] = np.nan
            columns[f"{name}_change_{days}d"] = change
        most = value.copy()
        for days in range(1, WEEK):
            most = np.fmax(most, _before(value, serial, day, days))
        # What is not told today is not known today.
        columns[f"{name}_max_{WEEK}d"] = np.where(np.isnan(value), np.nan, most)
    return pandas.DataFrame(columns, index=frame.index)


def _before(
    value: NDArray[np.float64], serial: NDArray[np.int64], day: NDArray[np.int64], days: int
) -> NDArray[np.float64]:
    """The value of the same drive exactly so many days before; NaN where no day of then is there."""
    found = np.full_like(value, np.nan)
    # A drive has one row a day, so that the row of then is at most so many rows up; gaps bring it nearer.
    for rows in range(1, days + 1):
        if rows >= len(value):
            break
        fits = (serial[rows:] == serial[:-rows]) & (day[rows:] - day[:-rows] == days)
        found[rows:][fits] = value[:-rows][fits]
    return found
