"""Blind deconvolution: two signals in known subspaces from their convolution, by lifting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.bilinear_convolution import BilinearConvolution
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ErrorCollector, ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, ByKeys, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.photographs import CAMERA, photograph
from cgm_cli.templates.views import ErrorMap, Photograph

RECOVERED = 0.02
"""The error up to which both signals count as recovered, as by Ahmed, Recht and Romberg."""

CONSISTENT = 1e-8
"""Part of |y| that the best X may miss it by for it to be a convolution of the subspaces, but for rounding."""


class RandomMessage(StrictModel):
    """A message of standard normal numbers, or a photograph, coded by a random matrix and sent through a channel whose
    response has that many taps, standard normal, and whose output is circular.
    """

    length: Size = Field(description="L, of what is received")
    taps: Size = Field(description="K, the entries of h")
    message: Size | Literal["camera"] = Field(description="N, the entries of m; or scikit-image's `camera`")
    size: Size | None = Field(default=None, description="the side to which the photograph is resized, N = side^2")

    @model_validator(mode="after")
    def _fits(self):
        if self.taps > self.length:
            raise ValueError(f"a response of {self.taps} taps is longer than the {self.length} numbers received")
        if (self.size is not None) != (self.message == CAMERA):
            raise ValueError("`size` is the side of the photograph, and is to be said of that alone")
        return self


class BlindDeconvolution(Template):
    """min |X|_* over K x N matrices X with A(X) = y, where A(h m^T) = B h * C m, a circular convolution.

    Ahmed, Recht and Romberg, IEEE Trans. Inf. Theory 60, 2014. B and C are known, h and m are not: where X has rank one
    it is h m^T, and both are known but for a factor. |X|_* is the least (tr W + tr V) / 2 of [[W, X], [X^T, V]] >= 0,
    which is x, of bounded trace: an X that meets the equations, the shortest, has a nuclear norm that is no less than
    the least.
    """

    class Spec(TemplateSpec):
        template: Literal["blind-deconvolution"]
        signal: Annotated[RandomMessage | ArrayField, ByKeys()] = Field(
            description="y as received, a vector; or {length: L, taps: K, message: N}, which draws everything"
        )
        kernels: ArrayField | None = Field(None, description="B, (L, K), beside your own y: w = B h")
        codes: ArrayField | None = Field(None, description="C, (L, N), beside your own y: x = C m")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "blind-deconvolution", "signal": {"length": 48, "taps": 4, "message": 6}},
            {
                "template": "blind-deconvolution",
                "signal": [3, 3, 1, 2],
                "kernels": [[1, 0], [0, 1], [0, 0], [0, 0]],
                "codes": [[1], [1], [0], [1]],
            },
            {
                "template": "blind-deconvolution",
                "signal": {"length": 256, "taps": 4, "message": CAMERA, "size": 7},
            },
        ]

        @model_validator(mode="after")
        def _subspaces(self):
            if isinstance(self.signal, RandomMessage) != (self.kernels is None and self.codes is None):
                raise ValueError("your own y needs `kernels` and `codes`; what is drawn has its own")
            if not isinstance(self.signal, RandomMessage) and (self.kernels is None or self.codes is None):
                raise ValueError("your own y needs both `kernels` and `codes`")
            return self

        def build(self, context: BuildContext) -> BlindDeconvolution:
            if isinstance(self.signal, RandomMessage):
                with located("signal"):
                    return _drawn(self.signal, context)
            assert self.kernels is not None and self.codes is not None
            faults, y, sides = ErrorCollector(), np.zeros(0), list[np.ndarray]()
            with faults.part("signal"):
                y = context.array(self.signal).reshape(-1)
            for name, field in (("kernels", self.kernels), ("codes", self.codes)):
                with faults.part(name):
                    found = context.array(field)
                    if found.ndim != 2 or len(found) != y.size:
                        raise ProblemError(f"the matrix is {named(found.shape)}, but y has {y.size} entries")
                    sides.append(found)
            faults.raise_all()
            context.reserve("convolutions", 8 * 6 * (sides[0].size + sides[1].size))
            return BlindDeconvolution(y, sides[0], sides[1])

    measures = (
        Metric("error", "|X - h m^T| / |h m^T| of the X of rank one that is found", "lower", log=True),
        Metric("recovered", f"1 if that is at most {RECOVERED:g}, else 0", "higher"),
        Metric("misfit", "|A(X) - y| / |y| of that X", "lower", log=True),
        Metric("rank_ratio", "second largest singular value of X over the largest, 0 of rank one", "lower", log=True),
    )

    views = (
        Photograph("truth", "truth", "The photograph that was sent, {rows} x {columns} pixels."),
        Photograph("recovered", "recovered", "The photograph that was found, {rows} x {columns} pixels."),
        ErrorMap("error", "recovered", "truth", "The error of every pixel, white where it is largest: {largest:.3g}."),
    )

    def __init__(
        self,
        y: np.ndarray,
        kernels: np.ndarray,
        codes: np.ndarray,
        truth: tuple[np.ndarray, np.ndarray] | None = None,
        shape: tuple[int, int] | None = None,
    ):
        """y (L,), B (L, K), C (L, N). truth: h (K,) and m (N,). shape: of an image that m is, row by row."""
        self.map, self.y, self.truth, self.image = BilinearConvolution(kernels, codes), y, truth, shape
        size = float(np.linalg.norm(y))
        if size == 0.0:
            raise ProblemError("the signal is zero, and so are those that were convolved", ("signal",))
        k, order = kernels.shape[1], self.map.in_shape[0]
        shortest = _shortest(self.map, y)
        least = math.sqrt(min(k, order - k)) * float(np.linalg.norm(shortest))
        domain = PSDTrace(order, 2.0 * least, fixed_trace=False)
        domain.likely_rank = 1
        # As in phase retrieval: images of rank one are far smaller than |A| lets them be.
        weight = (self.map.norm * float(np.linalg.norm(shortest)) / size) ** 2
        cost = Linear(0.5 * sp.csr_array(sp.eye_array(order)), domain.shape)
        received = Term("signal", self.map, Equals(y.shape, y), max(1.0, weight))
        self.problem = CompositeProblem(domain, cost, (received,))

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        """error, where the signals are known."""
        return self._compared(*self._leading(iterate)[:2])

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """response (K,) and message (N,), of equal lengths, the signs those of the truth, or else the message has a sum
        that is positive. Of a photograph also `recovered`, scaled as the truth is, with that.
        """
        h, m, ratio = self._leading(iterate)
        seen = self.map.convolved(h[:, None], m[:, None], np.ones(1))
        metrics = {
            **self._compared(h, m),
            "misfit": float(np.linalg.norm(seen - self.y) / np.linalg.norm(self.y)),
            "rank_ratio": ratio,
        }
        if "error" in metrics:
            metrics["recovered"] = float(metrics["error"] <= RECOVERED)
        arrays = {"response": h, "message": m}
        if self.image is not None and self.truth is not None:
            square = float(m @ m)
            fitted = m * (float(self.truth[1] @ m) / square) if square > 0.0 else m
            arrays["recovered"] = np.clip(fitted, 0.0, 1.0).reshape(self.image)
            arrays["truth"] = self.truth[1].reshape(self.image)
        return Rounding(metrics, arrays)

    def _leading(self, iterate: Iterate) -> tuple[np.ndarray, np.ndarray, float]:
        """sqrt(s) u, sqrt(s) v of the largest singular value s of X, and the second largest over it."""
        k, factors = self.map.left.shape[1], iterate.point.low_rank
        if factors is None:
            left, values, right = np.linalg.svd(iterate.point.dense()[:k, k:], full_matrices=False)
            right = right.T
        else:
            first, triangle = np.linalg.qr(factors.left[:k] * factors.weights)
            second, other = np.linalg.qr(factors.left[k:])
            rows, values, columns = np.linalg.svd(triangle @ other.T, full_matrices=False)
            left, right = first @ rows, second @ columns.T
        if not values.size or values[0] == 0.0:
            return np.zeros(k), np.zeros(self.map.right.shape[1]), 0.0
        h, m = math.sqrt(values[0]) * left[:, 0], math.sqrt(values[0]) * right[:, 0]
        along = float(m.sum() if self.truth is None else m @ self.truth[1])
        sign = -1.0 if along < 0.0 else 1.0
        return sign * h, sign * m, float(values[1] / values[0]) if values.size > 1 else 0.0

    def _compared(self, h: np.ndarray, m: np.ndarray) -> dict[str, float]:
        """|h m^T - g n^T|^2 = |h|^2 |m|^2 - 2 <h, g> <m, n> + |g|^2 |n|^2."""
        if self.truth is None:
            return {}
        g, n = self.truth
        whole = float((g @ g) * (n @ n))
        square = float((h @ h) * (m @ m) - 2.0 * (h @ g) * (m @ n)) + whole
        return {"error": math.sqrt(max(0.0, square) / whole)}


def _drawn(given: RandomMessage, context: BuildContext) -> BlindDeconvolution:
    rng, shape = np.random.default_rng([context.seed, 14]), None
    if isinstance(given.message, int):
        n, message = given.message, None
    else:
        picture = photograph(given.message, given.size, context, grey=True).pixels
        shape, message = (picture.shape[0], picture.shape[1]), picture.reshape(-1)
        n = message.size
    context.reserve("convolutions", 8 * 8 * given.length * (given.taps + n))
    codes = rng.standard_normal((given.length, n)) / math.sqrt(given.length)
    response = rng.standard_normal(given.taps)
    drawn = rng.standard_normal(n)
    message = drawn if message is None else message
    kernels = np.eye(given.length, given.taps)
    y = BilinearConvolution(kernels, codes).convolved(response[:, None], message[:, None], np.ones(1))
    return BlindDeconvolution(y, kernels, codes, (response, message), shape)


def _shortest(linear: BilinearConvolution, y: np.ndarray) -> np.ndarray:
    """The X (K, N) of least Frobenius norm with A(X) = y. ProblemError where there is none."""
    from scipy.sparse.linalg import LinearOperator, lsmr

    k, n = linear.left.shape[1], linear.right.shape[1]

    def forward(x: np.ndarray) -> np.ndarray:
        return linear.of_block(x.reshape(k, n))

    def back(z: np.ndarray) -> np.ndarray:
        return linear.gradient(z).reshape(-1)

    operator = LinearOperator((y.size, k * n), matvec=forward, rmatvec=back, dtype=float)
    found = lsmr(operator, y, atol=1e-12, btol=1e-12, maxiter=2000)[0].reshape(k, n)
    missed = float(np.linalg.norm(linear.of_block(found) - y))
    if missed > CONSISTENT * float(np.linalg.norm(y)):
        part = missed / float(np.linalg.norm(y))
        raise ProblemError(f"no X convolves to the signal: the nearest misses {part:.2g} of it", ("signal",))
    return found
