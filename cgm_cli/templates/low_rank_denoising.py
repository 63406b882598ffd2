"""Denoising of an image that is nearly of low rank, sparse or smooth in parts (paper, section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, NonNegative, Positive, Size, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.channels import Channels, ChannelsField, Variation
from cgm_cli.templates.photographs import Photo, clean_and_observed
from cgm_cli.templates.views import restored_image


class LowRankDenoising(Template):
    """Minimise |X - B|^2 / 2 + l1 |X|_1 + tv TV(X) over |X|_* <= r, for a noisy image B.

    TV(X) is the total variation: the sum over pixels of |(D X)_ij|, D X the differences to the pixels below and to the
    right, by the 1-norm (anisotropic) or the 2-norm (isotropic). The channels of a colour image are solved together,
    beside each other in B, m x 3 n, or each by itself (see `cgm_cli.templates.channels`).
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["low-rank-denoising"]
        image: ArrayField | Literal["camera"] | None = Field(
            None, description="the clean image: an array or a file, or scikit-image's `camera`; for what is measured"
        )
        observed: ArrayField | None = Field(
            None, description="your own noisy image, an array or a file; left out: the clean one, with noise added"
        )
        grey: bool = Field(False, description="take the luminance of colours")
        channels: ChannelsField = "together"
        size: Size | None = Field(None, description="resize the image to this side")
        noise: NonNegative = Field(
            0.1, description="standard deviation of the noise that is added to a clean image; levels run from 0 to 1"
        )
        tv: NonNegative = Field(0.1, description="factor of the total variation")
        variation: Variation = "isotropic"
        l1: NonNegative = Field(0.0, description="factor of the sum of |x_ij|")
        # Left to right, because 1 equals True.
        radius: Positive | Literal[True] = Field(
            True,
            union_mode="left_to_right",
            description="r; true: the nuclear norm of the clean image, or else of `observed`; for each channel, where "
            "they are solved so",
        )

        # A bright square with grain, for an image that needs nothing that reads one.
        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "low-rank-denoising",
                "observed": [
                    [0.21, 0.19, 0.24, 0.21, 0.17, 0.22, 0.28, 0.26],
                    [0.16, 0.12, 0.16, 0.2, 0.06, 0.19, 0.13, 0.16],
                    [0.17, 0.18, 0.82, 0.86, 0.79, 0.88, 0.16, 0.22],
                    [0.25, 0.21, 0.76, 0.74, 0.77, 0.81, 0.14, 0.19],
                    [0.19, 0.23, 0.81, 0.82, 0.76, 0.79, 0.25, 0.29],
                    [0.12, 0.29, 0.88, 0.85, 0.82, 0.78, 0.29, 0.32],
                    [0.31, 0.28, 0.22, 0.13, 0.2, 0.24, 0.12, 0.22],
                    [0.23, 0.24, 0.13, 0.16, 0.17, 0.13, 0.3, 0.17],
                ],
                "tv": 0.1,
            },
            {"template": "low-rank-denoising", "image": "camera", "size": 64},
            {"template": "low-rank-denoising", "image": "camera", "size": 16, "variation": "anisotropic", "l1": 0.01},
            {"template": "low-rank-denoising", "image": "camera", "size": 16, "tv": 0.0, "radius": 5.0},
        ]

        @model_validator(mode="after")
        def _something(self) -> Self:
            if self.image is None and self.observed is None:
                raise ValueError("give `observed`, a noisy image, or `image`, a clean one that noise is added to")
            return self

        def build(self, context: BuildContext) -> LowRankDenoising:
            each, isotropic = self.channels == "each", self.variation == "isotropic"
            clean, seen = clean_and_observed(self.image, self.observed, self.size, context, self.grey, each)
            found = seen or clean
            assert found is not None
            context.reserve("images", 8 * found.pixels.nbytes)
            truth, noisy = None if clean is None else clean.pixels, found.pixels
            if seen is None:
                noisy = noisy + self.noise * np.random.default_rng([context.seed, 7]).standard_normal(noisy.shape)
            known = noisy if truth is None else truth
            radius = known if self.radius is True else self.radius
            return LowRankDenoising(truth, noisy, radius, self.tv, isotropic, self.l1, found, each)

    measures = (Metric("psnr", "peak signal-to-noise ratio of the recovered image, in dB", "higher"),)

    views = restored_image("noisy")

    def __init__(
        self,
        truth: np.ndarray | None,
        noisy: np.ndarray,
        radius: float | np.ndarray,
        tv: float,
        isotropic: bool = True,
        l1: float = 0.0,
        form: Photo | None = None,
        each: bool = False,
    ):
        """truth, noisy: (m, n c), of c channels a pixel, as `form` says. radius: r, or an image whose nuclear norm it
        is. each: the channels are solved each by itself.
        """
        self.truth, self.noisy, self.form = truth, noisy, form or Photo(noisy)
        self.channels = Channels((noisy.shape[0], noisy.shape[1]), self.form.channels, each)
        target = self.channels.point(noisy)
        shape, terms = target.shape, list(self.channels.variation(tv, isotropic))
        if l1 > 0.0:
            terms.append(Term("l1", Identity(shape), L1Norm(shape, l1)))
        fit = LeastSquares(Identity(shape), target)
        self.problem = CompositeProblem(self.channels.ball(self.channels.radii(radius)), fit, tuple(terms))

    def metrics(self, iterate: DenseIterate) -> Mapping[str, float]:
        """psnr: of the iterate, clipped to [0, 1], against the clean image, where there is one, in dB."""
        if self.truth is None:
            return {}
        from skimage.metrics import peak_signal_noise_ratio

        return {"psnr": float(peak_signal_noise_ratio(self.truth, self._recovered(iterate), data_range=1.0))}

    def round(
        self, iterate: DenseIterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """The images: recovered (clipped to [0, 1]), noisy, and truth, where that is known."""
        arrays = {"recovered": self._recovered(iterate), "noisy": self.noisy, **self.form.arrays}
        return Rounding(arrays=arrays if self.truth is None else {**arrays, "truth": self.truth})

    def _recovered(self, iterate: DenseIterate) -> np.ndarray:
        return self.channels.levels(np.clip(iterate.array, 0.0, 1.0))
