"""Equations that are nearly combinations of others: what is left of them, in their place.

Some rows F of A, all of length one, are well apart from each other; any other one is a combination of these and a rest,

    a = c F + r u,    |u| = 1,    F u = 0,

and beside F x = b_F, the equation <a, x> = b says that <u, x> = (b - c b_F) / r. F and the u are well apart, where the
normal equations of A lose 1 / r^2. They are T A, with rows (e_a - c) / r of T; and y for them is T^T y for A. The u may
be nearly dependent in their turn, and are treated alike; a rest that is rounding is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.lapack import dpstrf

from cgm_cli.methods.corrections.dependence import CONSISTENT, HELD, gram

NEAR = 1e-4
"""Part of the squared length of a row up to which its rest is taken in its place."""

NOTHING = 1e-10
"""Length of a rest, in units of the rows it is the difference of, up to which it is none: nor does anybody ask how far
a point would have to go to mend what it misses by so little (cgm_cli.methods.repair).
"""

ROUNDED = 1e-6
"""Relative: what right-hand sides may be off by, as those are that were stored in single precision."""

REFINED = 2
"""How often combinations are computed, of what is left by the last."""


@dataclass(frozen=True)
class Apart:
    """combined: T (k, m). contradiction: y (m,) with A^T y = 0 and b y > 0; None where there is none."""

    combined: sp.csr_array
    contradiction: np.ndarray | None = None


def apart(rows: sp.csr_array, right: np.ndarray) -> Apart:
    """Of A (m, N), rows of length one, or zero, and b (m,): by Cholesky's factor of A A^T, with pivots."""
    return _apart(rows, right, np.full(right.size, NOTHING), CONSISTENT * np.abs(right))


def within_reach(
    combined: sp.csr_array, rows: sp.csr_array, right: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> sp.csr_array:
    """T without the rests <u, x> = s that no x of a box meets for rounding alone: s is past what <u, x> may be there,
    but no farther than what b may have been rounded by, made longer. These would make a contradiction of a b that the
    rows of A miss by a millionth.
    """
    images = sp.csr_array(combined @ rows)
    rising, falling = images.maximum(0), images.minimum(0)
    rising.eliminate_zeros()  # an end may be infinite
    falling.eliminate_zeros()
    values = combined @ right
    past = np.maximum(rising @ lower + falling @ upper - values, values - rising @ upper - falling @ lower)
    return combined[np.flatnonzero(~(are_rests(combined) & (past > 0.0) & (past <= vagueness(combined, right))))]


def are_rests(combined: sp.csr_array) -> np.ndarray:
    """Which rows of T are combinations, and not rows as they are."""
    return np.diff(combined.indptr) > 1


def vagueness(combined: sp.csr_array, right: np.ndarray) -> np.ndarray:
    """What T b may be off by for b that may be off by a millionth."""
    return ROUNDED * (abs(combined) @ np.abs(right))


def _apart(rows: sp.csr_array, right: np.ndarray, rough: np.ndarray, vague: np.ndarray) -> Apart:
    """rough, vague (m,): up to which lengths rests of these rows, and what is left of b for them, are nothing. A rest
    of r is made longer by 1 / r, and so is what it was rounded by.
    """
    count = rows.shape[0]
    every, products = sp.eye_array(count, format="csr"), gram(rows)
    if products.nnz == count and (products.diagonal() > 0.0).all():  # they are orthogonal
        return Apart(every)
    factor, pivots, rank, _ = dpstrf(products.toarray(), tol=NEAR, lower=1)
    if rank == count:
        return Apart(every)
    first, others = pivots[:rank] - 1, pivots[rank:] - 1
    weights, rests, lengths, rough = _combinations(np.tril(factor[:rank, :rank]), rows, first, others, rough)
    off = right[others] - right[first] @ weights
    vague = vague[others] + vague[first] @ np.abs(weights)
    relations = _relations(weights, first, others)
    contradiction = None
    contradicts = (lengths == 0.0) & (np.abs(off) > vague)
    if contradicts.any():
        worst = int(np.argmax(np.where(contradicts, np.abs(off), 0.0)))
        contradiction = relations[[worst]].toarray()[0] * np.sign(off[worst])
    kept = every[np.sort(first)]
    left = np.flatnonzero(lengths)
    if left.size:
        units = sp.diags_array(1.0 / lengths[left]) @ relations[left]
        inner = _apart(rests, *(each[left] / lengths[left] for each in (off, rough, vague)))
        kept = sp.csr_array(sp.vstack([kept, inner.combined @ units]))
        if contradiction is None and inner.contradiction is not None:
            contradiction = inner.contradiction @ units
    return Apart(kept, contradiction)


def _combinations(
    lower: np.ndarray, rows: sp.csr_array, first: np.ndarray, others: np.ndarray, rough: np.ndarray
) -> tuple[np.ndarray, sp.csr_array, np.ndarray, np.ndarray]:
    """c (k, d) of the other rows, by a factor of F F^T; the rests, those that are not nothing, of length one; the
    lengths of all, 0 for nothing; and up to which length they would have been that.
    """
    basis = rows[first]
    weights, lengths, limits = np.zeros((first.size, others.size)), np.zeros(others.size), np.zeros(others.size)
    rests: list[sp.csr_array] = []
    step = max(1, HELD // rows.shape[1])
    for begin in range(0, lengths.size, step):
        part = slice(begin, begin + step)
        rest = nearby = rows[others[part]].toarray()
        for _ in range(REFINED):
            weights[:, part] += scipy.linalg.cho_solve((lower, True), basis @ rest.T)
            rest = nearby - weights[:, part].T @ basis
        found = np.linalg.norm(rest, axis=1)
        limits[part] = rough[others[part]] + rough[first] @ np.abs(weights[:, part])
        found[found <= limits[part]] = 0.0
        lengths[part] = found
        rests.append(sp.csr_array(rest[found > 0.0] / found[found > 0.0, None]))
    return weights, sp.csr_array(sp.vstack(rests)), lengths, limits


def _relations(weights: np.ndarray, first: np.ndarray, others: np.ndarray) -> sp.csr_array:
    """e_a - c, as combinations of all rows."""
    found = np.zeros((others.size, first.size + others.size))
    found[:, first] = -weights.T
    found[np.arange(others.size), others] = 1.0
    return sp.csr_array(found)
