"""Positive semidefinite matrices of bounded or fixed trace: the spectrahedron."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import Direction, SparseDirection, SumDirection
from cgm_cli.blocks.domains.base import OracleAnswer, OracleRequest, TraceBound
from cgm_cli.blocks.domains.spectral import EigenDomain, is_symmetric
from cgm_cli.numerics.projections import project_capped_simplex, project_simplex
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive, Size


class PSDTrace(EigenDomain):
    """{X symmetric n x n, X >= 0 (semidefinite), tr X <= r} or, with trace "equal", tr X = r.

    LMO: with lambda the smallest eigenvalue of V and u its unit vector, the minimum of <V, X> is r lambda at r u u^T;
    where only tr X <= r is asked and lambda >= 0, it is 0 at X = 0.
    """

    projects = True

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

        def build(self, context: BuildContext) -> PSDTrace:
            return PSDTrace(self.size, self.radius, self.trace == "equal")

    count = 1
    on_whole_sphere = True

    def __init__(
        self,
        size: int,
        radius: float,
        fixed_trace: bool,
        expected: float | None = None,
        trace_called: tuple[str, ...] = (),
        parts: tuple[int, ...] = (),
    ):
        """expected: of the length of solutions, where the radius is a guess on the safe side. trace_called: see
        `TraceBound`. parts: sizes (`cgm_cli.numerics.blockwise`) of those along the diagonal which are all
        that counts of X; left out: X is one.
        """
        self.parts = parts or (size,)
        self.shape, self.expected, self.trace_called = (size, size), expected, trace_called
        self.radius = self.weight = self.trace = radius
        self.fixed_trace = fixed_trace
        if size > 1:
            self.diameter = float(np.sqrt(2.0)) * radius
        else:
            self.diameter = 0.0 if fixed_trace else radius

    @property
    def sizing(self) -> str | None:
        return None if self.fixed_trace else "radius"

    @property
    def cone(self) -> TraceBound:
        return TraceBound((self.shape[0],), self.radius, self.fixed_trace, self.trace_called)

    def extreme(self, direction: Direction, peak: float, request: OracleRequest) -> OracleAnswer:
        found = super().extreme(direction, peak, request)
        if self.fixed_trace or found.value < 0.0:
            return found
        return replace(
            found,
            atom=SparseAtom.zero(self.shape),
            value=0.0,
            lower=min(0.0, found.lower),
            surplus=max(0.0, found.lower),
        )

    def lowered(self, direction: Direction, by: float) -> Direction | None:
        """Less a multiple of I: an error of rounding is at most tr X / r of what it is over X."""
        if self.fixed_trace:
            return None
        identity = sp.csr_array(sp.eye_array(self.shape[0])) * (-by / self.radius)
        return SumDirection((direction, SparseDirection(identity, symmetric=True)))

    def restricted(self, left: np.ndarray, right: np.ndarray) -> PSDTrace:
        return PSDTrace(left.shape[1], self.radius, self.fixed_trace)

    def nearest_eigenvalues(self, values: np.ndarray) -> np.ndarray:
        """In the simplex of sum r, or of sum at most r."""
        return (project_simplex if self.fixed_trace else project_capped_simplex)(values, self.radius)

    def least(self, total: float) -> float:
        least = super().least(total)
        return least if self.fixed_trace else min(0.0, least)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        slack = tolerance * self.radius
        trace = float(np.trace(x))
        fits = abs(trace - self.radius) <= slack if self.fixed_trace else trace <= self.radius + slack
        return bool(is_symmetric(x, slack) and fits and scipy.linalg.eigvalsh(x)[0] >= -slack)

    def start(self) -> Atom:
        """Zero; for a fixed trace (r / n) 1 1^T, whose diagonal is constant."""
        if not self.fixed_trace:
            return SparseAtom.zero(self.shape)
        n = self.shape[0]
        return LowRankAtom.symmetric(np.full((n, 1), 1.0 / np.sqrt(n)), np.array([self.radius]))
