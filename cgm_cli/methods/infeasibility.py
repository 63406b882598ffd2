"""A proof that no point of the domain meets the constraints: a certified bound above every value of the objective.

At least the maximum over the domain of f and the finite g_i is, from any x_k,

    f(x) <= f(x_k) + <grad f(x_k), x - x_k> + L_f D^2 / 2     and     g(A x) <= g(A x_k) + L_g |A| D,

for which one more linear minimisation has to be certified. By how much the bound is higher says how far off every point
is: with its y_i, and K_i the sets,

    bound <= F(x) + sum_i |y_i| dist(A_i x, K_i)     for all x in X,

so that where an infeasibility of tau would do, the bound has to be higher by tau sum_i |y_i| |p_i|. A run that ends
short of its tolerances has not found such a point either: then the proof counts from a tau of ROUNDED on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.best_bound import TRIAL_PRODUCTS, Bound
from cgm_cli.methods.certification import Certifier
from cgm_cli.methods.corrections.rests import ROUNDED
from cgm_cli.methods.state import State
from cgm_cli.numerics.deadline import Deadline


class InfeasibilityTest:
    """tolerance: the relative infeasibility that would do. certifies: whether estimates may be certified for the proof.
    deadline: of certificates.
    """

    def __init__(
        self,
        problem: CompositeProblem,
        state: State,
        certifier: Certifier,
        tolerance: float,
        certifies: bool,
        deadline: Deadline,
    ):
        self._problem, self._state, self._certifier, self._tolerance = problem, state, certifier, tolerance
        self._certifies, self._deadline = certifies, deadline

    def is_proven(self, at_last: bool = False) -> bool:
        """Whether the bounds of the state prove it; the best estimate is certified where it would. at_last: for a run
        that has come to its end without an answer. Within a radius that is but assumed, what holds in the limit of
        large X alone would be called infeasible then.
        """
        state, problem = self._state, self._problem
        strict = at_last and not problem.domain.assumes_radius
        tolerance = min(self._tolerance, ROUNDED) if strict else self._tolerance
        shown = state.bounds.shown
        if shown is None or not problem.has_constraints:
            return False
        image = state.point.loss_image
        objective = 0.0 if problem.loss is None or image is None else problem.loss.value(image)
        # The cheapest looks come first.
        if shown.value <= objective or shown.value <= self._attained() or not self._passes(shown, tolerance):
            return False
        if not shown.certified and self._certifies and shown.value > state.ceiling.failed:
            self._certifier.certify_best()
            state.ceiling = replace(state.ceiling, failed=shown.value + abs(shown.value) * 1e-6)
        certified = state.bounds.certified
        return certified is not None and self._passes(certified, tolerance)

    def _passes(self, bound: Bound, tolerance: float) -> bool:
        """Whether no point that is feasible within a tolerance has an objective as high as the bound."""
        height = bound.value - self._ceiling()
        if height <= 0.0 or tolerance == 0.0:
            return height > 0.0
        needed = 0.0
        for term, y, z in zip(self._problem.terms, bound.dual.duals, self._state.point.images.terms, strict=True):
            if term.penalty.is_set:
                size = self._problem.image_scale(
                    term, term.penalty.smoothed(z, 1.0).reference, self._state.point.length
                )
                needed += tolerance * float(np.linalg.norm(y)) * size
        return height > needed

    def _ceiling(self) -> float:
        """At least the maximum of the objective over the domain; infinite where that cannot be certified."""
        known = self._state.ceiling.proven
        if known is None:
            minimum = partial(self._problem.domain.certified_minimum, deadline=self._deadline)
            known = self._largest(minimum)
            self._state.ceiling = replace(self._state.ceiling, proven=known)
        return known

    def _attained(self) -> float:
        """The ceiling with the value of an atom for the certified minimum: no more than it, and far cheaper."""
        known = self._state.ceiling.attained
        if known is None:
            rough = OracleRequest(1e-2, max_products=TRIAL_PRODUCTS)
            known = self._largest(lambda direction: self._problem.domain.lmo(direction, rough).value)
            self._state.ceiling = replace(self._state.ceiling, attained=known)
        return known

    def _largest(self, minimum: Callable[[Direction], float | None]) -> float:
        """The right-hand sides of the module's head, if `minimum` is a lower bound on <direction, .>."""
        loss, domain, point = self._problem.loss, self._problem.domain, self._state.point
        parts, image = list[float](), point.loss_image
        finite = [place for place, term in enumerate(self._problem.terms) if not term.penalty.is_set]
        images = point.images.terms if finite else []  # which may have to be written out
        for place in finite:
            term = self._problem.terms[place]
            parts += [term.penalty.value(images[place]), term.penalty.lipschitz * term.map.norm_bound * domain.diameter]
        if loss is not None and image is not None:
            gradient = loss.gradient(image)
            opposite = loss.map.adjoint(-gradient)
            smallest = minimum(opposite.symmetrised() if domain.symmetric else opposite)
            if smallest is None:
                return np.inf
            parts += [loss.value(image), -float(np.vdot(gradient, image)), -smallest]
            parts.append(0.5 * loss.lipschitz_bound * domain.diameter**2)
        return sum(parts) + 64 * float(np.finfo(float).eps) * sum(map(abs, parts))
