"""The diagonal of a square matrix."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.atoms import Atom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import DiagonalDirection, Direction
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec


class Diagonal(LinearMap):
    """X -> diag(X) for an (n, n) matrix. The adjoint is y -> Diag(y)."""

    norm = norm_bound = 1.0
    needs_array = False
    is_diagonal = True

    class Spec(BlockSpec):
        kind: Literal["diagonal"]

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "diagonal"}]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Diagonal:
            return Diagonal(in_shape)

    def __init__(self, in_shape: tuple[int, ...]):
        """Raises ProblemError unless points are square matrices."""
        if len(in_shape) != 2 or in_shape[0] != in_shape[1]:
            raise ProblemError(f"a diagonal needs a square matrix, but a point of the domain is {named(in_shape)}")
        self.in_shape = in_shape
        self.out_shape = (in_shape[0],)

    def rows(self) -> sp.csr_array:
        n = self.in_shape[0]
        return sp.csr_array((np.ones(n), np.arange(n) * (n + 1), np.arange(n + 1)), shape=(n, n * n))

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x.diagonal().copy()

    def adjoint(self, y: np.ndarray) -> Direction:
        return DiagonalDirection(y)

    def forward_atom(self, atom: Atom) -> np.ndarray:
        """Entry i of a low-rank atom is sum_r left_ir w_r right_ir."""
        if isinstance(atom, LowRankAtom):
            # Two factors take half of the time of three.
            left = atom.left if np.all(atom.weights == 1.0) else atom.left * atom.weights
            return np.einsum("ir,ir->i", left, atom.right)
        if isinstance(atom, SparseAtom):
            rows, columns = np.divmod(atom.indices, self.in_shape[1])
            out = np.zeros(self.out_shape)
            out[rows[rows == columns]] = atom.values[rows == columns]
            return out
        return self.forward(atom.dense())
