"""What a block's author forgets to say counts as the careful answer: nothing is certified, and x is written out.

Every registered block is hidden behind one that has the abstract methods and the constants of its kind, and says
nothing about itself.
"""

import dataclasses
import math

import numpy as np
import pytest

from cgm_cli.blocks.domains.base import OracleAnswer
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.penalties.base import ConvexSet, Penalty
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.form import choose_form
from cgm_cli.solving.presets import chosen
from cgm_cli.spec.model import SolverSpec
from tests.blocks.support import Behind, InlineContext, build_all, examples, spec

STOP = {"gap": 1e-3, "infeasibility": 1e-2}


class SilentDomain(Behind):
    def lmo(self, direction, request):
        answer = self.inner.lmo(direction.symmetrised() if self.inner.symmetric else direction, request)
        return dataclasses.replace(answer, exact=False)


class SilentMap(LinearMap):
    def __init__(self, inner):
        self.inner = inner
        self.in_shape, self.out_shape, self.norm = inner.in_shape, inner.out_shape, inner.norm

    def forward(self, x):
        return self.inner.forward(x)

    def adjoint(self, y):
        return self.inner.adjoint(y)


class SilentLoss(Loss):
    def __init__(self, inner):
        self.inner = inner
        self.map, self.lipschitz = inner.map, inner.lipschitz

    def value(self, z):
        return self.inner.value(z)

    def gradient(self, z):
        return self.inner.gradient(z)

    def curvature(self, z, dz):
        return self.inner.curvature(z, dz)


class SilentPenalty(Penalty):
    def __init__(self, inner):
        self.inner = inner
        self.shape, self.lipschitz = inner.shape, inner.lipschitz

    def value(self, z):
        return self.inner.value(z)

    def prox(self, z, step):
        return self.inner.prox(z, step)

    def subgradient(self, z):
        return self.inner.subgradient(z)


class SilentSet(ConvexSet):
    def __init__(self, inner):
        self.inner, self.shape = inner, inner.shape

    def project(self, z):
        return self.inner.project(z)


class Needs:
    iterate = "auto"
    takes_samples = True


def is_written_out(problem):
    solver = SolverSpec()
    form = choose_form(solver, chosen(solver, problem).method, problem, Needs(), lambda nbytes: True)
    return form.kind == "dense"


def never_certified(problem, **options):
    """Whether a run says nothing of a proof, from its first record to its last."""
    kept = []
    observer = type("Keep", (), {"on_record": lambda self, record: kept.append(record)})()
    solver = {"method": "hcgm", "iterations": 15, **options}
    result = solve_problem(problem, solver, STOP, observers=[observer])
    return result.bound_is != "certified" and not any(record.certified for record in kept)


@pytest.mark.parametrize("example", examples("domain"))
def test_a_domain(example):
    for domain in [spec("domain", example).build(InlineContext())]:
        silent = SilentDomain(domain)
        cost = np.random.default_rng(0).standard_normal(domain.shape)
        term = Term("near", Identity(domain.shape), SilentSet(_anywhere(domain)))
        problem = CompositeProblem(silent, Linear(cost, domain.shape), (term,))
        assert is_written_out(problem)
        assert never_certified(CompositeProblem(silent, Linear(cost, domain.shape)))


def _anywhere(domain):
    from cgm_cli.blocks.penalties.balls import L2BallSet

    return L2BallSet(domain.shape, 2.0 * domain.radius + 1.0)


@pytest.mark.parametrize("example", examples("map"))
def test_a_map(example):
    from cgm_cli.blocks.domains.nuclear import NuclearBall

    for linear in build_all("map", example):
        silent = SilentMap(linear)
        # Out of reach: at a solution inside, directions are rounding errors.
        target = np.linspace(50.0, 60.0, math.prod(linear.out_shape)).reshape(linear.out_shape)
        if len(linear.in_shape) == 2:
            domain = NuclearBall(linear.in_shape, 1.0)
        else:
            domain = Box(np.full(linear.in_shape, -1.0), np.full(linear.in_shape, 1.0))
        problem = CompositeProblem(domain, LeastSquares(silent, target))
        assert is_written_out(problem)
        # It has the same answers as the map that speaks.
        spoken = CompositeProblem(domain, LeastSquares(linear, target))
        one, other = (solve_problem(each, {"method": "hcgm", "iterations": 5}, {}) for each in (problem, spoken))
        assert one.record.objective == pytest.approx(other.record.objective, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("example", examples("loss"))
def test_a_loss(example):
    for loss in build_all("loss", example):
        shape = loss.map.in_shape
        low = -1.0 if loss.is_smooth else 0.5  # where it is finite
        domain = Box(np.full(shape, low), np.full(shape, 1.0)) if len(shape) == 1 else None
        if domain is not None:
            problem = CompositeProblem(domain, SilentLoss(loss))
            assert not problem.is_provable
            assert never_certified(problem)


@pytest.mark.parametrize("family", ["penalty", "set"])
def test_a_penalty_or_a_set(family):
    for (example,) in (each.values for each in examples(family)):
        check_term(family, example)


def check_term(family, example):
    for inner in build_all(family, example):
        silent = SilentSet(inner) if inner.is_set else SilentPenalty(inner)
        shape = inner.shape
        if len(shape) != 1:
            continue
        domain = Box(np.full(shape, -1.0), np.full(shape, 1.0))
        problem = CompositeProblem(domain, Linear(np.ones(shape), shape), (Term("it", Identity(shape), silent),))
        assert not problem.is_provable
        assert never_certified(problem)


def test_an_oracle_has_to_say_whether_it_is_exact():
    from cgm_cli.blocks.atoms import SparseAtom

    with pytest.raises(TypeError, match="exact"):
        OracleAnswer(SparseAtom.zero((3,)), 0.0, 0.0)
