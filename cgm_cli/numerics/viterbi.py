"""The best labelling of a chain, by dynamic programming (Viterbi 1967)."""

from __future__ import annotations

import numpy as np


def cheapest_path(nodes: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, float]:
    """y (T,) with the least sum_t nodes[t, y_t] + sum_t edges[t, y_t, y_t+1], and that sum. nodes (T, K), edges
    (T - 1, K, K). Of several the one whose last label is the lowest, and so on backwards.
    """
    length, cost = nodes.shape[0], nodes[0]
    labels, before = np.empty(length, dtype=np.intp), np.empty((length - 1, nodes.shape[1]), dtype=np.intp)
    for t in range(1, length):
        ways = cost[:, None] + edges[t - 1]
        before[t - 1] = ways.argmin(axis=0)
        cost = ways.min(axis=0) + nodes[t]
    labels[-1] = int(cost.argmin())
    for t in range(length - 1, 0, -1):
        labels[t - 1] = before[t - 1, labels[t]]
    return labels, float(cost[labels[-1]])
