"""A drive that one holds, step by step: written, aged, copied, looked at."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, TypeAlias

from wane import _wane
from wane._errors import ScenarioError
from wane._plain import plain
from wane._progress import Progress, telling
from wane._result import Result, Table, rows_as_html, table_of
from wane._run import assignments, resolved

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from wane.policies import Policies

#: A workload: a table of a scenario's ``[workload]``, or a name or a file, as ``wane drive age --workload`` takes it.
Workload: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"

#: Why a drive stopped aging.
Stopped: TypeAlias = Literal["target", "end-of-life", "trace-end"]

#: What a block can be.
STATES = ("free", "open", "closed", "retired")

#: What a copy is asked where nothing else is said: half reads, half writes, at random addresses.
LOOK = {"pattern": "uniform", "read-share": 0.5}


class Drive:
    """A drive in memory, new and empty. What ``wane drive`` does to a drive in a folder, one does to it here.

    A page is a mapping unit, which is the flash page unless the scenario sets a smaller one; pages have the numbers 0 to ``pages - 1``. A
    drive write is ``pages`` pages. Counts begin when the drive is new, and at 0 again after ``precondition``; wear and ``smart`` begin when it is
    new. All arrays are copies that cannot be written.

    The interpreter is let go while the drive works, so that other threads go on. Ctrl-C stops it between two steps and leaves it whole. It takes
    one call at a time: a second one, of another thread, raises ``WaneError`` at once.

        >>> drive = wane.Drive(preset="tiny")
        >>> drive.precondition()
        >>> drive.run("uniform", drive_writes=2)
        'target'
        >>> drive.erase_counts.mean()
        ...
    """

    def __init__(
        self,
        scenario: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        *,
        preset: str | None = None,
        set: Mapping[str, Any] | Iterable[str] | None = None,  # noqa: A002 - the command's name for it
        seed: int | None = None,
        scale: str | None = None,
        policies: Policies | None = None,
    ) -> None:
        """Builds the drive of a scenario, with the scenario's workload for ``run``. Its end (``until``) and its probes count for nothing here.

        Args:
            scenario: The path of a scenario file, or a dict with its tables and keys, as of ``wane.run``.
            preset: The drive to start from instead of the scenario's, such as ``"tiny"``; enough by itself.
            set: Values above the scenario's, as of ``wane.run``.
            seed: Root of all random streams instead of the scenario's.
            scale: A smaller drive of the same shape, as of ``wane.run``.
            policies: Objects of Python in the places of policies, by role, but for ``ftl.scrub``: see ``wane.policies``. What one raises stops the
                call at hand and is raised there unchanged; the drive stays whole.

        Raises:
            ScenarioError: The scenario cannot be read, resolved or built, or has several phases.
            OutOfMemoryError: The drive needs more memory than there is.
        """
        found = resolved("Drive", scenario, preset, set, seed, scale, endless=True)
        self._drive = _wane.Drive(found, None if policies is None else dict(policies))

    # What it does.

    def precondition(self, *, progress: bool | Callable[[Progress], object] | None = None) -> None:
        """Ages the drive as ``wane run`` does before it counts: by the scenario's ``[precondition]``, without wear leveling.

        Counts are 0 afterwards. Interrupted, or stopped by what a policy raised, it is as far as it came.

        Args:
            progress: As of ``wane.run``.

        Raises:
            WaneError: The drive is dead. One that dies of it is told by a ``UserWarning``.
        """
        with telling(progress, self._drive.name()) as told:
            cause = self._drive.precondition(*told)
        if cause is not None:
            warnings.warn(
                f"the drive died while it was preconditioned ({cause}), and takes no writes any more", stacklevel=2
            )

    def run(
        self,
        workload: Workload | None = None,
        *,
        drive_writes: float | None = None,
        wear: float | None = None,
        end_of_life: bool = False,
        progress: bool | Callable[[Progress], object] | None = None,
    ) -> Stopped:
        """Ages the drive by a workload. No request takes time, and no read errs; days pass where the scenario has ``time.drive-writes-per-day``.

        The workload goes on where it stood, unless it is another one than the last. Aging in parts comes to the same as at once, and to what
        ``wane.run`` comes to with the same seed. A drive that is aged so does not scrub.

        Args:
            workload: What ages it instead of its present workload: a dict such as ``{"pattern": "zipf", "exponent": 0.9}``, the name of a pattern,
                a stand-in or a YCSB workload, a scenario file's, or a block trace.
            drive_writes: So many more, 0 or more.
            wear: Until this share of its rated erases is used, 0 to 1.
            end_of_life: Until it takes no more writes.
            progress: As of ``wane.run``.

        Returns:
            Why it stopped: ``"target"``, or before that ``"end-of-life"`` or ``"trace-end"``.

        Raises:
            ScenarioError: There is no such workload, it writes nothing, or the drive's blocks never retire and it has no end.
            TraceError: A trace cannot be read.
        """
        target, amount = _target(drive_writes, wear, end_of_life)
        with telling(progress, self._drive.name()) as told:
            return self._drive.run(*_workload(workload), target, amount, *told)

    def write(self, pages: ArrayLike) -> int:
        """Writes pages, in their order.

        What a policy in Python raises ends it within 256 pages. Those before are written, and ``counters`` tell how many
        (``"host_pages_written"``). Until it ends, nothing more is asked of the drive's policies in Python.

        Args:
            pages: Numbers of pages: one, or an array, a list or a ``range`` of them, of shape ``(n,)``.

        Returns:
            How many the drive took: all, unless it is dead or dies.

        Raises:
            IndexError: There is no such page. Nothing is written.
        """
        return self._drive.write(self._numbers(pages))

    def read(self, pages: ArrayLike) -> NDArray[np.uint32]:
        """Reads pages. It takes no time, and may fail where the drive has a chip whose bits err.

        Args:
            pages: As of ``write``.

        Returns:
            The pages whose data could not be brought, of shape ``(failed,)``. A page that holds nothing reads well.

        Raises:
            IndexError: There is no such page. Nothing is read.
        """
        return self._drive.read(self._numbers(pages))

    def trim(self, pages: ArrayLike) -> None:
        """Forgets pages, so that garbage collection need not keep them. What a policy raises ends it as it ends ``write``.

        Args:
            pages: As of ``write``.

        Raises:
            IndexError: There is no such page. Nothing is forgotten.
        """
        self._drive.trim(self._numbers(pages))

    def wait(self, days: float, *, celsius: float | None = None) -> None:
        """Lets the drive lie without power: its data age.

        Args:
            days: 0 or more. A drive's days are counted up to 10^9.
            celsius: Degrees that it lies at, from -55 to 150: data age by Arrhenius' law, as ``drive.retention`` says. ``None``: as warm as they
                usually lie.

        Raises:
            TypeError: ``days`` or ``celsius`` is not a number.
            ValueError: ``days`` is negative or not finite, ``celsius`` is out of range or the drive's data do not age, or it would be too old.
                Nothing changes.
        """
        self._drive.wait(_number(days, "days"), None if celsius is None else _number(celsius, "celsius"))

    def probe(
        self,
        workload: Workload | None = None,
        *,
        requests: int = 20_000,
        set: Mapping[str, Any] | Iterable[str] | None = None,  # noqa: A002 - the command's name for it
        progress: bool | Callable[[Progress], object] | None = None,
    ) -> Result:
        """What the drive answers to requests now, in time: latencies and throughput of a copy of it. The drive itself stays as it is.

        Args:
            workload: What is asked, as of ``run``; half reads and half writes at random addresses where nothing is given.
            requests: How many, 1 to 10^9.
            set: Values of ``workload`` and ``time`` above the scenario's, such as ``{"workload.arrival.queue-depth": 16}``.
            progress: As of ``wane.run``.

        Returns:
            A result whose ``windows`` and ``latency_distribution`` tell of these requests.

        Raises:
            ScenarioError: There is no such workload, or a value is to change the drive.
            WaneError: The drive is dead and is asked to write.
        """
        if not 1 <= requests <= 1_000_000_000:
            raise ValueError(f"requests: found {requests}, allowed is 1 to 1000000000")
        asked = _workload(LOOK if workload is None else workload)
        with telling(progress, self._drive.name()) as told:
            return Result(self._drive.probe(*asked, assignments(set), requests, *told))

    # Copies.

    def fork(self) -> Drive:
        """An independent copy, which goes its own way from here: what is done to one is not seen by the other.

        Raises:
            TraceError: Its workload can be read only once, such as a trace from a pipe.
        """
        return _drive(self._drive.fork())

    def snapshot(self) -> Snapshot:
        """The drive as it is now, to come back to by ``restore``."""
        return Snapshot(self._drive.fork())

    def restore(self, snapshot: Snapshot) -> None:
        """Becomes again what it was, or what another drive was, when the snapshot was made. The snapshot can be used again.

        Raises:
            TypeError: ``snapshot`` is none, such as a drive.
            WaneError: One of the two has policies in Python and the other has none.
        """
        if not isinstance(snapshot, Snapshot):
            found = type(snapshot).__name__
            raise TypeError(f"restore: found a value of type {found}, allowed is what snapshot() of a drive gave")
        self._drive.restore(snapshot._drive)

    # How it fares.

    @property
    def pages(self) -> int:
        """Logical pages of the new drive."""
        return self._drive.pages()

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
        return self._drive.page_bytes()

    @property
    def drive_writes(self) -> float:
        """Drive writes since it was new, or since it was preconditioned."""
        return self._drive.drive_writes()

    @property
    def day(self) -> float:
        """Days since it was new, 0 where none pass."""
        return self._drive.day()

    @property
    def life_used(self) -> float | None:
        """Share of its rated erases that is used; ``None`` where no block ever retires."""
        return self._drive.life_used()

    @property
    def end_of_life(self) -> str | None:
        """What it died of, such as ``"spare-exhausted"``; ``None`` while it takes writes."""
        return self._drive.end_of_life()

    @property
    def counters(self) -> dict[str, int]:
        """What was counted: host pages written, read and trimmed, pages programmed and blocks erased by cause, and more; whole numbers."""
        return dict(self._drive.counters())

    @property
    def write_amplification(self) -> float | None:
        """Flash pages programmed for each page that the host wrote; ``None`` before the first one."""
        return self._drive.write_amplification()

    @property
    def blocks(self) -> Table:
        """The wear of its physical blocks, as ``Result.blocks``."""
        return table_of(self._drive.blocks())

    @property
    def erase_counts(self) -> NDArray[np.uint32]:
        """Erases of each physical block, of shape ``(blocks,)``."""
        return self._drive.erase_counts()

    @property
    def valid_pages(self) -> NDArray[np.uint32]:
        """Pages of each physical block that hold current data, of shape ``(blocks,)``."""
        return self.blocks["valid_pages"]

    @property
    def states(self) -> NDArray[np.str_]:
        """What each physical block is: ``"free"``, ``"open"``, ``"closed"`` or ``"retired"``; of shape ``(blocks,)``."""
        return self.blocks["state"]

    @property
    def ages(self) -> NDArray[np.float64]:
        """Drive writes since each physical block was filled, of shape ``(blocks,)``; ``nan`` of blocks that are not closed."""
        return self._drive.ages()

    def smart(self) -> dict[str, Any]:
        """The drive's health record, of which SMART pages are made: bytes, pages, erases, spare, percentage used, energy.

        Units stand in the names; the keys are those of the record in the book's chapter on SMART. ``None`` where the drive has no such thing.
        """
        return self._drive.smart()

    @property
    def scenario_toml(self) -> str:
        """What it is made of, and its present workload."""
        return self._drive.scenario_toml()

    def check(self) -> None:
        """Checks every invariant of the firmware, by a look at all of it.

        Raises:
            AssertionError: One does not hold, which is a bug of this package.
        """
        told = self._drive.check()
        if told is not None:
            raise AssertionError(told)

    def _numbers(self, pages: ArrayLike) -> NDArray[np.uint32]:
        return _pages(pages, self._drive.pages())

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        # By this go copy, deepcopy and pickle, and a copy of this object would be the same drive.
        raise TypeError(
            "a drive is not copied by copy or pickle: fork() is an independent copy, snapshot() one to come back to"
        )

    def _repr_html_(self) -> str:
        counts, amplification = self.erase_counts, self.write_amplification
        rows = {
            "drive": f"{self._drive.name()}, {self.pages} pages of {self.page_bytes} bytes",
            "drive writes": f"{self.drive_writes:.2f}",
            "write amplification": "none" if amplification is None else f"{amplification:.3f}",
            "erases of a block": f"{counts.min()} to {counts.max()}, mean {counts.mean():.1f}",
            "rated wear used": "no block ever retires" if self.life_used is None else f"{100 * self.life_used:.1f} %",
            "blocks": ", ".join(
                f"{(self.states == state).sum()} {state}" for state in STATES if (self.states == state).any()
            ),
            "end of life": self.end_of_life or "not yet",
        }
        return rows_as_html(rows.items())

    def __repr__(self) -> str:
        amplification, cause = self.write_amplification, self.end_of_life
        told = "none" if amplification is None else f"{amplification:.3f}"
        return (
            f"<wane.Drive {self._drive.name()!r} of {self.pages} pages: {self.drive_writes:.2f} drive writes, write amplification {told}"
            f"{f', dead ({cause})' if cause else ''}>"
        )


class Snapshot:
    """A drive as it was. ``Drive.snapshot`` makes it, ``Drive.restore`` and ``fork`` use it."""

    def __init__(self, drive: _wane.Drive) -> None:
        self._drive = drive

    def fork(self) -> Drive:
        """A drive that goes on from there."""
        return _drive(self._drive.fork())

    def __repr__(self) -> str:
        return f"<wane.Snapshot of {self._drive.name()!r} at {self._drive.drive_writes():.2f} drive writes>"


def _drive(native: _wane.Drive) -> Drive:
    drive = Drive.__new__(Drive)
    drive._drive = native
    return drive


def _pages(pages: ArrayLike, most: int) -> NDArray[np.uint32]:
    import numpy as np  # noqa: PLC0415 - here, so that the command starts without NumPy

    found = np.atleast_1d(np.asarray(pages))
    if found.dtype.kind in "fO" and not isinstance(pages, np.ndarray):
        # Whole numbers that are too large together are floating point or objects.
        given = np.atleast_1d(np.asarray(pages, dtype=object))
        if all(isinstance(page, int) for page in given.flat):
            found = given
    if found.ndim != 1:
        raise ValueError(f"pages: found an array of shape {found.shape}, allowed is a number or one dimension")
    if found.size == 0:
        return np.empty(0, np.uint32)
    if found.dtype.kind not in "iu" and not all(isinstance(page, int) for page in found):
        raise TypeError(f"pages: found values of type {found.dtype}, allowed are whole numbers")
    for page in (int(found.min()), int(found.max())):
        if not 0 <= page < most:
            raise IndexError(f"page {page}: the drive has {most} pages, 0 to {most - 1}")
    return found.astype(np.uint32)


def _number(value: object, name: str) -> float:
    # A text that float would take is none.
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: found a value of type {type(value).__name__}, allowed is a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}: found a number beyond those of floating point") from None


def _target(drive_writes: float | None, wear: float | None, end_of_life: bool) -> tuple[str, float]:
    given = [drive_writes is not None, wear is not None, end_of_life]
    if sum(given) != 1:
        raise ScenarioError("run needs one end: drive_writes, wear, or end_of_life=True")
    if drive_writes is not None:
        if not 0 <= drive_writes < 1e12:
            raise ScenarioError(f"drive_writes: found {drive_writes}, allowed is 0 and more", "drive_writes")
        return "drive-writes", float(drive_writes)
    if wear is not None:
        if not 0 < wear <= 1:
            raise ScenarioError(f"wear: found {wear}, allowed is a share of the rated erases, above 0 to 1", "wear")
        return "wear", float(wear)
    return "end-of-life", 0.0


def _workload(workload: Workload | None) -> tuple[str | None, dict[str, Any] | None]:
    if workload is None:
        return None, None
    if isinstance(workload, Mapping):
        return None, plain(workload, "workload")
    if isinstance(workload, str | os.PathLike):
        return os.fspath(workload), None
    found = type(workload).__name__
    raise ScenarioError(f"workload: found a value of type {found}, allowed are a name, a path and a dict", "workload")
