"""What to replace, and the page on a fleet."""

import itertools
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import fleets
import numpy as np
import pytest

import wane
from wane import fleet
from wane.fleet.__main__ import _draw, main
from wane.fleet._report import _cell
from wane.fleet._risk import judge_row


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


@pytest.mark.parametrize(
    ("bits", "urgency", "words"),
    [
        (1, "now", "the spare is below its threshold"),
        (2, None, ""),
        (4, "now", "the drive is degraded"),
        (8, "now", "the drive is read-only"),
        (16, "soon", "the backup of volatile memory failed"),
        (20, "now", "the drive is degraded"),
        (32, "soon", "the persistent memory region is unreliable"),
    ],
)
def test_a_critical_warning_is_as_urgent_as_the_doctor_says(
    tmp_path: Path, bits: int, urgency: str | None, words: str
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    # smartctl fails a drive's assessment whatever it warns of.
    nvme(logs, "WARNS", 0, critical_warning=bits, fails=True)
    fleet.ingest(tmp_path / "f", [logs])
    with fleet.open(tmp_path / "f") as opened:
        found = fleet.replacements(opened).drives
    assert [row["urgency"] for row in found] == ([urgency] if urgency else [])
    assert all(words in row["reasons"][0] for row in found)
    verdict = wane.doctor(logs / "WARNS-0.json")["verdict"]
    assert (verdict == "failing") == (urgency == "now") and verdict != "good"


def test_a_reason_names_the_source_of_its_own_kind_of_drive(tmp_path: Path) -> None:
    """NVMe's log is none of a SATA drive's."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for day in (0, 20):
        raw = {"value": 3 * day // 20, "string": str(3 * day // 20)}
        table = {
            "table": [{"id": 187, "name": "Reported_Uncorrect", "value": 100, "worst": 100, "thresh": 0, "raw": raw}]
        }
        told = fleets.smartctl("SATA-1", seconds=1_700_000_000 + 86_400 * day, ata_smart_attributes=table)
        (logs / f"sata-{day}.json").write_text(told)
        nvme(logs, "NVME-1", day, media_errors=3 * day // 20)
    fleet.ingest(tmp_path / "f", [logs])
    with fleet.open(tmp_path / "f") as opened:
        reasons = {row["serial"]: row["reasons"] for row in fleet.replacements(opened).drives}
    assert reasons == {
        "NVME-1": ["media errors: 0 to 3 in 20 days (NVM Express, log page 02h)"],
        "SATA-1": [
            "media errors: 0 to 3 in 20 days (Backblaze watches attribute 187; of SAS drives, the uncorrected errors)"
        ],
    }


def test_wear_that_grew_by_a_single_percent_tells_no_day(tmp_path: Path) -> None:
    """It may have grown by next to nothing in the time."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for day in (0, 20):
        nvme(logs, "STEP", day, percentage_used=90 + day // 20)
        nvme(logs, "STEPS", day, percentage_used=90 + day // 10)
    fleet.ingest(tmp_path / "f", [logs])
    with fleet.open(tmp_path / "f") as opened:
        found = fleet.replacements(opened)
    assert [row["serial"] for row in found.drives] == ["STEPS"]


def test_what_grows_is_a_reason_and_what_stands_still_is_none(small: Path) -> None:
    with fleet.open(small) as opened:
        found = fleet.replacements(opened)
    assert [(row["serial"], row["urgency"]) for row in found.drives] == [
        ("FAILS", "now"),
        ("NEW", "soon"),
        ("WORN", "by-date"),
    ]
    by = {row["serial"]: row for row in found.drives}
    # 20 % in 20 days lie between 19 and 21, and 30 % that are left between 29 and 31.
    assert by["WORN"]["by"] - by["WORN"]["last_day"] == timedelta(days=30)
    assert (
        f"between {by['WORN']['last_day'] + timedelta(days=27)} and {by['WORN']['last_day'] + timedelta(days=33)}"
        in by["WORN"]["reasons"][0]
    )
    assert by["NEW"]["reasons"] == ["media errors: 0 to 2 in 20 days (NVM Express, log page 02h)"]
    assert by["FAILS"]["reasons"] == [
        "the drive's own assessment is that it fails (SMART status)",
        "5 % of the spare is left, the threshold is 10 % (NVM Express, log page 02h)",
    ]
    # 70 % on 4 December, one percent a day: thirty days on.
    assert str(by["WORN"]["by"]) == "2024-01-03"
    assert (found.seen, found.gone, found.still, found.failed) == (5, 1, 1, 0)


def judged(tmp_path: Path, serial: str, *records: tuple[int, dict[str, Any]]) -> tuple[fleet.Replacements, Any]:
    """One drive's records beside a drive that is well on days 0 to 40, judged; its row in the list, or ``None``."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for day in range(0, 41, 4):
        nvme(logs, "WELL", day)
    for day, log in records:
        nvme(logs, serial, day, **log)
    fleet.ingest(tmp_path / "f", [logs])
    with fleet.open(tmp_path / "f") as opened:
        found = fleet.replacements(opened)
    return found, next((row for row in found.drives if row["serial"] == serial), None)


@pytest.mark.parametrize(
    ("last", "urgency", "reason"),
    [
        ({"fails": True}, "now", "the drive's own assessment"),
        ({"media_errors": 3}, "soon", "media errors: 0 to 3 in 2 days"),
        ({"percentage_used": 99}, None, ""),
        ({}, None, ""),
    ],
)
def test_a_silent_drive_is_listed_as_it_was_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], last: dict[str, Any], urgency: str | None, reason: str
) -> None:
    found, row = judged(tmp_path, "GONE", (0, {}), (2, last))
    assert (found.gone, found.gone_listed, found.seen) == (1, int(urgency is not None), 1)
    assert main(["replace", str(tmp_path / "f")]) == 0
    told = capsys.readouterr().out
    assert f"0 of 1 drives, and {found.gone_listed} of 1 silent ones" in told
    assert (row is not None) == (urgency is not None)
    if row is not None:
        assert (row["urgency"], str(row["silent_since"])) == (urgency, "2023-11-16")
        assert reason in row["reasons"][0]
        assert row["reasons"][-1] == "silent since 2023-11-16"
        assert "silent since 2023-11-16" in told


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((100, 0, 3, 6, 42), "media errors: 42 more in 16 days, at last 42, as the count went back in between"),
        ((32, 6, 46, 78), "media errors: 72 more in 12 days, at last 78, as the count went back in between"),
        ((4, 5), "media errors: 4 to 5 in 4 days"),
        ((100, 0), None),
        ((7, 7), None),
    ],
)
def test_a_counter_that_was_reset_hides_no_new_losses(
    tmp_path: Path, values: tuple[int, ...], reason: str | None
) -> None:
    start = 40 - 4 * (len(values) - 1)
    told = [(start + 4 * number, {"media_errors": value}) for number, value in enumerate(values)]
    found, row = judged(tmp_path, "DRIVE", *told)
    assert (row is None) == (reason is None)
    if row is not None:
        assert row["reasons"] == [f"{reason} (NVM Express, log page 02h)"]
    assert (found.still, found.once) == (int(values == (7, 7)), 0)


def test_one_day_is_one_day(tmp_path: Path) -> None:
    _, row = judged(tmp_path, "DRIVE", (39, {"media_errors": 1, "percentage_used": 98}), (40, {"media_errors": 2}))
    assert row["reasons"][0].startswith("media errors: 1 to 2 in 1 day (")


def test_from_one_record_nothing_is_said_of_growth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The value was missing before: a record without NVMe's count of media errors.
    found, row = judged(tmp_path, "DRIVE", (36, {"media_errors": None}), (40, {"media_errors": 7}))
    assert row is None
    assert (found.still, found.once) == (0, 1)
    assert main(["replace", str(tmp_path / "f")]) == 0
    assert "1 with losses in one record: whether they grow is not known" in capsys.readouterr().out
    with fleet.open(tmp_path / "f") as opened:
        page = fleet.report(opened)
    assert "1 drive with one record of them in the month: whether they grow is not known" in page
    assert "that did not grow" not in page


@pytest.mark.parametrize("shown", [math.floor, round, math.ceil])
def test_the_interval_of_the_end_holds_the_end_of_wear_that_is_linear(shown: Callable[[float], int]) -> None:
    """Tested for every way of rounding wear to percents, and for every position between two percents at which the month begins."""
    judged, last = 0, date(2024, 3, 1)
    for worn, percent_a_day in itertools.product(np.linspace(55, 93, 77), (0.08, 0.11, 0.16, 0.23, 0.37)):
        first, used = shown(worn), shown(worn + 30 * percent_a_day)
        row = {"last_day": last, "percentage_used_percent": used, "first percentage_used_percent": first}
        row |= {"days percentage_used_percent": 30, "fell percentage_used_percent": False}
        told = judge_row(row, ["percentage_used_percent"])
        if told.by is None:
            continue
        judged += 1
        found = re.search(r"between (\S+) and (\S+) \(", told.reasons[0])
        assert found is not None
        ends = last - timedelta(days=30) + timedelta(days=(100 - worn) / percent_a_day)
        assert found[1] <= str(ends) <= found[2], (worn, percent_a_day, told.reasons)
    assert judged > 200


def test_past_its_rating_a_drive_has_no_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, row = judged(tmp_path, "DRIVE", (36, {"percentage_used": 101}), (40, {"percentage_used": 103}))
    assert (row["urgency"], row["by"]) == ("past-rating", None)
    assert row["reasons"] == [
        "103 % of the rated wear is used (NVMe's Percentage Used: 100 is the rating, and no failure)"
    ]
    assert main(["replace", str(tmp_path / "f")]) == 0
    assert re.search("^past-rating +DRIVE", capsys.readouterr().out, re.MULTILINE)


def test_a_simulated_drive_that_lives_ahead_does_not_silence_others(tmp_path: Path) -> None:
    told = [fleets.row("S", f"2013-04-{day}", smart_5_raw=10 * day) for day in (10, 11)]
    fleet.ingest(tmp_path / "f", [fleets.write(tmp_path / "a.csv", told)])
    header = [*fleets.HEADER, "source"]
    ahead = fleets.row("SIM", "2020-01-01", source="simulated")
    fleet.ingest(tmp_path / "f", [fleets.write(tmp_path / "b.csv", [ahead], header)])
    with fleet.open(tmp_path / "f") as opened:
        found = fleet.replacements(opened)
    assert (str(found.last_day), found.gone, [row["serial"] for row in found.drives]) == ("2013-04-11", 0, ["S"])


def test_an_ocp_page_behind_a_record_adds_to_it(tmp_path: Path) -> None:
    nvme(tmp_path, "DRIVE", 20, data_units_written=1000)
    file = tmp_path / "DRIVE-20.json"
    page = {"Physical media units written": {"hi": 0, "lo": 2_048_000_000}, "Bad user nand blocks - Raw": 3}
    file.write_text(file.read_text() + "\n" + json.dumps(page))
    fleet.ingest(tmp_path / "f", [file])
    with fleet.open(tmp_path / "f") as opened:
        row = opened.query("SELECT host_written_bytes, flash_written_bytes FROM records").to_pylist()[0]
    assert row == {"host_written_bytes": 512_000_000, "flash_written_bytes": 2_048_000_000}
    nvme(tmp_path, "DRIVE", 20, data_units_written=1001)
    with pytest.raises(wane.FleetError, match=r"first DRIVE on 2023-12-04 22:13:20 UTC: host_written_bytes is"):
        fleet.ingest(tmp_path / "g", [file, *_copied(tmp_path, file)])


def _copied(tmp_path: Path, file: Path) -> list[Path]:
    """A second record of the same moment with another value."""
    other = tmp_path / "other.json"
    other.write_text(file.read_text().replace("1001", "1002"))
    return [other]


def test_drives_near_their_rating_of_which_no_day_is_known_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    nvme(logs, "ONCE", 20, percentage_used=99)
    for day in (0, 20):
        nvme(logs, "FLAT", day, percentage_used=95)
        nvme(logs, "WELL", day, percentage_used=89)
    fleet.ingest(tmp_path / "f", [logs])
    assert main(["replace", str(tmp_path / "f")]) == 0
    told = capsys.readouterr().out
    assert told.endswith(", 2 near their rated wear, which did not grow or stands in one record\n")
    assert main(["replace", str(tmp_path / "f"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["near"] == 2


def test_what_wane_did_not_write_is_kept_and_no_picture_ends_in_a_traceback(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "mine.html"
    page.write_text("<p>mine</p>")
    assert main(["report", str(small), "--out", str(page)]) == 2
    assert "mine.html: exists, and wane did not write it" in capsys.readouterr().err
    assert page.read_text() == "<p>mine</p>"
    for more in (["--force"], []):
        assert main(["report", str(small), "--out", str(page), *more]) == 0
    figure = pytest.importorskip("matplotlib.figure")

    class Drawn:
        def plot(self) -> Any:
            return figure.Figure()

    for file in ("x.txt", "nowhere/x.svg"):
        with pytest.raises(wane.FleetError, match=f"{file}: cannot be written: [^\n]+$"):
            _draw(Drawn(), "drawn", str(tmp_path / file))


def test_the_list_is_printed_for_people_and_machines(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replace", str(small)]) == 0
    told = capsys.readouterr().out
    assert re.search(r"^soon +NEW +FLASH 1\n +media errors: 0 to 2 in 20 days", told, re.MULTILINE)
    assert told.endswith("3 of 5 drives, and 0 of 1 silent ones; 1 with old losses that did not grow\n")
    assert main(["replace", str(small), "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "serial,model,urgency,by,risk,reasons,last_day,silent_since"
    assert main(["replace", str(small), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["drives"][2]["by"] == "2024-01-03"


def test_the_page_says_it_all_and_is_the_same_each_time(small: Path) -> None:
    assert main(["report", str(small)]) == 0
    page = (small / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    for told in (
        '<p class="eyebrow">wane fleet report: small.fleet</p>',
        "<h1>Replace 2 of 5 drives</h1>",
        "Also listed: 1 drive near or past the rated wear. 6 drives of 1 model, 2023-11-14 to 2023-12-04.",
        "What to replace",
        '<td style="text-align:left">media errors: 0 to 2 in 20 days [2]</td>',
        "Sources: [1] SMART status; [2] NVM Express, log page 02h; [3] NVMe&#x27;s Percentage Used: 100 is the rating, and no failure<",
        "cannot tell",
        "For 1 model no file tells whether a drive failed, as smartctl does not know it.",
        "; 16 files ingested</footer>",
    ):
        assert told in page
    # smartctl does not know of failures: a rate of 0.00 would be made up.
    words = re.sub("<svg.*?</svg>", "", page, flags=re.DOTALL)
    for untold in (
        "0.00",
        "not told",
        "How the models fare",
        "in a year",
        "failures</dt>",
        "Failures that come together",
    ):
        assert untold not in words
    assert "http" not in re.sub(r"http://www\.w3\.org/\S+", "", page)
    main(["report", str(small), "--out", str(small / "again.html")])
    assert (small / "again.html").read_text() == page


def test_rates_are_of_those_drive_models_alone_whose_failures_are_told(small: Path, tmp_path: Path) -> None:
    days = [fleets.row(f"S{n}", "2013-04-10", failure=int(n == 0)) for n in range(10)]
    fleet.ingest(small, [fleets.write(tmp_path / "a.csv", days)])
    with fleet.open(small) as opened:
        page = fleet.report(opened)
        told = fleet.analyze(opened, "survival")
        with pytest.raises(wane.FleetError, match="survival: no drive-day tells whether the drive failed"):
            fleet.analyze(opened, "survival", model="FLASH 1")
        with pytest.raises(wane.FleetError, match="no drive-day tells whether the drive failed"):
            fleet.survival(opened.days(["power_on_hours"], models=["FLASH 1"]))
    assert [row["model"] for row in told.rates] == ["DISK 1"]
    assert any("1 drive model left out, of which nobody tells failures: FLASH 1" in note for note in told.notes)
    # A failure in 10 drive-days is a rate of 3650 % a year, which says nothing.
    assert "3650" not in page
    assert "<dt>failures</dt><dd>1<" in page
    assert (
        "1 model with fewer than 10,000 drive-days each (together 10 drives, 10 drive-days, 1 failure) has no rate here"
        in page
    )
    assert "For 1 model no file tells whether a drive failed" in page


def test_names_are_text_on_the_page(tmp_path: Path) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10, 2, model="<b>DISK</b>", failure=1)])
    grown = [fleets.row("<i>A</i>", f"2013-04-{day}", model="<b>B</b>", smart_5_raw=90 * day) for day in (10, 11)]
    fleet.ingest(tmp_path / "g", [fleets.write(tmp_path / "b.csv", grown)])
    with fleet.open(tmp_path / "g") as opened:
        page = fleet.report(opened)
    assert "&lt;i&gt;A&lt;/i&gt;" in page and "&lt;b&gt;B&lt;/b&gt;" in page
    assert "<i>A" not in page and "<b>B" not in page
    with fleet.open(tmp_path / "f") as opened:
        page = fleet.report(opened)
    assert "<b>DISK" not in page
    # All drives failed: there is none to replace.
    assert "<h1>Replace none: no drive reported in the week to 2013-04-10</h1>" in page


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
    # States are of a sample of the drives, of which it tells; their numbers are of one clustering, with one that is not.
    assert re.search(r"of its [\d,]+ drives one in \d, [\d,]+, by serial number", page)
    assert "States are numbered as above; those at a constant rate are of a clustering of its own" in page
    # As of an earlier day, the list of which the page tells is that of the backtest.
    assert (
        "As of 2013-05-05 the same rule would have named 142 drives, of which 12 failed within 14 days; of all 10,823 drives 31 did."
        in page
    )
    assert f"<h1>Replace {found.urgent:,} of 11,277 drives</h1>" in page
    assert "27 models with fewer than 10,000 drive-days each" in page
    assert "&quot;reallocated sectors&quot; goes back on 2 drives" in page
    no_raw_names(page)
    patterns = page[page.index("<h2>Transitions") :].partition("</table>")[0]
    assert patterns.count("<tr>") <= 1 + 12
    assert "e-1" not in re.sub("<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert found.failed == 75


def no_raw_names(page: str) -> None:
    """Checks that no name of a column is on a page, neither in its text nor in its pictures."""
    told = re.sub("<style.*?</style>|<script.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r">[^<]*\b[a-z]+(?:_[a-z0-9]+)+\b[^<]*<", told) == []


def test_a_fleet_that_is_well_says_so_first(tmp_path: Path) -> None:
    days = [fleets.day(tmp_path, day, 3) for day in (10, 11)]
    fleet.ingest(tmp_path / "f", days)
    with fleet.open(tmp_path / "f") as opened:
        page = fleet.report(opened)
    assert "<h1>Replace none of 3 drives</h1>" in page
    assert "Also listed" not in page
    assert "<table>" not in page.partition("What the simplest rule finds")[0]


def test_neither_columns_nor_errors_leak_into_the_page(small: Path, tmp_path: Path) -> None:
    """States of flash have columns with names of their own, tickets without places have no answer, and a counter goes back."""
    for day in (0, 10, 20, 21):
        for number in range(40):
            used, hours = number % 7 + day, 24 * (30 - day)
            nvme(tmp_path, f"D{number}", day, percentage_used=used, power_on_hours=hours, media_errors=number % 3)
    for file in tmp_path.glob("D*.json"):
        file.rename(tmp_path / "logs" / file.name)
    (tmp_path / "label.csv").write_text("model,disk_id,failure_time\nMA1,1,2018-03-02\nMA1,2,2018-03-03\n")
    fleet.ingest(small, [tmp_path / "logs", tmp_path / "label.csv"])
    with fleet.open(small) as opened:
        page = fleet.report(opened)
    assert "Health states" in page
    assert '<th scope="col">percentage used (%)</th>' in page
    assert "&quot;power-on hours&quot; goes back" in page
    no_raw_names(page)
    for leak in ("tickets:", "FleetError", "needed is one of"):
        assert leak not in page


def test_a_cell_that_rounding_left_near_0_is_0() -> None:
    assert [_cell(value) for value in (-1.041e-17, 0.25, 3)] == ["0", "0.25", "3"]


def test_the_command_hands_its_words_over(small: Path) -> None:
    command = [sys.executable, "-m", "wane", "fleet", "query", str(small), "SELECT count(*) AS n FROM records"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, '"n"\n16\n', "")
