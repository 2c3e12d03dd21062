"""Fleets: the records of a data center's drives.

A fleet is a folder of Parquet files, opened in place. ``ingest`` adds Backblaze's daily files, Alibaba's logs and tickets, folders of smartctl's
output and records of simulated drives; ``open`` returns a `Fleet` to query, in SQL or as data frames.
``simulate`` makes a fleet of simulated drives, and the truth about them.
``analyze`` answers questions by name, and ``predict`` tests models of failures as they would be used.

    >>> from wane import fleet
    >>> fleet.ingest("drives.fleet", ["2013-04-10.csv"])
    >>> fleet.open("drives.fleet").query("SELECT count(*) FROM days")

``python -m wane.fleet`` offers the same as verbs. Everything here needs the extra ``fleet`` (``pip install 'wane[fleet]'``).
"""

from __future__ import annotations

import os

from wane.fleet._analyze import analyze, names_of_analyses
from wane.fleet._backtest import Backtest, backtest
from wane.fleet._correlated import Correlated, correlated
from wane.fleet._ingest import Taken, ingest
from wane.fleet._judge import Judged, judge
from wane.fleet._replace import Replacements, replacements
from wane.fleet._report import report
from wane.fleet._simulate import SimulatedFleet, simulate
from wane.fleet.prediction import Costs, Prediction, Protocol, predict
from wane.fleet.prediction.survival import Survival, survival
from wane.fleet.store import Fleet

__all__ = [
    "Backtest",
    "Correlated",
    "Costs",
    "Fleet",
    "Judged",
    "Prediction",
    "Protocol",
    "Replacements",
    "SimulatedFleet",
    "Survival",
    "Taken",
    "analyze",
    "backtest",
    "correlated",
    "ingest",
    "judge",
    "names_of_analyses",
    "open",
    "predict",
    "replacements",
    "report",
    "simulate",
    "survival",
]


def open(path: str | os.PathLike[str]) -> Fleet:  # noqa: A001
    """Opens a fleet.

    Args:
        path: Its folder.

    Raises:
        FleetError: There is no fleet, or it is of another format.
        MissingExtraError: The extra ``fleet`` is not installed.
    """
    return Fleet(path)
