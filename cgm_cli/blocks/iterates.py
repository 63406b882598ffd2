"""Iterates: the forms in which x is kept. Each knows one verb, `blend(atom, eta)`: x <- (1 - eta) x + eta atom.

dense: an array. factored: left diag(weights) right^T, exact until the columns run out, then truncated with the error
counted. sketch: see cgm_cli.blocks.sketch. samples: Gaussian vectors with covariance x, which is all that hyperplane
rounding needs (Shinde, Narayanan and Saunderson, "Memory-efficient approximation algorithms for Max-k-Cut and
correlation clustering", NeurIPS 2021).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from cgm_cli.blocks.atoms import Atom, DenseAtom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.numerics import kernels
from cgm_cli.numerics.bands import ONE_THREAD_ENTRIES
from cgm_cli.numerics.kernels import RankOneStep
from cgm_cli.readers.memory import check_fits


class Iterate(ABC):
    """A point of the domain that moves towards atoms. exact: every image of x can be computed anew from `atom`."""

    exact = True
    is_dense = False
    """Whether x is one array, which steps may be taken in, and maps may keep."""
    halved = False
    """Of a dense x: whether only the entries on and below the diagonal are current while nobody asks for the others."""
    rank = math.nan
    """Of x at the most, where it is known without a look at x: the columns of its factors."""
    truncation = 0.0
    """A bound on the nuclear norm of what x has lost, or of what `atom` misses of it."""
    recovery = 0.0
    """Seconds that `atom` takes, roughly, where that is more than to hand over what is there."""

    @abstractmethod
    def blend(self, atom: Atom, eta: float) -> None:
        """x <- (1 - eta) x + eta atom, with 0 <= eta <= 1."""

    @abstractmethod
    def atom(self) -> Atom | None:
        """The iterate as an atom, or what can be recovered of it (see `exact`); None if nothing can."""

    @property
    def point(self) -> Atom:
        """`atom`, of all iterates but samples."""
        atom = self.atom()
        assert atom is not None
        return atom

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that make up the iterate, by name: what is saved as the solution."""

    def pack(self) -> dict[str, Any]:
        """All that `unpack` needs, as arrays and plain values, by reference."""
        return dict(self.arrays())

    @property
    def nbytes(self) -> int:
        """Bytes of what `pack` gives."""
        return sum(getattr(part, "nbytes", 0) for part in self.pack().values())

    @abstractmethod
    def unpack(self, tree: Mapping[str, Any]) -> None:
        """Become the iterate of the same kind and shape that `pack` made the tree of."""


class DenseIterate(Iterate):
    """x as one C-contiguous array, changed in place.

    halves: x is symmetric, and so are the atoms. If it is large, steps then change only what lies on and below the
    diagonal, half of the memory to go over. The rest is written when somebody asks for the whole `array`, which is to
    be asked for anew after every step, and is symmetric to the bit.
    """

    is_dense = True

    def __init__(self, start: Atom, halves: bool = False):
        self._array = np.ascontiguousarray(start.dense())
        self.halved = halves and self._array.size >= ONE_THREAD_ENTRIES
        self._whole = True

    @property
    def array(self) -> np.ndarray:
        if not self._whole:
            kernels.complete(self._array)
            self._whole = True
        return self._array

    @property
    def lower(self) -> np.ndarray:
        """x; if it is halved, only the entries on and below the diagonal need be current."""
        return self._array

    def blend(self, atom: Atom, eta: float) -> None:
        if isinstance(atom, LowRankAtom):
            self.blend_priced(atom, eta, None)
        else:
            atom.blend_into(self.array, eta)

    def begin(self, atom: Atom, eta: float) -> RankOneStep | None:
        """The same step for somebody who takes it at once, on and below the diagonal; None if that is not enough."""
        if not (isinstance(atom, LowRankAtom) and self._halves(atom) and atom.weights.size == 1):
            return None
        self._whole = False
        left = atom.left[:, 0] * (eta * atom.weights[0])
        return RankOneStep(self._array, 1.0 - eta, left, np.ascontiguousarray(atom.right[:, 0]))

    def _halves(self, atom: LowRankAtom) -> bool:
        return self.halved and atom.is_symmetric

    def blend_priced(self, atom: LowRankAtom, eta: float, cost: DenseDirection | None) -> float:
        """The same, and <C, x> after it, found on the way; 0 without C."""
        lower = self._halves(atom) and (cost is None or cost.symmetric)
        x = self.lower if lower else self.array
        self._whole = not lower
        array = None if cost is None else cost.array
        return kernels.blend_low_rank(x, eta, atom.left, atom.weights, atom.right, array, lower)

    def atom(self) -> Atom:
        return DenseAtom(self.array)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"x": self.array}

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    def unpack(self, tree: Mapping[str, Any]) -> None:
        self.array[...] = tree["x"]


class FactoredIterate(Iterate):
    """x = left diag(weights) right^T with at most `columns` columns; symmetric iterates keep left alone.

    A step appends the atom's columns. When they no longer fit, the factor is compressed by a QR and a small singular
    (or eigen-) decomposition to half the columns; `truncation` adds up the nuclear norms of what was dropped (zero
    while the rank fits).
    """

    def __init__(self, start: Atom, columns: int, symmetric: bool):
        self._symmetric = symmetric
        rows, others = start.shape
        self._allocate(rows, others, columns)
        self._used = 0
        self.truncation = 0.0
        self.blend(start, 1.0)

    def _allocate(self, rows: int, others: int, columns: int) -> None:
        self._left = np.zeros((rows, columns), order="F")
        self._right = self._left if self._symmetric else np.zeros((others, columns), order="F")
        self._weights = np.zeros(columns)

    def blend(self, atom: Atom, eta: float) -> None:
        if eta >= 1.0:
            self._used, self.truncation = 0, 0.0
        self._weights[: self._used] *= 1.0 - eta
        if isinstance(atom, SparseAtom) and atom.values.size == 0:
            return
        if not isinstance(atom, LowRankAtom) or (self._symmetric and not atom.is_symmetric):
            raise ProblemError("a factored iterate needs atoms of low rank; use `iterate: dense`")
        width = atom.weights.size
        if self._used == 0 and width > self._weights.size:
            self._allocate(self._left.shape[0], self._right.shape[0], width)
        if self._used + width > self._weights.size:
            self._compress(max(1, min(self._weights.size // 2, self._weights.size - width)))
        new = slice(self._used, self._used + width)
        self._left[:, new] = atom.left
        self._right[:, new] = atom.right
        self._weights[new] = eta * atom.weights
        self._used += width

    def _compress(self, keep: int) -> None:
        left, right, weights = self._parts()
        basis, triangle = np.linalg.qr(left)
        if self._symmetric:
            values, vectors = scipy.linalg.eigh((triangle * weights) @ triangle.T)
            order = np.argsort(-np.abs(values), kind="stable")
            values, vectors = values[order], vectors[:, order]
            rows = cols = vectors
            other_basis = basis
        else:
            other_basis, other_triangle = np.linalg.qr(right)
            rows, values, transposed = np.linalg.svd((triangle * weights) @ other_triangle.T)
            cols = transposed.T
        keep = min(keep, values.size)
        self.truncation += float(np.abs(values[keep:]).sum())
        self._left[:, :keep] = basis @ rows[:, :keep]
        if not self._symmetric:
            self._right[:, :keep] = other_basis @ cols[:, :keep]
        self._weights[:keep] = values[:keep]
        self._used = keep

    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._left[:, : self._used], self._right[:, : self._used], self._weights[: self._used]

    @property
    def rank(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return float(self._used)

    def atom(self) -> LowRankAtom:
        left, right, weights = self._parts()
        return LowRankAtom.symmetric(left, weights) if self._symmetric else LowRankAtom(left, weights, right)

    def arrays(self) -> dict[str, np.ndarray]:
        left, right, weights = self._parts()
        factors = {"left": left, "weights": weights} | ({} if self._symmetric else {"right": right})
        return factors | {"truncation": np.array(self.truncation)}

    def pack(self) -> dict[str, Any]:
        return {**self.arrays(), "truncation": self.truncation, "columns": self._weights.size}

    def unpack(self, tree: Mapping[str, Any]) -> None:
        """With the columns of the former iterate or of this one, whichever are more."""
        used, columns = tree["weights"].size, max(tree["columns"], self._weights.size)
        if columns > self._weights.size:
            self._allocate(self._left.shape[0], self._right.shape[0], columns)
        self._left[:, :used], self._weights[:used] = tree["left"], tree["weights"]
        if not self._symmetric:
            self._right[:, :used] = tree["right"]
        self._used, self.truncation = used, tree["truncation"]


def is_factored(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether these are the `arrays` of an iterate in factors, or of what was recovered of a sketch."""
    return "left" in arrays and "weights" in arrays


def factors_of(arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """left (m, r), weights (r,) and right (n, r), which is left where the matrix is Hermitian. DataError for arrays
    that do not belong together: they may have come from a file.
    """
    left, weights = arrays["left"], arrays["weights"]
    right = arrays.get("right", left)
    if left.ndim != 2 or right.ndim != 2 or not weights.shape == left.shape[1:] == right.shape[1:]:
        raise DataError("left, weights and right do not belong together: their numbers of columns differ")
    return left, weights, right


def written_out(factors: Mapping[str, np.ndarray]) -> np.ndarray:
    """left diag(weights) right^*. DataError if it does not fit."""
    left, weights, right = factors_of(factors)
    check_fits("the matrix, written out,", left.itemsize * (left.shape[0] * right.shape[0] + left.size))
    return (left * weights) @ right.conj().T


class SampledIterate(Iterate):
    """`count` vectors z ~ N(0, x) for a positive semidefinite x: z <- sqrt(1 - eta) z + sqrt(eta) (a sample of the
    atom).

    The sum of independent Gaussian vectors has the sum of their covariances, so every column stays an exact sample of
    x.
    """

    exact = False

    def __init__(self, start: Atom, count: int, rng: np.random.Generator):
        self._rng = rng
        self._samples = np.zeros((start.shape[0], count))
        self.blend(start, 1.0)

    def blend(self, atom: Atom, eta: float) -> None:
        self._samples *= np.sqrt(1.0 - eta)
        if isinstance(atom, SparseAtom) and atom.values.size == 0:
            return
        if not (isinstance(atom, LowRankAtom) and atom.is_symmetric):
            raise ProblemError("a sampled iterate needs symmetric atoms of low rank; use `iterate: dense`")
        noise = self._rng.standard_normal((atom.weights.size, self._samples.shape[1]))
        self._samples += (atom.left * np.sqrt(eta * atom.weights)) @ noise

    def atom(self) -> None:
        return None

    def arrays(self) -> dict[str, np.ndarray]:
        return {"samples": self._samples}

    def pack(self) -> dict[str, Any]:
        return {"samples": self._samples, "rng": self._rng.bit_generator.state}

    def unpack(self, tree: Mapping[str, Any]) -> None:
        self._samples[...] = tree["samples"]
        self._rng.bit_generator.state = tree["rng"]
