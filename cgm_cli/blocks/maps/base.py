"""What every map is: a linear A with its adjoint, its norm, and a short way to map an atom."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction
from cgm_cli.numerics.arrays import Matrix


class LinearMap(ABC):
    """A linear map from arrays of shape `in_shape` to arrays of shape `out_shape`.

    `norm` is |A| = max |A x| / |x| in Euclidean (Frobenius) norms, as near as it can be had: what step sizes, smoothing
    and scaling are chosen by. `norm_bound` is at least |A|, rounding errors included: what proofs rest on.

    What a map says of itself, and what is taken for true where it says nothing: `needs_array`: x, or the direction
    A^T y, has to be written out (a map that works on the factors of a matrix says no); `is_identity`: A x is x;
    `is_diagonal`: A x is the diagonal of x; `sums_rows`: A x are the sums of its rows.
    """

    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    norm: float
    norm_bound: float = math.inf
    needs_array: bool = True
    is_identity: bool = False
    is_diagonal: bool = False
    sums_rows: bool = False
    trusts: tuple[str, ...] = ()
    """Functions of the user's that are believed to be A and its adjoint."""

    @property
    def explicit(self) -> Matrix | None:
        """The matrix that acts on the entries of x in C order, where there is one; None where it is not kept."""
        return None

    def rows(self) -> sp.csr_array | None:
        """That matrix, sparse, made anew where it is not kept; None where there is none, or one too large for it."""
        matrix = self.explicit
        return None if matrix is None else sp.csr_array(matrix)

    @property
    def reads(self) -> slice:
        """Which entries of x, in C order, A x may depend on."""
        return slice(0, math.prod(self.in_shape))

    @property
    def work(self) -> int:
        """About how many operations a product takes: those of reading x and writing A x, unless there is a matrix."""
        return math.prod(self.in_shape) + math.prod(self.out_shape)

    @abstractmethod
    def forward(self, x: np.ndarray) -> np.ndarray:
        """A x."""

    @abstractmethod
    def adjoint(self, y: np.ndarray) -> Direction:
        """A^T y, as the direction an LMO receives."""

    def forward_atom(self, atom: Atom) -> np.ndarray:
        """A s for an atom; subclasses override it where the atom's form makes it cheaper than writing it out."""
        return self.forward(atom.dense())


def rows_of(linear: LinearMap) -> sp.csr_array | None:
    """`rows`, those of the identity among them, which asks for nothing to be multiplied where it stands alone."""
    return sp.csr_array(sp.eye_array(math.prod(linear.in_shape))) if linear.is_identity else linear.rows()
