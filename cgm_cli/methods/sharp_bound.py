"""The bound of a dual point in extended precision.

Where constraints are nearly dependent, multipliers are as many times as large as the objective, and what is left of
c + A^T y, and of <b, y>, has lost as many digits. What these duals prove is told once the sums are made in more digits:
for a linear f, and sets of which every entry of the image has its own interval, by

    F*  >=  min over X of <c + sum_i A_i^T y_i, .>  -  sum_i sum_k max(l_k y_k, u_k y_k).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.dual_point import DualPoint

_EPS, _FINE = float(np.finfo(float).eps), float(np.finfo(np.longdouble).eps)

LARGEST = 2_000_000
"""Entries of matrices up to which it is done: a tenth of a second."""


def sharp_bound(problem: CompositeProblem, dual: DualPoint) -> float | None:
    """None where the problem is not of that form, or too large, and where this machine has no more digits."""
    loss, domain = problem.loss, problem.domain
    linear = loss is None or loss.cost is not None
    if not linear or domain.spectral or domain.symmetric or _FINE >= _EPS:
        return None
    slopes = np.zeros(math.prod(domain.shape), np.longdouble)
    if loss is not None and loss.cost is not None:
        slopes += loss.cost.dense().reshape(-1)
    sizes, constant, added, count = np.abs(slopes), np.longdouble(0.0), np.longdouble(0.0), slopes.size
    for term, duals in zip(problem.terms, dual.duals, strict=True):
        intervals, y = term.penalty.intervals, duals.reshape(-1).astype(np.longdouble)
        if intervals is None or term.map.work > LARGEST or (rows := term.rows()) is None:
            return None
        columns = sp.csr_array(rows.T.astype(np.longdouble))
        slopes = slopes + columns @ y
        sizes = sizes + abs(columns) @ np.abs(y)
        used = np.flatnonzero(y)
        products = y[used] * np.where(y > 0.0, intervals[1].reshape(-1), intervals[0].reshape(-1))[used]
        constant, added, count = constant - products.sum(), added + np.abs(products).sum(), count + y.size
    rounded = slopes.astype(float)
    minimum = domain.certified_minimum(DenseDirection(rounded.reshape(domain.shape)))
    if minimum is None or not np.isfinite(constant):
        return None
    limits = domain.entry_limits
    reach = np.full(slopes.size, domain.radius) if limits is None else limits.reshape(-1)
    lost = count * _FINE * float(sizes @ reach + added) + _EPS * float(np.abs(rounded) @ reach)
    return float(constant + minimum) - lost - 4 * _EPS * (abs(float(constant)) + abs(minimum))
