"""Phase retrieval: a signal from the intensities of its Fourier transforms behind masks, by PhaseLift."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.hermitian import HermitianTrace
from cgm_cli.blocks.fitting import fit, named
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.diffraction import CodedDiffraction
from cgm_cli.blocks.penalties.balls import L2BallSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError, located
from cgm_cli.numerics.arrays import is_sparse
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.hermitian import folded, folded_factor
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, ByKeys, ComplexArray, NonNegative, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.masks import Apertures, RandomMasks
from cgm_cli.templates.photographs import CAMERA, photograph
from cgm_cli.templates.views import ErrorMap, Photograph

RECOVERED = 1e-2
"""The error up to which a signal counts as recovered: a hundred times the usual tolerance of the intensities."""

EVEN = 1e-12
"""Relative difference of the entries of a sum of masks that is rounding."""


class RandomSignal(StrictModel):
    """Independent entries, standard complex normal."""

    size: Size = Field(description="how many entries")


class PhaseRetrieval(Template):
    """min tr X over X >= 0 (Hermitian) with |A(X) - b| <= e, where A(x x^*) are the intensities |F D_l x|^2.

    PhaseLift (Candes, Strohmer and Voroninski, Comm. Pure Appl. Math. 66, 2013) with coded diffraction patterns: D_l
    are masks, F the Fourier transform. Where X has rank one, it is x x^*, and x is known up to a phase, as far as
    anything can be. The largest eigenvalue and its vector make an x of any X.

    The masks say how large the trace can be: sum_l |F D_l x|^2 = n sum_j s_j |x_j|^2, s = sum_l |d_l|^2. Where every
    s_j is the same, the intensities know it, and all that is left to do is to meet them.

    Behind apertures the unknown is the spectrum of the image, and what is measured is an image again, seen through a
    part of that. Frequencies behind no aperture are zero in an X of least trace.
    """

    class Spec(TemplateSpec):
        template: Literal["phase-retrieval"]
        signal: Annotated[ArrayField | ComplexArray | RandomSignal | Literal["camera"] | None, ByKeys()] = Field(
            None,
            description="the true x, which is measured: {size: n} for a random one, a vector, an image as a matrix or "
            "in a file, or scikit-image's `camera`",
        )
        size: Size | Annotated[list[Size], Field(min_length=2, max_length=2)] | None = Field(
            None, description="resize an image to this side, or [rows, columns]"
        )
        masks: Annotated[RandomMasks | Apertures | ArrayField | ComplexArray, ByKeys()] = Field(
            default_factory=RandomMasks,
            description="random ones, {count: 10}, apertures, {across: 5, radius: 0.2}, or your own, one in a row, in "
            "the order of the entries of x",
        )
        intensities: ArrayField | None = Field(
            None, description="b as measured, |fft(mask * x)|^2 without a factor, a row for each of your own masks"
        )
        shape: Annotated[list[Size], Field(min_length=2, max_length=2)] | None = Field(
            None, description="[rows, columns] of the image that your own intensities are of; left out: a vector"
        )
        noise: NonNegative = Field(
            0.0, description="standard deviation of what is added to the intensities, over their root mean square"
        )
        error: NonNegative | None = Field(
            None, description="e over |b|; left out: what noise of that deviation is likely to be, or 0"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "phase-retrieval", "signal": {"size": 16}},
            {"template": "phase-retrieval", "signal": CAMERA, "size": 8, "masks": {"count": 6, "kind": "phases"}},
            {
                "template": "phase-retrieval",
                "masks": [[1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0]],
                "intensities": [[9, 0, 0], [4, 1, 1], [4, 1, 1], [4, 1, 1]],
                "error": 0.01,
            },
            {
                "template": "phase-retrieval",
                "signal": CAMERA,
                "size": 8,
                "masks": {"across": 3, "radius": 0.3, "overlap": 0.7},
                "noise": 0.01,
            },
        ]

        @model_validator(mode="after")
        def _measured_or_drawn(self):
            if self.signal is None and self.intensities is None:
                raise ValueError("give a `signal` to be measured, or the `intensities` that were")
            if self.intensities is not None:
                if self.signal is not None or self.noise:
                    raise ValueError("`intensities` were measured: leave `signal` and `noise` out")
                if isinstance(self.masks, RandomMasks | Apertures):
                    raise ValueError("`intensities` were measured behind masks: give these as `masks`")
            elif self.shape is not None:
                raise ValueError("`shape` is that of the image behind your own `intensities`: a `signal` has its own")
            if self.size is not None and (self.signal is None or isinstance(self.signal, RandomSignal | ComplexArray)):
                raise ValueError("`size` is that of an image: leave it out")
            return self

        def build(self, context: BuildContext) -> PhaseRetrieval:
            with located("signal"):
                truth = self._truth(context)
            if truth is not None:
                shape = truth.shape
            elif self.shape is not None:
                shape = (self.shape[0], self.shape[1])
            else:
                shape = None
            with located("masks"):
                masks = self._masks(shape, context)
            by_spectrum = isinstance(self.masks, Apertures)
            if truth is None:
                assert self.intensities is not None
                with located("intensities"):
                    b = fit(context.array(self.intensities), (len(masks), masks[0].size), "the array", "that of masks")
                    if b.min() < 0.0 and not self.error:
                        raise ProblemError(f"an intensity is {b.min():g}, and none is below 0 without an `error`")
                return PhaseRetrieval(masks, b.reshape(-1), self.error or 0.0)
            unknown = np.fft.fftn(truth, norm="ortho") if by_spectrum else truth
            b = CodedDiffraction(masks).intensities(unknown.reshape(-1, 1), np.ones(1))
            error = self.error
            if error is None:
                # |z| of m standard normal numbers is at most sqrt(m) + 2, but for one time in 50.
                error = self.noise * (1.0 + 2.0 / math.sqrt(b.size))
            if self.noise:
                drawn = np.random.default_rng([context.seed, 13]).standard_normal(b.size)
                b = b + self.noise * float(np.linalg.norm(b)) / math.sqrt(b.size) * drawn
            return PhaseRetrieval(masks, b, error, unknown, by_spectrum)

        def _truth(self, context: BuildContext) -> np.ndarray | None:
            """x, of its own shape."""
            if self.signal is None:
                return None
            if isinstance(self.signal, RandomSignal):
                n = self.signal.size
                context.reserve("signal", 32 * n)
                parts = np.random.default_rng([context.seed, 11]).standard_normal((2, n))
                return (parts[0] + 1j * parts[1]) / math.sqrt(2.0)
            if self.signal == CAMERA or self.size is not None:
                assert not isinstance(self.signal, ComplexArray)
                return photograph(self.signal, self.size, context, grey=True).pixels.astype(complex)
            found = context.complex_matrix(self.signal)
            found = np.atleast_1d(np.asarray(found.toarray() if is_sparse(found) else found, dtype=complex))
            if not found.any():
                raise ProblemError("the signal is zero, and so are its intensities")
            return found

        def _masks(self, shape: tuple[int, ...] | None, context: BuildContext) -> np.ndarray:
            """(L, *shape)."""
            if isinstance(self.masks, RandomMasks | Apertures):
                assert shape is not None
                count = self.masks.count if isinstance(self.masks, RandomMasks) else self.masks.across**2
                # Masks, intensities, duals and images, and what transforms are made of.
                context.reserve("masks", 16 * 8 * count * math.prod(shape))
                return self.masks.draw(shape, context)
            given = context.complex_matrix(self.masks)
            given = np.atleast_2d(np.asarray(given.toarray() if is_sparse(given) else given, dtype=complex))
            context.reserve("masks", 16 * 8 * given.size)
            shape = (given.shape[1],) if shape is None else shape
            if given.shape[1] != math.prod(shape):
                raise ProblemError(f"masks have {given.shape[1]} entries, but the signal is {named(shape)}")
            if not given.any():
                raise ProblemError("every mask is zero: nothing is seen of the signal")
            return given.reshape(-1, *shape)

    measures = (
        Metric("error", "|c y - x| / |x| of what is found, y, for the best phase c", "lower", log=True),
        Metric("recovered", f"1 if that is at most {RECOVERED:g}, else 0", "higher"),
        Metric("misfit", "|A(y y^*) - b| / |b|", "lower", log=True),
        Metric("rank_ratio", "second largest eigenvalue of X over the largest: 0 where X = y y^*", "lower", log=True),
        Metric("psnr", "peak signal-to-noise ratio of the image that is found, in dB", "higher"),
    )

    views = (
        Photograph("truth", "truth", "The true image, {rows} x {columns} pixels."),
        Photograph("one pattern", "pattern", "The intensities behind the first mask, in a logarithmic scale."),
        Photograph("recovered", "recovered", "The image that was found, {rows} x {columns} pixels."),
        ErrorMap("error", "recovered", "truth", "The error of every pixel, white where it is largest: {largest:.3g}."),
    )

    def __init__(
        self,
        masks: np.ndarray,
        intensities: np.ndarray,
        error: float = 0.0,
        unknown: np.ndarray | None = None,
        by_spectrum: bool = False,
    ):
        """masks: (L, *shape). intensities: b, (L n,), as CodedDiffraction has them. error: e / |b|. unknown: what is
        behind the masks, where it is known, of that shape. by_spectrum: whether that is the Fourier transform of the
        signal (unitary), and not the signal.
        """
        self.map, self.intensities, self.by_spectrum = CodedDiffraction(masks), intensities, by_spectrum
        n, shape = self.map.size, intensities.shape
        self.error = error * float(np.linalg.norm(intensities))
        seen = np.square(np.abs(masks)).sum(axis=0).reshape(-1)
        self.covered = covered = seen > 0.0
        self.truth = None if unknown is None else self._signal(unknown)
        self.target = None if unknown is None else np.where(covered, unknown.reshape(-1), 0.0)
        total = float(intensities.sum()) + self.error * math.sqrt(intensities.size)
        if not total > 0.0:
            raise ProblemError("the intensities are zero, and so is the signal")
        least, most = float(seen[covered].min()), float(seen.max())
        is_known = self.error == 0.0 and bool(covered.all()) and most - least <= EVEN * most
        # A little more, for the rounding of the quotient.
        radius = total / (n * least) * (1.0 if is_known else 1.0 + 1e-9)
        domain = HermitianTrace(n, radius, is_known)
        domain.likely_rank = 1
        met = Shifted(L2BallSet(shape, self.error), intensities) if self.error else Equals(shape, intensities)
        cost = Linear(sp.csr_array(sp.eye_array(2 * n)), domain.shape)
        # |A| is that of X = I: an X of rank one and of the trace that the intensities tell has far smaller ones, by
        # which smoothing is to go, or zero is the best X for as long as it is wide.
        likely = float(intensities.sum()) / (n * float(seen.mean()))
        weight = (self.map.norm * likely / float(np.linalg.norm(intensities))) ** 2
        self.problem = CompositeProblem(domain, cost, (Term("intensities", self.map, met, max(1.0, weight)),))

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        """error, where the signal is known, and psnr, where that is an image."""
        return self._compared(self._aligned(self._leading(iterate)[0]))

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """signal (*shape): y, its phase that of the truth, or else that which makes its sum positive. Of an image its
        levels, `recovered`, too, with those of the truth, and `pattern`, what is seen behind the first mask.
        """
        leading, ratio = self._leading(iterate)
        found, size = self._aligned(leading), float(np.linalg.norm(self.intensities))
        seen = self.map.intensities(leading[:, None], np.ones(1))
        metrics = {
            **self._compared(found),
            "misfit": float(np.linalg.norm(seen - self.intensities)) / size,
            "rank_ratio": ratio,
        }
        if "error" in metrics:
            metrics["recovered"] = float(metrics["error"] <= RECOVERED)
        signal = self._signal(found)
        return Rounding(metrics, {"signal": signal, **self._pictures(signal)})

    def _leading(self, iterate: Iterate) -> tuple[np.ndarray, float]:
        """sqrt(l) u of the largest eigenvalue of X, (n,), and the second largest over it."""
        factors = iterate.point.low_rank
        if factors is None:
            values, vectors = np.linalg.eigh(folded(iterate.point.dense()))
            columns = vectors * np.sqrt(np.maximum(values, 0.0))
        else:
            columns = folded_factor(factors.left) * np.sqrt(np.maximum(factors.weights, 0.0))
            values, turns = np.linalg.eigh(columns.conj().T @ columns)
            columns = columns @ turns
        if not values.size or values[-1] <= 0.0:
            return np.zeros(self.map.size, complex), 0.0
        return columns[:, -1], max(0.0, float(values[-2] / values[-1])) if values.size > 1 else 0.0

    def _aligned(self, vector: np.ndarray) -> np.ndarray:
        """With the best phase."""
        along = self._signal(vector).sum() if self.target is None else np.vdot(self.target, vector)
        return vector if along == 0.0 else vector * (abs(along) / along)

    def _signal(self, unknown: np.ndarray) -> np.ndarray:
        """(*shape), of what is behind the masks."""
        found = unknown.reshape(self.map.shape)
        return np.fft.ifftn(found, norm="ortho") if self.by_spectrum else found

    def _compared(self, found: np.ndarray) -> dict[str, float]:
        if self.target is None or self.truth is None:
            return {}
        off, length = float(np.linalg.norm(found - self.target)), float(np.linalg.norm(self.target))
        metrics = {"error": off / length if length > 0.0 else off}
        if self.truth.ndim == 2:
            square = float(np.mean(np.square(self._levels(self._signal(found)) - self._levels(self.truth))))
            metrics["psnr"] = -10.0 * math.log10(max(square, np.finfo(float).tiny))
        return metrics

    def _levels(self, image: np.ndarray) -> np.ndarray:
        """In [0, 1], of a signal of two axes: sizes, the largest of the truth being 1 if it is more."""
        whole = image if self.truth is None else self.truth
        return np.clip(np.abs(image) / max(1.0, float(np.abs(whole).max())), 0.0, 1.0)

    def _pictures(self, signal: np.ndarray) -> dict[str, np.ndarray]:
        if signal.ndim != 2:
            return {}
        first = np.log1p(np.maximum(self.intensities[: signal.size], 0.0)).reshape(signal.shape)
        pattern = np.fft.fftshift(first) / (float(first.max()) or 1.0)
        pictures = {"recovered": self._levels(signal), "pattern": pattern}
        return pictures if self.truth is None else {**pictures, "truth": self._levels(self.truth)}
