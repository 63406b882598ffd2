"""Multipliers of X >= 0 in the relaxation of k-means, in closed form, that belong to a clustering (Iguchi, Mixon,
Peterson and Villar, Mathematical Programming 165, 2017).

The slack C + z I - (a 1^T + 1 a^T) / 2 - N of an optimal X = sum_C 1_C 1_C^T / m_C is zero on every 1_C. Within the
clusters that gives a, and between them the row sums of N: with A_b the sum of a over b,

    A_b  =  1_b^T C 1_b / m_b + z,    a_i  =  (2 (C 1_a)_i + 2 z - A_a) / m_a
    r_ib  =  (N 1_b)_i  =  (C 1_b)_i - (m_b a_i + A_b) / 2,    N_ij  =  r_ib r_ja / (sum of r_ib over i in a)

z is the largest for which r >= 0, but for a few entries, which are cut off.
"""

from __future__ import annotations

import numpy as np

LOW = 0.01
"""The part of the entries that may be cut off at zero in the closed form: of overlapping clusters some always are, and
the largest z at which none is lies far from the best.
"""


def closed_form(sums: np.ndarray, own: np.ndarray) -> np.ndarray:
    """G >= 0 (s, K), zero in each point's own cluster, with N_ij = G_ib G_ja for i in a, j in b.

    sums (s, K): C 1_b; own (s,): the cluster of each point, from 0, none of them empty.
    """
    if sums.shape[1] == 1:
        return np.zeros_like(sums)
    member = (own[:, None] == np.arange(sums.shape[1])).astype(float)
    sizes = member.sum(axis=0)
    within = (sums * member).sum(axis=0) / sizes
    mine = sums[np.arange(own.size), own]
    row = (2.0 * mine - within[own]) / sizes[own]
    across = member == 0.0
    at_zero = sums - 0.5 * (row[:, None] * sizes + within)
    slope = 0.5 * (sizes / sizes[own][:, None] + 1.0)
    z = np.quantile((at_zero / slope)[across], LOW)
    r = np.where(across, np.maximum(at_zero - z * slope, 0.0), 0.0)
    totals = member.T @ r
    scale = (totals * totals.T) ** 0.25
    return r / np.where(scale > 0.0, scale, 1.0)[own]
