"""Health states of drives: k-means over records, its elbow and its centroids (002, section 4.4, figures 4.6 to 4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wane.fleet.analyses._clusters import Clusters, Elbow, clusters_of, elbow_of
from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Counts, Flags, Frame, Numbers, library
from wane.fleet.analyses._names import listed, short, words
from wane.fleet.analyses._records import Records, records_of
from wane.fleet.analyses._result import HERE, Analysis, drawing
from wane.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Share of the records that must have an attribute for it to be used by default.
KNOWN_MIN = 0.5

#: Most states.
STATES_MAX = 50

#: A column, or several that are each scaled and then averaged to one.
Feature: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class HealthStates(Analysis):
    """Health states of records. State 0 has the lowest values, the last state the highest.

    Attributes:
        models: The drives' models.
        drives: Number of drives.
        records: Number of records that have all the attributes.
        records_left_out: Number of records that lack one.
        features: The clustered features.
        states: Number of states.
        distortion: The mean Euclidean distance of a record to its centroid, with each feature scaled to 0 to 1.
        elbow: The elbow by which the number of states was found; ``None`` if it was given.
        centroids: A row for each state and a column for each feature, 0 to 1.
        shares: A row for each state: state, records (their number), drives (that end in it), percent (of the drives).
        labels: State of each record, -1 if an attribute is missing; in the frame's order, without records after a failure.
    """

    models: tuple[str, ...]
    drives: int
    records: int
    records_left_out: int
    features: tuple[str, ...]
    states: int
    distortion: float
    elbow: Elbow | None
    centroids: Frame
    shares: Frame
    labels: Counts = field(metadata=HERE, repr=False)

    def table(self) -> Frame:
        """A row for each state: its shares, and its centroid, 0 to 1."""
        return library("pandas").concat([self.shares, self.centroids], axis=1)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Figure 4.8: each state's centroid over the features."""
        with drawing(ax) as axes:
            width = 0.8 / self.states
            for number, row in enumerate(self.centroids.to_numpy()):
                at = np.arange(len(self.features)) + (number - (self.states - 1) / 2) * width
                axes.bar(at, row, width, color=COLORS[number % len(COLORS)], label=f"state {number}")
            axes.set_xticks(
                range(len(self.features)), [_short(name) for name in self.features], rotation=30, ha="right"
            )
            axes.grid(visible=False, axis="x")
            axes.set(ylabel="centroid (0 to 1)", ylim=(0, 1.02))
            axes.legend(ncols=2)
            return axes


@dataclass(frozen=True, eq=False)
class Scaled:
    """Records prepared for k-means.

    Attributes:
        records: The records.
        columns: The columns of each feature.
        complete: Flags of the records that have all attributes.
        points: The features of these records, 0 to 1.
    """

    records: Records
    columns: tuple[tuple[str, ...], ...]
    complete: Flags
    points: Numbers

    @property
    def drive(self) -> Counts:
        """The drive of each point."""
        return self.records.drive[self.complete]


def health_states(
    frame: Frame,
    *,
    attributes: Sequence[Feature] | None = None,
    states: int | None = None,
    model: str | None = None,
    seed: int = 0,
) -> HealthStates:
    """Groups records into health states by k-means. Source: 002, section 4.4.

    Each attribute is scaled to 0 to 1 over all records. There are 20 starts by k-means++, of which the best is kept.

    Args:
        frame: The records.
        attributes: The attributes to cluster by; by default all numeric columns that vary and that half of the records have. Several columns in a
        list count as one: the mean of their scaled values. The study uses 168, 173, 230, 233 and 241 for its model A, and 173 with 248 and 246
        with 247 for model B.
        states: Number of states; by default found by the elbow. The study has 5.
        model: The only model to analyze.
        seed: The seed of the starts.

    Raises:
        AnalysisError: There are fewer drives than states, or an attribute is missing or constant.
    """
    check_states(states, "health_states")
    scaled = scale(frame, "health_states", attributes, model, drives_min=states or 2)
    found, elbow = cluster(scaled, states, seed, "health_states")
    return answer(scaled, found, elbow)


def check_states(states: int | None, user: str) -> None:
    """Refuses an impossible number of states."""
    if states is not None and not isinstance(states, int | np.integer):
        raise AnalysisError(f"{user}: {states!r} states were asked for; it is a whole number, 2 to {STATES_MAX}")
    if states is not None and not 2 <= states <= STATES_MAX:
        raise AnalysisError(f"{user}: {states} states were asked for; it is 2 to {STATES_MAX}")


def scale(frame: Frame, user: str, attributes: Sequence[Feature] | None, model: str | None, drives_min: int) -> Scaled:
    """Checks records and scales their attributes."""
    if isinstance(attributes, str):
        raise AnalysisError(f"{user}: attributes are a list of columns, not the text {attributes!r}")
    asked = None if attributes is None else [(each,) if isinstance(each, str) else tuple(each) for each in attributes]
    if asked is not None and len(set(asked)) < len(asked):
        twice = next(each for each in asked if asked.count(each) > 1)
        raise AnalysisError(f"{user}: {'+'.join(twice)} is asked for twice; each counts once")
    flat = None if asked is None else list(dict.fromkeys(name for each in asked for name in each))
    records = records_of(frame, user, attributes=flat, model=model, drives_min=drives_min)
    if asked is None:
        asked = [(name,) for name in _varying(records, user)]
        records = replace(records, attributes=tuple(name for each in asked for name in each))
    columns = tuple(asked)
    values = records.values()
    complete: Flags = np.logical_not(np.isnan(values).any(axis=1))
    if np.unique(records.drive[complete]).size < drives_min:
        count = np.unique(records.drive[complete]).size
        raise AnalysisError(
            f"{user}: {count} drives have all of the {len(records.attributes)} attributes; it needs {drives_min}"
        )
    values = values[complete]
    least, most = values.min(axis=0), values.max(axis=0)
    for at, name in enumerate(records.attributes):
        if least[at] == most[at]:
            raise AnalysisError(
                f"{user}: column {name!r} is {least[at]:g} in all {len(values)} records, and tells no states apart"
            )
    return Scaled(records, columns, complete, features_of(records, columns, (values - least) / (most - least)))


def _varying(records: Records, user: str) -> list[str]:
    """The attributes that half of the records have, and that vary among the records that have all of them."""
    values = records.values()
    known = (1 - np.isnan(values).mean(axis=0)) >= KNOWN_MIN
    complete = ~np.isnan(values[:, known]).any(axis=1)
    spread = np.ptp(values[complete][:, known], axis=0) if complete.any() else np.zeros(known.sum())
    names = [name for name, told in zip(records.attributes, known, strict=True) if told]
    found = [name for name, width in zip(names, spread, strict=True) if width > 0]
    if not found:
        raise AnalysisError(f"{user}: no attribute varies that half of the records have: {listed(records.attributes)}")
    return found


def features_of(records: Records, columns: Sequence[Sequence[str]], values: Numbers) -> Numbers:
    """Means of scaled attributes, a column for each feature."""
    places = {name: at for at, name in enumerate(records.attributes)}
    return np.stack([values[:, [places[name] for name in each]].mean(axis=1) for each in columns], axis=1)


def cluster(scaled: Scaled, states: int | None, seed: int, user: str) -> tuple[Clusters, Elbow | None]:
    """The clusters, and the elbow if their number was not given."""
    different = np.unique(scaled.points, axis=0).shape[0]
    if states is not None and different < states:
        raise AnalysisError(f"{user}: there are {different} different records, fewer than the {states} states")
    elbow = elbow_of(scaled.points, seed, "health states", user) if states is None else None
    return clusters_of(scaled.points, states or (elbow.chosen if elbow else 0), seed, "health states"), elbow


def answer(scaled: Scaled, found: Clusters, elbow: Elbow | None) -> HealthStates:
    """The clusters as states."""
    pandas = library("pandas")
    features = tuple("+".join(each) for each in scaled.columns)
    count = len(found.centroids)
    drive = scaled.drive
    ends = np.r_[np.flatnonzero(np.diff(drive)), drive.size - 1]
    ending = np.bincount(found.labels[ends], minlength=count)
    shares = pandas.DataFrame(
        {
            "state": range(count),
            "records": np.bincount(found.labels, minlength=count),
            "drives": ending,
            "percent": 100 * ending / ending.sum(),
        }
    )
    labels = np.full(scaled.complete.size, -1, dtype=np.int64)
    labels[scaled.complete] = found.labels
    return HealthStates(
        models=scaled.records.models,
        drives=scaled.records.first.size,
        records=int(scaled.complete.sum()),
        records_left_out=int((~scaled.complete).sum()),
        features=features,
        states=count,
        distortion=found.distortion,
        elbow=elbow,
        # Rounding in k-means leaves -1e-17 instead of 0.
        centroids=pandas.DataFrame(found.centroids.round(12) + 0.0, columns=features),
        shares=shares,
        labels=labels,
    )


def _short(feature: str) -> str:
    """A feature's label in a picture: abbreviations of 002, or words where it has none."""
    names = [(name, short(name)) for name in feature.split("+")]
    return "+".join(words(name) if label == name else label for name, label in names)
