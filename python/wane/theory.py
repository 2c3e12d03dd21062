"""Theory, which needs no run: closed forms and mean-field models, on NumPy arrays.

The occupancy model is that of the mean-field study (003). The state of a block of k pages is its number of valid pages, and shares of blocks
are arrays of shape ``(k + 1,)``, for 0 to k valid pages. A victim policy gives each state a weight. From the weights follow its cleaning cost
(mean valid pages of a victim, 0 to k) and its wear leveling (Jain's index of the erases, above 0 to 1).

If an argument may be an array of any shape, the answer has that shape; a single number gives a single number. If a model has no answer, that is a
``TheoryError``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, overload

from numpy.typing import ArrayLike

from wane import _wane
from wane._arrays import Asked, Numbers, shaped
from wane._errors import TheoryError

__all__ = [
    "OperatingPoint",
    "d_choices",
    "d_choices_weights",
    "d_for_cost",
    "d_for_wear_leveling",
    "greedy",
    "half_full_occupancy",
    "occupancy_after",
    "occupancy_from_rates",
    "operating_point",
    "optimal_wear_leveling",
    "optimal_weights",
    "random",
    "total_variation",
    "uniform_rates",
    "write_amplification",
]

_ASKED = Asked(TheoryError)


class OperatingPoint(NamedTuple):
    """Cost and wear of a victim policy.

    Attributes:
        cleaning_cost: Mean valid pages of a victim, 0 to k.
        wear_leveling: Jain's index of the erases, above 0 to 1.
        write_amplification: Pages programmed for each host page, from 1 on; infinite if every victim is full.
    """

    cleaning_cost: float
    wear_leveling: float
    write_amplification: float


def half_full_occupancy(pages: int) -> Numbers:
    """Shares of the blocks by valid pages under uniform requests to a drive that is half full: binomial(``pages``, 1/2).

    Source: 003, Theorem 1.

    Args:
        pages: Pages of a block, 1 to 16,384.

    Returns:
        Shares of shape ``(pages + 1,)``.
    """
    return _wane.half_full_occupancy(_ASKED.count("pages of a block", pages))


def uniform_rates(pages: int) -> tuple[Numbers, Numbers]:
    """Rates at which uniform requests change a block: with i of k valid pages it goes up at 1 - i / k and down at i / k. Source: 003, equation 5.

    Args:
        pages: Pages of a block, from 1 on.

    Returns:
        Rates from i to i + 1 valid pages and from i + 1 to i, both of shape ``(pages,)``, in moves for each request of a block.
    """
    return _wane.uniform_rates(_ASKED.count("pages of a block", pages))


def occupancy_from_rates(up: ArrayLike, down: ArrayLike, start: ArrayLike | None = None) -> Numbers:
    """Shares of the blocks by valid pages in the fixed point of the rates. Source: 003, Theorem 4, in logarithms.

    Args:
        up: Rates from i to i + 1 valid pages, of shape ``(k,)``, in moves a request a block.
        down: Rates from i + 1 to i valid pages, of shape ``(k,)``.
        start: Shares to start from, of shape ``(k + 1,)``; needed if the rates keep groups of states apart.

    Returns:
        Shares of shape ``(k + 1,)``.
    """
    first = None if start is None else _ASKED.row("start", start)
    return _wane.occupancy_from_rates(_ASKED.row("up", up), _ASKED.row("down", down), first)


def occupancy_after(up: ArrayLike, down: ArrayLike, start: ArrayLike, requests_per_block: float) -> Numbers:
    """Shares of the blocks by valid pages after ``requests_per_block`` requests. Source: 003, equations 5 and 9, solved by uniformization.

    Args:
        up: Rates from i to i + 1 valid pages, of shape ``(k,)``, in moves a request a block.
        down: Rates from i + 1 to i valid pages, of shape ``(k,)``.
        start: Shares to start from, of shape ``(k + 1,)``.
        requests_per_block: Requests, divided by the blocks; from 0 on.

    Returns:
        Shares of shape ``(k + 1,)``, exact within 1e-12.
    """
    time = _ASKED.number("requests_per_block", requests_per_block)
    return _wane.occupancy_after(_ASKED.row("up", up), _ASKED.row("down", down), _ASKED.row("start", start), time)


def total_variation(one: ArrayLike, other: ArrayLike) -> float:
    """Half the sum of absolute differences of two distributions of one shape: 0 if they are equal, 1 if they share nothing."""
    return _wane.total_variation(_ASKED.row("one", one), _ASKED.row("other", other))


def operating_point(occupancy: ArrayLike, weights: ArrayLike) -> OperatingPoint:
    """Cost and wear for given weights of the states. Source: 003, equations 12, 13 and 25.

    Args:
        occupancy: Shares of the blocks by valid pages, of shape ``(k + 1,)``.
        weights: Chance of a block of each state to be the victim, relative to that of an average block; of shape ``(k + 1,)``.
    """
    return OperatingPoint(*_wane.operating_point(_ASKED.row("occupancy", occupancy), _ASKED.row("weights", weights)))


def random(occupancy: ArrayLike) -> OperatingPoint:
    """Cost and wear of random victims: all weights are 1. ``occupancy`` has shape ``(k + 1,)``."""
    return OperatingPoint(*_wane.random_victims(_ASKED.row("occupancy", occupancy)))


def greedy(occupancy: ArrayLike) -> OperatingPoint:
    """Cost and wear of greedy victims, the blocks with the fewest valid pages. ``occupancy`` has shape ``(k + 1,)``."""
    return OperatingPoint(*_wane.greedy(_ASKED.row("occupancy", occupancy)))


@overload
def d_choices(occupancy: ArrayLike, d: float) -> tuple[float, float]: ...
@overload
def d_choices(occupancy: ArrayLike, d: ArrayLike) -> tuple[Numbers, Numbers]: ...
def d_choices(occupancy: ArrayLike, d: Any) -> tuple[Any, Any]:
    """Cost and wear if the victim is the emptiest of ``d`` blocks. Source: 003, equation 26, the randomized greedy algorithm.

    Args:
        occupancy: Shares of the blocks by valid pages, of shape ``(k + 1,)``.
        d: Blocks drawn, from 1 on, a number or an array of any shape; a fraction mixes its neighbors.

    Returns:
        Cleaning cost, 0 to k valid pages, and wear leveling, above 0 to 1; each of the shape of ``d``.
    """
    choices = _ASKED.numbers("d", d)
    costs, levels = _wane.d_choices(_ASKED.row("occupancy", occupancy), choices.ravel())
    return shaped(costs, choices.shape), shaped(levels, choices.shape)


def d_choices_weights(occupancy: ArrayLike, d: float) -> Numbers:
    """The weights of ``d``-choices, of shape ``(k + 1,)``; 0 for states without a block. Source: 003, equation 26."""
    return _wane.d_choices_weights(_ASKED.row("occupancy", occupancy), _ASKED.number("d", d))


@overload
def optimal_wear_leveling(occupancy: ArrayLike, cost: float) -> float: ...
@overload
def optimal_wear_leveling(occupancy: ArrayLike, cost: ArrayLike) -> Numbers: ...
def optimal_wear_leveling(occupancy: ArrayLike, cost: Any) -> Any:
    """The most even wear at a cleaning cost. Source: 003, Theorem 5, both branches.

    Args:
        occupancy: Shares of the blocks by valid pages, of shape ``(k + 1,)``.
        cost: Mean valid pages of a victim, a number or an array of any shape; between the fewest and the most that any block holds.

    Returns:
        Wear leveling, above 0 to 1, of the shape of ``cost``.
    """
    return _each(_wane.optimal_wear_leveling, occupancy, "cost", cost)


def optimal_weights(occupancy: ArrayLike, cost: float) -> Numbers:
    """The weights that wear most evenly at a cleaning cost, of shape ``(k + 1,)``. Source: 003, Theorem 5."""
    return _wane.optimal_weights(_ASKED.row("occupancy", occupancy), _ASKED.number("cost", cost))


@overload
def d_for_cost(occupancy: ArrayLike, cost: float) -> float: ...
@overload
def d_for_cost(occupancy: ArrayLike, cost: ArrayLike) -> Numbers: ...
def d_for_cost(occupancy: ArrayLike, cost: Any) -> Any:
    """The smallest d of d-choices whose cleaning cost is at most ``cost``, of its shape; a fraction mixes its neighbors.

    Args:
        occupancy: Shares of the blocks by valid pages, of shape ``(k + 1,)``.
        cost: Mean valid pages of a victim, above greedy's and up to that of random victims.
    """
    return _each(_wane.d_for_cost, occupancy, "cost", cost)


@overload
def d_for_wear_leveling(occupancy: ArrayLike, wear_leveling: float) -> float: ...
@overload
def d_for_wear_leveling(occupancy: ArrayLike, wear_leveling: ArrayLike) -> Numbers: ...
def d_for_wear_leveling(occupancy: ArrayLike, wear_leveling: Any) -> Any:
    """The largest d of d-choices whose wear leveling is at least ``wear_leveling``, of its shape; a fraction mixes its neighbors.

    Args:
        occupancy: Shares of the blocks by valid pages, of shape ``(k + 1,)``.
        wear_leveling: Jain's index of the erases, above greedy's and up to 1.
    """
    return _each(_wane.d_for_wear_leveling, occupancy, "wear_leveling", wear_leveling)


@overload
def write_amplification(
    policy: str, spare_factor: float, pages_per_block: int = 256, *, d: float | None = None
) -> float: ...
@overload
def write_amplification(
    policy: str, spare_factor: ArrayLike, pages_per_block: int = 256, *, d: float | None = None
) -> Numbers: ...
def write_amplification(policy: str, spare_factor: Any, pages_per_block: int = 256, *, d: float | None = None) -> Any:
    """Pages programmed for each host page, from 1 on, under uniform writes to a drive of many blocks in a steady state.

    Source: mean-field models after Van Houdt (random, d-choices, greedy) and Desnoyers, "Analytic Models of SSD Write Performance", 2014 (FIFO).

    Args:
        policy: The victim policy: ``"random"``, ``"d-choices"``, ``"greedy"`` or ``"fifo"``.
        spare_factor: (Physical - logical) / physical pages, without garbage collection's reserve, 0.001 to 0.999; a number or an array of any
        shape.
        pages_per_block: Pages of a block, 1 to 16,384; FIFO's answer holds for any.
        d: Blocks that d-choices draws, from 1 on.

    Returns:
        Write amplification, of the shape of ``spare_factor``.
    """
    spare = _ASKED.numbers("spare_factor", spare_factor)
    pages = _ASKED.count("pages of a block", pages_per_block)
    choices = None if d is None else _ASKED.number("d", d)
    return shaped(_wane.write_amplification(policy, spare.ravel(), pages, choices), spare.shape)


def _each(answer: Callable[[Numbers, Numbers], Numbers], occupancy: ArrayLike, what: str, questions: ArrayLike) -> Any:
    asked = _ASKED.numbers(what, questions)
    return shaped(answer(_ASKED.row("occupancy", occupancy), asked.ravel()), asked.shape)
