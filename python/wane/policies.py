"""Policies of one's own: objects of Python in the places of the firmware's policies.

``wane.run(scenario, policies={"ftl.gc": Greedy()})`` and ``wane.Drive(scenario, policies=...)`` take, for each role, an object with the role's
method; the protocols here say which methods an object may have besides. Each is asked with a view of what its role may know, under the names
that views have in Rust. A block is its number; a page is a mapping unit.

    >>> class Greedy:
    ...     def choose(self, view):
    ...         valid = view.lowest()
    ...         return None if valid is None or valid == view.units_per_block() else view.bucket_head(valid)

A view is there for the call that it is given to, and raises ``PolicyError`` afterwards. Its arrays are copies, made when they are asked for.
What an object raises, or answers though its role does not allow it, ends the run; it comes back unchanged, and ``out`` holds what was finished.
The object itself is asked, so that what it counts can be read afterwards; the dies of a drive with ``ftl.domain = "die"``, and copies of a
drive, have deep copies of it. Results name a policy by the object's attribute ``name``, or else by its class, and by its ``parameters``, a dict.

Policies run with the interpreter's lock, on the thread that called. The run keeps the lock and offers it every few milliseconds. A policy that
asks for the lowest bucket alone says so by ``IndexSpec(lowest_only=True)``, which saves the engine much of its work.
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

#: What happened to a block.
BlockEvent: TypeAlias = Literal["opened", "closed", "erased", "retired"]


class Setting(NamedTuple):
    """What an object with a method ``begin(setting)`` is told before all else.

    Attributes:
        first: The first block of its domain; ids of the others follow.
        blocks: Blocks of its domain: of the drive, or of a die with ``ftl.domain = "die"``.
        units_per_block: Pages in a block.
        endurance: Rated erases of a block; ``None`` where the drive has no rating.
        rated_blocks: Blocks of the domain without the garbage collector's reserve.
        seed: A seed of the policy's own, of 64 bits, drawn from the scenario's: with ``numpy.random.default_rng(setting.seed)`` the same
            scenario runs to the same numbers.
    """

    first: int
    blocks: int
    units_per_block: int
    endurance: int | None
    rated_blocks: int
    seed: int


class IndexSpec(NamedTuple):
    """What the engine keeps for a victim policy; its method ``index()`` gives it.

    Attributes:
        order: Of blocks with as many valid pages, who is the head of the bucket: the first that came to this number (``"entry"``), the one
            that closed first (``"closing"``), or the one with the fewest erases (``"wear"``).
        window: Only so many of the oldest closed blocks are in buckets; ``None``: all.
        lowest_only: Only the lowest bucket is asked for, which saves upkeep; a look at another one scans all blocks.
        reads: ``host_reads`` are counted.
    """

    order: Literal["entry", "closing", "wear"] = "entry"
    window: int | None = None
    lowest_only: bool = False
    reads: bool = False


class Refill(NamedTuple):
    """Copies the valid pages of a closed block into a free block, erases the closed one and frees it. ``from_block`` is the closed one."""

    from_block: int
    into_block: int


class Exchange(NamedTuple):
    """Puts the data of ``cold``, a closed and little worn block, into ``hot``, a closed and much worn one, and hot's into the next free block."""

    hot: int
    cold: int


class Relocate(NamedTuple):
    """Copies the valid pages of a block elsewhere, erases it and frees it."""

    block: int


class Check(NamedTuple):
    """Reads one valid page of a block; ``checked(block, rereads)`` tells how it read."""

    block: int


class Health(NamedTuple):
    """The condition of a block: that of its worst flash block.

    Attributes:
        expected_errors: Bit errors to expect in a codeword that is read now, which only a simulator knows.
        fresh_errors: The same just after a program.
        fresh_rber: Raw bit error rate just after a program.
        reads: Reads since the erase, re-reads included.
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
        erase_count: Its erases, this one included.
        endurance: Rated erases; ``None`` where the drive has no rating.
        cause: Who erased it: ``"garbage-collection"``, ``"wear-leveling"``, ``"scrub"`` or ``"metadata"``.
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
    """Role ``ftl.gc``: which closed block is reclaimed next. May have ``begin(setting)``, ``index()`` and ``heard`` besides.

    ``heard(event, block, erase_count)`` hears of every block that opened, closed, was erased or retired, with its erases after that.
    """

    def choose(self, view: GcView) -> int | None:
        """The victim, one of the closed blocks; ``None`` where none is worth it, of which a drive without free blocks dies."""


class AllocationPolicy(Protocol):
    """Role ``ftl.allocation``: which free block is opened next. May have ``begin(setting)`` and ``order()`` besides.

    ``order()`` gives ``"freed"``, by the time at which blocks became free, or ``"wear"``, by their erases.
    """

    def choose(self, view: FreeView) -> int:
        """The block to open, one of the free ones."""


class WearLevelPolicy(Protocol):
    """Role ``ftl.wear-leveling``: which data moves so that blocks wear alike. May have ``begin(setting)``, ``heard`` and ``tests_again()`` besides.

    Asked after an erase by garbage collection, and before a host write while its last answer was a move. With ``tests_again()`` true it is asked
    again at once. A move that cannot be done now is refused, and the result's warnings count how many were.
    """

    def plan(self, view: WearView) -> Refill | Exchange | None:
        """The move to make now, if any."""


class ScrubPolicy(Protocol):
    """Role ``ftl.scrub``: which blocks are relocated before their errors grow too many. May have ``begin(setting)`` and ``checked`` besides.

    Asked once after each host request, or in a timed run whenever its last relocation is through; only in ``wane.run``.
    """

    def next(self, view: ScrubView) -> Relocate | Check | None:
        """What to do next, if anything."""


class RetirePolicy(Protocol):
    """Role ``ftl.retire``: whether a block that was just erased leaves service. May have ``retires_at`` besides.

    ``retires_at(rated)`` gives the erases at which blocks leave, from 1 on, or ``None`` where that is not known: it is what the share of life used
    goes by. Copies of a drive share the object.
    """

    def verdict(self, view: RetireView) -> bool:
        """Whether it leaves service."""


Policy: TypeAlias = "VictimPolicy | AllocationPolicy | WearLevelPolicy | ScrubPolicy | RetirePolicy"

#: Objects by role: ``ftl.gc``, ``ftl.allocation``, ``ftl.wear-leveling``, ``ftl.scrub``, ``ftl.retire``.
Policies: TypeAlias = "Mapping[str, Policy]"
