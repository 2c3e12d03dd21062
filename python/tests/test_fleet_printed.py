"""Nothing that a file says of a drive acts on the terminal, turns a line around, or is computed by a spreadsheet."""

import csv
import io
import json
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import fleets
import pytest

from wane import fleet
from wane.fleet.__main__ import main
from wane.fleet._plain import excerpt, shown
from wane.fleet._tables import cell

#: Texts that a terminal acts on, or that change how what follows is read.
HOSTILE = [
    "S\x1b]0;owned\x07\x1b[31m",
    "S\x9b31m",
    "S\u202etxt",
    "S\u2066x\u2069",
    "S\u200f",
    "S\u061c",
    "S\nnow                  GOOD",
    "S\rnow",
    "S\x08\x08\x7f",
    "S\u2028x",
]

#: What the rule found, of no drive.
RULED = dict.fromkeys(("failed", "failed_flagged", "healthy", "healthy_flagged"), 0)

FORMULAS = ["=cmd|x!A1", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1+1", "\uff1dcmd"]


def is_safe(text: str) -> bool:
    """Whether a printed text has line feeds and else only letters that are seen."""
    return all(letter == "\n" or letter.isprintable() for letter in text) and not any(
        unicodedata.bidirectional(letter) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        for letter in text
    )


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A fleet of drives with hostile names, models and further columns, of which each lost sectors."""
    names = HOSTILE + FORMULAS
    days = [
        fleets.row(name, f"2013-04-{day}", model=f"M {name}", smart_5_raw=20 * day, pod_id=name)
        for name in names
        for day in (10, 11)
    ]
    dead = [fleets.row("dead", "2013-04-10", model=f"M {HOSTILE[0]}", failure=1)]
    fleet.ingest(tmp_path / "f", [fleets.write(tmp_path / "a.csv", [*days, *dead])])
    return tmp_path / "f"


@pytest.mark.parametrize(
    "arguments",
    [
        ["replace"],
        ["replace", "--csv"],
        ["replace", "--json"],
        ["replace", "--at-most", "9"],
        ["replace", "--backtest", "--horizon", "1"],
        ["query", "SELECT serial, model, pod_id FROM days"],
        ["query", "SELECT serial, model, pod_id FROM days", "--json"],
        ["query", 'SELECT list(serial) AS "=a", {"x": model} AS "b\u202e" FROM days GROUP BY model'],
        ["query", "SELECT CAST(serial AS INTEGER) FROM days"],
        ["analyze", "survival"],
        ["analyze", "survival", "--json"],
        ["analyze", "critical-attributes"],
        ["analyze", "survival", "--model", "\x1b[31m"],
        ["analyze", "no\x1b[31m"],
        ["predict"],
        ["report", "--out", "\x1b[31m/x.html"],
    ],
    ids=lambda arguments: "-".join(arguments[:2]).replace("\x1b", "")[:30],
)
def test_no_printed_text_acts_on_the_terminal(
    hostile: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code = main([arguments[0], str(hostile), *arguments[1:]])
    printed = capsys.readouterr()
    assert code in (0, 2)
    assert printed.out + printed.err
    assert is_safe(printed.out + printed.err)


def test_a_serial_number_makes_no_line_of_its_own(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replace", str(hostile)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * len(HOSTILE + FORMULAS) + 1
    assert not any(line.startswith("now") for line in lines)
    assert any("S\\u{1b}]0;owned\\u{7}\\u{1b}[31m" in line for line in lines)


@pytest.mark.parametrize("arguments", [["replace", "--csv"], ["query", "SELECT serial, model, pod_id FROM days"]])
def test_no_cell_is_a_formula(hostile: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main([arguments[0], str(hostile), *arguments[1:]]) == 0
    cells = [each for line in csv.reader(io.StringIO(capsys.readouterr().out)) for each in line]
    assert "'=cmd|x!A1" in cells
    assert not any(each.lstrip().startswith(("=", "+", "-", "@", "\uff1d")) for each in cells)


def test_a_number_and_a_dash_are_no_formula() -> None:
    for value in ("-1", "+5.0", "-1e5", "-", "--", "plain", "", 5, -5, None, -1.5):
        assert cell(value) == value
    for text in FORMULAS:
        assert cell(text) == "'" + shown(text) or text.startswith(("\t", "\r"))


def test_names_of_columns_are_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = [*fleets.HEADER, "=cmd\x1b[1m"]
    file = fleets.write(tmp_path / "a.csv", [fleets.row("A", "2013-04-10", **{"=cmd\x1b[1m": "x"})], header)
    fleet.ingest(tmp_path / "f", [file])
    assert main(["query", str(tmp_path / "f"), "SELECT * FROM days"]) == 0
    printed = capsys.readouterr().out
    assert is_safe(printed)
    assert "'=cmd" in printed


def test_names_of_files_and_members_and_notes_are_safe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [fleets.row("A\x1b[31m\nB", f"2013-04-{day}", smart_9_raw=30 - day) for day in (10, 11)]
    text = fleets.write(tmp_path / "a.csv", rows).read_text()
    (tmp_path / "a.csv").unlink()
    with zipfile.ZipFile(tmp_path / "q\u202e.zip", "w") as packed:
        packed.writestr("good\x1b[31m.csv", text)
        packed.writestr("bad\x1b[31m\n.csv", "date,serial_number\n")
    odd = tmp_path / "odd\x1b[31m.json"
    odd.write_text("{}")
    for arguments in (["q\u202e.zip"], ["odd\x1b[31m.json"], ["none\x1b[31m"], ["."]):
        for more in ([], ["--skip-bad"], ["--skip-bad", "--json"]):
            code = main(["ingest", str(tmp_path / "f"), *(str(tmp_path / name) for name in arguments), *more])
            printed = capsys.readouterr()
            assert code in (0, 2)
            assert is_safe(printed.out + printed.err), arguments
            assert printed.err.count("\n") <= 1


def test_a_note_makes_no_line_of_its_own() -> None:
    told = fleet.Prediction(
        1, 1, 0, fleet.Protocol(), [], dict.fromkeys(("last_day", "any_day"), RULED), notes=["M\nnow GOOD"]
    )
    assert str(told).endswith("\nnote: M\\nnow GOOD")


def test_the_page_shows_escapes(hostile: Path) -> None:
    fleet_of = fleet.open(hostile)
    page = fleet.report(fleet_of)
    text = page[page.index("<header>") :]
    assert "\\u{202e}" in text
    assert not any(mark in text for mark in ("\u202e", "\x1b", "\u2066", "\u200f"))


@pytest.mark.parametrize(
    "letter", [chr(number) for number in (*range(32), 127, *range(128, 160), 0x202E, 0xD800, 0xE000)]
)
def test_every_control_character_is_shown_as_an_escape(letter: str) -> None:
    assert shown(f"a{letter}b").isprintable()
    assert shown(f"a{letter}b").startswith("a\\")
    assert excerpt(f"a{letter}b").isprintable()


@pytest.mark.parametrize("text", ["plain", "ä 測試 \U0001f600", "=x", "\\"])
def test_other_letters_are_shown_as_they_are(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    ("expression", "text", "value"),
    [
        ("[1, 2]", '"[1, 2]"', [1, 2]),
        ("1.5", "1.5", 1.5),
        ("sum(smart_9_raw)", "6270", 6270),
        ("'a'::BLOB", '"a"', "a"),
        ("'\\xff'::BLOB", '"\ufffd"', "\ufffd"),
        ("INTERVAL 1 DAY", '"[0, 1, 0]"', [0, 1, 0]),
        ("DATE '2013-04-10'", "2013-04-10", "2013-04-10"),
        ("'x'::ENUM('x', 'y')", '"x"', "x"),
        ("NULL", "", None),
    ],
)
def test_every_kind_of_value_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expression: str, text: str, value: Any
) -> None:
    fleet.ingest(tmp_path / "f", [fleets.day(tmp_path, 10)])
    sql = f"SELECT {expression} AS v FROM days GROUP BY ALL LIMIT 1"
    sql = sql if "sum" not in expression else f"SELECT {expression} + 70 AS v FROM days"
    assert main(["query", str(tmp_path / "f"), sql]) == 0
    assert capsys.readouterr().out == f'"v"\n{text}\n'
    assert main(["query", str(tmp_path / "f"), sql, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"v": value}]
