"""Built blocks as plain data: what `cgm show --expanded` prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from cgm_cli.blocks.directions import DenseDirection, SparseDirection
from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.penalties.base import Penalty
from cgm_cli.numerics.arrays import is_sparse
from cgm_cli.spec import registry
from cgm_cli.text import counted

SHORT = 8
"""Arrays up to this many entries are shown in full."""

_CONSTANTS = ("shape", "in_shape", "out_shape", "radius", "diameter", "norm", "lipschitz")


def describe(value: Any) -> Any:
    """A block as a mapping of its kind, constants and parameters (its public attributes), nested blocks and all."""
    if isinstance(value, Domain | Loss | LinearMap | Penalty):
        names = dict.fromkeys([*(n for n in _CONSTANTS if hasattr(value, n)), *(n for n in vars(value) if n[0] != "_")])
        return {"kind": _kind(type(value)), **{name: describe(getattr(value, name)) for name in names}}
    if isinstance(value, DenseDirection):
        return describe(value.array)
    if isinstance(value, SparseDirection):
        return describe(value.matrix)
    if is_sparse(value):
        return f"{named(value.shape)}, sparse, {counted(value.nnz, 'entry')}"
    if isinstance(value, np.ndarray):
        value = cast(np.ndarray, value)
        if value.size <= SHORT:
            return value.tolist()
        return f"{named(value.shape)}, entries from {value.min():.6g} to {value.max():.6g}"
    if isinstance(value, tuple | list):
        items = cast(Sequence[Any], value)
        return [describe(item) for item in items] if len(items) <= SHORT else f"{len(items)} items"
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    return str(value)


def _kind(block: type) -> str:
    """The name of a class in the registry, or its own in the same spelling."""
    for kinds in registry.FAMILIES.values():
        for kind, place in kinds.items():
            if place == f"{block.__module__}:{block.__name__}":
                return kind
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", block.__name__).lower()
