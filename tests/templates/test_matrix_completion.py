"""Matrix completion: what is observed, the errors, and the optimum by another method."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from pydantic import ValidationError
from scipy.special import expit

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.iterates import FactoredIterate
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.methods.status import Status
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.load import load
from cgm_cli.spec.registry import lookup
from cgm_cli.templates.build import build
from tests.templates import references
from tests.templates.support import solve, template

RANDOM = {"rows": 30, "columns": 20, "rank": 2, "noise": 0.1}
CONFIG = Path(__file__).parents[2] / "configs" / "one-bit-completion.yaml"
ODDS = {"rows": 30, "columns": 20, "rank": 2, "scale": 3.0}


def matrix_of(built):
    """The matrix that some entries of are hidden, and where they are not."""
    found, observed = np.empty(built.seen.shape), np.zeros(built.seen.shape, dtype=bool)
    for entries in (built.seen, built.hidden):
        found.flat[entries.indices] = entries.values
    observed.flat[built.seen.indices] = True
    return found, observed


def test_the_random_matrix():
    clean = template("matrix-completion", matrix={**RANDOM, "noise": 0.0}, seed=2)
    matrix, observed = matrix_of(clean)
    values = np.linalg.svd(matrix, compute_uv=False)
    assert np.count_nonzero(values > 1e-10 * values[0]) == 2
    assert clean.problem.domain.radius == pytest.approx(values.sum())
    assert observed.sum() == 300
    noisy = template("matrix-completion", matrix=RANDOM, seed=2)
    assert noisy.problem.domain.radius == pytest.approx(values.sum()), "the radius is that of the matrix without noise"
    assert (matrix_of(noisy)[0] - matrix).std() == pytest.approx(0.1, rel=0.2)
    other = template("matrix-completion", matrix=RANDOM, seed=3)
    assert not np.array_equal(matrix_of(noisy)[0], matrix_of(other)[0])


def test_the_scale_of_the_random_matrix():
    unit, larger = (template("matrix-completion", matrix={**ODDS, "scale": scale}, seed=2) for scale in (1.0, 3.0))
    np.testing.assert_allclose(matrix_of(larger)[0], 3 * matrix_of(unit)[0])
    assert larger.problem.domain.radius == pytest.approx(3 * unit.problem.domain.radius)


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_signs_are_drawn_with_the_probabilities_of_the_model(noise):
    """Sums of signs over small, middling and large log-odds lie within four standard deviations of their means."""
    fields = {"matrix": {"rows": 300, "columns": 200, "rank": 2, "scale": 2.0, "noise": noise}, "seed": 4}
    odds = template("matrix-completion", **fields)
    drawn = template("matrix-completion", loss="logistic", **fields)
    (log_odds, seen), (found, observed) = matrix_of(odds), matrix_of(drawn)
    assert set(np.unique(found)) == {-1.0, 1.0}
    assert isinstance(drawn.problem.loss, Logistic)
    np.testing.assert_array_equal(drawn.problem.loss.labels, found[observed])
    np.testing.assert_array_equal(observed, seen)
    assert drawn.problem.domain.radius == odds.problem.domain.radius, "that of the log-odds without noise"
    mean = 2 * expit(log_odds) - 1
    for group in (log_odds < -1, np.abs(log_odds) <= 1, log_odds > 1):
        deviation = np.sqrt((1 - mean[group] ** 2).sum())
        assert abs((found - mean)[group].sum()) < 4 * deviation
    other = template("matrix-completion", loss="logistic", **{**fields, "seed": 5})
    assert not np.array_equal(found, matrix_of(other)[0])


def test_given_signs_are_kept():
    given = [[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]
    built = template("matrix-completion", loss="logistic", matrix=given, radius=3.0, missing=1 / 3)
    np.testing.assert_array_equal(matrix_of(built)[0], given)
    assert built.problem.loss.labels.size == 4
    assert built.problem.domain.radius == 3.0


def test_fractions_of_wrong_signs():
    """The point is a u v^T with the signs of u v^T; of the given signs, two differ."""
    given = np.outer([1.0, 1.0, -1.0], [1.0, -1.0, 1.0, 1.0])
    built = template("matrix-completion", loss="logistic", matrix=given.tolist(), radius=8.0, missing=0.5)
    atom = LowRankAtom(np.array([[1.0], [1.0], [-1.0]]), np.array([0.5]), np.array([[1.0], [-1.0], [1.0], [1.0]]))
    assert built.metrics(FactoredIterate(atom, 4, False)) == {"train_error": 0.0, "test_error": 0.0}
    built.seen.values[0] *= -1
    assert built.metrics(FactoredIterate(atom, 4, False)) == {"train_error": pytest.approx(1 / 6), "test_error": 0.0}
    built.hidden.values[0] *= -1
    assert built.metrics(FactoredIterate(atom, 4, False))["test_error"] == pytest.approx(1 / 6)
    undecided = built.metrics(FactoredIterate(built.problem.first, 4, False))
    assert undecided == {"train_error": 1.0, "test_error": 1.0}, "zero is no sign"


def test_errors_where_observed_and_elsewhere():
    built = template("matrix-completion", matrix=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], missing=1 / 3)
    found = built.metrics(FactoredIterate(built.problem.first, 4, False))
    matrix, observed = matrix_of(built)
    assert found["train_error"] == pytest.approx(np.sqrt((matrix[observed] ** 2).mean()))
    assert found["test_error"] == pytest.approx(np.sqrt((matrix[~observed] ** 2).mean()))
    whole = template("matrix-completion", matrix=[[1.0, 2.0], [3.0, 4.0]], missing=0.0)
    assert "test_error" not in whole.metrics(FactoredIterate(whole.problem.first, 4, False))


def test_the_optimum_is_that_of_another_method():
    fields = {"matrix": RANDOM, "radius": 15.0}
    built = template("matrix-completion", **fields)
    expected = references.matrix_completion(built)
    result = solve({"template": "matrix-completion", **fields}, iterations=1000)
    assert expected * (1 - 1e-9) <= result.record.total <= expected * (1 + 1e-3)
    assert result.bound_is == "certified"
    assert result.record.bound <= expected * (1 + 1e-9)
    assert result.metrics["rank"] == 2
    assert built.problem.domain.contains(result.solution["completed"])


def test_the_optimum_for_signs_is_that_of_another_method():
    fields = {"matrix": ODDS, "loss": "logistic", "radius": 20.0}
    built = template("matrix-completion", **fields)
    expected = references.matrix_completion(built)
    result = solve({"template": "matrix-completion", **fields}, iterations=1000)
    assert expected * (1 - 1e-9) <= result.record.total <= expected * (1 + 1e-3)
    assert result.bound_is == "certified"
    assert expected * (1 - 1e-2) <= result.record.bound <= expected * (1 + 1e-9)
    assert built.problem.domain.contains(result.solution["completed"])


def test_the_shipped_signs_are_predicted_almost_as_well_as_can_be():
    """On hidden entries, almost as well as by the log-odds they were drawn from."""
    result = build(load(CONFIG)).solve()
    assert result.status is Status.CONVERGED
    assert result.bound_is == "certified"
    odds = template("matrix-completion", matrix={"rows": 100, "columns": 80, "rank": 2, "scale": 5}, missing=0.3)
    drawn, observed = matrix_of(build(load(CONFIG)).template)
    best = np.mean((matrix_of(odds)[0] * drawn < 0)[~observed])
    assert 0.15 < best < 0.18
    assert result.metrics["test_error"] < best + 0.03


def test_it_is_completed():
    """Without noise, the hidden entries are found to within a few percent of their size, 1."""
    fields = {"template": "matrix-completion", "matrix": {**RANDOM, "noise": 0.0}, "missing": 0.3}
    result = solve(fields, iterations=1000)
    assert result.metrics["test_error"] < 0.05


GIVEN = [[1.0, np.nan, 0.0], [np.nan, 4.0, np.nan]]


def write(folder, name):
    """A matrix with unknown entries, and with a zero that is known, in a file."""
    known = np.isfinite(GIVEN)
    rows, columns = np.nonzero(known)
    stored = sp.coo_array((np.array(GIVEN)[known], (rows, columns)), shape=known.shape)
    match name:
        case "m.mtx":
            lines = [f"{i + 1} {j + 1} {GIVEN[i][j]}" for i, j in zip(rows, columns, strict=True)]
            head = "%%MatrixMarket matrix coordinate real general\n2 3 3\n"
            (folder / name).write_text(head + "\n".join(lines) + "\n")
        case "sparse.npz":
            sp.save_npz(folder / name, stored.tocsr())
        case "m.npy":
            np.save(folder / name, GIVEN)
        case _:
            cells = "\n".join(",".join("nan" if np.isnan(x) else f"{x:g}" for x in row) for row in GIVEN)
            (folder / name).write_text(("a,b,c\n" if name == "headed.csv" else "") + cells + "\n")
    return {"file": name}


@pytest.mark.parametrize("name", ["m.mtx", "sparse.npz", "m.npy", "m.csv", "headed.csv"])
@pytest.mark.parametrize("transpose", [False, True])
def test_what_is_not_given_is_unknown(tmp_path, name, transpose):
    built = template(
        "matrix-completion", tmp_path, matrix={**write(tmp_path, name), "transpose": transpose}, radius=5.0
    )
    expected = np.transpose(GIVEN) if transpose else np.array(GIVEN)
    assert built.seen.shape == expected.shape
    np.testing.assert_array_equal(built.seen.indices, np.flatnonzero(np.isfinite(expected)))
    np.testing.assert_array_equal(built.seen.values, expected[np.isfinite(expected)])
    assert built.hidden.count == built.held_out.count == 0
    assert built.problem.loss.value(np.zeros(3)) == pytest.approx(0.5 * 17)


def test_missing_cells_of_a_table_are_unknown(tmp_path):
    (tmp_path / "t.csv").write_text("name,a,b,c\nann,1,,0\nbob,NA,4,?\n")
    built = template("matrix-completion", tmp_path, matrix={"file": "t.csv", "columns": "a..c"}, radius=5.0)
    assert built.seen.indices.tolist() == [0, 2, 4] and built.seen.values.tolist() == [1, 0, 4]


def test_an_infinite_entry_is_refused_beside_unknown_ones(tmp_path):
    np.save(tmp_path / "m.npy", [[np.nan, 1.0], [np.inf, np.nan]])
    with pytest.raises(DataError, match="1 entry is not finite, the first at row 2, column 1: inf"):
        template("matrix-completion", tmp_path, matrix={"file": "m.npy"}, radius=5.0)


def test_held_out_entries_are_drawn_by_the_seed_and_never_used():
    """Whatever they are, the solution stays the same to the last bit; their error does not."""
    full = np.random.default_rng(0).standard_normal((12, 10))
    fields = {"missing": 0.25, "held_out": 0.2, "radius": 8.0}
    built = template("matrix-completion", seed=3, matrix=full.tolist(), **fields)
    places = [set(entries.indices.tolist()) for entries in (built.seen, built.hidden, built.held_out)]
    assert list(map(len, places)) == [72, 30, 18] and len(set.union(*places)) == 120
    spoilt = full.copy()
    spoilt.flat[built.held_out.indices] += 100.0
    first, second = (
        solve({"template": "matrix-completion", "matrix": x.tolist(), **fields}, seed=3, iterations=20)
        for x in (full, spoilt)
    )
    np.testing.assert_array_equal(first.solution["completed"], second.solution["completed"])
    off = (first.solution["completed"] - full).flat[built.held_out.indices]
    assert first.metrics["held_out_rmse"] == pytest.approx(np.sqrt(np.square(off).mean()))
    assert second.metrics["held_out_rmse"] > 90.0
    assert second.metrics["test_error"] == first.metrics["test_error"]
    other = template("matrix-completion", seed=4, matrix=full.tolist(), **fields)
    assert set(other.held_out.indices.tolist()) != places[2]


def test_ratings_are_completed_without_a_full_matrix(tmp_path):
    """Of a matrix of 30,000 x 20,000 that would take 4.8 GB."""
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 30, 300), rng.integers(0, 20, 300)
    tail = [f"u{i},m{i % 20_000},1" for i in range(30_000)]
    lines = [f"u{i},m{j},{1 + (i + j) % 5}" for i, j in zip(users, items, strict=True)]
    (tmp_path / "r.csv").write_text("\n".join(lines + tail) + "\n")
    tracemalloc.start()
    built = template("matrix-completion", tmp_path, ratings={"file": "r.csv"}, held_out=0.1, radius=1e4)
    iterate = FactoredIterate(built.problem.first, 4, False)
    found = {**built.metrics(iterate), **built.round(iterate, None, rng).metrics}
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()
    assert built.problem.domain.shape == (30_000, 20_000)
    assert found.keys() == {"train_error", "held_out_rmse", "rank"}
    assert "completed" not in built.round(iterate, None, rng).arrays


@pytest.mark.parametrize("fields", [{}, {"matrix": [[1.0]], "ratings": {"file": "r.csv"}}])
def test_either_a_matrix_or_ratings(fields):
    with pytest.raises(ValidationError, match="needs either a `matrix` or `ratings`"):
        template("matrix-completion", **fields)


def test_of_unknown_entries_a_radius_is_taken_and_told(tmp_path):
    (tmp_path / "r.csv").write_text("a,x,3\nb,y,3\nc,x,3\n")
    context = BuildContext((tmp_path,))
    spec = {"template": "matrix-completion", "ratings": {"file": "r.csv"}}
    built = lookup("template", "matrix-completion").Spec.model_validate(spec).build(context)
    assert built.problem.domain.radius == 7.35  # 3 sqrt(3 * 2)
    assert any(remark.startswith("The radius is 7.35, which goes with") for remark in context.remarks)


def test_signs_as_ratings(tmp_path):
    (tmp_path / "r.csv").write_text("a,x,1\nb,y,-1\nc,x,1\n")
    built = template("matrix-completion", tmp_path, ratings={"file": "r.csv"}, loss="logistic", radius=2.0)
    assert built.problem.loss.labels.tolist() == [1, -1, 1]
    (tmp_path / "r.csv").write_text("a,x,1\nb,y,0\n")
    with pytest.raises(ProblemError, match=r"labels must be \+1 or -1") as caught:
        template("matrix-completion", tmp_path, ratings={"file": "r.csv"}, loss="logistic", radius=2.0)
    assert caught.value.path == ("ratings",)


@pytest.mark.parametrize(
    ("fields", "message", "path"),
    [
        ({"matrix": [1.0, 2.0]}, "must be a matrix, but is a vector of 2", ("matrix",)),
        ({"matrix": [[1.0, 2.0]], "missing": 0.9}, "every entry is missing", ("missing",)),
        ({"matrix": [[1.0, 2.0]], "held_out": 0.9}, "every entry is held out", ("held_out",)),
        (
            {"matrix": [[1.0, 0.0], [1.0, -1.0]], "loss": "logistic", "radius": 1.0},
            r"labels must be \+1 or -1 \(write 0/1 labels",
            ("matrix",),
        ),
        ({"matrix": [1.0, -1.0], "loss": "logistic", "radius": 1.0}, "must be a matrix", ("matrix",)),
        (
            {"matrix": [[1.0, -1.0]] * 8, "loss": "logistic"},
            "give `radius` a number, for instance 4, which goes with log-odds of size 1 and rank 1",
            ("radius",),
        ),
    ],
)
def test_what_cannot_be_completed(fields, message, path):
    with pytest.raises(ProblemError, match=message) as raised:
        template("matrix-completion", **fields)
    assert raised.value.path == path


def test_that_known_entries_are_hidden_is_told(tmp_path):
    """Only where nobody asked for it: of data that are complete."""
    (tmp_path / "ratings.csv").write_text("".join(f"u{i},m{j},{i + j}\n" for i in range(3) for j in range(4)))
    ratings, full = {"file": "ratings.csv"}, np.arange(12.0).reshape(3, 4).tolist()

    def told(**fields):
        context = BuildContext((tmp_path,))
        chosen = lookup("template", "matrix-completion").Spec.model_validate(
            {"template": "matrix-completion", **fields}
        )
        chosen.build(context)
        return [remark for remark in context.remarks if "6 of 12, drawn by the seed, are hidden" in remark]

    assert told(ratings=ratings) and told(matrix=full)
    assert not any(told(ratings=ratings, missing=missing) for missing in (0.0, 0.5))
    assert not told(matrix={"rows": 4, "columns": 3, "rank": 1})
