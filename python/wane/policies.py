"""Your own policies: Python objects in the places of the firmware's policies.

``wane.run(scenario, policies={"ftl.gc": Greedy()})`` and ``wane.Drive(scenario, policies=...)`` take, for each role, an object with the role's
method; the protocols here say which other methods an object may have. Each method gets a view of what its role may know, with the same names as
views in Rust. A block is given by its number; a page is a mapping unit.

    >>> class Greedy:
    ...     def choose(self, view):
    ...         valid = view.lowest()
    ...         return None if valid is None or valid == view.units_per_block() else view.bucket_head(valid)

A view is valid only during the call to which it is given, and raises ``PolicyError`` afterwards. Its arrays are copies, made on request.
If an object raises, or gives an answer that its role does not allow, the run ends and raises that error, and ``out`` holds what was finished.
The object itself is asked, so that what it counts can be read afterwards; the dies of a drive with ``ftl.domain = "die"``, and copies of a
drive, have deep copies of it. Results name a policy by the object's attribute ``name``, otherwise by its class, and by its ``parameters``, a dict.

Policies run with the interpreter's lock, on the calling thread. The run keeps the lock and offers it every few milliseconds. A policy that asks
only for the lowest bucket says so by ``IndexSpec(lowest_only=True)``, which saves the engine much of its work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from wane._wane import FreeView, GcView, ScrubView, WearView

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "AllocationPolicy",
    "Check",
    "Exchange",
    "FreeView",
    "GcView",
    "Health",
    "IndexSpec",
    "Policies",
    "Refill",
    "Relocate",
    "RetirePolicy",
    "RetireView",
    "ScrubPolicy",
    "ScrubView",
    "Setting",
    "VictimPolicy",
    "WearLevelPolicy",
    "WearView",
]

#: Events of a block.
BlockEvent: TypeAlias = Literal["opened", "closed", "erased", "retired"]


class Setting(NamedTuple):
    """The argument of an object's method ``begin(setting)``, which is called before all others.

    Attributes:
        first: The first block of its domain; the ids of the others follow.
        blocks: Number of blocks of its domain: of the drive, or of a die with ``ftl.domain = "die"``.
        units_per_block: Pages in a block.
        endurance: Rated erases of a block; ``None`` if the drive has no rating.
        rated_blocks: Number of blocks of the domain without the garbage collector's reserve.
        seed: The policy's own seed of 64 bits, drawn from the scenario's: with ``numpy.random.default_rng(setting.seed)`` the same
        scenario gives the same numbers.
    """

    first: int
    blocks: int
    units_per_block: int
    endurance: int | None
    rated_blocks: int
    seed: int


class IndexSpec(NamedTuple):
    """What the engine keeps for a victim policy. The policy's method ``index()`` returns it.

    Attributes:
        order: Which of the blocks with equally many valid pages is the head of the bucket: the first that reached this number (``"entry"``),
        the one that closed first (``"closing"``), or the one with the fewest (``"wear"``) or the most erases (``"most-worn"``).
        window: Number of the oldest closed blocks that are in buckets; ``None``: all.
        lowest_only: Whether only the lowest bucket is used, which saves upkeep; using another one scans all blocks.
        reads: Whether ``host_reads`` are counted.
    """

    order: Literal["entry", "closing", "wear", "most-worn"] = "entry"
    window: int | None = None
    lowest_only: bool = False
    reads: bool = False


class Refill(NamedTuple):
    """Copies the valid pages of a closed block into a free block, then erases and frees the closed block. ``from_block`` is the closed block."""

    from_block: int
    into_block: int


class Exchange(NamedTuple):
    """Moves the data of ``cold``, a closed, little worn block, into ``hot``, a closed, much worn one, and those of ``hot`` to the next free block."""

    hot: int
    cold: int


class Relocate(NamedTuple):
    """Copies the valid pages of a block elsewhere, erases it and frees it."""

    block: int


class Check(NamedTuple):
    """Reads one valid page of a block; the engine then calls ``checked(block, rereads)``."""

    block: int


class Health(NamedTuple):
    """The condition of a block: that of its worst flash block.

    Attributes:
        expected_errors: Expected bit errors in a codeword that is read now, which only a simulator knows.
        fresh_errors: Expected bit errors in a codeword just after a program.
        fresh_rber: Raw bit error rate just after a program.
        reads: Reads since the erase, including re-reads.
        rereads: Re-reads since the erase.
        age_days: Days since its oldest page was programmed.
    """

    expected_errors: float
    fresh_errors: float
    fresh_rber: float
    reads: int
    rereads: int
    age_days: float


class RetireView(NamedTuple):
    """What a retirement policy sees: a block that was just erased.

    Attributes:
        erase_count: Its erases, including this one.
        endurance: Rated erases; ``None`` if the drive has no rating.
        cause: Why it was erased: ``"garbage-collection"``, ``"wear-leveling"``, ``"scrub"`` or ``"metadata"``.
        rber: Its raw bit error rate just after a program; 0 on flash without errors.
        failures: Programs of it that failed so far.
        mode: The drive's mode, ``"normal"`` or ``"degraded"``.
    """

    erase_count: int
    endurance: int | None
    cause: str
    rber: float
    failures: int
    mode: str


class VictimPolicy(Protocol):
    """Role ``ftl.gc``: which closed block is reclaimed next. May also have ``begin(setting)``, ``index()`` and ``heard``.

    ``heard(event, block, erase_count)`` is called for every block that opened, closed, was erased or retired, with its erases after that.
    """

    def choose(self, view: GcView) -> int | None:
        """Returns the victim, one of the closed blocks; ``None`` if none is worth it. A drive without free blocks dies of ``None``."""


class AllocationPolicy(Protocol):
    """Role ``ftl.allocation``: which free block is opened next. May also have ``begin(setting)`` and ``order()``.

    ``order()`` returns ``"freed"``, the order by the time at which blocks became free, or ``"wear"``, by their erases.
    """

    def choose(self, view: FreeView) -> int:
        """Returns the block to open, one of the free blocks."""


class WearLevelPolicy(Protocol):
    """Role ``ftl.wear-leveling``: which data move so that blocks wear evenly. May also have ``begin(setting)``, ``heard`` and ``tests_again()``.

    It is asked after an erase by garbage collection, and before a host write if its last answer was a move. If ``tests_again()`` is true, it is
    asked again at once. A move that cannot be done now is refused; the result's warnings count refused moves.
    """

    def plan(self, view: WearView) -> Refill | Exchange | None:
        """Returns the move to make now, if any."""


class ScrubPolicy(Protocol):
    """Role ``ftl.scrub``: which blocks are relocated before they have too many errors. May also have ``begin(setting)`` and ``checked``.

    It is asked once after each host request, or in a timed run whenever its last relocation is done; only in ``wane.run``.
    """

    def next(self, view: ScrubView) -> Relocate | Check | None:
        """Returns what to do next, if anything."""


class RetirePolicy(Protocol):
    """Role ``ftl.retire``: whether a block that was just erased leaves service. May also have ``retires_at``.

    ``retires_at(rated)`` returns the erases at which blocks retire, from 1 on, or ``None`` if that is unknown. The share of life used is relative
    to it. Copies of a drive share the object.
    """

    def verdict(self, view: RetireView) -> bool:
        """Returns whether the block leaves service."""


Policy: TypeAlias = "VictimPolicy | AllocationPolicy | WearLevelPolicy | ScrubPolicy | RetirePolicy"

#: Objects by role: ``ftl.gc``, ``ftl.allocation``, ``ftl.wear-leveling``, ``ftl.scrub``, ``ftl.retire``.
Policies: TypeAlias = "Mapping[str, Policy]"
