"""The norms that primal-dual steps are measured in.

A step may be longer along some entries than along others where projection and proxes are still what they were:

    |x|^2 = <x, C^-1 x>,    C = T Pi T        |y_i|^2 = <y_i, N_i^-1 y_i> / (w_i |A_i|^2)

Pi takes off directions along which X is flat (sum x = 1: all of X lies in a hyperplane, A x = (A + c 1^T) x - c there,
and no step is any shorter for such a c). T is diagonal, with units of the entries of x in which those of the A_i are of
one size, for a domain that projects in any units. N_i is

    (A_i C A_i^T)^-1           of an equation with few rows: they are then as good as orthonormal
    diag(A_i C A_i^T)^-1       of a separable g_i, but for a factor: rows are equally long
    a number                   of any other,

so that |N_i^1/2 A_i C^1/2| is one (Pock and Chambolle, "Diagonal preconditioning for first order primal-dual algorithms
in convex optimization", 2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.numerics.eigen import smallest_eigenpairs
from cgm_cli.numerics.equilibrium import equilibrated

ROWS, WORK = 600, 5e8
"""The most rows of a constraint that are made orthonormal, and operations that it may take to multiply them out."""

SMALLEST, NONE, DEPENDENT = 1e-8, 1e-13, 1e-4
"""Parts of the largest eigenvalue of A C A^T, once all rows are equally long: what smaller ones are raised to; and up
to which rows are dependent: only rounding is left of one of them; and what such ones are set to, so that what rounding
makes b miss is not multiplied by much, and what contradicts itself still shows soon.
"""

CONSTANT = 1e-7
"""Part of a row of A up to which that of A Pi is rounding, which A Pi A^T has as much of as its square: there A x is
constant on X.
"""

FEW, ACCURACY = 8, 1e-4
"""Entries of an image up to which a Gram matrix takes less than an iteration; and that of a norm, which has to be less
than what a step is shortened by anyway.
"""


LARGE, PRODUCTS = 100_000, 40
"""The order from which a norm is had from no more products than so many: ARPACK takes hundreds where eigenvalues lie
close, and of 10^6 entries that takes longer than the run may.
"""


class PrimalMetric:
    """C."""

    def __init__(self, problem: CompositeProblem):
        self._domain = problem.domain
        self._unit = _units(problem)
        self.is_plain = self._unit is None and problem.domain.parallel(probe := np.ones(problem.domain.shape)) is probe

    def times(self, direction: np.ndarray) -> np.ndarray:
        """C v, of which a step is a multiple."""
        if self._domain.symmetric:
            direction = 0.5 * (direction + direction.T)
        if self._unit is None:
            return self._domain.parallel(direction)
        return self._unit * self._domain.parallel(self._unit * direction)

    def coordinates(self, move: np.ndarray) -> np.ndarray:
        """A vector as long as a difference of points of X is in this norm."""
        return (move if self._unit is None else move / self._unit).reshape(-1)

    def through(self, linear: LinearMap, y: np.ndarray) -> np.ndarray:
        """A C A^T y."""
        return linear.forward(self.times(linear.adjoint(y).dense()))

    @property
    def radius(self) -> float:
        """Of X: in units of its own, half of the way between two vertices that are opposite each other."""
        if self._unit is None:
            return self._domain.radius
        probe = DenseDirection(np.random.default_rng(0).standard_normal(self._domain.shape))
        ends = [self._domain.lmo(probe.scaled(sign), OracleRequest()).atom.dense() for sign in (1.0, -1.0)]
        return 0.5 * math.sqrt(_square(self.coordinates(ends[1] - ends[0])))

    def objective_size(self, problem: CompositeProblem) -> float:
        """As `cgm_cli.methods.scaling` has it, of what the objective varies by over X alone; where nothing but rounding
        is left of that, of all of it.
        """
        radius, size, whole = self.radius, 0.0, 0.0
        if problem.loss is not None:
            loss = problem.loss
            slope = loss.map.adjoint(loss.gradient(loss.map.forward_atom(problem.first))).dense()
            size = math.sqrt(max(0.0, float(np.vdot(slope, self.times(slope))))) * radius
            size += 0.5 * self.curvature(loss) * radius**2
            units = 1.0 if self._unit is None else self._unit
            whole = math.sqrt(_square(units * slope)) * radius + 0.5 * loss.lipschitz * problem.domain.radius**2
        if size <= CONSTANT * whole:
            size = 0.0
        terms = [term for term in problem.terms if not term.penalty.is_set]
        varies = sum(t.penalty.lipschitz * self.norm(t.map) for t in terms) * radius
        most = sum(t.penalty.lipschitz * t.map.norm for t in terms) * radius
        return size or (varies if varies > CONSTANT * most else 0.0) or whole or most or 1.0

    def norm(self, linear: LinearMap, sizes: np.ndarray | float = 1.0) -> float:
        """|S A C^1/2| with S = diag(sizes)."""
        if self.is_plain and np.ndim(sizes) == 0:
            return linear.norm * float(sizes)
        shape = linear.out_shape
        return math.sqrt(
            _largest(lambda y: (sizes * self.through(linear, sizes * y.reshape(shape))).reshape(-1), math.prod(shape))
        )

    def gram(self, linear: LinearMap) -> np.ndarray:
        """A C A^T, entry by entry; zero where nothing but rounding is left of a row."""
        sparse = self._sparse_rows(linear)
        if sparse is not None:
            return (sparse @ sparse.T).toarray()
        rows = math.prod(linear.out_shape)
        found, kept = np.empty((rows, rows)), np.zeros(rows, dtype=bool)
        for row, unit in enumerate(np.eye(rows)):
            direction = linear.adjoint(unit.reshape(linear.out_shape)).dense()
            whole = _square(direction if self._unit is None else self._unit * direction)
            found[row] = linear.forward(self.times(direction)).reshape(-1)
            kept[row] = found[row, row] > CONSTANT**2 * whole
        return np.where(np.outer(kept, kept), 0.5 * (found + found.T), 0.0)

    def _sparse_rows(self, linear: LinearMap) -> sp.csr_array | None:
        """A C^1/2 where it is sparse, and Pi takes nothing off its rows, as a random combination of them shows."""
        rows, domain = sparse_rows(linear), self._domain
        if rows is None:
            return None
        if domain.symmetric:
            n = domain.shape[0]
            across = rows.indices % n * n + rows.indices // n
            rows = 0.5 * (rows + sp.csr_array((rows.data, across, rows.indptr), shape=rows.shape))
        if self._unit is not None:
            rows = rows * self._unit.reshape(1, -1)
        probe = (rows.T @ np.random.default_rng(0).standard_normal(rows.shape[0])).reshape(domain.shape)
        return sp.csr_array(rows) if np.array_equal(domain.parallel(probe), probe) else None

    def lengths(self, linear: LinearMap) -> np.ndarray | None:
        """Of the rows of A C^1/2; None where it would take long."""
        matrix = linear.explicit
        if matrix is not None and (self._unit is not None or self.is_plain):
            scaled = matrix if self._unit is None else matrix * self._unit.reshape(1, -1)
            return np.sqrt((scaled * scaled).sum(axis=1)).reshape(linear.out_shape)
        if not is_small(linear):
            return None
        return np.sqrt(np.maximum(np.diag(self.gram(linear)), 0.0)).reshape(linear.out_shape)

    def curvature(self, loss: Loss | None) -> float:
        """L_f in this norm."""
        if loss is None or loss.lipschitz == 0.0 or self.is_plain:
            return 0.0 if loss is None else loss.lipschitz
        return loss.lipschitz * (self.norm(loss.map) / loss.map.norm) ** 2


class DualMetric(Protocol):
    def step(self, y: np.ndarray, image: np.ndarray, sigma: float) -> np.ndarray:
        """The prox of sigma g* at y + sigma z, in the norm of y."""
        ...

    def coordinates(self, move: np.ndarray) -> np.ndarray:
        """A vector whose length is |y|."""
        ...


class Entrywise:
    """N is a number, or diagonal. shares: |A_i|^2 N."""

    def __init__(self, term: Term, shares: np.ndarray | float):
        self._penalty, self._weights = term.penalty, term.weight * shares

    def step(self, y: np.ndarray, image: np.ndarray, sigma: float) -> np.ndarray:
        """With b = 1 / sigma, it is the dual of the envelope g_b at z + b y."""
        steps = 1.0 / (sigma * self._weights)
        return self._penalty.dual(image + steps * y, steps)

    def coordinates(self, move: np.ndarray) -> np.ndarray:
        return (move / np.sqrt(self._weights)).reshape(-1)


class Orthonormal:
    """N is the inverse of a Gram matrix; gram: A C A^T / |A|^2. target: b of the equation."""

    def __init__(self, term: Term, target: np.ndarray, gram: np.ndarray):
        sizes = np.sqrt(np.maximum(np.diag(gram), 0.0))
        sizes[sizes == 0.0] = 1.0
        scale = np.outer(sizes, sizes)  # first of all rows are made equally long, then orthogonal
        values, vectors = scipy.linalg.eigh(gram / scale)
        peak = values[-1]
        values = np.where(values > NONE * peak, np.maximum(values, SMALLEST * peak), DEPENDENT * peak)
        self._weight, self._target = term.weight, target
        self._root, self._inverse = (vectors * np.sqrt(values)).T * sizes, (vectors / values) @ vectors.T / scale

    def step(self, y: np.ndarray, image: np.ndarray, sigma: float) -> np.ndarray:
        off = (image - self._target).reshape(-1)
        return y + (sigma * self._weight) * (self._inverse @ off).reshape(y.shape)

    def coordinates(self, move: np.ndarray) -> np.ndarray:
        return self._root @ move.reshape(-1) / math.sqrt(self._weight)


def dual_metric(primal: PrimalMetric, term: Term) -> DualMetric:
    """N of a term."""
    linear, target = term.map, term.penalty.only_point
    if linear.norm == 0.0:
        return Entrywise(term, 1.0)
    if target is not None and is_small(linear):
        gram = primal.gram(linear) / linear.norm**2
        sizes = np.diag(gram)
        if (sizes > 0.0).all() and np.count_nonzero(gram) == sizes.size:  # orthogonal as they are
            return Entrywise(term, (1.0 / sizes).reshape(target.shape))
        if gram.any():
            return Orthonormal(term, target, gram)
    lengths = primal.lengths(linear) if term.penalty.separable else None
    if lengths is not None and np.ptp(lengths) > 1e-9 * lengths.max():
        sizes = 1.0 / np.where(lengths > 0.0, lengths, lengths.max())
        return Entrywise(term, (linear.norm * sizes / primal.norm(linear, sizes)) ** 2)
    norm = primal.norm(linear)
    return Entrywise(term, (linear.norm / norm) ** 2 if norm > CONSTANT * linear.norm else 1.0)


def sparse_rows(linear: LinearMap) -> sp.csr_array | None:
    """The matrix of a map, where it is known and sparse."""
    return linear.rows() if linear.explicit is None or sp.issparse(linear.explicit) else None


def is_small(linear: LinearMap) -> bool:
    rows = math.prod(linear.out_shape)
    return rows <= ROWS and rows * linear.work <= WORK


def _units(problem: CompositeProblem) -> np.ndarray | None:
    """The diagonal of T."""
    shared = problem.domain.units
    matrices = [term.map.explicit for term in problem.terms]
    known = [matrix for matrix in matrices if matrix is not None]
    if shared is None or not known or len(known) < len(matrices):
        return None
    return equilibrated(known, shared.reshape(-1))[1].reshape(shared.shape)


def _largest(apply: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    """The largest eigenvalue of a positive semidefinite matrix."""
    if size <= FEW:
        columns = np.array([apply(unit) for unit in np.eye(size)])
        return max(0.0, float(scipy.linalg.eigvalsh(columns)[-1]))
    start = np.random.default_rng(0).standard_normal(size)
    if not apply(start).any():  # which ARPACK refuses; a random vector is in the kernel of nothing else
        return 0.0
    if size > LARGE:
        return _raised(apply, size)
    operator = LinearOperator((size, size), matvec=apply, dtype=float)
    found = eigsh(operator, k=1, which="LA", tol=ACCURACY, v0=start, return_eigenvectors=False)
    return max(0.0, float(found[0]))


def _raised(apply: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    """The same from few products, and raised by what it is then expected to be short of, relatively, from a random
    start (Kuczynski and Wozniakowski, "Estimating the largest eigenvalue by the power and Lanczos algorithms with a
    random start", SIAM J. Matrix Anal. Appl. 13, 1992).
    """
    rng = np.random.default_rng(0)
    found = smallest_eigenpairs(lambda v: -apply(v), size, 1, tolerance=ACCURACY, rng=rng, max_products=PRODUCTS)
    further = max(1, found.products - 1)
    short = 0.0 if found.converged else 0.103 * (math.log(size * further**2) / further) ** 2
    return max(0.0, -float(found.values[0])) * (1.0 + short)


def _square(move: np.ndarray) -> float:
    return float(np.vdot(move, move))
