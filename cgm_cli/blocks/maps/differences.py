"""Forward differences between neighbours: the map under total variation."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Size
from cgm_cli.text import counted


class Differences(LinearMap):
    """x -> (D_1 x, ..., D_d x), each of the shape of x: along axis a, D_a x is x at the next place less x here.

    At the last place of an axis the difference is 0. The l1 norm of the image is the anisotropic total variation; the
    sum over places of the l2-norms of the d differences there is the isotropic one. Along n places the eigenvalues of
    D^T D are 4 sin^2(pi j / (2 n)), so |A|^2 = sum over axes of 4 cos^2(pi / (2 n)) < 4 d: 8 for an image. Where the c
    channels of a place stand beside each other along the last axis, c of its places on are the next one: n / c of them.
    """

    class Spec(BlockSpec):
        kind: Literal["differences"]

        channels: Size = Field(1, description="entries of a place, beside each other along the last axis: 3 of colours")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "differences"}]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Differences:
            if in_shape[-1] % self.channels:
                message = (
                    f"{counted(in_shape[-1], 'entry')} along the last axis, and places "
                    f"of {counted(self.channels, 'channel')}"
                )
                raise ProblemError(message, ("channels",))
            return Differences(in_shape, self.channels)

    def __init__(self, in_shape: tuple[int, ...], channels: int = 1):
        self.in_shape, self.channels = in_shape, channels
        self.out_shape = (len(in_shape), *in_shape)
        squares = [4.0 * np.cos(np.pi / (2 * n)) ** 2 for n in (*in_shape[:-1], in_shape[-1] // channels) if n > 1]
        self.norm = self.norm_bound = float(np.sqrt(sum(squares))) * (1.0 + 1e-13)

    def forward(self, x: np.ndarray) -> np.ndarray:
        out = np.zeros(self.out_shape)
        for axis, (here, after) in enumerate(self._neighbours):
            np.subtract(x[after], x[here], out=out[axis][here])
        return out

    def adjoint(self, y: np.ndarray) -> Direction:
        out = np.zeros(self.in_shape)
        for part, (here, after) in zip(y, self._neighbours, strict=True):
            out[after] += part[here]
            out[here] -= part[here]
        return DenseDirection(out)

    @cached_property
    def _neighbours(self) -> list[tuple[tuple[slice, ...], tuple[slice, ...]]]:
        """Along every axis, all places with a next one, and those next ones."""
        found: list[tuple[tuple[slice, ...], tuple[slice, ...]]] = []
        for axis in range(len(self.in_shape)):
            before, behind = (slice(None),) * axis, (slice(None),) * (len(self.in_shape) - axis - 1)
            step = self.channels if not behind else 1
            found.append(((*before, slice(None, -step), *behind), (*before, slice(step, None), *behind)))
        return found
