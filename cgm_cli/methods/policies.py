"""The five choices that make a method of the one loop, as protocols: each policy is one file of the packages below, and
one line of the registry. Iterations count from 1, as in the paper.

    smoothing     beta_k                                            cgm_cli.methods.smoothing
    step          eta_k                                             cgm_cli.methods.steps
    oracle        how well the linear subproblem is solved          cgm_cli.methods.oracles
    correction    where to go instead of along the plain step       cgm_cli.methods.corrections
    duals         the multipliers that smoothing is centred at      cgm_cli.methods.duals

What a policy remembers from one iteration to the next is a frozen dataclass, made by its `init`, that the state of the
run carries, and a checkpoint with it (cgm_cli.methods.codec). Policies themselves never change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import PolicySpec

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

Replacing = Literal["never", "mostly", "always"]

Allowance = Callable[[float], float]
"""Given <v, s~>, how far it may lie above min <v, .>."""


class Smoothing(Protocol):
    """vanishes: beta_k tends to zero as Theorems 1 to 9 of the paper ask for."""

    vanishes: ClassVar[bool]

    def beta(self, k: int) -> float | None:
        """Of the k-th iteration; None: nothing is smoothed, and subgradients stand for gradients."""
        ...


class Segment(Protocol):
    """The smoothed objective along x + t (s - x), 0 <= t <= 1."""

    def slope(self, t: float) -> float: ...


class Step(Protocol):
    def planned(self, k: int) -> float:
        """The step of the theory, which an additive oracle's allowance is measured by."""
        ...

    def size(self, k: int, segment: Callable[[], Segment]) -> float:
        """eta_k, from 0 to 1."""
        ...


class OracleAccuracy(Protocol):
    """tolerance: relative residual of an iterative oracle. perturb: an oracle in closed form errs by all it may.
    additive, share: what the theorems on inexact oracles call delta, 0 and None where they are not about this one.
    """

    @property
    def tolerance(self) -> float: ...
    @property
    def perturb(self) -> bool: ...
    @property
    def additive(self) -> float: ...
    @property
    def share(self) -> float | None: ...
    @property
    def is_loose(self) -> bool:
        """Whether products in single precision are likely to be good enough for every answer."""
        ...

    @property
    def is_limited(self) -> bool:
        """Whether calls may end short of their tolerance, which then is nothing to tell of."""
        ...

    def products(self, k: int, size: int) -> int:
        """The most products of the k-th call, per eigenvector of this size."""
        ...

    def allowance(self, eta: float, beta: float | None, current: float) -> Allowance | None:
        """How far the answer may lie above the minimum, with current = <v, x>; None: the tolerance alone says."""
        ...


@dataclass(frozen=True)
class PlainStep:
    """The step that iteration k, the turn, would take without a correction: towards `atom`, by `eta`, at `beta`.
    direction: the gradient at x that the atom answers. short: how many times as large as its tolerance is what is
    farthest from it; infinite where no tolerance is to be met. gap: <direction, x - atom>, the Frank-Wolfe gap.
    """

    turn: int
    atom: Atom
    eta: float
    beta: float | None
    direction: Direction
    short: float = np.inf
    gap: float = np.inf


@dataclass(frozen=True)
class Solution:
    """A point that nearly minimises F_beta, in multipliers c: its A_i x, its duals y_i, and better ones where a closed
    form has them (None: there is none). is_decisive: see `DualState`, of multipliers that are adopted.
    """

    beta: float
    images: Sequence[np.ndarray]
    duals: Sequence[np.ndarray]
    fitted: Sequence[np.ndarray] | None = None
    is_decisive: bool = False


@dataclass(frozen=True)
class Move:
    """x <- x + eta (atom - x). memory: what the correction remembers from now on. solution: what its problem came to,
    where it was solved nearly. gave_way: it solves no more of them from now on. is_elsewhere: x has left the
    neighbourhood of the oracle's last answer, which is no start for the next. is_last: there is no better point to go
    to.
    """

    atom: Atom
    eta: float
    memory: Any = None
    solution: Solution | None = None
    gave_way: bool = False
    is_elsewhere: bool = False
    is_last: bool = False


class Correction(Protocol):
    """needs_array: it works on all entries of x, which has to be kept as an array. replaces: how often its points take
    the place of x, so that what factors of x need does not add up from step to step. keeps_theory: it promises no less
    than the plain step, whose theorems hold.
    """

    needs_array: ClassVar[bool]
    replaces: ClassVar[Replacing]
    keeps_theory: ClassVar[bool]

    def init(self, problem: CompositeProblem) -> Any:
        """What it remembers at first: a frozen dataclass, or None."""
        ...

    def warm_up(self, problem: CompositeProblem) -> None:
        """Load the compiled code that it will use."""
        ...

    def memory(self, problem: CompositeProblem) -> int:
        """Bytes that it takes beside what is kept of x anyway, where they are many."""
        ...

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        """The point to blend in and the step to take: the plain step or one that is at least as good in F_beta, so that
        the theory of the plain step carries over. Changes nothing but `state.rng`. Raises OutOfTime at the deadline.
        """
        ...


@dataclass(frozen=True)
class DualState:
    """What every dual update remembers. sharpness: how many times smaller the smoothing is than its schedule says.
    is_decisive: the multipliers come from a problem that was nearly solved, and are the best dual there is.
    """

    sharpness: float = 1.0
    is_decisive: bool = False


class DualUpdate(Protocol):
    """is_centred: the smoothing is centred at multipliers, which move; else at zero. follows: they are the duals of
    what a correction has solved.
    """

    is_centred: ClassVar[bool]
    follows: ClassVar[bool]

    def init(self, problem: CompositeProblem) -> DualState:
        """What it remembers at first."""
        ...

    def extrapolate(self, state: State, plain: PlainStep) -> None:
        """Before a step: take note of the turn, and move the multipliers to where the next problem is centred. Arrays
        are replaced, and not written to, since the step may be given up.
        """
        ...

    def update(self, state: State, move: Move, smoothing: Smoothing) -> None:
        """Move them after a step."""
        ...


# What a policy of each kind is built from. A `Spec` derives from the one of its kind, so that the type checker holds
# what it builds against the protocol; that of oracles is cgm_cli.methods.oracles.base.AccuracySpec.


class SmoothingSpec(PolicySpec):
    """The parameters of a smoothing."""

    @abstractmethod
    def build(self, problem: CompositeProblem, setting: Setting) -> Smoothing:
        """The policy for a problem."""


class StepSpec(PolicySpec):
    """The parameters of a step."""

    @abstractmethod
    def build(self, problem: CompositeProblem, setting: Setting) -> Step:
        """The policy for a problem."""


class CorrectionSpec(PolicySpec):
    """The parameters of a correction."""

    @property
    def pace(self) -> int:
        """How many steps a turn makes up, for a smoothing that counts them."""
        return 1

    @abstractmethod
    def build(self, problem: CompositeProblem, setting: Setting) -> Correction:
        """The policy for a problem. Raises ProblemError where it cannot take it."""


class DualsSpec(PolicySpec):
    """The parameters of a dual update."""

    @abstractmethod
    def build(self, problem: CompositeProblem, setting: Setting) -> DualUpdate:
        """The policy for a problem."""
