"""Values of the solver -> values that YAML and JSON know."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

# An array in a description: what it is rather than what it holds.
_LONGEST = 20


def plain(value: Any) -> Any:
    """Mappings, lists, text, bool, int, float and None; nan and inf become text, long arrays their shape."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist()) if value.size <= _LONGEST else f"array {'x'.join(map(str, value.shape))}"
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Path):
        return str(value)
    return value if isinstance(value, str | bool | int | float | None) else str(value)
