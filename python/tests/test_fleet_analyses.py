"""Analyses of solid-state drives (002, chapter 4), on generated fleets whose truth is known."""

import inspect
import json
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from wane.fleet import analyses
from wane.fleet.analyses import AnalysisError, published

pandas = pytest.importorskip("pandas")
for needed in ("matplotlib", "scipy", "sklearn", "statsmodels"):
    pytest.importorskip(needed)

WEAR = ["smart_168_raw", "smart_173_raw", "smart_233_raw", "smart_241_raw"]


def draws(name: str) -> np.random.Generator:
    """A named stream: each test's fleet is its own."""
    return np.random.default_rng(crc32(name.encode()))


def frame_of(drives: list[dict[str, Any]], model: str = "A", failed: frozenset[int] = frozenset()) -> Any:
    """Records a day of drives, each with a column of values by attribute."""
    parts = []
    for number, columns in enumerate(drives):
        days = len(next(iter(columns.values())))
        dates = pandas.date_range("2024-01-01", periods=days, freq="D")
        part = pandas.DataFrame({"date": dates, "serial": f"S{number:04}", "model": model, "failure": False, **columns})
        part.loc[part.index[-1], "failure"] = number in failed
        parts.append(part)
    return pandas.concat(parts, ignore_index=True)


def aging(name: str, drives: int = 60, days: int = 40, noise: float = 0.0) -> Any:
    """Drives that write at a rate of their own and never change, with write amplification 1.3 and 30 sectors a page; only their age differs."""
    random = draws(name)
    made = []
    for _ in range(drives):
        rate, age = random.uniform(50, 200), random.uniform(100, 500)
        daily = rate * (1 + noise * random.standard_normal(days).clip(-3, 3))
        host = rate * age + np.cumsum(daily)
        made.append(
            {
                "smart_9_raw": 24.0 * random.uniform(100, 700) + 24.0 * np.arange(days),
                "smart_168_raw": 1.3 * host / 400,
                "smart_173_raw": 1.3 * host / 500,
                "smart_174_raw": np.full(days, 3.0),
                "smart_194_raw": random.normal(30, 2, days),
                "smart_233_raw": 1.3 * host,
                "smart_241_raw": host,
                "smart_246_raw": host * 30,
                "smart_247_raw": host,
                "smart_248_raw": host * 0.5,
            }
        )
    return frame_of(made)


def planted(name: str, states: int = 5, drives: int = 50, days: int = 20) -> tuple[Any, Any]:
    """Drives that stay in one of several states, wide apart; the records and each drive's state."""
    random = draws(name)
    truth = np.arange(drives) % states
    made = [
        {key: 10.0 * state * scale + random.normal(0, 0.2, days) for key, scale in (("first", 1.0), ("second", 3.0))}
        for state in truth
    ]
    return frame_of(made), truth


def test_wear_rises_together_and_the_environment_does_not() -> None:
    fleet = aging("correlation")
    found = analyses.correlation(fleet)
    assert found.dropped == ("smart_174_raw",)
    wear = found.coefficients.loc[WEAR, WEAR].to_numpy()
    assert (wear > 0.9).all()
    assert (np.abs(found.coefficients.loc["smart_194_raw", WEAR]) < 0.2).all()
    assert found.coefficients.loc["smart_246_raw", "smart_247_raw"] == pytest.approx(1.0)
    strong = found.table()[found.table()["strong"]]
    assert "smart_194_raw" not in set(strong["attribute"]) | set(strong["other"])


def test_significance_counts_each_drive_once() -> None:
    random = draws("significance")
    # Ten drives with unrelated levels: a thousand records would make any correlation of the levels significant.
    fleet = frame_of(
        [{"one": np.full(100, random.normal()), "other": np.full(100, random.normal())} for _ in range(10)]
    )
    table = analyses.correlation(fleet).table()
    assert table["p_value"].iloc[0] > 0.05
    assert not table["significant"].iloc[0]
    by_drive = analyses.correlation(fleet, of="drives")
    stats = pytest.importorskip("scipy.stats")
    last = fleet.groupby("serial").last()
    wanted = stats.spearmanr(last["one"], last["other"])
    assert by_drive.coefficients.iloc[0, 1] == pytest.approx(wanted.statistic)
    assert by_drive.p_values.iloc[0, 1] == pytest.approx(wanted.pvalue)


def test_of_three_drives_nothing_is_significant() -> None:
    random = draws("three drives")
    drives = [
        {"one": np.arange(20.0), "other": np.arange(20.0) ** 2, "third": random.normal(size=20)} for _ in range(6)
    ]
    for drive in drives[3:]:
        drive["other"] = np.full(20, np.nan)
    # This one has both, but never at once.
    drives[3]["other"] = np.where(np.arange(20) < 10, 5.0, np.nan)
    drives[3]["one"] = np.where(np.arange(20) < 10, np.nan, 5.0)
    found = analyses.correlation(frame_of(drives))
    table = found.table().set_index(["attribute", "other"])
    assert table.loc[("one", "other"), "drives"] == 3
    assert table.loc[("one", "other"), "coefficient"] > 0.9
    assert np.isnan(table.loc[("one", "other"), "p_value"])
    assert not table.loc[("one", "other"), "significant"]
    assert table.loc[("one", "third"), "drives"] == 6
    assert found.p_values.notna().loc["one", "third"]


def test_missing_values_are_no_zeros() -> None:
    fleet = aging("missing")
    holes = fleet.copy()
    holes.loc[::3, "smart_233_raw"] = np.nan
    whole, less = analyses.correlation(fleet), analyses.correlation(holes)
    assert less.coefficients.loc["smart_233_raw", "smart_241_raw"] == pytest.approx(1.0)
    assert (
        whole.coefficients.loc["smart_168_raw", "smart_241_raw"]
        == less.coefficients.loc["smart_168_raw", "smart_241_raw"]
    )
    assert analyses.write_amplification(holes).slope == pytest.approx(1.3, rel=1e-9)
    states = analyses.health_states(holes, attributes=WEAR, states=3)
    assert states.records_left_out == holes["smart_233_raw"].isna().sum()
    assert (states.labels[::3] == -1).all()


def test_write_amplification_is_the_slope_and_the_growth() -> None:
    fleet = aging("write amplification", noise=0.3)
    found = analyses.write_amplification(fleet)
    assert found.slope == pytest.approx(1.3, rel=1e-9)
    assert found.growth == pytest.approx(1.3, rel=1e-9)
    assert found.total == pytest.approx(1.3, rel=1e-9)
    assert found.drives_reset == 0
    pages = fleet.drop(columns=["smart_233_raw", "smart_241_raw"])
    assert analyses.write_amplification(pages).slope == pytest.approx(1.5, rel=1e-9)
    assert analyses.sectors_per_page(fleet).slope == pytest.approx(30, rel=1e-9)


def test_a_past_unlike_the_present_shows_in_growth_alone() -> None:
    fleet = aging("past")
    fleet["smart_233_raw"] += 50_000
    first = fleet.groupby("serial")["smart_241_raw"].transform("first")
    fleet["smart_233_raw"] += 0.7 * (fleet["smart_241_raw"] - first)
    found = analyses.write_amplification(fleet)
    assert found.growth == pytest.approx(2.0, rel=1e-9)
    assert found.slope < 1.6
    assert found.slope_interval[0] < found.slope < found.slope_interval[1]


def test_a_counter_that_goes_back_is_not_growth() -> None:
    fleet = aging("reset")
    fleet.loc[fleet["serial"].eq("S0000") & (fleet["date"] > "2024-01-20"), "smart_241_raw"] = 1.0
    found = analyses.write_amplification(fleet)
    assert found.drives_reset == 1
    assert found.growth == pytest.approx(1.3, rel=1e-9)


def test_boxes_have_quartiles_whiskers_and_outliers_by_model() -> None:
    values = np.r_[np.arange(1.0, 100.0), 1000.0]
    one = frame_of([{"x": [value]} for value in values])
    other = frame_of([{"x": [5.0]}, {"x": [7.0]}, {"x": [np.nan]}], "B")
    other["serial"] = "B" + other["serial"]
    found = analyses.distribution(pandas.concat([one, other], ignore_index=True))
    box = found.table().set_index("model").loc["A"]
    assert (box["q1"], box["median"], box["q3"]) == tuple(np.percentile(values, [25, 50, 75]))
    assert (box["whisker_low"], box["whisker_high"], box["outliers"]) == (1, 99, 1)
    assert found.outliers["x", "A"].tolist() == [1000]
    beside = found.table().set_index("model").loc["B"]
    assert (beside["values"], beside["missing"], beside["mean"]) == (2, 1, 6)


def test_planted_states_are_found_with_the_elbow() -> None:
    fleet, truth = planted("states")
    found = analyses.health_states(fleet)
    assert found.elbow is not None
    # Rounding in k-means leaves no -1e-17.
    values = found.centroids.to_numpy()
    assert ((values == 0) | (values >= 1e-12)).all()
    assert not np.signbit(values).any()
    assert found.states == found.elbow.chosen == 5
    assert found.elbow.bend == 2
    assert (found.labels == np.repeat(truth, 20)).all()
    assert found.distortion < 0.03
    assert found.centroids["first"].is_monotonic_increasing
    assert found.shares["drives"].tolist() == [10] * 5


def test_states_leave_out_what_is_constant_or_mostly_missing() -> None:
    fleet, truth = planted("left out")
    fleet["same"], fleet["rare"] = 7.0, np.where(fleet.index < 100, 1.0 * fleet.index, np.nan)
    found = analyses.health_states(fleet, states=5)
    assert found.features == ("first", "second")
    assert (found.labels == np.repeat(truth, 20)).all()
    with pytest.raises(AnalysisError, match="no attribute varies that half of the records have: same, rare"):
        analyses.health_states(fleet.drop(columns=["first", "second"]), states=5)


def test_signatures_of_functions_tell_their_options() -> None:
    for name, function in analyses.ANALYSES.items():
        kinds = {each.kind for each in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name
    assert "attributes" in inspect.signature(analyses.starts).parameters
    with pytest.raises(
        AnalysisError, match="starts: there is no option 'color'; beside its own it takes: attributes, model"
    ):
        analyses.ANALYSES["starts"](planted("options")[0], color=1)


def test_columns_of_a_feature_count_as_one() -> None:
    fleet, _ = planted("features")
    found = analyses.health_states(fleet, attributes=[["first", "second"]], states=5)
    assert found.features == ("first+second",)
    assert found.centroids.shape == (5, 1)
    assert found.centroids.iloc[:, 0].diff().dropna().to_numpy() == pytest.approx(0.25, abs=0.01)


def test_aging_alone_yields_degradation() -> None:
    fleet = aging("null", drives=100, days=60)
    found = analyses.transitions(fleet, attributes=WEAR)
    # Nothing ever happens to these drives, and yet a quarter of them "degrades", exactly as many as at constant rate.
    assert found.observed.changing > 20
    assert found.constant_rate.changing == pytest.approx(found.observed.changing)
    assert found.rates.changing == found.rates_shuffled.changing == 0
    assert found.age_alone == 100


def test_noise_in_rates_is_told_from_change() -> None:
    # Days differ by half, drives hardly: clusters of rates cut through the noise, in any order of the days.
    noisy = analyses.transitions(aging("noisy", noise=0.5), attributes=WEAR)
    assert noisy.rates.changing > 30
    assert noisy.rates_shuffled.changing == pytest.approx(noisy.rates.changing, abs=15)
    # Drives that are worked harder from a day on change in the days' own order alone.
    fleet = aging("trend", drives=40)
    for name in WEAR:
        before = fleet[name].where(fleet["date"] <= "2024-01-20").groupby(fleet["serial"]).transform("max")
        fleet[name] += 4 * (fleet[name] - before).clip(lower=0)
    trend = analyses.transitions(fleet, attributes=WEAR, spans=2)
    assert trend.rates.changing > trend.rates_shuffled.changing + 20


def test_a_drive_that_is_worked_harder_is_not_age_alone() -> None:
    fleet = aging("harder", drives=40, days=60)
    later = fleet["date"] >= "2024-01-31"
    harder = fleet["serial"].isin([f"S{number:04}" for number in range(20)])
    start = fleet[later].groupby("serial")["smart_241_raw"].transform("first")
    for name in WEAR:
        start = fleet[later].groupby("serial")[name].transform("first").reindex(fleet.index)
        fleet.loc[later & harder, name] += 30 * (fleet[name] - start)[later & harder]
    found = analyses.transitions(fleet, attributes=WEAR)
    moved = found.rates.changes > 0
    assert moved[:20].all()
    assert not moved[20:].any()
    assert found.age_alone < 100


def test_patterns_name_ways_and_sum_to_100() -> None:
    ways = [[0] * 6, [0, 0, 1, 1, 2, 2], [2, 2, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1], [0, 1, 0, 2, 2, 2], [1] * 6]
    fleet = frame_of([{"level": np.array(way) * 10.0} for way in ways])
    found = analyses.transitions(fleet, states=3)
    rows = found.table().set_index("pattern")
    assert {name: rows.loc[name, "drives"] for name in ("0", "1", "2", "0→1→2", "2→1", "0↔1", "0→1→0→2")} == {
        "0": 1,
        "1": 1,
        "2": 0,
        "0→1→2": 1,
        "2→1": 1,
        "0↔1": 1,
        "0→1→0→2": 1,
    }
    assert rows["percent"].sum() == pytest.approx(100)
    assert rows["percent_constant_rate"].sum() == pytest.approx(100)
    assert found.observed.changing == pytest.approx(100 * 4 / 6)
    assert found.observed.transitions_max == 5


def test_columns_of_the_published_tables_sum_to_100() -> None:
    for table, changing in ((published.TRANSITIONS_A, 84.0), (published.TRANSITIONS_B, 36.2)):
        assert sum(table.values()) == pytest.approx(100)
        assert sum(share for name, share in table.items() if len(name) > 1) == pytest.approx(changing)


def test_published_signatures_are_near_2_when_healthy_and_0_at_failure() -> None:
    rue, rsc = published.SIGNATURES["RUE"], published.SIGNATURES["RSC"]
    assert rue.degradation(1, RSC=1) == pytest.approx(2.15)
    assert rue.degradation(0.37, RSC=1) == pytest.approx(1.896, abs=5e-4)
    assert rue.degradation(-1, RSC=-1) == pytest.approx(0.07)
    assert [round(rsc.degradation(at), 3) for at in (1, 0.03, 0, -1)] == [2.07, 0.899, 0.87, 0.03]


def test_the_same_seed_gives_the_same_answer() -> None:
    fleet = aging("seed", noise=0.2)
    one, other = (json.dumps(analyses.transitions(fleet, attributes=WEAR, seed=3).to_dict()) for _ in range(2))
    assert one == other


def test_every_answer_is_a_table_a_picture_and_json() -> None:
    fleet = aging("answers")
    options: dict[str, Any] = {"health-states": {"attributes": WEAR}, "transitions": {"attributes": WEAR}}
    for name in (
        "correlation",
        "write-amplification",
        "sectors-per-page",
        "distribution",
        "health-states",
        "transitions",
    ):
        found = analyses.ANALYSES[name](fleet, **options.get(name, {}))
        assert len(found.table()) > 0, name
        assert found.plot().get_ylabel() or name == "correlation", name
        told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert told["analysis"] == type(found).__name__
    boxes = analyses.distribution(fleet)
    assert boxes.plot(attribute="smart_9_raw", outliers="shown").get_ylabel() == "power-on hours (h)"
    elbow = analyses.health_states(fleet, attributes=WEAR).elbow
    assert elbow is not None
    assert elbow.plot().get_xlabel() == "clusters"


def broken(how: str) -> Any:
    fleet = aging("broken", drives=6, days=5)
    if how == "unsorted":
        return fleet.iloc[::-1]
    if how == "scattered":
        return fleet.sort_values(["date", "serial"])
    if how == "twice":
        return pandas.concat([fleet.iloc[:1], fleet])
    if how == "two models":
        fleet.loc[3, "model"] = "B"
    if how == "no date":
        fleet["date"] = fleet["date"].astype(str)
        fleet.loc[3, "date"] = "yesterday"
    if how == "numbers as dates":
        fleet["date"] = range(len(fleet))
    if how == "text":
        fleet["smart_233_raw"] = "12"
    if how == "infinite":
        fleet.loc[0, "smart_233_raw"] = np.inf
    if how == "failure":
        fleet["failure"] = 2
    if how == "one drive":
        return fleet[fleet["serial"] == "S0000"]
    if how == "empty":
        return fleet[fleet["serial"] == "none"]
    return fleet


@pytest.mark.parametrize(
    ("name", "how", "options", "sentence"),
    [
        ("correlation", "unsorted", {}, "not sorted: row 1 (serial 'S0005') is of 2024-01-04"),
        ("correlation", "scattered", {}, "not sorted: serial 'S0000' comes again in row 6"),
        ("correlation", "twice", {}, "serial 'S0000' has two records of 2024-01-01 00:00:00, rows 0 and 1"),
        ("correlation", "two models", {}, "serial 'S0000' has two models: 'A' and 'B'"),
        ("correlation", "no date", {}, "column 'date' holds what is no date"),
        ("correlation", "numbers as dates", {}, "column 'date' holds numbers, and needs dates"),
        ("correlation", "failure", {}, "column 'failure' holds 2; it is true or false"),
        ("correlation", "one drive", {}, "there is 1 drive; it needs 4 or more"),
        ("correlation", "empty", {}, "there are no records"),
        ("correlation", "", {"model": "C"}, "no drive is of model 'C'; the models are: A"),
        ("correlation", "", {"attributes": ["smart_174_raw", "smart_9_raw"]}, "smart_9_raw alone varies, and two must"),
        (
            "correlation",
            "",
            {"attributes": ["smart_174_raw"]},
            "no attribute varies, and two must; constant: smart_174_raw",
        ),
        ("correlation", "", {"attributes": "smart_9_raw"}, "a list of columns, not the text 'smart_9_raw'"),
        ("correlation", "", {"confidence": 95}, "the confidence is 95; it lies between 0 and 1"),
        ("write-amplification", "text", {}, "column 'smart_233_raw' holds object, and an attribute is a number"),
        ("write-amplification", "infinite", {}, "column 'smart_233_raw' holds an infinite value"),
        ("write-amplification", "", {"flash": "x", "host": "y"}, "the records have no column 'x'"),
        ("write-amplification", "", {"flash": "x"}, "flash and host are given together"),
        (
            "write-amplification",
            "",
            {"flash": "smart_233_raw", "host": "smart_174_raw"},
            "smart_174_raw is 3 in all 30 records",
        ),
        ("health-states", "", {"states": 7}, "there are 6 drives; it needs 7 or more"),
        ("health-states", "", {"states": 2.5}, "2.5 states were asked for; it is a whole number, 2 to 50"),
        ("transitions", "", {"states": "x"}, "'x' states were asked for; it is a whole number"),
        ("health-states", "", {"attributes": ["smart_9_raw"] * 2}, "smart_9_raw is asked for twice"),
        ("correlation", "", {"attributes": ["smart_9_raw"] * 2}, "column 'smart_9_raw' is asked for twice"),
        ("health-states", "", {"states": 1}, "1 states were asked for; it is 2 to 50"),
        (
            "health-states",
            "",
            {"states": 3, "attributes": ["smart_174_raw"]},
            "column 'smart_174_raw' is 3 in all 30 records, and tells no states apart",
        ),
        (
            "transitions",
            "",
            {"attributes": WEAR, "spans": 9},
            "no drive has 10 records, which 9 spans need; the longest has 5",
        ),
        ("transitions", "", {"attributes": WEAR, "spans": 1}, "cut into 1 spans; it takes 2 or more"),
        ("distribution", "", {"of": "all"}, "of is 'all'; it is 'drives' or 'records'"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(name: str, how: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        analyses.ANALYSES[name](broken(how), **options)
    said = caught.value.sentence
    assert sentence in said
    assert said.startswith(name.replace("-", "_") + ": ")
    assert "\n" not in said


@pytest.mark.parametrize("column", ["serial", "model", "failure", "date"])
def test_a_missing_column_is_named(column: str) -> None:
    with pytest.raises(AnalysisError, match=f"no column '{column}'"):
        analyses.correlation(broken("").drop(columns=column))


def test_records_after_a_failure_are_left_out() -> None:
    fleet = aging("after", drives=6, days=10)
    fleet.loc[4, "failure"] = True
    found = analyses.health_states(fleet, attributes=WEAR, states=2)
    assert found.records == 55
