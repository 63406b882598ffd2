"""Direct sums of positive semidefinite matrices and of numbers that are not negative, under one trace bound."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, SparseAtom
from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest, TraceBound
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.blockwise import Blocks, Bottom
from cgm_cli.numerics.eigh import some_eigenpairs
from cgm_cli.numerics.projections import project_capped_simplex, project_simplex
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, FromFloat, Positive


class PSDBlocks(Domain):
    """Direct sums X of symmetric matrices >= 0 (semidefinite) and vectors >= 0, with tr X <= r or tr X = r.

    The trace of a vector is its sum. A point is flat: its blocks one after the other, the n^2 entries of a matrix in C
    order. LMO: with lambda the smallest of all eigenvalues of the blocks of V and entries of its vectors, the minimum
    of <V, X> is r lambda, at r u u^T in the block of that eigenvector; where only tr X <= r is asked and lambda >= 0,
    it is 0 at X = 0.
    """

    projects = True

    class Spec(BlockSpec):
        kind: Literal["psd-blocks"]
        sizes: list[Annotated[int, FromFloat]] = Field(
            min_length=1, description="of the blocks: n of a matrix n x n, -n of a vector of n numbers >= 0"
        )
        radius: Positive = Field(1.0, description="r, the trace of all blocks together or its bound")
        trace: Literal["at-most", "equal"] = Field("at-most", description="tr X <= r, or tr X = r")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "psd-blocks", "sizes": [3, 3, -2], "radius": 2.0},
            {"kind": "psd-blocks", "sizes": [4, -1, 2], "radius": 2.0, "trace": "equal"},
            {"kind": "psd-blocks", "sizes": [-3]},
            {"kind": "psd-blocks", "sizes": [1], "trace": "equal"},
        ]

        def build(self, context: BuildContext) -> PSDBlocks:
            return PSDBlocks(tuple(self.sizes), self.radius, self.trace == "equal")

    def __init__(
        self,
        sizes: tuple[int, ...],
        radius: float,
        fixed_trace: bool,
        expected: float | None = None,
        trace_called: tuple[str, ...] = (),
    ):
        """expected: of the length of solutions, where the radius is a guess on the safe side. trace_called: see
        `TraceBound`. Raises ProblemError for a block of size 0.
        """
        if 0 in sizes:
            raise ProblemError("a block of size 0", ("sizes",))
        self.blocks, self.fixed_trace = Blocks(sizes), fixed_trace
        self.shape = (self.blocks.entries,)
        self.radius, self.expected, self.trace_called = radius, expected, trace_called
        order = self.blocks.order
        self.diameter = float(np.sqrt(2.0)) * radius if order > 1 else 0.0 if fixed_trace else radius

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.blocks.sizes

    @property
    def sizing(self) -> str | None:
        return None if self.fixed_trace else "radius"

    @property
    def factorised(self) -> int:
        return self.blocks.largest

    @property
    def cone(self) -> TraceBound:
        return TraceBound(self.blocks.sizes, self.radius, self.fixed_trace, self.trace_called)

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        v = direction.dense()
        bottom = self.blocks.bottom(v)
        lower = self.radius * (bottom.value - bottom.error)
        if bottom.value >= 0.0 and not self.fixed_trace:
            zero = SparseAtom.zero(self.shape)
            return OracleAnswer(zero, 0.0, min(0.0, lower), exact=True, surplus=max(0.0, lower))
        return OracleAnswer(self._extreme(bottom, v), self.radius * bottom.value, lower, exact=True)

    def lowered(self, direction: Direction, by: float) -> Direction | None:
        """Less a multiple of I: an error of rounding is at most tr X / r of what it is over X."""
        if self.fixed_trace:
            return None
        return DenseDirection(direction.dense() - by / self.radius * self.identity)

    def _extreme(self, bottom: Bottom, v: np.ndarray) -> Atom:
        """r u u^T in one block, with u the bottom eigenvector of that block of v."""
        stack, place = bottom.stack, bottom.place
        if stack.n == 0:
            return SparseAtom.one_hot(self.shape, stack.start + place, self.radius)
        block = stack.of(v)[place]
        _, vectors = some_eigenpairs(0.5 * (block + block.T), 0, 0)
        entries = self.radius * np.outer(vectors, vectors).reshape(-1)
        first = stack.start + place * stack.n**2
        return SparseAtom(self.shape, np.arange(first, first + entries.size), entries)

    def rounding(self, direction: Direction) -> float:
        return 0.0

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        slack, trace = tolerance * self.radius, self.trace_of(x)
        fits = abs(trace - self.radius) <= slack if self.fixed_trace else trace <= self.radius + slack
        symmetric = np.abs(x - self.blocks.symmetric(x)).max(initial=0.0) <= slack
        return bool(fits and symmetric and self.blocks.bottom(x).value >= -slack)

    def trace_of(self, x: np.ndarray) -> float:
        return float(np.vdot(self.identity, x))

    @cached_property
    def identity(self) -> np.ndarray:
        """I, as a point is: ones for vectors."""
        return self.blocks.identity()

    def project(self, x: np.ndarray) -> np.ndarray:
        """Eigenvalues are replaced by the nearest ones, those of all blocks together (spectral sets project so)."""
        parts = self.blocks.eigenvalues(x)
        whole = np.concatenate([values.reshape(-1) for values, _ in parts])
        nearest = (project_simplex if self.fixed_trace else project_capped_simplex)(whole, self.radius)
        cuts = np.cumsum([values.size for values, _ in parts])[:-1]
        pieces = zip(np.split(nearest, cuts), parts, strict=True)
        return self.blocks.composed([(piece.reshape(values.shape), vectors) for piece, (values, vectors) in pieces])

    def parallel(self, direction: np.ndarray) -> np.ndarray:
        """Without its multiple of the identity, where the trace is fixed."""
        if not self.fixed_trace:
            return direction
        return direction - self.trace_of(direction) / self.blocks.order * self.identity

    def start(self) -> Atom:
        """Zero; for a fixed trace the multiple of the identity."""
        if not self.fixed_trace:
            return SparseAtom.zero(self.shape)
        places = np.flatnonzero(self.identity)
        return SparseAtom(self.shape, places, np.full(places.size, self.radius / places.size))
