"""Sparse principal components without a relaxation: which variables can be part of one, and vectors that are good.

A unit vector x has the penalised variance x^T S x - rho (sum |x_i|)^2, which is <S, X> - rho sum |X_ij| at X = x x^T.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg
from scipy.sparse.csgraph import connected_components

ROUNDING = 1e-12
"""Relative error that an eigenvalue is allowed when variables are left out for it."""

STEPS = 100
"""Of the truncated power method, which ends by itself as soon as it chooses the same variables again."""

SIZES = 60
"""Numbers of variables that are tried where their number is open."""


def penalised_variance(covariance: np.ndarray, x: np.ndarray, penalty: float) -> float:
    return float(x @ covariance @ x) - penalty * float(np.abs(x).sum()) ** 2


def needed(covariance: np.ndarray, penalty: float) -> np.ndarray:
    """The variables (sorted) that the maximum of <S, X> - rho sum |X_ij| over tr X = 1, X >= 0 (semidefinite) needs:
    that over their rows and columns alone is the same.

    The maximum is the minimum over |U_ij| <= rho of lambda_max(S - U). Join i and j where |S_ij| > rho. Between
    components U_ij = S_ij is allowed and leaves blocks along the diagonal, so the maximum is the largest one of a
    component. That of a component is at most lambda_max of its entries thresholded softly by rho, and one that thereby
    does not pass max S_ii - rho, which X = e_i e_i^T attains, is left out.
    """
    joined = np.abs(covariance) > penalty
    np.fill_diagonal(joined, False)
    count, component = connected_components(joined, directed=False)
    variances = covariance.diagonal()
    best = int(np.argmax(variances))
    reached = variances[best] - penalty
    sizes = np.bincount(component, minlength=count)
    kept = component == component[best]
    for each in np.flatnonzero(sizes > 1):
        inside = np.flatnonzero(component == each)
        part = covariance[np.ix_(inside, inside)]
        soft = np.sign(part) * np.maximum(np.abs(part) - penalty, 0.0)
        np.fill_diagonal(soft, part.diagonal() - penalty)
        if _largest(soft)[0] > reached - ROUNDING * float(np.abs(part).max()):
            kept[inside] = True
    return np.flatnonzero(kept)


def sparse_vector(covariance: np.ndarray, guess: np.ndarray, most: int | None, penalty: float) -> np.ndarray:
    """A unit vector of large penalised variance, near the guess, with at most `most` entries that are not zero; as many
    as are good if that is None.

    covariance (n, n), guess (n,), not zero. For each number of variables the largest entries of the guess are taken.
    On them, with the signs s of the guess, the penalised variance is that of S - rho s s^T, whose first eigenvector is
    taken. Where the number is given, the variables are then improved by the truncated power method (Yuan and Zhang,
    JMLR 14, 2013), begun there and at the largest variances.
    """
    found = list(_of_sizes(covariance, guess, most, penalty))
    if most is not None:
        found += [_power(covariance, found[-1], most), _power(covariance, _chosen(covariance.diagonal(), most), most)]
    values = [penalised_variance(covariance, x, penalty) for x in found]
    return found[int(np.argmax(values))]


def _of_sizes(covariance: np.ndarray, guess: np.ndarray, most: int | None, penalty: float) -> Iterator[np.ndarray]:
    """The best of each number of variables, or of `most` alone."""
    order = np.argsort(-np.abs(guess), kind="stable")
    n = guess.size
    sizes = [min(most, n)] if most is not None else np.unique(np.geomspace(1, n, min(n, SIZES)).round().astype(int))
    for size in sizes:
        inside = order[:size]
        signs = np.where(guess[inside] < 0.0, -1.0, 1.0)
        part = covariance[np.ix_(inside, inside)] - penalty * np.outer(signs, signs)
        x = np.zeros(n)
        x[inside] = _largest(part)[1]
        yield x


def _power(covariance: np.ndarray, x: np.ndarray, most: int) -> np.ndarray:
    """x <- S x, all but its largest entries set to zero, until they are the same ones; then the best of these."""
    last = np.flatnonzero(x)
    for _ in range(STEPS):
        image = covariance @ x
        if not image.any():
            return x
        x = _chosen(image, most)
        support = np.flatnonzero(x)
        if np.array_equal(support, last):
            break
        last = support
    out = np.zeros(x.size)
    out[last] = _largest(covariance[np.ix_(last, last)])[1]
    return out


def _chosen(vector: np.ndarray, most: int) -> np.ndarray:
    """Its largest entries, of length 1 together."""
    out = np.zeros(vector.size)
    inside = np.argsort(-np.abs(vector), kind="stable")[:most]
    out[inside] = vector[inside]
    return out / (float(np.linalg.norm(out)) or 1.0)


def _largest(matrix: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest eigenvalue, and its unit vector."""
    last = len(matrix) - 1
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=(last, last))
    return float(values[0]), vectors[:, 0]
