"""Failures are predicted as in production, and every leak that would make results look better is refused."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import fleets
import numpy as np
import pandas as pd
import pytest

import wane
from wane import fleet
from wane.fleet import Costs, Protocol, prediction
from wane.fleet.__main__ import main
from wane.fleet._meter import Meter
from wane.fleet.prediction import audit, protocol, scores
from wane.fleet.prediction.features import features
from wane.fleet.prediction.pace import Pace, duration

ATTRIBUTES = ["smart_5_raw", "smart_9_raw", "smart_194_raw", "smart_197_raw"]
TRY = Protocol(test_from=date(2024, 1, 21), draws=20)


def drive_days(drives: int = 400, days: int = 40, failing: int = 60, seed: int = 5) -> pd.DataFrame:
    """A fleet in which every other failing drive reallocates for four days before it fails, and a hundredth of the others once did."""
    random = np.random.default_rng(seed)
    frames = []
    dates = pd.date_range("2024-01-01", periods=days)
    for drive in range(drives):
        fails = int(random.integers(10, days)) if drive < failing else None
        last = days if fails is None else fails + 1
        sectors = np.zeros(last)
        if fails is None and random.random() < 0.01:
            sectors += random.integers(1, 20)
        if fails is not None and drive % 2:
            sectors[max(0, fails - 4) :] = 8 * np.arange(1, last - max(0, fails - 4) + 1)
        frames.append(
            pd.DataFrame(
                {
                    "serial": f"S{(drive * 7919) % 100_000:05}",
                    "model": f"ST{drive % 3}",
                    "date": dates[:last],
                    "failure": np.arange(last) == (-1 if fails is None else fails),
                    "smart_5_raw": sectors,
                    "smart_9_raw": 1000.0 + 24 * np.arange(last) + drive,
                    "smart_194_raw": 30.0 + random.integers(-3, 4, last),
                    "smart_197_raw": np.zeros(last),
                }
            )
        )
    return pd.concat(frames).sort_values(["serial", "date"], ignore_index=True)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Makes a fleet count as large enough."""
    monkeypatch.setattr(prediction, "DRIVE_DAYS_MIN", 1000)
    return drive_days()


def parts(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test of the first fold, as the pipeline makes them."""
    labeled = protocol.label(frame, TRY)
    train, test = next(protocol.splits(labeled, "drive", TRY))
    return labeled.rows[train], labeled.rows[test]


def test_planted_signs_are_found_and_chance_finds_none(small: pd.DataFrame) -> None:
    told = fleet.predict(small, TRY, learning=["logistic"])
    for by in ("drive", "batch"):
        models = told.splits[by]["models"]
        at = models["logistic"]["budgets"]["0.01"]
        test = told.splits[by]["test"]
        # Half of the failing drives show it.
        assert test["failed"] > 20
        assert 0.3 < at["detection_rate"]["value"] < 0.7
        assert at["detection_rate"]["low"] < at["detection_rate"]["value"] < at["detection_rate"]["high"]
        assert at["false_alarm_rate"]["value"] < 0.1
        assert 1 <= at["lead_days_median"]["value"] <= 4
        assert models["chance"]["pr_auc"]["value"] < 0.1 < models["logistic"]["pr_auc"]["value"]
        assert sum(each["drive_days"] for each in models["logistic"]["reliability"]) > 1000
        assert {"better": "logistic", "worse": "chance"}.items() <= told.splits[by]["better"][0].items() or told.splits[
            by
        ]["better"]
    again = fleet.predict(small, TRY, learning=["logistic"])
    assert json.dumps(again.to_dict()) == json.dumps(told.to_dict())
    assert len(told.table()) == 2 * (3 * 3 + 1)
    assert "split by time and batch" in str(told)


def test_the_same_numbers_come_from_a_cluster(small: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("dask.distributed")
    monkeypatch.setattr(scores, "DRAWS_OF_A_JOB", 11)
    alone = fleet.predict(small, TRY)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        sent, submit = Counter[str](), client.submit

        def counted(function: Any, *arguments: Any, **options: Any) -> Any:
            sent[function.__name__] += 1
            return submit(function, *arguments, **options)

        monkeypatch.setattr(client, "submit", counted)
        together = fleet.predict(small, TRY, client=client)
    # Byte by byte: fits of both splits, and draws of all models in two parts.
    assert json.dumps(together.to_dict()) == json.dumps(alone.to_dict())
    assert sent == {"fit_and_score": 2 * 2 * TRY.folds, "drawn": 2 * 5 * 2}


def test_trees_find_planted_signs_too(small: pd.DataFrame) -> None:
    told = fleet.predict(small, replace(TRY, budgets=(0.01,), draws=2), learning=["boosting"])
    assert told.splits["drive"]["models"]["boosting"]["budgets"]["0.01"]["detection_rate"]["value"] > 0.3


def test_a_budget_is_kept_every_day_and_ties_go_by_lot(small: pd.DataFrame) -> None:
    rows = protocol.label(small, TRY).rows
    trial = scores.Trial(rows, 7, 1)
    alarms = trial.by_budget(np.zeros(len(rows)), 0.05)
    per_day = rows.assign(alarm=alarms).groupby("date")["alarm"].agg(["sum", "size"])
    assert (per_day["sum"] == np.maximum(1, np.rint(per_day["size"] * 0.05))).all()
    other = scores.Trial(rows, 7, 2).by_budget(np.zeros(len(rows)), 0.05)
    assert (alarms != other).any()


def test_detection_false_alarms_and_lead_are_counted_by_hand() -> None:
    days = pd.date_range("2024-01-01", periods=6)
    rows = pd.DataFrame(
        {
            "serial": ["A"] * 6 + ["B"] * 6 + ["C"] * 6,
            "date": list(days) * 3,
            "fails_in": [6.0, 5, 4, 3, 2, 1] + [6.0, 5, 4, 3, 2, 1] + [np.nan] * 6,
            "label": [0.0, 0, 0, 1, 1, 1] + [0.0, 0, 0, 1, 1, 1] + [0.0] * 6,
        }
    )
    alarms = np.array([[1, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]], dtype=bool).ravel()
    outcome = scores.Trial(rows, 3, 1).outcome(alarms)
    # A's last alarm stays on for two days; B's were too early, and C's for nothing.
    assert outcome.counts() == {
        "failed": 2,
        "failed_found": 1,
        "failed_with_lead": 1,
        "healthy": 1,
        "healthy_alarmed": 1,
        "alarm_days": 7,
        "alarm_days_right": 2,
    }
    rates = outcome.rates(np.ones(3))
    assert (rates["detection_rate"], rates["false_alarm_rate"], rates["lead_days_median"]) == (0.5, 1.0, 2.0)


def test_pr_auc_and_brier_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(3)
    score = np.round(random.random(500), 2)
    label = (random.random(500) < score / 3).astype(float)
    rows = pd.DataFrame(
        {"serial": np.arange(500), "date": pd.Timestamp("2024-01-01"), "fails_in": np.nan, "label": label}
    )
    ranked = scores.Ranked(scores.Trial(rows, 7, 1), score)
    weight = random.integers(0, 4, 500).astype(float)
    assert ranked.pr_auc(weight) == pytest.approx(metrics.average_precision_score(label, score, sample_weight=weight))
    assert ranked.brier(weight) == pytest.approx(metrics.brier_score_loss(label, score, sample_weight=weight))


def test_the_threshold_by_cost_is_the_cheapest_of_all() -> None:
    rows = protocol.label(drive_days(), TRY).rows
    trial = scores.Trial(rows, 7, 1)
    score = rows["smart_5_raw"].to_numpy(dtype=float)
    for costs in (Costs(100, 10, 5000), Costs(100, 10, 150), Costs(100, 10, 0)):

        def cost(threshold: float, costs: Costs = costs) -> float:
            counts = trial.outcome(score >= threshold).counts()
            found = counts["failed_found"]
            return costs.of(counts["healthy_alarmed"], found, counts["failed"] - found)

        chosen = scores.cheapest(trial, score, costs)
        assert cost(chosen) == min(cost(threshold) for threshold in [*np.unique(score), np.inf])
    # If a failure costs nothing, no alarm is worth its cost.
    assert scores.cheapest(trial, score, Costs(100, 10, 0)) == np.inf
    with pytest.raises(wane.FleetError, match="lost_data is -1"):
        Costs(1, 1, -1)


def made(frame: pd.DataFrame) -> pd.DataFrame:
    return features(frame, ATTRIBUTES)


def of_failure_day(frame: pd.DataFrame) -> pd.DataFrame:
    return made(frame).assign(leak=frame.groupby("serial")["failure"].transform("any").astype(float))


def of_later_days(frame: pd.DataFrame) -> pd.DataFrame:
    return made(frame).assign(leak=frame.groupby("serial")["smart_5_raw"].transform("max"))


def of_centered_mean(frame: pd.DataFrame) -> pd.DataFrame:
    mean = frame.groupby("serial")["smart_194_raw"].rolling(7, center=True, min_periods=1).mean()
    return made(frame).assign(leak=mean.droplevel(0))


def of_all_drives(frame: pd.DataFrame) -> pd.DataFrame:
    table = made(frame)
    return (table - table.mean()) / table.std()


def of_serial(frame: pd.DataFrame) -> pd.DataFrame:
    return made(frame).assign(leak=frame["serial"].astype("category").cat.codes + frame["smart_5_raw"])


def of_serial_hash(frame: pd.DataFrame) -> pd.DataFrame:
    return made(frame).assign(leak=[float(sum(map(ord, name))) for name in frame["serial"]])


def of_model(frame: pd.DataFrame) -> pd.DataFrame:
    return made(frame).assign(leak=(frame["model"] == "ST1").astype(float))


def of_capacity(frame: pd.DataFrame) -> pd.DataFrame:
    return made(frame).assign(leak=frame["capacity_bytes"])


def of_zeros(frame: pd.DataFrame) -> pd.DataFrame:
    return made(frame).fillna(0)


def of_missing(frame: pd.DataFrame) -> pd.DataFrame:
    return made(frame).assign(leak=frame["smart_197_raw"].isna().astype(float))


PLANTED: list[tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = [
    (of_failure_day, "leak sees whether the drive fails"),
    (of_later_days, "leak sees later days"),
    (of_centered_mean, "leak sees later days"),
    (of_all_drives, "sees other drives, as what is normalized over all of them does"),
    (of_serial, "leak tells which drive it is"),
    (of_serial_hash, "leak tells which drive it is"),
    (of_model, "leak tells the model"),
    (of_capacity, "leak is the same for all drives of a model"),
    (of_zeros, "has a value where nothing was told; missing is missing, and never zero"),
    (of_missing, "leak has a value where nothing was told"),
]


@pytest.mark.parametrize(("leaking", "sentence"), PLANTED, ids=[each[0].__name__ for each in PLANTED])
def test_a_leak_that_is_planted_in_features_is_found(
    small: pd.DataFrame, leaking: Callable[[pd.DataFrame], pd.DataFrame], sentence: str
) -> None:
    frame = small.assign(capacity_bytes=small["model"].str[-1].astype(float) * 1e12 + 1e12)
    audit.features_see_no_more_than_they_may(frame, partial(features, attributes=ATTRIBUTES))
    with pytest.raises(wane.FleetError, match=rf"features: .*{sentence}"):
        fleet.predict(frame, TRY, make=leaking, learning=["logistic"])


def test_a_drive_in_both_parts_is_refused() -> None:
    train, test = parts(drive_days())
    audit.parts_are_apart(train, test, 7)
    both = pd.concat([test, test.assign(serial=train["serial"].iloc[0])])
    with pytest.raises(wane.FleetError, match="1 drive in training and test"):
        audit.parts_are_apart(train, both, 7)


def test_rows_split_at_random_are_refused() -> None:
    rows = protocol.label(drive_days(), TRY).rows
    lot = np.random.default_rng(1).random(len(rows)) < 0.5
    with pytest.raises(wane.FleetError, match="drives in training and test"):
        audit.parts_are_apart(rows[lot], rows[~lot], 7)
    # With drives apart too, as the days are not.
    drives = rows["serial"].unique()[:200]
    one = rows["serial"].isin(drives)
    with pytest.raises(wane.FleetError, match="a label looks 7 days ahead"):
        audit.parts_are_apart(rows[one], rows[~one], 7)


def test_labels_that_were_not_known_when_the_test_began_are_refused() -> None:
    train, test = parts(drive_days())
    late = train.assign(date=train["date"] + pd.Timedelta(days=3))
    with pytest.raises(wane.FleetError, match="a label looks 7 days ahead"):
        audit.parts_are_apart(late, test, 7)


def test_the_day_of_a_failure_is_refused_and_never_a_row() -> None:
    frame = drive_days()
    assert not protocol.label(frame, TRY).rows["failure"].any()
    train, test = parts(frame)
    with pytest.raises(wane.FleetError, match="training has the day of a failure"):
        audit.parts_are_apart(train.assign(failure=True), test, 7)


def test_a_test_without_some_healthy_drives_is_refused() -> None:
    labeled = protocol.label(drive_days(), TRY)
    every = labeled.rows[labeled.in_test]
    fewer = every[every["fails_in"].notna() | (np.arange(len(every)) % 10 == 0)]
    with pytest.raises(wane.FleetError, match="precision means nothing where healthy drives are left out"):
        audit.test_is_whole(fewer, every)


def test_batches_are_never_in_both_parts() -> None:
    labeled = protocol.label(drive_days(), TRY)
    for train, test in protocol.splits(labeled, "batch", TRY):
        audit.batches_are_apart(labeled.rows[train], labeled.rows[test])
    train, test = parts(drive_days())
    with pytest.raises(wane.FleetError, match="batches in training and test"):
        audit.batches_are_apart(train, test)


def test_serial_model_and_failure_are_no_attributes(small: pd.DataFrame) -> None:
    for name in ("serial", "model", "failure", "capacity_bytes"):
        with pytest.raises(wane.FleetError, match=f'attributes: found "{name}"'):
            fleet.predict(small, TRY, attributes=[name])


def test_an_attribute_that_vendors_understand_differently_is_refused(small: pd.DataFrame) -> None:
    mixed = small.assign(smart_177_raw=1.0, model=np.where(small["model"] == "ST1", "WDC WD30", small["model"]))
    with pytest.raises(
        wane.FleetError, match=r"smart_177_raw means something else from vendor to vendor.* Seagate, WD;"
    ):
        fleet.predict(mixed, TRY, attributes=["smart_177_raw"])


def test_an_attribute_that_few_drives_tell_is_left_out_and_named(small: pd.DataFrame) -> None:
    few = small.assign(smart_187_raw=np.where(small["model"] == "ST1", 0.0, np.nan))
    told = fleet.predict(few, TRY, learning=[])
    assert "smart_187_raw" not in told.attributes
    assert any("smart_187_raw is told by 33 % of the drives" in note for note in told.notes)


def test_a_counter_that_goes_back_gives_no_increase() -> None:
    frame = drive_days(drives=1, failing=0).head(3).assign(smart_9_raw=[500.0, 4.0, 28.0])
    change = made(frame)["smart_9_raw_change_1d"].tolist()
    assert np.isnan(change[:2]).all()
    assert change[2] == 24


def test_changes_are_taken_over_days_and_not_over_rows() -> None:
    frame = drive_days(drives=1, failing=0).iloc[[0, 1, 5, 7]]
    change = made(frame)
    assert change["smart_9_raw_change_7d"].tolist()[3] == 7 * 24
    assert np.isnan(change["smart_9_raw_change_1d"].tolist()[2])


def test_a_drive_that_goes_on_after_its_failure_was_swapped(small: pd.DataFrame) -> None:
    healthy = small.loc[~small.groupby("serial")["failure"].transform("any"), "serial"].iloc[0]
    swapped = small.assign(failure=small["failure"] | ((small["serial"] == healthy) & (small["date"] == "2024-01-25")))
    told = fleet.predict(swapped, TRY, learning=[])
    assert told.failures == 60
    assert any("1 drive went on after the day of the failure" in note for note in told.notes)
    assert healthy not in set(protocol.label(swapped, TRY).rows["serial"])


def test_a_single_quarter_is_named_as_such(small: pd.DataFrame) -> None:
    assert any("less than a quarter" in note for note in fleet.predict(small, TRY, learning=[]).notes)


def test_a_label_whose_time_was_not_watched_is_not_known() -> None:
    rows = protocol.label(drive_days(), TRY).rows
    healthy = rows[rows["fails_in"].isna()]
    left = (healthy.groupby("serial")["date"].transform("max") - healthy["date"]).dt.days
    assert (healthy["label"].isna() == (left < 7)).all()


def test_below_250_000_drive_days_there_is_too_little_to_say() -> None:
    told = fleet.predict(drive_days(drives=80, failing=20), TRY)
    assert told.too_few
    assert told.splits == {}
    assert "too few: " in str(told)


REFUSED: list[tuple[Callable[[pd.DataFrame], Any], str]] = [
    (lambda frame: fleet.predict(frame.assign(failure=False), TRY), "failures: found none"),
    (
        lambda frame: fleet.predict(frame, replace(TRY, test_from=date(2023, 1, 1))),
        "test-from: found 2023-01-01, allowed are days after",
    ),
    (
        lambda frame: fleet.predict(frame, replace(TRY, test_from=None, horizon_days=3000)),
        "horizon: found 3000 days, and the fleet's days go over",
    ),
    (lambda frame: fleet.predict(pd.concat([frame, frame.head(1)]), TRY), "a drive has a day twice"),
    (lambda frame: fleet.predict(frame.drop(columns="model"), TRY), "have no column model"),
    (lambda frame: fleet.predict(frame.head(0), TRY), "drive-days: found none"),
    (lambda frame: fleet.predict(frame, TRY, learning=["prophet"]), 'models: found "prophet"'),
    (lambda frame: Protocol(budgets=(1.5,)), "budget: found 1.5"),
    (lambda frame: Protocol(seed=-1), "seed: found -1, allowed are 0 to 4294967295"),
    (lambda frame: Protocol(horizon_days=0), "horizon: found 0 days"),
    (lambda frame: Protocol(horizon_days=10**14), "allowed are 1 to 3650"),
]


@pytest.mark.parametrize(("ask", "sentence"), REFUSED, ids=[each[1] for each in REFUSED])
def test_what_cannot_be_asked_is_one_sentence(
    small: pd.DataFrame, ask: Callable[[pd.DataFrame], Any], sentence: str
) -> None:
    with pytest.raises(wane.FleetError, match=sentence):
        ask(small)


def test_on_the_half_of_backblaze_the_rule_finds_44_of_75_and_flags_997(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.ingest(tmp_path / "f", [fleets.real(fleets.HALF)])
    frame = fleet.open(tmp_path / "f").days(ATTRIBUTES)
    told = prediction.rule_by_drive(frame)
    assert told == {
        "last_day": {"failed": 75, "failed_flagged": 44, "healthy": 11_332, "healthy_flagged": 997},
        "any_day": {"failed": 75, "failed_flagged": 45, "healthy": 11_332, "healthy_flagged": 1023},
    }
    found = fleet.predict(frame, Protocol(test_from=date(2013, 5, 1), draws=2), learning=[])
    test = found.splits["drive"]["test"]
    # 45 failures from May on, of which six have no day before in May.
    assert (test["failed"], test["failures_without_a_day_before"], test["drive_days"]) == (39, 6, 206_986)
    own = found.splits["drive"]["models"]["rule, any sector"]["alarms"]["own"]
    assert own["failed_found"] == 22
    assert "flags 997 of 11,332 healthy drives (8.80 %)" in str(found)
    assert "finds 45 of 75, flags 1,023 of 11,332 healthy drives (9.03 %)" in str(found)
    assert main(["predict", str(tmp_path / "f"), "--cost-drive", "1"]) == 2
    assert "are given together" in capsys.readouterr().err


def truth(frame: pd.DataFrame) -> pd.DataFrame:
    """What became of the drives of `drive_days`: those that reallocate were warned, of the others half died of something else."""
    ends = frame.groupby("serial")
    failed = ends["failure"].any()
    seconds = ends["date"].max().astype("datetime64[s]").astype("int64") + 1
    sectors = ends["smart_5_raw"].max() > 0
    lot = np.random.default_rng(3).random(len(failed)) < 0.5
    cause = pd.Series(np.where(lot & ~sectors, "rack", "random"), failed.index, dtype=object).where(failed)
    since = np.where(failed & sectors, seconds - 3 * 86_400, np.nan)
    columns = {"serial": failed.index, "failed": failed, "cause": cause, "time": np.where(failed, seconds, np.nan)}
    return pd.DataFrame(columns | {"signs_since": since}).reset_index(drop=True)


def test_what_shows_no_sign_is_found_as_by_lots(small: pd.DataFrame) -> None:
    known = truth(small)
    # One drive of which nothing is known.
    lives = known.index[~known["failed"]][0]
    told = fleet.predict(small, replace(TRY, budgets=(0.01,)), learning=["logistic"], truth=known.drop(lives))
    rows = told.splits["drive"]["causes"]
    kinds = [(row["cause"], row["signs"]) for row in rows]
    assert kinds[0] == ("random", True)
    assert sorted(kinds[1:-1]) == [("rack", False), ("random", False)]
    assert kinds[-1] == ("none: it lives", False)
    test = told.splits["drive"]["test"]
    assert sum(row["drives"] for row in rows) == test["drives"] - 1
    assert sum(row["drives"] for row in rows[:-1]) == test["failed"]
    found = {(row["cause"], row["signs"]): row["models"] for row in rows}
    with_signs, chance = found["random", True]["logistic"], found["random", True]["chance"]
    assert with_signs["found_share"]["low"] > chance["found_share"]["high"]
    for silent in (("rack", False), ("random", False)):
        one, lots = found[silent]["logistic"]["found_share"], found[silent]["chance"]["found_share"]
        assert one["low"] <= lots["high"], silent
    assert found["none: it lives", False]["logistic"]["found"] is None
    # What models found by cause is what they found.
    at = told.splits["drive"]["models"]["logistic"]["budgets"]["0.01"]
    assert sum(row["models"]["logistic"]["found"] for row in rows[:-1]) == at["failed_found"]
    assert "random" in str(told)
    assert "causes of death" in str(told)
    with pytest.raises(wane.FleetError, match="truth: has no column signs_since"):
        fleet.predict(small, TRY, learning=["logistic"], truth=known.drop(columns="signs_since"))


def test_draws_are_the_same_however_they_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = protocol.label(drive_days(drives=60, failing=20), TRY).rows
    trial = scores.Trial(rows, 7, 1)
    score = rows["smart_5_raw"].to_numpy(dtype=float)
    whole = scores.evaluate(trial, score, TRY, is_probability=False)
    monkeypatch.setattr(scores, "DRAWS_OF_A_JOB", 3)
    jobs = []

    def backwards(function: Callable[[Any], Any], asked: Any) -> list[Any]:
        jobs.extend(asked)
        return [function(job) for job in jobs[::-1]][::-1]

    assert scores.evaluate(trial, score, TRY, is_probability=False, over=backwards) == whole
    assert [(job.first, job.end) for job in jobs][:2] == [(0, 3), (3, 6)]
    assert jobs[-1].end == TRY.draws + 1
    with pytest.raises(wane.WaneError, match="client: found int, allowed is a client of Dask"):
        fleet.predict(drive_days(drives=10, failing=5), TRY, client=3)


# --- progress


def test_the_time_is_estimated_before_anything_is_read(small: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def read(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(prediction, "_drive_days", read)
        with pytest.raises(KeyboardInterrupt):
            fleet.predict(small, TRY, tell=told.append)
    count = f"{len(small):,} drive-days, 20 fits of models and 10 trials of 20 draws: about "
    assert [line.startswith(count) for line in told] == [True]
    told.clear()
    silent, spoken = fleet.predict(small, TRY), fleet.predict(small, TRY, tell=told.append)
    assert silent.to_dict() == spoken.to_dict()
    shares = [float(line.split(" ")[0]) for line in told[1:]]
    assert shares == sorted(shares)
    # One part for the reading, 20 fits and 10 trials, of which the last one is told by its result.
    assert len(shares) == 30
    assert "split by batch, boosting: 5 of 5 fits" in told[-5]


def test_the_rest_is_estimated_by_the_time_that_the_work_took_so_far() -> None:
    told: list[str] = []
    now = [0.0]
    pace = Pace(told.append, 10_000_000, 300, lambda: now[0])
    pace.begin(["read", "logistic", "boosting", "judge"], "all")
    # 11, 3.3, 12 and 1 + 0.009 x 300 seconds for each of ten million.
    assert told.pop() == "10,000,000 drive-days, all: about 5 min"
    # Reading takes three times as long here.
    now[0] = 330.0
    pace.done("read", "read")
    assert told.pop() == "37 % done, about 10 min left; read"
    now[0] = 429.0
    pace.done("logistic", "fits")
    assert told.pop() == "48 % done, about 8 min left; fits"
    assert [duration(seconds) for seconds in (0.1, 89, 91, 5300, 6000)] == ["1 s", "89 s", "2 min", "88 min", "1.7 h"]


def test_progress_is_a_line_now_and_then_and_the_first_one_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with Meter(lambda: now[0]) as meter:
        for second in (0, 1, 9, 10, 12, 21):
            now[0] = second
            meter.tell(f"at {second}\x1b[31m")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "".join(f"at {second}\\u{{1b}}[31m\n" for second in (0, 10, 21))


def test_progress_stays_out_of_the_result(
    small: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = small.rename(columns={"serial": "serial_number"}).assign(failure=small["failure"].astype(int))
    rows.to_csv(tmp_path / "a.csv", index=False)
    fleet.ingest(tmp_path / "f", [tmp_path / "a.csv"])
    assert main(["predict", str(tmp_path / "f"), "--draws", "2", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["drives"] == 400
    assert printed.err.startswith(f"{len(small):,} drive-days, 20 fits of models and 10 trials of 2 draws: about ")
