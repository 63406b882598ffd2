"""What steps on the atoms of x share: what they keep of them, and where they are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.active_set import ActiveSet
from cgm_cli.methods.policies import CorrectionSpec, Replacing
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


class VertexSpec(CorrectionSpec):
    """The parameters of such steps."""

    atoms: Size = Field(1000, description="the most that are kept; of more, the lightest become their mean")

    def refuse_matrices(self, problem: CompositeProblem) -> None:
        """Raise ProblemError for domains of matrices, whose atoms are too many."""
        if problem.domain.spectral:
            raise ProblemError(
                f"`correction: {self.name}` keeps atoms as arrays: for matrices of low rank use `fully-corrective` or "
                "`local-descent`",
                ("correction",),
            )


@dataclass(frozen=True)
class VertexState:
    """active: the atoms of x and their weights; None at the start, which counts as one."""

    active: ActiveSet | None = None


@dataclass(frozen=True)
class VertexSteps:
    """Steps that move weight between the atoms of x, and choose nothing yet.

    atoms: the most that are kept; of more, the lightest become one, their mean.
    """

    atoms: int = 1000
    needs_array: ClassVar[bool] = False
    replaces: ClassVar[Replacing] = "mostly"

    def init(self, problem: CompositeProblem) -> Any:
        return VertexState()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """A hundred atoms: the solutions it is for have fewer."""
        return min(self.atoms, 100) * problem.domain.memory


def active_set(state: State) -> ActiveSet:
    """That of x."""
    active = state.correction.active
    if active is not None:
        return active
    x = state.point.iterate.atom()
    assert x is not None
    return ActiveSet.at(x)


def slopes_of(active: ActiveSet, direction: Direction) -> np.ndarray:
    """<v, a> for every atom a, (m,)."""
    return active.atoms.T @ direction.dense().reshape(-1)


def worst_of(active: ActiveSet, slopes: np.ndarray) -> int:
    """The place of the atom that x would best do without."""
    return int(np.argmax(np.where(active.weights > 0.0, slopes, -np.inf)))
