"""Structured support vector machines against scikit-learn's of Crammer and Singer, and against Clarabel, with
dynamic programs as inequalities; what does not fit.
"""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from cgm_cli.templates.max_margin import iris
from cgm_cli.templates.sequences import digit_sequences, grouped
from tests.blocks.support import random_point
from tests.templates.programs import crammer_singer, labelled_sequences
from tests.templates.support import template


def drawn(seed, lengths=(3, 1, 4, 2), classes=3):
    """Points whose first entry tells their label, but for noise, and labels that stay or go up."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.cumsum(rng.integers(0, 2, n)) % classes for n in lengths])
    labels[:classes] = range(classes)
    points = np.column_stack([labels, np.zeros(labels.size)]) + 0.7 * rng.standard_normal((labels.size, 2))
    return {
        "points": points.tolist(),
        "labels": labels.tolist(),
        "sequences": np.repeat(np.arange(len(lengths)), lengths).tolist(),
    }


def test_points_by_themselves_are_the_machine_of_crammer_and_singer(tmp_path):
    problem = {"template": "structured-svm", "points": "iris", "regularisation": 0.02}
    answer = solve({"problem": problem, "stop": {"gap": 1e-6}}, out=tmp_path / "run")
    points, labels = iris()
    best = crammer_singer(np.column_stack([points, np.ones(len(points))]), labels, 0.02)
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.objective == pytest.approx(best, rel=1e-5)
    assert answer.objective <= best * (1 + 1e-8)
    # The bound is the objective at the weights, which scikit-learn has no better ones for.
    assert answer.metrics["loss"] >= best * (1 - 1e-6)
    assert answer.metrics["loss"] == pytest.approx(answer.bound, rel=1e-5)
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


@pytest.mark.parametrize("seed", range(2))
def test_sequences_against_a_cone_program(seed, tmp_path):
    problem = {"template": "structured-svm", **drawn(seed), "regularisation": 0.1}
    built = template(problem["template"], **{k: v for k, v in problem.items() if k != "template"})
    best = labelled_sequences(built)
    solver = {"method": "bcfw", "correction": {"kind": "block-coordinate", "corrective": True}}
    answer = solve({"problem": problem, "solver": solver, "stop": {"gap": 1e-6}}, out=tmp_path / "run")
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.objective == pytest.approx(best, rel=1e-5) and answer.bound >= best * (1 - 1e-7)
    assert answer.metrics["loss"] == pytest.approx(best, rel=1e-4)
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def test_the_bound_of_any_marginals_is_the_objective_of_their_weights():
    """P(w(mu)) - D(mu) is the gap of the linearised dual, whatever mu is."""
    built = template("structured-svm", **drawn(3), regularisation=0.3)
    problem, rng = built.problem, np.random.default_rng(0)
    domain, loss = problem.domain, problem.loss
    for _ in range(3):
        x = random_point(domain, rng)
        direction = loss.map.adjoint(loss.gradient(loss.map.forward(x)))
        gap = direction.dense() @ x - domain.lmo(direction, OracleRequest()).value
        weights, transitions = built._weights(x)
        assert built.objective(weights, transitions) == pytest.approx(gap - loss.value(loss.map.forward(x)))


def test_rows_of_a_sequence_may_lie_apart_and_whole_sequences_are_held_out():
    found = grouped(np.arange(5.0)[:, None], np.arange(5), np.array([7, 2, 7, 2, 2]))
    assert found.points[:, 0].tolist() == found.labels.tolist() == [1, 3, 4, 0, 2]
    assert found.lengths.tolist() == [3, 2]
    held, given = template("structured-svm", **drawn(1), test_fraction=0.5), drawn(1)
    assert held.train.count == held.test.count == 2
    assert held.train.labels.size + held.test.labels.size == len(given["labels"])


def test_neighbours_help_to_read_digits():
    """Of digits that mostly count up, fewer are read wrong than of the same digits by themselves."""
    drawn_ = digit_sequences(np.random.default_rng(0)).at(np.arange(40))
    noise = 0.6 * np.random.default_rng(1).standard_normal(drawn_.points.shape)
    fields = {"points": (drawn_.points + noise).tolist(), "labels": drawn_.labels.tolist(), "regularisation": 3.0}
    errors = []
    for groups in (np.repeat(np.arange(drawn_.count), drawn_.lengths), np.arange(drawn_.labels.size)):
        problem = {"template": "structured-svm", **fields, "sequences": groups.tolist(), "test_fraction": 0.5}
        result = build(loads(dump({"problem": problem, "stop": {"gap": 1e-1}}))).solve()
        errors.append(result.metrics["test_error"])
    assert errors[0] < errors[1]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"points": "iris"}, "points need `labels`, and iris, digits, digit-sequences come with their own"),
        ({"labels": None}, "points need `labels`"),
        ({"points": "digits", "labels": None, "sequences": [1]}, "`sequences` are of points of your own"),
        ({"points": [1.0, 2.0]}, "one point per row, not"),
        ({"labels": [0, 1]}, "2 labels of 3 points: each needs one"),
        ({"labels": [1, 1, 1]}, "one label only"),
        ({"sequences": [0, 0]}, "2 numbers for 3 points: each needs one"),
        ({"test_fraction": 0.9}, "no sequence is left to train on"),
    ],
)
def test_what_does_not_fit(fields, message):
    given = {"points": [[0.0], [1.0], [2.0]], "labels": [0, 1, 0], **fields}
    with pytest.raises((CgmError, ValueError), match=message):
        template("structured-svm", **given)
