"""A fleet takes Backblaze's days, Alibaba's tickets and smartctl's records, and says what it refuses."""

import errno
import gc
import gzip
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import fleets
import pytest

import wane
from wane import fleet
from wane.fleet import _ingest as ingesting
from wane.fleet import store


def rows(path: Path, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = fleet.open(path).query(sql).to_pylist()
    return found


def count(path: Path) -> int:
    number: int = rows(path, "SELECT count(*) AS n FROM days")[0]["n"]
    return number


def test_a_day_becomes_rows_with_the_columns_that_its_header_has(tmp_path: Path) -> None:
    header = [*fleets.HEADER[:5], "smart_5_raw", "pod_id", "smart_5_normalized"]
    told = [fleets.row("B", "2013-04-10", smart_5_raw=""), fleets.row("A", "2013-04-10", failure=1, capacity_bytes=-1)]
    fleets.write(tmp_path / "day.csv", told, header)
    taken = fleet.ingest(tmp_path / "f", [tmp_path / "day.csv"])
    assert (taken.files, taken.rows) == (1, 2)
    first, second = rows(tmp_path / "f", "SELECT * FROM days ORDER BY serial")
    assert first["date"] == date(2013, 4, 10)
    assert (first["failure"], second["failure"]) == (True, False)
    assert (first["capacity_bytes"], second["capacity_bytes"]) == (None, 4_000_787_030_016)
    # Missing is missing, and what is not known is kept as text.
    assert (second["smart_5_raw"], second["smart_5_normalized"], second["pod_id"]) == (None, 100, "p7")
    assert second["source"] == "backblaze"


@pytest.mark.parametrize("packing", ["plain", "gzip", "zip"])
def test_every_packing_gives_the_same_fleet(tmp_path: Path, packing: str) -> None:
    plain = [fleets.day(tmp_path, number) for number in (10, 11, 12)]
    files = plain
    if packing == "gzip":
        files = [file.with_suffix(".csv.gz") for file in plain]
        for file, packed in zip(plain, files, strict=True):
            packed.write_bytes(gzip.compress(file.read_bytes()))
    elif packing == "zip":
        files = [tmp_path / "quarter.zip"]
        with zipfile.ZipFile(files[0], "w", zipfile.ZIP_DEFLATED) as archive:
            for file in plain:
                archive.write(file, f"data_Q2_2013/{file.name}")
                archive.writestr(f"__MACOSX/data_Q2_2013/._{file.name}", "a shadow")
    taken = fleet.ingest(tmp_path / "f", files)
    assert (taken.files, taken.rows) == (3, 15)
    assert [part.first for part in fleet.open(tmp_path / "f").ledger.parts] == [
        "2013-04-10",
        "2013-04-11",
        "2013-04-12",
    ]
    assert fleet.ingest(tmp_path / "f", files).known == 3
    frame = fleet.open(tmp_path / "f").days(["smart_9_raw"], models=["DISK 1"])
    assert list(frame.columns) == ["serial", "model", "date", "failure", "smart_9_raw"]
    assert frame["smart_9_raw"].tolist()[:3] == [1240, 1264, 1288]
    assert frame["failure"].dtype == bool


def test_a_file_that_is_known_is_a_no_op_under_another_name(tmp_path: Path) -> None:
    file = fleets.day(tmp_path, 10)
    fleet.ingest(tmp_path / "f", [file])
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "f").rglob("*.parquet"))
    manifest = (tmp_path / "f/fleet.json").read_bytes()
    taken = fleet.ingest(tmp_path / "f", [file.rename(tmp_path / "renamed.csv")])
    assert (taken.known, taken.files, taken.rows) == (1, 0, 0)
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "f").rglob("*.parquet")) == before
    assert (tmp_path / "f/fleet.json").read_bytes() == manifest


def test_rows_that_are_there_with_the_same_values_count_once(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10, drives=5)])
    more = fleets.day(tmp_path / "..", 10, drives=7)
    taken = fleet.ingest(tmp_path / "f", [more])
    assert (taken.rows, taken.repeated) == (2, 5)
    assert count(tmp_path / "f") == 7


BAD: list[tuple[str, dict[str, Any] | str, str]] = [
    (
        "a time with a zone",
        {"date": "2013-04-11T23:00:00+02:00"},
        'line 2: date is "2013-04-11T23:00:00+02:00", allowed is a day',
    ),
    ("a day that is none", {"date": "2013-04-31"}, 'line 2: date is "2013-04-31"'),
    ("a day to come", {"date": "2100-01-01"}, 'line 2: date is "2100-01-01", allowed are 1970-01-01 to '),
    ("a day that no clock has", {"date": "0001-01-01"}, 'line 2: date is "0001-01-01", allowed are 1970-01-01 to '),
    ("no serial number", {"serial_number": ""}, "line 2: serial_number is empty"),
    (
        "a failure that is a count",
        {"failure": 4000},
        'line 2: failure is "4000", allowed are 0 and 1; are columns shifted?',
    ),
    (
        "a normalized value that is raw",
        {"smart_5_normalized": 1272},
        'line 2: smart_5_normalized is "1272", allowed are 0 to 255',
    ),
    ("no number", {"smart_5_raw": "nan"}, 'line 2: smart_5_raw is "nan", allowed is a number'),
    ("more than a number", {"smart_5_raw": "1e400"}, 'line 2: smart_5_raw is "1e400", allowed is a number'),
    (
        "a number in hexadecimal",
        {"smart_5_raw": "0x10"},
        'line 2: smart_5_raw is "0x10", allowed is a number in decimal',
    ),
    ("a count below zero", {"smart_9_raw": -5}, 'line 2: smart_9_raw is "-5", allowed are 0 to 18446744073709551615'),
    ("a count beyond eight bytes", {"smart_9_raw": "1e20"}, 'line 2: smart_9_raw is "1e20", allowed are 0 to 184467'),
    ("a word for a number", {"smart_9_raw": "p7"}, 'line 2: smart_9_raw is "p7", allowed is a number'),
    ("a capacity that is a model", {"capacity_bytes": "DISK 1"}, 'line 2: capacity_bytes is "DISK 1"'),
    (
        "another value for a day",
        {"date": "2013-04-10", "smart_5_raw": 8},
        "smart_5_raw is 8, was 0; what is ingested is never changed",
    ),
    ("another model", {"model": "DISK 2"}, 'drive S000 is a "DISK 1" and a "DISK 2"'),
]


@pytest.mark.parametrize(("values", "sentence"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_bad_input_is_one_sentence_and_what_was_there_stays(
    tmp_path: Path, values: dict[str, Any], sentence: str
) -> None:
    good = fleets.day(tmp_path, 10)
    bad = fleets.write(tmp_path / "bad.csv", [fleets.row("S000", "2013-04-11") | values])
    with pytest.raises(wane.FleetError) as told:
        fleet.ingest(tmp_path / "f", [good, bad])
    assert sentence in str(told.value)
    assert "bad.csv" in str(told.value)
    assert "\n" not in str(told.value)
    assert count(tmp_path / "f") == 5
    assert not list((tmp_path / "f/.staging").iterdir())
    taken = fleet.ingest(tmp_path / "f", [bad, fleets.day(tmp_path, 12)], skip_bad=True)
    assert (len(taken.skipped), taken.files) == (1, 1)
    assert count(tmp_path / "f") == 10


FILES: list[tuple[str, bytes, str]] = [
    (
        "a row that is cut off",
        b"date,serial_number,model,failure\n2013-04-11,S1,D,0\n2013-04-11,S2\n",
        "line 3: has 2 columns",
    ),
    ("a header without a model", b"date,serial_number,failure\n2013-04-11,S1,0\n", "has no column model"),
    (
        "a column twice",
        b"date,serial_number,model,failure,model\n2013-04-11,S1,D,0,D\n",
        'has the column "model" twice',
    ),
    ("no rows", b"date,serial_number,model,failure\n", "has a header and no rows"),
    (
        "a day twice",
        b"date,serial_number,model,failure\n" + 2 * b"2013-04-11,S1,D,0\n",
        "has drive S1 2 times on 2013-04-11",
    ),
    (
        "half a gzip",
        gzip.compress(b"date,serial_number,model,failure\n2013-04-11,S1,D,0\n")[:40],
        "is cut off or damaged",
    ),
    ("half a zip", b"PK\x03\x04 and no more", "is cut off or damaged"),
    (
        "another encoding",
        b"date,serial_number,model,failure\n2013-04-11,S1,D\xff,0\n",
        'line 2: model is "D\ufffd", which is no UTF-8',
    ),
    ("a zip without data", fleets.zipped("readme.txt"), "is a zip without a CSV in it"),
    ("half a packed record", gzip.compress(fleets.smartctl().encode())[:-9], "is cut off or damaged"),
    ("half a JSON", fleets.smartctl()[:200].encode(), "is no whole JSON"),
    ("something else", b"a letter to a friend", "is not of a drive"),
    ("nothing", b"", "is empty"),
    ("a record without a serial number", fleets.smartctl(serial="REDACTED").encode(), "which names no drive"),
    ("a serial number of no letters", fleets.smartctl(serial="S1\0").encode(), "which names no drive"),
    (
        "a record with a clock that is wrong",
        fleets.smartctl(seconds=4_102_444_800).encode(),
        "is of 2100-01-01, allowed are 1970-01-01 to ",
    ),
    (
        "a ticket of a day to come",
        b"model,failure_time,failure,disk_id,node_id,rack_id\nA,2100-01-01 00:00:00,1,1,1,1\n",
        "failure_time is of 2100-01-01, allowed are",
    ),
    ("a record without a time", fleets.smartctl(local_time={}).encode(), "tells no time"),
]


@pytest.mark.parametrize(("content", "sentence"), [file[1:] for file in FILES], ids=[file[0] for file in FILES])
def test_bad_files_are_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(wane.FleetError) as told:
        fleet.ingest(tmp_path / "f", [tmp_path / "bad"])
    assert sentence in str(told.value)
    assert fleet.ingest(tmp_path / "f", [tmp_path / "bad"], skip_bad=True).rows == 0
    assert count(tmp_path / "f") == 0


def test_of_records_of_one_second_in_a_file_the_last_stands(tmp_path: Path) -> None:
    """Scripts ask a drive twice in a row, and it reads on meanwhile. What another file says of that second must agree."""
    asked = [fleets.smartctl(power_on_time={"hours": hours}) for hours in (5, 6, 6)]
    (tmp_path / "twice.json.gz").write_bytes(gzip.compress("\n".join(asked).encode()))
    taken = fleet.ingest(tmp_path / "f", [tmp_path / "twice.json.gz"])
    assert (taken.rows, taken.repeated) == (1, 1)
    assert "1 record left out, first of" in taken.notes[0]
    assert rows(tmp_path / "f", "SELECT power_on_hours AS hours FROM records") == [{"hours": 6}]
    (tmp_path / "again.json").write_text(asked[1])
    assert fleet.ingest(tmp_path / "f", [tmp_path / "again.json"]).repeated == 1
    (tmp_path / "other.json").write_text(asked[0])
    with pytest.raises(wane.FleetError, match="other values"):
        fleet.ingest(tmp_path / "f", [tmp_path / "other.json"])
    both = [tmp_path / "again.json", tmp_path / "other.json"]
    with pytest.raises(wane.FleetError, match="other values"):
        fleet.ingest(tmp_path / "g", both)


@pytest.mark.parametrize(("drive", "records"), [("A", 291), ("E", 334), ("J", 170)])
def test_a_life_of_smartctls_texts_is_ingested(tmp_path: Path, drive: str, records: int) -> None:
    taken = fleet.ingest(tmp_path / "f", [fleets.real(f"endurance/ssd_{drive}_smartctl.txt.gz")])
    assert taken.rows == records
    with fleet.open(tmp_path / "f") as opened:
        assert len(fleet.replacements(opened).drives) + fleet.replacements(opened).near <= 1


def test_a_table_without_a_header_that_is_known_is_refused_as_a_table(tmp_path: Path) -> None:
    (tmp_path / "utf16.csv").write_bytes("date,serial_number,model,failure\n".encode("utf-16"))
    with pytest.raises(wane.FleetError, match=r"utf16\.csv: has no header"):
        fleet.ingest(tmp_path / "f", [tmp_path / "utf16.csv"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(wane.FleetError, match="pipe: is no file"):
        fleet.ingest(tmp_path / "f", [tmp_path / "pipe"])


def test_counters_that_go_back_are_told_and_kept(tmp_path: Path) -> None:
    told = [fleets.row("A", f"2013-04-{day}", smart_9_raw=hours) for day, hours in ((10, 500), (11, 4), (12, 28))]
    file = fleets.write(tmp_path / "a.csv", told)
    taken = fleet.ingest(tmp_path / "f", [file])
    assert len(taken.notes) == 1
    assert "smart_9_raw goes back on 1 drive, first on A: 500 before, 4 on 2013-04-11" in taken.notes[0]
    # From one file to the next too.
    later = fleets.write(tmp_path / "b.csv", [fleets.row("A", "2013-04-13", smart_9_raw=2)])
    assert "28 before, 2 on 2013-04-13" in fleet.ingest(tmp_path / "f", [later]).notes[0]
    assert count(tmp_path / "f") == 4


def test_every_counter_that_goes_back_is_told(tmp_path: Path) -> None:
    told = [
        fleets.row("A", f"2013-04-{day}", smart_5_raw=sectors, smart_9_raw=hours)
        for day, sectors, hours in ((10, 100, 500), (11, "", ""), (12, 0, 4), (13, 3, 28))
    ]
    notes = fleet.ingest(tmp_path / "f", [fleets.write(tmp_path / "a.csv", told)]).notes
    assert [note.partition(": ")[2].partition(";")[0] for note in notes] == [
        "smart_5_raw goes back on 1 drive, first on A: 100 before, 0 on 2013-04-12",
        "smart_9_raw goes back on 1 drive, first on A: 500 before, 4 on 2013-04-12",
    ]


def test_fractions_and_large_numbers_are_taken(tmp_path: Path) -> None:
    fleet.ingest(
        tmp_path / "f", [fleets.day(tmp_path, 10, 1, smart_5_raw=2**48), fleets.day(tmp_path, 11, 1, smart_5_raw="0.5")]
    )
    told = rows(tmp_path / "f", "SELECT smart_5_raw AS v FROM days ORDER BY date")
    assert [each["v"] for each in told] == [2**48, 0.5]


def test_a_run_that_fails_while_it_commits_leaves_the_fleet_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])
    settle = store.settle
    for fatal in range(2):
        calls: list[int] = []

        def broken(staged: Path, place: Path, fatal: int = fatal, calls: list[int] = calls) -> None:
            calls.append(1)
            if len(calls) == fatal + 1:
                raise KeyboardInterrupt
            settle(staged, place)

        monkeypatch.setattr(ingesting, "settle", broken)
        monkeypatch.setattr(store, "settle", broken)
        with pytest.raises(KeyboardInterrupt):
            fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 11)])
        assert count(tmp_path / "f") == 5
    monkeypatch.undo()
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 11)])
    assert count(tmp_path / "f") == 10
    named = {part.place for part in fleet.open(tmp_path / "f").ledger.parts}
    assert {str(path.relative_to(tmp_path / "f")) for path in (tmp_path / "f").rglob("*.parquet")} == named


def test_a_run_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    days = [fleets.day(tmp_path, number, drives=200) for number in range(1, 29)]
    with zipfile.ZipFile(tmp_path / "q.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in days:
            archive.write(file, file.name)
    command = [sys.executable, "-m", "wane.fleet", "ingest", str(tmp_path / "f"), str(tmp_path / "q.zip")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 60
        manifest = tmp_path / "f/fleet.json"
        while time.monotonic() < deadline and not (manifest.exists() and manifest.read_text().count("member") >= 3):
            time.sleep(0.005)
        running.kill()
    there = count(tmp_path / "f")
    assert 0 < there <= 28 * 200
    assert there % 200 == 0
    taken = fleet.ingest(tmp_path / "f", [tmp_path / "q.zip"])
    assert taken.known == there // 200
    assert count(tmp_path / "f") == 28 * 200


def test_a_folder_of_records_is_one_part_and_new_files_are_added(tmp_path: Path) -> None:
    logs = tmp_path / "logs/host1"
    logs.mkdir(parents=True)
    # 23:46 and 22:30 of the next day in UTC, whatever the zone of the machine.
    for number, seconds in enumerate((1_700_004_600 + 1000, 1_700_004_600 + 82_800)):
        (logs / f"{number}.json").write_text(fleets.smartctl(seconds=seconds))
    taken = fleet.ingest(tmp_path / "f", [tmp_path / "logs"])
    assert (taken.files, taken.rows) == (2, 2)
    assert fleet.ingest(tmp_path / "f", [tmp_path / "logs"]).files == 0
    (logs / "3.json").write_text(fleets.smartctl(seconds=1_700_004_600 + 1200, serial="WD-2"))
    (logs / "4.json").write_text(fleets.smartctl(seconds=1_700_004_600 + 1000))
    taken = fleet.ingest(tmp_path / "f", [tmp_path / "logs"])
    # The copy of the first file is known by its bytes.
    assert (taken.files, taken.rows) == (1, 1)
    told = rows(tmp_path / "f", "SELECT * FROM days ORDER BY serial, date")
    assert [(each["serial"], str(each["date"])) for each in told] == [
        ("WD-1", "2023-11-14"),
        ("WD-1", "2023-11-15"),
        ("WD-2", "2023-11-14"),
    ]
    assert (told[0]["smart_194_raw"], told[0]["smart_194_normalized"], told[0]["temperature_celsius"]) == (24, 76, 24)
    # smartctl does not say that a drive did not fail.
    assert told[0]["failure"] is None
    assert not fleet.open(tmp_path / "f").days([])["failure"].any()


def test_two_drives_of_one_serial_number_are_not_one(tmp_path: Path) -> None:
    def record(second: int, wwn: int, hours: int) -> str:
        told = {
            "smartctl": {},
            "device": {"protocol": "ATA"},
            "model_name": "CHEAP",
            "serial_number": "AA11",
            "wwn": {"naa": 5, "oui": 1, "id": wwn},
            "local_time": {"time_t": 1_700_000_000 + second},
            "power_on_time": {"hours": hours},
            "smart_status": {"passed": True},
        }
        return json.dumps(told)

    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.json").write_text(record(0, 7, 5000))
    (tmp_path / "logs/b.json").write_text(record(60, 8, 5000))
    had = "has the World Wide Name 5000001000000008, and had 5000001000000007 before"
    with pytest.raises(wane.FleetError, match=f"b.json: drive AA11 {had}: two drives have this serial number"):
        fleet.ingest(tmp_path / "f", [tmp_path / "logs"])
    (tmp_path / "logs/b.json").write_text(record(60, 7, 21_000))
    notes = fleet.ingest(tmp_path / "g", [tmp_path / "logs"]).notes
    assert any("16,000 hours under power more in 0.0 hours" in note and "two drives" in note for note in notes), notes
    (tmp_path / "logs/b.json").write_text(record(86_400, 7, 5024))
    assert not fleet.ingest(tmp_path / "h", [tmp_path / "logs"]).notes


def test_of_one_day_the_last_record_counts(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(fleets.smartctl(seconds=1_700_000_000))
    (tmp_path / "b.json").write_text(fleets.smartctl(seconds=1_700_003_600, power_on_time={"hours": 9}))
    fleet.ingest(tmp_path / "f", [tmp_path / "b.json", tmp_path / "a.json"])
    assert rows(tmp_path / "f", "SELECT power_on_hours AS h FROM days") == [{"h": 9}]
    assert len(rows(tmp_path / "f", "SELECT time FROM records")) == 2


def test_one_bad_file_among_many_is_told_and_skipped_only_if_asked(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(40):
        (logs / f"{number:02}.json").write_text(fleets.smartctl(serial=f"WD-{number}"))
    (logs / "20.json").write_text(fleets.smartctl()[:-30])
    with pytest.raises(
        wane.FleetError, match=r"20\.json: is no whole JSON.*20 files before it are ingested; --skip-bad"
    ):
        fleet.ingest(tmp_path / "f", [logs])
    assert count(tmp_path / "f") == 20
    taken = fleet.ingest(tmp_path / "f", [logs], skip_bad=True)
    assert (taken.rows, len(taken.skipped)) == (19, 1)
    assert fleet.open(tmp_path / "f").summary()["skipped_files"] == 1


def test_nothing_is_added_to_a_fleet_that_lacks_a_file(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.json").write_text(fleets.smartctl())
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10), tmp_path / "logs"])
    (listed,) = (tmp_path / "f/files").iterdir()
    for lacking in (listed, next((tmp_path / "f/days").iterdir())):
        kept = lacking.read_bytes()
        lacking.unlink()
        for act in (
            lambda: fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 11)]),
            lambda: fleet.open(tmp_path / "f"),
        ):
            with pytest.raises(wane.FleetError, match=rf"{lacking.name}: is missing, and fleet\.json names it"):
                act()
        lacking.write_bytes(kept)
    assert fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 11)]).rows == 5


def test_tomorrow_is_taken_and_the_day_after_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_days", "_plain"):
        monkeypatch.setattr(f"wane.fleet.{module}.tomorrow", lambda: date(2013, 4, 11))
    assert fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 11)]).rows == 5
    with pytest.raises(wane.FleetError, match='"2013-04-12", allowed are 1970-01-01 to 2013-04-11'):
        fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 12)])


def test_a_simulated_drive_is_labeled_as_such(tmp_path: Path, wane_command: Any) -> None:
    assert wane_command("drive", "create", "a.wane", "--preset", "tiny", "--quiet").returncode == 0
    printed = wane_command("drive", "smart", "a.wane", "--json").stdout
    (tmp_path / "a.json").write_text(printed)
    fleet.ingest(tmp_path / "f", [tmp_path / "a.json"])
    told = rows(tmp_path / "f", "SELECT source, percentage_used_percent AS used FROM days")
    assert told == [{"source": "simulated", "used": 0.0}]
    assert wane.doctor(printed)["drive"]["is_simulated"]
    assert wane.read_smart(printed)[0]["serial"] == wane.doctor(tmp_path / "a.json")["drive"]["serial"]


def test_two_processes_do_not_ingest_at_once(tmp_path: Path) -> None:
    folder = store.Folder(tmp_path / "f")
    with folder.claimed(), pytest.raises(wane.FleetError, match="another process ingests"):
        fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ("{", "cannot be read"),
        ('{"a": 1}', "is not of a fleet"),
        (json.dumps({"mark": store.MARK, "format": 99, "parts": [], "files": []}), "has format 99"),
        (json.dumps({"mark": store.MARK, "format": 1, "parts": [{"number": 1}], "files": []}), "is damaged"),
    ],
)
def test_a_folder_that_is_no_fleet_is_refused(tmp_path: Path, manifest: str, sentence: str) -> None:
    (tmp_path / "fleet.json").write_text(manifest)
    with pytest.raises(wane.FleetError, match=sentence):
        fleet.open(tmp_path)


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ingesting, "settle", full)
    for is_skipped in (False, True):
        with pytest.raises(wane.FleetError, match="f: No space left on device; what was ingested before stays"):
            fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 11)], skip_bad=is_skipped)
    assert count(tmp_path / "f") == 5


def test_a_damaged_part_is_one_sentence(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])
    part = tmp_path / "f/days/000001.parquet"
    for content in (part.read_bytes()[:-9], b"", None):
        if content is None:
            part.unlink()
        else:
            part.write_bytes(content)
        for ask in (
            lambda: fleet.open(tmp_path / "f").query("SELECT * FROM days"),
            lambda: fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 11)]),
        ):
            with pytest.raises(wane.FleetError) as told:
                ask()
            assert "000001.parquet" in str(told.value)
            assert "\n" not in str(told.value)


@pytest.mark.parametrize("at", [0, 1])
def test_an_empty_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    monkeypatch.chdir(tmp_path)
    paths = ["f", str(fleets.day(tmp_path, 10))]
    paths[at] = ""
    with pytest.raises(wane.FleetError, match="path: found an empty one"):
        fleet.ingest(paths[0], [paths[1]])


def test_a_serial_number_may_look_hexadecimal(tmp_path: Path) -> None:
    told = [fleets.row("0x10", "2013-04-10"), fleets.row("MJ0X12", "2013-04-10", pod_id="0x7")]
    fleet.ingest(tmp_path / "f", [fleets.write(tmp_path / "a.csv", told)])
    assert count(tmp_path / "f") == 2


def test_what_is_no_fleet_is_left_alone(tmp_path: Path) -> None:
    file = fleets.day(tmp_path, 10)
    for place, sentence in (
        (tmp_path, "holds something else than a fleet"),
        (file, "is a file, and a fleet is a folder"),
    ):
        with pytest.raises(wane.FleetError, match=sentence):
            fleet.ingest(place, [file])
    with pytest.raises(wane.FleetError, match="does not exist"):
        fleet.open(tmp_path / "none")
    with pytest.raises(wane.FleetError, match=r"none\.csv: does not exist"):
        fleet.ingest(tmp_path / "f", [tmp_path / "none.csv"])


def test_questions_that_a_fleet_has_no_answer_to_are_one_sentence(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])
    with fleet.open(tmp_path / "f") as opened:
        with pytest.raises(wane.FleetError, match="the query is refused"):
            opened.query("SELECT nothing FROM days")
        with pytest.raises(wane.FleetError, match='found "3", allowed is a text with one SELECT'):
            opened.query(3)  # type: ignore[arg-type]
        with pytest.raises(wane.FleetError, match='found "smart_7_raw", which no file told'):
            opened.days(["smart_7_raw"])
        with pytest.raises(wane.FleetError, match='found "DISK 9"'):
            opened.days([], models=["DISK 9"])


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    fleets.day(tmp_path, 10)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "wane.fleet", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    done = run("ingest", "f", "2013-04-10.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2013-04-10.csv: 5 rows, 2013-04-10\n1 file ingested, 5 rows added\n"
    assert json.loads(run("ingest", "f", "2013-04-10.csv", "--json").stdout)["known"] == 1
    assert run("query", "f", "SELECT count(*) AS n FROM days").stdout == '"n"\n5\n'
    wrong = run("ingest", "f", "missing.csv")
    assert (wrong.returncode, wrong.stderr) == (2, "wane: missing.csv: does not exist\n")


def test_the_package_itself_needs_none_of_it() -> None:
    code = (
        "import sys, wane; print([name for name in ('duckdb', 'pyarrow', 'pandas', 'sklearn') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_half_of_backblaze_is_taken_whole_and_fast(tmp_path: Path) -> None:
    file = fleets.real(fleets.HALF)
    start = time.perf_counter()
    taken = fleet.ingest(tmp_path / "f", [file])
    seconds = time.perf_counter() - start
    told = fleet.open(tmp_path / "f").summary()
    assert {key: told[key] for key in ("drive_days", "drives", "failures", "first", "last")} == {
        "drive_days": 432_551,
        "drives": 11_407,
        "failures": 75,
        "first": "2013-04-10",
        "last": "2013-05-19",
    }
    assert any("smart_9_raw goes back on 18 drives" in note for note in taken.notes)
    # Two of its days in their original 85 columns, of which the others are empty: nothing new.
    raw = [fleets.real(f"smart/backblaze_raw_2013-{day}_halfA.csv.gz") for day in ("04-30", "05-19")]
    taken = fleet.ingest(tmp_path / "f", raw)
    assert taken.rows == 0
    assert taken.repeated > 20_000
    # The machine may be busy: the limit of an idle one is five seconds.
    assert seconds < 30


def test_alibabas_tickets_are_a_view_of_their_own(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.real(fleets.TICKETS)])
    told = rows(
        tmp_path / "f",
        "SELECT count(*) AS n, count(DISTINCT serial) AS d, count(DISTINCT disk_id) AS i, count(r_5) AS r FROM tickets",
    )
    # A number is that of a drive only with its model.
    assert told == [{"n": 9303, "d": 9303, "i": 9102, "r": told[0]["r"]}]
    assert fleet.ingest(tmp_path / "f", [fleets.real(fleets.TICKETS)]).known == 1


def test_public_records_are_taken_where_they_name_a_drive(tmp_path: Path) -> None:
    with tarfile.open(fleets.real(fleets.SMARTCTL)) as archive:
        archive.extractall(tmp_path, filter="data")
    taken = fleet.ingest(tmp_path / "f", [tmp_path / "smartctl_json"], skip_bad=True)
    # 85 have their serial number removed, and one is all X.
    assert (taken.files, len(taken.skipped)) == (6, 86)
    assert all("names no drive" in sentence for sentence in taken.skipped)
    for file in sorted((tmp_path / "smartctl_json").iterdir()):
        assert wane.doctor(file)["verdict"] in ("good", "notice", "warning", "failing", "unknown")
    shutil.rmtree(tmp_path / "smartctl_json")


def test_what_spills_lies_in_a_folder_that_nobody_else_enters_or_foretells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first, second = store.connect(), store.connect()
    folders = sorted(tmp_path.iterdir())
    assert len(folders) == 2
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700, 0o700]
    assert not any(str(os.getpid()) == folder.name.rsplit("-", 1)[1] for folder in folders)
    del first, second
    gc.collect()
    assert not list(tmp_path.iterdir())
