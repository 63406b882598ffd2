"""Denoising of an image that is nearly of low rank, sparse or smooth in parts (paper, section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.differences import Differences
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.penalties.group_norm import GroupNorm
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, NonNegative, Positive, Size, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.photographs import Photo, clean_and_observed
from cgm_cli.templates.views import restored_image


class LowRankDenoising(Template):
    """Minimise |X - B|^2 / 2 + l1 |X|_1 + tv TV(X) over |X|_* <= r, for a noisy image B.

    TV(X) is the total variation: the sum over pixels of |(D X)_ij|, D X the differences to the pixels below and to the
    right, by the 1-norm (anisotropic) or the 2-norm (isotropic). The channels of a colour image are solved together:
    they stand beside each other in B, m x 3 n, and the differences of a pixel are those of all three (Bresson and
    Chan, Inverse Probl. Imaging 2, 2008).
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
        grey: bool = Field(
            False, description="take the luminance of colours; their channels are solved together otherwise"
        )
        size: Size | None = Field(None, description="resize the image to this side")
        noise: NonNegative = Field(
            0.1, description="standard deviation of the noise that is added to a clean image; levels run from 0 to 1"
        )
        tv: NonNegative = Field(0.1, description="factor of the total variation")
        variation: Literal["isotropic", "anisotropic"] = Field("isotropic", description="which total variation")
        l1: NonNegative = Field(0.0, description="factor of the sum of |x_ij|")
        # Left to right, because 1 equals True.
        radius: Positive | Literal[True] = Field(
            True,
            union_mode="left_to_right",
            description="r; true: the nuclear norm of the clean image, or else of `observed`",
        )

        examples: ClassVar[list[dict[str, Any]]] = [
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
            clean, seen = clean_and_observed(self.image, self.observed, self.size, context, self.grey)
            found = seen or clean
            assert found is not None
            context.reserve("images", 8 * found.pixels.nbytes)
            truth, noisy = None if clean is None else clean.pixels, found.pixels
            if seen is None:
                noisy = noisy + self.noise * np.random.default_rng([context.seed, 7]).standard_normal(noisy.shape)
            known = noisy if truth is None else truth
            radius = float(np.linalg.norm(known, "nuc")) if self.radius is True else self.radius
            return LowRankDenoising(truth, noisy, radius, self.tv, self.variation == "isotropic", self.l1, found)

    measures = (Metric("psnr", "peak signal-to-noise ratio of the recovered image, in dB", "higher"),)

    views = restored_image("noisy")

    def __init__(
        self,
        truth: np.ndarray | None,
        noisy: np.ndarray,
        radius: float,
        tv: float,
        isotropic: bool = True,
        l1: float = 0.0,
        form: Photo | None = None,
    ):
        """truth, noisy: (m, n c), of c channels a pixel, as `form` says."""
        self.truth, self.noisy, self.form = truth, noisy, form or Photo(noisy)
        shape, terms = noisy.shape, list[Term]()
        if tv > 0.0:
            terms.append(_total_variation(shape, tv, isotropic, self.form.channels))
        if l1 > 0.0:
            terms.append(Term("l1", Identity(shape), L1Norm(shape, l1)))
        self.problem = CompositeProblem(NuclearBall(shape, radius), LeastSquares(Identity(shape), noisy), tuple(terms))

    def metrics(self, iterate: DenseIterate) -> Mapping[str, float]:
        """psnr: of the iterate, clipped to [0, 1], against the clean image, where there is one, in dB."""
        if self.truth is None:
            return {}
        from skimage.metrics import peak_signal_noise_ratio

        clipped = np.clip(iterate.array, 0.0, 1.0)
        return {"psnr": float(peak_signal_noise_ratio(self.truth, clipped, data_range=1.0))}

    def round(
        self, iterate: DenseIterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """The images: recovered (clipped to [0, 1]), noisy, and truth, where that is known."""
        arrays = {"recovered": np.clip(iterate.array, 0.0, 1.0), "noisy": self.noisy, **self.form.arrays}
        return Rounding(arrays=arrays if self.truth is None else {**arrays, "truth": self.truth})


def _total_variation(shape: tuple[int, int], scale: float, isotropic: bool, channels: int) -> Term:
    differences = Differences(shape, channels)
    if not isotropic:
        return Term("tv", differences, L1Norm(differences.out_shape, scale))
    # The two differences of a pixel, in every channel, are one group.
    pixels = shape[0] * shape[1] // channels
    groups = np.arange(2 * pixels * channels).reshape(2, pixels, channels).swapaxes(0, 1).reshape(pixels, -1).tolist()
    return Term("tv", differences, GroupNorm(differences.out_shape, groups, scale))
