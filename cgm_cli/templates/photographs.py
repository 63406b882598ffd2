"""Photographs, and what spoils them: missing pixels, and salt-and-pepper noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cgm_cli.blocks.fitting import named
from cgm_cli.errors import DataError, ProblemError, located, part
from cgm_cli.readers.context import BuildContext, called
from cgm_cli.readers.images import ALPHA, FORM, Picture
from cgm_cli.spec.fields import ArrayField

CAMERA = "camera"
"""The photographer, 512 x 512, that comes with scikit-image."""

# scikit-image's SSIM compares windows of 7 x 7 pixels.
SMALLEST_SIDE = 7


@dataclass(frozen=True)
class Photo:
    """pixels: levels in [0, 1], (rows, columns * channels), the channels of a pixel beside each other. alpha: (rows,
    columns), or None. bits: of a level in its file.
    """

    pixels: np.ndarray
    channels: int = 1
    alpha: np.ndarray | None = None
    bits: int = 8

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """What a solution has to hold for its image to be written as the one that was given."""
        form = {FORM: np.array([self.channels, self.bits])}
        return form if self.alpha is None else {**form, ALPHA: self.alpha}


def photograph(
    source: ArrayField | str, size: int | list[int] | None, context: BuildContext, grey: bool, each: bool = False
) -> Photo:
    """The levels of an array, perhaps in a file, or of CAMERA; grey: the luminance of colours; each: what is told of
    their channels.

    size: what to resize it to, the side of a square or [rows, columns]; None leaves it as it is. Raises DataError for
    anything but a picture with some contrast, ProblemError if it is too small to be compared.
    """
    if source == CAMERA:
        with part("images", f"the photograph `{CAMERA}`"):
            from skimage.data import camera

        name, found = CAMERA, Picture(camera() / 255.0)
    else:
        assert not isinstance(source, str)
        name = called(source, "the image")
        found = Picture(context.array(source)) if grey else context.picture(source)
    levels, alpha = found.levels, found.alpha
    if levels.ndim < 2:
        raise DataError(f"{name}: an image is a matrix of pixels, but this is {named(levels.shape)}")
    if levels.min() < 0.0 or levels.max() > 1.0:
        raise DataError(f"{name}: levels must lie between 0 and 1; these go from {levels.min():g} to {levels.max():g}")
    if size is not None:
        shape = (size, size) if isinstance(size, int) else (size[0], size[1])
        levels = _resized(levels, shape, context)
        alpha = None if alpha is None else _resized(alpha, shape, context)
    if min(levels.shape[:2]) < SMALLEST_SIDE:
        shape = named(levels.shape[:2])
        raise ProblemError(f"the image is {shape}: SSIM needs at least {SMALLEST_SIDE} pixels a side")
    if levels.min() == levels.max():
        raise DataError(f"{name}: every pixel is {levels.flat[0]:g}, there is nothing to recover")
    channels = levels.shape[2] if levels.ndim == 3 else 1
    if channels > 1:
        how = "each by itself" if each else "together, as one matrix"
        context.remarks.append(f"{name}: its {channels} channels are solved {how}.")
    if found.remark:
        context.remarks.append(found.remark)
    if alpha is not None:
        context.remarks.append(f"{name}: its transparency is kept as it is.")
    return Photo(levels.reshape(len(levels), -1), channels, alpha, found.bits)


def _resized(levels: np.ndarray, shape: tuple[int, int], context: BuildContext) -> np.ndarray:
    with part("images", "`size`"):
        from skimage.transform import resize

    context.reserve("resized image", 8 * shape[0] * shape[1] * (levels.shape[2] if levels.ndim == 3 else 1))
    # Linear interpolation stays between its neighbours; the clip is for the rounding errors.
    return np.clip(resize(levels, (*shape, *levels.shape[2:]), order=1, anti_aliasing=True), 0.0, 1.0)


def clean_and_observed(
    image: ArrayField | str | None,
    observed: ArrayField | None,
    size: int | list[int] | None,
    context: BuildContext,
    grey: bool,
    each: bool = False,
) -> tuple[Photo | None, Photo | None]:
    """The clean image of a spec, and the one that is to be restored, as far as it gives them: see `photograph`. Raises
    ProblemError, too, unless they have one form, or where what compares a result with a clean one is not installed.
    """
    clean = seen = None
    if image is not None:
        with located("image"), part("images", "a clean image, which the result is compared with,"):
            import skimage.metrics  # noqa: F401  # so that a run does not begin without it

            clean = photograph(image, size, context, grey, each)
    if observed is not None:
        with located("observed"):
            seen = photograph(observed, size, context, grey, each)
            if clean is not None:
                _check_alike(seen, clean)
    return clean, seen


def _check_alike(observed: Photo, clean: Photo) -> None:
    if (clean.pixels.shape, clean.channels) != (observed.pixels.shape, observed.channels):
        sizes = (
            f"{len(p.pixels)} x {p.pixels.shape[1] // p.channels} pixels of {p.channels}" for p in (observed, clean)
        )
        raise ProblemError("it has {} channels, but the clean image {}".format(*sizes))


def known_pixels(shape: tuple[int, int], missing: float, seed: int) -> np.ndarray:
    """A mask, True where a pixel is known: of all pixels, `missing` (rounded to a whole number of them) are not."""
    size = shape[0] * shape[1]
    lost = np.random.default_rng([seed, 3]).permutation(size)[: round(missing * size)]
    known = np.ones(size, dtype=bool)
    known[lost] = False
    return known.reshape(shape)


def filled(pixels: np.ndarray, known: np.ndarray, channels: int) -> np.ndarray:
    """What is not known as the mean of what is known around it, with weights of a Gaussian of one pixel; all of it
    where nothing is near. pixels, known: (rows, columns * channels), as in Photo.
    """
    from scipy.ndimage import gaussian_filter

    shape = (len(pixels), -1, channels)
    weights = gaussian_filter(known.reshape(shape).astype(float), (1.0, 1.0, 0.0))
    sums = gaussian_filter(np.where(known, pixels, 0.0).reshape(shape), (1.0, 1.0, 0.0))
    around = np.where(weights > 0.0, sums / np.maximum(weights, np.finfo(float).tiny), pixels[known].mean())
    return np.where(known, pixels, around.reshape(pixels.shape))


def salt_and_pepper(pixels: np.ndarray, density: float, seed: int) -> np.ndarray:
    """Each pixel becomes 0 with probability density / 2, and 1 with as much; a new array.

    The draw depends on the seed and the shape alone, so that two masks or two losses meet the same noise.
    """
    draw = np.random.default_rng([seed, 4]).random(pixels.shape)
    return np.where(draw < density / 2, 0.0, np.where(draw < density, 1.0, pixels))
