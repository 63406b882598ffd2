"""A lower bound on the smallest eigenvalue of a matrix known by its products, right with a stated probability.

A polynomial that is at most one on the spectrum and huge below it shows an eigenvalue there, if there is one, in what
it makes of a random vector. Chebyshev's grow fastest, and their recurrence keeps nothing but two vectors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cgm_cli.numerics.eigen import smallest_eigenpairs

STEPS = 500
"""The degree of the polynomial: what the bound loses falls with its square."""

COLUMNS = 8
"""Random vectors: that all of them miss an eigenvector is so much rarer than that one does. More cost more products."""

LOOK = 50
"""Steps between two looks at the bound."""

_EPS = float(np.finfo(float).eps)


def random_floor(
    multiply: Callable[[np.ndarray], np.ndarray],
    n: int,
    guess: float,
    failure: float,
    rng: np.random.Generator,
    steps: int = STEPS,
) -> float:
    """A number that is at most the smallest eigenvalue of the symmetric n x n matrix A, but for a `failure`
    probability over what is drawn here; multiply(b) = A b for b of shape (n, r).

    guess: about the smallest eigenvalue; the better it is, the better is the bound, which lies below it.

    With x = (lambda_min - middle) / half the place of lambda_min relative to an interval, T_m the Chebyshev polynomial,
    u the unit eigenvector and b a Gaussian vector, |T_m(x)| |<u, b>| <= |T_m((A - middle) / half) b|. Of `COLUMNS`
    vectors b one has |<u, b>| > d = sqrt(pi / 2) failure^(1 / COLUMNS) but for that probability: the density of <u, b>
    is at most 1 / sqrt(2 pi). Hence |T_m(x)| <= M / d for the longest of the results, M, and T_m(cosh t) = cosh(m t)
    tells how far below the interval x may be. That holds for every interval, and every m at once; where the interval
    is the spectrum, M is no longer than b. (The idea: Kuczynski and Wozniakowski, SIAM J. Matrix Anal. Appl. 13, 1992,
    and, for polynomials, van Dorsselaer, Hochstenbach and van der Vorst, ibid. 22, 2000.)

    Rounding: an error e_j of the j-th step counts in the m-th as U_(m-j)(x) <u, e_j>, U the polynomials of the second
    kind, which are at most (m - j + 1) T_m(x). So d is lessened by the sum of (m - j + 1) |e_j|; a product with A is
    taken to err by n eps |A|.
    """
    low, high, size = _interval(multiply, n, guess)
    start = rng.standard_normal((n, COLUMNS))
    seen = np.sqrt(0.5 * np.pi) * failure ** (1.0 / COLUMNS)
    # Far above the smallest eigenvalue the vectors grow until their rounding errors hide what is sought.
    while (below := _below(multiply, start, low, high, 2.0 * (n + 8) * _EPS * size, seen, steps)) is None:
        low -= high - low
    return below - 8 * _EPS * size


def _below(multiply, start, low, high, rounding, seen, steps) -> float | None:
    """The best that the interval and the vectors prove with up to so many steps; None for nothing."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    former, current = start, (multiply(start) - middle * start) / half
    once = summed = _longest(former) + _longest(current)  # sums of |e_j| half / rounding, and (m - j + 1) times that
    best = None
    for m in range(1, steps + 1):
        if m % LOOK == 0 or m == steps:
            longest, left = _longest(current), seen - rounding / half * summed
            if not (np.isfinite(longest) and left > 0.0):
                break
            floor = middle - half * float(np.cosh(np.arccosh(max(1.0, longest / left)) / m))
            best = floor if best is None else max(best, floor)
        following = multiply(current)
        following -= middle * current
        following *= 2.0 / half
        following -= former
        former, current = current, following
        once += _longest(former) + _longest(current)
        summed += once
    return best


def _interval(multiply, n: int, guess: float) -> tuple[float, float, float]:
    """From the guess to the largest eigenvalue, roughly, and how large A is. No narrower than a thousandth of that: in
    less, a step would be rounded too much.
    """
    rng = np.random.default_rng(0)
    top = smallest_eigenpairs(lambda b: -multiply(b), n, 1, tolerance=1e-2, rng=rng, max_products=100)
    high = float(-top.values[0] + top.residuals[0])
    size = max(abs(guess), abs(high), np.finfo(float).tiny)
    return guess, max(high, guess + 1e-3 * size), size


def _longest(block: np.ndarray) -> float:
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.einsum("ij,ij->j", block, block).max()))
