"""Numbers and arrays on their way to the native part and back."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wane._errors import FleetError

Numbers: TypeAlias = NDArray[np.float64]


def broadcast(named: Mapping[str, ArrayLike]) -> tuple[list[Numbers], tuple[int, ...]]:
    """One-dimensional arrays of one length, and the shape that all of them were broadcast to."""
    arrays = [numbers(name, values) for name, values in named.items()]
    try:
        same = np.broadcast_arrays(*arrays)
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(named, arrays, strict=True) if array.ndim)
        raise FleetError(f"arrays of shapes that do not fit each other: {shapes}") from None
    return [np.ascontiguousarray(array).ravel() for array in same], same[0].shape


def shaped(answers: Numbers, shape: tuple[int, ...]) -> Any:
    """An answer for each question, in their shape; a number for a number."""
    return float(answers[0]) if shape == () else answers.reshape(shape)


def numbers(what: str, values: ArrayLike) -> Numbers:
    """The values as an array of floating-point numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise FleetError(f"{what}: found {values!r:.60}, allowed are numbers") from None


def number(what: str, value: float) -> float:
    """One number."""
    array = numbers(what, value)
    if array.ndim != 0:
        raise FleetError(f"{what}: found an array of {array.ndim} dimensions, allowed is a number")
    return float(array)


def count(what: str, value: int) -> int:
    """A whole number that the native part can take."""
    found = number(what, value)
    if not found.is_integer() or not 0 <= found < 2**32:
        raise FleetError(f"{what}: found {value!r:.60}, allowed is a whole number from 0 on")
    return int(found)
