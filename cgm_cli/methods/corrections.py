"""Corrective steps: what is re-optimised over the atoms seen so far before the next oracle call (paper, remark after
Theorem 3).

A correction answers with the point to blend in and the step to take: the oracle's atom and the planned step, or, with
step 1, a point that it found better. So all guarantees of the plain step carry over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cgm_cli.blocks.atoms import Atom, DenseAtom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.spectral import SpectralDomain
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.evaluation import Evaluator
from cgm_cli.methods.state import State
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.projections import project_simplex
from cgm_cli.numerics.spg import spectral_projected_gradient


@dataclass(frozen=True)
class FullyCorrective:
    """Minimises F_beta over the hull of the atoms seen, or for spectral domains over {U S W^T}, which contains that
    hull.

    U (and W) span the leading singular vectors of the last corrected point and those of the new atom. atoms: the most
    that are kept from one step to the next. evaluations: of F_beta, per step.
    """

    atoms: int = 20
    evaluations: int = 10

    def rehearse(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def choose(
        self,
        state: State,
        evaluator: Evaluator,
        atom: Atom,
        eta: float,
        beta: float | None,
        deadline: Deadline = NEVER,
    ) -> tuple[Atom, float]:
        """Raises OutOfTime at the deadline."""
        face = _Subspace if state.problem.domain.spectral else _Hull
        hull = face.extended(state, atom)
        if hull is None:
            return atom, eta
        constants = state.problem.constants()
        smoothness = constants["L_f"] + (constants["|A|"] ** 2 / beta if constants["|A|"] > 0 else 0.0)

        def evaluate(coordinates: np.ndarray) -> tuple[float, np.ndarray]:
            point = evaluator.evaluate(*state.images_of(hull.lift(coordinates)), beta, state.centres)
            return point.smoothed, hull.pull(point.direction)

        start = hull.project(hull.coordinates(state, atom, eta))
        curvature = smoothness * hull.spread**2
        first_step = 1.0 / curvature if curvature > 0.0 else np.inf
        found, value = spectral_projected_gradient(
            deadline.checked(evaluate), hull.project, start, self.evaluations, first_step, hull.diameter
        )
        if value > state.segment(atom, beta).value(eta):
            hull.remember(state, start, self.atoms)
            return atom, eta
        hull.remember(state, found, self.atoms)
        return hull.lift(found), 1.0


class _Subspace:
    """Matrices U S W^T with S in a small copy of a spectral domain; W is U for symmetric domains."""

    spread = 1.0  # the lift is an isometry

    def __init__(self, left: np.ndarray, right: np.ndarray, small: SpectralDomain):
        self._left, self._right, self._small = left, right, small
        self.diameter = small.diameter

    @classmethod
    def extended(cls, state: State, atom: Atom) -> _Subspace | None:
        domain, known = state.problem.domain, state.memory.get("left")
        if isinstance(atom, LowRankAtom):
            left = _orthonormal(known, atom.left)
            right = left if domain.symmetric else _orthonormal(state.memory.get("right"), atom.right)
        elif isinstance(atom, SparseAtom) and atom.indices.size == 0 and known is not None and known.shape[1] > 0:
            # Zero brings no vectors.
            left, right = known, known if domain.symmetric else state.memory["right"]
        else:
            return None
        small = domain.restricted(left, right)
        return None if small is None else cls(left, right, small)

    def coordinates(self, state: State, atom: Atom, eta: float) -> np.ndarray:
        x = state.iterate.atom()
        return (1.0 - eta) * x.compressed(self._left, self._right) + eta * atom.compressed(self._left, self._right)

    def project(self, coordinates: np.ndarray) -> np.ndarray:
        return self._small.project(coordinates)

    def lift(self, coordinates: np.ndarray) -> LowRankAtom:
        rows, values, columns = self._decomposed(coordinates)
        if self._right is self._left:
            return LowRankAtom.symmetric(self._left @ rows, values)
        return LowRankAtom(self._left @ rows, values, self._right @ columns)

    def pull(self, direction: Direction) -> np.ndarray:
        return self._left.T @ direction.matmat(self._right)

    def remember(self, state: State, coordinates: np.ndarray, cap: int) -> None:
        rows, values, columns = self._decomposed(coordinates)
        largest = np.argsort(-np.abs(values), kind="stable")[:cap]
        largest = largest[np.abs(values[largest]) > 1e-12 * np.abs(values).max(initial=0.0)]
        state.memory["left"] = self._left @ rows[:, largest]
        if self._right is not self._left:
            state.memory["right"] = self._right @ columns[:, largest]

    def _decomposed(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._right is self._left:
            values, vectors = scipy.linalg.eigh(coordinates)
            return vectors, values, vectors
        rows, values, columns = np.linalg.svd(coordinates, full_matrices=False)
        return rows, values, columns.T


def _orthonormal(known: np.ndarray | None, new: np.ndarray) -> np.ndarray:
    """An orthonormal basis, in Fortran order, of the span of both."""
    columns = new if known is None else np.hstack([known, new])
    basis, triangle, _ = scipy.linalg.qr(columns, mode="economic", pivoting=True)
    strength = np.abs(np.diag(triangle))
    return np.asfortranarray(basis[:, strength > 1e-10 * strength[0]])


class _Hull:
    """Convex combinations sum_j w_j s_j of atoms of a vector domain: `atoms` (n, m), weights on the simplex."""

    diameter = float(np.sqrt(2.0))

    def __init__(self, shape: tuple[int, ...], atoms: np.ndarray):
        self._shape, self._atoms = shape, atoms
        self.spread = float(np.linalg.norm(atoms)) or 1.0

    @classmethod
    def extended(cls, state: State, atom: Atom) -> _Hull:
        known = state.memory.get("atoms")
        if known is None:
            known = state.iterate.atom().dense().reshape(-1, 1)
        return cls(state.problem.domain.shape, np.hstack([known, atom.dense().reshape(-1, 1)]))

    def coordinates(self, state: State, atom: Atom, eta: float) -> np.ndarray:
        return np.append((1.0 - eta) * state.memory.get("weights", np.ones(1)), eta)

    def project(self, coordinates: np.ndarray) -> np.ndarray:
        return project_simplex(coordinates)

    def lift(self, coordinates: np.ndarray) -> DenseAtom:
        return DenseAtom((self._atoms @ coordinates).reshape(self._shape))

    def pull(self, direction: Direction) -> np.ndarray:
        return self._atoms.T @ direction.dense().reshape(-1)

    def remember(self, state: State, coordinates: np.ndarray, cap: int) -> None:
        """Atoms of no weight are dropped; the lightest beyond `cap` become their mean: the point stays in the hull."""
        order = np.argsort(-coordinates, kind="stable")
        order = order[coordinates[order] > 0.0]
        atoms, weights = self._atoms[:, order[:cap]], coordinates[order[:cap]]
        if order.size > cap:
            light = coordinates[order[cap - 1 :]]
            atoms[:, -1] = self._atoms[:, order[cap - 1 :]] @ light / light.sum()
            weights[-1] = light.sum()
        state.memory["atoms"], state.memory["weights"] = atoms, weights
