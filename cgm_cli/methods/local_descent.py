"""Local descent on the factor of X = R R^T, or X = U W^T: oracle steps give the certificate and the way out of a wrong
rank, descent on the factor gives the speed.

The factor is that of Burer and Monteiro ("A nonlinear programming algorithm for solving semidefinite programs via
low-rank factorization", Math. Program. 95, 2003); to alternate it with oracle calls is the idea of Boyd, Schiebinger
and Recht ("The alternating descent conditional gradient method for sparse inverse problems", SIAM J. Optim. 27, 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.ascent import Multipliers
from cgm_cli.methods.corrections import FullyCorrective
from cgm_cli.methods.evaluation import Evaluator
from cgm_cli.methods.factors import Chart, objective, on_sphere
from cgm_cli.methods.policies import minimiser
from cgm_cli.methods.quartic import image_size, is_diagonal, is_quartic, quartic
from cgm_cli.methods.state import State
from cgm_cli.numerics import rows
from cgm_cli.numerics.conjugate import descend
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.lbfgs import lbfgs

SPARE = 10
"""How many columns more than the extreme points have are kept at the least."""

WEIGHTLESS = 1e-5
"""Part of |R|^2 below which a column leaves. Without one that counts, X would have too few columns to be the best of
all X, however many oracle steps bring others.
"""

MORE, LONGEST = 1.5, 500
"""How much longer the next descent may be where the last one ended early, and how many moves it may have at the most: a
descent that is broken off is lost.
"""


MISSES, CUT = 8, 1e-2
"""So many turns in a row whose points lost more than this part of their trace to lie in the domain end the descent for
good: the sphere of factors is too much larger than the domain there. (On k-means problems it is less from the third
turn on, and soon nothing; over faces of the fantope with penalties it stays at a tenth and more.)
"""


@dataclass(frozen=True)
class LocalDescent:
    """A few steps on the factor, from the last one and the oracle's atom; columns: how many there are at first; of
    more, those of no weight leave.

    evaluations: of F_beta and its gradient by L-BFGS, per step, fewer where a hundredth of the gradient is left; moves:
    of conjugate gradients instead, where line searches can be exact. Where multipliers fit the point, so that few turns
    are needed, there are half as many more after each time that they did not do: it costs to begin anew. The point
    found is brought back into the domain (the fantope is smaller than its sphere).

    fallback: what corrects the steps once the descent has given way, while the smoothing vanishes and the centres climb
    as they do without a descent. multipliers: what the smoothing is centred at; without them, at zero, a point is taken
    only if it is no worse than the plain step, whose guarantees are so inherited.
    """

    columns: int = 20
    evaluations: int = 50
    moves: int = 40
    reduction: float = 0.01
    fallback: FullyCorrective = field(default_factory=FullyCorrective)
    multipliers: Multipliers | None = None

    def gave_way(self, state: State) -> bool:
        """Whether the descent has ended for good."""
        return bool(state.memory.get("misses", 0.0) >= MISSES)

    def rehearse(self, problem: CompositeProblem) -> None:
        """Load the compiled code that descents will use."""
        if is_diagonal(problem) and problem.domain.shape[0] * self.columns >= rows.FEW:
            rows.rehearse()

    def choose(
        self,
        state: State,
        evaluator: Evaluator,
        atom: Atom,
        eta: float,
        beta: float | None,
        deadline: Deadline = NEVER,
    ) -> tuple[Atom, float]:
        """Raises OutOfTime, at the deadline, with the state changed: it is to be reverted."""
        if self.gave_way(state):
            state.sharpness = float(np.sqrt(state.k + 2.0))
            return self.fallback.choose(state, evaluator, atom, eta, beta, deadline)
        chart = Chart(state.problem.domain)
        if chart.radius == 0.0:  # zero is all there is
            return atom, eta
        if self.multipliers is not None:
            self.multipliers.lead(state)
        start = self._start(state, chart, atom, beta)
        deadline.check()
        # Beside images much larger than the factor, exact line searches cost more than they gain.
        fitted = None
        if chart.is_zero(start):
            found = start
        elif chart.known is None and is_quartic(state.problem) and image_size(state.problem) <= start.size:
            point, moves = quartic(state, chart, beta, start, deadline), float(state.memory.get("moves", self.moves))
            done = descend(point, int(moves), self.reduction)
            found, fitted = point.flat, point.multipliers()
            if fitted is not None and not done:
                state.memory["moves"] = np.array(min(MORE * moves, LONGEST))
        else:
            evaluate = deadline.checked(on_sphere(chart, objective(state, evaluator, chart, beta)))
            found = lbfgs(evaluate, start, self.evaluations, self.reduction)
        found = chart.cleared(found)
        found = chart.on_sphere(found)[0]
        corrected, state.memory["factor"] = chart.settled(found)
        if self.multipliers is not None:
            missed = chart.excess(state.memory["factor"]) > CUT
            state.memory["misses"] = np.array(float(state.memory.get("misses", 0.0)) + 1.0 if missed else 0.0)
            images = state.images_of(chart.lift(chart.whole(found)))[1]
            duals = evaluator.duals(images, beta, state.centres)
            self.multipliers.follow(state, images, duals, beta, fitted)
            better = corrected is not None
        else:
            better = corrected is not None and self._is_better(state, corrected, atom, eta, beta)
        if not better:
            return atom, eta
        # The last eigenvector is among those of the factor now, and would be taken for the smallest again.
        state.tally.warm = None
        return corrected, 1.0

    def _start(self, state: State, chart: Chart, atom: Atom, beta: float | None) -> np.ndarray:
        """The last factor, at first noise, and the oracle's atom in new columns, as heavy as a line search makes it."""
        known = state.memory.get("factor")
        columns = max(self.columns, chart.domain.count + SPARE)
        if known is None:
            known = chart.noise(state.rng, min(columns, *chart.domain.shape))
        # Those of no weight go before the descent, which makes up for them; after it a constraint would miss them.
        weights = np.square(known).sum(axis=0)
        known = known[:, : max(columns, int(np.sum(weights > WEIGHTLESS * weights.sum())))]
        if isinstance(atom, LowRankAtom):
            share = minimiser(state.segment(atom, beta).slope)
            if share > 0.0:
                known = np.hstack([np.sqrt(1.0 - share) * known, np.sqrt(share) * chart.factor(atom)])
        return chart.flat(known)

    @staticmethod
    def _is_better(state: State, corrected: Atom, atom: Atom, eta: float, beta: float | None) -> bool:
        return state.segment(corrected, beta).value(1.0) <= state.segment(atom, beta).value(eta)
