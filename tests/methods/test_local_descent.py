"""Local descent: true gradients, points of the domain, never worse than the plain step, and out of every wrong rank."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.errors import ProblemError
from cgm_cli.methods.evaluation import Evaluator
from cgm_cli.methods.local_descent import LocalDescent, _Chart
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Status
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from tests.methods.test_variants import FANTOPE, LOW_RANK, PENALISED, SPECTRAL, instance

AT_MOST = {**SPECTRAL, "domain": {"kind": "psd", "size": 6, "radius": 2.0}}
PROBLEMS = {"equal trace": SPECTRAL, "bounded trace": AT_MOST, "nuclear ball": LOW_RANK, "fantope": FANTOPE}
DOMAINS = [PSDTrace(7, 2.0, True), PSDTrace(7, 2.0, False), Fantope(7, 3), NuclearBall((4, 7), 2.0)]


def started(name, seed, centred):
    problem = instance(PROBLEMS[name]).problem
    rng = np.random.default_rng(seed)
    state = State(problem, DenseIterate(problem.first), rng)
    if centred:
        state.centres = [0.1 * np.ones(term.map.out_shape) for term in problem.terms]
    return state, Evaluator(problem, state.iterate), rng


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_gradient_on_the_sphere_is_that_of_the_smoothed_objective(name, centred):
    state, evaluator, rng = started(name, 1, centred)
    chart = _Chart(state.problem.domain)

    def value(flat):
        atom = chart.lift(chart.on_sphere(flat)[0])
        return evaluator.evaluate(*state.images_of(DenseAtom(atom.dense())), 0.3, state.centres).smoothed

    # Of any length: the sphere is gone round by a division.
    flat = 1.7 * chart.flat(chart.noise(rng, 3))
    factor, shrink = chart.on_sphere(flat)
    found, gradient = LocalDescent._value_and_gradient(state, evaluator, chart, factor, 0.3)
    assert found == pytest.approx(value(flat), rel=1e-12)
    slope = chart.tangent(flat, shrink, gradient)
    for _ in range(5):
        move = rng.standard_normal(flat.size)
        numeric = (value(flat + 1e-6 * move) - value(flat - 1e-6 * move)) / 2e-6
        assert float(slope @ move) == pytest.approx(numeric, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: type(domain).__name__)
def test_settled_points_are_points_of_the_domain(domain):
    chart, rng = _Chart(domain), np.random.default_rng(2)
    for width in (3, 4):
        factor = chart.on_sphere(rng.standard_normal(chart.flat(chart.noise(rng, width)).size))[0]
        point = chart.settled(factor)
        assert point.weights.size <= width
        assert np.all(np.diff(point.weights) <= 0)
        assert domain.contains(point.dense())
        # What is in the domain already stays.
        again = chart.settled(chart.factor(point))
        np.testing.assert_allclose(again.dense(), point.dense(), atol=1e-12)
        np.testing.assert_allclose(chart.lift(chart.factor(point)).dense(), point.dense(), atol=1e-12)


def test_a_fantope_has_no_point_of_too_few_columns():
    chart = _Chart(Fantope(7, 3))
    assert chart.settled(chart.noise(np.random.default_rng(0), 2)) is None


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_never_worse_than_the_plain_step(name):
    state, evaluator, rng = started(name, 3, centred=True)
    domain, correction = state.problem.domain, LocalDescent(columns=3, evaluations=5)
    for k in range(1, 15):
        beta, eta = 0.5 / np.sqrt(k + 1), 2.0 / (k + 1)
        point = evaluator.evaluate(state.loss_image, state.images, beta, state.centres)
        atom = domain.lmo(point.direction, OracleRequest(1e-6, None, rng)).atom
        plain = state.segment(atom, beta).value(eta)
        chosen, step = correction.choose(state, evaluator, atom, eta, beta)
        assert state.segment(chosen, beta).value(step) <= plain
        state.advance(chosen, step)
        assert domain.contains(state.iterate.array, 1e-8)


def zero_cost(seed: int, n: int = 100) -> dict:
    """min <M M^T, X> with X_ii = 1, whose optimum is 0 at z z^T, z a vector of signs."""
    rng = np.random.default_rng(seed)
    z = rng.choice([-1.0, 1.0], n)
    m = rng.standard_normal((n, n - 1))
    m -= np.outer(z, z @ m) / n
    return {
        "domain": {"kind": "psd", "size": n, "radius": float(n), "trace": "equal"},
        "objective": {"kind": "linear", "cost": ((m @ m.T) / n).tolist()},
        "constraints": [{"kind": "equals", "value": 1.0, "map": {"kind": "diagonal"}}],
    }


@pytest.mark.parametrize("seed", range(20))
def test_costs_of_a_rank_one_solution_are_solved_from_every_start(seed):
    """Descent at a fixed rank gets stuck on such costs; the oracle's atoms lead on."""
    spec = {"problem": zero_cost(seed), "seed": seed, "solver": {"method": "auto", "iterations": 200}}
    spec |= {"stop": {"infeasibility": 1e-4, "objective": 1e-4}}
    outcome = build(loads(dump(spec))).solve()
    assert outcome.record.infeasibility <= 1e-4
    assert abs(outcome.record.objective) <= 1e-4


def test_a_maximum_cut_relaxation_is_solved_to_a_certified_gap():
    """Against the dual bound, which a full factorisation proves."""
    spec = {
        "problem": {"template": "max-cut", "graph": {"nodes": 120, "edges": 900}},
        "solver": {"method": "auto", "iterations": 60},
        "stop": {"gap": 1e-5},
    }
    outcome = build(loads(dump(spec))).solve()
    assert outcome.status is Status.CONVERGED
    assert outcome.record.certified
    assert outcome.record.gap <= 1e-5
    assert outcome.record.infeasibility <= 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_nodes_without_edges_do_not_hold_it_up(seed):
    """Each is an eigenvector of its own, of the weight of one node: of no use to anybody but its constraint."""
    spec = {
        "problem": {"template": "max-cut", "graph": {"nodes": 300, "edges": 450}},
        "solver": {"method": "auto", "iterations": 60},
        "stop": {"gap": 1e-4},
        "seed": seed,
    }
    outcome = build(loads(dump(spec))).solve()
    assert outcome.status is Status.CONVERGED
    assert outcome.record.infeasibility <= 1e-4


def test_the_rank_may_be_smaller_than_the_solution_needs():
    """Where the columns do not suffice, the plain steps go on."""
    n = 12
    spec = {
        "problem": {
            "domain": {"kind": "psd", "size": n, "radius": 1.0, "trace": "equal"},
            "objective": {"kind": "least-squares", "target": (np.eye(n) / n).tolist()},
        },
        "solver": {"iterations": 300, "correction": "local-descent"},
    }
    made = build(loads(dump(spec)))
    made.method.__dict__["correction"] = LocalDescent(columns=2, evaluations=5)
    outcome = made.solve()
    assert outcome.record.objective <= 1e-3


def test_it_is_refused_where_points_are_no_matrices():
    with pytest.raises(ProblemError, match="matrices of low rank"):
        instance(PENALISED, correction="local-descent")


def test_auto_names_what_suits():
    cut = instance(SPECTRAL, method="auto").method
    assert (cut.name, type(cut.correction).__name__, type(cut.ascent).__name__) == (
        "cgal",
        "LocalDescent",
        "MultiplierStep",
    )
    assert instance(FANTOPE, method="auto").method.name == "cgal"
    assert instance(FANTOPE, method="auto").method.correction is None
    smooth = {"domain": {"kind": "simplex", "size": 3}, "objective": {"kind": "least-squares", "target": [1, 0, 2]}}
    assert instance(smooth, method="auto").method.name == "hcgm"


def test_sparse_costs_and_iterates_in_factors_agree_with_dense_ones():
    rng = np.random.default_rng(5)
    half = sp.random_array((9, 9), density=0.3, rng=rng)
    cost = (half + half.T).toarray()
    problem = {
        "domain": {"kind": "psd", "size": 9, "radius": 9.0, "trace": "equal"},
        "objective": {"kind": "linear", "cost": cost.tolist()},
        "constraints": [{"kind": "equals", "value": 1.0, "map": {"kind": "diagonal"}}],
    }
    found = [
        instance(problem, method="auto", iterations=30, iterate=kind).solve().record for kind in ("dense", "factored")
    ]
    assert found[0].objective == pytest.approx(found[1].objective, abs=1e-6)
    assert found[0].infeasibility < 1e-6
