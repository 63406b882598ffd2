"""Whether equations contradict each other on X, by however little, as those do whose data were rounded.

With the equations A x = b of all terms and any y,

    <y, b - A x>  >=  h(y) = <y, b> - max over X of <A^T y, .>     for all x in X,

so that h(y) > 0 proves that no x meets them, and that every x misses them by h(y) / |y| at least. Such a y is the
combination that is left of rows which are combinations of others, or else the residual b' - A' x at the least squares
over X; of equations that others nearly imply it is their rests that are taken, A' = T A
(cgm_cli.methods.corrections.rests), which are as steep as the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections.bounded_form import BoundedForm
from cgm_cli.methods.corrections.bounded_newton import BoundedNewton
from cgm_cli.methods.corrections.rests import Apart, apart
from cgm_cli.numerics.deadline import NEVER

STEPS, SETTLED = 40, 1e-9
"""Of Newton's method for the least squares, at the most; and the error that ends them."""

WORK = 5e8
"""Operations of a step up to which the question is asked: a second for all of them."""

ROUNDING = 64.0 * float(np.finfo(float).eps)
"""What h(y) may be off by, relative to the sum of the magnitudes that are added."""


def least_miss(problem: CompositeProblem) -> float:
    """A tau > 0 with: every x of X misses the equations by a relative infeasibility of tau, in one term at least. Zero
    where none is proven: X is not given by rows and bounds, the maps have no rows, or there may be such an x.
    """
    terms = [t for t in problem.terms if t.penalty.is_point and t.map.rows() is not None]
    if problem.domain.polyhedron is None or not terms:
        return 0.0
    parts = [_Part.of(problem, term) for term in terms]
    rows = sp.csr_array(sp.vstack([part.rows for part in parts]))
    right = np.concatenate([part.right for part in parts])
    ends = np.cumsum([part.right.size for part in parts])[:-1]
    most = 0.0
    for y in _combinations(problem, rows, right):
        lengths = map(np.linalg.norm, np.split(y, ends))
        size = sum(float(length) * part.scale for length, part in zip(lengths, parts, strict=True))
        most = max(most, _height(problem, rows, right, y) / (size or 1.0))
    return most


@dataclass(frozen=True)
class _Part:
    """The equations of a term: A_i, b_i, and what their infeasibility is relative to, at the most."""

    rows: sp.csr_array
    right: np.ndarray
    scale: float

    @classmethod
    def of(cls, problem: CompositeProblem, term: Term) -> _Part:
        rows = term.map.rows()
        assert rows is not None
        right = term.penalty.prox(np.zeros(term.map.out_shape), 1.0).reshape(-1)
        scale = problem.image_scale(term, float(np.linalg.norm(right)), problem.domain.radius)
        return cls(rows, right, scale)


def _combinations(problem: CompositeProblem, rows: sp.csr_array, right: np.ndarray) -> Iterator[np.ndarray]:
    """The y that may prove it."""
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).reshape(-1))
    lengths[lengths == 0.0] = 1.0
    unit = sp.csr_array(sp.diags_array(1.0 / lengths) @ rows)
    told = apart(unit, right / lengths)
    if told.contradiction is not None:
        yield told.contradiction / lengths
    y = _residual(problem, told, unit, right / lengths)
    if y is not None:
        yield told.combined.T @ y / lengths


def _residual(problem: CompositeProblem, told: Apart, rows: sp.csr_array, right: np.ndarray) -> np.ndarray | None:
    """T b - T A x at the x of X where it is shortest, or near it."""
    shape = problem.domain.shape
    images, target = sp.csr_array(told.combined @ rows), told.combined @ right
    form = BoundedForm(CompositeProblem(problem.domain, LeastSquares(MatrixMap(images, shape), target)))
    if form.work > WORK:
        return None
    newton = BoundedNewton(form, 1.0)
    at = newton.start(newton.reach)
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            for _ in range(STEPS):
                at = newton.next(at, NEVER)
                if newton.errors(at)[2] < SETTLED:
                    break
    except (np.linalg.LinAlgError, FloatingPointError):
        pass  # rounding lets no step go further: whatever y the point so far gives is proven by itself
    return target - images @ form.point(at.z).reshape(-1)


def _height(problem: CompositeProblem, rows: sp.csr_array, right: np.ndarray, y: np.ndarray) -> float:
    """At most h(y), rounding included."""
    direction = rows.T @ y
    smallest = problem.domain.certified_minimum(DenseDirection(-direction.reshape(problem.domain.shape)))
    if smallest is None:
        return 0.0
    cancelled = abs(rows).T @ np.abs(y)
    limits, reach = problem.domain.entry_limits, float(np.linalg.norm(cancelled)) * problem.domain.radius
    reach = reach if limits is None else min(reach, float(cancelled @ limits.reshape(-1)))
    worth = float(y @ right)
    return worth + smallest - ROUNDING * (float(np.abs(y) @ np.abs(right)) + reach)
