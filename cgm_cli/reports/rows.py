"""The rows of a trace as the records they were written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from cgm_cli.methods.record import IterationRecord

_INTEGERS = ("k", "lmo_matvecs")
_MAPPINGS = ("phases", "infeasibilities", "metrics", "in_hand", "theory")
_BEST = "best_"
"""What columns of the best answer so far begin with."""


def record_at(trace: Mapping[str, np.ndarray], row: int) -> IterationRecord:
    """The record of one row; nan for what the file lacks. Metrics, phases and terms are left out."""
    values: dict[str, Any] = {}
    for each in fields(IterationRecord):
        if each.name in _MAPPINGS:
            continue
        value = trace[each.name][row] if each.name in trace else np.nan
        if each.name in _INTEGERS:
            values[each.name] = 0 if np.isnan(value) else int(value)
        else:
            values[each.name] = bool(value == 1) if each.name == "certified" else float(value)
    best = {name.removeprefix(_BEST): float(trace[name][row]) for name in sorted(trace) if name.startswith(_BEST)}
    return IterationRecord(**values, in_hand=best)
