"""Shapes given by a spec: sizes written as a number or a list, and arrays that must fit a known shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, DenseAtom
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.projections import safe_norm
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.blocks.domains.base import Domain

ShapeField = Size | Annotated[list[Size], Field(min_length=1)]


NEAR = 1e-6
"""How far outside its domain a start may lie, relative to the radius, and still be projected onto it."""


def as_shape(size: int | list[int]) -> tuple[int, ...]:
    """The shape meant by `size: 5` or `size: [4, 3]`."""
    return (size,) if isinstance(size, int) else tuple(size)


def named(shape: tuple[int, ...]) -> str:
    """A shape in words: "a single number", "a vector of 5", "4 x 3"."""
    if not shape:
        return "a single number"
    return f"a vector of {shape[0]}" if len(shape) == 1 else " x ".join(map(str, shape))


def numbers(given: ArrayLike, what: str) -> np.ndarray:
    """What is given, in lists for instance, as an array of doubles; ProblemError, with its name, if it is none."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ProblemError(f"{what} is no array of numbers") from None


def positive(value: float, what: str) -> float:
    """`value`, which must be more than zero. Raises ProblemError, with its name, otherwise."""
    if not value > 0.0:
        raise ProblemError(f"{what} {wrong_size(value)}")
    return value


def wrong_size(value: float) -> str:
    """What is wrong with a size that is not positive, in words."""
    return "is not a number" if np.isnan(value) else f"is {value:g}: it must be positive"


def fit(array: ArrayLike, shape: tuple[int, ...], what: str, host: str) -> np.ndarray:
    """`array` with the given shape: a number fills it, and sides of length 1 (as .mat files add) may differ.

    Raises ProblemError saying both shapes; `what` names the array and `host` the thing whose shape it must have.
    """
    array = numbers(array, what)
    if array.ndim == 0:
        return np.full(shape, float(array))
    if [side for side in array.shape if side != 1] != [side for side in shape if side != 1]:
        raise ProblemError(f"{what} is {named(array.shape)}, but {host} is {named(shape)}")
    return array.reshape(shape)


def signs(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Labels that fit `shape`, each +1 or -1. Raises ProblemError otherwise."""
    labels = fit(array, shape, "the array of labels", "the image they belong to")
    if not np.all(np.abs(labels) == 1.0):
        raise ProblemError("labels must be +1 or -1 (write 0/1 labels as 2 b - 1)")
    return labels


def starting_point(given: ArrayLike, domain: Domain, called: str) -> Atom:
    """The point of the domain at, or within rounding of data of, the start that is given: any other would let a run
    report what no point of the domain, `called` what the user calls it, attains. Raises ProblemError if it is further
    away than NEAR of the radius.
    """
    point = fit(given, domain.shape, "the start", "the domain")
    if not domain.contains(point, NEAR):
        away = safe_norm(point - domain.project(point)) if np.isfinite(point).all() else np.inf
        raise ProblemError(
            f"the start lies outside the {called}, {away:.3g} away from it; up to {NEAR * domain.radius:.3g} would be "
            f"taken for rounding ({NEAR:g} of its radius)"
        )
    return DenseAtom(domain.project(point))
