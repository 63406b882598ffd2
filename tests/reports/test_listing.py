"""`cgm export --table`: the answer, a line for each node, by the names of the data."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from cgm_cli import solve
from tests.reports.support import make_run, spec

EDGES = [("ann", "bob"), ("bob", "cat"), ("cat", "dan"), ("dan", "ann")]


def rows(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(("template", "entry"), [("max-cut", "side"), ("lovasz-theta", "chosen")])
def test_nodes_come_back_by_their_names(cgm, tmp_path, template, entry):
    """Of a cycle of four, the two sides of the largest cut and an independent set are opposite nodes."""
    (tmp_path / "g.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in EDGES))
    problem = {"template": template, "graph": {"file": str(tmp_path / "g.csv")}}
    answer = solve({"problem": problem}, out=tmp_path / "run")
    assert answer.labels == ["ann", "bob", "cat", "dan"]
    code, _, err = cgm("export", tmp_path / "run", "--table", tmp_path / "out.csv")
    assert code == 0 and f"node and {entry}, 4 lines" in err
    found = rows(tmp_path / "out.csv")
    assert found[0] == ["node", entry]
    told = dict(found[1:])
    assert told["ann"] == told["cat"] != told["bob"] == told["dan"]


@pytest.mark.parametrize(
    ("template", "fields"),
    [
        ("elastic-net", {"l1": 0.1, "ridge": 0.0}),
        ("sparse-regression", {"radius": 0.9}),
        ("least-absolute-deviations", {"radius": 0.9}),
        ("svm", {"radius": 0.9, "domain": "l1"}),
    ],
)
def test_features_come_back_by_their_headings(cgm, tmp_path, template, fields):
    """A target that is one feature itself, beside another that is orthogonal to it: its coefficient is 0.9."""
    (tmp_path / "t.csv").write_text('y,,"fat, raw"\n1,1,1\n1,-1,1\n-1,1,-1\n-1,-1,-1\n')
    data = {"file": str(tmp_path / "t.csv"), "target": "y"}
    answer = solve({"problem": {"template": template, "data": data, **fields}}, out=tmp_path / "run")
    assert answer.labels == ["2", "fat, raw"]
    code, _, err = cgm("export", tmp_path / "run", "--table", tmp_path / "out.csv")
    assert code == 0 and "feature and coefficient, 2 lines" in err
    found = rows(tmp_path / "out.csv")
    assert found[0] == ["feature", "coefficient"] and [row[0] for row in found[1:]] == answer.labels
    np.testing.assert_allclose([float(row[1]) for row in found[1:]], [0.0, 0.9], atol=1e-2)


@pytest.mark.parametrize("wanted", [{}, {"columns": ["fat, raw", "b"]}])
@pytest.mark.parametrize("field", ["points", "covariance"])
def test_variables_come_back_by_their_headings(cgm, tmp_path, field, wanted):
    """Of a whole table as of columns of it; a matrix is written with its names on both sides."""
    (tmp_path / "t.csv").write_text('"fat, raw",b\n2,0\n0,1\n')
    data = {field: {"file": str(tmp_path / "t.csv"), **wanted}}
    for template, fields in (("sparse-pca", {"cardinality": 1}), ("covariance-estimation", {"penalty": 0.1})):
        answer = solve({"problem": {"template": template, **data, **fields}}, out=tmp_path / template)
        assert answer.labels == ["fat, raw", "b"]
        assert cgm("export", tmp_path / template, "--table", tmp_path / f"{template}.csv")[0] == 0
    assert rows(tmp_path / "sparse-pca.csv")[0] == ["variable", "loading"]
    assert [row[0] for row in rows(tmp_path / "sparse-pca.csv")[1:]] == ["fat, raw", "b"]
    estimate = rows(tmp_path / "covariance-estimation.csv")
    assert estimate[0] == ["variable", "fat, raw", "b"] and [row[0] for row in estimate[1:]] == ["fat, raw", "b"]
    np.testing.assert_array_equal([list(map(float, row[1:])) for row in estimate[1:]], answer.solution["estimate"])


@pytest.mark.parametrize("named_by", ["costs", "amounts"])
def test_a_plan_comes_back_by_the_names_of_the_places(cgm, tmp_path, named_by):
    """Of the table of costs or, where that has none, of those of supplies and demands."""
    costs = {"costs": "place,Rom,Prag\nBern,4,3\nChur,13,7\n", "amounts": "4,3.5\n13,7\n"}[named_by]
    amounts = {"supplies": {"Chur": 2, "Bern": 1}, "demands": {"Rom": 1, "Prag": 2}}
    if named_by == "amounts":  # in the order of the costs, which have no names
        amounts["supplies"] = {"Bern": 1, "Chur": 2}
    (tmp_path / "costs.csv").write_text(costs)
    problem = {"template": "transport", "costs": {"file": str(tmp_path / "costs.csv")}}
    problem["costs"] |= {"names": 1} if named_by == "costs" else {}
    for name, told in amounts.items():
        (tmp_path / f"{name}.csv").write_text("place,amount\n" + "".join(f"{k},{v}\n" for k, v in told.items()))
        problem[name] = {"file": str(tmp_path / f"{name}.csv"), "column": "amount", "names": "place"}
    solve({"problem": problem}, out=tmp_path / "run")
    code, _, err = cgm("export", tmp_path / "run", "--table", tmp_path / "out.csv")
    assert code == 0 and "from and 2 columns of amounts, 2 lines" in err
    found = rows(tmp_path / "out.csv")
    assert found[0] == ["from", "Rom", "Prag"] and [row[0] for row in found[1:]] == ["Bern", "Chur"]
    np.testing.assert_allclose([list(map(float, row[1:])) for row in found[1:]], [[1, 0], [0, 2]], atol=1e-3)


def test_without_names_nodes_are_numbered_from_one(cgm, tmp_path):
    solve({"problem": {"template": "max-cut", "graph": [[0, 1], [1, 0]]}}, out=tmp_path / "run")
    assert cgm("export", tmp_path / "run", "--table", tmp_path / "out.csv")[0] == 0
    assert [row[0] for row in rows(tmp_path / "out.csv")] == ["node", "1", "2"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--table", "o.npy"], 2, "a table is written as .csv"),
        (["--table", "o.csv", "--solution", "x.npy"], 2, "by --table alone or by --solution"),
        ([], 2, "say where to: --table FILE.csv for the answer, or --solution FILE for an array"),
        (["--table", "o.csv", "--name", "x"], 2, "by --table alone or by --solution"),
    ],
)
def test_faults(cgm, tmp_path, monkeypatch, arguments, code, message):
    solve({"problem": {"template": "max-cut", "graph": [[0, 1], [1, 0]]}}, out=tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    found, _, err = cgm("export", tmp_path / "run", *arguments)
    assert found == code and message in " ".join(err.split()).replace(" │ │ ", " ")


def test_a_vector_of_any_problem(cgm, tmp_path):
    tree = spec() | {"problem": {"template": "matrix-game", "payoff": [[1.0]]}}
    run = make_run(tmp_path / "run", tree, solution={"x": np.array([0.25, 0.75])})
    assert cgm("export", run, "--table", tmp_path / "o.csv")[0] == 0
    assert rows(tmp_path / "o.csv") == [["entry", "value"], ["1", "0.25"], ["2", "0.75"]]


def test_a_matrix_is_no_table(cgm, tmp_path):
    tree = spec() | {"problem": {"template": "matrix-game", "payoff": [[1.0]]}}
    run = make_run(tmp_path / "run", tree, solution={"x": np.ones((2, 3))})
    code, _, err = cgm("export", run, "--table", tmp_path / "o.csv")
    assert code == 2 and "nor a vector" in err
