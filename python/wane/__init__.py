"""The open laboratory for storage that ages, from Python.

``run`` ages a drive by a scenario and gives a ``Result``: the numbers of the command ``wane run``, as a dict and as NumPy arrays.
``read`` opens a folder of results. ``wane.theory`` has what needs no run. Everything that goes wrong is a ``WaneError``.

    >>> import wane
    >>> result = wane.run({"drive": {"preset": "tiny"}, "until": {"drive-writes": 20}})
    >>> result.summary["end"]["reason"]
    'drive-writes'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wane._errors import (
    InternalError,
    MissingExtraError,
    OutOfMemoryError,
    ResultsError,
    ScenarioError,
    TheoryError,
    TraceError,
    WaneError,
)
from wane._result import Result, Table
from wane._run import Progress, read, run
from wane._wane import __version__

if TYPE_CHECKING:
    from wane import theory

__all__ = [
    "InternalError",
    "MissingExtraError",
    "OutOfMemoryError",
    "Progress",
    "Result",
    "ResultsError",
    "ScenarioError",
    "Table",
    "TheoryError",
    "TraceError",
    "WaneError",
    "__version__",
    "read",
    "run",
    "theory",
]


def __getattr__(name: str) -> Any:
    # Imported when it is asked for, so that the command starts without NumPy.
    if name == "theory":
        return import_module("wane.theory")
    raise AttributeError(f"module 'wane' has no attribute {name!r}")
