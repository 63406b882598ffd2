"""A problem over X = S V, posed over V: for domains that do not project, and are a linear image of one that does.

    min over x in X of f(x) + sum g_i(A_i x)  =  min over v in V of f(S v) + sum g_i(A_i S v).

The images and the duals y_i are the same, and x = S v solves the one where v solves the other.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.domains.base import Lift
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.numerics.norms import operator_norm


def lifted(problem: CompositeProblem) -> CompositeProblem:
    """The problem over V; the problem itself, where its domain says of no lift."""
    lift = problem.domain.lift
    if lift is None:
        return problem
    loss = None if problem.loss is None else LiftedLoss(problem.loss, lift)
    terms = tuple(replace(term, map=LiftedMap(term.map, lift)) for term in problem.terms)
    start = DenseAtom(lift.up_to_point(problem.first.dense()))
    return CompositeProblem(lift.domain, loss, terms, start, problem.sense)


class LiftedMap(LinearMap):
    """A S. Its norm is exact where the matrix of A is known, and else no less."""

    def __init__(self, below: LinearMap, lift: Lift):
        self._below, self._lift = below, lift
        self.in_shape, self.out_shape = lift.domain.shape, below.out_shape
        self.norm = below.norm * lift.norm if self.explicit is None else operator_norm(self.explicit)

    @cached_property
    def explicit(self) -> Matrix | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        matrix = self._below.explicit
        return None if matrix is None else cast(Matrix, matrix @ self._lift.matrix)

    @property
    def work(self) -> int:
        return self._below.work + math.prod(self.in_shape)

    def forward(self, x: np.ndarray) -> np.ndarray:
        return self._below.forward(self._lift.down(x))

    def adjoint(self, y: np.ndarray) -> Direction:
        return DenseDirection(self._lift.up(self._below.adjoint(y).dense()))


class LiftedLoss(Loss):
    """h(M S v)."""

    def __init__(self, below: Loss, lift: Lift):
        self._below, self.map = below, LiftedMap(below.map, lift)
        longer = self.map.norm / below.map.norm if below.map.norm > 0.0 else 1.0
        self.lipschitz = below.lipschitz * longer**2
        self.weak_convexity, self.has_hessian = below.weak_convexity, below.has_hessian

    @property
    def squares(self) -> np.ndarray | None:
        return self._below.squares

    def value(self, z: np.ndarray) -> float:
        return self._below.value(z)

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return self._below.gradient(z)

    def curvature(self, z: np.ndarray, dz: np.ndarray) -> float:
        return self._below.curvature(z, dz)

    def hessian(self, z: np.ndarray, dz: np.ndarray) -> np.ndarray:
        return self._below.hessian(z, dz)
