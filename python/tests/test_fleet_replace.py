"""The list of drives to replace: its order, its budget, its thresholds, and the test of its rule on earlier days."""

import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import fleets
import pytest
from test_fleet_report import nvme

import wane
from wane import fleet
from wane.fleet.__main__ import main

HEADER = ["date", "serial_number", "model", "failure", "smart_5_raw", "smart_187_raw", "smart_197_raw"]


def disk(path: Path, drives: dict[str, Any], days: int = 30) -> Path:
    """A fleet of disks: for each serial its values of a day, from 1, and the day of its failure, after which it has no rows."""
    first, lines = date(2013, 4, 1), []
    for serial, told in drives.items():
        fails = told.get("fails", days + 1)
        for day in range(1, min(days, fails) + 1):
            values = {name: value(day) if callable(value) else value for name, value in told.items()}
            base = {"smart_5_raw": 0, "smart_187_raw": 0, "smart_197_raw": 0}
            when = str(first + timedelta(days=day - 1))
            lines.append(fleets.row(serial, when, failure=int(day == fails), **{**base, **values}))
    fleet.ingest(path / "f", [fleets.write(path / "days.csv", lines, HEADER)])
    return path / "f"


def listed(path: Path, **options: Any) -> list[tuple[str, str]]:
    with fleet.open(path) as opened:
        return [(row["serial"], row["urgency"]) for row in fleet.replacements(opened, **options).drives]


SIGNS: list[tuple[str, dict[str, Any], bool]] = [
    ("a few sectors", {"smart_5_raw": lambda day: min(day, 9)}, False),
    ("ten sectors", {"smart_5_raw": lambda day: min(day, 11)}, True),
    ("a few sectors that wait", {"smart_197_raw": lambda day: min(day, 9)}, False),
    ("a few of two kinds", {"smart_5_raw": lambda day: min(day, 2), "smart_197_raw": 1}, True),
    ("many that stand still", {"smart_5_raw": 4000, "smart_197_raw": 400}, False),
    ("one read error", {"smart_187_raw": lambda day: min(day, 2)}, True),
    ("old read errors", {"smart_187_raw": 7}, False),
]


@pytest.mark.parametrize(("told", "is_listed"), [each[1:] for each in SIGNS], ids=[each[0] for each in SIGNS])
def test_growth_by_a_few_sectors_alone_is_no_reason(tmp_path: Path, told: dict[str, Any], is_listed: bool) -> None:
    path = disk(tmp_path, {"A": told, "WELL": {}})
    assert listed(path) == [("A", "soon")] * is_listed
    with fleet.open(path) as opened:
        found = fleet.replacements(opened)
    is_few = not is_listed and any(callable(value) for value in told.values())
    assert (found.few, found.still) == (int(is_few), int(not is_listed and not is_few))


def test_the_list_is_ordered_by_urgency_then_by_risk_and_cut_at_the_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drives = {
        "FEWER": {"smart_5_raw": lambda day: 5 * day},
        "MORE": {"smart_5_raw": lambda day: 50 * day},
        "BOTH": {"smart_5_raw": lambda day: 5 * day, "smart_197_raw": lambda day: day},
        "WELL": {},
    }
    path = disk(tmp_path, drives)
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "now.json").write_text(fleets.smartctl("NOW", "M", seconds=1_367_280_000, smart_status={"passed": False}))
    fleet.ingest(path, [logs])
    order = [("NOW", "now"), ("BOTH", "soon"), ("MORE", "soon"), ("FEWER", "soon")]
    assert listed(path) == order
    for budget in (1, 3, 4, 99):
        assert listed(path, at_most=budget) == order[:budget]
    assert main(["replace", str(path), "--at-most", "2"]) == 0
    told = capsys.readouterr().out
    assert re.findall(r"^(?:now|soon) +(\S+)", told, re.MULTILINE) == ["NOW", "BOTH"]
    assert "the first 2 of 4 drives with a reason, by urgency and risk\n4 of 5 drives" in told
    for none in ("0", "-1"):
        assert main(["replace", str(path), "--at-most", none]) == 2
        assert f"at-most: found {none}, allowed is a number of drives from 1 on" in capsys.readouterr().err


def test_of_drives_with_the_same_signs_that_of_a_model_that_fails_comes_first(tmp_path: Path) -> None:
    growing = {"smart_5_raw": lambda day: 5 * day}
    drives: dict[str, Any] = {"A": growing | {"model": "GOOD"}, "B": growing | {"model": "BAD"}}
    drives |= {f"G{number:03}": {"model": "GOOD"} for number in range(600)}
    drives |= {f"B{number:03}": {"model": "BAD", **({"fails": 9} if number < 20 else {})} for number in range(300)}
    with fleet.open(disk(tmp_path, drives)) as opened:
        found = fleet.replacements(opened).drives
    assert [row["serial"] for row in found] == ["B", "A"]
    assert found[0]["reasons"][-1] == "its model fails 2.0 times as often as the fleet's drives: 20 in 8,610 drive-days"
    assert len(found[1]["reasons"]) == 1
    with fleet.open(tmp_path / "f") as opened:
        # Before the failures nothing tells the models apart.
        early = fleet.replacements(opened, as_of=date(2013, 4, 8)).drives
    assert [(row["serial"], row["risk"]) for row in early] == [("A", 14 * 36.0), ("B", 14 * 36.0)]


RATED: list[tuple[dict[str, Any], str]] = [
    ({"critical_warning": 4, "percentage_used": 100}, "past-rating"),
    ({"critical_warning": 4, "percentage_used": 121}, "past-rating"),
    ({"critical_warning": 4, "percentage_used": 99}, "now"),
    ({"critical_warning": 4, "percentage_used": 100, "media_errors": 1}, "now"),
    ({"critical_warning": 4, "percentage_used": 100, "available_spare": 20}, "now"),
    ({"critical_warning": 12, "percentage_used": 100}, "now"),
    ({"available_spare": 20}, "soon"),
    ({"media_errors": 10}, "soon"),
    ({"media_errors": 536, "data_units_read": 1000}, "soon"),
    ({"available_spare": 9}, "now"),
]


@pytest.mark.parametrize(("log", "urgency"), RATED)
def test_thresholds_are_those_of_the_doctor(tmp_path: Path, log: dict[str, Any], urgency: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    nvme(logs, "DRIVE", 0, fails=log.get("critical_warning", 0) > 0, **log)
    fleet.ingest(tmp_path / "f", [logs])
    assert listed(tmp_path / "f") == [("DRIVE", urgency)]
    verdict = wane.doctor(logs / "DRIVE-0.json")["verdict"]
    assert verdict == ("failing" if urgency == "now" else "warning")


ALONE: list[tuple[dict[str, Any], bool]] = [
    ({"media_errors": 9}, False),
    # 5.12e15 bytes are 4.096e16 bits, of which JESD218 allows 40 that cannot be read.
    ({"media_errors": 40, "data_units_read": 10_000_000_000}, False),
    ({"media_errors": 41, "data_units_read": 10_000_000_000}, True),
]


@pytest.mark.parametrize(("log", "is_listed"), ALONE)
def test_of_one_record_published_limits_judge_as_those_of_the_doctor(
    tmp_path: Path, log: dict[str, Any], is_listed: bool
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    nvme(logs, "DRIVE", 0, **log)
    fleet.ingest(tmp_path / "f", [logs])
    assert listed(tmp_path / "f") == [("DRIVE", "soon")] * is_listed
    assert (wane.doctor(logs / "DRIVE-0.json")["verdict"] == "warning") == is_listed


@pytest.mark.parametrize(("sectors", "normalized", "is_listed"), [(99, 50, False), (100, 50, True), (260, 95, False)])
def test_of_one_record_many_lost_sectors_are_a_reason(
    tmp_path: Path, sectors: int, normalized: int, is_listed: bool
) -> None:
    row = fleets.row("A", "2013-04-10", smart_5_raw=sectors, smart_5_normalized=normalized)
    fleet.ingest(tmp_path / "f", [fleets.write(tmp_path / "a.csv", [row])])
    assert listed(tmp_path / "f") == [("A", "soon")] * is_listed
    # A second record tells that they do not grow.
    more = fleets.row("A", "2013-04-11", smart_5_raw=sectors, smart_5_normalized=normalized)
    fleet.ingest(tmp_path / "f", [fleets.write(tmp_path / "b.csv", [more])])
    assert listed(tmp_path / "f") == []


def test_a_drive_that_warns_of_its_rating_is_told_why_it_can_wait(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    nvme(logs, "DRIVE", 0, fails=True, critical_warning=4, percentage_used=100)
    fleet.ingest(tmp_path / "f", [logs])
    with fleet.open(tmp_path / "f") as opened:
        row = fleet.replacements(opened).drives[0]
    assert "its vendor sets this for the rating (smartmontools, issue 537" in row["reasons"][0]


# --- backtest


def failing(**more: Any) -> dict[str, Any]:
    """Drives of which two of three that show signs fail in the last week, and one that shows none."""
    growing = {"smart_5_raw": lambda day: 5 * day}
    return {
        "SEEN1": growing | {"fails": 26},
        "SEEN2": growing | {"fails": 29},
        "LIVES": growing,
        "HIDDEN": {"fails": 27},
        **{f"W{number}": {} for number in range(16)},
        **more,
    }


def test_the_list_of_an_earlier_day_is_held_against_what_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # NEW has its first row after the list, and could not be in it.
    path = disk(tmp_path, failing())
    late = [fleets.row("NEW", f"2013-04-{day}", failure=int(day == 28)) for day in (27, 28)]
    fleet.ingest(path, [fleets.write(tmp_path / "late.csv", late)])
    with fleet.open(path) as opened:
        told = fleet.backtest(opened, horizon_days=7, as_of=[date(2013, 4, 23)])
        half = fleet.backtest(opened, horizon_days=7, as_of=[date(2013, 4, 23)], at_most=1)
    row = told.rows[0]
    assert {name: row[name] for name in ("drives", "failed", "named", "found", "unseen")} == {
        "drives": 20,
        "failed": 3,
        "named": 3,
        "found": 2,
        "unseen": 1,
    }
    assert (row["precision"], row["recall"], row["base_rate"]) == (2 / 3, 2 / 3, 3 / 20)
    assert row["lift"] == pytest.approx((2 / 3) / (3 / 20))
    assert half.rows[0]["named"] == 1
    assert main(["replace", str(path), "--backtest", "--horizon", "7", "--at-most", "45"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "as",
        "of",
        "drives",
        "failed",
        "named",
        "of",
        "them",
        "precision",
        "recall",
        "base",
        "rate",
        "lift",
    ]
    # Lists with a week before them, each one horizon after the other.
    assert [line.split()[0] for line in lines[1:4]] == ["2013-04-09", "2013-04-16", "2013-04-23"]
    assert lines[4].split()[:5] == ["all", "60", "3", "9", "2"]
    assert main(["replace", str(path), "--backtest", "--horizon", "7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["found"] == 2


def test_a_list_sees_nothing_of_what_came_later(tmp_path: Path) -> None:
    """Values, models' rates and failures after the day change nothing, though the fleet has them."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    late = {"smart_5_raw": lambda day: 0 if day <= 20 else 1000 * day}
    day = date(2013, 4, 20)
    paths = [
        disk(tmp_path / "a", failing(LATE=late)),
        disk(tmp_path / "b", failing(LATE=late | {"fails": 22}, HIDDEN={"fails": 21})),
    ]
    told = []
    for path in paths:
        with fleet.open(path) as opened:
            told.append(fleet.replacements(opened, as_of=day).to_dict())
    assert told[0] == told[1]
    assert [row["serial"] for row in told[0]["drives"]] == ["LIVES", "SEEN1", "SEEN2"]


def test_a_drive_that_failed_by_the_day_is_neither_named_nor_counted(tmp_path: Path) -> None:
    path = disk(tmp_path, failing())
    with fleet.open(path) as opened:
        told = fleet.backtest(opened, horizon_days=3, as_of=[date(2013, 4, 26)])
    assert (told.rows[0]["drives"], told.rows[0]["failed"], told.rows[0]["named"], told.rows[0]["found"]) == (
        19,
        2,
        2,
        1,
    )


WRONG = [
    (["--horizon", "0"], "horizon: found 0 days, allowed are 1 to 3650"),
    (["--horizon", "25"], "horizon: found 25 days, and the fleet's days go over 30; allowed are 33 days or more"),
    (
        ["--as-of", "2013-04-30"],
        "as-of: found 2013-04-30, allowed are 2013-04-01 to 2013-04-16, as 14 days must follow",
    ),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG)
def test_a_backtest_that_cannot_be_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    path = disk(tmp_path, failing())
    assert main(["replace", str(path), "--backtest", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_without_failures_there_is_nothing_to_hold_the_list_against(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replace", str(disk(tmp_path, {"A": {}})), "--backtest"]) == 2
    assert "backtest: no drive failed in the fleet's days as far as files tell" in capsys.readouterr().err
    assert main(["replace", str(tmp_path / "f"), "--horizon", "9"]) == 2
    assert "--horizon: found 9 without --backtest, whose horizon it is" in capsys.readouterr().err
    assert main(["replace", str(tmp_path / "f"), "--as-of", "2014-01-01"]) == 2
    assert "as-of: found 2014-01-01, allowed are the fleet's days, 2013-04-01 to 2013-04-30" in capsys.readouterr().err


def test_on_half_of_backblaze_a_budget_of_45_finds_what_the_book_says(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.real(fleets.HALF)])
    with fleet.open(tmp_path / "f") as opened:
        told = fleet.backtest(opened, at_most=45)
        whole = fleet.backtest(opened)
    assert [(str(row["as_of"]), row["found"], row["failed"], row["drives"]) for row in told.rows] == [
        ("2013-04-21", 9, 22, 10_815),
        ("2013-05-05", 10, 31, 10_823),
    ]
    assert [(row["named"], row["found"]) for row in whole.rows] == [(103, 11), (142, 12)]
