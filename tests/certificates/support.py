"""Exact values of small problems, by all their clusterings."""

import numpy as np

from cgm_cli.templates.clustering import squared_distances
from tests.partitions import partitions


def corrected_value(points, labels, corrected):
    """sum over clusters of (1 + corrected / m) W, by its definition."""
    total = 0.0
    for c in np.unique(labels):
        own = points[labels == c]
        total += (1.0 + corrected / len(own)) * ((own - own.mean(axis=0)) ** 2).sum()
    return total


def exact(points, k, corrected=0.0):
    """The smallest such sum over all clusterings, and the labels."""
    found = min(partitions(len(points), k), key=lambda labels: corrected_value(points, labels, corrected))
    return corrected_value(points, found, corrected), found


def on_the_line(values, k):
    """The optimal value of k-means of numbers, by dynamic programming over their order."""
    x = np.sort(np.asarray(values, dtype=float))
    n = x.size
    sums, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (x, x**2))
    i, j = np.arange(n + 1)[:, None], np.arange(n + 1)[None]
    cost = np.where(j > i, squares[j] - squares[i] - (sums[j] - sums[i]) ** 2 / np.maximum(j - i, 1), 0.0)
    cost = np.where(j >= i, np.maximum(cost, 0.0), np.inf)
    best = cost[0]
    for _ in range(k - 1):
        best = (best[:, None] + cost).min(axis=0)
    return float(best[n])


def blobs(n, k, dimension, spread, seed):
    """Points (n, d) around k centres, and whose they are."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return (spread * rng.standard_normal((k, dimension)))[labels] + rng.standard_normal((n, dimension)), labels


def relaxed(points, k, corrected, labels):
    """The cost of the relaxation of a subset, and the constant."""
    distances = squared_distances(points)
    member = labels[:, None] == labels
    tangent = member / member.sum(axis=1)
    return distances * (1 + 2 * corrected * tangent), 0.5 * corrected * (distances * tangent**2).sum()
