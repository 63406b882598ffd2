"""Some entries of the point: what is observed of a matrix that is to be completed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.atoms import Atom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import DenseDirection, Direction, SparseDirection
from cgm_cli.blocks.fitting import fit
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.lookup import positions
from cgm_cli.numerics.samples import entries
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec
from cgm_cli.text import counted


@dataclass(frozen=True)
class SampledDirection(SparseDirection):
    """A^T y of a sampling A, whose pattern is known beforehand, with its transpose, too."""

    sampling: Sampling = field(kw_only=True)
    values: np.ndarray = field(kw_only=True)

    def symmetrised(self) -> Direction:
        return SparseDirection(self.sampling.symmetric_matrix_of(self.values), symmetric=True)


class Sampling(LinearMap):
    """x -> (x_i for i in indices), with distinct flat (C-order) indices; the image keeps their order."""

    norm = norm_bound = 1.0
    needs_array = False

    class Spec(BlockSpec):
        kind: Literal["sampling"]
        indices: ArrayField | None = Field(None, description="flat positions, row by row, counted from 0")
        mask: ArrayField | None = Field(
            None, description="an array of the domain's shape, 1 where sampled and 0 elsewhere"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "sampling", "indices": [0, 5, 2]},
            {"kind": "sampling", "mask": [[0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 1]]},
            {"kind": "sampling", "mask": [1, 0, 1, 1]},
        ]

        @model_validator(mode="after")
        def _one_of_both(self) -> Self:
            if (self.indices is None) == (self.mask is None):
                raise ValueError("a sampling needs either `indices` or a `mask`")
            return self

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Sampling:
            if self.indices is not None:
                return Sampling(context.array(self.indices).reshape(-1), in_shape)
            assert self.mask is not None
            mask = fit(context.array(self.mask), in_shape, "the mask", "the domain")
            if not np.all((mask == 0.0) | (mask == 1.0)):
                raise ProblemError("a mask holds 0 and 1 only")
            return Sampling(np.flatnonzero(mask), in_shape)

    def __init__(self, indices: np.ndarray, in_shape: tuple[int, ...]):
        """`indices` (k,): whole numbers. Raises ProblemError if there are none, or one is out of range or repeated."""
        indices = np.asarray(indices)
        if indices.dtype.kind not in "iuf":
            raise ProblemError("the indices of a sampling are whole numbers")
        size = math.prod(in_shape)
        with np.errstate(invalid="ignore"):  # what no integer can hold differs from what it becomes
            whole = indices.astype(np.intp)
        if whole.size == 0:
            raise ProblemError("a sampling needs at least one index")
        if np.any(whole != indices):
            raise ProblemError("an index of a sampling is not a whole number")
        if whole.min() < 0 or whole.max() >= size:
            raise ProblemError(
                f"the indices run from {whole.min()} to {whole.max()}, but the domain has {counted(size, 'variable')}"
            )
        order = np.argsort(whole, kind="stable")
        ordered = whole[order]
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if repeated.size:
            raise ProblemError(f"index {repeated[0]} is sampled twice")
        self.in_shape = in_shape
        self.out_shape = (whole.size,)
        self.indices, self._order, self._sorted = whole, order, ordered
        if len(in_shape) == 2:
            self._rows, self._columns = np.divmod(whole, in_shape[1])
            counts = np.bincount(self._rows, minlength=in_shape[0])
            self._pattern = ordered % in_shape[1], np.concatenate([[0], np.cumsum(counts)])

    def rows(self) -> sp.csr_array:
        count, ones = self.indices.size, np.ones(self.indices.size)
        return sp.csr_array((ones, self.indices, np.arange(count + 1)), shape=(count, math.prod(self.in_shape)))

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(-1)[self.indices]

    def matrix_of(self, y: np.ndarray) -> sp.csr_array:
        """A^T y for points that are matrices, in the pattern fixed at the start."""
        (rows, others), (columns, starts) = self.in_shape, self._pattern
        return sp.csr_array((y[self._order], columns, starts), shape=(rows, others))

    def adjoint(self, y: np.ndarray) -> Direction:
        """A sparse matrix; anything but a matrix is written out."""
        if len(self.in_shape) == 2:
            return SampledDirection(self.matrix_of(y), sampling=self, values=y)
        out = np.zeros(self.in_shape)
        out.reshape(-1)[self.indices] = y
        return DenseDirection(out)

    def symmetric_matrix_of(self, y: np.ndarray) -> sp.csr_array:
        """(A^T y + y^T A) / 2, in the pattern found the first time."""
        halves, columns, starts = self._both_ways
        return sp.csr_array((halves @ y, columns, starts), shape=(self.in_shape[0], self.in_shape[1]))

    @cached_property
    def _both_ways(self) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
        """What the entries of that matrix are made of, (entries, k), their columns, and where its rows begin."""
        count, n = self.indices.size, self.in_shape[1]
        keys, places = np.unique(np.concatenate([self.indices, self._columns * n + self._rows]), return_inverse=True)
        halves = sp.coo_array((np.full(2 * count, 0.5), (places, np.tile(np.arange(count), 2))), (keys.size, count))
        rows, columns = np.divmod(keys, n)
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        kind = np.int32 if keys.size < np.iinfo(np.int32).max else np.int64
        return halves.tocsr(), columns.astype(kind), starts.astype(kind)

    def forward_atom(self, atom: Atom) -> np.ndarray:
        """Entry (i, j) of a low-rank atom is sum_r left_ir w_r right_jr: O(samples * rank)."""
        if isinstance(atom, LowRankAtom):
            return entries(atom.left, atom.weights, atom.right, self._rows, self._columns)
        if isinstance(atom, SparseAtom):
            out = np.zeros(self.out_shape)
            found, place = positions(self._sorted, atom.indices)
            out[self._order[place]] = atom.values[found]
            return out
        return self.forward(atom.dense())
