"""Newton's method for projections under equations: its derivative against differences, its order, and what it takes."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.penalties.box import Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections.projection_newton import ProjectionNewton, takes
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.presets import chosen
from cgm_cli.spec.model import SolverSpec
from tests.methods.problems import Keep


def nearest(n: int, seed: int = 0, fixed_trace: bool = True, trace: float | None = None) -> CompositeProblem:
    """A matrix of correlations with errors, some of whose entries are to stay."""
    rng = np.random.default_rng(seed)
    target = rng.uniform(-1.0, 1.0, (n, n))
    target = 0.5 * (target + target.T)
    shape, places = (n, n), np.array([1, 2 * n + 4])
    return CompositeProblem(
        PSDTrace(n, float(n) if trace is None else trace, fixed_trace),
        LeastSquares(Identity(shape), target),
        (
            Term("diagonal", Diagonal(shape), Equals((n,), np.ones(n))),
            Term("fixed", Sampling(places, shape), Equals((2,), np.array([0.3, -0.2]))),
        ),
    )


@pytest.mark.parametrize(("fixed_trace", "trace"), [(True, None), (False, None), (False, 100.0)])
def test_derivatives_are_those_of_differences(fixed_trace, trace):
    """d by y is A x - b, and that by y is -A D A^T: with a trace that is fixed, at its bound, and below it."""
    newton = ProjectionNewton(nearest(7, 1, fixed_trace, trace))
    rng = np.random.default_rng(2)
    y, h, t = 0.3 * rng.standard_normal(9), rng.standard_normal(9), 1e-6
    here, above, below = newton._at(y), newton._at(y + t * h), newton._at(y - t * h)
    assert (above.worth - below.worth) / (2.0 * t) == pytest.approx(float(here.residual @ h), rel=1e-6)
    slopes, inside, bounded = newton._slopes(here)
    turned = here.vectors.T @ newton._back(h) @ here.vectors
    inner = slopes * turned
    if bounded:
        inner[inside, inside] -= turned.diagonal()[inside].mean()
    found = newton._forward(here.vectors @ inner, here.vectors)
    assert -(above.residual - below.residual) / (2.0 * t) == pytest.approx(found, abs=1e-6)


def test_the_last_steps_are_quadratic_ones():
    kept = Keep()
    solve_problem(nearest(40), {"method": "auto"}, {"gap": 1e-14, "infeasibility": 1e-12}, observers=[kept])
    missed = kept.column("infeasibility")
    missed = missed[missed > 1e-12]
    assert len(missed) <= 8
    assert np.log(missed[-1]) < 1.5 * np.log(missed[-2])


def test_auto_takes_it_and_where_it_is_refused():
    problem = nearest(7)
    assert chosen(SolverSpec(), problem).policies["correction"].policy.name == "projection-newton"
    loss, (diagonal, fixed) = problem.loss, problem.terms
    assert loss is not None
    bounds = Term("bounds", Identity(problem.domain.shape), Nonnegative(problem.domain.shape))
    others = (
        CompositeProblem(problem.domain, None, problem.terms),
        CompositeProblem(problem.domain, loss),
        CompositeProblem(problem.domain, loss, (diagonal, bounds)),
        CompositeProblem(problem.domain, LeastSquares(fixed.map, np.zeros(2)), (diagonal,)),
    )
    assert not any(map(takes, others))
