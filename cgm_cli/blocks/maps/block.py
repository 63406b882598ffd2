"""One block of a product domain, mapped further."""

from __future__ import annotations

import math
from copy import copy
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, BlocksAtom
from cgm_cli.blocks.directions import Direction, EmbeddedDirection
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.maps.base import LinearMap, rows_of
from cgm_cli.errors import ProblemError, located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Count, MapField, identity_map
from cgm_cli.text import counted


class Block(LinearMap):
    """(x_1, ..., x_m) -> A x_i for the block i of a product domain and a map A of that block."""

    class Spec(BlockSpec):
        kind: Literal["block"]
        index: Count = Field(..., description="number of the block in the product, counted from 0")
        map: MapField = Field(default_factory=identity_map, description="map of that block; identity when left out")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "block", "index": 1},
            {"kind": "block", "index": 1, "map": {"kind": "row-sums"}},
            {"kind": "block", "index": 0, "map": {"kind": "sampling", "indices": [2, 0]}},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Block:
            """`context.domain` is the domain of the problem, or the block that an enclosing block map went down to."""
            domain = getattr(context, "domain", None)
            if not isinstance(domain, Product):
                raise ProblemError("a block map needs a product domain")
            if self.index >= len(domain.blocks):
                raise ProblemError(
                    f"there is no block {self.index}: the product has {counted(len(domain.blocks), 'block')}"
                )
            below = copy(context)
            below.domain = domain.blocks[self.index]
            with located("map"):
                inner: LinearMap = self.map.build(below, below.domain.shape)
            return Block(inner, self.index, domain.starts[self.index], domain.shape[0])

    def __init__(self, inner: LinearMap, index: int, start: int, total: int):
        self.inner, self.index, self.start = inner, index, start
        self.in_shape = (total,)
        self.out_shape = inner.out_shape
        self.norm, self.norm_bound = inner.norm, inner.norm_bound

    # Nobody sets it.
    @property
    def needs_array(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.inner.needs_array

    @property
    def trusts(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.inner.trusts

    @property
    def reads(self) -> slice:
        inner = self.inner.reads
        return slice(self.start + inner.start, self.start + inner.stop)

    @property
    def work(self) -> int:
        return super().work + self.inner.work

    def rows(self) -> sp.csr_array | None:
        rows = rows_of(self.inner)
        if rows is None:
            return None
        shape = rows.shape[0], self.in_shape[0]
        return sp.csr_array((rows.data, rows.indices + self.start, rows.indptr), shape=shape)

    def forward(self, x: np.ndarray) -> np.ndarray:
        stop = self.start + math.prod(self.inner.in_shape)
        return self.inner.forward(x[self.start : stop].reshape(self.inner.in_shape))

    def adjoint(self, y: np.ndarray) -> Direction:
        return EmbeddedDirection(self.inner.adjoint(y), self.start, self.in_shape[0])

    def forward_atom(self, atom: Atom) -> np.ndarray:
        if isinstance(atom, BlocksAtom):
            return self.inner.forward_atom(atom.blocks[self.index])
        return self.forward(atom.dense())
