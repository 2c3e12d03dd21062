"""Published claims that the package measures: their results, and the command of the one whose data are not here."""

import csv
import io
import json
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from fleets import HALF, real

import wane
from wane.fleet import claims
from wane.fleet.__main__ import main
from wane.fleet.analyses import critical_attributes, failure_groups, starts
from wane.fleet.claims import Finding, Measured, Reading, dc7, dc8

pandas = pytest.importorskip("pandas")
for needed in ("duckdb", "scipy", "sklearn", "statsmodels"):
    pytest.importorskip(needed)


def test_shares_of_no_whole_drives_are_found() -> None:
    assert dc7.failed_drives() == 433
    assert dc7.odd_shares() == [("SUT", 8.6, 258), ("RSC with RUE", 84.6, 142)]
    for percent, drives, want in ((4.3, 258, True), (8.6, 257, True), (8.6, 258, False), (84.6, 143, True)):
        assert dc7.is_share(percent, drives) == want, (percent, drives)


def dying(cause: str, number: int) -> Any:
    """A simulated drive's raw counts, day by day."""
    random = np.random.default_rng([number, len(cause)])
    worse = np.clip(np.arange(30) - random.integers(5, 12), 0, None)
    return pandas.DataFrame(
        {
            "serial": f"{cause}-{number:02}",
            "model": "M",
            "date": pandas.date_range("2024-01-01", periods=30),
            "failure": (np.arange(30) == 29) & (cause != "lives"),
            dc7.RSC: (worse * 90.0 if cause == "wear-out" else worse // 3 if cause == "random" else np.zeros(30)),
            dc7.RUE: (worse * 5.0 if cause == "random" else np.zeros(30)),
        }
    )


def test_types_stand_beside_those_of_drives_whose_truth_is_known() -> None:
    kinds = ["wear-out"] * 6 + ["random"] * 6 + ["rack"] * 12 + ["lives"] * 60
    drives = [(kind, number) for number, kind in enumerate(kinds)]
    records = pandas.concat([dying(*each) for each in drives], ignore_index=True)
    causes = {f"{kind}-{number:02}": kind for kind, number in drives if kind != "lives"}
    found = dc7.finding(records, causes)
    assert (found.verdict, "sum to 100.0" in found.ours) == ("differs", True)
    assert "6 of the 6 that wore out" in found.note
    assert "the 12 of its logical group" in found.note
    assert "| logical failures, % | 59.6 | 50.0 | 53.3 |" in found.table
    assert "| 84.6 | 100 | 33 (with pending sectors) |" in found.table


def test_what_is_told_of_backblaze_is_what_its_drives_come_to() -> None:
    records = pandas.read_csv(real(HALF)).rename(columns={"serial_number": "serial"})
    options: dict[str, Any] = {"attributes": ["smart_5_raw"], "groups": 2, "spread": "log"}
    shares = failure_groups(records, **options).groups.set_index("name")["percent"]
    assert shares.round(1).to_dict() == {name: dc7.HALF[name] for name in ("RSC", "logical")}
    assert starts(records, **options).rows["threshold"].iloc[0] == pytest.approx(dc7.HALF["threshold RSC"], abs=0.005)
    together = critical_attributes(records, attributes=["smart_5_raw", "smart_197_raw"])
    share = 100 * together.shares.loc["smart_197_raw", "smart_5_raw"] / together.moving["smart_197_raw"]
    assert round(share) == dc7.HALF["coupled"]


def test_the_equations_come_back_from_their_own_series() -> None:
    # A line is quicker than ARIMA; the falls are short, so that a forecast is off by few hours.
    series = dc8.Series(hours=(60.0, 120.0), method="linear")
    frame = dc8.made(series, 1)
    assert frame.equals(dc8.made(series, 1))
    assert not frame.equals(dc8.made(series, 2))
    found = dc8.finding(frame, series)
    assert found.verdict == "agrees", found.ours
    times = [float(text) for text in re.findall(r"([0-9.]+) times the noise", found.ours)]
    assert times == pytest.approx([1, 1], abs=0.1)
    # What no polynomial of the third degree follows is found.
    ends = frame.groupby("serial")["failure"].transform("any")
    frame.loc[ends, "degradation"] += 0.3 * np.sin(9 * frame.loc[ends, "smart_5_normalized"] / 10)
    assert dc8.finding(frame, series).verdict == "differs"


def test_health_and_degradation_fall_as_they_are_told() -> None:
    for evenly in ("health", "degradation"):
        frame = dc8.made(dc8.Series(evenly=evenly), 1)
        drive = frame[frame["serial"] == "000-RUE"]
        fall = drive.iloc[dc8.WELL_HOURS :]
        assert (fall["smart_187_normalized"].iloc[-1], fall["smart_5_normalized"].iloc[-1]) == (1, 1)
        middle = fall["smart_187_normalized"].iloc[len(fall) // 2]
        assert (abs(middle - 50.5) < 2) == (evenly == "health"), middle


def test_claims_are_answered_as_the_command_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claims"]) == 0
    assert capsys.readouterr().out.split() == ["DC7", "DC8"]
    made = Measured([(1, Finding("1 of 2", "differs", "why", ""))], [Reading("else", "choice", "2", "agrees")])
    monkeypatch.setitem(claims.CLAIMS, "DC8", lambda: made)
    assert main(["claims", "DC8"]) == 0
    told = json.loads(capsys.readouterr().out)["DC8"]
    assert told["seeds"] == [{"seed": 1, "ours": "1 of 2", "verdict": "differs", "note": "why", "table": ""}]
    assert told["others"] == [{"what": "else", "changes": "choice", "ours": "2", "verdict": "agrees"}]
    assert main(["claims", "DC9"]) == 2
    assert capsys.readouterr().err == 'wane: claims: found "DC9", allowed are DC7 and DC8\n'


#: Of each type of failure in section 7.5, what the attributes of its drives come to: 187, 198, 189, 183.
TYPES = {
    "RUE": (1, 100, 100, 100),
    "RUE half": (50, 100, 100, 100),
    "USC": (100, 1, 100, 100),
    "HFW": (100, 100, 1, 100),
    "SDEC": (100, 100, 100, 1),
    "logical": (100, 100, 100, 100),
}


def quarter(place: Path) -> None:
    """A zip of daily files as Backblaze offers them, of drives that fail by the six types."""
    names = [(kind, number) for kind in TYPES for number in range(6)] + [("", number) for number in range(60)]
    numbers = (187, 198, 189, 183, 9)
    columns = [f"smart_{number}_{which}" for number in numbers for which in ("normalized", "raw")]
    with zipfile.ZipFile(place, "w") as packed:
        for day in range(30):
            text = io.StringIO()
            lines = csv.writer(text)
            lines.writerow(["date", "serial_number", "model", "capacity_bytes", "failure", *columns])
            for at, (kind, number) in enumerate(names):
                random = np.random.default_rng([at, day])
                begins = 5 + number
                if kind and day > 24 + number % 3:
                    continue
                fallen = min(max(day - begins, 0) / (24 + number % 3 - begins), 1)
                ends = TYPES.get(kind, (100,) * 4)
                values = [round(100 - (100 - end) * fallen + random.integers(-1, 1)) for end in ends]
                told = [str(each) for value in (*values, 90) for each in (max(value, 1), 1000 - 10 * value)]
                fails = int(bool(kind) and day == 24 + number % 3)
                lines.writerow(
                    [f"2016-01-{day + 1:02}", f"{kind}{at:03}", "ST4000DM000", 4_000_787_030_016, fails, *told]
                )
            packed.writestr(f"data_Q1_2016/2016-01-{day + 1:02}.csv", text.getvalue())


def section(claim: str) -> str:
    """What the page of claims says of one."""
    return (ROOT / "docs/claims.md").read_text().split(f"\n## {claim}\n")[1].split("\n## ")[0]


def test_the_page_says_what_is_measured() -> None:
    page = section("DC7")
    assert all(f"{percent} % ({what}) is " in page for what, percent, _ in dc7.odd_shares())
    assert "| half of Backblaze's |\n| --- | --- | --- | --- |\n| logical failures, % | 59.6 |" in page
    assert str(dc7.HALF["logical"]) in page
    page = section("DC8")
    assert f"- note: {dc8.NOTE}\n" in page
    assert all(f"| {what} | choice |" in page for what, _ in dc8.OTHERS)
    assert len(re.findall(r"^\| [1-5] \| RUE", page, re.MULTILINE)) == len(dc8.SEEDS)


def test_the_command_of_the_claim_that_was_not_run_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = re.findall(r"`wane fleet (.*?)`", section("DC9"))
    assert len(commands) == 2
    monkeypatch.chdir(tmp_path)
    quarter(tmp_path / "data_Q1_2016.zip")
    for command in commands:
        assert main(shlex.split(command)) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    for name in ("RUE", "RUE 2", "USC", "HFW", "SDEC", "logical"):
        assert re.search(rf"^\d* *{name} ", told, re.MULTILINE), told


def test_a_missing_extra_is_told_as_a_missing_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command then leaves these claims out, where they were not asked for by name."""

    def lacking(names: list[str]) -> dict[str, Measured]:
        raise wane.MissingExtraError(f"{names[0]} needs pandas")

    monkeypatch.setattr(claims, "measure", lacking)
    with pytest.raises(SystemExit) as ended:
        main(["claims", "DC7"])
    assert ended.value.code == 97
    assert capsys.readouterr().err == "wane: DC7 needs pandas\n"
