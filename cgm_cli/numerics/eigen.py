"""The smallest eigenpairs of a symmetric matrix known by its products: the oracle of every spectral domain.

Method: block Lanczos with full reorthogonalisation and thick restarts (Wu and Simon, SIAM J. Matrix Anal. Appl. 22,
2000; block form: Golub and Underwood, 1977). The block is wider than the number of pairs asked for: the pairs beyond
guard those wanted, whose convergence hangs on the distance to the first eigenvalue outside the block, and a warm start
hands over all of them. Small matrices go to LAPACK.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dsyevr

from cgm_cli.numerics.eigh import some_eigenpairs
from cgm_cli.numerics.symmetric import WEAK, HalfProduct, Multiply

DENSE_BELOW = 64
"""Sizes up to this are written out and given to LAPACK, whose answers are exact: 0.3 ms at 64, where an iteration takes
1.4, and as long as that at about 200.
"""

NOISE = 1e-2
"""Relative weight of random noise in a warm start: without it a start orthogonal to the answer never finds it.
So a warm start keeps two digits of what it knows.
"""

ROOM = 32
"""Vectors of a Krylov space for one pair between restarts. Random matrices of order 2000 took 86 products to 1e-6 with
16, 82 with 32 and 81 with 64, and to make a vector orthogonal to all takes as many operations as there are.
"""

SINGLE_NOISE = 1e-6
"""Relative size of the rounding errors that products in single precision are taken to have: 16 of its units."""

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Eigenpairs:
    """values (k,) ascending, vectors (n, k) orthonormal, products spent, converged or not; exact: by a full
    factorisation.

    residuals (k,): |A u - value u| of an iteration, or the rounding error of a factorisation; an eigenvalue lies that
    close. start (n, w), w >= k: what the next solve of a similar matrix begins with best.
    """

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    products: int
    converged: bool
    start: np.ndarray
    exact: bool = False


def smallest_eigenpairs(
    multiply: Multiply,
    n: int,
    count: int,
    *,
    tolerance: float,
    rng: np.random.Generator,
    start: np.ndarray | None = None,
    max_products: int = 10_000,
    enough: Callable[[np.ndarray, np.ndarray], bool] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    single_precision: Multiply | None = None,
) -> Eigenpairs:
    """The `count` smallest eigenpairs of the symmetric n x n matrix A with multiply(V) = A @ V for V of shape (n, r) or
    (n,).

    Stops when `enough(values, residuals)`, or without it when every residual is at most tolerance * max(|value|, |A| /
    1000): relative to the value, but no tighter near zero than the size of A makes sensible; with tolerance 0 and no
    `enough` the matrix is written out and factorised. A Ritz value lies *above* the eigenvalue it approximates; value -
    residual is only an estimate from below. Out of products, or once `should_stop()` is true, the best pairs so far are
    returned with converged = False. The entries of A should be of order one (divide by the largest before).

    start: (n, r), approximate eigenvectors, into which seeded noise is mixed.
    single_precision: the same products in that, used as long as their rounding errors, which the residuals then
    include, do not matter.
    """
    width = _block_width(count)
    # From 6 * width on, the basis of 5 * width columns and the block after it fit into n dimensions.
    if (tolerance == 0.0 and enough is None) or n <= max(DENSE_BELOW, 6 * width):
        matrix = multiply(np.eye(n))
        values, vectors = some_eigenpairs(matrix, 0, min(n, width) - 1)
        residuals, wanted = np.full(count, rounding_error(matrix)), np.ascontiguousarray(vectors[:, :count])
        return Eigenpairs(values[:count], wanted, residuals, n, converged=True, start=vectors, exact=True)
    solve = _lanczos if count == 1 else partial(_block_lanczos, count=count)
    limits = _Limits(tolerance, enough, max_products, should_stop)
    first = _start_block(n, width, rng, start)
    if single_precision is None:
        return solve(multiply, first, rng, limits, 0.0)
    found = solve(single_precision, first, rng, limits, SINGLE_NOISE)
    if found.converged or limits.are_reached(found.products):
        return found
    better = solve(multiply, found.start, rng, replace(limits, products=max_products - found.products), 0.0)
    return replace(better, products=better.products + found.products)


@dataclass(frozen=True)
class _Limits:
    """When an iteration ends: see `smallest_eigenpairs`."""

    tolerance: float
    enough: Callable[[np.ndarray, np.ndarray], bool] | None
    products: int
    should_stop: Callable[[], bool]

    def are_reached(self, products: int) -> bool:
        """Whether it has to end with what there is."""
        return products >= self.products or self.should_stop()


def _block_width(count: int) -> int:
    """The width of a block for `count` pairs: with guards, and a multiple of what the processor multiplies at once."""
    return 1 if count == 1 else 4 * -(-7 * count // 20)


def rounding_error(matrix: np.ndarray) -> float:
    """A bound on the error of an eigen- or singular value of `matrix` (m, n), or of any in a stack of such, that LAPACK
    computed: n eps |A|_F, with room to spare.

    The backward error of the symmetric QR and divide-and-conquer algorithms is a modest multiple of eps |A|_2 (LAPACK
    Users' Guide, section 4.7); the factor n covers that multiple, and Weyl's inequality carries it over to the values.
    """
    peak = float(np.abs(matrix).max(initial=0.0))
    # Scaled, so that entries of 1e+-170 can be squared.
    if not peak > 0.0:
        return 0.0
    return max(matrix.shape[-2:]) * _EPS * peak * float(np.linalg.norm(matrix / peak, axis=(-2, -1)).max())


def _lanczos(
    multiply: Multiply, start: np.ndarray, rng: np.random.Generator, limits: _Limits, noise: float
) -> Eigenpairs:
    """The method for one pair, whose products are so cheap that what is around them counts: the vectors are rows, and
    the small problem is solved for its smallest pair alone, when it is likely to be good enough.

    start: (n, 1), of length one. noise: how wrong products are, relative to A, beyond double precision.
    """
    n, enough = start.shape[0], limits.enough
    room = min(n, ROOM)
    basis = np.zeros((room + 1, n))
    projected = np.zeros((room + 1, room + 1))  # basis A basis^T
    basis[0] = start[:, 0]
    new = products = kept = 0
    size = 0.0
    several = multiply if isinstance(multiply, HalfProduct) and multiply.extends else None
    looks = _Looks(2 if enough is not None else 4)
    while True:
        before = new
        if several is not None:
            until = min(room, looks.next, new + limits.products - products)
            new, coupling, size = several.extend(basis, projected, new, until, size, noise == 0.0)
        else:
            new, coupling, size = _extend(multiply, basis, projected, new, kept, size, noise == 0.0)
        products += new - before
        known, small = basis[:new], projected[:new, :new]
        if not coupling > WEAK * size:
            block, triangle = _next_block(known.T, basis[new, :, None], size, rng)
            basis[new], coupling = block[:, 0], float(triangle[0, 0])
        full, spent = new == room, limits.are_reached(products)
        if full or spent or new >= looks.next:
            value, vector = _smallest_pair(small)
            residual = abs(coupling * vector[-1])
            at_floor = residual <= max(noise, 4 * _EPS) * size
            residual += noise * size
            allowed = max(limits.tolerance * max(abs(value), 1e-3 * size), 4 * _EPS * size)
            values, residuals = np.array([value]), np.array([residual])
            converged = residual <= allowed if enough is None else enough(values, residuals)
            # In double precision there is no better than that; from single precision one may go on.
            if converged or spent or at_floor:
                found = (vector @ known)[:, None]
                converged = converged or (at_floor and noise == 0.0)
                return Eigenpairs(values, found, residuals, products, bool(converged), start=found)
            looks.saw(new, residual, allowed)
            if full:
                new = kept = max(1, room // 3)
                ritz, rotation = scipy.linalg.eigh(small, check_finite=False)
                basis[:kept] = rotation[:, :kept].T @ known
                projected[:] = 0.0
                np.fill_diagonal(projected[:kept, :kept], ritz[:kept])
                basis[kept] = basis[room]
                looks.restarted(kept)


def _extend(
    multiply: Multiply, basis: np.ndarray, projected: np.ndarray, new: int, kept: int, size: float, twice: bool
) -> tuple[int, float, float]:
    """One step of `HalfProduct.extend`, by any product; the first `kept` vectors are what a restart has left."""
    image = multiply(basis[new])
    new += 1
    known = basis[:new]
    coefficients = np.zeros(new)
    if twice:
        # Which is enough in floating point; at first by what is not zero but for rounding: all vectors that a restart
        # has kept, then the last two. From products in single precision once will do.
        near = known if new <= kept + 1 else known[-2:]
        coefficients[-len(near) :] = near @ image
        image = image - coefficients[-len(near) :] @ near
    rest = known @ image
    image = image - rest @ known
    coefficients += rest
    projected[new - 1, :new] = projected[:new, new - 1] = coefficients
    coupling = math.sqrt(image @ image)
    # No image of a unit vector is longer than A is large.
    size = max(size, math.sqrt(coefficients @ coefficients))
    basis[new] = image / coupling if coupling > WEAK * size else image
    return new, coupling, size


class _Looks:
    """When to look at the small problem: where the residual, falling as it has, comes near what is allowed."""

    def __init__(self, pace: int):
        self._pace = self.next = pace
        self._last: tuple[int, float] | None = None

    def saw(self, columns: int, residual: float, allowed: float) -> None:
        ahead = self._pace
        if residual > 0.0 and allowed > 0.0:
            rate, most = math.log(2.0), self._pace  # until it is known
            if self._last is not None and residual < self._last[1]:
                rate, most = math.log(self._last[1] / residual) / (columns - self._last[0]), 2 * self._pace
            # Not all the way: the rate grows, and a product costs more than a look.
            ahead = int(np.clip(0.8 * math.log(residual / allowed) / rate, 1, most))
        self._last, self.next = (columns, residual), columns + ahead

    def restarted(self, columns: int) -> None:
        self._last, self.next = None, columns + self._pace


def _smallest_pair(matrix: np.ndarray) -> tuple[float, np.ndarray]:
    values, vectors, _, _, info = dsyevr(matrix, range="I", il=1, iu=1)
    if info == 0 and np.isfinite(values[0]):
        return float(values[0]), vectors[:, 0]
    values, vectors = scipy.linalg.eigh(matrix)
    return float(values[0]), vectors[:, 0]


def _block_lanczos(
    multiply: Multiply, start: np.ndarray, rng: np.random.Generator, limits: _Limits, noise: float, count: int
) -> Eigenpairs:
    """The method for several pairs, from an orthonormal block (n, width)."""
    (n, width), enough = start.shape, limits.enough
    room = min(n, max(4 * width, 24) + width)  # columns of the basis between restarts
    keep = max(width, room // 3)  # Ritz vectors that survive a restart
    basis = np.zeros((n, room + width), order="F")
    projected = np.zeros((room + width, room + width))  # basis^T A basis
    basis[:, :width] = start
    old, new = 0, width  # basis[:, :old] has been multiplied, basis[:, old:new] is next
    products = 0
    while True:
        image = multiply(basis[:, old:new])
        products += new - old
        image, coefficients = _orthogonalise(basis[:, :new], image)
        projected[:new, old:new] = coefficients
        projected[old:new, :new] = coefficients.T
        following, coupling = _next_block(basis[:, :new], image, np.abs(projected[:new, :new]).max(), rng)
        full = new + width > room
        spent = limits.are_reached(products)
        # Small eigenproblems are cheap, but not free; with `enough`, one look more may save a product.
        if full or spent or enough is not None or new % (2 * width) == 0:
            ritz, rotation = scipy.linalg.eigh(projected[:new, :new], check_finite=False)
            residuals = np.linalg.norm(coupling @ rotation[old:new, :count], axis=0)
            size = max(abs(ritz[0]), abs(ritz[-1]))
            at_floor = bool(np.all(residuals <= max(noise, 4 * _EPS) * size))
            residuals = residuals + noise * size
            if enough is not None:
                converged = enough(ritz[:count], residuals)
            else:
                allowed = limits.tolerance * np.maximum(np.abs(ritz[:count]), 1e-3 * size)
                converged = bool(np.all(residuals <= allowed))
            # In double precision there is no better than that; from single precision one may go on.
            if converged or spent or at_floor:
                vectors = basis[:, :new] @ rotation[:, :width]
                converged = converged or (at_floor and noise == 0.0)
                wanted = np.ascontiguousarray(vectors[:, :count])
                return Eigenpairs(ritz[:count], wanted, residuals, products, converged, start=vectors)
            if full:
                basis[:, :keep] = basis[:, :new] @ rotation[:, :keep]
                projected[:] = 0.0
                np.fill_diagonal(projected[:keep, :keep], ritz[:keep])
                new = keep
        basis[:, new : new + width] = following
        old, new = new, new + width


def _start_block(n: int, width: int, rng: np.random.Generator, start: np.ndarray | None) -> np.ndarray:
    noise = rng.standard_normal((n, width))
    if start is None:
        block = noise
    else:
        # In every column: one that is an eigenvector already would be taken for converged, whatever is still missing.
        block = noise * (NOISE / np.sqrt(n))
        shared = min(width, start.shape[1])
        block[:, :shared] += start[:, :shared]
    return block / np.linalg.norm(block) if width == 1 else np.linalg.qr(block)[0]


def _orthogonalise(basis: np.ndarray, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """image less its part in the span of basis, and its coefficients; twice, which is enough in floating point."""
    first = basis.T @ image
    image = image - basis @ first
    second = basis.T @ image
    return image - basis @ second, first + second


def _next_block(
    basis: np.ndarray, image: np.ndarray, size: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal block, orthogonal to basis, and the coupling R with image = block R; `size` is the magnitude of A.

    Where image is (numerically) rank deficient, the space is invariant in that direction and a random vector goes on in
    its place. Pivoting gathers those directions in the last rows of R, where nothing but rounding is lost with them.
    """
    block, triangle, order = scipy.linalg.qr(image, mode="economic", pivoting=True, check_finite=False)
    coupling = triangle[:, np.argsort(order)]
    strength = np.abs(np.diag(triangle))
    if np.all(strength > WEAK * size):
        return block, coupling
    weak = strength <= 64 * _EPS * size
    block[:, weak] = rng.standard_normal((block.shape[0], int(weak.sum())))
    coupling[weak] = 0.0
    for _ in range(2):
        # The smaller the image, the more of its direction is rounding error, which points into basis again.
        block, mixing = np.linalg.qr(block - basis @ (basis.T @ block))
        coupling = mixing @ coupling
    return block, coupling
