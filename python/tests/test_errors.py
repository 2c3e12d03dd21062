"""Every kind of error has its class, and the command's message."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import wane
from wane import _wane
from wane._extras import need

TINY: dict[str, Any] = {"drive": {"preset": "tiny"}, "until": {"drive-writes": 1}}

SCENARIOS = [
    ('[drive]\npreset = "tinny"\n', wane.ScenarioError, "drive.preset", 2),
    ('[ftl]\ngc = { policy = "d-choices", d = 0 }\n[until]\ndrive-writes = 1\n', wane.ScenarioError, "ftl.gc.d", 2),
    ("[drive\n", wane.ScenarioError, None, 1),
    ('[drive]\nlogical-capacity = "900 TiB"\n[until]\ndrive-writes = 1\n', wane.WaneError, ..., ...),
    ('[drive]\npreset = "tiny"\n[workload]\ntrace = "none.gz"\n[until]\ndrive-writes = 1\n', wane.TraceError, ..., ...),
]


@pytest.mark.parametrize(("text", "kind", "key", "line"), SCENARIOS)
def test_a_sentence_is_the_commands(
    text: str, kind: type[wane.WaneError], key: Any, line: Any, *, tmp_path: Path, wane_command: Command
) -> None:
    (tmp_path / "s.toml").write_text(text)
    told = wane_command("run", str(tmp_path / "s.toml"), "--quiet")
    assert told.returncode == 2
    with pytest.raises(kind) as raised:
        wane.run(tmp_path / "s.toml")
    assert f"wane: {raised.value}\n" == told.stderr
    assert raised.value.sentence == str(raised.value)
    if key is not ...:
        assert isinstance(raised.value, wane.ScenarioError)
        assert (raised.value.key, raised.value.line) == (key, line)
        assert raised.value.source is not None
        assert raised.value.source.endswith("s.toml")
        again = pickle.loads(pickle.dumps(raised.value))
        assert (str(again), again.key, again.line) == (str(raised.value), key, line)


def test_a_file_that_cannot_be_read_has_the_commands_sentence(tmp_path: Path, wane_command: Command) -> None:
    for name in ["none.toml", "."]:
        with pytest.raises(wane.ScenarioError) as raised:
            wane.run(str(tmp_path / name))
        assert f"wane: {raised.value}\n" == wane_command("run", str(tmp_path / name)).stderr
    with pytest.raises(wane.ScenarioError, match=r"^\./-: cannot be read"):
        wane.run("-")


def test_a_presets_name_in_the_place_of_a_path_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for ask in (wane.Drive, wane.run):
        with pytest.raises(
            wane.ScenarioError, match=r'^tiny: cannot be read: .*; the preset is given as preset="tiny"$'
        ):
            ask("tiny")
        with pytest.raises(wane.ScenarioError, match=r"^tinny: cannot be read: [^;]*$"):
            ask("tinny")
    # A file of that name is a file.
    (tmp_path / "tiny").write_text("[drive\n")
    with pytest.raises(wane.ScenarioError, match=r"^tiny, line 1: this is no TOML"):
        wane.run("tiny")


def test_memory_is_refused_before_it_is_taken() -> None:
    # The largest that maps hold, of 7.8 bytes a physical page.
    drive = {"preset": "ftlsim-256g", "logical-capacity": "110 TiB", "mapping-unit": "32 KiB", "page-size": "32 KiB"}
    needed = 7.8 * 110 * 2**40 / 2**15
    available = next(
        (int(line.split()[1]) * 1024 for line in _lines("/proc/meminfo") if line.startswith("MemAvailable:")), None
    )
    if available is None or available > needed:
        pytest.skip("this system has room for the largest drive, or no /proc to tell")
    with pytest.raises(
        wane.OutOfMemoryError, match=r"the run needs about .* of memory, but .* are available"
    ) as raised:
        wane.run({"drive": drive, "until": {"drive-writes": 1}})
    assert isinstance(raised.value, MemoryError)


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [
        ({"drive": {"preset": None}}, "scenario: drive.preset: found None, allowed are text, numbers,"),
        ({"drive": {"x": object()}}, "scenario: drive.x: found a value of type object, allowed are"),
        ({"drive": {"x": [1, b"y"]}}, "scenario: drive.x.1: found a value of type bytes"),
        ({"seed": 2**63}, "scenario: seed: found 9223372036854775808, a number past 64 bits"),
        ({1: 2}, "scenario: found the key 1, allowed is text"),
        ({"drive": {"presett": "tiny"}}, 'scenario: drive.presett: unknown key; did you mean "preset"?'),
        (5, "scenario: found a value of type int, allowed are a path and a dict"),
        (None, "run needs a scenario: the path of a file, a dict, or a preset"),
        ({"until": {"drive-writes": float("nan")}}, "scenario: until.drive-writes: found"),
    ],
)
def test_a_dict_that_is_no_scenario_is_refused_in_a_sentence(scenario: Any, sentence: str) -> None:
    with pytest.raises(wane.ScenarioError) as raised:
        wane.run(scenario)
    assert str(raised.value).startswith(sentence), str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_dict_that_holds_itself_is_refused() -> None:
    drive: dict[str, Any] = {}
    drive["drive"] = drive
    with pytest.raises(wane.ScenarioError, match="past a depth of 32"):
        wane.run(drive)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"set": ["ftl.gc.d"]}, "set: found 'ftl.gc.d', expected KEY=VALUE"),
        ({"set": 5}, "set: found a value of type int, allowed are a dict and a list"),
        ({"set": {"ftl.gc.policy": "greedyy"}}, "set ftl.gc.policy=greedyy: ftl.gc: unknown policy"),
        ({"set": {"": 1}}, "set =1: expected KEY=VALUE"),
        ({"seed": -1}, "set seed=-1: seed: found -1, expected"),
        ({"seed": "x"}, 'set seed=x: seed: found "x", expected'),
        ({"scale": "2/1"}, 'scale "2/1": auto, or a ratio above 0 and at most 1'),
        ({"preset": "tinny"}, 'preset: found "tinny", allowed are'),
    ],
)
def test_an_argument_that_is_wrong_is_named(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(wane.ScenarioError) as raised:
        wane.run(TINY, **arguments)
    assert str(raised.value).removeprefix("--").startswith(sentence), str(raised.value)


def test_folders_have_the_commands_sentences(tmp_path: Path, wane_command: Command) -> None:
    (tmp_path / "s.toml").write_text('[drive]\npreset = "tiny"\n[until]\ndrive-writes = 1\n')
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("")
    for name in ["others", "file/below"]:
        told = wane_command("run", "s.toml", "--quiet", "--out", str(tmp_path / name))
        with pytest.raises(wane.ResultsError) as raised:
            wane.run(TINY, out=tmp_path / name)
        assert f"wane: {raised.value}\n" == told.stderr
    with pytest.raises(wane.ResultsError) as raised:
        wane.read(tmp_path / "empty")
    assert f"wane: {raised.value}\n" == wane_command("report", str(tmp_path / "empty")).stderr


def test_a_panic_is_an_error_that_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(wane.InternalError, match=r"^internal error at .*: provoked; please report it") as raised:
        _wane.provoke_panic()
    assert isinstance(raised.value, wane.WaneError)
    assert capfd.readouterr().err == ""
    assert wane.run(TINY).summary["end"]["reason"] == "drive-writes"


def test_a_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(wane.MissingExtraError) as raised:
        wane.run(TINY).timeline.to_polars()
    told = "Table.to_polars needs polars, which is not installed: pip install 'wane[frames]'"
    assert str(raised.value) == told
    assert isinstance(raised.value, ImportError)
    with pytest.raises(wane.MissingExtraError, match=r"^x needs no\.such, which is not installed"):
        need("no.such", "plot", "x")


def test_one_base_catches_all() -> None:
    kinds = [getattr(wane, name) for name in wane.__all__ if name.endswith("Error")]
    assert len(kinds) == 13
    for kind in kinds:
        assert issubclass(kind, wane.WaneError)
        assert kind.__doc__
        assert kind.__module__.startswith("wane")
