"""Local descent: never worse than the plain step, out of every wrong rank, and to the optimum with multipliers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.errors import ProblemError
from cgm_cli.methods.ascent import Multipliers
from cgm_cli.methods.local_descent import LocalDescent
from cgm_cli.methods.status import Status
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from tests.methods.test_factors import FACE, PROBLEMS, started
from tests.methods.test_variants import FANTOPE, PENALISED, SPECTRAL, instance


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
    for problem in (SPECTRAL, FACE):
        descent = instance(problem, method="auto").method
        assert (descent.name, type(descent.correction).__name__) == ("cgal", "LocalDescent")
        # Its multipliers are its own: no step of dual ascent is taken beside.
        assert isinstance(descent.correction.multipliers, Multipliers)
        assert descent.ascent is None
        assert descent.is_centred
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
