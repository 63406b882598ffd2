"""Dual points of the relaxation of k-means: what they prove, and one in closed form that belongs to a clustering.

The relaxation is min <C, X> subject to X 1 = 1, X >= 0, X positive semidefinite, tr X = k. All its X but for their part
1 1^T / s lie in 0 <= Y <= I, Y 1 = 0, tr Y = k - 1, so that for every N >= 0

    <C, X>  >=  <C - N, X>  >=  1^T (C - N) 1 / s + (the k - 1 smallest eigenvalues of P (C - N) P)

with P = I - 1 1^T / s. The zero that P adds to the eigenvalues makes none of the smallest larger.
"""

from __future__ import annotations

import numpy as np

from cgm_cli.numerics.clustering_dual import closed_form


def centred(matrix: np.ndarray) -> np.ndarray:
    """P M P of a symmetric matrix (s, s)."""
    rows = matrix.mean(axis=1)
    return matrix - rows[:, None] - rows + rows.mean()


def dual_value(cost: np.ndarray, multipliers: np.ndarray, clusters: int) -> float:
    """What N >= 0 (s, s), symmetric, proves of <cost, X>, less 8 k s eps |cost - N|_F for the rounding of forming the
    matrix and of LAPACK. k of two or more.
    """
    from scipy.linalg import eigh

    slack = cost - multipliers
    s = slack.shape[0]
    smallest = eigh(centred(slack), eigvals_only=True, subset_by_index=(0, clusters - 2), check_finite=False)
    allowance = 8.0 * clusters * s * np.finfo(float).eps * float(np.linalg.norm(slack))
    return float(slack.sum() / s + smallest.sum()) - allowance


def multipliers_of(cost: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """N >= 0 (s, s) of a clustering, by the closed form of Iguchi, Mixon, Peterson and Villar (Mathematical Programming
    165, 2017). cost (s, s), symmetric; labels (s,), integers from 0.
    """
    names, own = np.unique(labels, return_inverse=True)
    member = (own[:, None] == np.arange(names.size)).astype(float)
    spread = closed_form(cost @ member, own)[:, own]
    return spread * spread.T
