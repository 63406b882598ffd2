"""Newton's method for the nearest point of a spectrahedron under equations: min 1/2 |x - g|^2 over x in X, A x = b.

The dual d(y) = min over X of 1/2 |x - g|^2 + <y, A x - b> is attained at x(y) = P_X(g - A^T y), its gradient is
A x(y) - b, and a generalised second derivative -A D A^T, D the derivative of the projection. Steps of

    (A D A^T + mu I) h = A x(y) - b,

by conjugate gradients, converge quadratically (Qi and Sun, SIAM J. Matrix Anal. Appl. 28, 2006, of nearest correlation
matrices; Malick, SIAM J. Matrix Anal. Appl. 26, 2004, of the dual). The bound of the loop at x(y) and y is d(y) itself,
whose distance from the optimum is about the square of what A x misses.

With u = g - A^T y = Q diag(u_i) Q^T, x(y) = Q diag(p) Q^T where p = (u - t)_+, for some t where the trace is bounded:

    D[V] = Q (W o (Q^T V Q)) Q^T,    w_ij = (p_i - p_j) / (u_i - u_j), or 1 and 0 where p_i = p_j,

less the mean of the entries of Q^T V Q on the diagonal at which p > 0, from these, where the trace is at its bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.decisive import decisive_move
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.eigh import eigenpairs

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

SOLVED, ROUNDS = 0.02, 200
"""The part of the residual of a Newton equation that is left at the most, and steps of conjugate gradients. Less is
left where |A x - b| is a smaller part of |b|, so that steps stay quadratic ones.
"""

REGULARISED = 1e-6
"""mu over that part: it vanishes with it, too (Qi and Sun)."""

ASCENT, HALVINGS = 1e-4, 30
"""The part of what the slope promises that a step has to gain, and how often it is halved for that."""

DONE = 1e-14
"""Part of |b| that |A x - b| is nothing but rounding of."""


def takes(problem: CompositeProblem) -> bool:
    """Whether it is such a problem: over matrices, with terms that are equations alone."""
    loss, domain = problem.loss, problem.domain
    if loss is None or loss.squares is None or not loss.map.is_identity or not problem.terms:
        return False
    if domain.cone is None or domain.eigenvalues is None or len(domain.shape) != 2:
        return False
    return all(term.penalty.only_point is not None for term in problem.terms)


@dataclass(frozen=True)
class DualPointOfProjection:
    """y (m,), the terms one after the other; the eigenvalues (n,) and eigenvectors (n, n) of u; worth: d(y).
    residual (m,): A x - b. ended: no step gains anything.
    """

    y: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    residual: np.ndarray
    worth: float
    ended: bool = False


@dataclass(frozen=True)
class ProjectionNewton:
    """Newton steps for the dual of a projection, one a turn."""

    problem: CompositeProblem

    class Spec(CorrectionSpec):
        kind: Literal["projection-newton"] = "projection-newton"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "projection-newton"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> ProjectionNewton:
            """Raises ProblemError for any other problem."""
            if not takes(problem):
                raise ProblemError(
                    "`correction: projection-newton` takes least squares of all entries over `psd`, under equations "
                    "alone: the nearest matrix to a given one",
                    ("correction",),
                )
            return ProjectionNewton(problem)

    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> DualPointOfProjection:
        return self._at(np.zeros(self._starts[-1]))

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """Eigenvectors, x, u, slopes, and what products with them take."""
        return 10 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory = state.correction
        assert isinstance(memory, DualPointOfProjection)
        if not memory.ended:
            memory = self._ahead(memory, deadline)
        return decisive_move(self.problem, self._x(memory), self._split(memory.y), memory, is_last=memory.ended)

    def _ahead(self, point: DualPointOfProjection, deadline: Deadline) -> DualPointOfProjection:
        """After a Newton step."""
        length = float(np.linalg.norm(point.residual))
        if length <= DONE * (float(np.linalg.norm(self._right)) or 1.0):
            return replace(point, ended=True)
        step = self._step(point, length, deadline)
        slope, share = float(step @ point.residual), 1.0
        for _ in range(HALVINGS):
            deadline.check()
            ahead = self._at(point.y + share * step)
            if ahead.worth >= point.worth + ASCENT * share * slope:
                return ahead
            # Next to the solution rounding hides what is gained, and the residual tells.
            if share == 1.0 and float(np.linalg.norm(ahead.residual)) < 0.5 * length:
                return ahead
            share *= 0.5
        return replace(point, ended=True)

    def _step(self, point: DualPointOfProjection, length: float, deadline: Deadline) -> np.ndarray:
        """h of the Newton equation, roughly."""
        # Imported here: `cgm list` looks at every policy.
        from scipy.sparse.linalg import LinearOperator, cg

        slopes, inside, bounded = self._slopes(point)
        part = min(1.0, length / (float(np.linalg.norm(self._right)) or 1.0))
        shift = REGULARISED * part

        def times(h: np.ndarray) -> np.ndarray:
            deadline.check()
            turned = point.vectors.T @ self._back(h) @ point.vectors
            inner = slopes * turned
            if bounded and inside.any():
                inner[inside, inside] -= float(turned.diagonal()[inside].mean())
            return self._forward(point.vectors @ inner, point.vectors) + shift * h

        size = point.y.size
        operator = LinearOperator((size, size), matvec=times, dtype=float)  # pyright: ignore[reportCallIssue]
        return cg(operator, point.residual, rtol=min(SOLVED, part), maxiter=ROUNDS)[0]

    def _slopes(self, point: DualPointOfProjection) -> tuple[np.ndarray, np.ndarray, bool]:
        """w (n, n); where p > 0; whether the trace is at its bound."""
        p = self._nearest(point.values)
        inside = p > 0.0
        rises, runs = p[:, None] - p, point.values[:, None] - point.values
        even = (inside[:, None] & inside).astype(float)
        slopes = np.divide(rises, runs, out=even, where=(rises != 0.0) & (runs != 0.0))
        cone = self.problem.domain.cone
        assert cone is not None
        total = float(np.maximum(point.values, 0.0).sum())
        return slopes, inside, cone.fixed or total > cone.trace

    def _at(self, y: np.ndarray) -> DualPointOfProjection:
        loss = self.problem.loss
        assert loss is not None and loss.squares is not None
        target = loss.squares.reshape(self.problem.domain.shape)
        values, vectors = eigenpairs(0.5 * (target + target.T) - self._back(y))
        p = self._nearest(values)
        residual = self._forward(vectors * p, vectors) - self._right
        x = (vectors * p) @ vectors.T
        worth = 0.5 * float(np.square(x - target).sum()) + float(y @ residual)
        return DualPointOfProjection(y, values, vectors, residual, worth)

    def _x(self, point: DualPointOfProjection) -> np.ndarray:
        return (point.vectors * self._nearest(point.values)) @ point.vectors.T

    def _nearest(self, values: np.ndarray) -> np.ndarray:
        eigenvalues = self.problem.domain.eigenvalues
        assert eigenvalues is not None
        return eigenvalues.nearest_eigenvalues(values)

    def _forward(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """A of left right^T, (m,)."""
        atom = LowRankAtom(left, np.ones(self.problem.domain.shape[0]), right)
        images: list[np.ndarray] = [term.map.forward_atom(atom).reshape(-1) for term in self.problem.terms]
        return np.concatenate(images)

    def _back(self, y: np.ndarray) -> np.ndarray:
        """A^T y, symmetric (n, n)."""
        out = np.zeros(self.problem.domain.shape)
        for term, part in zip(self.problem.terms, self._split(y), strict=True):
            term.map.adjoint(part).add_to(out)
        return 0.5 * (out + out.T)

    @property
    def _right(self) -> np.ndarray:
        """b (m,)."""
        return np.concatenate([point.reshape(-1) for point in self._points()])

    def _points(self) -> Iterator[np.ndarray]:
        for term in self.problem.terms:
            point = term.penalty.only_point
            assert point is not None
            yield point

    @property
    def _starts(self) -> list[int]:
        return list(accumulate((math.prod(term.map.out_shape) for term in self.problem.terms), initial=0))

    def _split(self, y: np.ndarray) -> list[np.ndarray]:
        """y_i of each term, in its shape."""
        starts = self._starts
        ends = zip(starts, starts[1:], self.problem.terms, strict=False)
        return [y[first:end].reshape(term.map.out_shape) for first, end, term in ends]
