"""How far a point misses its domain: the largest violation of the inequalities and equations that define it.

For domains of matrices these are about eigen- or singular values. Factors with weights of one sign make some of them
plain: left diag(w) left^T with w >= 0 is positive semidefinite, whatever its order.
"""

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
from cgm_cli.verify.matrices import WRITTEN_OUT
from cgm_cli.verify.minimum import within_order
from cgm_cli.verify.point import Factors, SavedPoint
from cgm_cli.verify.precision import Unchecked, entry, extended, norm, total

_SPLIT = 5e-10
"""How far above r a split may stay, relative to r: half of what rounding is allowed in a verification."""


def violation(domain: Domain, point: SavedPoint) -> float:
    """The largest violation, 0 inside, in the units of x. Raises Unchecked where it is out of reach."""
    return max(0.0, float(entry(MEMBERSHIP, domain, "a domain")(domain, point)))


def _entries(point: SavedPoint) -> np.ndarray:
    return extended(point.written_out())


def _simplex(domain: Simplex, point: SavedPoint) -> float:
    x = _entries(point)
    excess = total(x).value - domain.radius
    return max(-x.min(), excess if domain.at_most else abs(excess))


def _box(domain: Box, point: SavedPoint) -> float:
    x = _entries(point)
    return max((domain.lower - x).max(), (x - domain.upper).max())


def _l1_ball(domain: L1Ball, point: SavedPoint) -> float:
    return total(_entries(point)).size - domain.radius


def _l2_ball(domain: L2Ball, point: SavedPoint) -> float:
    return norm(_entries(point)) - domain.radius


def _groups(domain: GroupL1Ball, point: SavedPoint) -> float:
    x = _entries(point)
    return sum(norm(x[members]) for members in domain.members) - domain.radius


def _latent_groups(domain: LatentGroupBall, point: SavedPoint, rounds: int = 20_000) -> float:
    """From a split of x into vectors of the groups, whose norms add up to at most r, or from a y that proves there is
    none.

    The split is x shared out in proportion to shares e_G. With the norms of its parts, e_G |y_G|, for the next shares
    the sum of norms would fall from round to round (they minimise the sum of |v_G|^2 / e_G + e_G in turns); a power
    of |y_G| close to 2 gets there sooner. With y = x / (sum of the e_G there), <x, y> / max |y_G| is at most the
    smallest sum.
    """
    x = np.asarray(_entries(point), dtype=float)
    peak = float(np.abs(x).max())
    if peak == 0.0:
        return -domain.radius
    x, radius = x / peak, domain.radius / peak
    member = np.zeros((x.size, len(domain.members)))
    for number, members in enumerate(domain.members):
        member[members, number] = 1.0
    shares = np.ones(len(domain.members))
    enough = radius * (1.0 + _SPLIT)
    for _ in range(rounds):
        y = np.divide(x, member @ shares, out=np.zeros_like(x), where=x != 0.0)
        lengths = np.sqrt(member.T @ y**2)
        sum_of_norms = float(shares @ lengths)
        if sum_of_norms <= enough:
            return peak * (sum_of_norms - radius)
        lowest = float(x @ y) / float(lengths.max())
        if lowest > radius * (1.0 + 2.0 * _SPLIT):
            return peak * (lowest - radius)
        shares = shares * lengths**1.9
    raise Unchecked(f"the gauge is undecided: it is at most r + {peak * (sum_of_norms - radius):.2g}")


def _trace(point: SavedPoint) -> float:
    """The sum of the diagonal."""
    if point.factors is None:
        return total(point.written_out().diagonal()).value
    factors = point.factors
    return total(extended(factors.left * factors.weights) * factors.right).value


def _asymmetry(point: SavedPoint) -> float:
    if point.factors is not None and point.factors.right is point.factors.left:
        return 0.0
    x = point.written_out()
    return float(np.abs(x - x.T).max())


def _spectrum(point: SavedPoint) -> tuple[float, float]:
    """A number below all eigenvalues of a symmetric point and the largest one; from the factors where they say it."""
    if point.factors is not None and point.factors.weights.min(initial=0.0) >= 0.0:
        half = point.factors.left * np.sqrt(point.factors.weights)
        smaller = half.T @ half
        if half.shape[1] < half.shape[0] or half.size > WRITTEN_OUT:
            within_order(smaller.shape[0])
            return 0.0, float(np.linalg.eigvalsh(smaller)[-1]) if smaller.size else 0.0
    within_order(point.shape[0])
    x = point.written_out()
    values = np.linalg.eigvalsh(0.5 * (x + x.T))
    return float(values[0]), float(values[-1])


def _psd(domain: PSDTrace, point: SavedPoint) -> float:
    excess = _trace(point) - domain.radius
    smallest = 0.0 if _is_sum_of_squares(point.factors) else _spectrum(point)[0]
    return max(_asymmetry(point), -smallest, abs(excess) if domain.fixed_trace else excess)


def _psd_blocks(domain: PSDBlocks, point: SavedPoint) -> float:
    """Block by block, from the sizes alone."""
    x = _entries(point)
    worst, trace, first = 0.0, extended(np.zeros(())), 0
    for size in domain.sizes:
        n = abs(size)
        block = x[first : first + (n if size < 0 else n * n)]
        first += block.size
        if size < 0:
            worst, trace = max(worst, -block.min()), trace + block.sum()
            continue
        within_order(n)
        matrix = block.reshape(n, n)
        symmetric = (0.5 * (matrix + matrix.T)).astype(float)
        worst = max(worst, np.abs(matrix - matrix.T).max(), -np.linalg.eigvalsh(symmetric)[0])
        trace = trace + np.trace(matrix)
    excess = float(trace - domain.radius)
    return max(float(worst), abs(excess) if domain.fixed_trace else excess)


def _is_sum_of_squares(factors: Factors | None) -> bool:
    return factors is not None and factors.right is factors.left and factors.weights.min(initial=0.0) >= 0.0


def _fantope(domain: Fantope | FantopeFace, point: SavedPoint) -> float:
    smallest, largest = _spectrum(point)
    return max(_asymmetry(point), -smallest, largest - 1.0, abs(_trace(point) - domain.rank))


def _fantope_face(domain: FantopeFace, point: SavedPoint) -> float:
    """As of the fantope, and how far X u is from u, the unit vector that is known."""
    assert domain.known is not None
    u = domain.known[:, 0]
    if point.factors is None:
        product = point.written_out() @ u
    else:
        factors = point.factors
        product = factors.left @ (factors.weights * (factors.right.T @ u))
    return max(_fantope(domain, point), float(np.linalg.norm(product - u)))


def _nuclear(domain: NuclearBall, point: SavedPoint) -> float:
    """The sum of the singular values; of factors, sum |w_i| |l_i| |r_i| is above it, and often enough."""
    if point.factors is not None:
        left, right = (np.linalg.norm(side, axis=0) for side in (point.factors.left, point.factors.right))
        above = total(extended(np.abs(point.factors.weights)) * left * right).value
        if above <= domain.radius:
            return 0.0
    within_order(min(point.shape))
    values = scipy.linalg.svdvals(point.written_out(), check_finite=False)
    return total(values).value - domain.radius


def _birkhoff(domain: Birkhoff, point: SavedPoint) -> float:
    x = _entries(point)
    return max(-x.min(), *(np.abs(x.sum(axis=axis) - 1.0).max() for axis in (0, 1)))


def _chain(domain: ChainMarginals, point: SavedPoint) -> float:
    """Below zero; or how far the labels of a place are from a sum of one, and its pairs from their own sums."""
    x = _entries(point)
    places, pairs = domain.split(x)
    gaps = [np.abs(places.sum(axis=1) - 1.0).max(), -x.min()]
    if pairs.size:
        gaps += [np.abs(pairs.sum(axis=2) - places[:-1]).max(), np.abs(pairs.sum(axis=1) - places[1:]).max()]
    return max(gaps)


def _polytope(domain: Polytope, point: SavedPoint) -> float:
    """The largest distance from a row's half-space or hyperplane, and from the box."""
    x, given = _entries(point), domain.program
    worst = max((domain.lower - x).max(), (x - domain.upper).max())
    for matrix, right, both in ((given.a, given.b, False), (given.c, given.d, True)):
        for row, value in zip(extended(matrix.toarray()), right, strict=True):
            excess, length = row @ x - value, norm(row)
            worst = max(worst, (abs(excess) if both else excess) / (length if length > 0.0 else 1.0))
    return worst


def _product(domain: Product, point: SavedPoint) -> float:
    x = point.written_out()
    worst = 0.0
    for block, start in zip(domain.blocks, domain.starts[:-1], strict=True):
        part = x[start : start + math.prod(block.shape)].reshape(block.shape)
        worst = max(worst, violation(block, SavedPoint(block.shape, part, None)))
    return worst


def _given(domain: GivenDomain, point: SavedPoint) -> float:
    """The distance to the nearest point, as far as the user's own functions tell."""
    x = _entries(point)
    return norm(x - domain.project(x.astype(float)))


MEMBERSHIP: dict[type, Callable[..., float]] = {
    Simplex: _simplex,
    L1Ball: _l1_ball,
    L2Ball: _l2_ball,
    LinfBall: _box,
    Box: _box,
    GroupL1Ball: _groups,
    LatentGroupBall: _latent_groups,
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
