"""Images -> levels in [0, 1], of grey or of colours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.errors import CgmError, DataError, part
from cgm_cli.readers.checks import finished, reason
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.numpy_files import read_channels

FORM, ALPHA = "image_form", "alpha"
"""What the form of an image is called among the arrays of a solution, [channels, bits], and its transparency."""

# Luminance of linear red, green and blue (ITU-R BT.709), as scikit-image's rgb2gray.
_LUMINANCE = np.array([0.2125, 0.7154, 0.0721])


@dataclass(frozen=True)
class Picture:
    """levels: grey (height, width), or of red, green and blue (height, width, 3), in [0, 1]. alpha: how opaque each
    pixel is (height, width), or None. bits: of a level in the file; 16, or at most 8. remark: on what
    of the file was lost.
    """

    levels: np.ndarray
    alpha: np.ndarray | None = None
    bits: int = 8
    remark: str = ""


def read_picture(path: Path, name: str) -> Picture:
    """The image in a file, with its colours and its transparency: .npy as an array of three dimensions, whose whole
    numbers are levels from 0 to the largest of their type. Colours of 16 bits are read as such of TIFF alone.
    """
    suffix, remark = path.suffix.lower(), ""
    if suffix == ".npy":
        pixels = read_channels(path, name)
    else:
        pixels = _wide_colours(path) if suffix in (".tif", ".tiff") else None
        if pixels is None:
            pixels = _by_pillow(path, name)
            if pixels.ndim == 3 and pixels.itemsize == 1 and _says_wide_colours(path):
                remark = (
                    f"{name}: its colours have 16 bits, and were read at 8: only those of TIFF are read as they are."
                )
    levels, alpha = _levels(pixels, name), None
    if levels.ndim == 3:
        bands = levels.shape[2]
        alpha = levels[..., -1] if bands in (2, 4) else None
        levels = levels[..., :3] if bands >= 3 else levels[..., 0]
    return Picture(levels, alpha, 16 if pixels.dtype.kind in "iu" and pixels.dtype.itemsize > 1 else 8, remark)


def _by_pillow(path: Path, name: str) -> np.ndarray:
    with part("images", f"{name}: an image"):
        from PIL import Image

    try:
        with Image.open(path) as image:
            # Of each pixel: up to four bytes and a level in every band, and the grey that they become.
            check_fits(name, (12 * len(image.getbands()) + 8) * image.width * image.height)
            if "transparency" in image.info or image.mode == "PA":
                image = image.convert("RGBA")
            elif image.mode in ("P", "CMYK", "YCbCr", "LAB", "HSV"):
                image = image.convert("RGB")
            return np.asarray(image)
    except (CgmError, MemoryError):
        raise
    except Exception as error:  # Each format has its own decoder with its own exceptions.
        raise DataError(f"{name}: not a readable image: {reason(error)}") from None


def _wide_colours(path: Path) -> np.ndarray | None:
    """The pixels (height, width, bands) of a TIFF with colours of 16 bits, which Pillow reads at 8; None of any other,
    and where tifffile cannot unpack it.
    """
    try:
        import tifffile

        with tifffile.TiffFile(path) as file:
            page = file.pages.first
            if page.dtype != np.uint16 or page.axes not in ("YXS", "SYX") or page.samplesperpixel not in (3, 4):
                return None
            check_fits(str(path), 12 * page.size)
            pixels = page.asarray()
    except (CgmError, MemoryError):
        raise
    except Exception:  # whatever is wrong with it, Pillow says
        return None
    return np.moveaxis(pixels, 0, 2) if page.axes == "SYX" else pixels


def _says_wide_colours(path: Path) -> bool:
    """Whether a PNG or TIFF says that its levels have 16 bits: in the header of the one, by Pillow of the other."""
    with path.open("rb") as file:
        head = file.read(26)
    if head.startswith(b"\x89PNG"):
        return head[24:25] == b"\x10"
    from PIL import Image

    with Image.open(path) as image:
        bits: Any = getattr(image, "tag_v2", {}).get(258, ())
    return 16 in (bits if isinstance(bits, tuple) else (bits,))


def read_image(path: Path, name: str) -> np.ndarray:
    """The image as an array (height, width) of grey levels in [0, 1]: luminance of colours, no transparency."""
    levels = read_picture(path, name).levels
    return levels @ _LUMINANCE if levels.ndim == 3 else levels


def _levels(pixels: np.ndarray, name: str) -> np.ndarray:
    if pixels.dtype.kind == "b":
        return pixels.astype(float)
    if pixels.dtype.kind == "u":
        return pixels / float(np.iinfo(pixels.dtype).max)
    if pixels.dtype.kind == "i" and pixels.min() >= 0 and pixels.max() <= 65535:
        # Pillow hands out some 16-bit greys as 32-bit integers.
        return pixels / 65535.0
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        finished(name, pixels if pixels.ndim == 2 else pixels.sum(axis=2))  # refuses the first one, by its place
    if pixels.dtype.kind == "f" and pixels.min() >= 0 and pixels.max() <= 1:
        return pixels.astype(float)
    raise DataError(f"{name}: grey levels from {pixels.min()} to {pixels.max()} have no scale; expected 0 to 1")
