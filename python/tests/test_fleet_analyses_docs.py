"""The book's page on analyses of fleets runs, and prints what it says; it names them all."""

from pathlib import Path

import pytest
import test_docs
from conftest import ROOT

from wane.fleet import analyses

PAGE = "docs/src/fleet-analyses.md"

for needed in ("pandas", "scipy", "sklearn", "statsmodels"):
    pytest.importorskip(needed)


def test_the_page_on_analyses_prints_what_stands_behind_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_docs.test_code_of_a_page_prints_what_stands_behind_it(PAGE, tmp_path, monkeypatch)


def test_the_page_names_every_analysis() -> None:
    text = (ROOT / PAGE).read_text()
    missing = [function.__name__ for function in analyses.ANALYSES.values() if function.__name__ not in text]
    assert not missing
