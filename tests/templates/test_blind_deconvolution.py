"""Blind deconvolution against Clarabel, of messages that are known, of a photograph, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from tests.templates.programs import least_nuclear_norm
from tests.templates.support import template

NAME = "blind-deconvolution"


def solved(folder, tolerance=1e-6, **problem):
    tree = {"problem": {"template": NAME, **problem}, "stop": {"gap": tolerance, "infeasibility": tolerance}}
    return solve(tree, out=folder / "run")


@pytest.mark.parametrize("length", [8, 30])
def test_against_clarabel(tmp_path, length):
    """Where too little is received for X to have rank one, too."""
    problem = {"signal": {"length": length, "taps": 3, "message": 4}}
    built, answer = template(NAME, **problem), solved(tmp_path, **problem)
    best = least_nuclear_norm(built)
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.bound <= best * (1.0 + 1e-6)
    assert answer.objective == pytest.approx(best, rel=1e-4)
    if length == 30:
        h, m = built.truth
        assert best == pytest.approx(np.linalg.norm(h) * np.linalg.norm(m), rel=1e-5)
        assert answer.metrics["error"] < 1e-4 and answer.metrics["recovered"] == 1.0


def test_what_was_sent_is_found_but_for_a_factor(tmp_path):
    """By factors: with 70 unknowns x is not written out."""
    problem = {"signal": {"length": 300, "taps": 30, "message": 40}}
    built, answer = template(NAME, **problem), solved(tmp_path, 1e-5, **problem)
    found = np.outer(answer.solution["response"], answer.solution["message"])
    assert np.linalg.norm(found - np.outer(*built.truth)) < 1e-3 * np.linalg.norm(np.outer(*built.truth))
    assert answer.metrics["rank_ratio"] < 1e-4
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def test_signals_and_subspaces_of_ones_own(tmp_path):
    rng = np.random.default_rng(0)
    kernels, codes = np.eye(40, 3), rng.standard_normal((40, 5))
    h, m = np.array([1.0, 0.5, -0.25]), rng.random(5)
    x = codes @ m
    y = sum(weight * np.roll(x, shift) for shift, weight in enumerate(h))
    given = {"signal": y.tolist(), "kernels": kernels.tolist(), "codes": codes.tolist()}
    answer = solved(tmp_path, **given)
    assert np.outer(answer.solution["response"], answer.solution["message"]) == pytest.approx(np.outer(h, m), abs=1e-4)
    assert "error" not in answer.metrics


def test_a_photograph(tmp_path):
    answer = solved(tmp_path, 1e-4, signal={"length": 400, "taps": 4, "message": "camera", "size": 7})
    assert answer.solution["recovered"] == pytest.approx(answer.solution["truth"], abs=1e-2)
    assert answer.solution["truth"].shape == (7, 7)


ONE = {"kernels": [[1], [0]], "codes": [[1], [0]]}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"signal": [1, 2]}, "needs `kernels` and `codes`"),
        ({"signal": [1, 2], "codes": [[1], [2]]}, "needs both"),
        ({"signal": {"length": 4, "taps": 2, "message": 2}, **ONE}, "what is drawn has its own"),
        ({"signal": {"length": 4, "taps": 5, "message": 2}}, "longer than the 4 numbers received"),
        ({"signal": {"length": 4, "taps": 2, "message": 2, "size": 3}}, "to be said of that alone"),
        ({"signal": [1, 2, 3], **ONE}, "the matrix is 2 x 1, but y has 3 entries"),
        ({"signal": [0, 0], **ONE}, "the signal is zero"),
        ({"signal": [1, 2], **ONE}, "no X convolves to the signal"),
    ],
)
def test_what_does_not_fit(fields, message):
    with pytest.raises((CgmError, ValueError), match=message):
        template(NAME, **fields)
