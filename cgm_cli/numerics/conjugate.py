"""Nonlinear conjugate gradients with exact line searches (Nocedal and Wright, "Numerical Optimization", Algorithm 5.4,
in the form of Polak and Ribiere that begins anew where it would turn back, 5.45).

Where line searches are exact, they need about as many steps as L-BFGS, and keep no pairs that each step would go over.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np


class LineSearchResult(NamedTuple):
    """Inner products of the gradient that a move has led to: with itself, the former one and the direction moved in."""

    square: float
    overlap: float
    slope: float


class MovablePoint(Protocol):
    """A point of a function, which moves: the gradient there, (n,)."""

    gradient: np.ndarray

    def move(self, direction: np.ndarray) -> LineSearchResult | None:
        """To the best of the points x + t d, t > 0, for d (n,). None, and nothing changed, where none is better."""


def descend(point: MovablePoint, moves: int, reduction: float = 0.0) -> bool:
    """Move a point downhill, about so many times; reduction: the part of the norm of the gradient that may be left.
    Whether it got there, or as far as rounding errors let it.

    Where curvatures come in two sizes, every other step is for the large one, and the gradient grows and shrinks by
    turns: it does not end where the gradient has just grown, for up to twice as many moves.
    """
    gradient = point.gradient
    square = float(gradient @ gradient)
    small = reduction**2 * square
    direction, steepest, grown, made = -gradient, True, False, 0
    while square > small and made < (2 * moves if grown else moves):
        made += 1
        found = point.move(direction)
        if found is None:
            # Rounding errors hide what could still be gained, or have turned the direction.
            if steepest:
                return True
            direction = -gradient
            found = point.move(direction)
            if found is None:
                return True
        gradient = point.gradient
        share = max(0.0, (found.square - found.overlap) / square)
        square, steepest, grown = found.square, share == 0.0, found.square > square
        if steepest or not share * found.slope < square:
            direction, steepest = -gradient, True
        else:
            direction *= share
            direction -= gradient
    return square <= small
