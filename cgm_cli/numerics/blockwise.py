"""Block-diagonal symmetric matrices, kept flat: the entries of one block after the other, n^2 in C order of a matrix
n x n, and n of a diagonal block, a vector of numbers. Blocks of one size that follow each other are worked on at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.blas import dtrsv
from scipy.linalg.lapack import dpotrf, dpotri

from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.numerics.eigen import rounding_error, smallest_eigenpairs
from cgm_cli.numerics.eigh import eigenpairs, some_eigenvalues

ITERATED = 250
"""The order from which the length of a step comes from Lanczos' method."""

STEP_TOLERANCE, MOST_PRODUCTS = 5e-3, 200
"""What the eigenvalue that ends a step is off by at the most, relative, and what it may take."""


@dataclass(frozen=True)
class Stack:
    """Blocks in x[start:stop]: `count` matrices n x n or, with n = 0, so many numbers."""

    start: int
    stop: int
    count: int
    n: int

    def of(self, x: np.ndarray) -> np.ndarray:
        """A view: (count, n, n), or (count,)."""
        part = x[self.start : self.stop]
        return part.reshape(self.count, self.n, self.n) if self.n else part


class Blocks:
    """The structure of such matrices: sizes as the SDPA format has them, n of a matrix, and -n of n numbers. A matrix
    of order one is a number.

    entries: the length of flat arrays. order: that of the whole matrix, the sum of all orders.
    """

    def __init__(self, sizes: Sequence[int]):
        self.sizes = tuple(sizes)
        self.stacks = list(_stacks(self.sizes))
        self.entries = self.stacks[-1].stop
        self.order = sum(abs(size) for size in self.sizes)

    @property
    def largest(self) -> int:
        """The order of the largest matrix; 0 where there are only numbers."""
        return max(stack.n for stack in self.stacks)

    def identity(self) -> np.ndarray:
        found = np.ones(self.entries)
        for stack in self.stacks:
            if stack.n:
                stack.of(found)[:] = np.eye(stack.n)
        return found

    def symmetric(self, x: np.ndarray) -> np.ndarray:
        """(X + X^T) / 2."""
        out = np.array(x)
        for stack in self.stacks:
            if stack.n:
                stack.of(out)[:] = _symmetric(stack.of(x))
        return out

    def symmetric_rows(self, rows: sp.csr_array) -> sp.csr_array:
        """The symmetric parts of matrices whose entries are rows (m, N)."""
        places = np.arange(self.entries)
        for stack in self.stacks:
            if stack.n:
                view = stack.of(places)
                view[:] = np.swapaxes(view, -1, -2).copy()
        return sp.csr_array(0.5 * (rows + rows[:, places]))

    def along_diagonal(self, places: np.ndarray) -> np.ndarray:
        """Where flat entries lie, in C order, in the one matrix with all blocks along its diagonal."""
        sizes = np.abs(self.sizes)
        matrix = np.asarray(self.sizes) > 0
        starts = np.cumsum(np.where(matrix, sizes**2, sizes)) - np.where(matrix, sizes**2, sizes)
        block = np.searchsorted(starts, places, side="right") - 1
        inside, first = places - starts[block], (np.cumsum(sizes) - sizes)[block]
        row = np.where(matrix[block], inside // sizes[block], inside)
        column = np.where(matrix[block], inside % sizes[block], inside)
        return (first + row) * self.order + first + column

    def numbers(self) -> np.ndarray:
        """The places of all numbers."""
        held = [np.arange(stack.start, stack.stop) for stack in self.stacks if not stack.n]
        return np.concatenate(held) if held else np.zeros(0, dtype=np.int64)

    def without_numbers(self, places: np.ndarray) -> Blocks:
        """The blocks that are left where these numbers are taken out."""
        out = np.bincount(places, minlength=self.entries) > 0
        sizes, start = list[int](), 0
        for size in self.sizes:
            stop = start + (size * size if size > 0 else -size)
            left = size if size > 1 else int(out[start:stop].sum()) - (stop - start)
            sizes += [left] if left else []
            start = stop
        return Blocks(sizes)

    def numbers_alone(self, x: np.ndarray) -> np.ndarray:
        """With zero for all matrices."""
        out = np.zeros(self.entries)
        for stack in self.stacks:
            if not stack.n:
                stack.of(out)[:] = stack.of(x)
        return out

    def product(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """X Y."""
        out = np.empty(self.entries)
        for stack in self.stacks:
            if stack.n:
                np.matmul(stack.of(x), stack.of(y), out=stack.of(out))
            else:
                np.multiply(stack.of(x), stack.of(y), out=stack.of(out))
        return out

    def eigenvalues(self, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """Of every stack its eigenvalues (count, n) and eigenvectors (count, n, n); of numbers, themselves and None."""
        return [_spectrum(stack.of(x)) for stack in self.stacks]

    def composed(self, parts: Sequence[tuple[np.ndarray, np.ndarray | None]]) -> np.ndarray:
        """The matrix with these eigenvalues and eigenvectors."""
        out = np.empty(self.entries)
        for stack, (values, vectors) in zip(self.stacks, parts, strict=True):
            whole = values if vectors is None else (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1)
            stack.of(out)[:] = whole
        return out

    def bottom(self, x: np.ndarray) -> Bottom:
        """The smallest eigenvalue, by a full decomposition."""
        found = [_bottom(stack, stack.of(x)) for stack in self.stacks]
        least = min(found, key=lambda each: each.value)
        # Every eigenvalue is off by no more than the rounding of its block.
        return Bottom(least.value, least.stack, least.place, max(each.error for each in found))

    def lower_bound(self, x: np.ndarray) -> float:
        """At most the smallest eigenvalue: by Gershgorin's discs, where these tell that it is positive, or else by a
        full decomposition, which takes far longer.
        """
        discs = min(float(_discs(stack.of(x)).min()) for stack in self.stacks)
        if discs > 0.0:
            return discs
        bottom = self.bottom(x)
        return bottom.value - bottom.error

    def factor(self, x: np.ndarray) -> Factor:
        """Cholesky's. Raises LinAlgError where the matrix is not positive definite."""
        return Factor(self, [_cholesky(stack.of(x)) for stack in self.stacks])


@dataclass(frozen=True)
class Bottom:
    """The smallest eigenvalue of a matrix of blocks, the stack and the place in it of its block, and a bound on its
    rounding error.
    """

    value: float
    stack: Stack
    place: int
    error: float


@dataclass(frozen=True)
class Factor:
    """X = L L^T, by stacks: lower triangles, or the numbers themselves."""

    blocks: Blocks
    parts: Sequence[np.ndarray]

    def inverse(self) -> np.ndarray:
        """X^-1, symmetric to the last bit."""
        out = np.empty(self.blocks.entries)
        for stack, part in zip(self.blocks.stacks, self.parts, strict=True):
            view = stack.of(out)
            if not stack.n:
                np.divide(1.0, part, out=view)
            elif stack.count == 1:
                lower = np.tril(dpotri(part[0], lower=1)[0])
                view[0] = lower + np.tril(lower, -1).T
            else:
                roots = np.linalg.inv(part)
                view[:] = _symmetric(roots.transpose(0, 2, 1) @ roots)
        return out

    def longest_step(self, move: np.ndarray) -> float:
        """The largest t with X + t D >= 0 (semidefinite), to a hundredth or so where matrices are large; infinite where
        there is no end to it.
        """
        least = 0.0
        for stack, part in zip(self.blocks.stacks, self.parts, strict=True):
            change = stack.of(move)
            if not stack.n:
                least = min(least, float((change / part).min()))
            elif stack.n >= ITERATED:
                least = min(least, *(_least_between(lower, matrix) for lower, matrix in zip(part, change, strict=True)))
            elif stack.count == 1:
                half = scipy.linalg.solve_triangular(part[0], change[0], lower=True, check_finite=False)
                whole = scipy.linalg.solve_triangular(part[0], half.T, lower=True, check_finite=False)
                bottom = some_eigenvalues(_symmetric(whole), 0, 0, check_finite=False)
                least = min(least, float(bottom[0]))
            else:
                roots = np.linalg.inv(part)
                whole = roots @ change @ roots.transpose(0, 2, 1)
                least = min(least, float(np.linalg.eigvalsh(_symmetric(whole))[:, 0].min()))
        return -1.0 / least if least < 0.0 else np.inf


def diagonal_blocks(matrix: Matrix, sizes: Sequence[int]) -> Iterator[np.ndarray]:
    """The blocks (n, n), or of numbers (n,), that lie along the diagonal of one matrix."""
    first = 0
    for size in sizes:
        place = slice(first, first + abs(size))
        first += abs(size)
        part = matrix[place, place]
        if size < 0:
            yield part.diagonal()
        else:
            yield part.toarray() if is_sparse(part) else np.asarray(part)


def _least_between(lower: np.ndarray, change: np.ndarray) -> float:
    """The smallest eigenvalue of L^-1 D L^-T, or a little less, by Lanczos' method, at a tenth of the price of a
    factorisation (Toh, "A note on the calculation of step-lengths in interior-point methods for semidefinite
    programming", Comput. Optim. Appl. 21, 2002).
    """

    def multiply(v: np.ndarray) -> np.ndarray:
        return dtrsv(lower, change @ dtrsv(lower, v, lower=1, trans=1), lower=1)

    rng = np.random.default_rng(0)
    found = smallest_eigenpairs(multiply, len(lower), 1, tolerance=STEP_TOLERANCE, rng=rng, max_products=MOST_PRODUCTS)
    return float(found.values[0] - found.residuals[0])


def _stacks(sizes: tuple[int, ...]) -> Iterator[Stack]:
    """Runs of matrices of one size; numbers that follow each other make one vector."""
    first = 0
    for n, run in groupby(sizes, key=lambda size: 0 if size < 2 else size):
        held = list(run)
        count = len(held) if n else sum(abs(size) for size in held)
        stop = first + count * max(1, n * n)
        yield Stack(first, stop, count, n)
        first = stop


def _symmetric(blocks: np.ndarray) -> np.ndarray:
    return 0.5 * (blocks + np.swapaxes(blocks, -1, -2))


def _discs(part: np.ndarray) -> np.ndarray:
    """Where the discs of the rows begin, or a little before, for the rounding of the sums; of numbers, themselves."""
    if part.ndim == 1:
        return part
    blocks = _symmetric(part)
    diagonal, more = np.diagonal(blocks, axis1=1, axis2=2), 4.0 * part.shape[1] * float(np.finfo(float).eps)
    return diagonal + np.abs(diagonal) - (1.0 + more) * np.abs(blocks).sum(axis=2)


def _spectrum(part: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    if part.ndim == 1:
        return part, None
    if len(part) == 1:
        values, vectors = eigenpairs(_symmetric(part[0]))
        return values[None], vectors[None]
    values, vectors = np.linalg.eigh(_symmetric(part))
    return values, vectors


def _bottom(stack: Stack, part: np.ndarray) -> Bottom:
    if stack.n == 0:
        place = int(np.argmin(part))
        return Bottom(float(part[place]), stack, place, 0.0)
    blocks = _symmetric(part)
    values = np.linalg.eigvalsh(blocks)[:, 0]
    place = int(np.argmin(values))
    return Bottom(float(values[place]), stack, place, rounding_error(blocks))


def _cholesky(part: np.ndarray) -> np.ndarray:
    if part.ndim == 1:
        if not part.min() > 0.0:
            raise np.linalg.LinAlgError("a number that is not positive")
        return part
    if len(part) > 1:
        return np.linalg.cholesky(part)
    lower, info = dpotrf(part[0], lower=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError("not positive definite")
    return lower[None]
