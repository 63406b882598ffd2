"""Whatever blocks are put together, no certified bound exceeds the objective of a feasible point, and no run calls the
problem infeasible.

Every registered domain meets random losses, maps, sets that hold a random point of the domain, and penalties.
"""

import numpy as np
import pytest

from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.row_sums import RowSums
from cgm_cli.blocks.penalties.balls import L1BallSet, L2BallSet
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.epsilon_insensitive import EpsilonInsensitive
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.hinge import Hinge
from cgm_cli.blocks.penalties.huber import Huber
from cgm_cli.blocks.penalties.maximum import MaxCoordinate
from cgm_cli.blocks.penalties.norms import L1Norm, L2Norm, LinfNorm
from cgm_cli.blocks.penalties.quantile import Quantile
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.dual_point import dual_of_minima
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.status import Status
from tests.blocks.support import domain as build_domain
from tests.blocks.support import examples, random_point
from tests.methods.problems import cgal, cgm, hcgm, solve


def random_map(shape, rng):
    maps = [Identity(shape), MatrixMap(rng.standard_normal((3, int(np.prod(shape)))), shape)]
    if len(shape) == 2:
        maps.append(RowSums(shape))
        if shape[0] == shape[1]:
            maps.append(Diagonal(shape))
    return maps[rng.integers(len(maps))]


def random_loss(shape, rng):
    linear = random_map(shape, rng)
    target = rng.standard_normal(linear.out_shape)
    return [
        Linear(rng.standard_normal(shape), shape),
        LeastSquares(linear, target),
        Logistic(linear, np.where(target > 0, 1.0, -1.0)),
        Quadratic(np.array(1.5), rng.standard_normal(shape), shape),
    ][rng.integers(4)]


def random_set(point, rng):
    """A set that holds `point`."""
    shape, size = point.shape, float(np.linalg.norm(point))
    return [
        Equals(shape, point),
        BoxSet(shape, point - rng.random(shape), point + rng.random(shape)),
        BoxSet(shape, np.array(point.min()), np.array(np.inf)),
        BoxSet(shape, np.array(point.min() - 0.1), np.array(point.max())),
        L2BallSet(shape, size * 1.01 + 1e-3),
        L1BallSet(shape, float(np.abs(point).sum()) * 1.01 + 1e-3),
        Shifted(L2BallSet(shape, 0.1), point + 0.1 / (1 + point.size)),
    ][rng.integers(7)]


def random_penalty(shape, rng):
    inner = [
        L1Norm(shape, 0.7),
        L2Norm(shape, 1.3),
        LinfNorm(shape, 0.4),
        MaxCoordinate(shape, 2.0),
        Hinge(shape, 0.5, np.where(rng.standard_normal(shape) > 0, 1.0, -1.0)),
        Huber(shape, 0.8, 0.3),
        Quantile(shape, 0.6, 0.2),
        EpsilonInsensitive(shape, 0.7, 0.4),
    ][rng.integers(8)]
    return Shifted(inner, rng.standard_normal(shape)) if rng.random() < 0.3 else inner


def random_problem(domain, rng, sets, penalties):
    """A problem, and the objective of a point that is feasible for it."""
    shape = domain.shape
    point = random_point(domain, rng)
    loss = random_loss(shape, rng) if rng.random() < 0.85 or sets + penalties == 0 else None
    terms, total = [], 0.0 if loss is None else loss.value(loss.map.forward(point))
    for number in range(sets + penalties):
        linear = random_map(shape, rng)
        image = linear.forward(point)
        penalty = random_set(image, rng) if number < sets else random_penalty(linear.out_shape, rng)
        total += 0.0 if penalty.is_set else penalty.value(image)
        terms.append(Term(f"term-{number}", linear, penalty, float(10.0 ** rng.uniform(-2, 2))))
    rng.shuffle(terms)
    return CompositeProblem(domain, loss, tuple(terms)), float(total)


DOMAINS = examples("domain")


def test_rounding_is_relative_to_the_constants_inside_a_term():
    # The start is zero, so that nothing but the offset says how large the rounding errors are.
    domain = build_domain(kind="simplex", size=1, radius=3.0, sum="at-most")
    for seed in range(200):
        rng = np.random.default_rng(seed)
        linear = MatrixMap(rng.standard_normal((3, 1)), (1,))
        penalty = Shifted(L2Norm((3,), 1.3), rng.standard_normal(3))
        problem = CompositeProblem(domain, None, (Term("distance", linear, penalty, 10.0),))
        _, keep = solve(problem, 5)
        assert np.all(keep.column("bound") <= keep.column("total")), seed


@pytest.mark.parametrize("example", DOMAINS)
@pytest.mark.parametrize("terms", [(0, 0), (1, 0), (0, 1), (2, 0), (2, 1), (0, 2)], ids=str)
def test_no_bound_passes_a_feasible_objective(example, terms):
    domain = build_domain(**example)
    large = int(np.prod(domain.shape)) > 1000
    for seed in range(2 if large else 3):
        rng = np.random.default_rng([seed, *terms])
        problem, objective = random_problem(domain, rng, *terms)
        plain = not problem.has_constraints and rng.random() < 0.5
        tolerance = [0.0, 1e-6, 1e-2, 1e-1][rng.integers(4)]
        beta0 = float(10.0 ** rng.uniform(-5, 2))
        smoothing = hcgm(beta0, tolerance) if seed % 2 else cgal(beta0, problem, tolerance)
        method = cgm(tolerance) if plain else smoothing
        outcome, keep = solve(
            problem,
            6,
            method=method,
            iterate=DenseIterate(problem.first),
            schedule=Schedule(certify="always", refresh=4),
        )
        assert outcome.status is Status.ITERATION_LIMIT
        assert keep.column("certified").all()
        slack = 1e-11 * max(1.0, abs(objective))
        assert np.all(keep.column("bound") <= objective + slack)
        if not problem.has_constraints:
            assert np.all(keep.column("bound") <= keep.column("total"))


@pytest.mark.parametrize(
    "penalty",
    [
        Hinge((4,), 2.0, np.ones(4)),
        L1Norm((4,)),
        L2Norm((4,)),
        LinfNorm((4,)),
        Huber((4,), 1.0, 0.5),
        EpsilonInsensitive((4,), 1.0, 0.5),
        BoxSet((4,), 1.0, 2.0),
        L1BallSet((4,), 2.0),
        Equals((4,), np.ones(4)),
    ],
)
@pytest.mark.parametrize("offset", [0.0, 0.7])
def test_the_minimum_that_a_penalty_tells_of_is_minus_its_conjugate_at_zero(penalty, offset):
    shifted = Shifted(penalty, np.full(4, offset)) if offset else penalty
    at = np.full(4, offset)
    at = shifted.prox(at, 1.0) if penalty.is_set else at + isinstance(penalty, Hinge)
    assert shifted.minimum == pytest.approx(shifted.value(at), abs=1e-12)
    dual = shifted.smoothed(at, 1.0)
    assert not dual.slope.any()
    assert -dual.conjugate == shifted.minimum


def test_what_can_be_fitted_exactly_has_a_bound_of_zero():
    """However wide the domain is, beside which y = 0 is the only dual point of any use."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((5, 12))
    x = rng.standard_normal(12)
    problem = CompositeProblem(
        build_domain(kind="l1-ball", size=12, radius=1e3 * float(np.abs(x).sum())),
        LeastSquares(MatrixMap(rows, (12,)), rows @ x),
        (Term("small", MatrixMap(rows[:2], (12,)), Shifted(L1Norm((2,)), rows[:2] @ x)),),
    )
    outcome, keep = solve(problem, 5)
    assert keep.column("bound")[0] == 0.0
    assert outcome.bound.value == 0.0
    assert outcome.bound.certified


def test_a_minimum_that_nobody_knows_makes_no_bound():
    assert dual_of_minima(CompositeProblem(build_domain(kind="simplex", size=3), Linear(np.ones(3), (3,)))) is None
    largest = Term("max", Identity((3,)), MaxCoordinate((3,)))
    assert dual_of_minima(CompositeProblem(build_domain(kind="simplex", size=3), terms=(largest,))) is None
