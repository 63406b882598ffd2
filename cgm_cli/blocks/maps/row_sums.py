"""The sums of the rows of a matrix."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.atoms import Atom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import Direction, OuterSum
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec

WRITTEN_OUT = 4_000_000
"""Entries of X up to which rows are written out for whoever asks for them: interior-point steps, up to as many."""


class RowSums(LinearMap):
    """X -> X 1 for an (m, n) matrix; |X 1| <= sqrt(n) |X|_F, attained by equal entries. The adjoint is y -> y 1^T."""

    sums_rows = True

    needs_array = False

    class Spec(BlockSpec):
        kind: Literal["row-sums"]

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "row-sums"}]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> RowSums:
            return RowSums(in_shape)

    def __init__(self, in_shape: tuple[int, ...]):
        """Raises ProblemError unless points are matrices."""
        if len(in_shape) != 2:
            raise ProblemError(f"row sums need a matrix, but a point of the domain is {named(in_shape)}")
        self.in_shape = in_shape
        self.out_shape = (in_shape[0],)
        self.norm = float(np.sqrt(in_shape[1]))
        self.norm_bound = self.norm * (1.0 + 1e-15)

    def rows(self) -> sp.csr_array | None:
        """Ones at the entries of the row, which stand behind each other."""
        (m, n), size = self.in_shape, math.prod(self.in_shape)
        if size > WRITTEN_OUT:
            return None
        return sp.csr_array((np.ones(size), np.arange(size), np.arange(0, size + 1, n)), shape=(m, size))

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x.sum(axis=1)

    def adjoint(self, y: np.ndarray) -> Direction:
        return OuterSum(rows=y, columns=np.zeros(self.in_shape[1]))

    def forward_atom(self, atom: Atom) -> np.ndarray:
        """L diag(w) R^T 1 = L (w * R^T 1) for a low-rank atom."""
        if isinstance(atom, LowRankAtom):
            return atom.left @ (atom.weights * atom.right.sum(axis=0))
        if isinstance(atom, SparseAtom):
            return np.bincount(atom.indices // self.in_shape[1], atom.values, minlength=self.in_shape[0])
        return self.forward(atom.dense())
