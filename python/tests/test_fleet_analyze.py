"""Failures that come together, and analyses by name."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import fleets
import pandas as pd
import pytest

import wane
from wane import fleet
from wane.fleet.__main__ import main


def tickets(*rows: tuple[int, int, str]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["node_id", "rack_id", "time"])
    return table.assign(time=pd.to_datetime(table["time"]))


def test_near_failures_are_counted_by_hand() -> None:
    told = fleet.correlated(
        tickets(
            (1, 1, "2024-01-01 00:00:00"),
            (1, 1, "2024-01-01 00:30:00"),
            (2, 1, "2024-01-01 00:59:00"),
            (3, 2, "2024-01-01 00:00:00"),
        ),
        windows=(30,),
    )
    # Two on a node exactly half an hour apart, a third in their rack, one alone.
    assert told.places["node_id"] == {"places": 3, "share_with_others": 0.5, "most": 2}
    assert [(row["place"], row["share"]) for row in told.near] == [("node_id", 0.5), ("rack_id", 0.75)]


def test_times_that_do_not_matter_come_out_as_dealt_anew() -> None:
    times = pd.date_range("2024-01-01", periods=600, freq="h").strftime("%Y-%m-%d %H:%M:%S")
    told = fleet.correlated(
        tickets(*[((7 * n) % 60, (7 * n) % 20, time) for n, time in enumerate(times)]), windows=(24 * 60,)
    )
    for row in told.near:
        assert row["dealt_least"] <= row["dealt_anew"] <= row["dealt_most"]
    together = fleet.correlated(tickets(*[(n // 10, n // 30, time) for n, time in enumerate(times)]), windows=(60,))
    assert together.near[0]["share"] == 1
    assert together.near[0]["dealt_most"] < 0.5


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (tickets(), "found 0, at least 2"),
        (tickets((1, 1, "2024-01-01")).drop(columns="time"), "have no column time"),
        (tickets((1, 1, "2024-01-01")).drop(columns=["node_id", "rack_id"]), "tell no place"),
    ],
)
def test_tickets_that_say_too_little_are_refused(table: pd.DataFrame, sentence: str) -> None:
    with pytest.raises(wane.FleetError, match=sentence):
        fleet.correlated(table)


def test_on_alibabas_even_racks_failures_come_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.ingest(tmp_path / "f", [fleets.real(fleets.TICKETS)])
    assert main(["analyze", str(tmp_path / "f"), "correlated", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["failures"] == 9303
    assert round(100 * told["places"]["node_id"]["share_with_others"], 1) == 52.2
    assert (told["places"]["node_id"]["most"], told["places"]["rack_id"]["most"]) == (12, 112)
    near = {(row["place"], row["minutes"]): row for row in told["near"]}
    shares = [
        near[place, minutes]["share"] for place, minutes in (("node_id", 30), ("rack_id", 30), ("rack_id", 43_200))
    ]
    assert [round(100 * share, 1) for share in shares] == [13.4, 19.2, 63.9]
    # Half an hour is no coincidence.
    assert near["node_id", 30]["dealt_most"] < 0.01
    dealt = f"dealt anew give {100 * near['node_id', 30]['dealt_anew']:.1f} %"
    assert dealt in (Path(__file__).parents[2] / "docs/src/fleet.md").read_text()


def test_an_analysis_is_found_by_name_and_gets_what_it_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, day) for day in (10, 11)])

    def mean(frame: pd.DataFrame, *, attributes: list[str] | None = None, seed: int = 0) -> Any:
        told = {"columns": list(frame.columns), "attributes": attributes, "rows": len(frame), "seed": seed}
        return SimpleNamespace(to_dict=lambda: told, table=lambda: pd.DataFrame([told]))

    module = ModuleType("wane.fleet.analyses")
    module.ANALYSES = {"mean": mean}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wane.fleet.analyses", module)
    assert main(["analyze", str(tmp_path / "f")]) == 0
    assert {"correlated", "survival", "mean"} <= set(capsys.readouterr().out.split())
    command = ["analyze", str(tmp_path / "f"), "mean", "--attribute", "smart_9_raw", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == {
        "columns": ["serial", "model", "date", "failure", "smart_9_raw"],
        "attributes": ["smart_9_raw"],
        "rows": 10,
        "seed": 0,
    }
    assert main([*command, "--option", "seed=5"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 5
    for option, told in (
        ("seed=five", 'wane: --option seed: found "five", allowed is a whole number'),
        ("depth=1", 'wane: --option: found "depth=1", allowed are seed, each as NAME=VALUE'),
        ("seed", 'wane: --option: found "seed", allowed are seed, each as NAME=VALUE'),
    ):
        assert main([*command, "--option", option]) == 2
        assert capsys.readouterr().err == told + "\n"
    with fleet.open(tmp_path / "f") as opened:
        # Without a choice all that is a number and was told: no text, and no capacity.
        told = fleet.analyze(opened, "mean", seed=3).to_dict()
        assert told["columns"][4:] == ["smart_5_normalized", "smart_5_raw", "smart_9_raw"]
        with pytest.raises(wane.FleetError, match='takes no option "depth", allowed are attributes, seed'):
            fleet.analyze(opened, "mean", depth=1)
        with pytest.raises(wane.FleetError, match='found "median", allowed are correlated, survival'):
            fleet.analyze(opened, "median")
    assert main([*command[:3], "--plot", "x.pdf"]) == 2
    assert "mean: has no picture" in capsys.readouterr().err


def test_how_failures_come_together_is_drawn(tmp_path: Path) -> None:
    told = fleet.correlated(tickets(*[(n % 5, n % 2, f"2024-01-{n + 1:02}") for n in range(20)]))
    axes = told.plot()
    assert axes.get_xlabel() == "window (hours)"
    assert len(axes.lines) == 4


@pytest.mark.parametrize("missing", ["duckdb", "pyarrow"])
def test_without_the_extra_it_is_one_sentence(
    tmp_path: Path, missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = fleets.day(tmp_path, 10)
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["ingest", str(tmp_path / "f"), str(file)]) == 2
    sentence = f"wane: wane.fleet needs {missing}, which is not installed: pip install 'wane[fleet]'\n"
    assert capsys.readouterr().err == sentence
    assert not (tmp_path / "f").exists()
