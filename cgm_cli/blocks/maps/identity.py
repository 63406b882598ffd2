"""The identity map."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.single_matrix import SingleMatrix
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec


class Identity(LinearMap):
    """x -> x. `forward` copies, so that an image may be updated in place without touching the point."""

    norm = norm_bound = 1.0
    is_identity = True

    class Spec(BlockSpec):
        kind: Literal["identity"]

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "identity"}]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Identity:
            return Identity(in_shape)

    def __init__(self, shape: tuple[int, ...]):
        self.in_shape = self.out_shape = shape

    def forward(self, x: np.ndarray) -> np.ndarray:
        return np.array(x, dtype=float)

    def adjoint(self, y: np.ndarray) -> Direction:
        return SingleMatrix(y) if y.dtype == np.float32 else DenseDirection(y)

    def forward_atom(self, atom: Atom) -> np.ndarray:
        return atom.dense()
