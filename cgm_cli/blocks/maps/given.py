"""A linear map that a user's Python function makes."""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.linalg as la
import scipy.sparse.linalg as spla

from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.norms import norm_bound, operator_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.functions import UserCode
from cgm_cli.spec.fields import PythonSpec
from cgm_cli.text import counted

WRITTEN_OUT = 64
"""The shorter side up to which the norm is that of the matrix, written out by as many products."""

AGREES = 1e-6
"""Part of |A x| |y| by which <A x, y> and <x, A^T y> may differ, and of |A x| + |A z| by which A may not be linear:
single precision will do.
"""


class GivenMap(LinearMap):
    """x -> A vec(x), by the products that a user's object has: `matvec` (A x), `rmatvec` (A^T y) and `shape` (m, n), as
    a LinearOperator of SciPy. n: the entries of a point, in C order.
    """

    class Spec(PythonSpec):
        """The function is called with the shape of a point of the domain."""

        examples: ClassVar = []

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> GivenMap:
            return GivenMap(context.function(self.python, self.source, in_shape), in_shape)

    def __init__(self, code: UserCode, in_shape: tuple[int, ...]):
        """Raises ProblemError unless the object is a linear map of such points, and `rmatvec` its adjoint."""
        self._code, self.in_shape = code, in_shape
        self.trusts = (code.called,)
        self._forward, self._adjoint = code.part("matvec"), code.part("rmatvec")
        if not callable(self._forward) or not callable(self._adjoint):
            raise ProblemError(
                f"{code.called}: makes a {type(code.made).__name__}, and an object with `matvec`, `rmatvec` and "
                "`shape` is needed, such as a scipy.sparse.linalg.LinearOperator"
            )
        shape, size = code.shape(), math.prod(in_shape)
        if len(shape) != 2:
            raise ProblemError(f"{code.called}: its `shape` is {shape}, and not (rows, columns)")
        if shape[1] != size:
            raise ProblemError(
                f"{code.called}: its shape is {shape}, but a point of the domain has {counted(size, 'entry')}"
            )
        self.out_shape = (shape[0],)
        self._refuse_what_is_not_linear()
        self.norm, self.norm_bound = self._norms()

    def _times(self, x: np.ndarray) -> np.ndarray:
        return self._code.array("`matvec(x)`", self._code.run(self._forward, x), self.out_shape)

    def _transposed_times(self, y: np.ndarray) -> np.ndarray:
        return self._code.array("`rmatvec(y)`", self._code.run(self._adjoint, y), (math.prod(self.in_shape),))

    def _refuse_what_is_not_linear(self) -> None:
        """On points drawn at random: A (x - 2 z) = A x - 2 A z, and <A x, y> = <x, A^T y>."""
        rng = np.random.default_rng(0)
        x, z = (rng.standard_normal(math.prod(self.in_shape)) for _ in range(2))
        y = rng.standard_normal(self.out_shape)
        image, other = self._times(x.copy()), self._times(z.copy())
        off = float(np.linalg.norm(self._times(x - 2.0 * z) - image + 2.0 * other))
        if off > AGREES * float(np.linalg.norm(image) + np.linalg.norm(other)):
            raise ProblemError(
                f"{self._code.called}: `matvec` is not linear: A (x - 2 z) is not A x - 2 A z, for x, z random"
            )
        back = self._transposed_times(y.copy())
        left, right = float(image @ y), float(x @ back)
        size = float(np.linalg.norm(image) * np.linalg.norm(y) + np.linalg.norm(x) * np.linalg.norm(back))
        if abs(left - right) > AGREES * size:
            raise ProblemError(
                f"{self._code.called}: `rmatvec` is not the adjoint of `matvec`: <A x, y> = {left:.6g}, but "
                f"<x, A^T y> = {right:.6g}, for x, y random"
            )

    def _norms(self) -> tuple[float, float]:
        """|A|, and what it surely is not above: infinite, where the matrix has not been written out."""
        m, n = self.out_shape[0], math.prod(self.in_shape)
        if min(m, n) <= WRITTEN_OUT:
            matrix = self.written_out
            norm = operator_norm(matrix)
            return norm, norm_bound(matrix, norm)
        operator = spla.LinearOperator((m, n), matvec=self._times, rmatvec=self._transposed_times, dtype=float)
        start = np.random.default_rng(0).standard_normal(min(m, n))
        try:
            found = spla.svds(operator, k=1, tol=1e-6, v0=start, return_singular_vectors=False)[0]
        except (spla.ArpackError, la.LinAlgError):
            raise ProblemError(f"{self._code.called}: the norm of the map is not found: Lanczos does not end") from None
        return float(found) * (1.0 + 1e-5), math.inf

    @cached_property
    def written_out(self) -> np.ndarray:
        """The matrix (m, n), by products along its shorter side."""
        m, n = self.out_shape[0], math.prod(self.in_shape)
        if m <= n:
            return np.array([self._transposed_times(unit) for unit in np.eye(m)])
        return np.array([self._times(unit) for unit in np.eye(n)]).T

    def forward(self, x: np.ndarray) -> np.ndarray:
        return self._times(x.reshape(-1).copy())

    def adjoint(self, y: np.ndarray) -> Direction:
        return DenseDirection(self._transposed_times(y.copy()).reshape(self.in_shape))
