"""The notebooks run from their first cell to their last, and are stored without outputs."""

import ast
import contextlib
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

pytest.importorskip("matplotlib")

NOTEBOOKS = sorted((ROOT / "python/notebooks").glob("*.ipynb"))

#: A notebook runs within this, in seconds.
SECONDS_MAX = 60


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text())["cells"]
    return found


def run(source: str, names: dict[str, Any], label: str) -> object:
    """Runs a cell as a kernel does: what its last expression gives is shown."""
    tree = ast.parse(source, label)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, label, "exec"), names)
    return eval(compile(ast.Expression(last.value), label, "eval"), names) if isinstance(last, ast.Expr) else None


def test_there_are_four() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "a-drives-life",
        "which-drive-for-this-trace",
        "your-fleet",
        "your-own-garbage-collector",
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notebook.parent)
    names: dict[str, Any] = {"__name__": "__main__"}
    began = time.monotonic()
    shown, printed = [], io.StringIO()
    with contextlib.redirect_stdout(printed):
        for number, cell in enumerate(cells(notebook)):
            if cell["cell_type"] == "code":
                shown.append(run("".join(cell["source"]), names, f"{notebook.name}, cell {number}"))
    assert time.monotonic() - began < SECONDS_MAX
    figures = [value for value in shown if type(value).__name__ == "Figure"]
    assert figures, "a notebook shows pictures"
    assert all(axes.get_lines() for figure in figures for axes in figure.axes)  # type: ignore[attr-defined]
    assert any(hasattr(value, "_repr_html_") for value in shown)
    assert len(printed.getvalue().splitlines()) > 2


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    for cell in cells(notebook):
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
    assert cells(notebook)[0]["source"][0].startswith("# ")
