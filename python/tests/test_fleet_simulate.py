"""Simulated fleets: made by the native part, ingested, analyzed, and the advice compared with the truth."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wane
from wane import fleet
from wane.fleet import prediction
from wane.fleet.__main__ import main
from wane.fleet.store import Folder

#: Forty drives of two models; many die, so that there is something to find.
SETTINGS: dict[str, Any] = {
    "days": 60,
    "model": [
        {"name": "SIM-A", "count": 24, "attributes": "A", "age-most": 300},
        {"name": "SIM-B", "count": 24, "attributes": "B", "rated-erases": 300, "endurance": 4, "age-most": 900},
    ],
    "hazards": {"random": "60 %", "warned": 1},
}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated fleet of hourly records."""
    out = tmp_path_factory.mktemp("twin") / "twin"
    told = fleet.simulate(SETTINGS, out)
    assert told.drives == 48
    assert sum(told.failed.values()) > 5
    return out


@pytest.fixture(scope="module")
def opened(twin: Path) -> fleet.Fleet:
    """The same, ingested."""
    place = twin.parent / "drives.fleet"
    assert str(fleet.ingest(place, [twin])).startswith("3 files ingested")
    return fleet.open(place)


def parts(folder: Path) -> dict[str, bytes]:
    """The files of drives by their names."""
    return {
        f"{kind}/{file.name}": file.read_bytes() for kind in ("records", "truth") for file in (folder / kind).glob("s*")
    }


def test_days_are_the_last_hours_and_failures_those_of_the_truth(opened: fleet.Fleet) -> None:
    """Days, hours, tickets and truth say the same of a fleet."""
    ask = opened.query
    days, hours = (ask(f"SELECT count(*) AS n FROM {view}").column("n")[0].as_py() for view in ("days", "hours"))
    assert 20 * days < hours <= 24 * days
    last = "SELECT serial, date, max(time) AS time FROM hours GROUP BY serial, date"
    joined = f"days JOIN ({last}) USING (serial, date) JOIN hours USING (serial, time)"
    query = f"SELECT count(*) AS n FROM {joined} WHERE days.smart_9_raw = hours.smart_9_raw"
    assert ask(query).column("n")[0].as_py() == days
    failed = [
        set(ask(query).column("serial").to_pylist())
        for query in (
            "SELECT serial FROM days WHERE failure",
            "SELECT serial FROM truth WHERE failed",
            "SELECT serial FROM tickets",
        )
    ]
    assert failed[0] == failed[1] == failed[2] != set()
    assert ask("SELECT DISTINCT source FROM days").column("source").to_pylist() == ["simulated"]
    assert opened.summary()["drive_days_by_source"] == {"simulated": days}


def test_analyses_run_on_it(opened: fleet.Fleet) -> None:
    """Write amplification, sectors a page, correlations, states, survival and correlated failures."""
    waf = fleet.analyze(opened, "write-amplification", model="SIM-A")
    assert 0.9 < waf.growth < 4
    # Model B tells pages, and no gigabytes.
    assert fleet.analyze(opened, "write-amplification", model="SIM-B").under == "smart_247_raw"
    sectors = fleet.analyze(opened, "sectors-per-page", model="SIM-B")
    # Requests of 256 KiB at any 4 KiB.
    assert sectors.slope == pytest.approx(32 * 64 / 67, abs=0.05)
    assert len(fleet.analyze(opened, "correlation", model="SIM-A").table()) > 5
    told = fleet.analyze(
        opened, "transitions", model="SIM-A", states=5, attributes=[f"smart_{n}_raw" for n in (168, 173, 230, 233, 241)]
    )
    assert 0 < told.observed.changing <= 100
    assert fleet.analyze(opened, "correlated").failures > 5
    assert fleet.replacements(opened).failed > 5


def test_advice_is_held_against_the_truth(opened: fleet.Fleet) -> None:
    """Every drive counts once, and drives that showed signs are found more often than those that did not."""
    told = fleet.judge(opened)
    assert sum(row["drives"] for row in told.rows) == 48
    assert told.died == opened.query("SELECT count(*) AS n FROM truth WHERE failed").column("n")[0].as_py()
    for row in told.rows:
        assert sum(row[name] for name in ("now", "soon", "by-date", "past-rating", "nothing")) <= row["drives"]
        assert row["signs_found"] <= row["with_signs"] <= row["drives"]
    assert told.detected is not None
    assert told.detected > 0.2
    assert {row["cause"] for row in told.rows} >= {"random", "none: it lives"}


def test_models_are_held_against_the_truth_by_themselves(
    opened: fleet.Fleet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a simulated fleet `predict` tells what those that it alarmed died of, and all of the test's drives once."""
    monkeypatch.setattr(prediction, "DRIVE_DAYS_MIN", 1000)
    assert main(["predict", str(opened.path), "--draws", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for split in told["splits"].values():
        rows = split["causes"]
        assert sum(row["drives"] for row in rows) == split["test"]["drives"]
        assert sum(row["drives"] for row in rows if row["cause"] != "none: it lives") == split["test"]["failed"] > 0
        # Every hazard of this fleet is warned of, mostly on a day before.
        warned, unwarned = (
            sum(row["drives"] for row in rows if row["cause"] == "random" and row["signs"] is signs)
            for signs in (True, False)
        )
        assert warned > unwarned
        assert set(rows[0]["models"]) == {"chance", "rule", "logistic", "boosting"}
    assert main(["predict", str(opened.path), "--draws", "2"]) == 0
    assert "causes of death, and how many drives were alarmed" in capsys.readouterr().out


def test_a_fleet_without_truth_is_refused(tmp_path: Path) -> None:
    """Only simulated fleets have one."""
    with Folder(tmp_path / "empty.fleet").claimed():
        pass
    with pytest.raises(wane.FleetError, match="has no truth, which only simulated fleets have"):
        fleet.judge(fleet.open(tmp_path / "empty.fleet"))


def test_what_is_ingested_counts_once_and_halves_count_not_at_all(twin: Path, tmp_path: Path) -> None:
    """A known folder is passed over; one that was interrupted, is damaged or incomplete is refused in one sentence."""
    place = tmp_path / "drives.fleet"
    fleet.ingest(place, [twin])
    again = fleet.ingest(place, [twin])
    assert (again.files, again.known, again.rows) == (0, 3, 0)
    half = tmp_path / "half"
    shutil.copytree(twin, half)
    manifest = (half / "simulated.json").read_text()
    (half / "simulated.json").write_text(manifest.replace('"whole": true', '"whole": false'))
    with pytest.raises(wane.FleetError, match="its simulation was interrupted"):
        fleet.ingest(place, [half])
    (half / "simulated.json").write_text(manifest)
    (half / "records" / "simulated-000001.parquet").unlink()
    with pytest.raises(wane.FleetError, match=r"simulated-000001\.parquet: is missing"):
        fleet.ingest(tmp_path / "other.fleet", [half])
    with pytest.raises(wane.FleetError, match=r"give the folder that holds its simulated\.json"):
        fleet.ingest(tmp_path / "other.fleet", [twin / "records" / "simulated-000000.parquet"])
    assert fleet.open(place).summary()["drives"] == 48


def test_ranges_are_the_bytes_of_the_whole(twin: Path, tmp_path: Path) -> None:
    """Drives are independent."""
    fleet.simulate(SETTINGS, tmp_path / "one", drives=(0, 16), threads=1)
    fleet.simulate(SETTINGS, tmp_path / "other", drives=(16, 48))
    assert parts(tmp_path / "one") | parts(tmp_path / "other") == parts(twin)


def test_a_cluster_gives_the_same_bytes(twin: Path, tmp_path: Path) -> None:
    """Dask maps ranges of drives."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        told = fleet.simulate(SETTINGS, tmp_path / "cluster", scheduler=client)
    assert told.drives == 48
    assert parts(tmp_path / "cluster") == parts(twin)


@pytest.mark.parametrize(
    ("settings", "more", "sentence"),
    [
        ({"dayz": 3}, {}, 'dayz: unknown key; did you mean "days"?'),
        ({"days": 0}, {}, "days: found 0, expected a whole number from 1 to 3650"),
        (None, {"set": {"model.0.count": "many"}}, "model.0.count: found"),
        (None, {"set": {"days": [1]}}, "set: days: found"),
        (None, {"drives": (0, 7)}, "a file holds 16 drives"),
        (None, {"threads": 0}, "threads: found 0"),
        (None, {"scheduler": "dask"}, "scheduler: found"),
        (3, {}, "fleet: found"),
        ("none.toml", {}, "none.toml"),
    ],
)
def test_bad_input_is_one_sentence(settings: Any, more: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    """What was found, and what is allowed."""
    with pytest.raises(wane.FleetError) as told:
        fleet.simulate(settings, tmp_path / "out", **more)
    assert sentence in str(told.value)
    assert len(str(told.value).splitlines()) == 1


def test_the_command_has_both_verbs(opened: fleet.Fleet) -> None:
    """``simulate`` goes to the native part, ``judge`` to the package."""
    command = [sys.executable, "-m", "wane.fleet"]
    example = subprocess.run([*command, "simulate", "--example"], capture_output=True, text=True, check=True).stdout
    assert "[[model]]" in example
    told = subprocess.run([*command, "judge", str(opened.path), "--json"], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout)["died"] > 5


def test_files_of_other_fleets_and_damaged_ones_are_refused(twin: Path, tmp_path: Path) -> None:
    """A file counts only where it says that it is the one of this fleet that its name says."""
    other = tmp_path / "other"
    fleet.simulate({**SETTINGS, "days": 2, "seed": 7}, other)
    names = [f"{kind}/simulated-{number:06}.parquet" for kind in ("records", "truth") for number in (0, 1)]

    def flipped(file: Path) -> bytes:
        """A bit of the middle is another, where no reader of the footer looks."""
        whole = bytearray(file.read_bytes())
        whole[500] ^= 1
        return bytes(whole)

    for number, (name, harmed, sentence) in enumerate(
        [
            (names[0], (other / names[0]).read_bytes(), "is records/simulated-000000 of the fleet"),
            (names[2], (twin / names[3]).read_bytes(), "is truth/simulated-000001 of the fleet"),
            (names[3], (twin / names[3]).read_bytes()[:1000], "is damaged"),
            (names[1], flipped(twin / names[1]), r"is damaged: its hash is not the one in SHA256SUMS"),
            (names[2], flipped(twin / names[2]), r"is damaged: its hash is not the one in SHA256SUMS"),
        ]
    ):
        copy = tmp_path / f"copy{number}"
        shutil.copytree(twin, copy)
        (copy / name).write_bytes(harmed)
        with pytest.raises(wane.FleetError, match=sentence):
            fleet.ingest(tmp_path / "none.fleet", [copy])
        # The command makes it anew.
        told = fleet.simulate(SETTINGS, copy)
        assert told.drives == 48
        assert parts(copy) == parts(twin)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("fleet.toml", "", "fleet.toml: is damaged: its hash is not the one in SHA256SUMS"),
        ("fleet.toml", None, "fleet.toml: is missing"),
        ("simulated.json", None, "simulated.json: cannot be read"),
        ("simulated.json", '"drives_of_fleet": 40', "simulated.json: is damaged"),
        ("SHA256SUMS", None, "SHA256SUMS: cannot be read"),
    ],
)
def test_what_lies_beside_the_drives_is_checked_too(
    twin: Path, tmp_path: Path, name: str, text: str | None, sentence: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(twin, copy)
    if text is None:
        (copy / name).unlink()
    else:
        whole = (copy / name).read_text()
        (copy / name).write_text(re.sub(r'"drives_of_fleet": \d+', text, whole) if text else "")
    with pytest.raises(wane.FleetError, match=sentence) as told:
        fleet.ingest(tmp_path / "none.fleet", [copy])
    assert re.search("(makes it|begins) anew$", str(told.value))


def test_a_part_of_a_fleet_says_which(tmp_path: Path) -> None:
    """Half a fleet is never taken for a whole one."""
    fleet.simulate({**SETTINGS, "days": 2}, tmp_path / "part", drives=(0, 16))
    taken = fleet.ingest(tmp_path / "part.fleet", [tmp_path / "part"])
    assert [note.split(": ")[1] for note in taken.notes] == [
        "drives 0 to 15 of a fleet of 48; the others are not there"
    ]


def test_places_of_two_fleets_are_not_the_same(twin: Path, tmp_path: Path) -> None:
    """Nodes and racks have names of their own, so that failures of two fleets do not come together."""
    other = tmp_path / "other"
    fleet.simulate({**SETTINGS, "days": 2, "seed": 7}, other)
    fleet.ingest(tmp_path / "two.fleet", [twin, other])
    with fleet.open(tmp_path / "two.fleet") as opened:
        asked = "SELECT node, count(DISTINCT serial[:11]) AS fleets FROM truth GROUP BY node"
        assert {row["fleets"] for row in opened.query(asked).to_pylist()} == {1}


def test_every_drive_is_in_a_column_of_the_judgement(tmp_path: Path) -> None:
    """Drives that died on their first day told nothing, and are counted as such."""
    settings = {
        "days": 90,
        "records": "daily",
        "model": [{"count": 48, "age-most": 0, "rated-erases": 3000}],
        "hazards": {"infant": 1, "random": "90 %"},
    }
    fleet.simulate(settings, tmp_path / "twin")
    fleet.ingest(tmp_path / "f", [tmp_path / "twin"])
    with fleet.open(tmp_path / "f") as opened:
        found = fleet.judge(opened)
    said = ("now", "soon", "by-date", "past-rating", "nothing", "untold")
    assert all(sum(row[name] for name in said) == row["drives"] for row in found.rows), found.rows
    assert sum(row["untold"] for row in found.rows) == found.untold
