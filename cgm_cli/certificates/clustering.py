"""A clustering in hand: what each point costs, and where a clustering comes from if nobody gives one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.templates.clustering import kmeans, polished, searched

MANY = 20_000
"""Points above which k-means begins with so many of them: of 1,000,000 in 20 dimensions and 10 clusters that overlap,
batches of them (MiniBatchKMeans, 5 starts) ended 6 % higher, and 20 runs on so many take a second.
"""

RESTARTS = 20
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
    """Labels (n,) of a good clustering: scikit-learn's k-means, and swaps of its centres, of many points on some of
    them; and moves of single points until none makes it better, or the deadline comes.
    """
    n = points.shape[0]
    some = max(MANY, 20 * clusters)
    if n <= some:
        return searched(points, kmeans(points, clusters, RESTARTS, seed, deadline.part(0.5)), clusters, seed, deadline)
    from sklearn.metrics import pairwise_distances_argmin

    sample = points[np.random.default_rng([seed, 3]).choice(n, some, replace=False)]
    labels = kmeans(sample, clusters, RESTARTS, seed, deadline.part(0.3))
    means = Clustering(sample, searched(sample, labels, clusters, seed, deadline.part(0.3)), clusters).means
    return polished(points, pairwise_distances_argmin(points, means).astype(int), clusters, deadline)
