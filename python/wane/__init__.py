"""The open laboratory for storage that ages, from Python.

``run`` ages a drive by a scenario and returns a ``Result``: the numbers of the command ``wane run``, as a dict and as NumPy arrays. ``sweep`` runs
a grid of scenarios, here or on a cluster. ``read`` opens a folder of results. A ``Drive`` is written, aged, copied and examined step by step.
All of them take policies that are Python objects (``wane.policies``). ``wane.theory`` has models that need no run. ``doctor`` judges a real
drive, ``wane.fleet`` many. ``wane.heat`` and ``wane.economics`` say what heat does to drives and what drives cost. ``serve`` makes a drive a
live block device for programs. ``wane.actor`` serves drives that encode; ``wane.coding`` says how much time and energy that takes.
Refusals are a ``WaneError``.

    >>> import wane
    >>> result = wane.run({"drive": {"preset": "tiny"}, "until": {"drive-writes": 20}})
    >>> result.summary["end"]["reason"]
    'drive-writes'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wane._drive import Drive, Snapshot
from wane._errors import (
    ActorError,
    FleetError,
    InternalError,
    MissingExtraError,
    OutOfMemoryError,
    PolicyError,
    ResultsError,
    ScenarioError,
    ServeError,
    SmartError,
    TheoryError,
    TraceError,
    WaneError,
)
from wane._progress import Progress, SweepProgress
from wane._result import Result, Table
from wane._run import read, run
from wane._serve import Control, Served, serve
from wane._smart import doctor, read_smart
from wane._sweep import Sweep, sweep
from wane._wane import __version__

if TYPE_CHECKING:
    from wane import actor, coding, economics, fleet, heat, plot, policies, theory

__all__ = [
    "ActorError",
    "Control",
    "Drive",
    "FleetError",
    "InternalError",
    "MissingExtraError",
    "OutOfMemoryError",
    "PolicyError",
    "Progress",
    "Result",
    "ResultsError",
    "ScenarioError",
    "ServeError",
    "Served",
    "SmartError",
    "Snapshot",
    "Sweep",
    "SweepProgress",
    "Table",
    "TheoryError",
    "TraceError",
    "WaneError",
    "__version__",
    "actor",
    "coding",
    "doctor",
    "economics",
    "fleet",
    "heat",
    "plot",
    "policies",
    "read",
    "read_smart",
    "run",
    "serve",
    "sweep",
    "theory",
]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that the command starts without NumPy.
    if name in ("actor", "coding", "economics", "fleet", "heat", "plot", "policies", "theory"):
        return import_module(f"wane.{name}")
    raise AttributeError(f"module 'wane' has no attribute {name!r}")
