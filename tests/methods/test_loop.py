"""The loop on problems whose optimum is known: it converges, and everything it says on the way is true."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.norm_balls import L2Ball
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.simplex import Simplex
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
from cgm_cli.methods.duals.ascent import DualAscent
from cgm_cli.methods.scaling import automatic_beta0, objective_size, scaled
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from tests.methods.problems import (
    KNOWN,
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
    points = [term.penalty.only_point for term in problem.terms if term.penalty.only_point is not None]
    sizes = [float(np.linalg.norm(point)) for point in points]
    assert record.infeasibility * min([1.0, *sizes]) < 0.05  # at least |A x - b|, where b is small
    assert abs(record.total - optimum) < 0.05 * size
    assert sign(problem) * (optimum - record.bound) + 1e-13 * abs(optimum) >= 0.0
    assert abs(record.bound - optimum) < 0.01 * size
    assert record.certified
    # In four times as many iterations errors of the order of 1 / sqrt(k) halve.
    errors = np.maximum(np.abs(keep.column("total") - optimum) / size, keep.column("infeasibility"))
    assert errors[-1] < 0.7 * errors[len(errors) // 4] + 1e-12


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("tolerance", [0.0, 1e-3, 1e-1])
def test_no_certified_bound_ever_passes_the_optimum(name, tolerance):
    problem, optimum = KNOWN[name]()
    outcome, keep = solve_scaled(problem, 40, tolerance, schedule=Schedule(certify="always"))
    assert keep.column("certified").all()
    slack = 1e-13 * max(1.0, abs(optimum))  # of the optimum's own rounding
    bounds = sign(problem) * keep.column("bound")
    assert len(bounds) == 41
    assert np.all(bounds <= sign(problem) * optimum + slack)
    assert np.all(np.diff(bounds) >= 0)
    assert outcome.bound.certified
    assert outcome.bound.value == bounds[-1]


# What the columns say.


@pytest.mark.parametrize("name", ["minimax", "linear-programme", "lasso", "cycle-5", "two-clusters"])
def test_gap_infeasibility_and_totals_are_what_they_are_called(name):
    problem, _ = KNOWN[name]()
    outcome, keep = solve(problem, 30)
    s = sign(problem)
    for record in keep.records:
        assert record.total == record.objective + record.penalty
        expected = abs(record.total - record.bound) / max(problem.unit, abs(record.total), abs(record.bound))
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
            length = problem.domain.radius if problem.domain.spectral else np.linalg.norm(x)
            unit = term.map.norm * length / np.sqrt(image.size)
            expected = np.linalg.norm(image - nearest) / (np.linalg.norm(nearest) or unit)
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
    outcome, keep = solve(problem, 50, method=cgm(), stop=StopRules(50, gap=1e-6))
    assert outcome.status is Status.CONVERGED
    assert len(keep.records) == 1
    assert abs(outcome.record.total - outcome.record.bound) <= 1e-14


def test_a_constant_objective_is_solved_at_once():
    problem = CompositeProblem(Simplex(5), Linear(np.ones(5), (5,)))
    outcome, _ = solve(problem, 50, method=cgm(), stop=StopRules(50, gap=1e-12))
    assert outcome.status is Status.CONVERGED
    assert outcome.record.k == 0
    assert outcome.record.objective == pytest.approx(1.0)


# The classical method, and numbers that are none.


def test_the_classical_method_refuses_constraints_by_name():
    problem, _ = linear_programme()
    with pytest.raises(ProblemError, match="balance"):
        solve(problem, 5, method=cgm())


def test_multipliers_without_any_smoothing_are_refused_with_and_without_terms():
    problem, _ = minimax()
    free = CompositeProblem(problem.domain, Linear(np.ones(problem.domain.shape), problem.domain.shape))
    for each in (problem, free):
        with pytest.raises(ProblemError, match="its multipliers need"):
            solve(each, 5, method=dataclasses.replace(cgm(), duals=DualAscent.of(each, 1.0)))


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
