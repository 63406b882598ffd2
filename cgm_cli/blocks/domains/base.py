"""What every domain is: a compact convex set with a linear minimisation oracle (LMO)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.factorable import EigenvalueSet, Factorable
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.projections import safe_norm

_EPS = float(np.finfo(float).eps)

WarmStart = np.ndarray | tuple[Any, ...]
"""What an oracle wants back at its next call: an array or, of a product, one such tree or None for each block."""


@dataclass(frozen=True)
class OracleRequest:
    """What the caller asks of an LMO.

    tolerance: relative accuracy of an iterative oracle: residual of the eigen- or singular vector over the magnitude of
    the direction; 0 asks for a full factorisation; closed forms ignore it. warm: the `warm` of the previous answer, or
    None. rng: the run's generator, the only source of randomness. max_products: the most products with a vector it may
    spend, for each eigen- or singular vector sought.
    allowance: given <v, atom>, how far above the minimum it may lie; takes the place of `tolerance` where an iteration
    can estimate that distance. should_stop: asked now and then by an iteration; once it is true, the best answer so far
    will do.
    """

    tolerance: float = 1e-9
    warm: WarmStart | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    max_products: int = 10_000
    allowance: Callable[[float], float] | None = None
    should_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class OracleAnswer:
    """What an LMO returns.

    surplus: by how much less <direction, .> may be, at any point of X, before its minimum falls, of an exact one.
    value: <v, atom>. lower: the oracle's own estimate from below of min <v, x>; `value`, less rounding errors, when
    `exact`. exact: by a closed form or a full factorisation; otherwise `lower` is an estimate, and no proof; every
    oracle has to say. products: matrix-vector products spent. residual: of the worst eigen- or singular vector,
    relative. converged: the tolerance was met. warm: what to hand back as `OracleRequest.warm`.
    """

    atom: Atom
    value: float
    lower: float
    exact: bool
    products: int = 0
    residual: float = 0.0
    converged: bool = True
    warm: WarmStart | None = None
    surplus: float = 0.0


@dataclass(frozen=True)
class Lift:
    """X as the image S V of a `domain` V that projects. matrix: S, on the entries of v in C order, with rows that are
    orthogonal to each other.
    """

    domain: Domain
    matrix: sp.csr_array

    def down(self, v: np.ndarray) -> np.ndarray:
        """x = S v, flat."""
        return self.matrix @ v.reshape(-1)

    def up(self, direction: np.ndarray) -> np.ndarray:
        """S^T g, of the shape of v."""
        return (self._transpose @ direction.reshape(-1)).reshape(self.domain.shape)

    def up_to_point(self, x: np.ndarray) -> np.ndarray:
        """A point of V whose image is near x: the shortest v with S v = x, where it lies in V."""
        return self.domain.project(self.up(x.reshape(-1) / self._lengths))

    @property
    def norm(self) -> float:
        """|S|."""
        return math.sqrt(float(self._lengths.max()))

    @cached_property
    def _transpose(self) -> sp.csr_array:
        return sp.csr_array(self.matrix.T)

    @cached_property
    def _lengths(self) -> np.ndarray:
        """The diagonal of S S^T."""
        return np.asarray((self.matrix * self.matrix).sum(axis=1)).reshape(-1)


@dataclass(frozen=True)
class Polyhedron:
    """X as all x with lower <= x <= upper, finite and of the shape of x, and least <= rows x <= most, (m,), with rows
    (m, n) on the entries of x in C order.
    """

    lower: np.ndarray
    upper: np.ndarray
    rows: sp.csr_array
    least: np.ndarray
    most: np.ndarray


@dataclass(frozen=True)
class TraceBound:
    """X as all block-diagonal matrices, positive semidefinite, whose trace is at most so large or, with `fixed`, equal
    to that. sizes: of the blocks, n of a matrix and -n of n numbers; the entries of a point, in C order, are theirs one
    after the other (`cgm_cli.numerics.blockwise`). called: what the user calls the equations that fix the trace, where
    they are some of many.
    """

    sizes: tuple[int, ...]
    trace: float
    fixed: bool
    called: tuple[str, ...] = ()


class Domain(ABC):
    """A compact convex set X of points of the given `shape`.

    Constants: `radius` = max |x| over X and `diameter` = max |x - y| over X (Euclidean or Frobenius norm). `symmetric`:
    X holds symmetric matrices, and directions are symmetrised before they reach `lmo`. `spectral`: `lmo` works by
    products with the direction, which need not be written out as an array. `takes_single_precision`: where its
    tolerance is loose, `lmo` is content with products in that. `expected`: how long solutions are likely to be, where
    the radius is a guess on the safe side. `projects`: `project` gives the nearest point of any x, however far, at a
    price that is not much more than that of `lmo`, or of one full factorisation.
    """

    shape: tuple[int, ...]
    radius: float
    diameter: float
    symmetric: bool = False
    spectral: bool = False
    takes_single_precision: bool = False
    projects: bool = False
    expected: float | None = None
    trusts: tuple[str, ...] = ()
    """Functions of the user's that are believed, whatever is proven of X."""
    is_complex: bool = False
    """Whether points stand for complex ones, which are what users are shown (`in_users_terms`)."""

    @property
    def users_shape(self) -> tuple[int, ...]:
        """The shape of points as users are shown them."""
        return self.shape

    def in_users_terms(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The arrays of an iterate (`Iterate.arrays`), or a ray, as users are shown them."""
        return dict(arrays)

    def slack_in_users_terms(self, slack: np.ndarray) -> np.ndarray:
        """A direction (`DualPoint.direction`), written out, as users are shown it."""
        return slack

    @property
    def sizing(self) -> str | None:
        """The parameter that X grows with about zero, X = size B with 0 in B, so that a larger one only adds points;
        None where there is none.
        """
        return None

    def gains(self, direction: Direction) -> dict[str, float]:
        """What min <v, x> over X would fall by, at the rate at which they move, were parameters twice what they are: of
        those that X grows with about zero, by their names.
        """
        return {} if self.sizing is None else {self.sizing: -self.lmo(direction, OracleRequest()).value}

    @property
    def assumes_radius(self) -> bool:
        """Whether nothing but a guess says that points are no larger."""
        return self.expected is not None

    @property
    def usual(self) -> float:
        """The length of points that are to be expected."""
        return self.radius if self.expected is None else self.expected

    @property
    def entry_limits(self) -> np.ndarray | None:
        """The largest |x_j| over X, entry by entry, where they differ; None where no more is known than the radius."""
        return None

    @property
    def factorised(self) -> int:
        """The order, smaller side, of the largest matrix that `project` factorises; 0 where it factorises none."""
        return min(self.shape) if self.spectral else 0

    @property
    def product(self) -> tuple[Domain, ...] | None:
        """X as a product: the domains of blocks that, raveled, follow each other in a point; None where it is none."""
        return None

    @property
    def lift(self) -> Lift | None:
        """X, whose points are flat, as the image of a domain that projects where X does not; None where there is none,
        or no need.
        """
        return None

    @property
    def projected(self) -> Domain:
        """What steps project onto: X itself, or what it is the image of."""
        return self if self.lift is None else self.lift.domain

    @property
    def factors(self) -> Factorable | None:
        """X as a set of matrices that factors stand for; None where it is none."""
        return None

    @property
    def eigenvalues(self) -> EigenvalueSet | None:
        """X as all matrices with eigenvalues in some set; None where more than those is asked of a point."""
        return None

    @property
    def cone(self) -> TraceBound | None:
        """X as what a trace bound leaves of a cone; None where it is no such set."""
        return None

    @property
    def polyhedron(self) -> Polyhedron | None:
        """X as what bounds on entries and a few rows leave; None where it is no such set, or nobody says."""
        return None

    @abstractmethod
    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """A minimiser of <direction, x> over X. The entries of `direction` are finite. Deterministic for equal
        arguments.
        """

    @abstractmethod
    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        """Whether x, of shape `self.shape`, lies within `tolerance` * radius of X."""

    @abstractmethod
    def project(self, x: np.ndarray) -> np.ndarray:
        """A point of X, up to rounding, for x near X: the nearest one, where a closed form or factorisation has it."""

    @abstractmethod
    def start(self) -> Atom:
        """The point of X a run starts from when the spec names none: zero where X contains it."""

    def parallel(self, direction: np.ndarray) -> np.ndarray:
        """The direction without its part along which every point of X is the same: its projection onto the span of all
        differences x - y of points of X. What <direction, .> varies by over X is seen there alone.
        """
        return direction

    @property
    def units(self) -> np.ndarray | None:
        """Numbers, of the shape of x, that are equal where entries have to share a unit of length: in any other units,
        `project` still gives the nearest point. None where all have to.
        """
        return None

    def lowered(self, direction: Direction, by: float) -> Direction | None:
        """A direction below all that rounding may have made this one of: v' with <v', x> <= <v + e, x> on X for every
        error e with |<e, x>| <= `by` there. Where X has points of all sizes up to a radius, e is as small on a point as
        that is, and v' may have the minimum of v. None where there is nothing to be gained by it.
        """
        return None

    def certified_minimum(self, direction: Direction, slack: float = 0.0, deadline: Deadline = NEVER) -> float | None:
        """A number that is at most min <direction, x> over X, rounding errors included; None if it is out of reach, of
        the method or of the deadline.

        slack: how much less than the minimum it may be, where that makes the proof cheaper. The default serves oracles
        in closed form: their value less a margin for the rounding of one inner product.
        """
        answer = self.lmo(direction, OracleRequest())
        return answer.lower - self.rounding(direction) if answer.exact else None

    def probable_minimum(
        self,
        direction: Direction,
        failure: float,
        rng: np.random.Generator,
        slack: float = 0.0,
        deadline: Deadline = NEVER,
    ) -> float | None:
        """The same, but for a probability `failure` over what is drawn from `rng`, of which the direction must not
        depend on anything that is yet to be drawn. For where a proof is out of reach; None if there is no such method.

        Until the deadline it gets better; then it is what it is, or None.
        """
        return None

    def certificate_seconds(self, direction: Direction, product: float) -> float:
        """What `certified_minimum` takes, roughly, or else what `probable_minimum` takes to be of some use; product:
        seconds of one product of the direction with a vector. 0 for what is no more than a linear minimisation.
        """
        return 0.0

    def provable(self, dense: bool) -> int:
        """Largest smaller side of a direction, dense or sparse, that `certified_minimum` may have to write out."""
        return 0

    def rounding(self, direction: Direction) -> float:
        """A bound on the rounding error of <direction, x> for x in X: n eps |v| |x| for n entries, or the sum of
        |v_j| |x_j| where it is known how large these are; 0 where `lmo` counts its own.
        """
        v, limits = direction.dense(), self.entry_limits
        largest = self.radius * safe_norm(v) if limits is None else float(np.vdot(np.abs(v), limits))
        return math.prod(self.shape) * _EPS * largest

    @property
    def memory(self) -> int:
        """Bytes of one dense point."""
        return 8 * math.prod(self.shape)
