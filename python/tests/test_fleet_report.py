"""What to replace, and the page on a fleet."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import fleets
import pytest

import wane
from wane import fleet
from wane.fleet.__main__ import main


def nvme(path: Path, serial: str, day: int, **log: Any) -> None:
    """A record of an NVMe drive on a day of a month."""
    told = {
        "smartctl": {"version": [7, 3]},
        "device": {"protocol": "NVMe"},
        "model_name": "FLASH 1",
        "serial_number": serial,
        "local_time": {"time_t": 1_700_000_000 + 86_400 * day},
        "smart_status": {"passed": not log.pop("fails", False)},
        "nvme_smart_health_information_log": {
            "critical_warning": 0,
            "available_spare": 100,
            "available_spare_threshold": 10,
            "percentage_used": 1,
            "media_errors": 0,
            "power_on_hours": 1000 + 24 * day,
            **log,
        },
    }
    (path / f"{serial}-{day}.json").write_text(json.dumps(told))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A fleet of five flash drives: well, old errors, new errors, worn, failing; and one that went silent."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for day in (0, 10, 20):
        nvme(logs, "WELL", day)
        nvme(logs, "OLD", day, media_errors=7)
        nvme(logs, "NEW", day, media_errors=day // 10)
        nvme(logs, "WORN", day, percentage_used=50 + day)
        nvme(logs, "FAILS", day, fails=day == 20, available_spare=100 - 5 * day + 5)
    nvme(logs, "SILENT", 0, media_errors=1)
    fleet.ingest(tmp_path / "small.fleet", [logs])
    return tmp_path / "small.fleet"


def test_what_grows_is_a_reason_and_what_stands_still_is_none(small: Path) -> None:
    with fleet.open(small) as opened:
        found = fleet.replacements(opened)
    assert [(row["serial"], row["urgency"]) for row in found.drives] == [
        ("FAILS", "now"),
        ("NEW", "soon"),
        ("WORN", "by-date"),
    ]
    by = {row["serial"]: row for row in found.drives}
    assert by["NEW"]["reasons"] == ["media errors: 0 to 2 in 20 days (NVM Express, log page 02h)"]
    assert by["FAILS"]["reasons"] == [
        "the drive's own assessment is that it fails (SMART status)",
        "5 % of the spare is left, the threshold is 10 % (NVM Express, log page 02h)",
    ]
    # 70 % on 4 December, one percent a day: thirty days on.
    assert str(by["WORN"]["by"]) == "2024-01-03"
    assert (found.seen, found.gone, found.still, found.failed) == (5, 1, 1, 0)


def test_the_list_is_printed_for_people_and_machines(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replace", str(small)]) == 0
    told = capsys.readouterr().out
    assert re.search(r"^soon +NEW +FLASH 1\n +media errors: 0 to 2 in 20 days", told, re.MULTILINE)
    assert told.endswith("3 of 5 drives; 1 with old losses that did not grow, 1 silent\n")
    assert main(["replace", str(small), "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "serial,model,urgency,by,reasons,last_day"
    assert main(["replace", str(small), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["drives"][2]["by"] == "2024-01-03"


def test_the_page_says_it_all_and_is_the_same_each_time(small: Path) -> None:
    assert main(["report", str(small)]) == 0
    page = (small / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    for told in (
        "small.fleet",
        "What to replace",
        "media errors: 0 to 2 in 20 days",
        "How the models fare",
        "too few",
        "cannot tell",
    ):
        assert told in page
    assert "http" not in re.sub(r"http://www\.w3\.org/\S+", "", page)
    main(["report", str(small), "--out", str(small / "again.html")])
    assert (small / "again.html").read_text() == page


def test_names_are_text_on_the_page(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10, 2, model="<b>DISK</b>", failure=1)])
    with fleet.open(tmp_path / "f") as opened:
        page = fleet.report(opened)
    assert "&lt;b&gt;DISK" in page
    assert "<b>DISK" not in page
    # All failed: there is nobody to replace.
    assert "0 drives of 0" in page


def test_a_fleet_with_nothing_in_it_has_no_page(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"")
    fleet.ingest(tmp_path / "f", [tmp_path / "bad"], skip_bad=True)
    with fleet.open(tmp_path / "f") as opened:
        with pytest.raises(wane.FleetError, match="has nothing in it"):
            fleet.report(opened)
        with pytest.raises(wane.FleetError, match="no drive-days"):
            fleet.replacements(opened)
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])
    assert main(["report", str(tmp_path / "f"), "--out", str(tmp_path / "none/x.html")]) == 2


def test_tickets_alone_have_a_page(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.real(fleets.TICKETS)])
    with fleet.open(tmp_path / "f") as opened:
        page = fleet.report(opened)
    assert "9,303 failure tickets" in page
    assert "63.9 %" in page
    assert "<svg" in page


def test_the_half_of_backblaze_has_a_page(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.real(fleets.HALF)])
    with fleet.open(tmp_path / "f") as opened:
        page = fleet.report(opened)
        found = fleet.replacements(opened)
    assert "44 of 75" in page
    assert "997 of 11,332" in page
    assert "6.33 %" in page
    assert 0 < len(found.drives) < 997
    assert found.failed == 75


def test_the_command_hands_its_words_over(small: Path) -> None:
    command = [sys.executable, "-m", "wane", "fleet", "query", str(small), "SELECT count(*) AS n FROM records"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, '"n"\n16\n', "")
