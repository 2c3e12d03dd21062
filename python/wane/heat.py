"""Effects of heat on drives: two models at 25 to 50 °C (002, chapter 6), tests of significance, and how temperature scales retention.

Tables are interpolated, and every value has its basis: ``"measured"``, ``"interpolated"`` between two temperatures, or ``"clamped"`` to the nearest
temperature. If an argument may be an array of any shape, the answer has that shape; a single number gives a single number. Questions without an
answer raise a ``FleetError``. The names of models, benchmarks, metrics, loads and directions are in the tuples below; case does not matter.
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

#: Models of drives: ``"a"`` has 512 GB, ``"b"`` has 118 GB and is probably no QLC drive (see ``misprints``).
MODELS: tuple[str, ...] = _NAMES[0]

#: Jobs of fio (002, section 6.3.1).
BENCHMARKS: tuple[str, ...] = _NAMES[1]

#: Metrics of fio: MB/s, operations a second, microseconds.
METRICS: tuple[str, ...] = _NAMES[2]

#: Hadoop benchmarks whose requests were replayed (002, section 6.3.2).
LOADS: tuple[str, ...] = _NAMES[3]

#: Directions of a load.
DIRECTIONS: tuple[str, ...] = _NAMES[4]

#: The activation energy of charge loss that JESD218 uses, in electronvolts. It is a convention; measured drives differ from it.
ACTIVATION_ENERGY = 1.1

Variances: TypeAlias = Literal["equal", "apart"]


class Readings(NamedTuple):
    """Values of a table and their basis.

    Attributes:
        value: The values, of the shape of the temperatures.
        basis: ``"measured"``, ``"interpolated"`` or ``"clamped"`` for each, of the same shape.
    """

    value: Any
    basis: Any


class Recomputed(NamedTuple):
    """A degradation from 25 °C that the paper prints, recomputed from its raw tables.

    Attributes:
        model: One of ``MODELS``.
        benchmark: One of ``BENCHMARKS``.
        metric: One of ``METRICS``.
        celsius: 35 or 50.
        percent: The degradation from tables 6.4 and 6.5.
        printed: The degradation that tables 6.6 and 6.7 print, in percent.
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
        place: Where it is.
        printed: What is printed there.
        found: What follows from the paper's other numbers, or what is wrong.
    """

    place: str
    printed: str
    found: str


class TTest(NamedTuple):
    """Result of a t-test.

    Attributes:
        statistic: The difference of the means in standard errors, the first less the second.
        freedom: Degrees of freedom.
        p_value: Probability of a t at least this far from 0, on either side, if the means are equal.
    """

    statistic: float
    freedom: float
    p_value: float


class Spread(NamedTuple):
    """Spread of the 100 replays of a load, recovered from printed means and p-values.

    Attributes:
        deviations: Standard deviations at 25, 35, 45 and 50 °C in MB/s, of shape ``(4,)``; NaN if one is too small beside the others to be found.
        mismatch: The largest relative difference between one of six pooled variances and the value that follows from the four deviations.
    """

    deviations: Numbers
    mismatch: float


def performance(model: str, benchmark: str, metric: str, celsius: ArrayLike) -> Readings:
    """Performance of a drive in a job of fio. Source: 002, tables 6.4 and 6.5, measured at 25, 35 and 50 °C.

    Between 35 and 50 °C linear interpolation is probably too pessimistic: for the replayed loads at 45 °C it misses 13 % on average.

    Args:
        model: One of ``MODELS``.
        benchmark: One of ``BENCHMARKS``.
        metric: One of ``METRICS``.
        celsius: Temperatures around the drive, 0 to 66; a number or an array of any shape.

    Returns:
        MB/s, operations a second or microseconds, and the basis of each.
    """
    temperatures = _ASKED.numbers("celsius", celsius)
    return _readings(_wane.heat_performance(model, benchmark, metric, temperatures.ravel()), temperatures)


def loss(model: str, benchmark: str, metric: str, celsius: ArrayLike) -> Readings:
    """Loss of ``performance`` relative to 25 °C, in percent; negative if it is better. Arguments as for ``performance``."""
    temperatures = _ASKED.numbers("celsius", celsius)
    return _readings(_wane.heat_loss(model, benchmark, metric, temperatures.ravel()), temperatures)


def throughput(model: str, load: str, direction: str, celsius: ArrayLike) -> Readings:
    """Throughput of a replayed Hadoop load. Source: 002, tables 6.12 and 6.13, measured at 25, 35, 45 and 50 °C.

    Args:
        model: One of ``MODELS``.
        load: One of ``LOADS``.
        direction: ``"read"`` or ``"write"``; Pagerank has no reads.
        celsius: Temperatures around the drive, 0 to 66; a number or an array of any shape.

    Returns:
        MB/s, and the basis of each.
    """
    temperatures = _ASKED.numbers("celsius", celsius)
    return _readings(_wane.heat_throughput(model, load, direction, temperatures.ravel()), temperatures)


@overload
def degradation(metric: str, cold: float, hot: float) -> float: ...
@overload
def degradation(metric: str, cold: ArrayLike, hot: ArrayLike) -> Any: ...
def degradation(metric: str, cold: Any, hot: Any) -> Any:
    """Degradation of a metric by heat, in percent of its value in the cold; negative if it is better. Source: 002, section 6.3.1.1.

    Args:
        metric: One of ``METRICS``: less is worse, except for ``"latency"``.
        cold: Values in the cold, above 0; a number or an array of any shape.
        hot: Values in the heat, above 0; broadcast with ``cold``.
    """
    arrays, shape = _ASKED.broadcast({"cold": cold, "hot": hot})
    return shaped(_wane.heat_degradation(metric, *arrays), shape)


def recomputed() -> list[Recomputed]:
    """The 72 degradations of tables 6.6 and 6.7 of 002, recomputed from tables 6.4 and 6.5."""
    return [Recomputed(*row) for row in _wane.heat_recomputed()]


def misprints() -> list[Misprint]:
    """Places at which 002 contradicts itself in chapters 5 and 6."""
    return [Misprint(*row) for row in _wane.heat_misprints()]


def t_test(one: ArrayLike, other: ArrayLike, *, variances: Variances = "equal") -> TTest:
    """Student's t-test of two samples, two-sided. Source: 002, section 6.3.1.2, whose printed formula is damaged; Welch 1947 for ``"apart"``.

    Args:
        one: Measurements, two or more, of shape ``(n,)``.
        other: Measurements, two or more, of shape ``(m,)``.
        variances: ``"equal"`` for one variance of both, as in the paper; ``"apart"`` if heat may also change the variance (Welch's test).
    """
    return TTest(
        *_wane.heat_t_test(
            _wane.heat_sample(_ASKED.row("a sample", one)), _wane.heat_sample(_ASKED.row("a sample", other)), variances
        )
    )


def t_test_from_moments(
    one: tuple[float, float, int], other: tuple[float, float, int], *, variances: Variances = "equal"
) -> TTest:
    """The same for samples given by mean, variance (divided by their number less one) and number."""
    return TTest(*_wane.heat_t_test(_moments(one), _moments(other), variances))


def pooled_deviation(mean: float, other_mean: float, p_value: float, count_of_each: int) -> float:
    """The pooled standard deviation of two samples of one size, from their means and the p-value of the pooled test between them.

    Args:
        mean: One mean.
        other_mean: The other mean, which must differ.
        p_value: From 1e-300 to below 1.
        count_of_each: Number of measurements in each sample, from 2 on.
    """
    means = (_ASKED.number("mean", mean), _ASKED.number("other_mean", other_mean))
    return _wane.heat_pooled_deviation(
        *means, _ASKED.number("p_value", p_value), _ASKED.count("count_of_each", count_of_each)
    )


def spread(model: str, load: str, direction: str) -> Spread | None:
    """Spread of the replays of a load, which 002 shows only in box plots: four deviations from the p-values of six pairs.

    ``None`` if the load has nothing in this direction, or if its means are printed too coarsely to differ. We derive it from tables 6.12 to 6.17.
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
    """Factor by which data age faster at ``celsius`` than at ``reference_celsius``: Arrhenius' law, e^(E/k (1/T_ref - 1/T)).

    Args:
        celsius: Temperatures of the flash, -55 to 150; a number or an array of any shape, like the other two.
        reference_celsius: Temperatures to compare with, -55 to 150.
        activation_energy: Activation energy in electronvolts, above 0 and up to 3.
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
    """Retention time at ``celsius`` of data that keep for ``time`` at ``reference_celsius``, in the unit of ``time``; see ``acceleration``."""
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
