"""Images -> grey levels in [0, 1]."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cgm_cli.errors import CgmError, DataError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.memory import check_fits

# Luminance of linear red, green and blue (ITU-R BT.709), as scikit-image's rgb2gray.
_LUMINANCE = np.array([0.2125, 0.7154, 0.0721])


def read_image(path: Path, name: str) -> np.ndarray:
    """The image as an array (height, width) of grey levels in [0, 1]: luminance of colours, no transparency."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            # Of each pixel: up to four bytes and a level in every band, and the grey that they become.
            check_fits(name, (12 * len(image.getbands()) + 8) * image.width * image.height)
            if image.mode in ("P", "PA", "CMYK", "YCbCr", "LAB", "HSV"):
                image = image.convert("RGB")
            pixels = np.asarray(image)
    except (CgmError, MemoryError):
        raise
    except Exception as error:  # Each format has its own decoder with its own exceptions.
        raise DataError(f"{name}: not a readable image: {reason(error)}") from None
    grey = _levels(pixels, name)
    if grey.ndim == 3:
        grey = grey[..., :3] @ _LUMINANCE if grey.shape[2] >= 3 else grey[..., 0]
    return grey


def _levels(pixels: np.ndarray, name: str) -> np.ndarray:
    if pixels.dtype.kind == "b":
        return pixels.astype(float)
    if pixels.dtype.kind == "u":
        return pixels / float(np.iinfo(pixels.dtype).max)
    if pixels.dtype.kind == "i" and pixels.min() >= 0 and pixels.max() <= 65535:
        # Pillow hands out some 16-bit greys as 32-bit integers.
        return pixels / 65535.0
    if pixels.dtype.kind == "f" and pixels.min() >= 0 and pixels.max() <= 1:
        return pixels.astype(float)
    raise DataError(f"{name}: grey levels from {pixels.min()} to {pixels.max()} have no scale; expected 0 to 1")
