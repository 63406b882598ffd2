"""What a matrix may be: an array of NumPy, or a sparse one of SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from typing_extensions import TypeIs

SparseMatrix = sp.csr_array | sp.csc_array | sp.coo_array
"""Of two dimensions."""

Matrix = np.ndarray | SparseMatrix


def parts_of(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Its real and its imaginary part."""
    either: Any = matrix
    return either.real, either.imag


def joined(real: Matrix, imaginary: Matrix) -> Matrix:
    """The complex matrix of these parts, of one shape; sparse where both are."""
    either: Any = real
    return either + 1j * imaginary


def is_sparse(array: object) -> TypeIs[SparseMatrix]:
    """Whether it is one of SciPy's."""
    return sp.issparse(array)
