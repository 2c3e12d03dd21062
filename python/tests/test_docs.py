"""The book's chapters run, and print what they say."""

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import fleets
import pytest
from conftest import ROOT

from wane.fleet.__main__ import main

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


PAGES = ["docs/src/drives-that-encode.md", "docs/src/from-python.md", "docs/src/heat-and-money.md", "README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page_prints_what_stands_behind_it(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((ROOT / page).read_text())
    names: dict[str, Any] = {}
    told: str | None = None
    run = 0
    for language, text in blocks:
        if language == "python":
            assert not told, f"{page}: nothing stands behind a block that prints {told}"
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, page, "exec"), names)
            told = printed.getvalue()
            run += 1
        elif language == "text" and told is not None:
            assert told == text
            told = None
    assert not told, f"{page}: nothing stands behind a block that prints {told}"
    assert run > 0


def test_commands_of_the_fleet_chapter_go_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    for number in range(6):
        told = fleets.smartctl(serial=f"WD-{number % 3}", seconds=1_700_000_000 + 86_400 * number)
        (tmp_path / f"logs/{number}.json").write_text(told)
    page = (ROOT / "docs/src/fleet.md").read_text()
    commands = [
        line.removeprefix("python -m wane.fleet ")
        for language, text in BLOCK.findall(page)
        if language == "bash"
        for line in text.splitlines()
    ]
    assert len(commands) == 5
    for command in commands:
        assert main(shlex.split(command)) == 0, command
    printed = capsys.readouterr().out
    assert "1 file ingested" not in printed
    assert '"WDC TEST",3,2023-11-19' in printed
    assert (tmp_path / "drives.fleet/report.html").exists()
