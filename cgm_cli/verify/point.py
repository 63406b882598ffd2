"""The saved solution: an array, or the factors of a low-rank matrix, of which single entries can be had."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.diagonal_blocks import DiagonalBlocks
from cgm_cli.numerics.layout import Layout
from cgm_cli.verify.matrices import WRITTEN_OUT
from cgm_cli.verify.precision import Congruent, Unchecked, extended, is_finite, product

_CHUNK = 10**6


KINDS = {
    "dense": {"x"},
    "factored": {"left", "weights", "truncation"},
    "sketch": {"left", "weights", "truncation"},
    "samples": {"samples"},
}
"""By how x is kept, the arrays that every run saves of it."""


class Unfit(Exception):
    """The saved arrays are no point of the domain's shape, in words for the report."""


@dataclass(frozen=True)
class Factors:
    """left diag(weights) right^T."""

    left: np.ndarray
    weights: np.ndarray
    right: np.ndarray


@dataclass(frozen=True)
class SavedPoint:
    """A point of the given shape, as an array or as factors. truncation: the nuclear norm of what a factored iterate
    has dropped on its way, so that the claims, which come from the whole of it, may differ by as much.
    """

    shape: tuple[int, ...]
    array: np.ndarray | None
    factors: Factors | None
    truncation: float = 0.0

    def written_out(self) -> np.ndarray:
        """The array. Raises Unchecked where it is too large."""
        if self.array is not None:
            return self.array
        if math.prod(self.shape) > WRITTEN_OUT:
            raise Unchecked(f"a matrix of {' x '.join(map(str, self.shape))} is too large to be written out")
        return (self._factors.left * self._factors.weights) @ self._factors.right.T

    @property
    def _factors(self) -> Factors:
        """Those of a point without an array."""
        assert self.factors is not None
        return self.factors

    def image(self, matrix: sp.csr_array | Congruent) -> np.ndarray:
        """matrix @ x, flat. Of factors that are too large, the entries that the matrix meets."""
        if isinstance(matrix, Congruent) or self.array is not None or math.prod(self.shape) <= WRITTEN_OUT:
            return product(matrix, self.written_out().reshape(-1))
        used, places = np.unique(matrix.indices, return_inverse=True)
        if used.size > WRITTEN_OUT:
            raise Unchecked(f"{used.size} entries of the point are too many to be written out")
        narrow = sp.csr_array((matrix.data, places, matrix.indptr), shape=(matrix.shape[0], used.size))
        return product(narrow, self._entries(used))

    def _entries(self, positions: np.ndarray) -> np.ndarray:
        """The entries at flat positions: sum_r left_ir w_r right_jr."""
        rows, columns = np.divmod(positions, self.shape[1])
        out = np.empty(positions.size, dtype=np.longdouble)
        left = self._factors.left * self._factors.weights
        step = max(1, _CHUNK // max(1, self._factors.weights.size))
        for start in range(0, positions.size, step):
            here = slice(start, start + step)
            summands = extended(left[rows[here]]) * self._factors.right[columns[here]]
            out[here] = summands.sum(axis=1)
        return out


def real_form(matrix: np.ndarray) -> np.ndarray:
    """Half of [[Re X, -Im X], [Im X, Re X]], which is symmetric where X is Hermitian, and of its trace."""
    real, imaginary = np.real(matrix), np.imag(matrix)
    return 0.5 * np.block([[real, -imaginary], [imaginary, real]])


def _in_blocks(matrix: np.ndarray, layout: Layout) -> np.ndarray:
    """The real forms of the blocks of a matrix, one after the other. Raises Unfit where it has others."""
    if matrix.shape != (layout.order, layout.order):
        raise Unfit(f"the solution is {matrix.shape}, but a point of the domain is {(layout.order, layout.order)}")
    rest, parts, first = np.array(matrix), list[np.ndarray](), 0
    for size, is_complex in zip(layout.given, layout.is_complex, strict=True):
        place = slice(first, first + abs(size))
        first += abs(size)
        part = matrix[place, place]
        if size < 0:
            parts.append(np.real(part.diagonal()))
            part = np.diag(part.diagonal())
        else:
            parts.append((real_form(part) if is_complex else np.real(part)).reshape(-1))
        rest[place, place] -= part if is_complex else np.real(part)
    if rest.any():
        raise Unfit("the solution has entries outside the blocks")
    return np.concatenate(parts)


def _by_parts(name: str, array: np.ndarray) -> np.ndarray:
    """Real arrays of twice the size for the complex ones that make up a Hermitian matrix: u u^* has the real form of
    v v^T, v = (Re u, Im u), less what is skew.
    """
    if name == "x" and array.ndim == 2:
        return real_form(array)
    return np.concatenate([np.real(array), np.imag(array)]) if name == "left" else array


def in_real_form(matrix: np.ndarray, domain: Domain) -> np.ndarray:
    """Of a matrix as users are shown it the point that it stands for. Raises Unfit where it is none."""
    if isinstance(domain, DiagonalBlocks):
        return _in_blocks(matrix, domain.layout)
    return real_form(matrix) if domain.is_complex else matrix


def read_point(solution: Mapping[str, np.ndarray], domain: Domain, kind: str | None = None) -> SavedPoint:
    """The point that the arrays under /solution make up; of complex ones, the real one that stands for them.

    kind: how the run says that it kept x. Raises Unchecked where x was not kept, Unfit where the arrays are not those
    of that kind, or no finite point of the domain's shape.
    """
    shape = domain.shape
    if isinstance(domain, DiagonalBlocks):
        solution = {
            name: _in_blocks(array, domain.layout) if name == "x" else array for name, array in solution.items()
        }
    elif domain.is_complex:
        solution = {name: _by_parts(name, array) for name, array in solution.items()}
    if not solution.keys() >= KINDS.get(kind or "", set()):
        raise Unfit(f"x was kept as {kind}, but the arrays of that are not there")
    if kind == "dense" and "truncation" in solution:
        raise Unfit("x was kept entry by entry, which loses nothing, and there is a truncation")
    if kind == "samples" or "samples" in solution:
        raise Unchecked("x itself was not kept, only Gaussian samples of covariance x")
    truncation = solution.get("truncation", np.zeros(()))
    if truncation.shape != () or not is_finite(truncation) or truncation < 0.0:
        raise Unfit("the truncation is not a number that is zero or more")
    if "left" in solution and "weights" in solution:
        left, weights = solution["left"], solution["weights"]
        right = solution.get("right", left)
        if left.ndim != 2 or right.ndim != 2 or (left.shape[0], right.shape[0]) != shape:
            raise Unfit(f"the factors are {left.shape} and {right.shape}, but a point of the domain is {shape}")
        if not left.shape[1] == right.shape[1] == weights.size:
            raise Unfit("the factors do not have one column per weight")
        arrays = (left, weights, right)
    else:
        # The point of a split problem: `x` is the block that the objective acts on.
        array = solution.get("variables", solution.get("x"))
        if array is None:
            raise Unfit("no point x is there")
        if array.shape != shape:
            raise Unfit(f"the solution is {array.shape}, but a point of the domain is {shape}")
        arrays = (array,)
    if not all(map(is_finite, arrays)):
        raise Unfit("the solution has entries that are not finite numbers")
    if len(arrays) == 1:
        return SavedPoint(shape, arrays[0].astype(float, copy=False), None)
    left, weights, right = (part.astype(float, copy=False) for part in arrays)
    # One array, where it was one: it tells that x is symmetric.
    return SavedPoint(
        shape, None, Factors(left, weights, left if "right" not in solution else right), float(truncation)
    )
