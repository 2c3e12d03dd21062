"""K-means and its elbow: how many groups points fall into, numbered in an order that does not depend on the draw."""

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

#: Starts of k-means, of which the best is kept.
RESTARTS = 20

#: Clusters are fitted to so many points at most, drawn without regard to drives; all points are then told their cluster.
FITTED_MAX = 20_000

#: The elbow is looked for up to so many clusters.
CLUSTERS_MAX = 10


@dataclass(frozen=True, eq=False)
class Elbow(Analysis):
    """What more clusters gain (002, figures 4.6 and 4.7).

    Attributes:
        clusters: Numbers of clusters, from 1 on.
        distortions: The mean Euclidean distance of a point to its centroid, in scaled units.
        chosen: Where the curve lies farthest below the chord from its first to its last point (Satopää et al., "Finding a 'Kneedle' in a Haystack",
            2011).
        bend: Where its second difference is largest. On states in a row that is 2, however many there are: the first cut gains most.
    """

    clusters: tuple[int, ...]
    distortions: tuple[float, ...]
    chosen: int
    bend: int

    def table(self) -> Frame:
        """A row a number of clusters: clusters, distortion."""
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
        labels: Of each point, its cluster.
        centroids: Shape (clusters, dimensions), the one nearest to the origin's corner first: by the sum over dimensions.
        distortion: The mean Euclidean distance of a point to its centroid.
    """

    labels: Counts
    centroids: Numbers
    distortion: float


def clusters_of(points: Numbers, count: int, seed: int, name: str) -> Clusters:
    """Groups points by k-means with k-means++ starts.

    Args:
        points: Shape (points, dimensions), scaled.
        count: How many clusters, at most the number of different points.
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
    """Of each point the cluster whose centroid is nearest."""
    found: Counts = library("scipy.spatial").KDTree(centroids).query(points)[1].astype(np.int64)
    return found


def elbow_of(points: Numbers, seed: int, name: str, user: str) -> Elbow:
    """Looks for the number of clusters beyond which more gain little.

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
