"""K-means and its elbow: finds the number of groups of points, and numbers groups in an order that does not depend on the draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Counts, Frame, Numbers, library, one_thread, quietly, state, stream
from wane.fleet.analyses._result import Analysis, drawing
from wane.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of starts of k-means, of which the best is kept.
RESTARTS = 20

#: Most points to which clusters are fitted, drawn without regard to drives; then every point gets its cluster.
FITTED_MAX = 20_000

#: Most clusters among which the elbow is searched.
CLUSTERS_MAX = 10


@dataclass(frozen=True, eq=False)
class Elbow(Analysis):
    """Gain from more clusters (002, figures 4.6 and 4.7).

    Attributes:
        clusters: Numbers of clusters, from 1 on.
        distortions: The mean Euclidean distance of a point to its centroid, in scaled units.
        chosen: The number at which the curve lies farthest below the chord from its first to its last point (Satopää et al., "Finding a 'Kneedle' in
        a Haystack", 2011).
        bend: The number with the largest second difference. For states in a row it is always 2, since the first cut gains most.
    """

    clusters: tuple[int, ...]
    distortions: tuple[float, ...]
    chosen: int
    bend: int

    def table(self) -> Frame:
        """A row for each number of clusters: clusters, distortion."""
        return library("pandas").DataFrame({"clusters": self.clusters, "distortion": self.distortions})

    def plot(self, ax: Axes | None = None) -> Axes:
        """The curve, and the number that was chosen."""
        with drawing(ax) as axes:
            axes.plot(self.clusters, self.distortions, marker="o", markersize=3, color=COLORS[0])
            axes.axvline(self.chosen, color=COLORS[1], linestyle="--", linewidth=0.8)
            axes.set(xlabel="clusters", ylabel="distortion (scaled units)")
            axes.set_ylim(bottom=0)
            return axes


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of points.

    Attributes:
        labels: The cluster of each point.
        centroids: Centroids of shape (clusters, dimensions), ordered by the sum over dimensions, the least first.
        distortion: The mean Euclidean distance of a point to its centroid.
    """

    labels: Counts
    centroids: Numbers
    distortion: float


def clusters_of(points: Numbers, count: int, seed: int, name: str) -> Clusters:
    """Groups points by k-means with k-means++ starts.

    Args:
        points: Scaled points of shape (points, dimensions).
        count: Number of clusters, at most the number of different points.
        seed: The seed.
        name: The stream's name.
    """
    fitted = _picked(points, seed, name)
    with one_thread(), quietly():
        model = library("sklearn.cluster").KMeans(
            count, init="k-means++", n_init=RESTARTS, random_state=state(seed, name)
        )
        model.fit(fitted)
        order = np.lexsort((*model.cluster_centers_.T[::-1], model.cluster_centers_.sum(axis=1).round(12)))
        centroids: Numbers = model.cluster_centers_[order]
        labels: Counts = np.argsort(order)[model.predict(points)].astype(np.int64)
    distances = np.linalg.norm(points - centroids[labels], axis=1)
    return Clusters(labels, centroids, float(distances.mean()))


def nearest(points: Numbers, centroids: Numbers) -> Counts:
    """The cluster of each point: that of the nearest centroid."""
    found: Counts = library("scipy.spatial").KDTree(centroids).query(points)[1].astype(np.int64)
    return found


def elbow_of(points: Numbers, seed: int, name: str, user: str) -> Elbow:
    """Finds the number of clusters beyond which more clusters gain little.

    Raises:
        AnalysisError: There are fewer than 4 different points.
    """
    fitted = _picked(points, seed, name)
    most = min(CLUSTERS_MAX, np.unique(fitted, axis=0).shape[0])
    if most < 4:
        raise AnalysisError(
            f"{user}: there are {most} different points, too few for an elbow; say how many clusters there are"
        )
    counts = tuple(range(1, most + 1))
    distortions = tuple(clusters_of(fitted, count, seed, name).distortion for count in counts)
    below = np.linspace(distortions[0], distortions[-1], most) - distortions
    return Elbow(counts, distortions, int(np.argmax(below)) + 1, int(np.argmax(np.diff(distortions, 2))) + 2)


def _picked(points: Numbers, seed: int, name: str) -> Numbers:
    if len(points) <= FITTED_MAX:
        return points
    rows = stream(seed, f"{name}, points to fit").choice(len(points), FITTED_MAX, replace=False)
    found: Numbers = points[np.sort(rows)]
    return found
