"""Several maps of the same point, one after the other."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction, SumDirection
from cgm_cli.blocks.maps.base import LinearMap, rows_of
from cgm_cli.errors import located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, MapField


class Stack(LinearMap):
    """x -> (A_1 x, ..., A_m x), raveled and concatenated. |A|^2 <= sum |A_i|^2. The adjoint is y -> sum A_i^T y_i."""

    class Spec(BlockSpec):
        kind: Literal["stack"]
        maps: list[MapField] = Field(..., min_length=1, description="the maps, all of the same point")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "stack", "maps": [{"kind": "row-sums"}, {"kind": "diagonal"}, {"kind": "identity"}]},
            {"kind": "stack", "maps": [{"kind": "sampling", "indices": [1, 0]}, {"kind": "identity"}]},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Stack:
            maps: list[LinearMap] = []
            for number, spec in enumerate(self.maps):
                with located("maps", number):
                    maps.append(spec.build(context, in_shape))
            return Stack(tuple(maps))

    def __init__(self, maps: tuple[LinearMap, ...]):
        self.maps = maps
        self.in_shape = maps[0].in_shape
        sizes = [math.prod(inner.out_shape) for inner in maps]
        self.starts = list(accumulate(sizes, initial=0))
        self.out_shape = (self.starts[-1],)
        self.norm = float(np.linalg.norm([inner.norm for inner in maps]))
        self.norm_bound = float(np.linalg.norm([inner.norm_bound for inner in maps])) * (1.0 + 1e-13)

    # Nobody sets it.
    @property
    def needs_array(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return any(inner.needs_array for inner in self.maps)

    @property
    def trusts(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(name for inner in self.maps for name in inner.trusts)

    @property
    def work(self) -> int:
        return sum(inner.work for inner in self.maps)

    def rows(self) -> sp.csr_array | None:
        found = [rows_of(inner) for inner in self.maps]
        known = [rows for rows in found if rows is not None]
        return sp.csr_array(sp.vstack(known)) if len(known) == len(found) else None

    def forward(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([inner.forward(x).reshape(-1) for inner in self.maps])

    def adjoint(self, y: np.ndarray) -> Direction:
        parts = zip(self.maps, self.starts[:-1], self.starts[1:], strict=True)
        return SumDirection(tuple(inner.adjoint(y[a:b].reshape(inner.out_shape)) for inner, a, b in parts))

    def forward_atom(self, atom: Atom) -> np.ndarray:
        return np.concatenate([inner.forward_atom(atom).reshape(-1) for inner in self.maps])
