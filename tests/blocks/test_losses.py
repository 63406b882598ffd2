"""One harness for every registered loss: finite differences, and constants against the Hessian written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cgm_cli.blocks.describe import describe
from cgm_cli.blocks.losses.log_det import LogDet
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.stack import Stack
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.solving.direct import solve_problem
from tests.blocks.support import InlineContext, build_all, domain, examples, few, spec

seeds = given(seed=st.integers(0, 2**32 - 1))


def sparse_quadratics():
    factor = sp.random_array((6, 4), density=0.6, rng=np.random.default_rng(4), format="csr")
    return [pytest.param([Quadratic(factor.T @ factor, np.arange(4.0), (4,))], id="quadratic-sparse")]


every_loss = pytest.mark.parametrize(
    "losses", [pytest.param(build_all("loss", p.values[0]), id=p.id) for p in examples("loss")] + sparse_quadratics()
)


def drawn(rng, loss, count, image=False):
    """Points, or images, at which the loss is finite."""
    size = (count, *(loss.map.out_shape if image else loss.map.in_shape))
    return rng.standard_normal(size) if loss.is_smooth else rng.uniform(0.5, 1.5, size)


def f(loss, x) -> float:
    return loss.value(loss.map.forward(x))


def full_gradient(loss, x) -> np.ndarray:
    return loss.map.adjoint(loss.gradient(loss.map.forward(x))).dense()


def hessian(loss, x) -> np.ndarray:
    """Column by column from gradients a central difference apart; exact to rounding for a quadratic."""
    step = 1e-4
    columns = []
    for e in np.eye(x.size):
        e = step * e.reshape(x.shape)
        columns.append((full_gradient(loss, x + e) - full_gradient(loss, x - e)).reshape(-1) / (2 * step))
    return np.stack(columns, axis=1)


@every_loss
@few
@seeds
def test_gradient_by_central_differences(losses, seed):
    rng = np.random.default_rng(seed)
    for loss in losses:
        x, d = drawn(rng, loss, 2)
        d /= np.linalg.norm(d)
        step = 1e-5
        slope = (f(loss, x + step * d) - f(loss, x - step * d)) / (2 * step)
        size = max(1.0, abs(f(loss, x)), loss.lipschitz if loss.is_smooth else 1e2)
        assert np.vdot(full_gradient(loss, x), d) == pytest.approx(slope, abs=1e-9 * size)
        z = loss.map.forward(x)
        assert loss.gradient(z).shape == loss.map.out_shape


@every_loss
@few
@seeds
def test_curvature_by_central_differences(losses, seed):
    rng = np.random.default_rng(seed)
    for loss in losses:
        z, dz = drawn(rng, loss, 2, image=True)
        step = 1e-4
        second = np.vdot(loss.gradient(z + step * dz) - loss.gradient(z - step * dz), dz) / (2 * step)
        size = max(1.0, float(np.vdot(dz, dz))) * max(1.0, loss.lipschitz if loss.is_smooth else 1e3)
        assert loss.curvature(z, dz) == pytest.approx(second, abs=1e-8 * size)
        assert loss.curvature(z, dz) >= 0.0


@every_loss
@few
@seeds
def test_convex(losses, seed):
    rng = np.random.default_rng(seed)
    for loss in losses:
        x, y = 2.0 * drawn(rng, loss, 2)
        below = f(loss, x) + np.vdot(full_gradient(loss, x), y - x)
        assert f(loss, y) >= below - 1e-13 * max(1.0, abs(f(loss, x)), abs(f(loss, y)), abs(below))


@every_loss
@few
@seeds
def test_lipschitz_constant_is_never_exceeded(losses, seed):
    rng = np.random.default_rng(seed)
    for loss in losses:
        x, y = 2.0 * drawn(rng, loss, 2)
        if not loss.is_smooth:
            continue  # its constant is infinite
        change = np.linalg.norm(full_gradient(loss, x) - full_gradient(loss, y))
        assert change <= loss.lipschitz * np.linalg.norm(x - y) * (1 + 1e-12) + 1e-13


@every_loss
def test_lipschitz_constant_is_attained_by_the_hessian(losses):
    """For the logistic loss at zero, where its second derivative is largest."""
    for loss in losses:
        if isinstance(loss.map, Stack) or not loss.is_smooth:
            continue
        top = np.linalg.norm(hessian(loss, np.zeros(loss.map.in_shape)), 2)
        assert top == pytest.approx(loss.lipschitz, rel=1e-7, abs=1e-12)


@every_loss
def test_linearity_is_told(losses):
    for loss in losses:
        curvature = np.abs(hessian(loss, np.ones(loss.map.in_shape))).max()
        assert loss.is_linear == (curvature == 0.0)
        assert describe(loss)["lipschitz"] == loss.lipschitz


# ---- values against direct formulas ----


def built(example, shape):
    return spec("loss", example).build(InlineContext(), shape)


def test_values():
    x = np.array([1.0, -2.0, 0.5])
    assert f(built({"kind": "linear", "cost": [1.0, 2.0, 4.0]}, (3,)), x) == -1.0
    assert f(built({"kind": "linear", "cost": 2.0}, (3,)), x) == -1.0
    matrix = [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 4.0]]
    assert f(built({"kind": "quadratic", "matrix": matrix, "linear": [1.0, 0.0, 0.0]}, (3,)), x) == 4.5
    assert f(built({"kind": "quadratic", "matrix": 2.0}, (3,)), x) == 5.25
    assert f(built({"kind": "least-squares", "target": [0.0, 0.0, 0.5]}, (3,)), x) == 2.5
    sampled = {"kind": "least-squares", "map": {"kind": "sampling", "indices": [1]}, "target": 1.0}
    assert f(built(sampled, (3,)), x) == 4.5
    logistic = f(built({"kind": "logistic", "labels": [1, -1, 1]}, (3,)), x)
    assert logistic == pytest.approx((np.log1p(np.exp(-1)) + np.log1p(np.exp(-2)) + np.log1p(np.exp(-0.5))) / 3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("margin", [1e3, 1e8, 1e300])
def test_logistic_at_large_margins(margin):
    loss = Logistic(Identity((2,)), np.array([1.0, -1.0]))
    right, wrong = np.array([margin, -margin]), np.array([-margin, margin])
    assert loss.value(right) == 0.0
    assert loss.value(wrong) == pytest.approx(margin)
    np.testing.assert_array_equal(loss.gradient(right), [0.0, 0.0])
    np.testing.assert_array_equal(loss.gradient(wrong), [-0.5, 0.5])
    assert loss.curvature(right, np.ones(2)) == loss.curvature(wrong, np.ones(2)) == 0.0


def test_logistic_keeps_the_digits_of_small_losses():
    loss = Logistic(Identity((1,)), np.array([1.0]))
    assert loss.value(np.array([40.0])) == pytest.approx(np.exp(-40.0), rel=1e-12)
    assert loss.curvature(np.array([40.0]), np.ones(1)) == pytest.approx(np.exp(-40.0), rel=1e-12)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("example", "shape", "words"),
    [
        ({"kind": "linear", "cost": [1.0, 2.0]}, (3,), "the cost is a vector of 2, but the domain is a vector of 3"),
        ({"kind": "quadratic", "matrix": [[1.0, 0.0]]}, (3,), "the matrix is 1 x 2, but the domain has 3 variables"),
        ({"kind": "quadratic", "matrix": [1.0, 2.0]}, (2,), "the matrix is a vector of 2"),
        ({"kind": "quadratic", "matrix": 1.0, "linear": [1.0]}, (3,), "linear term is a vector of 1"),
        ({"kind": "quadratic", "matrix": -1.0}, (3,), "not convex"),
        (
            {"kind": "quadratic", "matrix": [[1.0, 2.0], [2.0, 1.0]]},
            (2,),
            "not convex: its matrix has the eigenvalue -1",
        ),
        ({"kind": "quadratic", "matrix": [[1.0, 1.0], [0.0, 1.0]]}, (2,), "not symmetric"),
        ({"kind": "least-squares", "target": [1.0]}, (3,), "target is a vector of 1, but the image under the map"),
        ({"kind": "logistic", "labels": [1, 0, 1]}, (3,), r"\+1 or -1"),
        ({"kind": "logistic", "labels": [1, 1]}, (3,), "labels is a vector of 2, but the image they belong to"),
    ],
)
def test_refused(example, shape, words):
    with pytest.raises(ProblemError, match=words):
        built(example, shape)


def test_a_fault_in_the_map_says_where():
    with pytest.raises(ProblemError) as caught:
        built({"kind": "least-squares", "map": {"kind": "row-sums"}, "target": 0.0}, (3,))
    assert caught.value.path == ("map",)


def test_large_sparse_quadratics():
    """Above a thousand variables the smallest eigenvalue is found by Lanczos."""
    n = 1500
    laplacian = sp.diags_array(
        [np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]
    ).tocsr()
    loss = Quadratic(laplacian, np.array(0.0), (n,))
    true = 2 - 2 * np.cos(np.pi * n / (n + 1))
    assert true <= loss.lipschitz <= true * (1 + 1e-5)
    indefinite = laplacian - sp.diags_array(np.where(np.arange(n) == 7, 3.0, 0.0)).tocsr()
    with pytest.raises(ProblemError, match="not convex"):
        Quadratic(indefinite, np.array(0.0), (n,))


@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e12])
def test_a_semidefinite_matrix_passes_at_any_scale(scale):
    v = np.random.default_rng(0).standard_normal((5, 2))
    assert Quadratic(scale * (v @ v.T), np.array(0.0), (5,)).lipschitz >= 0.0


# ---- the log-determinant ----

POINTS = np.random.default_rng(3).standard_normal((12, 3)) * [1.0, 1e3, 1e-2]


def test_log_det_is_that_of_the_sum():
    loss, z = LogDet(Identity((12,)), POINTS), np.random.default_rng(4).random(12)
    whole = (POINTS.T * z) @ POINTS
    assert loss.value(z) == pytest.approx(-np.linalg.slogdet(whole)[1], rel=1e-12)
    expected = -np.einsum("ij,jk,ik->i", POINTS, np.linalg.inv(whole), POINTS)
    assert loss.gradient(z) == pytest.approx(expected, rel=1e-9)
    assert np.vdot(loss.gradient(z), z) == pytest.approx(-3.0)
    inner = POINTS @ np.linalg.inv(whole) @ POINTS.T
    dz = np.random.default_rng(5).standard_normal(12)
    assert loss.hessian(z, dz) == pytest.approx(inner**2 @ dz, rel=1e-8)
    assert loss.curvature(z, dz) == pytest.approx(dz @ inner**2 @ dz, rel=1e-8)
    assert loss.slope(z, dz) == pytest.approx(np.vdot(loss.gradient(z), dz), rel=1e-8)


def test_log_det_is_infinite_where_the_matrix_is_singular():
    loss, z = LogDet(Identity((12,)), POINTS), np.eye(12)[0]
    assert loss.value(z) == loss.slope(z, z) == np.inf


def test_log_det_starts_where_it_is_finite():
    """On a box from zero: at the mean of its corners."""
    loss, box = LogDet(Identity((12,)), POINTS), domain(kind="box", size=12, lower=0.0, upper=1.0)
    assert loss.value(box.start().dense()) == np.inf
    start = loss.start(box)
    assert start is not None and box.contains(start.dense()) and np.isfinite(loss.value(start.dense()))


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([1.0, 2.0, 3.0], "a row for each of the 3 entries"),
        ([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], "column 1 of the vectors is zero"),
        ([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], "span 1 of 2 dimensions"),
    ],
)
def test_log_det_refuses_vectors_that_do_not_span(vectors, words):
    with pytest.raises(ProblemError, match=words):
        built({"kind": "log-det", "vectors": vectors}, (3,))


def test_d_optimal_design_against_the_multiplicative_algorithm():
    """w_i <- w_i <a_i, H^-1 a_i> / p increases the determinant, and leaves nothing but the optimum in place."""
    weights = np.full(12, 1.0 / 12.0)
    for _ in range(20_000):
        inverse = np.linalg.inv((POINTS.T * weights) @ POINTS)
        weights *= np.einsum("ij,jk,ik->i", POINTS, inverse, POINTS) / 3.0
    optimum = -np.linalg.slogdet((POINTS.T * weights) @ POINTS)[1]
    problem = CompositeProblem(domain(kind="simplex", size=12), LogDet(Identity((12,)), POINTS))
    result = solve_problem(problem, {"iterations": 500}, {"gap": 1e-7})
    assert result.bound_is == "certified"
    assert result.record.bound <= optimum <= result.record.objective + 1e-9
    assert result.record.objective == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize(
    "solver",
    [{"correction": "accelerated"}, {"correction": "primal-dual"}, {"oracle": {"mode": "additive", "delta": 1.0}}],
)
def test_what_needs_a_lipschitz_constant_is_refused(solver):
    problem = CompositeProblem(domain(kind="simplex", size=12), LogDet(Identity((12,)), POINTS))
    with pytest.raises(ProblemError, match="has no Lipschitz constant"):
        solve_problem(problem, {"method": "hcgm", **solver})
