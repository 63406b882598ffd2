"""The move to a point that a method found together with its multipliers, and that nothing else is to better."""

from __future__ import annotations

from typing import Any

import numpy as np

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import Move, Solution

WIDE = 1e8
"""How many times wider than |A x| / |y| a smoothing is that leaves the duals as they are."""


def decisive_move(
    problem: CompositeProblem, x: np.ndarray, duals: list[np.ndarray], memory: Any, is_last: bool
) -> Move:
    """To x, of the shape of the domain's points, with the y_i of the terms. The smoothing is so wide that the duals of
    the envelopes centred at these are these.
    """
    images = [term.map.forward(x) for term in problem.terms]
    ratios = [
        term.weight * float(np.linalg.norm(image)) / (float(np.linalg.norm(y)) or 1.0)
        for term, image, y in zip(problem.terms, images, duals, strict=True)
    ]
    beta = WIDE * (max(ratios, default=1.0) or 1.0)
    solution = Solution(beta, images, duals, is_decisive=True)
    return Move(DenseAtom(x), 1.0, memory, solution, is_elsewhere=True, is_last=is_last)
