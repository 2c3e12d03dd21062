"""Changes of health state, and the share of them that age alone explains (002, section 4.4, tables 4.1 and 4.2).

The study calls a change of state *reliability degradation*. But its states are levels of counters that only grow, and a counter that grows far
enough crosses a border. So the same clustering also runs on two other versions of the records. In one, counters grow at each drive's own constant
rate, which is independent of the drive's health. The other has the rates themselves, which do not grow with age, also with each drive's steps in
random order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.fleet.analyses._clusters import clusters_of, nearest
from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Counts, Flags, Frame, Numbers, library, stream
from wane.fleet.analyses._result import HERE, Analysis, drawing
from wane.fleet.analyses.states import Feature, HealthStates, Scaled, answer, check_states, cluster, features_of, scale
from wane.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most patterns in the picture.
DRAWN_MAX = 12


@dataclass(frozen=True, eq=False)
class Patterns(Analysis):
    """Sequences of states through which drives pass.

    Attributes:
        drives: Number of drives that were followed.
        changing: Percentage of the drives that change state.
        transitions_max: The most changes of one drive.
        rows: A row for each pattern: category ("state" or "transition"), pattern, drives, percent. "3→1" changed once, "3↔1" back and forth. Percents
        sum to 100.
        changes: Number of changes of each drive; NaN if it was not followed.
    """

    drives: int
    changing: float
    transitions_max: int
    rows: Frame
    changes: Numbers = field(metadata=HERE, repr=False)

    def table(self) -> Frame:
        """The rows."""
        return self.rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar for each of the most frequent patterns."""
        with drawing(ax) as axes:
            shown = self.rows[self.rows["drives"] > 0].nlargest(DRAWN_MAX, "percent")
            axes.barh(range(len(shown)), shown["percent"], color=COLORS[0])
            axes.set_yticks(range(len(shown)), shown["pattern"])
            axes.invert_yaxis()
            axes.set(xlabel="drives (%)", ylabel="states")
            return axes


@dataclass(frozen=True, eq=False)
class Transitions(Analysis):
    """Changes of state, compared with changes that have nothing to do with health.

    Attributes:
        states: The states.
        observed: Patterns of the records.
        constant_rate: Patterns of counters that grow from each drive's first to its last value at a constant rate, clustered the same way.
        rates: Patterns of the drives' rates of growth, with each life cut into equal spans, clustered the same way.
        rates_shuffled: Patterns of the same rates in the same clusters, with each drive's steps in random order: changes here are noise. If all
        drives have similar rates, clusters cut through the noise.
        age_alone: Percentage of the drives that change state whose rates stay in one state: they did what they always did, for longer. It is a
        lower bound, as far as ``rates_shuffled`` also changes. NaN if none was followed.
    """

    states: HealthStates
    observed: Patterns
    constant_rate: Patterns
    rates: Patterns
    rates_shuffled: Patterns
    age_alone: float

    def table(self) -> Frame:
        """A row for each pattern: category, pattern, drives, percent, and the percent of drives at constant rate; both columns sum to 100."""
        null = self.constant_rate.rows[["category", "pattern", "percent"]].rename(
            columns={"percent": "percent_constant_rate"}
        )
        both = self.observed.rows.merge(null, on=["category", "pattern"], how="outer", sort=False)
        both = both.fillna({"drives": 0, "percent": 0.0, "percent_constant_rate": 0.0}).astype({"drives": int})
        order = both["category"].map({"state": 0, "transition": 1})
        key = np.lexsort((both["pattern"], -both["percent"] * order, order))
        return both.iloc[key].reset_index(drop=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The drives that change state: as observed, at constant rate, by their rates, and by rates in random order."""
        with drawing(ax) as axes:
            names = ["observed", "constant\nrate", "rates", "rates,\nshuffled"]
            each = (self.observed, self.constant_rate, self.rates, self.rates_shuffled)
            axes.bar(names, [patterns.changing for patterns in each], width=0.6, color=COLORS[:4])
            axes.grid(visible=False, axis="x")
            axes.set(ylabel="drives that change state (%)", ylim=(0, 100))
            return axes


def transitions(
    frame: Frame,
    *,
    attributes: Sequence[Feature] | None = None,
    states: int | None = 5,
    model: str | None = None,
    spans: int = 4,
    seed: int = 0,
) -> Transitions:
    """Follows drives through health states, and compares the changes with those of age alone. Source: 002, section 4.4; the null models are ours.

    Args:
        frame: The records.
        attributes: The attributes to cluster by, as in ``health_states``.
        states: Number of states; ``None``: found by the elbow.
        model: The only model to analyze.
        spans: Number of spans, with equally many records, into which a life is cut for its rates; from 2 on.
        seed: The seed of the starts.

    Raises:
        AnalysisError: There are fewer drives than states, an attribute is missing or constant, or no drive has ``spans`` + 1 records.
    """
    user = "transitions"
    if spans < 2:
        raise AnalysisError(f"{user}: lives are cut into {spans} spans; it takes 2 or more to see a rate change")
    check_states(states, user)
    scaled = scale(frame, user, attributes, model, drives_min=states or 2)
    found, elbow = cluster(scaled, states, seed, user)
    count, drives = len(found.centroids), scaled.records.first.size
    observed = _patterns(found.labels, scaled.drive, count, drives)
    even = _even(scaled)
    steady = clusters_of(even, min(count, np.unique(even, axis=0).shape[0]), seed, "health states")
    points, others, drive = _rates(scaled, spans, seed, user)
    rated = clusters_of(points, min(count, np.unique(points, axis=0).shape[0]), seed, "health states")
    rates = _patterns(rated.labels, drive, count, drives)
    followed: Flags = (observed.changes > 0) & ~np.isnan(rates.changes)
    return Transitions(
        states=answer(scaled, found, elbow),
        observed=observed,
        constant_rate=_patterns(steady.labels, scaled.drive, count, drives),
        rates=rates,
        rates_shuffled=_patterns(nearest(others, rated.centroids), drive, count, drives),
        age_alone=100 * float((rates.changes[followed] == 0).mean()) if followed.any() else float("nan"),
    )


def _patterns(labels: Counts, drive: Counts, states: int, drives: int) -> Patterns:
    """Patterns of labels; each drive's labels lie together."""
    kept = np.r_[True, (np.diff(labels) != 0) | (np.diff(drive) != 0)]
    ways: dict[int, list[int]] = {}
    for who, where in zip(drive[kept].tolist(), labels[kept].tolist(), strict=True):
        ways.setdefault(who, []).append(where)
    counts = Counter(_named(way) for way in ways.values())
    changes = np.full(drives, np.nan)
    for who, way in ways.items():
        changes[who] = len(way) - 1
    stays = [str(number) for number in range(states)]
    moves = sorted((name for name in counts if name not in stays), key=lambda name: (-counts[name], name))
    found = [counts[name] for name in stays + moves]
    rows: Any = library("pandas").DataFrame(
        {
            "category": ["state"] * len(stays) + ["transition"] * len(moves),
            "pattern": stays + moves,
            "drives": found,
            "percent": 100 * np.array(found) / len(ways),
        }
    )
    told = changes[~np.isnan(changes)]
    return Patterns(len(ways), 100 * float((told > 0).mean()), int(told.max()), rows, changes)


def _named(way: list[int]) -> str:
    """Formats a sequence of states as in tables 4.1 and 4.2: a drive that goes back and forth between two states is "3↔0"."""
    if len(way) > 2 and len(set(way)) == 2:
        return f"{way[0]}↔{way[1]}"
    return "→".join(str(each) for each in way)


def _even(scaled: Scaled) -> Numbers:
    """The points if each drive had gone from its first to its last value at a constant rate. Scaling is linear, so it can be done before."""
    drive, hours = scaled.drive, scaled.records.hours[scaled.complete]
    begins = np.flatnonzero(np.r_[True, np.diff(drive) != 0])
    lengths = np.diff(np.r_[begins, drive.size])
    first, last = np.repeat(begins, lengths), np.repeat(begins + lengths - 1, lengths)
    span = hours[last] - hours[first]
    share = np.where(span > 0, (hours - hours[first]) / np.where(span > 0, span, 1), 0)[:, None]
    found: Numbers = scaled.points[first] * (1 - share) + scaled.points[last] * share
    # Rounding must not make the points of a constant drive differ.
    return np.where(scaled.points[first] == scaled.points[last], scaled.points[first], found)


def _rates(scaled: Scaled, spans: int, seed: int, user: str) -> tuple[Numbers, Numbers, Counts]:
    """Rates of growth of the features in each span of each life, from 0 to 1; the same with each drive's steps in random order; and their drives."""
    values = scaled.records.values()[scaled.complete]
    hours, drive = scaled.records.hours[scaled.complete], scaled.drive
    begins = np.flatnonzero(np.r_[True, np.diff(drive) != 0])
    lengths = np.diff(np.r_[begins, drive.size])
    enough = lengths > spans
    if not enough.any():
        raise AnalysisError(
            f"{user}: no drive has {spans + 1} records, which {spans} spans need; the longest has {lengths.max()}"
        )
    shares = np.linspace(0, 1, spans + 1)
    edges = begins[enough][:, None] + np.round(shares * (lengths[enough] - 1)[:, None]).astype(int)
    observed = _growth(values, hours, edges)
    shuffled = _growth(*_shuffled(values, hours, begins, lengths, seed), edges)
    least, most = observed.min(axis=0), observed.max(axis=0)
    # Rates that differ only by rounding are the same.
    width = most - least
    same = width <= 1e-9 * np.maximum(np.abs(least), np.abs(most))
    points, others = (
        features_of(
            scaled.records, scaled.columns, np.where(same, 0, (rates - least) / np.where(same, 1, width)).round(9)
        )
        for rates in (observed, shuffled)
    )
    return points, others, np.repeat(drive[begins[enough]], spans)


def _growth(values: Numbers, hours: Numbers, edges: Counts) -> Numbers:
    """Growth for each hour between consecutive edges, of shape (drives x spans, attributes)."""
    grown = values[edges[:, 1:]] - values[edges[:, :-1]]
    rates: Numbers = grown / (hours[edges[:, 1:]] - hours[edges[:, :-1]])[:, :, None]
    return rates.reshape(-1, values.shape[1])


def _shuffled(values: Numbers, hours: Numbers, begins: Counts, lengths: Counts, seed: int) -> tuple[Numbers, Numbers]:
    """The records if each drive had made its steps in another order: with the same growth and noise, but no moment of change."""
    random = stream(seed, "order of steps")
    rows, times = values.copy(), hours.copy()
    for begin, length in zip(begins, lengths, strict=True):
        order = random.permutation(length - 1)
        own = slice(begin + 1, begin + length)
        rows[own] = values[begin] + np.cumsum(np.diff(values[begin : begin + length], axis=0)[order], axis=0)
        times[own] = hours[begin] + np.cumsum(np.diff(hours[begin : begin + length])[order])
    return rows, times
