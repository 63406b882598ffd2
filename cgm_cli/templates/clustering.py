"""Scores of a clustering, and the roundings of a k-means SDP. Points are rows (n, d); labels are integers from 0."""

from __future__ import annotations

import math

import numpy as np

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.numerics.bands import SLAB, by_slabs
from cgm_cli.numerics.compiled import affordable
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.hartigan import improved
from cgm_cli.numerics.swaps import swapped


def misclassification(assigned: np.ndarray, truth: np.ndarray, clusters: int) -> float:
    """1 - mean of the matched shares, with share [t, i] = part of assigned cluster t that carries label i, matched one
    to one.

    Mixon, Villar and Ward, "Clustering subgaussian mixtures by semidefinite programming", 2017. It averages over
    clusters, not over points; an empty cluster has shares 0.
    """
    table = _table(assigned, truth, clusters)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    return 1.0 - _best_matching(shares) / clusters


def point_error(assigned: np.ndarray, truth: np.ndarray, clusters: int) -> float:
    """The part of the points that no one-to-one matching of clusters and labels gets right."""
    table = _table(assigned, truth, clusters)
    return 1.0 - _best_matching(table) / truth.size


def _best_matching(gains: np.ndarray) -> float:
    """The largest sum of entries of a square table, one in every row and column."""
    # Not that of scipy.sparse.csgraph, which takes less time to load: with ties it may never come to an end.
    from scipy.optimize import linear_sum_assignment

    return float(gains[linear_sum_assignment(gains, maximize=True)].sum())


def _table(assigned: np.ndarray, truth: np.ndarray, clusters: int) -> np.ndarray:
    size = max(clusters, int(truth.max()) + 1)
    table = np.zeros((size, size))
    np.add.at(table, (assigned, truth), 1.0)
    return table


def kmeans_value(points: np.ndarray, assigned: np.ndarray, clusters: int) -> float:
    """sum over clusters of the squared distances to the cluster's mean."""
    onehot = np.eye(clusters)[assigned]
    sizes = np.maximum(onehot.sum(axis=0), 1.0)
    means = (onehot.T @ points) / sizes[:, None]
    return float(((points - means[assigned]) ** 2).sum())


def link_and_pick(points: np.ndarray, clusters: int, linking: float) -> np.ndarray:
    """Labels (n,) by the rounding of Mixon, Villar and Ward: points closer than `linking` are linked; the most linked
    point becomes a centre and takes its neighbours out of the race, `clusters` times; then every point joins its
    nearest centre.
    """
    from scipy.spatial.distance import cdist

    def links_to(some: np.ndarray) -> np.ndarray:
        """How many of some points each is linked to (n,)."""
        counts = np.zeros(points.shape[0], dtype=int)
        for start in range(0, len(some), SLAB):
            counts += (cdist(some[start : start + SLAB], points) < linking).sum(axis=0)
        return counts

    alive = np.ones(points.shape[0], dtype=bool)
    popularity = links_to(points)
    centres = []
    for _ in range(clusters):
        centre = int(np.argmax(popularity * alive))
        centres.append(centre)
        taken = alive & (cdist(points[[centre]], points)[0] < linking)
        alive &= ~taken
        popularity -= links_to(points[taken])
    return cdist(points, points[centres]).argmin(axis=1)


def spread_and_assign(points: np.ndarray, clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Labels (n,) by the nearest of so many of the points, each of which was the farthest from those before it
    (Gonzalez, Theoretical Computer Science 38, 1985), the first one random; O(n d k).
    """
    centre = int(rng.integers(points.shape[0]))
    nearest, labels = np.full(points.shape[0], np.inf), np.zeros(points.shape[0], dtype=int)
    for label in range(clusters):
        distances = ((points - points[centre]) ** 2).sum(axis=1)
        closer = distances < nearest
        nearest[closer], labels[closer] = distances[closer], label
        centre = int(nearest.argmax())
    return labels


KMEANS_BYTES = 11 * 10**7
"""What scikit-learn's clusterings take by themselves: 104 MB, once they are imported."""


def load_kmeans() -> None:
    """Import what `kmeans` needs, so that the second which that takes is not one of the time that a run may have."""
    import sklearn.cluster  # noqa: F401


def kmeans(points: np.ndarray, clusters: int, restarts: int, seed: int, deadline: Deadline = NEVER) -> np.ndarray:
    """Labels (n,) of the best of `restarts` runs of Lloyd's algorithm (scikit-learn), or of those that were begun
    before the deadline, and one at least.

    Each run begins at greedy k-means++ centres: each of them is the best of a few draws. Plain k-means++ draws once; of
    1000 points around 50 centres the best of 100 such runs is at 11,282, and that of 100 greedy ones at 9,739.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    distinct, inverse = np.unique(points, axis=0, return_inverse=True)
    if distinct.shape[0] <= clusters:
        return inverse.reshape(-1)
    points = in_unit_box(points)
    rng = np.random.default_rng(seed)
    best, least = np.zeros(points.shape[0], dtype=int), math.inf
    # Threads would add up in the order in which they end, and one run were not like another.
    with threadpool_limits(1):
        for done in range(restarts):
            if done and deadline.should_stop():
                break
            run = KMeans(clusters, n_init=1, tol=0.0, random_state=int(rng.integers(2**31)), copy_x=False)
            labels = run.fit(points).labels_
            value = kmeans_value(points, labels, clusters)
            if value < least:
                best, least = labels.astype(int), value
    return best


def polished(points: np.ndarray, assigned: np.ndarray, clusters: int, deadline: Deadline = NEVER) -> np.ndarray:
    """Labels (n,) of what a clustering comes to by moves of one point, which end where Lloyd's algorithm is at rest as
    well; by the deadline, of what it has come to.
    """
    labels = improved(in_unit_box(points), assigned, clusters, deadline)
    # By rounding alone the value may differ, of data with a mean far away: what is given is never made worse.
    return labels if kmeans_value(points, labels, clusters) <= kmeans_value(points, assigned, clusters) else assigned


SWAPS = 4
"""Swaps of centres for each cluster: where there are many clusters, that is worth more than ten times as many starts of
k-means, and more swaps find little more.
"""

WORK = 10**8
"""Entries of squared differences, of each point to each mean, in all of them once: a second or two."""


def searched(
    points: np.ndarray, assigned: np.ndarray, clusters: int, seed: int, deadline: Deadline = NEVER
) -> np.ndarray:
    """Labels (n,) of what a clustering comes to by moves of one point, and by swaps of centres (cgm_cli.numerics.swaps)
    as far as they are quick, or the deadline lets them.
    """
    inside, labels = in_unit_box(points), polished(points, assigned, clusters, deadline)
    tries = min(SWAPS * clusters, affordable(WORK) // (clusters * (inside.size + len(inside))))
    tried = swapped(inside, labels, clusters, tries, np.random.default_rng([seed, 5]), deadline)
    return tried if kmeans_value(points, tried, clusters) <= kmeans_value(points, labels, clusters) else labels


def in_unit_box(points: np.ndarray) -> np.ndarray:
    """Shifted and scaled: distances are squared, and those of points near 1e-170 would vanish."""
    points = points - points.mean(axis=0)
    return points / (np.abs(points).max() or 1.0)


def distances_in_factors(points: np.ndarray) -> LowRankAtom:
    """The same D (n, n) of points (n, d) as U diag(w) U^T with d + 2 columns: with y_i the points less their mean and
    s_i = |y_i|^2,

        D  =  s 1^T + 1 s^T - 2 Y Y^T,      s 1^T + 1 s^T  =  ((s + t) (s + t)^T - (s - t) (s - t)^T) / 2 t

    for every number t > 0, here the root of the mean of s_i^2.
    """
    centred = points - points.mean(axis=0)
    squares = np.square(centred).sum(axis=1)
    t = float(np.sqrt(np.square(squares).mean())) or 1.0
    columns = np.column_stack([squares + t, squares - t, centred])
    return LowRankAtom.symmetric(columns, np.concatenate([[0.5 / t, -0.5 / t], np.full(points.shape[1], -2.0)]))


def partition_matrix(labels: np.ndarray, clusters: int) -> LowRankAtom:
    """sum_C 1_C 1_C^T / |C| of labels (n,), from 0 below `clusters`, none of them empty."""
    member = (labels[:, None] == np.arange(clusters)).astype(float)
    return LowRankAtom.symmetric(member / np.sqrt(member.sum(axis=0)), np.ones(clusters))


def squared_distances(points: np.ndarray) -> np.ndarray:
    """D (n, n) of |x_i - x_j|^2, exactly symmetric with a zero diagonal."""
    from scipy.spatial.distance import cdist

    out = np.empty((points.shape[0], points.shape[0]))

    def measure(rows: slice) -> None:
        cdist(points[rows], points, "sqeuclidean", out=out[rows])

    # Slab by slab: between them somebody who wants to leave is heard.
    by_slabs(measure, out.shape, SLAB)
    return out
