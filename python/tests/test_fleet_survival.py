"""Lives of drives: truncated, censored, and with several causes of death."""

import hashlib
from pathlib import Path

import fleets
import lifelines
import numpy as np
import pandas as pd
import pytest

import wane
from wane import fleet
from wane.fleet.prediction import survival as lives

CURVES = ["smart_5_raw", "smart_9_raw", "smart_197_raw"]


def drawn(shape: float = 2.0, scale: float = 1500.0, drives: int = 4000, seed: int = 11) -> pd.DataFrame:
    """Lives of Weibull drives that enter the data old and are watched for 200 days at most."""
    random = np.random.default_rng(seed)
    life = scale * random.weibull(shape, drives)
    entry = random.uniform(0, 2000, drives)
    seen = life > entry
    exit_ = np.minimum(life, entry + 200)
    failed = life <= entry + 200
    cause = np.where(failed, np.where(random.random(drives) < 0.25, "interface", "wear-out"), "")
    table = pd.DataFrame(
        {
            "serial": [f"S{n}" for n in range(drives)],
            "model": "A",
            "entry": entry,
            "exit": exit_,
            "failed": failed,
            "cause": cause,
        }
    )
    return table[seen].reset_index(drop=True)


def test_a_log_with_a_record_a_day_has_the_shape_and_scale_of_its_drives() -> None:
    """Most of what a short log watches of a drive is in whole days: a day too much for each is 3.5 % of the scale in 40 days."""
    random = np.random.default_rng(3)
    start, hour = -random.uniform(0, 800, 120_000), random.uniform(0, 1, 120_000)
    end = start + 4000 * random.weibull(0.7, 120_000)
    first, last = np.ceil(np.maximum(start, 0) - hour) + hour, np.floor(40 - hour) + hour
    failed, seen = end <= last, end > first
    recorded = np.where(failed, np.floor(end - hour) + hour, last)
    exact = pd.DataFrame({"entry": first - start, "exit": np.minimum(end, last) - start, "failed": failed})[seen]
    by_day = pd.DataFrame({"entry": first - start, "exit": recorded - start + 1, "failed": failed})[seen]
    wanted = lifelines.WeibullFitter().fit(exact["exit"], exact["failed"], entry=exact["entry"])
    told = lives.weibull(by_day)
    assert told is not None
    assert told["shape"] == pytest.approx(wanted.rho_, rel=1e-3)
    assert told["scale_days"] == pytest.approx(wanted.lambda_, rel=1e-3)


def test_weibull_comes_back_from_truncated_lives() -> None:
    told = lives.weibull(drawn())
    assert told is not None
    assert told["shape_low"] < 2.0 < told["shape_high"]
    assert told["scale_low"] < 1500 < told["scale_high"]
    # Without the truncation old drives would look as if they had been watched from new on.
    naive = lives.weibull(drawn().assign(entry=0.0))
    assert naive is not None
    assert naive["scale_low"] > 1500


def test_incidence_of_all_causes_adds_up_to_what_did_not_survive() -> None:
    told = lives.curves(drawn())
    total = np.sum([told[f"incidence {cause}"] for cause in lives.CAUSES], axis=0)
    assert total == pytest.approx(1 - np.array(told["survival"]), abs=1e-9)
    assert told["incidence interface"][-1] / total[-1] == pytest.approx(0.25, abs=0.06)
    # Nelson and Aalen's hazard and Kaplan and Meier's survival agree where few fail at once.
    middle = np.array(told["survival"]) > 0.5
    hazard, survived = np.array(told["cumulative_hazard"])[middle], np.array(told["survival"])[middle]
    assert np.exp(-hazard) == pytest.approx(survived, abs=0.05)


def test_the_true_curve_has_the_best_brier_score() -> None:
    told = lives.brier_scores(drawn(drives=20_000), 150)
    assert told["weibull"] < told["exponential"] < told["always"]


def test_brier_without_censoring_is_the_mean_square() -> None:
    whole = drawn(drives=2000)
    whole = whole[whole["failed"] | (whole["exit"] - whole["entry"] > 100)]
    first = whole.assign(cause="")
    told = lives.brier_scores(first, 100)
    judged = first[[hashlib.sha256(f"survival {name}".encode()).digest()[0] >= 128 for name in first["serial"]]]
    serves = (judged["exit"] - judged["entry"] > 100).to_numpy(dtype=float)
    assert told["always"] == pytest.approx(np.mean((1 - serves) ** 2))


def test_drives_that_left_early_are_weighed_so_that_the_share_of_failures_is_true() -> None:
    random = np.random.default_rng(4)
    life, watched = random.exponential(200, 8000), random.uniform(0, 300, 8000)
    exit_, failed = np.minimum(life, watched), life <= watched
    table = pd.DataFrame(
        {"serial": [f"S{n}" for n in range(8000)], "entry": 0.0, "exit": exit_, "failed": failed, "cause": ""}
    )
    # A prediction that no drive fails is wrong by the share that does: 1 - exp(-100/200); without weights it would be 0.33.
    assert lives.brier_scores(table, 100)["always"] == pytest.approx(0.3935, abs=0.02)


def days(model: str, drives: int, number: int, failures: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "serial": np.repeat([f"{model}-{drive}" for drive in range(drives)], number),
            "model": model,
            "date": list(pd.date_range("2024-01-01", periods=number)) * drives,
            "failure": [day == number - 1 and drive < failures for drive in range(drives) for day in range(number)],
            "smart_9_raw": [24.0 * (400 + 10 * drive + day) for drive in range(drives) for day in range(number)],
        }
    )


def test_rates_have_poissons_interval_and_pooling_draws_few_failures_to_the_mean() -> None:
    frame = pd.concat([days("A", 400, 73, 4), days("B", 400, 73, 40), days("C", 3, 73, 3)])
    rows = {row["model"]: row for row in lives.yearly_rates(frame)}
    # 4 failures in 80 drive-years: 5 %, and Garwood's interval of 4 is 1.090 to 10.242.
    assert (rows["A"]["afr_percent"], rows["A"]["low"], rows["A"]["high"]) == pytest.approx((5, 1.362, 12.80), rel=1e-3)
    assert rows["C"]["pooled_percent"] < rows["C"]["afr_percent"]
    told = lives.survival(frame)
    # C is far worse by its rate and its interval, and has too few drive-days to be ranked.
    assert told.ranked == [("A", "B")]


def test_no_curve_is_fitted_to_few_failures() -> None:
    told = lives.survival(days("A", 40, 30, 2))
    assert told.weibull is None
    assert any("2 failures: no curve" in note for note in told.notes)
    with pytest.raises(wane.FleetError, match="no age is told"):
        lives.survival(days("A", 4, 3, 0).drop(columns="smart_9_raw"))


def test_on_the_half_of_backblaze_five_in_a_hundred_fail_a_year(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.real(fleets.HALF)])
    frame = fleet.open(tmp_path / "f").days(CURVES)
    told = lives.survival(frame)
    assert sum(row["failures"] for row in told.rates) == 75
    assert 100 * 365 * 75 / sum(row["drive_days"] for row in told.rates) == pytest.approx(6.33, abs=0.005)
    assert ("Hitachi HDS722020ALA330", "ST31500541AS") in told.ranked
    assert sum(told.causes.values()) >= 70
    assert told.weibull is not None
