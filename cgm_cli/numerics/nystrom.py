"""Nystrom's approximation of a positive semidefinite matrix that is known by its products with a few vectors only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cgm_cli.numerics.projections import safe_norm

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Approximation:
    """vectors diag(values) vectors^T: vectors (n, R) orthonormal, values (R,) >= 0, the largest first.

    shift: what was added to the diagonal of the matrix meanwhile.
    """

    vectors: np.ndarray
    values: np.ndarray
    shift: float

    def missing(self, trace: float) -> float:
        """A bound on |X - approximation|_*, given tr X: tr X - sum of values, and 2 n shift for the shift.

        Of a semidefinite X, Nystrom's approximation leaves a semidefinite rest, whose nuclear norm is its trace.
        """
        return max(0.0, trace - float(self.values.sum())) + 2.0 * self.vectors.shape[0] * self.shift


def nystrom(sketch: np.ndarray, basis: np.ndarray) -> Approximation:
    """S (W^T S)^+ S^T for S = X W (`sketch`), X (n, n) positive semidefinite, W (n, R) orthonormal (`basis`).

    With a shift s = sqrt(n) eps |S|_F for stability: of X + s I, by a Cholesky factor C of its core W^T (S + s W) and
    the singular values of (S + s W) C^-1, whose squares less s are the eigenvalues, none below zero. Tropp, Yurtsever,
    Udell and Cevher, NIPS 2017, Algorithm 3; Yurtsever, Tropp, Fercoq, Udell and Cevher, "Scalable semidefinite
    programming", SIMODS 2021, Algorithm 5.1.
    """
    n, columns = sketch.shape
    shift = float(np.sqrt(n)) * _EPS * safe_norm(sketch)
    if shift == 0.0:
        return Approximation(basis, np.zeros(columns), 0.0)
    while True:
        shifted = sketch + shift * basis
        core = basis.T @ shifted
        try:
            triangle = scipy.linalg.cholesky(0.5 * (core + core.T), overwrite_a=True)
            break
        except np.linalg.LinAlgError:  # the rounding errors of many steps are larger than that, if n is small
            shift *= 10.0
    half = scipy.linalg.solve_triangular(triangle, shifted.T, trans="T").T
    vectors, roots, _ = scipy.linalg.svd(half, full_matrices=False, overwrite_a=True)
    return Approximation(vectors, np.maximum(roots**2 - shift, 0.0), shift)
