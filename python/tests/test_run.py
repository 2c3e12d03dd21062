"""Runs from Python are those of the command: the same numbers, the same folder."""

import csv
import pickle
import tomllib
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, SCENARIOS, Command, summary_of, without_run

import wane

TINY = {"drive": {"preset": "tiny"}, "until": {"drive-writes": 2}}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_summary_is_what_the_command_prints(name: str, tmp_path: Path, wane_command: Command) -> None:
    (tmp_path / "s.toml").write_text(SCENARIOS[name])
    told = wane_command("run", "s.toml", "--json", "--quiet")
    assert told.returncode == 0, told.stderr
    command = without_run(summary_of(told.stdout))
    result = wane.run(tmp_path / "s.toml")
    found = without_run(result.summary)
    assert list(found) == list(command)
    for key, value in command.items():
        assert found[key] == value, key
    if name in ("timed", "probed"):
        assert found["latency"]["read"]["mean_ns"] > 0
        assert result.windows.rows > 0


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_dict_is_the_scenario_that_its_toml_is(name: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIOS[name])
    of_dict, of_file = wane.run(tomllib.loads(SCENARIOS[name])), wane.run(str(tmp_path / "s.toml"))
    assert without_run(of_dict.summary) == without_run(of_file.summary)
    assert of_dict.scenario_toml == of_file.scenario_toml


@pytest.mark.parametrize("name", ["untimed", "probed"])
def test_a_folder_is_the_one_that_the_command_writes(name: str, tmp_path: Path, wane_command: Command) -> None:
    (tmp_path / "s.toml").write_text(SCENARIOS[name])
    assert wane_command("run", "s.toml", "--quiet", "--out", "command").returncode == 0
    result = wane.run(tmp_path / "s.toml", out=tmp_path / "python")
    files = sorted(path.name for path in (tmp_path / "command").iterdir())
    assert sorted(path.name for path in (tmp_path / "python").iterdir()) == files
    for file in files:
        # These tell how long the run took.
        if file not in ("summary.json", "report.html", "manifest.json"):
            assert (tmp_path / "python" / file).read_bytes() == (tmp_path / "command" / file).read_bytes(), file
    told = wane_command("report", "python")
    assert told.returncode == 0, told.stderr
    (read,) = wane.read(tmp_path / "python")
    assert read.summary == result.summary
    assert np.array_equal(read.blocks["erase_count"], result.blocks["erase_count"])


def test_tables_are_the_columns_of_the_files(tmp_path: Path) -> None:
    result = wane.run(tomllib.loads(SCENARIOS["probed"]), out=tmp_path / "out")
    for file, table in [("timeline.csv", result.timeline), ("windows.csv", result.windows)]:
        with (tmp_path / "out" / file).open(newline="") as text:
            rows = list(csv.DictReader(text))
        assert list(table) == list(rows[0])
        assert table.rows == len(rows) > 1
        for name, column in table.items():
            assert column.shape == (len(rows),), name
            written = [row[name] for row in rows]
            if column.dtype.kind == "U":
                assert list(column) == written, name
            else:
                numbers = [float(value) if value else np.nan for value in written]
                assert np.array_equal(column.astype(np.float64), numbers, equal_nan=True), name


def test_arrays_are_copies_that_cannot_be_written() -> None:
    result = wane.run(tomllib.loads(SCENARIOS["timed"]))
    arrays = [*result.timeline.values(), *result.blocks.values(), *result.windows.values()]
    assert result.raw_bit_errors is not None
    arrays += [*result.latency_distribution(0), result.raw_bit_errors]
    assert len(arrays) > 60
    for array in arrays:
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = array[:1]


def test_shapes_and_types_are_those_of_the_docstrings() -> None:
    result = wane.run(tomllib.loads(SCENARIOS["timed"]))
    blocks = result.blocks
    assert [blocks[name].dtype for name in ("block", "channel", "die", "plane", "erase_count", "valid_pages")] == [
        np.uint32
    ] * 6
    assert blocks["state"].dtype.kind == "U"
    assert blocks["erase_count"].max() == result.summary["wear"]["erase_count"]["max"]
    assert result.timeline["drive_writes"].dtype == np.float64
    assert result.timeline["pages_programmed_gc"].dtype == np.uint64
    assert result.timeline["drive_writes"][-1] == result.summary["end"]["at_drive_writes"]
    times, shares = result.latency_distribution(-1)
    assert times.shape == shares.shape
    assert times.dtype == np.uint64
    assert shares.dtype == np.float64
    assert shares[-1] == 1.0
    assert np.all(np.diff(times.astype(np.int64)) >= 0)
    assert np.all(np.diff(shares) >= 0)
    with pytest.raises(IndexError, match="the run has"):
        result.latency_distribution(10_000)
    with pytest.raises(ValueError, match=r"^operation: found 'erase', allowed are"):
        result.latency_distribution(0, "erase")  # type: ignore[arg-type]


def test_nothing_timed_has_no_windows() -> None:
    result = wane.run(TINY)
    assert (len(result.windows), result.windows.rows, result.raw_bit_errors) == (0, 0, None)


def test_values_are_set_above_the_scenario() -> None:
    base = without_run(wane.run(TINY, set={"ftl.gc": {"policy": "d-choices", "d": 4}, "seed": 7}).summary)
    assert base["run"]["seed"] == 7
    for set_ in [
        {"ftl.gc.policy": "d-choices", "ftl.gc.d": np.int64(4)},
        ["ftl.gc.policy=d-choices", "ftl.gc.d = 4"],
        [("ftl.gc={ policy = 'd-choices', d = 4 }")],
    ]:
        assert without_run(wane.run(TINY, set=set_, seed=np.int32(7)).summary) == base  # type: ignore[call-overload]
    assert without_run(wane.run(TINY, seed=7).summary) != base
    by_preset = wane.run(preset="tiny", set={"until.drive-writes": 2})
    assert without_run(by_preset.summary) == without_run(wane.run(TINY).summary)


def test_a_scaled_drive_is_the_commands(tmp_path: Path, wane_command: Command) -> None:
    (tmp_path / "s.toml").write_text('[drive]\npreset = "mlc-8g"\n[until]\ndrive-writes = 1\n')
    told = wane_command("run", "s.toml", "--json", "--quiet", "--scale", "1/2")
    found = wane.run(tmp_path / "s.toml", scale="1/2").summary
    assert without_run(found) == without_run(summary_of(told.stdout))
    assert found["scaled"]["ratio"] == pytest.approx(1 / 2)


def test_traces_of_a_file_lie_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "t.zst").symlink_to(ROOT / "assets/traces/pgbench-ext4.iolog.zst")
    text = '[drive]\npreset = "tiny"\n[workload]\ntrace = "t.zst"\n[until]\nrequests = 1000\n'
    (tmp_path / "inner" / "s.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert wane.run("inner/s.toml").summary["end"]["reason"] == "requests"
    with pytest.raises(wane.TraceError, match=r"t\.zst: cannot be read"):
        wane.run(tomllib.loads(text))
    monkeypatch.chdir(tmp_path / "inner")
    assert wane.run(tomllib.loads(text)).summary["end"]["reason"] == "requests"


def test_results_are_shown() -> None:
    result = wane.run({**TINY, "name": "<b>"})
    assert repr(result).startswith("<wane.Result of '<b>': drive-writes after 2.00 drive writes, write amplification ")
    assert "write amplification" in str(result)
    html = result._repr_html_()
    assert "&lt;b&gt;" in html
    assert '<th style="text-align:left">write amplification</th>' in html
    assert repr(result.timeline).startswith(f"<wane.Table of {result.timeline.rows} rows and ")
    assert result.report().startswith("<!")


def test_str_is_what_the_command_prints(tmp_path: Path, wane_command: Command) -> None:
    (tmp_path / "s.toml").write_text(SCENARIOS["timed"])
    told = wane_command("run", "s.toml", "--quiet").stdout.splitlines()
    found = str(wane.run(tmp_path / "s.toml")).splitlines()
    assert [line for line in found if not line.startswith("speed ")] == [
        line for line in told if not line.startswith("speed ")
    ]


def test_what_goes_from_a_folder_is_told(tmp_path: Path, wane_command: Command) -> None:
    (tmp_path / "s.toml").write_text('[drive]\npreset = "tiny"\n[until]\ndrive-writes = 1\n')
    assert wane_command("run", "s.toml", "--seeds", "2", "--quiet", "--out", "out").returncode == 0
    with pytest.raises(
        wane.ResultsError, match=r"out' holds 2 runs of several seeds of one scenario, which would be lost"
    ):
        wane.run(TINY, out=tmp_path / "out")
    with pytest.warns(UserWarning, match=r"removed results of an earlier command from .*out: .*seed-1"):
        wane.run(TINY, out=tmp_path / "out", force=True)


def test_tables_become_data_frames() -> None:
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    timeline = wane.run(TINY).timeline
    undefined = int(np.isnan(timeline["write_amplification_total"]).sum())
    assert undefined > 0
    frame = timeline.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == list(timeline)
    assert frame["write_amplification_total"].null_count() == undefined
    frame = timeline.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(timeline)
    assert frame["write_amplification_total"].isna().sum() == undefined
    assert frame["blocks_erased_gc"].dtype == np.uint64


TABLES = ["timeline", "blocks", "windows", "empty", "drive"]


def table(name: str) -> wane.Table:
    """A table of a run, or of a drive."""
    if name == "drive":
        drive = wane.Drive(preset="tiny")
        drive.write(range(1000))
        return drive.blocks
    result = wane.run(TINY if name == "empty" else tomllib.loads(SCENARIOS["probed"]))
    found = getattr(result, "windows" if name == "empty" else name)
    assert isinstance(found, wane.Table)
    return found


@pytest.mark.parametrize("name", TABLES)
def test_arrow_streams_hold_the_arrays(name: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    ours = table(name)
    for _ in range(2):
        theirs = pyarrow.table(ours)
        assert theirs.column_names == list(ours)
        assert theirs.num_rows == ours.rows
        for column, array in ours.items():
            found = theirs[column]
            if array.dtype.kind == "U":
                assert found.to_pylist() == array.tolist(), column
            else:
                assert str(found.type) == {"float64": "double"}.get(str(array.dtype), str(array.dtype))
                assert found.null_count == int(np.isnan(array).sum()), column
                assert np.array_equal(found.to_numpy().astype(array.dtype), array, equal_nan=array.dtype.kind == "f"), (
                    column
                )
        theirs.validate(full=True)


def test_libraries_of_data_frames_take_tables_as_they_are() -> None:
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    blocks = table("blocks")
    erases = int(blocks["erase_count"].sum())
    assert polars.DataFrame(blocks)["erase_count"].sum() == erases
    assert polars.DataFrame(blocks)["state"].to_list() == blocks["state"].tolist()
    assert duckdb.sql("select sum(erase_count) from blocks").fetchall() == [(erases,)]
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(blocks)["erase_count"].sum() == erases


def test_a_capsule_that_nobody_takes_is_freed_and_outlives_its_table() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for _ in range(100):
        table("drive").__arrow_c_stream__()

    class Holder:
        def __init__(self) -> None:
            self.capsule = table("drive").__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return self.capsule

    assert pyarrow.table(Holder()).num_rows == wane.Drive(preset="tiny").blocks.rows


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_result_is_the_same_after_it_was_pickled(name: str) -> None:
    result = wane.run(tomllib.loads(SCENARIOS[name]))
    assert result.timeline.rows > 0
    again = pickle.loads(pickle.dumps(result))
    assert again.summary == result.summary
    assert again.scenario_toml == result.scenario_toml
    assert again.report() == result.report()
    for table in ("timeline", "blocks", "windows"):
        one, other = getattr(result, table), getattr(again, table)
        assert list(one) == list(other)
        for column in one:
            assert np.array_equal(one[column], other[column], equal_nan=one[column].dtype.kind == "f"), (table, column)


def test_an_array_has_the_results_of_its_drives(tmp_path: Path) -> None:
    mirror = {"drive": {"preset": "tiny"}, "array": {"layout": "mirror"}, "until": {"drive-writes": 1}}
    result = wane.run(mirror, out=tmp_path / "mirror")
    told = result.summary["array"]
    assert [drive["run"] for drive in told["drives"]] == ["drive-0", "drive-1"]
    assert [drive.summary["host"]["bytes_written"] for drive in result.drives] == 2 * [
        result.summary["host"]["bytes_written"]
    ]
    assert result.blocks.rows == 0 and all(drive.blocks.rows > 0 for drive in result.drives)
    (read,) = wane.read(tmp_path / "mirror")
    assert read.summary == result.summary and len(read.drives) == 2
    again = pickle.loads(pickle.dumps(result))
    assert [drive.summary for drive in again.drives] == [drive.summary for drive in result.drives]
    assert wane.run(TINY).drives == []
