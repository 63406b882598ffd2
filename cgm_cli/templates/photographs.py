"""Grey photographs, and what spoils them: missing pixels, and salt-and-pepper noise."""

from __future__ import annotations

import numpy as np

from cgm_cli.blocks.fitting import named
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.readers.context import BuildContext, called
from cgm_cli.spec.fields import ArrayField

CAMERA = "camera"
"""The photographer, 512 x 512, that comes with scikit-image."""

# scikit-image's SSIM compares windows of 7 x 7 pixels.
SMALLEST_SIDE = 7


def photograph(source: ArrayField | str, size: int | list[int] | None, context: BuildContext) -> np.ndarray:
    """Grey levels (rows, columns) in [0, 1]: an array, perhaps in a file, or CAMERA.

    size: what to resize it to, the side of a square or [rows, columns]; None leaves it as it is. Raises DataError for
    anything but a grey picture with some contrast, ProblemError if it is too small to be compared.
    """
    if source == CAMERA:
        from skimage.data import camera

        name, pixels = CAMERA, camera() / 255.0
    else:
        assert not isinstance(source, str)
        name, pixels = called(source, "the image"), context.array(source)
    if pixels.ndim != 2:
        raise DataError(f"{name}: a grey image is a matrix of pixels, but this is {named(pixels.shape)}")
    if pixels.min() < 0.0 or pixels.max() > 1.0:
        raise DataError(
            f"{name}: grey levels must lie between 0 and 1; these go from {pixels.min():g} to {pixels.max():g}"
        )
    if size is not None:
        pixels = _resized(pixels, (size, size) if isinstance(size, int) else (size[0], size[1]), context)
    if min(pixels.shape) < SMALLEST_SIDE:
        raise ProblemError(f"the image is {named(pixels.shape)}: SSIM needs at least {SMALLEST_SIDE} pixels a side")
    if pixels.min() == pixels.max():
        raise DataError(f"{name}: every pixel is {pixels[0, 0]:g}, there is nothing to recover")
    return pixels


def _resized(pixels: np.ndarray, shape: tuple[int, int], context: BuildContext) -> np.ndarray:
    from skimage.transform import resize

    context.reserve("resized image", 8 * shape[0] * shape[1])
    # Linear interpolation stays between its neighbours; the clip is for the rounding errors.
    return np.clip(resize(pixels, shape, order=1, anti_aliasing=True), 0.0, 1.0)


def known_pixels(shape: tuple[int, int], missing: float, seed: int) -> np.ndarray:
    """A mask, True where a pixel is known: of all pixels, `missing` (rounded to a whole number of them) are not."""
    size = shape[0] * shape[1]
    lost = np.random.default_rng([seed, 3]).permutation(size)[: round(missing * size)]
    known = np.ones(size, dtype=bool)
    known[lost] = False
    return known.reshape(shape)


def salt_and_pepper(pixels: np.ndarray, density: float, seed: int) -> np.ndarray:
    """Each pixel becomes 0 with probability density / 2, and 1 with as much; a new array.

    The draw depends on the seed and the shape alone, so that two masks or two losses meet the same noise.
    """
    draw = np.random.default_rng([seed, 4]).random(pixels.shape)
    return np.where(draw < density / 2, 0.0, np.where(draw < density, 1.0, pixels))
