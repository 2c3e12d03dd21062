"""The packages for the mathematics, imported on use. All come with the extra ``fleet``; none has types that mypy reads."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from wane._extras import need

#: A ``pandas.DataFrame``.
Frame: TypeAlias = Any

#: A ``pandas.Series``.
Series: TypeAlias = Any

Numbers: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


def library(module: str) -> ModuleType:
    """Imports a module such as ``"pandas"`` or ``"sklearn.cluster"``.

    Raises:
        MissingExtraError: It is not installed.
    """
    return need(module, "fleet", "wane.fleet.analyses")


def stream(seed: int, name: str) -> np.random.Generator:
    """Makes a separate random stream for each use: the same seed and name give the same draws, whatever else is drawn."""
    return np.random.default_rng([seed, crc32(name.encode())])


def state(seed: int, name: str) -> int:
    """The seed for one named use of scikit-learn."""
    return int(stream(seed, name).integers(2**31))


@contextmanager
def one_thread() -> Iterator[None]:
    """Limits libraries to one thread, because sums over threads, and so the last digits of a result, depend on the order of threads."""
    with library("threadpoolctl").threadpool_limits(limits=1):
        yield


@contextmanager
def quietly() -> Iterator[None]:
    """Silences libraries' warnings about fits that do not converge; callers judge a fit by its forecasts.

    Import the libraries before: some set their own filters on import.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
