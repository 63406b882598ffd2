"""What a matrix may be: an array of NumPy, or a sparse one of SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from typing_extensions import TypeIs

SparseMatrix = sp.csr_array | sp.csc_array | sp.coo_array
"""Of two dimensions."""

Matrix = np.ndarray | SparseMatrix


def is_sparse(array: object) -> TypeIs[SparseMatrix]:
    """Whether it is one of SciPy's."""
    return sp.issparse(array)
