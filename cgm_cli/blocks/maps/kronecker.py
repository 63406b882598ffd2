"""The Kronecker product of two matrices, as a map of matrices."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.fitting import named, numbers
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ErrorCollector, ProblemError
from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.numerics.norms import norm_bound, operator_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec


class Kronecker(LinearMap):
    """X -> A X B^T for an (m, n) matrix X, with A (p, m) and B (q, n). The adjoint is Y -> A^T Y B.

    The norm is |A| |B|: on the entries of X in C order it is the Kronecker product of A and B, whose singular values
    are all products of one of A and one of B.
    """

    class Spec(BlockSpec):
        kind: Literal["kronecker"]
        left: ArrayField = Field(..., description="A, one column per row of a point")
        right: ArrayField = Field(..., description="B, one column per column of a point")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "kronecker", "left": [[1, 0, 2], [0.5, 1, -1]], "right": [[1, -1, 0], [0, 1, 1]]},
            {"kind": "kronecker", "left": [[1, -1, 0, 0]], "right": [[1, 0, 0], [0, 2, 0], [0, 0, 3], [1, 1, 1]]},
            {"kind": "kronecker", "left": [[2]], "right": [[-0.5]]},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Kronecker:
            faults, sides = ErrorCollector(), dict[str, Matrix]()
            for name in ("left", "right"):
                with faults.part(name):
                    sides[name] = context.matrix(getattr(self, name))
            faults.raise_all()
            return Kronecker(sides["left"], sides["right"], in_shape)

    def __init__(self, left: Matrix, right: Matrix, in_shape: tuple[int, ...]):
        """Raises ProblemError unless points are matrices whose sides are the columns of `left` and `right`."""
        if len(in_shape) != 2:
            raise ProblemError(f"a Kronecker map needs a matrix, but a point of the domain is {named(in_shape)}")
        self.left, self.right = (
            sp.csr_array(side) if is_sparse(side) else numbers(side, f"the {called} matrix")
            for side, called in ((left, "left"), (right, "right"))
        )
        for side, called, length, what in (
            (self.left, "left", in_shape[0], "rows"),
            (self.right, "right", in_shape[1], "columns"),
        ):
            if side.ndim != 2 or side.shape[1] != length:
                raise ProblemError(f"the {called} matrix is {named(side.shape)}, but points have {length} {what}")
        self.in_shape, self.out_shape = in_shape, (self.left.shape[0], self.right.shape[0])
        norms = operator_norm(self.left), operator_norm(self.right)
        self.norm = norms[0] * norms[1]
        bounds = norm_bound(self.left, norms[0]), norm_bound(self.right, norms[1])
        self.norm_bound = bounds[0] * bounds[1] * (1.0 + 1e-15)

    @property
    def work(self) -> int:
        entries = [side.nnz if is_sparse(side) else side.size for side in (self.left, self.right)]
        return entries[0] * self.in_shape[1] + self.out_shape[0] * entries[1]

    def forward(self, x: np.ndarray) -> np.ndarray:
        return (self.right @ (self.left @ x).T).T

    def adjoint(self, y: np.ndarray) -> Direction:
        return DenseDirection(np.ascontiguousarray((self.right.T @ (self.left.T @ y).T).T))

    def forward_atom(self, atom: Atom) -> np.ndarray:
        """(A L) diag(w) (B R)^T for a low-rank atom."""
        if isinstance(atom, LowRankAtom):
            return ((self.left @ atom.left) * atom.weights) @ (self.right @ atom.right).T
        return self.forward(atom.dense())
