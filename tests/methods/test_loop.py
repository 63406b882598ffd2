"""The loop on problems whose optimum is known: it converges, and everything it says on the way is true."""

import copy
import dataclasses
import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.certificates import CertificateLimits
from cgm_cli.blocks.domains.norm_balls import L2Ball
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.domains.spectral import SpectralDomain
from cgm_cli.blocks.iterates import DenseIterate, FactoredIterate, SampledIterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import NumericalError, ProblemError
from cgm_cli.methods import codec
from cgm_cli.methods.best_bound import BestBound, FailureBudget, certify
from cgm_cli.methods.certification import Certifier
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.methods.scaling import automatic_beta0, objective_size, scaled
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from tests.blocks.support import random_vertex
from tests.methods.problems import (
    KNOWN,
    Keep,
    cgm,
    cycle,
    hcgm,
    lasso,
    linear_programme,
    minimax,
    solve,
    solve_scaled,
    two_clusters,
)

TRACE = [
    "k",
    "objective",
    "penalty",
    "total",
    "infeasibility",
    "bound",
    "gap",
    "beta",
    "eta",
    "lmo_value",
    "lmo_matvecs",
]


def sign(problem):
    return -1.0 if problem.sense == "maximise" else 1.0


def same_trace(first, second, columns=TRACE, **tolerances):
    for name in columns:
        np.testing.assert_allclose(second.column(name), first.column(name), err_msg=name, **tolerances)


# Convergence and truth of the bounds.


@pytest.mark.parametrize("name", KNOWN)
def test_converges_to_the_known_optimum(name):
    problem, optimum = KNOWN[name]()
    iterations = 400 if max(problem.domain.shape) > 64 else 2000 if name == "linear-programme" else 1000
    outcome, keep = solve_scaled(problem, iterations, schedule=Schedule(refresh=300))
    record = outcome.record
    size = objective_size(problem)
    assert outcome.status is Status.ITERATION_LIMIT
    assert record.infeasibility < 0.05
    assert abs(record.total - optimum) < 0.05 * size
    assert sign(problem) * (optimum - record.bound) + 1e-13 * abs(optimum) >= 0.0
    assert abs(record.bound - optimum) < 0.01 * size
    assert record.certified
    # In four times as many iterations errors of the order of 1 / sqrt(k) halve.
    errors = np.maximum(np.abs(keep.column("total") - optimum) / size, keep.column("infeasibility"))
    assert errors[-1] < 0.7 * errors[len(errors) // 4] + 1e-12


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("tolerance", [0.0, 1e-3, 1e-2, 1e-1])
def test_no_certified_bound_ever_passes_the_optimum(name, tolerance):
    problem, optimum = KNOWN[name]()
    outcome, keep = solve_scaled(problem, 60, tolerance, schedule=Schedule(certify="always"))
    assert keep.column("certified").all()
    slack = 1e-13 * max(1.0, abs(optimum))  # of the optimum's own rounding
    bounds = sign(problem) * keep.column("bound")
    assert len(bounds) == 61
    assert np.all(bounds <= sign(problem) * optimum + slack)
    assert np.all(np.diff(bounds) >= 0)
    assert outcome.bound.certified
    assert outcome.bound.value == bounds[-1]


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-1])
@pytest.mark.parametrize("mode", ["final", "never"])
def test_an_estimate_is_called_one(name, tolerance, mode):
    problem, optimum = KNOWN[name]()
    iterative = problem.domain.spectral and problem.domain.shape[0] > 64
    _, keep = solve_scaled(problem, 40, tolerance, schedule=Schedule(certify=mode))
    certified = keep.column("certified")
    assert certified[:-1].all() == (not iterative)
    assert certified[:-1].any() == (not iterative)
    assert certified[-1] == (mode == "final" or not iterative)
    bounds = sign(problem) * keep.column("bound")
    assert np.all(bounds[certified] <= sign(problem) * optimum + 1e-13 * max(1.0, abs(optimum)))


def out_of_reach(monkeypatch):
    """No proof for any spectral domain."""
    monkeypatch.setattr(SpectralDomain, "limits", CertificateLimits(1, 1, 1, 1, 1, 1))


@pytest.mark.parametrize("name", [name for name in KNOWN if max(KNOWN[name]()[0].domain.shape) > 64])
@pytest.mark.parametrize(("failure", "mode"), [(1e-9, "final"), (1e-9, "always"), (0.0, "final"), (1e-9, "never")])
def test_where_a_proof_is_out_of_reach_a_bound_is_probable(name, failure, mode, monkeypatch):
    out_of_reach(monkeypatch)
    problem, optimum = KNOWN[name]()
    if not problem.domain.spectral:
        return
    outcome, keep = solve_scaled(problem, 40, 1e-3, schedule=Schedule(certify=mode, failure=failure))
    probable = failure > 0.0 and mode != "never"
    assert not keep.column("certified").any()
    assert outcome.record.bound_is == outcome.bound.kind == ("probable" if probable else "estimated")
    assert outcome.bound.failure == outcome.record.bound_failure or not probable
    assert (outcome.certificate is not None) == (probable and mode == "final")
    kinds = np.array([record.bound_is for record in keep.records])
    assert set(kinds[:-1]) <= ({"probable"} if probable and mode == "always" else {"estimated"})
    bounds = sign(problem) * keep.column("bound")
    assert np.all(bounds[kinds == "probable"] <= sign(problem) * optimum + 1e-13 * max(1.0, abs(optimum)))
    tree = outcome.state.pack()["bounds"]
    np.testing.assert_equal(codec.pack(codec.unpack(BestBound, tree)), tree)


def test_probabilities_of_failure_add_up_to_no_more_than_the_one_that_is_told(monkeypatch):
    out_of_reach(monkeypatch)
    shares = []

    def minimum(self, direction, failure, rng, deadline):
        shares.append(failure)
        return 0.0

    monkeypatch.setattr(PSDTrace, "certified_minimum", lambda *given: None)
    monkeypatch.setattr(PSDTrace, "probable_minimum", minimum)
    problem, _ = KNOWN[next(name for name in KNOWN if isinstance(KNOWN[name]()[0].domain, PSDTrace))]()
    bounds, chance = BestBound(), FailureBudget(0.01, np.random.default_rng(0))
    dual = DualPoint(None, tuple(np.zeros(term.map.out_shape) for term in problem.terms), 0.0, 0.0)
    for _ in range(1000):
        bounds.certify_dual(dataclasses.replace(problem, loss=None), dual, chance)
    assert bounds.drawn == 1000
    assert 0.009 < sum(shares) <= 0.01


@pytest.mark.parametrize("name", KNOWN)
def test_the_reported_dual_point_makes_the_reported_bound(name):
    problem, _ = KNOWN[name]()
    outcome, _ = solve_scaled(problem, 25, 1e-3)
    dual = outcome.dual
    again = certify(scaled(problem), dual)
    assert again == pytest.approx(outcome.bound.value, rel=1e-9, abs=1e-9)
    # Weak duality written out: no point of the domain makes constant + <v, x> smaller.
    rng = np.random.default_rng(0)
    direction = dual.direction(problem)
    for _ in range(5):
        vertex = random_vertex(problem.domain, rng)
        value = dual.constant + float(np.vdot(direction.dense(), vertex))
        assert value >= outcome.bound.value
        # The same from the images.
        scaled_problem = scaled(problem)
        loss, images = scaled_problem.loss, [term.map.forward(vertex) for term in scaled_problem.terms]
        found = dual.lagrangian(scaled_problem, None if loss is None else loss.map.forward(vertex), images)
        assert found == pytest.approx(value, rel=1e-9, abs=1e-9)


class Mistaken(Domain):
    """A domain whose oracle is right but for its sixth answer, which puts the minimum far too high."""

    def __init__(self, inner, by):
        self.inner, self.by, self.asked = inner, by, 0
        self.shape, self.radius, self.diameter = inner.shape, inner.radius, inner.diameter
        self.symmetric = inner.symmetric

    def lmo(self, direction, request):
        self.asked += request.tolerance == 1e-3  # those of the loop itself
        answer = self.inner.lmo(direction, request)
        wrong = self.by if self.asked == 6 and request.tolerance == 1e-3 else 0.0
        return dataclasses.replace(answer, exact=False, lower=answer.lower + wrong)

    def contains(self, x, tolerance=1e-9):
        return self.inner.contains(x, tolerance)

    def project(self, x):
        return self.inner.project(x)

    def start(self):
        return self.inner.start()


@pytest.mark.parametrize("name", ["cycle-5", "two-clusters", "linear-programme"])
def test_an_estimate_that_a_point_disproves_is_dropped(name):
    """As it is where the oracle has missed an eigenvector: nothing later would be as good, and the run never end."""
    problem, optimum = KNOWN[name]()
    fooled = dataclasses.replace(problem, domain=Mistaken(problem.domain, 50.0 * max(1.0, abs(optimum))))
    outcome, keep = solve_scaled(fooled, 60, 1e-3, schedule=Schedule(certify="never"))
    bounds = sign(problem) * keep.column("bound")
    assert bounds[5] > sign(problem) * optimum + max(1.0, abs(optimum))
    assert outcome.bound.value <= sign(problem) * optimum + 1e-6 * max(1.0, abs(optimum))
    assert not keep.column("certified").any()


# What the columns say.


@pytest.mark.parametrize("name", ["minimax", "linear-programme", "lasso", "cycle-5", "two-clusters"])
def test_gap_infeasibility_and_totals_are_what_they_are_called(name):
    problem, _ = KNOWN[name]()
    outcome, keep = solve(problem, 30)
    s = sign(problem)
    for record in keep.records:
        assert record.total == record.objective + record.penalty
        expected = abs(record.total - record.bound) / max(1.0, abs(record.total), abs(record.bound))
        assert record.gap == pytest.approx(expected, rel=1e-12)
        assert record.infeasibility == max(record.infeasibilities.values(), default=0.0)
        assert set(record.infeasibilities) == {term.name for term in problem.terms if term.penalty.is_set}
    x = outcome.state.point.iterate.array
    last = outcome.record
    objective = 0.0 if problem.loss is None else problem.loss.value(problem.loss.map.forward(x))
    assert last.objective == pytest.approx(s * objective, rel=1e-10, abs=1e-12)
    penalty = sum(t.penalty.value(t.map.forward(x)) for t in problem.terms if not t.penalty.is_set)
    assert last.penalty == pytest.approx(s * penalty, rel=1e-10, abs=1e-12)
    for term in problem.terms:
        if term.penalty.is_set:
            image = term.map.forward(x)
            nearest = term.penalty.project(image)
            expected = np.linalg.norm(image - nearest) / max(1.0, np.linalg.norm(nearest))
            assert last.infeasibilities[term.name] == pytest.approx(expected, rel=1e-8)


def test_smoothing_and_steps_follow_their_rules():
    problem, _ = linear_programme()
    _, keep = solve(problem, 20, method=hcgm(0.7))
    k = keep.column("k")
    np.testing.assert_array_equal(k, np.arange(21))
    # The record of k steps is made in iteration k + 1, whose smoothing and step it shows.
    np.testing.assert_allclose(keep.column("beta"), 0.7 / np.sqrt(k + 2), rtol=1e-15)
    np.testing.assert_allclose(keep.column("eta"), 2.0 / (k + 2), rtol=1e-15)
    assert np.all(np.diff(keep.column("seconds")) >= 0)


def test_the_first_steps_are_those_of_the_paper():
    problem, _ = linear_programme()
    term, cost = problem.terms[0], problem.loss.map.direction.array
    outcome, keep = solve(problem, 5, method=hcgm(0.7))
    x = np.full(8, 1 / 8)
    for k in range(1, 7):
        record, beta, eta = keep.records[k - 1], 0.7 / np.sqrt(k + 1), 2.0 / (k + 1)
        image = term.map.matrix @ x
        direction = cost + term.map.matrix.T @ (image - term.penalty.target) / beta
        assert record.objective == pytest.approx(cost @ x, rel=1e-12)
        assert record.lmo_value == pytest.approx(direction.min(), rel=1e-10)
        x_now, x = x, (1 - eta) * x + eta * np.eye(8)[direction.argmin()]
    np.testing.assert_allclose(outcome.state.point.iterate.array, x_now, atol=1e-14)


def test_records_are_sparse_where_asked_and_the_last_is_always_there():
    problem, _ = linear_programme()
    _, every = solve(problem, 23)
    _, some = solve(problem, 23, schedule=Schedule(log=5))
    assert some.column("k").tolist() == [0, 5, 10, 15, 20, 23]
    for name in ("objective", "bound", "infeasibility", "gap"):
        np.testing.assert_array_equal(some.column(name), every.column(name)[some.column("k")])


def test_bounds_are_made_every_so_often_and_at_the_end():
    problem, optimum = linear_programme()
    _, keep = solve(problem, 23, schedule=Schedule(bound=10))
    bounds = keep.column("bound")
    assert np.all(bounds[:10] == bounds[0])
    assert np.all(bounds <= optimum)
    _, every = solve(problem, 23)
    np.testing.assert_array_equal(bounds[[0]], every.column("bound")[[0]])


def test_metrics_are_measured_every_so_often_and_at_the_end():
    problem, _ = linear_programme()
    outcome, keep = solve(
        problem, 13, schedule=Schedule(metrics=5), metrics=lambda iterate: {"first": iterate.array[0]}
    )
    assert [r.k for r in keep.records if r.metrics] == [0, 5, 10, 13]
    assert keep.records[-1].metrics["first"] == outcome.state.point.iterate.array[0]
    assert "metric_first" in keep.records[-1].columns()


# Weights and scaling.


def test_a_weight_is_a_scaling_of_map_and_set_by_its_root():
    problem, _ = linear_programme()
    term = problem.terms[0]
    root = np.sqrt(7.5)
    heavy = problem.reweighted({"balance": 7.5})
    stretched = dataclasses.replace(
        problem,
        terms=(Term("balance", MatrixMap(root * term.map.matrix, (8,)), Equals((2,), root * term.penalty.target)),),
    )
    first, keep = solve(heavy, 60)
    second, again = solve(stretched, 60)
    same_trace(keep, again, ["objective", "bound", "lmo_value", "beta"], rtol=1e-9)
    np.testing.assert_allclose(second.state.point.iterate.array, first.state.point.iterate.array, atol=1e-12)
    with_one, _ = solve(problem, 60)
    assert not np.allclose(with_one.state.point.iterate.array, first.state.point.iterate.array)


def test_a_weight_of_a_finite_term_is_a_smoothing():
    # g_beta/w of a penalty: beta0 divided by w, all terms weighted alike.
    problem, _ = minimax()
    _, keep = solve(problem.reweighted({"max": 4.0}), 50, method=hcgm(2.0))
    _, again = solve(problem, 50, method=hcgm(0.5))
    same_trace(keep, again, ["total", "bound", "lmo_value"], rtol=1e-12)


@pytest.mark.parametrize("make", [linear_programme, two_clusters, cycle])
def test_automatic_scaling_is_a_choice_of_weights(make):
    problem, _ = make()
    brought = scaled(problem)
    size, radius = objective_size(problem), problem.domain.radius
    weights = {t.name: size / (t.map.norm * radius) ** 2 for t in problem.terms}
    assert {t.name: t.weight for t in brought.terms} == pytest.approx(weights)
    _, keep = solve(brought, 40)
    _, again = solve(problem.reweighted(weights), 40)
    same_trace(keep, again, rtol=1e-10)


@pytest.mark.parametrize("make", [linear_programme, two_clusters])
@pytest.mark.parametrize("factor", [1e-6, 1e5])
def test_scaling_makes_the_run_indifferent_to_the_units_of_the_objective(make, factor):
    problem, _ = make()
    cost = problem.loss.map.direction.array
    other = dataclasses.replace(problem, loss=Linear(factor * cost, problem.domain.shape))
    _, keep = solve_scaled(problem, 40, 0.0)
    _, again = solve_scaled(other, 40, 0.0)
    np.testing.assert_allclose(again.column("objective"), factor * keep.column("objective"), rtol=1e-6)
    np.testing.assert_allclose(again.column("bound"), factor * keep.column("bound"), rtol=1e-6)
    same_trace(keep, again, ["infeasibility"], rtol=1e-6)


def test_automatic_smoothing_of_finite_penalties_is_that_of_theorem_2():
    problem, _ = minimax()
    constants = problem.constants()
    expected = 2 * constants["D_X"] * constants["|A|"] / constants["L_g"]
    assert automatic_beta0(problem, False) == pytest.approx(expected)
    _, keep = solve(problem, 200, method=hcgm(expected))
    # The rate of Theorem 2, of order D |A| L_g / sqrt(k) where L_f = 0.
    _, optimum = minimax()
    k = keep.column("k")[5:]
    rate = 4 * constants["D_X"] * constants["|A|"] * constants["L_g"] / np.sqrt(k)
    assert np.all(keep.column("total")[5:] - optimum <= rate)


# Where it ends, and what it is called.


def test_zero_and_one_iterations():
    problem, optimum = linear_programme()
    outcome, keep = solve(problem, 0)
    assert outcome.status is Status.ITERATION_LIMIT
    assert keep.column("k").tolist() == [0]
    np.testing.assert_array_equal(outcome.state.point.iterate.array, np.full(8, 1 / 8))
    assert keep.records[0].bound <= optimum
    outcome, keep = solve(problem, 1)
    assert keep.column("k").tolist() == [0, 1]
    # eta_1 = 1: the first step lands on a vertex.
    assert np.sort(outcome.state.point.iterate.array).tolist() == [0.0] * 7 + [1.0]


def test_already_optimal_at_the_start():
    point = np.array([0.3, -0.2])
    problem = CompositeProblem(L2Ball((2,), 1.0), LeastSquares(Identity((2,)), point), start=DenseAtom(point))
    outcome, keep = solve(problem, 50, method=cgm(), stop=StopRules(50, gap=1e-9))
    assert outcome.status is Status.CONVERGED
    assert len(keep.records) == 1
    assert outcome.record.gap <= 1e-9


def test_a_constant_objective_is_solved_at_once():
    problem = CompositeProblem(Simplex(5), Linear(np.ones(5), (5,)))
    outcome, _ = solve(problem, 50, method=cgm(), stop=StopRules(50, gap=1e-12))
    assert outcome.status is Status.CONVERGED
    assert outcome.record.k == 0
    assert outcome.record.objective == pytest.approx(1.0)


@pytest.mark.parametrize("certify", ["final", "always"])
@pytest.mark.parametrize("tolerance", [0.0, 1e-2])
def test_converged_means_that_every_tolerance_holds_for_what_is_reported(certify, tolerance):
    problem, optimum = cycle(71)
    rules = StopRules(3000, gap=0.05, infeasibility=0.04)
    outcome, keep = solve_scaled(problem, 0, tolerance, stop=rules, schedule=Schedule(certify=certify))
    assert outcome.status is Status.CONVERGED
    assert outcome.record.gap <= 0.05
    assert outcome.record.infeasibility <= 0.04
    assert outcome.record.certified
    assert outcome.record.bound >= optimum
    assert keep.records[-1] == outcome.record
    # Not a record earlier: before the end some tolerance was not met by a certified bound.
    for record in keep.records[:-1]:
        assert record.gap > 0.05 or record.infeasibility > 0.04 or not record.certified


def test_a_run_whose_certified_bound_has_passed_its_objective_goes_on(monkeypatch):
    """The current dual proves that the gap is small; then the best one is certified, and the gap is too large.

    The best one here is a dual of a long run, planted with an estimate as low as a rough oracle may have made it.
    """
    rng = np.random.default_rng(2)
    points = 1.5 * rng.standard_normal((3, 5))[np.arange(80) % 3] + rng.standard_normal((80, 5))
    problem = {"template": "kmeans-sdp", "clusters": 3, "points": points.tolist(), "restarts": 1}
    rough = {"mode": "fixed", "tolerance": 2e-2}

    def solved(iterations=500, stop=None, certify="final", resume=None):
        solver = {"method": "hcgm", "iterations": iterations, "oracle": rough}
        spec = {"problem": problem, "solver": solver, "stop": stop or {}, "bound": {"certify": certify}, "seed": 0}
        keep, packs = Keep(), {}

        def save(pack, status):
            packs[pack()["state"]["k"]] = copy.deepcopy(pack())

        return build(loads(dump(spec))).solve([keep], on_checkpoint=save, resume=resume), keep.records, packs

    _, records, packs = solved(certify="always")
    best = packs[500]["state"]["bounds"]["certified"]
    size = best["value"] / records[499].bound
    # Where the current dual comes near the objective hangs on the last digits of eigenvectors: one of these will do.
    for gap in (4e-3, 6e-3, 8e-3, 1e-2, 1.2e-2):
        small = {"gap": gap, "infeasibility": 0.12}
        plain, _, packs = solved(stop=small)
        if plain.status is not Status.CONVERGED:
            continue
        # The bound of the long run lies above the objective by more than the tolerance, and the estimate below it.
        assert records[499].bound > plain.record.total * (1 + gap)
        begin = packs[plain.record.k - 1]
        low = {**best, "value": size * plain.record.total * (1 - 2 * gap), "certified": False, "failure": np.nan}
        begin["state"]["bounds"]["estimated"] = low
        run, _, packs = solved(stop=small, resume=copy.deepcopy(begin))
        overtaken = {pack["state"]["attempts"].get("overtaken_at") for pack in packs.values()}
        tried = sorted(k for k in overtaken - {None} if k >= plain.record.k)
        if tried:
            break
    assert tried[0] == plain.record.k
    # And tries again only after a quarter more of steps: a certificate may be dear.
    for former, later in itertools.pairwise(tried):
        assert later >= 1.25 * former + 1
    assert run.status is Status.ITERATION_LIMIT or run.record.gap <= gap
    assert run.record.certified and run.record.bound >= records[499].bound * (1 - 1e-12)
    # But not beyond its budget.
    spent, _, _ = solved(iterations=tried[0], stop=small, resume=copy.deepcopy(begin))
    assert (spent.status, spent.record.k) == (Status.ITERATION_LIMIT, tried[0])
    assert spent.record.certified and spent.record.bound > spent.record.total * (1 + gap)
    assert spent.record.objective == plain.record.objective
    # Without the second certificate the run ends there.
    monkeypatch.setattr(Certifier, "certify_best", lambda self: False)
    ended, _, _ = solved(stop=small, resume=copy.deepcopy(begin))
    assert (ended.status, ended.record.k) == (Status.CONVERGED, tried[0])


def test_stop_rules():
    problem, _ = linear_programme()
    record = solve(problem, 3)[0].record
    small = dataclasses.replace(record, gap=0.01, infeasibility=0.02, k=3, seconds=1.0)
    assert not StopRules(100).converged(small)
    assert StopRules(100, gap=0.01).converged(small)
    assert not StopRules(100, gap=0.009).converged(small)
    assert StopRules(100, infeasibility=0.02).converged(small)
    assert not StopRules(100, gap=0.5, infeasibility=0.01).converged(small)
    assert not StopRules(100, gap=0.001, infeasibility=0.5).converged(small)
    assert not StopRules(100, gap=0.5).converged(dataclasses.replace(small, gap=float("nan")))
    assert StopRules(3).exhausted(small) is Status.ITERATION_LIMIT
    assert StopRules(4, time=1.0).exhausted(small) is Status.TIME_LIMIT
    assert StopRules(4, time=1.5).exhausted(small) is None
    assert StopRules(4).exhausted(small) is None


def test_time_limit():
    problem, optimum = linear_programme()
    outcome, keep = solve(problem, stop=StopRules(10**9, time=0.05), schedule=Schedule(log=10**6))
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.record.seconds >= 0.05
    assert [r.k for r in keep.records] == [0, outcome.record.k]
    assert outcome.bound.value <= optimum


@pytest.mark.parametrize("status", [Status.STOPPED, Status.INTERRUPTED, Status.PREEMPTED])
def test_a_request_to_stop_ends_the_run_under_its_name(status):
    problem, optimum = two_clusters(70)
    asked = []

    def should_stop():
        asked.append(1)
        return status if len(asked) == 8 else None

    outcome, keep = solve_scaled(problem, 100, 1e-3, should_stop=should_stop)
    assert outcome.status is status
    # The oracle asks, too, so that a long call ends early; once said, the request stands.
    assert keep.records[-1].k == outcome.record.k < 8
    # Also an unplanned end reports a certified bound, unless it is to be quick.
    assert outcome.bound.certified == (status is not Status.PREEMPTED)
    assert outcome.bound.value <= optimum


def stopped_at(last):
    """`metrics` and `should_stop` of a run that is told to leave before the oracle of its step `last` has answered."""
    seen = []

    def metrics(iterate):
        seen.append(iterate)
        return {}

    return {"metrics": metrics, "should_stop": lambda: Status.STOPPED if len(seen) >= last else None}


@pytest.mark.parametrize("last", range(2, 12))
def test_an_oracle_that_was_told_to_leave_makes_no_bound(last):
    """After two products a residual may be small, and the eigenvalue far from the smallest."""
    problem, _ = cycle(301)
    schedule = Schedule(metrics=1, certify="never")
    _, whole = solve_scaled(problem, last, 1e-6, schedule=schedule)
    outcome, _ = solve_scaled(problem, 12, 1e-6, schedule=schedule, **stopped_at(last))
    assert outcome.record.k == last
    assert outcome.bound.value == sign(problem) * whole.records[last - 1].bound
    assert np.isnan([outcome.record.lmo_value, outcome.record.lmo_residual, outcome.record.fw_gap]).all()


@pytest.mark.parametrize("ending", [Status.STOPPED, Status.PREEMPTED])
def test_the_state_is_kept_before_the_last_certificate(ending):
    """A process killed in the certificate has lost nothing; one that is told to leave does not even begin it."""
    problem, _ = cycle(301)
    kept, options = [], stopped_at(7)
    options["should_stop"] = lambda asked=options["should_stop"]: asked() and ending

    def keep(state, how):
        best = state.bounds
        kept.append((how, state.k, best.tried, best.certified, copy.deepcopy(state.pack())))

    outcome, _ = solve_scaled(problem, 12, 1e-6, schedule=Schedule(metrics=1), on_checkpoint=keep, **options)
    assert (outcome.status, outcome.record.k) == (ending, 7)
    assert outcome.bound.certified == (ending is Status.STOPPED)
    last = [entry for entry in kept if entry[0] is not None]
    assert len(last) == (ending is Status.STOPPED)
    for how, k, _, certified, pack in last:
        assert (how, k, certified) == (ending, 7, None)
        before = kept[kept.index(last[0]) - 1][-1]
        del pack["seconds"], before["seconds"]
        np.testing.assert_equal(pack, before)


# Constraints that cannot hold.


def sum_is(value, n=6, loss=None):
    return CompositeProblem(
        Simplex(n), loss, (Term("sum", MatrixMap(np.ones((1, n)), (n,)), Equals((1,), np.array([value]))),)
    )


LOSSES = {
    "linear": lambda: Linear(np.arange(6.0), (6,)),
    "none": lambda: None,
    "least-squares": lambda: LeastSquares(Identity((6,)), np.full(6, 3.0)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_impossible_constraints_are_proven(loss):
    outcome, keep = solve(sum_is(3.0, loss=LOSSES[loss]()), 2000)
    assert outcome.status is Status.INFEASIBLE
    assert outcome.record.certified
    assert keep.records[-1] == outcome.record
    assert outcome.status.exit_code == 4


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("beta0", [1e-8, 1e-3, 1.0])
def test_constraints_that_hold_everywhere_are_never_called_impossible(loss, beta0):
    outcome, _ = solve(sum_is(1.0, loss=LOSSES[loss]()), 300, method=hcgm(beta0))
    assert outcome.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("n", [10, 80])
@pytest.mark.parametrize("tolerance", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("certify", ["final", "always"])
def test_impossible_matrices_are_proven_with_any_oracle(n, tolerance, certify):
    # tr X = 1 and diag X = 1.
    problem = CompositeProblem(
        PSDTrace(n, 1.0, True),
        Linear(np.eye(n), (n, n)),
        (Term("diagonal", Diagonal((n, n)), Equals((n,), np.ones(n))),),
    )
    outcome, _ = solve(problem, 200, method=hcgm(1.0, tolerance), schedule=Schedule(certify=certify))
    assert outcome.status is Status.INFEASIBLE
    assert outcome.record.certified


@pytest.mark.parametrize("name", ["linear-programme", "cycle-5", "cycle-71", "two-clusters", "two-clusters-80"])
@pytest.mark.parametrize("beta0", [1e-10, 1e-4, 1.0])
@pytest.mark.parametrize("tolerance", [0.0, 1e-1])
def test_feasible_problems_are_never_called_impossible(name, beta0, tolerance):
    problem, optimum = KNOWN[name]()
    outcome, _ = solve(problem, 25, method=hcgm(beta0, tolerance))
    assert outcome.status is Status.ITERATION_LIMIT
    assert sign(problem) * (optimum - outcome.record.bound) >= -1e-13 * abs(optimum)


def test_a_feasible_set_of_one_point_is_never_called_impossible():
    # The only feasible point is where the objective is largest: the bound may reach, not pass, the largest value.
    target = np.eye(6)[3]
    terms = (Term("all", Identity((6,)), Equals((6,), target)),)
    problem = CompositeProblem(Simplex(6), Linear(np.array([0.0, 0, 0, 1, 0, 0]), (6,)), terms)
    outcome, _ = solve(problem, 2000)
    assert outcome.status is Status.ITERATION_LIMIT
    assert outcome.record.bound <= 1.0
    assert outcome.record.bound == pytest.approx(1.0, abs=1e-2)


# The classical method, and numbers that are none.


def test_the_classical_method_refuses_constraints_by_name():
    problem, _ = linear_programme()
    with pytest.raises(ProblemError, match="balance") as caught:
        solve(problem, 5, method=cgm())
    assert caught.value.path == ("solver", "method")


def test_the_classical_method_takes_penalties_and_its_bounds_hold():
    problem, optimum = minimax()
    _, keep = solve(problem, 200, method=cgm())
    assert np.all(keep.column("bound") <= optimum + 1e-12)
    assert np.all(keep.column("total") >= optimum - 1e-12)
    assert np.all(keep.column("beta") == 0.0)


@pytest.mark.parametrize("method", [cgm(), hcgm()])
def test_smooth_problems_converge_at_the_rate_of_the_classical_method(method):
    problem, optimum = lasso()
    _, keep = solve(problem, 200, method=method)
    constants = problem.constants()
    k = keep.column("k")[1:]
    # Jaggi, 2013, Theorem 1: f - f* <= 2 L D^2 / (k + 1) after k steps of size 2 / (k + 1).
    assert np.all(keep.column("total")[1:] - optimum <= 2 * constants["L_f"] * constants["D_X"] ** 2 / (k + 1))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("make", "place"), [(linear_programme, 0), (two_clusters, 0), (two_clusters, 1), (minimax, 0)])
def test_a_non_finite_image_is_named_with_its_iteration(make, place, value):
    problem, _ = make()
    terms = list(problem.terms)
    map = terms[place].map
    calls = []

    class Spoilt(type(map)):
        """The map of the term, whose fourth image is not finite."""

        def __init__(self):
            self.__dict__.update(map.__dict__)

        def forward_atom(self, atom):
            image = np.array(super().forward_atom(atom), dtype=float)
            calls.append(1)
            if len(calls) == 4:
                image.reshape(-1)[-1] = value
            return image

    terms[place] = dataclasses.replace(terms[place], map=Spoilt())
    problem = dataclasses.replace(problem, terms=tuple(terms))
    # Factored or not, an identity's image is the iterate itself; spoil that through the start.
    if isinstance(map, Identity):
        iterate = DenseIterate(problem.first)
        iterate.array[0, 1] = value
        with pytest.raises(NumericalError, match=r"iteration 0: .*`nonnegative`"):
            solve(problem, 10, iterate=iterate)
        return
    with pytest.raises(NumericalError, match=rf"iteration 3: the term `{terms[place].name}` is not finite"):
        solve(problem, 10)


def test_a_non_finite_objective_is_named():
    problem, _ = lasso()

    class Overflowing(LeastSquares):
        def value(self, z):
            return np.inf

    loss = Overflowing(problem.loss.map, problem.loss.target)
    with pytest.raises(NumericalError, match="iteration 0"):
        solve(dataclasses.replace(problem, loss=loss), 5)


def test_smoothing_that_overflows_is_told_as_such():
    problem, _ = linear_programme()
    with pytest.raises(NumericalError, match=r"iteration 0: .*overflow"), np.errstate(all="ignore"):
        solve(problem, 5, method=hcgm(1e-310))


# The forms of the iterate, refreshing, and repeating.


def random_cut(n=30, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < 0.3, 1)
    adjacency = (upper + upper.T).astype(float)
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    return CompositeProblem(
        PSDTrace(n, float(n), True),
        Linear(sp.csr_array(-0.25 * laplacian), (n, n)),
        (Term("diagonal", Diagonal((n, n)), Equals((n,), np.ones(n))),),
        sense="maximise",
    )


@pytest.mark.parametrize("n", [30, 80])
def test_every_form_of_the_iterate_makes_the_same_run(n):
    problem = random_cut(n)
    # Short, because rounding is amplified wherever eigenvalues come close to each other.
    runs = {}
    for kind, iterate in {
        "dense": DenseIterate(problem.first),
        "factored": FactoredIterate(problem.first, 2 * n, True),
        "samples": SampledIterate(problem.first, 5, np.random.default_rng(1)),
    }.items():
        _, runs[kind] = solve_scaled(problem, 30, 0.0, iterate=iterate, schedule=Schedule(refresh=8))
    same_trace(runs["dense"], runs["factored"], rtol=1e-7, atol=1e-9)
    same_trace(runs["dense"], runs["samples"], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["linear-programme", "cycle-5", "two-clusters", "minimax"])
def test_refreshing_changes_nothing_but_rounding(name):
    problem, _ = KNOWN[name]()
    # Ties between vertices may be broken by rounding, so only as far as the runs agree on their atoms.
    _, never = solve_scaled(problem, 60, 0.0, schedule=Schedule(refresh=10**9))
    _, often = solve_scaled(problem, 60, 0.0, schedule=Schedule(refresh=1))
    same_trace(never, often, ["objective", "total", "infeasibility", "bound"], rtol=1e-8, atol=1e-11)


def test_refreshing_mends_an_image_that_has_drifted():
    problem, _ = linear_programme()
    map = problem.terms[0].map
    calls = []

    class Drifting(MatrixMap):
        """The map of the term, whose fourth image is off."""

        def forward_atom(self, atom):
            calls.append(1)
            return super().forward_atom(atom) + (1.0 if len(calls) == 4 else 0.0)

    term = dataclasses.replace(problem.terms[0], map=Drifting(map.matrix, (8,)))
    problem = dataclasses.replace(problem, terms=(term,))
    for refresh, mended in [(5, True), (10**9, False)]:
        calls.clear()
        state = solve(problem, 7, schedule=Schedule(refresh=refresh))[0].state
        assert np.allclose(state.point.images.terms[0], map.forward(state.point.iterate.array), atol=1e-12) == mended


def test_images_stay_those_of_the_iterate():
    problem, _ = two_clusters()
    outcome, _ = solve_scaled(problem, 2000, schedule=Schedule(refresh=10**9, log=1000, bound=1000))
    state = outcome.state
    x = state.point.iterate.array
    assert state.point.images.terms[1] is x
    np.testing.assert_allclose(state.point.images.terms[0], x.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(state.point.loss_image, problem.loss.map.forward(x), rtol=1e-12)


@pytest.mark.parametrize("name", ["linear-programme", "cycle-71", "two-clusters-80"])
def test_same_spec_same_seed_same_trace_to_the_last_bit(name):
    runs = []
    for seed in (5, 5):
        outcome, keep = solve_scaled(KNOWN[name]()[0], 30, 1e-3, seed=seed)
        runs.append((keep, outcome.state.point.iterate.array.tobytes()))
    (first, x), (second, again) = runs
    for column in [*TRACE, "lmo_residual"]:
        assert first.column(column).tobytes() == second.column(column).tobytes(), column
    assert x == again


def test_the_seed_matters_where_there_is_chance():
    problem, _ = cycle(71)
    first, _ = solve_scaled(problem, 5, 1e-1, seed=1)
    second, _ = solve_scaled(problem, 5, 1e-1, seed=2)
    assert first.record.objective != second.record.objective


def test_a_penalty_and_a_constraint_together():
    # min |x|_1 over |x| <= 3 with x >= 1 entrywise: n, at (1, ..., 1).
    terms = (
        Term("size", Identity((4,)), L1Norm((4,), 1.0)),
        Term("floor", Identity((4,)), BoxSet((4,), np.array(1.0), np.array(np.inf))),
    )
    problem = CompositeProblem(L2Ball((4,), 3.0), None, terms)
    outcome, keep = solve_scaled(problem, 4000)
    assert np.all(keep.column("bound") <= 4.0 + 1e-12)
    assert outcome.record.total == pytest.approx(4.0, abs=0.1)
    assert outcome.record.bound == pytest.approx(4.0, abs=0.1)
    assert outcome.record.penalty == outcome.record.total


def test_a_constant_objective_that_is_not_zero_is_counted_in():
    # f = |0 x - b|^2 / 2 is constant: a bound above zero proves nothing, one above f does.
    loss = LeastSquares(MatrixMap(np.zeros((1, 6)), (6,)), np.array([2.0]))
    possible, keep = solve(sum_is(1.0, loss=loss), 50)
    assert possible.status is Status.ITERATION_LIMIT
    assert np.all(keep.column("bound") <= 2.0)
    impossible, _ = solve(sum_is(3.0, loss=loss), 50)
    assert impossible.status is Status.INFEASIBLE
    assert impossible.record.bound > 2.0


def test_no_certificate_is_spent_on_a_bound_that_could_prove_nothing(monkeypatch):
    """An objective beyond the bound is common, x being infeasible; the largest value shows by an atom that it is not
    out of reach."""
    asked = []
    known = PSDTrace.certified_minimum
    monkeypatch.setattr(PSDTrace, "certified_minimum", lambda *given: asked.append(given) or known(*given))
    spec = {
        "problem": {"template": "max-cut", "graph": {"nodes": 100, "edges": 300}},
        "solver": {"method": "cgal", "iterations": 200},
        "bound": {"certify": "never"},
    }
    outcome = build(loads(dump(spec))).solve()
    assert outcome.status is Status.ITERATION_LIMIT
    assert not asked


# The other ways to stop.


def test_a_target_objective_ends_a_minimisation_and_a_maximisation():
    problem, optimum = linear_programme()
    rules = StopRules(10**4, objective=optimum + 0.1, infeasibility=0.05)
    outcome, keep = solve(scaled(problem), stop=rules, method=hcgm(0.5))
    assert outcome.status is Status.TARGET_REACHED
    assert outcome.record.total <= optimum + 0.1
    assert outcome.record.infeasibility <= 0.05
    assert not any(r.total <= optimum + 0.1 and r.infeasibility <= 0.05 for r in keep.records[:-1])
    assert StopRules(9, objective=3.0).reached(dataclasses.replace(outcome.record, total=3.5), -1.0) is not None
    assert StopRules(9, objective=3.0).reached(dataclasses.replace(outcome.record, total=2.5), -1.0) is None


def test_an_infeasible_point_reaches_no_target():
    problem, optimum = linear_programme()
    outcome, keep = solve(scaled(problem), stop=StopRules(200, objective=optimum + 10, infeasibility=1e-12))
    assert outcome.status is Status.ITERATION_LIMIT
    assert any(r.total <= optimum + 10 for r in keep.records)


def test_a_run_without_progress_is_ended_and_one_with_progress_is_not():
    problem, _ = linear_programme()
    outcome, keep = solve(scaled(problem), stop=StopRules(10**5, stagnation=50), method=hcgm(0.5))
    assert outcome.status is Status.STAGNATED
    figures = [max(r.gap, r.infeasibility) for r in keep.records]
    assert min(figures[-50:]) >= 0.99 * min(figures[:-50])
    assert len(figures) > 51
    steady, _ = solve(lasso()[0], stop=StopRules(40, stagnation=39))
    assert steady.status is Status.ITERATION_LIMIT


def test_a_time_limit_holds_within_a_long_oracle_call():
    """An oracle that goes on to its last product, for seconds: residuals of 1e-15 of the path's Laplacian."""
    n = 10000
    path = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
    problem = CompositeProblem(PSDTrace(n, 1.0, fixed_trace=True), Linear(path, (n, n)))
    outcome, _ = solve(
        problem, stop=StopRules(5, time=0.2), method=hcgm(1.0, 1e-15), schedule=Schedule(certify="never")
    )
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.record.k == 0
    assert outcome.record.seconds < 5.0
    # Broken off in the middle, it does not know how far the smallest eigenvalue is.
    assert outcome.bound is None
