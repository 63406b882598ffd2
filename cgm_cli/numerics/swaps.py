"""Local search for k-means by swaps of centres (Fränti, "Efficiency of random swap clustering", J. Big Data 5, 2018).

Where moves of single points come to rest, two centres may share one cloud of points while two clouds share a centre: no
single point's move mends that. A swap removes a cluster and makes a point the centre of a new one; moves of single
points (cgm_cli.numerics.hartigan) follow, and the outcome is kept where it is better.

The cluster is drawn with probability inversely proportional to its price, the least that merging it with another adds
to the sum of squared distances (Ward, JASA 58, 1963),

    min_b  n_a n_b / (n_a + n_b) |c_a - c_b|^2,

and the point with probability proportional to its own squared distance (Arthur and Vassilvitskii, SODA 2007).
"""

from __future__ import annotations

import numpy as np

from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.hartigan import GAIN, improved, means_of


def swapped(
    points: np.ndarray,
    labels: np.ndarray,
    clusters: int,
    tries: int,
    rng: np.random.Generator,
    deadline: Deadline = NEVER,
) -> np.ndarray:
    """Labels (n,) of a clustering, after so many swaps, or those that the deadline left: never worse than the one of
    `labels` (n,), integers from 0 below `clusters`. points (n, d), of moderate size: distances are squared.
    """
    best, costs = labels, _costs(points, labels, clusters)
    for _ in range(tries if clusters > 1 else 0):
        if deadline.should_stop() or not costs.any():
            break
        tried = improved(points, _swap(points, best, costs, clusters, rng), clusters, deadline)
        after = _costs(points, tried, clusters)
        if after.sum() < costs.sum() * (1.0 - GAIN):
            best, costs = tried, after
    return best


def _swap(
    points: np.ndarray, labels: np.ndarray, costs: np.ndarray, clusters: int, rng: np.random.Generator
) -> np.ndarray:
    """Labels with a cluster removed, its points in the nearest of the others, and a new one in its place."""
    sizes = np.bincount(labels, minlength=clusters).astype(float)
    means = means_of(points, labels, sizes)
    gone = _drawn(prices(means, sizes), rng)
    centre = points[rng.choice(costs.size, p=costs / costs.sum())]
    out = labels.copy()
    left = np.flatnonzero(labels == gone)
    others = np.flatnonzero((sizes > 0.0) & (np.arange(clusters) != gone))
    if others.size:
        distances = np.square(means[others]).sum(axis=1) - 2.0 * points[left] @ means[others].T
        out[left] = others[distances.argmin(axis=1)]
    to_own = np.square(points - means[out]).sum(axis=1)
    out[np.square(points - centre).sum(axis=1) < to_own] = gone
    return out


def prices(means: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """What merging each cluster with the best other adds to the sum of squared distances (k,): 0 for an empty one."""
    squares = np.square(means).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2.0 * means @ means.T, 0.0)
    added = sizes[:, None] * sizes / np.maximum(sizes[:, None] + sizes, 1.0) * apart
    np.fill_diagonal(added, np.inf)
    return added.min(axis=1)


def _drawn(price: np.ndarray, rng: np.random.Generator) -> int:
    """A cluster, with probability inversely proportional to its price; one that is free, where there is one."""
    if price.min() <= 0.0:
        return int(price.argmin())
    weights = price.min() / price
    return int(rng.choice(price.size, p=weights / weights.sum()))


def _costs(points: np.ndarray, labels: np.ndarray, clusters: int) -> np.ndarray:
    sizes = np.bincount(labels, minlength=clusters).astype(float)
    return np.square(points - means_of(points, labels, sizes)[labels]).sum(axis=1)
