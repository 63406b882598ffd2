"""Solutions in the form of CSDP: of the program as its file has it, and a proof for whoever reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cgm_cli
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.readers.sdpa import read_sdpa
from cgm_cli.reports import conic
from cgm_cli.reports.arrays import chosen
from cgm_cli.reports.csdp import solution_text
from cgm_cli.runs.load import load_run

PROGRAMS = {
    # theta of a path of three nodes, 2: the trace is a constraint, the first one.
    "trace": "3\n1\n3\n1 0 0\n0 1 1 1 1\n0 1 2 2 1\n0 1 3 3 1\n0 1 1 2 1\n0 1 1 3 1\n0 1 2 3 1\n1 1 1 1 1\n"
    "1 1 2 2 1\n1 1 3 3 1\n2 1 1 2 1\n3 1 2 3 1\n",
    # Maximum cut of a triangle, 9/4: the diagonal says the trace.
    "diagonal": "3\n1\n3\n1 1 1\n0 1 1 1 0.5\n0 1 2 2 0.5\n0 1 3 3 0.5\n0 1 1 2 -0.25\n0 1 1 3 -0.25\n"
    "0 1 2 3 -0.25\n1 1 1 1 1\n2 1 2 2 1\n3 1 3 3 1\n",
    # max X_12 with X_11 + s_1 = 1, X_22 + s_2 = 4, -X_11 + s_3 = 1: 2; slacks that are bounds of one matrix.
    "slacks": "3\n2\n-3 2\n1 4 1\n0 2 1 2 0.5\n1 1 1 1 1\n1 2 1 1 1\n2 1 2 2 2\n2 2 2 2 1\n3 1 3 3 1\n3 2 1 1 -1\n",
    # max <C, X> with X_ii + s_i = 1, the slacks without a cost: bounds, which say how large the trace can be.
    "bounds": "3\n2\n3 -3\n1 1 1\n"
    "0 1 1 1 0.7\n0 1 2 2 -0.3\n0 1 3 3 0.4\n0 1 1 2 0.9\n0 1 1 3 -0.6\n0 1 2 3 0.2\n"
    + "".join(f"{i} 1 {i} {i} 1\n{i} 2 {i} {i} 1\n" for i in (1, 2, 3)),
    # Two matrices and numbers: max X_12 + Z_12 - z with traces of 2 and 4, and z = X_11: 1 + 2 - 0 at the best X.
    "blocks": "3\n3\n2 2 -1\n2 4 0\n0 1 1 2 0.5\n0 2 1 2 0.5\n0 3 1 1 -0.1\n1 1 1 1 1\n1 1 2 2 1\n2 2 1 1 1\n"
    "2 2 2 2 1\n3 1 1 1 1\n3 3 1 1 -1\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_solution_proves_itself(name, tmp_path):
    check(name, {}, tmp_path)


@pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if name != "blocks"]
)  # small programs in several blocks have no factors
def test_so_does_one_by_descent(name, tmp_path):
    check(name, {"method": "cgal", "correction": "local-descent", "iterations": 300}, tmp_path)


def check(name, solver, tmp_path):
    """A(X) = b and X >= 0; A^*(y) - C is the slack, and >= 0; and b^T y is the bound: all from the two files alone."""
    file = tmp_path / "p.dat-s"
    file.write_text(PROGRAMS[name])
    problem = {"template": "standard-sdp", "program": {"file": str(file)}}
    spec = {"problem": problem, "solver": solver, "stop": {"gap": 1e-6, "infeasibility": 1e-6}}
    answer = cgm_cli.solve(spec, out=tmp_path / "run")
    y, x, slack, program = read(solution_text(load_run(tmp_path / "run")), file)
    blocks, rows = Blocks(program.sizes), program.matrices.toarray()
    assert y.size == program.right.size
    np.testing.assert_allclose(rows[1:] @ x, program.right, atol=1e-4)
    assert blocks.bottom(x).value >= -1e-9
    np.testing.assert_allclose(y @ rows[1:] - rows[0], slack, atol=1e-12)
    assert blocks.bottom(slack).value >= -1e-9
    assert program.right @ y <= answer.bound + 1e-9
    assert program.right @ y == pytest.approx(answer.bound, rel=1e-5)
    assert rows[0] @ x == pytest.approx(program.right @ y, rel=1e-3)


def read(text: str, file: Path):
    """y, and X and the slack, flat."""
    first, *lines = text.splitlines()
    program = read_sdpa(file)
    found = {1: np.zeros(program.matrices.shape[1]), 2: np.zeros(program.matrices.shape[1])}
    for line in lines:
        which, block, i, j = (int(each) for each in line.split()[:4])
        size, start = program.sizes[block - 1], program.starts[block - 1]
        assert i <= j <= abs(size)
        if size < 0:
            assert i == j
        for row, column in ((i - 1, j - 1), (j - 1, i - 1)):
            place = start + (row * size + column if size > 0 else row)
            found[which][place] = float(line.split()[4])
    return np.array(first.split(), dtype=float), found[2], found[1], program


def test_multipliers_without_a_place_in_such_a_file_are_refused(tmp_path):
    problem = {"template": "standard-sdp", "cost": [[0, 1], [1, 0]], "nonnegative": True, "sense": "maximise"}
    problem["constraints"] = [{"matrix": [[2, 0], [0, 2]], "equals": 4.0}]
    cgm_cli.solve({"problem": problem}, out=tmp_path / "run")
    with pytest.raises(ProblemError, match="no place for the multipliers of X >= 0"):
        solution_text(load_run(tmp_path / "run"))


def test_constraints_of_a_spec_keep_their_order(tmp_path):
    """An inequality before an equation: max X_12 with X_11 <= 1 and X_22 = 4 is 2, at y = (1, 1/4)."""
    rows = [{"matrix": [[1, 0], [0, 0]], "upper": 1.0}, {"matrix": [[0, 0], [0, 1]], "equals": 4.0}]
    problem = {"template": "standard-sdp", "cost": [[0, 0.5], [0.5, 0]], "sense": "maximise", "constraints": rows}
    cgm_cli.solve({"problem": problem, "stop": {"gap": 1e-8, "infeasibility": 1e-8}}, out=tmp_path / "run")
    y = np.array(solution_text(load_run(tmp_path / "run")).splitlines()[0].split(), dtype=float)
    np.testing.assert_allclose(y, [1.0, 0.25], atol=1e-3)


@pytest.mark.parametrize(
    "problem",
    [
        {"template": "max-cut", "graph": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]},
        {"template": "lovasz-theta", "graph": [[0, 1, 0], [1, 0, 1], [0, 1, 0]]},
        {"template": "standard-sdp", "cost": [[1, 2], [2, -1]], "radius": 2.0},
        {
            "template": "standard-sdp",
            "cost": [[1, 2], [2, 5]],
            "constraints": [{"matrix": [[0, 1], [1, 0]], "equals": 1}],
        },
        {
            "template": "standard-sdp",
            "cost": {"real": [[1, 0], [0, -1]], "imaginary": [[0, -1], [1, 0]]},
            "radius": 2.0,
        },
        {
            "domain": {"kind": "psd", "size": 2},
            "objective": {"kind": "linear", "cost": [[0, 1], [1, 0]]},
            "penalties": [{"kind": "l1", "weight": 0.1}],
        },
    ],
    ids=["max-cut", "theta", "radius", "free", "complex", "penalty"],
)
def test_the_slack_of_a_run_is_semidefinite_and_its_smallest_eigenvalue_zero(problem, tmp_path):
    """Where the trace is at its bound; with that, and the other multipliers, it is what the bound is made of."""
    cgm_cli.solve({"problem": problem, "stop": {"gap": 1e-6, "infeasibility": 1e-6}}, out=tmp_path / "run")
    run = load_run(tmp_path / "run")
    slack, trace = (chosen(run, name)[1] for name in ("slack", "duals/trace"))
    least = np.linalg.eigvalsh(slack)[0]
    assert least >= -1e-7 * np.linalg.norm(slack)
    if abs(trace) > 1e-6:
        assert least <= 1e-6 * np.linalg.norm(slack)
    cone = conic.instance_of(run).template.problem.domain.cone
    assert trace.shape == () and (cone.fixed or trace >= 0.0)
