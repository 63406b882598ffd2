"""Convolution with a kernel: blurred signals and images, moving averages."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.fitting import named, numbers
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec


class Convolution(MatrixMap):
    """x -> h * x, (h * x)_i = sum_k h_k x_(i + s - k), along one axis or two, with x zero outside.

    `same` is of the shape of x, with s = (K - 1) / 2 rounded down for K entries of h; `valid`, with s = K - 1, is what
    x need not be continued for. The modes are those of scipy.signal.convolve. It is a matrix with as many entries as h
    has for every entry of the image. The adjoint is the correlation with h.
    """

    # It has a matrix, but is written in another way.
    class Spec(BlockSpec):  # pyright: ignore[reportIncompatibleVariableOverride]
        kind: Literal["convolution"]
        kernel: ArrayField = Field(..., description="h, a vector for points that are vectors, a matrix for matrices")
        mode: Literal["same", "valid"] = Field("same", description="how much of the whole convolution the image is")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "convolution", "kernel": [0.25, 0.5, 0.25]},
            {"kind": "convolution", "kernel": [1.0, -2.0], "mode": "valid"},
            {"kind": "convolution", "kernel": [[0, 1, 0], [1, 2, 3]]},
            {"kind": "convolution", "kernel": [[1, -1], [0, 2]], "mode": "valid"},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Convolution:
            kernel = context.array(self.kernel)
            context.reserve("matrix of the convolution", 5 * 8 * math.prod(in_shape) * kernel.size)
            return Convolution(kernel, in_shape, self.mode == "valid")

    def __init__(self, kernel: np.ndarray, in_shape: tuple[int, ...], valid: bool = False):
        """Raises ProblemError unless the kernel has as many axes as a point, one or two, and is nowhere longer."""
        self.kernel, self.valid = numbers(kernel, "the kernel"), valid
        shape = self.kernel.shape
        if len(in_shape) > 2 or len(shape) != len(in_shape):
            raise ProblemError(
                f"the kernel is {named(shape)}, but a point of the domain is {named(in_shape)}: both are vectors, or "
                "both are matrices"
            )
        if any(k > n for k, n in zip(shape, in_shape, strict=True)):
            raise ProblemError(f"the kernel is {named(shape)}, and larger than a point, {named(in_shape)}")
        axes = list(zip(in_shape, shape, strict=True))
        image = tuple(n - k + 1 if valid else n for n, k in axes)
        first = [k - 1 if valid else (k - 1) // 2 for _, k in axes]
        super().__init__(_matrix(self.kernel, in_shape, image, first), in_shape)
        self.out_shape = image

    def forward(self, x: np.ndarray) -> np.ndarray:
        return super().forward(x).reshape(self.out_shape)

    def adjoint(self, y: np.ndarray) -> Direction:
        return super().adjoint(y.reshape(-1))

    def forward_atom(self, atom: Atom) -> np.ndarray:
        return super().forward_atom(atom).reshape(self.out_shape)


def _matrix(kernel: np.ndarray, point: tuple[int, ...], image: tuple[int, ...], first: list[int]) -> sp.csr_array:
    """Row i has h_k in column i + s - k, where there is such a column; s: `first`."""
    size = math.prod(image)
    places = np.unravel_index(np.arange(size), image)
    rows, columns, values = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    for k in zip(*np.nonzero(kernel), strict=True):
        at = [place + (s - entry) for place, s, entry in zip(places, first, k, strict=True)]
        there = np.logical_and.reduce([(each >= 0) & (each < n) for each, n in zip(at, point, strict=True)])
        rows.append(np.nonzero(there)[0])
        columns.append(np.asarray(np.ravel_multi_index([each[there] for each in at], point)))
        values.append(np.full(rows[-1].size, kernel[k]))
    if not rows:
        return sp.csr_array((size, math.prod(point)))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_array(sp.coo_array(entries, shape=(size, math.prod(point))))
