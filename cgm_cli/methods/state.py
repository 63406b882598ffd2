"""Everything the loop carries from one iteration to the next, in one object: so a checkpoint of it is complete."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np

from cgm_cli.blocks.domains.base import WarmStart
from cgm_cli.methods import codec
from cgm_cli.methods.best_bound import BestBound, Certificate
from cgm_cli.methods.point import Point
from cgm_cli.methods.policies import DualState
from cgm_cli.methods.stopping import Stagnation


@dataclass(frozen=True)
class OracleState:
    """warm: what the oracle wants back. unconverged: calls that fell short of their tolerance."""

    warm: WarmStart | None = None
    unconverged: int = 0

    def elsewhere(self) -> OracleState:
        """After x has left the neighbourhood of the last answer, which is no start for the next."""
        return replace(self, warm=None)


@dataclass(frozen=True)
class Attempts:
    """What was tried to certify, and fell short. estimate, optimistic: the best estimate, and the value without an
    allowance for its residual, that have to be passed before the next try (infinite: it is out of reach). failed_at:
    the k of the last try; refuted_at: of the last look whether x proves the best estimate wrong; overtaken_at: of the
    last time that a bound, or mending x, showed a run about to end to have further to go. None: never.
    """

    estimate: float = -np.inf
    optimistic: float = -np.inf
    failed_at: int = 0
    refuted_at: int | None = None
    overtaken_at: int | None = None


@dataclass(frozen=True)
class Ceiling:
    """proven: at least the maximum of the objective over the domain, once it was needed. attained: what that is no less
    than, which costs no certificate. failed: the estimate that last proved nothing about feasibility.
    """

    proven: float | None = None
    attained: float | None = None
    failed: float = -np.inf


@dataclass(frozen=True)
class AnswerLook:
    """The last time that x was rounded on the way: beside a bound that allows this value, at k. best: the value of the
    best answer so far, infinite before the first. All as of a minimisation.
    """

    allowed: float = -np.inf
    best: float = np.inf
    k: int | None = None


def is_worth_another(last: int | None, k: int) -> bool:
    """Whether so many steps were taken since the last attempt, a certificate or a look, if there was one, that one more
    is little beside them.
    """
    return last is None or k >= 1.25 * last + 1


@dataclass
class State:
    """k: steps taken. point: x, its images, and the multipliers. rng: the run's only source of randomness. correction,
    duals: what those policies remember. in_hand: the value of the best answer so far, nan without one. certificate:
    the last of a best estimate. seconds: wall time spent so far.
    """

    point: Point
    rng: np.random.Generator
    correction: Any = None
    duals: DualState = field(default_factory=DualState)
    k: int = 0
    oracle: OracleState = field(default_factory=OracleState)
    bounds: BestBound = field(default_factory=BestBound)
    attempts: Attempts = field(default_factory=Attempts)
    ceiling: Ceiling = field(default_factory=Ceiling)
    answer: AnswerLook = field(default_factory=AnswerLook)
    progress: Stagnation = field(default_factory=Stagnation)
    in_hand: float = np.nan
    certificate: Certificate | None = None
    seconds: float = 0.0

    def snapshot(self) -> Snapshot:
        """What a turn may change before its step is taken; for `restore`."""
        kept = {name: getattr(self, name) for name in _CHANGED_BY_A_TURN} | {"bounds": copy.copy(self.bounds)}
        multipliers = self.point.multipliers
        held = None if multipliers is None else list(multipliers)
        return Snapshot(kept, self.rng.bit_generator.state, held)

    def restore(self, snapshot: Snapshot) -> None:
        """Take a turn back whose step was not taken. A run that goes on from here does it again, to the last bit."""
        for name, value in snapshot.kept.items():
            setattr(self, name, copy.copy(value) if name == "bounds" else value)
        self.rng.bit_generator.state = snapshot.rng
        self.point.multipliers = snapshot.multipliers

    @property
    def nbytes(self) -> int:
        """About how much `pack` holds."""
        return self.point.nbytes + _nested_bytes({name: codec.pack(getattr(self, name)) for name in _REMEMBERED})

    def pack(self) -> dict[str, Any]:
        """All that changes, as nested mappings of arrays and plain values, by reference."""
        tree = {"k": self.k, "seconds": self.seconds, "rng": self.rng.bit_generator.state, "point": self.point.pack()}
        return tree | {name: codec.pack(getattr(self, name)) for name in _REMEMBERED}

    def unpack(self, tree: Mapping[str, Any]) -> None:
        """Go back to what `pack` made the tree of; the problem, the policies, and the kind of iterate are the same."""
        self.k, self.seconds = int(tree["k"]), float(tree["seconds"])
        self.point.unpack(tree["point"])
        self.rng.bit_generator.state = tree["rng"]
        for name in _REMEMBERED:
            held: Any = getattr(self, name)
            if name == "certificate":
                self.certificate = codec.unpack(cast(type[Certificate | None], Certificate | None), tree[name])
            else:
                kind = cast(type[Any], type(held))
                setattr(self, name, None if held is None else codec.unpack(kind, tree[name]))


@dataclass(frozen=True)
class Snapshot:
    """What a state was at some time. The arrays of the multipliers are those of the state: a policy puts others in
    their place, and what is done to them in place, as by the ascent that an evaluation makes up for, stands.
    """

    kept: dict[str, Any]
    rng: Mapping[str, Any]
    multipliers: list[np.ndarray] | None


_REMEMBERED = [each.name for each in fields(State) if each.name not in ("point", "rng", "k", "seconds")]
_CHANGED_BY_A_TURN = [name for name in _REMEMBERED if name != "bounds"]


def _nested_bytes(tree: Mapping[str, Any]) -> int:
    """Of all arrays in nested mappings."""
    return sum(
        _nested_bytes(cast(Mapping[str, Any], part)) if isinstance(part, Mapping) else getattr(part, "nbytes", 0)
        for part in tree.values()
    )
