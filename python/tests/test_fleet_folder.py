"""An ingest changes nothing outside of a fleet's folder, and a damaged list of what counts is one sentence."""

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fleets
import pytest

import wane
from wane import fleet
from wane.fleet import store
from wane.fleet.__main__ import main

PRECIOUS = "years of work"


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder outside of the fleet, which is the same after the test."""
    folder = tmp_path / "victim"
    folder.mkdir()
    for name in ("thesis.txt", "000007.parquet", "part.parquet"):
        (folder / name).write_text(PRECIOUS)
    yield folder
    assert {file.name: file.read_text() for file in folder.iterdir()} == dict.fromkeys(
        ("thesis.txt", "000007.parquet", "part.parquet"), PRECIOUS
    )


@pytest.mark.parametrize("name", store.WRITTEN)
@pytest.mark.parametrize("target", ["victim", "victim/thesis.txt", "victim/none"])
def test_an_ingest_refuses_a_link_where_it_writes(tmp_path: Path, victim: Path, name: str, target: str) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])
    place = tmp_path / "f" / name
    if place.is_dir():
        for file in place.iterdir():
            file.unlink()
        place.rmdir()
    else:
        place.unlink(missing_ok=True)
    place.symlink_to(tmp_path / target)
    with pytest.raises(wane.FleetError, match=rf"f/{name}: is a link"):
        fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 11)])
    assert not (victim / "none").exists()


def test_an_ingest_does_not_make_a_fleet_beside_a_link(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f/.lock").symlink_to(victim / "thesis.txt")
    with pytest.raises(wane.FleetError, match=r"f/\.lock: is a link"):
        fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])


def test_another_name_of_a_file_elsewhere_is_not_written_through(tmp_path: Path, victim: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])
    names = (".lock", ".fleet.json", ".staging/part.parquet", ".staging/kept.parquet", "days/000002.parquet")
    for name in names:
        (tmp_path / "f" / name).unlink(missing_ok=True)
        os.link(victim / "thesis.txt", tmp_path / "f" / name)
    (tmp_path / "f/.staging/files.parquet").symlink_to(victim / "part.parquet")
    # One row is there already, so that the part is written twice.
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.json").write_text(fleets.smartctl())
    rows = [fleets.row("S000", "2013-04-10"), fleets.row("S000", "2013-04-11")]
    taken = fleet.ingest(tmp_path / "f", [fleets.write(tmp_path / "two.csv", rows), tmp_path / "logs"])
    assert (taken.rows, taken.repeated) == (2, 1)


def test_the_fleet_itself_may_be_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "f").symlink_to(tmp_path / "disk")
    assert fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)]).rows == 5


def test_a_lock_that_is_no_file_is_one_sentence(tmp_path: Path) -> None:
    for make in (os.mkfifo, os.mkdir):
        place = tmp_path / make.__name__
        place.mkdir()
        make(place / ".lock")
        with pytest.raises(wane.FleetError, match=r"is no file|Is a directory"):
            fleet.ingest(place, [fleets.day(tmp_path, 10)])


def test_only_what_an_ingest_left_is_removed(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])
    kept = [tmp_path / "f/days/notes.txt", tmp_path / "f/days/sub", tmp_path / "f/days/old.parquet"]
    kept[1].mkdir()
    for file in (kept[0], kept[2], tmp_path / "f/days/000099.parquet", tmp_path / "f/.staging/part.parquet"):
        file.write_text(PRECIOUS)
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 11)])
    assert all(file.exists() for file in kept)
    assert not (tmp_path / "f/days/000099.parquet").exists()
    assert not list((tmp_path / "f/.staging").iterdir())


def test_the_page_in_the_folder_is_not_written_through_a_link(tmp_path: Path, victim: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])
    place = tmp_path / "f/report.html"
    place.symlink_to(victim / "thesis.txt")
    assert main(["report", str(tmp_path / "f"), "--force"]) == 2
    place.unlink()
    os.link(victim / "thesis.txt", place)
    assert main(["report", str(tmp_path / "f"), "--force"]) == 0
    assert "<html" in place.read_text()


#: Values of which none is allowed anywhere but where it is the right kind.
WRONG: list[Any] = [None, True, -1, 1.5, 1 << 70, "x", "../../victim", "\ud800", [], [1], {}, {"a": 1}]


def mutations(told: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The list with one value replaced, removed, or added."""
    for key in ("parts", "files"):
        others: list[Any] = [None, 1, "x", {}, [1], [None], [[]], ["x"], [{}]]
        for value in others:
            yield f"{key} = {value}", {**told, key: value}
        yield f"{key} twice", {**told, key: told[key] * 2}
        yield f"no {key}", {name: each for name, each in told.items() if name != key}
        for field in [*told[key][0], "unknown"]:
            for value in WRONG:
                changed = copy.deepcopy(told)
                changed[key][0][field] = value
                yield f"{key}.{field} = {value!r}", changed
            changed = copy.deepcopy(told)
            changed[key][0].pop(field, None)
            yield f"no {key}.{field}", changed


def test_a_damaged_list_of_what_counts_is_one_sentence_and_never_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], victim: Path
) -> None:
    del victim
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.json").write_text(fleets.smartctl())
    fleet.ingest(tmp_path / "f", [tmp_path / "logs", fleets.day(tmp_path, 10)])
    manifest = tmp_path / "f/fleet.json"
    whole = json.loads(manifest.read_bytes())
    refused = 0
    for name, told in mutations(whole):
        manifest.write_text(json.dumps(told))
        before = manifest.read_bytes()
        code = main(["query", str(tmp_path / "f"), "SELECT count(*) FROM days"])
        printed = capsys.readouterr()
        assert code in (0, 2), name
        if code == 2:
            refused += 1
            assert printed.err.count("\n") == 1, name
            assert printed.err.startswith("wane: "), name
            assert main(["ingest", str(tmp_path / "f"), str(tmp_path / "2013-04-10.csv")]) == 2, name
            capsys.readouterr()
            assert manifest.read_bytes() == before, name
    assert refused > 150


@pytest.mark.parametrize("text", ["[" * 100_000, '{"mark": ' + "[" * 100_000, "\x00", "[]", "null", "1e999", '"x"'])
def test_a_list_that_is_none_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "fleet.json").write_text(text)
    with pytest.raises(wane.FleetError, match=r"fleet\.json: (is damaged|cannot be read|is not of a fleet)"):
        fleet.open(tmp_path)


@pytest.mark.parametrize("key", ["first", "end", "drives_of_fleet", "fleet", "whole", "format", "mark"])
def test_a_damaged_list_of_simulated_drives_is_one_sentence(tmp_path: Path, key: str) -> None:
    told = {"mark": "a fleet simulated by wane", "format": 3, "whole": True, "first": 0, "end": 16}
    told |= {"drives_of_fleet": 16, "fleet": "0123"}
    values: list[Any] = [None, [], {}, -1, 1.5]
    for number, value in enumerate(values):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "SHA256SUMS").write_text("")
        (folder / "simulated.json").write_text(json.dumps({**told, key: value}))
        with pytest.raises(wane.FleetError, match=r"simulated\.json|has format|was interrupted"):
            fleet.ingest(tmp_path / "f", [folder])
