"""Lower and upper bounds as a spec writes them."""

from __future__ import annotations

from typing import Any, cast


def check_bounds(lower: Any, upper: Any) -> None:
    """Raise ValueError with a plain sentence if an inline lower bound exceeds its upper bound.

    Numbers and nested lists are compared here, when the spec is read; bounds in files, and lists whose lengths differ,
    when the block is built.
    """
    if isinstance(lower, int | float) and isinstance(upper, int | float):
        if lower > upper:
            raise ValueError(f"the lower bound {lower:g} exceeds the upper bound {upper:g}")
    elif isinstance(lower, list) or isinstance(upper, list):
        length = len(cast(list[Any], lower if isinstance(lower, list) else upper))
        for low, high in zip(_repeated(lower, length), _repeated(upper, length), strict=False):
            check_bounds(low, high)


def _repeated(side: Any, length: int) -> list[Any]:
    return cast(list[Any], side) if isinstance(side, list) else [side] * length
