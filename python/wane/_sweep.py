"""Grids of scenarios, run on threads of this process, in other processes, or on a cluster, with the same numbers and files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

from wane import _cluster, _wane
from wane._errors import ScenarioError, WaneError
from wane._grid import Axes, Grid, PolicySets
from wane._plain import plain
from wane._progress import SweepProgress, telling_of_sweep
from wane._result import Result, Table, table_of
from wane._run import assignments, source

if TYPE_CHECKING:
    from wane.policies import Policies

#: Schedulers by name.
SCHEDULERS = ("threads", "processes", "dask")


class Sweep(Sequence[Result]):
    """Results of a sweep: a sequence of the results of its runs, in grid order, with the last key changing fastest.

    ``print`` shows the table that ``wane run --sweep`` prints, the best first. It is also an Arrow stream (``__arrow_c_stream__``), that of
    ``table``.
    """

    def __init__(self, sweep: _wane.Sweep) -> None:
        self._sweep = sweep
        self._results: dict[int, Result] = {}

    @property
    def keys(self) -> list[str]:
        """The swept keys; ``"seed"`` is the last if seeds were asked for."""
        return self._sweep.keys()

    @cached_property
    def table(self) -> Table:
        """A row for each run: the values of the keys, then the figures of ``grid.csv`` under the same names.

        Columns have the shape ``(runs,)``. A key's values are numbers if all of them are: percentages as shares, sizes in bytes, durations in
        seconds. Figures are whole numbers, ``uint64``, if all runs have one, otherwise ``float64`` with ``nan`` if undefined.
        """
        return table_of(self._sweep.columns())

    def report(self) -> str:
        """The page ``report.html`` of all runs."""
        return self._sweep.report()

    def to_polars(self) -> Any:
        """``table`` as a ``polars.DataFrame``; see ``Table.to_polars``."""
        return self.table.to_polars()

    def to_pandas(self) -> Any:
        """``table`` as a ``pandas.DataFrame``; see ``Table.to_pandas``."""
        return self.table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The capsule of ``table``'s Arrow stream."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._sweep)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"run: found {index}, the sweep has {len(self)} runs")
        if at not in self._results:
            found = self._sweep.result(at)
            if found is None:
                raise WaneError(f"{self._sweep.name(at)}: it has no result")
            self._results[at] = Result(found)
        return self._results[at]

    def __iter__(self) -> Iterator[Result]:
        return (self[at] for at in range(len(self)))

    def __str__(self) -> str:
        return self._sweep.in_words().rstrip("\n")

    def __repr__(self) -> str:
        return f"<wane.Sweep of {len(self)} runs over {', '.join(self.keys)}>"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


class Points:
    """The points of a sweep, for the scheduler that runs them: which wait, and what became of the others."""

    def __init__(
        self, sweep: _wane.Sweep, sets: PolicySets, attend: Callable[[int, int, float], object] | None
    ) -> None:
        self._sweep = sweep
        self._sets = sets
        self._attend = attend
        self._told: tuple[int, int, float] | None = None
        #: The first point that failed, in grid order, and why.
        self.failed: tuple[int, BaseException] | None = None

    def waiting(self) -> list[int]:
        """The points that have no result yet."""
        return self._sweep.waiting()

    def workers(self) -> int:
        """Number of points that run at once on this machine: one on each core, and no more than memory allows."""
        return self._sweep.workers()

    def job(self, point: int) -> tuple[_wane.Job, int]:
        """The job that sends a point to another process, and the number of its set of policies."""
        return self._sweep.job(point), self._sets.of_point[point]

    def take(self, point: int, result: _wane.RunResult) -> None:
        """Takes a point's result, and writes it at once."""
        self._sweep.take(point, result)

    def fail(self, point: int, error: BaseException) -> None:
        """Notes that a point gave no result; the others go on."""
        self._sweep.fail(point, str(error))
        if self.failed is None or point < self.failed[0]:
            self.failed = (point, error)

    def step(self, point: int, preconditioning: bool, phase: int, drive_writes: float, done: float | None) -> None:
        """Notes how far a point is."""
        self._sweep.step(point, preconditioning, phase, drive_writes, done)

    def tell(self) -> None:
        """Reports how far the sweep is, if that has changed."""
        done = self._sweep.done()
        if self._attend is not None and done != self._told:
            self._told = done
            self._attend(*done)

    def run(self) -> None:
        """Runs the points on threads of this process."""
        self.failed = self._sweep.run(self._attend)
        # A sweep that takes no time has reported nothing yet.
        self.tell()


def sweep(
    grid: Grid,
    scenario: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    preset: str | None = None,
    set: Mapping[str, Any] | Iterable[str] | None = None,  # noqa: A002 - the command's name for it
    seed: int | None = None,
    seeds: int | None = None,
    scale: str | None = None,
    policies: Policies | None = None,
    scheduler: Literal["threads", "processes", "dask"] | Any = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[SweepProgress], object] | None = None,
) -> Sweep:
    """Runs each point of a grid, as ``wane run --sweep`` does, with the same numbers and files from every scheduler.

    If a point fails, the others still run; then what is finished is in ``out``, and the first failure is raised with the point's name. Ctrl-C
    ends the sweep with what is finished in ``out``; another call goes on from there.

    Args:
        grid: A dict from keys to lists of values, such as ``{"ftl.gc.d": [1, 2, 4]}``. Keys in a tuple change together, and have tuples of
            values. A text in place of a list is a list as for ``--sweep``, such as ``"1..8:1"``. Or a list of texts ``"KEY=V1,V2,..."``, as
            for ``--sweep``. At most 10,000 points, including seeds. It may be empty if ``seeds`` is given.
        scenario: The scenario, as for ``wane.run``: a path or a dict, or nothing if ``preset``, ``set`` and the grid define all.
        preset: As for ``wane.run``.
        set: Values that override the scenario's, as for ``wane.run``; the grid's override these.
        seed: Root of all random streams instead of the scenario's.
        seeds: Number of seeds with which each point is run, beginning with the scenario's; ``"seed"`` is the last key then.
        scale: As for ``wane.run``.
        policies: Python objects in the places of policies, as for ``wane.run``, but each point gets a copy: they go to other processes, by
        pickle, or by cloudpickle if it is installed. Finished points are recognized by the names and ``parameters`` of policies. To sweep
        policies, put them into the grid: ``{"ftl.gc": [Mine(2), Mine(8), "greedy"]}``; such objects must differ in ``name`` or
        ``parameters``, which results show as ``{ policy = "Mine", d = 2 }``.
        scheduler: What runs the points. ``"threads"``, the default: threads of this process, one on each core. ``"processes"``, the default with
        ``policies``, which threads cannot have: processes of this machine; one that dies is replaced. A ``dask.distributed.Client``: its
        cluster, whose workers need the same version of this package, and traces under the same paths; ``"dask"`` is the client that this
        process made last. In any case only this process writes results.
        out: A folder for the results, as the command writes it; ``wane report`` and ``read`` open it, and the command goes on with it. Points
            whose results are there are read instead of run. It must be new, or hold this same grid.
        progress: As for ``wane.run``; a function is called with a ``SweepProgress``.

    Returns:
        The results and a table of them.

    Raises:
        ScenarioError: The grid is wrong, or a point cannot be resolved or built.
        ResultsError: ``out`` cannot be written, or holds something else.
        MissingExtraError: ``"dask"`` is given, and Dask is not installed.
        WaneError: A point failed. The error's other classes are those of ``wane.run``; what a policy raises is raised unchanged.
        ValueError: There is no such scheduler, or it cannot have policies.
    """
    axes = Axes(grid, may_be_empty=seeds is not None)
    axes.check(policies)
    scheduler = _scheduler(scheduler, bool(policies or axes.own))
    path, table = (None, None) if scenario is None else source(scenario)
    values = assignments(set)
    if seed is not None:
        values.append(("seed", plain(seed, "seed")))
    own = [(role, told) for role, told, _ in axes.own]
    native, repeated = _wane.plan_sweep(path, table, preset, values, scale, axes.axes, _seeds(seeds), own)
    for sentence in repeated:
        warnings.warn(sentence, stacklevel=2)
    sets = PolicySets(axes, dict(policies or {}), [native.own(point) for point in range(len(native))])
    runner = _runner(scheduler, sets)
    with telling_of_sweep(progress) as (bar, attend):
        native.begin(None if out is None else os.fspath(out), sets.all, sets.of_point, bar)
        points = Points(native, sets, attend)
        try:
            runner(points)
        finally:
            # In any case, what is finished is kept.
            native.finish()
    if points.failed is not None:
        point, error = points.failed
        raise _named(error, native.name(point))
    return Sweep(native)


def _scheduler(scheduler: object, has_policies: bool) -> object:
    """Returns the scheduler: ``"threads"``, ``"processes"`` or a Dask client."""
    if scheduler is None:
        scheduler = "processes" if has_policies else "threads"
    if scheduler == "threads" and has_policies:
        raise ValueError('scheduler: found "threads" with policies, allowed are "processes" and a client of Dask')
    if scheduler == "dask":
        scheduler = _cluster.present_client()
    if scheduler not in ("threads", "processes") and not _cluster.is_client(scheduler):
        found = repr(scheduler) if isinstance(scheduler, str) else f"an object of type {type(scheduler).__name__}"
        allowed = ", ".join(f'"{name}"' for name in SCHEDULERS)
        raise ValueError(f"scheduler: found {found:.60}, allowed are {allowed} and a dask.distributed.Client")
    return scheduler


def _runner(scheduler: object, sets: PolicySets) -> Callable[[Points], None]:
    """Returns the function that runs the points."""
    if scheduler == "threads":
        return Points.run
    # Both others send policies to other processes.
    from wane import _processes, _worker  # noqa: PLC0415 - what threads do not need

    payload = _worker.packed(sets.all)
    if scheduler == "processes":
        return lambda points: _processes.run(points, payload)
    return lambda points: _cluster.run(scheduler, points, payload)


def _seeds(seeds: object) -> int | None:
    if seeds is None:
        return None
    count = plain(seeds, "seeds", source="seeds")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 2**32:
        raise ScenarioError(f"seeds: found {seeds!r:.60}, allowed is a whole number from 1 on", None, "seeds")
    return count


def _named(error: BaseException, point: str) -> BaseException:
    """Adds a point's name to its error: in the message of this package's errors, as a note to others."""
    if not isinstance(error, WaneError):
        error.add_note(f"at the point {point}")
        return error
    sentence = f"{point}: {error}"
    if isinstance(error, ScenarioError):
        return ScenarioError(sentence, error.key, error.source, error.line)
    return type(error)(sentence)
