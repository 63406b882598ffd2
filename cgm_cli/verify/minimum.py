"""The minimum of <v, x> over a domain, by the closed form or a full decomposition."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.birkhoff import Birkhoff
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.chain_marginals import ChainMarginals
from cgm_cli.blocks.domains.diagonal_blocks import DiagonalBlocks
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.fantope_face import FantopeFace
from cgm_cli.blocks.domains.given import GivenDomain
from cgm_cli.blocks.domains.group_ball import GroupL1Ball
from cgm_cli.blocks.domains.hermitian import HermitianTrace
from cgm_cli.blocks.domains.latent_group_ball import LatentGroupBall
from cgm_cli.blocks.domains.norm_balls import L1Ball, L2Ball, LinfBall
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.domains.polytope import Polytope
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.psd_blocks import PSDBlocks
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.verify.precision import EPS, ZERO, Total, Unchecked, entry, extended, norm, total

ORDER = 4000
"""Largest order of a matrix that is decomposed in full: some 20 seconds."""

ASSIGNED = 500
"""Largest order of an assignment: up to 20 seconds."""

POLYTOPE = 1000
"""Largest number of entries of a point of a polytope: up to 20 seconds."""

Minimum = tuple[Total, float]
"""A minimum, and the error that a decomposition may have made in it."""


def minimum_over(domain: Domain, v: np.ndarray) -> Minimum:
    """The minimum of <v, x> over the domain, for v of the shape of its points. Raises Unchecked where out of reach."""
    return entry(MINIMA, domain, "a domain")(domain, extended(v))


def within_order(order: int) -> None:
    """Raises Unchecked for a matrix that is too large to be decomposed in full."""
    if order > ORDER:
        raise Unchecked(f"n = {order} is too large for a full decomposition")


def _exact(value: Total) -> Minimum:
    return value, 0.0


def _simplex(domain: Simplex, v: np.ndarray) -> Minimum:
    """At a vertex: r e_i, or zero where the sum may be less."""
    least = v.min()
    return _exact(total(domain.radius * (min(least, 0.0) if domain.at_most else least)))


def _box(domain: Box, v: np.ndarray) -> Minimum:
    return _exact(total(np.minimum(v * domain.lower, v * domain.upper)))


def _groups(domain: GroupL1Ball | LatentGroupBall, v: np.ndarray) -> Minimum:
    return _exact(total(-domain.radius * max(norm(v[members]) for members in domain.members)))


def _nuclear(domain: NuclearBall, v: np.ndarray) -> Minimum:
    """-r times the largest singular value."""
    within_order(min(v.shape))
    largest = scipy.linalg.svdvals(v.astype(float), check_finite=False)[0]
    return total(-domain.radius * largest), domain.radius * decomposition_error(v)


def _eigenvalues(v: np.ndarray, count: int) -> np.ndarray:
    within_order(v.shape[0])
    symmetric = (0.5 * (v + v.T)).astype(float)
    return np.linalg.eigvalsh(symmetric)[:count]


def _psd(domain: PSDTrace, v: np.ndarray) -> Minimum:
    """r times the smallest eigenvalue, or 0 where the trace may be less."""
    least = float(_eigenvalues(v, 1)[0])
    factor = least if domain.fixed_trace else min(least, 0.0)
    return total(domain.radius * factor), domain.radius * decomposition_error(v)


def _psd_blocks(domain: PSDBlocks, v: np.ndarray) -> Minimum:
    """r times the smallest eigenvalue or entry of all blocks, or 0 where the trace may be less."""
    least, error, first = math.inf, 0.0, 0
    for size in domain.sizes:
        n = abs(size)
        part = v[first : first + (n if size < 0 else n * n)]
        first += part.size
        block = part.reshape(n, n) if size > 0 else part
        least = min(least, float(block.min() if size < 0 else _eigenvalues(block, 1)[0]))
        error = max(error, decomposition_error(block) if size > 0 else 0.0)
    factor = least if domain.fixed_trace else min(least, 0.0)
    return total(domain.radius * factor), domain.radius * error


def _fantope(domain: Fantope, v: np.ndarray) -> Minimum:
    """The sum of the k smallest eigenvalues."""
    return total(_eigenvalues(v, domain.rank)), domain.rank * decomposition_error(v)


def _fantope_face(domain: FantopeFace, v: np.ndarray) -> Minimum:
    """<v, u u^T> for the unit vector u that is known, and the sum of the k - 1 smallest eigenvalues orthogonal to u."""
    within_order(v.shape[0])
    assert domain.known is not None
    u = domain.known[:, 0]
    basis = scipy.linalg.null_space(u[None, :])
    symmetric = (0.5 * (v + v.T)).astype(float)
    values = np.linalg.eigvalsh(basis.T @ symmetric @ basis)[: domain.rank - 1]
    return total(v * np.outer(u, u)) + total(values), 8 * domain.rank * decomposition_error(v)


def _birkhoff(domain: Birkhoff, v: np.ndarray) -> Minimum:
    """sum_i u_i + sum_j min_i (v_ij - u_i): no more than the minimum for any u, and equal for the one here."""
    if v.shape[0] > ASSIGNED:
        raise Unchecked(f"n = {v.shape[0]} is too large for an assignment in extended precision")
    u = _row_potentials(v)
    return _exact(total(u, (v - u[:, None]).min(axis=0)))


def _row_potentials(cost: np.ndarray) -> np.ndarray:
    """u (n,) of a pair u_i + w_j <= c_ij that is tight on an assignment, by Kuhn and Munkres: row after row is assigned
    along a shortest path of reduced costs.
    """
    n = cost.shape[0]
    u, w = np.zeros(n, dtype=cost.dtype), np.zeros(n + 1, dtype=cost.dtype)
    row_of = np.full(n + 1, -1)  # of each column; the last is where the new row begins
    for new in range(n):
        row_of[n], column = new, n
        reached, before = np.zeros(n + 1, dtype=bool), np.full(n, n)
        distance = np.full(n, np.inf, dtype=cost.dtype)
        while row_of[column] >= 0:
            reached[column] = True
            row = row_of[column]
            reduced = cost[row] - u[row] - w[:n]
            nearer = ~reached[:n] & (reduced < distance)
            distance[nearer], before[nearer] = reduced[nearer], column
            column = int(np.argmin(np.where(reached[:n], np.inf, distance)))
            step = distance[column]
            u[row_of[reached]] += step
            w[reached] -= step
            distance[~reached[:n]] -= step
        while column != n:
            row_of[column] = row_of[before[column]]
            column = int(before[column])
    return u


def _chain(domain: ChainMarginals, v: np.ndarray) -> Minimum:
    """What the rest of a labelling costs at the least, label by label, from the end of the chain to its beginning."""
    places, pairs = domain.split(v)
    rest = places[-1]
    for own, ways in zip(places[-2::-1], pairs[::-1], strict=True):
        rest = own + (ways + rest).min(axis=1)
    return _exact(
        Total(float(rest.min()), float(np.abs(places).max(axis=1).sum() + np.abs(pairs).max(axis=(1, 2)).sum()))
    )


def _polytope(domain: Polytope, v: np.ndarray) -> Minimum:
    """By the dual problem, posed as a linear program of its own: max l s - u t - <b, y> - <d, w> over y, s, t >= 0 with
    v + A^T y + C^T w = s - t, whose y and w are then taken as they are.
    """
    from scipy.optimize import linprog

    given, n = domain.program, v.size
    if n > POLYTOPE:
        raise Unchecked(f"n = {n} is too large for a linear program")
    ends = np.concatenate([domain.upper, -domain.lower])
    unit, far = float(np.abs(v).max()) or 1.0, float(np.abs(ends).max()) or 1.0
    a, c = given.a.toarray(), given.c.toarray()
    found = linprog(
        np.concatenate([given.b, given.d, ends]) / far,
        A_eq=np.hstack([a.T, c.T, np.eye(n), -np.eye(n)]),
        b_eq=-(v / unit).astype(float),
        bounds=[(0, None)] * len(a) + [(None, None)] * len(c) + [(0, None)] * (2 * n),
    )
    if found.status != 0 or found.x is None:
        raise Unchecked("the dual linear program was not solved")
    y, w = (unit * extended(part) for part in np.split(found.x[: len(a) + len(c)], [len(a)]))
    slopes = v + extended(a).T @ y + extended(c).T @ w
    return _exact(total(np.minimum(slopes * domain.lower, slopes * domain.upper), -given.b * y, -given.d * w))


def _product(domain: Product, v: np.ndarray) -> Minimum:
    value, error = ZERO, 0.0
    for block, start in zip(domain.blocks, domain.starts[:-1], strict=True):
        piece = v[start : start + math.prod(block.shape)].reshape(block.shape)
        part, slack = minimum_over(block, piece)
        value, error = value + part, error + slack
    return value, error


def decomposition_error(v: np.ndarray) -> float:
    """How far an eigen- or singular value by LAPACK may be off: n eps |v|, in the Frobenius norm."""
    return max(v.shape) * EPS * float(norm(v))


def _given(domain: GivenDomain, v: np.ndarray) -> Minimum:
    """By the user's own oracle: there is no other."""
    return total(v * domain.atom(v.astype(float))), EPS * domain.radius * float(norm(v))


MINIMA: dict[type, Callable[..., Minimum]] = {
    Simplex: _simplex,
    L1Ball: lambda domain, v: _exact(total(-domain.radius * np.abs(v).max())),
    L2Ball: lambda domain, v: _exact(total(-domain.radius * norm(v))),
    LinfBall: _box,
    Box: _box,
    GroupL1Ball: _groups,
    LatentGroupBall: _groups,
    NuclearBall: _nuclear,
    PSDTrace: _psd,
    HermitianTrace: _psd,
    PSDBlocks: _psd_blocks,
    DiagonalBlocks: _psd_blocks,
    Fantope: _fantope,
    FantopeFace: _fantope_face,
    Birkhoff: _birkhoff,
    ChainMarginals: _chain,
    Polytope: _polytope,
    Product: _product,
    GivenDomain: _given,
}
