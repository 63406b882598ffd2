"""Dual points of small relaxations of k-means, by splitting X into its eigenvalues and its entries (ADMM).

Of a few hundred points a step is one eigendecomposition, and begun with the multipliers of a good clustering, ten of
them come within half a percent: a tenth of the time that the general method takes for such a size.
"""

from __future__ import annotations

import numpy as np

from cgm_cli.certificates.dual import centred, dual_value, multipliers_of
from cgm_cli.methods.corrections.splitting import RELAXED
from cgm_cli.numerics.deadline import NEVER, Deadline

BETWEEN = 5
"""Steps between two values of the dual."""

MOST = 100


def best_dual_value(
    cost: np.ndarray, labels: np.ndarray, clusters: int, gain: float, deadline: Deadline = NEVER
) -> float:
    """A proven lower bound on <cost, X> over all X of the relaxation with so many clusters: the best of those at hand
    once five steps make it better by less than `gain`, or the deadline comes.

    cost (s, s), symmetric, not zero; labels (s,): of a good clustering, to begin with.
    """
    s = cost.shape[0]
    rho = float(np.linalg.norm(cost)) / np.sqrt(clusters * s)
    multipliers = multipliers_of(cost, labels)
    best = dual_value(cost, multipliers, clusters)
    member = labels[:, None] == labels
    entries = member / member.sum(axis=1)
    dual = -multipliers / rho
    for step in range(1, MOST + 1):
        x = nearest(entries - dual - cost / rho, clusters)
        moved = RELAXED * x + (1.0 - RELAXED) * entries + dual
        entries = np.maximum(moved, 0.0)
        dual = moved - entries
        if step % BETWEEN == 0:
            value = dual_value(cost, -rho * dual, clusters)
            if value < best + gain or deadline.should_stop():
                return max(best, value)
            best = value
    return best


def nearest(matrix: np.ndarray, clusters: int) -> np.ndarray:
    """The nearest X with X 1 = 1, eigenvalues in [0, 1] and trace k (k >= 2) to a symmetric matrix (s, s)."""
    return nearest_of_rank(matrix, clusters, 3 * clusters)[0]


def nearest_of_rank(matrix: np.ndarray, clusters: int, guess: int) -> tuple[np.ndarray, int]:
    """The same, and its rank, which is found soonest if the guess is somewhat more."""
    from scipy.linalg import eigh

    s = matrix.shape[0]
    rest = centred(matrix)
    rest -= (np.abs(rest).sum(axis=1).max() + 1.0) / s  # 1 is the last of its eigenvectors
    few = min(s - 1, max(guess, clusters))
    while True:
        values, vectors = eigh(rest, subset_by_index=(s - few, s - 1), check_finite=False)
        weights = capped(values, clusters - 1)
        if weights[0] == 0.0 or few == s - 1:
            break
        few = min(s - 1, 2 * few)  # the smallest of those that were asked for takes part
    used = vectors * np.sqrt(weights)
    return used @ used.T + 1.0 / s, 1 + int(np.count_nonzero(weights))


def capped(values: np.ndarray, total: int) -> np.ndarray:
    """clip(values - t, 0, 1) with the t at which the sum is `total`, of ascending values, more than `total` of them or
    as many.
    """
    # The sum is linear in t between the values and the values less one.
    knots = np.sort(np.concatenate([values, values - 1.0]))
    sums = np.clip(values - knots[:, None], 0.0, 1.0).sum(axis=1)
    t = np.interp(-total, -sums, knots)
    return np.clip(values - t, 0.0, 1.0)
