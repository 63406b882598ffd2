"""What a quadratic loses that is convex only but for rounding: its eigenvalue, the diameters, and the bound."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.verify.bound import recompute_bound
from cgm_cli.verify.convexity import diameter, least_curvature, loss_of_convexity
from cgm_cli.verify.report import Verdict
from tests.blocks.support import domain, examples, random_point
from tests.verify.support import composed, row, verified

RNG = np.random.default_rng


@pytest.mark.parametrize("example", examples("domain"))
def test_diameters(example):
    """Of the block's own constant an independent twin, and no pair of points is further apart."""
    built = domain(**example)
    assert diameter(built) == pytest.approx(built.diameter, rel=1e-12)
    points = [random_point(built, RNG(seed)) for seed in range(6)]
    apart = max(float(np.linalg.norm((one - other).reshape(-1))) for one in points for other in points)
    assert apart <= diameter(built) + 1e-12 * built.radius


def nearly_convex(least: float, n: int = 12) -> np.ndarray:
    basis = np.linalg.qr(RNG(0).standard_normal((n, n)))[0]
    matrix = (basis * np.r_[least, np.linspace(0.0, 3.0, n - 1)]) @ basis.T
    return 0.5 * (matrix + matrix.T)


@pytest.mark.parametrize("least", [-1e-3, -1e-9, 0.0])
@pytest.mark.parametrize("large", [False, True])
def test_the_least_curvature(least, large, monkeypatch):
    if large:
        monkeypatch.setattr("cgm_cli.verify.convexity.ORDER", 5)
    found, error = least_curvature(sp.csr_array(nearly_convex(least)) if large else nearly_convex(least))
    assert found - error <= least + 1e-15
    assert found == pytest.approx(least, abs=1e-12) and error < 1e-12


@pytest.mark.parametrize("example", [{"kind": "box", "lower": -40.0, "upper": 60.0, "size": 12},
                                     {"kind": "l2-ball", "size": 12, "radius": 50.0},
                                     {"kind": "l1-ball", "size": 12, "radius": 70.0}])  # fmt: skip
def test_no_value_lies_below_the_bound_of_an_indefinite_quadratic(example, monkeypatch):
    """From any point of the domain; without the loss, some value does: at zero, the gradient promises zero."""
    built, matrix = domain(**example), nearly_convex(-1e-3)
    monkeypatch.setattr("cgm_cli.blocks.losses.quadratic.INDEFINITE", 1.0)
    problem = CompositeProblem(built, Quadratic(matrix, np.array(0.0), (12,)))
    points = [np.zeros(12), *(random_point(built, RNG(seed)) for seed in range(20))]
    # Along the eigenvector of the negative eigenvalue f falls below what a gradient anywhere promises.
    down = np.linalg.eigh(matrix)[1][:, 0]
    inside = [point + t * down for point in points for t in np.linspace(-60.0, 60.0, 241)]
    values = [problem.loss.value(point) for point in inside if built.contains(point, 1e-12)]
    bare = []
    for z in points:
        found = recompute_bound(problem, {}, z)
        assert found.value <= min(values) + found.error
        lost, slack = loss_of_convexity(problem.loss, built, z)
        assert lost == pytest.approx(0.5e-3 * diameter(built) ** 2) and slack < 1e-6
        bare.append(float(found.value) + lost)
    assert bare[0] == 0.0 > min(values)


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_certified_bound_that_forgets_it_fails(forgotten, tmp_path, monkeypatch):
    """diag(1, -9e-11) passes for convex; over a box of +-1e6 its minimum is -45, and a bound of 0 proves nothing."""
    if forgotten:
        monkeypatch.setattr(CompositeProblem, "tangent_excess", 0.0)
    report = verified(
        composed(
            {"kind": "box", "lower": [0.0, -1e6], "upper": [1.0, 1e6]},
            objective={"kind": "quadratic", "matrix": [[1.0, 0.0], [0.0, -9e-11]]},
        ),
        tmp_path / "run",
    )
    found = row(report, "lower bound (certified)")
    assert found.recomputed <= -45.0
    assert found.verdict is (Verdict.FAILS if forgotten else Verdict.HOLDS)
    assert "convex only but for rounding" in found.note


@pytest.mark.parametrize("rank", [1, 3])
def test_a_gram_matrix_loses_nothing_but_rounding(rank, tmp_path):
    factor = RNG(1).standard_normal((6, rank)).round(3)
    quadratic = {"kind": "quadratic", "matrix": (factor @ factor.T).tolist(), "linear": [1.0] * 6}
    report = verified(
        composed({"kind": "box", "lower": -1.0, "upper": 1.0, "size": 6}, objective=quadratic), tmp_path / "run"
    )
    found = row(report, "lower bound (certified)")
    assert found.verdict is Verdict.HOLDS and found.tolerance < 1e-12
