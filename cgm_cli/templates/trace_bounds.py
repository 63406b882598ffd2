"""How large the trace of a solution can be: what the constraints themselves say of it.

Where some y makes A^*(y) >= I (semidefinite), every X >= 0 with A(X) = b has tr X <= <A^*(y), X> = b^T y; with A^*(y) =
I, that is what its trace is. Where A_i(X) <= b_i, the same holds, as a bound, for y_i >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr

from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.templates.largest_trace import of_the_largest_trace

EXACT = 1e-12
"""Part of I that A^*(y) may be off by, entry by entry, to be I up to rounding."""

STEPS, ACCURACY = 2000, 1e-15

ROOM = 1.1
"""How much more than upper bounds allow the trace may be: it is they that are to be met with equality, not its own."""

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


@dataclass(frozen=True)
class TraceProof:
    """y (m,) with A^*(y) = I, where it is `exact` and of equations alone, or A^*(y) >= I (semidefinite): positive
    entries go with upper bounds, negative ones with lower bounds, which are finite. tight: there are X whose trace is
    nearly b^T y.
    """

    y: np.ndarray
    exact: bool
    tight: bool = False


def trace_limit(blocks: Blocks, rows: sp.csr_array, lower: np.ndarray, upper: np.ndarray) -> TraceLimit:
    """Of all X >= 0 in these blocks with lower <= rows X <= upper, rows (m, N), bounds (m,): implied by them, or else
    assumed.
    """
    proof = trace_proof(blocks, rows, lower, upper)
    if proof is None:
        expected = _expected(blocks, rows, lower, upper)
        return TraceLimit(GENEROUS * expected, expected=expected)
    used = proof.y != 0.0
    radius = float(np.vdot(_sides(proof.y, lower, upper)[used], proof.y[used]))
    if proof.exact:
        return TraceLimit(_rounded(radius), exact=True)
    # A little more, for the rounding of the quotient and of A^*(y).
    room = 1.0 + 1e-9 if (lower == upper)[used].all() and not proof.tight else ROOM
    return TraceLimit(room * radius)


def limit_of_forms(vectors: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> TraceLimit:
    """Of X >= 0 with lower_i <= v_i^T X v_i <= upper_i, v_i the rows of a matrix (m, n): with V those that have upper
    bounds, V^T V >= t I makes the trace at most the sum of these over t.
    """
    blocks, bounded = Blocks((vectors.shape[1],)), np.isfinite(upper)
    chosen = vectors[bounded]
    least, total = blocks.lower_bound((chosen.T @ chosen).reshape(-1)), float(upper[bounded].sum())
    if least > 0.0 and total > 0.0:
        return TraceLimit((1.0 + 1e-9 if (lower == upper).all() else ROOM) * total / least)
    lengths = np.square(vectors).sum(axis=1)
    sides = np.abs(np.concatenate([lower, upper])) / np.tile(np.where(lengths > 0.0, lengths, 1.0), 2)
    expected = (float(sides[np.isfinite(sides)].max(initial=0.0)) or 1.0) * blocks.order
    return TraceLimit(GENEROUS * expected, expected=expected)


def trace_proof(blocks: Blocks, rows: sp.csr_array, lower: np.ndarray, upper: np.ndarray) -> TraceProof | None:
    """By least squares: of the equations or, where these say nothing, of all constraints; or else by the dual of the
    largest trace. None: they say nothing.
    """
    equal = lower == upper
    for chosen in (equal, np.ones(equal.size, dtype=bool)):
        found = _implied(blocks, rows[np.flatnonzero(chosen)], lower[chosen], upper[chosen])
        if found is not None:
            y = np.zeros(equal.size)
            y[chosen] = found.y
            return TraceProof(y, found.exact)
        if equal.all():
            break
    expected = _expected(blocks, rows, lower, upper)
    y = of_the_largest_trace(blocks, rows, lower, upper, GENEROUS * expected, expected)
    found = None if y is None else _proven(blocks, rows, lower, upper, y)
    return None if found is None else replace(found, tight=True)


def _implied(blocks: Blocks, rows: sp.csr_array, lower: np.ndarray, upper: np.ndarray) -> TraceProof | None:
    """With the y for which A^*(y) is nearest to I."""
    if not rows.shape[0]:
        return None
    identity, transpose = blocks.identity(), sp.csr_array(rows.T)
    y = lsmr(transpose, identity, atol=ACCURACY, btol=ACCURACY, maxiter=STEPS)[0]
    y = y + lsmr(transpose, identity - transpose @ y, atol=ACCURACY, btol=ACCURACY, maxiter=STEPS)[0]
    return _proven(blocks, rows, lower, upper, y)


def _proven(
    blocks: Blocks, rows: sp.csr_array, lower: np.ndarray, upper: np.ndarray, y: np.ndarray
) -> TraceProof | None:
    """With a multiple of y, less its entries that no finite bound goes with; None where it proves nothing."""
    right = _sides(y, lower, upper)
    y, right = np.where(np.isfinite(right), y, 0.0), np.where(np.isfinite(right), right, 0.0)
    total = rows.T @ y
    if not float(right @ y) > 0.0:
        return None
    if (lower == upper).all() and np.abs(total - blocks.identity()).max() <= EXACT:
        return TraceProof(y, exact=True)
    least = blocks.lower_bound(total)
    return TraceProof(y / least, exact=False) if least > 0.0 else None


def _expected(blocks: Blocks, rows: sp.csr_array, lower: np.ndarray, upper: np.ndarray) -> float:
    """What right-hand sides suggest that the trace of a solution is about."""
    return (max(largest_side(rows, lower), largest_side(rows, upper)) or 1.0) * blocks.order


def _sides(y: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """What b_i is, for which sum y_i A_i(X) <= b^T y: the upper bound beside a positive y_i, else the lower one."""
    return np.where(y > 0.0, upper, lower)


def _rounded(radius: float) -> float:
    """A whole number, where it is one but for rounding, as data that say what a trace is nearly always have it."""
    nearest = float(round(radius))
    return nearest if nearest > 0.0 and abs(radius - nearest) <= 1e-10 * nearest else radius


def largest_side(rows: sp.csr_array, right: np.ndarray) -> float:
    """Of right-hand sides (m,), but for infinite ones, with rows (m, N) brought to length one; 0 of none."""
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).reshape(-1))
    sides = np.abs(right / np.where(lengths > 0.0, lengths, 1.0))
    return float(sides[np.isfinite(sides)].max(initial=0.0))
