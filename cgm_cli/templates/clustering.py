"""Scores of a clustering, and the roundings of a k-means SDP. Points are rows (n, d); labels are integers from 0."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist


def misclassification(assigned: np.ndarray, truth: np.ndarray, clusters: int) -> float:
    """1 - mean of the matched shares, with share [t, i] = part of assigned cluster t that carries label i, matched one
    to one.

    Mixon, Villar and Ward, "Clustering subgaussian mixtures by semidefinite programming", 2017. It averages over
    clusters, not over points; an empty cluster has shares 0.
    """
    table = _table(assigned, truth, clusters)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    return 1.0 - float(shares[linear_sum_assignment(-shares)].sum()) / clusters


def point_error(assigned: np.ndarray, truth: np.ndarray, clusters: int) -> float:
    """The part of the points that no one-to-one matching of clusters and labels gets right."""
    table = _table(assigned, truth, clusters)
    return 1.0 - float(table[linear_sum_assignment(-table)].sum()) / truth.size


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
    linked = cdist(points, points) < linking
    alive = np.ones(points.shape[0], dtype=bool)
    centres = []
    for _ in range(clusters):
        popularity = (linked[:, alive].sum(axis=1)) * alive
        centre = int(np.argmax(popularity))
        centres.append(centre)
        alive &= ~linked[centre]
    return cdist(points, points[centres]).argmin(axis=1)


def kmeans(points: np.ndarray, clusters: int, restarts: int, seed: int) -> np.ndarray:
    """Labels (n,) of the best of `restarts` runs of Lloyd's algorithm from k-means++ starts (scikit-learn)."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    # Its OpenMP threads and those of BLAS take turns waiting for each other; on problems of this size one thread is
    # faster.
    with warnings.catch_warnings(), threadpool_limits(1):
        # Fewer distinct points than clusters: an empty cluster is counted as such by the scores.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(clusters, n_init=restarts, random_state=seed).fit(points).labels_


def squared_distances(points: np.ndarray) -> np.ndarray:
    """D (n, n) of |x_i - x_j|^2, exactly symmetric with a zero diagonal."""
    return cdist(points, points, "sqeuclidean")
