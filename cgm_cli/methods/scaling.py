"""`scaling: auto` and `beta0: auto`: smoothing that suits the units of the problem.

Bringing objective, maps and domain to unit size (f / s, A_i / |A_i|, x / r) leaves the conditional-gradient path as it
is, up to one change: the term g_i(A_i x) is smoothed with beta s / (|A_i|^2 r^2) ... that is, with weight

    w_i = s / (|A_i| r)^2        (in units of the unscaled problem; s: size of the objective over the domain)

So scaling never touches the data: it is a choice of weights, and every result stays in the user's units.
"""

from __future__ import annotations

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem


def objective_size(problem: CompositeProblem) -> float:
    """s: |grad f(x_1)| r + L_f r^2 / 2, which for a linear f is |C|_F r, without the latter for one that is
    not smooth; without an objective the same of the finite
    penalties.
    """
    r = problem.domain.usual
    size = 0.0
    if problem.loss is not None:
        gradient = problem.loss.gradient(problem.loss.map.forward_atom(problem.first))
        steepness = float(np.linalg.norm(gradient)) * problem.loss.map.norm
        size = steepness * r + (0.5 * problem.loss.lipschitz * r**2 if problem.loss.is_smooth else 0.0)
    if size == 0.0:
        size = sum(t.penalty.lipschitz * t.map.norm * r for t in problem.terms if not t.penalty.is_set)
    return size if size > 0.0 else 1.0


def scaled(problem: CompositeProblem) -> CompositeProblem:
    """The problem with every weight multiplied by s / (|A_i| r)^2."""
    size, r = objective_size(problem), problem.domain.usual
    return problem.reweighted(
        {t.name: t.weight * size / (t.map.norm * r) ** 2 if t.map.norm * r > 0 else t.weight for t in problem.terms}
    )


def optimal_beta0(problem: CompositeProblem) -> float | None:
    """2 D_X |A| / L_g, which minimises the bound of the paper's Theorem 2; None where that says nothing."""
    constants = problem.constants()
    if problem.has_constraints or constants["L_g"] == 0 or constants["|A|"] * constants["D_X"] == 0:
        return None
    return 2.0 * constants["D_X"] * constants["|A|"] / constants["L_g"]


def automatic_beta0(
    problem: CompositeProblem, is_scaled: bool, *, ascent: bool = False, descent: bool = False
) -> float:
    """beta0 where the spec says `auto`: the optimal one for finite penalties; with constraints, 1/2 in scaled units,
    and 2 where the smoothing is centred by dual ascent, which meets the constraints without being stiff, but 0.2 where
    local descent solves each of its problems well, so that the multipliers may take long steps.

    The latter are rules of thumb (on k-means and max-cut problems, 1 leaves the constraints loose and 1/4 the bound;
    with dual ascent anything from 1 to 8 does, also on linear and small semidefinite programs).
    """
    optimal = optimal_beta0(problem)
    if optimal is not None and not ascent:
        return optimal
    scaled_units = 0.2 if descent and ascent else 2.0 if ascent else 0.5
    reach = problem.constants()["|A|"] * problem.domain.usual
    return scaled_units if is_scaled or reach == 0.0 else scaled_units * reach**2 / objective_size(problem)
