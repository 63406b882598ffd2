"""Denoising of an image that is nearly of low rank, sparse or smooth in parts (paper, section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.differences import Differences
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.penalties.group_norm import GroupNorm
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, NonNegative, Positive, Size, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.photographs import photograph
from cgm_cli.templates.views import restored_image


class LowRankDenoising(Template):
    """Minimise |X - B|^2 / 2 + l1 |X|_1 + tv TV(X) over |X|_* <= r, for a noisy image B.

    TV(X) is the total variation: the sum over pixels of |(D X)_ij|, D X the differences to the pixels below and to the
    right, by the 1-norm (anisotropic) or the 2-norm (isotropic).
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["low-rank-denoising"]
        image: ArrayField | Literal["camera"] = Field(
            description="the clean image: an array or a file (of colours: the luminance), or scikit-image's `camera`"
        )
        size: Size | None = Field(None, description="resize the image to this side")
        noise: NonNegative = Field(
            0.1, description="standard deviation of the noise that is added; grey runs from 0 to 1"
        )
        tv: NonNegative = Field(0.1, description="factor of the total variation")
        variation: Literal["isotropic", "anisotropic"] = Field("isotropic", description="which total variation")
        l1: NonNegative = Field(0.0, description="factor of the sum of |x_ij|")
        # Left to right, because 1 equals True.
        radius: Positive | Literal[True] = Field(
            True, union_mode="left_to_right", description="r; true: the nuclear norm of the clean image"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "low-rank-denoising", "image": "camera", "size": 64},
            {"template": "low-rank-denoising", "image": "camera", "size": 16, "variation": "anisotropic", "l1": 0.01},
            {"template": "low-rank-denoising", "image": "camera", "size": 16, "tv": 0.0, "radius": 5.0},
        ]

        def build(self, context: BuildContext) -> LowRankDenoising:
            with located("image"):
                truth = photograph(self.image, self.size, context)
            context.reserve("images", 8 * truth.nbytes)
            noise = self.noise * np.random.default_rng([context.seed, 7]).standard_normal(truth.shape)
            radius = float(np.linalg.norm(truth, "nuc")) if self.radius is True else self.radius
            return LowRankDenoising(truth, truth + noise, radius, self.tv, self.variation == "isotropic", self.l1)

    measures = (Metric("psnr", "peak signal-to-noise ratio of the recovered image, in dB", "higher"),)

    views = restored_image("noisy")

    def __init__(
        self, truth: np.ndarray, noisy: np.ndarray, radius: float, tv: float, isotropic: bool = True, l1: float = 0.0
    ):
        """truth, noisy: (m, n)."""
        self.truth, self.noisy = truth, noisy
        shape, terms = truth.shape, []
        if tv > 0.0:
            terms.append(_total_variation(shape, tv, isotropic))
        if l1 > 0.0:
            terms.append(Term("l1", Identity(shape), L1Norm(shape, l1)))
        self.problem = CompositeProblem(NuclearBall(shape, radius), LeastSquares(Identity(shape), noisy), tuple(terms))

    def metrics(self, iterate: DenseIterate) -> Mapping[str, float]:
        """psnr: of the iterate, clipped to [0, 1], against the clean image, in dB."""
        from skimage.metrics import peak_signal_noise_ratio

        clipped = np.clip(iterate.array, 0.0, 1.0)
        return {"psnr": float(peak_signal_noise_ratio(self.truth, clipped, data_range=1.0))}

    def round(
        self, iterate: DenseIterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """The images: recovered (clipped to [0, 1]), truth and noisy."""
        recovered = np.clip(iterate.array, 0.0, 1.0)
        return Rounding(arrays={"recovered": recovered, "truth": self.truth, "noisy": self.noisy})


def _total_variation(shape: tuple[int, int], scale: float, isotropic: bool) -> Term:
    differences = Differences(shape)
    if not isotropic:
        return Term("tv", differences, L1Norm(differences.out_shape, scale))
    # The two differences of a pixel are one group.
    pixels = shape[0] * shape[1]
    groups = np.arange(2 * pixels).reshape(2, pixels).T.tolist()
    return Term("tv", differences, GroupNorm(differences.out_shape, groups, scale))
