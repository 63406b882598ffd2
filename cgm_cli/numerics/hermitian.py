"""Complex Hermitian matrices as real symmetric ones of twice the order. With W = [I, i I] and

    E(H) = [[Re H, -Im H], [Im H, Re H]] = Re W^* H W,

which is symmetric and has every eigenvalue of H twice, <E(H), Z> = <H, W Z W^*> for every real symmetric Z, where
<H, X> = Re tr(H^* X); for H = I, the traces of Z and W Z W^* are the same. What Z >= 0 (semidefinite) stands for is
semidefinite again, of no larger rank, and every Hermitian X is had from Z = E(X) / 2: programs in X and in Z have the
same values, multipliers and traces, and slacks H and E(H).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.arrays import Matrix, is_sparse, parts_of


def embedded(matrix: Matrix) -> np.ndarray | sp.csr_array:
    """E(H), (2n, 2n), of a matrix H (n, n), which may be real."""
    real, imaginary = parts_of(matrix)
    rows: Any = [[real, -imaginary], [imaginary, real]]
    if not is_sparse(matrix):
        return np.block(rows)
    whole = sp.csr_array(sp.block_array(rows))
    whole.eliminate_zeros()
    return whole


def folded_factor(left: np.ndarray) -> np.ndarray:
    """W F, (n, k), of a real F (2n, k)."""
    n = len(left) // 2
    return left[:n] + 1j * left[n:]


def unfolded_factor(columns: np.ndarray) -> np.ndarray:
    """The real F (2n, k) with W F = V, of a complex V (n, k)."""
    return np.concatenate([np.real(columns), np.imag(columns)])


def folded(matrix: np.ndarray) -> np.ndarray:
    """W Z W^*, (n, n), Hermitian to the last bit where Z (2n, 2n) is symmetric so."""
    n = len(matrix) // 2
    return matrix[:n, :n] + matrix[n:, n:] + 1j * (matrix[n:, :n] - matrix[:n, n:])
