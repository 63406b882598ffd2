"""The inner product with a fixed array: the map under a linear objective. Not in the registry: specs say `linear`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.atoms import Atom, DenseAtom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import DenseDirection, Direction, SparseDirection
from cgm_cli.blocks.factored_direction import FactoredDirection
from cgm_cli.blocks.fitting import fit, named
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.numerics.lookup import positions
from cgm_cli.numerics.projections import safe_norm

_EPS = float(np.finfo(float).eps)

Cost = Matrix | LowRankAtom
"""C: an array, a sparse matrix, or U diag(w) U^T."""


class InnerProduct(LinearMap):
    """x -> <C, x>, of shape (), for a dense C of the shape of x, a sparse matrix, or a symmetric one of low rank.
    |A| = |C|_F, attained by C.
    """

    out_shape = ()
    needs_array = False

    def __init__(self, cost: Cost, in_shape: tuple[int, ...]):
        """Raises ProblemError if the cost does not have the shape of a point."""
        self.in_shape = in_shape
        if isinstance(cost, LowRankAtom):
            self.direction = FactoredDirection(cost.left, cost.weights)
            self.norm, entries = self.direction.size(), cost.left.size
        elif is_sparse(cost):
            if cost.shape != in_shape:
                raise ProblemError(f"the cost is {named(cost.shape)}, but the domain is {named(in_shape)}")
            matrix = sp.csr_array(cost)
            matrix.sum_duplicates()
            self.norm, entries = safe_norm(matrix.data), matrix.nnz
            rows = np.repeat(np.arange(in_shape[0], dtype=np.intp), np.diff(matrix.indptr))
            self._keys, self._values = rows * in_shape[1] + matrix.indices, matrix.data
            same = in_shape[0] == in_shape[1] and abs(matrix - matrix.T).max() == 0.0
            self.direction = SparseDirection(matrix, symmetric=bool(same))
        else:
            array = np.ascontiguousarray(fit(cost, in_shape, "the cost", "the domain"))
            self.norm, entries = safe_norm(array), array.size
            same = array.ndim == 2 and array.shape[0] == array.shape[1] and np.array_equal(array, array.T)
            peak = float(max(array.max(initial=0.0), -array.min(initial=0.0)))
            self.direction = DenseDirection(array, symmetric=bool(same), known_peak=peak)
        self.norm_bound = self.norm * (1.0 + (entries + 4) * _EPS)

    def forward(self, x: np.ndarray) -> np.ndarray:
        if isinstance(self.direction, SparseDirection):
            return np.array(self._values @ x.reshape(-1)[self._keys])
        if isinstance(self.direction, FactoredDirection):
            return self._of_columns(DenseAtom(x))
        return np.array(np.vdot(self.direction.array, x))

    def adjoint(self, y: np.ndarray) -> Direction:
        return self.direction.scaled(float(y))

    def forward_atom(self, atom: Atom) -> np.ndarray:
        """<C, L diag(w) R^T> = sum_r w_r <L_r, C R_r>: products with C, which read one triangle if it is symmetric."""
        if isinstance(self.direction, FactoredDirection):
            return self._of_columns(atom)
        if isinstance(atom, LowRankAtom):
            if atom.weights.size == 1:  # the product with a vector costs less than that with a one-column matrix
                image = self.direction.matmat(np.ascontiguousarray(atom.right[:, 0]))
                return np.array(atom.weights[0] * (atom.left[:, 0] @ image))
            return np.array(self.direction.inner(atom))
        if isinstance(self.direction, DenseDirection):
            return np.array(atom.inner(self.direction.array))
        if isinstance(atom, SparseAtom):
            found, place = positions(self._keys, atom.indices)
            return np.array(self._values[place] @ atom.values[found])
        return self.forward(atom.dense())

    def _of_columns(self, x: Atom) -> np.ndarray:
        """sum_k w_k <u_k, x u_k>."""
        assert isinstance(self.direction, FactoredDirection)
        columns = self.direction.columns
        return np.array(self.direction.weights @ np.diagonal(x.compressed(columns, columns)))
