"""The sums of the columns of a matrix."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.atoms import Atom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import Direction, OuterSum
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.row_sums import WRITTEN_OUT
from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec


class ColumnSums(LinearMap):
    """X -> X^T 1 for an (m, n) matrix; |X^T 1| <= sqrt(m) |X|_F, met by equal entries. The adjoint is y -> 1 y^T."""

    needs_array = False

    class Spec(BlockSpec):
        kind: Literal["column-sums"]

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "column-sums"}]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> ColumnSums:
            return ColumnSums(in_shape)

    def __init__(self, in_shape: tuple[int, ...]):
        """Raises ProblemError unless points are matrices."""
        if len(in_shape) != 2:
            raise ProblemError(f"column sums need a matrix, but a point of the domain is {named(in_shape)}")
        self.in_shape = in_shape
        self.out_shape = (in_shape[1],)
        self.norm = float(np.sqrt(in_shape[0]))
        self.norm_bound = self.norm * (1.0 + 1e-15)

    def rows(self) -> sp.csr_array | None:
        """Ones at the entries of the column, which are n apart."""
        (m, n), size = self.in_shape, math.prod(self.in_shape)
        if size > WRITTEN_OUT:
            return None
        places = np.arange(size).reshape(m, n).T.reshape(-1)
        return sp.csr_array((np.ones(size), places, np.arange(0, size + 1, m)), shape=(n, size))

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x.sum(axis=0)

    def adjoint(self, y: np.ndarray) -> Direction:
        return OuterSum(rows=np.zeros(self.in_shape[0]), columns=y)

    def forward_atom(self, atom: Atom) -> np.ndarray:
        """R diag(w) L^T 1 = R (w * L^T 1) for a low-rank atom."""
        if isinstance(atom, LowRankAtom):
            return atom.right @ (atom.weights * atom.left.sum(axis=0))
        if isinstance(atom, SparseAtom):
            return np.bincount(atom.indices % self.in_shape[1], atom.values, minlength=self.in_shape[1])
        return self.forward(atom.dense())
