"""What the lower bound loses where a quadratic is convex only but for rounding.

With lambda a lower bound on the eigenvalues of Q and D on the distance of two points of X at most,

    f(y) >= f(x) + <f'(x), y - x> + lambda |y - x|^2 / 2 >= f(x) + <f'(x), y - x> - max(0, -lambda) D^2 / 2

for all x and y in X. The other losses are convex by what they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

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
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.verify.definite import by_inverse_iteration, by_lanczos, factorised
from cgm_cli.verify.matrices import WRITTEN_OUT
from cgm_cli.verify.membership import violation
from cgm_cli.verify.minimum import ORDER
from cgm_cli.verify.point import SavedPoint
from cgm_cli.verify.precision import EPS, RELATIVE, Unchecked, entry, norm

WIDER = (1.0, 1e3, 1e6)
"""How far below what Lanczos found a factor is sought, relative to rounding; what it then finds is tried again."""


def loss_of_convexity(loss: Loss, domain: Domain, z: np.ndarray) -> tuple[float, float]:
    """max(0, -lambda) D^2 / 2 for the gradient taken at z, and how far rounding may move it. Raises Unchecked where
    lambda is out of reach.
    """
    if not isinstance(loss, Quadratic) or loss.factor is not None:
        return 0.0, 0.0
    least, error = least_curvature(loss.matrix)
    if least >= error:
        return 0.0, 0.0
    half = 0.5 * _reach(domain, z) ** 2
    return max(0.0, -least) * half, error * half


def least_curvature(matrix: Matrix) -> tuple[float, float]:
    """The smallest eigenvalue of the symmetric part of a matrix, and how far it may be below that. Raises Unchecked
    where no lower bound is within reach.
    """
    n, size = matrix.shape[0], float(norm(matrix.data if is_sparse(matrix) else matrix))
    error = n * EPS * size
    if n <= ORDER:
        full = matrix.toarray() if is_sparse(matrix) else matrix
        return float(np.linalg.eigvalsh(0.5 * (full + full.T))[0]), error
    if not is_sparse(matrix) and matrix.size > WRITTEN_OUT:
        raise Unchecked(f"how far the quadratic is from convex was not decided: n = {n} is too large")
    sparse = sp.csr_array(matrix)
    sparse = sp.csr_array(0.5 * (sparse + sparse.T))
    least = by_lanczos(sparse).value
    for wider in WIDER:
        t = min(least, 0.0) - wider * error
        factor = factorised(sp.csr_array(sparse - sp.diags_array(np.full(n, t))))
        if factor is not None and wider == WIDER[0]:
            return min(least, 0.0), error + factor.distance
        if factor is not None:
            # The factor finds the eigenvalue that Lanczos has missed, close enough for one that proves it.
            least = min(least, by_inverse_iteration(sparse, factor, rounds=50))
            proof = factorised(sp.csr_array(sparse - sp.diags_array(np.full(n, least - 2.0 * error))))
            if proof is not None:
                return least, 2.0 * error + proof.distance
            return t, factor.distance
    raise Unchecked(f"how far the quadratic is from convex could not be decided (n = {n})")


def _reach(domain: Domain, z: np.ndarray) -> float:
    """How far a point of the domain may be from z: the diameter, if z is one of them."""
    try:
        inside = violation(domain, SavedPoint(domain.shape, np.asarray(z, dtype=float).reshape(domain.shape), None))
    except Unchecked:
        inside = np.inf
    if inside <= RELATIVE * domain.radius:
        return diameter(domain)
    return float(norm(z)) + domain.radius


def diameter(domain: Domain) -> float:
    """The largest distance of two points. Raises Unchecked for a kind without an entry."""
    return entry(DIAMETERS, domain, "a domain")(domain)


def _corners_of_blocks(domain: PSDBlocks) -> float:
    order = sum(abs(size) for size in domain.sizes)
    return domain.radius * (math.sqrt(2.0) if order > 1 else float(not domain.fixed_trace))


def _corners(domain: Simplex | PSDTrace) -> float:
    """Between r e_i and r e_j, or unit vectors' r u u^T; in one dimension, between 0 and r if at all."""
    at_most = domain.at_most if isinstance(domain, Simplex) else not domain.fixed_trace
    return domain.radius * (math.sqrt(2.0) if math.prod(domain.shape) > 1 else float(at_most))


def _across(domain: Domain) -> float:
    """Between x and -x."""
    return 2.0 * domain.radius


def _projections(n: int, rank: int) -> float:
    """Of two projections of one rank: |P - Q|^2 = 2 k - 2 <P, Q>, and they share 2 k - n dimensions at least."""
    return math.sqrt(2.0 * min(rank, n - rank))


def _permutations(domain: Birkhoff) -> float:
    """Of two permutations without a common entry, which one row does not allow."""
    n = domain.shape[0]
    return math.sqrt(2.0 * n) if n > 1 else 0.0


def _labellings(domain: ChainMarginals) -> float:
    """Of two labellings of T places and T - 1 pairs that agree nowhere, which one label does not allow."""
    return math.sqrt(2.0 * (2 * domain.length - 1)) if domain.labels > 1 else 0.0


DIAMETERS: dict[type, Callable[..., float]] = {
    Simplex: _corners,
    PSDTrace: _corners,
    HermitianTrace: _corners,
    PSDBlocks: _corners_of_blocks,
    DiagonalBlocks: _corners_of_blocks,
    L1Ball: _across,
    L2Ball: _across,
    GroupL1Ball: _across,
    LatentGroupBall: _across,
    NuclearBall: _across,
    Box: lambda domain: float(norm(domain.upper - domain.lower)),
    LinfBall: lambda domain: float(norm(domain.upper - domain.lower)),
    Fantope: lambda domain: _projections(domain.shape[0], domain.rank),
    FantopeFace: lambda domain: _projections(domain.shape[0] - 1, domain.rank - 1),
    Birkhoff: _permutations,
    ChainMarginals: _labellings,
    Polytope: lambda domain: float(norm(domain.upper - domain.lower)),
    Product: lambda domain: math.hypot(*map(diameter, domain.blocks)),
    GivenDomain: lambda domain: domain.diameter,
}
