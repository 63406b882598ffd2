"""Columns of a sparse matrix that are each other's opposites."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def opposite_columns(matrix: sp.csc_array) -> np.ndarray:
    """Pairs (2, k) of columns with the same entries but for their signs, to the last bit; each is in one pair at the
    most, and columns of zeros are in none.
    """
    matrix = sp.csc_array(matrix)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    waiting = dict[tuple[bytes, bytes], list[int]]()
    pairs = list[tuple[int, int]]()
    for column in range(matrix.shape[1]):
        held = slice(*matrix.indptr[column : column + 2])
        where, values = matrix.indices[held].tobytes(), matrix.data[held]
        if not values.size:
            continue
        if others := waiting.get((where, (-values).tobytes())):
            pairs.append((others.pop(), column))
        else:
            waiting.setdefault((where, values.tobytes()), []).append(column)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T
