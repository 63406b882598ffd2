"""What a problem and its blocks say of arguments from Python that are none."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.norm_balls import L2Ball
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.maps.block import Block
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.penalties.balls import L2BallSet
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.epsilon_insensitive import EpsilonInsensitive
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.hinge import Hinge
from cgm_cli.blocks.penalties.huber import Huber
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.penalties.simplex import SimplexSet
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError
from cgm_cli.solving.direct import solve_problem

LOSS = LeastSquares(Identity((3,)), np.array([1.0, 0.0, 2.0]))
SIMPLEX = Simplex(3)


def term(name="h", penalty=None, **changes):
    return Term(name, Identity((3,)), penalty or L1Norm((3,)), **changes)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sense": "maximize"}, "unknown sense `maximize`: did you mean `maximise`?"),
        ({"sense": None}, "unknown sense `None`: it is one of minimise, maximise"),
        ({"terms": (term(), term("g"), term())}, "two terms are called `h`"),
        ({"terms": (term(penalty=L1Norm((4,))),)}, r"h: its map gives \(3,\), but its penalty takes \(4,\)"),
        ({"terms": (term(weight=0.0),)}, "the weight of `h` is 0: it must be positive"),
        ({"terms": (term(weight=-2.0),)}, "the weight of `h` is -2: it must be positive"),
        ({"terms": (term(weight=np.nan),)}, "the weight of `h` is not a number"),
        ({"terms": (L1Norm((3,)),)}, "entry 0 of the terms is of type L1Norm, and not a Term"),
        ({"terms": (term(penalty=Identity((3,))),)}, "the penalty of `h` is of type Identity, and not a Penalty"),
        ({"terms": None}, "the terms are of type NoneType, and not a tuple of Terms"),
        ({"loss": L1Norm((3,))}, "the loss is of type L1Norm, and not a Loss"),
        ({"loss": LeastSquares(Identity((3,)), np.array([1.0, np.nan, 0.0]))}, "gradient at zero is not a number"),
        ({"domain": "simplex"}, "the domain is of type str, and not a Domain"),
        ({"domain": Simplex(3, -1.0)}, "the radius of the domain is -1: it must be positive"),
        ({"domain": Simplex(3, np.nan)}, "the radius of the domain is not a number"),
        ({"start": np.ones(4)}, "the start is a vector of 4, but the domain is a vector of 3"),
        ({"start": np.ones(3)}, "the start lies outside the domain"),
        ({"start": "middle"}, "the start is no array of numbers"),
    ],
)
def test_an_argument_of_a_problem_that_is_none_is_refused_in_words(changes, told):
    with pytest.raises(ProblemError, match=told) as caught:
        CompositeProblem(**{"domain": SIMPLEX, "loss": LOSS, **changes})
    assert "units" not in caught.value.message


def test_a_start_may_be_an_array_and_terms_a_list():
    start = np.array([0.0, 0.0, 1.0])
    problem = CompositeProblem(SIMPLEX, LOSS, [term()], start=start)
    assert isinstance(problem.first, DenseAtom) and np.array_equal(problem.first.dense(), start)
    assert problem.terms == (problem.terms[0],)
    assert CompositeProblem(SIMPLEX, LOSS, start=[0, 0, 1]).first.dense().tolist() == [0.0, 0.0, 1.0]
    assert solve_problem(problem, "cgal", {"gap": 1e-3}).record.gap <= 1e-3


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda size: Huber((3,), size, 1.0), "the scale of a penalty"),
        (lambda size: Huber((3,), 1.0, size), "the delta of a Huber penalty"),
        (lambda size: EpsilonInsensitive((3,), 1.0, size), "the epsilon of an epsilon-insensitive penalty"),
        (lambda size: L1Norm((3,), size), "the scale of a penalty"),
        (lambda size: Hinge((3,), size, np.ones(3)), "the scale of a penalty"),
        (lambda size: L2BallSet((3,), size), "the radius of a ball"),
        (lambda size: SimplexSet((3,), size), "the radius of a simplex"),
    ],
)
@pytest.mark.parametrize(
    ("size", "wrong"), [(0.0, "is 0: it must be positive"), (-1.5, "is -1.5"), (np.nan, "is not a number")]
)
def test_a_size_that_is_not_positive_is_refused_by_its_block(make, told, size, wrong):
    with pytest.raises(ProblemError, match=f"{told} {wrong}"):
        make(size)


@pytest.mark.parametrize(
    "make",
    [
        lambda given: LeastSquares(Identity((3,)), given).target,
        lambda given: Linear(given, (3,)).map.forward(np.eye(3)[1]),
        lambda given: Quadratic(np.diag([1.0, 2.0, 3.0]).tolist(), given, (3,)).linear,
        lambda given: MatrixMap([given], (3,)).matrix,
        lambda given: Equals((3,), given).target,
        lambda given: BoxSet((3,), given, [4, 4, 4]).lower,
        lambda given: Shifted(L1Norm((3,)), given).offset,
        lambda given: Box(given, [4, 4, 4]).lower,
        lambda given: L2Ball((3,)).project(LeastSquares(Identity((3,)), given).target),
    ],
)
def test_a_block_takes_a_list_for_an_array(make):
    assert np.array_equal(make([1, 2, 3]), make(np.array([1.0, 2.0, 3.0])))


def test_what_is_no_array_of_numbers_is_named():
    assert Sampling([0, 2], (3,)).out_shape == (2,)
    with pytest.raises(ProblemError, match="the target is no array of numbers"):
        LeastSquares(Identity((3,)), ["a", "b", "c"])
    with pytest.raises(ProblemError, match="the indices of a sampling are whole numbers"):
        Sampling(["a"], (3,))
    with pytest.raises(ProblemError, match="a bound is not a number"):
        BoxSet((3,), np.nan, 1.0)


def test_the_norm_of_terms_about_blocks_is_not_that_of_their_sum():
    """|A| of terms stacked with their weights, against that of the matrix: apart, and beside one of all of x."""
    rng = np.random.default_rng(0)
    matrices, weights = rng.standard_normal((3, 2, 3)), [1.0, 2.0, 0.5]
    terms, rows = [], []
    for index, (matrix, weight) in enumerate(zip(matrices, weights, strict=True)):
        block = Block(MatrixMap(matrix, (3,)), index, 3 * index, 9)
        terms.append(Term(f"t{index}", block, L1Norm((2,)), weight))
        rows.append(np.sqrt(weight) * np.array([block.forward(unit) for unit in np.eye(9)]).T)
    domain = L2Ball((9,), 1.0)
    apart = CompositeProblem(domain, terms=tuple(terms)).constants()["|A|"]
    assert apart == pytest.approx(np.linalg.norm(np.vstack(rows), 2), rel=1e-6)
    whole = Term("whole", Identity((9,)), L1Norm((9,)), 3.0)
    found = CompositeProblem(domain, terms=(whole, *terms)).constants()["|A|"]
    assert np.linalg.norm(np.vstack([*rows, np.sqrt(3.0) * np.eye(9)]), 2) <= found * (1.0 + 1e-9)
    assert found**2 == pytest.approx(apart**2 + 3.0, rel=1e-6)
    assert CompositeProblem(domain, terms=(whole,)).constants()["|A|"] == pytest.approx(np.sqrt(3.0))
