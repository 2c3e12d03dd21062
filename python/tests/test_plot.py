"""Pictures: the data of their lines, their axes, text that stays text."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SCENARIOS

import wane
from wane import plot

pytest.importorskip("matplotlib")

LIFE: dict[str, Any] = {
    "drive": {"preset": "tiny", "endurance": 60},
    "ftl": {"capacity": {"policy": "variant"}, "wear-leveling": {"policy": "pwl", "threshold": "25 %"}},
    "workload": {"pattern": "uniform", "footprint": 0.5},
    "until": {"end-of-life": True},
}


@pytest.fixture(scope="module")
def life() -> wane.Result:
    return wane.run(LIFE)


@pytest.fixture(scope="module")
def timed() -> wane.Result:
    return wane.run(tomllib.loads(SCENARIOS["probed"]))


def points(axes: Any, number: int = 0) -> tuple[Any, Any]:
    line = axes.get_lines()[number]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def labels(axes: Any) -> tuple[str, str]:
    return axes.get_xlabel(), axes.get_ylabel()


def legend_of(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def beside(axes: Any) -> None:
    """The legend lies to the right of the frame."""
    axes.figure.canvas.draw()
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1 - 1


def test_seeds_are_one_series_with_a_band() -> None:
    scenario = tomllib.loads(SCENARIOS["probed"])
    sweep = wane.sweep({"ftl.gc": ["greedy", "fifo"]}, scenario, seeds=3)
    by_name = {
        name: [run for at, run in enumerate(sweep) if sweep.table["ftl.gc"][at] == name] for name in ("greedy", "fifo")
    }
    for runs in (sweep, by_name):
        axes = plot.percentiles(runs, of=("p50", "p99"))
        assert legend_of(axes) == ["greedy", "fifo", "p50", "p99"]
        assert (len(axes.get_lines()), len(axes.collections)) == (4, 4)
        mean = np.mean([run.windows["latency_read_p50_ns"] for run in by_name["greedy"]], axis=0)
        assert np.allclose(points(axes)[1] * 1e3, mean)
        beside(axes)
        for draw in (plot.write_amplification, plot.erase_counts, plot.capacity, plot.wear, plot.latency):
            assert [line.get_label() for line in draw(runs).get_lines()] == ["greedy", "fifo"], draw
        assert [text.get_text() for text in plot.programmed(runs).get_xticklabels()] == ["greedy", "fifo"]
    assert [line.get_label() for line in plot.write_amplification(list(sweep)).get_lines()] != ["greedy", "fifo"]
    pooled = plot.wear(by_name)
    assert points(pooled)[0].size == 1 + 3 * by_name["greedy"][0].blocks.rows
    with pytest.raises(ValueError, match=r"^none: found no results, at least one is needed$"):
        plot.percentiles({"none": []})


def test_no_line_crosses_the_border_of_two_phases() -> None:
    class Run:
        def __init__(self) -> None:
            self.windows = {
                "at_drive_writes": np.array([0.0, 0.5, 1.0, 1.5]),
                "latency_read_p50_ns": np.array([1e3, 2e3, 8e3, 9e3]),
                "phase": np.array([0, 0, 1, 1]),
            }

    (line,) = plot.percentiles(Run(), of=["p50"]).get_lines()  # type: ignore[arg-type]
    assert np.array_equal(line.get_ydata(), [1, 2, np.nan, 8, 9], equal_nan=True)


def test_wear_is_the_share_of_blocks_with_at_most_so_many_erases(life: wane.Result) -> None:
    axes = plot.wear(life)
    counts, shares = points(axes)
    erases = life.blocks["erase_count"]
    for count, share in [(counts[0], shares[1]), (np.median(erases), None), (counts[-1], shares[-1])]:
        at_most = shares[counts <= count].max()
        assert at_most == pytest.approx((erases <= count).mean())
        assert share is None or count in (erases.min(), erases.max())
    assert labels(axes) == ("erases of a block", "share of blocks")
    drive = wane.Drive(LIFE)
    drive.run(end_of_life=True)
    both = plot.wear({"run": life, "drive": drive})
    assert [text.get_text() for text in both.get_legend().get_texts()] == ["run", "drive"]  # type: ignore[union-attr]
    assert points(both, 1)[0].max() == drive.erase_counts.max()


def test_lives_are_the_timelines_columns(life: wane.Result) -> None:
    for draw, column, scale, names in [
        (plot.write_amplification, "write_amplification_total", 1, ("drive writes", "write amplification")),
        (plot.erase_counts, "erase_count_mean", 1, ("drive writes", "erases of a block")),
        (plot.capacity, "logical_bytes_exported", 2**30, ("drive writes", "exported capacity (GiB)")),
    ]:
        axes = draw(life)
        at, values = points(axes)
        assert np.array_equal(at, life.timeline["drive_writes"])
        assert np.array_equal(values, life.timeline[column] / scale, equal_nan=True)
        assert labels(axes) == names
        assert axes.get_ylim()[0] == 0
        assert axes.get_legend() is None
    assert values[-1] < values[0], "the drive shrank"
    (band,) = plot.erase_counts(life).collections
    assert band.get_paths()[0].get_extents().y1 == life.timeline["erase_count_p99"].max()


def test_bars_stack_to_write_amplification(life: wane.Result) -> None:
    axes = plot.programmed([life, life])
    tops = [patch.get_y() + patch.get_height() for patch in axes.patches]  # type: ignore[attr-defined]
    assert max(tops) == pytest.approx(life.summary["write_amplification"]["total"])
    names = [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
    assert names == ["host", "garbage collection", "wear leveling"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["tiny", "tiny"]


def test_names_are_shown_as_they_are(life: wane.Result, timed: wane.Result, tmp_path: Path) -> None:
    names = {"_private": life, "": life, "$a_b$ and $c$": life, r"\$ or _": life, "plain": life}
    for draw in (plot.wear, plot.write_amplification, plot.erase_counts, plot.capacity):
        axes = draw(names)
        legend = axes.get_legend()
        assert legend is not None
        shown = [text.get_text().replace(r"\$", "$").removeprefix(" ") for text in legend.get_texts()]
        assert shown == ["_private", "", "$a_b$ and $c$", r"\$ or _", "plain"]
        # A file has what is seen.
        plot.save(axes, tmp_path / "names.svg")
        written = (tmp_path / "names.svg").read_text()
        for name in ("_private", "$a_b$ and $c$", r"\$ or _"):
            assert f"{name}</text>" in written, name
    axes = plot.programmed(names)
    ticks = [tick.get_text().replace(r"\$", "$") for tick in axes.get_xticklabels()]
    assert [tick.removeprefix(" ") for tick in ticks[:3]] == ["_private", "", "$a_b$ and $c$"]
    legend = plot.percentiles({"_x": timed, "": timed}, of=["p50"]).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [" _x", " "]  # type: ignore[union-attr]
    assert plot.latency({"_x": timed, "": timed}).get_legend() is not None


def test_a_map_has_every_block(life: wane.Result, timed: wane.Result) -> None:
    for result, planes in [(life, 1), (timed, 16)]:
        (image,) = plot.wear_map(result).images
        grid: Any = image.get_array()
        assert grid.shape == (planes, result.blocks.rows // planes)
        assert np.array_equal(grid.ravel(), result.blocks["erase_count"])


def test_tails_are_the_distributions(timed: wane.Result) -> None:
    axes = plot.latency(timed, window=1)
    at, longer = points(axes)
    times, shares = timed.latency_distribution(1)
    assert np.allclose(at * 1e3, times)
    assert longer[0] == 1
    assert np.allclose(longer[1:], 1 - shares[:-1])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert labels(axes) == ("read latency (µs)", "share of slower requests")
    assert labels(plot.latency(timed, operation="write"))[0] == "write latency (µs)"
    with pytest.raises(IndexError, match=r"^window: found 9, the run has 3 windows$"):
        plot.latency(timed, window=9)


def test_percentiles_are_the_windows(timed: wane.Result, life: wane.Result) -> None:
    axes = plot.percentiles(timed, of=("p50", "p999"))
    for number, column in enumerate(["latency_read_p50_ns", "latency_read_p999_ns"]):
        at, times = points(axes, number)
        assert np.array_equal(at, timed.windows["at_drive_writes"])
        assert np.allclose(times * 1e3, timed.windows[column])
    assert len({line.get_color() for line in axes.get_lines()}) == 2
    both = plot.percentiles({"a": timed, "b": timed})
    assert [line.get_label() for line in both.get_lines()] == [
        "a, p50",
        "a, p99",
        "a, p99.9",
        "b, p50",
        "b, p99",
        "b, p99.9",
    ]
    assert legend_of(both) == ["a", "b", "p50", "p99", "p99.9"]
    colors = [line.get_color() for line in both.get_lines()]
    assert len(set(colors[:3])) == len(set(colors[3:])) == 1
    assert colors[0] != colors[3]
    assert legend_of(plot.percentiles(timed)) == ["p50", "p99", "p99.9"]
    beside(both)
    with pytest.raises(IndexError, match=r"^percentiles: the run has no windows"):
        plot.percentiles(life)


def test_figures_are_of_a_column_and_their_axes_are_taken(life: wane.Result) -> None:
    axes: Any = plot.wear(life)
    assert tuple(axes.figure.get_size_inches()) == plot.SIZE
    again = plot.wear(life, axes, color="red", linewidth=3)
    assert again is axes
    assert (axes.get_lines()[1].get_color(), axes.get_lines()[1].get_linewidth()) == ("red", 3)
    whole = plot.overview({"one": life, "other": life})
    assert len(whole.axes) == 4
    assert whole.get_size_inches()[0] == 7


def test_files_keep_text_and_are_the_same_bytes(life: wane.Result, tmp_path: Path) -> None:
    for ending in ("svg", "pdf", "png"):
        files = [tmp_path / f"{number}.{ending}" for number in range(2)]
        for file in files:
            plot.save(plot.wear(life), file)
        assert files[0].read_bytes() == files[1].read_bytes(), ending
    assert ">share of blocks</text>" in (tmp_path / "0.svg").read_text()
    assert b"CIDFontType2" in (tmp_path / "0.pdf").read_bytes()
    assert b"Type3" not in (tmp_path / "0.pdf").read_bytes()


@pytest.mark.parametrize(
    "call", ["plot.wear(run)", "plot.overview(run)", "plot.save(None, 'x.pdf')", "plot.wear_map(run)"]
)
def test_a_missing_matplotlib_is_one_sentence(call: str) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import wane\nfrom wane import plot\n"
        "run = wane.run({'drive': {'preset': 'tiny'}, 'until': {'drive-writes': 1}})\n"
        f"try:\n    {call}\nexcept wane.MissingExtraError as error:\n    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    user = call.partition("(")[0]
    assert told == f"{user} needs matplotlib, which is not installed: pip install 'wane[plot]'\n"
