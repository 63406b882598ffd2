"""A lower bound on the k-means value of all points from one random subset of them.

Let S be a uniformly random subset of s of the n points, q = s / n, and C one of the clusters of a clustering of all,
with n_C points, the within-cluster sum W_C, and m_C points in S. Given m_C, they are a uniform subset of C, and their
own within-cluster sum W_C(S) has the mean (m_C - 1) / (n_C - 1) W_C. Hence, for n_C >= 2,

    E (1 + (1 - q) / m_C) W_C(S)  =  W_C / (n_C - 1) (q n_C - q P(m_C > 0) - (1 - q) E[1 / m_C; m_C > 0])  <=  q W_C

since E[1 / m_C; m_C > 0] >= P(m_C = 1) and, m_C being hypergeometric, (1 - q) P(m_C = 1) >= q n_C P(m_C = 0). So

    Q(S)  =  min over the clusterings of S of  sum_C (1 + (1 - q) / m_C) W_C(S)       has  E Q(S)  <=  q OPT

The plain value of S is below that by about k / s of it, the usual bias of a sample. In terms of the squared distances D
and X = sum_C 1_C 1_C^T / m_C, the sum is 1/2 <D, X> + (1 - q) / 2 <D, X o X>, which is convex in X >= 0: for every Y

    <D, X o X>  >=  2 <D o Y, X> - <D, Y o Y>

What is left is the relaxation of Peng and Wei with the cost D o (1 + 2 (1 - q) Y), here with the Y of the clustering of
S that is given: a good one loses little, and any one gives a bound.
"""

from __future__ import annotations

import numpy as np

from cgm_cli.certificates.splitting import best_dual_value
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.templates.clustering import kmeans_value, squared_distances

ROUNDING = 1e-12
"""What the constant of the tangent may be off by, relative: a sum of s^2 numbers that are none below zero."""


GAIN = 1e-3
"""Five steps of the relaxation have to be worth this part of the value: of 160 points, in the time for them a hundred
more rounds would gain as much within a minute.
"""


def subset_bound(
    points: np.ndarray, labels: np.ndarray, clusters: int, corrected: float, deadline: Deadline = NEVER
) -> float:
    """A certified lower bound, 0 if there is none, on the smallest sum of (1 + corrected / m_C) W_C(S) over all
    clusterings of the points (s, d) into so many clusters, two or more.

    labels (s,): a clustering, the better the better. corrected: 1 - q, or less.
    """
    distances = squared_distances(points)
    value = kmeans_value(points, labels, clusters)
    if clusters >= points.shape[0] or value == 0.0:
        return 0.0
    cost, constant = distances, 0.0
    if corrected > 0.0:
        member = labels[:, None] == labels
        tangent = member / member.sum(axis=1)
        cost = distances * (1.0 + 2.0 * corrected * tangent)
        constant = 0.5 * corrected * float(np.vdot(distances, tangent**2)) * (1.0 + ROUNDING)
    return max(0.0, 0.5 * best_dual_value(cost, labels, clusters, 2.0 * GAIN * value, deadline) - constant)
