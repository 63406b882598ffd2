"""A clustering in hand: what each point costs, and where a clustering comes from if nobody gives one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.templates.clustering import in_unit_box, kmeans, polished

MANY = 100_000
"""Points above which k-means begins with batches of them: of so many, in 20 dimensions, a run takes about a second."""

RESTARTS = 20
BATCH = 8192
SLAB = 1 << 16


@dataclass(frozen=True)
class Clustering:
    """points (n, d); labels (n,), integers from 0 below `clusters`."""

    points: np.ndarray
    labels: np.ndarray
    clusters: int

    @cached_property
    def means(self) -> np.ndarray:
        """(k, d); zero for an empty cluster."""
        sizes = np.bincount(self.labels, minlength=self.clusters)
        sums = [np.bincount(self.labels, weights=column, minlength=self.clusters) for column in self.points.T]
        return np.column_stack(sums) / np.maximum(sizes, 1)[:, None]

    @cached_property
    def costs(self) -> np.ndarray:
        """The squared distance of each point to the mean of its cluster (n,)."""
        out = np.empty(self.labels.size)
        for start in range(0, out.size, SLAB):
            rows = slice(start, start + SLAB)
            out[rows] = ((self.points[rows] - self.means[self.labels[rows]]) ** 2).sum(axis=1)
        return out

    @cached_property
    def value(self) -> float:
        """The sum of the costs."""
        return float(self.costs.sum())


def found(points: np.ndarray, clusters: int, seed: int, deadline: Deadline = NEVER) -> np.ndarray:
    """Labels (n,) of a good clustering: scikit-learn's k-means, of many points that of batches, and moves of single
    points (cgm_cli.numerics.hartigan) until none makes it better, or the deadline comes.
    """
    if points.shape[0] <= MANY:
        return polished(points, kmeans(points, clusters, RESTARTS, seed, deadline.part(0.5)), clusters, deadline)
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # as in `kmeans`
        batches = MiniBatchKMeans(clusters, n_init=5, batch_size=BATCH, random_state=seed)
        labels = batches.fit(in_unit_box(points)).labels_.astype(int)
    return polished(points, labels, clusters, deadline)
