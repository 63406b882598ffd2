"""The largest singular triplet of a matrix known by its products: the oracle of the nuclear-norm ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cgm_cli.numerics.eigen import DENSE_BELOW, rounding_error, smallest_eigenpairs
from cgm_cli.numerics.symmetric import Multiply


@dataclass(frozen=True)
class SingularTriplet:
    """value sigma, left u (m,), right v (n,); residual: |G^T u - sigma v|, or the rounding error when exact; products
    spent.
    """

    value: float
    left: np.ndarray
    right: np.ndarray
    residual: float
    products: int
    converged: bool
    exact: bool = False


def largest_singular_triplet(
    multiply: Multiply,
    multiply_transposed: Multiply,
    shape: tuple[int, int],
    *,
    tolerance: float,
    rng: np.random.Generator,
    start: np.ndarray | None = None,
    max_products: int = 10_000,
    enough: Callable[[float, float], bool] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> SingularTriplet:
    """The largest singular triplet of G (m, n), with multiply(V) = G @ V and multiply_transposed(U) = G^T @ U.

    By the smallest eigenpair of -G^T G (or of -G G^T when that is smaller): squaring costs accuracy in small singular
    values, not in the largest. `start` (n, 1) or (m, 1) is an approximate singular vector of the smaller side. The
    entries of G should be of order one. Raises nothing; `converged` says whether residual <= tolerance
    * sigma, or `enough(sigma, residual)`. Once `should_stop()` is true, the best so far will do.
    """
    if shape[0] < shape[1]:
        found = largest_singular_triplet(
            multiply_transposed,
            multiply,
            (shape[1], shape[0]),
            tolerance=tolerance,
            rng=rng,
            start=start,
            max_products=max_products,
            enough=enough,
            should_stop=should_stop,
        )
        return replace(found, left=found.right, right=found.left)
    n = shape[1]
    if (tolerance == 0.0 and enough is None) or n <= DENSE_BELOW:
        matrix = multiply(np.eye(n))
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        return SingularTriplet(
            float(values[0]), left[:, 0], right[0], rounding_error(matrix), n, converged=True, exact=True
        )
    pair = smallest_eigenpairs(
        lambda block: -multiply_transposed(multiply(block)),
        n,
        1,
        tolerance=tolerance,
        rng=rng,
        start=start,
        max_products=max(1, max_products // 2),
        enough=None if enough is None else _of_squares(enough),
        should_stop=should_stop,
    )
    right = pair.vectors[:, 0]
    image = multiply(right)
    value = float(np.linalg.norm(image))
    left = image / value if value > 0 else np.eye(shape[0], 1)[:, 0]
    residual = float(pair.residuals[0]) / value if value > 0 else 0.0
    return SingularTriplet(value, left, right, residual, 2 * pair.products + 1, pair.converged)


def _of_squares(enough: Callable[[float, float], bool]) -> Callable[[np.ndarray, np.ndarray], bool]:
    """`enough` asked about sigma, from -sigma^2 and the residual of its eigenvector."""

    def of_squares(squares: np.ndarray, residuals: np.ndarray) -> bool:
        value = float(np.sqrt(max(-float(squares[0]), 0.0)))
        return value > 0.0 and enough(value, float(residuals[0]) / value)

    return of_squares
