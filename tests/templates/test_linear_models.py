"""The linear models: their objective and metrics written out, and their optimum by another method."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.latent_group_ball import LatentGroupBall
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.errors import CgmError, ProblemError
from cgm_cli.solving.direct import solve_problem
from cgm_cli.templates.elastic_net import enough
from tests.templates import references
from tests.templates.support import solve, spec, template

APART = [[0, 1], [2, 3], [4, 5, 6, 7, 8, 9]]
OVERLAPPING = [[0, 1, 2], [2, 3, 4], [4, 5, 6, 7], [7, 8, 9], [3, 9]]
QUANTITIES = [[index, index + 10, index + 20] for index in range(10)]


def total(problem, x):
    """F(x) through the blocks of the problem."""
    loss, terms = problem.loss, problem.terms
    value = loss.value(loss.map.forward(x)) if loss else 0.0
    return value + sum(term.penalty.value(term.map.forward(x)) for term in terms)


# The objective and the metrics


@pytest.mark.parametrize(
    ("name", "fields", "kind"),
    [
        ("sparse-regression", {"data": "diabetes"}, "least-squares"),
        ("sparse-regression", {"data": "breast-cancer", "loss": "logistic"}, "logistic"),
        ("least-absolute-deviations", {"data": "diabetes"}, "absolute"),
        ("svm", {"data": "breast-cancer"}, "hinge"),
    ],
)
def test_the_objective_is_the_mean_loss(name, fields, kind):
    built = template(name, **fields)
    w = np.random.default_rng(0).standard_normal(built.table.size)
    assert total(built.problem, w) == pytest.approx(references.mean_loss(built.table, kind, w), rel=1e-12)


def test_the_objectives_with_penalties():
    w = np.random.default_rng(0).standard_normal(10)
    net = template("elastic-net", data="diabetes", l1=0.3, ridge=0.7)
    squares = references.mean_loss(net.table, "least-squares", w)
    assert total(net.problem, w) == pytest.approx(squares + 0.3 * np.abs(w).sum() + 0.35 * (w @ w))
    lasso = template("group-lasso", data="diabetes", groups=OVERLAPPING, penalty=0.3)
    norms = sum(np.linalg.norm(w[group]) for group in OVERLAPPING)
    assert total(lasso.problem, w) == pytest.approx(squares + 0.3 * norms)


def test_metrics_of_a_regression():
    built = template("sparse-regression", data="diabetes", test_fraction=0.25)
    w = np.array([0.0, 1.0, 0.0, -2.0, 1e-4, 0.0, 0.0, 0.5, 0.0, 0.0])
    found, table = built.metrics(DenseIterate(DenseAtom(w))), built.table
    assert found["train_error"] == pytest.approx(np.mean((table.features @ w - table.target) ** 2))
    assert found["test_error"] == pytest.approx(np.mean((table.test_features @ w - table.test_target) ** 2))
    assert found["nonzeros"] == 3
    zero = built.metrics(DenseIterate(DenseAtom(np.zeros(10))))
    assert zero["nonzeros"] == 0
    assert zero["train_error"] == pytest.approx(1.0), "in units of the variance"


def test_metrics_of_a_classifier():
    built = template("svm", data={"features": [[1.0], [2.0], [-1.0], [3.0]], "target": [1, 1, 1, 0]}, standardise=False)
    found = built.metrics(DenseIterate(DenseAtom(np.array([0.5]))))
    assert found == {"train_error": 0.5, "nonzeros": 1.0}


def test_metrics_of_absolute_deviations():
    data = {"features": [[1.0], [2.0]], "target": [1.0, 5.0]}
    built = template("least-absolute-deviations", data=data, standardise=False)
    assert built.metrics(DenseIterate(DenseAtom(np.array([1.0]))))["train_error"] == pytest.approx(1.5)


# The optimum: (template, fields, reference, beta0, iterations, relative distance)

CASES = [
    # Smooth: O(1/k)
    ("sparse-regression", {"data": "diabetes"}, references.sparse_regression, "auto", 1000, 2e-5),
    ("sparse-regression", {"data": "diabetes", "domain": "simplex"}, references.sparse_regression, "auto", 1000, 2e-5),
    (
        "sparse-regression",
        {"data": "breast-cancer", "loss": "logistic", "radius": 5.0, "test_fraction": 0.25},
        references.sparse_regression,
        "auto",
        1000,
        5e-5,
    ),
    (
        "group-lasso",
        {"data": "diabetes", "groups": OVERLAPPING},
        lambda built: references.group_lasso(built, OVERLAPPING),
        "auto",
        1000,
        5e-4,
    ),
    (
        "group-lasso",
        {"data": "breast-cancer", "loss": "logistic", "groups": QUANTITIES, "radius": 3.0},
        lambda built: references.group_lasso(built, QUANTITIES),
        "auto",
        1000,
        1e-4,
    ),
    # With a penalty, or not smooth at all: O(1/sqrt k)
    (
        "group-lasso",
        {"data": "diabetes", "groups": APART, "penalty": 0.1, "radius": 1.0},
        lambda built: references.group_lasso(built, APART, 0.1),
        "auto",
        4000,
        1e-3,
    ),
    (
        "group-lasso",
        {"data": "diabetes", "groups": OVERLAPPING, "penalty": 0.05, "radius": 1.0},
        lambda built: references.overlapping_group_penalty(built, OVERLAPPING, 0.05),
        20.0,
        500,
        1e-4,
    ),
    ("elastic-net", {"data": "diabetes"}, lambda b: references.elastic_net(b, 0.1, 0.1), 3.0, 2000, 3e-3),
    (
        "elastic-net",
        {"data": "diabetes", "domain": "linf", "radius": 0.5, "ridge": 0.0},
        lambda built: references.elastic_net(built, 0.1, 0.0),
        3.0,
        2000,
        3e-3,
    ),
    ("least-absolute-deviations", {"data": "diabetes"}, references.robust_fit, 100.0, 500, 1e-4),
    (
        "least-absolute-deviations",
        {"data": "diabetes", "domain": "l2", "radius": 0.5},
        references.robust_fit,
        50.0,
        500,
        1e-4,
    ),
    ("svm", {"data": "breast-cancer"}, references.robust_fit, 500.0, 2000, 1e-3),
    ("svm", {"data": "breast-cancer", "domain": "l1", "radius": 2.0}, references.robust_fit, 500.0, 1000, 1e-3),
]


@pytest.mark.parametrize(
    ("name", "fields", "reference", "beta0", "iterations", "distance"),
    CASES,
    ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)],
)
def test_the_optimum_is_that_of_another_method(name, fields, reference, beta0, iterations, distance):
    """The references are within 1e-6, relatively."""
    expected = reference(template(name, **fields))
    result = solve({"template": name, **fields}, beta0=beta0, iterations=iterations)
    error = 1e-6 * abs(expected)
    assert expected - error <= result.record.total <= expected * (1 + distance)
    assert result.bound_is == "certified"
    assert result.record.bound <= expected + error


def test_soft_thresholding():
    """Orthogonal features: w_i = soft(x_i y / m, l1) / (1 + ridge), in closed form."""
    data = {"features": (2.0 * np.eye(4)).tolist(), "target": [3.0, -1.0, 0.1, -4.0]}
    fields = {"data": data, "standardise": False, "l1": 0.2, "ridge": 0.5, "radius": 2.0}
    slope = np.array([3.0, -1.0, 0.1, -4.0]) * 2.0 / 4.0
    expected = np.sign(slope) * np.maximum(np.abs(slope) - 0.2, 0.0) / (4.0 / 4.0 + 0.5)
    result = solve({"template": "elastic-net", **fields}, beta0=1.0, iterations=5000)
    assert result.solution["x"] == pytest.approx(expected, abs=2e-2)
    value = total(template("elastic-net", **fields).problem, expected)
    assert value - 1e-12 <= result.record.total <= value * (1 + 1e-3)
    assert result.record.bound <= value + 1e-12


# The domains


@pytest.mark.parametrize(("l1", "ridge"), [(0.1, 0.1), (0.01, 0.0), (1.0, 5.0), (1e-3, 1.0)])
def test_the_default_radius_of_the_elastic_net_holds_the_solution(l1, ridge):
    built = template("elastic-net", data="diabetes", l1=l1, ridge=ridge)
    radius = built.problem.domain.radius
    assert l1 * radius + ridge * radius**2 / 2 == pytest.approx(np.mean(built.table.target**2) / 2)
    references.elastic_net(built, l1, ridge)  # asserts that the ball contains it


def test_no_target_needs_no_radius():
    built = template("elastic-net", data={"features": [[1.0], [2.0]], "target": 0.0}, standardise=False)
    assert enough(built.table, 0.1, 0.1) == built.problem.domain.radius == 1.0


def test_group_lasso_picks_its_domain():
    bounded = template("group-lasso", data="diabetes", groups=OVERLAPPING)
    assert isinstance(bounded.problem.domain, LatentGroupBall)
    assert bounded.problem.terms == ()
    assert len(template("group-lasso", data="diabetes", groups=OVERLAPPING, penalty=1.0).problem.terms) == 1


@pytest.mark.parametrize(("data", "loss"), [("diabetes", "least-squares"), ("breast-cancer", "logistic")])
def test_beside_a_penalty_the_radius_that_is_chosen_holds_the_solution(data, loss):
    """penalty |w|_2 <= penalty sum_G |w_G|_2 <= F(0): a ball of half the size would do as well here."""
    groups = OVERLAPPING if data == "diabetes" else QUANTITIES
    built = template("group-lasso", data=data, loss=loss, groups=groups, penalty=0.02)
    at_zero = references.mean_loss(built.table, loss, np.zeros(built.table.size))
    assert built.problem.domain.radius == pytest.approx(at_zero / 0.02)
    result = solve_problem(built.problem, "auto", {"gap": 1e-5})
    assert np.linalg.norm(result.solution["x"]) < 0.5 * built.problem.domain.radius and result.active_bounds == ()


def test_a_radius_that_would_bind_is_not_chosen():
    """min (w - 5)^2 / 2 + |w|: w = 4, where it is 4.5; over |w| <= 1, the radius without a penalty, it is 9."""
    built = template(
        "group-lasso",
        data={"features": [[1.0], [1.0]], "target": [5.0, 5.0]},
        groups=[[0]],
        penalty=1.0,
        standardise=False,
    )
    assert solve_problem(built.problem, "auto", {"gap": 1e-6}).record.total == pytest.approx(4.5, rel=1e-5)


def test_the_latent_group_lasso_uses_few_groups():
    fields = {"data": "diabetes", "groups": [[number, (number + 1) % 10] for number in range(10)], "radius": 0.3}
    x = solve({"template": "group-lasso", **fields}, iterations=500).solution["x"]
    assert np.count_nonzero(np.abs(x) > 1e-3 * np.abs(x).max()) <= 4
    assert template("group-lasso", **fields).problem.domain.contains(x)


def test_groups_of_other_features():
    with pytest.raises(ProblemError, match="the groups are of 4 features, but there are 10") as raised:
        template("group-lasso", data="diabetes", groups=[[0, 1], [2, 3]])
    assert raised.value.path == ("groups",)
    with pytest.raises(CgmError, match="entry 1 is in no group"):
        spec({"template": "group-lasso", "data": "diabetes", "groups": [[0], [2]]})
