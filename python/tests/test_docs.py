"""The book's chapter runs, and prints what it says."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["docs/src/from-python.md", "README.md"])
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
