"""One real drive from Python: read and judged as by the command."""

import json
from pathlib import Path
from typing import Any

import fleets
import pytest
from conftest import Command

import wane


def nvme(day: int, used: int) -> str:
    log = {"percentage_used": used, "media_errors": 0, "power_on_hours": 24 * day, "available_spare": 100}
    return fleets.smartctl(
        "S1",
        "FLASH 1",
        1_700_000_000 + 86_400 * day,
        device={"protocol": "NVMe"},
        nvme_smart_health_information_log=log,
    )


def test_a_path_a_text_and_bytes_are_read_alike(tmp_path: Path) -> None:
    text = nvme(0, 10)
    (tmp_path / "now.json").write_text(text)
    told = [wane.read_smart(each) for each in (tmp_path / "now.json", str(tmp_path / "now.json"), text, text.encode())]
    assert all(each == told[0] for each in told)
    (record,) = told[0]
    assert record["known"]["percentage_used_percent"] == {"value": 10.0, "from": "NVMe log 02h, percentage_used"}
    assert (record["serial"], record["unix_seconds"]) == ("S1", 1_700_000_000)
    # What was not told is not there.
    assert "host_written_bytes" not in record["known"]


def test_the_judgement_is_that_of_the_command(tmp_path: Path, wane_command: Command) -> None:
    (tmp_path / "now.json").write_text(nvme(100, 30))
    (tmp_path / "then.json").write_text(nvme(0, 10))
    told = wane.doctor(tmp_path / "now.json", tmp_path / "then.json")
    printed: dict[str, Any] = json.loads(wane_command("doctor", "now.json", "then.json", "--json").stdout)
    assert told == printed
    assert told["life"]["end"]["expected"] is not None


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ((), "no record of a drive is given"),
        (("{",), "the text: is no whole JSON"),
        ((b"hello",), "the bytes: is not of a drive"),
        (("none.json",), "none.json: cannot be read"),
        ((nvme(0, 1), fleets.smartctl("S2")), "the records are of two drives"),
    ],
)
def test_what_is_no_record_is_one_sentence(told: tuple[str | bytes, ...], sentence: str) -> None:
    with pytest.raises(wane.SmartError, match=sentence):
        wane.doctor(*told)
