"""Sweeps from Python give the same results as the command, with every scheduler; finished points are kept."""

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ENDLESS, Command, without_run
from own_policies import Deadly, Ending, Generous, Greedy, Raising, Unpicklable

import wane

TINY = {"drive": {"preset": "tiny"}, "ftl": {"gc": "d-choices"}, "until": {"drive-writes": 3}}
GRID = {"ftl.gc.d": [1, 4], "drive.over-provisioning": ["7 %", "14 %"]}
SWEEP = ("--sweep", "ftl.gc.d=1,4", "--sweep", "drive.over-provisioning=7 %,14 %")
TOML = '[drive]\npreset = "tiny"\n[ftl]\ngc = "d-choices"\n[until]\ndrive-writes = 3\n'


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A real cluster of two processes."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        # What a user's workers find where they start.
        client.register_plugin(distributed.diagnostics.plugin.UploadFile(Path(__file__).with_name("own_policies.py")))
        yield client


def numbers(results: Any) -> str:
    """The summaries as bytes, without what may differ between two runs of a scenario."""
    return json.dumps([without_run(result.summary) for result in results])


def files(folder: Path) -> dict[str, bytes]:
    """The files of a sweep, except those with the time that runs took."""
    timed = ("summary.json", "report.html", "manifest.json")
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.name not in timed}


def runs_at(folder: Path) -> dict[str, int]:
    """When the results of each point were written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in sorted(folder.glob("*/summary.json"))}


def scheduler_of(kind: str, request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("client") if kind == "client" else kind


@pytest.mark.parametrize("kind", ["threads", "processes", "client"])
def test_a_sweep_is_the_one_of_the_command_whoever_runs_it(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, wane_command: Command
) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    told = wane_command("run", "s.toml", *SWEEP, "--quiet", "--out", "command", "--csv")
    assert told.returncode == 0, told.stderr
    for scenario in (TINY, tmp_path / "s.toml"):
        out = tmp_path / f"python-{type(scenario).__name__}"
        swept = wane.sweep(GRID, scenario, scheduler=scheduler_of(kind, request), out=out)
        assert numbers(swept) == numbers(wane.read(tmp_path / "command"))
        assert files(out) == files(tmp_path / "command")
    again = wane_command("run", "s.toml", *SWEEP, "--out", "python-dict", "--csv")
    assert "4 of 4 runs were there already" in again.stderr, "the command goes on with the folder"
    assert wane_command("report", "python-dict").returncode == 0
    assert again.stdout == told.stdout


def test_a_run_with_seeds_is_a_sweep_of_them() -> None:
    found = wane.run(TINY, seeds=3)
    assert isinstance(found, wane.Sweep)
    assert found.keys == ["seed"]
    for seed, result in zip((1, 2, 3), found, strict=True):
        alone = wane.run(TINY, seed=seed).summary
        assert (result.summary["wear"], result.summary["host"]) == (alone["wear"], alone["host"])
    with pytest.raises(ValueError, match="force"):
        wane.run(TINY, seeds=2, force=True)  # type: ignore[call-overload]


def test_the_table_holds_what_grid_csv_does(tmp_path: Path) -> None:
    swept = wane.sweep(GRID, TINY, out=tmp_path / "out")
    with (tmp_path / "out" / "grid.csv").open() as file:
        rows = list(csv.DictReader(file))
    table = swept.table
    assert list(table) == list(rows[0])
    assert (table.rows, len(swept), swept.keys) == (4, 4, list(GRID))
    for name, column in table.items():
        written = [row[name] for row in rows]
        if column.dtype.kind in "fu":
            wanted = [float(text) if text else np.nan for text in written]
            assert np.array_equal(column.astype(np.float64), wanted, equal_nan=True), name
        else:
            assert list(column) == written, name
    assert table["ftl.gc.d"].tolist() == [1, 1, 4, 4]
    assert table["drive.over-provisioning"].tolist() == [0.07, 0.14, 0.07, 0.14]
    assert swept[-1].summary == swept[3].summary == wane.read(tmp_path / "out")[3].summary
    assert "<table>" in swept._repr_html_()
    assert str(swept).startswith("d  over-provisioning ")
    assert repr(swept) == "<wane.Sweep of 4 runs over ftl.gc.d, drive.over-provisioning>"
    assert swept.report().startswith("<!doctype html>")
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(swept).num_rows == 4
    assert swept.to_polars()["ftl.gc.d"].to_list() == swept.to_pandas()["ftl.gc.d"].tolist() == [1, 1, 4, 4]
    with pytest.raises(IndexError, match="the sweep has 4 runs"):
        swept[4]


def test_a_grid_may_be_written_in_many_ways() -> None:
    def names(grid: Any, **options: Any) -> list[str]:
        return [
            run.summary["scenario"]["name"]
            for run in wane.sweep(grid, TINY, set={"until.drive-writes": 0.1}, **options)
        ]

    assert names(["ftl.gc.d=1,2"]) == names({"ftl.gc.d": "1..2:1"}) == names({"ftl.gc.d": np.arange(1, 3)})
    joined = {("ftl.gc.d", "drive.over-provisioning"): [(1, "7 %"), (2, "14 %")]}
    assert names(joined) == ["ftl.gc.d=1 drive.over-provisioning=7 %", "ftl.gc.d=2 drive.over-provisioning=14 %"]
    tables = {"ftl.gc": ["greedy", {"policy": "d-choices", "d": 4}]}
    assert names(tables) == ["ftl.gc=greedy", 'ftl.gc={ policy = "d-choices", d = 4 }']
    assert names({"ftl.gc.d": [2]}, seeds=2, seed=7) == ["ftl.gc.d=2 seed=7", "ftl.gc.d=2 seed=8"]
    with pytest.warns(UserWarning, match=r"grid: given more than once and run once: ftl\.gc\.d=1"):
        assert names({"ftl.gc.d": [1, 2, 1]}) == ["ftl.gc.d=1", "ftl.gc.d=2"]


@pytest.mark.parametrize(
    ("grid", "options", "kind", "sentence"),
    [
        ({"ftl.gc.x": [1]}, {}, wane.ScenarioError, r"^grid ftl\.gc\.x=1: ftl\.gc\.x: .*is unknown, allowed are"),
        ({"ftl.nonsense": [1]}, {}, wane.ScenarioError, r"grid ftl\.nonsense=1: .*nonsense"),
        ({"ftl.gc.d": []}, {}, wane.ScenarioError, r"^grid ftl\.gc\.d: found an axis without values"),
        ({}, {}, wane.ScenarioError, r"^grid: found no key, allowed are"),
        ([], {}, wane.ScenarioError, r"^grid: found no key, allowed are"),
        (["ftl.gc.d"], {}, wane.ScenarioError, r"^grid ftl\.gc\.d: found no values of ftl\.gc\.d"),
        ([5], {}, wane.ScenarioError, r"^grid: found a value of type int in a list, allowed are"),
        (5, {}, wane.ScenarioError, r"^grid: found a value of type int, allowed are a dict"),
        ("ftl.gc.d=1,2", {}, wane.ScenarioError, r"^grid: found a value of type str, allowed are a dict"),
        ({"ftl.gc.d": 4}, {}, wane.ScenarioError, r"^grid: ftl\.gc\.d: found 4, expected a list of values"),
        ({"ftl.gc.d": [None]}, {}, wane.ScenarioError, r"^grid: ftl\.gc\.d: found None, allowed are text, numbers"),
        ({"ftl.gc.d": ["many"]}, {}, wane.ScenarioError, r"^grid ftl\.gc\.d=many: ftl\.gc\.d: "),
        ({"ftl.gc.d": [1, -1]}, {}, wane.ScenarioError, r"^grid ftl\.gc\.d=-1: ftl\.gc\.d: "),
        ({"ftl.gc.d": {1, 2}}, {}, wane.ScenarioError, r"^grid: ftl\.gc\.d: found \{1, 2\}, expected a list of values"),
        ({"ftl.gc.d": itertools.count()}, {}, wane.ScenarioError, r"^grid: the grid has 10001 cells"),
        ({"workload.trace": ["-"]}, {}, wane.ScenarioError, r"^workload\.trace: \"-\" is stdin"),
        ({5: [1]}, {}, wane.ScenarioError, r"^grid: found the key 5, allowed are a text and a tuple"),
        ({("ftl.gc.d", "seed"): [(1,)]}, {}, wane.ScenarioError, r"found \(1,\), expected 2 values"),
        ({"ftl.gc.d": range(10_001)}, {}, wane.ScenarioError, r"^grid: the grid has 10001 cells; 10000 are allowed"),
        ({"seed": [1]}, {"seeds": 2}, wane.ScenarioError, r"^seeds is given beside grid seed="),
        (GRID, {"seeds": 0}, wane.ScenarioError, r"^seeds: found 0, allowed is a whole number from 1 on"),
        (GRID, {"scheduler": "thread"}, ValueError, r"^scheduler: found 'thread', allowed are \"threads\""),
        (GRID, {"scheduler": 5}, ValueError, r"^scheduler: found an object of type int, allowed are"),
        (
            GRID,
            {"scheduler": "threads", "policies": {"ftl.gc": Greedy()}},
            ValueError,
            r"^scheduler: found \"threads\" with",
        ),
        (
            GRID,
            {"policies": {"ftl.gc": Unpicklable()}},
            wane.ScenarioError,
            r"ftl\.gc: .* Unpicklable that cannot be pickled",
        ),
        (GRID, {"policies": {"ftl.gc": object()}}, wane.ScenarioError, r"object without the method choose"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(
    grid: Any, options: dict[str, Any], kind: type[Exception], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=sentence) as raised:
        wane.sweep(grid, TINY, out=tmp_path / "out", **options)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_dask_is_asked_for_in_a_sentence_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        wane.MissingExtraError, match=r"needs distributed, which is not installed: pip install 'wane\[dask\]'"
    ):
        wane.sweep(GRID, TINY, scheduler="dask")


def test_a_client_is_asked_for_where_there_is_none() -> None:
    code = f"import wane; wane.sweep({GRID!r}, {TINY!r}, scheduler='dask')"
    pytest.importorskip("distributed", reason="Dask is not installed")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert 'scheduler: found "dask" and no client; make one before' in told.stderr, told.stderr


def test_the_last_client_goes_by_its_name(client: Any) -> None:
    assert numbers(wane.sweep(GRID, TINY, scheduler="dask")) == numbers(wane.sweep(GRID, TINY))


def test_a_point_that_is_done_is_not_run_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = wane.sweep(GRID, TINY, out=out)
    written = runs_at(out)
    (out / "2" / "summary.json").unlink()
    again = wane.sweep(GRID, TINY, out=out, scheduler="processes")
    found = runs_at(out)
    assert {point for point in found if found[point] != written[point]} == {"2"}
    assert numbers(again) == numbers(first)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    wane.sweep(GRID, TINY, out=tmp_path / "grid")
    wane.run(TINY, out=tmp_path / "run")
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.csv")}
    for folder, told in [("grid", "other scenarios or traces"), ("run", "a single run")]:
        with pytest.raises(
            wane.ResultsError, match=f"holds results of {told}.*; what it holds stays: give an empty folder"
        ):
            wane.sweep({"ftl.gc.d": [1, 8]}, TINY, out=tmp_path / folder)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.csv")} == kept


#: Of four points the second and the third cannot be run to their end.
PARTLY = {"ftl.gc.d": [1, 2], "workload.trace": ["good.csv", "bad.csv"]}


@pytest.mark.parametrize("kind", ["threads", "processes", "client"])
def test_a_point_that_fails_is_named_and_keeps_no_other_from_running(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    lines = [f"{number},Host,0,Write,{4096 * (number % 500)},4096,1\n" for number in range(2000)]
    (tmp_path / "good.csv").write_text("".join(lines))
    (tmp_path / "bad.csv").write_text("".join(lines) + "x,y\n")
    scenario = tmp_path / "s.toml"
    scenario.write_text('[drive]\npreset = "tiny"\n[ftl]\ngc = "d-choices"\n[until]\ndrive-writes = 100\n')
    out = tmp_path / "out"
    with pytest.raises(wane.TraceError, match=r"^ftl\.gc\.d=1 workload\.trace=bad\.csv: .*bad\.csv") as raised:
        wane.sweep(PARTLY, scenario, scheduler=scheduler_of(kind, request), out=out)
    assert "\n" not in str(raised.value)
    assert sorted(runs_at(out)) == ["0", "2"]
    assert len(wane.read(out)) == 2
    (tmp_path / "bad.csv").write_text("".join(lines))
    assert (out / "grid.csv").exists()


def test_what_a_policy_raises_comes_back_with_its_point() -> None:
    grid = {"drive.endurance": [100, "none"]}
    for scheduler in ("processes", None):
        with pytest.raises(KeyError, match="no rating") as raised:
            wane.sweep(grid, TINY, policies={"ftl.gc": Raising()}, scheduler=scheduler)
        notes = "\n".join(raised.value.__notes__)
        assert "own_policies.py" in notes
        assert "at the point drive.endurance=none" in notes


@pytest.mark.parametrize("kind", ["processes", "client"])
def test_policies_in_python_sweep_in_processes(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    grid, scenario = (
        {"drive.over-provisioning": ["7 %", "14 %"]},
        {"drive": {"preset": "tiny"}, "until": {"drive-writes": 2}},
    )
    own = wane.sweep(
        grid, scenario, policies={"ftl.gc": Greedy()}, scheduler=scheduler_of(kind, request), out=tmp_path / "own"
    )
    built_in = wane.sweep(grid, scenario, set={"ftl.gc": "greedy"})
    assert [run.summary["wear"] for run in own] == [run.summary["wear"] for run in built_in]
    assert own[0].summary["scenario"]["overrides"]["gc"]["policy"] == "Greedy"
    again = wane.sweep(grid, scenario, policies={"ftl.gc": Greedy()}, out=tmp_path / "own")
    assert [run.summary["run"] for run in again] == [run.summary["run"] for run in own], "they were read"
    with pytest.raises(wane.ResultsError, match="other scenarios"):
        wane.sweep(grid, scenario, out=tmp_path / "own")


def _with(policy: Any, **told: Any) -> Any:
    """A policy with other attributes."""
    vars(policy).update(told)
    return policy


@pytest.mark.parametrize("kind", ["processes", "client"])
def test_policies_of_ones_own_are_values_of_a_grid(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    scenario = {"drive": {"preset": "tiny"}, "until": {"drive-writes": 2}}
    collectors = [Generous(0), Generous(20), Greedy(), "greedy"]
    grid = {"ftl.gc": collectors, "drive.over-provisioning": ["7 %", "28 %"]}
    swept = wane.sweep(grid, scenario, scheduler=scheduler_of(kind, request), out=tmp_path / "out")
    assert swept.table["ftl.gc"].tolist() == [
        *['{ policy = "Generous", more = 0 }'] * 2,
        *['{ policy = "Generous", more = 20 }'] * 2,
        *['{ policy = "Greedy" }'] * 2,
        *["greedy"] * 2,
    ]
    wear = [run.summary["wear"] for run in swept]
    assert wear[:2] == wear[4:6] == wear[6:], "the same victims"
    paid = swept.table["write_amplification.total"]
    assert paid[3] > 1.02 * paid[1], "who moves more pays more"
    assert swept[2].summary["scenario"]["overrides"]["gc"] == {"policy": "Generous", "more": 20}
    alone = wane.run(scenario, policies={"ftl.gc": Generous(20)}, set={"drive.over-provisioning": "28 %"})
    assert alone.summary["wear"] == wear[3]
    page = swept.report()
    assert "Generous, more = 20" in page
    again = wane.sweep({**grid, "ftl.gc": [*collectors, Generous(40)]}, scenario, scheduler="processes")
    assert len(again) == 10
    assert [run.summary["wear"] for run in again[:8]] == wear
    there = wane.sweep(grid, scenario, out=tmp_path / "out")
    assert [run.summary["run"] for run in there] == [run.summary["run"] for run in swept], "they were read"


def test_a_process_that_dies_beside_one_that_is_done_ends_no_sweep(tmp_path: Path) -> None:
    scenario = {"drive": {"preset": "tiny"}, "until": {"drive-writes": 2}}
    with pytest.raises(wane.WaneError, match=r"its process died 3 times, the last with exit code 3"):
        wane.sweep({"ftl.gc": ["greedy", Ending("exits")]}, scenario, out=tmp_path / "out")
    assert len(wane.read(tmp_path / "out")) == 1
    with pytest.raises(SystemExit) as raised:
        wane.sweep({"ftl.gc": ["greedy", Ending("raises")]}, scenario)
    assert raised.value.code == 4
    assert 'at the point ftl.gc={ policy = "Ending", how = "raises" }' in raised.value.__notes__


def test_parameters_of_policies_are_told_apart_as_they_are_written() -> None:
    class Told(Generous):
        def __init__(self, told: dict[str, Any], more: int) -> None:
            super().__init__(more)
            self.more = more
            self.parameters = {"more": more, **told}

    scenario = {"drive": {"preset": "tiny"}, "until": {"drive-writes": 1}}
    swept = wane.sweep({"ftl.gc": [Told({"b": np.int64(4)}, 4), Told({"a": 1}, 4), Told({"a": 1.0}, 4)]}, scenario)
    assert swept.table["ftl.gc"].tolist()[0] == '{ policy = "Told", b = 4, more = 4 }'
    assert len({run.summary["scenario"]["hash"] for run in swept}) == 3


def test_policies_of_ones_own_change_together_with_keys() -> None:
    scenario = {"drive": {"preset": "tiny"}, "until": {"drive-writes": 1}}
    grid: Any = {("ftl.gc", "drive.endurance"): [(Generous(0), 100), ("fifo", 200)]}
    swept = wane.sweep(grid, scenario)
    assert [f"endurance = {rated}\n" in run.scenario_toml for run, rated in zip(swept, [100, 200], strict=True)] == [
        True
    ] * 2
    assert swept[0].summary["scenario"]["overrides"]["gc"]["policy"] == "Generous"
    assert not swept[1].summary["scenario"].get("overrides")


@pytest.mark.parametrize(
    ("grid", "policies", "sentence"),
    [
        (
            {"ftl.gc": [Generous(1), Generous(1)]},
            None,
            r"grid: ftl\.gc: found two policies .*'more': 1.*; swept policies must differ",
        ),
        ({"ftl.gc": [Generous(1), "fifo"]}, {"ftl.gc": Greedy()}, r"policies: ftl\.gc: found it in the grid as well"),
        ({"ftl.gc": [_with(Generous(1), parameters={"policy": "greedy"})]}, None, r"found a parameter policy"),
        ({"ftl.gc": [_with(Generous(1), name=7)]}, None, r"found a policy whose name is 7, allowed is text"),
        (
            {"ftl.gc": [_with(Generous(more), parameters={"a": float("nan")}) for more in (1, 2)]},
            None,
            r"found two policies",
        ),
        ({"ftl.gc": [object()]}, None, r"ftl\.gc: .*without the method choose"),
        ({"ftl.mode": [Greedy()]}, None, r"grid: ftl\.mode: found a value of type Greedy, allowed are text"),
    ],
)
def test_policies_that_no_grid_can_have_are_refused(grid: Any, policies: Any, sentence: str) -> None:
    with pytest.raises(wane.ScenarioError, match=sentence):
        wane.sweep(grid, TINY, policies=policies)


@pytest.mark.parametrize("deaths", [1, 3])
def test_a_process_that_dies_is_replaced(deaths: int, tmp_path: Path) -> None:
    (tmp_path / "deaths").mkdir()
    grid, out = {"drive.over-provisioning": ["7 %", "14 %"]}, tmp_path / "out"
    policies = {"ftl.gc": Deadly(tmp_path / "deaths", 10 if deaths == 3 else deaths)}
    if deaths == 3:
        with pytest.raises(
            wane.WaneError, match=r"^drive\.over-provisioning=7 %: its process died 3 times, the last with exit code -9"
        ):
            wane.sweep(grid, TINY, policies=policies, out=out)
        return
    swept = wane.sweep(grid, TINY, policies=policies, out=out)
    assert len(list((tmp_path / "deaths").iterdir())) == deaths
    greedy = wane.sweep(grid, TINY, set={"ftl.gc": "greedy"})
    assert [run.summary["wear"] for run in swept] == [run.summary["wear"] for run in greedy]


def test_a_worker_that_is_lost_in_mid_run_costs_nothing(client: Any, tmp_path: Path) -> None:
    grid = {"seed": range(1, 9)}
    scenario = {"drive": {"preset": "tiny", "endurance": "none"}, "until": {"drive-writes": 60}}
    killed: list[int] = []

    def kill(step: wane.SweepProgress) -> None:
        if step.finished and not killed:
            # A worker that is at work on a point.
            for busy in [worker for worker, tasks in client.processing().items() if tasks][:1]:
                killed.append(client.run(os.getpid, workers=[busy])[busy])
                os.kill(killed[0], signal.SIGKILL)

    swept = wane.sweep(grid, scenario, scheduler=client, out=tmp_path / "out", progress=kill)
    assert killed
    assert numbers(swept) == numbers(wane.sweep(grid, scenario))
    assert len(runs_at(tmp_path / "out")) == 8


@pytest.mark.parametrize("kind", ["threads", "processes", "client"])
def test_an_interrupted_sweep_keeps_what_is_finished(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    grid = {"until.drive-writes": [0.1, 0.2, 400.0]}
    scenario = {"drive": {"preset": "tiny", "endurance": "none"}, "until": {"drive-writes": 1}}
    out, scheduler = tmp_path / "out", scheduler_of(kind, request)

    def interrupt(step: wane.SweepProgress) -> None:
        if step.finished == 2:
            signal.raise_signal(signal.SIGINT)

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wane.sweep(grid, scenario, scheduler=scheduler, out=out, progress=interrupt)
    assert time.monotonic() - started < 60
    reasons = [run.summary["end"]["reason"] for run in wane.read(out)]
    assert reasons[:2] == ["drive-writes"] * 2
    assert reasons[2:] in ([], ["interrupted"])
    written = runs_at(out)

    def stop(step: wane.SweepProgress) -> None:
        if step.done > 2 / 3:
            raise StopIteration("enough")

    if kind != "client":
        with pytest.raises(StopIteration, match="enough"):
            wane.sweep(grid, scenario, scheduler=scheduler, out=out, progress=stop)
        assert all(runs_at(out)[point] == written[point] for point in ("0", "1"))


def test_points_on_a_cluster_end_when_their_sweep_is_interrupted(client: Any, tmp_path: Path) -> None:
    def interrupt(step: wane.SweepProgress) -> None:
        if step.finished == 1:
            signal.raise_signal(signal.SIGINT)

    def at_work() -> int:
        return sum(
            client.run(lambda dask_worker: len(dask_worker.state.executing) + len(dask_worker.state.tasks)).values()
        )

    with pytest.raises(KeyboardInterrupt):
        wane.sweep(
            {"until.drive-writes": [0.1, 1e9]}, ENDLESS, scheduler=client, out=tmp_path / "out", progress=interrupt
        )
    assert sorted(runs_at(tmp_path / "out")) == ["0"]
    until = time.monotonic() + 60
    while at_work() and time.monotonic() < until:
        time.sleep(0.2)
    assert at_work() == 0, "endless points have ended"


def test_other_threads_go_on_and_progress_is_told() -> None:
    steps: list[wane.SweepProgress] = []
    beside = threading.Event()
    thread = threading.Thread(target=beside.set)

    def tell(step: wane.SweepProgress) -> None:
        steps.append(step)
        if not thread.ident:
            thread.start()

    scenario = {"drive": {"preset": "tiny", "endurance": "none"}, "until": {"drive-writes": 60}}
    wane.sweep({"seed": [1, 2, 3]}, scenario, progress=tell)
    assert beside.wait(10)
    assert steps[-1].finished == 3
    assert [step.finished for step in steps] == sorted(step.finished for step in steps)
    assert all(step.runs == 3 and 0 <= step.done <= 1 for step in steps)


def test_a_script_without_a_main_line_is_told_of_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import wane\nwane.sweep({GRID!r}, {TINY!r}, scheduler='processes')\n")
    told = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 1
    assert "a process of the sweep could not start (exit code 1)" in told.stderr
    assert 'if __name__ == "__main__":' in told.stderr


def test_an_endless_point_ends_with_its_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import wane\n"
        'if __name__ == "__main__":\n'
        f"    print('begun', flush=True)\n    wane.sweep({{'seed': [1, 2]}}, {ENDLESS!r}, scheduler='processes')\n"
    )
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in told
