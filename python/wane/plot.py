"""Pictures of runs for papers and notebooks, drawn by Matplotlib: those of the command's report.

Each function draws one or several runs into an ``Axes`` and returns it; without ``ax`` it makes a figure of one column of a paper, 3.4 inches wide.
Series differ by color, in hues that people with any of the three kinds of color blindness can tell apart, and by dash pattern, for gray print. Axes
have names and units. Seeds of one scenario, given as a list by name or as a sweep with seeds, are one series: its mean, and a band
from the least to the greatest of them; distributions are of all of them together. Vertical axes begin at 0, except those of latencies,
which are logarithmic, and the planes of ``wear_map``. Horizontal axes
reach from the first value to the last. Further keywords go to the lines.

    >>> from wane import plot
    >>> axes = plot.latency(result)
    >>> plot.save(axes, "latency.pdf")

``save`` keeps text as text. Matplotlib comes with the extra ``plot`` (``pip install 'wane[plot]'``). Figures do not belong to ``matplotlib.pyplot``,
which would keep them in memory. A notebook shows ``axes.figure``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from wane._drive import Drive
from wane._extras import need
from wane._result import Result
from wane._sweep import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: One run, several (a sweep with seeds has several of each point), or by their names in the legend one or several seeds each.
Runs: TypeAlias = "Result | Sequence[Result] | Mapping[str, Result | Sequence[Result]]"

#: The end of a run, or a drive in its present state.
Worn: TypeAlias = "Result | Drive"

#: Hues of series without an order: those of the command's figures on paper.
COLORS = ["#1b3f5a", "#b43f00", "#007e6c", "#cf5ab4", "#6c87fc", "#a2902d", "#7e36a2", "#6c2409"]

#: Dash patterns of these series.
DASHES: list[Any] = [
    "-",
    (0, (5, 2)),
    (0, (1.2, 1.5)),
    (0, (5, 1.5, 1.2, 1.5)),
    (0, (8, 2)),
    (0, (3, 1)),
    (0, (1, 3)),
    (0, (8, 2, 2, 2)),
]

#: Causes for which pages are programmed, from the bottom of the stack: column, name, color.
CAUSES = [
    ("host", "host", "#1b3f5a"),
    ("gc", "garbage collection", "#b43f00"),
    ("wear_leveling", "wear leveling", "#007e6c"),
    ("scrub", "scrubbing", "#cf5ab4"),
    ("file_system", "file system", "#6c87fc"),
    ("parity", "parity", "#a2902d"),
    ("metadata", "metadata", "#7e36a2"),
    ("padding", "padding", "#8a8f96"),
]

#: Wear, from the least.
WEAR = ["#f2ecd0", "#eed694", "#eab667", "#df8f4e", "#c6634a", "#a03c4d", "#702352", "#3d1548"]

#: Width of a column of a paper, and the height of a figure of that width, in inches.
SIZE = (3.4, 2.2)

#: Settings of every figure: small text that stays text, thin frames.
STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 8,
    "figure.dpi": 150,
    "font.size": 8,
    "grid.color": "#e6e7e3",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "wane",
    "xtick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7,
    "ytick.major.width": 0.6,
}

#: Markers of percentiles.
MARKERS = "osv^Dx+*"

GIB = 2.0**30


def wear(
    runs: Worn | Sequence[Worn] | Mapping[str, Worn | Sequence[Worn]], ax: Axes | None = None, **line: Any
) -> Axes:
    """The distribution of wear at the end of runs, or of drives in their present state: the share of physical blocks with at most N erases.

    Args:
        runs: A result or a drive, several, or several by name.
        ax: Where to draw.
        line: Keywords of the lines.
    """
    with _drawing("wear", ax) as axes:
        for label, seeds, style in _each(runs):
            erases = [run.erase_counts if isinstance(run, Drive) else run.blocks["erase_count"] for run in seeds]
            counts = np.sort(np.concatenate(erases))
            shares = np.arange(1, counts.size + 1) / counts.size
            axes.plot(np.r_[counts[0], counts], np.r_[0, shares], drawstyle="steps-post", label=label, **style | line)
        axes.set(xlabel="erases of a block", ylabel="share of blocks", ylim=(0, 1.02))
        return _finished(axes, runs)


def wear_map(run: Worn, ax: Axes | None = None) -> Axes:
    """The erases of every physical block: a row for each plane, a column for each of its blocks; less worn blocks are paler.

    Args:
        run: A result or a drive.
        ax: Where to draw.
    """
    with _drawing("wear_map", ax) as axes:
        from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415 - an extra's

        blocks = run.blocks
        planes = np.unique(np.stack([blocks["die"], blocks["plane"]]), axis=1).shape[1]
        grid = blocks["erase_count"].reshape(planes, -1)
        colors = LinearSegmentedColormap.from_list("wane-wear", WEAR)
        image = axes.imshow(grid, aspect="auto", interpolation="nearest", cmap=colors, rasterized=True)
        axes.grid(visible=False)
        axes.set_yticks(range(0, planes, max(1, planes // 8)))
        axes.set(xlabel="block of the plane", ylabel="plane")
        figure: Any = axes.figure
        figure.colorbar(image, ax=axes, label="erases")
        return axes


def write_amplification(runs: Runs, ax: Axes | None = None, **line: Any) -> Axes:
    """Write amplification over the life: flash pages programmed for each host page since the previous row of the timeline.

    Args:
        runs: A result, several, or several by name.
        ax: Where to draw.
        line: Keywords of the lines.
    """
    with _drawing("write_amplification", ax) as axes:
        for label, seeds, style in _each(runs):
            lives = [(run.timeline["drive_writes"], run.timeline["write_amplification_total"]) for run in seeds]
            _draw(axes, lives, {"label": label} | style | line)
        axes.set(xlabel="drive writes", ylabel="write amplification")
        axes.set_ylim(bottom=0)
        return _finished(axes, runs)


def erase_counts(runs: Runs, ax: Axes | None = None, **line: Any) -> Axes:
    """Wear over the life: the mean of all physical blocks' erases, and the band between their 1st and 99th percentiles.

    Args:
        runs: A result, several, or several by name.
        ax: Where to draw.
        line: Keywords of the lines.
    """
    with _drawing("erase_counts", ax) as axes:
        for label, seeds, style in _each(runs):
            at, means, lows, highs = (
                _mean([(run.timeline["drive_writes"], run.timeline[f"erase_count_{which}"]) for run in seeds])[part]
                for which, part in [("mean", 0), ("mean", 1), ("p1", 2), ("p99", 3)]
            )
            (drawn,) = axes.plot(at, means, label=label, **style | line)
            axes.fill_between(at, lows, highs, color=drawn.get_color(), alpha=0.18, linewidth=0)
        axes.set(xlabel="drive writes", ylabel="erases of a block")
        axes.set_ylim(bottom=0)
        return _finished(axes, runs)


def capacity(runs: Runs, ax: Axes | None = None, **line: Any) -> Axes:
    """The capacity that the drive exports over its life, in GiB.

    Args:
        runs: A result, several, or several by name.
        ax: Where to draw.
        line: Keywords of the lines.
    """
    with _drawing("capacity", ax) as axes:
        for label, seeds, style in _each(runs):
            lives = [(run.timeline["drive_writes"], run.timeline["logical_bytes_exported"] / GIB) for run in seeds]
            _draw(axes, lives, {"drawstyle": "steps-post", "label": label} | style | line)
        axes.set(xlabel="drive writes", ylabel="exported capacity (GiB)")
        axes.set_ylim(bottom=0)
        return _finished(axes, runs, "lower left")


def programmed(runs: Runs, ax: Axes | None = None) -> Axes:
    """Why pages were programmed: a bar for each run, with flash pages for each host page by cause.

    Args:
        runs: A result, several, or several by name.
        ax: Where to draw.
    """
    with _drawing("programmed", ax) as axes:
        each = _each(runs)
        bottom = np.zeros(len(each))
        for key, name, color in CAUSES:
            counts, hosts = (
                np.array(
                    [sum(run.summary["flash"]["pages_programmed"][of] for run in seeds) for _, seeds, _ in each],
                    dtype=float,
                )
                for of in (key, "host")
            )
            parts = np.divide(counts, hosts, out=np.zeros_like(counts), where=hosts > 0)
            if parts.any():
                axes.bar(
                    range(len(each)),
                    parts,
                    bottom=bottom,
                    width=0.6,
                    color=color,
                    label=name,
                    edgecolor="white",
                    linewidth=0.5,
                )
                bottom += parts
        names = [_shown(seeds[0].summary["scenario"]["name"]) if label is None else label for label, seeds, _ in each]
        axes.set_xticks(range(len(each)), names)
        axes.grid(visible=False, axis="x")
        axes.set(ylabel="flash pages a host page")
        if axes.get_legend_handles_labels()[0]:
            # Beside bars there is no room.
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
        return axes


def latency(
    runs: Runs,
    ax: Axes | None = None,
    *,
    operation: Literal["read", "write"] = "read",
    window: int = -1,
    **line: Any,
) -> Axes:
    """The tail of latencies in a window: the share of requests that took longer, both axes logarithmic.

    Args:
        runs: A result of timed requests, several, or several by name.
        ax: Where to draw.
        operation: Whose latencies.
        window: A row of ``windows``; -1 is the last.
        line: Keywords of the lines.

    Raises:
        IndexError: A run has no such window.
    """
    with _drawing("latency", ax) as axes:
        for label, seeds, style in _each(runs):
            tails = [run.latency_distribution(window, operation) for run in seeds]
            # The last point, beyond which no request is slower, has no place on a logarithmic axis.
            longer = [(times / 1e3, 1 - np.r_[0, shares[:-1]]) for times, shares in tails]
            if len(longer) > 1:
                # At each time, the mean share of requests that took longer.
                at = np.unique(np.concatenate([times for times, _ in longer]))
                each = [np.r_[share, 0][np.searchsorted(times, at)] for times, share in longer]
                longer = [(at, np.mean(each, axis=0))]
                shown = longer[0][1] > 0
                longer = [(at[shown], longer[0][1][shown])]
            axes.plot(*longer[0], drawstyle="steps-pre", label=label, **style | line)
        axes.set(xscale="log", yscale="log", xlabel=f"{operation} latency (µs)", ylabel="share of slower requests")
        return _finished(axes, runs)


def percentiles(
    runs: Runs,
    ax: Axes | None = None,
    *,
    operation: Literal["read", "write"] = "read",
    of: Sequence[str] = ("p50", "p99", "p999"),
    **line: Any,
) -> Axes:
    """Percentiles of latency over the life: a point for each window, in order of age. Lines break where a phase of the workload ends.

    The legend, beside the axes, names each run once by its color and each percentile once by its marker. Of seeds, windows are taken in their
    order, up to the last that all of them have.

    Args:
        runs: A result with windows, several, or several by name. ``{"greedy": [five results]}`` is one series.
        ax: Where to draw.
        operation: Whose latencies.
        of: The percentile: ``"p50"``, ``"p75"``, ``"p90"``, ``"p95"``, ``"p99"``, ``"p999"``, ``"p9999"``, ``"mean"`` or ``"max"``.
        line: Keywords of the lines.
    """
    with _drawing("percentiles", ax) as axes:
        each = _each(runs)
        colors: dict[str, str] = {}
        for label, seeds, style in each:
            for number, which in enumerate(of):
                # Colors distinguish the percentiles of one run, or several runs.
                own = _style(number) if len(each) == 1 else style | {"linestyle": DASHES[number % len(DASHES)]}
                drawn = own | {"marker": MARKERS[number % len(MARKERS)], "markersize": 3} | line
                name = _percentile(which) if label is None else f"{label}, {_percentile(which)}"
                _draw(
                    axes, [_windows(run, f"latency_{operation}_{which}_ns") for run in seeds], {"label": name} | drawn
                )
            colors |= {} if label is None else {label: style["color"]}
        axes.set(yscale="log", xlabel="drive writes", ylabel=f"{operation} latency (µs)")
        _beside(axes, colors if len(each) > 1 else {}, of)
        return axes


def overview(runs: Runs) -> Figure:
    """The report's pictures of lives in one figure of a page's width: write amplification, wear over the life and at its end, and causes.

    Args:
        runs: A result, several, or several by name.

    Returns:
        The figure, 7 inches wide.
    """
    matplotlib = need("matplotlib", "plot", "plot.overview")
    figure_of = need("matplotlib.figure", "plot", "plot.overview").Figure
    with matplotlib.rc_context(STYLE):
        figure = figure_of(figsize=(7, 4.4), layout="constrained")
        axes = figure.subplots(2, 2)
        write_amplification(runs, axes[0, 0])
        erase_counts(runs, axes[0, 1])
        wear(runs, axes[1, 0])
        programmed(runs, axes[1, 1])
    found: Figure = figure
    return found


def save(drawn: Axes | Figure, path: str | os.PathLike[str], **keywords: Any) -> None:
    """Writes a figure to a file. Text stays text, and the same figure gives the same bytes.

    Args:
        drawn: A figure, or axes of it.
        path: The file. Its ending sets the format: ``.pdf`` and ``.svg`` are vectors, ``.png`` has 300 dots an inch.
        keywords: Keywords of ``Figure.savefig``.
    """
    matplotlib = need("matplotlib", "plot", "plot.save")
    figure: Any = getattr(drawn, "figure", drawn) or drawn
    # Otherwise files would contain the time at which they were made.
    stamps = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    metadata = stamps.get(os.path.splitext(path)[1])  # noqa: PTH122 - of any path
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, **{"dpi": 300, "metadata": metadata} | keywords)


@contextmanager
def _drawing(user: str, ax: Axes | None) -> Iterator[Axes]:
    """Gives the axes to draw into: the given ones, as their user has set them up, or those of a new figure of a column's width."""
    matplotlib = need("matplotlib", "plot", f"plot.{user}")
    if ax is not None:
        yield ax
        return
    figure = need("matplotlib.figure", "plot", f"plot.{user}").Figure
    with matplotlib.rc_context(STYLE):
        yield figure(figsize=SIZE, layout="constrained").add_subplot()


def _each(runs: Any) -> list[tuple[str | None, list[Any], dict[str, Any]]]:
    """Each series: its label as Matplotlib shows it, which a single run lacks, its runs, which are seeds, and the style of its line."""
    named: list[tuple[str | None, list[Any]]] = []
    if isinstance(runs, Mapping):
        named += [(str(name), _seeds(str(name), run)) for name, run in runs.items()]
    elif isinstance(runs, Sweep) and runs.keys[-1:] == ["seed"]:
        points: dict[str, list[Any]] = {}
        for at, run in enumerate(runs):
            points.setdefault(_point(runs, at), []).append(run)
        named += [(name or None, seeds) for name, seeds in points.items()]
    elif isinstance(runs, Sequence):
        named += [(_name(run), [run]) for run in runs]
    else:
        named.append((None, [runs]))
    labels = [label if label is None else _shown(label) for label, _ in named]
    return [
        (label, seeds, _style(number)) for number, (label, (_, seeds)) in enumerate(zip(labels, named, strict=True))
    ]


def _seeds(name: str, runs: Any) -> list[Any]:
    """The runs of a name: one, or several seeds."""
    seeds = list(runs) if isinstance(runs, Sequence) else [runs]
    if not seeds:
        raise ValueError(f"{name}: found no results, at least one is needed")
    return seeds


def _point(sweep: Sweep, at: int) -> str:
    """The point of a run of a sweep, without its seed."""
    values = {key: sweep.table[key][at] for key in sweep.keys[:-1]}
    # "greedy" says what it is, 4 does not.
    alone = len(values) == 1 and all(isinstance(value, str) for value in values.values())
    return ", ".join(str(value) if alone else f"{key} = {value}" for key, value in values.items())


def _windows(run: Any, column: str) -> tuple[Any, Any]:
    """The ages of a run's windows and a figure of them in microseconds, with a gap where a phase ends."""
    windows = run.windows
    if not windows:
        raise IndexError("percentiles: the run has no windows; nothing of it was timed")
    at, times = np.asarray(windows["at_drive_writes"], dtype=float), np.asarray(windows[column]) / 1e3
    if "phase" in windows:
        borders = np.flatnonzero(np.diff(np.asarray(windows["phase"], dtype=int))) + 1
        at, times = np.insert(at, borders, at[borders]), np.insert(times, borders, np.nan)
    return at, times


def _mean(curves: list[tuple[Any, Any]]) -> tuple[Any, Any, Any, Any]:
    """Several curves as one: where, the mean, the least and the greatest. Points are taken in their order if they lie at about the same places."""
    if len(curves) == 1:
        ((at, values),) = curves
        return at, values, values, values
    count = min(len(at) for at, _ in curves)
    places = np.array([np.asarray(at[:count], dtype=float) for at, _ in curves])
    span = max(float(places.max() - places.min()), 1e-12)
    if np.ptp(places, axis=0).max() <= 0.02 * span or any(
        np.isnan(np.asarray(values, dtype=float)).any() for _, values in curves
    ):
        heights = np.array([np.asarray(values[:count], dtype=float) for _, values in curves])
        at = places.mean(axis=0)
    else:
        at = np.linspace(max(at[0] for at, _ in curves), min(at[-1] for at, _ in curves), 400)
        heights = np.array([np.interp(at, place, np.asarray(values, dtype=float)) for place, values in curves])
    return at, heights.mean(axis=0), heights.min(axis=0), heights.max(axis=0)


def _draw(axes: Axes, curves: list[tuple[Any, Any]], line: dict[str, Any]) -> None:
    """Draws the mean of curves, and of several the band between them."""
    at, means, lows, highs = _mean(curves)
    (drawn,) = axes.plot(at, means, **line)
    if len(curves) > 1:
        axes.fill_between(at, lows, highs, color=drawn.get_color(), alpha=0.18, linewidth=0)


def _percentile(which: str) -> str:
    """A percentile as people write it: ``p99.9`` of ``p999``."""
    digits = which.removeprefix("p")
    return f"p{digits[:2]}.{digits[2:]}" if digits.isdigit() and len(digits) > 2 else which


def _beside(axes: Axes, colors: dict[str, str], of: Sequence[str]) -> None:
    """A legend beside the axes: each run by its color, then each percentile by its marker; one percentile of several runs is not named."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra's

    entries = [Line2D([], [], color=color, label=label) for label, color in colors.items()]
    if not colors or len(of) > 1:
        for number, which in enumerate(of):
            style = {"color": "#5a5f66", "linestyle": DASHES[number % len(DASHES)]} if colors else _style(number)
            marker = MARKERS[number % len(MARKERS)]
            entries.append(Line2D([], [], marker=marker, markersize=3, label=_percentile(which), **style))
    axes.legend(handles=entries, loc="upper left", bbox_to_anchor=(1, 1))


def _shown(name: str) -> str:
    """Escapes a name for Matplotlib, which reads ``$`` as mathematics, and leaves names out of a legend that are empty or begin with ``_``."""
    escaped = name.replace("$", r"\$")
    return f" {escaped}" if not escaped or escaped.startswith("_") else escaped


def _style(number: int) -> dict[str, Any]:
    return {"color": COLORS[number % len(COLORS)], "linestyle": DASHES[number % len(DASHES)]}


def _name(run: Worn) -> str:
    return repr(run).split("'")[1] if isinstance(run, Drive) else run.summary["scenario"]["name"]


def _finished(axes: Axes, runs: Any, place: Literal["best", "lower left"] = "best") -> Axes:
    if isinstance(runs, Mapping | Sequence) and len(runs) > 1:
        axes.legend(loc=place)
    return axes
