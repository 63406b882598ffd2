"""Quadratic forms: inner products with matrices v v^T, of which nothing but v is kept."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.factored_direction import FactoredDirection
from cgm_cli.blocks.fitting import named, numbers
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.eigh import some_eigenvalues
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec
from cgm_cli.text import counted

WRITTEN_OUT = 1_000_000
"""Entries of the matrices up to which they are written out for whoever asks for rows; beyond, descent is ahead."""

FACTORISED = 1000
"""The most forms whose norm comes from a full factorisation."""

TURNS = 30
"""Of the power method that bounds it beyond."""

NEAR = 1e-6
"""To what part of it the bound is found."""

HELD = 8000
"""The most rows of products that are kept for that."""

_EPS = float(np.finfo(float).eps)


class QuadraticForms(LinearMap):
    """X -> (v_1^T X v_1, ..., v_m^T X v_m) for an (n, n) matrix X: the measurements of phase retrieval.

    The adjoint is y -> sum_i y_i v_i v_i^T. Of an X of rank r in factors it takes O(m n r), and no matrix is made.
    """

    needs_array = False

    class Spec(BlockSpec):
        kind: Literal["quadratic-forms"]
        vectors: ArrayField = Field(..., description="v_1, ..., v_m, one in a row")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "quadratic-forms", "vectors": [[1, 0, 2], [0.5, -1, 0]]},
            {"kind": "quadratic-forms", "vectors": [[1, 0, 0], [0, 0, 0], [0, 3, 1], [1, 1, 1], [2, 0, -1]]},
            {"kind": "quadratic-forms", "vectors": [[0.5, 0, -1]]},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> QuadraticForms:
            return QuadraticForms(context.array(self.vectors), in_shape)

    def __init__(self, vectors: np.ndarray, in_shape: tuple[int, ...]):
        """vectors: (m, n). Raises ProblemError unless points are square matrices with as many rows."""
        vectors = numbers(vectors, "the matrix of vectors")
        if len(in_shape) != 2 or in_shape[0] != in_shape[1]:
            raise ProblemError(f"forms need a square matrix, but a point of the domain is {named(in_shape)}")
        if vectors.ndim != 2 or vectors.shape[1] != in_shape[0]:
            raise ProblemError(
                f"the matrix of vectors is {named(vectors.shape)}, but points have {counted(in_shape[0], 'row')}"
            )
        self.vectors, self.in_shape, self.out_shape = vectors, in_shape, (vectors.shape[0],)
        self._columns = np.ascontiguousarray(vectors.T)
        self.norm, self.norm_bound = _norms(vectors)

    @staticmethod
    def numbers_held(m: int, n: int) -> int:
        """While the map of m vectors of length n is made: those of the vectors, and of their products."""
        return 4 * m * n + (3 * m * m if m <= HELD else n * n)

    @property
    def work(self) -> int:
        return math.prod(self.in_shape) * self.out_shape[0]

    def rows(self) -> sp.csr_array | None:
        """The matrices v v^T themselves, where they are not too large for it."""
        m, n = self.vectors.shape
        if m * n * n > WRITTEN_OUT:
            return None
        return sp.csr_array((self.vectors[:, :, None] * self.vectors[:, None, :]).reshape(m, n * n))

    def forward(self, x: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", self.vectors @ x, self.vectors)

    def adjoint(self, y: np.ndarray) -> Direction:
        return FactoredDirection(self._columns, y)

    def forward_atom(self, atom: Atom) -> np.ndarray:
        if not isinstance(atom, LowRankAtom):
            return self.forward(atom.dense())
        left = self.vectors @ atom.left
        right = left if atom.right is atom.left else self.vectors @ atom.right
        return (left * right) @ atom.weights


def _norms(vectors: np.ndarray) -> tuple[float, float]:
    """|A| and a bound on it: A A^T has the entries (v_i^T v_j)^2, none of which is negative, so that its largest
    eigenvalue is at most the largest (A A^T x)_i / x_i, for any x > 0 (Collatz and Wielandt).
    """
    peak = float(np.abs(vectors).max(initial=0.0))
    if peak == 0.0:
        return 0.0, 0.0
    vectors = vectors[np.abs(vectors).max(axis=1) > 0.0] / peak
    m, n = vectors.shape
    rounding = (2 * n + m + 8) * _EPS * float(np.square(np.square(vectors).sum(axis=1)).sum())
    if m <= FACTORISED:
        largest = float(some_eigenvalues(np.square(vectors @ vectors.T), m - 1, m - 1)[0])
    else:
        largest = _by_powers(vectors)
    return peak**2 * math.sqrt(largest) * (1.0 + 1e-13), peak**2 * math.sqrt(largest + rounding) * (1.0 + 8 * _EPS)


def _by_powers(vectors: np.ndarray) -> float:
    m = vectors.shape[0]
    held = np.square(vectors @ vectors.T) if m <= HELD else None

    def multiply(x: np.ndarray) -> np.ndarray:
        if held is not None:
            return held @ x
        return np.einsum("ij,ij->i", vectors @ ((vectors.T * x) @ vectors), vectors)

    x, least = np.ones(m), np.inf
    for _ in range(TURNS):
        image = multiply(x)
        ratios = image / x
        least = min(least, float(ratios.max()))
        if ratios.max() <= (1.0 + NEAR) * ratios.min():  # the smallest is a bound from the other side
            break
        x = np.maximum(image / image.max(), _EPS)
    return least
