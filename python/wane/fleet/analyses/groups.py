"""Types of failure, and working drives with signs of them (002, sections 7.2.2 and 7.3.1, figures 7.2 to 7.5 and 7.10 to 7.12)."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np

from wane.fleet.analyses._clusters import Clusters, Elbow, clusters_of, elbow_of
from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._health import BOUNDS, Scale, Spread, deciles_of, disk_records, frame_of, scale_of
from wane.fleet.analyses._libraries import Counts, Flags, Frame, Numbers, library, one_thread, state
from wane.fleet.analyses._names import listed, short
from wane.fleet.analyses._records import Records
from wane.fleet.analyses._result import HERE, Analysis, drawing
from wane.plot import COLORS, DASHES, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Name of a group of failures whose readings are those of working drives.
LOGICAL = "logical"

#: Name of the working drives without signs.
HEALTHY = "healthy"

#: Distance of a group's median below the working drives' first decile from which it is a sign, as a share of the scale.
APART = 0.05


class DiskOptions(TypedDict, total=False):
    """Options of all analyses of failures.

    Attributes:
        attributes: The columns; by default those of RSC, RUE, SUT, HFW, USC, SDEC and pending sectors that half of the drives have,
        normalized if that column varies.
        model: The only model to analyze.
        groups: Number of groups of failures; by default found by the elbow. The study has 5, for Backblaze's drives 6.
        working_groups: Number of groups of working drives; by default one more than of failures, as in the study.
        falling: Columns whose low values are bad, in addition to those that end in ``_normalized``.
        bounds: The health values of the worst and the best record: -1 and 1, in the study's Backblaze variant 0 and 100.
        spread: ``"log"`` scales the logarithm of counts, which span decades; the study uses ``"linear"``.
        seed: The seed of k-means' starts, of splits and of models.
    """

    attributes: Sequence[str] | None
    model: str | None
    groups: int | None
    working_groups: int | None
    falling: Sequence[str]
    bounds: tuple[float, float]
    spread: Spread
    seed: int


#: Defaults of the options.
DEFAULTS: DiskOptions = {
    "attributes": None,
    "model": None,
    "groups": None,
    "working_groups": None,
    "falling": (),
    "bounds": BOUNDS,
    "spread": "linear",
    "seed": 0,
}

Asked = TypeVar("Asked", bound=Callable[..., Any])


def takes_disk_options(function: Asked) -> Asked:
    """Writes ``DiskOptions`` into a function's signature, for help and for code that inspects it."""
    own = inspect.signature(function)
    named = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    kinds = DiskOptions.__annotations__
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kinds[name])
        for name, default in DEFAULTS.items()
    ]
    vars(function)["__signature__"] = own.replace(parameters=[*named, *shared])
    return function


@dataclass(frozen=True, eq=False)
class FailureGroups(Analysis):
    """Types of failure.

    Attributes:
        models: The drives' models.
        drives: Number of drives.
        failed: Number of failed drives.
        drives_left_out: Number of further drives that lack one of the attributes in their last record.
        scale: The scale that turns attributes into health values.
        elbow: The elbow by which the number of groups was found; ``None`` if it was given.
        groups: A row for each group, the sickest first: group, name, attribute (the one that lies deepest below the working drives, empty for
        ``logical``), drives, percent (of the failed).
        deciles: A row for each group, attribute and decile (10 to 90) of its failure records: group, name, attribute, decile, health.
        members: Name of each failed drive's group, by serial.
        labels: Group of each failed drive.
        points: The health values of the failure records, of shape (failed drives, attributes).
    """

    models: tuple[str, ...]
    drives: int
    failed: int
    drives_left_out: int
    scale: Scale
    elbow: Elbow | None
    groups: Frame
    deciles: Frame
    members: dict[str, str]
    labels: Counts = field(metadata=HERE, repr=False)
    points: Numbers = field(metadata=HERE, repr=False)

    def table(self) -> Frame:
        """A row for each group."""
        return self.groups

    def plot(self, ax: Axes | None = None) -> Axes:
        """Figure 7.2: the failure records in the plane of their largest differences."""
        with drawing(ax) as axes:
            flat = self.points
            if self.points.shape[1] > 2:
                with one_thread():
                    flat = (
                        library("sklearn.decomposition").PCA(2, random_state=state(0, "PCA")).fit_transform(self.points)
                    )
            second = flat[:, 1] if flat.shape[1] > 1 else np.zeros(len(flat))
            for row in self.groups.itertuples(index=False):
                at = self.labels == row.group
                look = {"color": COLORS[row.group % len(COLORS)], "marker": MARKERS[row.group % len(MARKERS)]}
                axes.scatter(
                    flat[at, 0], second[at], s=8, linewidths=0.8, label=f"{row.name} ({row.percent:.1f} %)", **look
                )
            names = [short(name) for name in self.scale.attributes]
            pair = ("first principal component", "second principal component")
            along, up = pair if len(names) > 2 else (names[0], names[1] if len(names) > 1 else "")
            axes.set(xlabel=f"{along} (health, scaled)", ylabel=f"{up} (health, scaled)" if up else "")
            axes.legend()
            return axes


@dataclass(frozen=True, eq=False)
class WorkingGroups(Analysis):
    """Working drives, grouped by their signs.

    Attributes:
        working: Number of working drives.
        groups: A row for each cluster: cluster, match (the failure group with the nearest deciles, or ``healthy``), distance (to them, as a share of
        the scale), distance_healthy (to the largest cluster's), drives, percent.
        degrading: The failure group of each working drive with signs, by serial.
        labels: Cluster of each working drive.
    """

    working: int
    groups: Frame
    degrading: dict[str, str]
    labels: Counts = field(metadata=HERE, repr=False)

    def table(self) -> Frame:
        """A row for each cluster."""
        return self.groups

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar for each cluster."""
        with drawing(ax) as axes:
            names = [f"{row.cluster}: {row.match}" for row in self.groups.itertuples(index=False)]
            axes.barh(names, self.groups["percent"], color=COLORS[0])
            axes.invert_yaxis()
            axes.set(xlabel="working drives (%)", xscale="symlog", ylabel="cluster")
            return axes


@dataclass(frozen=True, eq=False)
class Study:
    """Common basis of the analyses of failures.

    Attributes:
        records: The records.
        scale: The scale, fitted to all of them.
        health: The health values of each drive's last record, of shape (drives, attributes).
        failures: Types of failure.
        group: For each drive the name of the failure group by which it failed or of which it shows signs, or ``healthy``.
        working: Working drives.
        seed: The seed.
    """

    records: Records
    scale: Scale
    health: Numbers
    failures: FailureGroups
    group: tuple[str, ...]
    working: WorkingGroups
    seed: int

    def drives(self, name: str, *, of: Literal["failed", "degrading"]) -> Flags:
        """Flags of the drives that failed by a group, or that work and show its signs."""
        failed = self.records.failed if of == "failed" else ~self.records.failed
        return np.array([each == name for each in self.group]) & failed

    @property
    def healthy(self) -> Flags:
        """Flags of the working drives without signs."""
        return np.array([each == HEALTHY for each in self.group])

    @property
    def named(self) -> list[tuple[str, str]]:
        """The groups that have a sign: name and attribute."""
        rows = self.failures.groups
        return [(row.name, row.attribute) for row in rows.itertuples(index=False) if row.attribute]


@takes_disk_options
def failure_groups(frame: Frame, **options: Unpack[DiskOptions]) -> FailureGroups:
    """Groups failed drives by their failure records, with k-means. Source: 002, section 7.2.2, figure 7.2.

    A group is named by the attribute in which its median lies deepest below the first decile of the working drives. If that is less than 5 % of the
    scale in every attribute, the group is ``logical``: the values of these drives are like those of working drives.

    Args:
        frame: The records.
        options: Options of ``DiskOptions``.

    Raises:
        AnalysisError: Too few drives failed, none works, or an attribute is missing or constant.
    """
    return failing_of(frame, "failure_groups", **options).failures


@takes_disk_options
def working_groups(frame: Frame, **options: Unpack[DiskOptions]) -> WorkingGroups:
    """Groups working drives by their last records and matches them to types of failure by deciles. Source: 002, section 7.3.1.

    The largest cluster is the healthy one. Each other cluster matches the failure group whose deciles are nearest to its own, unless those of the
    healthy cluster are nearer. ``logical`` failures match nothing, because they have no signs.

    Args:
        frame: The records.
        options: Options of ``DiskOptions``.

    Raises:
        AnalysisError: As for ``failure_groups``, or fewer drives work than there are groups.
    """
    return study_of(frame, "working_groups", **options).working


class Failing(NamedTuple):
    """Checked records, scaled, and their types of failure."""

    records: Records
    scale: Scale
    health: Numbers
    failures: FailureGroups
    working_groups: int | None
    seed: int


def study_of(frame: Frame, user: str, **options: Unpack[DiskOptions]) -> Study:
    """Checks records, scales them, and groups failures and working drives."""
    failing = failing_of(frame, user, **options)
    found = _working(failing, user)
    names = failing.failures.members | found.degrading
    group = tuple(names.get(str(serial), HEALTHY) for serial in failing.records.serials)
    return Study(failing.records, failing.scale, failing.health, failing.failures, group, found, failing.seed)


def failing_of(frame: Frame, user: str, **options: Unpack[DiskOptions]) -> Failing:
    """Checks records, scales them, and groups failures."""
    unknown = [name for name in options if name not in DEFAULTS]
    if unknown:
        raise AnalysisError(
            f"{user}: there is no option {unknown[0]!r}; beside its own it takes: {listed(list(DEFAULTS))}"
        )
    chosen: DiskOptions = {**DEFAULTS, **options}
    groups, working_groups = chosen["groups"], chosen["working_groups"]
    for name, count in (("groups", groups), ("working_groups", working_groups)):
        if count is not None and count < 1:
            raise AnalysisError(f"{user}: {name} is {count}; it is 1 or more")
    failed_min = max(groups or 4, 2)
    records, left_out = disk_records(frame, user, chosen["attributes"], chosen["model"], failed_min=failed_min)
    if records.failed.all():
        raise AnalysisError(
            f"{user}: all {records.first.size} drives failed; it needs working ones to compare them with"
        )
    scale = scale_of(records, user, falling=chosen["falling"], bounds=chosen["bounds"], spread=chosen["spread"])
    health = scale(records.frame.iloc[records.last])
    failures = _failures(records, left_out, scale, health, groups, chosen["seed"], user)
    return Failing(records, scale, health, failures, working_groups, chosen["seed"])


def _failures(
    records: Records, left_out: int, scale: Scale, health: Numbers, groups: int | None, seed: int, user: str
) -> FailureGroups:
    points, working = health[records.failed], health[~records.failed]
    elbow = elbow_of(points, seed, "failure groups", user) if groups is None else None
    count = elbow.chosen if elbow is not None else groups or 0
    different = np.unique(points, axis=0).shape[0]
    if different < count:
        raise AnalysisError(f"{user}: there are {different} different failure records, fewer than the {count} groups")
    found = clusters_of(points, count, seed, "failure groups")
    below = deciles_of(working)[0] - np.stack(
        [np.median(points[found.labels == each], axis=0) for each in range(count)]
    )
    deepest = below.argmax(axis=1)
    apart = below[np.arange(count), deepest] > APART * (scale.high - scale.low)
    signs = [scale.attributes[at] if far else "" for at, far in zip(deepest, apart, strict=True)]
    names = _numbered([short(sign) if sign else LOGICAL for sign in signs])
    drives = np.bincount(found.labels, minlength=count)
    serials = records.serials[records.failed]
    return FailureGroups(
        models=records.models,
        drives=records.first.size,
        failed=int(records.failed.sum()),
        drives_left_out=left_out,
        scale=scale,
        elbow=elbow,
        groups=frame_of(
            {
                "group": np.arange(count),
                "name": names,
                "attribute": signs,
                "drives": drives,
                "percent": 100 * drives / drives.sum(),
            }
        ),
        deciles=_deciles_of_groups(points, found, names, scale),
        members={str(serial): names[label] for serial, label in zip(serials, found.labels, strict=True)},
        labels=found.labels,
        points=points,
    )


def _numbered(names: Sequence[str]) -> list[str]:
    """Makes names unique: a second "RUE" becomes "RUE 2"."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return found


def _deciles_of_groups(points: Numbers, found: Clusters, names: Sequence[str], scale: Scale) -> Frame:
    parts = []
    for group, name in enumerate(names):
        deciles = deciles_of(points[found.labels == group])
        for at, attribute in enumerate(scale.attributes):
            columns = {"group": group, "name": name, "attribute": attribute, "decile": np.arange(10, 100, 10)}
            parts.append(frame_of(columns | {"health": deciles[:, at]}))
    return library("pandas").concat(parts, ignore_index=True)


def _working(failing: Failing, user: str) -> WorkingGroups:
    records, scale, failures = failing.records, failing.scale, failing.failures
    points = failing.health[~records.failed]
    different = np.unique(points, axis=0).shape[0]
    asked = failing.working_groups
    count = asked if asked is not None else min(len(failures.groups) + 1, different)
    if different < count:
        raise AnalysisError(
            f"{user}: there are {different} different last records of working drives, fewer than the {count} groups"
        )
    found = clusters_of(points, count, failing.seed, "working groups")
    drives = np.bincount(found.labels, minlength=count)
    largest = int(drives.argmax())
    profiles = [deciles_of(points[found.labels == each]) / (scale.high - scale.low) for each in range(count)]
    signs = {
        row.name: deciles_of(failures.points[failures.labels == row.group]) / (scale.high - scale.low)
        for row in failures.groups.itertuples(index=False)
        if row.attribute
    }
    matches, distances, healthy = [], [], []
    for each in range(count):
        healthy.append(_apart(profiles[each], profiles[largest]))
        far = {name: _apart(profiles[each], sign) for name, sign in signs.items()}
        nearest = min(far, key=lambda name: far[name], default=None)
        if each == largest or nearest is None or healthy[-1] <= far[nearest]:
            matches.append(HEALTHY)
            distances.append(healthy[-1])
        else:
            matches.append(nearest)
            distances.append(far[nearest])
    serials = records.serials[~records.failed]
    degrading = {
        str(serial): matches[label]
        for serial, label in zip(serials, found.labels, strict=True)
        if matches[label] != HEALTHY
    }
    columns = {"cluster": np.arange(count), "match": matches, "distance": distances, "distance_healthy": healthy}
    rows = frame_of(columns | {"drives": drives, "percent": 100 * drives / drives.sum()})
    return WorkingGroups(int(points.shape[0]), rows, degrading, found.labels)


def _apart(one: Numbers, other: Numbers) -> float:
    """The root mean square distance of two sets of deciles."""
    return float(np.sqrt(((one - other) ** 2).mean()))


@dataclass(frozen=True, eq=False)
class Deciles(Analysis):
    """Deciles of health values of drives that failed by a type, of working drives with its signs, and of healthy drives.

    Attributes:
        scale: The scale that turns attributes into health values.
        counts: A row for each type of failure: name, attribute, failed, degrading, healthy (drives).
        rows: A row for each type, attribute and decile (10 to 90): name, attribute, decile, failed, degrading, healthy; NaN without such drives.
    """

    scale: Scale
    counts: Frame
    rows: Frame

    def table(self) -> Frame:
        """The deciles."""
        return self.rows

    def plot(self, ax: Axes | None = None, *, name: str | None = None, attribute: str | None = None) -> Axes:
        """Figures 7.3 to 7.5 and 7.10 to 7.12: the deciles of one type, by default the first, in its own attribute or another."""
        known = list(self.counts["name"])
        chosen = known[0] if name is None else name
        if chosen not in known:
            raise AnalysisError(f"deciles: no group is named {chosen!r}; the groups are: {listed(known)}")
        own = self.counts.set_index("name").loc[chosen, "attribute"]
        shown = attribute if attribute is not None else own or self.scale.attributes[0]
        if shown not in self.scale.attributes:
            raise AnalysisError(f"deciles: {shown!r} is none of the attributes: {listed(self.scale.attributes)}")
        rows = self.rows[(self.rows["name"] == chosen) & (self.rows["attribute"] == shown)]
        with drawing(ax) as axes:
            for number, kind in enumerate(("failed", "degrading", "healthy")):
                look = {"color": COLORS[number], "linestyle": DASHES[number], "marker": MARKERS[number]}
                axes.plot(rows["decile"], rows[kind], markersize=3, label=kind, **look)
            axes.set(xlabel="decile (%)", ylabel=f"{short(shown)} (health, {self.scale.low:g} to {self.scale.high:g})")
            axes.legend()
            return axes


@takes_disk_options
def deciles(frame: Frame, **options: Unpack[DiskOptions]) -> Deciles:
    """Compares failed, degrading and healthy drives. Source: 002, figures 7.3 to 7.5 and 7.10 to 7.12.

    Each drive counts once, by its last record.

    Args:
        frame: The records.
        options: Options of ``DiskOptions``.

    Raises:
        AnalysisError: As for ``working_groups``.
    """
    return deciles_in(study_of(frame, "deciles", **options))


def deciles_in(study: Study) -> Deciles:
    """The deciles of a study."""
    counts, parts = [], []
    for row in study.failures.groups.itertuples(index=False):
        kinds = {
            "failed": study.drives(row.name, of="failed"),
            "degrading": study.drives(row.name, of="degrading"),
            "healthy": study.healthy,
        }
        counts.append(
            {"name": row.name, "attribute": row.attribute} | {kind: int(at.sum()) for kind, at in kinds.items()}
        )
        found = {
            kind: deciles_of(study.health[at]) if at.any() else np.full((9, study.health.shape[1]), np.nan)
            for kind, at in kinds.items()
        }
        for at, attribute in enumerate(study.scale.attributes):
            columns = {"name": row.name, "attribute": attribute, "decile": np.arange(10, 100, 10)}
            parts.append(frame_of(columns | {kind: each[:, at] for kind, each in found.items()}))
    pandas = library("pandas")
    return Deciles(study.scale, pandas.DataFrame(counts), pandas.concat(parts, ignore_index=True))
