"""How the loop asks the oracle: as accurately as the policy says, from where the last answer was, within the budget."""

from __future__ import annotations

import time
from dataclasses import replace

from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import OracleAnswer, OracleRequest
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.budget import Budget
from cgm_cli.methods.evaluation import Evaluation
from cgm_cli.methods.method import Method
from cgm_cli.methods.perturbation import perturbed
from cgm_cli.methods.state import State


class OracleCalls:
    """certifies: whether time is to be kept for the certificates of its answers."""

    def __init__(self, problem: CompositeProblem, method: Method, state: State, budget: Budget, certifies: bool):
        self._problem, self._method, self._state, self._budget = problem, method, state, budget
        self._certifies = certifies
        self._certificate: float | None = None  # seconds that a certificate takes, roughly

    def ask(self, evaluation: Evaluation, number: int, beta: float | None, after: float) -> OracleAnswer:
        """For an atom, in iteration `number`. after: seconds that are needed after the certificates."""
        policy, state, domain = self._method.oracle, self._state, self._problem.domain
        allowance = policy.allowance(self._method.step.planned(number), beta, evaluation.pairing)
        request = OracleRequest(
            policy.tolerance,
            state.oracle.warm,
            state.rng,
            policy.products(number, max(domain.shape)),
            allowance=allowance,
            should_stop=self._budget.turns.should_stop,
        )
        began = time.perf_counter()
        answer = domain.lmo(evaluation.direction, request)
        if self._budget.limited:
            self._keep_time(evaluation.direction, answer, time.perf_counter() - began, after)
        if policy.perturb and answer.exact and allowance is not None:
            answer = perturbed(domain, evaluation.direction, answer, allowance, state.rng)
        fell_short = not answer.converged and not policy.is_limited
        state.oracle = replace(state.oracle, warm=answer.warm, unconverged=state.oracle.unconverged + fell_short)
        return answer

    def _keep_time(self, direction: Direction, answer: OracleAnswer, seconds: float, after: float) -> None:
        """Have time kept for what the run ends with: the certificate of such a direction, and what comes after it."""
        if self._certificate is None:
            sought = self._certifies and not answer.exact
            product = seconds / max(1, answer.products)
            self._certificate = self._problem.domain.certificate_seconds(direction, product) if sought else 0.0
        self._budget.keep(self._certificate, after)
