"""Dual ascent: the smoothing is centred at dual variables that follow the multipliers of the constraints (Yurtsever,
Fercoq and Cevher, "A conditional-gradient-based augmented Lagrangian framework", ICML 2019).

With the smoothing of a term centred at c, its dual at z is y = argmax <y, z> - g*(y) - b |y - c|^2 / 2, and b (y - c)
is the residual z - p of the augmented Lagrangian. A step of size gamma along the residual is a step towards y:

    c + gamma (z - p) = c + theta (y - c),     theta = gamma b in [0, 1]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cgm_cli.methods.evaluation import Evaluator
from cgm_cli.methods.state import State


@dataclass(frozen=True)
class DualAscent:
    """gamma = min(1 / beta0, eta^2 D_X^2 |A|^2 / (2 beta |residual|^2)), in the stacked norm of the weighted terms.

    So the ascent undoes no more than what the step has gained in the worst case (their equation 10, with the penalty
    1 / beta). `bound`: centres whose norm it would exceed are not taken; infinite by default.
    """

    beta0: float
    norm: float
    diameter: float
    bound: float = np.inf

    def climb(self, state: State, evaluator: Evaluator, eta: float, beta: float) -> None:
        """Move the centres of the state, in place, at the images of its new point; beta: of the turn to come.

        What the next evaluation can do in passing is left to it, in `state.ascent`.
        """
        terms = state.problem.terms
        offsets = evaluator.offsets(state.images, beta, state.centres)
        # |residual|^2 = sum w |b (y - c)|^2 with b = beta / w
        pairs = list(zip(terms, offsets, strict=True))
        residual = beta * float(np.sqrt(sum(offset.square / term.weight for term, offset in pairs)))
        if residual == 0.0:
            return
        gain = 0.5 * (eta * self.diameter * self.norm / residual) ** 2 / beta
        theta = min(1.0 / self.beta0, gain) * beta
        size = np.sqrt(sum(max(0.0, offset.size_after(theta)) / term.weight for term, offset in pairs))
        if size <= self.bound:
            state.ascent = evaluator.ascend(state.centres, offsets, theta, beta)


@dataclass(frozen=True)
class MultiplierStep:
    """c <- y, the full step of the method of multipliers (Hestenes; Powell; both 1969).

    It asks that the augmented problem is nearly solved before, as local descent does. Where the residual does not fall
    to `share` of the last one, the smoothing is halved for good, and quartered where it does not fall to twice that, to
    1 / `sharpest` at least: the multipliers converge the faster for it (Bertsekas, "Constrained optimization and
    Lagrange multiplier methods", section 2.2).
    """

    share: float = 0.25
    sharpest: float = 64.0

    def climb(self, state: State, evaluator: Evaluator, eta: float, beta: float) -> None:
        """Move the centres of the state to the duals of its new point; beta: of the turn to come."""
        terms = state.problem.terms
        duals = evaluator.duals(state.images, beta, state.centres)
        apart = [float(np.linalg.norm(y - c)) for y, c in zip(duals, state.centres, strict=True)]
        residual = beta * float(np.sqrt(sum(d**2 / term.weight for d, term in zip(apart, terms, strict=True))))
        fall = residual / float(state.memory.get("residual", np.inf))
        if fall > self.share:
            sharper = state.sharpness * (2.0 if fall <= 2.0 * self.share else 4.0)
            state.sharpness = min(sharper, self.sharpest)
        state.memory["residual"] = np.array(residual)
        state.centres = list(duals)
