"""The form of all analyses' answers: a table, a picture, and plain data for JSON."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.fleet.analyses._libraries import Frame, library
from wane.plot import SIZE, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Marks a field with a value for each record, which ``to_dict`` leaves out because it would be as long as the fleet's data.
HERE: dict[str, bool] = {"plain": False}


class Analysis(ABC):
    """The base of all answers. Each is a frozen dataclass whose fields are public."""

    @abstractmethod
    def table(self) -> Frame:
        """The answer as a ``pandas.DataFrame``."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the answer, into ``ax`` or a new figure.

        Raises:
            MissingExtraError: Matplotlib is not installed.
        """

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data: numbers as numbers, missing or undefined values as ``None``, tables as lists of rows."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type] # of every answer
        kept = {field.name: getattr(self, field.name) for field in fields if field.metadata.get("plain", True)}
        return {"analysis": type(self).__name__} | {name: plain(value) for name, value in kept.items()}


def plain(value: Any) -> Any:
    """Converts a value for ``json``."""
    if isinstance(value, Analysis):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "to_frame"):
        return {_key(key): plain(item) for key, item in value.items()}
    if hasattr(value, "columns"):
        table = value if _counted(value.index) else value.reset_index()
        names = [str(name) for name in table.columns]
        return [dict(zip(names, map(plain, row), strict=True)) for row in table.itertuples(index=False, name=None)]
    return _plain_value(value)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def _key(key: Any) -> str:
    return " ".join(str(part) for part in key) if isinstance(key, tuple) else str(key)


def _counted(index: Any) -> bool:
    """Whether an index only counts rows."""
    return bool(index.name is None and index.nlevels == 1 and index.dtype.kind == "i")


@contextmanager
def drawing(ax: Axes | None) -> Iterator[Axes]:
    """Gives the axes to draw into: the given ones, or those of a new figure of a column's width, in the style of ``wane.plot``."""
    matplotlib = library("matplotlib")
    if ax is not None:
        yield ax
        return
    figure = library("matplotlib.figure").Figure
    with matplotlib.rc_context(STYLE):
        yield figure(figsize=SIZE, layout="constrained").add_subplot()
