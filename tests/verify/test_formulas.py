"""Every registered kind has a formula, and the formulas are right: against the blocks and against definitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.maps.congruence import Congruence
from cgm_cli.blocks.maps.stack import Stack
from cgm_cli.spec import registry
from cgm_cli.verify import matrices, precision
from cgm_cli.verify.convexity import DIAMETERS
from cgm_cli.verify.losses import LOSSES, view_loss
from cgm_cli.verify.matrices import MATRICES, matrix_of, operator_bound
from cgm_cli.verify.membership import MEMBERSHIP, violation
from cgm_cli.verify.minimum import MINIMA, minimum_over
from cgm_cli.verify.penalties import PENALTIES, conjugate, nearest, penalty_value
from cgm_cli.verify.point import Factors, SavedPoint
from cgm_cli.verify.precision import Unchecked
from cgm_cli.verify.sets import SETS
from tests.blocks.support import build_all, domain, examples, random_direction, random_point

RNG = np.random.default_rng


@pytest.mark.parametrize(
    ("family", "tables"),
    [
        ("domain", {"minimum": MINIMA, "membership": MEMBERSHIP, "convexity": DIAMETERS}),
        ("loss", {"losses": LOSSES}),
        ("penalty", {"penalties": PENALTIES}),
        ("set", {"sets": {**SETS, **PENALTIES}}),
        ("map", {"matrices": MATRICES}),
    ],
)
def test_every_registered_kind_has_an_entry(family, tables):
    """Without one `cgm verify` does not check a run with that kind."""
    for kind in registry.FAMILIES[family]:
        for module, table in tables.items():
            known = registry.lookup(family, kind) in table
            assert known, f"the table in cgm_cli/verify/{module}.py has no formula of `{kind}`"


def test_a_kind_without_an_entry_is_named():
    class Unknown:
        pass

    with pytest.raises(Unchecked, match="Unknown"):
        minimum_over(Unknown(), np.zeros(2))


@pytest.mark.parametrize("example", examples("map"))
def test_matrices(example):
    for linear in build_all("map", example):
        matrix = matrix_of(linear)
        x = RNG(0).standard_normal(linear.in_shape)
        y = RNG(1).standard_normal(linear.out_shape)
        assert matrix @ x.reshape(-1) == pytest.approx(linear.forward(x).reshape(-1), abs=1e-12)
        assert matrix.T @ y.reshape(-1) == pytest.approx(linear.adjoint(y).dense().reshape(-1), abs=1e-12)
        assert operator_bound(matrix) >= np.linalg.norm(matrix.toarray(), 2) * (1 - 1e-12)


@pytest.mark.parametrize("extended", [True, False])
def test_a_congruence_that_is_too_large_to_be_written_out(monkeypatch, extended):
    monkeypatch.setattr(matrices, "WRITTEN_OUT", 10)
    monkeypatch.setattr(precision, "EXTENDED_WORK", 10**6 if extended else 0)
    linear = Congruence(RNG(0).standard_normal((4, 3)), (3, 3))
    matrix, x, y = matrix_of(linear), RNG(1).standard_normal((3, 3)), RNG(2).standard_normal((4, 4))
    assert isinstance(matrix, precision.Congruent)
    image, back = precision.product(matrix, x.reshape(-1)), precision.product(matrix.T, y.reshape(-1))
    assert image.astype(float) == pytest.approx(linear.forward(x).reshape(-1), abs=1e-12)
    assert back.astype(float) == pytest.approx(linear.adjoint(y).dense().reshape(-1), abs=1e-12)
    assert operator_bound(matrix) >= np.linalg.norm(linear.matrix, 2) ** 2
    sparse = Congruence(sp.csr_array(linear.matrix), (3, 3))
    assert sparse.forward(x) == pytest.approx(linear.forward(x), abs=1e-12)
    assert sparse.adjoint(y).dense() == pytest.approx(linear.adjoint(y).dense(), abs=1e-12)
    np.testing.assert_array_equal(matrix_of(sparse).factor, linear.matrix)
    with pytest.raises(Unchecked, match="a congruence of 144 entries is too large"):
        matrix_of(Stack((linear,)))


@pytest.mark.parametrize("example", examples("loss"))
def test_losses(example):
    for loss in build_all("loss", example):
        for scale in (1.0, 50.0):
            z = scale * RNG(0).standard_normal(loss.map.out_shape)
            z = z if loss.is_smooth else np.abs(z)  # where it is finite
            view = view_loss(loss, z)
            assert float(view.value.value) == pytest.approx(loss.value(z), rel=1e-12, abs=1e-13)
            assert view.gradient.astype(float) == pytest.approx(loss.gradient(z), rel=1e-12, abs=1e-13)
            constant = float(view.value.value) - float(np.vdot(view.gradient.astype(float), z))
            assert float(view.constant.value) == pytest.approx(constant, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("example", examples("penalty"))
def test_penalties(example):
    for penalty in build_all("penalty", example):
        z = 2.0 * RNG(0).standard_normal(penalty.shape)
        assert float(penalty_value(penalty, z).value) == pytest.approx(penalty.value(z), rel=1e-12)
        dual = penalty.smoothed(z, 0.3)
        moved, value = conjugate(penalty, dual.y)
        assert moved.astype(float) == pytest.approx(dual.y, rel=1e-12, abs=1e-14)
        assert float(value.value) == pytest.approx(dual.conjugate, abs=1e-12)
        # Fenchel's inequality, of whatever y is moved to: it is not below the largest <y, z> - g(z).
        moved, value = conjugate(penalty, RNG(1).standard_normal(penalty.shape) * 5.0)
        for seed in range(50):
            trial = RNG(seed).standard_normal(penalty.shape) * 10.0 ** RNG(seed).uniform(-2, 3)
            slack = 1e-12 * np.abs(trial).sum()
            assert np.vdot(moved.astype(float), trial) - penalty.value(trial) <= float(value.value) + slack


@pytest.mark.parametrize("example", examples("set"))
@pytest.mark.parametrize("scale", [0.1, 1.0, 1e9])
def test_sets(example, scale):
    for constraint in build_all("set", example):
        z = scale * RNG(0).standard_normal(constraint.shape)
        found = nearest(constraint, z)
        assert found.astype(float) == pytest.approx(constraint.project(z), rel=1e-9, abs=1e-14 * scale + 1e-12)
        dual = constraint.smoothed(z, 0.3)
        moved, value = conjugate(constraint, dual.y)
        assert moved.astype(float) == pytest.approx(dual.y, rel=1e-12, abs=1e-14 * scale)
        assert float(value.value) == pytest.approx(dual.conjugate, rel=1e-7, abs=1e-12 + 1e-9 * scale)
        moved, value = conjugate(constraint, RNG(1).standard_normal(constraint.shape))
        for seed in range(20):
            inside = constraint.project(3.0 * RNG(seed).standard_normal(constraint.shape))
            assert np.vdot(moved.astype(float), inside) <= float(value.value) + 1e-12


def test_the_conjugate_of_a_constraint_in_a_domain_is_its_support_function():
    inner = {"kind": "simplex", "size": 3, "radius": 2.0}
    spec = {"kind": "in-domain", "domain": inner}
    (built, *_) = build_all("set", spec)
    _, value = conjugate(built.moved(np.array(0.5)), np.array([1.0, -1.0, 3.0]))
    assert float(value.value) == pytest.approx(2.0 * 3.0 + 0.5 * 3.0)


@pytest.mark.parametrize("example", examples("domain"))
def test_minima(example):
    built = domain(**example)
    for seed in range(3):
        direction = random_direction(built, RNG(seed))
        value, error = minimum_over(built, direction.dense())
        answer = built.lmo(direction, OracleRequest(tolerance=0.0))
        assert float(value.value) == pytest.approx(answer.value, rel=1e-9, abs=1e-12)
        assert built.certified_minimum(direction) <= float(value.value) + error


@pytest.mark.parametrize("example", examples("domain"))
def test_membership(example):
    built = domain(**example)
    for seed in range(3):
        point = random_point(built, RNG(seed))
        assert violation(built, SavedPoint(built.shape, point, None)) <= 1e-12 * max(1.0, built.radius)
        away = RNG(seed).standard_normal(built.shape)
        beyond = point + 10.0 * built.radius * (away + np.sign(away))
        assert violation(built, SavedPoint(built.shape, beyond, None)) > 1e-3 * built.radius


@pytest.mark.parametrize("gauge", [0.999999, 0.9, 1.000001, 1.1])
def test_membership_of_the_latent_group_ball_is_decided_on_either_side(gauge):
    groups = [[0, 1, 2], [2, 3], [4, 3, 0], [5], [5, 1]]
    built = domain(kind="latent-group-ball", groups=groups, radius=1.5)
    for seed in range(10):
        x = RNG(seed).standard_normal(6)
        x *= gauge * built.radius / built.gauge(x)
        found = violation(built, SavedPoint(built.shape, x, None))
        assert (found <= 1e-9 * built.radius) == (gauge < 1.0)


def test_membership_of_the_face_is_that_of_the_fantope_and_of_row_sums():
    rng = RNG(3)
    built = domain(kind="fantope-face", size=8, rank=3)
    inside = built.lmo(random_direction(built, rng), OracleRequest()).atom
    left, ones = inside.left, np.ones(3)

    def found(columns, weights):
        """The same from factors and from the array."""
        factors = Factors(columns, weights, columns)
        array = (columns * weights) @ columns.T
        one, other = (violation(built, SavedPoint((8, 8), *given)) for given in ((None, factors), (array, None)))
        assert one == pytest.approx(other, abs=1e-12)
        return one

    assert found(left, ones) <= 1e-13
    # A projection of the right rank whose rows do not sum to one: in the fantope alone.
    turned = np.linalg.qr(rng.standard_normal((8, 8)))[0][:, :3]
    sums = (turned @ turned.T).sum(axis=1)
    assert found(turned, ones) == pytest.approx(np.linalg.norm(sums - 1.0) / np.sqrt(8))
    # And row sums of one beside eigenvalues that are none of the fantope's: the known one comes first.
    assert np.abs(left[:, 0]) == pytest.approx(8**-0.5)
    assert found(left, np.array([1.0, 1.3, 0.7])) == pytest.approx(0.3)
    assert found(left, np.array([1.0, 0.9, 0.9])) == pytest.approx(0.2)


def test_membership_of_the_birkhoff_polytope():
    built = domain(kind="birkhoff", size=3)

    def found(x):
        return violation(built, SavedPoint((3, 3), x, None))

    centre = np.full((3, 3), 1.0 / 3.0)
    assert found(centre) <= 1e-15
    cycle = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert found(centre + 0.5 * cycle) == pytest.approx(0.5 - 1.0 / 3.0)
    assert found(centre + 0.1 * np.eye(3)[:, :1]) == pytest.approx(0.3)  # a column that sums to more
    assert found(centre + 0.1 * np.eye(3)[:1]) == pytest.approx(0.3)  # a row


def test_an_assignment_that_is_too_large_is_not_recomputed():
    with pytest.raises(Unchecked, match="n = 501 is too large"):
        minimum_over(domain(kind="birkhoff", size=501), np.zeros((501, 501)))


def test_factors_say_what_the_array_says():
    rng = RNG(0)
    built = domain(kind="psd", size=8, radius=2.0)
    left, weights = rng.standard_normal((8, 3)), np.array([0.5, 0.2, 0.1])
    weights = weights * 2.0 / ((left**2) @ weights).sum()
    for signs in ([1, 1, 1], [1, 1, -1]):
        factors = Factors(left, weights * signs, left)
        array = (left * factors.weights) @ left.T
        found = violation(built, SavedPoint((8, 8), None, factors))
        assert found == pytest.approx(violation(built, SavedPoint((8, 8), array, None)), abs=1e-12)
    matrix = matrix_of(build_all("map", {"kind": "diagonal"})[0])
    assert matrix.shape[1] in (1, 9, 25)


def test_entries_of_factors(monkeypatch):
    """What is too large to be written out is looked at entry by entry."""
    import scipy.sparse as sp

    rng = RNG(0)
    left, weights, right = rng.standard_normal((5, 3)), rng.standard_normal(3), rng.standard_normal((4, 3))
    matrix = sp.random_array((6, 20), density=0.3, rng=rng).tocsr()
    point = SavedPoint((5, 4), None, Factors(left, weights, right))
    whole = point.image(matrix)
    monkeypatch.setattr("cgm_cli.verify.point.WRITTEN_OUT", 19)
    assert point.image(matrix).astype(float) == pytest.approx(whole.astype(float))
    with pytest.raises(Unchecked, match="too large"):
        point.written_out()
