"""Local search for k-means by moving one point at a time (Hartigan and Wong, Applied Statistics 28, 1979).

To move x from a cluster of n_a points with the mean c_a into one of n_b points with the mean c_b changes the sum of
squared distances to the means by

    n_b / (n_b + 1) |x - c_b|^2  -  n_a / (n_a - 1) |x - c_a|^2

for the means move as well. Where Lloyd's algorithm moves x, |x - c_b| < |x - c_a|, this is negative: what no move makes
better is at rest for Lloyd's algorithm, too (Telgarsky and Vattani, AISTATS 2010). For n_b = 0 the first term is zero:
an empty cluster takes any point that is not a cluster of its own.
"""

from __future__ import annotations

import numpy as np

from cgm_cli.numerics.compiled import affordable, compiled
from cgm_cli.numerics.deadline import NEVER, Deadline

GAIN = 1e-10
"""The smallest gain that is worth a move, relative to what the point costs where it is: far above rounding."""

SLICE = 1 << 22
"""Squared distances (times the dimension over 8) between two looks at the clock: some hundredths of a second."""


def improved(points: np.ndarray, labels: np.ndarray, clusters: int, deadline: Deadline = NEVER) -> np.ndarray:
    """Labels (n,) of a clustering that no move of one point makes better, or that the deadline left: never worse than
    the one of `labels` (n,), integers from 0 below `clusters`. points (n, d), of moderate size: distances are squared.
    """
    points = np.ascontiguousarray(points, dtype=float)
    labels = labels.astype(np.int64)
    n, d = points.shape
    sizes = np.bincount(labels, minlength=clusters).astype(float)
    rows = max(1, 8 * affordable(SLICE) // (clusters * (d + 1)))
    still = 0
    start = 0
    means = means_of(points, labels, sizes)
    while still < n and not deadline.should_stop():
        end = min(start + rows, n)
        moves = _visit(points, labels, means, sizes, start, end)
        still = 0 if moves else still + end - start
        start = end % n
        if start == 0:  # without what the moves have rounded
            means = means_of(points, labels, sizes)
    return labels


def means_of(points: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The mean of each cluster (k, d), of these sizes (k,); zero for an empty one."""
    columns = [np.bincount(labels, weights=column, minlength=sizes.size) for column in points.T]
    return np.column_stack(columns) / np.maximum(sizes, 1.0)[:, None]


@compiled
def _visit(points: np.ndarray, labels: np.ndarray, means: np.ndarray, sizes: np.ndarray, start: int, end: int) -> int:
    moves = 0
    for i in range(start, end):
        a = labels[i]
        if sizes[a] <= 1.0:
            continue
        best, least, own = a, np.inf, 0.0
        for b in range(sizes.size):
            distance = 0.0
            for j in range(points.shape[1]):
                distance += (points[i, j] - means[b, j]) ** 2
            if b == a:
                own = distance * sizes[a] / (sizes[a] - 1.0)
            else:
                cost = distance * sizes[b] / (sizes[b] + 1.0)
                if cost < least:
                    best, least = b, cost
        if least < own * (1.0 - GAIN):
            for j in range(points.shape[1]):
                means[a, j] -= (points[i, j] - means[a, j]) / (sizes[a] - 1.0)
                means[best, j] += (points[i, j] - means[best, j]) / (sizes[best] + 1.0)
            sizes[a] -= 1.0
            sizes[best] += 1.0
            labels[i] = best
            moves += 1
    return moves


@_visit.otherwise
def _(points: np.ndarray, labels: np.ndarray, means: np.ndarray, sizes: np.ndarray, start: int, end: int) -> int:
    moves = 0
    for i in range(start, end):
        a = labels[i]
        if sizes[a] <= 1.0:
            continue
        distances = np.square(points[i] - means).sum(axis=1)
        costs = distances * sizes / (sizes + 1.0)
        costs[a] = np.inf
        best = int(costs.argmin())
        if costs[best] < distances[a] * sizes[a] / (sizes[a] - 1.0) * (1.0 - GAIN):
            means[a] -= (points[i] - means[a]) / (sizes[a] - 1.0)
            means[best] += (points[i] - means[best]) / (sizes[best] + 1.0)
            sizes[a] -= 1.0
            sizes[best] += 1.0
            labels[i] = best
            moves += 1
    return moves
