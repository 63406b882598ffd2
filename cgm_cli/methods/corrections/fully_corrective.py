"""Fully corrective steps: after every oracle call F_beta is minimised anew over what the atoms seen span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import scipy.linalg
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.factorable import Factorable
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.active_set import ActiveSet
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.projections import project_simplex
from cgm_cli.numerics.spg import spectral_projected_gradient
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class Span:
    """What is kept of matrices: the leading singular vectors of the last corrected point; right: None where they are
    those of left.
    """

    left: np.ndarray | None = None
    right: np.ndarray | None = None


@dataclass(frozen=True)
class Memory:
    """One of the two: the atoms of a vector domain, or the span of matrices."""

    active: ActiveSet | None = None
    span: Span | None = None


@dataclass(frozen=True)
class FullyCorrective:
    """F_beta is re-optimised over the hull of the atoms seen, or over matrices U S W^T, which contain that hull.

    U (and W) span the leading singular vectors of the last corrected point and those of the new atom. atoms: the most
    that are kept from one step to the next. evaluations: of F_beta, per step.
    """

    class Spec(CorrectionSpec):
        kind: Literal["fully-corrective"] = "fully-corrective"
        atoms: Size = Field(20, description="the most that are kept from one step to the next")
        evaluations: Size = Field(10, description="of the smoothed objective, per step")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "fully-corrective"},
            {"kind": "fully-corrective", "atoms": 50, "evaluations": 30},
        ]

        def build(self, problem: CompositeProblem, setting: Setting) -> FullyCorrective:
            return FullyCorrective(self.atoms, self.evaluations)

    atoms: int = 20
    evaluations: int = 10
    needs_array: ClassVar[bool] = False
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> Memory:
        return Memory()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        return 0

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        return self.chosen(state, state.correction, plain, deadline)

    def chosen(self, state: State, memory: Memory, plain: PlainStep, deadline: Deadline) -> Move:
        """The same for a memory that is not the state's own."""
        point, beta = state.point, plain.beta
        hull = _face_of(state, memory, plain)
        if hull is None:
            return Move(plain.atom, plain.eta, memory)
        constants = point.problem.constants()
        smoothness = constants["L_f"]
        if constants["|A|"] > 0.0 and beta is not None:
            smoothness += constants["|A|"] ** 2 / beta

        def evaluate(coordinates: np.ndarray) -> tuple[float, np.ndarray]:
            found = point.evaluate_at(point.images_of(hull.lift(coordinates)), beta)
            return found.smoothed, hull.pull(found.direction)

        start = hull.project(hull.start)
        curvature = smoothness * hull.spread**2
        first_step = 1.0 / curvature if 0.0 < curvature < np.inf else np.inf
        found, value = spectral_projected_gradient(
            deadline.checked(evaluate), hull.project, start, self.evaluations, first_step, hull.diameter
        )
        if value > point.segment(plain.atom, beta).value(plain.eta):
            return Move(plain.atom, plain.eta, hull.remembered(start, self.atoms))
        return Move(hull.lift(found), 1.0, hull.remembered(found, self.atoms))


class _Face(Protocol):
    """A set of points, by their coordinates. start: those of the plain step. spread: the norm of the lift."""

    start: np.ndarray
    spread: float
    diameter: float

    def project(self, coordinates: np.ndarray) -> np.ndarray: ...
    def lift(self, coordinates: np.ndarray) -> Atom: ...
    def pull(self, direction: Direction) -> np.ndarray: ...
    def remembered(self, coordinates: np.ndarray, most: int) -> Memory: ...


def _face_of(state: State, memory: Memory, plain: PlainStep) -> _Face | None:
    domain, x = state.point.problem.domain, state.point.iterate.atom()
    assert x is not None
    if domain.factors is not None:
        return _Subspace.extended(domain.factors, memory.span or Span(), x, plain)
    return _Hull(domain.shape, memory.active or ActiveSet.at(x), plain)


class _Subspace:
    """Matrices U S W^T with S in a small copy of a spectral domain; W is U for symmetric domains."""

    spread = 1.0  # the lift is an isometry

    def __init__(self, left: np.ndarray, right: np.ndarray, small: Factorable, x: Atom, plain: PlainStep):
        self._left, self._right, self._small = left, right, small
        self.diameter = small.diameter
        self.start = (1.0 - plain.eta) * x.compressed(left, right) + plain.eta * plain.atom.compressed(left, right)

    @classmethod
    def extended(cls, domain: Factorable, known: Span, x: Atom, plain: PlainStep) -> _Subspace | None:
        """None where the atom brings no vectors that could be joined, or points of the domain have more of them."""
        atom = plain.atom.low_rank
        if atom is not None:
            left = _orthonormal(known.left, atom.left)
            right = left if domain.symmetric else _orthonormal(known.right, atom.right)
        elif plain.atom.is_zero and known.left is not None and known.left.shape[1] > 0:
            left = known.left
            right = left if domain.symmetric else known.right
            assert right is not None
        else:
            return None
        small = domain.restricted(left, right)
        return None if small is None else cls(left, right, small, x, plain)

    def project(self, coordinates: np.ndarray) -> np.ndarray:
        return self._small.project(coordinates)

    def lift(self, coordinates: np.ndarray) -> LowRankAtom:
        rows, values, columns = self._decomposed(coordinates)
        if self._right is self._left:
            return LowRankAtom.symmetric(self._left @ rows, values)
        return LowRankAtom(self._left @ rows, values, self._right @ columns)

    def pull(self, direction: Direction) -> np.ndarray:
        return self._left.T @ direction.matmat(self._right)

    def remembered(self, coordinates: np.ndarray, most: int) -> Memory:
        rows, values, columns = self._decomposed(coordinates)
        largest = np.argsort(-np.abs(values), kind="stable")[:most]
        largest = largest[np.abs(values[largest]) > 1e-12 * np.abs(values).max(initial=0.0)]
        left = self._left @ rows[:, largest]
        return Memory(span=Span(left, None if self._right is self._left else self._right @ columns[:, largest]))

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
    """Convex combinations of the atoms of a vector domain: the coordinates are their weights."""

    diameter = float(np.sqrt(2.0))

    def __init__(self, shape: tuple[int, ...], known: ActiveSet, plain: PlainStep):
        self._shape, self._active = shape, known.joined_by(plain.atom)
        self.start = np.append((1.0 - plain.eta) * known.weights, plain.eta)
        self.spread = float(np.linalg.norm(self._active.atoms)) or 1.0

    def project(self, coordinates: np.ndarray) -> np.ndarray:
        return project_simplex(coordinates)

    def lift(self, coordinates: np.ndarray) -> Atom:
        return self._active.weighed(coordinates).point(self._shape)

    def pull(self, direction: Direction) -> np.ndarray:
        return self._active.atoms.T @ direction.dense().reshape(-1)

    def remembered(self, coordinates: np.ndarray, most: int) -> Memory:
        return Memory(active=self._active.weighed(coordinates).pruned(most))
