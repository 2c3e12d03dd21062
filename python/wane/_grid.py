"""The grid of a sweep: keys and their values in the engine's form, and the policies in Python among them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from wane import _wane
from wane._errors import ScenarioError
from wane._plain import plain

if TYPE_CHECKING:
    from wane.policies import Policies

#: A grid: values of keys, of keys that change together, or texts as for ``--sweep``.
Grid: TypeAlias = "Mapping[str | tuple[str, ...], Iterable[Any] | str] | Iterable[str]"

#: Most points of a grid.
POINTS_MAX = 10_000

#: A policy in Python: its role, its name and parameters as a table of a scenario, and the object.
Own: TypeAlias = "tuple[str, dict[str, Any], object]"


class Axes:
    """The axes of a grid, and the policies among their values.

    Raises:
        ScenarioError: It is no grid, or two policies cannot be told apart.
    """

    def __init__(self, grid: object, *, may_be_empty: bool = False) -> None:
        #: The policies, each once.
        self.own: list[Own] = []
        self._roles: set[str] = set()
        #: The axes in the engine's form: a policy is a table of its name and parameters.
        self.axes: list[_wane.Axis] = [] if may_be_empty and grid in ({}, [], ()) else self._read(grid)

    def check(self, policies: Policies | None) -> None:
        """Refuses a role that is both given for all points and swept.

        Raises:
            ScenarioError: There is such a role.
        """
        both = next((role for role in policies or () if role in self._roles), None)
        if both is not None:
            raise ScenarioError(
                f"policies: {both}: found it in the grid as well; give it there or for all points", both, "policies"
            )

    def _read(self, grid: object) -> list[_wane.Axis]:
        if isinstance(grid, Mapping):
            return [self._axis(key, values) for key, values in grid.items()] or _refuse("no key")
        if isinstance(grid, Iterable) and not isinstance(grid, str | bytes):
            texts = list(grid)
            for text in texts:
                if not isinstance(text, str):
                    _refuse(f"a value of type {type(text).__name__} in a list")
            return texts or _refuse("no key")
        return _refuse(f"a value of type {type(grid).__name__}")

    def _axis(self, key: object, values: object) -> _wane.Axis:
        keys = [key] if isinstance(key, str) else list(key) if isinstance(key, tuple) else []
        if not keys or not all(isinstance(name, str) for name in keys):
            raise ScenarioError(
                f"grid: found the key {key!r:.60}, allowed are a text and a tuple of texts", None, "grid"
            )
        name = " + ".join(keys)
        self._roles.update(key for key in keys if key in _wane.ROLES)
        if isinstance(values, str) and isinstance(key, str):
            return f"{key}={values}"
        # A set has no order for the results.
        if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
            raise ScenarioError(
                f"grid: {name}: found {values!r:.60}, expected a list of values, such as [1, 2, 4]", name, "grid"
            )
        # An endless iterable is refused like one that is too long.
        values = islice(values, POINTS_MAX + 1)
        if isinstance(key, str):
            return keys, [[self._value(value, key)] for value in values]
        return keys, [self._place(value, keys, name) for value in values]

    def _place(self, values: object, keys: list[str], name: str) -> list[Any]:
        is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
        if not is_list or len(values) != len(keys):  # type: ignore[arg-type]
            raise ScenarioError(
                f"grid: {name}: found {values!r:.60}, expected {len(keys)} values, one for each of the keys that change together",
                name,
                "grid",
            )
        return [self._value(value, key) for key, value in zip(keys, values, strict=True)]  # type: ignore[call-overload]

    def _value(self, value: object, key: str) -> Any:
        if key not in _wane.ROLES or not _is_policy(value):
            return plain(value, key, source="grid")
        name = getattr(value, "name", None)
        if name is not None and not isinstance(name, str):
            raise ScenarioError(f"grid: {key}: found a policy whose name is {name!r:.60}, allowed is text", key, "grid")
        told = {"policy": type(value).__name__ if name is None else name}
        parameters = plain(getattr(value, "parameters", {}), f"{key}.parameters", source="grid")
        if not isinstance(parameters, dict):
            raise ScenarioError(f"grid: {key}: parameters of a policy are a dict of plain values", key, "grid")
        if "policy" in parameters:
            raise ScenarioError(f"grid: {key}: found a parameter policy, which is the name of a policy", key, "grid")
        told.update(parameters)
        # Compared as text: 1 and 1.0 are two values, and NaN equals itself.
        text = json.dumps(told, sort_keys=True)
        for role, other, found in self.own:
            if role == key and json.dumps(other, sort_keys=True) == text and found is not value:
                raise ScenarioError(
                    f"grid: {key}: found two policies {told}; swept policies must differ in their attribute name or in the dict parameters, and a "
                    "policy in several places must be one object",
                    key,
                    "grid",
                )
        if not any(found is value and role == key for role, _, found in self.own):
            self.own.append((key, told, value))
        return told


class PolicySets:
    """The policies in Python that each point has."""

    def __init__(self, axes: Axes, policies: dict[str, Any], own: list[list[int]]) -> None:
        #: Each combination once, by role.
        self.all: list[dict[str, Any]] = []
        #: Index of each point's combination.
        self.of_point: list[int] = []
        places: dict[tuple[int, ...], int] = {}
        for of_point in own:
            key = tuple(of_point)
            if key not in places:
                places[key] = len(self.all)
                swept = {axes.own[place][0]: axes.own[place][2] for place in key}
                self.all.append({**policies, **swept})
            self.of_point.append(places[key])


def _is_policy(value: object) -> bool:
    """Whether it is an object that no scenario could hold."""
    is_plain = isinstance(value, bool | int | float | str | bytes | os.PathLike | Mapping | Sequence)
    return value is not None and not is_plain and not hasattr(value, "dtype")


def _refuse(found: str) -> list[_wane.Axis]:
    raise ScenarioError(
        f'grid: found {found}, allowed are a dict such as {{"ftl.gc.d": [1, 2, 4]}} and a list of texts such as "ftl.gc.d=1,2,4"',
        None,
        "grid",
    )
