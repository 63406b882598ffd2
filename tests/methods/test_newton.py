"""Newton's method beside accelerated steps, where conditioning leaves gradients far behind."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.norm_balls import L1Ball, L2Ball
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.status import Status
from cgm_cli.solving.direct import solve_problem

YEARS = np.arange(1990, 2021.0)
POWERS = np.vander(YEARS - 1990.0, 5)
TARGET = np.sin((YEARS - 1990.0) / 5.0) + 0.1 * np.random.default_rng(0).standard_normal(31)
HILBERT = 1.0 / (np.arange(10)[:, None] + np.arange(10) + 1.0)
TIGHT = {"gap": 1e-6}


def solved(domain, loss, stop=TIGHT):
    result = solve_problem(CompositeProblem(domain, loss), "auto", stop)
    assert (result.status, result.bound_is) == (Status.CONVERGED, "certified")
    assert result.record.k <= 200
    assert domain.contains(result.solution["x"])
    return result


@pytest.mark.parametrize(("radius", "gap"), [(1.0, 1e-6), (10.0, 1e-5)])
def test_polynomials_of_years_in_a_box(radius, gap):
    """The optimum by scipy's BVLS, in units in which it has its digits. What rounding hides of the bound grows with the
    box: of the larger one 3e-6 of the objective.
    """
    box = Box(np.full(5, -radius), np.full(5, radius))
    result = solved(box, LeastSquares(MatrixMap(POWERS, (5,)), TARGET), {"gap": gap})
    units = np.linalg.norm(POWERS, axis=0)
    twin = lsq_linear(POWERS / units, TARGET, (-radius * units, radius * units), method="bvls", tol=1e-15)
    assert result.record.total == pytest.approx(twin.cost, rel=2e-6)


def ball_twin(matrix, target, radius):
    """min |M x - b|^2 / 2 over |x|_2 <= r, from the singular values, by bisection for the multiplier."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    parts = left.T @ target
    low, high = 0.0, 1e20
    for _ in range(400):
        middle = np.sqrt(low * high) if low > 0.0 else high * 1e-3 if high > 1e-250 else 0.0
        long = np.linalg.norm(values * parts / (values**2 + middle)) > radius if middle > 0.0 else False
        low, high = (middle, high) if long else (low, middle)
    x = right.T @ (values * parts / (values**2 + high))
    return 0.5 * np.sum((matrix @ x - target) ** 2)


@pytest.mark.parametrize(("matrix", "target"), [(HILBERT, TARGET[:10]), (POWERS, TARGET)], ids=["hilbert", "powers"])
@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_a_ball(matrix, target, radius):
    result = solved(L2Ball(matrix.shape[1:], radius), LeastSquares(MatrixMap(matrix, matrix.shape[1:]), target))
    assert result.record.total == pytest.approx(ball_twin(matrix, target, radius), rel=3e-6)


@pytest.mark.parametrize(
    "domain", [L1Ball((10,), 3.0), Simplex(10, 2.0), Simplex(10, 2.0, at_most=True)], ids=["l1", "simplex", "at most"]
)
@pytest.mark.parametrize("form", ["least squares", "quadratic"])
def test_polytopes(domain, form):
    """x is optimal if and only if <grad f(x), x - s> <= 0 at every vertex s: by hand."""
    target = 5.0 * TARGET[:10]
    if form == "least squares":
        loss = LeastSquares(MatrixMap(HILBERT, (10,)), target)
    else:
        loss = Quadratic(HILBERT @ HILBERT, -HILBERT @ target, (10,))
    x = solved(domain, loss).solution["x"]
    gradient = HILBERT @ (HILBERT @ x - target)
    extremes = {L1Ball: [-3.0, 3.0], Simplex: [2.0] + [0.0] * (isinstance(domain, Simplex) and domain.at_most)}
    vertices = [size * unit for size in extremes[type(domain)] for unit in np.eye(10)]
    value = max(0.5 * np.sum((HILBERT @ x - target) ** 2), 1e-3)
    assert max(gradient @ (x - vertex) for vertex in vertices) <= 3e-6 * value * 10.0


def test_features_in_units_of_their_own():
    """Logistic regression, the features from 1e-3 to 1e2: the optimum by L-BFGS-B in equal units."""
    rng = np.random.default_rng(0)
    units = 10.0 ** np.arange(-3.0, 3.0)
    features = rng.standard_normal((80, 6))
    labels = np.sign(features @ rng.standard_normal(6) + rng.standard_normal(80))
    loss = Logistic(MatrixMap(features * units, (6,)), labels)
    result = solved(Box(np.full(6, -10.0), np.full(6, 10.0)), loss)

    def mean_loss(w):
        return np.logaddexp(0.0, -labels * (features @ w)).mean()

    bounds = [(-10.0 * unit, 10.0 * unit) for unit in units]
    twin = minimize(mean_loss, np.zeros(6), method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10})
    assert result.record.total == pytest.approx(twin.fun, rel=2e-6)
