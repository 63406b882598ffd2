"""Matrices as PNG images."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from cgm_cli.errors import part


def png(array: np.ndarray, low: float | None = None, high: float | None = None, colours: str | None = None) -> bytes:
    """A matrix (m, n) as a grey image, or (m, n, 3) in colours: `low` (the smallest entry) black, `high` (the largest)
    white.

    What is not finite is transparent. colours: the name of a colour map of matplotlib in place of greys.
    """
    with part("images", "an image"):
        from PIL import Image

    array = np.asarray(array, dtype=float)
    known = np.isfinite(array)
    low = float(array[known].min()) if low is None else low
    high = float(array[known].max()) if high is None else high
    # Halved, because the difference of two finite numbers may not be one.
    span = high / 2 - low / 2
    scaled = np.where(known, array / 2 - low / 2, 0.0) / span if span > 0 else np.zeros(array.shape)
    levels = np.round(255 * np.clip(scaled, 0.0, 1.0)).astype(np.uint8)
    alpha = None if known.all() else np.where(known, 255, 0).astype(np.uint8)
    file = io.BytesIO()
    if colours is None:
        if alpha is not None and alpha.ndim == 3:
            alpha = alpha.min(axis=2)  # of colours, where one of them is not known
        planes = levels if alpha is None else np.dstack([levels, alpha])
        Image.fromarray(planes).save(file, "PNG", optimize=True)
    else:
        with part("reports", "a picture of a matrix"):
            from matplotlib import colormaps

        palette = (255 * colormaps[colours](np.arange(256))[:, :3]).round().astype(np.uint8)
        image = Image.fromarray(levels, "P") if alpha is None else Image.fromarray(np.dstack([palette[levels], alpha]))
        if alpha is None:
            image.putpalette(palette.tobytes())
        image.save(file, "PNG", optimize=True)
    return file.getvalue()


TIFF = (".tif", ".tiff")

FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    ".png": ("PNG", {"optimize": True}),
    ".jpg": ("JPEG", {"quality": 95}),
    ".jpeg": ("JPEG", {"quality": 95}),
    ".bmp": ("BMP", {}),
    ".webp": ("WEBP", {"lossless": True}),
}
"""Ending of a photograph that Pillow writes -> what it calls the format, and how."""

OPAQUE = (".jpg", ".jpeg", ".bmp")
"""Those without transparency, which is left away."""


def photo(array: np.ndarray, channels: int, bits: int, alpha: np.ndarray | None, suffix: str = ".png") -> bytes:
    """Levels in [0, 1], (rows, columns * channels), as an image of so many channels and bits a level, with
    transparency. suffix: one of FORMATS or TIFF. `lost` tells what it has no room for.
    """
    tiff, alpha = suffix in TIFF, None if suffix in OPAQUE else alpha
    with part("images", "an image"):
        from PIL import Image

    planes = [in_channels(array, channels).reshape(len(array), -1, channels)]
    if alpha is not None:
        planes.append(alpha[..., None])
    levels, wide = np.clip(np.concatenate(planes, axis=2), 0.0, 1.0), bits == 16 and _is_wide(channels, alpha, suffix)
    pixels = np.round(levels * (65535 if wide else 255)).astype(np.uint16 if wide else np.uint8)
    file = io.BytesIO()
    if tiff:
        with part("images", "a TIFF"):
            import tifffile

        kind: Any = "rgb" if channels == 3 else "minisblack"
        extra: Any = {} if alpha is None else {"extrasamples": ["unassalpha"]}
        tifffile.imwrite(file, pixels[..., 0] if pixels.shape[2] == 1 else pixels, photometric=kind, **extra)
        return file.getvalue()
    name, options = FORMATS[suffix]
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(file, name, **options)
    return file.getvalue()


def _is_wide(channels: int, alpha: np.ndarray | None, suffix: str) -> bool:
    """Whether there is room for 16 bits a level: in all of TIFF, and, in a PNG, in grey levels without transparency,
    for Pillow writes no others.
    """
    return suffix in TIFF or (suffix == ".png" and channels == 1 and alpha is None)


def lost(channels: int, bits: int, alpha: np.ndarray | None, suffix: str) -> str:
    """What of an image a file of this ending has no room for, in a sentence; or nothing."""
    parts = ["its transparency is left away"] if alpha is not None and suffix in OPAQUE else []
    if bits == 16 and not _is_wide(channels, alpha, suffix):
        parts.append("its levels of 16 bits become ones of 8")
    return f"; {' and '.join(parts)}, for {suffix} has no room for them (.tif has)" if parts else ""


def in_channels(array: np.ndarray, channels: int) -> np.ndarray:
    """(rows, columns * channels) as (rows, columns, channels); of one channel as it is."""
    return array if channels == 1 else array.reshape(len(array), -1, channels)


def reduced(array: np.ndarray, most: int) -> np.ndarray:
    """The matrix (m, n), or (m, n, 3), with at most `most` rows and columns, by means over blocks."""
    array = np.asarray(array, dtype=float)
    for axis in (0, 1):
        factor = -(-array.shape[axis] // most)
        if factor > 1:
            edges = np.arange(0, array.shape[axis], factor)
            counts = np.diff(np.append(edges, array.shape[axis]))
            sums = np.add.reduceat(array, edges, axis=axis)
            array = sums / counts.reshape((-1,) + (1,) * (array.ndim - 1 - axis))
    return array
