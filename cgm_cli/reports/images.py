"""Matrices as PNG images."""

from __future__ import annotations

import io

import numpy as np


def png(array: np.ndarray, low: float | None = None, high: float | None = None, colours: str | None = None) -> bytes:
    """The matrix as a grey image, `low` (the smallest entry) black and `high` (the largest) white.

    What is not finite is transparent. colours: the name of a colour map of matplotlib in place of greys.
    """
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
        planes = levels if alpha is None else np.dstack([levels, alpha])
        Image.fromarray(planes).save(file, "PNG", optimize=True)
    else:
        from matplotlib import colormaps

        palette = (255 * colormaps[colours](np.arange(256))[:, :3]).round().astype(np.uint8)
        image = Image.fromarray(levels, "P") if alpha is None else Image.fromarray(np.dstack([palette[levels], alpha]))
        if alpha is None:
            image.putpalette(palette.tobytes())
        image.save(file, "PNG", optimize=True)
    return file.getvalue()


def reduced(array: np.ndarray, most: int) -> np.ndarray:
    """The matrix with at most `most` rows and columns, by means over blocks, where it has more."""
    array = np.asarray(array, dtype=float)
    for axis in (0, 1):
        factor = -(-array.shape[axis] // most)
        if factor > 1:
            edges = np.arange(0, array.shape[axis], factor)
            counts = np.diff(np.append(edges, array.shape[axis]))
            sums = np.add.reduceat(array, edges, axis=axis)
            array = sums / (counts[:, None] if axis == 0 else counts)
    return array
