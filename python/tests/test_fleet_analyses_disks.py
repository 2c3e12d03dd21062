"""Analyses of failing disks (002, chapter 7), on generated fleets whose truth is known, and on real ones where they are."""

import json
import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from wane.fleet import analyses
from wane.fleet.analyses import AnalysisError, published
from wane.fleet.analyses.forecast import Ahead, Job, carried_forward

pandas = pytest.importorskip("pandas")
for needed in ("matplotlib", "scipy", "sklearn", "statsmodels"):
    pytest.importorskip(needed)

RUE, RSC, SUT, HFW = (f"smart_{number}_normalized" for number in (187, 5, 3, 189))

#: How many drives of each type the generated fleet has: those that fail, and those that show the same signs and live on.
FAILED = {"RUE": 12, "RSC": 12, "SUT": 8, "HFW": 8, "logical": 10}
DEGRADING = {"RUE": 5, "RSC": 5, "SUT": 4, "HFW": 4}

BACKBLAZE = "smart/backblaze_2013-04-10_2013-05-19_halfA.csv.gz"


def draws(name: str) -> np.random.Generator:
    return np.random.default_rng(crc32(name.encode()))


def life(random: np.random.Generator, kind: str, points: int, end: float) -> dict[str, Any]:
    """Health of one drive, 0 to 100, record by record. RUE falls evenly and takes RSC along, RSC falls in steps, SUT and HFW are low all the time."""
    found = {name: 99 + random.uniform(-1, 1, points) for name in (RUE, RSC, SUT, HFW)}
    begin = int(random.uniform(0.2, 0.4) * points)
    fall = np.clip((np.arange(points) - begin) / (points - 1 - begin), 0, 1)
    if kind == "RUE":
        found[RUE] = 100 - (100 - end) * fall
        found[RSC] = 100 - random.uniform(0.3, 0.5) * (100 - end) * fall
    if kind == "RSC":
        found[RSC] = 100 - (100 - end) * np.floor(fall * 10) / 10
    if kind in ("SUT", "HFW"):
        low = random.uniform(15, 25)
        found[{"SUT": SUT, "HFW": HFW}[kind]] = low + random.uniform(-1, 1, points)
    return found


def disks(
    name: str, healthy: int = 150, hours: int = 200, every: int = 2, kinds: str = "RUE RSC SUT HFW logical"
) -> Any:
    """Drives of several types, with a record every ``every`` hours; serials name the type."""
    random = draws(name)
    drives = [(kind, True) for kind, count in FAILED.items() if kind in kinds for _ in range(count)]
    drives += [(kind, False) for kind, count in DEGRADING.items() if kind in kinds for _ in range(count)]
    drives += [("healthy", False)] * healthy
    parts = []
    for number, (kind, fails) in enumerate(drives):
        points = hours // every
        columns = life(random, kind, points, 0.0 if fails else 25.0)
        part = pandas.DataFrame(
            {
                "time": pandas.date_range("2024-01-01", periods=points, freq=f"{every}h"),
                "serial": f"{number:04}-{kind}-{'failed' if fails else 'working'}",
                "model": "M",
                "failure": False,
                "smart_9_raw": random.uniform(1e3, 1e4) + every * np.arange(points),
                "smart_1_raw": random.integers(0, 1000, points),
                **columns,
            }
        )
        part.loc[part.index[-1], "failure"] = fails
        parts.append(part)
    return pandas.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def fleet() -> Any:
    return disks("disks")


def kind_of(serial: str) -> str:
    return serial.split("-")[1]


def test_failure_groups_are_the_planted_types(fleet: Any) -> None:
    found = analyses.failure_groups(fleet, groups=5)
    assert found.groups.set_index("name")["drives"].to_dict() == FAILED
    assert {serial: kind_of(serial) for serial in found.members} == found.members
    assert found.groups["percent"].sum() == pytest.approx(100)
    assert analyses.failure_groups(fleet).elbow is not None


def test_working_drives_are_matched_to_the_failures_that_they_show_signs_of(fleet: Any) -> None:
    found = analyses.working_groups(fleet, groups=5, working_groups=5)
    wanted = {serial: kind_of(serial) for serial in fleet["serial"].unique() if serial.endswith("working")}
    assert found.degrading == {serial: kind for serial, kind in wanted.items() if kind != "healthy"}
    assert found.groups["drives"].sum() == sum(DEGRADING.values()) + 150


def test_a_second_group_of_a_type_has_a_number(fleet: Any) -> None:
    random = draws("two")
    other = fleet[fleet["serial"].str.contains("RUE-failed")].copy()
    other["serial"] = "Z" + other["serial"]
    # They fail at half of RUE's fall.
    other[RUE] = 50 + other[RUE] / 2 + random.uniform(-0.1, 0.1, len(other))
    found = analyses.failure_groups(pandas.concat([fleet, other], ignore_index=True), groups=6)
    assert sorted(found.groups["name"]) == ["HFW", "RSC", "RUE", "RUE 2", "SUT", "logical"]


def test_a_sign_that_working_drives_have_too_is_none(fleet: Any) -> None:
    # A fifth of the working drives spins up as slowly as those that failed.
    slow = fleet[fleet["serial"].str.contains("healthy")].copy()
    serials = sorted(slow["serial"].unique())[:45]
    fleet = fleet.copy()
    fleet.loc[fleet["serial"].isin(serials), SUT] = 20.0
    found = analyses.failure_groups(fleet, groups=5)
    assert sorted(found.groups["name"]) == ["HFW", "RSC", "RUE", "logical", "logical 2"]


def test_drives_that_lack_an_attribute_are_left_out_and_counted(fleet: Any) -> None:
    holes = fleet.astype({RUE: "Float64"})
    holes.loc[holes["serial"].str.contains("logical"), RUE] = pandas.NA
    found = analyses.failure_groups(holes, groups=4)
    assert (found.drives_left_out, found.failed) == (10, 40)
    # An attribute that few drives have is not chosen.
    holes.loc[~holes["serial"].str.contains("RUE"), RUE] = pandas.NA
    found = analyses.failure_groups(holes, groups=4)
    assert found.drives_left_out == 0
    assert RUE not in found.scale.attributes


def test_deciles_set_sick_drives_below_healthy_ones(fleet: Any) -> None:
    found = analyses.deciles(fleet, groups=5, working_groups=5)
    rows = found.table()
    for name, attribute in (("RUE", RUE), ("RSC", RSC), ("SUT", SUT), ("HFW", HFW)):
        own = rows[(rows["name"] == name) & (rows["attribute"] == attribute)]
        assert (own["failed"] < own["healthy"].min()).all()
        assert (own["degrading"] < own["healthy"].min()).all()
    assert found.counts.set_index("name")["failed"].to_dict() == FAILED
    assert found.plot(name="SUT").get_ylabel() == "SUT (health, -1 to 1)"


def test_thresholds_part_sick_from_healthy_and_starts_are_the_planted_ones(fleet: Any) -> None:
    rows = analyses.starts(fleet, groups=5, working_groups=5).table().set_index("name")
    assert (rows["accuracy"] == 1).all()
    assert rows["healthy_below_percent"].max() == 0
    assert rows.loc["RUE", "published"] == pytest.approx(published.THRESHOLDS["RUE"])
    # Values of 0 to 100 lie on -1 to 1.
    assert rows.loc["RUE", "value"] == pytest.approx(50 * (rows.loc["RUE", "threshold"] + 1), abs=0.1)
    # Its fall takes 60 % to 80 % of 200 hours, and passes the threshold on its way.
    share = 1 - rows.loc["RUE", "value"] / 100
    assert rows.loc["RUE", "hours_median"] == pytest.approx((1 - share) * 140, abs=20)
    assert rows.loc["SUT", "hours_median"] == 198
    upper = analyses.starts(fleet, groups=5, working_groups=5, rule="upper bound").table().set_index("name")
    assert (upper["threshold"] < rows["threshold"]).all()


def test_a_type_that_leaves_no_time_for_a_copy_is_abrupt(fleet: Any) -> None:
    rows = analyses.starts(fleet, groups=5, working_groups=5, copy_hours=150).table().set_index("name")
    assert rows["abrupt"].to_dict() == {"RUE": True, "RSC": True, "SUT": False, "HFW": False}


def test_a_planted_signature_comes_back(fleet: Any) -> None:
    random = draws("signature")
    known = fleet.copy()
    u, c = known[RUE] / 50 - 1, known[RSC] / 50 - 1
    rue, rsc = published.SIGNATURES["RUE"], published.SIGNATURES["RSC"]
    noise = 0.1
    truth = np.where(known["serial"].map(kind_of) == "RUE", rue.degradation(u, RSC=c), rsc.degradation(c))
    known["deg"] = truth + random.normal(0, noise, len(known))
    found = analyses.signatures(known, degradation="deg", groups=5, working_groups=5).signatures
    for name, paper in (("RUE", rue), ("RSC", rsc)):
        each = found[name]
        assert each.rmse <= 1.2 * noise
        assert each.r2 > 0.95
        assert each.drives_held_out == 4
        assert each.published == (paper.r2, paper.rmse)
        # The polynomial is known where the drives are.
        line = np.linspace(-0.9, 0.9, 19)
        beside = {"RSC": 0.6 + 0.4 * line} if name == "RUE" else {}
        wanted = np.array([paper.degradation(x, **{k: v[at] for k, v in beside.items()}) for at, x in enumerate(line)])
        rows = pandas.DataFrame(dict.fromkeys((RUE, RSC, SUT, HFW), 99.0), index=range(19))
        rows[RUE if name == "RUE" else RSC] = 50 * (line + 1)
        if beside:
            rows[RSC] = 50 * (beside["RSC"] + 1)
        assert each.degradation(rows) == pytest.approx(wanted, abs=0.05)
    fitted = found["RSC"].coefficients["coefficient"].to_numpy()
    assert fitted == pytest.approx([rsc.constant, *rsc.powers], abs=0.05)
    fitted = found["RUE"].coefficients["coefficient"].to_numpy()
    assert fitted == pytest.approx([rue.constant, *rue.powers, rue.others["RSC"]], abs=0.15)
    assert found["RUE"].others == {RSC: 1.0}


def test_the_distance_to_the_failure_is_2_far_off_and_0_at_it(fleet: Any) -> None:
    found = analyses.signatures(fleet, groups=5, working_groups=5)
    each = found.signatures["RSC"]
    assert each.rmse < 0.05
    assert each.gain_over_tree == pytest.approx(100 * (1 - each.rmse / each.rmse_tree))
    drive = fleet[fleet["serial"] == each.held_out[0]]
    values = each.degradation(drive)
    assert values[0] == pytest.approx(2, abs=0.05)
    assert values[-1] == pytest.approx(0, abs=0.05)
    assert found.left_out == {"logical": "its drives read as working ones do"}
    coefficients = [f"{abs(term):.2f}" for term in each.coefficients["coefficient"]]
    told = analyses.formula(each).replace("- ", "+ ").split(" + ")
    assert told == [
        *coefficients[:1],
        *(f"{term} RSC{power}" for term, power in zip(coefficients[1:], ["", "²", "³"], strict=True)),
    ]


def test_no_record_of_a_held_out_drive_is_fitted(fleet: Any) -> None:
    whole = analyses.signatures(fleet, groups=5, working_groups=5).signatures["RSC"]
    # What held-out drives did before they failed changes nothing of the fit, the scale included.
    changed = fleet.copy()
    last = ~changed["serial"].duplicated(keep="last")
    changed.loc[changed["serial"].isin(whole.held_out) & ~last, RSC] -= 40
    again = analyses.signatures(changed, groups=5, working_groups=5).signatures["RSC"]
    assert again.held_out == whole.held_out
    assert again.coefficients.equals(whole.coefficients)
    assert again.scale == whole.scale
    assert again.rmse > whole.rmse


def test_forecasts_come_near_the_failure_and_leave_time(fleet: Any) -> None:
    found = analyses.forecasts(fleet, groups=5, working_groups=5, methods={"RSC": "linear"})
    rows = found.table().set_index("name")
    # RUE falls evenly: the line meets the failure, up to the degradation that counts as one.
    assert rows.loc["RUE", "error_max"] < 12
    assert rows.loc["RUE", "error_published"] == 20
    assert rows.loc["RUE", "usable_percent"] == 100
    # Drives that show signs and live on are forecast too.
    assert rows.loc["RUE", "working"] == DEGRADING["RUE"]
    drawn = found.plot(serial=found.rows["serial"].iloc[0])
    assert drawn.get_ylabel() == "degradation (0 is failure)"


def test_steps_are_forecast_by_arima_with_the_same_numbers_in_any_order() -> None:
    steps = disks("steps", healthy=30, kinds="RSC")
    # One sign alone, and few drives: each takes a second.
    kept = [serial for serial in steps["serial"].unique() if "working" not in serial or "healthy" in serial]
    steps = steps[steps["serial"].isin(kept)]
    asked: list[Job] = []

    def backwards(each: Callable[[Job], Ahead], jobs: Sequence[Job]) -> list[Ahead]:
        asked.extend(jobs)
        return [each(job) for job in jobs[::-1]][::-1]

    found = analyses.forecasts(steps, attributes=[RSC], groups=1, test_share=0.17, over=backwards)
    rows = found.table().set_index("name")
    assert (rows.loc["RSC", "method"], rows.loc["RSC", "drives"]) == ("arima", 2)
    assert rows.loc["RSC", "error_max"] < 24
    # As another process would do it.
    alone = pickle.loads(pickle.dumps(carried_forward(pickle.loads(pickle.dumps(asked[0])))))
    assert alone.failure == found.rows["forecast_hours"].iloc[0]


def test_hours_after_the_start_need_no_knowledge_of_the_end(fleet: Any) -> None:
    options: dict[str, Any] = {"groups": 5, "working_groups": 5, "monitored_hours": 30, "methods": {"RSC": "linear"}}
    found = analyses.forecasts(fleet, **options)
    seen = found.rows["seen_hours"] - found.rows["start_hours"]
    assert seen.dropna().max() <= 30
    # The same with all that came later taken away from the drives held out.
    assert found.rows.loc[found.rows["name"] == "RUE", "error_hours"].abs().max() < 15


def test_a_line_meets_the_failure_at_its_own_hour() -> None:
    hours = np.arange(20.0)
    ahead = carried_forward(Job(hours, 2 - 0.02 * hours, "linear", 0.1))
    assert ahead.failure == pytest.approx(95)
    assert np.isnan(carried_forward(Job(hours, 2 + 0.02 * hours, "linear", 0.1)).failure)


def test_a_series_that_stands_still_has_no_forecast() -> None:
    flat = Job(np.arange(50.0), np.full(50, 1.5), "arima", 0.1)
    assert np.isnan(carried_forward(flat).failure)


def test_types_are_told_ahead_and_from_windows_alone(fleet: Any) -> None:
    found = analyses.failure_types(fleet, window_hours=24, leads=(6, 24), groups=5, working_groups=5)
    rows = found.table().set_index(["lead_hours", "name"])
    for name in ("RUE", "RSC", "SUT", "HFW"):
        assert rows.loc[(6, name), "told_percent"] == 100
    # Logical failures look like healthy drives, and cannot be told.
    assert rows.loc[(6, "logical"), "told_percent"] < 50
    confusion = found.confusion
    degrading = confusion[(confusion["actual"] == "degrading") & (confusion["lead_hours"] == 6)]
    assert degrading["drives"].sum() > 0


def test_a_type_without_signs_before_its_last_hours_is_not_told_ahead(fleet: Any) -> None:
    abrupt = fleet.copy()
    left = abrupt.groupby("serial")["time"].transform("max") - abrupt["time"]
    healthy = abrupt["serial"].str.contains("RUE") & (left > pandas.Timedelta(hours=10))
    # As noisy as others: a value that stands still would be a sign.
    abrupt.loc[healthy, [RUE, RSC]] = 99 + draws("abrupt").uniform(-1, 1, (int(healthy.sum()), 2))
    found = analyses.failure_types(abrupt, window_hours=24, leads=(2, 24), groups=5, working_groups=5)
    rows = found.table().set_index(["lead_hours", "name"])
    assert rows.loc[(2, "RUE"), "told_percent"] == 100
    assert rows.loc[(24, "RUE"), "told_percent"] < 50
    assert rows.loc[(24, "RSC"), "told_percent"] == 100


def test_advice_keeps_drives_whose_failure_is_logical(fleet: Any) -> None:
    found = analyses.advice(fleet, groups=5, working_groups=5)
    rows = found.table()
    rows["kind"] = rows["serial"].map(kind_of)
    assert len(rows) == sum(FAILED.values()) - FAILED["logical"] + sum(DEGRADING.values())
    assert rows.loc[rows["kind"] == "SUT", "advice"].str.startswith("keep it: spread its load").all()
    assert rows.loc[rows["kind"] == "HFW", "advice"].str.startswith("keep it: spread accesses").all()
    assert rows.loc[rows["kind"].isin(["RUE", "RSC"]), "advice"].str.startswith("copy its data").all()


def test_critical_attributes_go_together_and_readings_are_dropped(fleet: Any) -> None:
    sick = fleet[fleet["serial"].str.contains("RUE|RSC")]
    found = analyses.critical_attributes(sick)
    assert "smart_1_raw" in found.dropped
    assert found.fluctuation["smart_9_raw"] == 0
    assert found.moving["smart_9_raw"] == 100
    # RSC moves with RUE where the head fails, and with age wherever sectors fail.
    assert found.critical[0] in (RSC, "smart_9_raw")
    assert found.shares.loc[RUE, RSC] == pytest.approx(50)
    assert found.plot(attribute=RSC).get_ylabel() == "drives (%)"


def test_the_variant_scales_to_100_and_tells_abrupt_types(fleet: Any) -> None:
    found = analyses.backblaze_variant(fleet, groups=5, working_groups=5, copy_hours=150)
    rows = found.table().set_index("name")
    assert found.failures.scale.high == 100
    assert 30 < rows.loc["RUE", "threshold"] < 99
    assert rows.loc["RUE", "rmse_published"] == 0.1839
    assert rows.loc["HFW", "rmse_published"] == 0.1624
    assert bool(rows.loc["RSC", "abrupt"])
    assert found.signatures is not None
    assert rows.loc["RUE", "rmse"] == found.signatures.signatures["RUE"].rmse


def test_raw_counts_are_health_upside_down(fleet: Any) -> None:
    raw = fleet.rename(columns={name: name.replace("normalized", "raw") for name in (RUE, RSC, SUT, HFW)})
    for name in (RUE, RSC, SUT, HFW):
        raw[name.replace("normalized", "raw")] = 100 - fleet[name]
    one = analyses.failure_groups(fleet, groups=5)
    other = analyses.failure_groups(raw, groups=5)
    assert one.members == other.members
    assert other.points == pytest.approx(one.points)


def test_answers_of_disks_are_tables_pictures_and_json(fleet: Any) -> None:
    options: dict[str, Any] = {"groups": 5, "working_groups": 5}
    for name in ("failure-groups", "working-groups", "deciles", "starts", "signatures", "advice", "backblaze-variant"):
        found = analyses.ANALYSES[name](fleet, **options)
        assert len(found.table()) > 0, name
        assert found.plot().get_xlabel(), name
        told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert told["analysis"] == type(found).__name__
    types = analyses.failure_types(fleet, window_hours=24, leads=(6,), **options)
    assert json.dumps(types.to_dict(), allow_nan=False)
    assert types.plot().get_ylabel() == "drives told by type (%)"


@pytest.mark.parametrize(
    ("name", "change", "options", "sentence"),
    [
        ("failure-groups", "no failures", {}, "none of the 218 drives failed; it needs 4 or more that did"),
        ("failure-groups", "", {"groups": 60}, "50 of the 218 drives failed; it needs 60 or more that did"),
        ("failure-groups", "all failed", {}, "all 50 drives failed; it needs working ones"),
        ("failure-groups", "", {"groups": 0}, "groups is 0; it is 1 or more"),
        ("failure-groups", "", {"attributes": ["smart_9"]}, "no column 'smart_9'"),
        ("failure-groups", "constant", {"attributes": [RUE, RSC]}, f"column '{RUE}' is constant in all"),
        ("failure-groups", "nothing", {}, "none of the attributes 5, 187, 3, 189, 198, 183, 197 is there and varies"),
        ("failure-groups", "", {"falling": ["x"]}, "falling names 'x', which is none of the attributes"),
        ("failure-groups", "", {"bounds": (1, -1)}, "the scale goes from 1 to -1"),
        ("failure-groups", "", {"spread": "sqrt"}, "spread is 'sqrt'; it is 'linear' or 'log'"),
        ("starts", "", {"rule": "best"}, "rule is 'best'; it is 'hyperplane' or 'upper bound'"),
        (
            "starts",
            "logical",
            {"groups": 1},
            "no type of failure has a sign: all 10 failed drives read as working ones do",
        ),
        ("signatures", "", {"test_share": 1.0}, "the share held out is 1; it lies between 0 and 1"),
        ("signatures", "", {"degradation": "deg"}, "no column 'deg'"),
        ("signatures", "few", {"groups": 2}, "3 drives failed by it; a signature needs 4"),
        ("forecasts", "", {"monitored": 2}, "the share monitored is 2; it lies between 0 and 1"),
        ("forecasts", "", {"methods": {"RSC": "magic"}}, "the method of RSC is 'magic'; it is 'linear' or 'arima'"),
        ("failure-types", "", {"leads": []}, "leads and window are hours above 0, not [] and 168"),
        ("failure-groups", "missing", {"attributes": [RUE, RSC]}, f"no drive's last record has all of {RUE}, {RSC}"),
        (
            "failure-types",
            "",
            {"leads": [1000]},
            "no drive held out has two records in the 168 hours that end 1000 hours before",
        ),
        ("critical-attributes", "no failures", {}, "none of the 218 drives failed; it needs 1 or more that did"),
        (
            "critical-attributes",
            "",
            {"attributes": ["smart_9_raw", "smart_1_raw"]},
            "smart_9_raw alone accumulates, and two must",
        ),
    ],
)
def test_what_disks_cannot_answer_is_one_sentence(
    fleet: Any, name: str, change: str, options: dict[str, Any], sentence: str
) -> None:
    changed = fleet.copy()
    serials = changed["serial"]
    if change == "no failures":
        changed["failure"] = False
    if change == "all failed":
        changed = changed[serials.str.contains("failed")]
    if change == "constant":
        changed[RUE] = 100.0
    if change == "missing":
        changed.loc[::2, RUE] = changed.loc[1::2, RSC] = np.nan
    if change == "nothing":
        changed = changed.drop(columns=[RUE, RSC, SUT, HFW])
    if change == "logical":
        changed = changed[serials.str.contains("logical-failed|healthy")]
    if change == "few":
        sick = sorted(serials[serials.str.contains("RUE-failed")].unique())[:3]
        changed = changed[serials.isin(sick) | serials.str.contains("logical-failed|healthy")]
    with pytest.raises(AnalysisError) as caught:
        analyses.ANALYSES[name](changed, **options)
    said = caught.value.sentence
    assert sentence in said
    assert said.startswith(name.replace("-", "_") + ": ")


def test_the_signature_of_bad_sectors_on_real_drives() -> None:
    folder = os.environ.get("WANE_TEST_DATA")
    if folder is None or not (Path(folder) / BACKBLAZE).exists():
        pytest.skip(f"WANE_TEST_DATA names no folder with {BACKBLAZE}")
    records = pandas.read_csv(Path(folder) / BACKBLAZE).rename(columns={"serial_number": "serial"})
    options: dict[str, Any] = {"attributes": ["smart_5_raw"], "groups": 2, "spread": "log"}
    # On the study's linear scale one drive with 52,104 sectors is a group, and all others are one.
    linear = analyses.failure_groups(records, attributes=["smart_5_raw"], groups=2)
    assert linear.groups["drives"].tolist() == [1, 74]
    found = analyses.signatures(records, **options)
    each = found.signatures["RSC"]
    assert (each.drives, each.drives_held_out) == (25, 10)
    print(f"RSC on {BACKBLAZE}: degradation = {analyses.formula(each)}")
    print(
        f"R² {each.r2:.3f} and RMSE {each.rmse:.3f} (tree {each.rmse_tree:.3f}); 002 has 0.98 and 0.116 on other drives"
    )
    # Far from the study's: these drives fail with anything from 37 to 52,104 sectors, so that a count does not tell how far the failure is.
    assert each.r2 == pytest.approx(0.451, abs=0.01)
    assert each.rmse == pytest.approx(0.315, abs=0.005)
    ends = records[records["failure"] == 1].set_index("serial")["smart_5_raw"]
    ends = ends[
        [serial for serial, name in analyses.failure_groups(records, **options).members.items() if name == "RSC"]
    ]
    assert (ends.min(), ends.max()) == (37, 52_104)
    ahead = analyses.forecasts(records, methods={"RSC": "linear"}, **options).table().iloc[0]
    assert (ahead["drives"], ahead["forecast"], ahead["working"], ahead["working_wrong"]) == (10, 5, 200, 28)
    assert ahead["error_median"] == pytest.approx(192, abs=1)
