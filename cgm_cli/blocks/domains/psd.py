"""Positive semidefinite matrices of bounded or fixed trace: the spectrahedron."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import scipy.linalg
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.blocks.domains.spectral import (
    DENSE_CERTIFICATE,
    enough_pairs,
    is_symmetric,
    project_eigenvalues,
    scaled_product,
    smallest_sum,
    solver_options,
)
from cgm_cli.numerics.eigen import smallest_eigenpairs
from cgm_cli.numerics.projections import project_capped_simplex, project_simplex
from cgm_cli.spec.fields import BlockSpec, Positive, Size


class PSDTrace(Domain):
    """{X symmetric n x n, X >= 0 (semidefinite), tr X <= r} or, with trace "equal", tr X = r.

    LMO: with lambda the smallest eigenvalue of V and u its unit vector, the minimum of <V, X> is r lambda at r u u^T;
    where only tr X <= r is asked and lambda >= 0, it is 0 at X = 0.
    """

    class Spec(BlockSpec):
        kind: Literal["psd"]
        size: Size = Field(description="n: the matrices are n x n")
        radius: Positive = Field(1.0, description="r, the trace or its bound")
        trace: Literal["at-most", "equal"] = Field("at-most", description="tr X <= r, or tr X = r")
        examples: ClassVar = [
            {"kind": "psd", "size": 5, "radius": 2.0},
            {"kind": "psd", "size": 5, "radius": 2.0, "trace": "equal"},
            {"kind": "psd", "size": 80, "radius": 3.0},
            {"kind": "psd", "size": 1, "trace": "equal"},
        ]

        def build(self, context) -> PSDTrace:
            return PSDTrace(self.size, self.radius, self.trace == "equal")

    symmetric = True
    spectral = True

    def __init__(self, size: int, radius: float, fixed_trace: bool):
        self.shape = (size, size)
        self.radius = radius
        self.fixed_trace = fixed_trace
        if size > 1:
            self.diameter = float(np.sqrt(2.0)) * radius
        else:
            self.diameter = 0.0 if fixed_trace else radius

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        n, peak = self.shape[0], direction.peak()
        if peak == 0.0:
            atom = self.start() if self.fixed_trace else SparseAtom.zero(self.shape)
            return OracleAnswer(atom, 0.0, 0.0, warm=request.warm)
        scale = self.radius * peak
        pairs = smallest_eigenpairs(
            scaled_product(direction, peak), n, 1, enough=enough_pairs(request, scale), **solver_options(request)
        )
        theta, residual = float(pairs.values[0]), float(pairs.residuals[0])
        if self.fixed_trace or theta < 0.0:
            atom, value, lower = LowRankAtom.symmetric(pairs.vectors, np.array([self.radius])), theta, theta - residual
        else:
            atom, value, lower = SparseAtom.zero(self.shape), 0.0, min(0.0, theta - residual)
        return OracleAnswer(
            atom,
            scale * value,
            scale * lower,
            exact=pairs.exact,
            products=pairs.products,
            residual=residual / max(abs(theta), np.finfo(float).tiny),
            converged=pairs.converged,
            warm=pairs.vectors,
        )

    def restricted(self, left: int, right: int) -> PSDTrace:
        return PSDTrace(left, self.radius, self.fixed_trace)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The eigenvalues go to the simplex of sum r, or of sum at most r (spectral sets project so)."""
        nearest = project_simplex if self.fixed_trace else project_capped_simplex
        return project_eigenvalues(x, lambda values: nearest(values, self.radius))

    def certified_minimum(self, direction: Direction) -> float | None:
        if self.shape[0] > DENSE_CERTIFICATE:
            return None
        smallest = smallest_sum(direction, 1)
        return self.radius * (smallest if self.fixed_trace else min(0.0, smallest))

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        slack = tolerance * max(1.0, self.radius)
        trace = float(np.trace(x))
        fits = abs(trace - self.radius) <= slack if self.fixed_trace else trace <= self.radius + slack
        return bool(is_symmetric(x, slack) and fits and scipy.linalg.eigvalsh(x)[0] >= -slack)

    def start(self) -> Atom:
        """Zero; for a fixed trace (r / n) 1 1^T, whose diagonal is constant."""
        if not self.fixed_trace:
            return SparseAtom.zero(self.shape)
        n = self.shape[0]
        return LowRankAtom.symmetric(np.full((n, 1), 1.0 / np.sqrt(n)), np.array([self.radius]))
