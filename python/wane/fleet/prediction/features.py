"""Features of a drive on a day, which are all that a model sees: its attributes on that day, and how they changed over the week before.

A feature of a day is made only from that day and earlier days of the same drive. Missing values stay missing: an attribute that a drive model does
not report gives no features. If a counter goes back, it was reset or has wrapped, and its increase is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane._errors import FleetError
from wane.fleet._plain import excerpt, library

#: Attributes that mean the same for every vendor (4.5 of the vendors' tables on which `wane doctor` is based), and whether they are counters.
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

#: Share of the drives that must report an attribute: if fewer do, its absence reveals the drive model, and the drive model the failures.
TOLD_MIN = 0.9

#: First letters of models' names, and their vendors.
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
    """The vendor of a model, by its name; the name's first word if the vendor is unknown."""
    for start, name in VENDORS:
        if model.upper().startswith(start):
            return name
    return model.split(" ", maxsplit=1)[0]


def attributes_of(columns: Sequence[str], models: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """The attributes to use: those asked for, or all of the fleet that mean the same for every vendor.

    Raises:
        FleetError: One that was asked for is not there, is no attribute, or has different meanings between vendors.
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
    """The attributes that at least 90 % of the drives report, and a note for each of the others."""
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
        attributes: The attributes.

    Returns:
        A ``pandas.DataFrame`` of the same index: for each attribute its value, its change in one day and in seven, and its maximum of seven days;
        NaN if unknown.
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
        # A value that is not reported today is unknown today.
        columns[f"{name}_max_{WEEK}d"] = np.where(np.isnan(value), np.nan, most)
    return pandas.DataFrame(columns, index=frame.index)


def _before(
    value: NDArray[np.float64], serial: NDArray[np.int64], day: NDArray[np.int64], days: int
) -> NDArray[np.float64]:
    """The value of the same drive exactly ``days`` days before; NaN if there is no row of that day."""
    found = np.full_like(value, np.nan)
    # A drive has one row a day, so that the row of that day is at most ``days`` rows up; gaps bring it nearer.
    for rows in range(1, days + 1):
        if rows >= len(value):
            break
        fits = (serial[rows:] == serial[:-rows]) & (day[rows:] - day[:-rows] == days)
        found[rows:][fits] = value[:-rows][fits]
    return found
