"""Robust PCA as image inpainting: an image of low rank, or smooth in parts, from the noisy pixels that are left of it
(paper, section 6.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from cgm_cli.blocks.fitting import fit
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import DataError, ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext, called
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, NonNegative, Positive, Size, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.channels import Channels, ChannelsField, Variation
from cgm_cli.templates.claims import AgainstBound, Claim, FeasibleObjective
from cgm_cli.templates.photographs import Photo, clean_and_observed, filled, known_pixels, salt_and_pepper
from cgm_cli.templates.views import restored_image

MISSING = 0.25
"""The fraction of the pixels that is removed where the spec does not say."""


class RobustPCA(Template):
    """Recover an image from its known, noisy pixels b: min loss(A X - b) + tv TV(X), 0 <= X <= 1 and |X|_* <= r.

    A picks the known pixels. The loss is |.|_1, which shrugs off a few pixels that are far out, or 1/2 |.|^2, which
    does not. TV is the total variation of `low-rank-denoising`, none where `tv` is left out. The channels of a colour
    image are solved together, beside each other in X, m x 3 n, or each by itself (`cgm_cli.templates.channels`).
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["robust-pca"]
        image: ArrayField | Literal["camera"] | None = Field(
            None, description="the clean image: an array or a file, or scikit-image's `camera`; for what is measured"
        )
        observed: ArrayField | None = Field(
            None, description="your own image, with pixels to fill in or noise; left out: the clean one, spoilt"
        )
        grey: bool = Field(False, description="take the luminance of colours")
        channels: ChannelsField = "together"
        size: Size | Annotated[list[Size], Field(min_length=2, max_length=2)] | None = Field(
            None, description="resize the image to this side, or [rows, columns]"
        )
        loss: Literal["l1", "l2"] = Field("l1", description="l1: sum of |A X - b|; l2: half the sum of squares")
        tv: NonNegative = Field(0.0, description="factor of the total variation: the larger, the smoother")
        variation: Variation = "isotropic"
        missing: float | None = Field(
            None,
            ge=0,
            lt=1,
            description=f"fraction of pixels removed at random; left out: {MISSING:g} of a clean image, else none",
        )
        mask: ArrayField | None = Field(None, description="which pixels are missing: an image that is 0 there, else 1")
        noise: float = Field(
            0.1,
            ge=0,
            le=1,
            description="salt-and-pepper density: fraction of the levels of a clean image turned black or white",
        )
        # Left to right, because 1 equals True.
        radius: Positive | Literal[True] = Field(
            True,
            union_mode="left_to_right",
            description="r; true: the nuclear norm of the clean image, or else of `observed`, with what is missing "
            "taken from what is known around it; for each channel, where they are solved so",
        )

        # A bright square with specks, for an image that needs nothing that reads one.
        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "robust-pca",
                "observed": [
                    [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 1.0, 0.2],
                    [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
                    [0.2, 0.2, 0.8, 0.8, 0.8, 0.8, 0.2, 0.2],
                    [0.2, 0.2, 0.8, 0.0, 0.8, 0.8, 0.2, 0.2],
                    [0.2, 0.2, 0.8, 0.8, 0.8, 0.8, 0.2, 0.2],
                    [0.2, 0.2, 0.8, 0.8, 0.0, 0.8, 0.2, 0.2],
                    [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
                    [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
                ],
                "missing": 0.1,
                "tv": 0.2,
            },
            {"template": "robust-pca", "image": "camera", "size": 128, "loss": "l1"},
            {"template": "robust-pca", "image": "camera", "size": [32, 48], "loss": "l2", "noise": 0.0, "radius": 12.5},
        ]

        @model_validator(mode="after")
        def _missing_or_mask(self):
            if self.missing is not None and self.mask is not None:
                raise ValueError("a `mask` says which pixels are missing: leave `missing` out")
            if self.image is None and self.observed is None:
                raise ValueError("give `observed`, an image to repair, or `image`, a clean one that is spoilt first")
            return self

        def build(self, context: BuildContext) -> RobustPCA:
            each, isotropic = self.channels == "each", self.variation == "isotropic"
            clean, seen = clean_and_observed(self.image, self.observed, self.size, context, self.grey, each)
            found = seen or clean
            assert found is not None
            context.reserve("images", 3 * found.pixels.nbytes)
            known = np.repeat(self._known(found, context), found.channels, axis=1)
            if not known.any():
                raise ProblemError("every pixel is missing", ("missing" if self.mask is None else "mask",))
            noisy = salt_and_pepper(found.pixels, self.noise, context.seed) if seen is None else found.pixels
            truth = None if clean is None else clean.pixels
            whole = filled(noisy, known, found.channels) if truth is None else truth
            radius = whole if self.radius is True else self.radius
            return RobustPCA(truth, known, noisy, radius, self.loss, found, self.tv, isotropic, each)

        def _known(self, found: Photo, context: BuildContext) -> np.ndarray:
            """Which pixels (rows, columns) are known."""
            shape = (found.pixels.shape[0], found.pixels.shape[1] // found.channels)
            if self.mask is not None:
                with located("mask"):
                    return _as_mask(context.array(self.mask), shape, called(self.mask, "the mask"))
            usual = MISSING if self.observed is None else 0.0
            return known_pixels(shape, usual if self.missing is None else self.missing, context.seed)

    measures = (
        Metric("psnr", "peak signal-to-noise ratio of the recovered image, in dB", "higher"),
        Metric("ssim", "structural similarity of the recovered image to the clean one, 1 at best", "higher"),
        Metric("feasible_objective", "the objective at a feasible point: an upper bound", "lower", comparable=False),
        Metric("feasible_gap", "how far that is above the certified bound, relative to the larger", "lower", log=True),
    )

    views = restored_image("observed")

    def __init__(
        self,
        truth: np.ndarray | None,
        known: np.ndarray,
        noisy: np.ndarray,
        radius: float | np.ndarray,
        loss: Literal["l1", "l2"],
        form: Photo | None = None,
        tv: float = 0.0,
        isotropic: bool = True,
        each: bool = False,
    ):
        """truth: levels in [0, 1], or None; known: True where one is known; noisy: b, read where known. All (m, n c),
        of c channels a pixel, as `form` says. radius: r, or an image whose nuclear norm it is. each: the channels are
        solved each by itself.
        """
        self.truth, self.known, self.noisy, self.form = truth, known, noisy, form or Photo(noisy)
        self.channels = Channels((noisy.shape[0], noisy.shape[1]), self.form.channels, each)
        self.radii = self.channels.radii(radius)
        domain = self.channels.ball(self.radii)
        shape, places = domain.shape, np.flatnonzero(self.channels.point(known))
        sampled, target = Sampling(places, shape), self.channels.point(noisy).reshape(-1)[places]
        fit_loss: Loss | None = None
        terms: tuple[Term, ...] = ()
        if loss == "l2":
            fit_loss = LeastSquares(sampled, target)
        else:
            terms = (Term("fit", sampled, Shifted(L1Norm(target.shape), target)),)
        range_term = Term("range", Identity(shape), BoxSet(shape, np.array(0.0), np.array(1.0)))
        # The ball's own start is the zero matrix, as in the paper.
        terms = *terms, range_term, *self.channels.variation(tv, isotropic)
        self.problem = CompositeProblem(domain, fit_loss, terms)

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        """psnr (dB) and ssim of the iterate, clipped to [0, 1], against the clean image, where there is one."""
        if self.truth is None:
            return {}
        from skimage.metrics import peak_signal_noise_ratio, structural_similarity

        recovered = self._recovered(iterate)
        noise: Any = peak_signal_noise_ratio(self.truth, recovered, data_range=1.0)
        shape = (len(recovered), -1, self.form.channels)
        pair = self.truth.reshape(shape), recovered.reshape(shape)
        likeness: Any = structural_similarity(*pair, data_range=1.0, channel_axis=2)
        return {"psnr": float(noise), "ssim": float(likeness)}

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """The images, and the objective at a feasible point: an upper bound on the optimum, where the iterate leaves
        [0, 1].

        feasible_gap: how far that is above a certified lower bound, relative to the larger of the two, as the gap is.
        """
        recovered = self._recovered(iterate)
        value = self.objective(self.feasible(recovered))
        metrics = {"feasible_objective": value}
        if bound is not None:
            metrics["feasible_gap"] = self.problem.relative(value - bound, value, bound)
        arrays = {
            "recovered": recovered,
            "observed": np.where(self.known, self.noisy, np.nan),
            "mask": self.known[:, :: self.form.channels].astype(np.uint8),
            **self.form.arrays,
        }
        return Rounding(metrics, arrays if self.truth is None else {**arrays, "truth": self.truth})

    def claims(self) -> Sequence[Claim]:
        value = FeasibleObjective(self.problem, "recovered", nuclear_radii=self.radii)
        return (
            Claim("feasible_objective", value, limit=1.0),
            Claim("feasible_gap", AgainstBound(value, "relative", unit=self.problem.unit)),
        )

    def feasible(self, clipped: np.ndarray) -> np.ndarray:
        """The point of levels in [0, 1] (m, n c), shrunk towards zero as far as the balls ask: it stays in [0, 1]."""
        return self.channels.shrunk(self.channels.point(clipped), self.radii)

    def objective(self, x: np.ndarray) -> float:
        """loss(A x - b) + tv TV(x)."""
        loss, finite = self.problem.loss, [term for term in self.problem.terms if not term.penalty.is_set]
        value = 0.0 if loss is None else loss.value(loss.map.forward(x))
        return value + sum(term.penalty.value(term.map.forward(x)) for term in finite)

    def _recovered(self, iterate: Iterate) -> np.ndarray:
        return self.channels.levels(np.clip(iterate.point.dense(), 0.0, 1.0))


def _as_mask(pixels: np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    """True where a pixel is known. Raises DataError unless the entries are 0 and 1, ProblemError unless they fit."""
    if not np.all((pixels == 0.0) | (pixels == 1.0)):
        raise DataError(f"{name}: a mask holds 0 (missing) and 1 (known) only")
    return fit(pixels, shape, "the mask", "the image") == 1.0
