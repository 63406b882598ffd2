"""The methods that the paper names beside its own: each within its own theory, on problems whose solution is known, and
refused where that does not hold.
"""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.maximum import MaxCoordinate
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.active_set import ActiveSet
from cgm_cli.methods.corrections.blended import descended
from cgm_cli.methods.corrections.composite_oracle import BoxOracle
from cgm_cli.methods.corrections.mirror_prox import Metric
from cgm_cli.methods.corrections.row_batches import Batches, ConstraintRows
from cgm_cli.methods.corrections.variance_reduced import steps_of
from cgm_cli.methods.evaluation import slope_of
from cgm_cli.methods.scaling import objective_size, scaled
from cgm_cli.methods.status import Status
from cgm_cli.methods.theory import fitted_slope
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.presets import chosen
from cgm_cli.solving.rivals import RIVALS
from cgm_cli.spec import registry
from cgm_cli.spec.model import SolverSpec
from tests.methods.problems import KNOWN, Keep, shrinkage, simplices, solve

SIGNS = np.array([1.0, -1.0, -1.0, 1.0])


def affine():
    """The projection of t onto {x in the simplex: M x = b}, at x0: t = x0 + M^T y, so that t - x0 is normal there."""
    rng = np.random.default_rng(4)
    matrix, x = rng.standard_normal((2, 6)), rng.dirichlet(np.ones(6))
    y = rng.standard_normal(2)
    terms = (Term("balance", MatrixMap(matrix, (6,)), Equals((2,), matrix @ x)),)
    problem = CompositeProblem(Simplex(6), LeastSquares(Identity((6,)), x + matrix.T @ y), terms)
    return problem, 0.5 * float(np.square(matrix.T @ y).sum())


def game(rows=4, columns=6):
    """A matrix game: its value from a linear program."""
    payoff = np.random.default_rng(5).uniform(-1.0, 1.0, (rows, columns))
    cost = np.append(np.zeros(columns), 1.0)
    simplex = np.append(np.ones(columns), 0.0)[None]
    limits = [(0, None)] * columns + [(None, None)]
    exact = linprog(cost, np.hstack([payoff, -np.ones((rows, 1))]), np.zeros(rows), simplex, [1.0], limits)
    terms = (Term("max", MatrixMap(payoff, (columns,)), MaxCoordinate((rows,), 1.0)),)
    return CompositeProblem(Simplex(columns), None, terms), exact.fun


def face(size=12, used=5):
    """The projection of a point onto the simplex, which has `used` entries: the others of the point are below zero."""
    rng = np.random.default_rng(8)
    x = np.append(rng.dirichlet(np.ones(used)), np.zeros(size - used))
    normal = np.append(np.zeros(used), rng.uniform(0.05, 0.1, size - used))
    return CompositeProblem(Simplex(size), LeastSquares(Identity((size,)), x - normal)), 0.5 * float(normal @ normal)


def ran(problem, iterations, **solver):
    kept = Keep()
    found = solve_problem(problem, {**solver, "iterations": iterations}, {"gap": 1e-9}, observers=[kept])
    return found, kept


def worst_from_now_on(values):
    """The largest of this and all later values: a rate is about that, and single steps scatter."""
    return np.maximum.accumulate(np.asarray(values)[::-1])[::-1]


def slope(values):
    return fitted_slope(np.arange(len(values)), np.asarray(values))


def true_to(problem, kept, optimum):
    """No certified bound passes the optimum."""
    bounds = [record.bound for record in kept.records if record.certified]
    assert bounds and max(bounds) <= optimum + 1e-12


@pytest.mark.parametrize("method", ["fw-al", "ial"])
def test_augmented_lagrangians_meet_affine_constraints(method):
    """FW-AL: 1 / sqrt(t). IAL: 1 / sqrt(j) after j problems of O(j^2) steps, which is k^(-1/6)."""
    problem, optimum = affine()
    found, kept = ran(problem, {"fw-al": 400, "ial": 1000}[method], method=method)
    assert found.bound_is == "certified"
    true_to(problem, kept, optimum)
    residual = kept.column("infeasibility")
    assert slope(worst_from_now_on(residual)[1:]) <= {"fw-al": -0.5, "ial": -1 / 6}[method]
    assert residual[-1] < 5e-3 and abs(kept.records[-1].total - optimum) < 1e-2 * abs(optimum)


def test_multipliers_of_the_inexact_lagrangian_move_when_its_gap_is_small():
    """At the j-th move the gap is at most that of the start over j^2, and they stay in between."""
    problem, _ = affine()
    moves, centres = [], []

    def look(state, ending):
        duals = state.duals
        if ending is None:
            moves.append(duals.solved)
            centres.append(np.concatenate(state.point.multipliers).copy())

    solver = {"method": "ial"}
    method = chosen(SolverSpec.model_validate(solver, context={}), problem).method
    _, gaps = solve(problem, 300, method=method, on_checkpoint=look)
    gap = gaps.column("fw_gap")
    for k in range(1, 300):
        moved = moves[k] > moves[k - 1]
        assert moved == bool(np.any(centres[k] != centres[k - 1]))
        assert moved == (gap[k - 1] <= gap[0] / (moves[k - 1] + 1) ** 2)
    assert moves[-1] > 5


@pytest.mark.parametrize("name", ["game", "minimax"])
def test_both_players_step_to_their_best_responses(name):
    """Certified bounds and values close on each other, as 1 / sqrt(t) or faster (Karlin's conjecture)."""
    problem, optimum = game() if name == "game" else KNOWN["minimax"]()
    found, kept = ran(problem, 800, method="saddle-fw")
    assert found.bound_is == "certified"
    true_to(problem, kept, optimum)
    value = np.minimum.accumulate(kept.column("total")) - optimum
    assert slope(value[1:]) <= -0.4 and value[-1] < 0.05
    assert optimum - found.record.bound < 0.05


def test_a_fixed_target_is_met_when_its_theorem_says():
    """F - F* <= eps from k + 1 = 4 (L_f + |A|^2 L_g^2 / eps) D^2 / eps on, whatever the weights are."""
    problem, optimum = game(3, 3)
    share = 0.3
    eps, constants = share * objective_size(problem), problem.constants()
    width = constants["L_f"] + (constants["|A|"] * constants["L_g"]) ** 2 / eps
    steps = int(np.ceil(4.0 * width * constants["D_X"] ** 2 / eps))
    assert 10 < steps < 5000
    _, kept = ran(problem, steps, method="hcgm", smoothing={"kind": "fixed-target", "accuracy": share})
    assert kept.records[-1].total - optimum <= eps
    true_to(problem, kept, optimum)


def test_stochastic_steps_converge_by_batches_of_two_rows():
    """E f - F* falls as k^(-1/3), E dist as k^(-5/12), k counting the steps: 20 of them are a turn of the loop."""
    problem, optimum = affine()
    errors, missed = [], []
    for seed in range(2):
        kept = Keep()
        solver = {"method": "shcgm", "correction": {"kind": "mini-batches", "rows": 2}, "iterations": 40}
        found = solve_problem(problem, solver, {"gap": 1e-9}, observers=[kept], seed=seed)
        assert found.bound_is == "certified"
        true_to(problem, kept, optimum)
        errors.append(np.abs(kept.column("total") - optimum))
        missed.append(kept.column("infeasibility"))
    assert slope(np.mean(errors, axis=0)[1:]) <= -1 / 3
    assert slope(np.mean(missed, axis=0)[1:]) <= -5 / 12
    assert np.mean(errors, axis=0)[-1] < 0.1 * abs(optimum)


def test_batches_of_constraints_converge_as_their_smoothing_vanishes():
    """E |f - f*| and E dist fall as k^(-1/6), 40 steps to a turn; dist <= 2 beta |y*| where F_beta(x) <= F*."""
    problem, optimum = affine()
    errors, missed, beta0 = [], [], 0.2
    correction = {"kind": "constraint-batches", "rows": 2, "constraints": 1, "steps": 40}
    for seed in range(2):
        kept = Keep()
        solver = {"method": "h-1sfw", "scaling": "none", "beta0": beta0, "correction": correction, "iterations": 16}
        found = solve_problem(problem, solver, {"gap": 1e-9}, observers=[kept], seed=seed)
        assert found.bound_is == "certified"
        true_to(problem, kept, optimum)
        errors.append(np.abs(kept.column("total") - optimum))
        missed.append(kept.column("infeasibility") * np.linalg.norm(problem.terms[0].penalty.only_point))
    assert slope(worst_from_now_on(np.mean(errors, axis=0))[1:]) <= -1 / 6
    assert slope(worst_from_now_on(np.mean(missed, axis=0))[1:]) <= -1 / 6
    # The target is t = x0 + M^T y*, with M x0 = b.
    matrix, b = problem.terms[0].map.explicit, problem.terms[0].penalty.only_point
    dual = np.linalg.solve(matrix @ matrix.T, matrix @ problem.loss.squares - b)
    k = 40 * np.arange(1, 17)
    assert np.all(np.mean(missed, axis=0)[1:] <= 2.0 * beta0 / (k + 1) ** (1 / 6) * np.linalg.norm(dual))


def test_every_constraint_counts_alike_among_batches():
    """The mean gradient of all batches is that of the smoothed constraints, weights and all."""
    problem, _ = KNOWN["two-clusters"](4)
    problem, x = scaled(problem), np.random.default_rng(11).standard_normal((4, 4))
    rows, beta = ConstraintRows.of(problem, "constraint-batches"), 0.3
    found = [rows.gradient(x, np.array(pair), beta) for pair in itertools.combinations(range(rows.count), 2)]
    pairs = [(term, term.map.forward(x)) for term in problem.terms]
    whole = [term.map.adjoint(slope_of(term, image, beta, None)).dense() for term, image in pairs]
    np.testing.assert_allclose(np.mean(found, axis=0), sum(whole), rtol=1e-12)


def test_differences_of_batches_leave_what_their_theorem_says():
    """SVRF: E f(w_t) - f* <= L D^2 / 2^(t+1) after the t-th epoch, of 2^(t+3) - 2 steps, and it halves at least."""
    rng = np.random.default_rng(10)
    matrix, x, normal = rng.standard_normal((3000, 4)), np.array([0.4, 0.6, 0.0, 0.0]), np.array([0.0, 0.0, 0.1, 0.1])
    matrix /= np.sqrt(3000)
    noise = rng.standard_normal(3000)
    noise -= matrix @ np.linalg.lstsq(matrix, noise, rcond=None)[0]
    # M^T (M x - b) = normal, which is zero where x is positive.
    target = matrix @ (x - np.linalg.solve(matrix.T @ matrix, normal)) + noise
    loss = LeastSquares(MatrixMap(matrix, (4,)), target)
    problem, optimum = CompositeProblem(Simplex(4), loss), loss.value(matrix @ x)
    correction = {"kind": "variance-reduced", "steps": 10**6}
    _, kept = ran(problem, 5, method="svrf", correction=correction)
    true_to(problem, kept, optimum)
    excess, t = kept.column("total")[1:] - optimum, np.arange(5)
    lipschitz = 3000 * np.square(matrix).sum(axis=1).max()
    assert np.all(excess <= lipschitz * problem.domain.diameter**2 / 2.0 ** (t + 1))
    assert np.polyfit(t, np.log2(worst_from_now_on(excess)), 1)[0] <= -1.0
    assert [steps_of(epoch) for epoch in (1, 2, 3)] == [14, 30, 62]


@pytest.mark.parametrize("name", ["linear-programme", "cycle-5", "minimax"])
def test_universal_steps_lead_to_their_target_accuracy(name):
    """In k^(-1/2) until the accuracy is there: the mean of all atoms, and the dual."""
    problem, optimum = KNOWN[name]()
    share = 0.1
    eps = share * objective_size(problem)
    found, kept = ran(problem, 300, method="upd", correction={"kind": "universal", "accuracy": share})
    assert found.bound_is == "certified"
    sign = problem.sense_sign
    errors = np.maximum(np.abs(kept.column("total") - optimum) / eps, kept.column("infeasibility") / share)
    assert max(sign * record.bound for record in kept.records if record.certified) <= sign * optimum + 1e-9
    assert sign * (optimum - found.record.bound) <= eps
    assert errors[-1] <= 1.0 or slope(worst_from_now_on(errors)[1:]) <= -0.5


@pytest.mark.parametrize("name", ["game", "minimax"])
def test_mirror_prox_keeps_its_bound_and_asks_the_oracle_no_more_than_its_theorem_does(name, monkeypatch):
    """F - F* <= (Theta + 2 sum of eps_s) / t at every t, with eps_s = c Theta / s; and a projection to a gap of eps
    takes at most 27 D^2 / (4 tau eps) calls (Jaggi 2013, Theorem 2), of which there are two a step.
    """
    problem, optimum = game() if name == "game" else KNOWN["minimax"]()
    lmo, calls, share = problem.domain.lmo, [], 0.1
    monkeypatch.setattr(problem.domain, "lmo", lambda *given: calls.append(1) or lmo(*given))
    _, kept = ran(problem, 100, method="mirror-prox", correction={"kind": "mirror-prox", "share": share})
    true_to(problem, kept, optimum)
    metric, t = Metric.of(problem), np.arange(1, 101)
    excess = kept.column("total")[1:] - optimum
    assert np.all(excess <= metric.width * (1.0 + 2.0 * share * np.cumsum(1.0 / t)) / t)
    assert slope(excess) <= -0.8 and optimum - kept.records[-1].bound < 0.01
    most = 27.0 * problem.domain.diameter**2 / (4.0 * metric.tau * share * metric.width) * t + 2.0
    assert 300 < len(calls) <= 101 + 2.0 * most.sum()


@pytest.mark.parametrize(
    "correction",
    ["pairwise", "away-step", {"kind": "blended"}, {"kind": "blended", "by": "gradient"}],
    ids=["pairwise", "away-step", "blended", "blended-gradient"],
)
def test_steps_on_atoms_converge_linearly_where_the_plain_one_zigzags(correction):
    """F - F* <= (1 - mu delta^2 / (4 L D^2))^(t/2) of the start's, proven for away steps: on a simplex of even n the
    pyramidal width is delta = 2 / sqrt(n), D^2 = 2, and mu = L here. The oracle of blended steps is asked least.
    """
    problem, optimum = face()
    found, kept = ran(problem, 60, method="hcgm", correction=correction)
    true_to(problem, kept, optimum)
    excess = kept.column("total") - optimum
    assert np.all(excess <= excess[0] * (1.0 - 1.0 / (2 * 12)) ** (np.arange(len(excess)) / 2) + 1e-15)
    assert found.status is Status.CONVERGED
    assert "blended" not in str(correction) or len(excess) < 20
    _, plain = ran(problem, len(excess), method="hcgm", step="line-search")
    assert plain.records[-1].total - optimum > 1e-3


def test_weights_leave_an_atom_for_the_others():
    rng = np.random.default_rng(9)
    active = ActiveSet(rng.standard_normal((3, 4)), rng.dirichlet(np.ones(4)))
    x, w, away = active.atoms @ active.weights, active.weights[2], active.without(2)
    np.testing.assert_allclose(away.atoms @ away.weights, x + w / (1.0 - w) * (x - active.atoms[:, 2]), rtol=1e-12)
    slopes = rng.standard_normal(4)
    lower = descended(active, slopes - slopes.mean())
    assert lower.weights.min() == 0.0 and lower.weights.sum() == pytest.approx(1.0)
    move = lower.weights - active.weights
    np.testing.assert_allclose(move / np.linalg.norm(move), (c := slopes.mean() - slopes) / np.linalg.norm(c))


def test_a_composite_oracle_keeps_the_rate_of_smooth_problems():
    """F(x_{k+1}) - F* <= 2 L_f D^2 / (k + 1) at every k, and no smoothing in the way of the bound."""
    problem, optimum = shrinkage()
    found, kept = ran(problem, 400, method="gcg")
    true_to(problem, kept, optimum)
    constants, k = problem.constants(), np.arange(1, len(kept.records))
    excess = kept.column("total")[1:] - optimum
    assert np.all(excess <= 2.0 * constants["L_f"] * constants["D_X"] ** 2 / (k + 1))
    assert slope(worst_from_now_on(excess)) <= -0.9 and optimum - found.record.bound < 0.02 * optimum


def test_steps_on_one_block_keep_their_rate_in_expectation():
    """E f(x_k) - f* <= 2 n / (k + 2 n) (C + f(x_0) - f*), with C = sum_i |M_i|^2 D_i^2, k the steps: n of a turn."""
    problem, optimum = simplices()
    matrix, domain = problem.loss.map.explicit, problem.domain
    n = len(domain.blocks)
    columns = np.split(matrix, n, axis=1)
    curvature = sum(
        np.linalg.norm(each, 2) ** 2 * block.diameter**2 for each, block in zip(columns, domain.blocks, strict=True)
    )
    excesses = []
    for seed in range(3):
        kept = Keep()
        solve_problem(problem, {"method": "bcfw", "iterations": 100}, {"gap": 1e-9}, observers=[kept], seed=seed)
        true_to(problem, kept, optimum)
        excesses.append(kept.column("total") - optimum)
    excess, turns = np.mean(excesses, axis=0), np.arange(101)
    assert np.all(excess <= 2.0 / (turns + 2.0) * (curvature + excess[0]))
    assert np.all(np.diff(excesses, axis=1) <= 1e-12)


def test_weights_of_all_blocks_are_corrected_together():
    """Least squares that are strongly convex: linear convergence, far below what plain steps come to."""
    problem, optimum = simplices()
    correction = {"kind": "block-coordinate", "corrective": True}
    found, kept = ran(problem, 60, method="bcfw", correction=correction)
    true_to(problem, kept, optimum)
    assert found.status.value == "converged" and found.record.total == pytest.approx(optimum, rel=1e-8)


def test_auto_steps_on_blocks_where_there_are_many():
    problem, _ = simplices(20, 3)
    choice = chosen(SolverSpec.model_validate({}, context={}), problem)
    assert (choice.name, choice.policies["correction"].policy.name) == ("bcfw", "block-coordinate")
    few = chosen(SolverSpec.model_validate({}, context={}), simplices(3, 3)[0])
    assert few.policies["correction"].policy.name == "accelerated"


@pytest.mark.parametrize("kind", ["l1", "hinge", "quantile", "huber"])
def test_the_composite_oracle_of_a_box_against_a_grid(kind):
    rng = np.random.default_rng(7)
    lower, upper = np.array([-1.0, 0.0, 0.2, -2.0]), np.array([1.0, 2.0, 3.0, -0.5])
    spec = registry.lookup("penalty", kind).Spec(kind=kind)
    penalty = spec.build(BuildContext((Path(),)), (4,))
    oracle = BoxOracle(lower, upper, penalty)
    grid = lower + np.linspace(0.0, 1.0, 201)[:, None] * (upper - lower)
    for v in rng.standard_normal((20, 4)):
        s, y = oracle.answer(v)
        value = float(v @ s) + penalty.value(s)
        # Entries are apart: the best of every one, the others at s.
        for j in range(4):
            others = [np.where(np.arange(4) == j, row, s) for row in grid]
            assert value <= min(float(v @ x) + penalty.value(x) for x in others) + 1e-5
        assert np.minimum((v + y) * lower, (v + y) * upper).sum() >= float((v + y) @ s) - 1e-5


@pytest.mark.parametrize("kind", ["least-squares", "logistic"])
def test_the_mean_gradient_of_all_batches_is_the_gradient(kind):
    rng = np.random.default_rng(6)
    matrix, x = rng.standard_normal((4, 3)), rng.standard_normal(3)
    linear = MatrixMap(matrix, (3,))
    loss = LeastSquares(linear, rng.standard_normal(4)) if kind == "least-squares" else Logistic(linear, SIGNS)
    batches = Batches.of(loss, "mini-batches")
    found = [batches.gradient(x, np.array(pair)) for pair in itertools.combinations(range(4), 2)]
    np.testing.assert_allclose(np.mean(found, axis=0), matrix.T @ loss.gradient(matrix @ x), rtol=1e-12)


@pytest.mark.parametrize(
    ("solver", "problem", "reason", "place"),
    [
        ({"method": "fw-al"}, "two-clusters", "`method: fw-al` is for equations .* none: nonnegative", "method"),
        ({"method": "ial"}, "minimax", "`method: ial` is for equations .* none: max", "method"),
        ({"method": "cgal", "duals": "inexact"}, "minimax", "`duals: inexact` is for equations", "duals"),
        ({"method": "saddle-fw"}, "linear-programme", "`method: saddle-fw` .* not bounded .balance", "method"),
        ({"method": "saddle-fw", "step": "line-search"}, "minimax", "one step: `step: classic`", "method"),
        ({"method": "hcgm", "smoothing": "fixed-target"}, "linear-programme", "are not .balance.: leave", "smoothing"),
        ({"method": "shcgm"}, "linear-programme", "draws rows of an objective .* no such", "correction"),
        ({"method": "h-1sfw"}, "lasso", "draws rows of constraints, and there is none", "correction"),
        ({"method": "h-1sfw"}, "minimax", "equations, inequalities and bounds, and max has none", "correction"),
        ({"method": "svrf"}, "linear-programme", "a smooth objective alone, .* .balance.", "correction"),
        ({"method": "shcgm"}, "minimax", "draws rows of an objective .* no such", "correction"),
        ({"method": "upd"}, "lasso", "linear objective alone", "correction"),
        ({"method": "gcg"}, "lasso", "the domain is no box", "correction"),
        ({"method": "mirror-prox"}, "linear-programme", "the duals of a constraint .* .balance.", "correction"),
        ({"method": "hcgm", "correction": "away-step"}, "two-clusters", "keeps atoms as arrays", "correction"),
        ({"method": "hcgm", "correction": "blended"}, "cycle-5", "keeps atoms as arrays", "correction"),
        ({"method": "mirror-prox"}, "lasso", "is for penalties, .* and there is none", "correction"),
        ({"method": "gcg"}, "minimax", "smooth objective, and there is none", "correction"),
        ({"method": "bcfw"}, "lasso", "block of a product, and the domain is no product", "correction"),
        ({"method": "bcfw"}, "minimax", "smooth objective, and there is none", "correction"),
        ({"method": "bcfw"}, "linear-programme", "this problem has terms: balance", "correction"),
        ({"method": "fw-al", "dual_bound": 1.0}, "linear-programme", "not of `duals: diminishing`", "dual_bound"),
    ],
)
def test_refused_where_the_assumptions_fail(solver, problem, reason, place):
    problem, _ = KNOWN[problem]()
    with pytest.raises(ProblemError, match=reason) as caught:
        chosen(SolverSpec.model_validate(solver, context={}), problem)
    assert caught.value.path[0] == place


def test_what_the_spec_says_goes_before_what_a_rival_would_choose():
    problem, _ = affine()
    given = SolverSpec.model_validate({"method": "fw-al", "step": "capped-line-search"}, context={})
    kinds = {family: choice.policy.name for family, choice in chosen(given, problem).policies.items()}
    assert (kinds["step"], kinds["smoothing"], kinds["duals"]) == ("capped-line-search", "constant", "diminishing")


def test_a_spec_with_every_default_written_out_is_the_same_method():
    """That is what a run goes on from."""
    problem, _ = affine()
    for method in RIVALS:
        short = SolverSpec.model_validate({"method": method}, context={})
        long = SolverSpec.model_validate(short.model_dump(), context={})
        try:
            one, two = ({f: c.policy for f, c in chosen(s, problem).policies.items()} for s in (short, long))
        except ProblemError:
            continue
        assert one == two
