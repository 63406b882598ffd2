"""The difference of two blocks of a product domain: what ties a block of slack variables to the one it copies."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction, SumDirection
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.block import Block
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.errors import ProblemError, located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Count, MapField, identity_map
from cgm_cli.text import counted


class BlockDifference(LinearMap):
    """(x_1, ..., x_m) -> A x_i - x_j for blocks i and j of a product and a map A; |.|^2 = |A|^2 + 1, for i not j."""

    class Spec(BlockSpec):
        kind: Literal["block-difference"]
        first: Count = Field(..., description="i, the number of the block that is mapped, counted from 0")
        second: Count = Field(..., description="j, the number of the block that is subtracted")
        map: MapField = Field(default_factory=identity_map, description="A, of block i; identity when left out")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "block-difference", "first": 1, "second": 2, "map": {"kind": "row-sums"}},
            {"kind": "block-difference", "first": 0, "second": 2, "map": {"kind": "sampling", "indices": [2, 0]}},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> BlockDifference:
            """`context.domain` is the product, as for a block map."""
            domain = getattr(context, "domain", None)
            if not isinstance(domain, Product):
                raise ProblemError("a difference of blocks needs a product domain")
            for index in (self.first, self.second):
                if index >= len(domain.blocks):
                    raise ProblemError(
                        f"there is no block {index}: the product has {counted(len(domain.blocks), 'block')}"
                    )
            below = copy(context)
            below.domain = domain.blocks[self.first]
            with located("map"):
                inner: LinearMap = self.map.build(below, below.domain.shape)
            return BlockDifference(domain, self.first, self.second, inner)

    def __init__(self, domain: Product, first: int, second: int, inner: LinearMap):
        """inner: A. Raises ProblemError unless i and j differ and the image under A has the shape of block j."""
        shape = domain.blocks[second].shape
        if first == second:
            raise ProblemError("a difference of blocks needs two different blocks")
        if inner.out_shape != shape:
            raise ProblemError(
                f"block {first} is mapped to {named(inner.out_shape)}, but block {second} is {named(shape)}"
            )
        total = domain.shape[0]
        self.plus = Block(inner, first, domain.starts[first], total)
        self.minus = Block(Identity(shape), second, domain.starts[second], total)
        self.in_shape, self.out_shape = domain.shape, shape
        self.norm = float(np.hypot(inner.norm, 1.0))
        self.norm_bound = float(np.hypot(inner.norm_bound, 1.0)) * (1.0 + 1e-15)

    @property
    def trusts(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.plus.trusts

    @property
    def work(self) -> int:
        return self.plus.work + self.minus.work

    def rows(self) -> sp.csr_array | None:
        first, second = self.plus.rows(), self.minus.rows()
        return None if first is None or second is None else sp.csr_array(first - second)

    def forward(self, x: np.ndarray) -> np.ndarray:
        return self.plus.forward(x) - self.minus.forward(x)

    def adjoint(self, y: np.ndarray) -> Direction:
        return SumDirection((self.plus.adjoint(y), self.minus.adjoint(-y)))

    def forward_atom(self, atom: Atom) -> np.ndarray:
        return self.plus.forward_atom(atom) - self.minus.forward_atom(atom)
