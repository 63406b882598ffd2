"""`cgm export --predict`: from a table of ratings to predictions for pairs of ids, by the command line."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from cgm_cli.runs.load import load_run
from tests.reports.support import make_run

SPEC = """\
name: movies
problem:
  template: matrix-completion
  ratings: {file: ratings.csv, user: userId, item: movieId, value: rating}
  held_out: 0.1
  radius: 25
solver: {iterations: 5}
"""
USERS, MOVIES = [f"user {7 * i}" for i in range(12)], [str(10**18 + j) for j in range(8)]


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A folder with a run of ratings whose file is gone, and what `cgm solve --json` printed of it."""
    folder = tmp_path_factory.mktemp("movies")
    rng = np.random.default_rng(0)
    tastes, kinds = rng.uniform(1, 2, (12, 2)), rng.uniform(0.5, 1.5, (8, 2))
    lines = [
        f"{USERS[i]},{MOVIES[j]},{tastes[i] @ kinds[j]:.2f},1000000000"
        for i in range(12)
        for j in range(8)
        if (i + j) % 4 or i == j
    ]
    (folder / "ratings.csv").write_text("\n".join(["userId,movieId,rating,timestamp", *lines]) + "\n")
    (folder / "movies.yaml").write_text(SPEC)
    command = [sys.executable, "-m", "cgm_cli", "solve", folder / "movies.yaml", "--out", folder / "run", "--json"]
    answer = subprocess.run(command, capture_output=True, check=True).stdout
    (folder / "ratings.csv").unlink()
    return folder / "run", json.loads(answer)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_the_error_on_what_was_held_out_is_shown(solved, cgm):
    run, answer = solved
    assert answer["metrics"]["held_out_rmse"] > 0.0
    assert f"{answer['metrics']['held_out_rmse']:.4g}" in cgm("show", run)[1]
    assert "held_out_rmse" in cgm("report", run)[1]


def test_pairs_are_told_by_id(solved, cgm, tmp_path):
    run, _ = solved
    pairs = [(USERS[3], MOVIES[5]), ("nobody", MOVIES[0]), (USERS[0], MOVIES[0]), (USERS[0], "none")]
    (tmp_path / "pairs.csv").write_text("movieId,when,userId\n" + "".join(f"{j},1,{i}\n" for i, j in pairs))
    out = tmp_path / "out.csv"
    code, _, err = cgm("export", run, "--predict", tmp_path / "pairs.csv", "--solution", out)
    assert code == 0 and "2 predictions; left blank: 2 of 4 pairs, with an id that the run does not know" in err
    found = rows(out)
    assert found[0] == ["userId", "movieId", "prediction"]
    assert [tuple(row[:2]) for row in found[1:]] == pairs
    solution = load_run(run).solution
    users, movies = (bytes(solution[name]).decode().split("\n") for name in ("row_ids", "column_ids"))
    x = solution["x"]
    assert float(found[1][2]) == pytest.approx(x[users.index(USERS[3]), movies.index(MOVIES[5])])
    assert float(found[3][2]) == pytest.approx(x[users.index(USERS[0]), movies.index(MOVIES[0])])
    assert [row[2] for row in found[2::2]] == ["", ""]


def test_a_first_line_with_a_known_id_is_a_pair(solved, cgm, tmp_path):
    (tmp_path / "pairs.csv").write_text(f"{USERS[2]};film\n")
    assert cgm("export", solved[0], "--predict", tmp_path / "pairs.csv", "--solution", tmp_path / "o.csv")[0] == 0
    assert rows(tmp_path / "o.csv") == [["row", "column", "prediction"], [USERS[2], "film", ""]]


@pytest.mark.parametrize("kept", ["factors", "dense"])
def test_without_ids_pairs_are_told_by_their_numbers_from_one(cgm, tmp_path, kept):
    left, right, weights = np.arange(6.0).reshape(3, 2), np.eye(2), np.array([1.0, 10.0])
    x = (left * weights) @ right.T
    solution = {"left": left, "right": right, "weights": weights} if kept == "factors" else {"x": x}
    run = make_run(tmp_path / "run", solution=solution)
    (tmp_path / "pairs.csv").write_text("1 1\n3 2\n0 1\n4 1\n1 -1\n")
    code, _, err = cgm("export", run, "--predict", tmp_path / "pairs.csv", "--solution", tmp_path / "o.csv")
    assert code == 0 and "left blank: 3 of 5 pairs, with a number, from 1, beyond the size of x" in err
    assert [row[2] for row in rows(tmp_path / "o.csv")[1:]] == [str(x[0, 0]), str(x[2, 1]), "", "", ""]


@pytest.mark.parametrize(
    ("text", "more", "code", "message"),
    [
        ("a\nb\n", [], 3, "has one column, and pairs of a row and a column are needed"),
        ("", [], 3, "is empty"),
        ("a,b\nc\n", [], 3, "line 2 has 1 cell, but line 1 has 2"),
        (None, [], 3, "cannot be read: No such file"),
        ("1,2\n", ["--name", "left"], 2, "leave --name out"),
        ("1,2\n", ["--solution", "o.npy"], 2, "give a .csv file"),
        ("1,2\n", ["--solution", "there.csv"], 2, "--force overwrites it"),
    ],
)
def test_faults(solved, cgm, tmp_path, monkeypatch, text, more, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    if text is not None:
        (tmp_path / "pairs.csv").write_text(text)
    solution = [] if "--solution" in more else ["--solution", "o.csv"]
    found, _, err = cgm("export", solved[0], "--predict", "pairs.csv", *solution, *more)
    assert found == code and message in err
    assert (tmp_path / "there.csv").read_text() == "mine" and not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize(
    ("solution", "code", "message"),
    [
        ({"x": np.ones(3)}, 2, "predictions are entries of a matrix of real numbers"),
        ({"x": np.ones((3, 3)) * 1j}, 2, "predictions are entries of a matrix of real numbers"),
        ({"left": np.ones((3, 2)), "weights": np.ones(3)}, 3, "do not belong together"),
        ({"left": np.ones((3, 2)), "weights": np.ones(2), "right": np.ones(2)}, 3, "do not belong together"),
        ({"left": np.ones((3, 2)), "weights": np.ones(2), "right": np.ones((2, 1))}, 3, "do not belong together"),
        ({"samples": np.ones((3, 2))}, 3, "keeps samples of x"),
        ({"x": np.ones((2, 1)), "row_ids": np.array([97], np.uint8), "column_ids": np.array([97], np.uint8)}, 3, "ids"),
        (
            {"x": np.ones((1, 1)), "row_ids": np.array([255], np.uint8), "column_ids": np.ones(1)},
            3,
            "ids cannot be read",
        ),
    ],
)
def test_runs_that_cannot_predict(cgm, tmp_path, solution, code, message):
    run = make_run(tmp_path / "run", solution=solution)
    (tmp_path / "pairs.csv").write_text("1,1\n")
    found, _, err = cgm("export", run, "--predict", tmp_path / "pairs.csv", "--solution", tmp_path / "o.csv")
    assert found == code and message in err
