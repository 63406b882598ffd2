"""Semidefinite programs: known optima, another method, files, and what is refused."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from cgm_cli.blocks.iterates import is_factored, written_out
from cgm_cli.errors import CgmError, DataError, ProblemError
from cgm_cli.methods.status import Status
from cgm_cli.solving.remarks import redundant, told_redundant
from cgm_cli.spec.load import dump, load, loads
from cgm_cli.templates.build import build
from cgm_cli.templates.lovasz_theta import cycle, petersen
from tests.templates.programs import semidefinite_optimum, theta_program
from tests.templates.support import solve, spec, template

CONFIGS = Path(__file__).parents[2] / "configs"


def unit(n, i, j):
    """The symmetric matrix E with <E, X> = X_ij + X_ji (X_ii on the diagonal)."""
    out = np.zeros((n, n))
    out[i, j] = out[j, i] = 1.0
    return out


def as_spec(cost, matrices, right, **fields):
    constraints = [{"matrix": m.tolist(), "equals": float(b)} for m, b in zip(matrices, right, strict=True)]
    return {"template": "standard-sdp", "cost": cost.tolist(), "constraints": constraints, **fields}


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(
    ("adjacency", "theta"), [(cycle(5), np.sqrt(5.0)), (petersen(), 4.0), (cycle(6), 3.0)], ids=["c5", "petersen", "c6"]
)
def test_theta_as_a_standard_program(adjacency, theta, nonnegative):
    cost, matrices, right = theta_program(adjacency)
    assert -semidefinite_optimum(-cost, matrices, right, nonnegative) == pytest.approx(theta, abs=1e-5)
    problem = as_spec(cost, matrices, right, sense="maximise", nonnegative=nonnegative)
    result = solve(problem, iterations=500, scaling="auto")
    assert (result.sense, result.bound_is) == ("maximise", "certified")
    assert result.record.bound >= theta - 1e-9
    assert result.record.bound - theta < 0.15
    x = written_out(result.solution) if is_factored(result.solution) else result.solution["x"]
    missed = [np.vdot(matrix, x) - b for matrix, b in zip(matrices[1:], right[1:], strict=True)]
    assert np.linalg.norm(missed) < 0.06
    assert abs(result.record.total - theta) < 0.5


@pytest.mark.parametrize(
    ("edges", "value"), [([(0, 1), (1, 2), (0, 2)], 2.25), ([(0, 1), (1, 2), (2, 3), (3, 0)], 4.0)]
)
def test_maximum_cut_of_small_cycles(edges, value):
    """1/4 <L, X>, diag X = 1: 9/4 for the triangle, 4 for the square (a cut)."""
    n = 1 + max(map(max, edges))
    laplacian = sum(unit(n, i, i) + unit(n, j, j) - unit(n, i, j) for i, j in edges)
    matrices, right = [unit(n, i, i) for i in range(n)], np.ones(n)
    assert -semidefinite_optimum(-0.25 * laplacian, matrices, right) == pytest.approx(value, abs=1e-5)
    problem = as_spec(0.25 * laplacian, matrices, right, sense="maximise", radius=float(n), trace="equal")
    result = solve(problem, iterations=250, scaling="auto")
    assert result.record.bound >= value - 1e-9
    assert result.record.bound - value < 0.02
    assert result.record.infeasibility < 0.06
    assert abs(result.record.total - value) < 0.1


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_random_program_against_another_method(nonnegative):
    rng = np.random.default_rng(4)
    factor = rng.standard_normal((6, 3))
    feasible = np.abs(factor) @ np.abs(factor).T
    cost = rng.standard_normal((6, 6))
    cost = cost + cost.T
    matrices = [m + m.T for m in rng.standard_normal((4, 6, 6))]
    matrices.append(np.eye(6))
    right = np.array([np.vdot(m, feasible) for m in matrices])
    best = semidefinite_optimum(cost, matrices, right, nonnegative)
    result = solve(as_spec(cost, matrices, right, nonnegative=nonnegative), iterations=3000, scaling="auto")
    assert result.bound_is == "certified"
    size = max(1.0, abs(best))
    assert result.record.bound <= best + 1e-5 * size
    assert best - result.record.bound < 0.05 * size
    assert abs(result.record.total - best) < 0.1 * size
    assert result.record.infeasibility < 0.06


def test_an_inequality_and_a_bounded_trace():
    """min -2 X_11 - X_22, X_11 <= 1/2, tr X <= 1: X = I / 2, value -3/2."""
    problem = {
        "template": "standard-sdp",
        "cost": [[-2, 0], [0, -1]],
        "constraints": [{"matrix": [[1, 0], [0, 0]], "upper": 0.5}],
        "radius": 1.0,
    }
    result = solve(problem, iterations=500, scaling="auto")
    assert result.record.bound <= -1.5 + 1e-12
    assert result.record.bound == pytest.approx(-1.5, abs=0.01)
    assert result.record.total == pytest.approx(-1.5, abs=0.03)
    assert result.record.infeasibilities.keys() == {"inequalities"}


def test_a_multiple_of_the_identity_becomes_the_domain():
    problem = as_spec(np.eye(2), [2.0 * np.eye(2), unit(2, 0, 1)], [6.0, 1.0])
    built = template(problem.pop("template"), **problem)
    assert built.problem.domain.radius == 3.0
    assert built.problem.domain.fixed_trace
    assert [term.name for term in built.problem.terms] == ["equalities"]
    assert built.problem.terms[0].map.out_shape == (1,)


def test_the_program_file_of_the_configs_is_theta_of_the_petersen_graph():
    instance = build(load(CONFIGS / "petersen-sdp.yaml"))
    cost, matrices, _ = theta_program(petersen())
    np.testing.assert_array_equal(instance.template.cost.toarray(), cost)
    assert instance.template.affine.rows.shape[0] == len(matrices) - 1
    result = instance.solve()
    assert result.record.bound >= 4.0 - 1e-9
    assert result.record.bound == pytest.approx(4.0, abs=0.1)
    assert result.sense == "maximise"


def test_slack_of_a_file_is_an_inequality(tmp_path):
    """max X_11 + 2 X_22 with X_22 + slack = 1/2 and tr X = 1."""
    text = "2\n2\n2 -1\n1 0.5\n0 1 1 1 1\n0 1 2 2 2\n1 1 1 1 1\n1 1 2 2 1\n2 1 2 2 1\n2 2 1 1 1\n"
    (tmp_path / "p.dat-s").write_text(text)
    built = template("standard-sdp", tmp_path, program={"file": "p.dat-s"})
    assert [term.name for term in built.problem.terms] == ["inequalities"]
    assert built.problem.terms[0].penalty.upper.tolist() == [0.5]
    assert built.problem.terms[0].penalty.lower.tolist() == [-np.inf]
    (tmp_path / "bad.dat-s").write_text("1\n1\n2\n")
    with pytest.raises(DataError, match="truncated") as caught:
        template("standard-sdp", tmp_path, program={"file": "bad.dat-s"})
    assert caught.value.path == ("program", "file")


@pytest.mark.parametrize(
    ("fields", "words", "path"),
    [
        ({"cost": [[1, 2], [0, 1]], "radius": 1.0}, "symmetric", ("cost",)),
        ({"cost": [[1]], "constraints": [{"matrix": [[1, 0], [0, 1]], "equals": 1}]}, "but C is 1 x 1", None),
    ],
)
def test_programs_that_do_not_fit(fields, words, path):
    with pytest.raises(ProblemError, match=words) as caught:
        template("standard-sdp", **fields)
    assert caught.value.path == (path or ("constraints", 0, "matrix"))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"cost": [[1]], "program": {"file": "x"}},
        {"program": {"file": "x"}, "constraints": [{"matrix": [[1]], "equals": 1}]},
        {"cost": [[1]], "constraints": [{"matrix": [[1]]}]},
        {"cost": [[1]], "constraints": [{"matrix": [[1]], "equals": 1, "upper": 2}]},
        {"cost": [[1]], "constraints": [{"matrix": [[1]], "lower": 3, "upper": 2}]},
    ],
)
def test_fields_that_are_refused(fields):
    with pytest.raises(CgmError):
        spec({"template": "standard-sdp", **fields})


def test_a_matrix_whose_transpose_differs_by_rounding_alone_is_taken_for_symmetric():
    section = {"template": "standard-sdp", "radius": 1.0, "cost": [[1.0, 0.1 + 0.2], [0.3, -2.0]]}
    cost = build(loads(dump({"problem": section}))).problem.loss.map.direction.dense()
    np.testing.assert_array_equal(cost, cost.T)
    section["cost"] = [[1.0, 0.31], [0.3, -2.0]]
    with pytest.raises(CgmError, match=r"entries \(0, 1\) and \(1, 0\) of this one, counted from 0, differ by 0.01"):
        build(loads(dump({"problem": section})))


CASES = [
    # max -X_11 + Z_12 with X_11 = Z_11 = Z_22 = 1, of two matrices.
    ("3\n2\n2 2\n1 1 1\n0 1 1 1 -1\n0 2 1 2 0.5\n1 1 1 1 1\n2 2 1 1 1\n3 2 2 2 1\n", -0.0, None),
    # Numbers in the objective, the diagonal block first, braces.
    (
        "3 =mdim\n2 =nblocks\n{-3, 2}\n-0.0 -0.5 -1\n0 1 1 1 -1\n1 1 1 1 -1\n1 1 2 2 1\n2 1 1 1 -1\n2 1 3 3 1\n"
        "3 1 1 1 -1\n1 2 1 1 1.0\n2 2 1 1 0.5\n2 2 1 2 0.5\n3 2 1 2 0.5\n3 2 2 2 0.5\n",
        -2.0 / 3.0,
        4.0 / 3.0,
    ),
    # No constraints: max -x_1 - x_2 over x >= 0.
    ("0\n1\n-2\n\n0 1 1 1 -1.0\n0 1 2 2 -1.0\n", 0.0, 0.0),
]


@pytest.mark.parametrize(("text", "optimum", "trace"), CASES)
def test_files_of_blocks_and_numbers(tmp_path, text, optimum, trace):
    (tmp_path / "p.dat-s").write_text(text)
    given = {"problem": {"template": "standard-sdp", "program": {"file": str(tmp_path / "p.dat-s")}}}
    result = build(loads(dump(given | {"stop": {"gap": 1e-6, "infeasibility": 1e-6}}))).solve()
    # Of the first, a row of X stands in no matrix: its slack is zero, and nothing but rounding is left of the gap.
    assert result.status.value == ("stagnated" if text is CASES[0][0] else "converged")
    assert result.bound_is == "certified"
    assert result.record.total == pytest.approx(optimum, abs=1e-5)
    assert optimum - 1e-9 <= result.record.bound <= optimum + 1e-5
    if trace is not None:
        x = result.solution["x"]
        assert (x[3] + x[6] if x.size == 7 else x.sum()) == pytest.approx(trace, abs=1e-3)


@pytest.mark.parametrize(
    ("rows", "right", "limit"),
    [
        # tr X = 3, half of it twice.
        ([np.eye(2) / 2], [1.5], (3.0, True)),
        # X_11 = 1, X_22 = 2: the sum.
        ([unit(2, 0, 0), unit(2, 1, 1)], [1.0, 2.0], (3.0, True)),
        # [[2, 1], [1, 2]] >= I.
        ([np.array([[2.0, 1.0], [1.0, 2.0]])], [5.0], (5.0, False)),
        # Nothing bounds X_22.
        ([unit(2, 0, 0)], [1.0], None),
    ],
)
def test_what_the_constraints_say_of_the_trace(rows, right, limit):
    problem = as_spec(np.ones((2, 2)), rows, right)
    domain = template(problem.pop("template"), **problem).problem.domain
    assert domain.assumes_radius == (limit is None)
    if limit is not None:
        assert domain.radius == pytest.approx(limit[0], rel=1e-6)
        assert domain.radius >= limit[0]
        assert domain.fixed_trace == limit[1]


@pytest.mark.parametrize(
    ("matrices", "sides", "trace"),
    [
        # X_ii <= i: 1 + 2, and a little room.
        ([unit(2, 0, 0), unit(2, 1, 1)], [{"upper": 1.0}, {"upper": 2.0}], 3.0),
        # -X_ii >= -i, the same.
        ([-unit(2, 0, 0), -unit(2, 1, 1)], [{"lower": -1.0}, {"lower": -2.0}], 3.0),
        # One equation and one bound; the lower bound says nothing.
        ([unit(2, 0, 0), unit(2, 1, 1)], [{"equals": 1.0}, {"lower": -5.0, "upper": 2.0}], 3.0),
        ([np.array([[2.0, 1.0], [1.0, 2.0]])], [{"upper": 5.0}], 5.0),
        # Lower bounds bound nothing, nor do upper ones on less than all of it.
        ([np.eye(2)], [{"lower": 1.0}], None),
        ([unit(2, 0, 0)], [{"upper": 1.0}], None),
    ],
)
def test_what_bounds_say_of_the_trace(matrices, sides, trace):
    rows = [{"matrix": matrix.tolist(), **side} for matrix, side in zip(matrices, sides, strict=True)]
    domain = template("standard-sdp", cost=[[1, 2], [2, -1]], constraints=rows).problem.domain
    assert domain.assumes_radius == (trace is None)
    if trace is not None:
        assert trace < domain.radius < 1.2 * trace
        assert not domain.fixed_trace


def test_a_bound_on_the_diagonal_stops_the_objective_and_not_the_trace():
    """max <J, X> with X_ii <= 1 is n^2, at X = J."""
    n = 12
    rows = [{"matrix": unit(n, i, i).tolist(), "upper": 1.0} for i in range(n)]
    problem = {"template": "standard-sdp", "cost": np.ones((n, n)).tolist(), "constraints": rows, "sense": "maximise"}
    result = build(loads(dump({"problem": problem}))).solve()
    assert result.status.value == "converged"
    assert result.record.total == pytest.approx(n * n, rel=1e-3)
    assert not result.active_bounds and result.bound_rests_on is None


def test_a_bound_that_needs_a_trace_says_so():
    """min X_11 with X_12 = 1 is 0 and not attained: with a trace of r it is 1 / r or so."""
    problem = as_spec(unit(2, 0, 0), [unit(2, 0, 1)], [2.0])
    result = solve(problem, method="auto", iterations=200)
    assert 0.0 < result.record.bound < 1e-5
    assert result.bound_rests_on == "radius"
    assert "no larger" in result.message
    weak = as_spec(-unit(2, 0, 0), [unit(2, 0, 0), unit(2, 0, 1)], [1.0, 2.0])
    assert solve(weak, method="auto", iterations=200).record.total == pytest.approx(-1.0, rel=1e-3)


def test_two_traces_are_one_too_many():
    """tr X = 1 and tr X = 2, whose mean is no trace."""
    problem = as_spec(np.diag([1.0, -1.0]), [np.eye(2), np.eye(2)], [1.0, 2.0])
    result = build(loads(dump({"problem": problem}))).solve()
    assert result.status.value == "infeasible"
    same = as_spec(np.diag([1.0, -1.0]), [np.eye(2), 3.0 * np.eye(2)], [1.0, 3.0])
    assert build(loads(dump({"problem": same}))).solve().record.total == pytest.approx(-1.0, rel=1e-3)


A, B, ONE = np.diag([1.0, 2.0, 0.0]), unit(3, 0, 1), np.eye(3)
"""Of X = I the values are 3, 0 and 3."""


@pytest.mark.parametrize(
    ("matrices", "right", "told"),
    [
        ([A, B, ONE], [3, 0, 3], ()),
        ([A, B, ONE, 2 * A], [3, 0, 3, 6], ("`constraints[3]` (by `constraints[0]`)",)),
        ([A, B, A, ONE], [3, 0, 3, 3], ("`constraints[2]` (by `constraints[0]`)",)),
        ([A, B, ONE, A + B], [3, 0, 3, 3], ("`constraints[3]` (by `constraints[0]`, `constraints[1]`)",)),
        ([A, 0 * A, B, ONE], [3, 0, 0, 3], ("`constraints[1]` (it says 0 = 0)",)),
        # What states the trace is one of the constraints, and what only implies it implies nothing else.
        ([A, B, ONE, A + ONE], [3, 0, 3, 6], ("`constraints[2]` (by `constraints[0]`, `constraints[3]`)",)),
        ([A, ONE - A, B], [3, 0, 0], ()),
        ([A, ONE, B, 2 * ONE], [3, 3, 0, 6], ("`constraints[3]` (by `constraints[1]`)",)),
        ([A, ONE - A, B, ONE], [3, 0, 0, 3], ("`constraints[3]` (by `constraints[0]`, `constraints[1]`)",)),
        (
            [A, B, ONE, *(k * A for k in range(1, 21))],
            [3, 0, 3, *(3 * k for k in range(1, 21))],
            ("20 constraints are implied by others", "`constraints[3]` (by `constraints[0]`)", "and 12 more"),
        ),
    ],
)
def test_constraints_that_others_imply_are_named(matrices, right, told):
    problem = as_spec(np.diag([1.0, 2.0, 3.0]) + B, matrices, right)
    result = solve(problem, method="auto", scaling="auto")
    assert ("implied by others" in result.message) == bool(told)
    assert all(each in result.message for each in told)
    assert len(result.implied_constraints) == (20 if len(told) == 3 else len(told))
    assert all(f"`{name}`" in told[0] for name in result.implied_constraints[:1] if len(told) == 1)


@pytest.mark.parametrize(
    ("trace", "equals", "implied"), [("equal", 4.0, True), ("at-most", 4.0, False), ("equal", 4.5, False)]
)
@pytest.mark.parametrize("others", [[], [{"matrix": [[0, 1], [1, 0]], "equals": 0.5}]])
def test_a_trace_that_is_said_by_radius_and_again_by_a_constraint(trace, equals, implied, others):
    constraints = [*others, {"matrix": [[2, 0], [0, 2]], "equals": equals}]
    problem = {"template": "standard-sdp", "cost": [[1, 2], [2, -1]], "radius": 2.0, "trace": trace}
    result = build(loads(dump({"problem": {**problem, "constraints": constraints}}))).solve()
    name = f"constraints[{len(others)}]"
    assert result.implied_constraints == ((name,) if implied else ())
    assert (f"`{name}` (by `radius`)" in result.message) is implied


def test_what_is_implied_changes_nothing():
    cost = np.diag([1.0, 2.0, 3.0]) + B
    alone = solve(as_spec(cost, [A, B, ONE], [3, 0, 3]), method="auto", scaling="auto")
    again = solve(as_spec(cost, [A, B, ONE, A + B, 0 * A], [3, 0, 3, 3, 0]), method="auto", scaling="auto")
    assert again.record.total == pytest.approx(alone.record.total, rel=1e-4)
    assert np.abs(again.duals["equalities"][-2:]).max() < 1e-15


@pytest.mark.parametrize(
    ("matrices", "right", "names"),
    [
        ([A, B, ONE, A + B], [3, 0, 3, 4], {"constraints[0]", "constraints[1]", "constraints[3]"}),
        ([A, B, ONE, 0 * A], [3, 0, 3, 1], {"constraints[3]"}),
        ([B, A, ONE, 3 * A], [0, 3, 3, 3], {"constraints[1]", "constraints[3]"}),
    ],
)
def test_constraints_that_contradict_others_are_named(matrices, right, names):
    result = solve(as_spec(np.diag([1.0, 2.0, 3.0]), matrices, right), method="auto", scaling="auto")
    assert result.status.value == "infeasible"
    found = set(re.findall(r"`([^`]+)`", result.message.partition("What contradicts itself")[2].partition("(")[0]))
    assert found == names


def test_constraints_of_files_are_called_as_they_are_counted_there(tmp_path):
    text = "4\n1\n2\n1 0.1 2 2.3\n" + "".join(
        f"{line}\n" for line in ("0 1 1 1 1", "1 1 1 1 1", "2 1 1 2 1", "3 1 2 2 1", "4 1 1 1 2", "4 1 1 2 3")
    )
    (tmp_path / "a.dat-s").write_text(text)
    cbf = "VER\n1\nOBJSENSE\nMIN\nPSDVAR\n1\n2\nCON\n4 2\nF 1\nL= 3\n"
    cbf += "OBJFCOORD\n1\n0 0 0 1.0\nFCOORD\n4\n1 0 0 0 1.0\n2 0 1 1 1.0\n3 0 0 0 2.0\n3 0 1 1 1.0\n"
    (tmp_path / "a.cbf").write_text(cbf + "BCOORD\n3\n1 -1.0\n2 -2.0\n3 -4.0\n")
    for name, told in (("a.dat-s", "`constraint 4` (by `constraint 1`, `constraint 2`)"), ("a.cbf", "`constraint 3`")):
        tree = {"problem": {"template": "standard-sdp", "program": {"file": name}}}
        (tmp_path / "spec.yaml").write_text(dump(tree))
        instance = build(load(tmp_path / "spec.yaml", ["solver.correction=interior-point", "solver.method=cgal"]))
        found = redundant(instance.problem, instance.choice.method)
        assert told in told_redundant(found)


WEAK = {"template": "standard-sdp", "cost": [[0, 0], [0, 1]]}
"""X_11 = 0 and X_12 = 1 are met by no X >= 0, but in the limit of large X_22; X_22 is least there for X_11 > 0."""


def test_what_is_met_in_the_limit_alone_is_said_not_to_be_proven():
    corner, beside = [[1, 0], [0, 0]], [[0, 0.5], [0.5, 0]]
    both = [{"matrix": corner, "equals": 0.0}, {"matrix": beside, "equals": 1.0}]
    found = build(loads(dump({"problem": {**WEAK, "constraints": both}}))).solve()
    assert found.status is Status.STAGNATED
    assert "X has grown to a trace of" in found.message and "Not proven" in found.message
    found = build(loads(dump({"problem": {**WEAK, "constraints": both, "radius": 1000}}))).solve()
    # Of a trace of a thousand no X comes nearer than by a thousandth.
    assert found.status is Status.INFEASIBLE and found.record.bound > 1000.0
    # Where there are such X, nothing of it is said.
    met = [{"matrix": corner, "equals": 0.5}, both[1]]
    found = build(loads(dump({"problem": {**WEAK, "constraints": met}}))).solve()
    assert found.status is Status.CONVERGED and "Not proven" not in found.message
    assert found.record.total == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize(
    ("size", "cost", "optimum"),
    [(1.0, [[1.0]], 1.0), (1.0, [[1, 1, 0], [1, 1, 0], [0, 0, 0]], 0.0), (1e4, [[2, 1], [1, 2]], 2e-4)],
)
def test_lower_bounds_on_a_diagonal_without_a_radius(size, cost, optimum):
    """X_ii >= 1 / size: nothing says how large X is, and descent, which is for a known trace, is not taken."""
    constraints = [{"matrix": (size * np.diag(row)).tolist(), "lower": 1.0} for row in np.eye(len(cost))]
    problem = {"template": "standard-sdp", "cost": cost, "constraints": constraints}
    found = build(loads(dump({"problem": problem}))).solve()
    assert found.record.infeasibility <= 1e-4
    assert found.record.total == pytest.approx(optimum, rel=1e-3, abs=1e-6)
    assert found.record.bound <= optimum + 1e-12


@pytest.mark.parametrize("off", [1e-3, 0.1, 10.0])
def test_contradictions_beside_a_trace_that_nobody_knows(off):
    """They are not taken for equations that others imply, however large the trace is that is assumed."""
    matrix = [[2.0, 1.0, 0.0], [1.0, 0.5, -1.0], [0.0, -1.0, 0.0]]
    constraints = [{"matrix": matrix, "equals": 3.0}, {"matrix": matrix, "equals": 3.0 * (1.0 + off)}]
    problem = {"template": "standard-sdp", "cost": np.eye(3).tolist(), "constraints": constraints}
    found = build(loads(dump({"problem": problem}))).solve()
    assert found.status is Status.INFEASIBLE and not found.implied_constraints


SINGULAR = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
"""Semidefinite, with a null vector along which X may grow at no cost."""


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(
    "constraints",
    [
        [],
        [{"matrix": np.zeros((3, 3)).tolist(), "equals": 0.0}],
        [{"matrix": np.zeros((3, 3)).tolist(), "upper": 1.0}],
        [{"matrix": unit(3, 0, 0).tolist(), "equals": 0.0}],
        [{"matrix": unit(3, 2, 2).tolist(), "lower": -1.0, "upper": 2.0}],
        [{"matrix": unit(3, 2, 2).tolist(), "equals": 1.0}] * 2,
    ],
)
def test_a_singular_cost_without_a_radius_is_zero_at_the_least_and_proven_to_be(constraints, nonnegative):
    problem = {"template": "standard-sdp", "cost": SINGULAR, "constraints": constraints, "nonnegative": nonnegative}
    found = build(loads(dump({"problem": problem}))).solve()
    assert found.status is Status.CONVERGED and found.bound_is == "certified"
    assert found.record.bound == 0.0 and found.bound_rests_on is None
    assert found.record.total == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("text", ["0\n1\n2\n\n0 1 1 1 -1\n", "0\n2\n2 -2\n\n0 1 1 1 -1\n0 2 1 1 -1\n", "0\n1\n-1\n\n"])
def test_files_without_constraints(tmp_path, text):
    (tmp_path / "p.dat-s").write_text(text)
    given = {"problem": {"template": "standard-sdp", "program": {"file": str(tmp_path / "p.dat-s")}}}
    found = build(loads(dump(given))).solve()
    assert found.status is Status.CONVERGED and found.record.total == found.record.bound == 0.0


def least_on_simplex(matrix):
    """min x^T C x over the simplex: the least value of a stationary point within a face."""
    found = []
    for size in range(1, len(matrix) + 1):
        for face in itertools.combinations(range(len(matrix)), size):
            x = np.linalg.solve(matrix[np.ix_(face, face)], np.ones(size))
            x /= x.sum()
            if (x >= 0.0).all():
                found.append(x @ matrix[np.ix_(face, face)] @ x)
    return min(found)


@pytest.mark.parametrize("seed", range(4))
def test_doubly_nonnegative_programs_need_no_radius(seed):
    """Up to order 4 these matrices are those x x^T add up to with x >= 0: <C, X> is least, where the entries add up to
    one, as x^T C x is on the simplex. The trace is not implied by a semidefinite X alone.
    """
    cost = np.random.default_rng(seed).uniform(0.0, 1.0, (4, 4))
    cost = cost + cost.T
    program = {"template": "standard-sdp", "cost": cost.tolist(), "nonnegative": True}
    program["constraints"] = [{"matrix": np.ones((4, 4)).tolist(), "equals": 1.0}]
    found = build(loads(dump({"problem": program}))).solve()
    assert found.status is Status.CONVERGED
    assert found.record.total == pytest.approx(least_on_simplex(cost), rel=1e-3)
    assert found.record.bound == pytest.approx(least_on_simplex(cost), rel=1e-3)
    assert found.record.bound <= least_on_simplex(cost) * (1.0 + 1e-9)


@pytest.mark.parametrize("value", [-1.0, -1e-3])
def test_what_contradicts_nonnegative_entries_is_proven(value):
    program = {"template": "standard-sdp", "cost": [[1, 0], [0, 1]], "nonnegative": True}
    program["constraints"] = [{"matrix": [[0, 1], [1, 0]], "equals": value}]
    assert build(loads(dump({"problem": program}))).solve().status is Status.INFEASIBLE
