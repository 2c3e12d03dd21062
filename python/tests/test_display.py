"""Display in notebooks: results, tables and drives as HTML, and a bar during runs."""

import sys
import types
from typing import Any

import pytest

import wane

TINY: dict[str, Any] = {"drive": {"preset": "tiny", "endurance": "none"}, "until": {"drive-writes": 300}}


def test_a_table_shows_its_first_rows() -> None:
    result = wane.run(TINY, set={"until.drive-writes": 1})
    page = result.blocks._repr_html_()
    assert page.count("<tr>") == 11
    assert "<th>erase_count</th>" in page
    assert f"10 of {result.blocks.rows} rows, 7 columns" in page
    life = result.timeline._repr_html_()
    assert "nan" not in life
    assert "<td></td>" in life
    assert "0 rows, 0 columns" in result.windows._repr_html_()


def test_a_drive_shows_how_it_fares() -> None:
    drive = wane.Drive({"name": "<b>", "drive": {"preset": "tiny"}})
    page = drive._repr_html_()
    assert "&lt;b&gt;, 16384 pages of 4096 bytes" in page
    assert ">not yet<" in page
    assert ">none<" in page
    drive.run(drive_writes=2)
    page = drive._repr_html_()
    assert ">2.00<" in page
    assert " closed" in page
    drive.run(end_of_life=True)
    assert ">spare-exhausted<" in drive._repr_html_()


class Shown:
    """What stands for IPython's display."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def HTML(self, text: str) -> str:  # noqa: N802 - IPython's name
        return text

    def display(self, text: str, *, display_id: bool) -> "Shown":
        assert display_id
        self.texts.append(text)
        return self

    def update(self, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """A notebook's kernel, as far as a bar knows it."""
    shown = Shown()
    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return shown


def test_a_notebook_has_a_bar_that_goes(
    shown: Shown, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wane._progress._NotebookBar.EVERY", 0.0)
    wane.run(TINY, set={"name": "<b>"})
    assert len(shown.texts) > 2
    assert shown.texts[-2].startswith('&lt;b&gt; <progress max="1" value="')
    assert shown.texts[-2].endswith(" drive writes")
    assert shown.texts[-1] == ""
    shares = [float(text.split('value="')[1].split('"')[0]) for text in shown.texts[:-1]]
    assert shares == sorted(shares)
    drive = wane.Drive(TINY)
    before = len(shown.texts)
    drive.run(drive_writes=300)
    assert len(shown.texts) > before + 1
    assert shown.texts[-1] == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_a_sweep_has_a_bar_that_goes(
    scheduler: str, shown: Shown, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wane._progress._NotebookBar.EVERY", 0.0)
    wane.sweep({"until.drive-writes": [100, 200]}, TINY, scheduler=scheduler)
    assert len(shown.texts) > 2
    assert shown.texts[0].startswith('sweep <progress max="1" value="')
    assert shown.texts[-2].endswith(" of 2 runs")
    assert shown.texts[-1] == ""
    assert capfd.readouterr() == ("", "")


def test_a_bar_goes_when_a_run_fails_and_is_not_there_where_nobody_wants_it(shown: Shown) -> None:
    class Fails:
        left = 20_000

        def choose(self, view: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise LookupError("mine")
            return view.bucket_head(view.lowest())

    with pytest.raises(LookupError):
        wane.run(TINY, set={"until.drive-writes": 1e6}, policies={"ftl.gc": Fails()})
    assert shown.texts == [] or shown.texts[-1] == ""
    shown.texts.clear()
    wane.run(TINY, progress=False)
    wane.run(TINY, set={"until.drive-writes": 1})
    assert shown.texts == []
