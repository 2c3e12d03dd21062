"""Numbers and arrays on their way to the native part and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wane._errors import WaneError

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """Reads the arguments of a module's functions.

    Attributes:
        error: The error that the module raises if an argument is not allowed.
    """

    error: type[WaneError]

    def numbers(self, what: str, values: ArrayLike, dimensions: int | None = None) -> Numbers:
        """The values as an array of floating-point numbers, of ``dimensions`` dimensions or, with ``None``, of any number."""
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise self.error(f"{what}: found {values!r:.60}, allowed are numbers") from None
        if dimensions is not None and array.ndim != dimensions:
            raise self.error(
                f"{what}: found an array of {array.ndim} dimensions, allowed is {dimensions or 'a number'}"
            )
        return array

    def row(self, what: str, values: ArrayLike) -> Numbers:
        """The values as an array of one dimension."""
        return self.numbers(what, values, 1)

    def number(self, what: str, value: float) -> float:
        """One number."""
        return float(self.numbers(what, value, 0))

    def count(self, what: str, value: int) -> int:
        """A whole number that the native part can take."""
        found = self.number(what, value)
        if not found.is_integer() or not 0 <= found < 2**32:
            raise self.error(f"{what}: found {value!r:.60}, allowed is a whole number from 0 to {2**32 - 1}")
        return int(found)

    def broadcast(self, named: Mapping[str, ArrayLike]) -> tuple[list[Numbers], tuple[int, ...]]:
        """One-dimensional arrays of one length, and the shape that all of them were broadcast to."""
        arrays = [self.numbers(name, values) for name, values in named.items()]
        try:
            same = np.broadcast_arrays(*arrays)
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(named, arrays, strict=True) if array.ndim)
            raise self.error(f"arrays of shapes that do not fit each other: {shapes}") from None
        return [np.ascontiguousarray(array).ravel() for array in same], same[0].shape


def shaped(answers: Numbers, shape: tuple[int, ...]) -> Any:
    """The answers in the shape of the questions; a number for a single number."""
    return float(answers[0]) if shape == () else answers.reshape(shape)
