"""Dual ascent: the smoothing is centred at dual variables that follow the multipliers of the constraints (Yurtsever,
Fercoq and Cevher, "A conditional-gradient-based augmented Lagrangian framework", ICML 2019).

With the smoothing of a term centred at c, its dual at z is y = argmax <y, z> - g*(y) - b |y - c|^2 / 2, and b (y - c)
is the residual z - p of the augmented Lagrangian. A step of size gamma along the residual is a step towards y:

    c + gamma (z - p) = c + theta (y - c),     theta = gamma b in [0, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
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
        reach = eta * self.diameter * self.norm / residual
        gain = 0.5 * reach * reach / beta  # infinite for a residual of rounding errors alone
        theta = min(1.0 / self.beta0, gain) * beta
        size = np.sqrt(sum(max(0.0, offset.size_after(theta)) / term.weight for term, offset in pairs))
        if size <= self.bound:
            state.ascent = evaluator.ascend(state.centres, offsets, theta, beta)


@dataclass(frozen=True)
class Multipliers:
    """The method of multipliers (Hestenes; Powell; both 1969) for a correction that nearly solves its problem: the
    duals y of its solution are the next multipliers.

    The next problem is centred beyond them, by Nesterov's momentum, since the method is a proximal point method of the
    dual (Guler, "New proximal point algorithms for convex minimization", SIAM J. Optim. 2, 1992); where the residual
    has grown, momentum begins anew. Where the residual is more than `loose` of the image, the smoothing is halved for
    good, and quartered where it is four times that, to 1 / `sharpest` at least: a sharper one makes the multipliers
    converge faster, and its problem harder to solve (Bertsekas, "Constrained optimization and Lagrange multiplier
    methods", section 2.2). Where multipliers are known that fit the solution better than its duals, they take their
    place, and the smoothing is halved, too, where the residual is more than `slow` of the last one, and once more.
    """

    loose: float = 0.05
    slow: float = 0.25
    sharpest: float = 256.0

    def lead(self, state: State) -> None:
        """Move the centres of the state from the multipliers to where the next problem is centred."""
        held, momentum = state.centres, float(state.memory.get("momentum", 0.0))
        if momentum > 0.0:
            state.centres = [y + momentum * (y - state.memory[f"dual{i}"]) for i, y in enumerate(held)]
        state.memory.update({f"dual{i}": y for i, y in enumerate(held)})

    def follow(
        self,
        state: State,
        images: Sequence[np.ndarray],
        duals: Sequence[np.ndarray],
        beta: float,
        fitted: Sequence[np.ndarray] | None = None,
    ) -> None:
        """Move them to the duals of the solution, of the smoothing beta, or to those that fit it better; images: A_i x
        of the solution.
        """
        squares, looseness, radius = 0.0, 0.0, state.problem.domain.radius
        for term, z, y, c in zip(state.problem.terms, images, duals, state.centres, strict=True):
            apart = beta / term.weight * float(np.linalg.norm(y - c))
            squares += term.weight * apart**2
            # Images may be zero, but none is larger than |A| times the radius.
            size = max(min(1.0, term.map.norm * radius), float(np.linalg.norm(z)))
            looseness = max(looseness, apart / size if size > 0.0 else 0.0)
        residual = float(np.sqrt(squares))
        age, last = (float(state.memory.get(name, start)) for name, start in (("age", 1.0), ("residual", np.inf)))
        if looseness > self.loose or (fitted is not None and residual > self.slow * last):
            sharper = state.sharpness * (2.0 if looseness <= 4.0 * self.loose else 4.0)
            state.sharpness = min(sharper, self.sharpest if fitted is None else 2.0 * self.sharpest)
        if looseness > self.loose or residual > last:
            age = 1.0
        older = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * age**2))
        kept = {"residual": residual, "age": older, "momentum": (age - 1.0) / older}
        state.memory.update({name: np.array(value) for name, value in kept.items()})
        state.centres = list(duals if fitted is None else fitted)
