"""Masks that a signal is seen through, drawn at random or moved over its spectrum."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import Size, StrictModel


class RandomMasks(StrictModel):
    """Each entry by itself: `octanary` ones are 1, -1, i or -i times sqrt(1/2) or, one in five, sqrt(3) (Candes, Li and
    Soltanolkotabi, "Phase retrieval from coded diffraction patterns", ACHA 39, 2015); `phases` lie on the unit circle.
    """

    count: Size = Field(
        default=10, description="how many masks, each of which gives as many intensities as the signal has entries"
    )
    kind: Literal["octanary", "phases"] = Field(default="octanary", description="how an entry of a mask is drawn")

    def draw(self, shape: tuple[int, ...], context: BuildContext) -> np.ndarray:
        """(count, *shape)."""
        rng = np.random.default_rng([context.seed, 12])
        whole = (self.count, *shape)
        if self.kind == "phases":
            return np.exp(2j * np.pi * rng.random(whole))
        sizes = np.where(rng.random(whole) < 0.8, np.sqrt(0.5), np.sqrt(3.0))
        return sizes * (1j ** rng.integers(4, size=whole))


class Apertures(StrictModel):
    """Discs of the spectrum of an image, side by side in a square, as lamps of Fourier ptychography light them one
    after the other (Horstmeyer et al., "Solving ptychography with a convex relaxation", New J. Phys. 17, 2015).
    """

    across: Size = Field(default=5, description="so many discs in a row, and rows of them")
    radius: float = Field(default=0.2, gt=0, le=0.5, description="of a disc; 1 is the side of the whole spectrum")
    overlap: float = Field(
        default=0.7, ge=0, lt=1, description="part of its diameter that a disc shares with the next one"
    )

    def draw(self, shape: tuple[int, ...], context: BuildContext) -> np.ndarray:
        """(across^2, *shape), of 0 and 1, the lowest frequency first. ProblemError for what is no image."""
        if len(shape) != 2:
            raise ProblemError("apertures are for images, and this signal has one axis")
        step = 2.0 * self.radius * (1.0 - self.overlap)
        centres = step * (np.arange(self.across) - 0.5 * (self.across - 1))
        rows, columns = (np.fft.fftfreq(length) for length in shape)
        discs = [
            np.square(rows - row)[:, None] + np.square(columns - column) <= self.radius**2
            for row in centres
            for column in centres
        ]
        return np.array(discs, dtype=complex)
