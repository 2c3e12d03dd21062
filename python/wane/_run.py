"""Runs scenarios, and reads their results."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from wane import _wane
from wane._errors import ScenarioError
from wane._plain import plain
from wane._progress import Progress, telling
from wane._result import Result

if TYPE_CHECKING:
    from wane._progress import SweepProgress
    from wane._sweep import Sweep
    from wane.policies import Policies


@overload
def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    preset: str | None = None,
    set: Mapping[str, Any] | Iterable[str] | None = None,
    seed: int | None = None,
    seeds: None = None,
    scale: str | None = None,
    policies: Policies | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Result: ...
@overload
def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    preset: str | None = None,
    set: Mapping[str, Any] | Iterable[str] | None = None,
    seed: int | None = None,
    seeds: int,
    scale: str | None = None,
    policies: Policies | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[SweepProgress], object] | None = None,
) -> Sweep: ...
def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    preset: str | None = None,
    set: Mapping[str, Any] | Iterable[str] | None = None,  # noqa: A002 - the command's name for it
    seed: int | None = None,
    seeds: int | None = None,
    scale: str | None = None,
    policies: Policies | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: bool | Callable[[Any], object] | None = None,
) -> Result | Sweep:
    """Runs a scenario to its end, as the command ``wane run`` does, with the same numbers.

    Other threads go on meanwhile. Ctrl-C ends the run as on the command line: the results so far are written to ``out``, marked as
    ``interrupted``, and ``KeyboardInterrupt`` is raised.

    Args:
        scenario: The path of a scenario file, or a dict with its tables and keys. Paths of traces may be relative to the file or, for a
        dict, to the working folder. May be left out if ``preset`` and ``set`` define all.
        preset: The drive to start from instead of the scenario's, such as ``"tiny"``; ``wane presets`` lists them.
        set: Values that override the scenario's: a dict such as ``{"ftl.gc.d": 4}``, or texts such as ``"ftl.gc.d=4"``. Later ones count.
        seed: Root of all random streams instead of the scenario's, from 0 on.
        seeds: Number of seeds to run it with, beginning with the scenario's: a ``Sweep`` of as many runs, as ``wane.sweep`` makes it, on all
        cores. Its rules for ``policies``, ``out`` and ``progress`` hold then, and ``force`` is not for it.
        scale: Run the drive as a smaller one of the same shape: ``"auto"``, or a ratio of its blocks such as ``"1/4"``.
        policies: Python objects in the places of policies, by role, such as ``{"ftl.gc": MyCollector()}``: see ``wane.policies``. If one raises,
        the run ends as by Ctrl-C, and the same exception is raised here.
        out: A folder for the results, as the command writes it; ``wane report`` and ``read`` open it. The results of a run before are
        replaced when the new results are whole; a ``UserWarning`` names other results that are removed with them.
        force: Whether runs of a sweep or of several seeds in ``out`` may also be replaced.
        progress: ``True`` shows it on stderr, ``False`` shows nothing, ``None`` shows a bar in a notebook, or on stderr if that is a
        terminal. A function is called about 20 times a second with a ``Progress``; if it raises, the run ends as by Ctrl-C, and the
        same exception is raised here.

    Returns:
        The result: numbers, tables and the report. With ``seeds`` a sequence of them.

    Raises:
        ValueError: ``force`` is given with ``seeds``.
        ScenarioError: The scenario cannot be read, resolved or built.
        TraceError: One of its traces cannot be read.
        OutOfMemoryError: It needs more memory than there is.
        ResultsError: ``out`` cannot be written, or holds several runs that would be lost.
        PolicyError: A policy in Python answered what its role does not allow.
    """
    if seeds is not None:
        from wane._sweep import sweep  # noqa: PLC0415 - it builds on this module

        if force:
            raise ValueError("force: found True with seeds, allowed without; a folder of other seeds is never replaced")
        return sweep(
            {},
            scenario,
            preset=preset,
            set=set,
            seed=seed,
            seeds=seeds,
            scale=scale,
            policies=policies,
            out=out,
            progress=progress,
        )
    found = resolved("run", scenario, preset, set, seed, scale)
    folder = None if out is None else os.fspath(out)
    own = None if policies is None else dict(policies)
    with telling(progress, found.name) as (bar, attend):
        result, removed = _wane.run(found, folder, bar, attend, own, force)
    if removed is not None:
        warnings.warn(removed, stacklevel=2)
    return Result(result)


def read(folder: str | os.PathLike[str]) -> list[Result]:
    """Reads the runs in a folder of results: one, or the members of a sweep, of several seeds or of the demo, in their order.

    Args:
        folder: The ``out`` of ``run``, or the ``--out`` of a command.

    Raises:
        ResultsError: There is no finished run in it, or one of its files cannot be read.
    """
    return [Result(result) for result in _wane.read(os.fspath(folder))]


def resolved(
    user: str,
    scenario: object,
    preset: str | None,
    set_: object,
    seed: int | None,
    scale: str | None,
    *,
    endless: bool = False,
) -> _wane.Scenario:
    """Resolves the scenario of the arguments of ``run``.

    Args:
        user: The function that needs it, for the message if there is no scenario.
        scenario: As for ``run``, like the others.
        preset: The preset.
        set_: Values that override it.
        seed: The seed.
        scale: The scale.
        endless: Whether it need not say when it ends.

    Raises:
        ScenarioError: It cannot be read or resolved.
    """
    if scenario is None and preset is None and not set_:
        raise ScenarioError(
            f"{user} needs a scenario: the path of a file, a dict, or a preset with values, such as "
            f'{user}(preset="tiny", set={{"until.drive-writes": 20}})'
        )
    path, table = (None, None) if scenario is None else source(scenario)
    values = assignments(set_)
    if seed is not None:
        values.append(("seed", plain(seed, "seed")))
    return _wane.resolve(path, table, preset, values, scale, endless)


def source(scenario: object) -> tuple[str | None, dict[str, Any] | None]:
    """Returns the path of a scenario's file, or its tables and keys.

    Raises:
        ScenarioError: It is neither.
    """
    if isinstance(scenario, Mapping):
        return None, plain(scenario, "")
    if isinstance(scenario, str | os.PathLike):
        # A file's name, not stdin, which is "-" on the command line.
        path = os.fspath(scenario)
        return "./-" if path == "-" else path, None
    found = type(scenario).__name__
    raise ScenarioError(f"scenario: found a value of type {found}, allowed are a path and a dict")


def assignments(set_: object) -> list[tuple[str, Any]]:
    """Returns the values of ``set`` as pairs of a key and a plain value.

    Raises:
        ScenarioError: A scenario could not hold one of them.
    """
    if set_ is None:
        return []
    if isinstance(set_, Mapping):
        return [(str(key), plain(value, str(key))) for key, value in set_.items()]
    if isinstance(set_, Iterable) and not isinstance(set_, str | bytes):
        return [_assignment(text) for text in set_]
    found = type(set_).__name__
    raise ScenarioError(
        f"set: found a value of type {found}, allowed are a dict and a list of texts KEY=VALUE", None, "set"
    )


def _assignment(text: object) -> tuple[str, str]:
    key, equals, value = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not equals:
        raise ScenarioError(f"set: found {text!r}, expected KEY=VALUE, such as ftl.gc.policy=d-choices", None, "set")
    return key, value
