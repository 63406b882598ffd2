"""A lower bound on the smallest eigenvalue of a matrix known by its products, right with a stated probability.

A polynomial that is at most one on the spectrum and huge below it shows an eigenvalue there, if there is one, in what
it makes of a random vector. Chebyshev's grow fastest, and their recurrence keeps nothing but two vectors.
"""

from __future__ import annotations

import numpy as np

from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.eigen import smallest_eigenpairs
from cgm_cli.numerics.symmetric import Multiply

DEGREE = 500
"""The degree of the polynomial: what the bound loses falls with its square, to 1.4e-4 of half the spectrum's width for
n = 50,000; and as many products with the block of vectors are spent.
"""

MISS = 0.075
"""The probability that one random vector may miss an eigenvector with: that all of several do is so much rarer. Eight
do for 1e-9. A smaller one would have the vectors show less of an eigenvector, and lose more of the bound.
"""

LOOK = 50
"""Steps between two looks at the bound: a deadline that comes before the first leaves nothing."""

NARROW, WIDENINGS = 1e-3, 60
"""The least width of an interval relative to A, and how often it is doubled: from there to any matrix in range."""

_EPS = float(np.finfo(float).eps)


def random_floor(
    multiply: Multiply,
    n: int,
    guess: float,
    failure: float,
    rng: np.random.Generator,
    degree: int = DEGREE,
    slack: float = 0.0,
    deadline: Deadline = NEVER,
) -> float | None:
    """A number that is at most the smallest eigenvalue of the symmetric n x n matrix A, but for a `failure`
    probability over what is drawn here; multiply(b) = A b for b of shape (n, r). None where rounding hides it, or the
    deadline comes before the first step.

    guess: about the smallest eigenvalue; the better it is, the better is the bound, which lies below it. slack: how far
    below is near enough. deadline: the bound is that of the steps that were taken by then.

    With x = (lambda_min - middle) / half the place of lambda_min relative to an interval, T_m the Chebyshev polynomial,
    u the unit eigenvector and b a Gaussian vector, |T_m(x)| |<u, b>| <= |T_m((A - middle) / half) b|. Of r vectors b
    one has |<u, b>| > d = sqrt(pi / 2) failure^(1 / r) but for that probability: the density of <u, b> is at most
    1 / sqrt(2 pi). Hence |T_m(x)| <= M / d for the longest of the results, M, and T_m(cosh t) = cosh(m t)
    tells how far below the interval x may be. That holds for every interval and every m at once, so that the best may
    be taken; where the interval is the spectrum, M is no longer than b. (The idea: Kuczynski and Wozniakowski, SIAM J.
    Matrix Anal. Appl. 13, 1992, and, for polynomials, van Dorsselaer, Hochstenbach and van der Vorst, ibid. 22, 2000.)

    Rounding: an error e_j of the j-th step counts in the m-th as U_(m-j)(x) <u, e_j>, U the polynomials of the second
    kind, which are at most (m - j + 1) |T_m(x)| in magnitude. So d is lessened by the sum of (m - j + 1) |e_j|; a
    product is taken to err by n eps |A|, with |A| read off the interval.
    """
    low, high = _interval(multiply, n, guess, deadline)
    columns, seen = _shown(failure)
    start = rng.standard_normal((n, columns))
    for _ in range(WIDENINGS):
        if deadline.should_stop():
            return None
        floor = _floor(multiply, start, low, high, seen, guess - slack, degree, deadline)
        if floor is not None:
            return floor
        # The interval began so far above that the vectors grew until their rounding errors hid what is sought.
        low -= high - low
    return None


def _shown(failure: float) -> tuple[int, float]:
    """How many Gaussian vectors are drawn, and the d that one of their coordinates exceeds but for this probability."""
    columns = int(np.ceil(np.log(failure) / np.log(MISS)))
    return columns, float(np.sqrt(0.5 * np.pi)) * failure ** (1.0 / columns)


def _interval(multiply: Multiply, n: int, guess: float, deadline: Deadline) -> tuple[float, float]:
    """From the guess to the largest eigenvalue, roughly."""
    top = smallest_eigenpairs(
        lambda b: -multiply(b),
        n,
        1,
        tolerance=1e-2,
        rng=np.random.default_rng(0),
        max_products=100,
        should_stop=deadline.part(0.2).should_stop,
    )
    high = float(top.residuals[0] - top.values[0])
    return guess, max(high, guess + NARROW * max(abs(guess), abs(high), np.finfo(float).tiny))


def _floor(
    multiply: Multiply,
    start: np.ndarray,
    low: float,
    high: float,
    seen: float,
    enough: float,
    degree: int,
    deadline: Deadline,
) -> float | None:
    """The best that one interval proves with up to so many steps, with those that are `enough`, or those before the
    deadline; None for nothing.
    """
    middle, half, size = 0.5 * (low + high), 0.5 * (high - low), max(abs(low), abs(high))
    rounding = 2.0 * (start.shape[0] + 8) * _EPS * size / half  # |e_j| relative to the vectors of the step
    former, current = start, (multiply(start) - middle * start) / half
    before, after = _longest(former), _longest(current)
    once = summed = before + after  # the sums over j of |e_j| and of (m - j + 1) |e_j|, both over `rounding`
    best = None
    for m in range(1, degree + 1):
        last = m == degree or deadline.should_stop()
        if m % LOOK == 0 or last:
            left = seen - rounding * summed
            if not (np.isfinite(after) and left > 0.0):
                break
            floor = middle - half * float(np.cosh(np.arccosh(max(1.0, after / left)) / m)) - 8 * _EPS * size
            best = floor if best is None else max(best, floor)
        if last or (best is not None and best >= enough):
            break
        following = multiply(current)
        following -= middle * current
        following *= 2.0 / half
        following -= former
        former, current = current, following
        before, after = after, _longest(current)
        once += before + after
        summed += once
    return best


def _longest(block: np.ndarray) -> float:
    """The length of the longest column."""
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.einsum("ij,ij->j", block, block).max()))
