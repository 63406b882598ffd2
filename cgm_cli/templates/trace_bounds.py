"""How large the trace of a solution can be: what the constraints themselves say of it.

Where some y makes A^*(y) >= I (semidefinite), every X >= 0 with A(X) = b has tr X <= <A^*(y), X> = b^T y; with A^*(y) =
I, that is what its trace is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr

from cgm_cli.numerics.blockwise import Blocks

EXACT = 1e-12
"""Part of I that A^*(y) may be off by, entry by entry, to be I up to rounding."""

STEPS, ACCURACY = 2000, 1e-15

GENEROUS = 1e6
"""How many times what the right-hand sides suggest the trace is taken to be at most, where nothing says how large it
is.
"""


@dataclass(frozen=True)
class TraceLimit:
    """radius: tr X is at most that or, with `exact`, equal to it. expected: where nobody says so, and the radius is a
    guess on the safe side, what it is likely to be about; else None. called: what the user calls the constraints that
    say it, or the option, where some do.
    """

    radius: float
    exact: bool = False
    expected: float | None = None
    called: tuple[str, ...] = ()


def trace_limit(blocks: Blocks, rows: sp.csr_array, right: np.ndarray, size: float = 0.0) -> TraceLimit:
    """Of all X >= 0 in these blocks with rows (m, N) times X = right (m,): implied by them, or else assumed. size: the
    largest bound of an inequality, its row brought to length one.
    """
    identity = blocks.identity()
    if rows.shape[0]:
        transpose = sp.csr_array(rows.T)
        y = lsmr(transpose, identity, atol=ACCURACY, btol=ACCURACY, maxiter=STEPS)[0]
        y = y + lsmr(transpose, identity - transpose @ y, atol=ACCURACY, btol=ACCURACY, maxiter=STEPS)[0]
        total = transpose @ y
        if np.abs(total - identity).max() <= EXACT and (radius := float(right @ y)) > 0.0:
            return TraceLimit(_rounded(radius), exact=True)
        bottom = blocks.bottom(total)
        least = bottom.value - bottom.error
        if least > 0.0 and float(right @ y) > 0.0:
            # A little more, for the rounding of the quotient and of A^*(y).
            return TraceLimit(float(right @ y) / least * (1.0 + 1e-9))
    expected = (max(size, largest_side(rows, right)) or 1.0) * blocks.order
    return TraceLimit(GENEROUS * expected, expected=expected)


def _rounded(radius: float) -> float:
    """A whole number, where it is one but for rounding, as data that say what a trace is nearly always have it."""
    nearest = float(round(radius))
    return nearest if nearest > 0.0 and abs(radius - nearest) <= 1e-10 * nearest else radius


def largest_side(rows: sp.csr_array, right: np.ndarray) -> float:
    """Of right-hand sides (m,), but for infinite ones, with rows (m, N) brought to length one; 0 of none."""
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).reshape(-1))
    sides = np.abs(right / np.where(lengths > 0.0, lengths, 1.0))
    return float(sides[np.isfinite(sides)].max(initial=0.0))
