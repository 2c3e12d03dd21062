"""Heat from Python agrees with 002's tables, scipy, and values by hand."""

from typing import Any

import numpy as np
import pytest

import wane
from wane import heat


def test_tables_are_read_at_their_temperatures_and_between() -> None:
    found = heat.performance("a", "random-read", "throughput", [[0, 25, 30], [35, 50, 66]])
    assert found.value == pytest.approx(
        np.array([[1652.14, 1652.14, (1652.14 + 1316.74) / 2], [1316.74, 387.29, 387.29]])
    )
    assert found.basis.tolist() == [["clamped", "measured", "interpolated"], ["measured", "measured", "clamped"]]
    one = heat.throughput("B", "pagerank", "write", 45)
    assert (type(one.value), one) == (float, (444.79, "measured"))
    lost = heat.loss("a", "random-write", "latency", 50)
    assert lost.value == pytest.approx(177.23, abs=0.005)
    assert heat.degradation("latency", 34.61, [40.43, 95.95]) == pytest.approx([16.816, 177.232], abs=1e-3)
    assert heat.degradation("iops", 100, 90) == pytest.approx(10)


def test_names_are_those_of_the_tables() -> None:
    assert (len(heat.MODELS), len(heat.BENCHMARKS), len(heat.METRICS), len(heat.LOADS)) == (2, 6, 3, 8)
    assert heat.DIRECTIONS == ("read", "write")


def test_four_of_72_printed_degradations_do_not_come_out() -> None:
    found = heat.recomputed()
    off = [row for row in found if abs(row.percent - row.printed) > 0.02 + 1e-9]
    assert len(found) == 72
    assert [(row.model, round(row.percent, 2), row.printed, row.is_rounding) for row in off] == [
        ("a", 15.90, 15.88, True),
        ("a", 6.02, 5.95, False),
        ("a", 20.30, 20.40, False),
        ("a", 177.23, 177.20, True),
    ]
    assert all(misprint.place and misprint.printed and misprint.found for misprint in heat.misprints())


@pytest.mark.parametrize("seed", range(5))
def test_t_tests_are_those_of_scipy(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(seed)
    one, other = random.normal(100, 3, 7 + seed), random.normal(100 - 4 * seed, 9, 100)
    for variances, equal in (("equal", True), ("apart", False)):
        ours = heat.t_test(one, other, variances=variances)  # type: ignore[arg-type]
        theirs = stats.ttest_ind(one, other, equal_var=equal)
        assert ours == pytest.approx((theirs.statistic, theirs.df, theirs.pvalue), rel=1e-9)
        moments = [(float(sample.mean()), float(sample.var(ddof=1)), sample.size) for sample in (one, other)]
        again = heat.t_test_from_moments(*moments, variances=variances)  # type: ignore[arg-type]
        assert again == pytest.approx(ours, rel=1e-9)


def test_p_values_of_the_paper_give_its_spread_back() -> None:
    stats = pytest.importorskip("scipy.stats")
    found = heat.spread("b", "sort", "write")
    assert found is not None
    assert found.deviations == pytest.approx([0.85, 3.59, 3.34, 33.94], abs=0.01)
    assert found.mismatch < 0.01
    # 25 against 50 °C, by the test forward.
    means = heat.throughput("b", "sort", "write", [25, 50]).value
    p_value = stats.ttest_ind_from_stats(means[0], found.deviations[0], 100, means[1], found.deviations[3], 100).pvalue
    assert np.log(p_value) == pytest.approx(np.log(3.64e-117), rel=0.01)
    assert heat.pooled_deviation(means[0], means[1], p_value, 100) == pytest.approx(
        np.sqrt((found.deviations[0] ** 2 + found.deviations[3] ** 2) / 2)
    )
    assert heat.spread("a", "pagerank", "read") is None


def test_retention_follows_arrhenius() -> None:
    by_hand = np.exp(1.1 / 8.617333262e-5 * (1 / 303.15 - 1 / np.array([313.15, 339.15])))
    assert heat.acceleration([40, 66], 30) == pytest.approx(by_hand, rel=1e-12)
    assert heat.retention(12, 30, 40) == pytest.approx(12 / by_hand[0])
    assert heat.acceleration([[40], [66]], 40, [0.5, 1.1]).shape == (2, 2)
    assert type(heat.acceleration(40, 30)) is float


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: heat.performance("c", "random-read", "iops", 25), 'model: found "c", allowed are a, b'),
        (
            lambda: heat.loss("a", "random-reads", "iops", 25),
            'benchmark: found "random-reads", allowed are write-zero, read-zero, write-random-data, read-random-data, '
            'random-read, random-write; did you mean "random-read"?',
        ),
        (
            lambda: heat.performance("a", "random-read", "iops", [25, 70]),
            "the temperature around the drive in °C: found 70, allowed is 0 to 66",
        ),
        (lambda: heat.throughput("a", "sort", "read", "hot"), "celsius: found 'hot', allowed are numbers"),
        (lambda: heat.throughput("a", "pagerank", "read", 25), "throughput: found read of pagerank"),
        (lambda: heat.degradation("iops", 0, 5), "the value in the cold: found 0, allowed is a number above 0"),
        (lambda: heat.degradation("iops", [1, 2], [1, 2, 3]), "shapes that do not fit each other: cold (2,), hot (3,)"),
        (lambda: heat.t_test([1], [1, 2]), "a sample: found 1, needed are two or more finite numbers"),
        (lambda: heat.t_test([1, 1], [2, 2]), "samples of a t-test: found two that do not vary"),
        (lambda: heat.t_test([1, 2], [2, 3], variances="same"), 'variances: found "same", allowed are equal, apart'),  # type: ignore[arg-type]
        (lambda: heat.t_test([[1, 2]], [2, 3]), "a sample: found an array of 2 dimensions, allowed is 1"),
        (lambda: heat.t_test_from_moments((1, 2, 2.5), (1, 2, 3)), "found 2.5, allowed is a whole number"),  # type: ignore[arg-type]
        (lambda: heat.pooled_deviation(1, 2, 0, 100), "a p-value: found 0, allowed is"),
        (lambda: heat.acceleration(40, 30, 0), "the activation energy in eV: found 0, allowed is above 0 and up to 3"),
        (lambda: heat.retention(-1, 30, 40), "the retention time: found -1, allowed is a number above 0"),
    ],
)
def test_bad_questions_are_refused_in_a_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(wane.FleetError) as raised:
        call()
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
