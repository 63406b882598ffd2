"""The values that a list, a range or a distribution of a sweep file stands for."""

from __future__ import annotations

import math
import random
from typing import Any

from cgm_cli.spec.fields import StrictModel
from cgm_cli.sweeps.model import (
    Choice,
    LinspaceValues,
    ListValues,
    LogspaceValues,
    LogUniform,
    Number,
    RangeValues,
    Uniform,
    WholeNumber,
)

TreePath = tuple[str | int, ...]


def values(given: list[Any] | StrictModel) -> list[tuple[Any, TreePath]]:
    """Each value with the path, below that of `given`, of what it was written as."""
    if isinstance(given, list):
        return [(value, (index,)) for index, value in enumerate(given)]
    if isinstance(given, ListValues):
        return [(value, ("list", index)) for index, value in enumerate(given.list)]
    if isinstance(given, RangeValues):
        return [(value, ("range",)) for value in steps(*given.range)]
    if isinstance(given, LinspaceValues):
        return [(value, ("linspace",)) for value in linspace(*_ends_and_count(given.linspace))]
    assert isinstance(given, LogspaceValues)
    return [(value, ("logspace",)) for value in logspace(*_ends_and_count(given.logspace))]


def _ends_and_count(given: list[Number]) -> tuple[Number, Number, int]:
    start, stop, count = given
    return start, stop, int(count)


def steps(start: Number, stop: Number, step: Number = 1) -> list[Number]:
    """start + i * step as far as `stop`; a step that misses it by rounding alone falls on it. Whole numbers stay so."""
    # Never by repeated addition, whose rounding errors add up.
    return [start + i * step for i in range(math.floor((stop - start) / step + 1e-9) + 1)]


def linspace(start: Number, stop: Number, count: int) -> list[float]:
    """`count` values, the ends included to the last bit."""
    inner = [start + i * ((stop - start) / (count - 1)) for i in range(1, count - 1)]
    return [float(start), *inner, *([float(stop)] if count > 1 else [])]


def logspace(start: Number, stop: Number, count: int) -> list[float]:
    """`count` values in geometric progression, the ends included.

    Those between are rounded to 12 digits: a power may differ in its last bit between machines, and a point must not.
    """
    logarithms = linspace(math.log10(start), math.log10(stop), count)
    inner = [float(f"{10**logarithm:.12g}") for logarithm in logarithms[1:-1]]
    return [float(start), *inner, *([float(stop)] if count > 1 else [])]


def draws(given: list[Any] | StrictModel, key: str, seed: int, n: int) -> list[Any]:
    """`n` draws for `key`. Each key has a stream of its own: neither another key nor a larger n changes them."""
    stream = random.Random(f"{seed}/{key}")
    return [_draw(given, stream.random()) for _ in range(n)]


def _draw(given: list[Any] | StrictModel, u: float) -> Any:
    if isinstance(given, list | Choice):
        among = given if isinstance(given, list) else given.choice
        return among[int(u * len(among))]
    if isinstance(given, Uniform):
        low, high = given.uniform
        return low + u * (high - low)
    if isinstance(given, LogUniform):
        low, high = given.log_uniform
        return float(f"{low * (high / low) ** u:.12g}")
    assert isinstance(given, WholeNumber)
    low, high = given.integer
    return low + int(u * (high - low + 1))
