"""What heat does to drives: two models at 25 to 50 °C (002, chapter 6), tests of significance, and how temperature scales retention.

Tables are read with interpolation, and every value says what it rests on: ``"measured"``, ``"interpolated"`` between two temperatures, or
``"clamped"`` to the nearest one beyond them. Where a question may be an array of any shape, so is the answer; a single number has one. What has no
answer is a ``FleetError``. The names of models, benchmarks, metrics, loads and directions are in the tuples below; letters may have either case.
"""

from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wane import _wane
from wane._arrays import Asked, Numbers, shaped
from wane._errors import FleetError

__all__ = [
    "ACTIVATION_ENERGY",
    "BENCHMARKS",
    "DIRECTIONS",
    "LOADS",
    "METRICS",
    "MODELS",
    "Misprint",
    "Readings",
    "Recomputed",
    "Spread",
    "TTest",
    "acceleration",
    "degradation",
    "loss",
    "misprints",
    "performance",
    "pooled_deviation",
    "recomputed",
    "retention",
    "spread",
    "t_test",
    "t_test_from_moments",
    "throughput",
]

_ASKED = Asked(FleetError)

_NAMES = [tuple(names) for names in _wane.heat_names()]

#: Models of drives: ``"a"`` is of 512 GB, ``"b"`` of 118 GB and probably no QLC drive (see ``misprints``).
MODELS: tuple[str, ...] = _NAMES[0]

#: Jobs of fio (002, section 6.3.1).
BENCHMARKS: tuple[str, ...] = _NAMES[1]

#: What fio told: MB/s, operations a second, microseconds.
METRICS: tuple[str, ...] = _NAMES[2]

#: Hadoop benchmarks whose requests were replayed (002, section 6.3.2).
LOADS: tuple[str, ...] = _NAMES[3]

#: Directions of a load.
DIRECTIONS: tuple[str, ...] = _NAMES[4]

#: The activation energy of charge loss that JESD218 reckons with, in electronvolts; a convention that measured drives depart from.
ACTIVATION_ENERGY = 1.1

Variances: TypeAlias = Literal["equal", "apart"]


class Readings(NamedTuple):
    """Values of a table and what they rest on.

    Attributes:
        value: The values, of the shape of the temperatures.
        basis: ``"measured"``, ``"interpolated"`` or ``"clamped"`` for each, of the same shape.
    """

    value: Any
    basis: Any


class Recomputed(NamedTuple):
    """A degradation from 25 °C that the paper prints, made anew from its raw tables.

    Attributes:
        model: One of ``MODELS``.
        benchmark: One of ``BENCHMARKS``.
        metric: One of ``METRICS``.
        celsius: 35 or 50.
        percent: From tables 6.4 and 6.5.
        printed: As tables 6.6 and 6.7 have it, in percent.
        is_rounding: Whether the rounding of the raw tables can explain the difference.
    """

    model: str
    benchmark: str
    metric: str
    celsius: float
    percent: float
    printed: float
    is_rounding: bool


class Misprint(NamedTuple):
    """A figure of 002, chapters 5 and 6, that its own numbers contradict.

    Attributes:
        place: Where it stands.
        printed: What stands there.
        found: What the paper's other numbers come to, or what is wrong.
    """

    place: str
    printed: str
    found: str


class TTest(NamedTuple):
    """What a t-test came to.

    Attributes:
        statistic: The difference of the means in standard errors, the first less the second.
        freedom: Degrees of freedom.
        p_value: How probable a t so far from 0 is, on either side, where the means are the same.
    """

    statistic: float
    freedom: float
    p_value: float


class Spread(NamedTuple):
    """How far the 100 replays of a load spread, recovered from printed means and p-values.

    Attributes:
        deviations: Standard deviations at 25, 35, 45 and 50 °C in MB/s, of shape ``(4,)``; NaN where one is too small beside the others to be told.
        mismatch: The largest relative difference between one of six pooled variances and what the four come to.
    """

    deviations: Numbers
    mismatch: float


def performance(model: str, benchmark: str, metric: str, celsius: ArrayLike) -> Readings:
    """What a job of fio comes to. Source: 002, tables 6.4 and 6.5, measured at 25, 35 and 50 °C.

    Between 35 and 50 °C a line is probably too pessimistic: of the replayed loads at 45 °C it misses 13 % on average.

    Args:
        model: One of ``MODELS``.
        benchmark: One of ``BENCHMARKS``.
        metric: One of ``METRICS``.
        celsius: Temperatures around the drive, 0 to 66; a number or an array of any shape.

    Returns:
        MB/s, operations a second or microseconds, and what each rests on.
    """
    temperatures = _ASKED.numbers("celsius", celsius)
    return _readings(_wane.heat_performance(model, benchmark, metric, temperatures.ravel()), temperatures)


def loss(model: str, benchmark: str, metric: str, celsius: ArrayLike) -> Readings:
    """How much worse ``performance`` is than at 25 °C, in percent; negative where it is better. Arguments as there."""
    temperatures = _ASKED.numbers("celsius", celsius)
    return _readings(_wane.heat_loss(model, benchmark, metric, temperatures.ravel()), temperatures)


def throughput(model: str, load: str, direction: str, celsius: ArrayLike) -> Readings:
    """What a replayed Hadoop load comes to. Source: 002, tables 6.12 and 6.13, measured at 25, 35, 45 and 50 °C.

    Args:
        model: One of ``MODELS``.
        load: One of ``LOADS``.
        direction: ``"read"`` or ``"write"``; Pagerank has no reads.
        celsius: Temperatures around the drive, 0 to 66; a number or an array of any shape.

    Returns:
        MB/s, and what each rests on.
    """
    temperatures = _ASKED.numbers("celsius", celsius)
    return _readings(_wane.heat_throughput(model, load, direction, temperatures.ravel()), temperatures)


@overload
def degradation(metric: str, cold: float, hot: float) -> float: ...
@overload
def degradation(metric: str, cold: ArrayLike, hot: ArrayLike) -> Any: ...
def degradation(metric: str, cold: Any, hot: Any) -> Any:
    """How much worse a metric is in the heat, in percent of its value in the cold; negative where better. Source: 002, section 6.3.1.1.

    Args:
        metric: One of ``METRICS``: less is worse but of ``"latency"``.
        cold: Values in the cold, above 0; a number or an array of any shape.
        hot: Values in the heat, above 0; broadcast with ``cold``.
    """
    arrays, shape = _ASKED.broadcast({"cold": cold, "hot": hot})
    return shaped(_wane.heat_degradation(metric, *arrays), shape)


def recomputed() -> list[Recomputed]:
    """The 72 degradations of tables 6.6 and 6.7 of 002, made anew from tables 6.4 and 6.5."""
    return [Recomputed(*row) for row in _wane.heat_recomputed()]


def misprints() -> list[Misprint]:
    """Where 002 contradicts itself in chapters 5 and 6."""
    return [Misprint(*row) for row in _wane.heat_misprints()]


def t_test(one: ArrayLike, other: ArrayLike, *, variances: Variances = "equal") -> TTest:
    """Student's t-test of two samples, two-sided. Source: 002, section 6.3.1.2, whose printed formula is damaged; Welch 1947 for ``"apart"``.

    Args:
        one: Measurements, two or more, of shape ``(n,)``.
        other: Measurements, two or more, of shape ``(m,)``.
        variances: ``"equal"`` for one variance of both, as the paper has it; ``"apart"`` where heat may change it too (Welch's test).
    """
    return TTest(
        *_wane.heat_t_test(
            _wane.heat_sample(_ASKED.row("a sample", one)), _wane.heat_sample(_ASKED.row("a sample", other)), variances
        )
    )


def t_test_from_moments(
    one: tuple[float, float, int], other: tuple[float, float, int], *, variances: Variances = "equal"
) -> TTest:
    """The same of samples of which mean, variance (over one less than their number) and number are known."""
    return TTest(*_wane.heat_t_test(_moments(one), _moments(other), variances))


def pooled_deviation(mean: float, other_mean: float, p_value: float, count_of_each: int) -> float:
    """The pooled standard deviation of two samples of one size, from their means and the p-value of the pooled test between them.

    Args:
        mean: One mean.
        other_mean: The other one, which differs.
        p_value: From 1e-300 to below 1.
        count_of_each: Measurements of each sample, from 2 on.
    """
    means = (_ASKED.number("mean", mean), _ASKED.number("other_mean", other_mean))
    return _wane.heat_pooled_deviation(
        *means, _ASKED.number("p_value", p_value), _ASKED.count("count_of_each", count_of_each)
    )


def spread(model: str, load: str, direction: str) -> Spread | None:
    """How far the replays of a load spread, which 002 shows in box plots only: four deviations from the p-values of six pairs.

    ``None`` where the load has nothing in this direction, or where its means are printed too coarsely to differ. Our derivation from tables 6.12 to
    6.17.
    """
    found = _wane.heat_spread(model, load, direction)
    if found is None:
        return None
    deviations, mismatch = found
    return Spread(np.array([np.nan if each is None else each for each in deviations]), mismatch)


@overload
def acceleration(celsius: float, reference_celsius: float, activation_energy: float = ...) -> float: ...
@overload
def acceleration(celsius: ArrayLike, reference_celsius: ArrayLike, activation_energy: ArrayLike = ...) -> Any: ...
def acceleration(celsius: Any, reference_celsius: Any, activation_energy: Any = ACTIVATION_ENERGY) -> Any:
    """How many times as fast data age at ``celsius`` as at ``reference_celsius``: Arrhenius' law, e^(E/k (1/T_ref - 1/T)).

    Args:
        celsius: Temperatures of the flash, -55 to 150; a number or an array of any shape, as the other two.
        reference_celsius: Temperatures to compare with, -55 to 150.
        activation_energy: In electronvolts, above 0 and up to 3.
    """
    named = {"celsius": celsius, "reference_celsius": reference_celsius, "activation_energy": activation_energy}
    arrays, shape = _ASKED.broadcast(named)
    return shaped(_wane.heat_acceleration(*arrays), shape)


@overload
def retention(time: float, reference_celsius: float, celsius: float, activation_energy: float = ...) -> float: ...
@overload
def retention(
    time: ArrayLike, reference_celsius: ArrayLike, celsius: ArrayLike, activation_energy: ArrayLike = ...
) -> Any: ...
def retention(time: Any, reference_celsius: Any, celsius: Any, activation_energy: Any = ACTIVATION_ENERGY) -> Any:
    """How long data keep at ``celsius`` that keep for ``time`` at ``reference_celsius``, in the unit of ``time``; see ``acceleration``."""
    times = _ASKED.numbers("time", time)
    odd = times[~((times > 0) & np.isfinite(times))]
    if odd.size:
        raise FleetError(f"the retention time: found {odd.flat[0]:g}, allowed is a number above 0")
    return times / acceleration(celsius, reference_celsius, activation_energy)


def _readings(found: tuple[Numbers, list[str]], temperatures: Numbers) -> Readings:
    values, bases = found
    names: NDArray[np.str_] = np.array(bases, dtype=np.str_)
    basis = str(names[0]) if temperatures.ndim == 0 else names.reshape(temperatures.shape)
    return Readings(shaped(values, temperatures.shape), basis)


def _moments(moments: tuple[float, float, int]) -> tuple[float, float, int]:
    if len(moments) != 3:
        raise FleetError(f"a sample: found {len(moments)} numbers, allowed are mean, variance and number")
    mean, variance, size = moments
    return (
        _ASKED.number("a mean", mean),
        _ASKED.number("a variance", variance),
        _ASKED.count("the measurements of a sample", size),
    )
