"""A drive to use step by step: written, aged, copied, examined."""

from __future__ import annotations

import numbers
import operator
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, TypeAlias

from wane import _wane
from wane._errors import ScenarioError, WaneError
from wane._plain import plain
from wane._progress import Progress, telling
from wane._result import Result, Table, rows_as_html, table_of
from wane._run import assignments, resolved

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from wane.policies import Policies

#: A workload: a table like a scenario's ``[workload]``, or a name or a file, as for ``wane drive age --workload``.
Workload: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"

#: Why a drive stopped aging.
Stopped: TypeAlias = Literal["target", "end-of-life", "trace-end"]

#: States of a block.
STATES = ("free", "open", "closed", "retired")

#: The default workload of ``probe``: half reads, half writes, at random addresses.
LOOK = {"pattern": "uniform", "read-share": 0.5}


class Drive:
    """A drive in memory, new and empty. Its methods do what ``wane drive`` does to a drive in a folder.

    A page is a mapping unit, which is the flash page unless the scenario sets a smaller one. Pages have the numbers 0 to ``pages - 1``. A
    drive write is ``pages`` pages. Counts begin when the drive is new, and are 0 again after ``precondition``; wear and ``smart`` always count
    from the new drive. All arrays are copies that cannot be written.

    The interpreter's lock is released while the drive works, so that other threads go on. Ctrl-C stops it between two steps and leaves it whole. It
    takes one call at a time: a second call, from another thread, raises ``WaneError`` at once.

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
        """Builds the drive of a scenario, with the scenario's workload for ``run``. The scenario's end (``until``) and probes are ignored.

        Args:
            scenario: The path of a scenario file, or a dict with its tables and keys, as for ``wane.run``.
            preset: The drive to start from instead of the scenario's, such as ``"tiny"``; enough by itself.
            set: Values that override the scenario's, as for ``wane.run``.
            seed: Root of all random streams instead of the scenario's.
            scale: A smaller drive of the same shape, as for ``wane.run``.
            policies: Python objects in the places of policies, by role, except ``ftl.scrub``: see ``wane.policies``. If one raises, the present
            call stops and raises the same exception; the drive stays whole.

        Raises:
            ScenarioError: The scenario cannot be read, resolved or built, or has several phases.
            OutOfMemoryError: The drive needs more memory than there is.
        """
        found = resolved("Drive", scenario, preset, set, seed, scale, endless=True)
        self._drive = _wane.Drive(found, None if policies is None else dict(policies))

    # Work.

    def precondition(self, *, progress: bool | Callable[[Progress], object] | None = None) -> None:
        """Preconditions the drive as ``wane run`` does: by the scenario's ``[precondition]``, without wear leveling.

        Counts are 0 afterwards. If it is interrupted, or a policy raises, the drive stays in the state that it has reached.

        Args:
            progress: As for ``wane.run``.

        Raises:
            WaneError: The drive is dead. If it dies during preconditioning, that is a ``UserWarning``.
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
        fast_forward: float | None = None,
        progress: bool | Callable[[Progress], object] | None = None,
    ) -> Stopped:
        """Ages the drive by a workload. Requests take no time, and reads have no errors. Days pass if the scenario has ``time.drive-writes-per-day``.

        The last workload continues where it stopped, unless another one is given. Aging in parts has the same result as at once, and as ``wane.run``
        with the same seed. Meanwhile the drive does not scrub.

        Args:
            workload: A new workload: a dict such as ``{"pattern": "zipf", "exponent": 0.9}``, the name of a pattern, a stand-in or a YCSB
            workload, a scenario file with a workload, or a block trace.
            drive_writes: Age by this number of further drive writes, 0 or more.
            wear: Age until this share of its rated erases is used, 0 to 1.
            end_of_life: Age until it takes no more writes.
            fast_forward: One drive write in so many is simulated, about, and the wear of the others is predicted, 1 to 1,000. No data move in
                predicted drive writes, and ``counters`` leave them out. Calls in a row go on from what was learned.
            progress: As for ``wane.run``.

        Returns:
            Why it stopped: ``"target"`` if it reached the target, otherwise ``"end-of-life"`` or ``"trace-end"``.

        Raises:
            ScenarioError: There is no such workload, it writes nothing, or the drive's blocks never retire and it has no end.
            TraceError: A trace cannot be read.
        """
        target, amount = _target(drive_writes, wear, end_of_life)
        with telling(progress, self._drive.name()) as told:
            return self._drive.run(*_workload(workload), target, amount, fast_forward, *told)

    def write(self, pages: ArrayLike) -> int:
        """Writes pages, in their order.

        If a policy in Python raises, the call ends within 256 pages and asks the drive's policies in Python nothing more. The pages before that are
        written; ``counters`` have their number (``"host_pages_written"``).

        Args:
            pages: Numbers of pages: one, or an array, a list or a ``range`` of them, of shape ``(n,)``.

        Returns:
            Number of pages that the drive took: all, unless it is dead or dies.

        Raises:
            IndexError: There is no such page. Nothing is written.
        """
        return self._drive.write(self._numbers(pages))

    def read(self, pages: ArrayLike) -> NDArray[np.uint32]:
        """Reads pages. This takes no time, and may fail if the drive has a chip with bit errors.

        Args:
            pages: As for ``write``.

        Returns:
            The pages whose data could not be read, of shape ``(failed,)``. Reading a page without data does not fail.

        Raises:
            IndexError: There is no such page. Nothing is read.
        """
        return self._drive.read(self._numbers(pages))

    def trim(self, pages: ArrayLike) -> None:
        """Trims pages, so that garbage collection need not keep them. If a policy raises, the call ends as ``write`` does.

        Args:
            pages: As for ``write``.

        Raises:
            IndexError: There is no such page. Nothing is trimmed.
        """
        self._drive.trim(self._numbers(pages))

    def wait(self, days: float, *, celsius: float | None = None) -> None:
        """Lets the drive lie without power: its data age.

        Args:
            days: Days to wait, 0 or more. A drive's days are counted up to 10^9.
            celsius: Temperature in degrees Celsius, from -55 to 150: data age by Arrhenius' law, as ``drive.retention`` says. ``None``: that of
            ``drive.retention``.

        Raises:
            TypeError: ``days`` or ``celsius`` is not a number.
            ValueError: ``days`` is negative or not finite, ``celsius`` is out of range or the drive's data do not age, or the drive would become
            too old. Nothing changes.
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
        """Measures latencies and throughput of timed requests to a copy of the drive as it is now. The drive itself does not change.

        Args:
            workload: The workload, as for ``run``; by default half reads and half writes at random addresses.
            requests: Number of requests, 1 to 10^9.
            set: Values of ``workload`` and ``time`` that override the scenario's, such as ``{"workload.arrival.queue-depth": 16}``.
            progress: As for ``wane.run``.

        Returns:
            A result whose ``windows`` and ``latency_distribution`` are of these requests.

        Raises:
            ScenarioError: There is no such workload, or a value would change the drive.
            WaneError: The drive is dead and the workload writes, or it is an array (``probe_array``).
        """
        if not 1 <= requests <= 1_000_000_000:
            raise ValueError(f"requests: found {requests}, allowed is 1 to 1000000000")
        if self.members:
            raise WaneError("is an array of drives; probe_array() looks at it, and member(N).probe() at one of them")
        asked = _workload(LOOK if workload is None else workload)
        with telling(progress, self._drive.name()) as told:
            return Result(self._drive.probe(*asked, assignments(set), requests, *told))

    def probe_array(
        self,
        workload: Workload | None = None,
        *,
        requests: int = 20_000,
        set: Mapping[str, Any] | Iterable[str] | None = None,  # noqa: A002 - the command's name for it
    ) -> dict[str, Any]:
        """Measures how a copy of an array as it is now answers timed requests, and how its drives do. The array itself does not change.

        Args:
            workload: As for ``probe``, as are the others.
            requests: Number of requests, 1 to 10^9.
            set: Values of ``workload`` and ``time`` that override the scenario's.

        Returns:
            What ``wane drive probe --json`` prints of an array, an entry of ``array.probes`` in ``summary.json``: latencies that the host sees
            (``host``) and those of each drive (``drives``), in nanoseconds.

        Raises:
            ScenarioError: There is no such workload, or a value would change the drives.
            WaneError: It is one drive, or the array takes no writes any more and the workload writes.
        """
        if not 1 <= requests <= 1_000_000_000:
            raise ValueError(f"requests: found {requests}, allowed is 1 to 1000000000")
        if not self.members:
            raise WaneError("is one drive and no array; probe() looks at it")
        asked = _workload(LOOK if workload is None else workload)
        return self._drive.probe_array(*asked, assignments(set), requests)

    # Copies.

    def fork(self) -> Drive:
        """Makes an independent copy: changes to one do not affect the other.

        Raises:
            TraceError: The drive's workload can be read only once, such as a trace from a pipe.
        """
        return _drive(self._drive.fork())

    def snapshot(self) -> Snapshot:
        """Returns the drive's present state, to which ``restore`` can go back."""
        return Snapshot(self._drive.fork())

    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to the state of a snapshot of this or another drive. The snapshot can be used again.

        Raises:
            TypeError: ``snapshot`` is no snapshot, but for example a drive.
            WaneError: Only one of the two has policies in Python.
        """
        if not isinstance(snapshot, Snapshot):
            found = type(snapshot).__name__
            raise TypeError(f"restore: found a value of type {found}, allowed is what snapshot() of a drive gave")
        self._drive.restore(snapshot._drive)

    # State.

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
        """Days since it was new; 0 if no days pass."""
        return self._drive.day()

    @property
    def life_used(self) -> float | None:
        """Share of its rated erases that is used; ``None`` if no block ever retires."""
        return self._drive.life_used()

    @property
    def end_of_life(self) -> str | None:
        """Why it died, such as ``"spare-exhausted"``; ``None`` while it takes writes."""
        return self._drive.end_of_life()

    @property
    def counters(self) -> dict[str, int]:
        """Counters: host pages written, read and trimmed, pages programmed and blocks erased by cause, and more; whole numbers."""
        return dict(self._drive.counters())

    @property
    def write_amplification(self) -> float | None:
        """Flash pages programmed for each page that the host wrote; ``None`` before the first write."""
        return self._drive.write_amplification()

    @property
    def members(self) -> list[dict[str, Any]]:
        """The drives of an array, in their order; empty for one drive.

        Of each: ``member``, its number; ``new``, 0 for the drive of the scenario and N for the Nth that was put in; ``state``: ``"online"``,
        ``"read-only"`` (worn out, and still read) or ``"absent"`` (out); ``life_used``, ``None`` without power; ``stale_bytes``, which it should have
        and lacks; ``capacity_bytes``.
        """
        return self._drive.members()

    @property
    def condition(self) -> tuple[str, str] | None:
        """How safe an array's data are: ``"whole"``, ``"degraded"`` or ``"failed"``, and a sentence with what to do.

        ``None`` for one drive, and for an array without power.
        """
        return self._drive.standing()

    def member(self, number: int) -> Drive:
        """Looks at a drive of an array.

        It is an independent copy of the array as it is now, whose blocks, erases, ages, counters, health and probes are those of that drive.

        Raises:
            WaneError: This is no array, has no such drive, or that drive is out.
        """
        return _drive(self._drive.member(_place(number)))

    def take_out(self, number: int, *, force: bool = False) -> None:
        """Pulls a drive of an array, which goes on with the others and notes what this one misses.

        Raises:
            WaneError: The array has one copy of its data, the drive is out, or something could not be read without it and ``force`` is not given.
        """
        self._drive.tend("take-out", _place(number), force)

    def put_back(self, number: int) -> None:
        """Returns a drive that was taken out, and gives it what it misses.

        Raises:
            WaneError: The array has one copy of its data, or the drive is there or keeps nothing to come back by (``ftl.recovery``).
        """
        self._drive.tend("put-back", _place(number), False)

    def replace(self, number: int, *, force: bool = False) -> None:
        """Puts a new drive in the place of an array's drive, and gives it all that was there.

        Raises:
            WaneError: The array has one copy of its data, or something could not be read without the drive and ``force`` is not given.
        """
        self._drive.tend("replace", _place(number), force)

    def scrub(self) -> None:
        """Reads and compares all copies, or data and parities, of an array, and writes again what a drive lost.

        Raises:
            WaneError: This is no array, or one with one copy of its data.
        """
        self._drive.tend("scrub", 0, False)

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
        """State of each physical block: ``"free"``, ``"open"``, ``"closed"`` or ``"retired"``; of shape ``(blocks,)``."""
        return self.blocks["state"]

    @property
    def ages(self) -> NDArray[np.float64]:
        """Drive writes since each physical block was filled, of shape ``(blocks,)``; ``nan`` for blocks that are not closed."""
        return self._drive.ages()

    def smart(self) -> dict[str, Any]:
        """The drive's health record, from which SMART pages are made: bytes, pages, erases, spare, percentage used, energy.

        The names contain the units; the keys are those of the record in the book's chapter on SMART. Values that the drive lacks are ``None``.
        """
        return self._drive.smart()

    @property
    def scenario_toml(self) -> str:
        """The scenario of the drive and of its present workload, in TOML."""
        return self._drive.scenario_toml()

    def check(self) -> None:
        """Checks every invariant of the firmware, which looks at the whole drive.

        Raises:
            AssertionError: An invariant does not hold, which is a bug of this package.
        """
        told = self._drive.check()
        if told is not None:
            raise AssertionError(told)

    def _numbers(self, pages: ArrayLike) -> NDArray[np.uint32]:
        return _pages(pages, self._drive.pages())

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        # copy, deepcopy and pickle call this; a copy of this object would be the same drive.
        raise TypeError(
            "a drive is not copied by copy or pickle: fork() makes an independent copy, snapshot() a state to restore"
        )

    def _repr_html_(self) -> str:
        if self.members:
            return rows_as_html(
                [("array", f"{self._drive.name()}, {self.pages} pages of {self.page_bytes} bytes")]
                + [
                    (f"drive {one['member']}", f"{one['state']}, lacks {one['stale_bytes']} bytes")
                    for one in self.members
                ]
            )
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
    """A saved state of a drive. ``Drive.snapshot`` makes it, ``Drive.restore`` and ``fork`` use it."""

    def __init__(self, drive: _wane.Drive) -> None:
        self._drive = drive

    def fork(self) -> Drive:
        """Makes a new drive in this state."""
        return _drive(self._drive.fork())

    def __repr__(self) -> str:
        return f"<wane.Snapshot of {self._drive.name()!r} at {self._drive.drive_writes():.2f} drive writes>"


def _drive(native: _wane.Drive) -> Drive:
    drive = Drive.__new__(Drive)
    drive._drive = native
    return drive


def _place(number: int) -> int:
    number = operator.index(number)
    if number < 0:
        raise ValueError(f"number: found {number}, allowed is 0 and more")
    return number


def _pages(pages: ArrayLike, most: int) -> NDArray[np.uint32]:
    import numpy as np  # noqa: PLC0415 - here, so that the command starts without NumPy

    found = np.atleast_1d(np.asarray(pages))
    if found.dtype.kind in "fO" and not isinstance(pages, np.ndarray):
        # NumPy turns whole numbers that are too large for one type into floating point or objects.
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
    # A text is refused, although float would take it.
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
