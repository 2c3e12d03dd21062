"""Theory from Python agrees with the mean-field study (003) and closed forms."""

from typing import Any

import numpy as np
import pytest

import wane
from wane import theory

THIRD = [0.25, 0.5, 0.25]


@pytest.mark.parametrize(
    ("cost", "weights", "wear_leveling"),
    [
        (0.25, [3, 0.5, 0], 8 / 19),
        (0.5, [2, 1, 0], 2 / 3),
        (0.75, [1.5, 1, 0.5], 8 / 9),
        (1.5, [0, 1, 2], 2 / 3),
        (1.0, [1, 1, 1], 1.0),
        (0.0, [4, 0, 0], 0.25),
        (2.0, [0, 0, 4], 0.25),
    ],
)
def test_the_best_trade_off_of_two_pages_is_done_by_hand(
    cost: float, weights: list[float], wear_leveling: float
) -> None:
    assert theory.optimal_wear_leveling(THIRD, cost) == pytest.approx(wear_leveling, rel=1e-12)
    assert theory.optimal_weights(THIRD, cost) == pytest.approx(weights, abs=1e-9)


def test_the_best_trade_off_of_four_pages_is_done_by_hand() -> None:
    occupancy = theory.half_full_occupancy(4)
    assert occupancy == pytest.approx(np.array([1, 4, 6, 4, 1]) / 16)
    found = theory.optimal_wear_leveling(occupancy, [0.5, 1.0, 1.5])
    assert found == pytest.approx([0.2, 13 / 28, 0.8], rel=1e-12)
    assert theory.optimal_weights(occupancy, 1.0) == pytest.approx(np.array([48, 28, 8, 0, 0]) / 13, abs=1e-9)
    point = theory.operating_point(occupancy, [8, 2, 0, 0, 0])
    assert point == pytest.approx((0.5, 0.2, 4 / 3.5), rel=1e-12)


# d, cleaning cost, wear leveling, the best wear leveling at that cost, write amplification; of 64 pages, within one in
# the last digit.
CHOICES = np.array(
    [
        [1, 32, 1, 1, 2],
        [1.5, 30.874, 0.9235, 0.9266, 1.932],
        [2, 29.748, 0.7511, 0.7570, 1.869],
        [3, 28.622, 0.5571, 0.5637, 1.809],
        [5, 27.359, 0.3617, 0.3679, 1.747],
        [10, 25.865, 0.1914, 0.1955, 1.678],
        [20, 24.563, 0.0985, 0.1009, 1.623],
        [50, 23.060, 0.0402, 0.0412, 1.563],
        [100, 22.047, 0.0203, 0.0208, 1.526],
    ]
)


def test_d_choices_lies_close_below_the_best_trade_off() -> None:
    occupancy = theory.half_full_occupancy(64)
    d, wanted_cost, wanted_level, wanted_best, amplification = CHOICES.T
    costs, levels = theory.d_choices(occupancy, d)
    best = theory.optimal_wear_leveling(occupancy, costs)
    assert costs == pytest.approx(wanted_cost, abs=1e-3)
    assert levels == pytest.approx(wanted_level, abs=1e-4)
    assert best == pytest.approx(wanted_best, abs=1e-4)
    assert 64 / (64 - costs) == pytest.approx(amplification, abs=1e-3)
    assert np.all(levels <= best * (1 + 1e-12))
    assert np.all(levels / best >= 0.97)
    for number, choices in enumerate(d):
        weights = theory.d_choices_weights(occupancy, float(choices))
        point = theory.operating_point(occupancy, weights)
        assert point[:2] == pytest.approx((costs[number], levels[number]), rel=1e-9)
        cost, level = theory.d_choices(occupancy, float(choices))
        assert (type(cost), cost, level) == (float, costs[number], levels[number])


def test_the_d_of_a_wanted_point_is_found_again() -> None:
    occupancy = theory.half_full_occupancy(64)
    d = np.array([[1.5, 2.25], [10.0, 40.5]])
    costs, levels = theory.d_choices(occupancy, d)
    assert costs.shape == levels.shape == (2, 2)
    assert theory.d_for_cost(occupancy, costs) == pytest.approx(d, rel=1e-6)
    assert theory.d_for_wear_leveling(occupancy, levels) == pytest.approx(d, rel=1e-6)


def test_random_and_greedy_are_the_ends_of_the_curve() -> None:
    occupancy = theory.half_full_occupancy(64)
    assert theory.random(occupancy) == pytest.approx((32, 1, 2))
    assert theory.greedy(THIRD) == pytest.approx((0, 0.25, 1))
    assert theory.random(occupancy).write_amplification == pytest.approx(2)


def test_occupancies_are_the_fixed_points_of_rates() -> None:
    up, down = theory.uniform_rates(64)
    assert (up[0], down[-1], up.shape, down.shape) == (1.0, 1.0, (64,), (64,))
    half = theory.half_full_occupancy(64)
    assert theory.occupancy_from_rates(up, down) == pytest.approx(half, abs=1e-12)
    start = np.zeros(65)
    start[64] = 1
    assert theory.total_variation(theory.occupancy_after(up, down, start, 0), start) < 1e-12
    later = [theory.total_variation(theory.occupancy_after(up, down, start, time), half) for time in (1, 30, 1000)]
    assert later[0] > later[1] > later[2]
    assert later[2] < 1e-6
    assert theory.total_variation([1, 0], [0, 1]) == 1
    # Two groups of states that no rate joins keep what they had.
    kept = theory.occupancy_from_rates([1, 0, 1], [1, 0, 1], start=[0.6, 0.2, 0.2, 0])
    assert kept == pytest.approx([0.4, 0.4, 0.1, 0.1])


@pytest.mark.parametrize(
    ("policy", "d", "spare", "wanted", "within"),
    [
        ("fifo", None, [0.1, 0.07, 0.2], [5.179, 7.318, 2.693], 5e-4),
        ("random", None, [0.1, 0.2], [10.0, 5.0], 0.02),
        ("greedy", None, [0.1], [4.85], 0.35),
    ],
)
def test_write_amplification_meets_closed_forms(
    policy: str, d: float | None, spare: list[float], wanted: list[float], within: float
) -> None:
    found = theory.write_amplification(policy, spare, 64, d=d)
    assert found == pytest.approx(wanted, abs=within)
    assert type(theory.write_amplification(policy, spare[0], 64, d=d)) is float


def test_more_choices_amplify_less() -> None:
    found = [theory.write_amplification("d-choices", 0.1, 64, d=d) for d in (1, 2, 3, 10, 100)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(theory.write_amplification("random", 0.1, 64))
    assert found[-1] == pytest.approx(theory.write_amplification("greedy", 0.1, 64), rel=0.01)


def test_arrays_of_any_stride_are_read() -> None:
    shares = np.array([[0.25, 9], [0.5, 9], [0.25, 9]])[:, 0]
    assert theory.optimal_wear_leveling(shares, np.float32(0.5)) == pytest.approx(2 / 3)
    assert not theory.half_full_occupancy(4).flags.writeable


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.d_choices(THIRD, 0.5), "d"),
        (lambda: theory.d_choices([0.5, 0.6], 2), "add up to 1.1, allowed is 1 within"),
        (lambda: theory.d_choices([[0.5, 0.5]], 2), "occupancy: found an array of 2 dimensions, allowed is 1"),
        (lambda: theory.d_choices("x", 2), "occupancy: found 'x', allowed are numbers"),
        (lambda: theory.optimal_wear_leveling(THIRD, 3), "found 3"),
        (lambda: theory.optimal_wear_leveling(THIRD, float("nan")), "found NaN"),
        (lambda: theory.optimal_weights(THIRD, [1, 2]), "cost: found an array of 1 dimensions, allowed is a number"),  # type: ignore[arg-type]
        (lambda: theory.half_full_occupancy(0), "pages of a block: found 0, allowed is 1 to 16384"),
        (lambda: theory.half_full_occupancy(2.5), "pages of a block: found 2.5, allowed is a whole number"),  # type: ignore[arg-type]
        (lambda: theory.occupancy_from_rates([1], [1, 1]), "found"),
        (lambda: theory.operating_point(THIRD, [1, 1]), "found 2 values"),
        (lambda: theory.write_amplification("gready", 0.1), 'policy: found "gready", allowed are random, d-choices'),
        (lambda: theory.write_amplification("d-choices", 0.1), "d: found none, d-choices needs one"),
        (lambda: theory.write_amplification("greedy", 0.1, d=2), "d: greedy draws no blocks"),
        (
            lambda: theory.write_amplification("greedy", [0.1, 0]),
            "the spare factor: found 0, allowed is 0.001 to 0.999",
        ),
    ],
)
def test_bad_questions_are_refused_in_a_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(wane.TheoryError) as raised:
        call()
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
