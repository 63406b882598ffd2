"""A curve in a few characters."""

from __future__ import annotations

import numpy as np

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: np.ndarray, width: int = 12) -> str:
    """The orders of magnitude of positive `values`, at logarithmically spaced rows; empty where there is too little.

    Convergence is told by powers of ten, of the values as well as of the iterations.
    """
    values = np.asarray(values, dtype=float)
    if values.size < 2:
        return ""
    rows = np.unique(np.geomspace(1, values.size, width).round().astype(int) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = np.log10(values[rows])
    known = np.isfinite(heights)
    if known.sum() < 2:
        return ""
    low, high = heights[known].min(), heights[known].max()
    scaled = np.zeros(rows.size) if high == low else (heights - low) / (high - low)
    return "".join(
        _BARS[round(part * (len(_BARS) - 1))] if fine else " " for part, fine in zip(scaled, known, strict=True)
    )
