"""One turn of the loop, as far as it is known before its step is taken."""

from __future__ import annotations

from dataclasses import dataclass

from cgm_cli.blocks.domains.base import OracleAnswer
from cgm_cli.methods.evaluation import Evaluation


@dataclass(frozen=True)
class Turn:
    """The iterate after k steps, x_{k+1}: what was evaluated there, and what the oracle answered. beta: the smoothing
    of the step to come, former_beta of the one before; eta: that step. is_interrupted: the oracle was left after a
    product or two, so that no residual says how far the smallest eigenvalue is.
    """

    k: int
    beta: float | None
    former_beta: float | None
    evaluation: Evaluation
    answer: OracleAnswer
    eta: float
    is_interrupted: bool = False

    @property
    def number(self) -> int:
        """Iterations count from 1, as in the paper."""
        return self.k + 1

    @property
    def gap(self) -> float:
        """<v, x - s>: the Frank-Wolfe gap of the smoothed problem, if s is the best atom."""
        return self.evaluation.pairing - self.answer.value

    @property
    def total(self) -> float:
        """F(x), but for the constraints."""
        return self.evaluation.total
